"""What training learns from an answer, and in which order it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agent.attempt import Attempt, effort_named
from agent.journal import LedgerJournal
from agent.learning.judging import Judge, Verdict
from agent.learning.questions import Pair
from agent.learning.runs import Checkpoint, Forgotten, Plan, QuestionSet, Run, RunError, RunLog, Seeded
from agent.learning.steps import Part, Step, read_step
from agent.learning.training import Clockwatch, Learner, Paused, Witness, train
from agent.models.port import ModelError, ModelUnavailableError, Reply, Usage
from agent.models.recorded import ScriptedModel
from agent.settings import Levers
from memory.ledger import EventKind
from memory.lessons import Lessons

if TYPE_CHECKING:
    from tests.agent.conftest import Bakery

PAIR = Pair("loaves", "How many breads are there?", "SELECT COUNT(*) FROM Breads", (), False, "count", "easy", "en", 1)
RIGHT, WRONG = "SELECT COUNT(*) FROM Breads", "SELECT COUNT(*) FROM Bakers WHERE Town = 'Graz'"
SETS = QuestionSet("training.jsonl", "0" * 64, 4)
PLAN = Plan(SETS, None, "scripted", "bakery", "f" * 64, epochs=2, checkpoint=2)


def learner(bakery: Bakery, *, epoch: int = 1, pair: Pair = PAIR) -> Learner:
    judge = Judge(run=lambda sql: bakery.run(bakery.check(sql)), copies=())

    def verdict(asked: Pair, attempt: Attempt) -> Verdict:
        return judge.judge(asked, attempt.sql, attempt.result, problem=attempt.message)

    return Learner(
        journal=LedgerJournal(bakery.ledger, schema=bakery.database.schema.fingerprint, dialect="sqlite"),
        synapses=bakery.synapses,
        log=RunLog(bakery.ledger),
        judge=verdict,
        run="run-1",
        epoch=epoch,
        pair=pair,
    )


def train_on(bakery: Bakery, *replies: Reply | str, approach: str = "direct", pair: Pair = PAIR) -> Step:
    """Ask a question with scripted replies and learn from the answer."""
    one = learner(bakery, pair=pair)
    list(bakery.asking(pair.question, ScriptedModel(replies), approach=approach, journal=one))
    return one.judged[-1]


def weights(bakery: Bakery) -> dict[tuple[str, bool], tuple[int, int]]:
    """Successes and failures by kind of target, and whether the target is an approach's name."""
    return {
        (synapse.target_kind, synapse.target == "direct"): (synapse.successes, synapse.failures)
        for synapse in bakery.fired()
    }


def test_a_right_answer_becomes_an_episode_and_rewards_what_led_to_it(bakery: Bakery) -> None:
    step = train_on(bakery, Reply(RIGHT, usage=Usage(7, 3)))
    assert (step.right, step.error, step.calls, step.input_tokens, step.output_tokens) == (True, "", 1, 7, 3)
    [episode] = bakery.ledger.episodes()
    assert (episode.sql, episode.origin, episode.verifier) == (RIGHT, "train:run-1", "gold")
    assert episode.batch == "train:run-1:epoch-1"
    assert weights(bakery) == {("approach", True): (1, 0), ("skeleton", False): (1, 0), ("episode", False): (1, 0)}
    bakery.prove()


def test_a_question_that_is_answered_right_again_is_remembered_once(bakery: Bakery) -> None:
    train_on(bakery, RIGHT)
    train_on(bakery, RIGHT)
    train_on(bakery, "SELECT COUNT(BreadID) FROM Breads")
    assert [episode.sql for episode in bakery.ledger.episodes()] == [RIGHT]


def test_an_approach_earns_nothing_where_the_answer_was_among_what_was_shown(bakery: Bakery) -> None:
    train_on(bakery, RIGHT)
    bakery.remember(())
    train_on(bakery, RIGHT)
    by_kind = {synapse.target_kind: synapse.successes for synapse in bakery.fired()}
    assert by_kind == {"approach": 1, "skeleton": 2, "episode": 2}


