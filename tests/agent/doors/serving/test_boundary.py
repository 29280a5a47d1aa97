"""What never gets past the boundary, whatever it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.doors.serving.boundary import Origins
from agent.doors.serving.problems import ForeignRequest, Unusable

if TYPE_CHECKING:
    from tests.agent.doors.serving.conftest import Server

OURS = Origins.of("127.0.0.1", 8765, ["https://ask.example.org"])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8765.evil.com",
        "127.0.0.1",
        "127.0.0.1:8766",
        "evil.com",
        "localhost:8765.",
        "localhost:8765@evil.com",
        "127.0.0.1:08765",
        "2130706433:8765",
        "0.0.0.0:8765",
        "ask.example.org:443",
        "ask.example.org.",
        "",
    ],
)
def test_another_host_is_refused(host: str) -> None:
    with pytest.raises(ForeignRequest):
        OURS.check([(b"host", host.encode())], "GET")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LocalHost:8765", "ask.example.org"]
)
def test_our_own_hosts_are_taken(host: str) -> None:
    OURS.check([(b"host", host.encode())], "POST")


def test_two_hosts_or_none_are_refused() -> None:
    for headers in ([], [(b"host", b"localhost:8765"), (b"host", b"localhost:8765")]):
        with pytest.raises(ForeignRequest):
            OURS.check(headers, "GET")


@pytest.mark.parametrize(
    ("origin", "ok"),
    [
        ("http://127.0.0.1:8765", True),
        ("https://ask.example.org", True),
        ("http://ask.example.org", False),
        ("https://127.0.0.1:8765", False),
        ("http://127.0.0.1:8765.evil.com", False),
        ("http://127.0.0.1:8765/", False),
        ("https://evil.com#https://ask.example.org", False),
        ("null", False),
        ("", False),
    ],
)
def test_the_origin_is_compared_whole(origin: str, ok: bool) -> None:
    headers = [(b"host", b"127.0.0.1:8765"), (b"origin", origin.encode())]
    if ok:
        OURS.check(headers, "POST")
    else:
        with pytest.raises(ForeignRequest):
            OURS.check(headers, "GET")


def test_a_form_of_another_site_is_refused_also_without_its_origin() -> None:
    headers = [(b"host", b"127.0.0.1:8765"), (b"sec-fetch-site", b"cross-site")]
    OURS.check(headers, "GET")
    with pytest.raises(ForeignRequest):
        OURS.check(headers, "POST")


@pytest.mark.parametrize(
    "text", ["ask.example.org", "ftp://a", "https://a/b", "https://u@a", "https://", "https://a?b"]
)
def test_what_is_no_origin_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(Unusable):
        Origins.of("0.0.0.0", 80, [text])


def test_the_server_sends_no_leave_to_other_origins_and_safe_headers_with_everything(server: Server) -> None:
    client = server.owner()
    for path in ("/healthz", "/v1/runs", "/nowhere", "/v1/openapi.json"):
        answer = client.get(path)
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["cache-control"] == "no-store"
    assert client.get("/healthz", headers={"host": "127.0.0.1:8000.evil.com"}).status_code == 403
    assert client.get("/v1/runs", headers={"origin": "https://evil.com"}).status_code == 403
    preflight = client.options("/v1/ask", headers={"origin": server.url, "access-control-request-method": "POST"})
    assert preflight.status_code == 405


def test_a_body_that_is_too_large_or_says_too_much_is_refused(server: Server) -> None:
    client = server.owner()
    assert client.post("/v1/ask", json={"question": "x" * 70_000}).status_code == 413
    assert client.post("/v1/ask", json={"question": "x" * 4_001}).status_code == 422
    told = client.post("/v1/ask", json={"question": "How many?", "tenant": "other"})
    assert told.status_code == 422 and "tenant" in told.json()["detail"]
    assert told.headers["content-type"] == "application/problem+json"
    assert (
        client.post("/v1/ask", content=b'{"question": "x"', headers={"content-type": "application/json"}).status_code
        == 422
    )
    plain = client.post("/v1/ask", content=b'{"question": "How many?"}', headers={"content-type": "text/plain"})
    assert plain.status_code == 422, "a form of another page could send this"
