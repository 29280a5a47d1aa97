"""Names as a database reads them: folded, quoted, and the real ones nearest to a wrong one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLAIN_LOWER = re.compile(r"[a-z_][a-z0-9_]*\Z")
_RESERVED_WORDS = """
    abort action add after all alter always analyse analyze and any array as asc asymmetric attach autoincrement
    before begin between both by cascade case cast check collate column commit conflict constraint create cross current
    current_date current_role current_time current_timestamp current_user cursor database default deferrable deferred
    delete desc detach distinct do drop each else end escape except exclude exclusive exists explain fail false fetch
    filter first following for foreign freeze from full generated glob grant group groups having if ignore ilike
    immediate in index indexed initially inner insert instead intersect into is isnull join key last lateral leading
    left like limit localtime localtimestamp match materialized natural no not nothing notnull null nulls of offset on
    only or order others outer over overlaps partition placing plan pragma preceding primary query raise range recursive
    references regexp reindex release rename replace restrict returning right rollback row rows savepoint select
    session_user set similar some symmetric table tablesample temp temporary then ties to trailing transaction trigger
    true unbounded union unique update user using vacuum values variadic verbose view virtual when where window with
    without"""
RESERVED = frozenset(_RESERVED_WORDS.split())
"""Words that at least one of the two databases reads as its own, so a table or column of that name needs quotes."""


def fold(name: str) -> str:
    """Lower the ASCII letters only, as both databases do for names.

    >>> fold("OrderID"), fold("Имя")
    ('orderid', 'Имя')
    """
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def quoted(name: str, dialect: str = "sqlite") -> str:
    """Write a name so that SQL takes it, in double quotes only where it must be.

    >>> quoted("Order Details"), quoted("Orders"), quoted("order"), quoted("Orders", "postgres")
    ('"Order Details"', 'Orders', '"order"', '"Orders"')
    """
    plain = _PLAIN_LOWER if dialect == "postgres" else _PLAIN
    if plain.match(name) and name.lower() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def nearest(name: str, candidates: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Find the real names most like a wrong one, best first, without regard to case, spaces and underscores.

    >>> nearest("UnitPric", ["UnitPrice", "UnitsInStock", "City"])
    ('UnitPrice', 'UnitsInStock')
    >>> nearest("order_details", ["Orders", "Order Details"])
    ('Order Details', 'Orders')
    """
    shapes: dict[str, str] = {}
    for candidate in candidates:
        shapes.setdefault(_shape(candidate), candidate)
    wanted = _shape(name)
    found = difflib.get_close_matches(wanted, shapes, n=limit, cutoff=0.6)
    if len(wanted) > 3:
        found += [shape for shape in shapes if shape not in found and (wanted in shape or shape.endswith(wanted))]
    return tuple(shapes[shape] for shape in found[:limit])


def _shape(name: str) -> str:
    return re.sub(r"[\s_\-.]+", "", name.lower())
