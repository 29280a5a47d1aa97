"""The rule of choice by itself: what it makes of evidence, here and borrowed."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procedural import choosing
from procedural.choosing import DOUBT, Choice, expected, ranked, score
from procedural.synapse import HALF_LIFE, UNTRIED, Synapse, Target, new_synapse, posterior_mean, reinforce

NAMES = ("direct", "values", "skeleton", "lessons", "plan", "vote")
ANY_TIME = st.floats(allow_nan=True, allow_infinity=True)


def after(outcomes: str, name: str = "direct", at: float = 0.0) -> Synapse:
    """A synapse after successes (+) and failures (-)."""
    fired = new_synapse("b", Target("approach", name), at)
    for outcome in outcomes:
        fired = reinforce(fired, float(outcome == "+"), at)
    return fired


def rank(here: dict[str, str], *, kind: dict[str, str] | None = None, at: float = 0.0) -> list[Choice]:
    return list(
        ranked(
            NAMES,
            at,
            here={name: after(outcomes, name) for name, outcomes in here.items()},
            same_kind={name: [after(outcomes, name)] for name, outcomes in (kind or {}).items()},
            same_tables={},
        )
    )


def test_the_examples_in_the_documentation_hold() -> None:
    assert doctest.testmod(choosing).failed == 0


def test_one_failure_after_successes_is_forgiven_and_three_in_a_row_are_believed() -> None:
    often = "+" * 30
    assert score(after(often + "-"), 0.0) == posterior_mean(after(often + "-"), 0.0) > 0.9
    assert score(after(often + "--"), 0.0) > UNTRIED > score(after(often + "---"), 0.0)
    assert rank({"direct": often + "---"})[0].candidate == "values"


def test_a_success_outranks_the_untried_and_a_failure_does_not() -> None:
    assert score(after("+"), 0.0) > UNTRIED > UNTRIED - DOUBT > score(after("-"), 0.0)


def test_of_two_that_do_as_well_the_cheaper_is_taken_whenever_its_failures_came() -> None:
    assert [choice.candidate for choice in rank({"direct": "++-+", "vote": "+++-"})][:2] == ["direct", "vote"]
    assert [choice.candidate for choice in rank({"direct": "+++-", "vote": "-+++"})][:2] == ["direct", "vote"]


def test_what_does_well_elsewhere_comes_first_among_the_untried_and_no_further() -> None:
    known = rank({"values": "+"}, kind={"plan": "+" * 20})
    assert [(choice.candidate, choice.level) for choice in known[:3]] == [
        ("values", "bucket"),
        ("plan", "kind"),
        ("direct", "untried"),
    ]
    assert known[1].rank == UNTRIED == known[2].rank


def test_what_fails_elsewhere_is_tried_last_but_before_what_failed_here() -> None:
    known = rank({"values": "-"}, kind={"direct": "-" * 20, "skeleton": "-" * 3})
    assert [choice.candidate for choice in known] == ["lessons", "plan", "vote", "skeleton", "direct", "values"]


def test_when_all_are_given_up_the_one_that_failed_least_is_taken_and_it_is_said() -> None:
    outcomes = dict.fromkeys(NAMES, "---") | {"plan": "-" * 9 + "++++", "vote": "----"}
    first, *others = rank(outcomes)
    assert first.candidate == "plan" and first.given_up and all(choice.given_up for choice in others)
    assert first.why == "right 4 of 13 times in this bucket, and given up"
    assert others[-1].candidate == "vote"


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (Choice("plan", 0.7, "bucket", 3, 1), "right 3 of 4 times in this bucket"),
        (Choice("plan", 0.7, "kind", 8, 0), "right 8 of 8 times for this kind of question over other tables"),
        (Choice("plan", 0.7, "tables", 1, 1), "right 1 of 2 times over these tables for other kinds of question"),
        (Choice("plan", 0.7, "untried", 0, 0), "not tried for such questions yet"),
    ],
)
def test_a_choice_says_where_its_evidence_is_from(choice: Choice, why: str) -> None:
    assert choice.why == why


STEADY = settings(max_examples=200, deadline=None, database=None, derandomize=True)
outcomes = st.dictionaries(st.sampled_from(NAMES), st.text("+-", min_size=1, max_size=12))


@STEADY
@given(st.lists(st.sampled_from(NAMES)), outcomes, outcomes, outcomes, ANY_TIME, st.floats(-1e12, 1e12))
def test_every_candidate_is_ranked_once_at_any_time(
    candidates: list[str],
    here: dict[str, str],
    kind: dict[str, str],
    tables: dict[str, str],
    at: float,
    fired_at: float,
) -> None:
    chosen = ranked(
        candidates,
        at,
        here={name: after(these, name, fired_at) for name, these in here.items()},
        same_kind={name: [after(these, name, fired_at)] for name, these in kind.items()},
        same_tables={name: [after(these, name, fired_at)] for name, these in tables.items()},
    )
    assert sorted(choice.candidate for choice in chosen) == sorted(set(candidates))
    assert all(0.0 <= choice.rank <= 1.0 for choice in chosen)
    given_up = [choice.given_up for choice in chosen]
    assert given_up == sorted(given_up), "what is given up comes last"
    for choice in chosen:
        expected = "bucket" if choice.candidate in here else "kind" if choice.candidate in kind else None
        assert choice.level == (expected or ("tables" if choice.candidate in tables else "untried"))


@STEADY
@given(outcomes, outcomes, st.floats(0, 50))
def test_however_long_the_pause_what_worked_comes_before_the_untried_and_the_untried_before_what_failed(
    here: dict[str, str], kind: dict[str, str], half_lives: float
) -> None:
    grades = {"+": 0, "?": 1, "-": 2}
    told = [set(here.get(choice.candidate, "?")) for choice in rank(here, kind=kind, at=half_lives * HALF_LIFE)]
    clear = [grades[only] for only, *mixed in map(tuple, told) if not mixed]
    assert clear == sorted(clear)


@STEADY
@given(outcomes, st.permutations(NAMES))
def test_the_order_of_the_candidates_only_breaks_ties(here: dict[str, str], order: list[str]) -> None:
    known = {name: after(these, name) for name, these in here.items()}

    def ranks(names: list[str]) -> list[float]:
        return [choice.rank for choice in ranked(names, 0.0, here=known, same_kind={}, same_tables={})]

    assert ranks(order) == ranks(list(NAMES))


# What is expected, where nothing is to be tried out


def evidence(target: str, successes: int, failures: int, *, weight: float = 1.0, bucket: str = "other") -> Synapse:
    return Synapse(bucket, "approach", target, weight, successes, failures, 0.0)


def foreseen(**levels: object) -> tuple[Choice, ...]:
    known: dict[str, object] = {"here": {}, "same_kind": {}, "same_tables": {}, "brain": {}}
    return expected(["direct", "plan", "vote"], 0.0, **{**known, **levels})  # type: ignore[arg-type]


def test_without_any_evidence_the_first_candidate_is_taken() -> None:
    assert [choice.candidate for choice in foreseen()] == ["direct", "plan", "vote"]
    assert {choice.rank for choice in foreseen()} == {2 / 3}


def test_what_does_well_in_the_whole_brain_is_taken_in_a_bucket_that_nobody_knows() -> None:
    brain = {"direct": evidence("direct", 3, 7), "plan": evidence("plan", 6, 4), "vote": evidence("vote", 2, 8)}
    best, *_ = foreseen(brain=brain)
    assert (best.candidate, best.level, best.why) == (
        "plan",
        "brain",
        "right 6 of 10 times for other questions over other tables",
    )


def test_nearer_evidence_counts_for_more_than_farther() -> None:
    brain = {"direct": evidence("direct", 2, 8), "plan": evidence("plan", 8, 2)}
    kind = {"direct": [evidence("direct", 9, 0)], "plan": [evidence("plan", 0, 9)]}
    assert foreseen(brain=brain, same_kind=kind)[0].candidate == "direct"
    here = {
        "plan": evidence("plan", 9, 0, bucket="here"),
        "direct": evidence("direct", 0, 9, weight=0.1, bucket="here"),
    }
    best = foreseen(brain=brain, same_kind=kind, here=here)[0]
    assert (best.candidate, best.level) == ("plan", "bucket")


def test_one_failure_here_gives_way_to_what_does_as_well_elsewhere() -> None:
    brain = {name: evidence(name, 5, 5) for name in ("direct", "plan", "vote")}
    here = {"direct": evidence("direct", 0, 1, weight=0.8, bucket="here")}
    assert foreseen(brain=brain, here=here)[0].candidate == "plan"


def test_what_was_given_up_here_comes_last_whatever_is_known_of_it_elsewhere() -> None:
    brain = {"direct": evidence("direct", 90, 10), "plan": evidence("plan", 1, 20), "vote": evidence("vote", 1, 20)}
    here = {"direct": evidence("direct", 0, 3, weight=0.5, bucket="here")}
    found = foreseen(brain=brain, here=here)
    assert (found[-1].candidate, found[-1].given_up) == ("direct", True)


def test_what_failed_lately_is_held_to_its_weight() -> None:
    here = {"direct": evidence("direct", 20, 3, weight=0.4, bucket="here")}
    found = {choice.candidate: choice.rank for choice in foreseen(here=here)}
    assert found["direct"] == pytest.approx(0.5) and found["direct"] < found["plan"]
