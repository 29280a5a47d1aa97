"""Which state of this checkout runs, for figures that are kept."""

from __future__ import annotations

import subprocess

from agent.settings import ROOT


def commit() -> str:
    """The commit of this checkout, or `""` outside of one."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()
