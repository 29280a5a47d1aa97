"""Writes what models know from other databases in the SQL of this one.

A query is read without giving functions any meaning (`agent/database/dialects.py`); where the database's own dialect
cannot read it, the dialects that a model is likely to have had in mind are tried. Then each call and each phrase that
the database does not have is replaced by one that means the same there, found by running both. What means more than
one thing, or nothing here, stays as it is and is left to the guard.

Imported late only: it brings sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from agent.database.dialects import dialect as guarded

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

LONGEST = 20_000
"""The longest SQL read, in characters; the guard refuses what is longer."""

_STRAY = (ValueError, AttributeError, TypeError, IndexError, KeyError, AssertionError, RecursionError)
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)

Rule = Callable[[exp.Expr, str], "exp.Expr | None"]
"""Gives what a node becomes in a dialect; None leaves it as it is. It may change the node and give it back."""


def translated(sql: str, dialect: str) -> tuple[str, tuple[str, ...]]:
    """Write a query in the words of the dialect (`sqlite` or `postgres`), with a note for each thing changed.

    What needs no change, cannot be read or means nothing here comes back as it was. Never raises.

    >>> translated("SELECT YEAR(Born) FROM Cats", "sqlite")[1]
    ("YEAR(Born) became CAST(STRFTIME('%Y', Born) AS INTEGER)",)
    >>> translated("SELECT TOP 3 Name FROM Cats", "sqlite")
    ('SELECT Name FROM Cats LIMIT 3', ('TOP became LIMIT',))
    """
    if len(sql) > LONGEST or dialect not in _RULES or not _hints(dialect).search(sql):
        return sql, ()
    try:
        found = _read(sql, dialect)
        if found is None:
            return sql, ()
        tree, notes = found
        tree, changes = _rewritten(tree, dialect)
        notes += changes
        return (tree.sql(guarded(dialect), comments=False), tuple(dict.fromkeys(notes))) if notes else (sql, ())
    except (SqlglotError, *_STRAY):
        return sql, ()


def _read(sql: str, dialect: str) -> tuple[exp.Expr, list[str]] | None:
    """Read one query, in the own dialect or the first other one that can; with notes on the latter."""
    order = ["sqlite", "postgres", "mysql", "tsql"]
    if _OF_SQL_SERVER.search(sql):
        order.insert(0, order.pop())
    else:
        own = _one(sql, guarded(dialect))
        if own is not None:
            return own, []
    for name in order:
        tree = _one(sql, _foreign(name)) if name != dialect else None
        if tree is not None and not _is_odd(tree):
            if name == "mysql":
                _spread_group_concat(tree)
            return tree, _phrases(sql, dialect)
    return None


# TOP (n) reads as a call elsewhere, and the type of a CONVERT, which comes first here, as its value.
_TYPE_WORDS = "N?VARCHAR|N?CHAR|DATE|DATETIME2?|INT|BIGINT|FLOAT|REAL|DECIMAL|NUMERIC"
_OF_SQL_SERVER = re.compile(
    rf"\bCONVERT\s*\(\s*(?:{_TYPE_WORDS})\b|\bSELECT\s+(?:DISTINCT\s+)?TOP\s*\(?\s*\d", re.IGNORECASE
)


def _one(sql: str, dialect: Dialect) -> exp.Expr | None:
    try:
        statements = [one for one in parse(sql, dialect=dialect) if one is not None and one.key != "semicolon"]
    except (SqlglotError, *_STRAY):
        return None
    return statements[0] if len(statements) == 1 and isinstance(statements[0], _QUERIES) else None


def _is_odd(tree: exp.Expr) -> bool:
    """Whether a limit means more than a number of rows."""
    return any(_given(node, "with_ties") or _given(node, "percent") for node in tree.find_all(exp.LimitOptions))


def _spread_group_concat(tree: exp.Expr) -> None:
    """Make plain calls of GROUP_CONCAT(… SEPARATOR …), which PostgreSQL would have as STRING_AGG."""
    for node in list(tree.find_all(exp.GroupConcat)):
        given = [node.this, node.args.get("separator")]
        node.replace(exp.Anonymous(this="GROUP_CONCAT", expressions=[one.copy() for one in given if one is not None]))


def _given(node: exp.Expr, name: str) -> bool:
    return bool(node.args.get(name))


@cache
def _foreign(name: str) -> Dialect:
    """Give a dialect that reads the phrases of another database and no function of it."""
    from sqlglot import parser
    from sqlglot.dialects.mysql import MySQL
    from sqlglot.dialects.tsql import TSQL
    from sqlglot.parsers.mysql import MySQLParser
    from sqlglot.parsers.tsql import TSQLParser

    if name in ("sqlite", "postgres"):
        return guarded(name)

    class MySQLCallsAsWritten(MySQLParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        # Who writes || joins texts, whatever else the query has of MySQL.
        DISJUNCTION: ClassVar[Any] = parser.Parser.DISJUNCTION

    class TSQLCallsAsWritten(TSQLParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}

    class ForeignMySQL(MySQL):
        Parser = MySQLCallsAsWritten

        class Tokenizer(MySQL.Tokenizer):
            # Names in double quotes, as the prompt shows them.
            QUOTES: ClassVar[list[Any]] = ["'"]
            IDENTIFIERS: ClassVar[list[Any]] = ["`", '"']

    class ForeignTSQL(TSQL):
        Parser = TSQLCallsAsWritten

    return {"mysql": ForeignMySQL, "tsql": ForeignTSQL}[name]()


_PHRASES: tuple[tuple[str, str], ...] = (
    (r"\bTOP\s*\(?\s*\d", "TOP became LIMIT"),
    (r"\bSEPARATOR\b", "GROUP_CONCAT(… SEPARATOR …) became a call with two arguments"),
    (r"\bDIV\b", "DIV became a division of whole numbers"),
    (r"\bCONVERT\s*\(", "CONVERT became CAST"),
    (r"`", "names in backticks are now in double quotes"),
    (r"\[", "names in brackets are now in double quotes"),
    (r"==", "== became ="),
)


def _phrases(sql: str, dialect: str) -> list[str]:
    code = re.sub(r"'[^']*'|\"[^\"]*\"", "''", sql)
    notes = [note for pattern, note in _PHRASES if re.search(pattern, code, re.IGNORECASE)]
    return notes or [f"the query was written anew for {'SQLite' if dialect == 'sqlite' else 'PostgreSQL'}"]


def _rewritten(tree: exp.Expr, dialect: str) -> tuple[exp.Expr, list[str]]:
    """Replace what has a rule, the inner before the outer; gives the tree and what became what."""
    rules = _RULES[dialect]
    writer = guarded(dialect)
    found = [(node, rule) for node in tree.walk() if (rule := rules.get(_name(node))) is not None]
    texts = [_as_written(node) for node, _ in found]
    notes: list[str] = []
    for (node, rule), before in zip(reversed(found), reversed(texts), strict=True):
        made = rule(node, dialect)
        if made is None:
            continue
        if node is tree:
            tree = made
        elif made is not node:
            node.replace(_bracketed(made, node))
        notes.append(before if isinstance(node, exp.Select) else f"{before} became {_short(made.sql(writer))}")
    return tree, notes[::-1]


def _as_written(node: exp.Expr) -> str:
    """A call or phrase as its writer had it; what no dialect of ours writes so is near enough."""
    if isinstance(node, exp.Select):
        return "DISTINCT ON became the first row by ROW_NUMBER()"
    if isinstance(node, exp.IntDiv):
        return _short(f"{_as_written(node.this)} DIV {_as_written(node.expression)}")
    return _short(node.sql(guarded("sqlite" if isinstance(node, exp.Anonymous) else "postgres"), comments=False))


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"


def _name(node: exp.Expr) -> str:
    """What the rules know a node by: the folded name of a call, else the kind of the node in capitals."""
    if isinstance(node, exp.Anonymous):
        return node.this.lower() if isinstance(node.this, str) else ""
    return node.key.upper()


# Templates


@cache
def _template(text: str, dialect: str) -> exp.Expr:
    tree = _one(f"SELECT {text}", guarded(dialect))
    assert isinstance(tree, exp.Select), text
    made: exp.Expr = tree.expressions[0]
    return made


def _fill(text: str, dialect: str, *values: exp.Expr) -> exp.Expr:
    """Put values in the places `_0`, `_1` … of a text of SQL."""
    made = _template(text, dialect).copy()
    holes = [node for node in made.find_all(exp.Column) if re.fullmatch(r"_\d", node.name)]
    for node in holes:
        value = _bracketed(values[int(node.name[1:])].copy(), node)
        if node is made:
            made = value
        else:
            node.replace(value)
    return made


def _bracketed(value: exp.Expr, place: exp.Expr) -> exp.Expr:
    """Keep a value together where operators stand beside it."""
    tight = exp.Binary | exp.Unary | exp.Between | exp.In
    beside = isinstance(place.parent, tight) and not isinstance(place.parent, exp.Paren | exp.Connector)
    loose = isinstance(value, exp.Binary | exp.Unary | exp.Predicate) and not isinstance(value, exp.Paren | exp.Func)
    return exp.Paren(this=value) if beside and loose else value


def _by_count(templates: Mapping[int, str]) -> Rule:
    """A rule for a call that is another text for each number of arguments."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        text = templates.get(len(node.expressions))
        return _fill(text, dialect, *node.expressions) if text is not None else None

    return rule


