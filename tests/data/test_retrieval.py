"""The questions that recall is measured on: as good as the others, known from none, some in four languages."""

from __future__ import annotations

from collections import Counter, defaultdict
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

DATA = Path(__file__).resolve().parents[2] / "data"
RETRIEVAL = read_pairs(DATA / "questions/retrieval.jsonl")
OTHERS = (
    "seeds/northwind.jsonl",
    "questions/training.jsonl",
    "questions/development.jsonl",
    "questions/readme.jsonl",
    "questions/strange.jsonl",
    "questions/calibration.jsonl",
    "questions/fresh.jsonl",
    "questions/holdout.jsonl",
)
WORDINGS = ("pairs.jsonl", "stranger.jsonl", "stranger_final.jsonl")
ABROAD = {"de", "es", "ko"}


def asked_in(language: str) -> list[Pair]:
    return [question for question in RETRIEVAL if question.language == language]


@pytest.mark.parametrize("question", asked_in("en"), ids=lambda question: question.id)
def test_a_gold_is_confirmed_by_a_second_query_and_shows_something(question: Pair, answered: Answered) -> None:
    assert question.others
    assert 1 <= len(verify(question, run=answered).rows) <= 200


def test_a_second_query_is_another_formulation(repeated: Callable[[Sequence[Pair]], list[str]]) -> None:
    assert repeated(asked_in("en")) == []


def test_no_tie_decides_what_a_gold_gives(answered: Answered) -> None:
    decided = [
        question.id
        for question in asked_in("en")
        for sql in tie_broken(question.sql, "sqlite")
        if not same(answered(question.sql), answered(sql), ordered=False)
    ]
    assert decided == []


@pytest.mark.parametrize("path", OTHERS)
def test_no_question_is_known_from_another_file(path: str, leaked: Leaked) -> None:
    """Ids and rules alone: who writes these questions need not read the others."""
    found = leaked(read_pairs(DATA / path), RETRIEVAL)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found] == []


@pytest.mark.parametrize("path", WORDINGS)
def test_no_question_is_worded_like_one_that_understanding_is_tried_on(
    path: str, leaked: Leaked, wordings: Wordings
) -> None:
    found = leaked(wordings(DATA / "questions" / path, "northwind"), RETRIEVAL)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found] == []


def test_no_english_question_is_another_one_in_other_words(leaked: Leaked) -> None:
    found = leaked(asked_in("en"), asked_in("en"))
    assert [(leak.training, leak.holdout, leak.rule) for leak in found if leak.training != leak.holdout] == []


def test_what_is_asked_in_one_other_language_is_asked_in_all_and_means_the_same() -> None:
    said: dict[str, list[Pair]] = defaultdict(list)
    for question in RETRIEVAL:
        said[question.id.removesuffix(f"-{question.language}")].append(question)
    assert {frozenset(one.language for one in alike) for alike in said.values()} == {
        frozenset({"en"}),
        frozenset({"en", *ABROAD}),
    }
    for alike in said.values():
        assert len({(one.sql, one.others, one.ordered, one.type, one.difficulty) for one in alike}) == 1
        assert len({one.question for one in alike}) == len(alike)


def test_questions_are_of_every_kind_of_the_pack_and_as_many_as_promised() -> None:
    types = Counter(question.type for question in asked_in("en"))
    assert types.keys() == {seed.type for seed in read_pairs(DATA / "seeds/northwind.jsonl")}
    assert Counter(question.language for question in RETRIEVAL) == {"en": 79, "de": 35, "es": 35, "ko": 35}
