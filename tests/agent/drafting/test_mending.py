"""Queries put right before the guard: run on real databases against queries that were written for them by hand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.database.comparing import same
from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.database.schema import Schema
from agent.drafting.mending import mend, named, translated
from agent.drafting.renaming import is_typo, same_words
from agent.linking import Lexicon

ROOT = Path(__file__).resolve().parents[3]
NORTHWIND = ROOT / "data" / "northwind.sqlite"

# Ends of months and years, a leap day, weeks of two years, NULLs, empty texts, a negative number.
ROWS = (
    (1, "Anna Berg", "Anni", "2024-01-31 23:59:59", "2024-01-31", 10.5, 3),
    (2, "Bo", "", "2024-02-29 00:00:00", "2024-02-29", 7.0, 4),
    (3, "carla X", None, "2023-12-31 12:30:00", "2023-12-31", None, 5),
    (4, "Dan_o", "D", "2021-01-03 08:05:09", "2021-01-03", 3.25, -2),
    (5, "anna", "A", "2020-12-28 00:00:01", "2020-12-28", 3.25, 0),
    (6, "Eve", None, "2024-07-15 10:00:00", "2024-07-15", 100.0, 7),
)


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Visits of a clinic in SQLite, with dates as text."""
    path = tmp_path_factory.mktemp("clinic") / "clinic.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, name TEXT, nick TEXT, seen TEXT, day TEXT, paid REAL,"
            " n INTEGER)"
        )
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)", ROWS)
    connection.close()
    database = open_database(str(path))
    yield database
    database.close()


@pytest.fixture(scope="module")
def heavy(postgres_url: str) -> Iterator[Database]:
    """The same visits in PostgreSQL, with dates as dates."""
    home = postgres_url.partition("host=")[2]
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE mending")
    with psycopg.connect(host=home, user="hebbql", dbname="mending", autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE visits (id integer PRIMARY KEY, name text, nick text, seen timestamp, day date,"
            " paid double precision, n integer)"
        )
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s, %s)", ROWS)
    database = open_database(postgres_url.replace("/postgres?", "/mending?"))
    yield database
    database.close()
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE mending WITH (FORCE)")


def run(database: Database, sql: str) -> Result:
    return database.run(check(sql, database.schema).sql)


def agree(a: Result, b: Result) -> bool:
    return same(a, b, ordered=True)


# What PostgreSQL has itself: there the query runs as it is, on SQLite it is translated.
OF_POSTGRES = """
EXTRACT(YEAR FROM day)
EXTRACT(MONTH FROM seen)
EXTRACT(QUARTER FROM day)
EXTRACT(DAY FROM day)
EXTRACT(DOW FROM day)
EXTRACT(ISODOW FROM day)
EXTRACT(DOY FROM day)
EXTRACT(WEEK FROM day)
EXTRACT(HOUR FROM seen)
EXTRACT(MINUTE FROM seen)
EXTRACT(SECOND FROM seen)
EXTRACT(EPOCH FROM seen)
DATE_PART('year', day)
DATE_PART('week', seen)
EXTRACT(YEAR FROM AGE('2024-07-15', day))
EXTRACT(YEAR FROM AGE('2024-12-30', seen))
EXTRACT(YEAR FROM AGE('2020-12-30', seen))
EXTRACT(DAY FROM seen - TIMESTAMP '2020-01-01')
CAST(DATE_TRUNC('year', day) AS DATE)
CAST(DATE_TRUNC('quarter', day) AS DATE)
CAST(DATE_TRUNC('month', seen) AS DATE)
CAST(DATE_TRUNC('week', day) AS DATE)
TO_CHAR(DATE_TRUNC('hour', seen), 'YYYY-MM-DD HH24:MI:SS')
TO_CHAR(day, 'YYYY-MM')
TO_CHAR(day, 'YYYY')
TO_CHAR(seen, 'DD.MM.YYYY HH24:MI')
TO_CHAR(day, 'FMMonth YYYY')
TO_CHAR(day, 'Mon')
TO_CHAR(day, 'YY/FMMM')
TO_CHAR(day, 'Q')
TO_CHAR(day, 'YYYY-Q')
TO_CHAR(day, 'FMDay')
TO_CHAR(day, 'Dy, DD Mon')
TO_CHAR(day, 'IW')
CAST(day + INTERVAL '1 month' AS DATE)
CAST(day - INTERVAL '1 month' AS DATE)
CAST(day - INTERVAL '1 year' AS DATE)
CAST(day + INTERVAL '3 months' AS DATE)
CAST(day + INTERVAL '1 year 2 months' AS DATE)
CAST(day + INTERVAL '10 days' AS DATE)
CAST(day - INTERVAL '2 weeks' AS DATE)
CAST(DATE '2024-03-31' - INTERVAL '1 month' AS DATE)
TO_CHAR(seen + INTERVAL '90 minutes', 'YYYY-MM-DD HH24:MI:SS')
TO_CHAR(CAST(seen AS TIMESTAMP) + INTERVAL '1 month', 'YYYY-MM-DD HH24:MI:SS')
MAKE_DATE(2024, n + 3, 9)
LEFT(name, 2)
RIGHT(name, 3)
RIGHT(name, 40)
RIGHT(name, n + 2)
CHAR_LENGTH(name)
STRPOS(name, 'n')
POSITION('a' IN name)
LPAD(name, 4, '*')
RPAD(name, 4, '*')
CONCAT(name, ' (', nick, ')')
CONCAT(nick, n) || '!'
CONCAT(nick)
OCTET_LENGTH(name)
CONCAT_WS(', ', name, nick, n)
CONCAT_WS('', nick, name)
GREATEST(n, 2)
LEAST(n, 2, id)
CAST(n AS NUMERIC) / 2
n::numeric / id
100 * (CAST(n AS DECIMAL(10, 2)) / 4)
CASE WHEN name ILIKE 'A%' THEN 1 ELSE 0 END
CASE WHEN name NOT ILIKE '%AN%' THEN 1 ELSE 0 END
""".strip().splitlines()
QUERIES_OF_POSTGRES = (
    "SELECT id FROM visits ORDER BY n DESC FETCH FIRST 2 ROWS ONLY",
    "SELECT id FROM visits ORDER BY n OFFSET 1 ROWS FETCH NEXT 3 ROWS ONLY",
    "SELECT id FROM visits ORDER BY n FETCH FIRST ROW ONLY",
    "SELECT id FROM visits WHERE day >= DATE '2024-07-15' - INTERVAL '6 months' ORDER BY id",
    "SELECT id FROM visits WHERE EXTRACT(YEAR FROM day) BETWEEN 2021 AND EXTRACT(YEAR FROM seen) - 1 ORDER BY id",
    "SELECT id FROM visits WHERE NOT EXTRACT(QUARTER FROM day) * 2 IN (2, 8) ORDER BY id",
    "SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*) FROM visits GROUP BY EXTRACT(YEAR FROM day) ORDER BY y",
    "SELECT DISTINCT ON (paid) paid, id, name FROM visits WHERE paid IS NOT NULL ORDER BY paid, n DESC",
    "SELECT DISTINCT ON (EXTRACT(YEAR FROM day)) name AS who FROM visits"
    " ORDER BY EXTRACT(YEAR FROM day) DESC, id LIMIT 2",
    "SELECT STRING_AGG(name, '; ' ORDER BY id) FROM visits",
    "SELECT STRING_AGG(name, '; ' ORDER BY n DESC, id) AS all_names FROM visits WHERE id > 1",
    "SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*), STRING_AGG(v.name, ', ' ORDER BY v.n) FROM visits v"
    " GROUP BY EXTRACT(YEAR FROM day) HAVING COUNT(*) < 9 ORDER BY y DESC",
    "SELECT a.id, STRING_AGG(b.name, '+' ORDER BY b.n DESC) FROM visits a JOIN visits b ON b.n > a.n"
    " GROUP BY a.id ORDER BY a.id LIMIT 4",
    "SELECT STRING_AGG(DISTINCT CAST(id AS TEXT), ',' ORDER BY CAST(id AS TEXT) DESC) FROM visits",
)


