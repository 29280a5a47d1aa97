"""Which candidate to take next, by what came of it so far. Pure: nothing here reads a clock or a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from procedural.synapse import (
    PRIOR_FAILURES,
    PRIOR_SUCCESSES,
    RATE,
    UNTRIED,
    Synapse,
    freshness,
    pooled,
    posterior_mean,
    prunable,
    salience,
)

Level = Literal["bucket", "kind", "tables", "brain", "untried"]
"""Where the evidence for a choice was found: this bucket; the same kind of question over other tables; the same
tables with another kind; all buckets of the brain; nowhere."""

DOUBT = 0.12
"""The most that failures in neighbouring buckets take from the rank of what was not tried here. One failure here takes
more, 1/6. A larger doubt costs more in buckets unlike their neighbours than it gains in others."""

_WHERE: dict[Level, str] = {
    "bucket": "in this bucket",
    "kind": "for this kind of question over other tables",
    "tables": "over these tables for other kinds of question",
    "brain": "for other questions over other tables",
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


def score(synapse: Synapse, at: float) -> float:
    """What a tried candidate is sorted by, highest first: the odds expected of it, while its weight bears them out.

    The posterior mean sums up all outcomes and moves slowly; the weight is about the last few. The score is the
    mean, but never more than the weight was before its last failure: `min(mean, w / (1 - η))`. One failure
    among successes so changes little, three in a row are believed, whatever went before. Both count by their
    freshness, so that a pause makes nothing look new. How this compares with other rules is measured by
    `scripts/simulate_choice.py`.

    >>> worked = Synapse("b", "approach", "direct", 1.0, 1, 0, 0.0)
    >>> score(worked, 0.0) > UNTRIED > score(Synapse("b", "approach", "plan", 0.8, 0, 1, 0.0), 0.0)
    True
    """
    expected = posterior_mean(synapse, at) * freshness(synapse.last_fired, at)
    return min(expected, salience(synapse, at) / (1.0 - RATE))


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
    doubted = (UNTRIED - DOUBT * freshest) * freshest

    def sort_key(judged: tuple[Choice, float]) -> tuple[bool, float, float]:
        choice, hoped = judged
        return choice.given_up, -choice.rank, -hoped

    judged = []
    for candidate, level, evidence in found:
        if evidence is None:
            judged.append((Choice(candidate, untried, level, 0, 0), untried))
        elif level == "bucket":
            rank = score(evidence, at)
            counts = (evidence.successes, evidence.failures)
            judged.append((Choice(candidate, rank, level, *counts, given_up=prunable(evidence)), rank))
        else:
            hoped = posterior_mean(evidence, at) * freshest
            rank = min(untried, max(hoped, doubted))
            judged.append((Choice(candidate, rank, level, evidence.successes, evidence.failures), hoped))
    return tuple(choice for choice, _ in sorted(judged, key=sort_key))


def expected(
    candidates: Iterable[str],
    at: float,
    *,
    here: Mapping[str, Synapse],
    same_kind: Mapping[str, Sequence[Synapse]],
    same_tables: Mapping[str, Sequence[Synapse]],
    brain: Mapping[str, Synapse],
) -> tuple[Choice, ...]:
    """Rank candidates by the odds expected of them, best first: for an answer that should be right, not for learning.

    `ranked` hopes for the best of what was not tried, so that it gets tried. Here what a candidate does in all buckets
    is what is expected of it in a kind of question it was not tried with, and that in turn in a bucket. At each step
    `mean ← (s + 3·mean) / (s + f + 3)`: first of the two in three that are held of what was never tried anywhere, then
    over the brain, the same tables, the same kind and the bucket. Each level counts as three tries for the next finer
    one: partial pooling (Efron and Morris 1975). What failed in the bucket lately is held to its weight, as in `score`.
    `brain` is the evidence over all buckets, this one among them.

    >>> worked, failed = (Synapse("", "approach", "plan", w, s, f, 0.0) for w, s, f in ((1.0, 9, 1), (0.2, 1, 9)))
    >>> found = expected(["direct", "plan", "vote"], 0.0, here={}, same_kind={}, same_tables={},
    ...     brain={"direct": failed, "plan": worked})
    >>> [(choice.candidate, choice.level) for choice in found]
    [('plan', 'brain'), ('vote', 'untried'), ('direct', 'brain')]
    """
    prior = PRIOR_SUCCESSES + PRIOR_FAILURES

    def shrunk(mean: float, evidence: Synapse | None) -> float:
        if evidence is None:
            return mean
        kept = freshness(evidence.last_fired, at)
        tries = evidence.successes + evidence.failures
        return (kept * evidence.successes + prior * mean) / (kept * tries + prior)

    choices = []
    for candidate in dict.fromkeys(candidates):
        levels: tuple[tuple[Level, Synapse | None], ...] = (
            ("brain", brain.get(candidate)),
            ("tables", pooled(same_tables.get(candidate, ()))),
            ("kind", pooled(same_kind.get(candidate, ()))),
            ("bucket", here.get(candidate)),
        )
        mean = UNTRIED
        for _, evidence in levels:
            mean = shrunk(mean, evidence)
        nothing: tuple[Level, Synapse | None] = ("untried", None)
        level, found = next((pair for pair in reversed(levels) if pair[1] is not None), nothing)
        own = here.get(candidate)
        if own is not None:
            mean = min(mean, salience(own, at) / (1.0 - RATE))
        counts = (found.successes, found.failures) if found is not None else (0, 0)
        choices.append(Choice(candidate, mean, level, *counts, given_up=own is not None and prunable(own)))
    return tuple(sorted(choices, key=lambda choice: (choice.given_up, -choice.rank)))
