"""A canary is judged by one rule, and comes to what it changes on whatever the live brain has learned since."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from memory.brain.canary import FEWEST, IN_A_ROW, Tally, decide, edits_on, outcomes, takes
from memory.brain.differences import apply
from memory.brain.snapshot import Record, Snapshot, of_episode
from tests.memory.brain.conftest import episode_about
from tests.memory.brain.test_snapshot import SNAPSHOTS


def test_the_share_is_that_of_the_questions_and_each_question_stays_where_it_is() -> None:
    questions = [f"How many boats of type {number}?" for number in range(2_000)]
    taken = [question for question in questions if takes(question, 0.1)]
    assert 150 < len(taken) < 250
    assert all(takes(question.upper().replace(" ", "  ").rstrip("?"), 0.1) for question in taken)
    assert set(taken) <= {question for question in questions if takes(question, 0.3)}, (
        "a larger share keeps the smaller"
    )


def trial(live: float, canary: float, *, seed: int, most: int = 300) -> str:
    """Ask until the rule decides; each side answers badly as often as it is told."""
    chance, one, other = random.Random(seed), Tally(), Tally()
    for _ in range(most):
        if chance.random() < 0.5:
            other = other.grown(chance.random() >= canary)
        else:
            one = one.grown(chance.random() >= live)
        word = decide(one, other).word
        if word != "go on":
            return word
    return "go on"


@pytest.mark.parametrize(
    ("live", "canary", "wanted", "at_least"),
    [(0.3, 0.05, "promote", 0.9), (0.1, 0.5, "roll back", 0.95), (0.2, 0.6, "roll back", 0.95)],
)
def test_a_canary_that_is_clearly_better_is_promoted_and_one_that_is_worse_is_rolled_back(
    live: float, canary: float, wanted: str, at_least: float
) -> None:
    words = [trial(live, canary, seed=seed) for seed in range(40)]
    assert words.count(wanted) >= at_least * len(words), words


def test_a_canary_that_is_worse_is_hardly_ever_promoted_however_often_it_is_looked_at() -> None:
    words = [trial(0.1, 0.3, seed=seed) for seed in range(60)]
    assert words.count("promote") <= 2, words


@pytest.mark.parametrize("judged", [50, 1_000, 20_000, 1_000_000])
def test_a_live_brain_with_a_long_record_does_not_let_a_worse_canary_pass(judged: int) -> None:
    assert decide(Tally(judged, 0), Tally(80, 20)).word == "roll back"
    assert decide(Tally(80, 20), Tally(judged, 0)).word == "promote"


def test_nothing_is_decided_on_too_few_answers_but_by_many_bad_ones_in_a_row() -> None:
    assert decide(Tally(good=500), Tally(good=FEWEST - 1)).word == "go on"
    assert decide(Tally(good=FEWEST - 1), Tally(good=500)).word == "go on"
    assert decide(Tally(), outcomes(iter([False] * (IN_A_ROW - 1)))).word == "go on"
    assert decide(Tally(), outcomes(iter([True, *[False] * IN_A_ROW]))).word == "roll back"
    assert decide(Tally(), outcomes(iter([*[False] * (IN_A_ROW - 1), True, False]))).word == "go on"


@settings(max_examples=200, deadline=None)
@given(SNAPSHOTS, SNAPSHOTS)
def test_on_the_base_itself_it_comes_to_the_candidate_and_on_the_candidate_to_no_new_record(
    base: Snapshot, candidate: Snapshot
) -> None:
    assert apply(base, edits_on(base, candidate, base)).records == candidate.records
    assert not [edit for edit in edits_on(base, candidate, candidate) if edit.kind == "episode"]
    assert edits_on(base, base, candidate) == (), "a candidate that changes nothing takes nothing from live"


@settings(max_examples=200, deadline=None)
@given(SNAPSHOTS, SNAPSHOTS, SNAPSHOTS)
def test_whatever_live_learned_meanwhile_stays(base: Snapshot, candidate: Snapshot, live: Snapshot) -> None:
    made = apply(live, edits_on(base, candidate, live))
    for key, record in live.records.items():
        if base.records.get(key) != record and key[0] == "episode":
            assert made.records.get(key) == record
    for key in base.records.keys() - live.records.keys():
        assert key not in made.records, "what live gave up is not brought back"


def synapse(weight: float, successes: int) -> Record:
    body = {"bucket": "b", "kind": "count", "tables": ["boats"], "target_kind": "approach", "target": "direct"}
    return Record("synapse", {**body, "weight": weight, "successes": successes, "failures": 1, "last_fired": 1.0})


def test_the_evidence_of_both_counts_where_both_moved_a_weight() -> None:
    def having(one: Record) -> Snapshot:
        return Snapshot.of("harbour", [one])

    [edit] = edits_on(having(synapse(0.5, 4)), having(synapse(0.75, 7)), having(synapse(0.375, 6)))
    assert edit.after and edit.after.body["successes"] == 9 and edit.after.body["weight"] == 0.625
    [low] = edits_on(having(synapse(0.5, 4)), having(synapse(0.1, 0)), having(synapse(0.2, 1)))
    assert low.after and low.after.body["successes"] == 0 and low.after.body["weight"] == 0.0


def test_what_was_forgotten_or_erased_meanwhile_is_not_brought_in() -> None:
    new = episode_about("tugs")
    base, candidate = Snapshot.of("harbour", []), Snapshot.of("harbour", [of_episode(new, 1)])
    assert edits_on(base, candidate, Snapshot.of("harbour", [], gone={str(new.id): "forgotten"}))
    assert edits_on(base, candidate, base, taken_out={str(new.id)}) == ()
    assert edits_on(base, candidate, Snapshot.of("harbour", [], gone={str(new.id): "erased"})) == ()
