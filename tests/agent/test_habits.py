"""Habits: what is replayed with new literals, what must not be, and what ends a habit. Real databases and brains."""

from __future__ import annotations

import itertools
import json
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent.attempt import Replay, Understood
from agent.database.comparing import same
from agent.database.fingerprint import fingerprint
from agent.database.guard import CheckedQuery, check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.database.skeleton import normalise, skeleton
from agent.grounding import Lexicon, ground
from agent.habits import Habits, habit_name
from agent.intent import bucket_of, mask, predict
from memory.episode import Episode
from memory.ledger import Ledger
from memory.semantic import Term
from procedural.habit import Certainty
from procedural.store import Bucket, SynapseStore
from procedural.synapse import HALF_LIFE, Synapse, Target

HERE = Path(__file__).parent
HOME = HERE.parent.parent

CLINIC = """
CREATE TABLE owners (owner_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, code TEXT);
CREATE TABLE animals (
  animal_id INTEGER PRIMARY KEY, name TEXT NOT NULL, species TEXT, breed TEXT,
  owner_id INTEGER REFERENCES owners(owner_id), weight REAL
);
CREATE TABLE vets (vet_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE visits (
  visit_id INTEGER PRIMARY KEY, animal_id INTEGER REFERENCES animals(animal_id),
  vet_id INTEGER REFERENCES vets(vet_id), visited_on DATE, booked_at TIMESTAMP, fee REAL, status TEXT
);
INSERT INTO owners VALUES
  (1, 'Ada Moss', 'Riga', 'A1'), (2, 'Paris', 'Tartu', 'B7'), (3, 'Finn O''Brien', 'Paris', 'US'),
  (4, 'Zoë Färber', 'Riga', 'us'), (5, '김민수', 'Tartu', 'KXYZ'), (6, 'Lara Stone', 'Oslo', 'kxyz');
INSERT INTO animals VALUES
  (1, 'Rex', 'dog', 'Poodle', 1, 22.5), (2, 'Mia', 'cat', 'Siamese', 1, 4.0), (3, 'Bo', 'dog', 'Beagle', 2, 12.0),
  (4, 'Kit', 'rabbit', 'Lop', 3, 1.5), (5, 'Zoe', 'cat', 'Persian', 4, 5.0), (6, 'Rosa', 'parrot', 'Amazon', 5, 0.5),
  (7, 'Max', 'dog', 'Poodle', 6, 18.0), (8, 'Olive', 'cat', 'Siamese', 3, 3.5);
INSERT INTO vets VALUES (1, 'Dr Holm', 'Riga'), (2, 'Dr Saar', 'Tartu'), (3, 'Rex', 'Paris');
INSERT INTO visits VALUES
  (101, 1, 1, '2019-01-10', '2019-01-02 09:30:00', 40.0, 'closed'),
  (102, 2, 1, '2019-03-05', '2019-03-01 10:00:00', 55.0, 'closed'),
  (103, 3, 2, '2019-12-31', '2019-12-30 08:15:00', 30.0, 'cancelled'),
  (104, 4, 3, '2020-01-01', '2019-12-31 23:59:30', 80.0, 'closed'),
  (105, 5, 1, '2020-02-29', '2020-02-28 12:00:00', 25.0, 'closed'),
  (106, 1, 2, '2020-03-31', '2020-03-30 11:45:00', 60.0, 'open'),
  (107, 6, 2, '2020-06-15', '2020-06-01 16:20:00', 100.0, 'closed'),
  (108, 7, 3, '2020-12-24', '2020-12-24 00:00:00', 45.0, 'cancelled'),
  (109, 8, 1, '2021-01-01', '2020-12-31 10:10:00', 20.0, 'open'),
  (110, 1, 1, '2021-03-17', '2021-03-17 09:00:00', 75.0, 'closed'),
  (111, 2, 2, '2021-04-01', '2021-03-31 14:30:00', 50.0, 'open'),
  (112, 3, 3, '2021-12-31', '2021-12-01 13:00:00', 40.0, 'closed');
"""


