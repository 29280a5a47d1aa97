"""The shape of the answer: how many there are, whether there is any, the rows themselves, or the ends of a list."""

from __future__ import annotations

import re

from sqlglot import exp

from agent.drafting.adapting.amounts import counted_rows
from agent.drafting.adapting.calls import aggregates, call, is_call
from agent.drafting.adapting.sources import has_aggregates, sources_of, tables_used
from agent.drafting.adapting.work import Misfit, Work, column_of
from agent.quantities import superlatives

_YES_NO = re.compile(
    r"\byes (?:or|/) ?no\b|"
    r"\A\W*(?:is|are|was|were|do|does|did|has|have|had|can)\s+"
    r"(?!(?:you|me)\b|(?:a|another) (?:\w+ )?(?:look|list)\b)\w",
    re.IGNORECASE,
)
"""A question that yes or no answers; `can you tell me which …` and `have a look at …` only ask in a friendly way."""
_COUNTS = frozenset({"count", "missing", "list", "intersection", "set_difference"})
_RELIEF = 1.0
"""What a change of shape gives back of the strain of another kind of answer."""


def fit_shape(work: Work) -> None:
    """Count the rows that a query shows, or ask whether there are any, where the question asks for no more."""
    scope = work.tree
    if isinstance(scope, exp.Select) and work.of_other_kind:
        _rows_of_count(work, scope)
        scope = work.tree
    if isinstance(scope, exp.Select) and shows_rows(scope):
        if _YES_NO.search(work.now.question) and work.asked.intent.kind in ("exists", "missing"):
            _ask_whether_any(work, scope)
        elif (table := counted_rows(work)) is not None and work.asked.intent.kind in _COUNTS:
            _count(work, scope, table)


def shows_rows(scope: exp.Select) -> bool:
    """Whether it shows rows as they are, all of them."""
    parts = ("group", "having", "limit", "with_", "offset")
    if any(scope.args.get(part) for part in parts) or scope.args.get("from_") is None:
        return False
    plain = all(isinstance(one.unalias(), exp.Column) for one in scope.expressions)
    return plain and not has_aggregates(scope) and scope.find(exp.Window) is None


def _ask_whether_any(work: Work, scope: exp.Select) -> None:
    scope.set("expressions", [exp.Literal.number(1)])
    for part in ("order", "distinct"):
        scope.set(part, None)
    work.tree = exp.Select(expressions=[exp.Exists(this=scope)])
    work.bend(0.4 - _relief(work), "asks whether there is any")


def _count(work: Work, scope: exp.Select, table: str) -> None:
    """Count rows of a table, each once, where these were shown."""
    shown = {one.unalias().table for one in scope.expressions}
    tables = tables_used(work, scope) | sources_of(work, scope)
    keys = work.lexicon.primary_keys.get(table, ())
    if shown != {table}:
        return
    scope.set("order", None)
    once = work.lexicon.keys.grain([table]) == work.lexicon.keys.grain(sorted(tables))
    if once:
        figure = call("COUNT", exp.Star())
    elif len(keys) == 1:
        figure = call("COUNT", exp.Distinct(expressions=[column_of(table, keys[0])]))
    else:
        return
    scope.set("distinct", None)
    scope.set("expressions", [figure])
    work.counted = table if once else work.counted
    work.bend(0.4 - _relief(work), f"counts {table}")


def _relief(work: Work) -> float:
    return _RELIEF if work.of_other_kind else 0.0


def _rows_of_count(work: Work, scope: exp.Select) -> None:
    """Show the rows that were counted, or whether there were any of them."""
    wanted = work.new.shown
    if work.asked.intent.kind not in ("list", "missing") or not wanted or work.new.aggregates or work.new.grain:
        return
    if counted_rows(work) is not None or len(scope.expressions) != 1 or _YES_NO.search(work.now.question):
        return
    figure = scope.expressions[0].unalias()
    inner = scope
    if isinstance(figure, exp.Exists) and isinstance(figure.this, exp.Select) and scope.args.get("from_") is None:
        inner = figure.this
    elif not is_call(figure, "COUNT") or scope.args.get("group") or scope.args.get("having"):
        return
    if not isinstance(inner.args.get("from_"), exp.From) or inner.args.get("group"):
        return
    table = wanted[0][0]
    inner.set("expressions", [column_of(*one) for one in wanted])
    tables = tables_used(work, inner) | sources_of(work, inner)
    if {one for one, _ in wanted} == {table} and work.lexicon.keys.grain([table]) != work.lexicon.keys.grain(
        sorted(tables)
    ):
        inner.set("distinct", exp.Distinct())
    if inner is not scope:
        inner.pop()
        work.tree = inner
    work.bend(0.5 - _relief(work), "shows the rows")


def fit_ends(work: Work) -> None:
    """List by the one figure of groups and cut the list, or show all of them, as the question asks."""
    scope = work.tree
    if not isinstance(scope, exp.Select):
        return
    if work.new.limit is not None and work.cut:
        _cut(work, scope, work.new.limit)
    elif work.new.limit is None and work.old.limit is not None and not superlatives(work.now.question):
        limit = scope.args.get("limit")
        if (
            limit is not None
            and scope.args.get("group")
            and work.now.direction is None
            and not scope.args.get("offset")
        ):
            scope.set("limit", None)
            scope.set("order", None)
            work.bend(-0.4 - 0.5 * _relief(work), "shows all")


def _cut(work: Work, scope: exp.Select, limit: int) -> None:
    figures = [one for one in scope.expressions if any(aggregates(one))]
    direction = work.now.direction
    if scope.args.get("group") is None or len(figures) != 1 or direction is None or scope.args.get("limit"):
        raise Misfit
    by = exp.Ordered(this=figures[0].unalias().copy(), desc=direction == "high", nulls_first=direction != "high")
    scope.set("order", exp.Order(expressions=[by]))
    scope.set("limit", exp.Limit(expression=exp.Literal.number(limit)))
    work.bend(0.5 - 2 * _relief(work), f"the {limit} at the {direction} end")
