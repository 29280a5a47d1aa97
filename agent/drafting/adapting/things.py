"""Rows and values asked about: tables for tables, columns for columns, and one for the other."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from agent.drafting.adapting.parting import add_group, drop_group, fit_columns_shown, homes_of, is_parted_by, is_shown
from agent.drafting.adapting.sides import fit_sides
from agent.drafting.adapting.sources import has_aggregates, is_used
from agent.drafting.adapting.work import Misfit, Work, column_of, home_of, key_to
from agent.drafting.literals import Column
from agent.drafting.saying import Thing, display


def fit_things(work: Work) -> None:
    """Ask about the rows and values that the question asks about, or part figures by them."""
    if fit_sides(work):
        return
    old, new = list(work.old.things), list(work.new.things)
    before = [one for one in old if one not in new and one not in work.settled]
    after = [one for one in new if one not in old and one not in work.settled]
    if fit_columns_shown(work):
        return
    if not before and not after:
        if old != new:
            work.bend(0.3)
        return
    pairs = _aligned(work, before, after)
    for one, other in pairs:
        _turn(work, one, other)
        work.bend(0.2, f"{one} became {other}")
    rest = [one for one in before if one not in {a for a, _ in pairs}]
    more = [one for one in after if one not in {b for _, b in pairs}]
    for one in rest:
        drop_group(work, one)
    for one in more:
        add_group(work, one)
    if work.new.listed and pairs:
        fit_columns_shown(work)
    work.bend(0.5 * sum(is_used(work, one) for one in rest))
    work.bend(0.5 * sum(not is_used(work, one) for one in more))
    if more and not pairs and not has_aggregates_at_top(work) and new and new[0] in more and not is_shown(work, new[0]):
        work.bend(0.5)


def has_aggregates_at_top(work: Work) -> bool:
    return not isinstance(work.tree, exp.Select) or has_aggregates(work.tree)


def _aligned(work: Work, before: Sequence[Thing], after: Sequence[Thing]) -> list[tuple[Thing, Thing]]:
    """Which of the new things stands for which of the old ones."""
    parting = [one for one in after if is_parted_by(work, one)]
    shown = [one for one in before if is_shown(work, one)]
    ranked = [one for one in before if _is_ranked_within(work, one)]
    if len(ranked) == len(parting) == 1:
        # Within what rows are ranked stays apart from what is ranked, whichever is named first.
        return _apart(before, after, ranked, parting)
    grouped = work.tree.args.get("group") is not None
    if grouped and parting and len(parting) >= len(shown):
        # What is only counted or added up does not make way for what figures are parted by.
        return _apart(before, after, shown, parting)
    if len(before) == len(after):
        return list(zip(before, after, strict=True))
    if grouped and len(shown) == 1 and len(before) < len(after) and work.new.things[0] == after[0]:
        # What is asked about first is what figures are of; the rest says more of it.
        return [(shown[0], after[0])]
    tables = [one for one in before if one.column is None], [one for one in after if one.column is None]
    columns = [one for one in before if one.column], [one for one in after if one.column]
    pairs = list(zip(*tables, strict=True)) if len(tables[0]) == len(tables[1]) else []
    pairs += list(zip(*columns, strict=True)) if len(columns[0]) == len(columns[1]) else []
    return pairs


def _apart(
    before: Sequence[Thing], after: Sequence[Thing], old: Sequence[Thing], new: Sequence[Thing]
) -> list[tuple[Thing, Thing]]:
    """`new` for `old`, and the others for the others where it is as many."""
    rest = [one for one in before if one not in old], [one for one in after if one not in new]
    return [*zip(old, new, strict=False), *(zip(*rest, strict=True) if len(rest[0]) == len(rest[1]) else ())]


def _is_ranked_within(work: Work, thing: Thing) -> bool:
    """Whether rows are ranked anew for each of it."""
    homes = homes_of(work, thing)
    parts = [one for window in work.tree.find_all(exp.Window) for one in window.args.get("partition_by") or ()]
    return any(home_of(one) in homes for one in parts)


def _turn(work: Work, before: Thing, after: Thing) -> None:
    if work.rigid:
        work.bend(0.5)
    if before.column is None and after.column is None:
        _turn_table(work, before.table, after.table)
    elif before.column is not None and after.column is not None:
        _turn_column(work, (before.table, before.column), (after.table, after.column))
    elif before.column is None:
        _show_column(work, before.table, (after.table, after.column or ""))
    else:
        _show_rows(work, (before.table, before.column), after.table)


def _turn_column(work: Work, before: Column, after: Column) -> None:
    found = [c for c in work.tree.find_all(exp.Column) if (c.table, c.name) == before]
    if not found:
        raise Misfit
    for column in found:
        _rename(work, column, column_of(*after))


def _turn_table(work: Work, before: str, after: str) -> None:
    if not is_used(work, Thing(before)):
        raise Misfit
    shown, fresh = display(before, work.lexicon), display(after, work.lexicon)
    for scope in list(work.tree.find_all(exp.Select)):
        _show(work, scope, {(before, column) for column in shown}, [(after, column) for column in fresh])
    for column in list(work.tree.find_all(exp.Column)):
        home = (column.table, column.name)
        if column.table == before:
            _rename(work, column, column_of(after, _role(work, home, after)))
        elif (referred := work.refers.get(home)) is not None and referred[0] == before:
            _rename(work, column, key_to(work, column.table, after))
    for table in work.tree.find_all(exp.Table):
        if table.name == before:
            table.set("this", exp.to_identifier(after, quoted=True))


def _role(work: Work, column: Column, table: str) -> str:
    """The column of another table that plays the part of this one."""
    before, name = column
    keys, others = work.lexicon.primary_keys.get(before, ()), work.lexicon.primary_keys.get(table, ())
    if name in keys and len(keys) == len(others) == 1:
        return others[0]
    shown = display(before, work.lexicon)
    if name in shown:
        return display(table, work.lexicon)[0]
    known = {c.name.casefold(): c.name for t in work.schema.tables if t.name == table for c in t.columns}
    if name.casefold() in known:
        work.bend(0.1)
        return known[name.casefold()]
    if column == work.then.date_column and work.now.date_column is not None and work.now.date_column[0] == table:
        work.bend(0.1)
        return work.now.date_column[1]
    referred = work.refers.get(column)
    for (home, here), there in work.refers.items():
        if home == table and there == referred:
            return here
    raise Misfit


def _show(work: Work, scope: exp.Select, before: set[Column], after: Sequence[Column]) -> None:
    """Show other columns of rows in the place of some; what refers to them by name still finds the first."""
    places = [n for n, one in enumerate(scope.expressions) if home_of(one) in before]
    if not places:
        return
    inner = scope is not work.tree
    fresh: list[exp.Expr] = []
    for n, one in enumerate(scope.expressions):
        if n not in places:
            fresh.append(one)
        elif n == places[0]:
            named = exp.alias_(column_of(*after[0]), one.alias_or_name, quoted=True) if inner else None
            fresh.append(named or column_of(*after[0]))
            fresh += [column_of(*column) for column in after[1:]]
        elif inner and not _shown_no_more(work, scope, one.alias_or_name):
            fresh.append(exp.alias_(column_of(*after[0]), one.alias_or_name, quoted=True))
    scope.set("expressions", fresh)


def _shown_no_more(work: Work, inner: exp.Select, name: str) -> bool:
    """Take a name of an inner query out of what the queries around it show; says whether nothing else needs it."""
    used = [c for c in work.tree.find_all(exp.Column) if c.name == name and c.table not in work.tables]
    used = [c for c in used if c.find_ancestor(exp.Select) is not inner]
    shown = [c for c in used if isinstance(c.parent, exp.Select) and c.arg_key == "expressions"]
    if not shown or len(shown) < len(used) or any(len(_around(c).expressions) == 1 for c in shown):
        return False
    for column in shown:
        scope = _around(column)
        scope.set("expressions", [one for one in scope.expressions if one is not column])
    return True


def _around(column: exp.Column) -> exp.Select:
    if not isinstance(column.parent, exp.Select):
        raise Misfit
    return column.parent


def _show_column(work: Work, before: str, after: Column) -> None:
    """Values of a column are asked for where rows of a table were: shown, grouped and counted by."""
    shown = {(before, column) for column in display(before, work.lexicon)}
    keys = {(before, column) for column in work.lexicon.primary_keys.get(before, ())}
    keys |= {home for home, there in work.refers.items() if there in keys}
    for scope in list(work.tree.find_all(exp.Select)):
        _show(work, scope, shown, [after])
    left = [c for c in work.tree.find_all(exp.Column) if (c.table, c.name) in shown | keys]
    if not left and not any((c.table, c.name) == after for c in work.tree.find_all(exp.Column)):
        raise Misfit
    for column in left:
        if column.find_ancestor(exp.Where, exp.Join):
            raise Misfit
        _rename(work, column, column_of(*after))
    _unique_groups(work)
    work.bend(0.2)


def _show_rows(work: Work, before: Column, after: str) -> None:
    """Rows of a table are asked for where values of a column were."""
    keys = work.lexicon.primary_keys.get(after, ())
    if len(keys) != 1 or not any((c.table, c.name) == before for c in work.tree.find_all(exp.Column)):
        raise Misfit
    for scope in list(work.tree.find_all(exp.Select)):
        _show(work, scope, {before}, [(after, column) for column in display(after, work.lexicon)])
    for column in list(work.tree.find_all(exp.Column)):
        if (column.table, column.name) == before:
            if column.find_ancestor(exp.Where, exp.Join):
                raise Misfit
            _rename(work, column, column_of(after, keys[0]))
    work.bend(0.2)


def _rename(work: Work, column: exp.Column, fresh: exp.Expr) -> None:
    """Write another column for one; a bare column of an inner query keeps the name by which others know it."""
    parent = column.parent
    inner = isinstance(parent, exp.Select) and parent is not work.tree and column.arg_key == "expressions"
    column.replace(exp.alias_(fresh, column.name, quoted=True) if inner else fresh)


def _unique_groups(work: Work) -> None:
    for group in work.tree.find_all(exp.Group):
        seen: dict[str, exp.Expr] = {}
        for one in group.expressions:
            seen.setdefault(one.sql(), one)
        group.set("expressions", list(seen.values()))
