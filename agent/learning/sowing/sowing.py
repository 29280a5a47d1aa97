"""From a lexicon to episodes: compose, run under the guard, keep what shows rows and what its own question covers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.drafting.coverage import doubts
from agent.learning.questions import Pair
from agent.learning.seed import Source, Unverified, episode_of, verify
from agent.learning.sowing.composing import Sown, compose
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
SECONDS = 60.0
"""Time past which nothing more is tried."""
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

    `run` checks and runs SQL. The same database gives the same episodes, as long as `seconds` are enough.
    """
    until = time.monotonic() + seconds
    schema = lexicon.schema
    source = Source(f"sown:{schema.name}", VERIFIER, sown_batch(schema), schema.fingerprint, schema.dialect)
    filled: set[str] = set()
    asked: set[str] = set()
    found: list[Episode] = []
    for sown in compose(survey(lexicon, run), schema.dialect):
        if len(found) == MOST_PAIRS or time.monotonic() > until:
            break
        if sown.slot in filled or sown.question in asked:
            continue
        pair = _pair(sown)
        try:
            result = verify(pair, run=run)
            understood = understand(read_question(pair.question))
        except (Unverified, QuestionError):
            continue
        if not _says_something(result) or doubts(understood, pair.sql, result, lexicon=lexicon):
            continue
        filled.add(sown.slot)
        asked.add(sown.question)
        found.append(episode_of(pair, result, understood, source))
    return tuple(found)


def sown_batch(schema: Schema) -> str:
    """The batch of what is sown from a schema."""
    return f"sown:{schema.name}:{schema.fingerprint[:12]}"


def _pair(sown: Sown) -> Pair:
    return Pair(
        id=sown.slot,
        question=sown.question,
        sql=sown.sql,
        others=(),
        ordered=sown.ordered,
        type=sown.type,
        difficulty="",
        language="en",
        line=0,
    )


def _says_something(result: Result) -> bool:
    """Whether there is more than a lone zero to see."""
    return len(result.rows) > 1 or any(cell not in (None, 0) for row in result.rows for cell in row)
