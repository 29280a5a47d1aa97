"""Questions answered by the real 0.5B, whose replies to exactly these prompts are recorded.

When a prompt changes, a test here says that it has no recording. Record again with
`DOORS_RECORD=runs/models scripts/test tests/agent/doors/test_recorded.py` (a folder of local models; one minute).
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agent.doors.conftest import Home


@pytest.fixture(autouse=True)
def _model_alone(home: Home) -> None:
    """Code does nothing about drafts, so that the model is asked, and by prompts that hang on nothing else."""
    home.environment["HEBBQL_LEVERS"] = "none"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Path:
    """The database with spaces, quotes, reserved words and other alphabets in its names."""
    script = source / "scripts" / "build_odd_database.py"
    spec = importlib.util.spec_from_file_location("build_odd_database", script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = tmp_path_factory.mktemp("odd") / "clinic.sqlite"
    module.build(path)
    return path


def test_northwind_is_answered_with_and_without_memory(home: Home, recorded: str) -> None:
    question = "How many customers are there in Brazil?"
    answer = home.ask(question, model=recorded)
    assert (answer["status"], answer["rows"]) == ("answered", [[9]]), answer["message"]
    assert answer["recalled"] and answer["usage"]["output_tokens"] > 0
    plain = home.ask(question, "--no-memory", model=recorded)
    assert plain["status"] == "answered" and plain["recalled"] == [], plain["message"]


def test_what_the_model_gets_wrong_is_corrected_once_and_right_from_then_on(home: Home, recorded: str) -> None:
    question = "How many products cost more than 50?"
    answer = home.ask(question, model=recorded)
    right = "SELECT COUNT(*) FROM Products WHERE UnitPrice > 50"
    assert home.run("feedback", answer["id"], "--sql", right).code == 0
    again = home.ask(question, model=recorded)
    assert again["recalled"][0]["question"] == question and again["rows"] == [[7]], again["message"]


def test_names_in_other_alphabets_are_linked_and_asked(home: Home, recorded: str, clinic: Path) -> None:
    where = ("--db", str(clinic), "--brain", str(home.folder / "clinic"))
    for question, table, rows in (
        ("How many 동물 are there?", "동물", [[60]]),
        ("How many Врачи are there?", "Врачи", [[7]]),
    ):
        answer = home.ask(question, *where, model=recorded)
        assert answer["intent"]["tables"] == [table]
        assert (answer["status"], answer["rows"]) == ("answered", rows), answer["message"]


def test_names_with_quotes_and_reserved_words_are_learned_from_one_correction(
    home: Home, recorded: str, clinic: Path
) -> None:
    where = ("--db", str(clinic), "--brain", str(home.folder / "clinic"))
    for question, table, right in (
        ("How many rows are there in Owner's Card?", "Owner's Card", """SELECT COUNT(*) FROM "Owner's Card\""""),
        ("How many rows does group have?", "group", 'SELECT COUNT(*) FROM "group"'),
    ):
        first = home.ask(question, *where, model=recorded)
        assert first["intent"]["tables"] == [table]
        assert all(draft["problem"] for draft in first["attempts"][:-1])
        corrected = home.run("feedback", first["id"], "--sql", right, *where)
        assert corrected.code == 0, corrected
        again = home.ask(question, *where, model=recorded)
        assert (again["status"], again["sql"]) == ("answered", right), again["message"]
