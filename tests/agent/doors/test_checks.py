"""`hebbql brain test` and `hebbql forget --matching` as their user has them, with real Cognee."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from memory.ledger import Ledger

GERMANY = "How many customers are there in Germany?"
GREEN = f"""
[[check]]
kind = "must_know"
name = "germans"
question = "{GERMANY}"
rows = [[11]]

[[check]]
kind = "coverage"
name = "covered"
share = 1.0
"""
FORBIDDEN = """
[[check]]
kind = "forbidden"
name = "no-germany"
text = "Germany"
erased = true
"""


@pytest.fixture
def checks(home: Any) -> Path:
    folder: Path = home.folder / "checks"
    folder.mkdir()
    (folder / "good.toml").write_text(GREEN, "utf-8")
    return folder


def test_green_is_0_red_is_1_and_both_are_told_as_json_and_junit(home: Any, checks: Path) -> None:
    xml = home.folder / "told.xml"
    ended = home.run("brain", "test", "--checks", str(checks), "--json", "--junit", str(xml))
    assert ended.code == 0 and ended.json["ok"] and (ended.json["green"], ended.json["red"]) == (2, 0), ended
    assert all(one["ok"] and sum(one["looked"].values()) for one in ended.json["checks"])
    (checks / "bad.toml").write_text(FORBIDDEN, "utf-8")
    (checks / "none.toml").write_text("# nothing", "utf-8")
    ended = home.run("brain", "test", "--checks", str(checks), "--junit", str(xml))
    assert ended.code == 1 and "2 of 4 checks are green." in ended.out, ended
    assert "RED   no-germany" in ended.out and "vectors:" in ended.out and "none.toml" in ended.out
    suite = ElementTree.parse(xml).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    failed = {case.get("name"): case.find("failure") for case in suite.iter("testcase") if len(case)}
    failure = failed["no-germany"]
    assert failure is not None and "vectors" in str(failure.get("message")) and "Germany" in str(failure.text)


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_no_check_is_red(home: Any, folder: str) -> None:
    (home.folder / "empty").mkdir()
    ended = home.run("brain", "test", "--checks", str(home.folder / folder), "--json")
    assert ended.code == 1 and not ended.json["ok"] and ended.json["red"] == 1, ended


def test_a_check_that_is_not_there_and_a_place_that_cannot_be_written_are_told(home: Any, checks: Path) -> None:
    ended = home.run("brain", "test", "--checks", str(checks), "--only", "nobody")
    assert ended.code == 1 and ended.out.count("no check of this name") == 1, "a fault is told once"
    ended = home.run("brain", "test", "--checks", str(checks), "--junit", str(home.folder / "no" / "a.xml"))
    assert ended.code == 2 and ended.says("no folder")


def datasets(brain: Path) -> dict[str, str]:
    """A hash of all files of each of Cognee's datasets."""
    told: dict[str, list[bytes]] = {}
    for path in sorted((brain / "cognee" / "system" / "databases").rglob("*")):
        dataset = next((part.partition(".")[0] for part in path.parts if ".lance.db" in part or ".lbug" in part), "")
        if dataset and path.is_file():
            told.setdefault(dataset, []).append(path.name.encode() + path.read_bytes())
    return {dataset: hashlib.sha256(b"".join(files)).hexdigest() for dataset, files in told.items()}


def test_what_matches_is_erased_with_its_lessons_terms_and_attempts_and_the_rest_stays_as_it_is(
    home: Any, endpoint: Any, checks: Path, whole: Callable[[Any], None]
) -> None:
    (checks / "bad.toml").write_text(FORBIDDEN, "utf-8")
    home.run("teach", "teutonic means Customers.Country = 'Germany'")
    endpoint.says = lambda _question, _before: "SELECT COUNT(*) FROM Customers WHERE Country = 'Germany'"
    home.ask("How many customers of ours are in germany, if any?", "--no-memory")
    with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
        before = {episode.id: episode for episode in ledger.episodes()}
    gone = {id for id, one in before.items() if "germany" in f"{one.question} {one.sql}".lower()}
    touched = {before[id].bucket for id in gone}
    hashes = datasets(home.brain)
    assert gone and len(hashes) > len(touched)

    unsure = home.run("forget", "--matching", "GERMANY", "--json")
    assert unsure.code == 2 and unsure.says("--yes")
    refused = home.run("forget", "--matching", "GERMANY", said="n\n")
    assert refused.code == 1 and "episode" in refused.err and "term: teutonic" in refused.err, refused
    assert datasets(home.brain) == hashes, "asking changes nothing"

    done = home.run("forget", "--matching", "GERMANY", "--erase", "--yes", "--json")
    assert done.code == 0 and {*done.json["forgotten"]} == {*map(str, gone)}, done
    assert any("nothing left" in line for line in done.json["proof"]), done.json["proof"]
    after = datasets(home.brain)
    assert sum(after.get(name) != hashed for name, hashed in hashes.items()) == len(touched)
    with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
        assert {one.id: one for one in ledger.episodes()} == {id: one for id, one in before.items() if id not in gone}
    for folder in (home.brain, home.folder / "runs"):
        assert [path for path in folder.rglob("*") if path.is_file() and b"germany" in path.read_bytes().lower()] == []
    whole(home)
    told = home.run("brain", "test", "--checks", str(checks), "--only", "no-germany", "--json")
    assert told.code == 0, told
    assert home.run("forget", "--matching", "GERMANY", "--erase", "--yes").code == 2, "there is nothing more"


def test_forgetting_by_words_leaves_the_history_and_says_what_is_left(home: Any, checks: Path) -> None:
    (checks / "bad.toml").write_text(FORBIDDEN, "utf-8")
    done = home.run("forget", "--matching", "in  germany", "--yes")
    assert done.code == 0 and "nothing is left" in done.out and "looked for in" in done.out, done
    told = home.run("brain", "test", "--checks", str(checks), "--only", "no-germany", "--json")
    [check] = told.json["checks"]
    assert told.code == 1 and {"history", "files"} <= {one["place"] for one in check["evidence"]}, check


@pytest.mark.parametrize(
    "arguments", [["--matching", "?"], ["--matching", "Atlantis"], ["--matching", "a", "--bucket", "b"]]
)
def test_a_text_that_is_none_or_that_nothing_holds_is_refused(home: Any, arguments: list[str]) -> None:
    assert home.run("forget", *arguments, "--yes").code == 2
