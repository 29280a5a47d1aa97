"""Whether a query reads the tables that its question names, and counts no row more than once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, is_aggregate, name_of, own_columns
from agent.drafting.literals import Column
from agent.wording import is_plural

_PAIRS = re.compile(r"\b(?:each pair|every pair|pairs of|in pairs|all pairs)\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:how many|(?:the )?number of)\s+(?:of (?:our|the|all)\s+|(?:different|distinct|unique)\s+)*", re.IGNORECASE
)
_ON_ORDER = re.compile(r"\b(?:on|in)\s+\Z", re.IGNORECASE)


def tables(case: Case) -> Iterator[str]:
    """Each table that the question names is read, unless a key of another stands for it."""
    standing = {home for column in case.columns if (home := case.keyed(column)) is not None}
    linking = {table for table in case.names.tables if case.lexicon.keys.owner(table) != table}
    standing |= {referred[0] for column, referred in case.refers.items() if column[0] in linking}
    for link in case.asked if not case.reads_views else ():
        if re.search(r"[,;:.]", link.text):
            continue
        if link.kind != "table" or link.verb or link.quality != "exact" or link.table is None:
            continue
        if _ON_ORDER.search(case.question[: link.start]) and not is_plural(link.text.casefold()):
            continue
        if link.table not in case.names.tables and link.table not in standing:
            yield f"{link.text!r} of the question is not read (the table {link.table})"


def pairs(case: Case) -> Iterator[str]:
    """Pairs are made of two rows of one table."""
    twice = any(len(set(read)) < len(read) for read in map(case.tables_of, case.selects))
    plain = all(len(case.sources(select)) == len(case.tables_of(select)) for select in case.selects)
    if case.says(_PAIRS) and plain and not twice:
        yield "a pair is two rows of one table, which the query must read twice (a self join)"


def needless(case: Case) -> Iterator[str]:
    """A table that nobody named, of which nothing is used, leaves out or multiplies rows."""
    for select in case.selects:
        read = case.tables_of(select)
        if len(read) < 2 or len(set(read)) < len(read) or len(case.sources(select)) != len(read):
            continue
        for table in read:
            if table in case.grounding.tables or not _is_plain(select, case, table):
                continue
            partners = {
                other[0]
                for node in case.own(select)
                if isinstance(node, exp.EQ)
                for here, other in _sides(case, node)
                if here[0] == table and other[0] != table
            }
            if len(partners) == 1:
                yield f"nothing of {table} is asked for or used; leave it out"


def _sides(case: Case, node: exp.EQ) -> Iterator[tuple[Column, Column]]:
    left, right = case.names.column(node.this), case.names.column(node.expression)
    if left is not None and right is not None:
        yield left, right
        yield right, left


def _is_plain(select: exp.Select, case: Case, table: str) -> bool:
    """Whether a table is only joined: each of its columns stands in the condition of a join."""
    for node in case.own(select):
        if isinstance(node, exp.Star) and isinstance(node.parent, exp.Select):
            return False
        if isinstance(node, exp.Star) and (case.grounding.leftover or not _counts_named(case, select, table)):
            return False
        column = case.names.column(node) if isinstance(node, exp.Column) else None
        joined = node.find_ancestor(exp.Join) is not None and isinstance(node.parent, exp.EQ)
        if column is not None and column[0] == table and not joined:
            return False
    return True


def _counts_named(case: Case, select: exp.Select, table: str) -> bool:
    """Whether the question names what is counted, and that is another table that is read."""
    read = set(case.tables_of(select)) - {table}
    return any(link.table in read for link in case.asked if link.kind == "table" or link.role == "entity")


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
            yield from _multiplied(case, node, _added(case, select, node, read), read)


def _added(case: Case, select: exp.Select, call: exp.Anonymous, read: list[str]) -> set[str]:
    """The tables whose values are added up, or whose rows the question asks to count; none where that is unknown."""
    if isinstance(call.expressions[0], exp.Star):
        counted = _asked_for(case)
        shown = call.find_ancestor(exp.Having, exp.Where, exp.Order) is None
        return {counted} if counted in read and shown and not _is_each(case, select, counted) else set()
    columns = [case.names.column(one) for one in own_columns(call.expressions[0])]
    return set() if None in columns else {column[0] for column in columns if column is not None}


def _asked_for(case: Case) -> str:
    """The table whose rows are counted: what stands behind `how many`, with at most a word or two between."""
    match = _HOW_MANY.search(case.question) if case.kind in ("count", "by_group") else None
    link = next((one for one in case.asked if one.start >= match.end()), None) if match is not None else None
    if link is None or match is None or link.verb or (link.kind != "table" and link.role != "entity"):
        return ""
    between = case.question[match.end() : link.start].split()
    return link.table or "" if len(between) <= 1 else ""


def _is_each(case: Case, select: exp.Select, table: str) -> bool:
    """Whether the rows are grouped by those of a table, so that what belongs to each of them is counted."""
    group = select.args.get("group")
    columns = [case.names.column(one) for one in group.expressions] if group is not None else []
    known = [column for column in columns if column is not None]
    naming = any(column[0] == table and (case.is_key(column) or column in case.lexicon.naming) for column in known)
    return naming or any(case.keyed(column) == table for column in known)


def _multiplied(case: Case, call: exp.Anonymous, homes: set[str], read: list[str]) -> Iterator[str]:
    if not homes or not homes <= set(read):
        return
    reached = case.reached(homes)
    below = [table for table in read if table not in reached and not _is_pinned(case, table)]
    below.sort(key=lambda table: all(there[0] not in reached for c, there in case.refers.items() if c[0] == table))
    if below:
        called = call.sql()
        yield (
            f"{called} counts a row of {sorted(homes)[0]} once for each row of {below[0]} joined to it"
            f" (leave the join to {below[0]} out, or put it in EXISTS or IN)"
        )


def _is_pinned(case: Case, table: str) -> bool:
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
