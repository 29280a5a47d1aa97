"""Whether the server lives, whether it can answer, and what it has counted."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from agent.doors.serving.identity import OPEN
from agent.doors.serving.routes.parts import Meter

if TYPE_CHECKING:
    from agent.doors.serving.metrics import Metrics
    from agent.doors.serving.owner import Owner

router = APIRouter(tags=["health"])

_LOOKING_SECONDS = 5.0


@router.get("/healthz")
async def healthz(_open: Annotated[None, Depends(OPEN)]) -> dict[str, str]:
    """The process lives and takes requests."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(_open: Annotated[None, Depends(OPEN)], request: Request) -> JSONResponse:
    """Every part that an answer needs, by name: 200 if all are well, 503 if one is not or could not be looked at."""
    owner: Owner = request.app.state.owner
    seconds: float = request.app.state.desk.deadlines.ask
    parts = [_owner_part(owner, seconds), *await _parts(owner)]
    ready = all(part["ok"] for part in parts)
    return JSONResponse({"ready": ready, "parts": parts}, 200 if ready else 503)


@router.get("/metrics")
async def metrics(who: Meter, request: Request) -> Response:
    """What was counted, as Prometheus reads it."""
    counted: Metrics = request.app.state.metrics
    return Response(counted.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _owner_part(owner: Owner, seconds: float) -> dict[str, Any]:
    if not owner.is_alive:
        return {"name": "owner", "ok": False, "fix": "Start it again: hebbql serve."}
    if not owner.is_warm:
        return {"name": "owner", "ok": False, "fix": "It is loading what questions need: wait."}
    stuck = owner.busy_seconds > seconds
    return {"name": "owner", "ok": not stuck, "fix": "A request does not end: start it again." if stuck else ""}


async def _parts(owner: Owner) -> list[dict[str, Any]]:
    """Each finding of the house without its detail, which names places of this machine."""
    house = owner.house
    if house is None:
        return [{"name": "brain", "ok": False, "fix": "No brain is open: start it again."}]
    try:
        found = await asyncio.wait_for(asyncio.to_thread(house.examined), _LOOKING_SECONDS)
    except Exception:
        return [{"name": "looking", "ok": False, "fix": "The parts could not be looked at: see the server's log."}]
    return [{name: part for name, part in asdict(one).items() if name != "detail"} for one in found]
