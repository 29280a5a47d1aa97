"""Whether the times of a question bound a date in the query, and keep the days that are meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from sqlglot import exp

from agent.drafting.covering.case import Case
from agent.drafting.literals import Column
from agent.drafting.operands import Compared, DatePart, conjunction
from agent.drafting.times import Atom, Bounds, Clock, Part, bounds, fits_clock, months_in, split_clock, union
from agent.keys import qualified
from agent.periods import Period, filter_sql
from agent.wording import tokens

_PART_OF = re.compile(
    r"\b(?:(?:(?:first|last|final|second|third|early|late|two|three|four|five|six|\d+)\s+)+(?:days?|weeks?|months?|quarters?)"
    r"|half|halves|summer|winter|spring|autumn|christmas|ends?|start|beginning|early|late|mid|middle)"
    r"(?:\s+(?:of|in|the|calendar|year))*\s*\Z",
    re.IGNORECASE,
)
_LESS = re.compile(
    r"\b(?:(?:(?:first|last|final)\s+)(?:\w+\s+)?(?:days?|weeks?|months?|quarters?)"
    r"|summer|winter|spring|autumn|christmas|ends?|start|beginning|early|late|mid|middle)"
    r"(?:\s+(?:of|in|the|calendar|year))*\s*\Z",
    re.IGNORECASE,
)
_UP_TO = re.compile(
    r"\b(?:since|until|till|by|from|through|to|before|after|at|than|up)\s+(?:the\s+)?(?:very\s+)?\Z", re.IGNORECASE
)
_BEFORE = re.compile(r"\b(?:before|earlier|previous\w*|first|until then|prior|so far)\b", re.IGNORECASE)
_FROM_DAY = re.compile(
    r"\b(?P<day>\d{1,2})(?:st|nd|rd|th)?\s*(?:to|and|until|till|through|-|\u2013)\s*(?:the\s+)?\Z", re.IGNORECASE
)
_FROM_MONTH = re.compile(
    r"\b(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\s*(?:to|and|until|till|through|-|\u2013)\s*\Z",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:together|combined|in all|in total|altogether|from|between)\b", re.IGNORECASE)
_MONTH = timedelta(days=28)
_LIKE = re.compile(r"(\d{4}(?:-\d\d){0,2})-?%?\Z")
_LIKE_PARTS: dict[int, Part] = {4: "year", 7: "year_month", 10: "day"}


@dataclass(frozen=True, slots=True)
class _Timed:
    """A time that a part of a date is held against."""

    compared: Compared
    date: DatePart
    atom: Atom


def times(case: Case) -> Iterator[str]:
    """Each time of the question bounds a date, and where it can be told the days kept are those that are meant."""
    meant = [period for period in case.grounding.periods if not _is_among(case, period)]
    if not meant or (len(meant) > 2 and "count" in case.called):
        return
    found = _timed(case)
    if any(period.since and period.until and period.since >= period.until for period in meant):
        return
    for period in meant:
        if not _is_written(case, period) and not _is_always(case, period):
            yield f"{period.text!r} of the question is in no condition{_wanted(case, period)}"
            return
    yield from _other_column(case, found)
    groups: dict[object, list[_Timed]] = {}
    for timed in found:
        source = timed.compared.other.find(exp.Column)
        qualifier = source.table if source is not None else ""
        group = (id(conjunction(timed.compared.node)), timed.date.column, qualifier)
        groups.setdefault(group, []).append(timed)
    if not groups or _goes_by_more(case):
        return
    ends = _ends(case, found[0].date.column)
    kept = [_kept(group) for group in groups.values()]
    stretches = [_clamped(one, ends) for one in kept if one is not None]
    if len(stretches) < len(kept):
        return
    wholes = [_clamped(_meant(case, period), ends) for period in meant]
    before = [case.question[: period.start] for period in meant]
    part = any(_PART_OF.search(text) or text.endswith(("/", "-", ".")) for text in before)
    for stretch in stretches if not case.says(_BEFORE) and not any(text.endswith("/") for text in before) else ():
        if not any(_meet(stretch, whole) or _is_other_side(case, stretch, whole) for whole in wholes):
            yield f"a condition keeps no day of {meant[0].text!r}{_wanted(case, meant[0])}"
            return
    if part:
        yield from _too_much(case, meant[0], stretches, wholes)
        return
    if len(meant) > 1:
        yield from _each(case, meant, stretches, wholes)
        return
    period, whole = meant[0], wholes[0]
    if whole in stretches or _together(stretches) == whole:
        wrong = [timed for timed in found if not _on_the_day(case, timed)]
        if wrong:
            one = wrong[0].compared
            yield f"{one.node.sql()} cuts the last day of {period.text!r} off{_wanted(case, period)}"
        return
    if len(groups) == 1 and not _is_other_side(case, stretches[0], whole):
        yield f"the days kept are not those of {period.text!r}{_wanted(case, period)}"


def _too_much(case: Case, period: Period, stretches: Sequence[Bounds], wholes: Sequence[Bounds]) -> Iterator[str]:
    """`early 1997`, `the first two weeks of 1998` are less than the time itself."""
    before = case.question[: period.start].removesuffix("-")
    match = _LESS.search(before)
    linked = any(match is not None and link.start <= match.start() < link.end for link in case.grounding.chosen)
    if match is None or linked or len(wholes) > 1 or _UP_TO.search(before[: match.start()]) or _parts(case):
        return
    if wholes[0] in stretches or _together(stretches) == wholes[0]:
        yield f"{match[0].strip()!r} of the question is less than all of {period.text!r}, which the query keeps"


def _goes_by_more(case: Case) -> bool:
    """Whether a part of a date is held against something that is not read here, as the day of a month."""
    dates = {(one.table, one.column) for one in case.lexicon.date_columns}
    return any(
        case.names.date_part(one.other) is None and case.names.column(inner) in dates
        for one in case.compared
        for inner in one.other.find_all(exp.Column)
        if not isinstance(one.other, exp.Subquery)
    )


def _meant(case: Case, period: Period) -> Bounds:
    """The days of a period; from the first day in `from 1 to 14 October 1997`."""
    match = _FROM_DAY.search(case.question[: period.start])
    since, until = period.since, period.until
    if match is not None and since is not None and until is not None and until - since == timedelta(days=1):
        try:
            since = since.replace(day=int(match["day"]))
        except ValueError:
            since = period.since
    match = _FROM_MONTH.search(case.question[: period.start])
    if match is not None and since is not None and until is not None and _MONTH <= until - since < 2 * _MONTH:
        first = 1 + "janfebmaraprmayjunjulaugsepoctnovdec".index(match["month"][:3].lower()) // 3
        since = since.replace(month=first) if first <= since.month else since
    return Bounds(since, until, period.month)


def _is_always(case: Case, period: Period) -> bool:
    """Whether every date there is lies in a period, so that no condition is needed."""
    if case.grounding.date_column is None:
        return False
    ends = _ends(case, case.grounding.date_column)
    return (
        period.month is None and ends.since is not None and _clamped(Bounds(period.since, period.until), ends) == ends
    )


def _is_among(case: Case, period: Period) -> bool:
    """Whether a month of any year is one of those of another time, month by month: `1997 by month, from January on`."""
    others = [one for one in case.grounding.periods if one.month is None]
    monthly = _parts(case) & {"month", "year_month", "trunc_month"}
    return period.month is not None and bool(monthly) and any(_is_written(case, other) for other in others)


def _is_other_side(case: Case, one: Bounds, other: Bounds) -> bool:
    """Whether a stretch is what lies before or behind a time that the question leaves out."""
    touches = (one.until is not None and one.until == other.since) or (
        one.since is not None and one.since == other.until
    )
    return touches and bool(case.grounding.negations)


def _meet(one: Bounds, other: Bounds) -> bool:
    """Whether two stretches share a day, as far as can be told."""
    if one.month is not None or other.month is not None:
        return one.month is None or other.month is None or one.month == other.month
    early = one.until is None or other.since is None or other.since < one.until
    late = other.until is None or one.since is None or one.since < other.until
    return early and late


def _each(case: Case, meant: Sequence[Period], stretches: Sequence[Bounds], wholes: Sequence[Bounds]) -> Iterator[str]:
    """Several times, each of which has its own stretch, unless the query goes by time anyway."""
    joined = case.kind != "compare" or case.says(_JOINED)
    if joined and (_hull(wholes) in stretches or _together(stretches) == _together(wholes) is not None):
        return
    if _parts(case) - {"day"} or any(period.month is not None for period in meant):
        return
    for period, whole in zip(meant, wholes, strict=True):
        if whole not in stretches and not any(other != whole and _lies_in(other, whole) for other in wholes):
            yield f"no condition keeps just the days of {period.text!r}{_wanted(case, period)}"
            return


def _hull(wholes: Sequence[Bounds]) -> Bounds | None:
    """From the first day of several times to the last."""
    starts = [one.since for one in wholes if one.since is not None]
    stops = [one.until for one in wholes if one.until is not None]
    return Bounds(min(starts), max(stops)) if len(starts) == len(stops) == len(wholes) else None


def _lies_in(one: Bounds, other: Bounds) -> bool:
    if one.since is None or one.until is None or other.since is None or other.until is None:
        return False
    return other.since <= one.since and one.until <= other.until


def _parts(case: Case) -> set[str]:
    """The parts of dates that the query shows or groups by."""
    held = {id(one.other) for one in case.compared}
    return {
        found.part
        for node in case.tree.find_all(exp.Anonymous, exp.Cast, exp.Extract, exp.Div)
        if id(node) not in held and node.find_ancestor(exp.Where) is None and node.find_ancestor(exp.If) is None
        if (found := case.names.date_part(node)) is not None
    }


def _other_column(case: Case, found: Sequence[_Timed]) -> Iterator[str]:
    """A time bounds another date than the one that the words around it name."""
    used = {timed.date.column for timed in found}
    if len(used) != 1:
        return
    column = next(iter(used))
    words = {(one.table, one.column): one.words for one in case.lexicon.date_columns}
    own = words.get(column, frozenset())
    if not own or own & case.said:
        return
    named = [link for link in case.grounding.chosen if link.kind == "table" or link.role == "entity"]
    named = [link for link in named if not link.verb]
    inside = {token.stem for link in named for token in tokens(link.text)}
    for other, theirs in words.items():
        if other[0] == column[0] and theirs and theirs <= case.said - inside:
            here, there = (qualified(*one, case.lexicon.schema.dialect) for one in (column, other))
            yield f"the question does not speak of {here}, but of {there}"
            return


def _ends(case: Case, column: Column) -> Bounds:
    """The days from the first of a column to the last."""
    for one in case.lexicon.date_columns:
        if (one.table, one.column) == column and one.minimum and one.maximum:
            try:
                first, last = date.fromisoformat(one.minimum[:10]), date.fromisoformat(one.maximum[:10])
                return Bounds(first, last + timedelta(days=1))
            except (ValueError, OverflowError):
                return Bounds()
    return Bounds()


def _clamped(stretch: Bounds, ends: Bounds) -> Bounds:
    """A stretch without what lies before the first day there is, or behind the last."""
    if stretch.month is not None or ends.since is None or ends.until is None:
        return stretch
    since = ends.since if stretch.since is None else max(stretch.since, ends.since)
    return Bounds(since, ends.until if stretch.until is None else min(stretch.until, ends.until))


def _wanted(case: Case, period: Period) -> str:
    dated = case.grounding.date_column
    return f" ({filter_sql(period, *dated, case.lexicon.schema.dialect)})" if dated is not None else ""


def _is_written(case: Case, period: Period) -> bool:
    """Whether any literal of the query is of that time."""
    texts = [literal.name for literal in case.literals]
    if period.month is not None:
        month = period.month
        return any(
            re.search(rf"(?<!\d)0?{month}(?!\d)", text) or re.search(rf"-{month:02d}(?:-|%|\Z)", text) for text in texts
        )
    days = [day for day in (period.since, period.until) if day is not None]
    years = {day.year for day in days} | {day.year - 1 for day in days} | {day.year + 1 for day in days}
    return any(str(year) in text for year in years for text in texts)


def _timed(case: Case) -> list[_Timed]:
    found = []
    for one in case.compared:
        date = case.names.date_part(one.other)
        if date is None:
            continue
        text, part = one.literal.name, date.part
        if one.how == "like":
            match = _LIKE.match(text)
            if match is None or part != "day":
                continue
            text, part = match[1], _LIKE_PARTS[len(match[1])]
        found.append(_Timed(one, date, Atom(part, one.operator, text, one.shift)))
    return found


def _kept(group: Sequence[_Timed]) -> Bounds | None:
    listed = [timed for timed in group if timed.compared.how == "listed"]
    if not listed:
        return bounds(timed.atom for timed in group)
    if len({id(timed.compared.node) for timed in listed}) != 1:
        return None
    if len(listed) == len(group) and listed[0].date.part not in ("month", "quarter"):
        return union(timed.atom for timed in group)
    months = months_in(timed.atom for timed in listed)
    if months is None or months != set(range(min(months), max(months) + 1)):
        return None
    atoms = [timed.atom for timed in group if timed not in listed]
    return bounds([*atoms, Atom("month", ">=", str(min(months))), Atom("month", "<=", str(max(months)))])


def _together(stretches: Sequence[Bounds | None]) -> Bounds | None:
    """The one stretch that several make side by side."""
    known = sorted((one for one in stretches if one and one.since and one.until), key=lambda one: str(one.since))
    if len(known) != len(stretches) or not known:
        return None
    for one, other in pairwise(known):
        if one.until != other.since:
            return None
    return Bounds(known[0].since, known[-1].until)


def _on_the_day(case: Case, timed: _Timed) -> bool:
    """Whether a day parts the dates of its column where the days part: `<=` leaves out what has a time of day."""
    one = timed.compared
    if timed.date.part != "day" or timed.date.whole or one.how == "like":
        return True
    clock = _clock(case, timed.date.column)
    if clock is None:
        return True
    _, tail = split_clock(one.literal.name)
    return one.operator in ("<", ">=", "<>") or fits_clock("last", one.operator, tail, clock)


def _clock(case: Case, column: Column) -> Clock | None:
    """What follows the day in a date column; None where it cannot be told."""
    schema = case.lexicon.schema
    if schema.dialect != "sqlite":
        types = {(t.name, c.name): c.type.lower() for t in schema.tables for c in t.columns}
        return "none" if types.get(column) == "date" else "time"
    ends = next(((d.minimum, d.maximum) for d in case.lexicon.date_columns if (d.table, d.column) == column), ())
    marks = {end[10:11] for end in ends if end}
    if not marks or not marks <= {"", " ", "T"} or len(marks - {""}) > 1:
        return None
    marks.discard("")
    return "none" if not marks else " " if marks == {" "} else "T"
