"""The training questions: every gold is confirmed by a second query, and none of them is known from another set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.learning.questions import Pair, read_pairs
from agent.learning.seed import verify

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data/questions"
TRAINING = read_pairs(FOLDER / "training.jsonl")
SEEDS = read_pairs(ROOT / "data/seeds/northwind.jsonl")
KNOWN = (*SEEDS, *read_pairs(FOLDER / "development.jsonl"), *read_pairs(FOLDER / "readme.jsonl"))


@pytest.fixture(scope="module")
def northwind() -> Iterator[Database]:
    database = open_database(str(ROOT / "data/northwind.sqlite"))
    yield database
    database.close()


def _bare(text: str) -> str:
    return "".join(re.findall(r"\w", text.lower()))


def _without_literals(text: str) -> str:
    """Mask strings and numbers, but not the format of a date, which says what is asked."""
    text = re.sub(r"'(?:[^']|'')*'", lambda found: found[0] if "%Y" in found[0] or "%m" in found[0] else "?", text)
    return re.sub(r"\b\d+(?:\.\d+)?\b", "?", text).lower()


@pytest.mark.parametrize("question", TRAINING, ids=lambda question: question.id)
def test_a_training_gold_is_confirmed_by_a_second_query_and_shows_something(
    question: Pair, northwind: Database
) -> None:
    assert question.others
    assert _without_literals(question.sql) not in map(_without_literals, question.others)
    rows = verify(question, run=lambda sql: northwind.run(check(sql, northwind.schema).sql)).rows
    assert 1 <= len(rows) <= 200


@pytest.mark.parametrize(
    "question", [one for one in TRAINING if re.search(r" LIMIT \d+", one.sql)], ids=lambda question: question.id
)
def test_no_tie_decides_what_a_limit_cuts_off(question: Pair, northwind: Database) -> None:
    """The last column of such a gold is what it sorts by. It must differ on both sides of each cut."""
    open_end, limit, offset = _cut(question.sql)
    values = [row[-1] for row in northwind.run(check(open_end, northwind.schema).sql).rows]
    assert len(values) >= offset + limit
    for cut in (offset, offset + limit):
        assert cut in (0, len(values)) or values[cut - 1] != values[cut]


def _cut(sql: str) -> tuple[str, int, int]:
    found = re.fullmatch(r"(.*) LIMIT (\d+)(?: OFFSET (\d+))?", sql)
    assert found, "a LIMIT stands at the end of a gold"
    return found[1], int(found[2]), int(found[3] or 0)


def test_the_set_has_every_type_several_times_and_several_languages_and_levels() -> None:
    assert len(TRAINING) >= 160
    types = Counter(question.type for question in TRAINING)
    assert len(types) >= 25
    assert types.keys() == {seed.type for seed in SEEDS}
    assert [name for name, times in types.items() if times < 4] == []
    assert {question.language for question in TRAINING} == {"en", "de", "ko"}
    assert {question.difficulty for question in TRAINING} == {"easy", "medium", "hard"}
    assert [question.id for question in TRAINING if not question.id.startswith(_prefix(question))] == []


def _prefix(question: Pair) -> str:
    return f"train-{question.type.replace('_', '-')}-"


def test_no_training_question_is_there_twice_or_stands_in_another_set() -> None:
    asked = Counter(_bare(question.question) for question in TRAINING)
    assert [text for text, times in asked.items() if times > 1] == []
    queries = Counter(question.sql.lower() for question in TRAINING)
    assert [sql for sql, times in queries.items() if times > 1] == []
    known = {_bare(pair.question) for pair in KNOWN}
    assert [question.id for question in TRAINING if _bare(question.question) in known] == []


def test_no_training_gold_is_a_known_query_with_other_literals() -> None:
    known = {_without_literals(pair.sql) for pair in KNOWN}
    assert [question.id for question in TRAINING if _without_literals(question.sql) in known] == []


def test_about_a_third_of_the_questions_come_back_with_another_value() -> None:
    shapes = Counter(_without_literals(question.sql) for question in TRAINING)
    siblings = [question for question in TRAINING if shapes[_without_literals(question.sql)] > 1]
    assert 0.25 <= len(siblings) / len(TRAINING) <= 0.45
