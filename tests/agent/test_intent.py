"""The kind of answer, the bucket and the mask: what changes them and what must not."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.database.reading import open_database
from agent.grounding import Lexicon, ground
from agent.intent import RULES, Intent, bucket_of, mask, predict
from memory.semantic import Term

HOME = Path(__file__).resolve().parent.parent.parent


def _northwind() -> Lexicon:
    listed = tomllib.loads((HOME / "data/glossary/northwind.toml").read_text(encoding="utf-8"))["term"]
    terms = [Term(tuple(t["names"]), t["meaning"], t.get("expression"), tuple(t["tables"]), "glossary") for t in listed]
    database = open_database(str(HOME / "data/northwind.sqlite"))
    try:
        return Lexicon.build(database.schema, database.facts, terms)
    finally:
        database.close()


@pytest.fixture(scope="module")
def northwind() -> Lexicon:
    return _northwind()


def _understood(question: str, lexicon: Lexicon) -> tuple[str, str]:
    grounding = ground(question, lexicon)
    return bucket_of(predict(question, grounding)), mask(question, grounding)


@pytest.mark.parametrize("rule", RULES, ids=[f"{place}-{rule.kind}" for place, rule in enumerate(RULES)])
def test_each_rule_takes_its_own_example(rule: Any, northwind: Lexicon) -> None:
    assert predict(rule.example, ground(rule.example, northwind)).kind == rule.kind


def test_there_are_at_least_fourteen_kinds() -> None:
    assert len({rule.kind for rule in RULES}) >= 14


def test_nothing_linked_and_no_rule_is_open(northwind: Lexicon) -> None:
    assert predict("hello there", ground("hello there", northwind)) == Intent("open", ())


def test_bucket_does_not_depend_on_the_order_of_tables() -> None:
    assert bucket_of(Intent("count", ("a", "b"))) == bucket_of(Intent("count", ("b", "a")))
    assert bucket_of(Intent("count", ("a", "b"))) != bucket_of(Intent("count", ("a,b",)))
    assert bucket_of(Intent("count", ("a",))) != bucket_of(Intent("sum", ("a",)))


def test_bucket_goes_by_the_rows_an_answer_is_made_from(northwind: Lexicon) -> None:
    per_customer = predict("", ground("revenue per customer", northwind))
    per_category = predict("", ground("revenue per category", northwind))
    assert per_customer.tables != per_category.tables
    assert per_customer.grain == per_category.grain == ("Orders",)
    questions = ["revenue per customer", "revenue per category", "revenue of each supplier's products"]
    assert len({_understood(question, northwind)[0] for question in questions}) == 1
    assert bucket_of(Intent("count", ("a", "b"), ("b",))) == bucket_of(Intent("count", ("b",)))


@pytest.mark.parametrize(
    ("question", "grain"),
    [
        ("customers in Germany", ("Customers",)),
        ("products per category", ("Products",)),
        ("How many units of Tofu were sold?", ("Orders",)),
        ("Which territories are in the Eastern region?", ("Territories",)),
        ("Which territories does Nancy Davolio cover?", ("Employees",)),
        ("What is the ratio of customers to suppliers?", ("Customers", "Suppliers")),
    ],
)
def test_grain_is_the_table_that_refers_to_the_others(
    question: str, grain: tuple[str, ...], northwind: Lexicon
) -> None:
    assert predict(question, ground(question, northwind)).grain == grain


@pytest.mark.parametrize(
    ("kind", "questions"),
    [
        ("by_group", ["sales per category", "How do sales split across the categories?", "sales by category"]),
        ("over_time", ["orders per month", "How did the number of orders evolve month by month?", "monthly orders"]),
        ("running", ["running total of sales by month", "Per month, how much had we earned so far?"]),
        ("exists", ["Is there any order with freight above 900?", "any orders with freight over 900?"]),
        ("missing", ["customers without orders", "clients w/o orders", "Which customers never ordered?"]),
        ("having", ["suppliers with more than 3 products", "vendors with 4+ items", "supplier with >= 5 products"]),
        ("having", ["Which customers share the same city?", "cities with more than one customer"]),
        ("share", ["What percentage of customers is in France?", "% of customers in Spain"]),
        ("versus_average", ["orders with above-average freight", "Orders whose freight is higher than the mean"]),
        ("compare", ["Put the orders of 1996 and 1997 side by side", "orders 1996 vs 1997"]),
        ("rank", ["Rank the customers by revenue", "Number the customers by revenue"]),
        ("average", ["How many orders are there per customer on average?", "average number of orders per customer"]),
        ("top_n", ["Which product is the most expensive?", "the five dearest articles", "2nd priciest item"]),
        ("list", ["What is the phone number of Around the Horn?", "customers in Berlin"]),
    ],
)
def test_ways_of_saying_it_are_one_kind(kind: str, questions: list[str], northwind: Lexicon) -> None:
    assert {question: predict(question, ground(question, northwind)).kind for question in questions} == dict.fromkeys(
        questions, kind
    )


def test_bucket_has_a_lasting_name() -> None:
    assert bucket_of(Intent("count", ("Orders",))) == "ca57845580a37722"


SLOTS = [
    ("Customers", "Country", "Which customers are located in {}?"),
    ("Customers", "Country", "How many orders did customers from {} place in 1997?"),
    ("Customers", "CompanyName", "What is the phone number of the customer {}?"),
    ("Customers", "CompanyName", "How many orders has {} placed?"),
    ("Customers", "City", "list customers in {}"),
    ("Customers", "CustomerID", "orders of customer {}"),
    ("Products", "ProductName", "What is the unit price of {}?"),
    ("Products", "ProductName", "Which customers bought {}?"),
    ("Categories", "CategoryName", "How many products are in the category {}?"),
    ("Suppliers", "CompanyName", "Which products does {} supply?"),
    ("Suppliers", "Country", "products from suppliers in {}"),
    ("Shippers", "CompanyName", "How many orders were shipped by {}?"),
    ("Employees", "LastName", "How many orders did {} handle?"),
    ("Orders", "ShipCity", "orders shipped to {} in 1997"),
]


@pytest.mark.parametrize(("table", "column", "question"), SLOTS, ids=[slot[2] for slot in SLOTS])
def test_another_literal_of_the_column_keeps_bucket_and_mask(
    table: str, column: str, question: str, northwind: Lexicon
) -> None:
    values = next(f.values for f in northwind.facts.columns if (f.table, f.column) == (table, column))
    assert len(values) > 2
    seen = {_understood(question.format(value), northwind) for value in values}
    assert len(seen) == 1
    assert "<value>" in seen.pop()[1]


@pytest.mark.parametrize(
    ("question", "others"),
    [
        ("orders in {}", ["1996", "1997", "1998"]),
        ("orders in {}", ["March 1997", "May 1998", "July 1996"]),
        ("orders on {}", ["1997-03-05", "5 March 1997", "March 5, 1997"]),
        ("top {} customers by revenue", ["3", "five", "10", "twenty"]),
        ("customers with more than {} orders", ["3", "five", "10", "1,000", "a hundred"]),
        ("products that cost more than {}", ["20", "20.5", "1000"]),
        ("freight of order {}", ["10248", "10300"]),
    ],
)
def test_another_number_or_time_keeps_bucket_and_mask(question: str, others: list[str], northwind: Lexicon) -> None:
    assert len({_understood(question.format(other), northwind) for other in others}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How many customers are in Germany?", "  how many  CUSTOMERS are in france "),
        ("List customers from 'Berlin'.", "list customers from London"),
        ("price of Chai!", "Price of \u201cTofu\u201d"),
    ],
)
def test_case_spaces_quotes_and_end_marks_do_not_count(one: str, other: str, northwind: Lexicon) -> None:
    assert _understood(one, northwind) == _understood(other, northwind)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("customers in Germany", "customers not in Germany"),
        ("orders before 1997", "orders after 1997"),
        ("the most expensive product", "the cheapest product"),
        ("Which customer placed the most orders?", "Which customer placed the fewest orders?"),
        ("orders in 1997", "orders in March 1997"),
        ("customers in Germany", "suppliers in Germany"),
        ("more than 10 orders", "fewer than 10 orders"),
    ],
)
def test_what_changes_the_answer_changes_bucket_or_mask(one: str, other: str, northwind: Lexicon) -> None:
    assert _understood(one, northwind) != _understood(other, northwind)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("customers not in Germany", "Customers.Country <> 'Germany'"),
        ("customers that aren't from Germany", "Customers.Country <> 'Germany'"),
        ("orders from Germany not shipped to Berlin", "Orders.ShipCity <> 'Berlin'"),
        ("all categories except Seafood", "Categories.CategoryName <> 'Seafood'"),
        ("customers in Germany that never ordered", "Customers.Country = 'Germany'"),
    ],
)
def test_a_value_left_out_is_filtered_out(question: str, condition: str, northwind: Lexicon) -> None:
    assert condition in ground(question, northwind).filters


_SPOKEN = """how many which customers orders products in from not the most top 5 1997 March Germany Chai revenue per
country category 'Tofu' more than 10 <value> <year> average . ? , ß İ Ernst Handel 1996-07-01 ordered by price"""
_WORDS = st.sampled_from(_SPOKEN.split())
_TYPED = st.one_of(st.lists(_WORDS, max_size=14).map(" ".join), st.text(max_size=80))
_LEXICON: list[Lexicon] = []


@given(question=_TYPED)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_mask_masked_again_stays(question: str) -> None:
    if not _LEXICON:
        _LEXICON.append(_northwind())
    once = mask(question, ground(question, _LEXICON[0]))
    assert mask(once, ground(once, _LEXICON[0])) == once


@given(question=_TYPED)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_links_lie_within_the_question_and_do_not_cross(question: str) -> None:
    if not _LEXICON:
        _LEXICON.append(_northwind())
    grounding = ground(question, _LEXICON[0])
    for link in grounding.links:
        assert 0 <= link.start < link.end <= len(question)
    plain = [link for link in grounding.chosen if link.role != "condition"]
    for left, right in pairwise(plain):
        assert left.end <= right.start, (left, right)


def _measure_buckets() -> ModuleType:
    loader = SourceFileLoader("measure_buckets", str(HOME / "scripts/measure_buckets"))
    spec = importlib.util.spec_from_loader("measure_buckets", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["measure_buckets"] = module
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, Any]]:
    script = _measure_buckets()
    found = script.intents_of(script.groups(HOME / "data/questions/pairs.jsonl"))
    parts = {part: [entry for entry in found if entry[0].part == part] for part in sorted({e[0].part for e in found})}
    return {part: script.measure(entries) for part, entries in parts.items()}


@pytest.mark.parametrize("part", ["development", "held", "fresh"])
def test_paraphrases_share_a_bucket_and_different_types_do_not(part: str, measured: dict[str, dict[str, Any]]) -> None:
    assert measured[part]["paraphrases_share_a_bucket"]["share"] >= 0.90
    assert measured[part]["different_types_collide"]["share"] <= 0.05
    assert measured[part]["different_kinds_over_the_same_tables_collide"]["share"] <= 0.05


def test_every_group_has_three_paraphrases_and_a_third_was_held_back() -> None:
    groups = _measure_buckets().groups(HOME / "data/questions/pairs.jsonl")
    assert all(len(group.questions) >= 3 for group in groups)
    assert sum(group.schema == "northwind" for group in groups) >= 60
    assert sum(group.schema == "marina" for group in groups) >= 15
    parts = [group.part for group in groups]
    assert 3 * parts.count("held") >= parts.count("held") + parts.count("development") - 3
    questions = [question for group in groups for question in group.questions]
    assert len(questions) == len(set(questions))
