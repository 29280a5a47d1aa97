"""Everyday words of a question that were mistyped, written as they were meant. Names and values are left to linking.

What rules read is English with its small words spelt right: one letter too many in `whcih` and no rule sees that
something is asked. A word counts as mistyped only if no database name, no stored value and no dictionary has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

from agent.periods import MONTHS
from agent.wording import COMMON, FOREIGN, NUMBER_WORDS, QUOTED, STOP, Token, tokens, words

if TYPE_CHECKING:  # reading its dictionary takes a tenth of a second, which a question without typos does not need
    from spellchecker import SpellChecker

_SHORTEST = 3
_LONG = 9
_RARE = 200
"""How often a word must stand in the dictionary's texts to be meant: `costumer` (103) is mostly a mistyped one."""

_CUES = words(
    """above below between beyond exceed exceeds exceeding cumulative consecutive ordered orders ranking rankings
    proportion highest lowest largest smallest biggest greatest cheapest latest earliest oldest youngest newest longest
    shortest busiest altogether average averages maximum minimum distinct different alphabetical alphabetically
    chronological chronologically separately respectively ascending descending excluding including except more
    greater fewer smaller bigger larger higher lower longer shorter older younger cheaper pricier please thanks
    quarter quarters quarterly monthly yearly weekly daily annual another nowhere anywhere currently country city
    shipped started ended joined hired born weren haven hasn doesn people person eleven thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty hundred thousand january february march april june
    july august september october november december yesterday today comparison compared versus percentage percent"""
)
_NO_APOSTROPHE = re.compile(
    r"\b(?:(?P<verb>are|is|was|were|do|does|did|has|have|had|could|would|should)(?P<not>nt)"
    r"|(?P<asks>what|who|how|where|when|that|there)(?P<is>s))\b",
    re.IGNORECASE,
)
_LAND = re.compile(r"\b(?P<lead>the|our|all|any|different|distinct|every|which|many) us(?= [a-z]+)")
_COMPOUNDS = {"bestseller": "best seller", "bestsellers": "best sellers"}
"""Words that hold a superlative, which is looked for as a word of its own."""
_TWO = {"eachother": "each other", "alot": "a lot", "aswell": "as well", "atleast": "at least", "noone": "no one"}


def respelt(question: str, is_known: Callable[[Token], int]) -> str:
    """Write the mistyped everyday words of an English question as they were meant; the rest stays letter for letter.

    `is_known` gives for a word how many edits part it from a word of the database; 0 where it is one. A word that
    is nearer to the database than to everyday English is left as it is, and so is what stands in quotation marks.
    Doing it twice changes nothing.

    >>> respelt("whcih prodcuts cost mroe then 10, dont ask", lambda token: 1 if token.text == "prodcuts" else 9)
    "which prodcuts cost more than 10, don't ask"
    """
    found = _unquoted(question, lambda text: _LAND.sub(r"\g<lead> US", _apostrophes(text, is_known)))
    quoted = [match.span() for match in QUOTED.finditer(found)]
    all_words = tokens(found)
    latin = [token for token in all_words if token.kind == "latin"]
    if sum(token.text.lower() in FOREIGN and token.folded not in STOP for token in latin) > 1:
        return found
    shouted = found.isupper()
    parts: list[str] = []
    at = 0
    before = ""
    for token in latin:
        if any(a <= token.start < b for a, b in quoted):
            continue
        meant = _meant(token, before, is_known, shouted=shouted)
        before = meant or token.folded
        if meant is not None:
            written = meant if token.text.islower() else meant.upper() if shouted else meant.capitalize()
            parts += [found[at : token.start], written]
            at = token.end
    return "".join((*parts, found[at:]))


def is_word(folded: str) -> bool:
    """Whether a word is common enough in English to be meant as it stands.

    >>> is_word("bottles"), is_word("rang"), is_word("costumer"), is_word("oders")
    (True, True, False, False)
    """
    return int(_dictionary().word_frequency.dictionary.get(folded, 0)) > _RARE


def _meant(token: Token, before: str, is_known: Callable[[Token], int], *, shouted: bool) -> str | None:
    """The word that was meant. A capital inside a question marks a name, unless all of it is in capitals."""
    word = token.folded
    if word == "then" and before in _COMPARED:
        return "than"
    if word in COMMON or word in _CUES or len(word) < _SHORTEST or not token.text.isascii():
        return None
    if token.start and not (shouted or token.text.islower()):
        return None
    if word in _COMPOUNDS:
        return _COMPOUNDS[word]
    edits = is_known(token)
    if edits and word in _TWO:
        return _TWO[word]
    if not edits or _often(word):
        return None
    near = _nearest(word)
    return None if near is None or OSA.distance(word, near) > edits else near


_COMPARED = words(
    "more less fewer higher lower larger smaller bigger greater cheaper older younger longer shorter other"
)


@lru_cache(maxsize=4_096)
def _nearest(word: str) -> str | None:
    """The everyday word that was meant: one edit away, two from nine letters on, and beginning alike.

    Swapped and lost letters go before wrong ones, then the word that is used most. Of words of three and four letters
    only letters swapped or lost count.
    """
    allowed = 1 if len(word) < _LONG else 2
    near = process.extract(word, _everyday().get(word[0], ()), scorer=OSA.distance, score_cutoff=allowed, limit=9)
    ranked = []
    for other, edits, _ in near:
        slipped = sorted(other) == sorted(word) or len(other) > len(word) or _is_doubled(word, other)
        if slipped or len(word) > 4:
            ranked.append((edits, not slipped, -_often(other), other))
    return min(ranked)[-1] if ranked else None


def _is_doubled(word: str, other: str) -> bool:
    """Whether a word is another with one letter twice."""
    return any(word[:at] + word[at + 1 :] == other for at in range(1, len(word)) if word[at] == word[at - 1])


def _often(word: str) -> int:
    return int(_dictionary().word_frequency.dictionary.get(word, 0))


@lru_cache(maxsize=1)
def _everyday() -> dict[str, tuple[str, ...]]:
    letters: dict[str, list[str]] = {}
    for word in sorted(COMMON | _CUES | NUMBER_WORDS.keys() | set(MONTHS)):
        if len(word) >= _SHORTEST and word.isascii() and word.isalpha():
            letters.setdefault(word[0], []).append(word)
    return {letter: tuple(found) for letter, found in letters.items()}


@lru_cache(maxsize=1)
def _dictionary() -> SpellChecker:
    from spellchecker import SpellChecker

    return SpellChecker(language="en")


def _unquoted(question: str, change: Callable[[str], str]) -> str:
    """Change what stands outside quotation marks."""
    parts: list[str] = []
    at = 0
    for match in QUOTED.finditer(question):
        parts += [change(question[at : match.start()]), match[0]]
        at = match.end()
    return "".join((*parts, change(question[at:])))


def _apostrophes(text: str, is_known: Callable[[Token], int]) -> str:
    """`dont` and `whats` as `don't` and `what's`, where they are no words of the database."""

    def put(match: re.Match[str]) -> str:
        if not all(is_known(token) for token in tokens(match[0])):
            return match[0]
        return f"{match['verb']}n't" if match["verb"] else f"{match['asks']}'s"

    return _NO_APOSTROPHE.sub(put, text)
