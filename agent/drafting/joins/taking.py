"""Takes the joins out of a query, SELECT by SELECT, and sees that they would come back the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from agent.database.naming import fold
from agent.drafting.joins.arranging import Item, arranged
from agent.drafting.joins.scopes import (
    CORRELATED,
    Bound,
    Scopes,
    Source,
    add_condition,
    all_of,
    called_as,
    change_where,
    conditions_of,
    conjuncts,
    home,
    outer,
)
from agent.drafting.operands import AGGREGATES
from agent.linking import Lexicon


@dataclass(frozen=True, slots=True)
class Unjoined:
    """A query without its joins.

    With `rigid`, some SELECT could not be taken apart (a table that it reads twice, a join over no key, `NATURAL`):
    its FROM and its joins are as they were, its aliases too where they are needed to tell the columns apart.
    """

    tree: exp.Expr
    rigid: bool


@dataclass(slots=True)
class _Knitted:
    """The joins of one SELECT, read: `edges` of tables that a key joins, and the tables around a subquery."""

    edges: set[frozenset[str]] = field(default_factory=set)
    lefts: set[str] = field(default_factory=set)
    outward: list[tuple[str, str]] = field(default_factory=list)
    extras: dict[str, list[exp.Expr]] = field(default_factory=dict)
    pinned: set[str] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    marks: dict[int, str] = field(default_factory=dict)


class Taking:
    def __init__(self, tree: exp.Expr, lexicon: Lexicon) -> None:
        self._tree = tree
        self._keys = lexicon.keys
        self._scopes = Scopes(tree, lexicon)
        self._bound: dict[int, Bound] = {}
        self._columns: list[exp.Column] = []
        self._kept: set[int] = set()
        """SELECTs whose aliases stay."""

    def apart(self) -> Unjoined | None:
        if not self._bind():
            return None
        self._keep_what_needs_aliases()
        knitted = {id(scope): self._knitted(scope) for scope in self._scopes.selects if id(scope) not in self._kept}
        self._rename()
        rigid = bool(self._kept)
        for scope in self._scopes.selects:
            one = knitted.get(id(scope))
            if one is not None and self._loosened(scope, one):
                continue
            scope.meta["rigid"] = True
            rigid = True
        return Unjoined(self._tree, rigid)

    def _bind(self) -> bool:
        """Find what each column belongs to; False where one cannot be told."""
        if any(one.columns is None for scope in self._scopes.selects for one in self._scopes.sources(scope)):
            return False
        for column in self._tree.find_all(exp.Column):
            found = self._scopes.bind(column)
            if found is None:
                return False
            if isinstance(found, Bound):
                table = found.source.table
                is_star = isinstance(column.this, exp.Star)
                if table is not None and not is_star and fold(column.name) not in self._scopes.columns[table]:
                    return False
                self._columns.append(column)
                self._bound[id(column)] = found
        return True

    def _name(self, bound: Bound) -> str:
        """What a source is called once aliases of tables are gone."""
        table = bound.source.table
        return bound.source.key if table is None or id(bound.scope) in self._kept else fold(table)

    def _keep_what_needs_aliases(self) -> None:
        for scope in self._scopes.selects:
            sources = self._scopes.sources(scope)
            called = [self._name(Bound(scope, source)) for source in sources]
            starred = len(sources) > 1 and any(isinstance(one, exp.Star) for one in scope.expressions)
            twice = len(set(called)) < len(called)
            hidden = any(source.table and fold(source.table) in self._scopes.ctes for source in sources)
            if twice or hidden or starred or scope.args.get("laterals") or any(map(_is_odd, sources)):
                self._kept.add(id(scope))
        changed = True
        while changed:
            changed = False
            for column in self._columns:
                bound = self._bound[id(column)]
                between = home(column)
                while between is not None and between is not bound.scope:
                    inside = between
                    names = [self._name(Bound(inside, one)) for one in self._scopes.sources(inside)]
                    if self._name(bound) in names:
                        guilty = bound.scope if id(bound.scope) not in self._kept else inside
                        if id(guilty) not in self._kept:
                            self._kept.add(id(guilty))
                            changed = True
                    between = outer(between)

    def _rename(self) -> None:
        """Write each column of a table as `Table.Column`, and take the aliases off the tables."""
        scopes = self._scopes
        for column in self._columns:
            bound = self._bound[id(column)]
            table, here = bound.source.table, home(column)
            if table is None or id(bound.scope) in self._kept:
                crowded = any(one.table for one in scopes.sources(bound.scope)) and id(bound.scope) not in self._kept
                if not column.table and bound.source.key and (crowded or here is not bound.scope):
                    column.set("table", called_as(bound.source))
                continue
            column.set("table", scopes.identifier(table))
            column.set("db", None)
            if not isinstance(column.this, exp.Star):
                column.set("this", scopes.identifier(scopes.columns[table][fold(column.name)]))
        for scope in scopes.selects:
            for source in scopes.sources(scope):
                if source.table is not None and id(scope) not in self._kept:
                    source.node.set("this", scopes.identifier(source.table))
                    source.node.set("alias", None)
                    source.node.set("db", None)

    # Reading the joins

    def _knitted(self, scope: exp.Select) -> _Knitted | None:
        """Read the joins of a SELECT; None where one of them is not over a key of the graph."""
        sources = self._scopes.sources(scope)
        made = _Knitted()
        tables = {source.table for source in sources if source.table}
        fixed = any(source.table is None for source in sources)
        parts = {table: table for table in tables}

        def root(table: str) -> str:
            while parts[table] != table:
                table = parts[table]
            return table

        commas: list[Source] = []
        for place, source in enumerate(sources):
            if source.table is None:
                made.pinned.add(source.key)
                continue
            if source.join is None:
                continue
            conditions = conditions_of(source.join)
            using = source.join.args.get("using") or ()
            earlier = [one.table for one in sources[:place] if one.table]
            if using:
                found = self._key_using(using, source, sources[:place])
            else:
                found = self._key_equalities(conditions, source.table, earlier, scope)
            if len(found) > 1 or (using and not found):
                return None
            left = source.join.side == "LEFT"
            if found:
                ((other, gone),) = found.items()
                if not left and other in made.lefts:
                    return None
                made.edges.add(frozenset((source.table, other)))
                parts[root(source.table)] = root(other)
                if left:
                    made.lefts.add(source.table)
                extras = [one for one in conditions if id(one) not in gone]
                if extras:
                    made.extras[source.table] = extras
            elif not conditions and not left:
                commas.append(source)
            elif fixed:
                made.pinned.add(source.key)
                if left:
                    made.lefts.add(source.table)
            else:
                return None
        where = conjuncts(scope.args["where"].this) if scope.args.get("where") else []
        for source in commas:
            table = source.table or ""
            firm = [one for one in tables if one not in made.lefts and one != table]
            for other, gone in self._key_equalities(where, table, firm, scope).items():
                if root(other) != root(table):
                    parts[root(table)] = root(other)
                    made.edges.add(frozenset((table, other)))
                    made.gone |= gone
        for source in commas:
            if not any(source.table in edge for edge in made.edges):
                if not fixed:
                    return None
                made.pinned.add(source.key)
        self._read_outward(scope, tables, where, made)
        return made

    def _key_equalities(
        self, conditions: Sequence[exp.Expr], table: str, others: Sequence[str], scope: exp.Select
    ) -> dict[str, set[int]]:
        """For each of the other tables of the scope that whole keys join `table` to, the equalities that do it."""
        found: dict[str, dict[tuple[str, str], int]] = {}
        for condition in conditions:
            for mine, other in self._ends(condition):
                if mine[1].scope is scope and mine[1].source.table == table and other[1].scope is scope:
                    name = other[1].source.table
                    if name is not None and name in others:
                        found.setdefault(name, {})[mine[0], other[0]] = id(condition)
        return {
            other: set(pairs.values()) for other, pairs in found.items() if self._is_key(table, other, frozenset(pairs))
        }

    def _ends(self, condition: exp.Expr) -> Iterator[tuple[tuple[str, Bound], tuple[str, Bound]]]:
        """The two columns of tables that an equality holds together, both ways round."""
        if not isinstance(condition, exp.EQ):
            return
        ends = []
        for side in (condition.this, condition.expression):
            bound = self._bound.get(id(side))
            if bound is None or bound.source.table is None:
                return
            ends.append((self._scopes.columns[bound.source.table][fold(side.name)], bound))
        yield ends[0], ends[1]
        yield ends[1], ends[0]

    def _key_using(self, using: Sequence[exp.Expr], source: Source, earlier: Sequence[Source]) -> dict[str, set[int]]:
        """The earlier table that USING joins a source to by a key; none where it does not."""
        names = [fold(one.name) for one in using]
        having = [[one for one in earlier if one.columns is not None and name in one.columns] for name in names]
        others = {one[0].table for one in having if one}
        other = next(iter(others)) if len(others) == 1 and all(having) else None
        if source.table is None or other is None or any(one.columns is None for one in earlier):
            return {}
        columns = self._scopes.columns
        pairs = frozenset((columns[source.table][name], columns[other][name]) for name in names)
        return {other: set()} if self._is_key(source.table, other, pairs) else {}

    def _is_key(self, table: str, other: str, pairs: frozenset[tuple[str, str]]) -> bool:
        if self._keys.distance(table, other) != 1:
            return False
        join = self._keys.connect((table, other))[1][0]
        columns = zip(join.left_columns, join.right_columns, strict=True)
        return pairs == frozenset(columns if join.left == table else ((b, a) for a, b in columns))

    def _read_outward(self, scope: exp.Select, tables: set[str], where: Sequence[exp.Expr], made: _Knitted) -> None:
        """Find the keys between the tables of a subquery and those around it."""
        found: dict[tuple[str, str], dict[tuple[str, str], exp.Expr]] = {}
        for condition in where:
            for mine, other in self._ends(condition):
                inner, around = mine[1].source.table, other[1].source.table
                if mine[1].scope is not scope or other[1].scope is scope or inner is None or around is None:
                    continue
                if around not in tables and id(other[1].scope) not in self._kept:
                    found.setdefault((inner, around), {})[mine[0], other[0]] = condition
        for (inner, around), pairs in found.items():
            if any(name == around for _, name in made.outward) or not self._is_key(inner, around, frozenset(pairs)):
                continue
            made.outward.append((inner, around))
            first, *rest = pairs.values()
            made.marks[id(first)] = around
            made.gone |= {id(one) for one in rest}

    # Making it loose

    def _loosened(self, scope: exp.Select, knitted: _Knitted) -> bool:
        """Write a SELECT loosely; False, and nothing changed but its mark, where its joins would not come back."""
        sources = self._scopes.sources(scope)
        if not sources:
            return True
        if any(isinstance(one.join, exp.Join) and one.join.args.get("using") and not one.table for one in sources):
            return False
        for anchors in (self._anchors(scope, knitted), {one.table for one in sources if one.table}):
            kept = [one for one in sources if one.table is None or one.table in anchors]
            if self._comes_back(kept, knitted):
                break
        else:
            return False

        def without_keys(condition: exp.Expr) -> exp.Expr | None:
            if id(condition) in knitted.marks:
                return self._mark(knitted.marks[id(condition)])
            return None if id(condition) in knitted.gone else condition

        change_where(scope, without_keys)
        first, *rest = kept
        if first.join is not None:
            add_condition(scope, knitted.extras.get(first.table or "", ()))
        joins = []
        for source in rest:
            if source.join is not None and not _is_loose(source, knitted):
                joins.append(source.join)
                continue
            on = all_of(knitted.extras.get(source.table or "", ()))
            made = exp.Join(this=source.node, side="LEFT" if source.table in knitted.lefts else None, on=on)
            made.meta["loose"] = True
            joins.append(made)
        scope.set("from_", exp.From(this=first.node))
        scope.set("joins", joins or None)
        return True

    def _mark(self, table: str) -> exp.Expr:
        return exp.Anonymous(this=CORRELATED, expressions=[self._scopes.table(table)])

    def _anchors(self, scope: exp.Select, knitted: _Knitted) -> set[str]:
        """The tables of a SELECT that have a meaning of their own there."""
        sources = self._scopes.sources(scope)
        anchors = self._used(scope, knitted) | {one.table for one in sources if one.table and one.key in knitted.pinned}
        degrees: dict[str, int] = {one.table: 0 for one in sources if one.table}
        for edge in [*knitted.edges, *map(frozenset, knitted.outward)]:
            for name in edge:
                if name in degrees:
                    degrees[name] += 1
        anchors |= {name for name, degree in degrees.items() if degree < 2}
        if (knitted.lefts or knitted.pinned) and sources[0].table:
            anchors.add(sources[0].table)
        if _counts(scope):
            referred = {self._keys.connect(edge)[1][0].right for edge in knitted.edges}
            anchors |= degrees.keys() - referred
        return anchors

    def _used(self, scope: exp.Select, knitted: _Knitted) -> set[str]:
        """The tables of which a column is read elsewhere than in a key that comes back by itself."""
        found: set[str] = set()
        unread = knitted.gone | knitted.marks.keys()
        for source in self._scopes.sources(scope):
            if source.join is not None and source.table and _is_loose(source, knitted):
                unread = unread | {id(one) for one in conditions_of(source.join)} - {
                    id(one) for one in knitted.extras.get(source.table, ())
                }
        for column in self._columns:
            bound = self._bound[id(column)]
            if bound.scope is scope and bound.source.table and id(column.parent) not in unread:
                found.add(bound.source.table)
        return found

    def _comes_back(self, kept: Sequence[Source], knitted: _Knitted) -> bool:
        """Whether the joins of the kept sources, made anew, are those that were read."""
        items = [self._item(source, knitted, kept) for source in kept]
        made = arranged(self._keys, items, (), [name for _, name in knitted.outward])
        if made is None or made.clashes([item.name for item in items], self._scopes.ctes):
            return False
        if {step.edge for step in made.steps} - {frozenset()} != knitted.edges:
            return False
        if {step.table for step in made.steps if step.left and step.table} != knitted.lefts:
            return False
        if {(inner, around) for inner, around, _ in made.outward} != set(knitted.outward):
            return False
        seen: set[str] = set()
        for step in made.steps:
            seen.add(step.table or step.name)
            needed = {name for one in knitted.extras.get(step.table or "", ()) for name in self._tables_in(one, kept)}
            if step.left and not needed <= seen:
                return False
        return True

    def _tables_in(self, condition: exp.Expr, kept: Sequence[Source]) -> set[str]:
        nodes = {id(one.node) for one in kept}
        bound = [self._bound[id(one)].source for one in condition.find_all(exp.Column) if id(one) in self._bound]
        return {one.table or one.key for one in bound if id(one.node) in nodes}

    def _item(self, source: Source, knitted: _Knitted, kept: Sequence[Source]) -> Item:
        loose = _is_loose(source, knitted)
        on = source.join.args.get("on") if source.join is not None and not loose else None
        needs = sorted(self._tables_in(on, kept) - {source.table or source.key}) if on is not None else ()
        left = source.table in knitted.lefts if source.table else source.join is not None and source.join.side == "LEFT"
        return Item(source.table or source.key, source.table, left, loose, tuple(needs))


def _is_loose(source: Source, knitted: _Knitted) -> bool:
    return source.table is not None and source.key not in knitted.pinned


def _is_odd(source: Source) -> bool:
    """Whether a join is of a kind that is never taken apart."""
    join, alias = source.join, source.node.args.get("alias")
    if source.nested or (source.table is not None and alias is not None and alias.args.get("columns")):
        return True
    if join is None:
        return False
    known = join.side in ("", "LEFT") and join.kind in ("", "INNER", "OUTER", "CROSS")
    return bool(join.args.get("method")) or not known


def _counts(scope: exp.Select) -> bool:
    """Whether a SELECT itself makes something of several rows."""
    return any(
        isinstance(node, exp.Anonymous | exp.GroupConcat)
        and (str(node.this).lower() if isinstance(node, exp.Anonymous) else "group_concat") in AGGREGATES
        and home(node) is scope
        for node in scope.walk()
    )