def _word(node: exp.Expr | None) -> str:
    """The unit that an argument names, as `month`, `'month'` or `MONTHS`; `""` where it is none."""
    if isinstance(node, exp.Column) and node.args.get("table") is not None:
        return ""
    if not isinstance(node, exp.Column | exp.Var | exp.Literal) or (
        isinstance(node, exp.Literal) and not node.is_string
    ):
        return ""
    word = node.name.lower()
    word = _UNITS.get(word, word)
    return word if word in _UNITS.values() else ""


_UNITS = {
    "yy": "year", "yyyy": "year", "years": "year", "year": "year", "q": "quarter", "qq": "quarter",
    "quarter": "quarter", "quarters": "quarter", "mm": "month", "m": "month", "mon": "month", "month": "month",
    "months": "month", "week": "week", "weeks": "week", "ww": "week", "wk": "week", "iso_week": "isoweek",
    "isowk": "isoweek", "isoweek": "isoweek", "day": "day", "days": "day", "dd": "day", "d": "day",
    "dayofmonth": "day", "hour": "hour", "hours": "hour", "hh": "hour", "minute": "minute", "minutes": "minute",
    "mi": "minute", "n": "minute", "second": "second", "seconds": "second", "ss": "second", "s": "second",
    "dow": "dow", "isodow": "isodow", "doy": "doy", "dayofyear": "doy", "dy": "doy", "weekday": "weekday",
    "dw": "weekday", "dayofweek": "weekday", "epoch": "epoch", "year_month": "year_month",
}  # fmt: skip


