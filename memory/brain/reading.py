"""Reading a snapshot out of the ledger: what the brain knows now, or knew at any earlier position."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from memory.brain.snapshot import (
    TERM_ERASED,
    Record,
    Snapshot,
    SnapshotError,
    of_episode,
    of_lesson,
    of_term,
    read_file,
)
from memory.chain import Content
from memory.episode import Episode
from memory.ledger import EventKind, Ledger, Transaction, episode_from
from memory.lessons import Lesson
from memory.semantic import Term, erased_terms, term_from

LIVE = "live"
"""How the brain as it is now is called where a snapshot is asked for."""

_SHORTEST = 6
"""Fewest digits of a hash that name a snapshot."""


class Weights(Protocol):
    """The synapses of a brain, for those who must not know how they are kept."""

    def read(self, moved: Iterable[Content], *, within: Transaction | None = None) -> Iterable[Content]:
        """The bodies of the synapse records that these contents of `weights_moved` events lead to, oldest first."""
        ...

    def write(self, entry: Transaction, wanted: Iterable[Content], gone: Iterable[Content]) -> None:
        """Set synapses to these bodies and take the others away, with its event, in this transaction."""
        ...


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot that was taken: its name, where and when, and the hash it had then. `at` is seconds, UTC."""

    name: str
    position: int
    at: float
    hash: str
    parent: str
    why: str


def read(ledger: Ledger, weights: Weights, *, until: int | None = None, within: Transaction | None = None) -> Snapshot:
    """Read what the brain knows, or knew when the ledger had come to position `until`; `within` a transaction, what it
    has made of it so far.

    What was erased since is not there: its content is gone from every position. Which episodes and terms are gone is
    what is known now, whatever the position.
    """
    fold = _Fold()
    for event in ledger.events(until=until, within=within):
        fold.add(event.kind, event.subject, event.content, event.at, event.position)
    synapses = (Record("synapse", body) for body in weights.read(fold.moved, within=within))
    known = ledger.episode_states(within=within)
    gone: dict[str, str] = {id: state for id, state in known.items() if state != "active" and id not in fold.episodes}
    gone |= dict.fromkeys(erased_terms(ledger, within=within), TERM_ERASED)
    taken = [one for one in snapshots(ledger, within=within) if until is None or one.position <= until]
    parent = taken[-1].hash if taken else ""
    return Snapshot.of(ledger.database, (*fold.records(), *synapses), gone=gone, parent=parent)


def take(ledger: Ledger, weights: Weights, *, name: str = "", why: str = "") -> Taken:
    """Write down that the brain is worth coming back to as it is now. Without a name it is called by its hash.

    Raises:
        SnapshotError: another snapshot has this name, or it could be taken for a hash, a position or a file.
    """
    position = ledger.head()[0]
    now = read(ledger, weights, until=position)
    name = name or _short(now.hash)
    if name == LIVE or name.isdigit() or "/" in name or not name.strip() or name.startswith("-"):
        raise SnapshotError(f"A snapshot cannot be called {name!r}. Take a word, like before-night.")
    same = next((one for one in snapshots(ledger) if one.name == name), None)
    if same is not None:
        if same.hash == now.hash:
            return same
        raise SnapshotError(f"There is a snapshot {name} already, of other content. Take another name.")
    with ledger.transaction() as entry:
        body = {"name": name, "position": position, "hash": now.hash, "parent": now.parent, "why": why}
        entry.append(EventKind.SNAPSHOT_TAKEN, now.hash, body)
    return snapshots(ledger)[-1]


def snapshots(ledger: Ledger, *, within: Transaction | None = None) -> tuple[Taken, ...]:
    """All snapshots that were taken, oldest first. One whose name was erased has its hash for a name."""
    found = []
    for event in ledger.events(kinds=(EventKind.SNAPSHOT_TAKEN,), within=within):
        body: Any = event.content
        if body:  # older brains have the name as the subject
            name, at = body.get("name", event.subject), body.get("at", event.at)
            found.append(Taken(name, body["position"], at, body["hash"], body["parent"], body.get("why", "")))
    return tuple(sorted(found, key=lambda one: one.position))


