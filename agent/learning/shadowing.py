"""Runs queries as if the tables held other rows, without writing anything.

Each table of a query is read through a WITH clause that leaves rows out, makes some anew with keys of their own, lets
values change rows, and changes numbers and days; all by hashes of the keys, so that the same rows come at every run. It
needs no right but to read. Less changes than in a copy (see `remaking`), and what a view shows is drawn from too, not
from the tables under it.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from agent.database.result import Cell, QueryFailed, QueryRejected, Result
from agent.database.schema import ForeignKey, Schema, Table
from agent.learning.kinds import ALWAYS_AND_NEVER, Reference, Row, TableRows, classify, digits_after_point

if TYPE_CHECKING:
    from sqlglot import exp

_SAMPLE = 900
_MANY = 60
_WIDE = 60
"""With more columns than this no values of a table change: the text of a query is limited."""
_FIRST = 8
"""How many columns tell the rows of a wide table without a key apart."""
_LONGEST = 100_000
"""Bytes of SQL that a database is sent at most."""
_PLACE = '"place in the shuffle"'
_KEPT = (0.67, 0.9, 0.8)
_NEW = (0.15, 0.3, 0.2)


class Runs(Protocol):
    """An open database. `run` takes SQL that the guard has passed."""

    @property
    def schema(self) -> Schema: ...

    def run(self, sql: str) -> Result: ...


def shadows(database: Runs, *, count: int, seed: int) -> tuple[Callable[[str], Result], ...]:
    """Give `count` functions that take checked SQL and run it over other rows.

    What the tables look like is learnt from some rows of each. A table that cannot be read stays as it is.
    """
    sampled, views = _sample(database), _views(database)
    made = []
    for number in range(count):
        plain = frozenset(name for name, one in sampled.items() if len(one.sample.columns) > _WIDE)
        as_is: frozenset[str] = frozenset()
        while True:
            shadow = _Shadow(database.schema, sampled, views, number, seed, plain=plain, as_is=as_is)
            refused = frozenset(name for name, body in shadow.bodies.items() if not _runs(database, body))
            if not refused:
                break
            plain, as_is = plain | refused, as_is | (refused & plain)
        made.append(partial(_run, database, shadow))
    return tuple(made)


def _runs(database: Runs, body: str) -> bool:
    if len(body.encode()) > _LONGEST / 2:  # or no query could read it
        return False
    try:
        database.run(f"SELECT * FROM ({body}) AS shadow LIMIT 20")
    except QueryFailed:
        return False
    return True


def _run(database: Runs, shadow: _Shadow, sql: str) -> Result:
    written = shadow.rewrite(sql)
    if len(written.encode()) > _LONGEST:
        raise QueryFailed("Over other rows the query is too long to be run.", kind="too_long")
    return database.run(written)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was learnt of one table; `highest` is the largest of a key that is one whole number."""

    table: Table
    sample: TableRows
    highest: int | None


def _sample(database: Runs) -> dict[str, _Known]:
    schema = database.schema
    made: dict[str, TableRows] = {}
    highest: dict[str, int | None] = {}
    for table in schema.tables:
        columns = [column.name for column in table.columns]
        listed = ", ".join(map(_quoted, columns))
        try:
            found = database.run(f"SELECT {listed} FROM {_written(table, schema)} LIMIT {_SAMPLE}")
        except QueryFailed:
            continue
        key = tuple(n for n, column in enumerate(table.columns) if column.primary_key)
        made[table.name] = TableRows(
            name=table.name,
            columns=columns,
            types=[column.type for column in table.columns],
            required=[not column.nullable for column in table.columns],
            key=key,
            unique=[key] if key else [],
            rows=[Row(list(row), row) for row in found.rows],
        )
        highest[table.name] = None
        if len(key) == 1 and all(isinstance(row[key[0]], int) for row in found.rows):
            try:
                most = database.run(f"SELECT MAX({_quoted(columns[key[0]])}) FROM {_written(table, schema)}").rows[0][0]
            except QueryFailed:
                continue
            highest[table.name] = most if isinstance(most, int) and most < 1 << 30 else None
    tables = {table.name: table for table in schema.tables}
    for table in schema.tables:
        for foreign in table.foreign_keys:
            own, parent = made.get(table.name), made.get(foreign.referred_table)
            if own is None or parent is None:
                continue
            if set(foreign.columns) <= set(own.columns) and set(foreign.referred_columns) <= set(parent.columns):
                here = tuple(map(own.columns.index, foreign.columns))
                there = tuple(map(parent.columns.index, foreign.referred_columns))
                least = _fewest_children(database, table, foreign, tables[foreign.referred_table])
                own.references.append(Reference(here, parent, there, least))
    for own in made.values():
        classify(own)
    return {
        table.name: _Known(table, made[table.name], highest[table.name])
        for table in schema.tables
        if table.name in made and made[table.name].rows
    }


