"""Restating a question: the phrases it is made of, and taking out, replacing and adding them so that it stays English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.linked import Comparison, Grounding, Link
from agent.wording import is_plural, stem, tokens

PhraseKind = Literal["value", "time", "compared", "number", "limit", "condition"]
TIMES = frozenset({"date", "month", "quarter", "half", "year"})

_LEAD = re.compile(
    r"(?:(?<=\s)|\A)(?P<lead>(?:(?:but|and|or)\s+)?"
    r"(?:(?:not|except|excluding|without|outside|other\s+than|apart\s+from|no)(?:\s+(?:of|for|in|from|the|those|ones))*"
    r"|(?:not\s+)?(?:in|from|to|for|of|by|at|on|with|during|within|into|under|called|named|about))"
    r"(?:\s+(?:the|our|a|an|all))?(?:\s+(?:year|month|category|country|city|town|state|region|customer|supplier))?)\s+\Z",
    re.IGNORECASE,
)
_EXCLUDES = re.compile(r"\b(?:not|except|excluding|without|outside|other\s+than|apart\s+from|no)\b", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|,?\s*(?:and|or|&))\s*(?:in\s+|for\s+|from\s+|to\s+)?\Z", re.IGNORECASE)
_SORTED = re.compile(
    r",?\s*\b(?:(?:sorted|ordered|arranged|ranked)\s+(?:by|in|from|alphabetically)\b.*|alphabetically"
    r"|in\s+(?:reverse|descending|ascending|alphabetical|chronological)(?:\s+(?:alphabetical|chronological))?\s+order"
    r"|(?<=,\s)(?:[\w-]+\s+){1,4}first)\s*\Z",
    re.IGNORECASE,
)
_SHARED = re.compile(r",?\s*(?:as|in)\s+(?:a\s+)?(?:percentage|percent|share|fraction)\b.*\Z", re.IGNORECASE)
_MORE = re.compile(
    r",?\s*and\s+(?:what\s+(?:is|are)|when|where|who)\b.*\Z|\s+with\s+(?:their|its)\b.*\Z", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.;?!])\s+(?=\S).*\Z", re.DOTALL)
_LEFT_BARE = re.compile(
    r"\b(?P<be>is|are|was|were)(?:\s+(?:located|based|living|placed|situated))?\s*\Z", re.IGNORECASE
)
_DANGLING = re.compile(
    r"\s+(?:(?:that|which|who)\s+(?:is|are|was|were)|located|based|living|situated|from|in|for|of|to)\s*\Z",
    re.IGNORECASE,
)
_BE = {"is": "are", "was": "were", "has": "have", "does": "do"}
_IRREGULAR = {"person": "people", "man": "men", "woman": "women", "child": "children"}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A literal of a question with the words that tie it in: `in 1997`, `from Germany and France`, `above 50`.

    `start` to `end` is all of it, `at` to `end` the literal alone. `lead` are the words before the literal. `links` are
    the chosen links inside, `columns` all columns that a value may stand in. `operator` is that of a comparison.
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
class Edit:
    """Put `text` in the place of `start` to `end`."""

    start: int
    end: int
    text: str


def signature(link: Link) -> tuple[str, str]:
    """What a link stands for, wherever it stands; a value or number is the same in every column."""
    if link.kind in TIMES:
        return "time", link.value or ""
    if link.kind in {"number", "limit"}:
        return "number", link.value or ""
    if link.kind == "value":
        return "value", (link.value or "").casefold()
    if link.kind == "table" or link.role == "entity":
        return "table", link.table or ""
    if link.kind == "term":
        return "term", link.value or ""
    return "column", (link.column or "").casefold()


def phrases(grounding: Grounding) -> tuple[Phrase, ...]:
    """Find the phrases of a question in reading order; a list of values of one column is one phrase."""
    text, chosen = grounding.question, grounding.chosen
    found: list[Phrase] = []
    for period in grounding.periods:
        inside = tuple(k for k in chosen if k.kind in TIMES and period.start <= k.start and k.end <= period.end)
        found.append(_phrase(text, "time", period.start, period.end, inside))
    for comparison in grounding.comparisons:
        inside = tuple(k for k in chosen if k.kind == "number" and comparison.start <= k.start < comparison.end)
        if inside:
            end = max(comparison.end, *(k.end for k in inside))
            found.append(Phrase("compared", comparison.start, comparison.start, end, "", comparison.text, inside))
    for link in chosen:
        if any(one.start <= link.start < one.end for one in found):
            continue
        if link.kind == "value" and link.table:
            columns = frozenset(
                (k.table or "", k.column or "")
                for k in grounding.links
                if k.kind == "value" and (k.start, k.end) == (link.start, link.end)
            )
            found.append(_phrase(text, "value", link.start, link.end, (link,), columns))
        elif link.kind in {"number", "limit"}:
            found.append(_phrase(text, "limit" if link.kind == "limit" else "number", link.start, link.end, (link,)))
        elif link.role == "condition":
            found.append(Phrase("condition", link.start, link.start, link.end, "", link.text, (link,)))
    return _listed(text, sorted(found, key=lambda one: (one.at, -one.end)))


def compared_in(grounding: Grounding, phrase: Phrase) -> Comparison | None:
    return next((c for c in grounding.comparisons if c.start == phrase.start), None)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Apply edits that do not overlap; spaces and the end are tidied.

    >>> edited("How many orders in 1997?", [Edit(19, 23, "1998")])
    'How many orders in 1998?'
    """
    for edit in sorted(edits, key=lambda one: (-one.start, -one.end)):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return tidy(text)


