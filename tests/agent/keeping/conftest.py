"""A small real database about boats, opened as the application does, with Cognee; and batches to remember."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app import App
from agent.learning.questions import Pair
from agent.learning.seed import Source, verified
from agent.settings import Settings
from memory.episode import Episode

HARBOURS = ("Veere", "Hoorn", "Enkhuizen", "Harlingen", "Urk", "Marken", "Stavoren", "Medemblik")
DATABASE = """
CREATE TABLE Boats (
  BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL, Built INTEGER, Owner TEXT
);
CREATE TABLE Trips (TripID INTEGER PRIMARY KEY, BoatID INTEGER REFERENCES Boats(BoatID), Nights INTEGER);
"""
GLOSSARY = """
[[term]]
names = ["length"]
meaning = "How long a boat is."
expression = "Metres"
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings for the boats, with a glossary and without a seed pack."""
    path = tmp_path / "boats.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(DATABASE)
        for number in range(64):
            row = number + 1, f"Boat {number}", HARBOURS[number % 8], 5.0 + number, 1950 + number, f"Owner {number}"
            connection.execute("INSERT INTO Boats VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute("INSERT INTO Trips VALUES (?, ?, ?)", (number + 1, number + 1, number % 5))
    (tmp_path / "glossary").mkdir()
    (tmp_path / "glossary" / "boats.toml").write_text(GLOSSARY, encoding="utf-8")
    return Settings(database=str(path), data=tmp_path, runs=tmp_path / "runs", brain=str(tmp_path / "brain"), sow=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """The settings with the ledger in a file, and with it in a PostgreSQL database."""
    there = request.getfixturevalue("postgres_database") if request.param == "postgresql" else None
    return replace(settings, ledger=there)


def remember(app: App, batch: str, question: str, sql: str, *, origin: str = "seed:boats") -> Episode:
    """Remember one pair as a batch of its own, checked and run as a seed pack is; Cognee is told of it later."""
    source = Source(origin, "gold", batch, app.schema.fingerprint, app.schema.dialect)
    pair = Pair(batch, question, sql, (), False, "lookup", "easy", "en", 1)
    episodes, refused = verified([pair], run=app.checked_run, understand=app.understand, source=lambda _pair: source)
    assert not refused, refused
    with app.ledger.transaction() as entry:
        assert entry.remember(episodes[0])
    return episodes[0]


def fill(app: App, count: int) -> None:
    """Remember so many batches, each of one question, over several buckets."""
    for number in range(count):
        harbour, kind = HARBOURS[number % 8], number // 8 % 4
        asked = (
            (f"How many boats lie in {harbour} and are longer than {number} metres?", "SELECT COUNT(*) FROM Boats"),
            (f"Which boats lie in {harbour} and are longer than {number} metres?", "SELECT Name FROM Boats"),
            (f"What is the average length of boats in {harbour}, above {number}?", "SELECT AVG(Metres) FROM Boats"),
            (f"Who are the owners of boats in {harbour} over {number} metres?", "SELECT Owner FROM Boats"),
        )[kind]
        sql = f"{asked[1]} WHERE Harbour = '{harbour}' AND Metres > {number - 5 if number > 5 else 0}"
        remember(app, f"batch:{number:02}", asked[0], sql)
