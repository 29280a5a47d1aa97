"""Which candidate to take next, by what came of it so far. Pure: nothing here reads a clock or a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from procedural.synapse import (
    FULL_WEIGHT,
    PRIOR_FAILURES,
    PRIOR_SUCCESSES,
    RATE,
    UNTRIED,
    Synapse,
    freshness,
    pooled,
    posterior_mean,
    prunable,
)

Level = Literal["bucket", "kind", "tables", "untried"]
"""Where the evidence for a choice was found: this bucket; the same kind of question over other tables; the same
tables with another kind; nowhere."""

_WHERE: dict[Level, str] = {
    "bucket": "in this bucket",
    "kind": "for this kind of question over other tables",
    "tables": "over these tables for other kinds of question",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate with its rank (0 to 1) and the level at which its evidence was found.

    `successes` and `failures` are the evidence; `given_up` marks a candidate that failed too often here. When the
    first of several choices is given up, all of them are.
    """

    candidate: str
    rank: float
    level: Level
    successes: int
    failures: int
    given_up: bool = False

    @property
    def why(self) -> str:
        """The evidence in words.

        >>> Choice("plan", 0.7, "kind", 4, 1).why
        'right 4 of 5 times for this kind of question over other tables'
        >>> Choice("vote", 0.2, "bucket", 0, 3, given_up=True).why
        'right 0 of 3 times in this bucket, and given up'
        >>> Choice("direct", 0.7, "untried", 0, 0).why
        'not tried for such questions yet'
        """
        if self.level == "untried":
            return "not tried for such questions yet"
        times = f"right {self.successes} of {self.successes + self.failures} times {_WHERE[self.level]}"
        return f"{times}, and given up" if self.given_up else times


def recent(synapse: Synapse, *, rate: float = RATE) -> tuple[float, float]:
    """Successes and failures of a synapse, where each firing makes all before it count 1 - η as much.

    They need no column of their own. A weight that started at `FULL_WEIGHT` and moved by `w ← w + η(r - w)` is, after
    n firings, `w = (1-η)^n + η·S`, with S the discounted successes; all n firings together count `(1-(1-η)^n)/η`.

    >>> once = Synapse("b", "approach", "direct", 0.8, 0, 1, 0.0)
    >>> [round(count, 9) for count in recent(once)]
    [0.0, 1.0]
    """
    unmoved = FULL_WEIGHT * (1.0 - rate) ** (synapse.successes + synapse.failures)
    counted = (1.0 - unmoved) / rate
    successes = min(counted, max(0.0, (synapse.weight - unmoved) / rate))
    return successes, counted - successes


def score(synapse: Synapse, at: float) -> float:
    """What a tried candidate is sorted by, highest first: the odds expected of it, times its freshness.

    The odds are the mean of Beta(2 + d·s, 1 + d·f), with d the freshness and s, f the `recent` outcomes, so that
    evidence fades both with time and with every newer firing (discounting after Raj and Kalyani, Taming
    Non-stationary Bandits, 2017). The freshness keeps a pause from making anything look new.

    >>> worked = Synapse("b", "approach", "direct", 1.0, 1, 0, 0.0)
    >>> score(worked, 0.0) > UNTRIED > score(Synapse("b", "approach", "plan", 0.8, 0, 1, 0.0), 0.0)
    True
    """
    kept = freshness(synapse.last_fired, at)
    successes, failures = recent(synapse)
    hoped = PRIOR_SUCCESSES + kept * successes
    return kept * hoped / (hoped + PRIOR_FAILURES + kept * failures)


def ranked(
    candidates: Iterable[str],
    at: float,
    *,
    here: Mapping[str, Synapse],
    same_kind: Mapping[str, Sequence[Synapse]],
    same_tables: Mapping[str, Sequence[Synapse]],
) -> tuple[Choice, ...]:
    """Rank candidates for the next attempt at a bucket, best first. `at` is seconds since 1970, UTC.

    `here` are the bucket's own synapses by candidate, the other two those of its neighbours.
    `SynapseStore.best_next` says what follows from what.
    """
    found: list[tuple[str, Level, Synapse | None]] = []
    for candidate in dict.fromkeys(candidates):
        levels: tuple[tuple[Level, Synapse | None], ...] = (
            ("bucket", here.get(candidate)),
            ("kind", pooled(same_kind.get(candidate, ()))),
            ("tables", pooled(same_tables.get(candidate, ()))),
        )
        level, evidence = next((pair for pair in levels if pair[1] is not None), ("untried", None))
        found.append((candidate, level, evidence))
    freshest = max((freshness(one.last_fired, at) for _, _, one in found if one is not None), default=1.0)
    untried = UNTRIED * freshest

    def sort_key(judged: tuple[Choice, float]) -> tuple[bool, float, float]:
        choice, uncapped = judged
        return choice.given_up, -choice.rank, -uncapped

    judged = []
    for candidate, level, evidence in found:
        if evidence is None:
            judged.append((Choice(candidate, untried, level, 0, 0), untried))
        elif level == "bucket":
            rank = score(evidence, at)
            counts = (evidence.successes, evidence.failures)
            judged.append((Choice(candidate, rank, level, *counts, given_up=prunable(evidence)), rank))
        else:
            rank = posterior_mean(evidence, at) * freshest
            counts = (evidence.successes, evidence.failures)
            judged.append((Choice(candidate, min(rank, untried), level, *counts), rank))
    return tuple(choice for choice, _ in sorted(judged, key=sort_key))
