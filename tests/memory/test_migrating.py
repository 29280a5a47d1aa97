"""A brain of the first format, opened today: nothing of it is lost, and it is a brain like one made today."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, inspect, text

from memory import opening
from memory.errors import BrainForeignError, BrainLockedError
from memory.ledger import FORMAT, EventKind, Ledger
from memory.lessons import Lessons
from memory.migrating import migrate
from memory.opening import engine_for

ZEBRAFISH = "How many zebrafish did <value> order?"
HEAD_1 = "db0870d4dbc9e6dd868ec767f0a40d957f6384a26398a0c6da3c81e1ad382ecb"


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path, write_format_1: Callable[[str], None]) -> str:
    """Where a brain of format 1 is."""
    sqlite = request.param == "sqlite"
    where = str(tmp_path / "old" / "brain.sqlite" if sqlite else request.getfixturevalue("postgres_database"))
    write_format_1(where)
    return where


@pytest.fixture
def sqlite_old(tmp_path: Path, write_format_1: Callable[[str], None]) -> Path:
    file = tmp_path / "old" / "brain.sqlite"
    write_format_1(str(file))
    return file


@contextmanager
def connected(where: str) -> Iterator[Connection]:
    engine = engine_for(where)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def dump(where: str) -> dict[str, list[tuple[Any, ...]]]:
    with connected(where) as connection:
        tables = [name for name in inspect(connection).get_table_names() if not name.startswith("lexicon_")]
        return {
            name: sorted(map(tuple, connection.execute(text(f"SELECT * FROM {name}")).all()), key=repr)
            for name in tables
        }


def layout(where: str) -> dict[str, object]:
    """Columns and indexes of every table, as the database describes them."""
    with connected(where) as connection:
        seen = inspect(connection)
        return {
            name: (
                [(one["name"], str(one["type"]), one["nullable"], one["default"]) for one in seen.get_columns(name)],
                sorted((one["name"], one["column_names"]) for one in seen.get_indexes(name)),
                seen.get_foreign_keys(name),
            )
            for name in seen.get_table_names()
        }


def test_an_old_brain_is_upgraded_when_it_is_opened_and_its_history_still_verifies(old: str) -> None:
    with Ledger.open(old, database="shop") as ledger:
        assert ledger.format == FORMAT == 4
        assert ledger.verify().ok, ledger.verify()
        events = list(ledger.events())
    assert events[11].hash == HEAD_1, "what happened before is not written anew"
    assert [(one.position, one.kind, one.subject, one.content) for one in events[12:]] == [
        (13, EventKind.BRAIN_UPGRADED, "shop", {"from": 1, "to": FORMAT})
    ]


def test_nothing_of_an_old_brain_is_lost(old: str) -> None:
    before = dump(old)
    with Ledger.open(old, database="shop") as ledger:
        assert [attempt.id for attempt in ledger.unsettled()] == ["a2"] and ledger.generation == 1
        assert len(ledger.outbox()) == 5
    after = dump(old)
    assert {name for name, rows in before.items() if after[name] != rows} == {"brain", "ledger", "content"}
    for name in ("ledger", "content"):
        assert set(before[name]) < set(after[name]) and len(after[name]) == len(before[name]) + 1


def test_the_episodes_of_an_old_brain_are_found_by_their_masked_question(old: str) -> None:
    with Ledger.open(old, database="shop") as ledger:
        assert [one.sql[-6:] for one in ledger.masked(ZEBRAFISH)] == ["'Köln'", "'Bonn'"]
        assert [one.verifier for one in ledger.masked("What is the weight of the walrus?")] == ["person"]
        assert ledger.masked("How many quokkas did <value> order?") == (), "it was forgotten"
        assert ledger.masked("How many axolotls did <value> order?") == (), "it was erased"
        assert Lessons(ledger).of("c0ffee000001") == ()


def test_an_upgraded_brain_is_laid_out_as_a_new_one(old: str, tmp_path: Path) -> None:
    new = str(tmp_path / "new" / "brain.sqlite")
    Ledger.open(old, database="shop").close()
    found = layout(old)
    if "://" in old:
        with connected(old) as connection:
            for name in found:
                connection.execute(text(f"DROP TABLE {name} CASCADE"))
            connection.commit()
        new = old
    Ledger.open(new, database="shop").close()
    assert found == layout(new)


def test_an_upgraded_brain_is_upgraded_once(old: str) -> None:
    for _ in range(2):
        with Ledger.open(old, database="shop") as ledger:
            assert ledger.head()[0] == 13


def test_who_waited_for_another_process_to_upgrade_it_does_not_do_so_again(old: str) -> None:
    Ledger.open(old, database="shop").close()
    before = dump(old)
    migrate(engine_for(old), clock=time.time, between=lambda _step: None)
    assert dump(old) == before


def test_an_upgraded_brain_goes_on_as_any_other(old: str) -> None:
    with Ledger.open(old, database="shop") as ledger:
        first, second = ledger.masked(ZEBRAFISH)
        with ledger.transaction() as transaction:
            transaction.forget(first.id, "it misled")
            transaction.erase(second.id)
            transaction.remember(first, again=True)
        assert ledger.masked(ZEBRAFISH) == (first,)
        assert ledger.verify().ok, ledger.verify()


def test_an_old_brain_of_another_database_is_refused_and_left_as_it_is(old: str) -> None:
    before = dump(old)
    with pytest.raises(BrainForeignError, match="brain of 'shop', not of 'school'"):
        Ledger.open(old, database="school")
    assert dump(old) == before


@pytest.mark.parametrize("writing", [False, True])
def test_a_file_that_another_process_has_open_is_not_upgraded(
    sqlite_old: Path, writing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older HebbQL that read the format before does not look again, and would write what its own format asks."""
    monkeypatch.setattr(opening, "PATIENCE", 0.2)
    script = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('SELECT format FROM brain').fetchall()\n"
        "if sys.argv[2] == 'True': connection.execute('BEGIN IMMEDIATE')\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(sqlite_old), str(writing)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "open\n"
        with pytest.raises(BrainLockedError, match=r"another process.*older format"):
            Ledger.open(sqlite_old, database="shop")
        assert dump(str(sqlite_old))["brain"][0][2] == 1
        other.communicate()
    with Ledger.open(sqlite_old, database="shop") as ledger:
        assert ledger.format == FORMAT and ledger.verify().ok


