"""What the columns of a table are, learnt from its rows: which name a row, which move together, which are measures."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from agent.database.result import Cell

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_FEW = 12
ALWAYS_AND_NEVER = ("0001", "9999")
"""Years of dates that stand for the beginning and the end of time; they do not move, and nothing lies beyond them."""


@dataclass(slots=True, eq=False)
class Row:
    """One row. `parents` are the rows its foreign keys refer to, None where a key is NULL or refers to nothing."""

    values: list[Cell]
    original: tuple[Cell, ...] | None
    parents: list[Row | None] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Reference:
    """A foreign key: positions of its columns, the table it refers to, and the positions there."""

    columns: tuple[int, ...]
    parent: TableRows
    referred: tuple[int, ...]
    least: int = 0
    """How many rows referred to each row of the parent at least."""


@dataclass(slots=True, eq=False)
class TableRows:
    """A table with its rows, or a sample of them. `key` and `unique` hold positions of columns."""

    name: str
    columns: list[str]
    types: list[str]
    required: list[bool]
    key: tuple[int, ...]
    unique: list[tuple[int, ...]]
    rows: list[Row]
    references: list[Reference] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """Each column's: `key`, `reference`, `name`, `text`, `own` (unique text), `code`, `measure`, `date` or `other`."""
    blocks: list[tuple[int, ...]] = field(default_factory=list)
    """Columns that move together."""

    @property
    def named(self) -> bool:
        return "name" in self.kinds


def classify(table: TableRows) -> None:
    width = len(table.columns)
    referring = {column for reference in table.references for column in reference.columns}
    held = {column for columns in table.unique for column in columns}
    table.kinds = ["other"] * width
    for n in range(width):
        values = [row.values[n] for row in table.rows if row.values[n] is not None]
        if n in table.key:
            table.kinds[n] = "reference" if n in referring else "key"
        elif n in referring:
            table.kinds[n] = "reference"
        else:
            kind = _kind(values, held=n in held)
            rare = kind == "own" and n not in held and 2 * len(values) < len(table.rows)  # a note here and there
            table.kinds[n] = "text" if rare else kind
    _find_names(table)
    table.blocks = _find_blocks(table)


def _kind(values: Sequence[Cell], *, held: bool) -> str:
    distinct = len(set(values))
    if not values:
        return "other"
    if all(isinstance(value, str) for value in values):
        if sum(is_date(value) for value in values) >= 0.95 * len(values):
            return "date"
        return "own" if held or (distinct == len(values) and distinct > 1) else "text"
    if all(isinstance(value, int | float) for value in values):
        if held:
            return "other"
        numbers = [value for value in values if isinstance(value, int | float)]
        years = all(isinstance(value, int) and 1500 <= value <= 2200 for value in numbers)
        return "code" if years or (distinct <= _FEW and 2 * distinct <= len(values)) else "measure"
    return "other"


def is_date(value: Cell) -> bool:
    if not isinstance(value, str) or not (found := _DATE.match(value)):
        return False
    try:
        date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def _find_names(table: TableRows) -> None:
    """The first unique text, and those right after it, are what a row is called by: they stay with its key."""
    start = next((n for n, kind in enumerate(table.kinds) if kind == "own"), None)
    if start is None:
        return
    for n in range(start, len(table.kinds)):
        if table.kinds[n] != "own":
            return
        table.kinds[n] = "name"


def _find_blocks(table: TableRows) -> list[tuple[int, ...]]:
    """Group columns of which one decides the other, as city and country, or a date its year, and dates in a row."""
    movable = [n for n, kind in enumerate(table.kinds) if kind in ("text", "code", "date", "own", "other", "measure")]
    group = {n: n for n in movable}

    def first(n: int) -> int:
        while group[n] != n:
            n = group[n]
        return n

    for a, b in itertools.permutations(movable, 2):
        kinds = (table.kinds[a], table.kinds[b])
        if first(a) == first(b):
            continue
        if (
            (kinds == ("text", "text") and _decides(table.rows, a, b))
            or (kinds == ("date", "date") and _precedes(table.rows, a, b))
            or (kinds in {("date", "code"), ("date", "text")} and _is_year_of(table.rows, a, b))
        ):
            group[max(first(a), first(b))] = min(first(a), first(b))
    blocks: dict[int, list[int]] = defaultdict(list)
    for n in movable:
        blocks[first(n)].append(n)
    return [tuple(block) for block in blocks.values()]


def _decides(rows: Sequence[Row], a: int, b: int) -> bool:
    seen: dict[Cell, Cell] = {}
    repeated = 0
    for row in rows:
        value, other = row.values[a], row.values[b]
        if value is None:
            continue
        if value in seen:
            repeated += 1
            if seen[value] != other:
                return False
        seen[value] = other
    return repeated >= 2 and len(set(seen.values())) > 1


def _precedes(rows: Sequence[Row], a: int, b: int) -> bool:
    pairs = [(str(r.values[a]), str(r.values[b])) for r in rows if r.values[a] is not None and r.values[b] is not None]
    return bool(pairs) and sum(x <= y for x, y in pairs) >= 0.95 * len(pairs)


def _is_year_of(rows: Sequence[Row], a: int, b: int) -> bool:
    pairs = [(str(r.values[a])[:4], str(r.values[b])) for r in rows if r.values[a] is not None]
    return bool(pairs) and all(x == y for x, y in pairs)


def digits_after_point(value: float) -> int:
    """How many digits a number is written with after its point, six at most.

    >>> digits_after_point(2.50), digits_after_point(3), digits_after_point(1 / 3)
    (1, 0, 6)
    """
    return len(f"{value:.6f}".partition(".")[2].rstrip("0"))
