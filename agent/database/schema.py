"""What a database says about itself: its tables, keys and schema text, word for word."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `type` is the declared type as written, `""` where SQLite has none."""

    name: str
    type: str
    nullable: bool = True
    primary_key: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of the owning table refer to `referred_columns` of `referred_table`, pairwise."""

    columns: tuple[str, ...]
    referred_table: str
    referred_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table or view. `ddl` is the stored CREATE statement, or one reflected by SQLAlchemy.

    `namespace` is the PostgreSQL schema the table lies in, `""` for SQLite. Every namespace is on the search
    path, so `name` alone is enough in SQL.
    """

    name: str
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    ddl: str = ""
    namespace: str = ""
    is_view: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """A whole schema. `dialect` is the sqlglot dialect name (`sqlite`, `postgres`).

    `name` is the lasting name of the database (file stem, or the database part of the URL);
    `fingerprint` is the SHA-256 of `text` in hex: it changes when the schema changes, not when rows do.
    """

    name: str
    dialect: str
    tables: tuple[Table, ...]
    text: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What the rows of one column look like, read once when a database is opened.

    `values` holds the distinct values of a text column, as stored, up to a cap (empty past it, see
    `complete`); `minimum` and `maximum` are set for date-like columns (ISO text) and numbers.
    """

    table: str
    column: str
    values: tuple[str, ...] = ()
    complete: bool = False
    minimum: str | None = None
    maximum: str | None = None
    is_date: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """The `ColumnFacts` of a database, in schema order."""

    columns: tuple[ColumnFacts, ...] = field(default=())
