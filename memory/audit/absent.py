"""What a memory points to and is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from memory.audit.contradicting import Remembered
from memory.audit.finding import Finding, Recommendation, Side, Write

STRONG = 0.6
"""From which weight on a synapse is strong; with at least two more successes than failures."""


@dataclass(frozen=True, slots=True)
class Pointing:
    """A synapse of a bucket, as far as an audit looks at it. `at` is when it last fired, seconds since 1970, UTC."""

    bucket: str
    kind: str
    target_kind: str
    target: str
    weight: float
    successes: int
    failures: int
    at: float

    @property
    def is_strong(self) -> bool:
        return self.weight >= STRONG and self.successes >= self.failures + 2

    @property
    def write(self) -> Write:
        told = f"{self.target_kind} {self.target}: weight {self.weight:.2f}, {self.successes} right of "
        total = self.successes + self.failures
        return Write("synapse", f"{self.bucket}/{self.target_kind}/{self.target}", f"{told}{total}", self.at)


def absent_names(remembered: Iterable[Remembered], missing: Callable[[str], str]) -> Iterator[Finding]:
    """Episodes that name a table or a column that is not there; `missing` says which, in words, or `""`."""
    for one in remembered:
        if reason := missing(one.episode.sql):
            forget = Recommendation(
                str(one.episode.id), "forget", "schema", 1.0, "The query cannot run on the schema as it is."
            )
            side = Side(one.episode.sql, (one.write,))
            yield Finding("absence", "episode", one.episode.question, reason, (side,), forget)


def absent_episodes(pointing: Iterable[Pointing], active: frozenset[str]) -> Iterator[Finding]:
    """Synapses that lead to an episode that is not remembered."""
    for one in pointing:
        if one.target_kind == "episode" and one.target not in active:
            write = one.write
            told = Recommendation(write.id, "loosen", "gone", 1.0, "Nothing is at its end.")
            reason = f"the episode {one.target[:8]} that it leads to is gone"
            yield Finding("absence", "synapse", one.bucket, reason, (Side(write.text, (write,)),), told)


def absent_answers(pointing: Iterable[Pointing], held: frozenset[str]) -> Iterator[Finding]:
    """Buckets whose synapses are strong and that hold no episode: they know how, and remember nothing."""
    strong: dict[str, list[Pointing]] = {}
    for one in pointing:
        if one.is_strong and one.bucket not in held:
            strong.setdefault(one.bucket, []).append(one)
    for bucket, found in sorted(strong.items()):
        best = max(found, key=lambda one: (one.weight, one.target))
        told = Recommendation("", "", "none", 0.0, "Give the bucket an episode: hebbql seed --hard, or feedback.")
        reason = f"{len(found)} strong synapses and no episode"
        side = Side(best.write.text, tuple(one.write for one in found))
        what = f"{best.kind} {bucket}".strip()
        yield Finding("absence", "bucket", what, reason, (side,), told)
