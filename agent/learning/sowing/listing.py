"""Pairs that show rows: one looked up, all, and those that a filter leaves; and whether there are any."""

from __future__ import annotations

from collections.abc import Iterator

from agent.learning.sowing.asking import COUNTS, NUMBERS, Sown, Work, flagged, happened, with_value
from agent.learning.sowing.naming import article, column_words, flag_words, is_place, is_price, is_secret
from agent.learning.sowing.writing import either, number


def lookup(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for row in list(work.rows(thing))[:3]:
            for column in thing.facts[n % 3 :]:
                if row.get(column) is None or is_secret(column):
                    continue
                n += 1
                words, name = column_words(column, thing.table), work.address(thing, row)
                if what := happened(thing, column):
                    question = f"When was {name} {what}?"
                elif is_place(column):
                    question = f"In which {words} is {name}?"
                else:
                    question = either([f"What is the {words} of {name}?", f"What {words} does {name} have?"], n)
                yield Sown(
                    "lookup",
                    f"lookup {thing.table} {n % 4}",
                    question,
                    f"SELECT {sql.name(column)} FROM {sql.name(thing.table)} "
                    f"WHERE {sql.is_row(thing, row, alone=True)}",
                )
                break


def lookup_above(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for way, up in work.above(thing, farthest=2):
            for row in list(work.rows(thing))[n % 2 : n % 2 + 2]:
                n += 1
                name = work.address(thing, row)
                yield Sown(
                    "lookup",
                    f"above {thing.table} {up.table}",
                    either([f"Which {up.one} does {name} belong to?", f"What is the {up.one} of {name}?"], n),
                    f"SELECT {sql.label(up)} {sql.source(thing.table, way)} WHERE {sql.is_row(thing, row)}",
                )


def all_rows(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for n, thing in enumerate(work.named, work.place):
        names, table = sql.label(thing, alone=True), sql.name(thing.table)
        question = either(
            [f"List all {thing.many}.", f"Show me all {thing.many}.", f"Which {thing.many} are there?"], n
        )
        yield Sown(
            "list",
            f"list {thing.table}",
            question,
            f"SELECT {names} FROM {table}",
        )
        for amount in thing.amounts[:1]:
            yield Sown(
                "list",
                f"list {thing.table} with {amount.column}",
                f"List all {thing.many} with their {amount.words}.",
                f"SELECT {names}, {sql.name(amount.column)} FROM {table}",
            )
        for way, up in list(work.above(thing, farthest=1))[:1]:
            yield Sown(
                "list",
                f"list {thing.table} with {up.table}",
                f"Show every {thing.one} together with its {up.one}.",
                f"SELECT {sql.label(thing)}, {sql.label(up)} {sql.source(thing.table, way)}",
            )


def filter_text(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for kind in thing.kinds[:3]:
            n += 1
            value, other = kind.values[n % len(kind.values)], kind.values[(n + 1) % len(kind.values)]
            head = f"SELECT {sql.label(thing, alone=True)} FROM {sql.name(thing.table)} WHERE {sql.name(kind.column)}"
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


def filter_above(work: Work) -> Iterator[Sown]:
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


def filter_number(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if thing.key is None:
            continue
        n += 1
        column, table = sql.name(amount.column), sql.name(thing.table)
        head = f"SELECT {sql.label(thing, alone=True)} FROM {table} WHERE {column}"
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


def prices(work: Work) -> Iterator[Sown]:
    """What things cost, in the words that people have for that."""
    sql, n = work.sql, work.place
    for thing, amount in work.facts():
        if not thing.named or thing.people or not is_price(amount.column):
            continue
        n += 1
        many = either(NUMBERS, n)
        name, table, middle = sql.name(amount.column), sql.name(thing.table), number(amount.middle)
        head = f"SELECT {sql.label(thing, alone=True)} FROM {table} WHERE {name}"
        order = f"SELECT {sql.label(thing, alone=True)}, {name} FROM {table} ORDER BY {name}"
        cheapest, dearest = (f"{thing.table} {word}" for word in ("cheapest", "most expensive"))
        for row in work.rows(thing):
            yield Sown(
                "lookup",
                f"cost of {thing.table}",
                f"How much does {work.call(thing, row)} cost?",
                f"SELECT {name} FROM {table} WHERE {sql.is_row(thing, row, alone=True)}",
            )
        yield Sown(
            "top_n",
            cheapest,
            f"What are the {many} cheapest {thing.many}?",
            f"{order} LIMIT {COUNTS[many]}",
        )
        yield Sown(
            "filter", f"costs more {thing.table}", f"Which {thing.many} cost more than {middle}?", f"{head} > {middle}"
        )
        yield Sown("min_max", f"one {dearest}", f"What is the most expensive {thing.one}?", f"{order} DESC LIMIT 1")
        yield Sown(
            "top_n",
            dearest,
            f"What are the {many} most expensive {thing.many}?",
            f"{order} DESC LIMIT {COUNTS[many]}",
        )
        yield Sown("min_max", f"one {cheapest}", f"What is the cheapest {thing.one}?", f"{order} LIMIT 1")


def filter_flag(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.counted:
        for flag in thing.flags[:2]:
            verb, rest = flag_words(flag.column)
            said_so, no = flagged(flag), f"{verb} no {rest}" if verb == "have" else f"{verb} not {rest}"
            column, table = sql.name(flag.column), sql.name(thing.table)
            slot = f"{thing.table} {flag.column}"
            yield Sown(
                "filter",
                f"flag {slot}",
                f"Which {thing.many} {said_so}?",
                f"SELECT {sql.label(thing, alone=True)} FROM {table} WHERE {column} = {flag.yes}",
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
                f"SELECT {sql.label(thing, alone=True)} FROM {table} WHERE {column} = {flag.no}",
            )
            yield Sown(
                "share",
                f"share flag {slot}",
                f"What percentage of {thing.many} {said_so}?",
                f"SELECT 100.0 * {sql.how_many(f'{column} = {flag.yes}')} / COUNT(*) FROM {table}",
            )


def blanks(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for column in thing.blanks[:2]:
            n += 1
            words, table, name = column_words(column, thing.table), sql.name(thing.table), sql.name(column)
            what = happened(thing, column)
            none = f"were never {what}" if what else f"have no {words}"
            yield Sown(
                "nulls",
                f"no {thing.table} {column}",
                f"Which {thing.many} {none}?",
                f"SELECT {sql.label(thing, alone=True)} FROM {table} WHERE {name} IS NULL",
            )
            yield Sown(
                "nulls",
                f"count no {thing.table} {column}",
                f"How many {thing.many} {none}?",
                f"SELECT COUNT(*) FROM {table} WHERE {name} IS NULL",
            )
            if not what:
                yield Sown(
                    "nulls",
                    f"some {thing.table} {column}",
                    f"Which {thing.many} have {article(words)}?",
                    f"SELECT {sql.label(thing, alone=True)}, {name} FROM {table} WHERE {name} IS NOT NULL",
                )


def matches(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for n, thing in enumerate(work.named, work.place):
        column = thing.label[-1]
        head = f"SELECT {sql.label(thing, alone=True)} FROM {sql.name(thing.table)} WHERE {sql.name(column)} LIKE"
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


def yes_no(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for kind in thing.kinds[:1]:
            n += 1
            value = kind.values[n % len(kind.values)]
            where = with_value(kind, value)
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
