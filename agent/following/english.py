"""Changing a question so that it stays English: edits, endings, one and many. Questions have single spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.wording import is_plural, tokens

_SORTED = re.compile(
    r",? ?\b(?:(?:sorted|ordered|arranged|ranked) (?:by|in|from|alphabetically)\b.*|alphabetically|"
    r"in (?:reverse|descending|ascending|alphabetical|chronological)(?: (?:alphabetical|chronological))? order|"
    r"(?<=, )(?:[\w-]+ ){1,4}first)\Z",
    re.IGNORECASE,
)
_SHARED = re.compile(r",? (?:as|in) (?:a )?(?:percentage|percent|share|fraction)\b.*\Z", re.IGNORECASE)
_ASKED_TOO = re.compile(r",? and (?:what (?:is|are)|when|where|who)\b.*\Z| with (?:their|its)\b.*\Z", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.;?!]) (?=\S).*\Z", re.DOTALL)
_BE = {"is": "are", "was": "were", "has": "have", "does": "do"}
_IRREGULAR = {"person": "people", "man": "men", "woman": "women", "child": "children"}


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in the place of `start` to `end`."""

    start: int
    end: int
    text: str


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


def added(text: str, phrase: str) -> str:
    """The question with a phrase at the end of its body: before how to sort, a share, and what is asked besides.

    >>> added("Which customers are there, sorted by name?", "in Kiel")
    'Which customers are there in Kiel, sorted by name?'
    """
    sentence = _SENTENCE.search(text)
    end = len(text[: sentence.start() if sentence else None].rstrip(" ?.!"))
    for pattern in (_SORTED, _SHARED, _SORTED, _ASKED_TOO):
        if match := pattern.search(text[:end]):
            end = match.start()
    return tidy(f"{text[:end]} {phrase}{text[end:]}")


def closed(text: str, phrase: str) -> str:
    """The question with a phrase at its very end, before the final mark.

    >>> closed("Which boats are there?", ", newest first")
    'Which boats are there, newest first?'
    """
    end = len(text.rstrip(" ?.!"))
    return tidy(f"{text[:end]}{phrase}{text[end:]}")


def sorting(text: str) -> tuple[int, int] | None:
    """Where a question says how to sort, or None.

    >>> sorting("List the boats, newest first.")
    (14, 28)
    """
    end = len(text.rstrip(" ?.!"))
    match = _SORTED.search(text[:end])
    return None if match is None else (match.start(), end)


def capitalised(text: str) -> str:
    """The text with its first letter large, the others as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def is_many(noun: str) -> bool:
    """Whether the last word of a noun is a plural."""
    words = noun.split()
    return bool(words) and is_plural(words[-1].casefold())


def plural(noun: str) -> str:
    """The plural of an English noun.

    >>> plural("category"), plural("customer"), plural("orders"), plural("sales person"), plural("ketch")
    ('categories', 'customers', 'orders', 'sales people', 'ketches')
    """
    front, space, last = noun.rpartition(" ")
    folded = last.casefold()
    if is_many(noun):
        return noun
    if folded in _IRREGULAR:
        return f"{front}{space}{_IRREGULAR[folded]}"
    if re.search(r"[^aeiou]y\Z", folded):
        return f"{front}{space}{last[:-1]}ies"
    return f"{noun}es" if re.search(r"(?:s|x|z|ch|sh)\Z", folded) else f"{noun}s"


def singular(noun: str) -> str:
    """The singular of an English noun.

    >>> singular("categories"), singular("customers"), singular("people"), singular("address")
    ('category', 'customer', 'person', 'address')
    """
    front, space, last = noun.rpartition(" ")
    folded = last.casefold()
    one = {many: one for one, many in _IRREGULAR.items()}.get(folded)
    if one or not is_many(noun):
        return f"{front}{space}{one or last}"
    if folded.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if re.search(r"(?:sses|shes|ches|xes|zes)\Z", folded) else noun[:-1]


def agreeing(text: str, after: int, *, many: bool) -> str:
    """The first `is`, `was`, `has` or `does` behind an offset put into the plural, or back.

    >>> agreeing("Which products is the best?", 14, many=True)
    'Which products are the best?'
    """
    forms = _BE if many else {many_: one for one, many_ in _BE.items()}
    match = re.search(rf"\b(?:{'|'.join(forms)})\b", text[after:])
    return text if match is None else text[: after + match.start()] + forms[match[0]] + text[after + match.end() :]


def same_word(one: str, other: str) -> bool:
    """Whether two nouns are one but for number and case.

    >>> same_word("Customers", "customer"), same_word("order", "product")
    (True, False)
    """
    return [token.stem for token in tokens(one)] == [token.stem for token in tokens(other)] != []
