"""Shows whether what a query gives hangs on how ties fall."""

from __future__ import annotations


def tie_broken(sql: str, dialect: str) -> tuple[str, ...]:
    """Write a query twice more, with ties at each LIMIT broken one way and the other; nothing where it has none.

    When the three give different rows, then a tie stands at a limit and the query alone does not say which rows it
    means.

    >>> tie_broken("SELECT a FROM t ORDER BY b LIMIT 1", "sqlite")
    ('SELECT a FROM t ORDER BY b, 1 LIMIT 1', 'SELECT a FROM t ORDER BY b, 1 DESC LIMIT 1')
    >>> tie_broken("SELECT a FROM t ORDER BY b", "sqlite")
    ()
    """
    from sqlglot import exp

    from agent.database.dialects import dialect as dialect_named
    from agent.database.guard import parse_query
    from agent.database.result import QueryRejected

    if "limit" not in sql.lower() and "fetch" not in sql.lower():
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
            nulls_first = downwards if dialect == "postgres" else not downwards  # as each has it when nothing is said
            for place in range(1, 2 if stars else len(query.selects) + 1):
                number = exp.Literal.number(place)
                order.append("expressions", exp.Ordered(this=number, desc=downwards or None, nulls_first=nulls_first))
            changed = True
        if not changed:
            return ()
        written.append(tree.sql(dialect_named(dialect)))
    return tuple(written)
