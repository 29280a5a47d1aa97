"""The commands of the brain's versions: what they print, for people and programs, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memory.brain.differences import Edit, apply
from memory.brain.snapshot import Record, read_file
from tests.agent.doors.conftest import Ended, Home

POISON = "SELECT CompanyName FROM Customers WHERE Country = 'Norway' OR City LIKE 'L%'"


def poison(home: Home) -> None:
    """Seed one more pack, of one wrong pair."""
    pair = {"id": "bad", "question": "Which customers come from Norway?", "sql": POISON}
    (home.folder / "poison.jsonl").write_text(json.dumps(pair) + "\n", "utf-8")
    assert home.run("seed", str(home.folder / "poison.jsonl")).code == 0


def lines(ended: Ended) -> list[dict[str, object]]:
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_a_poisoned_batch_is_found_shown_and_taken_out_from_the_command_line(home: Home) -> None:
    assert home.run("brain", "snapshot", "good").code == 0
    poison(home)
    found = home.run("brain", "bisect", "--sql", "or city like")
    assert found.code == 0, found.err
    assert "red, recalled as number" in found.out and "First red with batch seed:poison:" in found.out
    looks = lines(home.run("brain", "bisect", "--text", "from norway?", "--json"))
    batch = str(looks[-1]["batch"])
    assert looks[0]["red"] and looks[-1]["alone"] and f"brain revert {batch}" in found.out
    shown = home.run("brain", "diff", "good", "live")
    assert shown.code == 0 and "+ episode" in shown.out and "City LIKE 'L%'" in shown.out
    assert home.run("brain", "diff", "good", "--exit-code").code == 1
    refused = home.run("brain", "revert", batch, "--json")
    assert refused.code == 2 and "say --yes as well" in refused.json["message"]
    asked = home.run("brain", "revert", batch, said="n\n")
    assert asked.code != 0 and "City LIKE" in asked.err
    done = home.run("brain", "revert", batch, "--yes", "--json").json
    assert done["counts"]["episode"] == {"added": 0, "removed": 1, "changed": 0} and done["proof"] == []
    same = home.run("brain", "diff", "good", "live", "--exit-code")
    assert same.code == 0 and "good and live know the same" in same.out
    gone = home.run("brain", "bisect", "--sql", "OR City LIKE")
    assert gone.code == 1 and gone.says("no batch to be found")
    assert home.run("brain", "revert", batch, "--yes").says("Nothing is remembered of a batch")


def test_of_a_pack_only_what_matches_is_to_be_forgotten_and_every_other_batch_is_named(home: Home) -> None:
    assert home.run("brain", "snapshot", "good").code == 0
    pairs = [
        {"id": "bad", "question": "Which customers come from Norway?", "sql": POISON},
        {"id": "fine", "question": "How many shippers are there?", "sql": "SELECT COUNT(*) FROM Shippers"},
    ]
    pack = home.folder / "mixed.jsonl"
    pack.write_text("".join(json.dumps(pair) + "\n" for pair in pairs), "utf-8")
    seeded = home.run("seed", str(pack))
    assert seeded.code == 0 and "2 pairs without check_sql: taken at their word" in seeded.out, seeded.out
    worse = {"id": "worse", "question": "Which clients are Norwegian?", "sql": POISON.replace("'L%'", "'M%'")}
    (home.folder / "worse.jsonl").write_text(json.dumps(worse) + "\n", "utf-8")
    assert home.run("seed", str(home.folder / "worse.jsonl")).code == 0
    found = home.run("brain", "bisect", "--sql", "or city like")
    told: dict[str, Any] = lines(home.run("brain", "bisect", "--sql", "or city like", "--json"))[-1]
    [bad], [other] = told["matching"], told["others"]
    assert "Only 1 of its 2 episodes holds it" in found.out and f"hebbql forget {bad}" in found.out, found.out
    assert f"revert {told['batch']}" not in found.out
    assert f"batch {told['batch']}" in seeded.out.splitlines()[1]
    assert f"batch {told['batch']}]" in home.run("brain", "diff", "good").out
    named = str(told["batch"])
    log = home.run("brain", "log", "--batch", named).out
    assert "2 episodes remembered; 2 of them known now" in log, log
    assert home.run("forget", str(bad), "--erase", "--yes").code == 0
    log = home.run("brain", "log").out
    assert "batch of what was erased: 1 episode remembered" in log, log
    assert "Held by 1 other batch as well" in found.out and f"brain revert {other['batch']}" in found.out


def test_what_diff_prints_for_programs_leads_from_one_to_the_other(home: Home) -> None:
    old, new = home.folder / "old.brain", home.folder / "new.brain"
    assert home.run("brain", "export", str(old)).code == 0
    poison(home)
    assert home.run("brain", "export", str(new)).code == 0
    told = home.run("brain", "diff", str(old), str(new), "--json").json
    before, after = read_file(old), read_file(new)
    assert (told["from"], told["to"]) == (before.hash, after.hash)
    [edit] = told["edits"]
    assert edit["action"] == "added" and edit["before"] is None and edit["after"]["sql"] == POISON

    made = Edit(None, Record(edit["kind"], edit["after"]))
    assert apply(before, [made]).hash == after.hash
    assert home.run("brain", "diff", "nothing").code == 1


def test_export_gives_the_screen_and_the_file_the_same_bytes_and_build_takes_them(home: Home, tmp_path: Path) -> None:
    file, other = tmp_path / "a.brain", str(tmp_path / "other")
    assert home.run("brain", "export", str(file)).code == 0
    assert home.run("brain", "export").out.encode() == file.read_bytes()
    first = home.run("brain", "build", str(file), "--brain", other, "--json").json
    assert first["same"] and first["counts"]["episode"]["added"] == len(read_file(file).episodes) > 3
    again = home.run("brain", "build", str(file), "--brain", other, "--json").json
    assert again["hash"] == first["hash"] == read_file(file).hash and again["counts"] == {}
    text = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in text if '"record":"episode"' not in line), "utf-8")
    assert home.run("brain", "build", str(file), "--brain", other).says("was changed after it was written", "--edited")
    stopped = home.run("brain", "build", str(file), "--edited", "--brain", other, "--json")
    assert stopped.code == 2 and "take away" in stopped.json["message"]
    asked = home.run("brain", "build", str(file), "--edited", "--brain", other, said="n\n")
    assert asked.code != 0 and "- episode" in asked.err
    assert home.run("brain", "build", str(file), "--edited", "--yes", "--brain", other).code == 0
    assert home.run("brain", "status", "--brain", other, "--json").json["episodes"] == 0


def test_a_refused_episode_is_named_and_the_exit_code_says_so(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "a.brain"
    poison(home)
    assert home.run("brain", "export", str(file)).code == 0
    file.write_text(file.read_text("utf-8").replace(POISON, "DROP TABLE Customers"), "utf-8")
    done = home.run("brain", "build", str(file), "--edited", "--brain", str(tmp_path / "other"))
    assert done.code == 1 and "refused: " in done.out and "Which customers come from Norway?" in done.out


def test_status_and_log_tell_of_a_brain_and_of_an_empty_one(home: Home, tmp_path: Path) -> None:
    poison(home)
    assert home.run("brain", "snapshot", "night", "--why", "before the night").code == 0
    told = home.run("brain", "status").out
    assert "seed:northwind" in told and "seed:poison 1" in told and "night" in told and "no change" in told
    found = home.run("brain", "status", "--json").json
    assert found["by_verifier"] == {"gold": found["episodes"] - 1, "execution": 1} and found["last"]["name"] == "night"
    log = home.run("brain", "log").out.splitlines()
    assert "snapshot night" in log[0] and "before the night" in log[0] and "batch seed:poison:" in log[1]
    assert len(home.run("brain", "log", "--limit", "2").out.splitlines()) == 2
    [one] = lines(home.run("brain", "log", "--snapshots", "--json"))
    assert one["name"] == "night"
    batch = log[1].split("batch ")[1].split(": ")[0]
    [own] = lines(home.run("brain", "log", "--batch", batch, "--json"))
    assert own["counts"] == {"episodes remembered": 1} and own["left"] == 1
    empty = home.run("brain", "status", "--brain", str(tmp_path / "empty")).out
    assert "Nothing is remembered yet" in empty and "none yet" in empty


def test_cognee_archives_are_written_for_each_bucket_and_only_into_a_new_folder(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "archives"
    done = home.run("brain", "export", str(folder), "--format", "cognee", "--json").json
    status = home.run("brain", "status", "--json").json
    assert done["hash"] == status["hash"] and f"{status['episodes']} episodes" in done["told"]
    assert len(list(folder.glob("*/manifest.json"))) == status["buckets"]
    assert read_file(folder / "northwind.brain").hash == done["hash"]
    assert home.run("brain", "export", str(folder), "--format", "cognee").says("is not empty")
    assert home.run("brain", "export", "--format", "cognee").code == 2


def test_what_cannot_be_meant_is_a_usage_error(home: Home) -> None:
    for arguments in (
        ("bisect",),
        ("bisect", "--text", "a", "--sql", "b"),
        ("build", "no such file"),
        ("log", "--limit", "0"),
        ("export", "--json"),
    ):
        ended = home.run("brain", *arguments)
        assert ended.code == 2, (arguments, ended.out, ended.err)
        assert "Traceback" not in ended.err
    missing = home.run("brain", "bisect", "--check", "nothing")
    assert missing.code == 1 and missing.says("has no check nothing")
