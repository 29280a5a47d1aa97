"""Lets a query pass, or says why not.

SQL from a model, an episode, a seed or a habit is untrusted. A query passes only when everything in it is known to
be harmless: one SELECT, made of listed kinds of syntax and listed functions, over tables and columns that the schema
has. What runs is the SQL written anew from the syntax tree, so comments, hints and whatever the parser did not
understand never reach the database. The one deliberate change of meaning: `CAST(x AS DATE)`, which in SQLite keeps
only the leading number, is written `DATE(x)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.database.functions import ALLOWED, INSTEAD
from agent.database.naming import nearest, quoted
from agent.database.result import QueryRejected
from agent.database.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 20_000
"""The longest SQL read, in characters."""

_NODES = """
    Select Union Except Intersect Subquery With CTE TableAlias From Join Where Group Having Order Ordered Limit Offset
    Distinct Star Table Column Identifier Alias Literal Null Boolean Paren Tuple Values Case If
    And Or Not EQ NEQ GT GTE LT LTE Is In Between Like Escape Exists NullSafeEQ NullSafeNEQ
    Add Sub Mul Div Mod Neg BitwiseAnd BitwiseOr BitwiseNot BitwiseLeftShift BitwiseRightShift DPipe
    Cast DataType DataTypeParam Collate Var Extract Trim Anonymous GroupConcat Substring Chr Ceil Floor
    Window WindowSpec Filter CurrentDate CurrentTime CurrentTimestamp
    JSONExtract JSONExtractScalar JSONPath JSONPathRoot JSONPathKey JSONPathSubscript
"""
_POSTGRES_NODES = """
    ILike SimilarTo RegexpLike RegexpILike Any All Fetch LimitOptions Lateral Interval AtTimeZone WithinGroup Array
    Bracket Rollup Cube GroupingSets Localtimestamp Localtime StrPosition Overlay Initcap Pow Sqrt Cbrt
    JSONBExtract JSONBExtractScalar ArrayContainsAll ArrayOverlaps Kwarg
"""
_NODES_OF: dict[str, frozenset[str]] = {
    "sqlite": frozenset((_NODES + "Glob HexString").split()),
    "postgres": frozenset((_NODES + _POSTGRES_NODES).split()),
}
# Anonymous is judged by its name; these have a name of their own and need the same judgement.
_CALLS = {
    "Extract": "extract",
    "Trim": "trim",
    "GroupConcat": "group_concat",
    "Substring": "substring",
    "Chr": "char",
    "Ceil": "ceil",
    "Floor": "floor",
}
_SELECT_WORDS = "with_ expressions distinct from_ joins laterals where group having windows order limit offset"
_ARGUMENTS: dict[str, frozenset[str]] = {
    "Select": frozenset(_SELECT_WORDS.split()),
    "Table": frozenset({"this", "alias", "db", "catalog", "joins"}),
    "Star": frozenset(),
    "Join": frozenset({"this", "on", "using", "side", "kind", "method"}),
    "CTE": frozenset({"this", "alias", "materialized"}),
}
_TYPES_WORDS = """
    BIGINT BOOLEAN CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT INTERVAL NCHAR NVARCHAR SMALLINT TEXT TIME TIMESTAMP
    TIMESTAMPTZ TIMETZ TINYINT UUID VARBINARY BLOB BINARY VARCHAR JSON JSONB ARRAY BIGDECIMAL UINT"""
_TYPES = frozenset(_TYPES_WORDS.split())
_WRITES_WORDS = "Insert Update Delete Merge Create Drop Alter AlterTable TruncateTable Copy LoadData Replace Into"
_WRITES = frozenset(_WRITES_WORDS.split())
_WIDTH = re.compile(r"%[-+ 0#,!]*(\d{4,}|\*)|%[-+ 0#,!]*\d*\.(\d{4,}|\*)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*( [A-Za-z]+)*\Z")
_PADDED = 1_000
# What the parser and the writer of SQL let slip on text that is hardly SQL.
_STRAY = (ValueError, AttributeError, TypeError, IndexError, KeyError, AssertionError)


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that may run. `sql` is written anew in the dialect; `tables` are read, in schema order."""

    sql: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Parsed:
    tree: exp.Expr
    schema: Schema


Rule = Callable[[_Parsed], None]


def check(sql: str, schema: Schema) -> CheckedQuery:
    """Check that a query does no more than read the tables of the schema.

    Takes one statement, with or without a trailing semicolon, and comments.

    Raises:
        QueryRejected: it does not pass; the reason is worded for the model and the user.
    """
    from sqlglot.errors import SqlglotError

    if schema.dialect not in _NODES_OF:
        raise QueryRejected(f"Queries for {schema.dialect} are not guarded yet, so none is run.", rule="dialect")
    try:
        written, tables = _pass(sql, schema)
        # What runs is judged once more as it is written, so that nothing hangs on how it was read at first.
        again, _ = _pass(written, schema)
    except QueryRejected as rejected:
        if rejected.rule not in ("syntax", "unknown_table", "unknown_column", "unknown_source"):
            raise
        raise QueryRejected(rejected.reason + _unquoted(sql, schema), rule=rejected.rule) from None
    except SqlglotError as problem:
        raise QueryRejected(_plain(problem), rule="syntax") from None
    except RecursionError:
        raise too_deep() from None
    except _STRAY:
        raise _unreadable() from None
    if again != written:
        raise QueryRejected("The query can be read in two ways; write it more simply.", rule="unstable")
    return CheckedQuery(written, tables)


