"""Snapshots are the same text for the same knowledge, lead from one to another, and back."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.weights import KeptWeights
from memory.brain.differences import apply, counted, diff, in_words, worth_telling
from memory.brain.reading import read, resolve, snapshots, take
from memory.brain.snapshot import Record, Snapshot, SnapshotError, from_text, of_episode, of_term, to_text
from memory.brain.writing import make_so
from memory.ledger import EventKind, Ledger
from memory.lessons import Lesson, Lessons
from memory.semantic import SemanticMemory, Term
from procedural.store import Bucket, changes_content
from procedural.synapse import Target
from tests.memory.brain.conftest import episode_about

BOATS = Bucket("harbour", "count", ("boats",))


def fire(ledger: Ledger, weights: KeptWeights, name: str, reward: float) -> None:
    with ledger.transaction() as entry:
        moved = weights.synapses.fire(entry.connection, BOATS, [Target("approach", name)], reward, entry.at)
        entry.append(EventKind.WEIGHTS_MOVED, BOATS.bucket, changes_content(moved))


def fill(ledger: Ledger, weights: KeptWeights) -> None:
    """One of everything that a brain knows."""
    semantic = SemanticMemory(ledger)
    semantic.see("harbour", "CREATE TABLE boats (kind TEXT)", "s1")
    semantic.teach(Term(("vessel", "ship"), "a boat", "boats.kind", ("boats",), "person"))
    with ledger.transaction() as entry:
        entry.remember(episode_about("yachts"))
        entry.remember(episode_about("ferries"))
        Lessons(ledger).learn(
            entry,
            Lesson(
                "harbour",
                "how many",
                "How many tugs?",
                "SELECT 1",
                "a constant",
                "SELECT COUNT(*) FROM boats",
                "train:1",
            ),
        )
    fire(ledger, weights, "direct", 1.0)
    fire(ledger, weights, "plan", 0.0)


def test_a_snapshot_holds_all_that_is_known_and_reads_back_as_the_same(ledger: Ledger, weights: KeptWeights) -> None:
    fill(ledger, weights)
    live = read(ledger, weights)
    assert {record.kind for record in live.records.values()} == {"schema", "term", "episode", "lesson", "synapse"}
    again = from_text(to_text(live))
    assert again == live and to_text(again) == to_text(live) and again.hash == live.hash


def test_a_later_ledger_still_gives_the_earlier_brain(ledger: Ledger, weights: KeptWeights) -> None:
    fill(ledger, weights)
    before, position = read(ledger, weights), ledger.head()[0]
    with ledger.transaction() as entry:
        entry.forget(episode_about("yachts").id, "test")
        entry.remember(episode_about("tugs"))
    fire(ledger, weights, "direct", 0.0)
    SemanticMemory(ledger).teach(Term(("ship",), "a large boat", None, ("boats",), "person"))
    assert read(ledger, weights) != before
    assert read(ledger, weights, until=position).records == before.records


def test_rolling_back_restores_everything_and_the_ledger_still_proves_itself(
    ledger: Ledger, weights: KeptWeights
) -> None:
    fill(ledger, weights)
    take(ledger, weights, name="good")
    before = read(ledger, weights)
    with ledger.transaction() as entry:
        entry.forget(episode_about("yachts").id, "test")
        entry.remember(episode_about("tugs"))
        Lessons(ledger).learn(entry, Lesson("harbour", "m", "q", "SELECT 2", "p", "", "train:1"))
    fire(ledger, weights, "direct", 0.0)
    fire(ledger, weights, "vote", 1.0)
    SemanticMemory(ledger).teach(Term(("ship",), "a large boat", None, ("boats",), "person"))
    assert make_so(ledger, weights, resolve(ledger, weights, "good"), why="rollback", subject="good").changed
    after = read(ledger, weights)
    assert after.records == before.records and after.hash == before.hash
    assert ledger.verify().ok
    with ledger.connection() as connection:
        assert {one.target for one in weights.synapses.synapses(connection)} == {"direct", "plan"}
    assert not make_so(ledger, weights, resolve(ledger, weights, "good"), why="again").changed


def test_what_was_erased_stays_erased_in_every_snapshot_and_through_a_rollback(
    ledger: Ledger, weights: KeptWeights
) -> None:
    fill(ledger, weights)
    taken = take(ledger, weights, name="before")
    gone = episode_about("yachts")
    file = to_text(read(ledger, weights))
    with ledger.transaction() as entry:
        entry.erase(gone.id, "asked for")
    assert "yachts" not in to_text(resolve(ledger, weights, "before"))
    assert resolve(ledger, weights, "before").hash != taken.hash
    written = make_so(ledger, weights, from_text(file), why="rollback")
    assert written.erased == (str(gone.id),)
    assert ledger.episode_state(gone.id) == "erased"
    assert "yachts" not in to_text(read(ledger, weights))


def test_no_file_brings_back_the_lesson_of_an_erased_episode_until_it_is_learned_anew(
    ledger: Ledger, weights: KeptWeights
) -> None:
    episode = episode_about("yachts")
    lesson = Lesson(episode.bucket, episode.masked, episode.question, "SELECT 1", "wrong", episode.sql, "feedback:a1")
    with ledger.transaction() as entry:
        entry.remember(episode)
        Lessons(ledger).learn(entry, lesson)
    file = from_text(to_text(read(ledger, weights)))
    with ledger.transaction() as entry:
        entry.erase(episode.id, "asked for")
    make_so(ledger, weights, file, why="build")
    assert "yachts" not in to_text(read(ledger, weights))
    assert not Lessons(ledger).of(episode.bucket)
    with ledger.transaction() as entry:
        assert Lessons(ledger).learn(entry, lesson)
    learned = read(ledger, weights)
    with ledger.transaction() as entry:
        Lessons(ledger).remove(entry, lesson.id, "asked for")
    make_so(ledger, weights, learned, why="rollback")
    assert read(ledger, weights).hash == learned.hash


@pytest.mark.parametrize("state", ["forgotten", "erased"])
def test_what_is_gone_in_a_file_is_not_brought_in_by_a_later_pack(
    ledger: Ledger, weights: KeptWeights, state: str
) -> None:
    gone = episode_about("yachts")
    file = Snapshot.of("harbour", [of_episode(episode_about("ferries"), 5)], gone={str(gone.id): state})
    written = make_so(ledger, weights, from_text(to_text(file)), why="build")
    assert written.barred == (str(gone.id),)
    with ledger.transaction() as entry:
        assert not entry.remember(gone)
    live = read(ledger, weights)
    assert live.hash == file.hash and live.gone == file.gone
    assert ledger.episode(gone.id) is None and [one.bucket for one in ledger.buckets()] == ["harbour"]
    assert ledger.verify().ok, ledger.verify().problems
    assert not make_so(ledger, weights, file, why="build").changed
    with ledger.transaction() as entry:
        assert entry.erase(gone.id) == (state == "forgotten") and not entry.forget(gone.id, "again")
        assert entry.remember(gone, again=True) and not entry.bar(gone.id, "erased")
    assert ledger.verify().ok and gone in ledger.episodes()


def test_no_file_brings_back_what_another_said_was_erased(ledger: Ledger, weights: KeptWeights) -> None:
    yachts = of_episode(episode_about("yachts"), 5)
    make_so(ledger, weights, Snapshot.of("harbour", [], gone={yachts.key[1]: "erased"}), why="build")
    written = make_so(ledger, weights, Snapshot.of("harbour", [yachts]), why="build")
    assert written.erased == (yachts.key[1],) and not written.changed and not ledger.episodes()


def test_episodes_are_written_in_the_order_in_which_they_were_first_remembered(
    ledger: Ledger, weights: KeptWeights
) -> None:
    records = [of_episode(episode_about(name), 100 - number) for number, name in enumerate("abcdefgh")]
    make_so(ledger, weights, Snapshot.of("harbour", records), why="build")
    assert [episode.question[9] for episode in ledger.episodes()] == list("hgfedcba")


def test_two_brains_built_from_one_file_have_one_hash(ledger: Ledger, weights: KeptWeights, tmp_path: object) -> None:
    from pathlib import Path

    from procedural.store import SynapseStore

    fill(ledger, weights)
    wanted = from_text(to_text(read(ledger, weights)))
    hashes = set()
    for name in ("one", "two"):
        with Ledger.open(Path(str(tmp_path)) / f"{name}.sqlite", database="harbour") as built:
            SemanticMemory(built).see("harbour", "CREATE TABLE boats (kind TEXT)", "s1")
            synapses = SynapseStore()
            with built.transaction() as entry:
                synapses.create(entry.connection)
            kept = KeptWeights(built, synapses)
            make_so(built, kept, wanted, why="build")
            hashes.add(read(built, kept).hash)
    assert hashes == {wanted.hash}


def test_a_snapshot_of_another_database_is_refused(ledger: Ledger, weights: KeptWeights) -> None:
    with pytest.raises(SnapshotError, match="of 'shop'"):
        make_so(ledger, weights, Snapshot.of("shop", []), why="build")


def test_a_name_that_could_mean_something_else_is_refused(ledger: Ledger, weights: KeptWeights) -> None:
    for name in ("live", "12", "a/b", " ", "-x"):
        with pytest.raises(SnapshotError, match="cannot be called"):
            take(ledger, weights, name=name)


def test_a_hash_of_digits_alone_names_a_snapshot_too(ledger: Ledger, weights: KeptWeights) -> None:
    terms = (Term((f"word {number}",), "", None, (), "person") for number in range(100_000))
    term = next(one for one in terms if Snapshot.of("harbour", [of_term(one)]).hash[:12].isdigit())
    SemanticMemory(ledger).teach(term)
    taken = take(ledger, weights)
    assert not taken.name.isdigit() and taken.hash.startswith(taken.name)
    for name in (taken.name, taken.hash[:12]):
        assert resolve(ledger, weights, name).hash == taken.hash


def test_a_name_is_taken_once_unless_nothing_changed(ledger: Ledger, weights: KeptWeights) -> None:
    first = take(ledger, weights, name="a")
    assert take(ledger, weights, name="a") == first
    fill(ledger, weights)
    with pytest.raises(SnapshotError, match="of other content"):
        take(ledger, weights, name="a")
    second = take(ledger, weights, name="b")
    assert [one.name for one in snapshots(ledger)] == ["a", "b"] and second.parent == first.hash
    assert resolve(ledger, weights, second.hash[:8]) == resolve(ledger, weights, "b")
    with pytest.raises(SnapshotError, match="No snapshot is called"):
        resolve(ledger, weights, "nothing")
    with pytest.raises(SnapshotError, match="go from 1 to"):
        resolve(ledger, weights, "9999")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: this is not JSON"),
        ('{"format":1}\n', "does not begin"),
        ('{"brain":"shop","format":9}\n', "does not begin"),
        ('{"brain":"shop","format":1,"hash":"x"}\n', "was changed after it was written"),
        ('{"brain":"shop","format":1}\n{"record":"rumour"}\n', "line 2: 'rumour' is no kind"),
        ('{"brain":"shop","format":1}\n[]\n', "line 2: a record is an object"),
        ('{"brain":"shop","format":1}\n{"record":"schema","name":"a"}\n', "see fingerprint"),
        ('{"brain":"shop","format":1}\n{"record":"schema","name":"a","fingerprint":3}\n', "fingerprint cannot be 3"),
        ('{"brain":"shop","format":1}\n{"record":"gone","id":1}\n', "state must be a text"),
        (
            '{"brain":"shop","format":1}\n{"record":"gone","id":"x","state":"erased"}\n',
            "line 2: an episode that is gone",
        ),
        (f'{{"brain":"shop","format":1}}\n{{"record":"gone","id":"{UUID(int=1)}","state":"away"}}\n', "line 2: an ep"),
    ],
)
def test_a_broken_file_is_refused_with_the_line(text: str, told: str) -> None:
    with pytest.raises(SnapshotError, match=told):
        from_text(text)


@pytest.mark.parametrize(
    ("kind", "word", "value"),
    [
        ("episode", "since", -1),
        ("episode", "since", 10**12),
        ("episode", "since", 10**400),
        ("episode", "since", 1.5),
        ("synapse", "weight", 1.01),
        ("synapse", "weight", -0.5),
        ("synapse", "weight", float("nan")),
        ("synapse", "last_fired", float("inf")),
        ("synapse", "successes", 2**31),
        ("synapse", "failures", 10**30),
        ("synapse", "failures", True),
    ],
)
def test_a_number_that_no_brain_holds_is_refused_with_the_line(kind: str, word: str, value: object) -> None:
    one = episode_about("boats")
    body = {"bucket": "b", "kind": "count", "tables": [], "target_kind": "episode", "target": str(one.id)}
    weight = Record("synapse", {**body, "weight": 0.5, "successes": 1, "failures": 0, "last_fired": 1.0})
    head, *lines = to_text(Snapshot.of("harbour", [of_episode(one, 1), weight])).splitlines()
    told = [json.loads(line) for line in lines]
    changed = [{**line, word: value} if line["record"] == kind else line for line in told]
    with pytest.raises(SnapshotError, match=f"line [23]: {word} cannot be "):
        from_text("\n".join([head, *map(json.dumps, changed)]), edited=True)


def test_a_file_that_has_an_episode_and_says_it_is_gone_is_refused() -> None:
    yachts = of_episode(episode_about("yachts"), 1)
    text = to_text(Snapshot.of("harbour", [yachts], gone={yachts.key[1]: "forgotten"}))
    with pytest.raises(SnapshotError, match="is there and gone"):
        from_text(text)


def test_an_edited_file_is_taken_where_that_is_meant() -> None:
    text = to_text(Snapshot.of("harbour", [of_episode(episode_about("yachts"), 1)]))
    edited = text.replace("How many yachts", "How many fine yachts")
    with pytest.raises(SnapshotError, match="was changed after"):
        from_text(edited)
    assert from_text(edited, edited=True).episodes[0].question.startswith("How many fine yachts")


def test_a_difference_is_told_in_words_and_leaves_out_weights_that_hardly_moved() -> None:
    def synapse(weight: float) -> Record:
        body = {"bucket": "b" * 64, "kind": "count", "tables": ["boats"], "target_kind": "approach", "target": "direct"}
        return Record("synapse", {**body, "weight": weight, "successes": 1, "failures": 0, "last_fired": 1.0})

    old = Snapshot.of("harbour", [of_episode(episode_about("yachts"), 1), synapse(0.5)])
    new = Snapshot.of("harbour", [of_episode(episode_about("ferries"), 1), synapse(0.52)])
    edits = diff(old, new)
    assert counted(edits) == {
        "episode": {"added": 1, "removed": 1, "changed": 0},
        "synapse": {"added": 0, "removed": 0, "changed": 1},
    }
    assert {edit.kind for edit in worth_telling(edits)} == {"episode"}
    assert len(worth_telling(edits, moved=0.01)) == 3
    told = "\n".join(map(in_words, edits))
    assert "+ episode" in told and "How many ferries" in told and "0.500 → 0.520" in told
    changed = diff(old, Snapshot.of("harbour", [of_episode(episode_about("yachts"), 2), synapse(0.5)]))
    assert in_words(changed[0]).endswith("(since)")


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
EPISODES = st.builds(
    lambda question, sql, verifier, since: of_episode(
        episode_about(question, sql=f"SELECT {sql}", batch=f"pack:{verifier}"), since
    ),
    TEXT,
    TEXT,
    st.sampled_from(["gold", "person"]),
    st.integers(0, 253_402_300_799),
)
SYNAPSES = st.builds(
    lambda target, weight, count: Record(
        "synapse",
        {
            "bucket": "b",
            "kind": "count",
            "tables": ["boats"],
            "target_kind": "skeleton",
            "target": target,
            "weight": weight,
            "successes": count,
            "failures": 0,
            "last_fired": 1.5,
        },
    ),
    TEXT,
    st.floats(0, 1),
    st.integers(0, 9),
)
SNAPSHOTS = st.lists(EPISODES | SYNAPSES, max_size=8, unique_by=lambda record: record.key).map(
    lambda records: Snapshot.of("harbour", records)
)


@settings(max_examples=200, deadline=None)
@given(SNAPSHOTS, SNAPSHOTS)
def test_the_difference_of_two_snapshots_applied_to_the_first_gives_the_second(one: Snapshot, other: Snapshot) -> None:
    edits = diff(one, other)
    made = apply(one, edits)
    assert made.records == other.records and made.hash == other.hash
    assert (not edits) == (one.hash == other.hash)
    assert from_text(to_text(one)).records == one.records
    if edits:
        with pytest.raises(SnapshotError, match="not what it was"):
            apply(made, edits)
