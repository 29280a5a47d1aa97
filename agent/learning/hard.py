"""Hard buckets: types of questions that fail and have nothing to learn from. They are given a few training golds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from agent.attempt import Understood
from agent.database.result import QueryRejected, Result
from agent.database.skeleton import skeleton
from agent.learning.judging import Verdict
from agent.learning.questions import Pair
from agent.learning.runs import Run, Seeded
from agent.learning.seed import Refused, Source, verified
from agent.question import QuestionError, read_question
from memory.episode import Episode
from memory.ledger import BucketCount, EpisodeState, EventKind, Ledger
from procedural.store import SynapseStore
from procedural.synapse import Synapse

ORIGIN = "seed:hard"
"""Who wrote the episodes that `hebbql seed --hard` remembers."""

FORGOTTEN_BEFORE = "its pair was forgotten, and nothing new says that it is right"

_NO_GOLD = "no training question is of this type"


@dataclass(frozen=True, slots=True)
class HardBucket:
    """What a hard bucket was given, and which golds were refused, by the ids of their questions."""

    bucket: str
    kind: str
    tables: tuple[str, ...]
    remembered: tuple[Seeded, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class HardReport:
    """Every hard bucket of a brain, by name. `batch` is what its new episodes are found by."""

    batch: str
    buckets: tuple[HardBucket, ...]

    @property
    def remembered(self) -> int:
        return sum(len(one.remembered) for one in self.buckets)


@dataclass(frozen=True, slots=True)
class Golds:
    """Golds of one bucket that hold and are new, as episodes, and those that were refused."""

    episodes: tuple[Episode, ...]
    refused: tuple[Refused, ...]


def hard_buckets(synapses: Iterable[Synapse], counts: Iterable[BucketCount]) -> tuple[str, ...]:
    """The buckets in which something failed and no episode is remembered, by name.

    >>> failed = Synapse("b", "approach", "direct", 0.8, 0, 1, 0.0)
    >>> hard_buckets([failed], []), hard_buckets([failed], [BucketCount("b", "count", (), 1, 0)])
    (('b',), ())
    """
    held = {one.bucket for one in counts if one.active}
    return tuple(sorted({one.bucket for one in synapses if one.failures} - held))


def stayed_at_zero(run: Run, epoch: int) -> tuple[str, ...]:
    """The buckets of which questions were asked in an epoch and none was right, by name."""
    asked, right = set(), set()
    for step in run.of(epoch):
        asked.add(step.bucket)
        if step.right:
            right.add(step.bucket)
    return tuple(sorted(asked - right))


def stubborn(run: Run, epoch: int, *, times: int = 3) -> tuple[str, ...]:
    """The training questions that were wrong each of the last so many times, as of the end of an epoch, by id."""
    answers: defaultdict[str, list[bool]] = defaultdict(list)
    for step in run.steps:
        if step.part == "training" and step.epoch <= epoch:
            answers[step.question].append(step.right)
    return tuple(sorted(id for id, right in answers.items() if len(right) >= times and not any(right[-times:])))


def in_turn(pairs: Sequence[Pair], shape: Callable[[Pair], str]) -> tuple[Pair, ...]:
    """The pairs in an order in which the first ones have different shapes; else they stay as they are.

    >>> pairs = [Pair(id, "q", sql, (), False, "", "", "en", 1) for id, sql in (("1", "a"), ("2", "a"), ("3", "b"))]
    >>> [pair.id for pair in in_turn(pairs, lambda pair: pair.sql)]
    ['1', '3', '2']
    """
    seen: Counter[str] = Counter()
    placed: list[tuple[int, int, Pair]] = []
    for pair in pairs:
        placed.append((seen[shape(pair)], len(placed), pair))
        seen[shape(pair)] += 1
    return tuple(pair for _, _, pair in sorted(placed, key=lambda one: one[:2]))


def golds_for(
    pairs: Sequence[Pair],
    *,
    limit: int,
    run: Callable[[str], Result],
    confirm: Callable[[Pair], Verdict],
    understand: Callable[[str], Understood],
    source: Source,
    state: Callable[[UUID], EpisodeState | None],
) -> Golds:
    """Make episodes of at most so many of a bucket's golds, those of different shapes first.

    Each is run and judged on the copies of the database before it counts; what does not hold is refused and the next
    takes its place. One that is remembered already is passed over, one that was forgotten is refused. `state` tells
    of an episode what the ledger knows of it.
    """
    chosen: dict[UUID, Episode] = {}
    refused: list[Refused] = []
    for pair in in_turn(pairs, lambda pair: _shape(pair, source.dialect)):
        if len(chosen) == limit:
            break
        episodes, unverified = verified((pair,), run=run, understand=understand, source=lambda _pair: source)
        refused += unverified
        for episode in episodes:
            known = state(episode.id)
            if known == "active":
                continue
            if known is not None:
                refused.append(Refused(pair.id, FORGOTTEN_BEFORE))
            elif not (verdict := confirm(pair)).right:
                refused.append(Refused(pair.id, verdict.reason))
            else:
                chosen[episode.id] = episode
    return Golds(tuple(chosen.values()), tuple(refused))


def ever_wrong(runs: Iterable[Run], digest: str) -> frozenset[str]:
    """The questions of a file that were wrong in a run, and right in none, by id. `digest` is that of the file."""
    wrong: set[str] = set()
    right: set[str] = set()
    for run in runs:
        if run.plan.training.digest == digest:
            for step in run.steps:
                if step.part == "training":
                    (right if step.right else wrong).add(step.question)
    return frozenset(wrong - right)


def seed_hard(
    pairs: Sequence[Pair],
    *,
    ledger: Ledger,
    synapses: SynapseStore,
    run: Callable[[str], Result],
    confirm: Callable[[Pair], Verdict],
    understand: Callable[[str], Understood],
    source: Source,
    per_bucket: int = 2,
    failed: Collection[str] = (),
) -> HardReport:
    """Give each hard bucket a few of the training golds, all in one transaction; nothing is written where none is new.

    `pairs` are training questions, never holdout. `failed` are ids of those known to be answered wrong: they come
    first. What is new waits in the ledger's queue for the episode store.
    """
    with ledger.connection() as connection:
        known = {one.bucket: one for one in synapses.buckets(connection)}
        hard = hard_buckets(synapses.synapses(connection), ledger.buckets())
    of: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda pair: pair.id not in failed) if hard else ():
        try:
            of[understand(read_question(pair.question)).bucket].append(pair)
        except QuestionError:
            continue
    chosen = {
        bucket: golds_for(
            of[bucket],
            limit=per_bucket,
            run=run,
            confirm=confirm,
            understand=understand,
            source=source,
            state=ledger.episode_state,
        )
        for bucket in hard
    }
    new = [episode for golds in chosen.values() for episode in golds.episodes]
    if new:
        with ledger.transaction() as entry:
            refused = [one.name for golds in chosen.values() for one in golds.refused]
            report = {"pack": "hard buckets", "pairs": len(new) + len(refused), "refused": refused}
            entry.append(EventKind.BATCH_OPENED, source.batch, report)
            for episode in new:
                entry.remember(episode)
    return HardReport(
        source.batch,
        tuple(
            HardBucket(
                bucket,
                known[bucket].kind,
                known[bucket].tables,
                tuple(seeded(episode, "its bucket fails and had no episode") for episode in chosen[bucket].episodes),
                chosen[bucket].refused if of[bucket] else (Refused(bucket, _NO_GOLD),),
            )
            for bucket in hard
        ),
    )


def seeded(episode: Episode, why: str, pair: str = "") -> Seeded:
    """What a report says of an episode that was seeded from the gold of a training question."""
    return Seeded(str(episode.id), episode.bucket, episode.question, why, pair)


def _shape(pair: Pair, dialect: str) -> str:
    try:
        return skeleton(pair.sql, dialect)
    except QueryRejected:
        return ""
