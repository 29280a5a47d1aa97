"""Other ways to put a question, made by rule: always the same for the same question, never fewer than five."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

FEWEST = 5

_WORDINGS: tuple[tuple[str, str], ...] = (
    (r"^how many (.+?) (?:are|were) there\b", r"what is the number of \1"),
    (r"^how many (.+)", r"give me the count: how many \1"),
    (r"^how much\b", "what amount"),
    (r"^(?:list|show|give|name) (?:me |us )?(?:all |the )*", "which are the "),
    (r"^which\b", "tell me which"),
    (r"^who\b", "tell me who"),
    (r"^when\b", "tell me when"),
    (r"^where\b", "tell me where"),
    (r"^(?:what is|what's|what are|what was|what were) ", "tell me "),
)
_PLACES = re.compile(r"\s+(?=(?:in|from|for|by|per|with|without|during|since|before|after|between|of)\s)", re.I)
_WORD = re.compile(r"[^\W\d_]{4,}")
_LONG_WINDED = (
    "I was just wondering, if it is not too much trouble: {}? Thank you very much in advance.",
    "For the report that we talked about last week I still need to know the following: {}. Could you look it up?",
    "{}, please",
)
_FILLING = (
    "Quick one: {}?",
    "Once more: {}?",
    "And now: {}?",
    "Do you remember this one: {}?",
)


def paraphrases(question: str, synonyms: Iterable[Sequence[str]] = ()) -> tuple[str, ...]:
    """Put a question in other words, in another order, in other cases, with synonyms, with a typo, and at length.

    `synonyms` are groups of words that mean the same, such as the names of a glossary term. All texts differ from one
    another and from the question; there are at least `FEWEST`, of any question.

    >>> len(paraphrases("")) >= FEWEST, paraphrases("List all boats.")[0]
    (True, 'which are the boats')
    """
    bare = " ".join(question.split()).rstrip(" ?!.;:…")
    found = dict.fromkeys(text for text in _made(bare, tuple(synonyms)) if text not in ("", question, bare))
    for frame in _FILLING:
        if len(found) < FEWEST:
            found[frame.format(bare)] = None
    return tuple(found)


def _made(bare: str, synonyms: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from _worded(bare)
    yield from _ordered(bare)
    yield from _named(bare, synonyms)
    yield bare.upper()
    yield bare.lower()
    yield from _mistyped(bare)
    yield from (frame.format(bare) for frame in _LONG_WINDED)


def _worded(bare: str) -> Iterator[str]:
    for pattern, other in _WORDINGS:
        if re.search(pattern, bare, re.I):
            yield re.sub(pattern, other, bare, count=1, flags=re.I)
            return


def _ordered(bare: str) -> Iterator[str]:
    """The last phrase that begins with a preposition, said first."""
    cuts = list(_PLACES.finditer(bare))
    if cuts and cuts[-1].start() > 0:
        first, last = bare[: cuts[-1].start()], bare[cuts[-1].end() :]
        yield f"{last}, {first}"


def _named(bare: str, synonyms: Sequence[Sequence[str]]) -> Iterator[str]:
    """One word in place of another, for the first two groups that have a word in the question."""
    made, spoken = 0, bare.casefold()
    for group in synonyms:
        for name in sorted(group, key=lambda one: (-len(one), one)):
            if not name or name.casefold() not in spoken:
                continue
            others = [one for one in group if one.casefold() != name.casefold() and one.isascii() == name.isascii()]
            place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", bare, re.I) if others else None
            if place:
                yield bare[: place.start()] + others[0] + bare[place.end() :]
                made += 1
                break
        if made == 2:
            return


def _mistyped(bare: str) -> Iterator[str]:
    """Two letters inside the longest word, the other way round; in the first word of that length."""
    words = sorted(_WORD.finditer(bare), key=lambda found: (-len(found[0]), found.start()))
    for word in words:
        at = next((n for n in range(1, len(word[0]) - 2) if word[0][n] != word[0][n + 1]), None)
        if at is not None:
            text = word[0]
            yield bare[: word.start()] + text[:at] + text[at + 1] + text[at] + text[at + 2 :] + bare[word.end() :]
            return
