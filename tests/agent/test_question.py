"""How a typed question is cleaned, and which are refused."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent.question import LONGEST, QuestionError, asks_to_write, cleaned, read_question


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("How many customers are there?", "How many customers are there?"),
        ("  How\tmany\n\n customers \r\n are there?  ", "How many customers are there?"),
        ("How ma\u200bny cus\u2060tomers\ufeff are there?", "How many customers are there?"),
        ("How many \u202ecustomers\u202c are \u2066there\u2069?", "How many customers are there?"),
        ("\x1b[1;31mHow many\x1b[0m customers?", "How many customers?"),
        ("\x1b]0;evil title\x07How many customers?", "How many customers?"),
        ("\x1b]8;;http://x.example\x1b\\How many\x1b]8;;\x1b\\ customers?", "How many customers?"),
        ("\x1bPq#0;2\x1b\\How many \x1b_hidden\x1b\\customers?", "How many customers?"),
        ("\x9b31mHow many\x9b0m customers?", "How many customers?"),
        ("How many\x00 cus\x07tomers\x7f?", "How many customers?"),
        ("Which cafe\u0301s?", "Which cafés?"),
        ("Which cafe\u200b\u0301s?", "Which cafés?"),
        ("How many\ud83d customers\udc00?", "How many customers?"),
        ("How many\ue000 customers\U000e0041?", "How many customers?"),
        ("net\u00adsales", "netsales"),
        ("one\u2028two\u2029three\u0085four\u00a0five\u3000six", "one two three four five six"),
        ("고객은 몇 명입니까?", "고객은 몇 명입니까?"),
        ("ᄒ\u1161ᆫ국 고객\u3164?", "한국 고객?"),
        ("كم عدد العملاء؟", "كم عدد العملاء؟"),
        ("有多少客户\uff1f", "有多少客户\uff1f"),
        ("Сколько клиентов?", "Сколько клиентов?"),
        ("Wie viele Kunden gibt es in Köln? \U0001f389", "Wie viele Kunden gibt es in Köln? \U0001f389"),
        ("10248", "10248"),
    ],
)
def test_a_question_is_cleaned_of_what_nobody_typed_on_purpose(typed: str, read: str) -> None:
    assert read_question(typed) == read


@pytest.mark.parametrize(
    "typed",
    ["", " ", "\n\t", "\u200b\ufeff", "\x1b[31m", "\x1b]0;title\x07", "?!", "\U0001f389", "\ud800", "\u3164\u115f"],
)
def test_a_text_without_letters_and_digits_is_no_question_and_shows_one(typed: str) -> None:
    with pytest.raises(QuestionError, match=r'Ask for example: hebbql ask "'):
        read_question(typed)


@pytest.mark.parametrize("typed", ["x" * 100_000, "x" * (LONGEST + 1), "a " * LONGEST])
def test_a_question_too_long_is_refused_with_its_length(typed: str) -> None:
    with pytest.raises(QuestionError, match=rf"{len(typed.strip()):,} characters; at most 4,000 are read"):
        read_question(typed)


def test_what_is_taken_out_does_not_count_as_length() -> None:
    assert len(read_question("\u200b" * LONGEST + "x" * LONGEST)) == LONGEST


ANYTHING = some.text(some.characters(codec=None), max_size=60) | some.text(
    "aé\u0301\u0338\u200b\u202e\x1b[]0;mPx\\\x07\x9b\x9c \n\ud83d\u3164e\u1100\u1161", max_size=60
)


@settings(max_examples=600, deadline=None)
@given(ANYTHING)
def test_reading_twice_is_reading_once_and_nothing_unseen_is_left(typed: str) -> None:
    try:
        read = read_question(typed)
    except QuestionError:
        return
    assert read_question(read) == read
    assert read == " ".join(read.split()) != ""
    assert unicodedata.is_normalized("NFC", read)
    assert not {unicodedata.category(character) for character in read} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    read.encode("utf-8")


@settings(max_examples=300, deadline=None)
@given(ANYTHING)
def test_cleaning_is_idempotent(typed: str) -> None:
    assert cleaned(cleaned(typed)) == cleaned(typed)


@pytest.mark.parametrize(
    ("question", "verb"),
    [
        ("Delete all orders of 1996", "Delete"),
        ("please remove the customer Ernst Handel", "remove"),
        ("Could you please erase every supplier?", "erase"),
        ("DROP TABLE Orders", "DROP"),
        ("drop  index x", "drop"),
        ("insert into Orders values (1)", "insert"),
        ("UPDATE Orders SET Freight = 0", "UPDATE"),
        ("Truncate Orders", "Truncate"),
        ("truncate table Orders;", "truncate"),
        ("create table Sales (Id int)", "create"),
    ],
)
def test_an_order_to_change_the_data_is_seen(question: str, verb: str) -> None:
    assert asks_to_write(question) == verb


@pytest.mark.parametrize(
    "question",
    [
        "Which orders were deleted in 1996?",
        "How many customers did we remove?",
        "Update me on open orders",
        "Update customers settled in Berlin: how many are there?",
        "Which supplier dropped the most products?",
        "Show the orders, and drop the cancelled ones",
        "Remove duplicates from the list of countries",
        "How many table tennis sets were created?",
        "What is the drop in sales from 1996 to 1997?",
        "Truncate the unit prices to whole dollars and list them",
        "Create table of sales per year",
        "Remove the discount: what is the gross revenue of 1997?",
        "Remove products that are discontinued, then list the rest",
    ],
)
def test_a_question_about_a_change_is_only_a_question(question: str) -> None:
    assert asks_to_write(question) == ""
