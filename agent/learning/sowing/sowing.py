"""From a lexicon to episodes: compose, run under the guard, keep what shows rows and what its own question covers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.database.result import QueryFailed
from agent.drafting.coverage import doubts
from agent.learning.questions import Pair
from agent.learning.seed import Source, Unverified, episode_of, verify
from agent.learning.sowing.asking import Sown
from agent.learning.sowing.composing import compose
from agent.learning.sowing.survey import survey
from agent.question import QuestionError, read_question

if TYPE_CHECKING:
    from agent.attempt import Understood
    from agent.database.result import Result
    from agent.database.schema import Schema
    from agent.linking import Lexicon
    from memory.episode import Episode

MOST_PAIRS = 200
"""Pairs that are sown at most."""
SECONDS = 30.0
"""Time that the queries may take together; past it nothing more is tried."""
SAMPLED = 20_000
"""Rows of a large table on which a query is tried, in place of all."""
VERIFIER = "execution"
"""What vouches for a sown episode: it ran and showed rows. Any other word is stronger."""


def sow(
    *,
    lexicon: Lexicon,
    run: Callable[[str], Result],
    understand: Callable[[str], Understood],
    seconds: float = SECONDS,
) -> tuple[Episode, ...]:
    """Compose at most `MOST_PAIRS` pairs for a database and make an episode of each that holds.

    `run` checks and runs SQL. The kinds of pairs take turns, each up to its measure; where some have fewer, the others
    give more. The same database gives the same episodes, as long as its queries take no longer than `seconds`.
    """
    trial = _Trial(lexicon, run, understand, seconds)
    things = survey(lexicon, trial.run)
    trial.large = frozenset(thing.table for thing in things if thing.large)
    found: list[Episode] = []
    kinds = compose(things, lexicon.schema.dialect)
    for whole in (False, True):
        left = {place: MOST_PAIRS if whole else most for place, (_, most) in enumerate(kinds)}
        while left and len(found) < MOST_PAIRS:
            for place in tuple(left):
                episode = next((e for sown in kinds[place][0] if (e := trial.episode(sown)) is not None), None)
                left[place] -= 1
                if episode is not None and len(found) < MOST_PAIRS:
                    found.append(episode)
                if episode is None or not left[place]:
                    del left[place]
    return tuple(found)


class _Trial:
    """Tries pairs one by one, and remembers which slots are filled and how much time is left."""

    def __init__(
        self,
        lexicon: Lexicon,
        run: Callable[[str], Result],
        understand: Callable[[str], Understood],
        seconds: float,
    ) -> None:
        self.large: frozenset[str] = frozenset()
        self._lexicon = lexicon
        self._run = run
        self._understand = understand
        self._left = seconds
        self._filled: set[str] = set()
        schema = lexicon.schema
        self._dialect = schema.dialect
        self._source = Source(f"sown:{schema.name}", VERIFIER, sown_batch(schema), schema.fingerprint, schema.dialect)

    def run(self, sql: str) -> Result:
        """Check and run SQL, as long as there is time. Raises QueryRejected, QueryFailed."""
        if self._left <= 0:
            raise QueryFailed("There is no time left.", kind="deadline")
        began = time.monotonic()
        try:
            return self._run(sql)
        finally:
            self._left -= time.monotonic() - began

    def episode(self, sown: Sown) -> Episode | None:
        """The episode of a pair that runs, shows something, and whose question is covered by its query."""
        if self._left <= 0 or not self._filled.isdisjoint((sown.slot, sown.question)):
            return None
        pair = _pair(sown)
        tried = replace(pair, sql=sampled(pair.sql, self.large, self._dialect)) if self.large else pair
        try:
            result = verify(tried, run=self.run)
            understood = self._understand(read_question(pair.question))
        except (Unverified, QuestionError):
            return None
        if not _says_something(result) or doubts(understood, pair.sql, result, lexicon=self._lexicon):
            return None
        self._filled |= {sown.slot, sown.question}
        episode = episode_of(pair, result, understood, self._source)
        # What a part of the rows gave is not what the query returns.
        return episode if tried.sql == pair.sql else replace(episode, result_fingerprint="")


def sampled(sql: str, large: frozenset[str], dialect: str) -> str:
    """A query over the first rows only of some tables; the same text where it reads none of them.

    >>> sampled("SELECT COUNT(*) FROM a JOIN b ON b.x = a.x", frozenset({"b"}), "sqlite")
    'SELECT COUNT(*) FROM a JOIN (SELECT * FROM b LIMIT 20000) AS b ON b.x = a.x'
    """
    from sqlglot import exp

    from agent.database.dialects import dialect as read_dialect
    from agent.database.guard import parse_query

    tree = parse_query(sql, dialect)
    found = [table for table in tree.find_all(exp.Table) if table.name in large]
    if not found:
        return sql
    for table in found:
        alias = table.args.get("alias")
        name = alias.this if alias is not None else table.this
        bare = exp.Table(this=table.this.copy())
        some = exp.select("*").from_(bare).limit(SAMPLED).subquery(alias=name.copy())
        table.replace(some)
    return tree.sql(read_dialect(dialect))


def sown_batch(schema: Schema) -> str:
    """The batch of what is sown from a schema."""
    return f"sown:{schema.name}:{schema.fingerprint[:12]}"


def _pair(sown: Sown) -> Pair:
    return Pair(
        id=sown.slot,
        question=sown.question,
        sql=sown.sql,
        others=(),
        ordered=False,
        type=sown.type,
        difficulty="",
        language="en",
        line=0,
    )


def _says_something(result: Result) -> bool:
    """Whether there is more than a lone zero to see."""
    return len(result.rows) > 1 or any(cell not in (None, 0) for row in result.rows for cell in row)
