"""Server-sent events of a growing answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from agent.doors.serving.problems import ServingError
from agent.doors.serving.telling import Event, problem_json

if TYPE_CHECKING:
    from starlette.requests import Request

MEDIA_TYPE = "text/event-stream"


def is_wanted(request: Request) -> bool:
    """Whether who asks wants events rather than one answer."""
    return MEDIA_TYPE in request.headers.get("accept", "")


async def streamed(events: AsyncGenerator[Event]) -> StreamingResponse:
    """Send events as they come; a problem that comes after the first is the last event, `problem`.

    What goes wrong before the first event is raised, so that it has its own status.
    """
    first = await anext(events)

    async def lines() -> AsyncGenerator[bytes]:
        try:
            yield _line(first.name, first.data)
            async for event in events:
                yield _line(event.name, event.data)
        except ServingError as problem:
            yield _line("problem", problem_json(problem))
        finally:
            await events.aclose()

    return StreamingResponse(lines(), media_type=MEDIA_TYPE, headers={"x-accel-buffering": "no"})


def _line(name: str, data: object) -> bytes:
    return format_sse_event(event=name, data_str=json.dumps(data, ensure_ascii=False, default=str))