ONE_LITERAL = Certainty(fewest_literals=1)
"""What is judged by its query alone: a habit takes new literals after one."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A database to ask, where it is, and what is known about it."""

    place: str
    database: Database
    lexicon: Lexicon

    def check(self, sql: str) -> CheckedQuery:
        return check(sql, self.database.schema)

    def run(self, query: CheckedQuery) -> Result:
        return self.database.run(query.sql)

    def rows(self, sql: str) -> Result:
        return self.run(self.check(sql))

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))


@dataclass(kw_only=True)
class Brain:
    """A brain about a database: episodes and synapses in a real ledger. Attempts are settled by hand."""

    asked: Asked
    ledger: Ledger
    synapses: SynapseStore
    now: float = 1_000_000.0
    certainty: Certainty = ONE_LITERAL
    ran: list[str] = field(default_factory=list)
    understood: list[str] = field(default_factory=list)
    _habits: Habits | None = None

    def check(self, sql: str) -> CheckedQuery:
        return self.asked.check(sql)

    def run(self, query: CheckedQuery) -> Result:
        self.ran.append(query.sql)
        return self.asked.run(query)

    def understand(self, question: str) -> Understood:
        self.understood.append(question)
        return self.asked.understand(question)

    @property
    def habits(self) -> Habits:
        if self._habits is None:
            self._habits = Habits(
                remembered=self.ledger.masked,
                understand=self.understand,
                synapse=self.synapse,
                lexicon=lambda: self.asked.lexicon,
                database=self,
                clock=lambda: self.now,
                certainty=self.certainty,
            )
        return self._habits

    def synapse(self, bucket: str, name: str) -> Synapse | None:
        with self.ledger.connection() as connection:
            found = self.synapses.synapses(connection, bucket, kind="habit")
        return next((one for one in found if one.target == name), None)

    def episode(self, question: str, sql: str, *, schema: str = "") -> Episode:
        understood, result = self.asked.understand(question), self.asked.rows(sql)
        dialect = self.asked.database.schema.dialect
        return Episode(
            bucket=understood.bucket,
            kind=understood.intent.kind,
            tables=understood.intent.tables,
            question=question,
            masked=understood.masked,
            sql=normalise(sql, dialect),
            skeleton=skeleton(sql, dialect),
            origin="test",
            verifier="person",
            batch="test",
            schema_fingerprint=schema or self.asked.database.schema.fingerprint,
            result_fingerprint=fingerprint(result, ordered=False),
        )

    def remember(self, question: str, sql: str, *, schema: str = "") -> Episode:
        episode = self.episode(question, sql, schema=schema)
        with self.ledger.transaction() as entry:
            entry.remember(episode, again=True)
        return episode

    def verify(self, question: str, sql: str, *, rewards: tuple[float, ...] = (1.0, 1.0, 1.0)) -> str:
        """Move the habit of an answer as often as there are rewards; gives its name, `""` where it has none."""
        understood = self.asked.understand(question)
        name = habit_name(understood, sql, lexicon=self.asked.lexicon)
        bucket = Bucket(understood.bucket, understood.intent.kind, understood.intent.tables)
        for reward in rewards if name else ():
            with self.ledger.transaction() as entry:
                self.synapses.fire(entry.connection, bucket, (Target("habit", name),), reward, self.now)
        return name

    def learn(self, question: str, sql: str) -> Episode:
        """Remember an answer, and have it verified three times."""
        self.verify(question, sql)
        return self.remember(question, sql)

    def ask(self, question: str) -> Replay | None:
        return self.habits.replay(self.asked.understand(question))


Line = dict[str, Any]


def lines(name: str) -> list[Line]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


NEAR_MISSES = lines("habit_near_misses.jsonl")
REPLAYS = lines("habit_replays.jsonl")


def named(line: Line) -> str:
    return f"{line['db']}: {line['about']}"


@contextmanager
def opened(place: str, terms: tuple[Term, ...] = ()) -> Iterator[Asked]:
    with closing(open_database(place)) as database:
        yield Asked(place=place, database=database, lexicon=Lexicon(database.schema, database.facts, terms))


