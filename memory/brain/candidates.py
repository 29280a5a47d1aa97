"""Candidates: whole copies of a brain in a folder of their own beside it, to be tried out and thrown away.

The ledger of a candidate is a file in its folder. Where the brain's is in PostgreSQL it is a schema of its own in the
same database, so that it is searched by the same words in the same order.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from memory.errors import BrainError, BrainUnwritableError
from memory.lease import writer_lease
from memory.ledger import LEDGER_FILE
from memory.opening import engine_for, explained
from memory.tables import METADATA
from memory.vectors import VECTORS

FOLDER = "candidates"
"""Where they are, in the folder of the brain: erasing looks through that, so that no copy is passed over."""

_PATIENCE = 20.0
"""Seconds for a process that tries out what a killed one left to see that it is alone, and end."""

_TABLES = (*METADATA.tables, "lexicon", VECTORS.name)

_COLUMNS = """
    SELECT a.attname FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = CAST(:name AS regclass)
       AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A copy of a brain: its folder, and where its ledger is if that is in PostgreSQL."""

    folder: Path
    server: str | None = field(default=None, repr=False)


def _nothing(_step: str) -> None:
    """The hook between writes that does nothing."""


def begin(
    brain: Path,
    id: str,
    *,
    server: str | None = None,
    beside: Iterable[str] = (),
    between: Callable[[str], None] = _nothing,
) -> Candidate:
    """Copy the ledger of a brain, as it is committed, into a new candidate.

    `server` is the URL of a ledger in PostgreSQL; `beside` names the tables there that others keep beside the ledger's.
    The episode store is not copied, as it holds whole paths: the candidate's own is built from its ledger. Hold the
    brain's lease meanwhile. `between` is called between any two writes, for tests of crashes.

    Raises:
        BrainUnwritableError: there is no room, or PostgreSQL does not let its user make a schema.
        BrainError: the ledger cannot be read.
    """
    folder = brain / FOLDER / id
    try:
        folder.mkdir(parents=True)
        between("candidate folder")
        if server is not None:
            made = Candidate(folder, _copied(server, id, (*_TABLES, *beside), between))
        else:
            made = Candidate(folder)
            with (
                closing(sqlite3.connect(brain / LEDGER_FILE)) as source,
                closing(sqlite3.connect(folder / LEDGER_FILE)) as target,
            ):
                source.backup(target)
    except (OSError, sqlite3.Error) as error:
        remove(Candidate(folder))
        raise BrainUnwritableError(
            f"The candidate cannot be written into {folder}: {error}. Make room there, then try again."
        ) from error
    except BrainError:
        remove(Candidate(folder))
        raise
    between("candidate copied")
    return made


def remove(candidate: Candidate) -> None:
    """Delete a candidate, and the folder of all candidates when it was the last.

    Raises:
        BrainError: PostgreSQL cannot be reached; the next `clear` deletes what is there.
    """
    shutil.rmtree(candidate.folder, ignore_errors=True)
    if (all_ := candidate.folder.parent).is_dir() and not any(all_.iterdir()):
        all_.rmdir()
    if candidate.server is not None:
        with _writing(candidate.server) as connection:
            if schema := _home(connection):
                _drop(connection, schema)


def clear(brain: Path, *, server: str | None = None) -> tuple[str, ...]:
    """Delete what killed processes left of candidates; give their names. Hold the brain's lease meanwhile.

    Raises:
        BrainLockedError: a process still has one of them open.
        BrainError: PostgreSQL cannot be reached.
    """
    left = sorted(path for path in (brain / FOLDER).glob("*") if path.is_dir())
    for folder in left:
        with writer_lease(folder, wait=_PATIENCE):
            shutil.rmtree(folder, ignore_errors=True)
        remove(Candidate(folder))
    names = dict.fromkeys(folder.name for folder in left)
    if server is not None:
        with _writing(server) as connection:
            prefix = _prefix(connection)
            for schema in inspect(connection).get_schema_names():
                if schema.startswith(prefix):
                    _drop(connection, schema)
                    names[schema.removeprefix(prefix).replace("_", "-")] = None
    return tuple(names)


def _copied(server: str, id: str, tables: Iterable[str], between: Callable[[str], None]) -> str:
    """Copy tables into a schema of their own, in one transaction; give the URL by which it is the only one seen."""
    with _writing(server) as connection:
        quote = connection.dialect.identifier_preparer.quote
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        home = _home(connection)
        schema = _prefix(connection) + id.replace("-", "_")
        connection.execute(text(f"CREATE SCHEMA {quote(schema)}"))
        between("candidate schema")
        for name in tables:
            source, target = (f"{quote(place)}.{quote(name)}" for place in (home, schema))
            connection.execute(text(f"CREATE TABLE {target} (LIKE {source} INCLUDING ALL)"))
            columns = ", ".join(map(quote, connection.execute(text(_COLUMNS), {"name": source}).scalars()))
            connection.execute(text(f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {source}"))
            between(f"candidate {name}")
        url = connection.engine.url.update_query_dict({"options": f"-csearch_path={schema}"})
    return url.render_as_string(hide_password=False)


@contextmanager
def _writing(server: str) -> Iterator[Connection]:
    """A transaction of its own in PostgreSQL, whose connection is closed at its end."""
    engine = engine_for(server)
    try:
        with explained(engine), engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _drop(connection: Connection, schema: str) -> None:
    assert schema.startswith("candidate_"), f"{schema} is no candidate"
    connection.execute(text(f"DROP SCHEMA {connection.dialect.identifier_preparer.quote(schema)} CASCADE"))


def _prefix(connection: Connection) -> str:
    """How the schemas of all candidates of this brain begin: those of another brain in the same database do not."""
    return f"candidate_{hashlib.sha256(_home(connection).encode()).hexdigest()[:8]}_"


def _home(connection: Connection) -> str:
    """The schema that names without one are looked for in; "" where it is not there any more."""
    return connection.execute(text("SELECT current_schema()")).scalar_one() or ""
