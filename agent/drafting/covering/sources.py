"""Whether a query reads the tables that its question names, and counts no row more than once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, is_aggregate, name_of, own_columns
from agent.wording import is_plural

_ON_ORDER = re.compile(r"\b(?:on|in)\s+\Z", re.IGNORECASE)


def tables(case: Case) -> Iterator[str]:
    """Each table that the question names is read, unless a key of another stands for it."""
    standing = {home for column in case.columns if (home := case.keyed(column)) is not None}
    linking = {table for table in case.names.tables if case.lexicon.keys.owner(table) != table}
    standing |= {referred[0] for column, referred in case.refers.items() if column[0] in linking}
    for link in case.asked:
        if link.kind != "table" or link.verb or link.quality != "exact" or link.table is None:
            continue
        if _ON_ORDER.search(case.question[: link.start]) and not is_plural(link.text.casefold()):
            continue
        if link.table not in case.names.tables and link.table not in standing:
            yield f"{link.text!r} of the question is not read (the table {link.table})"


def fan_out(case: Case) -> Iterator[str]:
    """No join multiplies the rows of a table before they are added up."""
    for select in case.selects:
        read = case.tables_of(select)
        if len(read) < 2 or len(set(read)) < len(read):
            continue
        for node in case.own(select):
            if not is_aggregate(node):
                continue
            if name_of(node) not in ("sum", "total", "avg", "count") or not node.expressions:
                continue
            if isinstance(node.expressions[0], exp.Distinct):
                continue
            yield from _multiplied(case, select, node, read)


def _multiplied(case: Case, select: exp.Select, call: exp.Anonymous, read: list[str]) -> Iterator[str]:
    columns = [case.names.column(one) for one in own_columns(call.expressions[0])]
    homes = {column[0] for column in columns if column is not None}
    if not homes or None in columns or not homes <= set(read):
        return
    reached = set(homes)
    waiting = list(homes)
    while waiting:
        here = waiting.pop()
        for column, referred in case.refers.items():
            if column[0] == here and referred[0] in read and referred[0] not in reached:
                reached.add(referred[0])
                waiting.append(referred[0])
    below = [table for table in read if table not in reached and not _is_pinned(case, select, table)]
    if below:
        called = call.sql()
        yield (
            f"{called} counts a row of {sorted(homes)[0]} once for each row of {below[0]} joined to it"
            f" (leave the join to {below[0]} out, or put it in EXISTS or IN)"
        )


def _is_pinned(case: Case, select: exp.Select, table: str) -> bool:
    """Whether conditions leave at most one row of a table for each of the others."""
    known = next((one for one in case.lexicon.schema.tables if one.name == table), None)
    if known is None:
        return True
    fixed = set()
    for one in case.compared:
        column = case.names.column(one.other)
        if column is not None and one.operator == "=" and one.how == "plain":
            fixed.add(column)
    keys = {column.name for column in known.columns if column.primary_key}
    named = {
        case.keyed(column) or column[0] for column in fixed if case.is_key(column) or column in case.lexicon.naming
    }
    free = {
        name
        for name in keys
        if (table, name) not in fixed and not ((table, name) in case.refers and case.refers[table, name][0] in named)
    }
    return len(keys) > 1 and len(free) < len(keys) and bool(named)
