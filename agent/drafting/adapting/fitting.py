"""One remembered query made to fit one question, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from agent.database.dialects import dialect as read_dialect
from agent.database.guard import parse_query
from agent.database.naming import quoted
from agent.database.result import QueryRejected
from agent.database.skeleton import normalise
from agent.drafting.adapting.amounts import fit_aggregate, fit_amounts, fit_distinct, fit_pair, fit_rounding
from agent.drafting.adapting.calls import calls
from agent.drafting.adapting.dating import fit_grain, fit_times
from agent.drafting.adapting.explaining import explain
from agent.drafting.adapting.filters import fit_conditions, fit_patterns, fit_values, fit_words, put_in
from agent.drafting.adapting.halves import fit_halves, read_own_tables
from agent.drafting.adapting.headings import fit_headings
from agent.drafting.adapting.numbers import check_numbers, fit_factor, fit_numbers
from agent.drafting.adapting.parting import fit_names_shown, show_referred
from agent.drafting.adapting.reshaping import fit_ends, fit_shape
from agent.drafting.adapting.rows import fit_direction, fit_limit, fit_offset, fit_order
from agent.drafting.adapting.showing import fit_shown
from agent.drafting.adapting.sources import (
    complete_groups,
    denied,
    drop_unused,
    loose_columns,
    show_each_once,
    sources_of,
    sources_of_top,
    tables_used,
)
from agent.drafting.adapting.things import fit_things
from agent.drafting.adapting.work import Misfit, Remembered, Work
from agent.drafting.joining import joined, unjoined
from agent.drafting.saying import Said, said
from agent.quantities import superlatives

if TYPE_CHECKING:
    from agent.attempt import Understood
    from agent.linking import Lexicon
    from memory.episode import Episode


@dataclass(frozen=True, slots=True)
class Adapted:
    """A query for a question, what was changed in the remembered one, in words, and how hard that was.

    `strain` is 0 for other literals of the same columns, and grows with all that is less certain than that.
    """

    sql: str
    notes: tuple[str, ...]
    strain: float


def remembered(episode: Episode, understood: Understood, lexicon: Lexicon) -> Remembered:
    """Read an episode once for all questions that it is adapted to. `understood` is its own question."""
    dialect = lexicon.schema.dialect
    try:
        loose = unjoined(parse_query(normalise(episode.sql, dialect), dialect), lexicon=lexicon)
    except (QueryRejected, RecursionError):
        loose = None
    return Remembered(episode, understood, said(understood.grounding, lexicon), loose)


def adapt(known: Remembered, asked: Understood, *, lexicon: Lexicon, speaks: Said | None = None) -> Adapted | None:
    """Make the query of an episode fit a question; None where it cannot be. Never raises for what they hold.

    `speaks` is what `said` gives for the question, for those who adapt several episodes to it.
    """
    try:
        return _adapted(Work(known, asked, speaks or said(asked.grounding, lexicon), lexicon))
    except (Misfit, QueryRejected, RecursionError):
        return None


def _adapted(work: Work) -> Adapted:
    scopes = list(work.tree.find_all(exp.Select))
    used = {id(scope): tables_used(work, scope) for scope in scopes}
    ungrouped = {id(scope): loose_columns(work, scope) for scope in scopes}
    _check_kind(work)
    work.held = explain(work)
    fit_limit(work)
    fit_offset(work)
    fit_direction(work)
    fit_factor(work)
    fit_numbers(work)
    fit_words(work)
    wanted = [*fit_values(work), *fit_patterns(work), *fit_times(work), *fit_conditions(work)]
    fit_amounts(work)
    fit_aggregate(work)
    fit_distinct(work)
    fit_pair(work)
    fit_rounding(work)
    fit_things(work)
    fit_names_shown(work)
    fit_grain(work)
    put_in(work, [*wanted, *work.thresholds])
    fit_ends(work)
    fit_shape(work)
    fit_shown(work)
    complete_groups(work, ungrouped)
    fit_order(work)
    drop_unused(work, used)
    show_each_once(work, used)
    fit_halves(work)
    read_own_tables(work)
    check_numbers(work)
    for node in work.tree.find_all(exp.SetOperation):
        if node.this == node.expression:
            # What told the two sides apart is gone.
            raise Misfit
    for scope in denied(work):
        if _is_whole(work, scope):
            # No row of a table lacks itself.
            raise Misfit
    whole = joined(work.tree, lexicon=work.lexicon)
    if whole is None:
        raise Misfit
    show_referred(work, whole)
    fit_headings(work, whole)
    for name in whole.find_all(exp.Identifier):
        name.set("quoted", quoted(name.name, work.dialect) != name.name)
    return Adapted(whole.sql(read_dialect(work.dialect), comments=False), tuple(work.notes), round(work.strain, 2))


def _is_whole(work: Work, scope: exp.Select) -> bool:
    """Whether a SELECT behind NOT IN reads all rows of the table that the query around it reads, and no other."""
    parts = ("where", "having", "limit", "joins", "with_")
    shown = scope.expressions[0].unalias() if len(scope.expressions) == 1 else None
    if not isinstance(shown, exp.Column) or any(scope.args.get(part) for part in parts):
        return False
    tables = tables_used(work, scope) | sources_of(work, scope)
    keys = work.lexicon.primary_keys.get(shown.table, ())
    return tables == {shown.table} <= sources_of_top(work) and keys == (shown.name,)


def _check_kind(work: Work) -> None:
    """Strain what differs on the whole: the kind of answer, the language, a `not`, and what is asked of amounts."""
    if work.of_other_kind:
        work.bend(1.5)
    if work.then.english != work.now.english:
        work.bend(0.2)
    if bool(work.then.negations) != bool(work.now.negations):
        work.bend(1.0)
    work.bend(0.4 * len(work.old.aggregates ^ work.new.aggregates))
    if "AVG" in work.old.aggregates - work.new.aggregates:
        work.bend(0.4)
    ends = superlatives(work.then.question) and not superlatives(work.now.question)
    if ends and any(calls(work.tree, "MIN", "MAX")):
        work.bend(1.5)
