"""Follow-ups made whole: `and in 1998?` after a question becomes that question, asked of 1998. Pure.

Each rule says what the whole question may be; it counts only if it links to what the follow-up named and still to
everything that was not replaced. What no rule fits is None: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agent.attempt import Understood
from agent.database.result import Cell
from agent.linked import Grounding, Link
from agent.nationalities import adjective_of, countries_of
from agent.periods import moments
from agent.restating import (
    TIMES,
    Edit,
    Phrase,
    added,
    agreeing,
    closed,
    edited,
    head,
    measure,
    phrases,
    plural,
    same_word,
    signature,
    singular,
    sorting,
    tidy,
    without,
)
from agent.wording import NUMBER_WORDS, SUPERLATIVE, is_plural, name_tokens, words

__all__ = ["RULES", "Rewritten", "Rule", "Shown", "holds", "nudge", "rewrite"]

Understand = Callable[[str], Understood]


@dataclass(frozen=True, slots=True)
class Shown:
    """The last answer as the user saw it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A whole question, and the name of the rule that made it; `whole` where it was one already."""

    question: str
    rule: str


@dataclass(frozen=True)
class Followup:
    """What was said after a question. `text` is without opening and closing words; `narrows` and `replaces` tell which
    of these there were: `only …`, or `what about … instead`."""

    before: Understood
    text: str
    narrows: bool
    replaces: bool
    joined: bool
    understand: Understand
    answer: Shown | None = None

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

    @cached_property
    def parts(self) -> tuple[Phrase, ...]:
        """The phrases of the question before."""
        return phrases(self.before.grounding)

    @cached_property
    def rest(self) -> str:
        """What is left of the text without its phrases."""
        text = self.text
        for one in reversed(self.phrases):
            text = f"{text[: one.start]} {text[one.end :]}"
        return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Change:
    """A whole question that a rule offers, and what may differ in it from the question before.

    `gone` are links that were replaced, `said` signatures that must be there. `kinds` are kinds of answer allowed beside
    the one before. `free` names what else may change: `limit`, `direction`, `tables`, `negations`, `comparisons`, `words`.
    `columns`: the value of a signature must stand in one of these.
    """

    question: str
    gone: tuple[Link, ...] = ()
    said: frozenset[tuple[str, str]] = frozenset()
    kinds: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    columns: tuple[tuple[tuple[str, str], frozenset[tuple[str, str]]], ...] = ()
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of follow-up. The first that gives a question which holds wins, so order matters.

    `example` is a question, a follow-up, and the whole question that this rule makes of them.
    """

    name: str
    example: tuple[str, str, str]
    changes: Callable[[Followup], Iterator[Change]]


def rewrite(previous: Understood, text: str, understand: Understand, answer: Shown | None = None) -> Rewritten | None:
    """Make a whole question of a follow-up to `previous`, whose answer was `answer`.

    A whole question passes as it is. None when no rule gives a question that holds.
    """
    for reading in _readings(previous, text, understand, answer):
        for rule in RULES:
            for change in rule.changes(reading):
                if change.question == reading.question:
                    continue
                if rule.name == "whole":
                    return Rewritten(change.question, rule.name)
                if _fits(change, reading):
                    return Rewritten(change.question, rule.name)
    return _in_two_steps(previous, text, understand, answer)


def nudge(text: str, *, first: bool = False) -> str:
    """What to tell somebody whose words ask for nothing, or `""`.

    >>> nudge("thanks!")
    'You are welcome. Ask on, or end with /quit.'
    >>> nudge("and in 1998?")
    ''
    """
    plain = " ".join(re.sub(r"[^\w' ]+", " ", text.casefold().replace("\u2019", "'")).split())
    if not plain:
        return "Ask a question, or /help."
    if re.fullmatch(_THANKS, plain):
        return "You are welcome. Ask on, or end with /quit."
    if re.fullmatch(r"(?:hello|hi|hey|good (?:morning|afternoon|evening)|howdy)(?: there)?(?: how are you)?", plain):
        return "Hello. Ask something that the database knows, such as: how many … are there?"
    if re.fullmatch(r"(?:but )?(?:why|how come|how so|why (?:is|was) (?:that|it|this)(?: so)?|why not)", plain):
        return "HebbQL answers what is in the data, not why. Ask for the figures that may explain it."
    if re.fullmatch(r"(?:are you sure|really|is that (?:right|true|correct)|seriously)", plain):
        return "Read the SQL above; if it is wrong, say /bad, or give the right one: /sql SELECT …"
    if re.fullmatch(
        r"(?:no )?(?:that s|that's|thats|this is|it s|it's|that is) (?:wrong|not right|not true|incorrect|bad)|wrong",
        plain,
    ):
        return "Say /bad, or give the right query: /sql SELECT …"
    if re.fullmatch(r"(?:quit|exit|bye|goodbye|stop|end)", plain):
        return "End with /quit or Ctrl-D."
    if re.fullmatch(r"(?:help|what can (?:i|you) (?:ask|do)|\?)", plain):
        return "Ask a question, or /help for the commands."
    if re.fullmatch(rf"(?:{_TALK})(?: (?:{_TALK}))*", plain):
        return "Ask a question, or /help."
    return "" if not first else ""


def holds(before: Understood, said: Grounding, after: Understood) -> bool:
    """Whether a whole question that somebody else wrote has all that the follow-up named, and what it left alone.

    A literal before may be missing only if the follow-up names one of the same kind or column in its place.
    """
    there = {signature(link) for link in after.grounding.links}
    if after.grounding.nothing_linked or not _literals(said) <= there:
        return False
    named = {signature(k) for k in said.chosen if k.kind in {"table", "term", "column"} and not k.verb}
    if not named <= there:
        return False
    news = phrases(said)
    for part in phrases(before.grounding):
        replaced = any(_alike(part, one) for one in news)
        if not replaced and not part.literals <= there:
            return False
    olds = {signature(k) for k in before.grounding.chosen if k.kind in {"table", "term", "column"} and not k.verb}
    mine = {signature(k) for k in after.grounding.chosen if k.kind not in {"table", "term", "column"}}
    invented = mine - _literals(before.grounding) - _literals(said)
    return not invented and bool(olds & there or named)


def _fits(change: Change, reading: Followup) -> bool:
    before, after = reading.before, reading.understand(change.question)
    was, now = before.grounding, after.grounding
    there = {signature(link) for link in now.links}
    gone = {id(link) for link in change.gone}
    at_gone = [(k.start, k.end) for k in change.gone]
    kept = {
        signature(k)
        for k in was.chosen
        if id(k) not in gone and not any(a <= k.start and k.end <= b for a, b in at_gone) and not k.verb
    }
    if "tables" in change.free:
        kept = {one for one in kept if one[0] in {"time", "value", "number"}}
    if not kept <= there or not change.said <= there:
        return False
    if change.strict and not _literals(reading.said) <= there:
        return False
    if after.intent.kind != before.intent.kind and after.intent.kind not in change.kinds:
        return False
    if "words" not in change.free:
        known = {word.casefold() for word in (*was.leftover, *reading.said.leftover)}
        if any(word.casefold() not in known and not _EXCEPT.fullmatch(word) for word in now.leftover):
            return False
    if "limit" not in change.free and now.limit != was.limit:
        return False
    if "direction" not in change.free and now.direction != was.direction:
        return False
    if "negations" not in change.free and len(now.negations) != len(was.negations):
        return False
    if "comparisons" not in change.free and len(now.comparisons) != len(was.comparisons):
        return False
    chosen = {signature(k): (k.table or "", k.column or "") for k in now.values}
    before_values = {signature(k): (k.table or "", k.column or "") for k in was.values}
    if "tables" not in change.free and any(
        chosen[one] != place for one, place in before_values.items() if one in chosen and one in kept
    ):
        return False
    return all(chosen.get(one) in places for one, places in change.columns)


# How a follow-up is read

