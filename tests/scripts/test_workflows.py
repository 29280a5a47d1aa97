"""Every workflow names exact versions, has just the rights it needs, and runs only what is there."""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.yml"))}
WORKFLOWS: dict[str, dict[str, Any]] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]
USES = re.compile(r"^\s*(?:- )?uses: *(.*)$", re.MULTILINE)
PINNED = re.compile(r"([a-z-]+/[a-z-]+)@([0-9a-f]{40}) # v(\d+\.\d+\.\d+)")
PLACE = re.compile(r"(?<![\w/$.])(?:\.ci|scripts)/[\w./-]+")
EVENT = re.compile(r"\$\{\{")


def steps(workflow: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = WORKFLOWS[workflow]["jobs"][name]["steps"]
    return found


def test_all_are_read() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.yml" for name in TEXTS}
    assert set(TEXTS) >= {"brain", "brain-comment", "ci", "night"}


def test_every_action_is_pinned_to_a_commit_beside_its_version_and_everywhere_to_the_same() -> None:
    told = [(name, one) for name, text in TEXTS.items() for one in USES.findall(text)]
    assert len(told) == sum("uses" in step for workflow, name in JOBS for step in steps(workflow, name)) > 0
    assert [(name, one) for name, one in told if not PINNED.fullmatch(one)] == []
    pins = {match.groups() for _, one in told if (match := PINNED.fullmatch(one))}
    assert len({action for action, _, _ in pins}) == len(pins), pins


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_two_runs_of_one_workflow_do_not_get_into_each_others_way(workflow: str) -> None:
    assert WORKFLOWS[workflow]["concurrency"]["group"].startswith(workflow)


@pytest.mark.parametrize(("workflow", "name"), JOBS)
def test_a_job_has_no_right_but_what_it_names(workflow: str, name: str) -> None:
    assert WORKFLOWS[workflow]["permissions"] == {}
    rights = WORKFLOWS[workflow]["jobs"][name]["permissions"]
    assert rights.get("contents") in ("read", "write") and set(rights.values()) <= {"read", "write"}
    if "write" in rights.values():
        assert (workflow, name) in {("brain", "propose"), ("brain-comment", "post")}
    for step in steps(workflow, name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert (step.get("with", {}).get("persist-credentials") is False) is (rights["contents"] == "read")


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_secret_is_given_to_one_step_and_not_to_its_job(workflow: str) -> None:
    everywhere = TEXTS[workflow].count("secrets.") + TEXTS[workflow].count("github.token")
    shared = {key: value for key, value in WORKFLOWS[workflow].items() if key != "jobs"}
    jobs = [{k: v for k, v in job.items() if k != "steps"} for job in WORKFLOWS[workflow]["jobs"].values()]
    assert "secrets." not in str((shared, jobs)) and "github.token" not in str((shared, jobs))
    told = [step.get("env", {}) | step.get("with", {}) for _, name in _of(workflow) for step in steps(workflow, name)]
    handed = [
        value for one in told for value in one.values() if "secrets." in str(value) or "github.token" in str(value)
    ]
    assert len(handed) == everywhere
    assert "secrets." not in TEXTS[workflow] or workflow == "night"


def test_the_key_of_the_hosted_model_is_seen_by_training_only() -> None:
    having = [step for step in steps("night", "train") if "ANTHROPIC_API_KEY" in str(step)]
    assert [step["name"] for step in having] == ["Train"]


@pytest.mark.parametrize(("workflow", "name"), JOBS)
def test_steps_run_what_is_there_and_no_text_of_an_event_is_put_into_a_command(workflow: str, name: str) -> None:
    commands = [step["run"] for step in steps(workflow, name) if "run" in step]
    assert [one for one in commands if EVENT.search(one)] == []
    named = [place for one in commands for place in PLACE.findall(one)]
    assert named and [place for place in named if not (ROOT / place).is_file()] == []
    locks = [one["with"]["cache-dependency-path"] for one in steps(workflow, name) if "cache" in one.get("with", {})]
    assert [one for one in locks if not (ROOT / one).is_file()] == []
    assert WORKFLOWS[workflow]["jobs"][name]["timeout-minutes"] <= 350


def test_ci_runs_what_everyone_runs() -> None:
    assert [step["run"] for step in steps("ci", "test") if "run" in step] == ["bash .ci/run"]
    assert 'exec scripts/test "$@"' in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_workflows_of_the_brain_do_each_step_of_the_script_and_no_other() -> None:
    parser = _brain_ci()._parser()
    (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    done = []
    for workflow, name in (one for one in JOBS if one[0].startswith("brain")):
        for command in (step["run"].split() for step in steps(workflow, name) if "run" in step):
            if command != ["bash", "scripts/setup"]:
                assert command[1] == "scripts/brain_ci"
                # Refuses, as the script does, an option that is not there and one that is needed and left out.
                given = parser.parse_args([one.strip('"').replace("$NUMBER", "1") for one in command[2:]])
                done.append((command[2], given.run.__name__))
    assert sorted(done) == sorted((one, f"run_{one}") for one in commands.choices)


def test_what_the_script_tells_of_a_night_is_what_the_workflow_waits_for() -> None:
    improve, propose = WORKFLOWS["brain"]["jobs"]["improve"], WORKFLOWS["brain"]["jobs"]["propose"]
    ((output, told),) = improve["outputs"].items()
    (step,) = (one["id"] for one in improve["steps"] if "scripts/brain_ci" in one.get("run", ""))
    assert told == f"${{{{ steps.{step}.outputs.{output} }}}}"
    assert f'_tell("{output}", ' in (ROOT / "scripts" / "brain_ci").read_text("utf-8")
    assert propose["needs"] == "improve" and f"needs.improve.outputs.{output} ==" in propose["if"]


def _of(workflow: str) -> list[tuple[str, str]]:
    return [one for one in JOBS if one[0] == workflow]


def _brain_ci() -> Any:
    loader = importlib.machinery.SourceFileLoader("brain_ci_as_module", str(ROOT / "scripts" / "brain_ci"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module  # its frozen classes look themselves up there
    try:
        loader.exec_module(module)
    finally:
        del sys.modules[loader.name]
    return module
