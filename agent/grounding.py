"""What a question links to in one database: names, values, terms, times, numbers, and the joins between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.database.schema import Schema
from agent.keys import KeyGraph, qualified
from agent.linking import Lexicon, Meaning, Quality, Span
from agent.periods import Moment, Period, filter_sql, grouping_sql, moments, periods
from agent.wording import (
    AT_LEAST, AT_MOST, COMMON, EXACTLY, LESS_THAN, LOWEST, MORE_THAN, NEGATION, NUMBER_WORDS, STOP, SUPERLATIVE, Token,
    is_plural,
)  # fmt: skip
from memory.semantic import Term

__all__ = ["Comparison", "Evidence", "Grounding", "Lexicon", "Link", "ground", "narrow"]

LinkKind = Literal["table", "column", "value", "term", "number", "limit", "date", "month", "quarter", "half", "year"]
Direction = Literal["high", "low"]
Role = Literal["", "entity", "column", "measure", "aggregate", "condition", "name"]
Operator = Literal["<", "<=", "=", ">=", ">", "between"]

_QUOTED = re.compile(r"(?<!\w)(?:'(?P<a>[^']+)'|\"(?P<b>[^\"]+)\"|“(?P<c>[^”]+)”|‘(?P<d>[^’]+)’|„(?P<e>[^“”]+)[“”])(?!\w)")
_NUMBER = r"(?:\d+(?:[.,]\d+)*|" + "|".join(sorted(NUMBER_WORDS, key=lambda word: (-len(word), word))) + r")"
_COMPARED = tuple(
    (operator, re.compile(pattern, re.IGNORECASE))
    for operator, pattern in (
        (">=", rf"\b{AT_LEAST}\s+[$€£]?(?P<n>{_NUMBER})\b"),
        ("<=", rf"\b{AT_MOST}\s+[$€£]?(?P<n>{_NUMBER})\b"),
        (">", rf"\b{MORE_THAN}\s+(?:of\s+)?[$€£]?(?P<n>{_NUMBER})\b"),
        ("<", rf"\b{LESS_THAN}\s+[$€£]?(?P<n>{_NUMBER})\b"),
        ("=", rf"\b{EXACTLY}\s+[$€£]?(?P<n>{_NUMBER})\b"),
        (">=", rf"\b(?P<n>{_NUMBER})\s+(?:or|and)\s+(?:more|above|higher|over)\b"),
        ("<=", rf"\b(?P<n>{_NUMBER})\s+(?:or|and)\s+(?:fewer|less|below|lower|under)\b"),
        ("between", rf"\bbetween\s+[$€£]?(?P<n>{_NUMBER})\s+and\s+[$€£]?(?P<n2>{_NUMBER})\b"),
    )
)
_NEGATED = re.compile(rf"\b{NEGATION}\b|n['’]t\b", re.IGNORECASE)
_EXTREME = re.compile(rf"\b{SUPERLATIVE}\b(?!\s+(?:year|month|week|quarter|name)s?\b)", re.IGNORECASE)
_KEY_WORD = frozenset("number no nr id code".split())
_GRAIN = re.compile(
    r"\b(?:(?:per|by|each|every|over\s+the|across\s+the|for\s+(?:each|every)|(?:\w+)\s+by)\s+(?:calendar\s+)?"
    r"(?P<a>day|week|month|quarter|year)s?|(?P<b>daily|weekly|monthly|quarterly|yearly|annual(?:ly)?))\b",
    re.IGNORECASE,
)
_GRAIN_OF = {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}


@dataclass(frozen=True, slots=True)
class Link:
    """Words `start` to `end` of the question and one thing they mean.

    An ambiguous stretch has one link per meaning, the chosen one first. `value` is the stored value, a
    number in plain digits, or a time such as `1997-03`; for a term it is the term's first name. `column` of a
    number is the key that it names (`order 10248`). `role` says what a term stands for (`entity`, `column`, `measure`,
    `aggregate`, `condition`) and of a value or number whether it names one row (`name`).
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
    """How well the question fits the database, and why."""

    level: Literal["strong", "weak", "none"]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grounding:
    """All that linking found. `tables` are closed over the keys, `named` those that the question itself needs.

    `filters`, `expressions`, `joins` and `grouping` are SQL in the dialect of the database. `leftover` are content
    words that linked to nothing; `limit` is None where no number of rows is asked for.
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

    def fact_lines(self) -> tuple[str, ...]:
        """What linking found as formulas over real columns, one a line: conditions, terms, grouping, joins."""
        grouping = (self.grouping,) if self.grouping else ()
        return tuple(dict.fromkeys((*self.filters, *self.expressions, *grouping, *self.joins)))

    def noted(self) -> dict[str, object]:
        """All of it in plain values, to be kept with the attempt as JSON."""
        return {
            "links": [
                {"text": k.text, "kind": k.kind, "table": k.table, "column": k.column, "value": k.value, "quality": k.quality}
                for k in self.links
            ],
            "filters": list(self.filters),
            "expressions": list(self.expressions),
            "joins": list(self.joins),
            "grouping": self.grouping,
            "direction": self.direction,
            "limit": self.limit,
            "leftover": list(self.leftover),
            "evidence": self.evidence.level,
        }

    @property
    def chosen(self) -> tuple[Link, ...]:
        """One link per stretch, the chosen meaning, in reading order."""
        first: dict[tuple[int, int, bool], Link] = {}
        for link in self.links:
            first.setdefault((link.start, link.end, link.kind == "term"), link)
        return tuple(first.values())


def ground(question: str, lexicon: Lexicon) -> Grounding:
    """Link a question to the database behind the lexicon. Pure, and never raises for what a person types."""
    return _Reading(question, lexicon).grounding()


def narrow(schema: Schema, grounding: Grounding, limit: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the tables to show in full, at most `limit` (linked ones always); the second part is only named.

    Linked tables come first, then their neighbours over the keys, ring by ring. Both parts are in schema order.
    """
    keys = KeyGraph(schema)
    shown = list(grounding.tables) if len(schema.tables) > limit else [table.name for table in schema.tables]
    for name in shown:
        for near in keys.neighbours(name):
            if len(shown) < limit and near not in shown:
                shown.append(near)
    kept = set(shown)
    return keys.in_order(kept), tuple(table.name for table in schema.tables if table.name not in kept)


