"""The glossaries: every term reads well, and every expression runs on the real file."""

from __future__ import annotations

import sqlite3
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.database.reading import open_database
from agent.learning.teaching import read_glossary
from scripts import build_odd_database

ROOT = Path(__file__).resolve().parents[2]
TERMS: list[dict[str, Any]] = tomllib.loads((ROOT / "data/glossary/northwind.toml").read_text("utf-8"))["term"]


@pytest.fixture(scope="module")
def northwind() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"file:{ROOT / 'data/northwind.sqlite'}?mode=ro", uri=True)
    yield connection
    connection.close()


def _value(northwind: sqlite3.Connection, sql: str) -> Any:
    return northwind.execute(sql).fetchone()[0]


def _expression(name: str) -> str:
    return next(str(term["expression"]) for term in TERMS if name in term["names"])


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term["names"][0])
def test_a_term_has_names_a_meaning_and_real_tables(term: dict[str, Any], northwind: sqlite3.Connection) -> None:
    assert set(term) <= {"names", "meaning", "expression", "tables"}
    assert term["names"] and all(name == name.strip() and name for name in term["names"])
    assert term["meaning"].endswith(".")
    known = {name for (name,) in northwind.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert term["tables"] and set(term["tables"]) <= known


def test_no_name_belongs_to_two_terms() -> None:
    names = Counter(name.casefold() for term in TERMS for name in term["names"])
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("term", [t for t in TERMS if "expression" in t], ids=lambda term: term["names"][0])
def test_an_expression_runs_and_gives_a_value(term: dict[str, Any], northwind: sqlite3.Connection) -> None:
    first = term["tables"][0]
    aggregate = f'SELECT MAX(v) FROM (SELECT {term["expression"]} AS v FROM "{first}")'
    assert _value(northwind, aggregate) is not None


def test_money_terms_give_the_known_totals(northwind: sqlite3.Connection) -> None:
    def total(name: str) -> float:
        return round(float(_value(northwind, f'SELECT SUM({_expression(name)}) FROM "Order Details"')), 2)

    assert total("revenue") == 1265793.04
    assert total("gross sales") == 1354458.59
    assert round(total("gross sales") - total("discount amount"), 2) == total("revenue")


@pytest.mark.parametrize(
    ("name", "table", "rows"),
    [
        ("unshipped order", "Orders", 21),
        ("late order", "Orders", 37),
        ("on time", "Orders", 772),
        ("shipped order", "Orders", 809),
        ("discontinued", "Products", 8),
        ("active product", "Products", 69),
        ("out of stock", "Products", 5),
        ("inactive customer", "Customers", 2),
        ("no boss", "Employees", 1),
    ],
)
def test_a_condition_picks_the_rows_it_names(name: str, table: str, rows: int, northwind: sqlite3.Connection) -> None:
    assert _value(northwind, f'SELECT COUNT(*) FROM "{table}" WHERE {_expression(name)}') == rows


def test_age_at_hire_counts_full_years(northwind: sqlite3.Connection) -> None:
    sql = f"SELECT {_expression('age at hire')} FROM Employees WHERE LastName = ?"
    assert northwind.execute(sql, ("Davolio",)).fetchone() == (43,)
    assert northwind.execute(sql, ("Peacock",)).fetchone() == (55,)


def test_the_application_leaves_out_no_term_of_northwind() -> None:
    database = open_database(str(ROOT / "data/northwind.sqlite"))
    left_out: list[str] = []
    try:
        terms = read_glossary(ROOT / "data/glossary/northwind.toml", database.schema, warn=left_out.append)
    finally:
        database.close()
    assert left_out == []
    assert len(terms) == len(TERMS)


def test_the_application_leaves_out_no_term_of_the_clinic(tmp_path: Path) -> None:
    path = tmp_path / "clinic.sqlite"
    build_odd_database.build(path)
    database = open_database(str(path))
    left_out: list[str] = []
    try:
        terms = read_glossary(ROOT / "data/glossary/clinic.toml", database.schema, warn=left_out.append)
    finally:
        database.close()
    assert left_out == []
    assert len(terms) >= 10
    assert len({name.casefold() for term in terms for name in term.names}) == sum(len(term.names) for term in terms)
