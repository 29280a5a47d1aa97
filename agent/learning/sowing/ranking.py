"""Pairs that put rows or groups in order: the first and last few, ranks, the best of each group, above the average."""

from __future__ import annotations

from collections.abc import Iterator

from agent.learning.sowing.asking import COUNTS, NUMBERS, Sown, Work, measured, total
from agent.learning.sowing.naming import article
from agent.learning.sowing.writing import either


def top(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if thing.key is None:
            continue
        n += 1
        many = either(NUMBERS, n)
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
            f"SELECT {sql.label(thing, alone=True)}, {name} FROM {table} ORDER BY {name} DESC LIMIT {COUNTS[many]}",
        )
        yield Sown(
            "bottom_n",
            f"bottom {thing.table} {amount.column}",
            f"Which {many} {thing.many} have the lowest {amount.words}?",
            f"SELECT {sql.label(thing, alone=True)}, {name} FROM {table} ORDER BY {name} LIMIT {COUNTS[many]}",
        )


def top_above(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        for way, up in list(work.above(thing))[:3]:
            n += 1
            many = either(NUMBERS, n)
            tail = sql.grouped(thing, way, up)
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
                    f"LIMIT {COUNTS[many] if n % 2 == 0 else 1}",
                )
                yield Sown(
                    "bottom_n",
                    f"fewest {thing.table} {up.table}",
                    f"Which {many} {up.many} have the fewest {thing.many}?",
                    f"SELECT {sql.label(up)}, COUNT(*) AS Number {tail} ORDER BY Number LIMIT {COUNTS[many]}",
                )
            for amount in thing.amounts[:2]:
                measure, call = measured(amount, 0 if amount.adds else 2)
                value = f"{call}({sql.of(thing.table, amount.column)}) AS Total"
                yield Sown(
                    "top_n",
                    f"top {thing.table} {amount.column} {up.table}",
                    f"Which {many} {up.many} have the highest {measure} of {thing.many}?",
                    f"SELECT {sql.label(up)}, {value} {tail} ORDER BY Total DESC LIMIT {COUNTS[many]}",
                )


def ranks(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.things:
        for way, up in list(work.above(thing))[:2]:
            tail = sql.grouped(thing, way, up)
            if thing.key is not None:
                yield Sown(
                    "rank",
                    f"rank {up.table} {thing.table}",
                    f"Rank the {up.many} by number of {thing.many}.",
                    f"SELECT {sql.label(up)}, COUNT(*) AS Number, RANK() OVER (ORDER BY COUNT(*) DESC) AS Rank {tail}",
                )
            for amount in thing.sums[:1]:
                value = f"SUM({sql.of(thing.table, amount.column)})"
                yield Sown(
                    "rank",
                    f"rank {up.table} {thing.table} {amount.column}",
                    f"Rank the {up.many} by the {total(amount)} of their {thing.many}.",
                    f"SELECT {sql.label(up)}, {value} AS Total, RANK() OVER (ORDER BY {value} DESC) AS Rank {tail}",
                )
    for thing, amount in work.facts():
        if thing.named:
            name = sql.name(amount.column)
            yield Sown(
                "rank",
                f"rank {thing.table} {amount.column}",
                f"Rank all {thing.many} by {amount.words}.",
                f"SELECT {sql.label(thing, alone=True)}, {name}, RANK() OVER (ORDER BY {name} DESC) AS Rank "
                f"FROM {sql.name(thing.table)}",
            )


def best(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.named:
        for way, up in list(work.above(thing))[:2]:
            for amount in thing.amounts[:1]:
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
                    f"{sql.key(up)} ORDER BY {measure} DESC) AS Place {sql.source(thing.table, way)}) AS placed "
                    f"WHERE Place = 1",
                )


def above_average(work: Work) -> Iterator[Sown]:
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
            f"SELECT {sql.label(thing, alone=True)}, {name} FROM {table} "
            f"WHERE {name} > (SELECT AVG({name}) FROM {table})",
        )
