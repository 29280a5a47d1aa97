"""The leak check: each way a held-back question can be known from training is named, and near misses are not."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from agent.database.reading import open_database
from agent.grounding import Lexicon, ground
from agent.intent import mask
from agent.learning.leaks import OVERLAP, Leak, leaks, literals_of, overlap
from agent.learning.mistakes import one_spelling
from agent.learning.questions import Pair
from memory.semantic import Term

HOME = Path(__file__).resolve().parents[3]
BAKERY = """
CREATE TABLE Bakers (BakerID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Town TEXT, Boss INTEGER, Born TEXT);
CREATE TABLE Breads (BreadID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Price REAL, Flour TEXT,
  BakerID INTEGER REFERENCES Bakers(BakerID));
INSERT INTO Bakers VALUES (1, 'Ottilie Brandt', 'Linz', NULL, '1960-01-02'), (2, 'Pavel Novy', 'Graz', 1, '1990-03-04');
INSERT INTO Breads VALUES (1, 'Rye Loaf', 4.5, 'rye', 1), (2, 'Poppy Roll', 0.9, 'wheat', 2);
"""


def asked(question: str, sql: str, *others: str, name: str = "") -> Pair:
    return Pair(name, question, sql, others, False, "", "", "en", 1)


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    path = tmp_path_factory.mktemp("leaks") / "bakery.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(BAKERY)
    with closing(open_database(str(path))) as database:
        return Lexicon.build(database.schema, database.facts, ())


def found(
    known: Pair | list[Pair], held: Pair | list[Pair], lexicon: Lexicon | None = None, dialect: str = "sqlite"
) -> tuple[Leak, ...]:
    return leaks(
        known if isinstance(known, list) else [known],
        held if isinstance(held, list) else [held],
        mask=lambda question: mask(question, ground(question, lexicon)) if lexicon else question,
        normalise=lambda sql: one_spelling(sql, dialect),
    )


BREADS_OF_LINZ = asked(
    "How many breads do the bakers from Linz make?",
    "SELECT COUNT(*) FROM Breads AS b JOIN Bakers AS k ON k.BakerID = b.BakerID WHERE k.Town = 'Linz'",
    name="train-1",
)


@pytest.mark.parametrize(
    ("held", "rule", "told"),
    [
        (
            asked("how many breads do the bakers  from LINZ make", "SELECT 1"),
            "same question",
            "howmanybreadsdothebakersfromlinzmake",
        ),
        (
            asked(
                "Bread count, Linz",
                "select count(*) from breads x inner join bakers y on y.bakerid = x.bakerid where y.town='Linz';",
            ),
            "same SQL",
            "bakers . town = 'Linz'",
        ),
        (
            asked("How many breads do the bakers from Graz make?", "SELECT COUNT(Name) FROM Breads"),
            "same masked question",
            "how many breads do the bakers from <value> make",
        ),
        (
            asked(
                "Number of loaves baked in Graz",
                "SELECT COUNT(*) FROM Breads JOIN Bakers ON Bakers.BakerID = Breads.BakerID WHERE Bakers.Town = 'Graz'",
            ),
            "same SQL but for literals",
            "bakers . town = ?",
        ),
        (
            asked(
                "What number of breads do the bakers from Linz make, please?",
                "SELECT SUM(1) FROM Bakers JOIN Breads USING (BakerID) WHERE Town = 'Linz'",
            ),
            "paraphrase",
            "the literals are the same: linz",
        ),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_each_kind_of_leak_is_named(bakery: Lexicon, held: Pair, rule: str, told: str) -> None:
    [leak] = found(BREADS_OF_LINZ, replace(held, id="held-1"), bakery)
    assert (leak.training, leak.holdout, leak.rule) == ("train-1", "held-1", rule)
    assert told in leak.reason


def test_a_second_formulation_gives_away_as_much_as_the_first() -> None:
    known = asked("a", "SELECT 1 FROM x", "SELECT Town FROM Bakers WHERE Born IS NULL")
    held = asked("b", "SELECT 2 FROM y", "SELECT 3 FROM z", "SELECT k.Town FROM Bakers AS k WHERE k.Born IS NULL")
    assert [leak.rule for leak in found(known, held)] == ["same SQL"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # The format of a date says what is asked.
        ("SELECT strftime('%Y', Born) FROM Bakers", "SELECT strftime('%Y-%m', Born) FROM Bakers"),
        ("SELECT substr(Born, 1, 4) FROM Bakers", "SELECT substr(Born, 1, 7) FROM Bakers"),
        # Which of the two is older.
        (
            "SELECT a.Name FROM Bakers AS a JOIN Bakers AS b ON b.BakerID = a.Boss WHERE a.Born < b.Born",
            "SELECT a.Name FROM Bakers AS a JOIN Bakers AS b ON b.BakerID = a.Boss WHERE b.Born < a.Born",
        ),
        # Whose name is shown.
        (
            "SELECT k.Name FROM Breads AS b JOIN Bakers AS k ON k.BakerID = b.BakerID",
            "SELECT b.Name FROM Breads AS b JOIN Bakers AS k ON k.BakerID = b.BakerID",
        ),
        ("SELECT CAST(Price AS INTEGER) FROM Breads", "SELECT CAST(Price AS TEXT) FROM Breads"),
        (
            "WITH t AS (SELECT Town AS x, Name AS y FROM Bakers) SELECT x FROM t",
            "WITH t AS (SELECT Town AS x, Name AS y FROM Bakers) SELECT y FROM t",
        ),
    ],
)
def test_sql_that_asks_for_something_else_is_no_leak(first: str, second: str) -> None:
    assert found(asked("a", first), asked("b", second)) == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT Name FROM Breads WHERE Price > 4.5", "SELECT Name FROM Breads WHERE Price > 3"),
        ("SELECT Name FROM Breads WHERE Flour IN ('rye', 'it''s')", "SELECT Name FROM Breads WHERE Flour IN ('wheat')"),
        ("SELECT Name FROM Breads LIMIT 5", 'SELECT t."Name" AS bread FROM "Breads" AS t LIMIT 3'),
        ("SELECT Name FROM Breads WHERE Name LIKE '%Y'", "SELECT Name FROM Breads WHERE Name LIKE '%Ymir%'"),
        (
            "SELECT Town, COUNT(*) AS n FROM Bakers GROUP BY Town ORDER BY n DESC LIMIT 1",
            "SELECT Town, COUNT(*) AS many FROM Bakers GROUP BY Town ORDER BY many DESC LIMIT 2",
        ),
        (
            "WITH a AS (SELECT BakerID FROM Bakers), b AS (SELECT BakerID FROM Breads) "
            "SELECT a.BakerID FROM a JOIN b ON b.BakerID = a.BakerID WHERE a.BakerID > 1",
            "WITH x AS (SELECT BakerID FROM Bakers), y AS (SELECT BakerID FROM Breads) "
            "SELECT x.BakerID FROM x JOIN y ON y.BakerID = x.BakerID WHERE x.BakerID > 2",
        ),
        (
            "WITH old AS (SELECT Name FROM Bakers WHERE Born < '1970-01-01') SELECT COUNT(*) FROM old",
            "WITH elder AS (SELECT Name FROM Bakers WHERE Born < '1960-01-01') SELECT COUNT(*) AS n FROM elder",
        ),
    ],
)
def test_other_literals_and_other_given_names_hide_no_leak(first: str, second: str) -> None:
    assert [leak.rule for leak in found(asked("a", first), asked("b", second))] == ["same SQL but for literals"]


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        ("SELECT to_char(d, 'YYYY-MM') FROM t", "SELECT to_char(d, 'YYYY') FROM t", []),
        ("SELECT date_trunc('month', d) FROM t", "SELECT date_trunc('year', d) FROM t", []),
        ("SELECT a FROM t WHERE b = 'MI'", "SELECT a FROM t WHERE b = 'Linz'", ["same SQL but for literals"]),
        (
            "SELECT a FROM t WHERE d > date('1997-01-01')",
            "SELECT a FROM t WHERE d > date('1998-01-01')",
            ["same SQL but for literals"],
        ),
        ("SELECT a FROM t WHERE b = 'Graz'", "SELECT a FROM t WHERE b = 'Linz'", ["same SQL but for literals"]),
        ("SELECT a FROM t LIMIT 3", "SELECT a FROM t LIMIT 4", ["same SQL but for literals"]),
    ],
)
def test_another_dialect_is_read_alike(first: str, second: str, rules: list[str]) -> None:
    assert [leak.rule for leak in found(asked("a", first), asked("b", second), dialect="postgres")] == rules


def test_sql_that_cannot_be_read_is_compared_as_it_stands() -> None:
    known, held = asked("a", "SELEC  1 FRO (('x"), asked("b", "SELEC 1 FRO (('x")
    assert [leak.rule for leak in found(known, held)] == ["same SQL"]
    assert found(known, asked("b", "")) == ()


@pytest.mark.parametrize(
    "held",
    [
        # Another literal.
        asked("What number of breads do the bakers from Graz make, please?", "SELECT SUM(1) FROM Bakers, Breads"),
        # Another table.
        asked("What number of breads do the bakers from Linz make, please?", "SELECT SUM(1) FROM Breads"),
        # Other words.
        asked("What does the dearest loaf from Linz cost?", "SELECT MAX(Price) FROM Breads, Bakers"),
    ],
)
def test_a_near_miss_is_no_paraphrase(bakery: Lexicon, held: Pair) -> None:
    assert found(BREADS_OF_LINZ, held, bakery) == ()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(1) FROM Bakers AS k, Breads AS b WHERE k.BakerID = b.BakerID AND k.Town = 'Linz'",
        "WITH k AS (SELECT BakerID FROM Bakers WHERE Town = 'Linz') SELECT SUM(1) FROM Breads JOIN k USING (BakerID)",
    ],
)
def test_a_paraphrase_is_found_however_its_tables_are_joined(bakery: Lexicon, sql: str) -> None:
    held = asked("What number of breads do the bakers from Linz make, please?", sql)
    assert [leak.rule for leak in found(BREADS_OF_LINZ, held, bakery)] == ["paraphrase"]


def test_questions_of_stop_words_alone_are_held_against_each_other_by_these() -> None:
    assert overlap("Who is it?", "Is it who?") == 100
    assert overlap("Who is it?", "What are they?") < 60


def test_leaks_come_in_the_order_of_the_holdout_then_of_training() -> None:
    known = [asked("x", "SELECT a FROM t", name="t1"), asked("y", "SELECT b FROM t", name="t2")]
    held = [asked("y", "SELECT a FROM t", name="h1"), asked("new", "SELECT c FROM t", name="h2")]
    assert [(leak.holdout, leak.training, leak.rule) for leak in found(known, held)] == [
        ("h1", "t1", "same SQL"),
        ("h1", "t2", "same question"),
    ]


def _groups() -> Iterator[tuple[list[str], list[str]]]:
    for line in (HOME / "data/questions/pairs.jsonl").read_text(encoding="utf-8").splitlines():
        group = json.loads(line)
        if group["schema"] == "northwind":
            yield group["questions"], group["tables"]


def test_the_mark_for_paraphrases_parts_them_from_near_misses() -> None:
    listed = tomllib.loads((HOME / "data/glossary/northwind.toml").read_text(encoding="utf-8"))["term"]
    terms = [Term(tuple(t["names"]), t["meaning"], t.get("expression"), tuple(t["tables"]), "glossary") for t in listed]
    with closing(open_database(str(HOME / "data/northwind.sqlite"))) as database:
        lexicon = Lexicon.build(database.schema, database.facts, terms)
    groups = list(_groups())
    masked = {text: mask(text, ground(text, lexicon)) for texts, _ in groups for text in texts}
    literals = {text: literals_of(text, masked[text]) for text in masked}

    def alike(first: str, second: str) -> bool:
        return overlap(masked[first], masked[second]) >= OVERLAP

    within = [
        alike(a, b) for texts, _ in groups for a, b in combinations(texts, 2) if literals[a] == literals[b]
    ]  # fmt: skip
    near = [
        alike(a, b)
        for (texts, tables), (others, used) in combinations(groups, 2)
        if tables == used
        for a in texts
        for b in others
        if literals[a] == literals[b]
    ]
    assert len(within) > 400 and len(near) > 1_500
    assert sum(within) / len(within) > 0.5
    assert sum(near) / len(near) < 0.08
