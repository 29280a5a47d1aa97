"""What a database without a seed pack begins with: pairs composed from its schema. Real databases, real brains."""

from __future__ import annotations

import doctest
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from agent.app import open_app
from agent.attempt import Understood
from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.doors.cli import cli
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.learning.sowing import MOST_PAIRS, naming, sow, sowing, sown_batch, survey, writing
from agent.settings import Settings
from memory.episode import Episode
from memory.ledger import EventKind

HOTEL = (Path(__file__).parent / "hotel.sql").read_text(encoding="utf-8")


@dataclass(kw_only=True)
class Field:
    """A database to sow for; `ran` is the SQL that was run for it."""

    database: Database
    lexicon: Lexicon
    ran: list[str] = field(default_factory=list)

    def run(self, sql: str) -> Result:
        self.ran.append(sql)
        return self.database.run(check(sql, self.database.schema).sql)

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))

    def sown(self, seconds: float = 120.0) -> tuple[Episode, ...]:
        return sow(lexicon=self.lexicon, run=self.run, understand=self.understand, seconds=seconds)


@contextmanager
def opened(place: str) -> Iterator[Field]:
    with closing(open_database(place)) as database:
        yield Field(database=database, lexicon=Lexicon(database.schema, database.facts, ()))


def made(path: Path, sql: str) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
        connection.commit()
    return str(path)


@pytest.fixture(scope="module")
def hotel_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("hotel") / "hotel.sqlite", HOTEL)


@pytest.fixture(scope="module")
def hotel(hotel_file: str) -> Iterator[Field]:
    with opened(hotel_file) as field:
        yield field


@pytest.fixture(scope="module")
def sown(hotel: Field) -> tuple[Episode, ...]:
    return hotel.sown()


@pytest.fixture
def field_of(tmp_path: Path) -> Iterator[Callable[[str], Field]]:
    """Opens a database of the given SQL."""
    with_databases: list[Database] = []

    def make(sql: str) -> Field:
        database = open_database(made(tmp_path / f"one{len(with_databases)}.sqlite", sql))
        with_databases.append(database)
        return Field(database=database, lexicon=Lexicon(database.schema, database.facts, ()))

    yield make
    for database in with_databases:
        database.close()


def rows_of(field: Field, episodes: Sequence[Episode]) -> list[int]:
    return [len(field.run(episode.sql).rows) for episode in episodes]


def test_a_database_of_nine_tables_gives_as_many_pairs_as_there_may_be(sown: tuple[Episode, ...]) -> None:
    assert len(sown) == MOST_PAIRS == len({episode.id for episode in sown})


def test_every_pair_runs_and_gives_rows(hotel: Field, sown: tuple[Episode, ...]) -> None:
    assert all(rows_of(hotel, sown))


def test_the_pairs_are_of_many_shapes_and_speak_of_every_table(sown: tuple[Episode, ...], hotel: Field) -> None:
    assert len({episode.skeleton for episode in sown}) > 60
    assert {table for episode in sown for table in episode.tables} == {t.name for t in hotel.database.schema.tables}


def test_an_episode_says_that_it_was_sown_and_that_nobody_but_the_database_vouches_for_it(
    sown: tuple[Episode, ...], hotel: Field
) -> None:
    schema = hotel.database.schema
    said = {(e.origin, e.verifier, e.batch, e.schema_fingerprint) for e in sown}
    assert said == {("sown:hotel", "execution", sown_batch(schema), schema.fingerprint)}


def test_the_same_database_gives_the_same_pairs(hotel: Field, sown: tuple[Episode, ...]) -> None:
    assert hotel.sown() == sown


def test_questions_are_made_of_the_words_of_the_names_and_of_real_values(sown: tuple[Episode, ...]) -> None:
    asked = {episode.question: episode.sql for episode in sown}
    assert asked["How many bookings are there per guest?"] == (
        "SELECT guests.first_name, guests.last_name, COUNT(*) FROM bookings "
        "JOIN guests ON guests.guest_id = bookings.guest_id GROUP BY guests.guest_id"
    )
    assert "Which room types have no rooms?" in asked or "List the room types without rooms." in asked
    assert any("cancelled" in question for question in asked)
    assert not any("_" in question for question in asked)


