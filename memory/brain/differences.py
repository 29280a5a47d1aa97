"""What differs between two snapshots, as edits that lead from one to the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memory.brain.snapshot import Key, Record, RecordKind, Snapshot, SnapshotError, names_of
from memory.chain import Content

Action = Literal["added", "removed", "changed"]

MOVED = 0.05
"""By how much a weight must have moved to be worth telling. Weights are in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One record that was added, removed or changed. `before` is None for one added, `after` for one removed."""

    before: Record | None
    after: Record | None

    @property
    def record(self) -> Record:
        """The record after the edit, or what it was where it is gone."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def key(self) -> Key:
        return self.record.key

    @property
    def kind(self) -> RecordKind:
        return self.record.kind

    @property
    def action(self) -> Action:
        if self.before is None:
            return "added"
        return "changed" if self.after is not None else "removed"

    @property
    def moved(self) -> float:
        """By how much the weight of a synapse moved; a new one began at 0.0, and one that is gone ended there."""
        if self.kind != "synapse":
            return 0.0
        return _weight(self.after) - _weight(self.before)

    @property
    def changed(self) -> tuple[str, ...]:
        """The parts of the record that are not what they were."""
        if self.before is None or self.after is None:
            return ()
        before, after = self.before.body, self.after.body
        return tuple(sorted(name for name in after if before[name] != after[name]))

    def to_json(self) -> dict[str, object]:
        """The machine form: `action`, `kind`, `key`, and the bodies before and after."""
        return {
            "action": self.action,
            "kind": self.kind,
            "key": self.key[1],
            "before": _body(self.before),
            "after": _body(self.after),
        }


def diff(old: Snapshot, new: Snapshot) -> tuple[Edit, ...]:
    """Every edit that leads from the old snapshot to the new one, in the order of their records."""
    keys = sorted(old.records.keys() | new.records.keys())
    edits = (Edit(old.records.get(key), new.records.get(key)) for key in keys)
    return tuple(edit for edit in edits if edit.before != edit.after)


def apply(old: Snapshot, edits: Iterable[Edit]) -> Snapshot:
    """Make the edits on a snapshot: `apply(a, diff(a, b))` knows what `b` knows.

    Raises:
        SnapshotError: a record is not what the edit found there before.
    """
    records = dict(old.records)
    for edit in edits:
        if records.get(edit.key) != edit.before:
            raise SnapshotError(f"The {edit.kind} {edit.key[1]} is not what it was when this difference was taken.")
        if edit.after is None:
            del records[edit.key]
        else:
            records[edit.key] = edit.after
    return Snapshot.of(old.database, records.values(), gone=old.gone, parent=old.hash)


def without_taken_names(edits: Iterable[Edit], live: Snapshot) -> tuple[Edit, ...]:
    """Leave out the terms that would take a name from a term of `live` that none of the edits is about."""
    edits = tuple(edits)
    touched = {edit.key for edit in edits}
    taken = {name for term in live.of_kind("term") if term.key not in touched for name in names_of(term)}
    return tuple(edit for edit in edits if edit.after is None or taken.isdisjoint(names_of(edit.after)))


def worth_telling(edits: Iterable[Edit], *, moved: float = MOVED) -> tuple[Edit, ...]:
    """Leave out the synapses whose weight hardly moved, which after a night are most of all edits."""
    return tuple(edit for edit in edits if edit.kind != "synapse" or abs(edit.moved) > moved)


def counted(edits: Sequence[Edit]) -> dict[RecordKind, dict[Action, int]]:
    """How many records of each kind were added, removed and changed; kinds without any are left out."""
    counts: dict[RecordKind, dict[Action, int]] = {}
    for edit in edits:
        of_kind = counts.setdefault(edit.kind, {"added": 0, "removed": 0, "changed": 0})
        of_kind[edit.action] += 1
    return counts


def in_words(edit: Edit) -> str:
    """One edit in a line that a person reads: a sign, the kind, and what it is about."""
    sign = {"added": "+", "removed": "-", "changed": "~"}[edit.action]
    return f"{sign} {edit.kind} {_about(edit)}"


def _about(edit: Edit) -> str:
    body, short = edit.record.body, edit.key[1][:8]
    match edit.kind:
        case "episode":
            by = f"{body['origin']}, {body['verifier']}, batch {body['batch']}"
            said = f"{short} {body['question']!r} → {body['sql']} [{by}]"
        case "lesson":
            said = f"{short} {body['question']!r}: {body['problem']}"
        case "term":
            names: object = body["names"]
            said = f"{', '.join(map(str, names)) if isinstance(names, list) else names} → {body['meaning']}"
        case "schema":
            said = f"{body['name']} {str(body['fingerprint'])[:12]}"
        case "synapse":
            said = f"{str(body['bucket'])[:8]} → {body['target_kind']} {body['target']}"
            return f"{said}: {_weight(edit.before):.3f} → {_weight(edit.after):.3f}"
    return f"{said} ({', '.join(edit.changed)})" if edit.changed else said


def _weight(record: Record | None) -> float:
    weight = record.body["weight"] if record else 0.0
    assert isinstance(weight, int | float)
    return float(weight)


def _body(record: Record | None) -> Content | None:
    return record.body if record else None
