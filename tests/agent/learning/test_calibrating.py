"""The figures of calibration are those that a hand computes, and the fit finds what made the data."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.drafting.weighing import FEATURES, USUAL_WEIGHTS, Weights, chances_of
from agent.learning.calibrating import (
    Case,
    Forecast,
    area,
    brier,
    calibration_error,
    cross_validated,
    fitted,
    log_loss,
    reliability,
    spiegelhalter,
    thresholds,
)

# Ten forecasts: of four at 0.2 one is right, of six at 0.7 four are.
TEN = tuple(Forecast(0.2, place == 0) for place in range(4)) + tuple(Forecast(0.7, place < 4) for place in range(6))

forecasts = st.lists(st.builds(Forecast, st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def test_the_reliability_table_counts_what_is_right_in_each_bin_with_its_interval() -> None:
    table = reliability(TEN)
    filled = {one.low: one for one in table if one.share.total}
    assert [one.low for one in table] == [place / 10 for place in range(10)]
    assert set(filled) == {0.2, 0.7}
    assert (filled[0.2].share.right, filled[0.2].share.total) == (1, 4)
    assert filled[0.2].mean == pytest.approx(0.2)
    assert (filled[0.7].share.right, filled[0.7].share.total) == (4, 6)
    assert filled[0.7].mean == pytest.approx(0.7)
    # Wilson for 1 of 4: (0.25 + z²/8 ± z √(0.1875/4 + z²/64)) / (1 + z²/4) with z = 1.96
    assert filled[0.2].share.interval.low == pytest.approx(0.0456, abs=1e-4)
    assert filled[0.2].share.interval.high == pytest.approx(0.6994, abs=1e-4)
    assert table[0].mean is None


def test_bounds_belong_to_the_bin_that_begins_there_and_one_to_the_last() -> None:
    edges = [Forecast(place / 10, True) for place in range(11)]
    assert [one.share.total for one in reliability(edges)] == [1] * 9 + [2]


def test_the_calibration_error_is_the_mean_gap_over_forecasts() -> None:
    assert calibration_error(reliability(TEN)) == pytest.approx((4 * 0.05 + 6 * (0.7 - 4 / 6)) / 10)
    assert calibration_error(reliability([])) is None


def test_the_brier_score_and_its_parts_are_those_of_a_hand() -> None:
    found = brier(TEN)
    assert found is not None
    assert found.score == pytest.approx((0.64 + 3 * 0.04 + 4 * 0.09 + 2 * 0.49) / 10)
    assert found.reliability == pytest.approx((4 * 0.05**2 + 6 * (0.7 - 2 / 3) ** 2) / 10)
    assert found.resolution == pytest.approx((4 * 0.25**2 + 6 * (2 / 3 - 0.5) ** 2) / 10)
    assert found.uncertainty == 0.25
    assert found.spread == pytest.approx(0) and found.covariance == pytest.approx(0)
    assert brier([]) is None


@given(forecasts)
def test_the_parts_of_the_brier_score_add_up_to_it(made: list[Forecast]) -> None:
    found = brier(made)
    assert found is not None
    parts = found.reliability - found.resolution + found.uncertainty + found.spread - found.covariance
    assert found.score == pytest.approx(parts, abs=1e-9)


def test_log_loss_is_the_mean_surprise_and_bounded_for_the_impossible() -> None:
    expected = -(math.log(0.2) + 3 * math.log(0.8) + 4 * math.log(0.7) + 2 * math.log(0.3)) / 10
    assert log_loss(TEN) == pytest.approx(expected)
    assert log_loss([Forecast(0.0, True)]) == pytest.approx(-math.log(1e-12))
    assert log_loss([]) is None


def test_the_area_counts_pairs_in_the_right_order_and_ties_half() -> None:
    # 5 right by 5 wrong: 4 by 3 pairs in order, 1 by 3 and 4 by 2 tie, 1 by 2 the other way round
    assert area(TEN) == pytest.approx((12 + 0.5 * (3 + 8)) / 25)
    assert area([Forecast(0.3, True)]) is None and area([Forecast(0.3, False)]) is None


@given(forecasts)
def test_the_area_of_turned_confidences_is_turned(made: list[Forecast]) -> None:
    found, turned = area(made), area([Forecast(1 - one.confidence, one.right) for one in made])
    distinct = len({one.confidence for one in made}) == len({1 - one.confidence for one in made})
    if found is not None and turned is not None and distinct:
        assert found == pytest.approx(1 - turned)


def test_calibrated_forecasts_pass_the_test_and_boastful_ones_do_not() -> None:
    dice = random.Random(8)
    honest = [Forecast(chance, dice.random() < chance) for chance in (dice.random() for _ in range(400))]
    boastful = [Forecast(1 - (1 - one.confidence) / 3, one.right) for one in honest]
    fair, unfair = spiegelhalter(honest), spiegelhalter(boastful)
    assert fair is not None and unfair is not None
    assert fair.p > 0.05 and unfair.p < 0.001
    assert spiegelhalter([Forecast(0.5, True)]) is None


def test_a_threshold_says_how_much_of_all_that_was_asked_it_answers_and_how_right() -> None:
    [low, high, most] = thresholds(TEN, [0.2, 0.7, 0.9], asked=12)
    assert (low.answered.right, low.answered.total, low.right.right, low.right.total) == (10, 12, 5, 10)
    assert (high.answered.right, high.right.right, high.right.total) == (6, 4, 6)
    assert (most.answered.value, most.right.value) == (0, None)


# Fitting


def features(**known: float) -> Mapping[str, float]:
    return {one.name: known.get(one.name, 0.0) for one in FEATURES} | {"bias": 1.0}


def drawn(truth: Weights, count: int, *, seed: int = 1) -> list[Case]:
    """Cases of one to three results that `truth` made."""
    dice = random.Random(seed)
    cases = []
    for number in range(count):
        results = tuple(
            features(agreement=dice.random(), doubts=float(dice.random() < 0.5), recall=dice.random())
            for _ in range(dice.randint(1, 3))
        )
        chances = chances_of([truth.score(one) for one in results])
        came = dice.choices([*range(len(results)), -1], [*chances, 1 - sum(chances)])[0]
        cases.append(Case(f"q{number}", results, tuple(place == came for place in range(len(results)))))
    return cases


TRUTH = Weights({one.name: 0.0 for one in FEATURES} | {"bias": -1.0, "agreement": 3.0, "doubts": -2.0})


def test_the_fit_finds_the_weights_that_made_the_data() -> None:
    found = fitted(drawn(TRUTH, 3_000), hold=0.1)
    for name in ("bias", "agreement", "doubts", "recall"):
        assert found[name] == pytest.approx(TRUTH.values[name], abs=0.35), name


def test_what_the_data_says_nothing_of_keeps_its_prior() -> None:
    found = fitted(drawn(TRUTH, 50), hold=1.0)
    assert {name: found[name] for name in ("strength", "both", "empty")} == {
        name: pytest.approx(USUAL_WEIGHTS.values[name], abs=1e-3) for name in ("strength", "both", "empty")
    }
    firm = fitted(drawn(TRUTH, 50), hold=1e6)
    assert firm["agreement"] == pytest.approx(USUAL_WEIGHTS.values["agreement"], abs=1e-2)


def test_no_weight_gets_a_sign_that_its_feature_forbids() -> None:
    against = [Case(str(place), (features(agreement=1.0), features()), (False, True)) for place in range(40)] + [
        Case(str(place), (features(doubts=1.0), features()), (True, False)) for place in range(40, 80)
    ]
    found = fitted(against, hold=0.01)
    assert found["agreement"] == 0.0 and found["doubts"] == 0.0
    Weights(found)


def test_a_case_may_have_several_right_results_or_none_and_counts_by_its_weight() -> None:
    lonely = [Case("a", (features(),), (False,), weight=3.0), Case("b", (features(),), (True,))]
    assert fitted(lonely, hold=1e-6)["bias"] == pytest.approx(math.log(1 / 3), abs=1e-3)
    both = [Case("a", (features(), features()), (True, True)), Case("b", (features(), features()), (False, False))]
    assert fitted(both, hold=1e-6)["bias"] == pytest.approx(math.log(1 / 2), abs=1e-3)  # e^s + e^s = 1
    with pytest.raises(ValueError, match="no case"):
        fitted([], hold=1.0)


def test_no_case_is_told_from_its_own_family() -> None:
    """A family that is always right would else be known from its twin."""
    odd = features(rows=1.0)
    twins = [Case("odd", (odd,), (True,)) for _ in range(200)]
    others = [Case(f"q{place}", (features(),), (False,)) for place in range(200)]
    chances = cross_validated([*twins, *others], hold=0.01)
    assert chances[0][0] < 0.1
    apart = [Case(f"odd {place}", case.features, case.right) for place, case in enumerate(twins)]
    assert cross_validated([*apart, *others], hold=0.01)[0][0] > 0.9


def test_cross_validation_gives_the_same_each_time_in_the_order_of_the_cases() -> None:
    cases = drawn(TRUTH, 40)
    first = cross_validated(cases, hold=1.0)
    assert [len(one) for one in first] == [len(one.features) for one in cases]
    assert cross_validated(cases, hold=1.0) == first
