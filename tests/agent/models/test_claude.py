"""Claude's adapter against a real HTTP server that speaks the Messages API on a loopback port."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.models.claude import DEFAULT_MODEL, THINKING_TOKENS, ClaudeModel
from agent.models.port import BudgetExhaustedError, ModelError, ModelUnavailableError, Prompt, Turn
from agent.models.prices import load_prices
from agent.models.resilience import Budget, CircuitBreaker, RetryPolicy

KEY = "sk-ant-secret-0123456789"
PROMPT = Prompt("Answer with SQL.\nCREATE TABLE towns (name TEXT)", (Turn("user", "How many towns?"),), 300)


def message(text: str, *, stop: str | None = "end_turn", **usage: int) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": DEFAULT_MODEL,
        "content": [
            {"type": "thinking", "thinking": "", "signature": "s"},
            {"type": "text", "text": text},
        ],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 10, **usage},
    }


def written(sql: str, declined: str = "") -> str:
    return json.dumps({"sql": sql, "declined": declined})


def error(kind: str, text: str = "details") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": text}}


class Waits:
    """Remembers how long it was told to sleep, and does not."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def asked(provider: Any, waits: Waits) -> Iterator[Any]:
    """Make a model on the loopback provider; closed in the end."""
    made: list[ClaudeModel] = []

    def build(**changes: Any) -> ClaudeModel:
        values: dict[str, Any] = {
            "key": KEY,
            "base_url": provider.url,
            "prices": load_prices(),
            "policy": RetryPolicy(deadline=30.0, max_tries=4, sleep=waits.sleep),
            "breaker": CircuitBreaker(),
        }
        made.append(ClaudeModel(**{**values, **changes}))
        return made[-1]

    yield build
    for model in made:
        model.close()


def test_the_default_is_a_model_the_sdk_knows_and_that_has_a_price() -> None:
    from anthropic.types import Model

    known = [name for part in typing.get_args(Model) for name in typing.get_args(part)]
    assert DEFAULT_MODEL in known
    assert load_prices().most(DEFAULT_MODEL, prompt_bytes=1, max_tokens=1) is not None


def test_sql_usage_and_cost_come_back(asked: Any, provider: Any, answer: Any) -> None:
    body = message(written("SELECT 1"), cache_read_input_tokens=4000, cache_creation_input_tokens=1000)
    provider.answers = [answer(body=body)]
    reply = asked().complete(PROMPT)
    assert (reply.text, reply.declined, reply.stop) == ("SELECT 1", None, "end")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (20, 10)
    assert (reply.usage.cache_read_tokens, reply.usage.cache_write_tokens) == (4000, 1000)
    # Dollars per million tokens from the table: 2 in, 10 out, 2.5 cache write, 0.2 cache read.
    assert reply.usage.cost_usd == pytest.approx((20 * 2 + 10 * 10 + 1000 * 2.5 + 4000 * 0.2) / 1e6)


def test_what_is_sent_caches_the_stable_part_and_asks_for_the_shape(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message(written("SELECT 1")))]
    turns = (Turn("user", "q"), Turn("assistant", "SELECT x"), Turn("user", "no such column x"))
    asked().complete(Prompt(PROMPT.stable, turns, 300))
    (sent,) = provider.requests
    assert sent["path"] == "/v1/messages"
    assert sent["model"] == DEFAULT_MODEL
    assert sent["system"] == [{"type": "text", "text": PROMPT.stable, "cache_control": {"type": "ephemeral"}}]
    assert sent["messages"] == [{"role": turn.role, "content": turn.text} for turn in turns]
    assert sent["max_tokens"] == 300 + THINKING_TOKENS
    schema = sent["output_config"]["format"]["schema"]
    assert sorted(schema["required"]) == ["declined", "sql"]
    assert not {"temperature", "top_p", "top_k"} & set(sent)
    assert provider.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_declined_question_carries_the_models_reason(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message(written("", "There is no table of rivers.")))]
    reply = asked().complete(PROMPT)
    assert (reply.text, reply.declined) == ("", "There is no table of rivers.")


def test_a_refusal_is_declined(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message("", stop="refusal"))]
    assert asked().complete(PROMPT).declined == "The model declined to answer this question."


