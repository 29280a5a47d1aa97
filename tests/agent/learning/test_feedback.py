"""A person's word on an answer: what it stores and forgets, which synapses it moves, and what it leaves alone."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agent.attempt import Draft, Replay, effort_named
from agent.database.result import QueryFailed, QueryRejected
from agent.habits import Habits, habit_name
from agent.journal import fired
from agent.learning.feedback import FeedbackError, Outcome, Teacher, blamed, loosen
from agent.learning.mistakes import CALLED_WRONG
from agent.models.port import ModelError, Reply
from agent.models.recorded import ScriptedModel
from agent.settings import Levers
from memory.episode import Episode
from memory.ledger import EventKind, Ledger
from memory.lessons import Lesson, Lessons
from memory.recall import Recall, Recalled
from procedural.habit import Certainty
from procedural.store import Bucket, changes_content
from procedural.synapse import FULL_WEIGHT, RATE, Synapse, Target

if TYPE_CHECKING:
    from agent.attempt import Attempt
    from memory.embedder import MiniLM
    from tests.agent.conftest import Bakery

QUESTION = "How many breads are there?"
RIGHT = "SELECT COUNT(*) FROM Breads"
WRONG = "SELECT COUNT(*) FROM Bakers"
OTHER = "SELECT COUNT(DISTINCT Name) FROM Breads"
FLOUR_OF_RYE = "SELECT Flour FROM Breads WHERE Name = 'Rye Loaf'"
LINZ, GRAZ = "How many bakers are in Linz?", "How many bakers are in Graz?"
IN_LINZ, IN_GRAZ = (f"SELECT COUNT(*) FROM Bakers WHERE Town = '{town}'" for town in ("Linz", "Graz"))


def weights(bakery: Bakery) -> dict[tuple[str, str], tuple[float, int, int]]:
    """Weight, successes and failures of every synapse, to nine digits."""
    return {
        (one.target_kind, one.target): (round(one.weight, 9), one.successes, one.failures) for one in bakery.fired()
    }


def unchanged(bakery: Bakery) -> tuple[object, ...]:
    return bakery.ledger.head(), bakery.fired(), bakery.ledger.episodes(), bakery.ledger.outbox(), lessons(bakery)


def lessons(bakery: Bakery, question: str = QUESTION) -> list[tuple[str, str, str]]:
    """Wrong query, problem and fix of each lesson of the question's bucket."""
    found = Lessons(bakery.ledger).of(bakery.understand(question).bucket, 100)
    return [(one.wrong_sql, one.problem, one.fix_sql) for one in found]


@pytest.fixture
def answer(bakery: Bakery) -> Attempt:
    return bakery.ask(QUESTION, RIGHT)


def test_good_stores_the_episode_and_strengthens_what_fired(bakery: Bakery, answer: Attempt) -> None:
    outcome = bakery.teacher.take(answer.id, "good")
    [episode] = bakery.ledger.episodes()
    understood = bakery.understand(QUESTION)
    assert episode == Episode(
        bucket=understood.bucket,
        kind=understood.intent.kind,
        tables=understood.intent.tables,
        question=QUESTION,
        masked=understood.masked,
        sql=RIGHT,
        skeleton="SELECT COUNT FROM _",
        origin=f"feedback:{answer.id}",
        verifier="person",
        batch=f"feedback:{answer.id}",
        schema_fingerprint=bakery.database.schema.fingerprint,
        result_fingerprint=episode.result_fingerprint,
    )
    assert len(episode.result_fingerprint) == 64
    assert outcome == Outcome(f"Remembered: {QUESTION}", (str(episode.id),))
    assert weights(bakery) == {
        ("approach", "direct"): (FULL_WEIGHT, 1, 0),
        ("skeleton", "SELECT COUNT FROM _"): (FULL_WEIGHT, 1, 0),
        ("episode", str(episode.id)): (FULL_WEIGHT, 1, 0),
    }
    assert [queued.action for queued in bakery.ledger.outbox()] == ["remember"]
    bakery.prove()


@pytest.mark.parametrize("verdict", ["good", "bad"])
def test_the_same_word_twice_changes_nothing(bakery: Bakery, answer: Attempt, verdict: str) -> None:
    bakery.teacher.take(answer.id, verdict)  # type: ignore[arg-type]
    before = unchanged(bakery)
    outcome = bakery.teacher.take(answer.id, verdict)  # type: ignore[arg-type]
    assert outcome == Outcome(f"Attempt {answer.id} was marked {verdict} already; nothing changed.")
    assert unchanged(bakery) == before


