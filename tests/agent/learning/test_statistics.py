"""The figures are those that were published, and they are defined where nothing or everything is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.learning.statistics import Interval, difference, mcnemar, paired, share, share_of


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [  # Newcombe 1998, Statistics in Medicine 17:857, table I
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_a_share_has_the_published_wilson_interval(right: int, total: int, low: float, high: float) -> None:
    found = share(right, total)
    assert (round(found.interval.low, 4), round(found.interval.high, 4)) == (low, high)
    assert found.value == right / total


@pytest.mark.parametrize(
    ("gained", "lost", "total", "low", "high"),
    [
        (9, 3, 32, -0.027, 0.390),  # Tango 1998, Statistics in Medicine 17:891
        (1, 7, 21, -0.517, -0.026),  # airway reactions; Fagerland et al. 2014, Statistics in Medicine 33:2850
    ],
)
def test_a_paired_difference_has_the_published_score_interval(
    gained: int, lost: int, total: int, low: float, high: float
) -> None:
    found = difference(gained, lost, total).interval
    assert (round(found.low, 3), round(found.high, 3)) == (low, high)


def test_mcnemar_is_exact() -> None:
    assert round(mcnemar(1, 7), 4) == 0.0703  # Fagerland et al. 2013, BMC Medical Research Methodology 13:91
    assert mcnemar(12, 2) == pytest.approx(0.0129, abs=5e-5)  # culture media; Armitage and Berry 1994
    assert mcnemar(0, 0) == 1.0


def test_nothing_asked_says_nothing() -> None:
    nothing = share(0, 0)
    assert (nothing.value, nothing.interval) == (None, Interval(0.0, 1.0))
    apart = paired([], [])
    assert (apart.value, apart.interval, apart.p) == (None, Interval(-1.0, 1.0), 1.0)


def test_one_question_says_little() -> None:
    assert share(1, 1).interval.high == 1.0
    assert share(1, 1).interval.low < 0.25
    apart = paired([True], [False])
    assert (apart.value, apart.interval.high, apart.p) == (1.0, 1.0, 1.0)
    assert apart.interval.low < 0 < apart.interval.high


def test_all_right_in_both_is_no_difference_but_no_certainty_either() -> None:
    apart = paired([True] * 10, [True] * 10)
    assert (apart.value, apart.p) == (0.0, 1.0)
    z2 = 1.959963984540054**2
    assert apart.interval.high == pytest.approx(z2 / (10 + z2))
    assert apart.interval.low == pytest.approx(-z2 / (10 + z2))


def test_all_gained_ends_at_one() -> None:
    apart = difference(10, 0, 10)
    z2 = 1.959963984540054**2
    assert (apart.value, apart.interval.high) == (1.0, 1.0)
    assert apart.interval.low == pytest.approx((10 - z2) / (10 + z2))


def test_a_pair_is_counted_by_who_is_right() -> None:
    found = paired([True, True, False, False, True], [True, False, True, False, False])
    assert (found.gained, found.lost, found.total) == (2, 1, 5)
    assert share_of([True, False, True]).right == 2
    with pytest.raises(ValueError, match="zip"):
        paired([True], [])


@st.composite
def _splits(draw: st.DrawFn) -> tuple[int, int, int]:
    total = draw(st.integers(1, 120))
    gained = draw(st.integers(0, total))
    return gained, draw(st.integers(0, total - gained)), total


@given(_splits())
def test_an_interval_holds_what_was_found_and_turns_with_the_sides(split: tuple[int, int, int]) -> None:
    gained, lost, total = split
    one, other = difference(gained, lost, total), difference(lost, gained, total)
    assert one.value is not None
    assert -1.0 <= one.interval.low <= one.value <= one.interval.high <= 1.0
    assert one.interval.low < one.interval.high
    assert one.interval.low == pytest.approx(-other.interval.high, abs=1e-7)
    assert one.p == pytest.approx(other.p)
