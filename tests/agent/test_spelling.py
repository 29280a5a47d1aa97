from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.grounding import ground
from agent.intent import bucket_of, mask, predict
from agent.linking import Lexicon
from agent.spelling import is_word, respelt
from agent.wording import Token
from tests.agent.made import open_northwind


@pytest.fixture(scope="module")
def northwind() -> Lexicon:
    with open_northwind() as (_, lexicon):
        return lexicon


def _far(token: Token) -> int:
    return 9


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("whcih clients", "which clients"),
        ("how mnay are there", "how many are there"),
        ("name adn price plese", "name and price please"),
        ("avrage nubmer of pieces for eahc year", "average number of pieces for each year"),
        ("Averge freight", "Average freight"),
        ("cost mroe then 10", "cost more than 10"),
        ("those who dont pay", "those who don't pay"),
        ("next to eachother", "next to each other"),
        ("orders of Febuary 1998", "orders of Febuary 1998"),
        ("orders of febuary 1998", "orders of february 1998"),
        ("WICH PRODCTS ARE OUT OF STOCK, AND HOW MNAY?", "WHICH PRODCTS ARE OUT OF STOCK, AND HOW MANY?"),
    ],
)
def test_mistyped_everyday_words_are_mended(typed: str, meant: str) -> None:
    assert respelt(typed, _far) == meant


@pytest.mark.parametrize(
    "typed",
    [
        "bottles on a shelf in a wide lane",  # real words, one letter from everyday ones
        'the client named "mroe"',  # quoted
        'the song called "Dont stop"',
        "those named \u2018whcih\u2019, \u201emroe\u201c or \u00abplese\u00bb",
        "all books about 'the us army'",
        "problems of lactation after a decease, and throughput of the quartets",  # rare, and right
        "what did Mroe buy",  # a name
        "wie viele Kunden hatten wir nahc 1997",  # not English
        "xq fo ot",  # too short to be sure
    ],
)
def test_what_may_be_meant_as_it_stands_is_left(typed: str) -> None:
    assert respelt(typed, _far) == typed


def test_a_word_nearer_to_the_database_is_left_to_linking() -> None:
    assert respelt("the whice ones", lambda token: 1) != respelt("the whice ones", lambda token: 0)
    assert respelt("the whice ones", lambda token: 0) == "the whice ones"


@pytest.mark.parametrize("typed", ["who teaches whats next", "calls of noone", "the song Dont stop"])
def test_a_word_of_the_database_stays_as_it_is_typed(typed: str) -> None:
    assert respelt(typed, lambda token: 0) == typed
    assert respelt(typed, _far) != typed


@given(st.text(alphabet="abcdehilmnorstuwy ", max_size=60))
def test_mending_twice_changes_nothing(text: str) -> None:
    once = respelt(text, _far)
    assert respelt(once, _far) == once


def test_a_dictionary_word_is_no_mistyped_name(northwind: Lexicon) -> None:
    assert is_word("rang")
    grounding = ground("Somebody rang from extension 428, who is that?", northwind)
    assert "Products" not in grounding.named


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("how mnay custommers are in Germany", "how many customers are in Germany"),
        ("whcih prodcuts cost mroe than 20", "which products cost more than 20"),
        ("avrage freight per ordr in febuary 1997", "average freight per order in february 1997"),
    ],
)
def test_a_mistyped_question_lands_in_the_bucket_of_the_meant_one(typed: str, meant: str, northwind: Lexicon) -> None:
    one, other = ground(typed, northwind), ground(meant, northwind)
    assert bucket_of(predict(typed, one)) == bucket_of(predict(meant, other))
    assert len(one.filters) == len(other.filters)
    assert mask(typed, one) == mask(one.question, one)


@pytest.mark.parametrize("word", ["picked", "sending", "contract", "stick", "paint", "slipped", "pride", "sports"])
def test_a_word_of_the_dictionary_links_to_no_name_one_letter_away(word: str, northwind: Lexicon) -> None:
    assert not ground(f"what about the {word} here", northwind).chosen


@pytest.mark.parametrize(
    ("typed", "value"),
    [("Levrling", "Leverling"), ("Dodswroth", "Dodsworth"), ("Cannada", "Canada"), ("Tunbröd", "Tunnbröd")],
)
def test_a_mistyped_value_is_found(typed: str, value: str, northwind: Lexicon) -> None:
    assert [link.value for link in ground(f"what of {typed}", northwind).values] == [value]
