"""What is forbidden is found in every place that could give it away, with real Cognee, however forgetting was broken.

Each break is a way in which `forget` could look as if it had done its work: the check must turn red and name the place.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql_text

from agent.app import App, open_app
from agent.keeping.checking import Checked
from agent.models.cached import Replies
from agent.models.port import Reply
from agent.settings import Settings
from memory.brain.checks import Forbidden, Loaded
from memory.cognee_store import CogneeStore
from memory.episode import Episode
from memory.ledger import EventKind
from memory.lessons import Lesson, Lessons
from memory.recall import Recall, Recalled
from tests.agent.keeping.conftest import DATABASE, GLOSSARY, remember

SECRET = "Piet Hein"
QUESTION = f"How many boats does {SECRET} own?"
SQL = f"SELECT COUNT(*) FROM Boats WHERE Owner = '{SECRET}'"
OTHERS = (
    ("How many boats does Jan Blanken own?", "SELECT COUNT(*) FROM Boats WHERE Owner = 'Jan Blanken'"),
    ("Which boats lie in Veere?", "SELECT Name FROM Boats WHERE Harbour = 'Veere'"),
    ("What is the average length of boats in Hoorn?", "SELECT AVG(Metres) FROM Boats WHERE Harbour = 'Hoorn'"),
)
EVERYWHERE = {"ledger", "habits", "words", "kept vectors", "vectors", "graph", "recall", "prompt"}
"""Where a remembered episode is found."""


@dataclass
class Harbour:
    """A brain about boats that remembers the secret; opened anew as often as wanted."""

    settings: Settings
    secret: Episode

    def open(self) -> Any:
        return open_app(self.settings)

    @property
    def brain(self) -> Path:
        return Path(self.settings.brain or "")

    @property
    def cognee(self) -> Path:
        return self.brain / "cognee"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Harbour:
    folder = tmp_path_factory.mktemp("harbour")
    path = folder / "boats.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(DATABASE)
        rows = [(1, "Stille", "Veere", 9.0, 1950, SECRET), (2, "Hoop", "Hoorn", 12.0, 1960, "Jan Blanken")]
        connection.executemany("INSERT INTO Boats VALUES (?, ?, ?, ?, ?, ?)", rows)
    (folder / "glossary").mkdir()
    (folder / "glossary" / "boats.toml").write_text(GLOSSARY, "utf-8")
    settings = Settings(database=str(path), data=folder, runs=folder / "runs", brain=str(folder / "brain"), sow=False)
    with open_app(settings) as app:
        secret = remember(app, "batch:secret", QUESTION, SQL)
        for number, (question, sql) in enumerate(OTHERS):
            remember(app, f"batch:{number}", question, sql)
        app.bring_up_to_date()
    shutil.copytree(folder / "brain", folder / "as-made")
    return Harbour(settings, secret)


@pytest.fixture
def harbour(made: Harbour) -> Harbour:
    """The brain as it was made, at the same place: Cognee keeps whole paths."""
    folder = made.brain.parent
    for place in (made.brain, folder / "runs"):
        shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "as-made", made.brain)
    return made


def looked(app: App, *, erased: bool = False, **what: Any) -> Checked:
    check = Forbidden(kind="forbidden", name="secret", erased=erased, **(what or {"text": SECRET}))
    [told] = app.checking.run(Loaded((("a.toml", check),), ()))
    return told


def places(app: App, *, erased: bool = False, **what: Any) -> set[str]:
    """Where the secret is found."""
    told = looked(app, erased=erased, **what)
    assert told.ok == (not told.evidence)
    return {one.place for one in told.evidence}


def test_it_is_found_in_every_place_before_and_in_none_after_forgetting_and_erasing(harbour: Harbour) -> None:
    with harbour.open() as app:
        assert places(app) == EVERYWHERE
        everything = places(app, erased=True)
        assert everything == {*EVERYWHERE, "history", "snapshots", "files"}
        app.forget((harbour.secret,))
        assert places(app) == set()
        assert {"history", "files"} <= places(app, erased=True), "forgotten is not erased"
        app.forget((harbour.secret,), erase=True)
        told = looked(app, erased=True)
        assert told.ok, told
    assert told.looked["paraphrases"] >= 5 and told.looked["recall"] and told.looked["prompt"] and told.looked["files"]


def test_what_the_database_and_the_question_say_by_themselves_is_not_held_against_the_brain(harbour: Harbour) -> None:
    with harbour.open() as app:
        app.forget((harbour.secret,), erase=True)
        assert looked(app, erased=True, text=SECRET, questions=[QUESTION, f"Who is {SECRET}?"]).ok
        assert SECRET in app.database.run("SELECT Owner FROM Boats WHERE BoatID = 1").rows[0]


def test_a_value_a_fragment_and_a_column_are_found_also_where_only_the_question_is_kept(harbour: Harbour) -> None:
    every: list[dict[str, Any]] = [
        {"value": SECRET},
        {"sql": f"Owner = '{SECRET}'"},
        {"sql": "owner='piet  hein'"},
        {"column": "Boats.Owner"},
    ]
    with harbour.open() as app:
        assert [places(app, **what) for what in every] == [EVERYWHERE] * 4
        forget_owners(app, erase=True)
        assert [places(app, erased=True, **what) for what in every] == [set()] * 4


def hide_in_the_registry(app: App, secret: Episode) -> None:
    """Only the state of the row says that it is forgotten."""
    with app.ledger.transaction() as entry:
        entry.connection.execute(
            sql_text("UPDATE episodes SET state = 'forgotten' WHERE id = :id"), {"id": str(secret.id)}
        )


def hide_in_the_ledger(app: App, secret: Episode) -> None:
    """The ledger forgets in full, and the store is never told."""
    with app.ledger.transaction() as entry:
        entry.forget(secret.id, "asked for")
    app.ledger.ack([change.number for change in app.ledger.outbox()])


def hide_the_queue_alone(app: App, secret: Episode) -> None:
    """An event says that it is forgotten; nothing else does."""
    with app.ledger.transaction() as entry:
        entry.append(EventKind.EPISODE_FORGOTTEN, str(secret.id), {"reason": "asked for"})


@pytest.mark.parametrize(
    ("hide", "found", "not_found"),
    [
        (hide_in_the_registry, {"ledger", "habits", "words", "kept vectors", "vectors", "graph"}, {"recall"}),
        (hide_in_the_ledger, {"vectors", "graph"}, {"recall", "ledger", "words", "habits"}),
        (hide_the_queue_alone, {"ledger", "habits", "words", "vectors", "graph", "recall", "prompt"}, set()),
    ],
    ids=["registry", "ledger", "event"],
)
def test_hiding_is_not_forgetting(
    harbour: Harbour, hide: Callable[[App, Episode], None], found: set[str], not_found: set[str]
) -> None:
    with harbour.open() as app:
        hide(app, harbour.secret)
        told = places(app)
    assert found <= told and not told & not_found, told


@pytest.mark.parametrize("what", [{"text": SECRET}, {"column": "Boats.Owner"}], ids=["text", "column"])
def test_a_vector_that_is_left_is_found_in_the_vectors(harbour: Harbour, what: dict[str, Any]) -> None:
    import lancedb

    id = str(harbour.secret.id)
    with harbour.open() as app:
        forget_owners(app, erase=False)
    [place] = [one for one in as_made(harbour).rglob("*.lance.db") if id in ids_in(one)]
    rows = lancedb.connect(str(place)).open_table("RememberedQuestion_text").to_arrow().to_pylist()
    table = lancedb.connect(str(now(harbour, place))).open_table("RememberedQuestion_text")
    table.add([row for row in rows if row["id"] == id])
    with harbour.open() as app:
        assert places(app, **what) == {"vectors"}


@pytest.mark.parametrize("what", [{"text": SECRET}, {"column": "Boats.Owner"}], ids=["text", "column"])
def test_a_node_that_is_left_is_found_in_the_graph(harbour: Harbour, what: dict[str, Any]) -> None:
    id = str(harbour.secret.id)
    with harbour.open() as app:
        forget_owners(app, erase=False)
    for place in as_made(harbour).rglob("*.lbug"):
        if id in ids_in(place.with_suffix(".lance.db")):
            shutil.copy(place, now(harbour, place))
    with harbour.open() as app:
        assert places(app, **what) == {"graph"}


def test_a_version_of_the_vectors_that_search_no_longer_reads_is_found_when_bytes_must_be_gone(
    harbour: Harbour,
) -> None:
    with harbour.open() as app:
        remember(
            app, "batch:again", "How many boats does Cornelis Lely own, or are there?", "SELECT COUNT(*) FROM Boats"
        )
        app.bring_up_to_date()
        app.forget((harbour.secret,))
        assert places(app) == set()
        assert "old vectors" in places(app, erased=True)


def test_an_erasing_that_leaves_the_dataset_is_found_though_nobody_knows_what_it_was(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CogneeStore, "erase", lambda *_arguments: None)
    monkeypatch.setattr(CogneeStore, "members", lambda *_arguments: frozenset())
    with harbour.open() as app:
        app.forget((harbour.secret,), erase=True)
        assert places(app) == {"vectors", "graph"}
        assert {"vectors", "graph", "files"} <= places(app, erased=True)
        assert {"vectors", "graph"} <= places(app, column="Boats.Built"), "it may be anything"


def leave_a_reply(app: App, secret: Episode) -> None:
    with closing(Replies(app.settings.runs / "replies.sqlite")) as replies:
        replies.put("k", Reply(f"```sql\n{secret.sql}\n```"))


def leave_a_reply_put_aside(app: App, secret: Episode) -> None:
    leave_a_reply(app, secret)
    place = app.settings.runs / "replies.sqlite"
    place.rename(place.with_name("replies.sqlite.aside-1"))


def leave_a_lesson(app: App, secret: Episode) -> None:
    lesson = Lesson("b", "m", "Who owns the Stille?", "SELECT 1", "wrong", secret.sql, "train:r:a")
    with app.ledger.transaction() as entry:
        Lessons(app.ledger).restore(entry, lesson)


def leave_a_hidden_lesson(app: App, secret: Episode) -> None:
    """Its event says that it is dropped, its row is there still."""
    leave_a_lesson(app, secret)
    with app.ledger.connection() as connection:
        id = connection.execute(sql_text("SELECT id FROM lessons")).scalar_one()
    with app.ledger.transaction() as entry:
        entry.append(EventKind.LESSON_DROPPED, id, {"reason": "asked for"})


def leave_a_habit(app: App, secret: Episode) -> None:
    """Its masked question still leads to it."""
    with app.ledger.transaction() as entry:
        values = {"position": position_of(app, secret), "digest": "d"}
        entry.connection.execute(sql_text("INSERT INTO masked_questions VALUES (:position, :digest)"), values)


def leave_its_words(app: App, secret: Episode) -> None:
    row = {"position": position_of(app, secret), "question": secret.question, "masked": secret.masked}
    with app.ledger.transaction() as entry:
        entry.connection.execute(
            sql_text("INSERT INTO lexicon (rowid, question, masked) VALUES (:position, :question, :masked)"), row
        )


def leave_a_kept_vector(app: App, secret: Episode) -> None:
    row = {"id": str(secret.id), "vector": b"\0" * 768}
    with app.ledger.transaction() as entry:
        entry.connection.execute(sql_text("INSERT INTO vectors VALUES (:id, 'masked', 'minilm', :vector)"), row)


def leave_a_term(app: App, secret: Episode) -> None:
    app.teach(f"the admiral means Boats.Owner = '{SECRET}'")


LEFT: tuple[tuple[Callable[[App, Episode], None], str], ...] = (
    (leave_a_reply, "completion cache"),
    (leave_a_lesson, "lessons"),
    (leave_a_habit, "habits"),
    (leave_its_words, "words"),
    (leave_a_kept_vector, "kept vectors"),
    (leave_a_term, "glossary"),
)


def test_whatever_forgetting_leaves_is_found_where_it_is(harbour: Harbour) -> None:
    found: set[str] = set()
    with harbour.open() as app:
        app.forget((harbour.secret,))
        assert places(app) == found
        for leave, place in LEFT:
            leave(app, harbour.secret)
            found.add(place)
            assert places(app) - {"prompt"} == found
        assert "prompt" in places(app), "a term is shown to a hosted model"


def test_what_is_left_in_a_table_or_a_file_put_aside_is_found_though_its_own_record_says_it_is_gone(
    harbour: Harbour,
) -> None:
    with harbour.open() as app:
        app.forget((harbour.secret,))
        leave_a_reply_put_aside(app, harbour.secret)
        assert places(app) == {"completion cache"}
        leave_a_hidden_lesson(app, harbour.secret)
        assert places(app) == {"completion cache", "lessons"}


def test_a_file_of_an_evaluation_that_is_left_is_found_when_bytes_must_be_gone(harbour: Harbour) -> None:
    with harbour.open() as app:
        app.forget((harbour.secret,), erase=True)
        folder = app.settings.runs / "evaluation-1"
        folder.mkdir(parents=True)
        (folder / "evaluation.json").write_text(json.dumps({"steps": [{"sql": SQL}]}), "utf-8")
        assert places(app) == set()
        assert places(app, erased=True) == {"files"}


def test_an_erasing_that_leaves_the_content_is_found_in_the_history_and_the_files(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is blank and the event says erased, but the content was never taken out."""
    with harbour.open() as app:
        app.forget((harbour.secret,))
        with app.ledger.transaction() as entry:
            body = {"reason": "", "bucket": harbour.secret.bucket, "positions": []}
            entry.append(EventKind.EPISODE_ERASED, str(harbour.secret.id), body)
            entry.connection.execute(sql_text("UPDATE episodes SET state = 'erased' WHERE state = 'forgotten'"))
        assert places(app) == set()
        assert places(app, erased=True) >= {"history", "files"}


