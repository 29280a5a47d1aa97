"""What each SELECT of a query reads, what its columns belong to, and its conditions one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from agent.database.naming import fold, quoted
from agent.drafting.operands import Names
from agent.linking import Lexicon

CORRELATED = "CORRELATED"
"""The function that stands in a loose WHERE for the keys between a subquery and a table of the query around it."""


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of FROM. `table` is the real table, None for a CTE or a subquery; `columns` are its folded names."""

    key: str
    node: exp.Expr
    join: exp.Join | None
    table: str | None
    columns: frozenset[str] | None
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    scope: exp.Select
    source: Source


class Scopes:
    def __init__(self, tree: exp.Expr, lexicon: Lexicon) -> None:
        self.dialect = lexicon.schema.dialect
        self.columns = {
            table.name: {fold(column.name): column.name for column in table.columns} for table in lexicon.schema.tables
        }
        self.names = Names(tree, lexicon.schema, ())
        self.selects = tuple(tree.find_all(exp.Select))
        self.ctes = frozenset(fold(cte.alias) for cte in tree.find_all(exp.CTE))
        self._read: dict[int, tuple[Source, ...]] = {}
        self._reading: set[int] = set()

    def sources(self, scope: exp.Select) -> tuple[Source, ...]:
        """What FROM and JOIN of a SELECT name, in their order."""
        known = self._read.get(id(scope))
        if known is None:
            if id(scope) in self._reading:
                return ()
            self._reading.add(id(scope))
            known = self._read[id(scope)] = tuple(self._sources(scope))
        return known

    def reread(self, scope: exp.Select) -> tuple[Source, ...]:
        """The sources of a SELECT whose FROM was changed."""
        self._reading.discard(id(scope))
        self._read.pop(id(scope), None)
        return self.sources(scope)

    def _sources(self, scope: exp.Select) -> Iterator[Source]:
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
            yield Source(
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

    def bind(self, column: exp.Column) -> Bound | Literal["output"] | None:
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
                        return Bound(scope, source) if known else None
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
                    return Bound(scope, having[0])
                if first and any(isinstance(p, exp.Alias) and fold(p.alias) == name for p in scope.expressions):
                    return None if in_select_list(column, scope) else "output"
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


def in_select_list(column: exp.Column, scope: exp.Select) -> bool:
    node: exp.Expr = column
    while node.parent is not None and node.parent is not scope:
        node = node.parent
    return node.arg_key == "expressions"


def _is_merged(having: Sequence[Source], name: str) -> bool:
    """Whether USING makes one column of those that several sources have."""
    return all(
        one.join is not None and any(fold(used.name) == name for used in one.join.args.get("using") or ())
        for one in having[1:]
    )


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that AND joins."""
    while isinstance(node, exp.Paren):
        node = node.this
    if node is None:
        return []
    return [*conjuncts(node.this), *conjuncts(node.expression)] if isinstance(node, exp.And) else [node]


def conditions_of(join: exp.Join | None) -> list[exp.Expr]:
    """The conditions in ON; the parser puts TRUE where a join has none."""
    on = join.args.get("on") if join is not None else None
    return [one for one in conjuncts(on) if not (isinstance(one, exp.Boolean) and one.this)]


def kept_of(node: exp.Expr, keep: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr | None:
    """Conditions joined by AND, each as `keep` gives it; None where none is left."""
    if isinstance(node, exp.Paren):
        inner = kept_of(node.this, keep)
        return None if inner is None else node if inner is node.this else exp.Paren(this=inner)
    if not isinstance(node, exp.And):
        return keep(node)
    left, right = kept_of(node.this, keep), kept_of(node.expression, keep)
    if left is node.this and right is node.expression:
        return node
    return exp.And(this=left, expression=right) if left is not None and right is not None else left or right


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    made: exp.Expr | None = None
    for condition in conditions:
        one = exp.Paren(this=condition) if isinstance(condition, exp.Or) else condition
        made = one if made is None else exp.And(this=made, expression=one)
    return made


def add_condition(scope: exp.Select, conditions: Sequence[exp.Expr]) -> None:
    if not conditions:
        return
    where = scope.args.get("where")
    present = [exp.Paren(this=where.this) if isinstance(where.this, exp.Or) else where.this] if where else []
    made = all_of([*present, *conditions])
    if made is not None:
        scope.set("where", exp.Where(this=made))


def change_where(scope: exp.Select, keep: Callable[[exp.Expr], exp.Expr | None]) -> None:
    where = scope.args.get("where")
    if where is not None:
        made = kept_of(where.this, keep)
        if made is not where.this:
            scope.set("where", None if made is None else exp.Where(this=made))


def called_as(source: Source) -> exp.Identifier:
    alias = source.node.args.get("alias")
    named = alias.this if alias is not None else source.node.this
    return named.copy() if isinstance(named, exp.Identifier) else exp.to_identifier(source.node.alias_or_name)
