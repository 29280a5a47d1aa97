"""What to give up: synapses that keep failing, and episodes that mislead."""

from __future__ import annotations

from collections.abc import Iterable

from procedural.synapse import Synapse, prunable


def to_prune(synapses: Iterable[Synapse]) -> tuple[Synapse, ...]:
    """Those that failed at least 3 times and work less than half the time with more than 90 % certainty.

    >>> bad = Synapse("b", "approach", "direct", 0.5, 0, 3, 0.0)
    >>> to_prune([bad, Synapse("b", "approach", "stepwise", 0.5, 3, 3, 0.0)]) == (bad,)
    True
    """
    return tuple(synapse for synapse in synapses if prunable(synapse))


def is_failing(synapses: Iterable[Synapse]) -> bool:
    """Whether a bucket is failing: it has approaches, and every one it tried should be pruned.

    >>> is_failing([]), is_failing([Synapse("b", "approach", "direct", 0.5, 0, 3, 0.0)])
    (False, True)
    """
    tried = [synapse for synapse in synapses if synapse.target_kind == "approach"]
    return bool(tried) and all(prunable(synapse) for synapse in tried)


def episodes_to_forget(synapses: Iterable[Synapse]) -> tuple[str, ...]:
    """Ids of the episodes of one bucket that mislead, worst first.

    An episode goes when its own synapse should be pruned. In a failing bucket, one that never helped and failed
    at least once goes as well: something there leads every approach astray.

    >>> never = Synapse("b", "episode", "e1", 0.8, 0, 1, 0.0)
    >>> episodes_to_forget([never])
    ()
    >>> episodes_to_forget([never, Synapse("b", "approach", "direct", 0.5, 0, 3, 0.0)])
    ('e1',)
    """
    found = list(synapses)
    failing = is_failing(found)
    gone = [
        synapse
        for synapse in found
        if synapse.target_kind == "episode"
        and (prunable(synapse) or (failing and synapse.failures > 0 and synapse.successes == 0))
    ]
    return tuple(one.target for one in sorted(gone, key=lambda one: (one.weight, -one.failures, one.target)))
