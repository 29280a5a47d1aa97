"""What the tests of the question files stand on: the shipped database, and the leak check set up for it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from agent.database.reading import Database, open_database
from agent.grounding import Lexicon, ground
from agent.intent import mask
from agent.learning.leaks import Leak, leaks
from agent.learning.mistakes import one_spelling
from agent.learning.questions import Pair
from memory.semantic import Term

ROOT = Path(__file__).resolve().parents[2]

Leaked = Callable[[Sequence[Pair], Sequence[Pair]], tuple[Leak, ...]]


@pytest.fixture(scope="session")
def northwind() -> Iterator[Database]:
    database = open_database(str(ROOT / "data/northwind.sqlite"))
    yield database
    database.close()


@pytest.fixture(scope="session")
def leaked(northwind: Database) -> Leaked:
    listed = tomllib.loads((ROOT / "data/glossary/northwind.toml").read_text(encoding="utf-8"))["term"]
    terms = [Term(tuple(t["names"]), t["meaning"], t.get("expression"), tuple(t["tables"]), "glossary") for t in listed]
    lexicon = Lexicon.build(northwind.schema, northwind.facts, terms)

    def found(training: Sequence[Pair], holdout: Sequence[Pair]) -> tuple[Leak, ...]:
        return leaks(
            training,
            holdout,
            mask=lambda question: mask(question, ground(question, lexicon)),
            normalise=lambda sql: one_spelling(sql, "sqlite"),
        )

    return found
