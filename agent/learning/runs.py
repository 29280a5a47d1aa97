"""Runs of training: what was planned, what was done, and what comes next, kept in the ledger.

A run is a frozen value that grows. The ledger holds each of its parts as an event, written in the transaction of what
it tells of, so that a run that was killed is read back as far as it came. These events hold no question and no SQL:
those are read from the attempts and episodes that they name, so that what is erased there is gone here too.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from uuid import UUID

from agent.learning.questions import Pair
from agent.learning.steps import Part, Step, read_step
from memory.ledger import EventKind, Ledger, Transaction

_OF_ATTEMPTS, _OF_EPISODES = ("sql", "reason"), ("question", "sql")
"""What of a step is kept with its attempt, and of a checkpoint with its episodes."""


class RunError(Exception):
    """A run cannot be begun or gone on with. The message says what to do next."""


def new_id() -> str:
    """A name for a run or an evaluation: when it begins, UTC to the minute, and something that no other has."""
    return f"{time.strftime('%Y-%m-%d-%H%M', time.gmtime())}-{secrets.token_hex(2)}"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A question file as it was when the run began: `digest` is the SHA-256 of its bytes and of the ids asked of it."""

    file: str
    digest: str
    questions: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do. Nothing of it changes once the run has begun.

    `holdout` is asked before the first epoch, after each `holdout_every` epochs and after the last, and nothing is
    learned from it; 0 leaves only the last. Every `checkpoint` questions buckets that keep failing lose their bad
    episodes, unless `forgetting` is off. `per_bucket` episodes are seeded into a bucket that stayed at zero, unless
    `seeding` is off. `seed` decides the order of questions. `think` and `levers` are those with which each is answered,
    as `--think` and HEBBQL_LEVERS take them; `""` where a run is older than that and any will do.
    """

    training: QuestionSet
    holdout: QuestionSet | None
    model: str
    database: str
    schema: str
    epochs: int = 10
    seed: int = 1
    checkpoint: int = 25
    forgetting: bool = True
    seeding: bool = True
    per_bucket: int = 2
    holdout_every: int = 0
    cache: bool = True
    think: str = ""
    levers: str = ""

    def asks_holdout_after(self, epoch: int) -> bool:
        """Whether the holdout is asked once this epoch is done; epoch 0 is the time before the first.

        >>> plan = Plan(QuestionSet("t", "", 1), QuestionSet("h", "", 1), "m", "d", "s", epochs=4, holdout_every=2)
        >>> [epoch for epoch in range(5) if plan.asks_holdout_after(epoch)]
        [0, 2, 4]
        """
        if self.holdout is None:
            return False
        every = self.holdout_every
        return epoch == self.epochs or bool(every and epoch % every == 0)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """An episode that a checkpoint forgot: where, what it answered, and why."""

    episode: str
    bucket: str
    question: str
    sql: str
    why: str


@dataclass(frozen=True, slots=True)
class Seeded:
    """A gold that became an episode: in which bucket, why, and of which training question, by its id."""

    episode: str
    bucket: str
    question: str
    why: str
    pair: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was looked after between questions of an epoch, after so many of its steps; the last one closes it."""

    epoch: int
    after: int
    closes: bool = False
    forgotten: tuple[Forgotten, ...] = ()
    seeded: tuple[Seeded, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """Why a run stopped before its end, and when: seconds since 1970, UTC."""

    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Run:
    """A run of training. Steps of all parts and epochs stand in the order in which they were settled."""

    id: str
    plan: Plan
    began: float
    steps: tuple[Step, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    pauses: tuple[Pause, ...] = ()
    finished: float | None = None

    def grown(self, *, step: Step | None = None, checkpoint: Checkpoint | None = None) -> Run:
        steps = (*self.steps, step) if step else self.steps
        checkpoints = (*self.checkpoints, checkpoint) if checkpoint else self.checkpoints
        return replace(self, steps=steps, checkpoints=checkpoints)

    def of(self, epoch: int, part: Part = "training") -> tuple[Step, ...]:
        """The steps of one epoch, as far as it came."""
        return tuple(step for step in self.steps if step.epoch == epoch and step.part == part)

    def left(self, pairs: Sequence[Pair], epoch: int, part: Part = "training") -> tuple[Pair, ...]:
        """Those questions that are still to be asked in an epoch, in its order."""
        done = {step.question for step in self.of(epoch, part)}
        order = list(pairs)
        if part == "training":
            random.Random(f"{self.plan.seed} {epoch}").shuffle(order)
        return tuple(pair for pair in order if pair.id not in done)

    def is_closed(self, epoch: int) -> bool:
        return any(one.closes and one.epoch == epoch for one in self.checkpoints)

    def until_checkpoint(self, epoch: int) -> int:
        """How many more questions of an epoch are asked before the next checkpoint; 0 when it is due."""
        last = max((one.after for one in self.checkpoints if one.epoch == epoch), default=0)
        return max(0, self.plan.checkpoint - (len(self.of(epoch)) - last))

    @property
    def is_at_checkpoint(self) -> bool:
        """Whether nothing was asked since the last checkpoint."""
        if not self.checkpoints or not self.steps:
            return False
        last, newest = self.checkpoints[-1], self.steps[-1]
        return (newest.part, newest.epoch) == ("training", last.epoch) and len(self.of(last.epoch)) == last.after

    @property
    def cost_usd(self) -> float:
        """Money that is known to be spent."""
        return sum(step.cost_usd or 0.0 for step in self.steps)


class RunLog:
    """The runs of one brain, in its ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def begin(self, id: str, plan: Plan) -> Run:
        return Run(id, plan, self._write(EventKind.RUN_BEGAN, id, asdict(plan)))

    def step(self, entry: Transaction, id: str, step: Step) -> None:
        """Write a step, in the transaction that settles its attempt."""
        entry.append(EventKind.RUN_STEPPED, id, _without(step.content(), _OF_ATTEMPTS))

    def checkpoint(self, entry: Transaction, id: str, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, in the transaction that does what it tells of."""
        content = asdict(checkpoint)
        for part in ("forgotten", "seeded"):
            content[part] = [_without(one, _OF_EPISODES) for one in content[part]]
        entry.append(EventKind.RUN_CHECKED, id, content)

    def pause(self, run: Run, reason: str) -> Run:
        """Write down that a run stops before its end."""
        at = self._write(EventKind.RUN_PAUSED, run.id, {"reason": reason})
        return replace(run, pauses=(*run.pauses, Pause(reason, at)))

    def finish(self, run: Run) -> Run:
        return replace(run, finished=self._write(EventKind.RUN_FINISHED, run.id, {"steps": len(run.steps)}))

    def ids(self) -> tuple[str, ...]:
        """All runs that this brain has seen, oldest first."""
        return tuple(event.subject for event in self._ledger.events(kinds=(EventKind.RUN_BEGAN,)))

    def read(self, id: str) -> Run:
        """A run as far as it came. What was erased is empty, and so is the SQL of holdout questions.

        Raises:
            RunError: this brain has seen no such run.
        """
        run: Run | None = None
        for event in self._ledger.events(subject=id):
            content = event.content
            if event.kind == EventKind.RUN_BEGAN and content is not None:
                run = Run(id, _plan(content), event.at)
            elif run is None or content is None:
                continue
            elif event.kind == EventKind.RUN_STEPPED:
                run = run.grown(step=self._step(content))
            elif event.kind == EventKind.RUN_CHECKED:
                run = run.grown(checkpoint=self._checkpoint(content))
            elif event.kind == EventKind.RUN_PAUSED:
                run = replace(run, pauses=(*run.pauses, Pause(str(content["reason"]), event.at)))
            elif event.kind == EventKind.RUN_FINISHED:
                run = replace(run, finished=event.at)
        if run is None:
            known = self.ids()
            named = f"The last one is {known[-1]}." if known else "It has seen none."
            raise RunError(f"This brain has seen no run {id!r}. {named}")
        return run

    def _write(self, kind: EventKind, id: str, content: dict[str, Any]) -> float:
        """Write an event of a run in a transaction of its own, and give the time that the ledger noted."""
        with self._ledger.transaction() as entry:
            position = entry.append(kind, id, content)
        (event,) = self._ledger.events(subject=id, after=position - 1, until=position)
        return event.at

    def _step(self, content: Mapping[str, Any]) -> Step:
        attempt = self._ledger.attempt(content["attempt"])
        judged = attempt.settled.get("judged") if attempt and attempt.settled else None
        kept = judged if isinstance(judged, dict) else {}
        return read_step({**content, **{name: kept.get(name, "") for name in _OF_ATTEMPTS}})

    def _checkpoint(self, content: Mapping[str, Any]) -> Checkpoint:
        return Checkpoint(
            content["epoch"],
            content["after"],
            content["closes"],
            tuple(Forgotten(**one, **self._episode(one, "question", "sql")) for one in content["forgotten"]),
            tuple(Seeded(**one, **self._episode(one, "question")) for one in content["seeded"]),
            tuple(content["refused"]),
        )

    def _episode(self, content: Mapping[str, Any], *names: str) -> dict[str, str]:
        episode = self._ledger.episode(UUID(content["episode"]))
        return {name: getattr(episode, name) if episode else "" for name in names}


def _plan(content: Mapping[str, Any]) -> Plan:
    training, holdout = content["training"], content["holdout"]
    known = {field.name: content[field.name] for field in fields(Plan) if field.name in content}
    sets = {"training": QuestionSet(**training), "holdout": QuestionSet(**holdout) if holdout else None}
    return Plan(**{**known, **sets})


def _without(content: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in names}
