"""Whether the stored values and conditions of a question are in a query, and whether the query makes any up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from sqlglot import exp

from agent.drafting.covering.case import Case, is_denied, known_values, range_of
from agent.drafting.literals import Column, number_in
from agent.drafting.operands import Compared
from agent.keys import qualified
from agent.linked import Link
from agent.quantities import is_excluded
from agent.wording import fold

WORDED = re.compile(
    r"\b(?:(?:starts?|starting|begins?|beginning) with|(?:ends?|ending) (?:in|with)|mention(?:s|ing)?"
    r"|contain(?:s|ing)? the (?:word|text)|the letters?|(?:first|last) name (?:is )?[A-Z]\w+)\b"
)
_TEXT_CALLS = frozenset({"substr", "substring", "instr", "left", "right", "strpos", "position", "glob", "like"})
_NOT = re.compile(r"(?:\bnot|n['\u2019]t|\bnever)\s+(?:an?\s+|the\s+)?\Z", re.IGNORECASE)
_ANY_BUT = re.compile(
    r"\b(?:any|every|no|all)\s?(?:where|one|body|thing)?\s(?:\w+\s)?but\s(?:(?:in|from|to|at|of|by)\s)?(?:the\s)?\Z",
    re.IGNORECASE,
)
_NEITHER = re.compile(
    r"\b(?:neither|nor)\s+(?:(?:\w+ed|live|come|sent|go)\s+)?(?:(?:in|from|to|at|of|by)\s+)?(?:the\s+)?\Z",
    re.IGNORECASE,
)
_OR = re.compile(r"\s*(?:,|,?\s*\b(?:or|nor)\b)\s*(?:(?:in|from|to|at|of)\s+)?(?:the\s+)?", re.IGNORECASE)
_BRACKETS = re.compile(r"[\s\w]{0,20}\((?P<inside>[^)]*)\)")
_SHORTEST_PART = 3
_PATTERNS = {"%": ".*", "_": ".", "*": ".*", "?": "."}


def values(case: Case) -> Iterator[str]:
    """Each stored value that the question links to is in the query, left out where the question says so."""
    for links in case.stretches.values():
        meant = [link for link in links if link.kind == "value" and link.value]
        if not meant or len(meant) < len(links) or _covered(case, links[0]):
            continue
        held = [one for link in meant for one in _holding(case, link)]
        first = meant[0]
        left_out = _is_left_out(case, first)
        if not any(_is_written(case, link) for link in meant):
            stands_in = _by_key(case, meant) or _by_name(case, meant) or _by_neighbour(case, meant)
            if not stands_in and not _is_explained(case, first):
                yield f"{first.text!r} of the question is in no condition{_wanted(case, first)}"
        elif left_out and (not case.denies or _keeps(case, held)):
            yield f"the question leaves {first.text!r} out, the query keeps it{_wanted(case, first)}"
        elif left_out or case.grounding.negations or not _plain(case):
            continue
        elif held and all(is_denied(one.node) for one in held):
            yield f"the query leaves {first.text!r} out, which the question does not say{_wanted(case, first)}"


def stored(case: Case) -> Iterator[str]:
    """A text is held against a column that holds it; else no row is ever found."""
    for one in case.compared:
        column = case.names.column(one.other)
        text = one.literal.name
        if column is None or not one.literal.is_string or one.operator not in ("=", "<>") or one.how == "like":
            continue
        if column in range_of(case.lexicon) and number_in(text) is None and text:
            yield f"no {qualified(*column, case.lexicon.schema.dialect)} is {text!r}: it holds numbers"
            continue
        known = _values_of(case).get(column)
        if known is None or fold(text) in known or not text or _is_quoted(case, text):
            continue
        homes = [
            qualified(*where, case.lexicon.schema.dialect)
            for where, there in _values_of(case).items()
            if fold(text) in there and where not in case.lexicon.foreign
        ]
        here = qualified(*column, case.lexicon.schema.dialect)
        told = f"; it is a value of {' and '.join(homes[:2])}" if homes else ""
        yield f"no {here} is {text!r}{told}"


def _is_quoted(case: Case, text: str) -> bool:
    """Whether the question writes a text in quotation marks that is stored nowhere."""
    return any(link.kind == "value" and link.table is None and link.value == text for link in case.grounding.links)


def patterns(case: Case) -> Iterator[str]:
    """A pattern fits something in the column that it is held against."""
    found: dict[Column, list[Compared]] = {}
    for one in case.compared:
        column = case.names.column(one.other)
        if one.how == "like" and column is not None and not is_denied(one.node):
            found.setdefault(column, []).append(one)
    for column, held in found.items():
        known = _values_of(case).get(column)
        texts = [fold(one.literal.name) for one in held]
        name = qualified(*column, case.lexicon.schema.dialect)
        if column in case.lexicon.amounts:
            yield f"{held[0].node.sql()} takes {name} for a text, which it is not"
        elif known is not None and not any(_matches(text, value) for text in texts for value in known):
            yield f"no {name} is like {held[0].literal.name!r}"


def wordings(case: Case) -> Iterator[str]:
    """What a text is said to begin with, end in or mention is held against one."""
    match = WORDED.search(case.question)
    if match is None or (case.texts and any(one.literal.is_string for one in case.compared)):
        return
    if not case.called & _TEXT_CALLS:
        yield f"{match[0]!r} of the question is in no condition (LIKE)"


def conditions(case: Case) -> Iterator[str]:
    """The columns of each condition that the glossary has for a word of the question are in the query."""
    for link in case.grounding.chosen:
        if link.kind != "term" or link.role != "condition" or case.reads_views:
            continue
        term = next((one for one in case.grounding.terms if link.value in one.names), None)
        if term is None or not term.expression:
            continue
        missing = [column for column in case.told(term.expression) if column not in case.columns]
        if missing and not all(column[1].lower() in case.unread or case.is_alike(column) for column in missing):
            yield f"{link.text!r} of the question is in no condition ({term.expression})"


def _covered(case: Case, link: Link) -> bool:
    """Whether a longer stretch that is no value says it already."""
    return any(
        start <= link.start and link.end <= end and (start, end) != (link.start, link.end)
        for start, end in case.stretches
    )


def _plain(case: Case) -> bool:
    return case.kind in ("list", "count", "sum", "average", "by_group", "top_n", "over_time")


def _is_written(case: Case, link: Link) -> bool:
    """Whether a value stands in the query, as it is, in a pattern that it fits, or in a part of it."""
    wanted = fold(link.value or "")
    for literal in case.literals:
        text = fold(literal.name)
        if text == wanted or text == fold(link.text):
            return True
        core = text.strip("%*_? ")
        if core == fold(link.text):
            return True
        if len(core) >= _SHORTEST_PART and core in wanted and (core != text or not _is_whole(case, literal)):
            return True
        if len(wanted) >= _SHORTEST_PART and wanted in text and not _is_whole(case, literal):
            return True
        if any(mark in text for mark in "%*_") and _matches(text, wanted):
            return True
    return False


def _is_whole(case: Case, literal: exp.Literal) -> bool:
    """Whether a literal must be all that a column holds."""
    return any(one.literal is literal and case.names.column(one.other) is not None for one in case.compared)


def _holding(case: Case, link: Link) -> list[Compared]:
    wanted = fold(link.value or "")
    return [one for one in case.compared if fold(one.literal.name) == wanted]


def _by_key(case: Case, links: list[Link]) -> bool:
    """Whether a key of the rows that the value names is held against something instead."""
    homes = {link.table for link in links}
    for one in case.compared:
        column = case.names.column(one.other)
        if column is not None and case.is_key(column) and case.keyed(column) in homes:
            return True
    return False


def _by_name(case: Case, links: list[Link]) -> bool:
    """Whether rows are named by a part of their name instead, as `cheese and other dairy` by 'Dairy Products'."""
    homes = {link.table for link in links if (link.table, link.column) not in case.lexicon.naming}
    return any(
        column in case.lexicon.naming and column[0] in homes and case.is_named_in_part(column, one.literal.name)
        for one in case.compared
        if (column := case.names.column(one.other)) is not None
    )


def _by_neighbour(case: Case, links: list[Link]) -> bool:
    """Whether a value of the same table beside it, as the last name beside the first, is in the query."""
    homes = {link.table for link in links}
    for others in case.stretches.values():
        between = case.question[min(others[0].end, links[0].end) : max(others[0].start, links[0].start)]
        if others[0].start == links[0].start or between.strip():
            continue
        if any(other.table in homes and other.kind == "value" and _is_written(case, other) for other in others):
            return True
    return False


def _is_left_out(case: Case, link: Link) -> bool:
    """`not in Germany`, `not crime`: rows of a value are not wanted."""
    before = case.question[: link.start]
    if is_excluded(case.question, link.start) or _NOT.search(before) or _ANY_BUT.search(before):
        return True
    if _NEITHER.search(before) is not None:
        return True
    beside = [one for one in case.grounding.chosen if one.kind == "value" and one.end < link.start]
    if not beside or _OR.fullmatch(case.question[beside[-1].end : link.start]) is None:
        return False
    return (beside[-1].table, beside[-1].column) == (link.table, link.column) and _is_left_out(case, beside[-1])


def _keeps(case: Case, held: list[Compared]) -> bool:
    """Whether a condition that every row must meet asks for a value that is held nowhere else."""
    whole = case.tree.args.get("where")
    return len(held) == 1 and whole is not None and not is_denied(held[0].node) and _is_needed(held[0].node, whole)


def _is_needed(node: exp.Expr, whole: exp.Expr) -> bool:
    """Whether nothing but AND stands between a condition and the WHERE that it is in."""
    here = node.parent
    while isinstance(here, exp.And | exp.Paren):
        here = here.parent
    return here is whole


def _is_explained(case: Case, link: Link) -> bool:
    """`surgery (kind S)`: what stands in brackets behind it is in the query instead."""
    match = _BRACKETS.match(case.question[link.end :])
    return match is not None and any(text and text in fold(match["inside"]) for text in case.texts)


def _wanted(case: Case, link: Link) -> str:
    if link.table is None or link.column is None:
        return ""
    sign = "<>" if _is_left_out(case, link) else "="
    name = qualified(link.table, link.column, case.lexicon.schema.dialect)
    value = (link.value or "").replace("'", "''")
    return f" ({name} {sign} '{value}')"


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("".join(_PATTERNS.get(letter, re.escape(letter)) for letter in text), re.DOTALL)


def _matches(pattern: str, text: str) -> bool:
    return _pattern(pattern).fullmatch(text) is not None


def _values_of(case: Case) -> dict[Column, frozenset[str]]:
    """The values of each column whose values are all known."""
    return known_values(case.lexicon)
