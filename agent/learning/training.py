"""Training: questions with known answers are asked again and again, and what comes of each is learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from agent.attempt import Attempt
from agent.database.skeleton import normalise
from agent.journal import LedgerJournal, body_of, fired
from agent.learning.feedback import asked_alike, blamed, move_weights
from agent.learning.judging import Verdict
from agent.learning.mistakes import lessons_from_gold
from agent.learning.questions import Pair
from agent.learning.runs import Run, RunLog
from agent.learning.seed import Source, episode_of
from agent.learning.steps import Part, Step, step_of
from memory.episode import Episode
from memory.ledger import Ledger, Transaction
from memory.lessons import Lessons
from procedural.store import SynapseStore
from procedural.synapse import Target


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """What a person asks of a run. `max_hours` is for one sitting, `patience` the seconds that an outage may last.

    Of a file all questions are asked, or those whose ids `only_…` names. The rest is as in `agent.learning.runs.Plan`.
    `workers` asks so many questions at once, of a hosted model.
    """

    training: Path
    holdout: Path | None = None
    only_training: tuple[str, ...] = ()
    only_holdout: tuple[str, ...] = ()
    epochs: int = 10
    seed: int = 1
    checkpoint: int = 25
    forgetting: bool = True
    seeding: bool = True
    per_bucket: int = 2
    holdout_every: int = 0
    cache: bool = True
    workers: int = 1
    max_hours: float | None = None
    patience: float = 1_800.0


class Paused(Exception):
    """A run cannot go on now. What was settled is kept, and it can be resumed."""


class Care(Protocol):
    """What is done between questions: bad episodes are forgotten, hard buckets seeded."""

    def checkpoint(self, run: Run, epoch: int, *, closes: bool) -> Run: ...


def train(
    run: Run,
    *,
    pairs: Sequence[Pair],
    holdout: Sequence[Pair],
    ask: Callable[[Sequence[Pair], int, Part], Iterator[Step]],
    care: Care,
    log: RunLog,
) -> Iterator[Run]:
    """Go on with a run until it is finished. Yields it each time it has grown.

    `ask` asks and settles questions of an epoch, one part or the other. What was settled before is not asked again.

    Raises:
        Paused: it cannot go on now.
    """
    plan = run.plan
    for epoch in range(plan.epochs + 1):
        while epoch and not run.is_closed(epoch):
            left = run.left(pairs, epoch)
            for step in ask(left[: run.until_checkpoint(epoch)], epoch, "training"):
                run = run.grown(step=step)
                yield run
            run = care.checkpoint(run, epoch, closes=not run.left(pairs, epoch))
            yield run
        if plan.asks_holdout_after(epoch):
            for step in ask(run.left(holdout, epoch, "holdout"), epoch, "holdout"):
                run = run.grown(step=step)
                yield run
    yield log.finish(run) if run.finished is None else run


@dataclass(frozen=True, kw_only=True, slots=True)
class Learner:
    """The journal of training: an attempt is settled, judged and learned from in one transaction.

    A right answer becomes an episode, once; what fired is reinforced. A wrong one weakens what fired and leaves a
    lesson with the gold as its fix. An attempt that says nothing about the question, because something was out of
    reach, is settled and not judged.
    """

    journal: LedgerJournal
    synapses: SynapseStore
    log: RunLog
    judge: Callable[[Pair, Attempt], Verdict]
    run: str
    epoch: int
    pair: Pair
    judged: list[Step] = field(default_factory=list)

    def start(self, attempt: Attempt) -> None:
        self.journal.start(attempt)

    def settle(self, attempt: Attempt) -> None:
        body = body_of(attempt, schema=self.journal.schema, dialect=self.journal.dialect, habit=self.journal.habit)
        if attempt.out_of_reach:
            with self.journal.ledger.transaction() as entry:
                self.journal.write(entry, attempt, body)
            return
        verdict = self.judge(self.pair, attempt)
        step = step_of(attempt, self.pair, verdict, part="training", epoch=self.epoch, arm="memory")
        judged = {
            "run": self.run,
            "question": self.pair.id,
            "right": step.right,
            "error": step.error,
            "reason": step.reason,
            "sql": step.sql,
        }
        with self.journal.ledger.transaction() as entry:
            self.journal.write(entry, attempt, {**body, "judged": judged})
            if verdict.right:
                self._right(entry, attempt, body)
            else:
                self._wrong(entry, attempt, body, verdict)
            self.log.step(entry, self.run, step)
        self.judged.append(step)

    def _right(self, entry: Transaction, attempt: Attempt, body: Mapping[str, Any]) -> None:
        """Remember the answer, unless training knows one to this very question, and reward what led to it.

        The approach earns nothing where the very question was among the episodes shown: what was right then is the
        episode.
        """
        episode = self._episode(attempt)
        alike = (one for one in self.journal.ledger.masked(body["masked"]) if one.bucket == body["bucket"])
        own = [one for one in alike if asked_alike(one.question) == asked_alike(body["question"])]
        if not any(one.origin.startswith("train:") for one in own):
            entry.remember(episode)
        Lessons(self.journal.ledger).drop(entry, episode.id, f"right in {self.run}")
        shown = {str(one.episode.id) for one in attempt.recalled}
        told = attempt.path != "habit" and any(str(one.id) in shown for one in own)
        earned = [one for one in fired(body) if not (told and one.kind == "approach")]
        if entry.is_active(episode.id):
            earned.append(Target("episode", str(episode.id)))
        move_weights(self.synapses, entry, body, earned, reward=1.0)

    def _wrong(self, entry: Transaction, attempt: Attempt, body: Mapping[str, Any], verdict: Verdict) -> None:
        move_weights(self.synapses, entry, body, blamed(body, ()), reward=0.0)
        gold = normalise(self.pair.sql, self.journal.dialect)
        origin = f"train:{self.run}:{attempt.id}"
        for lesson in lessons_from_gold(
            body, dialect=self.journal.dialect, problem=verdict.reason, gold=gold, origin=origin
        ):
            Lessons(self.journal.ledger).learn(entry, lesson)

    def _episode(self, attempt: Attempt) -> Episode:
        assert attempt.result is not None and attempt.understood is not None, "what is right was understood and ran"
        origin = f"train:{self.run}"
        source = Source(origin, "gold", f"{origin}:epoch-{self.epoch}", self.journal.schema, self.journal.dialect)
        return episode_of(replace(self.pair, sql=attempt.sql), attempt.result, attempt.understood, source)


@dataclass(frozen=True, kw_only=True, slots=True)
class Witness:
    """The journal of holdout questions: how they fare is written down with the run, and nothing is learned of it."""

    ledger: Ledger
    log: RunLog
    judge: Callable[[Pair, Attempt], Verdict]
    run: str
    epoch: int
    pair: Pair
    judged: list[Step] = field(default_factory=list)

    def start(self, attempt: Attempt) -> None:
        """Nothing is written down of it yet."""

    def settle(self, attempt: Attempt) -> None:
        if attempt.out_of_reach:
            return
        verdict = self.judge(self.pair, attempt)
        step = step_of(attempt, self.pair, verdict, part="holdout", epoch=self.epoch, arm="memory")
        with self.ledger.transaction() as entry:
            self.log.step(entry, self.run, step)
        self.judged.append(step)


@dataclass(slots=True)
class Clockwatch:
    """Ends a sitting in time. `hours` None is no limit; `clock` gives seconds."""

    hours: float | None
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def check(self) -> None:
        """Raises Paused once the hours are over."""
        if self.hours is not None and self.clock() - self.began >= self.hours * 3_600:
            raise Paused(f"The {self.hours:g} hours of --max-hours are over.")
