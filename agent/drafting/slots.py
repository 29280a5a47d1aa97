"""A query with its literals as slots: taken from one question, filled from another of the same masked form.

Every doubt ends in None. A query that is filled in wrongly runs, and looks right; one that is not filled only costs a
call of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from agent.drafting.times import (
    Atom,
    Bounds,
    Clock,
    Part,
    Time,
    as_text,
    bounds,
    fits_clock,
    forms,
    months_in,
    split_clock,
    time_of,
    union,
    written,
)
from agent.linked import Comparison, Grounding, Link
from agent.linking import Lexicon, Meaning
from agent.phrasing import mask
from agent.wording import ALIASES, fold, tokens

if TYPE_CHECKING:
    from sqlglot import exp

    from agent.drafting.operands import Column, Compared, DatePart, Names

SlotKind = Literal["value", "key", "number", "limit", "date", "month", "quarter", "half", "year", "recurring"]

_TIMES = frozenset({"date", "month", "quarter", "half", "year"})
_COMPLEMENT: dict[str, str] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>"}
_PLAIN_NUMBER = re.compile(r"(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?\Z", re.ASCII)
_PLAIN_LIMIT = re.compile(r"[1-9]\d{0,5}\Z", re.ASCII)
# Where a point and a comma mean what in a number hangs on who writes it.
_EITHER_WAY = re.compile(r"\d{1,3}\.\d{3}(?!\d)|\d+,\d{1,2}(?!\d)|\d+,\d{4,}")
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_TIME_LIKE = re.compile(r"\d{4}-\d|(?<!\d)(?:1[6-9]|20|21)\d\d(?!\d)")
_PLAIN_WORDS = frozenset(("date", "time", "name", "number", "code", "id", "type", "valu", "at", "on", "is", "has"))
_OTHERWISE = re.compile(r"\b(?:or|either)\b")
_OR_MORE = re.compile(r"\bor (?:more|fewer|less|later|earlier|above|below|higher|lower|over|under|so|not)\b")
_OPENING = "\"'\u2018\u201c\u201e\u00ab"
_LINED_UP = frozenset({"group", "ordered", "order", "partition"})


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
    """

    at: int
    slot: int
    form: str
    quoted: bool
    part: Part | None = None
    tail: str = ""


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
    from agent.drafting.operands import Names, literals

    dialect = lexicon.schema.dialect
    try:
        canonical = normalise(sql, dialect)
        tree = parse_query(canonical, dialect)
        dates = [(one.table, one.column) for one in lexicon.date_columns]
        names = Names(tree, lexicon.schema, dates)
        tables = names.tables | frozenset(grounding.tables)
        slots = None if _doubtful(grounding) else slots_of(grounding, lexicon, tables)
        uses = None if slots is None else _Search(tree, names, slots, grounding, lexicon).uses()
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
        text = _written(use, slots[use.slot])
        if text is None:
            return None
        literal.set("this", text)
    return tree.sql(read_dialect(template.dialect), comments=False)


def alike(learned: Sequence[Slot], asked: Sequence[Slot]) -> bool:
    """Whether literals may take the places of others: of the same kinds and columns, no more ambiguous, in the same
    order of size, equal where those are equal."""
    if [(one.kind, one.column, one.percent) for one in learned] != [(o.kind, o.column, o.percent) for o in asked]:
        return False
    if any(not other.seats <= one.seats for one, other in zip(learned, asked, strict=True)):
        return False
    for here, there in combinations(range(len(learned)), 2):
        if learned[here].kind != learned[there].kind:
            continue
        if (learned[here].text == learned[there].text) != (asked[here].text == asked[there].text):
            return False
        if _order(learned[here], learned[there]) != _order(asked[here], asked[there]):
            return False
    return True


def slots_of(grounding: Grounding, lexicon: Lexicon, tables: Iterable[str]) -> tuple[Slot, ...] | None:
    """The literals of a question, as `mask` replaces them; None where one is in doubt.

    `tables` are those among which a value must not link to more columns than it did when it was learned.
    """
    found: list[Slot] = []
    at = 0
    for link in grounding.chosen:
        if (link.kind not in _TIMES and link.kind not in ("value", "number", "limit")) or link.start < at:
            continue
        slot = _slot(link, grounding, lexicon, frozenset(tables))
        if slot is None:
            return None
        found.append(slot)
        at = link.end
    return tuple(found)


