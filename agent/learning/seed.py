"""Seed packs: curated episodes, each run and checked before it is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.attempt import Understood
from agent.database.comparing import same
from agent.database.fingerprint import fingerprint
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.database.skeleton import normalise, skeleton
from agent.learning.questions import Pair
from agent.question import QuestionError, read_question
from memory.episode import Episode


@dataclass(frozen=True, slots=True)
class Refused:
    """A pair that was not remembered, by name, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SeedReport:
    """How a pack fared: `remembered` now, `known` before, `refused` by name.

    `unvouched` counts those not refused that have no `check_sql`: their SQL runs, and nothing else says it is right.
    """

    pack: str
    batch: str
    remembered: int
    known: int
    refused: tuple[Refused, ...]
    unvouched: int = 0


class Unverified(Exception):
    """A pair whose SQL is wrong, does not run, or shows nothing."""


def verify(pair: Pair, *, run: Callable[[str], Result]) -> Result:
    """Run a pair's SQL and every other formulation of it; give the result on which all agree.

    `run` checks and runs SQL. Raises Unverified.
    """
    try:
        result = run(pair.sql)
    except (QueryRejected, QueryFailed) as problem:
        raise Unverified(f"its SQL does not run: {problem}") from problem
    if result.truncated:
        raise Unverified(f"its result is cut at {len(result.rows):,} rows, so it cannot be compared")
    if not any(cell is not None for row in result.rows for cell in row):
        raise Unverified("its result is empty, which proves nothing")
    for other in pair.others:
        try:
            agrees = same(result, run(other), ordered=pair.ordered)
        except (QueryRejected, QueryFailed) as problem:
            raise Unverified(f"its check does not run: {problem}") from problem
        if not agrees:
            raise Unverified("its check gives another result")
    return result


@dataclass(frozen=True, slots=True)
class Source:
    """Who writes episodes and what vouches for them. `schema` is the fingerprint they are verified on."""

    origin: str
    verifier: str
    batch: str
    schema: str
    dialect: str


def verified(
    pairs: Iterable[Pair],
    *,
    run: Callable[[str], Result],
    understand: Callable[[str], Understood],
    source: Callable[[Pair], Source],
) -> tuple[tuple[Episode, ...], tuple[Refused, ...]]:
    """Make an episode of each pair that holds; name the others with the reason.

    `run` checks and runs SQL, `source` says who writes a pair and what vouches for it.
    """
    episodes, refused = [], []
    for pair in pairs:
        try:
            result = verify(pair, run=run)
            understood = understand(read_question(pair.question))
        except (Unverified, QuestionError) as problem:
            refused.append(Refused(pair.id, str(problem)))
        else:
            episodes.append(episode_of(pair, result, understood, source(pair)))
    return tuple(episodes), tuple(refused)


def episode_of(pair: Pair, result: Result, understood: Understood, source: Source) -> Episode:
    """Make the episode of a verified pair."""
    return Episode(
        bucket=understood.bucket,
        kind=understood.intent.kind,
        tables=understood.intent.tables,
        question=understood.grounding.question,
        masked=understood.masked,
        sql=normalise(pair.sql, source.dialect),
        skeleton=skeleton(pair.sql, source.dialect),
        origin=source.origin,
        verifier=source.verifier,
        batch=source.batch,
        schema_fingerprint=source.schema,
        result_fingerprint=fingerprint(result, ordered=pair.ordered),
    )


def episode_of_attempt(body: Mapping[str, Any], sql: str, result: Result, source: Source) -> Episode:
    """Make the episode that says this SQL, which gave this result, to the question of a settled attempt."""
    return Episode(
        bucket=body["bucket"],
        kind=body["kind"],
        tables=tuple(body["tables"]),
        question=body["question"],
        masked=body["masked"],
        sql=normalise(sql, source.dialect),
        skeleton=skeleton(sql, source.dialect),
        origin=source.origin,
        verifier=source.verifier,
        batch=source.batch,
        schema_fingerprint=source.schema,
        result_fingerprint=fingerprint(result, ordered=False),
    )
