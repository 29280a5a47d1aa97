"""A copy of a brain to look at, so that looking changes nothing of the brain itself."""

from __future__ import annotations

import filecmp
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from agent.brain_place import brain_folder
from memory.errors import BrainError, BrainMissingError
from memory.ledger import LEDGER_FILE

if TYPE_CHECKING:
    from agent.app import App
    from agent.settings import Settings

_TRIES, _PAUSE = 5, 0.2
_LOGS = ("-wal", "-journal")
"""What SQLite keeps beside a file that is not in it yet. The index of the first is made anew from it."""


@contextmanager
def opened_copy(
    settings: Settings, open_app: Callable[..., AbstractContextManager[App]], **how: object
) -> Iterator[App]:
    """Open a copy of a brain in a folder of its own, which is deleted afterwards.

    Opening a brain may write to it: a changed schema is noted, an attempt that was cut off is closed. The episode
    store is not copied, as nothing here looks into it. Whatever is wrong with the brain is said of it, not of the copy.

    Raises:
        BrainMissingError: there is no brain yet.
        BrainError: it cannot be read, or is in PostgreSQL.
    """
    if settings.ledger:
        raise BrainError(
            "An audit reads a copy of a ledger in a file, and HEBBQL_LEDGER names one in PostgreSQL. Write that down "
            "with `hebbql brain export FILE`, unset HEBBQL_LEDGER, make a brain of it with `hebbql brain build FILE "
            "--brain DIR`, and audit that with --brain DIR."
        )
    with TemporaryDirectory(prefix="hebbql-audit-") as made:
        place = Path(made)
        folder = Path(settings.brain) if settings.brain else _folder(settings, open_app, place / "nothing", **how)
        copy = place / "brain"
        copied(folder, copy)
        try:
            with open_app(replace(settings, brain=str(copy)), seeding=False, **how) as app:
                yield app
        except BrainError as error:
            raise type(error)(str(error).replace(str(copy), str(folder))) from error


def _folder(
    settings: Settings, open_app: Callable[..., AbstractContextManager[App]], nothing: Path, **how: object
) -> Path:
    """Where the brain of the database is, which its schema says."""
    with open_app(replace(settings, brain=str(nothing)), seeding=False, **how) as app:
        return brain_folder(settings, app.schema)


def copied(folder: Path, to: Path) -> None:
    """Copy the ledger of a brain as it is committed, whoever has it open, and however it was left.

    The files of the brain are read byte for byte and opened by no database: none is written, none made and none
    deleted, also where a process was killed and its log is left. All are read twice, and what did not change
    meanwhile was there at one moment. Not for a process that has this brain open, as closing a file drops its locks.

    Raises:
        BrainMissingError: there is none.
        BrainError: another process keeps writing it, or it cannot be read.
    """
    ledger = folder / LEDGER_FILE
    if not ledger.is_file():
        raise BrainMissingError(f"There is no brain in {folder} yet. Ask a question or run `hebbql seed` first.")
    to.mkdir(parents=True)
    mark = folder / "glossary.mark"
    try:
        if mark.is_file():
            shutil.copyfile(mark, to / mark.name)
        for _ in range(_TRIES):
            if _is_copied(ledger, to / LEDGER_FILE):
                return
            time.sleep(_PAUSE)
    except OSError as error:
        raise BrainError(f"The brain in {folder} cannot be read: {error}. See: hebbql doctor.") from error
    raise BrainError(f"Another process keeps writing the brain in {folder}. Wait for it, then audit again.")


def _is_copied(ledger: Path, to: Path) -> bool:
    """Copy a file and its logs; False where one of them changed, came or went meanwhile."""
    beside = [end for end in _LOGS if Path(f"{ledger}{end}").exists()]
    for end in _LOGS:
        Path(f"{to}{end}").unlink(missing_ok=True)
    try:
        for end in ("", *beside):
            shutil.copyfile(f"{ledger}{end}", f"{to}{end}")
        return all(filecmp.cmp(f"{ledger}{end}", f"{to}{end}", shallow=False) for end in ("", *beside)) and beside == [
            end for end in _LOGS if Path(f"{ledger}{end}").exists()
        ]
    except FileNotFoundError:
        return False
