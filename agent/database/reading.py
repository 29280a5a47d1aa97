"""Opens a database: its schema, its facts, and a read-only way to its rows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sqlite3
import stat
import sys
import threading
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agent.database.facts import read_facts
from agent.database.functions import ALLOWED
from agent.database.naming import fold
from agent.database.result import DatabaseUnusableError, Result
from agent.database.runner import Limits, Runner
from agent.database.schema import Column, Facts, ForeignKey, Schema, Table

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy import Table as ReflectedTable

_LOCK_WAIT = 2.0
_CONNECT_WAIT = 5
_LONGEST_PATH = 1_000
_READING_OPTIONS = "-c default_transaction_read_only=on -c statement_timeout=30000 -c lock_timeout=2000"
# Relations that this role may select from, without the parts of partitioned tables and those of extensions.
_READABLE = """
    SELECT n.nspname, c.relname
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
      AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend AS d WHERE d.objid = c.oid AND d.deptype = 'e')
"""
_Stamp = tuple[tuple[int, int, int], ...]
_UNGUARDED = {"mysql": "MySQL", "mariadb": "MariaDB", "mssql": "SQL Server", "oracle": "Oracle", "duckdb": "DuckDB"}


class Database:
    """An open database. `run` takes SQL that the guard has passed and nothing else; close it when done.

    `warnings` holds what the person running this should know, as that the role may do more than read.
    """

    def __init__(
        self,
        schema: Schema,
        runner: Runner,
        *,
        limits: Limits,
        warnings: tuple[str, ...] = (),
        file: Path | None = None,
        tidy: Path | None = None,
    ) -> None:
        self.schema = schema
        self.warnings = warnings
        self._runner = runner
        self._limits = limits
        self._file = file
        self._tidy = tidy
        self._facts: Facts | None = None
        self._read_at: _Stamp = ()
        self._facts_lock = threading.Lock()

    @property
    def facts(self) -> Facts:
        """What the rows look like; read within the deadline of a query when first asked for.

        Read again after the file of a SQLite database has changed. Those of a server stay as they were: it does not
        say cheaply that rows changed.
        """
        with self._facts_lock:
            stamp = _stamp(self._file)
            if self._facts is None or stamp != self._read_at:
                self._facts = read_facts(self.schema, self._read, deadline=self._limits.deadline)
                self._read_at = stamp
            return self._facts

    @property
    def file(self) -> Path | None:
        """The file of a SQLite database; None for a server."""
        return self._file

    def wake(self) -> None:
        """Start the process that runs queries without waiting for it, so that the first query need not."""
        self._runner.wake()

    def run(self, sql: str) -> Result:
        """Run checked SQL, read-only, within the limits.

        Raises:
            QueryFailed: the database could not run it; the reason says what to do.
        """
        return self._runner.run(sql, self._limits)

    def close(self) -> None:
        """End the worker and leave no file beside the database that was not there before."""
        self._runner.close()
        if self._tidy is not None:
            _tidy(self._tidy)

    def _read(self, sql: str, seconds: float, rows: int, size: int) -> Result:
        return self._runner.run(sql, Limits(seconds, rows, size))


def open_database(url: str, *, deadline: float = 10.0, row_cap: int = 1_000, byte_cap: int = 1_000_000) -> Database:
    """Open a database for reading; the file is never made or changed.

    Args:
        url: path to a SQLite file, or a SQLAlchemy URL of SQLite or PostgreSQL.
        deadline: seconds one query may take.
        row_cap: rows one query may give; more are cut off and said to be.
        byte_cap: bytes of all cells one query may give, likewise.

    Raises:
        DatabaseUnusableError: it is missing, empty, locked, foreign, or of a kind that is not supported.
    """
    limits = Limits(deadline, row_cap, byte_cap)
    if not url.strip():
        raise DatabaseUnusableError("No database is named. Give the path of a SQLite file, or a database URL.")
    if "://" not in url:
        return _open_sqlite(Path(url), limits)
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise DatabaseUnusableError(
            "The database URL cannot be read. Write postgresql://user@host/name, or give the path of a SQLite file."
        ) from None
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        return _open_sqlite(_sqlite_path(parsed), limits)
    if kind in ("postgresql", "postgres"):
        return _open_postgres(parsed, limits)
    name = _UNGUARDED.get(kind, kind)
    raise DatabaseUnusableError(
        f"{name} cannot run SQL yet: the guard knows only SQLite and PostgreSQL, and without it no query is run. "
        "Copy the data into one of these two, or choose another database."
    )


def fingerprint_of(text: str) -> str:
    """Give the SHA-256 of a schema text in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# SQLite


