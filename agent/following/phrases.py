"""What a question is made of: its phrases, its noun, what it measures, its groups and its superlative."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent.following.english import is_many, tidy
from agent.linked import Grounding, Link
from agent.wording import SUPERLATIVE

PhraseKind = Literal["value", "time", "compared", "number", "limit", "condition"]
TIMES = frozenset({"date", "month", "quarter", "half", "year"})
UNITS = r"(?:day|week|month|quarter|year)"

_NOT = r"(?:not|except|excluding|without|outside|other than|apart from|no)"
_LEAD = re.compile(
    rf"(?<!\w)(?P<lead>(?:(?:but|and|or) )?(?:{_NOT}(?: (?:of|for|in|from|the|those|ones))*|"
    r"(?:not )?(?:in|from|to|for|of|by|at|on|with|during|within|into|under|via|through|called|named|about))"
    r"(?: (?:the|our|a|an|all))?(?: (?:year|month))?) ?\Z",
    re.IGNORECASE,
)
_EXCLUDES = re.compile(rf"\b{_NOT}\b", re.IGNORECASE)
_JOINED = re.compile(r" ?(?:,|,? ?(?:and|or|&)) ?(?:(?:in|for|from|to) )?\Z", re.IGNORECASE)
_LEFT_BARE = re.compile(r"\b(?P<be>is|are|was|were)(?: (?:located|based|living|situated))?\Z", re.IGNORECASE)
_DANGLING = re.compile(
    r" (?:(?:that|which|who) (?:is|are|was|were)|located|based|living|situated|from|in|for|of|to)\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A literal of a question with the words that tie it in: `in 1997`, `from Germany and France`, `above 50`.

    `start` to `end` is all of it, `at` to `end` the literal alone, which is `text`. `lead` are the words before it.
    `links` are the chosen links inside, `columns` all tables and columns that a value may stand in.
    """

    kind: PhraseKind
    start: int
    at: int
    end: int
    lead: str
    text: str
    links: tuple[Link, ...]
    columns: frozenset[tuple[str, str]] = frozenset()

    @property
    def excludes(self) -> bool:
        """Whether it says what is to be left out."""
        return _EXCLUDES.search(self.lead) is not None

    @property
    def literals(self) -> frozenset[tuple[str, str]]:
        return frozenset(map(signature, self.links))


@dataclass(frozen=True, slots=True)
class Group:
    """Where a question says what it groups by. `link` is None for a unit of time."""

    start: int
    end: int
    link: Link | None

    def holds(self, link: Link) -> bool:
        return self.start <= link.start < self.end


@dataclass(frozen=True, slots=True)
class Extreme:
    """A superlative: `word` alone, or `most` and an `adjective`. `text` is all of it."""

    start: int
    end: int
    text: str
    word: str
    adjective: str


def signature(link: Link) -> tuple[str, str]:
    """What a link stands for, wherever it stands; a value or number is the same in every column."""
    if link.kind in TIMES:
        return "time", link.value or ""
    if link.kind in {"number", "limit"}:
        return "number", link.value or ""
    if link.kind == "value":
        return "value", (link.value or "").casefold()
    if is_noun(link):
        return "table", link.table or ""
    return ("term", link.value or "") if link.kind == "term" else ("column", (link.column or "").casefold())


def is_noun(link: Link) -> bool:
    """Whether a link names the rows of a table."""
    return link.kind == "table" or link.role == "entity"


