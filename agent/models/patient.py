"""Waiting for a network that comes back: a run of a night must not end with an outage of minutes."""

from __future__ import annotations

import math
import random
import sys
import threading
import time
from collections.abc import Callable

from agent.models.port import Model, Prompt, Reply, origin_of
from agent.models.resilience import CallFailed, CircuitBreaker, OutageError, RetryPolicy

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds between two calls during an outage, at most, whatever the provider asks for."""

WORTH_A_WORD = 5.0
"""Seconds from which on an outage is spoken of."""


class PatientModel:
    """Asks a model again as long as nobody answers, for `patience` seconds; then the last failure is raised.

    Only an OutageError is waited for: what no waiting mends (a refused key, a spent budget, a prompt that is too long)
    is raised at once. Each call keeps its own deadline and tries; between two calls a time with full jitter passes, as
    long as the breaker of the provider is open at least, so that nobody is asked who is left alone. `say` is told once
    when an outage begins and once when it is over, however many threads wait. Ctrl-C ends a wait at once, and so does
    `close` in all threads.
    """

    def __init__(
        self,
        inner: Model,
        *,
        patience: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._inner = inner
        self._patience = patience
        self._say = say
        self._clock = clock
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._uniform = uniform
        self._lock = threading.Lock()
        self._down_since: float | None = None
        self._spoken = False

    @property
    def name(self) -> str:
        return self._inner.name

    def origin(self) -> str:
        return origin_of(self._inner)

    def complete(self, prompt: Prompt) -> Reply:
        """The reply, however late. Raises what the model raises, and OutageError at the end of the patience."""
        began = self._clock()
        failures: list[OutageError] = []

        def attempt(_seconds_left: float) -> Reply:
            if failures and self._closed.is_set():
                raise CallFailed("", again=False, final=failures[-1])
            try:
                return self._inner.complete(prompt)
            except OutageError as outage:
                failures[:] = [outage]
                self._went_down(began, outage)
                after = None if outage.after is None else min(outage.after, LONGEST_WAIT)
                raise CallFailed(str(outage), again=True, after=after) from outage

        policy = RetryPolicy(
            deadline=self._patience,
            max_tries=sys.maxsize,
            first_wait=FIRST_WAIT,
            longest_wait=LONGEST_WAIT,
            clock=self._clock,
            sleep=self._wait,
            uniform=self._uniform,
        )
        try:
            reply = policy.run(self.name, attempt, CircuitBreaker(threshold=sys.maxsize))
        except OutageError:
            raise failures[-1] from None
        self._came_back()
        return reply

    def close(self) -> None:
        """End all waits, then close the model."""
        self._closed.set()
        self._inner.close()

    def _wait(self, seconds: float) -> None:
        self._sleep(seconds)

    def _went_down(self, began: float, outage: OutageError) -> None:
        with self._lock:
            if self._down_since is None:
                self._down_since = began
            if self._spoken or self._clock() - self._down_since < WORTH_A_WORD or self._patience <= 0:
                return
            self._spoken = True
        self._say(f"{outage} Waiting up to {_told(self._patience)} for it; Ctrl-C stops.")

    def _came_back(self) -> None:
        with self._lock:
            since, spoken = self._down_since, self._spoken
            self._down_since, self._spoken = None, False
        if spoken and since is not None:
            self._say(f"{self.name} answers again after {_told(self._clock() - since)}.")


def _told(seconds: float) -> str:
    """A time as a person says it.

    >>> _told(1800.0), _told(59.2), _told(90.0)
    ('30 minutes', '60 s', '2 minutes')
    """
    whole = math.ceil(seconds)
    return f"{whole} s" if whole < 90 else f"{round(whole / 60)} minutes"
