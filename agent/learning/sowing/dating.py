"""Pairs about times: in a year, by year and month, with a running total, between two days, the first and last."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterator

from agent.learning.sowing.asking import Dated, Sown, Work, middle_out, total
from agent.learning.sowing.naming import done, is_birth
from agent.learning.sowing.survey import Amount, Thing
from agent.learning.sowing.writing import Writer, either

_MONTHS = tuple(month_name[1:])


def in_time(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing, dated in work.dated():
        if thing.key is None:
            continue
        what = done(dated.column) if dated.own else None
        for year in middle_out(dated.years):
            query = f"SELECT COUNT(*) {dated.source} WHERE {sql.year(dated.date)} = '{year}'"
            yield Sown("count", f"count {thing.table} year", f"How many {thing.many} were there in {year}?", query)
            if what:
                yield Sown(
                    "count", f"count {thing.table} year done", f"How many {thing.many} were {what} in {year}?", query
                )


def sum_in_time(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing, dated in work.dated():
        for year in middle_out(dated.years):
            for amount in thing.amounts[:2]:
                if amount.adds:
                    yield Sown(
                        "sum",
                        f"sum {thing.table} {amount.column} year",
                        f"What was the {total(amount)} of {thing.many} in {year}?",
                        f"SELECT SUM({_amount(sql, thing, amount, dated)}) {dated.source} "
                        f"WHERE {sql.year(dated.date)} = '{year}'",
                    )


def _amount(sql: Writer, thing: Thing, amount: Amount, dated: Dated) -> str:
    """The column of an amount, with its table where another is read too."""
    return sql.name(amount.column) if dated.own else sql.of(thing.table, amount.column)


def first_last(work: Work) -> Iterator[Sown]:
    sql, n = work.sql, work.place
    for thing in work.counted:
        for moment in thing.moments[:2]:
            n += 1
            what = done(moment.column) or ("born" if is_birth(moment.column) else None)
            name, table = sql.name(moment.column), sql.name(thing.table)
            if what:
                yield Sown(
                    "min_max",
                    f"first {thing.table} {moment.column}",
                    f"When was the first {thing.one} {what}?",
                    f"SELECT MIN({name}) FROM {table}",
                )
            yield Sown(
                "min_max",
                f"last {thing.table} {moment.column}",
                f"What is the latest {moment.words} of all {thing.many}?"
                if not what
                else f"When was the last {thing.one} {what}?",
                f"SELECT MAX({name}) FROM {table}",
            )
            if thing.named and what:
                yield Sown(
                    "min_max",
                    f"newest {thing.table} {moment.column}",
                    f"Which {thing.one} was {what} {'last' if n % 2 else 'first'}?",
                    f"SELECT {sql.label(thing, alone=True)}, {name} FROM {table} "
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


def years(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for n, (thing, dated) in enumerate(work.dated(), work.place + 1):
        if len(dated.years) < 2:
            continue
        per_year = sql.year(dated.date)
        if thing.key is not None:
            yield Sown(
                "over_time",
                f"years {thing.table}",
                either(
                    [f"How many {thing.many} were there in each year?", f"How many {thing.many} were there per year?"],
                    n,
                ),
                f"SELECT {per_year} AS Year, COUNT(*) {dated.source} GROUP BY {per_year}",
            )
        for amount in thing.sums[:1]:
            yield Sown(
                "over_time",
                f"years {thing.table} {amount.column}",
                f"Show the {total(amount)} of {thing.many} by year.",
                f"SELECT {per_year} AS Year, SUM({_amount(sql, thing, amount, dated)}) AS Total {dated.source} "
                f"GROUP BY {per_year}",
            )


def months(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing, dated in work.dated():
        year, tail = _one_year(sql, dated)
        month = sql.month(dated.date)
        if thing.key is not None:
            yield Sown(
                "over_time",
                f"months {thing.table}",
                f"Show the number of {thing.many} per month in {year}.",
                f"SELECT {month} AS Month, COUNT(*) {tail}",
            )
        for amount in thing.sums[:1]:
            yield Sown(
                "over_time",
                f"months {thing.table} {amount.column}",
                f"What was the monthly {total(amount)} of {thing.many} in {year}?",
                f"SELECT {month} AS Month, SUM({_amount(sql, thing, amount, dated)}) AS Total {tail}",
            )


def running(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing, dated in work.dated():
        year, tail = _one_year(sql, dated)
        month = sql.month(dated.date)
        for amount in thing.sums[:1]:
            yield Sown(
                "running_total",
                f"running {thing.table} {amount.column}",
                f"Show the {total(amount)} of {thing.many} per month in {year} with a running total.",
                f"SELECT Month, Total, SUM(Total) OVER (ORDER BY Month) AS RunningTotal FROM "
                f"(SELECT {month} AS Month, SUM({_amount(sql, thing, amount, dated)}) AS Total {tail}) AS months",
            )
        if thing.key is not None:
            yield Sown(
                "running_total",
                f"running {thing.table}",
                f"Show the number of {thing.many} per month in {year} with a running total.",
                f"SELECT Month, Number, SUM(Number) OVER (ORDER BY Month) AS RunningTotal FROM "
                f"(SELECT {month} AS Month, COUNT(*) AS Number {tail}) AS months",
            )


def _one_year(sql: Writer, dated: Dated) -> tuple[str, str]:
    """A year in the middle, and the end of a query of its months."""
    year = (middle_out(dated.years) or [""])[0]
    return year, f"{dated.source} WHERE {sql.year(dated.date)} = '{year}' GROUP BY {sql.month(dated.date)}"


def ranges(work: Work) -> Iterator[Sown]:
    sql = work.sql
    for thing in work.counted:
        moment = thing.moment
        if moment is None or thing.named:
            continue
        name, table = sql.name(moment.column), sql.name(thing.table)
        for year in middle_out(moment.years):
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
