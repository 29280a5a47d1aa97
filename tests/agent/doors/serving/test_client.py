"""The command line asks the running server, and does its own work where there is none."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

from tests.agent.doors.conftest import RECORDED
from tests.agent.doors.serving.conftest import BRAZIL, Server

if TYPE_CHECKING:
    from tests.agent.doors.conftest import Home


def test_the_command_line_asks_the_server_that_has_the_brain_open_and_opens_it_itself_after(home: Home) -> None:
    home.environment["HEBBQL_MODEL"] = f"recorded:{RECORDED}"
    alone = home.run("ask", BRAZIL)
    server = Server(home)
    [note] = (home.folder / "runs" / "serving").glob("*.json")
    assert stat.S_IMODE(note.stat().st_mode) == 0o600 and json.loads(note.read_text())["pid"] == server.running.pid
    asked = home.run("ask", BRAZIL)
    assert asked.code == 0
    assert asked.out.splitlines()[:4] == alone.out.splitlines()[:4], "it prints what it would have printed itself"
    answer = home.ask(BRAZIL)
    assert answer["rows"] == [[9]]
    corrected = home.run("feedback", answer["id"], "good")
    assert corrected.code == 0 and corrected.out.startswith("Remembered")
    assert home.run("feedback", "nothing", "good").code == 2
    assert home.run("teach", "zingy means Products.UnitPrice > 50").code == 0
    assert home.run("ask", "Delete all orders").code == 4
    other = home.run("ask", BRAZIL, "--model", "0.5b")
    assert other.code == 2 and other.says("server", "--model")
    assert server.client().get("/v1/runs").status_code == 401, "without --public nobody is let in"
    server.kill()
    assert note.exists()
    assert home.ask(BRAZIL)["rows"] == [[9]], "the note of a server that was killed leads nowhere"


def test_a_bind_that_others_reach_refuses_to_start_without_a_token_and_an_origin(home: Home) -> None:
    bare = home.run("serve", "--host", "0.0.0.0", "--port", "0")
    assert bare.code == 2 and bare.says("hebbql token create")
    made = home.run("token", "create", "--tenant", "acme", "--json").json
    named = home.run("serve", "--host", "0.0.0.0", "--port", "0")
    assert named.code == 2 and named.says("--origin")
    wrong = home.run("serve", "--host", "0.0.0.0", "--port", "0", "--origin", "ask.example.org")
    assert wrong.code == 2 and wrong.says("https://")
    assert home.run("token", "revoke", made["id"]).code == 0
    again = home.run("serve", "--host", "0.0.0.0", "--port", "0", "--origin", "https://ask.example.org")
    assert again.code == 2 and again.says("hebbql token create")
