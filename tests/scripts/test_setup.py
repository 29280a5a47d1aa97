"""scripts/setup, scripts/ask and scripts/test bring .venv to the lock, whatever gets in between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# Loaded by path: under importlib mode a conftest is no module to import from.
from tests.scripts.conftest import PYTHON, Project, Ready, finish, lay_out, lock_line, wait_for, write_wheel

PARALLEL = ("-n", "auto", "--dist", "loadfile")


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A folder with the ordinary tools and no Python, to be the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tools = "awk bash cat cksum cut df dirname env find grep head ls mkdir mv rm sed sleep tail tr uname wc"
    for tool in tools.split():
        found = shutil.which(tool)
        assert found is not None, tool
        (folder / tool).symlink_to(found)
    return folder


def test_the_first_start_says_each_step_and_installs_the_lock_and_the_project(ready: Ready) -> None:
    steps = [line.split(":")[1].strip() for line in ready.said.splitlines() if ": step " in line]
    assert steps == [f"step {number} of 4" for number in (1, 2, 3, 4)]
    assert ready.project.installed() == {"tiny", "program"}


def test_a_second_start_does_and_says_nothing_at_once(ready: Ready) -> None:
    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in ready.project.venv.rglob("*")}

    before = files()
    started = time.monotonic()
    done = ready.project.run("setup")
    assert time.monotonic() - started < 1
    assert (done.code, done.out, done.err) == (0, "", "")
    assert files() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["Which five customers brought the most revenue in 1997?"],
        ['He said "how many?" & left; $HOME `id` \\n', "--json"],
        ["", " two  blanks ", "*", "-x", "--", "één\nline"],
        [],
    ],
)
def test_ask_hands_its_arguments_on_unchanged(ready: Ready, arguments: list[str]) -> None:
    done = ready.project.run("ask", *arguments)
    assert done.code == 0, done.err
    assert json.loads(done.out) == ["ask", *arguments]


def test_ask_gives_the_exit_code_of_the_application(made: Project) -> None:
    _program(made.venv / "bin" / "hebbql", "exit 3")
    assert made.run("ask", "anything").code == 3


def test_two_starts_at_once_make_one_environment(made: Project) -> None:
    (made.root / "hold").touch()
    first = made.start("setup", "--dev")
    wait_for(made.root / "held")
    second = made.start("setup", "--dev")
    time.sleep(0.5)
    assert second.poll() is None
    assert not (made.venv / ".hebbql").exists()
    (made.root / "hold").unlink()
    worked, waited = finish(first), finish(second)
    assert (worked.code, waited.code) == (0, 0), worked.err + waited.err
    assert "step 4 of 4" in worked.err
    assert waited.err.strip() == "setup: another set-up is running here; waiting for it to end"


def test_a_start_killed_with_all_its_children_is_begun_anew(made: Project) -> None:
    (made.root / "hold").touch()
    first = made.start("setup", "--dev")
    wait_for(made.root / "held")
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert not (made.venv / ".hebbql").exists()
    (made.root / "hold").unlink()
    (made.venv / "left over").touch()

    done = made.run("setup")
    assert done.code == 0, done.err
    assert "an earlier set-up was interrupted; beginning anew" in done.err
    assert made.installed() == {"tiny", "program"}
    assert not (made.venv / "left over").exists()
    assert made.run("setup").err == ""


def test_the_tests_need_more_and_the_application_takes_what_they_have(made: Project) -> None:
    dev = made.run("setup", "--dev")
    assert dev.code == 0, dev.err
    assert "step 1 of 4: keep" in dev.err
    assert made.installed() == {"tiny", "tinydev", "program"}
    assert made.run("setup").err == ""

    (made.root / "pyproject.toml").write_text((made.root / "pyproject.toml").read_text() + "# changed\n")
    assert made.run("ask").code == 0
    assert made.run("setup", "--dev").err == ""


def test_a_changed_project_file_keeps_the_packages(made: Project) -> None:
    (made.root / "pyproject.toml").write_text((made.root / "pyproject.toml").read_text() + "# changed\n")
    done = made.run("setup")
    assert done.code == 0, done.err
    assert "step 1 of 4: keep" in done.err
    assert made.run("setup").err == ""


def test_a_changed_lock_is_begun_anew(made: Project) -> None:
    other = write_wheel(made.root / "shelf", "other")
    (made.root / "requirements.lock").write_text(lock_line(other))
    done = made.run("setup")
    assert done.code == 0, done.err
    assert "the lock or the place has changed; beginning anew" in done.err
    assert made.installed() == {"other", "program"}


def test_a_moved_project_is_begun_anew(ready: Ready, project: Project) -> None:
    shutil.copytree(ready.project.venv, project.venv, symlinks=True)
    done = project.run("ask", "here", HEBBQL_SETUP_MB="999999999")
    assert done.code == 1
    assert "the lock or the place has changed; beginning anew" in done.err


def test_a_file_that_is_not_the_one_in_the_lock_is_not_installed(made: Project) -> None:
    lock = made.root / "requirements-dev.lock"
    name, _, _ = lock.read_text().rpartition("sha256:")
    lock.write_text(f"{name}sha256:{'0' * 64}\n")
    done = made.run("test")
    assert (done.code, done.out) == (1, "")
    assert "not the one that the lock names" in done.err
    assert "tinydev" not in made.installed()
    assert not (made.venv / ".hebbql").exists()


def test_a_disk_that_fills_up_on_the_way_is_named(made: Project) -> None:
    (made.root / "full").touch()
    done = made.run("setup", "--dev")
    assert done.code == 1
    assert "the disk is full. Make room" in done.err
    assert not (made.venv / ".hebbql").exists()


def test_a_python_that_fits_is_found_behind_one_that_does_not(project: Project, bare_path: Path) -> None:
    _program(bare_path / "python3", 'echo "Python 3.9.1"; [ "$1" = -V ]')
    _program(bare_path / "python3.11", 'echo "pyenv: python3.11: command not found" >&2; exit 127')
    pyenv = bare_path / "pyenv"
    found = _program(pyenv / "versions" / "3.11.9" / "bin" / "python", f"exec '{PYTHON}' \"$@\"")
    place = {"PATH": str(bare_path), "HOME": str(bare_path), "PYENV_ROOT": str(pyenv)}
    done = project.run("setup", HEBBQL_PYTHON="", HEBBQL_SETUP_MB="999999999", **place)
    assert f"step 1 of 4: make {project.venv} with {found}, Python 3.1" in done.err


def test_after_a_kill_the_next_start_waits_for_what_the_killed_one_left_running(project: Project) -> None:
    hold, held = project.root / "hold", project.root / "held"
    slow = _program(
        project.root / "slow-python",
        f"""case "$*" in "-m venv"*) while [ -e '{hold}' ]; do touch '{held}'; sleep 0.05; done; exit 0 ;; esac
        exec '{PYTHON}' "$@\"""",
    )
    hold.touch()
    first = project.start("setup", HEBBQL_PYTHON=str(slow))
    wait_for(held)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = project.start("setup")
    time.sleep(0.5)
    assert second.poll() is None
    hold.unlink()
    done = finish(second)
    first.communicate()
    assert done.code == 0, done.err
    said = [line for line in done.err.splitlines() if "waiting" in line or "anew" in line]
    assert said == [
        "setup: another set-up is running here; waiting for it to end",
        "setup: an earlier set-up was interrupted; beginning anew",
    ]
    assert project.installed() == {"tiny", "program"}


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_start_ends_what_it_started_and_says_so(project: Project, sign: signal.Signals) -> None:
    hold, held = project.root / "hold", project.root / "held"
    slow = _program(
        project.root / "slow-python",
        f"""case "$*" in "-m venv"*) echo $$ > '{held}'; while [ -e '{hold}' ]; do sleep 0.05; done ;; esac
        exec '{PYTHON}' "$@\"""",
    )
    hold.touch()
    first = project.start("setup", HEBBQL_PYTHON=str(slow))
    wait_for(held)
    os.kill(first.pid, sign)
    done = finish(first)
    assert done.code == 130
    assert "interrupted; the next start begins anew" in done.err
    with pytest.raises(ProcessLookupError):
        os.kill(int(held.read_text()), 0)


