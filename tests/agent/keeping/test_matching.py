"""Forgetting by words takes what holds them, wherever it stands, and leaves what only shares a name with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.learning.feedback import FeedbackError
from agent.settings import Settings
from memory.brain.snapshot import to_text
from memory.lessons import Lesson, Lessons
from memory.semantic import Term
from tests.agent.keeping.conftest import remember

SECRET = "Piet Hein"


def held(app: App) -> dict[tuple[str, ...], str]:
    return {term.names: term.meaning for term in app.semantic.glossary()}


def test_terms_and_lessons_without_an_episode_are_erased_and_a_term_that_shares_a_name_is_not(
    settings: Settings,
) -> None:
    with open_app(settings) as app:
        kept = remember(app, "batch:0", "How many boats lie in Veere?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'")  # fmt: skip  # noqa: E501
        app.semantic.teach(Term(("size", "extent"), "how big a boat is", None, (), "person"))
        app.semantic.teach(Term(("extent", "reach"), f"how far {SECRET} sailed", None, (), "person"))
        with app.ledger.transaction() as entry:
            lesson = Lesson("b", "m", "Who sailed?", "SELECT 1", "wrong", f"SELECT '{SECRET}'", "train:r:a")
            assert Lessons(app.ledger).learn(entry, lesson)
        found = app.checking.matching.find("piet hein")
        assert (found.episodes, len(found.lessons), len(found.terms)) == ((), 1, 1)
        first = app.checking.matching.forget(found)
        assert first.proof.ok, first.proof
        assert held(app) == {("length",): "How long a boat is.", ("size",): "how big a boat is"}
        again = app.checking.matching.find("piet hein", erase=True)
        done = app.checking.matching.forget(again, erase=True)
        assert done.proof.ok, done.proof
        assert held(app) == {("length",): "How long a boat is.", ("size",): "how big a boat is"}
        assert app.ledger.verify().ok, app.ledger.verify().problems
        assert [one.id for one in app.ledger.episodes()] == [kept.id]
        with pytest.raises(FeedbackError):
            app.checking.matching.find("piet hein", erase=True)
    with open_app(settings) as app:
        assert held(app) == {("length",): "How long a boat is.", ("size",): "how big a boat is"}


def test_names_and_reasons_of_snapshots_are_erased_too_and_no_file_brings_an_erased_term_back(
    settings: Settings, tmp_path: Path
) -> None:
    with open_app(settings) as app:
        remember(app, "batch:0", "How many boats lie in Veere?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'")
        app.semantic.teach(Term(("admiral",), f"what {SECRET} was", None, (), "person"))
        taken = app.versions.take("before-piet-hein", why=f"{SECRET} asked for it")
        app.versions.take("old-brigantine")
        file = tmp_path / "before.brain"
        file.write_text(to_text(app.versions.live), "utf-8")
        for words in (SECRET, "old-brigantine"):
            done = app.checking.matching.forget(app.checking.matching.find(words, erase=True), erase=True)
            assert done.proof.ok, done.proof
        assert [one.hash for one in app.versions.taken()] == [taken.hash] * 2, "the snapshot itself stays"
        assert app.ledger.verify().ok, app.ledger.verify().problems
        app.versions.build(app.versions.plan(file))
        back = app.gate.roll_back(app.versions.taken()[0].name)
        assert not back.is_exact and held(app) == {("length",): "How long a boat is."}
