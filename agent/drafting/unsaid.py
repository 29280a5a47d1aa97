"""What a query does that its question does not ask for: right by luck for some literals, and wrong for others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from agent.drafting.literals import Column
from agent.drafting.operands import AGGREGATES, Compared, Names
from agent.linked import Grounding, Link
from agent.linking import Lexicon
from agent.phrasing import mask
from agent.wording import HIGHEST, LOWEST, name_tokens, tokens

_PLAIN_WORDS = frozenset(("date", "time", "name", "number", "code", "id", "type", "valu", "at", "on", "in", "is"))
_DIFFERENT = re.compile(r"\b(?:different|distinct|unique|various|once|duplicates?|variety)\b", re.IGNORECASE)
_GROUPED = re.compile(r"\b(?:which|what|who|whose|several|common|shared?)\b", re.IGNORECASE)
_EACH = re.compile(
    r"\b(?:per|each|by(?! <)|every|across|broken down|split|(?:dai|week|month|quarter|year)ly|annual)\b", re.I
)
_EVERY = re.compile(r"\b(?:each|every|all)\b", re.IGNORECASE)
_AVERAGE = re.compile(r"\b(?:averages?|mean|avg|typical(?:ly)?)\b", re.IGNORECASE)
_EXTREME = re.compile(r"\b(?:minimum|maximum|min|max|ranges?|extremes?|since when|how late|how early)\b", re.I)
_HELD = re.compile(
    r"\b(?:than|after|before|later|earlier|late|early|same|equals?|exceed\w*|above|below|over|under|beyond|past"
    r"|between|within|until|differ\w*|own|match\w*|reach\w*|both|longer|shorter|compared|exactly|share[sd]?)\b",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\b(?:no|not|never|none|nobody|without|neither|nor|except|excluding|outside|lack\w*|missing|un\w+|only|cannot"
    r"|\w+n't|remaining|still|other)\b",
    re.IGNORECASE,
)
_LINED_UP = re.compile(
    r"\b(?:rank\w*|running|cumulat\w*|so far|moving|share|percent\w*|previous|next"
    r"|chang\w*|gr[oe]w\w*|position|place|order of)\b",
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"\b(?:list\w*|joined|commas?|together|concat\w*|one line)\b", re.IGNORECASE)
_PAIRED = re.compile(r"\b(?:pairs?|once|twice|others?|another|same|shared?|both)\b", re.IGNORECASE)
_READ_AS_ROWS = exp.From | exp.Join | exp.In | exp.Exists | exp.SetOperation | exp.CTE
_ORDERED = exp.LT | exp.LTE | exp.GT | exp.GTE | exp.EQ | exp.NEQ | exp.Is


@dataclass(frozen=True)
class Unsaid:
    """Judges what a query does besides its literals. `explained` are the ids of the literals that stand for slots."""

    tree: exp.Expr
    names: Names
    grounding: Grounding
    lexicon: Lexicon
    compared: Sequence[Compared]
    explained: frozenset[int]

    def nothing(self) -> bool:
        """Whether all that the query does is asked for, or cannot hang on the literals of the question."""
        return (
            self._tables_are_said()
            and self._small_groups_are_kept()
            and all(map(self._is_said_condition, self._conditions()))
            and all(map(self._is_asked, self.tree.walk()))
            and all(map(self._scope_is_fair, self.tree.find_all(exp.Select)))
        )

    # What the question says

    @cached_property
    def said(self) -> frozenset[str]:
        return frozenset(token.stem for token in tokens(self.grounding.question))

    @cached_property
    def masked(self) -> str:
        return mask(self.grounding.question, self.grounding)

    @cached_property
    def asked(self) -> Link | None:
        """What the question asks for: the first table or column behind its opening words."""
        for link in self.grounding.chosen:
            if link.kind in ("table", "column") and not link.verb:
                return link
            if link.kind == "term" and link.table is not None and link.role in ("entity", "column", "measure"):
                return link
        return None

    @cached_property
    def linked(self) -> frozenset[str | None]:
        """The tables that the question speaks of."""
        kinds = ("table", "column", "term")
        return frozenset(link.table for link in self.grounding.chosen if link.kind in kinds and link.table is not None)

    @cached_property
    def compares(self) -> bool:
        """Whether a word that holds things together stands outside what is said of numbers and times."""
        text = self.grounding.question
        spans = [(one.start, one.end) for one in self.grounding.comparisons]
        for start, end in [*spans, *((one.start, one.end) for one in self.grounding.periods)]:
            text = text[:start] + " " * (end - start) + text[end:]
        return _HELD.search(text) is not None

    def _says(self, pattern: re.Pattern[str]) -> bool:
        return pattern.search(self.masked) is not None

    def _says_column(self, column: Column) -> bool:
        """Whether the question or the glossary names a column: by a link, or by all the words of its name."""
        if any((link.table, link.column) == column and not link.verb for link in self.grounding.chosen):
            return True
        own = self.lexicon.column_words.get(column, frozenset())
        own = own - _PLAIN_WORDS or own
        return (bool(own) and own <= self.said) or self._tells(column)

    def _tells_sql(self, node: exp.Expr) -> bool:
        """Whether an expression stands in the glossary as it is, the names of its tables aside."""
        here, told = (
            re.sub(r"\w+\.|\"[^\"]+\"\.|[\W_]", "", text).lower() for text in (node.sql(), self.grounding.told)
        )
        return bool(here) and here in told

    def _tells(self, column: Column) -> bool:
        return re.search(rf"(?<!\w){re.escape(column[1])}(?!\w)", self.grounding.told) is not None

    def _says_table(self, table: str) -> bool:
        if table in self.grounding.tables or any(table in term.tables for term in self.grounding.terms):
            return True
        own = {token.stem for token in name_tokens(table)}
        return bool(own) and own <= self.said

    # Tables

    def _tables_are_said(self) -> bool:
        """A table that nobody named leaves rows out, unless what is shown comes from it."""
        shown = {
            column[0]
            for select in self._answers()
            for projection in select.expressions
            for node in projection.find_all(exp.Column)
            if (column := self.names.column(node)) is not None and not self._is_key(column)
        }
        return all(self._says_table(table) or table in shown for table in self.names.tables)

    def _answers(self) -> Iterator[exp.Select]:
        """The selects that give the rows of the answer."""
        waiting: list[exp.Expr] = [self.tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.SetOperation):
                waiting += [node.this, node.expression]
            elif isinstance(node, exp.Subquery):
                waiting.append(node.this)
            elif isinstance(node, exp.Select):
                yield node

    # Nodes

    def _is_asked(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Anonymous):
            return self._is_asked_call(node)
        if isinstance(node, exp.AggFunc):
            return self._says(_TOGETHER)
        if isinstance(node, exp.Window):
            return self.grounding.direction is not None or self._says(_LINED_UP) or self._says(_EACH)
        if isinstance(node, exp.Distinct):
            return self._is_asked_distinct(node)
        if isinstance(node, exp.Except) and not self._says_none():
            return False
        if isinstance(node, exp.SetOperation) and node.args.get("distinct"):
            return self._is_asked_set(node)
        if isinstance(node, exp.Not) and isinstance(node.this, exp.In | exp.Exists):
            return self._says_none()
        if isinstance(node, exp.In):
            return self._is_asked_list(node)
        if isinstance(node, exp.Subquery) and self._is_scalar(node):
            return self._gives_one_row(node)
        if isinstance(node, _ORDERED | exp.Between | exp.Like):
            return self._is_asked_comparison(node)
        return True

    def _says_none(self) -> bool:
        return bool(self.grounding.negations) or self._says(_NONE) or "NOT " in self.grounding.told.upper()

    def _is_asked_call(self, node: exp.Anonymous) -> bool:
        name, given = str(node.this).lower(), node.expressions
        if name == "count" and len(given) == 1 and not isinstance(given[0], exp.Star | exp.Literal | exp.Distinct):
            inside = [self.names.column(column) for column in _columns(given[0])]
            if isinstance(given[0], exp.Case):
                return True
            return all(one is not None and (self._is_filled(one) or self._is_named(one)) for one in inside)
        if name == "avg":
            return self._says(_AVERAGE) or "AVG(" in self.grounding.told.upper().replace(" ", "")
        if name in ("min", "max") and len(given) == 1:
            return self._says_extreme(name)
        if name in ("sum", "total"):
            inside = [self.names.column(column) for one in given for column in _columns(one, conditions=False)]
            return all(one is None or one in self.lexicon.amounts or self._is_mentioned(one) for one in inside)
        return name not in AGGREGATES or name == "count" or self._says(_TOGETHER)

    def _says_extreme(self, name: str) -> bool:
        if self.grounding.direction is not None or self._says(_EXTREME):
            return True
        words = {token.folded for token in tokens(self.grounding.question)}
        return bool(words & (HIGHEST | LOWEST)) or f"{name.upper()}(" in self.grounding.told.upper().replace(" ", "")

    def _is_filled(self, column: Column) -> bool:
        """Whether every row has a value there."""
        table = next((one for one in self.lexicon.schema.tables if one.name == column[0]), None)
        found = next((one for one in table.columns if one.name == column[1]), None) if table is not None else None
        return found is not None and (found.primary_key or not found.nullable)

    def _is_named(self, column: Column) -> bool:
        """Whether a column is what the question asks for by name."""
        link = self.asked
        return link is not None and (link.table, link.column) == column and link.quality == "exact"

    # DISTINCT

    def _is_asked_distinct(self, node: exp.Distinct) -> bool:
        if self._says(_DIFFERENT) or self._tells_sql(node):
            return True
        around = node.parent
        if isinstance(around, exp.Select):
            return self._is_asked_select(around)
        column = self.names.column(node.expressions[0]) if len(node.expressions) == 1 else None
        if column is None:
            return False
        shared = self._says(_AVERAGE) or self._says(_EACH) or node.find_ancestor(exp.Having) is not None
        named = self._keyed(column) in self.linked if shared else self._counts_asked(column)
        return named or self._asks_by_name(column)

    def _is_asked_set(self, node: exp.SetOperation) -> bool:
        """Whether what UNION, EXCEPT and INTERSECT make one of stands for one row of what is asked for."""
        if isinstance(node.parent, exp.SetOperation | exp.In | exp.Exists) or self._says(_DIFFERENT):
            return True
        if isinstance(node.parent, exp.Subquery) and isinstance(node.parent.parent, exp.In | exp.Exists):
            return True
        first = _first_select(node)
        return first is not None and self._is_asked_select(first)

    def _counts_asked(self, column: Column) -> bool:
        """Whether different values of a column are the rows of the table that is asked for: its key."""
        link = self.asked
        table = self._keyed(column)
        return link is not None and table is not None and link.table == table

    def _keyed(self, column: Column) -> str | None:
        """The table whose rows a column tells apart, by itself or by referring to it."""
        if self.lexicon.primary_keys.get(column[0]) == (column[1],):
            return column[0]
        for table in self.lexicon.schema.tables:
            for key in table.foreign_keys:
                if table.name == column[0] and key.columns == (column[1],):
                    return key.referred_table
        return None

    def _asks_by_name(self, column: Column) -> bool:
        """`which cities`, `how many countries`: the values themselves are asked for."""
        link = self.asked
        if link is None or link.column is None:
            return False
        before = self.grounding.question[: link.start]
        if not re.search(r"\b(?:which|what|how many|number of)\s+(?:\w+\s+)?\Z", before, re.IGNORECASE):
            return False
        words = {token.stem for token in tokens(link.text)}
        return (link.table, link.column) == column or words <= self.lexicon.column_words.get(column, frozenset())

    def _is_asked_select(self, select: exp.Select) -> bool:
        """Whether DISTINCT only takes back what a join multiplied, or what is asked for are the values themselves."""
        columns = [self.names.column(one.unalias()) for one in select.expressions]
        if None in columns:
            return False
        known = [column for column in columns if column is not None]
        if any(self._counts_asked(column) for column in known):
            return True
        if len(known) == 1 and self._asks_by_name(known[0]):
            return True
        owners = {column[0] for column in known}
        link = self.asked
        if len(owners) != 1 or link is None or link.table not in owners:
            return False
        multiplied = self._referring(select, owners.copy().pop())
        return multiplied and any(column in self.lexicon.naming or self._keyed(column) for column in known)

    def _referring(self, select: exp.Select, table: str) -> bool:
        """Whether a source beside a table has several rows for one of its own."""
        others = {name for name in self._sources(select) if name is not None and name != table}
        return any(
            key.referred_table == table
            for one in self.lexicon.schema.tables
            if one.name in others
            for key in one.foreign_keys
        )

    def _sources(self, select: exp.Select) -> list[str | None]:
        """The real tables that a select reads itself, None for each other source."""
        clause = select.args.get("from_")
        found = [clause.this] if clause is not None else []
        found += [join.this for join in select.args.get("joins") or ()]
        return [self.names.table(one) if isinstance(one, exp.Table) else None for one in found]

    # Conditions

    def _conditions(self) -> Iterator[exp.Expr]:
        """What keeps rows or leaves them out, AND, OR and NOT taken apart, and each comparison wherever it stands."""
        for holder in self.tree.find_all(exp.Where, exp.Having, exp.Join, exp.If):
            waiting = [holder.args.get("on") if isinstance(holder, exp.Join) else holder.this]
            while waiting:
                node = waiting.pop()
                if isinstance(node, exp.Connector):
                    waiting += [node.this, node.expression]
                elif isinstance(node, exp.Paren | exp.Not):
                    waiting.append(node.this)
                elif node is not None:
                    yield node
        yield from self.tree.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.Between)

    def _is_said_condition(self, node: exp.Expr) -> bool:
        """A condition holds a literal of the question, follows a key, or is about what the question names."""
        if any(id(literal) in self.explained for literal in node.find_all(exp.Literal)):
            return True
        if isinstance(node, exp.Exists | exp.Is) or (isinstance(node, exp.In) and node.args.get("query") is not None):
            return True
        if isinstance(node, _ORDERED) and any(self.names.counts(side) for side in (node.this, node.expression)):
            return True
        columns = [self.names.column(column) for column in _columns(node)]
        known = [column for column in columns if column is not None]
        if isinstance(node, exp.EQ) and len(known) == 2 and self._are_alike(known[0], known[1]):
            return True
        return all(self._is_key(column) or self._is_mentioned(column) for column in known)

    def _is_mentioned(self, column: Column) -> bool:
        own = self.lexicon.column_words.get(column, frozenset())
        own = own - _PLAIN_WORDS or own
        return self._says_column(column) or bool(own & self.said) or self.grounding.direction is not None

    def _small_groups_are_kept(self) -> bool:
        """What is fewer than a number may be none: only an outer join or a query for each row finds those."""
        outer = any(join.args.get("side") for join in self.tree.find_all(exp.Join))
        return outer or not any(
            one.operator in ("<", "<=")
            and id(one.literal) in self.explained
            and self.names.counts(one.other)
            and not self.names.ranks(one.other)
            and not isinstance(one.other, exp.Subquery)
            for one in self.compared
        )

    # Comparisons

    def _is_asked_list(self, node: exp.In) -> bool:
        """`IN (SELECT ...)` follows a key, or compares what the question says is alike."""
        query = node.args.get("query")
        if query is None:
            return True
        inner = _first_select(query)
        if inner is None or len(inner.expressions) != 1:
            return False
        here, there = self.names.column(node.this), self.names.column(inner.expressions[0].unalias())
        if here is None or there is None:
            return False
        compares = self.compares or self._says_none()
        return self._are_alike(here, there) or (compares and all(map(self._says_column, (here, there))))

    def _are_alike(self, here: Column, there: Column) -> bool:
        """Whether two columns hold the keys of one table."""
        return self._end(here) == self._end(there) and self._is_key(here) and self._is_key(there)

    def _end(self, column: Column) -> Column:
        """The column that a column refers to in the end, by the declared keys."""
        for _ in range(8):
            for table in self.lexicon.schema.tables:
                keys = [key for key in table.foreign_keys if table.name == column[0] and column[1] in key.columns]
                if keys:
                    key = keys[0]
                    column = (key.referred_table, key.referred_columns[key.columns.index(column[1])])
                    break
            else:
                break
        return column

    def _is_key(self, column: Column) -> bool:
        return column[1] in self.lexicon.primary_keys.get(column[0], ()) or column in self.lexicon.foreign

    @staticmethod
    def _is_scalar(node: exp.Subquery) -> bool:
        return node.parent is not None and not isinstance(node.parent, _READ_AS_ROWS)

    def _gives_one_row(self, node: exp.Subquery) -> bool:
        """Whether a query that stands for one value cannot have several rows: an aggregate, or one row by its key."""
        select = node.this
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            return False
        if select.args.get("limit") is not None:
            return self.grounding.direction is not None and select.args.get("order") is not None
        if select.args.get("group") is None and any(map(_is_aggregate, select.expressions[0].walk())):
            return True
        sources = self._sources(select)
        where = select.args.get("where")
        kept = [
            one.other
            for one in self.compared
            if one.operator == "=" and one.how == "plain" and where is not None and _stands_in(one.node, where)
        ]
        keys = {self.names.column(other) for other in kept}
        return len(sources) == 1 and any(
            (source, key) in keys
            for source in sources
            if source is not None
            for key in self.lexicon.primary_keys.get(source, ())
            if len(self.lexicon.primary_keys[source]) == 1
        )

    def _is_asked_comparison(self, node: exp.Expr) -> bool:
        """What is compared with what: a key with its own, or columns that the question names and holds together."""
        sides = [node.this, *(node.args[name] for name in ("expression", "low", "high") if node.args.get(name))]
        columns = [[*_columns(side)] for side in sides]
        if sum(map(bool, columns)) < 2:
            return self._is_asked_measure(node, sides)
        if self.compares and any(self.names.counts(side) for side in sides):
            return True
        found = [self.names.column(column) for side in columns for column in side]
        if None in found:
            return False
        known = [column for column in found if column is not None]
        plain = isinstance(node, exp.EQ) and all(isinstance(side, exp.Column) for side in sides)
        if plain and self._are_alike(known[0], known[1]):
            return True
        if self._is_key(known[0]) and set(known) == {known[0]}:
            return self._says(_PAIRED)
        if self._tells_sql(node):
            return True
        return self.compares and all(map(self._says_column, known))

    def _is_asked_measure(self, node: exp.Expr, sides: Sequence[exp.Expr]) -> bool:
        """A value that only an aggregate gives is held against a column where the question compares or ranks."""
        queries = [side for side in sides if isinstance(side, exp.Subquery)]
        if not all(self._is_extreme_of_these(node, query) for query in queries):
            return False
        others = [side for side in sides if side not in queries]
        if not queries or all(isinstance(side, exp.Literal) for side in others):
            return True
        called = {str(call.this).lower() for query in queries for call in query.find_all(exp.Anonymous)}
        return self.grounding.direction is not None or not called & AGGREGATES or self.compares or self._says(_EVERY)

    def _is_extreme_of_these(self, node: exp.Expr, query: exp.Subquery) -> bool:
        """Whether a largest or smallest is one of the rows that are asked for, not of all."""
        called = {str(call.this).lower() for call in query.find_all(exp.Anonymous)}
        around = node.find_ancestor(exp.Select)
        where = around.args.get("where") if around is not None else None
        if not called & {"min", "max"} or where is None:
            return True
        inside = {id(literal) for literal in query.find_all(exp.Literal)} & self.explained
        kept = {id(literal) for literal in where.find_all(exp.Literal)} & self.explained
        tied = any(
            (inner := self.names.column(one.this)) is not None
            and inner == self.names.column(one.expression)
            and one.this.sql() != one.expression.sql()
            for one in query.find_all(exp.EQ)
        )
        return tied or len(inside) * 2 >= len(kept)

    # Selects

    def _scope_is_fair(self, select: exp.Select) -> bool:
        return (
            self._joins_are_keyed(select)
            and self._groups_are_asked(select)
            and self._counts_are_of_rows(select)
            and self._keeps_empty_groups(select)
        )

    def _joins_are_keyed(self, select: exp.Select) -> bool:
        """Every table is joined by a condition; USING names keys."""
        joins = select.args.get("joins") or []
        bare = 0
        for join in joins:
            if join.args.get("method"):
                return False
            using = join.args.get("using") or ()
            if using and not all(self._is_shared_key(select, name.name) for name in using):
                return False
            real = isinstance(join.this, exp.Table) and self.names.table(join.this) is not None
            bare += bool(real and not using and not join.args.get("on"))
        where = select.args.get("where")
        equal = where.find_all(exp.EQ) if where is not None else ()
        keyed = sum(1 for one in equal if isinstance(one.this, exp.Column) and isinstance(one.expression, exp.Column))
        return bare <= keyed

    def _is_shared_key(self, select: exp.Select, name: str) -> bool:
        held = {
            (table.name, column.name)
            for table in self.lexicon.schema.tables
            if table.name in self._sources(select)
            for column in table.columns
            if column.name.lower() == name.lower()
        }
        return bool(held) and all(map(self._is_key, held))

    def _groups_are_asked(self, select: exp.Select) -> bool:
        group = select.args.get("group")
        if group is None:
            return True
        if not any(map(_is_aggregate, (node for part in self._measured(select) for node in part.walk()))):
            return self._is_asked_select(select) or self._says(_DIFFERENT)
        if not all(self._is_asked_group(select, one) for one in group.expressions):
            return False
        if self.grounding.grouping or self._says(_EACH):
            return True
        if self._groups_asked(select):
            return True
        having = select.args.get("having")
        ranked = self.grounding.direction is not None or self.grounding.limit is not None
        if having is not None and any(id(one) in self.explained for one in having.find_all(exp.Literal)):
            ranked = True
        if having is not None and self._says(_GROUPED):
            ranked = True
        return (
            ranked
            or self._says(re.compile(r"\brank\b|\band how m(?:any|uch)\b", re.IGNORECASE))
            or bool(select.parent is not None and self._says(_AVERAGE))
        )

    def _is_asked_group(self, select: exp.Select, group: exp.Expr) -> bool:
        """Whether what rows are grouped by is shown, tells apart rows that are shown, or is named."""
        shown = {text for one in select.expressions for text in (one.alias_or_name, one.unalias().sql()) if text}
        column = self.names.column(group)
        if group.sql() in shown or (isinstance(group, exp.Column) and group.name in shown) or column is None:
            return True
        owners = {
            found[0]
            for one in select.expressions
            for inner in _columns(one)
            if (found := self.names.column(inner)) is not None
        }
        table = self._keyed(column) or (column[0] if self._is_key(column) else None)
        asked = self.asked.table if self.asked is not None else None
        return (table is not None and table in owners | {asked}) or self._says_column(column)

    def _groups_asked(self, select: exp.Select) -> bool:
        """Whether there is one group for each row of what is asked for, which is not their number."""
        counted = re.search(r"\bhow m(?:any|uch)\b", self.grounding.question, re.IGNORECASE)
        if counted and any(one is select for one in self._answers()):
            return False
        columns = [self.names.column(one) for one in select.args["group"].expressions]
        return any(column is not None and self._counts_asked(column) for column in columns)

    @staticmethod
    def _measured(select: exp.Select) -> list[exp.Expr]:
        parts = [select.args.get(name) for name in ("having", "order")]
        return [*select.expressions, *(part for part in parts if part is not None)]

    def _counts_are_of_rows(self, select: exp.Select) -> bool:
        """COUNT counts the rows that are asked for, not those that a join multiplied or an outer join filled up."""
        counts = [call for call in self._own_calls(select) if str(call.this).lower() == "count"]
        if not counts:
            return True
        outer = [join for join in select.args.get("joins") or () if join.args.get("side")]
        where = select.args.get("where")
        empty = where is not None and any(isinstance(one.expression, exp.Null) for one in where.find_all(exp.Is))
        filled = {self.names.table(join.this) if isinstance(join.this, exp.Table) else None for join in outer}
        for call in counts:
            column = self.names.column(call.expressions[0]) if call.expressions else None
            different = bool(call.expressions) and isinstance(call.expressions[0], exp.Distinct)
            if outer and not empty and not different and (column is None or column[0] not in filled):
                return False
        link = self.asked
        if link is None or link.kind != "table" or link.table is None or select.args.get("group") is not None or empty:
            return True
        if not re.search(r"\b(?:how many|number of|count)\b", self.grounding.question, re.IGNORECASE):
            return True
        plain = any(call.expressions and isinstance(call.expressions[0], exp.Star) for call in counts)
        return not (plain and link.table in self._sources(select) and self._referring(select, link.table))

    def _own_calls(self, select: exp.Select) -> Iterator[exp.Anonymous]:
        for part in self._measured(select):
            for call in part.find_all(exp.Anonymous):
                if call.find_ancestor(exp.Select) is select:
                    yield call

    def _signs(self, select: exp.Select) -> set[str]:
        """How literals of the question are held against the groups."""
        having = select.args.get("having")
        return {
            one.operator
            for one in self.compared
            if id(one.literal) in self.explained and having is not None and _stands_in(one.node, having)
        }

    def _keeps_empty_groups(self, select: exp.Select) -> bool:
        """Groups that have nothing to count are lost in an inner join: which they are hangs on the literals."""
        if not self.explained or select.args.get("group") is None:
            return True
        signs = self._signs(select)
        if self.grounding.direction == "high" or signs & {">", ">=", "="}:
            return True
        if not (self._says(_EVERY) or self.grounding.direction == "low" or signs):
            return True
        if not any(_is_aggregate(call) for call in self._own_calls(select)):
            return True
        shown = {
            column[0]
            for part in (*select.expressions, *select.args["group"].expressions)
            for node in _columns(part)
            if (column := self.names.column(node)) is not None
        }
        inner = [join for join in select.args.get("joins") or () if not join.args.get("side")]
        return not inner or not any(self._referring(select, table) for table in shown)


def _columns(node: exp.Expr, *, conditions: bool = True) -> Iterator[exp.Column]:
    """The columns of an expression, those of queries within it left out, and those that a CASE only asks about."""
    if isinstance(node, exp.Query | exp.Subquery | exp.Exists):
        return
    if isinstance(node, exp.Column):
        yield node
        return
    for inner in node.iter_expressions():
        if conditions or not isinstance(node, exp.If) or inner is not node.this:
            yield from _columns(inner, conditions=conditions)


def _first_select(node: exp.Expr) -> exp.Select | None:
    """The select that names what a query gives."""
    while isinstance(node, exp.SetOperation | exp.Subquery):
        node = node.this
    return node if isinstance(node, exp.Select) else None


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in AGGREGATES


def _stands_in(node: exp.Expr, around: exp.Expr) -> bool:
    here: exp.Expr | None = node
    while here is not None and here is not around:
        here = here.parent
    return here is around
