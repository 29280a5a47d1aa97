"""What a database has to ask about: its tables as things, their labels, kinds, amounts, dates and ways to others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING

from agent.database.facts import SCANNED_ROWS
from agent.database.naming import quoted
from agent.database.result import Cell, QueryFailed, QueryRejected, Result
from agent.learning.sowing.naming import (
    column_words,
    is_birth,
    is_code,
    is_key_like,
    is_level,
    is_prose,
    is_secret,
    one_and_many,
    said,
)

if TYPE_CHECKING:
    from agent.database.schema import Column, ColumnFacts, Table
    from agent.keys import Join
    from agent.linking import Lexicon

MOST_TABLES = 14
"""Tables that are asked about; those that are tied to most others come first."""
SAMPLED = 60
"""Rows of a table that are looked at for what its columns hold."""
_MOST_KINDS = 60
_LONGEST_LITERAL = 40
_FARTHEST = 3
_BOOLEAN = re.compile(r"bool", re.IGNORECASE)
_UNSHOWN = re.compile(r"blob|bytea|json|xml|binary|image|\[|tsvector|geometry", re.IGNORECASE)
_PLAIN_VALUE = re.compile(r"[^\W\d_][\w .,&/-]*\Z")

Run = Callable[[str], Result]


@dataclass(frozen=True, slots=True)
class Kind:
    """A text column with few values, by which rows are filtered and parted. `values` are real ones, spread out."""

    column: str
    words: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Amount:
    """A column of numbers. `middle` is about the middle of the values looked at; `adds`: a sum of it says much."""

    column: str
    words: str
    middle: float
    low: float
    high: float
    adds: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """A column of dates. `years` are those it has rows of for sure or nearly so; `days` some of its dates, in order."""

    column: str
    words: str
    days: tuple[str, ...]

    @property
    def years(self) -> tuple[str, ...]:
        return tuple(sorted({day[:4] for day in self.days}))


@dataclass(frozen=True, slots=True)
class Flag:
    """A column of yes and no; `yes` is how SQL writes the yes."""

    column: str
    yes: str
    no: str


@dataclass(frozen=True, slots=True)
class Way:
    """The joins from a table up to one that its rows belong to, nearest first."""

    goal: str
    joins: tuple[Join, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    """A table as people speak of it. `label` shows one row; `named` tells that it is no mere key.

    `rows` are some real rows by column name; `large` tells that there are too many to read them all. `blanks` are
    columns that hold NULL in some of them and not in others. `ways` lead to what its rows belong to, `bosses` are
    columns that refer to other rows of the same table.
    """

    table: str
    one: str
    many: str
    key: str | None
    label: tuple[str, ...]
    named: bool
    people: bool
    rows: tuple[dict[str, Cell], ...] = field(repr=False)
    large: bool
    facts: tuple[str, ...]
    kinds: tuple[Kind, ...]
    amounts: tuple[Amount, ...]
    moments: tuple[Moment, ...]
    flags: tuple[Flag, ...]
    blanks: tuple[str, ...]
    ways: tuple[Way, ...]
    bosses: tuple[str, ...]

    @property
    def sums(self) -> tuple[Amount, ...]:
        """The amounts of which a sum says much."""
        return tuple(amount for amount in self.amounts if amount.adds)

    @property
    def moment(self) -> Moment | None:
        """The date that `in 1997` is about: the first one that is nobody's birth."""
        return next((one for one in self.moments if not is_birth(one.column)), None)


def survey(lexicon: Lexicon, run: Run) -> tuple[Thing, ...]:
    """Look at a few rows of each table. The same database gives the same things, in order of weight.

    `run` checks and runs SQL. Tables that have no rows, or whose rows cannot be read, are left out, and so are views
    where there are tables.
    """
    tables = [table for table in lexicon.schema.tables if not table.is_view] or list(lexicon.schema.tables)
    found: list[Thing] = []
    ranked = sorted(tables, key=lambda table: -_weight(table, lexicon))
    for table in ranked:
        if len(found) == MOST_TABLES:
            break
        rows = _sample(table, lexicon, run)
        if rows:
            found.append(_thing(table, rows, _is_large(table, lexicon, run), lexicon))
    kept = {thing.table for thing in found}
    return tuple(_within(thing, kept) for thing in found)


