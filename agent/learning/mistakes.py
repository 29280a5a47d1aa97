"""What an attempt teaches: queries that did not run or were called wrong, with what took their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent.attempt import MISTAKES
from agent.database.result import QueryRejected
from agent.database.skeleton import normalise
from memory.lessons import Lesson

CALLED_WRONG = "It ran, and a person called its answer wrong."

_LITERAL_OR_SPACE = re.compile(r"""(?P<kept>'(?:[^']|'')*'|"(?:[^"]|"")*")|\s+""")


def lessons_of(attempt: str, body: Mapping[str, Any], *, dialect: str) -> tuple[Lesson, ...]:
    """What a settled attempt teaches by itself: its drafts that did not run by mistake, each with the query that did.

    The fix is the model's own: it mends a query that does not run, and nobody said that it is right. Nothing comes
    of an attempt without an answer that the model wrote, or of a draft that was refused for what it would do.

    >>> wrong = {"sql": "SELECT Nme FROM Breads", "problem": "No column Nme.", "rule": "unknown_column"}
    >>> ran = {"sql": "SELECT Name FROM Breads", "problem": "", "rule": "", "agrees": True}
    >>> asked = {"bucket": "b", "masked": "m", "question": "q", "drafts": [wrong, ran], "sql": ran["sql"]}
    >>> [(one.wrong_sql, one.problem, one.fix_sql) for one in lessons_of("a1", asked, dialect="sqlite")]
    [('SELECT Nme FROM Breads', 'No column Nme.', 'SELECT Name FROM Breads')]
    """
    wrong = dict(_mistakes(body, dialect)) if body.get("sql") else {}
    own = [draft["sql"] for draft in written(body) if draft.get("agrees")] if wrong else []
    if not own:
        return ()
    fix = body["sql"] if body["sql"] in own else own[0]
    return _told(body, wrong, fix=normalise(fix, dialect), origin=f"attempt:{attempt}")


def lessons_from_person(
    attempt: str, body: Mapping[str, Any], *, dialect: str, right_sql: str = ""
) -> tuple[Lesson, ...]:
    """What a person's word on an attempt teaches: its answer is wrong, and `right_sql` is right where one is given.

    A right query mends the drafts that did not run as well. Where none ran, those are what was called wrong.
    """
    wrong: dict[str, str] = {}
    if right_sql or not body.get("sql"):
        wrong.update(_mistakes(body, dialect))
    if body.get("sql"):
        wrong[normalise(body["sql"], dialect)] = CALLED_WRONG
    return _told(body, wrong, fix=right_sql, origin=f"feedback:{attempt}")


def lessons_from_gold(
    body: Mapping[str, Any], *, dialect: str, problem: str, gold: str, origin: str
) -> tuple[Lesson, ...]:
    """What a wrong answer to a question with a known one teaches: what is wrong with it, and the gold as the fix.

    `problem` is what a judge said of the answer; the drafts that did not run keep their own.
    """
    wrong = dict(_mistakes(body, dialect))
    if body.get("sql"):
        wrong[normalise(body["sql"], dialect)] = problem
    return _told(body, wrong, fix=gold, origin=origin)


def _told(body: Mapping[str, Any], wrong: Mapping[str, str], *, fix: str, origin: str) -> tuple[Lesson, ...]:
    return tuple(
        Lesson(body["bucket"], body["masked"], body["question"], sql, problem, fix, origin)
        for sql, problem in wrong.items()
        if sql != fix
    )


def written(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The drafts of the model in a settled attempt."""
    return tuple(draft for draft in body.get("drafts", ()) if draft.get("origin", "model") == "model")


def _mistakes(body: Mapping[str, Any], dialect: str) -> Iterator[tuple[str, str]]:
    """The queries of the model that did not run by mistake, each with the problem that it was shown."""
    for draft in written(body):
        if draft["sql"] and draft["rule"] in MISTAKES:
            yield one_spelling(draft["sql"], dialect), draft["problem"]


def one_spelling(sql: str, dialect: str) -> str:
    """One spelling for one query; where it cannot be read, on one line at least, with literals as they are.

    >>> one_spelling("SELEC  1,\\n 'two  words'", "sqlite")
    "SELEC 1, 'two  words'"
    """
    try:
        return normalise(sql, dialect)
    except QueryRejected:
        return _LITERAL_OR_SPACE.sub(lambda found: found["kept"] or " ", sql).strip()
