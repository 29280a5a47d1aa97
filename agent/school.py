"""The school: training, evaluation and the seeding of hard buckets, composed over an opened app."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.attempt import OUTAGES, Attempt
from agent.checkout import commit
from agent.database.result import DatabaseError, DatabaseUnusableError, QueryFailed, QueryRejected, Result
from agent.drafting.reply import read_sql
from agent.journal import Unwritten
from agent.learning.arms import MEMORY, Arm, deranged
from agent.learning.care import Care
from agent.learning.crew import Baton, steps
from agent.learning.evaluating import evaluate, summarise, write_evaluation
from agent.learning.hard import ORIGIN, HardReport, ever_wrong, seed_hard
from agent.learning.judging import Judge, Verdict
from agent.learning.leaks import Leak, leaks
from agent.learning.mistakes import one_spelling
from agent.learning.mutating import mutated
from agent.learning.questions import Pair, QuestionFileError, read_pairs
from agent.learning.report import write_run
from agent.learning.runs import Pause, Plan, QuestionSet, Run, RunError, RunLog, new_id
from agent.learning.seed import Refused, Source
from agent.learning.steps import Part, Step, read_step
from agent.learning.training import Clockwatch, Learner, Paused, TrainingOptions, Witness, train
from agent.models.cached import CachedModel, Replies
from agent.models.patient import PatientModel
from agent.models.port import Model
from agent.question import cleaned
from agent.settings import Levers
from memory.errors import BrainError

if TYPE_CHECKING:
    from agent.app import App

Through = Callable[[Model], Model]


@dataclass(kw_only=True)
class School:
    """Trains and examines one opened app. Valid as long as the app; close it first."""

    app: App
    _opened: ExitStack = field(default_factory=ExitStack, init=False, repr=False)
    _questions: dict[TrainingOptions, tuple[tuple[Pair, ...], tuple[Pair, ...]]] = field(
        default_factory=dict, init=False, repr=False
    )
    _notes: list[str] = field(default_factory=list, init=False, repr=False)

    def close(self) -> None:
        """Close the mutated copies of the database and remove them."""
        self._opened.close()

    @cached_property
    def log(self) -> RunLog:
        return RunLog(self.app.ledger)

    @cached_property
    def judge(self) -> Judge:
        """Judges on the database and on copies of it with other rows, which are made here.

        Raises:
            RunError: there is no room for the copies.
        """
        app = self.app
        app.say("Making copies of the database with other rows, to see through lucky answers …")
        making = mutated(app.database, file=app.database.file, folder=app.folder, open_copy=app.open_copy, say=app.say)
        try:
            copies = self._opened.enter_context(making)
        except (OSError, sqlite3.Error) as error:
            raise RunError(
                f"The copies of the database cannot be written into {app.folder}: {error}. Make room there, or change "
                "its rights, then try again."
            ) from error
        return Judge(run=reached(app.checked_run), copies=tuple(map(reached, copies)), dialect=app.schema.dialect)

    def verdict(self, pair: Pair, attempt: Attempt) -> Verdict:
        if attempt.status == "abstained":  # whatever an adapted draft had given
            return self.judge.judge(pair, "", None, problem=attempt.message)
        problem = attempt.message if attempt.result is None else ""
        return self.judge.judge(pair, attempt.sql, attempt.result, problem=problem)

    def confirmed(self, pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], tuple[Refused, ...]]:
        verdicts = [(pair, self.judge.confirm(pair)) for pair in pairs]
        held = tuple(pair for pair, verdict in verdicts if verdict.right)
        for pair in held:
            for query in pair.accepted:
                if not self.judge.runs(query):
                    self.app.say(f"{pair.id}: an accepted query does not run whole and is passed over: {query}")
        return held, tuple(Refused(pair.id, verdict.reason) for pair, verdict in verdicts if not verdict.right)

    def begin(self, options: TrainingOptions) -> Run:
        """Plan a run and write it down, once it is sure that there is something to ask."""
        app = self.app
        self._asked(options)
        plan = Plan(
            training=question_set(options.training, options.only_training),
            holdout=question_set(options.holdout, options.only_holdout) if options.holdout else None,
            model=app.model.name,
            database=app.schema.name,
            schema=app.schema.fingerprint,
            epochs=options.epochs,
            seed=options.seed,
            checkpoint=options.checkpoint,
            forgetting=options.forgetting,
            seeding=options.seeding,
            per_bucket=options.per_bucket,
            holdout_every=options.holdout_every,
            cache=options.cache,
            think=app.settings.think,
            levers=in_words(app.settings.levers),
        )
        return self.log.begin(new_id(), plan)

    def resume(self, id: str | None, options: TrainingOptions) -> Run:
        """Read a run back; refuse one that is finished, or that files, model, schema, think or levers no longer fit."""
        runs = map(self.log.read, [id] if id else reversed(self.log.ids()))
        run = next((one for one in runs if one.finished is None), None)
        if run is None:
            raise RunError(f"Run {id} is finished." if id else "No run is unfinished. Begin one without --resume.")
        then, holdout = run.plan, options.holdout
        changed = [
            f"another {name}"
            for name, before, now in (
                ("training file", then.training, question_set(options.training, options.only_training)),
                ("holdout file", then.holdout, question_set(holdout, options.only_holdout) if holdout else None),
                ("model", then.model, self.app.model.name),
                ("schema", then.schema, self.app.schema.fingerprint),
            )
            if before != now
        ]
        settings = self.app.settings
        if then.think and then.think != settings.think:
            changed.append(f"--think {then.think}")
        if then.levers and then.levers != in_words(settings.levers):
            changed.append(f"HEBBQL_LEVERS={then.levers}")
        if changed:
            raise RunError(
                f"Run {run.id} was begun with {' and '.join(changed)}, so going on would measure "
                "something else. Give the same again, or begin a new run without --resume."
            )
        return run

    def train(self, run: Run, options: TrainingOptions, *, through: Through) -> Generator[Run]:
        app, watch, baton = self.app, Clockwatch(options.max_hours), Baton()
        pairs, holdout = self._asked(options)
        app.get_ready_to_recall()
        app.get_model_ready()
        if app.budget is not None:
            app.budget.charge(run.cost_usd)
        model = baton.model(PatientModel(through(app.model), patience=options.patience, say=app.say))
        kept = self._cached(model) if run.plan.cache else None
        care = self._care(pairs)
        asking = replace(MEMORY, sifted=run.plan.forgetting)
        arms: dict[Part, Arm] = {"training": replace(asking, trying=True), "holdout": asking}

        def ask(chosen: Sequence[Pair], epoch: int, part: Part) -> Iterator[Step]:
            def one(pair: Pair) -> Step:
                watch.check()
                learner = (
                    self._learner(run.id, pair, epoch) if part == "training" else self._witness(run.id, pair, epoch)
                )
                asked = kept.asked_by(f"{run.id} {epoch} {part} {pair.id}") if kept else model
                *_, attempt = app.ask(pair.question, arm=arms[part], model=asked, journal=learner)
                if not learner.judged:
                    raise Paused(attempt.message)
                return learner.judged[-1]

            return steps(chosen, one, workers=options.workers, baton=baton)

        folder, begun = app.settings.runs / run.id, run
        about = {"commit": commit(), **({"about the questions": " ".join(self._notes)} if self._notes else {})}
        try:
            for run in train(begun, pairs=pairs, holdout=holdout, ask=ask, care=care, log=self.log):
                if run.finished is not None:
                    app.bring_up_to_date()
                if run.is_at_checkpoint or run.finished is not None:
                    write_run(folder, run, about=about)
                yield run
        except (Paused, BrainError, DatabaseError, RunError, OSError) as stopped:
            yield self._pause(run, str(stopped), folder, about)
        except (KeyboardInterrupt, GeneratorExit):
            app.give_up()
            self._pause(run, "Interrupted.", folder, about)
            raise

    def _care(self, pairs: Sequence[Pair]) -> Care:
        """What looks after the brain at checkpoints; the shipped pack vouches for what it asks as well."""
        app = self.app
        return Care(
            ledger=app.ledger,
            synapses=app.synapses,
            log=self.log,
            pairs=pairs,
            run=app.checked_run,
            judge=self.judge,
            understand=app.understand,
            schema=app.schema.fingerprint,
            dialect=app.schema.dialect,
            habit=app.habit_of,
            vouched=read_pairs(app.shipped_pack) if app.shipped_pack.is_file() else (),
        )

    def _pause(self, run: Run, reason: str, folder: Path, about: Mapping[str, str]) -> Run:
        """Write down that a run stops, as far as there is room for it; of one that is finished it is only said why."""
        if run.finished is not None:
            self.app.say(reason)
            return run
        try:
            run = self.log.pause(run, reason)
        except BrainError:
            run = replace(run, pauses=(*run.pauses, Pause(reason, time.time())))
        with suppress(RunError):
            write_run(folder, run, about=about)
        return run

    def _learner(self, run: str, pair: Pair, epoch: int) -> Learner:
        app = self.app
        return Learner(
            journal=app.journal,
            synapses=app.synapses,
            log=self.log,
            judge=self.verdict,
            run=run,
            epoch=epoch,
            pair=pair,
        )

    def _witness(self, run: str, pair: Pair, epoch: int) -> Witness:
        return Witness(ledger=self.app.ledger, log=self.log, judge=self.verdict, run=run, epoch=epoch, pair=pair)

    def evaluate(self, pairs: Sequence[Pair], arms: Sequence[Arm], *, cache: bool) -> Iterator[Step]:
        app, model = self.app, self._cached(self.app.model) if cache else self.app.model
        places = zip(pairs, deranged(len(pairs), seed=1), strict=True)
        others = {pair.id: pairs[place].question for pair, place in places}

        if any(arm.episodes != "none" for arm in arms):
            app.get_ready_to_recall()

        def ask(pair: Pair, arm: Arm) -> Attempt:
            *_, attempt = app.ask(pair.question, arm=arm, another=others[pair.id], model=model, journal=Unwritten())
            return attempt

        return evaluate(pairs, arms, ask=ask, judge=self.verdict)

    def seed_hard(self, training: Path, *, per_bucket: int) -> HardReport:
        app, questions = self.app, question_set(training)
        app.get_ready_to_recall()
        report = seed_hard(
            read_pairs(training),
            ledger=app.ledger,
            synapses=app.synapses,
            run=app.checked_run,
            confirm=self.judge.confirm,
            understand=app.understand,
            source=Source(
                ORIGIN,
                "gold",
                f"{ORIGIN}:{questions.digest[:12]}:{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())}",
                app.schema.fingerprint,
                app.schema.dialect,
            ),
            per_bucket=per_bucket,
            failed=ever_wrong(map(self.log.read, self.log.ids()), questions.digest),
        )
        app.bring_up_to_date()
        return report

    def erase(self, texts: Sequence[str]) -> tuple[int, int]:
        """Take queries out of the completion cache, and write the files of runs and evaluations anew without them.

        Gives how many replies were dropped, and how many runs and evaluations were written. Raises ReplyFileError,
        RunError.
        """

        def spelled(reply: str) -> str:
            with suppress(QueryRejected):
                reply = read_sql(reply)
            return one_spelling(reply, self.app.schema.dialect)

        with closing(Replies(self._replies, say=self.app.say)) as replies:
            dropped = replies.drop(texts, spelled=spelled)
        for folder in self._runs:
            write_run(folder, self.log.read(folder.name), about=about_of(folder))
        wanted = {spelled(text) for text in texts}
        return dropped, len(self._runs) + sum(without(folder, wanted, spelled=spelled) for folder in self._evaluations)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the files of this brain's runs are, and those of evaluations that were put nowhere else."""
        return (*self._runs, *self._evaluations)

    @property
    def _runs(self) -> tuple[Path, ...]:
        places = (self.app.settings.runs / id for id in self.log.ids())
        return tuple(place for place in places if place.is_dir())

    @property
    def _evaluations(self) -> tuple[Path, ...]:
        """All brains' evaluations: no brain knows which are its own."""
        return tuple(sorted(path.parent for path in self.app.settings.runs.glob("evaluation-*/evaluation.json")))

    @property
    def _replies(self) -> Path:
        """The completion cache, which all brains share."""
        return self.app.settings.runs / "replies.sqlite"

    def _asked(self, options: TrainingOptions) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """The training and the holdout questions of a run, looked at once.

        Raises:
            QuestionFileError: none of a file is left.
        """
        if options not in self._questions:
            training = self._held(options.training, options.only_training)
            holdout = self._held_out(options.holdout, options.only_holdout, training) if options.holdout else ()
            self._questions[options] = training, holdout
        return self._questions[options]

    def _held_out(self, path: Path, only: Sequence[str], training: Sequence[Pair]) -> tuple[Pair, ...]:
        """The questions of a holdout file, without those that training gives away.

        One that is only much like a training question is named, and asked. Raises QuestionFileError where none is left.
        """
        holdout = self._held(path, only)
        found: dict[str, Leak] = {}
        for leak in leaks(
            training,
            holdout,
            mask=lambda question: self.app.understand(cleaned(question)).masked,
            normalise=partial(one_spelling, dialect=self.app.schema.dialect),
        ):
            found.setdefault(leak.holdout, leak)
        same = {leak.holdout for leak in found.values() if leak.rule in ("same question", "same SQL")}
        for leak in found.values():
            what = "is left out of the holdout" if leak.holdout in same else "says less as a holdout question"
            self._note(f"{leak.holdout} {what}: {leak.rule} as {leak.training} of the training set.")
        left = tuple(pair for pair in holdout if pair.id not in same)
        if not left:
            raise QuestionFileError(
                f"Every question of {path} is a training question as well, so none is held out. "
                "Give others with --holdout, or none."
            )
        return left

    def _note(self, told: str) -> None:
        """Say something of the questions, and keep it for the report."""
        self.app.say(told)
        self._notes.append(told)

    def _held(self, path: Path, only: Sequence[str]) -> tuple[Pair, ...]:
        """The questions of a file whose golds hold; the others are named. Raises QuestionFileError where none does."""
        held, refused = self.confirmed(chosen(path, only))
        for one in refused:
            self._note(f"{path.name}: {one.name} is left out. {one.reason}")
        if not held:
            raise QuestionFileError(f"No gold of {path} holds on this database, so there is nothing to ask.")
        return held

    def _cached(self, model: Model) -> CachedModel:
        """The model behind the completion cache."""
        charge = self.app.budget.charge if self.app.budget else _nothing
        kept = CachedModel(model, path=self._replies, say=self.app.say, charge=charge)
        self._opened.callback(kept.close)
        return kept