@pytest.fixture(scope="module")
def northwind() -> Iterator[Asked]:
    told = tomllib.loads((HOME / "data/glossary/northwind.toml").read_text(encoding="utf-8"))["term"]
    terms = (Term(tuple(t["names"]), t["meaning"], t.get("expression"), tuple(t["tables"]), "glossary") for t in told)
    with opened(str(HOME / "data/northwind.sqlite"), tuple(terms)) as asked:
        yield asked


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    path = tmp_path_factory.mktemp("clinic") / "clinic.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(CLINIC)
    with opened(str(path)) as asked:
        yield asked


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> Iterator[Asked]:
    home = postgres_url.partition("host=")[2]
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE clinic")
    with psycopg.connect(host=home, user="hebbql", dbname="clinic", autocommit=True) as connection:
        connection.execute(CLINIC.encode())
    with opened(postgres_url.replace("/postgres?", "/clinic?")) as asked:
        yield asked
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE clinic WITH (FORCE)")


@pytest.fixture
def brain_about(tmp_path: Path) -> Iterator[Callable[[Asked], Brain]]:
    """Opens an empty brain about a database."""
    with_ledgers: list[Ledger] = []
    number = itertools.count()

    def make(asked: Asked) -> Brain:
        ledger = Ledger.open(tmp_path / f"brain{next(number)}" / "brain.sqlite", database=asked.database.schema.name)
        with_ledgers.append(ledger)
        synapses = SynapseStore()
        with ledger.transaction() as entry:
            synapses.create(entry.connection)
        return Brain(asked=asked, ledger=ledger, synapses=synapses)

    yield make
    for ledger in with_ledgers:
        ledger.close()


@pytest.fixture
def told(request: pytest.FixtureRequest, brain_about: Callable[[Asked], Brain]) -> Callable[[Line], Brain]:
    """Opens a brain that learned what a line of a golden file says."""

    def make(line: Line) -> Brain:
        brain = brain_about(request.getfixturevalue(line["db"]))
        for question, sql in line["learned"]:
            brain.learn(question, sql)
        return brain

    return make


@pytest.mark.parametrize("line", NEAR_MISSES, ids=named)
def test_a_near_miss_is_not_replayed(line: Line, told: Callable[[Line], Brain]) -> None:
    brain = told(line)
    learned, _ = line["learned"][0]
    if not line.get("lucky"):
        assert brain.ask(learned) is not None, "there is no habit to miss"
    replay = brain.ask(line["ask"])
    assert replay is None, replay.draft.sql
    brain.asked.check(line["right"])


def test_most_near_misses_read_like_what_was_learned(request: pytest.FixtureRequest) -> None:
    reach = 0
    for line in NEAR_MISSES:
        asked: Asked = request.getfixturevalue(line["db"])
        masks = {asked.understand(question).masked for question, _ in line["learned"]}
        reach += asked.understand(line["ask"]).masked in masks
    assert reach >= 90


@pytest.mark.parametrize("line", REPLAYS, ids=named)
def test_a_habit_is_replayed_with_other_literals(line: Line, told: Callable[[Line], Brain]) -> None:
    brain = told(line)
    replay = brain.ask(line["ask"])
    assert replay is not None
    assert replay.draft.result is not None
    assert same(brain.asked.rows(line["right"]), replay.draft.result, ordered=False), replay.draft.sql


def test_the_golden_files_are_as_large_as_they_should_be() -> None:
    assert len(NEAR_MISSES) >= 180
    assert len(REPLAYS) >= 70
    for golden in (NEAR_MISSES, REPLAYS):
        assert {line["db"] for line in golden} == {"northwind", "clinic", "postgres"}
        assert len({named(line) for line in golden}) == len(golden)


