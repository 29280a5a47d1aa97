"""Any query over a database with keys of two columns and several ways between two tables, taken apart and joined."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent.database.comparing import same
from agent.database.dialects import dialect
from agent.database.guard import check, parse_query
from agent.database.naming import quoted
from agent.database.reading import Database, open_database
from agent.database.schema import Facts, Schema
from agent.drafting.joining import joined, unjoined
from agent.grounding import Lexicon

SCHOOL = """
CREATE TABLE towns (town_id INTEGER PRIMARY KEY, name TEXT, region TEXT);
CREATE TABLE schools (school_id INTEGER PRIMARY KEY, name TEXT, town_id INTEGER REFERENCES towns(town_id));
CREATE TABLE teachers (
  teacher_id INTEGER PRIMARY KEY, name TEXT, school_id INTEGER REFERENCES schools(school_id),
  home INTEGER REFERENCES towns(town_id)
);
CREATE TABLE "group" (
  school_id INTEGER REFERENCES schools(school_id), year INTEGER, teacher_id INTEGER REFERENCES teachers(teacher_id),
  size INTEGER, PRIMARY KEY (school_id, year)
);
CREATE TABLE pupils (
  pupil_id INTEGER PRIMARY KEY, name TEXT, school_id INTEGER, year INTEGER, town_id INTEGER REFERENCES towns(town_id),
  FOREIGN KEY (school_id, year) REFERENCES "group"(school_id, year)
);
CREATE TABLE "exam marks" (
  pupil_id INTEGER REFERENCES pupils(pupil_id), subject TEXT, points INTEGER, PRIMARY KEY (pupil_id, subject)
);
CREATE TABLE subjects (subject TEXT PRIMARY KEY, hours INTEGER);
"""


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path: Path = tmp_path_factory.mktemp("school") / "school.sqlite"
    pick = Random(3)
    rows: dict[str, list[tuple[object, ...]]] = {
        "towns": [(n, f"t{n % 3}", "ab"[n % 2]) for n in range(4)],
        "schools": [(n, f"s{n}", pick.choice([0, 1, 2, None])) for n in range(5)],
        "teachers": [(n, f"n{n % 4}", pick.choice([0, 1, 2, 3, None]), pick.randrange(4)) for n in range(7)],
        '"group"': [
            (n, year, pick.choice([0, 1, 2, 3, None]), pick.randint(10, 30)) for n in range(4) for year in (1, 2, 3)
        ],
        "pupils": [
            (n, f"p{n % 5}", pick.choice([0, 1, 2, 3, None]), pick.randint(1, 3), pick.choice([0, 1, 2, None]))
            for n in range(16)
        ],
        '"exam marks"': [
            (n, one, pick.randint(1, 5)) for n in range(12) for one in pick.sample("xyz", pick.randint(0, 2))
        ],
        "subjects": [("x", 3), ("y", 2)],
    }
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHOOL)
        for table, made in rows.items():
            marks = ", ".join("?" * len(made[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", made)
        connection.commit()
    with closing(open_database(str(path))) as database:
        yield database


class Writer:
    """Writes queries: joins over keys of all kinds, conditions anywhere, subqueries that look outwards."""

    def __init__(self, schema: Schema, pick: Random) -> None:
        self._pick = pick
        self._columns = {table.name: [column.name for column in table.columns] for table in schema.tables}
        self._near: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {name: [] for name in self._columns}
        for table in schema.tables:
            for key in table.foreign_keys:
                pairs = list(zip(key.columns, key.referred_columns, strict=True))
                self._near[table.name].append((key.referred_table, pairs))
                self._near[key.referred_table].append((table.name, [(b, a) for a, b in pairs]))
        self._aliases = 0

    def query(self) -> str:
        body, sources = self._body(0, ())
        one, two = self._column(sources), self._column(sources)
        return self._pick.choice(
            [
                f"SELECT {one}, {two} {body}",
                f"SELECT COUNT(*) {body}",
                f"SELECT DISTINCT {one} {body}",
                f"SELECT {one} AS g, COUNT({two}), SUM({two}) {body} GROUP BY {one}",
                f"WITH w AS (SELECT {one} AS k, COUNT(*) AS n {body} GROUP BY {one}) SELECT k, n FROM w",
            ]
        )

    def _source(self, table: str) -> tuple[str, str]:
        self._aliases += 1
        return table, self._pick.choice([quoted(table), f"a{self._aliases}"])

    def _column(self, sources: Sequence[tuple[str, str]]) -> str:
        table, name = self._pick.choice(sources)
        return f"{name}.{quoted(self._pick.choice(self._columns[table]))}"

    def _condition(self, sources: Sequence[tuple[str, str]]) -> str:
        one = self._column(sources)
        if self._pick.random() < 0.2:
            return f"{one} {self._pick.choice(['=', '<', '<>'])} {self._column(sources)}"
        endings = ["> 1", "IS NOT NULL", "IN (1, 2, 'x', 't1')"]
        return self._pick.choice([f"({one} IS NULL OR {one} <= 3)", *(f"{one} {ending}" for ending in endings)])

    def _body(self, depth: int, outer: Sequence[tuple[str, str]]) -> tuple[str, list[tuple[str, str]]]:
        pick = self._pick
        first = self._source(pick.choice(list(self._columns)))
        where: list[str] = []
        if outer and pick.random() < 0.7:
            around = pick.choice(outer)
            if self._near[around[0]]:
                table, pairs = pick.choice(self._near[around[0]])
                first = self._source(table)
                where += [f"{around[1]}.{a} = {first[1]}.{b}" for a, b in pairs]
        sources = [first]
        text = f"FROM {quoted(first[0])} AS {first[1]}"
        for _ in range(pick.choice([0, 0, 1, 1, 2, 3])):
            base = pick.choice(sources)
            if not self._near[base[0]]:
                continue
            table, pairs = pick.choice(self._near[base[0]])
            new = self._source(table)
            if new[1] in [name for _, name in sources] or (table in [t for t, _ in sources] and pick.random() < 0.9):
                continue
            sources.append(new)
            keys = [f"{new[1]}.{b} = {base[1]}.{a}" for a, b in pairs]
            if pick.random() < 0.25 and "JOIN" not in text:
                text += f", {quoted(table)} AS {new[1]}"
                where += keys
                continue
            chance = pick.random()
            if chance < 0.25:
                keys.append(self._condition([new] if chance < 0.2 else sources))
            text += f" {pick.choice(['', '', 'LEFT '])}JOIN {quoted(table)} AS {new[1]} ON {' AND '.join(keys)}"
        if pick.random() < 0.7:
            where.append(self._condition([*sources, *outer] if pick.random() < 0.2 else sources))
        if depth < 2 and pick.random() < 0.35:
            inner, inside = self._body(depth + 1, [*sources, *outer] if pick.random() < 0.3 else sources)
            where.append(
                pick.choice(
                    [
                        f"EXISTS (SELECT 1 {inner})",
                        f"NOT EXISTS (SELECT 1 {inner})",
                        f"(SELECT COUNT(*) {inner}) >= 1",
                        f"{self._column(sources)} IN (SELECT {self._column(inside)} {inner})",
                    ]
                )
            )
        return text + (f" WHERE {' AND '.join(where)}" if where else ""), sources


def lexicon_of(database: Database) -> Lexicon:
    return Lexicon(database.schema, Facts(), ())


@settings(max_examples=300, deadline=None)
@given(pick=some.randoms(use_true_random=False))
def test_any_query_gives_the_same_rows_after_it_was_taken_apart(school: Database, pick: Random) -> None:
    sql = Writer(school.schema, pick).query()
    lexicon = lexicon_of(school)
    loose = unjoined(parse_query(sql, "sqlite"), lexicon=lexicon)
    assert loose is not None
    made = joined(loose.tree, lexicon=lexicon)
    assert made is not None, loose.tree.sql()
    again = check(made.sql(dialect("sqlite")), school.schema).sql
    assert same(school.run(check(sql, school.schema).sql), school.run(again), ordered=False), again


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            'SELECT p.name FROM pupils p JOIN "group" g ON g.school_id = p.school_id AND g.year = p.year '
            "WHERE g.size > 20",
            'SELECT pupils.name FROM pupils, "group" WHERE "group".size > 20',
        ),
        (
            'SELECT g.size FROM "group" g WHERE NOT EXISTS (SELECT 1 FROM pupils p JOIN "exam marks" m '
            "ON m.pupil_id = p.pupil_id WHERE g.school_id = p.school_id AND p.year = g.year AND m.points > 4)",
            'SELECT "group".size FROM "group" WHERE NOT EXISTS(SELECT 1 FROM "exam marks" '
            'WHERE CORRELATED("group") AND "exam marks".points > 4)',
        ),
    ],
)
def test_keys_of_two_columns_are_seen(school: Database, sql: str, expected: str) -> None:
    loose = unjoined(parse_query(sql, "sqlite"), lexicon=lexicon_of(school))
    assert loose is not None and not loose.rigid
    assert loose.tree.sql(dialect("sqlite")) == expected


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT pupils.name FROM pupils JOIN "group" ON "group".school_id = pupils.school_id',
        "SELECT schools.name FROM towns JOIN teachers ON teachers.home = towns.town_id "
        "JOIN schools ON schools.school_id = teachers.school_id WHERE towns.region = 'a'",
    ],
)
def test_half_of_a_key_and_a_longer_way_than_need_be_stay_as_they_are(school: Database, sql: str) -> None:
    loose = unjoined(parse_query(sql, "sqlite"), lexicon=lexicon_of(school))
    assert loose is not None and loose.rigid
    again = joined(loose.tree, lexicon=lexicon_of(school))
    assert [tree and tree.sql(dialect("sqlite")) for tree in (loose.tree, again)] == [sql, sql]


def test_tables_that_no_key_connects_are_not_joined(school: Database) -> None:
    lexicon = lexicon_of(school)
    for sql in (
        "SELECT pupils.name, subjects.hours",
        "SELECT pupils.name FROM pupils, subjects",
        "SELECT pupils.name FROM pupils WHERE subjects.hours > 2",
        "SELECT pupils.name FROM pupils WHERE EXISTS (SELECT 1 FROM subjects WHERE CORRELATED(pupils))",
    ):
        assert joined(parse_query(sql, "sqlite"), lexicon=lexicon) is None, sql


def test_names_are_quoted_as_the_dialect_needs() -> None:
    from agent.database.schema import Column, ForeignKey, Table

    tables = (
        Table("Shops", (Column("Id", "INTEGER", primary_key=True), Column("Town", "TEXT"))),
        Table(
            "sales", (Column("price", "REAL"), Column("shop", "INTEGER")), (ForeignKey(("shop",), "Shops", ("Id",)),)
        ),
    )
    lexicon = Lexicon(Schema("shops", "postgres", tables, "", ""), Facts(), ())
    made = joined(parse_query('SELECT "Shops"."Town", SUM(sales.price) GROUP BY 1', "postgres"), lexicon=lexicon)
    assert made is not None
    assert made.sql(dialect("postgres")) == (
        'SELECT "Shops"."Town", SUM(sales.price) FROM "Shops" JOIN sales ON sales.shop = "Shops"."Id" GROUP BY 1'
    )
