"""The fixed ladder by which one side of a contradiction is recommended.

1. pinned or important: a person named the episode, or a check names its answer;
2. verifier: gold, then a person, then independent agreement, then nothing;
3. newest: the side that was written last.

Only a rung on which one side stands above all others decides. Where none does it is a tie, and nothing is recommended.

Confidence says how far a rung reaches. It is a fixed scale and was fitted to nothing:
0.95 for the first rung; `0.6 + 0.1·steps` for the second, steps being how far the verifiers are apart (1 to 3);
`0.5 + 0.2·(1 - 2^(-days/30))` for the third, days being how much later it was written; 0 for a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memory.audit.finding import Recommendation, Side, Write

VERIFIERS = ("agreement", "person", "gold")
"""What vouches for a write, weakest first. Any other word vouches for nothing."""

PINNED = 0.95
_DAY, _HALF = 86_400.0, 30.0


def recommend(sides: Sequence[Side]) -> Recommendation:
    """Recommend the best write of the best side.

    >>> gold = Side("11", (Write("episode", "a", "SELECT 11", verifier="gold"),))
    >>> new = Side("12", (Write("episode", "b", "SELECT 12", at=9.0, verifier="person"),))
    >>> found = recommend((new, gold))
    >>> found.recommended_id, found.rule, round(found.confidence, 2)
    ('a', 'verifier', 0.7)
    >>> recommend((gold, gold)).rule
    'tie'
    """
    if best := _alone(sides, lambda write: float(bool(write.important))):
        why = next(write.important for write in best.writes if write.important)
        return _of(best, "pinned", PINNED, f"It is held important: {why}.")
    if best := _alone(sides, _rank):
        others = max(_most(side, _rank) for side in sides if side is not best)
        steps = _most(best, _rank) - others
        told = f"{_verifier(_most(best, _rank))} vouches for it, for the other {_verifier(others)}."
        return _of(best, "verifier", 0.6 + 0.1 * steps, told)
    if best := _alone(sides, lambda write: write.at):
        days = (_most(best, _at) - max(_most(side, _at) for side in sides if side is not best)) / _DAY
        later = f"{days:.1f} days" if days >= 1 else f"{days * _DAY:,.0f} seconds"
        told = f"Both are vouched for alike; it was written {later} later."
        return _of(best, "newest", 0.5 + 0.2 * (1 - 2 ** (-days / _HALF)), told)
    return Recommendation("", "", "tie", 0.0, "The sides are pinned, vouched for and dated alike: a person must say.")


def weighed(
    sides: Sequence[Side], contradict: Callable[[int, int], bool] = lambda _a, _b: True
) -> tuple[tuple[Side, ...], Recommendation]:
    """Recommend, and mark the sides that contradict the recommended one; `contradict` is asked by two places.

    >>> sides = [Side("", (Write("episode", id, "", verifier=word),)) for id, word in zip("abc", ("gold", "", ""))]
    >>> [side.loses for side in weighed(sides, lambda a, b: {a, b} != {0, 1})[0]]
    [False, False, True]
    """
    advice = recommend(sides)
    best = next((n for n, side in enumerate(sides) if advice.recommended_id in {one.id for one in side.writes}), None)
    if best is None:
        return tuple(sides), advice
    return tuple(replace(side, loses=n != best and contradict(n, best)) for n, side in enumerate(sides)), advice


def _of(side: Side, rule: str, confidence: float, rationale: str) -> Recommendation:
    best = max(side.writes, key=lambda write: (bool(write.important), _rank(write), write.at, write.id))
    return Recommendation(best.id, side.value, rule, round(confidence, 4), rationale[:1].upper() + rationale[1:])


def _alone(sides: Sequence[Side], worth: Callable[[Write], float]) -> Side | None:
    """The one side whose best write is worth more than that of any other; None where two are equal."""
    top = max((_most(side, worth) for side in sides), default=0.0)
    best = [side for side in sides if _most(side, worth) == top]
    return best[0] if len(best) == 1 and len(sides) > 1 else None


def _most(side: Side, worth: Callable[[Write], float]) -> float:
    return max(map(worth, side.writes), default=0.0)


def _rank(write: Write) -> float:
    return float(VERIFIERS.index(write.verifier) + 1) if write.verifier in VERIFIERS else 0.0


def _at(write: Write) -> float:
    return write.at


def _verifier(rank: float) -> str:
    return ("nobody", "independent agreement", "a person", "a gold answer")[int(rank)]
