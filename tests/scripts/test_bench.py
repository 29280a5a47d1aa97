"""`scripts/bench` measures every section and says it in the same shape each time. What it measures is not judged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "scripts" / "bench"
SECTIONS = ["help", "habit", "guard", "recall", "ask", "cold", "synapses", "growth"]
BOUNDS = {
    ("help", "hebbql --help"): 0.3,
    ("habit", "cold, a fresh process"): 1.0,
    ("habit", "warm, median"): 20.0,
    ("guard", "a query of the seed pack, median"): 10.0,
    ("guard", "a query of the seed pack, p95"): 10.0,
    ("recall", "warm, median"): 25.0,
    ("recall", "warm, p95"): 60.0,
    ("recall", "memory of the process"): 1_000.0,
    ("ask", "all but the model, median"): 150.0,
    ("cold", "second ask with the 0.5B"): 15.0,
}
"""What the project promises; everything else is told without a bound."""


def bench(*arguments: str, runs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH), *arguments],
        env=os.environ | {"HEBBQL_RUNS": str(runs)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = bench("--quick", "--json", runs=tmp_path_factory.mktemp("runs"))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_section_is_measured_in_fresh_processes_beside_its_bounds(report: dict[str, Any]) -> None:
    assert list(report["sections"]) == SECTIONS
    bounds = {}
    for name, section in report["sections"].items():
        assert section["load"] >= 0 and re.fullmatch(r"[0-9a-f]{7,}|", section["commit"])
        assert section["figures"]
        for figure in section["figures"]:
            assert set(figure) == {"name", "value", "unit", "n", "bound", "note", "met"}
            assert figure["unit"] in ("s", "ms", "MB", "1/s")
            if figure["bound"] is not None:
                bounds[name, figure["name"]] = figure["bound"]
                value = figure["value"]
                assert figure["met"] is (None if value is None else value <= figure["bound"])
            if name != "cold":
                assert figure["value"] is not None and figure["value"] > 0, figure
    assert bounds == BOUNDS


def test_without_the_model_its_section_names_the_command_that_fetches_it(report: dict[str, Any]) -> None:
    [figure] = report["sections"]["cold"]["figures"]
    assert figure["value"] is None and figure["note"] == "hebbql models pull 0.5b"


def test_the_machine_is_described_without_a_name_or_a_place(report: dict[str, Any]) -> None:
    assert {"cpu", "cores", "ram_gb", "kernel", "python", "cognee", "xllamacpp", "sqlglot"} <= set(report["machine"])
    told = json.dumps(report)
    for secret in (str(ROOT), os.uname().nodename, str(Path.home()), "/tmp"):
        assert secret not in told


def test_an_unknown_section_and_keeping_a_quick_run_are_refused(tmp_path: Path) -> None:
    unknown = bench("speed", runs=tmp_path)
    assert unknown.returncode == 2 and "speed" in unknown.stderr and "growth" in unknown.stderr
    kept = bench("--quick", "--write", runs=tmp_path)
    assert kept.returncode == 2 and "without --quick" in kept.stderr


def test_a_written_section_replaces_its_own_and_leaves_the_others(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    first = bench("guard", "--write", "--out", str(out), runs=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "a query of the seed pack" in first.stdout and "≤ 10 ms" in first.stdout
    kept = json.loads(out.read_text(encoding="utf-8"))
    assert list(kept["sections"]) == ["guard"]
    kept["sections"]["growth"] = {"load": 0.0, "commit": "", "figures": []}
    kept["sections"]["guard"]["load"] = -1
    out.write_text(json.dumps(kept), encoding="utf-8")
    assert bench("guard", "--write", "--out", str(out), runs=tmp_path).returncode == 0
    again = json.loads(out.read_text(encoding="utf-8"))
    assert list(again["sections"]) == ["guard", "growth"] and again["sections"]["guard"]["load"] >= 0