def tidy(text: str) -> str:
    """Mend spaces before marks and doubled ones.

    >>> tidy("How  many orders , placed ?")
    'How many orders, placed?'
    """
    text = " ".join(text.split())
    return re.sub(r"\s+([?.,;!])", r"\1", re.sub(r",\s*(?=[?.!]|\Z)", "", text))


def without(text: str, phrase: Phrase) -> str:
    """The question without a phrase, and what then hangs loose made whole: `… are in Germany?` → `… are there?`

    >>> from agent.linked import Link
    >>> germany = Phrase("value", 23, 26, 33, "in", "Germany", ())
    >>> without("How many customers are in Germany?", Phrase("value", 23, 26, 33, "in", "Germany", ()))
    'How many customers are there?'
    """
    before, after = text[: phrase.start].rstrip(" ,"), text[phrase.end :]
    last = not after.strip(" ?.!")
    joined = re.sub(r"\s+(?:and|or|but)\Z", "", before)
    if last and (bare := _LEFT_BARE.search(joined)):
        joined = f"{joined[: bare.start()]}{bare['be']} there"
    elif last:
        joined = _DANGLING.sub("", joined)
    return tidy(f"{joined} {after}")


def body_end(text: str) -> int:
    """Where something may be added at the end: before the final mark, how to sort, a share, and what is also asked.

    >>> body_end("Which customers are there, sorted by name?")
    25
    """
    end = len(text)
    if sentence := _SENTENCE.search(text):
        end = sentence.start()
    end = len(text[:end].rstrip(" ?.!"))
    for pattern in (_SORTED, _SHARED, _SORTED, _MORE):
        if match := pattern.search(text[:end]):
            end = match.start()
    return end


def sorting(text: str) -> tuple[int, int] | None:
    """Where a question says how to sort, or None."""
    end = len(text.rstrip(" ?.!"))
    match = _SORTED.search(text[:end])
    return None if match is None else (match.start(), end)


def added(text: str, phrase: str) -> str:
    """The question with a phrase at the end of its body.

    >>> added("How many orders were placed?", "in 1997")
    'How many orders were placed in 1997?'
    """
    end = body_end(text)
    return tidy(
        f"{text[:end]} {phrase} {text[end:]}" if text[end : end + 1] != "," else f"{text[:end]} {phrase}{text[end:]}"
    )


def closed(text: str, phrase: str) -> str:
    """The question with a phrase at its very end, before the final mark."""
    end = len(text.rstrip(" ?.!"))
    return tidy(f"{text[:end]}{phrase}{text[end:]}")


