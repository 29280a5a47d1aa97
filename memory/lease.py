"""One writer per brain: a file lock that the system drops when its process dies, however it dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import BrainLockedError, BrainUnwritableError

FILE = "writer.lock"


def _say_nothing(_holder: int | None) -> None:
    """The word to a person who does not want one."""


@contextmanager
def writer_lease(
    folder: Path,
    *,
    wait: float,
    waiting: Callable[[int | None], None] = _say_nothing,
    poll: float = 0.1,
) -> Iterator[None]:
    """Hold the brain in `folder` for writing while the block runs. Makes the folder.

    When another process holds it, `waiting` is called once with that process's id (None when it cannot be read),
    and the lease is tried again every `poll` seconds for `wait` seconds.

    Raises:
        BrainLockedError: it is still held after `wait` seconds.
        BrainUnwritableError: the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting(_holder(path))
            lock.acquire(timeout=max(wait, 0.0), poll_interval=poll)
    except Timeout as error:
        holder = _holder(path)
        raise BrainLockedError(
            f"Another hebbql{f' (process {holder})' if holder else ''} is using {folder} and did not finish within "
            f"{wait:.0f} s. Wait for it, end it, or name another place with --brain."
        ) from error
    except OSError as error:
        raise BrainUnwritableError(
            f"{folder} cannot be written: {error.strerror or error}. Change its rights, or name another with --brain."
        ) from error
    try:
        path.write_text(f"{os.getpid()} {int(time.time())}\n", encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
