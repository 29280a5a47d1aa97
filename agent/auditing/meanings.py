"""Whether two teachings of a term mean the same, as far as their expressions say on the data as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.database.comparing import cell_key
from agent.database.naming import quoted
from agent.database.result import QueryFailed, QueryRejected
from memory.audit.contradicting import SAME, Compared
from memory.audit.identity import same_words
from memory.ledger import EventKind
from memory.semantic import Taught, Term

if TYPE_CHECKING:
    from agent.app import App


def standing(app: App) -> Iterator[Taught]:
    """Every teaching, with those of its names that were not dropped since."""
    dropped: dict[str, int] = {}
    for event in app.ledger.events(kinds=(EventKind.TERM_DROPPED,)):
        names: object = (event.content or {}).get("names", ())
        dropped.update({str(name).casefold(): event.position for name in (names if isinstance(names, list) else ())})
    for taught in app.semantic.history():
        names = tuple(name for name in taught.term.names if dropped.get(name.casefold(), 0) < taught.position)
        if names:
            yield replace(taught, term=replace(taught.term, names=names))


@dataclass
class Meanings:
    """Compares terms of one opened app."""

    app: App

    def compared(self, one: Term, other: Term) -> Compared:
        if one.expression and other.expression:
            if _plain(one.expression) == _plain(other.expression):
                return SAME
            return self._on_the_data(one.expression, other.expression, sorted({*one.tables, *other.tables}))
        if one.expression or other.expression:
            return Compared("unclear", "one note has an expression and the other only words")
        if same_words(one.meaning) == same_words(other.meaning):
            return SAME
        return Compared("unclear", "both notes have words only, and they are not the same; --semantic asks about them")

    def _on_the_data(self, one: str, other: str, tables: Iterable[str]) -> Compared:
        told = f"{one} against {other}"
        names = list(tables)
        if len(names) != 1:
            return Compared("unclear", f"{told}: over {len(names)} tables they cannot be compared row by row")
        source = quoted(names[0], self.app.schema.dialect)
        unequal = f"WHERE ({one}) IS NULL OR ({other}) IS NULL OR NOT (({one}) = ({other}))"
        for where in (unequal, ""):
            try:
                found = self.app.checked_run(f"SELECT {one} AS a, {other} AS b FROM {source} {where}")
            except (QueryRejected, QueryFailed) as problem:
                failed = str(problem)
                continue
            differ = [row for row in found.rows if cell_key(row[0]) != cell_key(row[1])]
            if differ:
                return Compared("differs", f"{told}: {differ[0][0]!r} against {differ[0][1]!r} in one row")
            if found.truncated:
                return Compared("unclear", f"{told}: too many rows to compare all")
            return SAME
        return Compared("unclear", f"{told}: they cannot run, so they cannot be compared ({failed})")


def _plain(expression: str) -> str:
    """An expression without what two writings of it differ in. What stands in quotes stays as it is.

    >>> _plain("Boats.Metres * 2") == _plain('"boats".metres*2'), _plain("a = 'UR K'") == _plain("a = 'Urk'")
    (True, False)
    """
    parts = re.split(r"('(?:[^']|'')*')", expression)
    for place in range(0, len(parts), 2):
        bare = re.sub(r'"(\w+)"', r"\1", parts[place]).lower()
        parts[place] = re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(bare.split()))
    return "".join(parts)
