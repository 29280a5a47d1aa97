"""The SQL dialects as the guard reads and writes them: calls stay as they were written.

sqlglot turns known functions into nodes of its own and may write another function for them (`mod(a, b)` becomes
`a % b`, which differs for fractions in SQLite). Here no function is known to the parser, so each call keeps its name
and its arguments, and one list of names (`functions.ALLOWED`) decides over all of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect


@cache
def dialect(name: str) -> Dialect:
    """Give the sqlglot dialect that the guard uses for `sqlite` or `postgres`.

    Raises:
        KeyError: no guarded dialect of that name.
    """
    import logging

    from sqlglot import exp
    from sqlglot.dialects.postgres import Postgres
    from sqlglot.dialects.sqlite import SQLite
    from sqlglot.generators.sqlite import SQLiteGenerator
    from sqlglot.parsers.postgres import PostgresParser
    from sqlglot.parsers.sqlite import SQLiteParser

    class CallsAsWritten(SQLiteParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        # A comma stays a comma: CROSS JOIN forbids SQLite to choose the order in which it reads the tables.
        JOINS_HAVE_EQUAL_PRECEDENCE = False

    class TypesAsWritten(SQLiteGenerator):
        # NUMERIC and BOOLEAN have numeric affinity: written as REAL, whole numbers would divide as fractions.
        TYPE_MAPPING: ClassVar[dict[Any, str]] = {
            kind: text
            for kind, text in SQLiteGenerator.TYPE_MAPPING.items()
            if kind not in (exp.DType.DECIMAL, exp.DType.BOOLEAN)
        }

    class GuardedSqlite(SQLite):
        Parser = CallsAsWritten
        Generator = TypesAsWritten

    class PostgresCallsAsWritten(PostgresParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}

    class GuardedPostgres(Postgres):
        Parser = PostgresCallsAsWritten

    # It would warn on standard error of SQL that the guard refuses with words of its own.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return {"sqlite": GuardedSqlite, "postgres": GuardedPostgres}[name]()
