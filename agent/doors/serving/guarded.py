"""The guard before an application that is mounted whole, such as the tools: it finds out who asks, once a request."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from starlette.requests import Request

from agent.doors.serving.identity import allow, who_asks
from agent.doors.serving.problems import Unknown
from agent.doors.serving.roles import Identity, Permission

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_ASKING: ContextVar[Identity] = ContextVar("hebbql_asking")


class Guarded:
    """Lets requests through to an ASGI application whose identity has the permission and quota left."""

    def __init__(self, app: ASGIApp, permission: Permission) -> None:
        self._app, self.permission = app, permission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises Unknown, Forbidden, QuotaExhausted: the boundary answers them."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        state = scope["app"].state
        who = who_asks(request, state.doorman)
        allow(who, self.permission)
        state.quotas.count(who)
        before = _ASKING.set(who)
        try:
            await self._app(scope, receive, send)
        finally:
            _ASKING.reset(before)


def asking() -> Identity:
    """Who asks, inside an application that is guarded. Raises Unknown."""
    try:
        return _ASKING.get()
    except LookupError:
        raise Unknown("Nobody is known to ask here: mount the application in Guarded.") from None
