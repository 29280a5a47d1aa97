"""Follow-ups made whole: `and in 1998?` after a question becomes that question, asked of 1998. Pure.

Each rule says what the whole question may be; it counts only if it links to what the follow-up named and still to
everything that was not replaced. What no rule fits is None: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.attempt import Understood
from agent.following.answers import besides, columns, pointed
from agent.following.english import capitalised, tidy
from agent.following.literals import clause, literal, shifted, wider
from agent.following.phrases import Phrase, is_noun, phrases, signature
from agent.following.reading import Change, Followup, Shown, Understand, fits, literals, read
from agent.following.rows import counted, limit, order, other_end
from agent.following.subjects import aggregate, grouping, measured, share, subject
from agent.following.talk import nudge
from agent.following.wholes import whole
from agent.linked import Grounding
from agent.wording import tokens, words

__all__ = ["RULES", "Rewritten", "Rule", "Shown", "holds", "nudge", "rewrite"]

_LONGEST = 200
"""Characters of a follow-up that rules look at; who writes more writes a whole question."""
_TIME_WORDS = words(
    "day days week weeks month months quarter quarters year years last next previous ago recent today yesterday now"
)
_SORTING = re.compile(
    r"\b(?:sort|order(?:ed)? by|order (?:it|them|those|these)\b|rank|alphabetical|ascending|descending)", re.IGNORECASE
)
_POINTS_BACK = re.compile(r"\b(?:the (?:first|second|third|last) one|(?:is|was|are|were) that)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A whole question, and the name of the rule that made it; `whole` where it was one already."""

    question: str
    rule: str


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
    known: dict[str, Understood] = {}

    def once(question: str) -> Understood:
        if question not in known:
            known[question] = understand(question)
        return known[question]

    if len(text) > _LONGEST:
        return Rewritten(text, "whole") if once(text).grounding.evidence.level == "strong" else None
    return _by_rule(previous, text, once, answer) or _in_two_steps(previous, text, once, answer)


def holds(before: Understood, said: Grounding, after: Understood) -> bool:
    """Whether a whole question that a model wrote has all that the follow-up named, and what it left alone.

    A literal before may be missing only if the follow-up names one of the same kind or column. Nothing may be in it
    that neither of the two said: no name, literal, unknown word, negation or superlative. What it asks for, rows of
    a table or an order, stays unless the follow-up names other rows.
    """
    was, now = before.grounding, after.grounding
    there = {signature(link) for link in now.links}
    news = phrases(said)
    kept = (part.literals for part in phrases(was) if not any(_may_replace(one, part) for one in news))
    needed = literals(said).union(_names(said), *kept)
    spoken = {word.casefold() for word in said.leftover}
    words_said = {token.folded for text in (was.question, said.question) for token in tokens(text)}
    words_now = {token.folded for token in tokens(now.question)}
    known = {word.casefold() for word in (*was.leftover, *said.leftover)}
    invented = (literals(now) | _names(now)) - literals(was) - literals(said) - _names(was) - _names(said)
    faithful = (
        needed <= there
        and spoken <= words_now
        and {word.casefold() for word in now.leftover} <= known
        and not invented
        and not words_now & _TIME_WORDS - words_said
        and now.direction in {was.direction, said.direction}
        and len(now.negations) <= len(was.negations) + len(said.negations)
    )
    things = _things(was)
    goes_on = bool(things & there or not things or _things(said)) and bool(_names(was) & there or _names(said))
    goes_on = goes_on and not (_SORTING.search(said.question) and not _SORTING.search(now.question))
    changed = now.question.rstrip("?. ").casefold() != was.question.rstrip("?. ").casefold()
    return faithful and goes_on and changed and not now.nothing_linked and not _POINTS_BACK.search(now.question)


def _by_rule(previous: Understood, text: str, understand: Understand, answer: Shown | None) -> Rewritten | None:
    f = read(previous, text, understand, answer)
    if f is None:
        return None
    english = previous.grounding.english
    for rule in RULES if english else _IN_ANY_LANGUAGE:
        for change in rule.changes(f):
            if change.question != f.question and (rule.name == "whole" or fits(change, f)):
                return Rewritten(capitalised(change.question), rule.name)
    return None


