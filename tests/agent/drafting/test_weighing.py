"""How likely drafts are right: what speaks for a result can only raise its chance, and all its drafts share it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.attempt import Attempt, Doubt, Draft, Understood
from agent.database.result import Result
from agent.drafting.weighing import (
    COPIED,
    FEATURES,
    MOST_DOUBTED,
    SURE_OF_ITSELF,
    USUAL_WEIGHTS,
    Weights,
    WeightsError,
    chances_of,
    copied,
    evidence,
    read_weights,
    sole_source,
    weighed,
    written,
)
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.models.port import Prompt, Reply
from memory.episode import Episode
from memory.recall import Level, Recalled

SHIPPED = read_weights()
LEVELS: tuple[Level, ...] = ("bucket", "kind", "tables", "family")
RESULTS = (
    Result(("n",), ((1,),)),
    Result(("n",), ((2,),)),
    Result(("name", "n"), (("Rye", 1), ("Spelt", 2))),
    Result(("name",), ()),
    Result(("n",), ((None,),)),
)


def episode(number: int, skeleton: str = "", masked: str = "") -> Episode:
    return Episode(
        "b", "count", ("Breads",), f"How many {number}?", masked or f"How many {number}?", f"SELECT {number}",
        skeleton or f"shape {number}", "seed:x", "gold", "seed:x:1", "s", "r",
    )  # fmt: skip


EPISODES = tuple(episode(number, f"shape {number // 2}") for number in range(8))
RECALLED = tuple(Recalled(one, 0.9 - place / 20, LEVELS[place % 4], "near") for place, one in enumerate(EPISODES))
OPEN = Attempt(id="a1", question="How many?", model="scripted", recalled=RECALLED)


def adapted(result: Result | None, place: int = 0, *, strain: float = 0.0, support: int = 1, doubts: int = 0) -> Draft:
    return replace(
        written_by_model(result, f"SELECT {place}", doubts=doubts),
        prompt=None,
        origin="adapted",
        episode=str(EPISODES[place].id),
        strain=strain,
        bent=tuple((str(one.id), strain) for one in EPISODES[:support]),
    )


def written_by_model(result: Result | None, sql: str = "SELECT 1", *, doubts: int = 0) -> Draft:
    told = tuple(Doubt("value", f"doubt {number}") for number in range(doubts))
    return Draft(
        Prompt("", ()), Reply(sql), sql, ("Breads",), result, "" if result else "It broke.", "" if result else "failed",
        doubts=told,
    )  # fmt: skip


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    result = draw(st.sampled_from(RESULTS))
    doubts = draw(st.integers(0, 3))
    if draw(st.booleans()):
        return written_by_model(result, draw(st.sampled_from(["SELECT 1", "SELECT 2", "SELECT 3, 4"])), doubts=doubts)
    return adapted(
        result, draw(st.integers(0, 7)), strain=draw(st.floats(0, 5)), support=draw(st.integers(1, 4)), doubts=doubts
    )


def confidences(attempt: Attempt, strength: Callable[[str], float] = lambda _sql: 0.0) -> list[float | None]:
    return [draft.confidence for draft in weighed(attempt, weights=SHIPPED, strength=strength).drafts]


def chance(attempt: Attempt, place: int) -> float:
    found = confidences(attempt)[place]
    assert found is not None
    return found


@given(st.lists(drafts(), min_size=1, max_size=6), st.data())
@settings(max_examples=200, deadline=None)
def test_another_draft_with_the_same_result_never_makes_it_less_likely(made: list[Draft], data: st.DataObject) -> None:
    before = OPEN.grown(drafts=tuple(made))
    place = data.draw(st.integers(0, len(made) - 1))
    again = replace(data.draw(drafts()), result=made[place].result)
    after = before.drafted(again)
    assert chance(after, place) >= chance(before, place) - 1e-12


@given(st.lists(drafts(), min_size=1, max_size=6), st.data())
@settings(max_examples=200, deadline=None)
def test_another_doubt_never_makes_a_result_more_likely(made: list[Draft], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(made) - 1))
    doubted = replace(made[place], doubts=(*made[place].doubts, Doubt("number", "it leaves out 5")))
    before = OPEN.grown(drafts=tuple(made))
    after = before.grown(drafts=(*made[:place], doubted, *made[place + 1 :]))
    assert chance(after, place) <= chance(before, place) + 1e-12


@given(st.lists(drafts(), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_equal_results_share_their_chance_and_all_chances_leave_room_for_none(made: list[Draft]) -> None:
    attempt = OPEN.grown(drafts=tuple(made))
    chances = {id(draft.result): chance(attempt, place) for place, draft in enumerate(made)}
    assert all(chance(attempt, place) == chances[id(draft.result)] for place, draft in enumerate(made))
    assert 0 < sum(chances.values()) < 1


def test_more_agreement_and_fewer_doubts_do_make_a_difference() -> None:
    alone = OPEN.grown(drafts=(adapted(RESULTS[0], 0), adapted(RESULTS[1], 2)))
    agreed = alone.drafted(adapted(RESULTS[0], 4))
    doubted = OPEN.grown(drafts=(adapted(RESULTS[0], 0, doubts=1), adapted(RESULTS[1], 2)))
    assert chance(doubted, 0) + 0.02 < chance(alone, 0) < chance(agreed, 0) - 0.02


def test_less_strain_makes_a_result_more_likely_and_the_least_counts() -> None:
    hard, easy = adapted(RESULTS[0], 0, strain=2.0), adapted(RESULTS[0], 1, strain=0.2)
    assert chance(OPEN.grown(drafts=(hard,)), 0) + 0.05 < chance(OPEN.grown(drafts=(easy,)), 0)
    [both] = evidence(OPEN.grown(drafts=(hard, easy)))
    assert (both.features["closeness"], both.features["unbent"]) == pytest.approx((1 / 1.2, 0.95))


def test_a_model_that_writes_the_same_again_is_one_way() -> None:
    again = OPEN.grown(drafts=(written_by_model(RESULTS[0], "SELECT 1"), written_by_model(RESULTS[0], "SELECT 1")))
    other = again.drafted(written_by_model(RESULTS[0], "SELECT 2 - 1"))
    assert [evidence(attempt)[0].features["ways"] for attempt in (again, other)] == [0, 1]


def test_a_model_that_copies_what_code_made_of_an_episode_is_no_way_of_its_own_and_counts_half() -> None:
    made = replace(adapted(RESULTS[0], 0), sql="SELECT Breads.Name FROM Breads WHERE Breads.Grain = 'Rye'")
    copy = written_by_model(RESULTS[0], "SELECT B.name AS Bread FROM breads AS B WHERE B.grain = 'Rye'")
    own = written_by_model(RESULTS[0], "SELECT Name FROM Breads WHERE Grain LIKE 'Rye'")
    alone, copies, twice = OPEN.grown(drafts=(made,)), OPEN.grown(drafts=(made, copy)), OPEN.grown(drafts=(made, own))
    told = [evidence(attempt)[0].features for attempt in (alone, copies, twice)]
    assert [(one["model"], one["ways"]) for one in told] == [(0, 0), (COPIED, 0), (1, 1)]
    less, half, full = (chance(one, 0) / (1 - chance(one, 0)) for one in (alone, copies, twice))
    assert less < half < full / 2
    [both] = evidence(copies.drafted(own))
    assert (both.features["model"], both.features["ways"]) == (1, 1), "one that came to it alone is enough"


@pytest.mark.parametrize(
    "other",
    [
        "SELECT Name FROM Breads WHERE Grain = 'rye'",
        "SELECT Name FROM Breads WHERE Grain = 'Rye' LIMIT 5",
        "SELECT Name FROM Cakes WHERE Grain = 'Rye'",
    ],
)
def test_what_says_something_else_is_no_copy(other: str) -> None:
    made = replace(adapted(RESULTS[0], 0), sql="SELECT Breads.Name FROM Breads WHERE Breads.Grain = 'Rye'")
    assert copied((made, written_by_model(RESULTS[0], other))) == (False, False)
    assert copied((written_by_model(RESULTS[0], made.sql), made)) == (False, False), "what came first copied nothing"


@pytest.mark.parametrize(
    ("made", "other"),
    [
        ("SELECT Name FROM Breads WHERE Price > 1.5", "SELECT Name FROM Breads WHERE Price > 2.5"),
        ("SELECT CAST(Price AS REAL) FROM Breads", "SELECT CAST(Price AS INTEGER) FROM Breads"),
    ],
)
def test_another_decimal_or_type_is_no_copy(made: str, other: str) -> None:
    drafts = (replace(adapted(RESULTS[0], 0), sql=made), written_by_model(RESULTS[0], other))
    assert copied(drafts) == (False, False)


def test_an_answer_rests_on_one_episode_where_nothing_else_came_to_it() -> None:
    made = replace(adapted(RESULTS[0], 0), sql="SELECT 1", confidence=0.9)
    copy, own = written_by_model(RESULTS[0], "SELECT 1"), written_by_model(RESULTS[0], "SELECT 2 - 1")
    wrong, second = written_by_model(RESULTS[1], "SELECT 2"), adapted(RESULTS[0], 4)
    for others in ((), (copy,), (wrong,), (copy, wrong)):
        assert sole_source(OPEN.grown(drafts=(made, *others))) == str(EPISODES[0].id), others
    for others in ((own,), (second,), (copy, own)):
        assert sole_source(OPEN.grown(drafts=(made, *others))) == "", others
    assert sole_source(OPEN.grown(drafts=(adapted(RESULTS[0], 0, support=2),))) == ""
    assert sole_source(OPEN.grown(drafts=(own,))) == sole_source(OPEN) == ""
    assert sole_source(OPEN.grown(drafts=(adapted(None, 0),))) == ""


def test_episodes_of_one_shape_that_agree_are_one_way() -> None:
    alike = OPEN.grown(drafts=(adapted(RESULTS[0], 0), adapted(RESULTS[0], 1), adapted(RESULTS[1], 2)))
    apart = OPEN.grown(drafts=(adapted(RESULTS[0], 0), adapted(RESULTS[0], 4), adapted(RESULTS[1], 2)))
    assert [(one.features["ways"], one.features["agreement"]) for one in evidence(alike)] == [(0, 0), (0, 0)]
    assert [(one.features["ways"], one.features["agreement"]) for one in evidence(apart)] == [(1, 0.5), (0, 0)]


def test_results_are_the_same_in_another_order_of_rows_and_columns() -> None:
    turned = Result(("n", "name"), ((2.0, "Spelt"), (1.0, "Rye")))
    attempt = OPEN.grown(drafts=(adapted(RESULTS[2], 0), written_by_model(turned)))
    assert [one.places for one in evidence(attempt)] == [(0, 1)]
    other = Result(("n", "name"), ((1.0, "Spelt"), (2.0, "Rye")))
    assert len(evidence(attempt.drafted(written_by_model(other)))) == 2


@pytest.mark.parametrize(
    ("result", "marks"),
    [
        (Result(("name",), (("Rye",),)), {"echo"}),
        (Result(("name", "town"), (("RYE", "many"),)), {"echo"}),
        (Result(("name", "n"), (("Rye", 1),)), set()),
        (Result(("name",), (("Spelt",),)), set()),
        (Result(("n",), ((1,), (1,))), {"twice"}),
        (Result(("n",), ((1,), (None,))), {"holes"}),
        (Result(("n",), ((None,),)), {"holes", "nothing"}),
        (Result(("n",), ((0,),)), {"nothing"}),
        (Result(("n", "m"), ((0, 0),)), set()),
        (Result(("n",), ()), {"empty"}),
        (Result(("n",), ((1,),), "rows"), {"cut"}),
    ],
)
def test_what_a_result_looks_like_is_told(result: Result, marks: set[str]) -> None:
    [found] = evidence(replace(OPEN, question="How many rye?").grown(drafts=(adapted(result),)))
    looks = ("empty", "nothing", "cut", "echo", "twice", "holes")
    assert {name for name in looks if found.features[name]} == marks


def test_the_wording_that_counts_is_that_of_the_nearest_question_adapted(bakery_lexicon: Lexicon) -> None:
    known = (episode(0, masked="How many breads of <value>?"), episode(1, masked="Bakers of <value>"))
    near = tuple(Recalled(one, 0.5, "family", "near") for one in known)
    question = "How many different breads of Linz?"
    grounding = ground(question, bakery_lexicon)
    intent = predict(question, grounding)
    understood = Understood(grounding, intent, bucket_of(intent), mask(question, grounding))
    attempt = OPEN.grown(recalled=(), nearby=near, understood=understood)

    def wording(name: str, *drafts: Draft) -> float:
        [found] = evidence(attempt.grown(drafts=drafts))
        return round(found.features[name], 3)

    assert understood.masked == "how many different breads of <value>"
    far, best = (replace(adapted(RESULTS[0]), episode=str(one.id)) for one in reversed(known))
    assert wording("wording", best) == 0.667  # bread and value of these and different: the little words do not count
    assert wording("wording", far) == 0.25
    assert wording("wording", far, best) == 0.667
    assert wording("wording", written_by_model(RESULTS[0])) == 0.0
    assert wording("nearest", far) == wording("nearest", written_by_model(RESULTS[0])) == 0.667


def test_the_shape_that_did_well_in_the_bucket_counts() -> None:
    attempt = OPEN.grown(drafts=(adapted(RESULTS[0], 0), adapted(RESULTS[1], 2)))
    strong = confidences(attempt, lambda sql: 0.3 if sql == "SELECT 2" else -0.3)
    assert (strong[0] or 0) < chance(attempt, 0) and (strong[1] or 0) > chance(attempt, 1)


def test_a_result_is_as_sure_as_its_surest_reply_and_one_that_does_not_say_is_as_sure_as_usual() -> None:
    silent = written_by_model(RESULTS[0])
    shy, sure = (replace(silent, reply=replace(silent.reply, likelihood=chance)) for chance in (0.5, 0.99))

    def told(*drafts: Draft) -> float:
        return evidence(OPEN.grown(drafts=drafts))[0].features["likelihood"]

    assert told(shy) < told(silent) == SURE_OF_ITSELF < told(sure) == told(shy, sure)
    assert told(adapted(RESULTS[0])) == 0


def test_what_did_not_run_gets_no_confidence_and_is_never_the_answer() -> None:
    broken = written_by_model(None, "SELECT broken")
    attempt = weighed(OPEN.grown(drafts=(broken, adapted(RESULTS[3], 3, doubts=3), broken)), weights=SHIPPED)
    assert [draft.confidence is None for draft in attempt.drafts] == [True, False, True]
    assert attempt.answer is attempt.drafts[1]
    assert confidences(OPEN.grown(drafts=(broken,))) == [None]
    assert confidences(OPEN) == []


def test_weighing_changes_nothing_but_the_confidence() -> None:
    attempt = OPEN.grown(
        drafts=(adapted(RESULTS[0], 0, strain=2), written_by_model(None), written_by_model(RESULTS[1]))
    )
    after = weighed(attempt, weights=SHIPPED)
    unweighed = tuple(replace(draft, confidence=None) for draft in after.drafts)
    assert replace(after, drafts=unweighed) == attempt


def test_an_extreme_score_is_a_chance_too() -> None:
    assert chances_of([]) == ()
    for scores in ([1e4, 1e4], [-1e4, 1e4], [-1e4]):
        assert all(0 <= chance <= 1 and math.isfinite(chance) for chance in chances_of(scores))
    assert chances_of([1e4, 1e4]) == (0.5, 0.5)


# The file


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    place = tmp_path / "confidence.toml"
    weights = Weights({one.name: one.usual + one.sign / 8 for one in FEATURES}, 'fit "these"', "10 questions")
    place.write_text(written(weights), "utf-8")
    read = read_weights(place)
    assert (read.command, read.data) == (weights.command, weights.data)
    assert dict(read.values) == pytest.approx(weights.values, abs=1e-4)


def line(name: str) -> str:
    return next(one for one in written(USUAL_WEIGHTS).splitlines() if one.startswith(f"{name} = "))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (line("agreement"), "", "The weight of 'agreement' is missing."),
        (line("agreement"), f"{line('agreement')}\nluck = 1.0", "There is no feature 'luck'."),
        (line("agreement"), "agreement = -0.5", "The weight of 'agreement' must be above 0 or 0."),
        (line("doubts"), "doubts = 0.5", "The weight of 'doubts' must be below 0 or 0."),
        (line("bias"), "bias = nan", "The weight of 'bias' is no number."),
        (line("bias"), "bias = true", "The weight of 'bias' is no number."),
        (line("bias"), 'bias = "2"', "The weight of 'bias' is no number."),
        ("[weights]", "[others]", "has no 'weights'."),
        ("command = ", "order = ", "has no 'command'."),
        ("command = ", "command ", "cannot be read: "),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, before: str, after: str, said: str) -> None:
    place, text = tmp_path / "confidence.toml", written(USUAL_WEIGHTS)
    assert before in text
    place.write_text(text.replace(before, after, 1), "utf-8")
    with pytest.raises(WeightsError) as refused:
        read_weights(place)
    assert said in str(refused.value) and str(place) in str(refused.value)
    assert "scripts/calibrate.py fit" in str(refused.value)


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="missing"):
        read_weights(tmp_path / "confidence.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(WeightsError, match="cannot be read"):
        read_weights(tmp_path / "odd.toml")
    (tmp_path / "flat.toml").write_text('command = ""\ndata = ""\nweights = 3\n', "utf-8")
    with pytest.raises(WeightsError, match="cannot be read"):
        read_weights(tmp_path / "flat.toml")


def test_no_feature_is_named_twice_and_usual_weights_have_the_right_sign() -> None:
    assert len({one.name for one in FEATURES}) == len(FEATURES)
    assert all(one.usual * one.sign >= 0 for one in FEATURES)


def test_drafts_that_agree_in_leaving_something_out_are_not_stated_as_likely() -> None:
    copied = (adapted(RESULTS[0], doubts=1), written_by_model(RESULTS[0], doubts=1), adapted(RESULTS[0], 2, doubts=1))
    doubted = confidences(OPEN.grown(drafts=copied))
    assert doubted == [doubted[0]] * 3 and 0 < (doubted[0] or 0) <= MOST_DOUBTED
    clean = confidences(OPEN.grown(drafts=(adapted(RESULTS[0]), *copied[1:])))
    assert (clean[0] or 0) > MOST_DOUBTED
    empty = tuple(replace(one, doubts=(Doubt("empty", "it gives no row"),)) for one in copied)
    assert (confidences(OPEN.grown(drafts=empty))[0] or 0) > MOST_DOUBTED
