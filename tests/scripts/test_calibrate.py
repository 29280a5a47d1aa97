"""What is collected never comes from the question itself, and what is fitted and reported says what was collected."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.drafting.weighing import FEATURES, USUAL_WEIGHTS, read_weights
from agent.learning.questions import Pair
from memory.embedder import MiniLM
from memory.episode import Episode
from memory.ledger import Ledger
from memory.outbox import drain
from memory.recall import indexed_text
from memory.reference_store import ReferenceStore
from scripts.calibrate import LeavingOut, chosen, own_of

ROOT = Path(__file__).resolve().parents[2]


def episode(question: str, sql: str) -> Episode:
    return Episode(
        "b", "count", ("Breads",), question, question, sql, "SELECT COUNT", "seed:x", "gold", "seed:x:1", "s", "r"
    )  # fmt: skip


def pair(question: str, sql: str, *others: str) -> Pair:
    return Pair("q1", question, sql, others, False, "count", "easy", "en", 1)


BREADS = episode("How many breads are there?", "SELECT COUNT(*) FROM Breads")
RYE = episode("How many breads are of rye?", "SELECT COUNT(*) FROM Breads WHERE Flour = 'rye'")
WHEAT = episode("How many breads are of wheat?", "SELECT COUNT(*) FROM Breads WHERE Flour = 'wheat'")


@pytest.mark.parametrize(
    ("asked", "own"),
    [
        (pair("how many  BREADS are there?", "SELECT 1"), [BREADS]),
        (pair("Count the breads.", "select count(*)\nfrom Breads"), [BREADS]),
        (pair("Count those of rye.", "SELECT 1", "SELECT COUNT(*) FROM Breads WHERE Flour = 'rye' -- so"), [RYE]),
        (pair("How many breads are of spelt?", "SELECT COUNT(*) FROM Breads WHERE Flour = 'spelt'"), []),
    ],
)
def test_a_question_is_never_answered_from_its_own_episode(tmp_path: Path, asked: Pair, own: list[Episode]) -> None:
    ledger = Ledger.open(tmp_path / "brain.sqlite", database="bakery")
    embedder = MiniLM()
    store = ReferenceStore(embedder=embedder)
    with ledger.transaction() as entry:
        for one in (BREADS, RYE, WHEAT):
            entry.remember(one)
    drain(ledger, store, text=indexed_text)
    recall = LeavingOut(episodes=ledger, store=store, embedder=embedder)
    recall.out = own_of(asked, "sqlite")
    found = recall.recall(
        bucket="b", kind="count", tables=("Breads",), question=asked.question, masked=asked.question, limit=9
    )
    ledger.close()
    assert {one.episode.id for one in found} == {one.id for one in (BREADS, RYE, WHEAT) if one not in own}


def test_a_sample_is_the_same_each_time_and_in_the_order_of_the_file() -> None:
    pairs = [pair(f"How many {number}?", f"SELECT {number}") for number in range(50)]
    taken = chosen(pairs, 10, 3)
    assert len(taken) == 10 and taken == chosen(pairs, 10, 3) != chosen(pairs, 10, 4)
    assert sorted(pairs.index(one) for one in taken) == [pairs.index(one) for one in taken]
    assert chosen(pairs, None, 3) is pairs and chosen(pairs, 80, 3) is pairs


# Fitting and reporting


def moment(name: str, *results: tuple[float, bool], last: bool = True, broken: int = 0) -> dict[str, Any]:
    """A line of what is collected: results with their agreement and whether they are right."""
    usual: Mapping[str, float] = {one.name: 0.0 for one in FEATURES} | {"bias": 1.0, "adapted": 1.0}
    drafts = [{"result": place, "right": right} for place, (_, right) in enumerate(results)]
    return {
        "question": name,
        "type": "count",
        "family": name,
        "model": "none",
        "last": last,
        "drafts": [*drafts, *({"result": None, "right": False} for _ in range(broken))],
        "features": [{**usual, "agreement": agreement} for agreement, _ in results],
    }


def checkout(folder: Path, moments: Sequence[Mapping[str, Any]]) -> Path:
    """A copy of what the script is made of, with what was collected."""
    for name in ("agent", "memory", "procedural", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    place = folder / "runs" / "calibration" / "made.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text("".join(json.dumps(one) + "\n" for one in moments), "utf-8")
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "scripts" / "calibrate.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_weights_are_fitted_and_reported_with_what_they_were_fitted_on(tmp_path: Path) -> None:
    agreed = [moment(f"a{place}", (0.9, place % 5 > 0), (0.1, place % 5 == 0)) for place in range(60)]
    lonely = [moment(f"l{place}", (0.0, place % 5 == 0)) for place in range(38)]
    others = [moment("nothing", broken=2), moment("early", (0.0, False), last=False)]
    folder = checkout(tmp_path, [*agreed, *lonely, *others])
    done = run(folder, "fit", "runs/calibration/made.jsonl")
    assert done.returncode == 0, done.stderr
    weights = read_weights(folder / "agent" / "drafting" / "confidence.toml")
    assert weights.values["agreement"] > USUAL_WEIGHTS.values["agreement"]
    assert weights.command == "scripts/calibrate.py fit runs/calibration/made.jsonl"
    assert "100 questions in 100 families, 99 moments, 159 results of made" in weights.data

    done = run(folder, "report", "runs/calibration/made.jsonl")
    assert done.returncode == 0, done.stderr
    published = folder / "runs" / "reference" / "calibration"
    told = json.loads((published / "made.json").read_text("utf-8"))
    assert (told["questions"], told["with a result"], told["answers"]["count"]) == (99, 98, 98)
    assert (told["right"]["right"], told["right if the best result were always chosen"]["right"]) == (56, 68)
    assert sum(one["right"]["total"] for one in told["answers"]["reliability"]) == 98
    assert told["answers"]["expected calibration error"] < 0.1
    assert told["thresholds"][0]["answered"]["total"] == 99
    text = (published / "made.md").read_text("utf-8")
    assert "| the most likely result | 56 of 99 = 57% (47% to 66%) |" in text and "![" in text
    assert str(tmp_path) not in text and str(tmp_path) not in json.dumps(told)
    assert (published / "made.svg").read_text("utf-8").startswith("<svg")


def test_a_fit_on_nothing_is_refused_and_changes_no_weights(tmp_path: Path) -> None:
    folder = checkout(tmp_path, [moment("nothing", broken=2)])
    before = (folder / "agent" / "drafting" / "confidence.toml").read_bytes()
    done = run(folder, "fit", "runs/calibration/made.jsonl")
    assert done.returncode == 1 and "nothing to fit on" in done.stderr
    assert (folder / "agent" / "drafting" / "confidence.toml").read_bytes() == before


@pytest.mark.parametrize("command", ["fit", "report"])
def test_what_was_collected_with_other_features_is_refused(tmp_path: Path, command: str) -> None:
    old = moment("old", (0.5, True))
    del old["features"][0]["agreement"]
    done = run(checkout(tmp_path, [old]), command, "runs/calibration/made.jsonl")
    assert done.returncode == 1 and "Collect again." in done.stderr and "Traceback" not in done.stderr