def test_two_processes_may_have_the_file_open_once_it_is_upgraded(sqlite_old: Path) -> None:
    with Ledger.open(sqlite_old, database="shop") as ledger, Ledger.open(sqlite_old, database="shop") as other:
        with other.transaction() as transaction:
            transaction.append(EventKind.BATCH_OPENED, "b", {})
        assert ledger.head()[0] == 14


def test_a_server_where_another_transaction_reads_the_ledger_is_not_upgraded(
    postgres_database: str, write_format_1: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_format_1(postgres_database)
    monkeypatch.setattr(opening, "PATIENCE", 0.2)
    with connected(postgres_database) as other:
        other.execute(text("SELECT * FROM ledger")).all()
        with pytest.raises(BrainLockedError, match=r"another process.*older format"):
            Ledger.open(postgres_database, database="shop")
    assert dump(postgres_database)["brain"][0][2] == 1
    with Ledger.open(postgres_database, database="shop") as ledger:
        assert ledger.format == FORMAT


def test_an_upgrade_that_raises_leaves_the_old_brain(old: str) -> None:
    before, steps = dump(old), []

    def stop(step: str) -> None:
        steps.append(step)
        raise RuntimeError(step)

    with pytest.raises(RuntimeError, match="masked_questions table"):
        Ledger.open(old, database="shop", between=stop)
    assert dump(old) == before and steps
    with Ledger.open(old, database="shop") as ledger:
        assert ledger.verify().ok
