"""What the parts of a query stand for: columns through aliases, parts of dates, literals that are compared."""

from __future__ import annotations

import pytest

from agent.database.guard import parse_query
from agent.database.schema import Column, ForeignKey, Schema, Table
from agent.drafting.operands import Compared, DatePart, Names, comparisons


def schema(dialect: str) -> Schema:
    tables = (
        Table("Shops", (Column("id", "INTEGER", primary_key=True), Column("Town", "TEXT"))),
        Table(
            "Sales",
            (
                Column("id", "INTEGER", primary_key=True),
                Column("shop", "INTEGER"),
                Column("sold", "DATE"),
                Column("price", "REAL"),
            ),
            (ForeignKey(("shop",), "Shops", ("id",)),),
        ),
    )
    return Schema("shops", dialect, tables, "", "")


DATES = (("Sales", "sold"),)
TOWN = ("Shops", "Town")


def only(sql: str, dialect: str = "sqlite") -> tuple[Compared, Names]:
    """The first comparison with a literal, and the names of the query."""
    tree = parse_query(sql, dialect)
    return next(iter(comparisons(tree))), Names(tree, schema(dialect), DATES)


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT 1 FROM Shops WHERE Town = 'x'", TOWN),
        ("SELECT 1 FROM shops AS s WHERE S.TOWN = 'x'", TOWN),
        ("SELECT 1 FROM Sales AS a JOIN Shops AS b ON a.shop = b.id AND b.Town = 'x'", TOWN),
        ("SELECT 1 FROM (SELECT Town AS t FROM Shops) AS s WHERE s.t = 'x'", TOWN),
        ("SELECT 1 FROM (SELECT * FROM Shops) WHERE Town = 'x'", TOWN),
        ("WITH s AS (SELECT id, Town AS t FROM Shops) SELECT 1 FROM s JOIN Sales USING (id) WHERE t = 'x'", TOWN),
        ("WITH s AS (SELECT Town FROM Shops), r AS (SELECT Town FROM s) SELECT 1 FROM r WHERE r.Town = 'x'", TOWN),
        ("SELECT Town AS t FROM Shops GROUP BY 1 HAVING t = 'x'", TOWN),
        ("SELECT 1 FROM Sales WHERE EXISTS (SELECT 1 FROM Shops WHERE Shops.id = Sales.shop AND Town = 'x')", TOWN),
        ("SELECT 1 FROM Shops WHERE EXISTS (SELECT 1 FROM Sales WHERE Town = 'x')", TOWN),
        ("SELECT 1 FROM Shops, Sales WHERE id = 1", None),
        ("SELECT 1 FROM Shops WHERE upper(Town) = 'x'", None),
        ("SELECT 1 FROM Shops WHERE Town || '' = 'x'", None),
        ("WITH s(a, b) AS (SELECT id, Town FROM Shops) SELECT 1 FROM s WHERE b = 'x'", None),
        ("WITH s AS (SELECT Town FROM Shops UNION SELECT price FROM Sales) SELECT 1 FROM s WHERE Town = 'x'", None),
        ("SELECT 1 FROM Nowhere WHERE Town = 'x'", None),
        ("SELECT 1 FROM Shops WHERE Village = 'x'", None),
        ("WITH Shops AS (SELECT price AS Town FROM Sales) SELECT 1 FROM Shops WHERE Town = 'x'", ("Sales", "price")),
    ],
)  # fmt: skip
def test_a_name_leads_to_its_column(sql: str, column: tuple[str, str] | None) -> None:
    compared, names = only(sql)
    assert names.column(compared.other) == column