def _nothing(_cost: float) -> None:
    """Nobody keeps a budget."""


def reached(run: Callable[[str], Result]) -> Callable[[str], Result]:
    """The same way to the rows, for a judge: an answer is not wrong because nobody could look.

    A query whose process ended is run once more, in a new one; if that ends too, it is for the query. What is returned
    raises DatabaseUnusableError where the database is locked or its connection broke.
    """

    def looked(sql: str) -> Result:
        try:
            return run(sql)
        except QueryFailed as failed:
            if failed.kind in OUTAGES:
                raise DatabaseUnusableError(failed.reason) from failed
            if failed.kind != "worker":
                raise
        return run(sql)

    return looked


def in_words(levers: Levers) -> str:
    """What HEBBQL_LEVERS takes for these levers.

    >>> in_words(Levers.read("names, adapt")), in_words(Levers.read("none"))
    ('adapt,names', 'none')
    """
    return ",".join(name for name in Levers.__slots__ if getattr(levers, name)) or "none"


def chosen(path: Path, only: Sequence[str] = ()) -> tuple[Pair, ...]:
    """The questions of a file, or those of the ids. Raises QuestionFileError."""
    pairs = read_pairs(path)
    if not only:
        return pairs
    wanted = set(only)
    if missing := wanted - {pair.id for pair in pairs}:
        raise QuestionFileError(f"{path} has no question {sorted(missing)[0]!r}.")
    return tuple(pair for pair in pairs if pair.id in wanted)


