"""The workflows of the brain give no rights to code of a pull request, and leave the work to the script."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {name: yaml.safe_load((FOLDER / f"{name}.yml").read_text("utf-8")) for name in ("brain", "brain-comment")}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]
PINNED = re.compile(r"actions/[a-z-]+@[0-9a-f]{40}")
ON: Any = True
"""What YAML takes the word `on` for."""


def job(workflow: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = WORKFLOWS[workflow]["jobs"][name]
    return found


def runs(told: dict[str, Any]) -> list[str]:
    return [step["run"] for step in told["steps"] if "run" in step]


def test_they_start_on_what_touches_the_brain_at_night_and_by_hand() -> None:
    on = WORKFLOWS["brain"][ON]
    assert on["pull_request"] == {"paths": ["data/brain/**", "data/seeds/**", "data/glossary/**"]}
    assert len(on["schedule"]) == 1 and "workflow_dispatch" in on
    assert WORKFLOWS["brain-comment"][ON] == {"workflow_run": {"workflows": ["brain"], "types": ["completed"]}}
    assert WORKFLOWS["brain"]["name"] == "brain"


@pytest.mark.parametrize(
    ("workflow", "name", "rights"),
    [
        ("brain", "check", {"contents": "read"}),
        ("brain", "improve", {"contents": "read"}),
        ("brain", "propose", {"contents": "write", "pull-requests": "write"}),
        ("brain-comment", "post", {"actions": "read", "contents": "read", "pull-requests": "write"}),
    ],
)
def test_each_job_has_just_the_rights_it_needs(workflow: str, name: str, rights: dict[str, str]) -> None:
    assert (workflow, name) in JOBS and len(JOBS) == 4
    assert WORKFLOWS[workflow]["permissions"] == {}
    assert job(workflow, name)["permissions"] == rights


def test_code_of_a_pull_request_meets_no_rights_and_no_secret() -> None:
    for name in WORKFLOWS:
        text = (FOLDER / f"{name}.yml").read_text("utf-8")
        assert "pull_request_target" not in text and "secrets." not in text
    check = job("brain", "check")
    (checkout,) = (step["with"] for step in check["steps"] if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["persist-credentials"] is False and checkout["fetch-depth"] == 0
    assert "GH_TOKEN" not in str(check) and "github.token" not in str(check)
    post = job("brain-comment", "post")
    (checkout,) = (step["with"] for step in post["steps"] if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["ref"] == "${{ github.event.repository.default_branch }}"
    assert not [one for one in runs(post) if "setup" in one or "pip" in one]


@pytest.mark.parametrize(("workflow", "name"), JOBS)
def test_actions_are_pinned_and_no_text_of_an_event_is_put_into_a_command(workflow: str, name: str) -> None:
    told = job(workflow, name)
    assert [step["uses"] for step in told["steps"] if "uses" in step and not PINNED.fullmatch(step["uses"])] == []
    assert [one for one in runs(told) if "${{" in one] == []
    assert told["timeout-minutes"] <= 90


@pytest.mark.parametrize(("workflow", "name"), JOBS)
def test_each_step_calls_the_script_with_options_that_it_has(workflow: str, name: str) -> None:
    commands = [one for one in runs(job(workflow, name)) if one != "bash scripts/setup"]
    (command,) = commands
    python, script, subcommand, *options = command.split()
    assert python in (".venv/bin/python", "python3") and script == "scripts/brain_ci"
    assert (ROOT / script).stat().st_mode & 0o111
    shown = subprocess.run(
        [sys.executable, str(ROOT / script), subcommand, "--help"], capture_output=True, text=True, check=True
    ).stdout
    named = [one for one in options if one.startswith("--")]
    assert named and [one for one in named if one not in shown] == []


def test_what_one_job_keeps_another_finds() -> None:
    kept = {step["with"]["name"] for _, name in JOBS for step in _uses("upload-artifact", name)}
    found = {step["with"]["name"] for _, name in JOBS for step in _uses("download-artifact", name)}
    assert kept == found == {"brain-check", "brain-night"}
    (proposing,) = _uses("download-artifact", "propose")
    assert proposing["with"]["path"].endswith("/brain-night")
    assert job("brain", "propose")["if"] == "needs.improve.outputs.outcome == 'accepted'"
    (night,) = (step for step in job("brain", "improve")["steps"] if step.get("id") == "night")
    assert "--dry-run" in night["run"]


def _uses(action: str, name: str) -> list[dict[str, Any]]:
    told = next(WORKFLOWS[workflow]["jobs"][name] for workflow, one in JOBS if one == name)
    return [step for step in told["steps"] if step.get("uses", "").startswith(f"actions/{action}@")]
