"""The guard before an application that is mounted whole, such as the tools: it finds out who asks, once a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from agent.doors.serving.identity import allow, who_asks
from agent.doors.serving.problems import Unknown
from agent.doors.serving.roles import Identity, Permission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

_ASKING = "hebbql.asking"


class Guarded:
    """Lets requests through to an ASGI application whose identity has the permission and quota left."""

    def __init__(self, app: ASGIApp, permission: Permission) -> None:
        self._app, self.permission = app, permission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises Unknown, Forbidden, QuotaExhausted: the boundary answers them."""
        if scope["type"] != "http":
            return
        state = scope["app"].state
        who = who_asks(Request(scope), state.doorman)
        allow(who, self.permission)
        state.quotas.count(who)
        await self._app({**scope, _ASKING: who}, receive, send)


def asking(scope: Mapping[str, Any]) -> Identity:
    """Who sent the request of a scope, inside an application that is guarded.

    It stands in the request and not in the task, as one session of a tool may take requests of several tokens.

    Raises:
        Unknown: the request came past no guard.
    """
    who = scope.get(_ASKING)
    if not isinstance(who, Identity):
        raise Unknown("Nobody is known to ask here: mount the application in Guarded.")
    return who
