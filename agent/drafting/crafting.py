"""What code does about drafts beside the model, as the levers say, put together for the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from agent.ask import Craft
from agent.attempt import Attempt, Doubt, Draft, Understood
from agent.drafting.readings import Kept
from agent.linking import Lexicon
from agent.models.port import Reply
from agent.settings import Levers
from memory.episode import Episode
from memory.recall import Recalled

if TYPE_CHECKING:
    from agent.drafting.adapting import Remembered

_TOO_STRAINED = 4.0
"""An adapted query that was bent so far says nothing about the question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Crafting:
    """Makes the `Craft` of each question. `strengths` says of a bucket how well the shape of a query did in it (see
    `agent.drafting.weighing.Strength`).

    `understand` reads the questions of episodes. What is read is kept between questions for as long as `lexicon` gives
    the same one.
    """

    levers: Levers
    lexicon: Callable[[], Lexicon]
    understand: Callable[[str], Understood]
    strengths: Callable[[str], Callable[[str], float]] = lambda _bucket: lambda _sql: 0.0
    _kept: Kept[tuple[UUID, str], Remembered] = field(default_factory=Kept, init=False, repr=False, compare=False)

    def craft(self, nearby: Callable[[Attempt], tuple[Recalled, ...]], *, schema: bool = True) -> Craft:
        """Everything that the levers allow. Where the schema is not shown, code gives nothing of it away."""
        if not schema:
            return Craft()
        levers = self.levers
        usual = Craft()
        return Craft(
            nearby=nearby if levers.adapt else usual.nearby,
            adapt=self.adapt if levers.adapt else usual.adapt,
            mend=self.mend if levers.dialect or levers.names or levers.grammar else usual.mend,
            doubt=self.doubt if levers.coverage else usual.doubt,
            weigh=self.weigh if levers.weigh else usual.weigh,
        )

    def adapt(self, attempt: Attempt) -> Iterable[Draft]:
        """A draft for each different query that the nearby episodes give, in their order."""
        from agent.drafting.adapting import adapt
        from agent.drafting.saying import said

        assert attempt.understood is not None, "an attempt is understood before it is adapted"
        found: dict[str, Draft] = {}
        lexicon = self.lexicon()
        speaks = said(attempt.understood.grounding, lexicon)
        for recalled in attempt.nearby:
            known = self._remembered(recalled.episode, lexicon)
            fitted = adapt(known, attempt.understood, lexicon=lexicon, speaks=speaks)
            if fitted is None or fitted.strain > _TOO_STRAINED:
                continue
            same = found.get(fitted.sql)
            if same is None:
                found[fitted.sql] = Draft(
                    None,
                    Reply(fitted.sql),
                    sql=fitted.sql,
                    origin="adapted",
                    episode=str(recalled.episode.id),
                    notes=fitted.notes,
                    strain=fitted.strain,
                    bent=((str(recalled.episode.id), fitted.strain),),
                )
            else:
                found[fitted.sql] = same.supported(str(recalled.episode.id), strain=fitted.strain)
        return tuple(found.values())

    def mend(self, attempt: Attempt, draft: Draft) -> tuple[str, tuple[str, ...]]:
        """What a draft was meant to be: its joins where it was to be written without, functions and names put right."""
        from agent.drafting.mending import mend

        lexicon, levers, sql = self.lexicon(), self.levers, draft.sql
        if draft.prompt is not None and draft.prompt.grammar:
            from agent.drafting.loose import completed

            sql = completed(sql, lexicon=lexicon) or sql
        linked = attempt.understood.grounding.tables if attempt.understood else ()
        return mend(
            sql, schema=lexicon.schema, linked=linked, dialect=levers.dialect, names=levers.names, lexicon=lexicon
        )

    def doubt(self, attempt: Attempt, draft: Draft) -> tuple[Doubt, ...]:
        from agent.drafting.coverage import doubts

        assert attempt.understood is not None, "an attempt is understood before it is drafted"
        return doubts(attempt.understood, draft.sql, draft.result, lexicon=self.lexicon())

    def weigh(self, attempt: Attempt) -> Attempt:
        from agent.drafting.weighing import read_weights, weighed

        bucket = attempt.understood.bucket if attempt.understood else ""
        return weighed(attempt, weights=read_weights(), strength=self.strengths(bucket))

    def _remembered(self, episode: Episode, lexicon: Lexicon) -> Remembered:
        from agent.drafting.adapting import remembered

        key = (episode.id, episode.question)
        return self._kept.get(lexicon, key, lambda: remembered(episode, self.understand(episode.question), lexicon))
