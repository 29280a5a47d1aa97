"""`hebbql evaluate`: anybody's questions and database, in arms that differ in what is remembered."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.agent.doors.conftest import Endpoint, Home

COUNT = "SELECT COUNT(*) FROM Customers WHERE Country = '{}'"
ASKED: dict[str, dict[str, Any]] = {
    "germany": {"question": "How many customers are there in Germany?", "sql": COUNT.format("Germany")},
    "spain": {"question": "How many customers are there in Spain?", "sql": COUNT.format("Spain")},
    "dear": {
        "question": "How many products cost more than 50?",
        "sql": "SELECT COUNT(*) FROM Products WHERE UnitPrice > 50",
        "type": "count",
        "difficulty": "easy",
    },
}


def write(path: Path, asked: dict[str, dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps({"id": id, **one}) + "\n" for id, one in asked.items()), "utf-8")
    return path


@pytest.fixture
def questions(home: Home) -> tuple[str, str]:
    return ("--questions", str(write(home.folder / "asked.jsonl", ASKED)))


def events(home: Home) -> int:
    from memory.ledger import Ledger

    with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
        return sum(1 for _ in ledger.events())


def test_arms_are_compared_and_nothing_is_learned(home: Home, endpoint: Endpoint, questions: tuple[str, str]) -> None:
    def says(shown: str, _before: int) -> str:
        with_schema = "CREATE TABLE" in endpoint.shown()
        return COUNT.format("Germany") if "Germany" in shown and with_schema else "SELECT COUNT(*) FROM Shippers"

    endpoint.says = says
    before = events(home)
    ended = home.run("evaluate", *questions, "--arms", "memory,bare, schema", "--think", "fast", "--json")
    assert ended.code == 0, ended
    told = ended.json
    assert told["status"] == "evaluated" and told["left_out"] == [] and "steps" not in told
    assert {one["arm"]: one["share"]["right"] for one in told["arms"]} == {"bare": 0, "schema": 1, "memory": 1}
    assert events(home) == before
    files = [home.folder / "runs" / path.split("/runs/")[1] for path in told["files"]]
    assert [path.name for path in files] == ["evaluation.json", "evaluation.md", "evaluation.svg"]
    kept = json.loads(files[0].read_text("utf-8"))
    assert len(kept["steps"]) == 9 and kept["about"]["model"] == "openai:said" and kept["about"]["effort"] == "fast"
    assert str(home.folder) not in "".join(path.read_text("utf-8") for path in files)
    assert [line.split(":")[1].strip() for line in ended.err.splitlines()[-3:]] == ["memory", "bare", "schema"]


def test_people_see_a_table_and_only_every_nth_question_is_asked(
    home: Home, endpoint: Endpoint, questions: tuple[str, str]
) -> None:
    endpoint.says = lambda _shown, _before: COUNT.format("Germany")
    out = home.folder / "an evaluation"
    ended = home.run("evaluate", *questions, "--arms", "schema,memory", "--every", "2", "--out", str(out))
    assert ended.code == 0, ended
    rows = [line.split() for line in ended.out.splitlines() if "1/2" in line]
    assert [row[0] for row in rows] == ["schema", "memory"] and (out / "evaluation.md").is_file()
    asked = [json.loads(line)["question"] for line in _steps(out)]
    assert asked == ["germany", "dear", "germany", "dear"]


def _steps(folder: Path) -> list[str]:
    whole = json.loads((folder / "evaluation.json").read_text("utf-8"))
    return [json.dumps(step) for step in whole["steps"]]


def test_golds_that_do_not_hold_are_named_counted_and_left_out(
    home: Home, endpoint: Endpoint, questions: tuple[str, str]
) -> None:
    wrong = {
        "no-table": {"question": "How many staff are there?", "sql": "SELECT COUNT(*) FROM Staff"},
        "doubted": {**ASKED["spain"], "check_sql": COUNT.format("Italy")},
    }
    path = write(home.folder / "wrong.jsonl", ASKED | wrong)
    endpoint.says = lambda _shown, _before: COUNT.format("Germany")
    ended = home.run("evaluate", "--questions", str(path), "--arms", "schema", "--json")
    assert ended.code == 0, ended
    assert {one["name"] for one in ended.json["left_out"]} == {"no-table", "doubted"}
    assert ended.json["questions"] == 3 and ended.json["about"]["left out"] == "no-table, doubted"
    for name in wrong:
        assert f"{name} is left out" in ended.err
    only = home.run("evaluate", "--questions", str(write(home.folder / "only.jsonl", wrong)), "--arms", "schema")
    assert only.code == 2 and only.says("only.jsonl", "nothing to ask"), only


def test_what_was_asked_before_it_broke_off_is_kept(home: Home, endpoint: Endpoint, questions: tuple[str, str]) -> None:
    def says(_shown: str, before: int) -> str:
        endpoint.status = 401 if before == 1 else 200  # of this very call
        return COUNT.format("Germany")

    endpoint.says = says
    out = home.folder / "broken off"
    ended = home.run("evaluate", *questions, "--arms", "schema", "--out", str(out), "--json")
    assert ended.code == 1 and ended.says("1 of 3", "HEBBQL_OPENAI_KEY", str(out)), ended
    assert ended.json["status"] == "broken off" and ended.json["arms"][0]["share"]["total"] == 1
    assert len(_steps(out)) == 1


def test_ctrl_c_keeps_what_was_asked(home: Home, endpoint: Endpoint, questions: tuple[str, str]) -> None:
    def says(_shown: str, before: int) -> str:
        endpoint.hold()
        return COUNT.format("Germany")

    endpoint.says = says
    out = home.folder / "interrupted"
    running = home.start("evaluate", *questions, "--arms", "schema", "--out", str(out))
    while len(endpoint.requests) < 2:
        time.sleep(0.05)
    running.signal(signal.SIGINT)
    ended = running.wait()
    assert ended.code == 130 and ended.says("Interrupted", str(out)) and len(_steps(out)) == 1, ended


@pytest.mark.parametrize("kept", [False, True], ids=["made", "found"])
def test_ctrl_c_before_the_first_answer_leaves_no_folder_that_was_made_for_nothing(
    home: Home, endpoint: Endpoint, questions: tuple[str, str], kept: bool
) -> None:
    endpoint.hold()
    out = home.folder / "made" / "for nothing"
    (out if kept else home.folder).mkdir(parents=True, exist_ok=True)
    running = home.start("evaluate", *questions, "--arms", "schema", "--out", str(out))
    assert endpoint.called.wait(60) and out.is_dir()
    running.signal(signal.SIGINT)
    ended = running.wait()
    assert ended.code == 130 and ended.says("Interrupted"), ended
    assert out.parent.exists() == out.exists() == kept


def test_another_database_is_asked_its_own_questions(
    home: Home, endpoint: Endpoint, make_sqlite: Callable[[Path, str], Path]
) -> None:
    towns = make_sqlite(
        home.folder / "towns.sqlite", "CREATE TABLE 동물 (이름 TEXT); INSERT INTO 동물 VALUES ('개'), ('소')"
    )
    asked = {"all": {"question": "동물 은 몇 마리 입니까?", "sql": "SELECT COUNT(*) FROM 동물", "language": "ko"}}
    path = write(home.folder / "asked.jsonl", asked)
    endpoint.says = lambda _shown, _before: "SELECT COUNT(*) FROM 동물"
    ended = home.run("evaluate", "--questions", str(path), "--db", str(towns), "--brain", str(home.folder / "b"))
    assert ended.code == 0 and ended.out.count("1/1") == 6, ended


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--arms", "schema,memroy"), ("memroy", "memory: all three memories", "shuffled")),
        (("--arms", "schema,schema"), ("'schema' twice",)),
        (("--arms", " ,"), ("Name an arm", "constant")),
        (("--every", "0"), ("--every",)),
        (("--every", "x"), ("--every",)),
        (("--questions", "nowhere.jsonl"), ("nowhere.jsonl",)),
        (("--out", "asked.jsonl"), ("asked.jsonl", "--out")),
        (("--model", "gpt"), ("gpt",)),
    ],
    ids=" ".join,
)
def test_what_an_option_does_not_take_is_told(
    home: Home, questions: tuple[str, str], options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    options = tuple(str(home.folder / one) if one == "asked.jsonl" else one for one in options)
    ended = home.run("evaluate", *(() if "--questions" in options else questions), *options)
    assert ended.code == (1 if "--model" in options else 2), ended
    assert "Traceback" not in ended.err + ended.out and all(word in ended.err for word in words), ended


def test_a_broken_line_is_named_by_number(home: Home) -> None:
    path = home.folder / "broken.jsonl"
    path.write_text('{"id": "a", "question": "How many?", "sql": "SELECT 1"}\n\nnothing\n', "utf-8")
    ended = home.run("evaluate", "--questions", str(path), "--json")
    assert ended.code == 2 and ended.says("broken.jsonl", "line 3") and ended.json["status"] == "usage", ended
