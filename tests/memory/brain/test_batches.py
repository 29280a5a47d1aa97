"""Batches come in the order of their first episodes, and one leaves with just what belongs to it, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.weights import KeptWeights
from memory.brain.batches import batches, without
from memory.brain.reading import read
from memory.brain.snapshot import Snapshot, SnapshotError, of_episode, to_text
from memory.brain.writing import make_so, write_edits
from memory.ledger import EventKind, Ledger
from memory.lessons import Lesson, Lessons
from procedural.store import Bucket, SynapseStore, changes_content
from procedural.synapse import Target
from tests.memory.brain.conftest import Clock, episode_about

BOATS = Bucket("harbour", "count", ("boats",))


def fill(ledger: Ledger, weights: KeptWeights) -> None:
    """Three batches, of which the second has a lesson, and a synapse to each of its two episodes."""
    tugs = episode_about("tugs", batch="two"), episode_about("rafts", batch="two", bucket="other")
    with ledger.transaction() as entry:
        for episode in (episode_about("yachts", batch="one"), *tugs, episode_about("ferries", batch="three")):
            entry.remember(episode)
        for origin in ("two", "three"):
            Lessons(ledger).learn(entry, Lesson("harbour", "m", "q", f"SELECT '{origin}'", "wrong", "", origin))
        for name in (str(tugs[0].id), str(tugs[1].id), str(episode_about("yachts").id)):
            moved = weights.synapses.fire(entry.connection, BOATS, [Target("episode", name)], 1.0, entry.at)
            entry.append(EventKind.WEIGHTS_MOVED, BOATS.bucket, changes_content(moved))


def test_batches_come_in_the_order_of_their_first_episodes_with_those_that_are_left(
    ledger: Ledger, weights: KeptWeights
) -> None:
    fill(ledger, weights)
    with ledger.transaction() as entry:
        entry.remember(episode_about("canoes", batch="one"))
        entry.forget(episode_about("ferries").id, "test")
    found = batches(ledger)
    assert [(batch.name, len(batch.episodes)) for batch in found] == [("one", 2), ("two", 2)]
    assert found[0].origins == ("seed:harbour",) and found[0].position < found[1].position and found[0].at > 0


def test_a_built_brain_has_its_batches_in_the_order_in_which_they_came(ledger: Ledger, weights: KeptWeights) -> None:
    records = [of_episode(episode_about(name, batch=name), 900 - number) for number, name in enumerate("abcdefgh")]
    make_so(ledger, weights, Snapshot.of("harbour", records), why="build")
    assert [(batch.name, batch.at) for batch in batches(ledger)][:2] == [("h", 893.0), ("g", 894.0)]


def test_a_batch_leaves_with_just_what_belongs_to_it(ledger: Ledger, weights: KeptWeights) -> None:
    fill(ledger, weights)
    before = read(ledger, weights)
    edits = without(before, "two")
    assert all(edit.action == "removed" for edit in edits)
    gone = {edit.key for edit in edits}
    assert sorted(kind for kind, _ in gone) == ["episode", "episode", "lesson", "synapse", "synapse"]
    write_edits(ledger, weights, edits, why="reverted", subject="two")
    after = read(ledger, weights)
    assert after.records == {key: record for key, record in before.records.items() if key not in gone}
    assert ledger.verify().ok
    with pytest.raises(SnapshotError, match="Nothing is remembered of a batch 'two'"):
        without(after, "two")


class _Cut(Exception):
    """The process ended here."""


@pytest.fixture
def cutting(tmp_path: Path) -> Iterator[tuple[Ledger, KeptWeights, list[int]]]:
    """A ledger that ends at the n-th write from now on, where the list holds n; and its synapses."""
    left: list[int] = []

    def between(_step: str) -> None:
        if left:
            left[0] -= 1
            if left[0] == 0:
                raise _Cut

    with Ledger.open(tmp_path / "b.sqlite", database="harbour", clock=Clock(), between=between) as ledger:
        synapses = SynapseStore(between=between)
        with ledger.transaction() as entry:
            synapses.create(entry.connection)
        yield ledger, KeptWeights(ledger, synapses), left


def test_cut_off_at_any_write_the_whole_batch_is_there_or_none_of_it(
    cutting: tuple[Ledger, KeptWeights, list[int]],
) -> None:
    ledger, weights, left = cutting
    fill(ledger, weights)
    before = to_text(read(ledger, weights))
    edits = without(read(ledger, weights), "two")
    for cut in range(1, 200):
        left[:] = [cut]
        try:
            write_edits(ledger, weights, edits, why="reverted", subject="two")
        except _Cut:
            left.clear()
            text = to_text(read(ledger, weights))
            if text != before:
                break
        else:
            break
    left.clear()
    assert cut > 20, "each write was cut off once"
    assert '"batch":"two"' not in to_text(read(ledger, weights)) and ledger.verify().ok


def test_what_a_batch_alone_had_habits_and_shapes_of_leaves_with_it(ledger: Ledger, weights: KeptWeights) -> None:
    alone = replace(episode_about("yachts", batch="two"), skeleton="SELECT ? FROM boats")
    shared = episode_about("ferries", batch="two")
    with ledger.transaction() as entry:
        for one in (alone, shared, episode_about("tugs", batch="one")):
            entry.remember(one)
        targets = [
            Target("episode", str(alone.id)),
            Target("skeleton", alone.skeleton),
            Target("skeleton", shared.skeleton),
            Target("habit", "of yachts"),
            Target("habit", "of others"),
            Target("approach", "direct"),
        ]
        changes = weights.synapses.fire(entry.connection, BOATS, targets, 1.0, 5.0)
        entry.append(EventKind.WEIGHTS_MOVED, "harbour", changes_content(changes))
    habits = {alone.id: "of yachts", shared.id: "of others"}
    edits = without(read(ledger, weights), "two", habit=lambda one: habits.get(one.id, "of others"))
    left = {edit.record.body["target"] for edit in edits if edit.kind == "synapse"}
    assert left == {str(alone.id), alone.skeleton, "of yachts"}
