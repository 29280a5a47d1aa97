"""When a synapse is a habit: right often enough, never wrong, and not forgotten."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as some

from procedural import habit
from procedural.habit import USUAL, Certainty, chance_right, is_habit
from procedural.synapse import HALF_LIFE, Synapse, Target, new_synapse, reinforce

TARGET = Target("habit", "h")


def after(*rewards: float, at: float = 0.0) -> Synapse:
    synapse = new_synapse("b", TARGET, at)
    for reward in rewards:
        synapse = reinforce(synapse, reward, at)
    return synapse


def test_three_successes_and_no_failure_make_a_habit() -> None:
    assert [is_habit(after(*(1.0,) * times), 0.0) for times in range(5)] == [False, False, False, True, True]


def test_no_synapse_is_no_habit() -> None:
    assert not is_habit(None, 0.0)


def test_a_synapse_that_never_fired_is_no_habit_for_all_its_weight() -> None:
    assert not is_habit(new_synapse("b", TARGET, 0.0), 0.0)


@given(
    before=some.integers(min_value=0, max_value=50),
    behind=some.integers(min_value=0, max_value=50),
)
def test_one_failure_is_never_outweighed(before: int, behind: int) -> None:
    assert not is_habit(after(*(1.0,) * before, 0.0, *(1.0,) * behind), 0.0)


def test_it_is_a_habit_for_one_half_life_and_no_longer() -> None:
    synapse = after(1.0, 1.0, 1.0)
    assert is_habit(synapse, HALF_LIFE)
    assert not is_habit(synapse, HALF_LIFE + 1)
    assert is_habit(synapse, HALF_LIFE + 1, half_life=2 * HALF_LIFE)


def test_a_clock_that_jumped_back_ends_no_habit() -> None:
    assert is_habit(after(1.0, 1.0, 1.0, at=1e9), 0.0)


def test_how_sure_it_must_be_can_be_set() -> None:
    once = after(1.0)
    assert is_habit(once, 0.0, certainty=Certainty(fewest_successes=1))
    assert not is_habit(once, 1.0, certainty=Certainty(fewest_successes=1, least_salience=1.0))
    assert is_habit(once, 1e12, certainty=Certainty(fewest_successes=1, least_salience=0.0))
    assert (USUAL.fewest_successes, USUAL.least_salience) == (3, 0.5)


def test_a_habit_of_no_literal_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 literal"):
        Certainty(fewest_literals=0)


@pytest.mark.parametrize(
    ("successes", "salience", "said"),
    [(0, 0.5, "at least 1 success"), (-1, 0.5, "at least 1 success"), (3, -0.1, "0 and 1"), (3, 1.1, "0 and 1")],
)
def test_settings_that_mean_nothing_are_refused(successes: int, salience: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Certainty(successes, salience)


def test_the_examples_hold() -> None:
    found = doctest.testmod(habit)
    assert found.attempted and not found.failed


@given(some.integers(0, 500), some.integers(0, 500))
def test_each_success_makes_it_likelier_and_each_failure_less_and_nothing_certain(right: int, wrong: int) -> None:
    record = Synapse("b", "habit", "h", 1.0, right, wrong, 0.0)
    better, worse = (Synapse("b", "habit", "h", 1.0, right + a, wrong + 1 - a, 0.0) for a in (1, 0))
    assert 0 < chance_right(worse) < chance_right(record) < chance_right(better) < 1