def _in_two_steps(previous: Understood, text: str, understand: Understand, answer: Shown | None) -> Rewritten | None:
    """`top 3 in Germany`: first what is no literal, then each literal, as if they had been said one by one."""
    f = read(previous, text, understand, answer)
    if f is None or not f.rest:
        return None
    for one in reversed(f.phrases):
        others = tidy(f"{f.text[: one.start]} {f.text[one.end :]}")
        if one.kind in {"limit", "number", "compared"} or not others:
            continue
        first = rewrite(previous, others, understand, answer)
        if first is None or first.rule == "whole":
            continue
        then = _by_rule(understand(first.question), f"only {f.text[one.start : one.end]}", understand, None)
        if then is not None and then.rule == "literal":
            return Rewritten(then.question, first.rule)
    return None


def _things(grounding: Grounding) -> frozenset[tuple[str, str]]:
    """The signatures of the tables whose rows a text names."""
    return frozenset(signature(link) for link in grounding.chosen if is_noun(link) and not link.verb)


def _names(grounding: Grounding) -> frozenset[tuple[str, str]]:
    """The signatures of the tables, terms and columns that a text names."""
    kinds = {"table", "term", "column"}
    return frozenset(signature(link) for link in grounding.chosen if link.kind in kinds and not link.verb)


def _may_replace(one: Phrase, part: Phrase) -> bool:
    """Whether a phrase may stand in the place of another."""
    if one.excludes != part.excludes:
        return False
    if part.kind == one.kind == "value":
        return bool(part.columns & one.columns)
    numbers = {"compared", "number", "limit"}
    return part.kind == one.kind == "time" or {part.kind, one.kind} <= numbers


_GERMANY = "Which customers are located in Germany?"
_IN_1997 = "How many orders were placed in 1997?"
_FREIGHT = "What was the total freight in 1997?"
_COUNT = "How many customers are in Germany?"
_THEIR_PHONES = "Which customers are located in Germany, and what are their phone numbers?"
_BEST = "Which five customers brought the most revenue?"
_SHORT = "Which products are out of stock?"
_SUPPLIERS_TOO = "Which products are out of stock, and which suppliers deliver them?"
_MOST_ORDERS = "Which customer placed the most orders?"

RULES: tuple[Rule, ...] = (
    Rule("counted", (_GERMANY, "how many are there?", "How many customers are located in Germany?"), counted),
    Rule("share", (_COUNT, "as a percentage", "What percentage of customers are in Germany?"), share),
    Rule("order", (_GERMANY, "sorted by city", "Which customers are located in Germany, sorted by city?"), order),
    Rule("limit", (_BEST, "top 3", "Which 3 customers brought the most revenue?"), limit),
    Rule("other_end", (_BEST, "and the least?", "Which five customers brought the least revenue?"), other_end),
    Rule("shifted", (_IN_1997, "and the year before?", "How many orders were placed in 1996?"), shifted),
    Rule("wider", (_IN_1997, "for all years", "How many orders were placed?"), wider),
    Rule("pointed", (_MOST_ORDERS, "what did they order?", "What did 'Save-a-lot Markets' order?"), pointed),
    Rule("columns", (_GERMANY, "and their phone numbers?", _THEIR_PHONES), columns),
    Rule("whole", (_COUNT, "which products are discontinued?", "Which products are discontinued?"), whole),
    Rule("grouping", (_FREIGHT, "per month", "What was the total freight in 1997 per month?"), grouping),
    Rule("literal", (_IN_1997, "and in 1998?", "How many orders were placed in 1998?"), literal),
    Rule(
        "clause",
        (_GERMANY, "only those without a fax", "Which customers without a fax are located in Germany?"),
        clause,
    ),
    Rule("aggregate", (_FREIGHT, "and the average?", "What was the average freight in 1997?"), aggregate),
    Rule("measured", (_FREIGHT, "and the revenue?", "What was the total revenue in 1997?"), measured),
    Rule("besides", (_SHORT, "which suppliers deliver them?", _SUPPLIERS_TOO), besides),
    Rule("subject", (_COUNT, "what about suppliers?", "How many suppliers are in Germany?"), subject),
)
"""Tried in this order. To cover another kind of follow-up, add one rule with an example and golden pairs."""

_IN_ANY_LANGUAGE = tuple(rule for rule in RULES if rule.name in {"literal", "whole"})
"""Those that put no English words into a question of another language, where they replace."""
