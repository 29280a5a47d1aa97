"""What tests make again and again: how a question is read, and an episode of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from agent.attempt import Understood
from agent.database.reading import Database, open_database
from agent.database.skeleton import normalise, skeleton
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.learning.teaching import read_glossary
from memory.episode import Episode


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


@contextmanager
def open_northwind() -> Iterator[tuple[Database, Lexicon]]:
    """The shipped database, and all that a question can link to in it, its glossary included."""
    data = Path(__file__).resolve().parents[2] / "data"
    with closing(open_database(str(data / "northwind.sqlite"))) as database:
        terms = read_glossary(data / "glossary" / "northwind.toml", database.schema, warn=_fail)
        yield database, Lexicon(database.schema, database.facts, terms)


def _fail(fault: str) -> None:
    raise AssertionError(fault)
