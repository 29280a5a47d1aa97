"""Which columns a query uses, however they are written."""

from __future__ import annotations

import pytest

from agent.database.schema import Column, Schema, Table
from agent.database.uses import used


def _table(name: str, *columns: str, view: str = "") -> Table:
    return Table(name, tuple(Column(one, "TEXT") for one in columns), ddl=view, is_view=bool(view))


SCHEMA = Schema(
    "harbour",
    "sqlite",
    (
        _table("Boats", "BoatID", "Name", "OwnerID"),
        _table("Owners", "OwnerID", "Name", "Phone"),
        _table("Contacts", "Name", "Call", view="CREATE VIEW Contacts AS SELECT Name, Phone AS Call FROM Owners"),
    ),
    "",
    "",
)
PHONE = ("owners", "phone")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT Phone FROM Owners",
        'SELECT o."phone" FROM Owners AS o',
        "SELECT * FROM Owners",
        "SELECT o.* FROM Boats b JOIN Owners o ON o.OwnerID = b.OwnerID",
        "SELECT Name FROM Owners WHERE Phone LIKE '0%'",
        "SELECT Name FROM Owners ORDER BY Phone",
        "SELECT x FROM (SELECT Phone AS x FROM Owners) t",
        "WITH c AS (SELECT * FROM Owners) SELECT Name FROM c",
        "WITH Owners AS (SELECT Phone FROM Owners) SELECT * FROM Owners",
        "SELECT Name FROM Boats WHERE OwnerID IN (SELECT OwnerID FROM Owners WHERE Phone IS NULL)",
        "SELECT Name FROM Boats UNION SELECT Phone FROM Owners",
        "SELECT Name FROM Boats JOIN Owners USING (Phone)",
        "SELECT MAX(LENGTH(Phone)) FROM Owners",
        "SELECT Call FROM Contacts",
        "SELECT Phone FROM Owners WHERE EXISTS (WITH Owners AS (SELECT 1 AS x) SELECT x FROM Owners)",
        "SELECT * FROM Owners WHERE EXISTS (WITH Owners AS (SELECT 1 AS x) SELECT x FROM Owners)",
        "SELECT Name FROM Boats b WHERE EXISTS (SELECT 1 FROM Owners o WHERE o.OwnerID = b.OwnerID AND Phone > '')",
    ],
)
def test_a_column_is_seen_wherever_it_stands(sql: str) -> None:
    assert PHONE in (used(sql, SCHEMA) or ())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT Name FROM Boats",
        "SELECT COUNT(*) FROM Owners",
        "SELECT b.* FROM Boats b JOIN Owners o ON o.OwnerID = b.OwnerID",
        "WITH c AS (SELECT Name FROM Owners) SELECT * FROM c",
        "SELECT 'Phone' FROM Owners",
    ],
)
def test_a_column_that_is_not_used_is_not_seen(sql: str) -> None:
    found = used(sql, SCHEMA)
    assert found is not None and PHONE not in found


def test_a_joined_table_is_seen_without_a_column_of_it() -> None:
    assert {("boats", ""), ("owners", "")} <= (used("SELECT COUNT(*) FROM Boats, Owners", SCHEMA) or frozenset())
    assert ("owners", "") in (used("SELECT Name FROM Contacts", SCHEMA) or ())


@pytest.mark.parametrize("text", ["How many owners are there?", "SELECT FROM WHERE", "", "DELETE FROM Owners"])
def test_what_is_no_query_is_none(text: str) -> None:
    assert used(text, SCHEMA) is None
