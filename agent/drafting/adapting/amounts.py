"""The amounts that are added up, averaged or counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from agent.database.dialects import dialect as read_dialect
from agent.drafting.adapting.calls import aggregates, call, calls, counts_rows, is_call
from agent.drafting.adapting.parting import homes_of
from agent.drafting.adapting.sources import denied
from agent.drafting.adapting.work import Filter, Misfit, Work, column_of, home_of, key_to, matching, parsed
from agent.drafting.literals import Column
from agent.drafting.saying import Thing

_HOW_MANY = re.compile(r"\b(?:how many|number of|count of|most|fewest|more|fewer)\s+\Z", re.IGNORECASE)
_HOW_MUCH_MORE = re.compile(r"\bhow (?:many|much) (?:more|less|fewer)\b|\bdifferences?\b", re.IGNORECASE)
_BOTH = re.compile(r"\bboth\b|\bside by side\b|\bnext to each other\b|\btwo columns\b", re.IGNORECASE)
_TIMES = re.compile(r"\b(?:times|how often)\b", re.IGNORECASE)
_ROUNDED = re.compile(r"\bround(?:ed|ing)?\b|\bdecimals?\b|\bwhole (?:number|percent)", re.IGNORECASE)


def fit_amounts(work: Work) -> None:
    """Put the amounts that the question names in the place of those of the old one."""
    old = [one for one in work.old.measures if one not in work.new.measures]
    new = [one for one in work.new.measures if one not in work.old.measures and one != work.spent]
    if _deny_amount(work, new):
        return
    if not new:
        used = [one for one in old if matching(work, one)]
        if len(used) == 1 and _count_rows(work, used[0]):
            return
        if not used and not work.old.measures and (unnamed := _unnamed(work)) and _count_rows(work, unnamed):
            return
        work.bend(0.8 * len(used))
        return
    counts = counts_rows(work.tree)
    old = [one for one in old if matching(work, one)] or ([] if counts else old)
    if len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            _swap(work, before, after)
        return
    counted = _counted_cases(work)
    if not old and len(new) == 1 and (counts or counted) and not (counted and any(aggregates(parsed(work, new[0])))):
        for count in counts:
            _replace(count, summed(work, new[0]))
        for one in counted:
            one.replace(parsed(work, new[0]))
        work.bend(0.6, f"COUNT(*) became {new[0]}")
        return
    work.bend(1.2)


def _counted_cases(work: Work) -> list[exp.Expr]:
    """Each 1 that `SUM(CASE WHEN … THEN 1 ELSE 0 END)` adds up to count rows."""
    return [
        branch.args["true"]
        for call in calls(work.tree, "SUM")
        for case in call.expressions
        if isinstance(case, exp.Case)
        for branch in case.args["ifs"]
        if isinstance(branch.args["true"], exp.Literal) and branch.args["true"].name == "1"
    ]


def _deny_amount(work: Work, new: Sequence[str]) -> bool:
    """Let what is lacking be rows that have some of an amount: `never gave a discount`, `not a unit on order`."""
    scopes = denied(work)
    if work.asked.intent.kind != "missing" or len(new) != 1 or len(scopes) != 1 or work.new.numbers or work.new.grain:
        return False
    if work.old.measures or work.new.aggregates or not isinstance(parsed(work, new[0]), exp.Column):
        return False
    work.spent = new[0]
    work.thresholds.append(Filter(f"{new[0]} > 0", (), scopes[0]))
    work.bend(0.3, f"lacks any {new[0]}")
    return True


def _unnamed(work: Work) -> str | None:
    """The one amount that the query adds up though the old question names none."""
    found = {
        node.expressions[0].sql(read_dialect(work.dialect), comments=False, identify=True)
        for node in calls(work.tree, "SUM")
        if len(node.expressions) == 1 and not node.find(exp.Case)
    }
    return found.pop() if len(found) == 1 else None


def _count_rows(work: Work, before: str) -> bool:
    """Count rows where an amount of rows was added up, where the question asks how many of a table there are."""
    counted = counted_rows(work)
    amounts = [_whole(work, node, before) for node in matching(work, before)]
    figures = [node.parent for node in amounts if is_call(node.parent, "SUM", "AVG")]
    branches = [node for node in amounts if _is_summed_branch(node)]
    scopes = {id(node.find_ancestor(exp.Select)) for node in amounts}
    if counted is None or not amounts or len(figures) + len(branches) < len(amounts) or len(scopes) != 1:
        return False
    for figure in figures:
        if figure is not None:
            figure.replace(call("COUNT", exp.Star()))
    for node in branches:
        node.replace(exp.Literal.number(1))
    work.counted = counted
    work.settled.append(Thing(counted))
    work.bend(0.6, f"{before} became COUNT(*)")
    return True


def counted_rows(work: Work) -> str | None:
    """The table of `how many orders` or `the most orders`, where nothing else is asked of amounts."""
    if work.new.measures or work.new.distinct is not None or work.new.aggregates - {"COUNT"}:
        return None
    for link in work.now.chosen:
        rows = link.kind == "table" or link.role in ("entity", "condition")
        if rows and link.table and not link.verb and _HOW_MANY.search(work.now.question[: link.start]):
            return link.table
    if (times := _TIMES.search(work.now.question)) is not None:
        doings = [
            k.table for k in work.now.chosen if k.start < times.start() and k.table and k.kind in ("table", "term")
        ]
        return doings[-1] if doings else None
    return None


def summed(work: Work, expression: str) -> exp.Expr:
    """An amount of several rows: the sum or the average of one of each row."""
    tree = parsed(work, expression)
    if any(aggregates(tree)):
        return tree
    return call("AVG" if "AVG" in work.new.aggregates else "SUM", tree)


def _swap(work: Work, before: str, after: str) -> None:
    found = matching(work, before)
    if not found:
        raise Misfit
    fresh = parsed(work, after)
    whole = any(aggregates(fresh))
    was_whole = any(aggregates(parsed(work, before)))
    for named in found:
        node = _whole(work, named, before)
        around = node.parent
        if around is not None and whole and not was_whole and is_call(around, "SUM", "AVG"):
            _replace(around, fresh.copy())
        elif was_whole and not whole:
            _replace(node, summed(work, after))
        else:
            _replace(node, fresh.copy())
            _turn_aggregate(work, around, additive=isinstance(fresh, exp.Binary))
    work.bend(0.25, f"{before} became {after}")


def _whole(work: Work, node: exp.Expr, before: str) -> exp.Expr:
    """The product around a column that alone was named for it: price times quantity times discount for a discount."""
    if not isinstance(node, exp.Column):
        return node
    here: exp.Expr = node
    while isinstance(here.parent, exp.Mul | exp.Paren | exp.Sub | exp.Neg):
        here = here.parent
    if not here.find(exp.Mul) or not (is_call(here.parent, "SUM", "AVG", "MAX", "MIN") or _is_branch(here)):
        return node
    others = [text for text in work.old.measures if text != before]
    if any(found is inner for text in others for found in matching(work, text) for inner in here.walk()):
        return node
    work.bend(0.1)
    return here


def _is_branch(node: exp.Expr) -> bool:
    """Whether it is what a CASE gives where its condition holds."""
    return isinstance(node.parent, exp.If) and node.arg_key == "true"


def _is_summed_branch(node: exp.Expr) -> bool:
    case = node.find_ancestor(exp.Case)
    return _is_branch(node) and case is not None and is_call(case.parent, "SUM")


def fit_pair(work: Work) -> None:
    """Show two figures side by side where their difference was asked for, and the other way round."""
    scope = work.tree
    if not isinstance(scope, exp.Select) or scope.args.get("group"):
        return
    then, now = (_HOW_MUCH_MORE.search(one.question) is not None for one in (work.then, work.now))
    both = [bool(_BOTH.search(one.question)) for one in (work.then, work.now)]
    shown = [one.unalias() for one in scope.expressions]
    if len(shown) == 1 and isinstance(shown[0], exp.Sub | exp.GT) and both == [False, True] and not now:
        if any(aggregates(shown[0].this)) and any(aggregates(shown[0].expression)):
            scope.set("expressions", [shown[0].this, shown[0].expression])
            work.bend(0.2, "both figures are shown")
    elif [any(aggregates(one)) for one in shown] == [True, True] and now and not then and both == [True, False]:
        scope.set("expressions", [exp.Sub(this=shown[0], expression=shown[1])])
        work.bend(0.2, "the difference is shown")


def fit_rounding(work: Work) -> None:
    """Leave figures as they are where only the old question asks for rounded ones."""
    if not _ROUNDED.search(work.then.question) or _ROUNDED.search(work.now.question):
        return
    for node in list(calls(work.tree, "ROUND")):
        node.replace(node.expressions[0])


def fit_aggregate(work: Work) -> None:
    """The average of an amount where its sum was asked for, and the other way round."""
    then, now = "AVG" in work.old.aggregates, "AVG" in work.new.aggregates
    if then == now or set(work.old.measures) != set(work.new.measures) or len(work.new.measures) != 1:
        return
    amounts = [node.parent for node in matching(work, work.new.measures[0])]
    found = [node for node in amounts if node is not None and is_call(node, "SUM" if now else "AVG")]
    for node in found:
        node.set("this", "AVG" if now else "SUM")
    if found:
        work.bend(-0.1, "the average was taken" if now else "the sum was taken")


def _turn_aggregate(work: Work, node: exp.Expr | None, *, additive: bool) -> None:
    """AVG for SUM and the other way round, where the words say so; what is worked out of each row is added up."""
    then, now = work.old.aggregates & {"AVG", "SUM"}, work.new.aggregates & {"AVG", "SUM"}
    if additive and then == {"AVG"} and not now:
        now = frozenset({"SUM"})
    if isinstance(node, exp.If):
        case = node.parent
        node = case.parent if case is not None else None
    if len(then) == len(now) == 1 and then != now and node is not None and is_call(node, "SUM", "AVG"):
        node.set("this", "AVG" if "AVG" in now else "SUM")
        work.bend(0.3)


def _replace(node: exp.Expr, fresh: exp.Expr) -> None:
    needs = isinstance(fresh, exp.Binary) and isinstance(node.parent, exp.Binary)
    node.replace(exp.paren(fresh, copy=False) if needs else fresh)


def fit_distinct(work: Work) -> None:
    """Count different ones where only rows were counted."""
    thing = work.new.distinct
    if (work.old.distinct is None) == (thing is None):
        if thing is not None and thing.column is not None and thing != work.old.distinct:
            _count_others(work, (thing.table, thing.column))
        return
    counts = counts_rows(work.tree)
    if thing is None or len({id(count.find_ancestor(exp.Select)) for count in counts}) != 1:
        work.bend(0.8)
        return
    column = column_of(thing.table, thing.column) if thing.column else key_to(work, "", thing.table)
    for count in counts:
        count.set("expressions", [exp.Distinct(expressions=[column.copy()])])
    work.settled.append(thing)
    work.bend(0.4, f"different ones of {thing} are counted")


def _count_others(work: Work, after: Column) -> None:
    """Count different values of a column where different ones of something else were counted."""
    before = work.old.distinct
    found = [one for count in calls(work.tree, "COUNT") for one in count.expressions if isinstance(one, exp.Distinct)]
    if before is None or len(found) != 1 or len(found[0].expressions) != 1:
        return
    if home_of(found[0].expressions[0]) in homes_of(work, before):
        found[0].set("expressions", [column_of(*after)])
        work.settled += [before, Thing(*after)]
        work.bend(0.2, f"different ones of {after[0]}.{after[1]} are counted")
