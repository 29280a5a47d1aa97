"""The literals of a question as slots: what each is, where it belongs, and which may take the place of which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import combinations
from typing import Literal

from agent.drafting.times import Part, Time, as_text, forms, time_of, written
from agent.linked import Grounding, Link
from agent.linking import Lexicon, Meaning
from agent.wording import ALIASES, fold

SlotKind = Literal["value", "key", "number", "limit", "date", "month", "quarter", "half", "year", "recurring"]

Column = tuple[str, str]
"""A table and one of its columns, as the schema writes them."""

_TIMES = frozenset({"date", "month", "quarter", "half", "year"})
_PLAIN_NUMBER = re.compile(r"(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?\Z", re.ASCII)
_PLAIN_LIMIT = re.compile(r"[1-9]\d{0,5}\Z", re.ASCII)
# Where a point and a comma mean what in a number hangs on who writes it.
_EITHER_WAY = re.compile(r"\d{1,3}\.\d{3}(?!\d)|\d+,\d{1,2}(?!\d)|\d+,\d{4,}")
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Slot:
    """One literal of a question, in its place. `column` is the one that its link names, of a value or a key.

    `seats` are all columns among the tables in question that hold the value. `percent` says that a number is one of
    a hundred.
    """

    kind: SlotKind
    text: str
    column: Column | None = None
    seats: frozenset[Column] = frozenset()
    percent: bool = False

    @property
    def time(self) -> Time | None:
        return time_of("month" if self.kind == "recurring" else self.kind, self.text)

    @property
    def size(self) -> Decimal | None:
        """What slots of one kind are ordered by; None where an order says nothing."""
        if self.kind == "value":
            return None
        if (time := self.time) is not None:
            return Decimal(time.since.toordinal())
        return Decimal(self.text)


@dataclass(frozen=True, slots=True)
class Use:
    """One literal of a query that stands for a slot.

    `at` is its place among the literals of the query, `slot` the place of the slot, `form` how the query writes it
    (`value`, `number`, `hundredth`, `limit`, or a form of a time), `part` the part of a date, `tail` what follows.
    `least` is the smallest number that may stand there: what is counted over a join or a group is never none.
    """

    at: int
    slot: int
    form: str
    quoted: bool
    part: Part | None = None
    tail: str = ""
    least: int = 0

    def written(self, slot: Slot) -> str | None:
        """What the query writes for another slot; None where the form has no way to."""
        if self.part is None:
            if self.least and Decimal(slot.text) < self.least:
                return None
            return f"{(Decimal(slot.text) / 100).normalize():f}" if self.form == "hundredth" else slot.text
        time = slot.time
        if time is None or self.form not in forms(self.part, time.kind):
            return None
        try:
            return as_text(written(time, self.form), self.part, quoted=self.quoted) + self.tail
        except (ValueError, OverflowError):
            return None


def slots_of(grounding: Grounding, lexicon: Lexicon, tables: Iterable[str]) -> tuple[Slot, ...] | None:
    """The literals of a question, as `mask` replaces them; None where one is in doubt.

    `tables` are those among which a value must not link to more columns than it did when it was learned.
    """
    found = [_slot(link, grounding, lexicon, frozenset(tables)) for link in slot_links(grounding)]
    sure = tuple(slot for slot in found if slot is not None)
    return sure if len(sure) == len(found) else None


def alike(learned: Sequence[Slot], asked: Sequence[Slot]) -> bool:
    """Whether literals may take the places of others: of the same kinds and columns, no more ambiguous, in the same
    order of size, equal where those are equal, whatever their kinds."""
    if [(one.kind, one.column, one.percent) for one in learned] != [(o.kind, o.column, o.percent) for o in asked]:
        return False
    if any(not other.seats <= one.seats for one, other in zip(learned, asked, strict=True)):
        return False
    return all(
        _relation(learned[here], learned[there]) == _relation(asked[here], asked[there])
        for here, there in combinations(range(len(learned)), 2)
    )


def slot_links(grounding: Grounding) -> list[Link]:
    """The links whose words are literals, in reading order."""
    found: list[Link] = []
    for link in grounding.chosen:
        is_slot = link.kind in _TIMES or link.kind in ("value", "number", "limit")
        if is_slot and (not found or link.start >= found[-1].end):
            found.append(link)
    return found


def meanings_of(text: str, lexicon: Lexicon) -> tuple[Meaning, ...]:
    """All that a text may mean, as a whole, in quotation marks and without."""
    words = lexicon.read(text)
    spans = lexicon.spans(words, quotes=[(0, len(words))]) + lexicon.spans(words) if words else ()
    whole = (span for span in spans if (span.first, span.last) == (0, len(words)) and span.quality == "exact")
    return tuple(dict.fromkeys(meaning for span in whole for meaning in span.meanings))


def _slot(link: Link, grounding: Grounding, lexicon: Lexicon, tables: frozenset[str]) -> Slot | None:
    text = link.value
    if text is None:
        return None
    if link.kind == "value":
        return _value_slot(link, text, lexicon, tables)
    is_share = _PERCENT.match(grounding.question[link.end :]) is not None
    if link.kind == "limit":
        return Slot("limit", text) if _PLAIN_LIMIT.match(text) and not is_share else None
    if link.kind == "number":
        before = grounding.question[: link.start].rstrip()
        unclear = _EITHER_WAY.fullmatch(link.text.strip()) is not None or before.endswith(("-", "\u2212"))
        if unclear or not _PLAIN_NUMBER.match(text):
            return None
        if link.column is not None and link.table is not None:
            return Slot("key", text, (link.table, link.column)) if text.isdigit() else None
        return Slot("number", text, percent=is_share)
    time = time_of(link.kind, text)
    return Slot(time.kind, text) if time is not None else None


def _value_slot(link: Link, text: str, lexicon: Lexicon, tables: frozenset[str]) -> Slot | None:
    """A stored value that its words, mended in nothing, can only mean in one writing in its column."""
    if link.table is None or link.column is None:
        return None
    column = (link.table, link.column)
    meanings = meanings_of(link.text, lexicon)
    own = {m.value for m in meanings if m.kind == "value" and (m.table, m.column) == column}
    for alias in ALIASES.get(fold(link.text), ()):
        own |= {m.value for m in meanings_of(alias, lexicon) if m.kind == "value" and (m.table, m.column) == column}
    if own != {text}:
        return None
    seats = {(m.table, m.column or "") for m in meanings if m.kind == "value" and m.table in tables}
    return Slot("value", text, column, frozenset(seats | {column}))


def _relation(one: Slot, other: Slot) -> tuple[object, ...]:
    """How two literals stand to each other: equal or not, and which comes first.

    Times are ordered by both of their ends whatever their kinds; months of no year, numbers and keys among their own.
    """
    equal = one.text == other.text
    here, there = one.time, other.time
    if here is not None and there is not None and (one.kind == "recurring") == (other.kind == "recurring"):
        return (
            equal,
            here.since > there.since,
            here.since < there.since,
            here.until > there.until,
            here.until < there.until,
        )
    if one.kind != other.kind or one.size is None or other.size is None:
        return (equal,)
    return equal, one.size > other.size


def number_in(text: str) -> Decimal | None:
    """The number that a text is, None for any other.

    >>> number_in("10.50"), number_in("ten")
    (Decimal('10.50'), None)
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
