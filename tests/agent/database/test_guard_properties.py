"""Nothing that writes ever passes, however it is put together; what passes has no effect."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.database.guard import CheckedQuery, check
from agent.database.reading import Database, open_database
from agent.database.result import DatabaseError, QueryRejected
from agent.database.schema import Column, Schema, Table

SCHEMAS = {
    dialect: Schema(
        "shop",
        dialect,
        (
            Table("orders", (Column("id", "INTEGER"), Column("city", "TEXT"))),
            Table("items", (Column("order_id", "INTEGER"), Column("price", "REAL"))),
        ),
        "",
        "",
    )
    for dialect in ("sqlite", "postgres")
}
WRITING = (
    "INSERT INTO orders VALUES (1, 'x')",
    "INSERT INTO orders SELECT * FROM orders",
    "INSERT OR REPLACE INTO orders VALUES (1, 'x')",
    "REPLACE INTO orders VALUES (1, 'x')",
    "UPDATE orders SET city = 'x'",
    "UPDATE orders SET city = 'x' RETURNING id",
    "DELETE FROM orders",
    "DELETE FROM orders RETURNING *",
    "DROP TABLE orders",
    "CREATE TABLE t AS SELECT * FROM orders",
    "ALTER TABLE orders ADD COLUMN x",
    "ATTACH 'x' AS y",
    "PRAGMA query_only = OFF",
    "VACUUM INTO 'x'",
    "TRUNCATE orders",
    "COPY orders TO PROGRAM 'x'",
    "GRANT ALL ON orders TO public",
    "SELECT id INTO t FROM orders",
    "SELECT load_extension('x')",
    "SELECT pg_read_file('x')",
    "SELECT * FROM orders FOR UPDATE",
    "MERGE INTO orders USING items ON 1 = 1 WHEN MATCHED THEN DELETE",
)
SPACE = st.sampled_from([" ", "\n", "\t", "/* x */", " -- y\n", "\u00a0", "  "])
WRAPPINGS = (
    "{0}",
    "({0})",
    "{0};",
    "; {0}",
    "SELECT 1; {0}",
    "{0}; SELECT 1",
    "WITH a AS ({0}) SELECT * FROM a",
    "WITH a AS (SELECT 1) {0}",
    "WITH RECURSIVE a AS (SELECT 1 UNION ALL {0}) SELECT * FROM a",
    "SELECT * FROM ({0}) AS a",
    "SELECT * FROM orders WHERE id IN ({0})",
    "SELECT * FROM orders WHERE EXISTS ({0})",
    "SELECT ({0})",
    "SELECT id FROM orders UNION ALL {0}",
    "SELECT id FROM orders ORDER BY ({0})",
    "SELECT id FROM orders LIMIT ({0})",
    "SELECT CASE WHEN ({0}) THEN 1 END",
    "SELECT coalesce(({0}), 1)",
    "SELECT * FROM orders JOIN ({0}) AS b ON 1 = 1",
    "SELECT * FROM orders, LATERAL ({0}) AS b",
    "EXPLAIN {0}",
    "{0} UNION SELECT 1",
    "SELECT sum(id) OVER (ORDER BY ({0})) FROM orders",
    "SELECT count(*) FILTER (WHERE ({0})) FROM orders",
)


def cased(text: str, choices: list[bool]) -> str:
    return "".join(c.swapcase() if choices[n % len(choices)] else c for n, c in enumerate(text))


@given(
    statement=st.sampled_from(WRITING),
    wrappings=st.lists(st.sampled_from(WRAPPINGS), max_size=4),
    space=SPACE,
    cases=st.lists(st.booleans(), min_size=1, max_size=7),
    dialect=st.sampled_from(sorted(SCHEMAS)),
)
@settings(max_examples=400, deadline=None, database=None, derandomize=True)
def test_a_statement_that_writes_never_passes(
    statement: str, wrappings: list[str], space: str, cases: list[bool], dialect: str
) -> None:
    sql = statement.replace(" ", space)
    for wrapping in wrappings:
        sql = wrapping.format(sql)
    with pytest.raises(QueryRejected):
        check(cased(sql, cases), SCHEMAS[dialect])


SALAD = (
    "SELECT SELECT FROM FROM orders items id city price WHERE GROUP BY ORDER LIMIT WITH a AS ( ) ( ) , . * ; = < || "
    "'x' \"y\" [z] 1 2.5 -- /* */ UNION ALL INSERT INTO UPDATE SET DELETE DROP TABLE CREATE ATTACH PRAGMA VACUUM "
    "RETURNING VALUES NOT NULL IN EXISTS CASE WHEN THEN END CAST OVER PARTITION load_extension count sum :: $$ E'\\' "
    "sqlite_master pg_shadow pragma_table_info COPY DO CALL LATERAL FOR x'41' ? :p @v \\ \x00 ж"
)
WORDS = SALAD.split(" ")


@given(words=st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), dialect=st.sampled_from(sorted(SCHEMAS)))
@settings(max_examples=600, deadline=None, database=None, derandomize=True)
def test_word_salad_is_refused_or_is_one_stable_query_over_the_tables(words: str, dialect: str) -> None:
    schema = SCHEMAS[dialect]
    for sql in (words, f"SELECT {words}", f"SELECT id FROM orders {words}"):
        try:
            checked = check(sql, schema)
        except QueryRejected as refused:
            assert refused.reason and "\x1b" not in refused.reason
            continue
        assert set(checked.tables) <= {"orders", "items"}
        assert check(checked.sql, schema) == checked


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Path]]:
    path = tmp_path_factory.mktemp("guarded") / "shop.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT);"
            "CREATE TABLE items (order_id INTEGER, price REAL);"
            "INSERT INTO orders VALUES (1, 'Riga'), (2, 'Oslo'); INSERT INTO items VALUES (1, 2.5)"
        )
    database = open_database(str(path), deadline=0.5)
    yield database, path
    database.close()


@given(
    sql=st.sampled_from([*WRITING, *(w.format(s) for w in WRAPPINGS[6:12] for s in WRITING)]),
)
@settings(max_examples=100, deadline=None, database=None, derandomize=True)
def test_the_worker_refuses_writing_also_without_the_guard(shop: tuple[Database, Path], sql: str) -> None:
    database, path = shop
    before = (hashlib.sha256(path.read_bytes()).hexdigest(), sorted(p.name for p in path.parent.iterdir()))
    with contextlib.suppress(DatabaseError):
        database.run(CheckedQuery(sql, ()).sql)
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), sorted(p.name for p in path.parent.iterdir())) == before