def phrases(grounding: Grounding) -> tuple[Phrase, ...]:
    """Find the phrases of a question in reading order; a list of values of one column is one phrase."""
    chosen = grounding.chosen
    found: list[Phrase] = []
    for period in grounding.periods:
        inside = tuple(k for k in chosen if k.kind in TIMES and period.start <= k.start and k.end <= period.end)
        if inside:
            found.append(_tied(grounding, "time", period.start, period.end, inside))
    for comparison in grounding.comparisons:
        inside = tuple(k for k in chosen if k.kind == "number" and comparison.start <= k.start < comparison.end)
        if inside:
            start, end = comparison.start, max(comparison.end, *(k.end for k in inside))
            found.append(Phrase("compared", start, start, end, "", grounding.question[start:end], inside))
    for link in chosen:
        if any(one.start <= link.start < one.end for one in found):
            continue
        if link.kind == "value" and link.table:
            found.append(_tied(grounding, "value", link.start, link.end, (link,)))
        elif link.kind == "limit" or link.kind == "number":
            found.append(_tied(grounding, link.kind, link.start, link.end, (link,)))
        elif link.role == "condition":
            found.append(_tied(grounding, "condition", link.start, link.end, (link,)))
    return _joined(grounding.question, sorted(found, key=lambda one: (one.at, -one.end)))


def head(grounding: Grounding) -> Link | None:
    """The noun that is asked about: the first name of a table or of its rows."""
    return next((link for link in grounding.chosen if is_noun(link) and not link.verb), None)


def asked_for(grounding: Grounding) -> Link | None:
    """What rows are asked for: the name right behind `which`, a column too (`which city has …`); else the head."""
    opening = re.match(
        r"(?:which|what|the|top|list|show|give me)\b(?: [\w-]+){0,3}? ", grounding.question, re.IGNORECASE
    )
    first = next((k for k in grounding.chosen if k.kind in {"table", "column", "term"} and not k.verb), None)
    early = first is not None and opening is not None and len(grounding.question[: first.start].split()) <= _EARLY
    return first if early else head(grounding)


_EARLY = 4
"""Words before a name that is asked for."""


def measures(grounding: Grounding) -> tuple[Link, ...]:
    """What is measured or read off: terms and columns, but for conditions, names of rows, and what it is grouped by."""
    group = group_of(grounding)
    return tuple(
        link
        for link in grounding.chosen
        if not (group is not None and group.holds(link))
        and (
            (link.kind == "term" and link.role not in {"entity", "condition"})
            or (link.kind == "column" and (link.quality == "exact" or link.role == "amount"))
        )
    )


_AGGREGATES = {
    "total": r"total|overall|combined|sum(?: of)?",
    "average": r"average|mean|avg|typical",
    "highest": r"highest|maximum|largest|max|biggest",
    "lowest": r"lowest|minimum|smallest|min",
    "median": r"median",
}
AGGREGATE = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _AGGREGATES.items())
"""A pattern of the words for what many values are made into; the group that matched names it."""

_GROUPED = re.compile(
    r"\b(?:per|by|(?:for|in|of|from) (?:each|every)|each|every|broken down by|grouped by|split (?:up )?by|across) "
    r"(?:the |calendar )?(?P<what>\w+)",
    re.IGNORECASE,
)


_OFTEN = {"day": "daily", "week": "weekly", "month": "monthly", "quarter": "quarterly", "year": "yearly"}
_HOW_OFTEN = re.compile(r"\b(?:daily|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b", re.IGNORECASE)


def often(unit: str) -> str:
    """How often something is that is once in a unit of time.

    >>> often("month")
    'monthly'
    """
    return _OFTEN[unit]


def unit_of(word: str) -> str:
    """The unit of time of `monthly`, or `""`.

    >>> unit_of("Monthly"), unit_of("annual"), unit_of("rarely")
    ('month', 'year', '')
    """
    folded = word.casefold()
    found = (unit for unit, how in _OFTEN.items() if how == folded)
    return "year" if folded.startswith("annual") else next(found, "")


def pace_of(grounding: Grounding) -> Group | None:
    """Where a question says how often: the `monthly` of `monthly revenue`."""
    match = _HOW_OFTEN.search(grounding.question)
    return None if match is None else Group(match.start(), match.end(), None)


def group_of(grounding: Grounding) -> Group | None:
    """Where a question says what it groups by."""
    for match in _GROUPED.finditer(grounding.question):
        at = match.start("what")
        link = next((k for k in grounding.chosen if k.start == at and k.kind in {"table", "column", "term"}), None)
        if link is not None:
            return Group(match.start(), link.end, link)
        if re.fullmatch(rf"{UNITS}s?", match["what"], re.IGNORECASE):
            return Group(match.start(), match.end(), None)
    return None


