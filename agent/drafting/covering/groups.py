"""Whether a query has the groups that its question asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, is_aggregate, name_of, own_columns
from agent.keys import qualified
from agent.periods import grain_of

_APART = re.compile(
    r"\b(?:per|each|every|apiece|respectively|(?:dai|week|month|quarter|year)ly|annual|broken down|split|breakdown"
    r"|grouped|for all|across)\b",
    re.IGNORECASE,
)
_BY = r"(?<!ed )(?<!t )by (?:the )?<(?:tables?|column|part)>"
_PARTED = re.compile(r"\b(?:per|each|every|(?P<by>by))\s+(?:the\s+)?", re.IGNORECASE)
_SPLIT = re.compile(r"\b(?:per|(?<!ed )(?<!d )by|each|every)\s+(?:the\s+|our\s+)?(?:\w+\s+)?\Z", re.IGNORECASE)
_ADDING = frozenset({"sum", "total", "count", "avg"})
_UNITS = {
    "year": frozenset({"year", "year_month", "trunc_year", "trunc_quarter", "trunc_month", "day"}),
    "quarter": frozenset({"quarter", "trunc_quarter", "month", "year_month", "trunc_month"}),
    "month": frozenset({"month", "year_month", "trunc_month"}),
    "day": frozenset({"day"}),
}


def groups(case: Case) -> Iterator[str]:
    """One row per group where the question says so, and no column beside an aggregate that belongs to no group."""
    grouped = any(one.args.get("group") is not None for one in case.selects)
    parted = (case.says(_APART) or case.reading.has(_BY) or case.kind == "over_time") and not _is_one(case)
    if not grouped and parted and case.kind in ("by_group", "top_per_group", "over_time"):
        apart = case.tree.find(exp.Window, exp.Subquery, exp.SetOperation, exp.Exists, exp.CTE, exp.Case)
        if apart is None and case.called & (_ADDING | {"min", "max"}):
            yield "the question asks for each group, the query gives one row (GROUP BY)"
    unit = grain_of(case.question)
    if (
        case.tree.find(exp.Case) is None
        and unit in _UNITS
        and case.grounding.grouping
        and case.kind in ("over_time", "running", "by_group")
    ):
        parts = {
            found.part
            for node in case.tree.walk()
            if not isinstance(node, exp.Literal) and (found := case.names.date_part(node)) is not None
        }
        if not parts & _UNITS[unit] and not (unit == "year" and parts):
            yield f"the question goes by {unit} ({case.grounding.grouping})"
    for select in case.selects:
        yield from _bare_columns(case, select)


def _is_one(case: Case) -> bool:
    """Whether one row answers: the average of all rows (`units per order line`), or a date that a time is told by."""
    averaged = {
        column[0]
        for call in case.tree.find_all(exp.Anonymous)
        if name_of(call) == "avg" and is_aggregate(call)
        for node in own_columns(call)
        if (column := case.names.column(node)) is not None
    }
    dated = {found.column for one in case.compared if (found := case.names.date_part(one.other)) is not None}
    parted = list(_PARTED.finditer(case.question))
    for match in parted:
        meant = [link for link in case.asked if link.start == match.end()]
        if match["by"] is None:
            one = any(link.table in averaged and link.column is None for link in meant)
        else:
            one = any((each.table, each.column) in dated for k in meant for each in case.stretches[k.start, k.end])
        if not one:
            return False
    return bool(parted)


def _bare_columns(case: Case, select: exp.Select) -> Iterator[str]:
    """A column beside SUM, COUNT or AVG without GROUP BY is that of any row; beside one MIN or MAX it is its own."""
    if select.args.get("group") is not None:
        return
    made = [[node for node in case.own(select, [one]) if is_aggregate(node)] for one in select.expressions]
    calls = [call for found in made for call in found]
    if any(isinstance(call.parent, exp.Window) for call in calls):
        return
    adding = [call for call in calls if name_of(call) in _ADDING]
    if not adding and len({call.sql() for call in calls}) < 2:
        return
    for one, found in zip(select.expressions, made, strict=True):
        if not found and any(isinstance(node, exp.Column) for node in case.own(select, [one])):
            yield f"{one.unalias().sql()} stands beside an aggregate without GROUP BY"
            return


def split_by(case: Case) -> Iterator[str]:
    """What the groups are made by is used."""
    for link in case.asked:
        before = case.question[: link.start]
        named = link.kind == "column" or (link.kind == "term" and link.role == "column")
        if not named or link.quality != "exact" or link.verb or not _SPLIT.search(before):
            continue
        meanings = [(one.table, one.column) for one in case.stretches[link.start, link.end] if one.table and one.column]
        if meanings and not any(case.uses(column) or case.is_alike(column) for column in meanings):
            name = qualified(link.table or "", link.column or "", case.lexicon.schema.dialect)
            yield f"{link.text!r} of the question is not used ({name})"
