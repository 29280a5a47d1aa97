"""The story of the poisoned batch goes as the README tells it, with the commands themselves and real Cognee."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "brain_story.py"


def test_a_poisoned_batch_among_64_is_found_shown_taken_out_and_proven_gone() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "First red with batch import:41" in done.stdout and "monday and live know the same." in done.stdout
    assert str(Path.home()) not in done.stdout and "/tmp" not in done.stdout
