"""Whether a query gives the kind of answer that is asked for: its order, its groups, its measure and its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, is_aggregate, name_of
from agent.drafting.literals import Column
from agent.keys import qualified
from agent.linked import Link
from agent.periods import grain_of
from agent.quantities import superlatives
from agent.wording import HIGHEST, LOWEST, tokens, words

_UNCLEAR = words("slowest fastest busiest nearest furthest first last quickest worst best longest shortest")
_AVERAGED = re.compile(r"\b(?:averages?|mean|avg)\b", re.IGNORECASE)
_TOTALLED = re.compile(r"\b(?:totals?|sum of|altogether|in all|combined)\b", re.IGNORECASE)
_COUNTING = r"(?:in )?how many|count|(?:the )?(?:total )?number of"
_WITHOUT = re.compile(
    r"\b(?:before|without|excluding|ignoring|disregarding)\s+(?:any\s+|the\s+)?(?P<what>[A-Za-z]+)", re.I
)
_APART = re.compile(
    r"\b(?:per|each|every|apiece|respectively|(?:dai|week|month|quarter|year)ly|annual|broken down|split|breakdown"
    r"|grouped|for all|across)\b",
    re.IGNORECASE,
)
_BY = r"(?<!ed )(?<!t )by (?:the )?<(?:tables?|column|part)>"
_HOW_MANY = re.compile(r"\b(?:how many|number of)\s+(?:(?:different|distinct|of our|of the|of)\s+)*", re.IGNORECASE)
_WHICH = re.compile(
    r"\A\W*(?:(?:for|in|of|to|from)\s+)?(?:which|what|list|show|name)\s+(?:me\s+)?(?:(?:all|our|the|of)\s+)*",
    re.IGNORECASE,
)
_CODED = re.compile(r"\b(?:ids?|codes?|numbers?|keys?)\b", re.IGNORECASE)
_YES_NO = r"is|are|was|were|do|does|did|has|have|had"
_BEFORE = re.compile(r"\b(?:before|early|earlier|negative|ahead)\b", re.IGNORECASE)
_SPLIT = re.compile(r"\b(?:per|(?<!ed )(?<!d )by|each|every)\s+(?:the\s+|our\s+)?(?:\w+\s+)?\Z", re.IGNORECASE)
_HIGH = "highest|largest|biggest|most|dearest|priciest|latest|longest|maximum|newest|youngest|heaviest"
_LOW = "lowest|smallest|fewest|cheapest|earliest|shortest|minimum|oldest|lightest|least"
_BOTH = re.compile(
    rf"\b(?:(?:{_LOW})\s+and\s+(?:the\s+)?(?:{_HIGH})|(?:{_HIGH})\s+and\s+(?:the\s+)?(?:{_LOW}))\b", re.IGNORECASE
)
_FACTORS = 2
_ADDING = frozenset({"sum", "total", "count", "avg"})
_UNITS = {
    "year": frozenset({"year", "year_month", "trunc_year", "trunc_quarter", "trunc_month", "day"}),
    "quarter": frozenset({"quarter", "trunc_quarter", "month", "year_month", "trunc_month"}),
    "month": frozenset({"month", "year_month", "trunc_month"}),
    "day": frozenset({"day"}),
}


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
    missing = [column for column in case.told(term.expression) if not _uses(case, column)]
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
            found.append(frozenset(_spelt(one) for one in _factors(node)))
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
    if meanings and not any(_uses(case, column) for column in meanings):
        name = qualified(link.table or "", link.column or "", case.lexicon.schema.dialect)
        yield f"{link.text!r} of the question is not used ({name})"


def _uses(case: Case, column: Column) -> bool:
    return column in case.columns or column[1].lower() in case.unread


def groups(case: Case) -> Iterator[str]:
    """One row per group where the question says so, and no column beside an aggregate that belongs to no group."""
    grouped = any(one.args.get("group") is not None for one in case.selects)
    parted = case.says(_APART) or case.reading.has(_BY) or case.kind == "over_time"
    if not grouped and parted and case.kind in ("by_group", "top_per_group", "over_time"):
        apart = case.tree.find(exp.Window, exp.Subquery, exp.SetOperation, exp.Exists, exp.CTE, exp.Case)
        if apart is None and case.called & (_ADDING | {"min", "max"}):
            yield "the question asks for each group, the query gives one row (GROUP BY)"
    unit = grain_of(case.question)
    if (
        case.tree.find(exp.Case) is None
        and unit in _UNITS
        and case.grounding.grouping
        and case.kind in ("over_time", "running", "by_group")
    ):
        parts = {
            found.part
            for node in case.tree.walk()
            if not isinstance(node, exp.Literal) and (found := case.names.date_part(node)) is not None
        }
        if not parts & _UNITS[unit] and not (unit == "year" and parts):
            yield f"the question goes by {unit} ({case.grounding.grouping})"
    for select in case.selects:
        yield from _bare_columns(case, select)


def _bare_columns(case: Case, select: exp.Select) -> Iterator[str]:
    """A column beside SUM, COUNT or AVG without GROUP BY is that of any row; beside one MIN or MAX it is its own."""
    if select.args.get("group") is not None:
        return
    made = [[node for node in case.own(select, [one]) if is_aggregate(node)] for one in select.expressions]
    calls = [call for found in made for call in found]
    if any(isinstance(call.parent, exp.Window) for call in calls):
        return
    adding = [call for call in calls if name_of(call) in _ADDING]
    if not adding and len({call.sql() for call in calls}) < 2:
        return
    for one, found in zip(select.expressions, made, strict=True):
        if not found and any(isinstance(node, exp.Column) for node in case.own(select, [one])):
            yield f"{one.unalias().sql()} stands beside an aggregate without GROUP BY"
            return


def shown(case: Case) -> Iterator[str]:
    """The answer has what is asked for: one number for how many, a name or a key for who and which."""
    first = case.answers[0] if case.answers else None
    if first is None:
        return
    plain = case.reading.starts(_COUNTING) and not case.says(_APART) and not case.reading.has(_BY)
    if case.kind == "count" and plain and first.args.get("group") is not None and len(case.answers) == 1:
        outer = case.tree if isinstance(case.tree, exp.Select) else None
        if outer is not None and case.result is not None and len(case.result.rows) > 1:
            yield "the question asks for one number, the query gives one row per group"


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


def truths(case: Case) -> Iterator[str]:
    """A question for yes or no is answered by one truth, not by rows or a number."""
    if case.kind != "exists" or not case.reading.starts(_YES_NO) or len(case.answers) != 1:
        return
    shown = case.answers[0].expressions
    if len(shown) == 1 and isinstance(shown[0].unalias(), exp.Column | exp.Star):
        yield "the question asks for yes or no (SELECT EXISTS (...))"
    elif len(shown) == 1 and is_aggregate(shown[0].unalias()) and name_of(shown[0].unalias()) == "count":
        yield "the question asks for yes or no, not how many (SELECT EXISTS (...))"
    elif len(shown) > 1:
        yield "the question asks for yes or no (SELECT EXISTS (...))"


def named(case: Case) -> Iterator[str]:
    """Rows that are asked for by `which` and `who` are shown by their name, not by their key."""
    match = _WHICH.search(case.question)
    if match is None or not case.answers:
        return
    link = next((one for one in case.asked if one.start >= match.end()), None)
    if link is None or case.question[match.end() : link.start].strip().count(" ") > 0 or link.table is None:
        return
    if (link.kind != "table" and link.role != "entity") or link.verb or _CODED.search(case.question):
        return
    keys = case.lexicon.primary_keys.get(link.table, ())
    naming = [column for column in case.lexicon.naming if column[0] == link.table and column[1] not in keys]
    if not naming:
        return
    for select in case.answers:
        columns = [case.names.column(one.unalias()) for one in select.expressions]
        if None in columns or not columns:
            return
        homes = {column[0] for column in columns if column is not None and not case.is_key(column)}
        told = {case.keyed(column) for column in columns if column is not None and case.is_key(column)}
        if link.table not in homes:
            names = " and ".join(qualified(*column, case.lexicon.schema.dialect) for column in sorted(naming))
            if link.table in told or not homes:
                yield f"{link.text!r} of the question are shown by their names ({names})"
            return


def negative(case: Case) -> Iterator[str]:
    """Days between are not counted backwards."""
    result = case.result
    if result is None or case.kind != "duration" or case.says(_BEFORE) or len(result.columns) != 1:
        return
    cells = [row[0] for row in result.rows if isinstance(row[0], int | float)]
    if cells and all(cell < 0 for cell in cells):
        yield "the days come out below zero; take the earlier date from the later"


def repeated(case: Case) -> Iterator[str]:
    """No column is shown twice under two names, and nothing is divided by itself."""
    for select in case.answers:
        seen: set[str] = set()
        for one in select.expressions:
            text = one.unalias().sql()
            if text in seen and any(map(is_aggregate, one.walk())):
                yield f"{text} is shown twice"
            seen.add(text)
    for node in case.tree.find_all(exp.Div):
        below = _factors(node.expression)
        above = _factors(node.this)
        if (
            len(below) == 1
            and any(is_aggregate(one) for one in below)
            and [one.sql() for one in above] == [below[0].sql()]
        ):
            yield f"{node.sql()} divides an amount by itself"


def _factors(node: exp.Expr) -> list[exp.Expr]:
    """What a product is made of, constants left out."""
    if isinstance(node, exp.Paren):
        return _factors(node.this)
    if isinstance(node, exp.Mul):
        return [*_factors(node.this), *_factors(node.expression)]
    return [] if isinstance(node, exp.Literal) else [node]


def split_by(case: Case) -> Iterator[str]:
    """What the groups are made by is used."""
    for link in case.asked:
        before = case.question[: link.start]
        if link.kind != "column" or link.quality != "exact" or link.verb or not _SPLIT.search(before):
            continue
        meanings = [(one.table, one.column) for one in case.stretches[link.start, link.end] if one.table and one.column]
        if meanings and not any(_uses(case, column) or case.is_alike(column) for column in meanings):
            name = qualified(link.table or "", link.column or "", case.lexicon.schema.dialect)
            yield f"{link.text!r} of the question is not used ({name})"


def both_ends(case: Case) -> Iterator[str]:
    """The lowest and the highest are both there where both are asked for."""
    if not case.says(_BOTH) or case.tree.find(exp.Limit, exp.Window, exp.SetOperation, exp.Subquery) is not None:
        return
    called = case.called & {"min", "max"}
    if len(called) == 1:
        yield f"the question asks for the {'highest' if called == {'min'} else 'lowest'} as well"


def empty(case: Case) -> Iterator[str]:
    """Something comes out. A weak sign: the right answer may be none."""
    result = case.result
    if result is None or case.kind in ("missing", "exists"):
        return
    if not result.rows:
        yield "no row comes out"
    elif len(result.rows) == 1 and all(cell is None for cell in result.rows[0]):
        yield "all that comes out is NULL"
