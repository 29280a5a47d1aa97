"""The values of grounding: what a question was found to link to, ready to be shown, kept and masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agent.linking import Quality, TermClass
from agent.periods import Period

if TYPE_CHECKING:  # it brings SQLAlchemy, which a habit has no time to import
    from memory.semantic import Term

LinkKind = Literal["table", "column", "value", "term", "number", "limit", "date", "month", "quarter", "half", "year"]
Role = Literal["", "name", "amount"] | TermClass
Direction = Literal["high", "low"]
Operator = Literal["<", "<=", "=", ">=", ">", "between"]


@dataclass(frozen=True, slots=True)
class Link:
    """Words `start` to `end` of the question and one thing they mean.

    An ambiguous stretch has one link per meaning, the chosen one first. `value` is the stored value, a number in
    plain digits, or a time such as `1997-03`; for a term it is the term's first name. A quoted text that is stored
    nowhere is a value without table. `column` of a number is the key that it names (`order 10248`).
    `role` says what a term stands for (`entity`, `column`, `measure`, `aggregate`, `condition`), of a value or number
    whether it names one row (`name`), and of a column whether it holds an amount (`amount`).
    `verb` says that the word is a form of doing (`ordered`), not a name.
    """

    start: int
    end: int
    text: str
    kind: LinkKind
    table: str | None = None
    column: str | None = None
    value: str | None = None
    quality: Quality = "exact"
    role: Role = ""
    verb: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number held against something: `more than 10`, `5 or more`, `between 3 and 8` (`high` only there)."""

    start: int
    end: int
    text: str
    operator: Operator
    number: str
    high: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """How well the question fits the database, and why.

    `strong`: a table, a term, a whole column, or a value that leaves no word unexplained. `weak`: less than that.
    `none`: nothing, or a value alone amid words that nothing explains.
    """

    level: Literal["strong", "weak", "none"]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grounding:
    """All that linking found. `tables` are closed over the keys, `named` those that the question itself needs.

    `grain` are those of `tables` whose rows the answer is made from.
    `offset` is how many rows go before those (`the second most expensive`), None for the first.
    `filters`, `expressions`, `joins` and `grouping` are SQL in the dialect of the database. `values` are the chosen
    links to stored values. `leftover` are content words that linked to nothing; `limit` is None where no number of
    rows is asked for. `negations` are offsets. `english` is False when the words read like another language.
    """

    question: str
    links: tuple[Link, ...]
    named: tuple[str, ...]
    tables: tuple[str, ...]
    joins: tuple[str, ...]
    terms: tuple[Term, ...]
    values: tuple[Link, ...]
    periods: tuple[Period, ...]
    date_column: tuple[str, str] | None
    comparisons: tuple[Comparison, ...]
    direction: Direction | None
    limit: int | None
    negations: tuple[tuple[int, int], ...]
    leftover: tuple[str, ...]
    filters: tuple[str, ...]
    expressions: tuple[str, ...]
    grouping: str | None
    evidence: Evidence
    english: bool = True
    grain: tuple[str, ...] = ()
    offset: int | None = None

    @property
    def nothing_linked(self) -> bool:
        """Whether the question links to nothing in the database, so that it cannot be answered from it."""
        return self.evidence.level == "none"

    @property
    def missing(self) -> str:
        """Why the question cannot be answered from this database and what to do, or `""`."""
        if not self.nothing_linked:
            return ""
        unknown = f"It knows nothing called {', '.join(self.leftover)}. " if self.leftover else ""
        return (
            f"The question links to nothing in this database. {unknown}"
            "Name a table, a column or a value that it holds, or teach it the word with: hebbql teach"
        )

    @property
    def chosen(self) -> tuple[Link, ...]:
        """One link per stretch, the chosen meaning, in reading order."""
        return first_of(self.links)

    @property
    def told(self) -> str:
        """What the glossary says of the terms in the question, in SQL."""
        return " ".join(term.expression or "" for term in self.terms)

    def noted(self) -> dict[str, object]:
        """All of it in plain values, to be kept with the attempt as JSON."""
        fields = ("text", "kind", "table", "column", "value", "quality")
        return {
            "links": [{name: getattr(link, name) for name in fields} for link in self.links],
            "filters": list(self.filters),
            "expressions": list(self.expressions),
            "joins": list(self.joins),
            "grouping": self.grouping,
            "direction": self.direction,
            "limit": self.limit,
            "offset": self.offset,
            "leftover": list(self.leftover),
            "evidence": self.evidence.level,
        }


def first_of(links: Sequence[Link]) -> tuple[Link, ...]:
    """The first link of each stretch; links come in reading order with the chosen meaning first."""
    found: dict[tuple[int, int], Link] = {}
    for link in links:
        found.setdefault((link.start, link.end), link)
    return tuple(found.values())
