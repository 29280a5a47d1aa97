"""What one query has otherwise than another, in words: every change, and nothing else."""

from __future__ import annotations

import doctest

import pytest

from agent.doors import changes as module
from agent.doors.changes import changes

JOINED = "SELECT c.Name, SUM(o.Fee) AS s FROM Owners AS c JOIN Visits AS o ON o.Owner = c.Id"


def test_the_examples_hold() -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{JOINED} GROUP BY c.Id ORDER BY s DESC", f"{JOINED} GROUP BY c.Id ORDER BY SUM(o.Fee) DESC"),
        (
            f"{JOINED} WHERE a = 1 AND b = 2",
            "SELECT Owners.Name, SUM(Visits.Fee) FROM Owners JOIN Visits ON Owners.Id = Visits.Owner "
            "WHERE Visits.b = 2 AND Visits.a = 1",
        ),
        ("SELECT name FROM owners", 'SELECT "Owners"."Name" FROM "Owners"'),
        ("SELECT a, b FROM t GROUP BY 1 ORDER BY 2", "SELECT a, b FROM t GROUP BY a ORDER BY b"),
    ],
)
def test_another_way_to_write_the_same_is_no_change(before: str, after: str) -> None:
    assert changes(before, after) == ()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("WHERE a = 'rye'", "WHERE a = 'Rye'", ["a = 'rye' became a = 'Rye'"]),
        ("WHERE a = 1", "", ["left out a = 1"]),
        ("", "WHERE d >= '1997-01-01' AND d < '1998-01-01'", ["added d >= '1997-01-01'", "added d < '1998-01-01'"]),
        ("WHERE a = 1 OR b = 2", "WHERE a = 1 OR b = 3", ["a = 1 OR b = 2 became a = 1 OR b = 3"]),
        ("GROUP BY x HAVING COUNT(*) > 3", "GROUP BY x HAVING COUNT(*) > 5", ["COUNT(*) > 3 became COUNT(*) > 5"]),
        ("WHERE x > 3 GROUP BY x", "GROUP BY x HAVING x > 3", ["x > 3 in HAVING instead of WHERE"]),
        (
            "GROUP BY x HAVING x > 3 AND COUNT(*) > 1",
            "WHERE x > 3 GROUP BY x HAVING COUNT(*) > 1",
            ["x > 3 in WHERE instead of HAVING"],
        ),
        ("GROUP BY ALL", "", ["not grouped by ALL"]),
        ("GROUP BY ROLLUP (x)", "GROUP BY x", ["grouped by x instead of ROLLUP (x)"]),
        ("WINDOW w AS (ORDER BY x)", "WINDOW w AS (ORDER BY y)", ["w AS (ORDER BY x) became w AS (ORDER BY y)"]),
        ("WINDOW w AS (ORDER BY x)", "", ["left out w AS (ORDER BY x)"]),
        ("GROUP BY x", "GROUP BY y", ["grouped by y instead of x"]),
        ("GROUP BY x", "", ["not grouped by x"]),
        ("ORDER BY x", "ORDER BY x DESC", ["sorted downwards instead of upwards"]),
        ("ORDER BY x, y DESC", "ORDER BY x, y", ["sorted upwards and upwards instead of upwards and downwards"]),
        ("ORDER BY x", "ORDER BY y DESC", ["sorted by y DESC instead of x"]),
        ("", "ORDER BY x", ["sorted by x"]),
        ("ORDER BY x", "", ["not sorted by x"]),
        ("LIMIT 5", "LIMIT 3", ["LIMIT 3 instead of 5"]),
        ("LIMIT 5 OFFSET 1", "LIMIT 5", ["left out OFFSET 1"]),
        ("", "LIMIT 3", ["added LIMIT 3"]),
        ("JOIN u ON u.i = t.i", "", ["does not join u"]),
        ("", "LEFT JOIN u ON u.i = t.i", ["joins LEFT u"]),
        ("JOIN u ON u.i = t.i", "LEFT JOIN u ON u.i = t.i", ["reads LEFT u instead of u"]),
        ("JOIN u ON u.i = t.i", "JOIN v ON v.i = t.i", ["reads v instead of u"]),
        ("JOIN u ON u.i = t.i", "JOIN u ON u.k = t.i", ["joined on t.i = u.k instead of t.i = u.i"]),
        (
            "WHERE a IN (SELECT b FROM u WHERE c = 1)",
            "WHERE a IN (SELECT b FROM u WHERE c = 2 AND e = 3)",
            ["inside: c = 1 became c = 2", "inside: added e = 3"],
        ),
        ("WHERE a IN (SELECT b FROM u)", "", ["left out a IN (…)", "left out 1 inner query"]),
    ],
)
def test_each_change_is_told(before: str, after: str, told: list[str]) -> None:
    found = changes(f"SELECT n FROM t {before}", f"SELECT n FROM t {after}")
    assert found == tuple(told)


def test_what_is_shown_and_counted_is_told() -> None:
    assert changes("SELECT n, SUM(a) FROM t", "SELECT n, AVG(a), b FROM t") == (
        "shows AVG(a) instead of SUM(a)",
        "shows b as well",
    )
    assert changes("SELECT n, m FROM t", "SELECT DISTINCT m FROM t") == ("does not show n", "added DISTINCT")
    assert changes("SELECT n, m FROM t", "SELECT m, n FROM t") == ("shows its columns in another order",)
    assert changes("SELECT n FROM t UNION SELECT n FROM u", "SELECT n FROM t UNION ALL SELECT n FROM u") == (
        "UNION ALL instead of UNION",
    )
    assert changes("SELECT n FROM t", "SELECT n FROM t UNION SELECT n FROM u") == (
        "UNION instead of one query",
        "does not show n",
        "does not join t",
        "added 2 inner queries",
    )


def test_of_a_long_part_only_what_differs_in_it_is_told() -> None:
    share = "SELECT 100.0 * SUM(CASE WHEN {} THEN a * b * (1 - c) ELSE 0 END) / SUM(a * b * (1 - c)) FROM t"
    assert changes(share.format("land = 'Chad'"), share.format("kind = 'Tea'")) == (
        "kind = 'Tea' instead of land = 'Chad' in 100.0 * SUM(CASE WHE…",
    )


def test_columns_of_one_name_are_told_by_their_tables() -> None:
    joined = "SELECT {}.Country FROM Customers JOIN Suppliers ON Suppliers.City = Customers.City"
    assert changes(joined.format("Customers"), joined.format("Suppliers")) == (
        "shows Suppliers.Country instead of Customers.Country",
    )
    twice = "SELECT a.Name FROM Staff AS a JOIN Staff AS b ON b.Boss = a.Id WHERE {}.City = 'Oslo'"
    assert changes(twice.format("a"), twice.format("b")) == ("a.City = 'Oslo' became b.City = 'Oslo'",)


@pytest.mark.parametrize("sql", ["", "SELECT FROM", "not SQL at all", "SELECT '"])
def test_what_cannot_be_read_is_not_compared(sql: str) -> None:
    assert changes(sql, "SELECT 1") is None and changes("SELECT 1", sql) is None


def test_postgres_is_read_as_such() -> None:
    before = "SELECT n FROM t WHERE d::date = '2020-01-01'::date AND n ILIKE 'a%'"
    assert changes(before, before.replace("a%", "b%"), dialect="postgres") == ("n ILIKE 'a%' became n ILIKE 'b%'",)
