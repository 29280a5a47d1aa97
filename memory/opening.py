"""Opening the database of a brain: made whole or not at all, and refused when it is not ours."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError

from memory.errors import (
    BrainDamagedError,
    BrainError,
    BrainForeignError,
    BrainFullError,
    BrainLockedError,
    BrainMissingError,
    BrainUnwritableError,
)

APPLICATION_ID = 0x48454242
"""`HEBB`: what SQLite keeps in the header of our files."""

PATIENCE = 10.0
"""Seconds to wait for another writer of the same file."""

_SQLITE_MAGIC = b"SQLite format 3\0"


def engine_for(where: str | Path) -> Engine:
    """Give an engine for a bare path to a SQLite file, or for a SQLAlchemy URL of SQLite or PostgreSQL.

    Raises:
        BrainError: the URL cannot be read, or names another kind of database.
    """
    try:
        url = make_url(str(where)) if "://" in str(where) else URL.create("sqlite", database=str(where))
    except (ArgumentError, ValueError) as error:
        shown = re.sub(r"//[^/]*@", "//…@", str(where))  # a password stands there
        raise BrainError(f"{shown!r} is no path and no database URL. Check HEBBQL_LEDGER.") from error
    kind = url.get_backend_name()
    if kind == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise BrainError("A brain lives in a file: name one, not :memory:.")
        engine = create_engine(url, connect_args={"timeout": PATIENCE})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if kind == "postgresql":
        return create_engine(url.set(drivername="postgresql+psycopg"))
    raise BrainError(f"A brain is kept in SQLite or PostgreSQL, not in {kind}.")


def schema_beside(server: str, name: str) -> str:
    """Make a schema for another brain in the same PostgreSQL database, if it is not there; give the URL that sees it.

    It sees no other. `name` is of small letters, digits and '-', and tells it from those of further brains.

    Raises:
        BrainError: the server cannot be reached, or its user may not make a schema.
    """
    engine = engine_for(server)
    try:
        with explained(engine), engine.begin() as connection:
            home = connection.execute(text("SELECT current_schema()")).scalar_one() or ""
            mark = hashlib.sha256(home.encode()).hexdigest()[:8]
            schema = f"brain_{mark}_{name.replace('-', '_')}"
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {schema}"))
        url = engine.url.update_query_dict({"options": f"-csearch_path={schema}"})
        return url.render_as_string(hide_password=False)
    finally:
        engine.dispose()


def sqlite_file(engine: Engine) -> Path | None:
    """The file behind the engine, or None for a server."""
    return Path(str(engine.url.database)) if engine.dialect.name == "sqlite" else None


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy's begin event decides, not the driver
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes", False) else "BEGIN")


def check_sqlite_file(path: Path) -> bool:
    """Tell whether the file is there. Looks at the file only; opens no database.

    Raises:
        BrainDamagedError: it is empty, or is no SQLite database.
        BrainForeignError: another application's SQLite database.
        BrainUnwritableError: it cannot be read or written.
    """
    if not path.exists():
        return False
    if path.is_dir():
        raise BrainUnwritableError(f"{path} is a folder, and a brain is a file. Name another place with --brain.")
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK):
        raise BrainUnwritableError(f"{path} cannot be written. Change its rights, or name another place with --brain.")
    with path.open("rb") as file:
        header = file.read(100)
    if not header:
        raise BrainDamagedError(
            f"{path} is empty (0 bytes), which a brain never is. Put a copy back, or delete the file to begin anew."
        )
    if not header.startswith(_SQLITE_MAGIC):
        raise BrainDamagedError(f"{path} is no brain: it is not a SQLite database. Name another place with --brain.")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise BrainForeignError(
            f"{path} is a SQLite database of another application, not a brain. Name another place with --brain."
        )
    return True


def check_folder(path: Path, *, create: bool) -> None:
    """Make sure that a brain can be made in the folder of `path`.

    Raises:
        BrainMissingError: the folder is not there and `create` is false.
        BrainUnwritableError: it cannot be made or written.
    """
    folder = path.parent
    if not create:
        raise BrainMissingError(f"There is no brain in {folder}. Ask a question to begin one, or check --brain.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrainUnwritableError(
            f"The folder {folder} cannot be made: {error.strerror}. Name another place with --brain."
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BrainUnwritableError(f"The folder {folder} cannot be written. Name another place with --brain.")


def holds_tables(engine: Engine) -> bool:
    """Tell whether a server's database holds a brain already.

    Raises:
        BrainForeignError: it holds a table of ours by name but no brain.
    """
    with explained(engine), engine.connect() as connection:
        names = set(inspect(connection).get_table_names())
    if "brain" in names:
        return True
    if "ledger" in names:
        raise BrainForeignError(f"{engine.url!r} has a table named ledger that is not ours. Name an empty database.")
    return False


def flush_folder(folder: Path) -> None:
    """Make a rename in the folder last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def explained(engine: Engine) -> Iterator[None]:
    """Turn the driver's errors that a person can act on into ours; others pass unchanged."""
    try:
        yield
    except DatabaseError as error:
        where, why = engine.url.render_as_string(), str(error.orig)
        said = why.lower()
        is_file = engine.dialect.name == "sqlite"
        place = "another place with --brain" if is_file else "another database with HEBBQL_LEDGER"
        if "is locked" in said or "lock timeout" in said:
            raise BrainLockedError(
                f"{where} is held by another process for more than {PATIENCE:.0f} s. End that process, then try again."
            ) from error
        if "disk is full" in said or "no space left" in said:
            raise BrainFullError(
                f"The disk of {where} is full. Nothing half-done was kept: free some space, then try again."
            ) from error
        if "readonly" in said or "unable to open" in said or "permission denied" in said:
            raise BrainUnwritableError(
                f"{where} cannot be written ({why}). Change its rights, or name {place}."
            ) from error
        if "disk i/o error" in said:
            raise BrainUnwritableError(
                f"{where} cannot be read or written ({why}): the disk is over its quota, or failing. Nothing half-done "
                "was kept: look at the disk, then try again."
            ) from error
        if "not a database" in said or "malformed" in said:
            raise BrainDamagedError(
                f"{where} is damaged ({why}). Put a copy back, or delete it to begin anew."
            ) from error
        if not is_file and any(word in said for word in ("connect", "does not exist", "no schema")):
            raise BrainMissingError(
                f"{where} cannot be reached ({why}). Start the server or check HEBBQL_LEDGER."
            ) from error
        raise BrainDamagedError(f"{where} is damaged ({why}). Put a copy back, or delete it to begin anew.") from error
