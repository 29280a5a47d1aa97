"""Phrases of the language that are no plain calls: FETCH, CONVERT, DISTINCT ON, COUNT(DISTINCT a, b)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from agent.database.dialects import dialect as guarded
from agent.drafting.translating.reading import is_given
from agent.drafting.translating.templates import filled_in, whole_number


def fetched(node: exp.Expr, dialect: str) -> exp.Expr | None:
    options = node.args.get("limit_options")
    if options is not None and (is_given(options, "with_ties") or is_given(options, "percent")):
        return None
    count = node.args.get("count")
    return exp.Limit(expression=count.copy() if count is not None else exp.Literal.number(1))


def divided(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """A cast to DECIMAL beside a division asks for a fraction; SQLite keeps whole numbers whole."""
    changed = False
    for side in (node.this, node.expression):
        inner = side.unnest()
        if isinstance(inner, exp.Cast) and inner.to.this == exp.DType.DECIMAL:
            inner.set("to", exp.DataType.build("REAL", dialect="sqlite"))
            changed = True
    return node if changed else None


def mysql_cast(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """Types that only MySQL names."""
    written = node.args["to"].sql(guarded(dialect)).upper()
    whole = written.removesuffix(" INTEGER") in ("SIGNED", "UNSIGNED", "UBIGINT")
    plain = "INTEGER" if whole else {"NUMBER": "DECIMAL", "DATETIME2": "TIMESTAMP"}.get(written)
    if plain is None:
        return None
    node.set("to", exp.DataType.build(plain, dialect=dialect))
    return node


def converted(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """CONVERT(type, value) of SQL Server; of its styles, those that begin with the ISO date."""
    to, value, style = node.this, node.expression, node.args.get("style")
    number = whole_number(style) if style is not None else None
    if style is None:
        return exp.Cast(this=value.copy(), to=to.copy())
    if number not in (20, 23, 120, 121, 126):
        return None
    width = next((whole_number(one.this) for one in to.expressions), None) if isinstance(to, exp.DataType) else None
    form = "%Y-%m-%d" if number == 23 else "%Y-%m-%d %H:%M:%S"
    made = filled_in(f"STRFTIME('{form}', _0)", "sqlite", value) if dialect == "sqlite" else None
    if made is None:
        char = "YYYY-MM-DD" if number == 23 else "YYYY-MM-DD HH24:MI:SS"
        made = filled_in(f"TO_CHAR(CAST(_0 AS TIMESTAMP), '{char}')", dialect, value)
    return filled_in(f"SUBSTR(_0, 1, {width})", dialect, made) if width else made


def distinct_on(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """DISTINCT ON: the first row of each group, by a number that a window gives it."""
    distinct = node.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    if on is None or node.is_star or node.args.get("with_") is not None:
        return None
    order = node.args.get("order")
    inner = node.copy()
    for name in ("distinct", "order", "limit", "offset"):
        inner.set(name, None)
    names: list[str] = []
    projections: list[exp.Expr] = []
    for number, projection in enumerate(inner.expressions):
        name = projection.alias_or_name
        if not name or name in names:
            name = f"{name or 'value'}_{number}"
        names.append(name)
        projections.append(exp.alias_(projection.unalias(), name, quoted=not name.isidentifier()))
    keys = list(on.expressions) if isinstance(on, exp.Tuple) else [on]
    given = {one.alias: one.this for one in node.expressions if isinstance(one, exp.Alias)}
    window = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER"), partition_by=[_unaliased(key, given) for key in keys], order=None
    )
    outer_order: list[exp.Expr] = []
    if order is not None:
        steps = [step.copy() for step in order.expressions]
        for step in steps:
            step.set("this", _unaliased(step.this, given))
        window.set("order", exp.Order(expressions=steps))
        for number, step in enumerate(steps):
            projections.append(exp.alias_(step.this.copy(), f"sort_{number}"))
            again = step.copy()
            again.set("this", exp.column(f"sort_{number}"))
            outer_order.append(again)
    else:
        window.set("order", exp.Order(expressions=[exp.Ordered(this=_unaliased(key, given)) for key in keys]))
    projections.append(exp.alias_(window, "place"))
    inner.set("expressions", projections)
    outer = exp.select(*(exp.column(name, quoted=not name.isidentifier()) for name in names))
    outer = outer.from_(exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("firsts"))))
    outer = outer.where(exp.EQ(this=exp.column("place"), expression=exp.Literal.number(1)))
    if outer_order:
        outer.set("order", exp.Order(expressions=outer_order))
    for name in ("limit", "offset"):
        if node.args.get(name) is not None:
            outer.set(name, node.args[name].copy())
    return outer


def _unaliased(node: exp.Expr, given: Mapping[str, exp.Expr]) -> exp.Expr:
    if isinstance(node, exp.Column) and node.args.get("table") is None and node.name in given:
        return given[node.name].copy()
    return node.copy()


def distinct_pairs(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """COUNT(DISTINCT a, b): pairs, those with a NULL not counted."""
    given = node.expressions
    if len(given) != 1 or not isinstance(given[0], exp.Distinct) or not 2 <= len(given[0].expressions) <= 8:
        return None
    values = given[0].expressions
    holes = [f"_{number}" for number in range(len(values))]
    if dialect == "sqlite":
        text = " || CHAR(31) || ".join(f"CAST({hole} AS TEXT)" for hole in holes)
    else:
        filled = " AND ".join(f"NOT {hole} IS NULL" for hole in holes)
        text = f"CASE WHEN {filled} THEN ({', '.join(holes)}) END"
    return exp.Anonymous(this="COUNT", expressions=[exp.Distinct(expressions=[filled_in(text, dialect, *values)])])