def _pass(sql: str, schema: Schema) -> tuple[str, tuple[str, ...]]:
    """Judge a query once; gives it written anew, and its tables."""
    from sqlglot.errors import ErrorLevel

    from agent.database.dialects import dialect
    from agent.database.scoping import Resolver

    query = _Parsed(parse_statement(sql, schema.dialect), schema)
    for rule in RULES:
        rule(query)
    resolver = Resolver(schema)
    resolver.resolve(query.tree)
    written = query.tree.sql(dialect(schema.dialect), comments=False, unsupported_level=ErrorLevel.RAISE)
    return written, tuple(table.name for table in schema.tables if table.name in resolver.tables)


def parse_statement(sql: str, name: str) -> exp.Expr:
    """Read one statement of the dialect; it is not checked.

    Raises:
        QueryRejected: it is too long, empty, more than one, or cannot be read.
    """
    from sqlglot import parse
    from sqlglot.errors import SqlglotError

    from agent.database.dialects import dialect

    if len(sql) > LONGEST:
        raise QueryRejected(f"The query is longer than {LONGEST:,} characters.", rule="length")
    if "\x00" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        raise QueryRejected("The query holds characters that no SQL has.", rule="syntax")
    try:
        statements = [one for one in parse(sql, dialect=dialect(name)) if one is not None and one.key != "semicolon"]
    except SqlglotError as problem:
        raise QueryRejected(_plain(problem), rule="syntax") from None
    except RecursionError:
        raise too_deep() from None
    except _STRAY:
        raise _unreadable() from None
    if not statements:
        raise QueryRejected("There is no SQL to run. Write one SELECT.", rule="empty")
    if len(statements) > 1:
        raise QueryRejected(f"Write one statement, not {len(statements)}.", rule="one_statement")
    return statements[0]


def parse_query(sql: str, name: str) -> exp.Expr:
    """Read one statement and see that it is a query; the rest is not checked.

    Raises:
        QueryRejected: it cannot be read, or is something else.
    """
    tree = parse_statement(sql, name)
    _must_be_query(tree)
    return tree


def sorts(sql: str, name: str) -> bool:
    """Whether a query says in which order its rows come; what it sorts inside of it says nothing of that.

    >>> sorts("SELECT Name FROM Boats ORDER BY COALESCE(Metres, 0)", "sqlite")
    True
    >>> sorts("SELECT ' ORDER BY ' FROM (SELECT Name FROM Boats ORDER BY Name) AS b", "sqlite")
    False
    """
    return parse_query(sql, name).args.get("order") is not None


def _unquoted(sql: str, schema: Schema) -> str:
    """Name the tables and columns of more than one word that stand in the SQL without their quotes."""
    names = dict.fromkeys(
        name
        for table in schema.tables
        for name in (table.name, *(column.name for column in table.columns))
        if re.search(r"[\s-]", name)
    )
    code = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]", " '' ", sql)
    found = [
        quoted(name, schema.dialect)
        for name in names
        if re.search(r"(?<!\w)" + r"\s+".join(map(re.escape, name.split())) + r"(?!\w)", code, re.IGNORECASE)
    ]
    return f" A name of more than one word is written in double quotes: {', '.join(found[:3])}." if found else ""


def too_deep() -> QueryRejected:
    """The feedback for SQL that nests deeper than can be walked."""
    return QueryRejected("The query is nested too deep; write it with fewer levels.", rule="depth")


def _unreadable() -> QueryRejected:
    return QueryRejected("The query cannot be read as SQL; write it more simply.", rule="syntax")


def _must_be_query(tree: exp.Expr) -> None:
    inner = tree
    while inner.key == "subquery":
        inner = inner.this
    if inner.key not in ("select", "union", "except", "intersect"):
        word = inner.name.upper() if inner.key == "command" else inner.key.upper()
        raise QueryRejected(f"Only a SELECT may run, not {word or 'this'}.", rule="only_a_query")


def _plain(problem: Exception) -> str:
    from sqlglot.errors import TokenError

    errors = getattr(problem, "errors", None)
    if errors:
        first = errors[0]
        near = str(first.get("highlight") or "").strip()
        return f"The SQL cannot be read: {str(first.get('description')).rstrip('.')}" + (
            f", near {near}." if near else "."
        )
    if isinstance(problem, TokenError):
        return "The SQL cannot be read: a quote or a bracket is opened and not closed."
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(problem)).splitlines()
    return f"The SQL cannot be read: {text[0].rstrip('.') if text else 'syntax error'}."


