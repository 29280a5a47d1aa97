"""Synapses in the ledger's database, moved in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from sqlalchemy import (
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    select,
    update,
)

from procedural.synapse import (
    UNTRIED,
    Synapse,
    Target,
    TargetKind,
    freshness,
    new_synapse,
    pooled,
    posterior_mean,
    prunable,
    rank,
    reinforce,
)

METADATA = MetaData()

BUCKETS = Table(
    "buckets",
    METADATA,
    Column("bucket", String(64), primary_key=True),
    Column("kind", Text, nullable=False),
    Column("tables", Text, nullable=False, comment="JSON, sorted"),
    Index("buckets_by_kind", "kind"),
    Index("buckets_by_tables", "tables"),
)

SYNAPSES = Table(
    "synapses",
    METADATA,
    Column("bucket", String(64), ForeignKey("buckets.bucket"), primary_key=True),
    Column("target_kind", String(10), primary_key=True),
    Column("target", Text, primary_key=True),
    Column("weight", Double, nullable=False),
    Column("successes", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("last_fired", Double, nullable=False, comment="seconds since 1970, UTC"),
)

Level = Literal["bucket", "kind", "tables", "untried"]
"""Where the evidence for a choice was found: this bucket; the same kind of question over other tables; the same
tables with another kind; nowhere."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A type of question: its hash, and the kind and tables that it is the hash of."""

    bucket: str
    kind: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """How one firing moved one synapse. `before` is None for its first firing."""

    before: Synapse | None
    after: Synapse


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate with its rank (0 to 1) and the level at which its evidence was found.

    `successes` and `failures` are the evidence; `given_up` marks a candidate that failed too often here.
    """

    candidate: str
    rank: float
    level: Level
    successes: int
    failures: int
    given_up: bool = False


def _nothing(_step: str) -> None:
    """The hook between writes that does nothing."""


class SynapseStore:
    """The synapses of one brain. Every call works on the connection it is given and commits nothing.

    `between` is called after each write with its name, for tests of crashes.
    """

    def __init__(self, *, between: Callable[[str], None] = _nothing) -> None:
        self._between = between

    def create(self, connection: Connection) -> None:
        """Make the tables where they are missing."""
        METADATA.create_all(connection)

    def fire(
        self, connection: Connection, bucket: Bucket, targets: Iterable[Target], reward: float, at: float
    ) -> tuple[Change, ...]:
        """Reinforce every target that took part in one attempt, once each. `at` is seconds since 1970, UTC.

        Give `changes_content` of what comes back to the ledger in the same transaction.

        Raises:
            ValueError: the reward is neither 0.0 nor 1.0.
        """
        self._know(connection, bucket)
        changes = []
        for target in dict.fromkeys(targets):
            here = (
                (SYNAPSES.c.bucket == bucket.bucket)
                & (SYNAPSES.c.target_kind == target.kind)
                & (SYNAPSES.c.target == target.name)
            )
            row = connection.execute(select(SYNAPSES).where(here)).first()
            before = Synapse(*row) if row is not None else None
            after = reinforce(before or new_synapse(bucket.bucket, target, at), reward, at)
            if before is None:
                connection.execute(insert(SYNAPSES).values(asdict(after)))
            else:
                connection.execute(update(SYNAPSES).where(here).values(asdict(after)))
            self._between(f"synapse {target.kind}")
            changes.append(Change(before, after))
        return tuple(changes)

    def synapses(
        self, connection: Connection, bucket: str | None = None, *, kind: TargetKind | None = None
    ) -> tuple[Synapse, ...]:
        """Read synapses in a lasting order: all, of one bucket, of one kind of target."""
        wanted = select(SYNAPSES).order_by(SYNAPSES.c.bucket, SYNAPSES.c.target_kind, SYNAPSES.c.target)
        if bucket is not None:
            wanted = wanted.where(SYNAPSES.c.bucket == bucket)
        if kind is not None:
            wanted = wanted.where(SYNAPSES.c.target_kind == kind)
        return tuple(Synapse(*row) for row in connection.execute(wanted))

    def buckets(self, connection: Connection) -> tuple[Bucket, ...]:
        rows = connection.execute(select(BUCKETS).order_by(BUCKETS.c.bucket))
        return tuple(Bucket(row.bucket, row.kind, tuple(json.loads(row.tables))) for row in rows)

    def best_next(
        self,
        connection: Connection,
        bucket: Bucket,
        candidates: Sequence[str],
        at: float,
        *,
        kind: TargetKind = "approach",
    ) -> tuple[Choice, ...]:
        """Rank candidates for the next attempt at a bucket, best first; the first is the one to take.

        What was tried here is ranked by what came of it here. What was not is ranked by its evidence from other
        buckets, same kind first, then same tables; but never above the rank of an untried candidate, so that a
        favourite from elsewhere does not push out what works here. With no evidence anywhere it is untried.
        The untried fade with the freshest evidence at hand, so a pause changes no order. Ties keep the order that
        the candidates came in: put the usual one first. Candidates given up here come last.
        """
        here = {one.target: one for one in self.synapses(connection, bucket.bucket, kind=kind)}
        same_kind = self._neighbours(connection, bucket, kind, BUCKETS.c.kind == bucket.kind)
        same_tables = self._neighbours(connection, bucket, kind, BUCKETS.c.tables == _tables_key(bucket.tables))
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
                score = rank(evidence, at)
                counts = (evidence.successes, evidence.failures)
                judged.append((Choice(candidate, score, level, *counts, given_up=prunable(evidence)), score))
            else:
                score = posterior_mean(evidence, at) * evidence.weight * freshest
                counts = (evidence.successes, evidence.failures)
                judged.append((Choice(candidate, min(score, untried), level, *counts), score))
        return tuple(choice for choice, _ in sorted(judged, key=sort_key))

    def _neighbours(
        self, connection: Connection, bucket: Bucket, kind: TargetKind, like: object
    ) -> dict[str, list[Synapse]]:
        wanted = (
            select(SYNAPSES)
            .join(BUCKETS, BUCKETS.c.bucket == SYNAPSES.c.bucket)
            .where(like, SYNAPSES.c.bucket != bucket.bucket, SYNAPSES.c.target_kind == kind)  # type: ignore[arg-type]
            .order_by(SYNAPSES.c.bucket, SYNAPSES.c.target)
        )
        found: dict[str, list[Synapse]] = {}
        for row in connection.execute(wanted):
            found.setdefault(row.target, []).append(Synapse(*row))
        return found

    def _know(self, connection: Connection, bucket: Bucket) -> None:
        if connection.execute(select(BUCKETS.c.bucket).where(BUCKETS.c.bucket == bucket.bucket)).first() is None:
            connection.execute(
                insert(BUCKETS).values(bucket=bucket.bucket, kind=bucket.kind, tables=_tables_key(bucket.tables))
            )
            self._between("bucket row")


def changes_content(changes: Iterable[Change]) -> dict[str, object]:
    """What the ledger keeps of a firing, as the content of a `weights_moved` event: each synapse after it."""
    return {"changes": [asdict(change.after) for change in changes]}


def replayed(contents: Iterable[object]) -> tuple[Synapse, ...]:
    """The synapses that a history of `weights_moved` contents leads to, in the order of `SynapseStore.synapses`.

    Each content must be what `changes_content` gave. A ledger and its synapse table agree when this equals the table.
    """
    last: dict[tuple[str, str, str], Synapse] = {}
    for content in contents:
        for change in content["changes"]:  # type: ignore[index]
            synapse = Synapse(**change)
            last[synapse.bucket, synapse.target_kind, synapse.target] = synapse
    return tuple(last[key] for key in sorted(last))


def _tables_key(tables: Iterable[str]) -> str:
    return json.dumps(sorted(set(tables)), ensure_ascii=False)
