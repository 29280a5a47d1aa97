"""Which link of the remembered question each literal of its query comes from."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from agent.drafting.adapting.work import Held, Work
from agent.drafting.literals import number_in, slot_links
from agent.drafting.operands import Compared, comparisons
from agent.drafting.patterns import covered
from agent.drafting.times import as_text, forms, split_clock, time_of, written
from agent.linked import Link


def explain(work: Work) -> list[Held]:
    """Find for each literal the link that it comes from; those that come from none belong to the shape."""
    found: list[Held] = []
    links = [link for link in slot_links(work.then) if not covered(link, work.old.patterns)]
    for one in comparisons(work.tree):
        held = _explained(work, one, links)
        if held is not None:
            held.spot = spot_of(work, one.node)
            found.append(held)
    return found


def _explained(work: Work, one: Compared, links: Sequence[Link]) -> Held | None:
    text, date = one.literal.name, work.names.date_part(one.other)
    if date is not None:
        day = split_clock(text)[0] if date.part == "day" or date.part.startswith("trunc") else text
        day = day.rstrip("%-") if one.how == "like" else day
        part = date.part
        if one.how == "like":
            part = {4: "year", 7: "year_month"}.get(len(day), "day")  # type: ignore[assignment]
        for link in links:
            time = time_of(link.kind, link.value or "")
            for form in forms(part, time.kind) if time else ():
                if time and as_text(written(time, form), part, quoted=one.literal.is_string) == day:
                    return Held(one, link, form, date.column)
        return None
    column = work.names.column(one.other)
    for link in work.old.values:
        home = (link.table, link.column)
        same = column is not None and (column == home or work.refers.get(column) == home)
        value = link.value or ""
        pattern = one.how == "like" and text.strip("%").casefold() == value.casefold()
        if (text == value or pattern) and (same or pattern):
            return Held(one, link, "value", column)
    for link in work.old.values:
        if column is not None and one.how != "like" and link.kind == "value" and link.value == text:
            # The query holds another column of the same values against it than the words link to.
            return Held(one, link, "value", column)
    for link in links:
        number = number_in(text)
        if link.kind == "value" and link.table is None and text.strip("%").casefold() == (link.value or "").casefold():
            return Held(one, link, "quoted", column)
        if link.kind in ("number", "limit") and number is not None and link.value is not None:
            meant = Decimal(link.value)
            if number in (meant, meant / 100):
                return Held(one, link, "number" if number == meant else "hundredth", column)
    return None


def spot_of(work: Work, node: exp.Expr) -> exp.Expr | None:
    """The widest condition around a comparison that AND alone ties to its WHERE or HAVING."""
    here: exp.Expr = node
    while here.parent is not None and not isinstance(here.parent, exp.Where | exp.Having | exp.And):
        if isinstance(here.parent, exp.Query | exp.Case | exp.If | exp.Join):
            return None
        here = here.parent
    above: exp.Expr | None = here.parent
    while isinstance(above, exp.And | exp.Paren):
        above = above.parent
    return here if isinstance(above, exp.Where | exp.Having) else None


def shares_its_spot(work: Work, one: Held) -> bool:
    """Whether the condition around a literal says more than filters of the question."""
    if one.spot is None or any(isinstance(node, exp.Query) for node in one.spot.walk()):
        return True
    known = {id(held.compared.literal) for held in work.held}
    settled = {
        id(inner)
        for node in one.spot.walk()
        if not isinstance(node, exp.Column | exp.Literal) and work.names.date_part(node) is not None
        for inner in node.find_all(exp.Literal)
    }
    return any(id(node) not in known | settled for node in one.spot.find_all(exp.Literal))
