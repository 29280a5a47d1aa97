"""The guard against golden files: hostile SQL is refused by the rule that says so, idioms pass and mean the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.database.guard import LONGEST, check
from agent.database.reading import Database, open_database
from agent.database.result import DatabaseError, QueryFailed, QueryRejected
from agent.database.schema import Column, Schema, Table

HERE = Path(__file__).parent / "guard"
NORTHWIND = Path(__file__).parents[3] / "data" / "northwind.sqlite"


def statements(name: str) -> list[str]:
    """Paragraphs of a golden file, without its heading."""
    text = (HERE / name).read_text(encoding="utf-8")
    return text.split("\n\n", 1)[1].strip("\n").split("\n\n")


def ruled(name: str) -> list[tuple[str, str]]:
    """Pairs of rule and statement."""
    pairs = []
    for paragraph in statements(name):
        heading, _, sql = paragraph.partition("\n")
        pairs.append((heading.removeprefix("# "), sql))
    return pairs


@pytest.fixture(scope="module")
def northwind() -> Iterator[Database]:
    database = open_database(str(NORTHWIND))
    yield database
    database.close()


@pytest.fixture(scope="module")
def schema(northwind: Database) -> Schema:
    return northwind.schema


@pytest.mark.parametrize(("rule", "sql"), ruled("hostile_sqlite.txt"))
def test_hostile_sql_is_refused_by_its_rule(rule: str, sql: str, schema: Schema) -> None:
    with pytest.raises(QueryRejected) as refused:
        check(sql, schema)
    assert refused.value.rule == rule, refused.value.reason
    assert refused.value.reason.endswith((".", "?")) and len(refused.value.reason) < 700


def test_there_are_enough_hostile_probes_and_idioms() -> None:
    hostile, idioms = ruled("hostile_sqlite.txt"), statements("idioms_sqlite.txt")
    assert len(set(hostile)) == len(hostile) >= 70
    assert len(set(idioms)) == len(idioms) >= 60


@pytest.mark.parametrize("sql", statements("idioms_sqlite.txt"))
def test_idioms_pass_and_give_the_same_rows_as_written(sql: str, northwind: Database) -> None:
    checked = check(sql, northwind.schema)
    with sqlite3.connect(f"file:{NORTHWIND}?mode=ro", uri=True) as connection:
        expected = connection.execute(sql).fetchall()
    connection.close()
    assert expected or "NOT EXISTS" in sql or "IS NULL" in sql
    assert list(northwind.run(checked.sql).rows) == expected[:1000]


@pytest.mark.parametrize("sql", statements("idioms_sqlite.txt"))
def test_checking_again_what_was_written_anew_changes_nothing(sql: str, schema: Schema) -> None:
    once = check(sql, schema)
    assert check(once.sql, schema) == once


@pytest.mark.parametrize("sql", statements("bombs_sqlite.txt"))
def test_bombs_that_pass_are_bounded(sql: str) -> None:
    database = open_database(str(NORTHWIND), deadline=0.3, row_cap=50)
    try:
        checked = check(sql, database.schema)
        try:
            assert len(database.run(checked.sql).rows) <= 50
        except QueryFailed as failed:
            assert failed.kind in ("deadline", "too_big", "memory")
        assert database.run("SELECT 1").rows == ((1,),)
    finally:
        database.close()


def test_a_cast_to_date_keeps_the_date(northwind: Database) -> None:
    checked = check("SELECT CAST(OrderDate AS DATE) FROM Orders ORDER BY OrderID LIMIT 1", northwind.schema)
    assert northwind.run(checked.sql).rows == (("1996-07-04",),)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT UnitPric FROM Products", ["UnitPrice"]),
        ('SELECT "UnitPric" FROM Products', ["UnitPrice", "single quotes"]),
        ('SELECT CompanyName FROM Customers WHERE Country = "Germany"', ["'Germany'"]),
        ("SELECT * FROM Order_Details", ['"Order Details"']),
        ("SELECT * FROM Order Details", ['in double quotes: "Order Details"']),
        ("SELECT od.Quantity FROM order  details AS od", ['in double quotes: "Order Details"']),
        ("SELECT Quantity FROM Order Details od WHERE od.Quantity > 3", ['in double quotes: "Order Details"']),
        ("SELECT Order Details.Quantity FROM Orders", ['in double quotes: "Order Details"']),
        ("SELECT c.UnitPrice FROM Customers c, Products p", ["Products (p)"]),
        ("SELECT c.Freight FROM Customers c", ["Orders", "join"]),
        ("SELECT YEAR(OrderDate) FROM Orders", ["strftime('%Y', column)"]),
        ("SELECT EXTRACT(YEAR FROM OrderDate) FROM Orders", ["strftime"]),
        ("SELECT LEFT(CompanyName, 2) FROM Customers", ["substr(column, 1, n)"]),
        ("SELECT x.City FROM Customers c", ["called x", "c"]),
    ],
)
def test_a_refusal_says_what_to_write_instead(sql: str, words: list[str], schema: Schema) -> None:
    with pytest.raises(QueryRejected) as refused:
        check(sql, schema)
    for word in words:
        assert word in refused.value.reason


def test_the_tables_a_query_reads_are_named_once_in_schema_order(schema: Schema) -> None:
    sql = 'SELECT 1 FROM "order details" d, orders o, ORDERS p WHERE EXISTS (SELECT 1 FROM Customers)'
    order = [table.name for table in schema.tables]
    found = check(sql, schema).tables
    assert set(found) == {"Orders", "Order Details", "Customers"}
    assert list(found) == sorted(found, key=order.index)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM Region, Shippers",
        "SELECT 1 FROM Region CROSS JOIN Shippers",
        "SELECT 1 FROM Orders AS o, Customers AS c LEFT JOIN Employees AS e ON e.EmployeeID = o.EmployeeID",
        "SELECT MOD(5, 3), IIF(1, 2, 3), SUBSTR('abc', 1), CAST('1' AS DECIMAL) FROM Region",
    ],
)
def test_what_would_change_speed_or_meaning_stays_as_it_was_written(sql: str, schema: Schema) -> None:
    assert check(sql, schema).sql == sql


def test_comments_never_reach_the_database(schema: Schema) -> None:
    assert check("SELECT /*+ hint */ 1 -- and more\n", schema).sql == "SELECT 1"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 3_000 + "1" + ")" * 3_000,
        "SELECT " + "NOT " * 4_000 + "1",
        "SELECT " + "-" + " -" * 4_000 + "1",
        "SELECT 1 FROM " + "(SELECT * FROM " * 800 + "Orders" + ")" * 800,
        "SELECT " + "+".join(["1"] * 9_000),
        "SELECT " + "CASE WHEN 1 THEN " * 900 + "1" + " END" * 900,
        "SELECT 1 WHERE 1 IN (" + "(SELECT " * 1_500 + "1" + ")" * 1_500 + ")",
        "SELECT abs(" * 2_500,
    ],
    ids=["brackets", "not", "minus", "subqueries", "sum", "case", "in", "calls"],
)
def test_deep_nesting_is_refused_or_harmless(sql: str, northwind: Database) -> None:
    try:
        northwind.run(check(sql, northwind.schema).sql)
    except DatabaseError as refused:
        assert str(refused)


def test_nothing_is_said_beside_the_refusal(schema: Schema, caplog: pytest.LogCaptureFixture) -> None:
    for sql in ("VACUUM INTO 'x'", "COPY a FROM b c d", "SELECT LAG(OrderID) IGNORE NULLS OVER () FROM Orders"):
        with pytest.raises(QueryRejected):
            check(sql, schema)
    assert not caplog.records


def test_long_sql_is_refused(schema: Schema) -> None:
    with pytest.raises(QueryRejected) as refused:
        check("SELECT '" + "x" * LONGEST + "'", schema)
    assert refused.value.rule == "length"


@pytest.mark.parametrize(
    "sql", ["SELECT '\x00'", "SELECT '\ud800'", "SELECT \x1b[31m1", "\ufeff", "\u200b", "🙂", "'", '"', "`"]
)
def test_odd_characters_are_refused_or_harmless(sql: str, northwind: Database) -> None:
    try:
        northwind.run(check(sql, northwind.schema).sql)
    except DatabaseError as refused:
        assert str(refused)


def test_other_dialects_are_refused_until_guarded() -> None:
    with pytest.raises(QueryRejected) as refused:
        check("SELECT 1", Schema("x", "mysql", (), "", ""))
    assert refused.value.rule == "dialect"


@pytest.mark.parametrize("call", ["CONCAT(Name, 'x')", "CONCAT_WS(',', Name)", "OCTET_LENGTH(Name)"])
def test_what_sqlite_got_only_lately_is_refused_with_what_to_write_instead(call: str) -> None:
    table = Table("Cats", (Column("Name", "TEXT"),))
    with pytest.raises(QueryRejected, match=r"in SQLite write") as refused:
        check(f"SELECT {call} FROM Cats", Schema("zoo", "sqlite", (table,), "", ""))
    assert refused.value.rule == "foreign_function"
