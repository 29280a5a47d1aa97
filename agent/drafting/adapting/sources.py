"""The tables that a SELECT reads, and those that it needs no more."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from agent.drafting.adapting.calls import aggregates, counts_rows
from agent.drafting.adapting.work import Work, column_of, home_of
from agent.drafting.saying import Thing, display


def tables_used(work: Work, scope: exp.Select) -> set[str]:
    """The tables whose columns a scope itself names."""
    return {c.table for c in scope.find_all(exp.Column) if c.find_ancestor(exp.Select) is scope} & work.tables


def sources_of(work: Work, scope: exp.Select) -> set[str]:
    """The tables that a scope itself reads from, and not those of a query around it that it only refers to."""
    read = (t for t in scope.find_all(exp.Table) if isinstance(t.parent, exp.From | exp.Join))
    return {t.name for t in read if t.find_ancestor(exp.Select) is scope} & work.tables


def sources_of_top(work: Work) -> set[str]:
    """The tables that the whole query itself reads, by name or for a column."""
    top = work.tree
    return sources_of(work, top) | tables_used(work, top) if isinstance(top, exp.Select) else set()


def denied(work: Work) -> list[exp.Select]:
    """The SELECTs whose rows are what is lacking, where there is one."""
    found = [node.find(exp.Select) for node in work.tree.find_all(exp.Not)]
    scopes = [one for one in found if one is not None]
    return scopes if len(scopes) == 1 and isinstance(work.tree, exp.Select) else []


def lacking(work: Work) -> set[str]:
    """The tables that are read only behind NOT, so that no row of them is there to show."""
    return {table for scope in denied(work) for table in sources_of(work, scope)} - sources_of_top(work)


def has_aggregates(scope: exp.Select) -> bool:
    return any(node.find_ancestor(exp.Select) is scope for node in aggregates(scope))


def wholes_of(work: Work) -> list[exp.Select]:
    """The SELECTs of figures of all rows that figures of some are held against, in what the query shows."""
    outer = work.tree
    if not isinstance(outer, exp.Select):
        return []
    return [
        query.this
        for one in outer.expressions
        for query in one.find_all(exp.Subquery)
        if isinstance(query.this, exp.Select) and has_aggregates(query.this) and not query.this.args.get("where")
    ]


def is_used(work: Work, thing: Thing) -> bool:
    if thing.column is not None:
        return any((c.table, c.name) == (thing.table, thing.column) for c in work.tree.find_all(exp.Column))
    return any(t.name == thing.table for t in work.tree.find_all(exp.Table)) or any(
        c.table == thing.table for c in work.tree.find_all(exp.Column)
    )


def drop_unused(work: Work, used: Mapping[int, set[str]]) -> None:
    """Take tables out of FROM that stood there for columns which are gone; rows that are counted stay.

    `used` are the tables used before, by the id of the SELECT.
    """
    for scope in work.tree.find_all(exp.Select):
        counts = any(count.find_ancestor(exp.Select) is scope for count in counts_rows(scope))
        if work.counted and counts and work.counted not in sources_of(work, scope):
            fresh = exp.Join(this=exp.Table(this=exp.to_identifier(work.counted, quoted=True)))
            scope.set("joins", [*(scope.args.get("joins") or ()), fresh])
        for name in sorted(used.get(id(scope), set()) - tables_used(work, scope)):
            _drop(work, scope, name)


def show_each_once(work: Work, used: Mapping[int, set[str]]) -> None:
    """Show each row once where tables that came in for a filter alone give it many times."""
    scope = work.tree
    if not isinstance(scope, exp.Select) or has_aggregates(scope) or scope.args.get("distinct") or work.rigid:
        return
    if scope.args.get("group") or scope.args.get("limit") or scope.find(exp.Window):
        return
    shown = {one.table for one in scope.expressions if isinstance(one, exp.Column)}
    tables = tables_used(work, scope) | sources_of(work, scope)
    if not shown or len(shown) != 1 or any(not isinstance(one, exp.Column) for one in scope.expressions):
        return
    before = used.get(id(scope), set())
    grains = [work.lexicon.keys.grain(one) for one in (shown, tables, before or shown)]
    if grains[0] != grains[1] and set(grains[1]) - set(grains[2]):
        scope.set("distinct", exp.Distinct())
        work.bend(0.1, "each once")


def _drop(work: Work, scope: exp.Select, name: str) -> None:
    clause, joins = scope.args.get("from_"), list(scope.args.get("joins") or ())
    if clause is None:
        return
    others = [
        t.name for t in [clause.this, *(join.this for join in joins)] if isinstance(t, exp.Table) and t.name != name
    ]
    counted = bool(counts_rows(scope))
    if counted and name in ([work.counted] if work.counted else work.lexicon.keys.grain([name, *others])):
        return
    if not joins:
        fresh = sorted(tables_used(work, scope))
        if fresh and isinstance(clause.this, exp.Table) and clause.this.name == name:
            clause.set("this", exp.Table(this=exp.to_identifier(fresh[0], quoted=True)))
        return
    kept = [join for join in joins if not (isinstance(join.this, exp.Table) and join.this.name == name)]
    if len(kept) < len(joins):
        scope.set("joins", kept)
    elif isinstance(clause.this, exp.Table) and clause.this.name == name and not kept[0].side:
        clause.set("this", kept[0].this)
        scope.set("joins", kept[1:])


def loose_columns(work: Work, scope: exp.Select) -> list[exp.Column]:
    """The columns that a SELECT of groups shows though one group may have several of their values."""
    group = scope.args.get("group")
    if group is None or any(isinstance(one, exp.Literal) for one in group.expressions):
        return []
    shown = {one.alias: one.unalias() for one in scope.expressions if one.alias}
    held = [
        shown.get(one.name, one) if isinstance(one, exp.Column) and not one.table else one for one in group.expressions
    ]
    homes = {home for one in held if (home := home_of(one)) is not None}
    rows = {table for table, column in homes if work.lexicon.primary_keys.get(table) == (column,)}
    rows |= {work.refers[home][0] for home in homes & set(work.refers)}
    found = []
    for one in scope.expressions:
        inner = one.unalias()
        if not isinstance(inner, exp.Column) or inner.table not in work.tables or home_of(inner) in homes:
            continue
        if not rows or set(work.lexicon.keys.grain([*rows, inner.table])) != set(work.lexicon.keys.grain(rows)):
            found.append(inner)
    return found


def complete_groups(work: Work, before: Mapping[int, list[exp.Column]]) -> None:
    """Part figures by all that is shown beside them, where only some of it is grouped by since something else is shown.

    `before` are the columns of each SELECT, by its id, that it showed ungrouped from the start.
    """
    for scope in list(work.tree.find_all(exp.Select)):
        group = scope.args.get("group")
        if group is None or before.get(id(scope)):
            continue
        for column in loose_columns(work, scope):
            keys = work.lexicon.primary_keys.get(column.table, ())
            named = column.name in display(column.table, work.lexicon) and len(keys) == 1
            fresh = column_of(column.table, keys[0]) if named else column.copy()
            if all(one != fresh for one in group.expressions):
                group.append("expressions", fresh)
                work.bend(0.1, f"parted by {column.table}.{column.name}")
