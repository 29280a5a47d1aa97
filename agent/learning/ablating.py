"""Ablations: the same questions with each lever of the code alone, with all, and with all but one, and what it tells.

A lever is something that code does about drafts beside the model (`agent.settings.Levers`). Everything here is computed
from trials (`agent.learning.trials`); `scripts/ablate.py` asks them.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agent.learning.evaluating import Counted, Tokens
from agent.learning.statistics import Difference, Share, paired, share, share_of
from agent.learning.trials import Trial
from agent.learning.variants import EVERY, EVERY_LEVER, NONE, Variant, place_of, variant_named

CHANCE = 0.05
"""From this adjusted p on a difference may be chance."""


@dataclass(frozen=True, slots=True)
class TypeShare:
    """How one variant fared on the questions of one type, as their author named it."""

    type: str
    share: Share


@dataclass(frozen=True, slots=True)
class VariantResult:
    """How one variant fared.

    `apart` is the share of right answers among questions that are unlike all that memory holds. `unaided` are those
    that were answered without a model, `unaided_right` the share of these that are right. `errors` are the kinds of
    error of wrong answers, with the rule of the guard that the last draft broke; the most frequent first. `calls` and
    `tokens` are means of a question, with those that came from the completion cache, `replayed` the share of calls
    that did. Seconds are of a question asked anew; None of none.
    """

    variant: str
    share: Share
    apart: Share
    unaided: Share
    unaided_right: Share
    errors: tuple[Counted, ...]
    calls: float
    replayed: Share
    tokens: Tokens
    seconds_median: float | None
    seconds_p90: float | None
    types: tuple[TypeShare, ...]

    def of(self, type: str) -> Share | None:
        return next((one.share for one in self.types if one.type == type), None)


@dataclass(frozen=True, slots=True)
class Gain:
    """How much better `variant` does than `against` on the questions that were asked in both.

    `adjusted` is p after Holm's correction for all comparisons of the ablation. `left_out` counts the questions that
    were asked in one of the two only.
    """

    variant: str
    against: str
    difference: Difference
    adjusted: float
    left_out: int

    @property
    def is_sure(self) -> bool:
        """Whether the difference is more than chance gives, in either direction."""
        return self.adjusted < CHANCE


@dataclass(frozen=True, slots=True)
class Ablation:
    """What came of an ablation. `questions` counts different ones, `alike` those that memory holds the like of."""

    questions: int
    alike: int
    variants: tuple[VariantResult, ...]
    gains: tuple[Gain, ...]

    def variant(self, name: str) -> VariantResult | None:
        return next((one for one in self.variants if one.variant == name), None)

    @property
    def fullest(self) -> str:
        """The variant with memory that has most levers on; `""` where there is none with any."""
        counts = {one.variant: variant_named(one.variant) for one in self.variants}
        best = max(counts.values(), key=lambda one: (one.memory, one.count), default=NONE)
        return best.name if best.memory and best.count else ""

    def gain(self, name: str, against: str) -> Gain | None:
        return next((one for one in self.gains if (one.variant, one.against) == (name, against)), None)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(sorted({one.type for variant in self.variants for one in variant.types}))

    def awakened(self, variant: str, *, against: str = NONE.name) -> tuple[str, ...]:
        """Types that have right answers in one variant and had none in the other."""
        return tuple(type for type in self.types if self._right(variant, type) and self._right(against, type) == 0)

    def barren(self, variant: str) -> tuple[str, ...]:
        """Types of which a variant answers none right."""
        return tuple(type for type in self.types if self._right(variant, type) == 0)

    def _right(self, variant: str, type: str) -> int | None:
        result = self.variant(variant)
        share = result.of(type) if result else None
        return share.right if share else None


def ablation(trials: Sequence[Trial], *, alike: Collection[str] = ()) -> Ablation:
    """Compute what came of trials, also of some only.

    `alike` are ids of questions that memory holds the like of. Variants are in order: without levers, each alone, more
    together, all, all but one, then those without memory.
    """
    asked: dict[str, dict[str, Trial]] = {}
    for trial in trials:
        asked.setdefault(trial.variant, {})[trial.step.question] = trial
    order = sorted((variant_named(name.lower()) for name in asked), key=place_of)
    names = [variant.name for variant in order]
    compared = [both for variant in order for both in _against(variant) if both[1] in asked]
    apart = [_difference(asked[one], asked[other]) for one, other in compared]
    adjusted = holm([difference.p for difference in apart])
    gains = [
        Gain(one, other, difference, p, len(asked[one].keys() ^ asked[other].keys()))
        for (one, other), difference, p in zip(compared, apart, adjusted, strict=True)
    ]
    questions = {question for held in asked.values() for question in held}
    return Ablation(
        questions=len(questions),
        alike=len(questions & set(alike)),
        variants=tuple(_result(name, tuple(asked[name].values()), alike) for name in names),
        gains=tuple(gains),
    )


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Adjust p for so many tests, so that the chance of any false find stays below what each is held against.

    Holm's step-down correction (1979, Scandinavian Journal of Statistics 6:65): the smallest of n is multiplied by n,
    the next by n - 1 and so on; none becomes smaller than the one before, or larger than 1.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.5])]
    [0.04, 0.09, 0.09, 0.5]
    """
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = least
    return tuple(adjusted)


