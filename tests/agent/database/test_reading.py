"""Opening SQLite files of every sort, and what is said of those that cannot be used."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from agent.database.guard import check
from agent.database.reading import fingerprint_of, open_database, reflect
from agent.database.result import DatabaseUnusableError, QueryFailed, QueryRejected
from agent.database.schema import Schema

NORTHWIND = Path(__file__).parents[3] / "data" / "northwind.sqlite"
ODD = '''
CREATE TABLE "order" ("group" INTEGER PRIMARY KEY, "select" TEXT, "it's ""quoted""" TEXT);
CREATE TABLE [Order Items] ([line no] INTEGER, "order" INTEGER REFERENCES "order", price REAL,
    total REAL GENERATED ALWAYS AS (price * 2) VIRTUAL, stored REAL AS (price * 3) STORED,
    PRIMARY KEY ([line no], "order")) WITHOUT ROWID;
CREATE TABLE `고객` (`이름` TEXT, "город" VARCHAR(20) NOT NULL, untyped);
CREATE TABLE staff (id INTEGER PRIMARY KEY AUTOINCREMENT, boss INTEGER REFERENCES staff (id),
    line INTEGER, ord INTEGER, FOREIGN KEY (line, ord) REFERENCES [Order Items] ([line no], "order"),
    FOREIGN KEY (ord) REFERENCES nowhere (x));
