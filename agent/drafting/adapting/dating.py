"""Times that a question is about, and those that it groups by."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlglot import exp

from agent.drafting.adapting.calls import is_call
from agent.drafting.adapting.explaining import shares_its_spot
from agent.drafting.adapting.sources import has_aggregates, sources_of, tables_used, wholes_of
from agent.drafting.adapting.work import (
    Either,
    Filter,
    Held,
    Misfit,
    Work,
    home_of,
    links_of,
    matching,
    parsed,
    scope_of,
    take_out,
)
from agent.drafting.literals import Column, slot_links
from agent.drafting.saying import canonical
from agent.drafting.times import as_text, forms, split_clock, time_of, written
from agent.linked import Grounding, Link
from agent.periods import Period, filter_sql, grouping_sql


def fit_times(work: Work) -> list[Filter]:
    """Take out the times that the old question asked for, and give filters for those of the new one.

    Times that stand in the shape itself, as in a CASE, are replaced one for one.
    """
    held = [one for one in work.held if time_of(one.link.kind, one.link.value or "") is not None]
    periods = _narrow(work.now.periods)
    free = [one for one in held if one.spot is not None and not shares_its_spot(work, one)]
    fixed = [one for one in held if one not in free]
    links = _times(work.now)
    column = _date_column(work, [*free, *fixed])
    if fixed:
        order = links_of(held)
        if len(order) != len(links):
            order = [next((o for o in links_of(held) if o.value == t.value), t) for t in _times(work.then)]
        if len(order) != len(links):
            raise Misfit
        turned: set[int] = set()
        for one in held:
            if id(one.compared.node) not in turned and not _put_period(work, one, links[order.index(one.link)], turned):
                _put_time(work, one, links[order.index(one.link)])
        return []
    spots: dict[int, list[exp.Select | None]] = {}
    for one in free:
        place = next((n for n, p in enumerate(work.then.periods) if p.start <= one.link.start < p.end), 0)
        scopes = spots.setdefault(place, [])
        if all(scope is not scope_of(one) for scope in scopes):
            scopes.append(scope_of(one))
        take_out(work, one)
    if not periods:
        if free:
            work.bend(0.3, "left out the time")
        return []
    if column is None:
        raise Misfit
    if not free:
        work.bend(0.3)
    elif [p.text for p in work.then.periods] != [p.text for p in periods]:
        work.notes.append("the time became " + " and ".join(period.text for period in periods))
    apart = len({id(scope) for scopes in spots.values() for scope in scopes}) > 1
    if apart and len(spots) == len(periods):
        return [
            Filter(filter_sql(period, *column, work.dialect), (column[0],), scope)
            for place, period in zip(sorted(spots), periods, strict=True)
            for scope in spots[place]
        ]
    if apart and len(spots) != len(periods):
        work.bend(0.8)
    if not free and (wholes := _shares_and_wholes(work, column)):
        return [Filter(filter_sql(p, *column, work.dialect), (column[0],), scope) for p in periods for scope in wholes]
    where = next((scope for scopes in spots.values() for scope in scopes), None)
    if len({period.month is None for period in periods}) > 1 or len(periods) == 1:
        return [Filter(filter_sql(p, *column, work.dialect), (column[0],), where) for p in periods]
    work.bend(0.3)
    parts = tuple(filter_sql(p, *column, work.dialect) for p in periods)
    either = Either(f"({' OR '.join(f'({part})' for part in parts)})", parts, tuple(p.start for p in periods))
    work.either.append(either)
    return [Filter(either.sql, (column[0],), where)]


def _times(grounding: Grounding) -> list[Link]:
    """The times of a question, each where it is named first."""
    links = [link for link in slot_links(grounding) if time_of(link.kind, link.value or "") is not None]
    return list({(link.kind, link.value): link for link in reversed(links)}.values())[::-1]


def _narrow(periods: Sequence[Period]) -> list[Period]:
    """Each period once, without an open one that has another in it: the `since January 1997` of figures for 1997."""

    def holds(one: Period, other: Period) -> bool:
        if one.month is not None or other.month is not None or (one.since, one.until) == (other.since, other.until):
            return False
        starts = one.since is None or (other.since is not None and one.since <= other.since)
        return starts and (one.until is None or (other.until is not None and other.until <= one.until))

    once = list({(one.since, one.until, one.month): one for one in reversed(periods)}.values())[::-1]
    return [one for one in once if one.until is not None or not any(holds(one, other) for other in once)]


def _shares_and_wholes(work: Work, column: Column) -> list[exp.Select]:
    """The SELECTs that both tell of the same rows where a figure is held against one of all; a time is for both."""
    outer, inner = work.tree, wholes_of(work)
    if not isinstance(outer, exp.Select) or len(work.now.periods) != 1:
        return []
    both = [outer, *inner]
    read = all(column[0] in tables_used(work, scope) | sources_of(work, scope) for scope in both)
    return both if inner and read else []


def _date_column(work: Work, held: Sequence[Held]) -> Column | None:
    used = next((one.column for one in held if one.column is not None), None)
    if used is not None and (work.then.date_column == work.now.date_column or work.now.date_column is None):
        return used
    return work.now.date_column or used


def _put_period(work: Work, one: Held, after: Link, turned: set[int]) -> bool:
    """Write the filter of a quarter where a year stood alone, and the like; says whether it was done."""
    time, before = time_of(after.kind, after.value or ""), time_of(one.link.kind, one.link.value or "")
    date = work.names.date_part(one.compared.other)
    node, wholes = one.compared.node, {"year": "year", "month": "year_month"}
    if time is None or before is None or date is None or date.column is None or time.kind == before.kind:
        return False
    alone = isinstance(node, exp.EQ) and wholes.get(before.kind) == date.part
    period = next((p for p in work.now.periods if p.start <= after.start < p.end), None)
    if not alone or period is None:
        return False
    node.replace(parsed(work, filter_sql(period, *date.column, work.dialect)))
    turned.add(id(node))
    work.bend(0.3, f"{one.link.text} became {after.text}")
    return True


def _put_time(work: Work, one: Held, after: Link) -> None:
    time = time_of(after.kind, after.value or "")
    date = work.names.date_part(one.compared.other)
    before = time_of(one.link.kind, one.link.value or "")
    if time is None or date is None or before is None or one.compared.how == "like":
        raise Misfit
    if one.form not in forms(date.part, time.kind):
        raise Misfit
    if before.kind != time.kind:
        work.bend(0.5)
    text = one.compared.literal.name
    tail = split_clock(text)[1] if date.part == "day" else ""
    fresh = as_text(written(time, one.form), date.part, quoted=one.compared.literal.is_string) + tail
    one.compared.literal.replace(
        exp.Literal.string(fresh) if one.compared.literal.is_string else exp.Literal.number(fresh)
    )
    if fresh != text:
        work.notes.append(f"{text} became {fresh}")


def _grouped(work: Work, grain: str, column: Column) -> exp.Expr:
    """What groups days by a grain: quarters of one year by their number alone."""
    tree = parsed(work, grouping_sql(grain, *column, work.dialect))
    ends = [(one.since, one.until) for one in work.now.periods]
    years = {day.year if day else None for since, until in ends for day in (since, until and until - timedelta(days=1))}
    plain = grain == "quarter" and len(years) == 1 and None not in years and isinstance(tree, exp.DPipe)
    return tree.expression.unnest() if plain else tree


def fit_grain(work: Work) -> None:
    """Months for years, where one question is by month and the other by year."""
    then, now = work.old.grain, work.new.grain
    if then == now:
        return
    if then is None or now is None:
        if not (_add_grain(work, now) if now is not None else _drop_grain(work, then)):
            work.bend(1.0)
        return
    columns = [one for one in (work.then.date_column, work.now.date_column) if one is not None]
    if not columns:
        raise Misfit
    of = {one: matching(work, canonical(grouping_sql(then, *one, work.dialect), work.dialect)) for one in columns}
    column, found = next(((one, nodes) for one, nodes in of.items() if nodes), (columns[0], []))
    if not found:
        work.bend(0.8)
        return
    for node in found:
        node.replace(_grouped(work, now, column))
    work.bend(0.2, f"{then} became {now}")


def _shows_day(work: Work) -> bool:
    """Whether the query shows a day as it is, or the first or last one: what `on which day` asks for."""
    dates = {(date.table, date.column) for date in work.lexicon.date_columns}
    scope = work.tree
    shown = [one.unalias() for one in scope.expressions] if isinstance(scope, exp.Select) else []
    ends = [inner for one in shown if is_call(one, "MIN", "MAX") for inner in one.expressions]
    return any(home_of(one) in dates for one in (*shown, *ends))


def _add_grain(work: Work, grain: str) -> bool:
    """Part figures by months or years, before what they are parted by already."""
    if grain == "day" and _shows_day(work):
        return True
    scope, column = work.tree, work.now.date_column or work.then.date_column
    if not isinstance(scope, exp.Select) or column is None or work.new.limit is not None or not has_aggregates(scope):
        return False
    if any(scope.args.get(part) for part in ("having", "limit", "with_", "distinct")) or scope.find(exp.Window):
        return False
    bare = any(isinstance(one.unalias(), exp.Column) for one in scope.expressions)
    group = scope.args.get("group")
    if (bare and group is None) or not isinstance(scope.args.get("from_"), exp.From) or scope.find(exp.Subquery):
        return False
    held = _grouped(work, grain, column)
    scope.set("expressions", [held, *scope.expressions])
    scope.set("group", exp.Group(expressions=[held.copy(), *(group.expressions if group is not None else ())]))
    scope.set("order", None)
    over = work.asked.intent.kind == "over_time" != work.known.understood.intent.kind
    work.bend(-0.5 if over else 0.5, f"parted by {grain}")
    return True


def _drop_grain(work: Work, grain: str | None) -> bool:
    """Give one figure for all months or years."""
    scope, column = work.tree, work.then.date_column
    if not isinstance(scope, exp.Select) or column is None or grain is None or scope.find(exp.Window):
        return False
    group = scope.args.get("group")
    if group is None or any(scope.args.get(part) for part in ("having", "limit", "with_")):
        return False
    found = matching(work, canonical(grouping_sql(grain, *column, work.dialect), work.dialect))
    shown = [one for one in scope.expressions if any(node is one.unalias() for node in found)]
    names = {one.alias for one in shown if one.alias}
    left = [
        one
        for one in group.expressions
        if not any(node is one for node in found) and not (isinstance(one, exp.Column) and one.name in names)
    ]
    rest = [one for one in scope.expressions if one not in shown]
    if not shown or not rest or len(left) == len(group.expressions) or not has_aggregates(scope):
        return False
    scope.set("expressions", rest)
    scope.set("order", None)
    scope.set("group", exp.Group(expressions=left) if left else None)
    plain = work.known.understood.intent.kind == "over_time" != work.asked.intent.kind
    work.bend(-0.5 if plain else 0.5, f"not parted by {grain}")
    return True
