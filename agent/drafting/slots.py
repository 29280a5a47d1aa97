"""A query with its literals as slots: taken from one question, filled from another of the same masked form.

Every doubt ends in None. A query that is filled in wrongly runs, and looks right; one that is not filled only costs a
call of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.drafting.literals import Slot, Use, alike, slot_links, slots_of
from agent.linked import Grounding
from agent.linking import Lexicon
from agent.phrasing import mask

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Slot", "Template", "Use", "abstract", "alike", "fill", "slots_of", "write"]


@dataclass(frozen=True, slots=True)
class Frame:
    """What must be alike in two questions besides their literals: how they are read."""

    masked: str
    names: tuple[tuple[str, str | None, str | None, str | None], ...]
    operators: tuple[str, ...]
    periods: tuple[tuple[int, bool, bool, bool], ...]
    tables: tuple[str, ...]
    other: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A query whose literals are slots. `text` is its canonical SQL with the slots named, the same for all literals."""

    text: str
    slots: tuple[Slot, ...]
    uses: tuple[Use, ...]
    frame: Frame
    tables: frozenset[str]
    dialect: str
    tree: exp.Expr = field(repr=False, compare=False)


def abstract(grounding: Grounding, sql: str, *, lexicon: Lexicon) -> Template | None:
    """Find the literals of a question in the query that answers it; None where anything is in doubt.

    Each literal must stand in its structural place, and in a way that means what the question says: a range through
    both of its ends, `more than` through `>`. What no literal of the question explains must not hang on one.
    """
    from agent.database.dialects import dialect as read_dialect
    from agent.database.guard import parse_query
    from agent.database.result import QueryRejected
    from agent.database.skeleton import normalise
    from agent.drafting.matching import find_uses
    from agent.drafting.operands import Names, literals

    dialect = lexicon.schema.dialect
    try:
        canonical = normalise(sql, dialect)
        tree = parse_query(canonical, dialect)
        dates = [(one.table, one.column) for one in lexicon.date_columns]
        names = Names(tree, lexicon.schema, dates)
        tables = names.tables | frozenset(grounding.tables)
        slots = None if _doubtful(grounding) else slots_of(grounding, lexicon, tables)
        uses = None if slots is None else find_uses(tree, names, slots, grounding, lexicon)
        if slots is None or uses is None or not names.tables:
            return None
        named = tree.copy()
        for use, literal in zip(uses, _at(literals(named), uses), strict=True):
            literal.replace(_placeholder(use, slots[use.slot]))
        text = named.sql(read_dialect(dialect), comments=False)
    except (QueryRejected, RecursionError):
        return None
    return Template(text, slots, uses, frame_of(grounding), tables, dialect, tree)


def fill(template: Template, grounding: Grounding, *, lexicon: Lexicon) -> str | None:
    """Write the query for another question of the same masked form; None where anything is in doubt. Never raises.

    The question must be read like the one that the template was taken from: the same names, literals of the same
    kinds and columns, in the same order of size, equal where those were equal. Where facts of a column are
    incomplete, its unread values are taken to be none that the question means.
    """
    if _doubtful(grounding) or frame_of(grounding) != template.frame:
        return None
    slots = slots_of(grounding, lexicon, template.tables | frozenset(grounding.tables))
    if slots is None or not alike(template.slots, slots):
        return None
    return write(template, slots)


def write(template: Template, slots: Sequence[Slot]) -> str | None:
    """Write the query with other slots; None where one of them cannot be written in a form that the query has."""
    from agent.database.dialects import dialect as read_dialect
    from agent.drafting.operands import literals

    tree = template.tree.copy()
    for use, literal in zip(template.uses, _at(literals(tree), template.uses), strict=True):
        text = use.written(slots[use.slot])
        if text is None:
            return None
        literal.set("this", text)
    return tree.sql(read_dialect(template.dialect), comments=False)


def frame_of(grounding: Grounding) -> Frame:
    """How a question is read, literals aside."""
    places = slot_links(grounding)
    inside = {(link.start, link.end) for link in places}
    names = tuple(
        (link.kind, link.table, link.column, link.value)
        for link in grounding.chosen
        if (link.start, link.end) not in inside
    )
    starts = [link.start for link in places]
    periods = tuple(
        (sum(p.start <= start < p.end for start in starts), p.since is None, p.until is None, p.month is None)
        for p in grounding.periods
    )
    return Frame(
        masked=mask(grounding.question, grounding),
        names=names,
        operators=tuple(comparison.operator for comparison in grounding.comparisons),
        periods=periods,
        tables=grounding.tables,
        other=(grounding.direction, grounding.limit is None, len(grounding.negations), tuple(grounding.expressions)),
    )


def _doubtful(grounding: Grounding) -> bool:
    """Whether the reading as a whole is unsure: other languages, words left over, another place than the first."""
    unsure = not grounding.english or grounding.nothing_linked or bool(grounding.leftover)
    return unsure or grounding.offset is not None


def _at(found: Sequence[exp.Literal], uses: Sequence[Use]) -> list[exp.Literal]:
    return [found[use.at] for use in uses]


def _placeholder(use: Use, slot: Slot) -> exp.Expr:
    from sqlglot import exp

    said = [slot.kind, str(use.slot + 1), use.form, use.part or "", "text" if use.quoted else "", use.tail]
    return exp.Placeholder(this=".".join(filter(None, said)))
