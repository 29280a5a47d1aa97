"""The retry policy, the breaker and the budget, with a clock and a sleep of the test's own."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.port import BudgetExhaustedError, ModelError, ModelUnavailableError
from agent.models.resilience import (
    Budget,
    CallFailed,
    CircuitBreaker,
    RetryPolicy,
    asked_to_wait,
    shared_breaker,
    should_try_again,
)
from tests.agent.models.clock import Time


def failing(
    *failures: Exception, then: str = "reply", time: Time | None = None, each: float = 0.0
) -> Callable[..., str]:
    left = list(failures)

    def call(seconds_left: float) -> str:
        del seconds_left
        if time is not None:
            time.now += each
        if left:
            raise left.pop(0) if len(left) > 1 or then else left[0]
        return then

    return call


def policy(time: Time, **values: float) -> RetryPolicy:
    return RetryPolicy(
        clock=time.clock,
        sleep=time.sleep,
        uniform=random.Random(5).uniform,
        deadline=values.get("deadline", 60.0),
        max_tries=int(values.get("max_tries", 8)),
        first_wait=values.get("first_wait", 0.5),
        longest_wait=values.get("longest_wait", 20.0),
    )


def test_a_passing_failure_is_tried_again_and_the_reply_comes() -> None:
    time = Time()
    call = failing(CallFailed("529", again=True), CallFailed("500", again=True))
    assert policy(time).run("P", call, CircuitBreaker()) == "reply"
    assert len(time.slept) == 2


def test_what_cannot_get_better_is_not_tried_again() -> None:
    time = Time()
    with pytest.raises(ModelError, match="400: too long"):
        policy(time).run("P", failing(CallFailed("400: too long", again=False)), CircuitBreaker())
    assert time.slept == []


def test_a_failure_can_say_what_to_raise() -> None:
    wanted = ModelUnavailableError("check the key")
    with pytest.raises(ModelUnavailableError) as raised:
        policy(Time()).run("P", failing(CallFailed("401", again=False, final=wanted)), CircuitBreaker())
    assert raised.value is wanted


def test_a_wait_of_hours_is_not_begun() -> None:
    time = Time()
    call = failing(CallFailed("429", again=True, after=7200.0))
    with pytest.raises(ModelUnavailableError, match=r"tried once .*429.*asks to wait 7200 s.*--model 0\.5b"):
        policy(time).run("P", call, CircuitBreaker())
    assert time.slept == []


def test_the_wait_that_was_asked_for_is_kept() -> None:
    time = Time()
    policy(time).run("P", failing(CallFailed("429", again=True, after=7.0)), CircuitBreaker())
    assert time.slept == [7.0]


@given(
    deadline=st.floats(2, 300),
    each=st.floats(0, 30),
    afters=st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=12),
    first_wait=st.floats(0.01, 5),
)
def test_no_wait_ever_reaches_past_the_deadline(
    deadline: float, each: float, afters: list[float | None], first_wait: float
) -> None:
    time = Time()
    remaining: list[float] = []
    failures = [CallFailed("500", again=True, after=after) for after in afters]

    def call(seconds_left: float) -> str:
        remaining.append(seconds_left)
        time.now += min(each, seconds_left)
        if failures:
            raise failures.pop(0)
        return "reply"

    began = time.now
    try:
        policy(time, deadline=deadline, first_wait=first_wait).run("P", call, CircuitBreaker())
    except ModelUnavailableError:
        assert len(remaining) <= 8
    assert time.now - began <= deadline + 1e-6 + 1.0
    assert sum(time.slept) <= deadline
    assert all(0 < left <= deadline + 1e-6 for left in remaining)
    assert all(wait <= 20.0 or wait in afters for wait in time.slept)


@given(tries=st.integers(1, 40), seed=st.integers(0, 1000))
def test_waits_have_full_jitter_under_a_growing_cap(tries: int, seed: int) -> None:
    waits = RetryPolicy(uniform=random.Random(seed).uniform)
    assert 0 <= waits.wait(tries, None) <= min(20.0, 0.5 * 2 ** (tries - 1))
    assert RetryPolicy(uniform=lambda low, high: low).wait(tries, None) == 0
    assert RetryPolicy(uniform=lambda low, high: high).wait(tries, None) == min(20.0, 0.5 * 2 ** (tries - 1))


@pytest.mark.parametrize(
    ("status", "headers", "again"),
    [(s, {}, True) for s in (408, 409, 429, 500, 502, 503, 504, 529)]
    + [(s, {}, False) for s in (400, 401, 402, 403, 404, 413, 422)]
    + [
        (429, {"x-should-retry": "false"}, False),
        (400, {"x-should-retry": "true"}, True),
        (500, {"x-should-retry": "?"}, True),
    ],
)
def test_which_statuses_are_tried_again(status: int, headers: dict[str, str], again: bool) -> None:
    assert should_try_again(status, headers) is again


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "when I am ready"}, None),
    ],
)
def test_how_long_the_provider_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_to_wait(headers, now=100.0) == seconds


# --- breaker -----------------------------------------------------------------------------------------------------


def outage(time: Time, breaker: CircuitBreaker) -> None:
    with pytest.raises(ModelUnavailableError, match="gave no reply"):
        policy(time, max_tries=1).run("P", failing(CallFailed("500", again=True)), breaker)


def test_a_provider_that_stays_down_is_left_alone_for_a_while() -> None:
    time = Time()
    breaker = CircuitBreaker(threshold=2, cooldown=30.0, clock=time.clock)
    outage(time, breaker)
    outage(time, breaker)
    called: list[float] = []
    with pytest.raises(ModelUnavailableError, match=r"failed 2 times in a row.*30 s more.*--model 0\.5b"):
        policy(time).run("P", called.append, breaker)
    assert called == []
    time.now += 31
    assert policy(time).run("P", failing(), breaker) == "reply"
    assert policy(time).run("P", failing(), breaker) == "reply"


def test_a_failed_trial_opens_the_breaker_again() -> None:
    time = Time()
    breaker = CircuitBreaker(threshold=1, cooldown=30.0, clock=time.clock)
    outage(time, breaker)
    time.now += 31
    outage(time, breaker)
    with pytest.raises(ModelUnavailableError, match="in a row"):
        policy(time).run("P", failing(), breaker)


def test_only_one_call_tries_a_provider_that_was_down() -> None:
    time = Time()
    breaker = CircuitBreaker(threshold=1, cooldown=30.0, clock=time.clock)
    outage(time, breaker)
    time.now += 31
    breaker.enter("P")
    with pytest.raises(ModelUnavailableError, match="in a row"):
        breaker.enter("P")


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), BudgetExhaustedError("spent")])
def test_a_trial_that_was_not_made_lets_the_next_one_try(interruption: BaseException) -> None:
    time = Time()
    breaker = CircuitBreaker(threshold=1, cooldown=30.0, clock=time.clock)
    outage(time, breaker)
    time.now += 31

    def stopped(left: float) -> str:
        raise interruption

    with pytest.raises(type(interruption)):
        policy(time).run("P", stopped, breaker)
    assert policy(time).run("P", failing(), breaker) == "reply"


def test_requests_that_are_turned_down_do_not_count_as_an_outage() -> None:
    time = Time()
    breaker = CircuitBreaker(threshold=1, clock=time.clock)
    for _ in range(3):
        with pytest.raises(ModelError, match="turned the request down"):
            policy(time).run("P", failing(CallFailed("400", again=False)), breaker)
    assert policy(time).run("P", failing(), breaker) == "reply"


def test_one_breaker_per_provider_and_process() -> None:
    assert shared_breaker("a") is shared_breaker("a")
    assert shared_breaker("a") is not shared_breaker("b")


# --- budget ------------------------------------------------------------------------------------------------------


def test_a_call_that_could_cost_more_than_is_left_is_not_made() -> None:
    budget = Budget(max_cost_usd=1.0)
    with budget.reserved(0.6, "m") as bill:
        bill.pay(0.5)
    with pytest.raises(BudgetExhaustedError, match=r"could cost 0\.6000 USD and 0\.5000 USD are left of 1.*HEBBQL_MAX"):
        budget.reserved(0.6, "m").__enter__()
    with budget.reserved(0.5, "m"):
        pass
    assert budget.spent_usd == 1.0


def test_without_a_price_no_limit_can_be_kept() -> None:
    with pytest.raises(BudgetExhaustedError, match=r"price of m is not in data/prices\.toml"):
        Budget(max_cost_usd=1.0).reserved(None, "m").__enter__()
    with Budget().reserved(None, "m") as bill:
        bill.pay(None)


@pytest.mark.parametrize(("maybe_billed", "spent"), [(False, 0.0), (True, 0.4)])
def test_a_request_that_may_have_been_worked_on_counts_in_full(maybe_billed: bool, spent: float) -> None:
    budget = Budget(max_cost_usd=1.0)
    with pytest.raises(CallFailed), budget.reserved(0.4, "m"):
        raise CallFailed("lost", again=True, maybe_billed=maybe_billed)
    assert budget.spent_usd == spent
    with budget.reserved(1.0 - spent, "m") as bill:
        bill.pay(0.0)


def test_money_that_is_reserved_cannot_be_reserved_again_until_it_is_settled() -> None:
    budget = Budget(max_cost_usd=1.0)
    with budget.reserved(0.6, "m") as bill:
        with pytest.raises(BudgetExhaustedError):
            budget.reserved(0.6, "m").__enter__()
        bill.pay(0.1)
    with budget.reserved(0.6, "m") as bill:
        bill.pay(0.6)
    assert budget.spent_usd == pytest.approx(0.7)


def test_threads_never_spend_more_than_the_limit_together() -> None:
    budget = Budget(max_cost_usd=1.0)
    refused = []
    start = threading.Barrier(8)

    def spend() -> None:
        start.wait()
        for _ in range(50):
            try:
                with budget.reserved(0.01, "m") as bill:
                    bill.pay(0.01)
            except BudgetExhaustedError:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent_usd <= 1.0 + 1e-9
    assert len(refused) >= 8 * 50 - 101
