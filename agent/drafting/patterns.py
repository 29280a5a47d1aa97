"""What a question says of the letters of a text: that it starts with, ends in or has in it what stands there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from agent.drafting.literals import Column
from agent.linked import Grounding, Link
from agent.linking import Lexicon
from agent.wording import QUOTED

Side = Literal["start", "end", "within"]

_STARTS = r"(?:start|begin)(?:s|ning|ing)?\s+(?:with|in|by)|beginn(?:t|en)\s+mit"
_ENDS = r"(?:end|finish)(?:s|es|ing)?\s+(?:with|in|on)|end(?:et|en)\s+(?:mit|auf)"
_HOLDS = r"contain(?:s|ing)?|includ(?:e|es|ing)|mention(?:s|ing)?|enth(?:ä|ae)lt|enthalten"
_SAYS = re.compile(rf"\b(?:(?P<start>{_STARTS})|(?P<end>{_ENDS})|(?P<within>{_HOLDS}))\b", re.IGNORECASE)
_FILLER = (
    r"(?:(?:the|a|an|any|word|words|letters?|prefix|suffix|text|string|characters?|of|either|dem|der|das|wort)\s+)*"
)
_MARKS = tuple(QUOTED.groupindex)
_UNNAMED = re.sub(r"\?P<\w+>", "?:", QUOTED.pattern)
_TEXT = re.compile(
    rf"\s*{_FILLER}(?:{QUOTED.pattern}|(?P<bare>[^\s,;:?!()\"'.\u201e\u201c\u201d\u2018\u2019\u00ab\u00bb]+))",
    re.IGNORECASE,
)
_MORE = re.compile(rf"\s*(?:,\s*)?(?:\bor\b|\boder\b)\s+{_FILLER}{QUOTED.pattern}", re.IGNORECASE)
_IN_IT = re.compile(
    rf"{QUOTED.pattern}(?P<more>(?:\s*(?:,\s*or\b|,|\bor\b)\s*{_UNNAMED})*)"
    r"\s+(?:(?:anywhere|somewhere)\s+)?(?:in|within)\s+(?:the|its|their|his|her)\s+(?:\w+\s+){0,2}?(?P<column>\w+)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:full\s+)?names?\Z", re.IGNORECASE)
_KEY = re.compile(r"(?:codes?|ids?|keys?)\Z", re.IGNORECASE)
_LAST_WORD = re.compile(r"(\w+)\W*(?:(?:that|which|who|to|is|are|do|does)\W+)*\Z", re.IGNORECASE)
_TEXT_TYPE = re.compile(r"char|text|clob|string", re.IGNORECASE)
_LITTLE = re.compile(
    r"(?:the|an?|any|all|at|least|both|only|more|less|than|from|of|in|on|for|to|something|anything|nothing|several|"
    r"each|every|most|one|two|three|what|which|no|not)\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Texts one of which a column starts with, ends in or has within; `stretches` are the words that say so."""

    column: Column
    side: Side
    texts: tuple[str, ...]
    stretches: tuple[tuple[int, int], ...] = ()

    def likes(self) -> tuple[str, ...]:
        """What LIKE takes, one for each text.

        >>> Pattern(("Plants", "latin"), "start", ("Al",)).likes()
        ('Al%',)
        """
        before, after = ("" if self.side == "start" else "%"), ("" if self.side == "end" else "%")
        return tuple(f"{before}{text}{after}" for text in self.texts)


def patterns(
    grounding: Grounding, lexicon: Lexicon, *, called: Callable[[str], tuple[str, ...]]
) -> tuple[Pattern, ...]:
    """What a question says of the letters of columns, in reading order.

    `called` gives the columns by which the rows of a table are called. A pattern whose column no word tells is left
    out, and so is one of a column that holds no text.
    """
    found = []
    for side, at, end, members in _said(grounding):
        held = _column(grounding, lexicon, called, at, end)
        whole = all(text.strip() and not set(text) & {"%", "_"} for text, *_ in members)
        if held is None or not whole:
            continue
        column, stretch = held
        spans = tuple((start, stop) for _, start, stop in members)
        found.append(Pattern(column, side, tuple(text for text, *_ in members), (*spans, *stretch)))
    return tuple(found)


