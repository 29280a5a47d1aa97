"""What is remembered: episodes by bucket, and those that a question recalls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query

from agent.doors.serving.roles import Permission
from agent.doors.serving.routes.parts import Reader, Recaller, TheDesk
from agent.doors.serving.telling import episode_json

if TYPE_CHECKING:
    from agent.app import App

router = APIRouter(prefix="/v1", tags=["memory"])

Bucket = Annotated[str | None, Query(max_length=200, description="One bucket; all by default.")]


@router.get("/recall")
async def recall(
    question: Annotated[str, Query(min_length=1, max_length=4_000)], who: Recaller, desk: TheDesk
) -> dict[str, Any]:
    """The memories that a question recalls, best first, and what speaks for each."""
    return await desk.run(who, Permission.RECALL, lambda app: recalled(app, question))


@router.get("/episodes")
async def episodes(
    who: Reader,
    desk: TheDesk,
    bucket: Bucket = None,
    first: Annotated[int, Query(ge=0)] = 0,
    most: Annotated[int, Query(ge=1, le=1_000)] = 200,
) -> dict[str, Any]:
    """Episodes by bucket, each with its origin and verifier, in the order they were remembered."""
    return await desk.run(who, Permission.READ, lambda app: remembered(app, bucket, first, most))


def recalled(app: App, question: str) -> dict[str, Any]:
    """What a question recalls. Raises QuestionError."""
    from agent.doors.rendering import memory_json

    understood = app.understand_asked(question)
    return {
        "question": understood.grounding.question,
        "bucket": understood.bucket,
        "intent": {"kind": understood.intent.kind, "tables": list(understood.intent.tables)},
        "recalled": [memory_json(memory) for memory in app.recalled(understood)],
    }


def remembered(app: App, bucket: str | None, first: int, most: int) -> dict[str, Any]:
    """A part of the episodes, grouped by bucket, and how many there are of all."""
    app.get_ready_to_recall()
    found = app.ledger.episodes(bucket)
    counted = {one.bucket: one for one in app.ledger.buckets()}
    shown: dict[str, list[dict[str, Any]]] = {}
    for episode in found[first : first + most]:
        shown.setdefault(episode.bucket, []).append(episode_json(episode))
    return {
        "total": len(found),
        "first": first,
        "buckets": [
            {
                "bucket": name,
                "kind": counted[name].kind,
                "tables": list(counted[name].tables),
                "active": counted[name].active,
                "forgotten": counted[name].forgotten,
                "episodes": told,
            }
            for name, told in shown.items()
        ],
    }