def _weight(table: Table, lexicon: Lexicon) -> float:
    return len(lexicon.keys.neighbours(table.name)) + 0.05 * min(len(table.columns), 15)


def _within(thing: Thing, kept: set[str]) -> Thing:
    ways = tuple(w for w in thing.ways if {w.goal, *(j.right for j in w.joins)} <= kept)
    return replace(thing, ways=ways)


def _sample(table: Table, lexicon: Lexicon, run: Run) -> tuple[dict[str, Cell], ...]:
    dialect = lexicon.schema.dialect
    columns = [c.name for c in table.columns if not _UNSHOWN.search(c.type) and not is_secret(c.name)]
    keys = lexicon.primary_keys.get(table.name, ())
    if not columns:
        return ()
    names = ", ".join(quoted(name, dialect) for name in columns)
    order = f" ORDER BY {', '.join(quoted(key, dialect) for key in keys)}" if keys and not table.is_view else ""
    try:
        result = run(f"SELECT {names} FROM {quoted(table.name, dialect)}{order} LIMIT {SAMPLED}")
    except (QueryFailed, QueryRejected):
        return ()
    return tuple(dict(zip(columns, row, strict=True)) for row in result.rows)


def _is_large(table: Table, lexicon: Lexicon, run: Run) -> bool:
    """Whether a table has more rows than are looked at for its values; also where that cannot be told in time."""
    name = quoted(table.name, lexicon.schema.dialect)
    try:
        return bool(run(f"SELECT 1 FROM {name} LIMIT 1 OFFSET {SCANNED_ROWS}").rows)
    except (QueryFailed, QueryRejected):
        return True


def _thing(table: Table, rows: tuple[dict[str, Cell], ...], large: bool, lexicon: Lexicon) -> Thing:
    from agent.drafting.saying import display

    keys = lexicon.primary_keys.get(table.name, ())
    label = _persons_name(table) or display(table.name, lexicon)
    named = bool(label) and not set(label) <= set(keys)
    one, many = one_and_many(table.name)
    ways = _ways(table.name, lexicon)
    referring = {column for way in ways for column in way.joins[0].left_columns} | {
        column for key in table.foreign_keys for column in key.columns
    }
    plain = [c for c in table.columns if c.name not in keys and c.name not in referring and not is_key_like(c.name)]
    plain = [c for c in plain if rows and c.name in rows[0]]
    known = {(facts.table, facts.column): facts for facts in lexicon.facts.columns}
    free = [c for c in plain if c.name not in label]
    flags = {c.name: flag for c in free if (flag := _flag(c, rows))}
    dated = {d.column for d in lexicon.date_columns if d.table == table.name}
    free = [c for c in free if c.name not in flags]
    kinds, amounts, moments = [], [], []
    for column in free:
        facts = known.get((table.name, column.name))
        if column.name in dated:
            moments += _moment(column, rows, table.name, lexicon)
        elif (table.name, column.name) in lexicon.amounts:
            amounts += _amount(column, rows, facts, table.name)
        elif facts is not None and not is_prose(column.name):
            kinds += _kind(column, rows, facts, table.name)
    blanks = [
        c.name
        for c in plain
        if c.name not in label and any(r[c.name] is None for r in rows) and any(r[c.name] is not None for r in rows)
    ]
    bosses = tuple(
        key.columns[0] for key in table.foreign_keys if key.referred_table == table.name and len(key.columns) == 1
    )
    return Thing(
        table=table.name,
        one=one,
        many=many,
        key=keys[0] if len(keys) == 1 else None,
        label=label,
        large=large,
        named=named,
        people=len(label) > 1,
        rows=rows,
        facts=tuple(c.name for c in free),
        kinds=tuple(kinds),
        amounts=tuple(amounts),
        moments=tuple(moments),
        flags=tuple(flags.values()),
        blanks=tuple(blanks),
        ways=ways,
        bosses=bosses,
    )


def _persons_name(table: Table) -> tuple[str, ...]:
    """First and last name, where a table has both, in the order in which people say them and not that of the table."""
    by_words = {said(column.name): column.name for column in table.columns}
    for first, last in (("first name", "last name"), ("firstname", "lastname"), ("given name", "family name")):
        if first in by_words and last in by_words:
            return by_words[first], by_words[last]
    return ()


