"""Mutated copies: what must still hold in them, what must not, and that nothing is left behind."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import DatabaseUnusableError, QueryRejected, Result
from agent.learning.judging import Judge
from agent.learning.mutating import LARGEST, mutated
from agent.learning.questions import Pair
from agent.learning.remaking import remake

ROOT = Path(__file__).resolve().parents[3]
NORTHWIND = ROOT / "data" / "northwind.sqlite"
ODD = """
CREATE TABLE "no key" ("a b" TEXT, n INTEGER);
CREATE TABLE code (k TEXT PRIMARY KEY, "na'me" TEXT NOT NULL UNIQUE, v REAL) WITHOUT ROWID;
CREATE TABLE person (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  boss INTEGER REFERENCES person,
  age INTEGER CHECK (age BETWEEN 18 AND 70),
  born TEXT,
  hired TEXT CHECK (hired >= born),
  twice INTEGER GENERATED ALWAYS AS (age * 2) VIRTUAL,
  thrice INTEGER AS (age * 3) STORED,
  code TEXT NOT NULL REFERENCES code (k) ON DELETE CASCADE,
  picture BLOB
);
CREATE TABLE "주문" (person INTEGER REFERENCES person (id), "no" INTEGER, v REAL NOT NULL, PRIMARY KEY (person, "no"));
CREATE TABLE line (
  person INTEGER, "no" INTEGER, k TEXT REFERENCES code, UNIQUE (person, "no", k),
  FOREIGN KEY (person, "no") REFERENCES "주문" (person, "no")
);
CREATE TABLE egg (id INTEGER PRIMARY KEY, hen INTEGER REFERENCES hen (id));
CREATE TABLE hen (id INTEGER PRIMARY KEY, egg INTEGER REFERENCES egg (id));
CREATE TABLE empty (id INTEGER PRIMARY KEY, x TEXT);
CREATE TABLE one (x);
CREATE TABLE log (what TEXT);
CREATE TRIGGER watch AFTER INSERT ON person BEGIN INSERT INTO log VALUES ('fired'); END;
CREATE TRIGGER guard BEFORE DELETE ON code BEGIN SELECT RAISE(ABORT, 'never'); END;
CREATE INDEX by_age ON person (age) WHERE age > 20;
CREATE UNIQUE INDEX by_low ON code (lower(k));
CREATE VIEW old AS SELECT name FROM person WHERE age > 40;
CREATE VIRTUAL TABLE found USING fts5(text);
INSERT INTO found VALUES ('a bee'), ('a cow');
INSERT INTO one VALUES (NULL);
INSERT INTO log VALUES ('start');
INSERT INTO egg VALUES (1, 2), (2, 1); INSERT INTO hen VALUES (1, 1), (2, 2);
"""


def odd(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(ODD)
        connection.executemany('INSERT INTO "no key" VALUES (?, ?)', [(f"w{n % 4}", n % 3) for n in range(20)])
        connection.executemany("INSERT INTO code VALUES (?, ?, ?)", [(f"K{n}", f"Name {n}", n * 1.5) for n in range(9)])
        connection.executemany(
            "INSERT INTO person (name, boss, age, born, hired, code, picture) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (f"P{n}", n // 2 or None, 20 + n, f"19{60 + n}-03-0{1 + n % 9}", "2001-02-03", f"K{n % 9}", b"\x00\xff")
                for n in range(30)
            ],
        )
        connection.executemany('INSERT INTO "주문" VALUES (?, ?, ?)', [(1 + n % 30, n // 30, n) for n in range(90)])
        connection.executemany(
            "INSERT INTO line VALUES (?, ?, ?)", [(1 + n % 30, n // 30, f"K{n % 7}") for n in range(60)]
        )
        connection.execute("INSERT INTO log VALUES (CAST(x'ff41' AS TEXT))")  # no UTF-8
        connection.execute("DELETE FROM log WHERE what = 'fired'")
        connection.commit()
    return path


def clinic(path: Path) -> Path:
    subprocess.run([sys.executable, ROOT / "scripts" / "build_odd_database.py", path], check=True, capture_output=True)
    return path


@pytest.fixture(params=["northwind", "clinic", "odd"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A real database each: the shipped one, one with odd names, and one with every odd kind of table."""
    made = {"northwind": lambda _: NORTHWIND, "clinic": clinic, "odd": odd}
    return made[request.param](tmp_path / f"{request.param}.sqlite")