def test_an_environment_made_by_someone_else_is_left_alone(project: Project) -> None:
    project.venv.mkdir()
    (project.venv / "precious").touch()
    done = project.run("setup")
    assert done.code == 1
    assert "was not made by this script" in done.err
    assert f"rm -r '{project.venv}'" in done.err
    assert (project.venv / "precious").exists()


def test_without_a_network_the_message_says_so_and_a_later_start_works(made: Project) -> None:
    offline = {
        "PIP_NO_INDEX": "0",
        "PIP_FIND_LINKS": "",
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "1",
    }
    done = made.run("test", **offline)
    assert (done.code, done.out) == (1, "")
    assert "Check the network" in done.err
    assert "Traceback" not in done.err
    again = made.run("ask", "anything")
    assert again.code == 0, again.err


def test_a_full_disk_is_named_before_the_start(project: Project) -> None:
    done = project.run("setup", HEBBQL_SETUP_MB="999999999")
    assert done.code == 1
    assert "about 999999999 MB are needed" in done.err
    assert not project.venv.exists()


def test_no_python_that_fits_is_named_with_what_to_install(project: Project, bare_path: Path) -> None:
    _program(bare_path / "python3", 'echo "Python 3.9.1"; [ "$1" = -V ]')
    done = project.run("setup", HEBBQL_PYTHON="", PATH=str(bare_path), HOME=str(bare_path), PYENV_ROOT="/nowhere")
    assert done.code == 1
    assert f"needs Python 3.11 or 3.12. Found: Python 3.9.1 ({bare_path}/python3)" in done.err
    assert "apt-get install python3.11" in done.err
    assert "HEBBQL_PYTHON=" in done.err


