"""What is done between the questions of a run: bad episodes are forgotten, hard buckets are given golds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from agent.attempt import OUTAGES, Understood
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.database.skeleton import skeleton
from agent.journal import fired
from agent.learning.feedback import asked_alike, blamed, loosen
from agent.learning.hard import golds_for, seeded, stayed_at_zero, stubborn
from agent.learning.judging import Verdict
from agent.learning.mistakes import one_spelling
from agent.learning.questions import Pair
from agent.learning.runs import Checkpoint, Forgotten, Run, RunLog
from agent.learning.seed import Refused, Source
from agent.learning.steps import Step
from agent.question import cleaned
from memory.episode import Episode
from memory.ledger import Ledger, Transaction
from memory.lessons import Lesson, Lessons
from procedural.forgetting import is_failing
from procedural.store import SynapseStore
from procedural.synapse import Synapse, Target, prunable

FEWEST_LOOKED_AT = 3
"""So many of a bucket's newest answers are looked at, however many epochs they are from."""

STUBBORN = 3
"""A question that was wrong this often in a row gets its own gold."""


class Judging(Protocol):
    """What knows whether a query answers a question whose answer is known, and whether that answer holds."""

    def judge(self, pair: Pair, sql: str, result: Result | None, *, problem: str = "") -> Verdict: ...

    def confirm(self, pair: Pair) -> Verdict: ...


def newest(run: Run, bucket: str) -> tuple[Step, ...]:
    """The answers in a bucket by which it is judged: those since a checkpoint of the run last changed what it recalls.

    Of these the ones of the newest epoch of the run and the one before it, and at least the last three.
    """
    changed = _changed(run, bucket) or (0, 0)
    asked: Counter[int] = Counter()
    since = []
    for step in run.steps:
        if step.part == "training":
            if step.bucket == bucket and (step.epoch, asked[step.epoch]) >= changed:
                since.append(step)
            asked[step.epoch] += 1
    recent = sum(step.epoch >= max(asked) - 1 for step in since)
    return tuple(since[-max(recent, FEWEST_LOOKED_AT) :])


def keeps_failing(run: Run, bucket: str, synapses: Iterable[Synapse]) -> bool:
    """Whether a bucket keeps failing in a run, so that it is time to forget.

    By the rule by which a synapse is pruned, for its newest answers as a whole: at least 3 of them were wrong, and
    P(p < 0.5) > 0.9 under Beta(1 + right, 1 + wrong). With none right that is three wrong ones. As long as no
    checkpoint of the run has changed what the bucket recalls, a single wrong answer and none right is enough where
    every approach ever tried in it should be pruned: it failed before this run as well. After a change the bucket has
    a fresh start. `synapses` are those of the bucket.
    """
    answers = newest(run, bucket)
    right = sum(step.right for step in answers)
    as_a_whole = Synapse(bucket, "approach", "", 0.0, right, len(answers) - right, 0.0)
    failed_before = bool(answers) and not right and _changed(run, bucket) is None and is_failing(synapses)
    return prunable(as_a_whole) or failed_before


@dataclass(frozen=True, slots=True)
class Suspect:
    """An episode that fired in wrong answers of its own bucket in a run: in how many, first in which epoch.

    `helped` counts the right answers of the run in which it fired. `followed`: a newest wrong answer has its shape.
    `is_blamed`: a newest wrong answer speaks against it, which one does not that a habit or a bent query of it gave.
    """

    episode: Episode
    wrong: int
    first: int
    helped: int
    followed: bool
    is_blamed: bool

    @property
    def evidence(self) -> str:
        times = "1 wrong answer" if self.wrong == 1 else f"{self.wrong} wrong answers"
        helped = f"in {self.helped} right" if self.helped else "never in a right one"
        return f"shown in {times}, first in epoch {self.first}, {helped}"

    def forgotten(self, why: str) -> Forgotten:
        one = self.episode
        return Forgotten(str(one.id), one.bucket, one.question, one.sql, why)


