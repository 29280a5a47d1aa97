"""Calling a hosted model over an unreliable network: one retry owner, a deadline, a breaker and a budget."""

from __future__ import annotations

import email.utils
import functools
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from agent.models.port import BudgetExhaustedError, ModelError, ModelUnavailableError, Prompt

T = TypeVar("T")

TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
RETRIED_STATUSES = frozenset({408, 409, TOO_MANY_REQUESTS})
"""Besides all from 500 on: request timeout, conflict, rate limit."""

ENVELOPE_BYTES = 2_000
"""What a request adds to the prompt: roles and the shape of the reply."""

SHORTEST_TRY = 1.0
"""Seconds that must be left of the deadline for another try to be worth it."""

_MOST_DOUBLINGS = 60
"""Of a first wait; beyond any longest one, and a power that a float can hold."""


class OutageError(ModelUnavailableError):
    """Nobody answered although it was tried to the end. Waiting may help, for `after` seconds where that is known."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class CallFailed(Exception):
    """One try failed. Adapters raise it; the policy answers it.

    `after`: seconds that the provider asked to wait. `maybe_billed`: the request may have been worked on although no
    reply came. `final`: what to raise when it is not tried again.
    """

    def __init__(
        self,
        what: str,
        *,
        again: bool,
        after: float | None = None,
        maybe_billed: bool = False,
        final: ModelError | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.again = again
        self.after = after
        self.maybe_billed = maybe_billed
        self.final = final


def should_try_again(status: int, headers: Mapping[str, str]) -> bool:
    """True when a reply with this status is worth another try; `x-should-retry` of the provider overrules.

    >>> should_try_again(529, {}), should_try_again(400, {}), should_try_again(503, {"x-should-retry": "false"})
    (True, False, False)
    """
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    return status in RETRIED_STATUSES or status >= SERVER_ERROR


def asked_to_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds of `retry-after-ms` or `retry-after` (seconds or an HTTP date), never below zero.

    >>> asked_to_wait({"retry-after": "7"}), asked_to_wait({"retry-after-ms": "250"}), asked_to_wait({})
    (7.0, 0.25, None)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        said = headers.get(name, "").strip()
        if re.fullmatch(r"\d+(\.\d+)?", said):
            return float(said) / unit
    if date := email.utils.parsedate_tz(headers.get("retry-after", "")):
        return max(0.0, email.utils.mktime_tz(date) - (time.time() if now is None else now))
    return None


def prompt_bytes(prompt: Prompt) -> int:
    """Bytes of the request that carries this prompt, at most. Raises ModelError for text that is not valid Unicode."""
    try:
        return ENVELOPE_BYTES + len((prompt.stable + "".join(turn.text for turn in prompt.turns)).encode())
    except UnicodeEncodeError as problem:
        raise ModelError("The prompt holds half a letter (a lone surrogate). Remove it and ask again.") from problem


def connection_failure(error: Exception) -> CallFailed:
    """A connection that was never made costs nothing; a request on one that broke may have been billed."""
    cause = type(error.__cause__ or error).__name__
    never_sent = cause in ("ConnectError", "ConnectTimeout")
    return CallFailed(
        "no connection could be made" if never_sent else f"the connection broke ({cause})",
        again=True,
        maybe_billed=not never_sent,
    )


class CircuitBreaker:
    """Stops calling a provider that is down. Safe between threads.

    After `threshold` calls in a row that failed to the end it opens for `cooldown` seconds; then one call may try, and
    its outcome closes it or opens it again. Pattern: M. Nygard, Release It!, 2007, chapter 5.
    """

    def __init__(
        self, *, threshold: int = 3, cooldown: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._threshold = threshold
        self._cooldown = cooldown
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_at = 0.0
        self._trying = False

    def enter(self, provider: str) -> bool:
        """Ask for leave to call; true where this is the one call that tries whether the provider is back.

        Raises:
            OutageError: it is open, or another call is trying.
        """
        with self._lock:
            if self._failures < self._threshold:
                return False
            left = max(self._closed_at - self._clock(), 1.0 if self._trying else 0.0)
            if left > 0:
                raise OutageError(
                    f"{provider} failed {self._failures} times in a row, so it is left alone for "
                    f"{max(left, 1):.0f} s more. Wait, or use a local model with --model 0.5b.",
                    after=left,
                )
            self._trying = True
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0
            self._trying = False

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            self._trying = False
            self._closed_at = self._clock() + self._cooldown

    def undecided(self) -> None:
        """The call ended in a way that says nothing about the provider."""
        with self._lock:
            self._trying = False


@functools.cache
def shared_breaker(provider: str) -> CircuitBreaker:
    """The breaker of this provider, one for the whole process."""
    return CircuitBreaker()


@dataclass(slots=True)
class Bill:
    """What one request did cost, in US dollars; None as long as nobody knows."""

    paid: float | None = None

    def pay(self, cost: float | None) -> None:
        self.paid = cost


@dataclass(slots=True)
class Budget:
    """What may be spent, in US dollars; None is no limit. Safe between threads.

    Money is reserved before a request is sent and settled after it, so two threads cannot spend the same dollar.
    """

    max_cost_usd: float | None = None
    _spent: float = 0.0
    _reserved: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def spent_usd(self) -> float:
        return self._spent

    def charge(self, amount: float) -> None:
        """Count money that was spent before this process began, in US dollars."""
        with self._lock:
            self._spent += amount

    @contextmanager
    def reserved(self, most: float | None, model: str) -> Iterator[Bill]:
        """Set aside what one request can cost at most, and settle when it is over.

        What counts as spent is what the bill was paid with; nothing, if the request failed before it was worked on; all
        of `most`, if nobody knows. Raises BudgetExhaustedError, and then nothing may be sent.
        """
        amount = self._reserve(most, model)
        bill = Bill()
        try:
            yield bill
        except CallFailed as failed:
            if not failed.maybe_billed:
                bill.pay(0.0)
            raise
        finally:
            self._settle(amount, bill.paid)

    def _reserve(self, amount: float | None, model: str) -> float:
        with self._lock:
            if self.max_cost_usd is None:
                return amount or 0.0
            if amount is None:
                raise BudgetExhaustedError(
                    f"The price of {model} is not in data/prices.toml, so a limit of {self.max_cost_usd:g} USD "
                    "cannot be kept. Add the price, or leave out --max-cost (or HEBBQL_MAX_COST_USD)."
                )
            left = self.max_cost_usd - self._spent - self._reserved
            if amount > left:
                raise BudgetExhaustedError(
                    f"The next call to {model} could cost {amount:.4f} USD and {max(left, 0):.4f} USD are left of "
                    f"{self.max_cost_usd:g}. Raise --max-cost (or HEBBQL_MAX_COST_USD), or use a local model with "
                    "--model 0.5b."
                )
            self._reserved += amount
            return amount

    def _settle(self, reserved: float, actual: float | None) -> None:
        with self._lock:
            if self.max_cost_usd is not None:
                self._reserved = max(0.0, self._reserved - reserved)
            self._spent += reserved if actual is None else actual


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a call is tried. Times in seconds.

    Waits have full jitter: uniform between zero and `first_wait` · 2ⁿ, at most `longest_wait`, and never less than
    the provider asked for. Source: M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015. A wait
    that would pass the deadline is not begun.
    """

    deadline: float = 120.0
    max_tries: int = 8
    first_wait: float = 0.5
    longest_wait: float = 20.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform

    def wait(self, tries: int, after: float | None) -> float:
        """Seconds to wait after the given number of tries."""
        jitter = self.uniform(0.0, min(self.longest_wait, self.first_wait * 2 ** min(tries - 1, _MOST_DOUBLINGS)))
        return jitter if after is None else max(jitter, after)

    def run(self, provider: str, call: Callable[[float], T], breaker: CircuitBreaker) -> T:
        """Call until it works. `call` is told the seconds left, and raises CallFailed.

        A call that only tries whether a provider is back tries once.

        Raises:
            ModelError: what the failed call said, if another try cannot help.
            ModelUnavailableError: the breaker is open, or the deadline or the tries are used up.
        """
        import tenacity

        most = 1 if breaker.enter(provider) else self.max_tries
        end = self.clock() + self.deadline
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, CallFailed) and error.again),
            wait=lambda state: self.wait(state.attempt_number, _failure_of(state).after),
            stop=lambda state: state.attempt_number >= most or self.clock() + state.upcoming_sleep > end - SHORTEST_TRY,
            sleep=self.sleep,
            reraise=True,
        )
        with _reported(breaker):
            try:
                return retrying(lambda: call(max(end - self.clock(), SHORTEST_TRY)))
            except CallFailed as failed:
                tries = int(retrying.statistics.get("attempt_number", 1))
                raise _conclusion(provider, failed, tries, self.deadline) from failed


