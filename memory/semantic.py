"""What is known about the database: its schema, word for word, and the business terms. Never forgotten."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection, delete, insert, select

from memory.episode import plain
from memory.ledger import EventKind, Ledger, Transaction
from memory.tables import CONTENT, LEDGER, SCHEMA_VERSIONS, TERM_NAMES

_SUBJECT = "term"
"""The subject of what happens to terms. It is part of the chain and can never be erased, so it tells none of them."""

_NAMESPACE = uuid.UUID("5c1c1f0e-58f4-5f0b-9a53-6f8d3d1b7a92")


@dataclass(frozen=True, slots=True)
class Term:
    """A business word. `expression` is SQL over real columns, or None when the meaning says it all.

    `names` are the words that people use, `origin` is who taught it: `glossary:<file>` or `person`.
    """

    names: tuple[str, ...]
    meaning: str
    expression: str | None
    tables: tuple[str, ...]
    origin: str


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """The schema as it was from `seen_at` on (seconds since 1970, UTC). `is_new`: this call saw it change."""

    number: int
    fingerprint: str
    text: str
    seen_at: float
    is_new: bool


@dataclass(frozen=True, slots=True)
class Taught:
    """A term in the history: `names_held` are those of its names that no later teaching took over."""

    position: int
    at: float
    term: Term
    names_held: tuple[str, ...]


class SemanticMemory:
    """Schema versions and glossary, kept in the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def see(self, schema_name: str, text: str, fingerprint: str) -> SchemaVersion:
        """Note the schema that is there now. A fingerprint other than the newest becomes a new version."""
        if (newest := self._newest(schema_name)) and newest.fingerprint == fingerprint:
            return newest
        with self._ledger.transaction() as transaction:
            body = {"text": text, "fingerprint": fingerprint}
            position = transaction.append(EventKind.SCHEMA_SEEN, schema_name, body)
            number = newest.number + 1 if newest else 1
            transaction.connection.execute(
                insert(SCHEMA_VERSIONS).values(
                    number=number, name=schema_name, fingerprint=fingerprint, position=position
                )
            )
            self._ledger.between("schema row")
            seen_at = transaction.at
        return SchemaVersion(number, fingerprint, text, seen_at, True)

    def versions(self) -> tuple[SchemaVersion, ...]:
        """Every version of the schema that was ever seen, oldest first."""
        wanted = (
            select(SCHEMA_VERSIONS.c.number, SCHEMA_VERSIONS.c.fingerprint, LEDGER.c.at, CONTENT.c.body)
            .join(LEDGER, LEDGER.c.position == SCHEMA_VERSIONS.c.position)
            .join(CONTENT, CONTENT.c.position == SCHEMA_VERSIONS.c.position)
            .order_by(SCHEMA_VERSIONS.c.number)
        )
        with self._ledger.connection() as connection:
            return tuple(
                SchemaVersion(row.number, row.fingerprint, json.loads(row.body)["text"], row.at / 1e6, False)
                for row in connection.execute(wanted)
            )

    def teach(self, term: Term) -> bool:
        """Teach a term. It takes over those of its names that an older term holds; the older stays in the history.

        False, and no change, when the term is known word for word.
        """
        if term in self.glossary():
            return False
        with self._ledger.transaction() as transaction:
            self.write(transaction, term)
        return True

    def load(self, terms: Iterable[Term]) -> tuple[Term, ...]:
        """Teach the terms of a glossary file that were never taught from there before, and give those.

        A file never takes a name from another origin: what a person taught outranks it, at every start. Nor does it
        bring back a term that was erased.
        """
        history, erased = self.history(), erased_terms(self._ledger)
        known = {taught.term for taught in history}
        owners = {name.casefold(): taught.term.origin for taught in history for name in taught.names_held}
        fresh = []
        for term in terms:
            if term in known or not erased.isdisjoint(term_ids(term)):
                continue
            names = tuple(name for name in term.names if owners.get(name.casefold(), term.origin) == term.origin)
            if names and replace(term, names=names) not in known:
                fresh.append(replace(term, names=names))
        if fresh:
            with self._ledger.transaction() as transaction:
                for term in fresh:
                    self.write(transaction, term)
        return tuple(fresh)

    def glossary(self) -> tuple[Term, ...]:
        """The terms that hold now, oldest first, each with the names it still has."""
        return tuple(replace(taught.term, names=taught.names_held) for taught in self.history() if taught.names_held)

    def history(self) -> tuple[Taught, ...]:
        """Every teaching, oldest first."""
        with self._ledger.connection() as connection:
            held = _held(connection)
        return tuple(
            Taught(
                event.position,
                event.at,
                term,
                tuple(name for name in term.names if held.get(name.casefold()) == event.position),
            )
            for event in self._ledger.events(kinds=(EventKind.TERM_TAUGHT,))
            if event.content is not None and (term := term_from(event.content))
        )

    def write(self, transaction: Transaction, term: Term) -> None:
        """Teach a term in somebody's transaction, whatever is known. It takes over names that older terms hold."""
        position = transaction.append(EventKind.TERM_TAUGHT, _SUBJECT, asdict(term))
        names = sorted({name.casefold() for name in term.names})
        transaction.connection.execute(delete(TERM_NAMES).where(TERM_NAMES.c.name.in_(names)))
        self._ledger.between("term names taken")
        transaction.connection.execute(insert(TERM_NAMES), [{"name": name, "position": position} for name in names])
        self._ledger.between("term names")

    def drop(self, transaction: Transaction, term: Term, reason: str) -> None:
        """Let a term hold its names no longer, in somebody's transaction. What it was stays in the history."""
        names = sorted({name.casefold() for name in term.names})
        transaction.append(EventKind.TERM_DROPPED, _SUBJECT, {"names": names, "reason": reason})
        transaction.connection.execute(delete(TERM_NAMES).where(TERM_NAMES.c.name.in_(names)))
        self._ledger.between("term names dropped")

    def _newest(self, schema_name: str) -> SchemaVersion | None:
        wanted = (
            select(SCHEMA_VERSIONS.c.number, SCHEMA_VERSIONS.c.fingerprint, LEDGER.c.at, CONTENT.c.body)
            .join(LEDGER, LEDGER.c.position == SCHEMA_VERSIONS.c.position)
            .join(CONTENT, CONTENT.c.position == SCHEMA_VERSIONS.c.position)
            .order_by(SCHEMA_VERSIONS.c.number.desc())
            .limit(1)
        )
        with self._ledger.connection() as connection:
            row = connection.execute(wanted).first()
        if row is None:
            return None
        return SchemaVersion(row.number, row.fingerprint, json.loads(row.body)["text"], row.at / 1e6, False)


