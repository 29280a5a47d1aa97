"""Changes a brain over to what a snapshot says, and kills itself at a given step. Run as a script.

Each line on stdin is one life: `{"brain", "snapshot", "kill_at"}`, the brain a file or a URL. A fork of this process
lives it; the answer is one line: `{"status", "steps"}`, the steps only where it was not to be killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from agent.weights import KeptWeights
from memory.brain.reading import take
from memory.brain.snapshot import read_file
from memory.brain.writing import make_so
from memory.ledger import Ledger
from procedural.store import SynapseStore


def live(brain: str, snapshot: str, kill_at: int | None, steps: Path) -> None:
    """Open, take a snapshot, change over in one transaction, take another. Never returns."""
    count, told = 0, steps.open("w", encoding="utf-8")

    def step(name: str) -> None:
        nonlocal count
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if kill_at is None:
            print(name, file=told, flush=True)

    signal.alarm(120)
    with Ledger.open(brain, database="harbour", between=step) as ledger:
        weights = KeptWeights(ledger, SynapseStore(between=step))
        take(ledger, weights, name="before")
        make_so(ledger, weights, read_file(Path(snapshot)), why="improve", subject="one")
        take(ledger, weights, name="after")
    os._exit(0)


def serve() -> None:
    for line in sys.stdin:
        wanted = json.loads(line)
        steps = Path(wanted["snapshot"]).with_suffix(".steps")
        if (child := os.fork()) == 0:
            live(wanted["brain"], wanted["snapshot"], wanted["kill_at"], steps)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": status, "steps": steps.read_text("utf-8").splitlines()}), flush=True)


if __name__ == "__main__":
    serve()
