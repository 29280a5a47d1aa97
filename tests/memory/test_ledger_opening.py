"""What a ledger says when its file cannot be used, and what it leaves on the disk."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from memory import opening
from memory.episode import Episode
from memory.errors import (
    BrainDamagedError,
    BrainError,
    BrainForeignError,
    BrainFullError,
    BrainLockedError,
    BrainMissingError,
    BrainNewerError,
    BrainUnwritableError,
)
from memory.ledger import FORMAT, EventKind, Ledger

EPISODE = Episode(
    bucket="c0ffee000001",
    kind="count",
    tables=("Customers",),
    question="How many zebrafish did Köln order?",
    masked="How many zebrafish did <value> order?",
    sql="SELECT COUNT(*) FROM Zebrafish",
    skeleton="SELECT COUNT(*) FROM _",
    origin="seed:own",
    verifier="gold",
    batch="seed-1",
    schema_fingerprint="f1",
    result_fingerprint="r1",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "brain" / "brain.sqlite"


@pytest.fixture
def ledger(file: Path) -> Iterator[Ledger]:
    with Ledger.open(file, database="shop") as opened:
        yield opened


def test_a_brain_is_made_with_its_folder_and_opened_again(file: Path) -> None:
    with Ledger.open(file, database="shop") as made:
        store = made.store
    with Ledger.open(f"sqlite:///{file}", database="shop", create=False) as opened:
        assert (opened.store, opened.verify().ok) == (store, True)
    assert [path.name for path in file.parent.iterdir()] == ["brain.sqlite"]


def test_a_missing_brain_is_named_when_none_may_be_made(file: Path) -> None:
    with pytest.raises(BrainMissingError, match="no brain in"):
        Ledger.open(file, database="shop", create=False)
    assert not file.parent.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a file")
    with pytest.raises(BrainUnwritableError, match=r"note.txt.* cannot be made"):
        Ledger.open(tmp_path / "note.txt" / "brain.sqlite", database="shop")
    with pytest.raises(BrainUnwritableError, match="is a folder"):
        Ledger.open(tmp_path, database="shop")


@pytest.mark.parametrize("made", [False, True])
def test_a_folder_without_rights_is_named(made: bool, tmp_path: Path) -> None:
    file = tmp_path / "brain.sqlite"
    if made:
        Ledger.open(file, database="shop").close()
    tmp_path.chmod(0o555)
    script = (
        "import sys\n"
        "from memory.ledger import Ledger\n"
        "from memory.errors import BrainUnwritableError\n"
        "try: Ledger.open(sys.argv[1], database='shop')\n"
        "except BrainUnwritableError as error: print(error)\n"
    )
    # Root writes anywhere. Without that one power it still enters every folder, wherever pytest's own lie.
    powerless = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []
    try:
        run = subprocess.run(
            [*powerless, sys.executable, "-c", script, file], capture_output=True, text=True, check=False
        )
    finally:
        tmp_path.chmod(0o755)
    assert "cannot be written" in run.stdout and "--brain" in run.stdout, run


def test_an_empty_file_is_refused_and_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.touch()
    with pytest.raises(BrainDamagedError, match="empty"):
        Ledger.open(file, database="shop")
    assert file.stat().st_size == 0 and len(list(file.parent.iterdir())) == 1


def test_a_file_that_is_no_database_is_refused(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("Dear diary, " * 50)
    with pytest.raises(BrainDamagedError, match="not a SQLite database"):
        Ledger.open(file, database="shop")


def test_a_database_cut_short_is_refused(file: Path) -> None:
    Ledger.open(file, database="shop").close()
    whole = file.read_bytes()
    file.write_bytes(whole[:5000])
    with pytest.raises(BrainDamagedError, match="damaged"):
        Ledger.open(file, database="shop")


def test_another_applications_database_is_refused_and_left_alone(file: Path) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE ledger (amount REAL)")
    before = file.read_bytes()
    with pytest.raises(BrainForeignError, match="another application"):
        Ledger.open(file, database="shop")
    assert file.read_bytes() == before


def test_the_brain_of_another_database_is_refused(file: Path, ledger: Ledger) -> None:
    with pytest.raises(BrainForeignError, match="brain of 'shop', not of 'school'"):
        Ledger.open(file, database="school")


def test_a_newer_brain_is_refused(file: Path, ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.connection.execute(text("UPDATE brain SET format = :f"), {"f": FORMAT + 1})
    with pytest.raises(BrainNewerError, match="newer HebbQL"):
        Ledger.open(file, database="shop")


def test_a_brain_that_lost_its_identity_is_refused(file: Path, ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.connection.execute(text("DELETE FROM brain"))
    with pytest.raises(BrainDamagedError, match="does not say which brain"):
        Ledger.open(file, database="shop")


def test_a_locked_brain_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PATIENCE", 0.2)
    with Ledger.open(file, database="shop") as ledger, Ledger.open(file, database="shop") as other:
        with other.transaction() as held:
            held.remember(EPISODE)
            assert ledger.episodes() == (), "reading goes on while another writes"
            with pytest.raises(BrainLockedError, match="another process"), ledger.transaction():
                pass
        assert ledger.episodes() == (EPISODE,)


def test_a_full_disk_is_named_and_nothing_is_half_written(ledger: Ledger) -> None:
    head = ledger.head()
    with pytest.raises(BrainFullError, match="disk"), ledger.transaction() as transaction:
        pages = transaction.connection.execute(text("PRAGMA page_count")).scalar_one()
        transaction.connection.execute(text(f"PRAGMA max_page_count = {pages}"))
        for number in range(1000):
            transaction.remember(replace(EPISODE, masked=f"{number}" * 50))
    assert ledger.head() == head
    with ledger.transaction() as transaction:
        transaction.connection.execute(text("PRAGMA max_page_count = 1000000"))
        assert transaction.remember(EPISODE)
    assert ledger.verify().ok


def test_other_kinds_of_databases_and_memory_are_refused() -> None:
    with pytest.raises(BrainError, match="not in mysql"):
        Ledger.open("mysql+pymysql://localhost/x", database="shop")
    with pytest.raises(BrainError, match=":memory:"):
        Ledger.open("sqlite:///:memory:", database="shop")
    with pytest.raises(BrainError, match="no path and no database URL"):
        Ledger.open("://", database="shop")


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(BrainMissingError, match="cannot be reached") as caught:
        Ledger.open("postgresql://me:secret@127.0.0.1:9/x?connect_timeout=1", database="shop")
    assert "secret" not in str(caught.value)


def test_a_servers_database_with_a_ledger_of_others_is_refused(postgres_database: str) -> None:
    import psycopg

    with psycopg.connect(postgres_database.replace("postgresql+psycopg", "postgresql")) as other:
        other.execute("CREATE TABLE ledger (amount REAL)")
    with pytest.raises(BrainForeignError, match="not ours"):
        Ledger.open(postgres_database, database="shop")


def test_the_file_is_kept_as_durably_as_sqlite_can(ledger: Ledger) -> None:
    with ledger.connection() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_no_byte_of_an_erased_episode_stays_in_the_files(file: Path, ledger: Ledger) -> None:
    others = [replace(EPISODE, question=f"Other {n}?", masked=f"Other {n}", sql=f"SELECT {n}") for n in range(200)]
    with ledger.transaction() as transaction:
        for episode in (*others[:100], EPISODE, *others[100:]):
            transaction.remember(episode)
        transaction.start_attempt("a1", {"question": EPISODE.question})
        transaction.settle_attempt("a1", {"recalled": [{"episode": str(EPISODE.id)}], "shown": EPISODE.sql})
        transaction.append(EventKind.FEEDBACK_GIVEN, "a1", {"sql": EPISODE.sql})

    def found() -> list[str]:
        names = (b"ebrafish", "Köln".encode())
        return [p.name for p in file.parent.iterdir() if any(n.lower() in p.read_bytes().lower() for n in names)]

    assert found(), "the words must be there before, or their absence proves nothing"
    with ledger.transaction() as transaction:
        transaction.erase(EPISODE.id)
    assert found() == []
    assert len(ledger.episodes()) == 200 and ledger.search("zebrafish") == () and ledger.verify().ok


def test_no_row_of_an_erased_episode_stays_in_postgresql(postgres_database: str) -> None:
    with Ledger.open(postgres_database, database="shop") as ledger:
        with ledger.transaction() as transaction:
            transaction.remember(EPISODE)
        with ledger.transaction() as transaction:
            transaction.erase(EPISODE.id)
        with ledger.connection() as connection:
            for table in ("content", "episodes", "lexicon", "ledger", "outbox", "masked_questions"):
                rows = connection.execute(text(f"SELECT t::text FROM {table} t")).scalars().all()
                assert not any("ebrafish" in row for row in rows), table
        assert ledger.verify().ok


def test_what_a_crash_left_of_an_erasing_in_the_log_is_gone_after_the_next_opening(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "PATIENCE", 0.2)
    ledger = Ledger.open(file, database="shop")
    with ledger.transaction() as transaction:
        transaction.remember(EPISODE)
    reader = sqlite3.connect(file)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM ledger").fetchone()
    with ledger.transaction() as transaction:
        transaction.erase(EPISODE.id)
    assert b"ebrafish" in file.with_name("brain.sqlite-wal").read_bytes(), "the open reader keeps the log from emptying"
    reader.close()
    again = Ledger.open(file, database="shop")
    left = [path.name for path in file.parent.iterdir() if b"ebrafish" in path.read_bytes()]
    again.close()
    ledger.close()
    assert left == []


def test_importing_the_ledger_is_quick_and_brings_in_nothing_heavy() -> None:
    script = (
        "import sys, memory.ledger, memory.outbox, memory.semantic, memory.lease, procedural.store\n"
        "print(sorted(set(sys.modules) & {'cognee', 'litellm', 'xllamacpp', 'anthropic', 'sqlglot', 'psycopg'}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]" and run.stderr == ""
