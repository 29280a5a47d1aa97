"""Queries without FROM and JOIN: every right query comes back the same, and a prompt shows them so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.attempt import Attempt, Draft, Understood
from agent.database.comparing import same
from agent.database.guard import check
from agent.database.reading import Database
from agent.drafting.loose import completed, is_due, loosely, loosened
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.learning.questions import read_pairs
from agent.models.port import Prompt, Reply, Turn
from memory.episode import Episode
from memory.recall import Recalled
from tests.agent.made import open_northwind

DATA = Path(__file__).parent.parent.parent.parent / "data"


@dataclass(frozen=True)
class Asked:
    database: Database
    lexicon: Lexicon

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))


@pytest.fixture(scope="module")
def northwind() -> Iterator[Asked]:
    with open_northwind() as (database, lexicon):
        yield Asked(database, lexicon)


@pytest.mark.parametrize("name", ["development", "training"])
def test_a_query_written_loosely_comes_back_with_the_same_rows(name: str, northwind: Asked) -> None:
    pairs = read_pairs(DATA / "questions" / f"{name}.jsonl")[::3]
    written = [(pair.sql, loosely(pair.sql, lexicon=northwind.lexicon)) for pair in pairs]
    for sql, loose in written:
        if loose is not None:
            whole = completed(loose, lexicon=northwind.lexicon)
            assert whole is not None, loose
            ours, theirs = (northwind.database.run(check(one, northwind.database.schema).sql) for one in (whole, sql))
            assert same(ours, theirs, ordered=False), loose
    without_from = [loose for _, loose in written if loose and " FROM " not in loose]
    assert len(without_from) > 0.85 * len(pairs)


@pytest.mark.parametrize(
    ("sql", "loose"),
    [
        ("SELECT CompanyName FROM Customers", "SELECT Customers.CompanyName"),
        ("SELECT COUNT(*) FROM Orders", "SELECT COUNT(Orders.*)"),
        (
            'SELECT SUM(d.Quantity) FROM "Order Details" d JOIN Orders o ON o.OrderID = d.OrderID WHERE o.Freight > 9',
            'SELECT SUM("Order Details".Quantity) WHERE Orders.Freight > 9',
        ),
    ],
)
def test_what_is_left_names_the_table_of_each_column(sql: str, loose: str, northwind: Asked) -> None:
    assert loosely(sql, lexicon=northwind.lexicon) == loose


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT Employees.LastName, Boss.LastName FROM Employees JOIN Employees AS Boss "
        "ON Boss.EmployeeID = Employees.ReportsTo",
        "SELECT (",
        "SELECT Colour FROM Customers",
    ],
)
def test_what_cannot_be_said_without_from_is_not_written_so(sql: str, northwind: Asked) -> None:
    assert loosely(sql, lexicon=northwind.lexicon) is None


def test_a_left_join_stays_one(northwind: Asked) -> None:
    sql = (
        "SELECT Customers.CompanyName, MAX(Orders.OrderDate) FROM Customers "
        "LEFT JOIN Orders ON Orders.CustomerID = Customers.CustomerID GROUP BY Customers.CustomerID"
    )
    loose = loosely(sql, lexicon=northwind.lexicon)
    assert loose is not None and " LEFT JOIN " in loose
    assert "LEFT JOIN" in (completed(loose, lexicon=northwind.lexicon) or "")


def test_what_a_model_wrote_gets_the_joins_that_its_columns_need(northwind: Asked) -> None:
    written = "SELECT MIN(UnitPrice) FROM Products WHERE Categories.CategoryName = 'Produce'"
    whole = completed(written, lexicon=northwind.lexicon)
    assert whole is not None
    assert "JOIN Categories ON Categories.CategoryID = Products.CategoryID" in whole
    counted = "SELECT Suppliers.Country, COUNT(*) FROM Suppliers GROUP BY Suppliers.Country"
    for given in (
        counted.replace("COUNT(*)", "COUNT(Suppliers.*)"),
        counted.replace("COUNT(*) FROM Suppliers", "COUNT(Suppliers.*)"),
    ):
        assert completed(given, lexicon=northwind.lexicon) == counted
    assert completed("SELECT Customers.Colour", lexicon=northwind.lexicon) is None
    assert completed("DROP TABLE Customers", lexicon=northwind.lexicon) is None


def test_a_prompt_is_shown_without_joins_and_brings_the_grammar_to_go_with_it(northwind: Asked) -> None:
    sql = (
        "SELECT COUNT(*) FROM Orders JOIN Customers ON Customers.CustomerID = Orders.CustomerID "
        "WHERE Customers.Country = 'France'"
    )
    episode = Episode(
        bucket="b",
        kind="count",
        tables=("Customers", "Orders"),
        question="How many orders came from France?",
        masked="How many orders came from ?",
        sql=sql,
        skeleton="",
        origin="seed",
        verifier="gold",
        batch="",
        schema_fingerprint="",
        result_fingerprint="",
    )
    question = "How many orders came from customers in Germany?"
    attempt = Attempt(
        id="1",
        question=question,
        model="m",
        understood=northwind.understand(question),
        recalled=(Recalled(episode, 1.0, "bucket", ""),),
    )
    facts = "(Orders.CustomerID = Customers.CustomerID)\n(Customers.Country = 'Germany')"
    turns = (Turn("user", episode.question), Turn("assistant", sql), Turn("user", f"{question}\n{facts}"))
    made = loosened(attempt, Prompt("stable", turns), lexicon=northwind.lexicon)
    assert made.stable == "stable"
    assert made.turns[1].text == "SELECT COUNT(Orders.*) WHERE Customers.Country = 'France'"
    assert made.turns[2].text == f"{question}\n(Customers.Country = 'Germany')"
    assert made.grammar.startswith("root ::= ")
    assert "Customers.Country = 'Germany'" in made.grammar
    assert "'France'" not in made.grammar
    planned = Prompt("stable", (*turns[:1], Turn("assistant", f"-- counts orders\n{sql}"), *turns[2:]))
    assert loosened(attempt, planned, lexicon=northwind.lexicon) == planned
    alone = attempt.grown(recalled=()), Prompt("stable", turns[2:])
    assert loosened(*alone, lexicon=northwind.lexicon) == alone[1]


def test_one_draft_under_a_grammar_is_due_after_one_that_did_not_run() -> None:
    asked, bound = Prompt("s", ()), Prompt("s", (), grammar="root ::= top")
    new = Attempt(id="1", question="q", model="m")
    failed = new.drafted(Draft(asked, Reply("SELECT a"), problem="There is no a."))
    assert not is_due(new)
    assert not is_due(new.drafted(Draft(asked, Reply("SELECT 1"))))
    assert not is_due(new.drafted(Draft(None, Reply("SELECT a"), problem="There is no a.", origin="adapted")))
    assert is_due(failed)
    assert not is_due(failed.drafted(Draft(bound, Reply("SELECT b"), problem="There is no b.")))
