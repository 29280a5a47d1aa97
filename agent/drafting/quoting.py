"""Quotes names of the schema that SQL reads as words of its own, such as a table `order` or a column `group`.

A model writes them without quotes, and the database reads `FROM order` as a clause that was broken off. The text is cut
into tokens; one that is such a name is quoted where the grammar wants a name and no keyword: beside a dot, after FROM,
JOIN and AS, and between what comes before an operand and what may follow one. So `ORDER BY order` becomes
`ORDER BY "order"`. Where the next words leave it open (`SELECT DISTINCT from …` of columns `distinct` and `from`), the
word is one of SQL.

Imported late only: it brings sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot.errors import SqlglotError

from agent.database.dialects import dialect as guarded
from agent.database.naming import RESERVED, fold, quoted
from agent.database.schema import Schema

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

LONGEST = 20_000
"""The longest SQL read, in characters; the guard refuses what is longer."""

_SIGN_WORDS = "= == <> != < <= > >= + - * / % || | & << >> -> ->>"
_OPERATORS = frozenset(_SIGN_WORDS.split())
_SORTS = ("group by", "order by", "partition by")
_BEFORE_WORDS = "( , select distinct all where having on and or not between like ilike glob when then else case"
_BEFORE = _OPERATORS | frozenset(_BEFORE_WORDS.split()) | frozenset(_SORTS)
"""What an operand may follow."""

_AFTER_WORDS = """
    ) , ; :: from where having and or is in not between like ilike glob collate as asc desc nulls then when else end
    union except intersect limit offset window fetch filter join left right inner cross full natural escape
    rows range groups"""
_AFTER = _OPERATORS | frozenset(_AFTER_WORDS.split()) | frozenset(_SORTS) | {""}
"""What may follow an operand; `""` is the end."""

_LEADING = frozenset(("select", "distinct", "all", "not", "case"))
_STARRED = frozenset(("select", "distinct", "all", ",", "(", "."))
"""After these a star stands for columns and is no sign."""

_SIGNS = frozenset(("+", "-", "*", "not"))
_TESTS = frozenset(("in", "like", "ilike", "glob", "between"))
_VALUE_WORDS = "null true false current_date current_time current_timestamp localtime localtimestamp"
_VALUES = frozenset(_VALUE_WORDS.split())
"""Words that are a value themselves."""

_LISTS = frozenset(("from", "join"))
_ENDS_OF_FROM = frozenset(("where", "having", "window", "limit", "union", "except", "intersect", *_SORTS))
_SIDES = frozenset(("leading", "trailing", "both"))
_FRAMES = frozenset(("rows", "range", "groups"))


def with_quotes(sql: str, schema: Schema) -> tuple[str, tuple[str, ...]]:
    """Quote the reserved words of a query that are names of the schema, with a note for each name.

    A query that has none of them, or cannot be cut into tokens, comes back as it was. Never raises.

    >>> from agent.database.schema import Column, Table
    >>> table = Table("order", (Column("id", "INTEGER"), Column("group", "TEXT")))
    >>> with_quotes("SELECT group, COUNT(*) FROM order GROUP BY group", Schema("shop", "sqlite", (table,), "", ""))[0]
    'SELECT "group", COUNT(*) FROM "order" GROUP BY "group"'
    """
    names = _reserved(schema)
    if not names or len(sql) > LONGEST or not _any_of(tuple(names)).search(sql):
        return sql, ()
    try:
        tokens = guarded(schema.dialect).tokenize(sql)
    except (SqlglotError, ValueError, IndexError):
        return sql, ()
    notes: dict[str, None] = {}
    for token, name in reversed(_found(sql, tokens, names)):
        written, real = sql[token.start : token.end + 1], quoted(name, schema.dialect)
        notes[f"{written} became {real}"] = None
        sql = f"{sql[: token.start]}{real}{sql[token.end + 1 :]}"
    return sql, tuple(notes)[::-1]


def _reserved(schema: Schema) -> dict[str, tuple[str, ...]]:
    """The names that are reserved words, by their folded spelling."""
    found: dict[str, dict[str, None]] = {}
    for table in schema.tables:
        for name in (table.name, *(column.name for column in table.columns)):
            if fold(name) in RESERVED:
                found.setdefault(fold(name), {})[name] = None
    return {word: tuple(names) for word, names in found.items()}


@lru_cache(maxsize=64)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w\"])(?:{'|'.join(map(re.escape, words))})(?![\w\"])", re.IGNORECASE)


def _found(sql: str, tokens: Sequence[Token], names: dict[str, tuple[str, ...]]) -> list[tuple[Token, str]]:
    """The tokens that are names, each with the real name; where several differ in case only, the one as written."""
    words = [_word(sql, token) for token in tokens]
    found: list[tuple[Token, str]] = []
    lists = [False]
    """Whether a FROM is open, for each open bracket."""
    for place, (token, word) in enumerate(zip(tokens, words, strict=True)):
        real = names.get(word, ())
        name = real[0] if len(real) == 1 else next((one for one in real if one == token.text), "")
        if name and _is_name(words, place, names, in_list=lists[-1]):
            found.append((token, name))
            words[place] = _NAME
        elif word == "(":
            lists.append(False)
        elif word == ")" and len(lists) > 1:
            lists.pop()
        elif word in _LISTS:
            lists[-1] = lists[-1] or not _is_comparison(words, place)
        elif word in _ENDS_OF_FROM or word == "select":
            lists[-1] = False
    return found


_NAME = "\x00"
"""Stands for a name or a literal among the words."""


def _word(sql: str, token: Token) -> str:
    """A token as it is written, in small letters, with one space for any number; `_NAME` where it stands in quotes."""
    text = sql[token.start : token.end + 1]
    return _NAME if text[:1] in "\"'`[" and len(text) > 1 else " ".join(text.lower().split())


def _is_comparison(words: Sequence[str], place: int) -> bool:
    """Whether a FROM is that of IS DISTINCT FROM."""
    return list(words[max(0, place - 1) : place]) == ["distinct"] and words[place - 2] in ("is", "not")


def _is_name(words: Sequence[str], place: int, names: Collection[str], *, in_list: bool) -> bool:
    """Whether the grammar wants a name at a place; `in_list` where a FROM is open."""

    def at(step: int) -> str:
        return words[place + step] if 0 <= place + step < len(words) else ""

    word, before, after = words[place], at(-1), at(1)
    if before == "." or (after == "." and not at(2)[:1].isdigit()):
        return True
    if after == "(" or (word in _VALUES and before not in _LISTS):
        return False
    if before in _LISTS and not _is_comparison(words, place - 1):
        return True
    if before == "as":
        return after != "materialized"
    if after == "as" and at(2) == "(":
        return before in ("with", "recursive", ",")
    if before == "," and in_list:
        return True
    if before not in _BEFORE | _LISTS or after not in _AFTER or (before == "not" and at(-2) == "is"):
        return False
    if before == "*" and at(-2) in _STARRED:
        return False
    if _leads(word, before) and _begins_operand(after, at(2), names):
        return False
    if before == "(":
        if word == "select":
            return after in (")", ",")
        if (word in _SIDES and after == "from") or (word in _FRAMES and at(-2) == "over"):
            return False
    return not (word == "case" and after == "when")


def _leads(word: str, before: str) -> bool:
    """Whether a word of SQL may stand where an operand is awaited, before that operand."""
    return word in _LEADING or (word == "when" and before == "case") or (word in _TESTS and before == "not")


def _begins_operand(word: str, after: str, names: Collection[str]) -> bool:
    """Whether an operand begins with a word that may as well follow one."""
    if word in _SIGNS:
        return not (word == "not" and after in _TESTS)
    return word in names and after in _AFTER