@pytest.mark.parametrize(
    ("dialect", "expression", "part"),
    [
        ("sqlite", "sold", "day"),
        ("sqlite", "date(sold)", "day"),
        ("sqlite", "strftime('%Y', sold)", "year"),
        ("sqlite", "CAST(strftime('%Y', sold) AS INTEGER)", "year"),
        ("sqlite", "(strftime('%m', date(sold)))", "month"),
        ("sqlite", "strftime('%Y-%m', sold)", "year_month"),
        ("sqlite", "(CAST(strftime('%m', sold) AS INTEGER) + 2) / 3", "quarter"),
        ("sqlite", "(CAST(strftime('%m', sold) AS INTEGER) - 1) / 3 + 1", "quarter"),
        ("sqlite", "date(sold, 'start of month')", "trunc_month"),
        ("sqlite", "substr(sold, 1, 7)", "year_month"),
        ("sqlite", "strftime('%Y', MIN(sold))", "year"),
        ("postgres", "EXTRACT(YEAR FROM sold)", "year"),
        ("postgres", "date_part('month', sold)", "month"),
        ("postgres", "EXTRACT(QUARTER FROM sold)::int", "quarter"),
        ("postgres", "to_char(sold, 'YYYY-MM')", "year_month"),
        ("postgres", "date_trunc('quarter', sold)", "trunc_quarter"),
        ("postgres", "sold::date", "day"),
        ("sqlite", "price", None),
        ("sqlite", "strftime('%d', sold)", None),
        ("sqlite", "strftime('%Y', sold, '+1 day')", None),
        ("sqlite", "strftime('%Y', price)", None),
        ("sqlite", "strftime('%Y', strftime('%Y', sold))", None),
        ("sqlite", "date(sold, '+1 month')", None),
        ("sqlite", "substr(sold, 1, 5)", None),
        ("sqlite", "julianday(sold)", None),
        ("sqlite", "(CAST(strftime('%m', sold) AS INTEGER) + 1) / 3", None),
        ("sqlite", "COUNT(sold)", None),
        ("postgres", "EXTRACT(DOW FROM sold)", None),
        ("postgres", "substr(sold, 1, 4)", None),
    ],
)
def test_an_expression_gives_a_part_of_a_date(dialect: str, expression: str, part: str | None) -> None:
    tables = "Sales" if dialect == "sqlite" else '"Sales"'
    for sql in (
        f"SELECT 1 FROM {tables} WHERE {expression} = '7'",
        f"SELECT 1 FROM (SELECT {expression} AS e FROM {tables}) AS t WHERE e = '7'",
    ):
        compared, names = only(sql, dialect)
        found = names.date_part(compared.other)
        assert (found.part if found else None) == part
        assert found is None or isinstance(found, DatePart)


@pytest.mark.parametrize(
    ("dialect", "condition", "read"),
    [
        ("sqlite", "price > 5", (">", "5", None, False, "plain")),
        ("sqlite", "5 > price", ("<", "5", None, False, "plain")),
        ("sqlite", "price <> (5)", ("<>", "5", None, False, "plain")),
        ("sqlite", "price = -5", ("=", "5", None, True, "plain")),
        ("sqlite", "price IN (5, 6)", ("=", "5", None, False, "listed")),
        ("sqlite", "sold LIKE '1997%'", ("=", "1997%", None, False, "like")),
        ("sqlite", "sold < date('1997-01-01', '+1 year')", ("<", "1997-01-01", (1, "year"), False, "plain")),
        ("postgres", "sold < DATE '1997-01-01'", ("<", "1997-01-01", None, False, "plain")),
        ("postgres", "sold < '1997-01-01'::date + INTERVAL '1 year'", ("<", "1997-01-01", (1, "year"), False, "plain")),
        ("postgres", "sold < DATE '1997-01-01' - INTERVAL '2 days'", ("<", "1997-01-01", (-2, "day"), False, "plain")),
    ],
)  # fmt: skip
def test_a_comparison_is_read_from_its_literal(dialect: str, condition: str, read: tuple[object, ...]) -> None:
    tables = "Sales" if dialect == "sqlite" else '"Sales"'
    one, _ = only(f"SELECT 1 FROM {tables} WHERE {condition}", dialect)
    assert (one.operator, one.literal.name, one.shift, one.negative, one.how) == read


@pytest.mark.parametrize(
    "condition",
    [
        "price > 2 + 3",
        "sold < date('1997-01-01', 'weekday 0')",
        "sold < date('now', '1 day', '2 days')",
        "price = shop",
    ],
)
def test_what_is_reckoned_first_is_no_literal(condition: str) -> None:
    assert not list(comparisons(parse_query(f"SELECT 1 FROM Sales WHERE {condition}", "sqlite")))


def test_both_ends_of_a_between_are_compared() -> None:
    tree = parse_query("SELECT 1 FROM Sales WHERE price BETWEEN 3 AND 8", "sqlite")
    assert [(one.operator, one.literal.name) for one in comparisons(tree)] == [(">=", "3"), ("<=", "8")]


@pytest.mark.parametrize("function", ["ROW_NUMBER", "RANK", "DENSE_RANK"])
def test_the_place_of_a_row_is_known_through_an_alias(function: str) -> None:
    inner = f"SELECT id, {function}() OVER (ORDER BY price) AS place FROM Sales"
    compared, names = only(f"SELECT id FROM ({inner}) WHERE place <= 3")
    assert names.ranks(compared.other)
    compared, names = only("SELECT id FROM (SELECT id, COUNT(*) OVER () AS place FROM Sales) WHERE place <= 3")
    assert not names.ranks(compared.other)