@pytest.mark.parametrize("expression", OF_POSTGRES)
def test_an_expression_of_postgres_means_the_same_on_sqlite(expression: str, light: Database, heavy: Database) -> None:
    sql = f"SELECT id, {expression} FROM visits ORDER BY id"
    assert translated(sql, "postgres") == (sql, ())
    made, notes = translated(sql, "sqlite")
    assert notes, made
    assert agree(run(heavy, sql), run(light, made)), made


@pytest.mark.parametrize("sql", QUERIES_OF_POSTGRES)
def test_a_query_of_postgres_gives_the_same_rows_on_sqlite(sql: str, light: Database, heavy: Database) -> None:
    assert translated(sql, "postgres") == (sql, ())
    made, notes = translated(sql, "sqlite")
    assert notes, made
    assert agree(run(heavy, sql), run(light, made)), made


# What SQLite has itself: there it runs as it is, on PostgreSQL it is translated.
OF_SQLITE = """
STRFTIME('%Y', day)
STRFTIME('%Y-%m', seen)
STRFTIME('%d.%m.%Y at %H:%M:%S', seen)
STRFTIME('%j', day)
STRFTIME('%w', day)
STRFTIME('%s', seen)
STRFTIME('%m', day, 'start of month', '-1 month')
CAST(STRFTIME('%Y', day) AS INTEGER)
CAST(JULIANDAY(seen) - JULIANDAY('2020-02-03') AS INTEGER)
ROUND(CAST(JULIANDAY(seen) AS NUMERIC), 4)
STRFTIME('%Y-%m-%d', DATE(day, 'start of year', '+1 month', '-1 day'))
STRFTIME('%Y-%m-%d %H:%M:%S', DATETIME(seen, '+90 minutes'))
IFNULL(nick, name)
IIF(n > 3, 'many', 'few')
IIF(n > 3, 'many', 'few') || '!'
INSTR(name, 'n')
INSTR(name, 'n') + 1
""".strip().splitlines()
QUERIES_OF_SQLITE = (
    "SELECT TOTAL(paid) FROM visits WHERE id > 90",
    "SELECT GROUP_CONCAT(n) FROM (SELECT n FROM visits ORDER BY id) AS v",
    "SELECT GROUP_CONCAT(name, ' + ') FROM (SELECT name FROM visits ORDER BY id) AS v",
    "SELECT SUM(n > 3), AVG(name = 'Bo') FROM visits",
    "SELECT SUM(paid > 5) FROM visits",
    "SELECT id FROM visits WHERE STRFTIME('%Y', day) = '2024' AND STRFTIME('%m', day) IN ('01', '07') ORDER BY id",
    "SELECT id FROM visits WHERE JULIANDAY(day) - JULIANDAY('2023-12-31') > 30 ORDER BY id",
    "SELECT `name`, [n] FROM [visits] ORDER BY `id`",
)


