"""A night goes on with what the last one left unfinished, else it begins a run; a pause is no failure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Night:
    """A checkout in which `scripts/train` does what a test says, and writes down how it was called."""

    folder: Path

    def answers(self, *turns: tuple[int, str]) -> None:
        """Let the calls of `scripts/train` end so, one after the other: with an exit code and a status."""
        (self.folder / "runs" / "r1").mkdir(parents=True, exist_ok=True)
        (self.folder / "runs" / "r1" / "report.md").write_text("# Training run r1\n", "utf-8")
        script = ["#!/usr/bin/env bash", 'echo "$*" >>calls', "case $(wc -l <calls) in"]
        for number, (code, status) in enumerate(turns, 1):
            end = json.dumps({"status": status, "files": str(self.folder / "runs" / "r1")})
            script.append(f"{number}) echo '{{\"status\": \"epoch\"}}'; echo '{end}'; exit {code};;")
        train = self.folder / "scripts" / "train"
        train.parent.mkdir(exist_ok=True)
        train.write_text("\n".join([*script, "esac", ""]), "utf-8")
        train.chmod(0o755)

    def run(self) -> subprocess.CompletedProcess[str]:
        command = ["bash", str(self.folder / ".ci" / "night"), "0.5b", "3"]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | {"HEBBQL_PYTHON": ""}
        )

    @property
    def calls(self) -> list[str]:
        usual = "--model 0.5b --max-hours 5 --json "
        return [line.removeprefix(usual) for line in (self.folder / "calls").read_text("utf-8").splitlines()]


@pytest.fixture
def night(tmp_path: Path) -> Night:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "night", tmp_path / ".ci" / "night")
    return Night(tmp_path)


def test_a_night_begins_a_run_where_none_is_unfinished(night: Night) -> None:
    night.answers((2, "usage"), (0, "finished"))
    ended = night.run()
    assert ended.returncode == 0 and ended.stdout == "# Training run r1\n", ended
    assert night.calls == ["--resume", "--epochs 3"]


@pytest.mark.parametrize("code_and_status", [(0, "finished"), (1, "paused")])
def test_a_night_goes_on_with_what_is_unfinished_and_may_pause_again(
    night: Night, code_and_status: tuple[int, str]
) -> None:
    night.answers(code_and_status)
    ended = night.run()
    assert ended.returncode == 0 and "Training run r1" in ended.stdout, ended
    assert night.calls == ["--resume"]


def test_a_night_that_fails_is_red(night: Night) -> None:
    night.answers((2, "usage"), (1, "failed"))
    ended = night.run()
    assert ended.returncode == 1 and not ended.stdout, ended


def test_the_workflow_names_only_what_is_there_and_its_steps_can_be_read() -> None:
    text = (ROOT / ".github" / "workflows" / "night.yml").read_text("utf-8")
    assert "bash .ci/night" in text and (ROOT / ".ci" / "night").stat().st_mode & 0o111
    assert "requirements.lock" in text and (ROOT / "requirements.lock").is_file()
    assert "GITHUB_STEP_SUMMARY" in text
