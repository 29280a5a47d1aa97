"""Puts right in code what a model writes by habit and this database does not have, before the guard judges it.

Nothing here makes a query safe: the guard reads whatever comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.database.schema import Schema

if TYPE_CHECKING:
    from agent.linking import Lexicon


def translated(sql: str, dialect: str) -> tuple[str, tuple[str, ...]]:
    """Write a query in the words of the dialect (`sqlite` or `postgres`), with a note for each thing changed.

    What needs no change, cannot be read or means nothing here comes back as it was. Never raises.

    >>> translated("SELECT YEAR(Born) FROM Cats", "sqlite")[1]
    ("YEAR(Born) became CAST(STRFTIME('%Y', Born) AS INTEGER)",)
    """
    from agent.drafting import translating

    return translating.translated(sql, dialect)


def named(
    sql: str, *, schema: Schema, linked: Sequence[str] = (), lexicon: Lexicon | None = None
) -> tuple[str, tuple[str, ...]]:
    """Put the names of a query right that can mean only one thing in the schema, with a note for each.

    `linked` are the tables that the question links to: of two tables that a wrong name may mean, the one among them
    is taken. With a `lexicon`, tables that columns are taken from but that no FROM reads are joined by the keys. A
    query whose names all exist comes back as it was, and so does one that cannot be read. Never raises.

    >>> from agent.database.schema import Column, Table
    >>> cats = Table("Cats", (Column("FullName", "TEXT"), Column("Born", "TEXT")))
    >>> named("SELECT full_names FROM cat", schema=Schema("zoo", "sqlite", (cats,), "", ""))
    ('SELECT FullName FROM Cats', ('cat became Cats', 'full_names became FullName'))
    """
    from agent.drafting import renaming

    return renaming.named(sql, schema=schema, linked=linked, lexicon=lexicon)


def with_quotes(sql: str, schema: Schema) -> tuple[str, tuple[str, ...]]:
    """Quote the reserved words of a query that are names of the schema, with a note for each.

    Where SQL wants a word of its own it stays one. A query that has none of them comes back as it was. Never raises.

    >>> from agent.database.schema import Column, Table
    >>> sales = Table("order", (Column("id", "INTEGER"), Column("group", "TEXT")))
    >>> with_quotes("SELECT group FROM order ORDER BY id", Schema("shop", "sqlite", (sales,), "", ""))[0]
    'SELECT "group" FROM "order" ORDER BY id'
    """
    from agent.drafting import quoting

    return quoting.with_quotes(sql, schema)


def mend(
    sql: str,
    *,
    schema: Schema,
    linked: Sequence[str],
    dialect: bool = True,
    names: bool = True,
    lexicon: Lexicon | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Translate a query and put its names right, each where it is asked for; gives the notes of both.

    Names that are reserved words are quoted first, without which little can be read. Unknown names may hide behind
    words of another database, so those come next; a name of several words may keep a query from being read as well,
    so what then can be read is translated once more. Never raises.
    """
    notes: tuple[str, ...] = ()
    if names:
        sql, notes = with_quotes(sql, schema)
    if dialect:
        sql, changed = translated(sql, schema.dialect)
        notes += changed
    if names:
        sql, changed = named(sql, schema=schema, linked=linked, lexicon=lexicon)
        notes += changed
        if dialect and changed:
            sql, more = translated(sql, schema.dialect)
            notes += more
    return sql, tuple(dict.fromkeys(notes))
