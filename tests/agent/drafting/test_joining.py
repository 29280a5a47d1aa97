"""Queries without their joins, and joined again: nothing is lost on the way, and other tables are joined rightly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from sqlglot import exp

from agent.database.comparing import same
from agent.database.dialects import dialect
from agent.database.guard import check, parse_query
from agent.database.naming import fold
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.database.skeleton import normalise
from agent.drafting.joining import CORRELATED, Unjoined, joined, unjoined
from agent.grounding import Lexicon
from agent.learning.remaking import remake

HOME = Path(__file__).resolve().parents[3]
FILES = ("data/seeds/northwind.jsonl", "data/questions/training.jsonl", "data/questions/development.jsonl")
QUESTIONS = [json.loads(line) for name in FILES for line in (HOME / name).read_text(encoding="utf-8").splitlines()]
QUERIES = {(one["id"], "sql"): one["sql"] for one in QUESTIONS} | {
    (one["id"], "check_sql"): one["check_sql"] for one in QUESTIONS if one["id"].startswith("dev-")
}
GOLD = [one["sql"] for one in QUESTIONS]


def read_northwind() -> Lexicon:
    with closing(open_database(str(HOME / "data/northwind.sqlite"))) as database:
        return Lexicon(database.schema, database.facts, ())


NORTHWIND = read_northwind()


def loose(sql: str, lexicon: Lexicon = NORTHWIND) -> Unjoined:
    made = unjoined(parse_query(sql, lexicon.schema.dialect), lexicon=lexicon)
    assert made is not None
    return made


def text(tree: exp.Expr | None, lexicon: Lexicon = NORTHWIND) -> str | None:
    return tree.sql(dialect(lexicon.schema.dialect)) if tree is not None else None


def there_and_back(sql: str, lexicon: Lexicon = NORTHWIND) -> str | None:
    return text(joined(loose(sql, lexicon).tree, lexicon=lexicon), lexicon)


def completed(sql: str, lexicon: Lexicon = NORTHWIND) -> str | None:
    return text(joined(parse_query(sql, lexicon.schema.dialect), lexicon=lexicon), lexicon)


def renamed(tree: exp.Expr, tables: dict[str, str], columns: dict[tuple[str, str], str]) -> exp.Expr:
    """Put other tables and columns into a loose tree, as adapting does."""
    tree = tree.copy()
    for column in tree.find_all(exp.Column):
        new = columns.get((column.table, column.name))
        if new is not None:
            column.set("this", exp.to_identifier(new, quoted=" " in new))
        if column.table in tables:
            column.set("table", exp.to_identifier(tables[column.table], quoted=" " in tables[column.table]))
    for table in tree.find_all(exp.Table):
        if table.name in tables:
            table.set("this", exp.to_identifier(tables[table.name], quoted=" " in tables[table.name]))
    return tree


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Database]]:
    """Northwind and a copy of it whose rows are others."""
    folder = tmp_path_factory.mktemp("joining")
    source = HOME / "data/northwind.sqlite"
    with ExitStack() as opened:
        files = [source, folder / "copy.sqlite"]
        remake(source, files[1], NORTHWIND.schema, number=1, seed=7)
        made = [open_database(str(file)) for file in files]
        for database in made:
            opened.callback(database.close)
        yield made


def run(database: Database, sql: str) -> Result:
    return database.run(check(sql, database.schema).sql)


def test_every_known_query_gives_the_same_rows_after_it_was_taken_apart(databases: list[Database]) -> None:
    changed = []
    for (name, kind), sql in QUERIES.items():
        again = there_and_back(sql)
        assert again is not None, name
        if again == normalise(sql, "sqlite"):
            continue
        allowed = check(again, NORTHWIND.schema).sql
        for database in databases if kind == "sql" else databases[:1]:
            if not same(database.run(sql), database.run(allowed), ordered=True):
                changed.append((name, kind, again))
    assert changed == []


def test_few_known_queries_cannot_be_taken_apart() -> None:
    rigid = [one["id"] for one in QUESTIONS if loose(one["sql"]).rigid]
    assert len(rigid) < 0.05 * len(QUESTIONS), rigid


def test_what_was_taken_apart_and_joined_is_taken_apart_alike() -> None:
    for sql in GOLD:
        first = loose(sql)
        again = joined(first.tree, lexicon=NORTHWIND)
        assert again is not None
        second = unjoined(again, lexicon=NORTHWIND)
        assert second is not None and text(second.tree) == text(first.tree)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT c.CompanyName, COUNT(*) FROM Orders o JOIN customers c ON c.CustomerID = o.CustomerID GROUP BY 1",
            "SELECT Customers.CompanyName, COUNT(*) FROM Orders, Customers GROUP BY 1",
        ),
        (
            'SELECT SUM(d.Quantity) FROM "order details" d JOIN Orders o USING (OrderID) '
            "JOIN Customers USING (CustomerID) WHERE Country = 'Spain'",
            'SELECT SUM("Order Details".Quantity) FROM "Order Details", Customers WHERE Customers.Country = \'Spain\'',
        ),
        (
            "SELECT CompanyName FROM Customers c, Orders o WHERE c.CustomerID = o.CustomerID AND o.Freight > 5",
            "SELECT Customers.CompanyName FROM Customers, Orders WHERE Orders.Freight > 5",
        ),
        (
            "SELECT DISTINCT CompanyName FROM Customers JOIN Orders ON Orders.CustomerID = Customers.CustomerID",
            "SELECT DISTINCT Customers.CompanyName FROM Customers, Orders",
        ),
        (
            "SELECT c.CompanyName, SUM(o.Freight) AS Freight FROM Orders o JOIN Customers c "
            "ON o.CustomerID = c.CustomerID GROUP BY c.CustomerID ORDER BY Freight",
            "SELECT Customers.CompanyName, SUM(Orders.Freight) AS Freight FROM Orders, Customers "
            "GROUP BY Customers.CustomerID ORDER BY Freight",
        ),
        (
            "SELECT c.CompanyName, COUNT(o.OrderID) FROM Customers c LEFT JOIN Orders o "
            "ON o.CustomerID = c.CustomerID AND o.OrderDate >= '1998-01-01' GROUP BY c.CustomerID",
            "SELECT Customers.CompanyName, COUNT(Orders.OrderID) FROM Customers "
            "LEFT JOIN Orders ON Orders.OrderDate >= '1998-01-01' GROUP BY Customers.CustomerID",
        ),
        (
            "SELECT CompanyName FROM Customers c WHERE NOT EXISTS (SELECT 1 FROM Orders o "
            'JOIN "Order Details" d ON d.OrderID = o.OrderID WHERE o.CustomerID = c.CustomerID AND d.Discount > 0)',
            "SELECT Customers.CompanyName FROM Customers WHERE NOT EXISTS(SELECT 1 "
            'FROM "Order Details" WHERE CORRELATED(Customers) AND "Order Details".Discount > 0)',
        ),
        (
            "SELECT COUNT(*) FROM Customers c JOIN Orders o ON o.CustomerID = c.CustomerID "
            "JOIN Shippers s ON s.ShipperID = o.ShipVia WHERE c.Country = 'UK' AND s.CompanyName = 'United Package'",
            "SELECT COUNT(*) FROM Customers, Orders, Shippers "
            "WHERE Customers.Country = 'UK' AND Shippers.CompanyName = 'United Package'",
        ),
        (
            "WITH P AS (SELECT CategoryID AS k, AVG(UnitPrice) AS a FROM Products GROUP BY 1) "
            "SELECT CategoryName, a FROM P JOIN Categories c ON c.CategoryID = P.k",
            "WITH P AS (SELECT Products.CategoryID AS k, AVG(Products.UnitPrice) AS a FROM Products GROUP BY 1) "
            "SELECT Categories.CategoryName, P.a FROM P JOIN Categories ON Categories.CategoryID = P.k",
        ),
    ],
)
def test_the_loose_form_lists_the_tables_that_mean_something(sql: str, expected: str) -> None:
    made = loose(sql)
    assert text(made.tree) == expected
    assert not made.rigid


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.City FROM Customers a JOIN Customers b ON b.City = a.City AND b.CustomerID > a.CustomerID",
        "SELECT Customers.CompanyName FROM Customers JOIN Suppliers ON Suppliers.City = Customers.City",
        "SELECT COUNT(*) FROM Customers CROSS JOIN Shippers",
        "SELECT COUNT(*) FROM Customers, Shippers",
        "SELECT * FROM Orders JOIN Customers ON Customers.CustomerID = Orders.CustomerID",
        "SELECT COUNT(*) FROM Orders NATURAL JOIN Customers",
        "SELECT COUNT(*) FROM Orders o RIGHT JOIN Customers c ON c.CustomerID = o.CustomerID",
        "SELECT COUNT(*) FROM Customers c LEFT JOIN Orders o ON o.CustomerID = c.CustomerID "
        "JOIN Shippers s ON s.ShipperID = o.ShipVia",
        "SELECT o.OrderID FROM Orders o WHERE o.Freight > (SELECT AVG(i.Freight) FROM Orders i "
        "WHERE i.CustomerID = o.CustomerID)",
        "SELECT COUNT(*) FROM Orders JOIN EmployeeTerritories ON EmployeeTerritories.EmployeeID = Orders.EmployeeID",
        "WITH Orders AS (SELECT 1 AS x) SELECT c.City, Orders.x FROM Orders, Customers c "
        "JOIN main.Orders o ON o.CustomerID = c.CustomerID",
    ],
)
def test_joins_that_no_key_makes_stay_as_they_are(sql: str, databases: list[Database]) -> None:
    assert loose(sql).rigid
    again = there_and_back(sql)
    assert again is not None
    assert same(run(databases[0], sql), run(databases[0], again), ordered=False)


def test_a_name_that_no_table_has_cannot_be_told() -> None:
    for sql in (
        "SELECT Colour FROM Customers",
        "SELECT x.City FROM Customers",
        "SELECT City FROM Customers, Suppliers",
        'SELECT "spain" FROM Customers',
        "SELECT 1 FROM Nowhere WHERE a = 1",
    ):
        assert unjoined(parse_query(sql, "sqlite"), lexicon=NORTHWIND) is None, sql


def test_the_given_tree_is_not_changed() -> None:
    sql = normalise("SELECT c.City FROM Orders o JOIN Customers c ON c.CustomerID = o.CustomerID", "sqlite")
    tree = parse_query(sql, "sqlite")
    made = unjoined(tree, lexicon=NORTHWIND)
    assert made is not None and text(tree) == sql
    before = text(made.tree)
    joined(made.tree, lexicon=NORTHWIND)
    assert text(made.tree) == before


# Other tables


SUPPLIERS = {"Customers": "Suppliers"}
SUPPLIER_ID = {("Customers", "CustomerID"): "SupplierID"}


def test_other_tables_are_joined_over_their_own_keys() -> None:
    made = loose(
        "SELECT c.CompanyName, COUNT(*) FROM Orders o JOIN Customers c ON c.CustomerID = o.CustomerID "
        "GROUP BY c.CustomerID"
    )
    again = joined(renamed(made.tree, {"Orders": "Products", **SUPPLIERS}, SUPPLIER_ID), lexicon=NORTHWIND)
    assert text(again) == (
        "SELECT Suppliers.CompanyName, COUNT(*) FROM Products JOIN Suppliers "
        "ON Suppliers.SupplierID = Products.SupplierID GROUP BY Suppliers.SupplierID"
    )


def test_tables_between_the_new_ones_come_in() -> None:
    made = loose("SELECT DISTINCT CompanyName FROM Customers c JOIN Orders o ON o.CustomerID = c.CustomerID")
    assert text(joined(renamed(made.tree, SUPPLIERS, {}), lexicon=NORTHWIND)) == (
        "SELECT DISTINCT Suppliers.CompanyName FROM Suppliers "
        "JOIN Products ON Products.SupplierID = Suppliers.SupplierID "
        'JOIN "Order Details" ON "Order Details".ProductID = Products.ProductID '
        'JOIN Orders ON Orders.OrderID = "Order Details".OrderID'
    )


def test_a_column_of_another_table_brings_it_in() -> None:
    made = loose("SELECT COUNT(*) FROM Orders WHERE ShipCountry = 'Spain'").tree
    column = made.find(exp.Column)
    assert column is not None
    column.replace(exp.column("Country", table="Customers"))
    assert text(joined(made, lexicon=NORTHWIND)) == (
        "SELECT COUNT(*) FROM Orders JOIN Customers ON Customers.CustomerID = Orders.CustomerID "
        "WHERE Customers.Country = 'Spain'"
    )


def test_a_left_join_keeps_the_rows_without_a_match(databases: list[Database]) -> None:
    made = loose(
        "SELECT c.CompanyName, COUNT(o.OrderID) FROM Customers c LEFT JOIN Orders o ON o.CustomerID = c.CustomerID "
        "GROUP BY c.CustomerID HAVING COUNT(o.OrderID) = 0"
    )
    again = text(joined(made.tree, lexicon=NORTHWIND))
    assert again is not None and len(run(databases[0], again).rows) == 2
    other = renamed(
        made.tree,
        {"Customers": "Territories", "Orders": "Employees"},
        {("Customers", "CompanyName"): "TerritoryDescription", ("Customers", "CustomerID"): "TerritoryID"}
        | {("Orders", "OrderID"): "EmployeeID"},
    )
    assert text(joined(other, lexicon=NORTHWIND)) == (
        "SELECT Territories.TerritoryDescription, COUNT(Employees.EmployeeID) FROM Territories "
        "LEFT JOIN EmployeeTerritories ON EmployeeTerritories.TerritoryID = Territories.TerritoryID "
        "LEFT JOIN Employees ON Employees.EmployeeID = EmployeeTerritories.EmployeeID "
        "GROUP BY Territories.TerritoryID HAVING COUNT(Employees.EmployeeID) = 0"
    )


def test_a_subquery_is_tied_to_another_table_around_it() -> None:
    made = loose(
        "SELECT CompanyName FROM Customers c WHERE NOT EXISTS (SELECT 1 FROM Orders o "
        "WHERE o.CustomerID = c.CustomerID AND o.OrderDate >= '1998-01-01')"
    )
    assert [text(one) for one in made.tree.find_all(exp.Anonymous)] == [f"{CORRELATED}(Customers)"]
    assert text(joined(renamed(made.tree, SUPPLIERS, {}), lexicon=NORTHWIND)) == (
        "SELECT Suppliers.CompanyName FROM Suppliers WHERE NOT EXISTS(SELECT 1 FROM Orders "
        'JOIN "Order Details" ON "Order Details".OrderID = Orders.OrderID '
        'JOIN Products ON Products.ProductID = "Order Details".ProductID '
        "WHERE Products.SupplierID = Suppliers.SupplierID AND Orders.OrderDate >= '1998-01-01')"
    )
    inside = renamed(made.tree, {"Orders": "Order Details"}, {("Orders", "OrderDate"): "Discount"})
    assert text(joined(inside, lexicon=NORTHWIND)) == (
        'SELECT Customers.CompanyName FROM Customers WHERE NOT EXISTS(SELECT 1 FROM "Order Details" '
        'JOIN Orders ON Orders.OrderID = "Order Details".OrderID '
        "WHERE Orders.CustomerID = Customers.CustomerID AND \"Order Details\".Discount >= '1998-01-01')"
    )


def test_two_anchors_that_become_one_are_one() -> None:
    made = loose(
        "SELECT o.OrderID, c.City FROM Orders o JOIN Customers c ON c.CustomerID = o.CustomerID WHERE c.Country = 'UK'"
    )
    columns = {("Customers", "City"): "ShipCity", ("Customers", "Country"): "ShipCountry"}
    assert text(joined(renamed(made.tree, {"Customers": "Orders"}, columns), lexicon=NORTHWIND)) == (
        "SELECT Orders.OrderID, Orders.ShipCity FROM Orders WHERE Orders.ShipCountry = 'UK'"
    )


# Queries written without FROM


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT Customers.City", "SELECT Customers.City FROM Customers"),
        ("SELECT 1", "SELECT 1"),
        ("SELECT customers.city", "SELECT Customers.City FROM Customers"),
        (
            "SELECT Customers.City, SUM(\"Order Details\".Quantity) WHERE Country = 'UK' GROUP BY Customers.City",
            'SELECT Customers.City, SUM("Order Details".Quantity) FROM Customers '
            "JOIN Orders ON Orders.CustomerID = Customers.CustomerID "
            'JOIN "Order Details" ON "Order Details".OrderID = Orders.OrderID '
            "WHERE Customers.Country = 'UK' GROUP BY Customers.City",
        ),
        (
            "SELECT Employees.LastName, COUNT(Orders.*) AS n GROUP BY Employees.EmployeeID ORDER BY n DESC",
            "SELECT Employees.LastName, COUNT(*) AS n FROM Employees "
            "JOIN Orders ON Orders.EmployeeID = Employees.EmployeeID GROUP BY Employees.EmployeeID ORDER BY n DESC",
        ),
        (
            "SELECT Products.ProductName WHERE Products.UnitPrice > (SELECT AVG(Products.UnitPrice))",
            "SELECT Products.ProductName FROM Products "
            "WHERE Products.UnitPrice > (SELECT AVG(Products.UnitPrice) FROM Products)",
        ),
        (
            "SELECT Customers.City WHERE NOT EXISTS (SELECT 1 WHERE Orders.CustomerID = Customers.CustomerID)",
            "SELECT Customers.City FROM Customers "
            "WHERE NOT EXISTS(SELECT 1 FROM Orders WHERE Orders.CustomerID = Customers.CustomerID)",
        ),
        (
            "SELECT Customers.City UNION SELECT Suppliers.City ORDER BY City",
            "SELECT Customers.City FROM Customers UNION SELECT Suppliers.City FROM Suppliers ORDER BY City",
        ),
        (
            "SELECT UnitPrice, ProductName",
            "SELECT Products.UnitPrice, Products.ProductName FROM Products",
        ),
        (
            "WITH r AS (SELECT Customers.City AS c, COUNT(Orders.OrderID) AS n GROUP BY 1) SELECT AVG(r.n)",
            "WITH r AS (SELECT Customers.City AS c, COUNT(Orders.OrderID) AS n FROM Customers "
            "JOIN Orders ON Orders.CustomerID = Customers.CustomerID GROUP BY 1) SELECT AVG(r.n) FROM r",
        ),
        (
            "SELECT Customers.City FROM Customers LEFT JOIN Orders WHERE Orders.OrderID IS NULL",
            "SELECT Customers.City FROM Customers LEFT JOIN Orders ON Orders.CustomerID = Customers.CustomerID "
            "WHERE Orders.OrderID IS NULL",
        ),
        (
            "SELECT Customers.City, Suppliers.City FROM Customers, Suppliers WHERE Customers.City = Suppliers.City",
            "SELECT Customers.City, Suppliers.City FROM Customers, Suppliers WHERE Customers.City = Suppliers.City",
        ),
        (
            "SELECT CompanyName, Orders.OrderID FROM Customers",
            "SELECT Customers.CompanyName, Orders.OrderID FROM Customers "
            "JOIN Orders ON Orders.CustomerID = Customers.CustomerID",
        ),
        (
            "SELECT o.OrderID, Customers.City FROM Orders AS o",
            "SELECT o.OrderID, Customers.City FROM Orders AS o JOIN Customers ON Customers.CustomerID = o.CustomerID",
        ),
    ],
)
def test_a_query_without_from_is_completed(sql: str, expected: str) -> None:
    assert completed(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT Customers.Colour",
        "SELECT Nowhere.City",
        "SELECT Country",
        "SELECT Customers.City, CustomerDemographics.Nothing",
        f"SELECT Customers.City FROM Customers WHERE {CORRELATED}(Orders)",
        'WITH Orders AS (SELECT 1 AS x) SELECT Customers.City, "Order Details".Quantity',
        'SELECT Orders.OrderID FROM Orders WHERE EXISTS (SELECT 1 FROM Customers, "Order Details" '
        "WHERE Customers.Country = Orders.ShipCountry)",
    ],
)
def test_what_has_no_place_is_not_completed(sql: str) -> None:
    assert completed(sql) is None


def test_a_query_that_has_its_joins_is_left_alone() -> None:
    for sql in GOLD:
        again = completed(sql)
        assert again is not None, sql
        assert fold(again).count(" join ") == fold(normalise(sql, "sqlite")).count(" join "), sql


TABLES = sorted(
    table.name for table in NORTHWIND.schema.tables if NORTHWIND.keys.distance("Orders", table.name) is not None
)


@settings(max_examples=80, deadline=None)
@given(some.lists(some.sampled_from(TABLES), min_size=1, max_size=5, unique=True), some.data())
def test_one_column_of_each_of_any_tables_is_joined_and_runs(
    databases: list[Database], tables: list[str], data: some.DataObject
) -> None:
    columns = [
        data.draw(some.sampled_from([column.name for column in table.columns]))
        for name in tables
        for table in NORTHWIND.schema.tables
        if table.name == name
    ]
    listed = ", ".join(f'"{table}"."{column}"' for table, column in zip(tables, columns, strict=True))
    made = joined(parse_query(f"SELECT {listed} LIMIT 3", "sqlite"), lexicon=NORTHWIND)
    assert made is not None
    result = run(databases[0], text(made) or "")
    assert len(result.columns) == len(tables)
    read = {table.name for table in made.find_all(exp.Table)}
    assert read >= set(tables)
    assert len(made.args.get("joins") or ()) == len(read) - 1
    again = unjoined(made, lexicon=NORTHWIND)
    assert again is not None and not again.rigid
