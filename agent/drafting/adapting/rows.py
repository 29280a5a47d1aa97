"""How many rows are asked for, and from which end."""

from __future__ import annotations

import re

from sqlglot import exp

from agent.drafting.adapting.calls import aggregates, calls
from agent.drafting.adapting.work import Misfit, Work, home_of

_FIRST = re.compile(
    r"\b(?:(?P<high>best|highest|biggest|largest|top|most(?: \w+)?|dearest|greatest)"
    r"|lowest|smallest|fewest|worst|least(?: \w+)?|cheapest)\s+(?:\w+\s+)?first\b",
    re.IGNORECASE,
)


def fit_limit(work: Work) -> None:
    """Ask for as many rows as the question does."""
    then, now = work.old.limit, work.new.limit
    limits = [node for node in work.tree.find_all(exp.Limit) if isinstance(node.args.get("expression"), exp.Literal)]
    ranked = [one for one in work.held if one.link.kind == "limit" or one.link is work.old.asked]
    if then == now:
        return
    kinds = {work.known.understood.intent.kind, work.asked.intent.kind}
    if now == 1 and not limits and not ranked and kinds in ({"compare"}, {"share"}):
        # `which earned more, A or B` and `our single best product` ask for no rows of a list.
        return
    if now is None:
        work.bend(1.0, "a limit was kept")
        return
    if then is None:
        if not limits and not ranked and work.tree.args.get("order") is not None:
            work.tree.set("limit", exp.Limit(expression=exp.Literal.number(now)))
            work.bend(1.0, f"limited to {now}")
            return
        if not limits and not ranked and work.tree.args.get("order") is None:
            work.cut = True
            work.bend(1.0)
            return
        work.bend(1.0)
    changed = False
    for node in limits:
        if then is None or node.expression.name == str(then):
            node.set("expression", exp.Literal.number(now))
            changed = True
    for one in ranked:
        one.compared.literal.replace(exp.Literal.number(now))
        changed = True
    if not changed:
        raise Misfit
    work.bend(0.05, f"{then or 'no limit'} became {now}")


def fit_offset(work: Work) -> None:
    """Pass over as many rows as the question does: none, or two for the third best."""
    then, now = work.then.offset, work.now.offset
    if then == now:
        return
    passed = [node for node in work.tree.find_all(exp.Offset) if isinstance(node.expression, exp.Literal)]
    if then is None:
        tree = work.tree
        if passed or now is None or tree.args.get("limit") is None or tree.args.get("order") is None:
            raise Misfit
        tree.set("offset", exp.Offset(expression=exp.Literal.number(now)))
    elif len(passed) != 1 or passed[0].expression.name != str(then):
        raise Misfit
    elif now is None:
        passed[0].pop()
    else:
        passed[0].set("expression", exp.Literal.number(now))
    work.bend(0.2, f"passes over {now or 'no'} rows")


def fit_direction(work: Work) -> None:
    """Ask for the other end."""
    then, now = work.then.direction, work.now.direction
    if then == now:
        return
    if then is None or now is None:
        work.bend(1.0)
        return
    turned = False
    for order in work.tree.find_all(exp.Order):
        scope = order.parent
        ends = isinstance(scope, exp.Window) or (scope is not None and scope.args.get("limit") is not None)
        first = order.expressions[0] if order.expressions else None
        if ends and isinstance(first, exp.Ordered):
            if bool(first.args.get("desc")) != (now == "high"):
                first.set("nulls_first", not first.args.get("nulls_first"))
            first.set("desc", now == "high")
            turned = True
    ends_found = list(calls(work.tree, "MAX", "MIN"))
    if not turned and len({node.name.upper() for node in ends_found}) > 1:
        # Both ends are asked for, whichever is named first.
        work.bend(0.5)
        return
    if not turned:
        for node in ends_found:
            node.set("this", "MAX" if now == "high" else "MIN")
            turned = True
    if not turned:
        raise Misfit
    work.bend(0.1, "lowest became highest" if now == "high" else "highest became lowest")


def fit_order(work: Work) -> None:
    """List by the one figure that is shown, where the question wants one end `first` and the rows come in no order."""
    scope = work.tree
    match = _FIRST.search(work.now.question)
    if match is None or not isinstance(scope, exp.Select) or scope.args.get("order") or scope.args.get("limit"):
        return
    amounts = work.lexicon.amounts
    figures = [
        one.unalias()
        for one in scope.expressions
        if any(aggregates(one)) or (isinstance(one.unalias(), exp.Column) and home_of(one) in amounts)
    ]
    if len(figures) != 1:
        return
    high = match["high"] is not None
    by = exp.Ordered(this=figures[0].copy(), desc=high, nulls_first=not high)
    scope.set("order", exp.Order(expressions=[by]))
    work.notes.append(f"listed with the {'highest' if high else 'lowest'} first")