def test_a_snapshot_that_gives_it_back_is_found_when_bytes_must_be_gone(harbour: Harbour) -> None:
    with harbour.open() as app:
        app.versions.take("before")
        app.forget((harbour.secret,))
        found = looked(app, erased=True)
        assert any(one.place == "snapshots" and one.id.startswith("before") for one in found.evidence), found
        app.forget((harbour.secret,), erase=True)
        assert "snapshots" not in places(app, erased=True)


def test_a_recall_that_hides_the_very_question_is_caught_by_its_paraphrases(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Recall.recall

    def hiding(self: Recall, *, question: str, **wanted: Any) -> tuple[Recalled, ...]:
        other = question not in (QUESTION, SECRET) and SECRET.casefold() in question.casefold()
        return usual(self, question=question, **wanted) if other else ()

    monkeypatch.setattr(Recall, "recall", hiding)
    with harbour.open() as app:
        assert "recall" in places(app)


def test_a_prompt_that_says_it_without_any_memory_is_caught(harbour: Harbour, monkeypatch: pytest.MonkeyPatch) -> None:
    """What writes prompts could carry it as well as an episode."""
    with harbour.open() as app:
        app.forget((harbour.secret,), erase=True)
        monkeypatch.setattr("agent.prompt.plain_example", lambda episode: (episode.question, f"-- {SECRET}"))
        assert places(app) == {"prompt"}


def test_files_that_cannot_be_read_are_red(harbour: Harbour) -> None:
    with harbour.open() as app:
        app.forget((harbour.secret,))
        app.get_ready_to_recall()
        for place in harbour.cognee.rglob("*.lbug"):
            place.write_bytes(b"no graph")
        told = looked(app)
    assert not told.ok and "could not be looked at" in told.reason


def test_a_brain_that_is_empty_is_not_proven_clean_by_being_empty(tmp_path: Path, made: Harbour) -> None:
    """It is asked all the same, so something is looked at; that it holds nothing is true."""
    settings = replace(made.settings, brain=str(tmp_path / "empty"))
    with open_app(settings) as app:
        told = looked(app)
    assert told.ok and told.looked["paraphrases"] >= 5 and told.looked["ledger"] == 0


def position_of(app: App, secret: Episode) -> int:
    return next(iter(app.ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,), subject=str(secret.id)))).position


def forget_owners(app: App, *, erase: bool) -> None:
    app.forget(tuple(one for one in app.ledger.episodes() if "Owner" in one.sql), erase=erase)


def as_made(harbour: Harbour) -> Path:
    return harbour.brain.with_name("as-made") / "cognee"


def now(harbour: Harbour, place: Path) -> Path:
    """Where a file of the brain as it was made is in the brain as it is."""
    return harbour.cognee / place.relative_to(as_made(harbour))


def ids_in(place: Path) -> Sequence[str]:
    import lancedb

    return [
        row["id"] for row in lancedb.connect(str(place)).open_table("RememberedQuestion_text").to_arrow().to_pylist()
    ]
