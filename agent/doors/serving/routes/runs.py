"""Runs of training, as far as they came."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path

from agent.doors.serving.problems import NotFound
from agent.doors.serving.roles import Permission
from agent.doors.serving.routes.parts import Reader, TheDesk

if TYPE_CHECKING:
    from agent.app import App

router = APIRouter(prefix="/v1", tags=["runs"])

RunId = Annotated[str, Path(max_length=80, pattern=r"^[0-9A-Za-z._-]+$")]


@router.get("/runs")
async def runs(who: Reader, desk: TheDesk) -> dict[str, Any]:
    """All runs that this brain has seen, newest first."""
    return await desk.run(who, Permission.READ, seen)


@router.get("/runs/{run}")
async def run(run: RunId, who: Reader, desk: TheDesk) -> dict[str, Any]:
    """What a run came to so far: its curve, types of questions, and what was forgotten and seeded."""
    return await desk.run(who, Permission.READ, lambda app: told(app, run))


def seen(app: App) -> dict[str, Any]:
    """Every run with its state and what it found."""
    from agent.learning.report import summary

    summaries = [summary(app.run_log.read(id)) for id in reversed(app.run_log.ids())]
    return {
        "runs": [
            {
                "run": one.run,
                "state": one.state,
                "finding": one.finding,
                "began": one.began,
                "ended": one.ended,
                "epochs": len(one.epochs),
                "spent": asdict(one.spent),
            }
            for one in summaries
        ]
    }


def told(app: App, id: str) -> dict[str, Any]:
    """The whole summary of a run. Raises NotFound."""
    from agent.learning.report import summary

    if id not in app.run_log.ids():
        raise NotFound(f"This brain has seen no run {id}. GET /v1/runs names them.")
    return asdict(summary(app.run_log.read(id)))
