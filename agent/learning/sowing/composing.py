"""The pairs: a question for each kind of answer, in the words of the names, with the SQL that answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from agent.learning.sowing import dating, figuring, listing, ranking, relating
from agent.learning.sowing.asking import Sown, Work
from agent.learning.sowing.survey import Thing
from agent.learning.sowing.writing import Writer


def compose(things: Sequence[Thing], dialect: str) -> tuple[tuple[Iterator[Sown], int], ...]:
    """The pairs of each kind that a database gives, with how many of them are worth most.

    Within a kind the things take turns, so that the first few are about as many of them as can be.
    """
    sql = Writer(dialect)
    works = [Work((thing,), things, sql, place) for place, thing in enumerate(things)]
    return tuple((_in_turns([make(work) for work in works]), most) for make, most in _KINDS)


def _in_turns(some: Sequence[Iterator[Sown]]) -> Iterator[Sown]:
    for turn in zip_longest(*some):
        yield from (one for one in turn if one is not None)


_KINDS: tuple[tuple[Callable[[Work], Iterator[Sown]], int], ...] = (
    (listing.lookup, 8),
    (listing.lookup_above, 4),
    (listing.all_rows, 5),
    (listing.filter_text, 10),
    (listing.filter_number, 7),
    (listing.filter_above, 5),
    (listing.prices, 8),
    (listing.filter_flag, 4),
    (listing.blanks, 5),
    (figuring.count, 9),
    (figuring.count_above, 4),
    (figuring.count_distinct, 4),
    (figuring.sums, 6),
    (dating.in_time, 6),
    (dating.sum_in_time, 3),
    (figuring.average, 4),
    (figuring.ends, 6),
    (dating.first_last, 5),
    (figuring.groups, 8),
    (figuring.groups_above, 9),
    (dating.years, 5),
    (dating.months, 5),
    (dating.running, 4),
    (dating.ranges, 4),
    (ranking.top, 7),
    (ranking.top_above, 8),
    (figuring.shares, 6),
    (figuring.ratios, 3),
    (figuring.having, 6),
    (relating.missing, 7),
    (relating.sets, 5),
    (relating.duplicates, 3),
    (relating.compare, 3),
    (ranking.above_average, 4),
    (relating.bosses, 4),
    (ranking.ranks, 5),
    (ranking.best, 4),
    (listing.matches, 3),
    (listing.yes_no, 4),
    (figuring.many_joins, 4),
)
"""What makes pairs, in the order in which they take turns, and how many of each are worth most."""