@pytest.mark.parametrize(
    "sql", [f"SELECT id, {expression} FROM visits ORDER BY id" for expression in OF_SQLITE] + list(QUERIES_OF_SQLITE)
)
def test_what_sqlite_has_means_the_same_on_postgres(sql: str, light: Database, heavy: Database) -> None:
    assert translated(sql, "sqlite") == (sql, ())
    made, notes = translated(sql, "postgres")
    assert notes, made
    assert agree(run(light, sql), run(heavy, made)), made


# What neither has: MySQL, SQL Server, Oracle and others, with the SQLite that means the same, written by hand.
OF_OTHERS: tuple[tuple[str, str], ...] = (
    ("YEAR(day)", "CAST(substr(day, 1, 4) AS INTEGER)"),
    ("MONTH(day) + 1", "CAST(substr(day, 6, 2) AS INTEGER) + 1"),
    ("DAY(day)", "CAST(substr(day, 9, 2) AS INTEGER)"),
    ("DAYOFMONTH(seen)", "CAST(substr(seen, 9, 2) AS INTEGER)"),
    ("QUARTER(day) * 10", "10 * ((CAST(substr(day, 6, 2) AS INTEGER) - 1) / 3 + 1)"),
    ("DATEPART(month, day)", "CAST(substr(day, 6, 2) AS INTEGER)"),
    ("DATEPART(weekday, day)", "CAST(strftime('%w', day) AS INTEGER) + 1"),
    ("DAYOFWEEK(day)", "CAST(strftime('%w', day) AS INTEGER) + 1"),
    ("DATE_FORMAT(day, '%Y-%m')", "substr(day, 1, 7)"),
    (
        "DATE_FORMAT(seen, '%d/%m/%y %H:%i')",
        "strftime('%d/%m/', seen) || substr(day, 3, 2) || strftime(' %H:%M', seen)",
    ),
    ("CAST(DATE_FORMAT(day, '%Y') AS UNSIGNED)", "CAST(substr(day, 1, 4) AS INTEGER)"),
    ("DATE_FORMAT(day, '%c')", "CAST(CAST(substr(day, 6, 2) AS INTEGER) AS TEXT)"),
    ("DATEDIFF(day, '2024-01-01')", "CAST(julianday(day) - julianday('2024-01-01') AS INTEGER)"),
    ("DATEDIFF(seen, '2024-01-01')", "CAST(julianday(day) - julianday('2024-01-01') AS INTEGER)"),
    ("DATEDIFF(day, '2024-01-01', day)", "CAST(julianday(day) - julianday('2024-01-01') AS INTEGER)"),
    ("10 * DATEDIFF(day, '2024-01-01')", "10 * CAST(julianday(day) - julianday('2024-01-01') AS INTEGER)"),
    ("DATEDIFF(year, day, '2024-01-01')", "2024 - CAST(substr(day, 1, 4) AS INTEGER)"),
    (
        "DATEDIFF(month, day, '2024-01-15')",
        "(2024 - CAST(substr(day, 1, 4) AS INTEGER)) * 12 + 1 - CAST(substr(day, 6, 2) AS INTEGER)",
    ),
    (
        "TIMESTAMPDIFF(YEAR, day, '2024-02-28')",
        "CASE id WHEN 1 THEN 0 WHEN 2 THEN 0 WHEN 3 THEN 0 WHEN 4 THEN 3 WHEN 5 THEN 3 ELSE 0 END",
    ),
    ("DATE_ADD(day, INTERVAL 7 DAY)", "date(day, '+7 days')"),
    ("DATE_SUB(day, INTERVAL 1 WEEK)", "date(day, '-7 days')"),
    ("DATE_ADD(day, INTERVAL n DAY)", "date(julianday(day) + n)"),
    ("DATE_SUB(day, INTERVAL n DAY)", "date(julianday(day) - n)"),
    ("DATEADD(day, -3, day)", "date(day, '-3 days')"),
    (
        "DATEADD(month, 1, day)",
        "CASE id WHEN 1 THEN '2024-02-29' WHEN 2 THEN '2024-03-29' WHEN 3 THEN '2024-01-31' WHEN 4 THEN '2021-02-03'"
        " WHEN 5 THEN '2021-01-28' ELSE '2024-08-15' END",
    ),
    ("LAST_DAY(day)", "date(day, 'start of month', '+1 month', '-1 day')"),
    ("EOMONTH(seen)", "date(day, 'start of month', '+1 month', '-1 day')"),
    ("LEN(name)", "length(name)"),
    ("CHARINDEX('n', name)", "instr(name, 'n')"),
    ("LOCATE('n', name)", "instr(name, 'n')"),
    ("NVL(nick, 'none')", "coalesce(nick, 'none')"),
    ("ISNULL(nick, 'none')", "coalesce(nick, 'none')"),
    ("ISNULL(nick)", "nick IS NULL"),
    ("NVL2(nick, 1, 0)", "nick IS NOT NULL"),
    ("IF(n > 3, 'many', 'few')", "CASE WHEN n > 3 THEN 'many' ELSE 'few' END"),
    ("CAST(n AS SIGNED)", "n"),
    ("CAST(n AS STRING) || 'x'", "n || 'x'"),
    ("CONVERT(VARCHAR(7), seen, 120)", "substr(day, 1, 7)"),
    ("CONVERT(DATE, seen)", "day"),
    ("FORMAT(day, 'yyyy-MM')", "substr(day, 1, 7)"),
    ("STRFTIME(day, '%Y')", "substr(day, 1, 4)"),
    ("WEEKDAY(day)", "(CAST(strftime('%w', day) AS INTEGER) + 6) % 7"),
    (
        "MONTHNAME(day)",
        "CASE substr(day, 6, 2) WHEN '01' THEN 'January' WHEN '02' THEN 'February'"
        " WHEN '07' THEN 'July' ELSE 'December' END",
    ),
    ("UCASE(name)", "upper(name)"),
    ("n DIV 2", "n / 2"),
    ("CASE WHEN DATE(seen) < CURDATE() AND seen < NOW() AND seen < GETDATE() THEN 1 END", "1"),
    ("YEAR(CURRENT_DATE()) - YEAR(NOW())", "0"),
)
QUERIES_OF_OTHERS: tuple[tuple[str, str], ...] = (
    ("SELECT TOP 2 id FROM visits ORDER BY n DESC", "SELECT id FROM visits ORDER BY n DESC LIMIT 2"),
    ("SELECT TOP (2) [name] FROM [visits] ORDER BY [n]", "SELECT name FROM visits ORDER BY n LIMIT 2"),
    (
        "SELECT COUNT(DISTINCT paid, n) FROM visits",
        "SELECT COUNT(*) FROM (SELECT DISTINCT paid, n FROM visits WHERE paid > 0)",
    ),
    (
        "SELECT GROUP_CONCAT(name SEPARATOR ' + ') FROM (SELECT name FROM visits ORDER BY id) AS v",
        "SELECT GROUP_CONCAT(name, ' + ') FROM (SELECT name FROM visits ORDER BY id) AS v",
    ),
    (
        "SELECT YEAR(day) AS y, COUNT(*) FROM visits GROUP BY YEAR(day) HAVING COUNT(*) > 1 ORDER BY y",
        "SELECT 2024, 3",
    ),
    (
        "SELECT id FROM visits WHERE name LIKE CONCAT('%', 'an', '%') ORDER BY id",
        "SELECT id FROM visits WHERE id IN (1, 4, 5)",
    ),
)