_OPENING = re.compile(
    r"(?:(?:and|so|then|now|ok|okay|well|also|please|hm+|right|no|nope|sorry|actually|great|thanks|thank you|alright|cool|"
    r"nice|good|perfect|yes|oh|ah|hi|hey)\b[,.!:;]?\s+)*",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"(?:what\s+about|how\s+about|what\s+if\s+(?:it\s+(?:was|were)|we\s+take)|(?:the\s+|do\s+(?:the\s+)?)?same(?:\s+(?:thing|question|again|one))?"
    r"(?:\s+but)?(?=\s+(?:for|in|with|from|but|of|per|by|only)\b)|i\s+(?:mean|meant)|(?:can|could)\s+you\s+(?:do|show)\s+(?:it|that|the\s+same)|"
    r"(?:make|do)\s+(?:it|that|this)|(?:let'?s\s+)?(?:try|take|use|see)|(?:show|give)(?:\s+me)?\s+(?:it|that|them|this)|again|once\s+more|"
    r"(?:change|switch)\s+(?:it\s+|that\s+)?to|instead)\b[,:]?\s*",
    re.IGNORECASE,
)
_NARROWS = re.compile(
    r"(?:but\s+)?(?:only|just|solely|exclusively|(?:limit|restrict|narrow|filter|reduce)(?:\s+(?:it|this|that|them|these|those))?"
    r"(?:\s+down)?(?:\s+(?:to|by|on|for))?|keep(?:\s+only)?|leave\s+only|of\s+(?:those|these|them)|among\s+(?:those|these|them))\b,?\s*",
    re.IGNORECASE,
)
_BUT = re.compile(r"but\s+", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:[,;]?\s*\b(?:instead|please|then|now|too|as\s+well|this\s+time|rather|thanks|thank\s+you|though|again|if\s+possible)\b)*[\s?.!,;]*\Z",
    re.IGNORECASE,
)
_THANKS = (
    r"(?:(?:ok|okay|great|good|cool|perfect|nice|super|very|and|that s|that's|thats|it s)\s)*(?:thanks?|thank you|thx|ty|cheers|much appreciated)"
    r"(?: (?:a lot|very much|so much|you|again|that(?: i|')?s all|for that|all|for now|great))*"
)
_TALK = (
    r"ok|okay|great|good|cool|perfect|nice|super|wow|yes|no|yeah|yep|nope|right|sure|hm+|oh|ah|fine|interesting|i see|got it|"
    r"understood|alright|well|so|and|but|lol|awesome|excellent|makes sense|good to know|that s (?:it|all|interesting)|that's (?:it|all|interesting)|please"
)
_EXCEPT = re.compile(r"(?:except|excluding|outside|reverse)", re.IGNORECASE)
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|"
    r"sept?|oct|nov|dec)"
)
_PART_OF_YEAR = re.compile(
    rf"\b(?P<month>{_MONTH}\b(?!\.?,?\s+(?:of\s+|in\s+)?\d))|\b(?P<quarter>q[1-4]|(?:the\s+)?(?:first|second|third|fourth|last|[1-4](?:st|nd|rd|th))"
    r"\s+(?:quarter|half))\b(?!\s+(?:of\s+|in\s+)?\d)",
    re.IGNORECASE,
)
_PLACES = words(
    "country city town region state nation land location place county district province village territory continent area "
    "harbour port station"
)
_FILLER = words(
    """and or but also now then ok please what about how same thing the those these this that ones one only just them they it
    its for in of me show give get list see do to from with who which where is are was were be been so a an too if we you
    i want would like located living based placed made happened all our my there their at on by year month day country
    city category limit restrict filter narrow down keep many much rather again question not except excluding without
    outside other than apart customers no more any ones' leave out drop without skip ignore exclude came come went lives live"""
) - {"customers", "no", "more"}
_SAME = frozenset({"in", "for", "of", "the", ""})
_ORDINALS = {
    word: place
    for place, pair in enumerate(
        (("first", "1st"), ("second", "2nd"), ("third", "3rd"), ("fourth", "4th"), ("fifth", "5th"))
    )
    for word in pair
}
_OPPOSITE = {
    "most": "least",
    "highest": "lowest",
    "largest": "smallest",
    "biggest": "smallest",
    "greatest": "smallest",
    "best": "worst",
    "top": "bottom",
    "latest": "earliest",
    "newest": "oldest",
    "youngest": "oldest",
    "longest": "shortest",
    "maximum": "minimum",
    "max": "min",
    "heaviest": "lightest",
    "strongest": "weakest",
    "fastest": "slowest",
    "richest": "poorest",
    "last": "first",
    "furthest": "nearest",
    "priciest": "cheapest",
    "costliest": "cheapest",
    "dearest": "cheapest",
    "busiest": "least busy",
    "recent": "oldest",
}
_OPPOSITE |= {low: high for high, low in reversed(tuple(_OPPOSITE.items()))} | {
    "fewest": "most",
    "cheapest": "most expensive",
    "oldest": "newest",
}
_COUNTED = re.compile(r"\s+(?:orders?|[a-z]+s)\b", re.IGNORECASE)
_AGGREGATES = {
    "total": r"(?:total|overall|combined|sum(?:\s+of)?)",
    "average": r"(?:average|mean|avg|typical)",
    "highest": r"(?:highest|maximum|largest|max|biggest)",
    "lowest": r"(?:lowest|minimum|smallest|min)",
    "median": r"median",
}
_AGGREGATE = re.compile(
    r"\b(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _AGGREGATES.items()) + r")\b", re.IGNORECASE
)
_SCALAR = frozenset({"count", "sum", "average", "share", "exists", "duration"})
_ASKED = (
    r"(?:which|what|who|whom|whose|where|when|how\s+(?:many|much|often|long)|is|are|was|were|do|does|did|has|have|can|list|show|give|name|find|"
    r"count|tell|compare|rank|display|get|return|calculate|compute)"
)
_BACK = re.compile(
    r"\b(?:instead|ones|them|those|these|they|their|theirs|its|it|his|her|him|he|she|same|that\s+one|this\s+one|the\s+(?:first|second|third|last)\s+one|"
    r"the\s+other|the\s+others|the\s+rest|too|as\s+well)\b",
    re.IGNORECASE,
)
_UNITS = r"(?:day|week|month|quarter|year)"
_GROUP = re.compile(
    r"\b(?P<how>per|by|(?:for|in|of|from)\s+(?:each|every)|each|every|broken\s+down\s+by|grouped\s+by|split\s+(?:up\s+)?by|"
    r"in\s+every|across)\s+(?:the\s+|calendar\s+)?(?P<what>[\w'-]+(?:\s+[\w'-]+){0,2})",
    re.IGNORECASE,
)


def _readings(previous: Understood, text: str, understand: Understand, answer: Shown | None) -> Iterator[Followup]:
    text = " ".join(text.split())
    body = text[: _CLOSING.search(text).start()] if _CLOSING.search(text) else text  # type: ignore[union-attr]
    closing = text[len(body) :].casefold()
    opened = _OPENING.match(body)
    start = opened.end() if opened else 0
    joined = bool(opened and re.search(r"\band\b", opened[0], re.IGNORECASE))
    replaces, narrows = "instead" in closing or "rather" in closing, False
    corrected = bool(opened and re.search(r"\b(?:no|nope|sorry|actually)\b", opened[0], re.IGNORECASE))
    replaces = replaces or corrected
    moved = True
    while moved:
        moved = False
        for pattern in (_REPLACES, _NARROWS, _BUT, _OPENING):
            match = pattern.match(body[start:])
            if match and match.end() and body[start + match.end() :].strip():
                start += match.end()
                moved = True
                replaces = replaces or pattern is _REPLACES
                narrows = narrows or pattern in (_NARROWS, _BUT)
    text = _with_year(_with_countries(body[start:].strip(" ,"), understand), previous.grounding)
    if text:
        yield Followup(previous, text, narrows, replaces, joined, understand, answer)


def _with_countries(text: str, understand: Understand) -> str:
    """Write countries for words of their people, where a country of that name is stored: `the Swedes` → `Sweden`."""
    for match in reversed(list(re.finditer(r"[A-Za-z]+(?:[ -][A-Za-z]+)?", text))):
        for word in (match, *re.finditer(r"[A-Za-z]+", match[0])):
            at = match.start() + (word.start() if word is not match else 0)
            spelt = word[0].replace("-", " ")
            names = countries_of(spelt)
            # Lower case is a verb or an adjective of something else as often as a people.
            if not names or any(k.kind != "value" for k in understand(spelt).grounding.chosen if k.quality == "exact"):
                continue
            stored = next((k.value for name in names for k in understand(name).grounding.values if k.value), None)
            if stored:
                end = at + len(word[0])
                ones = re.match(r"\s+ones?\b", text[end:])
                text = text[:at] + stored + text[end + (ones.end() if ones else 0) :]
                break
    return re.sub(r"\bthe\s+(?=[A-Z])", "", text) if re.fullmatch(r"(?:not\s+)?the\s+[A-Z]\w+", text) else text


def _with_year(text: str, before: Grounding) -> str:
    """Give a month, quarter or half without a year that of the question before."""
    years = {link.value[:4] for link in before.chosen if link.kind in TIMES and link.value and len(link.value) > 3}
    if len(years) != 1 or any(moment.since for moment in moments(text)):
        return text

    def dated(match: re.Match[str]) -> str:
        if (
            match["month"]
            and match["month"].casefold() in {"may", "mar"}
            and match["month"].islower()
            and match.start()
        ):
            return match[0]
        of = " of" if match["quarter"] and " " in match["quarter"] else ""
        name = match[0].capitalize() if match["month"] else match[0]
        return f"{name}{of} {next(iter(years))}"

    return _PART_OF_YEAR.sub(dated, text)


def _in_two_steps(previous: Understood, text: str, understand: Understand, answer: Shown | None) -> Rewritten | None:
    """`top 3 in Germany`: first what is no literal, then the literals."""
    for reading in _readings(previous, text, understand, answer):
        if not reading.phrases or not reading.rest:
            continue
        for one in reversed(reading.phrases):
            if one.kind in {"limit", "number", "compared"}:
                continue
            lone = reading.text[one.start : one.end]
            others = tidy(f"{reading.text[: one.start]} {reading.text[one.end :]}")
            if not others or len(others) >= len(reading.text):
                continue
            first = rewrite(previous, others, understand, answer)
            if first is None or first.rule == "whole":
                continue
            second = rewrite(understand(first.question), f"only {lone}", understand, None)
            if second is not None and second.rule == "literal":
                return Rewritten(second.question, first.rule)
    return None


def _literals(grounding: Grounding) -> frozenset[tuple[str, str]]:
    return frozenset(
        signature(k)
        for k in grounding.chosen
        if (k.kind == "value" and k.table) or k.kind in TIMES or k.kind in {"number", "limit"}
    )


