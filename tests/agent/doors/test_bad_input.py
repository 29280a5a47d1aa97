"""Broken databases, brains, models and networks: one clear line, the right exit code, and nothing lost."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.agent.doors.conftest import Endpoint, Home

BRAZIL = "How many customers are there in Brazil?"
COUNT_BRAZIL = "SELECT COUNT(*) FROM Customers WHERE Country = 'Brazil'"
CLOSED_PORT = "http://127.0.0.1:9"


def _not_a_database(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04 a table of something else " * 100)
    return path


# The database


def test_a_database_that_cannot_be_asked_is_named_with_what_to_do(home: Home, make_sqlite: Callable[..., Path]) -> None:
    empty = home.folder / "empty.sqlite"
    empty.touch()
    bare = make_sqlite(home.folder / "bare.sqlite", "PRAGMA user_version = 1")
    cases = [
        (str(home.folder / "none.sqlite"), "There is no database"),
        (str(home.folder), "is a folder"),
        (str(empty), "0 bytes"),
        (str(_not_a_database(home.folder / "zip.sqlite")), "zip.sqlite"),
        (str(bare), "no tables"),
        ("mysql://root@localhost/shop", "MySQL"),
        ("duckdb:///shop.db", "DuckDB"),
        ("postgresql://nobody@127.0.0.1:9/shop", "cannot be reached"),
        ("nonsense://", "nonsense"),
        ("postgresql://[", "URL"),
    ]
    for url, word in cases:
        ended = home.run("ask", BRAZIL, "--json", "--db", url, "--model", "claude")
        assert ended.code == 1 and ended.says("hebbql:", word), (url, ended)
        assert ended.json == {"status": "failed", "message": ended.err.strip().removeprefix("hebbql: ")}
        assert ended.err.count("\n") == 1
    assert not (home.folder / "none.sqlite").exists() and not empty.stat().st_size


def test_a_database_that_another_process_is_writing_is_told_as_such(
    home: Home, endpoint: Endpoint, make_sqlite: Callable[..., Path]
) -> None:
    shop = make_sqlite(home.folder / "shop.sqlite", "CREATE TABLE towns (name TEXT); INSERT INTO towns VALUES ('Ulm')")
    with closing(sqlite3.connect(shop, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ended = home.run("ask", "How many towns are there?", "--db", str(shop), "--brain", str(home.folder / "towns"))
        assert ended.code == 1 and ended.says("shop.sqlite", "lock"), ended
        other.execute("COMMIT")


def test_a_question_with_another_databases_brain_is_refused_and_the_brain_kept(
    home: Home, endpoint: Endpoint, make_sqlite: Callable[..., Path], whole: Callable[[Home], None]
) -> None:
    shop = make_sqlite(home.folder / "shop.sqlite", "CREATE TABLE towns (name TEXT); INSERT INTO towns VALUES ('Ulm')")
    other = home.run("ask", "How many towns are there?", "--db", str(shop))
    assert other.code == 1 and other.says("northwind", "--brain"), other
    same_name = make_sqlite(home.folder / "else" / "northwind.sqlite", "CREATE TABLE towns (name TEXT)")
    foreign = home.run("ask", "How many towns are there?", "--db", str(same_name))
    assert foreign.code == 1 and foreign.says("another database", "--brain"), foreign
    whole(home)


# The brain


def test_a_brain_file_that_is_none_is_refused_and_never_replaced(home: Home, make_sqlite: Callable[..., Path]) -> None:
    def zero(path: Path) -> Path:
        path.touch()
        return path

    def foreign(path: Path) -> Path:
        return make_sqlite(path, "CREATE TABLE towns (name TEXT)")

    for number, (make, word) in enumerate(((zero, "0 bytes"), (_not_a_database, "not a SQLite"), (foreign, "another"))):
        folder = home.folder / f"broken-{number}"
        folder.mkdir()
        before = make(folder / "brain.sqlite").read_bytes()
        ended = home.run("ask", BRAZIL, "--model", "claude", "--brain", str(folder))
        assert ended.code == 1 and ended.says("brain.sqlite", word), ended
        assert (folder / "brain.sqlite").read_bytes() == before
        doctor = home.run("doctor", "--json", "--brain", str(folder))
        found = {one["name"]: one for one in doctor.json["checks"]}
        assert doctor.code == 1 and not found["brain"]["ok"] and word in found["brain"]["detail"]
        assert found["database"]["ok"] and not found["episodes"]["ok"]


def test_a_brain_in_a_folder_that_may_not_be_written_is_told(home: Home) -> None:
    closed = home.folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    bounded = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    for brain in (closed, closed / "brain"):
        ended = home.run_anew("ask", BRAZIL, "--model", "claude", "--brain", str(brain), through=bounded)
        assert ended.code == 1 and ended.says("closed", "cannot be written", "--brain"), ended
    assert list(closed.iterdir()) == []


def test_a_second_question_waits_for_the_first_and_says_so(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = lambda _question, _before: COUNT_BRAZIL
    endpoint.hold()
    first = home.start("ask", BRAZIL, "--json")
    assert endpoint.called.wait(60)
    second = home.start("ask", "How many customers are there in Spain?", "--json")
    until = time.monotonic() + 60
    while "Waiting for another hebbql" not in second.err and time.monotonic() < until:
        time.sleep(0.05)
    assert f"process {first.pid}" in second.err and len(endpoint.requests) == 1
    endpoint.free.set()
    one, two = first.wait(), second.wait()
    assert (one.code, two.code) == (0, 0) and one.json["status"] == two.json["status"] == "answered"
    whole(home)


def test_a_brain_that_stays_in_use_is_given_up_on_in_time(home: Home) -> None:
    home.environment["HEBBQL_LEASE_WAIT"] = "0.3"
    with (home.brain / "writer.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = home.run("feedback", "abc", "good")
        assert ended.code == 1 and ended.says("Another hebbql", "--brain"), ended
        doctor = home.run("doctor")
        assert doctor.code == 1 and "Another hebbql" in doctor.out and "Waiting for another" in doctor.err
        assert doctor.err.count("Waiting") == 1, "it waits once, not once a check"


def test_a_lost_cognee_folder_is_rebuilt_from_the_ledger(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    before = home.ask(BRAZIL)["recalled"]
    shutil.rmtree(home.brain / "cognee")
    assert home.ask(BRAZIL)["recalled"] == before
    whole(home)


@pytest.mark.parametrize("what", ["cognee_db", "*.l[ab]*"], ids=["register", "vectors and graph"])
def test_a_damaged_cognee_folder_costs_no_answer_and_no_memory(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None], what: str
) -> None:
    before = home.ask(BRAZIL)["recalled"]
    damaged = [path for path in (home.brain / "cognee" / "system").rglob(what) if path.is_file()]
    assert damaged
    for path in damaged:
        path.write_bytes(b"nothing that was here before" * 40)
    answer = home.ask(BRAZIL)
    assert answer["status"] == "answered"
    assert "How many customers are there in Germany?" in [one["question"] for one in answer["recalled"]]
    doctor = home.run("doctor", "--json")
    episodes = next(one for one in doctor.json["checks"] if one["name"] == "episodes")
    if not episodes["ok"]:
        assert "cognee" in episodes["fix"] + episodes["detail"], episodes
        shutil.rmtree(home.brain / "cognee")
        assert home.ask(BRAZIL)["recalled"] == before
        whole(home)


# The model


def test_no_model_file_and_no_network_names_the_command_that_fetches_it(home: Home) -> None:
    offline = {name: CLOSED_PORT for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy")}
    home.environment |= offline | {"PIP_INDEX_URL": f"{CLOSED_PORT}/simple", "PIP_RETRIES": "0"}
    home.environment["HEBBQL_MODEL"] = "0.5b"
    ended = home.run("ask", BRAZIL, "--no-memory", "--json")
    assert ended.code == 1 and ended.says("hebbql models pull"), ended
    assert home.run("models", "pull", "7b").says("7b", "0.5b")
    listed = home.run("models", "--json").json
    assert {one["alias"]: one["present"] for one in listed if one["kind"] == "local"} == {"0.5b": False, "1.5b": False}


def test_a_wrong_key_is_told_at_once(home: Home, endpoint: Endpoint) -> None:
    endpoint.status = 401
    home.environment |= {"ANTHROPIC_API_KEY": "sk-ant-wrong-0123", "ANTHROPIC_BASE_URL": endpoint.url}
    for model, variable in (("claude", "ANTHROPIC_API_KEY"), ("openai:said", "HEBBQL_OPENAI_KEY")):
        endpoint.requests.clear()
        answer = home.ask(BRAZIL, "--no-memory", model=model)
        assert answer["status"] == "failed" and variable in answer["message"], answer
        assert "sk-ant-wrong" not in json.dumps(answer) and len(endpoint.requests) == 1


def test_no_key_for_a_hosted_model_names_the_variable(home: Home) -> None:
    ended = home.run("ask", BRAZIL, "--no-memory", "--model", "claude", "--json")
    assert ended.code == 1 and "ANTHROPIC_API_KEY" in ended.json["message"]


def test_no_network_for_a_hosted_model_gives_up_within_its_deadline(home: Home) -> None:
    home.environment |= {"ANTHROPIC_API_KEY": "sk-ant-0123", "ANTHROPIC_BASE_URL": CLOSED_PORT}
    home.environment["HEBBQL_MODEL_DEADLINE"] = "2"
    answer = home.ask(BRAZIL, "--no-memory", model="claude")
    assert answer["status"] == "failed" and answer["message"] and answer["seconds"]["total"] < 20


def test_a_recording_that_is_missing_or_lacks_the_prompt_is_told(home: Home) -> None:
    ended = home.run("ask", BRAZIL, "--model", f"recorded:{home.folder}/none.jsonl")
    assert ended.code == 1 and ended.says("none.jsonl")


# Settings


def test_a_setting_that_cannot_be_read_is_usage(home: Home) -> None:
    home.environment["HEBBQL_SQL_DEADLINE"] = "soon"
    ended = home.run("ask", BRAZIL, "--model", "claude")
    assert ended.code == 2 and ended.says("HEBBQL_SQL_DEADLINE", "soon")


# Other databases


def test_a_postgresql_database_is_asked_like_any_other(home: Home, endpoint: Endpoint, postgres_database: str) -> None:
    import psycopg

    with psycopg.connect(postgres_database.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute('CREATE TABLE "Town Halls" (id INT PRIMARY KEY, town TEXT, storeys INT)')
        connection.execute("""INSERT INTO "Town Halls" VALUES (1, 'Ulm', 4), (2, 'Bonn', 3), (3, 'Trier', 3)""")
    where = ("--db", postgres_database, "--brain", str(home.folder / "halls"))
    right = 'SELECT COUNT(*) FROM "Town Halls" WHERE storeys = 3'
    endpoint.says = lambda _question, before: ['UPDATE "Town Halls" SET storeys = 0', right, right][before]
    first = home.run("ask", "How many town halls have 3 storeys?", *where, "--json")
    assert first.says("superuser", "only SELECT"), "the role may do more than read, and the person is told"
    answer = first.json
    assert (answer["status"], answer["rows"]) == ("answered", [[2]]) and len(answer["attempts"]) == 2, answer
    assert home.run("feedback", answer["id"], "good", *where).code == 0
    assert home.ask("How many town halls have 4 storeys?", *where)["recalled"][0]["sql"] == right
    assert home.run("doctor", *where, "--json").json["ok"] is True


def test_five_hundred_tables_are_narrowed_to_what_the_question_links_to(
    home: Home, endpoint: Endpoint, make_sqlite: Callable[..., Path]
) -> None:
    words = [f"{thing}{place}" for thing in "abcdefghij" for place in range(50)]
    columns = ", ".join(f"measure_{number} REAL" for number in range(10))
    script = "".join(f'CREATE TABLE "plant_{word}" (id INTEGER PRIMARY KEY, {columns});' for word in words)
    script += "CREATE TABLE lighthouses (id INTEGER PRIMARY KEY, height REAL);"
    script += "INSERT INTO lighthouses (height) VALUES (30.5), (41);"
    large = make_sqlite(home.folder / "large.sqlite", script)
    endpoint.says = lambda _question, _before: "SELECT COUNT(*) FROM lighthouses"
    answer = home.ask("How many lighthouses are there?", "--db", str(large), "--brain", str(home.folder / "large"))
    assert answer["rows"] == [[2]] and answer["intent"]["tables"] == ["lighthouses"]
    shown = endpoint.shown()
    assert "CREATE TABLE lighthouses" in shown and shown.count("CREATE TABLE") < 20 and len(shown) < 40_000
    assert "plant_a1" in shown
