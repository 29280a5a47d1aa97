"""What would make a brain better: a snapshot goes in, the improved one comes out, with a reason for every edit. Pure.

Six rules, in this order. Each looks at what the ones before it left, and together they find nothing to do in what they
made themselves:

1. distilled: an answer that was confirmed, and that no episode holds, becomes one.
2. stale: an episode goes whose SQL the guard refuses on the present schema, or that the database cannot run. One of an
   older schema that still gives what it gave when it was verified is stamped with the present one; with another result
   it stays as it is, since nobody vouched for that result.
3. re-bucketed: an episode moves to the bucket, and to the masked question, that its question has as it is understood
   now, and its synapses go with it. What was forgotten or erased there is not brought back that way.
4. dominated: an episode goes that a stronger verified one of the same masked question speaks against: asked the same,
   the stronger gives other rows.
5. duplicates: of episodes of one bucket with the same SQL and the same question in other words, the strongest verified
   stays, of equals the newest. What was learned of the others counts for it.
6. spent: an episode goes that misled so often in its own bucket that its synapse is given up.

The synapses to an episode that goes leave with it, and those to its skeleton and its habit where no other episode of
the bucket has them, unless they failed more often than they were right. To the bucket that an episode moves to, the
synapse to its skeleton goes along where nothing of that skeleton is left behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from memory.brain.differences import Edit, diff
from memory.brain.loosening import Shape, loose_shapes, shapes
from memory.brain.snapshot import Key, Record, Snapshot, of_episode
from memory.chain import Content
from memory.episode import Episode

Rule = Literal["distilled", "stale", "restamped", "rebucketed", "dominated", "duplicate", "spent"]

STRENGTH = {"gold": 2, "person": 2, "agreement": 1}
"""How much a verifier's word weighs. A person and a gold are equals: where they part, a person has to decide."""