def _is_text(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _whole(node: exp.Expr | None) -> int | None:
    """The whole number that a literal is, with its sign; a quoted one too."""
    sign = 1
    while isinstance(node, exp.Neg | exp.Paren):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if isinstance(node, exp.Literal) and re.fullmatch(r"[-+]?\d{1,9}", node.name.strip()):
        return sign * int(node.name)
    return None


# SQLite


def _number(form: str) -> str:
    return f"CAST(STRFTIME('{form}', _0) AS INTEGER)"


_QUARTER = f"({_number('%m')} + 2) / 3"
_ISO_WEEK = "(CAST(STRFTIME('%j', DATE(_0, '-3 days', 'weekday 4')) AS INTEGER) - 1) / 7 + 1"
_PARTS_OF_SQLITE: dict[str, str] = {
    "year": _number("%Y"),
    "quarter": _QUARTER,
    "month": _number("%m"),
    "day": _number("%d"),
    "hour": _number("%H"),
    "minute": _number("%M"),
    "second": _number("%S"),
    "doy": _number("%j"),
    "dow": _number("%w"),
    "isodow": f"({_number('%w')} + 6) % 7 + 1",
    "weekday": f"{_number('%w')} + 1",
    "isoweek": _ISO_WEEK,
    "epoch": _number("%s"),
}
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTH_WORDS = """
    January February March April May June July August September October November December"""
_MONTHS = tuple(_MONTH_WORDS.split())


def _case(subject: str, names: Sequence[str], first: int) -> str:
    whens = " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(names, first))
    return f"CASE {subject} {whens} END"


_DAY_NAME = _case(_number("%w"), _DAYS, 0)
_MONTH_NAME = _case(_number("%m"), _MONTHS, 1)
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
        return _fill(text, dialect, value) if text else None
    if isinstance(inner, exp.Anonymous) and inner.this.lower() == "age":
        ends = inner.expressions
        if unit != "year" or not 1 <= len(ends) <= 2:
            return None
        later = ends[0] if len(ends) == 2 else exp.CurrentDate()
        return _fill(_YEARS_BETWEEN, dialect, ends[-1], later)
    if isinstance(inner, exp.Sub):
        apart = {"day": "CAST(JULIANDAY(_0) - JULIANDAY(_1) AS INTEGER)",
                 "epoch": "(JULIANDAY(_0) - JULIANDAY(_1)) * 86400"}.get(unit)  # fmt: skip
        return _fill(apart, dialect, inner.this, inner.expression) if apart else None
    text = _PARTS_OF_SQLITE.get(unit)
    return _fill(text, dialect, value) if text else None


_PARTS_OF_POSTGRES: dict[str, str] = {
    unit: f"CAST(EXTRACT({unit} FROM CAST(_0 AS {'TIMESTAMP' if unit in ('hour', 'minute') else 'DATE'})) AS INTEGER)"
    for unit in ("year", "quarter", "month", "day", "hour", "minute", "dow", "isodow", "doy")
}
_PARTS_OF_POSTGRES["isoweek"] = "CAST(EXTRACT(WEEK FROM CAST(_0 AS DATE)) AS INTEGER)"
_PARTS_OF_POSTGRES["weekday"] = f"{_PARTS_OF_POSTGRES['dow']} + 1"


def _extract(node: exp.Expr, dialect: str) -> exp.Expr | None:
    unit = _word(node.this)
    return _part_of("isoweek" if unit == "week" else unit, node.expression, dialect)


def _date_part(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """DATE_PART('year', x) of PostgreSQL and DATEPART(year, x) of SQL Server, whose weeks are not the same."""
    if len(node.expressions) != 2:
        return None
    unit = _word(node.expressions[0])
    if unit == "week" and str(node.this).lower() == "date_part":
        unit = "isoweek"
    return _part_of(unit, node.expressions[1], dialect)


def _part_call(unit: str) -> Rule:
    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        return _part_of(unit, node.expressions[0], dialect) if len(node.expressions) == 1 else None

    return rule


def _date_difference(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    if len(given) == 2:
        return _fill(_BORDERS[dialect]["day"], dialect, given[1], given[0])
    if len(given) != 3:
        return None
    if unit := _word(given[0]):
        start, end = given[1], given[2]
    elif unit := _word(given[2]):
        start, end = given[1], given[0]
    text = _BORDERS[dialect].get(unit)
    return _fill(text, dialect, start, end) if text else None


def _full_difference(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    text = _FULL[dialect].get(_word(given[0])) if len(given) == 3 else None
    return _fill(text, dialect, given[1], given[2]) if text else None


def _truncated_date(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    if len(given) != 2:
        return None
    first = _word(given[0])
    unit, value = (first, given[1]) if first else (_word(given[1]), given[0])
    if dialect == "postgres":
        if first and _is_text(given[0]):
            return None
        cut = "DATE_TRUNC(_1, CAST(_0 AS TIMESTAMP))"
        plain = "week" if unit == "isoweek" else unit
        return _fill(cut, dialect, value, exp.Literal.string(plain)) if unit in _CUT else None
    text = _CUT.get(unit)
    return _fill(text, dialect, value) if text else None


# Steps in time: DATE_ADD, DATEADD, + INTERVAL

_STEP = re.compile(r"([-+]?\d+)\s*([A-Za-z]+)")
_TIMED = frozenset({"now", "getdate", "sysdate", "getutcdate", "datetime", "localtimestamp", "current_timestamp"})


def _steps(interval: exp.Expr) -> list[tuple[exp.Expr, str]] | None:
    """The numbers and units of an interval, None where it is not understood."""
    unit = _word(interval.args.get("unit")) if interval.args.get("unit") is not None else ""
    amount = interval.this
    if amount is None:
        return None
    if unit:
        number = _whole(amount)
        if number is not None:
            return [(exp.Literal.number(number), unit)]
        return None if _is_text(amount) else [(amount, unit)]
    if not _is_text(amount) or _STEP.sub("", amount.name).strip():
        return None
    found: list[tuple[exp.Expr, str]] = [
        (exp.Literal.number(number), _UNITS.get(word.lower(), "")) for number, word in _STEP.findall(amount.name)
    ]
    if not found or not all(word for _, word in found):
        return None
    return _merged([(_whole(number) or 0, word) for number, word in found])


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
    number = _whole(amount)
    if number is not None:
        step: exp.Expr = exp.Literal.string(f"{sign * number * factor:+d} {unit}s")
    else:
        parts = amount if factor == 1 else _fill(f"_0 * {factor}", "sqlite", amount)
        parts = parts if sign > 0 else _fill("-_0", "sqlite", exp.Paren(this=parts.copy()))
        step = _fill(f"PRINTF('%+d {unit}s', _0)", "sqlite", parts)
    timed = unit in ("hour", "minute", "second") or _has_time(value)
    call = "DATETIME" if timed else "DATE"
    if unit != "month" or _ends_before_29(value):
        return _fill(f"{call}(_0, _1)", "sqlite", value, step)
    if timed:
        # The last day reached, with the time of day.
        last = "DATE(_0, 'start of month', _1, '+1 months', '-1 days') || ' ' || TIME(_0)"
        return _fill(f"MIN(DATETIME(_0, _1), {last})", "sqlite", value, step)
    return _fill("MIN(DATE(_0, _1), DATE(_0, 'start of month', _1, '+1 months', '-1 days'))", "sqlite", value, step)


def _has_time(value: exp.Expr) -> bool:
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
        unit, amount = "month", _fill("_0 * 3", "postgres", amount)
    if unit not in ("year", "month", "week", "day", "hour", "minute", "second"):
        return None
    kind = "TIMESTAMP" if unit in ("hour", "minute", "second") or _has_time(value) else "DATE"
    base = value if not isinstance(value, exp.Literal) else _fill(f"CAST(_0 AS {kind})", "postgres", value)
    operator = "+" if sign > 0 else "-"
    number = _whole(amount)
    if number is not None:
        return _fill(f"_0 {operator} INTERVAL '{number} {unit}'", "postgres", base)
    return _fill(f"_0 {operator} _1 * INTERVAL '1 {unit}'", "postgres", base, amount)


def _plus(sign: int) -> Rule:
    """`x + INTERVAL …` and `x - INTERVAL …` of SQLite."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        left, right = node.this, node.expression
        if isinstance(right, exp.Interval):
            return _shifted(left, right, sign, dialect)
        if isinstance(left, exp.Interval) and sign > 0:
            return _shifted(right, left, sign, dialect)
        return None

    return rule


def _added(sign: int) -> Rule:
    """DATE_ADD(x, INTERVAL 1 DAY), DATEADD(day, 1, x), DATE_ADD(x, 1, 'day') and their kin for earlier."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        given = node.expressions
        if len(given) == 2 and isinstance(given[1], exp.Interval):
            return _shifted(given[0], given[1], sign, dialect)
        if len(given) == 3 and (unit := _word(given[0])):
            move = _moved if dialect == "sqlite" else _stepped
            return move(given[2], given[1], unit, sign)
        return None

    return rule


# Formats of dates

_TO_STRFTIME = {
    "mysql": {
        "%Y": "%Y", "%y": "yy", "%m": "%m", "%c": "m", "%d": "%d", "%e": "d", "%H": "%H", "%k": "H", "%i": "%M",
        "%s": "%S", "%S": "%S", "%j": "%j", "%w": "%w", "%T": "%H:%M:%S", "%M": "Month", "%b": "Mon", "%W": "Day",
        "%a": "Dy", "%%": "%%",
    },
    "postgres": {
        "YYYY": "%Y", "YY": "yy", "FMMM": "m", "FMMonth": "Month", "FMDay": "Day", "MM": "%m", "FMDD": "d",
        "DDD": "%j", "DD": "%d", "HH24": "%H", "FMHH24": "H", "MI": "%M", "SS": "%S", "Mon": "Mon", "Dy": "Dy",
        "Q": "q", "IW": "iw",
    },
    "tsql": {
        "yyyy": "%Y", "yy": "yy", "MMMM": "Month", "MMM": "Mon", "MM": "%m", "dddd": "Day", "ddd": "Dy", "dd": "%d",
        "HH": "%H", "mm": "%M", "ss": "%S",
    },
}  # fmt: skip
_PIECES: dict[str, str] = {
    "yy": "SUBSTR(STRFTIME('%Y', _0), 3)",
    "m": _number("%m"),
    "d": _number("%d"),
    "H": _number("%H"),
    "q": _QUARTER,
    "iw": f"PRINTF('%02d', {_ISO_WEEK})",
    "Month": _MONTH_NAME,
    "Mon": f"SUBSTR({_MONTH_NAME}, 1, 3)",
    "Day": _DAY_NAME,
    "Dy": f"SUBSTR({_DAY_NAME}, 1, 3)",
}


def _formatted(kind: str) -> Rule:
    """A date as text in a format of another database."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        if len(node.expressions) != 2 or not _is_text(node.expressions[1]):
            return None
        value, form = node.expressions[0], node.expressions[1].name
        if _is_text(value) and "%" in value.name:
            return None
        if dialect == "postgres":
            made = _to_char_format(form) if kind == "mysql" else None
            return (
                _fill("TO_CHAR(CAST(_0 AS TIMESTAMP), _1)", dialect, value, exp.Literal.string(made)) if made else None
            )
        pieces = _pieces(form, kind)
        if pieces is None:
            return None
        texts: list[str] = []
        for piece in pieces:
            if piece in _PIECES:
                texts.append(f"({_PIECES[piece]})" if piece == "q" else _PIECES[piece])
            elif "%" not in piece:
                texts.append(f"'{piece}'")
            elif texts and texts[-1].startswith("STRFTIME('"):
                texts[-1] = texts[-1].replace("', _0)", f"{piece}', _0)")
            else:
                texts.append(f"STRFTIME('{piece}', _0)")
        if len(texts) == 1 and not texts[0].startswith(("STRFTIME", "SUBSTR", "CASE", "PRINTF")):
            texts[0] = f"CAST({texts[0]} AS TEXT)"
        return _fill(" || ".join(texts), dialect, value)

    return rule


def _pieces(form: str, kind: str) -> list[str] | None:
    """A format in the words of STRFTIME, literal text joined to its neighbours; None where it has more."""
    known = _TO_STRFTIME[kind]
    pieces: list[str] = []
    dated = False
    for part in _tokens_of(form, known, kind):
        made = known.get(part)
        if made is None:
            if any(character.isalnum() or character in "%'\\\"" for character in part) or len(part) != 1:
                return None
            made = part
        else:
            dated = True
        if pieces and made not in _PIECES and pieces[-1] not in _PIECES:
            pieces[-1] += made
        else:
            pieces.append(made)
    return pieces if dated else None


def _tokens_of(form: str, known: Mapping[str, str], kind: str) -> Iterator[str]:
    words = sorted(known, key=len, reverse=True)
    place = 0
    while place < len(form):
        if kind == "mysql" and form[place] == "%":
            yield form[place : place + 2]
            place += 2
            continue
        found = next((word for word in words if form.startswith(word, place)), None)
        if found is None and kind == "postgres":
            found = next((word for word in words if word.isupper() and form[place:].upper().startswith(word)), None)
            if found:
                yield found
                place += len(found)
                continue
        yield found or form[place]
        place += len(found or form[place])


_TO_CHAR = {
    "%Y": "YYYY", "%y": "YY", "%m": "MM", "%d": "DD", "%H": "HH24", "%i": "MI", "%M": "MI", "%S": "SS", "%s": "SS",
    "%j": "DDD", "%b": "Mon", "%a": "Dy", "%c": "FMMM", "%e": "FMDD", "%T": "HH24:MI:SS",
}  # fmt: skip


def _to_char_format(form: str, *, sqlite: bool = False) -> str | None:
    """A format with `%` as TO_CHAR has it; `%M` is the minute in SQLite, the name of the month in MySQL."""
    made = ""
    for part in re.findall(r"%.|[^%]", form, re.DOTALL):
        if part.startswith("%"):
            if not sqlite and part == "%M":
                made += "FMMonth"
                continue
            if not sqlite and part == "%W":
                made += "FMDay"
                continue
            if part not in _TO_CHAR or (sqlite and part in ("%s", "%i", "%b", "%a", "%c", "%y")):
                return None
            made += _TO_CHAR[part]
        elif part.isalpha() or part == '"':
            made += f'"{part}"' if part != '"' else ""
        else:
            made += part
    return made


def _format_call(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """FORMAT(date, 'yyyy-MM') of SQL Server; SQLite's own has the format first."""
    given = node.expressions
    if dialect == "sqlite" and len(given) == 2 and not _is_text(given[0]):
        return _formatted("tsql")(node, dialect)
    return None


def _strftime_of_sqlite(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """STRFTIME(date, '%Y'): the arguments the other way round, as in DuckDB."""
    given = node.expressions
    if len(given) == 2 and not _is_text(given[0]) and _is_text(given[1]) and "%" in given[1].name:
        return _fill("STRFTIME(_1, _0)", dialect, *given)
    return None


# Texts


def _left(node: exp.Expr, dialect: str) -> exp.Expr | None:
    return _fill("SUBSTR(_0, 1, _1)", dialect, *node.expressions) if len(node.expressions) == 2 else None


def _right(node: exp.Expr, dialect: str) -> exp.Expr | None:
    if len(node.expressions) != 2:
        return None
    number = _whole(node.expressions[1])
    if number is not None and number > 0:
        return _fill(f"SUBSTR(_0, -{number})", dialect, node.expressions[0])
    return _fill("CASE WHEN _1 > 0 THEN SUBSTR(_0, -_1) ELSE '' END", dialect, *node.expressions)


def _concat(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """CONCAT leaves NULL out, in SQLite 3.44 too; || would make the whole NULL."""
    given = node.expressions
    if len(given) < 2:
        return None
    parts = [value if isinstance(value, exp.Literal) else _fill("COALESCE(_0, '')", dialect, value) for value in given]
    made = parts[0].copy()
    for part in parts[1:]:
        made = exp.DPipe(this=made, expression=part.copy())
    return made


def _concat_ws(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = node.expressions
    if len(given) < 2 or not _is_text(given[0]):
        return None
    texts = [f"COALESCE(_0 || _{number}, '')" for number in range(1, len(given))]
    if len(given) > 9:
        return None
    return _fill(f"SUBSTR({' || '.join(texts)}, {len(given[0].name) + 1})", dialect, *given)


def _padded(side: str) -> Rule:
    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        given = node.expressions
        width = _whole(given[1]) if len(given) in (2, 3) else None
        fill = given[2].name if len(given) == 3 and _is_text(given[2]) else " " if len(given) == 2 else ""
        if width is None or not 0 < width <= 100 or len(fill) != 1:
            return None
        filled = exp.Literal.string(fill * width)
        joined = f"SUBSTR(_1 || _0, -{width})" if side == "left" else f"SUBSTR(_0 || _1, 1, {width})"
        text = f"CASE WHEN LENGTH(_0) >= {width} THEN SUBSTR(_0, 1, {width}) ELSE {joined} END"
        return _fill(text, dialect, given[0], filled)

    return rule


def _string_agg(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """STRING_AGG and GROUP_CONCAT with an order inside: SQLite before 3.44 has neither."""
    if isinstance(node, exp.GroupConcat):
        separator = node.args.get("separator")
        given = [node.this] + ([separator] if separator is not None else [])
    else:
        given = list(node.expressions)
    if not given or len(given) > 2:
        return None
    order: exp.Expr | None = None
    for place, one in enumerate(given):
        if isinstance(one, exp.Order):
            order = one
            if one.args.get("this") is None:
                return None
            given[place] = one.args["this"]
    value = given[0]
    changed = str(node.this).lower() == "string_agg" if isinstance(node, exp.Anonymous) else dialect != "sqlite"
    if dialect == "postgres":
        return _string_agg_of_postgres(value, given[1] if len(given) == 2 else None, order)
    if isinstance(value, exp.Distinct) and len(given) == 2:
        if not (_is_text(given[1]) and given[1].name == ","):
            return None
        given = given[:1]
    if order is None and not changed and not (isinstance(value, exp.Distinct) and len(node.expressions) == 2):
        return None
    return exp.Anonymous(this="GROUP_CONCAT", expressions=[value.copy(), *(one.copy() for one in given[1:])])


def _string_agg_of_postgres(value: exp.Expr, separator: exp.Expr | None, order: exp.Expr | None) -> exp.Expr:
    between = separator.copy() if separator is not None else exp.Literal.string(",")
    if isinstance(value, exp.Distinct) and len(value.expressions) == 1:
        text: exp.Expr = exp.Distinct(expressions=[_fill("CAST(_0 AS TEXT)", "postgres", value.expressions[0])])
    else:
        text = _fill("CAST(_0 AS TEXT)", "postgres", value)
    if order is not None:
        between = exp.Order(this=between, expressions=[one.copy() for one in order.expressions])
    return exp.Anonymous(this="STRING_AGG", expressions=[text, between])


# Phrases


def _like(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """SQLite's LIKE does not mind case."""
    return exp.Like(
        **{name: value.copy() if isinstance(value, exp.Expr) else value for name, value in node.args.items()}
    )


def _fetched(node: exp.Expr, dialect: str) -> exp.Expr | None:
    options = node.args.get("limit_options")
    if options is not None and (_given(options, "with_ties") or _given(options, "percent")):
        return None
    count = node.args.get("count")
    return exp.Limit(expression=count.copy() if count is not None else exp.Literal.number(1))


def _divided(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """A cast to DECIMAL beside a division asks for a fraction; SQLite keeps whole numbers whole."""
    changed = False
    for side in (node.this, node.expression):
        inner = side.unnest()
        if isinstance(inner, exp.Cast) and inner.to.this == exp.DType.DECIMAL:
            inner.set("to", exp.DataType.build("REAL", dialect="sqlite"))
            changed = True
    return node if changed else None


def _cast(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """Types that only MySQL names."""
    written = node.args["to"].sql(guarded(dialect)).upper()
    whole = written.removesuffix(" INTEGER") in ("SIGNED", "UNSIGNED", "UBIGINT")
    plain = "INTEGER" if whole else {"NUMBER": "DECIMAL", "DATETIME2": "TIMESTAMP"}.get(written)
    if plain is None:
        return None
    node.set("to", exp.DataType.build(plain, dialect=dialect))
    return node


def _converted(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """CONVERT(type, value) of SQL Server; of its styles, those that begin with the ISO date."""
    to, value, style = node.this, node.expression, node.args.get("style")
    number = _whole(style) if style is not None else None
    if style is None:
        return exp.Cast(this=value.copy(), to=to.copy())
    if number not in (20, 23, 120, 121, 126):
        return None
    width = next((_whole(one.this) for one in to.expressions), None) if isinstance(to, exp.DataType) else None
    form = "%Y-%m-%d" if number == 23 else "%Y-%m-%d %H:%M:%S"
    made = _fill(f"STRFTIME('{form}', _0)", "sqlite", value) if dialect == "sqlite" else None
    if made is None:
        char = "YYYY-MM-DD" if number == 23 else "YYYY-MM-DD HH24:MI:SS"
        made = _fill(f"TO_CHAR(CAST(_0 AS TIMESTAMP), '{char}')", dialect, value)
    return _fill(f"SUBSTR(_0, 1, {width})", dialect, made) if width else made


def _distinct_on(node: exp.Expr, dialect: str) -> exp.Expr | None:
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


def _distinct_pairs(node: exp.Expr, dialect: str) -> exp.Expr | None:
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
    return exp.Anonymous(this="COUNT", expressions=[exp.Distinct(expressions=[_fill(text, dialect, *values)])])


# PostgreSQL


def _moment(values: Sequence[exp.Expr], kind: str) -> exp.Expr | None:
    """A time value of SQLite with its modifiers, as a DATE or TIMESTAMP of PostgreSQL."""
    if not values:
        return _fill(f"CAST(CURRENT_TIMESTAMP AS {kind})", "postgres")
    first = values[0]
    if _is_text(first) and first.name.lower() == "now":
        made = _fill("CAST(CURRENT_TIMESTAMP AS TIMESTAMP)", "postgres")
    else:
        made = _fill(f"CAST(_0 AS {kind if len(values) == 1 else 'TIMESTAMP'})", "postgres", first)
    for modifier in values[1:]:
        text = modifier.name.strip().lower() if _is_text(modifier) else ""
        step = re.fullmatch(r"([-+]?)(\d+) (day|month|year|hour|minute|second)s?", text)
        if step:
            sign = "-" if step[1] == "-" else "+"
            made = _fill(f"_0 {sign} INTERVAL '{step[2]} {step[3]}'", "postgres", made)
        elif text.startswith("start of ") and text[9:] in ("day", "month", "year"):
            made = _fill(f"DATE_TRUNC('{text[9:]}', _0)", "postgres", made)
        elif text in ("localtime", "utc"):
            continue
        else:
            return None
    if kind == "DATE" and (len(values) > 1 or (_is_text(first) and first.name.lower() == "now")):
        made = _fill("CAST(_0 AS DATE)", "postgres", made)
    return made


def _sqlite_date(kind: str) -> Rule:
    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        if kind == "DATE" and len(node.expressions) == 1:
            return None
        return _moment(node.expressions, kind)

    return rule


def _strftime_of_postgres(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = list(node.expressions)
    if len(given) == 2 and not _is_text(given[0]) and _is_text(given[1]):
        given = given[::-1]
    if not given or not _is_text(given[0]):
        return None
    moment = _moment(given[1:], "TIMESTAMP")
    if moment is None:
        return None
    if given[0].name == "%w":
        return _fill("CAST(EXTRACT(DOW FROM _0) AS TEXT)", dialect, moment)
    if given[0].name == "%s":
        return _fill("CAST(CAST(EXTRACT(EPOCH FROM _0) AS BIGINT) AS TEXT)", dialect, moment)
    form = _to_char_format(given[0].name, sqlite=True)
    return _fill("TO_CHAR(_0, _1)", dialect, moment, exp.Literal.string(form)) if form else None


def _julianday(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """Days since 4714 BC. PostgreSQL would round where SQLite cuts off when they become a whole number."""
    moment = _moment(node.expressions, "TIMESTAMP")
    if moment is None:
        return None
    cast = node.find_ancestor(exp.Cast, exp.Select)
    if isinstance(cast, exp.Cast) and cast.is_type(*exp.DataType.INTEGER_TYPES) and cast.this.name.upper() != "TRUNC":
        cast.set("this", exp.Anonymous(this="TRUNC", expressions=[cast.this]))
    return _fill("EXTRACT(EPOCH FROM _0) / 86400 + 2440587.5", dialect, moment)


def _plus_of_postgres(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """A text beside an interval would be read as an interval itself."""
    value, interval = node.this, node.expression
    if not isinstance(interval, exp.Interval) or not _is_text(value) or not re.match(r"\d{4}-\d\d-\d\d", value.name):
        return None
    kind = "TIMESTAMP" if _has_time(value) else "DATE"
    node.set("this", _fill(f"CAST(_0 AS {kind})", dialect, value))
    return node


def _iif(node: exp.Expr, dialect: str) -> exp.Expr | None:
    texts = {2: "CASE WHEN _0 THEN _1 END", 3: "CASE WHEN _0 THEN _1 ELSE _2 END"}
    text = texts.get(len(node.expressions))
    return _fill(text, dialect, *node.expressions) if text else None


def _summed_truth(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """SUM(a = b) counts in SQLite and MySQL; PostgreSQL sums no truth values."""
    given = node.expressions
    truths = exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.Is | exp.In | exp.Like | exp.Between | exp.And
    if len(given) != 1 or not isinstance(given[0].unnest(), truths):
        return None
    return _fill(f"{str(node.this).upper()}(CASE WHEN _0 THEN 1 WHEN NOT _0 THEN 0 END)", dialect, given[0])


def _null_or_value(called: str) -> Rule:
    return _by_count({1: "_0 IS NULL", 2: f"{called}(_0, _1)"})


_NAMED_PARTS: dict[str, Rule] = {
    "year": _part_call("year"),
    "quarter": _part_call("quarter"),
    "month": _part_call("month"),
    "day": _part_call("day"),
    "dayofmonth": _part_call("day"),
    "hour": _part_call("hour"),
    "minute": _part_call("minute"),
    "dayofweek": _part_call("weekday"),
    "dayofyear": _part_call("doy"),
    "weekofyear": _part_call("isoweek"),
    "datepart": _date_part,
    "datediff": _date_difference,
    "date_diff": _date_difference,
    "timestampdiff": _full_difference,
    "date_add": _added(1),
    "dateadd": _added(1),
    "adddate": _added(1),
    "timestampadd": _added(1),
    "date_sub": _added(-1),
    "subdate": _added(-1),
    "nvl2": _by_count({3: "CASE WHEN NOT _0 IS NULL THEN _1 ELSE _2 END"}),
    "len": _by_count({1: "LENGTH(_0)"}),
    "ucase": _by_count({1: "UPPER(_0)"}),
    "lcase": _by_count({1: "LOWER(_0)"}),
    "count": _distinct_pairs,
    "CAST": _cast,
    "CONVERT": _converted,
}

_RULES: dict[str, dict[str, Rule]] = {
    "sqlite": {
        **_NAMED_PARTS,
        "second": _part_call("second"),
        "char_length": _by_count({1: "LENGTH(_0)"}),
        "character_length": _by_count({1: "LENGTH(_0)"}),
        "weekday": _by_count({1: f"({_number('%w')} + 6) % 7"}),
        "week": _by_count({1: f"({_number('%j')} + 6 - {_number('%w')}) / 7"}),
        "dayname": _by_count({1: _DAY_NAME}),
        "monthname": _by_count({1: _MONTH_NAME}),
        "EXTRACT": _extract,
        "date_part": _date_part,
        "date_trunc": _truncated_date,
        "datetrunc": _truncated_date,
        "last_day": _by_count({1: "DATE(_0, 'start of month', '+1 month', '-1 day')"}),
        "eomonth": _by_count({1: "DATE(_0, 'start of month', '+1 month', '-1 day')"}),
        "unix_timestamp": _by_count({0: "CAST(STRFTIME('%s', 'now') AS INTEGER)", 1: _number("%s")}),
        "now": _by_count({0: "DATETIME('now')"}),
        "getdate": _by_count({0: "DATETIME('now')"}),
        "getutcdate": _by_count({0: "DATETIME('now')"}),
        "sysdate": _by_count({0: "DATETIME('now')"}),
        "current_timestamp": _by_count({0: "CURRENT_TIMESTAMP"}),
        "curdate": _by_count({0: "DATE('now')"}),
        "current_date": _by_count({0: "CURRENT_DATE"}),
        "today": _by_count({0: "DATE('now')"}),
        "curtime": _by_count({0: "TIME('now')"}),
        "make_date": _by_count({3: "PRINTF('%04d-%02d-%02d', _0, _1, _2)"}),
        "datefromparts": _by_count({3: "PRINTF('%04d-%02d-%02d', _0, _1, _2)"}),
        "to_date": _by_count({1: "DATE(_0)"}),
        "date_format": _formatted("mysql"),
        "to_char": _formatted("postgres"),
        "format": _format_call,
        "strftime": _strftime_of_sqlite,
        "ADD": _plus(1),
        "SUB": _plus(-1),
        "left": _left,
        "right": _right,
        "concat": _concat,
        "concat_ws": _concat_ws,
        "lpad": _padded("left"),
        "rpad": _padded("right"),
        "charindex": _by_count({2: "INSTR(_1, _0)"}),
        "locate": _by_count({2: "INSTR(_1, _0)"}),
        "strpos": _by_count({2: "INSTR(_0, _1)"}),
        "STRPOSITION": lambda node, dialect: _fill("INSTR(_0, _1)", dialect, node.this, node.args["substr"]),
        "isnull": _null_or_value("IFNULL"),
        "nvl": _by_count({2: "IFNULL(_0, _1)"}),
        "greatest": _by_count({count: f"MAX({', '.join(f'_{n}' for n in range(count))})" for count in range(2, 7)}),
        "least": _by_count({count: f"MIN({', '.join(f'_{n}' for n in range(count))})" for count in range(2, 7)}),
        "iif": _by_count({2: "CASE WHEN _0 THEN _1 END"}),
        "string_agg": _string_agg,
        "group_concat": _string_agg,
        "GROUPCONCAT": _string_agg,
        "ILIKE": _like,
        "FETCH": _fetched,
        "INTDIV": lambda node, dialect: _fill("CAST(_0 / _1 AS INTEGER)", dialect, node.this, node.expression),
        "DIV": _divided,
        "SELECT": _distinct_on,
    },
    "postgres": {
        **_NAMED_PARTS,
        "date_format": _formatted("mysql"),
        "strftime": _strftime_of_postgres,
        "julianday": _julianday,
        "datetime": _sqlite_date("TIMESTAMP"),
        "date": _sqlite_date("DATE"),
        "date_trunc": _truncated_date,
        "datetrunc": _truncated_date,
        "last_day": _by_count(
            {1: "CAST(DATE_TRUNC('month', CAST(_0 AS TIMESTAMP)) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"}
        ),
        "getdate": _by_count({0: "CURRENT_TIMESTAMP"}),
        "sysdate": _by_count({0: "CURRENT_TIMESTAMP"}),
        "curdate": _by_count({0: "CURRENT_DATE"}),
        "current_date": _by_count({0: "CURRENT_DATE"}),
        "current_timestamp": _by_count({0: "CURRENT_TIMESTAMP"}),
        "datefromparts": _by_count({3: "MAKE_DATE(_0, _1, _2)"}),
        "ifnull": _by_count({2: "COALESCE(_0, _1)"}),
        "isnull": _null_or_value("COALESCE"),
        "nvl": _by_count({2: "COALESCE(_0, _1)"}),
        "iif": _iif,
        "total": _by_count({1: "CAST(COALESCE(SUM(_0), 0) AS DOUBLE PRECISION)"}),
        "instr": _by_count({2: "STRPOS(_0, _1)"}),
        "charindex": _by_count({2: "STRPOS(_1, _0)"}),
        "locate": _by_count({2: "STRPOS(_1, _0)"}),
        "group_concat": _string_agg,
        "ADD": _plus_of_postgres,
        "SUB": _plus_of_postgres,
        "sum": _summed_truth,
        "avg": _summed_truth,
    },
}


_SIGNS = (
    r"`|\[|==|\bTOP\b|\bFETCH\b|\bILIKE\b|\bINTERVAL\b|\bSEPARATOR\b|\bDIV\b|\bDISTINCT\s+ON\b|\bCONVERT\b|\bDECIMAL\b"
    r"|\bNUMERIC\b|\bNUMBER\b|SIGNED\b|\bDATETIME2\b|\bEXTRACT\b|\bPOSITION\b|\bDISTINCT\b[^()]*,"
)


@cache
def _hints(dialect: str) -> re.Pattern[str]:
    """What stands in every query that may need a change; most have none of it and need not be read."""
    calls = sorted(name for name in _RULES[dialect] if name.islower() and name != "count")
    return re.compile(rf"{_SIGNS}|\b(?:{'|'.join(calls)})\s*\(", re.IGNORECASE)
