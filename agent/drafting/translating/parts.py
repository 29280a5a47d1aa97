"""Parts of dates, units between two dates, and dates cut to a unit."""

from __future__ import annotations

from sqlglot import exp

from agent.drafting.translating.templates import Rule, filled_in, is_text, unit_of


def number_of(form: str) -> str:
    return f"CAST(STRFTIME('{form}', _0) AS INTEGER)"


QUARTER = f"({number_of('%m')} + 2) / 3"
ISO_WEEK = "(CAST(STRFTIME('%j', DATE(_0, '-3 days', 'weekday 4')) AS INTEGER) - 1) / 7 + 1"
_PARTS_OF_SQLITE: dict[str, str] = {
    "year": number_of("%Y"),
    "quarter": QUARTER,
    "month": number_of("%m"),
    "day": number_of("%d"),
    "hour": number_of("%H"),
    "minute": number_of("%M"),
    "second": number_of("%S"),
    "doy": number_of("%j"),
    "dow": number_of("%w"),
    "isodow": f"({number_of('%w')} + 6) % 7 + 1",
    "weekday": f"{number_of('%w')} + 1",
    "isoweek": ISO_WEEK,
    "epoch": number_of("%s"),
}
_YEARS_APART = "CAST(STRFTIME('%Y', _1) AS INTEGER) - CAST(STRFTIME('%Y', _0) AS INTEGER)"


def _less_what_is_not_full(apart: str, form: str) -> str:
    """Units that are full between two times, towards 0: one less where the rest of the later time is the smaller."""
    ends = f"STRFTIME('{form}', _1)", f"STRFTIME('{form}', _0)"
    forwards = f"(JULIANDAY(_1) >= JULIANDAY(_0) AND {ends[0]} < {ends[1]})"
    backwards = f"(JULIANDAY(_1) < JULIANDAY(_0) AND {ends[0]} > {ends[1]})"
    return f"{apart} - {forwards} + {backwards}"


_YEARS_BETWEEN = _less_what_is_not_full(_YEARS_APART, "%m-%d %H:%M:%S")
_MONTHS_APART = (
    "(CAST(STRFTIME('%Y', _1) AS INTEGER) - CAST(STRFTIME('%Y', _0) AS INTEGER)) * 12"
    " + CAST(STRFTIME('%m', _1) AS INTEGER) - CAST(STRFTIME('%m', _0) AS INTEGER)"
)
_DAYS_APART = "CAST(JULIANDAY(DATE(_1)) - JULIANDAY(DATE(_0)) AS INTEGER)"
# SQL Server counts the borders between units that are crossed.
_BORDERS: dict[str, dict[str, str]] = {
    "sqlite": {
        "year": _YEARS_APART,
        "quarter": (
            "(CAST(STRFTIME('%Y', _1) AS INTEGER) - CAST(STRFTIME('%Y', _0) AS INTEGER)) * 4"
            " + (CAST(STRFTIME('%m', _1) AS INTEGER) + 2) / 3 - (CAST(STRFTIME('%m', _0) AS INTEGER) + 2) / 3"
        ),
        "month": _MONTHS_APART,
        "day": _DAYS_APART,
        "hour": "CAST(STRFTIME('%s', _1) AS INTEGER) / 3600 - CAST(STRFTIME('%s', _0) AS INTEGER) / 3600",
        "minute": "CAST(STRFTIME('%s', _1) AS INTEGER) / 60 - CAST(STRFTIME('%s', _0) AS INTEGER) / 60",
        "second": "CAST(STRFTIME('%s', _1) AS INTEGER) - CAST(STRFTIME('%s', _0) AS INTEGER)",
    },
    "postgres": {
        "year": "CAST(EXTRACT(YEAR FROM CAST(_1 AS DATE)) - EXTRACT(YEAR FROM CAST(_0 AS DATE)) AS INTEGER)",
        "month": (
            "CAST((EXTRACT(YEAR FROM CAST(_1 AS DATE)) - EXTRACT(YEAR FROM CAST(_0 AS DATE))) * 12"
            " + EXTRACT(MONTH FROM CAST(_1 AS DATE)) - EXTRACT(MONTH FROM CAST(_0 AS DATE)) AS INTEGER)"
        ),
        "day": "CAST(_1 AS DATE) - CAST(_0 AS DATE)",
        "hour": (
            "CAST(EXTRACT(EPOCH FROM DATE_TRUNC('hour', CAST(_1 AS TIMESTAMP))"
            " - DATE_TRUNC('hour', CAST(_0 AS TIMESTAMP))) / 3600 AS INTEGER)"
        ),
    },
}
# MySQL's TIMESTAMPDIFF counts the units that are full.
_FULL: dict[str, dict[str, str]] = {
    "sqlite": {
        "year": _YEARS_BETWEEN,
        "month": _less_what_is_not_full(_MONTHS_APART, "%d %H:%M:%S"),
        "day": "CAST(JULIANDAY(_1) - JULIANDAY(_0) AS INTEGER)",
        "hour": "(CAST(STRFTIME('%s', _1) AS INTEGER) - CAST(STRFTIME('%s', _0) AS INTEGER)) / 3600",
        "minute": "(CAST(STRFTIME('%s', _1) AS INTEGER) - CAST(STRFTIME('%s', _0) AS INTEGER)) / 60",
        "second": "CAST(STRFTIME('%s', _1) AS INTEGER) - CAST(STRFTIME('%s', _0) AS INTEGER)",
    },
    "postgres": {
        "year": "CAST(EXTRACT(YEAR FROM AGE(CAST(_1 AS TIMESTAMP), CAST(_0 AS TIMESTAMP))) AS INTEGER)",
        "month": (
            "CAST(EXTRACT(YEAR FROM AGE(CAST(_1 AS TIMESTAMP), CAST(_0 AS TIMESTAMP))) * 12"
            " + EXTRACT(MONTH FROM AGE(CAST(_1 AS TIMESTAMP), CAST(_0 AS TIMESTAMP))) AS INTEGER)"
        ),
        "day": "CAST(EXTRACT(DAY FROM CAST(_1 AS TIMESTAMP) - CAST(_0 AS TIMESTAMP)) AS INTEGER)",
    },
}
_CUT: dict[str, str] = {
    "year": "DATE(_0, 'start of year')",
    "quarter": "DATE(_0, 'start of month', PRINTF('-%d months', (CAST(STRFTIME('%m', _0) AS INTEGER) + 2) % 3))",
    "month": "DATE(_0, 'start of month')",
    "week": "DATE(_0, '-6 days', 'weekday 1')",
    "isoweek": "DATE(_0, '-6 days', 'weekday 1')",
    "day": "DATE(_0)",
    "hour": "STRFTIME('%Y-%m-%d %H:00:00', _0)",
    "minute": "STRFTIME('%Y-%m-%d %H:%M:00', _0)",
    "second": "DATETIME(_0)",
}


