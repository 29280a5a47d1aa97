"""Arms: the same questions and model with parts of the memory taken away or put out of order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Episodes = Literal["none", "own", "another", "favourites"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of asking in a comparison. `schema`: whether the model is shown the schema at all.

    `episodes` says which are recalled: none, those for the question, those for another question of the set (whose
    lessons and approach are taken as well), or the same favourites for all. `procedural`: whether synapses choose the
    approach and lessons are shown; habits answer as well where the episodes are the question's own. `sifted`: whether
    episodes that misled in the bucket are left out. `trying`: whether approaches that were not tried yet are tried
    out, as in training, or the one is taken that is expected to do best.
    """

    name: str
    about: str
    schema: bool = True
    episodes: Episodes = "none"
    procedural: bool = False
    sifted: bool = True
    trying: bool = False

    @property
    def replays(self) -> bool:
        """Whether habits answer. They are made of the question's own episodes, which a control must not have."""
        return self.procedural and self.episodes == "own"


ARMS: tuple[Arm, ...] = (
    Arm("bare", "the question alone, without the schema", schema=False),
    Arm("schema", "the schema, no memory"),
    Arm("episodes", "schema and recalled episodes, nothing of how to go about it", episodes="own", sifted=False),
    Arm("memory", "all three memories", episodes="own", procedural=True),
    Arm("shuffled", "all three, but those for another question", episodes="another", procedural=True),
    Arm("constant", "all questions in one bucket, with the same favourites", episodes="favourites", procedural=True),
)
"""`schema` is what the others are compared with; the last two are controls, which must do worse than `memory`."""

SCHEMA, MEMORY = ARMS[1], ARMS[3]


def arm_named(name: str) -> Arm | None:
    return next((arm for arm in ARMS if arm.name == name), None)


def deranged(count: int, *, seed: int) -> Sequence[int]:
    """For each of so many places another place, each taken once and none its own; one place alone keeps its own.

    >>> deranged(4, seed=1)
    [2, 3, 1, 0]
    """
    order = list(range(count))
    random.Random(seed).shuffle(order)
    another = [0] * count
    for place, following in zip(order, [*order[1:], *order[:1]], strict=True):
        another[place] = following
    return another