def test_a_reply_cut_at_the_limit_keeps_its_usage(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message('{"sql": "SELECT na', stop="max_tokens"))]
    reply = asked().complete(PROMPT)
    assert (reply.stop, reply.usage.output_tokens) == ("length", 10)


def test_a_reply_in_another_shape_is_passed_on_as_it_is(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message("```sql\nSELECT 1\n```"))]
    assert asked().complete(PROMPT).text == "```sql\nSELECT 1\n```"


def test_an_empty_reply_is_empty_text(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body={**message(""), "content": []})]
    reply = asked().complete(PROMPT)
    assert (reply.text, reply.usage.input_tokens) == ("", 20)


def test_a_model_without_a_price_has_no_cost(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message(written("SELECT 1")))]
    assert asked(model="claude-of-tomorrow").complete(PROMPT).usage.cost_usd is None


def test_a_rate_limit_is_waited_out_as_asked(asked: Any, provider: Any, answer: Any, waits: Waits) -> None:
    limited = answer(429, error("rate_limit_error"), {"retry-after": "3"})
    provider.answers = [limited, answer(body=message(written("SELECT 1")))]
    assert asked().complete(PROMPT).text == "SELECT 1"
    assert waits.slept == [3.0]
    assert len(provider.requests) == 2


@pytest.mark.parametrize("status", [408, 409, 500, 503, 529])
def test_a_passing_failure_is_tried_again_by_the_policy_alone(
    asked: Any, provider: Any, answer: Any, status: int, waits: Waits
) -> None:
    provider.answers = [answer(status, error("overloaded_error")), answer(body=message(written("SELECT 1")))]
    assert asked().complete(PROMPT).text == "SELECT 1"
    assert (len(provider.requests), len(waits.slept)) == (2, 1)


def test_a_provider_that_stays_down_ends_after_the_tries(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(500, error("api_error", "out of order"))]
    with pytest.raises(ModelUnavailableError, match=r"tried 4 times.*500 api_error: out of order"):
        asked().complete(PROMPT)
    assert len(provider.requests) == 4


def test_a_provider_that_stays_down_ends_by_the_deadline(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(529, error("overloaded_error"))]
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    policy = RetryPolicy(
        deadline=10.0, max_tries=1000, clock=lambda: now[0], sleep=sleep, uniform=lambda low, high: high
    )
    with pytest.raises(ModelUnavailableError, match="within 10 s"):
        asked(policy=policy).complete(PROMPT)
    assert now[0] == 0.5 + 1 + 2 + 4  # a wait of 8 more seconds would pass the deadline
    assert len(provider.requests) == 5


def test_a_wait_of_hours_is_not_obeyed(asked: Any, provider: Any, answer: Any, waits: Waits) -> None:
    provider.answers = [answer(429, error("rate_limit_error"), {"retry-after": "7200"})]
    with pytest.raises(ModelUnavailableError, match="asks to wait 7200 s"):
        asked().complete(PROMPT)
    assert waits.slept == []


def test_the_providers_word_against_trying_again_is_obeyed(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(500, error("api_error"), {"x-should-retry": "false"})]
    with pytest.raises(ModelError, match="turned the request down: 500"):
        asked().complete(PROMPT)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_names_the_variable_and_never_the_key(asked: Any, provider: Any, answer: Any, status: int) -> None:
    provider.answers = [answer(status, error("authentication_error", f"invalid x-api-key {KEY}"))]
    with pytest.raises(ModelUnavailableError, match="Check ANTHROPIC_API_KEY") as raised:
        asked().complete(PROMPT)
    assert KEY not in str(raised.value)
    assert len(provider.requests) == 1


def test_an_error_text_with_the_key_in_it_is_masked(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(400, error("invalid_request_error", f"bad header {KEY} sent"))]
    with pytest.raises(ModelError, match=r"400 invalid_request_error: bad header \*\*\* sent"):
        asked().complete(PROMPT)


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_nothing_is_sent(asked: Any, provider: Any, key: str | None) -> None:
    with pytest.raises(ModelUnavailableError, match=r"Set ANTHROPIC_API_KEY.*--model 0\.5b"):
        asked(key=key).complete(PROMPT)
    assert provider.requests == []


