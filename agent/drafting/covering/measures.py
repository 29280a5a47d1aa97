"""Whether a query measures what its question names, by its column or its formula, and counts what is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, factors, is_aggregate, name_of, own_columns
from agent.drafting.covering.values import WORDED
from agent.drafting.literals import Column
from agent.keys import qualified
from agent.linked import Link
from agent.wording import fold, is_plural, tokens

_MEDIAN = re.compile(r"\bmedian\b", re.IGNORECASE)
_AVERAGED = re.compile(r"\b(?:averages?|mean|avg)\b", re.IGNORECASE)
_TOTALLED = re.compile(r"\b(?:totals?|sum of|altogether|in all|combined)\b", re.IGNORECASE)
_CUT = re.compile(r"[,;:.]")
_COUNTING = r"(?:in )?how many|count|(?:the )?(?:total )?number of"
_WITHOUT = re.compile(
    r"\b(?:before|without|excluding|ignoring|disregarding|regardless of|not counting|leaving out|leaving aside|no)\s+"
    r"(?:(?:any|the|all|our)\s+)*(?P<what>[A-Za-z]+)",
    re.IGNORECASE,
)
_TOO = re.compile(r"\s+(?:(?:are|is|be|being|to be)\s+)*(?:included|counted|as well|too|also)\b", re.IGNORECASE)
_PER_PIECE = re.compile(r"\b(?:per|each|a|an|single)\s+\Z", re.IGNORECASE)
_AVERAGE_OF = re.compile(
    r"\b(?:average|mean|avg)\s+(?:(?:[\w-]+\s+){0,4}?(?:of\s+(?:an?|one|each|every|a single)|per)\s+)?\Z", re.IGNORECASE
)
_TOLD = re.compile(r",\s*(?:that is|i\.e\.|meaning|in other words)(?!\w)", re.IGNORECASE)
_HOW_MANY = re.compile(r"\b(?:how many|number of)\s+(?:(?:different|distinct|of our|of the|of)\s+)*", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|early|earlier|negative|ahead)\b", re.IGNORECASE)
_FACTORS = 2


def measures(case: Case) -> Iterator[str]:
    """What is measured is what the question names: its column, its formula, a count, an average or a total."""
    links = [one for one in case.asked if not one.verb and one.quality == "exact" and not _CUT.search(one.text)]
    if case.says(WORDED):
        links = [one for one in links if not _is_pattern(case, one)]
    measured = [one for one in links if one.kind == "term" and one.role in ("measure", "aggregate")]
    if not any(_is_met(case, link) for link in measured):
        for link in measured[:1]:
            yield from _formula(case, link)
    for link in measured:
        if len(measured) == 1 and _is_met(case, link) and _is_made_otherwise(case, _expression(case, link)):
            yield f"{link.text!r} of the question is made otherwise ({_expression(case, link)})"
    for link in links:
        if link.role == "amount" or (link.kind == "term" and link.role == "column"):
            yield from _amount(case, link)
    for match in _WITHOUT.finditer(case.question):
        if _TOO.match(case.question, match.end()):
            continue
        stem = tokens(match["what"])[0].stem
        for column in sorted(case.columns & case.lexicon.amounts):
            if case.lexicon.column_words.get(column) == frozenset({stem}) and not _is_named(case, column, match.span()):
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


def _is_pattern(case: Case, link: Link) -> bool:
    """Whether the query looks for the very words of a link in a text: `whose title mentions Sales`."""
    return any(text.strip("%*_") == fold(link.text) for text in case.texts)


def _is_named(case: Case, column: Column, but: tuple[int, int]) -> bool:
    """Whether the question names a column elsewhere, so that it is not the column that is to be left out."""
    return any((one.table, one.column) == column for one in case.asked if not but[0] <= one.start < but[1])


def _expression(case: Case, link: Link) -> str:
    return next((one.expression or "" for one in case.grounding.terms if link.value in one.names), "")


def _is_met(case: Case, link: Link) -> bool:
    """Whether all columns of a formula are used, or what else its words may mean is."""
    columns = case.told(_expression(case, link))
    return not columns or all(map(case.uses, columns)) or _means_another(case, link)


def _formula(case: Case, link: Link) -> Iterator[str]:
    expression = _expression(case, link)
    missing = [column for column in case.told(expression) if not case.uses(column)]
    if not any(_is_left_out(case, column) for column in missing):
        yield f"{link.text!r} of the question is not computed ({expression})"


def _means_another(case: Case, link: Link) -> bool:
    """Whether a column or a table that the same words may mean is used."""
    return any(
        (one.kind == "table" and one.table in case.names.tables)
        or (one.kind == "column" and one.table and one.column and case.uses((one.table, one.column)))
        for one in case.stretches[link.start, link.end]
    )


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
    if any(said <= case.lexicon.column_words.get(other, frozenset()) for other in case.columns):
        return True
    return column not in case.lexicon.amounts and case.is_alike(column, said)


def _is_left_out(case: Case, column: Column) -> bool:
    """`before any discount`: the question says to do without."""
    own = case.lexicon.column_words.get(column, frozenset())
    return any(tokens(match["what"])[0].stem in own for match in _WITHOUT.finditer(case.question))


def _amount(case: Case, link: Link) -> Iterator[str]:
    """A column that the question names by its name, or by a word of the glossary, is used."""
    meant = [(one.table, one.column) for one in case.stretches[link.start, link.end] if one.table and one.column]
    if _PER_PIECE.search(case.question[: link.start]) and not is_plural(link.text.casefold()):
        return
    if _TOLD.search(case.question, link.end):
        return
    if not meant or _means_another(case, link) or any(case.uses(c) or _has_another(case, c, link) for c in meant):
        return
    if not any(_is_left_out(case, column) for column in meant):
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


def averaged(case: Case) -> Iterator[str]:
    """`the average value of an order` is that of orders, not of their lines: what is averaged is added up first."""
    tables = {table for link in case.asked if (table := _averaged_over(case, link)) is not None}
    for call in case.tree.find_all(exp.Anonymous) if tables else ():
        select = call.find_ancestor(exp.Select)
        if name_of(call) != "avg" or len(call.expressions) != 1 or select is None:
            continue
        columns = [case.names.column(one) for one in own_columns(call.expressions[0])]
        homes = {column[0] for column in columns if column is not None}
        groups = [case.names.column(one) for group in select.find_all(exp.Group) for one in group.expressions]
        apart = {case.keyed(column) for column in groups if column is not None}
        for table in sorted(tables - homes - apart) if homes and None not in columns else ():
            if all(table in case.reached([home]) for home in homes) and not case.names.counts(call.expressions[0]):
                yield f"{call.sql()} is the average of all rows of {sorted(homes)[0]}, not of {table}"
                return


def _averaged_over(case: Case, link: Link) -> str | None:
    """The table whose rows an average is taken of: `per order`, `of an order`, `the average order`."""
    if link.role == "aggregate":
        formula = case.formula(_expression(case, link))
        distinct = formula.find(exp.Distinct) if formula is not None else None
        keys = case.told(distinct.sql()) if distinct is not None else ()
        return case.keyed(keys[0]) if len(keys) == 1 else None
    if (link.kind != "table" and link.role != "entity") or link.verb or is_plural(link.text.casefold()):
        return None
    return link.table if _AVERAGE_OF.search(case.question[: link.start]) else None


def negative(case: Case) -> Iterator[str]:
    """Days between are not counted backwards."""
    result = case.result
    if result is None or case.kind != "duration" or case.says(_BEFORE) or len(result.columns) != 1:
        return
    cells = [row[0] for row in result.rows if isinstance(row[0], int | float)]
    if cells and all(cell < 0 for cell in cells):
        yield "the days come out below zero; take the earlier date from the later"


def middles(case: Case) -> Iterator[str]:
    """The median is the value in the middle, not the average of all."""
    if not case.says(_MEDIAN) or "avg" not in case.called:
        return
    placed = case.tree.find(exp.Window, exp.Limit, exp.Offset, exp.WithinGroup) is not None
    if not placed and not any(call.startswith(("median", "percentile", "quantile")) for call in case.called):
        yield "the median is the value in the middle, not the average (ORDER BY ... LIMIT 1 OFFSET ...)"
