"""In which units and currencies a query speaks, as far as its columns and those that tell a currency or a unit say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from agent.database.naming import fold
from agent.database.result import Cell, Result
from agent.database.schema import Facts, Schema

if TYPE_CHECKING:
    from sqlglot import exp

_WORDS = """
    eur euro euros usd dollar dollars gbp pound pounds chf jpy yen krw cny inr cent cents pence
    kg kilo kilos kilogram kilograms gram grams mg lb lbs ounce ounces oz ton tons tonne tonnes
    km kilometre kilometres kilometer kilometers metre metres meter meters cm mm mile miles foot feet inch inches yard
    yards litre litres liter liters ml gallon gallons celsius fahrenheit kelvin
    second seconds minute minutes hour hours millisecond milliseconds ms percent percentage"""
_UNITS = frozenset(_WORDS.split())
_ONE_NAME = {
    "euro": "eur", "dollar": "usd", "pound": "gbp", "yen": "jpy", "kilo": "kg", "kilogram": "kg", "meter": "metre",
    "kilometer": "km", "kilometre": "km", "lbs": "lb", "feet": "foot", "inche": "inch", "liter": "litre",
    "tonne": "ton", "percentage": "percent", "ounce": "oz", "ms": "millisecond",
}  # fmt: skip
_ADDING = frozenset({"SUM", "AVG", "MIN", "MAX", "TOTAL"})
_COUNTING = frozenset(
    {"COUNT", "ROW_NUMBER", "ROWNUMBER", "RANK", "DENSE_RANK", "DENSERANK", "NTILE", "LENGTH", "EXISTS", "INSTR"}
)
"""Whose value is in no unit, whatever they are given."""
_CURRENCY, _UNIT = frozenset({"currency", "currencies", "ccy"}), frozenset({"unit", "units", "uom"})
_ENDINGS = frozenset({"id", "code", "name", "type", "key", "iso"})
_NO_AMOUNT = re.compile(r"CHAR|TEXT|CLOB|STRING|DATE|TIME|BLOB|BYTEA|UUID|BOOL|JSON", re.IGNORECASE)


def words_of(name: str) -> tuple[str, ...]:
    """The words that a name is made of, in small letters.

    >>> words_of("PriceEUR"), words_of("weight_in_kg"), words_of("AmountUsd")
    (('price', 'eur'), ('weight', 'in', 'kg'), ('amount', 'usd'))
    """
    return tuple(one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name))


@dataclass(frozen=True, slots=True)
class Measures:
    """In which units what a query shows is, and what it compares with in its conditions.

    `untold`: it also shows an amount of which nothing says the unit.
    """

    units: frozenset[str]
    untold: bool = False
    conditions: frozenset[str] = frozenset()

    def against(self, other: Measures) -> str:
        """Why two queries are not known to speak in the same units, or `""`.

        >>> Measures(frozenset({"eur"})).against(Measures(frozenset({"usd"})))
        'eur against usd'
        >>> Measures(frozenset({"eur"})).against(Measures(frozenset(), untold=True))
        'eur against what has no unit in its name'
        """
        told = [", ".join(sorted(one.units)) or "what has no unit in its name" for one in (self, other)]
        known = all(one.units or one.untold for one in (self, other))
        if self.units != other.units and known:
            return " against ".join(told)
        if self.conditions - other.conditions and other.conditions - self.conditions:
            told = [", ".join(sorted(one.conditions)) for one in (self, other)]
            return f"conditions in {' against '.join(told)}"
        return ""


def measures_of(sql: str, schema: Schema, facts: Facts) -> Measures:
    """What is known of the units of a query: of all columns that it shows something of, through all that is nested."""
    from sqlglot import exp

    from agent.database.guard import parse_query

    with suppress(RecursionError):
        if (reading := _Reading.of(sql, schema, facts)) is not None:
            return reading.measures()
    named = [column.name for column in parse_query(sql, schema.dialect).find_all(exp.Column)]
    return Measures(frozenset(unit for name in named for unit in _units(name)), untold=bool(named))


def adds_up(tree: exp.Expr) -> bool:
    """Whether a part of a query makes one number of several, other than their count."""
    return any(name in _ADDING for name in _calls(tree))


def mixed(sql: str, schema: Schema, facts: Facts) -> str:
    """The column by whose several units or currencies a query adds up what must not be added up, or `""`."""
    from sqlglot import exp

    from agent.database.guard import parse_query

    tree = parse_query(sql, schema.dialect)
    if not adds_up(tree):
        return ""
    telling = _telling(schema, facts)
    if not telling:
        return ""
    with suppress(RecursionError):
        if (reading := _Reading.of(sql, schema, facts)) is not None:
            return reading.mixed()
    read = {fold(table.name) for table in tree.find_all(exp.Table)}
    return next(
        (f"{table}.{one}" for table in read for one, only in telling.get(table, {}).items() if only is None), ""
    )


@dataclass(frozen=True, slots=True)
class _Origin:
    """A column of a table as one place of a query reads it; `place` tells two readings of one table apart."""

    table: str
    column: str
    place: tuple[int, str]


class _Reading:
    """A query with the names of all its columns followed to the tables that they come from."""

    def __init__(
        self, root: Any, schema: Schema, telling: Mapping[str, Mapping[str, str | None]], names: Iterable[str]
    ) -> None:
        self.root = root
        self.written = {fold(name): name for name in names}
        self.written |= {fold(column.name): column.name for table in schema.tables for column in table.columns}
        self.telling = telling
        self.amounts = {
            (fold(table.name), fold(column.name))
            for table in schema.tables
            for column in table.columns
            if not column.primary_key
            and not _NO_AMOUNT.search(column.type)
            and all(column.name not in key.columns for key in table.foreign_keys)
        }
        self.keys = {
            fold(table.name): {fold(column.name) for column in table.columns if column.primary_key}
            for table in schema.tables
        }
        self.pins = self._pins()

    @classmethod
    def of(cls, sql: str, schema: Schema, facts: Facts) -> _Reading | None:
        """None where the names cannot be followed."""
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
        from sqlglot.optimizer.qualify import qualify
        from sqlglot.optimizer.scope import build_scope

        from agent.database.dialects import dialect
        from agent.database.guard import parse_query

        known: dict[str, object] = {table.name: {one.name: "TEXT" for one in table.columns} for table in schema.tables}
        read = parse_query(sql, schema.dialect)
        names = [one.alias for one in read.find_all(exp.Alias)]  # small letters hide where a word ends
        try:
            tree = qualify(
                read,
                schema=known,
                dialect=dialect(schema.dialect),
                validate_qualify_columns=False,
                quote_identifiers=False,
                identify=False,
            )
            root = build_scope(tree)
        except SqlglotError:
            return None
        return cls(root, schema, _telling(schema, facts), names) if root is not None else None

    def measures(self) -> Measures:
        units: set[str] = set()
        untold = False
        for branch in _branches(self.root):
            for shown in branch.expression.selects:
                told, amount = self._told(shown, branch)
                units |= told
                untold = untold or (amount and not told)
        return Measures(frozenset(units), untold, frozenset(self._conditions()))

    def mixed(self) -> str:
        from sqlglot import exp

        for scope in self.root.traverse():
            grouped = {
                (one.place, one.column)
                for by in (scope.expression.args.get("group") or exp.Group()).expressions
                for column, within in self._columns(by, scope)
                for one in self._origins(column, within)
            }
            for call in scope.walk():
                if not isinstance(call, exp.Func) or _name(call) not in _ADDING:
                    continue
                around = call.parent if isinstance(call.parent, exp.Filter) else call
                inside = {
                    (one.place, one.column)
                    for column, _ in _pinned(around.find_all(exp.EQ))
                    for one in self._origins(column, scope)
                }
                for column, within in self._columns(call, scope):
                    for one in self._origins(column, within):
                        if found := self._mixed(one, grouped | inside):
                            return found
        return ""

    def _mixed(self, one: _Origin, known: set[tuple[tuple[int, str], str]]) -> str:
        if (one.table, one.column) not in self.amounts or one.column in self.telling.get(one.table, {}):
            return ""
        keys = self.keys.get(one.table, set())
        if keys and all((one.place, key) in known for key in keys):
            return ""
        for name, only in self.telling.get(one.table, {}).items():
            if only is None and (one.place, name) not in self.pins and (one.place, name) not in known:
                return f"{one.table}.{name}"
        return ""

    def _told(self, shown: Any, scope: Any) -> tuple[set[str], bool]:
        """The units of what stands in one place, and whether it is an amount at all."""
        units, amount = set(self._units(shown.alias)), False
        for column, within in self._columns(shown, scope):
            units |= self._names_on_the_way(column, within)
            for one in self._origins(column, within):
                units.update(self._units(one.column))
                if (one.table, one.column) not in self.amounts or one.column in self.telling.get(one.table, {}):
                    continue
                amount = True
                for name, only in self.telling.get(one.table, {}).items():
                    value = self.pins.get((one.place, name), only)
                    if value is not None:
                        word = value.lower()
                        units.add(f"{name} {value}" if word.isdigit() else _ONE_NAME.get(word, _singular(word)))
        return units, amount

    def _units(self, name: str) -> Iterator[str]:
        return _units(self.written.get(fold(name), name))

    def _names_on_the_way(self, column: Any, scope: Any) -> set[str]:
        """The units in the names that nested queries give to what they show."""
        found: set[str] = set()
        for shown, branch in self._shown_as(column, scope):
            found.update(self._units(shown.alias_or_name))
            for inner, within in self._columns(shown, branch):
                found |= self._names_on_the_way(inner, within)
        return found

    def _conditions(self) -> Iterator[str]:
        from sqlglot import exp

        for scope in self.root.traverse():
            for node in scope.walk():
                if isinstance(node, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ | exp.NEQ | exp.Between):
                    for part in node.iter_expressions():
                        for column, within in self._columns(part, scope):
                            for one in self._origins(column, within):
                                yield from self._units(one.column)

    def _columns(self, node: Any, scope: Any) -> Iterator[tuple[Any, Any]]:
        """The columns whose values, or sums of them, come out of an expression, each with the query it stands in."""
        from sqlglot import exp

        if isinstance(node, exp.Column):
            yield node, scope
        elif isinstance(node, exp.Query):
            inner = next((one for one in scope.subquery_scopes if one.expression is node.unnest()), None)
            for branch in _branches(inner) if inner is not None else ():
                for shown in branch.expression.selects:
                    yield from self._columns(shown, branch)
        elif isinstance(node, exp.Window):
            yield from self._columns(node.this, scope)
        elif not isinstance(node, exp.Predicate | exp.Connector | exp.Not) and _name(node) not in _COUNTING:
            for part in node.iter_expressions():
                yield from self._columns(part, scope)

    def _shown_as(self, column: Any, scope: Any) -> Iterator[tuple[Any, Any]]:
        """What the nested query that a column is of shows under its name."""
        from sqlglot.optimizer.scope import Scope

        source = _source(column, scope)
        if not isinstance(source, Scope):
            return
        branches = list(_branches(source))
        names = [fold(name) for name in branches[0].expression.named_selects] if branches else []
        if fold(column.name) in names:
            place = names.index(fold(column.name))
            for branch in branches:
                if place < len(branch.expression.selects) and branch is not scope:
                    yield branch.expression.selects[place], branch

    def _origins(self, column: Any, scope: Any) -> Iterator[_Origin]:
        from sqlglot import exp

        source = _source(column, scope)
        if isinstance(source, exp.Table):
            at = scope
            while column.table not in at.sources and at.parent is not None:
                at = at.parent
            yield _Origin(fold(source.name), fold(column.name), (id(at), fold(column.table)))
        for shown, branch in self._shown_as(column, scope):
            for inner, within in self._columns(shown, branch):
                yield from self._origins(inner, within)

    def _pins(self) -> dict[tuple[tuple[int, str], str], str]:
        """The columns that conditions hold to one value, and the value; also through a table that they refer to."""
        from sqlglot import exp

        pins: dict[tuple[tuple[int, str], str], str] = {}
        joined: list[tuple[_Origin, _Origin]] = []
        for scope in self.root.traverse():
            parts = [part for name in ("where", "having") if (part := scope.expression.args.get(name))]
            parts += [part for join in scope.expression.args.get("joins") or () if (part := join.args.get("on"))]
            inner = [one for part in parts for one in _conjuncts(part)]
            for column, value in _pinned(inner):
                pins.update({(one.place, one.column): value for one in self._origins(column, scope)})
            for node in inner:
                if isinstance(node, exp.EQ) and all(isinstance(side, exp.Column) for side in (node.left, node.right)):
                    sides = [list(self._origins(side, scope)) for side in (node.left, node.right)]
                    joined += [(one, other) for one in sides[0] for other in sides[1]]
        for one, other in (*joined, *((b, a) for a, b in joined)):
            if one.column in self.telling.get(one.table, {}) and (one.place, one.column) not in pins:
                held = {value for (place, _), value in pins.items() if place == other.place}
                if held:
                    pins[one.place, one.column] = min(held)
        return pins


def _telling(schema: Schema, facts: Facts) -> dict[str, dict[str, str | None]]:
    """The columns that tell the unit or the currency of amounts beside them, by table; the value where it is one."""
    seen = {(fold(one.table), fold(one.column)): one for one in facts.columns}
    found: dict[str, dict[str, str | None]] = {}
    for table in schema.tables:
        for column in table.columns:
            words = list(words_of(column.name))
            while len(words) > 1 and words[-1] in _ENDINGS:
                words.pop()
            known = seen.get((fold(table.name), fold(column.name)))
            values = known.values if known is not None else ()
            measured = any(_singular(value.lower()) in _UNITS or value.lower() in _UNITS for value in values)
            head = words[-1] if words else ""
            if head not in _CURRENCY and not (head in _UNIT and "per" not in words and (measured or head == "uom")):
                continue
            only = values[0] if len(values) == 1 and known is not None and known.complete else None
            if known is not None and known.minimum is not None and known.minimum == known.maximum:
                only = known.minimum
            found.setdefault(fold(table.name), {})[fold(column.name)] = only
    return found


def _source(column: Any, scope: Any) -> Any:
    """The table or the nested query that a column is of, looked for outwards."""
    at = scope
    while at is not None:
        if column.table in at.sources:
            return at.sources[column.table]
        at = at.parent
    return None


def _branches(scope: Any) -> Iterator[Any]:
    """The queries that a union puts together, or the one query."""
    if scope.set_operation_scopes:
        for one in scope.set_operation_scopes:
            yield from _branches(one)
    elif hasattr(scope.expression, "selects"):
        yield scope


def _conjuncts(node: Any) -> Iterator[Any]:
    from sqlglot import exp

    node = (node.this if isinstance(node, exp.Where | exp.Having) else node).unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _pinned(conditions: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    """The columns that are said to be one value, and the value."""
    from sqlglot import exp

    for one in conditions:
        if isinstance(one, exp.EQ):
            for column, value in ((one.left, one.right), (one.right, one.left)):
                if isinstance(column, exp.Column) and isinstance(value, exp.Literal):
                    yield column, str(value.this)
        elif isinstance(one, exp.In) and isinstance(one.this, exp.Column):
            match one.expressions:
                case [exp.Literal() as only]:
                    yield one.this, str(only.this)


def _units(name: str) -> Iterator[str]:
    return (_ONE_NAME.get(one, _singular(one)) for one in words_of(name) if one in _UNITS)


def scaled(one: str, other: str, results: tuple[Result, Result], dialect: str) -> str:
    """Says that two results differ by one factor alone which one of the queries multiplies or divides by, or `""`."""
    first, second = ([cell for row in result.rows for cell in row] for result in results)
    if not first or len(first) != len(second):
        return ""
    pairs = [
        (float(a), float(b))
        for a, b in zip(first, second, strict=True)
        if isinstance(a, int | float) and isinstance(b, int | float)
    ]
    if len(pairs) != len(first) or not all(a and b for a, b in pairs):
        return ""
    ratio = pairs[0][1] / pairs[0][0]
    if any(abs(b / a - ratio) > 1e-9 * abs(ratio) for a, b in pairs):
        return ""
    factors = _factors(one, dialect) ^ _factors(other, dialect)
    fits = (factor for factor in factors if any(abs(ratio - way) <= 1e-9 * abs(way) for way in (factor, 1 / factor)))
    factor = next(fits, None)
    return f"one is the other times {factor:g}, so that their units may differ" if factor is not None else ""


def rounded_to(sql: str, dialect: str) -> int | None:
    """To how many digits a query rounds at most, in whatever part of it; None where it does not."""
    from sqlglot import exp

    from agent.database.guard import parse_query

    digits: list[int] = []
    for call in parse_query(sql, dialect).find_all(exp.Anonymous, exp.Round):
        if _name(call) != "ROUND":
            continue
        arguments = call.expressions if isinstance(call, exp.Anonymous) else [call.this, call.args.get("decimals")]
        given = arguments[1] if len(arguments) > 1 else None
        if given is None:
            digits.append(0)
        elif isinstance(given, exp.Literal) and str(given.this).isdigit():
            digits.append(int(given.this))
    return min(digits, default=None)


def rounded(result: Result, digits: int | None, *, even: bool) -> Result:
    """A result with its fractions rounded as databases do it: halves away from zero, or to the even digit.

    >>> [rounded(Result(("a",), ((2.5,),)), 0, even=even).rows[0][0] for even in (False, True)]
    [3.0, 2.0]
    """
    way = ROUND_HALF_EVEN if even else ROUND_HALF_UP
    step = Decimal(1).scaleb(-(digits or 0))

    def one(cell: Cell) -> Cell:
        if not isinstance(cell, float) or not math.isfinite(cell) or abs(cell) > 1e15:
            return cell
        return float(Decimal(f"{cell:.15g}").quantize(step, rounding=way))

    return Result(result.columns, tuple(tuple(map(one, row)) for row in result.rows), result.truncated)


def numbers_read(result: Result) -> Result:
    """A result with whole numbers that are written as text as numbers: a year, a month, a count.

    >>> numbers_read(Result(("a", "b", "c"), (("1997", "05", "00712"),))).rows
    ((1997, 5, '00712'),)
    """

    def one(cell: Cell) -> Cell:
        is_number = isinstance(cell, str) and re.fullmatch(r"0\d|-?[1-9]\d{0,14}|0", cell, re.ASCII) is not None
        return int(cell) if is_number and isinstance(cell, str) else cell

    return Result(result.columns, tuple(tuple(map(one, row)) for row in result.rows), result.truncated)


def changing(sql: str, dialect: str) -> str:
    """What makes a query give another answer each time or each day, or `""`.

    >>> changing("SELECT a FROM t WHERE d > date('now')", "sqlite"), changing("SELECT a FROM t", "sqlite")
    ("'now'", '')
    """
    from sqlglot import exp

    from agent.database.guard import parse_query

    tree = parse_query(sql, dialect)
    for node in tree.walk():
        if isinstance(
            node, exp.CurrentDate | exp.CurrentTime | exp.CurrentTimestamp | exp.Localtime | exp.Localtimestamp
        ):
            return node.sql(dialect)
        name = _name(node) if isinstance(node, exp.Func | exp.Anonymous) else ""
        if name in _CHANGING or len(_arguments(node)) <= _OF_NOW.get(name, -1):
            return f"{name.lower()}()"
        if isinstance(node, exp.Literal) and node.is_string:
            word = str(node.this).strip().lower()
            if word == "now" or (word in _DAYS and isinstance(node.parent, exp.Cast)):
                return f"'{word}'"
        if isinstance(node, exp.Column) and not node.table and fold(node.name) in _WORDS_OF_NOW:
            return node.name
    return ""


_CHANGING = frozenset(
    {"RANDOM", "RAND", "RANDOMBLOB", "GEN_RANDOM_UUID", "NOW", "CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP"}
    | {"TRANSACTION_TIMESTAMP", "TIMEOFDAY"}
)
_OF_NOW = {
    **dict.fromkeys(("DATE", "TIME", "DATETIME", "JULIANDAY", "UNIXEPOCH"), 0),
    **dict.fromkeys(("STRFTIME", "TIMETOSTR", "TIME_TO_STR", "AGE"), 1),
}
"""With how many arguments, or fewer, these are about the time at which they run."""
_DAYS = frozenset({"today", "yesterday", "tomorrow"})
_WORDS_OF_NOW = frozenset({"current_date", "current_time", "current_timestamp"})


def _singular(word: str) -> str:
    base = word.removesuffix("s") if len(word) > 3 else word
    return _ONE_NAME.get(base, base)


def _shown(sql: str, dialect: str) -> list[Any]:
    from agent.database.guard import parse_query

    tree: Any = parse_query(sql, dialect)
    return list(tree.selects)


def _factors(sql: str, dialect: str) -> set[float]:
    from sqlglot import exp

    found: set[float] = set()
    for shown in _shown(sql, dialect):
        for node in shown.find_all(exp.Mul, exp.Div):
            for side in (node.left, node.right):
                if isinstance(side, exp.Literal) and not side.is_string and float(side.this) not in (0.0, 1.0):
                    found.add(float(side.this))
    return found


def _calls(tree: exp.Expr) -> Iterator[str]:
    from sqlglot import exp

    return (_name(node) for node in tree.find_all(exp.Func, exp.Anonymous))


def _name(node: exp.Expr) -> str:
    from sqlglot import exp

    return str(node.this).upper() if isinstance(node, exp.Anonymous) else node.key.upper()


def _arguments(node: exp.Expr) -> list[object]:
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [part for part in node.iter_expressions() if part]
