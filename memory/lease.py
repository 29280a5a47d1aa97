"""One writer per brain: a lock that is dropped when its process dies, however it dies.

Of a file where the brain is in a folder; of PostgreSQL as well where its ledger is there, as folders of two machines
may have one ledger.
"""

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


@contextmanager
def server_lease(
    server: str, *, wait: float, waiting: Callable[[int | None], None] = _say_nothing, poll: float = 0.1
) -> Iterator[None]:
    """Hold the ledger in PostgreSQL at a URL for writing while the block runs. For `waiting` see `writer_lease`.

    Raises:
        BrainLockedError: it is still held after `wait` seconds.
        BrainMissingError: the server cannot be reached.
    """
    from sqlalchemy import text

    from memory.opening import APPLICATION_ID, engine_for, explained

    take = text(f"SELECT pg_try_advisory_lock({APPLICATION_ID}, hashtext(current_schema()))")
    engine = engine_for(server)
    try:
        with explained(engine):
            connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with connection:
            until, told = time.monotonic() + wait, False
            while not connection.execute(take).scalar_one():
                if not told:
                    waiting(None)
                told = True
                if time.monotonic() >= until:
                    raise BrainLockedError(
                        f"Another hebbql is using the ledger {engine.url!r} and did not finish within {wait:.0f} s. "
                        "Wait for it, end it, or name another with HEBBQL_LEDGER."
                    )
                time.sleep(poll)
            yield
    finally:
        engine.dispose()


def is_held(folder: Path) -> bool:
    """Whether any process, this one too, holds the brain in `folder` for writing."""
    from filelock import FileLock, Timeout

    path = folder / FILE
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def holder(folder: Path) -> int | None:
    """The id of the process that last took the brain in `folder`; None where that cannot be read."""
    return _holder(folder / FILE)


def _holder(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None
