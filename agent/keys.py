"""The graph of foreign keys: which tables join, over which columns, and the shortest way between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from agent.database.naming import quoted
from agent.database.schema import ForeignKey, Schema, Table
from agent.wording import name_tokens


def qualified(table: str, column: str, dialect: str) -> str:
    """`Table.Column`, each quoted where needed."""
    return f"{quoted(table, dialect)}.{quoted(column, dialect)}"


@dataclass(frozen=True, slots=True)
class Join:
    """Two tables and the columns, pairwise, that join them."""

    left: str
    left_columns: tuple[str, ...]
    right: str
    right_columns: tuple[str, ...]

    def sql(self, dialect: str) -> str:
        pairs = zip(self.left_columns, self.right_columns, strict=True)
        return " AND ".join(
            f"{qualified(self.left, a, dialect)} = {qualified(self.right, b, dialect)}" for a, b in pairs
        )


class KeyGraph:
    """Undirected graph over the tables of a schema. Built once per schema; every answer is deterministic.

    Where a table declares no foreign key, one is inferred from a column named like another table's single
    primary key (`customer_id`), unless that name is too plain to mean anything (`id`).
    """

    def __init__(self, schema: Schema) -> None:
        self._order = {table.name: place for place, table in enumerate(schema.tables)}
        self._joins: dict[tuple[str, str], Join] = {}
        neighbours: dict[str, set[str]] = {table.name: set() for table in schema.tables}
        inferred = _Inference(schema)
        for table in schema.tables:
            for key in table.foreign_keys or inferred.keys_of(table):
                other = key.referred_table
                if other not in neighbours or other == table.name or len(key.columns) != len(key.referred_columns):
                    continue
                join = Join(table.name, key.columns, other, key.referred_columns)
                self._joins.setdefault((table.name, other), join)
                neighbours[table.name].add(other)
                neighbours[other].add(table.name)
        self._neighbours = {name: tuple(sorted(near, key=self._order.__getitem__)) for name, near in neighbours.items()}
        self._distances: dict[str, dict[str, int]] = {}
        self._referring: dict[str, set[str]] = {}
        for table in schema.tables:
            for key in table.foreign_keys or inferred.keys_of(table):
                self._referring.setdefault(key.referred_table, set()).add(table.name)
        self._owners = {
            table.name: owner for table in schema.tables if (owner := _owner(table, inferred)) and owner in neighbours
        }
        self._references: dict[str, set[str]] = {}
        for referred, names in self._referring.items():
            for name in names:
                if self.owner(name) != referred:
                    self._references.setdefault(self.owner(name), set()).add(referred)
        self._leads_to: dict[str, frozenset[str]] = {}

    def neighbours(self, table: str) -> tuple[str, ...]:
        return self._neighbours.get(table, ())

    def in_order(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Without repeats, in schema order; names the schema does not have are left out."""
        return tuple(sorted({t for t in tables if t in self._order}, key=self._order.__getitem__))

    def distance(self, start: str, goal: str) -> int | None:
        """Number of joins between two tables, None when no keys connect them."""
        if start not in self._distances:
            self._distances[start] = self._distances_from(start)
        return self._distances[start].get(goal)

    def connect(self, tables: Iterable[str]) -> tuple[tuple[str, ...], tuple[Join, ...]]:
        """Join the tables by shortest paths.

        Gives the tables with those in between, in schema order, and one join per step. The nearest table is
        attached first, ties go by schema order. What no key reaches stays unjoined.
        """
        wanted = self.in_order(tables)
        reached: list[str] = list(wanted[:1])
        joins: list[Join] = []
        waiting = list(wanted[1:])
        while waiting:
            paths = [(path, goal) for goal in waiting if (path := self._path(reached, goal))]
            if not paths:
                reached.append(waiting.pop(0))
                continue
            path, _ = min(paths, key=lambda found: (len(found[0]), self._order[found[1]]))
            for left, right in pairwise(path):
                joins.append(self._joins.get((left, right)) or self._joins[right, left])
            reached.extend(name for name in path if name not in reached)
            waiting = [name for name in waiting if name not in reached]
        return self.in_order(reached), tuple(joins)

    def owner(self, table: str) -> str:
        """The table that the rows of a linking table belong to; the table itself when it links no others.

        A table whose primary key is made of keys to two or more others only links them (order lines, memberships):
        its rows belong to the one that its key begins with.
        """
        return self._owners.get(table, table)

    def activity(self, table: str, dated: Iterable[str]) -> str | None:
        """The one table that says what the rows of a table do: of those that refer to it, the only one of `dated`.

        Else the only one at all. Linking tables stand for their owners; None where there is no or more than one.
        """
        found = {self.owner(name) for name in self._referring.get(table, ())} - {table}
        wanted = found.intersection(dated) or found
        return next(iter(wanted)) if len(wanted) == 1 else None

    def grain(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Those of the tables whose rows an answer over all of them is made from, in schema order.

        Joined, the rows of `tables` are those of the table that refers to the others, however many are named beside it:
        orders with their customers, by product or by country, are all rows of orders. A linking table counts as the
        one its rows belong to. Tables that no key connects stay side by side.
        """
        own = self.in_order(map(self.owner, tables))
        return tuple(name for name in own if not any(name in self._above(o) for o in own if o != name)) or own

    def _above(self, table: str) -> frozenset[str]:
        """The tables that the rows of a table lead to, over its keys and those of what links its rows."""
        if table not in self._leads_to:
            found: set[str] = set()
            waiting = [table]
            while waiting:
                here = waiting.pop()
                for name in self._references.get(here, ()):
                    if name not in found:
                        found.add(name)
                        waiting.append(name)
            self._leads_to[table] = frozenset(found)
        return self._leads_to[table]

    def _distances_from(self, start: str) -> dict[str, int]:
        distances = {start: 0}
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for near in self.neighbours(here):
                if near not in distances:
                    distances[near] = distances[here] + 1
                    queue.append(near)
        return distances

    def _path(self, starts: list[str], goal: str) -> tuple[str, ...]:
        """The shortest path from any start to the goal, `()` when there is none."""
        came: dict[str, str] = {}
        seen = set(starts)
        queue = deque(self.in_order(starts))
        while queue:
            here = queue.popleft()
            if here == goal:
                path = [here]
                while path[-1] in came:
                    path.append(came[path[-1]])
                return tuple(reversed(path))
            for near in self.neighbours(here):
                if near not in seen:
                    seen.add(near)
                    came[near] = here
                    queue.append(near)
        return ()


def _owner(table: Table, inferred: _Inference) -> str | None:
    """The table that the first column of a linking table's primary key refers to; None for every other table."""
    referred = {
        column: key.referred_table
        for key in (table.foreign_keys or inferred.keys_of(table))
        if len(key.columns) == 1 and key.referred_table != table.name
        for column in key.columns
    }
    own = [column.name for column in table.columns if column.primary_key]
    if len(own) < 2 or not all(name in referred for name in own):
        return None
    return referred[own[0]]


class _Inference:
    """Foreign keys read off column names, for tables that declare none."""

    def __init__(self, schema: Schema) -> None:
        self._owners: dict[str, tuple[str, str] | None] = {}
        for table in schema.tables:
            keys = [column.name for column in table.columns if column.primary_key]
            if len(keys) != 1:
                continue
            words = [token.stem for token in name_tokens(table.name)]
            plain = [token.stem for token in name_tokens(keys[0])]
            names = {"".join(plain)} if len(plain) > 1 else {"".join(words) + plain[0]} if plain else set()
            for name in sorted(names):
                self._owners[name] = None if name in self._owners else (table.name, keys[0])

    def keys_of(self, table: Table) -> tuple[ForeignKey, ...]:
        found = []
        for column in table.columns:
            owner = self._owners.get("".join(token.stem for token in name_tokens(column.name)))
            if owner is not None and owner[0] != table.name:
                found.append(ForeignKey((column.name,), owner[0], (owner[1],)))
        return tuple(found)
