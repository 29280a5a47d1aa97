"""Names that are reserved words, written without quotes: on real databases that are made of such names."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.database.guard import check
from agent.database.naming import RESERVED
from agent.database.reading import Database, open_database
from agent.database.schema import Column, Schema, Table
from agent.drafting.adapting import adapt, remembered
from agent.drafting.mending import mend, with_quotes
from agent.grounding import Lexicon
from tests.agent.made import episode_of, read

VALUES = "null true false current_date current_time current_timestamp localtime localtimestamp"
WORDS = sorted(RESERVED - set(VALUES.split()))
LEADING = {"select", "distinct", "all", "not", "case"}
"""Words that SQL may read as its own where a name is awaited, if the next one is a name as well."""

SHAPES = (
    "SELECT {a} FROM {t}",
    "SELECT DISTINCT {a}, {b} FROM {t} ORDER BY {a} DESC, {b}",
    "SELECT {a}, COUNT(*) FROM {t} GROUP BY {a} ORDER BY {a}",
    "SELECT x.{a}, {u}.{b} FROM {t} x JOIN {u} ON x.{c} = {u}.{c} ORDER BY 1, 2",
    "SELECT {t}.{a} FROM {t}, {u} WHERE {t}.{c} = {u}.{c} AND {u}.{b} > 1 ORDER BY 1",
    "SELECT {a} FROM {t} WHERE {b} = 2 OR ({c} <> 3 AND {a} IN (1, 2)) ORDER BY {a} LIMIT 5",
    "SELECT {a} FROM {t} WHERE {c} NOT IN (SELECT {c} FROM {u} WHERE {b} BETWEEN 1 AND 2) ORDER BY 1",
    "SELECT MAX({a}) - MIN({b}) AS {c} FROM {t}",
    "SELECT CASE WHEN {a} > 1 THEN {b} ELSE {c} END FROM {t} ORDER BY 1",
    "SELECT {a}, SUM({b}) OVER (PARTITION BY {c} ORDER BY {a}) FROM {t} ORDER BY 1, 2",
    "WITH {u} AS (SELECT {a} FROM {t}) SELECT COUNT({a}) FROM {u}",
    "SELECT {t}.* FROM {t} LEFT JOIN {u} AS y ON y.{a} = {t}.{a} WHERE y.{a} IS NULL ORDER BY 1",
    "SELECT {a} FROM {t} UNION ALL SELECT {b} FROM {u} ORDER BY 1",
    "SELECT {a} FROM {t} WHERE '{b}' <> '{t}.{c}' AND NOT EXISTS (SELECT * FROM {u} WHERE {u}.{a} = -1) ORDER BY 1",
)
ROWS = ((1, 2, 3), (2, 2, 1), (3, 1, 2))


def written(shape: str, names: dict[str, str], *, quotes: bool) -> str:
    held = {key: f'"{name}"' if quotes else name for key, name in names.items()}
    return re.sub(r"'[^']*'", lambda text: text[0].replace('"', ""), shape.format(**held))


def schema_of(names: dict[str, str], dialect: str) -> Schema:
    columns = tuple(Column(names[key], "INTEGER") for key in "abc")
    return Schema("made", dialect, tuple(Table(names[key], columns) for key in "tu"), "", "")


def build(names: dict[str, str]) -> list[str]:
    columns = ", ".join(f'"{names[key]}" INTEGER' for key in "abc")
    rows = ", ".join(map(str, ROWS))
    return [
        statement
        for key in "tu"
        for statement in (f'CREATE TABLE "{names[key]}" ({columns})', f'INSERT INTO "{names[key]}" VALUES {rows}')
    ]


NAMES = (
    st.lists(st.sampled_from(WORDS), min_size=5, max_size=5, unique=True)
    .filter(lambda words: not ("from" in words and LEADING & set(words)))
    .map(lambda words: dict(zip("abctu", words, strict=True)))
)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=40, deadline=None)
@given(names=NAMES)
def test_reserved_words_that_are_names_mean_what_they_mean_in_quotes(shape: str, names: dict[str, str]) -> None:
    sql, right = written(shape, names, quotes=False), written(shape, names, quotes=True)
    schema = schema_of(names, "sqlite")
    made, _ = mend(sql, schema=schema, linked=())
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(";".join(build(names)))
        assert rows(connection, check(made, schema).sql) == rows(connection, right)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=40, deadline=None)
@given(names=NAMES)
def test_what_stands_in_quotes_already_is_left_alone(shape: str, names: dict[str, str]) -> None:
    right = written(shape, names, quotes=True)
    for dialect in ("sqlite", "postgres"):
        assert with_quotes(right, schema_of(names, dialect)) == (right, ())


def rows(connection: sqlite3.Connection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def server(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    home = postgres_url.partition("host=")[2]
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE quoting")
    with psycopg.connect(host=home, user="hebbql", dbname="quoting") as connection:
        yield connection


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=15, deadline=None)
@given(names=NAMES)
def test_reserved_words_are_names_in_postgres_as_well(
    server: psycopg.Connection[Any], shape: str, names: dict[str, str]
) -> None:
    sql, right = written(shape, names, quotes=False), written(shape, names, quotes=True)
    schema = schema_of(names, "postgres")
    made, _ = mend(sql, schema=schema, linked=())
    try:
        for statement in build(names):
            server.execute(statement.encode())
        found = server.execute(check(made, schema).sql.encode()).fetchall()
        assert found == server.execute(right.encode()).fetchall()
    finally:
        server.rollback()


SHOP = Schema(
    "shop",
    "sqlite",
    (
        Table("Order", tuple(Column(name, "TEXT") for name in ("id", "Group", "from", "to", "select", "rows", "when"))),
        Table("Lines", (Column("id", "TEXT"), Column("null", "TEXT"), Column("case", "TEXT"))),
    ),
    "",
    "",
)


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        ("SELECT ORDER.GROUP FROM ORDER", 'SELECT "Order"."Group" FROM "Order"'),
        ("SELECT from FROM order", 'SELECT "from" FROM "Order"'),
        ("SELECT (SELECT select FROM order LIMIT 1)", 'SELECT (SELECT "select" FROM "Order" LIMIT 1)'),
        ("SELECT (SELECT from FROM order LIMIT 1)", 'SELECT (SELECT "from" FROM "Order" LIMIT 1)'),
        ("SELECT CASE WHEN when > 1 THEN 2 END FROM order", 'SELECT CASE WHEN "when" > 1 THEN 2 END FROM "Order"'),
        ("SELECT id FROM lines, order o", 'SELECT id FROM lines, "Order" o'),
        (
            "SELECT 'order' AS group FROM order -- from order",
            """SELECT 'order' AS "Group" FROM "Order" -- from order""",
        ),
        ("SELECT l.null FROM lines l", 'SELECT l."null" FROM lines l'),
    ],
)
def test_a_word_is_a_name_where_the_grammar_wants_one(sql: str, right: str) -> None:
    assert with_quotes(sql, SHOP)[0] == right


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM Lines GROUP BY id ORDER BY id",
        "SELECT SUM(id) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM Lines",
        "SELECT id FROM (SELECT * FROM Lines) WHERE id IS NOT NULL AND id IN (SELECT -1)",
        "SELECT NULL, CASE WHEN NOT id THEN 1 END FROM Lines WHERE id IS NOT DISTINCT FROM CASE WHEN 1 THEN 2 END",
        "SELECT CASE -1 WHEN id THEN 2 END, id IS DISTINCT FROM 2, CASE WHEN id THEN 1 END FROM Lines",
        "SELECT 'broken off FROM order",
    ],
)
def test_a_word_of_sql_stays_one(sql: str) -> None:
    assert with_quotes(sql, SHOP) == (sql, ())


def test_the_notes_say_which_names_were_quoted() -> None:
    assert with_quotes("SELECT from FROM order ORDER BY from", SHOP)[1] == (
        'order became "Order"',
        'from became "from"',
    )


def test_of_names_that_differ_in_case_only_the_one_as_written_is_meant() -> None:
    both = Schema("two", "postgres", tuple(Table(name, (Column("id", "TEXT"),)) for name in ("Order", "order")), "", "")
    assert with_quotes("SELECT id FROM Order", both)[0] == 'SELECT id FROM "Order"'
    assert with_quotes("SELECT id FROM ORDER", both) == ("SELECT id FROM ORDER", ())


@given(
    text=st.text(max_size=80), words=st.lists(st.sampled_from(["order", "from", ".", ",", "(", ")", "case", "[", "`"]))
)
@settings(max_examples=300, deadline=None)
def test_nothing_that_is_written_makes_quoting_fail(text: str, words: list[str]) -> None:
    for sql in (text, " ".join(words), f"SELECT order {text}", f"{' '.join(words)} {text}"):
        for dialect in ("sqlite", "postgres"):
            with_quotes(sql, Schema(SHOP.name, dialect, SHOP.tables, "", ""))


@pytest.fixture(scope="module")
def lots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("lots") / "lots.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE "group" (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE "order" (
              id INTEGER PRIMARY KEY, "group" INTEGER REFERENCES "group"(id), "to" TEXT, "index" REAL
            );
            INSERT INTO "group" VALUES (1, 'Copper'), (2, 'Silver');
            INSERT INTO "order" VALUES (1, 1, 'Linz', 4.5), (2, 2, 'Graz', 2.5), (3, 2, 'Linz', 1.0);
            """
        )
    database = open_database(str(path))
    yield database
    database.close()


def test_an_adapted_query_quotes_its_reserved_words(lots: Database) -> None:
    lexicon = Lexicon(lots.schema, lots.facts, ())

    question = "How many orders of the group Copper go to Linz?"
    sql = (
        'SELECT COUNT(*) FROM "order" AS o JOIN "group" AS g ON o."group" = g.id'
        " WHERE g.name = 'Copper' AND o.\"to\" = 'Linz'"
    )
    told = read(question, lexicon)
    known = remembered(episode_of(told, sql), told, lexicon)
    asked = read("How many orders of the group Silver go to Graz?", lexicon)
    made = adapt(known, asked, lexicon=lexicon)
    assert made is not None
    query = check(made.sql, lots.schema)
    assert "Silver" in query.sql and lots.run(query.sql).rows == ((1,),)
