"""A bakery to ask about: a small real database with its own brain, opened the way the application does."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent import ask as loop
from agent.app import decline
from agent.attempt import USUAL, Attempt, Effort, Replay, Understood
from agent.database.guard import CheckedQuery, check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.drafting.approaches import Material, approach_named
from agent.drafting.crafting import Crafting
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.journal import LedgerJournal
from agent.learning.feedback import Teacher
from agent.models.port import Model, ModelError, Reply
from agent.models.recorded import ScriptedModel
from agent.prompt import stable_part
from agent.settings import Levers
from memory.embedder import MiniLM
from memory.episode import Episode
from memory.ledger import EventKind, Ledger
from memory.outbox import drain
from memory.recall import Recall, Recalled, indexed_text
from memory.reference_store import ReferenceStore
from procedural.store import SynapseStore, replayed
from procedural.synapse import Synapse

Habit = Callable[[Understood], Replay | None]


def _no_habit(_understood: Understood) -> None:
    """Nothing is so well learned."""


NO_LEVERS = Levers.read("none")

BAKERY = """
CREATE TABLE Bakers (BakerID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Town TEXT);
CREATE TABLE Breads (BreadID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Price REAL, Flour TEXT);
CREATE TABLE "Daily Sales" (
  SaleID INTEGER PRIMARY KEY,
  BreadID INTEGER REFERENCES Breads(BreadID),
  BakerID INTEGER REFERENCES Bakers(BakerID),
  SoldOn TEXT,
  Pieces INTEGER
);
INSERT INTO Bakers VALUES (1, 'Ottilie Brandt', 'Linz'), (2, 'Pavel Novy', 'Graz'), (3, 'Mira Sand', 'Linz');
INSERT INTO Breads VALUES (1, 'Rye Loaf', 4.5, 'rye'), (2, 'Poppy Roll', 0.9, 'wheat'), (3, 'Spelt Ring', 3.2, 'spelt');
INSERT INTO "Daily Sales" VALUES
  (1, 1, 1, '2021-03-01', 12), (2, 2, 1, '2021-03-01', 80), (3, 3, 2, '2021-03-02', 7),
  (4, 1, 3, '2022-01-05', 9), (5, 2, 2, '2022-01-05', 64);
