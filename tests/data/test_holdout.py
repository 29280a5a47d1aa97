"""The questions held back: every gold is confirmed, every kind is there, and no other file gives one away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.learning.judging import Judge
from agent.learning.leaks import Leak
from agent.learning.mutating import mutated
from agent.learning.questions import Pair, read_pairs
from agent.learning.seed import verify
from agent.learning.subsets import read_subset

Leaked = Callable[[Sequence[Pair], Sequence[Pair]], tuple[Leak, ...]]
Answered = Callable[[str], Result]
AnsweredAlike = Callable[[Sequence[Pair], Sequence[Pair]], list[tuple[str, str]]]

DATA = Path(__file__).resolve().parents[2] / "data"
HOLDOUT = read_pairs(DATA / "questions/holdout.jsonl")
KNOWN = ("questions/training.jsonl", "seeds/northwind.jsonl", "questions/development.jsonl", "questions/readme.jsonl")


def _named(found: Sequence[Leak]) -> list[tuple[str, str, str]]:
    """Ids and rules alone: who writes training questions need not read these, and the other way round."""
    return [(leak.holdout, leak.training, leak.rule) for leak in found]


@pytest.mark.parametrize("question", HOLDOUT, ids=lambda question: question.id)
def test_a_holdout_gold_is_confirmed_by_a_second_query(question: Pair, answered: Answered) -> None:
    assert question.others
    assert 1 <= len(verify(question, run=answered).rows) <= 200


def test_both_queries_agree_on_copies_with_other_rows_too(
    northwind: Database, answered: Answered, tmp_path: Path
) -> None:
    """A second query that is right on the shipped rows only would credit a lucky answer."""
    with mutated(
        northwind,
        file=DATA / "northwind.sqlite",
        folder=tmp_path,
        open_copy=lambda path: open_database(str(path)),
    ) as copies:
        judge = Judge(run=answered, copies=copies)
        verdicts = {question.id: judge.confirm(question) for question in HOLDOUT}
    assert {name: verdict.reason for name, verdict in verdicts.items() if not verdict.right} == {}


def test_a_second_query_is_another_formulation(repeated: Callable[[Sequence[Pair]], list[str]]) -> None:
    assert repeated(HOLDOUT) == []


def test_holdout_questions_are_many_of_every_kind() -> None:
    seeds = read_pairs(DATA / "seeds/northwind.jsonl")
    assert len(HOLDOUT) >= 84
    assert {question.type for question in HOLDOUT} == {seed.type for seed in seeds}
    hard = Counter(question.difficulty for question in HOLDOUT)
    assert hard.keys() == {"easy", "medium", "hard"}
    assert all(0.2 <= hard[name] / len(HOLDOUT) <= 0.55 for name in hard)
    assert {question.language for question in HOLDOUT} == {"en", "de", "ko"}


@pytest.mark.parametrize("path", KNOWN)
def test_no_holdout_question_is_known_from_another_file(path: str, leaked: Leaked) -> None:
    assert _named(leaked(read_pairs(DATA / path), HOLDOUT)) == []


@pytest.mark.parametrize("path", KNOWN)
def test_no_holdout_question_has_the_answer_of_another_question(path: str, answered_alike: AnsweredAlike) -> None:
    assert answered_alike(read_pairs(DATA / path), HOLDOUT) == []


def test_no_development_question_is_a_training_question(leaked: Leaked) -> None:
    """Development questions are for choosing: they may look alike, but be none of them."""
    training, development = (read_pairs(DATA / f"questions/{name}.jsonl") for name in ("training", "development"))
    found = leaked(training, development)
    assert _named([leak for leak in found if leak.rule in {"same question", "same SQL"}]) == []


def test_the_published_protocol_has_its_subset_of_fifty_and_ten() -> None:
    subset = read_subset(DATA / "questions/published.toml")
    assert (len(subset.training), len(subset.holdout)) == (50, 10)
    training = subset.of(read_pairs(DATA / "questions/training.jsonl"), "training")
    holdout = subset.of(HOLDOUT, "holdout")
    assert len({pair.type for pair in training}) >= 25
    assert len({pair.type for pair in holdout}) == 10
    for drawn in (training, holdout):
        assert {pair.difficulty for pair in drawn} == {"easy", "medium", "hard"}
