"""What every kind of pair asks of the things of a database, and the words that several kinds share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.learning.sowing.naming import article, done, flag_words, is_place
from agent.learning.sowing.survey import Amount, Flag, Kind, Thing, Way
from agent.learning.sowing.writing import Writer

COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
"""Numbers as people say them."""
NUMBERS = ("three", "five", "two", "four", "ten")
"""The same in the order in which they take turns."""


@dataclass(frozen=True, slots=True)
class Sown:
    """A composed question and its SQL. Of those with one `slot` only the first that holds is kept."""

    type: str
    slot: str
    question: str
    sql: str


@dataclass(frozen=True, slots=True)
class Dated:
    """What rows of a thing are dated by: SQL of the date, its years, FROM with what leads to it, and its name.

    The date is the thing's own, or that of the nearest it belongs to; `own` tells which.
    """

    date: str
    years: tuple[str, ...]
    source: str
    column: str
    own: bool


class Work:
    """The things that are asked about now, all there are, and what several kinds of pairs ask of them.

    `place` makes the wordings change from thing to thing.
    """

    def __init__(self, things: Sequence[Thing], all_things: Sequence[Thing], sql: Writer, place: int) -> None:
        self.things = things
        self.all_things = all_things
        self.sql = sql
        self.place = place
        self.by_name = {thing.table: thing for thing in all_things}
        self.named = [thing for thing in things if thing.named]
        self.counted = [thing for thing in things if thing.key is not None]

    def above(self, thing: Thing, *, farthest: int = 3) -> Iterator[tuple[Way, Thing]]:
        """What the rows of a thing belong to and people call by a name, nearest first."""
        for way in thing.ways:
            up = self.by_name[way.goal]
            if up.named and up.key is not None and len(way.joins) <= farthest:
                yield way, up

    def below(self, thing: Thing) -> Iterator[tuple[str, Thing]]:
        """What refers to a thing directly by its key, each with the column that does."""
        for other in self.all_things:
            for way in other.ways:
                join = way.joins[0]
                if way.goal == thing.table and len(way.joins) == 1 and join.right_columns == (thing.key,):
                    yield join.left_columns[0], other

    def dated(self) -> Iterator[tuple[Thing, Dated]]:
        """The things whose rows are dated, and by what."""
        for thing in self.things:
            if thing.moment is not None:
                date, source = self.sql.name(thing.moment.column), self.sql.source(thing.table)
                yield thing, Dated(date, thing.moment.years, source, thing.moment.column, own=True)
            elif (found := self._dated_above(thing)) is not None:
                yield thing, found

    def _dated_above(self, thing: Thing) -> Dated | None:
        for way in thing.ways:
            up = self.by_name[way.goal]
            if not up.named and up.moment is not None:
                date, source = self.sql.of(up.table, up.moment.column), self.sql.source(thing.table, way)
                return Dated(date, up.moment.years, source, up.moment.column, own=False)
        return None

    def rows(self, thing: Thing) -> Iterator[dict[str, object]]:
        """Real rows of a thing whose label can be said, spread over those looked at."""
        step = max(1, len(thing.rows) // 7)
        for place in range(step // 2, len(thing.rows), step):
            row: dict[str, object] = dict(thing.rows[place])
            values = [row.get(column) for column in thing.label]
            if all(isinstance(v, (int, str)) and _sayable(v) for v in values):
                yield row

    def call(self, thing: Thing, row: dict[str, object]) -> str:
        """What a row is called in a question: its name, with its sort before it where it is a mere key."""
        name = " ".join(str(row[column]) for column in thing.label)
        return name if thing.named else f"{thing.one} {name}"

    def address(self, thing: Thing, row: dict[str, object]) -> str:
        """The same with the sort before it where a bare name could be anything."""
        name = self.call(thing, row)
        return name if thing.people or not thing.named else f"the {thing.one} {name}"

    def facts(self) -> Iterator[tuple[Thing, Amount]]:
        for thing in self.things:
            for amount in thing.amounts:
                yield thing, amount


def _sayable(value: int | str) -> bool:
    return isinstance(value, int) or bool(value and len(value) <= 40 and re.match(r"[^\W_][\w .,&'/-]*\Z", value))


def total(amount: Amount) -> str:
    return amount.words if set(amount.words.split()) & {"total", "sum"} else f"total {amount.words}"


def measured(amount: Amount, n: int) -> tuple[str, str]:
    """How an amount is taken together, in words and in SQL."""
    return (total(amount), "SUM") if amount.adds and n % 3 != 2 else (f"average {amount.words}", "AVG")


def with_value(kind: Kind, value: str) -> str:
    """How a filter is said after the rows: `in Berlin`, `with the status open`."""
    return f"in {value}" if is_place(kind.column) else f"with the {kind.words} {value}"


def are_so(kind: Kind, value: str) -> str:
    """How a filter is said of the rows: `are in Berlin`, `have the status open`."""
    return f"are in {value}" if is_place(kind.column) else f"have the {kind.words} {value}"


def flagged(flag: Flag) -> str:
    verb, rest = flag_words(flag.column)
    return f"{verb} {article(rest)}" if verb == "have" else f"{verb} {rest}"


def happened(thing: Thing, column: str) -> str | None:
    """What happened on the date that a column holds; None where it holds none, or the name does not say."""
    return done(column) if any(moment.column == column for moment in thing.moments) else None


def middle_out(some: Sequence[str]) -> list[str]:
    """The middle ones first."""
    return sorted(some, key=lambda one: abs(some.index(one) - len(some) / 2))
