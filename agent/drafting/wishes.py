"""What a question wants to see: the one thing behind `which`, and figures named side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.drafting.literals import Column
from agent.drafting.saying import Thing, canonical, display, qualifies
from agent.keys import qualified
from agent.linked import Grounding, Link
from agent.linking import Lexicon

_HEAD = re.compile(
    r"\A\W*(?:(?:for|in|of|to|from|on|by|with|at)\s+)?(?:which|what)\s+(?:of\s+)?(?:(?:our|the|these|other|different)\s+)*",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"[:;]|\band\s+(?:how|what|which|when|who|where|by|with|at|its|their|the|his|her|also)\b|\balso\b|\bplus\b"
    r"|\b(?:together|along)\s+with\b|\bwith\s+(?:its|their|the|his|her|how)\b|[,(]\s*(?:with|and|plus)\b"
    r"|\b(?:pairs?|both|each other|side by side)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[?!](?=\s+\w)|\.\s+(?=[A-Z])")
_ONCE = re.compile(r"\s*(?:each|every)(?:\s+\w+)?\s+(?:only\s+)?once\W*\Z|\W*\Z", re.IGNORECASE)
_ENDS = (
    ("MIN", r"lowest|smallest|cheapest|least|minimum|min|minimal"),
    ("MAX", r"highest|largest|biggest|greatest|dearest|most expensive|maximum|max|maximal"),
    ("AVG", r"average|mean|avg"),
    ("SUM", r"total|sum of"),
    ("COUNT", r"number of|how many|count of"),
)
_WORDS = "|".join(f"(?P<{name}>{words})" for name, words in _ENDS)
_FIGURE = re.compile(rf"\b(?:{_WORDS})\b", re.IGNORECASE)
_BETWEEN = re.compile(r"\W*(?:(?:and|plus|&|as well as|the|their|its|with|a|an|of)\W+)*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of several rows: `by` SUM, AVG, MIN or MAX of an amount, or COUNT of rows. `table` is whose it is."""

    by: str
    of: str = ""
    table: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Figure) and (self.by, self.of) == (other.by, other.of)

    def __hash__(self) -> int:
        return hash((self.by, self.of))

    def __str__(self) -> str:
        return f"{self.by} of {self.of or 'rows'}"


@dataclass(frozen=True, slots=True)
class Head:
    """What stands behind `which`, the columns that show it, and whether the question asks for nothing else."""

    thing: Thing
    columns: tuple[Column, ...]
    alone: bool


def head_asked(grounding: Grounding, lexicon: Lexicon) -> Head | None:
    """The rows or values that a question asks for by `which` or `what`; None where it does not begin so."""
    question = grounding.question
    match = _HEAD.match(question)
    link = next((k for k in grounding.chosen if match and k.start >= match.end()), None)
    if match is None or link is None or question[match.end() : link.start].strip() or link.verb:
        return None
    if link.column is None and qualifies(link, grounding):
        # `which category description` asks for the description.
        own = [k for k in grounding.chosen if k.start >= link.end and k.table == link.table and k.column]
        link = next(k for k in own if k.kind in ("column", "term"))
    if link.table is None:
        return None
    if link.kind not in ("table", "column", "term") or link.role in ("condition", "measure", "aggregate", "amount"):
        return None
    shown = display(link.table, lexicon)
    rows = link.kind == "table" or link.role == "entity" or link.column is None or link.column in shown
    columns = tuple((link.table, column) for column in (shown if rows else (link.column or "",)))
    end = _SENTENCE.search(question)
    over = end is None or _ONCE.match(question, end.end()) is not None
    alone = over and _MORE.search(question) is None
    return Head(Thing(link.table, None if rows else link.column), columns, alone)


def figures_asked(grounding: Grounding, lexicon: Lexicon) -> tuple[Figure, ...]:
    """The figures that a question names side by side, in its order; empty where it names fewer than two so.

    `the lowest, the average and the highest price` are three of one amount, `number of products and their average
    price` two of two.
    """
    question = grounding.question
    best: tuple[Figure, ...] = ()
    run: list[Figure] = []
    open_: list[str] = []
    end = -1
    for match in _FIGURE.finditer(question):
        if match.start() < end:
            continue
        if end >= 0 and _BETWEEN.fullmatch(question, end, match.start()) is None:
            run, open_ = [], []
        open_.append(match.lastgroup or "")
        end = match.end()
        named = _amount(grounding, lexicon, end)
        if named is None:
            continue
        link, of = named
        if any((name == "COUNT") != (not of) for name in open_):
            run, open_, end = [], [], link.end
            continue
        run += [Figure(name, of, link.table or "") for name in open_]
        open_, end = [], link.end
        if len(run) > 1 and len(set(run)) == len(run):
            best = tuple(run)
    return best


def _amount(grounding: Grounding, lexicon: Lexicon, at: int) -> tuple[Link, str] | None:
    """The amount or the rows named right behind a word, and the SQL of the amount."""
    links: Sequence[Link] = [k for k in grounding.chosen if k.start >= at and not k.verb]
    dialect = lexicon.schema.dialect
    for link in links[:3]:
        gap = grounding.question[at : link.start]
        if len(gap.split()) > 1 or re.search(r"[^\w\s-]|\b(?:and|of|in|on|for)\b", gap):
            return None
        if link.role == "amount" and link.table and link.column:
            return link, canonical(qualified(link.table, link.column, dialect), dialect)
        if link.kind == "table" or link.role == "entity":
            after = [k for k in links if k.start >= link.end and k.role == "amount"]
            if after and not grounding.question[link.end : after[0].start].strip(" '\u2019s"):
                at = link.end
                continue
            return link, ""
        if link.role == "condition":
            at = link.end
            continue
        return None
    return None
