"""Whether two results give the same answer, by rules that credit no luck.

Rows are a bag; columns may stand in another order, in one way for all rows. Order counts only when it is asked for,
and then rows that tie are free. A number equals a number to nine digits, whole numbers among themselves exactly; text
never equals a number; NULL equals only NULL. Two empty results are the same here: that they say nothing is for the
caller to judge.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from agent.database.result import Cell, Result

_TRIES = 20_000

Key = tuple[int, str | int | bytes]


def cell_key(value: Cell, *, exact: bool = False) -> Key:
    """Give what a cell is compared by; `exact` keeps all digits of a whole number.

    Fractions are rounded to 12 digits first and then to 9: noise in the last digits of a sum would else decide which
    way a half is rounded.

    >>> cell_key(3) == cell_key(3.0000000000001), cell_key("3") == cell_key(3), cell_key(None) == cell_key("")
    (True, False, False)
    """
    if value is None:
        return (0, "")
    if isinstance(value, bytes):
        return (3, value)
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, int):
        if exact or abs(value) < 1_000_000_000:
            return (1, int(value))
        return (1, f"{float(value):.8e}")
    if not math.isfinite(value):
        return (1, str(value))
    rounded = float(f"{float(f'{value:.11e}'):.8e}")
    return (1, int(rounded)) if rounded.is_integer() and abs(rounded) < 1_000_000_000 else (1, f"{rounded:.8e}")


def same(a: Result, b: Result, *, ordered: bool) -> bool:
    """Compare two results; `a` is the one known to be right.

    With `ordered`, rows of `b` may differ in order from `a` only where they tie. The sort key is read from `a`: the
    columns that are sorted over all its rows. When there are none, the order must be that of `a`. A second key, which
    is sorted only within the first, cannot be told from the order in which a database happens to give ties, so it is
    not asked for.

    A result that a cap cut off is the same only as one cut off likewise.
    """
    return len(a.columns) == len(b.columns) and covers(a, b, ordered=ordered)


def covers(a: Result, b: Result, *, ordered: bool) -> bool:
    """Whether `b` gives all that `a` does, perhaps with more columns: the rule of `same` but for their number.

    This is the lenient score; it credits nothing.

    >>> a, b = Result(("n",), ((3,),)), Result(("name", "n"), (("Anna", 3),))
    >>> covers(a, b, ordered=False), covers(b, a, ordered=False), same(a, b, ordered=False)
    (True, False, False)
    """
    if len(a.columns) > len(b.columns) or len(a.rows) != len(b.rows) or a.truncated != b.truncated:
        return False
    if not a.rows or not a.columns:
        return True
    width, width_b = len(a.columns), len(b.columns)
    left = [[row[i] for row in a.rows] for i in range(width)]
    right = [[row[i] for row in b.rows] for i in range(width_b)]
    keys: dict[tuple[str, int, bool], list[Key]] = {}

    def keyed(side: str, index: int, exact: bool) -> list[Key]:
        column = (left if side == "a" else right)[index]
        found = keys.get((side, index, exact))
        if found is None:
            found = keys[side, index, exact] = [cell_key(value, exact=exact) for value in column]
        return found

    whole = {"a": [_whole(column) for column in left], "b": [_whole(column) for column in right]}
    groups = _ties([keyed("a", i, False) for i in range(width)]) if ordered else [list(range(len(a.rows)))]
    bags = {
        (side, i, exact): Counter(keyed(side, i, exact))
        for side in "ab"
        for i in range(width if side == "a" else width_b)
        for exact in (False, True)
    }
    fits = [
        [
            j
            for j in sorted(range(width_b), key=lambda j: (j != i, j))
            if bags["a", i, whole["a"][i] and whole["b"][j]] == bags["b", j, whole["a"][i] and whole["b"][j]]
        ]
        for i in range(width)
    ]
    # Columns with fewest partners first, so that a wrong start shows early.
    order = sorted(range(width), key=lambda i: len(fits[i]))
    tries = 0

    def match(depth: int, used: frozenset[int], rows_a: list[int], rows_b: list[int]) -> bool:
        nonlocal tries
        if depth == width:
            return True
        i = order[depth]
        for j in fits[i]:
            if j in used:
                continue
            tries += 1
            if tries > _TRIES:
                return False
            exact = whole["a"][i] and whole["b"][j]
            numbers: dict[tuple[int, Key], int] = {}
            next_a = [numbers.setdefault(pair, len(numbers)) for pair in zip(rows_a, keyed("a", i, exact), strict=True)]
            next_b = [numbers.setdefault(pair, len(numbers)) for pair in zip(rows_b, keyed("b", j, exact), strict=True)]
            if all(
                Counter(next_a[n] for n in group) == Counter(next_b[n] for n in group) for group in groups
            ) and match(depth + 1, used | {j}, next_a, next_b):
                return True
        return False

    nothing = [0] * len(a.rows)
    return match(0, frozenset(), nothing, nothing)


def _whole(column: Sequence[Cell]) -> bool:
    return all(value is None or isinstance(value, int) for value in column)


def _ties(columns: Sequence[Sequence[Key]]) -> list[list[int]]:
    """Group the positions of rows that tie under the sort key that the columns show, in order."""
    rows = len(columns[0])
    free = [column for column in columns if len(set(column)) > 1]
    first = [column for column in free if _is_sorted(column)]
    if not first:
        return [[n] for n in range(rows)]
    made: list[list[int]] = []
    last: tuple[Key, ...] | None = None
    for n in range(rows):
        key = tuple(column[n] for column in first)
        if key != last:
            made.append([])
            last = key
        made[-1].append(n)
    return made


def _is_sorted(column: Sequence[Key]) -> bool:
    return any(all(_in_order(a, b, sign, nulls) for a, b in pairwise(column)) for nulls in (-1, 9) for sign in (1, -1))


def _in_order(a: Key, b: Key, sign: int, nulls: int) -> bool:
    x, y = _rank(a, nulls), _rank(b, nulls)
    return x <= y if sign > 0 else x >= y


def _rank(key: Key, nulls: int) -> tuple[int, float, str, bytes]:
    kind, value = key
    if kind == 0:
        return (nulls, 0.0, "", b"")
    if kind == 1:
        return (1, float(value), "", b"")
    return (kind, 0.0, value if isinstance(value, str) else "", value if isinstance(value, bytes) else b"")
