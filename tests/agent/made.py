"""What tests make again and again: how a question is read, and an episode of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent.attempt import Understood
from agent.database.skeleton import normalise, skeleton
from agent.grounding import ground
from agent.intent import bucket_of, mask, predict
from memory.episode import Episode

if TYPE_CHECKING:
    from agent.grounding import Lexicon


def read(question: str, lexicon: Lexicon) -> Understood:
    """A question as the application understands it."""
    grounding = ground(question, lexicon)
    intent = predict(question, grounding)
    return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))


def episode_of(understood: Understood, sql: str, **known: str) -> Episode:
    """An episode that a person vouched for, of a question as it is understood and a query of SQLite."""
    made = Episode(
        bucket=understood.bucket,
        kind=understood.intent.kind,
        tables=understood.intent.tables,
        question=understood.grounding.question,
        masked=understood.masked,
        sql=normalise(sql, "sqlite"),
        skeleton=skeleton(sql, "sqlite"),
        origin="test",
        verifier="person",
        batch="test",
        schema_fingerprint="",
        result_fingerprint="",
    )
    return replace(made, **known)  # type: ignore[arg-type]
