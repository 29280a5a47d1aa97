"""What the HTTP API gives: answers whole and streamed, memories, runs, audits, health and metrics."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx

from tests.agent.doors.serving.conftest import BRAZIL

if TYPE_CHECKING:
    from tests.agent.doors.serving.conftest import Server

Right = Callable[[httpx.Response], Any]


def streamed(client: httpx.Client, **body: Any) -> list[tuple[str, Any]]:
    """The events of an answer."""
    events, name = [], ""
    with client.stream("POST", "/v1/ask", json=body, headers={"accept": "text/event-stream"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                events.append((name, json.loads(value)))
    return events


def test_the_events_of_an_answer_come_in_order_and_end_with_the_whole(server: Server, right: Right) -> None:
    events = streamed(server.owner(), question=BRAZIL)
    names = [name for name, _ in events]
    assert names[:4] == ["understood", "recalled", "draft", "result"] and names[-1] == "answer"
    told = dict(events)
    assert told["understood"]["intent"] == {"kind": "count", "tables": ["Customers"]}
    assert told["recalled"]["recalled"][0]["verifier"] == "gold"
    assert told["result"]["rows"] == told["answer"]["rows"] == [[9]]
    whole = right(server.owner().post("/v1/ask", json={"question": BRAZIL}))
    assert set(whole) == set(told["answer"]) and whole["rows"] == [[9]]


def test_a_question_can_be_asked_in_other_ways_than_the_servers(server: Server, right: Right) -> None:
    client = server.owner()
    plain = right(client.post("/v1/ask", json={"question": BRAZIL, "memory": False, "think": "fast"}))
    assert plain["recalled"] == []
    wrong = client.post("/v1/ask", json={"question": BRAZIL, "approach": "nonsense"})
    assert wrong.status_code == 422 and "nonsense" in wrong.json()["detail"]
    assert right(client.post("/v1/ask", json={"question": BRAZIL}))["recalled"]


def test_what_asks_for_a_change_or_links_to_nothing_is_answered_as_such(server: Server, right: Right) -> None:
    refused = right(server.owner().post("/v1/ask", json={"question": "Delete the customers from Brazil"}))
    assert refused["status"] == "refused"
    assert [name for name, _ in streamed(server.owner(), question="Delete all orders")][-1] == "answer"


def test_sql_of_ones_own_runs_under_the_same_guard(server: Server, right: Right) -> None:
    client = server.owner()
    assert right(client.post("/v1/run", json={"sql": "SELECT COUNT(*) FROM Customers"}))["rows"] == [[91]]
    for sql in ("DELETE FROM Customers", "ATTACH 'x' AS y", "SELECT nonsense FROM Customers"):
        assert client.post("/v1/run", json={"sql": sql}).status_code == 422


def test_a_correction_is_remembered_with_its_origin_and_verifier(server: Server, right: Right) -> None:
    client = server.member("initech")
    question = "How many products cost more than 50?"
    asked = right(client.post("/v1/ask", json={"question": question, "think": "fast"}))
    sql = "SELECT COUNT(*) FROM Products WHERE UnitPrice > 50"
    done = right(client.post("/v1/feedback", json={"attempt": asked["id"], "sql": sql}))
    assert done["remembered"]
    again = right(client.post("/v1/ask", json={"question": question, "think": "fast"}))
    assert again["rows"] == [[7]] and again["recalled"][0]["question"] == question
    listed = right(client.get("/v1/episodes", params={"bucket": asked["bucket"]}))
    [mine] = [one for bucket in listed["buckets"] for one in bucket["episodes"] if one["question"] == question]
    assert (mine["origin"], mine["verifier"]) == (f"feedback:{asked['id']}", "person")
    both = client.post("/v1/feedback", json={"attempt": asked["id"], "verdict": "good", "sql": sql})
    assert both.status_code == 422


def test_recall_tells_why_each_memory_comes(server: Server, right: Right) -> None:
    told = right(server.owner().get("/v1/recall", params={"question": "How many customers are there in France?"}))
    best = told["recalled"][0]
    assert "Germany" in best["question"] and best["why"].startswith("same bucket")
    assert server.owner().get("/v1/recall").status_code == 422


def test_episodes_come_in_parts(server: Server, right: Right) -> None:
    client = server.owner()
    whole = right(client.get("/v1/episodes"))
    parts = [
        right(client.get("/v1/episodes", params={"first": first, "most": 2})) for first in range(0, whole["total"], 2)
    ]
    ids = [one["episode"] for part in parts for bucket in part["buckets"] for one in bucket["episodes"]]
    assert len(ids) == len(set(ids)) == whole["total"] >= 6


def test_runs_are_none_until_there_is_one(server: Server, right: Right) -> None:
    assert right(server.owner().get("/v1/runs")) == {"runs": []}
    assert server.owner().get("/v1/runs/nothing").status_code == 404


def test_the_audits_find_what_contradicts_and_change_nothing(server: Server, right: Right) -> None:
    client = server.member("hooli")
    for country in ("Brazil", "Spain"):
        asked = right(client.post("/v1/ask", json={"question": f"How many customers are there in {country}?"}))
        right(client.post("/v1/feedback", json={"attempt": asked["id"], "verdict": "good"}))
    before = right(client.get("/v1/episodes"))
    for path in ("/v1/consistency", "/v1/consistency/semantic"):
        told = right(client.post(path))
        assert told["episodes"] == before["total"] and told["ok"] == (not told["findings"])
    assert told["pairs"] is not None
    assert right(client.get("/v1/episodes")) == before
    assert client.post("/v1/consistency/semantic", json={"judge": "nonsense"}).status_code in (422, 503)
    assert client.post("/v1/consistency", json={"pinned": ["00000000"]}).status_code == 422


def test_ready_names_every_part_and_tells_no_place_of_the_machine(server: Server) -> None:
    answer = server.client().get("/readyz")
    assert answer.status_code == 200
    names = [part["name"] for part in answer.json()["parts"]]
    assert names == ["owner", "guard", "brain", "lease", "model", "budget"]
    assert str(server.home.folder) not in answer.text
    assert server.client().get("/healthz").json() == {"status": "ok"}


def test_metrics_count_requests_by_route_and_name_nobody(server: Server, right: Right) -> None:
    right(server.member("initech").post("/v1/ask", json={"question": BRAZIL}))
    text = server.owner().get("/metrics").text
    assert 'hebbql_requests_total{method="POST",route="/v1/ask",status="200"}' in text
    assert 'hebbql_questions_total{path="adapted",status="answered"}' in text
    assert "initech" not in text and "Brazil" not in text
