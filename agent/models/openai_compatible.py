"""Any endpoint that speaks OpenAI's chat completions: hosted, or a server in the next room."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, cast

from agent.models.port import ModelError, ModelUnavailableError, Prompt, Reply, Usage
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
    import openai
    from openai.types.chat import ChatCompletion

KEY_VARIABLE = "HEBBQL_OPENAI_KEY"
URL_VARIABLE = "HEBBQL_OPENAI_BASE_URL"
NO_KEY = "no-key"
"""What is sent to endpoints that ask for none."""

SAID_LIMIT = 300
BAD_REQUEST = 400
REFUSED_KEY = (401, 403)
NOT_FOUND = 404


class OpenAIModel:
    """Answers with the model `model` at `base_url`.

    Same policy, breaker and budget as Claude. `temperature` and `max_tokens`, which newer models refuse, are left
    out or renamed once the endpoint says so.
    """

    def __init__(
        self,
        *,
        model: str,
        key: str | None,
        base_url: str | None,
        prices: Prices,
        policy: RetryPolicy | None = None,
        budget: Budget | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        self._model = model
        self._key = key
        self._base_url = base_url
        self._prices = prices
        self._policy = policy or RetryPolicy()
        self._budget = budget or Budget()
        self._breaker = breaker or shared_breaker(f"openai {base_url or ''}")
        self._opening = threading.Lock()
        self._client: openai.OpenAI | None = None
        self._refused: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    def origin(self) -> str:
        """The address; what stands behind it cannot be told."""
        return f"{self._base_url or ''} temperature 0"

    def complete(self, prompt: Prompt) -> Reply:
        """Reply to the prompt. Raises like `ClaudeModel.complete`."""
        client = self._open()
        most = self._prices.most(self._model, prompt_bytes=prompt_bytes(prompt), max_tokens=prompt.max_tokens)
        began = time.monotonic()

        def attempt(seconds_left: float) -> Reply:
            with self._budget.reserved(most, self.name) as bill:
                answer = self._send(client, prompt, seconds_left)
                reply = self._reply(answer, time.monotonic() - began)
                bill.pay(reply.usage.cost_usd)
                return reply

        return self._policy.run(f"The endpoint of {self.name}", attempt, self._breaker)

    def close(self) -> None:
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open(self) -> openai.OpenAI:
        if not self._key and not self._base_url:
            raise ModelUnavailableError(
                f"There is no endpoint for {self.name}. Set {URL_VARIABLE} for a server of your own, or {KEY_VARIABLE}."
            )
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise ModelUnavailableError(f"The key has characters that no key has. Check {KEY_VARIABLE}.")
        with self._opening:
            if self._client is None:
                import openai

                self._client = openai.OpenAI(api_key=self._key or NO_KEY, base_url=self._base_url, max_retries=0)
            return self._client

    def _send(self, client: openai.OpenAI, prompt: Prompt, seconds_left: float) -> ChatCompletion:
        import openai

        system = [{"role": "system", "content": prompt.stable}] if prompt.stable else []
        turns = [{"role": turn.role, "content": turn.text} for turn in prompt.turns]
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        options: dict[str, Any] = {limit: prompt.max_tokens}
        if "temperature" not in self._refused:
            options["temperature"] = prompt.temperature
        try:
            answer = client.chat.completions.create(
                model=self._model, messages=cast(Any, system + turns), timeout=seconds_left, **options
            )
        except openai.APIStatusError as error:
            raise self._status_failure(error) from error
        except openai.APITimeoutError as error:
            raise CallFailed("the time ran out", again=True, maybe_billed=True) from error
        except openai.APIConnectionError as error:
            raise connection_failure(error) from error
        except (openai.APIError, ValueError) as error:
            raise CallFailed("a body that is not a completion", again=True, maybe_billed=True) from error
        if not isinstance(answer, openai.types.chat.ChatCompletion) or not answer.choices:
            raise CallFailed("a body that is not a completion", again=True, maybe_billed=True)
        if not answer.choices[0].finish_reason:
            raise CallFailed("a completion without a finish reason", again=True, maybe_billed=True)
        return answer

    def _reply(self, answer: ChatCompletion, seconds: float) -> Reply:
        choice = answer.choices[0]
        used = answer.usage
        details = used.prompt_tokens_details if used else None
        cached = (details.cached_tokens or 0) if details else 0
        usage = Usage((used.prompt_tokens - cached) if used else 0, used.completion_tokens if used else 0, cached)
        usage = Usage(usage.input_tokens, usage.output_tokens, cached, 0, self._prices.cost(self._model, usage))
        refusal = choice.message.refusal if choice.message else None
        if choice.finish_reason == "content_filter":
            refusal = refusal or "The endpoint's filter stopped the reply."
        return Reply(
            text=(choice.message.content or "") if choice.message else "",
            usage=usage,
            seconds=seconds,
            stop="length" if choice.finish_reason == "length" else "end",
            declined=refusal or None,
        )

    def _status_failure(self, error: openai.APIStatusError) -> CallFailed:
        status = error.status_code
        final: ModelError | None = None
        if status == BAD_REQUEST and (option := self._option_named_in(error)):
            self._refused |= {option}
            return CallFailed(f"{status}: it does not take {option}", again=True, after=0.0)
        if status in REFUSED_KEY:
            final = ModelUnavailableError(
                f"The endpoint of {self.name} refused the key ({status}). "
                f"Check {KEY_VARIABLE}, or use a local model with --model 0.5b."
            )
        elif status == NOT_FOUND:
            final = ModelUnavailableError(
                f"The endpoint does not know {self._model!r}, or {URL_VARIABLE} is not its address (it mostly ends in "
                "/v1). Check both."
            )
        said = str(error.message)[:SAID_LIMIT].replace(self._key or "\0", "***")
        return CallFailed(
            f"{status}: {said}",
            again=should_try_again(status, error.response.headers) and final is None,
            after=asked_to_wait(error.response.headers),
            final=final,
        )

    def _option_named_in(self, error: openai.APIStatusError) -> str | None:
        """The option that the endpoint complains about, if it was sent."""
        said = str(error.message)
        return next(
            (name for name in ("max_tokens", "temperature") if name in said and name not in self._refused), None
        )
