"""Values, dates and numbers of columns, and the caps on reading them."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from agent.database.facts import MOST_VALUES, read_facts
from agent.database.reading import open_database
from agent.database.result import QueryFailed, Result
from agent.database.schema import ColumnFacts

SCRIPT = f"""
CREATE TABLE t (id INTEGER, code TEXT, day TEXT, stamp TEXT, price REAL, mixed, long TEXT, many TEXT, none TEXT,
    photo BLOB, half TEXT, number TEXT);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {MOST_VALUES})
INSERT INTO t SELECT i, 'c' || (i % 3), date('2020-01-01', '+' || (i % 400) || ' days'),
    datetime('2020-01-01', '+' || i || ' hours'), i / 4.0, CASE i % 2 WHEN 0 THEN 'x' ELSE i END,
    CASE i % 2 WHEN 0 THEN 'short' ELSE printf('%.500c', 'l') END, 'm' || i, NULL, zeroblob(10),
    CASE i WHEN 0 THEN '2020-01-01' ELSE 'later' END, CAST(i % 5 AS TEXT) FROM n;
CREATE VIEW v AS SELECT code FROM t;
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("facts") / "facts.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return path


@pytest.fixture(scope="module")
def facts(path: Path) -> dict[str, ColumnFacts]:
    with contextlib.closing(open_database(str(path))) as database:
        return {fact.column: fact for fact in database.facts.columns if fact.table == "t"}


def test_few_values_are_all_kept_in_order(facts: dict[str, ColumnFacts]) -> None:
    assert (facts["code"].values, facts["code"].complete) == (("c0", "c1", "c2"), True)
    assert facts["number"].values == ("0", "1", "2", "3", "4")


def test_dates_and_numbers_have_a_range(facts: dict[str, ColumnFacts]) -> None:
    day, stamp = facts["day"], facts["stamp"]
    assert (day.is_date, day.minimum, day.maximum, day.values) == (True, "2020-01-01", "2021-02-03", ())
    assert stamp.is_date and stamp.minimum == "2020-01-01 00:00:00"
    assert (facts["price"].minimum, facts["price"].maximum, facts["price"].is_date) == ("0.0", "1250.0", False)
    assert (facts["id"].minimum, facts["id"].maximum) == ("0", str(MOST_VALUES))


def test_long_and_too_many_values_are_left_out(facts: dict[str, ColumnFacts]) -> None:
    assert (facts["long"].values, facts["long"].complete) == (("short",), False)
    assert (facts["many"].values, facts["many"].complete) == ((), False)


def test_text_among_numbers_is_kept_and_some_dates_make_no_date(facts: dict[str, ColumnFacts]) -> None:
    assert facts["mixed"].values == ("x",)
    assert facts["half"].values == ("2020-01-01", "later") and not facts["half"].is_date


def test_empty_columns_and_blobs_have_no_facts(facts: dict[str, ColumnFacts]) -> None:
    assert facts["none"] == ColumnFacts("t", "none")
    assert facts["photo"] == ColumnFacts("t", "photo")


def test_a_view_is_listed_without_facts_unless_there_are_only_views(path: Path) -> None:
    with contextlib.closing(open_database(str(path))) as database:
        assert database.facts.columns[-1] == ColumnFacts("v", "code")


def test_the_deadline_holds_and_every_column_is_listed(path: Path) -> None:
    calls: list[float] = []

    def slow(sql: str, seconds: float, rows: int, size: int) -> Result:
        calls.append(seconds)
        time.sleep(min(seconds, 0.05))
        raise QueryFailed("late", kind="deadline")

    with contextlib.closing(open_database(str(path))) as database:
        began = time.monotonic()
        found = read_facts(database.schema, slow, deadline=0.2)
    assert time.monotonic() - began < 1
    assert len(found.columns) == 13 and found.columns[0] == ColumnFacts("t", "id")
    assert 0 < len(calls) <= 5 and max(calls) <= 0.2


def test_a_large_table_is_sampled_in_bounded_time(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE t (kind TEXT, n INTEGER); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
            "WHERE i < 400000) INSERT INTO t SELECT CASE WHEN i < 390000 THEN 'a' ELSE 'rare' END, i FROM n"
        )
    began = time.monotonic()
    with contextlib.closing(open_database(str(path))) as database:
        kind, number = database.facts.columns
    assert time.monotonic() - began < 5
    assert (kind.values, kind.complete) == (("a",), False)
    assert number.maximum == "400000"


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_what_another_program_writes_is_seen_and_nothing_is_read_twice(path: Path, mode: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(path, tmp_path / "own.db"))
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer,
        contextlib.closing(open_database(str(path))) as database,
    ):
        assert writer.execute(f"PRAGMA journal_mode={mode}").fetchone() == (mode.lower(),)
        before = database.facts
        assert database.facts is before, "an unchanged database is read once"
        for number in range(3):
            writer.execute(f"INSERT INTO t (mixed) VALUES ('written by another {number}')")
            values = next(known.values for known in database.facts.columns if known.column == "mixed")
            assert f"written by another {number}" in values
        assert database.facts is database.facts
