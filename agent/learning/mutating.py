"""Copies of a database with other rows, on which an answer that was right by luck is not."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from agent.database.guard import check
from agent.database.result import Result
from agent.database.schema import Schema

LARGEST = 64 << 20
"""Bytes of a SQLite file above which no copy of it is made: its rows are held in memory meanwhile."""


def _nothing(_text: str) -> None:
    """Nobody is told."""


class Opened(Protocol):
    """An open database. `run` takes SQL that the guard has passed."""

    @property
    def schema(self) -> Schema: ...

    def run(self, sql: str) -> Result: ...

    def close(self) -> None: ...


@contextmanager
def mutated(
    database: Opened,
    *,
    file: Path | None,
    folder: Path,
    open_copy: Callable[[Path], Opened],
    count: int = 3,
    seed: int = 0,
    largest: int = LARGEST,
    say: Callable[[str], None] = _nothing,
) -> Iterator[tuple[Callable[[str], Result], ...]]:
    """Give `count` functions, each of which checks SQL and runs it on a copy of the database with other rows.

    The same `seed` gives the same copies. A SQLite database of up to `largest` bytes is copied for real: `file` is its
    path, the copies lie in a folder of their own inside `folder` and go at the end of the block. They have the schema
    of the original, so what passes its guard passes theirs. Any other database, and one of which no copy can be made,
    is not copied and not written to: queries are rewritten so that they read other rows than are there. Where that
    cannot be done either, there are no functions. `say` is told of both.

    In `agent/app.py`:

        with mutated(
            database,
            file=path_of_the_sqlite_file_or_None,
            folder=self.folder,
            open_copy=lambda path: open_database(str(path), deadline=…, row_cap=…, byte_cap=…),
        ) as copies:
            judge = Judge(run=lambda sql: database.run(check(sql, schema).sql), copies=copies, dialect=schema.dialect)

    A function raises QueryRejected and QueryFailed, as on the database itself.

    Raises:
        OSError, sqlite3.Error: the copies cannot be written for want of room or rights.
    """
    schema = database.schema
    with ExitStack() as opened:
        runs = None
        if file is not None and file.stat().st_size <= largest:
            try:
                runs = _copied(file, folder, schema, open_copy, opened, count=count, seed=seed)
            except Exception as problem:  # whatever is odd about a database, it can still be asked
                opened.close()
                if _has_no_room(problem):
                    raise
                say(f"No copies of the database could be made ({_told(problem)}). Queries are rewritten instead.")
        if runs is None:
            from agent.learning.shadowing import shadows

            try:
                runs = shadows(database, count=count, seed=seed)
            except Exception as problem:
                say(f"No other rows to try answers on could be made ({_told(problem)}): luck may count as right.")
                runs = ()
        checked = lru_cache(maxsize=1_000)(lambda sql: check(sql, schema).sql)  # the same for all copies
        yield tuple(_checked(checked, run) for run in runs)


def _copied(
    file: Path,
    folder: Path,
    schema: Schema,
    open_copy: Callable[[Path], Opened],
    opened: ExitStack,
    *,
    count: int,
    seed: int,
) -> tuple[Callable[[str], Result], ...]:
    """Make and open copies, which are closed and removed with `opened`."""
    from agent.learning.remaking import remake

    place = opened.enter_context(_own_folder(folder))
    runs = []
    for number in range(count):
        path = place / f"copy-{number + 1}.sqlite"
        remake(file, path, schema, number=number, seed=seed)
        copy = open_copy(path)
        opened.callback(copy.close)
        runs.append(copy.run)
    return tuple(runs)


def _has_no_room(problem: Exception) -> bool:
    if isinstance(problem, sqlite3.Error):
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
    return isinstance(problem, OSError)


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


def _checked(checked: Callable[[str], str], run: Callable[[str], Result]) -> Callable[[str], Result]:
    return lambda sql: run(checked(sql))


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """Make a folder for the copies of this process and remove it after; those that dead processes left go too."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("mutated-*"):
        found = re.fullmatch(r"mutated-(\d+)(-\d+)?", left.name)
        if found and not _runs(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)
    number = 0
    while True:
        place = folder / (f"mutated-{os.getpid()}" + (f"-{number}" if number else ""))
        try:
            place.mkdir()
            break
        except FileExistsError:
            number += 1
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
