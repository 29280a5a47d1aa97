"""Which tables and columns a query uses anywhere in it, also by a star, a join that names none, or a view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent.database.naming import fold
from agent.database.result import QueryRejected
from agent.database.schema import Schema, Table

if TYPE_CHECKING:
    from sqlglot import exp

_DEEPEST = 8
"""Views inside views that are followed."""


def used(sql: str, schema: Schema) -> frozenset[tuple[str, str]] | None:
    """The tables and columns of the schema that a query uses, in small letters; None where it cannot be read.

    Each table stands with each of its columns that is used, and once with `""`. Rather too many are given than too
    few: a column that several tables in reach have, and that is not said of which, counts for all of them.

    >>> from agent.database.schema import Column
    >>> boats = Table("Boats", (Column("Name", "TEXT"), Column("Metres", "REAL")))
    >>> schema = Schema("harbour", "sqlite", (boats,), "", "")
    >>> sorted(used("SELECT b.Name FROM Boats AS b", schema)), used("hello there", schema)
    ([('boats', ''), ('boats', 'name')], None)
    >>> ("boats", "metres") in used("SELECT * FROM Boats", schema)
    True
    """
    from sqlglot.errors import SqlglotError

    try:
        return frozenset(_of_sql(sql, schema, {fold(table.name): table for table in schema.tables}, 0))
    except (QueryRejected, SqlglotError, RecursionError, ValueError, KeyError, AttributeError):
        return None


def _of_sql(sql: str, schema: Schema, tables: Mapping[str, Table], depth: int) -> Iterator[tuple[str, str]]:
    from agent.database.guard import parse_query

    tree = parse_query(sql, schema.dialect)
    found = set(_of_tree(tree, tables))
    yield from found
    views = {name for name, _ in found if tables[name].is_view}
    for name in views if depth < _DEEPEST else ():
        yield from _of_view(tables[name], schema, tables, depth + 1)


def _of_view(view: Table, schema: Schema, tables: Mapping[str, Table], depth: int) -> Iterator[tuple[str, str]]:
    import sqlglot

    from agent.database.dialects import dialect

    made: Any = sqlglot.parse_one(view.ddl, read=dialect(schema.dialect))
    if made is not None and made.expression is not None:
        yield from _of_sql(made.expression.sql(dialect(schema.dialect)), schema, tables, depth)


def _of_tree(tree: exp.Expr, tables: Mapping[str, Table]) -> Iterator[tuple[str, str]]:
    from sqlglot import exp

    sources: dict[str, list[Table]] = {}
    for node in tree.find_all(exp.Table):
        table = tables.get(fold(node.name))
        if table is None:
            continue
        if not _is_hidden(node):
            yield fold(table.name), ""
            sources.setdefault(fold(node.alias or node.name), []).append(table)
    everything = [table for known in sources.values() for table in known]
    for column in tree.find_all(exp.Column):
        qualified = sources.get(fold(column.table)) if column.table else None
        if column.table and qualified is None:
            continue  # of a subquery or a CTE, whose own columns are seen where it stands
        reach = everything if qualified is None else qualified
        if isinstance(column.this, exp.Star):
            yield from _all(reach)
        else:
            yield from _named(column.name, reach)
            yield from _all(sources.get(fold(column.name), []) if not column.table else [])
    for star in tree.find_all(exp.Star):
        if isinstance(star.parent, exp.Select):
            yield from _all(_beside(star, tables))
    for join in tree.find_all(exp.Join):
        for name in join.args.get("using") or ():
            yield from _named(name.name, everything)
        if str(join.args.get("method") or "").upper() == "NATURAL":
            yield from _all(everything)


def _beside(star: exp.Expr, tables: Mapping[str, Table]) -> list[Table]:
    """The tables of the SELECT that a star stands in. Of a subquery or a CTE it shows what that selects."""
    from sqlglot import exp

    select = star.find_ancestor(exp.Select)
    parts = [select.args.get("from_"), *(select.args.get("joins") or ())] if select is not None else []
    named = [part.this for part in parts if part is not None and isinstance(part.this, exp.Table)]
    return [tables[fold(node.name)] for node in named if fold(node.name) in tables and not _is_hidden(node)]


def _is_hidden(node: exp.Expr) -> bool:
    """Whether a CTE of a query around it has the name of a table. Inside of a CTE it may still be the table."""
    from sqlglot import exp

    if node.find_ancestor(exp.CTE):
        return False
    around, names = node.parent, set[str]()
    while around is not None:
        made = around.args.get("with_")
        names.update(fold(cte.alias) for cte in (made.expressions if made is not None else ()))
        around = around.parent
    return fold(node.name) in names


def _named(name: str, tables: list[Table]) -> Iterator[tuple[str, str]]:
    wanted = fold(name)
    for table in tables:
        if any(fold(column.name) == wanted for column in table.columns):
            yield fold(table.name), wanted


def _all(tables: list[Table]) -> Iterator[tuple[str, str]]:
    for table in tables:
        for column in table.columns:
            yield fold(table.name), fold(column.name)
