"""Where the server of a brain is, if one runs: a note that it leaves while it serves, for the command line to find.

Reading it imports next to nothing and opens no database, so that a question to a running server costs no start-up.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.settings import Settings
from memory.lease import holder, is_held


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: its address, the key of who started it, the folder of its brain, and the model it was given.

    Only the user who started it can read the key.
    """

    url: str
    key: str
    pid: int
    folder: str
    model: str | None


@contextmanager
def announced(settings: Settings, *, url: str, key: str, folder: Path) -> Iterator[None]:
    """Leave the note while the block runs."""
    path = _place(settings)
    note = Served(url, key, os.getpid(), str(folder.resolve()), settings.model)
    path.parent.mkdir(parents=True, exist_ok=True)
    unborn = path.with_suffix(f".{os.getpid()}")
    unborn.unlink(missing_ok=True)
    with os.fdopen(os.open(unborn, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(note), file)
    unborn.replace(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def find(settings: Settings) -> Served | None:
    """The server of the brain that these settings mean, or None: no note, or its process does not hold the brain."""
    try:
        read: dict[str, Any] = json.loads(_place(settings).read_text("utf-8"))
        found = Served(**read)
    except (OSError, ValueError, TypeError):
        return None
    folder = Path(found.folder)
    return found if holder(folder) == found.pid and is_held(folder) else None


def _place(settings: Settings) -> Path:
    """Where the note of the server of a brain is: brains and databases that are spelled alike share it."""
    database = settings.database.removeprefix("sqlite:///")
    whole = database if "://" in database else str(Path(database).expanduser().resolve())
    brain = str(Path(settings.brain).resolve()) if settings.brain else ""
    named = "\n".join((whole, brain, settings.ledger or ""))
    return settings.runs / "serving" / f"{hashlib.sha256(named.encode()).hexdigest()[:16]}.json"
