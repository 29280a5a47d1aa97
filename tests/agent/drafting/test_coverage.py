"""What a query leaves out of its question or makes up: caught where it is so, and silent about right queries."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.attempt import Doubt, Understood
from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.drafting.coverage import doubts
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from memory.semantic import Term

HOME = Path(__file__).parents[3]
Line = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A database to ask, and what is known about it."""

    database: Database
    lexicon: Lexicon

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))

    def doubts(self, question: str, sql: str) -> tuple[Doubt, ...]:
        """What is doubted once the query has run."""
        query = check(sql, self.database.schema)
        return doubts(self.understand(question), query.sql, self.database.run(query.sql), lexicon=self.lexicon)

    def rules(self, question: str, sql: str) -> set[str]:
        return {doubt.rule for doubt in self.doubts(question, sql)}


@pytest.fixture(scope="module")
def northwind() -> Iterator[Asked]:
    told = tomllib.loads((HOME / "data/glossary/northwind.toml").read_text(encoding="utf-8"))["term"]
    terms = [Term(tuple(t["names"]), t["meaning"], t.get("expression"), tuple(t["tables"]), "glossary") for t in told]
    with closing(open_database(str(HOME / "data/northwind.sqlite"))) as database:
        yield Asked(database, Lexicon(database.schema, database.facts, terms))


def lines(name: str) -> list[Line]:
    text = (HOME / "data" / name).read_text(encoding="utf-8")
    return [line for line in map(json.loads, text.splitlines()) if line.get("language", "en") == "en"]


def right_queries(name: str) -> Iterator[tuple[str, str]]:
    for line in lines(name):
        for key in ("sql", "check_sql", "alt_sql"):
            found = line.get(key) or []
            for sql in [found] if isinstance(found, str) else found:
                yield line["question"], sql


@pytest.mark.parametrize("name", ["questions/training.jsonl", "questions/development.jsonl", "seeds/northwind.jsonl"])
def test_hardly_any_right_query_is_doubted(name: str, northwind: Asked) -> None:
    found = [(question, sql, northwind.rules(question, sql) - {"empty"}) for question, sql in right_queries(name)]
    doubted = [one for one in found if one[2]]
    assert len(doubted) <= 0.03 * len(found), doubted


def test_what_cannot_be_read_gives_no_doubt(northwind: Asked) -> None:
    understood = northwind.understand("Which customers are in Germany?")
    for sql in ("", "SELEC", "DELETE FROM Orders", "SELECT " + "(" * 5_000, "SELECT 1; SELECT 2"):
        assert doubts(understood, sql, lexicon=northwind.lexicon) == ()
