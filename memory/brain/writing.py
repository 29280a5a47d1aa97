"""Making a brain what a snapshot says, in one transaction: build, roll back, take a batch out, accept a candidate."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memory.brain.differences import Edit, apply, diff
from memory.brain.reading import Weights, read
from memory.brain.snapshot import TERM_ERASED, Record, Snapshot, SnapshotError
from memory.ledger import EventKind, Ledger, Transaction
from memory.lessons import Lesson, Lessons
from memory.semantic import SemanticMemory, Term, erased_terms, term_from

_HASH = 64
"""Digits of the hash of a snapshot."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was done: the edits, the ids of episodes that stay away because they were erased, and of those never held
    here that are kept from coming, as they are gone in the snapshot.
    """

    edits: tuple[Edit, ...]
    erased: tuple[str, ...]
    barred: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.edits or self.barred)


def make_so(ledger: Ledger, weights: Weights, wanted: Snapshot, *, why: str, subject: str = "") -> Written:
    """Bring the brain to what `wanted` knows: all of it in one transaction, or nothing.

    The schema stays what it is, as it is the database's and not the brain's. What was erased stays erased: its
    episodes, terms, lessons and synapses are left out of what is wanted. What is gone in the snapshot and was never
    here is barred, so that no seed pack brings it in. `why` and `subject` go into the history.

    Raises:
        SnapshotError: the snapshot is of another database, or cannot be restored exactly; then nothing is changed.
    """
    if wanted.database != ledger.database:
        raise SnapshotError(f"This snapshot is of {wanted.database!r}, the brain of {ledger.database!r}.")
    live = read(ledger, weights)
    edits = tuple(edit for edit in diff(live, wanted) if edit.kind != "schema")
    return write_edits(ledger, weights, edits, why=why, subject=subject or wanted.hash, gone=wanted.gone)


def write_edits(
    ledger: Ledger,
    weights: Weights,
    edits: Iterable[Edit],
    *,
    why: str,
    subject: str,
    gone: Mapping[str, str] = MappingProxyType({}),
) -> Written:
    """Make edits on the live brain in one transaction, with an event before them that says why.

    Of the episodes that are `gone`, by id with the state, those that this brain never held are barred, and so are all
    terms. Before it is committed the brain is read again: it is just what the edits make of it, or stays what it was.

    Raises:
        SnapshotError: a record is not what an edit found there before, or could not be made what it is to be.
    """
    known, erased_names = ledger.episode_states(), erased_terms(ledger)
    erased = {event.subject for event in ledger.events(kinds=(EventKind.EPISODE_ERASED,))}
    erased.update(id for id, state in known.items() if state == "erased")
    erased |= erased_names
    away = erased | _erased_lessons(ledger)
    edits = tuple(edits)
    coming = {id for edit in edits for id in _held(edit)}
    terms = {id for id, state in gone.items() if state == TERM_ERASED and id not in erased_names and id not in coming}
    barred = tuple(id for id in gone if gone[id] != TERM_ERASED and id not in known and id not in coming)
    back = {edit.after.about[0] for edit in edits if _held(edit) and edit.after and not away.isdisjoint(_held(edit))}
    edits = tuple(edit for edit in edits if edit.after is None or away.isdisjoint(edit.after.about))
    if edits or barred or terms:
        with ledger.transaction() as entry:
            wanted = apply(read(ledger, weights, within=entry), edits)
            body = {"why": why, "of": subject, "edits": len(edits), "barred": len(barred) + len(terms)}
            entry.append(EventKind.BRAIN_CHANGED, subject if _is_hash(subject) else "", body)
            _write(ledger, weights, entry, edits, why)
            for id in barred:
                entry.bar(uuid.UUID(id), "erased" if gone[id] == "erased" else "forgotten")
            entry.blank((), why, terms=terms)
            if read(ledger, weights, within=entry).records != wanted.records:
                raise SnapshotError("The brain could not be made exactly what it was to be, so it is as it was before.")
    return Written(edits, tuple(sorted(back)), (*barred, *sorted(terms)))


def _held(edit: Edit) -> tuple[str, ...]:
    """The ids of the episode or term that an edit brings in, or of an episode that it takes out."""
    if edit.kind == "term":
        return edit.after.about if edit.after is not None else ()
    return edit.record.about if edit.kind == "episode" else ()


def _is_hash(subject: str) -> bool:
    """Whether a subject tells nothing that a person wrote. It is part of the chain, and can never be erased."""
    return len(subject) == _HASH and all(sign in "0123456789abcdef" for sign in subject)


def _erased_lessons(ledger: Ledger) -> set[str]:
    """The ids of lessons whose content was erased, and that nobody learned anew since."""
    away: set[str] = set()
    for event in ledger.events(kinds=(EventKind.LESSON_LEARNED, EventKind.LESSON_RESOLVED)):
        (away.add if event.content is None else away.discard)(event.subject)
    return away


def _write(ledger: Ledger, weights: Weights, entry: Transaction, edits: Iterable[Edit], why: str) -> None:
    semantic, lessons = SemanticMemory(ledger), Lessons(ledger)
    set_to, gone = [], []
    by_kind: dict[str, list[Edit]] = {}
    for edit in edits:
        by_kind.setdefault(edit.kind, []).append(edit)
    for edit in by_kind.get("term", ()):
        if edit.after is None:
            semantic.drop(entry, _term(edit.record), why)
    for edit in by_kind.get("term", ()):
        if edit.after is not None:
            semantic.write(entry, _term(edit.after))
    for edit in by_kind.get("lesson", ()):
        if edit.after is None:
            lessons.remove(entry, uuid.UUID(edit.key[1]), why)
        else:
            lessons.restore(entry, _lesson(edit.after))
    # In the order in which they were first remembered, as that is the order of their batches.
    for edit in sorted(by_kind.get("episode", ()), key=_since):
        if edit.before is not None:
            entry.forget(uuid.UUID(edit.key[1]), why)
        if edit.after is not None:
            entry.remember(edit.after.episode, again=True, since=_since(edit)[0])
    for edit in by_kind.get("synapse", ()):
        if edit.after is None:
            gone.append(edit.record.body)
        else:
            set_to.append(edit.after.body)
    if set_to or gone:
        weights.write(entry, set_to, gone)


def _since(edit: Edit) -> tuple[int, str, str]:
    since = edit.record.body["since"]
    assert isinstance(since, int)
    return since, str(edit.record.body["batch"]), edit.key[1]


def _term(record: Record) -> Term:
    return term_from(record.body)


def _lesson(record: Record) -> Lesson:
    return Lesson(**record.body)  # type: ignore[arg-type]
