"""What words of a question may mean in a database: the values that linking passes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TermClass = Literal["entity", "column", "measure", "aggregate", "condition"]
Quality = Literal["exact", "part", "typo"]
"""How words are written: as the name is, as a part of it, or otherwise: mistyped, or a first word for the whole."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that a stretch of words may mean. `part` means that only some words of a column's name are there.

    `verb` means that the word is a form of doing (`ordered`, `supplies`), not the name itself.
    """

    kind: Literal["table", "column", "value", "term"]
    table: str
    column: str | None = None
    value: str | None = None
    term: int | None = None
    quality: Quality = "exact"
    verb: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Words `first` to `last` (not included) of a question with all they may mean, surest first."""

    first: int
    last: int
    meanings: tuple[Meaning, ...]
    quality: Quality = "exact"


@dataclass(frozen=True, slots=True)
class DateColumn:
    table: str
    column: str
    words: frozenset[str]
    minimum: str | None
    maximum: str | None