def opened(path: Path) -> Database:
    return open_database(str(path))


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[..., Path]:
    """Make one copy of a database file and give its path."""

    def made(file: Path, number: int = 0, seed: int = 0) -> Path:
        database = opened(file)
        target = tmp_path / f"{file.stem}-{number}-{seed}-{len(list(tmp_path.iterdir()))}.copy"
        remake(file, target, database.schema, number=number, seed=seed)
        database.close()
        return target

    return made


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection.execute(sql).fetchall()


def tables_of(path: Path) -> list[str]:
    listed = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'"
    return [str(name) for (name,) in rows(path, listed)]


def content(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        every = [connection.execute(f'SELECT * FROM "{table}"').fetchall() for table in tables_of(path)]
    return hashlib.sha256(repr(every).encode()).hexdigest()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_what_the_schema_demands_holds_in_every_copy(file: Path, copy_of: Callable[..., Path], number: int) -> None:
    copy = copy_of(file, number)
    assert rows(copy, "PRAGMA integrity_check") == [("ok",)]  # of keys, CHECK, NOT NULL and UNIQUE too
    assert rows(copy, "PRAGMA foreign_key_check") == []
    listed = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    assert rows(copy, listed) == rows(file, listed)
    original, mutant = opened(file), opened(copy)
    assert mutant.schema.fingerprint == original.schema.fingerprint
    assert mutant.schema.tables == original.schema.tables
    original.close()
    mutant.close()


def test_the_same_seed_gives_the_same_copy_in_another_process_and_others_differ(
    file: Path, copy_of: Callable[..., Path], tmp_path: Path
) -> None:
    code = (
        "import sys; from pathlib import Path; from agent.database.reading import open_database;"
        "from agent.learning.remaking import remake; a, b = map(Path, sys.argv[1:]);"
        "remake(a, b, open_database(str(a)).schema, number=0, seed=0)"
    )
    elsewhere = tmp_path / "elsewhere.sqlite"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "77"}
    subprocess.run([sys.executable, "-c", code, file, elsewhere], check=True, env=environment)
    made = {content(copy_of(file, number, seed)) for number, seed in ((0, 0), (1, 0), (2, 0), (0, 1))}
    assert content(elsewhere) in made
    assert len(made | {content(file)}) == 5


def test_rows_differ_in_every_table_of_some_size(file: Path, copy_of: Callable[..., Path]) -> None:
    copies = [copy_of(file, number) for number in range(3)]
    for table in tables_of(file):
        before = rows(file, f'SELECT * FROM "{table}"')
        if len(before) >= 8 and not table.startswith("found"):
            after = [rows(copy, f'SELECT * FROM "{table}"') for copy in copies]
            assert len({len(one) for one in [before, *after]}) > 1, table
            assert all(sorted(map(repr, one)) != sorted(map(repr, before)) for one in after), table


