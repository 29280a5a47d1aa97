"""Judging answers: golden pairs on two real databases and their copies, and what happens at the edges."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.learning.judging import Judge, Verdict
from agent.learning.mutating import mutated
from agent.learning.questions import Pair

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = [
    json.loads(line) for line in (Path(__file__).parent / "judged_pairs.jsonl").read_text(encoding="utf-8").splitlines()
]
RULES = {
    "bag of rows", "one column mapping", "order only if asked", "ties free", "int = float to 9 digits",
    "text is no number", "NULL is only NULL", "same number of columns", "empty is not right", "missing DISTINCT",
    "lucky constant", "hard-coded ids", "lucky date", "lucky filter", "lucky LIMIT", "lucky join", ">= for >",
    "COUNT(*) for COUNT(column)", "written differently",
}  # fmt: skip


def checked(database: Database) -> Callable[[str], Result]:
    return lambda sql: database.run(check(sql, database.schema).sql)


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Judge]]:
    """A judge for each database of the golden pairs, with three real copies, as the application makes them."""
    folder = tmp_path_factory.mktemp("judged")
    clinic = folder / "clinic.sqlite"
    subprocess.run(
        [sys.executable, ROOT / "scripts" / "build_odd_database.py", clinic], check=True, capture_output=True
    )
    with ExitStack() as opened:
        made = {}
        for name, file in (("northwind", ROOT / "data" / "northwind.sqlite"), ("clinic", clinic)):
            database = open_database(str(file))
            opened.callback(database.close)
            copies = opened.enter_context(
                mutated(database, file=file, folder=folder, open_copy=lambda path: open_database(str(path)))
            )
            made[name] = Judge(run=checked(database), copies=copies)
        yield made


def pair(sql: str, *others: str, ordered: bool = False) -> Pair:
    return Pair("1", "?", sql, others, ordered, "", "", "", 1)


def judged(judge: Judge, pair: Pair, sql: str) -> Verdict:
    try:
        return judge.judge(pair, sql, judge.run(sql) if sql else None)
    except (QueryRejected, QueryFailed) as problem:
        return judge.judge(pair, sql, None, problem=str(problem))


def test_the_golden_pairs_hold_several_of_every_rule() -> None:
    assert len(GOLDEN) >= 70
    for rule in RULES:
        assert sum(one["rule"] == rule for one in GOLDEN) >= 2, rule
    assert sum(not one["error"] for one in GOLDEN) >= 30


@pytest.mark.parametrize("one", GOLDEN, ids=[f"{n}-{one['rule']}" for n, one in enumerate(GOLDEN, 1)])
def test_golden_pairs(one: dict[str, Any], judges: dict[str, Judge]) -> None:
    asked = pair(one["sql"], *one["alt_sql"], ordered=one["ordered"])
    verdict = judged(judges[one["database"]], asked, one["answer"])
    assert (verdict.error, verdict.lenient) == (one["error"], one["lenient"]), verdict.reason
    assert verdict.right is (not one["error"])
    assert bool(verdict.reason) is not verdict.right


# Small databases made by hand: the first is the real one, the others are its copies.


@pytest.fixture
def judge_of(tmp_path: Path) -> Iterator[Callable[..., Judge]]:
    with ExitStack() as opened:

        def made(*scripts: str, row_cap: int = 1_000) -> Judge:
            runs = []
            for script in scripts:
                file = tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite"
                with closing(sqlite3.connect(file)) as connection:
                    connection.executescript(script)
                database = open_database(str(file), row_cap=row_cap)
                opened.callback(database.close)
                runs.append(checked(database))
            return Judge(run=runs[0], copies=tuple(runs[1:]))

        yield made


def numbers(*rows: int, table: str = "t") -> str:
    return f"CREATE TABLE {table} (a INTEGER, b INTEGER);" + "".join(
        f"INSERT INTO {table} VALUES ({a}, {10 * n});" for n, a in enumerate(rows)
    )


def test_every_copy_must_agree(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1, 2), numbers(1, 2), numbers(1, 2, 3))
    assert judged(judge, pair("SELECT COUNT(*) FROM t"), "SELECT 2").error == "lucky"
    assert judged(judge, pair("SELECT COUNT(*) FROM t"), "SELECT COUNT(a) FROM t").right


def test_a_copy_on_which_the_gold_does_not_run_is_passed_over(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1, 2), numbers(1, 2, 3, table="other"), numbers(5))
    assert judged(judge, pair("SELECT COUNT(*) FROM t"), "SELECT COUNT(a) FROM t").right


def test_a_copy_on_which_only_the_answer_does_not_run_counts_as_different(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1) + "CREATE TABLE u (c INTEGER); INSERT INTO u VALUES (1);", numbers(1))
    verdict = judged(judge, pair("SELECT a FROM t"), "SELECT c FROM u")
    assert (verdict.error, verdict.lenient) == ("lucky", False) and "does not run" in verdict.reason


def test_a_copy_on_which_the_answer_is_cut_off_counts_as_different(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1), numbers(1, 2, 3), row_cap=4)
    verdict = judged(judge, pair("SELECT DISTINCT 1 FROM t"), "SELECT 1 FROM t AS x, t AS y")
    assert verdict.error == "lucky" and "more rows than can be read" in verdict.reason


def test_what_is_cut_off_is_never_right(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1, 2, 3), numbers(1), row_cap=2)
    assert judged(judge, pair("SELECT a FROM t"), "SELECT a FROM t").error == "uninformative"
    assert judged(judge, pair("SELECT COUNT(*) FROM t"), "SELECT a FROM t").error == "cut"


def test_one_accepted_query_must_fit_everywhere(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1, 1), numbers(3, 4), numbers(5, 5))
    both = pair("SELECT MIN(a) FROM t", "SELECT MAX(a) FROM t")
    assert judged(judge, both, "SELECT MAX(a) FROM t").right
    assert judged(judge, both, "SELECT MIN(a) FROM t").right
    # MIN on one copy, MAX on the other: it agrees with one of the two everywhere, but with neither always.
    judge = judge_of(numbers(1, 1, table="v"), numbers(3, 4, table="v"), numbers(15, 16, table="v"))
    both = pair("SELECT MIN(a) FROM v", "SELECT MAX(a) FROM v")
    mixed = "SELECT CASE WHEN MAX(a) > 10 THEN MIN(a) ELSE MAX(a) END FROM v"
    assert judged(judge, both, mixed).error == "lucky"


def test_empty_on_the_database_is_right_when_a_copy_tells_something(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1), numbers(1, 7), numbers(2))
    asked = pair("SELECT b FROM t WHERE a > 5")
    assert judged(judge, asked, "SELECT b FROM t WHERE NOT a <= 5").right
    assert judged(judge, asked, "SELECT b FROM t WHERE a > 8").error == "lucky"
    assert judged(judge, pair("SELECT b FROM t WHERE a > 90"), "SELECT b FROM t WHERE a > 90").error == "uninformative"
    assert judged(judge, pair("SELECT MAX(b) FROM t WHERE a > 90"), "SELECT NULL").error == "uninformative"
    assert judged(judge, pair("SELECT COUNT(*) FROM t WHERE a > 90"), "SELECT COUNT(*) FROM t WHERE a > 90").right


def test_a_copy_on_which_a_tie_stands_at_the_limit_is_passed_over(judge_of: Callable[..., Judge]) -> None:
    tied = "CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (5, 1), (5, 2), (4, 3);"
    judge = judge_of(numbers(4, 9), tied, numbers(8, 2, 3))
    asked = pair("SELECT b FROM t ORDER BY a DESC LIMIT 1")
    assert judged(judge, asked, "SELECT b FROM t WHERE a = (SELECT MAX(a) FROM t)").right
    assert judged(judge, asked, "SELECT MAX(b) FROM t").error == "lucky"


def test_right_rows_that_only_a_tie_on_a_copy_leaves_out_are_no_luck(judge_of: Callable[..., Judge]) -> None:
    tied = "CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (5, 1), (5, 2), (4, 3);"
    judge = judge_of(numbers(4, 9), tied, numbers(8, 2, 3))
    asked = pair("SELECT b FROM t WHERE a = (SELECT MAX(a) FROM t)")
    assert judged(judge, asked, "SELECT b FROM t ORDER BY a DESC LIMIT 1").right
    numbered = "SELECT b FROM (SELECT b, ROW_NUMBER() OVER (ORDER BY {}) AS n FROM t) WHERE n = 1"
    assert judged(judge, asked, numbered.format("a DESC")).right
    assert judged(judge, pair(numbered.format("a DESC")), asked.sql).right
    assert judged(judge, asked, "SELECT b FROM t ORDER BY b DESC LIMIT 1").error == "lucky"
    # A tie that is there in reality too is luck.
    judge = judge_of(tied + "DELETE FROM t WHERE b = 1; INSERT INTO t VALUES (4, 9);", tied, tied)
    assert judged(judge, asked, "SELECT b FROM t ORDER BY a > 3 LIMIT 1").error == "lucky"


@pytest.mark.parametrize("kind", ["deadline", "memory", "too_big"])
def test_a_copy_on_which_the_answer_takes_too_long_is_passed_over(kind: str, judge_of: Callable[..., Judge]) -> None:
    inner = judge_of(numbers(1, 2), numbers(1, 2, 3), numbers(4))

    def slow(sql: str) -> Result:
        if "slow" in sql:
            raise QueryFailed("Too much.", kind=kind)
        return inner.copies[0](sql)

    judge = Judge(run=inner.run, copies=(slow, inner.copies[1]))
    assert judged(judge, pair("SELECT COUNT(*) FROM t"), "SELECT COUNT(*) FROM t AS slow").right
    assert judged(judge, pair("SELECT COUNT(*) FROM t"), "SELECT 2 AS slow").error == "lucky"
    alone = Judge(run=inner.run, copies=(slow, slow))
    assert judged(alone, pair("SELECT COUNT(*) FROM t"), "SELECT 2 AS slow").error == "uninformative"
    assert alone.confirm(pair("SELECT COUNT(*) FROM t", "SELECT 2 AS slow")).error == "uninformative"


def test_an_order_that_is_not_asked_for_in_the_query_is_luck(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1, 2, 3), numbers(4, 5))
    asked = pair("SELECT a FROM t ORDER BY a", ordered=True)
    assert judged(judge, asked, "SELECT a FROM t").error == "order"
    assert judged(judge, asked, "SELECT a FROM t ORDER BY b").right
    assert judged(judge, asked, "SELECT a FROM (SELECT a, RANK() OVER (ORDER BY a) FROM t)").error == "order"
    assert judged(judge, pair("SELECT a FROM t WHERE a = 1 ORDER BY a", ordered=True), "SELECT 1 WHERE 1").error == (
        "lucky"
    )


def test_the_reason_is_a_sentence_to_learn_from_and_tells_no_value(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(41, 42, 43), numbers(44, 45))
    rows = pair("SELECT a, b FROM t ORDER BY a", ordered=True)
    reasons = {
        "SELECT a, b FROM t WHERE a > 41": "It ran, but gave 2 rows where 3 are right.",
        "SELECT a FROM t": "It ran, but gave 1 column where 2 are asked for.",
        "SELECT a, b FROM t ORDER BY b DESC": "It ran, but gave the right rows in the wrong order.",
        "SELECT a, a FROM t": "It ran, but gave wrong values in 1 of the 2 columns.",
        "SELECT a, 20 - b FROM t": "It ran, but gave the right values in the wrong rows.",
        "SELECT a, b FROM t WHERE 0": "It ran, but gave nothing where 3 rows are right.",
        "": "No SQL was written.",
    }
    for sql, reason in reasons.items():
        assert judged(judge, rows, sql).reason == reason
    one = pair("SELECT COUNT(*) FROM t")
    assert judged(judge, one, "SELECT 4").reason == "It ran, but gave a wrong value."
    assert judged(judge, one, "SELECT 3").reason == (
        "Right on this data only: after rows changed, it gave a wrong value."
    )
    assert judge.judge(one, "SELECT x", None, problem="There is no column x.").reason == "There is no column x."


def test_gold_results_are_kept(judge_of: Callable[..., Judge]) -> None:
    inner = judge_of(numbers(1, 2), numbers(3))
    asked: list[str] = []

    def run(sql: str) -> Result:
        asked.append(sql)
        return inner.run(sql)

    judge = Judge(run=run, copies=inner.copies)
    for _ in range(3):
        judge.judge(pair("SELECT COUNT(*) FROM t"), "SELECT COUNT(a) FROM t", inner.run("SELECT COUNT(a) FROM t"))
    assert asked == ["SELECT COUNT(*) FROM t"]


def test_an_error_that_is_not_about_sql_is_not_swallowed() -> None:
    def broken(sql: str) -> Result:
        raise ConnectionError("gone")

    judge = Judge(run=broken, copies=())
    with pytest.raises(ConnectionError):
        judge.judge(pair("SELECT 1"), "SELECT 1", Result(("a",), ((1,),)))


def test_what_is_accepted_besides_may_give_something_else_and_need_not_run(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1, 5), numbers(1, 5, 6))
    readings = ("SELECT COUNT(*), MAX(a) FROM t", "SELECT LEFT(a) FROM nowhere")
    asked = replace(pair("SELECT COUNT(*) FROM t"), accepted=readings)
    assert judge.confirm(asked).right
    assert judged(judge, asked, "SELECT COUNT(a) FROM t").right
    assert judged(judge, asked, "SELECT MAX(a), COUNT(a) FROM t").right
    assert not judged(judge, asked, "SELECT MAX(a), 2 FROM t").right
    assert not judged(judge, asked, "SELECT MAX(a) FROM t").right


def test_a_pair_is_confirmed_when_all_its_queries_agree_everywhere(judge_of: Callable[..., Judge]) -> None:
    judge = judge_of(numbers(1, 2), numbers(1, 2, 3), row_cap=3)
    assert judge.confirm(pair("SELECT COUNT(*) FROM t", "SELECT COUNT(a) FROM t")).right
    assert judge.confirm(pair("SELECT COUNT(*) FROM t")).right
    wrong = {
        "lucky": pair("SELECT COUNT(*) FROM t", "SELECT 2"),
        "values": pair("SELECT COUNT(*) FROM t", "SELECT 9"),
        "columns": pair("SELECT COUNT(*) FROM t", "SELECT 2, 3"),
        "not_run": pair("SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM nowhere"),
        "cut": pair("SELECT 1 FROM t, t AS u"),
        "uninformative": pair("SELECT a FROM t WHERE a > 9", "SELECT a FROM t WHERE a > 8"),
    }
    assert {error: judge.confirm(one).error for error, one in wrong.items()} == {error: error for error in wrong}
    assert all(judge.confirm(one).reason for one in wrong.values())