ODD_VALUES = (
    "O'Brien",
    "it's 'quoted' twice",
    'say "hello"',
    "back\\slash",
    "semi;colon -- dashes",
    "/* no comment */ here",
    "per%cent and under_score",
    ":name and ?1 and $1",
    "%s %(name)s {brace}",
    "café Zoë Łódź",
    "김민수 님",
    "x' OR '1'='1",
    "Robert'); DROP TABLE things; --",
)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_stored_value_of_any_letters_is_replayed_as_it_is(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, brain_about: Callable[[Asked], Brain]
) -> None:
    create = "CREATE TABLE things (thing_id INTEGER PRIMARY KEY, label TEXT, size INTEGER)"
    rows = [(0, "plain", 100), *((n, value, n) for n, value in enumerate(ODD_VALUES, start=1))]
    if kind == "sqlite":
        place = str(tmp_path / "things.sqlite")
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute(create)
            connection.executemany("INSERT INTO things VALUES (?, ?, ?)", rows)
    else:
        place = request.getfixturevalue("postgres_database")
        with psycopg.connect(place.replace("postgresql+psycopg", "postgresql"), autocommit=True) as connected:
            connected.execute(create)
            connected.cursor().executemany("INSERT INTO things VALUES (%s, %s, %s)", rows)
    with opened(place) as asked:
        brain = brain_about(asked)
        brain.learn(
            "What is the size of the thing with the label plain?", "SELECT size FROM things WHERE label = 'plain'"
        )
        replayed = 0
        for number, value in enumerate(ODD_VALUES, start=1):
            replay = brain.ask(f"What is the size of the thing with the label \u201c{value}\u201d?")
            if replay is not None:
                assert replay.draft.result is not None
                assert replay.draft.result.rows == ((number,),), value
                replayed += 1
        assert replayed >= 8


# What makes a habit, and what ends it

DOGS = ("How many dogs are there?", "SELECT COUNT(*) FROM animals WHERE species = 'dog'")
CATS = "How many cats are there?"


@pytest.fixture
def brain(brain_about: Callable[[Asked], Brain], clinic: Asked) -> Brain:
    return brain_about(clinic)


def test_a_replay_says_what_ran_and_what_speaks_for_it(brain: Brain) -> None:
    brain.learn(*DOGS)
    newest = brain.remember("How many parrots are there?", DOGS[1].replace("dog", "parrot"))
    replay = brain.ask(CATS)
    assert replay is not None
    assert replay.habit == brain.verify(*DOGS, rewards=())
    assert replay.habit == habit_name(brain.asked.understand(CATS), replay.draft.sql, lexicon=brain.asked.lexicon)
    assert replay.recalled.episode == newest
    assert replay.recalled.why == "habit: right 3 of 3 times"
    assert replay.draft.confidence == (1 + 3) / (2 + 3), "the mean of Beta(1 + 3, 1)"
    draft = replay.draft
    assert (draft.prompt, draft.tables, draft.problem, draft.rule) == (None, ("animals",), "", "")
    assert draft.reply.text == draft.sql == "SELECT COUNT(*) FROM animals WHERE species = 'cat'"
    assert draft.result is not None
    assert draft.result.rows == ((3,),)


def test_a_replay_writes_nothing(brain: Brain) -> None:
    brain.learn(*DOGS)
    before = brain.ledger.verify().head
    assert brain.ask(CATS) is not None
    assert brain.ledger.verify().head == before


def test_two_successes_are_not_enough(brain: Brain) -> None:
    brain.remember(*DOGS)
    brain.verify(*DOGS, rewards=(1.0, 1.0))
    assert brain.ask(CATS) is None
    brain.verify(*DOGS, rewards=(1.0,))
    assert brain.ask(CATS) is not None


def test_how_often_it_must_be_right_is_a_setting(brain: Brain) -> None:
    brain.certainty = replace(ONE_LITERAL, fewest_successes=1)
    brain.remember(*DOGS)
    brain.verify(*DOGS, rewards=(1.0,))
    replay = brain.ask(CATS)
    assert replay is not None
    assert replay.recalled.why == "habit: right once"


def test_one_failure_ends_it_for_good(brain: Brain) -> None:
    brain.learn(*DOGS)
    assert brain.ask(CATS) is not None
    brain.verify(*DOGS, rewards=(0.0,))
    assert brain.ask(CATS) is None
    brain.verify(*DOGS, rewards=(1.0,) * 9)
    assert brain.ask(CATS) is None


