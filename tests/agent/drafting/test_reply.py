"""Which SQL is taken out of what a model wrote."""

from __future__ import annotations

import contextlib
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent.database.guard import check
from agent.database.result import QueryRejected
from agent.database.schema import Column, Schema, Table
from agent.drafting.reply import read_sql

CASES = tomllib.loads(Path(__file__).with_name("replies.toml").read_text(encoding="utf-8"))["reply"]
SCHEMA = Schema("shop", "sqlite", (Table("Orders", (Column("Id", "INTEGER"), Column("Freight", "REAL"))),), "", "f")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_the_sql_of_a_reply_is_read(case: dict[str, str]) -> None:
    if "sql" in case:
        assert read_sql(case["text"]) == case["sql"]
    else:
        with pytest.raises(QueryRejected) as rejected:
            read_sql(case["text"])
        assert rejected.value.rule == "no_sql"
        assert "Reply with one SELECT statement" in rejected.value.reason


def test_there_are_enough_examples() -> None:
    assert len(CASES) >= 40
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT Id FROM Orders; DROP TABLE Orders",
        "SELECT Id FROM Orders;; DELETE FROM Orders",
        "SELECT Id FROM Orders; /* no */ UPDATE Orders SET Freight = 0",
        "```sql\nSELECT Id FROM Orders;\nSELECT Freight FROM Orders\n```",
        "SELECT Id FROM Orders; (SELECT 1)",
    ],
)
def test_a_second_statement_reaches_the_guard_and_is_refused(text: str) -> None:
    with pytest.raises(QueryRejected) as rejected:
        check(read_sql(text), SCHEMA)
    assert rejected.value.rule in {"one_statement", "syntax"}


MOST = 39_000


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1" + " " * MOST + "x",
        "SELECT 1" + "\n" * MOST + "x",
        "SELECT 1" + "\n " * (MOST // 2) + "x",
        "--\n" * (MOST // 3) + "SELECT 1",
        "SELECT 1;" * (MOST // 9),
        "```sql\nSELECT '" * (MOST // 15),
        "```\n" * (MOST // 4),
        "/*" * (MOST // 2),
        "with a (" * (MOST // 8),
        "SQL: " * (MOST // 5),
        "*" * MOST,
        "(" * MOST,
        "SELECT " + "`" * MOST,
    ],
    ids=lambda text: repr(text[:18]),
)
def test_a_reply_that_goes_on_and_on_is_read_in_no_time(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(QueryRejected):
        read_sql(text)
    assert time.process_time() - began < 2.0


def test_a_reply_longer_than_any_query_is_not_read() -> None:
    with pytest.raises(QueryRejected, match=r"has 40,001 characters\. Reply with one short SELECT") as rejected:
        read_sql("SELECT 1 " + "x" * 39_992)
    assert rejected.value.rule == "length"


WORDS = some.text("abcxyz0123456789äß客_", min_size=1, max_size=8)
LITERALS = some.text("ab;'\"`[]-/*\n ()", max_size=12).map(lambda text: "'" + text.replace("'", "''") + "'")
NAMES = some.one_of(
    WORDS.map(lambda word: f"c{word}"), some.text("ab; '[]`-/*\n()", min_size=1, max_size=8).map(lambda t: f'"x{t}"')
)
COLUMNS = some.lists(some.one_of(NAMES, LITERALS, some.integers().map(str)), min_size=1, max_size=4)
SELECTS = some.builds(
    lambda columns, table, value, space: f"SELECT {', '.join(columns)}{space}FROM {table} WHERE {table}.a = {value}",
    COLUMNS,
    NAMES,
    LITERALS,
    some.sampled_from([" ", "\n", "\n\n", "\t"]),
)


@settings(max_examples=300, deadline=None)
@given(SELECTS)
def test_a_plain_select_comes_back_unchanged(sql: str) -> None:
    assert read_sql(sql) == sql


@settings(max_examples=200, deadline=None)
@given(
    SELECTS,
    some.sampled_from(["{};", "```sql\n{}\n```", "```\n{};\n```", "SQLQuery: {};", "-- note; all\n{}", "{}\n;\n"]),
)
def test_a_select_is_read_out_of_every_wrapping(sql: str, wrapping: str) -> None:
    assert read_sql(wrapping.format(sql)) == sql


@settings(max_examples=300, deadline=None)
@given(some.text(max_size=200))
def test_nothing_but_a_rejection_is_ever_raised(text: str) -> None:
    try:
        assert read_sql(text).strip()
    except QueryRejected as rejected:
        assert rejected.rule == "no_sql"


@settings(max_examples=200, deadline=None)
@given(some.text("SELECT wih`;'\"-/*\n()FROMsql:DOV", max_size=120))
def test_reading_what_was_read_changes_nothing(text: str) -> None:
    try:
        once = read_sql(text)
        assert read_sql(once) == once
    except QueryRejected:
        pass
