"""Steps in time: DATE_ADD, DATEADD, + INTERVAL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from agent.drafting.translating.templates import UNITS, Rule, filled_in, is_text, unit_of, whole_number

_STEP = re.compile(r"([-+]?\d+)\s*([A-Za-z]+)")
_TIMED = frozenset({"now", "getdate", "sysdate", "getutcdate", "datetime", "localtimestamp", "current_timestamp"})


def _steps(interval: exp.Expr) -> list[tuple[exp.Expr, str]] | None:
    """The numbers and units of an interval, None where it is not understood."""
    unit = unit_of(interval.args.get("unit")) if interval.args.get("unit") is not None else ""
    amount = interval.this
    if amount is None:
        return None
    if unit:
        number = whole_number(amount)
        if number is not None:
            return [(exp.Literal.number(number), unit)]
        return None if is_text(amount) else [(amount, unit)]
    if not is_text(amount) or _STEP.sub("", amount.name).strip():
        return None
    found: list[tuple[exp.Expr, str]] = [
        (exp.Literal.number(number), UNITS.get(word.lower(), "")) for number, word in _STEP.findall(amount.name)
    ]
    if not found or not all(word for _, word in found):
        return None
    return _merged([(whole_number(number) or 0, word) for number, word in found])


_MERGED = {"year": ("month", 12), "quarter": ("month", 3), "month": ("month", 1), "week": ("day", 7), "day": ("day", 1)}


def _merged(steps: Sequence[tuple[int, str]]) -> list[tuple[exp.Expr, str]]:
    """Steps of several units as intervals take them: all months at once, then all days, then the rest."""
    totals: dict[str, int] = {}
    for number, word in steps:
        unit, factor = _MERGED.get(word, (word, 1))
        totals[unit] = totals.get(unit, 0) + number * factor
    first = [unit for unit in ("month", "day") if unit in totals]
    return [(exp.Literal.number(totals[unit]), unit) for unit in dict.fromkeys([*first, *totals])]


def _moved(value: exp.Expr, amount: exp.Expr, unit: str, sign: int) -> exp.Expr | None:
    """A date of SQLite `amount` units later (`sign` 1) or earlier (-1).

    A day that the month reached does not have becomes its last one, as other databases have it.
    """
    times = {"quarter": ("month", 3), "week": ("day", 7), "year": ("month", 12)}.get(unit, (unit, 1))
    unit, factor = times
    if unit not in ("month", "day", "hour", "minute", "second"):
        return None
    number = whole_number(amount)
    if number is not None:
        step: exp.Expr = exp.Literal.string(f"{sign * number * factor:+d} {unit}s")
    else:
        parts = amount if factor == 1 else filled_in(f"_0 * {factor}", "sqlite", amount)
        parts = parts if sign > 0 else filled_in("-_0", "sqlite", exp.Paren(this=parts.copy()))
        step = filled_in(f"PRINTF('%+d {unit}s', _0)", "sqlite", parts)
    timed = unit in ("hour", "minute", "second") or has_time(value)
    call = "DATETIME" if timed else "DATE"
    if unit != "month" or _ends_before_29(value):
        return filled_in(f"{call}(_0, _1)", "sqlite", value, step)
    if timed:
        # The last day reached, with the time of day.
        last = "DATE(_0, 'start of month', _1, '+1 months', '-1 days') || ' ' || TIME(_0)"
        return filled_in(f"MIN(DATETIME(_0, _1), {last})", "sqlite", value, step)
    return filled_in("MIN(DATE(_0, _1), DATE(_0, 'start of month', _1, '+1 months', '-1 days'))", "sqlite", value, step)


def has_time(value: exp.Expr) -> bool:
    value = value.unnest()
    if isinstance(value, exp.Literal):
        return bool(re.search(r"\d:\d", value.name)) or value.name == "now"
    if isinstance(value, exp.Cast):
        return value.to.sql().upper().startswith(("TIMESTAMP", "DATETIME"))
    called = value.this.lower() if isinstance(value, exp.Anonymous) and isinstance(value.this, str) else ""
    return isinstance(value, exp.CurrentTimestamp | exp.Localtimestamp) or called in _TIMED


def _ends_before_29(value: exp.Expr) -> bool:
    value = value.unnest()
    if isinstance(value, exp.Cast):
        value = value.this
    if isinstance(value, exp.Literal):
        return bool(re.match(r"\d{4}-\d\d-([01]\d|2[0-8])(?!\d)", value.name))
    return (
        isinstance(value, exp.Anonymous)
        and str(value.this).lower() == "date"
        and len(value.expressions) == 2
        and value.expressions[1].name.startswith("start of")
    )


def _shifted(value: exp.Expr, interval: exp.Expr, sign: int, dialect: str) -> exp.Expr | None:
    steps = _steps(interval)
    if steps is None:
        return None
    made: exp.Expr | None = value
    for amount, unit in steps:
        if made is None:
            return None
        made = _moved(made, amount, unit, sign) if dialect == "sqlite" else _stepped(made, amount, unit, sign)
    return made


def _stepped(value: exp.Expr, amount: exp.Expr, unit: str, sign: int) -> exp.Expr | None:
    """A date of PostgreSQL some units later or earlier."""
    if unit == "quarter":
        unit, amount = "month", filled_in("_0 * 3", "postgres", amount)
    if unit not in ("year", "month", "week", "day", "hour", "minute", "second"):
        return None
    kind = "TIMESTAMP" if unit in ("hour", "minute", "second") or has_time(value) else "DATE"
    base = value if not isinstance(value, exp.Literal) else filled_in(f"CAST(_0 AS {kind})", "postgres", value)
    operator = "+" if sign > 0 else "-"
    number = whole_number(amount)
    if number is not None:
        return filled_in(f"_0 {operator} INTERVAL '{number} {unit}'", "postgres", base)
    return filled_in(f"_0 {operator} _1 * INTERVAL '1 {unit}'", "postgres", base, amount)


def moved_by(sign: int) -> Rule:
    """`x + INTERVAL …` and `x - INTERVAL …` of SQLite."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        left, right = node.this, node.expression
        if isinstance(right, exp.Interval):
            return _shifted(left, right, sign, dialect)
        if isinstance(left, exp.Interval) and sign > 0:
            return _shifted(right, left, sign, dialect)
        return None

    return rule


def added(sign: int) -> Rule:
    """DATE_ADD(x, INTERVAL 1 DAY), DATEADD(day, 1, x), DATE_ADD(x, 1, 'day') and their kin for earlier."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        given = node.expressions
        if len(given) == 2 and isinstance(given[1], exp.Interval):
            return _shifted(given[0], given[1], sign, dialect)
        if len(given) == 3 and (unit := unit_of(given[0])):
            move = _moved if dialect == "sqlite" else _stepped
            return move(given[2], given[1], unit, sign)
        return None

    return rule
