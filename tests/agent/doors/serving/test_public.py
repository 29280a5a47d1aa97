"""The public asks a fixed demo brain, and nothing that it does is written."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.agent.doors.conftest import RECORDED
from tests.agent.doors.serving.conftest import BRAZIL, Server

if TYPE_CHECKING:
    from tests.agent.doors.conftest import Home

Right = Callable[[httpx.Response], Any]


def content(brain: Path) -> str:
    """A digest of every table of a ledger."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(f"file:{brain / 'brain.sqlite'}?mode=ro", uri=True)) as connection:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
        ]
        for name in names:
            rows = sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"')))
            digest.update(f"{name} {rows}".encode())
    return digest.hexdigest()


def test_asking_and_recalling_write_nothing_and_setting_up_twice_changes_nothing(home: Home, right: Right) -> None:
    home.environment["HEBBQL_MODEL"] = f"recorded:{RECORDED}"
    server = Server(home, "--public")
    demo = home.brain.with_name("brain.public")
    try:
        right(server.client().post("/v1/ask", json={"question": BRAZIL}))
        before = content(demo)
        for question in (
            BRAZIL,
            "How many customers are there in France?",
            "Drop it all",
            "How many left-handed pilots?",
        ):
            right(server.client().post("/v1/ask", json={"question": question}))
        right(server.client().get("/v1/recall", params={"question": BRAZIL}))
        assert content(demo) == before
        unknown = server.client().post("/v1/ask", json={"question": "What is the average freight by ship country?"})
        assert str(home.folder) not in unknown.text, "no place of the machine is told"
    finally:
        server.stop()
    again = Server(home, "--public")
    try:
        assert right(again.client().post("/v1/ask", json={"question": BRAZIL}))["rows"] == [[9]]
    finally:
        again.stop()
    assert content(demo) == before


def test_the_public_has_a_quota_of_its_own(server: Server) -> None:
    elsewhere = server.client(transport=httpx.HTTPTransport(local_address="127.0.0.9"))
    codes = [elsewhere.get("/v1/recall", params={"question": BRAZIL}).status_code for _ in range(11)]
    assert codes[0] == 200 and codes[-1] == 429
    assert server.owner().get("/v1/recall", params={"question": BRAZIL}).status_code == 200
