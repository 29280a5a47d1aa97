"""A person's word on an answer: it moves the synapses, and stores, corrects or forgets the episode."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.attempt import OUTAGES
from agent.database.result import Result
from agent.database.skeleton import normalise
from agent.journal import fired, strains
from agent.learning.mistakes import lessons_from_person, written
from agent.learning.seed import Source, episode_of_attempt
from memory.brain.loosening import loose_shapes
from memory.episode import Episode, episode_id
from memory.ledger import EventKind, Ledger, Transaction
from memory.lessons import Lessons
from procedural.forgetting import episodes_to_forget
from procedural.store import Bucket, SynapseStore, changes_content
from procedural.synapse import Target

Verdict = Literal["good", "bad", "corrected"]


_MOST_NAMED = 3

_BENT = 0.1
"""A wrong adapted query whose episode was bent further than this says nothing against the episode."""

HabitOf = Callable[[Mapping[str, Any], str], str]
"""Names the habit that the question of a settled attempt's body and an SQL belong to, or gives `""`."""


class FeedbackError(Exception):
    """The feedback cannot be taken. The message says what to do next."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change to the memory came to. Ids are episodes."""

    message: str
    remembered: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Teacher:
    """Takes feedback into ledger and synapses, in one transaction. `run` checks and runs SQL on the database."""

    ledger: Ledger
    synapses: SynapseStore
    run: Callable[[str], Result]
    schema: str
    dialect: str
    habit: HabitOf = lambda _body, _sql: ""

    def take(self, attempt: str, verdict: Verdict, sql: str | None = None) -> Outcome:
        """Take a verdict on a settled attempt. The same verdict again changes nothing.

        `good` and `corrected` run the SQL once more: only what runs now, on this schema, is remembered.

        Raises:
            FeedbackError: no such attempt, nothing to judge, or a result that is cut off.
            QueryRejected, QueryFailed: the SQL does not hold or run.
        """
        body = self._settled(attempt)
        if body.get("status") == "refused" and not body.get("drafts"):
            raise FeedbackError(f"Attempt {attempt} was refused: it asks for a change, so there is nothing to teach.")
        written = str(body.get("sql") or "")
        if verdict == "corrected":
            assert sql is not None, "a correction comes with its SQL"
            sql = normalise(sql, self.dialect)
            if written and sql == normalise(written, self.dialect):
                verdict = "good"
        if not written and (verdict == "good" or (verdict == "bad" and not body.get("drafts"))):
            raise FeedbackError(
                f'Attempt {attempt} gave no answer to call {verdict}. Correct it with --sql "SELECT …".'
            )
        if self._last_verdict(attempt) == (verdict, sql if verdict == "corrected" else None):
            return Outcome(f"Attempt {attempt} was marked {verdict} already; nothing changed.")
        if verdict == "bad":
            return self._weaken(attempt, body)
        right = self._episode(attempt, body, written if verdict == "good" else str(sql))
        return self._store(attempt, body, right, verdict, sql)

    def _settled(self, attempt: str) -> Mapping[str, Any]:
        record = self.ledger.attempt(attempt)
        if record is None:
            raise FeedbackError(
                f"There is no attempt {attempt} in this brain. `hebbql ask` prints the id of each answer."
            )
        if record.settled is None or "bucket" not in record.settled:
            raise FeedbackError(f"Attempt {attempt} has no answer to judge (it is open, was cut off, or was erased).")
        return record.settled

    def _last_verdict(self, attempt: str) -> tuple[object, object] | None:
        given = [event.content for event in self.ledger.events(kinds=(EventKind.FEEDBACK_GIVEN,), subject=attempt)]
        return (given[-1].get("verdict"), given[-1].get("sql")) if given and given[-1] else None

    def _episode(self, attempt: str, body: Mapping[str, Any], sql: str) -> Episode:
        result = self.run(sql)
        if result.truncated:
            raise FeedbackError("The result is cut off at the row cap, so it cannot be remembered as right.")
        origin = f"feedback:{attempt}"
        return episode_of_attempt(body, sql, result, Source(origin, "person", origin, self.schema, self.dialect))

    def _store(
        self, attempt: str, body: Mapping[str, Any], right: Episode, verdict: Verdict, sql: str | None
    ) -> Outcome:
        """Remember the right episode; reward what fired if it led there, else weaken it and forget the wrong one.

        What earlier feedback on this attempt called right is forgotten too, and so is the lesson that calls right
        wrong: the newest word counts.
        """
        named = self.habit(body, right.sql)
        habit = (Target("habit", named),) if named else ()
        shown = (Target("skeleton", right.skeleton), Target("episode", str(right.id)), *habit)
        earlier = [episode.id for episode in self.ledger.episodes(batch=right.batch)]
        with self.ledger.transaction() as entry:
            given = {"verdict": verdict, "sql": sql if verdict == "corrected" else None}
            entry.append(EventKind.FEEDBACK_GIVEN, attempt, given)
            wrong = () if verdict == "good" else self._failed(entry, body)
            gone = _forget(entry, (*earlier, *wrong), attempt, keep=right.id)
            loosen(self.ledger, self.synapses, entry, gone, coming=(right,), habit=self._habit_of)
            new = entry.remember(right, again=True)
            self._lessons.drop(entry, right.id, f"feedback on {attempt}")
            if verdict == "corrected":
                self._learn(entry, attempt, body, right.sql)
            rewarded = (*fired(body), *shown) if verdict == "good" else shown
            move_weights(self.synapses, entry, body, rewarded, reward=1.0)
        known = "Remembered" if new else "Known already, and strengthened"
        less = self._told(gone) if gone else ""
        return Outcome(f"{known}: {right.question}{less}", (str(right.id),) if new else (), gone)

    def _weaken(self, attempt: str, body: Mapping[str, Any]) -> Outcome:
        with self.ledger.transaction() as entry:
            entry.append(EventKind.FEEDBACK_GIVEN, attempt, {"verdict": "bad", "sql": None})
            gone = _forget(entry, self._failed(entry, body), attempt)
            loosen(self.ledger, self.synapses, entry, gone, habit=self._habit_of)
            self._learn(entry, attempt, body)
        forgotten = self._told(gone) if gone else " No episode was stored from it."
        habit = " The habit is broken: the model is asked from now on." if body.get("path") == "habit" else ""
        return Outcome(
            f"Attempt {attempt} is marked bad; what led to it is weakened.{habit}{forgotten}", forgotten=gone
        )

    def _told(self, gone: Sequence[str]) -> str:
        """Name the episodes that were forgotten, so that a person can put back what should have stayed."""
        known = [episode for id in gone if (episode := self.ledger.episode(uuid.UUID(id))) is not None]
        named = "; ".join(repr(episode.question) for episode in known[:_MOST_NAMED])
        more = f" and {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
        return f" Forgotten, as it misled or was spent: {named}{more}."

    def _failed(self, entry: Transaction, body: Mapping[str, Any]) -> tuple[uuid.UUID, ...]:
        """Weaken what fired; give the episode that says the wrong answer, and those of the bucket that are spent.

        An episode of another bucket that misled here stays: it was verified there, and only the way to it is weak.
        So does one that says this SQL to the same question with other literals, where it may be right; and what a
        habit replayed with new literals is not weakened for it either.
        """
        wrong: list[uuid.UUID] = []
        if body.get("sql"):
            said = episode_id(body["bucket"], body["masked"], normalise(body["sql"], self.dialect))
            episode = self.ledger.episode(said)
            if episode and asked_alike(episode.question) == asked_alike(body["question"]):
                wrong.append(said)
        move_weights(self.synapses, entry, body, blamed(body, map(str, wrong)), reward=0.0)
        spent = episodes_to_forget(self.synapses.synapses(entry.connection, body["bucket"]))
        own = {episode.id for episode in self.ledger.episodes(body["bucket"])}
        return (*wrong, *(id for id in map(uuid.UUID, spent) if id in own))

    def _habit_of(self, episode: Episode) -> str:
        return self.habit({"question": episode.question}, episode.sql)

    @property
    def _lessons(self) -> Lessons:
        return Lessons(self.ledger)

    def _learn(self, entry: Transaction, attempt: str, body: Mapping[str, Any], right_sql: str = "") -> None:
        for lesson in lessons_from_person(attempt, body, dialect=self.dialect, right_sql=right_sql):
            self._lessons.learn(entry, lesson)


