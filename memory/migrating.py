"""Taking an older brain along: its tables become those of today, in one transaction, from what its history says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from sqlalchemy import Connection, Engine, event, insert, select, text, update

from memory import opening
from memory.errors import BrainLockedError
from memory.ledger import FORMAT, EventKind, Transaction, masked_digest
from memory.opening import engine_for, explained
from memory.tables import BRAIN, CONTENT, EPISODES, LESSONS, MASKED_QUESTIONS

_AT_ONCE = 1_000

_LESSONS_AND_MASKS = 2
"""The format that brought tables for lessons and masked questions. Format 3 brought the events of
runs, format 4 those of snapshots, canaries and terms that are dropped; neither brought a table."""


def migrate(engine: Engine, *, clock: Callable[[], float], between: Callable[[str], None]) -> None:
    """Bring a brain of an older format to `FORMAT`. Its events stay as they are; one more says that it was upgraded.

    A crash at any moment leaves the old format or the new one. `engine` gives up its connections: SQLite lets nobody
    else have the file open meanwhile. PostgreSQL waits for running transactions only, so end every other process
    that has the brain open.

    Raises:
        BrainLockedError: another process has it open.
    """
    engine.dispose()
    alone = _alone(engine)
    try:
        with explained(alone), alone.connect().execution_options(writes=True) as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SET LOCAL lock_timeout = '{opening.PATIENCE:.3f}s'"))
                connection.execute(text("LOCK TABLE brain, ledger IN ACCESS EXCLUSIVE MODE"))
            found = connection.execute(select(BRAIN.c.format, BRAIN.c.database)).one()
            if found.format < FORMAT:
                if found.format < _LESSONS_AND_MASKS:
                    _to_2(connection, between)
                transaction = Transaction(connection, clock=clock, between=between, newest=False)
                transaction.append(EventKind.BRAIN_UPGRADED, found.database, {"from": found.format, "to": FORMAT})
                connection.execute(update(BRAIN).values(format=FORMAT))
                between("format")
            between("before commit")
        between("after commit")
    except BrainLockedError as locked:
        raise BrainLockedError(
            f"{locked} This brain is of an older format and is upgraded when nobody else has it open."
        ) from locked
    finally:
        alone.dispose()


def _to_2(connection: Connection, between: Callable[[str], None]) -> None:
    """Give a brain of format 1 its masked questions, from its active episodes, and a table of lessons without any."""
    for table in (MASKED_QUESTIONS, LESSONS):
        table.create(connection)
        between(f"{table.name} table")
    active = select(CONTENT.c.position, CONTENT.c.body).join(EPISODES, EPISODES.c.position == CONTENT.c.position)
    active = active.where(EPISODES.c.state == "active").order_by(CONTENT.c.position)
    rows = [
        {"position": row.position, "digest": masked_digest(json.loads(row.body)["masked"])}
        for row in connection.execute(active)
    ]
    for start in range(0, len(rows), _AT_ONCE):
        connection.execute(insert(MASKED_QUESTIONS), rows[start : start + _AT_ONCE])
        between("masked questions")


def _alone(engine: Engine) -> Engine:
    """An engine for the same database; of a SQLite file it takes exclusive hold as soon as it connects."""
    alone = engine_for(engine.url.render_as_string(hide_password=False))
    if engine.dialect.name == "sqlite":
        event.listen(alone, "connect", _take_hold, insert=True)
    return alone


def _take_hold(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