BY_HEART = (
    ("How many animals are there?", "SELECT 8 FROM animals LIMIT 1"),
    ("How many animals are there?", "SELECT COUNT(*) FROM animals WHERE weight < 22.6"),
    ("What is the heaviest animal?", "SELECT name FROM animals WHERE weight = 22.5"),
    ("What is the heaviest animal?", "SELECT name FROM animals WHERE name = 'Rex'"),
    ("How many visits are there?", "SELECT COUNT(*) FROM visits WHERE visited_on >= '2019-01-10'"),
    ("How many animals are there?", "SELECT COUNT(DISTINCT name) FROM animals"),
    ("How many owners are there?", "SELECT COUNT(DISTINCT owner_id) FROM visits JOIN animals USING (animal_id)"),
    ("How many visits are there?", "SELECT COUNT(status) FROM visits"),
)


@pytest.mark.parametrize(("question", "sql"), BY_HEART)
def test_an_answer_that_was_learned_by_heart_is_no_habit(question: str, sql: str, brain: Brain) -> None:
    assert brain.verify(question, sql) == ""
    brain.remember(question, sql)
    assert brain.ask(question) is None


def test_new_literals_are_taken_once_two_were_right(brain: Brain) -> None:
    brain.certainty = Certainty()
    brain.learn(*DOGS)
    assert brain.ask(DOGS[0]) is not None, "those that were verified need no others"
    assert brain.ask(CATS) is None
    brain.remember(*DOGS)
    assert brain.ask(CATS) is None, "the same literals once more"
    brain.remember("How many rabbits are there?", DOGS[1].replace("dog", "rabbit"))
    assert brain.ask(CATS) is not None


def test_each_place_must_have_shown_two_literals(brain: Brain) -> None:
    brain.certainty = Certainty()
    question = "How many {} visits were there in {}?"
    sql = "SELECT COUNT(*) FROM visits WHERE status = '{}' AND strftime('%Y', visited_on) = '{}'"
    brain.learn(question.format("closed", 2020), sql.format("closed", 2020))
    brain.remember(question.format("open", 2020), sql.format("open", 2020))
    assert brain.ask(question.format("cancelled", 2020)) is not None
    assert brain.ask(question.format("closed", 2019)) is None
    brain.remember(question.format("open", 2021), sql.format("open", 2021))
    assert brain.ask(question.format("cancelled", 2019)) is not None


def test_it_fades_when_it_is_not_used(brain: Brain) -> None:
    brain.learn(*DOGS)
    brain.now += HALF_LIFE - 1
    assert brain.ask(CATS) is not None
    brain.now += 2
    assert brain.ask(CATS) is None


def test_successes_without_an_episode_are_no_habit(brain: Brain) -> None:
    assert brain.verify(*DOGS)
    assert brain.ask(CATS) is None


def test_forgetting_the_episode_ends_it(brain: Brain) -> None:
    episode = brain.learn(*DOGS)
    assert brain.ask(CATS) is not None
    with brain.ledger.transaction() as entry:
        entry.forget(episode.id, "asked for")
    assert brain.ask(CATS) is None
    with brain.ledger.transaction() as entry:
        entry.remember(episode, again=True)
    assert brain.ask(CATS) is not None


def test_erasing_the_episode_ends_it(brain: Brain) -> None:
    episode = brain.learn(*DOGS)
    assert brain.ask(CATS) is not None
    with brain.ledger.transaction() as entry:
        entry.erase(episode.id, "asked for")
    assert brain.ask(CATS) is None


def test_an_episode_of_another_schema_says_nothing(brain: Brain) -> None:
    brain.verify(*DOGS)
    brain.remember(*DOGS, schema="0" * 64)
    assert brain.ask(CATS) is None


def test_a_changed_schema_ends_it(brain: Brain, tmp_path: Path) -> None:
    brain.learn(*DOGS)
    assert brain.ask(CATS) is not None
    path = tmp_path / "clinic.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(CLINIC + "ALTER TABLE animals ADD COLUMN chip TEXT;")
    with opened(str(path)) as changed:
        brain.asked = changed
        brain.remember("How many rabbits are there?", DOGS[1].replace("dog", "rabbit"))
        assert brain.ask(CATS) is None
        assert brain.verify(*DOGS)
        assert brain.ask(CATS) is not None


