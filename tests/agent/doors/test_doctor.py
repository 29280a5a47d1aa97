"""`hebbql doctor` on a whole installation and on broken ones."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.agent.doors.conftest import Endpoint, Home

CHECKS = ["python", "disk", "database", "brain", "guard", "weights", "embedder", "episodes", "model"]


def _examined(home: Home, *options: str) -> tuple[int, dict[str, Any]]:
    ended = home.run("doctor", "--json", *options)
    assert "Traceback" not in ended.err + ended.out, ended
    found = ended.json
    assert found["ok"] is all(one["ok"] for one in found["checks"]) is (ended.code == 0)
    return ended.code, {one["name"]: one for one in found["checks"]}


def test_a_whole_installation_passes_every_check(home: Home, endpoint: Endpoint) -> None:
    code, found = _examined(home)
    assert code == 0 and list(found) == CHECKS and all(one["detail"] for one in found.values()), found
    shown = home.run("doctor")
    assert shown.code == 0 and shown.out.count("ok    ") == len(CHECKS) and "BROKEN" not in shown.out


def test_a_model_that_is_not_here_names_the_command_that_fetches_it(home: Home) -> None:
    code, found = _examined(home, "--model", "0.5b")
    assert code == 1 and [name for name in found if not found[name]["ok"]] == ["model"]
    assert found["model"]["fix"] == "hebbql models pull 0.5b"
    shown = home.run("doctor", "--model", "0.5b")
    assert "BROKEN  model" in shown.out and "hebbql models pull 0.5b" in shown.out
    _, found = _examined(home, "--model", "claude")
    assert not found["model"]["ok"] and "ANTHROPIC_API_KEY" in found["model"]["fix"]


def test_a_missing_database_breaks_what_needs_it_and_nothing_else(home: Home, endpoint: Endpoint) -> None:
    code, found = _examined(home, "--db", str(home.folder / "none.sqlite"))
    assert code == 1
    assert [name for name in found if not found[name]["ok"]] == ["database", "brain", "guard", "episodes"]
    assert "There is no database" in found["database"]["detail"]
    assert "not looked at" in found["episodes"]["detail"] and found["episodes"]["fix"]


def test_a_changed_history_is_found(home: Home, endpoint: Endpoint) -> None:
    with closing(sqlite3.connect(home.brain / "brain.sqlite")) as connection:
        connection.execute("UPDATE content SET body = replace(body, 'Germany', 'Russia') WHERE body LIKE '%Germany%'")
        connection.commit()
    code, found = _examined(home)
    assert code == 1 and not found["brain"]["ok"] and "copy" in found["brain"]["fix"]


def test_a_store_that_holds_less_than_the_ledger_says_is_found_and_the_fix_works(
    home: Home, endpoint: Endpoint
) -> None:
    [*vectors] = (home.brain / "cognee" / "system").rglob("*.lance.db")
    graphs = list((home.brain / "cognee" / "system").rglob("*.lbug"))
    shutil.rmtree(vectors[0])
    graph = next(path for path in graphs if path.name.partition(".")[0] == vectors[0].name.partition(".")[0])
    graph.unlink()
    code, found = _examined(home)
    assert code == 1 and not found["episodes"]["ok"] and "cognee" in found["episodes"]["fix"], found
    shutil.rmtree(home.brain / "cognee")
    assert home.ask("How many customers are there?")["status"] == "answered"
    assert _examined(home)[0] == 0
