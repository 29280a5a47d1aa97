"""Questions, SQL of one's own, and what a person says of an answer."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request

from agent.doors.serving import streaming
from agent.doors.serving.desk import Asking
from agent.doors.serving.models import AskBody, FeedbackBody, RunBody, TeachBody
from agent.doors.serving.problems import Unusable
from agent.doors.serving.roles import Permission
from agent.doors.serving.routes.parts import Asker, Reader, TheDesk, Writer
from agent.doors.serving.telling import result_json, unmixed

if TYPE_CHECKING:
    from agent.app import App

router = APIRouter(prefix="/v1", tags=["asking"])

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; with `Accept: text/event-stream` the events understood, recalled, draft, result "
        "and, last and whole, answer. What goes wrong after the first is the event problem.",
        "content": {streaming.MEDIA_TYPE: {}},
    }
}


@router.post("/ask", responses=_EVENTS, response_model=dict[str, Any])
async def ask(body: AskBody, who: Asker, desk: TheDesk, request: Request) -> Any:
    """Answer a question, with the SQL that ran, the memories it used, and how sure it is."""
    terminal = body.terminal
    asking = Asking(
        question=body.question,
        memory=body.memory,
        habits=body.habits,
        approach=body.approach,
        think=body.think,
        columns=terminal.columns if terminal else None,
        colors=terminal.colors if terminal else None,
        options=terminal.options if terminal else "",
        every=terminal.every if terminal else False,
    )
    if streaming.is_wanted(request):
        return await streaming.streamed(desk.ask(who, asking))
    return await desk.answer(who, asking)


@router.post("/run")
async def run(body: RunBody, who: Reader, desk: TheDesk) -> dict[str, Any]:
    """Run SQL under the guard that answers pass: it can only read. Nothing is remembered."""
    return await desk.run(who, Permission.READ, lambda app: ran(app, body.sql))


def ran(app: App, sql: str) -> dict[str, Any]:
    """What SQL gives. Raises QueryRejected, QueryFailed."""
    result = app.checked_run(sql)
    return unmixed(app, sql, result, result_json(result))


@router.post("/feedback")
async def feedback(body: FeedbackBody, who: Writer, desk: TheDesk) -> dict[str, Any]:
    """Say whether an answer was right: good is remembered, bad is weakened and forgotten, SQL corrects it."""
    if (body.verdict is None) == (body.sql is None):
        raise Unusable("Say one of: verdict (good or bad), or the right sql.")
    outcome = await desk.run(
        who, Permission.WRITE, lambda app: app.feedback(body.attempt, verdict=body.verdict, sql=body.sql)
    )
    return asdict(outcome)


@router.post("/teach")
async def teach(body: TeachBody, who: Writer, desk: TheDesk) -> dict[str, Any]:
    """Add a business term to the glossary of the tenant."""
    return asdict(await desk.run(who, Permission.WRITE, lambda app: app.teach(body.text)))