@pytest.mark.parametrize(
    ("sql", "by_hand"),
    [(f"SELECT id, {a} FROM visits ORDER BY id", f"SELECT id, {b} FROM visits ORDER BY id") for a, b in OF_OTHERS]
    + list(QUERIES_OF_OTHERS),
)
def test_what_other_databases_have_means_the_same_on_sqlite(sql: str, by_hand: str, light: Database) -> None:
    made, notes = translated(sql, "sqlite")
    assert agree(run(light, by_hand), run(light, made)), made
    assert notes or "IF(" in sql or "STRING" in sql, made


# The same on PostgreSQL; every one of these PostgreSQL refuses as it is.
ON_POSTGRES: tuple[tuple[str, str], ...] = (
    ("YEAR(day)", "EXTRACT(YEAR FROM day)"),
    ("QUARTER(day) * 10", "EXTRACT(QUARTER FROM day) * 10"),
    ("DATE_FORMAT(day, '%Y-%m')", "SUBSTRING(CAST(day AS TEXT), 1, 7)"),
    ("DATE_FORMAT(day, '%M %Y')", "TO_CHAR(day, 'FMMonth YYYY')"),
    ("DATEDIFF(day, '2024-01-01')", "day - DATE '2024-01-01'"),
    ("DATEDIFF(day, '2024-01-01', day)", "day - DATE '2024-01-01'"),
    (
        "DATEDIFF(month, day, '2024-01-15')",
        "(2024 - EXTRACT(YEAR FROM day)) * 12 + 1 - EXTRACT(MONTH FROM day)",
    ),
    ("TIMESTAMPDIFF(YEAR, day, '2024-02-28')", "EXTRACT(YEAR FROM AGE(DATE '2024-02-28', day))"),
    ("DATE_ADD(day, INTERVAL 1 MONTH)", "day + INTERVAL '1 month'"),
    ("DATEADD(month, -1, day)", "day - INTERVAL '1 month'"),
    ("DATE_SUB(day, INTERVAL n DAY)", "day - n * INTERVAL '1 day'"),
    ("'2024-01-31' + INTERVAL '1 month'", "DATE '2024-01-31' + INTERVAL '1 month'"),
    ("LAST_DAY(day)", "CAST(DATE_TRUNC('month', day) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"),
    ("NVL(nick, 'none')", "COALESCE(nick, 'none')"),
    ("ISNULL(nick)", "nick IS NULL"),
    ("LEN(name)", "LENGTH(name)"),
    ("CHARINDEX('n', name)", "STRPOS(name, 'n')"),
    ("CAST(n AS SIGNED)", "n"),
    ("IF(n > 3, 'many', 'few')", "CASE WHEN n > 3 THEN 'many' ELSE 'few' END"),
    ("CASE WHEN seen < GETDATE() AND day < CURDATE() THEN 1 END", "1"),
)


@pytest.mark.parametrize(("foreign", "by_hand"), ON_POSTGRES)
def test_what_other_databases_have_means_the_same_on_postgres(foreign: str, by_hand: str, heavy: Database) -> None:
    made, notes = translated(f"SELECT id, {foreign} FROM visits ORDER BY id", "postgres")
    assert notes or foreign.startswith("IF(")
    assert agree(run(heavy, f"SELECT id, {by_hand} FROM visits ORDER BY id"), run(heavy, made)), made