def _part_of(unit: str, value: exp.Expr, dialect: str) -> exp.Expr | None:
    """One part of a date as a whole number."""
    inner = value.unnest()
    if dialect == "postgres":
        text = _PARTS_OF_POSTGRES.get(unit)
        return filled_in(text, dialect, value) if text else None
    if isinstance(inner, exp.Anonymous) and inner.this.lower() == "age":
        ends = inner.expressions
        if unit != "year" or not 1 <= len(ends) <= 2:
            return None
        later = ends[0] if len(ends) == 2 else exp.CurrentDate()
        return filled_in(_YEARS_BETWEEN, dialect, ends[-1], later)
    if isinstance(inner, exp.Sub):
        apart = {"day": "CAST(JULIANDAY(_0) - JULIANDAY(_1) AS INTEGER)",
                 "epoch": "(JULIANDAY(_0) - JULIANDAY(_1)) * 86400"}.get(unit)  # fmt: skip
        return filled_in(apart, dialect, inner.this, inner.expression) if apart else None
    text = _PARTS_OF_SQLITE.get(unit)
    return filled_in(text, dialect, value) if text else None


_PARTS_OF_POSTGRES: dict[str, str] = {
    unit: f"CAST(EXTRACT({unit} FROM CAST(_0 AS {'TIMESTAMP' if unit in ('hour', 'minute') else 'DATE'})) AS INTEGER)"
    for unit in ("year", "quarter", "month", "day", "hour", "minute", "dow", "isodow", "doy")
}
_PARTS_OF_POSTGRES["isoweek"] = "CAST(EXTRACT(WEEK FROM CAST(_0 AS DATE)) AS INTEGER)"
_PARTS_OF_POSTGRES["weekday"] = f"{_PARTS_OF_POSTGRES['dow']} + 1"


def extract(node: exp.Expr, dialect: str) -> exp.Expr | None:
    unit = unit_of(node.this)
    return _part_of("isoweek" if unit == "week" else unit, node.expression, dialect)


def date_part(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """DATE_PART('year', x) of PostgreSQL and DATEPART(year, x) of SQL Server, whose weeks are not the same."""
    if len(node.expressions) != 2:
        return None
    unit = unit_of(node.expressions[0])
    if unit == "week" and str(node.this).lower() == "date_part":
        unit = "isoweek"
    return _part_of(unit, node.expressions[1], dialect)


def part_call(unit: str) -> Rule:
    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        return _part_of(unit, node.expressions[0], dialect) if len(node.expressions) == 1 else None

    return rule


def date_difference(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    if len(given) == 2:
        return filled_in(_BORDERS[dialect]["day"], dialect, given[1], given[0])
    if len(given) != 3:
        return None
    if unit := unit_of(given[0]):
        start, end = given[1], given[2]
    elif unit := unit_of(given[2]):
        start, end = given[1], given[0]
    text = _BORDERS[dialect].get(unit)
    return filled_in(text, dialect, start, end) if text else None


def full_difference(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    text = _FULL[dialect].get(unit_of(given[0])) if len(given) == 3 else None
    return filled_in(text, dialect, given[1], given[2]) if text else None


def truncated_date(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    if len(given) != 2:
        return None
    first = unit_of(given[0])
    unit, value = (first, given[1]) if first else (unit_of(given[1]), given[0])
    if dialect == "postgres":
        if first and is_text(given[0]):
            return None
        cut = "DATE_TRUNC(_1, CAST(_0 AS TIMESTAMP))"
        plain = "week" if unit == "isoweek" else unit
        return filled_in(cut, dialect, value, exp.Literal.string(plain)) if unit in _CUT else None
    text = _CUT.get(unit)
    return filled_in(text, dialect, value) if text else None