def _only_filler(rest: str, reading: Followup) -> bool:
    subject = head(reading.before.grounding)
    for word in re.findall(r"[\w']+", rest):
        if word.casefold() in _FILLER or (subject is not None and same_word(word, subject.text)):
            continue
        return False
    return True


def _alike(part: Phrase, one: Phrase) -> bool:
    """Whether a phrase can stand in the place of another."""
    if one.excludes != part.excludes:
        return False
    if part.kind == "value" and one.kind == "value":
        return bool(part.columns & one.columns)
    if "time" in (part.kind, one.kind) or "value" in (part.kind, one.kind) or "condition" in (part.kind, one.kind):
        return part.kind == one.kind == "time"
    return True


# Literals: replaced where one of the kind stands, else added


def _literal(f: Followup) -> Iterator[Change]:
    if not f.phrases or not _only_filler(f.rest, f):
        return
    edits: list[Edit] = []
    late: list[str] = []
    gone: list[Link] = []
    columns: list[tuple[tuple[str, str], frozenset[tuple[str, str]]]] = []
    adds: list[Phrase] = []
    said: set[tuple[str, str]] = set()
    free: set[str] = set()
    for one in f.phrases:
        said |= one.literals if one.kind != "condition" else frozenset()
        slots = _slots(f, one)
        if len(slots) > 1:
            return
        if not slots:
            adds.append(one)
            continue
        slot = slots[0]
        gone += slot.links
        if one.kind == "time":
            new, tail = _time_in(slot, one, f)
            edits.append(new)
            late += [tail] if tail else []
        elif one.kind == "value":
            edits.append(_value_in(slot, one, f.question))
            place = (slot.links[0].table or "", slot.links[0].column or "")
            if place in one.columns:
                columns += [(signature(k), frozenset({place})) for k in one.links]
        else:
            edits.append(_number_in(slot, one, f))
            free |= {"limit", "comparisons"} if slot.kind != one.kind else set()
            free |= {"limit"} if slot.kind == "limit" else set()
    base = edited(f.question, edits)
    for phrase in late:
        base = added(base, phrase)
    kinds: frozenset[str] = frozenset()
    texts = [base]
    for one in adds:
        if one.kind in {"limit", "number"}:
            return
        free |= {"negations"} if one.excludes else set()
        free |= {"comparisons"} if one.kind == "compared" else set()
        kinds |= frozenset({"missing"} if one.excludes else {"having"} if one.kind == "compared" else ())
        texts = [text for before in texts for text in _spots(before, one, f)]
    strict = tuple(columns)
    wanted = _wanted(adds, f)
    for demands in ((*strict, *wanted), strict) if wanted else (strict,):
        for text in texts:
            yield Change(text, tuple(gone), frozenset(said), kinds, frozenset(free), demands)


def _slots(f: Followup, one: Phrase) -> list[Phrase]:
    """The phrases of the question before that a new one takes the place of."""
    parts = [part for part in f.parts if part.excludes == one.excludes]
    if one.kind == "condition":
        return []
    if one.kind == "time":
        return [part for part in parts if part.kind == "time"]
    if one.kind == "value":
        same = [p for p in parts if p.kind == "value" and (p.links[0].table, p.links[0].column) in one.columns]
        if same or f.narrows or one.excludes:
            return same
        places = [p for p in parts if p.kind == "value"]
        near = [
            p
            for p in places
            if {t for t, _ in p.columns} & {t for t, _ in one.columns}
            and _is_place(p)
            and _is_place(one)
            and p.links[0].table in {t for t, _ in one.columns}
        ]
        named = [p for p in places if p.lead and p.lead == one.lead and p.links[0].role == "name" == one.links[0].role]
        return near or named
    if one.kind == "compared":
        return [part for part in parts if part.kind == "compared"]
    numbers = [part for part in f.parts if part.kind in {"compared", "limit", "number"}]
    return numbers


def _is_place(phrase: Phrase) -> bool:
    return any({t.stem for t in name_tokens(column)} & _PLACE_STEMS for _, column in phrase.columns)


_PLACE_STEMS = frozenset(t.stem for t in name_tokens(" ".join(sorted(_PLACES))))


def _time_in(slot: Phrase, one: Phrase, f: Followup) -> tuple[Edit, str]:
    """The edit that puts another time into the place of one; also what to add at the end instead."""
    plain_new = one.links[0].start == one.at
    plain_old = slot.links[0].start == slot.at
    lead = _tie(one)
    if plain_new and plain_old:
        if not slot.lead:
            return Edit(slot.at, slot.end, one.text), ""
        same = {k.kind for k in slot.links} == {k.kind for k in one.links}
        if same and (not one.lead or _bare(one.lead) in {"in", "on", "for", "during", "of"}):
            return Edit(slot.at, slot.end, one.text), ""
        return Edit(slot.start, slot.end, f"{lead} {one.text}"), ""
    if plain_new and not one.lead and len(slot.links) == 1:
        return Edit(slot.links[0].start, slot.links[0].end, one.text), ""
    new = f"{lead} {one.text}" if plain_new else one.text
    if slot.lead or not plain_old:
        return Edit(slot.start, slot.end, new), ""
    return Edit(slot.at, slot.end, ""), new


def _tie(one: Phrase) -> str:
    """The preposition of a plain time."""
    said = _bare(one.lead)
    if said in {"in", "on", "during", "within"}:
        return said
    return "on" if one.links[0].kind == "date" else "in"


def _bare(lead: str) -> str:
    """A lead without what joins it and without articles.

    >>> _bare("but in the")
    'in'
    """
    kept = re.sub(r"\b(?:but|and|or|the|our|a|an|all)\b", " ", lead.casefold())
    return " ".join(kept.split())


def _stored(phrase: Phrase) -> str:
    """The literal with each value as it is stored."""
    text = phrase.text
    at = phrase.at
    for link in reversed(phrase.links):
        start, end = link.start - at, link.end - at
        if link.value and 0 <= start <= end <= len(text):
            text = text[:start] + link.value + text[end:]
    return text


def _value_in(slot: Phrase, one: Phrase, question: str) -> Edit:
    text = _stored(one)
    old = slot.links[0]
    adjective = len(slot.links) == 1 and not slot.lead and old.text.casefold() != (old.value or "").casefold()
    if adjective and len(one.links) == 1 and (called := adjective_of(text)):
        text = called
    if not slot.lead and slot.text[:1] in "\"'\u2018\u201c" and text[:1] not in "\"'\u2018\u201c":
        text = f"{slot.text[0]}{text}{slot.text[-1]}"
    article = re.search(r"\b(?P<a>an?)\s+\Z", question[: slot.at], re.IGNORECASE)
    if article and text:
        an = "an" if text[0].casefold() in "aeiou" else "a"
        return Edit(article.start("a"), slot.end, f"{an} {text}")
    return Edit(slot.at, slot.end, text)


def _number_in(slot: Phrase, one: Phrase, f: Followup) -> Edit:
    if one.kind == "compared" and slot.kind == "compared":
        old = next(c for c in f.before.grounding.comparisons if c.start == slot.start)
        new = next(c for c in f.said.comparisons if c.start == one.start)
        if old.operator != new.operator or old.operator == "between" or old.text[:1] in "<>=":
            return Edit(slot.start, slot.end, f.text[one.start : one.end])
    new_link, old_link = one.links[0], slot.links[0]
    return Edit(old_link.start, old_link.end, new_link.text)


def _wanted(adds: Sequence[Phrase], f: Followup) -> tuple[tuple[tuple[str, str], frozenset[tuple[str, str]]], ...]:
    """Values added should stand in the table that is asked about, where it can hold them."""
    subject = head(f.before.grounding)
    found = []
    for one in adds:
        here = frozenset(place for place in one.columns if subject is not None and place[0] == subject.table)
        if one.kind == "value" and here:
            found += [(signature(k), here) for k in one.links]
    return tuple(found)


def _spots(text: str, one: Phrase, f: Followup) -> Iterator[str]:
    """The question with a phrase added, where it may stand, the likeliest first."""
    now = f.understand(text)
    noun = head(now.grounding)
    asked = now.grounding
    if one.kind == "condition":
        said = re.sub(r"\s+(?:ones?|%s)\Z" % "orders?", "", one.text) if False else one.text
        if noun is not None:
            if one.text.split()[-1:] and same_word(one.text.split()[-1], noun.text):
                yield edited(text, [Edit(noun.start, noun.end, said)])
            yield edited(text, [Edit(noun.start, noun.start, f"{said} ")])
            be = "are" if is_plural(noun.text.split()[-1].casefold()) else "is"
            yield edited(text, [Edit(noun.end, noun.end, f" that {be} {said}")])
        yield added(text, said)
        return
    for phrase in _tied(one, f, noun):
        after = None
        if noun is not None and one.kind != "time":
            behind = next((p for p in phrases(asked) if p.start == noun.end + 1 and p.kind == "value"), None)
            at = behind.end if behind else noun.end
            after = edited(text, [Edit(at, at, f" {phrase}")])
        early = asked.direction is not None or asked.negations or asked.comparisons
        early = early and noun is not None and (noun.table in {t for t, _ in one.columns} or bool(asked.negations))
        if after and early:
            yield after
        yield added(text, phrase)
        if after and not early:
            yield after


