"""Names judged where they stand: every table and column of a query against what its scope has.

Names are resolved as SQL does: a CTE hides a table only where it is in scope, a subquery sees the sources of the
queries around it, an alias of the select list is a name too. The check is exact for the sources and generous for
positions: a name that any enclosing scope has passes, the database decides the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from agent.database.naming import fold, nearest, quoted
from agent.database.result import QueryRejected
from agent.database.schema import Schema, Table

_ROWID = frozenset({"rowid", "oid", "_rowid_"})
_SHOWN = 12
_NEAREST = 5

Names = Mapping[str, str]
"""Folded name → the name as it is."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source of rows: what it is called in the query, its columns, and its table where it is one."""

    label: str
    columns: Names
    table: Table | None = None


@dataclass(slots=True)
class Scope:
    """What names mean in one SELECT: its sources by folded name, its aliases, and the scope around it."""

    outer: Scope | None = None
    sources: dict[str, Source] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def around(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


_Ctes = Mapping[str, Names]


class Resolver:
    """Walks one query once; `tables` are the real tables it reads, in order of first use."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._dialect = schema.dialect
        self._exact = schema.dialect == "postgres"
        self._tables: dict[str, list[Table]] = {}
        for table in schema.tables:
            self._tables.setdefault(self._real(table.name), []).append(table)
            if table.namespace:
                self._tables.setdefault(f"{table.namespace}.{table.name}", []).append(table)
        self.tables: dict[str, None] = {}
        self._seen: set[int] = set()

    def resolve(self, tree: exp.Expr) -> None:
        """Check every name of the query.

        Raises:
            QueryRejected: a table or column that is not there (`unknown_table`, `unknown_column`), a system
                table, or a table or column at a place that is not understood (`shape`).
        """
        self._query(tree, {}, None)
        for node in tree.find_all(exp.Table, exp.Column):
            if id(node) not in self._seen:
                raise QueryRejected(
                    f"The name {node.sql(self._dialect)} stands at a place that is not understood; write the query "
                    "more simply.",
                    rule="shape",
                )

    # Names

    def _real(self, name: str) -> str:
        return name if self._exact else fold(name)

    def _key(self, identifier: exp.Expr | None) -> str:
        if identifier is None:
            return ""
        exactly = self._exact and isinstance(identifier, exp.Identifier) and identifier.args.get("quoted")
        return identifier.name if exactly else fold(identifier.name)

    # Queries: each gives the names of its output columns

    def _query(self, node: exp.Expr, ctes: _Ctes, outer: Scope | None) -> Names:
        ctes = self._with(node, ctes, outer)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, ctes, outer)
        if isinstance(node, exp.Subquery):
            outputs = self._query(node.this, ctes, outer)
            self._trailing(node, outputs, ctes, outer, but=("this", "with_", "alias"))
            return outputs
        if isinstance(node, exp.Values):
            return self._values(node, ctes, outer)
        if isinstance(node, exp.Select):
            return self._select(node, ctes, outer)
        raise QueryRejected(f"A {node.key} cannot stand here; write one SELECT.", rule="shape")

    def _with(self, node: exp.Expr, ctes: _Ctes, outer: Scope | None) -> _Ctes:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        bound: dict[str, Names] = dict(ctes)
        recursive = bool(clause.args.get("recursive")) or not self._exact
        for cte in clause.expressions:
            alias = cte.args["alias"]
            key = self._key(alias.this)
            if recursive and isinstance(cte.this, exp.SetOperation) and not cte.this.args.get("with_"):
                arms = _arms(cte.this)
                first = self._query(arms[0], bound, outer)
                inside = {**bound, key: self._renamed(first, alias)}
                for arm in arms[1:]:
                    self._query(arm, inside, outer)
                for operation in _operations(cte.this):
                    self._trailing(operation, first, inside, outer, but=("this", "expression"))
                bound[key] = inside[key]
            else:
                bound[key] = self._renamed(self._query(cte.this, bound, outer), alias)
        return bound

    def _set_operation(self, node: exp.SetOperation, ctes: _Ctes, outer: Scope | None) -> Names:
        arms = _arms(node)
        outputs = [self._query(arm, ctes, outer) for arm in arms]
        for operation in _operations(node):
            inner = ctes if operation is node else self._with(operation, ctes, outer)
            names = {key: name for arm in reversed(outputs) for key, name in arm.items()}
            self._trailing(operation, names, inner, outer, but=("this", "expression", "with_"))
        return outputs[0]

    def _trailing(
        self, node: exp.Expr, outputs: Names, ctes: _Ctes, outer: Scope | None, *, but: tuple[str, ...]
    ) -> None:
        scope = Scope(outer, {"": Source("the result", outputs)})
        for name, value in node.args.items():
            if name not in but:
                self._values_of(value, scope, ctes)

    def _values(self, node: exp.Values, ctes: _Ctes, outer: Scope | None) -> Names:
        scope = Scope(outer)
        width = 0
        for row in node.expressions:
            width = max(width, len(row.expressions) if isinstance(row, exp.Tuple) else 1)
            self._expression(row, scope, ctes)
        names = [f"column{number}" for number in range(1, width + 1)]
        return dict(zip(names, names, strict=True))

    def _select(self, node: exp.Select, ctes: _Ctes, outer: Scope | None) -> Names:
        scope = Scope(outer)
        conditions: list[exp.Expr] = []
        clause = node.args.get("from_")
        if clause is not None:
            self._relation(clause.this, scope, ctes, conditions)
        for join in node.args.get("joins") or ():
            self._join(join, scope, ctes, conditions)
        # What is selected does not see the aliases given there: "x" AS x would else be its own proof.
        self._values_of(node.expressions, scope, ctes)
        for projection in node.expressions:
            if isinstance(projection, exp.Alias):
                scope.aliases[self._key(projection.args["alias"])] = projection.alias
        for condition in conditions:
            self._expression(condition, scope, ctes)
        for name, value in node.args.items():
            if name not in ("from_", "joins", "with_", "expressions"):
                self._values_of(value, scope, ctes)
        return self._outputs(node, scope)

    def _outputs(self, node: exp.Select, scope: Scope) -> Names:
        outputs: dict[str, str] = {}
        for projection in node.expressions:
            if isinstance(projection, exp.Star):
                for source in scope.sources.values():
                    outputs.update(source.columns)
            elif isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star):
                outputs.update(scope.sources[self._key(projection.args["table"])].columns)
            elif isinstance(projection, exp.Alias):
                outputs[self._key(projection.args["alias"])] = projection.alias
            elif isinstance(projection, exp.Column):
                outputs[self._key(projection.this)] = projection.name
            else:
                for name in self._unnamed(projection):
                    outputs[self._real(name)] = name
        return outputs

    def _unnamed(self, projection: exp.Expr) -> Iterator[str]:
        """Give the name that the database makes up for an expression without an alias."""
        if not self._exact:
            yield projection.sql(self._dialect)
            return
        inner = projection
        while isinstance(inner, exp.Cast | exp.Window | exp.Filter | exp.WithinGroup | exp.Paren | exp.Collate):
            inner = inner.this
        if isinstance(inner, exp.Column):
            yield inner.name
        yield fold(inner.name) if isinstance(inner, exp.Anonymous) else inner.key
        yield {"groupconcat": "string_agg", "substring": "substring", "trim": "btrim"}.get(inner.key, "?column?")

    def _renamed(self, outputs: Names, alias: exp.Expr | None) -> Names:
        columns = alias.args.get("columns") if alias is not None else None
        if not columns:
            return outputs
        kept = list(outputs.items())[len(columns) :]
        return {**{self._key(column): column.name for column in columns}, **dict(kept)}

    # Sources

    def _join(self, join: exp.Expr, scope: Scope, ctes: _Ctes, conditions: list[exp.Expr]) -> None:
        self._relation(join.this, scope, ctes, conditions)
        for name, value in join.args.items():
            if name == "using":
                for column in value or ():
                    self._using(column, scope)
            elif name != "this" and isinstance(value, exp.Expr):
                conditions.append(value)

    def _relation(self, node: exp.Expr, scope: Scope, ctes: _Ctes, conditions: list[exp.Expr]) -> None:
        alias = node.args.get("alias")
        if isinstance(node, exp.Table):
            source = self._table(node, ctes)
            alias = node.args.get("alias")
            self._add(node, alias.this if alias is not None else node.this, source, scope)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery) and alias is None:
            self._relation(node.this, scope, ctes, conditions)
        elif isinstance(node, exp.Subquery | exp.Lateral | exp.Values):
            if isinstance(node, exp.Lateral):
                if not isinstance(node.this, exp.Subquery):
                    raise _no_table_function(node)
                outputs = self._query(node.this, ctes, scope)
            elif isinstance(node, exp.Values):
                outputs = self._values(node, ctes, scope.outer)
            else:
                outputs = self._query(_without_joins(node), ctes, scope.outer)
            named = alias.this if alias is not None else None
            source = Source(named.name if named is not None else "the subquery", self._renamed(outputs, alias))
            self._add(node, named, source, scope)
        else:
            raise _no_table_function(node)
        for join in node.args.get("joins") or ():
            self._join(join, scope, ctes, conditions)

    def _add(self, node: exp.Expr, identifier: exp.Expr | None, source: Source, scope: Scope) -> None:
        key = self._key(identifier) or f"\x00{len(scope.sources)}"
        if key in scope.sources:
            raise QueryRejected(
                f"Two sources are both called {source.label}: give each its own alias.", rule="ambiguous"
            )
        scope.sources[key] = source

    def _table(self, node: exp.Table, ctes: _Ctes) -> Source:
        self._seen.add(id(node))
        alias = node.args.get("alias")
        if not isinstance(node.this, exp.Identifier):
            raise _no_table_function(node)
        key, namespace = self._key(node.this), self._key(node.args.get("db"))
        label = alias.name if alias is not None else node.name
        if not namespace and key in ctes:
            return Source(label, self._renamed(ctes[key], alias))
        table = self._find(key, namespace)
        if table is None or node.args.get("catalog") is not None:
            raise self._unknown_table(node)
        self.tables.setdefault(table.name)
        if not namespace and table.name.startswith(f"{table.namespace}."):
            _qualify(node, table)
        columns = {self._real(column.name): column.name for column in table.columns}
        return Source(label, self._renamed(columns, alias), table)

    def _find(self, key: str, namespace: str) -> Table | None:
        if not namespace:
            return next(iter(self._tables.get(key, ())), None)
        if not self._exact:
            return next(iter(self._tables.get(key, ())), None) if namespace == "main" else None
        return next(iter(self._tables.get(f"{namespace}.{key}", ())), None)

    def _unknown_table(self, node: exp.Table) -> QueryRejected:
        names = [table.name for table in self._schema.tables]
        close = nearest(node.name, names)
        if close:
            hint = f"Nearest: {self._list(close)}."
        else:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            hint = f"Tables: {self._list(names[:_SHOWN])}{more}."
        written = node.copy()
        written.set("alias", None)
        written.set("joins", None)
        return QueryRejected(
            f"There is no table {written.sql(self._dialect)}. {hint}",
            rule="unknown_table",
        )

    # Expressions

    def _values_of(self, value: Any, scope: Scope, ctes: _Ctes) -> None:
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, exp.Expr):
                self._expression(item, scope, ctes)

    def _expression(self, node: exp.Expr, scope: Scope, ctes: _Ctes) -> None:
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if isinstance(node, exp.Column):
                self._column(node, scope)
            elif isinstance(node, exp.Select | exp.SetOperation | exp.Subquery | exp.Values):
                self._query(node, ctes, scope)
            else:
                waiting.extend(node.iter_expressions(reverse=True))

    def _column(self, node: exp.Column, scope: Scope) -> None:
        self._seen.add(id(node))
        problem = self._problem(node, scope)
        if problem is not None:
            raise problem

    def _problem(self, node: exp.Column, scope: Scope) -> QueryRejected | None:
        """Why a column is not there, None where it is."""
        if node.args.get("catalog") is not None:
            return QueryRejected(f"Write {node.name} with its table only.", rule="unknown_column")
        qualifier = node.args.get("table")
        if qualifier is None:
            return None if self._is_known(node, scope) else self._unknown_column(node, scope, None)
        source = self._source(qualifier, scope)
        namespace = node.args.get("db")
        if source is None or (
            namespace is not None
            and self._key(namespace) != ("main" if not self._exact else source.table and source.table.namespace)
        ):
            return self._unknown_source(node, scope)
        if isinstance(node.this, exp.Star):
            return self._unknown_source(node, scope) if self._key(qualifier) not in scope.sources else None
        if self._key(node.this) not in source.columns and not self._is_rowid(node.this, source):
            return self._unknown_column(node, scope, source)
        return None

    def _is_known(self, node: exp.Column, scope: Scope) -> bool:
        """Whether a bare name is one of the select list, or of a column of the sources in reach."""
        key = self._key(node.this)
        if key in scope.aliases:
            return True
        return any(
            key in source.columns or self._is_rowid(node.this, source) or (self._exact and key == name)
            for around in scope.around()
            for name, source in around.sources.items()
        )

    def _using(self, identifier: exp.Expr, scope: Scope) -> None:
        name = identifier.this if isinstance(identifier, exp.Column) else identifier
        if isinstance(identifier, exp.Column):
            self._seen.add(id(identifier))
        if not any(self._key(name) in source.columns for source in scope.sources.values()):
            raise self._unknown_column(exp.column(name.copy()), scope, None)

    def _source(self, qualifier: exp.Expr, scope: Scope) -> Source | None:
        key = self._key(qualifier)
        return next((around.sources[key] for around in scope.around() if key in around.sources), None)

    def _is_rowid(self, identifier: exp.Expr, source: Source) -> bool:
        return (
            not self._exact
            and source.table is not None
            and not source.table.is_view
            and fold(identifier.name) in _ROWID
        )

    def _unknown_source(self, node: exp.Column, scope: Scope) -> QueryRejected:
        sources = [source for around in scope.around() for source in around.sources.values()]
        labels = [source.label for source in sources]
        said = [f"{node.sql(self._dialect)}: nothing in the query is called {node.table}."]
        said.append(f"It has {self._list(labels)}." if labels else "It reads no table.")
        wanted = fold(node.table)
        if any(fold(table.name) == wanted for table in self._schema.tables):
            aliases = [one.label for one in sources if one.table is not None and fold(one.table.name) == wanted]
            said.append(f"Write {self._list(aliases[:1])} for it." if aliases else f"{node.table} is a table: join it.")
        elif close := self._nearest(node.name, sources) if not isinstance(node.this, exp.Star) else ():
            said.append(f"Nearest: {', '.join(close)}.")
        return QueryRejected(" ".join(said), rule="unknown_source")

    def _unknown_column(self, node: exp.Column, scope: Scope, source: Source | None) -> QueryRejected:
        sources = [one for around in scope.around() for one in around.sources.values()]
        mine = [source] if source is not None else sources
        written = node.sql(self._dialect)
        if source is not None:
            said = [f"{written}: {self._title(source)} has no column {self._list([node.name])}."]
        else:
            said = [f"No table in the query has a column {written}."]
        owners = [one for one in sources if one is not source and self._key(node.this) in one.columns]
        loose = fold(node.name)
        if owners:
            said.append(f"{self._list([node.name])} is a column of {' and '.join(self._title(o) for o in owners[:3])}.")
        elif tables := [t for t in self._schema.tables if any(fold(c.name) == loose for c in t.columns)]:
            read = [t for t in tables if any(one.table is t for one in mine)]
            if not read:
                said.append(f"It is a column of {self._list([t.name for t in tables[:3]])}: join that table.")
        close = self._nearest(node.name, mine, elsewhere=not owners)
        if close:
            said.append(f"Nearest: {', '.join(close)}.")
        if not owners and not any(nearest(node.name, one.columns.values()) for one in mine):
            said += [
                f"{self._title(one)} has {self._list(list(one.columns.values())[:_SHOWN])}."
                for one in mine[:2]
                if one.columns
            ]
        if node.this.args.get("quoted") and source is None:
            text = node.name.replace("'", "''")
            said.append(f"A text value is written in single quotes: '{text}'.")
        return QueryRejected(" ".join(said), rule="unknown_column")

    def _nearest(self, name: str, sources: Sequence[Source], *, elsewhere: bool = True) -> tuple[str, ...]:
        """The columns most like a name: of the sources, then, where none is, `elsewhere` of any table.

        With their table where the query has several sources, or none of that table.
        """
        many = len([one for one in sources if one.columns]) > 1
        found: list[str] = []
        for column in nearest(name, [column for one in sources for column in one.columns.values()]):
            owner = next(one for one in sources if column in one.columns.values())
            named = many and owner.label not in ("the result", "the subquery")
            found.append(f"{self._list([owner.label])}.{self._list([column])}" if named else self._list([column]))
        read = [one.table for one in sources] if elsewhere else self._schema.tables
        away = [table for table in self._schema.tables if not any(one is table for one in read)]
        for column in () if found else nearest(name, [column.name for table in away for column in table.columns]):
            owners = [t.name for t in away if any(c.name == column for c in t.columns)]
            found += [f"{self._list([owner])}.{self._list([column])}" for owner in owners]
        return tuple(dict.fromkeys(found))[:_NEAREST]

    def _title(self, source: Source) -> str:
        if source.table is None or fold(source.table.name) == fold(source.label):
            return self._list([source.label]) if source.label not in ("the result", "the subquery") else source.label
        return f"{self._list([source.table.name])} ({source.label})"

    def _list(self, names: list[str] | tuple[str, ...]) -> str:
        return ", ".join(quoted(name, self._dialect) for name in names)


def _qualify(node: exp.Table, table: Table) -> None:
    """Write "namespace.name", as the schema calls a second table of one name, in its two parts."""
    if node.args.get("alias") is None:
        node.set("alias", exp.TableAlias(this=node.this.copy()))
    node.set("this", exp.to_identifier(table.name.removeprefix(f"{table.namespace}."), quoted=True))
    node.set("db", exp.to_identifier(table.namespace, quoted=True))


def _arms(node: exp.SetOperation) -> list[exp.Expr]:
    """Give the queries that a chain of set operations joins, left to right."""
    arms: list[exp.Expr] = []
    left: exp.Expr = node
    while isinstance(left, exp.SetOperation):
        arms.append(left.expression)
        left = left.this
    arms.append(left)
    return arms[::-1]


def _operations(node: exp.SetOperation) -> Iterator[exp.SetOperation]:
    left: exp.Expr = node
    while isinstance(left, exp.SetOperation):
        yield left
        left = left.this


def _without_joins(node: exp.Subquery) -> exp.Expr:
    """A derived table as a query: its own joins belong to the query around it."""
    return node.this if set(_given(node)) <= {"this", "alias", "joins"} else node


def _given(node: exp.Expr) -> Iterator[str]:
    return (name for name, value in node.args.items() if value)


def _no_table_function(node: exp.Expr) -> QueryRejected:
    return QueryRejected(
        "Only tables and subqueries may stand after FROM and JOIN, no function that makes rows "
        f"({(node.this.name if isinstance(node.this, exp.Expr) else node.key) or node.key}).",
        rule="table_function",
    )
