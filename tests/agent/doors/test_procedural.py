"""How what was judged right or wrong changes how the next question is gone about, through the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.agent.doors.conftest import Endpoint, Home

WRONG = "SELECT COUNT(*) FROM Suppliers"


def customers_in(country: str) -> str:
    return f"How many customers are there in {country}?"


def counted(country: str) -> str:
    return f"SELECT COUNT(*) FROM Customers WHERE Country = '{country}'"


def test_a_bucket_moves_on_from_an_approach_that_failed_and_stays_with_one_that_works(
    home: Home, endpoint: Endpoint
) -> None:
    endpoint.says = lambda _question, _before: WRONG
    first = home.ask(customers_in("Brazil"))
    assert (first["approach"], first["approach_why"]) == ("direct", "not tried for such questions yet")
    home.run("feedback", first["id"], "bad")

    endpoint.says = lambda _question, _before: counted("Brazil")
    second = home.ask(customers_in("Brazil"))
    assert (second["approach"], second["approach_why"]) == ("values", "not tried for such questions yet")
    assert "(Customers.Country = 'Brazil')" in endpoint.shown()
    home.run("feedback", second["id"], "good")

    endpoint.says = lambda _question, _before: counted("France")
    third = home.ask(customers_in("France"))
    assert (third["approach"], third["approach_why"]) == ("values", "right 1 of 1 times in this bucket")

    other = home.ask("List all shippers")
    assert other["bucket"] != third["bucket"] and other["approach"] == "direct"


def test_an_approach_can_be_asked_for_and_an_unknown_one_is_named(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: counted("Brazil")
    answer = home.ask(customers_in("Brazil"), "--approach", "vote")
    assert (answer["approach"], answer["approach_why"], len(answer["attempts"])) == ("vote", "asked for", 2)
    ended = home.run("ask", customers_in("Brazil"), "--approach", "magic")
    assert ended.code == 2 and ended.says("magic", "direct, values, skeleton, lessons, plan, vote"), ended