def _fewest_children(database: Runs, child: Table, foreign: ForeignKey, parent: Table) -> int:
    """How many rows refer to each row of the parent at least; 0 where that cannot be found out."""
    schema = database.schema
    columns = ", ".join(map(_quoted, foreign.columns))
    pairs = " AND ".join(
        f"c.{_quoted(a)} = p.{_quoted(b)}" for a, b in zip(foreign.columns, foreign.referred_columns, strict=True)
    )
    source = _written(child, schema)
    try:
        missing = database.run(
            f"SELECT 1 FROM {_written(parent, schema)} AS p "
            f"WHERE NOT EXISTS (SELECT 1 FROM {source} AS c WHERE {pairs}) LIMIT 1"
        )
        if missing.rows:
            return 0
        known = " AND ".join(f"{_quoted(name)} IS NOT NULL" for name in foreign.columns)
        grouped = f"SELECT COUNT(*) AS n FROM {source} WHERE {known} GROUP BY {columns}"
        fewest = database.run(f"SELECT MIN(n) FROM ({grouped}) AS g").rows[0][0]
    except QueryFailed:
        return 0
    return fewest if isinstance(fewest, int) else 0


def _views(database: Runs) -> dict[str, exp.Expr]:
    """Read what the views select; one that cannot be read is left out."""
    from sqlglot import exp

    from agent.database.guard import parse_query, parse_statement

    schema, found = database.schema, {}
    for table in schema.tables:
        if not table.is_view:
            continue
        try:
            if schema.dialect == "sqlite":
                made = parse_statement(table.ddl, schema.dialect)
                body = made.args.get("expression")
                names = [column.name for column in made.this.expressions] if isinstance(made.this, exp.Schema) else []
                if names or body is None:
                    continue
            else:
                name = _written(table, schema).replace("'", "''")
                told = database.run(f"SELECT pg_get_viewdef(CAST('{name}' AS regclass))").rows[0][0]
                body = parse_query(str(told), schema.dialect)
            _real_tables(body.copy(), schema)
        except (QueryRejected, QueryFailed):
            continue
        found[table.name] = body
    return found


