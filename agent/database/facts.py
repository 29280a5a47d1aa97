"""What the rows look like: values of text columns, ranges of dates and numbers, read within a time."""

from __future__ import annotations

import contextlib
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
_Within = Callable[[str, int, int], Result]


def read_facts(schema: Schema, run: Run, *, deadline: float = 10.0) -> Facts:
    """Read the facts of every column in schema order.

    Looks at tables; at views only when there are no tables, since a view repeats values of its tables. What
    `deadline` (seconds for all) leaves no time for stays without facts.
    """
    until = time.monotonic() + deadline
    only_views = all(table.is_view for table in schema.tables)
    read = _sqlite_table if schema.dialect == "sqlite" else _postgres_table

    def within(sql: str, rows: int, size: int) -> Result:
        left = until - time.monotonic()
        if left <= 0:
            raise QueryFailed("There is no time left.", kind="deadline")
        return run(sql, min(left, _ONE_QUERY), rows, size)

    known: list[ColumnFacts] = []
    for table in schema.tables:
        found = read(table, within) if only_views or not table.is_view else {}
        known += [found.get(column.name) or ColumnFacts(table.name, column.name) for column in table.columns]
    return Facts(tuple(known))


def _sqlite_table(table: Table, run: _Within) -> dict[str, ColumnFacts]:
    found = {}
    for column in table.columns:
        with contextlib.suppress(QueryFailed):
            found[column.name] = _sqlite_column(table, column, run)
    return found


def _sqlite_column(table: Table, column: Column, run: _Within) -> ColumnFacts:
    name, source = quoted(column.name), quoted(table.name)
    # A subquery would carry whole rows; this names one column, so long values of others are never loaded.
    some = f"(SELECT {name} AS v FROM {source} LIMIT {SCANNED_ROWS + 1})"
    profile = run(
        f"SELECT count(*), sum(typeof(v) = 'text'), sum(typeof(v) IN ('integer', 'real')), count(v), "
        f"sum(typeof(v) = 'text' AND v GLOB '{_ISO_GLOB}'), min(v), max(v) FROM {some}",
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
            low, high = run(whole, 1, 1_000_000).rows[0]
        return ColumnFacts(table.name, column.name, (), False, _shown(low), _shown(high), dates == filled)
    if not texts:
        return facts
    found = run(
        f"SELECT DISTINCT v FROM {some} WHERE typeof(v) = 'text' ORDER BY v COLLATE BINARY LIMIT {MOST_VALUES + 1}",
        MOST_VALUES + 1,
        4_000_000,
    )
    return _with_values(facts, found, sampled=sampled)


def _postgres_table(table: Table, run: _Within) -> dict[str, ColumnFacts]:
    source = quoted(table.name.removeprefix(f"{table.namespace}."), "postgres")
    if table.namespace:
        source = f"{quoted(table.namespace, 'postgres')}.{source}"
    kinds = {column.name: column.type for column in table.columns if "[" not in column.type}
    ranged = [name for name, kind in kinds.items() if _DATE.match(kind) or _NUMBER.match(kind)]
    texts = [name for name, kind in kinds.items() if name not in ranged and not _NO_TEXT.search(kind)]
    found: dict[str, ColumnFacts] = {}
    try:
        counted = run(f"SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT {SCANNED_ROWS + 1}) AS s", 1, 1_000)
    except QueryFailed:
        return found
    sampled = counted.rows[0] > (SCANNED_ROWS,)
    for name in texts:
        some = f"(SELECT {quoted(name, 'postgres')}::text AS v FROM {source} LIMIT {SCANNED_ROWS + 1}) AS s"
        distinct = f'SELECT DISTINCT v COLLATE "C" AS v FROM {some} WHERE v IS NOT NULL'
        with contextlib.suppress(QueryFailed):
            values = run(f"{distinct} ORDER BY 1 LIMIT {MOST_VALUES + 1}", MOST_VALUES + 1, 4_000_000)
            found[name] = _with_values(ColumnFacts(table.name, name), values, sampled=sampled)
    if ranged:
        with contextlib.suppress(QueryFailed):
            ends = [f"{end}({quoted(name, 'postgres')})::text" for name in ranged for end in ("min", "max")]
            row = run(f"SELECT {', '.join(ends)} FROM {source}", 1, 1_000_000).rows[0]
            for n, name in enumerate(ranged):
                low, high = _shown(row[2 * n]), _shown(row[2 * n + 1])
                found[name] = ColumnFacts(table.name, name, (), False, low, high, bool(_DATE.match(kinds[name])))
    return found


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
