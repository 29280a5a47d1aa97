"""Waiting for a model that cannot be reached, with a clock and a sleep of the test's own."""

from __future__ import annotations

import os
import random
import signal
import threading
import time as real_time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent.models.openai_compatible import OpenAIModel
from agent.models.patient import LONGEST_WAIT, PatientModel
from agent.models.port import BudgetExhaustedError, Model, ModelError, ModelUnavailableError, Prompt, Reply, Turn
from agent.models.prices import load_prices
from agent.models.recorded import ScriptedModel
from agent.models.resilience import Budget, CircuitBreaker, OutageError, RetryPolicy
from agent.models.unreliable import UnreliableModel
from tests.agent.models.clock import Time

PROMPT = Prompt("s", (Turn("user", "q"),))


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def patient(time: Time, said: list[str]) -> Callable[..., PatientModel]:
    def build(inner: Model, *, patience: float = 600.0) -> PatientModel:
        dice = random.Random(5)
        return PatientModel(
            inner, patience=patience, say=said.append, clock=time.clock, sleep=time.sleep, uniform=dice.uniform
        )

    return build


def scripted(*replies: str | ModelError) -> ScriptedModel:
    return ScriptedModel(list(replies))


def down(count: int, *, after: float | None = None) -> list[OutageError]:
    return [OutageError(f"nobody there, {number}", after=after) for number in range(count)]


def test_a_call_is_made_again_until_it_works(patient: Any, time: Time) -> None:
    model = patient(scripted(*down(4), "SELECT 1"))
    assert model.complete(PROMPT).text == "SELECT 1"
    assert len(time.slept) == 4
    assert all(0 <= wait <= limit for wait, limit in zip(time.slept, (1, 2, 4, 8), strict=True))


def test_no_wait_is_longer_than_a_minute_whatever_the_provider_asks_for(patient: Any, time: Time) -> None:
    patient(scripted(*down(30, after=7200.0), "SELECT 1"), patience=10_000).complete(PROMPT)
    assert set(time.slept) == {LONGEST_WAIT}


def test_the_last_failure_is_raised_when_the_patience_is_at_an_end(patient: Any, time: Time) -> None:
    failures = down(10_000)
    began = time.now
    with pytest.raises(OutageError) as raised:
        patient(scripted(*failures), patience=1800.0).complete(PROMPT)
    assert raised.value in failures
    assert 1800 - LONGEST_WAIT - 1 <= time.now - began <= 1800
    assert raised.value is failures[len(time.slept)]


def test_a_patience_of_days_does_not_run_out_of_numbers(patient: Any, time: Time) -> None:
    patient(scripted(*down(3_000), "SELECT 1"), patience=1e6).complete(PROMPT)
    assert len(time.slept) == 3_000


def test_without_patience_a_call_is_made_once(patient: Any, time: Time, said: list[str]) -> None:
    with pytest.raises(OutageError):
        patient(scripted(*down(2)), patience=0.0).complete(PROMPT)
    assert (time.slept, said) == ([], [])


@pytest.mark.parametrize(
    "failure",
    [
        BudgetExhaustedError("the money is spent"),
        ModelError("the prompt is too long"),
        ModelUnavailableError("the endpoint refused the key (401)"),
    ],
)
def test_what_no_waiting_mends_is_raised_at_once(patient: Any, time: Time, failure: ModelError) -> None:
    with pytest.raises(ModelError) as raised:
        patient(scripted(failure, "SELECT 1")).complete(PROMPT)
    assert raised.value is failure
    assert time.slept == []


def test_the_beginning_and_the_end_of_an_outage_are_told_once(patient: Any, time: Time, said: list[str]) -> None:
    model = patient(scripted("SELECT 1", *down(12), "SELECT 2", "SELECT 3", *down(9), "SELECT 4"))
    for _ in range(2):
        model.complete(PROMPT)
    began, over = said
    assert "Waiting up to 10 minutes" in began
    assert "scripted answers again after" in over
    for _ in range(2):
        model.complete(PROMPT)
    assert len(said) == 4


def test_a_short_failure_is_not_worth_a_word(patient: Any, said: list[str]) -> None:
    model = patient(scripted(*down(1), "SELECT 1", *down(1), "SELECT 2"))
    model.complete(PROMPT)
    model.complete(PROMPT)
    assert said == []


