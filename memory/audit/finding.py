"""A finding of an audit: the writes that it is about, what is wrong with them, and which side is to be preferred."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["contradiction", "absence", "inconclusive"]
Subject = Literal["episode", "term", "synapse", "bucket", "lesson"]


@dataclass(frozen=True, slots=True)
class Write:
    """One thing that was written. `at` is seconds since 1970, UTC; `text` is the query, the meaning or the name.

    `important` says why it is held important, `""` where it is not.
    """

    subject: Subject
    id: str
    text: str
    at: float = 0.0
    origin: str = ""
    verifier: str = ""
    batch: str = ""
    important: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """Writes that say the same; `value` is what they say, in a line.

    `loses` where it was shown to contradict the side that is recommended.
    """

    value: str
    writes: tuple[Write, ...]
    loses: bool = False


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Which write to keep, by which rung of the ladder. Nothing is recommended where the id is `""`.

    It is no more than a recommendation: `confidence` in [0, 1] says how far the rung reaches (`memory.audit.ladder`).
    """

    recommended_id: str
    recommended_value: str
    rule: str
    confidence: float
    rationale: str


NOTHING = Recommendation("", "", "none", 0.0, "Nothing is recommended, as nothing was shown.")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, or that could not be shown to be right.

    `what` is the question, the term or the name that it is about; `reason` says what is wrong in a line.
    """

    kind: Kind
    subject: Subject
    what: str
    reason: str
    sides: tuple[Side, ...]
    recommendation: Recommendation = NOTHING

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(write for side in self.sides for write in side.writes)

    @property
    def losing(self) -> tuple[Write, ...]:
        """The writes that give way: of the sides that contradict the recommended one, or all that is absent."""
        kept = self.recommendation.recommended_id
        if not kept:
            return ()
        if self.kind == "absence":
            return self.writes
        return tuple(write for side in self.sides if side.loses for write in side.writes)

    def told(self) -> dict[str, Any]:
        """The finding in plain JSON."""
        return asdict(self)
