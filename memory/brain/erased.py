"""What a snapshot lacks of what it held when it was taken, because it was erased since."""

from __future__ import annotations

from memory.brain.reading import snapshots
from memory.ledger import EventKind, Ledger
from memory.semantic import erased_terms

_STATES = (EventKind.EPISODE_REMEMBERED, EventKind.EPISODE_FORGOTTEN, EventKind.EPISODE_ERASED)


def erased_since(ledger: Ledger, name: str) -> tuple[str, ...]:
    """The ids of the episodes that were known at a snapshot and that have been erased since, and of the terms that
    were erased since; of a file, none.

    `name` is that of a snapshot that was taken, the start of its hash, or a position.
    """
    is_position = name.isdigit() and int(name) <= ledger.head()[0]
    position = int(name) if is_position else _position(ledger, name)
    known: set[str] = set()
    for event in ledger.events(kinds=_STATES, until=position):
        (known.add if event.kind == EventKind.EPISODE_REMEMBERED else known.discard)(event.subject)
    gone = {event.subject for event in ledger.events(kinds=(EventKind.EPISODE_ERASED,), after=position)}
    terms = erased_terms(ledger) - erased_terms(ledger, until=position) if position else frozenset()
    return tuple(sorted((known & gone) | terms))


def _position(ledger: Ledger, name: str) -> int:
    """Where a snapshot was taken; 0, where nothing was known, for what was taken nowhere here."""
    taken = snapshots(ledger)
    fitting = [one for one in taken if one.name == name] or [one for one in taken if one.hash.startswith(name.lower())]
    return fitting[0].position if fitting else 0
