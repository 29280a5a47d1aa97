"""Rows that are so and so as well, or so but not so: one list of rows taken in two."""

from __future__ import annotations

import re

from sqlglot import exp

from agent.drafting.adapting.reshaping import shows_rows
from agent.drafting.adapting.sources import sources_of
from agent.drafting.adapting.work import Work, parsed

_BOTH = re.compile(r"\bboth\b|\bas well as\b|\band (?:then )?(?:again|also)\b", re.IGNORECASE)

_SIDES = ("one", "other")


def fit_halves(work: Work) -> None:
    """Hold the rows of one thing named against those of the other, where the question asks for both or for a rest.

    A list of the rows of either becomes INTERSECT or EXCEPT; rows that are in neither become those that are in one.
    """
    if not work.either or any(len(one.parts) != len(_SIDES) for one in work.either):
        return
    first, second = work.either[0].starts
    both = work.asked.intent.kind == "both" or _BOTH.search(work.now.question) is not None
    rest = any(first < start for start, _ in work.now.negations)
    scope = work.tree
    if not (both or rest) or (both and rest) or second <= first:
        return
    if not isinstance(scope, exp.Select):
        # Its sides are told apart by something else.
        work.bend(0.8)
        return
    relief = 1.0 if work.of_other_kind and work.asked.intent.kind in ("both", "missing") else 0.0
    if rest and _have_one(work, scope):
        work.bend(0.3, "has one and lacks the other")
    elif _only_lists(scope):
        other = scope.copy()
        if not (_keep(work, scope, 0) and _keep(work, other, 1)):
            return
        for side in (scope, other):
            side.set("distinct", None)
            side.set("order", None)
        kind = exp.Intersect if both else exp.Except
        work.tree = kind(this=scope, expression=other, distinct=True)
        work.bend(0.4 - relief, "those of both" if both else "those of one without those of the other")
    else:
        work.bend(0.8)


def _only_lists(scope: exp.Select) -> bool:
    """Whether it shows rows, and looks nowhere else for them."""
    return shows_rows(scope) and sum(1 for _ in scope.find_all(exp.Select)) == 1


def _keep(work: Work, tree: exp.Expr, place: int) -> bool:
    """Keep one part of each condition that holds for either; says whether all of them stand there once."""
    for one in work.either:
        whole = parsed(work, one.sql)
        found = [node for node in tree.find_all(type(whole)) if node == whole]
        if len(found) != 1:
            return False
        found[0].replace(parsed(work, one.parts[place]))
    return True


def _have_one(work: Work, scope: exp.Select) -> bool:
    """Ask for rows that are among those of the first thing named and not of the other, where neither was allowed."""
    wholes = [parsed(work, one.sql) for one in work.either]
    for node in scope.find_all(exp.Not):
        inside = node.this
        if not isinstance(inside, exp.In) or inside.args.get("query") is None:
            continue
        if all(any(part == whole for part in inside.find_all(type(whole))) for whole in wholes):
            has = inside.copy()
            if _keep(work, has, 0) and _keep(work, inside, 1):
                node.replace(exp.And(this=has, expression=node.copy()))
                return True
    return False


def read_own_tables(work: Work) -> None:
    """Let a query behind IN read the table of what it shows itself, and not mean the row of the query around it."""
    for node in work.tree.find_all(exp.In):
        query = node.args.get("query")
        inner = query.this if isinstance(query, exp.Subquery) else None
        sides = [inner.this, inner.expression] if isinstance(inner, exp.SetOperation) else [inner]
        for side in sides:
            if not isinstance(side, exp.Select) or not side.expressions:
                continue
            shown = side.expressions[0].unalias()
            if not isinstance(shown, exp.Column) or side.args.get("from_") is None or shown.table not in work.tables:
                continue
            if shown.table not in sources_of(work, side):
                table = exp.Table(this=exp.to_identifier(shown.table, quoted=True))
                side.set("joins", [*(side.args.get("joins") or ()), exp.Join(this=table)])
