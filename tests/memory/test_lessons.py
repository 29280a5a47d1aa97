"""Lessons on real SQLite and real PostgreSQL: learned once, mended when a fix is known, gone with what they show."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from memory.episode import Episode
from memory.ledger import EventKind, Ledger
from memory.lessons import LONGEST, MOST_SHOWN, Lesson, Lessons, newest_lessons

BUCKET = "c0ffee000001"
LESSON = Lesson(
    bucket=BUCKET,
    masked="How many zebrafish did <value> order?",
    question="How many zebrafish did Köln order?",
    wrong_sql="SELECT COUNT(*) FROM Orders WHERE Town = 'Köln'",
    problem="There is no column Town; nearest: Orders.City.",
    fix_sql="SELECT COUNT(*) FROM Orders WHERE City = 'Köln'",
    origin="attempt:a1",
)
UNMENDED = replace(LESSON, fix_sql="")
FIX = Episode(
    bucket=BUCKET,
    kind="count",
    tables=("Orders",),
    question=LESSON.question,
    masked=LESSON.masked,
    sql=LESSON.fix_sql,
    skeleton="SELECT COUNT FROM _ WHERE _ = ?",
    origin="feedback:a1",
    verifier="person",
    batch="feedback:a1",
    schema_fingerprint="f1",
    result_fingerprint="r1",
)


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    sqlite = request.param == "sqlite"
    where = str(tmp_path / "brain.sqlite" if sqlite else request.getfixturevalue("postgres_database"))
    with Ledger.open(where, database="shop") as opened:
        yield opened
        assert opened.verify().ok, opened.verify()


@pytest.fixture
def lessons(ledger: Ledger) -> Lessons:
    return Lessons(ledger)


def learn(ledger: Ledger, *lessons: Lesson) -> list[bool]:
    with ledger.transaction() as entry:
        return [Lessons(ledger).learn(entry, lesson) for lesson in lessons]


def kinds(ledger: Ledger) -> list[str]:
    return [one.kind for one in ledger.events() if one.kind.startswith("lesson")]


def test_a_lesson_comes_back_as_it_was_learned_in_its_bucket_only(ledger: Ledger, lessons: Lessons) -> None:
    odd = replace(LESSON, question="東京\0\ud83d?", problem="\ud83d'; DROP TABLE lessons; --")
    assert learn(ledger, odd) == [True]
    assert lessons.of(BUCKET) == (odd,)
    assert lessons.of("c0ffee000002") == ()


def test_the_same_wrong_query_is_one_lesson_of_a_bucket(ledger: Ledger, lessons: Lessons) -> None:
    again = replace(UNMENDED, question="How many zebrafish did Bonn order?", origin="attempt:a2")
    elsewhere = replace(UNMENDED, bucket="c0ffee000002")
    assert learn(ledger, UNMENDED, again, elsewhere) == [True, False, True]
    assert lessons.of(BUCKET) == (UNMENDED,) and lessons.of(elsewhere.bucket) == (elsewhere,)


def test_the_fix_completes_a_lesson_once_it_is_known(ledger: Ledger, lessons: Lessons) -> None:
    assert learn(ledger, UNMENDED, LESSON, LESSON, UNMENDED) == [True, True, False, False]
    assert lessons.of(BUCKET) == (LESSON,)
    assert kinds(ledger) == [EventKind.LESSON_LEARNED, EventKind.LESSON_RESOLVED]


def test_a_persons_fix_takes_the_place_of_any_other_and_a_models_of_none(ledger: Ledger, lessons: Lessons) -> None:
    models = replace(LESSON, fix_sql="SELECT 1 FROM Orders", origin="attempt:a2")
    persons = replace(LESSON, fix_sql="SELECT 2 FROM Orders", origin="feedback:a3")
    newer = replace(LESSON, fix_sql="SELECT 3 FROM Orders", origin="feedback:a4")
    assert learn(ledger, LESSON, models) == [True, False] and lessons.of(BUCKET) == (LESSON,)
    assert learn(ledger, persons, models, persons) == [True, False, False] and lessons.of(BUCKET) == (persons,)
    assert learn(ledger, newer) == [True] and lessons.of(BUCKET) == (newer,)
    assert [one.is_vouched for one in (LESSON, persons, replace(persons, fix_sql=""))] == [False, True, False]


def test_those_with_a_fix_come_first_and_the_newest_of_each(ledger: Ledger, lessons: Lessons) -> None:
    numbered = [replace(UNMENDED, wrong_sql=f"SELECT wrong{n}") for n in range(6)]
    learn(ledger, *numbered)
    learn(ledger, *(replace(numbered[n], fix_sql=f"SELECT right{n}") for n in (4, 1)))
    assert [one.wrong_sql[-1] for one in lessons.of(BUCKET, 10)] == ["1", "4", "5", "3", "2", "0"]
    assert [one.wrong_sql[-1] for one in lessons.of(BUCKET)] == ["1", "4", "5"] and MOST_SHOWN == 3


def test_a_lesson_is_short_or_is_none(ledger: Ledger, lessons: Lessons) -> None:
    long = "x" * (LONGEST + 1)
    longest = "x" * LONGEST
    assert learn(ledger, replace(LESSON, wrong_sql=long)) == [False]
    assert learn(ledger, replace(LESSON, wrong_sql="")) == [False]
    assert learn(ledger, replace(LESSON, wrong_sql=longest, fix_sql=long, question=long, problem=long)) == [True]
    [kept] = lessons.of(BUCKET)
    assert (kept.wrong_sql, kept.fix_sql) == (longest, "")
    assert kept.question == kept.problem == "x" * (LONGEST - 1) + "…"


def test_a_query_is_not_its_own_fix(ledger: Ledger, lessons: Lessons) -> None:
    assert learn(ledger, replace(LESSON, fix_sql=LESSON.wrong_sql)) == [False]
    assert lessons.of(BUCKET) == ()


def test_a_fix_that_another_lesson_of_the_question_calls_wrong_is_none(ledger: Ledger, lessons: Lessons) -> None:
    person = replace(UNMENDED, wrong_sql=LESSON.fix_sql, origin="feedback:a1")
    assert learn(ledger, LESSON, person) == [True, True]
    assert lessons.of(BUCKET) == (person, UNMENDED)
    assert learn(ledger, LESSON) == [False]
    mended = replace(LESSON, fix_sql="SELECT COUNT(*) FROM Orders", origin="attempt:a9")
    assert learn(ledger, mended) == [True], "what was given up no longer stands in the way of a model's own"
    assert lessons.of(BUCKET) == (mended, person)


def test_forgetting_the_episode_of_a_fix_takes_the_fix_away_until_it_is_right_again(
    ledger: Ledger, lessons: Lessons
) -> None:
    learn(ledger, LESSON)
    with ledger.transaction() as entry:
        entry.remember(FIX)
    assert lessons.of(BUCKET) == (LESSON,)
    with ledger.transaction() as entry:
        entry.forget(FIX.id, "it misled")
    assert lessons.of(BUCKET) == (UNMENDED,)
    other = replace(LESSON, wrong_sql="SELECT COUNT(*) FROM Ordres")
    assert learn(ledger, LESSON, other) == [False, True]
    assert lessons.of(BUCKET) == (replace(other, fix_sql=""), UNMENDED), "nor is it a fix of anything learned later"
    with ledger.transaction() as entry:
        entry.remember(FIX, again=True)
    assert lessons.of(BUCKET)[0] == LESSON


def test_forgetting_the_same_query_for_another_question_leaves_the_fix(ledger: Ledger, lessons: Lessons) -> None:
    other = replace(FIX, masked="Another question?")
    learn(ledger, LESSON)
    with ledger.transaction() as entry:
        entry.remember(other)
        entry.forget(other.id, "it misled")
    assert lessons.of(BUCKET) == (LESSON,)


def test_a_query_that_an_active_episode_vouches_for_is_not_called_wrong(ledger: Ledger, lessons: Lessons) -> None:
    vouched = replace(FIX, sql=LESSON.wrong_sql)
    learn(ledger, LESSON)
    with ledger.transaction() as entry:
        entry.remember(vouched)
    assert lessons.of(BUCKET) == ()
    with ledger.transaction() as entry:
        entry.forget(vouched.id, "it misled")
    assert lessons.of(BUCKET) == (LESSON,)


def test_a_lesson_that_is_taken_back_is_gone_and_can_be_learned_again(ledger: Ledger, lessons: Lessons) -> None:
    learn(ledger, LESSON, replace(LESSON, wrong_sql="SELECT 1", fix_sql=""))
    wrong = replace(FIX, sql=LESSON.wrong_sql).id
    with ledger.transaction() as entry:
        assert lessons.drop(entry, wrong, "a person called it right") == 1
        assert lessons.drop(entry, wrong, "again") == 0
    assert [one.wrong_sql for one in lessons.of(BUCKET)] == ["SELECT 1"]
    assert kinds(ledger)[-1] == EventKind.LESSON_DROPPED and ledger.verify().ok
    assert learn(ledger, LESSON) == [True]
    assert lessons.of(BUCKET)[0] == LESSON


def test_what_is_taken_back_for_one_question_stays_wrong_for_another(ledger: Ledger, lessons: Lessons) -> None:
    learn(ledger, LESSON)
    with ledger.transaction() as entry:
        assert lessons.drop(entry, replace(FIX, sql=LESSON.wrong_sql, masked="Another?").id, "why") == 0
    assert lessons.of(BUCKET) == (LESSON,)


MENTIONS = {
    "its question": replace(LESSON, wrong_sql="SELECT 1", fix_sql="", masked="m", origin="attempt:a7"),
    "its query as wrong": replace(LESSON, question="q", masked="m", wrong_sql=FIX.sql, fix_sql="", origin="attempt:a7"),
    "its query as the fix": replace(LESSON, question="q", masked="m", origin="attempt:a7"),
    "what its attempt wrote": replace(LESSON, question="q", masked="m", fix_sql="SELECT 1", origin="attempt:a1"),
    "what feedback on its attempt wrote": replace(LESSON, question="q", masked="m", fix_sql="", origin="feedback:a1"),
}


@pytest.mark.parametrize("what", MENTIONS)
def test_erasing_an_episode_erases_the_lessons_that_show(what: str, ledger: Ledger, lessons: Lessons) -> None:
    kept = replace(LESSON, question="q2", masked="m2", wrong_sql="SELECT 2", fix_sql="SELECT 3", origin="attempt:a3")
    with ledger.transaction() as entry:
        entry.remember(FIX)
        entry.start_attempt("a1", {"question": FIX.question})
    learn(ledger, MENTIONS[what], kept)
    with ledger.transaction() as entry:
        entry.erase(FIX.id, "asked for")
    assert lessons.of(BUCKET) == (kept,)
    with ledger.connection() as connection:
        assert connection.execute(text("SELECT count(*) FROM lessons")).scalar_one() == 1
    [gone, left] = [one.content for one in ledger.events(kinds=(EventKind.LESSON_LEARNED,))]
    assert gone is None and left is not None


def test_erasing_takes_the_whole_history_of_a_lesson_and_what_showed_it(ledger: Ledger, lessons: Lessons) -> None:
    resolved = replace(LESSON, question="q", masked="m", origin="attempt:a5")
    learn(ledger, replace(resolved, fix_sql=""), resolved)
    with ledger.transaction() as entry:
        entry.remember(FIX)
        for id, shown in (("a8", resolved.id), ("a9", uuid.uuid4())):
            entry.start_attempt(id, {"question": "another"})
            entry.settle_attempt(id, {"lessons": [str(shown)], "drafts": [{"turns": [["user", resolved.fix_sql]]}]})
    with ledger.transaction() as entry:
        entry.erase(FIX.id, "asked for")
    learned = ledger.events(kinds=(EventKind.LESSON_LEARNED, EventKind.LESSON_RESOLVED))
    assert [one.content for one in learned] == [None, None]
    showed, other = ledger.attempt("a8"), ledger.attempt("a9")
    assert showed and showed.settled is None is showed.started
    assert other and other.settled, "an attempt that showed other lessons stays"
    with ledger.transaction() as entry:
        assert not entry.erase(FIX.id), "nothing is left to erase"
    assert learn(ledger, replace(resolved, fix_sql="")) == [True], "the same may be learned anew"


def test_erasing_again_takes_what_was_learned_of_an_erased_episode_since(ledger: Ledger, lessons: Lessons) -> None:
    with ledger.transaction() as entry:
        entry.remember(FIX)
        entry.erase(FIX.id, "asked for")
    again = replace(UNMENDED, wrong_sql=FIX.sql)
    assert learn(ledger, LESSON, again) == [True, True]
    assert lessons.of(BUCKET) == (again, UNMENDED), "an erased query is no fix"
    with ledger.transaction() as entry:
        assert entry.erase(FIX.id)
    assert lessons.of(BUCKET) == (UNMENDED,)


def test_no_byte_of_an_erased_lesson_stays_in_the_files(tmp_path: Path) -> None:
    file = tmp_path / "brain" / "brain.sqlite"
    with Ledger.open(file, database="shop") as ledger:
        other = Lesson(BUCKET, "m", "q", "", "It did not run.", "", "attempt:a9")
        numbered = [replace(other, wrong_sql=f"SELECT {n}") for n in range(200)]
        learn(ledger, *numbered[:100], LESSON, *numbered[100:])
        with ledger.transaction() as entry:
            entry.remember(FIX)

        def found() -> list[str]:
            marks = (b"Town", "Köln".encode(), b"ebrafish")
            return [path.name for path in file.parent.iterdir() if any(mark in path.read_bytes() for mark in marks)]

        assert found(), "the words must be there before, or their absence proves nothing"
        with ledger.transaction() as entry:
            entry.erase(FIX.id)
        assert found() == []
        assert len(Lessons(ledger).of(BUCKET, 500)) == 200 and ledger.verify().ok


def test_no_row_of_an_erased_lesson_stays_in_postgresql(postgres_database: str) -> None:
    with Ledger.open(postgres_database, database="shop") as ledger:
        learn(ledger, LESSON)
        with ledger.transaction() as entry:
            entry.remember(FIX)
        with ledger.transaction() as entry:
            entry.erase(FIX.id)
        with ledger.connection() as connection:
            for table in ("content", "lessons", "masked_questions", "episodes"):
                rows = connection.execute(text(f"SELECT t::text FROM {table} t")).scalars().all()
                assert not any("Köln" in row for row in rows), table
            assert connection.execute(text("SELECT count(*) FROM lessons")).scalar_one() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lessons",
        "UPDATE lessons SET bucket = 'other'",
        "UPDATE lessons SET wrong = 'other'",
        "UPDATE lessons SET fix = ''",
        "UPDATE lessons SET position = 1",
    ],
)
def test_verify_sees_lessons_that_do_not_follow_from_the_events(tmp_path: Path, statement: str) -> None:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as ledger:
        learn(ledger, LESSON)
        assert ledger.verify().ok
        with ledger.transaction() as entry:
            entry.connection.execute(text(statement))
        assert [problem[:6] for problem in ledger.verify().problems] == ["lesson"]


def test_lessons_of_a_bucket_are_found_by_an_index(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as ledger, ledger.connection() as connection:
        asked = str(newest_lessons(BUCKET, 3).compile(connection, compile_kwargs={"literal_binds": True}))
        steps = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}")]
    assert any("lessons_by_bucket" in step for step in steps), steps
    assert not any(step.startswith("SCAN") for step in steps), steps
