"""What is shown while a run or an evaluation goes: a bar on a terminal, lines elsewhere, and nothing on stdout."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.doors.watching import Course, arms_shown, run_shown
from agent.learning.arms import arm_named
from agent.learning.runs import Checkpoint, Forgotten, Plan, QuestionSet, Run
from agent.learning.steps import Part, Step
from tests.agent.learning.made import made_step

PLAN = Plan(QuestionSet("t", "", 2), QuestionSet("h", "", 1), "m", "shop", "f", epochs=2, holdout_every=2)


def step(
    question: str,
    epoch: int = 1,
    *,
    right: bool = True,
    part: Part = "training",
    arm: str = "memory",
    path: str = "model",
) -> Step:
    return made_step(
        question,
        right=right,
        part=part,
        epoch=epoch,
        arm=arm,
        path=path,
        error="",
        lenient=False,
        cost_usd=0.25,
        seconds=1.0,
    )


def grown(run: Run, *parts: Step | Checkpoint) -> list[Run]:
    """The run as it grows by one part after the other."""
    runs = [run]
    for part in parts:
        more = runs[-1].grown(step=part) if isinstance(part, Step) else runs[-1].grown(checkpoint=part)
        runs.append(more)
    return runs


BEGUN = Run("r1", PLAN, 0.0)
WHOLE = (
    step("x", 0, part="holdout", right=False),
    step("a"),
    step("b", right=False),
    Checkpoint(1, 2, True, (Forgotten("e", "b", "q", "s", "w"),)),
    step("a", 2, path="habit"),
    step("b", 2),
    Checkpoint(2, 2, True),
    step("x", 2, part="holdout"),
)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")


def test_all_questions_of_all_epochs_are_counted_and_the_holdout_as_often_as_it_is_asked() -> None:
    assert Course(PLAN).total == 2 * 2 + 2 * 1
    assert Course(replace(PLAN, holdout_every=0)).total == 2 * 2 + 1
    assert Course(replace(PLAN, holdout=None)).total == 2 * 2


def test_the_bar_says_how_this_epoch_and_the_last_one_went_and_what_was_spent() -> None:
    course, told = Course(PLAN), []
    for run in grown(BEGUN, *WHOLE):
        course.see(run)
        told.append(course.told)
    assert told[0] == "epoch 1 of 2 · 0 % right · 0 % habit · $0.00"
    assert told[1] == "holdout before training · 0 % right · 0 % habit · $0.25"
    assert told[3] == "epoch 1 of 2 · 50 % right · 0 % habit · $0.75"
    assert told[5] == "epoch 2 of 2 · 100 % right (last 50 %) · 100 % habit · $1.00"
    assert told[8] == "holdout after epoch 2 · 100 % right · 0 % habit · $1.50"


def test_an_unknown_price_stays_unknown() -> None:
    course = Course(PLAN)
    course.see(grown(BEGUN, replace(step("a"), cost_usd=None), step("b"))[-1])
    assert course.told.endswith("$ unknown")


def test_without_a_terminal_each_checkpoint_and_each_holdout_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with run_shown(BEGUN) as show:
        for run in grown(BEGUN, *WHOLE):
            show(run)
    out, err = capsys.readouterr()
    assert out == "" and "\x1b" not in err
    lines = err.splitlines()
    assert [line.partition(", about")[0] for line in lines] == [
        "hebbql: holdout before training: 0 of 1 right (0 %), 0 by habit",
        "hebbql: epoch 1 of 2 done: 1 of 2 right (50 %), 0 by habit, 1 forgotten, 0 seeded, $0.75",
        "hebbql: epoch 2 of 2 done: 2 of 2 right (100 %), 1 by habit, 0 forgotten, 0 seeded, $1.25",
        "hebbql: holdout after epoch 2: 1 of 1 right (100 %), 0 by habit",
    ]
    assert ", about 1 min left" in lines[1] and "left" not in lines[3]


def test_nothing_is_left_after_the_end_though_fewer_were_asked_than_planned(capsys: pytest.CaptureFixture[str]) -> None:
    plan = replace(PLAN, training=QuestionSet("t", "", 5), holdout=QuestionSet("h", "", 3))
    runs = grown(replace(BEGUN, plan=plan), *WHOLE)
    with run_shown(runs[0]) as show:
        for run in (*runs, replace(runs[-1], finished=1.0)):
            show(run)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("hebbql: holdout after epoch 2") and "left" not in lines[-1]
    once = grown(replace(BEGUN, plan=replace(plan, holdout_every=0)), *WHOLE[1:])
    with run_shown(once[0]) as show:
        for run in (*once, replace(once[-1], finished=1.0)):
            show(run)
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("hebbql: holdout after epoch 2") and "left" not in last
    alone = grown(replace(BEGUN, plan=replace(plan, holdout=None)), *WHOLE[1:-1])
    with run_shown(alone[0]) as show:
        for run in alone:
            show(run)
    first, last = capsys.readouterr().err.splitlines()
    assert "left" in first and "epoch 2 of 2 done" in last and "left" not in last


def test_what_is_left_is_counted_from_what_an_epoch_and_a_holdout_had() -> None:
    planned = Course(replace(PLAN, training=replace(PLAN.training, questions=5), holdout=QuestionSet("h", "", 3)))
    totals = []
    for run in grown(BEGUN, *WHOLE):
        planned.see(run)
        totals.append(planned.total)
    assert totals[1] == 2 * 5 + 2 * 3 and totals[2] == 2 * 5 + 2 * 1 and totals[4] == 2 * 2 + 2 * 1


def test_a_resumed_run_tells_only_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    *_, half, _closed = grown(BEGUN, *WHOLE[:6])
    runs = grown(half, *WHOLE[5:])
    with run_shown(half) as show:
        for run in runs:
            show(run)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["epoch 2 of 2 done", "holdout after epoch 2"]


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_a_bar_moves_and_stdout_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with run_shown(BEGUN) as show:
        for run in grown(BEGUN, *WHOLE):
            show(run)
            print("data")
    out, err = capsys.readouterr()
    assert out == "data\n" * (len(WHOLE) + 1)
    assert "100 %" in err and "holdout after epoch 2" in err and "epoch 1 of 2 done: 1 of 2 right" in err


@pytest.mark.usefixtures("terminal")
def test_each_arm_has_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    arms = [arm for name in ("schema", "memory") if (arm := arm_named(name))]
    with arms_shown(arms, 2) as show:
        for arm in arms:
            for question in "ab":
                show(step(question, 0, part="holdout", arm=arm.name))
    out, err = capsys.readouterr()
    assert out == "" and "schema: 100 % right" in err and "memory: 100 % right" in err and err.count("100 %") >= 4


def test_without_a_terminal_each_arm_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    arms = [arm for name in ("schema", "memory") if (arm := arm_named(name))]
    with arms_shown(arms, 1) as show:
        show(step("a", 0, part="holdout", arm="schema", right=False))
        show(step("a", 0, part="holdout", arm="memory"))
    assert capsys.readouterr().err.splitlines() == [
        "hebbql: schema: 0 of 1 right (0 %), 0 by habit, $0.25",
        "hebbql: memory: 1 of 1 right (100 %), 0 by habit, $0.25",
    ]
