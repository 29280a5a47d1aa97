"""What an attempt teaches: only drafts that did not run by mistake, with the query that did, or with a person's."""

from __future__ import annotations

from typing import Any

import pytest

from agent.attempt import MISTAKES
from agent.learning.mistakes import CALLED_WRONG, lessons_from_person, lessons_of
from memory.lessons import Lesson

RAN: dict[str, Any] = {"sql": "SELECT Name FROM Breads", "problem": "", "rule": "", "agrees": True}
BROKEN = {"sql": "select Nme from Breads", "problem": "There is no column Nme.", "rule": "unknown_column"}
UNREADABLE = {"sql": "  SELECT (Name FROM Breads ", "problem": "It cannot be read.", "rule": "syntax"}
SILENT = {"sql": "", "problem": "The reply holds no SQL.", "rule": "no_sql"}
WRITES = {"sql": "DELETE FROM Breads", "problem": "Only SELECT is allowed.", "rule": "statement"}
LOCKED = {"sql": "SELECT 1", "problem": "The database is locked.", "rule": "locked"}


def body(*drafts: dict[str, Any], sql: str = RAN["sql"]) -> dict[str, Any]:
    return {"bucket": "b", "masked": "m", "question": "q", "drafts": list(drafts), "sql": sql}


def lesson(wrong: str, problem: str, fix: str = RAN["sql"], origin: str = "attempt:a1") -> Lesson:
    return Lesson("b", "m", "q", wrong, problem, fix, origin)


def told(lessons: tuple[Lesson, ...]) -> list[tuple[str, str]]:
    return [(one.wrong_sql, one.fix_sql) for one in lessons]


def test_a_draft_that_did_not_run_is_told_with_the_query_that_did() -> None:
    assert lessons_of("a1", body(BROKEN, RAN), dialect="sqlite") == (
        lesson("SELECT Nme FROM Breads", "There is no column Nme."),
    )


def test_each_mistake_is_told_once_in_one_spelling_where_it_can_be_read() -> None:
    spelt = {**BROKEN, "sql": "SELECT Nme  FROM Breads"}
    assert told(lessons_of("a1", body(UNREADABLE, BROKEN, spelt, RAN), dialect="sqlite")) == [
        ("SELECT (Name FROM Breads", RAN["sql"]),
        ("SELECT Nme FROM Breads", RAN["sql"]),
    ]


def test_a_query_that_cannot_be_read_is_told_on_one_line_with_its_literals_as_they_are() -> None:
    drafts = {**UNREADABLE, "sql": "SELECT (Name\r\n\t FROM  Breads\u2028WHERE Name = 'Rye\n  loaf' OR \"a  b\""}
    [[wrong, _]] = told(lessons_of("a1", body(drafts, RAN), dialect="sqlite"))
    assert wrong == "SELECT (Name FROM Breads WHERE Name = 'Rye\n  loaf' OR \"a  b\""


def test_the_fix_is_the_answer_and_not_merely_a_draft_that_ran() -> None:
    """Where drafts vote, the answer is the one that most agree with."""
    voted = body({**RAN, "sql": "SELECT 1", "agrees": False}, BROKEN, RAN, RAN)
    assert told(lessons_of("a1", voted, dialect="sqlite")) == [("SELECT Nme FROM Breads", RAN["sql"])]


@pytest.mark.parametrize("draft", [SILENT, WRITES, LOCKED, RAN])
def test_nothing_is_told_of_a_draft_that_is_no_mistake_in_a_query(draft: dict[str, Any]) -> None:
    assert (draft["rule"] in MISTAKES) == (draft is SILENT)
    assert lessons_of("a1", body(draft, RAN), dialect="sqlite") == ()


def test_an_adapted_answer_mends_no_query_of_the_model() -> None:
    adapted = {**RAN, "origin": "adapted"}
    told_otherwise = {**RAN, "sql": "SELECT Flour FROM Breads", "agrees": False}
    assert lessons_of("a1", body(adapted, BROKEN), dialect="sqlite") == ()
    assert lessons_of("a1", body(adapted, BROKEN, told_otherwise), dialect="sqlite") == ()


def test_where_the_model_said_what_was_adapted_the_fix_is_what_it_wrote_itself() -> None:
    adapted, own = {**RAN, "origin": "adapted"}, {**RAN, "sql": "SELECT b.Name FROM Breads AS b"}
    [[_, fix]] = told(lessons_of("a1", body(adapted, BROKEN, own), dialect="sqlite"))
    assert fix == own["sql"]


def test_nothing_is_told_by_an_attempt_without_an_answer() -> None:
    assert lessons_of("a1", body(BROKEN, UNREADABLE, sql=""), dialect="sqlite") == ()
    assert lessons_of("a1", {"status": "failed", "message": "The process ended."}, dialect="sqlite") == ()


def test_a_query_that_failed_once_and_ran_when_written_again_was_no_mistake() -> None:
    slow = {"sql": "select Name from Breads", "problem": "It took too long.", "rule": "failed"}
    assert lessons_of("a1", body(slow, RAN), dialect="sqlite") == ()


def test_an_answer_that_a_person_calls_wrong_is_told_without_a_fix() -> None:
    assert lessons_from_person("a1", body(BROKEN, RAN), dialect="sqlite") == (
        lesson(RAN["sql"], CALLED_WRONG, "", "feedback:a1"),
    )


def test_a_correction_mends_the_answer_and_what_did_not_run_before_it() -> None:
    right = "SELECT Name, Price FROM Breads"
    corrected = lessons_from_person("a1", body(BROKEN, RAN), dialect="sqlite", right_sql=right)
    assert told(corrected) == [("SELECT Nme FROM Breads", right), (RAN["sql"], right)]
    assert {one.origin for one in corrected} == {"feedback:a1"}
    unanswered = lessons_from_person("a1", body(BROKEN, sql=""), dialect="sqlite", right_sql=right)
    assert told(unanswered) == [("SELECT Nme FROM Breads", right)]


def test_where_nothing_ran_it_is_the_drafts_that_a_person_calls_wrong() -> None:
    assert lessons_from_person("a1", body(BROKEN, SILENT, sql=""), dialect="sqlite") == (
        lesson("SELECT Nme FROM Breads", "There is no column Nme.", "", "feedback:a1"),
    )


def test_no_words_say_that_a_models_fix_is_right() -> None:
    [models] = lessons_of("a1", body(BROKEN, RAN), dialect="sqlite")
    [persons] = lessons_from_person("a1", body(BROKEN, sql=""), dialect="sqlite", right_sql="SELECT 1")
    assert not models.is_vouched and persons.is_vouched
