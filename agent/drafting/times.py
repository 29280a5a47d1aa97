"""How SQL writes a time that a question names, and the stretch of days that a condition keeps. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

TimeKind = Literal["date", "month", "quarter", "half", "year", "recurring"]
"""What a question's time is; `recurring` is a month of no year."""

Part = Literal["day", "year", "month", "quarter", "year_month", "trunc_year", "trunc_quarter", "trunc_month"]
"""What an expression over a date column gives. `month` and `quarter` are numbers within a year, a `trunc` is a day."""

Clock = Literal["none", "time", " ", "T"]
"""What follows the day in a column: nothing; a time of day, in a real type; or what parts it from the day as text."""

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
Unit = Literal["day", "month", "year"]

_CLOCK = r"(?P<tail>[ T](?P<clock>00:00(?::00(?:\.0+)?)?|23:59(?::59(?:\.9+)?)?))?"
_DAY = re.compile(rf"(?P<day>\d{{4}}-\d\d-\d\d){_CLOCK}\Z")
_MONTHS = {"date": 1, "month": 1, "quarter": 3, "half": 6, "year": 12}


@dataclass(frozen=True, slots=True)
class Time:
    """A time that a question names. The days from `since` to `until` (not included); of `recurring` only the month."""

    kind: TimeKind
    since: date
    until: date


@dataclass(frozen=True, slots=True)
class Bounds:
    """The days that conditions keep: `since` is included, `until` is not, None is open. Or one month of every year."""

    since: date | None = None
    until: date | None = None
    month: int | None = None


@dataclass(frozen=True, slots=True)
class Atom:
    """One comparison of a part of a date with a time as written; `shift` is added to it by the query."""

    part: Part
    operator: Operator
    text: str
    shift: tuple[int, Unit] | None = None


def time_of(kind: str, value: str) -> Time | None:
    """Read a time as grounding notes it (`1997`, `1997-03`, `1997-Q1`, `1997-H1`, `1997-03-05`, `03`), or None.

    >>> time_of("quarter", "1997-Q4").until, time_of("month", "03").kind
    (datetime.date(1998, 1, 1), 'recurring')
    """
    try:
        if kind == "month" and re.fullmatch(r"\d\d", value):
            return Time("recurring", date(2000, int(value), 1), _later(date(2000, int(value), 1), 1))
        if kind == "date":
            day = date.fromisoformat(value)
            return Time("date", day, day + timedelta(days=1))
        if kind == "month" and re.fullmatch(r"\d{4}-\d\d", value):
            first = date.fromisoformat(f"{value}-01")
            return Time("month", first, _later(first, 1))
        if kind in ("quarter", "half") and (match := re.fullmatch(r"(\d{4})-[QH]([1-4])", value)):
            first = date(int(match[1]), (int(match[2]) - 1) * _MONTHS[kind] + 1, 1)
            return Time("quarter" if kind == "quarter" else "half", first, _later(first, _MONTHS[kind]))
        if kind == "year" and re.fullmatch(r"\d{4}", value):
            return Time("year", date(int(value), 1, 1), date(int(value) + 1, 1, 1))
    except (ValueError, OverflowError):
        pass
    return None


def forms(part: Part, kind: TimeKind) -> tuple[str, ...]:
    """The ways in which a part of a date can stand for a time of this kind. No two of them ever write the same.

    `first`, `last`, `next` and `before` are days; `month3` is the third month of the time.

    >>> forms("day", "year"), forms("year_month", "quarter"), forms("month", "recurring")
    (('first', 'last', 'next', 'before'), ('month1', 'month2', 'month3'), ('month1',))
    """
    if kind == "recurring":
        return ("month1",) if part == "month" else ()
    if part == "day":
        return ("first", "next", "before") if kind == "date" else ("first", "last", "next", "before")
    if part == "year":
        return ("year",)
    if part == "quarter":
        return ("quarter",) if kind == "quarter" else ()
    if part in ("month", "year_month"):
        whole = kind == "year" and part == "month"
        return () if whole else tuple(f"month{nth + 1}" for nth in range(_MONTHS[kind]))
    return ("first",)


def written(time: Time, form: str) -> date:
    """The day that a form stands for: for a year or a month the first of it.

    >>> written(time_of("year", "1997"), "last")
    datetime.date(1997, 12, 31)
    """
    if form == "last":
        return time.until - timedelta(days=1)
    if form == "next":
        return time.until
    if form == "before":
        return time.since - timedelta(days=1)
    if form.startswith("month"):
        first = time.since.replace(day=1)
        return _later(first, int(form.removeprefix("month")) - 1)
    return time.since


