"""Names folded, quoted and found."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.database.naming import fold, nearest, quoted


@given(name=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), min_size=1, max_size=12))
@settings(max_examples=200, deadline=None, database=None, derandomize=True)
def test_a_quoted_name_is_that_name(name: str) -> None:
    connection = sqlite3.connect(":memory:")
    try:
        cursor = connection.execute(f"SELECT 1 AS {quoted(name)}")
        assert cursor.description[0][0] == name
    finally:
        connection.close()


@pytest.mark.parametrize("word", ["order", "Group", "select", "user", "table", "1st", "a b", "", 'x"y'])
def test_reserved_and_odd_names_are_quoted(word: str) -> None:
    assert quoted(word).startswith('"') and quoted(word, "postgres").startswith('"')


def test_postgres_needs_quotes_for_capitals() -> None:
    assert (quoted("CustomerID"), quoted("CustomerID", "postgres")) == ("CustomerID", '"CustomerID"')
    assert quoted("customer_id", "postgres") == "customer_id"


def test_only_letters_of_ascii_are_folded() -> None:
    assert fold("ÄpfelЖЫ") == "ÄpfelЖЫ"


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("UnitPric", ["UnitPrice", "City"], ("UnitPrice",)),
        ("order_details", ["Orders", "Order Details"], ("Order Details", "Orders")),
        ("customerid", ["CustomerID"], ("CustomerID",)),
        ("price", ["UnitPrice", "City"], ("UnitPrice",)),
        ("xyz", ["UnitPrice", "City"], ()),
        ("", ["City"], ()),
        ("город", ["города", "City"], ("города",)),
    ],
)
def test_the_nearest_names_are_found(name: str, candidates: list[str], expected: tuple[str, ...]) -> None:
    assert nearest(name, candidates) == expected