def frame_of(grounding: Grounding) -> Frame:
    """How a question is read, literals aside."""
    places = _slot_links(grounding)
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


def _slot_links(grounding: Grounding) -> list[Link]:
    found: list[Link] = []
    for link in grounding.chosen:
        is_slot = link.kind in _TIMES or link.kind in ("value", "number", "limit")
        if is_slot and (not found or link.start >= found[-1].end):
            found.append(link)
    return found


def _slot(link: Link, grounding: Grounding, lexicon: Lexicon, tables: frozenset[str]) -> Slot | None:
    text = link.value
    if text is None or link.quality == "typo":
        return None
    if link.kind == "value":
        return _value_slot(link, text, grounding, lexicon, tables)
    is_share = _PERCENT.match(grounding.question[link.end :]) is not None
    if link.kind == "limit":
        return Slot("limit", text) if _PLAIN_LIMIT.match(text) and not is_share else None
    if link.kind == "number":
        before = grounding.question[: link.start].rstrip()
        unclear = _EITHER_WAY.fullmatch(link.text.strip()) is not None or before.endswith(("-", "\u2212"))
        if unclear or not _PLAIN_NUMBER.match(text):
            return None
        if link.column is not None and link.table is not None:
            return Slot("key", text, (link.table, link.column))
        return Slot("number", text, percent=is_share)
    time = time_of(link.kind, text)
    return Slot(time.kind, text) if time is not None else None


def _value_slot(link: Link, text: str, grounding: Grounding, lexicon: Lexicon, tables: frozenset[str]) -> Slot | None:
    """A stored value: written in its column in one way only, and no name of something else as well."""
    if link.table is None or link.column is None:
        return None
    column = (link.table, link.column)
    meanings = _meanings(link.text, lexicon)
    own = {m.value for m in meanings if m.kind == "value" and (m.table, m.column) == column}
    for alias in ALIASES.get(fold(link.text), ()):
        own |= {m.value for m in _meanings(alias, lexicon) if m.kind == "value" and (m.table, m.column) == column}
    if own != {text}:
        return None
    marks = grounding.question[max(0, link.start - 1) : link.start]
    is_quoted = bool(marks) and marks in _OPENING
    if not is_quoted and any(m.kind != "value" and m.quality != "part" for m in meanings):
        return None
    seats = {(m.table, m.column or "") for m in meanings if m.kind == "value" and m.table in tables}
    return Slot("value", text, column, frozenset(seats | {column}))


def _meanings(text: str, lexicon: Lexicon) -> tuple[Meaning, ...]:
    """All that a text may mean, as a whole, in quotation marks and without."""
    words = lexicon.read(text)
    spans = lexicon.spans(words, quotes=[(0, len(words))]) + lexicon.spans(words) if words else ()
    whole = (span for span in spans if (span.first, span.last) == (0, len(words)) and span.quality == "exact")
    return tuple(dict.fromkeys(meaning for span in whole for meaning in span.meanings))


def _order(one: Slot, other: Slot) -> int:
    if one.size is None or other.size is None:
        return 0
    return (one.size > other.size) - (one.size < other.size)


def _at(found: Sequence[exp.Literal], uses: Sequence[Use]) -> list[exp.Literal]:
    return [found[use.at] for use in uses]


def _placeholder(use: Use, slot: Slot) -> exp.Expr:
    from sqlglot import exp

    said = [slot.kind, str(use.slot + 1), use.form, use.part or "", "text" if use.quoted else "", use.tail]
    return exp.Placeholder(this=".".join(filter(None, said)))


def _written(use: Use, slot: Slot) -> str | None:
    if use.part is None:
        return _hundredth(slot.text) if use.form == "hundredth" else slot.text
    time = slot.time
    if time is None or use.form not in forms(use.part, time.kind):
        return None
    try:
        return as_text(written(time, use.form), use.part, quoted=use.quoted) + use.tail
    except (ValueError, OverflowError):
        return None