def test_a_term_that_is_taught_anew_ends_it(brain: Brain) -> None:
    def taught(meaning: str) -> Asked:
        term = Term(("takings",), meaning, f"SUM({meaning})", ("visits",), "person")
        database = brain.asked.database
        return replace(brain.asked, lexicon=Lexicon(database.schema, database.facts, (term,)))

    brain.asked = taught("visits.fee")
    brain.learn(
        "What were the takings in 2020?", "SELECT SUM(fee) FROM visits WHERE strftime('%Y', visited_on) = '2020'"
    )
    assert brain.ask("What were the takings in 2019?") is not None
    brain.asked = taught("visits.fee * 0.8")
    assert brain.ask("What were the takings in 2019?") is None
    brain.asked = taught("visits.fee")
    assert brain.ask("What were the takings in 2019?") is not None


def test_the_same_query_for_other_words_has_no_evidence(brain: Brain) -> None:
    brain.learn(*DOGS)
    brain.remember("Count the dogs", DOGS[1])
    assert brain.ask("Count the dogs") is None


# Doubts


def test_two_ways_that_agree_are_replayed_by_the_better_known(brain: Brain) -> None:
    brain.learn(*DOGS)
    other = DOGS[1].replace("COUNT(*)", "COUNT(animal_id)")
    brain.remember(DOGS[0], other)
    brain.verify(DOGS[0], other, rewards=(1.0,) * 5)
    replay = brain.ask(CATS)
    assert replay is not None
    assert replay.recalled.why == "habit: right 5 of 5 times"
    assert "COUNT(animal_id)" in replay.draft.sql
    assert len(brain.ran) == 2


def test_a_way_without_evidence_contradicts_all_the_same(brain: Brain) -> None:
    question, sql = "What is the weight of the {}?", "SELECT SUM(weight) FROM animals WHERE species = '{}'"
    brain.learn(question.format("dogs"), sql.format("dog"))
    brain.remember(question.format("dogs"), sql.format("dog").replace("SUM(weight)", "weight"))
    assert brain.ask(question.format("parrots")) is not None
    assert brain.ask(question.format("cats")) is None


def test_two_ways_that_differ_in_order_contradict_each_other(brain: Brain) -> None:
    question, sql = "List the animals by weight", "SELECT name FROM animals ORDER BY weight DESC"
    brain.learn(question, sql)
    brain.remember(question, "SELECT name FROM animals ORDER BY -weight")
    assert brain.ask(question) is not None
    brain.remember(question, "SELECT name FROM animals ORDER BY weight")
    assert brain.ask(question) is None


def test_an_order_that_a_function_gives_is_an_order_too(brain: Brain) -> None:
    question = "List the animals by weight"
    brain.learn(question, "SELECT name FROM animals ORDER BY ABS(weight) DESC")
    assert brain.ask(question) is not None
    brain.remember(question, "SELECT name FROM animals ORDER BY ABS(weight)")
    assert brain.ask(question) is None, "the same rows the other way round"


def test_a_contradiction_ends_when_it_is_forgotten(brain: Brain) -> None:
    brain.learn(*DOGS)
    wrong = brain.remember(DOGS[0], DOGS[1].replace("COUNT(*)", "COUNT(DISTINCT breed)"))
    assert brain.ask(CATS) is None
    with brain.ledger.transaction() as entry:
        entry.forget(wrong.id, "asked for")
    assert brain.ask(CATS) is not None


def test_an_answer_that_fits_only_its_own_literals_is_asked_about_those(brain: Brain) -> None:
    brain.learn(*DOGS)
    brain.remember("How many cats are there?", "SELECT COUNT(*) FROM animals WHERE animal_id IN (2, 5, 8)")
    assert brain.ask("How many parrots are there?") is not None
    brain.remember("How many rabbits are there?", "SELECT COUNT(*) FROM animals WHERE species LIKE 'r%' OR weight < 1")
    assert brain.ask("How many parrots are there?") is None


def test_a_way_that_cannot_be_taken_here_is_asked_about_its_own_literals(brain: Brain) -> None:
    question = "How many more visits were there in {} than in {}?"
    one = "SUM(CASE WHEN strftime('%Y', visited_on) = '{}' THEN 1 ELSE 0 END)"
    sql = f"SELECT {one} - {one} FROM visits"
    brain.learn(question.format(2019, 2020), sql.format(2019, 2020))
    asked = question.format(2020, 2021)
    assert brain.ask(asked) is not None
    other = brain.remember(question.format(2021, 2020), f"SELECT ABS({one} - {one}) FROM visits".format(2021, 2020))
    assert brain.ask(asked) is None
    with brain.ledger.transaction() as entry:
        entry.forget(other.id, "asked for")
    assert brain.ask(asked) is not None


