"""What figures are parted by, and which columns of rows are shown."""

from __future__ import annotations

import re

from sqlglot import exp

from agent.drafting.adapting.calls import is_aggregated
from agent.drafting.adapting.sources import has_aggregates, lacking
from agent.drafting.adapting.work import Work, column_of, home_of
from agent.drafting.literals import Column
from agent.drafting.saying import Thing, canonical, display
from agent.keys import qualified

_REFERRED = "Referred"
_PER = re.compile(
    r"\b(?:per|each|every|by|for all(?: the)?|within|across|je|pro|jede[nmrs]?)\b\s*(?:\w+\s+)?\Z", re.IGNORECASE
)
_PER_BEHIND = re.compile(r"\s*(?:마다|별)")

_PER_TIME = re.compile(r"\b(?:per|each|every|by)\s+(?:year|quarter|month)\s+and\s+\Z", re.IGNORECASE)
_AND = re.compile(r"\s+(?:and|x|/)\s+(?:(?:by|per|each|every)\s+)?\Z", re.IGNORECASE)


def is_parted_by(work: Work, thing: Thing) -> bool:
    """Whether the question says `per` of it."""
    links = [one for one in work.now.chosen if one.table == thing.table]
    return any(
        _PER.search(work.now.question[: link.start])
        or _PER_BEHIND.match(work.now.question, link.end)
        or _PER_TIME.search(work.now.question[: link.start])
        or _is_second(work, link.start)
        for link in links
        if link.column in (thing.column, None) or (thing.column is None and link.role == "entity")
    )


def _is_second(work: Work, start: int) -> bool:
    """Whether it is the second of two: `by category and country`."""
    question = work.now.question
    match = _AND.search(question[:start])
    return match is not None and any(
        link.end <= match.start()
        and not question[link.end : match.start()].strip()
        and _PER.search(question[: link.start])
        and not link.verb
        for link in work.now.chosen
    )


def is_shown(work: Work, thing: Thing) -> bool:
    """Whether the query shows it or groups by it."""
    homes = homes_of(work, thing)
    scopes = list(work.tree.find_all(exp.Select))
    shown = [one for scope in scopes for one in scope.expressions]
    grouped = [one for group in work.tree.find_all(exp.Group) for one in group.expressions]
    return any(home_of(one) in homes for one in [*shown, *grouped])


def homes_of(work: Work, thing: Thing) -> set[Column]:
    """The columns that stand for it: its own, or those that show a row of it, its key and what refers to that."""
    if thing.column:
        return {(thing.table, thing.column)}
    own = {*display(thing.table, work.lexicon), *work.lexicon.primary_keys.get(thing.table, ())}
    homes = {(thing.table, column) for column in own}
    return homes | {here for here, there in work.refers.items() if there in homes}


def add_group(work: Work, thing: Thing) -> None:
    """Part figures by something that the question says `per` of, behind what they are parted by already."""
    scope = work.tree
    if not isinstance(scope, exp.Select) or not has_aggregates(scope) or not is_parted_by(work, thing):
        return
    group = scope.args.get("group")
    if group is not None and (scope.args.get("having") or scope.args.get("limit")):
        return
    bare = [n for n, one in enumerate(scope.expressions) if any(not is_aggregated(c) for c in one.find_all(exp.Column))]
    keys = work.lexicon.primary_keys.get(thing.table, ())
    if (bare and group is None) or (thing.column is None and len(keys) != 1):
        return
    shown = [thing.column] if thing.column else list(display(thing.table, work.lexicon))
    place = bare[-1] + 1 if bare else 0
    fresh = [column_of(thing.table, column) for column in shown]
    scope.set("expressions", [*scope.expressions[:place], *fresh, *scope.expressions[place:]])
    grouped = group.expressions if group is not None else []
    scope.set("group", exp.Group(expressions=[*grouped, column_of(thing.table, thing.column or keys[0])]))
    work.bend(0.4, f"parted by {thing}")