def nameless(ledger: Ledger, entry: Transaction, positions: Collection[int]) -> None:
    """Write the snapshots at these positions of the history anew, without the names and reasons that are to be erased.

    They stay what they are and are called by their hash from now on, and by their position where that is taken.
    """
    names = {one.name for one in snapshots(ledger)}
    for event in ledger.events(kinds=(EventKind.SNAPSHOT_TAKEN,)):
        if event.position in positions and event.content:
            name = _short(str(event.content["hash"]))
            name = f"{name}-{event.position}" if name in names else name
            names.add(name)
            told = {"name": name, "why": "", "at": event.content.get("at", event.at)}
            entry.append(EventKind.SNAPSHOT_TAKEN, str(event.content["hash"]), {**event.content, **told})


def resolve(ledger: Ledger, weights: Weights, name: str) -> Snapshot:
    """Find a snapshot: `live`, one that was taken by its name or the start of its hash, a position, or a file.

    Raises:
        SnapshotError: nothing is called so, or the start of a hash fits several.
    """
    if name == LIVE:
        return read(ledger, weights)
    taken, newest = snapshots(ledger), ledger.head()[0]
    if name.isdigit() and 1 <= int(name) <= newest:
        return read(ledger, weights, until=int(name))
    fitting = [one for one in taken if one.name == name]
    if not fitting and len(name) >= _SHORTEST:
        by_hash = {one.hash: one for one in taken if one.hash.startswith(name.lower())}
        fitting = list(by_hash.values())
    if len(fitting) > 1:
        raise SnapshotError(f"{len(fitting)} snapshots have a hash that begins with {name}; give more of it.")
    if fitting:
        return read(ledger, weights, until=fitting[0].position)
    if name.isdigit():
        raise SnapshotError(f"Positions of this brain go from 1 to {newest}; {name} is none.")
    path = Path(name)
    if path.is_file():
        return read_file(path)
    raise SnapshotError(
        f"No snapshot is called {name}, and there is no such file. List them with: hebbql brain log --snapshots."
    )


def _short(hash: str) -> str:
    """The first twelve digits of a hash, and as many more as tell it from a position.

    >>> _short("5f" * 32), _short("1" * 14 + "a" * 50)
    ('5f5f5f5f5f5f', '11111111111111a')
    """
    return next((hash[:size] for size in range(12, len(hash)) if not hash[:size].isdigit()), f"h{hash}")


class _Fold:
    """What is known after some events, grown event by event."""

    def __init__(self) -> None:
        self.episodes: dict[str, tuple[Episode, int]] = {}
        self.moved: list[Content] = []
        self._terms: dict[int, Term] = {}
        self._holders: dict[str, int] = {}
        self._lessons: dict[str, Lesson] = {}
        self._schemas: dict[str, str] = {}

    def add(self, kind: EventKind, subject: str, content: Content | None, at: float, position: int) -> None:
        body: Any = content or {}
        match kind:
            case EventKind.EPISODE_REMEMBERED:
                self.episodes.pop(subject, None)
                if body:
                    self.episodes[subject] = episode_from(body), body.get("since", int(at))
            case EventKind.EPISODE_FORGOTTEN | EventKind.EPISODE_ERASED:
                self.episodes.pop(subject, None)
            case EventKind.TERM_TAUGHT if body:
                self._terms[position] = term = term_from(body)
                self._holders.update({name.casefold(): position for name in term.names})
            case EventKind.TERM_DROPPED:
                for name in body.get("names", ()):
                    self._holders.pop(name, None)
            case EventKind.LESSON_LEARNED | EventKind.LESSON_RESOLVED:
                self._lessons.pop(subject, None)
                if body:
                    self._lessons[subject] = Lesson(**body)
            case EventKind.LESSON_DROPPED:
                self._lessons.pop(subject, None)
            case EventKind.SCHEMA_SEEN:
                self._schemas[subject] = body["fingerprint"]
            case EventKind.WEIGHTS_MOVED if body:
                self.moved.append(body)
            case _:
                pass

    def records(self) -> Iterator[Record]:
        for name, fingerprint in self._schemas.items():
            yield Record("schema", {"name": name, "fingerprint": fingerprint})
        for position, term in self._terms.items():
            held = tuple(name for name in term.names if self._holders.get(name.casefold()) == position)
            if held:
                yield of_term(replace(term, names=held))
        for episode, since in self.episodes.values():
            yield of_episode(episode, since)
        for lesson in self._lessons.values():
            yield of_lesson(lesson)