@pytest.mark.parametrize("key", ["sk-ant-…", "sk-ant\nx: y"])
def test_a_key_that_no_header_can_carry_is_refused_in_words(asked: Any, provider: Any, key: str) -> None:
    with pytest.raises(ModelUnavailableError, match="Check ANTHROPIC_API_KEY") as raised:
        asked(key=key).complete(PROMPT)
    assert key not in str(raised.value)
    assert provider.requests == []


def test_an_unknown_model_is_named(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(404, error("not_found_error", "model: claude-x"))]
    with pytest.raises(ModelUnavailableError, match=f"does not know the model 'claude-x'.*--model {DEFAULT_MODEL}"):
        asked(model="claude-x").complete(PROMPT)


def test_nobody_listening_is_tried_again_and_then_told(asked: Any, closed_port: int, waits: Waits) -> None:
    with pytest.raises(ModelUnavailableError, match="no connection could be made"):
        asked(base_url=f"http://127.0.0.1:{closed_port}").complete(PROMPT)
    assert len(waits.slept) == 3


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"raw": b'{"id": "msg_1", "type": "mess'}, "not a message"),
        ({"raw": b"<html>gateway</html>", "headers": {"content-type": "text/html"}}, "stop reason"),
        ({"raw": b"[]"}, "stop reason"),
        ({"raw": b""}, "not a message"),
        ({"body": {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}}, "stop reason"),
        ({"body": message(written("SELECT 1"), stop=None)}, "stop reason"),
        ({"body": message(written("SELECT 1")), "cut": 60}, "connection broke"),
    ],
)
def test_a_broken_answer_is_tried_again_and_then_told(
    asked: Any, provider: Any, answer: Any, broken: dict[str, Any], says: str
) -> None:
    provider.answers = [answer(**broken), answer(body=message(written("SELECT 1")))]
    assert asked().complete(PROMPT).text == "SELECT 1"
    provider.answers = [answer(**broken)]
    with pytest.raises(ModelUnavailableError, match=says):
        asked().complete(PROMPT)


def test_a_provider_that_says_nothing_is_left_at_the_deadline(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message(written("SELECT 1")), delay=30.0)]
    with pytest.raises(ModelUnavailableError, match="the time ran out"):
        asked(policy=RetryPolicy(deadline=1.2)).complete(PROMPT)


def test_an_outage_opens_the_breaker_that_all_models_share(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(500, error("api_error"))]
    breaker = CircuitBreaker(threshold=1)
    with pytest.raises(ModelUnavailableError):
        asked(breaker=breaker).complete(PROMPT)
    sent = len(provider.requests)
    with pytest.raises(ModelUnavailableError, match="in a row"):
        asked(breaker=breaker).complete(PROMPT)
    assert len(provider.requests) == sent


def test_money_is_reserved_before_sending_and_settled_after(asked: Any, provider: Any, answer: Any) -> None:
    provider.answers = [answer(body=message(written("SELECT 1")))]
    budget = Budget(max_cost_usd=0.15)
    model = asked(budget=budget)
    model.complete(PROMPT)
    assert budget.spent_usd == pytest.approx((20 * 2 + 10 * 10) / 1e6)
    sent = len(provider.requests)
    with pytest.raises(BudgetExhaustedError):
        asked(budget=Budget(max_cost_usd=0.01)).complete(PROMPT)
    assert len(provider.requests) == sent


def test_a_lost_reply_counts_against_the_budget_and_a_refused_connection_does_not(
    asked: Any, provider: Any, answer: Any, closed_port: int
) -> None:
    budget = Budget(max_cost_usd=0.15)
    with pytest.raises(ModelUnavailableError):
        asked(budget=budget, base_url=f"http://127.0.0.1:{closed_port}").complete(PROMPT)
    assert budget.spent_usd == 0.0
    provider.answers = [answer(body=message(written("SELECT 1")), cut=60)]
    with pytest.raises(BudgetExhaustedError):
        asked(budget=budget).complete(PROMPT)
    assert budget.spent_usd > 0.05


def test_importing_the_adapter_does_not_import_the_sdk() -> None:
    import subprocess
    import sys

    code = "import sys, agent.models.choosing; print([m for m in sys.modules if m in "
    code += "('anthropic', 'openai', 'xllamacpp', 'httpx', 'httpx2', 'pydantic', 'tenacity')])"
    root = Path(__file__).parents[3]
    said = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