def test_an_outage_of_a_long_run_is_sat_out_and_scattered_failures_are_hidden(patient: Any, time: Time) -> None:
    inner = ScriptedModel(["SELECT 1"] * 300)
    model = patient(UnreliableModel(inner, share=0.1, seed=3, outages=[(100, 300.0)], clock=time.clock))
    assert {model.complete(PROMPT).text for _ in range(300)} == {"SELECT 1"}
    assert len(inner.prompts) == 300
    assert time.now > 1300


@pytest.fixture
def hosted(time: Time, provider: Any) -> Iterator[Callable[..., OpenAIModel]]:
    made: list[OpenAIModel] = []

    def build(breaker: CircuitBreaker, base_url: str | None = None, tries: int = 3) -> OpenAIModel:
        policy = RetryPolicy(deadline=30.0, max_tries=tries, clock=time.clock, sleep=time.sleep)
        model = OpenAIModel(
            model="small",
            key="k",
            base_url=base_url or f"{provider.url}/v1",
            prices=load_prices(),
            policy=policy,
            budget=Budget(),
            breaker=breaker,
        )
        made.append(model)
        return model

    yield build
    for model in made:
        model.close()


def test_a_provider_that_is_left_alone_is_not_asked_and_then_tried_once(
    patient: Any, time: Time, hosted: Any, provider: Any, answer: Any
) -> None:
    provider.answers = [answer(503, {"error": {"message": "m"}})]
    breaker = CircuitBreaker(threshold=3, cooldown=30.0, clock=time.clock)
    began = time.now
    with pytest.raises(OutageError):
        patient(hosted(breaker), patience=900.0).complete(PROMPT)
    # Three calls of three tries each open the breaker; then there is one try in a cooldown of 30 s, and not more.
    assert 9 + 10 <= len(provider.requests) <= 9 + 30
    assert time.now - began > 800


def test_a_provider_that_comes_back_is_noticed(
    patient: Any, time: Time, hosted: Any, provider: Any, answer: Any, said: list[str]
) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "SELECT 1"}}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    provider.answers = [answer(503, {"error": {"message": "m"}})] * 20 + [answer(body=body)]
    model = patient(hosted(CircuitBreaker(clock=time.clock)))
    assert model.complete(PROMPT).text == "SELECT 1"
    assert len(provider.requests) == 21
    assert len(said) == 2


def test_a_key_that_is_refused_is_not_waited_for(
    patient: Any, time: Time, hosted: Any, provider: Any, answer: Any
) -> None:
    provider.answers = [answer(401, {"error": {"message": "m"}})]
    with pytest.raises(ModelUnavailableError, match="refused the key"):
        patient(hosted(CircuitBreaker(clock=time.clock))).complete(PROMPT)
    assert (len(provider.requests), time.slept) == (1, [])


def test_a_port_where_nobody_listens_is_waited_for(
    patient: Any, time: Time, hosted: Any, closed_port: int, said: list[str]
) -> None:
    model = hosted(CircuitBreaker(clock=time.clock), base_url=f"http://127.0.0.1:{closed_port}/v1")
    with pytest.raises(OutageError, match=r"no connection could be made|left alone"):
        patient(model, patience=200.0).complete(PROMPT)
    assert len(said) == 1


# --- the real clock ----------------------------------------------------------------------------------------------


class Down:
    """Nobody ever answers, and asks for a wait of a minute. Tells when it was asked."""

    name = "down"

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.calls = 0

    def complete(self, _prompt: Prompt) -> Reply:
        self.calls += 1
        self.asked.set()
        raise OutageError("nobody there", after=60.0)

    def close(self) -> None:
        """Nothing to close."""


def test_ctrl_c_ends_a_wait_at_once() -> None:
    inner = Down()
    model = PatientModel(inner, patience=600.0, say=lambda _told: None)

    def press() -> None:
        inner.asked.wait(5)
        real_time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        model.complete(PROMPT)
    pressing.join()


def test_closing_ends_the_waits_of_all_threads_and_asks_nobody_again() -> None:
    inner = Down()
    model = PatientModel(inner, patience=600.0, say=lambda _told: None)
    raised: list[str] = []

    def ask() -> None:
        try:
            model.complete(PROMPT)
        except OutageError as outage:
            raised.append(str(outage))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    inner.asked.wait(5)
    model.close()
    for thread in threads:
        thread.join(5)
    assert raised == ["nobody there"] * 3
    assert inner.calls == 3
