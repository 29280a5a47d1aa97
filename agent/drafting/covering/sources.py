"""Whether a query reads the tables that its question names, and counts no row more than once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, is_aggregate, name_of, own_columns
from agent.drafting.literals import Column
from agent.linked import Link
from agent.wording import is_plural

_PAIRS = re.compile(r"\b(?:each pair|every pair|pairs of|in pairs|all pairs)\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:how many|(?:the )?number of)\s+(?:of (?:our|the|all)\s+|(?:different|distinct|unique)\s+)*", re.IGNORECASE
)
_SHARE_OF = re.compile(
    r"(?:%|\b(?:per\s?cent|percentage|share|slice|part|fraction|proportion))\s+of\s+(?:(?:the|all|our|their|his|her)\s+)*",
    re.IGNORECASE,
)
_FROM = re.compile(r"\b(?:from|to)\s+(?:our\s+|the\s+)?\Z", re.IGNORECASE)
_OPEN = re.compile(
    r"\s*(?:['\u2019]|(?:in|of|from|at|by|with|without|who|that|which|whose|where|located|based|and|or|but|not)\b)",
    re.IGNORECASE,
)
_ON_ORDER = re.compile(r"\b(?:on|in)\s+\Z", re.IGNORECASE)


def tables(case: Case) -> Iterator[str]:
    """Each table that the question names is read, unless a key of another stands for it."""
    standing = {home for column in case.columns if (home := case.keyed(column)) is not None}
    linking = {table for table in case.names.tables if case.lexicon.keys.owner(table) != table}
    standing |= {referred[0] for column, referred in case.refers.items() if column[0] in linking}
    told = case.reached(case.names.tables)
    for link in case.asked if not case.reads_views else ():
        if re.search(r"[,;:.]", link.text):
            continue
        if link.kind != "table" or link.verb or link.quality != "exact" or link.table is None:
            continue
        if _ON_ORDER.search(case.question[: link.start]) and not is_plural(link.text.casefold()):
            continue
        if link.table in told and _is_source(case, link):
            continue
        if link.table not in case.names.tables and link.table not in standing:
            yield f"{link.text!r} of the question is not read (the table {link.table})"


def _is_source(case: Case, link: Link) -> bool:
    """Whether rows are only said to come from others, which all of them do: `on order from suppliers`."""
    before, after = _FROM.search(case.question[: link.start]), case.question[link.end :]
    beside = next((one for one in case.grounding.chosen if one.start >= link.end), None)
    narrowed = beside is not None and beside.kind == "value"
    return before is not None and is_plural(link.text.casefold()) and _OPEN.match(after) is None and not narrowed


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
            others = [one for one in case.selects if one is not select and table in case.tables_of(one)]
            if not all(_is_plain(one, case, table) for one in others):
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
            if isinstance(node.expressions[0], exp.Distinct) or _is_any(case, node):
                continue
            joined = [table for table in read if not _is_tied(case, select, table)]
            yield from _multiplied(case, node, _added(case, select, node, read), joined)


def _is_any(case: Case, call: exp.Anonymous) -> bool:
    """Whether a count only tells whether there is any row, however often each is counted."""
    held = [one for one in case.compared if one.other is call]
    ends = {(">", "0"), ("=", "0"), ("<>", "0"), ("<=", "0"), (">=", "1"), ("<", "1")}
    return bool(held) and all((one.operator, one.literal.name) in ends for one in held)


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
    match = _HOW_MANY.search(case.question) if case.kind in ("count", "by_group", "duration") else None
    link = next((one for one in case.asked if one.start >= match.end()), None) if match is not None else None
    if link is None or match is None or link.verb or (link.kind != "table" and link.role != "entity"):
        return ""
    between = case.question[match.end() : link.start].split()
    return link.table or "" if len(between) <= 1 else ""


def _is_tied(case: Case, select: exp.Select, table: str) -> bool:
    """Whether the rows of a table are groups, and a subquery says which rows belong to each of them."""
    where = select.args.get("where")
    if where is None or not _is_each(case, select, table):
        return False
    inner = [one for one in where.find_all(exp.Select) if table not in case.tables_of(one)]
    found = (case.names.column(node) for one in inner for node in case.own(one) if isinstance(node, exp.Column))
    return any(column is not None and column[0] == table for column in found)


def _share_of(case: Case) -> str:
    """The table whose rows a share is taken of: what stands behind `percent of`."""
    ends = {match.end() for match in _SHARE_OF.finditer(case.question)} if case.kind == "share" else set()
    links = (one for one in case.asked if one.kind == "table" or one.role == "entity")
    return next((one.table or "" for one in links if one.start in ends), "")


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
    grouped = _grouped(case, call.find_ancestor(exp.Select))
    below = [one for one in read if one not in reached | grouped and not _is_pinned(case, one, grouped)]
    if name_of(call) == "count" and _share_of(case) in below:
        return
    below.sort(key=lambda table: all(there[0] not in reached for c, there in case.refers.items() if c[0] == table))
    if below:
        called = call.sql()
        yield (
            f"{called} counts a row of {sorted(homes)[0]} once for each row of {below[0]} joined to it"
            f" (leave the join to {below[0]} out, or put it in EXISTS or IN)"
        )


def _grouped(case: Case, select: exp.Select | None) -> set[str]:
    """The tables each of whose rows is a group of its own."""
    group = select.args.get("group") if select is not None else None
    columns = [case.names.column(one) for one in group.expressions] if group is not None else []
    return {home for column in columns if column is not None and (home := case.keyed(column)) is not None}


def _is_pinned(case: Case, table: str, grouped: set[str]) -> bool:
    """Whether conditions, or the groups, leave at most one row of a table for each of the others."""
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
    named |= grouped - {table}
    free = {
        name
        for name in keys
        if (table, name) not in fixed and not ((table, name) in case.refers and case.refers[table, name][0] in named)
    }
    return len(keys) > 1 and len(free) < len(keys) and bool(named)
