"""Questions as strangers ask them, a second set to choose and improve by: as good as the others, known from none."""

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
Wordings = Callable[[Path, str], list[Pair]]
AnsweredAlike = Callable[[Sequence[Pair], Sequence[Pair]], list[tuple[str, str]]]

DATA = Path(__file__).resolve().parents[2] / "data"
FILE = DATA / "questions/strange.jsonl"
STRANGE = read_pairs(FILE)
OTHERS = (
    "seeds/northwind.jsonl",
    "questions/training.jsonl",
    "questions/development.jsonl",
    "questions/readme.jsonl",
    "questions/calibration.jsonl",
    "questions/holdout.jsonl",
)
WORDINGS = ("pairs.jsonl", "stranger.jsonl", "stranger_final.jsonl")


@pytest.mark.parametrize("question", STRANGE, ids=lambda question: question.id)
def test_a_strange_gold_is_confirmed_by_a_second_query_and_shows_something(question: Pair, answered: Answered) -> None:
    assert question.others
    assert 1 <= len(verify(question, run=answered).rows) <= 200


def test_what_else_is_accepted_runs_and_shows_something(answered: Answered) -> None:
    assert [(q.id, sql) for q in STRANGE for sql in q.accepted if not answered(sql).rows] == []


def test_a_second_query_is_another_formulation(repeated: Callable[[Sequence[Pair]], list[str]]) -> None:
    assert repeated(STRANGE) == []


def test_no_tie_decides_what_a_gold_gives(answered: Answered) -> None:
    decided = [
        question.id
        for question in STRANGE
        for sql in tie_broken(question.sql, "sqlite")
        if not same(answered(question.sql), answered(sql), ordered=False)
    ]
    assert decided == []


@pytest.mark.parametrize("path", OTHERS)
def test_no_strange_question_is_known_from_another_file(path: str, leaked: Leaked) -> None:
    """Ids and rules alone: who writes these questions need not read the others."""
    found = leaked(read_pairs(DATA / path), STRANGE)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found] == []


@pytest.mark.parametrize("path", WORDINGS)
def test_no_strange_question_is_worded_like_one_that_understanding_is_tried_on(
    path: str, leaked: Leaked, wordings: Wordings
) -> None:
    found = leaked(wordings(DATA / "questions" / path, "northwind"), STRANGE)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found] == []


def test_no_strange_question_is_another_one_in_other_words(leaked: Leaked) -> None:
    found = leaked(STRANGE, STRANGE)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found if leak.training != leak.holdout] == []


@pytest.mark.parametrize("path", OTHERS)
def test_no_strange_question_has_the_answer_of_another_question(path: str, answered_alike: AnsweredAlike) -> None:
    assert answered_alike(read_pairs(DATA / path), STRANGE) == []


def test_strange_questions_are_of_every_kind_level_and_language() -> None:
    assert len(STRANGE) == 70
    types = Counter(question.type for question in STRANGE)
    assert types.keys() == {seed.type for seed in read_pairs(DATA / "seeds/northwind.jsonl")}
    assert min(types.values()) >= 2
    assert [q.id for q in STRANGE if not q.id.startswith(f"strange-{q.type.replace('_', '-')}-")] == []
    assert Counter(question.difficulty for question in STRANGE) == {"easy": 23, "medium": 35, "hard": 12}
    assert Counter(question.language for question in STRANGE) == {"en": 61, "ko": 6, "de": 3}


def test_strange_questions_are_by_several_writers_none_of_whom_wrote_most() -> None:
    lines = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    writers = Counter(line["writer"] for line in lines)
    assert writers.keys() == {"manager", "controller", "clerk", "analyst", "mistyping", "korean", "german"}
    assert max(writers.values()) <= len(lines) / 4
    assert {line["language"] for line in lines if line["writer"] not in {"korean", "german"}} == {"en"}
    assert not any("?" in line["question"] for line in lines if line["writer"] == "manager")
