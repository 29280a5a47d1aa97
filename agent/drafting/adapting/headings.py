"""The names of results: one that tells what the query showed before, and shows no more, is written anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from sqlglot import exp

from agent.drafting.adapting.calls import aggregates
from agent.drafting.adapting.work import Work

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_UNIT = re.compile(r"(day|date|week|month|quarter|half|year) became (day|date|week|month|quarter|half|year)")
_STANDS_FOR = {"count": "Count", "sum": "Total", "avg": "Average", "min": "Lowest", "max": "Highest"}


def fit_headings(work: Work, whole: exp.Expr) -> None:
    """Rename what a query calls after columns or literals that are gone: `Orders1996` of what is 1998 now.

    A name that tells nothing of them stays, as a person gave it. All that refers to a renamed one follows.
    """
    assert work.known.loose is not None, "it was read to be adapted"
    before = {one.alias: _told(one.unalias()) for one in _named(work.known.loose.tree)}
    units = {match[1]: match[2] for note in work.notes if (match := _UNIT.fullmatch(note)) is not None}
    stale: list[tuple[exp.Alias, str]] = []
    for one in _named(whole):
        now = _told(one.unalias())
        gone = (before.get(one.alias, _words(one.alias)) - now) & _words(one.alias)
        unit = units.get(one.alias.casefold(), "")
        fresh = unit.capitalize() if unit else _name_for(one, gone, now) if gone else ""
        if fresh:
            stale.append((one, fresh))
    shown = [one for scope in whole.find_all(exp.Select) for one in scope.expressions]
    taken = {one.alias_or_name.casefold() for one in shown if all(one is not other for other, _ in stale)}
    for one, fresh in stale:
        name = next(name for name in _others(fresh, one.unalias()) if name.casefold() not in taken)
        taken.add(name.casefold())
        _rename(whole, one, name)


def _named(tree: exp.Expr) -> Iterator[exp.Alias]:
    """The aliases of what is shown, of all SELECTs."""
    for scope in tree.find_all(exp.Select):
        yield from (one for one in scope.expressions if isinstance(one, exp.Alias))


def _told(shown: exp.Expr) -> frozenset[str]:
    """The words of the columns, the literals and the figures of what is shown."""
    figures = (one.name.casefold() for one in aggregates(shown))
    names = [*_columns(shown), *(one.name for one in shown.find_all(exp.Literal)), *figures]
    names += [_STANDS_FOR[one] for one in names if one in _STANDS_FOR]
    return frozenset(word for name in names for word in _words(name))


def _columns(shown: exp.Expr) -> list[str]:
    return [column.name for column in shown.find_all(exp.Column)]


def _words(name: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(name))


def _name_for(one: exp.Alias, gone: frozenset[str], now: frozenset[str]) -> str:
    """What to call it: its name with another number, its column's name, or its figure; "" where none is at hand."""
    shown = one.unalias()
    numbers = {word for word in gone if word.isdigit()}
    others = {word for word in now if word.isdigit() and len(word) == max(map(len, numbers), default=0)}
    if numbers == gone and len(numbers) == len(others) == 1:
        return one.alias.replace(numbers.pop(), others.pop())
    if isinstance(shown, exp.Column):
        return shown.name
    figures = [one.name.casefold() for one in aggregates(shown)]
    figure = _STANDS_FOR.get(figures[0], "") if len(figures) == 1 else ""
    names = set(_columns(shown)) if shown.find(exp.Case) is None else set()
    return figure + (names.pop() if figure not in ("", "Count") and len(names) == 1 else "")


def _others(name: str, shown: exp.Expr) -> Iterator[str]:
    """The name, and what to take where something else is called so: with its table before it, or with a number."""
    yield name
    if isinstance(shown, exp.Column) and shown.table:
        yield "".join(re.findall(r"\w+", shown.table)) + name
    yield from (f"{name}{number}" for number in count(2))


def _rename(whole: exp.Expr, one: exp.Alias, fresh: str) -> None:
    """Give a result another name, also where it is referred to: in its own SELECT and in those around it."""
    name, own, shown = one.alias, one.find_ancestor(exp.Select), one.unalias()
    if isinstance(shown, exp.Column) and shown.name == fresh:
        one.replace(shown)
    else:
        one.set("alias", exp.to_identifier(fresh, quoted=True))
    around = own
    while around is not None:
        for column in around.find_all(exp.Column):
            called = {source.alias for source in around.find_all(exp.Subquery, exp.CTE)} | {""}
            if column.name == name and column.table in called:
                column.set("this", exp.to_identifier(fresh, quoted=True))
        around = around.find_ancestor(exp.Select)
