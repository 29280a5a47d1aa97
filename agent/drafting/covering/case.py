"""One query beside its question: what each of them says, as the rules of coverage read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import TypeGuard

from sqlglot import exp

from agent.attempt import Understood
from agent.database.guard import parse_query
from agent.database.naming import fold as fold_name
from agent.database.result import QueryRejected, Result
from agent.drafting.literals import Column, number_in
from agent.drafting.operands import AGGREGATES, Compared, Names, comparisons, literals
from agent.linked import Grounding, Link
from agent.linking import Lexicon
from agent.phrasing import Reading, read
from agent.wording import fold, tokens, words

_COLUMN = re.compile(r'("(?:[^"]|"")+"|\w+)\s*\.\s*("(?:[^"]|"")+"|\w+)')
_STRING = re.compile(r"'(?:[^']|'')*'")
_PLAIN_WORDS = words("id code date time name number at on in is of")
_LEAD_IN = re.compile(
    r"\A[^.?!]*?\b(?:want|need|have|has|like|love|ask|asked|wonder)(?:s|ed|ing)?\s+(?:me\s+)?"
    r"(?:to\s+(?:know|see|have|get)|for)\b",
    re.IGNORECASE,
)
Spot = tuple[int, int]
"""A stretch of the question, by its offsets."""


@dataclass(frozen=True)
class Case:
    """A query that passed the guard and the question that it is meant to answer. Nothing in it is changed."""

    understood: Understood
    tree: exp.Expr
    names: Names
    lexicon: Lexicon
    result: Result | None

    @property
    def grounding(self) -> Grounding:
        return self.understood.grounding

    @property
    def kind(self) -> str:
        return self.understood.intent.kind

    @property
    def question(self) -> str:
        return self.grounding.question

    @cached_property
    def reading(self) -> Reading:
        return read(self.question, self.grounding)

    @cached_property
    def said(self) -> frozenset[str]:
        """The stems of the words of the question."""
        return frozenset(token.stem for token in tokens(self.question))

    def says(self, pattern: re.Pattern[str]) -> bool:
        return pattern.search(self.question) is not None

    @cached_property
    def asked(self) -> tuple[Link, ...]:
        """The chosen links of what is asked, those of a lead-in (`our boss wants to know`) left out."""
        lead = _LEAD_IN.match(self.question)
        begins = lead.end() if lead is not None else 0
        return tuple(link for link in self.grounding.chosen if link.start >= begins)

    @cached_property
    def stretches(self) -> dict[Spot, tuple[Link, ...]]:
        """All meanings of each linked stretch, the chosen one first."""
        found: dict[Spot, list[Link]] = {}
        for link in self.grounding.links:
            found.setdefault((link.start, link.end), []).append(link)
        return {spot: tuple(links) for spot, links in found.items()}

    # The query

    @cached_property
    def compared(self) -> tuple[Compared, ...]:
        return tuple(comparisons(self.tree))

    @cached_property
    def literals(self) -> tuple[exp.Literal, ...]:
        return literals(self.tree)

    @cached_property
    def texts(self) -> frozenset[str]:
        """What the query writes as literals, folded."""
        return frozenset(fold(literal.name) for literal in self.literals)

    @cached_property
    def selects(self) -> tuple[exp.Select, ...]:
        return tuple(self.tree.find_all(exp.Select))

    @cached_property
    def answers(self) -> tuple[exp.Select, ...]:
        """The selects that give the rows of the answer."""
        found: list[exp.Select] = []
        waiting: list[exp.Expr] = [self.tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.SetOperation):
                waiting += [node.expression, node.this]
            elif isinstance(node, exp.Subquery):
                waiting.append(node.this)
            elif isinstance(node, exp.Select):
                found.append(node)
        return tuple(found)

    @cached_property
    def columns(self) -> frozenset[Column]:
        """The real columns that the query uses; with a star, all those of its table."""
        found = {column for node in self.tree.find_all(exp.Column) if (column := self.names.column(node)) is not None}
        for select in self.selects:
            stars = any(_is_star(one) for one in select.expressions)
            if stars:
                held = set(self.tables_of(select))
                found |= {(t.name, c.name) for t in self.lexicon.schema.tables if t.name in held for c in t.columns}
            for join in select.args.get("joins") or ():
                shared = {fold_name(one.name) for one in join.args.get("using") or ()}
                held = set(self.tables_of(select)) if shared else set()
                found |= {
                    (t.name, c.name)
                    for t in self.lexicon.schema.tables
                    if t.name in held
                    for c in t.columns
                    if fold_name(c.name) in shared
                }
        return frozenset(found)

    @cached_property
    def reads_views(self) -> bool:
        """Whether the query reads what other queries make: which tables those read cannot be told."""
        return any(table.is_view and table.name in self.names.tables for table in self.lexicon.schema.tables)

    @cached_property
    def unread(self) -> frozenset[str]:
        """Names of columns that could not be told to be real ones."""
        return frozenset(
            fold_name(node.name) for node in self.tree.find_all(exp.Column) if self.names.column(node) is None
        )

    @cached_property
    def called(self) -> frozenset[str]:
        """The names of the functions that the query calls."""
        return frozenset(map(name_of, self.tree.find_all(exp.Anonymous)))

    @cached_property
    def denies(self) -> bool:
        """Whether the query leaves anything out: NOT, <>, EXCEPT, IS NULL, or a count of none."""
        if self.tree.find(exp.Not, exp.NEQ, exp.Except, exp.Null) is not None:
            return True
        return any(one.literal.name in ("0", "1") and one.operator in ("=", "<") for one in self.compared)

    def sources(self, select: exp.Select) -> list[exp.Expr]:
        """What a select reads itself, subqueries not entered."""
        clause = select.args.get("from_")
        waiting = [clause.this] if clause is not None else []
        waiting += [join.this for join in select.args.get("joins") or ()]
        found: list[exp.Expr] = []
        while waiting:
            source = waiting.pop()
            waiting += [join.this for join in source.args.get("joins") or ()]
            if isinstance(source, exp.Paren) or (
                isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table)
            ):
                waiting.append(source.this)
            else:
                found.append(source)
        return found

    def tables_of(self, select: exp.Select) -> list[str]:
        """The real tables that a select reads itself, as often as it reads them."""
        found = [self.names.table(one) for one in self.sources(select) if isinstance(one, exp.Table)]
        return [table for table in found if table is not None]

    def own(self, select: exp.Select, parts: Iterable[exp.Expr] | None = None) -> Iterator[exp.Expr]:
        """The nodes of a select itself, those of queries within it left out."""
        waiting: list[exp.Expr] = list(select.iter_expressions() if parts is None else parts)
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.Query | exp.Subquery):
                continue
            yield node
            waiting += node.iter_expressions()

    def uses(self, column: Column) -> bool:
        """Whether the query uses a column, as far as can be told."""
        return column in self.columns or fold_name(column[1]) in self.unread

    # The schema

    def is_alike(self, column: Column, also: frozenset[str] = frozenset()) -> bool:
        """Whether the query uses a column of much the same name: a word may stand for more than the glossary says."""
        words = (self.lexicon.column_words.get(column, frozenset()) | also) - _PLAIN_WORDS
        return any(words & self.lexicon.column_words.get(other, frozenset()) for other in self.columns)

    def is_named_in_part(self, column: Column, text: str) -> bool:
        """Whether a word of the question that links to nothing stands in a value of a column and in no other of it."""
        known = known_values(self.lexicon).get(column, frozenset())
        if fold(text) not in known:
            return False
        loose = {token.stem for word in self.grounding.leftover for token in tokens(word)}
        own = loose & {token.stem for token in tokens(text)}
        return any(sum(stem in one for one in _stems_of(self.lexicon, column)) == 1 for stem in own)

    def told(self, expression: str) -> tuple[Column, ...]:
        """The real columns that an expression of the glossary names."""
        found = []
        for table, column in _COLUMN.findall(_STRING.sub("''", expression)):
            known = self._known.get((fold_name(_bare(table)), fold_name(_bare(column))))
            if known is not None:
                found.append(known)
        return tuple(dict.fromkeys(found))

    def formula(self, expression: str) -> exp.Expr | None:
        """An expression of the glossary, read; None where it cannot be."""
        try:
            return parse_query(f"SELECT {expression}", self.lexicon.schema.dialect)
        except QueryRejected:
            return None

    @cached_property
    def _known(self) -> dict[tuple[str, str], Column]:
        return {
            (fold_name(table.name), fold_name(column.name)): (table.name, column.name)
            for table in self.lexicon.schema.tables
            for column in table.columns
        }

    @property
    def refers(self) -> dict[Column, Column]:
        """The column that each column of a foreign key refers to."""
        return self.lexicon.refers

    def reached(self, tables: Iterable[str]) -> set[str]:
        """The tables whose row is told by a row of these, over keys; these themselves included."""
        reached = set(tables)
        waiting = list(reached)
        while waiting:
            here = waiting.pop()
            for column, referred in self.refers.items():
                if column[0] == here and referred[0] not in reached:
                    reached.add(referred[0])
                    waiting.append(referred[0])
        return reached

    def is_key(self, column: Column) -> bool:
        return column[1] in self.lexicon.primary_keys.get(column[0], ()) or column in self.lexicon.foreign

    def keyed(self, column: Column) -> str | None:
        """The table whose rows a key tells apart, by itself or by referring to it."""
        if self.lexicon.primary_keys.get(column[0]) == (column[1],):
            return column[0]
        referred = self.refers.get(column)
        return referred[0] if referred is not None else None


@lru_cache(maxsize=8)
def known_values(lexicon: Lexicon) -> dict[Column, frozenset[str]]:
    """The values of each column whose values are all known, folded."""
    return {
        (one.table, one.column): frozenset(map(fold, one.values))
        for one in lexicon.facts.columns
        if one.complete and one.values
    }


@lru_cache(maxsize=8)
def range_of(lexicon: Lexicon) -> dict[Column, tuple[Decimal, Decimal]]:
    """The smallest and the largest number of each column of numbers."""
    found = {}
    for one in lexicon.facts.columns:
        low, high = number_in(one.minimum or ""), number_in(one.maximum or "")
        if not one.is_date and not one.values and low is not None and high is not None:
            found[one.table, one.column] = (low, high)
    return found


def is_fraction(lexicon: Lexicon, column: Column) -> bool:
    """Whether a column holds parts of one, not all of them 0 or 1, as a discount of 0.25."""
    low, high = range_of(lexicon).get(column, (Decimal(0), Decimal(0)))
    return low >= 0 and high <= 1 and high % 1 != 0


@lru_cache(maxsize=64)
def _stems_of(lexicon: Lexicon, column: Column) -> tuple[frozenset[str], ...]:
    """The stems of each value of a column."""
    known = known_values(lexicon).get(column, frozenset())
    return tuple(frozenset(token.stem for token in tokens(text)) for text in known)


def own_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns whose values an expression is made of: not those that a CASE or a comparison only asks about."""
    if isinstance(node, exp.Column):
        yield node
        return
    if isinstance(node, exp.Query | exp.Subquery | exp.Predicate | exp.Connector):
        return
    for inner in node.iter_expressions():
        if not isinstance(node, exp.If) or inner is not node.this:
            yield from own_columns(inner)


def name_of(call: exp.Anonymous) -> str:
    return str(call.this).lower()


def factors(node: exp.Expr) -> list[exp.Expr]:
    """What a product is made of, constants left out."""
    if isinstance(node, exp.Paren):
        return factors(node.this)
    if isinstance(node, exp.Mul):
        return [*factors(node.this), *factors(node.expression)]
    return [] if isinstance(node, exp.Literal) else [node]


def is_aggregate(node: exp.Expr) -> TypeGuard[exp.Anonymous]:
    """Whether a node makes one value of several rows; a MIN or MAX of two arguments does not."""
    if not isinstance(node, exp.Anonymous) or name_of(node) not in AGGREGATES:
        return False
    return name_of(node) not in ("min", "max") or len(node.expressions) == 1


def is_denied(node: exp.Expr) -> bool:
    """Whether a condition stands under NOT, <> or EXCEPT, so that what it says is left out; twice is not at all."""
    denied = False
    here: exp.Expr | None = node
    while here is not None:
        around = here.parent
        taken = isinstance(around, exp.Except) and around.expression is here
        denied ^= isinstance(here, exp.Not | exp.NEQ) or taken
        here = around
    return denied


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