def as_text(day: date, part: Part, *, quoted: bool) -> str:
    """Write a day as a part of a date is compared: text in ISO form, numbers plain.

    >>> as_text(date(1997, 3, 1), "month", quoted=True), as_text(date(1997, 3, 1), "month", quoted=False)
    ('03', '3')
    """
    if part == "year":
        return f"{day.year:04d}"
    if part == "month":
        return f"{day.month:02d}" if quoted else str(day.month)
    if part == "quarter":
        return str((day.month + 2) // 3)
    return day.isoformat()[:7] if part == "year_month" else day.isoformat()


def split_clock(text: str) -> tuple[str, str]:
    """A day and the time of day behind it, `""` for none. Only the first and the last moment of a day are read.

    >>> split_clock("1997-12-31 23:59:59"), split_clock("1997-12-31 12:00")
    (('1997-12-31', ' 23:59:59'), ('1997-12-31 12:00', ''))
    """
    match = _DAY.match(text)
    return (match["day"], match["tail"] or "") if match else (text, "")


def fits_clock(form: str, operator: Operator, tail: str, clock: Clock) -> bool:
    """Whether a day, with what follows it, parts the dates of a column where the days part.

    Dates with a time of day lie behind their day as text and as times: only `>=` and `<` take whole days of them, or
    the last moment of a day. Dates without one, kept as text, lie before the first moment of their own day.

    >>> [fits_clock("last", "<=", tail, clock) for tail in ("", " 23:59:59") for clock in ("none", " ", "T")]
    [True, False, False, True, True, False]
    """
    if "23:59" in tail:
        return operator in ("<=", ">") and form in ("last", "before") and clock in ("none", "time", tail[0])
    if tail and clock == "none":
        return False
    return operator in ("<", ">=") or (clock == "none" and not tail)


def bounds(atoms: Iterable[Atom]) -> Bounds | None:
    """The days that all the conditions together keep; None where they keep no plain stretch.

    Days count as wholes: `<= '1997-12-31'` keeps all of that day.

    >>> bounds([Atom("year", "=", "1997"), Atom("month", "=", "03")])
    Bounds(since=datetime.date(1997, 3, 1), until=datetime.date(1997, 4, 1), month=None)
    """
    since: date | None = None
    until: date | None = None
    months: set[int] | None = None
    for atom in atoms:
        if atom.part in ("month", "quarter"):
            own = _numbers(atom)
            if own is None:
                return None
            months = own if months is None else months & own
            continue
        unit = _unit(atom)
        if unit is None:
            return None
        start, end = unit
        if atom.operator in ("=", "<>", ">="):
            since = start if since is None else max(since, start)
        if atom.operator == ">":
            since = end if since is None else max(since, end)
        if atom.operator in ("=", "<>", "<="):
            until = end if until is None else min(until, end)
        if atom.operator == "<":
            until = start if until is None else min(until, start)
    if months is None:
        return Bounds(since, until)
    return _of_months(months, since, until)


def union(atoms: Iterable[Atom]) -> Bounds | None:
    """The days of a list of times (`IN`), None where they leave gaps.

    >>> union([Atom("month", "=", "02"), Atom("month", "=", "02")])
    Bounds(since=None, until=None, month=2)
    """
    found = [bounds([atom]) for atom in atoms]
    stretches = sorted({(one.since, one.until, one.month) for one in found if one is not None}, key=str)
    if not stretches or None in found:
        return None
    since, until, month = stretches[0]
    for start, end, other in stretches[1:]:
        if start != until or other is not None or month is not None:
            return None
        until = end
    return Bounds(since, until, month)


def months_in(atoms: Iterable[Atom]) -> frozenset[int] | None:
    """The months of every year that a list of months or quarters names."""
    found: set[int] = set()
    for atom in atoms:
        numbers = _numbers(atom) if atom.part in ("month", "quarter") else None
        if numbers is None:
            return None
        found |= numbers
    return frozenset(found)


def _of_months(months: set[int], since: date | None, until: date | None) -> Bounds | None:
    if not months or months != set(range(min(months), max(months) + 1)):
        return None
    if since is None and until is None:
        return Bounds(month=min(months)) if len(months) == 1 else None
    if since is None or until is None or (until.year, since.month, since.day) != (since.year + 1, 1, 1):
        return None
    if (until.month, until.day) != (1, 1):
        return None
    return Bounds(date(since.year, min(months), 1), _later(date(since.year, max(months), 1), 1))


def _numbers(atom: Atom) -> set[int] | None:
    """The months of a year that a comparison of its month or quarter keeps."""
    if not atom.text.isdigit():
        return None
    number = int(atom.text)
    most = 12 if atom.part == "month" else 4
    kept = {
        "=": {number}, "<>": {number}, "<": set(range(1, number)), "<=": set(range(1, number + 1)),
        ">": set(range(number + 1, most + 1)), ">=": set(range(number, most + 1)),
    }[atom.operator]  # fmt: skip
    if not kept or not kept <= set(range(1, most + 1)):
        return None
    return kept if atom.part == "month" else {month for q in kept for month in range(3 * q - 2, 3 * q + 1)}


def _unit(atom: Atom) -> tuple[date, date] | None:
    """The first day of what is compared, and the day after its last."""
    try:
        if atom.part == "year":
            first = date(int(atom.text), 1, 1)
            return None if atom.shift else (first, _later(first, 12))
        if atom.part == "year_month":
            first = date.fromisoformat(f"{atom.text}-01")
            return None if atom.shift else (first, _later(first, 1))
        first = date.fromisoformat(split_clock(atom.text)[0])
        if atom.shift:
            first = _shifted(first, *atom.shift)
        if atom.part == "day":
            return first, first + timedelta(days=1)
        months = {"trunc_year": 12, "trunc_quarter": 3}.get(atom.part, 1)
        begins = first.day == 1 and (first.month - 1) % months == 0
        return (first, _later(first, months)) if begins else None
    except (ValueError, OverflowError):
        return None


def _shifted(day: date, number: int, unit: Unit) -> date:
    """A day moved, in steps that mean the same from any day they can be taken from. Raises ValueError otherwise."""
    if unit == "day":
        if abs(number) > 1:
            raise ValueError("so many days are a month or a year only by chance")
        return day + timedelta(days=number)
    if day.day != 1:
        raise ValueError("a month from any day but the first may end short")
    return _later(day, number * (12 if unit == "year" else 1))


def _later(first: date, months: int) -> date:
    """The first day of the month `months` after."""
    return date(first.year + (first.month - 1 + months) // 12, (first.month - 1 + months) % 12 + 1, 1)
