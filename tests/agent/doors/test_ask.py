"""`hebbql ask`, end to end: a process, real Cognee, the model behind a real HTTP endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.agent.doors.conftest import Endpoint, Home

KEYS = [
    *("id", "question", "status", "sql", "columns", "rows", "row_count", "truncated", "confidence", "unsure"),
    *(
        "rests_on",
        "intent",
        "bucket",
        "path",
        "canary",
        "model",
        "habit",
        "approach",
        "approach_why",
        "recalled",
        "findings",
        "candidates",
        "attempts",
    ),
    *("seconds", "usage", "message"),
]

BRAZIL = "How many customers are there in Brazil?"
COUNT_BRAZIL = "SELECT COUNT(*) FROM Customers WHERE Country = 'Brazil'"


def test_one_object_with_the_promised_keys_is_all_that_json_prints(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: f"```sql\n{COUNT_BRAZIL};\n```"
    ended = home.run("ask", BRAZIL, "--json")
    answer = ended.json
    assert ended.code == 0 and ended.out.count("\n") == 1
    assert list(answer) == KEYS
    assert list(answer["seconds"]) == ["total", "recall", "model", "database"]
    assert {"input_tokens", "output_tokens", "cost_usd"} <= set(answer["usage"])
    assert list(answer["recalled"][0]) == ["episode", "question", "sql", "bucket", "origin", "verifier", "score", "why"]
    assert answer["status"] == "answered" and answer["rows"] == [[9]] and answer["row_count"] == 1
    assert answer["sql"] == COUNT_BRAZIL and answer["attempts"] == [{"sql": COUNT_BRAZIL, "problem": None}]
    assert answer["intent"] == {"kind": "count", "tables": ["Customers"]}
    assert answer["truncated"] is False and answer["path"] == "model" and answer["model"] == "openai:said"


def test_what_is_recalled_stands_in_the_same_bucket_first_and_is_shown_to_the_model(
    home: Home, endpoint: Endpoint
) -> None:
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    answer = home.ask(BRAZIL)
    first, *others = answer["recalled"]
    assert first["question"] == "How many customers are there in Germany?"
    assert first["bucket"] == answer["bucket"] and first["why"].startswith("same bucket")
    assert others and all(one["bucket"] != answer["bucket"] and one["why"] for one in others)
    assert first["sql"] in endpoint.shown() and "CREATE TABLE" in endpoint.shown()


def test_data_goes_to_stdout_and_everything_else_to_stderr(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: "SELECT CompanyName FROM Shippers ORDER BY CompanyName"
    ended = home.run("ask", "Which shippers are there?")
    assert ended.code == 0 and ended.err == ""
    for shown in ("Federal Shipping", "SELECT CompanyName FROM Shippers", "Memories", "hebbql feedback "):
        assert shown in ended.out
    assert "\x1b" not in ended.out


def test_a_question_about_nothing_in_the_database_is_abstained_from(home: Home, endpoint: Endpoint) -> None:
    answer = home.ask("What is the weather like on Mars tomorrow?")
    assert answer["status"] == "abstained" and answer["message"] and answer["rows"] == []
    assert endpoint.requests == [], "no model is called for it"


@pytest.mark.parametrize(
    "written",
    [
        "DELETE FROM Customers",
        "SELECT 1; DROP TABLE Customers",
        "ATTACH 'stolen.db' AS s",
        "SELECT load_extension('x')",
    ],
)
def test_a_model_that_writes_more_than_a_question_is_refused(home: Home, endpoint: Endpoint, written: str) -> None:
    before = home.northwind.read_bytes()
    endpoint.says = lambda _question, _before: written
    answer = home.ask(BRAZIL, "--no-memory")
    assert answer["status"] == "refused" and answer["rows"] == [] and answer["message"]
    assert all(attempt["problem"] for attempt in answer["attempts"])
    assert home.northwind.read_bytes() == before and not (home.folder / "stolen.db").exists()


def test_a_mistake_goes_back_to_the_model_with_what_was_wrong(home: Home, endpoint: Endpoint) -> None:
    drafts = ["SELECT COUNT(*) FROM Visitors WHERE Country = 'Brazil'", COUNT_BRAZIL]
    endpoint.says = lambda _question, before: drafts[before]
    answer = home.ask(BRAZIL, "--no-memory")
    assert answer["status"] == "answered" and answer["rows"] == [[9]]
    assert [bool(attempt["problem"]) for attempt in answer["attempts"]] == [True, False]
    assert answer["attempts"][0]["problem"] in endpoint.shown()


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        (lambda _question, _before: "I am sorry, I would rather talk about the weather today.", 2),
        (lambda _question, _before: None, 2),
        (lambda _question, _before: "", 2),
        (lambda _question, before: (f"SELECT {before}, " + "Country, " * 400, "length"), 3),
        (lambda _question, before: f"SELECT Nothing{before} FROM Customers", 3),
        (lambda _question, before: f"SELECT COUNT(*) FROM Customers WHERE CompanyName || {before}.1 = abs('a', 1)", 3),
    ],
    ids=["prose", "no text", "empty", "loops", "other mistakes each time", "what the database cannot run"],
)
def test_a_model_that_never_writes_a_query_that_runs_fails_with_what_to_do(
    home: Home, endpoint: Endpoint, said: Any, calls: int
) -> None:
    endpoint.says = said
    answer = home.ask(BRAZIL, "--no-memory")
    assert answer["status"] == "failed" and len(endpoint.requests) == calls
    assert "hebbql feedback" in answer["message"] and "\n" not in answer["message"]


def test_what_is_no_question_or_no_option_is_usage_and_opens_nothing(home: Home, endpoint: Endpoint) -> None:
    fresh = ("--brain", str(home.folder / "fresh"))
    for arguments, word in (
        (("ask", "", *fresh), "empty"),
        (("ask", " \u200b\x1b[31m\n", *fresh), "empty"),
        (("ask", "How many customers? " * 5_000, *fresh), "4,000"),
        (("feedback", "abc", *fresh), "good | bad"),
        (("feedback", "abc", "good", "--sql", "SELECT 1", *fresh), "good | bad"),
        (("forget", *fresh), "EPISODE"),
        (("forget", "abc", "--bucket", "b", *fresh), "EPISODE"),
    ):
        ended = home.run(*arguments)
        assert (ended.code, ended.out) == (2, "") and ended.says(word), ended
        assert home.run(*arguments, "--json").json["status"] == "usage"
    for line in (["ask", BRAZIL, "--nonsense"], ["ask"], ["nonsense"]):
        ended = home.run(*line)
        assert (ended.code, ended.out) == (2, "") and "Traceback" not in ended.err
    assert not (home.folder / "fresh").exists() and endpoint.requests == []


def test_an_unknown_model_is_told_before_a_brain_is_made(home: Home) -> None:
    ended = home.run("ask", BRAZIL, "--model", "1.5bb", "--brain", str(home.folder / "fresh"))
    assert ended.code == 1 and ended.says("1.5bb", "Did you mean '1.5b'?", "claude")
    assert not (home.folder / "fresh").exists()


def test_escapes_and_invisible_characters_never_reach_the_terminal(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: (
        "SELECT CompanyName, char(27) || '[31mred' || char(0) || char(8238) || 'x' AS \"a\x1b[1mb\" "
        "FROM Customers WHERE Country = 'Brazil' LIMIT 2"
    )
    ended = home.run("ask", "List\u200b the \x1b]0;title\x07customers\x9b31m from\u202e Brazil.")
    assert ended.code == 0, ended
    assert not [char for char in ended.out + ended.err if (ord(char) < 32 and char != "\n") or char in "\x7f\x9b\u202e"]
    assert "\\x1b[31mred\\x00\\u202ex" in ended.out.replace("\n", "")
    said = home.run("feedback", "\x1b[31mred\x9b", "good")
    assert said.code == 2 and said.says("red")
    assert "\x1b" not in said.err and "\x9b" not in said.err


def test_a_terminal_with_few_letters_still_gets_its_answer(home: Home, endpoint: Endpoint) -> None:
    home.environment["PYTHONIOENCODING"] = "ascii"
    listed = home.run_anew("models")
    assert listed.code == 0 and "\\u" in listed.out and "Traceback" not in listed.err
    endpoint.says = lambda _question, _before: "SELECT 'Société', '東京' FROM Customers LIMIT 1"
    ended = home.run_anew("ask", "List the customers from Brazil.", "--no-memory", "--json")
    assert ended.code == 0 and ended.json["rows"] == [["Société", "東京"]]


def test_a_result_that_is_cut_off_says_so(home: Home, endpoint: Endpoint) -> None:
    home.environment["HEBBQL_ROW_CAP"] = "7"
    endpoint.says = lambda _question, _before: "SELECT CompanyName FROM Customers"
    answer = home.ask("List all customers.")
    assert answer["truncated"] is True and answer["row_count"] == len(answer["rows"]) == 7
    assert "row cap" in answer["message"]


def test_a_hosted_model_is_shown_the_glossary_with_the_schema_and_what_was_taught_since(
    home: Home, endpoint: Endpoint
) -> None:
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    home.ask(BRAZIL, "--no-memory")
    first = endpoint.requests[-1]["messages"][0]["content"]
    home.ask("How many orders were placed in 1997?", "--no-memory")
    assert endpoint.requests[-1]["messages"][0]["content"] == first, "what a cache keeps is the same for every question"
    assert "\nWords:\n" in first and "zingy" not in first
    assert home.run("teach", "zingy means Products.UnitPrice > 50").code == 0
    home.ask(BRAZIL, "--no-memory")
    assert "\nzingy = Products.UnitPrice > 50\n" in endpoint.requests[-1]["messages"][0]["content"]
