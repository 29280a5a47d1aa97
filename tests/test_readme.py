"""The README shows what the commands really print, and names only what is there."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_generated_parts_are_what_the_commands_and_the_reference_runs_give() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "write_readme.py"))
    assert script["rendered"](README) == README, "run scripts/write_readme.py"


def test_every_path_that_it_links_to_exists() -> None:
    linked = re.findall(r"\]\(([^)#:]+)\)", README)
    assert linked
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_every_script_that_it_names_is_there_and_can_be_run() -> None:
    named = set(re.findall(r"scripts/[\w.]+", README)) - {"scripts/EXPERIMENTS.md"}
    assert len(named) >= 3
    assert [name for name in sorted(named) if not (ROOT / name).stat().st_mode & 0o111] == []


def test_every_model_is_asked_the_same_ten_questions_in_both_ways() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "write_readme.py"))
    found = json.loads(script["TEN"].read_text(encoding="utf-8"))["models"]
    asked = {tuple(one["question"] for one in answers) for arms in found.values() for answers in arms.values()}
    assert len(asked) == 1
    assert len(set(asked.pop())) == 10
    assert all(set(arms) == {"schema", "memory"} for arms in found.values())
