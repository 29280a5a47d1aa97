"""The process that runs queries: started by path, speaks length-prefixed JSON, can be killed at any time.

It imports the standard library and, for PostgreSQL, psycopg; nothing of this project, so that it starts in some tens
of milliseconds. It ends when its parent does: its input closes, a running query sees another parent, and an alarm of
the operating system ends what is stuck in native code.

Message: four bytes of length (big endian), then JSON. Requests: `{"open": …}` once, then `{"sql", "deadline",
"rows", "bytes"}`; replies: `{"columns", "rows", "truncated", "seconds"}` or `{"error": kind, "message": …}`. A cell of
bytes is `{"b": base64}`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import resource
import signal
import sqlite3
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_MEMORY = 1 << 30
_HEAP = 256 << 20
_FILE = 1 << 30
_TICKS = 2_000
_LOCK_WAIT = 2.0
_GRACE = 2.0
_LARGEST = 1 << 63

Rows = Iterator[tuple[Any, ...]]


class Refused(Exception):
    """What the parent is told: a kind and a message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Sqlite:
    """One SQLite file, opened so that nothing can be written and little can be read but its tables."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._uri: str = settings["uri"]
        self._path: str = settings["path"]
        self._functions = frozenset(settings["functions"])
        self._connection: sqlite3.Connection | None = None
        self._views: frozenset[str] = frozenset()
        self._file: tuple[int, int] | None = None
        self._until = 0.0
        self._parent = os.getppid()

    def run(self, sql: str, deadline: float) -> tuple[list[str], Rows]:
        self._until = time.monotonic() + deadline
        try:
            cursor = self._open().execute(sql)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError) as problem:
            raise self._refused(problem) from None
        return [column[0] for column in cursor.description or ()], self._rows(cursor)

    def done(self) -> None:
        self._until = float("inf")

    def _rows(self, cursor: sqlite3.Cursor) -> Rows:
        try:
            for row in cursor:
                if time.monotonic() > self._until:
                    raise Refused("deadline", "")
                yield row
        except (sqlite3.Error, OverflowError, MemoryError) as problem:
            raise self._refused(problem) from None
        finally:
            cursor.close()

    def _open(self) -> sqlite3.Connection:
        found = os.stat(self._path)
        file = (found.st_dev, found.st_ino)
        if self._connection is not None and self._file == file:
            return self._connection
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        connection = sqlite3.connect(self._uri, uri=True, isolation_level=None, timeout=_LOCK_WAIT, cached_statements=0)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", f"hard_heap_limit={_HEAP}"):
            connection.execute(f"PRAGMA {pragma}")
        views = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
        self._views = frozenset(name.lower() for (name,) in views)
        virtual = connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'").fetchall()
        for (name,) in virtual:
            # A virtual table is connected by statements of its own, which the authorizer would refuse later.
            with contextlib.suppress(sqlite3.Error):
                connection.execute(f"""SELECT * FROM "{name.replace('"', '""')}" LIMIT 1""").fetchall()
        for limit, value in (
            (sqlite3.SQLITE_LIMIT_LENGTH, 100_000),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000),
            (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 500),
            (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
            (sqlite3.SQLITE_LIMIT_VDBE_OP, 250_000),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
            (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 20),
            (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
        ):
            connection.setlimit(limit, value)
        connection.set_progress_handler(self._over, _TICKS)
        connection.set_authorizer(self._may)
        self._connection, self._file = connection, file
        return connection

    def _over(self) -> bool:
        return time.monotonic() > self._until or os.getppid() != self._parent

    def _may(self, action: int, first: str | None, second: str | None, _: str | None, inside: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            own = (first or "").lower().startswith(("sqlite_", "pragma_"))
            return sqlite3.SQLITE_DENY if own else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            name = (second or "").lower()
            # A view of the database may call what a query may not, but nothing that reaches outside of it. SQLite
            # also names a CTE here; the guard refuses one that has the name of a view.
            listed = name in self._functions or (
                (inside or "").lower() in self._views and name not in ("load_extension", "fts3_tokenizer")
            )
            return sqlite3.SQLITE_OK if listed else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA and first == "data_version":
            return sqlite3.SQLITE_OK  # full-text tables ask it of themselves; it tells nothing
        return sqlite3.SQLITE_DENY

    def _refused(self, problem: Exception) -> Refused:
        text = str(problem)
        if isinstance(problem, MemoryError) or "out of memory" in text:
            return Refused("memory", "")
        if "interrupted" in text:
            return Refused("deadline", "")
        if "locked" in text or "busy" in text:
            return Refused("locked", "")
        if "too big" in text:
            return Refused("too_big", "")
        return Refused("error", text)


class Postgres:
    """One PostgreSQL database, each query in a read-only transaction of its own."""

    def __init__(self, settings: dict[str, Any]) -> None:
        sys.path[:] = settings["path"]
        import psycopg

        self._psycopg = psycopg
        self._conninfo: str = settings["conninfo"]
        self._search_path: str = settings["search_path"]
        self._connection: psycopg.Connection[Any] | None = None

    def run(self, sql: str, deadline: float) -> tuple[list[str], Rows]:
        psycopg = self._psycopg
        try:
            connection = self._fresh(deadline)
            cursor = connection.cursor()
            rows = cursor.stream(sql.encode())
            first = next(rows, None)
            columns = [column.name for column in cursor.description or ()]
            if first is None:
                # Without a row the stream knows no columns; ask for those of the statement.
                connection.pgconn.prepare(b"", sql.encode())
                described = connection.pgconn.describe_prepared(b"")
                columns = [(described.fname(n) or b"").decode() for n in range(described.nfields)]
        except psycopg.Error as problem:
            raise self._refused(problem) from None
        return columns, self._rows(first, rows)

    def done(self) -> None:
        if self._connection is not None:
            try:
                self._connection.rollback()
            except self._psycopg.Error:
                self._connection.close()
                self._connection = None

    def _rows(self, first: tuple[Any, ...] | None, rows: Rows) -> Rows:
        try:
            if first is not None:
                yield first
                yield from rows
        except self._psycopg.Error as problem:
            raise self._refused(problem) from None
        finally:
            rows.close()  # type: ignore[attr-defined]

    def _open(self) -> Any:
        psycopg = self._psycopg
        if self._connection is not None and not self._connection.closed:
            return self._connection
        from psycopg.types.string import TextLoader

        connection = psycopg.connect(self._conninfo, autocommit=True, connect_timeout=5, client_encoding="utf8")
        kept = {"bool", "int2", "int4", "int8", "oid", "float4", "float8", "numeric", "bytea"}
        for kind in psycopg.postgres.types:
            if kind.name not in kept:
                connection.adapters.register_loader(kind.oid, TextLoader)
            if kind.array_oid:
                connection.adapters.register_loader(kind.array_oid, TextLoader)
        self._connection = connection
        return connection

    def _fresh(self, deadline: float) -> Any:
        """Give the connection as it was when made, inside a read-only transaction with its limits."""
        connection = self._open()
        try:
            connection.execute("DISCARD ALL")
        except self._psycopg.OperationalError:
            connection.close()
            connection = self._open()
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        settings = {
            "statement_timeout": f"{max(1, round(deadline * 1000))}ms",
            "lock_timeout": f"{round(_LOCK_WAIT * 1000)}ms",
            "idle_in_transaction_session_timeout": f"{round((deadline + _GRACE) * 1000)}ms",
            "search_path": self._search_path,
            "datestyle": "ISO, YMD",
            "intervalstyle": "postgres",
            "bytea_output": "hex",
            "max_parallel_workers_per_gather": "0",
        }
        calls = ", ".join(["pg_catalog.set_config(%s, %s, true)"] * len(settings))
        connection.execute(f"SELECT {calls}", [part for pair in settings.items() for part in pair])
        return connection

    def _refused(self, problem: Any) -> Refused:
        state = problem.sqlstate or ""
        detail = problem.diag
        text = detail.message_primary or str(problem).splitlines()[0] if str(problem) else "the connection broke"
        if state == "57014":
            return Refused("deadline", "")
        if state == "55P03":
            return Refused("locked", "")
        if state in ("53200", "53100", "53400", "54000"):
            return Refused("memory", "")
        if isinstance(problem, self._psycopg.OperationalError) and not state:
            return Refused("connection", text)
        if detail.message_hint:
            text = f"{text}. {detail.message_hint}"
        return Refused("error", text)


def cell(value: Any) -> tuple[Any, int]:
    """Give a value as JSON carries it, and its size in bytes."""
    if value is None or isinstance(value, bool):
        return value, 1
    if isinstance(value, int):
        return (value, 8) if -_LARGEST <= value < _LARGEST else (float(value), 8)
    if isinstance(value, float):
        return value, 8
    if isinstance(value, str):
        return value, len(value.encode("utf-8", "replace"))
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        return {"b": base64.b64encode(raw).decode()}, len(raw)
    try:
        number = float(value)  # a Decimal
    except (TypeError, ValueError, OverflowError):
        return str(value), len(str(value))
    exact = number.is_integer() and abs(number) < _LARGEST and value.as_tuple().exponent >= 0
    return (int(value) if exact else number), 8


def answer(database: Sqlite | Postgres, request: dict[str, Any]) -> dict[str, Any]:
    """Run one request to its end, or to the first cap."""
    began = time.perf_counter()
    rows: list[list[Any]] = []
    size, truncated = 0, None
    found: Rows | None = None
    try:
        columns, found = database.run(request["sql"], request["deadline"])
        for row in found:
            if len(rows) == request["rows"]:
                truncated = "rows"
                break
            cells = [cell(value) for value in row]
            size += sum(one[1] for one in cells)
            if size > request["bytes"]:
                truncated = "bytes"
                break
            rows.append([one[0] for one in cells])
    finally:
        if found is not None:
            found.close()  # type: ignore[attr-defined]
        database.done()
    return {"columns": columns, "rows": rows, "truncated": truncated, "seconds": time.perf_counter() - began}


def limit(kind: int, value: int) -> None:
    """Lower a limit of this process, where the system lets it."""
    try:
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
    except (ValueError, OSError):
        return


def serve(receive: Callable[[], dict[str, Any] | None], send: Callable[[dict[str, Any]], None]) -> None:
    """Answer requests until the parent closes the pipe."""
    settings = receive()
    if settings is None:
        return
    try:
        database = Sqlite(settings) if settings["open"] == "sqlite" else Postgres(settings)
        send({"ready": True})
    except Exception as problem:
        send({"error": "start", "message": f"{type(problem).__name__}: {problem}"})
        return
    while (request := receive()) is not None:
        signal.setitimer(signal.ITIMER_REAL, request["deadline"] + _GRACE)
        try:
            reply = answer(database, request)
        except Refused as refused:
            reply = {"error": refused.kind, "message": str(refused)}
        except MemoryError:
            reply = {"error": "memory", "message": ""}
        except Exception as problem:
            reply = {"error": "error", "message": f"{type(problem).__name__}: {problem}"}
        send(reply)
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Serve on the standard streams; limits first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit(resource.RLIMIT_AS, _MEMORY)
    limit(resource.RLIMIT_FSIZE, _FILE)
    limit(resource.RLIMIT_CORE, 0)
    source, sink = sys.stdin.buffer, sys.stdout.buffer

    def receive() -> dict[str, Any] | None:
        head = source.read(4)
        if len(head) < 4:
            return None
        body = source.read(struct.unpack(">I", head)[0])
        request: dict[str, Any] = json.loads(body)
        return request

    def send(reply: dict[str, Any]) -> None:
        body = json.dumps(reply).encode()
        sink.write(struct.pack(">I", len(body)) + body)
        sink.flush()

    try:
        serve(receive, send)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)


if __name__ == "__main__":
    main()
