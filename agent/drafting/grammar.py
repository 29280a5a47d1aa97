"""A grammar for one question, in GBNF: a local model that writes under it can only write names that exist.

GBNF is the notation of llama.cpp. It is free of context and cannot count, so what it ties together is what stands
together: `Table.Column` is a real pair, a query over one table has only the columns of that table, two tables join over
their keys, and the alias of a table belongs to that table. That a table whose columns are selected also stands behind
FROM is not said where several are joined: code that completes joins, and the guard, see to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Literal

from agent.database.functions import ALLOWED
from agent.database.naming import quoted
from agent.database.schema import Schema
from agent.grounding import narrow
from agent.keys import Join, KeyGraph, qualified
from agent.linked import Direction, Grounding
from agent.periods import Period

if TYPE_CHECKING:
    from agent.attempt import Understood
    from agent.linking import Lexicon

Literals = Literal["free", "linked"]

MOST_TABLES = 12
"""The most tables that are named in a grammar; linked ones always are."""

_AGGREGATES = ("AVG", "MAX", "MIN", "SUM", "TOTAL")
_RANKING_WORDS = "RANK DENSE_RANK ROW_NUMBER NTILE LAG LEAD FIRST_VALUE LAST_VALUE PERCENT_RANK CUME_DIST"
_RANKING = tuple(_RANKING_WORDS.split())
_SPECIAL_WORDS = "count extract like -> ->> row some any all every"
_SPECIAL = frozenset(_SPECIAL_WORDS.split())
_SMALL_WORDS = "strftime julianday date datetime time unixepoch timediff"
_SMALL = frozenset(_SMALL_WORDS.split())
"""Functions that are written in small letters too."""

_TYPES = ("INTEGER", "REAL", "TEXT")
_OTHER = "Other"
_PARTS = ("Part", "Rest")
_ALIASES_WORDS = """
    Total Count Number Average Lowest Highest First Last Year Quarter Month Week Day Days Hour Amount Value Share
    Percentage Ratio Difference Rank RunningTotal Previous Next Before After Name Result"""
_ALIASES = tuple(_ALIASES_WORDS.split())
"""What a column or a subquery may be called, whatever the database."""

_FORMATS = ("%Y", "%m", "%d", "%Y-%m", "%w", "%j", "%W", "%H", "%Y-%m-%d", "start of month", "start of year")
_NUMBERS = ("0", "1", "2", "3", "4", "7", "12", "100", "1.0", "100.0", "365", "0.5")
_FILTERED = frozenset({"list", "count", "by_group", "sum", "open", "average", "top_n", "over_time", "having"})
"""Kinds of questions whose filters stand in WHERE at the top (168 of 184 golds of training and development)."""

_MOST_MONTHS = 36
_LONG_NUMBER = 4


@dataclass(frozen=True, slots=True)
class Written:
    """What the queries shown with a question call things: their columns, their WITH queries and their tables.

    `tables` gives the table that a name stands for. `nests` says whether half of them select from a query.
    """

    columns: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    nests: bool = False

    @classmethod
    def read(cls, shown: Iterable[str], dialect: str) -> Written:
        """Read the names off queries; those that cannot be read give none."""
        from sqlglot import exp

        from agent.database.guard import parse_query
        from agent.database.result import QueryRejected

        columns: list[str] = []
        parts: list[str] = []
        tables: dict[str, str] = {}
        nested = []
        for sql in shown:
            try:
                tree = parse_query(sql, dialect)
            except QueryRejected:
                continue
            columns += [alias.alias for alias in tree.find_all(exp.Alias)]
            parts += [cte.alias for cte in tree.find_all(exp.CTE)]
            tables |= {table.alias: table.name for table in tree.find_all(exp.Table) if table.alias}
            sources = tree.find_all(exp.From, exp.Join)
            nested.append(tree.find(exp.CTE) is not None or any(isinstance(one.this, exp.Subquery) for one in sources))
        return cls(
            tuple(dict.fromkeys(columns)), tuple(dict.fromkeys(parts)), tables, 0 < sum(nested) * 2 >= len(nested)
        )


def grammar_for(
    understood: Understood,
    *,
    lexicon: Lexicon,
    schema: Schema,
    shown: Sequence[str] = (),
    literals: Literals = "free",
    loose: bool = False,
    said: bool = False,
) -> str:
    """Write the grammar of one SELECT over the tables that a question links to and their neighbours over the keys.

    What columns and subqueries are called comes from a small set of names and from the queries in `shown`, the examples
    that the model sees. Only where half of these select from a query can that be written: else a model that means a
    column that is not there goes on to a query inside a query inside a query, where all names are open.

    `literals`: any, or only those that the question gives rise to. `loose`: the query is written without FROM and JOIN,
    with the table of each column, for code to complete (`agent/drafting/joining.py`). `said`, for loose queries only:
    the filters, the limit and the direction that the question links to are written in any case, no other limit, and no
    filter by a value where the question has nothing more to filter by.
    """
    grounding = understood.grounding
    names = _tables_of(grounding, lexicon, schema)
    written = Written.read(shown, schema.dialect)
    made = _Grammar(schema, lexicon.keys, names, written, _Constants.of(grounding, literals))
    return made.loose(_Said.of(understood, lexicon) if said else None) if loose else made.text()


def _tables_of(grounding: Grounding, lexicon: Lexicon, schema: Schema) -> tuple[str, ...]:
    """The linked tables and their neighbours; where none is linked, as many as may be named."""
    if not grounding.tables:
        return narrow(schema, grounding, MOST_TABLES)[0] or tuple(table.name for table in schema.tables[:MOST_TABLES])
    found = list(grounding.tables)
    for name in grounding.tables:
        found += [near for near in lexicon.keys.neighbours(name) if near not in found and len(found) < MOST_TABLES]
    return lexicon.keys.in_order(found)


@dataclass(frozen=True, slots=True)
class _Said:
    """What the question says that the query must say: its filters, its limit with the offset, and the direction.

    `limit` is None where the query has none. A limit of one may be said by MIN or MAX instead. `open` says that there
    is more in the question that rows may be held against: a comparison, a number, a word that nothing explains. Else
    only `columns`, those that it names, may be held against each other and against 0.
    """

    filters: tuple[str, ...]
    limit: int | None
    offset: int | None
    direction: Direction | None
    open: bool
    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, understood: Understood, lexicon: Lexicon) -> _Said:
        """Filters count only in kinds of questions whose filters hold for all rows, and one for each column."""
        grounding = understood.grounding
        filters: tuple[str, ...] = ()
        if understood.intent.kind in _FILTERED:
            columns = [re.split(r" (?:=|<>|>=|<=|<|>) ", one, maxsplit=1)[0] for one in grounding.filters]
            filters = grounding.filters if len(set(columns)) == len(columns) else ()
            filters += _condition(grounding, lexicon)
        loose = [link for link in grounding.links if link.kind == "number" or (link.kind == "value" and not link.table)]
        more = loose or grounding.comparisons or grounding.leftover or grounding.negations
        plain = understood.intent.kind in _FILTERED - {"having"}
        return cls(
            filters,
            grounding.limit,
            grounding.offset,
            grounding.direction,
            bool(more) or not plain or (bool(grounding.filters) and not filters),
            tuple(
                (link.table, link.column)
                for link in grounding.links
                if link.kind in {"column", "term"} and link.role != "entity" and link.table and link.column
            ),
        )


def _condition(grounding: Grounding, lexicon: Lexicon) -> tuple[str, ...]:
    """What a word of the glossary says of rows (`discontinued`), where there is one such word and nothing is denied."""
    from sqlglot import exp

    from agent.database.guard import parse_query
    from agent.database.result import QueryRejected

    classes = dict(zip(lexicon.glossary, lexicon.term_classes, strict=True))
    said = [term.expression for term in grounding.terms if classes.get(term) == "condition" and term.expression]
    if len(said) != 1 or grounding.negations:
        return ()
    try:
        where = parse_query(f"SELECT 1 WHERE {said[0]}", lexicon.schema.dialect).args["where"]
    except QueryRejected:
        return ()
    return tuple(said) if isinstance(where.this, exp.Predicate | exp.Not) else ()


@dataclass(frozen=True, slots=True)
class _Constants:
    """The rules for literals."""

    text: str
    pattern: str
    number: str

    @classmethod
    def of(cls, grounding: Grounding, literals: Literals) -> _Constants:
        if literals == "free":
            anything = '''"'" ([^'\\n] | "''")* "'"'''
            return cls(anything, anything, '[0-9]+ ("." [0-9]+)?')
        texts = dict.fromkeys(map(_escaped, _texts(grounding)))
        days = any_of(f"{month}-" for month in _months_of(grounding.periods))
        words = dict.fromkeys(re.findall(r"\w[\w'.-]*\w|\w", grounding.question))
        words |= dict.fromkeys(link.value for link in grounding.links if link.kind == "value" and link.value)
        choice = any_of(texts) + (f" | ({days}) [0-3] [0-9]" if days else "")
        part = any_of(map(_escaped, words)) or '""'
        numbers = any_of(dict.fromkeys((*_NUMBERS, *_numbers(grounding))))
        return cls(f'"\'" ({choice}) "\'"', f'"\'" "%"? " "? ({part}) " "? "%"? "\'"', numbers)


def _texts(grounding: Grounding) -> Iterator[str]:
    """The texts that a question gives rise to: linked values, its times in all their writings, and formats."""
    yield from _FORMATS
    yield from (link.value for link in grounding.links if link.kind == "value" and link.value)
    for expression in (*grounding.expressions, *grounding.filters):
        yield from (text.replace("''", "'") for text in re.findall(r"'((?:[^']|'')*)'", expression))
    yield from re.findall(r"(?<!\d)\d{4}(?!\d)", grounding.question)
    for period in grounding.periods:
        if period.month is not None:
            yield f"{period.month:02d}"
        for end in (period.since, period.until):
            if end is not None:
                yield from (end.isoformat(), (end - timedelta(days=1)).isoformat(), f"{end.year}")
    yield from (text for month in _months_of(grounding.periods) for text in (month, month[:4], month[5:]))


def _months_of(periods: Iterable[Period]) -> list[str]:
    """The months that stretches of time touch, such as `1997-03`."""
    found: list[str] = []
    for period in periods:
        first, last = period.since or period.until, period.until or period.since
        if first is None or last is None:
            continue
        here = first.replace(day=1)
        while here <= last and len(found) < _MOST_MONTHS:
            found.append(here.isoformat()[:7])
            here = (here + timedelta(days=31)).replace(day=1)
    return found


def _numbers(grounding: Grounding) -> Iterator[str]:
    """The numbers of a question, and what stands in the SQL of its words."""
    yield from (link.value for link in grounding.links if link.kind in {"number", "limit"} and link.value)
    for comparison in grounding.comparisons:
        yield from (number for number in (comparison.number, comparison.high) if number)
    if grounding.limit is not None:
        yield str(grounding.limit)
    if grounding.offset is not None:
        yield str(grounding.offset)
    for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", grounding.question):
        yield from (number, f"{float(number) / 100:g}") if len(number) < _LONG_NUMBER else (number,)
    for expression in grounding.expressions:
        yield from re.findall(r"(?<![\w.'%-])\d+(?:\.\d+)?", expression)


class _Grammar:
    """The rules, written once for each scope: the columns that may stand in one part of a query."""

    def __init__(
        self, schema: Schema, keys: KeyGraph, names: Sequence[str], written: Written, constants: _Constants
    ) -> None:
        self._dialect = schema.dialect
        known = {table.name: table for table in schema.tables}
        self._columns = {name: tuple(column.name for column in known[name].columns) for name in names}
        self._constants = constants
        self._nests = written.nests
        self._names = tuple(names)
        self._pairs = self._key_pairs(keys)
        folded = {name.casefold(): name for name in names}
        aliases = {
            alias: folded[table.casefold()] for alias, table in written.tables.items() if table.casefold() in folded
        }
        own = next((name for name in names if self._refers_to_itself(schema, name)), None)
        self._table_aliases = aliases if aliases or own is None else {_OTHER: own}
        every = dict.fromkeys((*_ALIASES, *written.columns))
        taken = {name.casefold() for name in self._names}
        self._aliases = tuple(self._name(alias) for alias in every if alias.casefold() not in taken)
        self._parts = tuple(self._name(part) for part in dict.fromkeys((*_PARTS, *written.parts)))

    def text(self) -> str:
        """Queries with FROM and JOIN."""
        rules = self._words()
        singles = [f"t{place}" for place in range(len(self._names))]
        rules += self._queries([*singles, "q"])
        for scope, name in zip(singles, self._names, strict=True):
            rules += self._scope(scope, (*self._bare([name]), *self._qualified([name])), "query")
            rules.append(f"sel{scope} ::= items{scope} {_literal(f' FROM {self._name(name)}')} tail{scope}")
        rules += self._scope("q", (*self._qualified(self._names), *self._of_aliases()), "query")
        rules.append('selq ::= itemsq " FROM " source join+ tailq')
        rules.append('selq0 ::= itemsq " FROM " source tailq')
        return _reached((*rules, *self._sources(), *self._from_queries()))

    def loose(self, said: _Said | None = None) -> str:
        """Queries without FROM; the few that cannot do without it may have one.

        Where examples select from queries, what is said may stand in either, and is not asked for.
        """
        rules = [*self._words(), *self._queries(["q"])]
        if said is not None and not self._nests:
            rules = [rule for rule in rules if not rule.startswith("top ::= ")]
            rules += self._saying(said)
        table = any_of(map(self._name, self._names))
        rules += self._scope("q", (*self._qualified(self._names), *self._of_aliases()), "query", loose=True)
        rules.append(f"table ::= {table}")
        rules.append('fromq ::= " FROM " (source join+ | table ((", " | " LEFT JOIN ") table)*)')
        rules.append("selq ::= itemsq fromq? tailq")
        rules.append('selq0 ::= itemsq " FROM " source tailq')
        return _reached((*rules, *self._sources(), *self._from_queries()))

    def _words(self) -> list[str]:
        return [
            f"root ::= top{' | with' if self._nests else ''}",
            'with ::= "WITH " cte (", " later)* " " topc',
            'cte ::= part " AS (" query ")"',
            'later ::= part " AS (" queryc ")"',
            f"part ::= {any_of(self._parts)}",
            f"alias ::= {any_of(self._aliases)}",
            f"text ::= {self._constants.text}",
            f"pattern ::= {self._constants.pattern}",
            f"number ::= {self._constants.number}",
            "whole ::= [1-9] [0-9]?",
            'op ::= " + " | " - " | " * " | " / " | " || "',
            'cmp ::= " = " | " <> " | " != " | " < " | " <= " | " > " | " >= "',
            'setop ::= " UNION " "ALL "? | " EXCEPT " | " INTERSECT "',
            'exists ::= "EXISTS" " "? "("',
            f"type ::= {any_of(_TYPES)}",
            f"aggregate ::= {any_of(f'{name}(' for name in _AGGREGATES)}",
            f"ranking ::= {any_of(f'{name}(' for name in _RANKING)}",
            f"function ::= {any_of(f'{name}(' for name in self._functions())}",
            'list ::= (text (", " text)* | number (", " number)*)',
        ]

    def _queries(self, scopes: Sequence[str]) -> list[str]:
        """The rules for SELECT: at the top, nested, and both behind a WITH."""
        plain = [f"sel{scope}" for scope in (*scopes, "b")]
        top = [*plain, "seld"] if self._nests else plain
        return [
            f'top ::= "SELECT " "DISTINCT "? ({" | ".join(top)}) (setop top)?',
            f'query ::= "SELECT " "DISTINCT "? ({" | ".join((*plain, "selq0"))}) (setop query)?',
            f'topc ::= "SELECT " "DISTINCT "? ({" | ".join((*plain, "selc", "selbc"))}) (setop topc)?',
            f'queryc ::= "SELECT " "DISTINCT "? ({" | ".join((*plain, "selq0", "selc"))}) (setop queryc)?',
        ]

    def _saying(self, said: _Said) -> list[str]:
        """The rules for the SELECT at the top, with all that the question says."""
        sort = {"high": '" DESC"', "low": '" ASC"?', None: '(" DESC" | " ASC")?'}[said.direction]
        offset = _literal(f" OFFSET {said.offset}") if said.offset else ""
        first = f'" ORDER BY " (exprq | alias) {sort} (", " sortq)* {_literal(f" LIMIT {said.limit}")} {offset}'
        end = '(" " sortedq)?' if said.limit is None else f"({first}){'?' if said.limit == 1 else ''}"
        named = any_of(qualified(*one, self._dialect) for one in said.columns if one[0] in self._names)
        more = "condq" if said.open else 'plainq (" AND " plainq)?' if named else ""
        where = _literal(" WHERE " + " AND ".join(said.filters)) if said.filters else ""
        if more:
            where = f'{where} (" AND " moreq)?' if where else '(" WHERE " moreq)?'
        having = '(" HAVING " heldq ((" AND " | " OR ") heldq)*)?' if said.open else ""
        free = "| selb | selq setop query" if not said.filters and said.limit is None else ""
        return [
            f'top ::= "SELECT " "DISTINCT "? (itemsq fromq? endq {free})',
            f'endq ::= {where} (" GROUP BY " keyq (", " keyq)*)? {having} {end}',
            *([f"moreq ::= {more}"] if more else []),
            *(['plainq ::= ownq (cmp ownq | " > 0" | " IS " "NOT "? "NULL")', f"ownq ::= {named}"] if named else []),
        ]

    def _from_queries(self) -> list[str]:
        """The rules for a SELECT over a subquery, over a WITH query, and over nothing."""
        given = (*self._aliases, *self._bare(self._names))
        inner = tuple(f"{part}.{name}" for part in self._parts for name in dict.fromkeys(given))
        far = (*self._qualified(self._names), *self._of_aliases())
        table = any_of(map(self._name, self._names))
        return [
            *self._scope("d", given, "query"),
            'seld ::= itemsd " FROM (" query ")" (" AS " part)? taild',
            *self._scope("c", (*given, *far, *inner), "queryc"),
            f'selc ::= itemsc " FROM " (part (joinc ({table} | part) " ON " condc)*'
            f' | ({table}) joinc part " ON " condc) tailc',
            'joinc ::= " JOIN " | " LEFT JOIN "',
            *self._scope("b", (), "query"),
            "selb ::= itemsb",
            *self._scope("bc", (), "queryc"),
            "selbc ::= itemsbc",
        ]

    def _scope(self, scope: str, names: Iterable[str], query: str, *, loose: bool = False) -> list[str]:
        """The rules for expressions, conditions and clauses over some names."""
        column = any_of(names)
        term = [f"name{scope}"] if column else []
        correlated = ' | "CORRELATED(" table ")"' if loose else ""
        rows = 'table ".*"' if loose else '"*"'
        rules = [f"name{scope} ::= {column}"] if column else []
        term += ["number", "text", f"call{scope}", f"case{scope}", f'"(" (expr{scope} | {query}) ")"']
        rules += [
            f"term{scope} ::= {' | '.join(term)}",
            f"expr{scope} ::= term{scope} (op term{scope})*",
            f'exprs{scope} ::= expr{scope} (", " expr{scope})*',
            f'item{scope} ::= (expr{scope} (cmp expr{scope})? | "NOT "? exists {query} ")") (" AS " alias)?',
            f'items{scope} ::= {_literal("*") + " | " if column else ""}item{scope} (", " item{scope})*',
            f'cond{scope} ::= pred{scope} ((" AND " | " OR ") pred{scope})*',
            f'pred{scope} ::= "NOT "? (expr{scope} test{scope} | "(" cond{scope} ")" | exists {query} ")"{correlated})',
            f'test{scope} ::= cmp expr{scope} | " IS " "NOT "? "NULL" | " NOT"? (" IN (" (list | {query}) ")"'
            f' | " BETWEEN " expr{scope} " AND " expr{scope} | " LIKE " pattern)',
            f'call{scope} ::= ("COUNT(" ({rows} | "DISTINCT "? expr{scope}) ")"'
            f' | aggregate "DISTINCT "? expr{scope} ")"'
            f' | ranking exprs{scope}? ")") over{scope}? | "CAST(" expr{scope} " AS " type ")"'
            f' | function exprs{scope}? ")"{self._extract(scope)}',
            f'over{scope} ::= " OVER (" ("PARTITION BY " exprs{scope} (" " sorted{scope})? | sorted{scope})? ")"',
            f'sorted{scope} ::= "ORDER BY " sort{scope} (", " sort{scope})*',
            f'sort{scope} ::= (expr{scope} | alias) (" DESC" | " ASC")?',
            f'case{scope} ::= "CASE" (" WHEN " cond{scope} " THEN " expr{scope})+ (" ELSE " expr{scope})? " END"',
        ]
        if not column:
            return rules
        return [
            *rules,
            f"key{scope} ::= expr{scope} | alias",
            f"held{scope} ::= (expr{scope} | alias) test{scope}",
            f'tail{scope} ::= (" WHERE " cond{scope})? (" GROUP BY " key{scope} (", " key{scope})*)?'
            f' (" HAVING " held{scope} ((" AND " | " OR ") held{scope})*)?'
            f' (" " sorted{scope})? (" LIMIT " whole (" OFFSET " whole)?)?',
        ]

    def _extract(self, scope: str) -> str:
        parts = any_of(("YEAR", "MONTH", "DAY", "QUARTER", "WEEK", "DOW", "HOUR", "EPOCH"))
        return f' | "EXTRACT(" ({parts}) " FROM " expr{scope} ")"' if self._dialect == "postgres" else ""

    def _sources(self) -> list[str]:
        """What stands behind FROM and JOIN: a table, or a table under its one alias; joined over keys."""
        alias = [f"{self._name(table)} AS {self._name(name)}" for name, table in self._table_aliases.items()]
        joins = [f"{self._name(table)} ON {pair}" for table in self._names for pair in self._pairs.get(table, ())]
        rules = [f"source ::= {any_of((*map(self._name, self._names), *alias))}"]
        other = f' | ({any_of(alias)}) " ON " condq' if alias else ""
        keyed = f'({any_of(joins)}) (" AND " condq)?' if joins else ""
        written = (keyed + other).removeprefix(" | ") or f'({any_of(map(self._name, self._names))}) " ON " condq'
        return [*rules, f'join ::= (" JOIN " | " LEFT JOIN ") ({written})']

    def _key_pairs(self, keys: KeyGraph) -> dict[str, list[str]]:
        """For each table the conditions that join it to another, either side first.

        Tables join over their keys, and where both refer to the same column of a third, over that.
        """
        found: dict[str, list[str]] = {name: [] for name in self._names}
        same: list[set[tuple[str, str]]] = []
        for join in self._joins(keys):
            ends = list(zip(join.left_columns, join.right_columns, strict=True))
            if len(ends) == 1:
                both = {(join.left, ends[0][0]), (join.right, ends[0][1])}
                met = [group for group in same if group & both]
                same = [group for group in same if group not in met] + [both.union(*met)]
            else:
                there = " AND ".join(self._equal((join.left, a), (join.right, b)) for a, b in ends)
                back = " AND ".join(self._equal((join.right, b), (join.left, a)) for a, b in ends)
                found[join.left] += [there, back]
                found[join.right] += [there, back]
        for group in same:
            for one, other in permutations(sorted(group), 2):
                if one[0] != other[0]:
                    found[one[0]] += [self._equal(one, other), self._equal(other, one)]
        return found

    def _joins(self, keys: KeyGraph) -> Iterator[Join]:
        for one in self._names:
            for other in keys.neighbours(one):
                if other in self._names and self._names.index(one) < self._names.index(other):
                    yield from keys.connect((one, other))[1]

    def _equal(self, one: tuple[str, str], other: tuple[str, str]) -> str:
        return f"{qualified(*one, self._dialect)} = {qualified(*other, self._dialect)}"

    @staticmethod
    def _refers_to_itself(schema: Schema, name: str) -> bool:
        table = next(table for table in schema.tables if table.name == name)
        return any(key.referred_table == name for key in table.foreign_keys)

    def _name(self, name: str) -> str:
        return quoted(name, self._dialect)

    def _bare(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._name(column) for name in names for column in self._columns[name]))

    def _qualified(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(qualified(name, column, self._dialect) for name in names for column in self._columns[name])

    def _of_aliases(self) -> tuple[str, ...]:
        return tuple(
            f"{self._name(alias)}.{self._name(column)}"
            for alias, table in self._table_aliases.items()
            for column in self._columns[table]
        )

    def _functions(self) -> Iterator[str]:
        apart = _SPECIAL | {name.lower() for name in (*_AGGREGATES, *_RANKING)}
        for name in sorted(ALLOWED[self._dialect] - apart):
            yield name.upper()
            if name in _SMALL:
                yield name


def _reached(rules: Sequence[str]) -> str:
    """The rules that the first one leads to, one a line."""
    bodies = dict(rule.split(" ::= ", 1) for rule in rules)
    waiting, found = ["root"], set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += re.findall(r"[a-z]\w*", re.sub(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]', " ", bodies[name]))
    return "".join(f"{name} ::= {body}\n" for name, body in bodies.items() if name in found)


def any_of(words: Iterable[str]) -> str:
    """Write a choice between words with what they begin with in common written once; `""` where there is none.

    >>> any_of(["Orders", "OrderID", "City"])
    '"City" | "Order" ("ID" | "s")'
    """
    return _branches(sorted(set(words)))


def _branches(words: Sequence[str]) -> str:
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(word[:1], []).append(word)
    parts = []
    for first, group in groups.items():
        if not first:
            continue
        if len(group) == 1:
            parts.append(_literal(group[0]))
            continue
        common = _common(group)
        rest = [word[len(common) :] for word in group]
        end = "?" if "" in rest else ""
        parts.append(f"{_literal(common)} ({_branches([word for word in rest if word])}){end}")
    return " | ".join(parts)


def _common(words: Sequence[str]) -> str:
    """What all the words begin with."""
    first, last = min(words), max(words)
    length = next((at for at, letter in enumerate(first) if letter != last[at]), len(first))
    return first[:length]


def _literal(text: str) -> str:
    r"""Write a text as GBNF does.

    >>> print(_literal('"Order Details"'))
    "\"Order Details\""
    """
    plain = text.translate({ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"})
    return f'"{plain}"'


def _escaped(text: str) -> str:
    """A text as it stands within the quotes of an SQL literal."""
    return text.replace("'", "''")
