"""Shows on stderr how a run or an evaluation goes: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.doors.rendering import plain

if TYPE_CHECKING:
    from rich.progress import Progress

    from agent.learning.arms import Arm
    from agent.learning.runs import Checkpoint, Plan, Run
    from agent.learning.steps import Step

_SPEED_OVER = 900.0
"""The time left is told from the questions of so many seconds: a small model takes half a minute for one."""


@dataclass(slots=True)
class Tally:
    """Right answers and money, counted along."""

    asked: int = 0
    right: int = 0
    habits: int = 0
    cost_usd: float | None = 0.0

    def count(self, step: Step) -> None:
        self.asked += 1
        self.right += step.right
        self.habits += step.is_habit
        known = self.cost_usd is not None and step.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (step.cost_usd or 0.0) if known else None

    @property
    def told(self) -> str:
        return f"{self.right} of {self.asked} right ({percent(self.right, self.asked)}), {self.habits} by habit"


@dataclass(slots=True)
class Course:
    """How far a run has come, from the steps and checkpoints that were seen of it.

    `each` and `each_holdout` are how many questions an epoch and an asking of the holdout had, known once one is over:
    fewer than planned where a gold does not hold.
    """

    plan: Plan
    epochs: dict[int, Tally] = field(default_factory=dict)
    holdouts: dict[int, Tally] = field(default_factory=dict)
    all: Tally = field(default_factory=Tally)
    steps: int = 0
    checkpoints: int = 0
    asks_holdout: bool = False
    each: int | None = None
    each_holdout: int | None = None
    finished: bool = False

    def see(self, run: Run) -> tuple[Checkpoint, ...]:
        """Count what is new of a run; gives its new checkpoints."""
        for step in run.steps[self.steps :]:
            if self.asks_holdout and step.part == "training":
                self.each_holdout = self.holdouts[max(self.holdouts)].asked
            self.asks_holdout = step.part == "holdout"
            (self.holdouts if self.asks_holdout else self.epochs).setdefault(step.epoch, Tally()).count(step)
            self.all.count(step)
        new = run.checkpoints[self.checkpoints :]
        for checkpoint in new:
            if checkpoint.closes and checkpoint.epoch in self.epochs:
                self.each = self.epochs[checkpoint.epoch].asked
        self.steps, self.checkpoints = len(run.steps), len(run.checkpoints)
        self.finished = run.finished is not None
        return new

    @property
    def total(self) -> int:
        """All questions of all epochs, those of the holdout as often as it is asked; once it ended, those asked."""
        if self.finished:
            return self.steps
        plan = self.plan
        planned = plan.holdout.questions if plan.holdout else 0
        held = planned if self.each_holdout is None else self.each_holdout
        trained = plan.training.questions if self.each is None else self.each
        asks = sum(plan.asks_holdout_after(epoch) for epoch in range(plan.epochs + 1))
        return plan.epochs * trained + asks * held

    @property
    def told(self) -> str:
        """Where it is: the epoch, what is right of it and was of the last, habits and money."""
        epoch = max(self.epochs, default=0)
        if self.asks_holdout:
            now, where = self.holdouts[max(self.holdouts)], self.holdout
        else:
            now, where = self.epochs.get(epoch, Tally()), f"epoch {max(epoch, 1)} of {self.plan.epochs}"
        last = self.epochs.get(epoch - 1)
        before = f" (last {percent(last.right, last.asked)})" if last and not self.asks_holdout else ""
        habits = percent(now.habits, now.asked)
        return f"{where} · {percent(now.right, now.asked)} right{before} · {habits} habit · {money(self.all.cost_usd)}"

    @property
    def holdout(self) -> str:
        """Which asking of the holdout it is, or was."""
        after = max(self.holdouts)
        return f"holdout after epoch {after}" if after else "holdout before training"

    def looked_after(self, checkpoint: Checkpoint) -> str:
        """What a checkpoint says in one line."""
        epoch = checkpoint.epoch
        where = f"epoch {epoch} of {self.plan.epochs}" + (" done" if checkpoint.closes else "")
        told = self.epochs.get(epoch, Tally()).told
        done = [
            f"{len(some)} {word}" for some, word in ((checkpoint.forgotten, "forgotten"), (checkpoint.seeded, "seeded"))
        ]
        return f"{where}: {told}, {', '.join(done)}, {money(self.all.cost_usd)}"


@contextmanager
def run_shown(run: Run) -> Iterator[Callable[[Run], None]]:
    """Show how a run goes on from here; what is given is called with the run each time it has grown."""
    course = Course(run.plan)
    course.see(run)
    with _bar(course.total, course.steps, course.told) as (move, line):
        told = len(course.holdouts)

        def tell_holdout() -> None:
            nonlocal told
            if len(course.holdouts) > told:
                told = len(course.holdouts)
                line(f"{course.holdout}: {course.holdouts[max(course.holdouts)].told}")

        def show(run: Run) -> None:
            new = course.see(run)
            move(course.steps, course.total, course.told)
            if not course.asks_holdout:
                tell_holdout()
            for checkpoint in new:
                line(course.looked_after(checkpoint))

        yield show
        tell_holdout()


@contextmanager
def arms_shown(arms: Sequence[Arm], questions: int) -> Iterator[Callable[[Step], None]]:
    """Show how an evaluation goes, a bar for each arm; what is given is called with each step."""
    tallies = {arm.name: Tally() for arm in arms}
    with _bars([(arm.name, questions) for arm in arms]) as (move, line):

        def show(step: Step) -> None:
            tally = tallies[step.arm]
            tally.count(step)
            move(step.arm, tally.asked, f"{percent(tally.right, tally.asked)} right · {money(tally.cost_usd)}")
            if tally.asked == questions:
                line(f"{step.arm}: {tally.told}, {money(tally.cost_usd)}")

        yield show


@contextmanager
def _bar(total: int, done: int, told: str) -> Iterator[tuple[Callable[[int, int, str], None], Callable[[str], None]]]:
    """One bar, and a way to print a line above it. Where nobody watches, lines say how long it still takes."""
    from rich.text import Text

    progress = _progress()
    if progress is None:
        began, first, last = time.monotonic(), done, done

        def keep(now: int, all: int, _told: str) -> None:
            nonlocal last, total
            last, total = now, all

        def say(text: str) -> None:
            each = (time.monotonic() - began) / (last - first) if last > first else None
            left = "" if each is None or last >= total else f", about {span(each * (total - last))} left"
            _print(f"{text}{left}")

        yield keep, say
        return
    with progress:
        task = progress.add_task(plain(told), total=total, completed=done)
        yield (
            lambda now, all, told: progress.update(task, completed=now, total=all, description=plain(told)),
            lambda text: progress.console.print(Text(f"hebbql: {plain(text)}")),
        )


@contextmanager
def _bars(
    named: Sequence[tuple[str, int]],
) -> Iterator[tuple[Callable[[str, int, str], None], Callable[[str], None]]]:
    """A bar for each name. Where nobody watches, only lines."""
    progress = _progress()
    if progress is None:
        yield (lambda _name, _done, _told: None), _print
        return
    with progress:
        tasks = {name: progress.add_task(name, total=total, start=False) for name, total in named}

        def move(name: str, done: int, told: str) -> None:
            progress.start_task(tasks[name])
            progress.update(tasks[name], completed=done, description=f"{plain(name)}: {plain(told)}")

        yield move, lambda _text: None


def _progress() -> Progress | None:
    """Bars on the terminal that is stderr; None where it is none. What goes to stdout is left alone."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    columns = (
        BarColumn(bar_width=8),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(compact=True),
    )
    return Progress(*columns, console=console, speed_estimate_period=_SPEED_OVER, redirect_stdout=False)


def _print(text: str) -> None:
    print(f"hebbql: {plain(text)}", file=sys.stderr, flush=True)


def percent(part: int, whole: int) -> str:
    """
    >>> percent(1, 3), percent(0, 0)
    ('33 %', '0 %')
    """
    return f"{100 * part / whole if whole else 0:.0f} %"


def money(cost_usd: float | None) -> str:
    """
    >>> money(0.126), money(None)
    ('$0.13', '$ unknown')
    """
    return "$ unknown" if cost_usd is None else f"${cost_usd:,.2f}"


def span(seconds: float) -> str:
    """
    >>> span(20), span(170), span(7_500)
    ('1 min', '3 min', '2 h 5 min')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