def _tied(one: Phrase, f: Followup, noun: Link | None) -> Iterator[str]:
    """A phrase with words that tie it to a question in which nothing of the kind stands."""
    lead = _bare(one.lead)
    if one.kind == "time":
        yield one.text if one.links[0].start != one.at else f"{_tie(one)} {one.text}"
        return
    if one.kind == "compared":
        amounts = [k for k in f.before.grounding.chosen if k.role in {"amount", "measure"}]
        if len({signature(k) for k in amounts}) == 1:
            yield f"with {'an' if amounts[0].text[0].casefold() in 'aeiou' else 'a'} {amounts[0].text} {one.text}"
        return
    text = _stored(one)
    place = _is_place(one)
    if one.excludes:
        inner = re.search(r"\b(?:in|from|for|of|to|by)\b", lead)
        if lead.startswith("not") or (place and not re.match(r"(?:except|excluding)", lead)):
            yield f"but not {inner[0] if inner else 'in' if place else 'for'} {text}"
        yield f"except {f'{inner[0]} ' if inner and place else ''}{text}"
        return
    tied = re.sub(r"\b(?:with|for|of|about)\b", "", lead).strip()
    if tied:
        yield f"{lead} {text}"
    elif place:
        yield f"in {text}"
        yield f"from {text}"
    elif one.links[0].role == "name":
        yield f"{lead if lead in {'of', 'for', 'with'} else 'for'} {text}"
    else:
        for column in dict.fromkeys(c for t, c in sorted(one.columns) if noun is None or t == noun.table):
            name = " ".join(t.text.lower() for t in name_tokens(column))
            yield f"with {name} {text}"
    yield f"for {text}"


# The time before or after


_SHIFTED = re.compile(
    r"(?:(?:in|for|of|during)\s+)?(?:the\s+)?(?:(?:(?:same\s+)?(?P<a>year|month|quarter)\s+(?P<way>before|after|earlier|later))|"
    r"(?P<way2>previous|prior|preceding|next|following|last)\s+(?P<b>year|month|quarter)|"
    r"(?:a|one)\s+(?P<c>year|month|quarter)\s+(?P<way3>earlier|later|before|after))(?:\s+that)?",
    re.IGNORECASE,
)


def _shifted(f: Followup) -> Iterator[Change]:
    match = _SHIFTED.fullmatch(f.text)
    times = [part for part in f.parts if part.kind == "time"]
    if match is None or len(times) != 1 or len(times[0].links) != 1:
        return
    link = times[0].links[0]
    unit = (match["a"] or match["b"] or match["c"]).lower()
    way = (match["way"] or match["way2"] or match["way3"]).lower()
    step = -1 if way in {"before", "earlier", "previous", "prior", "preceding", "last"} else 1
    moved = _moved(link.value or "", unit, step)
    if moved:
        yield Change(
            edited(f.question, [Edit(link.start, link.end, moved[0])]), (link,), frozenset({("time", moved[1])})
        )


def _moved(value: str, unit: str, step: int) -> tuple[str, str] | None:
    """A time moved by a unit, as people write it and as it is linked.

    >>> _moved("1997", "year", -1), _moved("1997-01", "month", -1), _moved("1997-Q4", "quarter", 1)
    (('1996', '1996'), ('December 1996', '1996-12'), ('Q1 1998', '1998-Q1'))
    """
    if re.fullmatch(r"\d{4}", value) and unit == "year":
        year = str(int(value) + step)
        return year, year
    if month := re.fullmatch(r"(\d{4})-(\d\d)", value):
        at = int(month[1]) * 12 + int(month[2]) - 1 + step * {"year": 12, "quarter": 3, "month": 1}[unit]
        names = "January February March April May June July August September October November December".split()
        return f"{names[at % 12]} {at // 12}", f"{at // 12}-{at % 12 + 1:02d}"
    if (quarter := re.fullmatch(r"(\d{4})-Q(\d)", value)) and unit != "month":
        at = int(quarter[1]) * 4 + int(quarter[2]) - 1 + step * (4 if unit == "year" else 1)
        return f"Q{at % 4 + 1} {at // 4}", f"{at // 4}-Q{at % 4 + 1}"
    return None


# Taking a restriction out


_WIDER = re.compile(
    r"(?:(?:for|in|of|over|across)\s+)?(?:all|any|every|each\s+and\s+every)\s+(?:the\s+|our\s+)?(?P<what>[\w ]+?)(?:\s+together)?|"
    r"(?:regardless\s+of|no\s+matter|without|ignore|ignoring|drop|remove)\s+(?:the\s+|which\s+)?(?P<what2>[\w ]+?)(?:\s+(?:filter|restriction|limit|part))?|"
    r"(?P<over>overall|in\s+total|altogether|in\s+general|everywhere|worldwide|all\s+time|ever)",
    re.IGNORECASE,
)


def _wider(f: Followup) -> Iterator[Change]:
    match = _WIDER.fullmatch(f.text)
    if match is None:
        return
    what = (match["what"] or match["what2"] or "").casefold()
    if match["over"]:
        where = re.search("everywhere|worldwide", match["over"], re.IGNORECASE)
        when = re.search("time|ever", match["over"], re.IGNORECASE)
        out = [p for p in f.parts if p.kind in {"value", "time"}]
        out = [p for p in out if (not where or (p.kind == "value" and _is_place(p))) and (not when or p.kind == "time")]
    elif re.fullmatch(rf"{_UNITS}s?|times?|dates?|periods?", what):
        out = [p for p in f.parts if p.kind == "time"]
    else:
        named = {t.stem for t in name_tokens(what)}
        out = [
            p
            for p in f.parts
            if p.kind == "value"
            and any(named <= {t.stem for t in name_tokens(f"{table} {c}")} for table, c in p.columns)
        ]
    if len(out) == 1:
        yield _lessened(f, out[0])


def _lessened(f: Followup, part: Phrase, question: str | None = None) -> Change:
    loose = frozenset({"negations", "tables"}) if part.excludes else frozenset({"tables"})
    return Change(without(question or f.question, part), part.links, free=loose, strict=False)


# Limits and the other end


_NUMBER = r"\d+|" + "|".join(word for word, number in NUMBER_WORDS.items() if number and word.isascii())
_LIMIT = re.compile(
    rf"(?:show|give|list|see|get|me|make|it|limit|to|the|only|just|for|with)*(?:(?<=\w)\s+)?(?:(?:show|give|list|me|the|only|just|to|see)\s+)*"
    rf"(?:(?P<end>top|first|best|highest|bottom|worst|lowest|last)[\s-]+)?(?P<n>{_NUMBER})(?:\s+(?P<what>.+))?",
    re.IGNORECASE,
)
_ONE = re.compile(
    r"(?:show\s+|give\s+)?(?:me\s+)?(?:the\s+)?(?:(?:top|first|best|winner|number|no\.?)(?:\s+(?:one|1))?|one(?:\s+(?:of\s+them|row|result))?)",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"(?:show|give|list|i\s+want|see|get|me|\s)*(?:all(?:\s+of)?(?:\s+(?:them|it|those|these|rows|results|the\s+rows))?|"
    r"everything|every\s+one|everyone|the\s+(?:whole|full|complete|entire)\s+list|without\s+(?:a\s+|the\s+)?limit|no\s+limit)",
    re.IGNORECASE,
)


def _limit(f: Followup) -> Iterator[Change]:
    old = next((part for part in f.parts if part.kind == "limit"), None)
    if f.before.intent.kind in _SCALAR:
        return
    noun = head(f.before.grounding)
    if _ALL.fullmatch(f.text):
        if old is not None:
            text = edited(f.question, [Edit(old.at, old.end, "")])
            text = re.sub(r"\b(top|first|bottom)\s+(?=\w)", "", text, count=1, flags=re.IGNORECASE)
            text = re.sub(r"\A(?:the\s+)", "All ", text, flags=re.IGNORECASE)
            text = text[:1].upper() + text[1:]
            yield Change(text, old.links, kinds=frozenset({"list", "top_n"}), free=frozenset({"limit", "direction"}))
        return
    match = None if any(one.kind in {"time", "compared"} for one in f.phrases) else _LIMIT.fullmatch(f.text)
    if match is None:
        if _ONE.fullmatch(f.text) and (f.narrows or "one" in f.text.casefold()):
            yield from _limited(f, "", old, noun)
        return
    what = match["what"]
    if what and not re.fullmatch(
        r"(?:of\s+(?:them|those|these|it)|ones?|rows?|results?|entries|records|lines|items|names)", what, re.IGNORECASE
    ):
        if noun is None or not same_word(what, noun.text):
            return
    explicit = bool(match["end"] or what or f.narrows)
    if not explicit and old is None:
        return
    turned = match["end"] and match["end"].casefold() in {"bottom", "worst", "lowest", "last"}
    if turned and f.before.grounding.direction == "high":
        for change in _other_end_of(f, match["end"]):
            after = f.understand(change.question)
            then = replace_before(f, after)
            for limited in _limited(
                then, match["n"], next((p for p in then.parts if p.kind == "limit"), None), head(after.grounding)
            ):
                yield replace(limited, gone=change.gone, free=limited.free | {"direction", "tables"})
        return
    yield from _limited(f, match["n"], old, noun)


def replace_before(f: Followup, before: Understood) -> Followup:
    """The same follow-up to another question."""
    return Followup(before, f.text, f.narrows, f.replaces, f.joined, f.understand, f.answer)


