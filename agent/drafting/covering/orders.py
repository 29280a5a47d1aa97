"""Whether the highest is not taken for the lowest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, name_of
from agent.quantities import superlatives
from agent.wording import HIGHEST, LOWEST, tokens, words

_UNCLEAR = words("slowest fastest busiest nearest furthest first last quickest worst best longest shortest")
_HIGH = "highest|largest|biggest|most|dearest|priciest|latest|longest|maximum|newest|youngest|heaviest"
_LOW = "lowest|smallest|fewest|cheapest|earliest|shortest|minimum|oldest|lightest|least"
_BOTH = re.compile(
    rf"\b(?:(?:{_LOW})\s+and\s+(?:the\s+)?(?:{_HIGH})|(?:{_HIGH})\s+and\s+(?:the\s+)?(?:{_LOW}))\b", re.IGNORECASE
)


def directions(case: Case) -> Iterator[str]:
    """The highest is not the lowest: by the order of the rows that are kept or ranked, else by MAX and MIN."""
    wanted = case.grounding.direction
    said = {token.folded for token in tokens(case.question)} & (HIGHEST | LOWEST)
    if wanted is None or len({word in LOWEST for word in said - {"first"}} or {word in LOWEST for word in said}) != 1:
        return
    if len(superlatives(case.question)) > 1 + ("first" in said) or case.kind not in ("top_n", "top_per_group", "rank"):
        return
    if said & _UNCLEAR and not _is_clear(case, said & _UNCLEAR):
        return
    extreme = "highest" if wanted == "high" else "lowest"
    limited = [one for one in case.answers if one.args.get("limit") is not None and one.args.get("order") is not None]
    ordered = limited[0].args["order"] if limited and case.kind != "rank" else _ranking(case)
    if ordered is not None:
        first = ordered.expressions[0]
        if isinstance(first.this, exp.Neg) or (case.names.date_part(first.this) is None and _is_age(first.this)):
            return
        if bool(first.args.get("desc")) != (wanted == "high"):
            sign = "DESC" if wanted == "high" else "ASC"
            yield f"the question asks for the {extreme}, so the order is ORDER BY ... {sign}"
        return
    called = case.called & {"min", "max"}
    if called == ({"min"} if wanted == "high" else {"max"}) and case.tree.find(exp.Window, exp.Limit) is None:
        yield f"the question asks for the {extreme} ({'MAX' if wanted == 'high' else 'MIN'})"


def _ranking(case: Case) -> exp.Expr | None:
    """What rows are ranked by, where one ranking is shown or its first places are kept."""
    windows = [one for one in case.tree.find_all(exp.Window) if case.names.ranks(one) and one.args.get("order")]
    kept = [one for one in case.compared if case.names.ranks(one.other) and one.operator in ("=", "<", "<=")]
    if len(windows) != 1 or not (kept or case.kind == "rank"):
        return None
    order: exp.Expr = windows[0].args["order"]
    return order


def _is_clear(case: Case, words_said: set[str] | frozenset[str]) -> bool:
    """Whether a word that may mean either end can mean only one here: the last date, the best by an amount."""
    if words_said <= {"first", "last"}:
        return _goes_by_date(case)
    if words_said <= {"best", "worst", "busiest"}:
        sides = [one.this for one in case.tree.find_all(exp.Ordered)]
        return bool(sides) and all(case.names.counts(side) for side in sides)
    return False


def _goes_by_date(case: Case) -> bool:
    """Whether all that is ordered by, and all that the first or last is taken of, are dates."""
    sides = [one.this for one in case.tree.find_all(exp.Ordered)]
    sides += [call for call in case.tree.find_all(exp.Anonymous) if name_of(call) in ("min", "max")]
    return bool(sides) and all(case.names.date_part(side) is not None for side in sides)


def _is_age(node: exp.Expr) -> bool:
    return any(isinstance(inner, exp.Sub) for inner in node.walk())


def both_ends(case: Case) -> Iterator[str]:
    """The lowest and the highest are both there where both are asked for."""
    if not case.says(_BOTH) or case.tree.find(exp.Limit, exp.Window, exp.SetOperation, exp.Subquery) is not None:
        return
    called = case.called & {"min", "max"}
    if len(called) == 1:
        yield f"the question asks for the {'highest' if called == {'min'} else 'lowest'} as well"
