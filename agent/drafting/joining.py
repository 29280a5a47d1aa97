"""Takes the joins out of a query, and puts them back by the keys: its tables may change in between.

The loose form is a tree of its own. FROM of each SELECT lists the *anchors*, the tables that mean something there,
joined without ON; tables that only lie between them are gone. Every column of a table is `Table.Column`. The equality
that ties a subquery to the query around it is the mark `CORRELATED(outer table)`. Replace the tables (`exp.Table`,
those in marks too) and the columns of a loose tree, and `joined` makes the joins that the others need. A query that was
written with neither FROM nor JOIN is a loose tree without anchors (the idea of NatSQL, Gan et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from agent.database.naming import fold, quoted
from agent.database.result import QueryRejected
from agent.database.scoping import Resolver
from agent.drafting.operands import AGGREGATES, Names
from agent.keys import Join, KeyGraph
from agent.linking import Lexicon

CORRELATED = "CORRELATED"
"""The function that stands in a loose WHERE for the keys between a subquery and a table of the query around it."""


@dataclass(frozen=True, slots=True)
class Unjoined:
    """A query without its joins.

    With `rigid`, some SELECT could not be taken apart (a table that it reads twice, a join over no key, `NATURAL`):
    its FROM and its joins are as they were, its aliases too where they are needed to tell the columns apart.
    """

    tree: exp.Expr
    rigid: bool


def unjoined(tree: exp.Expr, *, lexicon: Lexicon) -> Unjoined | None:
    """Take the joins out of a query, as a new tree that `joined` gives the same rows of; None if a name has no place.

    Whether the joins come back the same is checked here, SELECT by SELECT: where leaving out the tables between the
    anchors changes them, all tables are anchors, and where even that does, the SELECT is rigid.
    """
    try:
        return _Taking(tree.copy(), lexicon).apart()
    except RecursionError:
        return None


def joined(tree: exp.Expr, *, lexicon: Lexicon) -> exp.Expr | None:
    """Join the tables of a loose query by the keys, as a new tree.

    None where no key connects the tables, or a column or table is not there. A SELECT that has its joins keeps them,
    and gets only the tables that its columns lack. The first anchor is the root; a table that lies at or beyond an
    anchor with LEFT is joined with LEFT, every other one is not.
    """
    try:
        return _Putting(tree.copy(), lexicon).together()
    except RecursionError:
        return None


# Scopes: what each SELECT reads, and what its columns belong to


@dataclass(frozen=True, slots=True)
class _Source:
    """One entry of FROM. `table` is the real table, None for a CTE or a subquery; `columns` are its folded names."""

    key: str
    node: exp.Expr
    join: exp.Join | None
    table: str | None
    columns: frozenset[str] | None
    nested: bool = False


@dataclass(frozen=True, slots=True)
class _Bound:
    scope: exp.Select
    source: _Source


class _Scopes:
    def __init__(self, tree: exp.Expr, lexicon: Lexicon) -> None:
        self.dialect = lexicon.schema.dialect
        self.columns = {
            table.name: {fold(column.name): column.name for column in table.columns} for table in lexicon.schema.tables
        }
        self.names = Names(tree, lexicon.schema, ())
        self.selects = tuple(tree.find_all(exp.Select))
        self.ctes = frozenset(fold(cte.alias) for cte in tree.find_all(exp.CTE))
        self._read: dict[int, tuple[_Source, ...]] = {}
        self._reading: set[int] = set()

    def sources(self, scope: exp.Select) -> tuple[_Source, ...]:
        """What FROM and JOIN of a SELECT name, in their order."""
        known = self._read.get(id(scope))
        if known is None:
            if id(scope) in self._reading:
                return ()
            self._reading.add(id(scope))
            known = self._read[id(scope)] = tuple(self._sources(scope))
        return known

    def reread(self, scope: exp.Select) -> tuple[_Source, ...]:
        """The sources of a SELECT whose FROM was changed."""
        self._reading.discard(id(scope))
        self._read.pop(id(scope), None)
        return self.sources(scope)

    def _sources(self, scope: exp.Select) -> Iterator[_Source]:
        clause = scope.args.get("from_")
        waiting: list[tuple[exp.Expr, exp.Join | None, bool]] = [(clause.this, None, False)] if clause else []
        waiting += [(join.this, join, False) for join in scope.args.get("joins") or ()]
        while waiting:
            node, join, nested = waiting.pop(0)
            inside = node.args.get("joins") or ()
            waiting = [(one.this, one, True) for one in inside] + waiting
            alias = node.args.get("alias")
            named = alias is not None and alias.args.get("columns")
            table = self.names.table(node) if isinstance(node, exp.Table) and not named else None
            given: Iterable[str] | None
            if named:
                given = [fold(one.name) for one in named]
            elif table is not None:
                given = self.columns[table]
            else:
                given = self._given(node)
            yield _Source(
                fold(node.alias_or_name), node, join, table, None if given is None else frozenset(given), nested
            )

    def _given(self, node: exp.Expr) -> list[str] | None:
        """The folded names of the columns that a subquery or a CTE gives; None where they cannot be told."""
        if not isinstance(node, exp.Table):
            return self._outputs(node) if isinstance(node, exp.Subquery) else None
        around: exp.Expr | None = node.parent
        while around is not None:
            clause = around.args.get("with_")
            for cte in clause.expressions if clause is not None else ():
                if fold(cte.alias) == fold(node.name) and node.args.get("db") is None:
                    named = cte.args["alias"].args.get("columns")
                    return [fold(one.name) for one in named] if named else self._outputs(cte.this)
            around = around.parent
        return None

    def _outputs(self, query: exp.Expr) -> list[str] | None:
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        if not isinstance(query, exp.Select):
            return None
        found: list[str] = []
        for projection in query.expressions:
            if isinstance(projection, exp.Star) or (
                isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
            ):
                wanted = fold(projection.table) if isinstance(projection, exp.Column) else ""
                for source in self.sources(query):
                    if not wanted or source.key == wanted:
                        if source.columns is None:
                            return None
                        found += source.columns
            else:
                found.append(fold(projection.alias_or_name))
        return found

    def bind(self, column: exp.Column) -> _Bound | Literal["output"] | None:
        """The source that a column belongs to, `output` for a name of the select list; None where it cannot be told."""
        name, qualifier = fold(column.name), fold(column.table)
        scope = home(column)
        if scope is None:
            return "output"
        first = True
        while scope is not None:
            sources = self.sources(scope)
            if qualifier:
                for source in sources:
                    if source.key == qualifier:
                        known = source.columns is None or isinstance(column.this, exp.Star) or name in source.columns
                        return _Bound(scope, source) if known else None
            else:
                if first and _is_sort_key(column, scope):
                    for projection in scope.expressions:
                        if fold(projection.alias_or_name) == name:
                            return self.bind(projection) if isinstance(projection, exp.Column) else "output"
                having = [one for one in sources if one.columns is not None and name in one.columns]
                unsure = [one for one in sources if one.columns is None]
                if not having and len(unsure) == 1:
                    having = unsure
                if len(having) > 1 and not _is_merged(having, name):
                    return None
                if having:
                    return _Bound(scope, having[0])
                if first and any(isinstance(p, exp.Alias) and fold(p.alias) == name for p in scope.expressions):
                    return None if _in_select_list(column, scope) else "output"
            scope, first = outer(scope), False
        return None

    def identifier(self, name: str) -> exp.Identifier:
        return exp.to_identifier(name, quoted=quoted(name, self.dialect) != name)

    def table(self, name: str) -> exp.Table:
        return exp.Table(this=self.identifier(name))

    def column(self, source: str, name: str) -> exp.Column:
        return exp.Column(this=self.identifier(name), table=self.identifier(source))


def home(node: exp.Expr) -> exp.Select | None:
    """The SELECT that a name stands in; None at the end of a set operation, where only its own outputs are known."""
    while (parent := node.parent) is not None:
        if isinstance(parent, exp.Select):
            return parent
        if isinstance(parent, exp.SetOperation | exp.Subquery) and node.arg_key not in ("this", "expression"):
            return None
        node = parent
    return None


def outer(scope: exp.Select) -> exp.Select | None:
    """The SELECT around a subquery whose names it may use; those beside it in FROM, or around a CTE, it may not."""
    node: exp.Expr = scope
    hidden = False
    while (parent := node.parent) is not None:
        if node.arg_key == "with_":
            node = parent
            hidden = False
            continue
        if isinstance(parent, exp.From) or (isinstance(parent, exp.Join) and node.arg_key == "this"):
            hidden = True
        if isinstance(parent, exp.Select):
            if not hidden:
                return parent
            hidden = False
        node = parent
    return None


def _is_sort_key(column: exp.Column, scope: exp.Select) -> bool:
    ordered = column.parent
    return isinstance(ordered, exp.Ordered) and ordered.parent is scope.args.get("order")


def _in_select_list(column: exp.Column, scope: exp.Select) -> bool:
    node: exp.Expr = column
    while node.parent is not None and node.parent is not scope:
        node = node.parent
    return node.arg_key == "expressions"


def _is_merged(having: Sequence[_Source], name: str) -> bool:
    """Whether USING makes one column of those that several sources have."""
    return all(
        one.join is not None and any(fold(used.name) == name for used in one.join.args.get("using") or ())
        for one in having[1:]
    )


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that AND joins."""
    while isinstance(node, exp.Paren):
        node = node.this
    if node is None:
        return []
    return [*_conjuncts(node.this), *_conjuncts(node.expression)] if isinstance(node, exp.And) else [node]


