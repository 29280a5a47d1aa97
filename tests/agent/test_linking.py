"""Strangers' wording links to the kind, tables, columns, values, measures and times that its writer meant.

linking.jsonl holds it for Northwind and, under `hotel`, for a database without a glossary. The rules were tuned on two
thirds of the questions (`tuned`); `held` ones were looked at once, when the tuning was over.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.database.reading import open_database
from agent.grounding import ground
from agent.intent import predict
from agent.linked import Grounding
from agent.linking import Lexicon
from agent.periods import grain_of
from agent.pieces import money_places
from agent.wording import tokens
from tests.agent.made import open_northwind

HERE = Path(__file__).parent
ASKED = [json.loads(line) for line in (HERE / "linking.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def lexicons(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Lexicon]:
    path = tmp_path_factory.mktemp("linking") / "hotel.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((HERE / "learning" / "hotel.sql").read_text(encoding="utf-8"))
    with closing(open_database(str(path))) as database, open_northwind() as (_, northwind):
        return {"hotel": Lexicon.build(database.schema, database.facts), "northwind": northwind}


def _named(grounding: Grounding) -> set[str]:
    """The tables, columns, values and terms that stretches were taken for."""
    found: set[str] = set()
    for link in grounding.chosen:
        if link.kind == "term" and link.value:
            found.add(link.value)
        if link.table and (link.kind == "table" or link.role == "entity"):
            found.add(link.table)
        if link.column:
            found.add(f"{link.table}.{link.column}")
        if link.column and link.kind == "value":
            found.add(f"{link.table}.{link.column}={link.value}")
    return found


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked["question"])
def test_strange_wording_links_to_what_is_meant(asked: dict[str, Any], lexicons: Mapping[str, Lexicon]) -> None:
    found = ground(asked["question"], lexicons[asked["db"]])
    assert predict(asked["question"], found).kind in asked["kind"].split()
    assert sorted(found.tables) == asked["tables"]
    assert not set(asked["links"]) - _named(found)
    if asked["filters"]:
        assert sorted(found.filters) == asked["filters"]
    assert (found.limit, found.direction) == (asked["limit"], asked["direction"])
    assert grain_of(asked["question"]) == asked["grouping"]
    if asked["date"]:
        assert found.date_column == tuple(asked["date"].split("."))


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("How much tea did we sell?", None),
        ("customers that ordered for Christmas", None),
        ("How much was order 10250?", None),
        ("goods that were sold for over 900", 4),
    ],
)
def test_money_is_meant_only_where_a_number_or_how_much_says_so(question: str, measure: int | None) -> None:
    assert next(iter(money_places(tokens(question))), None) == measure


@pytest.mark.parametrize(
    "question",
    [
        "Welche Produkte kosten mehr als der Durchschnitt?",
        "How many units were sold per year?",
        "How many days does it take on average to ship an order?",
    ],
)
def test_pieces_of_other_names_are_not_taken(question: str, lexicons: Mapping[str, Lexicon]) -> None:
    found = _named(ground(question, lexicons["northwind"]))
    assert not found & {"Customers", "Products.QuantityPerUnit", "Employees.HireDate"}


def test_a_price_held_against_four_digits_is_no_year(lexicons: Mapping[str, Lexicon]) -> None:
    assert not ground("Which countries have an average order value above 2000?", lexicons["northwind"]).periods
    assert ground("Which orders were placed after 1997?", lexicons["northwind"]).periods
