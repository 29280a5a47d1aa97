"""What stands before a query that is planned, and that the whole still is that query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.database.skeleton import normalise
from agent.drafting.plans import planned
from agent.drafting.reply import read_sql

SEEDS = Path(__file__).resolve().parents[3] / "data" / "seeds" / "northwind.jsonl"


def plan(sql: str, dialect: str = "sqlite") -> dict[str, str]:
    *lines, last = planned(sql, dialect).splitlines()
    assert last == sql
    return dict(line.removeprefix("-- ").split(": ", 1) for line in lines)


def test_each_part_of_the_query_is_a_line() -> None:
    sql = (
        "SELECT c.City, COUNT(*) AS Orders FROM Orders AS o JOIN Customers AS c ON c.CustomerID = o.CustomerID "
        "WHERE c.Country = 'France' AND o.Freight > 10 GROUP BY c.City HAVING COUNT(*) > 2 ORDER BY Orders DESC LIMIT 3"
    )
    assert plan(sql) == {
        "from": "Orders, Customers",
        "keep": "c.Country = 'France', o.Freight > 10, COUNT(*) > 2",
        "per": "c.City",
        "show": "c.City, Orders",
        "sort": "Orders DESC",
        "rows": "3",
    }


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("WITH best AS (SELECT Price FROM Breads) SELECT * FROM best", "Breads"),
        ("SELECT Name FROM Breads UNION SELECT Name FROM Bakers", "Breads, Bakers"),
        ('SELECT a.Pieces FROM "Daily Sales" AS a, "Daily Sales" AS b', '"Daily Sales"'),
    ],
)
def test_tables_are_named_once_and_by_their_own_name(sql: str, tables: str) -> None:
    assert plan(sql)["from"] == tables


def test_a_value_that_breaks_lines_stays_within_the_comment() -> None:
    sql = "SELECT 1 FROM Breads WHERE Name = 'a\nDROP TABLE Breads'"
    lines = planned(sql, "sqlite").splitlines()
    assert lines[1] == "-- keep: Name = 'a DROP TABLE Breads'"


def test_what_is_no_query_is_left_as_it_is() -> None:
    for text in ("", "SELECT FROM WHERE", "(" * 5_000, "DELETE FROM Breads"):
        assert planned(text, "sqlite") == text


def test_every_shipped_query_is_read_back_from_its_plan_unchanged() -> None:
    for line in SEEDS.read_text("utf-8").splitlines():
        sql = normalise(json.loads(line)["sql"], "sqlite")
        assert normalise(read_sql(planned(sql, "sqlite")), "sqlite") == sql
