"""The pairs: a question for each kind of answer, in the words of the names, with the SQL that answers it."""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, zip_longest

from agent.learning.sowing.naming import (
    article,
    column_words,
    done,
    flag_words,
    is_birth,
    is_place,
    is_price,
    is_secret,
    one_and_many,
    said,
)
from agent.learning.sowing.survey import Amount, Flag, Kind, Thing, Way
from agent.learning.sowing.writing import Writer, either, number

_NUMBERS = ("three", "five", "two", "four", "ten")
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_MONTHS = tuple(month_name[1:])


@dataclass(frozen=True, slots=True)
class Sown:
    """A composed question and its SQL. Of those with one `slot` only the first that holds is kept."""

    type: str
    slot: str
    question: str
    sql: str
    ordered: bool = False


def compose(things: Sequence[Thing], dialect: str) -> tuple[tuple[Iterator[Sown], int], ...]:
    """The pairs of each kind that a database gives, with how many of them are worth most.

    Within a kind the things take turns, so that the first few are about as many of them as can be.
    """
    sql = Writer(dialect)
    works = [_Work((thing,), things, sql, place) for place, thing in enumerate(things)]
    return tuple((_in_turns([make(work) for work in works]), most) for make, most in _KINDS)


def _in_turns(some: Sequence[Iterator[Sown]]) -> Iterator[Sown]:
    for turn in zip_longest(*some):
        yield from (one for one in turn if one is not None)


