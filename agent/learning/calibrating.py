"""Whether a stated confidence holds, and the weights with which it does."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.drafting.weighing import FEATURES, USUAL_WEIGHTS, Weights, chances_of
from agent.learning.statistics import Share, share, share_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BINS = 10
"""Into so many parts of equal width [0, 1] is divided."""

_SURELY = 1e-12
"""No chance is taken for less, nor for more than 1 less this, where its logarithm is wanted."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A confidence in [0, 1] that was stated, and what came."""

    confidence: float
    right: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """Forecasts from `low` to less than `high` (the last one up to 1): their mean confidence, and how many were right.

    `mean` is None where there are none.
    """

    low: float
    high: float
    mean: float | None
    share: Share


@dataclass(frozen=True, slots=True)
class Brier:
    """The mean squared error of forecasts, 0 at best, and its parts.

    `score = reliability - resolution + uncertainty + spread - covariance` (Murphy 1973, J. Appl. Meteor. 12:595; the
    last two are what binning leaves within the bins: Stephenson, Coelho and Jolliffe 2008, Weather and Forecasting
    23:752). `reliability` is how far confidence and share lie apart, 0 at best; `resolution` how far the shares of the
    bins lie from the share of all, `uncertainty` at best.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    spread: float
    covariance: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """What is answered with at least a confidence: how much of all questions, and how much of that is right."""

    confidence: float
    answered: Share
    right: Share


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Spiegelhalter's test whether forecasts are calibrated: z, and the chance of one as large if they are."""

    z: float
    p: float


def reliability(forecasts: Sequence[Forecast], *, bins: int = BINS) -> tuple[Bin, ...]:
    """The reliability table: how much of what was stated with about the same confidence is right.

    >>> table = reliability([Forecast(0.15, False), Forecast(0.19, True), Forecast(1.0, True)])
    >>> [(bin.low, round(bin.mean or 0, 2), bin.share.right, bin.share.total) for bin in table if bin.share.total]
    [(0.1, 0.17, 1, 2), (0.9, 1.0, 1, 1)]
    """
    parts = _binned(forecasts, bins)
    return tuple(
        Bin(
            place / bins,
            (place + 1) / bins,
            _mean([one.confidence for one in part]) if part else None,
            share_of(one.right for one in part),
        )
        for place, part in enumerate(parts)
    )


def calibration_error(table: Sequence[Bin]) -> float | None:
    """The expected calibration error: how far mean confidence and share right lie apart, weighed by forecasts.

    From 0 to 1; None of nothing (Naeini, Cooper and Hauskrecht 2015, AAAI).

    >>> round(calibration_error(reliability([Forecast(0.8, True), Forecast(0.8, False), Forecast(0.3, False)])), 3)
    0.3
    """
    total = sum(one.share.total for one in table)
    if not total:
        return None
    gaps = (
        abs(one.mean - one.share.right / one.share.total) * one.share.total for one in table if one.mean is not None
    )
    return sum(gaps) / total


def brier(forecasts: Sequence[Forecast], *, bins: int = BINS) -> Brier | None:
    """The Brier score and its parts; None of nothing.

    >>> found = brier([Forecast(0.75, True), Forecast(0.25, False)])
    >>> found.score, found.reliability, found.resolution, found.uncertainty
    (0.0625, 0.0625, 0.25, 0.25)
    """
    if not forecasts:
        return None
    total, base = len(forecasts), _mean([float(one.right) for one in forecasts])
    apart = resolved = spread = covariance = 0.0
    for part in _binned(forecasts, bins):
        if not part:
            continue
        mean, right = _mean([one.confidence for one in part]), _mean([float(one.right) for one in part])
        apart += len(part) * (mean - right) ** 2
        resolved += len(part) * (right - base) ** 2
        spread += sum((one.confidence - mean) ** 2 for one in part)
        covariance += sum(2 * (one.confidence - mean) * (one.right - right) for one in part)
    score = _mean([(one.confidence - one.right) ** 2 for one in forecasts])
    return Brier(score, apart / total, resolved / total, base * (1 - base), spread / total, covariance / total)


def log_loss(forecasts: Sequence[Forecast]) -> float | None:
    """The mean surprise at what came, in nats: `-ln` of the confidence in it. 0 at best; None of nothing.

    >>> round(log_loss([Forecast(0.5, True), Forecast(0.5, False)]), 4)
    0.6931
    """
    if not forecasts:
        return None
    chances = (one.confidence if one.right else 1 - one.confidence for one in forecasts)
    return _mean([-math.log(max(chance, _SURELY)) for chance in chances])


def area(forecasts: Sequence[Forecast]) -> float | None:
    """The chance that of a right and a wrong one the right has more confidence, ties counted half (area under ROC).

    None where all are right or all wrong. It is the statistic of Mann and Whitney over the number of pairs (Hanley
    and McNeil 1982, Radiology 143:29).

    >>> area([Forecast(0.9, True), Forecast(0.4, False), Forecast(0.4, True)])
    0.75
    """
    right = [one.confidence for one in forecasts if one.right]
    wrong = [one.confidence for one in forecasts if not one.right]
    if not right or not wrong:
        return None
    from scipy.stats import rankdata

    ranks = rankdata([*right, *wrong])
    above = float(sum(ranks[: len(right)])) - len(right) * (len(right) + 1) / 2
    return above / (len(right) * len(wrong))


