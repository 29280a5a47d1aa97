"""From `revenue means UnitPrice * Quantity` to a glossary term that holds on the real schema."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.database.guard import check
from agent.database.result import QueryRejected
from agent.database.schema import Schema
from memory.semantic import Term

_SENTENCE = re.compile(
    r"^\s*(?P<names>.{1,120}?)\s*(?:=|:=|\bmeans?\b|\bis\b|\bare\b|\bstands? for\b)\s*(?P<meaning>.+)$", re.I
)
_LOOKS_LIKE_SQL = re.compile(r"[*/+()'\"]|\w\.\w|[<>=]|\s-\s")


class TeachingError(Exception):
    """What was taught cannot be kept. The message says how to put it."""


class GlossaryError(Exception):
    """A glossary file cannot be read. The message names the entry and what to mend."""


def read_teaching(text: str, schema: Schema) -> Term:
    """Read `NAME [, NAME …] means EXPRESSION` or `… means PLAIN WORDS`.

    What looks like SQL must hold as an expression over the schema; anything else is kept as a note in words.

    Raises:
        TeachingError: no such sentence, or the expression names what the schema does not have.
    """
    sentence = _SENTENCE.match(" ".join(text.split()))
    if sentence is None or not sentence["meaning"].strip(" ."):
        raise TeachingError('Say it as "NAME means EXPRESSION", for example: hebbql teach "margin means Price - Cost".')
    meaning = sentence["meaning"].strip().rstrip(".;")
    names = tuple(name.strip(" \"'") for name in re.split(r",|\bor\b", sentence["names"]) if name.strip(" \"'"))
    if not names:
        raise TeachingError('The term has no name. Say it as "NAME means EXPRESSION".')
    if not _LOOKS_LIKE_SQL.search(meaning) and not _is_column(meaning, schema):
        return Term(names=names, meaning=meaning, expression=None, tables=(), origin="person")
    try:
        expression, tables = hold_expression(meaning, schema)
    except QueryRejected as rejected:
        if re.search(r"\s(?:the|a|an|is|are|of|before|after|without|includes?|excludes?)\s", f" {meaning} ", re.I):
            return Term(names=names, meaning=meaning, expression=None, tables=(), origin="person")
        raise TeachingError(
            f"{meaning!r} does not hold on this database: {rejected.reason} Write columns as Table.Column, "
            "or say it in plain words."
        ) from rejected
    return Term(names=names, meaning=meaning, expression=expression, tables=tables, origin="person")


def hold_expression(expression: str, schema: Schema, tables: tuple[str, ...] = ()) -> tuple[str, tuple[str, ...]]:
    """Check that an expression holds on the schema; give it back qualified, with the tables it is over.

    Raises:
        QueryRejected: it does not parse, or a column is in no table, or in several.
    """
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(expression, dialect=schema.dialect)
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise QueryRejected(f"it is no SQL expression ({str(error).splitlines()[0][:120]}).", rule="syntax") from error
    if not isinstance(tree, exp.Expression) or isinstance(tree, exp.Query | exp.DDL | exp.DML | exp.Command):
        raise QueryRejected("an expression is wanted, not a statement.", rule="statement")
    used: list[str] = [table.name for table in schema.tables if table.name in tables]
    for column in list(tree.find_all(exp.Column)):
        owner = _owner(column.name, column.table, schema, among=tables)
        used += [owner] if owner not in used else []
        column.set("table", exp.to_identifier(owner, quoted=not owner.isidentifier()))
    if not used:
        raise QueryRejected("it names no column.", rule="unknown_column")
    rendered = tree.sql(dialect=schema.dialect)
    sources = ", ".join('"' + name.replace('"', '""') + '"' for name in used)
    check(f"SELECT {rendered} FROM {sources}", schema)
    return rendered, tuple(used)


def read_glossary(path: Path, schema: Schema, *, warn: Callable[[str], None]) -> tuple[Term, ...]:
    """Read the glossary file of a database; none where there is no file.

    A term whose expression does not hold on this schema is left out and named through `warn`.

    Raises:
        GlossaryError: the file is no TOML of `[[term]]` tables.
    """
    if not path.is_file():
        return ()
    try:
        entries = _Glossary.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).term
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise GlossaryError(f"{path} cannot be read: {error}. Mend or move the file.") from error
    known = {table.name for table in schema.tables}
    terms = []
    for entry in entries:
        try:
            if missing := sorted(set(entry.tables) - known):
                raise QueryRejected(f"it names tables that are not there: {', '.join(missing)}.")
            expression = entry.expression and hold_expression(entry.expression, schema, tuple(entry.tables))[0]
        except QueryRejected as rejected:
            warn(f"The term {entry.names[0]!r} of {path.name} is left out: {rejected.reason}")
            continue
        origin = f"glossary:{path.name}"
        terms.append(Term(tuple(entry.names), entry.meaning, expression or None, tuple(entry.tables), origin))
    return tuple(terms)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    names: list[str] = Field(min_length=1)
    meaning: str
    expression: str | None = None
    tables: list[str] = Field(default_factory=list)


class _Glossary(BaseModel):
    model_config = ConfigDict(extra="forbid")

    term: list[_Entry] = Field(default_factory=list)


def _is_column(text: str, schema: Schema) -> bool:
    return any(column.name.casefold() == text.casefold() for table in schema.tables for column in table.columns)


def _owner(column: str, table: str, schema: Schema, *, among: tuple[str, ...]) -> str:
    """Find the one table that a column belongs to; those in `among` first."""
    having = [
        owner.name
        for owner in schema.tables
        if (not table or owner.name.casefold() == table.casefold())
        and any(known.name.casefold() == column.casefold() for known in owner.columns)
    ]
    preferred = [name for name in having if name in among] or having
    if len(preferred) == 1:
        return preferred[0]
    full = f"{table}.{column}" if table else column
    if not preferred:
        raise QueryRejected(f"there is no column {full}.", rule="unknown_column")
    raise QueryRejected(f"{full} is a column of {', '.join(preferred)}; say which.", rule="unknown_column")
