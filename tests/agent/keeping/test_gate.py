"""A better brain takes the place of the live one from green to green only, with real checks and real Cognee."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from agent.app import App, open_app
from agent.keeping.gate import Gate, Improvement
from agent.keeping.measuring import Questions
from agent.learning.feedback import move_weights
from agent.learning.questions import read_pairs
from agent.models.recorded import ScriptedModel
from agent.settings import Settings
from memory.brain.snapshot import SnapshotError, to_text
from memory.errors import BrainFullError
from memory.ledger import EventKind
from memory.reference_store import ReferenceStore
from memory.store import Indexed, StoreError
from procedural.synapse import Target

KILLED = Path(__file__).with_name("killed.py")
DATABASE = """
CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL);
INSERT INTO Boats VALUES (1, 'Hoopvol', 'Veere', 9.5), (2, 'Stille', 'Hoorn', 12.0), (3, 'Morgen', 'Hoorn', 7.0);
"""
_PAIRS = (
    ("How many boats are there?", "SELECT COUNT(*) FROM Boats", "SELECT SUM(1) FROM Boats"),
    (
        "What is the length of the longest boat?",
        "SELECT MAX(Metres) FROM Boats",
        "SELECT Metres FROM Boats ORDER BY Metres DESC LIMIT 1",
    ),
    (
        "Which boats lie in Hoorn?",
        "SELECT Name FROM Boats WHERE Harbour = 'Hoorn'",
        "SELECT b.Name FROM Boats b WHERE b.Harbour IN ('Hoorn')",
    ),
)
PACK = "".join(
    json.dumps({"id": f"p{number}", "question": question, "sql": sql, "check_sql": check}) + "\n"
    for number, (question, sql, check) in enumerate(_PAIRS)
)
KNOWN = '[[check]]\nkind = "must_know"\nname = "known"\nquestion = "How many boats are there?"\nrows = [[3]]\n'
COVERED = '[[check]]\nkind = "coverage"\nname = "covered"\nshare = 1.0\nepisodes = 1\n'
HOLDOUT = (
    '{"id": "h1", "question": "Which boats lie in Veere?", "sql": "SELECT Name FROM Boats WHERE Harbour = \'Veere\'"}\n'
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "boats.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DATABASE)
    (tmp_path / "pack.jsonl").write_text(PACK, encoding="utf-8")
    (tmp_path / "holdout.jsonl").write_text(HOLDOUT, encoding="utf-8")
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "boats.toml").write_text(KNOWN, encoding="utf-8")
    return Settings(database=str(path), data=tmp_path, runs=tmp_path / "runs", brain=str(tmp_path / "brain"))


@pytest.fixture
def app(settings: Settings) -> Iterator[App]:
    with open_app(settings) as app:
        app.seed(settings.data / "pack.jsonl")
        yield app


def asked(settings: Settings, *, holdout: bool = False) -> Questions:
    pairs = read_pairs(settings.data / "holdout.jsonl") if holdout else ()
    return Questions(pairs, checks=settings.data / "checks")


def add_a_twin_and_a_stale_one(app: App) -> None:
    first = next(one for one in app.ledger.episodes() if one.question.startswith("How many"))
    stale = replace(first, question="How many crews are there?", masked="m", sql="SELECT COUNT(*) FROM Crews")
    with app.ledger.transaction() as entry:
        entry.remember(replace(first, sql="select count( * ) from boats", verifier="agreement"))
        entry.remember(stale)
    app.bring_up_to_date()


def spend(app: App, question: str) -> None:
    """Let the episode of a question be wrong so often that it is given up."""
    one = next(one for one in app.ledger.episodes() if one.question == question)
    body = {"bucket": one.bucket, "kind": one.kind, "tables": list(one.tables)}
    for _ in range(3):
        with app.ledger.transaction() as entry:
            move_weights(app.synapses, entry, body, [Target("episode", str(one.id))], reward=0.0)


def is_whole(app: App) -> None:
    """History and episode store agree, and nothing is left of a candidate."""
    assert app.ledger.verify().ok
    assert not app.ledger.outbox() and not (app.folder / "candidates").exists()
    for counted in app.ledger.buckets():
        assert app.store.members(counted.bucket) == {one.id for one in app.ledger.episodes(counted.bucket)}


@pytest.fixture
def either_app(either: Settings) -> Iterator[App]:
    """An app with its ledger in a file, and one with it in PostgreSQL."""
    with open_app(either) as app:
        app.seed(either.data / "pack.jsonl")
        yield app


def test_from_green_to_green_the_changes_are_made_and_a_second_time_there_are_none(
    either_app: App, settings: Settings
) -> None:
    app = either_app
    add_a_twin_and_a_stale_one(app)
    before = app.versions.live
    found = app.gate.improve(asked(settings, holdout=True))
    assert found.outcome == "accepted" and found.ok, found
    assert sorted(change.rule for change in found.changes) == ["duplicate", "stale"]
    assert found.after and found.after.answers[0].path == "adapted" and found.after.right == 1
    live = app.versions.live
    assert (found.hash_before, found.hash_after) == (before.hash, live.hash) and len(live.episodes) == 3
    assert [one.hash for one in app.versions.taken()] == [before.hash, live.hash]
    is_whole(app)
    told = json.loads(Path(found.files[0]).read_text(encoding="utf-8"))
    assert told["outcome"] == "accepted" and told["counts"] == {"duplicate": 1, "stale": 1}
    texts = [pair.question for pair in asked(settings, holdout=True).pairs]
    texts += [episode.question for episode in live.episodes]
    written = "".join(Path(file).read_text(encoding="utf-8") for file in found.files)
    assert not [text for text in texts if text in written], "the report outlives what is erased"
    report = Path(found.files[1]).read_text(encoding="utf-8")
    assert "| checks green | 1 of 1 | 1 of 1 |" in report and "language model" in report
    assert not any(text in f"{told}{report}" for text in ("How many", "SELECT", "Hoorn")), "it outlives erasing"

    again = app.gate.improve(asked(settings))
    assert again.outcome == "unchanged" and again.ok and app.versions.live.hash == live.hash
    back = app.gate.roll_back(f"{found.id}-before")
    assert back.is_exact and back.hash == before.hash == app.versions.live.hash
    is_whole(app)


def test_from_green_to_red_is_blocked_and_leaves_everything_as_it_was(app: App, settings: Settings) -> None:
    (settings.data / "checks" / "covered.toml").write_text(COVERED, encoding="utf-8")
    spend(app, "What is the length of the longest boat?")
    text = to_text(app.versions.live)
    found = app.gate.improve(asked(settings))
    assert found.outcome == "blocked" and "the check covered is red" in found.why, found
    assert {change.rule for change in found.changes} == {"spent"}
    assert to_text(app.versions.live) == text
    is_whole(app)
    assert "Blocked" in Path(found.files[1]).read_text(encoding="utf-8")


def test_what_is_red_before_is_refused_and_so_is_a_brain_without_a_check(app: App, settings: Settings) -> None:
    add_a_twin_and_a_stale_one(app)
    text = to_text(app.versions.live)
    (settings.data / "checks" / "boats.toml").write_text(KNOWN.replace("[[3]]", "[[4]]"), encoding="utf-8")
    found = app.gate.improve(asked(settings))
    assert found.outcome == "refused" and not found.ok and "the check known is red" in found.why
    (settings.data / "checks" / "boats.toml").unlink()
    assert app.gate.improve(asked(settings)).outcome == "refused"
    assert to_text(app.versions.live) == text


def test_a_candidate_whose_process_is_killed_changes_nothing(app: App, settings: Settings) -> None:
    add_a_twin_and_a_stale_one(app)
    text = to_text(app.versions.live)

    def kill_the_candidate() -> None:
        while not (found := multiprocessing.active_children()):
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(found[0].pid or 0, signal.SIGKILL)

    def between(step: str) -> None:
        if step == "candidate copied":
            threading.Thread(target=kill_the_candidate, daemon=True).start()

    found = Gate(app=app, between=between).improve(asked(settings))
    assert found.outcome == "blocked" and "ended with exit code -9" in found.why
    assert to_text(app.versions.live) == text
    is_whole(app)


def test_why_a_candidate_could_not_be_built_is_said_and_the_report_keeps_no_text_of_it(
    app: App, settings: Settings
) -> None:
    add_a_twin_and_a_stale_one(app)
    said: list[str] = []
    app.say = said.append

    def between(step: str) -> None:
        if step == "candidate copied":
            with closing(sqlite3.connect(next(Path(app.folder).glob("candidates/*/brain.sqlite")))) as ledger:
                ledger.execute("CREATE TRIGGER full BEFORE INSERT ON ledger BEGIN SELECT RAISE(ABORT, 'How many'); END")

    found = Gate(app=app, between=between).improve(asked(settings))
    assert found.outcome == "blocked" and found.why.startswith("The candidate could not be built: ")
    assert found.why.endswith("Error") and "How many" in "".join(said), (found.why, said)
    assert not any("How many" in Path(file).read_text(encoding="utf-8") for file in found.files)


class Full(ReferenceStore):
    """An episode store that cannot be written."""

    def forget(self, bucket: str, ids: Sequence[UUID]) -> None:
        raise StoreError("The disk is full.")


def test_a_store_that_cannot_be_written_is_noted_in_the_report_of_the_change_that_was_made(
    app: App, settings: Settings
) -> None:
    add_a_twin_and_a_stale_one(app)
    cognee, reports = app.store, list[Path]()

    def between(step: str) -> None:
        if step == "reported":
            reports.extend(settings.runs.glob("*/improve.json"))
            full = Full(embedder=app.embedder)
            for counted in app.ledger.buckets():
                kept = app.ledger.episodes(counted.bucket)
                full.remember(counted.bucket, [Indexed(one.id, one.question) for one in kept])
            app.store = full

    found = Gate(app=app, between=between).improve(asked(settings))
    assert len(reports) == 1, "the report is written first"
    assert found.ok and "wait in the ledger" in found.notes[0]
    assert json.loads(reports[0].read_text(encoding="utf-8"))["notes"] == list(found.notes)
    assert found.notes[0] in Path(found.files[1]).read_text(encoding="utf-8")
    app.store = cognee
    app.get_ready_to_recall()
    is_whole(app)


def full_at(app: App, *steps: str) -> None:
    """Let the disk be full at some writes of the ledger; each is named with how often it is done before."""
    seen: Counter[str] = Counter()

    def between(step: str) -> None:
        seen[step] += 1
        if f"{seen[step]} {step}" in steps:
            raise BrainFullError("The disk is full.")

    app.ledger.between = between


def test_a_disk_that_is_full_before_the_change_over_changes_nothing_and_one_after_it_is_noted(
    either_app: App, settings: Settings
) -> None:
    app = either_app
    add_a_twin_and_a_stale_one(app)
    before, text = app.versions.live, to_text(app.versions.live)
    app.versions.take("before")
    for step in ("1 brain_changed event", "1 episode row", "1 outbox forget", "1 before commit"):
        full_at(app, step)
        with pytest.raises(BrainFullError):
            app.versions.revert(before.episodes[0].batch)
        full_at(app)
        assert to_text(app.versions.live).splitlines()[1:] == text.splitlines()[1:], step
    full_at(app, "2 snapshot_taken event", "1 outbox acked")
    found = app.gate.improve(asked(settings))
    assert found.ok and len(found.notes) == 2 and "no snapshot" in found.notes[0] and "wait in" in found.notes[1]
    assert app.versions.live.hash == found.hash_after != before.hash
    full_at(app, "1 outbox acked", "2 outbox acked")
    back = app.gate.roll_back("before")
    assert back.is_exact and back.hash == before.hash and "wait in the ledger" in back.notes[0]
    full_at(app)
    app.get_ready_to_recall()
    is_whole(app)


def test_a_confirmed_answer_that_is_no_episode_is_distilled(app: App, settings: Settings) -> None:
    app.model = ScriptedModel(["SELECT COUNT(*) FROM Boats WHERE Metres > 8"] * 2)
    *_, attempt = app.ask("How many boats are longer than 8 metres?")
    with app.ledger.transaction() as entry:  # a word that was taken down before it made episodes
        entry.append(EventKind.FEEDBACK_GIVEN, attempt.id, {"verdict": "good", "sql": None})
    del app.model
    found: Improvement = app.gate.improve(asked(settings))
    assert found.outcome == "accepted" and [change.rule for change in found.changes] == ["distilled"]
    [made] = [one for one in app.ledger.episodes() if one.origin == f"feedback:{attempt.id}"]
    assert made.verifier == "person" and made.sql.endswith("Metres > 8")


def test_going_back_restores_weights_and_episodes_exactly_but_for_what_was_erased(either_app: App) -> None:
    app = either_app
    app.versions.take("good")
    before = app.versions.live
    spend(app, "Which boats lie in Hoorn?")
    add_a_twin_and_a_stale_one(app)
    longest = next(one for one in app.ledger.episodes() if "longest" in one.question)
    with app.ledger.transaction() as entry:
        entry.forget(longest.id, "by mistake")
    back = app.gate.roll_back("good")
    assert back.is_exact and back.erased == () and app.versions.live.hash == before.hash
    is_whole(app)
    assert not app.gate.roll_back("good").edits, "a second time there is nothing to do"

    app.forget((longest,), erase=True)
    add_a_twin_and_a_stale_one(app)
    back = app.gate.roll_back("good")
    assert back.erased == (str(longest.id),) and not back.is_exact
    assert app.versions.live.records == {
        key: record for key, record in before.records.items() if key[1] != str(longest.id)
    }
    is_whole(app)
    assert app.ledger.episode_state(longest.id) == "erased"


def test_going_back_to_what_is_not_there_changes_nothing(app: App) -> None:
    text = to_text(app.versions.live)
    with pytest.raises(SnapshotError, match="No snapshot is called"):
        app.gate.roll_back("nowhere")
    assert to_text(app.versions.live) == text


def test_cognee_with_a_model_is_asked_to_improve_every_member_and_changes_none_of_them(
    app: App, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_API_KEY", "no-real-key")
    found = app.gate.improve(asked(settings))
    assert found.outcome == "accepted" and found.changes == ()
    assert len(found.cognee) == len(app.ledger.buckets()) and all("stages" in line for line in found.cognee)
    is_whole(app)


def improved_until(
    settings: Settings, step: str, seconds: str, snapshot: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Improve a brain, or roll it back to a snapshot, in a process that kills itself some seconds after a step."""
    places = (settings.database, settings.brain, settings.runs, settings.data / "checks")
    return subprocess.run(
        [sys.executable, str(KILLED), *map(str, places), step, seconds, *([snapshot] if snapshot else [])],
        env=os.environ
        | {"PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONWARNINGS": "ignore"}
        | ({"HEBBQL_LEDGER": settings.ledger} if settings.ledger else {}),
        capture_output=True,
        check=False,
    )


def test_killed_while_a_brain_is_improved_or_rolled_back_one_whole_brain_is_live(
    either: Settings,
) -> None:
    settings = either
    with open_app(settings) as app:
        app.seed(settings.data / "pack.jsonl")
        add_a_twin_and_a_stale_one(app)
        old = app.versions.live.hash
    for step, seconds, is_new in (("candidate copied", "4", False), ("changed over", "0", True)):
        killed = improved_until(settings, step, seconds)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        if not is_new:
            assert (Path(str(settings.brain)) / "candidates").is_dir(), "it was killed in the middle"
        with open_app(settings) as app:
            assert not (app.folder / "candidates").exists(), "the next opening clears up"
            assert (app.versions.live.hash == old) is not is_new
            app.get_ready_to_recall()
            is_whole(app)
            first = app.versions.taken()[0].name if is_new else ""
    for step, is_back in (("brain_changed event", False), ("marker writing", True)):
        killed = improved_until(settings, step, "0", first)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        with open_app(settings) as app:
            assert (app.versions.live.hash == old) is is_back
            app.get_ready_to_recall()
            is_whole(app)
