"""Question files: JSON lines of questions with the SQL that answers them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

LONGEST_LINE = 1_000_000
"""The longest line read, in bytes: a file that is no text at all shows by its first line."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIELDS = {
    "id": "a name of its own",
    "question": "the question in words",
    "sql": "the query that answers it",
    "check_sql": "another query that gives the same answer",
    "alt_sql": "a list of other queries that count as right",
    "ordered": "true where the question asks for an order of rows, else false",
    "type": "the kind of question",
    "difficulty": "easy, medium or hard",
    "language": "en, de, ko and so on",
}
_NEEDED = ("id", "question", "sql")
_LINE = "Each line is an object with id, question and sql"


class QuestionFileError(Exception):
    """A question file cannot be read. The message names the file, the line and what to mend."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and its SQL. `others` are queries written independently that must give the same result (`check_sql`).

    `accepted` are queries that count as right as well, though they may give something else (`alt_sql`).

    `ordered` says whether the question asks for an order of rows. `line` counts from 1.
    """

    id: str
    question: str
    sql: str
    others: tuple[str, ...]
    ordered: bool
    type: str
    difficulty: str
    language: str
    line: int
    accepted: tuple[str, ...] = ()


class _Broken(Exception):
    """What is wrong with a line, and how to mend it."""


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Read a question file or a seed pack, in file order.

    Blank lines, a byte order mark, Windows line ends and unknown fields are passed over, and an optional field may be
    null. Strings are taken as they stand, without the spaces around them.

    Raises:
        QuestionFileError: the file cannot be opened or holds no question, a line is broken (named by number), or an id
            stands there twice.
    """
    pairs: dict[str, Pair] = {}
    for number, line in enumerate(_lines(path), start=1):
        try:
            text = _text(line)
            if not text.strip():
                continue
            pair = _read(text, number)
            if pair.id in pairs:
                raise _Broken(
                    f"the id {pair.id!r} stands in line {pairs[pair.id].line} too. Give one of them another id"
                )
        except _Broken as problem:
            raise QuestionFileError(f"{path}, line {number}: {problem}.") from problem
        pairs[pair.id] = pair
    if not pairs:
        raise QuestionFileError(f"{path} holds no question. {_LINE}.")
    return tuple(pairs.values())


def _lines(path: Path) -> Iterator[bytes]:
    """Give the lines one by one, so that a huge file with a broken line is not read to its end."""
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST_LINE + 1).removeprefix(_BYTE_ORDER_MARK)
            while line:
                yield line
                line = file.readline(LONGEST_LINE + 1)
    except (OSError, ValueError) as problem:
        what = "it is a folder" if path.is_dir() else getattr(problem, "strerror", None) or problem
        raise QuestionFileError(f"{path} cannot be read: {what}. Give a file of JSON lines in UTF-8.") from problem


def _read(text: str, number: int) -> Pair:
    from pydantic import ValidationError

    from agent.learning.forms import QuestionLine

    read = _object(text)
    given = {name: value for name, value in read.items() if name in _NEEDED or value is not None}
    _only_text(given)
    try:
        form = QuestionLine.model_validate(given)
    except ValidationError as error:
        raise _Broken("; ".join(_told(e["type"], e["loc"], e["input"], read) for e in error.errors())) from error
    return Pair(
        id=form.id,
        question=form.question,
        sql=form.sql,
        others=(form.check_sql,) if form.check_sql else (),
        ordered=form.ordered,
        type=form.type,
        difficulty=form.difficulty,
        language=form.language,
        line=number,
        accepted=tuple(form.alt_sql),
    )


def _text(line: bytes) -> str:
    if len(line) > LONGEST_LINE:
        raise _Broken(
            f"longer than {LONGEST_LINE:,} bytes. One question stands on one line; break the file after each of them"
        )
    if line.startswith(_BYTE_ORDER_MARK):
        raise _Broken("a byte order mark (EF BB BF) stands before the text, as where files were joined. Take it out")
    if b"\0" in line:
        raise _Broken("the byte NUL is in it, as in UTF-16 and in what is no text. Save the file as UTF-8")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Broken(
            f"not UTF-8 (byte {error.start + 1} is {line[error.start]:#04x}). Save the file as UTF-8"
        ) from error


def _object(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise _Broken("more than one JSON value. Put each question on a line of its own") from error
        # The message of the error names a line too, always the first.
        what = error.msg.removesuffix(" at")
        raise _Broken(f"no JSON ({what} at character {error.pos + 1}). {_LINE}, whole on that line") from error
    except (ValueError, RecursionError) as error:
        raise _Broken(f"no JSON ({error}). {_LINE}") from error
    if not isinstance(read, dict):
        raise _Broken(f'line: {_shown(read)} where an object should be. {_LINE}: {{"id": …, "question": …, "sql": …}}')
    return read


def _without_doubles(fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(fields)
    if len(read) < len(fields):
        name = next(name for name, times in Counter(name for name, _ in fields).items() if times > 1)
        raise _Broken(f"the field {name!r} stands there twice. Keep one of them")
    return read


def _no_constant(name: str) -> NoReturn:
    raise _Broken(f"no JSON ({name} is no JSON number). Write null or a number")


def _only_text(given: dict[str, Any]) -> None:
    """Refuse what is no text in the fields that are kept: half a surrogate pair, and NUL."""
    for name in _FIELDS:
        value = given.get(name)
        for text in value if isinstance(value, list) else [value]:
            if not isinstance(text, str):
                continue
            if "\0" in text:
                raise _Broken(f"{name}: it holds the character NUL (\\u0000). Take it out")
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise _Broken(
                    f"{name}: it holds half a character (a lone surrogate, \\ud800 to \\udfff). Write it whole"
                )


def _told(kind: str, place: tuple[int | str, ...], value: object, read: dict[str, Any]) -> str:
    """Say what is wrong with one field, and what should stand there. `kind` is a kind of error of pydantic."""
    name, field = ".".join(map(str, place)), str(place[0])
    if kind == "missing":
        there = ", ".join([*map(_shown, islice(read, 8)), *(["…"] if len(read) > 8 else [])]) or "nothing"
        return f"{name}: missing. Add {_FIELDS[field]} (the line holds {there})"
    if kind == "string_too_short":
        return f"{name}: empty. Write {_FIELDS[field]}" + ("" if field in _NEEDED else ", or leave it out")
    wanted = {"bool_type": "true or false", "list_type": 'a list, ["…"]'}.get(kind, "a text in quotes")
    return f"{name}: {_shown(value)} where {wanted} should be. It is {_FIELDS[field]}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= 40 else f"{text[:40]}…"
