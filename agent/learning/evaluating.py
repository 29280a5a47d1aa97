"""Evaluations: the same questions asked in several arms, and what comes of it, computed from steps alone."""

from __future__ import annotations

import json
import math
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.attempt import Attempt
from agent.learning.arms import ARMS, MEMORY, Arm, arm_named
from agent.learning.questions import Pair
from agent.learning.statistics import Difference, Share, paired, share, share_of
from agent.learning.steps import Part, Step, step_of

if TYPE_CHECKING:
    from agent.learning.judging import Verdict

Dimension = Literal["difficulty", "kind", "type", "language"]
DIMENSIONS: tuple[Dimension, ...] = ("difficulty", "kind", "type", "language")
"""What questions are told apart by. `kind` is what the agent takes a question for, the others are its author's word."""

BASELINE = "schema"
"""The arm that all others are compared with."""

RIVALS = ("shuffled", "constant", "episodes")
"""Arms that `memory` is compared with too: the two controls, which it must beat, and the episodes alone."""

Key = tuple[Part, int, str]


class EvaluationError(Exception):
    """An evaluation cannot be begun, gone on with or read. The message says how far it came and what to do next."""


@dataclass(frozen=True, slots=True)
class Counted:
    """So many of one name."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Slice:
    """How one arm fared on the questions that share a difficulty, kind, type or language."""

    dimension: Dimension
    name: str
    share: Share


@dataclass(frozen=True, slots=True)
class SliceDifference:
    """How two arms differ on the questions that share a difficulty, kind, type or language."""

    dimension: Dimension
    name: str
    difference: Difference


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens read anew, read from a prefix cache, and written. A mean has fractions."""

    input: float
    cached: float
    output: float


@dataclass(frozen=True, slots=True)
class Spent:
    """What all questions of an arm took.

    `calls` are replies of the model, of which `replayed` came from the completion cache: their tokens count, their
    money does not. `per_right` are the tokens of all questions, also of those answered wrong, over the right answers;
    None where none is right. `cost_usd` is None where the price of any call is unknown. Seconds are of the `timed`
    questions, those where nothing was replayed; None where there is none.
    """

    calls: int
    replayed: int
    tokens: Tokens
    per_right: Tokens | None
    cost_usd: float | None
    timed: int
    seconds_median: float | None
    seconds_p90: float | None


@dataclass(frozen=True, slots=True)
class ArmResult:
    """How one arm fared.

    `lenient` forgives extra columns. `habits` is the share of questions that a habit answered, `habits_right` the
    share of those that it answered right, and `wrong_habits` are the others by id. `errors` are the kinds of error of
    wrong answers, `rules` those of the guard that last drafts broke, `statuses` how attempts ended; most frequent
    first.
    """

    arm: str
    about: str
    share: Share
    lenient: Share
    habits: Share
    habits_right: Share
    wrong_habits: tuple[str, ...]
    errors: tuple[Counted, ...]
    rules: tuple[Counted, ...]
    statuses: tuple[Counted, ...]
    spent: Spent
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better `arm` does than `against` on the questions that were asked in both.

    `left_out` are ids of questions that were asked in one of the two only, so that they are in no figure here.
    """

    arm: str
    against: str
    difference: Difference
    slices: tuple[SliceDifference, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of an evaluation. `questions` counts different ones; arms stand in the order of `ARMS`."""

    questions: int
    arms: tuple[ArmResult, ...]
    comparisons: tuple[Comparison, ...]

    def arm(self, name: str) -> ArmResult | None:
        return next((one for one in self.arms if one.arm == name), None)

    def comparison(self, arm: str, against: str) -> Comparison | None:
        return next((one for one in self.comparisons if (one.arm, one.against) == (arm, against)), None)

    @property
    def best(self) -> ArmResult | None:
        """The arm that the finding tells of: `memory` where it was asked, else the one with most right."""
        ranked = sorted(self.arms, key=lambda one: (one.arm == MEMORY.name, one.share.value or 0.0))
        return ranked[-1] if ranked else None

    @property
    def gain(self) -> Comparison | None:
        """What the arm that the finding tells of gains over `schema`; None where they are one, or one is missing."""
        return self.comparison(self.best.arm, BASELINE) if self.best else None


