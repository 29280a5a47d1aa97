"""What each token may use: requests a minute, requests at the same time, dollars a day."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from agent.doors.serving.problems import QuotaExhausted
from agent.doors.serving.roles import Identity
from agent.doors.serving.tokens import Tokens


class Quotas:
    """Counts what tokens use. Rate and concurrency live in this process, money in the file of the tokens."""

    def __init__(self, tokens: Tokens) -> None:
        from limits.storage import MemoryStorage
        from limits.strategies import MovingWindowRateLimiter

        self._tokens = tokens
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, who: Identity) -> None:
        """Count one request. Raises QuotaExhausted."""
        from limits import RateLimitItemPerMinute

        rate = RateLimitItemPerMinute(who.quota.per_minute)
        if not self._limiter.hit(rate, who.counted):
            resets = self._limiter.get_window_stats(rate, who.counted).reset_time
            raise QuotaExhausted(
                f"{who.quota.per_minute} requests a minute are allowed. Wait a little.",
                again=max(1.0, resets - time.time()),
            )

    @contextmanager
    def running(self, who: Identity) -> Iterator[None]:
        """One of the requests that run at the same time. Raises QuotaExhausted."""
        with self._lock:
            if self._running[who.counted] >= who.quota.at_once:
                raise QuotaExhausted(
                    f"{who.quota.at_once} requests at the same time are allowed. Wait for one of them.", again=1
                )
            self._running[who.counted] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[who.counted] -= 1
                if not self._running[who.counted]:
                    del self._running[who.counted]

    def afford(self, who: Identity) -> None:
        """Refuse a question of one who spent the day's money. Raises QuotaExhausted.

        Questions are answered one after the other, so what is spent over the limit is one question at most.
        """
        most = who.quota.usd_per_day
        if most is not None and self._tokens.spent(who.counted) >= most:
            raise QuotaExhausted(f"The {most:g} USD of today are spent. Ask again tomorrow (UTC).", again=3600)

    def pay(self, who: Identity, usd: float | None) -> None:
        """Count what a question cost; nothing where nobody knows."""
        self._tokens.spend(who.counted, usd or 0.0)