class _Shadow:
    """Rewrites queries for one copy."""

    def __init__(
        self,
        schema: Schema,
        known: dict[str, _Known],
        views: dict[str, exp.Expr],
        number: int,
        seed: int,
        *,
        plain: frozenset[str],
        as_is: frozenset[str],
    ) -> None:
        chance = random.Random(f"{seed}:{number}")
        self._plain = plain  # tables in which rows are left out, but no values change
        self._whole = as_is | _whole(known, as_is)  # tables that keep all rows
        self._schema = schema
        self._views = views
        self._order = [table.name for table in schema.tables]
        self._postgres = schema.dialect == "postgres"
        self._known = known
        self._kept = _KEPT[number % len(_KEPT)]
        self._new = _NEW[number % len(_NEW)]
        self._salt = chance.randrange(1, 1 << 20)
        self._chance = chance
        self._referred = {id(r.parent) for one in known.values() for r in one.sample.references}
        self.bodies = {name: self._body(one) for name, one in known.items() if name not in as_is}

    def rewrite(self, sql: str) -> str:
        """Write a checked query so that it reads other rows.

        Raises:
            QueryRejected: it cannot be read.
        """

        from agent.database.dialects import dialect
        from agent.database.guard import parse_query

        tree = parse_query(sql, self._schema.dialect)
        clauses: dict[str, str] = {}
        self._replace(tree, clauses)
        written = tree.sql(dialect(self._schema.dialect), comments=False)
        if not clauses:
            return written
        listed = ", ".join(f"{_quoted(self._name(table))} AS ({body})" for table, body in clauses.items())
        found = re.match(r"WITH (RECURSIVE )?", written)
        if found:
            return f"WITH {found[1] or ''}{listed}, {written[found.end() :]}"
        return f"WITH {listed} {written}"

    def _replace(self, tree: exp.Expr, clauses: dict[str, str]) -> None:
        """Let a query read the shadows of its tables; put into `clauses` what these are, each after those it reads."""
        from sqlglot import exp

        from agent.database.dialects import dialect

        used: dict[str, str] = {}
        for node, table in _real_tables(tree, self._schema):
            view = self._views.get(table.name)
            if table.name not in clauses:
                if view is not None:
                    body = view.copy()
                    self._replace(body, clauses)
                    clauses[table.name] = body.sql(dialect(self._schema.dialect), comments=False)
                elif table.name in self.bodies:
                    clauses[table.name] = self.bodies[table.name]
                else:
                    continue
            name = used.setdefault(self._name(table.name), table.name)
            if node.args.get("alias") is None:
                node.set("alias", exp.TableAlias(this=node.this.copy()))
            node.set("this", exp.to_identifier(self._name(name), quoted=True))
            node.set("db", None)
        for column in tree.find_all(exp.Column):
            column.set("db", None)
        if self._postgres:
            self._group_by_all(tree, used)

    def _name(self, table: str) -> str:
        return f"shadow_{self._order.index(table)}_{self._salt}"

    def _group_by_all(self, tree: exp.Expr, names: dict[str, str]) -> None:
        """Where a query groups by a key, group by the other columns too: only of a table it is known to decide them."""
        from sqlglot import exp

        for select in tree.find_all(exp.Select):
            group = select.args.get("group")
            clause = select.args.get("from_")
            if group is None or clause is None:
                continue
            sources = [clause.this, *(join.this for join in select.args.get("joins") or ())]
            grouped = {column.name: column.table for column in group.expressions if isinstance(column, exp.Column)}
            for source in sources:
                table = names.get(source.name) if isinstance(source, exp.Table) else None
                if table is None or table not in self._known:
                    continue
                columns = self._known[table].table.columns
                key = [column.name for column in columns if column.primary_key]
                if key and all(grouped.get(name) in ("", source.alias) for name in key):
                    for column in columns:
                        if not column.primary_key and "JSON" not in column.type.upper():
                            extra = exp.column(exp.to_identifier(column.name, quoted=True))
                            extra.set("table", exp.to_identifier(source.alias, quoted=True))
                            group.append("expressions", extra)

    # What stands for a table

    def _hash(self, parts: Sequence[str], salt: str) -> str:
        """An expression from 0 to below 1 that hangs on some columns."""
        if self._postgres:
            joined = ", ".join(f"CAST({part} AS text)" for part in parts)
            return (
                f"(CAST(CAST('x' || substr(md5(concat_ws('|', {joined}, '{salt}{self._salt}')), 1, 7) AS bit(28)) "
                "AS integer) / 268435456.0)"
            )
        prime = 1_000_003
        factor = 7_919 + sum(map(ord, salt)) * 104 + self._salt % 9_973
        mixed = f"{self._salt % prime}"
        for part in parts:
            text = f"CAST({part} AS TEXT)"
            number = " + ".join(
                f"COALESCE(unicode(substr({text}, {place}, 1)), 7) * {31**n}"
                for n, place in enumerate((-1, -2, -3, -4, 1))
            )
            mixed = f"((({mixed}) * 69069 + {number} + length({text})) % {prime})"
        return f"((({mixed} * {factor}) % {prime}) / {prime}.0)"

    def _body(self, known: _Known) -> str:
        """The query that stands for a table."""
        table, sample = known.table, known.sample
        width = len(sample.columns)
        names = [_quoted(name) for name in sample.columns]
        identity = _identity(sample)
        source = _written(table, self._schema)
        condition = self._keeping(known, identity)
        keep = f" WHERE {condition}" if condition else ""
        if table.name in self._plain:
            return f"SELECT {', '.join(names)} FROM {source}{keep}"
        moving = [n for block in sample.blocks if self._chance.random() < 0.6 for n in block]
        for reference in sample.references:
            held = any(n in sample.key for n in reference.columns) or reference.parent is sample
            if not held and self._chance.random() < 0.6:
                moving += [n for n in reference.columns if n not in moving]
        values = dict(enumerate(names))
        changes = {
            n: self._emptied(known, n, self._changed(known, n, "r." + names[n], identity), identity)
            for n in range(width)
        }
        then = ", ".join(f"CAST({name} AS text)" for name in identity)
        numbered = f"row_number() OVER (ORDER BY {self._hash(identity, 'a')}, {then}) AS {_PLACE}"
        other = f"row_number() OVER (ORDER BY {self._hash(identity, 'b')}, {then}) AS {_PLACE}"
        if moving:
            still = [n for n in range(width) if n not in moving]
            left = ", ".join([*(names[n] for n in still), numbered])
            right = ", ".join([*(names[n] for n in moving), other])
            shown = ", ".join(f"{'b' if n in moving else 'a'}.{values[n]}" for n in range(width))
            rows = (
                f"SELECT {shown} FROM (SELECT {left} FROM {source}{keep}) AS a "
                f"JOIN (SELECT {right} FROM {source}{keep}) AS b ON b.{_PLACE} = a.{_PLACE}"
            )
        else:
            rows = f"SELECT {', '.join(names)} FROM {source}{keep}"
        written = ", ".join(f"{changes[n]} AS {names[n]}" for n in range(width))
        body = f"SELECT {written} FROM ({rows}) AS r"
        if self._doubled(known):
            again = ", ".join(f"{self._renamed(known, n)} AS {names[n]}" for n in range(width))
            body = (
                f"SELECT * FROM ({body}) AS old UNION ALL SELECT {again} FROM ({body}) AS c "
                f"WHERE {self._is_doubled(['c.' + name for name in identity])}"
            )
        return body

    def _keeping(self, known: _Known, identity: Sequence[str]) -> str:
        """The condition that a row stays: by its own hash, and those of the rows it refers to; empty where all do."""
        if known.table.name in self._whole:
            return ""
        share = self._share(known)
        stays = f"{self._hash(identity, 'k')} < {share}"
        conditions = []
        if share < 1:
            source = _written(known.table, self._schema)
            ways = [stays]
            for reference in known.sample.references:
                if reference.least:  # a parent that would be without any such row keeps all of its own
                    columns = [_quoted(known.sample.columns[n]) for n in reference.columns]
                    filled = " AND ".join(f"{column} IS NOT NULL" for column in columns)
                    listed = ", ".join(columns)
                    ways.append(f"({listed}) NOT IN (SELECT {listed} FROM {source} WHERE {filled} AND {stays})")
            conditions.append(f"({' OR '.join(ways)})")
        for reference in known.sample.references:
            parent = self._known.get(reference.parent.name)
            if parent is None or reference.parent is known.sample:
                continue
            inner = self._keeping(parent, _identity(parent.sample))
            if not inner:
                continue
            own = ", ".join(_quoted(known.sample.columns[n]) for n in reference.columns)
            names = ", ".join(_quoted(parent.sample.columns[n]) for n in reference.referred)
            missing = " OR ".join(f"{_quoted(known.sample.columns[n])} IS NULL" for n in reference.columns)
            source = _written(parent.table, self._schema)
            conditions.append(f"({missing} OR ({own}) IN (SELECT {names} FROM {source} WHERE {inner}))")
        return " AND ".join(conditions)

    def _share(self, known: _Known) -> float:
        """How many rows of a table stay."""
        sample = known.sample
        if not sample.named:
            return self._kept
        children = [one for one in self._known.values() if any(r.parent is sample for r in one.sample.references)]
        return 0.9 if not self._doubled(known) and not any(one.sample.named for one in children) else 1.0

    def _doubled(self, known: _Known) -> bool:
        """Whether some rows of a table come twice, the second time with a key and names of their own."""
        sample = known.sample
        into = [r for one in self._known.values() for r in one.sample.references if r.parent is sample]
        enough = all(r.least != 1 for r in into)
        if known.table.name in self._plain:
            return False
        return sample.named and known.highest is not None and sample.kinds[sample.key[0]] == "key" and enough

    def _is_doubled(self, columns: Sequence[str]) -> str:
        return f"{self._hash(columns, 'd')} < {self._new}"

    def _renamed(self, known: _Known, n: int) -> str:
        name = f"c.{_quoted(known.sample.columns[n])}"
        if n in known.sample.key:
            return f"{name} + {known.highest}"
        if known.sample.kinds[n] in ("name", "own") and _is_text(known.sample.types[n]):
            return f"substr({name}, 3) || substr({name}, 1, 2)"
        return name

    def _emptied(self, known: _Known, n: int, changed: str, identity: Sequence[str]) -> str:
        """Where a column has NULLs, let it have some more."""
        sample = known.sample
        own = ["r." + one for one in identity]
        if sample.kinds[n] not in ("text", "code", "date", "measure") or sample.required[n]:
            return changed
        if all(row.values[n] is not None for row in sample.rows):
            return changed
        return f"CASE WHEN {self._hash(own, f'n{n}')} < {self._new / 3} THEN NULL ELSE {changed} END"

    def _changed(self, known: _Known, n: int, name: str, identity: Sequence[str]) -> str:
        """The expression for a column whose values change without changing rows."""
        sample, kind = known.sample, known.sample.kinds[n]
        own = ["r." + one for one in identity]
        declared = sample.types[n]
        if kind == "reference":
            return self._referring(known, n, name, own)
        if kind == "measure":
            return self._rescaled(sample, n, name, own)
        if kind == "date":
            block = next(block for block in sample.blocks if n in block)
            return self._redated(name, f"r.{_quoted(sample.columns[block[0]])}", declared, own)
        if kind in ("text", "code") and (n,) in sample.blocks:
            return self._relabelled(sample, n, name)
        return name

    def _rescaled(self, sample: TableRows, n: int, name: str, own: Sequence[str]) -> str:
        """A number a little nearer to nought, some of them round ones, with as many digits as the column has."""
        numbers = [abs(v) for row in sample.rows if isinstance(v := row.values[n], int | float) and v]
        places = min(4, max((digits_after_point(number) for number in numbers), default=0))
        unit = 10 ** int(math.log10(sorted(numbers)[len(numbers) // 2])) if numbers and max(numbers) >= 1 else 1
        factor = f"(1.0 - 0.2 * {self._hash(own, f'm{n}')})"
        number = f"CAST({name} AS numeric)" if self._postgres else name
        factor = f"CAST({factor} AS numeric)" if self._postgres else factor
        near, round_ = f"round({number} * {factor}, {places})", f"round({number} * {factor} / {unit}.0) * {unit}"
        picked = f"{self._hash(own, f'p{n}')} < 0.25 AND {round_} <> 0"
        changed = f"CASE WHEN {picked} THEN {round_} ELSE {near} END"
        if self._postgres:
            return f"CAST({changed} AS {sample.types[n]})"
        whole = all(isinstance(row.values[n], int | None) for row in sample.rows)
        return f"CAST({changed} AS INTEGER)" if whole else changed

    def _redated(self, name: str, first: str, declared: str, own: Sequence[str]) -> str:
        """Another day in the month of the first of the dates that move together; the others keep their distance."""
        drawn = f"{self._hash(own, 'day')} * 28"
        held = f"substr(CAST({name} AS text), 1, 4) IN {ALWAYS_AND_NEVER}"
        if not self._postgres:
            days = f"COALESCE(1 + CAST({drawn} AS INTEGER) - CAST(substr({first}, 9, 2) AS INTEGER), 0)"
            moved = f"date(substr({name}, 1, 10), ({days}) || ' days') || substr({name}, 11)"
            return f"CASE WHEN {held} THEN {name} ELSE COALESCE({moved}, {name}) END"
        if re.match(r"(DATE|TIMESTAMP)", declared, re.IGNORECASE):
            days = f"COALESCE(1 + floor({drawn}) - extract(day FROM {first}), 0)"
            moved = f"CAST({name} + ({days}) * interval '1 day' AS {declared})"
            return f"CASE WHEN {held} THEN {name} ELSE {moved} END"
        days = f"COALESCE(1 + floor({drawn}) - CAST(substr({first}, 9, 2) AS integer), 0)"
        moved = f"CAST(CAST(substr({name}, 1, 10) AS date) + ({days}) * interval '1 day' AS date)"
        return f"CASE WHEN {held} THEN {name} ELSE CAST({moved} AS text) || substr({name}, 11) END"

    def _referring(self, known: _Known, n: int, name: str, own: Sequence[str]) -> str:
        """A reference to a row that comes twice points to the second one in half of the rows."""
        if n in known.sample.key and id(known.sample) in self._referred:
            return name  # rows that refer to this one by its key would have to follow
        for reference in known.sample.references:
            parent = self._known.get(reference.parent.name)
            if reference.columns != (n,) or parent is None or reference.parent is known.sample:
                continue
            if reference.referred == parent.sample.key and self._doubled(parent):
                drawn = self._hash(own, f"c{n}")
                second = f"row_number() OVER (PARTITION BY {name} ORDER BY {drawn}) % 2 = 0"
                picked = f"{self._is_doubled([name])} AND {second}"
                return f"CASE WHEN {picked} THEN {name} + {parent.highest} ELSE {name} END"
        return name

    def _relabelled(self, sample: TableRows, n: int, name: str) -> str:
        values: list[Any] = sorted({row.values[n] for row in sample.rows} - {None}, key=str)
        if not 1 < len(values) <= _MANY:
            return name
        others = list(values)
        self._chance.shuffle(others)
        compared = f"CAST({name} AS text)" if self._postgres else name
        cases = " ".join(
            f"WHEN {self._literal(a)} THEN {self._literal(b)}" for a, b in zip(values, others, strict=True) if a != b
        )
        if not cases:
            return name
        changed = f"CASE {compared} {cases} ELSE {compared} END"
        return f"CAST({changed} AS {sample.types[n]})" if self._postgres else changed

    def _literal(self, value: Cell) -> str:
        if isinstance(value, str) or self._postgres:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            return "'" + text.replace("'", "''") + "'"
        return repr(value)


def _real_tables(tree: exp.Expr, schema: Schema) -> list[tuple[exp.Table, Table]]:
    """Find where a query reads a table of the schema, and no WITH clause of that name."""
    from agent.database.scoping import Resolver

    tables = {table.name: table for table in schema.tables}
    found: list[tuple[exp.Table, Table]] = []

    class Finder(Resolver):
        def _table(self, node: exp.Table, ctes: Any) -> Any:
            source = super()._table(node, ctes)
            if source.table is not None:
                found.append((node, tables[source.table.name]))
            return source

    Finder(schema).resolve(tree)
    return found


def _identity(sample: TableRows) -> list[str]:
    """The columns that tell the rows of a table apart: those of its key, else all, of a wide one the first."""
    width = len(sample.columns)
    return [_quoted(sample.columns[n]) for n in sample.key] or list(
        map(_quoted, sample.columns if width <= _WIDE else sample.columns[:_FIRST])
    )


def _whole(known: dict[str, _Known], as_is: frozenset[str]) -> frozenset[str]:
    """Tables whose references lead back to them, and all that these or those of `as_is` refer to.

    A row that is left out would there take rows with it that take others.
    """
    above = {name: _above(one.sample) for name, one in known.items()}
    firm = {name for name in above if name in above[name] or name in as_is}
    return frozenset(firm.union(*(above[name] for name in firm)))


def _above(sample: TableRows) -> set[str]:
    """The tables that a table refers to, near or far."""
    seen: set[str] = set()
    waiting = [sample]
    while waiting:
        for reference in waiting.pop().references:
            if reference.parent.name not in seen:
                seen.add(reference.parent.name)
                waiting.append(reference.parent)
    return seen


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _written(table: Table, schema: Schema) -> str:
    """A table with the namespace it lies in, so that no WITH clause is taken for it."""
    if schema.dialect == "sqlite":
        return f"main.{_quoted(table.name)}"
    return f"{_quoted(table.namespace)}.{_quoted(table.name.removeprefix(f'{table.namespace}.'))}"


def _is_text(declared: str) -> bool:
    return not declared.strip() or bool(re.search(r"(CHAR|TEXT|CLOB)[^\[]*\Z", declared, re.IGNORECASE))