def _ways(table: str, lexicon: Lexicon) -> tuple[Way, ...]:
    """The shortest way up to each table that rows of this one belong to; none by which of two keys is not clear."""
    keys = lexicon.keys
    doubled = {
        (t.name, key.referred_table)
        for t in lexicon.schema.tables
        for key in t.foreign_keys
        if sum(other.referred_table == key.referred_table for other in t.foreign_keys) > 1
    }
    found: list[Way] = []
    edge, seen = [Way(table, ())], {table}
    for _ in range(_FARTHEST):
        ahead: list[Way] = []
        for way in edge:
            for near in keys.neighbours(way.goal):
                join = keys.connect((way.goal, near))[1][0]
                if join.left == way.goal and near not in seen and (way.goal, near) not in doubled:
                    seen.add(near)
                    ahead.append(Way(near, (*way.joins, join)))
        found += ahead
        edge = ahead
    return tuple(found)


def _flag(column: Column, rows: Sequence[dict[str, Cell]]) -> Flag | None:
    if _BOOLEAN.search(column.type) and not any(
        isinstance(r[column.name], int) and r[column.name] not in (0, 1) for r in rows
    ):
        numbers = any(type(r[column.name]) is int for r in rows)
        return Flag(column.name, "1", "0") if numbers else Flag(column.name, "TRUE", "FALSE")
    values = {r[column.name] for r in rows} - {None}
    if values == {0, 1} and not any(isinstance(v, (float, str)) for v in values):
        return Flag(column.name, "1", "0")
    return None


def _moment(column: Column, rows: Sequence[dict[str, Cell]], table: str, lexicon: Lexicon) -> list[Moment]:
    days = sorted({str(r[column.name])[:10] for r in rows if r[column.name] is not None})
    days = [day for day in days if re.fullmatch(r"\d{4}-\d\d-\d\d", day)]
    ends = [
        str(end)[:10]
        for d in lexicon.date_columns
        if (d.table, d.column) == (table, column.name)
        for end in (d.minimum, d.maximum)
        if end
    ]
    between = _years_between(ends)
    shown = sorted({*days, *(end for end in ends if re.fullmatch(r"\d{4}-\d\d-\d\d", end)), *between})
    return [Moment(column.name, column_words(column.name, table), tuple(shown))] if shown else []


def _years_between(ends: Sequence[str]) -> list[str]:
    """A day in the middle of each whole year between two ends, at most eight of them."""
    years = sorted(int(end[:4]) for end in ends if end[:4].isdigit())
    if len(years) < 2 or years[1] - years[0] > 9:
        return []
    return [f"{year}-06-15" for year in range(years[0] + 1, years[1])]


def _amount(column: Column, rows: Sequence[dict[str, Cell]], facts: ColumnFacts | None, table: str) -> list[Amount]:
    values = [float(v) for r in rows if isinstance(v := r[column.name], (int, float)) and not isinstance(v, bool)]
    values = values or [float(str(r[column.name])) for r in rows if _is_number(r[column.name])]
    if is_code(column.name) or len(set(values)) < 2:
        return []
    middle = median(values)
    return [
        Amount(
            column.name,
            column_words(column.name, table),
            _round(middle),
            _round(sorted(values)[len(values) // 4]),
            _round(sorted(values)[3 * len(values) // 4]),
            not is_level(column.name),
        )
    ]


def _is_number(cell: Cell) -> bool:
    return bool(re.fullmatch(r"-?\d+(\.\d+)?", str(cell))) and not isinstance(cell, bool)


def _round(value: float) -> float:
    """To two digits: a number that a person would ask with."""
    return float(f"{value:.2g}")


def _kind(column: Column, rows: Sequence[dict[str, Cell]], facts: ColumnFacts, table: str) -> list[Kind]:
    values = facts.values
    seen = [r[column.name] for r in rows if r[column.name] is not None]
    if not 2 <= len(values) <= _MOST_KINDS or (len(seen) > 4 and len(set(map(str, seen))) > 0.8 * len(seen)):
        return []
    often = sorted(set(map(str, seen)), key=lambda v: (-sum(str(s) == v for s in seen), v))
    usable = [v for v in often if len(v) <= _LONGEST_LITERAL and _PLAIN_VALUE.match(v)]
    return [Kind(column.name, column_words(column.name, table), tuple(usable[:6]))] if len(usable) > 1 else []