"""


@dataclass(kw_only=True)
class Bakery:
    """The database and a brain about it. `ask` and `teacher` are wired as in the application."""

    path: Path
    database: Database
    lexicon: Lexicon
    ledger: Ledger
    synapses: SynapseStore
    store: ReferenceStore
    recall: Recall
    memory: bool = True
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))

    def recalled(self, understood: Understood, limit: int = 3) -> tuple[Recalled, ...]:
        if not self.memory:
            return ()
        return self.recall.recall(
            bucket=understood.bucket,
            kind=understood.intent.kind,
            tables=understood.intent.tables,
            question=understood.grounding.question,
            masked=understood.masked,
            limit=limit,
        )

    def check(self, sql: str) -> CheckedQuery:
        return check(sql, self.database.schema)

    def run(self, query: CheckedQuery) -> Result:
        return self.database.run(query.sql)

    def material(self, understood: Understood, **known: Any) -> Material:
        """What approaches write prompts from; `known` is what procedural memory would add."""
        stable = stable_part(self.database.schema, self.database.facts)
        return Material(stable=stable, dialect="sqlite", facts="terms", understand=self.understand, **known)

    def asking(
        self,
        question: str,
        model: Model,
        *,
        approach: str = "direct",
        habit: Habit = _no_habit,
        journal: loop.Journal | None = None,
        levers: Levers = NO_LEVERS,
        effort: Effort = USUAL,
        **known: Any,
    ) -> Iterator[Attempt]:
        """The loop on a question, wired as in the application. The attempt's id is new.

        Code does nothing about drafts beside the model, unless `levers` say so.
        """
        taken = approach_named(approach)
        assert taken is not None
        crafting = Crafting(levers=levers, lexicon=lambda: self.lexicon, understand=self.understand)

        def material(attempt: Attempt) -> Material:
            assert attempt.understood is not None
            return self.material(attempt.understood, **known)

        return loop.ask(
            Attempt(id=f"a{next(self.ids)}", question=question, model=model.name, effort=effort),
            understand=self.understand,
            decline=decline,
            recall=self.recalled,
            habit=habit,
            approach=lambda attempt: taken.chosen("asked for", material(attempt)),
            prompt=lambda attempt: taken.prompt(attempt, material(attempt)),
            model=model,
            database=self,
            journal=journal or LedgerJournal(self.ledger, schema=self.database.schema.fingerprint, dialect="sqlite"),
            craft=crafting.craft(self.nearby),
        )

    def nearby(self, attempt: Attempt) -> tuple[Recalled, ...]:
        assert attempt.understood is not None
        return self.recalled(attempt.understood, attempt.effort.adapted)

    def ask(self, question: str, *replies: Reply | str | ModelError) -> Attempt:
        """Ask with a scripted model; gives the settled attempt."""
        return list(self.asking(question, ScriptedModel(replies)))[-1]

    @property
    def teacher(self) -> Teacher:
        return Teacher(
            ledger=self.ledger,
            synapses=self.synapses,
            run=lambda sql: self.run(self.check(sql)),
            schema=self.database.schema.fingerprint,
            dialect="sqlite",
        )

    def remember(self, episodes: Sequence[Episode]) -> None:
        with self.ledger.transaction() as entry:
            for episode in episodes:
                entry.remember(episode)
        drain(self.ledger, self.store, text=indexed_text)

    def fired(self) -> tuple[Synapse, ...]:
        with self.ledger.connection() as connection:
            return self.synapses.synapses(connection)

    def prove(self) -> None:
        """The history verifies, and the synapses are what it says they are."""
        verified = self.ledger.verify()
        assert verified.ok, verified.problems
        moved = (event.content for event in self.ledger.events(kinds=(EventKind.WEIGHTS_MOVED,)))
        assert replayed(moved) == self.fired()


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    """One embedding model for all of these tests: loading it takes half a second."""
    return MiniLM()


@pytest.fixture(scope="session")
def bakery_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bakery") / "bakery.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(BAKERY)
    return path


@pytest.fixture(scope="session")
def bakery_database(bakery_file: Path) -> Iterator[Database]:
    with closing(open_database(str(bakery_file), row_cap=50)) as database:
        yield database


@pytest.fixture(scope="session")
def bakery_lexicon(bakery_database: Database) -> Lexicon:
    return Lexicon(bakery_database.schema, bakery_database.facts, ())


@pytest.fixture
def open_bakery(
    tmp_path: Path, bakery_file: Path, bakery_database: Database, bakery_lexicon: Lexicon, minilm: MiniLM
) -> Iterator[Callable[..., Bakery]]:
    """Opens a brain about the bakery; `between` is called between any two writes of its ledger."""
    opened: list[Ledger] = []

    def make(between: Callable[[str], None] = lambda _step: None) -> Bakery:
        ledger = Ledger.open(tmp_path / "brain" / "brain.sqlite", database="bakery", between=between)
        opened.append(ledger)
        synapses, store = SynapseStore(between=between), ReferenceStore(embedder=minilm)
        with ledger.transaction() as entry:
            synapses.create(entry.connection)
        return Bakery(
            path=bakery_file,
            database=bakery_database,
            lexicon=bakery_lexicon,
            ledger=ledger,
            synapses=synapses,
            store=store,
            recall=Recall(episodes=ledger, store=store, embedder=minilm),
        )

    yield make
    for ledger in opened:
        ledger.close()


@pytest.fixture
def bakery(open_bakery: Callable[..., Bakery]) -> Bakery:
    return open_bakery()