class _Reading:
    """The work of one `ground`: each step adds to what the steps before found."""

    def __init__(self, question: str, lexicon: Lexicon) -> None:
        self.question = question
        self.lexicon = lexicon
        self.words = lexicon.read(question)
        self.moments: tuple[Moment, ...] = moments(question) if lexicon.date_columns else ()
        self.literals: list[Link] = []
        self.comparisons = self._compared()
        self.spans = self._spans()
        self.anchors: list[str] = []
        self.mentions: list[tuple[int, str]] = []
        self.chosen: dict[int, list[Meaning]] = {}
        self._choose()

    def grounding(self) -> Grounding:
        lexicon, dialect = self.lexicon, self.lexicon.schema.dialect
        limit, direction = self._limit()
        numbers = self._numbers(limit)
        found = periods(self.question, self.moments)
        grain = _GRAIN.search(self.question)
        dated = self._date_column() if found or grain else None
        if dated is not None and dated[0] not in self.anchors:
            self.anchors.append(dated[0])
        named = lexicon.keys.in_order(self.anchors)
        tables, joins = (named, ()) if self._side_by_side() else lexicon.keys.connect(named)
        links = self._links(numbers)
        values = tuple(link for link in _first(links) if link.kind == "value" and link.table)
        terms = self._terms()
        filters = [_equals(link, dialect) for link in values]
        filters += [_equals(link, dialect) for link in numbers if link.column]
        if dated is not None:
            filters += [filter_sql(period, *dated, dialect) for period in found]
        leftover = self._leftover(links)
        return Grounding(
            question=self.question,
            links=links,
            named=named,
            tables=tables,
            joins=tuple(join.sql(dialect) for join in joins),
            terms=terms,
            values=values,
            periods=found,
            date_column=dated,
            comparisons=self.comparisons,
            direction=direction,
            limit=limit[1] if limit else None,
            negations=tuple(match.span() for match in _NEGATED.finditer(self.question)),
            leftover=leftover,
            filters=tuple(dict.fromkeys(filters)),
            expressions=self._expressions(),
            grouping=grouping_sql(_grain(grain), *dated, dialect) if grain and dated else None,
            evidence=self._evidence(links, leftover),
        )

    # Stretches of words and what they may mean

    def _spans(self) -> tuple[Span, ...]:
        taken = {place for place, word in enumerate(self.words) if any(_inside(word, m) for m in self.moments)}
        quoted: set[int] = set()
        for match in _QUOTED.finditer(self.question):
            group = next(name for name, text in match.groupdict().items() if text is not None)
            start, end = match.span(group)
            quoted |= {place for place, word in enumerate(self.words) if start <= word.start and word.end <= end}
        return self.lexicon.spans(self.words, taken=taken, quoted=quoted)

    def _choose(self) -> None:
        """Decide what each stretch means: names first, then the glossary, then what lies nearest to both."""
        waiting: list[tuple[int, list[Meaning]]] = []
        doubtful: list[tuple[int, Span]] = []
        for place, span in enumerate(self.spans):
            kinds = {meaning.kind for meaning in span.meanings}
            tables = [m for m in span.meanings if m.kind == "table" and m.quality != "part"]
            entities = [m for m in span.meanings if m.kind == "term" and self._class(m) == "entity"]
            if self._sorts(span):
                continue
            if tables and "column" not in kinds:
                self._name(place, span, [*tables, *entities])
            elif entities and not tables:
                self._name(place, span, entities)
            elif tables or kinds & {"term", "column"} or any(m.quality == "part" for m in span.meanings):
                doubtful.append((place, span))
            else:
                waiting.append((place, self._best_values(span)))
        for place, span in doubtful:
            self._settle_doubtful(place, span, waiting)
        self._settle(waiting)
        self._settle_parts(doubtful)

    def _name(self, place: int, span: Span, meanings: list[Meaning]) -> None:
        self.chosen[place] = meanings
        for meaning in meanings[:1]:
            self._anchor(meaning.table)
            self.mentions.append((span.first, meaning.table))

    def _anchor(self, table: str) -> None:
        if table and table not in self.anchors:
            self.anchors.append(table)

    def _settle_doubtful(self, place: int, span: Span, waiting: list[tuple[int, list[Meaning]]]) -> None:
        tables = [m for m in span.meanings if m.kind == "table"]
        columns = [m for m in span.meanings if m.kind == "column" and m.quality == "exact"]
        terms = [m for m in span.meanings if m.kind == "term"]
        here = [m for m in columns if m.table in self.anchors]
        if span.quality == "part" or all(m.quality == "part" for m in span.meanings):
            parts = [m for m in span.meanings if m.kind == "column"]
            if tables and not any(m.table in self.anchors for m in parts):
                self._name(place, span, tables)
        elif terms and not (here and not any(m.table in self.anchors for m in terms)):
            self.chosen[place] = [*terms, *columns]
            for meaning in terms[:1]:
                for table in self._term(meaning).tables:
                    self._anchor(table if table in self.lexicon.keys.in_order([table]) else "")
        elif here:
            self.chosen[place] = [*here, *(m for m in columns if m not in here)]
        elif tables:
            self._name(place, span, [*tables, *columns])
        elif columns:
            waiting.append((place, columns))

    def _settle(self, waiting: list[tuple[int, list[Meaning]]]) -> None:
        """Give values and columns a table: one already needed, else the one fewest joins away that explains most."""
        lexicon = self.lexicon
        while True:
            homeless = [found for _, found in waiting if not any(m.table in self.anchors for m in found)]
            if not homeless:
                break
            coverage: dict[str, int] = {}
            named: dict[str, int] = {}
            for found in homeless:
                for table in {m.table for m in found}:
                    coverage[table] = coverage.get(table, 0) + 1
                    named[table] = max(named.get(table, 0), self._names_row(found, table))
            out = {table.name: len(table.foreign_keys) for table in lexicon.schema.tables}
            order = lexicon.keys.in_order(coverage)
            best = min(order, key=lambda t: (self._away(t), -coverage[t], -named[t], out[t], order.index(t)))
            self._anchor(best)
        for place, found in sorted(waiting):
            self.chosen[place] = sorted(found, key=lambda m: self._preference(place, m))

    def _settle_parts(self, doubtful: list[tuple[int, Span]]) -> None:
        parts = [(place, [m for m in span.meanings if m.kind == "column"]) for place, span in doubtful]
        parts = [(place, found) for place, found in parts if place not in self.chosen and found]
        if parts and not self.anchors:
            self._settle([(place, found) for place, found in parts])
        for place, found in parts:
            here = [m for m in found if m.table in self.anchors]
            if here:
                self.chosen[place] = here

    def _best_values(self, span: Span) -> list[Meaning]:
        values = [m for m in span.meanings if m.kind == "value"]
        naming = [m for m in values if (m.table, m.column) in self.lexicon.naming]
        return naming or values

    def _names_row(self, found: list[Meaning], table: str) -> int:
        return int(any(m.table == table and (m.table, m.column) in self.lexicon.naming for m in found))

    def _away(self, table: str) -> int:
        """Joins from the tables already needed; 0 while there are none."""
        far = len(self.lexicon.schema.tables)
        distances = [self.lexicon.keys.distance(anchor, table) for anchor in self.anchors]
        return min((far if d is None else d for d in distances), default=0)

    def _preference(self, place: int, meaning: Meaning) -> tuple[int, int, int]:
        """Sort key: tables already needed, columns whose own words the question uses, then the nearest mention."""
        own = {word.stem for word in self.words}
        column = self.lexicon.column_words.get((meaning.table, meaning.column or ""), frozenset())
        first = self.spans[place].first
        near = min((abs(first - at) for at, table in self.mentions if table == meaning.table), default=len(self.words))
        return (meaning.table not in self.anchors, -len(own & column), near)

    def _sorts(self, span: Span) -> bool:
        """Whether `ordered` in "ordered by price" or `order` in "in descending order" is about sorting."""
        if span.last - span.first != 1 or self.words[span.first].stem not in {"order", "sort", "rank", "group"}:
            return False
        before = self.words[span.first - 1].folded if span.first else ""
        if before in {"ascending", "descending", "alphabetical", "chronological", "in", "reverse"}:
            return True
        follows = self.words[span.last].folded if span.last < len(self.words) else ""
        if follows != "by" or self.words[span.first].folded in {"orders", "order"}:
            return False
        nxt = next((other for other in self.spans if other.first >= span.last), None)
        return nxt is None or not any(m.kind in {"table", "value"} for m in nxt.meanings)

    # Numbers, limits, times

    def _compared(self) -> tuple[Comparison, ...]:
        found: list[Comparison] = []
        for operator, pattern in _COMPARED:
            for match in pattern.finditer(self.question):
                dated = any(m.start < match.end() and match.start() < m.end for m in self.moments)
                if dated or any(c.start < match.end() and match.start() < c.end for c in found):
                    continue
                high = _digits(match["n2"]) if operator == "between" else None
                found.append(Comparison(*match.span(), match[0], operator, _digits(match["n"]), high))  # type: ignore[arg-type]
        return tuple(sorted(found, key=lambda comparison: comparison.start))

    def _superlative(self) -> re.Match[str] | None:
        linked = [self._offsets(self.spans[place]) for place in self.chosen]
        times = [(moment.start, moment.end) for moment in self.moments]
        for match in _EXTREME.finditer(self.question):
            if not any(start <= match.start() < end for start, end in (*linked, *times)):
                return match
        return None

    def _limit(self) -> tuple[tuple[int, int] | None, Direction | None]:
        """The limit as (place of its word or -1, number) and the direction of the first superlative."""
        extreme = self._superlative()
        direction: Direction | None = None
        if extreme is not None:
            low = extreme[0].lower() in LOWEST
            direction = "low" if low else "high"
        for place, word in enumerate(self.words):
            number = self._number_at(place)
            if number is None or not number.isdigit() or self._busy(word):
                continue
            before = self.words[place - 1].folded if place else ""
            ahead = self.words[place + 1 : place + 5]
            leads = re.fullmatch(SUPERLATIVE, before) is not None
            counted = any(self._plural_table(place + 1 + step) for step in range(min(4, len(ahead))))
            followed = any(re.fullmatch(SUPERLATIVE, other.folded) for other in ahead[:2])
            if leads or followed or counted:
                return (place, int(number)), direction
        if extreme is None:
            return None, None
        after = [place for place, word in enumerate(self.words) if word.start >= extreme.end()][:4]
        mentioned = [place for place in after if self._table_at(place)]
        which = next((p for p, w in enumerate(self.words) if w.folded in {"which", "what", "who"} and self._plural_table(p + 1)), None)  # fmt: skip
        plural = which is not None or any(self._plural_table(place) for place in mentioned[:1])
        if plural and extreme[0].lower() not in {"most", "fewest", "least"} or which is not None:
            return None, direction
        return (-1, 1), direction

    def _number_at(self, place: int) -> str | None:
        word = self.words[place]
        if word.kind == "number":
            return _digits(word.text)
        number = NUMBER_WORDS.get(word.folded)
        return None if number is None or number in {0, 1} else str(number)

    def _busy(self, word: Token) -> bool:
        """Whether a number is already spoken for by a time, a comparison or a linked stretch."""
        stretches = [(m.start, m.end) for m in self.moments] + [(c.start, c.end) for c in self.comparisons]
        stretches += [self._offsets(self.spans[place]) for place in self.chosen]
        return any(start <= word.start < end for start, end in stretches)

    def _table_at(self, place: int) -> bool:
        return any(s.first <= place < s.last and self.chosen[at][0].kind in {"table", "term"} for at, s in enumerate(self.spans) if at in self.chosen)  # fmt: skip

    def _plural_table(self, place: int) -> bool:
        if not 0 <= place < len(self.words):
            return False
        for at, span in enumerate(self.spans):
            if at in self.chosen and span.first <= place < span.last and self._entity(self.chosen[at][0]):
                return is_plural(self.words[span.last - 1].folded)
        return False

    def _numbers(self, limit: tuple[int, int] | None) -> list[Link]:
        found = []
        linked = [self._offsets(self.spans[place]) for place in self.chosen]
        for place, word in enumerate(self.words):
            number = self._number_at(place)
            compared = next((c for c in self.comparisons if c.start <= word.start < c.end), None)
            if number is None and compared and word.folded in NUMBER_WORDS:
                number = str(NUMBER_WORDS[word.folded])
            taken = any(start <= word.start < end for start, end in linked)
            if number is None or taken or any(_inside(word, m) for m in self.moments):
                continue
            if limit is not None and limit[0] == place:
                found.append(Link(word.start, word.end, word.text, "limit", value=number))
                continue
            key = None if compared else self._key_before(place)
            table, column = key or (None, None)
            role: Role = "name" if key else ""
            found.append(Link(word.start, word.end, word.text, "number", table, column, number, role=role))
        return found

    def _key_before(self, place: int) -> tuple[str, str] | None:
        """The key that a number names: `order 10248`, `customer number 5`."""
        at = place - 1
        while at >= 0 and self.words[at].folded in _KEY_WORD:
            at -= 1
        for here, span in enumerate(self.spans):
            if here in self.chosen and span.last == at + 1 and self._entity(self.chosen[here][0]):
                if is_plural(self.words[at].folded):
                    return None
                table = self.chosen[here][0].table
                keys = [c.name for t in self.lexicon.schema.tables if t.name == table for c in t.columns if c.primary_key]
                return (table, keys[0]) if len(keys) == 1 else None
        return None

    def _date_column(self) -> tuple[str, str] | None:
        """The likeliest date column: one the question names, else one whose words it uses, else the nearest first."""
        columns = self.lexicon.date_columns
        for place in sorted(self.chosen):
            for meaning in self.chosen[place][:1]:
                if any((meaning.table, meaning.column) == (d.table, d.column) for d in columns):
                    return meaning.table, str(meaning.column)
        if not self.anchors:
            return None
        tables = {span.first for at, span in enumerate(self.spans) if at in self.chosen and self._entity(self.chosen[at][0])}
        own = {word.stem for place, word in enumerate(self.words) if place not in tables}
        far = len(self.lexicon.schema.tables)
        ranked = []
        for order, dated in enumerate(columns):
            away = self._away(dated.table)
            used = len(own & dated.words) if away <= 1 else 0
            if away < far:
                ranked.append(((-used, away, order), (dated.table, dated.column)))
        return min(ranked)[1] if ranked else None

    # What comes out

    def _links(self, numbers: list[Link]) -> tuple[Link, ...]:
        links: list[tuple[int, int, int, Link]] = []
        for place, meanings in self.chosen.items():
            span = self.spans[place]
            start, end = self._offsets(span)
            for rank, meaning in enumerate(meanings):
                value = self._term(meaning).names[0] if meaning.kind == "term" else meaning.value
                quality: Quality = "typo" if span.quality == "typo" else meaning.quality
                text, table = self.question[start:end], meaning.table or None
                link = Link(start, end, text, meaning.kind, table, meaning.column, value, quality, self._role(meaning))
                links.append((start, -end, rank, link))
        links += [(link.start, -link.end, 0, link) for link in numbers]
        links += [(m.start, -m.end, 0, Link(m.start, m.end, m.text, m.grain, value=m.value)) for m in self.moments]
        covered = [(start, -end) for start, end, _, _ in links]
        for match in _QUOTED.finditer(self.question):
            group = next(name for name, text in match.groupdict().items() if text is not None)
            start, end = match.span(group)
            if not any(a < end and start < b for a, b in covered):
                links.append((start, -end, 0, Link(start, end, match[group], "value", value=match[group])))
        return tuple(link for *_, link in sorted(links, key=lambda entry: entry[:3]))

    def _terms(self) -> tuple[Term, ...]:
        places = [m.term for place in sorted(self.chosen) for m in self.chosen[place] if m.term is not None]
        return tuple(self.lexicon.glossary[place] for place in dict.fromkeys(places))

    def _expressions(self) -> tuple[str, ...]:
        """The SQL of the terms that say more than which table is meant."""
        places = [m.term for place in sorted(self.chosen) for m in self.chosen[place] if self._class(m) not in {"", "entity"}]
        found = (self.lexicon.glossary[place].expression for place in places if place is not None)
        return tuple(dict.fromkeys(expression for expression in found if expression))

    def _side_by_side(self) -> bool:
        """Whether the tables needed are looked at apart (`customers and suppliers in the UK`), so that no join is meant.

        So when all of them hold one column or value that is linked, and no key joins any two directly.
        """
        if len(self.anchors) < 2 or any(self.lexicon.keys.distance(a, b) == 1 for a in self.anchors for b in self.anchors):
            return False
        for meanings in self.chosen.values():
            columns = {m.column for m in meanings if m.column}
            tables = {m.table for m in meanings if m.column}
            if len(columns) == 1 and tables.issuperset(self.anchors):
                return True
        return False

    def _leftover(self, links: Sequence[Link]) -> tuple[str, ...]:
        left = []
        for word in self.words:
            if word.kind == "number" or word.folded in COMMON or word.stem in COMMON or len(word.folded) < 2:
                continue
            if any(link.start <= word.start < link.end for link in links) or re.fullmatch(SUPERLATIVE, word.folded):
                continue
            if word.kind == "other" and any(link.end == word.start for link in links):
                continue
            left.append(word.text)
        return tuple(dict.fromkeys(left))

    def _evidence(self, links: Sequence[Link], leftover: Sequence[str]) -> Evidence:
        firm = [k for k in _first(links) if k.kind in {"table", "term"} or (k.kind == "column" and k.quality == "exact")]
        vague = [k for k in _first(links) if k not in firm and k.kind in {"column", "value"} and k.table]
        reasons = [f"{k.text!r} is {_thing(k)}" for k in (*firm, *vague)]
        if leftover:
            reasons.append("nothing in the database is called " + ", ".join(repr(word) for word in leftover))
        if firm and not (len(leftover) > 3 * len(firm) + len(vague) and all(k.quality == "typo" for k in firm)):
            return Evidence("strong", tuple(reasons))
        values = [k for k in vague if k.kind == "value"]
        if values and not leftover:
            return Evidence("strong", tuple(reasons))
        if firm or vague:
            return Evidence("weak", tuple(reasons))
        return Evidence("none", tuple(reasons) or ("no word of the question is in the database",))

    # Small looks at what was found

    def _offsets(self, span: Span) -> tuple[int, int]:
        return self.words[span.first].start, self.words[span.last - 1].end

    def _class(self, meaning: Meaning) -> str:
        return "" if meaning.term is None else self.lexicon.term_classes[meaning.term]

    def _role(self, meaning: Meaning) -> Role:
        if meaning.term is not None:
            return self.lexicon.term_classes[meaning.term]
        return "name" if meaning.kind == "value" and (meaning.table, meaning.column) in self.lexicon.naming else ""

    def _term(self, meaning: Meaning) -> Term:
        assert meaning.term is not None
        return self.lexicon.glossary[meaning.term]

    def _entity(self, meaning: Meaning) -> bool:
        return meaning.kind == "table" or self._class(meaning) == "entity"


