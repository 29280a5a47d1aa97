"""Opening everything: what is read at every start, and what waits until it is wanted."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.forgetting import files_holding
from agent.models.recorded import ScriptedModel
from agent.settings import Settings
from memory.ledger import EventKind
from memory.semantic import Term

DATABASE = """
CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL);
INSERT INTO Boats VALUES (1, 'Hoopvol', 'Veere', 9.5), (2, 'Stille', 'Hoorn', 12.0);
"""
GLOSSARY = """
[[term]]
names = ["length"]
meaning = "How long a boat is."
expression = "Metres"
"""
FAULTY = """
[[term]]
names = ["draught"]
meaning = "How deep it lies."
expression = "Boats.Draught"
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "boats.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DATABASE)
    (tmp_path / "glossary").mkdir()
    (tmp_path / "glossary" / "boats.toml").write_text(GLOSSARY, encoding="utf-8")
    return Settings(database=str(path), data=tmp_path, runs=tmp_path / "runs", brain=str(tmp_path / "brain"), sow=False)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The glossary files that were read, in order."""
    import agent.brain_place as place

    read: list[Path] = []
    real: Callable[..., tuple[Term, ...]] = place.read_glossary  # type: ignore[attr-defined]

    def counted(path: Path, *rest: object, **more: object) -> tuple[Term, ...]:
        read.append(path)
        return real(path, *rest, **more)

    monkeypatch.setattr(place, "read_glossary", counted)
    return read


def terms(settings: Settings) -> dict[str, str | None]:
    with open_app(settings, memory=False) as app:
        return {name: term.expression for term in app.semantic.glossary() for name in term.names}


def test_a_glossary_is_read_once_and_again_when_it_the_schema_or_the_terms_change(
    settings: Settings, readings: list[Path]
) -> None:
    file = settings.data / "glossary" / "boats.toml"
    assert terms(settings) == terms(settings) == {"length": "Boats.Metres"} and len(readings) == 1

    file.write_text(GLOSSARY.replace('"Metres"', '"Metres * 3.28"'), encoding="utf-8")
    assert terms(settings) == {"length": "Boats.Metres * 3.28"} and len(readings) == 2
    assert terms(settings)["length"] == "Boats.Metres * 3.28" and len(readings) == 2

    with open_app(settings, memory=False) as app:
        app.teach("length means Metres * 1")
    assert terms(settings) == {"length": "Boats.Metres * 1"} and len(readings) == 3, "what a person taught stays"
    assert terms(settings) == {"length": "Boats.Metres * 1"} and len(readings) == 3

    with closing(sqlite3.connect(settings.database)) as connection:
        connection.execute("CREATE TABLE Crews (CrewID INTEGER PRIMARY KEY)")
    assert terms(settings) and len(readings) == 4


def test_a_new_ledger_beside_an_old_mark_is_taught_the_glossary(settings: Settings) -> None:
    known = terms(settings)
    for path in Path(settings.brain or "").glob("brain.sqlite*"):
        path.unlink()
    assert known and terms(settings) == known


def test_a_fault_in_a_glossary_is_said_at_every_start(settings: Settings) -> None:
    (settings.data / "glossary" / "boats.toml").write_text(GLOSSARY + FAULTY, encoding="utf-8")
    for _ in range(2):
        said: list[str] = []
        with open_app(settings, memory=False, say=said.append) as app:
            assert len(app.semantic.glossary()) == 1
        assert [line for line in said if "draught" in line]


def test_a_damaged_mark_or_a_folder_in_its_place_only_costs_time(settings: Settings, readings: list[Path]) -> None:
    known = terms(settings)
    mark = Path(settings.brain or "") / "glossary.mark"
    mark.write_bytes(b"\xff\x00")
    assert terms(settings) == known and len(readings) == 2
    mark.unlink()
    mark.mkdir()
    assert terms(settings) == terms(settings) == known and len(readings) == 4


def links(app: App, question: str) -> set[str]:
    return {link.value or "" for link in app.understand(question).grounding.links if link.kind == "value"}


def test_a_row_that_was_just_written_is_linked_by_the_next_question(settings: Settings) -> None:
    with open_app(settings, memory=False) as app, closing(sqlite3.connect(settings.database)) as writer:
        assert links(app, "Which boats lie in Veere?") == {"Veere"}
        assert links(app, "Which boats lie in Enkhuizen?") == set()
        with writer:
            writer.execute("INSERT INTO Boats VALUES (3, 'Morgen', 'Enkhuizen', 8.0)")
        assert links(app, "Which boats lie in Enkhuizen?") == {"Enkhuizen"}
        shown = app.lexicon
        assert app.lexicon is shown, "it is not indexed for every question"
    with open_app(settings, memory=False) as app:
        assert links(app, "Which boats lie in Enkhuizen?") == {"Enkhuizen"}


def test_a_fresh_brain_is_seeded_when_something_is_first_recalled_and_not_before(settings: Settings) -> None:
    seeds = settings.data / "seeds"
    seeds.mkdir()
    pack = '{"id": "one", "question": "How many boats are there?", "sql": "SELECT COUNT(*) FROM Boats"}\n'
    (seeds / "boats.jsonl").write_text(pack, encoding="utf-8")
    with open_app(settings) as app:
        app.understand("How many boats are there?")
        assert not list(app.ledger.events(kinds=(EventKind.BATCH_OPENED,)))
        assert not app.store_folder.exists()
        understood = app.understand("How many boats are there?")
        [recalled] = app.recalled(understood)
        assert recalled.episode.question == "How many boats are there?" and app.store_folder.is_dir()
        assert [recalled] == list(app.recalled(understood))
        assert len(list(app.ledger.events(kinds=(EventKind.BATCH_OPENED,)))) == 1


def test_what_a_crash_left_queued_is_drained_by_the_next_question_that_recalls(settings: Settings) -> None:
    seeds = settings.data / "seeds"
    seeds.mkdir()
    pack = '{"id": "one", "question": "How many boats are there?", "sql": "SELECT COUNT(*) FROM Boats"}\n'
    (seeds / "boats.jsonl").write_text(pack, encoding="utf-8")
    with open_app(settings) as app:
        understood = app.understand("How many boats are there?")
        app.get_ready_to_recall()
        app.store.close()
        shutil.rmtree(app.store_folder)
        with app.ledger.transaction() as entry:
            entry.forget(app.ledger.episodes()[0].id, "asked for")
    with open_app(settings) as app:
        assert app.ledger.outbox(), "opening drains nothing"
    with open_app(settings) as app:
        assert app.recalled(understood) == () and not app.ledger.outbox()


def test_what_feedback_changes_is_recalled_by_the_next_question_of_the_same_process(settings: Settings) -> None:
    question, sql = "How many boats lie in Veere?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'"
    with open_app(replace(settings, habits=False)) as app:
        app.model = ScriptedModel([sql] * 3)
        *_, first = app.ask(question)
        assert first.recalled == ()
        app.feedback(first.id, verdict="good")
        *_, second = app.ask(question)
        assert [memory.episode.question for memory in second.recalled] == [question]
        app.feedback(first.id, verdict="bad")
        *_, third = app.ask(question)
        assert third.recalled == () and app.store.members(third.understood.bucket) == set()  # type: ignore[union-attr]


def test_without_memory_nothing_is_recalled_seeded_or_drained(settings: Settings) -> None:
    with open_app(settings, memory=False) as app:
        assert app.recalled(app.understand("How many boats are there?")) == ()
        assert not app.store_folder.exists()


def test_files_that_hold_a_query_are_named_in_whatever_form_they_hold_it(tmp_path: Path) -> None:
    sql = "SELECT COUNT(*) FROM \"Order Details\" WHERE Note = 'größer'"
    for name, held in {
        "plain": sql,
        "case": sql.lower(),
        "json": json.dumps({"sql": sql}),
        "unescaped": json.dumps({"sql": sql}, ensure_ascii=False),
        "longer": f"{sql} AND Quantity = 1",
        "other": sql.replace("Details", "Detail"),
    }.items():
        (tmp_path / name).write_text(f"before {held}\nafter", encoding="utf-8")
    assert files_holding(tmp_path, [sql]) == ["case", "json", "plain", "unescaped"]
    assert files_holding(tmp_path, []) == []


def test_erasing_takes_what_answered_another_question_with_the_same_query_and_proves_it(settings: Settings) -> None:
    question, sql = "How many boats lie in Veere?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'"
    with open_app(settings, memory=False) as app:
        app.model = ScriptedModel([sql, sql.replace("COUNT(*)", "count( * )"), sql.replace("Veere", "Hoorn")])
        *_, first = app.ask(question)
        [id] = app.feedback(first.id, verdict="good").remembered
        *_, wrong = app.ask("How many boats lie in Hoorn?")
        *_, right = app.ask("How many boats lie in Hoorn?")
        [episode] = app.select(episode=id)
        assert files_holding(app.folder, [sql]), "what is looked for can be found"
        erased = app.forget((episode,), erase=True)
        held = {one.id: app.ledger.attempt(one.id) for one in (first, wrong, right)}
        assert [record and record.settled is None for record in held.values()] == [True, True, False]
        assert erased.proof[-2:] == (
            "files searched for the questions' words: 0 hold them",
            "files searched for their SQL: 0 hold them",
        )
