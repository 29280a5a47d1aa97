"""Questions to measure by and never to improve by, on two databases: as good as the others, and known from none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.database.comparing import same
from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.learning.judging import Judge
from agent.learning.leaks import Leak
from agent.learning.mutating import mutated
from agent.learning.questions import Pair, read_pairs
from agent.learning.seed import verify
from agent.learning.ties import tie_broken

Leaked = Callable[[Sequence[Pair], Sequence[Pair]], tuple[Leak, ...]]
Answered = Callable[[str], Result]
AnsweredAlike = Callable[[Sequence[Pair], Sequence[Pair]], list[tuple[str, str]]]
Wordings = Callable[[Path, str], list[Pair]]

DATA = Path(__file__).resolve().parents[2] / "data"
FRESH = read_pairs(DATA / "questions/fresh.jsonl")
MARINA = read_pairs(DATA / "questions/marina.jsonl")
OTHERS = (
    "seeds/northwind.jsonl",
    "questions/training.jsonl",
    "questions/development.jsonl",
    "questions/readme.jsonl",
    "questions/calibration.jsonl",
    "questions/holdout.jsonl",
    "questions/strange.jsonl",
)
WORDINGS = [
    ("fresh", "pairs.jsonl"),
    ("fresh", "stranger.jsonl"),
    ("fresh", "stranger_final.jsonl"),
    ("marina", "pairs.jsonl"),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions, the name of the database that they are about, and what asks and compares there."""

    pairs: Sequence[Pair]
    database: str
    answered: Answered
    leaked: Leaked


@pytest.fixture(scope="module")
def sets(
    answered: Answered, leaked: Leaked, answered_in_marina: Answered, leaked_in_marina: Leaked
) -> dict[str, Asked]:
    return {
        "fresh": Asked(FRESH, "northwind", answered, leaked),
        "marina": Asked(MARINA, "marina", answered_in_marina, leaked_in_marina),
    }


@pytest.mark.parametrize(
    ("name", "question"),
    [("fresh", pair) for pair in FRESH] + [("marina", pair) for pair in MARINA],
    ids=[pair.id for pair in (*FRESH, *MARINA)],
)
def test_a_gold_is_confirmed_by_a_second_query_and_shows_something(
    name: str, question: Pair, sets: dict[str, Asked]
) -> None:
    assert question.others
    assert 1 <= len(verify(question, run=sets[name].answered).rows) <= 200


@pytest.mark.parametrize("name", ["fresh", "marina"])
def test_what_else_is_accepted_runs_and_shows_something(name: str, sets: dict[str, Asked]) -> None:
    asked = sets[name]
    assert [(q.id, sql) for q in asked.pairs for sql in q.accepted if not asked.answered(sql).rows] == []


@pytest.mark.parametrize("name", ["fresh", "marina"])
def test_a_second_query_is_another_formulation(
    name: str, sets: dict[str, Asked], repeated: Callable[[Sequence[Pair]], list[str]]
) -> None:
    assert repeated(sets[name].pairs) == []


@pytest.mark.parametrize("name", ["fresh", "marina"])
def test_no_tie_decides_what_a_gold_gives(name: str, sets: dict[str, Asked]) -> None:
    asked = sets[name]
    decided = [
        question.id
        for question in asked.pairs
        for sql in tie_broken(question.sql, "sqlite")
        if not same(asked.answered(question.sql), asked.answered(sql), ordered=False)
    ]
    assert decided == []


@pytest.mark.parametrize("path", OTHERS)
def test_no_fresh_question_is_known_from_another_file(path: str, leaked: Leaked) -> None:
    """Ids and rules alone: who writes these questions need not read the others."""
    found = leaked(read_pairs(DATA / path), FRESH)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found] == []


@pytest.mark.parametrize("path", OTHERS)
def test_no_fresh_question_has_the_answer_of_another_question(path: str, answered_alike: AnsweredAlike) -> None:
    assert answered_alike(read_pairs(DATA / path), FRESH) == []


@pytest.mark.parametrize(("name", "path"), WORDINGS)
def test_no_question_is_worded_like_one_that_understanding_is_tried_on(
    name: str, path: str, sets: dict[str, Asked], wordings: Wordings
) -> None:
    asked = sets[name]
    tried = wordings(DATA / "questions" / path, asked.database)
    assert tried
    assert [(leak.training, leak.holdout, leak.rule) for leak in asked.leaked(tried, asked.pairs)] == []


@pytest.mark.parametrize("name", ["fresh", "marina"])
def test_no_question_is_another_one_in_other_words(name: str, sets: dict[str, Asked]) -> None:
    asked = sets[name]
    found = asked.leaked(asked.pairs, asked.pairs)
    assert [(leak.training, leak.holdout, leak.rule) for leak in found if leak.training != leak.holdout] == []


def test_independent_formulations_on_the_harbour_agree_on_every_copy(
    marina: Database, marina_file: Path, tmp_path: Path
) -> None:
    with mutated(marina, file=marina_file, folder=tmp_path, open_copy=lambda path: open_database(str(path))) as copies:
        assert copies
        judge = Judge(run=lambda sql: marina.run(check(sql, marina.schema).sql), copies=copies)
        verdicts = {pair.id: judge.confirm(pair) for pair in MARINA}
    assert {id: verdict.reason for id, verdict in verdicts.items() if not verdict.right} == {}


@pytest.mark.parametrize("name", ["fresh", "marina"])
def test_questions_are_of_every_kind_and_say_which_by_their_ids(name: str, sets: dict[str, Asked]) -> None:
    types = Counter(question.type for question in sets[name].pairs)
    assert types.keys() == {seed.type for seed in read_pairs(DATA / "seeds/northwind.jsonl")}
    assert min(types.values()) >= (2 if name == "fresh" else 1)
    assert [q.id for q in sets[name].pairs if not q.id.startswith(f"{name}-{q.type.replace('_', '-')}-")] == []


@pytest.mark.parametrize(
    ("name", "styles", "levels"),
    [
        (
            "fresh",
            {"casual": 25, "long": 15, "typo": 15, "korean": 10, "plain": 5},
            {"easy": 14, "medium": 43, "hard": 13},
        ),
        ("marina", {"casual": 20, "long": 8, "typo": 6, "korean": 6}, {"easy": 18, "medium": 18, "hard": 4}),
    ],
)
def test_questions_are_asked_in_several_styles(name: str, styles: dict[str, int], levels: dict[str, int]) -> None:
    lines = [json.loads(line) for line in (DATA / f"questions/{name}.jsonl").read_text("utf-8").splitlines()]
    assert Counter(line["style"] for line in lines) == styles
    assert Counter(line["difficulty"] for line in lines) == levels
    assert {(line["style"] == "korean", line["language"]) for line in lines} == {(True, "ko"), (False, "en")}
    assert all(len(line["question"].split()) >= 30 for line in lines if line["style"] == "long")