def _said(grounding: Grounding) -> Iterator[tuple[Side, int, int, list[tuple[str, int, int]]]]:
    """The side, where the words for the column end or, behind the texts, begin, and the texts with their places."""
    question = grounding.question
    for match in _SAYS.finditer(question):
        side: Side = "start" if match["start"] else "end" if match["end"] else "within"
        first = _TEXT.match(question, match.end())
        if first is None:
            continue
        if first["bare"] and not _may_stand(grounding, side, match.start(), first):
            continue
        members = [_member(first)]
        at = first.end()
        while not first["bare"] and (more := _MORE.match(question, at)):
            members.append(_member(more))
            at = more.end()
        yield side, match.start(), -1, members
    for match in _IN_IT.finditer(question):
        if any(
            one.end() <= match.start() and not question[one.end() : match.start()].strip()
            for one in _SAYS.finditer(question)
        ):
            continue
        members = [_member(one) for one in QUOTED.finditer(question, match.start(), match.end("more"))]
        yield "within", match.start("column"), match.end("column"), members


def _member(found: re.Match[str]) -> tuple[str, int, int]:
    """The text of a match, which is that in quotation marks or the bare word, with its place."""
    name = next((mark for mark in _MARKS if found[mark] is not None), "bare")
    return found[name], found.start(name), found.end(name)


def _may_stand(grounding: Grounding, side: Side, at: int, text: re.Match[str]) -> bool:
    """Whether a word without quotes is a text: behind `within` only where a column or a name stands right before."""
    if _LITTLE.match(text["bare"]):
        return False
    start, stop = text.span("bare")
    if any(k.start < stop and start < k.end and k.kind not in ("value", "number") for k in grounding.chosen):
        return False
    if side != "within":
        return True
    return any(
        k.kind in ("column", "term") and k.column and not grounding.question[k.end : at].strip()
        for k in grounding.chosen
    )


def _column(
    grounding: Grounding, lexicon: Lexicon, called: Callable[[str], tuple[str, ...]], at: int, end: int
) -> tuple[Column, tuple[tuple[int, int], ...]] | None:
    """The column that the words before `at`, or those up to `end` if it is given, stand for; with their places."""
    question = grounding.question
    spot = (at, end)
    if end < 0:
        last = _LAST_WORD.search(question[:at])
        if last is None:
            return None
        spot = last.span(1)
    word = question[slice(*spot)]
    rows = [k for k in grounding.chosen if k.start < spot[1] and k.table and not k.verb]
    rows = [k for k in rows if k.kind == "table" or k.role == "entity"]
    linked = next((k for k in grounding.chosen if k.start < spot[1] and spot[0] < k.end and k.column), None)
    columns: tuple[str, ...] = ()
    table = rows[-1].table or "" if rows else ""
    if rows and _NAME.match(word):
        columns = called(table)
    elif linked is not None and linked.kind in ("column", "term") and linked.role != "entity":
        table, columns, spot = linked.table or "", (linked.column or "",), (linked.start, linked.end)
    elif rows and _KEY.match(word):
        columns = lexicon.primary_keys.get(table, ())
    elif rows and rows[-1].start <= spot[0] < rows[-1].end:
        columns, spot = called(table), (0, 0)
    if len(columns) != 1 or not _holds_text(table, columns[0], lexicon):
        return None
    return (table, columns[0]), (spot,)


def _holds_text(table: str, column: str, lexicon: Lexicon) -> bool:
    kinds = (c.type for t in lexicon.schema.tables if t.name == table for c in t.columns if c.name == column)
    dates = {(date.table, date.column) for date in lexicon.date_columns}
    return (table, column) not in dates and any(_TEXT_TYPE.search(kind) for kind in kinds)


def covered(link: Link, found: Iterable[Pattern]) -> bool:
    """Whether the words of a link say only what a pattern says."""
    return any(link.start < stop and start < link.end for one in found for start, stop in one.stretches)