class _Work:
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

    def below(self, thing: Thing) -> Iterator[tuple[Way, Thing]]:
        """What refers to a thing directly."""
        for other in self.all_things:
            for way in other.ways:
                if way.goal == thing.table and len(way.joins) == 1:
                    yield way, other

    def dated(self, thing: Thing) -> tuple[str, str, tuple[str, ...], tuple[Way, ...]] | None:
        """The table and column of the date of a thing, its own or that of the nearest it belongs to, and its years."""
        if thing.moment is not None:
            return thing.table, thing.moment.column, thing.moment.years, ()
        for way in thing.ways:
            up = self.by_name[way.goal]
            if not up.named and up.moment is not None:
                return up.table, up.moment.column, up.moment.years, (way,)
        return None

    def rows(self, thing: Thing) -> Iterator[dict[str, object]]:
        """Real rows of a thing whose label can be said, spread over those looked at."""
        step = max(1, len(thing.rows) // 7)
        for place in [*range(step // 2, len(thing.rows), step)]:
            row = dict(thing.rows[place])
            values = [row.get(column) for column in thing.label]
            if all(isinstance(v, (int, str)) and _sayable(v) for v in values):
                yield row

    def call(self, thing: Thing, row: dict[str, object]) -> str:
        """What a row is called in a question: its name, with its sort before it where it is a mere key."""
        name = " ".join(str(row[column]) for column in thing.label)
        return name if thing.named else f"{thing.one} {name}"

    def facts(self) -> Iterator[tuple[Thing, Amount]]:
        for thing in self.things:
            for amount in thing.amounts:
                yield thing, amount


def _sayable(value: int | str) -> bool:
    return isinstance(value, int) or bool(value and len(value) <= 40 and re.match(r"[^\W_][\w .,&'/-]*\Z", value))


def _total(amount: Amount) -> str:
    return amount.words if set(amount.words.split()) & {"total", "sum"} else f"total {amount.words}"


def _who(thing: Thing) -> str:
    return f"Which {thing.many}"


def _with(kind: Kind, value: str) -> str:
    """How a filter is said after the rows: `in Berlin`, `with the status open`."""
    return f"in {value}" if is_place(kind.column) else f"with the {kind.words} {value}"


def _flagged(flag: Flag, thing: Thing) -> str:
    verb, rest = flag_words(flag.column)
    return f"{verb} {article(rest)}" if verb == "have" else f"{verb} {rest}"


def _lookup(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for row in list(work.rows(thing))[:3]:
            for column in thing.facts[n % 3 :]:
                if row.get(column) is None or is_secret(column):
                    continue
                n += 1
                words, name = column_words(column, thing.table), work.call(thing, row)
                happened = done(column) if any(m.column == column for m in thing.moments) else None
                sort = "" if thing.people or not thing.named else f"the {thing.one} "
                if happened:
                    question = f"When was {sort}{name} {happened}?"
                elif is_place(column):
                    question = f"In which {words} is {sort}{name}?"
                else:
                    question = either(
                        [f"What is the {words} of {sort}{name}?", f"What {words} does {sort}{name} have?"], n
                    )
                yield Sown(
                    "lookup",
                    f"lookup {thing.table} {n % 4}",
                    question,
                    f"SELECT {sql.name(column)} FROM {sql.name(thing.table)} WHERE {_is(sql, thing, row)}",
                )
                break


def _lookup_above(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for way, up in work.above(thing, farthest=2):
            for row in list(work.rows(thing))[n % 2 : n % 2 + 2]:
                n += 1
                name = work.call(thing, row)
                sort = "" if thing.people or not thing.named else f"the {thing.one} "
                yield Sown(
                    "lookup",
                    f"above {thing.table} {up.table}",
                    either(
                        [f"Which {up.one} does {sort}{name} belong to?", f"What is the {up.one} of {sort}{name}?"], n
                    ),
                    f"SELECT {sql.label(up)} {sql.source(thing.table, way)} WHERE {sql.is_row(thing, row)}",
                )


def _list(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for n, thing in enumerate(work.named, work.place):
        question = either(
            [f"List all {thing.many}.", f"Show me all {thing.many}.", f"Which {thing.many} are there?"], n
        )
        yield Sown("list", f"list {thing.table}", question, f"SELECT {_bare(sql, thing)} FROM {sql.name(thing.table)}")
        for amount in thing.amounts[:1]:
            yield Sown(
                "list",
                f"list {thing.table} with {amount.column}",
                f"List all {thing.many} with their {amount.words}.",
                f"SELECT {_bare(sql, thing)}, {sql.name(amount.column)} FROM {sql.name(thing.table)}",
            )
        for way, up in list(work.above(thing, farthest=1))[:1]:
            yield Sown(
                "list",
                f"list {thing.table} with {up.table}",
                f"Show every {thing.one} together with its {up.one}.",
                f"SELECT {sql.label(thing)}, {sql.label(up)} {sql.source(thing.table, way)}",
            )


def _bare(sql: Writer, thing: Thing) -> str:
    return ", ".join(sql.name(column) for column in thing.label)


def _filter_text(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for kind in thing.kinds[:3]:
            n += 1
            value, other = kind.values[n % len(kind.values)], kind.values[(n + 1) % len(kind.values)]
            head = f"SELECT {_bare(sql, thing)} FROM {sql.name(thing.table)} WHERE {sql.name(kind.column)}"
            if is_place(kind.column):
                question = either(
                    [
                        f"List the {thing.many} in {value}.",
                        f"Which {thing.many} are in {value}?",
                        f"Show the {thing.many} from {value}.",
                    ],
                    n,
                )
                two = either(
                    [f"Which {thing.many} are in {value} or {other}?", f"List {thing.many} from {value} and {other}."],
                    n,
                )
            else:
                question = either(
                    [
                        f"List the {thing.many} with the {kind.words} {value}.",
                        f"Which {thing.many} have the {kind.words} {value}?",
                    ],
                    n,
                )
                two = f"Which {thing.many} have the {kind.words} {value} or {other}?"
            yield Sown("filter", f"filter {thing.table} {kind.column}", question, f"{head} = {sql.text(value)}")
            yield Sown(
                "filter",
                f"either {thing.table} {kind.column}",
                two,
                f"{head} IN ({sql.text(value)}, {sql.text(other)})",
            )


def _filter_above(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for way, up in work.above(thing, farthest=2):
            for row in list(work.rows(up))[n % 2 :]:
                n += 1
                name = work.call(up, row)
                yield Sown(
                    "filter",
                    f"of {thing.table} {up.table}",
                    either(
                        [
                            f"List the {thing.many} of {name}.",
                            f"Which {thing.many} does {name} have?",
                            f"Which {thing.many} belong to the {up.one} {name}?",
                        ],
                        n,
                    ),
                    f"SELECT {sql.label(thing)} {sql.source(thing.table, way)} WHERE {sql.is_row(up, row)}",
                )


def _filter_number(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if thing.key is None:
            continue
        n += 1
        column, table = sql.name(amount.column), sql.name(thing.table)
        head = f"SELECT {_bare(sql, thing)} FROM {table} WHERE {column}"
        middle = number(amount.middle)
        yield Sown(
            "filter",
            f"above {thing.table} {amount.column}",
            either(
                [
                    f"Which {thing.many} have {article(amount.words)} above {middle}?",
                    f"List {thing.many} with {article(amount.words)} of more than {middle}.",
                ],
                n,
            ),
            f"{head} > {middle}",
        )
        yield Sown(
            "filter",
            f"below {thing.table} {amount.column}",
            f"Which {thing.many} have {article(amount.words)} of less than {middle}?",
            f"{head} < {middle}",
        )
        if amount.low < amount.high:
            yield Sown(
                "filter",
                f"between {thing.table} {amount.column}",
                f"Which {thing.many} have {article(amount.words)} between {number(amount.low)} "
                f"and {number(amount.high)}?",
                f"{head} BETWEEN {number(amount.low)} AND {number(amount.high)}",
            )


def _prices(work: _Work) -> Iterator[Sown]:
    """What things cost, in the words that people have for that."""
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if not thing.named or thing.people or not is_price(amount.column):
            continue
        n += 1
        many = either(_NUMBERS, n)
        name, table, middle = sql.name(amount.column), sql.name(thing.table), number(amount.middle)
        head = f"SELECT {_bare(sql, thing)} FROM {table} WHERE {name}"
        order = f"SELECT {_bare(sql, thing)}, {name} FROM {table} ORDER BY {name}"
        cheapest, dearest = (f"{thing.table} {word}" for word in ("cheapest", "most expensive"))
        for row in work.rows(thing):
            yield Sown(
                "lookup",
                f"cost of {thing.table}",
                f"How much does {work.call(thing, row)} cost?",
                f"SELECT {name} FROM {table} WHERE {_is(sql, thing, row)}",
            )
        yield Sown(
            "top_n",
            cheapest,
            f"What are the {many} cheapest {thing.many}?",
            f"{order} LIMIT {_COUNTS[many]}",
        )
        yield Sown(
            "filter", f"costs more {thing.table}", f"Which {thing.many} cost more than {middle}?", f"{head} > {middle}"
        )
        yield Sown("min_max", f"one {dearest}", f"What is the most expensive {thing.one}?", f"{order} DESC LIMIT 1")
        yield Sown(
            "top_n",
            dearest,
            f"What are the {many} most expensive {thing.many}?",
            f"{order} DESC LIMIT {_COUNTS[many]}",
        )
        yield Sown("min_max", f"one {cheapest}", f"What is the cheapest {thing.one}?", f"{order} LIMIT 1")


def _is(sql: Writer, thing: Thing, row: dict[str, object]) -> str:
    """The condition that a row is the one shown by its label, in a query of one table."""
    return " AND ".join(f"{sql.name(column)} = {sql.text(row[column])}" for column in thing.label)


def _filter_flag(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.counted:
        for flag in thing.flags[:2]:
            verb, rest = flag_words(flag.column)
            said_so, no = _flagged(flag, thing), f"{verb} no {rest}" if verb == "have" else f"{verb} not {rest}"
            column, table = sql.name(flag.column), sql.name(thing.table)
            slot = f"{thing.table} {flag.column}"
            yield Sown(
                "filter",
                f"flag {slot}",
                f"Which {thing.many} {said_so}?",
                f"SELECT {_bare(sql, thing)} FROM {table} WHERE {column} = {flag.yes}",
            )
            yield Sown(
                "count",
                f"count flag {slot}",
                f"How many {thing.many} {said_so}?",
                f"SELECT COUNT(*) FROM {table} WHERE {column} = {flag.yes}",
            )
            yield Sown(
                "filter",
                f"no flag {slot}",
                f"Which {thing.many} {no}?",
                f"SELECT {_bare(sql, thing)} FROM {table} WHERE {column} = {flag.no}",
            )
            yield Sown(
                "share",
                f"share flag {slot}",
                f"What percentage of {thing.many} {said_so}?",
                f"SELECT 100.0 * SUM(CASE WHEN {column} = {flag.yes} THEN 1 ELSE 0 END) / COUNT(*) FROM {table}",
            )


def _blanks(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for column in thing.blanks[:2]:
            n += 1
            words, table, name = column_words(column, thing.table), sql.name(thing.table), sql.name(column)
            happened = done(column) if any(m.column == column for m in thing.moments) else None
            none = f"were never {happened}" if happened else f"have no {words}"
            yield Sown(
                "nulls",
                f"no {thing.table} {column}",
                f"Which {thing.many} {none}?",
                f"SELECT {_bare(sql, thing)} FROM {table} WHERE {name} IS NULL",
            )
            yield Sown(
                "nulls",
                f"count no {thing.table} {column}",
                f"How many {thing.many} {none}?",
                f"SELECT COUNT(*) FROM {table} WHERE {name} IS NULL",
            )
            if not happened:
                yield Sown(
                    "nulls",
                    f"some {thing.table} {column}",
                    f"Which {thing.many} have {article(words)}?",
                    f"SELECT {_bare(sql, thing)}, {name} FROM {table} WHERE {name} IS NOT NULL",
                )


def _count(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for n, thing in enumerate(work.counted, work.place):
        table = sql.name(thing.table)
        yield Sown(
            "count",
            f"count {thing.table}",
            either([f"How many {thing.many} are there?", f"How many {thing.many} do we have?"], n),
            f"SELECT COUNT(*) FROM {table}",
        )
        for kind in thing.kinds[:2]:
            value = kind.values[(n + 1) % len(kind.values)]
            yield Sown(
                "count",
                f"count {thing.table} {kind.column}",
                f"How many {thing.many} are in {value}?"
                if is_place(kind.column)
                else either(
                    [f"How many {thing.many} are {value}?", f"How many {thing.many} have the {kind.words} {value}?"], n
                ),
                f"SELECT COUNT(*) FROM {table} WHERE {sql.name(kind.column)} = {sql.text(value)}",
            )
        for amount in thing.amounts[:1]:
            yield Sown(
                "count",
                f"count {thing.table} {amount.column}",
                f"How many {thing.many} have {article(amount.words)} above {number(amount.middle)}?",
                f"SELECT COUNT(*) FROM {table} WHERE {sql.name(amount.column)} > {number(amount.middle)}",
            )


def _count_above(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for way, up in work.above(thing, farthest=2):
            for row in list(work.rows(up))[n % 3 :]:
                n += 1
                yield Sown(
                    "count",
                    f"count {thing.table} of {up.table}",
                    f"How many {thing.many} does {work.call(up, row)} have?",
                    f"SELECT COUNT(*) {sql.source(thing.table, way)} WHERE {sql.is_row(up, row)}",
                )


def _count_distinct(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for kind in thing.kinds[:2]:
            n += 1
            several = one_and_many(kind.words)[1]
            yield Sown(
                "count_distinct",
                f"distinct {thing.table} {kind.column}",
                either(
                    [
                        f"How many different {several} do the {thing.many} have?",
                        f"In how many different {several} are there {thing.many}?",
                    ]
                    if is_place(kind.column)
                    else [
                        f"How many different {several} do the {thing.many} have?",
                        f"How many different {several} of {thing.many} are there?",
                    ],
                    n,
                ),
                f"SELECT COUNT(DISTINCT {sql.name(kind.column)}) FROM {sql.name(thing.table)}",
            )
    for thing in work.things:
        for way, up in work.above(thing, farthest=1):
            if thing.named or len(way.joins[0].left_columns) != 1:
                continue
            yield Sown(
                "count_distinct",
                f"distinct {thing.table} {up.table}",
                f"How many different {up.many} have {thing.many}?",
                f"SELECT COUNT(DISTINCT {sql.name(way.joins[0].left_columns[0])}) FROM {sql.name(thing.table)}",
            )


def _sum(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if not amount.adds:
            continue
        n += 1
        column, table = sql.of(thing.table, amount.column), sql.name(thing.table)
        yield Sown(
            "sum",
            f"sum {thing.table} {amount.column}",
            f"What is the {_total(amount)} of all {thing.many}?",
            f"SELECT SUM({sql.name(amount.column)}) FROM {table}",
        )
        for kind in thing.kinds[:1]:
            value = kind.values[n % len(kind.values)]
            yield Sown(
                "sum",
                f"sum {thing.table} {amount.column} {kind.column}",
                f"What is the {_total(amount)} of the {thing.many} {_with(kind, value)}?",
                f"SELECT SUM({sql.name(amount.column)}) FROM {table} WHERE {sql.name(kind.column)} = {sql.text(value)}",
            )
        for way, up in list(work.above(thing))[:3]:
            for row in list(work.rows(up))[n % 2 :]:
                yield Sown(
                    "sum",
                    f"sum {thing.table} {amount.column} {up.table}",
                    f"What is the {_total(amount)} of the {thing.many} of {work.call(up, row)}?",
                    f"SELECT SUM({column}) {sql.source(thing.table, way)} WHERE {sql.is_row(up, row)}",
                )


def _in_time(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        if (dated := work.dated(thing)) is None:
            continue
        table, name, years, ways = dated
        date = sql.of(table, name) if ways else sql.name(name)
        for year in _middle_out(years):
            n += 1
            happened = done(name) if table == thing.table else None
            if thing.key is not None:
                yield Sown(
                    "count",
                    f"count {thing.table} year",
                    f"How many {thing.many} were there in {year}?",
                    f"SELECT COUNT(*) {sql.source(thing.table, *ways)} WHERE {sql.year(date)} = '{year}'",
                )
            if thing.key is not None and happened:
                yield Sown(
                    "count",
                    f"count {thing.table} year done",
                    f"How many {thing.many} were {happened} in {year}?",
                    f"SELECT COUNT(*) {sql.source(thing.table, *ways)} WHERE {sql.year(date)} = '{year}'",
                )


def _sum_in_time(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.things:
        if (dated := work.dated(thing)) is None:
            continue
        table, name, years, ways = dated
        date = sql.of(table, name) if ways else sql.name(name)
        for year in _middle_out(years):
            for amount in thing.amounts[:2]:
                if amount.adds:
                    column = sql.of(thing.table, amount.column) if ways else sql.name(amount.column)
                    yield Sown(
                        "sum",
                        f"sum {thing.table} {amount.column} year",
                        f"What was the {_total(amount)} of {thing.many} in {year}?",
                        f"SELECT SUM({column}) {sql.source(thing.table, *ways)} WHERE {sql.year(date)} = '{year}'",
                    )


def _middle_out(some: Sequence[str]) -> list[str]:
    """The middle ones first."""
    return sorted(some, key=lambda one: abs(some.index(one) - len(some) / 2))


def _average(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for n, (thing, amount) in enumerate(work.facts(), work.place):
        name, table = sql.name(amount.column), sql.name(thing.table)
        yield Sown(
            "average",
            f"average {thing.table} {amount.column}",
            either(
                [
                    f"What is the average {amount.words} of the {thing.many}?",
                    f"What is the average {amount.words} of all {thing.many}?",
                ],
                n,
            ),
            f"SELECT AVG({name}) FROM {table}",
        )
        for kind in thing.kinds[:1]:
            value = kind.values[n % len(kind.values)]
            yield Sown(
                "average",
                f"average {thing.table} {amount.column} {kind.column}",
                f"What is the average {amount.words} of the {thing.many} {_with(kind, value)}?",
                f"SELECT AVG({name}) FROM {table} WHERE {sql.name(kind.column)} = {sql.text(value)}",
            )


def _ends(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for n, (thing, amount) in enumerate(work.facts(), work.place):
        name, table = sql.name(amount.column), sql.name(thing.table)
        yield Sown(
            "min_max",
            f"ends {thing.table} {amount.column}",
            f"What are the lowest and the highest {amount.words} of the {thing.many}?",
            f"SELECT MIN({name}), MAX({name}) FROM {table}",
        )
        yield Sown(
            "min_max",
            f"highest {thing.table} {amount.column}",
            f"What is the highest {amount.words} of all {thing.many}?",
            f"SELECT MAX({name}) FROM {table}",
        )
        if thing.key is not None:
            low = n % 2 == 0
            yield Sown(
                "min_max",
                f"most {thing.table} {amount.column}",
                f"Which {thing.one} has the {'lowest' if low else 'highest'} {amount.words}?",
                f"SELECT {_bare(sql, thing)}, {name} FROM {table} ORDER BY {name}{'' if low else ' DESC'} LIMIT 1",
            )


def _first_last(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for moment in thing.moments[:2]:
            n += 1
            happened = done(moment.column) or ("born" if is_birth(moment.column) else None)
            name, table = sql.name(moment.column), sql.name(thing.table)
            if happened:
                yield Sown(
                    "min_max",
                    f"first {thing.table} {moment.column}",
                    f"When was the first {thing.one} {happened}?",
                    f"SELECT MIN({name}) FROM {table}",
                )
            yield Sown(
                "min_max",
                f"last {thing.table} {moment.column}",
                f"What is the latest {moment.words} of all {thing.many}?"
                if not happened
                else f"When was the last {thing.one} {happened}?",
                f"SELECT MAX({name}) FROM {table}",
            )
            if thing.named and happened:
                yield Sown(
                    "min_max",
                    f"newest {thing.table} {moment.column}",
                    f"Which {thing.one} was {happened} {'last' if n % 2 else 'first'}?",
                    f"SELECT {_bare(sql, thing)}, {name} FROM {table} "
                    f"ORDER BY {name}{' DESC' if n % 2 else ''} LIMIT 1",
                )
        for way, up in list(work.above(thing, farthest=1))[:1]:
            if thing.moment is None or thing.named:
                continue
            for row in work.rows(up):
                yield Sown(
                    "min_max",
                    f"last {thing.table} of {up.table}",
                    f"When was the last {thing.one} of {work.call(up, row)}?",
                    f"SELECT MAX({sql.of(thing.table, thing.moment.column)}) {sql.source(thing.table, way)} "
                    f"WHERE {sql.is_row(up, row)}",
                )


def _groups(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        table = sql.name(thing.table)
        for kind in thing.kinds[:2]:
            n += 1
            column = sql.name(kind.column)
            yield Sown(
                "by_group",
                f"count by {thing.table} {kind.column}",
                either(
                    [
                        f"How many {thing.many} are there per {kind.words}?",
                        f"How many {thing.many} are there in each {kind.words}?",
                        f"Show the number of {thing.many} for every {kind.words}.",
                    ],
                    n,
                ),
                f"SELECT {column}, COUNT(*) FROM {table} GROUP BY {column}",
            )
            for amount in thing.amounts[:2]:
                measure, call = _measured(amount, n)
                yield Sown(
                    "by_group",
                    f"{call} {amount.column} by {thing.table} {kind.column}",
                    either(
                        [
                            f"What is the {measure} of the {thing.many} for each {kind.words}?",
                            f"Show the {measure} of {thing.many} by {kind.words}.",
                            f"Show the {measure} for every {thing.one} {kind.words}.",
                        ],
                        n,
                    ),
                    f"SELECT {column}, {call}({sql.name(amount.column)}) FROM {table} GROUP BY {column}",
                )


def _measured(amount: Amount, n: int) -> tuple[str, str]:
    """How an amount is taken together, in words and in SQL."""
    return (_total(amount), "SUM") if amount.adds and n % 3 != 2 else (f"average {amount.words}", "AVG")


def _by(sql: Writer, up: Thing) -> str:
    return sql.of(up.table, up.key or up.label[0])


def _groups_above(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        for way, up in list(work.above(thing))[:4]:
            n += 1
            tail = f"{sql.source(thing.table, way)} GROUP BY {_group(sql, up)}"
            if thing.key is not None:
                yield Sown(
                    "by_group",
                    f"count {thing.table} by {up.table}",
                    either(
                        [
                            f"How many {thing.many} does each {up.one} have?",
                            f"How many {thing.many} are there per {up.one}?",
                            f"Show the number of {thing.many} for every {up.one}.",
                        ],
                        n,
                    ),
                    f"SELECT {sql.label(up)}, COUNT(*) {tail}",
                )
            for amount in thing.amounts[:2]:
                measure, call = _measured(amount, n)
                yield Sown(
                    "by_group",
                    f"{thing.table} {amount.column} by {up.table}",
                    either(
                        [
                            f"What is the {measure} of {thing.many} for each {up.one}?",
                            f"Show the {measure} of the {thing.many} per {up.one}.",
                            f"List every {up.one} with the {measure} of its {thing.many}.",
                        ],
                        n,
                    ),
                    f"SELECT {sql.label(up)}, {call}({sql.of(thing.table, amount.column)}) {tail}",
                )
            for kind in up.kinds[:1]:
                column = sql.of(up.table, kind.column)
                yield Sown(
                    "by_group",
                    f"count {thing.table} by {up.table} {kind.column}",
                    f"How many {thing.many} are there for each {up.one} {kind.words}?",
                    f"SELECT {column}, COUNT(*) {sql.source(thing.table, way)} GROUP BY {column}",
                )


def _group(sql: Writer, up: Thing) -> str:
    """What figures of a thing are grouped by: its key; in PostgreSQL that allows its other columns too."""
    return sql.of(up.table, up.key or up.label[0])


def _of(make: Callable[[_Work], Iterator[Sown]], *slots: str) -> Callable[[_Work], Iterator[Sown]]:
    """Those pairs of a kind whose slot begins with one of these words."""

    def some(work: _Work) -> Iterator[Sown]:
        return (one for one in make(work) if one.slot.startswith(slots))

    return some


def _all_over_time(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        if (dated := work.dated(thing)) is None:
            continue
        table, name, years, ways = dated
        date = sql.of(table, name) if ways else sql.name(name)
        source = sql.source(thing.table, *ways)
        n += 1
        per_year, per_month = sql.year(date), sql.month(date)
        year = (_middle_out(years) or [""])[0]
        if thing.key is not None:
            if len(years) > 1:
                yield Sown(
                    "over_time",
                    f"years {thing.table}",
                    either(
                        [
                            f"How many {thing.many} were there in each year?",
                            f"How many {thing.many} were there per year?",
                        ],
                        n,
                    ),
                    f"SELECT {per_year} AS Year, COUNT(*) {source} GROUP BY {per_year}",
                )
            yield Sown(
                "over_time",
                f"months {thing.table}",
                f"Show the number of {thing.many} per month in {year}.",
                f"SELECT {per_month} AS Month, COUNT(*) {source} WHERE {per_year} = '{year}' GROUP BY {per_month}",
            )
        for amount in [a for a in thing.amounts if a.adds][:1]:
            column = sql.of(thing.table, amount.column) if ways else sql.name(amount.column)
            if len(years) > 1:
                yield Sown(
                    "over_time",
                    f"years {thing.table} {amount.column}",
                    f"Show the {_total(amount)} of {thing.many} by year.",
                    f"SELECT {per_year} AS Year, SUM({column}) AS Total {source} GROUP BY {per_year}",
                )
            yield Sown(
                "over_time",
                f"months {thing.table} {amount.column}",
                f"What was the monthly {_total(amount)} of {thing.many} in {year}?",
                f"SELECT {per_month} AS Month, SUM({column}) AS Total {source} WHERE {per_year} = '{year}' "
                f"GROUP BY {per_month}",
            )
            yield Sown(
                "running_total",
                f"running {thing.table} {amount.column}",
                f"Show the {_total(amount)} of {thing.many} per month in {year} with a running total.",
                f"SELECT Month, Total, SUM(Total) OVER (ORDER BY Month) AS RunningTotal FROM "
                f"(SELECT {per_month} AS Month, SUM({column}) AS Total {source} WHERE {per_year} = '{year}' "
                f"GROUP BY {per_month}) AS months",
            )
        if thing.key is not None:
            yield Sown(
                "running_total",
                f"running {thing.table}",
                f"Show the number of {thing.many} per month in {year} with a running total.",
                f"SELECT Month, Number, SUM(Number) OVER (ORDER BY Month) AS RunningTotal FROM "
                f"(SELECT {per_month} AS Month, COUNT(*) AS Number {source} WHERE {per_year} = '{year}' "
                f"GROUP BY {per_month}) AS months",
            )


def _ranges(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.counted:
        moment = thing.moment
        if moment is None or thing.named:
            continue
        name, table = sql.name(moment.column), sql.name(thing.table)
        for year in _middle_out(moment.years):
            yield Sown(
                "date_range",
                f"range {thing.table}",
                f"How many {thing.many} were there between 1 March {year} and 30 September {year}?",
                f"SELECT COUNT(*) FROM {table} WHERE {name} BETWEEN '{year}-03-01' AND '{year}-09-30'",
            )
        for day in moment.days[len(moment.days) // 3 :]:
            month = f"{_MONTHS[int(day[5:7]) - 1]} {day[:4]}"
            yield Sown(
                "date_range",
                f"month {thing.table}",
                f"How many {thing.many} were there in {month}?",
                f"SELECT COUNT(*) FROM {table} WHERE {sql.month(name)} = '{day[:7]}'",
            )
            yield Sown(
                "date_range",
                f"after {thing.table}",
                f"How many {thing.many} were there after {int(day[8:])} {month}?",
                f"SELECT COUNT(*) FROM {table} WHERE {name} > '{day}'",
            )


def _top(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if thing.key is None:
            continue
        n += 1
        many = either(_NUMBERS, n)
        name, table = sql.name(amount.column), sql.name(thing.table)
        yield Sown(
            "top_n",
            f"top {thing.table} {amount.column}",
            either(
                [
                    f"Which {many} {thing.many} have the highest {amount.words}?",
                    f"What are the {many} {thing.many} with the highest {amount.words}?",
                ],
                n,
            ),
            f"SELECT {_bare(sql, thing)}, {name} FROM {table} ORDER BY {name} DESC LIMIT {_COUNTS[many]}",
        )
        yield Sown(
            "bottom_n",
            f"bottom {thing.table} {amount.column}",
            f"Which {many} {thing.many} have the lowest {amount.words}?",
            f"SELECT {_bare(sql, thing)}, {name} FROM {table} ORDER BY {name} LIMIT {_COUNTS[many]}",
        )


def _top_above(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        for way, up in list(work.above(thing))[:3]:
            n += 1
            many = either(_NUMBERS, n)
            tail = f"{sql.source(thing.table, way)} GROUP BY {_group(sql, up)}"
            if thing.key is not None:
                yield Sown(
                    "top_n",
                    f"most {thing.table} {up.table}",
                    either(
                        [
                            f"Which {many} {up.many} have the most {thing.many}?",
                            f"Which {up.one} has the most {thing.many}?",
                        ],
                        n,
                    ),
                    f"SELECT {sql.label(up)}, COUNT(*) AS Number {tail} ORDER BY Number DESC "
                    f"LIMIT {_COUNTS[many] if n % 2 == 0 else 1}",
                )
                yield Sown(
                    "bottom_n",
                    f"fewest {thing.table} {up.table}",
                    f"Which {many} {up.many} have the fewest {thing.many}?",
                    f"SELECT {sql.label(up)}, COUNT(*) AS Number {tail} ORDER BY Number LIMIT {_COUNTS[many]}",
                )
            for amount in thing.amounts[:2]:
                measure, call = _measured(amount, 0 if amount.adds else 2)
                value = f"{call}({sql.of(thing.table, amount.column)}) AS Total"
                yield Sown(
                    "top_n",
                    f"top {thing.table} {amount.column} {up.table}",
                    f"Which {many} {up.many} have the highest {measure} of {thing.many}?",
                    f"SELECT {sql.label(up)}, {value} {tail} ORDER BY Total DESC LIMIT {_COUNTS[many]}",
                )


def _shares(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        table = sql.name(thing.table)
        for kind in thing.kinds[:1]:
            n += 1
            value, column = kind.values[n % len(kind.values)], sql.name(kind.column)
            question = (
                f"What percentage of the {thing.many} are in {value}?"
                if is_place(kind.column)
                else f"What percentage of the {thing.many} have the {kind.words} {value}?"
            )
            yield Sown(
                "share",
                f"share {thing.table} {kind.column}",
                question,
                f"SELECT 100.0 * SUM(CASE WHEN {column} = {sql.text(value)} THEN 1 ELSE 0 END) / COUNT(*) FROM {table}",
            )
            yield Sown(
                "share",
                f"shares {thing.table} {kind.column}",
                f"What percentage of {thing.many} does each {kind.words} have?",
                f"SELECT {column}, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM {table}) AS Percentage "
                f"FROM {table} GROUP BY {column}",
            )
    for thing, amount in work.facts():
        for way, up in list(work.above(thing))[:2]:
            if amount.adds:
                column = sql.of(thing.table, amount.column)
                yield Sown(
                    "share",
                    f"shares {thing.table} {amount.column} {up.table}",
                    f"What percentage of the {_total(amount)} of {thing.many} comes from each {up.one}?",
                    f"SELECT {sql.label(up)}, 100.0 * SUM({column}) / (SELECT SUM({sql.name(amount.column)}) FROM "
                    f"{sql.name(thing.table)}) AS Percentage {sql.source(thing.table, way)} GROUP BY {_group(sql, up)}",
                )


def _ratios(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.things:
        for way, up in work.above(thing, farthest=1):
            if len(way.joins[0].left_columns) == 1:
                column = sql.name(way.joins[0].left_columns[0])
                yield Sown(
                    "ratio",
                    f"per {thing.table} {up.table}",
                    f"How many {thing.many} does {article(up.one)} have on average?",
                    f"SELECT 1.0 * COUNT(*) / COUNT(DISTINCT {column}) FROM {sql.name(thing.table)}",
                )


def _having(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        for way, up in list(work.above(thing, farthest=2))[:3]:
            n += 1
            tail = f"{sql.source(thing.table, way)} GROUP BY {_group(sql, up)}"
            for least, word in ((5, "five"), (3, "three"), (2, "two"), (1, "one")):
                if thing.key is None:
                    break
                yield Sown(
                    "having",
                    f"more {thing.table} {up.table}",
                    either(
                        [
                            f"Which {up.many} have more than {word} {thing.many}?",
                            f"Which {up.many} have more than {least} {thing.many}?",
                        ],
                        n,
                    ),
                    f"SELECT {sql.label(up)}, COUNT(*) {tail} HAVING COUNT(*) > {least}",
                )
                yield Sown(
                    "having",
                    f"at least {thing.table} {up.table}",
                    f"List the {up.many} with at least {word} {thing.many}.",
                    f"SELECT {sql.label(up)}, COUNT(*) {tail} HAVING COUNT(*) >= {least}",
                )
            for amount in [a for a in thing.amounts if a.adds][:1]:
                column = sql.of(thing.table, amount.column)
                for limit in (number(amount.high * 3), number(amount.middle)):
                    yield Sown(
                        "having",
                        f"more {thing.table} {amount.column} {up.table}",
                        f"Which {up.many} have {article(_total(amount))} of {thing.many} above {limit}?",
                        f"SELECT {sql.label(up)}, SUM({column}) AS Total {tail} HAVING SUM({column}) > {limit}",
                    )
    for thing in work.counted:
        for kind in thing.kinds[:1]:
            several = one_and_many(kind.words)[1]
            column = sql.name(kind.column)
            for least, word in ((5, "five"), (2, "two")):
                yield Sown(
                    "having",
                    f"more {thing.table} {kind.column}",
                    f"Which {several} have at least {word} {thing.many}?",
                    f"SELECT {column}, COUNT(*) FROM {sql.name(thing.table)} "
                    f"GROUP BY {column} HAVING COUNT(*) >= {least}",
                )


def _missing(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for up in work.counted:
        for way, thing in work.below(up):
            join = way.joins[0]
            if up.key is None or join.right_columns != (up.key,):
                continue
            n += 1
            referring = sql.name(join.left_columns[0])
            nullable = (
                f" WHERE {referring} IS NOT NULL"
                if any(r.get(join.left_columns[0]) is None for r in thing.rows)
                else ""
            )
            yield Sown(
                "missing",
                f"without {up.table} {thing.table}",
                either(
                    [
                        f"Which {up.many} have no {thing.many}?",
                        f"Which {up.many} have never had {article(thing.one)}?",
                        f"List the {up.many} without {thing.many}.",
                    ],
                    n,
                ),
                f"SELECT {_bare(sql, up)} FROM {sql.name(up.table)} WHERE {sql.name(up.key)} NOT IN "
                f"(SELECT {referring} FROM {sql.name(thing.table)}{nullable})",
            )
            if thing.moment is not None:
                for year in _middle_out(thing.moment.years):
                    yield Sown(
                        "missing",
                        f"without {up.table} {thing.table} year",
                        f"Which {up.many} had no {thing.many} in {year}?",
                        f"SELECT {_bare(sql, up)} FROM {sql.name(up.table)} WHERE {sql.name(up.key)} NOT IN "
                        f"(SELECT {referring} FROM {sql.name(thing.table)} "
                        f"WHERE {sql.year(sql.name(thing.moment.column))} = '{year}'"
                        f"{nullable.replace(' WHERE', ' AND')})",
                    )


def _sets(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for first, second in combinations([*work.counted, *(t for t in work.all_things[work.place + 1 :] if t.key)], 2):
        if first not in work.counted:
            continue
        for kind in first.kinds:
            if not any(said(other.column) == said(kind.column) for other in second.kinds):
                continue
            several = one_and_many(kind.words)[1]
            theirs = next(o for o in second.kinds if said(o.column) == said(kind.column))
            for one, two, a, b in ((first, second, kind, theirs), (second, first, theirs, kind)):
                left = f"SELECT {sql.name(a.column)} FROM {sql.name(one.table)}"
                right = f"SELECT {sql.name(b.column)} FROM {sql.name(two.table)}"
                slot = f"{one.table} {two.table} {kind.words}"
                asked = f"In which {several} do we have" if is_place(kind.column) else f"Which {several} have"
                yield Sown(
                    "set_difference",
                    f"but no {slot}",
                    f"{asked} {one.many} but no {two.many}?",
                    f"{left} EXCEPT {right}",
                )
            yield Sown(
                "intersection",
                f"both {first.table} {second.table} {kind.words}",
                f"{asked} both {first.many} and {second.many}?",
                f"SELECT {sql.name(kind.column)} FROM {sql.name(first.table)} INTERSECT "
                f"SELECT {sql.name(theirs.column)} FROM {sql.name(second.table)}",
            )
    for up in work.named:
        for way, thing in work.below(up):
            join = way.joins[0]
            if up.key is None or join.right_columns != (up.key,) or thing.moment is None:
                continue
            date = sql.year(sql.name(thing.moment.column))
            for early, late in pairwise(thing.moment.years):
                inner = f"SELECT {sql.name(join.left_columns[0])} FROM {sql.name(thing.table)} WHERE {date} ="
                head = f"SELECT {_bare(sql, up)} FROM {sql.name(up.table)} WHERE {sql.name(up.key)} IN"
                yield Sown(
                    "set_difference",
                    f"years {up.table} {thing.table}",
                    f"Which {up.many} had {thing.many} in {early} but not in {late}?",
                    f"{head} ({inner} '{early}' EXCEPT {inner} '{late}')",
                )
                yield Sown(
                    "intersection",
                    f"both years {up.table} {thing.table}",
                    f"Which {up.many} had {thing.many} in both {early} and {late}?",
                    f"{head} ({inner} '{early}' INTERSECT {inner} '{late}')",
                )


def _duplicates(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for n, thing in enumerate(work.counted, work.place):
        for kind in thing.kinds[:1]:
            column, several = sql.name(kind.column), one_and_many(kind.words)[1]
            asked = f"In which {several} is there" if is_place(kind.column) and n % 2 else f"Which {several} have"
            yield Sown(
                "duplicates",
                f"twice {thing.table} {kind.column}",
                f"{asked} more than one {thing.one}?",
                f"SELECT {column}, COUNT(*) FROM {sql.name(thing.table)} GROUP BY {column} HAVING COUNT(*) > 1",
            )
        if thing.named:
            names = _bare(sql, thing)
            yield Sown(
                "duplicates",
                f"twice {thing.table}",
                f"Which {thing.one} names occur more than once?",
                f"SELECT {names}, COUNT(*) FROM {sql.name(thing.table)} GROUP BY {names} HAVING COUNT(*) > 1",
            )


def _compare(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        table = sql.name(thing.table)
        for kind in thing.kinds[:1]:
            n += 1
            a, b, column = kind.values[0], kind.values[1], sql.name(kind.column)
            cases = [f"SUM(CASE WHEN {column} = {sql.text(v)} THEN 1 ELSE 0 END)" for v in (a, b)]
            question = (
                f"How many {thing.many} are in {a} compared with {b}?"
                if is_place(kind.column)
                else f"How many {thing.many} have the {kind.words} {a} compared with {b}?"
            )
            yield Sown(
                "compare", f"compare {thing.table} {kind.column}", question, f"SELECT {', '.join(cases)} FROM {table}"
            )
        if thing.moment is not None and len(thing.moment.years) > 1:
            a, b = sorted(_middle_out(thing.moment.years)[:2])
            date = sql.year(sql.name(thing.moment.column))
            cases = [f"SUM(CASE WHEN {date} = '{y}' THEN 1 ELSE 0 END)" for y in (b, a)]
            yield Sown(
                "compare",
                f"compare {thing.table} years",
                f"How many more {thing.many} were there in {b} than in {a}?",
                f"SELECT {cases[0]} - {cases[1]} AS Difference FROM {table}",
            )


def _above_average(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if thing.key is None:
            continue
        n += 1
        name, table = sql.name(amount.column), sql.name(thing.table)
        yield Sown(
            "cte",
            f"average {thing.table} {amount.column}",
            either(
                [
                    f"Which {thing.many} have {article(amount.words)} above the average?",
                    f"Which {thing.many} have a higher {amount.words} than the average {thing.one}?",
                ],
                n,
            ),
            f"SELECT {_bare(sql, thing)}, {name} FROM {table} WHERE {name} > (SELECT AVG({name}) FROM {table})",
        )


def _bosses(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.named:
        for column in thing.bosses:
            if thing.key is None:
                continue
            role = re.sub(r" (id|key|no|number)$", "", said(column))
            role = {"reports to": "manager", "parent": "parent"}.get(role, role)
            other = sql.name(role.title().replace(" ", ""))
            table = sql.name(thing.table)
            join = (
                f"FROM {table} JOIN {table} AS {other} ON {other}.{sql.name(thing.key)} = {sql.of(thing.table, column)}"
            )
            theirs = ", ".join(f"{other}.{sql.name(c)}" for c in thing.label)
            which = "Who" if thing.people else f"Which {thing.one}"
            for row in work.rows(thing):
                if row.get(column) is None:
                    continue
                yield Sown(
                    "self_join",
                    f"boss {thing.table} {column}",
                    f"{which} is the {role} of {work.call(thing, row)}?",
                    f"SELECT {theirs} {join} WHERE {sql.is_row(thing, row)}",
                )
            for boss in map(dict[str, object], thing.rows):
                if any(r.get(column) == boss.get(thing.key) for r in thing.rows) and all(
                    boss.get(c) for c in thing.label
                ):
                    is_other = " AND ".join(f"{other}.{sql.name(c)} = {sql.text(boss[c])}" for c in thing.label)
                    yield Sown(
                        "self_join",
                        f"under {thing.table} {column}",
                        f"Which {thing.many} have {work.call(thing, boss)} as their {role}?",
                        f"SELECT {sql.label(thing)} {join} WHERE {is_other}",
                    )
            yield Sown(
                "self_join",
                f"bosses {thing.table} {column}",
                f"How many {thing.many} does each {role} have?",
                f"SELECT {theirs}, COUNT(*) {join} GROUP BY {other}.{sql.name(thing.key)}",
            )
            yield Sown(
                "self_join",
                f"with {thing.table} {column}",
                f"Show each {thing.one} together with the {role}.",
                f"SELECT {sql.label(thing)}, {theirs} {join}",
            )
            yield Sown(
                "nulls",
                f"no boss {thing.table} {column}",
                f"Which {thing.many} have no {role}?",
                f"SELECT {_bare(sql, thing)} FROM {table} WHERE {sql.name(column)} IS NULL",
            )


def _ranks(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        for way, up in list(work.above(thing))[:2]:
            n += 1
            tail = f"{sql.source(thing.table, way)} GROUP BY {_group(sql, up)}"
            if thing.key is not None:
                yield Sown(
                    "rank",
                    f"rank {up.table} {thing.table}",
                    f"Rank the {up.many} by number of {thing.many}.",
                    f"SELECT {sql.label(up)}, COUNT(*) AS Number, RANK() OVER (ORDER BY COUNT(*) DESC) AS Rank {tail}",
                )
            for amount in [a for a in thing.amounts if a.adds][:1]:
                value = f"SUM({sql.of(thing.table, amount.column)})"
                yield Sown(
                    "rank",
                    f"rank {up.table} {thing.table} {amount.column}",
                    f"Rank the {up.many} by the {_total(amount)} of their {thing.many}.",
                    f"SELECT {sql.label(up)}, {value} AS Total, RANK() OVER (ORDER BY {value} DESC) AS Rank {tail}",
                )
            for amount in thing.amounts[:1] if thing.named else ():
                columns = ", ".join((*map(sql.name, (*up.label, *thing.label)), sql.name(amount.column)))
                inner = [f"{sql.of(t.table, c)}" for t in (up, thing) for c in t.label]
                if len({*up.label, *thing.label}) < len(inner):
                    continue
                measure = sql.of(thing.table, amount.column)
                yield Sown(
                    "rank",
                    f"best {thing.table} {up.table}",
                    f"Which {thing.one} has the highest {amount.words} in each {up.one}?",
                    f"SELECT {columns} FROM (SELECT {', '.join(inner)}, {measure}, RANK() OVER (PARTITION BY "
                    f"{_group(sql, up)} ORDER BY {measure} DESC) AS Place {sql.source(thing.table, way)}) AS placed "
                    f"WHERE Place = 1",
                )
    for thing, amount in work.facts():
        if thing.named:
            name = sql.name(amount.column)
            yield Sown(
                "rank",
                f"rank {thing.table} {amount.column}",
                f"Rank all {thing.many} by {amount.words}.",
                f"SELECT {_bare(sql, thing)}, {name}, RANK() OVER (ORDER BY {name} DESC) AS Rank "
                f"FROM {sql.name(thing.table)}",
            )


def _matches(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for n, thing in enumerate(work.named, work.place):
        column = thing.label[-1]
        head = f"SELECT {_bare(sql, thing)} FROM {sql.name(thing.table)} WHERE {sql.name(column)} LIKE"
        words = "last name" if thing.people else "name"
        for row in work.rows(thing):
            name = str(row[column])
            if len(name) > 3 and name.isascii() and name[0].isalpha():
                yield Sown(
                    "string_match",
                    f"begins {thing.table}",
                    f"Which {thing.many} have a {words} that begins with '{name[0]}'?",
                    f"{head} '{name[0]}%'",
                )
                piece = name.split(maxsplit=1)[0][:4] if n % 2 else name[1:3]
                if piece.isalpha():
                    yield Sown(
                        "string_match",
                        f"within {thing.table}",
                        f"Which {thing.many} have '{piece}' in their {words}?",
                        f"{head} '%{piece}%'",
                    )


def _yes_no(work: _Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for kind in thing.kinds[:1]:
            n += 1
            value = kind.values[n % len(kind.values)]
            where = f"in {value}" if is_place(kind.column) else f"with the {kind.words} {value}"
            yield Sown(
                "yes_no",
                f"any {thing.table} {kind.column}",
                either([f"Do we have {article(thing.one)} {where}?", f"Are there any {thing.many} {where}?"], n),
                sql.yes_no(f"SELECT 1 FROM {sql.name(thing.table)} WHERE {sql.name(kind.column)} = {sql.text(value)}"),
            )
        for way, up in list(work.above(thing, farthest=1))[:1]:
            for row in work.rows(up):
                yield Sown(
                    "yes_no",
                    f"any {thing.table} {up.table}",
                    f"Does {work.call(up, row)} have any {thing.many}?",
                    sql.yes_no(f"SELECT 1 {sql.source(thing.table, way)} WHERE {sql.is_row(up, row)}"),
                )


def _many_joins(work: _Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.things:
        ups = list(work.above(thing))
        for (way, up), (other, second) in combinations(ups[:4], 2):
            for amount in [a for a in thing.amounts if a.adds][:1]:
                yield Sown(
                    "multi_join",
                    f"by two {thing.table}",
                    f"What is the {_total(amount)} of {thing.many} for each {up.one} and {second.one}?",
                    f"SELECT {sql.label(up)}, {sql.label(second)}, SUM({sql.of(thing.table, amount.column)}) "
                    f"{sql.source(thing.table, way, other)} GROUP BY {_group(sql, up)}, {_group(sql, second)}",
                )
            if thing.named:
                continue
            for row in work.rows(second):
                yield Sown(
                    "multi_join",
                    f"through {thing.table} {up.table} {second.table}",
                    f"Which {up.many} have {thing.many} of {work.call(second, row)}?",
                    f"SELECT DISTINCT {sql.label(up)} {sql.source(thing.table, way, other)} "
                    f"WHERE {sql.is_row(second, row)}",
                )


_KINDS: tuple[tuple[Callable[[_Work], Iterator[Sown]], int], ...] = (
    (_lookup, 8),
    (_lookup_above, 4),
    (_list, 5),
    (_filter_text, 10),
    (_filter_number, 7),
    (_filter_above, 5),
    (_prices, 8),
    (_filter_flag, 4),
    (_blanks, 5),
    (_count, 9),
    (_count_above, 4),
    (_count_distinct, 4),
    (_sum, 6),
    (_in_time, 6),
    (_sum_in_time, 3),
    (_average, 4),
    (_ends, 6),
    (_first_last, 5),
    (_groups, 8),
    (_groups_above, 9),
    (_of(_all_over_time, "years"), 5),
    (_of(_all_over_time, "months"), 5),
    (_of(_all_over_time, "running"), 4),
    (_ranges, 4),
    (_top, 7),
    (_top_above, 8),
    (_shares, 6),
    (_ratios, 3),
    (_having, 6),
    (_missing, 7),
    (_sets, 5),
    (_duplicates, 3),
    (_compare, 3),
    (_above_average, 4),
    (_bosses, 4),
    (_of(_ranks, "rank"), 5),
    (_of(_ranks, "best"), 4),
    (_matches, 3),
    (_yes_no, 4),
    (_many_joins, 4),
)
"""What makes pairs, in the order in which they take turns, and how many of each are worth most."""
