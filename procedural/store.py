"""Synapses in the ledger's database, moved in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache

from sqlalchemy import (
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Insert,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    delete,
    insert,
    or_,
    select,
)

from procedural.choosing import Choice, expected, ranked, score
from procedural.synapse import Synapse, Target, TargetKind, new_synapse, pooled, reinforce

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


_OF_TARGETS = select(SYNAPSES).where(
    SYNAPSES.c.bucket == bindparam("of"),
    SYNAPSES.c.target_kind.in_(bindparam("kinds", expanding=True)),
    SYNAPSES.c.target.in_(bindparam("names", expanding=True)),
)
"""A bucket's synapses to targets. Kinds and names are asked for apart, as the key of the table has them."""

_AROUND = (
    select(SYNAPSES, BUCKETS.c.kind)
    .join(BUCKETS, BUCKETS.c.bucket == SYNAPSES.c.bucket)
    .where(
        SYNAPSES.c.target_kind == bindparam("target_kind"),
        or_(
            BUCKETS.c.bucket == bindparam("of"),
            BUCKETS.c.kind == bindparam("kind"),
            BUCKETS.c.tables == bindparam("tables"),
        ),
    )
    .order_by(SYNAPSES.c.bucket, SYNAPSES.c.target)
)
"""Synapses of a bucket, of those of its kind, and of those over its tables, with the kind of their bucket."""

_KNOWN = select(BUCKETS.c.bucket).where(BUCKETS.c.bucket == bindparam("of"))


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


def _nothing(_step: str) -> None:
    """The hook between writes that does nothing."""


class SynapseStore:
    """The synapses of one brain. Every call works on the connection it is given and commits nothing.

    `between` is told what was written, each thing by its name, for tests of crashes.
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

        However many there are, they are read in one statement and written in one.
        Give `changes_content` of what comes back to the ledger in the same transaction.

        Raises:
            ValueError: the reward is neither 0.0 nor 1.0.
        """
        wanted = tuple(dict.fromkeys(targets))
        known = self._fired_before(connection, bucket, wanted)
        if not known:
            self._know(connection, bucket)
        changes = []
        for target in wanted:
            before = known.get(target)
            changes.append(Change(before, reinforce(before or new_synapse(bucket.bucket, target, at), reward, at)))
        if changes:
            connection.execute(_write_synapses(connection.dialect.name), [asdict(change.after) for change in changes])
        for target in wanted:
            self._between(f"synapse {target.kind}")
        return tuple(changes)

    def restore(
        self, connection: Connection, synapses: Iterable[Synapse], buckets: Iterable[Bucket], gone: Iterable[Synapse]
    ) -> dict[str, object]:
        """Set synapses to what they are given as, and take away those that are `gone`.

        Give what comes back to the ledger in the same transaction, as the content of a `weights_moved` event.
        """
        known = set(connection.execute(select(BUCKETS.c.bucket)).scalars())
        for bucket in buckets:
            if bucket.bucket not in known:
                self._know(connection, bucket)
        wanted, leaving = list(synapses), list(gone)
        if wanted:
            connection.execute(_write_synapses(connection.dialect.name), [asdict(synapse) for synapse in wanted])
            self._between("synapses restored")
        for synapse in leaving:
            one = (
                SYNAPSES.c.bucket == synapse.bucket,
                SYNAPSES.c.target_kind == synapse.target_kind,
                SYNAPSES.c.target == synapse.target,
            )
            connection.execute(delete(SYNAPSES).where(*one))
            self._between("synapse removed")
        taken = [[one.bucket, one.target_kind, one.target] for one in leaving]
        return {"changes": [asdict(one) for one in wanted], "removed": taken}

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
        trying: bool = True,
    ) -> tuple[Choice, ...]:
        """Rank candidates for the next attempt at a bucket, best first; the first is the one to take.

        With `trying` off, by the odds that are expected of them (`procedural.choosing.expected`). Else as follows:

        What was tried here is ranked by what came of it here. What was not has the rank of the untried, less where it
        fails in other buckets, same kind first, then same tables; what does well there comes first among the
        untried. So a favourite from elsewhere is tried early and pushes out nothing that works here, and what fails
        elsewhere is still tried before what failed here. The untried fade with the freshest evidence at hand, so a
        pause changes no order. Ties keep the order that the candidates came in: put the cheapest first.
        Candidates given up here come last; when the first is given up, all are. `Choice.why` says it in words.
        """
        about = {"of": bucket.bucket, "kind": bucket.kind, "tables": _tables_key(bucket.tables), "target_kind": kind}
        here: dict[str, Synapse] = {}
        same_kind: dict[str, list[Synapse]] = {}
        same_tables: dict[str, list[Synapse]] = {}
        for *parts, kind_of_bucket in connection.execute(_AROUND, about):
            one = Synapse(*parts)
            if one.bucket == bucket.bucket:
                here[one.target] = one
                continue
            if kind_of_bucket == bucket.kind:
                same_kind.setdefault(one.target, []).append(one)
            else:
                same_tables.setdefault(one.target, []).append(one)
        if trying:
            return ranked(candidates, at, here=here, same_kind=same_kind, same_tables=same_tables)
        brain = self.pooled(connection, kind)
        return expected(candidates, at, here=here, same_kind=same_kind, same_tables=same_tables, brain=brain)

    def pooled(self, connection: Connection, kind: TargetKind) -> dict[str, Synapse]:
        """The evidence on each target of a kind over all buckets, as if there were but one."""
        found: dict[str, list[Synapse]] = {}
        for synapse in self.synapses(connection, kind=kind):
            found.setdefault(synapse.target, []).append(synapse)
        summed = {target: pooled(synapses) for target, synapses in found.items()}
        return {target: synapse for target, synapse in summed.items() if synapse is not None}

    def strongest(self, connection: Connection, bucket: str, kind: TargetKind, at: float) -> str:
        """The target of a kind that does best in a bucket, or `""` where none was right more often than wrong."""
        known = self.synapses(connection, bucket, kind=kind)
        good = [synapse for synapse in known if synapse.successes > synapse.failures]
        return max(good, key=lambda synapse: score(synapse, at)).target if good else ""

    def _fired_before(self, connection: Connection, bucket: Bucket, targets: Sequence[Target]) -> dict[Target, Synapse]:
        """Those of the targets that the bucket has synapses to. A name of another kind is found too, and left out."""
        asked = {
            "of": bucket.bucket,
            "kinds": sorted({target.kind for target in targets}),
            "names": [target.name for target in targets],
        }
        rows = connection.execute(_OF_TARGETS, asked)
        found = {Target(row.target_kind, row.target): Synapse(*row) for row in rows}
        return {target: found[target] for target in targets if target in found}

    def _know(self, connection: Connection, bucket: Bucket) -> None:
        if connection.execute(_KNOWN, {"of": bucket.bucket}).first() is None:
            connection.execute(
                insert(BUCKETS).values(bucket=bucket.bucket, kind=bucket.kind, tables=_tables_key(bucket.tables))
            )
            self._between("bucket row")


