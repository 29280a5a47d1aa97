"""`hebbql audit` as its user has it, and what `hebbql ask` says of it, with real Cognee."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

GERMANY = "How many customers are there in Germany?"
WRONG = "SELECT COUNT(*) FROM Customers WHERE Country IN ('Germany', 'Austria')"
CHECK = "SELECT COUNT(*) FROM Customers WHERE Country = 'Germany' OR Country = 'Austria'"
"""A second query that agrees, so that the wrong pair is as well vouched for as the right one, and only newer."""


def hashes(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_findings_are_shown_and_told_by_ask_and_applying_forgets_the_losing_side(home: Any, recorded: str) -> None:
    before = hashes(home.brain)
    assert home.run("audit", "--json", "--semantic", "--max-pairs", "1").json["pairs"] == 0
    assert home.run("audit").code == 0 and hashes(home.brain) == before
    pack = home.folder / "wrong.jsonl"
    pair = {"id": "w1", "question": GERMANY.lower(), "sql": WRONG, "check_sql": CHECK, "ordered": False}
    pack.write_text(json.dumps(pair) + "\n", "utf-8")
    assert home.run("seed", str(pack)).code == 0
    before = hashes(home.brain)
    ended = home.run("audit", "--json")
    assert ended.code == 1 and (ended.json["contradiction"], len(ended.json["findings"])) == (1, 1), ended
    advice = ended.json["findings"][0]["recommendation"]
    assert set(advice) == {"recommended_id", "recommended_value", "rule", "confidence", "rationale"}
    assert advice["rule"] == "newest" and 0.5 <= advice["confidence"] <= 0.7
    shown = home.run("audit")
    assert shown.code == 1 and "CONTRADICTION" in shown.out and WRONG in shown.out
    assert hashes(home.brain) == before
    pinned = _other(ended.json, advice["recommended_id"])
    assert "pinned" in home.run("audit", "--pin", pinned).out
    assert home.run("audit", "--json").json["findings"][0]["recommendation"]["rule"] == "pinned"
    assert "pinned" not in home.run("audit", "--unpin", pinned).out
    asking = ("ask", GERMANY, "--model", recorded, "--think", "fast")
    told = home.run(*asking, "--json")
    assert [one["recommendation"]["rule"] for one in told.json["findings"]] == ["newest"], told
    assert "by the rule newest" in home.run(*asking).out
    assert home.run("audit", "--apply", "--json").code == 2
    done = home.run("audit", "--apply", "--yes", "--pin", pinned, "--json")
    assert done.code == 0 and done.json["applied"]["forgotten"] == [advice["recommended_id"]], done
    assert home.run("audit").code == 0


def _other(told: Any, id: str) -> str:
    writes = [write["id"] for side in told["findings"][0]["sides"] for write in side["writes"]]
    return str(next(one for one in writes if one != id))


def test_what_cannot_be_is_told_in_one_line(home: Any) -> None:
    assert home.run("audit", "--yes").code == 2
    assert home.run("audit", "--apply", "--semantic").code == 2
    assert home.run("audit", "--pin", "ffffffff").says("--pin")
    missing = home.run("audit", "--brain", str(home.folder / "nowhere"))
    assert missing.code == 1 and missing.says("There is no brain") and not (home.folder / "nowhere").exists()