def test_a_named_python_that_does_not_fit_is_refused(project: Project, tmp_path: Path) -> None:
    old = _program(tmp_path / "old", 'echo "Python 3.10.2"; [ "$1" = -V ]')
    done = project.run("setup", HEBBQL_PYTHON=str(old))
    assert done.code == 1
    assert f"HEBBQL_PYTHON is {old}, which is Python 3.10.2." in done.err


def test_a_named_python_that_is_not_there_is_refused(project: Project) -> None:
    done = project.run("setup", HEBBQL_PYTHON="/nowhere/python")
    assert done.code == 1
    assert "there is no such program" in done.err


def test_a_python_without_venv_is_named_with_the_package_that_has_it(project: Project, tmp_path: Path) -> None:
    bare = _program(tmp_path / "bare", f'case "$*" in *ensurepip*) exit 1 ;; esac\nexec \'{PYTHON}\' "$@"')
    done = project.run("setup", HEBBQL_PYTHON=str(bare))
    assert done.code == 1
    assert "without the module venv" in done.err
    assert "apt-get install python3.1" in done.err


@pytest.fixture
def read_only_project() -> Iterator[Project]:
    """A project in a folder that its user may read and not write."""
    place = Path(tempfile.mkdtemp(prefix="hebbql-read-only-"))
    place.chmod(0o755)
    project = lay_out(place / "project")
    project.root.chmod(0o555)
    yield project
    project.root.chmod(0o755)
    shutil.rmtree(place)


def test_a_folder_that_cannot_be_written_is_named(read_only_project: Project) -> None:
    # The superuser may write anywhere, so it steps down for this.
    as_nobody = ["setpriv", "--reuid=nobody", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_nobody, str(read_only_project.root / "scripts" / "setup")],
        env=read_only_project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"cannot write in {read_only_project.root}" in done.stderr
    assert "to a folder of your own" in done.stderr


def test_an_unknown_option_is_a_usage_error(project: Project) -> None:
    done = project.run("setup", "--fast")
    assert done.code == 2
    assert "usage: scripts/setup [--dev]" in done.err


@pytest.fixture
def tooled(made: Project) -> Project:
    """A project whose checking tools are programs of one line: each is green, and says its name and arguments."""
    stamp = made.venv / ".hebbql"
    stamp.write_text(stamp.read_text().replace(" run at ", " dev at "))
    for tool in ("ruff", "mypy", "lint-imports"):
        _program(made.venv / "bin" / tool, f'echo "{tool} $*"')
    (site,) = made.venv.glob("lib/python3*/site-packages")
    (site / "pytest.py").write_text("import json, os, sys\nprint(json.dumps([os.getcwd(), *sys.argv[1:]]))\n")
    return made


def test_the_checks_come_first_and_the_last_word_is_that_of_pytest(tooled: Project) -> None:
    done = tooled.run("test", "tests/memory", "-k", "a or b")
    assert done.code == 0, done.err
    assert json.loads(done.out) == [str(tooled.root), *PARALLEL, "tests/memory", "-k", "a or b"]
    said = [line for line in done.err.splitlines() if not line.startswith("test:")]
    assert said == ["ruff check --quiet", "ruff format --check --quiet", "mypy ", "lint-imports --no-logo"]


@pytest.mark.parametrize("tool", ["ruff", "mypy", "lint-imports"])
def test_a_red_check_is_red_at_the_end_though_all_tests_pass(tooled: Project, tool: str) -> None:
    _program(tooled.venv / "bin" / tool, "exit 2")
    done = tooled.run("test")
    assert done.code == 1
    assert "test: red, see above:" in done.err
    assert json.loads(done.out) == [str(tooled.root), *PARALLEL]


def test_the_exit_code_of_pytest_is_kept(tooled: Project) -> None:
    (site,) = tooled.venv.glob("lib/python3*/site-packages")
    (site / "pytest.py").write_text("raise SystemExit(5)\n")
    assert tooled.run("test").code == 5
