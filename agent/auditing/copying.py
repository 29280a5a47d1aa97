"""A copy of a brain to look at, so that looking changes nothing of the brain itself."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from agent.brain_place import brain_folder
from memory.errors import BrainError, BrainMissingError
from memory.ledger import LEDGER_FILE

if TYPE_CHECKING:
    from agent.app import App
    from agent.settings import Settings

_TRIES, _PAUSE = 5, 0.2


@contextmanager
def opened_copy(
    settings: Settings, open_app: Callable[..., AbstractContextManager[App]], **how: object
) -> Iterator[App]:
    """Open a copy of a brain in a folder of its own, which is deleted afterwards.

    Opening a brain may write to it: a changed schema is noted, an attempt that was cut off is closed. The episode
    store is not copied, as nothing here looks into it.

    Raises:
        BrainMissingError: there is no brain yet.
        BrainError: it cannot be read.
    """
    with TemporaryDirectory(prefix="hebbql-audit-") as made:
        place = Path(made)
        if settings.brain:
            folder = Path(settings.brain)
        else:
            with open_app(replace(settings, brain=str(place / "nothing")), seeding=False, **how) as app:
                folder = brain_folder(settings, app.schema)
        copied(folder, place / "brain")
        with open_app(replace(settings, brain=str(place / "brain")), seeding=False, **how) as app:
            yield app


def copied(folder: Path, to: Path) -> None:
    """Copy the ledger of a brain as it is committed. No file of the brain is written, and none made beside it.

    Raises:
        BrainMissingError: there is none.
        BrainError: another process keeps writing it, or it is damaged.
    """
    ledger = folder / LEDGER_FILE
    if not ledger.is_file():
        raise BrainMissingError(f"There is no brain in {folder} yet. Ask a question or run `hebbql seed` first.")
    to.mkdir(parents=True)
    mark = folder / "glossary.mark"
    if mark.is_file():
        shutil.copyfile(mark, to / mark.name)
    for _ in range(_TRIES):
        before, log = ledger.stat(), Path(f"{ledger}-wal")
        # Without a log nobody has it open, and opened as a file that cannot change it gets no files beside it.
        way = "mode=ro" if log.exists() else "immutable=1"
        try:
            with (
                closing(sqlite3.connect(f"file:{quote(str(ledger))}?{way}", uri=True)) as source,
                closing(sqlite3.connect(to / LEDGER_FILE)) as target,
            ):
                source.backup(target)
        except sqlite3.Error as error:
            raise BrainError(f"The brain in {folder} cannot be read: {error}. See: hebbql doctor.") from error
        after = ledger.stat()
        if way == "mode=ro" or (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
            return
        time.sleep(_PAUSE)
    raise BrainError(f"Another process keeps writing the brain in {folder}. Wait for it, then audit again.")
