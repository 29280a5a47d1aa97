"""Numbers that something is held against, each with its sign."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from agent.database.dialects import dialect as read_dialect
from agent.drafting.adapting.amounts import summed
from agent.drafting.adapting.calls import aggregates, calls, is_call
from agent.drafting.adapting.work import Filter, Held, Misfit, Work, parsed, take_out
from agent.drafting.literals import number_in
from agent.linked import Comparison, Grounding, Link
from agent.quantities import digits
from agent.wording import tokens

_SEVERAL = re.compile(
    r"\b(?:several|multiple|more than once|repeated\w*|twice|duplicates?|same|shared?)\b", re.IGNORECASE
)
_SEVERAL_IS: Mapping[type[exp.Expr], str] = {exp.GT: "1", exp.GTE: "2"}
_COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_NODES: Mapping[str, type[exp.Binary]] = {
    "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "=": exp.EQ, "<>": exp.NEQ,
}  # fmt: skip
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


_TIMES_AVERAGE = re.compile(
    r"\b(?:(?P<twice>twice|double)|(?P<times>[\w.,]+)[\s-]times)\s+(?:\w+\s+){0,3}?average\b", re.IGNORECASE
)


def fit_factor(work: Work) -> None:
    """Hold figures against so many times an average as the question says: `more than twice the average`."""
    then, now = (_factor(one.question) for one in (work.then, work.now))
    if then == now:
        return
    for node in work.tree.find_all(*_NODES.values()):
        side = node.expression
        inner = side.expression if isinstance(side, exp.Mul) and isinstance(side.this, exp.Literal) else side
        known = number_in(side.this.name) if inner is not side else Decimal(1)
        if known != then or not isinstance(inner, exp.Subquery) or not any(calls(inner, "AVG")):
            continue
        inner = inner.copy()
        side.replace(inner if now == 1 else exp.Mul(this=exp.Literal.number(f"{now.normalize():f}"), expression=inner))
        work.bend(0.2, f"{now.normalize():f} times the average")
        return
    work.bend(1.0)


def _factor(question: str) -> Decimal:
    """How many times an average is asked for; 1 where the words do not say."""
    match = _TIMES_AVERAGE.search(question)
    if match is None:
        return Decimal(1)
    return Decimal(2) if match["twice"] else number_in(digits(match["times"])) or Decimal(1)


def _is_factor(link: Link, grounding: Grounding) -> bool:
    match = _TIMES_AVERAGE.search(grounding.question)
    return match is not None and match.start() <= link.start < match.end()


def fit_numbers(work: Work) -> None:
    """Numbers that something is held against, one for one, each with its sign."""
    then = [link for link in work.old.numbers if not _only_says_one(link, work.then)]
    now = [link for link in work.new.numbers if not _only_says_one(link, work.now)]
    then = [link for link in then if not _is_factor(link, work.then)]
    now = [link for link in now if not _is_factor(link, work.now)]
    held = [one for one in work.held if one.link in then]
    known = [link for link in then if any(one.link is link for one in held)]
    now = _without_asides(work, then, known, now)
    if len(known) < len(now):
        # `0 is Sunday` and `those with 0 as well` hold nothing against a number.
        now = [link for link in now if link.value not in ("0", "1") or _comparison(link, work.now) is not None]
    if not known and not now:
        return
    if not now:
        if _SEVERAL.search(work.now.question) and (
            [link.value for link in known] == ["1"] or _hold_several(work, held)
        ):
            return
        for one in held:
            take_out(work, one)
        work.bend(0.8, "a threshold was left out")
        return
    if len(known) != len(now):
        known, now = _once_each(known), _once_each(now)
    if len(known) != len(now):
        if len(known) == 1 and len(now) == 2 and _widen(work, held, now):
            return
        if not known and len(now) == 1 and (_hold_number(work, now[0]) or _add_threshold(work, now[0])):
            return
        raise Misfit
    for before, after in zip(known, now, strict=True):
        old, new = _comparison(before, work.then), _comparison(after, work.now)
        if (old is None) != (new is None) or (
            old and new and (old.operator == "between") != (new.operator == "between")
        ):
            work.bend(0.6)
        for one in held:
            if one.link is before:
                _hold(work, one, after, old, new)
        if before.value != after.value:
            work.bend(0.05, f"{before.value} became {after.value}")


def _without_asides(work: Work, then: list[Link], known: list[Link], now: list[Link]) -> list[Link]:
    """The numbers without those that the old query did not need either: the `two` of `in two columns`."""
    asides = [link.value for link in then if link not in known and _comparison(link, work.then) is None]
    left = []
    for link in now:
        if link.value in asides and _comparison(link, work.now) is None:
            asides.remove(link.value)
        else:
            left.append(link)
    return left


def _once_each(links: Sequence[Link]) -> list[Link]:
    """The first link of each number."""
    return list({link.value: link for link in reversed(links)}.values())[::-1]


def _hold(work: Work, one: Held, after: Link, old: Comparison | None, new: Comparison | None) -> None:
    number = Decimal(after.value or "0")
    number = number / 100 if one.form == "hundredth" else number
    literal = f"{number.normalize():f}"
    one.compared.literal.replace(
        exp.Literal.string(literal) if one.compared.literal.is_string else exp.Literal.number(literal)
    )
    if old is None or new is None or old.operator == new.operator or "between" in (old.operator, new.operator):
        return
    node = one.compared.node
    if not isinstance(node, tuple(_NODES.values())):
        raise Misfit
    sign = new.operator if one.compared.operator == old.operator else _COMPLEMENT[new.operator]
    left = node.find(exp.Literal) is not None and isinstance(node.this, exp.Literal)
    node.replace(_NODES[_FLIPPED[sign] if left else sign](this=node.this, expression=node.expression))
    work.bend(0.1, f"{old.operator} became {new.operator}")


def check_numbers(work: Work) -> None:
    """Strain numbers that are still held against an amount of which only the old question speaks."""
    then, now = ({(link.table, link.column) for link in one.links} for one in (work.then, work.now))
    for one in work.held:
        column = one.compared.other if isinstance(one.compared.other, exp.Column) else None
        if one.form not in ("number", "hundredth") or column is None or column.find_ancestor(exp.Select) is None:
            continue
        home = (column.table, column.name)
        if home in work.lexicon.amounts and home not in now and (home in then or not _is_called_alike(work, one.link)):
            work.bend(0.6)


def _is_called_alike(work: Work, number: Link) -> bool:
    """Whether the words about a number of the old question stand in the new one as well."""
    question = work.then.question
    sign = _comparison(number, work.then)
    start, end = (sign.start, sign.end) if sign is not None else (number.start, number.end)
    about = {
        one.stem
        for part in (question[:start].split()[-2:], question[end:].split()[:1])
        for one in tokens(" ".join(part))
    }
    said = {one.stem for one in tokens(work.now.question)}
    return not about - said


def _hold_several(work: Work, held: Sequence[Held]) -> bool:
    """Ask for several rows of a group where a number of them was asked for."""
    nodes = [one.compared.node for one in held]
    if len(nodes) != 1 or not _counts_group(nodes[0]):
        return False
    nodes[0].replace(exp.GT(this=held[0].compared.other.copy(), expression=exp.Literal.number(1)))
    work.bend(0.15, f"{held[0].link.value} became several")
    return True


def _hold_number(work: Work, number: Link) -> bool:
    """Ask for a number of rows of a group where several were asked for, `COUNT(*) > 1`."""
    sign = _comparison(number, work.now)
    explained = {id(one.compared.node) for one in work.held}
    found = [
        node
        for node in work.tree.find_all(exp.GT, exp.GTE)
        if id(node) not in explained and _counts_group(node) and node.expression.name == _SEVERAL_IS[type(node)]
    ]
    if sign is None or sign.operator == "between" or number.value is None or len(found) != 1:
        return False
    found[0].replace(_NODES[sign.operator](this=found[0].this, expression=exp.Literal.number(number.value)))
    work.bend(0.15, f"several became {sign.text}")
    return True


def _counts_group(node: exp.Expr) -> bool:
    """Whether a condition of groups holds a count against a number."""
    above = node.parent
    while isinstance(above, exp.And | exp.Paren):
        above = above.parent
    held = isinstance(node, exp.Binary) and isinstance(node.expression, exp.Literal) and is_call(node.this, "COUNT")
    return held and isinstance(above, exp.Having)


def _widen(work: Work, held: Sequence[Held], now: Sequence[Link]) -> bool:
    """Hold between two numbers what was held against one."""
    sign = _comparison(now[0], work.now)
    if not _is_range(sign) or _comparison(now[1], work.now) is not sign or len(held) != 1:
        return False
    low, high = (exp.Literal.number(link.value or "0") for link in now)
    held[0].compared.node.replace(exp.Between(this=held[0].compared.other.copy(), low=low, high=high))
    work.bend(0.2, f"{held[0].link.value} became {now[0].value} to {now[1].value}")
    return True


def _add_threshold(work: Work, number: Link) -> bool:
    """Hold the one amount that the question names against its number, row by row."""
    sign = _comparison(number, work.now)
    measures = work.new.measures
    if sign is None or number.value is None or sign.operator == "between":
        return False
    dialect = read_dialect(work.dialect)
    if not measures and _hold_count(work, sign, number.value):
        return True
    if len(measures) != 1:
        return False
    if not work.new.aggregates - {"COUNT"} and not work.tree.args.get("group"):
        work.spent = measures[0]
        work.thresholds.append(Filter(f"{measures[0]} {sign.operator} {number.value}", ()))
    elif isinstance(work.tree, exp.Select) and work.tree.args.get("group") and not work.tree.args.get("having"):
        amount = summed(work, measures[0])
        held = _NODES[sign.operator](this=amount, expression=exp.Literal.number(number.value))
        work.tree.set("having", exp.Having(this=parsed(work, held.sql(dialect))))
    else:
        return False
    work.bend(0.8, f"added {sign.text}")
    return True


def _hold_count(work: Work, sign: Comparison, number: str) -> bool:
    """Hold the one count of each group against a number."""
    scope = work.tree
    if not isinstance(scope, exp.Select) or not scope.args.get("group") or scope.args.get("having"):
        return False
    figures = [one.unalias() for one in scope.expressions if any(aggregates(one))]
    if len(figures) != 1 or not is_call(figures[0], "COUNT"):
        return False
    held = _NODES[sign.operator](this=figures[0].copy(), expression=exp.Literal.number(number))
    scope.set("having", exp.Having(this=held))
    work.bend(0.6 if work.of_other_kind else 0.3, f"added {sign.text}")
    return True


def _comparison(link: Link, grounding: Grounding) -> Comparison | None:
    return next((c for c in grounding.comparisons if c.start <= link.start < c.end), None)


def _is_range(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.operator == "between"


def _only_says_one(link: Link, grounding: Grounding) -> bool:
    """Whether it is the `one` of `at least one order`, which asks for no more than that there is any."""
    sign = _comparison(link, grounding)
    return link.value == "1" and (sign is None or sign.operator == ">=")
