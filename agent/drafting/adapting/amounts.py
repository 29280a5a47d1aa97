"""The amounts that are added up, averaged or counted."""

from __future__ import annotations

import re

from sqlglot import exp

from agent.drafting.adapting.calls import aggregates, call, counts_rows, is_call
from agent.drafting.adapting.work import Misfit, Work, column_of, key_to, matching, parsed

_HOW_MANY = re.compile(r"\b(?:how many|number of)\s+\Z", re.IGNORECASE)


def fit_amounts(work: Work) -> None:
    """Put the amounts that the question names in the place of those of the old one."""
    old = [one for one in work.old.measures if one not in work.new.measures]
    new = [one for one in work.new.measures if one not in work.old.measures and one != work.spent]
    if not new:
        used = [one for one in old if matching(work, one)]
        if len(used) == 1 and _count_rows(work, used[0]):
            return
        work.bend(0.8 * len(used))
        return
    old = [one for one in old if matching(work, one)] or old
    if len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            _swap(work, before, after)
        return
    counts = counts_rows(work.tree)
    if not old and len(new) == 1 and counts:
        for count in counts:
            _replace(count, summed(work, new[0]))
        work.bend(0.6, f"COUNT(*) became {new[0]}")
        return
    work.bend(1.2)


def _count_rows(work: Work, before: str) -> bool:
    """Count rows where an amount of rows was added up, where the question asks how many of a table there are."""
    counted = _counted(work)
    around = [node.parent for node in matching(work, before)]
    figures = [node for node in around if node is not None and is_call(node, "SUM", "AVG")]
    scopes = {id(node.find_ancestor(exp.Select)) for node in figures}
    if counted is None or not figures or len(figures) < len(around) or len(scopes) != 1:
        return False
    for node in figures:
        node.replace(call("COUNT", exp.Star()))
    work.counted = counted
    work.bend(0.6, f"{before} became COUNT(*)")
    return True


def _counted(work: Work) -> str | None:
    """The table of `how many orders`, where nothing else is asked of amounts."""
    if work.new.measures or work.new.distinct is not None or work.new.aggregates != {"COUNT"}:
        return None
    for link in work.now.chosen:
        rows = link.kind == "table" or link.role in ("entity", "condition")
        if rows and link.table and not link.verb and _HOW_MANY.search(work.now.question[: link.start]):
            return link.table
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
    for node in found:
        around = node.parent
        if around is not None and whole and not was_whole and is_call(around, "SUM", "AVG"):
            _replace(around, fresh.copy())
        elif was_whole and not whole:
            _replace(node, summed(work, after))
        else:
            _replace(node, fresh.copy())
            _turn_aggregate(work, around)
    work.bend(0.25, f"{before} became {after}")


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


def _turn_aggregate(work: Work, node: exp.Expr | None) -> None:
    """AVG for SUM and the other way round, where the words say so."""
    then, now = work.old.aggregates & {"AVG", "SUM"}, work.new.aggregates & {"AVG", "SUM"}
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