def only_a_query(query: _Parsed) -> None:
    """The statement is a SELECT, perhaps with CTEs, set operations and brackets around it."""
    _must_be_query(query.tree)


def known_syntax(query: _Parsed) -> None:
    """Every node of the whole tree is of a listed kind, with listed arguments."""
    allowed = _NODES_OF[query.schema.dialect]
    for node in query.tree.walk():
        kind = type(node).__name__
        if kind == "Select" and not node.expressions:
            raise QueryRejected("A SELECT names no columns. Write what it selects.", rule="known_syntax")
        if kind in _WRITES:
            raise QueryRejected(f"Only reading is allowed; the query holds {kind.upper()}.", rule="known_syntax")
        if kind == "Var" and not _WORD.match(node.name):
            raise QueryRejected(f"{node.name[:40]!r} cannot be used here.", rule="known_syntax")
        if kind not in allowed:
            raise QueryRejected(f"{_excerpt(node, query)} cannot be used here ({kind}).", rule="known_syntax")
        listed = _ARGUMENTS.get(kind)
        if listed is not None:
            for name, value in node.args.items():
                if value and name not in listed:
                    raise QueryRejected(
                        f"{name.strip('_').upper()} cannot be used in {_excerpt(node, query)}.", rule="known_syntax"
                    )


def known_functions(query: _Parsed) -> None:
    """Every function that is called is listed for the dialect."""
    dialect = query.schema.dialect
    allowed = ALLOWED[dialect]
    for node in query.tree.walk():
        kind = type(node).__name__
        if kind == "Anonymous":
            called = node.this
            if not isinstance(called, str):
                raise QueryRejected(
                    f"{_excerpt(node, query)}: write the name of a function plainly.", rule="known_functions"
                )
        elif kind in _CALLS:
            called = _CALLS[kind]
            called = (
                {"group_concat": "string_agg", "char": "chr"}.get(called, called) if dialect == "postgres" else called
            )
        else:
            continue
        name = called.lower()
        if name not in allowed:
            instead = INSTEAD[dialect].get(name)
            close = nearest(name, sorted(allowed), limit=2)
            hint = f"; {instead}" if instead else f"; nearest: {', '.join(close)}" if close else ""
            rule = "foreign_function" if instead else "known_functions"
            raise QueryRejected(f"The function {called.upper()} cannot be used here{hint}.", rule=rule)


def known_types(query: _Parsed) -> None:
    """A cast goes to a plain type, or to one that a column of the schema has."""
    from sqlglot import exp

    own = {column.type.lower() for table in query.schema.tables for column in table.columns}
    for node in query.tree.find_all(exp.DataType):
        kind = node.this
        written = node.sql(query.schema.dialect).lower()
        plain = isinstance(kind, exp.DType) and kind.name in _TYPES
        if not plain and not (kind == exp.DType.USERDEFINED and written in own):
            raise QueryRejected(f"The type {node.sql(query.schema.dialect)} cannot be used here.", rule="known_types")


def bounded_widths(query: _Parsed) -> None:
    """No format or padding makes a text whose length is a number in the query."""
    from sqlglot import exp

    for node in query.tree.find_all(exp.Anonymous):
        name = str(node.this).lower()
        if name in ("printf", "format"):
            form = node.expressions[0] if node.expressions else None
            if not (isinstance(form, exp.Literal) and form.is_string) or _WIDTH.search(form.name):
                raise QueryRejected(
                    f"{name.upper()} needs a plain format text with widths below 1,000.", rule="bounded_widths"
                )
        elif name in ("lpad", "rpad"):
            width = node.expressions[1] if len(node.expressions) > 1 else None
            if not (isinstance(width, exp.Literal) and width.name.isdigit() and int(width.name) <= _PADDED):
                raise QueryRejected(f"{name.upper()} needs a plain width up to {_PADDED:,}.", rule="bounded_widths")


def own_names(query: _Parsed) -> None:
    """No CTE takes the name of a view: what a view may call would be open to it."""
    from sqlglot import exp

    views = {table.name.lower() for table in query.schema.tables if table.is_view}
    for cte in query.tree.find_all(exp.CTE):
        if cte.alias.lower() in views:
            raise QueryRejected(f"{cte.alias} is a view; give the WITH clause another name.", rule="ambiguous")


RULES: tuple[Rule, ...] = (only_a_query, known_syntax, known_functions, known_types, bounded_widths, own_names)
"""What a query must hold to, in order; the names of tables and columns are judged after them, by scope."""


def _excerpt(node: exp.Expr, query: _Parsed) -> str:
    try:
        text = node.sql(query.schema.dialect, comments=False)
    except Exception:
        text = node.key.upper()
    return text if len(text) <= 60 else text[:57] + "…"
