"""An evaluation asks the same of every arm, and all that it tells is computed from its steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.attempt import Attempt
from agent.learning.arms import ARMS, Arm, arm_named
from agent.learning.evaluating import (
    EvaluationError,
    evaluate,
    evaluation_json,
    summarise,
    without_places,
    write_evaluation,
)
from agent.learning.findings import finding, markdown
from agent.learning.judging import Judge, Verdict
from agent.learning.questions import Pair
from agent.learning.steps import Step, read_step
from agent.models.port import ModelError, ModelUnavailableError, Reply
from tests.agent.learning.made import made_step

RYE = "SELECT Price FROM Breads WHERE Name = 'Rye Loaf'"
TOWNS = "SELECT COUNT(*) FROM Bakers WHERE Town = 'Linz'"

PAIRS = (
    Pair("rye", "What does the Rye Loaf cost?", RYE, (), False, "lookup", "easy", "en", 1),
    Pair("linz", "How many bakers live in Linz?", TOWNS, (), False, "count", "hard", "en", 2),
)
SCHEMA, MEMORY = arm_named("schema"), arm_named("memory")


def arms(*names: str) -> tuple[Arm, ...]:
    return tuple(arm for arm in ARMS if arm.name in names)


@pytest.fixture
def asked(bakery: Any) -> Callable[..., list[Step]]:
    """Evaluates on the real bakery, the model scripted: what it says in each arm to each question."""
    judge = Judge(run=lambda sql: bakery.run(bakery.check(sql)), copies=())

    def run(
        said: dict[tuple[str, str], Sequence[Reply | str | ModelError]], pairs: Sequence[Pair] = PAIRS
    ) -> list[Step]:
        def ask(pair: Pair, arm: Arm) -> Attempt:
            attempt: Attempt = bakery.ask(pair.question, *said[arm.name, pair.id])
            return attempt

        def judged(pair: Pair, attempt: Attempt) -> Verdict:
            problem = attempt.last.problem if attempt.last else ""
            return judge.judge(pair, attempt.sql, attempt.result, problem=problem)

        names = dict.fromkeys(arm for arm, _ in said)
        return list(evaluate(pairs, arms(*names), ask=ask, judge=judged))

    return run


def step(arm: str, question: str, right: bool, **known: Any) -> Step:
    plain = {
        "part": "holdout",
        "epoch": 0,
        "arm": arm,
        "type": "lookup",
        "difficulty": "easy",
        "attempt": f"{arm}-{question}",
        "kind": "lookup",
        "input_tokens": 100,
        "cached_tokens": 50,
        "output_tokens": 10,
        "cost_usd": 0.5,
        "seconds": 1.0,
    }
    return made_step(question, right=right, **{**plain, **known})


def steps_of(arm: str, rights: str) -> list[Step]:
    """Steps of an arm, `+` for each right and `-` for each wrong answer."""
    return [step(arm, f"q{place:02}", sign == "+") for place, sign in enumerate(rights)]


def test_every_arm_is_asked_the_same_questions_in_the_same_order_and_judged(asked: Callable[..., list[Step]]) -> None:
    wrong = "SELECT Price FROM Breads WHERE Name = 'Poppy Roll'"
    steps = asked(
        {
            ("schema", "rye"): [wrong],
            ("schema", "linz"): [TOWNS],
            ("memory", "rye"): [RYE],
            ("memory", "linz"): ["SELECT COUNT(*) FROM Bakers WHERE City = 'Linz'"] * 3,
        }
    )
    assert [(one.arm, one.question, one.right) for one in steps] == [
        ("schema", "rye", False),
        ("schema", "linz", True),
        ("memory", "rye", True),
        ("memory", "linz", False),
    ]
    assert {(one.part, one.epoch) for one in steps} == {("holdout", 0)}
    assert (steps[0].error, steps[3].error, steps[3].rule) == ("values", "not_run", "unknown_column")
    found = summarise(steps)
    gain = found.comparison("memory", "schema")
    assert gain is not None
    assert (gain.difference.gained, gain.difference.lost, gain.difference.total) == (1, 1, 2)
    memory = found.arm("memory")
    assert memory is not None
    assert [(each.name, each.count) for each in memory.errors] == [("not_run", 1)]
    assert [(each.name, each.count) for each in memory.rules] == [("unknown_column", 1)]
    assert [(one.name, one.share.right, one.share.total) for one in memory.slices if one.dimension == "difficulty"] == [
        ("easy", 1, 1),
        ("hard", 0, 1),
    ]


def test_a_model_out_of_reach_stops_it_after_what_was_done(bakery: Any) -> None:
    judge = Judge(run=lambda sql: bakery.run(bakery.check(sql)), copies=())
    said: dict[tuple[str, str], Sequence[Reply | str | ModelError]] = {
        ("schema", "rye"): [RYE],
        ("schema", "linz"): [TOWNS],
        ("memory", "rye"): [RYE],
        ("memory", "linz"): [ModelUnavailableError("The model cannot be reached. Check the network.")],
    }
    going = evaluate(
        PAIRS,
        arms("schema", "memory"),
        ask=lambda pair, arm: bakery.ask(pair.question, *said[arm.name, pair.id]),
        judge=lambda pair, attempt: judge.judge(pair, attempt.sql, attempt.result),
    )
    done: list[Step] = []
    with pytest.raises(EvaluationError, match=r"3 of 4 questions.*'linz'.*memory.*1 of 2.*Check the network\. "):
        for one in going:
            done.append(one)
    assert [(one.arm, one.question) for one in done] == [("schema", "rye"), ("schema", "linz"), ("memory", "rye")]
    assert finding(summarise(done)).count("Not every question was asked in every arm.") == 1


def test_an_arm_or_question_that_stands_there_twice_is_named_before_anything_is_asked() -> None:
    def never(*_given: object) -> Any:
        raise AssertionError("nothing is asked")

    with pytest.raises(EvaluationError, match="arm 'schema' stands there twice"):
        list(evaluate(PAIRS, arms("schema") * 2, ask=never, judge=never))
    with pytest.raises(EvaluationError, match="question 'rye' stands there twice"):
        list(evaluate((PAIRS[0], PAIRS[0]), arms("schema"), ask=never, judge=never))


def test_every_arm_is_compared_with_schema_and_memory_with_what_it_must_beat() -> None:
    steps = [one for arm in ARMS for one in steps_of(arm.name, "+-" * 5)]
    assert [(one.arm, one.against) for one in summarise(steps).comparisons] == [
        ("bare", "schema"),
        ("episodes", "schema"),
        ("memory", "schema"),
        ("shuffled", "schema"),
        ("constant", "schema"),
        ("memory", "shuffled"),
        ("memory", "constant"),
        ("memory", "episodes"),
    ]


def test_a_question_of_one_arm_only_is_left_out_of_the_pairs_and_said_so() -> None:
    steps = [*steps_of("schema", "--+"), *steps_of("memory", "+++")[:2]]
    found = summarise(steps)
    gain = found.comparison("memory", "schema")
    assert gain is not None
    assert (gain.difference.gained, gain.difference.total, gain.left_out) == (2, 2, ("q02",))
    assert "Left out of `memory` against `schema`, as asked in one of the two only: 1 (q02)." in markdown(
        found, about={}
    )


def test_the_same_question_of_another_epoch_is_another_one_but_twice_in_one_is_refused() -> None:
    first = steps_of("memory", "-")
    later = [replace(one, epoch=1, right=True) for one in first]
    assert summarise([*first, *later]).questions == 2
    with pytest.raises(EvaluationError, match="'q00' was asked twice in the arm memory"):
        summarise([*first, *first])


def test_an_unknown_price_stays_unknown() -> None:
    free = summarise([step("memory", "a", True, cost_usd=0.0), step("memory", "b", True, cost_usd=0.0)]).arms[0]
    assert free.spent.cost_usd == 0.0
    unknown = summarise([step("memory", "a", True, cost_usd=0.25), step("memory", "b", True, cost_usd=None)])
    assert unknown.arms[0].spent.cost_usd is None
    assert '"cost_usd": null' in evaluation_json(unknown, [], about={})
    assert "unknown" in markdown(unknown, about={})


def test_tokens_per_right_answer_are_those_of_wrong_ones_too() -> None:
    spent = summarise(steps_of("memory", "+---")).arms[0].spent
    assert spent.per_right is not None
    assert (spent.per_right.input, spent.per_right.cached, spent.per_right.output) == (400, 200, 40)
    assert summarise(steps_of("memory", "--")).arms[0].spent.per_right is None


def test_seconds_are_of_questions_that_were_not_replayed() -> None:
    timed = [step("memory", f"t{second}", True, seconds=float(second)) for second in range(1, 11)]
    replayed = [step("memory", f"r{place}", True, seconds=0.0, replayed=1) for place in range(30)]
    spent = summarise([*timed, *replayed]).arms[0].spent
    assert (spent.timed, spent.seconds_median, spent.seconds_p90, spent.replayed) == (10, 5.5, 9.0, 30)
    nothing = summarise(replayed).arms[0].spent
    assert (nothing.timed, nothing.seconds_median, nothing.seconds_p90) == (0, None, None)


def test_a_wrong_habit_is_named() -> None:
    habit = {"path": "habit", "approach": "", "calls": 0}
    steps = [
        step("memory", "a", True, **habit),
        step("memory", "b", False, **habit),
        step("memory", "c", True),
        step("memory", "d", False),
    ]
    found = summarise(steps)
    memory = found.arms[0]
    assert (memory.habits.right, memory.habits.total, memory.habits_right.right, memory.wrong_habits) == (
        2,
        4,
        1,
        ("b",),
    )
    assert "Habits answered 2 of 4 without a model call, 1 of them wrong." in finding(found)
    assert "1 (b)" in markdown(found, about={})


def test_lenient_forgives_extra_columns_and_counts_what_is_right() -> None:
    steps = [
        step("memory", "a", True, lenient=False),
        step("memory", "b", False, lenient=True),
        step("memory", "c", False),
    ]
    assert summarise(steps).arms[0].lenient.right == 2


@pytest.mark.parametrize(
    ("schema", "memory", "told"),
    [
        ("-" * 20, "+" * 16 + "-" * 4, "The gain is +80.0 ("),
        ("+" * 16 + "-" * 4, "-" * 20, "It is worse: -80.0 ("),
        ("+-" * 10, "-+" * 9 + "++", "may be chance."),
        ("-" * 20, "-" * 20, "The difference of 0 ("),
    ],
)
def test_the_finding_says_whether_memory_gains(schema: str, memory: str, told: str) -> None:
    assert told in finding(summarise([*steps_of("schema", schema), *steps_of("memory", memory)]))


def test_the_finding_tells_of_the_best_arm_where_memory_was_not_asked() -> None:
    found = summarise([*steps_of("bare", "---+"), *steps_of("schema", "+++-")])
    assert finding(found) == "`schema` answers 3 of 4 questions right, 75.0 % (30 to 95)."
    assert finding(summarise([])) == "No question was asked."


def test_differences_of_few_questions_are_not_told_to_people() -> None:
    steps = [*steps_of("schema", "-" * 12), *steps_of("memory", "+" * 12)]
    steps = [replace(one, difficulty="hard" if one.question < "q02" else "easy") for one in steps]
    text = markdown(summarise(steps), about={})
    assert "| easy | 0/10 | 10/10 | +100.0 (" in text
    assert "| hard | 0/2 | 2/2 | fewer than 10 |" in text


def test_kinds_of_error_and_rules_are_told_in_words() -> None:
    wrong = [replace(step("memory", "a", False), error="not_run", rule="unknown_column"), step("memory", "b", False)]
    text = markdown(summarise([*wrong, replace(step("memory", "c", False), error="no_answer")]), about={})
    assert all(f"\n| {said} | 1 |" in text for said in ("did not run", "other values", "no answer", "unknown column"))


def test_files_hold_all_that_is_needed_and_nothing_of_the_machine(tmp_path: Path) -> None:
    steps = [*steps_of("schema", "--+-"), *steps_of("memory", "++++")]
    found = summarise(steps)
    about = {
        "model": "0.5b",
        "questions": str(tmp_path / "sets" / "own.jsonl"),
        "command": f"hebbql evaluate --questions {tmp_path}/sets/own.jsonl --db postgresql://ada:pw@localhost/shop",
    }
    folder = tmp_path / "runs" / "one"
    paths = write_evaluation(folder, found, steps, about=about)
    assert [path.name for path in paths] == ["evaluation.json", "evaluation.md", "evaluation.svg"]
    assert sorted(path.name for path in folder.iterdir()) == ["evaluation.json", "evaluation.md", "evaluation.svg"]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert str(tmp_path) not in text
        assert "ada:pw" not in text
    kept = json.loads(paths[0].read_text(encoding="utf-8"))
    assert list(kept) == ["schema", "about", "finding", "questions", "arms", "comparisons", "steps"]
    assert kept["schema"] == "hebbql.evaluation/1"
    assert kept["about"]["command"] == "hebbql evaluate --questions own.jsonl --db postgresql://localhost/shop"
    memory = kept["arms"][1]
    assert (memory["arm"], memory["share"]["value"], memory["share"]["right"]) == ("memory", 1.0, 4)
    assert kept["comparisons"][0]["difference"]["value"] == 0.75
    assert summarise(map(read_step, kept["steps"])) == found


def test_a_file_that_cannot_be_finished_leaves_the_one_before(tmp_path: Path) -> None:
    found = summarise(steps_of("memory", "+"))
    write_evaluation(tmp_path, found, steps_of("memory", "+"), about={"commit": "one"})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    broken = steps_of("memory", "+")
    with pytest.raises(UnicodeEncodeError):
        write_evaluation(tmp_path, found, [replace(broken[0], sql="\ud800")], about={"commit": "two"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_files_name_cannot_break_the_tables() -> None:
    steps = [step("memory", "a|b", False, type="x | <b>y</b>\nz"), step("memory", "c", True, type="plain")]
    text = markdown(summarise(steps), about={"mo|del": "a\n# b"})
    assert "| x \\| &lt;b>y&lt;/b> z | 0/1 |" in text
    assert "- mo\\|del: a # b" in text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("data/questions/holdout.jsonl", "data/questions/holdout.jsonl"),
        ("../shop/q.jsonl", "../shop/q.jsonl"),
        ("~/sets/q.jsonl", "q.jsonl"),
        ("C:\\Users\\ada\\q.jsonl", "q.jsonl"),
        ("'/srv/my sets/q.jsonl'", "'my sets/q.jsonl'"),
        ("sqlite:////srv/shop.sqlite", "sqlite:///shop.sqlite"),
        ("sqlite:///data/shop.sqlite", "sqlite:///data/shop.sqlite"),
        ("postgresql+psycopg://ada:p%40w@db.example:5432/shop?x=1", "postgresql+psycopg://db.example:5432/shop?x=1"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("file:///srv/sets/q.jsonl", "file://q.jsonl"),
    ],
)
def test_folders_and_passwords_are_taken_out(text: str, left: str) -> None:
    assert without_places(text) == left