def changes_content(changes: Iterable[Change]) -> dict[str, object]:
    """What the ledger keeps of a firing, as the content of a `weights_moved` event: each synapse after it."""
    return {"changes": [asdict(change.after) for change in changes]}


def replayed(contents: Iterable[object]) -> tuple[Synapse, ...]:
    """The synapses that a history of `weights_moved` contents leads to, in the order of `SynapseStore.synapses`.

    Each content must be what `changes_content` or `SynapseStore.restore` gave. A ledger and its synapse table agree
    when this equals the table.
    """
    last: dict[tuple[str, str, str], Synapse] = {}
    for content in contents:
        for change in content["changes"]:  # type: ignore[index]
            synapse = Synapse(**change)
            last[synapse.bucket, synapse.target_kind, synapse.target] = synapse
        for removed in content.get("removed", ()):  # type: ignore[attr-defined]
            last.pop(tuple(removed), None)
    return tuple(last[key] for key in sorted(last))


@cache
def _write_synapses(dialect: str) -> Insert:
    """The statement that writes synapses, new ones and old ones alike, in the words of a dialect."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_or_update
    elif dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as insert_or_update  # type: ignore[assignment]
    else:
        raise NotImplementedError(f"Synapses are kept in SQLite or PostgreSQL, not in {dialect}.")
    key = tuple(column.name for column in SYNAPSES.primary_key)
    write = insert_or_update(SYNAPSES)
    moved = {column.name: write.excluded[column.name] for column in SYNAPSES.columns if column.name not in key}
    return write.on_conflict_do_update(index_elements=key, set_=moved)


def _tables_key(tables: Iterable[str]) -> str:
    return json.dumps(sorted(set(tables)), ensure_ascii=False)