@pytest.mark.parametrize(
    ("sql", "by_hand"),
    [
        ("SELECT TOP 2 id FROM visits ORDER BY n DESC", "SELECT id FROM visits ORDER BY n DESC LIMIT 2"),
        ("SELECT `id` FROM `visits` ORDER BY `n` LIMIT 1, 2", "SELECT id FROM visits ORDER BY n LIMIT 2 OFFSET 1"),
        (
            "SELECT GROUP_CONCAT(name ORDER BY id SEPARATOR ' + ') FROM visits",
            "SELECT STRING_AGG(name, ' + ' ORDER BY id) FROM visits",
        ),
        ("SELECT GROUP_CONCAT(DISTINCT paid) FROM visits WHERE id > 5", "SELECT '100'"),
        ("SELECT COUNT(DISTINCT paid, n) FROM visits", "SELECT 5"),
    ],
)
def test_a_query_of_another_database_gives_the_same_rows_on_postgres(sql: str, by_hand: str, heavy: Database) -> None:
    made, notes = translated(sql, "postgres")
    assert notes
    assert agree(run(heavy, by_hand), run(heavy, made)), made


def test_the_notes_say_what_became_what() -> None:
    made, notes = translated("SELECT TOP 3 YEAR(OrderDate) FROM [Orders] WHERE ShipCity ILIKE 'b%'", "sqlite")
    assert made == "SELECT CAST(STRFTIME('%Y', OrderDate) AS INTEGER) FROM \"Orders\" WHERE ShipCity LIKE 'b%' LIMIT 3"
    assert notes == (
        "TOP became LIMIT",
        "names in brackets are now in double quotes",
        "YEAR(OrderDate) became CAST(STRFTIME('%Y', OrderDate) AS INTEGER)",
        "ShipCity ILIKE 'b%' became ShipCity LIKE 'b%'",
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT TOP 10 PERCENT id FROM visits",
        "SELECT TOP (2) WITH TIES id FROM visits ORDER BY n",
        "SELECT id FROM visits ORDER BY n FETCH FIRST 2 ROWS WITH TIES",
        "SELECT TO_CHAR(n, '999.99') FROM visits",
        "SELECT DATE_FORMAT(day, '%X-%V') FROM visits",
        "SELECT DATEDIFF(week, day, seen) FROM visits",
        "SELECT GROUP_CONCAT(DISTINCT name, ' + ') FROM visits",
        "SELECT DISTINCT ON (n) * FROM visits ORDER BY n",
        "SELECT n / 2 FROM visits",
        "SELECT MEDIAN(n) FROM visits",
        "UPDATE visits SET n = YEAR(day)",
        "SELECT 1; SELECT YEAR(day) FROM visits",
        "SELECT YEAR(day FROM visits",
        "not SQL at all `",
        "",
    ],
)
def test_what_has_no_sure_meaning_stays_as_it_is(sql: str) -> None:
    assert translated(sql, "sqlite") == (sql, ())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT STRING_AGG(name, '+' ORDER BY n), STRING_AGG(name, '+' ORDER BY id) FROM visits",
        "SELECT STRING_AGG(name, '+' ORDER BY n) FROM visits WHERE id IN (SELECT id FROM visits)",
        "SELECT STRING_AGG(name, '+' ORDER BY n) FROM visits v JOIN visits w USING (id)",
    ],
)
def test_an_order_in_a_list_that_cannot_be_kept_is_not_dropped(sql: str, light: Database) -> None:
    made, _ = translated(sql, "sqlite")
    assert "'+' ORDER BY n)" in made
    with pytest.raises((QueryFailed, QueryRejected)):
        run(light, made)


def golds() -> Iterator[str]:
    for path in (*(ROOT / "data" / "questions").glob("*.jsonl"), *(ROOT / "data" / "seeds").glob("*.jsonl")):
        if path.stem == "holdout":
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            yield from (entry[name] for name in ("sql", "check_sql") if entry.get(name))


@pytest.fixture(scope="module")
def northwind() -> Iterator[Database]:
    database = open_database(str(NORTHWIND))
    yield database
    database.close()


@pytest.fixture(scope="module")
def schema(northwind: Database) -> Schema:
    return northwind.schema


@pytest.fixture(scope="module")
def lexicon(northwind: Database) -> Lexicon:
    return Lexicon.build(northwind.schema, northwind.facts)


def test_a_query_that_runs_as_it_is_comes_back_byte_for_byte(schema: Schema, lexicon: Lexicon) -> None:
    seen = 0
    for sql in golds():
        assert translated(sql, "sqlite") == (sql, ()), sql
        try:
            check(sql, schema)
        except QueryRejected:
            continue
        seen += 1
        assert mend(sql, schema=schema, linked=(), lexicon=lexicon) == (sql, ()), sql
    assert seen > 900


