"""A query as a plan: what it is made of, said in comment lines before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_LONGEST = 160


def planned(sql: str, dialect: str) -> str:
    """Write a query with its plan before it: where the rows come from, which are kept, what is shown of them.

    The plan is SQL comments, so that the whole is still one statement. SQL that cannot be read comes back as it is.

    >>> print(planned("SELECT City, COUNT(*) FROM Customers WHERE Country = 'France' GROUP BY City", "sqlite"))
    -- from: Customers
    -- keep: Country = 'France'
    -- per: City
    -- show: City, COUNT(*)
    SELECT City, COUNT(*) FROM Customers WHERE Country = 'France' GROUP BY City
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    from agent.database import dialects

    rendering = dialects.dialect(dialect)
    try:
        tree = parse_one(sql, dialect=rendering)
    except (SqlglotError, RecursionError):
        return sql

    def written(parts: list[exp.Expr]) -> str:
        return ", ".join(part.sql(rendering) for part in parts)

    select = tree.find(exp.Select)
    if select is None:
        return sql
    named = {cte.alias for cte in tree.find_all(exp.CTE)}
    tables = dict.fromkeys(table.this.sql(rendering) for table in tree.find_all(exp.Table) if table.name not in named)
    kept = _conditions(select)
    group, order, limit = select.args.get("group"), select.args.get("order"), select.args.get("limit")
    lines = (
        ("from", ", ".join(tables)),
        ("keep", written(kept)),
        ("per", written(group.expressions) if group else ""),
        ("show", ", ".join(one.alias or one.sql(rendering) for one in select.selects)),
        ("sort", written(order.expressions) if order else ""),
        ("rows", limit.expression.sql(rendering) if limit and limit.expression else ""),
    )
    told = (f"-- {name}: {' '.join(text.split())[:_LONGEST]}" for name, text in lines if text)
    return "\n".join((*told, sql))


def _conditions(select: exp.Select) -> list[exp.Expr]:
    """What rows must fulfil, then what groups must."""
    from sqlglot import exp

    conditions: list[exp.Expr] = []
    if where := select.args.get("where"):
        conditions += where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    if having := select.args.get("having"):
        conditions.append(having.this)
    return conditions