@pytest.mark.parametrize("confidence", ["weigh", "adapt"])
def test_nor_where_the_answer_was_adapted_from_it_and_the_model_says_it_again(bakery: Bakery, confidence: str) -> None:
    train_on(bakery, RIGHT)
    bakery.remember(())
    one, levers = learner(bakery), Levers.read(f"adapt, {confidence}")
    model, effort = ScriptedModel([RIGHT, RIGHT]), effort_named("deep")
    list(bakery.asking(PAIR.question, model, levers=levers, effort=effort, journal=one))
    body = bakery.ledger.attempt(one.judged[-1].attempt)
    settled: Any = body and body.settled
    assert [draft["agrees"] for draft in settled["drafts"]] == [True] * 3
    by_kind = {synapse.target_kind: synapse.successes for synapse in bakery.fired()}
    assert by_kind == {"approach": 1, "skeleton": 2, "episode": 2}


def test_a_wrong_answer_weakens_what_fired_and_leaves_a_lesson_with_the_gold(bakery: Bakery) -> None:
    step = train_on(bakery, "SELECT Nme FROM Breads", WRONG)
    assert (step.right, step.error) == (False, "values")
    assert bakery.ledger.episodes() == ()
    assert all((synapse.successes, synapse.failures) == (0, 1) for synapse in bakery.fired())
    lessons = {lesson.wrong_sql: lesson for lesson in Lessons(bakery.ledger).of(step.bucket)}
    assert set(lessons) == {WRONG, "SELECT Nme FROM Breads"}
    assert all(lesson.fix_sql == RIGHT and lesson.is_vouched for lesson in lessons.values())
    assert lessons[WRONG].problem == step.reason != ""
    bakery.prove()


def test_a_query_that_turns_out_right_is_no_longer_called_wrong(bakery: Bakery) -> None:
    step = train_on(bakery, WRONG)
    gold = replace(PAIR, sql=WRONG)
    train_on(bakery, WRONG, pair=gold)
    assert Lessons(bakery.ledger).of(step.bucket) == ()


def test_what_was_forgotten_is_not_learned_again_from_the_same_answer(bakery: Bakery) -> None:
    train_on(bakery, RIGHT)
    [episode] = bakery.ledger.episodes()
    with bakery.ledger.transaction() as entry:
        entry.forget(episode.id, "a test")
    assert train_on(bakery, "SELECT  COUNT(*)  FROM Breads").right
    assert bakery.ledger.episodes() == ()


def test_an_attempt_that_reached_no_model_is_settled_and_teaches_nothing(bakery: Bakery) -> None:
    one = learner(bakery)
    list(bakery.asking(PAIR.question, ScriptedModel([ModelUnavailableError("No network.")]), journal=one))
    assert one.judged == [] and bakery.fired() == () and bakery.ledger.episodes() == ()
    assert bakery.ledger.unsettled() == ()
    assert not list(bakery.ledger.events(kinds=(EventKind.RUN_STEPPED,)))


def test_a_vote_that_an_outage_cut_short_teaches_nothing(bakery: Bakery) -> None:
    one = learner(bakery)
    replies: list[Reply | str | ModelError] = ["SELECT Nme FROM Breads", WRONG, ModelUnavailableError("No network.")]
    *_, attempt = bakery.asking(PAIR.question, ScriptedModel(replies), approach="vote", journal=one)
    assert attempt.status == "answered" and "No network." in attempt.message
    assert one.judged == [] and bakery.fired() == () and bakery.ledger.unsettled() == ()
    assert attempt.understood and Lessons(bakery.ledger).of(attempt.understood.bucket) == ()


@pytest.mark.parametrize("replies", [(RIGHT,), ("SELECT Nme FROM Breads", WRONG)], ids=["right", "wrong"])
def test_all_that_an_answer_teaches_is_written_in_one_transaction(
    open_bakery: Callable[..., Bakery], replies: tuple[str, ...]
) -> None:
    written: list[str] = []
    train_on(open_bakery(written.append), *replies)
    commits = [number for number, what in enumerate(written) if what == "before commit"]
    last = written[commits[-2] : commits[-1]]
    assert {"attempt_settled event", "run_stepped event", "weights_moved event"} <= set(last)
    assert ("episode_remembered event" in last) == (replies == (RIGHT,))
    assert ("lesson_learned event" in last) == (replies != (RIGHT,))


