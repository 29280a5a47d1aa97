"""What an opened app knows of episodes that a brain is improved by: how it reads them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.attempt import Understood
from agent.database.comparing import same
from agent.database.dialects import dialect as read_dialect
from agent.database.fingerprint import fingerprint
from agent.database.guard import parse_query
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.database.skeleton import skeleton
from agent.drafting.slots import abstract, fill
from agent.learning.feedback import asked_alike
from agent.learning.seed import Source, episode_of_attempt
from agent.school import reached
from agent.weights import synapse_from
from memory.brain.improving import Intended, Looked
from memory.brain.snapshot import Record, of_episode
from memory.chain import Content
from memory.episode import Episode
from memory.ledger import EventKind
from procedural.forgetting import episodes_to_forget
from procedural.synapse import pooled

if TYPE_CHECKING:
    from agent.app import App

ALIKE = 0.95
"""Cosine from which on two questions with the same SQL in one bucket say the same. The SQL does the telling apart."""

_UNDECIDED = frozenset({"deadline", "memory", "worker"})
"""Failures that say more about the machine than about the query."""


@dataclass(kw_only=True)
class AppSense:
    """Reads and runs episodes for one improvement; each question and each query once. A `memory.brain.improving.Sense`.

    Raises DatabaseUnusableError where the database is locked or gone: nothing is held against an episode for that.
    """

    app: App
    _understood: dict[str, Understood] = field(default_factory=dict, init=False, repr=False)
    _results: dict[str, Result | str | None] = field(default_factory=dict, init=False, repr=False)

    @property
    def schema(self) -> str:
        return self.app.schema.fingerprint

    def understood(self, question: str) -> Intended:
        found = self._read(question)
        intent = found.intent
        return Intended(found.bucket, intent.kind, intent.tables, intent.grain or intent.tables, found.masked)

    def looked(self, episode: Episode) -> Looked:
        found = self._run(episode.sql)
        if isinstance(found, str):
            return Looked(found)
        if found is None:
            return Looked()
        return Looked(results=frozenset(fingerprint(found, ordered=ordered) for ordered in (True, False)))

    def spelled(self, sql: str) -> str:
        """One writing also of names, as far as the database takes them for the same."""
        from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

        dialect = read_dialect(self.app.schema.dialect)
        with suppress(QueryRejected, RecursionError):
            tree = normalize_identifiers(parse_query(sql, self.app.schema.dialect), dialect=dialect)
            return tree.sql(dialect, comments=False, identify=True)
        return sql.strip()

    def alike(self, one: Episode, other: Episode) -> bool:
        if asked_alike(one.question) == asked_alike(other.question):
            return True
        mine, theirs = self.app.embedder.embed([one.question, other.question])
        return float(mine @ theirs) >= ALIKE

    def contradicts(self, strong: Episode, weak: Episode) -> bool:
        """The same question must give the same; one with other literals, what the stronger query gives with those."""
        sql: str | None = strong.sql
        if asked_alike(strong.question) != asked_alike(weak.question):
            lexicon = self.app.lexicon
            template = abstract(self._read(strong.question).grounding, strong.sql, lexicon=lexicon)
            grounding = self._read(weak.question).grounding
            sql = fill(template, grounding, lexicon=lexicon) if template is not None else None
        right, told = self._run(sql) if sql else None, self._run(weak.sql)
        if not isinstance(right, Result) or not isinstance(told, Result):
            return False
        return not same(right, told, ordered=False)

    def spent(self, synapses: Sequence[Content]) -> frozenset[str]:
        return frozenset(episodes_to_forget(map(synapse_from, synapses)))

    def habit(self, episode: Episode) -> str:
        return self.app.habit_of(episode)

    def pooled(self, synapses: Sequence[Content]) -> Content:
        first = synapses[0]
        summed = pooled(map(synapse_from, synapses))
        if summed is None:  # none of them ever fired
            return first
        evidence = {name: getattr(summed, name) for name in ("weight", "successes", "failures", "last_fired")}
        return {**first, **evidence}

    def confirmed(self) -> Iterator[Record]:
        """Episodes that settled attempts would make, as records; whether they are known is not looked at.

        An attempt is confirmed by a person, whose newest word on it counts, or where nobody said anything by
        agreement: a query that the model wrote and one that was adapted without it, of another shape, gave the same
        rows, some, and nothing speaks against them. What a run asked is left to the run, which has judged it.
        """
        judged = {str(event.content["attempt"]) for event in self._events(EventKind.RUN_STEPPED)}
        words = {event.subject: event.content for event in self._events(EventKind.FEEDBACK_GIVEN)}
        for event in self._events(EventKind.ATTEMPT_SETTLED):
            body, word, id = event.content, words.get(event.subject), event.subject
            if id in judged or not body.get("bucket"):
                continue
            if word is not None:
                sql = str(body.get("sql") if word["verdict"] == "good" else word["sql"] or "")
                made = self._episode(body, sql, f"feedback:{id}", "person")
            else:
                sql = str(body.get("sql") or "") if self._agreed(body) else ""
                made = self._episode(body, sql, f"attempt:{id}", "agreement")
            if made is not None:
                yield of_episode(made, int(event.at))

    def _agreed(self, body: dict[str, Any]) -> bool:
        if body.get("status") != "answered" or not (body.get("result") or {}).get("rows"):
            return False
        drafts = [draft for draft in body["drafts"] if draft["agrees"] and not draft.get("doubts")]
        shapes = {
            origin: {self._shape(one["sql"]) for one in drafts if one.get("origin") == origin} for origin in _BOTH
        }
        written, adapted = (shapes[origin] - {""} for origin in _BOTH)
        return any(one != other for one in written for other in adapted)

    def _shape(self, sql: str) -> str:
        with suppress(QueryRejected):
            return skeleton(sql, self.app.schema.dialect)
        return ""

    def _episode(self, body: dict[str, Any], sql: str, origin: str, verifier: str) -> Episode | None:
        result = self._run(sql) if sql else None
        if not isinstance(result, Result):
            return None
        source = Source(origin, verifier, origin, self.schema, self.app.schema.dialect)
        return episode_of_attempt(body, sql, result, source)

    def _events(self, kind: EventKind) -> Iterator[_Told]:
        """Events whose content was not erased."""
        for event in self.app.ledger.events(kinds=(kind,)):
            if event.content is not None:
                yield _Told(event.subject, event.at, dict(event.content))

    def _read(self, question: str) -> Understood:
        if question not in self._understood:
            self._understood[question] = self.app.understand(question)
        return self._understood[question]

    def _run(self, sql: str) -> Result | str | None:
        """A whole result, or what is wrong with the query, or None where that cannot be known. In words without it."""
        if sql not in self._results:
            self._results[sql] = self._ran(sql)
        return self._results[sql]

    def _ran(self, sql: str) -> Result | str | None:
        try:
            result = reached(self.app.checked_run)(sql)
        except QueryRejected as rejected:
            return f"the guard refuses it on the present schema ({rejected.rule})"
        except QueryFailed as failed:
            return None if failed.kind in _UNDECIDED else "the database cannot run it"
        return result if result.truncated is None else None


_BOTH = ("model", "adapted")


@dataclass(frozen=True, slots=True)
class _Told:
    subject: str
    at: float
    content: dict[str, Any]
