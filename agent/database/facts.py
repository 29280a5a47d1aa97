"""What the rows look like: values of text columns, ranges of dates and numbers, read within a time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from agent.database.naming import quoted
from agent.database.result import QueryFailed, Result
from agent.database.schema import Column, ColumnFacts, Facts, Schema, Table

MOST_VALUES = 5_000
"""Distinct values of one column past which none is kept."""
LONGEST_VALUE = 100
"""Characters past which a value is left out."""
SCANNED_ROWS = 200_000
"""Rows of one table that are looked at; past it `complete` is False."""
_ONE_QUERY = 2.0

_ISO_GLOB = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?\Z")
_NO_TEXT = re.compile(r"json|bytea|bool|\[|array|xml|tsvector|tsquery|unknown|geometry|\bbit\b|interval|\btime\b", re.I)
_DATE = re.compile(r"(date|timestamp)\b", re.I)
_NUMBER = re.compile(r"(\w*int(eger)?|\w*serial|numeric|decimal|real|double|float|money)\b", re.I)

Run = Callable[[str, float, int, int], Result]
"""Runs SQL of this module: text, seconds, rows, bytes."""


def read_facts(schema: Schema, run: Run, *, deadline: float = 10.0) -> Facts:
    """Read the facts of every column in schema order.

    Looks at tables; at views only when there are no tables, since a view repeats values of its tables. What
    `deadline` (seconds for all) leaves no time for stays without facts.
    """
    until = time.monotonic() + deadline
    only_views = all(table.is_view for table in schema.tables)
    known: list[ColumnFacts] = []
    for table in schema.tables:
        for column in table.columns:
            facts = None
            left = until - time.monotonic()
            if left > 0 and (only_views or not table.is_view):
                read = _sqlite_column if schema.dialect == "sqlite" else _postgres_column
                try:
                    facts = read(table, column, run, min(left, _ONE_QUERY))
                except QueryFailed:
                    facts = None
            known.append(facts or ColumnFacts(table.name, column.name))
    return Facts(tuple(known))


def _sqlite_column(table: Table, column: Column, run: Run, seconds: float) -> ColumnFacts:
    name, source = quoted(column.name), quoted(table.name)
    # A subquery would carry whole rows; this names one column, so long values of others are never loaded.
    some = f"(SELECT {name} AS v FROM {source} LIMIT {SCANNED_ROWS + 1})"
    profile = run(
        f"SELECT count(*), sum(typeof(v) = 'text'), sum(typeof(v) IN ('integer', 'real')), count(v), "
        f"sum(typeof(v) = 'text' AND v GLOB '{_ISO_GLOB}'), min(v), max(v) FROM {some}",
        seconds,
        1,
        1_000_000,
    ).rows[0]
    rows, texts, numbers, filled, dates = (int(n or 0) for n in profile[:5])
    sampled = rows > SCANNED_ROWS
    facts = ColumnFacts(table.name, column.name)
    if not filled:
        return facts
    if numbers == filled or dates == filled:
        low, high = profile[5:]
        if sampled:
            whole = f"SELECT (SELECT min({name}) FROM {source}), (SELECT max({name}) FROM {source})"
            low, high = run(whole, seconds, 1, 1_000_000).rows[0]
        return ColumnFacts(table.name, column.name, (), False, _shown(low), _shown(high), dates == filled)
    if not texts:
        return facts
    found = run(
        f"SELECT DISTINCT v FROM {some} WHERE typeof(v) = 'text' ORDER BY v COLLATE BINARY LIMIT {MOST_VALUES + 1}",
        seconds,
        MOST_VALUES + 1,
        4_000_000,
    )
    return _with_values(facts, found, sampled=sampled)


def _postgres_column(table: Table, column: Column, run: Run, seconds: float) -> ColumnFacts:
    source = quoted(table.name, "postgres")
    if table.namespace:
        source = f"{quoted(table.namespace, 'postgres')}.{quoted(table.name.rpartition('.')[2], 'postgres')}"
    name = quoted(column.name, "postgres")
    facts = ColumnFacts(table.name, column.name)
    kind = column.type
    if "[" in kind:
        return facts
    if _DATE.match(kind) or _NUMBER.match(kind):
        low, high = run(f"SELECT min({name})::text, max({name})::text FROM {source}", seconds, 1, 1_000_000).rows[0]
        return ColumnFacts(table.name, column.name, (), False, _shown(low), _shown(high), bool(_DATE.match(kind)))
    if _NO_TEXT.search(kind):
        return facts
    some = f"(SELECT {name}::text AS v FROM {source} LIMIT {SCANNED_ROWS + 1}) AS s"
    rows = run(f"SELECT count(*) FROM {some}", seconds, 1, 1_000).rows[0][0]
    found = run(
        f'SELECT DISTINCT v COLLATE "C" AS v FROM {some} WHERE v IS NOT NULL ORDER BY 1 LIMIT {MOST_VALUES + 1}',
        seconds,
        MOST_VALUES + 1,
        4_000_000,
    )
    return _with_values(facts, found, sampled=isinstance(rows, int) and rows > SCANNED_ROWS)


def _with_values(facts: ColumnFacts, found: Result, *, sampled: bool) -> ColumnFacts:
    values = tuple(str(row[0]) for row in found.rows)
    if len(values) > MOST_VALUES or found.truncated or not values:
        return facts
    if not sampled and all(_ISO.match(value) for value in values):
        return ColumnFacts(facts.table, facts.column, (), False, values[0], values[-1], True)
    short = tuple(value for value in values if len(value) <= LONGEST_VALUE)
    return ColumnFacts(facts.table, facts.column, short, len(short) == len(values) and not sampled)


def _shown(value: object) -> str | None:
    return None if value is None else str(value)