def _limited(f: Followup, number: str, old: Phrase | None, noun: Link | None) -> Iterator[Change]:
    """Another number of rows. `""` is one."""
    one = number.casefold() in {"", "one", "1"}
    gone = old.links if old else ()
    number = number.lower()
    said: frozenset[tuple[str, str]] = frozenset()
    kinds = frozenset({"top_n", "list"})
    free = frozenset({"limit"})
    if f.before.intent.kind in {"by_group", "over_time"} and old is None:
        yield from _best_groups(f, number or "1")
        return
    if noun is None:
        if old is not None:
            yield Change(edited(f.question, [Edit(old.at, old.end, number or "1")]), gone, said, kinds, free)
        return
    text = f.question
    if one:
        if old is None or f.before.grounding.direction is None:
            if f.before.grounding.direction is None:
                yield Change(
                    edited(text, [Edit(*_before_noun(text, noun), f"{number or 'one'} ")]), gone, said, kinds, free
                )
            return
        text = agreeing(text, noun.end, many=False)
        text = edited(text, [Edit(old.at, old.end, ""), Edit(noun.start, noun.end, singular(noun.text))])
        yield Change(text, (*gone, noun), frozenset({("table", noun.table or "")}), kinds, free, strict=False)
        return
    if old is not None:
        yield Change(edited(text, [Edit(old.at, old.end, number)]), gone, said, kinds, free)
        return
    edits = [Edit(*_before_noun(text, noun), f"{number} ")]
    if not is_plural(noun.text.split()[-1].casefold()):
        text = agreeing(text, noun.end, many=True)
        edits.append(Edit(noun.start, noun.end, plural(noun.text)))
    yield Change(edited(text, edits), (*gone, noun), frozenset({("table", noun.table or "")}), kinds, free)
    who = re.match(r"who\s+(?:is|was)\s+(?:the|our)\s+", text, re.IGNORECASE)
    if who:
        text = agreeing(f.question, 0, many=True)
        yield Change(edited(text, edits), (*gone, noun), frozenset({("table", noun.table or "")}), kinds, free)


def _before_noun(text: str, noun: Link) -> tuple[int, int]:
    """Where a number goes: before the noun and its adjectives."""
    before = text[: noun.start]
    match = None
    for match in re.finditer(
        r"\b(?:which|what|the|our|all|any|list|show|me|name|find|give|are|is)\s+(?=(?:[\w-]+\s+){0,3}\Z)",
        before,
        re.IGNORECASE,
    ):
        pass
    at = match.end() if match else noun.start
    return at, at


def _best_groups(f: Followup, number: str) -> Iterator[Change]:
    """`How many orders are there per country?` and `top 3`: which 3 countries have the most orders?"""
    group = _group(f.before.grounding)
    noun = head(f.before.grounding)
    if group is None or group[2] is None or f.before.grounding.direction is not None:
        return
    start, end, link = group
    measured = [k for k in measure(f.before.grounding) if not start <= k.start < end]
    what = measured[0] if measured else noun
    if what is None or what == link:
        return
    how = "most" if not measured else "highest"
    if measured and (agg := _AGGREGATE.search(f.question)):
        how = f"highest {agg[0].lower()}"
    kept = " ".join(f.question[p.start : p.end] for p in f.parts if p.kind in {"value", "time"})
    text = tidy(f"Which {number} {plural(link.text)} have the {how} {what.text} {kept}?")
    named = frozenset({signature(what), signature(link)})
    gone = tuple(k for k in f.before.grounding.chosen if signature(k) not in named and k.kind in {"table", "term"})
    kinds = frozenset({"top_n", "top_per_group"})
    yield Change(text, gone, named, kinds, frozenset({"limit", "direction", "tables"}))


_END_WORD = rf"(?:(?:most|least)\s+(?!of\b)[a-z]+|{SUPERLATIVE})"
_END = re.compile(
    rf"(?:(?:which|what|who)\s+(?:one\s+)?(?:is|was|has|had|are|were|have)\s+|(?:with|has|have|is|are|show|me)\s+)*(?:the\s+)?(?P<end>{_END_WORD})"
    r"(?:\s+(?P<what>[\w ]+?))?",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"(?:the\s+)?(?:other\s+way\s+(?:a)?round|opposite|reverse|other\s+end|contrary|(?:in\s+)?reversed?(?:\s+order)?)",
    re.IGNORECASE,
)


def _other_end(f: Followup) -> Iterator[Change]:
    if f.before.grounding.direction is None:
        return
    if _TURN.fullmatch(f.text):
        yield from _other_end_of(f, "")
        return
    match = _END.fullmatch(f.text)
    if match is None:
        return
    what = match["what"]
    nouns = [k for k in f.before.grounding.chosen if k.kind in {"table", "column", "term"}]
    if what and not re.fullmatch("ones?", what, re.IGNORECASE) and not any(same_word(what, k.text) for k in nouns):
        if not re.match(r"(?:most|least)\s", match["end"], re.IGNORECASE) or not any(
            same_word(what, k.text) for k in nouns
        ):
            return
    yield from _other_end_of(f, match["end"])


def _other_end_of(f: Followup, said: str) -> Iterator[Change]:
    """The question with its superlative turned; `said` is the word that the user chose."""
    found = _extreme(f.before.grounding)
    if found is None:
        return
    old, word, adjective = found
    high = f.before.grounding.direction == "high"
    turned = _OPPOSITE.get(word.casefold(), "")
    nouns = [k for k in f.before.grounding.chosen]
    follows = next((k for k in nouns if k.start == old.end + 1), None)
    counted = follows is not None and (follows.kind == "table" or follows.role == "entity")
    options: list[str] = []
    own = said.casefold().strip()
    first = own.split()[0] if own else ""
    if adjective:
        other = "least" if word.casefold() == "most" else "most"
        if own and first not in {"most", "least", "fewest", "lowest", "highest"} and first in _OPPOSITE:
            options.append(own)
        elif len(own.split()) == 2 and own.split()[1] == adjective.casefold():
            options.append(own)
        options.append(f"{other} {adjective}")
    else:
        if own and own in _OPPOSITE and not (counted and own in {"lowest", "highest", "least"}):
            options.append(own)
        if word.casefold() == "most":
            options.append("fewest" if counted else "least")
        if turned:
            options.append(turned)
    names = f.question
    for option in dict.fromkeys(options):
        text = edited(names, [Edit(old.start, old.end, option)])
        after = f.understand(text).grounding.direction
        if after is not None and (after == "high") != high:
            spoken = text[:1].upper() + text[1:]
            yield Change(spoken, (), free=frozenset({"direction", "limit", "words"}), strict=False)


def _extreme(grounding: Grounding) -> tuple[Edit, str, str] | None:
    """The superlative of a question: where it stands, its word, and the adjective of `most expensive`."""
    text = grounding.question
    for match in re.finditer(rf"\b{SUPERLATIVE}\b", text, re.IGNORECASE):
        if any(k.start <= match.start() < k.end and k.kind != "limit" for k in grounding.chosen):
            continue
        adjective = ""
        end = match.end()
        if match[0].casefold() in {"most", "least"}:
            then = re.match(r"\s+(?P<word>[a-z]+(?:ive|ed|ar|ent|ant|ful|ous|able|ly|al|ing|ic|y))\b", text[end:])
            linked = then and any(k.start == end + then.start("word") for k in grounding.chosen)
            if then and not linked:
                adjective, end = then["word"], end + then.end()
        return Edit(match.start(), end, ""), match[0], adjective
    return None


# Groupings


def _group(grounding: Grounding) -> tuple[int, int, Link | None] | None:
    """Where a question says what it groups by, and the link; None for a unit of time."""
    for match in _GROUP.finditer(grounding.question):
        at = match.start("what")
        unit = re.match(rf"{_UNITS}s?\b", match["what"], re.IGNORECASE)
        link = next((k for k in grounding.chosen if k.start == at and k.kind in {"table", "column", "term"}), None)
        if link is not None:
            return match.start(), link.end, link
        if unit:
            return match.start(), at + unit.end(), None
    return None


_HOW_OFTEN = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}


def _grouping(f: Followup) -> Iterator[Change]:
    if often := _HOW_OFTEN.get(f.text.casefold()):
        text, said = f"per {often}", f.understand(f"per {often}").grounding
    else:
        match = _GROUP.match(
            re.sub(
                r"\A(?:grouped|broken\s+down|split(?:\s+up)?|divided|separately|separated|it|them|that|breakdown|break\s+(?:it|that|this)\s+down|"
                r"group\s+(?:it|them|that)|split\s+(?:it|them|that))\s+(?=(?:by|per|for)\b)",
                "",
                f.text,
                flags=re.IGNORECASE,
            )
        )
        if match is None:
            return
        text, said = match.string, f.understand(match.string).grounding
        text = re.sub(r"\A(?:by|each|every|across)\b(?:\s+the)?", "per", text, flags=re.IGNORECASE)
    group = _group(f.understand(text).grounding)
    if group is None or group[0] != 0 or group[1] < len(text.rstrip()):
        return
    link = group[2]
    if link is not None and is_plural(link.text.split()[-1].casefold()):
        text = text[: link.start] + singular(text[link.start :]) if text[link.start :] else text
    named = frozenset(signature(k) for k in said.chosen if k.kind in {"table", "column", "term"})
    kinds = frozenset({"by_group", "over_time", "top_per_group", "share"})
    free = frozenset({"words"})
    if f.before.intent.kind in {"top_n", "list", "exists"} and f.before.grounding.direction is None:
        return
    bases = [(f.question, ())]
    old = _group(f.before.grounding)
    if old is not None:
        gone = (old[2],) if old[2] else ()
        yield Change(edited(f.question, [Edit(old[0], old[1], text)]), gone, named, kinds, free)
        return
    unit = link is None
    over = [
        p
        for p in f.parts
        if (p.kind == "value" and link is not None and link.column and any(c == link.column for _, c in p.columns))
        or (p.kind == "value" and link is not None and p.links[0].role == "name" and p.links[0].table == link.table)
        or (
            p.kind == "time"
            and unit
            and text.endswith("year")
            and {k.kind for k in p.links} == {"year"}
            and len(p.links) == 1
        )
    ]
    if over:
        bases = [(without(f.question, over[0]), over[0].links)]
    for base, links in bases:
        yield Change(added(base, text), links, named, kinds, free)


