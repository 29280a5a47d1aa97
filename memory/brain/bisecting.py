"""Finding the first batch that made a check red, by halves."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memory.errors import BrainError

_T = TypeVar("_T")


class BisectionError(BrainError):
    """There is no first batch to be found. The message says why."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One look: whether the check is red with these batches alone, counted from the first.

    `left` is how many batches may still be the first that made it red, after this look. `leaving_out` is the place
    of the batch that was left out, in the one look that tells whether any other is red as well.
    """

    number: int
    batches: int
    red: bool
    left: int
    leaving_out: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The place of the first batch that made the check red, counted from 0. `alone`: without it the check is green."""

    place: int
    alone: bool


def most_probes(batches: int) -> int:
    """How many looks a bisection takes at most: ceil(log2 n) + 2.

    >>> [most_probes(n) for n in (1, 2, 8, 9, 64, 1024)]
    [2, 3, 5, 6, 8, 12]
    """
    return (batches - 1).bit_length() + 2


def bisect(batches: Sequence[_T], *, is_red: Callable[[Sequence[_T]], bool]) -> Generator[Probe, None, Found]:
    """Find the first batch with which a check is red; yields each look as it is taken, at most `most_probes`.

    `is_red` must be monotone: once red with some batches, red with more. The first look is at all of them, the last
    at all but the one found. That nothing is red of no batch at all needs no look.

    Raises:
        BisectionError: it is green with all of them.

    >>> looks = bisect("aabxaxa", is_red=lambda some: "x" in some)
    >>> while True:
    ...     try:
    ...         look = next(looks)
    ...     except StopIteration as end:
    ...         print(end.value)
    ...         break
    Found(place=3, alone=False)
    """
    count = len(batches)
    number, green, red = 1, 0, count
    seen = count > 0 and is_red(batches)
    if count:
        yield Probe(number, count, seen, count if seen else 0)
    if not seen:
        raise BisectionError(
            "Nothing that is remembered now makes this check red, so there is no batch to be found. "
            "What it says in other places is shown by: hebbql brain test."
        )
    while red - green > 1:
        middle = (green + red) // 2
        number += 1
        if is_red(batches[:middle]):
            red = middle
        else:
            green = middle
        yield Probe(number, middle, red == middle, red - green)
    rest = [*batches[: red - 1], *batches[red:]]
    still = is_red(rest)
    yield Probe(number + 1, count - 1, still, 1, red - 1)
    return Found(red - 1, not still)
