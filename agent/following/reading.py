"""How a follow-up is read, what a rule offers to make of it, and whether that holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from agent.attempt import Understood
from agent.database.result import Cell
from agent.following.phrases import TIMES, Phrase, phrases, signature
from agent.linked import Grounding, Link
from agent.nationalities import countries_of, is_country
from agent.periods import moments

Understand = Callable[[str], Understood]
Signature = tuple[str, str]
Places = frozenset[tuple[str, str]]
"""Tables and columns."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The last answer. `cut` means that there were more rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    cut: bool = False


@dataclass(frozen=True)
class Followup:
    """What was said after a question.

    `text` has single spaces and lacks opening and closing words; the rest tells which of these there were: `narrows`
    an `only`, `replaces` a `what about` or `instead`, `joined` an `and`. `beside` is the `or` or `and` with which
    something is to stand beside what stands there.
    """

    before: Understood
    text: str
    narrows: bool
    replaces: bool
    joined: bool
    understand: Understand
    answer: Shown | None = None
    beside: str = ""

    @cached_property
    def said(self) -> Grounding:
        return self.understand(self.text).grounding

    @cached_property
    def phrases(self) -> tuple[Phrase, ...]:
        return phrases(self.said)

    @property
    def question(self) -> str:
        """The whole question before."""
        return self.before.grounding.question

    @property
    def was(self) -> Grounding:
        """What the question before links to."""
        return self.before.grounding

    @property
    def kind(self) -> str:
        """The kind of answer that the question before asks for."""
        return self.before.intent.kind

    @cached_property
    def parts(self) -> tuple[Phrase, ...]:
        """The phrases of the question before."""
        return phrases(self.was)

    @cached_property
    def rest(self) -> str:
        """What is left of the text without its phrases."""
        text = self.text
        for one in reversed(self.phrases):
            text = f"{text[: one.start]} {text[one.end :]}"
        return " ".join(text.split())

    def of(self, before: Understood) -> Followup:
        """The same follow-up to another question."""
        return replace(self, before=before)


@dataclass(frozen=True, slots=True)
class Change:
    """A whole question that a rule offers, and what may differ in it from the question before.

    `gone` are links that were replaced, `said` signatures that must be there. `kinds` are kinds of answer allowed
    beside the one before. `free` names what else may change: `limit`, `direction`, `tables`, `negations`,
    `comparisons`, `words`. `columns` are pairs of a value and where it must stand. `denied` counts the negations that
    are new. With `unsaid` the literals of the follow-up need not be there as they are.
    """

    question: str
    gone: tuple[Link, ...] = ()
    said: frozenset[Signature] = frozenset()
    kinds: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    columns: tuple[tuple[Signature, Places], ...] = ()
    denied: int = 0
    unsaid: bool = False


ASKED = (
    r"(?:which|what|who|whom|whose|where|when|how (?:many|much|often|long)|is|are|was|were|do|does|did|has|have|can|"
    r"list|show|give|name|find|count|tell|compare|rank|display|get|return|calculate|compute)"
)
"""What a question of its own begins with."""

_THEM = r"(?:it|this|that|them|these|those)"
_OPENING = re.compile(
    r"(?:(?:and|so|then|now|ok|okay|well|also|please|hm+|right|no|nope|sorry|actually|great|thanks|thank you|alright|"
    r"cool|nice|good|perfect|yes|oh|ah|hi|hey)\b[,.!:;]? )*",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"(?:(?:what|how) about|what if (?:it (?:was|were)|we take)|i (?:mean|meant)|again|once more|instead|"
    r"(?:the |do (?:the )?)?same(?: (?:thing|question|again|one))?(?: but)?"
    r"(?= (?:for|in|with|from|but|of|per|by|only)\b)|"
    rf"(?:(?:can|could) you )?(?:show|give|make|do)(?: me)? (?:{_THEM}|the same)|"
    r"(?:show|give|list|find|get)(?: me)?(?= (?:only|just|the ones|those|except|everything (?:but|except))\b)|"
    rf"(?:let'?s )?(?:try|take|use|see)|(?:change|switch) (?:{_THEM} )?to)\b[,:]? ?",
    re.IGNORECASE,
)
_NARROWS = re.compile(
    rf"(?:but )?(?:only|just|solely|exclusively|(?:limit|restrict|narrow|filter|reduce)(?: {_THEM})?(?: down)?"
    rf"(?: (?:to|by|on|for))?|keep(?: only)?|leave only|"
    r"i(?:'m| am)? (?:only |just )?(?:care about|interested in|want|need)(?: to see)?|"
    rf"(?:of|among) {_THEM})\b,? ?",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"(?:(?P<or>or)(?: also)?|plus|together with|in addition to|as well as) ", re.IGNORECASE)