def asked_alike(question: str) -> str:
    """A question without what may differ between two writings of the same.

    >>> asked_alike("How  many Breads?") == asked_alike("how many breads?")
    True
    """
    return " ".join(question.casefold().split())


def blamed(body: Mapping[str, Any], wrong: Iterable[str]) -> tuple[Target, ...]:
    """What is weakened for a wrong answer: all that fired, and the approach that led there as well.

    Of the episodes that a habit replayed, or that were bent to give the answer, only those in `wrong`: as it was
    verified, such an episode may be right. Beside an adapted answer the approach is blamed if its draft said the same
    or none of its drafts ran; with another result it may have been right.
    """
    names, path, strain = set(wrong), body.get("path"), strains(body)

    def spared(episode: str) -> bool:
        return episode not in names and (path == "habit" or (path == "adapted" and strain[episode] > _BENT))

    guilty = tuple(target for target in fired(body) if target.kind != "episode" or not spared(target.name))
    if path != "adapted" or not body.get("approach"):
        return guilty
    drafts = [draft for draft in written(body) if draft["rule"] not in OUTAGES]
    nothing_ran = all(draft["problem"] or not draft["sql"] for draft in drafts)
    return (Target("approach", body["approach"]), *guilty) if drafts and nothing_ran else guilty


