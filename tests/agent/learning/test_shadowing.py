"""Rewritten queries, on SQLite and on a PostgreSQL whose role may only read: right stays right, luck shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.learning.judging import Judge
from agent.learning.mutating import mutated
from agent.learning.questions import Pair

ROOT = Path(__file__).resolve().parents[3]
NORTHWIND = ROOT / "data" / "northwind.sqlite"


def _refuse(path: Path) -> Database:
    raise AssertionError(f"nothing may be copied to {path}")


@pytest.fixture
def shadowed(tmp_path: Path) -> Iterator[Judge]:
    """Northwind as if it were too large to copy."""
    database = open_database(str(NORTHWIND))
    with mutated(database, file=NORTHWIND, folder=tmp_path, open_copy=_refuse, largest=1_000) as copies:
        yield Judge(run=lambda sql: database.run(check(sql, database.schema).sql), copies=copies)
    database.close()
    assert list(tmp_path.iterdir()) == []


def pair(sql: str, *others: str) -> Pair:
    return Pair("1", "?", sql, others, False, "", "", "", 1)


def test_a_large_file_is_not_copied_and_luck_still_shows(shadowed: Judge) -> None:
    for right, lucky in (
        ("SELECT COUNT(*) FROM Customers", "SELECT 91"),
        ("SELECT COUNT(*) FROM Orders WHERE ShipCountry = 'Germany'", "SELECT 122"),
        ("SELECT MAX(OrderDate) FROM Orders", "SELECT '1998-05-06'"),
        (
            "SELECT ProductName FROM Products WHERE UnitPrice > 50",
            "SELECT ProductName FROM Products WHERE UnitPrice >= 50",
        ),
        ("SELECT SUM(UnitPrice) FROM Products", "SELECT 2222.71"),
        (
            "SELECT COUNT(ShippedDate) FROM Orders WHERE OrderDate < '1997-01-01'",
            "SELECT COUNT(*) FROM Orders WHERE OrderDate < '1997-01-01'",
        ),
    ):
        verdict = shadowed.judge(pair(right), lucky, shadowed.run(lucky))
        assert verdict.error == "lucky", (lucky, verdict)
        assert shadowed.judge(pair(right), right, shadowed.run(right)).right, right


@pytest.mark.parametrize(
    ("sql", "other"),
    [
        # A WITH clause by the name of a table hides it, and only where it is in scope.
        (
            "WITH Orders AS (SELECT OrderID FROM main.Orders WHERE ShipVia = 1) SELECT COUNT(*) FROM Orders",
            "SELECT COUNT(*) FROM Orders WHERE ShipVia = 1",
        ),
        (
            "SELECT (WITH Orders AS (SELECT 1 AS x) SELECT COUNT(*) FROM Orders), COUNT(*) FROM Orders",
            "SELECT 1, COUNT(OrderID) FROM Orders",
        ),
        # Self joins, qualified names, subqueries, unions, USING, a recursive WITH.
        (
            "SELECT a.LastName, b.LastName FROM Employees a JOIN Employees b ON a.ReportsTo = b.EmployeeID",
            "SELECT Employees.LastName, (SELECT e.LastName FROM main.Employees e WHERE e.EmployeeID = "
            "Employees.ReportsTo) FROM Employees WHERE main.Employees.ReportsTo IS NOT NULL",
        ),
        (
            "SELECT City FROM Customers UNION SELECT City FROM Suppliers",
            "SELECT DISTINCT City FROM (SELECT City FROM Customers UNION ALL SELECT City FROM Suppliers)",
        ),
        (
            'SELECT COUNT(DISTINCT OrderID) FROM Orders JOIN "Order Details" USING (OrderID)',
            'SELECT COUNT(*) FROM Orders WHERE OrderID IN (SELECT OrderID FROM "Order Details")',
        ),
        (
            "WITH RECURSIVE up(id) AS (SELECT EmployeeID FROM Employees WHERE ReportsTo IS NULL UNION "
            "SELECT e.EmployeeID FROM Employees e JOIN up ON e.ReportsTo = up.id) SELECT COUNT(*) FROM up",
            "SELECT COUNT(*) FROM Employees",
        ),
    ],
)
def test_a_rewritten_query_means_what_it_meant(sql: str, other: str, shadowed: Judge) -> None:
    verdict = shadowed.confirm(pair(sql, other))
    assert verdict.right, verdict.reason
    assert len({run(sql).rows for run in (shadowed.run, *shadowed.copies)}) > 1


def test_rewritten_queries_give_the_same_at_every_run_and_keep_references(shadowed: Judge) -> None:
    dangling = "SELECT COUNT(*) FROM {0} WHERE {1} IS NOT NULL AND {1} NOT IN (SELECT {2} FROM {3})"
    for run in shadowed.copies:
        assert run("SELECT * FROM Customers").rows == run("SELECT * FROM Customers").rows
        for names in (
            ('"Order Details"', "OrderID", "OrderID", "Orders"),
            ('"Order Details"', "ProductID", "ProductID", "Products"),
            ("Orders", "CustomerID", "CustomerID", "Customers"),
            ("Orders", "EmployeeID", "EmployeeID", "Employees"),
            ("Orders", "OrderID", "OrderID", '"Order Details"'),
            ("EmployeeTerritories", "TerritoryID", "TerritoryID", "Territories"),
        ):
            assert run(dangling.format(*names)).rows == ((0,),), names
        for table, key in (("Employees", "EmployeeID"), ("Orders", "OrderID"), ("Customers", "CustomerID")):
            assert run(f"SELECT COUNT(*) - COUNT(DISTINCT {key}) FROM {table}").rows == ((0,),)


# PostgreSQL, with a role that may only read


@pytest.fixture(scope="module")
def shop(postgres_url: str) -> Iterator[Database]:
    home = postgres_url.partition("host=")[2]
    schema = (ROOT / "tests" / "agent" / "database" / "guard" / "schema_postgres.sql").read_text(encoding="utf-8")
    more = """
        CREATE VIEW named AS SELECT c.name, o.amount FROM customers c JOIN sales.orders o ON o.customer_id = c.id;
        INSERT INTO customers (name, country, mood, vip)
            SELECT 'Guest ' || n || ' of ' || md5(n::text), (ARRAY['Peru', 'Germany', 'Chad'])[1 + n % 3], 'sad',
                n % 5 = 0
            FROM generate_series(1, 60) AS n;
        INSERT INTO sales.orders (id, customer_id, ordered_at, day, amount)
            SELECT 100 + n, 1 + n % 63, timestamp '1997-01-01' + n * interval '30 hours', date '1997-01-01' + n,
                5 + n % 97
            FROM generate_series(1, 300) AS n;
        INSERT INTO sales."Order Details"
            SELECT 101 + n % 300, n / 300, 1.5 * (n % 40) FROM generate_series(0, 899) AS n;
    """
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE judged")
        admin.execute("CREATE ROLE judged_reader LOGIN")
    with psycopg.connect(host=home, user="hebbql", dbname="judged", autocommit=True) as connection:
        connection.execute((schema + more).encode())
        connection.execute("GRANT USAGE ON SCHEMA sales, hr TO judged_reader")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public, sales, hr TO judged_reader")
    url = postgres_url.replace("/postgres?", "/judged?").replace("hebbql@", "judged_reader@")
    database = open_database(url)
    yield database
    database.close()
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE judged WITH (FORCE)")
        admin.execute("DROP ROLE judged_reader")


@pytest.fixture(scope="module")
def shop_judge(shop: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    folder = tmp_path_factory.mktemp("none")
    with mutated(shop, file=None, folder=folder, open_copy=_refuse) as copies:
        yield Judge(run=lambda sql: shop.run(check(sql, shop.schema).sql), copies=copies, dialect="postgres")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("sql", "other"),
    [
        ("SELECT count(*) FROM customers", "SELECT sum(1) FROM public.customers"),
        ("SELECT c.name, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id",
         "SELECT name, (SELECT count(*) FROM sales.orders o WHERE o.customer_id = customers.id) FROM customers "
         "WHERE id IN (SELECT customer_id FROM orders)"),
        ("SELECT id, name, country, mood, tags, vip FROM customers WHERE vip",
         "SELECT id, name, country, mood, tags, vip FROM customers WHERE NOT vip IS FALSE AND NOT vip IS NULL"),
        ("SELECT to_char(day, 'YYYY-MM'), sum(amount) FROM orders WHERE day IS NOT NULL GROUP BY 1",
         "SELECT to_char(date_trunc('month', day), 'YYYY-MM'), sum(amount) FROM orders GROUP BY 1 "
         "HAVING count(day) > 0"),
        ("SELECT sales.orders.id, total FROM sales.orders WHERE sales.orders.amount > 50",
         "SELECT o.id, o.total FROM orders AS o WHERE NOT o.amount <= 50"),
        ("SELECT name, amount FROM named",
         "SELECT c.name, o.amount FROM customers c, orders o WHERE o.customer_id = c.id"),
        ('SELECT "Unit Price" FROM "Order Details" WHERE line = 1',
         'SELECT d."Unit Price" FROM sales."Order Details" d JOIN orders ON orders.id = d.order_id WHERE d.line = 1'),
        ("WITH RECURSIVE orders AS (SELECT 1 AS n UNION SELECT n + 1 FROM orders "
         "WHERE n < (SELECT count(*) FROM sales.orders)) SELECT count(*) FROM orders", "SELECT count(*) FROM orders"),
        ("SELECT amount FROM orders ORDER BY id DESC LIMIT 5",
         "SELECT amount FROM orders c WHERE (SELECT count(*) FROM orders d WHERE d.id > c.id) < 5"),
    ],
)  # fmt: skip
def test_on_postgresql_right_answers_stay_right(sql: str, other: str, shop_judge: Judge) -> None:
    verdict = shop_judge.confirm(pair(sql, other))
    assert verdict.right, verdict.reason
    assert len({run(sql).rows for run in (shop_judge.run, *shop_judge.copies)}) > 1


@pytest.mark.parametrize(
    ("sql", "lucky"),
    [
        ("SELECT count(*) FROM customers", "SELECT 63"),
        ("SELECT max(amount) FROM orders", "SELECT 101"),
        ("SELECT max(day) FROM orders", "SELECT date '1998-05-06'"),
        (
            "SELECT count(*) FROM customers WHERE vip",
            "SELECT count(*) FROM customers WHERE id % 5 = 3 AND id > 3 OR id = 1",
        ),
        ("SELECT count(*) FROM orders WHERE id > 100", "SELECT count(*) FROM orders WHERE note IS NULL AND id > 100"),
        (
            "SELECT DISTINCT customer_id FROM orders WHERE id BETWEEN 101 AND 160",
            "SELECT customer_id FROM orders WHERE id BETWEEN 101 AND 160",
        ),
        ("SELECT count(*) FROM orders WHERE customer_id = 5", "SELECT 5"),
    ],
)
def test_on_postgresql_luck_is_caught(sql: str, lucky: str, shop_judge: Judge) -> None:
    assert shop_judge.judge(pair(sql), sql, shop_judge.run(sql)).right
    verdict = shop_judge.judge(pair(sql), lucky, shop_judge.run(lucky))
    assert verdict.error == "lucky", verdict


def test_on_postgresql_a_ring_a_parent_without_key_and_endless_dates_are_read(
    postgres_url: str, tmp_path: Path
) -> None:
    home = postgres_url.partition("host=")[2]
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE ringed")
        admin.execute("CREATE ROLE ringed_reader LOGIN")
    with psycopg.connect(host=home, user="hebbql", dbname="ringed", autocommit=True) as connection:
        connection.execute("""
            CREATE TABLE a (id integer PRIMARY KEY, b integer);
            CREATE TABLE b (id integer PRIMARY KEY, a integer REFERENCES a);
            ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b;
            CREATE TABLE p (code text UNIQUE, what text);
            CREATE TABLE c (n integer, p text REFERENCES p (code), since date, until date);
            INSERT INTO a SELECT n FROM generate_series(1, 30) AS n;
            INSERT INTO b SELECT n, n FROM generate_series(1, 30) AS n;
            UPDATE a SET b = id;
            INSERT INTO p SELECT 'K' || n, 'w' || n % 3 FROM generate_series(1, 40) AS n;
            INSERT INTO c SELECT n, 'K' || n, date '2019-04-01' + n % 20, '9999-12-31' FROM generate_series(1, 40) AS n;
            GRANT SELECT ON ALL TABLES IN SCHEMA public TO ringed_reader;
        """)
    database = open_database(postgres_url.replace("/postgres?", "/ringed?").replace("hebbql@", "ringed_reader@"))
    told: list[str] = []
    with mutated(database, file=None, folder=tmp_path, open_copy=_refuse, say=told.append) as copies:
        assert (told, len(copies)) == ([], 3)
        for run in copies:
            assert run("SELECT count(*) FROM a JOIN b ON b.a = a.id").rows == ((30,),)
            assert run("SELECT count(*) FROM c LEFT JOIN p ON p.code = c.p WHERE p.code IS NULL").rows == ((0,),)
            assert run("SELECT DISTINCT CAST(until AS text) FROM c").rows == (("9999-12-31",),)
        assert len({run("SELECT count(*), sum(n) FROM c").rows for run in (database.run, *copies)}) > 1
    database.close()
    with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE ringed WITH (FORCE)")
        admin.execute("DROP ROLE ringed_reader")
