"""Writes a query anew, with a note for each thing changed."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.database.dialects import dialect as guarded
from agent.drafting.translating.reading import LONGEST, STRAY, read
from agent.drafting.translating.rules import RULES, hints
from agent.drafting.translating.templates import bracketed


def translated(sql: str, dialect: str) -> tuple[str, tuple[str, ...]]:
    """Write a query in the words of the dialect (`sqlite` or `postgres`), with a note for each thing changed.

    What needs no change, cannot be read or means nothing here comes back as it was. Never raises.

    >>> translated("SELECT YEAR(Born) FROM Cats", "sqlite")[1]
    ("YEAR(Born) became CAST(STRFTIME('%Y', Born) AS INTEGER)",)
    >>> translated("SELECT TOP 3 Name FROM Cats", "sqlite")
    ('SELECT Name FROM Cats LIMIT 3', ('TOP became LIMIT',))
    """
    if len(sql) > LONGEST or dialect not in RULES or not hints(dialect).search(sql):
        return sql, ()
    try:
        found = read(sql, dialect)
        if found is None:
            return sql, ()
        tree, notes = found
        tree, changes = _rewritten(tree, dialect)
        notes += changes
        return (tree.sql(guarded(dialect), comments=False), tuple(dict.fromkeys(notes))) if notes else (sql, ())
    except (SqlglotError, *STRAY):
        return sql, ()


def _rewritten(tree: exp.Expr, dialect: str) -> tuple[exp.Expr, list[str]]:
    """Replace what has a rule, the inner before the outer; gives the tree and what became what."""
    rules = RULES[dialect]
    writer = guarded(dialect)
    found = [(node, rule) for node in tree.walk() if (rule := rules.get(_name(node))) is not None]
    texts = [_as_written(node) for node, _ in found]
    notes: list[str] = []
    for (node, rule), before in zip(reversed(found), reversed(texts), strict=True):
        made = rule(node, dialect)
        if made is None:
            continue
        if node is tree:
            tree = made
        elif made is not node:
            node.replace(bracketed(made, node))
        notes.append(before if isinstance(node, exp.Select) else f"{before} became {_short(made.sql(writer))}")
    return tree, notes[::-1]


def _as_written(node: exp.Expr) -> str:
    """A call or phrase as its writer had it; what no dialect of ours writes so is near enough."""
    if isinstance(node, exp.Select):
        distinct = node.args.get("distinct")
        on = distinct is not None and distinct.args.get("on") is not None
        return (
            "DISTINCT ON became the first row by ROW_NUMBER()" if on else "the order in a list became that of its rows"
        )
    if isinstance(node, exp.IntDiv):
        return _short(f"{_as_written(node.this)} DIV {_as_written(node.expression)}")
    return _short(node.sql(guarded("sqlite" if isinstance(node, exp.Anonymous) else "postgres"), comments=False))


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"


def _name(node: exp.Expr) -> str:
    """What the rules know a node by: the folded name of a call, else the kind of the node in capitals."""
    if isinstance(node, exp.Anonymous):
        return node.this.lower() if isinstance(node.this, str) else ""
    return node.key.upper()
