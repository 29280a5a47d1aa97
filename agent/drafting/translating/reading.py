"""Reads a query in the own dialect, or in the first other one that can: that of SQL Server, MySQL and their kin."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from agent.database.dialects import dialect as guarded

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect


LONGEST = 20_000
"""The longest SQL read, in characters; the guard refuses what is longer."""
STRAY = (ValueError, AttributeError, TypeError, IndexError, KeyError, AssertionError, RecursionError)
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)


def read(sql: str, dialect: str) -> tuple[exp.Expr, list[str]] | None:
    """Read one query, in the own dialect or the first other one that can; with notes on the latter."""
    order = ["sqlite", "postgres", "mysql", "tsql"]
    if _OF_SQL_SERVER.search(sql):
        order.insert(0, order.pop())
    else:
        own = read_one(sql, guarded(dialect))
        if own is not None:
            return own, []
    for name in order:
        tree = read_one(sql, _foreign(name)) if name != dialect else None
        if tree is not None and not _is_odd(tree):
            if name == "mysql":
                _spread_group_concat(tree)
            return tree, _phrases(sql, dialect)
    return None


# TOP (n) reads as a call elsewhere, and the type of a CONVERT, which comes first here, as its value.
_TYPE_WORDS = "N?VARCHAR|N?CHAR|DATE|DATETIME2?|INT|BIGINT|FLOAT|REAL|DECIMAL|NUMERIC"
_OF_SQL_SERVER = re.compile(
    rf"\bCONVERT\s*\(\s*(?:{_TYPE_WORDS})\b|\bSELECT\s+(?:DISTINCT\s+)?TOP\s*\(?\s*\d", re.IGNORECASE
)


def read_one(sql: str, dialect: Dialect) -> exp.Expr | None:
    try:
        statements = [one for one in parse(sql, dialect=dialect) if one is not None and one.key != "semicolon"]
    except (SqlglotError, *STRAY):
        return None
    return statements[0] if len(statements) == 1 and isinstance(statements[0], _QUERIES) else None


def _is_odd(tree: exp.Expr) -> bool:
    """Whether a limit means more than a number of rows."""
    return any(is_given(node, "with_ties") or is_given(node, "percent") for node in tree.find_all(exp.LimitOptions))


def _spread_group_concat(tree: exp.Expr) -> None:
    """Make plain calls of GROUP_CONCAT(… SEPARATOR …), which PostgreSQL would have as STRING_AGG."""
    for node in list(tree.find_all(exp.GroupConcat)):
        given = [node.this, node.args.get("separator")]
        node.replace(exp.Anonymous(this="GROUP_CONCAT", expressions=[one.copy() for one in given if one is not None]))


def is_given(node: exp.Expr, name: str) -> bool:
    return bool(node.args.get(name))


@cache
def _foreign(name: str) -> Dialect:
    """Give a dialect that reads the phrases of another database and no function of it."""
    from sqlglot import parser
    from sqlglot.dialects.mysql import MySQL
    from sqlglot.dialects.tsql import TSQL
    from sqlglot.parsers.mysql import MySQLParser
    from sqlglot.parsers.tsql import TSQLParser

    if name in ("sqlite", "postgres"):
        return guarded(name)

    class MySQLCallsAsWritten(MySQLParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        # Who writes || joins texts, whatever else the query has of MySQL.
        DISJUNCTION: ClassVar[Any] = parser.Parser.DISJUNCTION

    class TSQLCallsAsWritten(TSQLParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}

    class ForeignMySQL(MySQL):
        Parser = MySQLCallsAsWritten

        class Tokenizer(MySQL.Tokenizer):
            # Names in double quotes, as the prompt shows them.
            QUOTES: ClassVar[list[Any]] = ["'"]
            IDENTIFIERS: ClassVar[list[Any]] = ["`", '"']

    class ForeignTSQL(TSQL):
        Parser = TSQLCallsAsWritten

    return {"mysql": ForeignMySQL, "tsql": ForeignTSQL}[name]()


_PHRASES: tuple[tuple[str, str], ...] = (
    (r"\bTOP\s*\(?\s*\d", "TOP became LIMIT"),
    (r"\bSEPARATOR\b", "GROUP_CONCAT(… SEPARATOR …) became a call with two arguments"),
    (r"\bDIV\b", "DIV became a division of whole numbers"),
    (r"\bCONVERT\s*\(", "CONVERT became CAST"),
    (r"`", "names in backticks are now in double quotes"),
    (r"\[", "names in brackets are now in double quotes"),
    (r"==", "== became ="),
)


def _phrases(sql: str, dialect: str) -> list[str]:
    code = re.sub(r"'[^']*'|\"[^\"]*\"", "''", sql)
    notes = [note for pattern, note in _PHRASES if re.search(pattern, code, re.IGNORECASE)]
    return notes or [f"the query was written anew for {'SQLite' if dialect == 'sqlite' else 'PostgreSQL'}"]