def test_bad_weakens_what_fired_and_stores_nothing(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    outcome = bakery.teacher.take(attempt.id, "bad")
    assert bakery.ledger.episodes() == ()
    assert outcome.forgotten == () and "No episode was stored" in outcome.message
    assert set(weights(bakery).values()) == {(round(FULL_WEIGHT * (1 - RATE), 9), 0, 1)}
    assert {kind for kind, _ in weights(bakery)} == {"approach", "skeleton"}
    bakery.prove()


def test_praise_of_a_shape_leaves_with_the_last_episode_that_has_it_and_a_warning_stays(bakery: Bakery) -> None:
    attempts = [bakery.ask(QUESTION, RIGHT) for _ in range(2)]
    [stored] = bakery.teacher.take(attempts[0].id, "good").remembered
    shape = ("skeleton", "SELECT COUNT FROM _")
    assert weights(bakery)[shape][1:] == (1, 0)
    with bakery.ledger.transaction() as entry:
        entry.forget(uuid.UUID(stored), "asked for")
        loosen(bakery.ledger, bakery.synapses, entry, {stored})
    assert {kind for kind, _ in weights(bakery)} == {"approach"}, "an approach stands on attempts"
    bakery.prove()
    bakery.teacher.take(attempts[1].id, "good")
    bakery.teacher.take(attempts[1].id, "bad")
    assert bakery.ledger.episodes() == () and shape not in weights(bakery)
    bakery.teacher.take(attempts[0].id, "bad")
    assert weights(bakery)[shape][1:] == (0, 1), "a shape that was only wrong warns of itself"
    bakery.prove()


def test_a_correction_of_the_same_shape_keeps_what_was_learned_of_the_shape(bakery: Bakery, answer: Attempt) -> None:
    bakery.teacher.take(answer.id, "good")
    bakery.teacher.take(answer.id, "corrected", WRONG)
    [episode] = bakery.ledger.episodes()
    assert episode.skeleton == "SELECT COUNT FROM _" and weights(bakery)["skeleton", episode.skeleton][1:] == (2, 1)
    bakery.prove()


def test_bad_after_good_forgets_what_good_stored(bakery: Bakery, answer: Attempt) -> None:
    [stored] = bakery.teacher.take(answer.id, "good").remembered
    outcome = bakery.teacher.take(answer.id, "bad")
    assert outcome.forgotten == (stored,) and f"Forgotten, as it misled or was spent: {QUESTION!r}." in outcome.message
    assert bakery.ledger.episodes() == ()
    assert bakery.ledger.episode_state(uuid.UUID(stored)) == "forgotten"
    assert weights(bakery)["approach", "direct"][1:] == (1, 1)
    assert ("episode", stored) not in weights(bakery), "no synapse leads to what is gone"
    bakery.prove()


def test_a_query_with_literals_of_another_question_is_wrong_here_and_kept_there(bakery: Bakery) -> None:
    [stored] = bakery.teacher.take(bakery.ask(LINZ, IN_LINZ).id, "good").remembered
    attempt = bakery.ask(GRAZ, IN_LINZ)
    assert bakery.teacher.take(attempt.id, "bad").forgotten == ()
    assert bakery.teacher.take(attempt.id, "corrected", IN_GRAZ).forgotten == ()
    assert [one.sql for one in bakery.ledger.episodes()] == [IN_LINZ, IN_GRAZ]
    same = bakery.ask(f" {LINZ.upper()}", IN_LINZ)
    assert bakery.teacher.take(same.id, "bad").forgotten == (stored,)


def test_good_after_bad_brings_the_episode_back(bakery: Bakery, answer: Attempt) -> None:
    [stored] = bakery.teacher.take(answer.id, "good").remembered
    bakery.teacher.take(answer.id, "bad")
    assert bakery.teacher.take(answer.id, "good").remembered == (stored,)
    assert [str(one.id) for one in bakery.ledger.episodes()] == [stored]
    bakery.prove()


def test_a_correction_is_stored_instead_and_the_wrong_way_is_weakened(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, "SELECT Name FROM Bakers WHERE Town = 'Linz'")
    outcome = bakery.teacher.take(attempt.id, "corrected", "select count( * ) from Breads;")
    [episode] = bakery.ledger.episodes()
    assert (episode.sql, episode.verifier, episode.origin) == (RIGHT, "person", f"feedback:{attempt.id}")
    assert outcome == Outcome(f"Remembered: {QUESTION}", (str(episode.id),))
    moved = weights(bakery)
    assert moved["approach", "direct"][1:] == (0, 1)
    assert moved["skeleton", "SELECT _ FROM _ WHERE _ = ?"][1:] == (0, 1)
    assert moved["skeleton", "SELECT COUNT FROM _"][1:] == (1, 0)
    assert moved["episode", str(episode.id)][1:] == (1, 0)
    bakery.prove()


def test_a_correction_equal_to_the_answer_is_praise(bakery: Bakery, answer: Attempt) -> None:
    bakery.teacher.take(answer.id, "corrected", "select COUNT(*)\nfrom Breads ;")
    assert {counts[1:] for counts in weights(bakery).values()} == {(1, 0)}
    [given] = bakery.ledger.events(kinds=(EventKind.FEEDBACK_GIVEN,), subject=answer.id)
    assert given.content == {"verdict": "good", "sql": None}
    before = unchanged(bakery)
    bakery.teacher.take(answer.id, "good")
    assert unchanged(bakery) == before


def test_the_same_correction_written_otherwise_changes_nothing(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    bakery.teacher.take(attempt.id, "corrected", RIGHT)
    before = unchanged(bakery)
    assert (
        "nothing changed" in bakery.teacher.take(attempt.id, "corrected", f"{RIGHT.lower()[:6]}{RIGHT[6:]} ;").message
    )
    assert unchanged(bakery) == before


def test_a_second_correction_takes_the_place_of_the_first(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    [first] = bakery.teacher.take(attempt.id, "corrected", RIGHT).remembered
    outcome = bakery.teacher.take(attempt.id, "corrected", OTHER)
    assert outcome.forgotten == (first,)
    assert [one.sql for one in bakery.ledger.episodes()] == [OTHER]
    bakery.prove()


def test_praise_after_a_correction_takes_the_correction_back(bakery: Bakery, answer: Attempt) -> None:
    [first] = bakery.teacher.take(answer.id, "corrected", OTHER).remembered
    assert bakery.teacher.take(answer.id, "good").forgotten == (first,)
    assert [one.sql for one in bakery.ledger.episodes()] == [RIGHT]
    bakery.prove()


def test_a_correction_after_praise_forgets_what_was_praised(bakery: Bakery, answer: Attempt) -> None:
    [praised] = bakery.teacher.take(answer.id, "good").remembered
    outcome = bakery.teacher.take(answer.id, "corrected", OTHER)
    assert outcome.forgotten == (praised,)
    assert [one.sql for one in bakery.ledger.episodes()] == [OTHER]
    bakery.prove()


def test_bad_leaves_the_correction_that_was_given_before(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    bakery.teacher.take(attempt.id, "corrected", RIGHT)
    bakery.teacher.take(attempt.id, "bad")
    assert [one.sql for one in bakery.ledger.episodes()] == [RIGHT]


def test_a_correction_given_again_is_not_forgotten_on_the_way(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    [stored] = bakery.teacher.take(attempt.id, "corrected", RIGHT).remembered
    bakery.teacher.take(attempt.id, "bad")
    outcome = bakery.teacher.take(attempt.id, "corrected", RIGHT)
    assert outcome == Outcome(f"Known already, and strengthened: {QUESTION}")
    assert [str(one.id) for one in bakery.ledger.episodes()] == [stored]
    assert not list(bakery.ledger.events(kinds=(EventKind.EPISODE_FORGOTTEN,)))
    bakery.prove()


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT COUNT(* FROM Breads", QueryRejected),
        ("", QueryRejected),
        ("just count them", QueryRejected),
        ("SELECT COUNT(*) FROM Bred", QueryRejected),
        ("DELETE FROM Breads", QueryRejected),
        ("SELECT 1; DROP TABLE Breads", QueryRejected),
        ("SELECT load_extension('x') FROM Breads", QueryRejected),
        ("SELECT SUM(9223372036854775807) FROM Breads", QueryFailed),
        ('SELECT a.SaleID FROM "Daily Sales" AS a, "Daily Sales" AS b, "Daily Sales" AS c', FeedbackError),
    ],
)
def test_a_correction_that_does_not_hold_changes_nothing(
    bakery: Bakery, answer: Attempt, sql: str, error: type[Exception]
) -> None:
    before = unchanged(bakery)
    with pytest.raises(error):
        bakery.teacher.take(answer.id, "corrected", sql)
    assert unchanged(bakery) == before
    bakery.prove()


@pytest.mark.parametrize("verdict", ["good", "bad"])
def test_an_unknown_attempt_is_named(bakery: Bakery, verdict: str) -> None:
    before = unchanged(bakery)
    with pytest.raises(FeedbackError, match="There is no attempt a404 in this brain"):
        bakery.teacher.take("a404", verdict)  # type: ignore[arg-type]
    assert unchanged(bakery) == before


@pytest.mark.parametrize("verdict", ["good", "bad"])
@pytest.mark.parametrize(
    ("question", "replies"),
    [
        ("Which planets orbit Jupiter?", []),
        (QUESTION, [ModelError("No network.")]),
    ],
)
def test_an_attempt_without_a_draft_has_no_answer_to_judge(
    bakery: Bakery, question: str, replies: list[ModelError], verdict: str
) -> None:
    attempt = bakery.ask(question, *replies)
    before = unchanged(bakery)
    with pytest.raises(FeedbackError, match=f"gave no answer to call {verdict}. Correct it with --sql"):
        bakery.teacher.take(attempt.id, verdict)  # type: ignore[arg-type]
    assert unchanged(bakery) == before


def test_an_abstained_attempt_can_be_corrected(bakery: Bakery) -> None:
    attempt = bakery.ask("Which planets orbit Jupiter?")
    bakery.teacher.take(attempt.id, "corrected", "SELECT Name FROM Breads")
    [episode] = bakery.ledger.episodes()
    assert (episode.question, episode.sql) == ("Which planets orbit Jupiter?", "SELECT Name FROM Breads")
    assert {kind for kind, _ in weights(bakery)} == {"skeleton", "episode"}
    bakery.prove()


@pytest.mark.parametrize("verdict", ["good", "bad", "corrected"])
def test_what_asks_for_a_change_is_never_taught(bakery: Bakery, verdict: Any) -> None:
    attempt = bakery.ask("Delete all breads")
    before = unchanged(bakery)
    with pytest.raises(FeedbackError, match="was refused: it asks for a change"):
        bakery.teacher.take(attempt.id, verdict, RIGHT)
    assert unchanged(bakery) == before


def test_an_attempt_whose_queries_never_ran_can_be_called_bad_but_not_good(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, "SELECT Nme FROM Breads", "SELECT Nam FROM Breads", Reply("hm"))
    with pytest.raises(FeedbackError, match="no answer to call good"):
        bakery.teacher.take(attempt.id, "good")
    bakery.teacher.take(attempt.id, "bad")
    assert list(weights(bakery)) == [("approach", "direct")]
    bakery.prove()


@pytest.mark.parametrize("closed", [False, True])
def test_an_attempt_that_was_never_settled_cannot_be_judged(bakery: Bakery, closed: bool) -> None:
    from agent.models.recorded import ScriptedModel

    asking = bakery.asking(QUESTION, ScriptedModel([RIGHT]))
    next(asking)
    attempt = next(asking)
    if closed:
        bakery.ledger.abandon("The process ended.")
    with pytest.raises(FeedbackError, match="has no answer to judge"):
        bakery.teacher.take(attempt.id, "good")


def test_an_erased_attempt_cannot_be_judged(bakery: Bakery, answer: Attempt) -> None:
    [stored] = bakery.teacher.take(answer.id, "good").remembered
    with bakery.ledger.transaction() as entry:
        entry.erase(uuid.UUID(stored), "asked for")
    with pytest.raises(FeedbackError, match="has no answer to judge"):
        bakery.teacher.take(answer.id, "bad")


def test_an_answer_that_nobody_vouched_for_is_never_stored(bakery: Bakery) -> None:
    for reply in (RIGHT, WRONG, OTHER):
        bakery.ask(QUESTION, reply)
    assert bakery.ledger.episodes() == ()
    assert bakery.fired() == ()


def test_praise_runs_the_sql_again_and_stores_only_what_still_holds(bakery: Bakery, answer: Attempt) -> None:
    ran: list[str] = []

    def gone(sql: str) -> object:
        ran.append(sql)
        raise QueryRejected("There is no table Breads.", rule="unknown_table")

    before = unchanged(bakery)
    with pytest.raises(QueryRejected):
        replace(bakery.teacher, run=gone).take(answer.id, "good")  # type: ignore[arg-type]
    assert ran == [RIGHT]
    assert unchanged(bakery) == before


def misleading(bakery: Bakery, question: str) -> Episode:
    understood = bakery.understand(question)
    return Episode(
        bucket=understood.bucket,
        kind=understood.intent.kind,
        tables=understood.intent.tables,
        question=question,
        masked=understood.masked,
        sql=WRONG,
        skeleton="SELECT COUNT FROM _",
        origin="seed:own",
        verifier="gold",
        batch="seed",
        schema_fingerprint=bakery.database.schema.fingerprint,
        result_fingerprint="r",
    )


def test_an_episode_that_misled_three_times_is_forgotten(bakery: Bakery) -> None:
    episode = misleading(bakery, "How many breads do we have?")
    assert episode.bucket == bakery.understand(QUESTION).bucket
    bakery.remember([episode])
    for number in range(1, 4):
        attempt = bakery.ask(QUESTION, f"SELECT COUNT(*) + {number} FROM Bakers")
        assert [memory.episode.id for memory in attempt.recalled] == [episode.id]
        outcome = bakery.teacher.take(attempt.id, "bad")
        assert outcome.forgotten == ((str(episode.id),) if number == 3 else ())
        bakery.prove()
    assert bakery.ledger.episodes() == ()


def test_an_episode_of_another_bucket_that_misled_here_is_kept_for_its_own(bakery: Bakery) -> None:
    episode = misleading(bakery, "How many bakers do we have?")
    assert episode.bucket != bakery.understand(QUESTION).bucket
    bakery.remember([episode])
    for number in range(1, 5):
        attempt = bakery.ask(QUESTION, f"SELECT COUNT(*) + {number} FROM Bakers")
        assert [memory.episode.id for memory in attempt.recalled] == [episode.id]
        assert bakery.teacher.take(attempt.id, "bad").forgotten == ()
    assert bakery.ledger.episodes() == (episode,)
    assert weights(bakery)["episode", str(episode.id)][1:] == (0, 4)


def test_a_recalled_episode_that_helped_is_strengthened(bakery: Bakery) -> None:
    episode = replace(misleading(bakery, "How many breads do we have?"), sql="SELECT COUNT(BreadID) FROM Breads")
    bakery.remember([episode])
    attempt = bakery.ask(QUESTION, RIGHT)
    bakery.teacher.take(attempt.id, "good")
    assert weights(bakery)["episode", str(episode.id)][1:] == (1, 0)


def test_praise_of_what_a_seed_says_strengthens_it_and_keeps_its_origin(bakery: Bakery, answer: Attempt) -> None:
    understood = bakery.understand(QUESTION)
    seed = replace(misleading(bakery, QUESTION), sql=RIGHT, masked=understood.masked)
    bakery.remember([seed])
    outcome = bakery.teacher.take(answer.id, "good")
    assert outcome == Outcome(f"Known already, and strengthened: {QUESTION}")
    assert bakery.ledger.episodes() == (seed,)
    assert weights(bakery)["episode", str(seed.id)][1:] == (1, 0)


def test_bad_leaves_a_lesson_of_the_wrong_query(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    bakery.teacher.take(attempt.id, "bad")
    understood = bakery.understand(QUESTION)
    assert Lessons(bakery.ledger).of(understood.bucket) == (
        Lesson(understood.bucket, understood.masked, QUESTION, WRONG, CALLED_WRONG, "", f"feedback:{attempt.id}"),
    )
    bakery.prove()


def test_a_correction_leaves_the_lesson_with_its_fix(bakery: Bakery) -> None:
    broken = "SELECT COUNT(Nme) FROM Breads"
    attempt = bakery.ask(QUESTION, broken, WRONG)
    [(wrong, problem, fix)] = lessons(bakery)
    assert (wrong, fix) == (broken, WRONG) and "Nme" in problem
    bakery.teacher.take(attempt.id, "bad")
    assert lessons(bakery) == [(WRONG, CALLED_WRONG, ""), (broken, problem, "")], "what is wrong mends nothing"
    bakery.teacher.take(attempt.id, "corrected", f"{RIGHT};")
    assert lessons(bakery) == [(WRONG, CALLED_WRONG, RIGHT), (broken, problem, RIGHT)]
    bakery.prove()


def test_good_takes_the_lesson_away(bakery: Bakery, answer: Attempt) -> None:
    for word in ("bad", "corrected"):
        bakery.teacher.take(answer.id, word, OTHER if word == "corrected" else None)
        assert [one[0] for one in lessons(bakery)] == [RIGHT]
        [praised] = bakery.teacher.take(answer.id, "good").remembered
        assert lessons(bakery) == []
        bakery.prove()
    with bakery.ledger.transaction() as entry:
        entry.forget(uuid.UUID(praised), "asked for")
    assert lessons(bakery) == [], "to forget an answer is not to call it wrong"


def test_what_another_attempt_was_praised_for_is_called_wrong_no_more(bakery: Bakery, answer: Attempt) -> None:
    bakery.teacher.take(answer.id, "bad")
    again = bakery.ask(QUESTION, RIGHT)
    bakery.teacher.take(again.id, "good")
    assert lessons(bakery) == []
    bakery.teacher.take(answer.id, "bad")
    assert lessons(bakery) == [], "the word on this attempt was given before, and is older"
    bakery.teacher.take(again.id, "bad")
    assert lessons(bakery) == [(RIGHT, CALLED_WRONG, "")]


def test_a_second_correction_is_the_fix_then_and_bad_leaves_it(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    for sql in (RIGHT, OTHER):
        bakery.teacher.take(attempt.id, "corrected", sql)
        assert lessons(bakery) == [(WRONG, CALLED_WRONG, sql)]
    bakery.teacher.take(attempt.id, "bad")
    assert lessons(bakery) == [(WRONG, CALLED_WRONG, OTHER)]
    bakery.prove()


def test_where_no_query_ran_bad_leaves_what_the_guard_said_and_a_correction_mends_it(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, "SELECT Nme FROM Breads", "SELECT Nam FROM Breads", Reply("hm"))
    bakery.teacher.take(attempt.id, "bad")
    told = lessons(bakery)
    assert [(one[0], one[2]) for one in told] == [("SELECT Nam FROM Breads", ""), ("SELECT Nme FROM Breads", "")]
    assert all("Name" in problem for _, problem, _ in told)
    bakery.teacher.take(attempt.id, "corrected", RIGHT)
    assert {one[2] for one in lessons(bakery)} == {RIGHT}
    bakery.prove()


def test_an_erased_episode_takes_the_lessons_of_its_attempt_along(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, WRONG)
    [stored] = bakery.teacher.take(attempt.id, "corrected", RIGHT).remembered
    with bakery.ledger.transaction() as entry:
        entry.erase(uuid.UUID(stored), "asked for")
    assert lessons(bakery) == []
    learned = bakery.ledger.events(kinds=(EventKind.LESSON_LEARNED,))
    assert [event.content for event in learned] == [None]
    bakery.prove()


def teacher_of_habits(bakery: Bakery) -> Teacher:
    """Wired as in the application."""

    def named(body: Mapping[str, Any], sql: str) -> str:
        return habit_name(bakery.understand(body["question"]), sql, lexicon=bakery.lexicon)

    return replace(bakery.teacher, habit=named)


def habits(bakery: Bakery) -> dict[str, tuple[int, int]]:
    return {one.target: (one.successes, one.failures) for one in bakery.fired() if one.target_kind == "habit"}


def replayed_from(bakery: Bakery, question: str, sql: str, episode: Episode, name: str) -> Attempt:
    """An answer that a habit gave, right or wrong, from the episode behind it."""

    def habit(_understood: object) -> Replay:
        query = bakery.check(sql)
        draft = Draft(None, Reply(sql), sql=query.sql, tables=query.tables, result=bakery.run(query))
        return Replay(name, draft, Recalled(episode, 1.0, "bucket", "habit"))

    return list(bakery.asking(question, ScriptedModel([]), habit=habit))[-1]


@pytest.fixture
def learned(bakery: Bakery) -> tuple[Episode, str]:
    """An episode about Linz that was praised three times, and the habit that this made."""
    for _ in range(3):
        teacher_of_habits(bakery).take(bakery.ask(LINZ, IN_LINZ).id, "good")
    [episode], [(name, counts)] = bakery.ledger.episodes(), habits(bakery).items()
    assert counts == (3, 0)
    return episode, name


def test_good_and_a_correction_strengthen_the_habit_of_the_right_query(bakery: Bakery) -> None:
    taught = teacher_of_habits(bakery)
    taught.take(bakery.ask(LINZ, IN_LINZ).id, "good")
    taught.take(bakery.ask(GRAZ, "SELECT COUNT(*) FROM Bakers").id, "corrected", IN_GRAZ)
    assert list(habits(bakery).values()) == [(2, 0)], "one habit, whatever the town"
    assert taught.take(bakery.ask(QUESTION, RIGHT).id, "good")
    bakery.prove()


def test_a_query_that_is_no_habit_strengthens_none(bakery: Bakery, answer: Attempt) -> None:
    bakery.teacher.take(answer.id, "good")
    assert habits(bakery) == {}


def test_praise_of_a_habits_answer_strengthens_it_once(bakery: Bakery, learned: tuple[Episode, str]) -> None:
    episode, name = learned
    attempt = replayed_from(bakery, GRAZ, IN_GRAZ, episode, name)
    assert attempt.path == "habit" and attempt.status == "answered"
    teacher_of_habits(bakery).take(attempt.id, "good")
    assert habits(bakery) == {name: (4, 0)}
    assert [one.sql for one in bakery.ledger.masked(episode.masked)] == [IN_LINZ, IN_GRAZ]
    bakery.prove()


def test_bad_breaks_the_habit_and_keeps_the_episode_whose_own_literals_may_be_right(
    bakery: Bakery, learned: tuple[Episode, str]
) -> None:
    episode, name = learned
    attempt = replayed_from(bakery, GRAZ, IN_GRAZ, episode, name)
    before = weights(bakery)["episode", str(episode.id)]
    outcome = teacher_of_habits(bakery).take(attempt.id, "bad")
    assert outcome.forgotten == () and bakery.ledger.episodes() == (episode,)
    assert habits(bakery) == {name: (3, 1)}
    assert weights(bakery)["episode", str(episode.id)] == before
    assert lessons(bakery, GRAZ) == [(IN_GRAZ, CALLED_WRONG, "")]
    unmoved = unchanged(bakery)
    assert "nothing changed" in teacher_of_habits(bakery).take(attempt.id, "bad").message
    assert unchanged(bakery) == unmoved
    bakery.prove()


def test_bad_on_a_replay_of_the_very_query_forgets_its_episode(bakery: Bakery, learned: tuple[Episode, str]) -> None:
    episode, name = learned
    attempt = replayed_from(bakery, LINZ, IN_LINZ, episode, name)
    outcome = teacher_of_habits(bakery).take(attempt.id, "bad")
    assert outcome.forgotten == (str(episode.id),) and bakery.ledger.episodes() == ()
    assert habits(bakery) == {}, "what it was praised for stood on this episode alone"
    assert ("episode", str(episode.id)) not in weights(bakery), "no synapse leads to what is gone"
    bakery.prove()


def test_a_wrong_replay_is_no_evidence_against_its_episode_even_in_a_failing_bucket(
    bakery: Bakery, learned: tuple[Episode, str]
) -> None:
    """There, an episode that never helped goes with its first failure; a seed that no one praised is such a one."""
    _, name = learned
    seed = replace(misleading(bakery, LINZ), sql="SELECT COUNT(BakerID) FROM Bakers WHERE Town = 'Linz'")
    bakery.remember([seed])
    bucket = Bucket(seed.bucket, seed.kind, seed.tables)
    with bakery.ledger.transaction() as entry:
        for _ in range(9):
            changes = bakery.synapses.fire(entry.connection, bucket, [Target("approach", "direct")], 0.0, entry.at)
            entry.append(EventKind.WEIGHTS_MOVED, seed.bucket, changes_content(changes))
    attempt = replayed_from(bakery, GRAZ, "SELECT COUNT(BakerID) FROM Bakers WHERE Town = 'Graz'", seed, name)
    assert teacher_of_habits(bakery).take(attempt.id, "bad").forgotten == ()
    assert seed in bakery.ledger.episodes()


def test_a_correction_of_a_habits_answer_breaks_it_and_begins_another(
    bakery: Bakery, learned: tuple[Episode, str]
) -> None:
    episode, name = learned
    attempt = replayed_from(bakery, GRAZ, IN_GRAZ, episode, name)
    right = "SELECT SUM(1) FROM Bakers WHERE Town = 'Graz'"
    teacher_of_habits(bakery).take(attempt.id, "corrected", right)
    moved = habits(bakery)
    assert moved.pop(name) == (3, 1) and list(moved.values()) == [(1, 0)]
    assert [one.sql for one in bakery.ledger.episodes()] == [IN_LINZ, right]
    bakery.prove()


def test_a_correction_of_the_literals_alone_leaves_the_habit_broken(
    bakery: Bakery, learned: tuple[Episode, str]
) -> None:
    episode, name = learned
    attempt = replayed_from(bakery, GRAZ, IN_LINZ, episode, name)
    outcome = teacher_of_habits(bakery).take(attempt.id, "corrected", IN_GRAZ)
    assert habits(bakery) == {name: (4, 1)}
    assert outcome.forgotten == (), "right in Linz, and no one said otherwise"


def test_what_a_real_habit_answers_it_answers_no_more_once_called_bad(
    bakery: Bakery, learned: tuple[Episode, str]
) -> None:
    def synapse(bucket: str, habit: str) -> Synapse | None:
        return next((one for one in bakery.fired() if (one.bucket, one.target) == (bucket, habit)), None)

    real = Habits(
        remembered=bakery.ledger.masked,
        understand=bakery.understand,
        synapse=synapse,
        lexicon=lambda: bakery.lexicon,
        database=bakery,
        certainty=Certainty(fewest_literals=1),
    )
    attempt = list(bakery.asking(GRAZ, ScriptedModel([]), habit=real.replay))[-1]
    assert (attempt.path, attempt.sql) == ("habit", IN_GRAZ)
    teacher_of_habits(bakery).take(attempt.id, "bad")
    assert real.replay(bakery.understand(GRAZ)) is None is real.replay(bakery.understand(LINZ))


@pytest.mark.parametrize("verdict", ["good", "bad", "corrected"])
def test_feedback_is_one_write_or_none(open_bakery: Callable[..., Bakery], verdict: str) -> None:
    steps: list[str] = []
    stop = {"at": 0}

    def between(step: str) -> None:
        steps.append(step)
        if len(steps) == stop["at"]:
            raise KeyboardInterrupt(step)

    bakery = open_bakery(between)
    attempt = bakery.ask(QUESTION, WRONG)
    sql = RIGHT if verdict == "corrected" else None
    before, start = unchanged(bakery), len(steps)
    number = 0
    while True:
        number += 1
        stop["at"] = len(steps) + number
        try:
            bakery.teacher.take(attempt.id, verdict, sql)  # type: ignore[arg-type]
        except KeyboardInterrupt as stopped:
            if str(stopped) == "after commit":
                break
            assert unchanged(bakery) == before, str(stopped)
            bakery.prove()
    assert number > 8 and len(steps) > start
    assert unchanged(bakery) != before
    bakery.prove()


def test_a_brain_in_postgresql_takes_feedback_as_well(bakery: Bakery, postgres_database: str, minilm: MiniLM) -> None:
    with Ledger.open(postgres_database, database="bakery") as ledger:
        with ledger.transaction() as entry:
            bakery.synapses.create(entry.connection)
        recall = Recall(episodes=ledger, store=bakery.store, embedder=minilm)
        there = replace(bakery, ledger=ledger, recall=recall)
        attempt = there.ask(QUESTION, WRONG)
        [praised] = there.teacher.take(attempt.id, "good").remembered
        assert there.teacher.take(attempt.id, "corrected", RIGHT).forgotten == (praised,)
        there.remember(())
        again = there.ask(QUESTION, OTHER)
        assert [memory.episode.sql for memory in again.recalled] == [RIGHT]
        there.teacher.take(again.id, "bad")
        assert [one.sql for one in ledger.episodes()] == [RIGHT]
        there.prove()


def test_what_fired_is_the_approach_the_shape_and_the_episodes_shown() -> None:
    drafts = [{"reply": "x"}]
    body = {"path": "model", "drafts": drafts, "approach": "direct", "skeleton": "SELECT _ FROM _"}
    shown = {"recalled": [{"episode": "e1"}, {"episode": "e2"}]}
    named = [(target.kind, target.name) for target in fired({**body, **shown})]
    assert named == [("approach", "direct"), ("skeleton", "SELECT _ FROM _"), ("episode", "e1"), ("episode", "e2")]
    assert [target.kind for target in fired({**body, "skeleton": ""})] == ["approach"]
    assert fired({"path": "model", "drafts": drafts, "approach": "", "skeleton": "", "recalled": []}) == ()
    assert fired({**body, **shown, "drafts": []}) == ()


# An answer that code adapted, beside what the model wrote

ADAPTED = {"sql": "SELECT 1", "problem": "", "rule": "", "origin": "adapted", "agrees": True}
WROTE = {"sql": "SELECT 2", "problem": "", "rule": "", "origin": "model", "agrees": False}
BROKE = {**WROTE, "problem": "There is no such column.", "rule": "unknown_column"}
GONE = {**WROTE, "problem": "The database is locked.", "rule": "locked"}


def adapted(*wrote: Mapping[str, Any], bent: Any = (("e1", 0.0),)) -> Mapping[str, Any]:
    """A body as it is written down where the answer was adapted, and these are the drafts of the model."""
    given = {**ADAPTED, "episode": bent[0][0], "bent": [list(one) for one in bent]}
    shown = [{"episode": episode} for episode, _ in bent]
    return {"path": "adapted", "approach": "direct", "skeleton": "S", "drafts": [given, *wrote], "recalled": shown}


@pytest.mark.parametrize(
    ("wrote", "credit", "blame"),
    [
        ([], False, False),
        ([WROTE], False, False),
        ([BROKE], False, True),
        ([BROKE, WROTE], False, False),
        ([{**WROTE, "sql": ""}], False, True),
        ([GONE], False, False),
        ([{**WROTE, "agrees": True}], True, True),
        ([WROTE, {**WROTE, "agrees": True}], True, True),
    ],
    ids=["none", "other", "broken", "broken, other", "declined", "outage", "same", "other, same"],
)
def test_beside_an_adapted_answer_an_approach_has_its_part_by_what_its_own_drafts_said(
    wrote: list[Mapping[str, Any]], credit: bool, blame: bool
) -> None:
    approach, body = Target("approach", "direct"), adapted(*wrote)
    assert (fired(body).count(approach), blamed(body, ()).count(approach)) == (credit, blame)


def test_an_episode_that_was_bent_is_not_to_blame_for_what_was_made_of_it() -> None:
    body = adapted(bent=(("bent", 0.5), ("filled", 0.0)))
    assert [one.name for one in fired(body) if one.kind == "episode"] == ["bent", "filled"]
    assert [one.name for one in blamed(body, ()) if one.kind == "episode"] == ["filled"]
    assert [one.name for one in blamed(body, ["bent"]) if one.kind == "episode"] == ["bent", "filled"]


def test_a_wrong_adapted_answer_weakens_the_approach_that_broke_and_not_the_episode_that_was_bent(
    bakery: Bakery,
) -> None:
    bakery.teacher.take(bakery.ask("What is the flour of the Rye Loaf?", FLOUR_OF_RYE).id, "good")
    bakery.remember(())
    broken = "SELECT Nme FROM Breads"
    levers, model = Levers(weigh=False, names=False), ScriptedModel([broken, broken, broken])
    asked = "What is the price of the Poppy Roll?"
    *_, attempt = bakery.asking(asked, model, levers=levers, effort=effort_named("deep"))
    assert (attempt.path, attempt.written[0].rule) == ("adapted", "unknown_column")
    [(episode, strain)] = attempt.drafts[0].bent
    assert strain > 0.1
    before = weights(bakery)
    outcome = bakery.teacher.take(attempt.id, "bad")
    assert outcome.forgotten == () and lessons(bakery, asked)
    moved = {name: counts for name, counts in weights(bakery).items() if counts != before.get(name)}
    assert {kind for kind, _ in moved} == {"approach", "skeleton"}
    assert bakery.ledger.episode_state(uuid.UUID(episode)) == "active"
    bakery.prove()
