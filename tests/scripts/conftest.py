"""A small project with the real set-up scripts, a lock of two tiny packages and no network."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = getattr(sys, "_base_executable", sys.executable)

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
# Builds the editable wheel of a program that prints its arguments; stops half way for as long as `hold` is there.
BACKEND = """\
import pathlib, sys, time
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import wheels

def build_editable(folder, config_settings=None, metadata_directory=None):
    while pathlib.Path("hold").exists():
        pathlib.Path("held").touch()
        time.sleep(0.05)
    if pathlib.Path("full").exists():
        with open("/dev/full", "w") as disk:
            disk.write("x")
    program = "import json, sys\\ndef main(): print(json.dumps(sys.argv[1:]))\\n"
    entry = "[console_scripts]\\nhebbql = program:main\\n"
    return wheels.write(pathlib.Path(folder), "hebbql", {"program.py": program}, entry).name
"""
WHEELS = '''\
import base64, hashlib, zipfile

def write(folder, name, modules, entry_points=""):
    """Write a wheel of version 1.0 that is the same every time, and give its path."""
    info = f"{name}-1.0.dist-info"
    files = dict(modules)
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: tests\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    if entry_points:
        files[f"{info}/entry_points.txt"] = entry_points
    def line(path, text):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        return f"{path},sha256={digest},{len(text.encode())}\\n"
    record = "".join(line(path, text) for path, text in files.items()) + f"{info}/RECORD,,\\n"
    files[f"{info}/RECORD"] = record
    target = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return target
'''


def write_wheel(folder: Path, name: str) -> Path:
    space: dict[str, Callable[..., Path]] = {}
    exec(WHEELS, space)
    return space["write"](folder, name, {f"{name}.py": ""})


def lock_line(wheel: Path) -> str:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{wheel.name.partition('-')[0]}==1.0 \\\n    --hash=sha256:{digest}\n"


@dataclass(frozen=True, slots=True)
class Project:
    """The folder of a small project, and how to start its scripts."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    def start(self, script: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a script in a process group of its own."""
        return subprocess.Popen(
            [str(self.root / "scripts" / script), *arguments],
            env=self.environment | environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, script: str, *arguments: str, **environment: str) -> Finished:
        process = self.start(script, *arguments, **environment)
        return finish(process)

    def installed(self) -> set[str]:
        """Names of the modules that the locks and the project brought into .venv."""
        found = self.venv.glob("lib/python3*/site-packages/*.py")
        return {path.stem for path in found} & {"tiny", "tinydev", "other", "program"}


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    out: str
    err: str


def finish(process: subprocess.Popen[str]) -> Finished:
    try:
        out, err = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return Finished(process.returncode, out, err)


def wait_for(path: Path, *, gone: bool = False) -> None:
    deadline = time.monotonic() + 60
    while path.exists() == gone:
        assert time.monotonic() < deadline, f"{path} {'stayed' if gone else 'never came'}"
        time.sleep(0.02)


def lay_out(root: Path) -> Project:
    (root / "scripts").mkdir(parents=True)
    for name in ("setup", "ask", "test"):
        shutil.copy(ROOT / "scripts" / name, root / "scripts" / name)
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "backend.py").write_text(BACKEND)
    (root / "wheels.py").write_text(WHEELS)
    shelf = root / "shelf"
    shelf.mkdir()
    tiny, tinydev = write_wheel(shelf, "tiny"), write_wheel(shelf, "tinydev")
    (root / "requirements.lock").write_text(lock_line(tiny))
    (root / "requirements-dev.lock").write_text(lock_line(tiny) + lock_line(tinydev))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV"))
    }
    return Project(
        root,
        environment
        | {
            "HEBBQL_PYTHON": PYTHON,
            "HEBBQL_SETUP_MB": "50",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": shelf.as_uri(),
            "PIP_NO_CACHE_DIR": "1",
        },
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project that was never set up, in a folder with blanks in its name."""
    return lay_out(tmp_path / "a folder of mine")


@dataclass(frozen=True, slots=True)
class Ready:
    """A project that is set up for the application, and what was said meanwhile. Do not change it."""

    project: Project
    said: str


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    project = lay_out(tmp_path_factory.mktemp("ready") / "a folder of mine")
    done = project.run("setup")
    assert done.code == 0, done.err
    assert done.out == ""
    return Ready(project, done.err)


@pytest.fixture
def made(ready: Ready, project: Project) -> Project:
    """A project of the test's own that is set up for the application: a copy, as if it had been made in place."""
    shutil.copytree(ready.project.venv, project.venv, symlinks=True)
    stamp = project.venv / ".hebbql"
    stamp.write_text(stamp.read_text().replace(str(ready.project.root), str(project.root)))
    return project
