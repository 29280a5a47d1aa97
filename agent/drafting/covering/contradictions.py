"""Whether conditions of a query exclude each other, or hold for every row, so that they keep nothing or all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from sqlglot import exp

from agent.drafting.covering.case import Case
from agent.drafting.literals import number_in
from agent.drafting.operands import Compared
from agent.wording import fold

_BELOW = ("<", "<=")
_ABOVE = (">", ">=")


def contradictions(case: Case) -> Iterator[str]:
    """Conditions that one row must meet together can hold together."""
    held: dict[int, list[Compared]] = {}
    for one in case.compared:
        if one.how != "like" and one.shift is None:
            held.setdefault(id(one.node), []).append(one)
    for select in case.selects:
        where = select.args.get("where")
        parts = _parts(where.this, exp.And) if where is not None else []
        joins = select.args.get("joins") or () if where is not None else ()
        parts += [
            part for join in joins if not join.side and join.args.get("on") for part in _parts(join.args["on"], exp.And)
        ]
        yield from _opposites(parts)
        yield from _of_one(held, parts)
        for node in where.find_all(exp.Or) if where is not None else ():
            if not isinstance(node.parent, exp.Or) and node.find_ancestor(exp.Select) is select:
                yield from _always(held, _parts(node, exp.Or))


def _parts(node: exp.Expr, kind: type[exp.Connector]) -> list[exp.Expr]:
    """The conditions that AND alone, or OR alone, ties together."""
    if isinstance(node, exp.Paren):
        return _parts(node.this, kind)
    if isinstance(node, kind):
        return [*_parts(node.this, kind), *_parts(node.expression, kind)]
    return [node]


def _opposites(parts: Sequence[exp.Expr]) -> Iterator[str]:
    """A condition beside the same under NOT, and NULL beside a value."""
    written = {_bare(part).sql(): part for part in parts}
    for part in parts:
        if isinstance(part, exp.Not) and _bare(part.this).sql() in written:
            yield f"{part.sql()} and {_bare(part.this).sql()} never hold together"
    for part in parts:
        if isinstance(part, exp.Is) and isinstance(part.expression, exp.Null):
            name = part.this.sql()
            for other in parts:
                if isinstance(other, exp.EQ | exp.GT | exp.LT | exp.GTE | exp.LTE) and other.this.sql() == name:
                    yield f"{part.sql()} and {other.sql()} never hold together"
                    return


def _of_one(held: dict[int, list[Compared]], parts: Sequence[exp.Expr]) -> Iterator[str]:
    """What is held against one thing leaves something: a value of all lists, a number above all floors."""
    groups: dict[str, list[tuple[exp.Expr, bool, list[Compared]]]] = {}
    for part in parts:
        denied, node = False, part
        while isinstance(node, exp.Not | exp.Paren):
            denied ^= isinstance(node, exp.Not)
            node = node.this
        compared = held.get(id(node), [])
        if compared and not isinstance(compared[0].other, exp.Literal | exp.Subquery):
            groups.setdefault(compared[0].other.sql(), []).append((node, denied, compared))
    for found in groups.values():
        kept: set[str] | None = None
        first: exp.Expr | None = None
        out: set[str] = set()
        for node, denied, compared in found:
            texts = {_text(one) for one in compared}
            if isinstance(node, exp.EQ | exp.In) and not denied:
                if isinstance(node, exp.In) and len(node.expressions) != len(compared):
                    continue
                if kept is not None and first is not None and not kept & texts:
                    yield f"{first.sql()} and {node.sql()} never hold together for one row"
                    return
                kept, first = texts if kept is None else kept & texts, first or node
            elif isinstance(node, exp.NEQ) or (denied and isinstance(node, exp.EQ | exp.In)):
                out |= texts
        if kept and first is not None and kept <= out:
            yield f"{first.sql()} is kept and left out at once"
        yield from _ends(found)


def _ends(found: Sequence[tuple[exp.Expr, bool, list[Compared]]]) -> Iterator[str]:
    """No floor lies above a ceiling."""
    ends = [one for _, denied, compared in found if not denied for one in compared if one.how == "plain"]
    for low in ends:
        for high in ends:
            if (low.operator not in _ABOVE and low.operator != "=") or high.operator not in _BELOW:
                continue
            floor, ceiling = _size(low), _size(high)
            if floor is None or ceiling is None or type(floor) is not type(ceiling):
                continue
            strict = (low.operator, high.operator) not in ((">=", "<="), ("=", "<="))
            if floor > ceiling or (floor == ceiling and strict):  # type: ignore[operator]
                yield f"{low.node.sql()} and {high.node.sql()} never hold together"
                return


def _always(held: dict[int, list[Compared]], parts: Sequence[exp.Expr]) -> Iterator[str]:
    """`not A or not B` of one column holds for every row."""
    seen: dict[str, tuple[str, exp.Expr]] = {}
    for part in parts:
        node = _bare(part)
        compared = held.get(id(node), [])
        if not isinstance(node, exp.NEQ) or len(compared) != 1:
            continue
        name, text = compared[0].other.sql(), _text(compared[0])
        if name in seen and seen[name][0] != text:
            yield f"{seen[name][1].sql()} or {node.sql()} holds for every row (AND)"
            return
        seen.setdefault(name, (text, node))


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _text(one: Compared) -> str:
    number = number_in(one.literal.name) if not one.literal.is_string else None
    text = str(number.normalize()) if number is not None else fold(one.literal.name)
    return f"-{text}" if one.negative else text


def _size(one: Compared) -> Decimal | str | None:
    """What two ends are held against each other by: numbers as such, texts as ISO dates."""
    number = number_in(one.literal.name)
    if number is not None:
        return -number if one.negative else number
    return one.literal.name if one.literal.name[:4].isdigit() else None