def _first(links: Sequence[Link]) -> tuple[Link, ...]:
    found: dict[tuple[int, int], Link] = {}
    for link in links:
        found.setdefault((link.start, link.end), link)
    return tuple(found.values())


def _inside(word: Token, moment: Moment) -> bool:
    return moment.start <= word.start < moment.end


def _digits(text: str) -> str:
    """A number in plain digits: `10,000` and `ten` as `10000` and `10`; a decimal comma becomes a point."""
    if text.lower() in NUMBER_WORDS:
        return str(NUMBER_WORDS[text.lower()])
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        return text.replace(",", "")
    return text.replace(",", ".") if text.count(",") == 1 and "." not in text else text.replace(",", "")


def _equals(link: Link, dialect: str) -> str:
    value = link.value or ""
    literal = value if link.kind == "number" else "'" + value.replace("'", "''") + "'"
    return f"{qualified(link.table or '', link.column or '', dialect)} = {literal}"


def _grain(match: re.Match[str]) -> str:
    return match["a"].lower() if match["a"] else _GRAIN_OF.get(match["b"].lower(), "year")


def _thing(link: Link) -> str:
    if link.kind == "table":
        return f"the table {link.table}"
    if link.kind == "term":
        return f"the term {link.value}"
    if link.kind == "column":
        return f"the column {link.table}.{link.column}"
    return f"a value of {link.table}.{link.column}"
