"""Conditions on values and those of glossary terms: replaced, taken out and put in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from sqlglot import exp

from agent.drafting.adapting.explaining import shares_its_spot, spot_of
from agent.drafting.adapting.sources import (
    denied,
    has_aggregates,
    lacking,
    sources_of,
    sources_of_top,
    tables_used,
    wholes_of,
)
from agent.drafting.adapting.work import (
    Either,
    Filter,
    Held,
    Misfit,
    Work,
    column_of,
    home_of,
    links_of,
    matching,
    parsed,
    remove,
    scope_of,
    tables_of,
    take_out,
)
from agent.drafting.literals import slot_links
from agent.drafting.patterns import Pattern, covered
from agent.drafting.saying import Said
from agent.keys import qualified
from agent.linked import Grounding, Link
from agent.quantities import is_excluded

_AROUND = re.compile(r"\w+\W+\w+\s+[\"'\u2018\u201c]?\Z")
_LITTLE = frozenset({"a", "an", "any", "the", "of", "in", "is", "and"})
_IS_NULL = " IS NULL"


def fit_values(work: Work) -> list[Filter]:
    """Put other values in the place of those of the old question, and give filters for those that have no place.

    Values that stand in the shape itself, as in a CASE, are replaced one for one.
    """
    held = [one for one in work.held if one.form in ("value", "quoted")]
    fixed = links_of(one for one in held if one.spot is None or shares_its_spot(work, one))
    free = [one for one in held if one.link not in fixed]
    new = list(work.new.values) + [v for v in quoted_values(work.now, work.new) if v.table is None]
    old = [*fixed, *links_of(free)]
    left = list(new)
    if fixed and not new and _put_condition(work, [one for one in held if one.link in fixed]):
        fixed = []
    if fixed:
        if len(new) < len(fixed):
            raise Misfit
        if len(new) != len(old):
            work.bend(0.5)
        order = sorted(old, key=lambda link: link.start)
        pairs = dict(zip(map(id, order), new, strict=False))
        for link in fixed:
            after = pairs.get(id(link))
            if after is None:
                raise Misfit
            left = [one for one in left if one is not after]
            for one in held:
                if one.link is link:
                    _put(work, one, after)
    gone = links_of(free)
    quoted = [one for one in free if one.form == "quoted"]
    unplaced = [link for link in left if link.table is None]
    unplaced = _put_labels(work, unplaced)
    if unplaced and len(links_of(quoted)) != len(unplaced):
        raise Misfit
    for before, after in zip(links_of(quoted), unplaced, strict=False):
        for one in quoted:
            if one.link is before:
                _put(work, one, after)
    placed = [link for link in left if link.table is not None]
    done: list[Link] = []
    kept = [link for link in gone if link.table is not None]
    kept, listed = _one_for_one(kept, placed)
    matched = _paired(kept, listed, key=lambda link: (link.table, link.column))
    if len(kept) == len(listed):
        rest = [link for link in kept if all(link is not before for before, _ in matched)]
        others = [link for link in listed if all(link is not after for _, after in matched)]
        matched += list(zip(rest, others, strict=True))
    gone_without = lacking(work)
    for before, after in matched:
        if is_excluded(work.then.question, before.start) != is_excluded(work.now.question, after.start):
            continue
        if after.table in gone_without and before.table not in gone_without:
            continue
        for one in free:
            if one.link is before:
                _put(work, one, after)
        done.append(before)
        placed = [link for link in placed if link is not after]
    for link in (link for link in gone if link.table is not None and link not in done):
        sides = [side for one in free if one.link is link and (side := _side_of(one)) is not None]
        if sides and len({id(side) for side in sides}) == 1:
            # What one side of a set operation is about cannot go alone.
            raise Misfit
    spots = [scope_of(one) for one in free if one.link.table is not None and one.link not in done]
    work.emptied = next(iter(spots), work.emptied)
    for one in free:
        if one.link.table is not None and one.link not in done:
            take_out(work, one)
    dropped = [link for link in gone if link.table is not None and link not in done]
    work.bend((0.65 if work.rigid else 0.15) * len(dropped))
    work.notes += [f"left out {link.value}" for link in dropped]
    if len(placed) > len(dropped):
        work.bend(0.15 * (len(placed) - len(dropped)))
    work.notes += [f"added {link.value}" for link in placed]
    return _value_filters(work, placed)


def _side_of(one: Held) -> exp.Expr | None:
    """The side of the set operation around a literal."""
    node: exp.Expr | None = one.compared.node
    while node is not None and not isinstance(node.parent, exp.SetOperation):
        node = node.parent
    return node


def _put_condition(work: Work, held: Sequence[Held]) -> bool:
    """Tell rows apart by the one condition that is asked about where they were told apart by one value."""
    wanted = [one for one in work.new.conditions if one not in work.old.conditions]
    whole = {id(one.link) for one in held}
    if len(wanted) != 1 or len(whole) != 1 or any(one.spot is not None for one in held):
        return False
    if set(work.old.conditions) - set(work.new.conditions):
        return False
    for one in held:
        one.compared.node.replace(parsed(work, wanted[0]))
    work.placed.add(wanted[0])
    work.bend(0.3, f"{held[0].link.value} became {wanted[0]}")
    return True


def quoted_values(grounding: Grounding, speaks: Said) -> list[Link]:
    """The values of a question that no pattern speaks of."""
    return [link for link in slot_links(grounding) if link.kind == "value" and not covered(link, speaks.patterns)]


def fit_patterns(work: Work) -> list[Filter]:
    """What texts start with, end in or have in them: taken out as the old question says it, and put in anew."""
    gone = [one for one in work.old.patterns if one not in work.new.patterns]
    wanted = [one for one in work.new.patterns if one not in work.old.patterns]
    for before in gone:
        likes = [node for node in work.tree.find_all(exp.Like) if _is_held(node, before)]
        spots = {id(spot): spot for spot in (spot_of(work, node) for node in likes) if spot is not None}
        if len({node.expression.name for node in likes}) != len(before.texts) or not spots:
            raise Misfit
        for spot in spots.values():
            held = {id(node.expression) for node in likes}
            if any(id(other) not in held for other in spot.find_all(exp.Literal, exp.Query)):
                # The condition says more than the pattern.
                raise Misfit
            work.emptied = work.emptied or spot.find_ancestor(exp.Select)
            remove(spot)
    if gone and not wanted:
        work.bend(0.5, "left out a pattern")
    elif wanted:
        work.bend(0.1 if gone else 0.3, "added " + " or ".join(text for one in wanted for text in one.likes()))
    found = []
    for one in wanted:
        name = qualified(*one.column, work.dialect)
        tests = [f"{name} LIKE '" + text.replace("'", "''") + "'" for text in one.likes()]
        found.append(Filter(tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})", (one.column[0],), work.emptied))
    return found


def fit_words(work: Work) -> None:
    """Write other words for those of the old question that link to nothing, where the words around them are the same.

    What the query looks for with LIKE is then the text that stands in the same place of the new question.
    """
    held = {id(one.compared.literal) for one in work.held}
    for node in list(work.tree.find_all(exp.Like)):
        literal = node.expression
        if not isinstance(literal, exp.Literal) or id(literal) in held or work.names.date_part(node.this) is not None:
            continue
        text = literal.name.strip("% ")
        place = re.search(rf"\b{re.escape(text)}\b", work.then.question) if text else None
        if place is None or any(_is_held(node, one) for one in (*work.old.patterns, *work.new.patterns)):
            continue
        around = _AROUND.search(work.then.question[: place.start()])
        spot = re.search(re.escape(around[0]) + r"(\w(?:[\w.'-]*\w)?)", work.now.question) if around else None
        if spot is None or spot[1].casefold() in _LITTLE or "_" in spot[1]:
            # `_` stands for any sign in LIKE.
            raise Misfit
        if spot[1] != text:
            literal.replace(exp.Literal.string(literal.name.replace(text, spot[1])))
            work.bend(0.1, f"{text} became {spot[1]}")


def _is_held(node: exp.Like, pattern: Pattern) -> bool:
    return home_of(node.this) == pattern.column and node.expression.name in pattern.likes()


def _one_for_one(before: Sequence[Link], after: Sequence[Link]) -> tuple[list[Link], list[Link]]:
    """Both without the links of columns of which the questions name several values, and not as many."""

    def counted(links: Sequence[Link]) -> Counter[tuple[str | None, str | None]]:
        return Counter((link.table, link.column) for link in links)

    old, new = counted(before), counted(after)
    uneven = {column for column in old & new if old[column] != new[column]}
    return (
        [link for link in before if (link.table, link.column) not in uneven],
        [link for link in after if (link.table, link.column) not in uneven],
    )


def _value_filters(work: Work, links: Sequence[Link]) -> list[Filter]:
    groups: dict[tuple[str, str, bool], list[Link]] = {}
    for link in links:
        out = is_excluded(work.now.question, link.start)
        groups.setdefault((link.table or "", link.column or "", out), []).append(link)
    found = []
    for (table, column, out), members in groups.items():
        name = qualified(table, column, work.dialect)
        values = [
            (link.value or "") if link.kind == "number" else "'" + (link.value or "").replace("'", "''") + "'"
            for link in members
        ]
        values = list(dict.fromkeys(values))
        if len(values) == 1:
            sql = f"{name} {'<>' if out else '='} {values[0]}"
        else:
            sql = f"{name} {'NOT IN' if out else 'IN'} ({', '.join(values)})"
            if not out and len(values) == len(members):
                parts = tuple(f"{name} = {value}" for value in values)
                work.either.append(Either(sql, parts, tuple(link.start for link in members)))
        found.append(Filter(sql, (table,), work.emptied))
    return found


def _put_labels(work: Work, links: Sequence[Link]) -> list[Link]:
    """Write quoted words that the query only shows, such as `or 'nobody' if there is none`; gives those left."""
    held = {id(one.compared.literal) for one in work.held}
    shown = {node.name: node for node in work.tree.find_all(exp.Literal) if node.is_string and id(node) not in held}
    before = [link for link in quoted_values(work.then, work.old) if link.table is None]
    labels = [link for link in before if link.value in shown]
    if len(labels) != len(before) or len(labels) != len(links):
        return list(links)
    for label, link in zip(labels, links, strict=True):
        shown[label.value or ""].replace(exp.Literal.string(link.value or ""))
    return []


def _put(work: Work, one: Held, after: Link) -> None:
    """Write another value, of the same or another column, in the place of one."""
    literal, value = one.compared.literal, after.value or ""
    homes = ((one.link.table, one.link.column), one.column)
    if after.table is not None and one.column is not None and (after.table, after.column) not in homes:
        if work.refers.get(one.column) == (after.table, after.column):
            pass
        elif isinstance(one.compared.other, exp.Column):
            one.compared.other.replace(column_of(after.table, after.column or ""))
            work.bend(0.15)
        else:
            raise Misfit
    if one.compared.how == "like":
        text = literal.name.replace(literal.name.strip("%"), value)
        literal.replace(exp.Literal.string(text))
    else:
        literal.replace(exp.Literal.string(value) if after.kind != "number" else exp.Literal.number(value))
    if value != one.link.value:
        work.notes.append(f"{one.link.value} became {value}")


def fit_conditions(work: Work) -> list[Filter]:
    """Conditions of glossary terms."""
    if work.old.conditions == work.new.conditions:
        return []
    wanted = [one for one in work.new.conditions if one not in work.old.conditions and one not in work.placed]
    gone = [one for one in work.old.conditions if one not in work.new.conditions]
    if len({_columns_in(work, one) for one in wanted}) < len(wanted):
        # `on time and late` are two figures, and no row is both.
        raise Misfit
    if len(gone) == len(wanted) == 1 and all(text.endswith(_IS_NULL) for text in (*gone, *wanted)):
        nodes = matching(work, gone[0])
        for node in nodes:
            node.replace(parsed(work, wanted[0]))
        if nodes:
            work.bend(0.2, f"{gone[0]} became {wanted[0]}")
            return []
    for text in gone:
        found = False
        for node in matching(work, text):
            spot = spot_of(work, node)
            if spot is not None and spot is node:
                remove(node)
                found = True
            elif len(gone) == len(wanted) == 1:
                node.replace(parsed(work, wanted[0]))
                work.bend(0.3, f"{text} became {wanted[0]}")
                return []
        if not found:
            work.bend(1.0)
        work.bend(0.2, f"left out {text}")
    for text in list(wanted):
        for node in matching(work, text):
            around = node.parent
            spot = spot_of(work, node)
            if isinstance(around, exp.Not) and spot is around:
                # The old question asked for the rows that have what is lacking now.
                around.replace(node)
                work.bend(0.2, f"{text} was denied before")
                wanted.remove(text)
                break
            if spot is node:
                work.bend(0.2)
                wanted.remove(text)
                break
    work.bend(0.3 * len(wanted))
    work.notes += [f"added {text}" for text in wanted]
    return [Filter(text, tables_of(work, text)) for text in wanted]


def _columns_in(work: Work, text: str) -> frozenset[str]:
    return frozenset(column.sql() for column in parsed(work, text).find_all(exp.Column))


def put_in(work: Work, filters: Sequence[Filter]) -> None:
    for one in filters:
        _filter(work, one)


def _filter(work: Work, one: Filter) -> None:
    scope = _inside(work, one) or one.scope or _scope_for(work, one)
    condition = parsed(work, one.sql)
    where = scope.args.get("where")
    if where is None:
        scope.set("where", exp.Where(this=condition))
    else:
        kept = where.this
        kept = exp.paren(kept, copy=False) if isinstance(kept, exp.Or) else kept
        where.set("this", exp.And(this=kept, expression=condition))


def _inside(work: Work, one: Filter) -> exp.Select | None:
    """The SELECT behind NOT that alone reads what a filter is about: `no order that was shipped to Brazil`."""
    wanted = set(one.tables or tables_of(work, one.sql))
    if wanted <= sources_of_top(work) or (one.scope is not None and one.scope is not work.tree):
        return None
    return next((scope for scope in denied(work) if wanted <= sources_of(work, scope)), None)


def _scope_for(work: Work, one: Filter) -> exp.Select:
    """The SELECT whose rows a filter is about: one that reads its tables, else the one nearest to them."""
    best: tuple[int, int, int] | None = None
    chosen: exp.Select | None = None
    wanted = one.tables or tables_of(work, one.sql)
    # A part is held against a whole: what is asked for is the part.
    shares = bool(wholes_of(work))
    for place, scope in enumerate(work.tree.find_all(exp.Select, bfs=False)):
        tables = (tables_used(work, scope) - _around(work, scope)) | sources_of(work, scope)
        if not tables:
            continue
        away = [work.lexicon.keys.distance(a, b) for a in wanted for b in tables]
        far = min((d for d in away if d is not None), default=99)
        rank = (far, 0 if has_aggregates(scope) else 1, place if shares else -place)
        if best is None or rank < best:
            best, chosen = rank, scope
    if chosen is None:
        raise Misfit
    if sum(1 for _ in work.tree.find_all(exp.Select)) > 1:
        work.bend(0.3)
    return chosen


def _around(work: Work, scope: exp.Select) -> set[str]:
    """The tables read by the queries around an inner one, whose columns it may name without reading them."""
    found: set[str] = set()
    outer = scope.find_ancestor(exp.Select)
    while outer is not None:
        found |= sources_of(work, outer) | tables_used(work, outer)
        outer = outer.find_ancestor(exp.Select)
    return found


def _paired(before: Sequence[Link], after: Sequence[Link], *, key: Callable[[Link], object]) -> list[tuple[Link, Link]]:
    """Links of the same key, one for one in reading order."""
    left = list(after)
    pairs = []
    for one in before:
        other = next((link for link in left if key(link) == key(one)), None)
        if other is not None:
            left = [link for link in left if link is not other]
            pairs.append((one, other))
    return pairs
