"""Times as SQL writes them, and the days that conditions keep."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent.drafting.times import (
    Atom,
    Bounds,
    Part,
    as_text,
    bounds,
    forms,
    months_in,
    split_clock,
    time_of,
    union,
    written,
)

PARTS: tuple[Part, ...] = (
    "day",
    "year",
    "month",
    "quarter",
    "year_month",
    "trunc_year",
    "trunc_quarter",
    "trunc_month",
)
TIMES = [
    ("year", "1997"),
    ("half", "1997-H2"),
    ("quarter", "1997-Q4"),
    ("month", "1997-12"),
    ("month", "03"),
    ("date", "1996-02-29"),
]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("year", "97"),
        ("year", "0000"),
        ("year", "9999"),
        ("month", "1997-13"),
        ("month", "13"),
        ("month", "1997"),
        ("quarter", "1997-Q5"),
        ("half", "1997-H3"),
        ("date", "1997-02-29"),
        ("date", "yesterday"),
        ("number", "5"),
        ("value", "Germany"),
    ],
)
def test_what_is_no_time_is_none(kind: str, value: str) -> None:
    assert time_of(kind, value) is None


@pytest.mark.parametrize(("kind", "value"), TIMES)
@pytest.mark.parametrize("quoted", [True, False])
def test_no_two_forms_of_a_time_write_the_same(kind: str, value: str, quoted: bool) -> None:
    time = time_of(kind, value)
    assert time is not None
    for part in PARTS:
        texts = [as_text(written(time, form), part, quoted=quoted) for form in forms(part, time.kind)]
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("atoms", "kept"),
    [
        ([Atom("year", "=", "1997")], Bounds(date(1997, 1, 1), date(1998, 1, 1))),
        ([Atom("year", "<>", "1997")], Bounds(date(1997, 1, 1), date(1998, 1, 1))),
        ([Atom("year", ">", "1997")], Bounds(date(1998, 1, 1), None)),
        ([Atom("year", ">=", "1997"), Atom("year", "<=", "1998")], Bounds(date(1997, 1, 1), date(1999, 1, 1))),
        ([Atom("year_month", "<=", "1997-12")], Bounds(None, date(1998, 1, 1))),
        ([Atom("day", "<=", "1996-02-29 23:59:59")], Bounds(None, date(1996, 3, 1))),
        ([Atom("day", ">", "1996-12-31"), Atom("day", "<", "1998-01-01")], Bounds(date(1997, 1, 1), date(1998, 1, 1))),
        ([Atom("day", "<", "1997-01-01", (1, "year"))], Bounds(None, date(1998, 1, 1))),
        ([Atom("day", "<", "1997-11-01", (2, "month"))], Bounds(None, date(1998, 1, 1))),
        ([Atom("day", "<", "1996-02-29", (1, "day"))], Bounds(None, date(1996, 3, 1))),
        ([Atom("day", "<=", "1998-01-01", (-1, "day"))], Bounds(None, date(1998, 1, 1))),
        ([Atom("trunc_month", "=", "1997-03-01")], Bounds(date(1997, 3, 1), date(1997, 4, 1))),
        ([Atom("trunc_quarter", "=", "1997-10-01")], Bounds(date(1997, 10, 1), date(1998, 1, 1))),
        ([Atom("month", "=", "3")], Bounds(month=3)),
        ([Atom("year", "=", "1997"), Atom("quarter", "=", "4")], Bounds(date(1997, 10, 1), date(1998, 1, 1))),
        ([Atom("year", "=", "1997"), Atom("month", "<", "4")], Bounds(date(1997, 1, 1), date(1997, 4, 1))),
        ([Atom("day", "<", "1997-01-31", (1, "month"))], None),
        ([Atom("day", "<", "1997-01-01", (31, "day"))], None),
        ([Atom("trunc_month", "=", "1997-03-02")], None),
        ([Atom("trunc_quarter", "=", "1997-02-01")], None),
        ([Atom("month", "<>", "13")], None),
        ([Atom("month", "=", "three")], None),
        ([Atom("month", "<", "1")], None),
        ([Atom("quarter", "=", "1")], None),
        ([Atom("year", ">=", "1997"), Atom("month", "=", "3")], None),
        ([Atom("day", ">=", "1997-02-01"), Atom("day", "<", "1998-02-01"), Atom("month", "=", "3")], None),
        ([Atom("year", "=", "1997"), Atom("month", "=", "3"), Atom("month", "=", "4")], None),
        ([Atom("year", "=", "MCMXCVII")], None),
        ([Atom("year", "=", "1997", (1, "year"))], None),
    ],
)
def test_conditions_keep_these_days(atoms: list[Atom], kept: Bounds | None) -> None:
    assert bounds(atoms) == kept


def test_a_list_of_times_keeps_a_stretch_only_without_gaps() -> None:
    months = [Atom("year_month", "=", f"1997-{n:02d}") for n in (4, 6, 5)]
    assert union(months) == Bounds(date(1997, 4, 1), date(1997, 7, 1))
    assert union(months[:2]) is None
    assert union([*months, Atom("year_month", "=", "never")]) is None
    assert union([]) is None
    assert months_in([Atom("quarter", "=", "1"), Atom("month", "=", "12")]) == frozenset({1, 2, 3, 12})
    assert months_in([Atom("year", "=", "1997")]) is None


@given(text=some.text(max_size=30))
def test_a_clock_is_split_off_or_left_alone(text: str) -> None:
    assert "".join(split_clock(text)) == text
    assert split_clock(f"1997-12-31{text}")[0].startswith("1997-12-31")
