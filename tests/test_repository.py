"""What is committed can be cloned by anyone: no machine's paths, no registry's hosts, nothing large."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MB = 1_000_000

# Written in pieces, so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:wo" r"rk|ro" r"ot|ho" r"me/\w+|Us" r"ers/\w+|opt/(?:wheels|pypi))(?=/)")
REGISTRY_HOSTS = re.compile(
    r"\b(?:[\w-]+\.)*(?:py" r"pi\.org|python" r"hosted\.org|np" r"mjs\.(?:org|com)|deb" r"ian\.org|cra" r"tes\.io)\b",
    re.I,
)
NOT_DONE = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b|mark\.(?:sk" r"ip|xf" r"ail)\b|pytest\.sk" r"ip\(")
TEMPORARY = re.compile(r"/tm" r"p/\w+")
EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]")
PINNED = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>[^ ;\\]+)(?: ; [^\\]+)?(?: \\)?")


def _committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


FILES = _committed()


def _texts() -> list[tuple[Path, str]]:
    found = []
    for path in FILES:
        content = path.read_bytes()
        if b"\0" not in content:
            found.append((path.relative_to(ROOT), content.decode("utf-8")))
    return found


TEXTS = _texts()


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        pytest.param(MACHINE_PATHS, "**", id="a path of one machine"),
        pytest.param(TEMPORARY, "runs/reference/*", id="a temporary place of one machine"),
        pytest.param(REGISTRY_HOSTS, "**", id="the host of a package registry"),
        pytest.param(NOT_DONE, "**/*.py", id="something left undone or a test switched off"),
        pytest.param(EMOJI, "**/*.md", id="an emoji"),
    ],
)
def test_no_file_holds(pattern: re.Pattern[str], files: str) -> None:
    found = [
        f"{path}:{number}: {match[0]}"
        for path, text in TEXTS
        if files == "**" or path.match(files)
        for number, line in enumerate(text.splitlines(), 1)
        for match in pattern.finditer(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        (MACHINE_PATHS, ("cat /wo", "rk/main/x")),
        (MACHINE_PATHS, ("'/ro", "ot/.cache'")),
        (TEMPORARY, ("--brain /tm", "p/w/brain")),
        (REGISTRY_HOSTS, ("https://files.python", "hosted.org/x")),
        (NOT_DONE, ("# TO", "DO later")),
        (NOT_DONE, ("@pytest.mark.sk", "ip")),
    ],
)
def test_what_is_looked_for_would_be_found(pattern: re.Pattern[str], pieces: tuple[str, str]) -> None:
    assert pattern.search("".join(pieces))


def test_the_repository_stays_small() -> None:
    assert sum(path.stat().st_size for path in FILES) < 30 * MB
    assert [str(path) for path in FILES if path.stat().st_size > 2 * MB] == []


def test_tests_are_no_package() -> None:
    assert [str(path) for path in FILES if path.name == "__init__.py" and "tests" in path.parts] == []


def test_every_script_can_be_started() -> None:
    started = [path for path in FILES if path.read_bytes()[:2] == b"#!"]
    assert {ROOT / "scripts" / name for name in ("ask", "test", "setup", "lock")} <= set(started)
    assert ROOT / ".ci" / "run" in started
    assert [str(path) for path in started if not os.access(path, os.X_OK)] == []


def test_every_program_in_scripts_says_what_runs_it() -> None:
    programs = [path for path in FILES if path.parent == ROOT / "scripts" and path.suffix in ("", ".py", ".sh")]
    assert [str(path) for path in programs if path.read_bytes()[:2] != b"#!"] == []


def test_every_python_program_in_scripts_is_seen_by_ruff_and_mypy() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    seen = ["scripts/*.py", *project["tool"]["ruff"]["extend-include"]]
    assert set(seen[1:]) <= set(project["tool"]["mypy"]["files"])
    programs = [path.relative_to(ROOT) for path in FILES if path.parent == ROOT / "scripts" and _runs_python(path)]
    assert len(programs) > 1
    assert [str(path) for path in programs if not any(path.match(pattern) for pattern in seen)] == []


def _runs_python(path: Path) -> bool:
    with path.open("rb") as file:
        return b"python" in file.readline() and path.suffix != ".csv"


def _pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith(("#", "    --hash=sha256:")):
            continue
        match = PINNED.fullmatch(line)
        assert match is not None, f"{name}: {line}"
        found[match["name"] + (f" {match['version']}" if match["name"] in found else "")] = match["version"]
    return found


def test_the_locks_pin_every_package_and_name_no_host() -> None:
    run, dev = _pins("requirements.lock"), _pins("requirements-dev.lock")
    assert len(run) > 100
    assert run.items() <= dev.items()
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        assert text.count("--hash=sha256:") > text.count("==")


def test_the_project_asks_for_exactly_what_the_locks_hold() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {"requirements.lock": project["project"]["dependencies"] + project["dependency-groups"]["build"]}
    wanted["requirements-dev.lock"] = project["project"]["optional-dependencies"]["dev"]
    for name, asked in wanted.items():
        pins = _pins(name)
        for requirement in asked:
            package, exactly, version = requirement.partition("==")
            assert exactly == "==", requirement
            assert pins[package.partition("[")[0]] == version


def test_runs_are_ignored_but_for_the_published_one() -> None:
    def ignored(path: str) -> bool:
        return subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0

    assert ignored("runs/brain/northwind/brain.sqlite")
    assert not ignored("runs/reference/report.md")
    assert ignored(".venv/bin/python") and ignored(".setup/lock")
