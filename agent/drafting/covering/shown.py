"""Whether the answer has the columns that its question asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, factors, is_aggregate, name_of
from agent.drafting.literals import Column
from agent.drafting.wishes import figures_asked
from agent.keys import qualified
from agent.wording import tokens

_COUNTING = r"(?:in )?how many|count|(?:the )?(?:total )?number of"
_APART = re.compile(
    r"\b(?:per|each|every|apiece|respectively|(?:dai|week|month|quarter|year)ly|annual|broken down|split|breakdown"
    r"|grouped|for all|across)\b",
    re.IGNORECASE,
)
_BY = r"(?<!ed )(?<!t )by (?:the )?<(?:tables?|column|part)>"
_WHICH = re.compile(
    r"\A\W*(?:(?:for|in|of|to|from)\s+)?(?:which|what|list|show|name)\s+(?:me\s+)?(?:(?:all|our|the|of)\s+)*",
    re.IGNORECASE,
)
_CODED = re.compile(r"\b(?:ids?|codes?|numbers?|keys?)\b", re.IGNORECASE)
_AND_MORE = re.compile(r"\b(?:and|how (?:many|much)\b.*how (?:many|much)|with|plus|of them|also)\b|,", re.IGNORECASE)
_YES_NO = r"is|are|was|were|do|does|did|has|have|had"
_FACTORS = 2
_WORDS = 3
_TAIL = re.compile(r"[?.:](?=[^?.:]*[?.:]?\s*\Z)\s*(?=\w)")
_SORTED = re.compile(r"\b(?:sort\w*|order(?:ed)? (?:by|of)|by|first|last|if|where|per)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\s*how (?:many|much)\b", re.IGNORECASE)
_LISTING = re.compile(
    r"\A(?:please\s+)?(?:i(?: would|'d)? (?:need|like|want)|(?:just\s+)?(?:show|give|list|include)(?: me)?|with)?\s*",
    re.IGNORECASE,
)
_PARTS = re.compile(r",|\band\b|&", re.IGNORECASE)
_NO_PART = re.compile(
    r"\b(?:first|last|once|only|please|sort\w*|order(?:ed)? by|alphabetical\w*|top|latest|newest|oldest|highest|lowest"
    r"|each|in|by|for|if|that|those|these|all|not|no|is|are|was|were|round\w*|divide|count\w*|column\w*|both|one|two)\b",
    re.IGNORECASE,
)
_AND_HOW = re.compile(
    r"\A\W*(?:in |for |to )?(?:which|who)\b.*\band\b.{0,12}\bhow (?:many|much)\b", re.IGNORECASE | re.DOTALL
)


def counts(case: Case) -> Iterator[str]:
    """The answer has what is asked for: one number for how many, a name or a key for who and which."""
    plain = case.reading.starts(_COUNTING) and not case.says(_APART) and not case.reading.has(_BY)
    if case.kind != "count" or not plain or len(case.answers) != 1:
        return
    first, rows = case.answers[0], len(case.result.rows) if case.result is not None else 0
    if first.args.get("group") is not None and isinstance(case.tree, exp.Select) and rows > 1:
        yield "the question asks for one number, the query gives one row per group"
    elif _is_list(case, first):
        yield "the question asks how many, the query lists them (COUNT)"
    elif _is_alone(case) and len(first.expressions) > 1:
        yield "the question asks for one number, the query shows more columns"


def _is_list(case: Case, select: exp.Select) -> bool:
    """Whether rows come out as they are stored, several of them or in several columns."""
    if any(is_aggregate(node) or isinstance(node, exp.Window) for one in select.expressions for node in one.walk()):
        return False
    result = case.result
    if result is None:
        return len(select.expressions) > 1
    return len(result.rows) > 1 or (bool(result.rows) and len(result.columns) > 1)


def _is_alone(case: Case) -> bool:
    """Whether nothing is asked besides a number."""
    return not case.says(_AND_MORE) and _TAIL.search(case.question) is None


def truths(case: Case) -> Iterator[str]:
    """A question for yes or no is answered by one truth, not by rows or a number."""
    if case.kind != "exists" or not case.reading.starts(_YES_NO) or len(case.answers) != 1 or _listing(case) > 1:
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


def listed(case: Case) -> Iterator[str]:
    """Each column that the question lists to be shown is shown."""
    match = _TAIL.search(case.question)
    if match is None or _SORTED.search(case.question[match.end() :]) or _HOW_MANY.match(case.question, match.end()):
        return
    shown: set[Column] = set()
    for select in case.answers[:1]:
        for one in select.expressions:
            if isinstance(one, exp.Star):
                return
            shown |= {c for node in one.find_all(exp.Column) if (c := case.names.column(node)) is not None}
            if any(case.names.column(node) is None for node in one.find_all(exp.Column)):
                return
    for link in case.asked:
        if link.start < match.end() or link.kind not in ("column",) or link.quality != "exact":
            continue
        meant = [(one.table, one.column) for one in case.stretches[link.start, link.end]]
        said = {token.stem for token in tokens(link.text)}
        if not set(meant) & shown and not any(said <= case.lexicon.column_words.get(c, frozenset()) for c in shown):
            yield f"{link.text!r} of the question is not shown"


def figures(case: Case) -> Iterator[str]:
    """Figures that the question names side by side are all made."""
    called = {"count" if name == "total" else name for name in case.called}
    made = called | ({"avg"} if case.tree.find(exp.Div) else set()) | ({"count"} if "sum" in called else set())
    if case.tree.find(exp.Limit, exp.Window) is not None:
        return
    for figure in figures_asked(case.grounding, case.lexicon):
        if figure.by.lower() not in made:
            yield f"{figure} is not in the query"
            return


def labelled(case: Case) -> Iterator[str]:
    """Groups are shown with what they are groups of, not by their amounts alone."""
    select = case.tree
    if not isinstance(select, exp.Select) or select.args.get("group") is None:
        return
    if case.result is None or len(case.result.rows) < _FACTORS:
        return
    if all(any(map(is_aggregate, case.own(select, [one]))) for one in select.expressions):
        group = ", ".join(one.sql() for one in select.args["group"].expressions)
        yield f"each row needs what it stands for ({group})"


def numerous(case: Case) -> Iterator[str]:
    """As many columns are shown as the question lists, or more."""
    shown = min((len(select.expressions) for select in case.answers), default=0)
    if any(isinstance(node, exp.Star) for select in case.answers for node in select.expressions):
        return
    wanted = max(2 if case.says(_AND_HOW) else 0, _listing(case))
    listed, things = _listing(case), max((_things(case, select) for select in case.answers), default=0)
    if 0 < listed < things and not case.says(_APART) and not case.reading.has(_BY):
        yield f"the question asks for {listed} columns, the query shows {things}"
    if 0 < shown < wanted:
        columns = "column" if shown == 1 else "columns"
        yield f"the question asks for {wanted} columns or more, the query shows {shown} {columns}"


def _listing(case: Case) -> int:
    """How many columns a last sentence of the question lists (`Name, city and phone.`); 0 where it lists none."""
    match = _TAIL.search(case.question)
    if match is None:
        return 0
    text = _LISTING.sub("", case.question[match.end() :])
    parts = [part.strip(" .?!") for part in _PARTS.split(text)]
    plain = all(part and len(part.split()) <= _WORDS and not _NO_PART.search(part) for part in parts)
    return len(parts) if plain and len(parts) > 1 else 0


def _things(case: Case, select: exp.Select) -> int:
    """How many columns are shown, those that name one row together counted as one."""
    columns = [case.names.column(one.unalias()) for one in select.expressions]
    sources = [one.unalias().table if isinstance(one.unalias(), exp.Column) else "" for one in select.expressions]
    named = {(c[0], s) for c, s in zip(columns, sources, strict=True) if c is not None and c in case.lexicon.naming}
    plain = sum(1 for column in columns if column is None or column not in case.lexicon.naming)
    return plain + len(named)


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
        below = factors(node.expression)
        above = factors(node.this)
        if (
            len(below) == 1
            and any(is_aggregate(one) for one in below)
            and [one.sql() for one in above] == [below[0].sql()]
        ):
            yield f"{node.sql()} divides an amount by itself"


def empty(case: Case) -> Iterator[str]:
    """Something comes out. A weak sign: the right answer may be none."""
    result = case.result
    if result is None or case.kind in ("missing", "exists"):
        return
    if not result.rows:
        yield "no row comes out"
    elif len(result.rows) == 1 and all(cell is None for cell in result.rows[0]):
        yield "all that comes out is NULL"
