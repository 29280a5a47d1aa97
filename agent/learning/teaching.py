"""From `revenue means UnitPrice * Quantity` to a glossary term that holds on the real schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from agent.database.guard import check, parse_statement
from agent.database.naming import nearest, quoted
from agent.database.result import QueryRejected
from agent.database.schema import Schema
from agent.question import cleaned
from memory.semantic import Term

_SENTENCE = re.compile(
    r"^\s*(?P<names>.{1,120}?)\s*(?:=|:=|\bmeans?\b|\bis\b|\bare\b|\bstands? for\b)\s*(?P<meaning>.+)$", re.I
)
_STATEMENT = re.compile(
    r"(?:^|;)\s*(?:(?:DROP|ALTER|CREATE|TRUNCATE)\s+(?:\w+\s+)?(?:TABLE|VIEW|INDEX|TRIGGER|DATABASE|SCHEMA)"
    r"|DELETE\s+FROM|(?:INSERT|REPLACE)\s+INTO|UPDATE\s+.+\sSET|ATTACH\s+DATABASE|PRAGMA\s+\w|VACUUM|SELECT\s.*\bFROM"
    r"|WITH\s+\S+\s+AS\s*\()",
    re.IGNORECASE,
)
_LONGEST = 1_000
_LOOKS_LIKE_SQL = re.compile(r"[*/+()'\"]|\w\.\w|[<>=]|\s-\s")


class TeachingError(Exception):
    """What was taught cannot be kept. The message says how to put it."""


class GlossaryError(Exception):
    """A glossary file cannot be read. The message names the entry and what to mend."""


def read_teaching(text: str, schema: Schema) -> Term:
    """Read `NAME [, NAME …] means EXPRESSION` or `… means PLAIN WORDS`.

    What looks like SQL must hold as an expression over the schema; anything else is kept as a note in words.

    Raises:
        TeachingError: no such sentence, a statement, or the expression names what the schema does not have.
    """
    if len(text) > _LONGEST:
        raise TeachingError(
            f"That has {len(text):,} characters; at most {_LONGEST:,} are read. Teach one term at a time."
        )
    sentence = _SENTENCE.match(cleaned(text))
    meaning = sentence["meaning"].rstrip(" .;") if sentence else ""
    if sentence is None or not any(character.isalnum() for character in meaning):
        raise TeachingError('Say it as "NAME means EXPRESSION", for example: hebbql teach "margin means Price - Cost".')
    said = (name.strip(" \"'") for name in re.split(r",|\bor\b", sentence["names"]))
    names = tuple(name for name in said if any(character.isalnum() for character in name))
    if not names:
        raise TeachingError('The term has no name. Say it as "NAME means EXPRESSION".')
    if _STATEMENT.search(re.sub(r"'[^']*'", "''", meaning)):
        raise TeachingError("A term stands for an expression or for plain words, not for a whole statement.")
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
    from sqlglot import exp

    from agent.database.dialects import dialect

    tree = parse_statement(expression, schema.dialect)
    while isinstance(tree, exp.Alias):
        tree = tree.this
    if isinstance(tree, exp.Query | exp.DDL | exp.DML | exp.Drop | exp.Alter | exp.Command):
        raise QueryRejected("an expression is wanted, not a statement.", rule="statement")

    def written(name: str) -> exp.Identifier:
        return exp.to_identifier(name, quoted=quoted(name, schema.dialect) != name)

    used: list[str] = [table.name for table in schema.tables if table.name in tables]
    for column in list(tree.find_all(exp.Column)):
        owner, name = _owner(column.name, column.table, schema, among=tables)
        used += [owner] if owner not in used else []
        column.set("table", written(owner))
        column.set("this", written(name))
    if not used:
        raise QueryRejected("it names no column.", rule="unknown_column")
    rendered = tree.sql(dialect(schema.dialect), comments=False)
    sources = ", ".join(quoted(name, schema.dialect) for name in used)
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
    import tomllib

    from pydantic import ValidationError

    from agent.learning.forms import GlossaryFile

    try:
        entries = GlossaryFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig"))).term
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError, RecursionError) as error:
        raise GlossaryError(f"{path} cannot be read: {error}. Mend or move the file.") from error
    known = {table.name for table in schema.tables}
    terms = []
    for entry in entries:
        try:
            if missing := sorted(set(entry.tables) - known):
                raise QueryRejected(f"it names tables that are not there: {', '.join(missing)}.")
            expression, tables = None, tuple(entry.tables)
            if entry.expression:
                expression, tables = hold_expression(entry.expression, schema, tables)
        except QueryRejected as rejected:
            warn(f"The term {entry.names[0]!r} of {path.name} is left out: {rejected.reason}")
            continue
        origin = f"glossary:{path.name}"
        terms.append(Term(tuple(entry.names), entry.meaning, expression, tuple(entry.tables) or tables, origin))
    return tuple(terms)


def _is_column(text: str, schema: Schema) -> bool:
    return any(column.name.casefold() == text.casefold() for table in schema.tables for column in table.columns)


def _owner(column: str, table: str, schema: Schema, *, among: tuple[str, ...]) -> tuple[str, str]:
    """Find the one table that a column belongs to, those in `among` first; give both as the schema writes them."""
    every = [(owner.name, known.name) for owner in schema.tables for known in owner.columns]
    inside = [pair for pair in every if not table or pair[0].casefold() == table.casefold()]
    having = [pair for pair in inside if pair[1].casefold() == column.casefold()]
    preferred = [pair for pair in having if pair[0] in among] or having
    if len(preferred) == 1:
        return preferred[0]
    full = f"{table}.{column}" if table else column
    if not preferred:
        close = nearest(column, (name for _, name in inside or every))
        near = [f"{owner}.{name}" for wanted in close for owner, name in inside or every if name == wanted]
        hint = f"; nearest: {', '.join(near[:3])}" if near else ""
        raise QueryRejected(f"there is no column {full}{hint}.", rule="unknown_column")
    raise QueryRejected(
        f"{full} is a column of {', '.join(owner for owner, _ in preferred)}; say which.", rule="ambiguous"
    )
