"""What an attempt says of itself."""

from __future__ import annotations

import pytest

from agent.attempt import USUAL, Attempt, Draft
from agent.database.result import Result
from agent.models.port import ModelError, ModelUnavailableError, Prompt, Reply

OPEN = Attempt(id="a1", question="How many?", model="scripted")
PROMPT = Prompt("", ())
ROWS = Result(("n",), ((1,),))


def draft(text: str = "SELECT 1", *, rule: str = "", result: Result | None = None) -> Draft:
    return Draft(PROMPT, Reply(text), text, result=result, problem=f"It broke {rule}." if rule else "", rule=rule)


def test_growing_leaves_the_former_as_it_was() -> None:
    grown = OPEN.drafted(draft(rule="syntax")).grown(approach="direct")
    assert (OPEN.drafts, OPEN.approach, OPEN.last, OPEN.sql, OPEN.result) == ((), "", None, "", None)
    assert (len(grown.drafts), grown.approach, grown.sql) == (1, "direct", "SELECT 1")


def test_an_attempt_that_never_drafted_has_failed() -> None:
    closed = OPEN.concluded()
    assert (closed.status, closed.message) == ("failed", "No draft was made.")


def test_a_closed_attempt_stays_as_it_was_closed() -> None:
    closed = OPEN.grown(status="failed", message="No network.").drafted(draft(result=ROWS))
    assert closed.concluded() is closed
    assert not closed.wants_draft


def test_more_drafts_are_wanted_until_one_runs_or_they_are_used_up() -> None:
    attempt = OPEN
    for number in range(USUAL.drafts):
        assert attempt.wants_draft
        attempt = attempt.drafted(draft(f"SELECT {number}", rule="syntax"))
    assert not attempt.wants_draft
    assert not OPEN.drafted(draft(result=ROWS)).wants_draft
    assert OPEN.drafted(draft(rule="known_syntax")).wants_draft


@pytest.mark.parametrize("rule", ["no_sql", "cut", "failed", "syntax", "unknown_column", "unknown_table", "ambiguous"])
def test_a_mistake_fails_the_attempt(rule: str) -> None:
    closed = OPEN.drafted(draft(rule=rule)).concluded()
    assert closed.status == "failed"
    assert closed.message.startswith(f"The query did not run. It broke {rule}.")


@pytest.mark.parametrize("rule", ["only_a_query", "known_syntax", "one_statement", "table_function", "bounded_widths"])
def test_what_would_do_more_than_read_is_refused(rule: str) -> None:
    closed = OPEN.drafted(draft(rule=rule)).concluded()
    assert (closed.status, closed.message) == ("refused", f"It broke {rule}.")


@pytest.mark.parametrize(("cut", "said"), [("rows", "row"), ("bytes", "size")])
def test_a_cut_is_named(cut: str, said: str) -> None:
    closed = OPEN.drafted(draft(result=Result(("n",), ((1,),) * 1_000, cut))).concluded()
    assert closed.message == f"Only the first 1,000 rows are shown: the {said} cap was reached."


# Votes

TWO = Result(("m",), ((2,),))


def test_where_drafts_vote_more_are_wanted_until_two_agree() -> None:
    attempt = OPEN.grown(votes=3).drafted(draft("SELECT 1", result=ROWS))
    assert attempt.wants_draft
    assert attempt.drafted(draft("SELECT 2", result=TWO)).wants_draft
    assert attempt.drafted(draft("SELECT 2", rule="failed")).wants_draft
    agreed = attempt.drafted(draft("SELECT 1 AS one", result=Result(("one",), ((1.0,),))))
    assert not agreed.wants_draft and agreed.agreeing(agreed.drafts[0]) == 2
    assert not attempt.drafted(draft("SELECT 2", result=TWO)).drafted(draft("SELECT 3", rule="syntax")).wants_draft


def test_the_result_that_most_drafts_share_is_the_answer() -> None:
    attempt = OPEN.grown(votes=3)
    for sql, result in (("SELECT 1", ROWS), ("SELECT 2", TWO), ("SELECT 1 + 1", TWO)):
        attempt = attempt.drafted(draft(sql, result=result))
    closed = attempt.concluded()
    assert (closed.status, closed.sql, closed.result) == ("answered", "SELECT 2", TWO)
    assert closed.message == "2 of 3 drafts gave this result."


def test_where_no_two_agree_the_first_that_ran_counts_and_it_is_said() -> None:
    attempt = OPEN.grown(votes=3).drafted(draft("SELECT x", rule="unknown_column"))
    attempt = attempt.drafted(draft("SELECT 1", result=ROWS)).drafted(draft("SELECT 2", result=TWO))
    closed = attempt.concluded()
    assert (closed.sql, closed.message) == ("SELECT 1", "1 of 3 drafts gave this result.")


def test_a_vote_in_which_nothing_ran_fails_as_any_other_attempt() -> None:
    attempt = OPEN.grown(votes=3)
    for number in range(3):
        attempt = attempt.drafted(draft(f"SELECT {number}", rule="syntax"))
    assert (attempt.concluded().status, attempt.wants_draft) == ("failed", False)


def test_a_model_that_is_gone_fails_the_attempt_unless_a_draft_ran_before() -> None:
    assert OPEN.broken_off(ModelError("No network.")).status == "failed"
    voted = OPEN.grown(votes=3).drafted(draft(result=ROWS)).broken_off(ModelError("No network."))
    assert (voted.status, voted.result) == ("answered", ROWS)


def test_a_vote_that_an_outage_cut_short_is_an_answer_and_no_evidence() -> None:
    voting = OPEN.grown(votes=3).drafted(draft(result=ROWS))
    gone = voting.broken_off(ModelUnavailableError("No network."))
    assert (gone.status, gone.out_of_reach, gone.message) == ("answered", True, "No network.")
    locked = voting.drafted(draft(rule="locked")).concluded()
    assert (locked.status, locked.result, locked.out_of_reach) == ("answered", ROWS, True)
    assert locked.message == "1 of 2 drafts gave this result. It broke locked."
    assert not voting.broken_off(ModelError("The prompt is too long.")).out_of_reach
    assert not voting.drafted(draft(rule="syntax")).concluded().out_of_reach


def test_an_attempt_says_whether_it_failed_because_something_was_out_of_reach() -> None:
    assert OPEN.broken_off(ModelUnavailableError("No network.")).out_of_reach
    assert not OPEN.broken_off(ModelError("The prompt is too long.")).out_of_reach
    assert OPEN.drafted(draft(rule="connection")).concluded().out_of_reach
    assert not OPEN.drafted(draft(rule="syntax")).concluded().out_of_reach
