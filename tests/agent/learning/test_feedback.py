"""A person's word on an answer: what it stores and forgets, which synapses it moves, and what it leaves alone."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent.database.result import QueryFailed, QueryRejected
from agent.journal import fired
from agent.learning.feedback import FeedbackError, Outcome
from agent.models.port import ModelError, Reply
from memory.episode import Episode
from memory.ledger import EventKind, Ledger
from memory.recall import Recall
from procedural.synapse import FULL_WEIGHT, RATE

if TYPE_CHECKING:
    from agent.attempt import Attempt
    from memory.embedder import MiniLM
    from tests.agent.conftest import Bakery

QUESTION = "How many breads are there?"
RIGHT = "SELECT COUNT(*) FROM Breads"
WRONG = "SELECT COUNT(*) FROM Bakers"
OTHER = "SELECT COUNT(DISTINCT Name) FROM Breads"


def weights(bakery: Bakery) -> dict[tuple[str, str], tuple[float, int, int]]:
    """Weight, successes and failures of every synapse, to nine digits."""
    return {
        (one.target_kind, one.target): (round(one.weight, 9), one.successes, one.failures) for one in bakery.fired()
    }


def unchanged(bakery: Bakery) -> tuple[object, ...]:
    return bakery.ledger.head(), bakery.fired(), bakery.ledger.episodes(), bakery.ledger.outbox()


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


def test_bad_after_good_forgets_what_good_stored(bakery: Bakery, answer: Attempt) -> None:
    [stored] = bakery.teacher.take(answer.id, "good").remembered
    outcome = bakery.teacher.take(answer.id, "bad")
    assert outcome.forgotten == (stored,)
    assert bakery.ledger.episodes() == ()
    assert bakery.ledger.episode_state(uuid.UUID(stored)) == "forgotten"
    assert weights(bakery)["approach", "direct"][1:] == (1, 1)
    bakery.prove()


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
        ("Delete all breads", []),
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
