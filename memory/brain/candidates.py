"""Candidates: whole copies of a brain in a folder of their own beside it, to be tried out and thrown away."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from memory.errors import BrainUnwritableError
from memory.lease import writer_lease
from memory.ledger import LEDGER_FILE

FOLDER = "candidates"
"""Where they are, in the folder of the brain: erasing looks through that, so that no copy is passed over."""

_PATIENCE = 20.0
"""Seconds for a process that tries out what a killed one left to see that it is alone, and end."""


def _nothing(_step: str) -> None:
    """The hook between writes that does nothing."""


def begin(brain: Path, id: str, *, between: Callable[[str], None] = _nothing) -> Path:
    """Copy the ledger of a brain, as it is committed, into a new candidate; give the candidate's folder.

    The episode store is not copied, as it holds whole paths: the candidate's own is built from its ledger. Hold the
    brain's lease meanwhile. `between` is called between any two writes, for tests of crashes.

    Raises:
        BrainUnwritableError: there is no room.
    """
    folder = brain / FOLDER / id
    try:
        folder.mkdir(parents=True)
        between("candidate folder")
        with (
            closing(sqlite3.connect(brain / LEDGER_FILE)) as source,
            closing(sqlite3.connect(folder / LEDGER_FILE)) as target,
        ):
            source.backup(target)
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BrainUnwritableError(
            f"The candidate cannot be written into {folder}: {error}. Make room there, then try again."
        ) from error
    between("candidate copied")
    return folder


def remove(folder: Path) -> None:
    """Delete a candidate, and the folder of all candidates when it was the last."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.parent.is_dir() and not any(folder.parent.iterdir()):
        folder.parent.rmdir()


def clear(brain: Path) -> tuple[str, ...]:
    """Delete what killed processes left of candidates; give their names. Hold the brain's lease meanwhile.

    Raises:
        BrainLockedError: a process still has one of them open.
    """
    left = sorted(path for path in (brain / FOLDER).glob("*") if path.is_dir())
    for folder in left:
        with writer_lease(folder, wait=_PATIENCE):
            shutil.rmtree(folder, ignore_errors=True)
        remove(folder)
    return tuple(folder.name for folder in left)
