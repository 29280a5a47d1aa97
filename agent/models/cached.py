"""Replies that were given before: a long run asks the same thing many times, and pays for it once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agent.models.port import Model, ModelError, Prompt, Reply, Usage, origin_of
from agent.models.recorded import prompt_hash

T = TypeVar("T")

APPLICATION_ID = 0x48454252
"""`HEBR`: what SQLite keeps in the header of our files."""

FORMAT = 2
PATIENCE = 5.0
"""Seconds to wait for another process that writes; then the reply is not looked up, or not kept."""

MOST_BYTES = 256 * 1024 * 1024
"""About half a million replies."""

TOUCH = 60.0
"""Seconds between two notes that a reply was used."""

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_PRIMARY_CODE = 0xFF

_TABLES = f"""
    CREATE TABLE replies (
        key TEXT PRIMARY KEY, reply BLOB NOT NULL, asker TEXT NOT NULL, session TEXT NOT NULL, used INTEGER NOT NULL
    );
    CREATE INDEX replies_by_use ON replies (used);
    PRAGMA application_id = {APPLICATION_ID};
    PRAGMA user_version = {FORMAT};
"""


class ReplyFileError(ModelError):
    """Kept replies cannot be dropped. The message says which file to delete."""


class _NotOursError(Exception):
    """The file holds something else than replies."""


class CachedModel:
    """Gives the reply that the model gave to the same request before, else asks it and keeps what it says.

    The same request: model, stable part, turns, `max_tokens`, and what `origin` of the model says, such as the digest
    of its weights. A reply from the file is marked as `replayed`, has the tokens and the seconds of the original
    call, and costs nothing. What the model declined and what was cut off is kept as well, a failure never.

    A reply can be paid for by a call whose attempt never came to its end. See `asked_by`; `charge` is then told what
    it had cost, in US dollars, for a budget that does not know of it.

    For `path` and `say` see Replies. Safe between threads and processes; two that ask the same at once both call.
    """

    def __init__(
        self,
        inner: Model,
        *,
        path: Path,
        say: Callable[[str], None] = lambda _told: None,
        most_bytes: int = MOST_BYTES,
        charge: Callable[[float], None] = lambda _cost: None,
    ) -> None:
        self._inner = inner
        self._replies = Replies(path, say=say, most_bytes=most_bytes)
        self._charge = charge
        self._session = secrets.token_hex(8)

    @property
    def name(self) -> str:
        return self._inner.name

    def origin(self) -> str:
        return origin_of(self._inner)

    def asked_by(self, asker: str) -> Model:
        """The same model for one asker, such as a question in an epoch of a run.

        What an asker was given by the model before this object was made, in a process that was killed, say, was never
        settled, else it would not ask again. So it is given the reply as it was then, with its cost and not marked as
        replayed, and what a run costs is the same however often it was cut off.
        """
        return _Asked(self, hashlib.sha256(asker.encode("utf-8", "surrogatepass")).hexdigest()[:32])

    def complete(self, prompt: Prompt, *, asker: str = "") -> Reply:
        """The kept reply, or a new one. Raises what the model raises."""
        key = request_hash(self._inner, prompt)
        if kept := self._replies.get(key):
            if not asker or kept.asker != asker or kept.session == self._session:
                usage = dataclasses.replace(kept.reply.usage, cost_usd=0.0)
                return dataclasses.replace(kept.reply, usage=usage, replayed=True)
            self._charge(kept.reply.usage.cost_usd or 0.0)
            reply = kept.reply
        else:
            reply = self._inner.complete(prompt)
        self._replies.put(key, reply, asker=asker, session=self._session)
        return reply

    def close(self) -> None:
        self._replies.close()
        self._inner.close()


class _Asked:
    """A cached model, asked by one asker."""

    def __init__(self, model: CachedModel, asker: str) -> None:
        self._model = model
        self._asker = asker

    @property
    def name(self) -> str:
        return self._model.name

    def origin(self) -> str:
        return self._model.origin()

    def complete(self, prompt: Prompt) -> Reply:
        return self._model.complete(prompt, asker=self._asker)

    def close(self) -> None:
        """It belongs to all askers."""


def request_hash(model: Model, prompt: Prompt) -> str:
    """Hash of a request as a whole: 32 hex digits, which tell nothing of it."""
    parts = f"{origin_of(model)}\0{prompt_hash(model.name, prompt)}"
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A reply as it was given, to whom, and in which session of which process."""

    reply: Reply
    asker: str = ""
    session: str = ""


