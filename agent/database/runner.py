"""Runs checked SQL in a worker process that is killed when it does not answer in time."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import selectors
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.database.functions import ALLOWED, INSTEAD
from agent.database.naming import fold, nearest, quoted
from agent.database.result import Cell, QueryFailed, Result
from agent.database.schema import Schema

GRACE = 1.0
"""Seconds past the deadline after which the worker is killed."""
_START = 15.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How far one query may go: seconds of wall time, rows, and bytes of all its cells."""

    deadline: float = 10.0
    rows: int = 1_000
    bytes: int = 1_000_000


class _WorkerGoneError(Exception):
    """The worker ended or did not answer in time."""


class Runner:
    """One worker process, started at the first query or at `wake`, and again after it was killed. Threads may share it.

    `target` tells the worker what to open; it may hold a password and is sent over the pipe only.
    """

    def __init__(self, target: dict[str, Any], schema: Schema | None = None) -> None:
        self._target = target
        self._schema = schema
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The process id of the worker, None when none runs."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def run(self, sql: str, limits: Limits) -> Result:
        """Run one query that the guard has passed.

        Raises:
            QueryFailed: the database could not run it, or a limit was met; the reason says what to do.
        """
        request = {"sql": sql, "deadline": limits.deadline, "rows": limits.rows, "bytes": limits.bytes}
        with self._lock:
            try:
                reply = self._exchange(request, limits.deadline + GRACE)
            except _WorkerGoneError as gone:
                self._kill()
                if str(gone) == "late":
                    raise self._failed("deadline", "", limits) from None
                raise QueryFailed(
                    f"The process that runs SQL ended ({gone}), as when a query needs too much memory. Ask for less.",
                    kind="worker",
                ) from None
            except BaseException:
                self._kill()
                raise
        if "error" in reply:
            raise self._failed(reply["error"], reply["message"], limits)
        return Result(
            columns=tuple(reply["columns"]),
            rows=tuple(tuple(_cell(value) for value in row) for row in reply["rows"]),
            truncated=reply["truncated"],
            seconds=reply["seconds"],
        )

    def wake(self) -> None:
        """Start the worker and go on without waiting for it. What goes wrong is said by the first query."""
        with self._lock:
            if self._process is None:
                self._start()

    def close(self) -> None:
        """End the worker. A later query starts another."""
        with self._lock:
            self._kill()

    # The process

    def _exchange(self, request: dict[str, Any], patience: float) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._kill()
            self._start()
        process = self._process
        assert process is not None
        if not self._ready:
            self._wait_for(process)
        try:
            _send(process, request)
            return _receive(process, patience)
        except (BrokenPipeError, EOFError):
            raise _WorkerGoneError(f"exit code {_code(process)}") from None

    def _start(self) -> None:
        """Start a worker and tell it what to open; it opens that while we go on."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        with contextlib.suppress(BrokenPipeError):  # it ended at once; waiting for it will tell
            _send(self._process, self._target)

    def _wait_for(self, process: subprocess.Popen[bytes]) -> None:
        try:
            reply = _receive(process, _START)
        except (BrokenPipeError, EOFError):
            raise _WorkerGoneError(f"exit code {_code(process)} at start") from None
        if "error" in reply:
            raise QueryFailed(f"The process that runs SQL cannot start: {reply['message']}.", kind="connection")
        self._ready = True

    def _kill(self) -> None:
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    # Words

    def _failed(self, kind: str, message: str, limits: Limits) -> QueryFailed:
        words = {
            "deadline": f"The query ran longer than {limits.deadline:g} seconds and was stopped. "
            "Check that every join has its condition, or read fewer rows.",
            "locked": "Another program holds a lock on the database. Try again when it is done.",
            "memory": "The query needs more memory or temporary space than it may have. Read fewer rows or columns.",
            "too_big": "A value is longer than 100,000 bytes. Leave that column out, or ask for its length.",
            "connection": f"The connection to the database broke: {message}. Try again.",
        }
        return QueryFailed(words.get(kind) or _explained(message, self._schema), kind=kind)


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    body = json.dumps(message).encode()
    process.stdin.write(struct.pack(">I", len(body)) + body)
    process.stdin.flush()


def _receive(process: subprocess.Popen[bytes], patience: float) -> dict[str, Any]:
    """Wait for one message; `patience` is seconds."""
    until = time.monotonic() + patience
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)

        def read(size: int) -> bytes:
            parts = bytearray()
            while len(parts) < size:
                left = until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise _WorkerGoneError("late")
                assert process.stdout is not None
                part = process.stdout.read(min(size - len(parts), 1 << 20))
                if not part:
                    raise EOFError
                parts += part
            return bytes(parts)

        reply: dict[str, Any] = json.loads(read(struct.unpack(">I", read(4))[0]))
        return reply


def _code(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        return None


def _cell(value: Any) -> Cell:
    if isinstance(value, dict):
        return base64.b64decode(value["b"])
    cell: Cell = value
    return cell


_NO_COLUMN = re.compile(r'(?:no such column: "?|column "?)(?P<name>[^"]+?)"?(?: - should this.*| does not exist.*|$)')
_NO_TABLE = re.compile(r'(?:no such table: |relation ")(?P<name>[^"]+?)(?:" does not exist.*|$)')
_NO_FUNCTION = re.compile(r"(?:no such function: |function )(?P<name>\w+)")


def _explained(message: str, schema: Schema | None) -> str:
    """Add to an error of the database the real names nearest to the wrong one."""
    text = message.strip().rstrip(".")
    said = [f"The database says: {text}."]
    if schema is None:
        return said[0]
    if found := _NO_COLUMN.search(text):
        name = found["name"].rpartition(".")[2]
        columns = [column.name for table in schema.tables for column in table.columns]
        owners = [t.name for t in schema.tables if any(fold(c.name) == fold(name) for c in t.columns)]
        if owners:
            said.append(f"{name} is a column of {', '.join(quoted(o, schema.dialect) for o in owners[:3])}.")
        elif close := nearest(name, columns):
            said.append(f"Nearest: {', '.join(quoted(c, schema.dialect) for c in close)}.")
    elif found := _NO_TABLE.search(text):
        if close := nearest(found["name"], [table.name for table in schema.tables]):
            said.append(f"Nearest: {', '.join(quoted(c, schema.dialect) for c in close)}.")
    elif found := _NO_FUNCTION.search(text):
        name = found["name"].lower()
        instead = INSTEAD[schema.dialect].get(name)
        if instead:
            said.append(f"{instead[0].upper()}{instead[1:]}.")
        elif close := nearest(name, sorted(ALLOWED[schema.dialect]), limit=2):
            said.append(f"Nearest: {', '.join(close)}.")
    return " ".join(said)
