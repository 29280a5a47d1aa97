"""Claude through the Messages API."""

from __future__ import annotations

import functools
import threading
import time
from typing import TYPE_CHECKING

from agent.models.port import ModelError, ModelUnavailableError, Prompt, Reply, Turn, Usage
from agent.models.prices import Prices
from agent.models.resilience import (
    Budget,
    CallFailed,
    CircuitBreaker,
    RetryPolicy,
    asked_to_wait,
    connection_failure,
    prompt_bytes,
    shared_breaker,
    should_try_again,
)

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message, MessageParam, TextBlockParam
    from pydantic import BaseModel

DEFAULT_MODEL = "claude-sonnet-5-5"
"""The one place that says which Claude answers when only a key is given."""

KEY_VARIABLE = "ANTHROPIC_API_KEY"
PROVIDER = "Anthropic"

THINKING_TOKENS = 8_000
"""Room on top of the prompt's `max_tokens`: current models think first, and that counts as output."""

SAID_LIMIT = 300
REFUSED_KEY = (401, 403)
NOT_FOUND = 404
CUT_SHORT = ("max_tokens", "model_context_window_exceeded")


class ClaudeModel:
    """Answers with Claude: structured output, cached stable part, cost by the price table.

    The SDK does not retry; `policy` alone does. `budget` and `breaker` are shared between the models of a process.
    """

    def __init__(
        self,
        *,
        key: str | None,
        prices: Prices,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        policy: RetryPolicy | None = None,
        budget: Budget | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._key = key
        self._model = model
        self._prices = prices
        self._base_url = base_url
        self._policy = policy or RetryPolicy()
        self._budget = budget or Budget()
        self._breaker = breaker or shared_breaker(f"{PROVIDER} {base_url or ''}")
        self._opening = threading.Lock()
        self._client: anthropic.Anthropic | None = None

    @property
    def name(self) -> str:
        return self._model

    def origin(self) -> str:
        """The address, the room to think, and the shape that a reply has."""
        return f"{self._base_url or ''} {THINKING_TOKENS} {_written_type().model_json_schema()}"

    def complete(self, prompt: Prompt) -> Reply:
        """Reply to the prompt.

        Raises:
            ModelUnavailableError: no key, a wrong key, an unknown model, or no reply within the deadline.
            BudgetExhaustedError: the call could cost more than is left; nothing was sent.
            ModelError: the request was turned down.
        """
        client = self._open()
        most = self._prices.most(
            self._model, prompt_bytes=prompt_bytes(prompt), max_tokens=prompt.max_tokens + THINKING_TOKENS
        )
        began = time.monotonic()

        def attempt(seconds_left: float) -> Reply:
            with self._budget.reserved(most, self._model) as bill:
                message = self._send(client, prompt, seconds_left)
                usage = self._usage(message)
                bill.pay(usage.cost_usd)
                return _reply(message, usage, time.monotonic() - began)

        return self._policy.run(PROVIDER, attempt, self._breaker)

    def close(self) -> None:
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open(self) -> anthropic.Anthropic:
        if not self._key:
            raise ModelUnavailableError(
                f"There is no key for {self._model}. Set {KEY_VARIABLE}, or use a local model with --model 0.5b."
            )
        if not (self._key.isascii() and self._key.isprintable()):
            raise ModelUnavailableError(f"The key has characters that no key has. Check {KEY_VARIABLE}.")
        with self._opening:
            if self._client is None:
                import anthropic

                self._client = anthropic.Anthropic(api_key=self._key, base_url=self._base_url, max_retries=0)
            return self._client

    def _send(self, client: anthropic.Anthropic, prompt: Prompt, seconds_left: float) -> Message:
        """One request. `messages.parse` would lose usage and stop reason of a reply that was cut off, so the shape is
        asked for here and read in `_reply`."""
        import anthropic

        cached: TextBlockParam = {"type": "text", "text": prompt.stable, "cache_control": {"type": "ephemeral"}}
        turns: list[MessageParam] = [_message(turn) for turn in prompt.turns]
        shape = anthropic.transform_schema(_written_type())
        try:
            message = client.messages.create(
                model=self._model,
                max_tokens=prompt.max_tokens + THINKING_TOKENS,
                system=[cached] if prompt.stable else anthropic.omit,
                messages=turns,
                output_config={"format": {"type": "json_schema", "schema": shape}},
                timeout=seconds_left,
            )
        except anthropic.APIStatusError as error:
            raise self._status_failure(error) from error
        except anthropic.APITimeoutError as error:
            raise CallFailed("the time ran out", again=True, maybe_billed=True) from error
        except anthropic.APIConnectionError as error:
            raise connection_failure(error) from error
        except (anthropic.APIError, ValueError) as error:
            raise CallFailed("a body that is not a message", again=True, maybe_billed=True) from error
        if not isinstance(message, anthropic.types.Message) or not message.stop_reason or message.usage is None:
            # A gateway's page, an error object with status 200, or a message that was cut off.
            raise CallFailed("a message without a stop reason", again=True, maybe_billed=True)
        return message

    def _usage(self, message: Message) -> Usage:
        used = message.usage
        usage = Usage(
            input_tokens=used.input_tokens or 0,
            output_tokens=used.output_tokens or 0,
            cache_read_tokens=used.cache_read_input_tokens or 0,
            cache_write_tokens=used.cache_creation_input_tokens or 0,
        )
        return Usage(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            self._prices.cost(self._model, usage),
        )

    def _status_failure(self, error: anthropic.APIStatusError) -> CallFailed:
        status = error.status_code
        final: ModelError | None = None
        if status in REFUSED_KEY:
            final = ModelUnavailableError(
                f"{PROVIDER} refused the key ({status}). Check {KEY_VARIABLE}, or use a local model with --model 0.5b."
            )
        elif status == NOT_FOUND:
            final = ModelUnavailableError(
                f"{PROVIDER} does not know the model {self._model!r}. "
                f"Use --model {DEFAULT_MODEL}, or see `hebbql models`."
            )
        said = (error.api_message or "no reason given")[:SAID_LIMIT].replace(self._key or "\0", "***")
        return CallFailed(
            f"{status} {error.type or ''}".strip() + f": {said}",
            again=should_try_again(status, error.response.headers) and final is None,
            after=asked_to_wait(error.response.headers),
            final=final,
        )


def _message(turn: Turn) -> MessageParam:
    if turn.role == "user":
        return {"role": "user", "content": turn.text}
    return {"role": "assistant", "content": turn.text}


@functools.cache
def _written_type() -> type[BaseModel]:
    """The shape of a reply. Made late, because pydantic is not needed for --help."""
    from pydantic import BaseModel, Field

    class Written(BaseModel):
        sql: str = Field(description="One SELECT statement, or an empty string if the question cannot be answered.")
        declined: str = Field(
            description="Empty if there is SQL. Else what the schema lacks for an answer, in one sentence."
        )

    return Written


def _reply(message: Message, usage: Usage, seconds: float) -> Reply:
    text = "".join(block.text for block in message.content or [] if block.type == "text")
    if message.stop_reason == "refusal":
        return Reply(text, usage, seconds, declined=text.strip() or "The model declined to answer this question.")
    if message.stop_reason in CUT_SHORT:
        return Reply(text, usage, seconds, stop="length")
    try:
        written = _written_type().model_validate_json(text)
    except ValueError:
        return Reply(text, usage, seconds)  # not the shape asked for; the loop reads SQL out of anything
    sql, declined = str(getattr(written, "sql", "")), str(getattr(written, "declined", "")).strip()
    return Reply(sql, usage, seconds, declined=declined if declined and not sql.strip() else None)