CREATE VIEW "the view" AS SELECT "group" AS g, "select" FROM "order";
CREATE VIEW broken AS SELECT * FROM gone;
CREATE VIRTUAL TABLE notes USING fts5(body);
CREATE INDEX by_price ON [Order Items] (price);
INSERT INTO "order" VALUES (1, 'a', 'b');
INSERT INTO [Order Items] ([line no], "order", price) VALUES (1, 1, 1.5);
INSERT INTO `고객` VALUES ('김', 'Рига', x'00ff');
INSERT INTO notes VALUES ('hello world');
'''


def made(path: Path, script: str) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def state(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir()) if p.is_file()}


def rows(path: Path | str, sql: str) -> tuple[tuple[object, ...], ...]:
    with contextlib.closing(open_database(str(path))) as database:
        return database.run(check(sql, database.schema).sql).rows


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    return made(tmp_path / "odd names.db", ODD)


def test_the_stored_ddl_is_kept_word_for_word(odd: Path) -> None:
    with contextlib.closing(open_database(str(odd))) as database:
        schema = database.schema
    with contextlib.closing(sqlite3.connect(odd)) as connection:
        stored = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')"))
    assert schema.name == "odd names" and schema.dialect == "sqlite"
    assert [t.name for t in schema.tables] == ["order", "Order Items", "고객", "staff", "the view", "notes"]
    assert all(table.ddl == stored[table.name] for table in schema.tables)
    assert schema.text == "\n\n".join(stored[t.name] + ";" for t in schema.tables) + "\n"
    assert schema.fingerprint == fingerprint_of(schema.text)


def test_columns_keys_and_kinds_are_read(odd: Path) -> None:
    with contextlib.closing(open_database(str(odd))) as database:
        tables = {table.name: table for table in database.schema.tables}
    items = tables["Order Items"]
    assert [(c.name, c.type, c.primary_key) for c in items.columns] == [
        ("line no", "INTEGER", True),
        ("order", "INTEGER", True),
        ("price", "REAL", False),
        ("total", "REAL", False),
        ("stored", "REAL", False),
    ]
    assert [(k.columns, k.referred_table, k.referred_columns) for k in items.foreign_keys] == [
        (("order",), "order", ("group",))
    ]
    assert [(k.columns, k.referred_table, k.referred_columns) for k in tables["staff"].foreign_keys] == [
        (("boss",), "staff", ("id",)),
        (("line", "ord"), "Order Items", ("line no", "order")),
    ]
    assert [c.type for c in tables["고객"].columns] == ["TEXT", "VARCHAR(20)", ""]
    assert [c.nullable for c in tables["고객"].columns] == [True, False, True]
    assert tables["the view"].is_view and [c.name for c in tables["the view"].columns] == ["g", "select"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ('SELECT "group", "select", "it\'s ""quoted""" FROM "order"', ((1, "a", "b"),)),
        ('SELECT o."group" FROM "ORDER" o JOIN [order items] i ON i."order" = o."group"', ((1,),)),
        ('SELECT "line no", total, stored FROM "Order Items"', ((1, 3.0, 4.5),)),
        ("SELECT 이름, город FROM 고객 WHERE город = 'Рига'", (("김", "Рига"),)),
        ('SELECT "이름" AS "имя" FROM "고객"', (("김",),)),
        ("SELECT untyped FROM 고객", ((b"\x00\xff",),)),
        ('SELECT g FROM "the view"', ((1,),)),
        ("SELECT body FROM notes", (("hello world",),)),
    ],
)
def test_odd_names_can_be_asked_for(odd: Path, sql: str, expected: tuple[object, ...]) -> None:
    assert rows(odd, sql) == expected


@pytest.mark.parametrize("sql", ["SELECT * FROM broken", "SELECT * FROM notes_data", "SELECT rowid FROM 'the view'"])
def test_what_cannot_be_read_is_no_table(odd: Path, sql: str) -> None:
    with pytest.raises(QueryRejected):
        rows(odd, sql)


def test_a_url_and_a_path_open_the_same(odd: Path) -> None:
    assert rows(f"sqlite:///{odd}", "SELECT COUNT(*) FROM staff") == ((0,),)
    assert rows(f"sqlite+pysqlite:///{odd}", "SELECT COUNT(*) FROM staff") == ((0,),)


@pytest.mark.parametrize("name", ["with space.db", "per%20cent?.db", "hash#.db", "한국.sqlite", "quote'.db"])
def test_odd_paths_are_opened(tmp_path: Path, name: str) -> None:
    path = made(tmp_path / name, "CREATE TABLE t (a); INSERT INTO t VALUES (7)")
    assert rows(path, "SELECT a FROM t") == ((7,),)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_the_fingerprint_follows_the_schema_and_not_the_rows(odd: Path) -> None:
    def fingerprint() -> str:
        with contextlib.closing(open_database(str(odd))) as database:
            return database.schema.fingerprint

    first = fingerprint()
    made(odd, "INSERT INTO staff (boss) VALUES (NULL)")
    assert fingerprint() == first
    made(odd, "ALTER TABLE staff ADD COLUMN city TEXT")
    assert fingerprint() != first


def test_the_schema_is_the_same_in_every_process() -> None:
    code = (
        "import sys; from agent.database.reading import open_database; d = open_database(sys.argv[1]); d.facts; "
        "import hashlib; print(d.schema.fingerprint, hashlib.sha256(repr((d.schema, d.facts)).encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code, str(NORTHWIND)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(NORTHWIND.parents[1])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_missing_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusableError, match="There is no database at"):
        open_database(str(tmp_path / "none.db"))
    with pytest.raises(DatabaseUnusableError, match="There is no database at"):
        open_database(f"sqlite:///{tmp_path}/none.db")
    assert list(tmp_path.iterdir()) == []


def test_each_unusable_file_has_its_own_message(tmp_path: Path) -> None:
    (tmp_path / "zero.db").touch()
    (tmp_path / "text.db").write_text("hello, this is no database\n" * 100)
    (tmp_path / "short.db").write_bytes(b"SQLite format 3\x00")
    made(tmp_path / "bare.db", "CREATE TABLE t (a); DROP TABLE t")
    made(tmp_path / "damaged.db", ODD)
    content = (tmp_path / "damaged.db").read_bytes()
    (tmp_path / "damaged.db").write_bytes(content[:100] + b"\xff" * 3_000 + content[3_100:])
    os.mkfifo(tmp_path / "pipe.db")
    for name, words in {
        "zero.db": "is empty (0 bytes)",
        "text.db": "is not a SQLite database",
        "short.db": "cannot be read",
        "bare.db": "has no tables",
        "damaged.db": "damaged",
        "pipe.db": "no regular file",
        ".": "is a folder",
    }.items():
        with pytest.raises(DatabaseUnusableError) as unusable:
            open_database(str(tmp_path / name))
        assert words in str(unusable.value) or name == "short.db", (name, str(unusable.value))
        assert str(unusable.value).endswith(".")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "No database is named"),
        ("  ", "No database is named"),
        ("a\x00b", "no path of a file"),
        ("x" * 5_000, "no path of a file"),
        ("\x1b[31mred", "no path of a file"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("mysql+pymysql://root:s3cret@db/x", "MySQL cannot run SQL yet"),
        ("mssql://sa:s3cret@db/x", "SQL Server cannot run SQL yet"),
        ("oracle://u:s3cret@db/x", "Oracle cannot run SQL yet"),
        ("mongodb://u:s3cret@db/x", "mongodb cannot run SQL yet"),
        ("://", "cannot be read"),
        ("postgresql://u:s3cret@", "names no database"),
        ("postgresql://u:s3cret@h:port/x", "cannot be read"),
    ],
)
def test_an_unusable_url_is_explained_without_its_password(url: str, words: str) -> None:
    with pytest.raises(DatabaseUnusableError) as unusable:
        open_database(url)
    assert words in str(unusable.value)
    assert "s3cret" not in str(unusable.value) and "\x1b" not in str(unusable.value)


def test_an_unreadable_file_is_said(tmp_path: Path) -> None:
    path = made(tmp_path / "private.db", "CREATE TABLE t (a)")
    path.chmod(0)
    code = (
        "import os, sys; os.setuid(65534) if os.getuid() == 0 else None\nfrom agent.database.reading import "
        "open_database\ntry: open_database(sys.argv[1])\nexcept Exception as e: print(type(e).__name__, e)"
    )
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.name.startswith("pytest"):
            parent.chmod(0o755)
    code = "from agent.database.reading import open_database\nimport os, sys\n" + code
    said = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": str(NORTHWIND.parents[1])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.startswith("DatabaseUnusableError") and "may not be read" in said


def test_a_locked_database_is_said_after_a_bounded_wait(odd: Path) -> None:
    database = open_database(str(odd))
    with contextlib.closing(sqlite3.connect(odd, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        with pytest.raises(DatabaseUnusableError, match="holds a lock"):
            open_database(str(odd))
        with pytest.raises(QueryFailed, match="holds a lock") as failed:
            database.run("SELECT * FROM staff")
        assert failed.value.kind == "locked" and time.monotonic() - began < 8
        other.execute("ROLLBACK")
    assert database.run("SELECT COUNT(*) FROM staff").rows == ((0,),)
    database.close()


def test_reading_changes_no_byte_and_leaves_no_file(odd: Path) -> None:
    before = state(odd.parent)
    with contextlib.closing(open_database(str(odd))) as database:
        assert database.facts.columns
        database.run("SELECT * FROM staff")
    assert state(odd.parent) == before


def test_a_wal_database_leaves_nothing_behind(tmp_path: Path) -> None:
    path = made(tmp_path / "wal.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    before = state(tmp_path)
    assert set(before) == {"wal.db"}
    assert rows(path, "SELECT a FROM t") == ((1,),)
    assert state(tmp_path) == before


def test_a_live_wal_database_gives_fresh_rows(tmp_path: Path) -> None:
    path = made(tmp_path / "wal.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("INSERT INTO t VALUES (2)")
        with contextlib.closing(open_database(str(path))) as database:
            assert database.run("SELECT COUNT(*) FROM t").rows == ((2,),)
            writer.execute("INSERT INTO t VALUES (3)")
            assert database.run("SELECT COUNT(*) FROM t").rows == ((3,),)
        writer.execute("INSERT INTO t VALUES (4)")
        assert rows(path, "SELECT COUNT(*) FROM t") == ((4,),)
    assert rows(path, "SELECT COUNT(*) FROM t") == ((4,),)


def test_a_file_put_in_place_of_another_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "CREATE TABLE t (a); INSERT INTO t VALUES ('old')")
    other = made(tmp_path / "b.db", "CREATE TABLE t (a); INSERT INTO t VALUES ('new')")
    with contextlib.closing(open_database(str(path))) as database:
        assert database.run("SELECT a FROM t").rows == (("old",),)
        other.replace(path)
        assert database.run("SELECT a FROM t").rows == (("new",),)
        path.unlink()
        with pytest.raises(QueryFailed):
            database.run("SELECT a FROM t")


def test_five_hundred_tables_open_and_are_scanned_quickly(tmp_path: Path) -> None:
    script = "".join(
        f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, name TEXT, t{max(n - 1, 0)}_id INTEGER REFERENCES "
        f"t{max(n - 1, 0)} (id), made DATE, price REAL); INSERT INTO t{n} VALUES (1, 'n{n}', 1, '2020-01-01', 1.5);"
        for n in range(500)
    )
    path = made(tmp_path / "large.db", "BEGIN;" + script + "COMMIT;")
    began = time.monotonic()
    with contextlib.closing(open_database(str(path))) as database:
        assert len(database.schema.tables) == 500
        facts = database.facts.columns
        assert len(facts) == 2_500 and facts[-4].values == ("n499",)
        assert database.run(
            check("SELECT a.name FROM t499 a JOIN t498 b ON b.id = a.t498_id", database.schema).sql
        ).rows
        assert time.monotonic() - began < 10
        with pytest.raises(QueryRejected) as refused:
            check("SELECT * FROM nothing_like_it", database.schema)
        assert len(refused.value.reason) < 400


def test_any_dialect_can_be_reflected_by_sqlalchemy(odd: Path) -> None:
    engine = create_engine(f"sqlite:///{NORTHWIND}")
    first, spans = reflect(engine, name="northwind", dialect="other", first=None)
    second, _ = reflect(engine, name="northwind", dialect="other", first=None)
    engine.dispose()
    assert isinstance(first, Schema) and first == second and spans == ("main",)
    assert [t.name for t in first.tables] == sorted(t.name for t in first.tables)
    assert 'CREATE TABLE "Order Details"' in first.text
    details = next(t for t in first.tables if t.name == "Order Details")
    assert {key.referred_table for key in details.foreign_keys} == {"Orders", "Products"}