def drop_group(work: Work, thing: Thing) -> None:
    """Give one figure for all where it was parted by something that is not asked for."""
    scope = work.tree
    group = scope.args.get("group") if isinstance(scope, exp.Select) else None
    if group is None or not isinstance(scope, exp.Select) or scope.args.get("having") or scope.args.get("limit"):
        return
    homes = homes_of(work, thing)
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

    It is done where the old question, read the same way, asks for what the old query shows, or where the question
    lists what to show.
    """
    scope = work.tree
    if not isinstance(scope, exp.Select) or scope.args.get("group") or not (asked := _shown(work)):
        return False
    before = [home_of(one) for one in scope.expressions]
    if None in before or set(before) == set(asked) or _lists_the_same(work):
        return False
    if {table for table, _ in asked} & lacking(work):
        return False
    if not work.new.listed and (set(before) != set(work.old.shown) or set(work.old.shown) == set(asked)):
        return False
    heads = [{one.table for one in speaks.things if one.column is None} for speaks in (work.old, work.new)]
    same_rows = {one[0] for one in before if one} & {table for table, _ in asked}
    first = [speaks.things[:1] for speaks in (work.old, work.new)]
    fewer = first[0] == first[1] != () and set(asked) < set(before)
    if heads[0] != heads[1] and not fewer and not (work.new.listed and same_rows):
        return False
    scope.set("expressions", [column_of(*one) for one in asked])
    work.bend(0.2, "shows " + ", ".join(column for _, column in asked))
    return True


def _shown(work: Work) -> tuple[Column, ...]:
    """The columns to be shown, without an amount that became a filter."""
    dialect = work.dialect
    return tuple(one for one in work.new.shown if canonical(qualified(*one, dialect), dialect) != work.spent)


def show_referred(work: Work, whole: exp.Expr) -> None:
    """Show the row that a row refers to, in a table that refers to itself, where its key would be shown: the boss."""
    sources = [table.name for table in whole.find_all(exp.Table)]
    if not isinstance(whole, exp.Select) or whole.args.get("group") or has_aggregates(whole):
        return
    shown: list[exp.Expr] = []
    joins: list[exp.Expr] = []
    for one in whole.expressions:
        home = home_of(one)
        there = work.refers.get(home) if home is not None else None
        named = display(home[0], work.lexicon) if home is not None else ()
        if home is None or there is None or there[0] != home[0] or sources.count(home[0]) != 1 or there[1] in named:
            shown.append(one)
            continue
        shown += [column_of(_REFERRED, column) for column in named]
        key = exp.EQ(this=column_of(_REFERRED, there[1]), expression=column_of(*home))
        table = exp.alias_(exp.Table(this=exp.to_identifier(home[0], quoted=True)), _REFERRED, table=True, quoted=True)
        joins.append(exp.Join(this=table, on=key))
    if len(joins) == 1:
        # Whose row it is, and what belongs to which, is sure only where a row is named and nothing else is shown.
        sure = len(whole.expressions) == 1 and work.new.values
        whole.set("expressions", shown)
        whole.set("joins", [*(whole.args.get("joins") or ()), *joins])
        work.bend(0.2 if sure else 1.0, "shows what is referred to")


def _lists_the_same(work: Work) -> bool:
    """Whether both questions list the same columns, so that the old query shows what is asked for."""
    return work.old.listed and work.new.listed and work.old.shown == work.new.shown


def fit_names_shown(work: Work) -> None:
    """Show of the rows that figures are parted by just the columns that the question lists, where it lists any."""
    scope = work.tree
    if not isinstance(scope, exp.Select) or not work.new.listed or not has_aggregates(scope) or _lists_the_same(work):
        return
    group = scope.args.get("group")
    grouped = {home_of(one) for one in group.expressions} if group is not None else set()
    for table in dict.fromkeys(table for table, _ in work.new.shown):
        named = {(table, column) for column in display(table, work.lexicon)}
        keys = {(table, column) for column in work.lexicon.primary_keys.get(table, ())}
        figures = (keys - named) | work.lexicon.amounts
        asked = [one for one in work.new.shown if one[0] == table and one not in figures]
        places = [n for n, one in enumerate(scope.expressions) if home_of(one) in named]
        before = [home_of(scope.expressions[n]) for n in places]
        if not asked or not places or set(before) == set(asked) or not (keys <= grouped or set(asked) <= set(before)):
            continue
        fresh: list[exp.Expr] = []
        for n, one in enumerate(scope.expressions):
            if n == places[0]:
                fresh += [column_of(*column) for column in asked]
            elif n not in places:
                fresh.append(one)
        scope.set("expressions", fresh)
        work.notes.append("shows " + ", ".join(column for _, column in asked))