def head(grounding: Grounding) -> Link | None:
    """The noun that is asked about: the first name of a table or of its rows."""
    named = [k for k in grounding.chosen if (k.kind == "table" or k.role == "entity") and not k.verb]
    return named[0] if named else None


def measure(grounding: Grounding) -> tuple[Link, ...]:
    """What is measured or read off: terms and columns, but for conditions and names of rows."""
    return tuple(
        k
        for k in grounding.chosen
        if (k.kind == "term" and k.role not in {"entity", "condition"}) or (k.kind == "column" and k.quality == "exact")
    )


def plural(noun: str) -> str:
    """The plural of an English noun.

    >>> plural("category"), plural("customer"), plural("orders"), plural("sales person")
    ('categories', 'customers', 'orders', 'sales people')
    """
    front, _, last = noun.rpartition(" ")
    front = f"{front} " if front else ""
    folded = last.casefold()
    if is_plural(folded):
        return noun
    if folded in _IRREGULAR:
        return front + _IRREGULAR[folded]
    if re.search(r"[^aeiou]y\Z", folded):
        return f"{front}{last[:-1]}ies"
    return f"{front}{last}{'es' if re.search(r'(?:s|x|z|ch|sh)', folded[-2:]) and folded[-1] in 'sxzh' else 's'}"


def singular(noun: str) -> str:
    """The singular of an English noun.

    >>> singular("categories"), singular("customers"), singular("people"), singular("address")
    ('category', 'customer', 'person', 'address')
    """
    front, _, last = noun.rpartition(" ")
    front = f"{front} " if front else ""
    folded = last.casefold()
    single = {many: one for one, many in _IRREGULAR.items()}.get(folded)
    if single or not is_plural(folded):
        return front + (single or last)
    if folded.endswith("ies"):
        return f"{front}{last[:-3]}y"
    if re.search(r"(?:sses|shes|ches|xes|zes)\Z", folded):
        return f"{front}{last[:-2]}"
    return f"{front}{last[:-1]}"


def agreeing(text: str, after: int, *, many: bool) -> str:
    """The first `is`, `was`, `has` or `does` behind an offset put into the plural, or back.

    >>> agreeing("Which products is the best?", 14, many=True)
    'Which products are the best?'
    """
    forms = _BE if many else {value: key for key, value in _BE.items()}
    match = re.search(rf"\b(?:{'|'.join(forms)})\b", text[after:])
    return text if match is None else text[: after + match.start()] + forms[match[0]] + text[after + match.end() :]


def same_word(one: str, other: str) -> bool:
    """Whether two nouns are one but for number and case."""
    return [stem(t.folded) for t in tokens(one)] == [stem(t.folded) for t in tokens(other)]


def _phrase(
    text: str,
    kind: PhraseKind,
    at: int,
    end: int,
    links: tuple[Link, ...],
    columns: frozenset[tuple[str, str]] = frozenset(),
) -> Phrase:
    quoted = at and end < len(text) and text[at - 1] in "\"'\u2018\u201c" and text[end] in "\"'\u2019\u201d"
    if quoted:
        at, end = at - 1, end + 1
    match = _LEAD.search(text[:at])
    start = match.start("lead") if match else at
    return Phrase(kind, start, at, end, " ".join(match["lead"].split()) if match else "", text[at:end], links, columns)


def _listed(text: str, found: Sequence[Phrase]) -> tuple[Phrase, ...]:
    """Join neighbours that are one list: `Germany and France`, `1996 or 1997`."""
    joined: list[Phrase] = []
    for one in found:
        last = joined[-1] if joined else None
        if last is not None and last.kind == one.kind and one.kind in {"value", "time"} and last.end <= one.at:
            alike = one.kind == "time" or bool(last.columns & one.columns)
            if alike and not one.excludes and _JOINED.match(text[last.end : one.at]):
                both = (*last.links, *one.links)
                columns = last.columns & one.columns
                joined[-1] = Phrase(
                    last.kind, last.start, last.at, one.end, last.lead, text[last.at : one.end], both, columns
                )
                continue
        if last is None or one.at >= last.end:
            joined.append(one)
    return tuple(joined)
