"""Totals over several units or currencies: told per unit, as no number says what they come to together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.auditing.measures import adds_up, mixed
from agent.database.naming import fold
from agent.database.result import QueryFailed, QueryRejected, Result

if TYPE_CHECKING:
    from sqlglot import exp

    from agent.app import App


@dataclass(frozen=True, slots=True)
class Totals:
    """A result whose totals mix what a column tells apart.

    `overall` is the result with None for each total; `per_unit` what the query gives for each unit, the unit first, or
    None where the query cannot be parted so. A row of an unknown unit has None for it.
    """

    unit: str
    overall: Result
    per_unit: Result | None


def mixed_totals(app: App, sql: str, result: Result) -> Totals | None:
    """The totals in the result of a query that mix units or currencies; None where there are none."""
    try:
        unit = mixed(sql, app.schema, app.database.facts)
    except QueryRejected:
        return None
    if not unit:
        return None
    from sqlglot import exp

    from agent.database.guard import parse_query

    tree = parse_query(sql, app.schema.dialect)
    plain = tree if isinstance(tree, exp.Select) and len(list(tree.find_all(exp.Select))) == 1 else None
    totals = [adds_up(shown) for shown in plain.selects] if plain is not None else []
    if len(totals) != len(result.columns):
        totals = [True] * len(result.columns)  # what stands behind a name is not looked into
    rows = tuple(tuple(None if total else cell for cell, total in zip(row, totals, strict=True)) for row in result.rows)
    overall = Result(result.columns, rows, result.truncated, result.seconds)
    parted = _parted(plain, unit) if plain is not None else None
    if parted is None:
        return Totals(unit, overall, None)
    try:
        return Totals(unit, overall, app.checked_run(parted.sql(app.schema.dialect)))
    except (QueryRejected, QueryFailed):
        return Totals(unit, overall, None)


def _parted(tree: exp.Select, unit: str) -> exp.Expr | None:
    """The query with its unit first among what it shows and groups by; None where that means something else."""
    from sqlglot import exp

    if any(tree.args.get(part) for part in ("limit", "having", "distinct")):
        return None
    table, _, column = unit.rpartition(".")
    source = next((one for one in tree.find_all(exp.Table) if fold(one.name) == fold(table)), None)
    if source is None:
        return None
    named = exp.column(exp.to_identifier(column, quoted=True), exp.to_identifier(source.alias_or_name, quoted=True))
    parted = tree.copy()
    parted.set("expressions", [named, *parted.expressions])
    return parted.group_by(named.copy())
