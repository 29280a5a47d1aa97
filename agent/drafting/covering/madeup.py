"""Whether a query holds literals that nothing in its question explains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from sqlglot import exp

from agent.drafting.covering.case import Case
from agent.drafting.literals import number_in
from agent.drafting.operands import Compared
from agent.wording import ALIASES, NUMBER_WORDS, fold, tokens

_HARMLESS = frozenset(map(Decimal, ("0", "1", "100", "0.5", "2")))
_SEVERAL = {"twice": 2, "double": 2, "both": 2, "pair": 2, "half": 2, "couple": 2, "several": 2, "dozen": 12, "all": 2}
_YEAR = re.compile(r"\d{4}|\b\d\ds?\b")
_SHORT = 2
_DAYS = Decimal(7)
_LETTERS = re.compile(r"[A-Za-z]")


def made_up(case: Case) -> Iterator[str]:
    """Every literal that something is held against comes from the question or the glossary, or is harmless."""
    for one in case.compared:
        if case.names.date_part(one.other) is not None:
            within = one.node.find_ancestor(exp.If) is not None
            if one.literal.name and not within and not case.grounding.periods and not _YEAR.search(case.question):
                yield f"the question does not speak of the time {one.literal.name!r}"
            continue
        if case.names.ranks(one.other) or _in_glossary(case, one.literal):
            continue
        if _stands_for_a_value(case, one) or _stands_in(one.other, one.literal.name) or _is_reckoned(one.other):
            continue
        number = number_in(one.literal.name)
        if len(one.literal.name) > _SHORT and one.literal.name in case.question:
            continue
        if number is not None and (not one.literal.is_string or case.names.column(one.other) is None):
            if not _is_said_number(case, number):
                yield f"the question does not speak of {one.literal.name}{_where(one)}"
        elif not _is_said_text(case, one) and not _is_named_in_part(case, one):
            yield f"the question does not speak of {one.literal.name!r}{_where(one)}"


def _stands_for_a_value(case: Case, one: Compared) -> bool:
    """Whether a key may be that of the rows that a value of the question names, which the query does not write."""
    column = case.names.column(one.other)
    if column is None or not case.is_key(column):
        return False
    home = case.keyed(column)
    return any(
        link.kind == "value" and link.table == home and fold(link.value or "") not in case.texts
        for link in case.grounding.links
    )


def _stands_in(node: exp.Expr, text: str) -> bool:
    """Whether the other side may be that text by itself, as in COALESCE."""
    return any(inner.name == text for inner in node.find_all(exp.Literal))


def _is_reckoned(node: exp.Expr) -> bool:
    """Whether several columns make one number, whose size nobody says."""
    adds = node.find(exp.Add, exp.Sub, exp.Mul, exp.Div) is not None
    return adds and node.find(exp.Literal) is not None


def _where(one: Compared) -> str:
    text = one.node.sql()
    return f" ({text})" if len(text) <= 60 else ""


def _in_glossary(case: Case, literal: exp.Literal) -> bool:
    return re.search(rf"(?<![\w.']){re.escape(literal.sql())}(?![\w.'])", case.grounding.told) is not None


def _is_said_number(case: Case, number: Decimal) -> bool:
    size = abs(number)
    if size in _HARMLESS:
        return True
    said = {found for link in case.grounding.links if (found := number_in(link.value or "")) is not None}
    for one in case.grounding.comparisons:
        said |= {found for text in (one.number, one.high or "") if (found := number_in(text)) is not None}
    said |= {Decimal(day.year) for one in case.grounding.periods for day in (one.since, one.until) if day is not None}
    if case.grounding.offset is not None:
        said.add(Decimal(case.grounding.offset + 1))
    for token in tokens(case.question):
        if token.kind == "number":
            texts = (re.sub(r"[.,]", "", token.text), token.text.replace(",", "."))
            said |= {found for text in texts if (found := number_in(text)) is not None}
        word = NUMBER_WORDS.get(token.folded, _SEVERAL.get(token.folded))
        if word is not None:
            said.add(Decimal(word))
        elif token.stem == "week":
            said |= {number * _DAYS for number in said} | {_DAYS}
    near = {other + step for other in said for step in (0, 1, -1)}
    return size in near or size * 100 in said or any(size == other * 100 for other in said)


def _meant_values(case: Case) -> list[str]:
    """The values that the question links to, folded."""
    return [fold(link.value) for link in case.grounding.links if link.value]


def _is_said_text(case: Case, one: Compared) -> bool:
    text = fold(one.literal.name)
    core = text.strip("%*_?-: ")
    if not _LETTERS.search(core) and number_in(core) is None:
        return True
    if _in_question(case, core):
        return True
    if any(core == value or (core != text and core in value) for value in _meant_values(case)):
        return True
    valued = {token.stem for value in _meant_values(case) for token in tokens(value)}
    return core in fold(case.grounding.told) or {token.stem for token in tokens(core)} <= valued


def _is_named_in_part(case: Case, one: Compared) -> bool:
    column = case.names.column(one.other)
    return column is not None and case.is_named_in_part(column, one.literal.name)


def _in_question(case: Case, text: str) -> bool:
    question, wanted = fold(case.question), fold(text)
    if wanted in question or (len(wanted) > _SHORT and re.sub(r"\W", "", wanted) in re.sub(r"\W", "", question)):
        return True
    if any(re.search(rf"\b{re.escape(alias)}\b", question) for alias in ALIASES.get(wanted, ())):
        return True
    own = [token.stem for token in tokens(text)]
    return bool(own) and case.said.issuperset(own)
