"""Whether what a query does can be meant at all: keys joined to their own, names of its own, dates as they are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.database.naming import fold as fold_name
from agent.drafting.covering.case import Case, is_aggregate, is_fraction, name_of, own_columns, range_of
from agent.drafting.literals import Column, number_in
from agent.drafting.times import Part
from agent.keys import qualified

_DATED = frozenset({"strftime", "date", "datetime", "julianday", "date_trunc", "to_char"})
_DAY = r"\d{4}(?:-\d\d(?:-\d\d(?:[ T].*)?)?)?"
_FORMS: dict[Part, tuple[re.Pattern[str], str]] = {
    "year": (re.compile(r"\d{4}"), "a year such as '1997'"),
    "month": (re.compile(r"\d{1,2}"), "a month such as '03'"),
    "quarter": (re.compile(r"[1-4]"), "a quarter such as 1"),
    "year_month": (re.compile(r"\d{4}-\d\d"), "a month such as '1997-03'"),
    "day": (re.compile(_DAY), "a day such as '1997-03-05'"),
    "trunc_year": (re.compile(_DAY), "a day such as '1997-01-01'"),
    "trunc_quarter": (re.compile(_DAY), "a day such as '1997-01-01'"),
    "trunc_month": (re.compile(_DAY), "a day such as '1997-03-01'"),
}
_FURTHEST = 8


def joins(case: Case) -> Iterator[str]:
    """Keys are held against keys of the same rows, and every table is joined by something."""
    for node in case.tree.find_all(exp.EQ):
        if not isinstance(node.this, exp.Column) or not isinstance(node.expression, exp.Column):
            continue
        here, there = case.names.column(node.this), case.names.column(node.expression)
        if here is None or there is None or not case.is_key(here) or not case.is_key(there):
            continue
        if not _ends(case, here) & _ends(case, there):
            yield f"{node.sql()} joins keys of different things{_path(case, here[0], there[0])}"
    for held in case.tree.find_all(exp.In):
        query = held.args.get("query")
        inner = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(inner, exp.Select) or len(inner.expressions) != 1:
            continue
        here, there = case.names.column(held.this), case.names.column(inner.expressions[0].unalias())
        if here is None or there is None or not (case.is_key(here) and case.is_key(there)):
            continue
        if not _ends(case, here) & _ends(case, there):
            name = qualified(*there, case.lexicon.schema.dialect)
            yield f"{held.this.sql()} is looked for among keys of different things ({name})"
    for select in case.selects:
        read = case.sources(select)
        if len(read) < 2 or len(case.tables_of(select)) < len(read):
            continue
        for join in select.args.get("joins") or ():
            on, table = join.args.get("on"), join.this
            sides = [one for one in on.find_all(exp.Column)] if on is not None else []
            if on is None or on.find(exp.Query) or not isinstance(table, exp.Table):
                continue
            named = {fold_name(one.table) for one in sides if one.table}
            if sides and "" not in {one.table for one in sides} and fold_name(table.alias_or_name) not in named:
                yield f"{table.sql()} is joined by a condition that says nothing of it"
        clauses = [join for join in select.args.get("joins") or () if not join.args.get("method")]
        bare = sum(1 for one in clauses if not (one.args.get("on") or one.args.get("using") or one.kind == "CROSS"))
        where = select.args.get("where")
        if bare and (where is None or where.find(exp.Column) is None):
            yield f"{' and '.join(sorted(set(case.tables_of(select))))} are not joined by a condition"


def scopes(case: Case) -> Iterator[str]:
    """A subquery gives a column of its own: a bare name that it has not is read as one of the query around it."""
    for select in case.selects:
        if not isinstance(select.parent, exp.Subquery | exp.In | exp.SetOperation) or len(select.expressions) != 1:
            continue
        column = select.expressions[0].unalias()
        read = case.sources(select)
        if not isinstance(column, exp.Column) or column.table or len(case.tables_of(select)) < len(read) or not read:
            continue
        own = set(case.tables_of(select))
        names = {fold_name(c.name) for t in case.lexicon.schema.tables if t.name in own for c in t.columns}
        if fold_name(column.name) not in names:
            yield f"{' and '.join(sorted(own))} has no {column.name}, so the subquery gives that of the row outside"


def dates(case: Case) -> Iterator[str]:
    """Dates are taken apart where dates are, and held against what their parts look like."""
    known = {(one.table, one.column) for one in case.lexicon.date_columns}
    others = {(one.table, one.column) for one in case.lexicon.facts.columns if one.values or one.minimum} - known
    sqlite = case.lexicon.schema.dialect == "sqlite"
    for call in case.tree.find_all(exp.Anonymous):
        if name_of(call) not in _DATED:
            continue
        for given in call.expressions:
            column = case.names.column(given) if isinstance(given, exp.Column) else None
            if column is not None and (column in others or case.is_key(column)):
                name = qualified(*column, case.lexicon.schema.dialect)
                yield f"{call.sql()} takes {name} for a date, which it is not"
    for one in case.compared:
        date = case.names.date_part(one.other)
        if date is None or one.negative:
            continue
        form, looks = _FORMS[date.part]
        text = one.literal.name
        wrong = one.how != "like" and form.fullmatch(text) is None and (text or one.operator not in (">", "<>"))
        as_text = sqlite and isinstance(one.other, exp.Anonymous) and date.part in ("year", "month")
        if wrong or (as_text and not one.literal.is_string):
            yield f"{one.node.sql()} cannot hold: {one.other.sql()} gives {looks}"
    for node in case.tree.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.Sub):
        sides = [case.names.column(side) for side in (node.this, node.expression) if isinstance(side, exp.Column)]
        dated = [side in known for side in sides if side is not None]
        if len(dated) == 2 and any(dated) and not all(dated):
            yield f"{node.sql()} holds a date against what is no date"
        elif isinstance(node, exp.Sub) and sqlite and dated and all(dated):
            yield f"{node.sql()} takes texts from each other; days apart are julianday(...) - julianday(...)"


def ranges(case: Case) -> Iterator[str]:
    """A number is held against a column that reaches it."""
    for one in case.compared if case.kind != "exists" else ():
        column, number = case.names.column(one.other), number_in(one.literal.name)
        ends = range_of(case.lexicon).get(column) if column is not None else None
        if column is None or number is None or ends is None or one.literal.is_string or case.is_key(column):
            continue
        number = -number if one.negative else number
        low, high = ends
        never = {">": number >= high, ">=": number > high, "<": number <= low, "<=": number < low}
        never["="] = not low <= number <= high
        if never.get(one.operator, False) and one.how == "plain" and not isinstance(one.node, exp.Between):
            name = qualified(*column, case.lexicon.schema.dialect)
            yield f"{one.node.sql()} never holds: {name} goes from {low} to {high}"


def amounts(case: Case) -> Iterator[str]:
    """Amounts are added up, rows are counted: not the other way round."""
    texts = {(one.table, one.column) for one in case.lexicon.facts.columns if one.values or one.is_date}
    for call in case.tree.find_all(exp.Anonymous):
        if not is_aggregate(call) or len(call.expressions) != 1:
            continue
        given = call.expressions[0]
        inner = given.expressions[0] if isinstance(given, exp.Distinct) and len(given.expressions) == 1 else given
        if name_of(call) in ("sum", "avg", "total"):
            column = case.names.column(inner)
            if column is not None and (case.is_key(column) or column in texts):
                yield f"{call.sql()} adds up what is no amount; rows are counted (COUNT)"
            elif column is not None and _is_of_fractions(case, call, column):
                yield f"{call.sql()} adds up parts of one, which are parts of different amounts"
        elif name_of(call) == "count" and not isinstance(given, exp.Distinct):
            yield from _counted(case, call, given)


def _is_of_fractions(case: Case, call: exp.Anonymous, column: Column) -> bool:
    """Whether fractions are added up, and not divided again to be their average."""
    return name_of(call) != "avg" and is_fraction(case.lexicon, column) and call.find_ancestor(exp.Div) is None


def _counted(case: Case, call: exp.Anonymous, given: exp.Expr) -> Iterator[str]:
    if isinstance(given, exp.Mul) and not isinstance(call.parent, exp.Window):
        yield f"{call.sql()} counts rows; an amount is added up (SUM)"
        return
    if isinstance(given, exp.Case):
        default = given.args.get("default")
        if default is not None and not isinstance(default, exp.Null):
            yield f"{call.sql()} counts every row, whichever way the CASE goes (SUM)"
        return
    columns = [case.names.column(one) for one in own_columns(given)]
    adds = case.called & {"sum", "total", "avg"} or case.tree.find(exp.Div) is not None
    if columns and case.kind != "count" and not adds and all(column in case.lexicon.amounts for column in columns):
        yield f"{call.sql()} counts rows; an amount is added up (SUM)"


def loose_columns(case: Case) -> Iterator[str]:
    """What stands beside a group belongs to it: it is grouped by, made of its rows, or of the row it is named by."""
    for select in case.selects:
        group = select.args.get("group")
        if group is None or not group.expressions:
            continue
        shown = {fold_name(one.alias): one.unalias() for one in select.expressions if isinstance(one, exp.Alias)}
        grouped = [_meant(one, select, shown) for one in group.expressions]
        columns = [case.names.column(one) for one in grouped]
        written = {one.sql() for one in grouped}
        unread = any(isinstance(one, exp.Column) and case.names.column(one) is None for one in grouped)
        if unread or any(isinstance(one, exp.Literal | exp.Subquery) for one in grouped):
            continue
        tops = {case.keyed(column) for column in columns if column is not None}
        tops |= {c[0] for c in columns if c is not None and (c in case.lexicon.naming or case.is_key(c))}
        fixed = case.reached(table for table in tops if table is not None)
        for one in select.expressions:
            node = one.unalias()
            inside = list(case.own(select, [node]))
            if node.sql() in written or any(map(is_aggregate, inside)) or case.called & {"min", "max"}:
                continue
            for inner in inside:
                column = case.names.column(inner) if isinstance(inner, exp.Column) else None
                if column is None or column in columns or column[0] in fixed or inner.sql() in written:
                    continue
                if not _is_inside(inner, written, node):
                    yield f"{inner.sql()} is that of any row of its group; leave it out or group by it"
                    break


def _is_inside(inner: exp.Expr, written: set[str], top: exp.Expr) -> bool:
    """Whether a column stands in an expression that is grouped by."""
    here: exp.Expr | None = inner
    while here is not None:
        if here.sql() in written:
            return True
        if here is top:
            return False
        here = here.parent
    return False


def _meant(one: exp.Expr, select: exp.Select, shown: dict[str, exp.Expr]) -> exp.Expr:
    """What a GROUP BY names: an alias or the place of a column stand for what is shown."""
    if isinstance(one, exp.Literal) and one.name.isdigit() and 0 < int(one.name) <= len(select.expressions):
        shown_there: exp.Expr = select.expressions[int(one.name) - 1]
        return shown_there.unalias()
    if isinstance(one, exp.Column) and not one.table:
        return shown.get(fold_name(one.name), one)
    return one


def _ends(case: Case, column: Column) -> set[Column]:
    """A key with all that it refers to."""
    found = {column}
    for _ in range(_FURTHEST):
        referred = case.refers.get(column)
        if referred is None or referred in found:
            break
        found.add(referred)
        column = referred
    return found


def _path(case: Case, here: str, there: str) -> str:
    if here == there:
        return ""
    _, steps = case.lexicon.keys.connect((here, there))
    told = " and ".join(step.sql(case.lexicon.schema.dialect) for step in steps)
    return f" ({told})" if told else ""
