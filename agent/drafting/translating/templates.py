"""Texts of SQL with holes, what is put into them, and how arguments are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from sqlglot import exp

from agent.database.dialects import dialect as guarded
from agent.drafting.translating.reading import read_one

Rule = Callable[[exp.Expr, str], "exp.Expr | None"]
"""Gives what a node becomes in a dialect; None leaves it as it is. It may change the node and give it back."""


@cache
def _template(text: str, dialect: str) -> exp.Expr:
    tree = read_one(f"SELECT {text}", guarded(dialect))
    assert isinstance(tree, exp.Select), text
    made: exp.Expr = tree.expressions[0]
    return made


def filled_in(text: str, dialect: str, *values: exp.Expr) -> exp.Expr:
    """Put values in the places `_0`, `_1` … of a text of SQL."""
    made = _template(text, dialect).copy()
    holes = [node for node in made.find_all(exp.Column) if re.fullmatch(r"_\d", node.name)]
    for node in holes:
        value = bracketed(values[int(node.name[1:])].copy(), node)
        if node is made:
            made = value
        else:
            node.replace(value)
    return made


def bracketed(value: exp.Expr, place: exp.Expr) -> exp.Expr:
    """Keep a value together where operators stand beside it."""
    tight = exp.Binary | exp.Unary | exp.Between | exp.In
    beside = isinstance(place.parent, tight) and not isinstance(place.parent, exp.Paren | exp.Connector)
    loose = isinstance(value, exp.Binary | exp.Unary | exp.Predicate) and not isinstance(value, exp.Paren | exp.Func)
    return exp.Paren(this=value) if beside and loose else value


def by_count(templates: Mapping[int, str]) -> Rule:
    """A rule for a call that is another text for each number of arguments."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        text = templates.get(len(node.expressions))
        return filled_in(text, dialect, *node.expressions) if text is not None else None

    return rule


def unit_of(node: exp.Expr | None) -> str:
    """The unit that an argument names, as `month`, `'month'` or `MONTHS`; `""` where it is none."""
    if isinstance(node, exp.Column) and node.args.get("table") is not None:
        return ""
    if not isinstance(node, exp.Column | exp.Var | exp.Literal) or (
        isinstance(node, exp.Literal) and not node.is_string
    ):
        return ""
    word = node.name.lower()
    word = UNITS.get(word, word)
    return word if word in UNITS.values() else ""


UNITS = {
    "yy": "year", "yyyy": "year", "years": "year", "year": "year", "q": "quarter", "qq": "quarter",
    "quarter": "quarter", "quarters": "quarter", "mm": "month", "m": "month", "mon": "month", "month": "month",
    "months": "month", "week": "week", "weeks": "week", "ww": "week", "wk": "week", "iso_week": "isoweek",
    "isowk": "isoweek", "isoweek": "isoweek", "day": "day", "days": "day", "dd": "day", "d": "day",
    "dayofmonth": "day", "hour": "hour", "hours": "hour", "hh": "hour", "minute": "minute", "minutes": "minute",
    "mi": "minute", "n": "minute", "second": "second", "seconds": "second", "ss": "second", "s": "second",
    "dow": "dow", "isodow": "isodow", "doy": "doy", "dayofyear": "doy", "dy": "doy", "weekday": "weekday",
    "dw": "weekday", "dayofweek": "weekday", "epoch": "epoch", "year_month": "year_month",
}  # fmt: skip


def is_text(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def whole_number(node: exp.Expr | None) -> int | None:
    """The whole number that a literal is, with its sign; a quoted one too."""
    sign = 1
    while isinstance(node, exp.Neg | exp.Paren):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if isinstance(node, exp.Literal) and re.fullmatch(r"[-+]?\d{1,9}", node.name.strip()):
        return sign * int(node.name)
    return None
