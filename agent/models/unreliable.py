"""A network that fails on purpose: for the reference night and for tests. Nothing else uses it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence

from agent.models.port import Model, Prompt, Reply, origin_of
from agent.models.resilience import OutageError


class UnreliableModel:
    """Lets a seeded share of calls fail as if nobody had answered, and all of them during outages.

    Calls are counted from 1, failed ones too. An outage `(number, seconds)` begins with that call, by the clock. Which
    calls fail depends on `seed` and their number alone. A failed call never reaches the model.
    """

    def __init__(
        self,
        inner: Model,
        *,
        share: float,
        seed: int,
        outages: Sequence[tuple[int, float]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._share = share
        self._seed = seed
        self._outages = sorted(outages)
        self._clock = clock
        self._lock = threading.Lock()
        self._calls = 0
        self._down_until = float("-inf")

    @property
    def name(self) -> str:
        return self._inner.name

    def origin(self) -> str:
        return origin_of(self._inner)

    def complete(self, prompt: Prompt) -> Reply:
        """The reply of the model. Raises OutageError for a call that was to fail."""
        if why := self._fault():
            raise OutageError(f"{self.name} gave no reply: {why}.")
        return self._inner.complete(prompt)

    def close(self) -> None:
        self._inner.close()

    def _fault(self) -> str:
        with self._lock:
            self._calls += 1
            while self._outages and self._outages[0][0] <= self._calls:
                _, seconds = self._outages.pop(0)
                self._down_until = max(self._down_until, self._clock() + seconds)
            if self._clock() < self._down_until:
                return f"call {self._calls} fell into an outage made on purpose"
            if random.Random(f"{self._seed} {self._calls}").random() < self._share:
                return f"call {self._calls} failed on purpose"
            return ""