@pytest.mark.parametrize("number", [0, 1, 2])
def test_what_a_reader_takes_for_granted_holds(copy_of: Callable[..., Path], number: int) -> None:
    copy = copy_of(NORTHWIND, number)
    for table, column in (
        ("Customers", "Country"),
        ("Customers", "City"),
        ("Orders", "ShipCountry"),
        ("Products", "Discontinued"),
    ):
        values = f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL GROUP BY {column} HAVING COUNT(*) > 1"
        assert set(rows(NORTHWIND, values)) <= set(rows(copy, f"SELECT {column} FROM {table}")), (table, column)
    for names in (
        "SELECT CustomerID, CompanyName FROM Customers",
        "SELECT EmployeeID, LastName, FirstName FROM Employees",
        "SELECT ProductID, ProductName FROM Products",
        "SELECT CategoryID, CategoryName FROM Categories",
    ):
        assert set(rows(NORTHWIND, names)) <= set(rows(copy, names))
    assert rows(copy, "SELECT COUNT(*) - COUNT(DISTINCT CompanyName) FROM Customers") == [(0,)]
    assert rows(copy, "SELECT City FROM Customers GROUP BY City HAVING COUNT(DISTINCT Country) > 1") == []
    assert rows(copy, "SELECT 1 FROM Orders WHERE OrderDate > ShippedDate") == []
    assert rows(copy, "SELECT 1 FROM Orders WHERE OrderDate IS NULL OR Freight IS NULL OR CustomerID IS NULL") == []
    childless = "SELECT 1 FROM {0} WHERE {1} NOT IN (SELECT {1} FROM {2})"
    for parts in (("Orders", "OrderID", '"Order Details"'), ("Categories", "CategoryID", "Products")):
        assert rows(NORTHWIND, childless.format(*parts)) == [] == rows(copy, childless.format(*parts))
    # The bosses stay a tree.
    reached = "WITH RECURSIVE r(id) AS (SELECT EmployeeID FROM Employees WHERE ReportsTo IS NULL UNION ALL "
    reached += (
        "SELECT EmployeeID FROM Employees JOIN r ON ReportsTo = r.id) SELECT COUNT(*) FROM (SELECT * FROM r LIMIT 999)"
    )
    assert rows(copy, reached) == rows(copy, "SELECT COUNT(*) FROM Employees")


def test_triggers_do_not_fire_and_are_there_after(tmp_path: Path, copy_of: Callable[..., Path]) -> None:
    copy = copy_of(odd(tmp_path / "odd.sqlite"))
    assert ("fired",) not in rows(copy, "SELECT what FROM log")
    with closing(sqlite3.connect(copy)) as connection, pytest.raises(sqlite3.IntegrityError, match="never"):
        connection.execute("DELETE FROM code")


def test_references_that_were_broken_before_do_no_harm(tmp_path: Path, copy_of: Callable[..., Path]) -> None:
    source = tmp_path / "broken.sqlite"
    with closing(sqlite3.connect(source)) as connection:
        connection.executescript(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, x TEXT); CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p, "
            "q REFERENCES nowhere (id)); INSERT INTO p VALUES (1, 'a'), (2, 'b');"
            "INSERT INTO c VALUES (1, 9, 1), (2, 1, 1), (3, NULL, NULL), (4, 2, 5);"
        )
    copy = copy_of(source)
    assert len(rows(copy, "SELECT * FROM c")) >= 2


def test_a_database_in_wal_mode_is_copied_with_what_is_only_in_its_log(
    tmp_path: Path, copy_of: Callable[..., Path]
) -> None:
    source = tmp_path / "wal.sqlite"
    with closing(sqlite3.connect(source)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, city TEXT)")
        writer.executemany("INSERT INTO t (city) VALUES (?)", [("Oslo",), ("Bergen",), ("Oslo",), ("Voss",)])
        writer.commit()
        assert {city for (city,) in rows(copy_of(source), "SELECT city FROM t")} >= {"Oslo", "Bergen", "Voss"}


