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


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many rows are there in Owner's Card?", "Owner's Card"),
        ("How many Rooms & Wards are there?", "Rooms & Wards"),
        ("How many 동물 are there?", "동물"),
        ("How many Врачи are there?", "Врачи"),
        ("How many rows does group have?", "group"),
    ],
)
def test_odd_names_are_linked_quoted_and_asked(
    home: Home, recorded: str, clinic: Path, question: str, rows: str
) -> None:
    answer = home.ask(question, "--db", str(clinic), "--brain", str(home.folder / "clinic"), model=recorded)
    print(answer["sql"], answer["rows"], answer["intent"], answer["message"])
    assert answer["status"] == "answered", answer["message"]
