"""What an attempt says of itself."""

from __future__ import annotations

import pytest

from agent.attempt import MOST_DRAFTS, Attempt, Draft
from agent.database.result import Result
from agent.models.port import Prompt, Reply

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
    for number in range(MOST_DRAFTS):
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
