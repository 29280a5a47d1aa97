"""What is counted for Prometheus. Labels are few and fixed: no tenant, token or question is one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from agent.attempt import Attempt

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "hebbql_requests", "Requests by route and status.", ("route", "method", "status"), registry=self.registry
        )
        self._request_seconds = Histogram(
            "hebbql_request_seconds", "How long requests took.", ("route",), buckets=_SECONDS, registry=self.registry
        )
        self._questions = Counter(
            "hebbql_questions",
            "Questions by end and by what answered.",
            ("status", "path"),
            registry=self.registry,
        )
        self._question_seconds = Histogram(
            "hebbql_question_seconds",
            "How long questions took.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._cost = Counter("hebbql_cost_usd", "US dollars spent on models, where known.", registry=self.registry)
        self._unpriced = Counter("hebbql_unpriced_questions", "Questions of unknown cost.", registry=self.registry)

    def watch(self, name: str, about: str, read: Callable[[], float]) -> None:
        """Add a number that is read whenever the metrics are."""
        Gauge(f"hebbql_{name}", about, registry=self.registry).set_function(read)

    def asked(self, attempt: Attempt | None, cost: float | None, seconds: float) -> None:
        """Count a question; one without a status was broken off."""
        status = attempt.status if attempt is not None and attempt.status is not None else "broken off"
        self._questions.labels(status, attempt.path if attempt is not None else "model").inc()
        self._question_seconds.observe(seconds)
        if cost is None:
            self._unpriced.inc()
        else:
            self._cost.inc(cost)

    def text(self) -> bytes:
        """What Prometheus reads."""
        return generate_latest(self.registry)

    def requested(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, method, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)


class Measured:
    """Wraps an application and counts its requests by the route that took them."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.requested(route, scope["method"], status, time.monotonic() - began)
