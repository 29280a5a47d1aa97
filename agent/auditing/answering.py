"""What queries answer on the data as it is, and whether two of them say the same; a `memory.audit…Answers`."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from agent.auditing.measures import changing, measures_of, mixed, numbers_read, rounded, rounded_to, scaled
from agent.database.comparing import covers, same
from agent.database.guard import sorts
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.learning.ties import tie_broken
from memory.audit.contradicting import SAME, Compared
from memory.audit.identity import same_signs
from memory.episode import Episode

if TYPE_CHECKING:
    from agent.app import App

_ORDER_ASKED = re.compile(
    r"\b(?:(?i:sort|rank|arrang)(?:ed|ing)?|(?i:order(?:ed)? by) (?=[a-z0-9])|(?i:in (?:the )?order of)"
    r"|(?i:in (?:\w+ )?(?:ascending|descending|alphabetical|chronological|reverse) order)"
    r"|(?i:ascending|descending|alphabetical(?:ly)?|chronological(?:ly)?|sortiert|geordnet)"
    r"|(?i:newest|oldest|latest|earliest|highest|lowest|largest|smallest|biggest|longest|shortest) first)\b"
)
_ORDER_PERHAPS = re.compile(
    r"\b(?:in order|order(?:ed)?|top|highest|lowest|first|last|newest|oldest|most|least|largest|smallest|biggest)\b",
    re.IGNORECASE,
)
_NO_ORDER = re.compile(
    r"\bat (?:the )?(?:very )?(?:most|least|first|last)\b|\bin order to\b|\bmost of\b"
    r"|\b(?:the|an|each|every|this|per) order\b"
    r"|\b(?:first|last)(?:(?: and|,| or| &) (?:first|last))? ?(?:names?|initials?|year|quarter|month|week|day)\b",
    re.IGNORECASE,
)
"""Turns of words with words of an order in them that ask for none."""
_SHOWN_CELLS, _SHOWN_SIGNS = 4, 60


@dataclass
class Answering:
    """Runs queries of one opened app, each once as long as the data stays the same."""

    app: App
    _ran: dict[str, Result | str] = field(default_factory=dict)
    _stamp: object = None
    runs: int = 0
    """How many queries were run."""

    def literals(self, question: str) -> Hashable:
        """The values, numbers and dates that it names, in order."""
        understood = self.app.understand(same_signs(question))
        return tuple(
            (link.kind, getattr(link, "table", ""), getattr(link, "column", ""), str(getattr(link, "value", "")))
            for link in understood.grounding.chosen
            if getattr(link, "kind", "") not in ("table", "column", "term")
        )

    def compared(self, one: Episode, other: Episode) -> Compared:
        current = self.app.schema.fingerprint
        for episode in (one, other):
            if episode.schema_fingerprint != current:
                known = episode.schema_fingerprint[:12] or "no known schema"
                return _unclear(f"{_id(episode)} was verified on another schema ({known}; now it is {current[:12]})")
        if one.sql == other.sql:
            return SAME
        first, second = self._run(one.sql), self._run(other.sql)
        for episode, result in ((one, first), (other, second)):
            if isinstance(result, str):
                return _unclear(f"{_id(episode)} {result}")
        assert isinstance(first, Result) and isinstance(second, Result), "what gave no result was said"
        return self._judged(one, other, first, second)

    def value(self, sql: str) -> str:
        """The first row, and how many there are."""
        result = self._run(sql)
        if isinstance(result, str):
            return result
        if not result.rows:
            return "no rows"
        cells = ["NULL" if cell is None else str(cell)[:_SHOWN_SIGNS] for cell in result.rows[0][:_SHOWN_CELLS]]
        told = ", ".join(cells) + (", …" if len(result.rows[0]) > _SHOWN_CELLS else "")
        return told if len(result.rows) == 1 else f"{told} and {len(result.rows) - 1} more rows"

    def _judged(self, one: Episode, other: Episode, first: Result, second: Result) -> Compared:
        dialect = self.app.schema.dialect
        measures = [measures_of(sql, self.app.schema, self.app.database.facts) for sql in (one.sql, other.sql)]
        if said := measures[0].against(measures[1]):
            return _unclear(f"their units or currencies are not known to be the same: {said}")
        asked = order_asked(one.question)
        ordered = asked != "no" and sorts(one.sql, dialect) and sorts(other.sql, dialect)
        if self._alike(one, other, first, second, ordered=ordered):
            return SAME
        if factor := scaled(one.sql, other.sql, (first, second), dialect):
            return _unclear(factor)
        for episode, result in ((one, first), (other, second)):
            ways = [self._run(sql) for sql in tie_broken(episode.sql, dialect)]
            if any(isinstance(way, Result) and not same(result, way, ordered=False) for way in ways):
                return _unclear(f"what {_id(episode)} gives hangs on how ties fall")
        if first.rows and (covers(first, second, ordered=ordered) or covers(second, first, ordered=ordered)):
            return _unclear("one shows more columns than the other, and what both show is the same")
        if ordered and self._alike(one, other, first, second, ordered=False):
            if asked == "perhaps":
                return _unclear("the same rows in another order, and the question may ask for an order")
            return Compared("differs", "the same rows in another order, and the question asks for an order")
        return Compared("differs", f"{self.value(one.sql)} against {self.value(other.sql)}")

    def _alike(self, one: Episode, other: Episode, first: Result, second: Result, *, ordered: bool) -> bool:
        """Whether two results are the same to a reader: rounded or not, a year as a number or as text."""
        first, second = numbers_read(first), numbers_read(second)
        if same(first, second, ordered=ordered):
            return True
        digits = [rounded_to(sql, self.app.schema.dialect) for sql in (one.sql, other.sql)]
        fewest = min((digit for digit in digits if digit is not None), default=None)
        return digits[0] != digits[1] and any(
            same(rounded(first, fewest, even=even), rounded(second, fewest, even=even), ordered=ordered)
            for even in (False, True)
        )

    def _run(self, sql: str) -> Result | str:
        """The result of a query, or why there is none that can be compared."""
        facts = self.app.database.facts  # read anew when the file has changed
        if facts is not self._stamp:
            self._ran.clear()
            self._stamp = facts
        if sql not in self._ran:
            self._ran[sql] = self._answer(sql)
            if self.app.database.facts is not facts:
                return "was read while the data changed"
        return self._ran[sql]

    def _answer(self, sql: str) -> Result | str:
        try:
            if what := changing(sql, self.app.schema.dialect):
                return f"gives another answer each time or day ({what})"
            if column := mixed(sql, self.app.schema, self.app.database.facts):
                return f"adds up over several units or currencies of {column}"
            self.runs += 1
            result = self.app.checked_run(sql)
        except (QueryRejected, QueryFailed) as problem:
            return f"cannot run: {problem}"
        return result if result.truncated is None else f"has a result that is cut off ({result.truncated})"


def order_asked(question: str) -> Literal["yes", "perhaps", "no"]:
    """Whether a question asks for its answer in an order.

    >>> order_asked("List boats ordered by length"), order_asked("Which are the top 5 boats?")
    ('yes', 'perhaps')
    >>> order_asked("First and last name of captains with at most 2 boats?"), order_asked("What was ordered by Ada?")
    ('no', 'perhaps')
    """
    text = same_signs(question)
    if _ORDER_ASKED.search(text):
        return "yes"
    return "perhaps" if _ORDER_PERHAPS.search(_NO_ORDER.sub(" ", text)) else "no"


def _unclear(reason: str) -> Compared:
    return Compared("unclear", reason)


def _id(episode: Episode) -> str:
    return str(episode.id)[:8]
