"""Killed between any two writes of a checkpoint, a run has all of it or nothing, and goes on from there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import memory
from agent.learning.runs import RunLog
from memory.ledger import Ledger
from memory.lessons import Lessons

WORKER = Path(__file__).with_name("care_worker.py")
ROOT = Path(memory.__path__[0]).parent


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a killed process does not ask what the disk has kept, only how fast."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


def left(where: Path) -> tuple[int, int, int, int, int]:
    """How many checkpoints, active and forgotten episodes, lessons and queued changes there are."""
    with closing(Ledger.open(where, database="shop")) as ledger:
        verified = ledger.verify()
        assert verified.ok, verified
        counts = ledger.buckets()
        return (
            len(RunLog(ledger).read("r1").checkpoints),
            sum(one.active for one in counts),
            sum(one.forgotten for one in counts),
            sum(len(Lessons(ledger).of(one.bucket)) for one in counts),
            len(ledger.outbox()),
        )


def test_a_kill_at_any_write_of_a_checkpoint_leaves_all_of_it_or_nothing(place: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(WORKER), str(place / "beach.sqlite")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as server:
        assert server.stdin and server.stdout

        def live(where: Path, *, prepare: bool = False, kill_at: int | None = None) -> tuple[int, list[str]]:
            """One life on a brain in a fork of a process that has everything loaded; its end and its steps."""
            assert server.stdin and server.stdout
            order = {"where": str(where), "prepare": prepare, "kill_at": kill_at}
            print(json.dumps(order), file=server.stdin, flush=True)
            answer = json.loads(server.stdout.readline())
            return answer["status"], answer["steps"]

        def copied(name: str) -> Path:
            shutil.copytree(place / "before", place / name)
            return place / name / "brain.sqlite"

        (place / "before").mkdir()
        assert live(place / "before" / "brain.sqlite", prepare=True)[0] == 0
        before = left(copied("untouched"))
        whole = copied("whole")
        status, steps = live(whole)
        after = left(whole)
        assert status == 0 and before[0] == 0 and after == (1, before[1], 2, 1, before[4] + 4)
        written = {"episode_forgotten event", "lesson row", "episode_remembered content", "run_checked event"}
        assert written <= set(steps) and steps[-2:] == ["before commit", "after commit"]
        for kill_at, name in enumerate(steps, 1):
            where = copied(f"kill-{kill_at}")
            status, _ = live(where, kill_at=kill_at)
            assert os.WTERMSIG(status) == signal.SIGKILL, name
            assert left(where) == (after if name == "after commit" else before), name
            if name != "after commit":
                assert live(where)[0] == 0 and left(where) == after, name
        server.stdin.close()