_BUT = re.compile(r"but ", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:[,;]? ?\b(?:instead|please|then|now|too|as well|this time|rather|thanks|thank you|though|again|"
    r"if possible)\b)*[\s?.!,;]*\Z",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"(?:exclude|excluding|leave out|leaving out|drop|skip|ignore|ignoring|remove|omit|take out|not counting|"
    r"not including|minus|no|without|other than|apart from|"
    r"(?:everything|anything|everyone|all|everybody) (?:but|except)) (?:the )?",
    re.IGNORECASE,
)
_CORRECTED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"not (?P<old>[^,;]+?) ?[,;] ?(?:but )?(?P<new>.+)",
        r"(?P<new>.+?) ?,? (?:and |but )?(?:not|instead of|rather than) (?P<old>.+)",
        r"(?:change|replace|swap|switch|exchange) (?P<old>.+?) (?:to|with|by|for|into) (?P<new>.+)",
    )
)
_MONTHS = (
    r"january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|"
    r"sept?|oct|nov|dec"
)
_NO_YEAR = r"(?!\.?,? (?:of |in )?\d)"
_PART_OF_YEAR = re.compile(
    rf"\b(?P<month>{_MONTHS})\b{_NO_YEAR}|\b(?P<part>q[1-4]|(?:the )?(?:first|second|third|fourth|last|"
    rf"[1-4](?:st|nd|rd|th)) (?:quarter|half))\b{_NO_YEAR}",
    re.IGNORECASE,
)
_KNOWN_WORDS = frozenset({"except", "excluding", "outside", "reverse"})
"""What rules themselves write and nothing links to."""


def read(previous: Understood, text: str, understand: Understand, answer: Shown | None) -> Followup | None:
    """Take off what only opens and closes, and spell out what is said in short; None where nothing is left."""
    text = " ".join(text.split())
    closing = _CLOSING.search(text)
    body = text[: closing.start()] if closing else text
    opened = _OPENING.match(body)
    opening = opened[0].casefold() if opened else ""
    text = body[len(opening) :]
    replaces = (
        re.search(r"\b(?:instead|rather)\b", body[len(text) :] + (closing[0] if closing else ""), re.I) is not None
    )
    replaces = replaces or re.search(r"\b(?:no|nope|sorry|actually)\b", opening) is not None
    narrows = False
    patterns = (_REPLACES, _NARROWS, _BUT, _OPENING)
    while found := next(((p, m) for p in patterns if (m := p.match(text)) and m.end() and text[m.end() :]), None):
        pattern, match = found
        text = text[match.end() :]
        replaces = replaces or pattern is _REPLACES
        narrows = narrows or pattern in (_NARROWS, _BUT)
    text = text.strip(" ,")
    beside = _BESIDE.match(text)
    text = text[beside.end() :] if beside else text
    if corrected := _corrected(text, previous, understand):
        text, replaces, narrows = corrected, True, False
    narrows = narrows or re.search(r"\b(?:of|among) (?:them|those|these)\b", text, re.IGNORECASE) is not None
    text = _with_year(_with_countries(text, understand), previous.grounding)
    if left_out := _LEFT_OUT.match(text):
        rest = understand(text[left_out.end() :]).grounding
        if rest.values or any(link.role == "condition" for link in rest.chosen):
            text = f"except {text[left_out.end() :]}"
    joined = re.search(r"\band\b", opening) is not None
    text = understand(text).grounding.question if text else text
    mistaken = any(k.quality == "typo" and is_country(k.text) for k in understand(text).grounding.values)
    if mistaken or not text:
        return None
    with_ = "" if beside is None else "or" if beside["or"] else "and"
    return Followup(previous, text, narrows, replaces, joined, understand, answer, with_)


