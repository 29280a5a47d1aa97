"""A change of the accepted brain is checked as code is, and a night proposes only what is green."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agent.app import open_app
from agent.settings import Settings
from memory.brain.snapshot import Record, Snapshot, from_text, of_episode, read_file, to_text
from scripts.brain_ci_posting import MARKER, MOST
from scripts.build_brain import accepted

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "scripts" / "brain_ci"
HARBOURS = ("Veere", "Hoorn", "Enkhuizen", "Harlingen", "Urk", "Marken", "Stavoren", "Medemblik")
TABLE = "CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL, Owner TEXT)"
CHECKS = """
[[check]]
kind = "must_know"
name = "boats-in-veere"
question = "How many boats lie in Veere?"
rows = [[5]]

[[check]]
kind = "structure"
name = "no-owners"
never_selected = ["Boats.Owner"]
"""
GLOSSARY = '[[term]]\nnames = ["length"]\nmeaning = "How long a boat is."\nexpression = "Metres"\n'
PAIRS = (
    ("count", "How many boats lie in Veere?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'"),
    ("names", "Which boats lie in Hoorn?", "SELECT Name FROM Boats WHERE Harbour = 'Hoorn'"),
)
LENGTH = (
    "length",
    "What is the average length of boats in Urk?",
    "SELECT AVG(Metres) FROM Boats WHERE Harbour = 'Urk'",
)
ASKED = tuple(
    (f"{name}-{place.lower()}", question.replace(old, place), sql.replace(old, place))
    for (name, question, sql), old in ((PAIRS[0], "Veere"), (PAIRS[1], "Hoorn"))
    for place in HARBOURS[2:]
)
POISON = "Who owns Boat 7? ``` </details><img src=x onerror=y> @everyone [x](http://localhost/x)\u202e"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a small brain in `data/`, and a folder for what is written."""

    root: Path
    out: Path

    @property
    def brain(self) -> Path:
        return self.root / "data" / "brain" / "boats.brain"

    @property
    def settings(self) -> Settings:
        data = self.root / "data"
        return Settings(database=str(data / "boats.sqlite"), data=data, runs=self.out, brain=str(self.out / "own"))

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, why: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", why)
        return self.git("rev-parse", "HEAD")

    def run(self, command: str, *arguments: str, **own: str) -> subprocess.CompletedProcess[str]:
        started = [sys.executable, str(PROGRAM), command, "--root", str(self.root), *arguments]
        return subprocess.run(started, capture_output=True, text=True, check=False, env=os.environ | own)

    def check(self, *, code: int, **own: str) -> tuple[str, dict[str, Any]]:
        """Check the change since the tag `base`: the comment, and the result for programs."""
        done = self.run("check", "--base", "base", "--head", "HEAD", "--name", "boats", "--out", str(self.out), **own)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        text = (self.out / "comment.md").read_text("utf-8")
        assert text.startswith(f"{MARKER}\n") and str(self.root) not in text and "hebbql-brain-ci-" not in text
        return text, json.loads((self.out / "result.json").read_text("utf-8"))

    def night(self, *arguments: str, code: int = 0, **own: str) -> dict[str, Any]:
        done = self.run("nightly", "--name", "boats", "--out", str(self.out), *arguments, **own)
        assert done.returncode == code, (done.stdout, done.stderr)
        read: dict[str, Any] = json.loads((self.out / "result.json").read_text("utf-8"))
        return read

    def rewrite(self, *records: Record, without: str = "") -> None:
        """Let the brain's file hold further records, or no episode with some words."""
        old = read_file(self.brain)
        kept = [one for one in old.records.values() if not without or without not in one.line]
        self.brain.write_text(to_text(Snapshot.of(old.database, [*kept, *records], gone=old.gone)), "utf-8")

    def build(self, *pairs: tuple[str, str, str]) -> None:
        """Write seed pack and brain, as a person does."""
        lines = [json.dumps({"id": id, "question": question, "sql": sql}) for id, question, sql in pairs]
        (self.root / "data" / "seeds" / "boats.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        with open_app(self.settings, seeding=False) as app:
            wanted, refused = accepted(app)
        assert not refused
        self.brain.write_text(to_text(wanted), "utf-8")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The repository at `base`, on `main`. Do not change it."""
    folder = tmp_path_factory.mktemp("boats")
    made = Repository(folder / "repository", folder / "out")
    for place in ("brain/checks", "seeds", "glossary", "questions"):
        (made.root / "data" / place).mkdir(parents=True)
    data = made.root / "data"
    with closing(sqlite3.connect(data / "boats.sqlite")) as connection, connection:
        connection.execute(TABLE)
        for number in range(40):
            row = number + 1, f"Boat {number}", HARBOURS[number % 8], 5.0 + number, f"Owner {number}"
            connection.execute("INSERT INTO Boats VALUES (?, ?, ?, ?, ?)", row)
    (data / "glossary" / "boats.toml").write_text(GLOSSARY, "utf-8")
    (data / "brain" / "checks" / "boats.toml").write_text(CHECKS, "utf-8")
    asked = [json.dumps({"id": id, "question": question, "sql": sql}) for id, question, sql in ASKED]
    (data / "questions" / "development.jsonl").write_text("\n".join(asked) + "\n", "utf-8")
    made.build(*PAIRS)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.git("config", "user.email", "person@example.org")
    made.git("config", "user.name", "A person")
    made.commit("A brain of boats")
    made.git("tag", "base")
    return made


@pytest.fixture
def boats(original: Repository, tmp_path: Path) -> Repository:
    """A copy of the repository for one test."""
    shutil.copytree(original.root, tmp_path / "repository")
    return Repository(tmp_path / "repository", tmp_path / "out")


def poison(boats: Repository) -> Record:
    """An episode that the check `no-owners` forbids, with a question that would like to be more than text."""
    (old, *_) = (one for one in read_file(boats.brain).of_kind("episode") if "COUNT" in one.line)
    asked = replace(old.episode, question=POISON, masked=POISON, sql="SELECT Owner FROM Boats WHERE Name = 'Boat 7'")
    return of_episode(replace(asked, origin="pack:x", batch="pack:x"), int(str(old.body["since"])) + 9)


def test_a_good_change_is_green_and_shows_what_was_added(boats: Repository) -> None:
    boats.build(*PAIRS, LENGTH)
    boats.commit("One more pair")
    text, told = boats.check(code=0)
    assert "## Brain: green" in text and told["ok"] and told["reasons"] == []
    assert told["counts"] == {"episode": {"added": 1, "removed": 0, "changed": 0}}
    assert LENGTH[1] in text and LENGTH[2] in text
    assert "| checks green | 2 of 2 | 2 of 2 |" in text and "| questions right | 12 of 12 | 12 of 12 |" in text
    assert {answer["path"] for answer in told["after"]["measured"]["answers"]} <= {"habit", "adapted"}
    assert "boats-in-veere" in (boats.out / "junit.xml").read_text("utf-8")
    assert LENGTH[1] in (boats.out / "diff.txt").read_text("utf-8")


def test_a_poisoned_change_is_red_and_its_text_stays_text(boats: Repository) -> None:
    boats.rewrite(poison(boats))
    boats.commit("Nothing to see here")
    text, told = boats.check(code=1, GITHUB_STEP_SUMMARY=str(boats.out / "summary.md"))
    assert told["reasons"] == [{"text": "a check is red", "about": "no-owners"}]
    assert "- a check is red: <code>no-owners</code>" in text and "| checks green | 2 of 2 | 1 of 2 |" in text
    assert (boats.out / "summary.md").read_text("utf-8") == text
    (line,) = (line for line in text.splitlines() if line.startswith("+ episode"))
    assert "SELECT Owner FROM Boats" in line and "</details><img" in line
    before = text[: text.index(line)].splitlines()
    opened = [one for one in before if one.startswith("```")]
    assert opened[-1] == "````diff" and "\n````\n" in text[text.index(line) :]
    assert "\u202e" not in text and "@everyone" not in text


def test_taking_the_check_away_with_the_poison_does_not_help(boats: Repository) -> None:
    boats.rewrite(poison(boats))
    checks = boats.root / "data" / "brain" / "checks" / "boats.toml"
    checks.write_text(CHECKS.partition('\n[[check]]\nkind = "structure"')[0], "utf-8")
    (boats.root / ".gitattributes").write_text("data/brain/checks export-ignore\n", "utf-8")
    boats.commit("Tidy up")
    text, told = boats.check(code=1)
    assert [one["about"] for one in told["reasons"]] == ["no-owners"]
    assert "would be red" in told["reasons"][0]["text"]
    assert '- no-owners {"name": "no-owners"' in text


def test_losing_what_answers_is_red(boats: Repository) -> None:
    for _, question, _ in PAIRS:
        boats.rewrite(without=question)
    (boats.root / "data" / "questions" / "development.jsonl").unlink()
    boats.commit("Forget how to list and to count boats")
    text, told = boats.check(code=1)
    why = [one["text"].partition(" and ")[0] for one in told["reasons"]]
    assert why == ["a check is red", "a check is red", "12 questions are no longer right"], told
    assert "No longer right: <code>count-enkhuizen, " in text and "| questions right | 12 of 12 | 0 of 12 |" in text


def test_no_change_is_green_and_says_so(boats: Repository) -> None:
    (boats.root / "README.md").write_text("Boats.\n", "utf-8")
    boats.commit("A readme")
    text, told = boats.check(code=0)
    assert "Nothing changed in it." in text and "The brain itself is the same." in text
    assert told["before"] == told["after"]


def test_a_broken_brain_is_red_and_the_line_is_named(boats: Repository) -> None:
    lines = boats.brain.read_text("utf-8").splitlines()
    boats.brain.write_text("\n".join([*lines[:1], "{<b>", *lines[2:]]) + "\n", "utf-8")
    boats.commit("A slip")
    text, told = boats.check(code=1)
    assert told["reasons"][0]["text"] == "the brain cannot be built"
    assert "boats.brain, line 2" in told["reasons"][0]["about"] and "<b>" not in text


def test_a_brain_that_is_gone_is_red(boats: Repository) -> None:
    boats.brain.unlink()
    boats.commit("No brain")
    text, told = boats.check(code=1)
    assert told["reasons"] == [{"text": "the accepted brain is no longer there", "about": ""}], text


def test_a_seed_pack_without_its_brain_is_red(boats: Repository) -> None:
    before = boats.brain.read_text("utf-8")
    boats.build(*PAIRS, LENGTH)
    boats.brain.write_text(before, "utf-8")
    boats.commit("Only the pack")
    _, told = boats.check(code=1)
    assert ["scripts/build_brain.py" in one["text"] for one in told["reasons"]] == [True]


def test_what_is_not_committed_is_not_looked_at_and_an_unknown_commit_is_usage(boats: Repository) -> None:
    boats.brain.unlink()
    done = boats.run("check", "--base", "base", "--head=--all", "--name", "boats", "--out", str(boats.out))
    assert done.returncode == 2 and "is no commit" in done.stderr
    done = boats.run("check", "--base", "base", "--head", "base", "--name", "shop", "--out", str(boats.out))
    assert done.returncode == 1 and "no data/shop.sqlite" in done.stderr
    assert "not checked" in (boats.out / "comment.md").read_text("utf-8")


GH = """#!{python}
import json, pathlib, sys
place = pathlib.Path({place!r})
state = json.loads(place.read_text()) if place.exists() else {{}}
given = sys.stdin.read() if "-" in sys.argv else ""
call = sys.argv[1:]
state.setdefault("calls", []).append(call)
if call[0] == "api" and "/pulls/" in call[1]:
    print(json.dumps({{"head": {{"sha": state["sha"]}}, "state": "open"}}))
elif call[0] == "api" and call[1] == "--paginate":
    for one in state.get("comments", []):
        print(json.dumps([one["id"], one["login"], one["body"]]))
elif call[0] == "api":
    comments, body = state.setdefault("comments", []), json.loads(given)["body"]
    if call[2] == "POST":
        comments.append({{"id": len(comments) + 1, "login": "github-actions[bot]", "body": body}})
    else:
        (found,) = (one for one in comments if call[3].endswith(f"/comments/{{one['id']}}"))
        found["body"] = body
elif call[:2] == ["pr", "list"]:
    print(json.dumps(state.get("pulls", [])))
elif call[:2] == ["pr", "create"]:
    state["pulls"], state["body"] = [{{"number": 7}}], given
    print("https://example.org/pull/7")
elif call[:2] == ["pr", "edit"]:
    state["body"] = given
place.write_text(json.dumps(state))
"""


@dataclass(frozen=True, slots=True)
class GitHub:
    """Stands where `gh` is: keeps comments and pull requests in a file."""

    folder: Path

    @property
    def path(self) -> str:
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    @property
    def state(self) -> Any:
        return json.loads((self.folder / "state.json").read_text("utf-8"))

    def put(self, **state: object) -> None:
        (self.folder / "state.json").write_text(json.dumps(state), "utf-8")


@pytest.fixture
def github(tmp_path: Path) -> GitHub:
    folder = tmp_path / "gh"
    folder.mkdir()
    (folder / "gh").write_text(GH.format(python=sys.executable, place=str(folder / "state.json")), "utf-8")
    (folder / "gh").chmod(0o755)
    return GitHub(folder)


def duplicate(boats: Repository) -> Record:
    """An episode that says what another one says, its SQL in small letters."""
    (old, *_) = (one for one in read_file(boats.brain).of_kind("episode") if "COUNT" in one.line)
    sql = "SELECT COUNT(*) FROM boats WHERE harbour = 'Veere'"
    again = replace(old.episode, sql=sql, origin="pack:y", batch="pack:y")
    return of_episode(again, int(str(old.body["since"])) + 9)


def test_a_night_proposes_what_is_better_and_the_next_one_finds_nothing(boats: Repository, github: GitHub) -> None:
    boats.rewrite(duplicate(boats))
    tip = boats.commit("Twice the same")
    remote = boats.root.parent / "remote.git"
    boats.git("init", "--quiet", "--bare", str(remote))
    boats.git("remote", "add", "origin", str(remote))
    boats.git("push", "--quiet", "origin", "main")
    told = boats.night(GITHUB_OUTPUT=str(boats.root.parent / "output"), PATH=github.path)
    assert told["outcome"] == "accepted" and told["commit"] == tip, told
    assert (boats.root.parent / "output").read_text("utf-8") == "outcome=accepted\n"
    assert github.state["body"] == (boats.out / "report.md").read_text("utf-8")
    assert "- episode" in github.state["body"] and MARKER not in github.state["body"]

    made = boats.git("ls-remote", "origin", "refs/heads/brain/nightly").split()[0]
    assert boats.git("rev-parse", f"{made}^") == tip
    assert boats.git("diff", "--name-only", tip, made) == "data/brain/boats.brain"
    proposed = from_text(boats.git("show", f"{made}:data/brain/boats.brain") + "\n")
    assert len(proposed) == len(read_file(boats.brain)) - 1 and len(proposed.gone) == 1
    assert boats.git("status", "--porcelain") == "" and boats.git("rev-parse", "HEAD") == tip

    done = boats.run("propose", "--out", str(boats.out), PATH=github.path)
    assert done.stdout == "#7 is up to date.\n", done.stderr
    told = boats.night("--base", made, PATH=github.path)
    assert told["outcome"] == "unchanged"
    done = boats.run("propose", "--out", str(boats.out), PATH=github.path)
    assert done.returncode == 0 and "nothing to propose" in done.stdout


def test_a_branch_that_a_person_wrote_on_is_not_overwritten(boats: Repository, github: GitHub) -> None:
    remote = boats.root.parent / "remote.git"
    boats.git("init", "--quiet", "--bare", str(remote))
    boats.git("remote", "add", "origin", str(remote))
    boats.git("push", "--quiet", "origin", "main:brain/nightly")
    boats.out.mkdir()
    (boats.out / "boats.brain").write_text(boats.brain.read_text("utf-8") + "\n", "utf-8")
    (boats.out / "report.md").write_text("Better.\n", "utf-8")
    about = {"outcome": "accepted", "commit": boats.git("rev-parse", "HEAD"), "branch": "main", "title": "Better"}
    (boats.out / "result.json").write_text(json.dumps({**about, "path": "data/brain/boats.brain"}), "utf-8")
    done = boats.run("propose", "--out", str(boats.out), PATH=github.path)
    assert done.returncode == 1 and "person@example.org wrote on brain/nightly last" in done.stderr
    assert boats.git("ls-remote", "origin", "refs/heads/brain/nightly").split()[0] == boats.git("rev-parse", "main")


def test_a_night_refuses_a_brain_that_is_red_and_proposes_nothing(boats: Repository) -> None:
    boats.rewrite(duplicate(boats), poison(boats))
    boats.commit("Poisoned")
    told = boats.night(GITHUB_STEP_SUMMARY=str(boats.root.parent / "summary.md"))
    assert told["outcome"] == "refused" and "no-owners" in told["why"]
    assert not (boats.out / "boats.brain").exists()
    assert "Refused" in (boats.root.parent / "summary.md").read_text("utf-8")


def test_a_night_that_would_make_a_check_red_is_blocked_and_is_no_failure(boats: Repository) -> None:
    boats.rewrite(duplicate(boats))
    checks = boats.root / "data" / "brain" / "checks" / "more.toml"
    checks.write_text('[[check]]\nkind = "coverage"\nname = "some-twice"\nshare = 0.5\nepisodes = 2\n', "utf-8")
    boats.commit("Count on having it twice")
    told = boats.night()
    assert told["outcome"] == "blocked" and "some-twice" in told["why"], told
    assert not (boats.out / "boats.brain").exists()
    assert "Blocked" in (boats.out / "report.md").read_text("utf-8")
    done = boats.run("propose", "--out", str(boats.out))
    assert (done.returncode, done.stdout) == (0, "The night ended blocked; there is nothing to propose.\n")


def test_a_night_that_cannot_build_the_brain_fails(boats: Repository) -> None:
    boats.brain.write_text("{}\n", "utf-8")
    boats.commit("Broken")
    done = boats.run("nightly", "--name", "boats", "--out", str(boats.out), "--dry-run")
    assert done.returncode == 1 and "brain build failed" in done.stderr


SHA = "a" * 40


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """What a check of a pull request left behind."""
    folder = tmp_path / "left"
    folder.mkdir()
    (folder / "number").write_text("12\n", "utf-8")
    (folder / "comment.md").write_text(f"{MARKER}\n## Brain: green\n", "utf-8")
    return folder


def posted(folder: Path, github: GitHub, *, head: str = SHA) -> subprocess.CompletedProcess[str]:
    """Post it as the workflow does: with a Python that sees no packages."""
    about = ["--from", str(folder), "--repository", "o/r", "--head", head, "--run-url", "https://example.org/run"]
    started = [sys.executable, "-S", str(PROGRAM), "post", *about]
    return subprocess.run(started, capture_output=True, text=True, check=False, env={**os.environ, "PATH": github.path})


def test_the_comment_is_made_once_and_then_kept_up_to_date(left: Path, github: GitHub) -> None:
    other = {"id": 90, "login": "mallory", "body": f"{MARKER}\nmine"}
    github.put(sha=SHA, comments=[other])
    assert posted(left, github).stdout == "Commented on #12.\n"
    (left / "comment.md").write_text(f"{MARKER}\n## Brain: red, @everyone\n", "utf-8")
    done = posted(left, github)
    assert "is up to date" in done.stdout, done.stderr
    first, second = github.state["comments"]
    assert first == other and second["body"].startswith(f"{MARKER}\n## Brain: red, @\u200beveryone")
    assert f"at {SHA[:12]}, [run](https://example.org/run)" in second["body"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("number", "12/../13\n"),
        ("number", "0\n"),
        ("number", "12\n13\n"),
        ("comment.md", "## Brain: green\n"),
        ("comment.md", f"{MARKER}\n" + "x" * MOST),
        ("comment.md", f"{MARKER}\n" + "x" * (MOST - 100)),
    ],
)
def test_what_is_no_number_or_no_such_comment_is_not_posted(
    left: Path, github: GitHub, name: str, content: str
) -> None:
    github.put(sha=SHA)
    (left / name).write_text(content, "utf-8")
    done = posted(left, github)
    assert done.returncode == 1 and done.stderr.startswith("brain_ci: "), done
    assert "comments" not in github.state


def test_a_link_to_another_file_is_not_followed(left: Path, github: GitHub, tmp_path: Path) -> None:
    github.put(sha=SHA)
    (tmp_path / "secret").write_text(f"{MARKER}\nsecret\n", "utf-8")
    (left / "comment.md").unlink()
    (left / "comment.md").symlink_to(tmp_path / "secret")
    assert posted(left, github).returncode == 1


def test_a_check_of_another_commit_is_not_posted(left: Path, github: GitHub) -> None:
    github.put(sha="b" * 40)
    done = posted(left, github)
    assert done.returncode == 0 and "nothing is posted" in done.stdout
    assert "comments" not in github.state


@pytest.fixture(autouse=True)
def quiet_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Git without anybody's settings."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    yield