@contextmanager
def _reported(breaker: CircuitBreaker) -> Iterator[None]:
    """Tell the breaker how the call ended: only a provider that stayed down counts against it."""
    try:
        yield
    except OutageError:
        breaker.failed()
        raise
    except ModelError as problem:
        # The provider answered, though not with a reply; nothing was sent when the budget said no.
        breaker.undecided() if isinstance(problem, BudgetExhaustedError) else breaker.succeeded()
        raise
    except BaseException:
        breaker.undecided()
        raise
    else:
        breaker.succeeded()


def _failure_of(state: object) -> CallFailed:
    outcome = getattr(state, "outcome", None)
    error = outcome.exception() if outcome is not None else None
    return error if isinstance(error, CallFailed) else CallFailed("", again=False)


def _conclusion(provider: str, failed: CallFailed, tries: int, deadline: float) -> ModelError:
    if not failed.again:
        return failed.final or ModelError(f"{provider} turned the request down: {failed.what}")
    wish = f" It asks to wait {failed.after:.0f} s." if failed.after else ""
    times = "once" if tries == 1 else f"{tries} times"
    return OutageError(
        f"{provider} gave no reply: tried {times} within {deadline:g} s, at last {failed.what}.{wish} "
        "Try again later, or use a local model with --model 0.5b.",
        after=failed.after,
    )
