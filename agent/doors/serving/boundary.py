"""What every request passes before anything else looks at it: exact Host and Origin, time caps, safe headers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent.doors.serving.problems import ForeignRequest, ServingError, Unusable

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_BODY_SECONDS = 15.0
_SENT_WITH_ALL = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins that the server has, such as `http://127.0.0.1:8765`; all others are foreign."""

    known: frozenset[str]

    @classmethod
    def of(cls, host: str, port: int, others: Iterable[str] = ()) -> Origins:
        """Those of a bind to loopback, and others that stand before it, such as a proxy's. Raises Unusable.

        >>> sorted(Origins.of("127.0.0.1", 8765).known)
        ['http://127.0.0.1:8765', 'http://[::1]:8765', 'http://localhost:8765']
        >>> sorted(Origins.of("0.0.0.0", 80, ["https://Ask.example.org/"]).known)
        ['https://ask.example.org']
        """
        near = ("127.0.0.1", "localhost", "[::1]") if is_loopback(host) else ()
        return cls(frozenset({*(f"http://{one}:{port}" for one in near), *map(_origin, others)}))

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset(one.partition("://")[2] for one in self.known)

    def check(self, headers: Iterable[tuple[bytes, bytes]], method: str) -> None:
        """Refuse a request to another host, or from a page of another origin. Raises ForeignRequest."""
        named: dict[str, list[str]] = {}
        for name, value in headers:
            named.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = named.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise ForeignRequest(f"The request names another host than {' or '.join(sorted(self.hosts))}.")
        origins = named.get("origin", [])
        if len(origins) > 1 or (origins and origins[0] not in self.known):
            raise ForeignRequest("The request comes from a page of another origin, and no other is let in.")
        site = named.get("sec-fetch-site", ["none"])[0]
        if method not in SAFE_METHODS and site not in ("same-origin", "none"):
            raise ForeignRequest("The request comes from a page of another site, and no other is let in.")


class Boundary:
    """Wraps an application: lets through what `origins` know, and sends the safe headers with every answer."""

    def __init__(self, app: ASGIApp, *, origins: Origins) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # closed unaccepted: nothing here speaks over web sockets
        began = False

        async def sent(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                message["headers"] = _with_all(message["headers"], str(scope["path"]))
            await send(message)

        try:
            self._origins.check(scope["headers"], scope["method"])
            await self._app(scope, _in_time(receive), sent)
        except ServingError as problem:
            if began:
                raise
            from agent.doors.serving.telling import problem_response

            await problem_response(problem)(scope, receive, sent)


def _in_time(receive: Receive) -> Receive:
    """Take a body only as long as it comes in time."""
    until, whole = time.monotonic() + _BODY_SECONDS, False

    async def received() -> Message:
        nonlocal whole
        if whole:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise _SlowBody(f"The body did not come within {_BODY_SECONDS:.0f} s. Send it at once.") from None
        whole = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    return received


class _SlowBody(ServingError):
    status, code = 408, "slow"


def _with_all(headers: Iterable[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    there = {name.lower() for name, _ in given}
    wanted: dict[str, Any] = dict(_SENT_WITH_ALL)
    if not path.startswith("/static/"):
        wanted["cache-control"] = "no-store"
    return given + [(name.encode(), value.encode()) for name, value in wanted.items() if name.encode() not in there]


def is_loopback(host: str) -> bool:
    """Whether a bind to it is reached from this machine alone.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "127.0.0.1.evil.com")]
    [True, True, True, False, False]
    """
    from ipaddress import ip_address

    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(text: str) -> str:
    parts = urlsplit(text.strip().rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query or "@" in parts.netloc:
        raise Unusable(f"{text!r} is no origin. Write it as https://ask.example.org, with a port where it has one.")
    return f"{parts.scheme}://{parts.netloc.lower()}"
