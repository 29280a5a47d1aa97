"""In which units and currencies a query speaks, as far as the names of its columns say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent.database.naming import fold
from agent.database.result import Result
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
_TOLD_BY = frozenset({"currency", "unit", "units", "uom"})
_ADDING = frozenset({"SUM", "AVG", "MIN", "MAX", "TOTAL"})


def words_of(name: str) -> tuple[str, ...]:
    """The words that a name is made of, in small letters.

    >>> words_of("PriceEUR"), words_of("weight_in_kg"), words_of("AmountUsd")
    (('price', 'eur'), ('weight', 'in', 'kg'), ('amount', 'usd'))
    """
    return tuple(one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name))


def units_of(sql: str, dialect: str) -> frozenset[str]:
    """The units and currencies that the columns shown by a query, and their names, are in.

    >>> sorted(units_of("SELECT SUM(PriceEUR) FROM Sales", "sqlite")), sorted(units_of("SELECT n FROM t", "sqlite"))
    (['eur'], [])
    """
    names = [name for shown in _shown(sql, dialect) for name in _names(shown)]
    return frozenset(_ONE_NAME.get(one, _singular(one)) for name in names for one in words_of(name) if one in _UNITS)


def mixed(sql: str, schema: Schema, facts: Facts) -> str:
    """The column by whose several units or currencies a query adds up what must not be added up, or `""`."""
    from sqlglot import exp

    from agent.database.guard import parse_query

    tree = parse_query(sql, schema.dialect)
    if not adds_up(tree):
        return ""
    named = {fold(column.name) for column in tree.find_all(exp.Column)}
    read = {fold(table.name) for table in tree.find_all(exp.Table)}
    for one in facts.columns:
        told = fold(one.table) in read and not _TOLD_BY.isdisjoint(words_of(one.column))
        if told and len(one.values) > 1 and fold(one.column) not in named:
            return f"{one.table}.{one.column}"
    return ""


def adds_up(tree: exp.Expr) -> bool:
    """Whether a part of a query makes one number of several, other than their count."""
    return any(name in _ADDING for name in _calls(tree))


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
    """To how many digits a query rounds what it shows; None where it does not."""
    from sqlglot import exp

    digits: list[int] = []
    for shown in _shown(sql, dialect):
        for call in shown.find_all(exp.Anonymous, exp.Round):
            if _name(call) != "ROUND":
                continue
            arguments = call.expressions if isinstance(call, exp.Anonymous) else [call.this, call.args.get("decimals")]
            given = arguments[1] if len(arguments) > 1 else None
            if given is None:
                digits.append(0)
            elif isinstance(given, exp.Literal) and str(given.this).isdigit():
                digits.append(int(given.this))
    return min(digits, default=None)


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
        if name in _CHANGING or (name in _OF_TIME and not _arguments(node)):
            return f"{name.lower()}()"
        if isinstance(node, exp.Literal) and node.is_string and str(node.this).strip().lower() == "now":
            return "'now'"
        if isinstance(node, exp.Column) and not node.table and fold(node.name) in _WORDS_OF_NOW:
            return node.name
    return ""


_CHANGING = frozenset({"RANDOM", "RAND", "NOW", "CLOCK_TIMESTAMP", "STATEMENT_TIMESTAMP", "TRANSACTION_TIMESTAMP"})
_OF_TIME = frozenset({"DATE", "TIME", "DATETIME", "JULIANDAY", "UNIXEPOCH"})
_WORDS_OF_NOW = frozenset({"current_date", "current_time", "current_timestamp"})


def _singular(word: str) -> str:
    base = word.removesuffix("s") if len(word) > 3 else word
    return _ONE_NAME.get(base, base)


def _shown(sql: str, dialect: str) -> list[Any]:
    from agent.database.guard import parse_query

    tree: Any = parse_query(sql, dialect)
    return list(tree.selects)


def _names(shown: exp.Expr) -> Iterator[str]:
    from sqlglot import exp

    yield shown.alias_or_name
    for column in shown.find_all(exp.Column):
        yield column.name


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


def _arguments(node: exp.Expr) -> Mapping[str, object] | list[exp.Expr]:
    from sqlglot import exp

    return node.expressions if isinstance(node, exp.Anonymous) else {k: v for k, v in node.args.items() if v}