def test_a_holdout_question_leaves_its_step_and_nothing_else(bakery: Bakery) -> None:
    judge = learner(bakery).judge
    log = RunLog(bakery.ledger)
    one = Witness(ledger=bakery.ledger, log=log, judge=judge, run="run-1", epoch=2, pair=PAIR)
    before = [event.kind for event in bakery.ledger.events()]
    list(bakery.asking(PAIR.question, ScriptedModel([RIGHT]), journal=one))
    assert [event.kind for event in bakery.ledger.events()][len(before) :] == [EventKind.RUN_STEPPED]
    assert (one.judged[0].part, one.judged[0].epoch, one.judged[0].right) == ("holdout", 2, True)


# The loop


def step(question: str, epoch: int, *, part: Part = "training", right: bool = True) -> Step:
    blank = dict.fromkeys(Step.__dataclass_fields__, "")
    known = {"part": part, "epoch": epoch, "question": question, "right": right, "bucket": "b", "arm": "memory"}
    numbers = dict.fromkeys(("recalled", "calls", "replayed", "input_tokens", "cached_tokens", "output_tokens"), 0)
    return read_step({**blank, **known, **numbers, "lenient": right, "cost_usd": 0.0, "seconds": 0.0})


class NoCare:
    """Writes down when it was called."""

    def __init__(self, log: RunLog, bakery: Bakery) -> None:
        self.log, self.bakery = log, bakery

    def checkpoint(self, run: Run, epoch: int, *, closes: bool) -> Run:
        checkpoint = Checkpoint(epoch, len(run.of(epoch)), closes)
        with self.bakery.ledger.transaction() as entry:
            self.log.checkpoint(entry, run.id, checkpoint)
        return run.grown(checkpoint=checkpoint)


def pairs(*ids: str) -> tuple[Pair, ...]:
    return tuple(replace(PAIR, id=id) for id in ids)


@contextmanager
def begun(bakery: Bakery, plan: Plan = PLAN) -> Iterator[tuple[Run, RunLog]]:
    log = RunLog(bakery.ledger)
    yield log.begin("run-1", plan), log


def go_on(bakery: Bakery, run: Run, *, holdout: Sequence[Pair] = (), stop_after: int = 99) -> list[Run]:
    """Train with answers that are all right; after so many steps it is as if the process had been killed."""
    log, count = RunLog(bakery.ledger), 0

    def ask(chosen: Sequence[Pair], epoch: int, part: Part) -> Iterator[Step]:
        nonlocal count
        for pair in chosen:
            if count == stop_after:
                raise Paused("enough")
            count += 1
            made = step(pair.id, epoch, part=part)
            with bakery.ledger.transaction() as entry:
                log.step(entry, run.id, made)
            yield made

    runs = [run]
    try:
        training = pairs("a", "b", "c", "d", "e")
        for grown in train(run, pairs=training, holdout=holdout, ask=ask, care=NoCare(log, bakery), log=log):
            runs.append(grown)
    except Paused:
        """Cut off."""
    return runs


def test_every_question_is_asked_once_an_epoch_in_an_order_of_its_own(bakery: Bakery) -> None:
    with begun(bakery) as (run, log):
        last = go_on(bakery, run)[-1]
    orders = [[one.question for one in last.of(epoch)] for epoch in (1, 2)]
    assert [sorted(order) for order in orders] == [list("abcde"), list("abcde")] and orders[0] != orders[1]
    assert last.finished is not None
    assert [(one.epoch, one.after, one.closes) for one in last.checkpoints] == [
        (1, 2, False), (1, 4, False), (1, 5, True), (2, 2, False), (2, 4, False), (2, 5, True)
    ]  # fmt: skip
    assert log.read("run-1") == last


def test_the_same_seed_gives_the_same_order_and_another_another(bakery: Bakery) -> None:
    run = Run("r", PLAN, 0.0)
    other = replace(run, plan=replace(PLAN, seed=2))
    order = [pair.id for pair in run.left(pairs(*"abcdefgh"), 1)]
    assert order == [pair.id for pair in run.left(pairs(*"abcdefgh"), 1)]
    assert order != [pair.id for pair in other.left(pairs(*"abcdefgh"), 1)]


