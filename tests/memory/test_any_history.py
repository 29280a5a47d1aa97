"""Whatever happens to a brain, its tables follow from its events, and nothing that was erased is anywhere."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from memory.episode import Episode
from memory.ledger import EventKind, Ledger, Transaction
from memory.lessons import Lesson, Lessons

QUERIES = ("SELECT axolotl", "SELECT bonobo", "SELECT capybara")
EPISODE = Episode("b", "count", ("T",), "", "", "", "SELECT ?", "seed:own", "gold", "seed", "f", "r")


def episode(number: int) -> Episode:
    """One of six: three queries for each of two masked questions, asked with a literal of their own."""
    masked, sql = ("first", "second")[number // 3], QUERIES[number % 3]
    return replace(EPISODE, masked=masked, question=f"{masked} {sql.split()[1]} question?", sql=sql)


def lesson(wrong: int, fix: int | None, person: bool) -> Lesson:
    asked = episode(wrong)
    mended = "" if fix is None else QUERIES[fix]
    origin = f"{'feedback' if person else 'attempt'}:a{wrong}"
    return Lesson("b", asked.masked, asked.question, asked.sql, "It did not run.", mended, origin)


numbers = st.integers(0, 5)
steps = st.one_of(
    st.tuples(
        st.sampled_from(["remember", "again", "forget", "erase", "bar", "drop", "show", "reword", "answer"]), numbers
    ),
    st.tuples(st.just("learn"), numbers, st.none() | st.integers(0, 2), st.booleans()),
)


def happen(ledger: Ledger, entry: Transaction, step: tuple[object, ...], number: int) -> None:
    match step:
        case ("remember" | "again" as how, int(which)):
            entry.remember(episode(which), again=how == "again")
        case ("forget" | "erase" as how, int(which)) if ledger.episode_state(episode(which).id) is not None:
            if how == "forget":
                entry.forget(episode(which).id, "why")
            else:
                entry.erase(episode(which).id, "why", spelling=spelled)
        case ("bar", int(which)):
            entry.bar(episode(which).id, "erased" if number % 2 else "forgotten")
        case ("drop", int(which)):
            Lessons(ledger).drop(entry, episode(which).id, "why")
        case ("show", int(which)):
            shown = [str(one.id) for one in Lessons(ledger).of("b")]
            told = [[one.wrong_sql, one.fix_sql] for one in Lessons(ledger).of("b")]
            entry.start_attempt(f"a{which}-{number}", {"question": "another"})
            entry.settle_attempt(f"a{which}-{number}", {"lessons": shown, "drafts": told})
        case ("reword", int(which)):
            said = f" {episode(which).question.upper().replace(' ', '  ').rstrip('?')} "
            entry.start_attempt(f"r{number}", {"question": said})
            reply = {"masked": episode(which).masked, "reply": episode(which).sql}
            entry.settle_attempt(f"r{number}", reply)
        case ("answer", int(which)):
            answered(entry, f"s{number}", episode(which), how=number % 3)
        case ("learn", int(wrong), None | int() as fix, bool(person)):
            Lessons(ledger).learn(entry, lesson(wrong, fix, person))
        case _:
            pass


def answered(entry: Transaction, id: str, asked: Episode, how: int) -> None:
    """An attempt at the masked question in words of its own has the SQL as its answer, a draft, or a correction."""
    entry.start_attempt(id, {"question": "in other words", "bucket": asked.bucket, "masked": asked.masked})
    read = {"question": "in other words", "bucket": asked.bucket, "masked": asked.masked}
    drafts = [{"sql": asked.sql.replace("SELECT ", "select  "), "reply": asked.sql}] if how == 1 else []
    entry.settle_attempt(id, {**read, "sql": asked.sql if how == 0 else "", "drafts": drafts})
    if how == 2:
        entry.append(EventKind.FEEDBACK_GIVEN, id, {"verdict": "corrected", "sql": asked.sql})


def spelled(sql: str) -> str:
    return " ".join(sql.split()).replace("select", "SELECT")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=14), numbers)
@example([("reword", 0)], 0)
@example([("answer", 0)], 0)
@example([("show", 0), ("answer", 0)], 0)
@example([("show", 0), ("show", 0), ("answer", 0)], 0)
@example([("bar", 0), ("erase", 0), ("bar", 1), ("again", 1), ("forget", 1)], 1)
@example([("bar", 0), ("learn", 0, 0, True), ("forget", 0), ("again", 0)], 0)
def test_the_tables_follow_from_the_events_and_nothing_erased_is_anywhere(
    history: list[tuple[object, ...]], last: int
) -> None:
    with TemporaryDirectory() as folder, Ledger.open(Path(folder) / "brain.sqlite", database="shop") as ledger:
        for number, step in enumerate(history):
            with ledger.transaction() as entry:
                happen(ledger, entry, step, number)
        verified = ledger.verify()
        assert verified.ok, verified.problems
        active = ledger.episodes()
        for masked in ("first", "second"):
            assert ledger.masked(masked) == tuple(one for one in active if one.masked == masked)
        _check_lessons(ledger, {(one.masked, one.sql) for one in active})
        _check_erasing(ledger, episode(last))


def _check_lessons(ledger: Ledger, active: set[tuple[str, str]]) -> None:
    lessons = Lessons(ledger).of("b", 100)
    assert len({one.id for one in lessons}) == len(lessons)
    assert [bool(one.fix_sql) for one in lessons] == sorted((bool(one.fix_sql) for one in lessons), reverse=True)
    wrong = {(one.masked, one.wrong_sql) for one in lessons}
    for one in lessons:
        assert (one.masked, one.wrong_sql) not in active, "a query that is remembered as right is called wrong"
        if one.fix_sql:
            assert (one.masked, one.fix_sql) not in wrong, "a query that is called wrong is given as a fix"
            state = ledger.episode_state(replace(EPISODE, masked=one.masked, sql=one.fix_sql).id)
            assert state in (None, "active"), "a query that was forgotten is given as a fix"


def _check_erasing(ledger: Ledger, gone: Episode) -> None:
    """Erase an episode, and look for its question and query in everything that is kept."""
    if ledger.episode_state(gone.id) is None:
        with ledger.transaction() as entry:
            entry.remember(gone)
    if ledger.episode(gone.id) is None:
        return
    with ledger.transaction() as entry:
        entry.erase(gone.id, spelling=spelled)
    verified = ledger.verify()
    assert verified.ok, verified.problems
    with ledger.connection() as connection:
        kept = connection.execute(text("SELECT subject, body FROM content JOIN ledger USING (position)")).all()
    # The same query may be remembered, or given, for the other masked question; that episode was not erased.
    others = {str(episode(number).id) for number in range(6)}
    asked = (
        row for row in kept if row.body is not None and json.loads(row.body).get("masked", gone.masked) != gone.masked
    )
    others.update(row.subject for row in asked)
    bodies = [row.body for row in kept if row.body is not None and row.subject not in others]
    for mark in itertools.chain((gone.question,), (gone.sql,)):
        assert not any(writing(mark) in writing(body) for body in bodies), mark


def writing(text: str) -> str:
    """Text without what two writings of it may differ in."""
    return "".join(text.casefold().split()).rstrip("?")
