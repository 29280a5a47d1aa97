"""What is written down of an attempt."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from agent.journal import LedgerJournal, Unwritten, body_of, fired
from agent.learning.feedback import FeedbackError
from agent.models.port import Reply, Usage
from agent.models.recorded import ScriptedModel
from agent.settings import Levers

if TYPE_CHECKING:
    from agent.attempt import Attempt
    from tests.agent.conftest import Bakery

QUESTION = "How many loaves of 'Rye Loaf' were sold per day in 2021?"
SQL = 'SELECT SoldOn, SUM(Pieces) FROM "Daily Sales" GROUP BY SoldOn'


def body(bakery: Bakery, attempt: Attempt) -> dict[str, Any]:
    return body_of(attempt, schema=bakery.database.schema.fingerprint, dialect="sqlite")


def test_what_is_written_down_is_read_back_the_same(bakery: Bakery) -> None:
    first = bakery.ask("How many breads are there?", "SELECT COUNT(*) FROM Breads")
    bakery.teacher.take(first.id, "good")
    bakery.remember(())
    odd = Reply("SELECT Nme -- \ud83d \x00 \u202e 客", usage=Usage(3, 4, cost_usd=None))
    attempt = bakery.ask(QUESTION, odd, SQL)
    assert attempt.recalled and attempt.understood is not None and attempt.understood.grounding.links
    written = body(bakery, attempt)
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    record = bakery.ledger.attempt(attempt.id)
    assert record is not None and record.settled == written


def test_everything_about_the_attempt_is_in_it(bakery: Bakery) -> None:
    first = bakery.ask("How many breads are there?", "SELECT COUNT(*) FROM Breads")
    bakery.teacher.take(first.id, "good")
    bakery.remember(())
    model = ScriptedModel([Reply("SELECT Nme FROM Breads", usage=Usage(5, 2)), Reply(SQL, usage=Usage(7, 3))])
    *_, attempt = bakery.asking(QUESTION, model)
    understood, [memory] = attempt.understood, attempt.recalled
    assert understood is not None and attempt.result is not None
    written = body(bakery, attempt)
    assert written["question"] == QUESTION
    assert written["schema"] == bakery.database.schema.fingerprint
    assert (written["kind"], written["tables"]) == (understood.intent.kind, list(understood.intent.tables))
    assert (written["bucket"], written["masked"]) == (understood.bucket, understood.masked)
    assert written["links"] == understood.grounding.noted()
    shown = {"episode": str(memory.episode.id), "score": memory.score, "level": memory.level, "why": memory.why}
    assert written["recalled"] == [shown]
    for draft, prompt in zip(written["drafts"], model.prompts, strict=True):
        assert draft["turns"] == [[turn.role, turn.text] for turn in prompt.turns]
    assert [draft["reply"] for draft in written["drafts"]] == ["SELECT Nme FROM Breads", SQL]
    assert written["drafts"][0]["problem"] == attempt.drafts[0].problem != ""
    assert (written["status"], written["sql"]) == ("answered", SQL)
    assert written["skeleton"] == "SELECT _, SUM FROM _ GROUP BY _"
    assert written["result"]["rows"] == 3 and len(written["result"]["fingerprint"]) == 64
    assert written["usage"] == {"input": 12, "output": 5, "cache_read": 0, "cache_write": 0, "cost_usd": 0.0}
    assert written["seconds"] == {"total": attempt.total_seconds, "recall": attempt.recall_seconds}


def test_of_an_adapted_draft_every_episode_that_gave_it_is_kept_with_how_far_it_was_bent(bakery: Bakery) -> None:
    told = {
        "What is the flour of the Rye Loaf?": "SELECT Flour FROM Breads WHERE Name = 'Rye Loaf'",
        "What is the price of the Spelt Ring?": "SELECT Price FROM Breads WHERE Name = 'Spelt Ring'",
    }
    for question, sql in told.items():
        bakery.teacher.take(bakery.ask(question, sql).id, "good")
    bakery.remember(())
    model = ScriptedModel(["SELECT Nme FROM Breads"] * 2)
    *_, attempt = bakery.asking("What is the price of the Poppy Roll?", model, levers=Levers.read("adapt"))
    written = body(bakery, attempt)
    draft = next(one for one in written["drafts"] if one["origin"] == "adapted")
    assert (draft["support"], draft["strain"]) == (2, 0.0)
    kept = {episode.question: str(episode.id) for episode in bakery.ledger.episodes()}
    flour, price = (kept[question] for question in told)
    bent = dict(draft["bent"])
    assert set(bent) == {flour, price} and bent[flour] > bent[price] == 0
    assert [target.name for target in fired(written) if target.kind == "episode"] == list(bent)
    assert written["path"] == "adapted" and json.loads(json.dumps(written)) == written


@pytest.mark.parametrize("which", [0, 1])
def test_any_of_the_episodes_that_gave_an_adapted_draft_takes_the_attempt_along_when_erased(
    bakery: Bakery, which: int
) -> None:
    """Also one that the model was not shown."""
    for name in ("Rye Loaf", "Spelt Ring"):
        praised = bakery.ask(f"What is the price of the {name}?", f"SELECT Price FROM Breads WHERE Name = '{name}'")
        bakery.teacher.take(praised.id, "good")
    bakery.remember(())
    model = ScriptedModel(["SELECT Nme FROM Breads"] * 2)
    *_, asked = bakery.asking(
        "What is the price of the Poppy Roll?", model, levers=Levers.read("adapt"), journal=Unwritten()
    )
    attempt = replace(asked, id="unshown", recalled=())
    journal = LedgerJournal(bakery.ledger, schema="", dialect="sqlite")
    journal.start(attempt)
    journal.settle(attempt)
    [draft] = [one for one in attempt.drafts if one.origin == "adapted"]
    assert len(draft.bent) == 2
    with bakery.ledger.transaction() as entry:
        entry.erase(UUID(draft.bent[which][0]))
    record = bakery.ledger.attempt("unshown")
    assert record is not None and record.started is record.settled is None
    bakery.prove()


def test_where_the_model_declined_no_adapted_draft_is_the_answer(bakery: Bakery) -> None:
    praised = bakery.ask("What is the price of the Rye Loaf?", "SELECT Price FROM Breads WHERE Name = 'Rye Loaf'")
    bakery.teacher.take(praised.id, "good")
    bakery.remember(())
    model = ScriptedModel([Reply("", declined="It cannot be said.")])
    *_, attempt = bakery.asking("What is the price of the Poppy Roll?", model, levers=Levers.read("adapt"))
    assert attempt.status == "abstained" and attempt.ran
    written = body(bakery, attempt)
    assert (written["sql"], written["skeleton"], written["habit"], written["result"]) == ("", "", "", None)
    with pytest.raises(FeedbackError, match="gave no answer"):
        bakery.teacher.take(attempt.id, "good")


def test_an_approach_whose_model_wrote_nothing_did_not_fire(bakery: Bakery) -> None:
    broken = {"origin": "adapted", "rule": "failed", "sql": "SELECT 1", "problem": "It failed.", "agrees": False}
    assert fired({"path": "model", "approach": "direct", "drafts": [{**broken, "episode": "e1"}]}) == ()


def test_rows_are_not_kept_only_how_many_and_their_hash(bakery: Bakery) -> None:
    attempt = bakery.ask("List all bakers", "SELECT Name FROM Bakers")
    assert "Ottilie" not in json.dumps(body(bakery, attempt)["result"])


def test_an_answer_in_another_order_has_the_same_hash(bakery: Bakery) -> None:
    one = bakery.ask("List all bakers", "SELECT Name FROM Bakers ORDER BY Name")
    other = bakery.ask("List all bakers", "SELECT Name FROM Bakers ORDER BY Name DESC")
    assert body(bakery, one)["result"] == body(bakery, other)["result"]


def test_the_start_says_what_was_asked_of_which_model(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, SQL)
    record = bakery.ledger.attempt(attempt.id)
    assert record is not None and record.started is not None and attempt.understood is not None
    assert (record.started["question"], record.started["model"]) == (QUESTION, "scripted")
    assert record.started["bucket"] == attempt.understood.bucket
    assert record.started["links"] == attempt.understood.grounding.noted()


def test_an_attempt_without_an_answer_has_neither_sql_nor_shape(bakery: Bakery) -> None:
    written = body(bakery, bakery.ask(QUESTION, "SELECT Nme FROM Breads", "SELECT Nme FROM Breads"))
    assert (written["sql"], written["skeleton"], written["result"]) == ("", "", None)
    assert [target.kind for target in fired(written)] == ["approach"]


def test_an_attempt_that_is_not_understood_yet_can_be_written_down(bakery: Bakery) -> None:
    attempt = replace(bakery.ask(QUESTION, SQL), understood=None)
    assert "bucket" not in body(bakery, attempt)
