"""Calls of functions in a tree: the guard's dialects keep every one as it is written, so names tell them apart."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agent.drafting.operands import AGGREGATES


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def is_call(node: exp.Expr | None, *names: str) -> bool:
    """Whether it calls one of the functions, whose names are given in capitals."""
    return isinstance(node, exp.Anonymous) and node.name.upper() in names


def calls(tree: exp.Expr, *names: str) -> Iterator[exp.Anonymous]:
    return (node for node in tree.find_all(exp.Anonymous) if node.name.upper() in names)


def aggregates(tree: exp.Expr) -> Iterator[exp.Anonymous]:
    """All that makes one value of several rows."""
    return (node for node in tree.find_all(exp.Anonymous) if node.name.lower() in AGGREGATES)


def counts_rows(tree: exp.Expr) -> list[exp.Anonymous]:
    """Each `COUNT(*)`."""
    return [node for node in calls(tree, "COUNT") if len(node.expressions) == 1 and node.expressions[0].key == "star"]


def is_aggregated(node: exp.Expr) -> bool:
    """Whether it stands within an aggregate."""
    above = node.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, exp.Anonymous) and above.name.lower() in AGGREGATES:
            return True
        above = above.parent
    return False
