"""A synapse and its plasticity. Pure: nothing here reads a clock or a database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import comb
from typing import Literal

TargetKind = Literal["approach", "skeleton", "episode", "habit"]

RATE = 0.2
"""η: how far one outcome moves a weight."""

HALF_LIFE = 30 * 86_400.0
"""Seconds after which a synapse that did not fire weighs half."""

FULL_WEIGHT = 1.0
"""What a synapse weighs before it ever fired: hope, which failures take away."""

PRIOR_SUCCESSES, PRIOR_FAILURES = 2.0, 1.0
"""Beta(2, 1): what is not tried yet is held to work two times in three, so that it gets tried."""

UNTRIED = PRIOR_SUCCESSES / (PRIOR_SUCCESSES + PRIOR_FAILURES) * FULL_WEIGHT
"""The rank of what was never tried."""

FEWEST_FAILURES = 3
"""No synapse is pruned before it failed this often."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a bucket may lead to: an approach by name, an SQL skeleton, an episode by id, or a habit by name."""

    kind: TargetKind
    name: str


@dataclass(frozen=True, slots=True)
class Synapse:
    """How well one target does for one bucket. `weight` is in [0, 1]; `last_fired` is seconds since 1970, UTC."""

    bucket: str
    target_kind: TargetKind
    target: str
    weight: float
    successes: int
    failures: int
    last_fired: float


def new_synapse(bucket: str, target: Target, at: float) -> Synapse:
    """A synapse that has not fired."""
    return Synapse(bucket, target.kind, target.name, FULL_WEIGHT, 0, 0, at)


def reinforce(synapse: Synapse, reward: float, at: float, *, rate: float = RATE) -> Synapse:
    """Move a synapse that fired toward what came of it: `w ← w + η(r - w)`, and count the outcome.

    `reward` is 1.0 for success and 0.0 for failure. The weight stays in [0, 1] because it is a mixture of itself and
    the reward: soft-bounded Hebbian learning, which here is the delta rule (Widrow and Hoff 1960; Gerstner and
    Kistler, Spiking Neuron Models, 2002, section 10.2).

    Raises:
        ValueError: the reward is neither 0.0 nor 1.0.

    >>> fired = reinforce(Synapse("b", "approach", "direct", 0.5, 0, 0, 0.0), 1.0, at=60.0)
    >>> round(fired.weight, 3), fired.successes, fired.failures, fired.last_fired
    (0.6, 1, 0, 60.0)
    """
    if reward not in (0.0, 1.0):
        raise ValueError(f"A reward is 0.0 or 1.0, not {reward!r}.")
    return replace(
        synapse,
        weight=min(1.0, max(0.0, synapse.weight + rate * (reward - synapse.weight))),
        successes=synapse.successes + int(reward == 1.0),
        failures=synapse.failures + int(reward == 0.0),
        last_fired=at,
    )


def freshness(last_fired: float, at: float, *, half_life: float = HALF_LIFE) -> float:
    """How much of what was learned at `last_fired` counts at `at`: `2^(-max(0, at - last_fired)/half_life)`.

    A clock that jumped back gives an age below zero, which counts as none.

    >>> freshness(0.0, HALF_LIFE), freshness(HALF_LIFE, 0.0)
    (0.5, 1.0)
    """
    return float(2.0 ** (-max(0.0, at - last_fired) / half_life))


def salience(synapse: Synapse, at: float, *, half_life: float = HALF_LIFE) -> float:
    """What a synapse weighs at a time: `w · 2^(-max(0, at - last_fired)/half_life)`.

    >>> salience(Synapse("b", "approach", "direct", 0.8, 4, 1, 0.0), 2 * HALF_LIFE)
    0.2
    """
    return synapse.weight * freshness(synapse.last_fired, at, half_life=half_life)


def posterior_mean(synapse: Synapse, at: float, *, half_life: float = HALF_LIFE) -> float:
    """The expected odds of success: the mean of Beta(2 + d·s, 1 + d·f), where d is the freshness.

    Old evidence counts for less, so that what is expected drifts back to the prior of two in three. With d = 1 this
    is the mean of Beta(2 + s, 1 + f) (conjugate prior of the Bernoulli; discounting after Raj and Kalyani,
    Taming Non-stationary Bandits, 2017).

    >>> posterior_mean(Synapse("b", "approach", "direct", 1.0, 0, 3, 0.0), 0.0)
    0.3333333333333333
    """
    kept = freshness(synapse.last_fired, at, half_life=half_life)
    successes = PRIOR_SUCCESSES + kept * synapse.successes
    failures = PRIOR_FAILURES + kept * synapse.failures
    return successes / (successes + failures)


def probability_below_half(successes: int, failures: int) -> float:
    """P(p < 0.5) under Beta(1 + s, 1 + f), exactly.

    For whole parameters the regularised incomplete beta function is a binomial tail,
    `I_x(a, b) = Σ_{j=a}^{a+b-1} C(a+b-1, j) x^j (1-x)^{a+b-1-j}` (Abramowitz and Stegun 26.5.24; DLMF 8.17.5).

    >>> probability_below_half(0, 3), probability_below_half(0, 2), probability_below_half(7, 7)
    (0.9375, 0.875, 0.5)
    """
    tries = successes + failures + 1
    return sum(comb(tries, j) for j in range(successes + 1, tries + 1)) / (1 << tries)


def prunable(synapse: Synapse) -> bool:
    """Whether a synapse has failed enough to give it up: at least 3 failures and P(p < 0.5) > 0.9.

    With no success that is exactly three failures; each success buys patience.

    >>> [prunable(Synapse("b", "approach", "direct", 0.5, s, f, 0.0)) for s, f in ((0, 2), (0, 3), (1, 4), (1, 5))]
    [False, True, False, True]
    """
    return synapse.failures >= FEWEST_FAILURES and probability_below_half(synapse.successes, synapse.failures) > 0.9


def pooled(synapses: Iterable[Synapse]) -> Synapse | None:
    """Sum the evidence that several buckets have on one target; the weight is the mean by number of firings.

    >>> both = pooled([Synapse("b", "approach", "a", 1.0, 3, 0, 5.0), Synapse("c", "approach", "a", 0.0, 0, 1, 9.0)])
    >>> (both.weight, both.successes, both.failures, both.last_fired)
    (0.75, 3, 1, 9.0)
    """
    found = list(synapses)
    fired = sum(one.successes + one.failures for one in found)
    if not fired:
        return None
    return Synapse(
        bucket="",
        target_kind=found[0].target_kind,
        target=found[0].target,
        weight=sum(one.weight * (one.successes + one.failures) for one in found) / fired,
        successes=sum(one.successes for one in found),
        failures=sum(one.failures for one in found),
        last_fired=max(one.last_fired for one in found),
    )