WEIRD = {
    "dates that stand for always and never": (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, since TEXT, until TEXT);"
        + "".join(
            f"INSERT INTO t VALUES ({n}, '{'0001-01-01' if n % 3 else f'2019-04-{n:02}'}', '9999-12-31');"
            for n in range(1, 30)
        )
    ),
    "the largest key there can be": (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t VALUES (9223372036854775807, 'last one'), "
        "(5, 'fifth one'), (6, 'sixth one');"
        "CREATE TABLE u (id INTEGER PRIMARY KEY, t INTEGER NOT NULL REFERENCES t); INSERT INTO u SELECT id, id FROM t;"
    ),
    "a ring of tables": (
        "CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER NOT NULL REFERENCES b);"
        "CREATE TABLE b (id INTEGER PRIMARY KEY, c INTEGER NOT NULL REFERENCES c);"
        "CREATE TABLE c (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a, d INTEGER REFERENCES d);"
        "CREATE TABLE d (id INTEGER PRIMARY KEY, what TEXT);"
        + "".join(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3);" for table in "abd")
        + "INSERT INTO c VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);"
    ),
    "900 columns and no key": (
        f"CREATE TABLE w ({', '.join(f'c{n} INTEGER' for n in range(900))});"
        + "".join(f"INSERT INTO w VALUES ({', '.join(str(row * n) for n in range(900))});" for row in range(30))
    ),
    "a parent that is referred to by no key": (
        "CREATE TABLE p (code TEXT UNIQUE, what TEXT); CREATE TABLE c (n INTEGER, p TEXT REFERENCES p (code));"
        + "".join(f"INSERT INTO p VALUES ('K{n}', 'w{n % 3}'); INSERT INTO c VALUES ({n}, 'K{n}');" for n in range(40))
    ),
    "nothing but keys": "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3);",
    "infinite and huge numbers": (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL, n INTEGER);"
        + "".join(f"INSERT INTO t VALUES ({n}, {'9e999' if n % 5 else n}, {n * 10**17 - 2**63});" for n in range(1, 30))
    ),
    "empty": "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);",
}


@pytest.mark.parametrize("rewritten", [False, True], ids=["copied", "rewritten"])
@pytest.mark.parametrize("name", WEIRD)
def test_a_database_of_any_kind_can_be_copied_and_rewritten(name: str, rewritten: bool, tmp_path: Path) -> None:
    file = tmp_path / "weird.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(WEIRD[name])
    told: list[str] = []
    database = opened(file)
    with mutated(
        database, file=file, folder=tmp_path / "copies", open_copy=opened, largest=-1 if rewritten else LARGEST,
        say=told.append,
    ) as copies:  # fmt: skip
        assert (told, len(copies)) == ([], 3)
        for table in database.schema.tables:
            columns = ", ".join(f"COUNT({column.name})" for column in table.columns[:20])
            before = database.run(f"SELECT {columns} FROM {table.name}").rows[0]
            for run in copies:
                assert list(map(bool, run(f"SELECT {columns} FROM {table.name}").rows[0])) == list(map(bool, before))
                for foreign in table.foreign_keys:
                    (own,), (there,) = foreign.columns, foreign.referred_columns
                    joined = f"{table.name} AS c LEFT JOIN {foreign.referred_table} AS p ON p.{there} = c.{own}"
                    lost = f"SELECT COUNT(*) FROM {joined} WHERE p.{there} IS NULL AND c.{own} IS NOT NULL"
                    assert run(lost).rows == ((0,),), (table.name, own)
    database.close()


def test_a_code_keeps_to_the_values_there_are(copy_of: Callable[..., Path]) -> None:
    """A discount of 0 to 0.25 that became 286 would make right formulas differ."""
    discounts = 'SELECT DISTINCT Discount FROM "Order Details"'
    for number in range(3):
        assert set(rows(copy_of(NORTHWIND, number), discounts)) <= set(rows(NORTHWIND, discounts))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_year_stays_that_of_its_date(copy_of: Callable[..., Path], number: int, tmp_path: Path) -> None:
    source = tmp_path / "sold.sqlite"
    with closing(sqlite3.connect(source)) as writer:
        writer.execute("CREATE TABLE sold (id INTEGER PRIMARY KEY, day TEXT, year INTEGER, price REAL)")
        made = [(f"{1996 + n % 4}-{1 + n % 12:02}-{1 + n % 28:02}", 1996 + n % 4, n * 1.5) for n in range(60)]
        writer.executemany("INSERT INTO sold (day, year, price) VALUES (?, ?, ?)", made)
        writer.commit()
    copy = copy_of(source, number)
    assert rows(copy, "SELECT COUNT(*) FROM sold WHERE year <> CAST(strftime('%Y', day) AS INTEGER)") == [(0,)]
    counted = "SELECT year, COUNT(*) FROM sold GROUP BY year"
    assert rows(copy, counted) != rows(source, counted)


