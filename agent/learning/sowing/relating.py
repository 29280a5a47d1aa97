"""Pairs that hold rows against others: what is missing, in both, in one alone, twice, compared, above and below."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from agent.learning.sowing.asking import Sown, Work, are_so, middle_out
from agent.learning.sowing.naming import article, is_place, one_and_many, said
from agent.learning.sowing.writing import either


def missing(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for up in work.counted:
        for column, thing in work.below(up):
            n += 1
            referring, key = sql.name(column), sql.name(str(up.key))
            held = f"{referring} IS NOT NULL" if any(row.get(column) is None for row in thing.rows) else ""
            head = f"SELECT {sql.label(up, alone=True)} FROM {sql.name(up.table)} WHERE {key} NOT IN"
            inner = f"SELECT {referring} FROM {sql.name(thing.table)}"
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
                f"{head} ({inner}{held and f' WHERE {held}'})",
            )
            if thing.moment is not None:
                for year in middle_out(thing.moment.years):
                    yield Sown(
                        "missing",
                        f"without {up.table} {thing.table} year",
                        f"Which {up.many} had no {thing.many} in {year}?",
                        f"{head} ({inner} WHERE {sql.year(sql.name(thing.moment.column))} = '{year}'"
                        f"{held and f' AND {held}'})",
                    )


def sets(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for first, second in combinations([*work.counted, *(t for t in work.all_things[work.place + 1 :] if t.key)], 2):
        if first not in work.counted:
            continue
        for kind in first.kinds:
            theirs = next((other for other in second.kinds if said(other.column) == said(kind.column)), None)
            if theirs is None:
                continue
            several = one_and_many(kind.words)[1]
            asked = f"In which {several} do we have" if is_place(kind.column) else f"Which {several} have"
            for one, two, a, b in ((first, second, kind, theirs), (second, first, theirs, kind)):
                left = f"SELECT {sql.name(a.column)} FROM {sql.name(one.table)}"
                right = f"SELECT {sql.name(b.column)} FROM {sql.name(two.table)}"
                slot = f"{one.table} {two.table} {kind.words}"
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
        for column, thing in work.below(up):
            if thing.moment is None:
                continue
            date = sql.year(sql.name(thing.moment.column))
            for early, late in pairwise(thing.moment.years):
                inner = f"SELECT {sql.name(column)} FROM {sql.name(thing.table)} WHERE {date} ="
                head = f"SELECT {sql.label(up, alone=True)} FROM {sql.name(up.table)} WHERE {sql.name(str(up.key))} IN"
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


def duplicates(work: Work) -> Iterator[Sown]:
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
            names = sql.label(thing, alone=True)
            yield Sown(
                "duplicates",
                f"twice {thing.table}",
                f"Which {thing.one} names occur more than once?",
                f"SELECT {names}, COUNT(*) FROM {sql.name(thing.table)} GROUP BY {names} HAVING COUNT(*) > 1",
            )


def compare(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.counted:
        table = sql.name(thing.table)
        for kind in thing.kinds[:1]:
            a, b, column = kind.values[0], kind.values[1], sql.name(kind.column)
            cases = [sql.how_many(f"{column} = {sql.text(value)}") for value in (a, b)]
            yield Sown(
                "compare",
                f"compare {thing.table} {kind.column}",
                f"How many {thing.many} {are_so(kind, a)} compared with {b}?",
                f"SELECT {', '.join(cases)} FROM {table}",
            )
        if thing.moment is not None and len(thing.moment.years) > 1:
            a, b = sorted(middle_out(thing.moment.years)[:2])
            date = sql.year(sql.name(thing.moment.column))
            cases = [sql.how_many(f"{date} = '{year}'") for year in (b, a)]
            yield Sown(
                "compare",
                f"compare {thing.table} years",
                f"How many more {thing.many} were there in {b} than in {a}?",
                f"SELECT {cases[0]} - {cases[1]} AS Difference FROM {table}",
            )


def bosses(work: Work) -> Iterator[Sown]:
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
                f"SELECT {sql.label(thing, alone=True)} FROM {table} WHERE {sql.name(column)} IS NULL",
            )
