"""Who may do what: every route of the application, asked in every role."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi import APIRouter

from agent.doors.serving.application import ROUTERS, Plan, UndeclaredRouteError, create_app, declared
from agent.doors.serving.boundary import Origins
from agent.doors.serving.guarded import Guarded
from agent.doors.serving.identity import Doorman
from agent.doors.serving.owner import Owner
from agent.doors.serving.roles import GIVEN, MAY, ROLES, Permission, Role
from agent.doors.serving.tokens import Tokens

if TYPE_CHECKING:
    from tests.agent.doors.serving.conftest import Server


def plan(folder: Path, **how: Any) -> Plan:
    """What an application is made of that is never started."""

    def open_nothing(_tenant: str, _house: object) -> Any:
        raise AssertionError("nothing is opened")

    doorman = Doorman(tokens=Tokens(folder / "access.sqlite"), key="k")
    return Plan(
        owner=Owner(open_brain=open_nothing, house="home"), doorman=doorman, origins=Origins.of("127.0.0.1", 1), **how
    )


def test_every_route_answers_each_role_as_it_says(server: Server, tmp_path: Path) -> None:
    tokens = {role: server.tokens.create(tenant=f"of-{role}", role=role)[0] for role in GIVEN}
    clients: dict[Role, httpx.Client] = {
        "public": server.client(),
        "member": server.client(tokens["member"]),
        "operator": server.client(tokens["operator"]),
        "owner": server.owner(),
    }
    assert set(clients) == set(ROLES)
    takes = declared(create_app(plan(tmp_path)))
    assert set(takes.values()) >= set(Permission) - {Permission.TOOLS}
    for (method, path), permission in takes.items():
        for role, client in clients.items():
            if permission is None:
                continue
            # A body that no route takes: who may gets to where it is read, and no further.
            answer = client.request(method, path.replace("{run}", "none"), json={"nonsense": 1})
            refused = answer.status_code == 403 and answer.json()["code"] == "forbidden"
            assert refused == (permission not in MAY[role]), (method, path, role, answer.text)
            assert answer.status_code not in (401, 500), (method, path, role, answer.text)


def test_the_server_has_no_other_routes_than_those_that_are_asked(server: Server, tmp_path: Path) -> None:
    known = {path for _, path in declared(create_app(plan(tmp_path)))}
    assert set(server.owner().get("/v1/openapi.json").json()["paths"]) == known - {"/v1/openapi.json"}


def test_a_route_that_does_not_say_what_it_takes_is_not_served(tmp_path: Path) -> None:
    forgotten = APIRouter()

    @forgotten.get("/v1/forgotten")
    async def forget() -> dict[str, str]:
        return {}

    with pytest.raises(UndeclaredRouteError, match="/v1/forgotten"):
        create_app(plan(tmp_path, routers=(*ROUTERS, forgotten)))


def test_what_is_mounted_whole_is_declared_by_its_guard(tmp_path: Path) -> None:
    async def tools(_scope: Any, _receive: Any, _send: Any) -> None:
        raise AssertionError("never reached")

    app = create_app(plan(tmp_path, mounts=(("/mcp", Guarded(tools, Permission.TOOLS)),)))
    assert declared(app)["*", "/mcp"] == Permission.TOOLS
    app.mount("/open", tools)
    with pytest.raises(UndeclaredRouteError, match="/open"):
        declared(app)


def test_without_a_public_nobody_is_answered_who_has_no_token(tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    with TestClient(create_app(plan(tmp_path)), base_url="http://127.0.0.1:1") as client:
        for (method, path), permission in declared(client.app).items():  # type: ignore[arg-type]
            answer = client.request(method, path.replace("{run}", "none"), json={})
            assert (answer.status_code == 401) == (
                permission is not None or (method, path) == ("DELETE", "/v1/session")
            )
        wrong = client.get("/v1/runs", headers={"authorization": "Bearer hbq_00000000_" + "x" * 43})
        assert wrong.status_code == 401 and wrong.headers["www-authenticate"] == "Bearer"