# A column under the wrong alias, names of the same words, names without quotes, typos, texts in double quotes.
NAMED: tuple[tuple[str, str], ...] = (
    (
        "SELECT o.CompanyName FROM Orders o JOIN Customers c ON c.CustomerID = o.CustomerID WHERE o.OrderID = 10248",
        "SELECT c.CompanyName FROM Orders AS o JOIN Customers AS c ON c.CustomerID = o.CustomerID"
        " WHERE o.OrderID = 10248",
    ),
    ("SELECT SUM(Quantity) FROM OrderDetails", 'SELECT SUM(Quantity) FROM "Order Details"'),
    ("SELECT SUM(od.quantity) FROM order_detail od", 'SELECT SUM(od.quantity) FROM "Order Details" AS od'),
    ("SELECT SUM(Quantity) FROM Order Details", 'SELECT SUM(Quantity) FROM "Order Details"'),
    (
        "SELECT SUM(Order Details.Quantity) FROM Orders JOIN Order Details ON Order Details.OrderID = Orders.OrderID",
        'SELECT SUM("Order Details".Quantity) FROM Orders'
        ' JOIN "Order Details" ON "Order Details".OrderID = Orders.OrderID',
    ),
    (
        "SELECT OrderDetails.Quantity FROM OrderDetails WHERE OrderDetails.OrderID = 10248",
        'SELECT "Order Details".Quantity FROM "Order Details" WHERE "Order Details".OrderID = 10248',
    ),
    ("SELECT unit_price FROM Products", "SELECT UnitPrice FROM Products"),
    ("SELECT ProductNames FROM Product", "SELECT ProductName FROM Products"),
    ("SELECT p.unitsinstocks FROM products p", "SELECT p.UnitsInStock FROM products AS p"),
    ("SELECT Name FROM Products", "SELECT ProductName FROM Products"),
    (
        "SELECT Country, COUNT(*) FROM Orders GROUP BY Country",
        "SELECT ShipCountry, COUNT(*) FROM Orders GROUP BY ShipCountry",
    ),
    ("SELECT MAX(ShipDate) FROM Orders", "SELECT MAX(ShippedDate) FROM Orders"),
    ("SELECT AVG(Freigth) FROM Orders", "SELECT AVG(Freight) FROM Orders"),
    ('SELECT "UnitPric" FROM Products', "SELECT UnitPrice FROM Products"),
    ('SELECT ProductName FROM Products WHERE "UnitPric" > 50', "SELECT ProductName FROM Products WHERE UnitPrice > 50"),
    (
        'SELECT COUNT(*) FROM Customers WHERE Country = "Germany" AND NOT City IN ("Berlin", "Köln")',
        "SELECT COUNT(*) FROM Customers WHERE Country = 'Germany' AND NOT City IN ('Berlin', 'Köln')",
    ),
    (
        'SELECT COUNT(*) FROM Orders WHERE STRFTIME("%Y", OrderDate) = "1997"',
        "SELECT COUNT(*) FROM Orders WHERE STRFTIME('%Y', OrderDate) = '1997'",
    ),
    ('SELECT FirstName || " " || LastName FROM Employees', "SELECT FirstName || ' ' || LastName FROM Employees"),
    (
        "SELECT Orders.OrderID FROM Orders AS o WHERE Orders.Freight > 500",
        "SELECT o.OrderID FROM Orders AS o WHERE o.Freight > 500",
    ),
    ("SELECT o.OrderID FROM Orders", "SELECT Orders.OrderID FROM Orders"),
    ("SELECT Customers.CustomerID FROM Orders", "SELECT Orders.CustomerID FROM Orders"),
    (
        "SELECT COUNT(*) FROM Orders JOIN Shippers ON Shippers.ShipVia = Orders.ShipVia",
        "SELECT COUNT(*) FROM Orders JOIN Shippers ON Shippers.ShipperID = Orders.ShipVia",
    ),
    (
        "SELECT COUNT(*) FROM Orders JOIN Shippers ON Shippers.ShipperID = Orders.ShipperID",
        "SELECT COUNT(*) FROM Orders JOIN Shippers ON Shippers.ShipperID = Orders.ShipVia",
    ),
    (
        "SELECT EmployeeID, COUNT(*) FROM Orders JOIN Employees ON Employees.EmployeeID = Orders.EmployeeID"
        " GROUP BY EmployeeID",
        "SELECT Orders.EmployeeID, COUNT(*) FROM Orders JOIN Employees ON Employees.EmployeeID = Orders.EmployeeID"
        " GROUP BY Orders.EmployeeID",
    ),
    (
        "WITH Dear AS (SELECT ProductName, UnitPrice FROM Products) SELECT product_name FROM Dear",
        "WITH Dear AS (SELECT ProductName, UnitPrice FROM Products) SELECT ProductName FROM Dear",
    ),
    (
        "SELECT CompanyName FROM Customers c WHERE EXISTS (SELECT 1 FROM Order o WHERE o.customer_id = c.customer_id)",
        "SELECT CompanyName FROM Customers AS c"
        " WHERE EXISTS(SELECT 1 FROM Orders AS o WHERE o.CustomerID = c.CustomerID)",
    ),
)


@pytest.mark.parametrize(("sql", "right"), NAMED)
def test_a_name_that_can_mean_only_one_thing_is_put_right(sql: str, right: str, northwind: Database) -> None:
    with pytest.raises((QueryRejected, QueryFailed)):
        run(northwind, sql)
    made, notes = named(sql, schema=northwind.schema)
    assert made == right
    assert notes and all(" became " in note for note in notes)
    assert run(northwind, made).rows


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        ('SELECT Id FROM Visit WHERE Nicks = "Anni"', "SELECT Id FROM visits WHERE nick = 'Anni'"),
        ("SELECT v.id FROM visits WHERE v.Days > '2021'", "SELECT visits.id FROM visits WHERE visits.day > '2021'"),
    ],
)
def test_names_of_another_database_are_put_right_alike(sql: str, right: str, light: Database) -> None:
    made, _ = named(sql, schema=light.schema)
    assert made == right
    assert run(light, made).rows


