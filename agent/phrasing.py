"""A question as rules and memory see it: literals and names replaced by what they are."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.linked import Grounding, Link
from agent.quantities import without_each_once
from agent.wording import NOT, is_plural

_TIME = frozenset({"date", "month", "quarter", "half", "year"})
_SLOT = {"value": "<value>", "number": "<number>", "limit": "<number>"} | {grain: f"<{grain}>" for grain in _TIME}
_QUOTES = "\"'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_PER_PIECE = re.compile(r"(?:units?|pieces?|items?|heads?|capita)\Z", re.IGNORECASE)
_POLITE = re.compile(
    r"^(?:(?:please|hi|hello|hey|so|and|then|now|ok|okay|also|well) )*"
    r"(?:(?:can|could|would|will) (?:you|we) (?:please |kindly )?|i (?:would|d|'d) (?:like|love) to (?:see|know|have) |"
    r"i (?:want|need) (?:to (?:see|know|have|call) )?|(?:do you know|any (?:idea|clue|chance|thoughts?)) |"
    r"tell me (?=how|what|which|who|whether|if)|please )?"
)
_SAID = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}
_HOW_TO_SHOW = re.compile(
    r"(?<=[.;?!])\s+(?:please\s+)?(?:show|list|give|sort|order|put|include|name|return|print|round|output|"
    r"count\s+only|use)\b.*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as the rules see it.

    `text` is lower case with linked stretches replaced: `<table>` and `<tables>`, `<column>`, `<part>` (of a column's
    name), `<value>`, `<measure>`, `<condition>`, `<number>`, `<time>`. `shown` are the links that stand in it. A last
    sentence that only says what to show is left out.
    """

    text: str
    shown: tuple[Link, ...]
    grounding: Grounding

    def has(self, *patterns: str) -> bool:
        """Whether whole words match one of the patterns somewhere."""
        return any(re.search(rf"(?<![\w<])(?:{pattern})(?![\w>])", self.text) for pattern in patterns)

    def link_at(self, place: int) -> Link | None:
        """The link whose tag stands at an offset into the text."""
        at = len(re.findall(r"<\w+>", self.text[:place]))
        return self.shown[at] if at < len(self.shown) else None

    def starts(self, pattern: str) -> bool:
        return re.match(rf"(?:{pattern})(?![\w>])", self.text) is not None

    def count(self, pattern: str) -> int:
        return len(re.findall(rf"(?<![\w<])(?:{pattern})(?![\w>])", self.text))

    @property
    def head(self) -> str | None:
        """The table asked about: that of the first name in the question, else of the first column."""
        named = (link.table for link in self.shown if link.kind == "table" or link.role == "entity")
        columns = (link.table for link in self.shown if link.kind == "column")
        return next(named, None) or next(columns, None)


def read(question: str, grounding: Grounding) -> Reading:
    """Write the question the way the rules read it, in the spelling that it was read in."""
    question = without_each_once(grounding.question)
    ends = _HOW_TO_SHOW.search(question)
    last = ends.start() if ends and any(link.end <= ends.start() for link in grounding.chosen) else len(question)
    shown: list[Link] = []
    parts: list[str] = []
    at = 0
    for link in grounding.chosen:
        if link.start < at or link.end > last or _transparent(link, grounding):
            continue
        held = next((c for c in grounding.comparisons if c.operator in _SAID and c.start <= link.start < c.end), None)
        if held is not None and link.kind == "number" and at <= held.start:
            parts += [_plain(question[at : held.start]), f" {_SAID[held.operator]} {_tag(link)} "]
            at = max(link.end, held.end)
        else:
            parts += [_plain(question[at : link.start]), f" {_tag(link)} "]
            at = link.end
        shown.append(link)
    text = "".join((*parts, _plain(question[at:last]))).casefold().replace("\u2019", "'")
    text = re.sub(r"n't\b|(?<=\b(?:did|has|was))nt\b|(?<=\b(?:does|have|were))nt\b|(?<=\b(?:do|is))nt\b", " not", text)
    text = re.sub(r"(?<![\w>])'|'s?(?!\w)", " ", text)
    text = " ".join(re.sub(r"[^\w<>%']+", " ", text).split())
    return Reading(_POLITE.sub("", text, count=1), tuple(shown), grounding)


def mask(question: str, grounding: Grounding) -> str:
    """The question with its literals replaced by typed slots; case, spaces and final punctuation do not count.

    `In Germany?` and `in  France` both give `in <value>`. A mask masked again stays as it is.
    """
    question = grounding.question
    parts: list[str] = []
    at = 0
    for link in grounding.chosen:
        slot = _SLOT.get(link.kind)
        if slot is None or link.start < at:
            continue
        parts += [question[at : link.start], f" {slot} "]
        at = link.end
    text = " ".join("".join((*parts, question[at:])).casefold().split())
    text = re.sub(rf"[{_QUOTES}]\s*(<\w+>)\s*[{_QUOTES}](?!\w)", r"\1", text)
    text = re.sub(r"\s+([?!.,;:%)]|['\u2019]s\b)", r"\1", text)
    return text.rstrip(" ?!.;:\u2026")


def _plain(text: str) -> str:
    """Signs and short forms as words: `freight > average`, `no. of`, `w/o`."""
    text = re.sub(r"\b(?:no|nr|num)\.?\s+of\b|#\s?of\b", "number of", text, flags=re.IGNORECASE)
    text = re.sub(r"\bw/o\b", "without", re.sub(r"\bw/(?=\s)", "with", text, flags=re.IGNORECASE), flags=re.IGNORECASE)
    return re.sub(r">=?", " more than ", re.sub(r"<=?", " less than ", text))


def _tag(link: Link) -> str:
    if link.kind in _TIME:
        return "<time>"
    if link.kind in {"number", "limit"}:
        return "<number>"
    if link.kind == "value":
        return "<value>"
    if link.kind == "table" or link.role == "entity":
        return "<table>" if link.verb or not is_plural(link.text.split()[-1].casefold()) else "<tables>"
    if link.kind == "term":
        return {"condition": "<condition>", "measure": "<measure>"}.get(link.role, "<column>")
    return "<part>" if link.quality == "part" else "<column>"


def _transparent(link: Link, grounding: Grounding) -> bool:
    """Whether the words of a link say more than the link.

    So does a glossary condition with a name or a `not` inside (`customers without orders`), an aggregate (`average
    order value`), and the `unit` in `per unit`.
    """
    if link.role == "aggregate" or (link.quality == "part" and _PER_PIECE.match(link.text) and link.kind == "column"):
        return True
    if link.role != "condition":
        return False
    inner = any(link.start <= other.start and other.end <= link.end and other != link for other in grounding.chosen)
    return inner or re.search(rf"\b{NOT}\b|n.t\b", link.text, re.IGNORECASE) is not None
