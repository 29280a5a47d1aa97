"""When a way of answering is a habit: so often right, and never wrong, that it needs no thinking. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from procedural.synapse import HALF_LIFE, Synapse, salience


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure a habit must be: verified successes at least, and salience (0 to 1) at least.

    `fewest_literals` is how many different literals it must have been right with before it takes one that is new.

    Raises:
        ValueError: fewer than one success or literal, or a salience outside 0 to 1.
    """

    fewest_successes: int = 3
    least_salience: float = 0.5
    fewest_literals: int = 2

    def __post_init__(self) -> None:
        if self.fewest_successes < 1:
            raise ValueError(f"A habit needs at least 1 success, not {self.fewest_successes}.")
        if self.fewest_literals < 1:
            raise ValueError(f"A habit needs at least 1 literal, not {self.fewest_literals}.")
        if not 0.0 <= self.least_salience <= 1.0:
            raise ValueError(f"A salience is between 0 and 1, not {self.least_salience}.")


USUAL = Certainty()
"""Three successes, and at least half of the weight left: unused, a habit fades after one half-life."""


def is_habit(synapse: Synapse | None, at: float, *, certainty: Certainty = USUAL, half_life: float = HALF_LIFE) -> bool:
    """Whether what a synapse leads to is strong and certain at a time (seconds since 1970, UTC).

    Strong: its salience is not below the least. Certain: right often enough, and not wrong a single time. Nothing
    but new evidence under a new name mends a failure. No synapse is no habit.

    >>> often = Synapse("b", "habit", "h", 1.0, 3, 0, last_fired=0.0)
    >>> is_habit(often, 0.0), is_habit(often, 2 * HALF_LIFE), is_habit(None, 0.0)
    (True, False, False)
    >>> [is_habit(Synapse("b", "habit", "h", 0.9, s, f, 0.0), 0.0) for s, f in ((2, 0), (3, 0), (9, 1))]
    [False, True, False]
    """
    if synapse is None or synapse.failures or synapse.successes < certainty.fewest_successes:
        return False
    return salience(synapse, at, half_life=half_life) >= certainty.least_salience


def chance_right(synapse: Synapse) -> float:
    """The chance in (0, 1) that what a habit gives is right, from its own record alone: `(1 + s) / (2 + s + f)`.

    It is the mean of Beta(1 + s, 1 + f), which Laplace's rule of succession gives for the next of s + f tries when
    nothing was known before them. Unlike the rank among targets it does not fade: time unused takes the habit itself.

    >>> [chance_right(Synapse("b", "habit", "h", 1.0, s, 0, 0.0)) for s in (0, 3, 18)]
    [0.5, 0.8, 0.95]
    """
    return (1 + synapse.successes) / (2 + synapse.successes + synapse.failures)
