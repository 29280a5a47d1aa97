"""`brain improve`, `rollback` and `canary`: what they print and how they end, in processes of their own."""

from __future__ import annotations

import json

import pytest

from tests.agent.doors.conftest import Endpoint, Home

GERMANY = "How many customers are there in Germany?"
CHECK = f'[[check]]\nkind = "must_know"\nname = "germans"\nquestion = "{GERMANY}"\nrows = [[11]]\n'


@pytest.fixture
def checks(home: Home) -> str:
    folder = home.folder / "checks"
    folder.mkdir()
    (folder / "team.toml").write_text(CHECK, encoding="utf-8")
    return str(folder)


def test_improving_goes_back_and_forth_with_the_exit_codes_of_a_gate(home: Home, checks: str) -> None:
    holdout = home.folder / "holdout.jsonl"
    pair = {"id": "h1", "question": "How many customers are there in Brazil?"}
    pair["sql"] = "SELECT COUNT(*) FROM Customers WHERE Country = 'Brazil'"
    holdout.write_text(json.dumps(pair) + "\n", encoding="utf-8")
    options = ("--checks", checks, "--holdout", str(holdout))
    still = home.run("brain", "improve", *options, "--json")
    assert still.code == 0 and still.json["outcome"] == "unchanged", still.err

    file = home.folder / "more.brain"
    assert home.run("brain", "export", str(file)).code == 0
    lines = file.read_text("utf-8").splitlines()
    twin = next(json.loads(line) for line in lines if GERMANY in line)
    twin["sql"], twin["verifier"] = twin["sql"].replace("SELECT", "select"), "agreement"
    file.write_text("\n".join([*lines, json.dumps(twin)]) + "\n", encoding="utf-8")
    assert home.run("brain", "build", str(file), "--edited", "--yes").code == 0
    done = home.run("brain", "improve", *options, "--json")
    assert done.code == 0 and done.json["outcome"] == "accepted", done.out + done.err
    assert done.json["counts"] == {"duplicate": 1} and [one["right"] for one in done.json["after"]["answers"]] == [True]
    id = done.json["id"]

    asked = home.run("brain", "rollback", f"{id}-before", said="n\n")
    assert asked.code == 1 and "1 edit " in asked.err
    refused = home.run("brain", "rollback", f"{id}-before", "--json")
    assert refused.code == 2 and "say --yes as well" in refused.json["message"]
    back = home.run("brain", "rollback", f"{id}-before", "--yes", "--json").json
    assert back["exact"] and back["hash"] == done.json["before"]["hash"]
    assert home.run("brain", "rollback", "nowhere", "--yes").says("No snapshot is called nowhere")

    (home.folder / "checks" / "team.toml").write_text(CHECK.replace("11", "12"), encoding="utf-8")
    red = home.run("brain", "improve", *options)
    assert red.code == 1 and "**Refused" in red.out and "germans: " in red.out
    assert home.run("brain", "improve", "--checks", "nowhere").code == 2


def test_a_canary_is_begun_shown_answers_and_is_stopped(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: "SELECT COUNT(*) FROM Customers WHERE Country = 'Brazil'"
    assert "There never was" in home.run("brain", "canary").out
    assert home.run("brain", "snapshot", "whole").code == 0
    [known] = [one for one in home.ask(GERMANY)["recalled"] if one["question"] == GERMANY]
    assert home.run("forget", known["episode"]).code == 0
    for share in ("0%", "101%", "much"):
        assert home.run("brain", "canary", "whole", "--share", share).code == 2
    begun = home.run("brain", "canary", "whole", "--share", "100%", "--json")
    assert begun.code == 0 and begun.json["status"] == "running" and begun.json["edits"] == 1, begun.out + begun.err
    answer = home.ask("How many customers are there in Brazil?")
    assert answer["canary"] == begun.json["id"] and GERMANY in {one["question"] for one in answer["recalled"]}
    assert f"answered by {begun.json['id']}" in home.run("ask", "How many customers are there in Brazil?").out
    assert "answers 100% of the questions" in home.run("brain", "canary").out
    assert home.run("brain", "canary", "whole", "--stop").code == 2
    assert home.run("brain", "canary", "--stop", "--json").json["status"] == "stopped"
    after = home.ask("How many customers are there in Brazil?")
    assert after["canary"] is None and GERMANY not in {one["question"] for one in after["recalled"]}
    assert "nothing to stop" in home.run("brain", "canary", "--stop").out
