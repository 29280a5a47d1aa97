"""Finding the SQL in what a model wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.database.result import QueryRejected

_FENCE = re.compile(r"```[ \t]*(?:(?!(?:SELECT|WITH|VALUES)\b)[A-Z0-9_+-]*)[ \t]*\r?\n?", re.IGNORECASE)
_PREFIX = re.compile(r"^[\s>*#]*(?:SQL\s*Query|SQL|Query|Answer)\s*:[\s*]*", re.IGNORECASE)
_WITH = r"WITH\s+(?:RECURSIVE\s+)?(?:\"[^\"]+\"|`[^`]+`|\[[^\]]+\]|\w+)\s*(?:\([^)]*\)\s*)?AS\b"
_OPENING = re.compile(rf"(?:^|(?<=[\s:(]))(?=(?:SELECT|VALUES)\b|{_WITH})", re.IGNORECASE)
# Words that prose begins with too count only with what follows them in SQL.
_STATEMENT = re.compile(
    rf"[\s(]*(?:(?:SELECT|VALUES|INSERT|UPDATE|DELETE|MERGE|REPLACE|CREATE|DROP|ALTER|TRUNCATE|ATTACH|DETACH|PRAGMA"
    rf"|VACUUM|REINDEX|ANALYZE|EXPLAIN|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|GRANT|REVOKE|COPY|EXEC)\b"
    rf"|{_WITH}|DO\s+(?:\$|LANGUAGE\b)|SET\s+\S+(?:\s+TO\b|\s*=)|CALL\s+[^\s(]+\s*\()",
    re.IGNORECASE,
)
# How a paragraph begins that explains the query: after any line break, and after an empty line.
_GAP = re.compile(r"\s+")
_REMARK = re.compile(
    r"(?:This|The|The above) (?:query|statement|SQL)\b|(?:Explanation|Note|Output|Result)s?:|Note that\b"
)
_PARAGRAPH = re.compile(r"(?:This|These|The|It|Here|In this|In the|Please|You|I|Hope|Let) [a-z]")
_LONGEST = 40_000
_LEADING_COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/)", re.DOTALL)


def read_sql(reply: str) -> str:
    """Take the one SQL statement out of a reply.

    Reads past Markdown fences, prefixes such as `SQLQuery:`, leading comments, prose around the statement and
    a trailing semicolon. A semicolon inside a literal belongs to the statement; a second statement is kept, so
    that the guard refuses it.

    Raises:
        QueryRejected: the reply is empty, too long, or holds no SQL.

    >>> read_sql("Sure!\\n```sql\\nSELECT 1;\\n```")
    'SELECT 1'
    >>> read_sql("SQLQuery: -- all\\nSELECT ';' AS x;")
    "SELECT ';' AS x"
    """
    text = reply.strip()
    if not text:
        raise QueryRejected("The reply was empty. Reply with one SELECT statement.", rule="no_sql")
    if len(text) > _LONGEST:
        raise QueryRejected(f"The reply has {len(text):,} characters. Reply with one short SELECT.", rule="length")
    text = _without_opening(_unfenced(text))
    if not _STATEMENT.match(text):
        opening = _OPENING.search(text)
        if opening is None or not re.search(r"\bFROM\b|\bSELECT\b", text[opening.start() :], re.IGNORECASE):
            raise QueryRejected("The reply holds no SQL. Reply with one SELECT statement only.", rule="no_sql")
        text = text[opening.start() :]
    return _up_to_the_end(text)


def _unfenced(text: str) -> str:
    """What the first fence with a statement holds; else what stands before all fences, if that is a statement."""
    begins = _starts_statement(text)
    start = _fence_in(text) if begins else 0
    bodies = (text[opening.end() :] for opening in _FENCE.finditer(text, start))
    body = next((body for body in bodies if _starts_statement(body)), None)
    if body is not None:
        return body[: _fence_in(body)]
    return text[:start] if begins else text.replace("```", " ")


def _fence_in(text: str) -> int:
    """Where the first fence stands outside of quotes and comments; the end of the text where there is none."""
    return next((place for place, _ in _bare(text) if text.startswith("```", place)), len(text))


def _starts_statement(text: str) -> bool:
    return _STATEMENT.match(_without_opening(text)) is not None


def _without_opening(text: str) -> str:
    """Drop prefixes and comments before the first word, in any order and number."""
    while True:
        shorter = _PREFIX.sub("", text, count=1)
        if comment := _LEADING_COMMENT.match(shorter):
            shorter = shorter[comment.end() :]
        if shorter == text:
            return text
        text = shorter


def _up_to_the_end(text: str) -> str:
    """Cut at the first semicolon, or paragraph of prose, outside of quotes, brackets and comments.

    A semicolon that another statement follows is kept, and so is what comes after it.
    """
    for place, depth in _bare(text):
        over = text[place] == ";" and not _starts_statement(text[place + 1 :].lstrip("; \t\r\n"))
        if over or (depth <= 0 and _is_remark(text, place)):
            return text[:place].strip()
    return text.strip().rstrip(";").rstrip()


def _is_remark(text: str, place: int) -> bool:
    """Whether a gap begins here that an explanation follows."""
    if not text[place].isspace() or text[place - 1].isspace():
        return False
    gap = _GAP.match(text, place)
    if gap is None or "\n" not in gap[0]:
        return False
    remark = _REMARK.match(text, gap.end())
    after_empty_line = gap[0].count("\n") > 1
    return bool(remark or (after_empty_line and _PARAGRAPH.match(text, gap.end())))


def _bare(text: str) -> Iterator[tuple[int, int]]:
    """Every place outside of quotes and comments, and how many brackets are open there."""
    quote, depth, place = "", 0, 0
    while place < len(text):
        char, pair = text[place], text[place : place + 2]
        if quote:
            quote = "" if char == quote else quote
        elif pair == "--":
            place = _skip_to(text, place, "\n") - 1
        elif pair == "/*":
            place = _skip_to(text, place, "*/")
        else:
            yield place, depth
            quote = "]" if char == "[" else char if char in "'\"`" else ""
            depth += (char == "(") - (char == ")")
        place += 1


def _skip_to(text: str, index: int, end: str) -> int:
    found = text.find(end, index)
    return len(text) if found < 0 else found + len(end) - 1