def _against(variant: Variant) -> tuple[tuple[str, str], ...]:
    """What a variant is compared with: no lever; for all but one, all of them as well; for one without memory, it."""
    name = variant.name
    none, every = Variant(NONE.levers, variant.memory), Variant(EVERY.levers, variant.memory)
    others = [none.name] if variant.count else []
    if variant.count == len(EVERY_LEVER) - 1:
        others.append(every.name)
    if variant.memory and variant.count in (0, len(EVERY_LEVER)):
        others.append(Variant(variant.levers, memory=False).name)
    return tuple((name, other) for other in others)


def _difference(mine: Mapping[str, Trial], theirs: Mapping[str, Trial]) -> Difference:
    both = [question for question in mine if question in theirs]
    return paired([mine[one].step.right for one in both], [theirs[one].step.right for one in both])


def _result(name: str, trials: Sequence[Trial], alike: Collection[str]) -> VariantResult:
    steps = [trial.step for trial in trials]
    unaided = [trial.step for trial in trials if trial.unaided]
    seconds = [trial.seconds for trial in trials]
    errors = Counter(f"{step.error} ({step.rule})" if step.rule else step.error for step in steps if step.error)
    calls = sum(step.calls for step in steps)
    return VariantResult(
        variant=name,
        share=share_of(step.right for step in steps),
        apart=share_of(step.right for step in steps if step.question not in alike),
        unaided=share_of(trial.unaided for trial in trials),
        unaided_right=share_of(step.right for step in unaided),
        errors=tuple(Counted(*one) for one in sorted(errors.items(), key=lambda one: (-one[1], one[0]))),
        calls=calls / len(steps),
        replayed=share(sum(step.replayed for step in steps), calls),
        tokens=Tokens(
            statistics.mean(step.input_tokens for step in steps),
            statistics.mean(step.cached_tokens for step in steps),
            statistics.mean(step.output_tokens for step in steps),
        ),
        seconds_median=statistics.median(seconds) if seconds else None,
        seconds_p90=_ninetieth(seconds),
        types=tuple(
            TypeShare(type, share_of(step.right for step in steps if step.type == type))
            for type in sorted({step.type for step in steps})
        ),
    )


def _ninetieth(seconds: Sequence[float]) -> float | None:
    """The least that nine of ten do not pass."""
    ordered = sorted(seconds)
    return ordered[-(-9 * len(ordered) // 10) - 1] if ordered else None