def question_set(path: Path, only: Sequence[str] = ()) -> QuestionSet:
    """A question file by its name, the digest of it and of what is taken, and how many that are."""
    pairs = chosen(path, only)
    digest = hashlib.sha256(path.read_bytes() + "\n".join(only).encode())
    return QuestionSet(path.name, digest.hexdigest(), len(pairs))


def about_of(folder: Path) -> Mapping[str, str]:
    """What the files of a run say of its circumstances; nothing where they cannot be read."""
    try:
        about = json.loads((folder / "config.json").read_text("utf-8")).get("about", {})
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in about.items()}


def without(folder: Path, queries: Collection[str], *, spelled: Callable[[str], str]) -> bool:
    """Write the files of an evaluation anew without some queries; whether it had one. They are given as `spelled`.

    What cannot be read as an evaluation is left as it is. Raises RunError where it cannot be written.
    """
    try:
        told = json.loads((folder / "evaluation.json").read_text("utf-8"))
        steps, about = [read_step(one) for one in told["steps"]], dict(told["about"])
        kept = [replace(one, sql="", reason="") if spelled(one.sql) in queries else one for one in steps]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    if kept == steps:
        return False
    try:
        write_evaluation(folder, summarise(kept), kept, about=about)
    except OSError as error:
        raise RunError(
            f"The files in {folder} cannot be written: {error.strerror or error}. What is to be erased stands in them: "
            "change their rights, or delete them."
        ) from error
    return True
