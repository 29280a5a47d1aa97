"""What code does about drafts beside the model, in the loop: adapted, mended, doubted and weighed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.attempt import EFFORTS, USUAL, Doubt
from agent.journal import body_of, fired
from agent.models.port import Reply
from agent.models.recorded import ScriptedModel
from agent.settings import Levers

if TYPE_CHECKING:
    from agent.attempt import Attempt
    from tests.agent.conftest import Bakery

FAST, _, DEEP = EFFORTS
CODE = Levers.read("adapt, dialect, names, coverage, weigh")
TAUGHT = ("How many bakers live in Linz?", "SELECT COUNT(*) FROM Bakers WHERE Town = 'Linz'")
ASKED = "How many bakers live in Graz?"
ADAPTED = "SELECT COUNT(*) FROM Bakers WHERE Bakers.Town = 'Graz'"


def teach(bakery: Bakery, question: str = TAUGHT[0], sql: str = TAUGHT[1]) -> None:
    bakery.teacher.take(bakery.ask(question, sql).id, "good")
    bakery.remember(())


def asked(bakery: Bakery, question: str, model: ScriptedModel, **how: object) -> Attempt:
    return list(bakery.asking(question, model, **{"levers": CODE, **how}))[-1]  # type: ignore[arg-type]


def body(bakery: Bakery, attempt: Attempt) -> dict[str, Any]:
    return body_of(attempt, schema=bakery.database.schema.fingerprint, dialect="sqlite")


def test_what_is_surely_adapted_is_answered_without_the_model(bakery: Bakery) -> None:
    teach(bakery)
    model = ScriptedModel([])
    attempt = asked(bakery, ASKED, model, effort=FAST)
    assert (attempt.status, attempt.path, attempt.sql) == ("answered", "adapted", ADAPTED)
    assert attempt.result is not None and attempt.result.rows == ((1,),)
    assert model.prompts == [] and attempt.written == ()
    assert attempt.confidence is not None and attempt.confidence >= FAST.sure
    bakery.prove()


def test_deep_thought_asks_the_model_all_the_same(bakery: Bakery) -> None:
    teach(bakery)
    model = ScriptedModel(["SELECT COUNT(*) FROM Bakers WHERE Town LIKE 'Graz'"])
    attempt = asked(bakery, ASKED, model, effort=replace(DEEP, apart=()))
    assert len(model.prompts) == 1 and len(attempt.drafts) == 2
    assert attempt.answer is not None and attempt.agreeing(attempt.answer) == 2


def test_deep_thought_also_drafts_from_other_episodes_and_with_chance(bakery: Bakery) -> None:
    teach(bakery)
    for town in ("Linz", "Graz", "Wels"):
        teach(bakery, f"Which bakers live in {town}?", f"SELECT Name FROM Bakers WHERE Town = '{town}'")
        teach(bakery, f"How many breads are of {town} flour?", f"SELECT COUNT(*) FROM Breads WHERE Flour = '{town}'")
    right, wrong = "SELECT COUNT(*) FROM Bakers WHERE Town LIKE 'Graz'", "SELECT COUNT(*) FROM Bakers"
    model = ScriptedModel([right, wrong, "SELECT COUNT(BakerID) FROM Bakers WHERE Town = 'Graz'"])
    attempt = asked(bakery, ASKED, model, effort=DEEP)
    assert [draft.way for draft in attempt.written] == ["next", "others", "sampled"]
    first, others, sampled = model.prompts
    assert (first.temperature, others.temperature) == (0.0, 0.0) and 0 < sampled.temperature <= 1
    assert sampled.turns == first.turns and others.turns[-1] == first.turns[-1]
    examples = [{turn.text for turn in prompt.turns[:-1] if turn.role == "user"} for prompt in (first, others)]
    assert examples[1] and not examples[0] & examples[1]
    assert examples[1] == {one.episode.question for one in attempt.others}
    assert attempt.result is not None and attempt.result.rows == ((1,),)
    assert {attempt.written[place].confidence for place in (0, 2)} == {attempt.confidence}
    assert (attempt.written[1].confidence or 0) < (attempt.confidence or 0)
    assert attempt.path == "adapted" and not attempt.wants_draft


def test_drafts_apart_are_made_once_and_see_none_of_those_before(bakery: Bakery) -> None:
    replies = [f"SELECT Nothing{place} FROM Bakers" for place in range(9)]
    model = ScriptedModel(replies)
    attempt = asked(bakery, ASKED, model, effort=DEEP)
    assert [draft.way for draft in attempt.written] == ["next"] * DEEP.drafts + ["sampled"]
    assert len(model.prompts[-2].turns) == 2 * DEEP.drafts - 1 and len(model.prompts[-1].turns) == 1
    assert attempt.status == "failed"


def test_with_usual_effort_a_draft_without_complaint_is_the_last(bakery: Bakery) -> None:
    model = ScriptedModel(["SELECT COUNT(*) FROM Bakers WHERE Town = 'Graz'"])
    attempt = asked(bakery, ASKED, model, effort=USUAL)
    assert [draft.way for draft in attempt.written] == ["next"] and model.prompts[0].temperature == 0


def test_a_sampled_draft_that_declines_takes_no_answer_away(bakery: Bakery) -> None:
    model = ScriptedModel(["SELECT COUNT(*) FROM Bakers WHERE Town = 'Graz'", Reply("", declined="I cannot.")])
    attempt = asked(bakery, ASKED, model, effort=DEEP)
    assert attempt.status == "answered" and attempt.result is not None and attempt.result.rows == ((1,),)


def test_the_model_is_not_shown_what_code_drafted(bakery: Bakery) -> None:
    teach(bakery)
    model = ScriptedModel(["SELECT COUNT(*) FROM Bakers"])
    asked(bakery, ASKED, model, effort=replace(DEEP, drafts=1, apart=()))
    assert [turn.role for turn in model.prompts[0].turns] == ["user", "assistant", "user"]
    assert ADAPTED not in model.prompts[0].turns[-1].text


def test_without_the_lever_nothing_is_adapted(bakery: Bakery) -> None:
    teach(bakery)
    model = ScriptedModel(["SELECT COUNT(*) FROM Bakers WHERE Town = 'Graz'"])
    attempt = asked(bakery, ASKED, model, levers=Levers.read("coverage, weigh"))
    assert [draft.origin for draft in attempt.drafts] == ["model"] and attempt.nearby == ()


def test_without_a_schema_code_does_nothing(bakery: Bakery) -> None:
    from agent.ask import Craft
    from agent.drafting.crafting import Crafting

    crafting = Crafting(levers=CODE, lexicon=lambda: bakery.lexicon, understand=bakery.understand)
    assert crafting.craft(bakery.nearby, schema=False) == Craft()


def test_a_query_that_leaves_out_a_value_goes_back_with_what_is_missing(bakery: Bakery) -> None:
    model = ScriptedModel(["SELECT COUNT(*) FROM Bakers", "SELECT COUNT(*) FROM Bakers WHERE Town = 'Graz'"])
    attempt = asked(bakery, ASKED, model)
    assert len(model.prompts) == 2 and "Graz" in model.prompts[1].turns[-1].text
    assert model.prompts[1].turns[-1].text.count("The query runs, but") == 1
    assert attempt.sql == "SELECT COUNT(*) FROM Bakers WHERE Town = 'Graz'"
    assert [doubt.rule for doubt in attempt.drafts[0].doubts] == ["value"] and attempt.drafts[1].doubts == ()


def test_a_name_with_one_meaning_is_put_right_and_noted(bakery: Bakery) -> None:
    model = ScriptedModel(["SELECT COUNT(*) FROM Baker WHERE Town = 'Graz'"])
    attempt = asked(bakery, ASKED, model)
    assert (attempt.status, len(model.prompts)) == ("answered", 1)
    assert attempt.answer is not None and any("Bakers" in note for note in attempt.answer.notes)
    assert attempt.written[0].reply.text == "SELECT COUNT(*) FROM Baker WHERE Town = 'Graz'"


def test_of_two_results_the_likelier_is_the_answer_and_the_other_the_runner_up(bakery: Bakery) -> None:
    teach(bakery)
    attempt = asked(bakery, ASKED, ScriptedModel(["SELECT COUNT(*) FROM Bakers"] * 2), effort=replace(USUAL, sure=1.1))
    assert attempt.sql == ADAPTED and attempt.runner_up is not None
    assert attempt.runner_up.origin == "model"
    assert (attempt.runner_up.confidence or 0) < (attempt.confidence or 0) < 1


def test_what_fired_for_an_adapted_answer_is_its_episode_and_not_the_approach(bakery: Bakery) -> None:
    teach(bakery)
    teach(bakery, "Which breads are made of rye?", "SELECT Name FROM Breads WHERE Flour = 'rye'")
    attempt = asked(bakery, ASKED, ScriptedModel([]), effort=FAST)
    [draft] = [one for one in attempt.drafts if one.sql == ADAPTED]
    kinds = {target.kind: target.name for target in fired(body(bakery, attempt)) if target.kind != "skeleton"}
    assert kinds == {"episode": draft.episode}


def test_the_approach_fires_too_where_the_model_wrote_the_same(bakery: Bakery) -> None:
    teach(bakery)
    attempt = asked(
        bakery, ASKED, ScriptedModel(["SELECT COUNT(*) FROM Bakers WHERE Town LIKE 'Graz'"] * 2), effort=DEEP
    )
    assert attempt.path == "adapted"
    assert "approach" in {target.kind for target in fired(body(bakery, attempt))}


def test_what_code_did_is_written_down(bakery: Bakery) -> None:
    teach(bakery)
    attempt = asked(bakery, ASKED, ScriptedModel([]), effort=FAST)
    record = bakery.ledger.attempt(attempt.id)
    assert record is not None and record.settled is not None
    settled: dict[str, Any] = dict(record.settled)
    [kept] = [draft for draft in settled["drafts"] if draft["sql"] == ADAPTED]
    assert kept["origin"] == "adapted" and kept["agrees"] and kept["notes"] == ["Linz became Graz"]
    assert kept["confidence"] == attempt.confidence and record.settled["path"] == "adapted"
    bakery.prove()


def test_a_model_that_cannot_be_asked_leaves_what_was_adapted(bakery: Bakery) -> None:
    from agent.models.port import ModelUnavailableError

    teach(bakery)
    model = ScriptedModel([ModelUnavailableError("No model is here.")])
    attempt = asked(bakery, ASKED, model, effort=replace(USUAL, sure=1.1))
    assert (attempt.status, attempt.sql, attempt.path) == ("answered", ADAPTED, "adapted")
    assert attempt.out_of_reach and "No model is here." in attempt.message


def test_a_reply_that_was_cut_off_is_not_made_whole(bakery: Bakery) -> None:
    cut = Reply("SELECT Name, Town, Name, Town", stop="length")
    attempt = asked(
        bakery, "Name and town of the bakers, please", ScriptedModel([cut, "SELECT Name, Town FROM Bakers"])
    )
    assert [draft.rule for draft in attempt.drafts] == ["cut", ""]
    assert attempt.result is not None and len(attempt.result.rows) == 3


def test_of_drafts_with_one_result_the_one_without_a_doubt_is_shown(bakery: Bakery) -> None:
    teach(bakery, "Which bread is the dearest?", "SELECT Name FROM Breads ORDER BY Price DESC LIMIT 1")
    teach(bakery)
    attempt = asked(bakery, ASKED, ScriptedModel([]), effort=FAST)
    [first, *_] = attempt.drafts
    doubted = replace(first, doubts=(Doubt("value", "it is not said"),), confidence=0.9)
    clean = replace(first, sql="SELECT 1", confidence=0.9)
    assert attempt.grown(drafts=(doubted, clean)).sql == "SELECT 1"


def test_without_weighing_the_word_of_the_model_counts_more_than_what_was_adapted(bakery: Bakery) -> None:
    teach(bakery)
    model = ScriptedModel(["SELECT COUNT(*) FROM Bakers WHERE Town = 'Graz' OR Town = 'Gratz' OR BakerID = 1"])
    attempt = asked(bakery, ASKED, model, levers=Levers.read("adapt"))
    assert (attempt.path, attempt.confidence) == ("model", None)


def test_a_model_that_says_it_cannot_be_answered_is_believed_over_what_was_adapted(bakery: Bakery) -> None:
    teach(bakery)
    model = ScriptedModel([Reply("", declined="There are no towns.")])
    attempt = asked(bakery, ASKED, model, effort=DEEP)
    assert (attempt.status, attempt.message) == ("abstained", "There are no towns.")
    assert [draft.origin for draft in attempt.drafts] == ["adapted", "model"]
    assert (attempt.sql, attempt.result, attempt.confidence, attempt.runner_up) == ("", None, None, None)


def test_adapting_ends_with_its_time(bakery: Bakery) -> None:
    teach(bakery)
    teach(bakery, "How many towns have bakers?", "SELECT COUNT(DISTINCT Town) FROM Bakers")
    whole = asked(bakery, ASKED, ScriptedModel(["SELECT 1"] * 3), effort=DEEP)
    cut = asked(bakery, ASKED, ScriptedModel(["SELECT 1"] * 3), effort=replace(DEEP, seconds=0.0))
    assert len([one for one in whole.drafts if one.origin == "adapted"]) > 1
    assert len([one for one in cut.drafts if one.origin == "adapted"]) == 1
