"""A copy of a brain to look at, so that looking changes nothing of the brain itself."""

from __future__ import annotations

import filecmp
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from agent.brain_place import brain_folder, ledger_place
from memory.errors import BrainError, BrainMissingError, BrainNewerError
from memory.ledger import FORMAT, LEDGER_FILE

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from agent.app import App
    from agent.settings import Settings

_TRIES, _PAUSE = 5, 0.2
_AT_ONCE = 500
"""Rows."""
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
        where = ledger_place(settings, folder)
        shown: object = folder
        copy = place / "brain"
        if isinstance(where, Path):
            copied(folder, copy)
        else:
            shown = fetched(where, copy)
        try:
            with open_app(replace(settings, brain=str(copy), ledger=None), seeding=False, **how) as app:
                yield app
        except BrainError as error:
            raise type(error)(str(error).replace(str(copy), str(shown))) from error


def _folder(
    settings: Settings, open_app: Callable[..., AbstractContextManager[App]], nothing: Path, **how: object
) -> Path:
    """Where the brain of the database is, which its schema says."""
    with open_app(replace(settings, brain=str(nothing), ledger=None), seeding=False, **how) as app:
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


def fetched(server: str, to: Path) -> str:
    """Copy a ledger in PostgreSQL into a file, in one transaction that only reads; give where it is, in words.

    Raises:
        BrainMissingError: there is no brain in the database.
        BrainNewerError: another edition of HebbQL wrote it.
        BrainError: it cannot be reached.
    """
    from sqlalchemy import inspect, select, text

    from memory import lexicon
    from memory.ledger import Ledger
    from memory.opening import engine_for, explained
    from memory.tables import BRAIN, METADATA
    from memory.vectors import VECTORS
    from procedural.store import METADATA as SYNAPSES

    engine = engine_for(server)
    shown = engine.url.render_as_string()
    how = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    try:
        with explained(engine), engine.connect().execution_options(**how) as source:
            there = set(inspect(source).get_table_names())
            if BRAIN.name not in there:
                raise BrainMissingError(f"There is no brain in {shown} yet. Ask a question or run `hebbql seed` first.")
            brain = source.execute(select(BRAIN)).one()
            if brain.format != FORMAT:
                raise BrainNewerError(
                    f"{shown} is of another edition of HebbQL (format {brain.format}; known is {FORMAT}). Ask it a "
                    "question with the newer of the two, then audit again."
                )
            with Ledger.open(to / LEDGER_FILE, database=brain.database) as made, made.transaction() as entry:
                SYNAPSES.create_all(entry.connection)
                for table in reversed(METADATA.sorted_tables):
                    entry.connection.execute(table.delete())
                for table in (*METADATA.sorted_tables, *SYNAPSES.sorted_tables, VECTORS):
                    if table.name in there:
                        _fill(entry.connection, table, source.execute(select(table)).mappings())
                words = text("SELECT rowid AS position, question, masked FROM lexicon ORDER BY rowid")
                for row in source.execute(words):
                    lexicon.add(entry.connection, row.position, row.question, row.masked)
    finally:
        engine.dispose()
    return shown


def _fill(target: Connection, table: Table, rows: Iterable[Mapping[str, object]]) -> None:
    left = iter(rows)
    while some := [dict(row) for row in islice(left, _AT_ONCE)]:
        target.execute(table.insert(), some)
