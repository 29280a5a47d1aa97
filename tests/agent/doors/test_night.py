"""A night in small: the command line trains on twelve questions with replies that the real 0.5B gave.

It begins with one episode that is right by luck; code does nothing about drafts beside the model. Learning, forgetting
and seeding must all happen. When a prompt changes, a test says that it has no recording; record again with
`DOORS_RECORD=runs/models scripts/test tests/agent/doors/test_night.py` (a folder of local models; five minutes).
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.agent.doors.conftest import RECORD_WITH

if TYPE_CHECKING:
    from tests.agent.doors.conftest import Home

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parent / "recorded" / "night.jsonl"
LUCKY = {"id": "lucky", "question": "How many customers are located in the UK?", "sql": "SELECT 7"}
HELD = [
    {"id": "held-count", "question": "How many customers are located in Sweden?",
     "sql": "SELECT COUNT(*) FROM Customers WHERE Country = 'Sweden'"},
    {"id": "held-average", "question": "What is the average freight of orders sent to Norway?",
     "sql": "SELECT AVG(Freight) FROM Orders WHERE ShipCountry = 'Norway'"},
]  # fmt: skip
EPOCHS = 5


@pytest.fixture(scope="module")
def night(seeded: Home, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of the run, and what came after it."""
    from tests.agent.doors.conftest import Home

    folder = tmp_path_factory.mktemp("night")
    shutil.copytree(seeded.folder / "data", folder / "data")
    (folder / "runs" / "models").mkdir(parents=True)
    home = Home(folder, seeded.launcher, {"HEBBQL_LEVERS": "none"})
    if RECORD_WITH:
        RECORDED.unlink(missing_ok=True)
    lucky, held = folder / "lucky.jsonl", folder / "held.jsonl"
    lucky.write_text(json.dumps(LUCKY) + "\n", "utf-8")
    held.write_text("".join(json.dumps(line) + "\n" for line in HELD), "utf-8")
    assert home.run("seed", str(lucky)).code == 0
    files = ("--train", str(HERE / "night.jsonl"), "--holdout", str(held))
    options = ("--epochs", str(EPOCHS), "--checkpoint", "6", "--no-cache", "--no-pack", "--json")
    ended = home.run("train", *files, *options, "--model", f"recorded:{RECORDED}")
    assert ended.code == 0, ended.err + ended.out
    last = json.loads(ended.out.splitlines()[-1])
    run = folder / "runs" / last["run"]
    return {
        "last": last,
        "report": json.loads((run / "report.json").read_text("utf-8")),
        "steps": [json.loads(line) for line in (run / "attempts.jsonl").read_text("utf-8").splitlines()],
        "markdown": (run / "report.md").read_text("utf-8"),
        "home": home,
    }


def right(night: dict[str, Any], epoch: int) -> int:
    return sum(step["right"] for step in night["steps"] if step["epoch"] == epoch and step["part"] == "training")


def test_more_is_right_in_the_last_epoch_than_in_the_first(night: dict[str, Any]) -> None:
    assert right(night, EPOCHS) >= 11 > right(night, 1)


def test_the_lucky_episode_is_forgotten_by_itself_and_its_question_is_right_afterwards(night: dict[str, Any]) -> None:
    forgotten = [one for one in night["report"]["forgotten"] if one["forgotten"]["sql"] == LUCKY["sql"]]
    assert len(forgotten) == 1 and LUCKY["question"] in night["markdown"]
    answer = night["home"].ask(LUCKY["question"], model=f"recorded:{RECORDED}")
    assert answer["rows"] == [[7]] and answer["sql"] != LUCKY["sql"]


def test_buckets_that_stayed_at_zero_were_given_golds_and_healed(night: dict[str, Any]) -> None:
    seeded = {one["seeded"]["bucket"] for one in night["report"]["seeded"]}
    last = {step["bucket"] for step in night["steps"] if step["epoch"] == EPOCHS and step["right"]}
    assert seeded and seeded <= last
    asked = {step["question"] for step in night["steps"] if step["part"] == "training"}
    assert {one["seeded"]["pair"] for one in night["report"]["seeded"]} <= asked


def test_what_was_right_so_often_is_a_habit_in_the_end_and_no_habit_was_wrong(night: dict[str, Any]) -> None:
    habits = [step for step in night["steps"] if step["path"] == "habit"]
    assert all(step["right"] and step["calls"] == 0 for step in habits)
    assert sum(step["epoch"] == EPOCHS for step in habits) >= 4


def test_the_holdout_was_asked_and_left_no_episode(night: dict[str, Any]) -> None:
    asked = [step["question"] for step in night["steps"] if step["part"] == "holdout"]
    assert asked == ["held-count", "held-average"]
    database = night["home"].brain / "brain.sqlite"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as brain:
        bodies = " ".join(body for (body,) in brain.execute("SELECT body FROM content WHERE body IS NOT NULL"))
    assert LUCKY["question"] in bodies
    assert not any(line["question"] in bodies for line in HELD)
