"""Question files: JSON lines of questions with the SQL that answers them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


class QuestionFileError(Exception):
    """A question file cannot be read. The message names the file, the line and what to mend."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and its SQL. `others` are queries written independently that must give the same result.

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


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Read a question file or a seed pack, in file order. Blank lines are passed over.

    Raises:
        QuestionFileError: the file is missing, not UTF-8, a line is broken (named by number), or an id twice there.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # a text may hold other line breaks than this one
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionFileError(f"{path} cannot be read: {error}. Give a file of JSON lines in UTF-8.") from error
    pairs: dict[str, Pair] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        pair = _read(line, number, path)
        if pair.id in pairs:
            raise QuestionFileError(
                f"{path}, line {number}: the id {pair.id!r} stands in line {pairs[pair.id].line} too."
            )
        pairs[pair.id] = pair
    if not pairs:
        raise QuestionFileError(f"{path} holds no question. Each line is an object with id, question and sql.")
    return tuple(pairs.values())


def _read(text: str, number: int, path: Path) -> Pair:
    from pydantic import ValidationError

    from agent.learning.forms import QuestionLine

    try:
        line = QuestionLine.model_validate(json.loads(text))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'line'}: {e['msg']}" for e in error.errors())
        raise QuestionFileError(f"{path}, line {number}: {problems}.") from error
    except (ValueError, RecursionError) as error:
        raise QuestionFileError(f"{path}, line {number}: no JSON ({error}).") from error
    others = (*((line.check_sql,) if line.check_sql else ()), *line.alt_sql)
    return Pair(
        line.id, line.question, line.sql, others, line.ordered, line.type, line.difficulty, line.language, number
    )
