"""How a question is gone about: the approach that procedural memory ranks first, and what the model is shown by it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent.attempt import Attempt, Chosen, Understood
from agent.database.skeleton import skeleton
from agent.drafting.approaches import APPROACHES, PLAINEST, Approach, Material, approach_named
from agent.learning.arms import MEMORY, Arm
from agent.linking import Lexicon
from agent.models.port import Prompt
from agent.prompt import bare_part, is_large, narrowed_part
from agent.settings import Settings, SettingsError
from memory.ledger import Ledger
from memory.lessons import Lessons
from procedural.choosing import ranked, score
from procedural.store import Bucket, SynapseStore
from procedural.synapse import UNTRIED

_DID_NOT_RUN = "It does not run on this database."


@dataclass(kw_only=True, slots=True)
class Approaching:
    """Chooses approaches, and writes the prompts of the model by them.

    `stable` gives what every prompt begins with, `takes_grammar` says whether the model can be bounded by one. What
    prompts are written from is read once for each question.
    """

    settings: Settings
    ledger: Ledger
    synapses: SynapseStore
    lexicon: Callable[[], Lexicon]
    understand: Callable[[str], Understood]
    stable: Callable[[], str]
    takes_grammar: Callable[[], bool]
    _material: tuple[Understood, Material] | None = field(default=None, init=False, repr=False)

    def choose(self, attempt: Attempt, *, arm: Arm = MEMORY, other: Understood | None = None) -> Chosen:
        """The approach that procedural memory ranks first for the bucket, among those that have what they need."""
        assert attempt.understood is not None, "an attempt is understood before it is approached"
        material = self.material(attempt.understood, arm, other)
        if not arm.schema:
            return PLAINEST.chosen("the plainest", material)
        if found := forced(self.settings):
            return found.chosen("asked for", material)
        names = [approach.name for approach in APPROACHES if approach.fits(attempt, material)]
        if not arm.procedural:
            names = names[:1]
        with self.ledger.connection() as connection:
            if arm.episodes == "favourites":
                pooled = self.synapses.pooled(connection, "approach")
                best, *_ = ranked(names, time.time(), here=pooled, same_kind={}, same_tables={})
            else:
                bucket, at = _bucket(other or attempt.understood), time.time()
                best, *_ = self.synapses.best_next(connection, bucket, names, at, trying=arm.trying)
        taken = approach_named(best.candidate)
        assert taken is not None, "only known approaches are candidates"
        return taken.chosen(best.why, material)

    def prompt(self, attempt: Attempt, *, arm: Arm = MEMORY, other: Understood | None = None) -> Prompt:
        """What the model is shown next, by the approach of the attempt."""
        approach, understood = approach_named(attempt.approach), attempt.understood
        assert understood is not None and approach is not None, "an attempt is approached before it is drafted"
        if not arm.schema:
            # What the guard says of a query names what the schema has.
            attempt = attempt.grown(drafts=tuple(replace(draft, problem=_DID_NOT_RUN) for draft in attempt.drafts))
        material = self.material(understood, arm, other)
        if self.settings.levers.grammar and arm.schema and self.takes_grammar():
            from agent.drafting.loose import is_due, loosened

            if is_due(attempt):
                fresh = approach.prompt(attempt.grown(drafts=()), material)
                if (loose := loosened(attempt, fresh, lexicon=self.lexicon())).grammar:
                    return loose
        return approach.prompt(attempt, material)

    def material(self, understood: Understood, arm: Arm = MEMORY, other: Understood | None = None) -> Material:
        """What prompts are written from, read once for all drafts of a question."""
        if self._material is None or self._material[0] is not understood:
            self._material = (understood, self._read_material(understood, arm, other))
        return self._material[1]

    def _read_material(self, understood: Understood, arm: Arm, other: Understood | None) -> Material:
        """A large schema is narrowed to what the question links to."""
        large, shape, known = is_large(self.lexicon().schema), "", other or understood
        bucketed = arm.procedural and arm.episodes != "favourites"
        lessons = Lessons(self.ledger).of(known.bucket, masked=known.masked) if bucketed else ()
        if bucketed:
            with self.ledger.connection() as connection:
                shape = self.synapses.strongest(connection, known.bucket, "skeleton", time.time())
        if not arm.schema:
            stable = bare_part(self.lexicon().schema)
        else:
            stable = narrowed_part(self.lexicon().schema, self.lexicon().facts, understood) if large else self.stable()
        return Material(
            stable=stable,
            dialect=self.lexicon().schema.dialect,
            facts=self.settings.facts if arm.schema else "none",
            understand=self.understand,
            shape=shape,
            lessons=lessons,
        )

    def strengths(self, bucket: str) -> Callable[[str], float]:
        """How much better the shape of a query did in a bucket than one never tried, in [-1, 1]; read once."""
        with self.ledger.connection() as connection:
            known = self.synapses.synapses(connection, bucket, kind="skeleton")
        shapes, at = {one.target: one for one in known}, time.time()

        def strength(sql: str) -> float:
            found = shapes.get(skeleton(sql, self.lexicon().schema.dialect)) if shapes else None
            return score(found, at) - UNTRIED if found else 0.0

        return strength


def forced(settings: Settings) -> Approach | None:
    """The approach that the settings take for every question. Raises SettingsError where there is none of the name."""
    if settings.approach is None:
        return None
    found = approach_named(settings.approach)
    if found is None:
        known = ", ".join(approach.name for approach in APPROACHES)
        raise SettingsError(f"There is no approach {settings.approach!r}. Choose one of: {known}.")
    return found


def _bucket(understood: Understood) -> Bucket:
    return Bucket(understood.bucket, understood.intent.kind, understood.intent.grain or understood.intent.tables)
