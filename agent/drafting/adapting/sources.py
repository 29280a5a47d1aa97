"""The tables that a SELECT reads, and those that it needs no more."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from agent.drafting.adapting.calls import aggregates, counts_rows
from agent.drafting.adapting.work import Work
from agent.drafting.saying import Thing


def tables_used(work: Work, scope: exp.Select) -> set[str]:
    """The tables whose columns a scope itself names."""
    return {c.table for c in scope.find_all(exp.Column) if c.find_ancestor(exp.Select) is scope} & work.tables


def sources_of(work: Work, scope: exp.Select) -> set[str]:
    """The tables that a scope itself reads from."""
    return {t.name for t in scope.find_all(exp.Table) if t.find_ancestor(exp.Select) is scope} & work.tables


def has_aggregates(scope: exp.Select) -> bool:
    return any(node.find_ancestor(exp.Select) is scope for node in aggregates(scope))


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
        if work.counted and counts_rows(scope) and work.counted not in sources_of(work, scope):
            fresh = exp.Join(this=exp.Table(this=exp.to_identifier(work.counted, quoted=True)))
            scope.set("joins", [*(scope.args.get("joins") or ()), fresh])
        for name in sorted(used.get(id(scope), set()) - tables_used(work, scope)):
            _drop(work, scope, name)


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
