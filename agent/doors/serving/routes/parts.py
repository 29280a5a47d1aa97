"""What handlers are given: the desk, and the identity of who asks with the permission that the route takes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from agent.doors.serving.desk import Desk
from agent.doors.serving.identity import Needs
from agent.doors.serving.roles import Identity, Permission


def desk_of(request: Request) -> Desk:
    """The desk of the application that a request came to."""
    found: Desk = request.app.state.desk
    return found


TheDesk = Annotated[Desk, Depends(desk_of)]
Asker = Annotated[Identity, Depends(Needs(Permission.ASK))]
Recaller = Annotated[Identity, Depends(Needs(Permission.RECALL))]
Reader = Annotated[Identity, Depends(Needs(Permission.READ))]
Writer = Annotated[Identity, Depends(Needs(Permission.WRITE))]
Auditor = Annotated[Identity, Depends(Needs(Permission.AUDIT))]
Meter = Annotated[Identity, Depends(Needs(Permission.METRICS))]
