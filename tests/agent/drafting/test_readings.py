"""What is worked out from episodes is kept under one lexicon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.attempt import Understood
from agent.database.reading import Database, open_database
from agent.drafting.readings import MOST_KEPT, Kept, Readings
from agent.grounding import Lexicon
from tests.agent.made import read as understood

if TYPE_CHECKING:
    from collections.abc import Callable

NORTHWIND = Path(__file__).resolve().parents[3] / "data" / "northwind.sqlite"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    opened = open_database(str(NORTHWIND))
    yield opened
    opened.close()


@pytest.fixture
def new_lexicon(database: Database) -> Callable[[], Lexicon]:
    return lambda: Lexicon(database.schema, database.facts, ())


def test_a_question_is_read_once_for_all_and_anew_under_another_lexicon(new_lexicon: Callable[[], Lexicon]) -> None:
    lexicons, read = [new_lexicon()], list[str]()

    def understand(question: str) -> Understood:
        read.append(question)
        return understood(question, lexicons[-1])

    readings = Readings(understand=understand, lexicon=lambda: lexicons[-1])
    first = readings("How many orders are there?")
    assert readings("How many orders are there?") is first and first.intent.kind == "count"
    assert readings("How many products are there?") is not first and len(read) == 2
    lexicons.append(new_lexicon())
    assert readings("How many orders are there?") is not first and len(read) == 3


def test_no_more_is_kept_than_there_is_room_for(new_lexicon: Callable[[], Lexicon]) -> None:
    kept, lexicon, made = Kept[int, int](), new_lexicon(), list[int]()

    def make(number: int) -> int:
        made.append(number)
        return number

    for number in range(MOST_KEPT + 1):
        assert kept.get(lexicon, number, lambda number=number: make(number)) == number  # type: ignore[misc]
    assert kept.get(lexicon, 0, lambda: make(-1)) == -1 and len(made) == MOST_KEPT + 2
