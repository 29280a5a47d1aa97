"""The audits: what of the memory contradicts the rest of it, and what is missing. Nothing is changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from agent.doors.serving.models import ConsistencyBody, SemanticBody
from agent.doors.serving.roles import Permission
from agent.doors.serving.routes.parts import Auditor, TheDesk

if TYPE_CHECKING:
    from agent.app import App

router = APIRouter(prefix="/v1/consistency", tags=["consistency"])


@router.post("")
async def consistency(who: Auditor, desk: TheDesk, body: ConsistencyBody | None = None) -> dict[str, Any]:
    """Look for contradictions, absences and what could not be compared; each recommends a side, or none."""
    return await desk.run(
        who, Permission.AUDIT, lambda app: audited(app, body or ConsistencyBody()), seconds=desk.deadlines.audit
    )


@router.post("/semantic")
async def semantic(who: Auditor, desk: TheDesk, body: SemanticBody | None = None) -> dict[str, Any]:
    """The same, and a judge is asked about notes and lessons that speak of the same thing."""
    return await desk.run(
        who, Permission.AUDIT, lambda app: judged(app, body or SemanticBody()), seconds=desk.deadlines.audit
    )


def audited(app: App, body: ConsistencyBody) -> dict[str, Any]:
    """What an audit found. Raises FeedbackError."""
    from agent.doors.audit import audit_json

    return audit_json(app.auditing.audit(pinned=tuple(body.pinned)))


def judged(app: App, body: SemanticBody) -> dict[str, Any]:
    """What an audit and a judge found. Raises JudgeError."""
    from agent.doors.audit import audit_json

    found = app.auditing.audit()
    pairs, more = app.auditing.meaning(judge=body.judge, most=body.max_pairs)
    return audit_json(replace(found, pairs=pairs, findings=(*found.findings, *more)))