# Another measure, another subject


_ASKS = r"(?:(?:what|which|how)\s+(?:is|was|were|are|'s)\s+)?(?:the\s+|their\s+|its\s+)?"
_HOW_MANY = re.compile(
    r"(?:how\s+many|(?:the\s+)?(?:number|count)\s+of)\s+(?P<what>[\w ]+?)(?:\s+(?:were\s+there|are\s+there|is\s+that|are\s+that|was\s+that|did\s+(?:they|we|he|she)\s+(?:place|make|have)))?",
    re.IGNORECASE,
)


def _aggregate(f: Followup) -> Iterator[Change]:
    """`and the average?`"""
    match = re.fullmatch(rf"{_ASKS}(?P<how>{_AGGREGATE.pattern[2:-2]})(?:\s+(?P<what>[\w ]+))?", f.text, re.IGNORECASE)
    if match is None:
        return
    wanted = next(name for name in _AGGREGATES if match[name])
    old = next(
        (
            m
            for m in _AGGREGATE.finditer(f.question)
            if not any(k.start <= m.start() < k.end for k in f.before.grounding.chosen)
        ),
        None,
    )
    measured = [k for k in measure(f.before.grounding)]
    if match["what"]:
        named = [k for k in f.said.chosen if k.kind in {"column", "term", "table"}]
        if not (measured and named and signature(named[-1]) == signature(measured[0])):
            return
    if not measured:
        return
    kinds = frozenset({"sum", "average", "top_n", "by_group", "over_time", "list"})
    free = frozenset({"direction", "limit", "words"})
    spelt = {"highest": "highest", "lowest": "lowest"}.get(wanted, match["how"].split()[0].lower())
    spelt = "total" if wanted == "total" else spelt
    if old is not None:
        if old.lastgroup != wanted:
            yield Change(edited(f.question, [Edit(old.start(), old.end(), spelt)]), (), kinds=kinds, free=free)
        return
    at = measured[0].start
    if re.search(r"\b(?:the|our|is|was)\s+\Z", f.question[:at], re.IGNORECASE):
        yield Change(edited(f.question, [Edit(at, at, f"{spelt} ")]), (), kinds=kinds, free=free)
    much = re.match(
        r"how\s+much\s+(?P<what>[\w ]*?)\s*\b(?:was|were|is|are|did|do|does|have|has)\b.*", f.question, re.IGNORECASE
    )
    if much and f.before.grounding.direction is None:
        yield from _remade(f, f"What was the {spelt} {measured[0].text}", measured[0], kinds, free)


def _measured(f: Followup) -> Iterator[Change]:
    """`and the freight?`, `in units instead`: what is measured or read off is another."""
    text = re.sub(
        rf"\A(?:in\s+terms\s+of|measured\s+(?:in|by)|by|in|with|for)\s+|\A{_ASKS}", "", f.text, flags=re.IGNORECASE
    )
    text = re.sub(r"\A(?:what\s+)?(?:is|was|are|were)\s+(?:the\s+)?", "", text, flags=re.IGNORECASE)
    agg = re.match(rf"(?:the\s+)?(?P<how>{_AGGREGATE.pattern})\s+(?=\w)", text, re.IGNORECASE)
    spelt = agg["how"].lower() if agg else ""
    name = text[agg.end() :] if agg else text
    name = re.sub(r"\A(?:the|their|its|his|her|of)\s+", "", name, flags=re.IGNORECASE)
    found = f.understand(name).grounding
    news = measure(found)
    if len(news) != 1 or phrases(found) or head(found) is not None or found.leftover:
        return
    start, end = _name_stretch(name, news[0])
    if start > 0 or end < len(name):
        return
    new = news[0]
    olds = [k for k in measure(f.before.grounding) if not _in_group(k, f.before.grounding)]
    named = frozenset({signature(new)})
    kinds = frozenset({"sum", "average", "list", "by_group", "over_time", "top_n", "top_per_group"})
    free = frozenset({"words", "direction", "limit"})
    if len(olds) == 1:
        a, b = _name_stretch(f.question, olds[0])
        edits = [Edit(a, b, name)]
        before = _AGGREGATE.search(f.question[:a])
        if spelt and before and before.end() + 1 >= a:
            edits = [Edit(before.start(), b, f"{spelt} {name}")]
        elif spelt:
            edits = [Edit(a, b, f"{spelt} {name}")]
        yield Change(edited(f.question, edits), (olds[0],), named, kinds, frozenset({"words"}))
        return
    if f.before.intent.kind in {"count", "by_group", "over_time"} and not olds:
        how = spelt or ("" if new.role in {"aggregate"} else "total")
        yield from _remade(f, tidy(f"What was the {how} {name}"), new, kinds, free)
    if f.before.intent.kind in {"top_n"} and not olds:
        noun, found_end = head(f.before.grounding), _extreme(f.before.grounding)
        entities = [k for k in f.before.grounding.chosen if (k.kind == "table" or k.role == "entity") and k != noun]
        if noun is not None and found_end is not None and len(entities) == 1 and not entities[0].verb:
            word = "highest" if f.before.grounding.direction == "high" else "lowest"
            edits = [Edit(found_end[0].start, entities[0].end, f"{word} {spelt + ' ' if spelt else ''}{name}")]
            for text in (edited(f.question, edits), _having_verb(edited(f.question, edits), noun)):
                yield Change(text, (entities[0],), named, kinds, free | {"tables"})


def _having_verb(text: str, noun: Link) -> str:
    """`placed the highest freight` reads `had the highest freight`."""
    return re.sub(
        r"(?<=\s)(?:placed|made|bought|sold|handled|took|has|have)(?=\s+the\s+(?:highest|lowest)\b)",
        "had",
        text,
        count=1,
    )


def _name_stretch(text: str, link: Link) -> tuple[int, int]:
    """A name with the words that go with it but link to nothing: `phone number`."""
    after = re.match(
        r"\s+(?:numbers?|names?|addresses|address|codes?|dates?|titles?)\b", text[link.end :], re.IGNORECASE
    )
    return link.start, link.end + (after.end() if after else 0)


def _in_group(link: Link, grounding: Grounding) -> bool:
    group = _group(grounding)
    return group is not None and group[0] <= link.start < group[1]


def _remade(f: Followup, opening: str, new: Link, kinds: frozenset[str], free: frozenset[str]) -> Iterator[Change]:
    """A question with another opening, and the restrictions and groups of the one before."""
    grounding = f.before.grounding
    group = _group(grounding)
    noun = head(grounding)
    if f.before.grounding.comparisons or f.before.grounding.negations:
        return
    kept = [(p.start, p.end) for p in f.parts if p.kind in {"value", "time"}]
    loose = [p for p in f.parts if p.kind in {"value"} and not p.lead]
    if group is not None:
        kept.append((group[0], group[1]))
    tail = " ".join(f.question[a:b] for a, b in sorted(kept))
    gone = tuple(k for k in grounding.chosen if k.kind not in {"value", *TIMES} and not _in_group(k, grounding))
    named = frozenset({signature(new)})
    if loose:
        return
    free = free | {"tables"}
    if noun is not None and not _in_group(noun, grounding) and new.table != noun.table and new.kind != "table":
        of = noun.text if not is_plural(noun.text.split()[-1].casefold()) else f"the {noun.text}"
        rest = tidy(f"{opening} of {of} {tail}?")
        if f.before.intent.kind == "count" and not any(p.kind == "time" for p in f.parts):
            yield Change(rest, gone, named, kinds, free)
    yield Change(tidy(f"{opening} {tail}?"), gone, named, kinds, free)