def _sqlite_path(url: URL) -> Path:
    path = url.database or ""
    if not path or path == ":memory:":
        raise DatabaseUnusableError("A database in memory has nothing to ask about. Give the path of a SQLite file.")
    if path.startswith("file:"):
        path = path.removeprefix("file:").partition("?")[0]
    return Path(path)


def _open_sqlite(path: Path, limits: Limits) -> Database:
    _look_at(path)
    name, path = path.stem, path.resolve()
    uri = f"file:{quote(str(path))}?mode=ro"
    # A WAL database gets two files beside it while it is read; those that were not there are taken away at the end.
    tidy = path if not _beside(path, "-wal").exists() and os.access(path, os.W_OK) else None
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=_LOCK_WAIT, isolation_level=None)
        try:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only=ON")
            connection.execute("PRAGMA trusted_schema=OFF")
            tables = _sqlite_tables(connection)
        finally:
            connection.close()
    except sqlite3.Error as problem:
        raise DatabaseUnusableError(_sqlite_problem(path, problem)) from None
    if not tables:
        if tidy is not None:
            _tidy(tidy)
        raise DatabaseUnusableError(f"The database {path} has no tables. Choose one that has.")
    schema = _schema(name, "sqlite", tables)
    target = {"open": "sqlite", "uri": uri, "path": str(path), "functions": sorted(ALLOWED["sqlite"])}
    return Database(schema, Runner(target, schema), limits=limits, file=path, tidy=tidy)


def _look_at(path: Path) -> None:
    """Refuse what is no file of a database, without opening it.

    A process that opens and closes a file loses all locks it holds on it, those of SQLite too.
    """
    if not str(path).isprintable() or len(str(path)) > _LONGEST_PATH:
        raise DatabaseUnusableError(f"{str(path)[:80]!r} is no path of a file. Give the path of a SQLite file.")
    try:
        found = path.stat()
    except FileNotFoundError:
        raise DatabaseUnusableError(f"There is no database at {path}. Check the path; nothing was made.") from None
    except PermissionError:
        raise DatabaseUnusableError(f"{path} may not be read by this user. Change its permissions.") from None
    except OSError as problem:
        raise DatabaseUnusableError(f"{path} cannot be opened: {problem.strerror}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise DatabaseUnusableError(f"{path} is a folder. Give the path of a SQLite file.")
    if not stat.S_ISREG(found.st_mode):
        raise DatabaseUnusableError(f"{path} is no regular file. Give the path of a SQLite file.")
    if not os.access(path, os.R_OK):
        raise DatabaseUnusableError(f"{path} may not be read by this user. Change its permissions.")
    if not found.st_size:
        raise DatabaseUnusableError(f"{path} is empty (0 bytes): no database was ever written to it. Restore it.")


def _sqlite_problem(path: Path, problem: sqlite3.Error) -> str:
    text = str(problem)
    if "locked" in text or "busy" in text:
        return f"Another program holds a lock on {path}. Close it, or wait until it is done."
    if "not a database" in text:
        return f"{path} is not a SQLite database (or it is encrypted). Choose another file."
    if "malformed" in text or "corrupt" in text:
        return f"{path} is damaged and cannot be read ({text}). Restore it from a copy."
    return f"{path} cannot be read: {text}."


def _sqlite_tables(connection: sqlite3.Connection) -> tuple[Table, ...]:
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') AND sql IS NOT NULL ORDER BY rowid"
    ).fetchall()
    shadows = {
        name for name, kind in connection.execute("SELECT name, type FROM pragma_table_list") if kind == "shadow"
    }
    kept = [row for row in rows if not fold(row[1]).startswith("sqlite_") and row[1] not in shadows]
    names = {fold(name): name for _, name, _ in kept}
    columns: dict[str, list[tuple[Any, ...]]] = {}
    for _, name, _ in kept:
        try:
            found = connection.execute(f"PRAGMA table_xinfo({_sqlite_quoted(name)})").fetchall()
        except sqlite3.OperationalError as problem:
            if "locked" in str(problem) or "busy" in str(problem):
                raise
            continue  # a view whose tables are gone, or a virtual table whose module is not here: nothing can be read
        # The last field is 1 for hidden columns of virtual tables; 2 and 3 are generated columns.
        columns[name] = [column for column in found if column[6] != 1]
    keys = {fold(name): [c[1] for c in sorted(found, key=lambda c: c[5]) if c[5]] for name, found in columns.items()}
    return tuple(
        Table(
            name=name,
            columns=tuple(
                Column(
                    name=column[1],
                    type=re.sub(r"\s*GENERATED ALWAYS\Z", "", column[2] or "", flags=re.I),
                    nullable=not column[3] and not column[5],
                    primary_key=bool(column[5]),
                )
                for column in columns[name]
            ),
            foreign_keys=_sqlite_foreign_keys(connection, name, names, keys),
            ddl=ddl,
            is_view=kind == "view",
        )
        for kind, name, ddl in kept
        if name in columns
    )