def fits(change: Change, f: Followup) -> bool:
    """Whether the question offered links to what was named, and to all before that was not to change."""
    after = f.understand(change.question)
    was, now = f.was, after.grounding
    there = {signature(link) for link in now.links}
    replaced = [(link.start, link.end) for link in change.gone]
    kept = {
        signature(link)
        for link in was.chosen
        if not link.verb and not any(start <= link.start and link.end <= end for start, end in replaced)
    }
    if "tables" in change.free:
        kept = {one for one in kept if one[0] in {"time", "value", "number"}}
    needed = kept | change.said | (frozenset() if change.unsaid else literals(f.said))
    if not needed <= there or after.intent.kind not in {f.kind, *change.kinds}:
        return False
    known = {word.casefold() for word in (*was.leftover, *f.said.leftover)} | _KNOWN_WORDS
    same = {
        "words": all(word.casefold() in known for word in now.leftover),
        "limit": now.limit == was.limit,
        "direction": now.direction == was.direction,
        "negations": len(now.negations) == len(was.negations) + change.denied,
        "comparisons": len(now.comparisons) == len(was.comparisons),
        "tables": _stay(was, now, kept),
    }
    if not all(stays or aspect in change.free for aspect, stays in same.items()):
        return False
    places = {signature(link): (link.table or "", link.column or "") for link in now.values}
    return all(places.get(value) in columns for value, columns in change.columns)


def literals(grounding: Grounding) -> frozenset[Signature]:
    """The signatures of the stored values, times and numbers that a text names."""
    kinds = TIMES | {"number", "limit"}
    return frozenset(signature(k) for k in grounding.chosen if k.kind in kinds or (k.kind == "value" and k.table))


def _stay(was: Grounding, now: Grounding, kept: set[Signature]) -> bool:
    """Whether the values that stay are still those of the same columns."""
    places = {signature(link): (link.table, link.column) for link in now.values}
    return all(
        places.get(signature(link), (link.table, link.column)) == (link.table, link.column)
        for link in was.values
        if signature(link) in kept
    )


def _corrected(text: str, previous: Understood, understand: Understand) -> str:
    """What is to stand instead, where what stands now is named too: `not Germany, France`; else `""`."""
    there = {signature(link) for link in previous.grounding.links}
    for pattern in _CORRECTED:
        if match := pattern.fullmatch(text):
            old = understand(match["old"]).grounding.chosen
            said = re.search(rf"\b{re.escape(match['old'])}\b", previous.grounding.question, re.IGNORECASE)
            if said or (old and all(signature(link) in there for link in old)):
                return match["new"]
    return ""


def _with_countries(text: str, understand: Understand) -> str:
    """Write countries for words of their people, where a country of that name is stored: `the Swedes` → `Sweden`."""
    spans = [m.span() for m in re.finditer(r"[A-Za-z]+[ -][A-Za-z]+", text)]
    spans += [m.span() for m in re.finditer(r"[A-Za-z]+", text)]
    for start, end in sorted(spans, reverse=True):
        names = countries_of(text[start:end].replace("-", " "))
        if not names or _is_named(text[start:end], understand):
            continue
        found = (k.value for name in names for k in understand(name).grounding.values if k.value)
        stored = next((value for value in found if value.casefold() in names), None)
        if stored:
            before = re.sub(r"\bthe \Z", "", text[:start], flags=re.IGNORECASE)
            text = f"{before}{stored}{re.sub(r'^ ones?', '', text[end:])}"
    return text


def _is_named(word: str, understand: Understand) -> bool:
    """Whether a word is the name of something in the database, which then is meant."""
    links = understand(word).grounding.chosen
    return any(link.kind != "value" and link.quality == "exact" for link in links)


def _with_year(text: str, before: Grounding) -> str:
    """Give a month, quarter or half without a year that of the question before."""
    years = {link.value[:4] for link in before.chosen if link.kind in TIMES and link.value and len(link.value) > 2}
    if len(years) != 1 or any(moment.since for moment in moments(text)):
        return text
    year = next(iter(years))
    text = re.sub(r"(?:(?<=\A)|(?<= ))(?:'|\u2019)(\d\d)\Z", rf"{year[:2]}\1", text)
    if all(part.kind == "time" or part.kind == "value" for part in phrases(before)):
        text = re.sub(r"\A(?P<lead>(?:in|for|of|during) )(?P<year>\d\d)\Z", rf"\g<lead>{year[:2]}\g<year>", text)

    def dated(match: re.Match[str]) -> str:
        if match["part"]:
            return f"{match[0]}{' of' if ' ' in match[0] else ''} {year}"
        verb = match[0] in {"may", "mar", "march"} and len(text.split()) > 2
        return match[0] if verb else f"{match[0].capitalize()} {year}"

    return _PART_OF_YEAR.sub(dated, text)