def _subject(f: Followup) -> Iterator[Change]:
    """`what about suppliers?`, `how many orders instead?`"""
    many = _HOW_MANY.fullmatch(f.text)
    name = re.sub(
        r"\A(?:for|of|by|the|our|all|which|what|with)\s+", "", many["what"] if many else f.text, flags=re.IGNORECASE
    )
    name = re.sub(r"\A(?:the|our|all)\s+", "", name, flags=re.IGNORECASE)
    found = f.understand(name).grounding
    new = head(found)
    if new is None or new.start != 0 or new.end < len(name) or len(name.split()) > 4:
        return
    old = head(f.before.grounding)
    named = frozenset({("table", new.table or "")})
    free = frozenset({"tables", "words"})
    kind = f.before.intent.kind
    group = _group(f.before.grounding)
    olds = [k for k in measure(f.before.grounding) if not _in_group(k, f.before.grounding)]
    if many and kind != "count" and olds:
        how = frozenset({"count", "by_group", "over_time"})
        yield from _remade(f, f"How many {plural(name)} were there", new, how, free | {"direction", "limit"})
        return
    entities = [k for k in f.before.grounding.chosen if (k.kind == "table" or k.role == "entity") and not k.verb]
    if many and kind in {"top_n", "by_group", "over_time"} and len(entities) > 1:
        counted = [k for k in entities if not _in_group(k, f.before.grounding)][-1]
        yield Change(edited(f.question, [Edit(counted.start, counted.end, plural(name))]), (counted,), named, free=free)
        return
    if old is None or (group is not None and old == group[2]):
        return
    new_name = plural(name) if is_plural(old.text.split()[-1].casefold()) else singular(name)
    again = [k for k in entities if k.table == old.table]
    edits = [
        Edit(k.start, k.end, plural(name) if is_plural(k.text.split()[-1].casefold()) else singular(name))
        for k in again
    ]
    yield Change(edited(f.question, edits), tuple(again), named, free=free)
    yield Change(edited(f.question, [Edit(old.start, old.end, new_name)]), (old,), named, free=free)


# Shares and order


_SHARE = re.compile(
    r"(?:(?:what|which|how\s+(?:much|large|big|many))\s+(?:a\s+)?)?(?:(?:is|are|was)\s+(?:that|this|it|the)\s+)?(?:(?:show|give|express|put|have)\s+)?(?:me\s+)?(?:it\s+|that\s+|this\s+|them\s+)?"
    r"(?:as|in|the|a|what|which|\s)*\s*(?P<word>percentages?|percents?|per\s+cent|shares?|proportion|fraction|%)(?:\s+(?:is|are|was)\s+(?:that|this|it|these|those))?"
    r"(?:\s+of\s+(?:the\s+|all\s+(?:the\s+|our\s+)?|our\s+)?(?P<of>total|whole|all|overall|sum|[\w ]+))?(?:\s+(?:is|are|was)\s+(?:that|this|it|these|those))?",
    re.IGNORECASE,
)


def _share(f: Followup) -> Iterator[Change]:
    match = _SHARE.fullmatch(f.text)
    if match is None or f.before.intent.kind in {"share", "list", "top_n", "missing", "exists"}:
        return
    noun = head(f.before.grounding)
    of = match["of"]
    if of and of.casefold() not in {"total", "whole", "all", "overall", "sum", "them", "it"}:
        if noun is None or not same_word(of.split()[-1], noun.text):
            return
    kinds = frozenset({"share"})
    restricted = [p for p in f.parts if p.kind in {"value", "time", "condition", "compared"}]
    group = _group(f.before.grounding)
    if (
        not restricted
        and group is None
        and not f.before.grounding.negations
        and f.before.intent.kind not in {"by_group", "having", "over_time"}
    ):
        return
    free = frozenset({"words"})
    counted = re.match(
        r"(?:and\s+)?how\s+many\s+|(?:what\s+(?:is|was)\s+)?the\s+(?:total\s+)?number\s+of\s+",
        f.question,
        re.IGNORECASE,
    )
    if counted and group is None and f.before.intent.kind != "by_group":
        text = f"What percentage of {f.question[counted.end() :]}"
        yield Change(text, (), kinds=kinds, free=free)
    yield Change(closed(f.question, ", as a percentage of the total"), (), kinds=kinds, free=free)


_ORDER = re.compile(
    r"(?:(?:and|but|now|please|can\s+you|show|list|give|them|it|me)\s+)*(?:(?P<by>(?:sorted|ordered|sort|order|arranged?|ranked)(?:\s+(?:it|them|that|those|these|the\s+(?:list|rows|result|answer)))?\s+"
    r"(?P<how>(?:by|in|from|alphabetically|descending|ascending)\b.*))|(?P<alone>alphabetically|(?:in\s+)?(?:alphabetical|descending|ascending|chronological|reverse(?:\s+\w+)?)(?:\s+order)?|reversed?|"
    r"backwards|by\s+[\w ]+\s+(?:descending|ascending|desc|asc))|(?P<first>(?:with\s+)?(?:the\s+)?(?:[\w-]+\s+){1,3}(?:first|on\s+top|at\s+the\s+top)))",
    re.IGNORECASE,
)


def _order(f: Followup) -> Iterator[Change]:
    match = _ORDER.fullmatch(f.text)
    if match is None or (f.before.intent.kind in _SCALAR and f.before.intent.kind != "share"):
        return
    if match["first"] and re.match(r"(?:just|only)?\s*(?:the\s+)?(?:first|top)\b", f.text, re.IGNORECASE):
        return
    if match["by"]:
        how = match["how"]
        tail = f", sorted {how}"
    elif match["first"]:
        how = re.sub(r"\s+(?:on\s+top|at\s+the\s+top)\Z", " first", match["first"], flags=re.IGNORECASE)
        tail = ", " + re.sub(r"\A(?:with\s+)?", "", how, flags=re.IGNORECASE)
    elif re.match("alphabetically", match["alone"], re.IGNORECASE):
        tail = ", sorted alphabetically"
    elif re.match(r"by\b", match["alone"], re.IGNORECASE):
        tail = f", sorted {match['alone']}"
    elif re.match(r"(?:in\s+)?reverse|backwards", match["alone"], re.IGNORECASE):
        tail = ", in reverse order"
    else:
        tail = f", in {re.sub(r'^in |(?: order)$', '', match['alone'].lower())} order"
    free = frozenset({"words", "direction", "limit", "comparisons"})
    old = sorting(f.question)
    if old is not None:
        if tail == ", in reverse order":
            said = f.question[old[0] : old[1]]
            for one, other in (
                ("descending", "ascending"),
                ("ascending", "descending"),
                ("newest first", "oldest first"),
                ("oldest first", "newest first"),
            ):
                if one in said.lower():
                    yield Change(
                        edited(f.question, [Edit(old[0], old[1], said.lower().replace(one, other))]),
                        free=free,
                        strict=False,
                    )
                    return
            if "reverse" in said.lower():
                yield Change(tidy(f.question[: old[0]] + f.question[old[1] :]), free=free, strict=False)
                return
            yield Change(tidy(f"{f.question[: old[1]]} in descending order{f.question[old[1] :]}"), free=free)
            return
        gone = tuple(k for k in f.before.grounding.chosen if old[0] <= k.start < old[1])
        yield Change(tidy(f.question[: old[0]] + tail + f.question[old[1] :]), gone, free=free)
        return
    yield Change(closed(f.question, tail), free=free)


# What the last answer showed


_POINTING = re.compile(
    r"\b(?:the\s+)?(?:(?P<nth>first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th|top|bottom)(?:\s+(?:one|row|entry|of\s+(?:them|these|those)))|"
    r"(?:number|row|no\.?)\s+(?P<number>\d+))|\b(?P<one>that\s+one|this\s+one|it|he|she|they|them|him|her(?=\s*\Z)|"
    r"(?:that|this|the\s+same)\s+(?P<noun>[a-z]+))\b|\b(?P<whose>his|her|its|their|(?:that|this)\s+one's)\b",
    re.IGNORECASE,
)


def _pointed(f: Followup) -> Iterator[Change]:
    """`what did the first one order?`: a value of the last answer in the place of what points at it."""
    if f.answer is None or not f.answer.rows:
        return
    found = [m for m in _POINTING.finditer(f.text)]
    if len(found) != 1:
        return
    match = found[0]
    row = _row(match, f.answer)
    if row is None:
        return
    name = _name_in(row, f)
    if name is None:
        return
    spelt = f"{name.value}{'' if not match['whose'] else _genitive(name.value or '')}"
    text = tidy(f.text[: match.start()] + spelt + f.text[match.end() :])
    noun = match["noun"]
    if noun is not None and not any(k.table == name.table for k in f.understand(noun).grounding.links):
        return
    whole = re.match(rf"{_ASKS_WHOLE}", text, re.IGNORECASE)
    if not whole:
        if match["whose"] or text.casefold() == spelt.casefold():
            return
        text = f"What is {text}"
    after = f.understand(text).grounding
    if not any(k.kind == "value" and k.value == name.value for k in after.chosen):
        return
    rest = [k for k in after.chosen if k.value != name.value]
    if not rest:
        return
    yield Change(
        f"{text[:1].upper()}{text[1:]}?",
        f.before.grounding.chosen,
        free=_ANYTHING,
        kinds=frozenset({f.understand(f"{text}?").intent.kind}),
    )


_ANYTHING = frozenset({"limit", "direction", "tables", "negations", "comparisons", "words"})
_ASKS_WHOLE = rf"{_ASKED}\b"


def _genitive(name: str) -> str:
    return "'" if name.endswith("s") else "'s"


def _row(match: re.Match[str], answer: Shown) -> tuple[Cell, ...] | None:
    if match["number"]:
        at = int(match["number"]) - 1
        return answer.rows[at] if 0 <= at < len(answer.rows) else None
    if match["nth"]:
        word = match["nth"].casefold()
        if word in {"last", "bottom"}:
            return answer.rows[-1]
        at = 0 if word == "top" else _ORDINALS[word]
        return answer.rows[at] if at < len(answer.rows) else None
    return answer.rows[0] if len(answer.rows) == 1 else None


