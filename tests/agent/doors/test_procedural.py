"""How what was judged right or wrong changes how the next question is gone about, through the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.ledger import Ledger

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
    assert (first["approach"], first["approach_why"]) == ("values", "not tried for such questions yet")
    assert "(Customers.Country = 'Brazil')" in endpoint.shown()
    home.run("feedback", first["id"], "bad")

    endpoint.says = lambda _question, _before: counted("Brazil")
    second = home.ask(customers_in("Brazil"))
    assert (second["approach"], second["approach_why"]) == ("direct", "not tried for such questions yet")
    assert "(Customers.Country = 'Brazil')" not in endpoint.shown()
    home.run("feedback", second["id"], "good")

    endpoint.says = lambda _question, _before: counted("France")
    third = home.ask(customers_in("France"))
    assert (third["approach"], third["approach_why"]) == ("direct", "right 1 of 1 times in this bucket")

    other = home.ask("List all shippers")
    assert other["bucket"] != third["bucket"] and other["approach"] == "direct"


def test_an_approach_can_be_asked_for_and_an_unknown_one_is_named(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: counted("Brazil")
    answer = home.ask(customers_in("Brazil"), "--approach", "vote", "--think", "deep")
    assert (answer["approach"], answer["approach_why"]) == ("vote", "asked for") and len(answer["attempts"]) > 1
    ended = home.run("ask", customers_in("Brazil"), "--approach", "magic")
    assert ended.code == 2 and ended.says("magic", "values, direct, skeleton, lessons, plan, vote"), ended


# Habits


def learned(home: Home, endpoint: Endpoint, *countries: str) -> None:
    """Ask about each country and call each answer good; nothing is recalled, to be quick."""
    for country in countries:
        endpoint.says = lambda _question, _before, country=country: counted(country)  # type: ignore[misc]
        answer = home.ask(customers_in(country), "--no-memory")
        assert home.run("feedback", answer["id"], "good").code == 0


def path(home: Home, question: str, *options: str) -> str:
    return str(home.ask(question, *options)["path"])


def test_what_was_right_three_times_is_replayed_with_new_literals_and_no_model(home: Home, endpoint: Endpoint) -> None:
    learned(home, endpoint, "Germany", "France")
    assert path(home, customers_in("Germany")) == "model", "twice is not often enough"
    learned(home, endpoint, "Brazil")
    endpoint.says = lambda _question, _before: WRONG
    calls = len(endpoint.requests)
    answer = home.ask(customers_in("Spain"))
    assert (answer["path"], answer["sql"], answer["rows"]) == ("habit", counted("Spain"), [[5]])
    assert answer["habit"] and answer["approach"] is None and answer["usage"]["input_tokens"] == 0
    [memory] = answer["recalled"]
    assert memory["why"] == "habit: right 3 of 3 times" and memory["sql"] == counted("Brazil")
    shown = " ".join(home.run("ask", customers_in("Portugal")).out.split())
    assert "path: habit" in shown and "Portugal" in shown and "habit: right 3 of 3 times" in shown
    assert len(endpoint.requests) == calls
    for options in (("--no-habit",), ("--no-memory",), ("--approach", "direct")):
        assert path(home, customers_in("Spain"), *options) == "model", options
    home.environment["HEBBQL_HABIT_SUCCESSES"] = "4"
    assert path(home, customers_in("Spain")) == "model"


def test_a_city_for_a_country_is_asked_of_the_model_and_a_bad_replay_breaks_the_habit(
    home: Home, endpoint: Endpoint
) -> None:
    learned(home, endpoint, "Germany", "France", "Brazil")
    endpoint.says = lambda _question, _before: WRONG
    assert path(home, "How many customers are there in London?") == "model"
    replay = home.ask(customers_in("Spain"))
    assert replay["path"] == "habit"
    assert "The habit is broken" in home.run("feedback", replay["id"], "bad").out
    assert [path(home, customers_in(country)) for country in ("Spain", "Germany")] == ["model", "model"]


def test_erasing_its_episodes_ends_a_habit(home: Home, endpoint: Endpoint) -> None:
    learned(home, endpoint, "Germany", "France", "Brazil")
    replay = home.ask(customers_in("Spain"))
    with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
        episodes = ledger.masked("how many customers are there in <value>")
    assert replay["path"] == "habit" and len(episodes) >= 3
    for episode in episodes:
        assert home.run("forget", str(episode.id), "--erase", "--yes").code == 0
    endpoint.says = lambda _question, _before: counted("Spain")
    assert path(home, customers_in("Spain")) == "model"


# Lessons


def test_a_mistake_leaves_a_lesson_that_the_bucket_can_be_shown(home: Home, endpoint: Endpoint) -> None:
    mistake = "SELECT COUNT(*) FROM Customers WHERE Land = 'Brazil'"
    endpoint.says = lambda _question, before: counted("Brazil") if before else mistake
    first = home.ask(customers_in("Brazil"))
    assert [one["problem"] is None for one in first["attempts"]] == [False, True]
    endpoint.says = lambda _question, _before: counted("Spain")
    second = home.ask(customers_in("Spain"), "--approach", "lessons")
    assert second["approach"] == "lessons"
    assert mistake in endpoint.shown() and "Land" in first["attempts"][0]["problem"]