@dataclass(frozen=True, slots=True)
class Intended:
    """What a question asks for as it is understood now. `grain` are the tables that its bucket is the hash of."""

    bucket: str
    kind: str
    tables: tuple[str, ...]
    grain: tuple[str, ...]
    masked: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What an episode's SQL came to on the present database: a problem, or the fingerprints that its result has.

    Neither where nobody could look; then nothing is held against it.
    """

    problem: str = ""
    results: frozenset[str] = frozenset()


class Sense(Protocol):
    """What questions and SQL mean, for those who read neither. The same every time within one improvement."""

    @property
    def schema(self) -> str:
        """The fingerprint of the present schema."""
        ...

    def understood(self, question: str) -> Intended: ...

    def looked(self, episode: Episode) -> Looked:
        """Check and run its SQL."""
        ...

    def spelled(self, sql: str) -> str:
        """SQL in one spelling; what cannot be read as it stands."""
        ...

    def alike(self, one: Episode, other: Episode) -> bool:
        """Whether two questions say the same in other words."""
        ...

    def contradicts(self, strong: Episode, weak: Episode) -> bool:
        """Whether the query of one, asked the other's question, gives other rows than the other's own query."""
        ...

    def spent(self, synapses: Sequence[Content]) -> frozenset[str]:
        """The ids of the episodes that are to be given up, by all synapses of their bucket."""
        ...

    def habit(self, episode: Episode) -> str:
        """The name of the habit that an episode leads to, or ""."""
        ...

    def pooled(self, synapses: Sequence[Content]) -> Content:
        """One synapse with the evidence of several; bucket and target are those of the first."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """One edit, the rule that asks for it, and why in words. The words name episodes by their ids only."""

    edit: Edit
    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class Improved:
    """The improved snapshot, and the changes that lead to it, in the order of their records."""

    snapshot: Snapshot
    changes: tuple[Change, ...]

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(change.edit for change in self.changes)


def strength(episode: Episode) -> int:
    """How much the word of its verifier weighs; 0 of one that is not known."""
    return STRENGTH.get(episode.verifier, 0)


def improve(old: Snapshot, sense: Sense, *, confirmed: Iterable[Record] = ()) -> Improved:
    """Apply the rules. `confirmed` are records of the episodes that settled attempts would make.

    The same snapshot and the same sense give the same; what comes out, improved again, stays as it is.
    """
    work = _Work(old, sense)
    work.distil(confirmed)
    work.drop_stale()
    work.rebucket()
    work.drop_dominated()
    work.merge()
    work.drop_spent()
    work.loosen()
    new = Snapshot.of(old.database, work.records.values(), gone=work.gone, parent=old.hash)
    changes = tuple(Change(edit, *work.reasons[edit.key]) for edit in diff(old, new))
    return Improved(new, changes)


class _Work:
    """The records as they are so far, and why each key that was touched is no longer what it was."""

    def __init__(self, old: Snapshot, sense: Sense) -> None:
        self.records: dict[Key, Record] = dict(old.records)
        self._old = old.records
        self._homes = {str(record.body["bucket"]): record.body for record in reversed(self._synapses())}
        self.reasons: dict[Key, tuple[Rule, str]] = {}
        self._gone = old.gone
        self._sense = sense

    @property
    def gone(self) -> dict[str, str]:
        """What is gone by now: what was before, and what an edit takes out."""
        taken = {key[1]: "forgotten" for key in self.reasons if key[0] == "episode" and key not in self.records}
        return {**taken, **self._gone}

    def distil(self, confirmed: Iterable[Record]) -> None:
        known = {self._says(record.episode): strength(record.episode) for record in self._by_strength()}
        for record in sorted(confirmed, key=_preference):
            episode, says = record.episode, self._says(record.episode)
            if known.get(says, -1) < strength(episode) and not self._is_gone(episode):
                known[says] = strength(episode)
                self._put(record, "distilled", f"attempt {episode.origin.rpartition(':')[2]} was confirmed")

    def drop_stale(self) -> None:
        for record in self._episodes():
            episode, looked = record.episode, self._sense.looked(record.episode)
            if looked.problem:
                self._drop(record, "stale", looked.problem)
            elif episode.schema_fingerprint != self._sense.schema and episode.result_fingerprint in looked.results:
                told = f"verified on schema {episode.schema_fingerprint[:12]}, it gives the same on the present one"
                stamped = replace(episode, schema_fingerprint=self._sense.schema)
                self._put(_like(record, stamped), "restamped", told)

    def rebucket(self) -> None:
        moving: dict[Key, tuple[Record, Record]] = {}
        for record in self._episodes():
            old = record.episode
            now = self._sense.understood(old.question)
            new = replace(old, bucket=now.bucket, kind=now.kind, tables=now.tables, masked=now.masked)
            state = self._gone.get(str(new.id)) if new.id != old.id else None
            if new == old or state == "forgotten":
                continue
            if state == "erased":
                self._drop(record, "rebucketed", f"what it says was erased as {new.id}")
            elif new.id == old.id:
                self._put(_like(record, new), "rebucketed", f"{_understood_as(new)} now")
            else:
                moving[record.key] = record, _like(record, new)
        for old_record, record in moving.values():
            self._drop(old_record, "rebucketed", f"{_understood_as(record.episode)} now, as {record.key[1]}")
        for old_record, record in sorted(moving.values(), key=lambda one: _preference(one[1])):
            there = self.records.get(record.key)
            if there is None or _preference(record) < _preference(there):
                self._put(record, "rebucketed", f"{_understood_as(record.episode)} now; it was {old_record.key[1]}")
        moved = {old.episode: new.episode for old, new in moving.values()}
        self._repoint(moved, "rebucketed")
        self._move_skeletons(moved)

    def drop_dominated(self) -> None:
        alike: dict[str, list[Record]] = {}
        for record in self._episodes():
            alike.setdefault(record.episode.masked, []).append(record)
        for records in alike.values():
            kept: list[Episode] = []
            for record in sorted(records, key=_preference):
                weak = record.episode
                against = next((one for one in kept if self._dominates(one, weak)), None)
                if against is None:
                    kept.append(weak)
                else:
                    told = f"{against.id}, on the word of {against.verifier or 'nobody'}, gives other rows"
                    self._drop(record, "dominated", told)

    def _dominates(self, strong: Episode, weak: Episode) -> bool:
        return strength(strong) > strength(weak) and self._sense.contradicts(strong, weak)

    def merge(self) -> None:
        same: dict[tuple[str, str], list[Record]] = {}
        for record in self._episodes():
            same.setdefault((record.episode.bucket, self._sense.spelled(record.episode.sql)), []).append(record)
        merged: dict[Episode, Episode] = {}
        for records in same.values():
            kept: list[Record] = []
            for record in sorted(records, key=_preference):
                into = next((one for one in kept if self._say_the_same(one.episode, record.episode)), None)
                if into is None:
                    kept.append(record)
                else:
                    self._drop(record, "duplicate", f"{into.key[1]} has the same SQL for the same question")
                    merged[record.episode] = into.episode
        self._repoint(merged, "duplicate")

    def _say_the_same(self, one: Episode, other: Episode) -> bool:
        return one.masked == other.masked or self._sense.alike(one, other)

    def drop_spent(self) -> None:
        synapses: dict[str, list[Content]] = {}
        for record in self._synapses():
            synapses.setdefault(str(record.body["bucket"]), []).append(record.body)
        spent = {bucket: self._sense.spent(bodies) for bucket, bodies in synapses.items()}
        for record in self._episodes():
            if record.key[1] in spent.get(record.episode.bucket, ()):
                self._drop(record, "spent", "it misled more often than it helped")

    def loosen(self) -> None:
        """Take away the synapses to what was taken out, as they lead nowhere."""
        taken = {key[1]: rule for key, (rule, _) in self.reasons.items() if key not in self.records}
        for record in self._synapses():
            if (rule := taken.get(_target(record))) is not None:
                self._drop(record, rule, f"{_target(record)}, to which it leads, is taken out")
        shapes = self._left_loose(taken)
        for record in self._synapses():
            if (rule := shapes.get(_shape(record))) is not None and not _warns(record):
                self._drop(record, rule, "no episode of its bucket has what it leads to any more")

    def _left_loose(self, taken: Mapping[str, Rule]) -> dict[Shape, Rule]:
        """The shapes that stood on episodes that were taken out alone, each with the rule that took out the first."""
        leaving = [self._old[key].episode for key in sorted(self._old) if key[0] == "episode" and key[1] in taken]
        staying = [record.episode for record in self._episodes()]
        loose = loose_shapes(leaving, staying, self._sense.habit)
        told: dict[Shape, Rule] = {}
        for one in leaving:
            for shape in shapes((one,), self._sense.habit) & loose:
                told.setdefault(shape, taken[str(one.id)])
        return told

    def _repoint(self, moved: Mapping[Episode, Episode], rule: Rule) -> None:
        """Let all that was learned of an episode count for another, in its bucket where it was in the old one's."""
        found = {str(old.id): (old, new) for old, new in moved.items()}
        going = [record for record in self._synapses() if _target(record) in found]
        for record in going:
            self._drop(record, rule, f"what it leads to is {found[_target(record)][1].id} now")
        for record in going:
            old, new = found[_target(record)]
            body: Content = {**record.body, "target": str(new.id)}
            told = f"what was learned of {old.id} counts for {new.id}"
            if record.body["bucket"] == old.bucket:
                self._put_home(body, new, rule, told)
            else:
                self._put_into(body, rule, told)

    def _move_skeletons(self, moved: Mapping[Episode, Episode]) -> None:
        """Let what was learned of a skeleton go to the bucket that all its episodes went to."""
        loose = loose_shapes(moved, (record.episode for record in self._episodes()))
        homes: dict[Shape, set[str]] = {}
        for old, new in moved.items():
            for shape in shapes((old,)) & loose:
                homes.setdefault(shape, set()).add(new.bucket)
        found = {(new.bucket, shape): new for old, new in moved.items() for shape in shapes((old,))}
        for record in self._synapses():
            went = homes.get(_shape(record), set())
            if len(went) == 1 and (home := next(iter(went))) != record.body["bucket"]:
                self._drop(record, "rebucketed", "all episodes of its skeleton have left this bucket")
                told = f"what was learned in bucket {str(record.body['bucket'])[:12]} counts here"
                self._put_home(record.body, found[home, _shape(record)], "rebucketed", told)

    def _put_home(self, body: Content, episode: Episode, rule: Rule, reason: str) -> None:
        """Put a synapse into the bucket of an episode, together with what is known of its target there."""
        grain = self._sense.understood(episode.question).grain
        usual: Content = {"bucket": episode.bucket, "kind": episode.kind, "tables": list(grain)}
        home = self._homes.get(episode.bucket, usual)
        self._put_into({**body, **{name: home[name] for name in ("bucket", "kind", "tables")}}, rule, reason)

    def _put_into(self, body: Content, rule: Rule, reason: str) -> None:
        """Put a synapse where its body says, together with what is known there."""
        put = Record("synapse", body)
        if there := self.records.get(put.key):
            put = Record("synapse", self._sense.pooled((there.body, put.body)))
        self._put(put, rule, reason)

    def _says(self, episode: Episode) -> tuple[str, str, str]:
        """What an episode says, in whatever bucket and spelling it stands."""
        now = self._sense.understood(episode.question)
        return now.bucket, now.masked, self._sense.spelled(episode.sql)

    def _is_gone(self, episode: Episode) -> bool:
        """Whether it was taken out before, as it is or as its question is understood now."""
        now = self._sense.understood(episode.question)
        moved = replace(episode, bucket=now.bucket, masked=now.masked)
        return str(episode.id) in self._gone or str(moved.id) in self._gone

    def _episodes(self) -> list[Record]:
        return [self.records[key] for key in sorted(self.records) if key[0] == "episode"]

    def _by_strength(self) -> list[Record]:
        """The weakest first, so that of what says the same the strongest comes last."""
        return sorted(self._episodes(), key=_preference, reverse=True)

    def _synapses(self) -> list[Record]:
        return [self.records[key] for key in sorted(self.records) if key[0] == "synapse"]

    def _put(self, record: Record, rule: Rule, reason: str) -> None:
        self.records[record.key] = record
        self.reasons[record.key] = rule, reason

    def _drop(self, record: Record, rule: Rule, reason: str) -> None:
        del self.records[record.key]
        self.reasons[record.key] = rule, reason


