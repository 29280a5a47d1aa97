"""What the tests of the question files stand on: the shipped database, and what tells questions that are alike."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pytest

from agent.database.comparing import same
from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.grounding import Lexicon, ground
from agent.intent import mask
from agent.learning.leaks import Leak, leaks
from agent.learning.mistakes import one_spelling
from agent.learning.questions import Pair
from memory.semantic import Term

ROOT = Path(__file__).resolve().parents[2]

Leaked = Callable[[Sequence[Pair], Sequence[Pair]], tuple[Leak, ...]]
Answered = Callable[[str], Result]
AnsweredAlike = Callable[[Sequence[Pair], Sequence[Pair]], list[tuple[str, str]]]


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

    masked = lru_cache(maxsize=2_000)(lambda question: mask(question, ground(question, lexicon)))
    spelled = lru_cache(maxsize=4_000)(lambda sql: one_spelling(sql, "sqlite"))

    def found(training: Sequence[Pair], holdout: Sequence[Pair]) -> tuple[Leak, ...]:
        return leaks(training, holdout, mask=masked, normalise=spelled)

    return found


@pytest.fixture(scope="session")
def answered(northwind: Database) -> Answered:
    """Check and run SQL on the shipped database. What a query gave is kept: many tests ask the same."""
    return lru_cache(maxsize=2_000)(lambda sql: northwind.run(check(sql, northwind.schema).sql))


@pytest.fixture(scope="session")
def answered_alike(answered: Answered) -> AnsweredAlike:
    """Name each known and each asked question with the same answer, where that is hardly so by chance.

    That is a result of several rows, or a number with a fraction.
    """

    def found(known: Sequence[Pair], asked: Sequence[Pair]) -> list[tuple[str, str]]:
        telling = [(pair.id, result) for pair in asked if _telling(result := answered(pair.sql))]
        assert len(telling) > len(asked) / 2
        results = [(pair.id, answered(pair.sql)) for pair in known]
        return [
            (known_id, asked_id)
            for asked_id, result in telling
            for known_id, other in results
            if same(result, other, ordered=False)
        ]

    return found


def _telling(result: Result) -> bool:
    cells = [cell for row in result.rows for cell in row]
    return len(result.rows) > 1 or any(isinstance(cell, float) and not cell.is_integer() for cell in cells)


@pytest.fixture(scope="session")
def repeated() -> Callable[[Sequence[Pair]], list[str]]:
    """Name the questions whose second query is the first again, or whose first is another question's."""

    def found(pairs: Sequence[Pair]) -> list[str]:
        golds = {pair.id: one_spelling(pair.sql, "sqlite") for pair in pairs}
        times = Counter(golds.values())
        return [
            pair.id
            for pair in pairs
            if times[golds[pair.id]] > 1 or golds[pair.id] in {one_spelling(other, "sqlite") for other in pair.others}
        ]

    return found
