"""Pairs that give figures: counts, sums, averages and ends, of all rows, by group and in shares."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from agent.learning.sowing.asking import Sown, Work, are_so, measured, total, with_value
from agent.learning.sowing.naming import article, is_place, one_and_many
from agent.learning.sowing.writing import either, number


def count(work: Work) -> Iterator[Sown]:
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


def count_above(work: Work) -> Iterator[Sown]:
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


def count_distinct(work: Work) -> Iterator[Sown]:
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


def sums(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if not amount.adds:
            continue
        n += 1
        column, table = sql.of(thing.table, amount.column), sql.name(thing.table)
        yield Sown(
            "sum",
            f"sum {thing.table} {amount.column}",
            f"What is the {total(amount)} of all {thing.many}?",
            f"SELECT SUM({sql.name(amount.column)}) FROM {table}",
        )
        for kind in thing.kinds[:1]:
            value = kind.values[n % len(kind.values)]
            yield Sown(
                "sum",
                f"sum {thing.table} {amount.column} {kind.column}",
                f"What is the {total(amount)} of the {thing.many} {with_value(kind, value)}?",
                f"SELECT SUM({sql.name(amount.column)}) FROM {table} WHERE {sql.name(kind.column)} = {sql.text(value)}",
            )
        for way, up in list(work.above(thing))[:3]:
            for row in list(work.rows(up))[n % 2 :]:
                yield Sown(
                    "sum",
                    f"sum {thing.table} {amount.column} {up.table}",
                    f"What is the {total(amount)} of the {thing.many} of {work.call(up, row)}?",
                    f"SELECT SUM({column}) {sql.source(thing.table, way)} WHERE {sql.is_row(up, row)}",
                )


def average(work: Work) -> Iterator[Sown]:
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
                f"What is the average {amount.words} of the {thing.many} {with_value(kind, value)}?",
                f"SELECT AVG({name}) FROM {table} WHERE {sql.name(kind.column)} = {sql.text(value)}",
            )


def ends(work: Work) -> Iterator[Sown]:
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
                f"SELECT {sql.label(thing, alone=True)}, {name} FROM {table} "
                f"ORDER BY {name}{'' if low else ' DESC'} LIMIT 1",
            )


def groups(work: Work) -> Iterator[Sown]:
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
                measure, call = measured(amount, n)
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


def groups_above(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        for way, up in list(work.above(thing))[:4]:
            n += 1
            tail = sql.grouped(thing, way, up)
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
                measure, call = measured(amount, n)
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


def shares(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        table = sql.name(thing.table)
        for kind in thing.kinds[:1]:
            n += 1
            value, column = kind.values[n % len(kind.values)], sql.name(kind.column)
            yield Sown(
                "share",
                f"share {thing.table} {kind.column}",
                f"What percentage of the {thing.many} {are_so(kind, value)}?",
                f"SELECT 100.0 * {sql.how_many(f'{column} = {sql.text(value)}')} / COUNT(*) FROM {table}",
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
                    f"What percentage of the {total(amount)} of {thing.many} comes from each {up.one}?",
                    f"SELECT {sql.label(up)}, 100.0 * SUM({column}) / (SELECT SUM({sql.name(amount.column)}) FROM "
                    f"{sql.name(thing.table)}) AS Percentage {sql.grouped(thing, way, up)}",
                )


def ratios(work: Work) -> Iterator[Sown]:
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


def having(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.things:
        for way, up in list(work.above(thing, farthest=2))[:3]:
            n += 1
            tail = sql.grouped(thing, way, up)
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
            for amount in thing.sums[:1]:
                column = sql.of(thing.table, amount.column)
                for limit in (number(amount.high * 3), number(amount.middle)):
                    yield Sown(
                        "having",
                        f"more {thing.table} {amount.column} {up.table}",
                        f"Which {up.many} have {article(total(amount))} of {thing.many} above {limit}?",
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


def many_joins(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.things:
        ups = list(work.above(thing))
        for (way, up), (other, second) in combinations(ups[:4], 2):
            for amount in thing.sums[:1]:
                yield Sown(
                    "multi_join",
                    f"by two {thing.table}",
                    f"What is the {total(amount)} of {thing.many} for each {up.one} and {second.one}?",
                    f"SELECT {sql.label(up)}, {sql.label(second)}, SUM({sql.of(thing.table, amount.column)}) "
                    f"{sql.source(thing.table, way, other)} GROUP BY {sql.key(up)}, {sql.key(second)}",
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
