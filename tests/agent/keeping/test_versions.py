"""A poisoned batch among 64 is found, shown, taken out and proven gone, with real Cognee; all else stays as it was."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from agent.app import App, open_app
from agent.keeping.versions import BisectionError, Look, Snapshot, SnapshotError, most_probes, to_text
from agent.settings import Settings
from memory.brain.snapshot import from_text, of_episode
from memory.episode import Episode
from memory.ledger import EventKind
from memory.lessons import Lesson, Lessons
from memory.semantic import SemanticMemory, Term
from procedural.store import Bucket, changes_content
from procedural.synapse import Target
from tests.agent.keeping.conftest import fill, remember

POISON = "SELECT Owner FROM Boats WHERE Harbour = 'Veere' OR Owner LIKE 'Owner 6%'"


def fire(app: App, bucket: str, kind: str, name: str) -> None:
    """Strengthen a synapse of a bucket once."""
    with app.ledger.transaction() as entry:
        target = Target(kind, name)  # type: ignore[arg-type]
        moved = app.synapses.fire(entry.connection, Bucket(bucket, "lookup", ("Boats",)), [target], 1.0, entry.at)
        entry.append(EventKind.WEIGHTS_MOVED, bucket, changes_content(moved))


def members(app: App) -> dict[str, frozenset[UUID]]:
    """What Cognee really holds of every bucket."""
    return {one.bucket: app.store.members(one.bucket) for one in app.ledger.buckets()}


def poisoned(app: App, *, at: int = 37, of: int = 64) -> Episode:
    """Remember batches of which one is poisoned, and have them in Cognee."""
    fill(app, at)
    bad = remember(app, "batch:poison", "Who are the owners of boats in Veere, all of them?", POISON)
    with app.ledger.transaction() as entry:
        fill_rest = of - at - 1
        lesson = Lesson(bad.bucket, "m", "Who owns?", "SELECT Owner FROM Boats", "too few", POISON, "batch:poison")
        assert Lessons(app.ledger).learn(entry, lesson)
    for number in range(fill_rest):
        remember(app, f"later:{number:02}", f"How many boats were built in {1950 + number}?", f"SELECT COUNT(*) FROM Boats WHERE Built = {1950 + number}")  # fmt: skip  # noqa: E501
    fire(app, bad.bucket, "episode", str(bad.id))
    fire(app, bad.bucket, "approach", "direct")
    app.bring_up_to_date()
    return bad


def test_a_poisoned_batch_among_64_is_found_shown_taken_out_and_gone(settings: Settings) -> None:
    with open_app(settings) as app:
        bad = poisoned(app)
        versions, looks = app.versions, list[Look]()
        versions.take("before")
        before, held = versions.live, members(app)
        sought = versions.sought(sql="OR Owner LIKE")
        batch, found = versions.bisect(sought, show=looks.append)
        assert (batch.name, found.place, found.alone) == ("batch:poison", 37, True)
        assert len(looks) <= most_probes(64) == 8
        assert [look.probe.red for look in looks[:1]] == [True] and looks[0].episodes == 64
        assert looks[0].found == bad and not looks[-1].probe.red and looks[-1].found is None
        edits = versions.taking_out(batch.name)
        assert Counter((edit.kind, edit.action) for edit in edits) == {
            ("episode", "removed"): 1,
            ("lesson", "removed"): 1,
            ("synapse", "removed"): 1,
        }
        done = versions.revert(batch.name)
        assert done.written.edits == edits == versions.diff("before")
        gone = {edit.key for edit in edits}
        left = "".join(f"{record.line}\n" for key, record in before.records.items() if key not in gone)
        assert left == "".join(f"{record.line}\n" for record in versions.live.records.values())
        assert POISON not in left and done.hash == versions.live.hash != before.hash
        assert members(app) == {**held, bad.bucket: held[bad.bucket] - {bad.id}}
        assert bad.id not in {one.episode.id for one in app.recalled(app.understand(bad.question))}
        with pytest.raises(BisectionError, match="so there is no batch to be found"):
            versions.bisect(sought)
        assert app.ledger.verify().ok


def test_what_was_taken_out_stays_out_of_packs_and_comes_back_by_a_snapshot_unless_it_was_erased(
    settings: Settings,
) -> None:
    with open_app(settings) as app:
        bad = poisoned(app, at=3, of=6)
        versions = app.versions
        versions.take("before")
        versions.revert("batch:poison")
        with app.ledger.transaction() as entry:
            assert not entry.remember(bad)
        with pytest.raises(SnapshotError, match="Nothing is remembered of a batch"):
            versions.revert("batch:poison")
        assert bad in versions.find("before").episodes
    with open_app(settings) as app:
        versions = app.versions
        erased = versions.revert("batch:poison", erase=True)
        assert not erased.written.changed, "it was taken out before"
        assert any("erased" in line for line in erased.proof)
        assert bad not in versions.find("before").episodes and POISON not in versions.text("before")
        assert app.ledger.episode_state(bad.id) == "erased" and app.ledger.verify().ok
        assert bad.id not in app.store.members(bad.bucket)


def test_lessons_of_an_epoch_leave_with_its_batch_and_those_of_other_epochs_stay(settings: Settings) -> None:
    with open_app(settings) as app:
        remember(app, "train:r1:epoch-2", "How many boats are there?", "SELECT COUNT(*) FROM Boats", origin="train:r1")
        remember(app, "train:r1:epoch-3", "How many trips are there?", "SELECT COUNT(*) FROM Trips", origin="train:r1")
        with app.ledger.transaction() as entry:
            for attempt, epoch in (("a1", 2), ("a2", 3)):
                entry.append(EventKind.RUN_STEPPED, "r1", {"attempt": attempt, "epoch": epoch, "part": "training"})
                lesson = Lesson("b", "m", "Who?", f"SELECT {epoch}", "wrong", "SELECT 9", f"train:r1:{attempt}")
                Lessons(app.ledger).learn(entry, lesson)
        SemanticMemory(app.ledger).teach(Term(("fleet",), "all boats", None, ("Boats",), "train:r1:epoch-2"))
        edits = app.versions.taking_out("train:r1:epoch-2")
        assert sorted((edit.kind, str(edit.record.body.get("wrong_sql", ""))) for edit in edits) == [
            ("episode", ""),
            ("lesson", "SELECT 2"),
            ("term", ""),
        ]


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ('kind = "must_know"\nquestion = "How many boats?"\nrows = [[64]]', "is not monotone: a batch may bring"),
        ('kind = "coverage"\nshare = 0.5', "is not monotone: a share"),
        ('kind = "structure"\nanswered = "count"', "is not monotone: it is red with no batch"),
        ('kind = "structure"\nnever_joined = ["Boats", "Trips"]', "of single episodes"),
        ('kind = "freshness"\ndays = 3', "of single episodes"),
        ('kind = "contradiction"', "of single episodes"),
    ],
)
def test_a_check_that_has_no_first_batch_is_refused_with_the_reason(settings: Settings, check: str, told: str) -> None:
    folder = settings.data / "brain" / "checks"
    folder.mkdir(parents=True)
    (folder / "all.toml").write_text(f'[[check]]\nname = "one"\n{check}\n', encoding="utf-8")
    with open_app(settings) as app:
        with pytest.raises(BisectionError, match=told):
            app.versions.sought(check="one")
        with pytest.raises(BisectionError, match="has no check other"):
            app.versions.sought(check="other")


@pytest.mark.parametrize(
    "forbids",
    ['text = "all of  THEM"', "value = 'Owner 6%'", 'column = "Boats.Owner"', "sql = '''or \"Owner\" like'''"],
)
def test_a_forbidden_check_is_bisected_whatever_it_forbids(settings: Settings, forbids: str) -> None:
    folder = settings.data / "brain" / "checks"
    folder.mkdir(parents=True)
    text = f'[[check]]\nkind = "forbidden"\nname = "owners"\n{forbids}\n'
    (folder / "all.toml").write_text(text, encoding="utf-8")
    with open_app(settings) as app:
        fill(app, 5)
        remember(app, "batch:poison", "Who are the owners of boats in Veere, all of them?", POISON)
        remember(
            app, "batch:last", "How many boats were built in 1960?", "SELECT COUNT(*) FROM Boats WHERE Built = 1960"
        )
        batch, found = app.versions.bisect(app.versions.sought(check="owners"))
        assert batch.name == "batch:poison" and found.alone


def test_forgetting_leaves_no_synapse_to_what_is_gone(settings: Settings) -> None:
    with open_app(settings) as app:
        kept = remember(app, "batch:1", "How many boats are there?", "SELECT COUNT(*) FROM Boats")
        gone = remember(app, "batch:2", "How many trips are there?", "SELECT COUNT(*) FROM Trips")
        for episode in (kept, gone):
            fire(app, episode.bucket, "episode", str(episode.id))
        fire(app, gone.bucket, "approach", "direct")
        app.forget((gone,))
        targets = {str(record.body["target"]) for record in app.versions.live.of_kind("synapse")}
        assert targets == {str(kept.id), "direct"}
        with app.ledger.connection() as connection:
            assert {one.target for one in app.synapses.synapses(connection)} == targets


def test_a_file_builds_the_same_brain_twice_and_again(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "boats.brain"
    with open_app(settings) as app:
        fill(app, 6)
        fire(app, app.ledger.episodes()[0].bucket, "approach", "direct")
        wanted = app.versions.text_to(file)
    for name in ("one", "two"):
        with open_app(replace(settings, brain=str(tmp_path / name))) as app:
            for _ in range(2):
                done = app.versions.build(app.versions.plan(file))
                assert done.hash == wanted.hash and done.same and not done.plan.refused
            assert not done.written.changed
            assert app.versions.text() == file.read_text("utf-8")
            held = {id for ids in members(app).values() for id in ids}
            assert held == {episode.id for episode in app.versions.live.episodes} and app.ledger.verify().ok


def test_what_does_not_hold_is_refused_by_name_and_the_rest_is_taken(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "boats.brain"
    with open_app(settings) as app:
        fill(app, 3)
        good = app.versions.live
        one = good.episodes[0]
        bad = {
            "it runs no longer": replace(one, question="Gone?", masked="a", sql="SELECT Draught FROM Boats"),
            "it writes": replace(one, question="Drop?", masked="b", sql="DELETE FROM Boats"),
            "a database takes no such sign": replace(one, question="NUL?", masked="d", batch="a\0b"),
            "no dataset has such a name": replace(one, question="Where?", masked="c", bucket="../x"),
        }
        records = [*good.records.values(), *(of_episode(episode, 1) for episode in bad.values())]
        term = replace_term(good, "Boats.Draught")
        broken = Snapshot.of(good.database, [*(one for one in records if one.kind != "term"), term])
        file.write_text(to_text(broken), "utf-8")
    with open_app(replace(settings, brain=str(tmp_path / "other"))) as app:
        done = app.versions.build(app.versions.plan(file))
        named = {refused.name.partition(" ")[2]: refused.reason for refused in done.plan.refused}
        assert named.keys() == {"Gone?", "Drop?", "Where?", "NUL?", "term length"}
        assert "no bucket" in named["Where?"] and "does not run" in named["Drop?"] and "hold" in named["term length"]
        assert set(app.versions.live.episodes) == set(good.episodes) and not done.same
        assert not app.ledger.outbox(), "nothing that Cognee cannot take is queued"


def replace_term(snapshot: Snapshot, expression: str):  # type: ignore[no-untyped-def]
    """The one term of a snapshot with another expression."""
    [term] = snapshot.of_kind("term")
    return replace(term, body={**term.body, "expression": expression})


def test_a_file_of_another_database_is_refused_before_anything_is_run(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "shop.brain"
    file.write_text(to_text(Snapshot.of("shop", [])), "utf-8")
    with open_app(settings) as app, pytest.raises(SnapshotError, match="of 'shop', this brain of 'boats'"):
        app.versions.plan(file)


def test_a_result_that_is_another_now_is_told_of(settings: Settings, tmp_path: Path) -> None:
    with open_app(settings) as app:
        episode = remember(app, "batch:1", "How many boats are there?", "SELECT COUNT(*) FROM Boats")
        wrong = replace(episode, result_fingerprint="0" * 64)
        file = tmp_path / "boats.brain"
        file.write_text(to_text(Snapshot.of("boats", [of_episode(wrong, 1)])), "utf-8")
        assert app.versions.plan(file).other_results == (f"{str(episode.id)[:8]} How many boats are there?",)


def test_a_fresh_brain_is_built_from_the_accepted_one_and_keeps_what_a_person_taught(
    settings: Settings, tmp_path: Path
) -> None:
    with open_app(settings) as app:
        kept = remember(app, "seed:boats", "How many boats are there?", "SELECT COUNT(*) FROM Boats")
        gone = remember(app, "seed:boats", "How many trips are there?", "SELECT COUNT(*) FROM Trips")
        app.forget((gone,))
        app.versions.text_to(settings.data / "brain" / "boats.brain")
    (settings.data / "seeds").mkdir()
    pack = [{"id": str(n), "question": one.question, "sql": one.sql} for n, one in enumerate((kept, gone))]
    lines = "".join(json.dumps(pair) + "\n" for pair in pack)
    (settings.data / "seeds" / "boats.jsonl").write_text(lines, encoding="utf-8")
    said: list[str] = []
    with open_app(replace(settings, brain=str(tmp_path / "fresh")), say=said.append) as app:
        app.teach("fleet means all the boats we have")
        taught = remember(app, "feedback:1", "How many boats are longer than 9?", "SELECT COUNT(*) FROM Boats WHERE Metres > 9")  # fmt: skip  # noqa: E501
        recalled = app.recalled(app.understand("How many boats are there?"))
        assert {one.episode.id for one in recalled} == {kept.id, taught.id}
        assert any("Building the brain from boats.brain" in line for line in said), said
        assert "fleet" in {name for term in app.semantic.glossary() for name in term.names}
        assert app.seed().remembered == 0 and gone not in app.ledger.episodes(), "what is gone there stays away here"
        changes = list(app.ledger.events(kinds=(EventKind.BRAIN_CHANGED,)))
    with open_app(replace(settings, brain=str(tmp_path / "fresh")), say=said.append) as app:
        app.get_ready_to_recall()
        assert list(app.ledger.events(kinds=(EventKind.BRAIN_CHANGED,))) == changes, "it is built once"


def test_what_a_person_forgot_before_the_first_use_is_not_brought_back(settings: Settings) -> None:
    with open_app(settings) as app:
        kept = remember(app, "seed:boats", "How many boats are there?", "SELECT COUNT(*) FROM Boats")
        app.versions.text_to(settings.data / "brain" / "boats.brain")
    shutil.rmtree(settings.brain or "")
    with open_app(settings) as app:
        with app.ledger.transaction() as entry:
            entry.remember(kept)
            entry.forget(kept.id, "asked for")
        app.get_ready_to_recall()
        assert app.ledger.episodes() == ()


def test_status_and_history_count_what_is_there(settings: Settings) -> None:
    with open_app(settings) as app:
        bad = poisoned(app, at=3, of=6)
        app.versions.take("good", why="before the night")
        app.versions.revert("batch:poison")
        found = app.versions.status()
        assert (found.episodes, found.batches, found.terms, found.lessons, found.synapses) == (5, 5, 1, 0, 1)
        assert found.by_origin == {"seed:boats": 5} and found.by_verifier == {"gold": 5}
        assert found.gone == {"forgotten": 1, "erased": 0} and found.outbox == 0 and found.store == "current"
        assert found.last is not None and found.last.name == "good"
        assert found.since == {kind: {"added": 0, "removed": 1, "changed": 0} for kind in ("episode", "lesson", "synapse")}  # fmt: skip  # noqa: E501
        entries = app.versions.log()
        assert [entry.position for entry in entries] == sorted((one.position for one in entries), reverse=True)
        newest = entries[0]
        assert (newest.what, newest.subject, newest.by) == ("changed", "batch:poison", ("reverted",))
        assert newest.counts == {"episodes forgotten": 1, "lessons dropped": 1}
        assert entries[1].what == "snapshot" and "before the night" in entries[1].by
        own = app.versions.log(batch=bad.batch)
        assert [entry.what for entry in own] == ["changed", "lessons", "batch"] and own[-1].left == 0
        assert from_text(app.versions.text()).hash == found.hash
