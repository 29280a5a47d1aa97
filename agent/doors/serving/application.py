"""Makes the application: boundary outermost, then what counts, then the routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from agent.doors.serving.boundary import Boundary, Origins
from agent.doors.serving.desk import USUAL, Deadlines, Desk
from agent.doors.serving.guarded import Guarded
from agent.doors.serving.identity import Doorman, Needs, Open
from agent.doors.serving.metrics import Measured, Metrics
from agent.doors.serving.problems import ServingError, Unusable
from agent.doors.serving.quotas import Quotas
from agent.doors.serving.roles import Permission
from agent.doors.serving.routes import asking, consistency, health, memory, runs, sessions
from agent.doors.serving.telling import errors_told, problem_response

if TYPE_CHECKING:
    from agent.doors.serving.owner import Owner

MOST_BODY = 64 * 1024
"""Bytes of a request's body."""

ROUTERS: tuple[APIRouter, ...] = (
    asking.router,
    memory.router,
    runs.router,
    consistency.router,
    health.router,
    sessions.router,
)


class UndeclaredRouteError(Exception):
    """A route does not say what it takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What an application is made of.

    `static` is the folder that is served under `/static/` to everybody, `mounts` what is mounted whole, by path.
    `lifespan` is entered before the first request, where what is mounted needs one.
    """

    owner: Owner
    doorman: Doorman
    origins: Origins
    deadlines: Deadlines = USUAL
    routers: tuple[APIRouter, ...] = ROUTERS
    static: Path | None = None
    mounts: tuple[tuple[str, Guarded], ...] = ()
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None


def create_app(plan: Plan) -> FastAPI:
    """Make the application of a server. Raises UndeclaredRouteError: a route says no permission."""
    metrics, quotas = Metrics(), Quotas(plan.doorman.tokens)
    app = FastAPI(
        title="HebbQL",
        version="1",
        description="Ask a database in plain language. It remembers what worked and gets better at it.",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # the usual pages load from other hosts
        redoc_url=None,
        max_body_size=MOST_BODY,
        lifespan=plan.lifespan,
        # Their spans hold the query of a request, where a question or the owner's key may stand.
        telemetry={"logs": False, "metrics": False, "exclude": lambda scope: bool(scope.get("query_string"))},
    )
    app.state.owner, app.state.doorman, app.state.origins = plan.owner, plan.doorman, plan.origins
    app.state.metrics, app.state.quotas = metrics, quotas
    app.state.desk = Desk(owner=plan.owner, quotas=quotas, metrics=metrics, deadlines=plan.deadlines)
    metrics.watch("waiting", "Requests that wait for the owner.", lambda: plan.owner.waiting)
    metrics.watch("owner_busy_seconds", "How long the owner has been at one request.", lambda: plan.owner.busy_seconds)
    for router in plan.routers:
        app.include_router(router)
    for path, guarded in plan.mounts:
        app.mount(path, guarded)
    if plan.static is not None:
        app.mount("/static", StaticFiles(directory=plan.static), name="static")
    _answer_problems(app)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(Boundary, origins=plan.origins)
    declared(app)
    return app


def declared(app: FastAPI) -> dict[tuple[str, str], Permission | None]:
    """What each route takes, by method and path; None where everybody may. Raises UndeclaredRouteError."""
    return dict(_declared(app))


def _declared(app: FastAPI) -> Iterator[tuple[tuple[str, str], Permission | None]]:
    for context in iter_route_contexts(app.routes):
        route, path = context.original_route, context.path or ""
        if isinstance(route, APIRoute):
            said = [one.call for one in route.dependant.dependencies if isinstance(one.call, Needs | Open)]
            if len(said) != 1:
                raise UndeclaredRouteError(f"{path} must depend on one of Needs(Permission.…) and OPEN, once.")
            for method in sorted(route.methods or ()):
                yield (method, path), said[0].permission
        elif isinstance(route, Mount) and isinstance(route.app, Guarded):
            yield ("*", path), route.app.permission
        elif path == app.openapi_url or (isinstance(route, Mount) and isinstance(route.app, StaticFiles)):
            yield ("GET", path), None
        else:
            raise UndeclaredRouteError(f"{path or route} is mounted without Guarded.")


def _answer_problems(app: FastAPI) -> None:
    async def problem(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ServingError)
        return problem_response(error)

    async def invalid(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return problem_response(Unusable(errors_told(error.errors())))

    async def refused(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        told = ServingError(str(error.detail))
        told.status, told.code = error.status_code, "refused"
        return problem_response(told)

    app.add_exception_handler(ServingError, problem)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
