"""What a query leaves out of its question or makes up: caught where it is so, and silent about right queries."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlglot import exp

from agent.attempt import Doubt, Understood
from agent.database.comparing import same
from agent.database.dialects import dialect
from agent.database.guard import check, parse_query
from agent.database.reading import Database, open_database
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.drafting.coverage import doubts
from agent.drafting.operands import Names, comparisons
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from memory.semantic import Term

HOME = Path(__file__).parents[3]
Line = dict[str, Any]

LIBRARY = """
CREATE TABLE members (member_id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT);
CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT NOT NULL, genre TEXT, price REAL, pages INTEGER);
CREATE TABLE loans (
  loan_id INTEGER PRIMARY KEY, member_id INTEGER REFERENCES members (member_id),
  book_id INTEGER REFERENCES books (book_id), lent_at TIMESTAMP, returned_on DATE, deposit REAL
);
CREATE TABLE fines (fine_id INTEGER PRIMARY KEY, loan_id INTEGER REFERENCES loans (loan_id), amount REAL, reason TEXT);
INSERT INTO members VALUES (1, 'Ilse Brandt', 'Riga'), (2, 'Omar Haddad', 'Tartu'), (3, 'Noor Vega', 'Riga');
INSERT INTO books VALUES
  (1, 'Salt Roads', 'travel', 12.5, 310), (2, 'Deep Winter', 'crime', 9.0, 250), (3, 'Glass Town', 'crime', 15.0, 420);
INSERT INTO loans VALUES
  (1, 1, 1, '2021-01-05 10:00:00', '2021-02-01', 5.0), (2, 2, 2, '2021-12-31 16:30:00', '2022-01-20', 2.0),
  (3, 1, 3, '2022-03-01 09:15:00', NULL, 3.0), (4, 3, 2, '2022-06-10 12:00:00', '2022-06-30', 4.0);