def _sqlite_foreign_keys(
    connection: sqlite3.Connection, table: str, names: dict[str, str], keys: dict[str, list[str]]
) -> tuple[ForeignKey, ...]:
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in connection.execute(f"PRAGMA foreign_key_list({_sqlite_quoted(table)})"):
        found.setdefault(row[0], []).append(row)
    made = []
    for number in sorted(found, reverse=True):  # SQLite lists the last declared first
        rows = sorted(found[number], key=lambda row: row[1])
        referred = names.get(fold(rows[0][2]))
        if referred is None:
            continue
        # A key that names no columns refers to the primary key.
        key = keys.get(fold(referred), [])
        columns = tuple(key[row[1]] if row[4] is None and row[1] < len(key) else row[4] for row in rows)
        if all(isinstance(column, str) for column in columns):
            made.append(ForeignKey(tuple(row[3] for row in rows), referred, columns))
    return tuple(made)


def _sqlite_quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _stamp(file: Path | None) -> _Stamp:
    """What changes with every commit to a SQLite database: file, size and time of it and of its WAL.

    An empty WAL counts as none, since reading leaves one. The files are not opened: see `_look_at`.
    """
    found = []
    for path in (file, _beside(file, "-wal")) if file else ():
        with contextlib.suppress(OSError):
            seen = path.stat()
            if seen.st_size:
                found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return tuple(found)