def _conditions(join: exp.Join | None) -> list[exp.Expr]:
    """The conditions in ON; the parser puts TRUE where a join has none."""
    on = join.args.get("on") if join is not None else None
    return [one for one in _conjuncts(on) if not (isinstance(one, exp.Boolean) and one.this)]


def _kept(node: exp.Expr, keep: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr | None:
    """Conditions joined by AND, each as `keep` gives it; None where none is left."""
    if isinstance(node, exp.Paren):
        inner = _kept(node.this, keep)
        return None if inner is None else node if inner is node.this else exp.Paren(this=inner)
    if not isinstance(node, exp.And):
        return keep(node)
    left, right = _kept(node.this, keep), _kept(node.expression, keep)
    if left is node.this and right is node.expression:
        return node
    return exp.And(this=left, expression=right) if left is not None and right is not None else left or right


def _all(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    made: exp.Expr | None = None
    for condition in conditions:
        one = exp.Paren(this=condition) if isinstance(condition, exp.Or) else condition
        made = one if made is None else exp.And(this=made, expression=one)
    return made


def _add_condition(scope: exp.Select, conditions: Sequence[exp.Expr]) -> None:
    if not conditions:
        return
    where = scope.args.get("where")
    present = [exp.Paren(this=where.this) if isinstance(where.this, exp.Or) else where.this] if where else []
    made = _all([*present, *conditions])
    if made is not None:
        scope.set("where", exp.Where(this=made))


def _change_where(scope: exp.Select, keep: Callable[[exp.Expr], exp.Expr | None]) -> None:
    where = scope.args.get("where")
    if where is not None:
        made = _kept(where.this, keep)
        if made is not where.this:
            scope.set("where", None if made is None else exp.Where(this=made))


# The order in which tables are joined


@dataclass(frozen=True, slots=True)
class _Item:
    """One entry of FROM in its order. One that is not `loose` is joined as it is written, with its own ON.

    `name` is what the query calls it; `needs` are the tables that its ON reads besides.
    """

    name: str
    table: str | None
    left: bool = False
    loose: bool = True
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """One table or other source to be joined; `via` is the key to a table that is joined already, called `parent`."""

    name: str
    table: str | None
    via: Join | None
    parent: str
    left: bool

    @property
    def edge(self) -> frozenset[str]:
        return frozenset((self.via.left, self.via.right)) if self.via is not None else frozenset()


@dataclass(frozen=True, slots=True)
class _Arrangement:
    steps: tuple[_Step, ...]
    outward: tuple[tuple[str, str, Join], ...] = ()
    """What a subquery calls a table of its own, the table around it, and the key between them."""

    def clashes(self, written: Iterable[str], ctes: frozenset[str]) -> bool:
        """Whether a table that comes in beside those `written` has a name that is taken, by a CTE or in FROM."""
        taken = frozenset(map(fold, written))
        names = [fold(step.name) for step in self.steps]
        return len(set(names)) < len(names) or any(name in ctes and name not in taken for name in names)


def _arranged(
    keys: KeyGraph, items: Sequence[_Item], more: Sequence[str], around: Sequence[str]
) -> _Arrangement | None:
    """How to join the items and the tables `more`, tied to the tables `around` a subquery; None where no key does."""
    if all(item.loose for item in items):
        return _arranged_loose(keys, items, more, around)
    return _arranged_as_written(keys, items, more, around)


def _arranged_loose(
    keys: KeyGraph, items: Sequence[_Item], more: Sequence[str], around: Sequence[str]
) -> _Arrangement | None:
    wanted = list(dict.fromkeys([*(item.table for item in items if item.table), *more]))
    if not wanted:
        return None if around else _Arrangement(())
    if set(wanted) & set(around):
        return None
    lefts = {item.table for item in items if item.left} - {wanted[0]}
    tables, joins = keys.connect([*wanted, *around])
    if len(joins) != len(tables) - 1:
        return None
    near: dict[str, list[tuple[str, Join]]] = {name: [] for name in tables}
    for join in joins:
        near[join.left].append((join.right, join))
        near[join.right].append((join.left, join))
    if any(len(near[name]) != 1 for name in around):
        return None
    came: dict[str, tuple[str, Join]] = {}
    waiting = [wanted[0]]
    for here in waiting:
        for name, join in near[here]:
            if name != wanted[0] and name not in came:
                came[name] = (here, join)
                waiting.append(name)

    def path(name: str) -> list[str]:
        found = [name]
        while found[-1] in came:
            found.append(came[found[-1]][0])
        return found[::-1]

    inner = {name for goal in [*wanted, *around] if goal not in lefts for name in path(goal)}
    optional: dict[str, bool] = {}
    steps: list[_Step] = []
    outward: list[tuple[str, str, Join]] = []
    for goal in [*wanted, *around]:
        for name in path(goal):
            if name in optional:
                continue
            if name not in came:
                optional[name] = False
                steps.append(_Step(name, name, None, "", left=False))
                continue
            parent, join = came[name]
            if name in around:
                optional[name] = False
                outward.append((parent, name, join))
                continue
            optional[name] = optional[parent] or name in lefts or name not in inner
            steps.append(_Step(name, name, join, parent, optional[name]))
    return _Arrangement(tuple(steps), tuple(outward))


def _arranged_as_written(
    keys: KeyGraph, items: Sequence[_Item], more: Sequence[str], around: Sequence[str]
) -> _Arrangement | None:
    steps: list[_Step] = []
    called: dict[str, tuple[str, bool]] = {}
    twice = {one.table for n, one in enumerate(items) if one.table and any(o.table == one.table for o in items[:n])}
    later = [item.table for item in items if item.loose and item.table] + list(more)

    def path_to(goal: str) -> list[tuple[str, str, Join]] | None:
        """The steps from the nearest table that is joined, each as parent, table and key."""
        near = [(d, name) for name in called if name not in twice and (d := keys.distance(name, goal)) is not None]
        if not near:
            return None
        start = min(near, key=lambda one: one[0])[1]
        _, joins = keys.connect((start, goal))
        here, found = start, []
        for join in joins if not joins or start in (joins[0].left, joins[0].right) else joins[::-1]:
            there = join.right if join.left == here else join.left
            found.append((here, there, join))
            here = there
        return found if here == goal else None

    def attach(goal: str, *, left: bool) -> bool:
        for parent, name, join in path_to(goal) or ():
            label, optional = called[parent]
            called[name] = (name, optional or left)
            steps.append(_Step(name, name, join, label, optional or left))
        return goal in called

    for item in items:
        if item.loose and item.table and (item.table in called or attach(item.table, left=item.left)):
            continue
        for name in item.needs:
            if name not in called and name in later and not attach(name, left=False):
                return None
        steps.append(_Step(item.name, item.table, None, "", item.left))
        if item.table:
            called.setdefault(item.table, (item.name, item.left))
    for name in more:
        if name not in called and not attach(name, left=False):
            return None
    outward: list[tuple[str, str, Join]] = []
    for name in around:
        found = path_to(name)
        if not found or name in called:
            return None
        if len(found) > 1 and not attach(found[-1][0], left=False):
            return None
        outward.append((called[found[-1][0]][0], name, found[-1][2]))
    return _Arrangement(tuple(steps), tuple(outward))


# Taking apart


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


class _Taking:
    def __init__(self, tree: exp.Expr, lexicon: Lexicon) -> None:
        self._tree = tree
        self._keys = lexicon.keys
        self._scopes = _Scopes(tree, lexicon)
        self._bound: dict[int, _Bound] = {}
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
            if isinstance(found, _Bound):
                table = found.source.table
                is_star = isinstance(column.this, exp.Star)
                if table is not None and not is_star and fold(column.name) not in self._scopes.columns[table]:
                    return False
                self._columns.append(column)
                self._bound[id(column)] = found
        return True

    def _name(self, bound: _Bound) -> str:
        """What a source is called once aliases of tables are gone."""
        table = bound.source.table
        return bound.source.key if table is None or id(bound.scope) in self._kept else fold(table)

    def _keep_what_needs_aliases(self) -> None:
        for scope in self._scopes.selects:
            sources = self._scopes.sources(scope)
            called = [self._name(_Bound(scope, source)) for source in sources]
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
                    names = [self._name(_Bound(inside, one)) for one in self._scopes.sources(inside)]
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
                    column.set("table", _called(bound.source))
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

        commas: list[_Source] = []
        for place, source in enumerate(sources):
            if source.table is None:
                made.pinned.add(source.key)
                continue
            if source.join is None:
                continue
            conditions = _conditions(source.join)
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
        where = _conjuncts(scope.args["where"].this) if scope.args.get("where") else []
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

    def _ends(self, condition: exp.Expr) -> Iterator[tuple[tuple[str, _Bound], tuple[str, _Bound]]]:
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

    def _key_using(self, using: Sequence[exp.Expr], source: _Source, earlier: Sequence[_Source]) -> dict[str, set[int]]:
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

        _change_where(scope, without_keys)
        first, *rest = kept
        if first.join is not None:
            _add_condition(scope, knitted.extras.get(first.table or "", ()))
        joins = []
        for source in rest:
            if source.join is not None and not _is_loose(source, knitted):
                joins.append(source.join)
                continue
            on = _all(knitted.extras.get(source.table or "", ()))
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
                unread = unread | {id(one) for one in _conditions(source.join)} - {
                    id(one) for one in knitted.extras.get(source.table, ())
                }
        for column in self._columns:
            bound = self._bound[id(column)]
            if bound.scope is scope and bound.source.table and id(column.parent) not in unread:
                found.add(bound.source.table)
        return found

    def _comes_back(self, kept: Sequence[_Source], knitted: _Knitted) -> bool:
        """Whether the joins of the kept sources, made anew, are those that were read."""
        items = [self._item(source, knitted, kept) for source in kept]
        made = _arranged(self._keys, items, (), [name for _, name in knitted.outward])
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

    def _tables_in(self, condition: exp.Expr, kept: Sequence[_Source]) -> set[str]:
        nodes = {id(one.node) for one in kept}
        bound = [self._bound[id(one)].source for one in condition.find_all(exp.Column) if id(one) in self._bound]
        return {one.table or one.key for one in bound if id(one.node) in nodes}

    def _item(self, source: _Source, knitted: _Knitted, kept: Sequence[_Source]) -> _Item:
        loose = _is_loose(source, knitted)
        on = source.join.args.get("on") if source.join is not None and not loose else None
        needs = sorted(self._tables_in(on, kept) - {source.table or source.key}) if on is not None else ()
        left = source.table in knitted.lefts if source.table else source.join is not None and source.join.side == "LEFT"
        return _Item(source.table or source.key, source.table, left, loose, tuple(needs))


def _is_loose(source: _Source, knitted: _Knitted) -> bool:
    return source.table is not None and source.key not in knitted.pinned


def _is_odd(source: _Source) -> bool:
    """Whether a join is of a kind that is never taken apart."""
    join, alias = source.join, source.node.args.get("alias")
    if source.nested or (source.table is not None and alias is not None and alias.args.get("columns")):
        return True
    if join is None:
        return False
    known = join.side in ("", "LEFT") and join.kind in ("", "INNER", "OUTER", "CROSS")
    return bool(join.args.get("method")) or not known


def _called(source: _Source) -> exp.Identifier:
    alias = source.node.args.get("alias")
    named = alias.this if alias is not None else source.node.this
    return named.copy() if isinstance(named, exp.Identifier) else exp.to_identifier(source.node.alias_or_name)


def _counts(scope: exp.Select) -> bool:
    """Whether a SELECT itself makes something of several rows."""
    return any(
        isinstance(node, exp.Anonymous | exp.GroupConcat)
        and (str(node.this).lower() if isinstance(node, exp.Anonymous) else "group_concat") in AGGREGATES
        and home(node) is scope
        for node in scope.walk()
    )


# Putting together


class _Putting:
    def __init__(self, tree: exp.Expr, lexicon: Lexicon) -> None:
        self._tree = tree
        self._schema = lexicon.schema
        self._keys = lexicon.keys
        self._scopes = _Scopes(tree, lexicon)
        self._more: dict[int, dict[str, None]] = {id(scope): {} for scope in self._scopes.selects}
        self._real = {fold(name): name for name in self._scopes.columns}
        self._views = frozenset(table.name for table in lexicon.schema.tables if table.is_view)

    def together(self) -> exp.Expr | None:
        columns: dict[int, list[exp.Column]] = {id(scope): [] for scope in self._scopes.selects}
        for column in self._tree.find_all(exp.Column):
            scope = home(column)
            if scope is not None:
                columns[id(scope)].append(column)
        marks: dict[int, list[exp.Anonymous]] = {}
        for node in self._tree.find_all(exp.Anonymous):
            if str(node.this).upper() == CORRELATED:
                scope = home(node)
                if scope is None:
                    return None
                marks.setdefault(id(scope), []).append(node)
        for scope in self._scopes.selects:
            if not self._place(scope, columns[id(scope)]):
                return None
        around: dict[int, list[str]] = {}
        for scope in self._scopes.selects:
            tables = self._around(scope, marks.get(id(scope), ()))
            if tables is None:
                return None
            around[id(scope)] = tables
        for scope in self._scopes.selects:
            if not self._join(scope, around[id(scope)], marks.get(id(scope), ())):
                return None
        try:
            Resolver(self._schema).resolve(self._tree.copy())
        except QueryRejected:
            return None
        return self._tree

    # Which tables each SELECT reads

    def _has(self, scope: exp.Select, table: str) -> bool:
        return table in self._more[id(scope)] or any(s.key == fold(table) for s in self._scopes.sources(scope))

    def _beyond(self, scope: exp.Select, table: str) -> bool:
        """Whether a query around a subquery reads the table."""
        around = outer(scope)
        while around is not None:
            if self._has(around, table):
                return True
            around = outer(around)
        return False

    def _place(self, scope: exp.Select, columns: Sequence[exp.Column]) -> bool:
        """Find the tables that the columns of a SELECT come from; False where a column has none."""
        more = self._more[id(scope)]
        sources = self._scopes.sources(scope)
        named = [one for one in columns if one.table]
        if not sources and (cte := self._cte(scope, named)):
            scope.set("from_", exp.From(this=exp.Table(this=cte)))
            sources = self._scopes.reread(scope)
        if not sources and columns:
            selected = [one for one in named if _in_select_list(one, scope)]
            for column in selected:
                if not self._add(scope, column):
                    return False
            rest = [one for one in named if not self._has(scope, one.table)]
            for column in rest:
                table = self._real.get(fold(column.table))
                if (table is None or not self._beyond(scope, table)) and not self._add(scope, column):
                    return False
            if named and not more and not self._scopes.sources(scope) and not self._add(scope, named[0]):
                return False
        else:
            for column in columns:
                if column.table and self._scopes.bind(column) is None:
                    table = self._real.get(fold(column.table))
                    if (table is None or not self._beyond(scope, table)) and not self._add(scope, column):
                        return False
        # A name that several tables have is told by those that others bring in.
        unclear = [column for column in columns if not self._qualify(scope, column)]
        return all(self._qualify(scope, column) for column in unclear)

    def _cte(self, scope: exp.Select, named: Sequence[exp.Column]) -> exp.Identifier | None:
        """The CTE that all of the columns are of; None where they are of something else."""
        called = {fold(one.table) for one in named}
        if len(called) != 1 or not called <= self._scopes.ctes:
            return None
        return named[0].args["table"].copy() if isinstance(named[0].args.get("table"), exp.Identifier) else None

    def _add(self, scope: exp.Select, column: exp.Column) -> bool:
        table = self._real.get(fold(column.table))
        if table is None or any(one.key == fold(table) for one in self._scopes.sources(scope)):
            return False
        self._more[id(scope)].setdefault(table)
        return True

    def _qualify(self, scope: exp.Select, column: exp.Column) -> bool:
        """Write a column in the schema's spelling, and with its table where the SELECT may come to read others."""
        scopes = self._scopes
        name = fold(column.name)
        if column.table:
            table = self._real.get(fold(column.table))
            if table is not None and table in self._more[id(scope)]:
                if isinstance(column.this, exp.Star):
                    if isinstance(column.parent, exp.Anonymous):
                        column.replace(exp.Star())
                    return True
                if name not in scopes.columns[table]:
                    return False
                column.replace(scopes.column(table, scopes.columns[table][name]))
            return True
        if isinstance(column.this, exp.Star):
            return True
        found = scopes.bind(column)
        if found == "output":
            return True
        if isinstance(found, _Bound) and found.scope is scope:
            loose = found.source.table is not None and fold(found.source.table) == found.source.key
            if loose and found.source.table is not None and len(scopes.sources(scope)) + len(self._more[id(scope)]) > 1:
                column.replace(scopes.column(found.source.table, scopes.columns[found.source.table][name]))
            return True
        having = [table for table in self._more[id(scope)] if name in scopes.columns[table]]
        if not having and found is None:
            having = [table for table in scopes.columns if name in scopes.columns[table]]
            having = [table for table in having if table not in self._views] or having
        if not having:
            return found is not None
        if len(having) > 1:
            return False
        self._more[id(scope)].setdefault(having[0])
        column.replace(scopes.column(having[0], scopes.columns[having[0]][name]))
        return True

    def _around(self, scope: exp.Select, marks: Sequence[exp.Anonymous]) -> list[str] | None:
        """The tables around a subquery that its marks name."""
        found: list[str] = []
        for mark in marks:
            named = mark.expressions[0] if len(mark.expressions) == 1 else None
            table = self._real.get(fold(named.name)) if named is not None else None
            above = outer(scope)
            if table is None or above is None:
                return None
            if not self._beyond(scope, table):
                self._more[id(above)].setdefault(table)
            found.append(table)
        return found

    # Writing FROM and JOIN

    def _join(self, scope: exp.Select, around: Sequence[str], marks: Sequence[exp.Anonymous]) -> bool:
        sources = self._scopes.sources(scope)
        more = tuple(self._more[id(scope)])
        items = [self._item(scope, source) for source in sources]
        loose = [item for item in items[1:] if item.loose]
        if not more and not around and not loose:
            return True
        made = _arranged(self._keys, items, more, around)
        if made is None or made.clashes([item.name for item in items], self._scopes.ctes):
            return False
        if any(self._hides(scope, step.name) for step in made.steps):
            return False
        self._replace_marks(made, scope, around, marks)
        return not made.steps or self._write(scope, made, sources, items)

    def _hides(self, scope: exp.Select, name: str) -> bool:
        """Whether a table that comes in takes the name from a table around, which the SELECT means by it."""
        if self._has(scope, name):
            return False
        for node in scope.find_all(exp.Column, exp.Anonymous):
            inside = home(node)
            if isinstance(node, exp.Column):
                named = node.table
            elif str(node.this).upper() == CORRELATED and inside is not scope:
                named = node.expressions[0].name
            else:
                continue
            if fold(named) != fold(name):
                continue
            while inside is not None and inside is not scope and not self._has(inside, name):
                inside = outer(inside)
            if inside is scope:
                return True
        return False

    def _item(self, scope: exp.Select, source: _Source) -> _Item:
        join = source.join
        left = join is not None and join.side == "LEFT"
        called = _called(source).name
        plain = source.table is not None and fold(called) == fold(source.table) and not source.nested
        if source.table is None or not plain or scope.meta.get("rigid"):
            return _Item(called, source.table, left, False, self._needs(scope, source))
        if join is None:
            return _Item(source.table, source.table)
        written = bool(join.args.get("using") or join.args.get("method") or join.kind == "CROSS")
        written = written or join.side not in ("", "LEFT")
        if not join.meta.get("loose"):
            conditions = _conditions(join)
            if not conditions and scope.args.get("where"):
                conditions = _conjuncts(scope.args["where"].this)
            written = written or any(_ties(one, source.table) for one in conditions)
        return _Item(source.table, source.table, left, not written, self._needs(scope, source) if written else ())

    def _needs(self, scope: exp.Select, source: _Source) -> tuple[str, ...]:
        on = source.join.args.get("on") if source.join is not None else None
        named = [self._real.get(fold(one.table)) for one in on.find_all(exp.Column)] if on is not None else []
        return tuple(dict.fromkeys(name for name in named if name is not None and name != source.table))

    def _replace_marks(
        self, made: _Arrangement, scope: exp.Select, around: Sequence[str], marks: Sequence[exp.Anonymous]
    ) -> None:
        for mark, table in zip(marks, around, strict=True):
            for inner, outward, join in made.outward:
                if outward == table:
                    mark.replace(self._equal(join, outward, self._outer_name(scope, outward), inner))

    def _outer_name(self, scope: exp.Select, table: str) -> str:
        above = outer(scope)
        while above is not None:
            for source in self._scopes.sources(above):
                if source.key == fold(table) or source.table == table:
                    return _called(source).name
            above = outer(above)
        return table

    def _equal(self, join: Join, table: str, name: str, other: str) -> exp.Expr:
        """The key between a table, called `name`, and the one called `other`, which comes first."""
        pairs = list(zip(join.left_columns, join.right_columns, strict=True))
        if join.left == table:
            pairs = [(b, a) for a, b in pairs]
        column = self._scopes.column
        made = _all([exp.EQ(this=column(other, mine), expression=column(name, its)) for mine, its in pairs])
        assert made is not None
        return made

    def _write(self, scope: exp.Select, made: _Arrangement, sources: Sequence[_Source], items: Sequence[_Item]) -> bool:
        written = {item.name: source for item, source in reversed(list(zip(items, sources, strict=True)))}
        is_loose = {item.name: item.loose for item in items}
        known = {fold(step.name) for step in made.steps}
        seen: set[str] = set()
        joins: list[exp.Join] = []
        later: list[exp.Expr] = []
        for step in made.steps:
            source = written.get(step.name)
            node = source.node if source is not None else self._scopes.table(step.name)
            conditions: list[exp.Expr] = []
            if source is not None and source.join is not None and (step.via is not None or is_loose[step.name]):
                conditions = _conditions(source.join)
            first = not seen
            seen.add(fold(step.name))
            early = [one for one in conditions if not first and _read_by(one) & known <= seen]
            if step.left and len(early) < len(conditions):
                return False
            later += [one for one in conditions if one not in early]
            if first:
                scope.set("from_", exp.From(this=node))
            elif step.via is None and source is not None and source.join is not None and not is_loose[step.name]:
                joins.append(source.join)
            else:
                key = [self._on(step)] if step.via is not None else []
                joins.append(exp.Join(this=node, side="LEFT" if step.left else None, on=_all([*key, *early])))
        for source in (one for one in sources if one is not written.get(_called(one).name) and one.join is not None):
            left_over = _conditions(source.join)
            if left_over and source.join is not None and source.join.side:
                return False
            later += left_over
        scope.set("joins", joins or None)
        _add_condition(scope, later)
        return True

    def _on(self, step: _Step) -> exp.Expr:
        assert step.via is not None
        parent = step.via.right if step.via.left == step.table else step.via.left
        return self._equal(step.via, parent, step.parent, step.name)


def _ties(condition: exp.Expr, table: str) -> bool:
    """Whether an equality of two columns holds the table to another source."""
    if not (
        isinstance(condition, exp.EQ)
        and isinstance(condition.this, exp.Column)
        and isinstance(condition.expression, exp.Column)
    ):
        return False
    named = {fold(condition.this.table), fold(condition.expression.table)}
    return fold(table) in named and len(named) == 2


def _read_by(condition: exp.Expr) -> set[str]:
    return {fold(column.table) for column in condition.find_all(exp.Column)}