# The context manager


def test_copies_are_checked_read_and_taken_away(tmp_path: Path) -> None:
    before = NORTHWIND.read_bytes()
    database = opened(NORTHWIND)
    left = tmp_path / f"mutated-{_dead()}"
    left.mkdir()
    other = tmp_path / f"mutated-{os.getpid()}"
    other.mkdir()
    with mutated(database, file=NORTHWIND, folder=tmp_path, open_copy=opened) as copies:
        judge = Judge(run=lambda sql: database.run(check(sql, database.schema).sql), copies=copies)
        pair = Pair("1", "How many customers are there?", "SELECT COUNT(*) FROM Customers", (), False, "", "", "", 1)
        assert judge.judge(pair, "SELECT 91", judge.run("SELECT 91")).error == "lucky"
        assert judge.judge(pair, "SELECT SUM(1) FROM Customers", judge.run("SELECT SUM(1) FROM Customers")).right
        assert len(copies) == 3 and len(list(tmp_path.glob("mutated-*/*.sqlite"))) == 3
        assert len({run("SELECT COUNT(*) FROM Orders").rows for run in copies}) == 3
        with pytest.raises(QueryRejected):
            copies[0]("DELETE FROM Orders")
        with pytest.raises(QueryRejected):
            copies[0]("SELECT nothing FROM Orders")
    assert list(tmp_path.iterdir()) == [other]  # of a process that lives
    assert NORTHWIND.read_bytes() == before
    database.close()


def test_copies_go_when_the_block_fails_and_when_one_cannot_be_opened(tmp_path: Path) -> None:
    database = opened(NORTHWIND)
    with (
        pytest.raises(ZeroDivisionError),
        mutated(database, file=NORTHWIND, folder=tmp_path, open_copy=opened, count=1),
    ):
        raise ZeroDivisionError
    with pytest.raises(OSError), mutated(database, file=NORTHWIND, folder=tmp_path, open_copy=_refuse, count=1):
        pass
    assert list(tmp_path.iterdir()) == []
    database.close()


def test_where_no_copy_can_be_made_queries_are_rewritten_and_that_is_said(tmp_path: Path) -> None:
    def unusable(path: Path) -> Database:
        raise DatabaseUnusableError("odd beyond words")

    told: list[str] = []
    database = opened(NORTHWIND)
    with mutated(database, file=NORTHWIND, folder=tmp_path, open_copy=unusable, say=told.append) as copies:
        assert list(tmp_path.iterdir()) == []
        assert len({run("SELECT COUNT(*) FROM Orders").rows for run in copies}) == 3
    assert len(told) == 1 and "odd beyond words" in told[0] and "rewritten" in told[0]
    database.close()


def test_where_nothing_can_be_read_there_are_no_copies_and_that_is_said(tmp_path: Path) -> None:
    class Shy:
        """A database of which no more than the schema can be had."""

        schema = opened(NORTHWIND).schema

        def run(self, sql: str) -> Result:
            raise OSError(sql)

        def close(self) -> None:
            """Nothing is open."""

    told: list[str] = []
    with mutated(Shy(), file=None, folder=tmp_path, open_copy=_refuse, say=told.append) as copies:
        assert copies == ()
    assert len(told) == 1 and "luck may count as right" in told[0]


def _refuse(path: Path) -> Database:
    raise OSError(path)


def _dead() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid
