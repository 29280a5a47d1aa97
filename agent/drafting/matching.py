"""Finding the literals of a question in the query that answers it, each in its structural place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from sqlglot import exp

from agent.drafting.constants import Constants
from agent.drafting.literals import Column, Slot, Use, number_in, slot_links
from agent.drafting.operands import Compared, DatePart, Names, comparisons, conjunction, literals
from agent.drafting.times import (
    Atom,
    Bounds,
    Clock,
    Part,
    as_text,
    bounds,
    fits_clock,
    forms,
    months_in,
    split_clock,
    union,
    written,
)
from agent.drafting.unsaid import Unsaid
from agent.linked import Comparison, Grounding
from agent.linking import Lexicon

_COMPLEMENT: dict[str, str] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>"}


def find_uses(
    tree: exp.Expr, names: Names, slots: Sequence[Slot], grounding: Grounding, lexicon: Lexicon
) -> tuple[Use, ...] | None:
    """Where each slot stands in a query, in the order of its literals; None where anything is in doubt.

    What no slot explains must be a constant that cannot hang on any of them.
    """
    try:
        return _Search(tree, names, slots, grounding, lexicon).uses()
    except _Doubt:
        return None


class _Doubt(Exception):
    """The query cannot be taken for a template. Stays in this module."""


@dataclass(frozen=True, slots=True)
class _Timed:
    """A time in a comparison, before its stretch of days is judged."""

    compared: Compared
    date: DatePart
    slot: int
    atom: Atom


class _Search:
    """The work of one `find_uses`: each literal of the query gets its slot, or is found to be a constant."""

    def __init__(
        self, tree: exp.Expr, names: Names, slots: Sequence[Slot], grounding: Grounding, lexicon: Lexicon
    ) -> None:
        self.tree = tree
        self.names = names
        self.slots = slots
        self.grounding = grounding
        self.lexicon = lexicon
        self.links = slot_links(grounding)
        self.literals = literals(tree)
        self.places = {id(literal): place for place, literal in enumerate(self.literals)}
        self.compared = tuple(comparisons(tree))
        self.found: dict[int, Use] = {}
        self.roles: dict[int, set[tuple[object, ...]]] = {}
        self.settled: set[int] = set()
        self.refers = lexicon.refers
        self.period_of = [
            next((n for n, p in enumerate(grounding.periods) if p.start <= link.start < p.end), None)
            for link in self.links
        ]

    def uses(self) -> tuple[Use, ...]:
        self._settle_parts_of_dates()
        self._match_times()
        for one in self.compared:
            self._match(one)
        self._match_limits()
        self._judge_slots()
        explained = frozenset(id(self.literals[place]) for place in self.found)
        constants = Constants(self.tree, self.names, self.slots, self.grounding, self.lexicon, self.compared, explained)
        rest = (literal for place, literal in enumerate(self.literals) if place not in self.found.keys() | self.settled)
        if not all(map(constants.is_constant, rest)) or not constants.conditions_are_said():
            raise _Doubt
        if not Unsaid(self.tree, self.names, self.grounding, self.lexicon, self.compared, explained).nothing():
            raise _Doubt
        return tuple(self.found[place] for place in sorted(self.found))

    # Times

    def _settle_parts_of_dates(self) -> None:
        """Literals that only say which part of a date is meant (`'%Y'`) are neither slots nor constants."""
        for node in self.tree.walk():
            if not isinstance(node, exp.Column | exp.Literal) and self.names.date_part(node) is not None:
                self.settled |= {self.places[id(inner)] for inner in node.find_all(exp.Literal)}

    def _match_times(self) -> None:
        if not any(slot.time for slot in self.slots):
            return
        groups: dict[tuple[object, ...], list[_Timed]] = {}
        for one in self.compared:
            date = self.names.date_part(one.other)
            if date is None or self.places[id(one.literal)] in self.settled:
                continue
            timed = self._timed(one, date)
            groups.setdefault(self._group_of(timed), []).append(timed)
        for group in groups.values():
            self._judge_stretch(group)

    def _timed(self, one: Compared, date: DatePart) -> _Timed:
        """Find the one slot and form that explain a literal compared with a date."""
        text, part, tail = one.literal.name, date.part, ""
        if one.negative:
            raise _Doubt
        if one.how == "like":
            text, part, tail = self._prefix(one, date)
        elif part == "day" or part.startswith("trunc"):
            text, tail = split_clock(text)
        quoted = bool(one.literal.is_string)
        fitting = []
        for place, slot in enumerate(self.slots):
            time = slot.time
            for form in forms(part, time.kind) if time is not None else ():
                if time is not None and as_text(written(time, form), part, quoted=quoted) == text:
                    fitting.append((place, form))
        if len(fitting) != 1:
            raise _Doubt
        place, form = fitting[0]
        if part == "day" and one.how != "like":
            clock: Clock = "none" if date.whole else self._clock(date.column)
            if not fits_clock(form, one.operator, tail, clock):
                raise _Doubt
        elif part.startswith("trunc") and tail:
            raise _Doubt
        self._use(one, Use(0, place, form, quoted, part, tail), role=(date.column, one.operator == "<>"))
        shift = one.shift
        literal = one.literal.parent
        if shift is not None and literal is not None:
            holder: exp.Expr | None = literal
            while holder is not None and not isinstance(holder, exp.Add | exp.Sub | exp.Anonymous):
                holder = holder.parent
            if holder is not None:
                self.settled |= {
                    self.places[id(inner)] for inner in holder.find_all(exp.Literal) if inner is not one.literal
                }
        return _Timed(one, date, place, Atom(part, one.operator, text, shift))

    def _clock(self, column: Column) -> Clock:
        """What follows the day in a date column."""
        schema = self.lexicon.schema
        if schema.dialect != "sqlite":
            types = {(t.name, c.name): c.type.lower() for t in schema.tables for c in t.columns}
            return "none" if types[column] == "date" else "time"
        ends = next(((d.minimum, d.maximum) for d in self.lexicon.date_columns if (d.table, d.column) == column), ())
        marks = {end[10:11] for end in ends if end}
        if not marks or not marks <= {"", " ", "T"} or len(marks - {""}) > 1:
            raise _Doubt
        marks.discard("")
        return "none" if not marks else " " if marks == {" "} else "T"

    def _prefix(self, one: Compared, date: DatePart) -> tuple[str, Part, str]:
        """`LIKE '1997-03%'` on a date kept as text names a year, month or day."""
        match = re.fullmatch(r"(\d{4}(?:-\d\d){0,2})(-?%)", one.literal.name)
        if match is None or date.part != "day" or self.lexicon.schema.dialect != "sqlite" or one.node.key != "like":
            raise _Doubt
        parts: dict[int, Part] = {4: "year", 7: "year_month", 10: "day"}
        return match[1], parts[len(match[1])], match[2]

    def _group_of(self, timed: _Timed) -> tuple[object, ...]:
        """What is judged together: the ends of one stretch, joined by AND; a list on its own."""
        period = self.period_of[timed.slot]
        node = timed.compared.node
        if timed.compared.how == "listed" and timed.date.part not in ("month", "quarter"):
            return ("list", id(node), timed.slot)
        return ("and", id(conjunction(node)), timed.date.column, period)

    def _judge_stretch(self, group: Sequence[_Timed]) -> None:
        """The days that the query keeps must be those that the question means."""
        period = self.period_of[group[0].slot]
        if period is None:
            raise _Doubt
        meant = self.grounding.periods[period]
        kept = self._kept(group)
        if kept != Bounds(meant.since, meant.until, meant.month):
            raise _Doubt

    def _kept(self, group: Sequence[_Timed]) -> Bounds | None:
        listed = [timed for timed in group if timed.compared.how == "listed"]
        if len(listed) == len(group) and len({id(timed.compared.node) for timed in group}) == 1:
            return union(timed.atom for timed in group)
        atoms = [timed.atom for timed in group if timed not in listed]
        if not listed:
            return bounds(atoms)
        months = months_in(timed.atom for timed in listed)
        if months is None or len({id(timed.compared.node) for timed in listed}) != 1:
            return None
        low, high = str(min(months)), str(max(months))
        if months != set(range(min(months), max(months) + 1)):
            return None
        return bounds([*atoms, Atom("month", ">=", low), Atom("month", "<=", high)])

    # Values, numbers, limits

    def _match(self, one: Compared) -> None:
        place = self.places[id(one.literal)]
        if place in self.found or place in self.settled or one.how == "like":
            return
        column = self.names.column(one.other)
        fitting: list[tuple[int, str]] = []
        for at, slot in enumerate(self.slots):
            form = self._form(one, column, at, slot)
            if form:
                fitting.append((at, form))
        if len(fitting) == 1:
            at, form = fitting[0]
            role = (column or one.other.sql(), one.operator)
            use = Use(0, at, form, bool(one.literal.is_string), least=self._least(one, form))
            if use.written(self.slots[at]) is None:
                raise _Doubt
            self._use(one, use, role=role)

    def _form(self, one: Compared, column: Column | None, at: int, slot: Slot) -> str:
        """How a comparison writes a slot, or nothing where it does not."""
        text = one.literal.name
        if one.negative or one.shift is not None:
            return ""
        if slot.kind == "value":
            fits = one.literal.is_string and text == slot.text and one.operator in ("=", "<>")
            return "value" if fits and self._same(column, slot.column) else ""
        number = number_in(text)
        if number is None or slot.kind not in ("key", "number", "limit"):
            return ""
        if slot.kind == "limit":
            fits = self.names.ranks(one.other) and one.operator == "<=" and not one.literal.is_string
            return "limit" if fits and number == Decimal(slot.text) else ""
        if one.literal.is_string and (one.operator not in ("=", "<>") or text != slot.text):
            return ""
        if slot.kind == "key":
            fits = number == Decimal(slot.text) and one.operator in ("=", "<>")
            return "number" if fits and self._same(column, slot.column) else ""
        if number not in (Decimal(slot.text), Decimal(slot.text) / 100 if slot.percent else None):
            return ""
        if not self._measures(one.other) or not self._says(one, at):
            return ""
        return "number" if number == Decimal(slot.text) else "hundredth"

    def _least(self, one: Compared, form: str) -> int:
        """The smallest number that may be held against what is made of several rows: rows that are not there to be
        joined or grouped are in no group, so that none of them has 0, or fewer than 1."""
        if form not in ("number", "hundredth") or not self.names.counts(one.other):
            return 0
        return 2 if one.operator == "<" else 1

    def _same(self, column: Column | None, wanted: Column | None) -> bool:
        """Whether a column is the one that a link names, or a key that refers to it."""
        return column is not None and (column == wanted or self.refers.get(column) == wanted)

    def _measures(self, other: exp.Expr) -> bool:
        """Whether a number is held against something of the rows that is neither a date nor their place."""
        if self.names.date_part(other) is not None or self.names.ranks(other):
            return False
        return other.find(exp.Column, exp.Star, exp.Subquery) is not None

    def _says(self, one: Compared, at: int) -> bool:
        """Whether the sign of a comparison is the one that the question says."""
        said = self._said(at)
        if said is None:
            return one.operator == "=" or (one.operator == "<>" and bool(self.grounding.negations))
        if said.operator == "between":
            inside = [place for place, link in enumerate(self.links) if said.start <= link.start < said.end]
            return inside.index(at) < 2 and one.operator == (">=", "<=")[inside.index(at)]
        if one.operator == said.operator:
            return True
        return bool(self.grounding.negations) and one.operator == _COMPLEMENT[said.operator]

    def _said(self, at: int) -> Comparison | None:
        link = self.links[at]
        return next((c for c in self.grounding.comparisons if c.start <= link.start < c.end), None)

    def _match_limits(self) -> None:
        for node in self.tree.find_all(exp.Limit):
            literal = node.args.get("expression")
            if not isinstance(literal, exp.Literal) or literal.is_string:
                continue
            fitting = [at for at, slot in enumerate(self.slots) if (slot.kind, slot.text) == ("limit", literal.name)]
            if len(fitting) == 1:
                use = Use(self.places[id(literal)], fitting[0], "limit", False)
                self.found[use.at] = use
                self.roles.setdefault(use.slot, set()).add(("limit",))

    def _use(self, one: Compared, use: Use, *, role: tuple[object, ...]) -> None:
        place = self.places[id(one.literal)]
        if place in self.found:
            raise _Doubt
        self.found[place] = replace(use, at=place)
        self.roles.setdefault(use.slot, set()).add(role)

    def _judge_slots(self) -> None:
        """Every slot is used, in one role only; both ends of a range of numbers bound the same thing."""
        for at in range(len(self.slots)):
            if len(self.roles.get(at, ())) != 1:
                raise _Doubt
        for said in self.grounding.comparisons:
            if said.operator == "between":
                inside = [place for place, link in enumerate(self.links) if said.start <= link.start < said.end]
                bounded = {role[0] for place in inside for role in self.roles[place]}
                if len(inside) != 2 or len(bounded) != 1:
                    raise _Doubt
