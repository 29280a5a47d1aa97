"""The formulas of plasticity, and what they lead to over many tries."""

from __future__ import annotations

import doctest
import itertools
import random
from dataclasses import replace
from fractions import Fraction
from math import comb, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural import forgetting, synapse
from procedural.synapse import (
    HALF_LIFE,
    Synapse,
    freshness,
    pooled,
    posterior_mean,
    probability_below_half,
    prunable,
    reinforce,
    salience,
)

NEW = Synapse("b", "approach", "direct", 0.5, 0, 0, 0.0)
times = st.floats(-1e12, 1e12)
synapses = st.builds(
    Synapse,
    st.just("b"),
    st.just("approach"),
    st.just("direct"),
    st.floats(0, 1),
    st.integers(0, 500),
    st.integers(0, 500),
    times,
)


@pytest.mark.parametrize("module", [synapse, forgetting])
def test_the_examples_in_the_documentation_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@given(st.floats(0, 1), st.floats(0, 1), st.lists(st.sampled_from([0.0, 1.0])))
def test_a_weight_stays_between_0_and_1_and_every_outcome_is_counted(
    weight: float, rate: float, rewards: list[float]
) -> None:
    moved = replace(NEW, weight=weight)
    for reward in rewards:
        moved = reinforce(moved, reward, 1.0, rate=rate)
    assert 0.0 <= moved.weight <= 1.0
    assert (moved.successes, moved.failures) == (rewards.count(1.0), rewards.count(0.0))


@given(synapses, st.sampled_from([0.0, 1.0]))
def test_a_weight_moves_toward_the_reward_by_the_rate(before: Synapse, reward: float) -> None:
    after = reinforce(before, reward, 5.0, rate=0.25)
    assert isclose(reward - after.weight, 0.75 * (reward - before.weight), abs_tol=1e-12)
    assert after.last_fired == 5.0


@pytest.mark.parametrize("reward", [0.5, -1.0, 2.0, float("nan")])
def test_a_reward_is_success_or_failure(reward: float) -> None:
    with pytest.raises(ValueError, match=r"0\.0 or 1\.0"):
        reinforce(NEW, reward, 0.0)


def test_the_order_of_rewards_moves_the_weight_a_little_and_the_evidence_not_at_all() -> None:
    outcomes = {
        order: reinforce_all(NEW, order) for order in set(itertools.permutations([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]))
    }
    assert {(one.successes, one.failures) for one in outcomes.values()} == {(4, 2)}
    weights = [one.weight for one in outcomes.values()]
    assert max(weights) - min(weights) < 0.4
    assert max(outcomes, key=lambda order: outcomes[order].weight) == (0.0, 0.0, 1.0, 1.0, 1.0, 1.0), (
        "the newest counts"
    )


@given(synapses, times)
def test_salience_never_exceeds_the_weight(one: Synapse, at: float) -> None:
    assert 0.0 <= salience(one, at) <= one.weight


def test_what_does_not_fire_loses_half_of_its_salience_every_half_life() -> None:
    fired = replace(NEW, weight=0.8)
    assert [salience(fired, n * HALF_LIFE) for n in range(4)] == [0.8, 0.4, 0.2, 0.1]


def test_a_clock_that_jumps_back_counts_as_no_time() -> None:
    fired = replace(NEW, last_fired=1e9)
    assert salience(fired, 0.0) == fired.weight and freshness(1e9, -1e9) == 1.0


def test_a_clock_that_jumped_ahead_is_healed_by_the_next_firing() -> None:
    ahead = reinforce(NEW, 1.0, at=4e9)
    healed = reinforce(ahead, 1.0, at=1e9)
    assert healed.last_fired == 1e9 and salience(healed, 1e9 + HALF_LIFE) == healed.weight / 2


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_expected_odds_start_hopeful_follow_the_evidence_and_drift_back(successes: int, failures: int) -> None:
    one = replace(NEW, successes=successes, failures=failures)
    assert isclose(posterior_mean(one, 0.0), (2 + successes) / (3 + successes + failures))
    assert isclose(posterior_mean(one, 100 * HALF_LIFE), 2 / 3)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_tail_of_the_beta_distribution_is_exact(successes: int, failures: int) -> None:
    # Independent of the binomial tail: integrate p^s (1-p)^f as a polynomial, exactly.
    def integral(upper: Fraction) -> Fraction:
        terms = (
            Fraction(comb(failures, k) * (-1) ** k, successes + k + 1) * upper ** (successes + k + 1)
            for k in range(failures + 1)
        )
        return sum(terms, Fraction(0))

    exact = integral(Fraction(1, 2)) / integral(Fraction(1))
    assert isclose(probability_below_half(successes, failures), float(exact), rel_tol=1e-12)


def test_pruning_takes_three_failures_and_each_success_buys_patience() -> None:
    fewest = [next(f for f in range(99) if prunable(replace(NEW, successes=s, failures=f))) for s in range(6)]
    assert fewest[0] == 3 and fewest == sorted(set(fewest))


def test_nine_of_ten_good_ways_survive_fifty_tries_where_counting_failures_would_prune_most() -> None:
    odds = random.Random(7)
    kept = counted = 0
    for _ in range(300):
        one, gone = NEW, False
        for _ in range(50):
            one = reinforce(one, float(odds.random() < 0.8), 0.0)
            gone = gone or prunable(one)
        kept += not gone
        counted += one.failures < 3
    assert kept / 300 > 0.9 and counted / 300 < 0.1


def test_evidence_is_pooled_by_how_often_it_was_seen() -> None:
    assert pooled([]) is None is pooled([NEW])
    both = pooled([replace(NEW, weight=1.0, successes=9), replace(NEW, weight=0.0, failures=1, last_fired=3.0)])
    assert both and (both.weight, both.successes, both.failures, both.last_fired) == (0.9, 9, 1, 3.0)


def reinforce_all(one: Synapse, rewards: tuple[float, ...]) -> Synapse:
    for reward in rewards:
        one = reinforce(one, reward, 0.0)
    return one
