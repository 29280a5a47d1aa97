"""A canary is judged by one rule, and comes to what it changes on whatever the live brain has learned since."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from memory.brain.canary import FEWEST, Tally, Trial, decide, edits_on, takes
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


def trial(live: float, canary: float, *, seed: int, most: int = 400) -> str:
    """Judge one answer after the other until there is a word; each side answers badly as often as it is told."""
    chance, one = random.Random(seed), Trial()
    for _ in range(most):
        of_canary = chance.random() < 0.5
        one = one.grown(canary=of_canary, good=chance.random() >= (canary if of_canary else live))
        if one.decision.word != "go on":
            break
    return one.decision.word


@pytest.mark.parametrize(
    ("live", "canary", "wrong"),
    [
        (0.05, 0.05, "roll back"),
        (0.1, 0.1, "roll back"),
        (0.4, 0.4, "roll back"),
        (0.1, 0.15, "promote"),
        (0.1, 0.3, "promote"),
    ],
)
def test_over_all_looks_of_a_trial_a_wrong_word_is_said_in_about_five_of_a_hundred(
    live: float, canary: float, wrong: str
) -> None:
    words = [trial(live, canary, seed=seed) for seed in range(120)]
    assert words.count(wrong) <= 6, words.count(wrong)


@pytest.mark.parametrize(
    ("live", "canary", "wanted", "at_least"),
    [(0.3, 0.05, "promote", 0.9), (0.1, 0.3, "roll back", 0.9), (0.2, 0.6, "roll back", 0.95)],
)
def test_a_canary_that_is_clearly_better_is_promoted_and_one_that_is_worse_is_rolled_back(
    live: float, canary: float, wanted: str, at_least: float
) -> None:
    words = [trial(live, canary, seed=seed) for seed in range(40)]
    assert words.count(wanted) >= at_least * len(words), words


def judged(live: list[bool], canary: list[bool]) -> Trial:
    one = Trial()
    for good in live:
        one = one.grown(canary=False, good=good)
    for good in canary:
        one = one.grown(canary=True, good=good)
    return one


def test_the_sides_are_compared_at_doublings_only_and_the_first_word_stands() -> None:
    assert judged([True] * 200, [False, True] * 9 + [False]).decision.word == "go on"
    worse = judged([True] * 200, [False, True] * 10)
    assert worse.decision.word == "roll back"
    assert worse.grown(canary=True, good=True).decision is worse.decision
    at_twenty = judged([False] * 20 + [True] * 180, [True] * 16 + [False] * 4)
    assert at_twenty.decision.word == "go on" and at_twenty.decision.worse is not None
    later = at_twenty
    for good in [True, False] * 9 + [True]:
        later = later.grown(canary=True, good=good)
    assert later.decision.word == "go on" and "at 40" in later.decision.why
    assert later.grown(canary=True, good=False).decision.word == "roll back"


def test_a_run_of_bad_answers_ends_a_canary_only_where_live_makes_it_unlikely() -> None:
    assert judged([True] * 20, [False] * 4).decision.word == "go on"
    assert judged([True] * 20, [False] * 5).decision.word == "roll back"
    assert judged([True, True, False] * 20, [False] * 5).decision.word == "go on", "a third of live's are bad"
    assert judged([True, True, False] * 20, [False] * 12).decision.word == "roll back"
    assert judged([], [False] * 10).decision.word == "go on", "nothing is known of live"
    assert judged([], [False] * 15).decision.word == "roll back"


@pytest.mark.parametrize("answers", [50, 1_000, 20_000, 1_000_000])
def test_a_live_brain_with_a_long_record_does_not_let_a_worse_canary_pass(answers: int) -> None:
    assert decide(Tally(answers, 0), Tally(80, 20)).word == "roll back"
    assert decide(Tally(80, 20), Tally(answers, 0)).word == "promote"


def test_nothing_is_decided_on_too_few_answers() -> None:
    assert decide(Tally(good=500), Tally(good=FEWEST - 1)).word == "go on"
    assert decide(Tally(good=FEWEST - 1), Tally(good=500)).word == "go on"


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