def evaluate(
    pairs: Sequence[Pair],
    arms: Sequence[Arm],
    *,
    ask: Callable[[Pair, Arm], Attempt],
    judge: Callable[[Pair, Attempt], Verdict],
    part: Part = "holdout",
    epoch: int = 0,
) -> Iterator[Step]:
    """Ask all questions in the first arm, then all in the next, in the same order; yield each step once judged.

    Raises:
        EvaluationError: an arm or a question stands there twice, or model or database are out of reach. All steps
            before that were yielded; what was out of reach is none, as it says nothing about the question.
    """
    for names, what in (([arm.name for arm in arms], "arm"), ([pair.id for pair in pairs], "question")):
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise EvaluationError(f"The {what} {twice[0]!r} stands there twice. Name each {what} once.")
    for place, arm in enumerate(arms):
        for number, pair in enumerate(pairs):
            attempt = ask(pair, arm)
            if attempt.out_of_reach:
                done = place * len(pairs) + number
                raise EvaluationError(
                    f"The evaluation stopped after {done} of {len(pairs) * len(arms)} questions, at {pair.id!r} in the "
                    f"arm {arm.name} ({number} of {len(pairs)} done there): {attempt.message.rstrip('.')}. "
                    "Put that right and evaluate again."
                )
            yield step_of(attempt, pair, judge(pair, attempt), part=part, epoch=epoch, arm=arm.name)


def summarise(steps: Iterable[Step]) -> Evaluation:
    """Compute what came of an evaluation, also of one that broke off.

    Raises:
        EvaluationError: a question was asked twice in one arm, part and epoch.
    """
    asked: dict[str, dict[Key, Step]] = {}
    for step in steps:
        key = (step.part, step.epoch, step.question)
        if key in asked.setdefault(step.arm, {}):
            raise EvaluationError(
                f"The question {step.question!r} was asked twice in the arm {step.arm}. Give the steps of one "
                "evaluation, each once."
            )
        asked[step.arm][key] = step
    known = [arm.name for arm in ARMS]
    order = sorted(asked, key=lambda name: known.index(name) if name in known else len(known))
    against = [(name, BASELINE) for name in order if name != BASELINE] + [(MEMORY.name, name) for name in RIVALS]
    return Evaluation(
        questions=len({key for steps_of in asked.values() for key in steps_of}),
        arms=tuple(_arm_result(name, tuple(asked[name].values())) for name in order),
        comparisons=tuple(
            _comparison(one, other, asked[one], asked[other]) for one, other in against if {one, other} <= asked.keys()
        ),
    )


def _arm_result(name: str, steps: Sequence[Step]) -> ArmResult:
    known = arm_named(name)
    habits = [step for step in steps if step.is_habit]
    return ArmResult(
        arm=name,
        about=known.about if known else "",
        share=share_of(step.right for step in steps),
        lenient=share_of(step.right or step.lenient for step in steps),
        habits=share(len(habits), len(steps)),
        habits_right=share_of(step.right for step in habits),
        wrong_habits=tuple(step.question for step in habits if not step.right),
        errors=_counted(step.error for step in steps),
        rules=_counted(step.rule for step in steps),
        statuses=_counted(step.status for step in steps),
        spent=_spent(steps),
        slices=tuple(
            Slice(dimension, value, share_of(step.right for step in steps if _of(step, dimension) == value))
            for dimension in DIMENSIONS
            for value in _values(steps, dimension)
        ),
    )


def _spent(steps: Sequence[Step]) -> Spent:
    tokens = Tokens(
        sum(step.input_tokens for step in steps),
        sum(step.cached_tokens for step in steps),
        sum(step.output_tokens for step in steps),
    )
    right = sum(step.right for step in steps)
    costs = [step.cost_usd for step in steps]
    seconds = sorted(step.seconds for step in steps if not step.replayed)
    return Spent(
        calls=sum(step.calls for step in steps),
        replayed=sum(step.replayed for step in steps),
        tokens=tokens,
        per_right=Tokens(tokens.input / right, tokens.cached / right, tokens.output / right) if right else None,
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        timed=len(seconds),
        seconds_median=statistics.median(seconds) if seconds else None,
        seconds_p90=seconds[math.ceil(0.9 * len(seconds)) - 1] if seconds else None,
    )


def _comparison(arm: str, against: str, mine: dict[Key, Step], theirs: dict[Key, Step]) -> Comparison:
    both = [key for key in mine if key in theirs]
    steps = [mine[key] for key in both]

    def apart(keys: Sequence[Key]) -> Difference:
        return paired([mine[key].right for key in keys], [theirs[key].right for key in keys])

    return Comparison(
        arm=arm,
        against=against,
        difference=apart(both),
        slices=tuple(
            SliceDifference(dimension, value, apart([key for key in both if _of(mine[key], dimension) == value]))
            for dimension in DIMENSIONS
            for value in _values(steps, dimension)
        ),
        left_out=tuple(sorted({key[2] for key in mine.keys() ^ theirs.keys()})),
    )


