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
from agent.drafting.adapting.numbers import check_numbers, fit_numbers
from agent.drafting.adapting.parting import fit_names_shown, show_referred
from agent.drafting.adapting.reshaping import fit_ends, fit_shape
from agent.drafting.adapting.rows import fit_direction, fit_limit, fit_offset
from agent.drafting.adapting.showing import fit_shown
from agent.drafting.adapting.sources import drop_unused, show_each_once, tables_used
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
    used = {id(scope): tables_used(work, scope) for scope in work.tree.find_all(exp.Select)}
    _check_kind(work)
    work.held = explain(work)
    fit_limit(work)
    fit_offset(work)
    fit_direction(work)
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
    drop_unused(work, used)
    show_each_once(work, used)
    fit_halves(work)
    read_own_tables(work)
    check_numbers(work)
    for node in work.tree.find_all(exp.SetOperation):
        if node.this == node.expression:
            # What told the two sides apart is gone.
            raise Misfit
    whole = joined(work.tree, lexicon=work.lexicon)
    if whole is None:
        raise Misfit
    show_referred(work, whole)
    for name in whole.find_all(exp.Identifier):
        name.set("quoted", quoted(name.name, work.dialect) != name.name)
    return Adapted(whole.sql(read_dialect(work.dialect), comments=False), tuple(work.notes), round(work.strain, 2))


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
