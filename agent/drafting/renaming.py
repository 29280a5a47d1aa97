"""Puts names of a query right that do not exist, where only one real name can be meant.

The walk over the scopes is the guard's own (`agent/database/scoping.py`), so what it passes is never touched. Names
are the same words when they differ only in case, spaces, underscores, camel case or plural.

Imported late only: it brings sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import OSA
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.database.dialects import dialect as guarded
from agent.database.guard import parse_query
from agent.database.naming import fold, quoted
from agent.database.result import QueryRejected
from agent.database.schema import Schema
from agent.database.scoping import Resolver, Scope, Source
from agent.drafting.operands import AGGREGATES
from agent.keys import KeyGraph
from agent.wording import name_tokens, stem

if TYPE_CHECKING:
    from agent.linking import Lexicon

_STRAY = (ValueError, AttributeError, TypeError, IndexError, KeyError, AssertionError, RecursionError)
_COMPARING = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.In, exp.Between)


def named(
    sql: str, *, schema: Schema, linked: Sequence[str] = (), lexicon: Lexicon | None = None
) -> tuple[str, tuple[str, ...]]:
    """Put the names of a query right that can mean only one thing, with a note for each.

    `linked` are the tables that the question links to: of two tables that a wrong name may mean, the one among them
    is taken. With a `lexicon`, tables that columns are taken from but that no FROM reads are joined by the keys. A
    query whose names all exist comes back as it was, and so does one that cannot be read. Never raises.
    """
    try:
        tree = _tree(sql, schema.dialect)
        mended = _Renaming(schema, linked)
        notes: list[str] = []
        if tree is None or not mended.holds(tree):
            whole, quotes = _with_quotes(sql, schema)
            again = _tree(whole, schema.dialect) if quotes else None
            if again is not None:
                sql, notes, tree, mended = whole, quotes, again, _Renaming(schema, linked)
                mended.holds(tree)
            elif tree is None:
                return sql, ()
        if mended.left and lexicon is not None and (complete := _joined(sql, schema, linked, lexicon)) is not None:
            tree, changes = complete
        else:
            changes = mended.notes
        notes = [*notes, *changes]
        return (tree.sql(guarded(schema.dialect), comments=False), tuple(dict.fromkeys(notes))) if notes else (sql, ())
    except (SqlglotError, *_STRAY):
        return sql, ()


def _joined(sql: str, schema: Schema, linked: Sequence[str], lexicon: Lexicon) -> tuple[exp.Expr, list[str]] | None:
    """The query with the joins that its columns lack, None where that does not make all its names good."""
    from agent.drafting.joining import joined

    tree = _tree(sql, schema.dialect)
    if tree is None:
        return None
    reaching = _Renaming(schema, linked, keys=lexicon.keys)
    reaching.holds(tree)
    if reaching.left or not reaching.lacking:
        return None
    whole = joined(tree, lexicon=lexicon)
    if whole is None or not _Renaming(schema, ()).holds(whole):
        return None
    tables = ", ".join(quoted(name, schema.dialect) for name in reaching.lacking)
    return whole, [*reaching.notes, f"joined {tables}"]


def _tree(sql: str, dialect: str) -> exp.Expr | None:
    try:
        return parse_query(sql, dialect)
    except QueryRejected:
        return None


def _with_quotes(sql: str, schema: Schema) -> tuple[str, list[str]]:
    """Quote the names of more than one word that stand in the text as plain words."""
    notes: list[str] = []
    names = {table.name for table in schema.tables} | {c.name for table in schema.tables for c in table.columns}
    spaced = sorted((name for name in names if re.search(r"\w\s+\w", name)), key=len, reverse=True)
    parts = re.split(r"('(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\])", sql)
    for name in spaced:
        pattern = re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, name.split())) + r"(?!\w)", re.IGNORECASE)
        for place in range(0, len(parts), 2):
            made = pattern.sub(lambda _match, name=name: quoted(name, schema.dialect), parts[place])
            if made != parts[place]:
                notes.append(f"{name} became {quoted(name, schema.dialect)}")
                parts[place] = made
    return "".join(parts), notes


@lru_cache(maxsize=8_192)
def _words(name: str) -> frozenset[str]:
    """Ways to spell a name without what may differ; two names are the same words if they share one."""
    found = name_tokens(name)
    run = "".join(token.folded for token in found)
    return frozenset({"".join(token.stem for token in found), stem(run), run} - {""})


def same_words(a: str, b: str) -> bool:
    """Whether two names differ only in case, spaces, underscores, camel case or plural.

    >>> same_words("order_details", "Order Details"), same_words("ProductNames", "productname"), same_words("a", "b")
    (True, True, False)
    """
    return not _words(a).isdisjoint(_words(b))


def is_typo(written: str, real: str) -> bool:
    """Whether a name is another with one letter wrong or two swapped, twice so in a long one; digits must be the same.

    >>> is_typo("UnitPric", "UnitPrice"), is_typo("Quantty", "Quantity"), is_typo("Line1", "Line2"), is_typo("No", "Na")
    (True, True, False, False)
    """
    a, b = fold(written), fold(real)
    most = 0 if len(a) < 5 else 1 if len(a) < 8 else 2
    if not most or re.sub(r"\D", "", a) != re.sub(r"\D", "", b) or abs(len(a) - len(b)) > 1:
        return False
    return OSA.distance(a, b, score_cutoff=most) <= most


def _stems(name: str) -> tuple[str, ...]:
    return tuple(token.stem for token in name_tokens(name))


def _is_told_by_its_table(written: str, real: str, table: str) -> bool:
    """Whether a name lacks, or has too much, just the word of its table: Products.Name is ProductName."""
    return same_words(f"{table} {written}", real) or same_words(written, f"{table} {real}")


def _ends_with(real: str, written: str) -> bool:
    """Whether a name is another with one word before it: ShipCountry, Country."""
    a, b = _stems(real), _stems(written)
    return bool(b) and len(a) == len(b) + 1 and a[1:] == b


def _is_short_for(written: str, source: Source) -> bool:
    """Whether a name before the dot is how many would shorten the table: o or ord for Orders, od for Order Details."""
    if source.table is None:
        return False
    words = [token.folded for token in name_tokens(source.table.name)]
    short = fold(written)
    return short == "".join(word[0] for word in words) or (len(words) == 1 and words[0].startswith(short))


@dataclass(frozen=True, slots=True)
class _Place:
    """A column that a name may mean: the key of its source in the scope, the source, and its real name."""

    key: str
    source: Source
    name: str


@dataclass(slots=True)
class _Found:
    """The places that fit one way to read a name."""

    places: list[_Place] = field(default_factory=list)

    @property
    def only(self) -> _Place | None:
        return self.places[0] if len(self.places) == 1 else None


class _Renaming(Resolver):
    """Resolves a query and changes what does not resolve and can mean only one thing."""

    def __init__(self, schema: Schema, linked: Sequence[str], *, keys: KeyGraph | None = None) -> None:
        super().__init__(schema)
        self._linked = frozenset(linked)
        self._keys = keys
        self.notes: list[str] = []
        self.left: list[QueryRejected] = []
        self.lacking: dict[str, None] = {}

    def holds(self, tree: exp.Expr) -> bool:
        """Walk the query; whether every name in it is there now."""
        try:
            self.resolve(tree)
        except QueryRejected as problem:
            self.left.append(problem)
        return not self.left and not self.notes

    # Tables

    def _table(self, node: exp.Table, ctes: Any) -> Source:
        if isinstance(node.this, exp.Identifier) and node.args.get("catalog") is None:
            key, namespace = self._key(node.this), self._key(node.args.get("db"))
            if not (key in ctes and not namespace) and self._find(key, namespace) is None:
                self._rename_table(node, namespace, ctes)
        return super()._table(node, ctes)

    def _rename_table(self, node: exp.Table, namespace: str, ctes: Any) -> None:
        names = [*(table.name for table in self._schema.tables), *ctes]
        alike = [name for name in names if same_words(node.name, name)]
        chosen = self._one_of(alike or [name for name in names if is_typo(node.name, name)])
        if chosen is None:
            return
        before = self._text(exp.Table(this=node.this.copy(), db=node.args.get("db")))
        node.set("this", self._identifier(chosen))
        if namespace and self._find(self._key(node.this), namespace) is None:
            node.set("db", None)
        self._noted(before, self._text(exp.Table(this=node.this.copy())))

    def _one_of(self, names: Iterable[str]) -> str | None:
        found = list(dict.fromkeys(names))
        if len(found) > 1:
            found = [name for name in found if name in self._linked]
        return found[0] if len(found) == 1 else None

    # Columns

    def _column(self, node: exp.Column, scope: Scope) -> None:
        self._seen.add(id(node))
        problem = self._problem(node, scope)
        if problem is None:
            self._tell_apart(node, scope)
            return
        for attempt in (self._as_key, self._as_source, self._as_column, self._as_text):
            made = attempt(node, scope)
            if made is not None and self._take(node, made, scope):
                return
        if self._keys is not None and self._reach(node, scope, self._keys):
            return
        self.left.append(problem)
        if isinstance(node.this, exp.Star):
            raise problem

    def _take(self, node: exp.Column, made: exp.Expr, scope: Scope) -> bool:
        """Put what was meant in its place, unless a condition would then hold a column against itself."""
        if isinstance(made, exp.Column):
            if self._problem(made, scope) is not None:
                return False
            other = _other_side(node)
            if isinstance(other, exp.Column) and made.args.get("table") is not None:
                one_source = self._key(made.args["table"]) == self._key(other.args.get("table"))
                if one_source and _is_in_join(node):
                    return False
                if one_source and self._key(made.this) == self._key(other.this):
                    return False
        self._noted(self._text(node), self._text(made))
        if isinstance(made, exp.Column):
            for name in ("this", "table", "db"):
                node.set(name, made.args.get(name))
        else:
            node.replace(made)
        return True

    def _as_key(self, node: exp.Column, scope: Scope) -> exp.Expr | None:
        """`A.x = B.y` where A has no x, and B.y is a key that refers to one column of A, or is referred to by one."""
        other = _other_side(node)
        qualifier = node.args.get("table")
        if not isinstance(other, exp.Column) or qualifier is None or not isinstance(node.parent, exp.EQ):
            return None
        mine, its = self._source(qualifier, scope), self._source_of(other, scope)
        if mine is None or its is None or mine.table is None or its.table is None or mine is its:
            return None
        if self._key(other.this) not in its.columns:
            return None
        name = its.columns[self._key(other.this)]
        found = {
            theirs
            for key in its.table.foreign_keys
            if key.referred_table == mine.table.name
            for own, theirs in zip(key.columns, key.referred_columns, strict=True)
            if own == name
        } | {
            own
            for key in mine.table.foreign_keys
            if key.referred_table == its.table.name
            for own, theirs in zip(key.columns, key.referred_columns, strict=True)
            if theirs == name
        }
        return self._made(found.pop(), qualifier) if len(found) == 1 else None

    def _source_of(self, node: exp.Column, scope: Scope) -> Source | None:
        qualifier = node.args.get("table")
        if qualifier is not None:
            return self._source(qualifier, scope)
        key = self._key(node.this)
        owners = [source for source in scope.sources.values() if key in source.columns]
        return owners[0] if len(owners) == 1 else None

    def _as_source(self, node: exp.Column, scope: Scope) -> exp.Expr | None:
        """A name before the dot that no source has."""
        qualifier = node.args.get("table")
        if qualifier is None or self._source(qualifier, scope) is not None:
            return None
        meant = [
            key
            for around in scope.around()
            for key, source in around.sources.items()
            if same_words(qualifier.name, source.label)
            or (source.table is not None and same_words(qualifier.name, source.table.name))
        ]
        if not meant and not isinstance(node.this, exp.Star):
            table = next((one for one in self._schema.tables if same_words(one.name, qualifier.name)), None)
            if table is not None:
                return self._through_key(node, table.name, scope)
            meant = [key for key, source in scope.sources.items() if _is_short_for(qualifier.name, source)]
        if len(meant) != 1:
            return None
        found = exp.Column(this=node.this.copy(), table=self._label(meant[0], scope))
        if isinstance(node.this, exp.Star) or self._problem(found, scope) is None:
            return found
        return self._as_column(found, scope)

    def _through_key(self, node: exp.Column, table: str, scope: Scope) -> exp.Expr | None:
        """The key of a table that is not read stands in one that refers to it."""
        found = [
            _Place(key, source, own)
            for key, source in scope.sources.items()
            if source.table is not None
            for foreign in source.table.foreign_keys
            if foreign.referred_table == table and len(foreign.columns) == 1
            for own, theirs in zip(foreign.columns, foreign.referred_columns, strict=True)
            if self._real(theirs) == self._key(node.this)
        ]
        if _is_in_join(node):
            return None
        return self._placed(_Found(found).only, scope)

    def _as_column(self, node: exp.Column, scope: Scope) -> exp.Expr | None:
        """A column that its source, or no source, has."""
        qualifier = node.args.get("table")
        places = list(self._places(scope))
        if qualifier is None:
            if self._near_alias(node, scope):
                return None
            compared = isinstance(node.parent, _COMPARING) and node.parent.this is not node
            for fits in self._readings(node.name, loose=not (compared and node.this.args.get("quoted"))):
                found = _Found([place for place in places if fits(place)])
                if found.places:
                    return self._made(found.only.name, None) if found.only is not None else None
            return None
        source = self._source(qualifier, scope)
        if source is None:
            return None
        own = [place for place in places if place.source is source] or [
            _Place(self._key(qualifier), source, name) for name in source.columns.values()
        ]
        others = [place for place in places if place.source is not source]
        exact = [place for place in others if self._key(node.this) == self._real(place.name)]
        words, by_table, ending, typo = self._readings(node.name, loose=True)
        if exact and any(ending(place) for place in own):
            return None
        for candidates in (
            [place for place in own if words(place)],
            exact,
            [place for place in own if by_table(place)],
            [place for place in others if words(place)],
            [place for place in own if ending(place)],
            [place for place in own if typo(place)],
            [place for place in others if typo(place)],
        ):
            if candidates:
                only = _Found(candidates).only
                return self._placed(only, scope) if only is not None else None
        return None

    def _readings(self, name: str, *, loose: bool) -> tuple[Callable[[_Place], bool], ...]:
        def words(place: _Place) -> bool:
            return same_words(place.name, name)

        def by_table(place: _Place) -> bool:
            table = place.source.table
            return loose and table is not None and _is_told_by_its_table(name, place.name, table.name)

        def ending(place: _Place) -> bool:
            return loose and _ends_with(place.name, name)

        def typo(place: _Place) -> bool:
            return is_typo(name, place.name)

        return words, by_table, ending, typo

    def _near_alias(self, node: exp.Column, scope: Scope) -> bool:
        return any(same_words(node.name, alias) or is_typo(node.name, alias) for alias in scope.aliases.values())

    def _as_text(self, node: exp.Column, scope: Scope) -> exp.Expr | None:
        """A text in double quotes that no column resembles, held against a column."""
        if not node.this.args.get("quoted") or node.args.get("table") is not None:
            return None
        name = node.name
        if "%" in name or not any(character.isalnum() for character in name):
            return exp.Literal.string(name)
        parent = node.parent
        if not isinstance(parent, _COMPARING) or parent.this is node or re.search(r"_|[a-z][A-Z]", name):
            return None
        beside = parent.this
        columns = [beside] if isinstance(beside, exp.Column) else list(beside.find_all(exp.Column))
        if not columns or any(self._problem(column, scope) is not None for column in columns):
            return None
        return exp.Literal.string(name)

    def _tell_apart(self, node: exp.Column, scope: Scope) -> None:
        """Say which one is meant by a bare name that several sources have, where inner joins make them equal."""
        if node.args.get("table") is not None:
            return
        key = self._key(node.this)
        owners = [name for name, source in scope.sources.items() if key in source.columns]
        if len(owners) < 2 or key in scope.aliases:
            return
        select = node.parent_select
        joins = select.args.get("joins") or [] if select is not None else []
        if select is None or any(join.args.get("using") or join.side or join.method for join in joins):
            return
        conditions: list[exp.Expr] = [join.args["on"] for join in joins if join.args.get("on") is not None]
        if (where := select.args.get("where")) is not None:
            conditions.append(where.this)
        groups = {name: {name} for name in owners}
        for condition in conditions:
            for part in condition.flatten() if isinstance(condition, exp.And) else (condition,):
                ends = self._equal_ends(part, key)
                if ends and ends[0] in groups and ends[1] in groups:
                    joined = groups[ends[0]] | groups[ends[1]]
                    for name in joined:
                        groups[name] = joined
        if len(groups[owners[0]]) == len(owners):
            before = self._text(node)
            node.set("table", self._label(owners[0], scope))
            self._noted(before, self._text(node))

    def _equal_ends(self, part: exp.Expr, key: str) -> tuple[str, str] | None:
        part = part.unnest()
        if not isinstance(part, exp.EQ):
            return None
        sides = (part.this, part.expression)
        if not all(isinstance(side, exp.Column) and self._key(side.this) == key for side in sides):
            return None
        return self._key(sides[0].args.get("table")), self._key(sides[1].args.get("table"))

    def _reach(self, node: exp.Column, scope: Scope, keys: KeyGraph) -> bool:
        """Name the one table near by that has the column; it is still to be joined."""
        if isinstance(node.this, exp.Star):
            return False
        qualifier = node.args.get("table")
        read = [source.table.name for source in scope.sources.values() if source.table is not None]
        if len(read) != len(scope.sources) or any(_ends_with(one.name, node.name) for one in self._places(scope)):
            return False
        near = {name for table in read for name in keys.neighbours(table)} | self._linked
        away = [table for table in self._schema.tables if table.name not in read]
        if qualifier is not None and self._source(qualifier, scope) is None:
            away = [table for table in away if same_words(table.name, qualifier.name)]
        else:
            away = [table for table in away if table.name in near]
        every = [(table.name, column.name) for table in away for column in table.columns]
        exact = [(table, name) for table, name in every if fold(name) == fold(node.name)]
        for found in (exact, [(table, name) for table, name in every if same_words(name, node.name)]):
            if len(found) == 1:
                (table_name, name), before = found[0], self._text(node)
                if not _is_in_join(node) and self._repeats(table_name, read) and not _sums_up(node.parent_select):
                    return False
                node.set("this", self._identifier(name))
                node.set("table", self._identifier(table_name))
                if before != self._text(node):
                    self._noted(before, self._text(node))
                self.lacking.setdefault(table_name)
                return True
            if found:
                return False
        return False

    def _repeats(self, table: str, read: Sequence[str]) -> bool:
        """Whether the rows that are read would come several times if a table were joined to them."""
        away = next(one for one in self._schema.tables if one.name == table)
        return any(key.referred_table in read for key in away.foreign_keys)

    # Words and nodes

    def _places(self, scope: Scope) -> Iterator[_Place]:
        for key, source in scope.sources.items():
            for name in source.columns.values():
                yield _Place(key, source, name)

    def _placed(self, place: _Place | None, scope: Scope) -> exp.Expr | None:
        return self._made(place.name, self._label(place.key, scope)) if place is not None else None

    def _label(self, key: str, scope: Scope) -> exp.Identifier | None:
        """The name by which the query calls a source."""
        source = next(around.sources[key] for around in scope.around() if key in around.sources)
        if key.startswith("\x00"):
            return None
        return self._identifier(source.label if self._real(source.label) == key else key)

    def _made(self, name: str, qualifier: exp.Expr | None) -> exp.Column:
        return exp.Column(this=self._identifier(name), table=qualifier.copy() if qualifier is not None else None)

    def _identifier(self, name: str) -> exp.Identifier:
        return exp.to_identifier(name, quoted=quoted(name, self._dialect).startswith('"'))

    def _text(self, node: exp.Expr) -> str:
        return node.sql(guarded(self._dialect), comments=False)

    def _noted(self, before: str, after: str) -> None:
        self.notes.append(f"{before} became {after}")


def _is_in_join(node: exp.Expr) -> bool:
    """Whether a column stands in the condition of a join."""
    return isinstance(node.find_ancestor(exp.Join, exp.Select), exp.Join)


def _sums_up(select: exp.Expr | None) -> bool:
    """Whether the rows of a SELECT are made of several, so that no one sees how often they come."""
    if select is None or select.args.get("group") is not None or select.args.get("distinct") is not None:
        return select is not None
    calls = (node.this for one in select.args["expressions"] for node in one.find_all(exp.Anonymous))
    return any(isinstance(call, str) and call.lower() in AGGREGATES for call in calls)


def _other_side(node: exp.Expr) -> exp.Expr | None:
    """What a comparison holds a column against."""
    parent = node.parent
    if not isinstance(parent, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
        return None
    other = parent.expression if parent.this is node else parent.this
    return other if isinstance(other, exp.Expr) else None
