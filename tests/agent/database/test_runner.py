"""The worker process: killable, bounded, silent, gone when nobody needs it."""

from __future__ import annotations

import _thread
import contextlib
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.database.functions import ALLOWED
from agent.database.reading import Database, open_database
from agent.database.result import QueryFailed
from agent.database.runner import Limits, Runner

NORTHWIND = Path(__file__).parents[3] / "data" / "northwind.sqlite"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"


def target(path: Path) -> dict[str, object]:
    return {
        "open": "sqlite",
        "uri": f"file:{path}?mode=ro",
        "path": str(path),
        "functions": sorted(ALLOWED["sqlite"]),
    }


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int, within: float) -> bool:
    until = time.monotonic() + within
    while alive(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def runner() -> Iterator[Runner]:
    runner = Runner(target(NORTHWIND))
    yield runner
    runner.close()


@pytest.fixture
def cells(tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "cells.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE t (v); INSERT INTO t VALUES (NULL), (9223372036854775807), (-9223372036854775808), (1.5), "
            "(9e999), (-9e999), (x'00ff'), (CAST(x'61ff62' AS TEXT)), ('a' || char(0) || 'b'), "
            "('Ünïcödé 한국 🙂'), ('');"
            "CREATE TABLE wide (v); INSERT INTO wide VALUES (zeroblob(300000)), ('small');"
            "CREATE VIEW formatted AS SELECT printf('%03d', 7) AS v;"
        )
    database = open_database(str(path))
    yield database
    database.close()


def test_the_worker_is_started_once_and_answers_again(runner: Runner) -> None:
    assert runner.pid is None
    assert runner.run("SELECT 1", Limits()).rows == ((1,),)
    pid = runner.pid
    found = runner.run("SELECT CompanyName AS name FROM Shippers ORDER BY 1", Limits())
    assert found.columns == ("name",) and found.rows[0] == ("Federal Shipping",) and found.truncated is None
    assert found.seconds > 0 and runner.pid == pid


def test_a_worker_that_was_woken_is_the_one_that_answers(runner: Runner) -> None:
    runner.wake()
    pid = runner.pid
    assert pid is not None
    runner.wake()
    assert runner.run("SELECT 1", Limits()).rows == ((1,),) and runner.pid == pid
    runner.close()
    assert gone(pid, 2)


def test_a_woken_worker_that_died_is_replaced_and_one_that_cannot_open_says_so_at_the_first_query(
    runner: Runner,
) -> None:
    runner.wake()
    pid = runner.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert gone(pid, 2)
    assert runner.run("SELECT 1", Limits()).rows == ((1,),) and runner.pid != pid

    lost = Runner({"open": "postgres", "path": []})
    lost.wake()
    with pytest.raises(QueryFailed, match="cannot start"):
        lost.run("SELECT 1", Limits())
    assert lost.pid is None


def test_cells_of_every_sort_come_back(cells: Database) -> None:
    values = [row[0] for row in cells.run("SELECT v FROM t").rows]
    assert values == [
        None,
        2**63 - 1,
        -(2**63),
        1.5,
        math.inf,
        -math.inf,
        b"\x00\xff",
        "a\ufffdb",
        "a\x00b",
        "Ünïcödé 한국 🙂",
        "",
    ]


def test_a_huge_value_is_refused_with_advice_and_others_are_given(cells: Database) -> None:
    with pytest.raises(QueryFailed, match="longer than 100,000 bytes") as failed:
        cells.run("SELECT v FROM wide")
    assert failed.value.kind == "too_big"
    assert cells.run("SELECT length(v) FROM wide").rows == ((300000,), (5,))


def test_a_view_may_call_what_a_query_may_not(cells: Database) -> None:
    assert cells.run("SELECT v FROM formatted").rows == (("007",),)


def test_rows_and_bytes_are_capped_and_named(runner: Runner) -> None:
    found = runner.run("SELECT OrderID FROM Orders", Limits(rows=5))
    assert (len(found.rows), found.truncated) == (5, "rows")
    found = runner.run("SELECT OrderID FROM Orders", Limits(rows=830))
    assert (len(found.rows), found.truncated) == (830, None)
    found = runner.run("SELECT CompanyName FROM Customers", Limits(bytes=100))
    assert 0 < len(found.rows) < 10 and found.truncated == "bytes"


def test_a_query_past_its_deadline_is_stopped_and_the_worker_lives(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    pid = runner.pid
    with pytest.raises(QueryFailed, match=r"longer than 0\.3 seconds") as failed:
        runner.run(ENDLESS, Limits(deadline=0.3))
    assert failed.value.kind == "deadline"
    assert runner.run("SELECT 1", Limits()).rows == ((1,),) and runner.pid == pid


def test_a_worker_that_does_not_answer_is_killed_and_replaced(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    pid = runner.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(QueryFailed) as failed:
        runner.run("SELECT 2", Limits(deadline=0.2))
    assert failed.value.kind == "deadline"
    assert gone(pid, 1)
    assert runner.run("SELECT 3", Limits()).rows == ((3,),) and runner.pid != pid


def test_a_worker_that_died_is_replaced(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    assert runner.pid is not None
    os.kill(runner.pid, signal.SIGKILL)
    time.sleep(0.1)
    assert runner.run("SELECT 2", Limits()).rows == ((2,),)


def test_a_worker_that_dies_during_a_query_is_reported(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    pid = runner.pid
    assert pid is not None
    threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()
    with pytest.raises(QueryFailed) as failed:
        runner.run(ENDLESS, Limits(deadline=5))
    assert failed.value.kind == "worker" and "Ask for less" in failed.value.reason


def test_a_caller_who_was_interrupted_never_reads_the_answer_to_another_question(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    pid = runner.pid
    assert pid is not None
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        runner.run(ENDLESS, Limits(deadline=1.0))
    assert gone(pid, 1)
    assert runner.run("SELECT 5", Limits()).rows == ((5,),)


def test_memory_is_bounded(runner: Runner) -> None:
    hungry = (
        "WITH RECURSIVE n(i, s) AS (SELECT 1, printf('%.900c', 'x') UNION ALL SELECT i + 1, s || i FROM n) "
        "SELECT group_concat(s) FROM (SELECT DISTINCT a.s || b.i AS s FROM n AS a, n AS b)"
    )
    with pytest.raises(QueryFailed) as failed:
        runner.run(hungry, Limits(deadline=2))
    assert failed.value.kind in ("memory", "too_big", "deadline", "worker")
    assert runner.run("SELECT 1", Limits()).rows == ((1,),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sql FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM pragma_table_info('Orders')",
        "SELECT load_extension('x')",
        "SELECT randomblob(10)",
        "SELECT sqlite_version()",
        "WITH d AS (SELECT hex(randomblob(2)) AS x) SELECT x FROM d",
        "WITH d AS (SELECT sqlite_version() AS x) SELECT x FROM d",
        "PRAGMA query_only = OFF",
        "PRAGMA table_info(Orders)",
        "ATTACH ':memory:' AS x",
        "VACUUM INTO 'copy.db'",
        "CREATE TEMP TABLE t (a)",
        "BEGIN",
        "DELETE FROM Orders",
        "EXPLAIN SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT ?",
    ],
)
def test_the_layers_below_the_guard_refuse_by_themselves(runner: Runner, sql: str, tmp_path: Path) -> None:
    if sql.startswith("EXPLAIN"):
        assert runner.run(sql, Limits()).rows  # only tells how; nothing is read
        return
    with pytest.raises(QueryFailed):
        runner.run(sql, Limits())


def test_errors_name_the_nearest_real_names() -> None:
    with contextlib.closing(open_database(str(NORTHWIND))) as database:
        for sql, words in {
            "SELECT CompanyNam FROM Customers": "Nearest: CompanyName",
            "SELECT c.Freight FROM Customers c": "Freight is a column of Orders",
            "SELECT 1 FROM OrderDetails": 'Nearest: "Order Details"',
            "SELECT year(OrderDate) FROM Orders": "strftime('%Y', column)",
            "SELECT strftim(OrderDate) FROM Orders": "Nearest: strftime",
            "SELECT CustomerID FROM Orders, Customers": "ambiguous",
            "SELECT FROM": "syntax error",
        }.items():
            with pytest.raises(QueryFailed) as failed:
                database.run(sql)
            assert words in failed.value.reason, failed.value.reason


def test_closing_ends_the_worker(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    pid = runner.pid
    assert pid is not None
    runner.close()
    assert runner.pid is None and gone(pid, 1)
    runner.close()


def test_many_threads_share_one_worker(runner: Runner) -> None:
    found: list[object] = []

    def ask(number: int) -> None:
        found.append(runner.run(f"SELECT {number}", Limits()).rows[0][0])

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=str) == sorted(range(20), key=str)


PARENT = """
import sys, threading
from agent.database.runner import Limits, Runner
runner = Runner({target!r})
runner.run("SELECT 1", Limits())
print(runner.pid, flush=True)
{then}
"""


def parent(then: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(target=target(NORTHWIND), then=then)],
        env={**os.environ, "PYTHONPATH": str(NORTHWIND.parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def ended(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=20)


def test_a_killed_parent_leaves_no_idle_worker() -> None:
    process, pid = parent("threading.Event().wait()")
    process.kill()
    ended(process)
    assert gone(pid, 2)


def test_a_killed_parent_leaves_no_busy_worker() -> None:
    process, pid = parent(f"runner.run({ENDLESS!r}, Limits(deadline=60))")
    time.sleep(0.3)
    process.kill()
    ended(process)
    assert gone(pid, 2)


def test_ctrl_c_leaves_no_worker_and_reaches_the_caller() -> None:
    then = f"try: runner.run({ENDLESS!r}, Limits(deadline=60))\nexcept KeyboardInterrupt: print('stopped', flush=True)"
    process, pid = parent(then)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    assert "stopped" in out and gone(pid, 2)


def test_a_parent_that_ends_leaves_no_worker() -> None:
    process, pid = parent("")
    ended(process)
    assert process.returncode == 0 and gone(pid, 2)


def test_the_worker_imports_little(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    with open(f"/proc/{runner.pid}/maps") as maps:
        text = maps.read()
    assert "sqlglot" not in text and "sqlalchemy" not in text


def test_a_password_is_not_on_the_command_line(runner: Runner) -> None:
    runner.run("SELECT 1", Limits())
    with open(f"/proc/{runner.pid}/cmdline", "rb") as file:
        words = file.read().split(b"\0")
    assert not any(b"mode=ro" in word for word in words)