INSERT INTO fines VALUES (1, 1, 2.5, 'late'), (2, 1, 1.0, 'torn'), (3, 4, 0.5, 'late');
"""


@dataclass(frozen=True)
class Asked:
    """A database to ask, and what is known about it."""

    database: Database
    lexicon: Lexicon

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))

    def run(self, sql: str) -> tuple[str, Result]:
        query = check(sql, self.database.schema)
        return query.sql, self.database.run(query.sql)

    def doubts(self, question: str, sql: str) -> tuple[Doubt, ...]:
        """What is doubted once the query has run."""
        checked, result = self.run(sql)
        return doubts(self.understand(question), checked, result, lexicon=self.lexicon)

    def rules(self, question: str, sql: str) -> set[str]:
        return {doubt.rule for doubt in self.doubts(question, sql)} - {"empty"}


def opened(place: str, glossary: str = "") -> Asked:
    path = HOME / "data/glossary" / glossary
    told = tomllib.loads(path.read_text(encoding="utf-8"))["term"] if glossary else []
    terms = [Term(tuple(t["names"]), t["meaning"], t.get("expression"), tuple(t["tables"]), "glossary") for t in told]
    database = open_database(place)
    return Asked(database, Lexicon(database.schema, database.facts, terms))


@pytest.fixture(scope="module")
def northwind() -> Iterator[Asked]:
    asked = opened(str(HOME / "data/northwind.sqlite"), "northwind.toml")
    with closing(asked.database):
        yield asked


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    path = tmp_path_factory.mktemp("library") / "library.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(LIBRARY)
    asked = opened(str(path))
    with closing(asked.database):
        yield asked


def lines(path: str) -> list[Line]:
    found = map(json.loads, (HOME / path).read_text(encoding="utf-8").splitlines())
    return [line for line in found if line.get("language", "en") == "en"]


GOLDEN = lines("tests/agent/drafting/coverage.jsonl")
"""Queries beside questions: right ones said otherwise, and wrong ones with the rule and words of a doubt about each."""


def named(line: Line) -> str:
    return f"{line['db']}: {line.get('words') or line['sql']}"


def right_queries(path: str) -> Iterator[tuple[str, str]]:
    """Questions with right queries, each as often as there are ways to write it."""
    for line in lines(path):
        for key in ("sql", "check_sql", "alt_sql"):
            told = line.get(key) or []
            for sql in [told] if isinstance(told, str) else told:
                yield line["question"], sql


# Right queries

PACK = "data/seeds/northwind.jsonl"


@pytest.mark.parametrize(
    "path", [PACK, *(f"data/questions/{name}.jsonl" for name in ("training", "development", "strange"))]
)
def test_hardly_any_right_query_is_doubted(path: str, northwind: Asked) -> None:
    asked = [(question, sql, northwind.rules(question, sql)) for question, sql in right_queries(path)]
    doubted = [one for one in asked if one[2]]
    assert len(asked) > 120 and len(doubted) <= 0.005 * len(asked), doubted


@pytest.mark.parametrize("path", ["data/questions/strange.jsonl", "data/questions/calibration.jsonl"])
def test_words_that_link_to_nothing_hardly_ever_make_a_right_query_doubtful(path: str, northwind: Asked) -> None:
    found = [(question, northwind.rules(question, sql)) for question, sql in right_queries(path)]
    assert len([one for one in found if "unsaid" in one[1]]) <= 0.01 * len(found), found


def test_right_queries_on_a_database_of_odd_names_are_hardly_doubted(tmp_path: Path) -> None:
    path = tmp_path / "clinic.sqlite"
    subprocess.run([sys.executable, str(HOME / "scripts/build_odd_database.py"), str(path)], check=True)
    asked = opened(str(path), "clinic.toml")
    with closing(asked.database):
        found = [(question, asked.rules(question, sql)) for question, sql in right_queries("data/questions/odd.jsonl")]
    assert len([one for one in found if one[1]]) <= 0.04 * len(found), found


def test_questions_that_are_nearly_alike_are_told_apart_without_doubting_the_right_query(northwind: Asked) -> None:
    """The near misses of habits: odd, sly and half-said questions, some answered by a constant."""
    told = [line for line in lines("tests/agent/habit_near_misses.jsonl") if line["db"] == "northwind"]
    found = [(line["ask"], northwind.rules(line["ask"], line["right"])) for line in told]
    assert len([one for one in found if one[1]]) <= 0.08 * len(found), found


@pytest.mark.parametrize("line", [line for line in GOLDEN if "rule" not in line], ids=named)
def test_other_ways_to_say_the_same_are_not_doubted(line: Line, request: pytest.FixtureRequest) -> None:
    asked: Asked = request.getfixturevalue(line["db"])
    assert asked.rules(line["question"], line["sql"]) == set()


# Wrong queries


@pytest.mark.parametrize("line", [line for line in GOLDEN if "rule" in line], ids=named)
def test_a_wrong_query_is_told_what_it_lacks(line: Line, request: pytest.FixtureRequest) -> None:
    asked: Asked = request.getfixturevalue(line["db"])
    found = asked.doubts(line["question"], line["sql"])
    assert any(doubt.rule == line["rule"] and line["words"] in doubt.text for doubt in found), found


def test_dates_and_values_are_held_against_the_question_on_postgres_as_well(postgres_database: str) -> None:
    home, name = postgres_database.partition("host=")[2], postgres_database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(host=home, user="hebbql", dbname=name, autocommit=True) as connection:
        connection.execute(LIBRARY.encode())
    asked = opened(postgres_database)
    question = "How many loans of members in Riga were there in 2021?"
    joined = "SELECT COUNT(*) FROM loans JOIN members ON members.member_id = loans.member_id WHERE"
    with closing(asked.database):
        assert not asked.rules(question, f"{joined} town = 'Riga' AND EXTRACT(YEAR FROM lent_at) = 2021")
        assert not asked.rules(question, f"{joined} town = 'Riga' AND to_char(lent_at, 'YYYY') = '2021'")
        assert asked.rules(question, f"{joined} town = 'Riga' AND EXTRACT(YEAR FROM lent_at) = 2022") == {"time"}
        assert "value" in asked.rules(question, f"{joined} town = 'Tartu' AND EXTRACT(YEAR FROM lent_at) = 2021")


def test_little_words_of_english_judge_no_question_in_another_language(northwind: Asked) -> None:
    german = "Wie viele Kunden gibt es in Deutschland?"
    listed = "SELECT CompanyName FROM Customers WHERE Country = 'Germany'"
    assert not northwind.understand(german).grounding.english
    assert northwind.rules(german, listed) == set()
    assert "value" in northwind.rules(german, "SELECT COUNT(*) FROM Customers WHERE Country = 'Germani'")


# What models write, and what mutation makes of right queries


def test_what_a_small_model_wrote_is_doubted_where_it_is_wrong_and_hardly_where_it_is_right(northwind: Asked) -> None:
    """The attempts of the published run at training questions that gave a result."""
    asked = {line["id"]: line for line in lines("data/questions/training.jsonl")}
    tried = {
        (attempt["question"], attempt["sql"]): attempt["right"]
        for attempt in lines("runs/reference/published/attempts.jsonl")
        if attempt["part"] == "training" and attempt["question"] in asked and attempt["sql"]
    }
    found: Counter[tuple[bool, bool]] = Counter()
    for (name, sql), right in tried.items():
        try:
            found[right, bool(northwind.rules(asked[name]["question"], sql))] += 1
        except (QueryRejected, QueryFailed):
            continue
    assert found[True, True] <= 0.05 * (found[True, True] + found[True, False]), found
    assert found[False, True] >= 0.7 * (found[False, True] + found[False, False]), found


class Mutation:
    """One right query and the ways to make it wrong; each gives queries that run and mean something else."""

    def __init__(self, sql: str, asked: Asked, chance: random.Random) -> None:
        self.asked, self.chance = asked, chance
        self.tree = parse_query(sql, "sqlite")

    @cached_property
    def dates(self) -> list[tuple[str, str]]:
        return [(one.table, one.column) for one in self.asked.lexicon.date_columns]

    def changed(self, node: exp.Expr, change: Callable[[exp.Expr], object]) -> exp.Expr:
        """A copy of the query with the node that stands where this one does changed."""
        place = next(at for at, one in enumerate(self.tree.walk(bfs=False)) if one is node)
        tree = self.tree.copy()
        change(next(one for at, one in enumerate(tree.walk(bfs=False)) if at == place))
        return tree

    def dropped_filter(self) -> Iterator[exp.Expr]:
        for node in self.tree.find_all(exp.And):
            for kept, left in (("this", "expression"), ("expression", "this")):
                if node.args[left].find(exp.Literal):
                    yield self.changed(node, lambda one, kept=kept: one.replace(one.args[kept]))  # type: ignore[misc]
        for holder in self.tree.find_all(exp.Where, exp.Having):
            if not isinstance(holder.this, exp.And) and holder.find(exp.Literal):
                yield self.changed(holder, lambda one: one.pop())

    def other_value(self) -> Iterator[exp.Expr]:
        names = Names(self.tree, self.asked.lexicon.schema, self.dates)
        for one in comparisons(self.tree):
            known = next(
                (f.values for f in self.asked.lexicon.facts.columns if (f.table, f.column) == names.column(one.other)),
                (),
            )
            others = [value for value in known if value != one.literal.name]
            if one.literal.name in known and others:
                value = self.chance.choice(others)
                yield self.changed(one.literal, lambda node, value=value: node.set("this", value))  # type: ignore[misc]

    def other_number(self) -> Iterator[exp.Expr]:
        names = Names(self.tree, self.asked.lexicon.schema, self.dates)
        for one in comparisons(self.tree):
            text = one.literal.name
            if not one.literal.is_string and text.isdigit() and int(text) > 1 and not names.date_part(one.other):
                yield self.changed(one.literal, lambda node: node.set("this", str(int(node.name) * 2 + 3)))

    def other_date(self) -> Iterator[exp.Expr]:
        names = Names(self.tree, self.asked.lexicon.schema, self.dates)
        for one in comparisons(self.tree):
            if names.date_part(one.other) and one.literal.name[:4].isdigit() and len(one.literal.name) >= 4:
                yield self.changed(
                    one.literal, lambda node: node.set("this", f"{int(node.name[:4]) + 1}{node.name[4:]}")
                )

    def other_direction(self) -> Iterator[exp.Expr]:
        for node in self.tree.find_all(exp.Ordered):
            limited = (
                node.parent is not None and node.parent.parent is not None and node.parent.parent.args.get("limit")
            )
            if limited and node.parent is not None and node is node.parent.expressions[0]:
                yield self.changed(node, lambda one: one.set("desc", not one.args.get("desc")))

    def dropped_limit(self) -> Iterator[exp.Expr]:
        for node in self.tree.find_all(exp.Limit):
            yield self.changed(node, lambda one: one.pop())

    def other_limit(self) -> Iterator[exp.Expr]:
        for node in self.tree.find_all(exp.Limit):
            literal = node.args["expression"]
            yield self.changed(literal, lambda one: one.set("this", str(int(one.name) + 4)))

    def dropped_group(self) -> Iterator[exp.Expr]:
        for node in self.tree.find_all(exp.Group):
            if node.parent is not None and node.parent.args.get("having") is None:
                yield self.changed(node, lambda one: one.pop())

    def other_call(self) -> Iterator[exp.Expr]:
        others = {"sum": "COUNT", "avg": "SUM", "count": "SUM"}
        for node in self.tree.find_all(exp.Anonymous):
            if node.name.lower() in others and not isinstance(node.expressions[0], exp.Star):
                yield self.changed(node, lambda one: one.set("this", others[one.name.lower()]))

    def multiplied(self) -> Iterator[exp.Expr]:
        select, names = self.tree, Names(self.tree, self.asked.lexicon.schema, self.dates)
        counts = any(node.name.lower() in ("sum", "count", "avg") for node in select.find_all(exp.Anonymous))
        if not isinstance(select, exp.Select) or not counts or select.args.get("from_") is None:
            return
        read = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
        tables = {names.table(one): one.alias_or_name for one in read if isinstance(one, exp.Table)}
        for table in self.asked.lexicon.schema.tables:
            for key in table.foreign_keys if table.name not in tables else ():
                if key.referred_table in tables:
                    condition = (
                        f'"{table.name}".{key.columns[0]} = "{tables[key.referred_table]}".{key.referred_columns[0]}'
                    )
                    source = exp.Table(this=exp.to_identifier(table.name, quoted=True))
                    yield select.join(source, on=condition, dialect="sqlite")
                    return

    def dropped_column(self) -> Iterator[exp.Expr]:
        if isinstance(self.tree, exp.Select) and len(self.tree.expressions) > 1:
            tree = self.tree.copy()
            tree.set("expressions", tree.expressions[1:])
            yield tree


CAUGHT = {
    "dropped_filter": 0.92,
    "other_value": 0.98,
    "other_number": 0.98,
    "other_date": 0.92,
    "other_direction": 0.9,
    "dropped_limit": 0.85,
    "other_limit": 0.9,
    "dropped_group": 0.97,
    "other_call": 0.87,
    "multiplied": 0.95,
    "dropped_column": 0.65,
}
"""The share of what each mutation makes that is doubted at least; what still gives the right result does not count."""


def test_most_mutations_of_right_queries_are_doubted(northwind: Asked) -> None:
    chance = random.Random(11)
    made, caught, missed = Counter[str](), Counter[str](), []
    for line in (*lines("data/questions/training.jsonl")[::3], *lines("data/questions/development.jsonl")):
        _, gold = northwind.run(line["sql"])
        mutation = Mutation(line["sql"], northwind, chance)
        for name in CAUGHT:
            for tree in getattr(mutation, name)():
                sql = tree.sql(dialect("sqlite"))
                try:
                    _, result = northwind.run(sql)
                except (QueryRejected, QueryFailed):
                    continue
                if same(gold, result, ordered=line["ordered"]):
                    continue
                made[name] += 1
                doubted = bool(northwind.rules(line["question"], sql))
                caught[name] += doubted
                missed += [] if doubted else [(name, line["question"], sql)]
    assert min(made.values()) >= 12, made
    shares = {name: round(caught[name] / made[name], 3) for name in CAUGHT}
    short = {name: shares[name] for name, least in CAUGHT.items() if shares[name] < least}
    assert not short, (short, [one for one in missed if one[0] in short])


# Purity


def test_the_same_is_doubted_each_time_and_nothing_is_changed(northwind: Asked) -> None:
    question, sql = "Which five products are the most expensive?", "SELECT ProductName FROM Products LIMIT 3"
    understood = northwind.understand(question)
    first = doubts(understood, sql, lexicon=northwind.lexicon)
    assert first
    assert doubts(understood, sql, lexicon=northwind.lexicon) == first
    assert understood == northwind.understand(question)


def test_what_cannot_be_read_gives_no_doubt(northwind: Asked) -> None:
    understood = northwind.understand("Which customers are in Germany?")
    for sql in ("", "SELEC", "DELETE FROM Orders", "SELECT " + "(" * 5_000, "SELECT 1; SELECT 2"):
        assert doubts(understood, sql, lexicon=northwind.lexicon) == ()


def test_no_query_and_no_question_raises(northwind: Asked) -> None:
    """Queries beside questions that they do not answer, with words of theirs lost or written twice."""
    chance = random.Random(3)
    pairs = [pair for name in ("training", "development") for pair in right_queries(f"data/questions/{name}.jsonl")]
    questions = [question for question, _ in pairs] + [
        "",
        "?",
        "1997",
        "' '",
        "best worst first last 1998 or 3 of 1-2-3",
    ]
    queries = [sql for _, sql in pairs] + ["VALUES (1)", "SELECT *", "SELECT count() FROM Orders", "SELECT max(1, 2)"]
    for _ in range(600):
        text = chance.choice(queries).split(" ")
        for _ in range(chance.randint(0, 3)):
            at = chance.randrange(len(text))
            text[at : at + 1] = chance.choice([[], [text[at], text[at]], [chance.choice(text)]])
            text = text or ["x"]
        understood = northwind.understand(chance.choice(questions))
        assert isinstance(doubts(understood, " ".join(text), lexicon=northwind.lexicon), tuple)


@pytest.mark.parametrize(
    ("question", "sql", "rule"),
    [
        (
            "I was told that Riga is cold. How many members are there?",
            "SELECT COUNT(*) FROM members WHERE town = 'Riga'",
            "value",
        ),
        (
            "Who are our members' cousins with green hats in Riga?",
            "SELECT name FROM members WHERE town = 'Riga'",
            "unsaid",
        ),
        ("Which members with green hats are in Riga?", "SELECT name FROM members WHERE town = 'Riga'", "unsaid"),
        ("We are looking at women, so how many members are there?", "SELECT COUNT(*) FROM members", "unsaid"),
        ("I care about organic farming. How many books are there?", "SELECT COUNT(*) FROM books", "unsaid"),
    ],
)
def test_what_stands_for_nothing_or_only_in_talk_is_doubted(question: str, sql: str, rule: str, library: Asked) -> None:
    assert rule in library.rules(question, sql)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("We are looking at Riga. How many members are there?", "SELECT COUNT(*) FROM members WHERE town = 'Riga'"),
        ("I met Mr. Klein. How many members are in Riga?", "SELECT COUNT(*) FROM members WHERE town = 'Riga'"),
        ("What are the members' towns?", "SELECT name, town FROM members"),
    ],
)
def test_talk_that_tells_what_is_asked_for_raises_no_doubt(question: str, sql: str, library: Asked) -> None:
    assert not library.rules(question, sql) & {"value", "unsaid"}