def _name_in(row: tuple[Cell, ...], f: Followup) -> Link | None:
    """The first cell of a row that is the stored name of something."""
    for cell in row:
        if not isinstance(cell, str) or not cell.strip():
            continue
        found = [k for k in f.understand(f"'{cell}'").grounding.values if k.value == cell]
        found = found or [k for k in f.understand(cell).grounding.values if k.value == cell]
        if found:
            return found[0]
    return None


_MORE_COLUMNS = re.compile(
    r"(?:(?:what|when|where|who)\s+(?:is|are|was|were|about)\s+)?(?:(?:show|give|list|add|include|with|tell)\s+)*(?:me\s+)?(?:also\s+)?"
    r"(?P<whose>their|its|his|her|the|they)?\s*(?P<what>[\w ]+)",
    re.IGNORECASE,
)


def _columns(f: Followup) -> Iterator[Change]:
    """`and their phone number?`: the rows stay, a column is added."""
    match = _MORE_COLUMNS.fullmatch(f.text)
    if match is None or f.before.intent.kind not in {
        "list",
        "top_n",
        "missing",
        "having",
        "versus_average",
        "both",
        "top_per_group",
    }:
        return
    whose = (match["whose"] or "").casefold()
    asked = re.search(r"\b(?:also|add|include|with|show)\b", f.text, re.IGNORECASE)
    if whose not in {"their", "its", "his", "her"} and not asked:
        return
    name = match["what"].strip()
    news = [k for k in f.understand(name).grounding.chosen if k.kind in {"column", "term", "table"}]
    if not news or f.understand(name).grounding.leftover or phrases(f.understand(name).grounding):
        return
    olds = [k for k in measure(f.before.grounding)]
    named = any(k.role == "name" and k.kind in {"value", "number"} for k in f.before.grounding.chosen)
    said = frozenset(map(signature, news))
    if named and len(olds) == 1 and head(f.before.grounding) is None:
        return
    free = frozenset({"words", "limit", "direction"})
    noun = head(f.before.grounding)
    many = noun is None or is_plural(noun.text.split()[-1].casefold())
    their = "their" if many else "its"
    listed = re.match(r"(?:please\s+)?(?:list|show|give|name|find)\b", f.question, re.IGNORECASE)
    if listed:
        yield Change(closed(f.question, f" with {their} {name}"), (), said, free=free)
    be = "are" if is_plural(name.split()[-1].casefold()) else "is"
    yield Change(closed(f.question, f", and what {be} {their} {name}"), (), said, free=free)


# Whole questions and clauses


def _whole(f: Followup) -> Iterator[Change]:
    """A question of its own passes as it is."""
    if f.replaces or f.narrows:
        return
    links = [k for k in f.said.chosen if k.table or k.kind == "term"]
    nouns = [k for k in links if k.kind in {"table", "term", "column"}]
    if not nouns:
        if (
            not (f.joined or f.said.leftover)
            and re.match(_ASKED, f.text, re.IGNORECASE)
            and links
            and len(f.text.split()) > 4
        ):
            yield _as_said(f)
        return
    back = _BACK.search(f.text)
    if back and not any(k.end <= back.start() for k in nouns):
        return
    asked = re.match(rf"{_ASKED}\b", f.text, re.IGNORECASE)
    others = len(f.text.split()) - sum(len(k.text.split()) for k in nouns)
    if asked:
        opening = len(asked[0].split())
        verb = re.search(
            r"\b(?:is|are|was|were|do|does|did|has|have|had|there|placed|ordered|bought|sold|shipped|made|brought|cost|costs|earned|live|lives|come|came|"
            r"[a-z]+ed)\b",
            f.text[asked.end() :],
            re.IGNORECASE,
        )
        imperative = re.match(
            r"(?:list|show|give|name|find|count|tell|compare|rank|display|get|return|calculate|compute)\b",
            asked[0],
            re.IGNORECASE,
        )
        if imperative and not f.joined:
            yield _as_said(f)
        elif (
            verb or asked[0].split()[0].casefold() in {"is", "are", "was", "were", "do", "does", "did"}
        ) and others > opening:
            if not (f.joined and asked[0].casefold() in {"what", "which", "how many", "how much"} and _thin(f, nouns)):
                yield _as_said(f)
        return
    if f.joined or len(nouns) + len(f.phrases) < 2 or back:
        return
    own = f.said.limit is not None or f.said.direction is not None or _group(f.said) is not None or bool(f.phrases)
    subject = head(f.before.grounding)
    mine = head(f.said)
    starts = re.match(r"(?:the\s+)?(?:top\s+|average\s+|total\s+|number\s+of\s+|[\w-]+\s+){0,3}", f.text)
    alone = re.match(
        r"(?:in|for|from|with|without|not|per|by|on|above|below|sorted|as|the\s+ones?)\b", f.text, re.IGNORECASE
    )
    if (
        own
        and starts
        and not alone
        and (mine is not None or f.said.direction is None)
        and not (mine is not None and subject is not None and mine.table == subject.table and len(nouns) == 1)
    ):
        yield _as_said(f)


def _thin(f: Followup, nouns: Sequence[Link]) -> bool:
    """`and what is the average freight?` says less than a question of its own: nothing is restricted in it."""
    return (
        not f.phrases
        and len(nouns) == 1
        and _group(f.said) is None
        and bool(f.parts)
        and nouns[0].kind != "table"
        and nouns[0].role != "entity"
    )


def _as_said(f: Followup) -> Change:
    mark = "" if re.search(r"[?.!]\Z", f.text) else "?"
    if re.match(r"(?:list|show|give|name|find|count|tell|compare|rank|display|get)\b", f.text, re.IGNORECASE):
        mark = "" if not mark else "."
    return Change(f"{f.text[:1].upper()}{f.text[1:]}{mark}")


_CLAUSE = re.compile(
    r"(?:(?:the|those|these|all)\s+)?(?:ones?\s+|those\s+|(?P<noun>[\w]+)\s+)?(?P<clause>(?:with|without|that|who|which|whose|where|having|costing|cheaper|"
    r"older|younger|heavier|longer|shorter|from|ordered|placed|shipped|bought|sold|living|located|hired|born)\b.+)",
    re.IGNORECASE,
)


def _clause(f: Followup) -> Iterator[Change]:
    """`only those with more than 10 orders`: a restriction in words of its own."""
    match = _CLAUSE.fullmatch(f.text)
    noun = head(f.before.grounding)
    if match is None or noun is None or (match["noun"] and not same_word(match["noun"], noun.text)):
        return
    clause = match["clause"]
    said = f.understand(clause).grounding
    if said.leftover or not [k for k in said.chosen if k.table or k.kind in {"number", *TIMES}]:
        return
    if re.match(r"(?:cheaper|older|younger|heavier|longer|shorter)\b", clause, re.IGNORECASE):
        be = "are" if is_plural(noun.text.split()[-1].casefold()) else "is"
        clause = f"that {be} {clause}"
    named = frozenset(signature(k) for k in said.chosen if not k.verb)
    kinds = frozenset({"having", "missing", "list", "versus_average"})
    free = frozenset({"negations", "comparisons"})
    behind = next((p for p in f.parts if p.start == noun.end + 1 and p.kind == "value"), None)
    at = behind.end if behind else noun.end
    yield Change(edited(f.question, [Edit(at, at, f" {clause}")]), (), named, kinds, free)
    yield Change(added(f.question, clause), (), named, kinds, free)


RULES: tuple[Rule, ...] = (
    Rule("share", ("How many customers are in Germany?", "as a percentage", "What percentage of customers are in Germany?"), _share),
    Rule("order", ("Which customers are located in Germany?", "sorted by city", "Which customers are located in Germany, sorted by city?"), _order),
    Rule("limit", ("Which five customers brought the most revenue?", "top 3", "Which 3 customers brought the most revenue?"), _limit),
    Rule("other_end", ("Which product is the most expensive?", "and the cheapest?", "Which product is the cheapest?"), _other_end),
    Rule("shifted", ("How many orders were placed in 1997?", "and the year before?", "How many orders were placed in 1996?"), _shifted),
    Rule("wider", ("How many orders were placed in 1997?", "for all years", "How many orders were placed?"), _wider),
    Rule("pointed", ("Which customer placed the most orders?", "what did they order?", "What did Save-a-lot Markets order?"), _pointed),
    Rule("columns", ("Which customers are located in Germany?", "and their phone numbers?", "Which customers are located in Germany, and what are their phone numbers?"), _columns),
    Rule("whole", ("How many customers are in Germany?", "Which products are discontinued?", "Which products are discontinued?"), _whole),
    Rule("grouping", ("What was the total freight per month in 1997?", "by quarter instead", "What was the total freight per quarter in 1997?"), _grouping),
    Rule("literal", ("How many orders were placed in 1997?", "and in 1998?", "How many orders were placed in 1998?"), _literal),
    Rule("clause", ("Which customers are located in Germany?", "only those without a fax", "Which customers without a fax are located in Germany?"), _clause),
    Rule("aggregate", ("What was the total freight in 1997?", "and the average?", "What was the average freight in 1997?"), _aggregate),
    Rule("measured", ("What was the total freight in 1997?", "and the revenue?", "What was the total revenue in 1997?"), _measured),
    Rule("subject", ("How many customers are in Germany?", "what about suppliers?", "How many suppliers are in Germany?"), _subject),
)  # fmt: skip
"""Tried in this order. To cover another kind of follow-up, add one rule with an example and golden pairs."""