def _held(connection: Connection) -> dict[str, int]:
    return {row.name: row.position for row in connection.execute(select(TERM_NAMES))}


def term_ids(term: Term) -> tuple[str, ...]:
    """The lasting identity of a term, one id for each of its names, in their order: the name with what it stands for.

    Case and space do not count, nor who taught it. An id stays in the history when the term is erased.

    >>> once = Term(("net  price",), "What is paid.", None, (), "person")
    >>> term_ids(once) == term_ids(Term(("Net price",), "what is paid.", None, ("Orders",), "glossary:a.toml"))
    True
    """
    told = (term.meaning, term.expression or "")
    return tuple(str(uuid.uuid5(_NAMESPACE, "\x1f".join(map(_plain, (name, *told))))) for name in term.names)


def erased_terms(ledger: Ledger, *, until: int | None = None, within: Transaction | None = None) -> frozenset[str]:
    """The ids of terms that were erased, and that nobody taught anew since; `until` a position of the ledger."""
    erased: set[str] = set()
    kinds = (EventKind.TERM_TAUGHT, EventKind.CONTENT_ERASED)
    for event in ledger.events(kinds=kinds, until=until, within=within):
        if event.content is None:
            continue
        if event.kind == EventKind.TERM_TAUGHT:
            erased.difference_update(term_ids(term_from(event.content)))
        else:
            ids: object = event.content.get("terms", ())
            erased.update(map(str, ids if isinstance(ids, list) else ()))
    return frozenset(erased)


def _plain(text: str) -> str:
    return plain(" ".join(text.casefold().split()))


def term_from(content: object) -> Term:
    """The term that the content of a `term_taught` event holds."""
    body = dict(content)  # type: ignore[call-overload]
    return Term(tuple(body["names"]), body["meaning"], body["expression"], tuple(body["tables"]), body["origin"])