BREAKING = {
    "no keys": """
        CREATE TABLE readings (station TEXT, taken_on TEXT, level REAL, kind TEXT);
        INSERT INTO readings VALUES ('North','2021-01-02',3.5,'tide'), ('South','2021-02-03',4.5,'tide'),
          ('North','2022-03-04',1.5,'flow'), ('South','2022-04-05',2.5,'flow'), ('North','2022-05-05',2.0,'tide');
    """,
    "one table": """
        CREATE TABLE trees (tree_id INTEGER PRIMARY KEY, name TEXT, species TEXT, height REAL, planted_on DATE);
        INSERT INTO trees VALUES (1,'Old Tom','oak',20.5,'1950-03-01'), (2,'Slim','birch',9.0,'2001-04-02'),
          (3,'Twin','oak',15.0,'1980-05-09'), (4,'Stump','beech',2.0,'1999-05-09'), (5,'Reed','birch',11,'2011-01-01');
    """,
    "no labels": """
        CREATE TABLE a (id INTEGER PRIMARY KEY, x INTEGER); CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER
          REFERENCES a(id), y REAL);
        INSERT INTO a VALUES (1, 5), (2, 6), (3, 7); INSERT INTO b VALUES (1, 1, 2.5), (2, 1, 3.5), (3, 2, 4.5);
    """,
    "spaces, keywords and quotes": """
        CREATE TABLE "Order" ("Order" INTEGER PRIMARY KEY, "Group" TEXT, "Sum Total" REAL, "Line ""A"" " TEXT);
        CREATE TABLE "Select From" ("id" INTEGER PRIMARY KEY, "Full Name" TEXT,
          "Order" INTEGER REFERENCES "Order"("Order"));
        INSERT INTO "Order" VALUES (1,'red',2.5,'x'), (2,'blue',3.5,'y'), (3,'red',4.5,'z');
        INSERT INTO "Select From" VALUES (1,'O''Hara',1), (2,'Ann "Bee"',1), (3,'Cy',2);
    """,
    "two keys to one table, and one to itself": """
        CREATE TABLE teams (team_id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER REFERENCES teams(team_id));
        CREATE TABLE games (game_id INTEGER PRIMARY KEY, home_id INTEGER REFERENCES teams(team_id),
          away_id INTEGER REFERENCES teams(team_id), goals INTEGER, played_on DATE);
        INSERT INTO teams VALUES (1,'Lions',NULL), (2,'Bears',1), (3,'Foxes',1);
        INSERT INTO games VALUES (1,1,2,3,'2020-01-01'), (2,2,3,1,'2021-02-02'), (3,1,3,4,'2021-03-03');
    """,
    "a view, blobs, no types": """
        CREATE TABLE photos (photo_id INTEGER PRIMARY KEY, title, picture BLOB);
        CREATE VIEW titles AS SELECT title FROM photos;
        INSERT INTO photos VALUES (1,'Dawn',x'00ff'), (2,'Dusk',x'01'), (3,'Noon',NULL);
    """,
}


@pytest.mark.parametrize("kind", BREAKING)
def test_any_schema_is_sown_with_pairs_that_hold(kind: str, field_of: Callable[[str], Field]) -> None:
    field = field_of(BREAKING[kind])
    found = field.sown()
    assert found
    assert all(rows_of(field, found))


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE empty (id INTEGER PRIMARY KEY, name TEXT);",
        "CREATE TABLE a (x); CREATE VIEW b AS SELECT x FROM a;",
    ],
)
def test_a_database_without_rows_gives_nothing(sql: str, field_of: Callable[[str], Field]) -> None:
    assert field_of(sql).sown() == ()


def test_what_a_row_belongs_to_by_two_keys_is_not_asked_for(field_of: Callable[[str], Field]) -> None:
    found = field_of(BREAKING["two keys to one table, and one to itself"]).sown()
    assert found and not any("games" in e.sql and "teams" in e.sql for e in found)


def test_people_are_called_by_both_names_however_often_each_is_repeated(sown: tuple[Episode, ...]) -> None:
    of_guests = [e.sql for e in sown if e.sql.endswith("GROUP BY guests.guest_id")]
    assert of_guests and all(sql.startswith("SELECT guests.first_name, guests.last_name") for sql in of_guests)


def test_secrets_and_blobs_are_neither_read_nor_shown(field_of: Callable[[str], Field]) -> None:
    field = field_of("""
        CREATE TABLE users (user_id INTEGER PRIMARY KEY, name TEXT, password_hash TEXT, passport_no TEXT, face BLOB,
          town TEXT);
        INSERT INTO users VALUES (1,'Ann','aa','P1',x'00','Oslo'), (2,'Bob','bb','P2',x'01','Oslo'),
          (3,'Cyd','cc',NULL,x'02','Bonn');
    """)
    assert field.sown()
    assert not any(word in sql for sql in field.ran for word in ("password", "passport", "face"))


