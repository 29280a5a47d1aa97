"""Vectors of what remembered episodes say, kept so that recall embeds nothing but the question asked.

A cache in the ledger's database and no part of its history: what is missing, or was made by another embedder, is made
anew. It leaves with its episode, as a vector tells much of its text.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, Engine, LargeBinary, MetaData, String, Table, delete, insert, inspect, select

from memory.embedder import Embedder
from memory.episode import Episode, Part
from memory.errors import BrainError
from memory.opening import explained
from memory.tables import EPISODES

if TYPE_CHECKING:
    from memory.embedder import Vector
    from memory.ledger import Ledger

VECTORS = Table(
    "vectors",
    MetaData(),
    Column("episode", String(36), primary_key=True),
    Column("part", String(10), primary_key=True, comment="which of its texts: question or masked"),
    Column("embedder", String(60), nullable=False),
    Column("vector", LargeBinary, nullable=False, comment="float16, little-endian"),
)

_AT_ONCE = 500
"""Episodes in one statement: both databases take that many parameters."""


def _batched(ids: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(ids)
    while some := list(islice(rest, size)):
        yield some


def create(engine: Engine) -> None:
    """Make the table where it is missing, in a brain of any age."""
    with explained(engine), engine.connect() as connection:
        there = inspect(connection).has_table(VECTORS.name)
    if not there:
        with explained(engine), engine.connect().execution_options(writes=True) as connection, connection.begin():
            VECTORS.create(connection, checkfirst=True)


def remove(connection: Connection, episode: uuid.UUID) -> None:
    """Take out all that was kept of one episode."""
    connection.execute(delete(VECTORS).where(VECTORS.c.episode == str(episode)))


class KeptVectors:
    """Gives each text of an episode its vector: the kept one, or a new one that is then kept.

    In half precision, kept or new, so that a question finds the same in every process: 768 bytes each.
    """

    def __init__(self, *, ledger: Ledger, embedder: Embedder) -> None:
        self._ledger = ledger
        self._embedder = embedder

    def of(self, episodes: Sequence[Episode], part: Part) -> list[Vector]:
        """One vector per episode, in order, of its `question` or its `masked` question.

        Raises:
            EmbedderError: one is missing and the embedding model cannot run.
        """
        ids = [str(episode.id) for episode in episodes]
        found = self._read(ids, part)
        missing = {id: getattr(one, part) for id, one in zip(ids, episodes, strict=True) if id not in found}
        if missing:
            found |= self._made(missing, part)
        return [found[id] for id in ids]

    def fill(self) -> int:
        """Embed the masked question of every active episode that has no vector yet, and give how many had none.

        Without it the first recalls do so. Raises EmbedderError.
        """
        kept = select(VECTORS.c.episode).where(VECTORS.c.part == "masked", VECTORS.c.embedder == self._embedder.id)
        with self._ledger.connection() as connection:
            wanting = connection.execute(
                select(EPISODES.c.id).where(EPISODES.c.state == "active", EPISODES.c.id.not_in(kept))
            ).scalars()
            ids = list(wanting)
        for some in _batched(ids, _AT_ONCE):
            self.of(self._ledger.by_ids(map(uuid.UUID, some)), "masked")
        return len(ids)

    def _read(self, ids: Sequence[str], part: Part) -> dict[str, Vector]:
        import numpy

        found: dict[str, Vector] = {}
        with self._ledger.connection() as connection:
            for some in _batched(ids, _AT_ONCE):
                wanted = select(VECTORS.c.episode, VECTORS.c.vector).where(
                    VECTORS.c.episode.in_(some),
                    VECTORS.c.part == part,
                    VECTORS.c.embedder == self._embedder.id,
                )
                for episode, kept in connection.execute(wanted):
                    if len(kept) != 2 * self._embedder.dimensions:
                        continue
                    found[episode] = numpy.frombuffer(kept, dtype="<f2").astype(numpy.float32)
        return found

    def _made(self, texts: Mapping[str, str], part: Part) -> dict[str, Vector]:
        halves = [vector.astype("<f2") for vector in self._embedder.embed(list(texts.values()))]
        made = dict(zip(texts, halves, strict=True))
        # A recall does not fail because its brain is full or held by another process.
        with suppress(BrainError), self._ledger.transaction() as entry:
            for some in _batched(made, _AT_ONCE):
                active = select(EPISODES.c.id).where(EPISODES.c.id.in_(some), EPISODES.c.state == "active")
                rows = [
                    {"episode": id, "part": part, "embedder": self._embedder.id, "vector": made[id].tobytes()}
                    for id in entry.connection.execute(active).scalars()
                ]
                known = VECTORS.c.episode.in_(some), VECTORS.c.part == part
                entry.connection.execute(delete(VECTORS).where(*known))
                if rows:
                    entry.connection.execute(insert(VECTORS), rows)
        return {id: half.astype("float32") for id, half in made.items()}
