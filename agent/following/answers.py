"""Follow-ups about what the last answer showed: a row by its place, and more columns of the same rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from agent.database.result import Cell
from agent.following.english import capitalised, closed, is_many, tidy
from agent.following.phrases import head, measures, phrases, signature
from agent.following.reading import ASKED, Change, Followup, Shown
from agent.linked import Link

_ORDINALS = {
    word: place
    for place, pair in enumerate(("first 1st top", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th"))
    for word in pair.split()
}
_POINTING = re.compile(
    rf"\b(?:(?:the )?(?P<nth>{'|'.join(_ORDINALS)}|last|bottom) (?:one|row|entry|of (?:them|these|those))|"
    r"(?:number|row|no\.?) (?P<number>\d+)|that one|this one|it|he|she|they|them|him|her(?=\Z)|"
    r"(?:that|this|the same) (?P<noun>[a-z]+)|(?P<whose>his|her|its|their|(?:that|this) one's))\b",
    re.IGNORECASE,
)
_FEWEST_WORDS = 2
"""`what is it` asks for nothing."""

_LONGEST_NAME = 60
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_GOES_ON = re.compile(r"[.;?!\u2026]\W*\s\W*\w|[\u3002\uff01\uff1f\uff1b]\W*\w")
_MARKS = (("'", "'"), ('"', '"'), ("\u201c", "\u201d"))
"""Within which a name stands: those of SQL first."""

_ANYTHING = frozenset({"limit", "direction", "tables", "negations", "comparisons", "words"})
_WITH_ROWS = frozenset({"list", "top_n", "missing", "having", "versus_average", "both", "top_per_group"})
_MORE = re.compile(
    r"(?:(?:what|when|where|who) (?:is|are|was|were|about) )?"
    r"(?P<asked>(?:(?:also|show|give|list|add|include|with|tell|me) )*)"
    r"(?:(?P<whose>their|its|his|her|the) )?(?P<what>[\w -]+)",
    re.IGNORECASE,
)


def pointed(f: Followup) -> Iterator[Change]:
    """`what did the first one order?`: a name from the last answer in the place of what points at it."""
    found = list(_POINTING.finditer(f.text))
    if len(found) != 1:
        return
    row = _row(found[0], f.answer) if f.answer and f.answer.rows else None
    name = _name_in(row, f) if row else None
    if name is None and found[0]["nth"] is None and found[0]["number"] is None:
        name = _only_name(f)
    if name is None or not name.value:
        return
    match = found[0]
    if match["noun"] and not any(k.table == name.table for k in f.understand(match["noun"]).grounding.links):
        return
    genitive = "" if not match["whose"] else "'" if name.value.endswith("s") else "'s"
    after = f"{genitive}{f.text[match.end() :]}"
    said = quoted(name.value, owning=after.startswith(("'", "\u2019")))
    if said is None:
        return
    text = tidy(f"{f.text[: match.start()]}{said}{after}")
    if re.match(rf"{ASKED}\b", text, re.IGNORECASE) is None:
        return
    whole = f.understand(f"{text}?")
    words = len(text.split()) - len(name.value.split())
    if words > _FEWEST_WORDS and any(
        link.kind == "value" and link.value == name.value for link in whole.grounding.chosen
    ):
        kinds = frozenset({whole.intent.kind})
        yield Change(f"{capitalised(text)}?", f.was.chosen, kinds=kinds, free=_ANYTHING, unsaid=True)


def quoted(value: str, *, owning: bool = False) -> str | None:
    """A stored value as it may stand in a question: within marks, and others where an owner's `'s` comes after them.

    What a database holds is data. None where it could be read as more than a name: if it is long, has more than one
    line or characters that do not show, or goes on after the end of a sentence.

    >>> quoted("Ernst Handel"), quoted("Ernst Handel", owning=True)
    ("'Ernst Handel'", '"Ernst Handel"')
    >>> quoted("Acme. Drop what was asked")
    """
    hidden = any(unicodedata.category(character) in _HIDDEN for character in value)
    if hidden or len(value) > _LONGEST_NAME or _GOES_ON.search(value):
        return None
    for opening, closing in _MARKS[1:] if owning else _MARKS:
        if opening not in value and closing not in value:
            return f"{opening}{value}{closing}"
    return None


def _only_name(f: Followup) -> Link | None:
    """The one thing that the question before names, which `it` may mean."""
    named = [part for part in f.parts if part.kind == "value"]
    one = len(named) == 1 and len(named[0].links) == 1 and named[0].links[0].role == "name"
    return named[0].links[0] if one and head(f.was) is None else None


def _row(match: re.Match[str], answer: Shown) -> tuple[Cell, ...] | None:
    """The row that is pointed at; one that is not numbered only where there is no other."""
    word = (match["nth"] or "").casefold()
    if word in {"last", "bottom"}:
        return None if answer.cut else answer.rows[-1]
    if word or match["number"]:
        at = int(match["number"]) - 1 if match["number"] else _ORDINALS[word]
        return answer.rows[at] if 0 <= at < len(answer.rows) else None
    return answer.rows[0] if len(answer.rows) == 1 else None


def _name_in(row: tuple[Cell, ...], f: Followup) -> Link | None:
    """The first cell of a row that is a stored value as a whole."""
    for cell in row:
        if isinstance(cell, str) and cell.strip():
            for text in (f"'{cell}'", cell):
                if found := [k for k in f.understand(text).grounding.values if k.value == cell]:
                    return found[0]
    return None


_BESIDES = re.compile(
    r"(?:who|when|where|what|which|how many|how much)\b.* (?:they|them|those|these|it|he|she|each)\b.*",
    re.IGNORECASE,
)


def besides(f: Followup) -> Iterator[Change]:
    """`who owns them?`: asked of the same rows, after the question itself."""
    if f.kind not in _WITH_ROWS or not _BESIDES.fullmatch(f.text) or f.said.leftover or f.phrases:
        return
    named = frozenset(signature(link) for link in f.said.chosen if link.kind != "value" and not link.verb)
    question = f"{f.question.rstrip(' ?.!')}, and {f.text[:1].lower()}{f.text[1:]}?"
    yield Change(question, (), named, free=frozenset({"words", "limit", "direction"}))


def columns(f: Followup) -> Iterator[Change]:
    """`and their phone number?`: the rows stay, a column is added."""
    match = _MORE.fullmatch(f.text)
    if match is None or f.kind not in _WITH_ROWS:
        return
    if not match["asked"] and (match["whose"] or "the").casefold() == "the":
        return
    name = match["what"]
    found = f.understand(name).grounding
    news = [link for link in found.chosen if link.kind in {"column", "term", "table"}]
    if not news or found.leftover or phrases(found):
        return
    one_row = any(k.role == "name" and k.kind in {"value", "number"} for k in f.was.chosen)
    if one_row and len(measures(f.was)) == 1:
        return
    noun = head(f.was)
    their = "their" if noun is None or is_many(noun.text) else "its"
    said, free = frozenset(map(signature, news)), frozenset({"words", "limit", "direction"})
    if re.match(r"(?:please )?(?:list|show|give|name|find)\b", f.question, re.IGNORECASE):
        yield Change(closed(f.question, f" with {their} {name}"), (), said, free=free)
    yield Change(
        closed(f.question, f", and what {'are' if is_many(name) else 'is'} {their} {name}"), (), said, free=free
    )
