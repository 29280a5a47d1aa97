"""The rules of coverage by name, in the order in which their doubts are told. Several functions may share a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent.drafting.covering import (
    contradictions,
    dates,
    groups,
    madeup,
    measures,
    numbers,
    orders,
    shown,
    soundness,
    sources,
    surplus,
    unsaid,
    values,
)
from agent.drafting.covering.case import Case

Rule = Callable[[Case], Iterator[str]]

ANYWHERE: tuple[tuple[str, Rule], ...] = (
    ("join", soundness.joins),
    ("scope", soundness.scopes),
    ("value", values.values),
    ("value", values.stored),
    ("value", values.patterns),
    ("condition", values.conditions),
    ("condition", contradictions.contradictions),
    ("number", numbers.numbers),
    ("time", dates.times),
    ("time", soundness.dates),
    ("comparison", soundness.ranges),
    ("measure", soundness.amounts),
    ("grouping", soundness.loose_columns),
)
"""Rules that go by links, numbers and the query alone, so that they hold in any language."""

ENGLISH: tuple[tuple[str, Rule], ...] = (
    ("made up", madeup.made_up),
    ("value", values.wordings),
    ("unsaid", unsaid.unsaid),
    ("value", unsaid.in_talk),
    ("time", unsaid.times_of_week),
    ("condition", unsaid.owned),
    ("comparison", numbers.comparisons),
    ("comparison", numbers.units),
    ("comparison", numbers.shared),
    ("comparison", numbers.averages),
    ("limit", numbers.limits),
    ("limit", numbers.extremes),
    ("direction", orders.directions),
    ("direction", orders.both_ends),
    ("measure", measures.measures),
    ("measure", measures.counted),
    ("measure", numbers.shares),
    ("measure", numbers.wholes),
    ("measure", measures.averaged),
    ("columns", shown.figures),
    ("condition", unsaid.denied),
    ("measure", measures.negative),
    ("measure", measures.middles),
    ("fan-out", sources.fan_out),
    ("grouping", groups.groups),
    ("grouping", groups.split_by),
    ("tables", sources.tables),
    ("tables", sources.pairs),
    ("tables", sources.needless),
    ("columns", shown.counts),
    ("columns", shown.truths),
    ("columns", shown.named),
    ("columns", shown.listed),
    ("columns", shown.labelled),
    ("columns", shown.numerous),
    ("columns", shown.repeated),
    ("made up", surplus.conditions),
    ("measure", surplus.amounts),
    ("tables", surplus.tables),
    ("columns", surplus.columns),
    ("empty", shown.empty),
)
"""Rules that go by the little words of English as well."""
