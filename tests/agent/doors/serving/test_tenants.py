"""A tenant sees, changes and is influenced by its own memories only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agent.doors.serving.problems import ServingError
from agent.doors.serving.telling import checked
from tests.agent.doors.serving.conftest import BRAZIL

if TYPE_CHECKING:
    from tests.agent.doors.serving.conftest import Server

Right = Callable[[httpx.Response], Any]
OWN = "SELECT COUNT(*) AS tenants_own FROM Customers WHERE Country = 'Brazil'"


def test_what_one_tenant_teaches_no_other_sees_or_is_answered_by(server: Server, right: Right) -> None:
    acme, globex = server.member("acme"), server.member("globex")
    first = right(acme.post("/v1/ask", json={"question": BRAZIL}))
    assert right(globex.post("/v1/ask", json={"question": BRAZIL}))["rows"] == [[9]]
    right(acme.post("/v1/feedback", json={"attempt": first["id"], "sql": OWN}))
    assert "tenants_own" in str(right(acme.post("/v1/ask", json={"question": BRAZIL}))["recalled"])
    for other in (globex, server.owner(), server.client()):
        answer = right(other.post("/v1/ask", json={"question": BRAZIL}))
        assert answer["rows"] == [[9]] and "tenants_own" not in str(answer)
        recalled = right(other.get("/v1/recall", params={"question": BRAZIL}))
        assert recalled["recalled"] and "tenants_own" not in str(recalled)
    assert "tenants_own" in str(right(acme.get("/v1/recall", params={"question": BRAZIL})))
    assert "tenants_own" in str(right(acme.get("/v1/episodes")))
    assert "tenants_own" not in str(right(globex.get("/v1/episodes")))


def test_ids_of_another_tenant_are_unknown(server: Server, right: Right) -> None:
    acme, globex = server.member("acme"), server.member("globex")
    mine = right(acme.post("/v1/ask", json={"question": "How many customers are there in Italy?"}))
    for body in ({"verdict": "bad"}, {"verdict": "good"}, {"sql": OWN}):
        answer = globex.post("/v1/feedback", json={"attempt": mine["id"], **body})
        assert answer.status_code == 422 and "no attempt" in answer.json()["detail"]


def test_a_term_that_one_tenant_teaches_means_nothing_to_another(server: Server, right: Right) -> None:
    acme, globex = server.member("acme"), server.member("globex")
    right(acme.post("/v1/teach", json={"text": "zingy means Products.UnitPrice > 50"}))
    asked = {"question": "How many zingy products are there?", "think": "fast"}
    for client, knows in ((acme, True), (globex, False)):
        with client.stream("POST", "/v1/ask", json=asked, headers={"accept": "text/event-stream"}) as events:
            understood = next(line for line in events.iter_lines() if line.startswith("data: "))
        links = json.loads(understood.removeprefix("data: "))["links"]["links"]
        assert any(link["value"] == "zingy" for link in links) == knows, links


def test_the_brains_of_tenants_share_no_file(server: Server, right: Right) -> None:
    right(server.member("acme").post("/v1/ask", json={"question": BRAZIL}))
    right(server.member("globex").post("/v1/ask", json={"question": BRAZIL}))
    tenants = server.home.brain.with_name("brain.tenants")
    for name in ("acme", "globex"):
        assert (tenants / name / "brain.sqlite").is_file() and (tenants / name / "cognee" / "system").is_dir()


def test_an_id_that_is_not_the_tenants_is_kept_from_who_asks() -> None:
    class Brain:
        def holds(self, ids: Any) -> bool:
            return set(ids) <= {"mine"}

    brain: Any = Brain()
    mine = {
        "recalled": [{"episode": "mine"}],
        "findings": [{"sides": [{"writes": [{"subject": "episode", "id": "mine"}]}]}],
    }
    assert checked(brain, mine) is mine
    for told in (
        {"rests_on": "theirs"},
        {"candidates": [{"episode": "theirs"}]},
        {"buckets": [{"episodes": [{"episode": "theirs"}]}]},
        {"findings": [{"sides": [{"writes": [{"subject": "episode", "id": "theirs"}]}]}]},
    ):
        with pytest.raises(ServingError, match="not this tenant's"):
            checked(brain, told)
