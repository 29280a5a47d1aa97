"""The accepted brain holds what the seed pack and the glossary say, and changes by lines, as code does."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memory.brain.snapshot import Snapshot, of_episode, read_file, to_text

ROOT = Path(__file__).resolve().parents[2]
PAIRS = (
    {"id": "boats", "question": "How many boats are there?", "sql": "SELECT COUNT(*) FROM Boats"},
    {"id": "names", "question": "Which boats lie in Veere?", "sql": "SELECT Name FROM Boats WHERE Harbour = 'Veere'"},
)
MORE = {"id": "long", "question": "What is the longest boat?", "sql": "SELECT MAX(Metres) FROM Boats"}
GLOSSARY = '[[term]]\nnames = ["length"]\nmeaning = "How long a boat is."\nexpression = "Metres"\n'


def build(*options: str, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script, on the shipped data or on those of a test."""
    database = ["--db", str(data / "boats.sqlite")] if data else []
    told = {"HEBBQL_DATA": str(data)} if data else {}
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "build_brain.py"), *options, *database],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "ignore"} | told,
    )


def test_the_shipped_brain_is_what_its_pack_and_glossary_make() -> None:
    done = build("--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_shipped_brain_proves_its_hash_and_is_canonical() -> None:
    path = ROOT / "data" / "brain" / "northwind.brain"
    found = read_file(path)
    assert to_text(found).encode() == path.read_bytes()
    assert len(found.episodes) > 250 and {episode.verifier for episode in found.episodes} == {"gold"}
    times = [record.body["since"] for record in found.of_kind("episode")]
    assert len(set(times)) == len(times), "the order in which they came is written down"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data about boats, with a pack and a glossary and no brain yet."""
    for name in ("seeds", "glossary", "brain"):
        (tmp_path / name).mkdir()
    with closing(sqlite3.connect(tmp_path / "boats.sqlite")) as connection, connection:
        connection.executescript(
            "CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT, Harbour TEXT, Metres REAL);"
            "INSERT INTO Boats VALUES (1, 'Hoopvol', 'Veere', 9.5), (2, 'Stille', 'Hoorn', 12.0);"
        )
    (tmp_path / "glossary" / "boats.toml").write_text(GLOSSARY, "utf-8")
    write_pack(tmp_path, *PAIRS)
    return tmp_path


def write_pack(data: Path, *pairs: dict[str, str]) -> None:
    (data / "seeds" / "boats.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), "utf-8")


def test_a_pair_more_is_a_line_more_and_the_same_pack_gives_the_same_bytes(data: Path) -> None:
    file = data / "brain" / "boats.brain"
    assert build("--check", data=data).returncode == 1, "there is none yet"
    assert build(data=data).returncode == 0
    first = file.read_text("utf-8")
    assert build(data=data).returncode == 0 and file.read_text("utf-8") == first
    write_pack(data, MORE, *PAIRS)
    assert build("--check", data=data).returncode == 1, "the pack says more than the brain"
    assert build(data=data).returncode == 0 and build("--check", data=data).returncode == 0
    before, after = first.splitlines()[1:], file.read_text("utf-8").splitlines()[1:]
    [new] = [line for line in after if line not in before]
    assert "longest" in new and [line for line in after if line != new] == before
    file.unlink()
    assert build(data=data).returncode == 0
    assert {one.question for one in read_file(file).episodes} == {pair["question"] for pair in (MORE, *PAIRS)}


def test_what_was_accepted_besides_the_pack_and_what_was_taken_out_stay_so(data: Path) -> None:
    file = data / "brain" / "boats.brain"
    assert build(data=data).returncode == 0
    found = read_file(file)
    boats, names = sorted(found.of_kind("episode"), key=lambda one: str(one.body["since"]))
    learned = of_episode(boats.episode, 7)
    body = {**learned.body, "origin": "feedback:1", "batch": "feedback:1", "masked": "how many", "question": "Boats?"}
    kept = [record for record in found.records.values() if record is not names]
    edited = Snapshot.of(found.database, [*kept, type(learned)("episode", body)], gone={names.key[1]: "forgotten"})
    file.write_text(to_text(edited), "utf-8")
    assert build("--check", data=data).returncode == 0
    bytes_before = file.read_bytes()
    assert build(data=data).returncode == 0 and file.read_bytes() == bytes_before
    file.write_text(to_text(Snapshot.of(found.database, kept)), "utf-8")
    assert build("--check", data=data).returncode == 1, "a pair is neither there nor said to be gone"


def test_a_pair_that_does_not_hold_is_named_and_the_exit_code_says_so(data: Path) -> None:
    write_pack(data, *PAIRS, {"id": "broken", "question": "Who?", "sql": "SELECT Skipper FROM Boats"})
    done = build(data=data)
    assert done.returncode == 1 and "broken does not hold" in done.stderr
    assert len(read_file(data / "brain" / "boats.brain").episodes) == 2
