"""What a fresh interpreter loads: little for help, no Cognee without memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.agent.doors.conftest import Endpoint, Home

HEAVY = ("cognee", "sqlalchemy", "sqlglot", "litellm", "lancedb", "xllamacpp", "anthropic", "openai", "onnxruntime")

LISTING = """
import atexit, sys
atexit.register(lambda: print("LOADED", *sys.modules, file=sys.stderr))
sys.path.insert(0, sys.argv.pop(1))
from agent.doors.cli import main
main()
"""


@pytest.mark.parametrize(
    "command",
    ["", "ask", "teach", "feedback", "forget", "seed", "train", "evaluate", "doctor", "models", "models pull"],
)
def test_help_of_every_command_works_and_loads_nothing_heavy(home: Home, command: str) -> None:
    said, loaded = _loaded(home, *command.split(), "--help")
    assert "Usage: hebbql" in said and "--help" in said
    assert loaded & {*HEAVY, "numpy", "agent.app"} == set()


def test_without_memory_cognee_is_never_imported(home: Home, endpoint: Endpoint) -> None:
    said, loaded = _loaded(home, "ask", "How many customers are there?", "--no-memory", "--json")
    assert '"answered"' in said and "agent.app" in loaded
    assert not loaded & {"cognee", "lancedb", "litellm", "onnxruntime"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("teach", "spend means SUM(Orders.Freight)"), "spend"),
        (("ask", "Delete all customers", "--json"), '"refused"'),
        (("ask", "What is the weather like on Mars tomorrow?", "--json"), '"abstained"'),
    ],
)
def test_what_needs_no_recall_imports_neither_cognee_nor_a_model(
    home: Home, endpoint: Endpoint, command: tuple[str, ...], said: str
) -> None:
    told, loaded = _loaded(home, *command, codes=(0, 3, 4))
    assert said in told and "agent.app" in loaded
    assert not loaded & {*HEAVY, "numpy", "httpx"} - {"sqlalchemy", "sqlglot"}


def test_a_habit_imports_neither_cognee_nor_a_model(home: Home, endpoint: Endpoint) -> None:
    for country in ("Germany", "France", "Brazil"):
        sql = f"SELECT COUNT(*) FROM Customers WHERE Country = '{country}'"
        endpoint.says = lambda _question, _before, sql=sql: sql  # type: ignore[misc]
        answer = home.ask(f"How many customers are there in {country}?", "--no-memory")
        assert home.run("feedback", answer["id"], "good").code == 0
    said, loaded = _loaded(home, "ask", "How many customers are there in Spain?", "--json")
    assert '"path": "habit"' in said and "agent.app" in loaded
    assert not loaded & {*HEAVY, "numpy", "httpx"} - {"sqlalchemy", "sqlglot"}


def test_the_models_are_listed_without_opening_a_brain(home: Home) -> None:
    said, loaded = _loaded(home, "models")
    assert "0.5b" in said and "no key is set" in said
    assert not loaded & {"cognee", "xllamacpp", "anthropic", "openai"}


def test_a_question_in_a_fresh_interpreter_says_nothing_but_the_answer(home: Home, endpoint: Endpoint) -> None:
    ended = home.run_anew("ask", "How many customers are there?", "--json")
    assert ended.code == 0 and ended.json["rows"] == [[91]] and len(ended.json["recalled"]) >= 3
    assert ended.err == "" and ended.out.count("\n") == 1


def test_a_question_that_ends_before_cognee_is_loaded_ends_cleanly(home: Home, endpoint: Endpoint) -> None:
    ended = home.run_anew("ask", "What is the weather like on Mars tomorrow?", "--json")
    assert ended.code == 3 and ended.json["status"] == "abstained" and ended.err == ""


def _loaded(home: Home, *arguments: str, codes: tuple[int, ...] = (0,)) -> tuple[str, set[str]]:
    """Run a command in a fresh interpreter; give its stdout and the modules it had loaded at its end."""
    process = home.start_anew(*arguments, program=LISTING)
    out, err = process.communicate(timeout=120)
    assert process.returncode in codes and "Traceback" not in err, err
    return out, set(err.splitlines()[-1].removeprefix("LOADED ").split())
