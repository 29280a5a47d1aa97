#!/usr/bin/env python3
"""Measure how often a wrong query that is right by luck is caught on mutated copies, and a right one let through.

    scripts/measure_luck.py [--database data/northwind.sqlite] [--copies 3] [--seed 0] [--shadows] FILE ...

FILE are question files or seed packs about the database. Each gold query is changed in small ways that make it wrong:
a condition dropped or turned, another column of the same table, INNER for LEFT, no DISTINCT, a limit one off, its own
result written down as constants, and so on. Of the changed queries that give the same as the gold on the database, the
share that the judge catches is printed, by change, with those that were not caught: some of these mean the same. Then
the pairs whose accepted queries do not agree on every copy are listed. The seeds of Northwind take two minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sqlglot import exp

from agent.database.comparing import same
from agent.database.dialects import dialect
from agent.database.guard import check, parse_query
from agent.database.reading import Database, open_database
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.database.schema import Schema
from agent.learning.judging import Judge
from agent.learning.mutating import LARGEST, mutated
from agent.learning.questions import Pair, read_pairs


def variants(sql: str, schema: Schema, result: Result) -> Iterator[tuple[str, str]]:
    """Give (what was changed, the changed query) for each way of making a query wrong that fits it."""
    tree = parse_query(sql, schema.dialect)

    def written(changed: exp.Expr) -> str:
        return changed.sql(dialect(schema.dialect))

    def each(*kinds: type[exp.Expr]) -> Iterator[tuple[exp.Expr, exp.Expr]]:
        for number, node in enumerate(tree.walk()):
            if isinstance(node, kinds):
                copied = tree.copy()
                yield copied, list(copied.walk())[number]

    for copied, node in each(exp.And):
        for side in ("this", "expression"):
            again = copied.copy()
            list(again.walk())[list(map(id, copied.walk())).index(id(node))].replace(node.args[side].copy())
            yield "condition dropped", written(again)
    for copied, node in each(exp.Where, exp.Having):
        node.pop()
        yield f"{node.key} dropped", written(copied)
    turned: dict[str, type[exp.Expr]] = {"gt": exp.GTE, "gte": exp.GT, "lt": exp.LTE, "lte": exp.LT}
    for copied, node in each(exp.GT, exp.GTE, exp.LT, exp.LTE):
        node.replace(turned[node.key](this=node.this, expression=node.expression))
        yield "> for >=", written(copied)
    for copied, node in each(exp.Join):
        if node.args.get("on") or node.args.get("using"):
            node.set("side", None if node.args.get("side") else "LEFT")
            node.set("kind", None)
            yield "INNER for LEFT", written(copied)
    for copied, node in each(exp.Distinct):
        parent = node.parent
        if isinstance(parent, exp.Select):
            parent.set("distinct", None)
        else:
            node.replace(node.expressions[0])
        yield "DISTINCT dropped", written(copied)
    for copied, node in each(exp.Select):
        if not node.args.get("distinct") and not node.args.get("group"):
            node.set("distinct", exp.Distinct())
            yield "DISTINCT added", written(copied)
    for copied, node in each(exp.Union):
        node.set("distinct", not node.args.get("distinct"))
        yield "UNION for UNION ALL", written(copied)
    for copied, node in each(exp.Limit):
        number = node.expression
        if isinstance(number, exp.Literal):
            node.set("expression", exp.Literal.number(int(number.name) + 1))
            yield "limit one off", written(copied)
    for copied, node in each(exp.Ordered):
        node.set("desc", not node.args.get("desc"))
        node.set("nulls_first", not node.args.get("desc"))
        yield "order turned", written(copied)
    if len(result.rows) > 1 and tree.args.get("limit") is None:
        copied = tree.copy()
        copied.set("limit", exp.Limit(expression=exp.Literal.number(len(result.rows))))
        yield "limit added", written(copied)
    swaps = {"COUNT": "SUM", "SUM": "AVG", "AVG": "MAX", "MIN": "MAX", "MAX": "MIN"}
    for copied, node in each(exp.Anonymous):
        name = str(node.this).upper()
        if name in swaps and node.expressions and not isinstance(node.expressions[0], exp.Star):
            node.set("this", swaps[name])
            yield "another aggregate", written(copied)
    tables = {table.name.lower(): table for table in schema.tables}
    for copied, node in each(exp.Column):
        scope = node.find_ancestor(exp.Select)
        if scope is None or isinstance(node.this, exp.Star):
            continue
        sources = {t.alias_or_name.lower(): t.name.lower() for t in scope.find_all(exp.Table)}
        qualifier = str(getattr(node, "table", "")).lower()
        owners = [sources.get(qualifier, "")] if qualifier else list(sources.values())
        own = [tables[o] for o in owners if o in tables and any(c.name == node.name for c in tables[o].columns)]
        for table in own[:1]:
            kind = next(column.type for column in table.columns if column.name == node.name)
            for column in table.columns:
                if column.name != node.name and column.type == kind:
                    again = copied.copy()
                    place = list(map(id, copied.walk())).index(id(node))
                    list(again.walk())[place].set("this", exp.to_identifier(column.name, quoted=True))
                    yield "another column", written(again)
    for copied, node in each(exp.Star):
        if isinstance(node.parent, exp.Anonymous):
            select = node.find_ancestor(exp.Select)
            for source in select.find_all(exp.Table) if select else ():
                for column in tables[source.name.lower()].columns if source.name.lower() in tables else ():
                    again = copied.copy()
                    place = list(map(id, copied.walk())).index(id(node))
                    counted = exp.column(exp.to_identifier(column.name, quoted=True), source.alias_or_name)
                    list(again.walk())[place].replace(counted)
                    yield "COUNT(column) for COUNT(*)", written(again)
    if result.rows and len(result.rows) <= 20:
        rows = [", ".join("NULL" if c is None else _constant(c) for c in row) for row in result.rows]
        yield "constants", " UNION ALL ".join(f"SELECT {row}" for row in rows)
    for first in result.columns[:1]:
        values = sorted({_constant(row[0]) for row in result.rows if isinstance(row[0], str | int)})
        if 0 < len(values) <= 20 and tree.args.get("limit") is not None:
            listed = ", ".join(values)
            yield "rows named", f'SELECT * FROM ({written(tree)}) AS t WHERE "{first}" IN ({listed})'


def _constant(cell: object) -> str:
    return "'" + cell.replace("'", "''") + "'" if isinstance(cell, str) else repr(cell)


def measure(judge: Judge, pairs: Sequence[Pair], schema: Schema, *, show: int) -> None:
    """Print what was caught."""
    found, caught = Counter[str](), Counter[str]()
    missed: list[tuple[str, str, str]] = []
    made = 0
    for pair in pairs:
        try:
            gold = judge.run(pair.sql)
        except (QueryRejected, QueryFailed):
            continue
        for change, sql in dict.fromkeys(variants(pair.sql, schema, gold)):
            made += 1
            try:
                result = judge.run(sql)
            except (QueryRejected, QueryFailed):
                continue
            if result.truncated or not same(gold, result, ordered=pair.ordered):
                continue
            found[change] += 1
            if judge.judge(pair, sql, result).right:
                missed.append((change, pair.id, sql))
            else:
                caught[change] += 1
    print(
        f"{made:,} changed queries, {found.total():,} give the same on the database, {caught.total():,} of them caught"
    )
    for change, number in found.most_common():
        print(f"  {change:28} {caught[change]:5,} of {number:5,}  {100 * caught[change] / number:5.1f} %")
    for change, name, sql in missed[:show]:
        print(f"not caught: {change} | {name} | {sql}")
    agreed = [judge.confirm(pair) for pair in pairs]
    print(f"{sum(v.right for v in agreed)} of {len(pairs)} pairs agree on the database and every copy; the others:")
    for pair, verdict in zip(pairs, agreed, strict=True):
        if not verdict.right:
            print(f"  {pair.id}: {verdict.reason}")


def main(arguments: Sequence[str]) -> int:
    """Measure with the files that the command line names."""
    parser = argparse.ArgumentParser(description="Measure how often luck is caught on mutated copies.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--database", type=Path, default=Path("data/northwind.sqlite"), help="a SQLite file")
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shadows", action="store_true", help="rewrite queries, as for PostgreSQL, and copy nothing")
    parser.add_argument("--show", type=int, default=40, help="how many of those not caught to print")
    given = parser.parse_args(arguments)
    pairs = [pair for file in given.files for pair in read_pairs(file)]

    def opened(path: Path) -> Database:
        return open_database(str(path))

    database = opened(given.database)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            mutated(
                database,
                file=given.database,
                folder=Path(folder),
                open_copy=opened,
                count=given.copies,
                seed=given.seed,
                largest=0 if given.shadows else LARGEST,
            ) as copies,
        ):

            def run(sql: str) -> Result:
                return database.run(check(sql, database.schema).sql)

            measure(Judge(run=run, copies=copies), pairs, database.schema, show=given.show)
    finally:
        database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