@pytest.mark.parametrize(
    "sql",
    [
        # Two may be meant.
        'SELECT Unit_Prices FROM Products p JOIN "Order Details" d ON d.ProductID = p.ProductID',
        "SELECT o.Phone FROM Orders o, Customers c, Shippers s",
        "SELECT CustomerName FROM Customers",
        "SELECT T2.Country FROM Employees AS T1 JOIN Orders AS T2 ON T1.EmployeeID = T2.EmployeeID",
        # Not far enough from another name, or too far from any.
        "SELECT Ct FROM Customers",
        "SELECT Units FROM Products",
        "SELECT Revenue FROM Orders",
        "SELECT 1 FROM Bills",
        # A table that is not read; a self join that is not there.
        "SELECT OrderID FROM Orders WHERE Employees.FirstName = 'Nancy'",
        "SELECT FirstName FROM Employees WHERE ReportsTo.HireDate IS NOT NULL",
        "SELECT FirstName FROM Employees WHERE Manager.HireDate > Employees.HireDate",
        # A join would hold a column against itself.
        "SELECT COUNT(*) FROM Orders o JOIN Products p ON o.ProductID = p.ProductID",
        "SELECT COUNT(*) FROM Orders o JOIN Products p ON o.SupplierID = p.ProductID",
        "SELECT 1 FROM Orders o JOIN Customers c ON c.CustomerID = o.CustomerID WHERE o.Phone = c.Phone",
        # An alias of the select list is as near.
        "SELECT MAX(UnitPrice) AS Prices FROM Products GROUP BY CategoryID HAVING Price > 5",
        # No stored value, and nothing that it is held against.
        'SELECT "Germany" FROM Customers',
        'SELECT COUNT(*) FROM Orders WHERE ShipCity <> "HomeCity"',
        # Not a query, or none that can be read.
        "DELETE FROM Order_Details",
        "SELECT unit_price FROM Products; SELECT 1",
        "SELECT job title FROM Employees",
        "",
    ],
)
def test_a_name_that_may_mean_more_is_left_to_the_guard(sql: str, schema: Schema) -> None:
    assert named(sql, schema=schema) == (sql, ())
    with pytest.raises(QueryRejected):
        check(sql, schema)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CompanyName FROM Orders o JOIN Customers c ON c.CustomerID = o.CustomerID"
        " JOIN Shippers s ON s.ShipperID = o.ShipVia",
        "SELECT EmployeeID FROM Employees e LEFT JOIN Orders o ON o.EmployeeID = e.EmployeeID",
    ],
)
def test_a_bare_name_of_two_tables_is_left_where_the_two_may_differ(sql: str, schema: Schema) -> None:
    assert named(sql, schema=schema) == (sql, ())


def test_no_table_is_joined_for_a_name_that_the_query_nearly_has(schema: Schema, lexicon: Lexicon) -> None:
    sql = "SELECT T2.Country FROM Employees AS T1 JOIN Orders AS T2 ON T1.EmployeeID = T2.EmployeeID"
    assert named(sql, schema=schema, lexicon=lexicon) == (sql, ())


def test_of_two_tables_of_the_same_words_the_linked_one_is_meant(schema: Schema) -> None:
    orders = next(table for table in schema.tables if table.name == "Orders")
    twice = replace(schema, tables=(*schema.tables, replace(orders, name="order")))
    sql = "SELECT Freight FROM ORDERs_"
    assert named(sql, schema=twice) == (sql, ())
    assert named(sql, schema=twice, linked=("Orders",))[0] == "SELECT Freight FROM Orders"


def test_names_of_postgres_get_the_quotes_that_they_need(postgres_database: str) -> None:
    home = postgres_database.partition("host=")[2]
    name = postgres_database.partition("@/")[2].partition("?")[0]
    with psycopg.connect(host=home, user="hebbql", dbname=name, autocommit=True) as connection:
        connection.execute('CREATE TABLE "OrderLines" ("LineId" integer, "UnitPrice" numeric)')
        connection.execute('INSERT INTO "OrderLines" VALUES (1, 2.5)')
    database = open_database(postgres_database)
    try:
        made, _ = named("SELECT o.UnitPrice FROM OrderLines o WHERE LineId = 1", schema=database.schema)
        assert made == 'SELECT o."UnitPrice" FROM "OrderLines" AS o WHERE "LineId" = 1'
        assert run(database, made).rows == ((2.5,),)
    finally:
        database.close()


JOINED = (
    (
        "SELECT OrderID FROM Orders WHERE Employees.FirstName = 'Nancy'",
        "SELECT OrderID FROM Orders WHERE EmployeeID IN (SELECT EmployeeID FROM Employees WHERE FirstName = 'Nancy')",
        "joined Employees",
    ),
    (
        'SELECT Products.ProductName, SUM("Order Details".Quantity) FROM Products GROUP BY Products.ProductID',
        'SELECT p.ProductName, SUM(d.Quantity) FROM Products p JOIN "Order Details" d ON d.ProductID = p.ProductID'
        " GROUP BY p.ProductID",
        'joined "Order Details"',
    ),
    (
        "SELECT SUM(UnitPrice * Quantity) FROM Order Details WHERE OrderDate >= '1998-01-01'",
        'SELECT SUM(d.UnitPrice * d.Quantity) FROM "Order Details" d JOIN Orders o ON o.OrderID = d.OrderID'
        " WHERE o.OrderDate >= '1998-01-01'",
        "joined Orders",
    ),
    (
        "SELECT COUNT(*) FROM Orders JOIN Products ON Orders.ProductID = Products.ProductID"
        " WHERE Products.ProductName = 'Chai'",
        'SELECT COUNT(*) FROM "Order Details" d JOIN Products p ON p.ProductID = d.ProductID'
        " WHERE p.ProductName = 'Chai'",
        'joined "Order Details"',
    ),
)


