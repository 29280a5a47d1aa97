"""Where the brain of a database lies, and what it is told of the database whenever it is opened."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from agent.database.schema import Schema
from agent.learning.teaching import read_glossary
from agent.settings import Settings
from memory.errors import BrainForeignError
from memory.ledger import LEDGER_FILE
from memory.semantic import SemanticMemory


def brain_folder(settings: Settings, schema: Schema) -> Path:
    """Where the brain of a database lies: as told, else by its name; two files of one name do not share one."""
    if settings.brain:
        return Path(settings.brain)
    name = re.sub(r"[^\w.-]+", "_", schema.name) or "database"
    place = _place(settings.database)
    shipped = Path(place).is_relative_to(settings.data.resolve())
    if settings.ledger:
        place, shipped = f"{place} {_place(settings.ledger)}", False
    mark = "" if shipped else "-" + hashlib.sha256(place.encode()).hexdigest()[:8]
    return settings.runs / "brain" / f"{name}{mark}"


def ledger_place(settings: Settings, folder: Path) -> str | Path:
    """Where the ledger of the brain in a folder is: a file there, or the URL of a PostgreSQL database.

    Raises:
        BrainForeignError: the folder has a ledger of its own, or the database is the one that questions are asked of.
    """
    file = folder / LEDGER_FILE
    if not settings.ledger:
        return file
    if file.exists():
        raise BrainForeignError(
            f"{folder} has a ledger of its own, {LEDGER_FILE}, and HEBBQL_LEDGER names another. Unset it, or name "
            "another folder with --brain."
        )
    if "://" in settings.database and _server(settings.database) == _server(settings.ledger):
        raise BrainForeignError(
            "HEBBQL_LEDGER names the database that questions are asked of, whose schema the memory would become a part "
            "of. Make another database for it: CREATE DATABASE brain."
        )
    return settings.ledger


def _server(database: str) -> tuple[str, str | None, int | None, str | None, object]:
    """What tells one database of a server from others, whoever asks."""
    from sqlalchemy.engine import make_url

    url = make_url(database)
    return url.get_backend_name(), url.host, url.port, url.database, url.query.get("host")


def brain_beside(settings: Settings, folder: Path, name: str) -> Settings:
    """The settings of another brain over the same database: in a folder, and where ledgers are in PostgreSQL in a
    schema of its own, which is made if it is not there. For `name` see `memory.opening.schema_beside`.

    Raises:
        BrainError: it cannot be made.
    """
    from memory.opening import schema_beside

    ledger = schema_beside(settings.ledger, name) if settings.ledger else None
    return replace(settings, brain=str(folder), ledger=ledger)


def see_schema(semantic: SemanticMemory, schema: Schema, folder: Path) -> None:
    """Note the schema; refuse a database that shares no table with the one this brain is about."""
    seen = semantic.versions()
    if seen and seen[-1].fingerprint != schema.fingerprint:
        known = seen[-1].text.casefold()
        if not any(re.search(rf"(?<!\w){re.escape(table.name.casefold())}(?!\w)", known) for table in schema.tables):
            raise BrainForeignError(
                f"The brain in {folder} is about another database: none of its tables is there. "
                "Name another place with --brain."
            )
    semantic.see(schema.name, schema.text, schema.fingerprint)


def load_glossary(
    semantic: SemanticMemory, path: Path, schema: Schema, folder: Path, say: Callable[[str], None]
) -> None:
    """Teach what the glossary file says, unless this brain was taught this very file about this very schema.

    Reading it takes a tenth of a second. The mark covers the history of all terms, so that it holds for no other
    ledger. A file that is not right as a whole gets none: its faults are said at every start.
    """
    if not path.is_file():
        return
    mark, faults = folder / "glossary.mark", []

    def digest() -> str:
        parts = (path.read_bytes(), schema.fingerprint.encode(), repr(semantic.history()).encode())
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    def warn(fault: str) -> None:
        faults.append(fault)
        say(fault)

    with suppress(OSError):
        if mark.read_text(encoding="ascii", errors="replace") == digest():
            return
    semantic.load(read_glossary(path, schema, warn=warn))
    if not faults:
        with suppress(OSError):
            mark.write_text(digest(), encoding="ascii")


def waiting_for(folder: Path, pid: int | None) -> str:
    return f"Waiting for another hebbql{f' (process {pid})' if pid else ''} that uses {folder} …"


def _place(database: str) -> str:
    """Give one spelling of where a database is: the whole path of a file, or the URL without its password."""
    from sqlalchemy.engine import make_url

    if "://" not in database:
        return str(Path(database).expanduser().resolve())
    url = make_url(database)
    if url.get_backend_name() == "sqlite" and url.database:
        return str(Path(url.database.removeprefix("file:")).resolve())
    return url.set(password=None).render_as_string()
