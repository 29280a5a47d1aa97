"""Two tables held against each other, value by value of one column of each: `EXCEPT`, `INTERSECT`, `UNION`."""

from __future__ import annotations

from sqlglot import exp

from agent.drafting.adapting.sources import sources_of
from agent.drafting.adapting.work import Work, column_of, home_of
from agent.drafting.literals import Column


def fit_sides(work: Work) -> bool:
    """Hold the two tables of the question against each other; says whether the query is of that kind and they fit.

    The values are those of the column that the question names, and of the one that goes by its name in the other table.
    """
    tree = work.tree
    if not isinstance(tree, exp.SetOperation):
        return False
    sides = [tree.this, tree.expression]
    plain = [side for side in sides if isinstance(side, exp.Select) and _is_plain(work, side)]
    before = [home_of(side.expressions[0]) for side in plain]
    wanted = _asked(work)
    if len(plain) != len(sides) or None in before or wanted is None or before[0] == before[1]:
        return False
    if [one for one in before if one] == list(wanted):
        return True
    for side, (table, column) in zip(plain, wanted, strict=True):
        side.set("expressions", [column_of(table, column)])
        side.args["from_"].set("this", exp.Table(this=exp.to_identifier(table, quoted=True)))
    work.bend(0.3, "holds " + " against ".join(f"{table}.{column}" for table, column in wanted))
    return True


def _is_plain(work: Work, side: exp.Select) -> bool:
    """Whether it shows one column of one table, and no more."""
    rest = ("where", "group", "having", "joins", "limit", "order", "with_")
    return (
        len(side.expressions) == 1
        and not any(side.args.get(part) for part in rest)
        and len(sources_of(work, side)) == 1
    )


def _asked(work: Work) -> tuple[Column, Column] | None:
    """The columns of two tables that the question holds against each other, in the order in which it names these."""
    tables = list(
        dict.fromkeys(link.table for link in work.now.chosen if link.table and not link.verb and link.kind in _NAMING)
    )
    columns = [(one.table, one.column) for one in work.new.things if one.column is not None]
    if len(tables) != 2 or len(set(columns)) != 1:
        return None
    home, name = columns[0]
    if home not in tables:
        return None
    other = next(table for table in tables if table != home)
    known = [c.name for t in work.schema.tables if t.name == other for c in t.columns]
    named = [c for c in known if c.casefold() == name.casefold()] or [c for c in known if _ends_alike(c, name)]
    if len(named) != 1:
        return None
    both = {home: (home, name), other: (other, named[0])}
    return both[tables[0]], both[tables[1]]


def _ends_alike(one: str, other: str) -> bool:
    """`ShipCity` and `City`, `home_town` and `town`."""
    short, long = sorted((one.casefold().replace("_", ""), other.casefold().replace("_", "")), key=len)
    return long.endswith(short)


_NAMING = ("table", "column", "term")
