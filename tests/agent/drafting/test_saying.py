"""What questions speak of, read off their links, about Northwind and about a bakery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.drafting.saying import Said, canonical, display, opposite, said
from agent.grounding import Lexicon, ground
from tests.agent.made import open_northwind

HOME = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def northwind() -> Iterator[Lexicon]:
    with open_northwind() as (_, lexicon):
        yield lexicon


def read(question: str, lexicon: Lexicon) -> Said:
    return said(ground(question, lexicon), lexicon)


def things(question: str, lexicon: Lexicon) -> list[str]:
    return [str(thing) for thing in read(question, lexicon).things]


def shown(question: str, lexicon: Lexicon) -> list[str]:
    return [".".join(column) for column in read(question, lexicon).shown]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many orders did each shipper carry?", ["Orders", "Shippers"]),
        ("What is the phone number of the customer Ernst Handel?", ["Customers.Phone"]),
        ("What is the description of the category Produce?", ["Categories.Description"]),
        ("Show the category description for each category", ["Categories.Description", "Categories"]),
        ("List suppliers from the city of Boston.", ["Suppliers"]),
        ("How many different products were sold in 1997?", ["Products"]),
        ("Which five customers bought the fewest units?", ["Customers"]),
    ],
)
def test_rows_and_values_are_asked_about_and_not_where_only_a_value_is_named(
    question: str, expected: list[str], northwind: Lexicon
) -> None:
    assert things(question, northwind) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the town of the baker Mira Sand?", ["Bakers.Town"]),
        ("List breads with their flour and price.", ["Breads", "Breads.Flour"]),
    ],
)
def test_rows_and_values_of_another_database_are_asked_about(
    question: str, expected: list[str], bakery_lexicon: Lexicon
) -> None:
    assert things(question, bakery_lexicon) == expected


def test_amounts_are_expressions_of_the_glossary_or_columns(northwind: Lexicon, bakery_lexicon: Lexicon) -> None:
    assert read("Total freight per month in 1997", northwind).measures == ('"Orders"."Freight"',)
    assert read("How many units has every employee sold?", northwind).measures == ('"Order Details"."Quantity"',)
    assert read("What is the average price of rye breads?", bakery_lexicon).measures == ('"Breads"."Price"',)


def test_conditions_are_those_of_the_glossary(northwind: Lexicon) -> None:
    spoken = read("How many late orders are there per employee?", northwind)
    assert spoken.conditions == ('"Orders"."ShippedDate" > "Orders"."RequiredDate"',)


def test_values_come_once_each_in_reading_order(northwind: Lexicon) -> None:
    spoken = read("Freight of an order to Germany, and of one to France? Germany first.", northwind)
    assert [link.value for link in spoken.values] == ["Germany", "France"]


@pytest.mark.parametrize(
    ("question", "limit", "numbers"),
    [
        ("Which five customers bought the fewest units?", 5, []),
        ("What are the 3 most expensive products?", 3, []),
        ("Which products cost more than 50?", None, ["50"]),
        ("Which customers placed more than 15 orders?", None, ["15"]),
    ],
)
def test_a_number_of_rows_is_no_number_to_hold_something_against(
    question: str, limit: int | None, numbers: list[str], northwind: Lexicon
) -> None:
    spoken = read(question, northwind)
    assert (spoken.limit, [link.value for link in spoken.numbers]) == (limit, numbers)


@pytest.mark.parametrize(
    ("question", "aggregates"),
    [
        ("How many orders were there?", {"COUNT"}),
        ("What is the number of orders?", {"COUNT"}),
        ("What is the phone number of the customer Ernst Handel?", set()),
        ("What was the average freight?", {"AVG"}),
        ("What was the total freight?", {"SUM"}),
        ("Which products are discontinued?", set()),
    ],
)
def test_aggregates_are_those_that_words_ask_for(question: str, aggregates: set[str], northwind: Lexicon) -> None:
    assert read(question, northwind).aggregates == aggregates


def test_different_ones_are_counted_apart(northwind: Lexicon, bakery_lexicon: Lexicon) -> None:
    assert str(read("How many different products were sold in 1997?", northwind).distinct) == "Products"
    assert str(read("How many different bakers sold bread in 2021?", bakery_lexicon).distinct) == "Bakers"
    assert read("How many products were sold in 1997?", northwind).distinct is None


def test_the_unit_of_time_to_group_by_is_read(northwind: Lexicon) -> None:
    assert read("Total freight per month in 1997", northwind).grain == "month"
    assert read("Total freight in March 1997", northwind).grain is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which products cost more than 50? Name and price.", ["Products.ProductName", "Products.UnitPrice"]),
        ("Which products cost more than 50, just the name.", ["Products.ProductName"]),
        (
            "Which orders had a freight over 100? Order number and customer, please.",
            ["Orders.OrderID", "Customers.CompanyName"],
        ),
        ("What is the phone number of the customer Ernst Handel?", ["Customers.Phone"]),
        ("What are the order date and freight of order 10248?", ["Orders.OrderDate", "Orders.Freight"]),
    ],
)
def test_the_columns_to_show_are_those_of_the_last_words_or_of_what_is_asked_for(
    question: str, expected: list[str], northwind: Lexicon
) -> None:
    assert shown(question, northwind) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("List breads with their flour and price.", ["Breads.Name", "Breads.Flour", "Breads.Price"]),
        ("Which breads cost more than 2? Just the name.", ["Breads.Name"]),
        ("What is the town of the baker Mira Sand?", ["Bakers.Town"]),
    ],
)
def test_the_columns_to_show_of_another_database(question: str, expected: list[str], bakery_lexicon: Lexicon) -> None:
    assert shown(question, bakery_lexicon) == expected


def test_rows_are_shown_by_their_name_or_both_their_names_or_their_key(
    northwind: Lexicon, bakery_lexicon: Lexicon
) -> None:
    assert display("Employees", northwind) == ("LastName", "FirstName")
    assert display("Orders", northwind) == ("OrderID",)
    assert display("Shippers", northwind) == ("CompanyName",)
    assert display("Breads", bakery_lexicon) == ("Name",)
    assert display("Daily Sales", bakery_lexicon) == ("SaleID",)


def test_two_writings_of_an_expression_are_one(northwind: Lexicon) -> None:
    assert canonical('sum( "Orders" . Freight )', "sqlite") == canonical("SUM(Orders.Freight)", "sqlite")
    assert canonical("SUM(", "sqlite") == "SUM("


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("orders shipped to Norway, order number and freight", ["Orders.OrderID", "Orders.Freight"]),
        (
            "Order number, order date and freight of every order to Norway",
            ["Orders.OrderID", "Orders.OrderDate", "Orders.Freight"],
        ),
        ("reps with orders from 18 countries or more, last name and number of countries", ["Employees.LastName"]),
        ("employees outside the USA (first name, last name)", ["Employees.FirstName", "Employees.LastName"]),
        ("Who took order 10300? First and last name", ["Employees.FirstName", "Employees.LastName"]),
        (
            "I need the address of order 10763, that is street, city and country.",
            ["Orders.ShipAddress", "Orders.ShipCity", "Orders.ShipCountry"],
        ),
        ("prodcuts over 50 a peice, name and price please", ["Products.ProductName", "Products.UnitPrice"]),
        (
            "Orders of 6 May 1998: order number, company name of the customer, last name of the employee",
            ["Orders.OrderID", "Customers.CompanyName", "Employees.LastName"],
        ),
    ],
)
def test_columns_are_listed_before_the_rows_or_behind_them(
    question: str, expected: list[str], northwind: Lexicon
) -> None:
    assert sorted(shown(question, northwind)) == sorted(expected)
    assert read(question, northwind).listed


@pytest.mark.parametrize(
    "question",
    [
        "customers in France, with their city",
        "Which customers are in Berlin, London or Madrid?",
        "Which suppliers are in Japan?",
        "Anything in Produce below 25 units in stock? Name and units, please.",
    ],
)
def test_words_that_say_more_than_what_to_show_list_nothing(question: str, northwind: Lexicon) -> None:
    assert not read(question, northwind).listed


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Suppliers without a fax number", ('"Suppliers"."Fax" IS NULL',)),
        (
            "Customers with neither a region nor a fax number",
            ('"Customers"."Region" IS NULL', '"Customers"."Fax" IS NULL'),
        ),
        ("Which orders haven't been shipped yet?", ('"Orders"."ShippedDate" IS NULL',)),
        ("Show suppliers with their fax, or 'none' where there is no fax", ()),
        ("Which products have no stock value?", ()),
        ("products that arent discontinued", ('"Products"."Discontinued" = 0',)),
        ("orders that were not late", ('"Orders"."ShippedDate" <= "Orders"."RequiredDate"',)),
        ("discontinued products", ('"Products"."Discontinued" = 1',)),
        (
            "Which customers in Spain never ordered?",
            ('NOT EXISTS(SELECT 1 FROM "Orders" WHERE "Orders"."CustomerID" = "Customers"."CustomerID")',),
        ),
        ("Which customers in Spain never ordered in 1998?", ()),
        ("Which customers never ordered Chai?", ()),
    ],
)
def test_what_is_lacking_or_denied_is_a_condition(question: str, expected: tuple[str, ...], northwind: Lexicon) -> None:
    assert read(question, northwind).conditions == expected


def test_the_opposite_of_a_condition_is_known() -> None:
    assert opposite('"a"."b" IS NULL', "sqlite") == 'NOT "a"."b" IS NULL'
    assert opposite('NOT "a"."b" IS NULL', "sqlite") == '"a"."b" IS NULL'
    assert opposite('"a"."b" = 1', "sqlite", ('"a"."b" = 0', '"a"."b" = 2')) == '"a"."b" <> 1'
    assert opposite('"a"."b" < "a"."c" OR "a"."d" = 1', "sqlite") == 'NOT ("a"."b" < "a"."c" OR "a"."d" = 1)'


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Any products with 'Chef' or 'Grandma' in the name?", [("Products.ProductName", ("%Chef%", "%Grandma%"))]),
        ("Customers whose code starts with the letter B", [("Customers.CustomerID", ("B%",))]),
        ("Which category descriptions mention bread?", [("Categories.Description", ("%bread%",))]),
        ("How many orders have a ship address that begins with 'Rua'?", [("Orders.ShipAddress", ("Rua%",))]),
        ("Prices of the products whose name ends in 'sild'", [("Products.ProductName", ("%sild",))]),
        ("Which orders contain both something from Seafood and something from Produce?", []),
        ("Which products start with '50%'?", []),
        ("What was the revenue in the month beginning with 1 May 1997?", []),
    ],
)
def test_the_letters_of_a_text_are_read_with_their_side(
    question: str, expected: list[tuple[str, tuple[str, ...]]], northwind: Lexicon
) -> None:
    assert [(".".join(one.column), one.likes()) for one in read(question, northwind).patterns] == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which breads have a name that ends in 'Loaf'?", [("Breads.Name", ("%Loaf",))]),
        ("Which bakers live in a town starting with L?", [("Bakers.Town", ("L%",))]),
    ],
)
def test_the_letters_of_a_text_of_another_database(
    question: str, expected: list[tuple[str, tuple[str, ...]]], bakery_lexicon: Lexicon
) -> None:
    assert [(".".join(one.column), one.likes()) for one in read(question, bakery_lexicon).patterns] == expected
