"""One embedding model for all of these tests: loading it takes half a second. And a brain of the first format."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.embedder import MiniLM
from memory.opening import APPLICATION_ID

FORMAT_1 = Path(__file__).with_name("format_1.sql")
"""Five episodes, of which one is forgotten and one erased, an attempt with feedback, and one that was never settled."""

LEXICON_1 = {
    "sqlite": "CREATE VIRTUAL TABLE lexicon USING fts5"
    "(question, masked, tokenize='porter unicode61 remove_diacritics 2')",
    "postgresql": "CREATE TABLE lexicon (rowid INTEGER PRIMARY KEY, question TEXT NOT NULL, masked TEXT NOT NULL, "
    "words TSVECTOR GENERATED ALWAYS AS (to_tsvector('english', question || ' ' || masked)) STORED); "
    "CREATE INDEX lexicon_by_words ON lexicon USING GIN (words)",
}


@pytest.fixture(scope="session")
def embedder() -> MiniLM:
    return MiniLM()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger goes: a file of SQLite, and an empty schema of PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "brain.sqlite")
    return str(request.getfixturevalue("postgres_database"))


@pytest.fixture(scope="session")
def write_format_1() -> Callable[[str], None]:
    """Write a brain of format 1, as that version left it, into a new SQLite file or an empty schema of PostgreSQL."""

    def write(where: str) -> None:
        script = FORMAT_1.read_text(encoding="utf-8")
        if "://" in where:
            import psycopg

            with psycopg.connect(where.replace("+psycopg", "")) as connection:
                connection.execute(f"{LEXICON_1['postgresql']}; {script}".encode())
            return
        Path(where).parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(where)) as connection:
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(f"{LEXICON_1['sqlite']}; {script}")

    return write


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a killed process does not ask what the disk has kept, only how fast."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        yield Path(folder)
