from __future__ import annotations

import pytest

from agent.asides import asked
from agent.grounding import ground
from agent.intent import bucket_of, mask, predict
from agent.linking import Lexicon
from tests.agent.made import open_northwind


@pytest.fixture(scope="module")
def northwind() -> Lexicon:
    with open_northwind() as (_, lexicon):
        return lexicon


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Hi there, how many clients are in Austria?", "how many clients are in Austria?"),
        ("Hello! Good morning, which carriers are there", "which carriers are there"),
        ("How many orders came in? Thanks a lot!", "How many orders came in?"),
        ("how many orders came in thanks", "how many orders came in"),
        ("I have read approx. all of it, e.g. the report. How many orders came in?", "How many orders came in?"),
        ("I am writing the yearly report. How many orders came in in 1997?", "How many orders came in in 1997?"),
        (
            "I'm trying to see how we do, so could you show me the freight per carrier?",
            "could you show me the freight per carrier?",
        ),
        ("We want to send cards and I need to know which clients are in Austria", "which clients are in Austria"),
        ("There is a meeting tomorrow. How many orders came in?", "How many orders came in?"),
        ("I met Mr. Klein. How many of our orders came in?", "How many of our orders came in?"),
        ("We are looking at the orders again. How many clients are there?", "How many clients are there?"),
        ("The auditors have announced a visit. How many orders came in?", "How many orders came in?"),
        (
            "Our new buyer dislikes every chart. For each carrier, show the freight.",
            "For each carrier, show the freight.",
        ),
        ("My boss wants it short, which I like. How many orders came in?", "How many orders came in?"),
        ("We talked about moving the shelves. Which goods are sold out?", "Which goods are sold out?"),
        (
            "The tea went well. Which customers with their cities are in Spain?",
            "Which customers with their cities are in Spain?",
        ),
        (
            "The warehouse is full. Which goods sold least, and how many units was it?",
            "Which goods sold least, and how many units was it?",
        ),
        ("Before the meeting I'd like a feeling for it: how many goods are sold out?", "how many goods are sold out?"),
    ],
)
def test_what_only_leads_to_the_asking_is_left_out(said: str, meant: str, northwind: Lexicon) -> None:
    assert asked(said, northwind.kinds_in) == meant
    assert asked(meant, northwind.kinds_in) == meant


@pytest.mark.parametrize(
    "said",
    [
        "My client rang this morning. When did they order last?",  # points back
        "Somebody rang from extension 428, who is that?",
        "For the orders of customers in Poland I need order number and carrier.",  # says which
        "I need the orders of Ernst Handel",  # nothing is asked behind it
        "Customers in Germany, how many are there?",
        "I want to know the freight of order 10248: which carrier took it?",
        "Which clients are in Austria? Just the names",
        "We only care about Germany. How many clients do we have?",
        "I am looking at the clients in Austria. How many orders came in?",
        "I mean only the orders without a region. How many orders are there per carrier?",
        "We have clients who never ordered, so who are the clients?",
        "Which orders did the client Cheers place for Danke",
        "How much did we sell of chai",
        "Hi there",
        "There were orders with a big discount. How many cost over 100?",  # `how many` of what stands before it
        "I saw the orders of last week. How many were late?",
        "I saw the orders of last week. Which ones were late?",
        "There are orders without freight. Which cost over 100?",
        "We are looking at women, so how many orders came in?",  # says which, in words of nothing stored
        "I care about organic farming. How many orders came in?",
        "An order counts as late if it left after it was due. How many orders were late?",
        "Customers without an order are not interesting. Which customers are there?",
        "The house of Lisbon complained. How many orders did they place?",
        "Lisbon has been slow lately. How many customers ordered?",  # the only value
        "Something has gone. How many?",
        "List the customers. Which orders came in?",
    ],
)
def test_what_says_which_is_kept(said: str, northwind: Lexicon) -> None:
    assert asked(said, northwind.kinds_in) == said


def test_thanks_that_are_a_stored_value_are_kept() -> None:
    assert asked("which beers are like cheers", lambda text: ("value",) * ("cheers" in text)).endswith("cheers")
    assert asked("which beers are there, cheers", lambda text: ("value",)) == "which beers are there"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "My boss is asking about last year's report. How many orders placed in 1997 went to France?",
            "How many orders placed in 1997 went to France?",
        ),
        (
            "A colleague says that Japanese goods never sell. Which customers in Germany ordered Tofu?",
            "Which customers in Germany ordered Tofu?",
        ),
    ],
)
def test_talk_makes_no_links_no_intent_and_no_other_mask(said: str, meant: str, northwind: Lexicon) -> None:
    one, other = ground(said, northwind), ground(meant, northwind)
    assert one == other
    assert bucket_of(predict(said, one)) == bucket_of(predict(meant, other))
    assert mask(said, one) == mask(meant, other)


def test_a_question_all_of_whose_links_stand_in_the_talk_is_read_whole(northwind: Lexicon) -> None:
    said = "I am looking at the suppliers again. How many are there really?"
    assert ground(said, northwind).named == ("Suppliers",)