def test_of_a_large_table_only_the_first_rows_are_read(hotel_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "SCANNED_ROWS", 100)
    with opened(hotel_file) as field:
        found = {episode.sql: episode.result_fingerprint for episode in field.sown()}
        of_bookings = [sql for sql in field.ran if " bookings " in sql and "LIMIT" not in sql]
    assert of_bookings == []
    assert found["SELECT COUNT(*) FROM bookings"] == "" != found["SELECT COUNT(*) FROM guests"]


def test_without_time_nothing_is_run(hotel_file: str) -> None:
    with opened(hotel_file) as field:
        assert field.sown(seconds=0) == ()
        assert field.ran == []


def test_postgres_is_sown_too(postgres_url: str) -> None:
    home = postgres_url.partition("host=")[2]
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE inn")
    try:
        with psycopg.connect(host=home, user="hebbql", dbname="inn", autocommit=True) as connection:
            connection.execute(HOTEL.encode())
        with opened(postgres_url.replace("/postgres?", "/inn?")) as field:
            found = field.sown()
            assert len(found) == MOST_PAIRS
            assert all(rows_of(field, found))
            assert any("TO_CHAR" in episode.sql for episode in found)
    finally:
        with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
            admin.execute("DROP DATABASE inn WITH (FORCE)")


TREES = BREAKING["one table"]


def at(tmp_path: Path, *, sows: bool = True) -> Settings:
    place = tmp_path / "trees.sqlite"
    if not place.exists():
        made(place, TREES)
    return Settings(database=str(place), brain=str(tmp_path / "brain"), data=tmp_path, runs=tmp_path, sow=sows)


def test_the_first_recall_finds_sown_episodes_and_the_second_opening_sows_nothing_more(tmp_path: Path) -> None:
    with open_app(at(tmp_path)) as app:
        app.get_ready_to_recall()
        held = [episode.id for episode in app.ledger.episodes()]
        assert held and app.ledger.outbox() == ()
    with open_app(at(tmp_path)) as app:
        app.get_ready_to_recall()
        assert [episode.id for episode in app.ledger.episodes()] == held
        assert len(list(app.ledger.events(kinds=(EventKind.BATCH_OPENED,)))) == 1


def test_sown_again_nothing_is_remembered_twice_and_nothing_forgotten_comes_back(tmp_path: Path) -> None:
    with open_app(at(tmp_path), seeding=False) as app:
        first = app.sow()
        app.forget(app.ledger.episodes()[:1])
        again = app.sow()
        assert (first.known, again.remembered, again.known) == (0, 0, first.remembered)
        assert len(app.ledger.episodes()) == first.remembered - 1


def test_nothing_is_sown_when_it_is_switched_off_or_a_pack_is_there(tmp_path: Path) -> None:
    with open_app(at(tmp_path, sows=False)) as app:
        app.get_ready_to_recall()
        assert app.ledger.episodes() == ()
    (tmp_path / "seeds").mkdir()
    pair = '{"id": "one", "question": "How many trees are there?", "sql": "SELECT COUNT(*) FROM trees"}'
    (tmp_path / "seeds" / "trees.jsonl").write_text(pair, encoding="utf-8")
    with open_app(at(tmp_path)) as app:
        app.get_ready_to_recall()
        assert [episode.origin for episode in app.ledger.episodes()] == ["seed:trees"]


def test_the_command_sows_by_hand_and_says_the_second_time_that_all_is_known(tmp_path: Path) -> None:
    place = made(tmp_path / "trees.sqlite", TREES)
    environment = {"HEBBQL_DATABASE": place, "HEBBQL_BRAIN": str(tmp_path / "brain"), "HEBBQL_RUNS": str(tmp_path)}
    done = [CliRunner().invoke(cli, ["seed", "--schema", "--json"], env=environment) for _ in range(2)]
    first, second = (json.loads(one.stdout) for one in done)
    assert [one.exit_code for one in done] == [0, 0]
    assert first["remembered"] > 0 == first["known"] == len(first["refused"])
    assert (second["remembered"], second["known"], second["batch"]) == (0, first["remembered"], first["batch"])


def test_the_command_takes_no_file_beside_the_schema(tmp_path: Path) -> None:
    wrong = CliRunner().invoke(cli, ["seed", "some.jsonl", "--schema"], env={"HEBBQL_RUNS": str(tmp_path)})
    assert wrong.exit_code == 2 and "--schema stands alone" in wrong.output


@pytest.mark.parametrize("module", [naming, writing, sowing])
def test_examples_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
