"""Vectors of episodes are made once, shared by all processes, and leave with their episode."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pytest
from sqlalchemy import text

from memory import opening
from memory.embedder import MiniLM
from memory.episode import Episode
from memory.ledger import Ledger
from memory.outbox import drain
from memory.recall import Recall, indexed_text
from memory.reference_store import ReferenceStore
from memory.vectors import KeptVectors

if TYPE_CHECKING:
    from memory.embedder import Vector

GERMANY = Episode(
    bucket="b1",
    kind="count",
    tables=("Customers",),
    question="How many customers are in Germany?",
    masked="How many customers are in <value>?",
    sql="SELECT COUNT(*) FROM Customers WHERE Country = 'Germany'",
    skeleton="SELECT COUNT(*) FROM _ WHERE _ = ?",
    origin="seed:own",
    verifier="gold",
    batch="seed",
    schema_fingerprint="now",
    result_fingerprint="r",
)
CONTACTS = replace(GERMANY, bucket="b2", question="List the contacts", masked="List the contacts", sql="SELECT 1")
FREIGHT = replace(GERMANY, bucket="b3", question="Freight in 1997?", masked="Freight in <time>?", sql="SELECT 2")
EPISODES = (GERMANY, CONTACTS, FREIGHT)


class Counted:
    """The real embedder, and every text it was given."""

    def __init__(self, embedder: MiniLM, id: str = MiniLM.id) -> None:
        self.id, self.dimensions = id, embedder.dimensions
        self._embedder = embedder
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.texts.extend(texts)
        return self._embedder.embed(texts)


@pytest.fixture
def reopen(where: str) -> Iterator[Callable[[], Ledger]]:
    opened: list[Ledger] = []

    def again() -> Ledger:
        opened.append(Ledger.open(where, database="shop"))
        return opened[-1]

    yield again
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(reopen: Callable[[], Ledger]) -> Ledger:
    ledger = reopen()
    with ledger.transaction() as entry:
        for episode in EPISODES:
            entry.remember(episode)
    return ledger


def kept(ledger: Ledger) -> set[tuple[str, str]]:
    with ledger.connection() as connection:
        return set(connection.execute(text("SELECT episode, part FROM vectors")).tuples())


def test_each_text_is_embedded_once_also_for_other_processes(
    ledger: Ledger, reopen: Callable[[], Ledger], embedder: MiniLM
) -> None:
    first = Counted(embedder)
    made = KeptVectors(ledger=ledger, embedder=first).of(EPISODES, "masked")
    assert first.texts == [episode.masked for episode in EPISODES]
    later = Counted(embedder)
    found = KeptVectors(ledger=reopen(), embedder=later).of((FREIGHT, GERMANY, CONTACTS), "masked")
    assert later.texts == []
    assert [vector.tolist() for vector in found] == [made[2].tolist(), made[0].tolist(), made[1].tolist()]
    exact = embedder.embed([episode.masked for episode in EPISODES])
    assert all(vector.dtype == numpy.float32 for vector in (*made, *found))
    assert numpy.array(made) == pytest.approx(numpy.array(exact), abs=1e-3)


def test_question_and_masked_question_are_kept_apart(ledger: Ledger, embedder: MiniLM) -> None:
    vectors = KeptVectors(ledger=ledger, embedder=embedder)
    [masked], [question] = vectors.of([GERMANY], "masked"), vectors.of([GERMANY], "question")
    assert masked.tolist() != question.tolist()
    assert kept(ledger) == {(str(GERMANY.id), "masked"), (str(GERMANY.id), "question")}


def test_a_recall_in_a_warm_brain_embeds_what_is_asked_and_nothing_else(ledger: Ledger, embedder: MiniLM) -> None:
    store = ReferenceStore(embedder=embedder)
    drain(ledger, store, text=indexed_text)
    assert KeptVectors(ledger=ledger, embedder=embedder).fill() == 3
    assert KeptVectors(ledger=ledger, embedder=embedder).fill() == 0
    counted = Counted(embedder)
    recall = Recall(
        episodes=ledger, store=store, embedder=counted, vectors=KeptVectors(ledger=ledger, embedder=counted)
    )
    for question, masked in (("How many in Spain?", "How many in <value>?"), ("And in Peru?", "And in <value>?")):
        counted.texts.clear()
        found = recall.recall(bucket="b1", kind="count", tables=("Customers",), question=question, masked=masked)
        assert len(found) == 3
        assert set(counted.texts) == {question, masked}


def test_what_is_made_while_recalling_scores_as_what_was_kept(ledger: Ledger, embedder: MiniLM) -> None:
    store = ReferenceStore(embedder=embedder)
    drain(ledger, store, text=indexed_text)

    def recalled() -> list[tuple[object, float]]:
        vectors = KeptVectors(ledger=ledger, embedder=embedder)
        recall = Recall(episodes=ledger, store=store, embedder=embedder, vectors=vectors)
        found = recall.recall(
            bucket="b9", kind="list", tables=(), question="Freight in 1998?", masked="Freight in <time>?"
        )
        return [(one.episode.id, one.score) for one in found]

    assert kept(ledger) == set()
    assert recalled() == recalled()
    assert {episode for episode, part in kept(ledger) if part == "masked"} == {str(one.id) for one in EPISODES}


def test_vectors_of_another_embedder_are_made_anew_and_replaced(ledger: Ledger, embedder: MiniLM) -> None:
    KeptVectors(ledger=ledger, embedder=Counted(embedder, "older")).fill()
    newer = Counted(embedder, "newer")
    assert KeptVectors(ledger=ledger, embedder=newer).fill() == 3
    assert len(newer.texts) == 3
    assert len(kept(ledger)) == 3
    again = Counted(embedder, "newer")
    KeptVectors(ledger=ledger, embedder=again).of(EPISODES, "masked")
    assert again.texts == []


def test_a_vector_of_the_wrong_length_is_made_anew(ledger: Ledger, embedder: MiniLM) -> None:
    vectors = KeptVectors(ledger=ledger, embedder=embedder)
    whole = vectors.of([GERMANY], "masked")
    with ledger.transaction() as entry:
        entry.connection.execute(text("UPDATE vectors SET vector = :cut"), {"cut": b"1234"})
    again = vectors.of([GERMANY], "masked")
    assert [vector.tolist() for vector in again] == [vector.tolist() for vector in whole]
    assert len(kept(ledger)) == 1


@pytest.mark.parametrize("how", ["forget", "erase"])
def test_an_episode_that_goes_takes_its_vectors_along_and_none_come_back(
    ledger: Ledger, embedder: MiniLM, how: str
) -> None:
    vectors = KeptVectors(ledger=ledger, embedder=embedder)
    vectors.fill()
    vectors.of(EPISODES, "question")
    with ledger.transaction() as entry:
        assert entry.forget(GERMANY.id, "wrong") if how == "forget" else entry.erase(GERMANY.id)
    others = {(str(one.id), part) for one in (CONTACTS, FREIGHT) for part in ("masked", "question")}
    assert kept(ledger) == others
    # A recall that began before may still ask for them.
    assert len(vectors.of(EPISODES, "masked")) == 3
    assert vectors.fill() == 0
    assert kept(ledger) == others
    assert ledger.verify().ok


def test_no_byte_of_an_erased_vector_is_left_in_the_files(tmp_path: Path, embedder: MiniLM) -> None:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as ledger:
        with ledger.transaction() as entry:
            for episode in EPISODES:
                entry.remember(episode)
        vectors = KeptVectors(ledger=ledger, embedder=embedder)
        pieces = [vector.astype("<f2").tobytes()[40:80] for vector in vectors.of(EPISODES, "masked")]

        def holding(piece: bytes) -> list[str]:
            return [path.name for path in tmp_path.iterdir() if piece in path.read_bytes()]

        assert all(map(holding, pieces)), "the search must be able to find what is there"
        with ledger.transaction() as entry:
            entry.erase(GERMANY.id)
        assert holding(pieces[0]) == []
        assert holding(pieces[1]) and holding(pieces[2])


def test_a_brain_that_has_no_such_table_gets_it(
    ledger: Ledger, reopen: Callable[[], Ledger], embedder: MiniLM, where: str
) -> None:
    with ledger.transaction() as entry:
        entry.connection.execute(text("DROP TABLE vectors"))
    ledger.close()
    again = reopen()
    assert KeptVectors(ledger=again, embedder=embedder).fill() == 3
    assert again.verify().ok


def test_a_brain_that_cannot_be_written_now_still_gives_vectors(
    tmp_path: Path, embedder: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "PATIENCE", 0.05)
    file = tmp_path / "brain.sqlite"
    with Ledger.open(file, database="shop") as ledger:
        with ledger.transaction() as entry:
            entry.remember(GERMANY)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert len(KeptVectors(ledger=ledger, embedder=embedder).of([GERMANY], "masked")) == 1
        assert kept(ledger) == set()


def test_thousands_are_filled_in_parts(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, embedder: MiniLM) -> None:
    monkeypatch.setattr("memory.vectors._AT_ONCE", 2)
    vectors = KeptVectors(ledger=ledger, embedder=embedder)
    assert vectors.fill() == 3
    assert len(vectors.of(EPISODES, "masked")) == 3
    assert len(kept(ledger)) == 3


def test_reading_vectors_and_episodes_by_id_goes_through_an_index(tmp_path: Path, embedder: MiniLM) -> None:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as ledger:
        with ledger.transaction() as entry:
            for episode in EPISODES:
                entry.remember(episode)
        vectors = KeptVectors(ledger=ledger, embedder=embedder)
        vectors.fill()
        seen: list[tuple[str, object]] = []
        from sqlalchemy import event

        def note(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
            seen.append((statement, parameters))

        event.listen(ledger._engine, "before_cursor_execute", note)
        vectors.of(EPISODES, "masked")
        ledger.by_ids([episode.id for episode in EPISODES])
        ledger.first_of(["b1", "b2"])
        event.remove(ledger._engine, "before_cursor_execute", note)
        read = [(statement, given) for statement, given in seen if statement.startswith("SELECT")]
        assert len(read) == 3
        with ledger.connection() as connection:
            for statement, given in read:
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given).all()  # type: ignore[arg-type]
                assert not [row.detail for row in plan if row.detail.startswith("SCAN")], statement
