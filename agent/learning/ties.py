"""Shows whether what a query gives hangs on how ties fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_ONE_OF_EQUALS = frozenset({"ROW_NUMBER", "NTILE", "LAG", "LEAD", "FIRST_VALUE"})
"""Window functions that give rows which tie different values."""


def tie_broken(sql: str, dialect: str) -> tuple[str, ...]:
    """Write a query twice more, with ties broken one way and the other; nothing where none decides.

    They are broken at each LIMIT and in each window that numbers rows or looks at the next, by what the query shows.
    When the three give different rows, then a tie decides and the query alone does not say which rows it means.

    >>> tie_broken("SELECT a FROM t ORDER BY b LIMIT 1", "sqlite")
    ('SELECT a FROM t ORDER BY b, 1 LIMIT 1', 'SELECT a FROM t ORDER BY b, 1 DESC LIMIT 1')
    >>> tie_broken("SELECT a FROM t ORDER BY b", "sqlite")
    ()
    >>> tie_broken("SELECT a, ROW_NUMBER() OVER (ORDER BY b) FROM t", "sqlite")[1]
    'SELECT a, ROW_NUMBER() OVER (ORDER BY b, a DESC) FROM t'
    """
    from sqlglot import exp

    from agent.database.dialects import dialect as dialect_named
    from agent.database.guard import parse_query
    from agent.database.result import QueryRejected

    if not any(word in sql.lower() for word in ("limit", "fetch", "over")):
        return ()
    written = []
    for downwards in (False, True):
        try:
            tree = parse_query(sql, dialect)
        except QueryRejected:
            return ()
        changed = False
        for query in list(tree.find_all(exp.Query)):
            order = query.args.get("order")
            if order is None or query.args.get("limit") is None:
                continue
            stars = any(one.is_star for one in query.selects)
            for place in range(1, 2 if stars else len(query.selects) + 1):
                order.append("expressions", _ordered(exp.Literal.number(place), downwards, dialect))
            changed = True
        for window in list(tree.find_all(exp.Window)):
            order, select = window.args.get("order"), window.find_ancestor(exp.Select)
            if order is None or select is None or window.this.name.upper() not in _ONE_OF_EQUALS:
                continue
            for shown in (one.unalias() for one in select.selects):
                if not shown.is_star and not shown.find(exp.Window, exp.Query, exp.Literal):
                    order.append("expressions", _ordered(shown.copy(), downwards, dialect))
                    changed = True
        if not changed:
            return ()
        written.append(tree.sql(dialect_named(dialect)))
    return tuple(written)


def _ordered(by: exp.Expr, downwards: bool, dialect: str) -> exp.Ordered:
    """Sort by something, NULLs where the database has them when nothing is said."""
    from sqlglot import exp

    return exp.Ordered(
        this=by, desc=downwards or None, nulls_first=downwards if dialect == "postgres" else not downwards
    )
