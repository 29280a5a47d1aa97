"""What is told of work: the events of a growing answer, and problems, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agent.doors.serving.problems import ServingError

if TYPE_CHECKING:
    from fastapi.responses import JSONResponse

    from agent.app import App
    from agent.attempt import Attempt
    from agent.doors.rendering import Showing

EventName = Literal["understood", "recalled", "draft", "result", "answer"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a growing answer has more than before; `answer` is the last and whole."""

    name: EventName
    data: dict[str, Any]


def grown(before: Attempt | None, attempt: Attempt, showing: Showing) -> Iterator[Event]:
    """What is new in an attempt since it was last seen. The answer itself is not among it."""
    from agent.doors import rendering

    understood = attempt.understood
    if understood is not None and (before is None or before.understood is None):
        intent = {"kind": understood.intent.kind, "tables": list(understood.intent.tables)}
        yield Event(
            "understood",
            {
                "id": attempt.id,
                "question": attempt.question,
                "intent": intent,
                "bucket": understood.bucket,
                "masked": understood.masked,
                "links": understood.grounding.noted(),
            },
        )
    had_way = before is not None and bool(before.approach or before.habit)
    if (attempt.approach or attempt.habit) and not had_way:
        yield Event(
            "recalled",
            {
                "recalled": [rendering.memory_json(memory) for memory in attempt.recalled],
                "habit": attempt.habit or None,
                "approach": attempt.approach or None,
                "approach_why": attempt.why or None,
                "model": attempt.model,
            },
        )
    known = len(before.drafts) if before is not None else 0
    for number, draft in enumerate(attempt.drafts[known:], known + 1):
        yield Event("draft", {"number": number, **rendering.candidate_json(attempt, draft, showing)})
    best = attempt.answer
    if best is not None and best.result is not None and (before is None or before.answer is not best):
        yield Event("result", {"sql": best.sql, **result_json(best.result)})


def result_json(result: Any) -> dict[str, Any]:
    """The rows of a result."""
    from agent.doors.rendering import json_cell

    return {
        "columns": list(result.columns),
        "rows": [[json_cell(cell) for cell in row] for row in result.rows],
        "row_count": len(result.rows),
        "truncated": bool(result.truncated),
    }


def unmixed(app: App, sql: str, result: Any, told: dict[str, Any]) -> dict[str, Any]:
    """What is told of a result, where totals that mix units or currencies are null and come per unit instead."""
    totals = app.mixed_totals(sql, result) if result is not None else None
    if totals is None:
        return {**told, "totals": None}
    parts = result_json(totals.per_unit) if totals.per_unit is not None else None
    return {
        **told,
        "rows": result_json(totals.overall)["rows"],
        "totals": {"unit": totals.unit, "overall": None, "per_unit": parts},
    }


def episode_json(episode: Any) -> dict[str, Any]:
    """An episode with its identity and who vouches for it."""
    return {
        "episode": str(episode.id),
        "question": episode.question,
        "sql": episode.sql,
        "kind": episode.kind,
        "tables": list(episode.tables),
        "bucket": episode.bucket,
        "origin": episode.origin,
        "verifier": episode.verifier,
        "batch": episode.batch,
    }


def episodes_named(answer: Any) -> Iterator[str]:
    """Every id of an episode that stands in what is told, wherever it stands.

    >>> sorted(episodes_named({"recalled": [{"episode": "a"}], "rests_on": "b", "findings": [{"sides": [
    ...     {"writes": [{"subject": "episode", "id": "c"}, {"subject": "term", "id": "d"}]}]}]}))
    ['a', 'b', 'c']
    """
    if isinstance(answer, dict):
        for name, value in answer.items():
            if (name in ("episode", "rests_on") and isinstance(value, str) and value) or (
                name == "id" and isinstance(value, str) and answer.get("subject") == "episode"
            ):
                yield value
            else:
                yield from episodes_named(value)
    elif isinstance(answer, list | tuple):
        for one in answer:
            yield from episodes_named(one)


def checked(app: App, told: Any) -> Any:
    """What is told, if every episode in it is one of this brain's own. Raises ServingError."""
    if not app.holds(episodes_named(told)):
        raise ServingError("A memory that is not this tenant's came back and was kept from you. Run: hebbql doctor.")
    return told


def problem_json(problem: ServingError) -> dict[str, Any]:
    """A problem as RFC 9457 has it."""
    return {
        "type": "about:blank",
        "title": problem.code.replace("_", " "),
        "status": problem.status,
        "code": problem.code,
        "detail": str(problem),
    }


def problem_response(problem: ServingError) -> JSONResponse:
    """The HTTP answer that tells of a problem."""
    from fastapi.responses import JSONResponse

    headers: dict[str, str] = {}
    if problem.again is not None:
        headers["retry-after"] = str(max(1, round(problem.again)))
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    told = problem_json(problem)
    return JSONResponse(told, problem.status, headers, media_type="application/problem+json")


def errors_told(errors: Iterable[Any]) -> str:
    """What is wrong with the fields of a request, in a line; what was sent is not repeated."""
    told = []
    for error in errors:
        where = ".".join(str(part) for part in error["loc"] if part not in ("body", "query", "path"))
        told.append(f"{where}: {error['msg']}" if where else str(error["msg"]))
    return "; ".join(told)