def move_weights(
    synapses: SynapseStore, entry: Transaction, body: Mapping[str, Any], targets: Iterable[Target], *, reward: float
) -> None:
    """Fire each target in the bucket of a settled attempt, once, and write down how its weight moved.

    `reward` is 1.0 for a right answer and 0.0 for a wrong one.
    """
    if wanted := tuple(dict.fromkeys(targets)):
        bucket = Bucket(body["bucket"], body["kind"], tuple(body.get("grain") or body["tables"]))
        changes = synapses.fire(entry.connection, bucket, wanted, reward, entry.at)
        entry.append(EventKind.WEIGHTS_MOVED, bucket.bucket, changes_content(changes))


def loosen(
    ledger: Ledger,
    synapses: SynapseStore,
    entry: Transaction,
    gone: Collection[str],
    *,
    coming: Iterable[Episode] = (),
    habit: Callable[[Episode], str] = lambda _episode: "",
) -> None:
    """Take away the synapses that stood on episodes that are gone, by id: whatever way an episode goes, they go too.

    These are the synapses to the episodes, and in their buckets those to skeletons and habits that no other remembered
    episode has, nor one that is `coming` in this transaction. One that failed more often than it was right stays: it
    warns, and what it warns of are attempts. `habit` names the habit that an episode leads to.
    """
    if not gone:
        return
    loose = [synapse for synapse in synapses.synapses(entry.connection, kind="episode") if synapse.target in gone]
    leaving = [episode for id in sorted(gone) if (episode := ledger.episode(uuid.UUID(id))) is not None]
    for bucket in sorted({one.bucket for one in leaving}):
        praised = [one for one in synapses.synapses(entry.connection, bucket) if one.successes >= one.failures]
        staying = [one for one in (*ledger.episodes(bucket), *coming) if str(one.id) not in gone]
        named = habit if any(one.target_kind == "habit" for one in praised) else None
        shapes = loose_shapes((one for one in leaving if one.bucket == bucket), staying, named)
        loose += [one for one in praised if (one.bucket, one.target_kind, one.target) in shapes]
    if loose:
        entry.append(EventKind.WEIGHTS_MOVED, "loosened", synapses.restore(entry.connection, (), (), loose))


def _forget(
    entry: Transaction, ids: Iterable[uuid.UUID], attempt: str, *, keep: uuid.UUID | None = None
) -> tuple[str, ...]:
    """Forget those that are still remembered, but never `keep`; give the ids of those that went."""
    gone = []
    for id in dict.fromkeys(ids):
        if id != keep and entry.is_active(id):
            entry.forget(id, f"feedback on {attempt}")
            gone.append(str(id))
    return tuple(gone)
