"""Bringing a store up to date with the ledger, whatever state it was left in."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory.episode import Episode
from memory.errors import BrainDamagedError, BrainForeignError
from memory.ledger import Ledger
from memory.outbox import MARKER, Drained, Marker, drain, read_marker, reconcile, standing, write_marker
from memory.reference_store import ReferenceStore
from memory.store import Indexed, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from memory.embedder import Vector

FIRST = Episode(
    bucket="a" * 12,
    kind="count",
    tables=("Customers",),
    question="How many customers are from Germany?",
    masked="How many customers are from <value>?",
    sql="SELECT 1",
    skeleton="SELECT ?",
    origin="seed:own",
    verifier="gold",
    batch="seed-1",
    schema_fingerprint="f1",
    result_fingerprint="r1",
)
SECOND = replace(FIRST, masked="second")
OTHER = replace(FIRST, bucket="b" * 12, masked="other")


class NoEmbedder:
    """The texts are never searched here."""

    id, dimensions = "none", 1

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        raise AssertionError("nothing is searched")


class Watched(ReferenceStore):
    """A store that says what was asked of it, and breaks when told to."""

    def __init__(self) -> None:
        super().__init__(embedder=NoEmbedder())
        self.asked: list[str] = []
        self.broken = False
        self.damaged = False

    def close(self) -> None:
        """What is on the disk is deleted next, and with it what this store holds."""
        self._buckets.clear()
        self.damaged = False

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None:
        self._note(f"remember {bucket[0]} {len(episodes)}")
        super().remember(bucket, episodes)

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        self._note(f"forget {bucket[0]} {len(ids)}")
        super().forget(bucket, ids)

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        self._note(f"erase {bucket[0]} {len(survivors)}")
        super().erase(bucket, survivors)

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        self.asked.append(f"members {bucket[0]}")
        return super().members(bucket)

    def _note(self, what: str) -> None:
        if self.broken and what.split()[1] == "b":
            raise StoreError("The store broke.")
        if self.damaged and what.split()[1] == "b":
            raise StoreDamagedError("The store cannot be used.")
        self.asked.append(what)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cognee"


@pytest.fixture
def store() -> Watched:
    return Watched()


def text(episode: Episode) -> str:
    return episode.masked


def remember(ledger: Ledger, *episodes: Episode) -> None:
    with ledger.transaction() as transaction:
        for episode in episodes:
            transaction.remember(episode)


def take_out(ledger: Ledger, *, forget: Sequence[Episode] = (), erase: Sequence[Episode] = ()) -> None:
    with ledger.transaction() as transaction:
        for episode in forget:
            transaction.forget(episode.id, "it misled")
        for episode in erase:
            transaction.erase(episode.id)


def test_what_was_remembered_reaches_the_store_once_and_one_call_serves_a_bucket(
    ledger: Ledger, store: Watched, folder: Path
) -> None:
    remember(ledger, FIRST, OTHER, SECOND)
    assert drain(ledger, store, text=text, folder=folder) == Drained(3, (FIRST.bucket, OTHER.bucket), 3, 0, 0)
    assert store.asked == ["remember a 2", "remember b 1"]
    assert store.members(FIRST.bucket) == {FIRST.id, SECOND.id} and ledger.outbox() == ()
    assert drain(ledger, store, text=text, folder=folder) == Drained()
    assert ledger.verify().ok


def test_forgetting_and_erasing_reach_the_store(ledger: Ledger, store: Watched, folder: Path) -> None:
    remember(ledger, FIRST, SECOND, OTHER)
    drain(ledger, store, text=text, folder=folder)
    store.asked.clear()
    take_out(ledger, forget=[FIRST], erase=[OTHER])
    assert drain(ledger, store, text=text, folder=folder) == Drained(2, (FIRST.bucket, OTHER.bucket), 0, 1, 1)
    assert store.asked == ["forget a 1", "erase b 0"]
    assert store.members(FIRST.bucket) == {SECOND.id} and store.members(OTHER.bucket) == frozenset()


def test_what_was_remembered_and_forgotten_before_a_drain_never_reaches_the_store(
    ledger: Ledger, store: Watched, folder: Path
) -> None:
    remember(ledger, FIRST, SECOND)
    take_out(ledger, forget=[FIRST])
    drain(ledger, store, text=text, folder=folder)
    assert store.asked == ["forget a 1", "remember a 1"] and store.members(FIRST.bucket) == {SECOND.id}


def test_a_drain_in_small_parts_ends_in_the_same_state(ledger: Ledger, store: Watched, folder: Path) -> None:
    remember(ledger, FIRST, OTHER, SECOND)
    take_out(ledger, forget=[FIRST])
    taken = [drain(ledger, store, text=text, folder=folder, limit=1).changes for _ in range(5)]
    assert taken == [1, 1, 1, 1, 0]
    assert store.members(FIRST.bucket) == {SECOND.id} and store.members(OTHER.bucket) == {OTHER.id}


def test_a_replay_of_everything_changes_nothing(ledger: Ledger, store: Watched, folder: Path) -> None:
    remember(ledger, FIRST, SECOND, OTHER)
    take_out(ledger, forget=[SECOND])
    drain(ledger, store, text=text, folder=folder)
    held = store.members(FIRST.bucket), store.members(OTHER.bucket)
    with ledger.transaction() as transaction:
        transaction.connection.exec_driver_sql("UPDATE outbox SET acked = NULL")
    drain(ledger, store, text=text, folder=folder)
    assert (store.members(FIRST.bucket), store.members(OTHER.bucket)) == held


def test_when_the_store_breaks_what_it_confirmed_stays_and_the_rest_is_queued(
    ledger: Ledger, store: Watched, folder: Path
) -> None:
    remember(ledger, FIRST, OTHER)
    store.broken = True
    with pytest.raises(StoreError):
        drain(ledger, store, text=text, folder=folder)
    assert [queued.episode for queued in ledger.outbox()] == [OTHER.id]
    assert standing(ledger, folder).state == "cut_off"
    store.broken = False
    drain(ledger, store, text=text, folder=folder)
    assert store.members(OTHER.bucket) == {OTHER.id} and standing(ledger, folder).state == "current"


def test_a_store_whose_files_are_damaged_is_deleted_and_rebuilt(ledger: Ledger, store: Watched, folder: Path) -> None:
    remember(ledger, FIRST, OTHER)
    drain(ledger, store, text=text, folder=folder)
    remember(ledger, SECOND, replace(OTHER, masked="more"))
    store.damaged = True
    (folder / "broken").write_text("half a page")
    assert "cannot be used" in drain(ledger, store, text=text, folder=folder).rebuilt
    assert not (folder / "broken").exists() and standing(ledger, folder).state == "current"
    for bucket in (FIRST.bucket, OTHER.bucket):
        assert store.members(bucket) == {one.id for one in ledger.episodes(bucket)}
    assert ledger.outbox() == () and ledger.verify().ok


def test_a_store_lost_in_its_first_drain_is_rebuilt(ledger: Ledger, store: Watched, folder: Path) -> None:
    remember(ledger, FIRST, OTHER)
    store.broken = True
    with pytest.raises(StoreError):
        drain(ledger, store, text=text, folder=folder)
    shutil.rmtree(folder)
    fresh = Watched()
    drain(ledger, fresh, text=text, folder=folder)
    assert fresh.members(FIRST.bucket) == {FIRST.id} and fresh.members(OTHER.bucket) == {OTHER.id}


def test_a_store_that_is_current_is_not_asked_anything(ledger: Ledger, store: Watched, folder: Path) -> None:
    assert standing(ledger, folder).state == "new"
    remember(ledger, FIRST)
    drain(ledger, store, text=text, folder=folder)
    store.asked.clear()
    assert standing(ledger, folder).state == "current"
    assert reconcile(ledger, store, folder=folder) == () == tuple(store.asked)


def test_a_folder_that_was_copied_here_is_deleted_unopened_and_built_anew(
    ledger: Ledger, store: Watched, folder: Path
) -> None:
    remember(ledger, FIRST, OTHER)
    drain(ledger, store, text=text, folder=folder)
    copied = folder.with_name("copied")
    shutil.copytree(folder, copied)
    (copied / "of-the-original").touch()
    assert standing(ledger, copied).state == "moved"
    fresh = Watched()
    with pytest.raises(StoreDamagedError, match="copied or moved"):
        reconcile(ledger, fresh, folder=copied)
    done = drain(ledger, fresh, text=text, folder=copied)
    assert "copied or moved" in done.rebuilt and not (copied / "of-the-original").exists()
    assert fresh.members(FIRST.bucket) == {FIRST.id} and fresh.members(OTHER.bucket) == {OTHER.id}
    assert standing(ledger, copied).state == "current"


def test_buckets_of_a_drain_that_was_cut_off_are_written_anew(ledger: Ledger, store: Watched, folder: Path) -> None:
    remember(ledger, FIRST, OTHER)
    drain(ledger, store, text=text, folder=folder)
    write_marker(folder, Marker(ledger.store, ledger.generation, writing=(OTHER.bucket,)))
    store.asked.clear()
    remember(ledger, SECOND)
    drain(ledger, store, text=text, folder=folder)
    assert sorted(store.asked) == ["erase b 1", "remember a 1"]
    assert standing(ledger, folder).state == "current" and ledger.verify().ok


def test_a_lost_store_is_rebuilt_entirely(ledger: Ledger, store: Watched, folder: Path) -> None:
    remember(ledger, FIRST, SECOND, OTHER)
    take_out(ledger, forget=[SECOND])
    drain(ledger, store, text=text, folder=folder)
    shutil.rmtree(folder)
    fresh = Watched()
    assert standing(ledger, folder).state == "behind"
    drain(ledger, fresh, text=text, folder=folder)
    assert fresh.members(FIRST.bucket) == {FIRST.id} and fresh.members(OTHER.bucket) == {OTHER.id}
    assert standing(ledger, folder).state == "current" and ledger.verify().ok


def test_an_older_copy_of_the_store_is_compared_and_only_what_differs_is_written(
    ledger: Ledger, store: Watched, folder: Path
) -> None:
    remember(ledger, FIRST, OTHER)
    drain(ledger, store, text=text, folder=folder)
    old = read_marker(folder)
    assert old
    take_out(ledger, forget=[OTHER])
    drain(ledger, Watched(), text=text, folder=folder)
    write_marker(folder, old)
    store.asked.clear()
    drain(ledger, store, text=text, folder=folder)
    assert [asked for asked in store.asked if "members" not in asked] == ["erase b 0"]
    assert store.members(OTHER.bucket) == frozenset()


def test_a_thorough_reconcile_finds_what_the_store_lost_or_kept_too_much_of(
    ledger: Ledger, store: Watched, folder: Path
) -> None:
    remember(ledger, FIRST, OTHER)
    drain(ledger, store, text=text, folder=folder)
    stranger = Indexed(uuid.uuid4(), "left behind")
    ReferenceStore.forget(store, FIRST.bucket, [FIRST.id])
    ReferenceStore.remember(store, OTHER.bucket, [stranger])
    assert reconcile(ledger, store, folder=folder) == ()
    assert reconcile(ledger, store, folder=folder, thorough=True) == (FIRST.bucket, OTHER.bucket)
    assert reconcile(ledger, store, folder=folder, thorough=True) == (), "what is queued is not queued twice"
    drain(ledger, store, text=text, folder=folder)
    assert store.members(FIRST.bucket) == {FIRST.id} and store.members(OTHER.bucket) == {OTHER.id}


def test_a_store_without_a_folder_is_always_compared(ledger: Ledger, store: Watched) -> None:
    remember(ledger, FIRST)
    drain(ledger, store, text=text)
    fresh = Watched()
    assert reconcile(ledger, fresh) == (FIRST.bucket,)
    drain(ledger, fresh, text=text)
    assert fresh.members(FIRST.bucket) == {FIRST.id}


def test_the_store_of_another_brain_is_refused(ledger: Ledger, store: Watched, folder: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "other.sqlite", database="shop") as other:
        remember(other, FIRST)
        drain(other, store, text=text, folder=folder)
    remember(ledger, OTHER)
    store.asked.clear()
    with pytest.raises(BrainForeignError, match="another brain"):
        drain(ledger, store, text=text, folder=folder)
    assert store.asked == [] and len(ledger.outbox()) == 1


def test_a_store_newer_than_its_ledger_is_refused(ledger: Ledger, store: Watched, folder: Path) -> None:
    write_marker(folder, Marker(ledger.store, ledger.generation + 1))
    with pytest.raises(BrainForeignError, match="old copy"):
        standing(ledger, folder)


def test_a_store_indexed_with_another_embedder_is_refused_with_the_way_out(
    ledger: Ledger, store: Watched, folder: Path
) -> None:
    remember(ledger, FIRST)
    drain(ledger, store, text=text, folder=folder, index="old")
    remember(ledger, SECOND)
    with pytest.raises(BrainForeignError, match=r"indexed with old, and now it is new.*rebuilt"):
        drain(ledger, store, text=text, folder=folder, index="new")
    shutil.rmtree(folder)
    fresh = Watched()
    drain(ledger, fresh, text=text, folder=folder, index="new")
    assert fresh.members(FIRST.bucket) == {FIRST.id, SECOND.id}
    assert standing(ledger, folder, index="new").state == "current"


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"store": "x"})])
def test_a_marker_that_cannot_be_read_is_refused_with_the_way_out(ledger: Ledger, folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / MARKER).write_text(content)
    with pytest.raises(BrainDamagedError, match="rebuilt from the ledger"):
        standing(ledger, folder)
