"""The audit of an opened app's brain: what contradicts what, what is missing, and forgetting the losing sides."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agent.auditing.answering import Answering
from agent.auditing.meanings import Meanings, standing
from agent.database.comparing import same
from agent.database.result import DatabaseError, QueryFailed, QueryRejected, Result
from agent.learning.feedback import FeedbackError, loosen
from memory.audit.absent import Pointing, absent_answers, absent_episodes, absent_names
from memory.audit.contradicting import Remembered, contradictions, grouped, two_meanings
from memory.audit.finding import NOTHING, Finding, Kind, Side, Write
from memory.audit.identity import same_words
from memory.brain.checks import MustKnow, read_checks
from memory.episode import Episode
from memory.errors import BrainError
from memory.ledger import EventKind

if TYPE_CHECKING:
    from agent.app import App
    from agent.attempt import Attempt

__all__ = ["Applied", "Audit", "Auditing", "Finding"]

_PINNED = "a person pinned it"
_MISSING = frozenset({"unknown_table", "unknown_column", "unknown_source"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """What was looked at and what was found. `position` is that of the ledger, `runs` how many queries were run.

    `pairs` is how many pairs of notes a judge was asked about; None where none was to be asked."""

    database: str
    schema: str
    position: int
    episodes: int
    terms: int
    synapses: int
    runs: int
    seconds: float
    findings: tuple[Finding, ...]
    pairs: int | None = None

    def of_kind(self, kind: Kind) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.kind == kind)

    @property
    def applicable(self) -> tuple[Finding, ...]:
        """The findings whose losing side can be forgotten: no ties, and nothing that is inconclusive."""
        return tuple(one for one in self.findings if one.kind != "inconclusive" and one.losing)


@dataclass(frozen=True, slots=True)
class Applied:
    """What was forgotten, by id, and how many findings are left as nothing is recommended for them."""

    message: str
    forgotten: tuple[str, ...]
    dropped: tuple[str, ...]
    loosened: tuple[str, ...]
    left: int
    proof: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Auditing:
    """Audits one opened app. No model is asked."""

    app: App
    _about: dict[tuple[str, ...], tuple[object, tuple[Finding, ...]]] = field(default_factory=dict, init=False)

    @cached_property
    def answering(self) -> Answering:
        return Answering(self.app)

    def audit(self, *, pinned: Collection[str] = ()) -> Audit:
        """Look for all that is wrong. `pinned` are starts of ids of episodes to hold important this once.

        Raises:
            FeedbackError: no episode or several begin with a pinned id.
        """
        began, ledger = time.monotonic(), self.app.ledger
        live = self.app.versions.live
        ids = [str(episode.id) for episode in live.episodes]
        held = {**self.app.ledger.pins(), **{_one(ids, start): _PINNED for start in pinned}}
        remembered = [
            Remembered(record.episode, float(str(record.body["since"])), held.get(record.key[1], ""))
            for record in live.of_kind("episode")
        ]
        pointing = tuple(_pointing(record.body) for record in live.of_kind("synapse"))
        terms = tuple(standing(self.app))
        runs = self.answering.runs
        findings = (
            *contradictions(remembered, self.answering, important=self._important),
            *two_meanings(terms, compared=Meanings(self.app).compared),
            *absent_names(remembered, self._missing),
            *absent_episodes(pointing, frozenset(ids)),
            *absent_answers(pointing, frozenset(one.episode.bucket for one in remembered)),
        )
        return Audit(
            database=ledger.database,
            schema=self.app.schema.fingerprint,
            position=ledger.head()[0],
            episodes=len(remembered),
            terms=len(terms),
            synapses=len(pointing),
            runs=self.answering.runs - runs,
            seconds=time.monotonic() - began,
            findings=findings,
        )

    def pin(self, starts: Iterable[str] = (), *, unpin: Iterable[str] = ()) -> None:
        """Hold episodes important from now on, in every audit and answer, and others no longer; by starts of ids.

        Raises:
            FeedbackError: no episode or several begin so. Nothing is written then.
        """
        held = self.app.ledger.pins()
        ids = [str(episode.id) for episode in self.app.ledger.episodes()]
        taken, given = [_one(ids, start) for start in starts], [_one(held, start, "--unpin") for start in unpin]
        with self.app.ledger.transaction() as entry:
            for id in given:
                entry.unpin(UUID(id), "a person said so")
            for id in taken:
                if id not in held or id in given:
                    entry.pin(UUID(id), _PINNED)

    def meaning(self, *, judge: str, most: int) -> tuple[int, tuple[Finding, ...]]:
        """Ask a judge about notes and lessons that speak of the same thing; how many pairs, and what it found.

        Raises:
            JudgeError: the judge is not accepted.
            EmbedderError: the embedding model cannot run.
        """
        from agent.auditing.semantic import contradicted, judge_named, notes

        taken = judge_named(judge, self.app)
        if judge == "model":
            self.app.get_model_ready()
        return contradicted(notes(self.app), embedder=self.app.embedder, judge=taken, most=most)

    def about(self, attempt: Attempt) -> tuple[Finding, ...]:
        """What episodes that an answer rests on contradict, or are contradicted by. Nothing else is looked at.

        Only episodes of the very questions that were recalled are compared, and not again while the brain has the
        same of them and the data the same rows. That it could not be looked at is a finding too, and inconclusive.
        """
        used = [one.episode for one in attempt.recalled]
        if attempt.answer is not None:
            by_id = {str(one.episode.id): one.episode for one in attempt.nearby}
            given = (attempt.answer.episode, *(id for id, _ in attempt.answer.bent))
            used += [by_id[id] for id in given if id in by_id]
        wanted = {str(episode.id): episode for episode in used}
        try:
            return self._about_episodes(wanted) if wanted else ()
        except (DatabaseError, BrainError) as trouble:
            writes = tuple(Remembered(episode, 0.0).write for episode in wanted.values())
            reason = f"it could not be looked at whether they contradict others: {trouble}"
            return (Finding("inconclusive", "episode", used[0].question, reason, (Side("", writes),), NOTHING),)

    def _about_episodes(self, wanted: Mapping[str, Episode]) -> tuple[Finding, ...]:
        alike: dict[str, Episode] = {}
        for masked in {episode.masked for episode in wanted.values()}:
            alike.update({str(one.id): one for one in self.app.ledger.masked(masked)})
        pins = self.app.ledger.pins()
        key, state = tuple(sorted(wanted)), (frozenset(alike), tuple(pins.items()), self.app.database.facts)
        kept = self._about.get(key)
        if kept is not None and kept[0] == state:
            return kept[1]
        remembered = [
            Remembered(one.episode, self._since(str(one.episode.id)), pins.get(str(one.episode.id), ""))
            for group in grouped((Remembered(episode, 0.0) for episode in alike.values()), self.answering)
            if not wanted.keys().isdisjoint(str(one.episode.id) for one in group)
            for one in group
        ]
        found = tuple(
            one
            for one in contradictions(remembered, self.answering, important=self._important)
            if any(write.id in wanted for write in one.writes)
        )
        self._about[key] = state, found
        return found

    def apply(self, audit: Audit) -> Applied:
        """Forget the losing side of each finding that has one: episodes by `forget`, names of terms, loose synapses.

        Raises:
            StoreError: the store still holds one of the episodes.
        """
        found = audit.applicable
        losing = {write.id: write for one in found for write in one.losing}
        episodes = tuple(
            episode
            for write in losing.values()
            if write.subject == "episode" and (episode := self.app.ledger.episode(UUID(write.id))) is not None
        )
        done = self.app.forget(episodes) if episodes else None
        dropped = tuple(self._drop(one) for one in found if one.subject == "term")
        loose = {one.writes[0].id.rpartition("/")[2] for one in found if one.subject == "synapse"}
        if loose:
            with self.app.ledger.transaction() as entry:
                loosen(self.app.ledger, self.app.synapses, entry, loose, habit=self.app.habit_of)
        left = len(audit.findings) - len(found)
        told = f"{len(episodes)} episodes forgotten, {len(dropped)} meanings dropped, {len(loose)} synapses taken away"
        rest = f"; {left} findings are left, as nothing is recommended for them" if left else ""
        forgotten = tuple(str(one.id) for one in episodes)
        return Applied(f"{told}{rest}.", forgotten, dropped, tuple(sorted(loose)), left, done.proof if done else ())

    def _drop(self, finding: Finding) -> str:
        """Let the recommended note hold the name, and all names that it has; losing notes have it no longer.

        Notes that were not shown to contradict it keep their meaning of the name in the history.
        """
        kept = finding.recommendation.recommended_id
        best = next(write for write in finding.writes if write.id == kept)
        history = {one.position: one for one in self.app.semantic.history()}
        winner = history[_position(best)]
        names = tuple({write.about.casefold(): write.about for write in finding.writes}.values())
        beside = [side for side in finding.sides if not side.loses and best not in side.writes]
        with self.app.ledger.transaction() as entry:
            self.app.semantic.drop(entry, replace(winner.term, names=names), "audit")
            for write in (write for side in beside for write in side.writes):
                self.app.semantic.write(entry, replace(history[_position(write)].term, names=(write.about,)))
            held = dict.fromkeys((*winner.names_held, best.about))
            self.app.semantic.write(entry, replace(winner.term, names=tuple(held)))
        self.app.read_terms_anew()
        return names[0]

    def _missing(self, sql: str) -> str:
        try:
            self.app.check(sql)
        except QueryRejected as rejected:
            return rejected.reason if rejected.rule in _MISSING else ""
        return ""

    @cached_property
    def _must_know(self) -> dict[str, MustKnow]:
        """What checks that are shipped with the database say a question must give."""
        folder = self.app.checking.folder
        known: Iterable[Any] = read_checks(folder).checks if folder is not None and folder.is_dir() else ()
        return {same_words(check.question): check for _, check in known if isinstance(check, MustKnow)}

    def _important(self, episode: Episode) -> str:
        """Says which check names the answer that this episode gives; `""` where none does."""
        check = self._must_know.get(same_words(episode.question))
        if check is None:
            return ""
        try:
            result = self.app.checked_run(episode.sql)
            if check.sql is not None:
                wanted = self.app.checked_run(check.sql)
            else:
                rows = tuple(tuple(row) for row in check.rows or ())
                wanted = Result(tuple(map(str, rows[0])), rows)
        except (QueryRejected, QueryFailed):
            return ""
        return f"the check {check.name} names this answer" if same(wanted, result, ordered=check.ordered) else ""

    def _since(self, id: str) -> float:
        """When an episode was first written, as its newest event says."""
        events = self.app.ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,), subject=id)
        at = [float(str((event.content or {}).get("since", int(event.at)))) for event in events]
        return at[-1] if at else 0.0


def _one(ids: Iterable[str], start: str, option: str = "--pin") -> str:
    fitting = [id for id in ids if len(start) >= 4 and id.startswith(start.lower())]
    if len(fitting) != 1:
        which = "pinned episodes" if option == "--unpin" else "episodes"
        raise FeedbackError(f"{len(fitting) or 'No'} {which} begin with {start!r}; give more of one id with {option}.")
    return fitting[0]


def _position(write: Write) -> int:
    """Where in the ledger a note was taught."""
    return int(write.batch.rpartition(":")[2])


def _pointing(body: Any) -> Pointing:
    return Pointing(
        bucket=str(body["bucket"]),
        kind=str(body["kind"]),
        target_kind=str(body["target_kind"]),
        target=str(body["target"]),
        weight=float(body["weight"]),
        successes=int(body["successes"]),
        failures=int(body["failures"]),
        at=float(body["last_fired"]),
    )
