"""What a person does to the memory through the command line, and what the next question then recalls."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from memory.ledger import EventKind, Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.agent.doors.conftest import Endpoint, Home

BRAZIL = "How many customers are there in Brazil?"
COUNT_BRAZIL = "SELECT COUNT(*) FROM Customers WHERE Country = 'Brazil'"
PORTUGAL = "How many customers are there in Portugal?"


def _ledger(home: Home) -> Ledger:
    return Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False)


def _files_with(folder: Path, words: str) -> list[str]:
    """Files in which the words stand, as they are or as JSON writes them."""
    marks = {words.encode(), json.dumps(words)[1:-1].encode(), words.casefold().encode()}
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if any(mark in path.read_bytes() for mark in marks)]


def test_a_good_answer_is_recalled_a_bad_one_is_taken_out_again(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    first = home.ask(BRAZIL)
    good = home.run("feedback", first["id"], "good", "--json")
    assert good.code == 0, good.err
    [id] = good.json["remembered"]
    again = home.run("feedback", first["id"], "good", "--json").json
    assert again["remembered"] == [] and "nothing changed" in again["message"]

    endpoint.says = lambda _question, _before: COUNT_BRAZIL.replace("Brazil", "Portugal")
    second = home.ask(PORTUGAL)
    assert id in [one["episode"] for one in second["recalled"] if one["why"].startswith("same bucket")]
    assert COUNT_BRAZIL in endpoint.shown()

    bad = home.run("feedback", first["id"], "bad", "--json")
    assert bad.code == 0 and bad.json["forgotten"] == [id]
    third = home.ask(PORTUGAL)
    assert id not in [one["episode"] for one in third["recalled"]] and COUNT_BRAZIL not in endpoint.shown()
    whole(home)


def test_an_unjudged_answer_is_never_remembered(home: Home, endpoint: Endpoint) -> None:
    with _ledger(home) as ledger:
        before = {episode.id for episode in ledger.episodes()}
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    home.ask(BRAZIL)
    with _ledger(home) as ledger:
        assert {episode.id for episode in ledger.episodes()} == before


def test_a_correction_is_run_remembered_and_shown_to_the_model(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: "SELECT COUNT(*) FROM Suppliers WHERE Country = 'Brazil'"
    wrong = home.ask(BRAZIL)
    for sql, word in (
        ("DELETE FROM Customers", "DELETE"),
        ("SELECT Nothing FROM Customers", "Nothing"),
        ("", ""),
    ):
        refused = home.run("feedback", wrong["id"], "--sql", sql)
        assert refused.code in (1, 2) and refused.says("hebbql:", word), refused
    done = home.run("feedback", wrong["id"], "--sql", COUNT_BRAZIL, "--json")
    assert done.code == 0 and len(done.json["remembered"]) == 1, done
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    recalled = home.ask(BRAZIL)["recalled"]
    assert (recalled[0]["question"], recalled[0]["sql"]) == (BRAZIL, COUNT_BRAZIL)
    assert COUNT_BRAZIL in endpoint.shown()


def test_feedback_on_what_is_no_attempt_says_so(home: Home) -> None:
    ended = home.run("feedback", "0000000000", "good")
    assert ended.code == 2 and ended.says("0000000000", "hebbql ask")


def test_what_is_taught_is_told_to_the_model_from_then_on(home: Home, endpoint: Endpoint) -> None:
    question = "What is the takings of all orders?"
    endpoint.says = lambda _question, _before: "SELECT SUM(Freight) FROM Orders"
    taught = home.run("teach", 'takings means SUM("Order Details".UnitPrice * "Order Details".Quantity)')
    assert taught.code == 0 and "takings" in taught.out, taught
    home.ask(question)
    asked = endpoint.shown().rpartition(question)[2]
    assert '(takings = SUM("Order Details".UnitPrice * "Order Details".Quantity))' in asked.splitlines(), asked
    refused = home.run("teach", "takings means SUM(Orders.Nothing)")
    assert refused.code == 2 and refused.says("Nothing")


def test_forgetting_one_a_bucket_and_a_batch_is_proven_and_does_not_come_back(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    answer = home.ask(BRAZIL)
    recalled = {one["question"]: one for one in answer["recalled"]}
    one = recalled["How many customers are there in Germany?"]
    done = home.run("forget", one["episode"][:8], "--json")
    assert done.code == 0 and done.json["forgotten"] == [one["episode"]] and done.json["proof"], done
    other = recalled["List the customers from Switzerland."]
    unsure = home.run("forget", "--bucket", other["bucket"], "--json")
    assert unsure.code == 2 and unsure.says("--yes"), "several ask for a word, and nobody is there to give it"
    done = home.run("forget", "--bucket", other["bucket"], "--json", "--yes")
    assert done.code == 0 and other["episode"] in done.json["forgotten"]
    left = {found["episode"] for found in home.ask(BRAZIL)["recalled"]}
    assert left and not left & {one["episode"], other["episode"]}

    with _ledger(home) as ledger:
        [batch] = {episode.batch for episode in ledger.episodes()}
    assert home.run("forget", "--batch", batch, "--yes").code == 0
    assert home.ask(BRAZIL)["recalled"] == []
    seeded = home.run("seed", "--json")
    assert seeded.json["remembered"] == 0 and home.ask(BRAZIL)["recalled"] == []
    assert home.run("forget", "--batch", batch, "--yes").code == 2
    whole(home)


def test_erasing_leaves_no_byte_of_the_question_anywhere(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    place, sql = "Rio de Janeiro", "SELECT COUNT(*) FROM Customers WHERE City = 'Rio de Janeiro'"
    question = f"How many customers are there in {place}?"
    endpoint.says = lambda _question, _before: sql
    answer = home.ask(question)
    [id] = home.run("feedback", answer["id"], "good", "--json").json["remembered"]
    assert id == home.ask(question)["recalled"][0]["episode"]
    endpoint.says = lambda _question, _before: sql.lower().replace("customers", "  Customers")
    home.ask(f"how many customers are there in  {place}", "--no-memory")
    assert {name.partition("/")[0] for name in _files_with(home.brain, place)} >= {"brain.sqlite", "cognee"}

    assert home.run("forget", id, "--json").code == 0
    assert _files_with(home.brain, place), "forgotten is not erased"
    erased = home.run("forget", id, "--erase", "--json")
    assert erased.code == 0 and erased.json["forgotten"] == [id], erased
    assert [line for line in erased.json["proof"] if line.startswith("files")] == [
        "files searched for the questions' words: 0 hold them",
        "files searched for their SQL: 0 hold them",
    ]
    assert _files_with(home.brain, place) == []
    assert _files_with(home.folder / "runs", place) == []
    assert home.run("forget", id, "--erase").code == 2
    kept = [one["question"] for one in home.ask(BRAZIL)["recalled"]]
    assert "How many customers are there in Germany?" in kept, "the others of its bucket stay"
    whole(home)


def test_without_memory_nothing_is_recalled_but_the_attempt_is_kept(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    answer = home.ask(BRAZIL, "--no-memory")
    assert answer["recalled"] == [] and "Frankenversand" not in endpoint.shown()
    with _ledger(home) as ledger:
        record = ledger.attempt(answer["id"])
        assert record is not None and record.state == "settled"


def test_a_wrong_pair_of_a_pack_is_refused_by_name(home: Home) -> None:
    pack = home.folder / "mine.jsonl"
    pairs = [
        {"id": "right", "question": "How many shippers are there?", "sql": "SELECT COUNT(*) FROM Shippers"},
        {
            "id": "wrong-check",
            "question": "How many orders?",
            "sql": "SELECT COUNT(*) FROM Orders",
            "check_sql": "SELECT 1",
        },
        {"id": "writes", "question": "How many customers?", "sql": "DELETE FROM Customers"},
        {"id": "empty", "question": "Which customers are in Atlantis?", "sql": "SELECT 1 FROM Customers WHERE 0"},
    ]
    pack.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    ended = home.run("seed", str(pack), "--json")
    assert ended.code == 1 and ended.json["remembered"] == 1
    assert [one["name"] for one in ended.json["refused"]] == ["wrong-check", "writes", "empty"]
    pack.write_text('{"id": "a"}\n')
    assert home.run("seed", str(pack)).says("line 1", "question")
    assert home.run("seed", str(home.folder / "none.jsonl")).says("none.jsonl")


def test_a_brain_seeds_itself_once_at_its_first_question(home: Home, endpoint: Endpoint) -> None:
    fresh = home.folder / "fresh"
    home.environment["HEBBQL_BRAIN"] = str(fresh)
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    first = home.run("ask", BRAZIL, "--json")
    assert first.code == 0 and "seed pack" in first.err and len(first.json["recalled"]) >= 3
    second = home.run("ask", BRAZIL, "--json")
    assert "seed" not in second.err and second.json["recalled"] == first.json["recalled"]
    with Ledger.open(fresh / "brain.sqlite", database="northwind", create=False) as ledger:
        assert len(list(ledger.events(kinds=(EventKind.BATCH_OPENED,)))) == 1


def test_a_brain_that_was_copied_keeps_to_itself(home: Home, endpoint: Endpoint, whole: Callable[[Home], None]) -> None:
    copy = home.folder / "copied"
    shutil.copytree(home.brain, copy)
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    ended = home.run("ask", BRAZIL, "--json", "--brain", str(copy))
    assert ended.json["recalled"] and ended.says("built anew", "copied or moved"), ended
    first = ended.json["recalled"][0]["episode"]
    assert home.run("forget", first, "--erase", "--yes", "--brain", str(copy)).code == 0
    assert first in [one["episode"] for one in home.ask(BRAZIL)["recalled"]]
    whole(home)
    found = {one["name"]: one for one in home.run("doctor", "--json", "--brain", str(copy)).json["checks"]}
    assert found["episodes"]["ok"], found["episodes"]


def test_the_command_that_teaches_after_a_failure_finds_the_same_brain(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: "SELECT Nothing FROM Customers"
    ended = home.run("ask", BRAZIL, "--no-memory", "--brain", str(home.brain))
    assert ended.code == 1 and f"--brain {home.brain}" in " ".join(ended.out.split()), ended