@dataclass(frozen=True, kw_only=True, slots=True)
class Care:
    """Looks after a brain at the checkpoints of a run.

    `pairs` are the training questions, never holdout. `vouched` are further pairs with independent second queries, as
    a seed pack has them: an episode is judged by them, and none is seeded. `run` checks SQL and runs it on the
    database. `schema` is the fingerprint of the schema on which golds are verified.
    """

    ledger: Ledger
    synapses: SynapseStore
    log: RunLog
    pairs: Sequence[Pair]
    run: Callable[[str], Result]
    judge: Judging
    understand: Callable[[str], Understood]
    schema: str
    dialect: str
    habit: Callable[[Episode], str] = lambda _episode: ""
    vouched: Sequence[Pair] = ()
    _by_question: dict[str, list[Pair]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _shown: dict[str, tuple[frozenset[str], frozenset[str]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _shapes: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    _verdicts: dict[UUID, Verdict] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for pair in (*self.pairs, *self.vouched):
            self._by_question.setdefault(_asked(pair.question), []).append(pair)

    def checkpoint(self, run: Run, epoch: int, *, closes: bool) -> Run:
        """Forget bad episodes and, at the end of an epoch, seed hard buckets; give the run with that written down.

        All of it is one transaction, after everything was judged. What is new or gone waits in the ledger's queue for
        the episode store. Nothing is forgotten or seeded where the plan of the run says so.
        """
        bad = tuple(self._bad(run)) if run.plan.forgetting else ()
        golds, refused = self._golds(run, epoch) if closes and run.plan.seeding else ([], ())
        with self.ledger.transaction() as entry:
            forgotten = [told for told, lesson in bad if self._forget(entry, run, told, lesson)]
            coming = [gold for gold, _ in golds]
            gone = {told.episode for told in forgotten}
            loosen(self.ledger, self.synapses, entry, gone, coming=coming, habit=self.habit)
            checkpoint = Checkpoint(
                epoch,
                len(run.of(epoch)),
                closes,
                tuple(forgotten),
                tuple(seeded(gold, why, self._pair(gold)) for gold, why in golds if entry.remember(gold)),
                refused,
            )
            self.log.checkpoint(entry, run.id, checkpoint)
        return run.grown(checkpoint=checkpoint)

    def suspects(self, run: Run, bucket: str) -> tuple[Suspect, ...]:
        """The remembered episodes of a bucket that fired in its newest wrong answers.

        Earliest first: by when they first fired in a wrong answer of the bucket in this run, then by when they were
        remembered.
        """
        wrong_now = [step for step in newest(run, bucket) if not step.right]
        now = {id for step in wrong_now for id in self._episodes_shown(step.attempt)}
        steps = [step for step in run.steps if step.part == "training" and step.bucket == bucket]
        found = []
        for episode in self.ledger.episodes(bucket) if now else ():
            if str(episode.id) in now:
                shown = [
                    (n, step) for n, step in enumerate(steps) if str(episode.id) in self._episodes_shown(step.attempt)
                ]
                wrong = [n for n, step in shown if not step.right]
                followed = any(
                    str(episode.id) in self._episodes_shown(step.attempt) and self._shape(step) == episode.skeleton
                    for step in wrong_now
                )
                is_blamed = any(str(episode.id) in self._episodes_blamed(step.attempt) for step in wrong_now)
                first, helped = steps[wrong[0]].epoch, len(shown) - len(wrong)
                suspect = Suspect(episode, len(wrong), first, helped, followed, is_blamed)
                found.append((wrong[0], suspect))
        return tuple(suspect for _, suspect in sorted(found, key=lambda one: one[0]))

    def _bad(self, run: Run) -> Iterator[tuple[Forgotten, Lesson | None]]:
        """What to forget, with why; the episodes of a bucket stand together, earliest first."""
        failed = {step.bucket: None for step in run.steps if step.part == "training" and not step.right}
        with self.ledger.connection() as connection:
            of = {bucket: self.synapses.synapses(connection, bucket) for bucket in failed}
        for bucket, synapses in of.items():
            yield from self._bad_of(run, bucket, synapses)

    def _bad_of(self, run: Run, bucket: str, synapses: Sequence[Synapse]) -> Iterator[tuple[Forgotten, Lesson | None]]:
        """Those suspects of a bucket that are to go.

        A suspect whose own question is a training question is judged by its SQL: a right one stays, whatever came of
        it, and a wrong one goes at once and leaves a lesson. Where none is known to be wrong and the bucket keeps
        failing, those of the others go whose own synapse should be pruned, or that failed and never helped; if wrong
        answers followed some of these in shape, these alone, and the bucket has a fresh start without them. What an
        episode did in another bucket than its own counts for nothing.
        """
        suspects = self.suspects(run, bucket)
        verdicts = {one: verdict for one in suspects if (verdict := self._verdict(one.episode)) is not None}
        wrong = {one: verdict for one, verdict in verdicts.items() if not verdict.right}
        for one, verdict in wrong.items():
            why = f"its own answer is wrong: {verdict.reason} It was {one.evidence}."
            yield one.forgotten(why), self._lesson(run, one.episode, verdict)
        if wrong or not keeps_failing(run, bucket, synapses):
            return
        spent = {one.target for one in synapses if one.target_kind == "episode" and _gives_up(one)}
        guilty = [one for one in suspects if one not in verdicts and one.is_blamed and str(one.episode.id) in spent]
        for one in [one for one in guilty if one.followed] or guilty:
            yield one.forgotten(f"{one.evidence}; {_told(newest(run, bucket))}."), None

    def _lesson(self, run: Run, episode: Episode, verdict: Verdict) -> Lesson:
        """What a wrong episode teaches: its SQL is wrong, and the gold is its fix."""
        return Lesson(
            bucket=episode.bucket,
            masked=episode.masked,
            question=episode.question,
            wrong_sql=episode.sql,
            problem=f"Its pair was forgotten: {verdict.reason}",
            fix_sql=one_spelling(self._asking(episode)[0].sql, self.dialect),
            origin=f"train:{run.id}",
        )

    def _forget(self, entry: Transaction, run: Run, told: Forgotten, lesson: Lesson | None) -> bool:
        """Forget an episode that is still remembered, and learn what it teaches."""
        if not entry.forget(UUID(told.episode), f"in training {run.id}: {told.why}"):
            return False
        if lesson is not None:
            Lessons(self.ledger).learn(entry, lesson)
        return True

    def _golds(self, run: Run, epoch: int) -> tuple[list[tuple[Episode, str]], tuple[str, ...]]:
        """Golds of failed questions for buckets that stayed at zero, and of stubborn questions, each with why.

        At most `per_bucket` a bucket, but all that are stubborn; what is refused is named by the id of its question,
        once in a run.
        """
        zero, hopeless = set(stayed_at_zero(run, epoch)), set(stubborn(run, epoch, times=STUBBORN))
        asked = {step.question: step.bucket for step in run.of(epoch)}
        wanted: defaultdict[str, list[Pair]] = defaultdict(list)
        for pair in sorted(self.pairs, key=lambda pair: pair.id not in hopeless):
            bucket = asked.get(pair.id)
            if bucket is not None and (bucket in zero or pair.id in hopeless):
                wanted[bucket].append(pair)
        batch = f"train:{run.id}:epoch-{epoch}"
        source = Source(f"train:{run.id}", "gold", batch, self.schema, self.dialect)
        chosen: list[tuple[Episode, str]] = []
        refused: list[Refused] = []
        for bucket, pairs in wanted.items():
            golds = golds_for(
                pairs,
                limit=max(run.plan.per_bucket, sum(pair.id in hopeless for pair in pairs)),
                run=self.run,
                confirm=self.judge.confirm,
                understand=self.understand,
                source=source,
                state=self.ledger.episode_state,
            )
            why = (
                f"none of its bucket's questions was right in epoch {epoch}"
                if bucket in zero
                else f"it was wrong {STUBBORN} times in a row"
            )
            chosen += ((gold, why) for gold in golds.episodes)
            refused += golds.refused
        before = {named for one in run.checkpoints for named in one.refused}
        named = dict.fromkeys(f"{one.name}: {one.reason}" for one in refused)
        return chosen, tuple(one for one in named if one not in before)

    def _verdict(self, episode: Episode) -> Verdict | None:
        """What the judge says of an episode as an answer to its own question; None where that cannot be known."""
        if episode.id not in self._verdicts and (verdict := self._judged(episode)) is not None:
            self._verdicts[episode.id] = verdict
        return self._verdicts.get(episode.id)

    def _judged(self, episode: Episode) -> Verdict | None:
        known = self._asking(episode)
        if not known:
            return None
        result, problem = None, ""
        try:
            result = self.run(episode.sql)
        except QueryRejected as rejected:
            problem = rejected.reason
        except QueryFailed as failed:
            if failed.kind in OUTAGES:
                return None
            problem = failed.reason
        verdicts = [self.judge.judge(pair, episode.sql, result, problem=problem) for pair in known]
        told = [verdict for verdict in verdicts if verdict.right or verdict.error != "uninformative"]
        return max(told, key=lambda verdict: verdict.right, default=None)

    def _asking(self, episode: Episode) -> tuple[Pair, ...]:
        """The pairs whose question is that of an episode."""
        return tuple(self._by_question.get(_asked(episode.question), ()))

    def _shape(self, step: Step) -> str:
        """The shape of the SQL of an answer, or `""` where it cannot be read."""
        if step.attempt not in self._shapes:
            try:
                self._shapes[step.attempt] = skeleton(step.sql, self.dialect)
            except QueryRejected:
                self._shapes[step.attempt] = ""
        return self._shapes[step.attempt]

    def _pair(self, gold: Episode) -> str:
        """The id of the training question that a gold is from."""
        return next((pair.id for pair in self._asking(gold)), "")

    def _episodes_shown(self, attempt: str) -> frozenset[str]:
        """Ids of the episodes that fired in a settled attempt."""
        return self._episodes_of(attempt)[0]

    def _episodes_blamed(self, attempt: str) -> frozenset[str]:
        """Ids of those of them that it speaks against, were it wrong."""
        return self._episodes_of(attempt)[1]

    def _episodes_of(self, attempt: str) -> tuple[frozenset[str], frozenset[str]]:
        """Ids of the episodes that fired in a settled attempt, and of those to blame if it is wrong; read once."""
        if attempt not in self._shown:
            record = self.ledger.attempt(attempt)
            body = (record.settled if record else None) or {}
            self._shown[attempt] = _episodes(fired(body)), _episodes(blamed(body, ()))
        return self._shown[attempt]


def _episodes(targets: Iterable[Target]) -> frozenset[str]:
    return frozenset(one.name for one in targets if one.kind == "episode")


def _asked(question: str) -> str:
    """A question without what may differ between two writings of the same."""
    return asked_alike(cleaned(question)).rstrip(" ?!.")


def _gives_up(synapse: Synapse) -> bool:
    return prunable(synapse) or (synapse.failures > 0 and synapse.successes == 0)


def _told(answers: Sequence[Step]) -> str:
    wrong = sum(not step.right for step in answers)
    return f"{wrong} of the last {len(answers)} answers in its bucket were wrong"


def _changed(run: Run, bucket: str) -> tuple[int, int] | None:
    """Where a checkpoint of the run last changed what a bucket recalls: in which epoch, after how many answers."""
    changed = None
    for one in run.checkpoints:
        if bucket in {gone.bucket for gone in one.forgotten} | {new.bucket for new in one.seeded}:
            changed = one.epoch, one.after
    return changed
