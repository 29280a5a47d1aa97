"""Whether the numbers of a question, its limit and its comparisons are in a query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from sqlglot import exp

from agent.drafting.covering.case import Case, is_fraction, name_of
from agent.drafting.literals import Column, number_in
from agent.drafting.operands import Compared
from agent.linked import Comparison
from agent.quantities import superlatives
from agent.wording import fold, is_plural

_COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_NEXT = {"<": ("<=", -1), "<=": ("<", 1), ">": (">=", 1), ">=": (">", -1)}
_THAN_AVERAGE = re.compile(
    r"\bthan\s+(?:twice\s+|half\s+|double\s+)?(?:as\s+\w+\s+\w+\s+as\s+)?(?:the\s+|an?\s+|our\s+)?(?:\w+\s+)?average\b"
    r"|\b(?:above|below)[\s-]average\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"%|\b(?:percent\w*|fractions?|proportions?|shares? of|what share|part of)\b", re.IGNORECASE)
_UNIT = re.compile(r"\s*-?\s*(?:days?|weeks?|months?|years?|hours?)\b", re.IGNORECASE)
_WEEKS = re.compile(r"\s*-?\s*weeks?\b", re.IGNORECASE)
_SHIFT = re.compile(r"\s*[+-]?\s*(\d+)\s+(?:day|week|month|year|hour)s?\s*", re.IGNORECASE)
_DAYS = 7
_FEW = 2
_NEAR = 20
_HUNDRED = Decimal(100)
_ANY_ONE = re.compile(r"\b(?:an?|any|one|some|single)\s+\w+", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|any|these|those)\s+(?:the\s+)?\Z", re.IGNORECASE)
_LINED_UP = re.compile(
    r"\b(?:sort\w*|order(?:ed)? by|rank\w*|from (?:the )?\w+ to (?:the )?\w+|(?:first|last) names?)\b"
    r"|\b(?:last|first)\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:first|last)[\s.?!]*\Z|,\s*\w+(?:\s\w+)?\s(?:first|last)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"\b(?:first|last|full)(?:\s+and\s+last)?\s+names?\b", re.IGNORECASE)
_SHARED = re.compile(
    r"\b(?:several|multiple|same|share[sd]?|duplicates?|more than (?:one|once)|twice(?! as)|in common|repeat\w*)\b",
    re.IGNORECASE,
)


def comparisons(case: Case) -> Iterator[str]:
    """Each number that something is held against is there, with the sign that the question says."""
    for said in case.grounding.comparisons:
        ends = [(said.operator, said.number)]
        if said.operator == "between":
            low, high = sorted((said.number, said.high or said.number), key=lambda text: number_in(text) or 0)
            ends = [(">=", low), ("<=", high)]
        for operator, text in ends:
            number = number_in(text)
            if number is None or number == 0 or (number < _FEW and operator not in ("<", "=")):
                continue
            yield from _end(case, said, operator, number)


def numbers(case: Case) -> Iterator[str]:
    """Each other number, as that of an order, is written somewhere."""
    compared = [(one.start, one.end) for one in case.grounding.comparisons]
    for link in case.grounding.chosen:
        if link.kind != "number" or link.value is None or any(a <= link.start < b for a, b in compared):
            continue
        number = number_in(link.value)
        if number is None or not link.text.strip()[:1].isdigit() or number in _numbers(case):
            continue
        if (
            number in _shifts(case)
            or number / _HUNDRED in _numbers(case)
            or any(link.value in text for text in case.texts)
        ):
            continue
        if link.column is None and number < _FEW:
            continue
        if case.question[link.end : link.end + 1] == "s" and any(link.value[:3] in text for text in case.texts):
            continue
        if case.grounding.periods and _UNIT.match(case.question[link.end :]):
            continue
        told = f" ({link.table}.{link.column} = {link.value})" if link.column else ""
        yield f"{link.text!r} of the question is not in the query{told}"


def limits(case: Case) -> Iterator[str]:
    """As many rows are kept as the question asks for, and no others are cut off."""
    wanted, written = case.grounding.limit, _limits(case)
    last = _outer_limit(case)
    if wanted is None:
        if last is not None and last > 1 and not _is_said(case, last):
            yield f"the question does not ask for {last} rows; leave LIMIT {last} out"
        if (
            last == 1
            and not case.says(_ANY_ONE)
            and case.grounding.direction is None
            and case.kind in ("list", "count", "by_group", "over_time")
        ):
            yield "the question asks for all rows; leave LIMIT 1 out"
        return
    if wanted == 1 and not _asks_for_several(case):
        if last is not None and last > 1 and not _is_said(case, last):
            yield f"the question asks for one row, not for LIMIT {last}"
        elif case.kind == "top_n" and not _is_lined_up(case) and not _keeps_few(case):
            yield "the question asks for one row only (ORDER BY ... LIMIT 1)"
        return
    if (
        wanted == 1
        or wanted in written
        or _side_by_side(case) == wanted
        or any(_ranks(case, one, wanted) for one in case.compared)
    ):
        return
    passed = {_rows(node) for node in case.tree.find_all(exp.Offset)}
    held = {_number(one) for one in case.compared} | {Decimal(rows) for rows in passed if rows is not None}
    if any(Decimal(wanted) + step in held for step in (0, -1, 1)):
        return
    link = next((one for one in case.grounding.chosen if one.kind == "limit"), None)
    if case.kind not in ("top_n", "top_per_group", "list") or (link and _BETWEEN.search(case.question[: link.start])):
        return
    named = f"{link.text!r} of the question" if link is not None else f"{wanted} rows"
    there = f", not LIMIT {last}" if last is not None else ""
    yield f"{named} asks for LIMIT {wanted}{there}"


def _side_by_side(case: Case) -> int:
    """How many rows of a table each row shows, as a table that is joined with itself gives them."""
    node = case.tree
    if not isinstance(node, exp.Select):
        return 1
    shown: dict[Column, set[str]] = {}
    for one in (one.unalias() for one in node.expressions):
        column = case.names.column(one)
        if isinstance(one, exp.Column) and column is not None:
            shown.setdefault(column, set()).add(fold(one.table))
    return max((len(sources) for sources in shown.values()), default=1)


def extremes(case: Case) -> Iterator[str]:
    """Only the first rows, or the first of each group, are kept where the question says so."""
    nodes = (exp.Limit, exp.Fetch, exp.All, exp.Not, exp.Exists, exp.Order)
    if case.kind in ("top_n", "top_per_group") and not _is_lined_up(case):
        without = nodes[:-1] if case.kind == "top_per_group" else nodes
        windows = [one for one in case.tree.find_all(exp.Window) if not case.names.ranks(one)]
        ranked = any(case.names.ranks(one.other) for one in case.compared) or windows
        if (
            not ranked
            and case.tree.find(*without) is None
            and not case.called & {"min", "max"}
            and not _is_held_by_hand(case)
        ):
            yield "nothing in the query keeps the rows that the question asks for (ORDER BY ... LIMIT, RANK or MAX)"


def averages(case: Case) -> Iterator[str]:
    """What goes beyond the average is held against it."""
    if case.kind != "versus_average" and not case.says(_THAN_AVERAGE):
        return
    if "avg" not in case.called and case.tree.find(exp.Div) is None:
        yield "the average that the question speaks of is not in the query (AVG in a subquery)"
    if case.tree.find(exp.GT, exp.LT, exp.GTE, exp.LTE, exp.Sub) is None:
        yield "nothing is held against the average"


def shares(case: Case) -> Iterator[str]:
    """A share is one amount divided by another."""
    counted = any(link.kind == "number" for link in case.asked)
    divided = case.tree.find(exp.Div) is not None or "avg" in case.called
    if case.kind == "share" and case.says(_PERCENT) and not counted and not divided and not _is_scaled(case):
        yield "a share is one amount divided by another"


def wholes(case: Case) -> Iterator[str]:
    """A share is at most the whole."""
    result = case.result
    if result is None or case.kind != "share" or not case.says(_PERCENT) or not result.rows:
        return
    cells = [row[-1] for row in result.rows]
    if all(isinstance(cell, int | float) and cell > _HUNDRED + 1 for cell in cells) and case.tree.find(exp.Div):
        yield "the share comes out above 100 percent; divide the part by the whole"


def _is_scaled(case: Case) -> bool:
    """Whether an amount that is a fraction itself, as a discount of 0.25, is told in percent."""
    held = {one for one in case.columns & case.lexicon.amounts if is_fraction(case.lexicon, one)}
    hundreds = [node for node in case.tree.find_all(exp.Mul) if _HUNDRED in map(_size, (node.this, node.expression))]
    return bool(held) and bool(hundreds)


def _size(node: exp.Expr) -> Decimal | None:
    return number_in(node.name) if isinstance(node, exp.Literal) else None


def shared(case: Case) -> Iterator[str]:
    """What several rows have in common is found by counting them or by holding them against each other."""
    if case.kind not in ("having", "share") or case.says(_PERCENT) or not case.says(_SHARED) or _is_held_by_hand(case):
        return
    counts = any(case.names.counts(one.other) for one in case.compared)
    twice = any(len(set(read)) < len(read) for select in case.selects if (read := case.tables_of(select)))
    inner = case.tree.find(exp.Having, exp.Exists, exp.Window, exp.SetOperation, exp.In) is not None
    plain = all(len(case.sources(select)) == len(case.tables_of(select)) for select in case.selects)
    if plain and not counts and not twice and not inner:
        yield "nothing in the query keeps those that several rows share (HAVING COUNT(*) > 1)"


def units(case: Case) -> Iterator[str]:
    """`more than 200 units` are not as many rows."""
    for said in case.grounding.comparisons:
        link = next((one for one in case.asked if 0 <= one.start - said.end <= 1), None)
        number = number_in(said.number)
        measured = link is not None and link.quality == "exact" and link.role in ("amount", "measure")
        if link is None or not measured or number is None or number < _FEW:
            continue
        for one in case.compared:
            other = one.other
            while isinstance(other, exp.Paren):
                other = other.this
            if _number(one) == number and isinstance(other, exp.Anonymous) and name_of(other) == "count":
                yield f"{said.text!r} of the question is about {link.text!r}, not about the number of rows"


def _is_lined_up(case: Case) -> bool:
    """Whether the first and the last are only names, or an order of rows, all of which are kept."""
    text = _NAMES.sub(" ", case.question)
    names = text != case.question and not superlatives(text)
    found = {match[0].lower()[:3] for match in superlatives(text)}
    named = {word[:3] for column in case.columns for word in case.lexicon.column_words.get(column, ())}
    column = bool(found) and found <= {"min", "max"} & named
    return names or column or _LINED_UP.search(text) is not None


def _asks_for_several(case: Case) -> bool:
    """`our most expensive products`: several, how many is not said."""
    for match in superlatives(case.question):
        for link in case.asked:
            if link.kind == "table" and 0 < link.start - match.end() <= _NEAR and is_plural(link.text.casefold()):
                return case.question[match.end() : link.start].count(" ") > 1
    return False


def _is_held_by_hand(case: Case) -> bool:
    """Whether a query for each row says its place, as by a count of those beyond it."""
    return any(
        isinstance(side, exp.Subquery)
        for node in case.tree.find_all(exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
        for side in (node.this, node.expression)
    )


def _counts_those_before(case: Case) -> bool:
    """Whether each row is kept by how many rows go before it."""
    return any(
        isinstance(side, exp.Subquery)
        and isinstance(side.this, exp.Select)
        and case.names.counts(side.this.expressions[0])
        for node in case.tree.find_all(exp.LT, exp.LTE, exp.EQ, exp.GT, exp.GTE)
        for side in (node.this, node.expression)
    )


def _end(case: Case, said: Comparison, operator: str, number: Decimal) -> Iterator[str]:
    behind = case.question[said.end :]
    percent = behind.lstrip()[:7].lower().startswith(("%", "percent", "per cent"))
    sizes = {number, number / _HUNDRED} if percent else {number}
    if _WEEKS.match(behind):
        sizes.add(number * _DAYS)
    held = [one for one in case.compared if _number(one) is not None]
    same = [one for one in held if _number(one) in sizes]
    if any(one.operator in _signs(operator) for one in same):
        return
    step = _NEXT.get(operator)
    if step is not None:
        near = {size + step[1] for size in sizes if size == size.to_integral_value()}
        if any(_number(one) in near and one.operator in _signs(step[0]) for one in held):
            return
    if not same and sizes & (_numbers(case) | _shifts(case)):
        return
    if operator == "=" and any(_number(one) in sizes for one in held):
        return
    sign = "=" if operator == "=" else operator
    if same:
        yield f"{said.text!r} of the question means {sign} {number}, not {same[0].operator} {number}"
    else:
        yield f"{said.text!r} of the question is in no condition ({sign} {number})"


def _signs(operator: str) -> tuple[str, ...]:
    return (operator, _COMPLEMENT[operator])


def _number(one: Compared) -> Decimal | None:
    number = number_in(one.literal.name)
    return -number if number is not None and one.negative else number


def _numbers(case: Case) -> frozenset[Decimal]:
    found = (number_in(one.name) for one in case.literals if not isinstance(one.parent, exp.Limit | exp.Offset))
    return frozenset(number for number in found if number is not None)


def _shifts(case: Case) -> frozenset[Decimal]:
    """The numbers that dates are moved by, as in `date(OrderDate, '+14 days')`."""
    found = (_SHIFT.fullmatch(literal.name) for literal in case.literals if literal.is_string)
    return frozenset(Decimal(match[1]) for match in found if match is not None)


def _limits(case: Case) -> list[int]:
    return [number for node in case.tree.find_all(exp.Limit, exp.Fetch) if (number := _rows(node)) is not None]


def _rows(node: exp.Expr) -> int | None:
    held = node.args.get("expression") or node.args.get("count")
    return int(held.name) if isinstance(held, exp.Literal) and held.name.isdigit() else None


def _outer_limit(case: Case) -> int | None:
    node = case.tree
    while isinstance(node, exp.Subquery):
        node = node.this
    limit = node.args.get("limit")
    return _rows(limit) if limit is not None else None


def _is_said(case: Case, number: int) -> bool:
    return any(number_in(link.value or "") == number for link in case.grounding.links)


def _ranks(case: Case, one: Compared, wanted: int) -> bool:
    number = _number(one)
    return number is not None and abs(number - wanted) <= 1 and case.names.ranks(one.other)


def _keeps_few(case: Case) -> bool:
    """Whether only the first, or those that nothing goes beyond, are kept in any way."""
    if case.tree.find(exp.Limit, exp.Fetch, exp.All, exp.Window, exp.Not) is not None:
        return True
    if case.called & {"min", "max"} or case.grounding.offset is not None or _counts_those_before(case):
        return True
    return any(case.names.ranks(one.other) for one in case.compared)
