"""Training and examining an opened app: what is right for one question alone, and what ends a run in good order."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agent.school as school
from agent.app import App, open_app
from agent.attempt import Attempt, Draft
from agent.database.result import QueryFailed, Result
from agent.learning.arms import ARMS, Arm, arm_named
from agent.learning.evaluating import summarise, write_evaluation
from agent.learning.questions import Pair, QuestionFileError, read_pairs
from agent.learning.runs import Run, RunError
from agent.learning.steps import Step
from agent.learning.training import TrainingOptions
from agent.models.port import Reply
from agent.models.recorded import ScriptedModel
from agent.school import reached
from agent.settings import Levers, Settings
from memory.embedder import MiniLM
from memory.ledger import EventKind
from memory.lessons import Lesson, Lessons
from memory.reference_store import ReferenceStore
from procedural.store import Bucket
from procedural.synapse import Target

BOATS = """
CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL);
INSERT INTO Boats VALUES (1, 'Hoopvol', 'Veere', 9.5), (2, 'Stille', 'Hoorn', 12.0), (3, 'Vrouwe', 'Veere', 7.0);
"""
COUNT = "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'"
MEAN = "SELECT AVG(Metres) FROM Boats"
GOLDS = {"How many boats are in Veere?": COUNT, "What is the average length in metres?": MEAN}
ONE = Result(("n",), ((1,),))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "boats.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(BOATS)
    lines = [json.dumps({"id": f"b{n}", "question": asked, "sql": sql}) for n, (asked, sql) in enumerate(GOLDS.items())]
    (tmp_path / "golds.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return Settings(
        database=str(path),
        data=tmp_path,
        runs=tmp_path / "runs",
        brain=str(tmp_path / "brain"),
        levers=Levers.read("none"),  # the model alone answers
        sow=False,
    )


@pytest.fixture
def options(settings: Settings) -> TrainingOptions:
    return TrainingOptions(training=settings.data / "golds.jsonl", epochs=1, cache=False, seeding=False, patience=0.0)


@contextmanager
def opened(settings: Settings, minilm: MiniLM, *replies: Any, say: Callable[[str], None] = print) -> Iterator[App]:
    """An app with a scripted model, and an episode store that needs no Cognee."""
    with open_app(settings, say=say) as app:
        app.model = ScriptedModel(replies)
        app.__dict__["store"] = ReferenceStore(embedder=minilm)
        yield app


def trained(app: App, options: TrainingOptions) -> Run:
    *_, run = app.train(app.begin_run(options), options)
    return run


def asked(app: App, pairs: Sequence[Pair], *names: str) -> list[Step]:
    arms: list[Arm] = [arm for arm in ARMS if arm.name in names]
    return list(app.evaluate(pairs, arms, cache=False))


def test_habits_answer_in_no_arm_that_must_not_have_the_episodes_of_the_question(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    pairs = read_pairs(options.training)[:1]
    with opened(settings, minilm, *[COUNT] * 20) as app:
        run = trained(app, replace(options, only_training=("b0",), epochs=4))
        assert run.steps[-1].is_habit
        paths = {step.arm: step.path for step in asked(app, pairs, "memory", "shuffled", "constant", "episodes")}
    assert paths == {"memory": "habit", "shuffled": "model", "constant": "model", "episodes": "model"}


def test_the_bare_arm_shows_no_name_of_the_schema_whatever_approach_is_asked_for(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    pairs = read_pairs(options.training)
    replies = ("SELECT Harbor FROM Bots", "SELECT 1", "SELECT 1")
    with opened(replace(settings, approach="values"), minilm, *replies) as app:
        model = app.model
        steps = asked(app, pairs, "bare")
    assert isinstance(model, ScriptedModel) and [step.approach for step in steps] == ["direct", "direct"]
    shown = [prompt.stable + prompt.turns[-1].text for prompt in model.prompts]
    assert len(shown) == 3 and not any(name in text for text in shown for name in ("Boats", "Harbour", "Metres"))


def test_the_shuffled_arm_goes_by_the_memories_of_another_question_alone(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    one, other = read_pairs(options.training)
    with opened(settings, minilm) as app:
        bucket = app.understand(other.question)
        known = Bucket(bucket.bucket, bucket.intent.kind, bucket.intent.tables)
        failed = [Target("approach", name) for name in ("values", "direct", "skeleton")]
        with app.ledger.transaction() as entry:
            for _ in range(3):
                app.synapses.fire(entry.connection, known, failed, 0.0, entry.at)
        assert app.understand(one.question).bucket != bucket.bucket
        attempt = Attempt(id="a", question=one.question, model="", understood=app.understand(one.question))
        shuffled = arm_named("shuffled")
        assert shuffled is not None
        assert app.approaching.choose(attempt, arm=shuffled, other=bucket).approach == "plan"
        lesson = Lesson(bucket.bucket, bucket.masked, other.question, "SELECT 2", "No.", other.sql, "train:r:a")
        with app.ledger.transaction() as entry:
            Lessons(app.ledger).learn(entry, lesson)
        fresh = app.understand(one.question)
        assert [one.wrong_sql for one in app.approaching.material(fresh, shuffled, bucket).lessons] == ["SELECT 2"]
        assert app.approaching.material(app.understand(one.question)).lessons == ()


@pytest.mark.parametrize("forgetting", [True, False])
def test_an_ablation_of_forgetting_leaves_nothing_out_of_what_holdout_questions_recall_either(
    settings: Settings, options: TrainingOptions, minilm: MiniLM, monkeypatch: pytest.MonkeyPatch, forgetting: bool
) -> None:
    arms: list[Arm] = []
    real = App.ask

    def ask(app: App, question: str, *, arm: Arm, **more: Any) -> Any:
        arms.append(arm)
        return real(app, question, arm=arm, **more)

    monkeypatch.setattr(App, "ask", ask)
    with opened(settings, minilm, *[COUNT] * 4) as app:
        once = replace(options, holdout=options.training, only_training=("b0",), only_holdout=("b1",))
        trained(app, replace(once, forgetting=forgetting))
    assert [(arm.sifted, arm.trying) for arm in arms] == [(forgetting, True), (forgetting, False)]


def test_copies_that_cannot_be_written_are_told_with_what_to_do(
    settings: Settings, options: TrainingOptions, minilm: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_what: object, **_how: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("agent.learning.remaking.remake", full)
    with opened(settings, minilm) as app, pytest.raises(RunError, match=r"No space left on device. Make room there"):
        trained(app, options)


@pytest.mark.parametrize(("kind", "paused"), [("locked", True), ("connection", True), ("error", False)])
def test_an_answer_is_not_wrong_because_the_database_was_out_of_reach_when_it_was_judged(
    settings: Settings,
    options: TrainingOptions,
    minilm: MiniLM,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    paused: bool,
) -> None:
    with opened(settings, minilm, COUNT, COUNT) as app:
        model = app.model
        assert isinstance(model, ScriptedModel)

        def copy(sql: str) -> Result:
            if len(model.prompts) == 1:
                raise QueryFailed("It cannot be asked.", kind=kind)
            return app.checked_run(sql)

        @contextmanager
        def mutated(*_what: object, **_how: object) -> Iterator[Any]:
            yield (copy,)

        monkeypatch.setattr(school, "mutated", mutated)
        once = replace(options, only_training=("b0",))
        run = trained(app, once)
        assert [step.right for step in run.steps] == ([] if paused else [True]), (
            "a copy where nothing runs says nothing"
        )
        if paused:
            assert run.pauses[0].reason == "It cannot be asked." and not app.ledger.episodes()
            *_, run = app.train(app.resume_run(None, once), once)
            assert [step.right for step in run.steps] == [True]
        assert run.finished is not None


def test_a_query_whose_process_ended_is_run_once_more_and_is_to_blame_the_second_time() -> None:
    ends = [True, False, True, True]

    def run(_sql: str) -> Result:
        if ends.pop(0):
            raise QueryFailed("It ended.", kind="worker")
        return ONE

    assert reached(run)("SELECT 1") == ONE
    with pytest.raises(QueryFailed):
        reached(run)("SELECT 1")
    assert ends == []


def test_a_finished_run_is_not_paused_by_what_comes_after(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    said: list[str] = []
    with opened(settings, minilm, COUNT, say=said.append) as app:
        once = replace(options, only_training=("b0",))
        begun = app.begin_run(once)
        going = app.train(begun, once)
        run = next(grown for grown in going if grown.is_at_checkpoint)
        (settings.runs / run.id).rename(settings.runs / "elsewhere")
        (settings.runs / run.id).touch()
        last = next(going)
        assert last.finished is not None and not last.pauses
        assert [line for line in said if "cannot be written" in line]
        assert app._school.log.read(run.id).pauses == ()


def test_what_is_erased_is_gone_from_the_files_of_runs_and_evaluations_too(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    pairs = read_pairs(options.training)
    replies = [COUNT, MEAN, COUNT.replace("COUNT(*)", "count( * )"), MEAN]
    with opened(settings, minilm, *replies) as app:
        run = trained(app, replace(options, seed=4))
        steps = list(app.evaluate(pairs, [arm for arm in ARMS if arm.name == "schema"], cache=False))
        mine, odd = settings.runs / "evaluation-1", settings.runs / "evaluation-2"
        write_evaluation(mine, summarise(steps), steps, about={"model": "scripted"})
        odd.mkdir()
        (odd / "evaluation.json").write_text(json.dumps({"note": COUNT}))
        erased = app.forget(tuple(one for one in app.ledger.episodes() if one.sql == COUNT), erase=True)
    assert "2 runs and evaluations" in erased.proof[-3]
    assert erased.proof[-1] == "files searched for their SQL: 1 hold them evaluation-2/evaluation.json"
    kept = json.loads((mine / "evaluation.json").read_text())
    assert [step["sql"] for step in kept["steps"]] == ["", MEAN] and kept["about"] == {"model": "scripted"}
    assert kept["arms"][0]["share"]["right"] == 2, "what it came to stays"
    attempts = (settings.runs / run.id / "attempts.jsonl").read_text().splitlines()
    assert len(attempts) == 2 and not any(COUNT in attempt for attempt in attempts)


def test_a_run_without_a_gold_that_holds_is_not_begun(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    broken = settings.data / "broken.jsonl"
    broken.write_text(json.dumps({"id": "x", "question": "How many boats?", "sql": "SELECT COUNT(*) FROM Ships"}))
    said: list[str] = []
    with opened(settings, minilm, say=said.append) as app:
        with pytest.raises(QuestionFileError, match="nothing to ask"):
            app.begin_run(replace(options, training=broken))
        with pytest.raises(RunError, match="No run is unfinished"):
            app.resume_run(None, options)
    assert sum("x is left out" in line for line in said) == 1


def test_a_model_that_declined_gave_no_answer_even_where_an_adapted_draft_is_right(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    pair = read_pairs(options.training)[0]
    with opened(settings, minilm) as app:
        draft = Draft(None, Reply(COUNT), sql=COUNT, result=app.checked_run(COUNT), origin="adapted")
        attempt = Attempt(id="a", question=pair.question, model="", drafts=(draft,), status="answered")
        assert app._school.verdict(pair, attempt).right
        declined = app._school.verdict(pair, replace(attempt, status="abstained", message="It cannot be said."))
    assert (declined.right, declined.error, declined.reason) == (False, "no_answer", "It cannot be said.")


def test_a_run_goes_on_with_the_effort_and_the_levers_that_it_was_begun_with(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    with opened(replace(settings, think="deep", levers=Levers.read("adapt, names")), minilm) as app:
        run = app.begin_run(options)
        assert app.resume_run(None, options) == run
    others = {"--think deep": replace(settings, levers=Levers.read("adapt, names")), "HEBBQL_LEVERS=adapt,names": None}
    for told, other in others.items():
        with (
            opened(other or replace(settings, think="deep"), minilm) as app,
            pytest.raises(RunError, match=rf"begun with {told}, so .* Give the same again"),
        ):
            app.resume_run(run.id, options)


def test_a_run_that_was_planned_before_effort_and_levers_were_goes_on_with_any(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    with opened(settings, minilm) as app:
        begun = app.begin_run(options)
        [event] = app.ledger.events(kinds=(EventKind.RUN_BEGAN,))
        older = {name: value for name, value in (event.content or {}).items() if name not in ("think", "levers")}
        with app.ledger.transaction() as entry:
            entry.append(EventKind.RUN_BEGAN, "older", older)
    with opened(replace(settings, think="deep", levers=Levers.read("all")), minilm) as app:
        assert app.resume_run("older", options).plan == replace(begun.plan, think="", levers="")


def test_a_holdout_question_that_is_trained_on_is_left_out_and_one_alike_is_named(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    held = settings.data / "held.jsonl"
    asked = {
        "same": ("how many boats are in Veere", COUNT),
        "alike": ("How many boats are in Hoorn?", COUNT.replace("Veere", "Hoorn")),
        "new": ("Which boat is the longest?", "SELECT Name FROM Boats ORDER BY Metres DESC LIMIT 1"),
    }
    held.write_text("\n".join(json.dumps({"id": id, "question": q, "sql": sql}) for id, (q, sql) in asked.items()))
    said: list[str] = []
    with opened(settings, minilm, COUNT, MEAN, "SELECT 1", "SELECT 2", say=said.append) as app:
        run = trained(app, replace(options, holdout=held))
        assert [step.question for step in run.of(1, "holdout")] == ["alike", "new"]
        assert all(step.sql and step.reason for step in run.of(1, "holdout")), "what was wrong can be looked up"
        with pytest.raises(QuestionFileError, match="none is held out"):
            app.begin_run(replace(options, holdout=options.training))
        told = (settings.runs / run.id / "report.md").read_text("utf-8")
    assert sum("same is left out of the holdout" in line for line in said) == 1
    assert "alike says less" in " ".join(said) and "same is left out of the holdout" in told


def test_an_accepted_query_that_does_not_run_is_named(settings: Settings, minilm: MiniLM) -> None:
    asked = Pair("x", "How many boats?", "SELECT COUNT(*) FROM Boats", (), False, "", "", "en", 1, ("SELECT x FROM y",))
    said: list[str] = []
    with opened(settings, minilm, say=said.append) as app:
        assert app.confirmed([asked]) == ((asked,), ())
    assert any("x: an accepted query does not run" in line for line in said)


def test_a_question_that_links_to_nothing_is_asked_once_its_very_words_are_remembered(
    settings: Settings, options: TrainingOptions, minilm: MiniLM
) -> None:
    question = "wich bot is teh longst of tehm"
    with opened(settings, minilm, MEAN, MEAN) as app:
        *_, first = app.ask(question)
        assert first.status == "abstained"
        pack = settings.data / "pack.jsonl"
        pack.write_text(json.dumps({"id": "p", "question": question, "sql": MEAN}))
        app.seed(pack)
        *_, second = app.ask(question.upper())
        assert second.status == "answered" and second.recalled
        *_, bare = app.ask(question, arm=arm_named("schema"))
        assert bare.status == "abstained"
