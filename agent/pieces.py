"""Names that a question says in pieces: their words stand apart, in another order, or only some of them are there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from agent.meanings import Meaning, Span
from agent.wording import COMMON, STOP, Token, is_plural, stem, tokens, words

_DONE_BY = dict.fromkeys(("bought", "purchased", "purchase", "ordered", "order"), "buy") | {
    "sold": "sell",
    "spent": "spend",
    "paid": "pay",
    "made": "make",
    "taught": "teach",
    "drove": "drive",
    "wrote": "write",
}
_TRADED = frozenset({"bu", "sell"})
"""What one buys another sells: `pieces` that were ordered are the pieces that were sold."""
_SENT = frozenset({"ship", "send", "sent"})
MONEY = ("spent", "revenue", "turnover")
"""What people say for the money that changes hands, the surest first."""
_NO_PIECES = words("total totals number count sum amount size average volume given made brought taken")
"""Words that ask for a figure of whatever stands beside them, or that say what was done, so are no piece of a name."""
_NEAR = 6
_LONGEST = 8
_ACTIVE = words("did do does have has had")
_PASSIVE = words("was were is are")
_HOLDING = words("more less over under above below at up to a total of least most no than the sum some about")
_ANY_MORE = frozenset({"any more", "any longer"})
_NOT = words("not no never nothing none nobody cannot")
_NO_MORE = re.compile(r"\bno longer (?P<verb>\w+)\Z")


class Names(Protocol):
    """The names of a database by their stems, and whether a stem is a part of the name of a column."""

    def named(self, key: str) -> Sequence[Meaning]: ...

    def is_part(self, word: str) -> bool: ...


def done(token: Token) -> str:
    """What the forms of a verb have in common, bought and ordered things being one: `buys` and `ordered` give `bu`.

    >>> [done(token) for token in tokens("carries sold spent")]
    ['carr', 'sell', 'spend']
    """
    return _root(stem(_DONE_BY.get(token.folded, token.folded)))


def doer(name: str) -> str:
    """The verb of one who does it, as `done` gives it.

    >>> doer("buyer"), doer("supplier")
    ('bu', 'suppl')
    """
    return _root(name[:-2])


class Pieces:
    """The names that may be said in pieces. Filled while the names of a database are indexed, then only read."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._verbs_of: dict[str, list[tuple[str, Meaning]]] = {}
        self._nouns_of: dict[str, list[tuple[str, Meaning]]] = {}
        self._ended: dict[str, list[Meaning]] = {}

    def note_amount(self, name: Sequence[Token], meaning: Meaning) -> None:
        """Note an amount that is named by noun and verb, `units sold` or `sold units`."""
        verbs = [word.folded in _DONE_BY for word in name]
        if len(name) == 2 and sum(verbs) == 1:
            noun, verb = (name[1], name[0]) if verbs[0] else name
            self._verbs_of.setdefault(noun.stem, []).append((done(verb), meaning))

    def note_measure(self, name: Sequence[Token], meaning: Meaning) -> None:
        """Note a measure that is named by a thing and an everyday noun: `order value`, `value of an order`."""
        said = [word for word in name if word.folded not in STOP]
        known = [word for word in said if self._names.named(word.stem)]
        nouns = [word for word in said if word not in known and word.folded in COMMON]
        if len(said) == 2 and len(known) == 1 and len(nouns) == 1 and nouns[0].folded not in _NO_PIECES:
            self._nouns_of.setdefault(nouns[0].stem, []).append((known[0].stem, meaning))

    def note_condition(self, name: str, meaning: Meaning) -> None:
        """Note what is said to have come to an end: `no longer sold`."""
        if (match := _NO_MORE.search(name)) is not None:
            self._ended.setdefault(done(tokens(match["verb"])[0]), []).append(meaning)

    def amounts(self, said: Sequence[Token], used: set[int]) -> Iterable[tuple[int, Meaning]]:
        """The nouns of amounts whose verb stands elsewhere: the `units` of "how many units has every clerk sold"."""
        roots = [done(token) for token in said]
        traded = _TRADED | _SENT
        for place, token in enumerate(said):
            if place in used or token.folded in STOP:
                continue
            for verb, meaning in self._verbs_of.get(token.stem, ()):
                known = self._names.is_part(token.stem)
                if verb in roots or (verb in _TRADED and not known and traded.intersection(roots)):
                    yield place, meaning
                    break

    def measures(
        self, said: Sequence[Token], found: Sequence[Span], used: set[int]
    ) -> Iterable[tuple[int, Meaning, Span]]:
        """The everyday nouns of measures, each with the stretch of the thing it is said of: the `value` and `order` of
        "which order had the highest value"."""
        for place, token in enumerate(said):
            for thing, meaning in self._nouns_of.get(token.stem, ()) if place not in used else ():
                near = [s for s in found if s.last - s.first == 1 and said[s.first].stem == thing]
                beside = min(near, key=lambda span: abs(span.first - place), default=None)
                if beside is not None and abs(beside.first - place) <= _NEAR:
                    yield place, meaning, beside
                    break

    def ended(self, said: Sequence[Token]) -> Iterable[Span]:
        """What is called `no longer sold` in other words: `don't we sell any more`, from the `not` to the `more`."""
        text = [word.folded for word in said]
        for last in range(1, len(text) + 1):
            if text[last - 1] != "anymore" and " ".join(text[max(0, last - 2) : last]) not in _ANY_MORE:
                continue
            no = [at for at in range(max(0, last - _LONGEST), last) if _is_not(text, at)]
            for token in said[no[-1] : last] if no else ():
                if meanings := self._ended.get(done(token)):
                    yield Span(no[-1], last, tuple(meanings))
                    break


def money_places(said: Sequence[Token]) -> Iterable[int]:
    """Where money is meant that no word names: the `for` of `bought for 900`, the `sell` of `how much did we sell`.

    >>> asked = ("goods sold for over 900", "how much did we sell", "how much tea did we sell")
    >>> [list(money_places(tokens(text))) for text in asked]
    [[2], [4], []]
    """
    text = [word.folded for word in said]
    verb = next((text[at] for at in range(2, len(text)) if text[at - 2 : at] == ["how", "much"]), "")
    for place, token in enumerate(said):
        if done(token) not in _TRADED or is_plural(token.folded):
            continue
        if text[place + 1 : place + 2] == ["for"] and _holds(said, place + 2):
            yield place + 1
        elif verb in _ACTIVE or (verb in _PASSIVE and token.folded in _DONE_BY and token.folded.endswith(("d", "t"))):
            yield place


def _holds(said: Sequence[Token], place: int) -> bool:
    """Whether a number, perhaps held against something, stands at a place."""
    while place < len(said) and said[place].folded in _HOLDING:
        place += 1
    return place < len(said) and said[place].kind == "number"


def _is_not(text: Sequence[str], at: int) -> bool:
    return text[at] in _NOT or (text[at + 1 : at + 2] == ["t"] and text[at].endswith("n"))


def _root(word: str) -> str:
    """`carry` and `carri` meet here."""
    return word.rstrip("iye") or word
