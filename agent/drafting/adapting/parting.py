"""What figures are parted by, and which columns of rows are shown."""

from __future__ import annotations

import re

from sqlglot import exp

from agent.drafting.adapting.calls import is_aggregated
from agent.drafting.adapting.sources import has_aggregates
from agent.drafting.adapting.work import Work, column_of, home_of
from agent.drafting.saying import Thing, display

_PER = re.compile(r"(?:\b(?:per|each|every|by|for all(?: the)?|within|across)\b|\b별)\s*(?:\w+\s+)?\Z", re.IGNORECASE)


def add_group(work: Work, thing: Thing) -> None:
    """Part one figure by something that the question says `per` of."""
    scope = work.tree
    if not isinstance(scope, exp.Select) or scope.args.get("group") or not has_aggregates(scope):
        return
    links = (one for one in work.now.chosen if one.table == thing.table and one.column in (thing.column, None))
    if not any(_PER.search(work.now.question[: link.start]) for link in links):
        return
    if any(not is_aggregated(node) for one in scope.expressions for node in one.find_all(exp.Column)):
        return
    keys = work.lexicon.primary_keys.get(thing.table, ())
    if thing.column is None and len(keys) != 1:
        return
    shown = [thing.column] if thing.column else list(display(thing.table, work.lexicon))
    scope.set("expressions", [*(column_of(thing.table, column) for column in shown), *scope.expressions])
    scope.set("group", exp.Group(expressions=[column_of(thing.table, thing.column or keys[0])]))
    work.bend(0.4, f"parted by {thing}")


def drop_group(work: Work, thing: Thing) -> None:
    """Give one figure for all where it was parted by something that is not asked for."""
    scope = work.tree
    group = scope.args.get("group") if isinstance(scope, exp.Select) else None
    if group is None or not isinstance(scope, exp.Select) or scope.args.get("having") or scope.args.get("limit"):
        return
    own = (
        {thing.column}
        if thing.column
        else {*display(thing.table, work.lexicon), *work.lexicon.primary_keys.get(thing.table, ())}
    )
    homes = {(thing.table, column) for column in own}
    homes |= {here for here, there in work.refers.items() if there in homes}
    left = [one for one in group.expressions if home_of(one) not in homes]
    shown = [one for one in scope.expressions if home_of(one) not in homes]
    if len(left) == len(group.expressions) or not shown:
        return
    if left:
        group.set("expressions", left)
    else:
        scope.set("group", None)
        scope.set("order", None)
    scope.set("expressions", shown)
    work.bend(0.3, f"not parted by {thing}")


def fit_columns_shown(work: Work) -> bool:
    """Where rows are shown just as they are, other columns are shown in place of those that were asked for.

    It is done where the old question, read the same way, asks for what the old query shows.
    """
    scope = work.tree
    if not isinstance(scope, exp.Select) or scope.args.get("group") or not work.new.shown:
        return False
    before = [home_of(one) for one in scope.expressions]
    if None in before or set(before) != set(work.old.shown) or set(work.old.shown) == set(work.new.shown):
        return False
    heads = (
        {one.table for one in work.old.things if one.column is None},
        {one.table for one in work.new.things if one.column is None},
    )
    if heads[0] != heads[1]:
        return False
    scope.set("expressions", [column_of(*one) for one in work.new.shown])
    work.bend(0.2, "shows " + ", ".join(column for _, column in work.new.shown))
    return True
