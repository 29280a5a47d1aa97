"""What a count of right answers says, and how sure it is: shares, paired differences, their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""How often an interval holds the true value, over many measurements."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Share:
    """So many right of a total, with the 95 % Wilson interval of the share, from 0 to 1."""

    right: int
    total: int
    interval: Interval

    @property
    def value(self) -> float | None:
        """The share, from 0 to 1; None of nothing.

        >>> share(3, 4).value, share(0, 0).value
        (0.75, None)
        """
        return self.right / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better one way of asking does than another on the same questions.

    `gained` are questions that only the first answers right, `lost` those that only the second does; where both are
    right or both wrong tells nothing of the difference. `interval` is that of the share of the first minus that of
    the second, 95 %, from -1 to 1. `p` is the chance of a split as uneven as this if neither were better (McNemar's
    test, exact).
    """

    gained: int
    lost: int
    total: int
    interval: Interval
    p: float

    @property
    def value(self) -> float | None:
        """The share of the first minus that of the second, from -1 to 1; None of no question.

        >>> paired([True, True, True, False], [True, False, False, False]).value
        0.5
        """
        return (self.gained - self.lost) / self.total if self.total else None


def share(right: int, total: int) -> Share:
    """A share with its Wilson score interval (Wilson 1927, JASA 22:209). Of nothing it may be anything.

    >>> found = share(15, 148)
    >>> round(found.interval.low, 4), round(found.interval.high, 4)
    (0.0624, 0.1605)
    """
    if not total:
        return Share(0, 0, Interval(0.0, 1.0))
    from scipy.stats import binomtest

    found = binomtest(right, total).proportion_ci(confidence_level=CONFIDENCE, method="wilson")
    return Share(right, total, Interval(float(found.low), float(found.high)))


def share_of(outcomes: Iterable[bool]) -> Share:
    """The share of outcomes that are true.

    >>> share_of([True, False, True, True]).right
    3
    """
    known = list(outcomes)
    return share(sum(known), len(known))


def paired(first: Sequence[bool], second: Sequence[bool]) -> Difference:
    """Compare two ways of asking, by what came of each question in the one and in the other.

    >>> found = paired([True, True, True, False], [True, False, False, True])
    >>> found.gained, found.lost, found.total
    (2, 1, 4)

    Raises:
        ValueError: they are not of the same questions.
    """
    both = list(zip(first, second, strict=True))
    gained = sum(one and not other for one, other in both)
    lost = sum(other and not one for one, other in both)
    return difference(gained, lost, len(both))


def difference(gained: int, lost: int, total: int) -> Difference:
    """A paired difference, from how many of all questions only the one and only the other way answers right.

    >>> found = difference(9, 3, 32)
    >>> round(found.interval.low, 3), round(found.interval.high, 3), round(found.p, 3)
    (-0.027, 0.39, 0.146)
    """
    return Difference(gained, lost, total, _tango(gained, lost, total), mcnemar(gained, lost))


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p of McNemar's test (1947), which asks only the questions where two ways of asking part.

    >>> round(mcnemar(1, 7), 4), mcnemar(0, 0)
    (0.0703, 1.0)
    """
    if not gained + lost:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(gained, gained + lost).pvalue)


def _tango(gained: int, lost: int, total: int) -> Interval:
    """The score interval of a paired difference (Tango 1998, Statistics in Medicine 17:891).

    It holds with few questions and where all or none part. A difference d is inside as long as the one that was
    found lies within z standard errors of it, the errors taken for the shares that are likeliest if d is true. Among
    the intervals for paired shares it is one of those that Fagerland, Lydersen and Laake recommend (2014, Statistics
    in Medicine 33:2850).
    """
    if not total:
        return Interval(-1.0, 1.0)
    from scipy.optimize import brentq
    from scipy.stats import norm

    z = float(norm.ppf((1 + CONFIDENCE) / 2))
    found = (gained - lost) / total

    def outside(d: float) -> float:
        """How far the difference found lies from d, squared, less what z standard errors allow."""
        b = -gained - lost + (2 * total - gained + lost) * d
        c = -lost * d * (1 - d)
        likeliest = (math.sqrt(max(0.0, b * b - 8 * total * c)) - b) / (4 * total)  # share that only the second has
        return (total * (found - d)) ** 2 - z * z * total * max(0.0, 2 * likeliest + d * (1 - d))

    def crossing(start: float, end: float) -> float:
        """Where the interval ends, on the way from what was found to the bound of all differences."""
        start += math.copysign(1e-9, end - start)  # where none part, the start itself is a crossing
        return float(brentq(outside, start, end, xtol=1e-12))

    return Interval(crossing(found, -1.0), crossing(found, 1.0))
