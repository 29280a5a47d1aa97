"""How good a brain is: its checks, and what it gets right of questions that it never learned from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.learning.arms import MEMORY
from agent.learning.evaluating import EvaluationError
from agent.learning.questions import Pair
from agent.learning.runs import RunError
from agent.learning.statistics import Difference, paired
from agent.models.port import ModelError, Prompt, Reply
from memory.brain.checks import Checked

if TYPE_CHECKING:
    from agent.app import App

SIGNIFICANT = 0.05
"""The chance below which fewer right answers than before are no accident; one-sided, by McNemar's exact test."""


@dataclass(frozen=True, slots=True)
class Answered:
    """How one holdout question fared. `path` is how it was answered: habit, adapted or model."""

    question: str
    right: bool
    path: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one brain: all its checks, and all its answers in the order of the questions."""

    checks: tuple[Checked, ...]
    answers: tuple[Answered, ...]

    @property
    def red(self) -> tuple[Checked, ...]:
        """The checks that are not green."""
        return tuple(one for one in self.checks if not one.ok)

    @property
    def right(self) -> int:
        return sum(one.right for one in self.answers)


Checks = Callable[["App", Path | None], Sequence[Checked]]
"""Runs the checks of a folder, the shipped ones by default, on an opened app. At least one is given back."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What a brain is measured with. Without `asks_model` only habits and adapted episodes answer."""

    pairs: tuple[Pair, ...] = ()
    asks_model: bool = False
    checks: Path | None = None


class Unasked:
    """Stands where a model would be asked, and gives no reply: what code cannot answer stays unanswered."""

    name = "none"

    def complete(self, prompt: Prompt) -> Reply:
        """Raises ModelError, always."""
        raise ModelError("No model is asked here.")

    def close(self) -> None:
        """Nothing to close."""


def measure(app: App, asked: Questions, checks: Checks) -> Measured:
    """Run the checks, then ask the questions. Nothing is learned from the answers.

    Raises:
        RunError: the model or the database is out of reach.
    """
    with answering(app, asks_model=asked.asks_model):
        checked = tuple(checks(app, asked.checks))
        try:
            steps = list(app.evaluate(asked.pairs, (MEMORY,))) if asked.pairs else []
        except EvaluationError as error:
            raise RunError(str(error)) from error
    return Measured(checked, tuple(Answered(step.question, step.right, step.path) for step in steps))


def run_checks(app: App, folder: Path | None) -> Sequence[Checked]:
    """Run the checks of a folder, or those that are shipped. None at all is red: nothing would hold the gate."""
    from agent.keeping.checking import Checking

    return Checking(app=app).test(folder)


@contextmanager
def answering(app: App, *, asks_model: bool) -> Iterator[None]:
    """Let no model be asked while this lasts, or leave the app's own."""
    before = app.__dict__.get("model")
    if not asks_model:
        app.model = Unasked()
    try:
        yield
    finally:
        if not asks_model:
            del app.model
            if before is not None:
                app.model = before


def some_of(pairs: Sequence[Pair], limit: int | None) -> tuple[Pair, ...]:
    """At most so many questions, the same whatever their order: those whose id has the lowest hash.

    >>> from agent.learning.questions import Pair
    >>> pairs = [Pair(id, "?", "SELECT 1", (), False, "", "", "", 1) for id in "abcd"]
    >>> [pair.id for pair in some_of(pairs, 2)] == [pair.id for pair in some_of(pairs[::-1], 2)][::-1]
    True
    """
    if limit is None or limit >= len(pairs):
        return tuple(pairs)
    chosen = {pair.id for pair in sorted(pairs, key=lambda one: hashlib.sha256(one.id.encode()).digest())[:limit]}
    return tuple(pair for pair in pairs if pair.id in chosen)


def compared(before: Measured, after: Measured) -> Difference:
    """How the answers after differ from those before, question by question."""
    right = {one.question: one.right for one in before.answers}
    both = [one for one in after.answers if one.question in right]
    return paired([one.right for one in both], [right[one.question] for one in both])


def is_worse(found: Difference) -> bool:
    """Whether significantly fewer answers are right than before: more were lost than gained, and that is no accident.

    By McNemar's exact test, one-sided at 5 %: five lost and none gained are, four are not.

    >>> from agent.learning.statistics import difference
    >>> [is_worse(difference(gained, lost, 100)) for gained, lost in ((0, 4), (0, 5), (3, 9), (9, 0))]
    [False, True, False, False]
    """
    return found.lost > found.gained and found.p / 2 < SIGNIFICANT


def why_red(before: Measured, after: Measured) -> str:
    """What is red after that must be green; "" where nothing is. Of checks the names alone, as words may not last."""
    reasons = [f"the check {one.name} is red" for one in after.red]
    found = compared(before, after)
    if {one.question for one in after.answers} != {one.question for one in before.answers}:
        reasons.append("other questions were asked than before")
    if is_worse(found):
        reasons.append(
            f"{found.lost} questions are no longer right and {found.gained} newly are, of {found.total}, which is no "
            f"accident (p = {found.p / 2:.3f})"
        )
    return "; ".join(reasons)
