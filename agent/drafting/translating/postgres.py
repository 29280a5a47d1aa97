"""What SQLite has and PostgreSQL says otherwise: its dates, and truth values that are summed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from agent.drafting.translating.formats import to_char_format
from agent.drafting.translating.steps import has_time
from agent.drafting.translating.templates import Rule, filled_in, is_text


def _moment(values: Sequence[exp.Expr], kind: str) -> exp.Expr | None:
    """A time value of SQLite with its modifiers, as a DATE or TIMESTAMP of PostgreSQL."""
    if not values:
        return filled_in(f"CAST(CURRENT_TIMESTAMP AS {kind})", "postgres")
    first = values[0]
    if is_text(first) and first.name.lower() == "now":
        made = filled_in("CAST(CURRENT_TIMESTAMP AS TIMESTAMP)", "postgres")
    else:
        made = filled_in(f"CAST(_0 AS {kind if len(values) == 1 else 'TIMESTAMP'})", "postgres", first)
    for modifier in values[1:]:
        text = modifier.name.strip().lower() if is_text(modifier) else ""
        step = re.fullmatch(r"([-+]?)(\d+) (day|month|year|hour|minute|second)s?", text)
        if step:
            sign = "-" if step[1] == "-" else "+"
            made = filled_in(f"_0 {sign} INTERVAL '{step[2]} {step[3]}'", "postgres", made)
        elif text.startswith("start of ") and text[9:] in ("day", "month", "year"):
            made = filled_in(f"DATE_TRUNC('{text[9:]}', _0)", "postgres", made)
        elif text in ("localtime", "utc"):
            continue
        else:
            return None
    if kind == "DATE" and (len(values) > 1 or (is_text(first) and first.name.lower() == "now")):
        made = filled_in("CAST(_0 AS DATE)", "postgres", made)
    return made


def sqlite_date(kind: str) -> Rule:
    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        if kind == "DATE" and len(node.expressions) == 1:
            return None
        return _moment(node.expressions, kind)

    return rule


def strftime_of_postgres(node: exp.Expr, dialect: str) -> exp.Expr | None:
    given = list(node.expressions)
    if len(given) == 2 and not is_text(given[0]) and is_text(given[1]):
        given = given[::-1]
    if not given or not is_text(given[0]):
        return None
    moment = _moment(given[1:], "TIMESTAMP")
    if moment is None:
        return None
    if given[0].name == "%w":
        return filled_in("CAST(EXTRACT(DOW FROM _0) AS TEXT)", dialect, moment)
    if given[0].name == "%s":
        return filled_in("CAST(CAST(EXTRACT(EPOCH FROM _0) AS BIGINT) AS TEXT)", dialect, moment)
    form = to_char_format(given[0].name, sqlite=True)
    return filled_in("TO_CHAR(_0, _1)", dialect, moment, exp.Literal.string(form)) if form else None


def julianday(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """Days since 4714 BC. PostgreSQL would round where SQLite cuts off when they become a whole number."""
    moment = _moment(node.expressions, "TIMESTAMP")
    if moment is None:
        return None
    cast = node.find_ancestor(exp.Cast, exp.Select)
    if isinstance(cast, exp.Cast) and cast.is_type(*exp.DataType.INTEGER_TYPES) and cast.this.name.upper() != "TRUNC":
        cast.set("this", exp.Anonymous(this="TRUNC", expressions=[cast.this]))
    return filled_in("EXTRACT(EPOCH FROM _0) / 86400 + 2440587.5", dialect, moment)


def plus_of_postgres(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """A text beside an interval would be read as an interval itself."""
    value, interval = node.this, node.expression
    if not isinstance(interval, exp.Interval) or not is_text(value) or not re.match(r"\d{4}-\d\d-\d\d", value.name):
        return None
    kind = "TIMESTAMP" if has_time(value) else "DATE"
    node.set("this", filled_in(f"CAST(_0 AS {kind})", dialect, value))
    return node


def iif(node: exp.Expr, dialect: str) -> exp.Expr | None:
    texts = {2: "CASE WHEN _0 THEN _1 END", 3: "CASE WHEN _0 THEN _1 ELSE _2 END"}
    text = texts.get(len(node.expressions))
    return filled_in(text, dialect, *node.expressions) if text else None


def summed_truth(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """SUM(a = b) counts in SQLite and MySQL; PostgreSQL sums no truth values."""
    given = node.expressions
    truths = exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.Is | exp.In | exp.Like | exp.Between | exp.And
    if len(given) != 1 or not isinstance(given[0].unnest(), truths):
        return None
    return filled_in(f"{str(node.this).upper()}(CASE WHEN _0 THEN 1 WHEN NOT _0 THEN 0 END)", dialect, given[0])
