"""Seed packs: every pair is run and checked; a wrong one is refused by name and the others are remembered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.app import App
from agent.database.result import Result
from agent.learning.questions import Pair, QuestionFileError
from agent.learning.seed import Refused, Source, Unverified, episode_of, verify
from agent.settings import Settings
from memory.embedder import MiniLM
from memory.ledger import EventKind
from memory.semantic import SemanticMemory

if TYPE_CHECKING:
    from tests.agent.conftest import Bakery

RIGHT = "SELECT COUNT(*) FROM Breads"


def pair(sql: str = RIGHT, *others: str, ordered: bool = False, question: str = "How many breads are there?") -> Pair:
    return Pair("p1", question, sql, others, ordered, "", "", "en", 1)


@pytest.fixture
def run(bakery: Bakery) -> Callable[[str], Result]:
    return lambda sql: bakery.run(bakery.check(sql))


def test_a_pair_on_which_all_formulations_agree_is_verified(run: Callable[[str], Result]) -> None:
    assert verify(pair(RIGHT, "SELECT COUNT(BreadID) FROM Breads", "SELECT 3 FROM Breads LIMIT 1"), run=run).rows == (
        (3,),
    )
    assert verify(pair(), run=run).rows == ((3,),)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (pair("SELECT COUNT(*) FROM Bred"), "its SQL does not run: .*Bred"),
        (pair("SELECT COUNT(* FROM Breads"), "its SQL does not run"),
        (pair("DELETE FROM Breads"), "its SQL does not run: Only a SELECT may run"),
        (pair("SELECT 1; DROP TABLE Breads"), "its SQL does not run: Write one statement"),
        (pair("SELECT SUM(9223372036854775807) FROM Breads"), "its SQL does not run: .*overflow"),
        (pair("SELECT Name FROM Breads WHERE Price > 100"), "its result is empty, which proves nothing"),
        (pair("SELECT MAX(Price) FROM Breads WHERE Price > 100"), "its result is empty, which proves nothing"),
        (
            pair('SELECT a.SaleID FROM "Daily Sales" a, "Daily Sales" b, "Daily Sales" c'),
            "its result is cut at 50 rows",
        ),
        (pair(RIGHT, "SELECT COUNT(*) + 1 FROM Breads"), "its check gives another result"),
        (pair(RIGHT, RIGHT, "SELECT 'x' FROM Breads"), "its check gives another result"),
        (pair(RIGHT, "SELECT COUNT(*) FROM Bred"), "its check does not run: .*Bred"),
        (pair(RIGHT, "UPDATE Breads SET Price = 0"), "its check does not run: Only a SELECT may run"),
        (
            pair("SELECT Name FROM Breads ORDER BY Name", "SELECT Name FROM Breads ORDER BY Name DESC", ordered=True),
            "its check gives another result",
        ),
    ],
)
def test_a_wrong_pair_is_not_verified(run: Callable[[str], Result], wrong: Pair, why: str) -> None:
    with pytest.raises(Unverified, match=why):
        verify(wrong, run=run)


def test_order_counts_only_where_the_question_asks_for_it(run: Callable[[str], Result]) -> None:
    assert verify(pair("SELECT Name FROM Breads ORDER BY Name", "SELECT Name FROM Breads ORDER BY Name DESC"), run=run)


def test_an_episode_holds_the_question_as_it_is_read_and_the_sql_in_one_spelling(bakery: Bakery) -> None:
    seed = pair("select  count( * )\nfrom Breads;", question="How many\u200b breads\x1b[0m are there?")
    understood = bakery.understand("How many breads are there?")
    made = episode_of(
        seed, bakery.run(bakery.check(seed.sql)), understood, Source("seed:own", "gold", "b", "s", "sqlite")
    )
    assert made.question == "How many breads are there?"
    assert (made.sql, made.skeleton) == (RIGHT, "SELECT COUNT FROM _")
    assert (made.bucket, made.kind, made.tables) == (
        understood.bucket,
        understood.intent.kind,
        understood.intent.tables,
    )
    assert (made.masked, made.origin, made.verifier, made.batch) == (understood.masked, "seed:own", "gold", "b")
    assert made.schema_fingerprint == "s" and len(made.result_fingerprint) == 64


@pytest.fixture
def app(bakery: Bakery, tmp_path: Path) -> App:
    """The application on the bakery, with episodes in memory."""
    app = App(
        settings=Settings(data=tmp_path, runs=tmp_path),
        database=bakery.database,
        folder=tmp_path,
        ledger=bakery.ledger,
        semantic=SemanticMemory(bakery.ledger),
        synapses=bakery.synapses,
        embedder=MiniLM(),
        memory=True,
        seeding=False,
        say=lambda _told: None,
        progress=lambda *_told: None,
        opened=ExitStack(),
    )
    app.store = bakery.store
    return app


def packed(tmp_path: Path, *lines: Mapping[str, object]) -> Path:
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


GOOD = {"id": "good", "question": "How many breads are there?", "sql": RIGHT}
FINE = {"id": "fine", "question": "List all bakers", "sql": "SELECT Name FROM Bakers"}


def test_wrong_pairs_are_refused_by_name_and_the_rest_is_remembered(app: App, bakery: Bakery, tmp_path: Path) -> None:
    path = packed(
        tmp_path,
        GOOD,
        {"id": "no-table", "question": "How many ovens are there?", "sql": "SELECT COUNT(*) FROM Ovens"},
        {"id": "writes", "question": "How many breads are there?", "sql": "DELETE FROM Breads"},
        {"id": "differs", "question": "List all breads", "sql": RIGHT, "check_sql": "SELECT 4 FROM Breads LIMIT 1"},
        {"id": "nothing", "question": "Which breads are free?", "sql": "SELECT Name FROM Breads WHERE Price = 0"},
        {"id": "no-question", "question": "\u200b?!", "sql": RIGHT},
        FINE,
    )
    report = app.seed(path)
    assert (report.pack, report.remembered, report.known) == ("own.jsonl", 2, 0)
    assert [one.name for one in report.refused] == ["no-table", "writes", "differs", "nothing", "no-question"]
    assert Refused("differs", "its check gives another result") in report.refused
    assert [episode.question for episode in bakery.ledger.episodes()] == [GOOD["question"], FINE["question"]]
    assert {episode.origin for episode in bakery.ledger.episodes(batch=report.batch)} == {"seed:own"}
    [opened] = bakery.ledger.events(kinds=(EventKind.BATCH_OPENED,))
    assert opened.subject == report.batch and opened.content is not None
    assert opened.content["refused"] == [one.name for one in report.refused]
    assert bakery.ledger.outbox() == ()
    held = {id for counted in bakery.ledger.buckets() for id in bakery.store.members(counted.bucket)}
    assert held == {episode.id for episode in bakery.ledger.episodes()}
    bakery.prove()


def test_what_no_other_query_vouches_for_is_counted(app: App, tmp_path: Path) -> None:
    checked = {**FINE, "check_sql": "SELECT b.Name FROM Bakers b"}
    wrong = {"id": "writes", "question": "How many breads are there?", "sql": "DELETE FROM Breads"}
    assert app.seed(packed(tmp_path, GOOD, checked, wrong)).unvouched == 1
    vouched = {episode.question: episode.verifier for episode in app.ledger.episodes()}
    assert vouched == {GOOD["question"]: "execution", FINE["question"]: "gold"}


def test_a_pack_loaded_twice_remembers_nothing_twice(app: App, bakery: Bakery, tmp_path: Path) -> None:
    path = packed(tmp_path, GOOD, FINE)
    app.seed(path)
    report = app.seed(path)
    assert (report.remembered, report.known, len(bakery.ledger.episodes())) == (0, 2, 2)


def test_a_pack_does_not_bring_back_what_a_person_forgot(app: App, bakery: Bakery, tmp_path: Path) -> None:
    path = packed(tmp_path, GOOD, FINE)
    app.seed(path)
    app.forget(bakery.ledger.episodes()[:1])
    assert (app.seed(path).known, [one.question for one in bakery.ledger.episodes()]) == (2, [FINE["question"]])


def test_a_pack_with_a_broken_line_changes_nothing(app: App, bakery: Bakery, tmp_path: Path) -> None:
    path = packed(tmp_path, GOOD)
    path.write_text(path.read_text() + "\n{broken", encoding="utf-8")
    before = bakery.ledger.head()
    with pytest.raises(QuestionFileError, match="line 2: no JSON"):
        app.seed(path)
    assert bakery.ledger.head() == before


def test_what_was_loaded_is_recalled_with_its_reason(app: App, bakery: Bakery, tmp_path: Path) -> None:
    app.seed(packed(tmp_path, GOOD, FINE))
    attempt = bakery.ask("How many breads do you bake?", RIGHT)
    assert attempt.recalled[0].episode.question == GOOD["question"]
    assert attempt.recalled[0].why.startswith("same bucket")
