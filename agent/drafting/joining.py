"""Takes the joins out of a query, and puts them back by the keys: its tables may change in between.

The loose form is a tree of its own. FROM of each SELECT lists the *anchors*, the tables that mean something there,
joined without ON; tables that only lie between them are gone. Every column of a table is `Table.Column`. The equality
that ties a subquery to the query around it is the mark `CORRELATED(outer table)`. Replace the tables (`exp.Table`,
those in marks too) and the columns of a loose tree, and `joined` makes the joins that the others need. A query that was
written with neither FROM nor JOIN is a loose tree without anchors (the idea of NatSQL, Gan et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from agent.database.naming import fold
from agent.database.result import QueryRejected
from agent.database.scoping import Resolver
from agent.drafting.joins.arranging import Arrangement, Item, Step, arranged
from agent.drafting.joins.scopes import (
    CORRELATED,
    Bound,
    Scopes,
    Source,
    add_condition,
    all_of,
    called_as,
    conditions_of,
    conjuncts,
    home,
    in_select_list,
    outer,
)
from agent.drafting.joins.taking import Taking, Unjoined
from agent.keys import Join
from agent.linking import Lexicon

__all__ = ["CORRELATED", "Unjoined", "joined", "unjoined"]


def unjoined(tree: exp.Expr, *, lexicon: Lexicon) -> Unjoined | None:
    """Take the joins out of a query, as a new tree that `joined` gives the same rows of; None if a name has no place.

    Whether the joins come back the same is checked here, SELECT by SELECT: where leaving out the tables between the
    anchors changes them, all tables are anchors, and where even that does, the SELECT is rigid.

    >>> from sqlglot import parse_one
    >>> from agent.database.schema import Column, Facts, ForeignKey, Schema, Table
    >>> shops = Table("Shops", (Column("id", "INTEGER"), Column("town", "TEXT")))
    >>> sales = Table("Sales", (Column("shop", "INTEGER"),), (ForeignKey(("shop",), "Shops", ("id",)),))
    >>> lexicon = Lexicon(Schema("shops", "sqlite", (shops, sales), "", ""), Facts(), ())
    >>> tree = parse_one("SELECT town FROM shops AS s LEFT JOIN sales AS a ON a.shop = s.id WHERE a.shop IS NULL")
    >>> unjoined(tree, lexicon=lexicon).tree.sql()
    'SELECT Shops.town FROM Shops LEFT JOIN Sales WHERE Sales.shop IS NULL'
    """
    try:
        return Taking(tree.copy(), lexicon).apart()
    except RecursionError:
        return None


def joined(tree: exp.Expr, *, lexicon: Lexicon) -> exp.Expr | None:
    """Join the tables of a loose query by the keys, as a new tree.

    None where no key connects the tables, or a column or table is not there. A SELECT that has its joins keeps them,
    and gets only the tables that its columns lack. The first anchor is the root; a table that lies at or beyond an
    anchor with LEFT is joined with LEFT, every other one is not.

    >>> from sqlglot import parse_one
    >>> from agent.database.schema import Column, Facts, ForeignKey, Schema, Table
    >>> shops = Table("Shops", (Column("id", "INTEGER"), Column("town", "TEXT")))
    >>> sales = Table("Sales", (Column("shop", "INTEGER"),), (ForeignKey(("shop",), "Shops", ("id",)),))
    >>> lexicon = Lexicon(Schema("shops", "sqlite", (shops, sales), "", ""), Facts(), ())
    >>> joined(parse_one("SELECT Shops.town, COUNT(Sales.shop) GROUP BY 1"), lexicon=lexicon).sql()
    'SELECT Shops.town, COUNT(Sales.shop) FROM Shops JOIN Sales ON Sales.shop = Shops.id GROUP BY 1'
    """
    try:
        return _Putting(tree.copy(), lexicon).together()
    except RecursionError:
        return None


class _Putting:
    def __init__(self, tree: exp.Expr, lexicon: Lexicon) -> None:
        self._tree = tree
        self._schema = lexicon.schema
        self._keys = lexicon.keys
        self._scopes = Scopes(tree, lexicon)
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
            selected = [one for one in named if in_select_list(one, scope)]
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
        if isinstance(found, Bound) and found.scope is scope:
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
        made = arranged(self._keys, items, more, around)
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

    def _item(self, scope: exp.Select, source: Source) -> Item:
        join = source.join
        left = join is not None and join.side == "LEFT"
        called = called_as(source).name
        plain = source.table is not None and fold(called) == fold(source.table) and not source.nested
        if source.table is None or not plain or scope.meta.get("rigid"):
            return Item(called, source.table, left, False, self._needs(scope, source))
        if join is None:
            return Item(source.table, source.table)
        written = bool(join.args.get("using") or join.args.get("method") or join.kind == "CROSS")
        written = written or join.side not in ("", "LEFT")
        if not join.meta.get("loose"):
            conditions = conditions_of(join)
            if not conditions and scope.args.get("where"):
                conditions = conjuncts(scope.args["where"].this)
            written = written or any(_ties(one, source.table) for one in conditions)
        return Item(source.table, source.table, left, not written, self._needs(scope, source) if written else ())

    def _needs(self, scope: exp.Select, source: Source) -> tuple[str, ...]:
        on = source.join.args.get("on") if source.join is not None else None
        named = [self._real.get(fold(one.table)) for one in on.find_all(exp.Column)] if on is not None else []
        return tuple(dict.fromkeys(name for name in named if name is not None and name != source.table))

    def _replace_marks(
        self, made: Arrangement, scope: exp.Select, around: Sequence[str], marks: Sequence[exp.Anonymous]
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
                    return called_as(source).name
            above = outer(above)
        return table

    def _equal(self, join: Join, table: str, name: str, other: str) -> exp.Expr:
        """The key between a table, called `name`, and the one called `other`, which comes first."""
        pairs = list(zip(join.left_columns, join.right_columns, strict=True))
        if join.left == table:
            pairs = [(b, a) for a, b in pairs]
        column = self._scopes.column
        made = all_of([exp.EQ(this=column(other, mine), expression=column(name, its)) for mine, its in pairs])
        assert made is not None
        return made

    def _write(self, scope: exp.Select, made: Arrangement, sources: Sequence[Source], items: Sequence[Item]) -> bool:
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
                conditions = conditions_of(source.join)
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
                joins.append(exp.Join(this=node, side="LEFT" if step.left else None, on=all_of([*key, *early])))
        for source in (one for one in sources if one is not written.get(called_as(one).name) and one.join is not None):
            left_over = conditions_of(source.join)
            if left_over and source.join is not None and source.join.side:
                return False
            later += left_over
        scope.set("joins", joins or None)
        add_condition(scope, later)
        return True

    def _on(self, step: Step) -> exp.Expr:
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
