"""The questions on which confidence is calibrated: as good as the others, and known from none of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent.database.comparing import same
from agent.database.result import Result
from agent.learning.leaks import Leak
from agent.learning.questions import Pair, read_pairs
from agent.learning.seed import verify
from agent.learning.ties import tie_broken

Leaked = Callable[[Sequence[Pair], Sequence[Pair]], tuple[Leak, ...]]
Answered = Callable[[str], Result]
AnsweredAlike = Callable[[Sequence[Pair], Sequence[Pair]], list[tuple[str, str]]]

DATA = Path(__file__).resolve().parents[2] / "data"
FILE = DATA / "questions/calibration.jsonl"
CALIBRATION = read_pairs(FILE)
OTHERS = (
    "seeds/northwind.jsonl",
    "questions/training.jsonl",
    "questions/development.jsonl",
    "questions/readme.jsonl",
    "questions/holdout.jsonl",
)


@pytest.mark.parametrize("question", CALIBRATION, ids=lambda question: question.id)
def test_a_calibration_gold_is_confirmed_by_a_second_query_and_shows_something(
    question: Pair, answered: Answered
) -> None:
    assert question.others
    assert 1 <= len(verify(question, run=answered).rows) <= 200


def test_what_else_is_accepted_runs_and_shows_something(answered: Answered) -> None:
    assert [(q.id, sql) for q in CALIBRATION for sql in q.accepted if not answered(sql).rows] == []


def test_a_second_query_is_another_formulation(repeated: Callable[[Sequence[Pair]], list[str]]) -> None:
    assert repeated(CALIBRATION) == []


def test_no_tie_decides_what_a_gold_gives(answered: Answered) -> None:
    decided = [
        question.id
        for question in CALIBRATION
        for sql in tie_broken(question.sql, "sqlite")
        if not same(answered(question.sql), answered(sql), ordered=False)
    ]
    assert decided == []


@pytest.mark.parametrize("path", OTHERS)
def test_no_calibration_question_is_known_from_another_file(path: str, leaked: Leaked) -> None:
    """Ids and rules alone: who writes these questions need not read the others."""
    found = leaked(read_pairs(DATA / path), CALIBRATION)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found] == []


@pytest.mark.parametrize("path", OTHERS)
def test_no_calibration_question_has_the_answer_of_another_question(path: str, answered_alike: AnsweredAlike) -> None:
    assert answered_alike(read_pairs(DATA / path), CALIBRATION) == []


def test_calibration_questions_are_of_every_kind_level_and_language() -> None:
    assert len(CALIBRATION) == 90
    types = Counter(question.type for question in CALIBRATION)
    assert types.keys() == {seed.type for seed in read_pairs(DATA / "seeds/northwind.jsonl")}
    assert min(types.values()) >= 2
    assert [q.id for q in CALIBRATION if not q.id.startswith(f"cal-{q.type.replace('_', '-')}-")] == []
    levels = Counter(question.difficulty for question in CALIBRATION)
    assert levels.keys() == {"easy", "medium", "hard"}
    assert all(28 <= times <= 32 for times in levels.values())
    assert Counter(question.language for question in CALIBRATION) == {"en": 78, "ko": 8, "de": 4}


def test_a_third_of_the_calibration_questions_ask_for_what_no_seed_is_like() -> None:
    """The others are kindred to a seed: the same kind of answer over other tables, filters or measures."""
    lines = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    assert Counter(line["relation"] for line in lines) == {"kindred": 60, "new": 30}
