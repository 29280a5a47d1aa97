"""Answers that need no thinking: the query of a masked question that was right so often is run with new literals.

A habit is kept nowhere. Its query is taken from the active episodes of the same masked question each time, so that
forgetting an episode forgets the habit; a synapse says how often the query was verified.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent.attempt import Draft, Replay, Understood
from agent.database.comparing import same
from agent.database.result import QueryFailed, QueryRejected
from agent.drafting.readings import Kept
from agent.drafting.slots import Template, abstract, fill, slots_of
from agent.models.port import Reply
from agent.periods import reads_two_ways
from memory.episode import Episode
from memory.recall import Recalled
from procedural.habit import USUAL, Certainty, chance_right, is_habit
from procedural.synapse import Synapse

if TYPE_CHECKING:
    from agent.ask import Database
    from agent.grounding import Grounding
    from agent.linking import Lexicon

MOST_TEMPLATES = 4
"""Ways of answering one masked question past which it is not clear enough for a habit."""


def habit_name(understood: Understood, sql: str, *, lexicon: Lexicon) -> str:
    """Name the habit of answering a question as this query does, `""` where the query cannot be one.

    The same for other literals. Another schema, another way to answer, or another meaning of a glossary term that
    the question uses gives another name, which starts without evidence.
    """
    template = abstract(understood.grounding, sql, lexicon=lexicon)
    return _name(understood.masked, template, understood.grounding, lexicon) if template else ""


def _name(masked: str, template: Template, grounding: Grounding, lexicon: Lexicon) -> str:
    meanings = (f"{'|'.join(term.names)}={term.expression or term.meaning}" for term in grounding.terms)
    parts = (masked, template.text, lexicon.schema.fingerprint, *sorted(meanings))
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _Learned:
    """An episode and what it teaches: a template, or none where its query is only good for its own literals."""

    episode: Episode
    understood: Understood
    template: Template | None


@dataclass(frozen=True, slots=True)
class _Way:
    """One query for the question that is asked, the newest episode that gives it, and all that have its template."""

    template: Template
    sql: str
    newest: Episode
    learned: tuple[_Learned, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Habits:
    """Replays what is well learned. `remembered` gives the active episodes of one masked question, in the order they
    were remembered; `synapse` the synapse of a habit in a bucket; `clock` seconds since 1970, UTC.

    `understand` reads the questions of episodes. What is read is kept between questions for as long as `lexicon` gives
    the same one.
    """

    remembered: Callable[[str], Sequence[Episode]]
    understand: Callable[[str], Understood]
    synapse: Callable[[str, str], Synapse | None]
    lexicon: Callable[[], Lexicon]
    database: Database
    clock: Callable[[], float] = time.time
    certainty: Certainty = USUAL
    _read: Kept[tuple[object, str], _Learned] = field(default_factory=Kept, init=False, repr=False, compare=False)
    _agreed: Kept[tuple[object, str], bool] = field(default_factory=Kept, init=False, repr=False, compare=False)

    def replay(self, understood: Understood) -> Replay | None:
        """Answer a question from habit; None where none is strong and certain, or anything is in doubt.

        Every other query that the same masked question is remembered with must give the same rows. Its confidence is
        what its own record makes likely. Nothing is written. Never raises for what an episode holds.
        """
        if any(reads_two_ways(link.text) for link in understood.grounding.chosen):
            return None
        lexicon = self.lexicon()
        schema = lexicon.schema.fingerprint
        episodes = [one for one in self.remembered(understood.masked) if one.schema_fingerprint == schema]
        if not episodes:
            return None
        learned = [self._learned(episode, lexicon) for episode in episodes]
        ways = self._ways(learned, understood, lexicon)
        if len(ways) > MOST_TEMPLATES:
            return None
        chosen = self._certain(ways, understood, lexicon)
        if chosen is None:
            return None
        way, name, synapse = chosen
        draft = self._run(way.sql)
        if draft is None or not self._agree(way, draft, ways, learned, lexicon):
            return None
        times = "once" if synapse.successes == 1 else f"{synapse.successes} of {synapse.successes} times"
        recalled = Recalled(way.newest, 1.0, "bucket", f"habit: right {times}")
        return Replay(name, replace(draft, confidence=chance_right(synapse)), recalled)

    def _learned(self, episode: Episode, lexicon: Lexicon) -> _Learned:
        def read() -> _Learned:
            understood = self.understand(episode.question)
            return _Learned(episode, understood, abstract(understood.grounding, episode.sql, lexicon=lexicon))

        return self._read.get(lexicon, (episode.id, episode.question), read)

    def _ways(self, learned: Sequence[_Learned], understood: Understood, lexicon: Lexicon) -> list[_Way]:
        """The different queries that the episodes give for this question.

        Episodes of one template differ in their literals only; the newest that may take the question's gives the query.
        """
        told: dict[str, list[_Learned]] = {}
        for one in learned:
            if one.template is not None:
                told.setdefault(one.template.text, []).append(one)
        ways = []
        for alike in told.values():
            for one in reversed(alike):
                assert one.template is not None, "only templates were told"
                sql = fill(one.template, understood.grounding, lexicon=lexicon)
                if sql is not None:
                    ways.append(_Way(one.template, sql, one.episode, tuple(alike)))
                    break
        return ways

    def _certain(
        self, ways: Sequence[_Way], understood: Understood, lexicon: Lexicon
    ) -> tuple[_Way, str, Synapse] | None:
        """The way that was verified most often, of those that are habits; of equals the first."""
        best: tuple[_Way, str, Synapse] | None = None
        for way in ways:
            name = _name(understood.masked, way.template, understood.grounding, lexicon)
            synapse = self.synapse(understood.bucket, name)
            if synapse is None or not is_habit(synapse, self.clock(), certainty=self.certainty):
                continue
            if not self._has_shown(way, understood, lexicon):
                continue
            if best is None or synapse.successes > best[2].successes:
                best = (way, name, synapse)
        return best

    def _has_shown(self, way: _Way, understood: Understood, lexicon: Lexicon) -> bool:
        """Whether a way is known to hold for more than one literal in each place that gets one it never had."""
        tables = way.template.tables | frozenset(understood.grounding.tables)
        for place, slot in enumerate(slots_of(understood.grounding, lexicon, tables) or ()):
            shown = {one.template.slots[place].text for one in way.learned if one.template is not None}
            if slot.text not in shown and len(shown) < self.certainty.fewest_literals:
                return False
        return True

    def _agree(
        self, way: _Way, draft: Draft, ways: Sequence[_Way], learned: Sequence[_Learned], lexicon: Lexicon
    ) -> bool:
        """Whether all that is remembered of the masked question says the same as the way that is taken.

        A query that has no way to the question that is asked is asked about its own literals: the way must give its
        rows there.
        """
        if not all(self._same(draft, self._run(other.sql)) for other in ways if other is not way):
            return False
        told = {other.template.text for other in ways}
        rest = (one for one in learned if one.template is None or one.template.text not in told)
        return all(self._agrees_with(way, one, lexicon) for one in rest)

    def _agrees_with(self, way: _Way, one: _Learned, lexicon: Lexicon) -> bool:
        def agrees() -> bool:
            filled = (
                fill(known.template, one.understood.grounding, lexicon=lexicon)
                for known in reversed(way.learned)
                if known.template is not None
            )
            sql = next((text for text in filled if text is not None), None)
            return sql is not None and self._same(self._run(sql), self._run(one.episode.sql))

        return self._agreed.get(lexicon, (one.episode.id, way.template.text), agrees)

    def _run(self, sql: str) -> Draft | None:
        """Check and run a query; None where it does not pass, fails or is cut off."""
        try:
            query = self.database.check(sql)
            result = self.database.run(query)
        except (QueryRejected, QueryFailed):
            return None
        if result.truncated is not None:
            return None
        return Draft(None, Reply(text=sql), sql=query.sql, tables=query.tables, result=result, origin="habit")

    def _same(self, one: Draft | None, other: Draft | None) -> bool:
        """Whether two queries gave the same rows, in the same order where both ask for one."""
        if one is None or other is None or one.result is None or other.result is None:
            return False
        from agent.database.guard import sorts

        dialect = self.lexicon().schema.dialect
        return same(one.result, other.result, ordered=sorts(one.sql, dialect) and sorts(other.sql, dialect))