class Replies:
    """Replies by hash, in one SQLite file that several processes may use at once. No prompt is kept.

    The file is opened, or made, when it is first wanted. One that is damaged or not ours is put aside and a new one
    begun; where nothing can be read or written, nothing is kept. Both are said to `say`, the latter once. When more
    than `most_bytes` are in use, the replies that were used longest ago go. Safe between threads.
    """

    def __init__(
        self,
        path: Path,
        *,
        say: Callable[[str], None] = lambda _told: None,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self._say = say
        self._most_bytes = most_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._writes = True
        self._reads = True

    def get(self, key: str) -> Kept | None:
        """The reply that was kept under this key, or None. Never raises for what the file is."""

        def look(connection: sqlite3.Connection) -> Kept | None:
            wanted = "SELECT reply, asker, session FROM replies WHERE key = ?"
            found = connection.execute(wanted, (key,)).fetchone()
            reply = _read(found[0]) if found else None
            return Kept(reply, str(found[1]), str(found[2])) if reply else None

        def touch(connection: sqlite3.Connection) -> None:
            now = self._now()
            before = now - int(TOUCH * 1e6)
            connection.execute("UPDATE replies SET used = ? WHERE key = ? AND used < ?", (now, key, before))

        with self._lock:
            kept = self._with_file(look)
            if kept is not None and self._writes:
                self._with_file(touch, writes=True)
        return kept

    def put(self, key: str, reply: Reply, *, asker: str = "", session: str = "") -> None:
        """Keep a reply, instead of one that was kept under this key. Never raises for what the file is."""

        def keep(connection: sqlite3.Connection) -> None:
            row = (key, _written(reply), asker, session, self._now())
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", row)
            while _bytes_in_use(connection) > self._most_bytes:
                oldest = "SELECT key FROM replies ORDER BY used LIMIT (SELECT count(*) / 10 + 1 FROM replies)"
                if not connection.execute(f"DELETE FROM replies WHERE key IN ({oldest})").rowcount:
                    break

        with self._lock:
            if self._writes:
                self._with_file(keep, writes=True)

    def drop(self, texts: Sequence[str], *, spelled: Callable[[str], str] = lambda text: text) -> int:
        """Remove the replies that hold one of some texts, so that their bytes are gone; says how many did.

        Letters and digits are compared, whatever stands between them and however they are written, with the reply as
        it is and as `spelled`. A text of one word so takes all replies with it along.

        Raises:
            ReplyFileError: the file, or one that was put aside, may hold them still.
        """
        wanted = [folded for text in texts if (folded := _folded(text))]
        holds = _Holding(tuple(wanted), spelled)
        left = [aside for aside in self._put_aside() if holds.in_bytes(aside)]
        if left:
            named = ", ".join(map(str, left))
            raise ReplyFileError(f"What is to be erased stands in {named}, which no cache uses. Delete it.")
        with self._lock:
            if not self.path.exists():
                return 0
            try:
                connection = self._connection or _connect(self.path)
                self._connection = connection
                return _drop(connection, holds)
            except (sqlite3.Error, OSError, _NotOursError) as trouble:
                raise ReplyFileError(
                    f"Replies cannot be dropped from {self.path} ({trouble}), so what is to be erased may stand in it. "
                    "Delete the file; only time is lost by it."
                ) from trouble

    def close(self) -> None:
        """Close the file. It is opened again when it is wanted."""
        with self._lock:
            self._leave()

    def _with_file(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False) -> T | None:
        """Work on the file, whatever is wrong with it; None where that could not be."""
        for last in (False, True):
            if not self._reads:
                return None
            try:
                if self._connection is None:
                    self._file = _identity(self.path)
                    self._connection = _connect(self.path)
                return work(self._connection)
            except (sqlite3.Error, OSError, _NotOursError) as trouble:
                code = getattr(trouble, "sqlite_errorcode", 0) & _PRIMARY_CODE
                if code in _BUSY:
                    return None
                unusable = isinstance(trouble, _NotOursError) or code in _DAMAGED
                if not unusable or last or not self._begin_anew(str(trouble)):
                    self._go_without(trouble, reading=writes and not unusable and self._connection is not None)
                    return None
        return None

    def _begin_anew(self, why: str) -> bool:
        """Put a file aside that cannot be used, unless another process did so; False where that failed."""
        from filelock import FileLock

        self._leave()
        try:
            with FileLock(f"{self.path}.lock", timeout=PATIENCE):  # its Timeout is an OSError
                if _identity(self.path) != self._file:
                    return True
                aside = self._free_place()
                self.path.rename(aside)
                for tail in ("-wal", "-shm"):
                    Path(f"{self.path}{tail}").unlink(missing_ok=True)
        except OSError:
            return False
        self._say(f"{self.path} cannot be used to keep replies: {why}. It is put aside as {aside.name}.")
        return True

    def _go_without(self, trouble: Exception, *, reading: bool) -> None:
        self._writes, self._reads = False, reading
        if not reading:
            self._leave()
        self._say(f"Replies of the model are not kept in {self.path}: {trouble}. Everything else goes on.")

    def _free_place(self) -> Path:
        number = 1
        while (place := self.path.with_name(f"{self.path.name}.aside-{number}")).exists():
            number += 1
        return place

    def _put_aside(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.path.name}.aside-*"))

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _now(self) -> int:
        return int(self._clock() * 1e6)


@dataclasses.dataclass(frozen=True, slots=True)
class _Holding:
    """Whether something holds one of the wanted texts, folded."""

    wanted: tuple[str, ...]
    spelled: Callable[[str], str]

    def in_reply(self, reply: Reply) -> bool:
        told = (_folded(reply.text), _folded(self.spelled(reply.text)), _folded(reply.declined or ""))
        return any(one in way for one in self.wanted for way in told)

    def in_bytes(self, path: Path) -> bool:
        """In a file as it lies on the disk, where a line ends as `\\n` in JSON."""
        try:
            told = _folded(path.read_bytes().decode("utf-8", "ignore").replace("\\n", " "))
        except OSError:
            return True
        return any(one in told for one in self.wanted)


def _folded(text: str) -> str:
    """Letters and digits alone, in one case.

    >>> _folded('SELECT  "a"\\nFROM t;')
    'selectafromt'
    """
    return "".join(re.findall(r"\w+", text.casefold()))


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is, or None where there is none."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file of replies, or make it. Raises _NotOursError for one that holds something else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            # In one transaction, and before the log is turned on, so that the header tells at once whose the file is.
            connection.execute("BEGIN IMMEDIATE")
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            for statement in () if tables else filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
            connection.execute("COMMIT")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise _NotOursError("it is the database of another application")
        if version != FORMAT:
            raise _NotOursError(f"it has format {version}, and this is format {FORMAT}")
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _drop(connection: sqlite3.Connection, holds: _Holding) -> int:
    connection.execute("BEGIN IMMEDIATE")
    try:
        kept = connection.execute("SELECT key, reply FROM replies").fetchall()
        gone = [(key,) for key, written in kept if (reply := _read(written)) is None or holds.in_reply(reply)]
        connection.executemany("DELETE FROM replies WHERE key = ?", gone)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise OSError("another process is reading it")
    return len(gone)


def _bytes_in_use(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _written(reply: Reply) -> bytes:
    content: dict[str, Any] = dataclasses.asdict(reply)
    del content["replayed"]
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _read(written: object) -> Reply | None:
    """Read a reply back; None for what is none."""
    try:
        content = json.loads(bytes(written).decode("utf-8", "surrogatepass"))  # type: ignore[call-overload]
        declined = content["declined"]
        return Reply(
            text=content["text"] + "",
            usage=Usage(**content["usage"]),
            seconds=float(content["seconds"]),
            stop="length" if content["stop"] == "length" else "end",
            declined=None if declined is None else declined + "",
            likelihood=None if content.get("likelihood") is None else float(content["likelihood"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
