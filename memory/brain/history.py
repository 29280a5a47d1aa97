"""The history of a brain as a person reads it: who wrote what and when, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from memory.ledger import Event, EventKind, Ledger

What = Literal[
    "created",
    "upgraded",
    "schema",
    "batch",
    "lessons",
    "taught",
    "dropped",
    "forgot",
    "erased",
    "barred",
    "run",
    "changed",
    "snapshot",
    "canary",
]

_ALONE: dict[EventKind, What] = {
    EventKind.BRAIN_CREATED: "created",
    EventKind.BRAIN_UPGRADED: "upgraded",
    EventKind.SCHEMA_SEEN: "schema",
    EventKind.RUN_BEGAN: "run",
    EventKind.RUN_FINISHED: "run",
    EventKind.SNAPSHOT_TAKEN: "snapshot",
    EventKind.CANARY_BEGAN: "canary",
    EventKind.CANARY_ENDED: "canary",
}
_LEAVING: dict[EventKind, What] = {
    EventKind.EPISODE_FORGOTTEN: "forgot",
    EventKind.EPISODE_ERASED: "erased",
    EventKind.EPISODE_BARRED: "barred",
    EventKind.TERM_DROPPED: "dropped",
    EventKind.LESSON_DROPPED: "dropped",
}
_COUNTED = {
    EventKind.EPISODE_REMEMBERED: "episodes remembered",
    EventKind.EPISODE_FORGOTTEN: "episodes forgotten",
    EventKind.EPISODE_ERASED: "episodes erased",
    EventKind.EPISODE_BARRED: "episodes barred",
    EventKind.TERM_TAUGHT: "terms taught",
    EventKind.TERM_DROPPED: "terms dropped",
    EventKind.LESSON_LEARNED: "lessons learned",
    EventKind.LESSON_RESOLVED: "lessons changed",
    EventKind.LESSON_DROPPED: "lessons dropped",
}
_SHOWN = (*_ALONE, *_COUNTED, EventKind.BRAIN_CHANGED, EventKind.WEIGHTS_MOVED)


@dataclass(slots=True)
class Entry:
    """One line of the history. `subject` is the batch, the name of a snapshot, the reason for leaving, or the origin.

    It is "" for episodes that were erased, as the name of their batch left with them.
    `position` is where in the ledger it began, `at` and `until` its first and last time in seconds since 1970, UTC.
    `counts` says what was written, in words; `left` how many episodes of a batch are remembered now.
    """

    what: What
    subject: str
    position: int
    at: float
    until: float
    counts: Counter[str] = field(default_factory=Counter)
    by: tuple[str, ...] = ()
    left: int | None = None


def history(ledger: Ledger) -> tuple[Entry, ...]:
    """All of a brain's history, oldest first. Attempts and single moves of weights are left out."""
    told = _Telling()
    for event in ledger.events(kinds=_SHOWN):
        told.add(event)
    left = Counter(episode.batch for episode in ledger.episodes())
    for (what, subject), entry in told.merged.items():
        if what == "batch" and subject:
            entry.left = left[subject]
    return tuple(told.entries)


def of_batch(entries: Iterable[Entry], batch: str) -> tuple[Entry, ...]:
    """The entries that are about one batch: its own, and every change of the brain that names it."""
    return tuple(entry for entry in entries if entry.subject == batch)


class _Telling:
    """Entries, grown event by event."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.merged: dict[tuple[What, str], Entry] = {}
        self._change: Entry | None = None
        self._why = ""
        self._born: set[str] = set()
        self._last = 0

    def add(self, event: Event) -> None:
        body: Any = event.content or {}
        if event.kind == EventKind.BRAIN_CHANGED:
            self._why = str(body.get("why", ""))
            self._change = self._new("changed", str(body.get("of") or event.subject), event)
            self._change.by = (self._why,)
            self._born = set()
        elif self._change is not None and self._belongs(event, body):
            self._count(self._change, event)
            if event.kind == EventKind.EPISODE_REMEMBERED and body:
                self._batch(event, body, since=float(body["since"]))
        elif event.kind != EventKind.WEIGHTS_MOVED:
            self._change = None
            self._alone(event, body)
        self._last = event.position

    def _belongs(self, event: Event, body: Any) -> bool:
        """Whether an event is part of the change of the whole brain that is being told."""
        if event.position != self._last + 1:
            return False
        match event.kind:
            case EventKind.EPISODE_REMEMBERED:
                return "since" in body
            case EventKind.EPISODE_FORGOTTEN | EventKind.TERM_DROPPED | EventKind.LESSON_DROPPED:
                return bool(body.get("reason", self._why) == self._why)
            case EventKind.WEIGHTS_MOVED:
                return event.subject == "restored"
            case _:
                return event.kind in _COUNTED and event.kind != EventKind.EPISODE_ERASED

    def _alone(self, event: Event, body: Any) -> None:
        if event.kind in _ALONE:
            entry = self._new(_ALONE[event.kind], str(body.get("name") or event.subject), event)
            if event.kind in (EventKind.RUN_BEGAN, EventKind.RUN_FINISHED):
                entry.by = ("began" if event.kind == EventKind.RUN_BEGAN else "finished",)
            if event.kind == EventKind.SNAPSHOT_TAKEN:
                entry.by = tuple(filter(None, (str(body.get("hash", ""))[:12], str(body.get("why", "")))))
        elif event.kind == EventKind.EPISODE_REMEMBERED:
            self._batch(event, body)
        elif event.kind in _LEAVING:
            what, reason = _LEAVING[event.kind], str(body.get("reason", ""))
            newest = self.entries[-1] if self.entries else None
            if newest is None or (newest.what, newest.subject) != (what, reason):
                newest = self._new(what, reason, event)
            self._count(newest, event)
        else:
            origin = str(body.get("origin", ""))
            if event.kind == EventKind.TERM_TAUGHT:
                self._count(self._merged("taught", origin, event), event)
            else:
                self._count(self._merged("lessons", ":".join(origin.split(":")[:2]), event), event)

    def _batch(self, event: Event, body: Any, *, since: float | None = None) -> None:
        batch = str(body.get("batch", ""))
        if since is not None and ("batch", batch) not in self.merged:
            self._born.add(batch)
        if since is not None and batch not in self._born:
            return  # written anew by a change of the whole brain
        entry = self._merged("batch", batch, event)
        if since is not None:
            entry.at = entry.until = since
        self._count(entry, event)
        entry.by = tuple(sorted({*entry.by, *filter(None, (body.get("origin", ""), body.get("verifier", "")))}))

    def _merged(self, what: What, subject: str, event: Event) -> Entry:
        if (what, subject) not in self.merged:
            self.merged[what, subject] = self._new(what, subject, event)
        return self.merged[what, subject]

    def _new(self, what: What, subject: str, event: Event) -> Entry:
        entry = Entry(what, subject, event.position, event.at, event.at)
        self.entries.append(entry)
        return entry

    def _count(self, entry: Entry, event: Event) -> None:
        entry.until = max(entry.until, event.at) if entry.what != "batch" else entry.until
        if event.kind in _COUNTED:
            entry.counts[_COUNTED[event.kind]] += 1
