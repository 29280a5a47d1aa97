"""How a page is let in: by the link that the server printed, or by a token; and who it then is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from pydantic import Field

from agent.doors.serving.identity import COOKIE, OPEN, Doorman, who_asks
from agent.doors.serving.models import Said
from agent.doors.serving.problems import Unknown
from agent.doors.serving.roles import MAY

router = APIRouter(tags=["sessions"])

TokenText = Annotated[str, Field(min_length=1, max_length=200)]


class TokenBody(Said):
    """The token that a page is let in by."""

    token: TokenText


@router.get("/enter")
async def enter(
    _open: Annotated[None, Depends(OPEN)], key: Annotated[str, Query(max_length=200)], request: Request
) -> Response:
    """Let the owner's browser in by the link that `hebbql serve` printed, and go on to the page."""
    sid, _ = _doorman(request).enter(key)
    return _let_in(RedirectResponse("/", 303), sid, request)


@router.post("/v1/session")
async def sign_in(body: TokenBody, _open: Annotated[None, Depends(OPEN)], request: Request) -> Response:
    """Let a page in by a token; what it changes from then on must send the CSRF token that this gives."""
    sid, session = _doorman(request).enter(body.token)
    return _let_in(JSONResponse({"csrf": session.csrf}), sid, request)


@router.get("/v1/session")
async def session(_open: Annotated[None, Depends(OPEN)], request: Request) -> dict[str, Any]:
    """Who asks, and what that role may; `role` is null for who is not known."""
    doorman = _doorman(request)
    try:
        who = who_asks(request, doorman)
    except Unknown:
        return {"role": None, "tenant": None, "may": [], "csrf": None}
    csrf = doorman.csrf(dict(request.cookies))
    return {"role": who.role, "tenant": who.tenant, "may": sorted(MAY[who.role]), "csrf": csrf}


@router.delete("/v1/session")
async def sign_out(_open: Annotated[None, Depends(OPEN)], request: Request) -> Response:
    """End the session of a page. Raises Unknown, ForeignRequest."""
    doorman = _doorman(request)
    who_asks(request, doorman)
    doorman.leave(request.cookies.get(COOKIE, ""))
    answer = JSONResponse({"role": None})
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def _doorman(request: Request) -> Doorman:
    found: Doorman = request.app.state.doorman
    return found


def _let_in(answer: Response, sid: str, request: Request) -> Response:
    secure = f"https://{request.headers['host'].lower()}" in request.app.state.origins.known
    answer.set_cookie(COOKIE, sid, path="/", httponly=True, samesite="strict", secure=secure)
    return answer
