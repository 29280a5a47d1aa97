"""SQL in one writing, and its shape without names and literals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_AGGREGATES_WORDS = """
    count sum avg min max total group_concat string_agg array_agg stddev stddev_pop stddev_samp variance var_pop
    var_samp percentile_cont percentile_disc mode corr bool_and bool_or every json_group_array json_agg
    jsonb_agg"""
_AGGREGATES = frozenset(_AGGREGATES_WORDS.split())
_DATES_WORDS = """
    strftime date datetime time julianday unixepoch extract date_part date_trunc to_char age make_date
    to_date"""
_DATES = frozenset(_DATES_WORDS.split())
_COMPARISONS = {
    "eq": "=", "neq": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "like": "LIKE", "ilike": "LIKE",
    "glob": "LIKE", "regexplike": "LIKE", "regexpilike": "LIKE", "similarto": "LIKE", "nullsafeeq": "IS",
    "nullsafeneq": "IS NOT", "is": "IS",
}  # fmt: skip


def normalise(sql: str, dialect: str) -> str:
    """Write one statement in one spelling: literals kept, comments gone. Writing it again changes nothing.

    Raises:
        QueryRejected: it cannot be read as one statement.
    """
    from agent.database.dialects import dialect as read_dialect
    from agent.database.guard import parse_query, too_deep

    tree = parse_query(sql, dialect)
    try:
        return tree.sql(read_dialect(dialect), comments=False)
    except RecursionError:
        raise too_deep() from None


def skeleton(sql: str, dialect: str) -> str:
    """Give the coarse shape of a query, without names and literals.

    `_` is a column or an expression over columns, `?` a literal, `DATE(_)` a part of a date; aggregates keep their
    name. What comes twice in a SELECT, WHERE, GROUP BY or HAVING is written once, conditions in order of the alphabet
    and without AND; joins keep their number and side, not their condition; subqueries and CTEs are shapes inside.

    >>> skeleton("SELECT Country, COUNT(*) AS n FROM Customers GROUP BY Country ORDER BY n DESC LIMIT 3", "sqlite")
    'SELECT _, COUNT FROM _ GROUP BY _ ORDER BY COUNT DESC LIMIT ?'

    Raises:
        QueryRejected: it cannot be read as one statement.
    """
    from agent.database.guard import parse_query, too_deep

    tree = parse_query(sql, dialect)
    try:
        return _query(tree)
    except RecursionError:
        raise too_deep() from None


def _query(node: exp.Expr) -> str:
    from sqlglot import exp

    parts = []
    clause = node.args.get("with_")
    if clause is not None:
        word = "WITH RECURSIVE" if clause.args.get("recursive") else "WITH"
        parts.append(f"{word} " + ", ".join(f"({_query(cte.this)})" for cte in clause.expressions))
    if isinstance(node, exp.SetOperation):
        word = node.key.upper() + ("" if node.args.get("distinct", True) else " ALL")
        parts.append(f"{_query(node.this)} {word} {_query(node.expression)}")
        parts += _tail(node, {})
    elif isinstance(node, exp.Subquery):
        inner, tail = _query(node.this), _tail(node, {})
        parts += [f"({inner})", *tail] if tail else [inner]
    elif isinstance(node, exp.Select):
        parts += _select(node)
    else:
        parts.append(node.key.upper())
    return " ".join(parts)


def _select(node: exp.Select) -> list[str]:
    from sqlglot import exp

    aliases = {p.alias.lower(): p.this for p in node.expressions if isinstance(p, exp.Alias)}
    distinct = "DISTINCT " if node.args.get("distinct") else ""
    parts = [f"SELECT {distinct}" + ", ".join(_once([_term(p.unalias()) for p in node.expressions]))]
    clause = node.args.get("from_")
    if clause is not None:
        parts.append(f"FROM {_source(clause.this)}")
        parts += [_join(join) for join in clause.this.args.get("joins") or ()]
    parts += [_join(join) for join in node.args.get("joins") or ()]
    where = node.args.get("where")
    if where is not None:
        parts.append("WHERE " + ", ".join(sorted(set(_conditions(where.this, aliases)))))
    if (group := node.args.get("group")) is not None:
        parts.append(
            "GROUP BY "
            + (", ".join(_once([_term(_key(e, aliases, node.expressions)) for e in group.expressions])) or "_")
        )
    if (having := node.args.get("having")) is not None:
        parts.append("HAVING " + ", ".join(sorted(set(_conditions(having.this, aliases)))))
    return parts + _tail(node, aliases, node.expressions)


def _tail(node: exp.Expr, aliases: dict[str, exp.Expr], projections: list[exp.Expr] | None = None) -> list[str]:
    parts = []
    if (order := node.args.get("order")) is not None:
        keys = []
        for ordered in order.expressions:
            keys.append(
                _term(_key(ordered.this, aliases, projections or [])) + (" DESC" if ordered.args.get("desc") else "")
            )
        parts.append("ORDER BY " + ", ".join(_once(keys)))
    if node.args.get("limit") is not None:
        parts.append("LIMIT ?")
    if node.args.get("offset") is not None:
        parts.append("OFFSET ?")
    return parts


def _join(join: exp.Expr) -> str:
    side = join.args.get("side") or ("CROSS" if join.args.get("kind") == "CROSS" else "")
    parts = [f"{side} JOIN {_source(join.this)}".strip()]
    parts += [_join(inner) for inner in join.this.args.get("joins") or ()]
    return " ".join(parts)


def _source(node: exp.Expr) -> str:
    from sqlglot import exp

    if isinstance(node, exp.Subquery | exp.Lateral) and isinstance(node.this, exp.Query) and node.this.key != "table":
        return f"({_query(node.this)})"
    return "_"


def _conditions(node: exp.Expr, aliases: dict[str, exp.Expr]) -> list[str]:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.And):
        return _conditions(node.this, aliases) + _conditions(node.expression, aliases)
    if isinstance(node, exp.Or):
        sides = sorted(set(_conditions(node.this, aliases) + _conditions(node.expression, aliases)))
        return [sides[0] if len(sides) == 1 else f"({' OR '.join(sides)})"]
    if isinstance(node, exp.Not):
        return [f"NOT {inner}" for inner in _conditions(node.this, aliases)]
    if isinstance(node, exp.Between):
        return [f"{_term(_real(node.this, aliases))} BETWEEN ?"]
    if isinstance(node, exp.In):
        query = node.args.get("query")
        return [f"{_term(node.this)} IN " + (f"({_query(query)})" if query is not None else "?")]
    if isinstance(node, exp.Exists):
        return [f"EXISTS ({_query(node.this)})"]
    if isinstance(node, exp.Escape):
        return _conditions(node.this, aliases)
    if node.key in _COMPARISONS:
        left, right = _term(_real(node.this, aliases)), _term(_real(node.args["expression"], aliases))
        return [f"{left} {_COMPARISONS[node.key]} {right}"]
    return [_term(node)]


def _term(node: exp.Expr) -> str:
    """Name the kind of a value: the strongest thing in it."""
    from sqlglot import exp

    node = node.unnest()
    while isinstance(node, exp.Cast | exp.Collate | exp.Neg):
        node = node.this.unnest()
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Literal | exp.Boolean | exp.Interval):
        return "?"
    if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
        return f"({_query(node)})"
    if isinstance(node, exp.Window):
        return f"{_called(_function(node.this)) or 'AGG'} OVER"
    if isinstance(node, exp.Case):
        return "CASE"
    inside = [n for n in node.walk(bfs=False) if not isinstance(n, exp.Identifier)]
    if any(isinstance(n, exp.Window) for n in inside):
        return "_ OVER"
    if queries := [n for n in inside if isinstance(n, exp.Select)]:
        return f"_ OP ({_query(queries[0])})"
    aggregates = _once([name for n in inside if (name := _called(n)).lower() in _AGGREGATES])
    if aggregates:
        ratio = isinstance(node, exp.Div) or any(isinstance(n, exp.Div) and _has_aggregate(n) for n in inside)
        return " / ".join([*aggregates, "_"][: 2 if ratio else 1]) if ratio else aggregates[0]
    if any(_called(n).lower() in _DATES for n in inside):
        return "DATE(_)"
    if not any(isinstance(n, exp.Column | exp.Star) for n in inside):
        return "?"
    return "_"


def _has_aggregate(node: exp.Expr) -> bool:
    return any(_called(n).lower() in _AGGREGATES for n in node.walk())


def _function(node: exp.Expr) -> exp.Expr:
    while node.key in ("filter", "withingroup", "ignorenulls"):
        node = node.this
    return node


def _called(node: exp.Expr) -> str:
    if node.key == "anonymous":
        return str(node.this).upper()
    return {"groupconcat": "GROUP_CONCAT", "extract": "EXTRACT"}.get(node.key, "")


def _real(node: exp.Expr, aliases: dict[str, exp.Expr]) -> exp.Expr:
    from sqlglot import exp

    if isinstance(node, exp.Column) and not node.table:
        return aliases.get(node.name.lower(), node)
    return node


def _key(node: exp.Expr, aliases: dict[str, exp.Expr], projections: list[exp.Expr]) -> exp.Expr:
    """Give what a key of GROUP BY or ORDER BY means: an alias and a position stand for what is selected."""
    from sqlglot import exp

    node = _real(node, aliases)
    if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(projections):
        return projections[int(node.name) - 1].unalias()
    return node


def _once(parts: list[str]) -> list[str]:
    return list(dict.fromkeys(parts))