def test_more_than_four_ways_are_too_many(brain: Brain) -> None:
    brain.learn(*DOGS)
    for counted in ("COUNT(animal_id)", "COUNT(name)", "COUNT(1)", "SUM(1)"):
        assert brain.ask(CATS) is not None
        brain.remember(DOGS[0], DOGS[1].replace("COUNT(*)", counted))
    assert brain.ask(CATS) is None


def test_a_result_that_is_cut_off_is_not_replayed(brain: Brain) -> None:
    question, sql = (
        "Which animals belong to Ada Moss?",
        (
            "SELECT fee FROM visits JOIN animals ON animals.animal_id = visits.animal_id "
            "JOIN owners ON owners.owner_id = animals.owner_id WHERE owners.name = 'Ada Moss'"
        ),
    )
    brain.learn(question.replace("Ada Moss", "Lara Stone"), sql.replace("Ada Moss", "Lara Stone"))
    assert brain.ask(question) is not None
    with closing(open_database(brain.asked.place, row_cap=3)) as narrow:
        brain.asked = replace(brain.asked, database=narrow)
        assert brain.ask(question.replace("Ada Moss", "Lara Stone")) is not None
        assert brain.ask(question) is None


def test_a_query_that_the_guard_rejects_is_not_replayed(brain: Brain) -> None:
    tampered = replace(
        brain.episode(*DOGS), sql="SELECT COUNT(*), load_extension('x') FROM animals WHERE species = 'dog'"
    )
    with brain.ledger.transaction() as entry:
        entry.remember(tampered)
    assert brain.verify(DOGS[0], tampered.sql)
    assert brain.ask(CATS) is None
    assert brain.ran == []


def test_a_query_that_fails_is_not_replayed(brain: Brain) -> None:
    broken = DOGS[1].replace("COUNT(*)", "COUNT(json_extract(name, '$.x'))")
    with brain.ledger.transaction() as entry:
        entry.remember(replace(brain.episode(*DOGS), sql=broken))
    assert brain.verify(DOGS[0], broken)
    assert brain.ask(CATS) is None
    assert len(brain.ran) == 1


def test_nothing_is_remembered_of_another_masked_question(brain: Brain) -> None:
    brain.learn(*DOGS)
    assert brain.ask("How many dogs are there in Riga?") is None
    assert brain.ran == []


# Speed


def test_an_episode_is_read_once(brain: Brain) -> None:
    brain.learn(*DOGS)
    for _ in range(3):
        assert brain.ask(CATS) is not None
    assert brain.understood == [DOGS[0]]
    brain.asked = replace(brain.asked, lexicon=Lexicon(brain.asked.database.schema, brain.asked.database.facts, ()))
    assert brain.ask(CATS) is not None
    assert brain.understood == [DOGS[0]] * 2


def test_many_episodes_of_one_masked_question_are_one_habit(
    brain_about: Callable[[Asked], Brain], northwind: Asked
) -> None:
    brain = brain_about(northwind)
    values = next(
        f.values for f in northwind.database.facts.columns if (f.table, f.column) == ("Products", "ProductName")
    )
    sql = "SELECT UnitPrice FROM Products WHERE ProductName = '{}'"
    for value in values[:40]:
        newest = brain.remember(f"What does {value} cost?", sql.format(value.replace("'", "''")))
    brain.verify("What does Tofu cost?", sql.format("Tofu"))
    replay = brain.ask("What does Tofu cost?")
    assert replay is not None
    assert replay.recalled.episode == newest
    assert len(brain.ran) == 1


def test_a_habit_needs_neither_cognee_nor_a_model() -> None:
    script = (
        "import sys, agent.habits, agent.drafting.slots, agent.drafting.operands\n"
        "print([name for name in ('cognee', 'litellm', 'lancedb', 'onnxruntime', 'xllamacpp', 'anthropic') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=HOME, check=True)
    assert done.stdout.strip() == "[]"