def _understood_as(episode: Episode) -> str:
    return f"its question is understood as {episode.kind} in bucket {episode.bucket[:12]}"


def _target(record: Record) -> str:
    """The id of the episode that a synapse leads to; "" where it leads to something else."""
    return str(record.body["target"]) if record.body["target_kind"] == "episode" else ""


def _shape(record: Record) -> Shape:
    """What a synapse leads to, in its bucket."""
    return str(record.body["bucket"]), str(record.body["target_kind"]), str(record.body["target"])


def _warns(record: Record) -> bool:
    """Whether a synapse failed more often than it was right: that is known from attempts, and not from an episode."""
    successes, failures = record.body["successes"], record.body["failures"]
    assert isinstance(successes, int) and isinstance(failures, int)
    return failures > successes


def _like(record: Record, episode: Episode) -> Record:
    """The record of a changed episode, first remembered when the old one was."""
    since = record.body["since"]
    assert isinstance(since, int), "the record of an episode says since when it is known"
    return of_episode(episode, since)


def _preference(record: Record) -> tuple[int, int, str]:
    """The strongest verified first, of equals the newest, of those the one whose id comes first."""
    since = record.body["since"]
    assert isinstance(since, int), "the record of an episode says since when it is known"
    return -strength(record.episode), -since, record.key[1]