def _of(step: Step, dimension: Dimension) -> str:
    values = {"difficulty": step.difficulty, "kind": step.kind, "type": step.type, "language": step.language}
    return values[dimension]


def _values(steps: Iterable[Step], dimension: Dimension) -> list[str]:
    """The values of a dimension, from easy to hard and else by name; what is not named comes last."""
    usual = ("easy", "medium", "hard")

    def place(value: str) -> tuple[bool, int, str]:
        return (not value, usual.index(value) if value in usual else len(usual), value)

    return sorted({_of(step, dimension) for step in steps}, key=place)


def _counted(names: Iterable[str]) -> tuple[Counted, ...]:
    """Count names that are not empty; the most frequent first, equals by name."""
    counts = Counter(name for name in names if name)
    return tuple(Counted(name, counts[name]) for name in sorted(counts, key=lambda name: (-counts[name], name)))


# What is written

SCHEMA = "hebbql.evaluation/1"
"""The form of `evaluation.json`. The number grows when something there changes its meaning or goes."""


def write_evaluation(
    folder: Path, evaluation: Evaluation, steps: Sequence[Step], *, about: Mapping[str, str]
) -> tuple[Path, ...]:
    """Write `evaluation.json`, `evaluation.md` and `evaluation.svg` into a folder; give their paths.

    `about` says how this came to be, in the order to show: model, name of the database, name and digest of the
    question file, commit, command. Folders and passwords are taken out of it. Each file is whole at any time: it is
    written aside and then renamed.

    Raises:
        OSError: the folder cannot be written to.
    """
    from agent.learning.findings import markdown
    from agent.learning.pictures import arms_picture

    told = {name: without_places(value) for name, value in about.items()}
    texts = {
        "evaluation.json": evaluation_json(evaluation, steps, about=told),
        "evaluation.md": markdown(evaluation, about=told, picture="evaluation.svg"),
        "evaluation.svg": arms_picture(evaluation),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_whole(folder / name, text)
    return tuple(folder / name for name in texts)


def write_whole(path: Path, text: str) -> None:
    """Write a text so that the file is either as before or whole."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def evaluation_json(evaluation: Evaluation, steps: Sequence[Step], *, about: Mapping[str, str]) -> str:
    """An evaluation as JSON, one step a line.

    An object with `schema` (its form), `about`, `finding` (in words), `questions`, `arms`, `comparisons` and `steps`.
    The middle ones have the fields of Evaluation, ArmResult, Comparison and what these are made of; a share and a
    difference have their `value` beside the counts it comes from. Steps have those of Step, and all the rest can be
    computed from them. Nothing known is null, never 0.
    """
    from agent.learning.findings import finding

    head = {"schema": SCHEMA, "about": dict(about), "finding": finding(evaluation), **_plain(evaluation)}
    lines = ",\n    ".join(json.dumps(step.content(), ensure_ascii=False) for step in steps)
    written = json.dumps(head, ensure_ascii=False, indent=2).removesuffix("\n}")
    return f'{written},\n  "steps": [\n    {lines}\n  ]\n}}\n'


def without_places(text: str) -> str:
    """Take what is of one machine out of a text: folders of absolute paths, names and passwords in addresses.

    >>> without_places("hebbql evaluate --questions /srv/sets/q.jsonl --db postgresql://ada:pw@db.example/shop")
    'hebbql evaluate --questions q.jsonl --db postgresql://db.example/shop'
    >>> without_places("--db=sqlite:////srv/data/shop.sqlite --questions data/questions/holdout.jsonl")
    '--db=sqlite:///shop.sqlite --questions data/questions/holdout.jsonl'
    """
    return _FOLDERS.sub("", _PERSON.sub(r"\1", text))


_PERSON = re.compile(r"(\w://)[^\s/@]+@")
_FOLDERS = re.compile(r"""(?<![\w.~-])(?<!:/)(?<!sqlite://)(?:~|[A-Za-z]:)?[/\\](?:[^\s'"/\\]+[/\\])+(?=[^\s'"/\\])""")


def _plain(value: Any) -> Any:
    """A value of dataclasses as JSON; with the `value` of a share or difference, and numbers to nine digits."""
    if is_dataclass(value):
        known = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"value": _plain(value.value), **known} if isinstance(value, Share | Difference) else known
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value
