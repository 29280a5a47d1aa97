"""Which synapses and episodes are given up."""

from __future__ import annotations

from procedural.forgetting import episodes_to_forget, is_failing, to_prune
from procedural.synapse import Synapse, TargetKind


def synapse(kind: TargetKind, name: str, successes: int, failures: int, weight: float = 0.5) -> Synapse:
    return Synapse("b", kind, name, weight, successes, failures, 0.0)


BAD = synapse("approach", "direct", 0, 3)
GOOD = synapse("approach", "adapt", 5, 2)


def test_only_what_fails_for_certain_is_pruned() -> None:
    luckless = synapse("skeleton", "s", 0, 2)
    assert to_prune([BAD, GOOD, luckless]) == (BAD,)


def test_a_bucket_is_failing_when_every_approach_is() -> None:
    assert is_failing([BAD]) and is_failing([BAD, synapse("approach", "stepwise", 1, 7)])
    assert not is_failing([BAD, GOOD]) and not is_failing([synapse("skeleton", "s", 0, 9)])


def test_an_episode_that_misleads_goes_and_a_helpful_one_stays() -> None:
    misleading, helpful = synapse("episode", "e1", 0, 3), synapse("episode", "e2", 4, 3)
    assert episodes_to_forget([GOOD, helpful, misleading]) == ("e1",)


def test_in_a_failing_bucket_what_never_helped_goes_too_worst_first() -> None:
    once = synapse("episode", "e1", 0, 1, weight=0.8)
    twice = synapse("episode", "e2", 0, 2, weight=0.64)
    helped, unused = synapse("episode", "e3", 1, 1), synapse("episode", "e4", 0, 0)
    assert episodes_to_forget([BAD, once, twice, helped, unused]) == ("e2", "e1")
    assert episodes_to_forget([BAD, GOOD, once, twice, helped, unused]) == ()