def spiegelhalter(forecasts: Sequence[Forecast]) -> CalibrationTest | None:
    """Test whether forecasts are calibrated (Spiegelhalter 1986, Statistics in Medicine 5:421). None without spread.

    >>> found = spiegelhalter([Forecast(0.9, False)] * 4 + [Forecast(0.9, True)] * 6)
    >>> round(found.z, 2), found.p < 0.01
    (3.16, True)
    """
    spread = sum((1 - 2 * one.confidence) ** 2 * one.confidence * (1 - one.confidence) for one in forecasts)
    if not spread:
        return None
    z = sum((one.right - one.confidence) * (1 - 2 * one.confidence) for one in forecasts) / math.sqrt(spread)
    return CalibrationTest(z, math.erfc(abs(z) / math.sqrt(2)))


def thresholds(forecasts: Sequence[Forecast], confidences: Sequence[float], *, asked: int) -> tuple[Threshold, ...]:
    """How much is answered with at least each confidence, of `asked` questions, and how much of that is right.

    >>> found = thresholds([Forecast(0.9, True), Forecast(0.6, False)], [0.5, 0.9], asked=4)
    >>> [(one.answered.value, one.right.value) for one in found]
    [(0.5, 0.5), (0.25, 1.0)]
    """

    def above(confidence: float) -> Threshold:
        sure = [one.right for one in forecasts if one.confidence >= confidence]
        return Threshold(confidence, share(len(sure), asked), share_of(sure))

    return tuple(map(above, confidences))


def _binned(forecasts: Sequence[Forecast], bins: int) -> list[list[Forecast]]:
    parts: list[list[Forecast]] = [[] for _ in range(bins)]
    for one in forecasts:
        parts[min(bins - 1, int(one.confidence * bins + 1e-9))].append(one)
    return parts


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


# Fitting


@dataclass(frozen=True, slots=True)
class Case:
    """The results of one question as they stood at one moment, and which of them are right.

    `features` are one mapping for each result. Cases of one `family` are of the same question, with other literals
    perhaps, and are never parted in cross-validation. `weight` is how much the case counts.
    """

    family: str
    features: tuple[Mapping[str, float], ...]
    right: tuple[bool, ...]
    weight: float = 1.0


def fitted(cases: Sequence[Case], *, hold: float, prior: Weights = USUAL_WEIGHTS) -> Mapping[str, float]:
    """The weights that make what came likeliest, held to the prior by `hold / 2` times their squared distance.

    That is the most probable point under a normal prior with variance `1 / hold`; the bias is held by a hundredth of
    it. No weight gets a sign that its feature forbids. Where several results of a case are right, any of them counts.
    Raises ValueError where there is no case.
    """
    import numpy as np
    from scipy.optimize import minimize

    if not cases:
        raise ValueError("Nothing can be fitted on no case.")
    names = [feature.name for feature in FEATURES]
    rows = np.array([[one[name] for name in names] for case in cases for one in case.features]).reshape(-1, len(names))
    of_case = np.repeat(np.arange(len(cases)), [len(case.features) for case in cases])
    right = np.array([one for case in cases for one in case.right], dtype=bool)
    weight = np.array([case.weight for case in cases])
    any_right = np.zeros(len(cases), dtype=bool)
    any_right[of_case[right]] = True
    centre = np.array([prior.values[name] for name in names])
    held = np.array([hold / 100 if name == "bias" else hold for name in names])

    def loss(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Minus the log of likelihood times prior, and its gradient."""
        scores = rows @ at
        top = np.zeros(len(cases))
        np.maximum.at(top, of_case, scores)
        parts = np.exp(scores - top[of_case])
        none = np.exp(-top)
        whole = none + np.bincount(of_case, parts, len(cases))
        hit = np.bincount(of_case, parts * right, len(cases))
        came = np.where(any_right, hit, none)
        value = float(weight @ (np.log(whole) - np.log(np.maximum(came, 1e-300))))
        taken = np.where(right, parts / np.maximum(hit, 1e-300)[of_case], 0.0)
        slope = rows.T @ (weight[of_case] * (parts / whole[of_case] - taken))
        away = at - centre
        return value + float(held @ away**2) / 2, slope + held * away

    bounds = [(0.0 if one.sign > 0 else None, 0.0 if one.sign < 0 else None) for one in FEATURES]
    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2_000})
    return {name: round(float(value), 4) + 0.0 for name, value in zip(names, found.x, strict=True)}


def cross_validated(
    cases: Sequence[Case], *, hold: float, folds: int = 10, prior: Weights = USUAL_WEIGHTS
) -> tuple[tuple[float, ...], ...]:
    """The chances of each result of each case, by weights that were fitted on other families only.

    Which fold a family is in depends on its name alone.
    """
    places = [int(hashlib.sha256(case.family.encode()).hexdigest(), 16) % folds for case in cases]
    chances: list[tuple[float, ...]] = [()] * len(cases)
    for fold in sorted(set(places)):
        others = [case for case, place in zip(cases, places, strict=True) if place != fold]
        weights = Weights(fitted(others, hold=hold, prior=prior)) if others else prior
        for number, case in enumerate(cases):
            if places[number] == fold:
                chances[number] = chances_of([weights.score(one) for one in case.features])
    return tuple(chances)
