"""Totals that mix units or currencies come per unit, and the overall total is unknown."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app import App, open_app
from agent.settings import Settings
from agent.totals import mixed_totals

TILL = """
    CREATE TABLE shops (id INTEGER PRIMARY KEY, town TEXT);
    CREATE TABLE payments (id INTEGER PRIMARY KEY, shop INTEGER REFERENCES shops, amount REAL, currency TEXT);
    INSERT INTO shops VALUES (1, 'Bern'), (2, 'Lyon');
    INSERT INTO payments VALUES (1, 1, 10, 'CHF'), (2, 1, 20, 'EUR'), (3, 2, 5, 'EUR'), (4, 2, 7, NULL);
"""


@pytest.fixture
def till(tmp_path: Path) -> Iterator[App]:
    path = tmp_path / "till.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TILL)
    told = replace(Settings(), database=str(path), runs=tmp_path / "runs", model="none", sow=False)
    with open_app(told, seeding=False) as app:
        yield app


def rows(app: App, sql: str) -> tuple[Sequence[Any], Sequence[Any] | None]:
    """Overall and per unit; nothing where no total is mixed."""
    totals = mixed_totals(app, sql, app.checked_run(sql))
    if totals is None:
        return (), None
    assert totals.unit == "payments.currency"
    return totals.overall.rows, sorted(totals.per_unit.rows, key=str) if totals.per_unit else None


def test_a_total_over_several_currencies_is_unknown_as_a_whole_and_told_for_each(till: App) -> None:
    assert rows(till, "SELECT SUM(amount), COUNT(*) FROM payments") == (
        ((None, 4),),
        [("CHF", 10.0, 1), ("EUR", 25.0, 2), (None, 7.0, 1)],
    )


def test_groups_keep_their_names_and_lose_their_totals(till: App) -> None:
    sql = "SELECT s.town, AVG(p.amount) FROM payments AS p JOIN shops AS s ON s.id = p.shop GROUP BY s.town"
    overall, parts = rows(till, sql)
    assert overall == (("Bern", None), ("Lyon", None))
    assert parts == [("CHF", "Bern", 10.0), ("EUR", "Bern", 20.0), ("EUR", "Lyon", 5.0), (None, "Lyon", 7.0)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MAX(amount) FROM payments GROUP BY shop ORDER BY 1 LIMIT 1",
        "WITH all_of AS (SELECT SUM(amount) AS total FROM payments) SELECT total FROM all_of",
        "SELECT shop, SUM(amount) FROM payments GROUP BY shop HAVING SUM(amount) > 20",
    ],
)
def test_what_cannot_be_parted_is_unknown(till: App, sql: str) -> None:
    overall, parts = rows(till, sql)
    assert overall and all(row[-1] is None for row in overall) and parts is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(amount) FROM payments WHERE currency = 'EUR'",
        "SELECT currency, SUM(amount) FROM payments GROUP BY currency",
        "SELECT COUNT(*) FROM payments",
        "SELECT amount FROM payments",
        "SELECT MAX(town) FROM shops",
    ],
)
def test_a_query_that_tells_units_apart_or_adds_nothing_up_is_as_it_is(till: App, sql: str) -> None:
    assert rows(till, sql) == ((), None)
