"""A canary answers its share, both brains learn from what is said of it, and it ends by the rule. With real Cognee."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.models.recorded import ScriptedModel
from agent.settings import Settings
from memory.brain.snapshot import SnapshotError, to_text
from memory.ledger import EventKind
from tests.agent.keeping.conftest import remember

ASKED = "How many boats lie in Hoorn?"
RIGHT = "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Hoorn'"


def begin_with_a_candidate(app: App) -> None:
    """A snapshot that knows how boats are counted, and a live brain that has forgotten it since."""
    remember(app, "b1", "Who is the owner of Boat 7?", "SELECT Owner FROM Boats WHERE Name = 'Boat 7'")
    known = remember(app, "b2", "How many boats lie in Veere?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'")
    app.versions.take("knowing")
    with app.ledger.transaction() as entry:
        entry.forget(known.id, "for the test")
    app.bring_up_to_date()


def asks(app: App, question: str) -> object:
    app.model = ScriptedModel(["SELECT COUNT(*) FROM Trips"] * 3)
    *_, attempt = app.ask(question)
    return attempt


def test_the_share_is_answered_from_the_candidate_and_the_attempt_says_so(either: Settings) -> None:
    with open_app(replace(either, think="fast")) as app:
        begin_with_a_candidate(app)
        app.model = ScriptedModel(["SELECT COUNT(*) FROM Trips"] * 3)
        *_, alone = app.ask(ASKED)
        assert alone.canary == "" and not alone.recalled[0].episode.question.startswith("How many")
        text = to_text(app.versions.live)
        begun = app.canaries.begin("knowing", 1.0)
        *_, tried = app.ask(ASKED)
        assert tried.canary == begun.begun.id and tried.recalled[0].episode.question.endswith("Veere?")
        record = app.ledger.attempt(tried.id)
        assert record and record.settled and record.settled["canary"] == begun.begun.id
        assert to_text(app.versions.live) == text, "answering teaches the live brain nothing"
        assert app.canaries.stop().ended == "stopped"  # type: ignore[union-attr]
        *_, after = app.ask(ASKED)
        assert after.canary == "" and not (app.folder / "candidates").exists()
        assert app.ledger.verify().ok


def test_what_is_said_of_its_answer_is_learned_by_both_and_good_words_promote_it(either: Settings) -> None:
    with open_app(replace(either, think="fast")) as app:
        begin_with_a_candidate(app)
        id = app.canaries.begin("knowing", 1.0).begun.id
        app.model = ScriptedModel(["SELECT COUNT(*) FROM Trips"] * 80)
        *_, tried = app.ask(ASKED)
        app.feedback(tried.id, sql=RIGHT)
        [learned] = [one for one in app.ledger.episodes() if one.question == ASKED]
        *_, again = app.ask("How many boats lie in Urk?")
        questions = {memory.episode.question for memory in again.recalled}
        assert again.canary and {ASKED, "How many boats lie in Veere?"} <= questions
        with app.ledger.transaction() as entry:
            for number in range(60):  # as many askings would have written
                side = {"canary": id} if number % 2 else {}
                entry.start_attempt(f"a{number}", {})
                entry.settle_attempt(f"a{number}", {"status": "answered", **side})
                good = number % 2 or number % 4
                entry.append(EventKind.FEEDBACK_GIVEN, f"a{number}", {"verdict": "good" if good else "bad"})
        before = app.versions.live
        told = app.feedback(again.id, sql="SELECT COUNT(*) FROM Boats WHERE Harbour = 'Urk'").message
        assert f"{id} is promoted" in told
        assert app.canaries.running() is None and app.canaries.status().ended == "promoted"  # type: ignore[union-attr]
        asked = {one.question for one in app.ledger.episodes()}
        assert {ASKED, "How many boats lie in Veere?", "How many boats lie in Urk?"} <= asked, "what live learned stays"
        assert learned in app.ledger.episodes()
        app.get_ready_to_recall()
        for counted in app.ledger.buckets():
            assert app.store.members(counted.bucket) == {one.id for one in app.ledger.episodes(counted.bucket)}
        assert len(app.versions.find(f"{id}-before").episodes) >= len(before.episodes)
        assert app.ledger.verify().ok


def test_bad_words_in_a_row_roll_it_back_and_the_live_brain_stays(settings: Settings) -> None:
    with open_app(replace(settings, think="fast", habits=False)) as app:
        begin_with_a_candidate(app)
        id = app.canaries.begin("knowing", 1.0).begun.id
        app.model = ScriptedModel(["SELECT COUNT(*) FROM Trips"] * 80)
        with app.ledger.transaction() as entry:
            for number in range(20):
                entry.start_attempt(f"a{number}", {})
                entry.settle_attempt(f"a{number}", {"status": "answered"})
                entry.append(EventKind.FEEDBACK_GIVEN, f"a{number}", {"verdict": "good"})
        for harbour in ("Hoorn", "Urk", "Marken", "Veere", "Stavoren"):
            *_, attempt = app.ask(f"How many boats lie in {harbour}?")
            assert attempt.canary == id
            told = app.feedback(attempt.id, verdict="bad").message
        assert f"{id} is rolled back" in told
        assert [one.question for one in app.ledger.episodes()] == ["Who is the owner of Boat 7?"]
        status = app.canaries.status()
        assert status and status.ended == "rolled back" and status.canary.bad == 5


def test_what_is_erased_leaves_the_candidate_before_it_is_looked_for(settings: Settings) -> None:
    with open_app(replace(settings, think="fast", habits=False)) as app:
        begin_with_a_candidate(app)
        app.canaries.begin("knowing", 1.0)
        asks(app, ASKED)
        assert any((app.folder / "candidates").rglob("brain.sqlite"))
        [owner] = [one for one in app.ledger.episodes() if one.question.startswith("Who")]
        proof = app.forget((owner,), erase=True).proof
        assert [line for line in proof if "hold them" in line and " 0 hold them" not in line] == [], proof
        assert app.canaries.running() is not None and asks(app, ASKED)


def test_a_promotion_that_was_killed_before_it_was_written_down_is_not_made_twice(settings: Settings) -> None:
    with open_app(settings) as app:
        begin_with_a_candidate(app)
        begun = app.canaries.begin("knowing", 0.5).begun
        app.canaries._promote(begun)
        once = app.versions.live.hash
        assert not app.ledger.outbox(), "the episode store knows what was promoted"
        app.canaries._promote(begun)
        assert app.versions.live.hash == once
        assert app.canaries.stop() is None, "what was promoted cannot be stopped any more"
        assert not app.canaries.takes(ASKED)
        status = app.canaries.status()
        assert status and status.ended == "promoted"


def test_a_file_is_tried_where_it_lies_and_one_that_changed_ends_the_canary(settings: Settings, tmp_path: Path) -> None:
    with open_app(replace(settings, think="fast")) as app:
        begin_with_a_candidate(app)
        file = tmp_path / "candidate.brain"
        file.write_text(to_text(app.versions.find("knowing")), encoding="utf-8")
        app.canaries.begin(str(file), 1.0)
        app.model = ScriptedModel(["SELECT COUNT(*) FROM Trips"] * 9)
        *_, tried = app.ask(ASKED)
        assert tried.canary
        with app.ledger.transaction() as entry:
            entry.forget(app.ledger.episodes()[0].id, "so that it is made anew")
        file.write_text(to_text(app.versions.live), encoding="utf-8")
        *_, after = app.ask(ASKED)
        status = app.canaries.status()
        assert not after.canary and status and status.ended == "rolled back" and "something else" in status.why


def test_a_canary_that_cannot_be_is_refused(settings: Settings) -> None:
    with open_app(settings) as app:
        begin_with_a_candidate(app)
        for snapshot, share, told in (
            ("nowhere", 0.1, "No snapshot is called"),
            ("live", 0.1, "knows already"),
            ("knowing", 0.0, "a share above 0"),
        ):
            with pytest.raises(SnapshotError, match=told):
                app.canaries.begin(snapshot, share)
        app.canaries.begin("knowing", 0.1)
        with pytest.raises(SnapshotError, match="is running already"):
            app.canaries.begin("knowing", 0.1)
        assert json.dumps([event.content for event in app.ledger.events(kinds=(EventKind.CANARY_BEGAN,))])
