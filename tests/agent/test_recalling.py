"""What is recalled for a question: one search for what is shown and what is adapted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from agent.attempt import Attempt
from agent.learning.arms import MEMORY, SCHEMA
from agent.recalling import Recalling
from memory.recall import Recall, fewer
from memory.store import Hit

if TYPE_CHECKING:
    from tests.agent.conftest import Bakery

QUESTIONS = ("How many bakers live in Graz?", "Which breads are made of wheat?", "Which baker sold the most pieces?")
TAUGHT = [
    *(
        (f"How many bakers live in {town}?", f"SELECT COUNT(*) FROM Bakers WHERE Town = '{town}'")
        for town in ("Linz", "Graz")
    ),
    *((f"Which bakers live in {town}?", f"SELECT Name FROM Bakers WHERE Town = '{town}'") for town in ("Linz", "Graz")),
    ("Which breads are made of rye?", "SELECT Name FROM Breads WHERE Flour = 'rye'"),
    ("Which bread is the dearest?", "SELECT Name FROM Breads ORDER BY Price DESC LIMIT 1"),
    ("How many breads are there?", "SELECT COUNT(*) FROM Breads"),
    ("How many bakers are there in each town?", "SELECT Town, COUNT(*) FROM Bakers GROUP BY Town"),
]


@dataclass
class Counting:
    """The store of the bakery, and how often it was searched."""

    bakery: Bakery
    searches: int = 0

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        self.searches += 1
        return self.bakery.store.recall_each(buckets, text, limit)


@pytest.fixture
def store(bakery: Bakery) -> Counting:
    for question, sql in TAUGHT:
        bakery.teacher.take(bakery.ask(question, sql).id, "good")
    bakery.remember(())
    return Counting(bakery)


def recalling(store: Counting, **how: int) -> Recalling:
    bakery = store.bakery
    recall = Recall(episodes=bakery.ledger, store=store, embedder=bakery.recall._embedder)
    return Recalling(
        recall=lambda: recall,
        get_ready=lambda: None,
        holds=lambda _episode: True,
        ledger=bakery.ledger,
        synapses=bakery.synapses,
        **{"shown": 3, "most": 12, **how},
    )


def attempt(bakery: Bakery, question: str) -> Attempt:
    return Attempt(id="a1", question=question, model="none", understood=bakery.understand(question))


def test_what_is_shown_and_what_is_adapted_come_of_one_search(store: Counting) -> None:
    one, asked = recalling(store), attempt(store.bakery, QUESTIONS[0])
    assert asked.understood is not None
    shown = one.for_model(asked.understood)
    searched = store.searches
    near = one.nearby(asked)
    assert store.searches == searched and len(shown) == 3 < len(near)
    assert shown == fewer(near, 3)


@pytest.mark.parametrize("question", QUESTIONS)
def test_one_search_finds_what_two_would(store: Counting, question: str) -> None:
    asked = attempt(store.bakery, question)
    assert asked.understood is not None
    wide, narrow = recalling(store), recalling(store, most=0)
    assert wide.for_model(asked.understood) == narrow.for_model(asked.understood)
    assert wide.nearby(asked) == narrow.nearby(asked)


def test_a_question_that_is_asked_again_is_looked_for_anew(store: Counting) -> None:
    one, asked = recalling(store), attempt(store.bakery, QUESTIONS[0])
    assert asked.understood is not None
    [first, *_] = one.for_model(asked.understood)
    with store.bakery.ledger.transaction() as entry:
        entry.forget(first.episode.id, "asked for")
    assert first.episode.id not in {found.episode.id for found in one.for_model(asked.understood)}


def test_another_arm_or_question_takes_nothing_of_the_last_search(store: Counting) -> None:
    one, asked = recalling(store), attempt(store.bakery, QUESTIONS[0])
    other = store.bakery.understand(QUESTIONS[1])
    assert asked.understood is not None
    own = one.for_model(asked.understood)
    assert one.nearby(asked, arm=SCHEMA) == ()
    shuffled = replace(MEMORY, episodes="another", name="shuffled")
    assert one.nearby(asked, arm=shuffled, other=other)[:1] == recalling(store).for_model(other)[:1] != own[:1]
    assert one.nearby(attempt(store.bakery, QUESTIONS[1]))[:1] == recalling(store).for_model(other)[:1]
