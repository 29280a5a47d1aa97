"""Korean and German questions, typed names and short years find what the same question in plain English finds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.database.reading import open_database
from agent.grounding import ground
from agent.intent import bucket_of, predict
from agent.linked import Grounding
from agent.linking import Lexicon
from agent.periods import moments, periods
from tests.agent.made import open_northwind

HOME = Path(__file__).resolve().parents[2]
CLINIC = """
CREATE TABLE Patients (PatientID INTEGER PRIMARY KEY, Name TEXT, Age INTEGER, Country TEXT);
CREATE TABLE Visits (
  VisitID INTEGER PRIMARY KEY, PatientID INTEGER REFERENCES Patients(PatientID), Held_on DATE, Cost REAL
);
CREATE TABLE Talks (TalkID INTEGER PRIMARY KEY, Title TEXT, Manager TEXT);
CREATE TABLE Doctors (DoctorID INTEGER PRIMARY KEY, First_name TEXT, Last_name TEXT, Title TEXT);
INSERT INTO Patients VALUES (1, 'Una Berg', 78, 'Iceland'), (2, 'Piet Vos', 33, 'Belgium');
INSERT INTO Doctors VALUES (1, 'Bill', 'Stone', 'surgeon'), (2, 'Ada', 'Cook', 'nurse');
INSERT INTO Visits VALUES (1, 1, '1995-03-04', 80.0), (2, 2, '1998-06-07', 95.5);
"""


@pytest.fixture(scope="module")
def northwind() -> Lexicon:
    with open_northwind() as (_, lexicon):
        return lexicon


def _said(grounding: Grounding) -> set[tuple[str | None, str | None, str | None]]:
    literal = {"value", "year", "month", "quarter", "half", "date"}
    return {
        (link.table, link.column, link.value if link.kind in literal else None)
        for link in grounding.chosen
        if link.kind in literal or (link.column and link.role != "entity")
    }


@pytest.mark.parametrize(
    ("elsewhere", "english"),
    [
        ("스웨덴 고객의 도시와 전화번호를 보여 주세요.", "city and phone of customers in Sweden"),
        ("멕시코에 있는 고객은 몇 명인가요?", "how many customers are in Mexico"),
        ("Wie viele Kunden haben wir in Österreich?", "how many customers do we have in Austria"),
        ("Bestellungen im zweiten Quartal 1997", "orders in the second quarter of 1997"),
        ("1997년 3월의 주문은 몇 건인가요?", "how many orders were there in March 1997"),
        ("Welche Postleitzahl hat der Kunde Ernst Handel?", "postal code of the customer Ernst Handel"),
    ],
)
def test_a_question_of_another_language_links_to_the_same(elsewhere: str, english: str, northwind: Lexicon) -> None:
    one, other = ground(elsewhere, northwind), ground(english, northwind)
    assert _said(one) == _said(other)
    assert one.tables == other.tables
    assert one.filters == other.filters


@pytest.mark.parametrize(
    ("elsewhere", "english"),
    [
        ("Wie viele Kunden haben wir in Mexiko?", "how many customers do we have in Mexico"),
        ("Bei wie vielen Kunden war Robert King?", "how many customers did Robert King visit"),
        ("멕시코 고객은 몇 명인가요?", "how many customers are in Mexico"),
    ],
)
def test_counting_is_seen_in_other_languages(elsewhere: str, english: str, northwind: Lexicon) -> None:
    one = predict(elsewhere, ground(elsewhere, northwind))
    assert one.kind == "count" == predict(english, ground(english, northwind)).kind


def test_a_word_of_another_language_is_no_stored_value_of_the_same_letters(northwind: Lexicon) -> None:
    value, country = "customers in Lander", "customers in London"
    assert ground(value, northwind).values[0].value == "Lander"
    assert bucket_of(predict(value, ground(value, northwind)))
    assert ground(country, northwind).values[0].column == "City"


def test_korean_counts_limit_the_rows(northwind: Lexicon) -> None:
    grounding = ground("매출이 가장 높은 공급업체 세 곳", northwind)
    assert (grounding.limit, grounding.direction) == (3, "high")


def test_both_ends_of_an_amount_are_no_one_row(northwind: Lexicon) -> None:
    both = ground("the lowest, the average and the highest list price per category", northwind)
    assert (both.limit, both.direction) == (None, None)
    assert ground("the highest list price per category", northwind).direction == "high"


def test_a_time_goes_by_the_verb_before_it(northwind: Lexicon) -> None:
    def dated(question: str) -> tuple[str, str] | None:
        return ground(question, northwind).date_column

    assert dated("orders placed in 1998 and shipped to France") == ("Orders", "OrderDate")
    assert dated("orders to France that were shipped in 1998") == ("Orders", "ShippedDate")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("in '97", ["1997"]),
        ("placed in 97?", ["1997"]),
        ("in 96 and how many in 97, side by side", ["1996", "1997"]),
        ("placed in 96 and 97", ["1996", "1997"]),
        ("december 96 and again in december 97", ["1996-12", "1997-12"]),
        ("q1 97 against q1 98", ["1997-Q1", "1998-Q1"]),
        ("first half of '97", ["1997-H1"]),
        ("since '05", ["2005"]),
        ("feb 98", ["1998-02"]),
        ("6. Mai 1998", ["1998-05-06"]),
        ("im März 1997", ["1997-03"]),
        ("1997년 12월", ["1997-12"]),
        ("1998년 1분기", ["1998-Q1"]),
        ("1997년 하반기", ["1997-H2"]),
        ("in the nineties", ["1990s"]),
        ("in the '90s", ["1990s"]),
        ("in the 1960s", ["1960s"]),
        ("people in their fifties", []),
        ("pieces in 40s boxes", []),
        ("the opening quarter of 1998", ["1998-Q1"]),
        ("the final quarter of 1997", ["1997-Q4"]),
        ("quarter 3 of 1997", ["1997-Q3"]),
        ("1Q 1997", ["1997-Q1"]),
        ("3/15/1998", ["1998-03-15"]),
        ("25/12/1997", ["1997-12-25"]),
        ("on 12.3.1998", ["1998-03-12"]),
        ("over 97 units", []),
        ("in 97 countries", []),
        ("order 97", []),
        ("freight below 90", []),
        ("on march 25", []),
        ("97% of orders", []),
    ],
)
def test_short_years_and_other_languages_times(text: str, values: list[str]) -> None:
    assert [moment.value for moment in moments(text)] == values


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("seit 1997", 1997, None),
        ("vor 1997", None, 1997),
        ("bis 1997", None, 1998),
        ("1997년 이후", 1997, None),
        ("1997년까지", None, 1998),
        ("1997년 이전", None, 1997),
        ("since 97", 1997, None),
        ("before '97", None, 1997),
    ],
)
def test_open_times_of_other_languages(text: str, since: int | None, until: int | None) -> None:
    (period,) = periods(text, moments(text))
    assert (period.since and period.since.year, period.until and period.until.year) == (since, until)


def test_where_something_goes_is_not_where_somebody_is(northwind: Lexicon) -> None:
    def column(question: str) -> str | None:
        links = ground(question, northwind).chosen
        return next(link.column for link in links if link.text == "countries")

    assert column("employees whose orders went to 18 countries or more") == "ShipCountry"
    assert column("employees from 2 countries who took orders") == "Country"


def test_a_number_before_what_it_counts_is_held_against_it(northwind: Lexicon) -> None:
    (held,) = ground("customers with 10 orders or more", northwind).comparisons
    assert (held.operator, held.number) == (">=", "10")


def test_pieces_of_an_order_are_what_was_sold(northwind: Lexicon) -> None:
    grounding = ground("How many pieces were on order 10440?", northwind)
    assert ("Order Details", "Quantity") in {(link.table, link.column) for link in grounding.chosen}


def test_a_name_is_not_read_across_a_comma(northwind: Lexicon) -> None:
    assert "Order Details" not in ground("per year: orders, total so far", northwind).tables


def test_what_is_said_again_in_brackets_counts_once(northwind: Lexicon) -> None:
    grounding = ground("\ub3c5\uc77c(Germany) \uace0\uac1d\uc740 \uba87 \uba85\uc778\uac00\uc694?", northwind)
    assert [link.text for link in grounding.values] == ["Germany"]
    assert not grounding.leftover


def test_everyday_words_find_names_where_there_is_no_glossary() -> None:
    with closing(open_database(str(HOME / "data/northwind.sqlite"))) as database:
        bare = Lexicon.build(database.schema, database.facts)
    assert ground("our clients and their number to call", bare).named == ("Customers",)
    assert ground("which couriers took the purchases", bare).named == ("Shippers", "Orders")
    assert ground("postage of order 10248", bare).chosen[0].column == "Freight"


def test_pieces_that_are_counted_are_added_up(northwind: Lexicon) -> None:
    question = "Order 10440, how many pieces was that all together?"
    assert predict(question, ground(question, northwind)).kind == "sum"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    path = tmp_path_factory.mktemp("clinic") / "clinic.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(CLINIC)
    with closing(open_database(str(path))) as database:
        return Lexicon.build(database.schema, database.facts)


@pytest.mark.parametrize(
    "said",
    [
        "patients aged from 75 to 90",
        "patients aged in 75 or in 90",
        "which patients weigh from 70 to 85 kg",
        "visits from 70 to 85",  # no date of the database is near
        "visits that cost in 90 or more",
        "patients of 97 towns",
    ],
)
def test_two_digits_that_count_something_are_no_year(said: str, clinic: Lexicon) -> None:
    grounding = ground(said, clinic)
    assert not grounding.periods
    assert not any("_on" in condition for condition in grounding.filters)


@pytest.mark.parametrize("said", ["In March 45 patients came", "in March, 85 patients or more", "in March 98 visits"])
def test_a_number_behind_a_month_that_counts_something_is_no_year(said: str) -> None:
    assert [moment.value for moment in moments(said)] == ["03"]


@pytest.mark.parametrize("said", ["visits in 97", "visits from 96 to 97 per month", "visits in 97 or later"])
def test_two_digits_near_the_dates_of_the_database_are_a_year(said: str, clinic: Lexicon) -> None:
    assert len(ground(said, clinic).periods) == 1


def test_the_german_name_of_a_country_is_not_read_into_english(clinic: Lexicon) -> None:
    assert not ground("which patients live on an island", clinic).values
    assert [link.value for link in ground("which patients live in iceland", clinic).values] == ["Iceland"]


def test_the_title_of_a_talk_is_nobodys_profession(clinic: Lexicon) -> None:
    assert "Talks" not in ground("What is the profession of Una Berg?", clinic).named


@pytest.mark.parametrize("said", ["job title", "boss", "supervisors"])
def test_a_word_of_people_names_no_column_of_things(said: str, clinic: Lexicon) -> None:
    assert "Talks" not in ground(f"Give me the {said} please", clinic).named


def test_a_word_of_people_names_the_column_of_those_it_is_about(clinic: Lexicon) -> None:
    assert ground("Give me the job title of everybody", clinic).named == ("Doctors",)


@pytest.mark.parametrize(
    ("plural", "name"), [("How many bills were paid?", "What did Bill do"), ("Which cooks left?", "Where is Cook?")]
)
def test_a_plural_in_small_letters_is_nobodys_name(plural: str, name: str, clinic: Lexicon) -> None:
    assert not ground(plural, clinic).values
    assert len(ground(name, clinic).values) == 1


@pytest.mark.parametrize(
    "said",
    [
        "In March 45 patients were admitted",
        "In the first quarter 50 patients came. How many visits cost over 100?",
        "Here is the news. 45 patients were admitted. How many visits cost over 100?",
        "In March 45 patients visited",
    ],
)
def test_a_number_of_those_of_whom_something_is_told_is_no_number_of_rows(said: str, clinic: Lexicon) -> None:
    assert ground(said, clinic).limit is None


@pytest.mark.parametrize(
    "said",
    ["Which 5 patients were here last?", "Show 5 patients", "5 patients with most visits", "In May show 5 visits"],
)
def test_a_number_of_those_who_are_asked_for_is_one_of_rows(said: str, clinic: Lexicon) -> None:
    assert ground(said, clinic).limit == 5
