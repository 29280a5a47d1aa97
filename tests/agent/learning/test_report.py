"""A report says what a run came to: honestly, from its steps alone, and in files that are whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from agent.learning.report import markdown, summary, write_run
from agent.learning.runs import Checkpoint, Forgotten, Pause, Plan, QuestionSet, Run, RunError, Seeded
from agent.learning.steps import Part, Step

PLAN = Plan(QuestionSet("golds.jsonl", "ab" * 32, 3), QuestionSet("held.jsonl", "cd" * 32, 2), "0.5b", "shop", "f", 2)


def step(question: str, epoch: int = 1, *, right: bool = True, part: Part = "training", **known: object) -> Step:
    usual: dict[str, object] = {
        "part": part,
        "epoch": epoch,
        "arm": "memory",
        "question": question,
        "type": "count",
        "difficulty": "easy",
        "language": "en",
        "attempt": f"{question}{epoch}",
        "bucket": f"b-{question}",
        "kind": "count",
        "right": right,
        "error": "" if right else "rows",
        "rule": "",
        "reason": "" if right else "It gives other rows.",
        "lenient": right,
        "status": "answered",
        "path": "model",
        "approach": "direct",
        "recalled": 0,
        "calls": 1,
        "replayed": 0,
        "input_tokens": 100,
        "cached_tokens": 50,
        "output_tokens": 10,
        "cost_usd": 0.0,
        "seconds": 30.0,
        "sql": "SELECT 1",
    }
    return Step(**{**usual, **known})  # type: ignore[arg-type]


def habit(question: str, epoch: int, *, right: bool = True) -> Step:
    nothing: dict[str, Any] = {"calls": 0, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "seconds": 0.0}
    return step(question, epoch, right=right, path="habit", approach="", **nothing)


FORGOTTEN = Forgotten("e1", "b-c", "How many | c?", "SELECT 2", "it fired in 3 failures")
SEEDED = Seeded("e2", "b-c", "How many c?", "nothing was right in epoch 1")
RUN = Run(
    "r1",
    PLAN,
    1_000.0,
    (
        *(step(one, 0, part="holdout", right=False) for one in "xy"),
        step("a"),
        step("b", right=False),
        step("c", right=False, error="not_run", rule="unknown_column"),
        habit("a", 2),
        step("b", 2, cost_usd=0.5),
        step("c", 2),
        step("x", 2, part="holdout"),
        step("y", 2, part="holdout", right=False),
    ),
    (
        Checkpoint(1, 3, True, (FORGOTTEN,), (SEEDED,), ("c: its check gives another result",)),
        Checkpoint(2, 3, True),
    ),
    (Pause("The network is down.", 2_000.0),),
    8_200.0,
)


def test_the_first_sentence_is_the_finding() -> None:
    assert summary(RUN).finding == (
        "In 2 epochs 0.5b went from 1 of 3 (33 %) training questions right to 3 of 3 (100 %); on the holdout, from "
        "which nothing was learned, from 0 of 2 (0 %) before training to 1 of 2 (50 %) after it (95 % interval 9 % to "
        "91 %)."
    )
    assert markdown(summary(RUN), about={}).splitlines()[2] == summary(RUN).finding


def test_what_was_given_is_told_apart_from_what_was_found() -> None:
    found = {one.how: (one.questions, one.right_at_last) for one in summary(RUN).found}
    assert found == {"at once": (1, 1), "later": (1, 1), "helped": (1, 1), "given": (0, 0), "never": (0, 0)}
    assert (
        "- Of 3 training questions, 2 became right without a gold in their bucket, 1 only after golds of others were "
        "seeded there, 0 only after their own, 0 never."
    ) in markdown(summary(RUN), about={}).splitlines()


@pytest.mark.parametrize(
    ("after", "how"),
    [((1, 1), "helped"), ((2, 1), "helped"), ((2, 2), "later"), ((3, 0), "later")],
    ids=["an epoch before", "just before", "just after", "an epoch after"],
)
def test_a_gold_counts_as_given_only_to_what_became_right_after_it(after: tuple[int, int], how: str) -> None:
    steps = (step("a", right=False), step("b", 2), step("a", 2))
    run = replace(RUN, steps=steps, checkpoints=(Checkpoint(*after, seeded=(Seeded("e", "b-a", "q", "w"),)),))
    found = {one.how: one.questions for one in summary(run).found}
    assert found == {"at once": 1, "later": 0, "helped": 0, "given": 0, "never": 0} | {how: 1}


def test_a_question_whose_own_gold_was_seeded_was_given_it() -> None:
    gold = Checkpoint(1, 1, seeded=(Seeded("e", "b-a", "q", "w", "a"),))
    run = replace(RUN, steps=(step("a", right=False), step("a", 2)), checkpoints=(gold,))
    assert {one.how: one.questions for one in summary(run).found}["given"] == 1


def test_a_question_that_was_right_before_its_bucket_was_seeded_was_found() -> None:
    later = Checkpoint(1, 1, seeded=(Seeded("e", "b-a", "q", "w"),))
    run = replace(RUN, steps=(step("a"), step("a", 2)), checkpoints=(later,))
    assert {one.how: one.questions for one in summary(run).found}["at once"] == 1


def test_epochs_count_habits_calls_and_what_checkpoints_did() -> None:
    first, second = summary(RUN).epochs
    assert (first.training.right, first.training.total, first.closed) == (1, 3, True)
    assert (first.forgotten, first.seeded, first.holdout) == (1, 1, None)
    assert (second.habits, second.habits_wrong, second.spent.calls) == (1, 0, 2)
    assert second.holdout is not None and (second.holdout.right, second.holdout.total) == (1, 2)
    assert second.spent.cost_usd == 0.5 and second.spent.seconds == 60.0


def test_an_unknown_price_makes_the_sum_unknown_and_never_nothing() -> None:
    run = replace(RUN, steps=(*RUN.steps, step("d", 2, cost_usd=None)))
    told = summary(run)
    assert told.spent.cost_usd is None and told.epochs[1].spent.cost_usd is None
    assert told.epochs[0].spent.cost_usd == 0.0
    assert "cost unknown" in markdown(told, about={})


def test_a_wrong_habit_stands_out() -> None:
    run = replace(RUN, steps=(*RUN.steps, habit("d", 2, right=False)))
    assert summary(run).habits_wrong == 1
    told = markdown(summary(run), about={})
    assert "**1 of them wrong**" in told and "2 (1 wrong)" in told
    assert "none of them wrong" in markdown(summary(RUN), about={})


def test_what_is_still_wrong_is_told_by_type_and_kind_of_error() -> None:
    steps = (
        step("a", right=False, type="share"),
        step("b", right=False, type="share", error="not_run", rule="unknown_column"),
        step("c", type="share"),
        step("d", right=False, type="", error="", status="abstained"),
        step("e", type="lookup"),
    )
    run = replace(RUN, steps=steps, checkpoints=(Checkpoint(1, 5, True),))
    told = markdown(summary(run), about={})
    assert "| share | 2 | 3 | other rows: 1, did not run (unknown column): 1 |" in told
    assert "| without a type | 1 | 1 | abstained: 1 |" in told
    assert "| all | 3 | 5 |" in told and "| lookup |" not in told


def test_each_question_that_is_still_wrong_is_named_with_its_why_and_its_sql() -> None:
    steps = (
        step("a", right=False, sql="SELECT x | 1\nFROM " + 200 * "t"),
        step("b", right=False, error="not_run", rule="unknown_column", reason="No <column> y.", sql="SELECT y"),
        step("c", right=False),
        step("c", 2),
        *(step(one, 2, right=False, sql="") for one in "ab"),
        step("x", 2, part="holdout", right=False, error="no_answer", reason="", sql=""),
        step("y", 2, part="holdout"),
    )
    told = markdown(summary(replace(RUN, steps=steps, checkpoints=(Checkpoint(1, 3, True),))), about={})
    assert "| a | other rows: It gives other rows. | `SELECT x \\| 1 FROM " + 101 * "t" + "…` |" in told
    assert "| b | did not run (unknown column): No &lt;column> y. | `SELECT y` |" in told
    assert "\n| c | other rows: It gives other rows. | `SELECT 1` |" in told, "of the last whole epoch, not the last"
    assert "| x | no answer |  |" in told and "\n| y |" not in told
    right = replace(RUN, steps=tuple(one for one in RUN.steps if one.right and one.epoch), checkpoints=())
    assert "its SQL" not in markdown(summary(right), about={})


def test_of_very_many_wrong_questions_a_person_is_shown_some_and_a_program_all(tmp_path: Path) -> None:
    steps = tuple(step(f"q{number}", right=False) for number in range(45))
    write_run(tmp_path, replace(RUN, steps=steps, checkpoints=(Checkpoint(1, 45, True),)), about={})
    told = (tmp_path / "report.md").read_text("utf-8")
    assert told.count("| `SELECT 1` |") == 40 and "And 5 more, in `attempts.jsonl`." in told
    wrong = json.loads((tmp_path / "report.json").read_text("utf-8"))["wrong"]
    assert len(wrong) == 45 and wrong[-1]["question"] == "q44" and wrong[-1]["error"] == "rows"


def test_the_last_whole_epoch_is_told_not_one_that_was_only_begun() -> None:
    run = replace(RUN, steps=(*RUN.steps, step("a", 3, right=False)), finished=None)
    told = summary(run)
    assert told.finding.startswith("So far, in 2 epochs of 2, 0.5b went from 1 of 3")
    assert sum(one.asked for one in told.types) == 3 and not told.epochs[-1].closed
    text = markdown(told, about={})
    assert "| 3, not whole |" in text and "`hebbql train --resume r1`" in text
    assert all(name in text for name in ("--train,", "--holdout,", "--published,", "--db,", "--brain", "--model"))


def test_an_epoch_that_is_not_whole_is_not_told_as_if_it_were() -> None:
    run = replace(RUN, steps=(step("a"), step("b", right=False)), checkpoints=(), finished=None)
    told = summary(run).finding
    assert told.startswith(
        "So far, the first epoch not whole yet, 0.5b answered 1 of 2 (50 %) training questions right"
    )


def test_every_forget_event_and_seeding_stands_there_with_its_why() -> None:
    told = markdown(summary(RUN), about={})
    assert "| 1, after 3 | How many \\| c? | SELECT 2 | it fired in 3 failures | b-c |" in told
    assert "| 1, after 3 | How many c? | nothing was right in epoch 1 | b-c |" in told
    assert "- c: its check gives another result" in told
    assert "paused 1970-01-01 00:33 UTC: The network is down." in told
    off = replace(RUN, plan=replace(PLAN, forgetting=False, seeding=False), checkpoints=())
    assert "forgetting was off" in markdown(summary(off), about={})
    assert "seeding was off" in markdown(summary(off), about={})


def test_buckets_in_which_nothing_worked_are_counted() -> None:
    assert summary(RUN).barren == () and "was ever right" not in markdown(summary(RUN), about={})
    barren = replace(RUN, steps=(*RUN.steps, step("d", 2, right=False)))
    assert summary(barren).barren == ("b-d",)
    said = "- In 1 bucket no answer was ever right, and no gold was seeded."
    assert said in markdown(summary(barren), about={}).splitlines()
    first = replace(RUN, steps=tuple(step for step in RUN.steps if step.epoch == 1))
    assert summary(first).barren == ("b-b",), "c's bucket was seeded"


def test_a_run_in_which_nothing_was_asked_has_a_report(tmp_path: Path) -> None:
    empty = Run("r0", PLAN, 0.0)
    assert summary(empty).finding == "Nothing was asked yet."
    write_run(tmp_path, empty, about={})
    told = (tmp_path / "report.md").read_text("utf-8")
    assert "Nothing was asked yet." in told and "--resume r0" in told and "- model: 0.5b" in told
    assert "|--" not in told and "Epochs" not in told and "wrong" not in told and "curve" not in told


def test_a_run_of_which_only_the_holdout_was_asked_says_so() -> None:
    told = summary(Run("r0", PLAN, 0.0, RUN.steps[:2]))
    assert told.finding == "No training question was asked yet; before training, 0 of 2 (0 %) of the holdout are right."
    text = markdown(told, about={})
    assert "| before |" in text and "What was found" not in text


def test_a_run_without_holdout_speaks_of_none() -> None:
    steps = tuple(step for step in RUN.steps if step.part == "training")
    alone = replace(RUN, plan=replace(PLAN, holdout=None), steps=steps)
    assert "holdout" not in summary(alone).finding and "holdout questions: none" in markdown(summary(alone), about={})
    waiting = replace(RUN, steps=steps)
    assert summary(waiting).finding.endswith("the 2 holdout questions were not asked yet.")


def test_the_files_hold_the_whole_run_and_no_place_of_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "r1"
    plan = replace(PLAN, model="recorded:/somewhere/on/this/replies.jsonl")
    reason = "/somewhere/on/this/disk is full."
    steps = (*RUN.steps, step("d", 2, right=False, reason="/somewhere/on/this/replies.jsonl has no reply."))
    run = replace(RUN, plan=plan, steps=steps, pauses=(Pause(reason, 0.0),))
    write_run(folder, run, about={"command": "hebbql train --train /somewhere/on/this/golds.jsonl"})
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "attempts.jsonl",
        "curve.svg",
        "report.json",
        "report.md",
    }
    texts = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert [name for name, text in texts.items() if "somewhere" in text] == []
    attempts = [json.loads(line) for line in texts["attempts.jsonl"].splitlines()]
    assert [(one["question"], one["epoch"]) for one in attempts] == [(one.question, one.epoch) for one in steps]
    config = json.loads(texts["config.json"])
    assert config["plan"]["training"]["digest"] == "ab" * 32 and config["about"]["command"].endswith(" golds.jsonl")
    assert json.loads(texts["report.json"])["finding"] == summary(run).finding
    assert ElementTree.fromstring(texts["curve.svg"]).tag.endswith("svg")


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    write_run(tmp_path, replace(RUN, steps=RUN.steps[:3], finished=None), about={})
    write_run(tmp_path, RUN, about={})
    assert len((tmp_path / "attempts.jsonl").read_text("utf-8").splitlines()) == len(RUN.steps)
    assert len(list(tmp_path.iterdir())) == 5


def test_a_folder_that_cannot_be_written_is_named_and_the_run_said_to_be_kept(tmp_path: Path) -> None:
    place = tmp_path / "r1"
    place.write_text("a file", "utf-8")
    with pytest.raises(RunError, match=r"r1.*kept in the brain.*--resume"):
        write_run(place, RUN, about={})