def _hundredth(text: str) -> str:
    return f"{(Decimal(text) / 100).normalize():f}"


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
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
    """The work of one `abstract`: each literal of the query gets its slot, or is found to be a constant."""

    def __init__(
        self, tree: exp.Expr, names: Names, slots: Sequence[Slot], grounding: Grounding, lexicon: Lexicon
    ) -> None:
        from agent.drafting.operands import comparisons, literals

        self.tree = tree
        self.names = names
        self.slots = slots
        self.grounding = grounding
        self.lexicon = lexicon
        self.links = _slot_links(grounding)
        self.literals = literals(tree)
        self.places = {id(literal): place for place, literal in enumerate(self.literals)}
        self.compared = [one for one in comparisons(tree) if id(one.literal) in self.places]
        self.timed = any(slot.time is not None for slot in slots)
        self.found: dict[int, Use] = {}
        self.roles: dict[int, set[tuple[object, ...]]] = {}
        self.settled: set[int] = set()
        self.refers = _references(lexicon)
        self.period_of = [
            next((n for n, p in enumerate(grounding.periods) if p.start <= link.start < p.end), None)
            for link in self.links
        ]

    def uses(self) -> tuple[Use, ...] | None:
        """Where each slot stands, in the order of the literals; None where anything is in doubt."""
        try:
            self._settle_parts_of_dates()
            self._match_times()
            for one in self.compared:
                self._match(one)
            self._match_limits()
            self._judge_slots()
            for literal in self.literals:
                place = self.places[id(literal)]
                if place not in self.found and place not in self.settled and not self._is_constant(literal):
                    raise _Doubt
            if self.slots:
                self._judge_conditions()
        except _Doubt:
            return None
        return tuple(self.found[place] for place in sorted(self.found))

    # Times

    def _settle_parts_of_dates(self) -> None:
        """Literals that only say which part of a date is meant (`'%Y'`) are neither slots nor constants."""
        from sqlglot import exp

        for node in self.tree.walk():
            if isinstance(node, exp.Column | exp.Literal) or not isinstance(node, exp.Expr):
                continue
            if self.names.date_part(node) is not None:
                self.settled |= {self.places[id(inner)] for inner in node.find_all(exp.Literal)}

    def _match_times(self) -> None:
        if not self.timed:
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
            from sqlglot import exp

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
        from agent.drafting.operands import conjunction

        period = self.period_of[timed.slot]
        node = timed.compared.node
        if timed.compared.how == "listed" and timed.date.part not in ("month", "quarter"):
            return ("list", id(node), timed.slot)
        return ("and", id(conjunction(node)), timed.date.column, period)

    def _judge_stretch(self, group: Sequence[_Timed]) -> None:
        """The days that the query keeps must be those that the question means."""
        places = {timed.slot for timed in group}
        period = self.period_of[group[0].slot]
        if period is None:
            raise _Doubt
        meant = self.grounding.periods[period]
        ends = {place for place, other in enumerate(self.period_of) if other == period}
        if places != ends or (len(ends) > 1 and any(timed.atom.operator in ("=", "<>") for timed in group)):
            raise _Doubt
        if any(timed.atom.operator == "<>" for timed in group) and len(group) > 1:
            raise _Doubt
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
        if len(fitting) > 1:
            raise _Doubt
        if fitting:
            at, form = fitting[0]
            role = (column or one.other.sql(), one.operator)
            self._use(one, Use(0, at, form, bool(one.literal.is_string)), role=role)

    def _form(self, one: Compared, column: Column | None, at: int, slot: Slot) -> str:
        """How a comparison writes a slot, or nothing where it does not."""
        text = one.literal.name
        if one.negative or one.shift is not None:
            return ""
        if slot.kind == "value":
            fits = one.literal.is_string and text == slot.text and one.operator in ("=", "<>")
            return "value" if fits and self._same(column, slot.column) else ""
        number = _number(text)
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

    def _same(self, column: Column | None, wanted: Column | None) -> bool:
        """Whether a column is the one that a link names, or a key that refers to it."""
        return column is not None and (column == wanted or self.refers.get(column) == wanted)

    def _measures(self, other: exp.Expr) -> bool:
        """Whether a number is held against something of the rows that is neither a date nor their place."""
        from sqlglot import exp

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
        from sqlglot import exp

        for node in self.tree.find_all(exp.Limit):
            literal = node.args.get("expression")
            if not isinstance(literal, exp.Literal) or literal.is_string or node.args.get("offset") is not None:
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

    # Constants

    def _is_constant(self, literal: exp.Literal) -> bool:
        """Whether a literal that no slot explains cannot hang on the literals of the question.

        What a glossary term says is constant. A time or a key never is: it is an answer learned by heart.
        """
        from sqlglot import exp

        around = literal.parent
        if around is not None and around.key in _LINED_UP:
            return True
        held = next((one for one in self.compared if one.literal is literal), None)
        if self._echoes_a_slot(literal, held):
            return False
        if self._in_glossary(literal):
            return held is None or self._is_said(held)
        if self._is_time(literal, held) or (held is not None and self._is_key(held.other)):
            return False
        if not self.slots:
            return True
        if isinstance(around, exp.Interval | exp.Offset):
            return False
        return self._is_constant_text(literal, held) if literal.is_string else self._is_constant_number(literal, held)

    def _echoes_a_slot(self, literal: exp.Literal, held: Compared | None) -> bool:
        """Whether a literal is a slot's own in another place, or a part of it."""
        core = fold(re.sub(r"[\W_]+", "", literal.name))
        number = None if literal.is_string else _number(literal.name)
        for slot in self.slots:
            if slot.kind == "value" and literal.is_string and core:
                value = fold(re.sub(r"[\W_]+", "", slot.text))
                shared = core in value or value in core
                if shared and (len(core) > 1 or held is not None or core == value):
                    return True
            elif slot.kind in ("number", "key", "limit"):
                own = Decimal(slot.text)
                if number is not None and (number == own or (slot.percent and number * 100 == own)):
                    return True
                if literal.is_string and slot.text in re.findall(r"\d+(?:\.\d+)?", literal.name):
                    return True
        return False

    def _is_time(self, literal: exp.Literal, held: Compared | None) -> bool:
        if self.timed and literal.name.lower() == "now":
            return True
        dated = held is not None and self.names.date_part(held.other) is not None
        if self.slots and dated:
            return True
        return _TIME_LIKE.search(literal.name) is not None and (literal.is_string or dated or self.timed)

    def _is_constant_text(self, literal: exp.Literal, held: Compared | None) -> bool:
        """A text that is held against something must be said by the question; any other must be no stored value."""
        if self._in_words(literal.name):
            return True
        return held is None and not any(m.kind == "value" for m in _meanings(literal.name, self.lexicon))

    def _is_constant_number(self, literal: exp.Literal, held: Compared | None) -> bool:
        from sqlglot import exp

        number, around = _number(literal.name), literal.parent
        if isinstance(around, exp.Limit) or (held is not None and self.names.ranks(held.other)):
            return number == 1 and (self.grounding.direction is not None or self.grounding.limit == 1)
        shown = around.parent if isinstance(around, exp.Alias) else around
        if isinstance(shown, exp.Select):
            return isinstance(shown.parent, exp.Exists)
        if held is not None:
            return number in (0, 1) and not held.negative and self._is_said(held)
        if number in (0, 1, 100):
            return True
        return isinstance(around, exp.Anonymous) and str(around.this).lower() == "round"

    def _is_said(self, held: Compared) -> bool:
        """Whether a column that is held against a constant is spoken of; as the glossary has it, where it has it."""
        column = self.names.column(held.other)
        if column is None:
            return True
        if re.search(rf"(?<!\w){re.escape(column[1])}(?!\w)", self._told()):
            sign = "(?:<>|!=)" if held.operator == "<>" else held.operator
            said = rf"(?<!\w){re.escape(column[1])}\"?\s*{sign}\s*{re.escape(held.literal.sql())}(?![\w.])"
            return re.search(said, self._told()) is not None
        return self._names(column)

    def _names(self, column: Column) -> bool:
        """Whether a word of the question is a word of a column's name, or a term of the glossary is about it."""
        said = {token.stem for token in tokens(self.grounding.question)}
        own = self.lexicon.column_words.get(column, frozenset())
        own = own - _PLAIN_WORDS or own
        return bool(own & said) or re.search(rf"(?<!\w){re.escape(column[1])}(?!\w)", self._told()) is not None

    # Conditions

    def _judge_conditions(self) -> None:
        """What else keeps rows or leaves them out must be said as well, or follow from how tables are joined."""
        from sqlglot import exp

        for node in self.tree.walk():
            if isinstance(node, exp.Or) and not isinstance(node.parent, exp.Or):
                self._judge_or(node)
            elif isinstance(node, exp.Is | exp.EQ | exp.NEQ) and isinstance(node.expression, exp.Null | exp.Boolean):
                self._judge_absence(node)
            elif isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE):
                left, right = self.names.column(node.this), self.names.column(node.expression)
                keyed = self._is_key(node.this) or self._is_key(node.expression)
                if left is not None and right is not None and keyed and left != right:
                    raise _Doubt
            elif isinstance(node, exp.Like) and self.names.column(node.expression) is not None:
                raise _Doubt

    def _judge_or(self, node: exp.Or) -> None:
        """A literal in an OR stands beside others of its own column, unless the question says `or`."""
        from sqlglot import exp

        used = {id(self.literals[place]) for place in self.found}
        leaves: list[exp.Expr] = []
        waiting: list[exp.Expr] = [node]
        while waiting:
            here = waiting.pop()
            if isinstance(here, exp.Or | exp.Paren):
                waiting += [inner for inner in (here.this, here.args.get("expression")) if inner is not None]
            else:
                leaves.append(here)
        if not any(id(literal) in used for leaf in leaves for literal in leaf.find_all(exp.Literal)):
            return
        if _OTHERWISE.search(_OR_MORE.sub(" ", mask(self.grounding.question, self.grounding))):
            return
        columns = set()
        for leaf in leaves:
            held = [one for one in self.compared if one.node is leaf]
            date = self.names.date_part(held[0].other) if held else None
            columns.add(self.names.column(held[0].other) if held and date is None else date and date.column)
            if not held or any(one.operator != "=" or id(one.literal) not in used for one in held):
                raise _Doubt
        if len(columns) != 1 or None in columns:
            raise _Doubt

    def _judge_absence(self, node: exp.Expr) -> None:
        """A column that must be there, or must not, is spoken of, reckoned with elsewhere, or a key that joins."""
        from sqlglot import exp

        column = self.names.column(node.this)
        if column is None or self._is_key(node.this) or self._names(column):
            return
        others = (other for other in self.tree.find_all(exp.Column) if not isinstance(other.parent, exp.Is | exp.EQ))
        if not any(self.names.column(other) == column for other in others):
            raise _Doubt

    def _is_key(self, other: exp.Expr) -> bool:
        column = self.names.column(other)
        keys = self.lexicon.primary_keys
        return column is not None and (column[1] in keys.get(column[0], ()) or column in self.lexicon.foreign)

    def _told(self) -> str:
        return " ".join(term.expression or "" for term in self.grounding.terms)

    def _in_glossary(self, literal: exp.Literal) -> bool:
        return re.search(rf"(?<![\w.']){re.escape(literal.sql())}(?![\w.'])", self._told()) is not None

    def _in_words(self, text: str) -> bool:
        """Whether the words around the slots say a constant (`cancelled`)."""
        masked = mask(self.grounding.question, self.grounding)
        said = {token.stem for token in tokens(re.sub(r"<\w+>", " ", masked))}
        own = [token.stem for token in tokens(text)]
        return bool(own) and said.issuperset(own)


def _references(lexicon: Lexicon) -> dict[Column, Column]:
    """Columns that refer to another column, and so hold its values, by the declared keys."""
    return {
        (table.name, here): (key.referred_table, there)
        for table in lexicon.schema.tables
        for key in table.foreign_keys
        if len(key.columns) == 1
        for here, there in zip(key.columns, key.referred_columns, strict=True)
    }