def _tidy(path: Path) -> None:
    """Let SQLite itself take away an empty WAL that reading has left; one with content belongs to someone."""
    wal = _beside(path, "-wal")
    try:
        if not wal.exists() or wal.stat().st_size:
            return
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=0)
        try:
            connection.execute("PRAGMA query_only=ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            connection.close()
    except (OSError, sqlite3.Error):
        return


def _schema(name: str, dialect: str, tables: Iterable[Table]) -> Schema:
    tables = tuple(tables)
    text = "\n\n".join(f"{table.ddl};" for table in tables) + "\n"
    # The name becomes that of a folder.
    return Schema(re.sub(r"[/\\]", "_", name), dialect, tables, text, fingerprint_of(text))


# Others, by reflection


def _open_postgres(url: URL, limits: Limits) -> Database:
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool

    url = url.set(drivername="postgresql+psycopg")
    if not url.database:
        raise DatabaseUnusableError("The URL names no database. Write it as postgresql://user@host/name.")
    try:
        engine = create_engine(
            url,
            poolclass=NullPool,
            connect_args={
                "connect_timeout": _CONNECT_WAIT,
                "options": f"{url.query.get('options', '')} {_READING_OPTIONS}".strip(),
            },
        )
        with engine.connect() as connection:
            role, is_super, first = connection.execute(
                text(
                    "SELECT current_user, (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user), "
                    "current_schema()"
                )
            ).one()
            readable = frozenset((row[0], row[1]) for row in connection.execute(text(_READABLE)))
        schema, namespaces = reflect(engine, name=url.database, dialect="postgres", first=first, readable=readable)
    except SQLAlchemyError as problem:
        raise DatabaseUnusableError(_postgres_problem(url, problem)) from None
    finally:
        if "engine" in locals():
            engine.dispose()
    warnings: tuple[str, ...] = ()
    if is_super:
        warnings = (
            f"The role {role} is a superuser. Queries run read-only behind the guard, but make a role for it that may "
            "only SELECT.",
        )
    target = {
        "open": "postgres",
        "path": sys.path,
        "conninfo": _conninfo(url),
        "search_path": ", ".join(_sqlite_quoted(namespace) for namespace in namespaces),
    }
    return Database(schema, Runner(target, schema), limits=limits, warnings=warnings)


def _conninfo(url: URL) -> str:
    from psycopg.conninfo import make_conninfo

    parts: dict[str, Any] = {key: value for key, value in url.query.items() if isinstance(value, str)}
    given = {"host": url.host, "port": url.port, "user": url.username, "password": url.password, "dbname": url.database}
    parts.update({key: value for key, value in given.items() if value not in (None, "")})
    options = f"{parts.get('options', '')} -c default_transaction_read_only=on".strip()
    parts.update(options=options, application_name="hebbql")
    return make_conninfo("", **parts)


def _postgres_problem(url: URL, problem: Exception) -> str:
    shown = url.render_as_string(hide_password=True)
    said = " ".join(str(getattr(problem, "orig", None) or problem).split())
    if url.password:
        said = said.replace(str(url.password), "***")
    lower = said.lower()
    if "password authentication failed" in lower or "no password supplied" in lower or "authentication" in lower:
        return f"PostgreSQL refused the user or the password of {shown}. Check both."
    if "does not exist" in lower and "database" in lower:
        return f"PostgreSQL has no database {url.database}. Check the name in {shown}."
    if "role" in lower and "does not exist" in lower:
        return f"PostgreSQL has no role {url.username}. Check the user in {shown}."
    return f"PostgreSQL cannot be reached at {shown}: {said[:300]}. Check the address, and that the server runs."


def reflect(
    engine: Engine,
    *,
    name: str,
    dialect: str,
    first: str | None,
    readable: Collection[tuple[str, str]] | None = None,
) -> tuple[Schema, tuple[str, ...]]:
    """Read a schema with SQLAlchemy; gives it and the namespaces it spans, the `first` (default) one first.

    The text is CREATE TABLE as SQLAlchemy writes it for the dialect of the engine, tables in order of name. A table
    whose name an earlier namespace has too is called `namespace.name`. With `readable`, only these pairs of namespace
    and name are kept.

    Raises:
        DatabaseUnusableError: there are no tables, or none that this user may see.
    """
    from sqlalchemy import MetaData, inspect

    inspector = inspect(engine)
    default = first or inspector.default_schema_name
    hidden = re.compile(r"(pg_(catalog|toast|temp)|information_schema\Z)", re.I)
    namespaces = [one for one in inspector.get_schema_names() if not hidden.match(one)]
    namespaces.sort(key=lambda one: (one != default, one))
    found: dict[tuple[str, str], ReflectedTable] = {}
    views: set[tuple[str, str]] = set()
    for namespace in namespaces:
        # Reflection follows foreign keys into other namespaces, so each has a collection of its own. The default one
        # is read without its name, so that its tables are written without it.
        asked = None if namespace == default else namespace
        collection = MetaData()
        collection.reflect(engine, schema=asked, views=True)
        views |= {(namespace, view) for view in inspector.get_view_names(schema=asked)}
        if dialect == "postgres":
            views |= {(namespace, view) for view in inspector.get_materialized_view_names(schema=asked)}
        own = sorted((t for t in collection.tables.values() if t.schema == asked), key=lambda t: t.name)
        found.update(
            ((namespace, table.name), table) for table in own if readable is None or (namespace, table.name) in readable
        )
    if not found:
        raise DatabaseUnusableError(f"The database {name} has no tables that this user can see. Choose one that has.")
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for namespace, plain in found:
        names[namespace, plain] = plain if plain not in taken else f"{namespace}.{plain}"
        taken.add(plain)
    tables = [
        _reflected(table, engine, key, names=names, default=default or "", is_view=key in views)
        for key, table in found.items()
    ]
    return _schema(name, dialect, tables), tuple(dict.fromkeys(namespace for namespace, _ in found))


def _reflected(
    table: ReflectedTable,
    engine: Engine,
    key: tuple[str, str],
    *,
    names: Mapping[tuple[str, str], str],
    default: str,
    is_view: bool,
) -> Table:
    from sqlalchemy.schema import CreateTable
    from sqlalchemy.types import Enum, NullType, UserDefinedType

    class Unread(UserDefinedType[Any]):
        """A type that SQLAlchemy has no name for."""

        cache_ok = True

        def get_col_spec(self, **_: Any) -> str:
            return "UNKNOWN"

    for column in table.columns:
        if isinstance(column.type, NullType):
            column.type = Unread()
    ddl = "\n".join(line.rstrip() for line in str(CreateTable(table).compile(engine)).strip().splitlines())
    enums = sorted({(c.type.name or "", tuple(c.type.enums)) for c in table.columns if isinstance(c.type, Enum)})
    ddl = "".join(f"-- {kind}: {', '.join(words)}\n" for kind, words in enums if kind) + ddl
    primary = {column.name for column in table.primary_key.columns}
    keys = []
    for constraint in sorted(table.foreign_key_constraints, key=lambda c: (str(c.name), c.column_keys)):
        elements = list(constraint.elements)
        target = elements[0].column.table
        referred = names.get((target.schema or default, target.name))
        if referred is not None:
            keys.append(
                ForeignKey(
                    tuple(element.parent.name for element in elements),
                    referred,
                    tuple(element.column.name for element in elements),
                )
            )
    columns = tuple(
        Column(
            name=column.name,
            type=column.type.compile(engine.dialect),
            nullable=bool(column.nullable),
            primary_key=column.name in primary,
        )
        for column in table.columns
    )
    return Table(names[key], columns, tuple(keys), f"-- a view\n{ddl}" if is_view else ddl, key[0], is_view)
