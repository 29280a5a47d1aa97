"""Improves a brain, or rolls it back to a snapshot, and kills itself.

Run as a script: database, brain, runs, checks, a step, seconds after it, and for a roll-back the snapshot; of a ledger
in PostgreSQL the environment says where.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from agent.app import open_app
from agent.keeping.gate import Gate
from agent.keeping.measuring import Questions
from agent.settings import Settings


def main(database: str, brain: str, runs: str, checks: str, step: str, seconds: str, snapshot: str = "") -> None:
    """Never returns where the step is reached."""

    def between(now: str) -> None:
        if now == step and not float(seconds):
            os.kill(os.getpid(), signal.SIGKILL)
        if now == step:
            threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL)).start()

    ledger = os.environ.get("HEBBQL_LEDGER")
    settings = Settings(database=database, data=Path(runs).parent, runs=Path(runs), brain=brain, ledger=ledger)
    with open_app(settings) as app:
        gate = Gate(app=app, between=between)
        if snapshot:
            app.ledger.between = between
            gate.roll_back(snapshot)
        else:
            gate.improve(Questions(checks=Path(checks)))


if __name__ == "__main__":
    main(*sys.argv[1:])
