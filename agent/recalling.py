"""What is recalled for a question: looked for once, for what the model is shown and for what is adapted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.attempt import Attempt, Understood
from agent.learning.arms import MEMORY, Arm
from memory.episode import Episode
from memory.ledger import Ledger
from memory.recall import Recall, Recalled, fewer
from procedural.choosing import ranked
from procedural.forgetting import episodes_to_forget
from procedural.store import SynapseStore


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was recalled last, and for what."""

    understood: Understood
    arm: Arm
    other: Understood | None
    most: int
    found: tuple[Recalled, ...]

    def is_for(self, understood: Understood, arm: Arm, other: Understood | None, limit: int) -> bool:
        """Whether it holds what a recall of `limit` episodes for this would give."""
        return self.understood is understood and self.other is other and (self.arm == arm and self.most >= limit)


@dataclass(kw_only=True, slots=True)
class Recalling:
    """Recalls by bucket and its neighbours, as an arm of a comparison says.

    `recall` opens the search; `get_ready` is called before it. `holds` says whether an episode is still good. `shown`
    is how many the model is shown, `most` how many are looked for: those that are adapted come of the same search.
    """

    recall: Callable[[], Recall]
    get_ready: Callable[[], None]
    holds: Callable[[Episode], bool]
    ledger: Ledger
    synapses: SynapseStore
    shown: int
    most: int
    _last: _Asked | None = field(default=None, init=False, repr=False)

    def for_model(
        self, understood: Understood, *, arm: Arm = MEMORY, other: Understood | None = None
    ) -> tuple[Recalled, ...]:
        """The memories that the model is shown; in a comparison those for an `other` question, or none."""
        self._last = None
        return self._recalled(understood, arm, other, self.shown)

    def nearby(self, attempt: Attempt, *, arm: Arm = MEMORY, other: Understood | None = None) -> tuple[Recalled, ...]:
        """The memories that are adapted to a question: more than the model is shown, by the same rules."""
        assert attempt.understood is not None, "an attempt is understood before anything is recalled for it"
        return self._recalled(attempt.understood, arm, other, attempt.effort.adapted)

    def _recalled(self, understood: Understood, arm: Arm, other: Understood | None, limit: int) -> tuple[Recalled, ...]:
        if arm.episodes == "none":
            return ()
        last = self._last
        if last is not None and last.is_for(understood, arm, other, limit):
            return fewer(last.found, limit)
        self.get_ready()
        if arm.episodes == "favourites":
            return self._favourites(limit)
        most = max(limit, self.most)
        self._last = _Asked(understood, arm, other, most, self._search(other or understood, arm, most))
        return fewer(self._last.found, limit)

    def _search(self, understood: Understood, arm: Arm, limit: int) -> tuple[Recalled, ...]:
        with self.ledger.connection() as connection:
            misleading = frozenset(episodes_to_forget(self.synapses.synapses(connection, understood.bucket)))
        return self.recall().recall(
            bucket=understood.bucket,
            kind=understood.intent.kind,
            tables=understood.intent.tables,
            question=understood.grounding.question,
            masked=understood.masked,
            limit=limit,
            allowed=lambda episode: not (arm.sifted and str(episode.id) in misleading) and self.holds(episode),
        )

    def _favourites(self, limit: int) -> tuple[Recalled, ...]:
        """The episodes that did best over all buckets, as if there were but one."""
        with self.ledger.connection() as connection:
            pooled = self.synapses.pooled(connection, "episode")
        known = {str(episode.id): episode for episode in self.ledger.episodes()}
        best = ranked(known, time.time(), here=pooled, same_kind={}, same_tables={})[:limit]
        why = "a favourite of all buckets"
        return tuple(Recalled(known[choice.candidate], 1.0, "family", why) for choice in best)