@pytest.mark.parametrize(("sql", "by_hand", "note"), JOINED)
def test_a_table_that_a_column_lacks_is_joined_by_the_keys(
    sql: str, by_hand: str, note: str, northwind: Database, lexicon: Lexicon
) -> None:
    made, notes = mend(sql, schema=northwind.schema, linked=(), lexicon=lexicon)
    assert note in notes
    assert same(run(northwind, by_hand), run(northwind, made), ordered=False), made


def test_no_join_repeats_the_rows_of_a_list(schema: Schema, lexicon: Lexicon) -> None:
    sql = "SELECT CompanyName FROM Suppliers WHERE UnitPrice < 20"
    assert mend(sql, schema=schema, linked=(), lexicon=lexicon) == (sql, ())


def test_names_and_words_of_other_databases_are_mended_together(northwind: Database) -> None:
    sql = "SELECT TOP 2 YEAR(o.order_date) AS y, COUNT(*) FROM order o GROUP BY YEAR(o.order_date) ORDER BY y"
    made, notes = mend(sql, schema=northwind.schema, linked=())
    by_hand = (
        "SELECT CAST(strftime('%Y', OrderDate) AS INTEGER) AS y, COUNT(*) FROM Orders GROUP BY y ORDER BY y LIMIT 2"
    )
    assert agree(run(northwind, by_hand), run(northwind, made)), made
    assert "TOP became LIMIT" in notes and "o.order_date became o.OrderDate" in notes


def test_words_of_another_database_behind_an_unquoted_name_are_mended_too(northwind: Database) -> None:
    sql = "SELECT SUM(Quantity) / LEN('ab') FROM Orders o JOIN Order Details d ON d.OrderID = o.OrderID"
    made, _ = mend(sql, schema=northwind.schema, linked=())
    assert run(northwind, made).rows == run(northwind, 'SELECT SUM(Quantity) / 2 FROM "Order Details"').rows


def test_each_part_of_mending_can_be_left_out(schema: Schema) -> None:
    sql = "SELECT YEAR(order_date) FROM Orders"
    assert mend(sql, schema=schema, linked=(), dialect=False, names=False) == (sql, ())
    assert mend(sql, schema=schema, linked=(), dialect=False)[0] == "SELECT YEAR(OrderDate) FROM Orders"
    assert "order_date" in mend(sql, schema=schema, linked=(), names=False)[0]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT UnitPrices FROM Orders", 'Nearest: Products.UnitPrice, "Order Details".UnitPrice.'),
        ("SELECT Pric FROM Orders o JOIN Products p ON p.ProductID = o.OrderID", "Nearest: p.UnitPrice."),
        ("SELECT Country FROM Orders", "It is a column of Suppliers, Customers, Employees"),
        ("SELECT Employees.Title FROM Orders", "Employees is a table: join it."),
        ("SELECT Orders.Freight FROM Orders o", "Write o for it."),
        ("SELECT 1 FROM Zork", "Tables: Categories"),
    ],
)
def test_the_guard_names_the_nearest_real_names_with_their_tables(sql: str, words: str, schema: Schema) -> None:
    with pytest.raises(QueryRejected) as refused:
        check(sql, schema)
    assert words in refused.value.reason
    nearest = refused.value.reason.partition("Nearest: ")[2].partition(". ")[0]
    assert nearest.count(", ") < 5


@given(st.text(max_size=60), st.sampled_from(["SELECT {} FROM Orders", "SELECT 1 FROM {}", "{}", "SELECT YEAR({})"]))
@settings(max_examples=150, deadline=None)
def test_nothing_that_is_written_makes_mending_fail(schema: Schema, text: str, frame: str) -> None:
    sql = frame.format(text)
    made, notes = mend(sql, schema=schema, linked=())
    assert notes or made == sql


@given(st.sampled_from(sorted(set(golds()))), st.data())
@settings(max_examples=150, deadline=None)
def test_a_query_that_lost_a_letter_is_mended_or_refused_but_nothing_fails(
    schema: Schema, sql: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(sql) - 1))
    broken = sql[:place] + sql[place + 1 :]
    made, notes = mend(broken, schema=schema, linked=())
    assert notes or made == broken


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("OrderDetails", "Order Details", True),
        ("order_detail", "OrderDetails", True),
        ("categories", "Category", True),
        ("unitprice", "UnitPrice", True),
        ("UnitPrice", "Price", False),
        ("Line1", "Line2", False),
        ("번호", "번호", True),
        ("", "", False),
    ],
)
def test_names_are_the_same_words_whatever_their_case_spaces_and_number(a: str, b: str, alike: bool) -> None:
    assert same_words(a, b) is alike


@pytest.mark.parametrize(
    ("a", "b", "typo"),
    [
        ("Freigth", "Freight", True),
        ("Freigt", "Freight", True),
        ("Quantitty", "Quantity", True),
        ("Address1", "Address2", False),
        ("City", "Ctiy", False),
        ("supplier", "SupplierID", False),
    ],
)
def test_a_typo_is_one_letter_or_two_of_a_long_name(a: str, b: str, typo: bool) -> None:
    assert is_typo(a, b) is typo