def extreme_of(grounding: Grounding) -> Extreme | None:
    """The superlative of a question."""
    text = grounding.question
    for match in re.finditer(rf"\b{SUPERLATIVE}\b", text, re.IGNORECASE):
        if any(k.start <= match.start() < k.end and k.kind != "limit" for k in grounding.chosen):
            continue
        adjective, end = "", match.end()
        if match[0].casefold() in {"most", "least"}:
            then = re.match(r" (?P<word>[a-z]+(?:ive|ed|ar|ent|ant|ful|ous|able|ly|al|ing|ic|y))\b", text[end:])
            if then and not any(k.start == end + 1 for k in grounding.chosen):
                adjective, end = then["word"], end + then.end()
        return Extreme(match.start(), end, text[match.start() : end], match[0], adjective)
    return None


def without(text: str, phrase: Phrase) -> str:
    """The question without a phrase, and what then hangs loose made whole: `… are in Germany?` → `… are there?`

    >>> without("How many customers are in Germany?", Phrase("value", 23, 26, 33, "in", "Germany", ()))
    'How many customers are there?'
    """
    before, after = text[: phrase.start].rstrip(" ,"), text[phrase.end :]
    before = re.sub(r" (?:and|or|but)\Z", "", before)
    if not after.strip(" ?.!"):
        bare = _LEFT_BARE.search(before)
        before = f"{before[: bare.start()]}{bare['be']} there" if bare else _DANGLING.sub("", before)
    return tidy(f"{before} {after}")


def _tied(grounding: Grounding, kind: PhraseKind, at: int, end: int, links: tuple[Link, ...]) -> Phrase:
    """A literal with its quotation marks, and the words before it: `of the supplier Tokyo Traders`."""
    text, columns = grounding.question, frozenset[tuple[str, str]]()
    if kind == "value":
        same = (k for k in grounding.links if k.kind == "value" and (k.start, k.end) == (at, end))
        columns = frozenset((k.table or "", k.column or "") for k in same)
    if (
        at
        and text[at - 1 : at] in {"'", '"', "\u2018", "\u201c"}
        and text[end : end + 1] in {"'", '"', "\u2019", "\u201d"}
    ):
        at, end = at - 1, end + 1
    named = next((k for k in grounding.chosen if k.end == at - 1 and k.kind in {"table", "column", "term"}), None)
    before = named.start if named is not None and not named.verb and not is_many(named.text) else at
    match = _LEAD.search(text[:before]) or _LEAD.search(text[:at])
    start = match.start("lead") if match else at
    return Phrase(kind, start, at, end, text[start:at].strip(), text[at:end], links, columns)


def _joined(text: str, found: Sequence[Phrase]) -> tuple[Phrase, ...]:
    """Join neighbours that are one list or one name: `Germany and France`, `1996 or 1997`, `Nancy Davolio`."""
    joined: list[Phrase] = []
    for one in found:
        last = joined[-1] if joined else None
        if last is not None and last.kind == one.kind and one.kind in {"value", "time"} and last.end <= one.at:
            name = one.at == last.end + 1 and _is_one_name(last.links[-1], one.links[0])
            shared = last.columns | one.columns if name else last.columns & one.columns
            listed = (
                (one.kind == "time" or bool(shared)) and not one.excludes and _JOINED.match(text[last.end : one.at])
            )
            if name or listed:
                links = (*last.links, *one.links)
                joined[-1] = replace(last, end=one.end, text=text[last.at : one.end], links=links, columns=shared)
                continue
        if last is None or one.at >= last.end:
            joined.append(one)
    return tuple(joined)


def _is_one_name(first: Link, then: Link) -> bool:
    """Whether two values side by side are the parts of one name."""
    return first.role == then.role == "name" and first.table == then.table and first.column != then.column
