"""What of a question a query leaves out or makes up, in words that tell its writer what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agent.attempt import Doubt, Understood
from agent.database.result import QueryRejected, Result
from agent.linking import Lexicon

if TYPE_CHECKING:
    from agent.drafting.covering.case import Case

Rule = Callable[["Case"], Iterator[str]]


def doubts(understood: Understood, sql: str, result: Result | None = None, *, lexicon: Lexicon) -> tuple[Doubt, ...]:
    """Hold a query that passed the guard against its question. Pure, and never raises.

    Each doubt names its rule and says in a clause what is missing, in the words of the question and in SQL where it is
    known. What cannot be read gives no doubt. Rules that go by little words of English are left out for a question in
    another language.
    """
    from agent.database.guard import parse_query
    from agent.drafting.covering.case import Case
    from agent.drafting.operands import Names

    dialect = lexicon.schema.dialect
    try:
        tree = parse_query(sql, dialect)
        dates = [(one.table, one.column) for one in lexicon.date_columns]
        case = Case(understood, tree, Names(tree, lexicon.schema, dates), lexicon, result)
        found: list[Doubt] = []
        for name, rule in _rules(english=understood.grounding.english):
            found += [Doubt(name, text) for text in dict.fromkeys(rule(case))]
    except (QueryRejected, RecursionError):
        return ()
    return tuple(found)


def _rules(*, english: bool) -> tuple[tuple[str, Rule], ...]:
    from agent.drafting.covering import dates, madeup, numbers, shapes, soundness, sources, values

    anywhere: tuple[tuple[str, Rule], ...] = (
        ("value", values.values),
        ("value", values.stored),
        ("value", values.patterns),
        ("condition", values.conditions),
        ("comparison", numbers.comparisons),
        ("number", numbers.numbers),
        ("limit", numbers.limits),
        ("limit", numbers.extremes),
        ("made up", madeup.made_up),
        ("time", dates.times),
        ("time", soundness.dates),
        ("join", soundness.joins),
        ("scope", soundness.scopes),
        ("comparison", soundness.ranges),
        ("measure", soundness.amounts),
        ("grouping", soundness.loose_columns),
    )
    return (
        anywhere
        if not english
        else (
            *anywhere,
            ("direction", shapes.directions),
            ("measure", shapes.measures),
            ("grouping", shapes.groups),
            ("columns", shapes.shown),
            ("columns", shapes.truths),
            ("columns", shapes.named),
            ("columns", shapes.repeated),
            ("grouping", shapes.split_by),
            ("direction", shapes.both_ends),
            ("comparison", numbers.shared),
            ("comparison", numbers.units),
            ("tables", sources.pairs),
            ("tables", sources.needless),
            ("value", values.wordings),
            ("measure", shapes.counted),
            ("measure", shapes.negative),
            ("tables", sources.tables),
            ("fan-out", sources.fan_out),
            ("empty", shapes.empty),
        )
    )
