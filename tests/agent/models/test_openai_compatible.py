"""The OpenAI-compatible adapter against a real HTTP server that speaks chat completions on a loopback port."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from agent.models.openai_compatible import OpenAIModel
from agent.models.port import BudgetExhaustedError, ModelError, ModelUnavailableError, Prompt, Turn
from agent.models.prices import load_prices
from agent.models.resilience import Budget, CircuitBreaker, RetryPolicy

KEY = "sk-secret-0123456789"
PROMPT = Prompt("Answer with SQL.", (Turn("user", "How many towns?"),), 300)


def completion(text: str | None, *, stop: str | None = "stop", **extra: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": stop, "message": {"role": "assistant", "content": text, **extra}}],
        "usage": {
            "prompt_tokens": 50,
            "completion_tokens": 7,
            "total_tokens": 57,
            "prompt_tokens_details": {"cached_tokens": 30},
        },
    }


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def asked(provider: Any, slept: list[float]) -> Iterator[Any]:
    made: list[OpenAIModel] = []

    def build(**changes: Any) -> OpenAIModel:
        values: dict[str, Any] = {
            "model": "small",
            "key": KEY,
            "base_url": f"{provider.url}/v1",
            "prices": load_prices(),
            "policy": RetryPolicy(deadline=30.0, max_tries=4, sleep=slept.append),
            "breaker": CircuitBreaker(),
        }
        made.append(OpenAIModel(**{**values, **changes}))
        return made[-1]

    yield build
    for model in made:
        model.close()


def test_text_and_usage_come_back_and_the_cost_is_unknown(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=completion("SELECT 1"))]
    model = asked()
    reply = model.complete(PROMPT)
    assert model.name == "openai:small"
    assert (reply.text, reply.stop, reply.declined) == ("SELECT 1", "end", None)
    assert (reply.usage.input_tokens, reply.usage.cache_read_tokens, reply.usage.output_tokens) == (20, 30, 7)
    assert reply.usage.cost_usd is None
    (sent,) = provider.requests
    assert sent["path"] == "/v1/chat/completions"
    assert sent["messages"] == [
        {"role": "system", "content": "Answer with SQL."},
        {"role": "user", "content": "How many towns?"},
    ]
    assert (sent["temperature"], sent["max_tokens"]) == (0.0, 300)
    assert provider.headers[0]["authorization"] == f"Bearer {KEY}"


def test_the_temperature_of_a_prompt_is_sent(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=completion("SELECT 1"))]
    asked().complete(replace(PROMPT, temperature=0.7))
    assert provider.requests[0]["temperature"] == 0.7


def test_a_server_of_ones_own_needs_no_key(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=completion("SELECT 1"))]
    assert asked(key=None).complete(PROMPT).text == "SELECT 1"


def test_without_key_and_address_nothing_is_sent(asked: Any) -> None:
    with pytest.raises(ModelUnavailableError, match="HEBBQL_OPENAI_BASE_URL"):
        asked(key=None, base_url=None).complete(PROMPT)


def test_options_that_the_endpoint_refuses_are_left_out_from_then_on(asked: Any, provider: Any, answer: Any) -> None:
    def refusal(text: str) -> Any:
        return answer(400, {"error": {"message": text, "type": "invalid_request_error"}})

    provider.answers = [
        refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        refusal("Unsupported value: 'temperature' does not support 0."),
        answer(body=completion("SELECT 1")),
    ]
    model = asked()
    assert model.complete(PROMPT).text == "SELECT 1"
    assert model.complete(PROMPT).text == "SELECT 1"
    assert len(provider.requests) == 4
    assert provider.requests[-1]["max_completion_tokens"] == 300
    assert not {"temperature", "max_tokens"} & set(provider.requests[-1])


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_passing_failure_is_tried_again_by_the_policy_alone(
    asked: Any, provider: Any, answer: Any, status: int, slept: list[float]
) -> None:
    provider.answers = [answer(status, {"error": {"message": "m"}}), answer(body=completion("SELECT 1"))]
    assert asked().complete(PROMPT).text == "SELECT 1"
    assert (len(provider.requests), len(slept)) == (2, 1)


def test_a_wait_of_hours_is_not_obeyed(asked: Any, provider: Any, answer: Any, slept: list[float]) -> None:
    provider.answers = [answer(429, {"error": {"message": "m"}}, {"retry-after": "7200"})]
    with pytest.raises(ModelUnavailableError, match="asks to wait 7200 s"):
        asked().complete(PROMPT)
    assert slept == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_names_the_variable_and_never_the_key(asked: Any, provider: Any, answer: Any, status: int) -> None:
    provider.answers = [answer(status, {"error": {"message": f"Incorrect API key provided: {KEY}"}})]
    with pytest.raises(ModelUnavailableError, match="Check HEBBQL_OPENAI_KEY") as raised:
        asked().complete(PROMPT)
    assert KEY not in str(raised.value)
    assert len(provider.requests) == 1


def test_an_unknown_model_or_address_is_told(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(404, {"error": {"message": "no such model"}})]
    with pytest.raises(ModelUnavailableError, match=r"does not know 'small'.*HEBBQL_OPENAI_BASE_URL"):
        asked().complete(PROMPT)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"raw": b'{"id": "c1", "obj'}, "not a completion"),
        ({"raw": b"<html>gateway</html>", "headers": {"content-type": "text/html"}}, "not a completion"),
        ({"body": {"error": {"message": "m"}}}, "not a completion"),
        ({"body": {**completion("x"), "choices": []}}, "not a completion"),
        ({"body": completion("SELECT 1", stop=None)}, "finish reason"),
        ({"body": completion("SELECT 1"), "cut": 40}, "connection broke"),
    ],
)
def test_a_broken_answer_is_tried_again_and_then_told(
    asked: Any, provider: Any, answer: Any, broken: dict[str, Any], says: str
) -> None:
    provider.answers = [answer(**broken), answer(body=completion("SELECT 1"))]
    assert asked().complete(PROMPT).text == "SELECT 1"
    provider.answers = [answer(**broken)]
    with pytest.raises(ModelUnavailableError, match=says):
        asked().complete(PROMPT)


def test_nobody_listening_is_told(asked: Any, closed_port: int) -> None:
    with pytest.raises(ModelUnavailableError, match="no connection could be made"):
        asked(base_url=f"http://127.0.0.1:{closed_port}/v1").complete(PROMPT)


def test_a_reply_cut_at_the_limit_is_marked(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=completion("SELECT na", stop="length"))]
    assert asked().complete(PROMPT).stop == "length"


@pytest.mark.parametrize(
    ("body", "declined"),
    [
        (completion(None, refusal="I cannot."), "I cannot."),
        (completion(None, stop="content_filter"), "The endpoint's filter stopped the reply."),
    ],
)
def test_a_refusal_is_declined(asked: Any, provider: Any, answer: Any, body: dict[str, Any], declined: str) -> None:
    provider.answers = [answer(body=body)]
    reply = asked().complete(PROMPT)
    assert (reply.text, reply.declined) == ("", declined)


def test_a_reply_without_usage_is_still_a_reply(asked: Any, provider: Any, answer: Any) -> None:
    body = completion("SELECT 1")
    del body["usage"]
    provider.answers = [answer(body=body)]
    assert asked().complete(PROMPT).usage.output_tokens == 0


def test_a_limit_cannot_be_kept_without_a_price(asked: Any, provider: Any) -> None:
    with pytest.raises(BudgetExhaustedError, match=r"price of openai:small is not in data/prices\.toml"):
        asked(budget=Budget(max_cost_usd=1.0)).complete(PROMPT)
    assert provider.requests == []


def test_other_refusals_say_what_the_endpoint_said_without_the_key(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(400, {"error": {"message": f"context is too long for {KEY}"}})]
    with pytest.raises(ModelError, match=r"400: .*context is too long for \*\*\*"):
        asked().complete(PROMPT)