@pytest.mark.parametrize("stop_after", range(14))
def test_a_run_that_was_cut_off_anywhere_goes_on_where_it_was(bakery: Bakery, stop_after: int) -> None:
    holdout = pairs("x", "y")
    plan = replace(PLAN, holdout=SETS, holdout_every=2)
    with begun(bakery, plan) as (run, log):
        go_on(bakery, run, holdout=holdout, stop_after=stop_after)
        last = go_on(bakery, log.read("run-1"), holdout=holdout)[-1]
        assert log.read("run-1") == last
    assert last.finished is not None
    asked = [(one.part, one.epoch, one.question) for one in last.steps]
    assert len(asked) == len(set(asked)) == 2 * 5 + 2 * 2
    assert [one.epoch for one in last.checkpoints if one.closes] == [1, 2]


def test_a_finished_run_is_not_finished_again(bakery: Bakery) -> None:
    with begun(bakery) as (run, _):
        last = go_on(bakery, run)[-1]
        again = go_on(bakery, last)
    assert again[-1] == last
    assert len(list(bakery.ledger.events(kinds=(EventKind.RUN_FINISHED,)))) == 1


def test_a_run_reads_back_what_checkpoints_did(bakery: Bakery) -> None:
    train_on(bakery, RIGHT)
    [episode] = bakery.ledger.episodes()
    named = (str(episode.id), episode.bucket, episode.question)
    with begun(bakery) as (run, log):
        forgotten = Forgotten(*named, episode.sql, "misled")
        checkpoint = Checkpoint(1, 0, True, (forgotten,), (Seeded(*named, "stayed at zero"),), ("x: no",))
        with bakery.ledger.transaction() as entry:
            log.checkpoint(entry, run.id, checkpoint)
        paused = log.pause(run, "The network is gone.")
        found = log.read("run-1")
    assert found.checkpoints == (checkpoint,)
    assert found.pauses == paused.pauses and found.pauses[0].reason == "The network is gone."


def test_the_sql_of_a_step_is_kept_with_its_attempt_alone_and_goes_with_it(bakery: Bakery) -> None:
    with begun(bakery) as (run, log):
        made = train_on(bakery, RIGHT)
        assert log.read(run.id).steps == (made,)
        wrong = train_on(bakery, WRONG)
        assert log.read(run.id).steps == (made, wrong) and wrong.reason
        checkpoint = Checkpoint(1, 2, True, (), (Seeded(str(bakery.ledger.episodes()[0].id), "b", "q", "why"),))
        with bakery.ledger.transaction() as entry:
            log.checkpoint(entry, run.id, checkpoint)
        with bakery.ledger.transaction() as entry:
            entry.erase(bakery.ledger.episodes()[0].id)
        erased = log.read(run.id)
    assert erased.steps == (replace(made, sql=""), replace(wrong, sql="", reason=""))
    assert erased.checkpoints[0].seeded[0].question == ""
    assert bakery.ledger.verify().ok


def test_a_run_is_at_a_checkpoint_until_the_next_question(bakery: Bakery) -> None:
    with begun(bakery) as (run, _):
        runs = go_on(bakery, run)
    at = [(len(one.steps), len(one.checkpoints)) for one in runs if one.is_at_checkpoint]
    assert at == [(2, 1), (4, 2), (5, 3), (7, 4), (9, 5), (10, 6), (10, 6)]


def test_an_unknown_run_is_refused_and_the_last_one_named(bakery: Bakery) -> None:
    log = RunLog(bakery.ledger)
    with pytest.raises(RunError, match="It has seen none"):
        log.read("nothing")
    log.begin("run-1", PLAN)
    with pytest.raises(RunError, match="The last one is run-1"):
        log.read("nothing")
    with pytest.raises(RunError):
        log.read("bakery")  # the subject of other events


def test_a_sitting_ends_when_its_hours_are_over() -> None:
    now = [0.0]
    watch = Clockwatch(0.5, clock=lambda: now[0])
    watch.check()
    now[0] = 1_800.0
    with pytest.raises(Paused, match=r"0\.5 hours"):
        watch.check()
    Clockwatch(None).check()
