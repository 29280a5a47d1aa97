"""Whether a query measures what its question names, by its column or its formula, and counts what is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, factors, is_aggregate, name_of
from agent.drafting.literals import Column
from agent.keys import qualified
from agent.linked import Link
from agent.wording import tokens

_AVERAGED = re.compile(r"\b(?:averages?|mean|avg)\b", re.IGNORECASE)
_TOTALLED = re.compile(r"\b(?:totals?|sum of|altogether|in all|combined)\b", re.IGNORECASE)
_COUNTING = r"(?:in )?how many|count|(?:the )?(?:total )?number of"
_WITHOUT = re.compile(
    r"\b(?:before|without|excluding|ignoring|disregarding)\s+(?:any\s+|the\s+)?(?P<what>[A-Za-z]+)", re.I
)
_HOW_MANY = re.compile(r"\b(?:how many|number of)\s+(?:(?:different|distinct|of our|of the|of)\s+)*", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|early|earlier|negative|ahead)\b", re.IGNORECASE)
_FACTORS = 2


def measures(case: Case) -> Iterator[str]:
    """What is measured is what the question names: its column, its formula, a count, an average or a total."""
    for link in case.asked:
        if link.verb or link.quality == "typo" or re.search(r"[,;:.]", link.text):
            continue
        if link.kind == "term" and link.role in ("measure", "aggregate", "column", "amount"):
            yield from _formula(case, link)
        elif link.kind == "column" and link.role == "amount" and link.quality == "exact":
            yield from _amount(case, link)
    for match in _WITHOUT.finditer(case.question):
        stem = tokens(match["what"])[0].stem
        for column in sorted(case.columns & case.lexicon.amounts):
            if case.lexicon.column_words.get(column) == frozenset({stem}):
                yield f"{match[0]!r} says to leave {qualified(*column, case.lexicon.schema.dialect)} out"
    called = case.called
    if (
        case.kind == "count"
        and case.reading.starts(_COUNTING)
        and "count" not in called
        and not called & {"sum", "total"}
    ):
        yield "the question asks how many there are (COUNT)"
    if case.says(_AVERAGED) and "avg" not in called and not case.tree.find(exp.Div):
        yield "the question asks for an average (AVG)"
    if case.kind == "sum" and case.says(_TOTALLED) and not called & {"sum", "total", "count"}:
        yield "the question asks for a total (SUM)"


def _formula(case: Case, link: Link) -> Iterator[str]:
    term = next((one for one in case.grounding.terms if link.value in one.names), None)
    if term is None or not term.expression:
        return
    missing = [column for column in case.told(term.expression) if not case.uses(column)]
    if missing and link.role in ("column", "amount") and _has_another(case, missing[0], link):
        return
    if not missing and link.role in ("measure", "aggregate") and _is_made_otherwise(case, term.expression):
        yield f"{link.text!r} of the question is made otherwise ({term.expression})"
    if missing and not any(_is_left_out(case, column) for column in missing):
        yield f"{link.text!r} of the question is not computed ({term.expression})"


def _is_made_otherwise(case: Case, expression: str) -> bool:
    """Whether no product of the query is that of a formula, though one multiplies the same columns."""
    measures = [one for one in case.asked if one.kind == "term" and one.role in ("measure", "aggregate", "amount")]
    apart = any(one.this.find(exp.Column) and one.expression.find(exp.Column) for one in case.tree.find_all(exp.Sub))
    wanted = _products(case.formula(expression))
    if len({one.value for one in measures}) > 1 or apart or len(wanted) != 1 or len(wanted[0]) < _FACTORS:
        return False
    found = _products(case.tree)
    alike = [one for one in found if _named(one) == _named(wanted[0])]
    return bool(alike) and wanted[0] not in found


def _products(tree: exp.Expr | None) -> list[frozenset[str]]:
    """The factors of each product, the tables of their columns left out."""
    found = []
    for node in tree.find_all(exp.Mul) if tree is not None else ():
        around = node.parent
        while isinstance(around, exp.Paren):
            around = around.parent
        if not isinstance(around, exp.Mul):
            found.append(frozenset(_spelt(one) for one in factors(node)))
    return found


def _spelt(node: exp.Expr) -> str:
    bare = node.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    return bare.sql().lower().replace("1.0", "1")


def _named(factors: frozenset[str]) -> frozenset[str]:
    return frozenset(name for one in factors for name in re.findall(r"[^\W\d]\w*", one))


def _has_another(case: Case, column: Column, link: Link) -> bool:
    """Whether a column of the same name in another table is used, or of an amount no, of much the same name."""
    if any(other[1] == column[1] for other in case.columns):
        return True
    said = frozenset(token.stem for token in tokens(link.text))
    return column not in case.lexicon.amounts and case.is_alike(column, said)


def _is_left_out(case: Case, column: Column) -> bool:
    """`before any discount`: the question says to do without."""
    own = case.lexicon.column_words.get(column, frozenset())
    return any(tokens(match["what"])[0].stem in own for match in _WITHOUT.finditer(case.question))


def _amount(case: Case, link: Link) -> Iterator[str]:
    meanings = [(one.table, one.column) for one in case.stretches[link.start, link.end] if one.table and one.column]
    if meanings and not any(case.uses(column) for column in meanings):
        name = qualified(link.table or "", link.column or "", case.lexicon.schema.dialect)
        yield f"{link.text!r} of the question is not used ({name})"


def counted(case: Case) -> Iterator[str]:
    """What is counted are the rows that are asked for."""
    match = _HOW_MANY.search(case.question)
    if match is None or case.kind != "count":
        return
    link = next((one for one in case.asked if one.start == match.end()), None)
    if link is None or link.verb:
        return
    meant = {one.table for one in case.stretches[link.start, link.end] if one.kind == "table" or one.role == "entity"}
    if len(meant) != 1 or None in meant:
        return
    for select in case.answers:
        for one in select.expressions:
            for call in case.own(select, [one]):
                if not is_aggregate(call) or name_of(call) != "count" or not call.expressions:
                    continue
                given = call.expressions[0]
                if isinstance(given, exp.Distinct) and len(given.expressions) == 1:
                    column = case.names.column(given.expressions[0])
                    table = case.keyed(column) if column is not None else None
                    if table is not None and table not in meant:
                        yield f"{call.sql()} counts {table}, the question asks for {link.text!r}"


def negative(case: Case) -> Iterator[str]:
    """Days between are not counted backwards."""
    result = case.result
    if result is None or case.kind != "duration" or case.says(_BEFORE) or len(result.columns) != 1:
        return
    cells = [row[0] for row in result.rows if isinstance(row[0], int | float)]
    if cells and all(cell < 0 for cell in cells):
        yield "the days come out below zero; take the earlier date from the later"
