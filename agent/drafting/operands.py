"""What the parts of a query stand for: the column behind a name, the part of a date, the literal that is compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from sqlglot import exp

from agent.database.naming import fold
from agent.database.schema import Schema
from agent.drafting.literals import Column
from agent.drafting.times import Operator, Part, Unit

_DEEPEST = 20
_STRFTIME: dict[str, Part] = {"%Y": "year", "%m": "month", "%Y-%m": "year_month", "%Y-%m-%d": "day"}
_TO_CHAR: dict[str, Part] = {
    "YYYY": "year",
    "MM": "month",
    "YYYY-MM": "year_month",
    "YYYY-MM-DD": "day",
    "Q": "quarter",
}
_UNITS: dict[str, Part] = {"year": "year", "month": "month", "quarter": "quarter"}
_TRUNCATED: dict[str, Part] = {
    "year": "trunc_year", "quarter": "trunc_quarter", "month": "trunc_month", "day": "day",
    "start of year": "trunc_year", "start of month": "trunc_month", "start of day": "day",
}  # fmt: skip
_CUT: dict[tuple[str, str], Part] = {
    ("1", "4"): "year", ("1", "7"): "year_month", ("1", "10"): "day", ("6", "2"): "month",
}  # fmt: skip
_PATTERNS = frozenset({"like", "ilike", "glob", "similarto", "regexplike", "regexpilike"})
AGGREGATES = frozenset({"count", "sum", "total", "avg", "min", "max", "group_concat", "string_agg", "array_agg"})
_RANKS = frozenset({"row_number", "rank", "dense_rank"})
_OPERATORS: dict[str, Operator] = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_FLIPPED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_MODIFIER = re.compile(r"\s*(?P<n>[+-]?\d+)\s+(?P<unit>day|month|year)s?\s*\Z", re.IGNORECASE)
_TIMES = frozenset({"DATE", "DATETIME", "TIMESTAMP", "TIMESTAMPTZ"})
_TEXTS = frozenset({"TEXT", "VARCHAR", "CHAR"})
_INTEGERS = frozenset({"INT", "BIGINT", "SMALLINT", "TINYINT", "DECIMAL", "DOUBLE", "FLOAT"})


@dataclass(frozen=True, slots=True)
class DatePart:
    """A part of a date column, as an expression of the query gives it."""

    column: Column
    part: Part
    whole: bool = True
    """False for a date just as its column holds it, which may have a time of day."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A literal held against something. `listed` are literals of one `IN`; `like` is a pattern.

    `shift` is what the query adds to the literal, as in `date('1997-01-01', '+1 year')`.
    """

    node: exp.Expr
    operator: Operator
    other: exp.Expr
    literal: exp.Literal
    shift: tuple[int, Unit] | None = None
    negative: bool = False
    how: Literal["plain", "listed", "like"] = "plain"


def comparisons(tree: exp.Expr) -> Iterator[Compared]:
    """Every literal of the query that something is compared with, the two ends of a BETWEEN one by one."""
    for node in tree.walk():
        if node.key in _OPERATORS:
            left, right = node.this, node.args["expression"]
            operator = _OPERATORS[node.key]
            for other, literal, sign in ((left, right, operator), (right, left, _FLIPPED[operator])):
                if read := literal_in(literal):
                    yield Compared(node, sign, other, *read)
        elif isinstance(node, exp.Between):
            ends: tuple[tuple[str, Operator], ...] = (("low", ">="), ("high", "<="))
            for name, sign in ends:
                if read := literal_in(node.args[name]):
                    yield Compared(node, sign, node.this, *read)
        elif isinstance(node, exp.In):
            for item in node.expressions:
                if read := literal_in(item):
                    yield Compared(node, "=", node.this, *read, how="listed")
        elif node.key in _PATTERNS and (read := literal_in(node.args["expression"])):
            yield Compared(node, "=", node.this, *read, how="like")


def literal_in(node: exp.Expr) -> tuple[exp.Literal, tuple[int, Unit] | None, bool] | None:
    """The literal that an operand is, what is added to it, and whether a minus stands before it; None for others."""
    node = _bare(node)
    if isinstance(node, exp.Literal):
        return node, None, False
    if isinstance(node, exp.Neg):
        read = literal_in(node.this)
        return (read[0], read[1], True) if read else None
    if isinstance(node, exp.Cast) and _type(node) in _TIMES | _TEXTS:
        return literal_in(node.this)
    if isinstance(node, exp.Anonymous) and _name(node) in ("date", "datetime") and 0 < len(node.expressions) <= 2:
        read = literal_in(node.expressions[0])
        if read is None or len(node.expressions) == 1:
            return read
        modifier = node.expressions[1]
        match = _MODIFIER.match(modifier.name) if isinstance(modifier, exp.Literal) else None
        return (read[0], (int(match["n"]), _unit(match["unit"])), False) if match and read[1] is None else None
    if isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval):
        read, interval = literal_in(node.this), node.expression
        number, unit = interval.this, str(interval.args.get("unit") or "").lower().rstrip("s")
        if read is None or read[1] is not None or not isinstance(number, exp.Literal) or not number.name.isdigit():
            return None
        if unit not in ("day", "month", "year"):
            return None
        return read[0], (int(number.name) * (-1 if isinstance(node, exp.Sub) else 1), _unit(unit)), False
    return None


def literals(tree: exp.Expr) -> tuple[exp.Literal, ...]:
    """Every literal of a query, always in the same order."""
    return tuple(node for node in tree.walk(bfs=False) if isinstance(node, exp.Literal))


def conjunction(node: exp.Expr) -> exp.Expr:
    """The widest condition joined by AND alone that a condition stands in."""
    while isinstance(node.parent, exp.And | exp.Paren):
        node = node.parent
    return node


class Names:
    """The sources of one query: what each of its names stands for. Pure; nothing of the query is changed."""

    def __init__(self, tree: exp.Expr, schema: Schema, dates: Sequence[Column]) -> None:
        self._tables: dict[str, list[str]] = {}
        self._columns: dict[str, dict[str, str]] = {}
        self._text_dates = schema.dialect == "sqlite"
        self._dates = frozenset(dates)
        for table in schema.tables:
            self._tables.setdefault(fold(table.name), []).append(table.name)
            self._columns[table.name] = {fold(column.name): column.name for column in table.columns}
            if table.namespace:
                bare = table.name.removeprefix(f"{table.namespace}.")
                self._tables.setdefault(fold(f"{table.namespace}\x1f{bare}"), []).append(table.name)
        found = (self._table(node) for node in tree.find_all(exp.Table))
        self.tables = frozenset(table for table in found if isinstance(table, str))

    def column(self, node: exp.Expr) -> Column | None:
        """The real column that an expression is, through aliases, subqueries and CTEs; None for anything else."""
        found = self._behind(node, 0)
        return found if isinstance(found, tuple) else None

    def table(self, node: exp.Table) -> str | None:
        """The real table that a source is; None for a CTE or what cannot be told."""
        found = self._table(node)
        return found if isinstance(found, str) else None

    def counts(self, node: exp.Expr) -> bool:
        """Whether an expression is made of several rows: an aggregate, by itself or behind a name, or a subquery."""
        found = self._behind(node, 0)
        if not isinstance(found, exp.Expr):
            return False
        return any(
            isinstance(inner, exp.Query) or (isinstance(inner, exp.Anonymous) and _name(inner) in AGGREGATES)
            for inner in found.walk()
        )

    def ranks(self, node: exp.Expr) -> bool:
        """Whether an expression is the place of a row among others (ROW_NUMBER, RANK)."""
        found = self._behind(node, 0)
        return isinstance(found, exp.Window) and _name(found.this) in _RANKS

    def date_part(self, node: exp.Expr, depth: int = 0) -> DatePart | None:
        """The part of a date column that an expression gives, or None."""
        node = _bare(node)
        if depth > _DEEPEST:
            return None
        if isinstance(node, exp.Column):
            found = self._behind(node, 0)
            if isinstance(found, tuple):
                return DatePart(found, "day", whole=False) if found in self._dates else None
            return self.date_part(found, depth + 1) if found is not None else None
        if isinstance(node, exp.Cast):
            inner = self.date_part(node.this, depth + 1)
            number = inner is not None and inner.part in ("year", "month", "quarter")
            kept = _TEXTS | (_INTEGERS if number else _TIMES)
            if inner is None or _type(node) not in kept:
                return None
            return replace(inner, whole=True) if _type(node) == "DATE" else inner
        if isinstance(node, exp.Extract):
            return self._part_of(node.expression, _UNITS.get(node.this.name.lower()), depth)
        if isinstance(node, exp.Div | exp.Add):
            return self._quarter(node, depth)
        return self._called(node, depth) if isinstance(node, exp.Anonymous) else None

    def _called(self, node: exp.Anonymous, depth: int) -> DatePart | None:
        name, given = _name(node), node.expressions
        if name in ("min", "max") and len(given) == 1:
            return self.date_part(given[0], depth + 1)
        texts = [argument.name if isinstance(argument, exp.Literal) else None for argument in given]
        if name == "strftime" and len(given) == 2:
            return self._part_of(given[1], _STRFTIME.get(texts[0] or ""), depth)
        if name == "date" and len(given) == 1:
            return self._part_of(given[0], "day", depth)
        if name in ("date", "datetime") and len(given) == 2:
            return self._part_of(given[0], _TRUNCATED.get((texts[1] or "").lower()), depth)
        if name == "to_char" and len(given) == 2:
            return self._part_of(given[0], _TO_CHAR.get((texts[1] or "").upper()), depth)
        if name == "date_trunc" and len(given) == 2:
            return self._part_of(given[1], _TRUNCATED.get((texts[0] or "").lower()), depth)
        if name in ("substr", "substring") and len(given) == 3:
            is_text = self._text_dates or isinstance(_bare(given[0]), exp.Cast)
            return self._part_of(given[0], _CUT.get((texts[1] or "", texts[2] or "")) if is_text else None, depth)
        return None

    def _part_of(self, node: exp.Expr, part: Part | None, depth: int) -> DatePart | None:
        """The part of a whole date that an argument gives."""
        inner = self.date_part(node, depth + 1) if part is not None else None
        return DatePart(inner.column, part) if inner is not None and part is not None and inner.part == "day" else None

    def _quarter(self, node: exp.Expr, depth: int) -> DatePart | None:
        """`(month + 2) / 3` and `(month - 1) / 3 + 1`."""
        month: exp.Expr | None = None
        if isinstance(node, exp.Div) and _is_number(node.expression, "3"):
            top = _bare(node.this)
            month = top.this if isinstance(top, exp.Add) and _is_number(top.expression, "2") else None
        elif isinstance(node, exp.Add) and _is_number(node.expression, "1"):
            third = _bare(node.this)
            if isinstance(third, exp.Div) and _is_number(third.expression, "3"):
                top = _bare(third.this)
                month = top.this if isinstance(top, exp.Sub) and _is_number(top.expression, "1") else None
        inner = self.date_part(month, depth + 1) if month is not None else None
        return DatePart(inner.column, "quarter") if inner is not None and inner.part == "month" else None

    # Names

    def _behind(self, node: exp.Expr, depth: int) -> Column | exp.Expr | None:
        """The real column, or the expression that an alias stands for; None where it cannot be told."""
        node = _bare(node)
        if not isinstance(node, exp.Column):
            return node
        if depth > _DEEPEST or isinstance(node.this, exp.Star):
            return None
        name, qualifier = fold(node.name), fold(node.table)
        scope = node.find_ancestor(exp.Select)
        while scope is not None:
            sources = self._sources(scope)
            if qualifier:
                if qualifier in sources:
                    return self._output(sources[qualifier], name, depth)
            else:
                having = [one for one in sources.values() if self._has(one, name)]
                if having:
                    return self._output(having[0], name, depth) if len(having) == 1 else None
                for projection in scope.expressions:
                    if isinstance(projection, exp.Alias) and fold(projection.alias) == name:
                        inside = any(inner is node for inner in projection.find_all(exp.Column))
                        return None if inside else self._behind(projection.this, depth + 1)
            scope = scope.find_ancestor(exp.Select)
        return None

    def _sources(self, scope: exp.Select) -> dict[str, str | exp.Expr]:
        found: dict[str, str | exp.Expr] = {}
        clause = scope.args.get("from_")
        waiting = [clause.this] if clause is not None else []
        waiting += [join.this for join in scope.args.get("joins") or ()]
        while waiting:
            source = waiting.pop()
            waiting += [join.this for join in source.args.get("joins") or ()]
            alias = source.args.get("alias")
            named = alias is not None and bool(alias.args.get("columns"))
            inner = self._table(source) if isinstance(source, exp.Table) else source
            key = fold(source.alias_or_name) or f"\x00{len(found)}"
            found[key] = exp.Null() if inner is None or named or key in found else inner
        return found

    def _table(self, node: exp.Table) -> str | exp.Expr | None:
        """The real table, or the query of a CTE, that a source is."""
        key = fold(node.name)
        if node.args.get("db") is None:
            around: exp.Expr | None = node.parent
            while around is not None:
                clause = around.args.get("with_")
                for cte in clause.expressions if clause is not None else ():
                    if fold(cte.alias) == key:
                        inside = any(inner is node for inner in cte.find_all(exp.Table))
                        named = bool(cte.args["alias"].args.get("columns"))
                        return None if inside or named else cast(exp.Expr, cte.this)
                around = around.parent
        else:
            key = key if self._text_dates else fold(f"{node.db}\x1f{node.name}")
        known = self._tables.get(key, ())
        return known[0] if len(known) == 1 else None

    def _has(self, source: str | exp.Expr, name: str) -> bool:
        if isinstance(source, str):
            return name in self._columns[source]
        query = _query(source)
        if query is None:
            return True
        if any(fold(one.alias_or_name) == name for one in query.expressions):
            return True
        return any(_is_star(one) for one in query.expressions)

    def _output(self, source: str | exp.Expr, name: str, depth: int) -> Column | exp.Expr | None:
        """What a column that a source gives stands for."""
        if isinstance(source, str):
            column = self._columns[source].get(name)
            return (source, column) if column is not None else None
        query = _query(source)
        if query is None:
            return None
        for projection in query.expressions:
            if fold(projection.alias_or_name) == name:
                return self._behind(projection.unalias(), depth + 1)
        stars = [one for one in query.expressions if _is_star(one)]
        inner = [one for one in self._sources(query).values() if self._has(one, name)] if stars else []
        return self._output(inner[0], name, depth + 1) if len(inner) == 1 and depth <= _DEEPEST else None


def _query(source: exp.Expr) -> exp.Select | None:
    while isinstance(source, exp.Subquery):
        source = source.this
    return source if isinstance(source, exp.Select) else None


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _name(node: exp.Expr) -> str:
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else node.key


def _type(node: exp.Cast) -> str:
    kind = node.to.this
    return str(kind.name) if isinstance(kind, exp.DType) else ""


def _unit(word: str) -> Unit:
    return cast(Unit, word.lower())


def _is_number(node: exp.Expr, text: str) -> bool:
    node = _bare(node)
    return isinstance(node, exp.Literal) and not node.is_string and node.name == text
