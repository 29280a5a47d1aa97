#!/usr/bin/env python3
"""What `scripts/brain_ci` does on GitHub: keep one comment up to date, and open or update one pull request.

Works with `gh` and `git` and nothing that has to be installed: it runs where rights are, and there as little as can be
runs. Of the files that a pull request's own code left behind it takes a text and a number, and believes neither: the
number must be a pull request whose newest commit is the one that was checked, and the text is posted as text.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARKER = "<!-- hebbql-brain -->"
"""The first line of the comment, by which it is found again."""

MOST = 65_536
"""Characters that GitHub takes for a comment, and for the body of a pull request."""

ROOM = 1_000
"""Of these, what is left for the lines of whoever posts the text."""

BRANCH = "brain/nightly"
_POSTER = "github-actions[bot]"
_WRITER = {"NAME": "hebbql nightly", "EMAIL": "hebbql-nightly@users.noreply.github.com"}
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_MENTION = re.compile(r"@(?=[A-Za-z0-9])")
_NO_WIDTH = "\u200b"


class PostingError(Exception):
    """Nothing was posted. The message says why and what to do."""


def length(text: str) -> int:
    """How long a text is, counted so that GitHub never counts more: in bytes.

    >>> length("naïve")
    6
    """
    return len(text.encode("utf-8"))


@dataclass(frozen=True, slots=True)
class Posted:
    """What came of it, in words, and whether anything was written."""

    told: str
    written: bool = True


def post(folder: Path, *, repository: str, head: str, run: str) -> Posted:
    """Put the comment of one check on its pull request: anew the first time, in place after that.

    `folder` has `comment.md` and `number`, `head` is the commit that GitHub says was checked, `run` the address of the
    check's run. A check that a newer push has made old is not posted.

    Raises:
        PostingError: the number is none, the text is not such a comment, or GitHub refuses.
    """
    number, text = _read(folder, "number", most=20).strip(), _read(folder, "comment.md", most=MOST)
    if not _NUMBER.fullmatch(number):
        raise PostingError("The file `number` holds no number of a pull request, so nothing is posted.")
    if not text.startswith(f"{MARKER}\n"):
        raise PostingError(f"comment.md does not begin with {MARKER}, so it is not posted.")
    if not _COMMIT.fullmatch(head):
        raise PostingError(f"{head!r} is no commit.")
    pull = json.loads(_gh("api", f"repos/{repository}/pulls/{number}"))
    if pull["head"]["sha"] != head or pull["state"] != "open":
        return Posted(f"#{number} is not open at {head[:12]}; nothing is posted.", written=False)
    where = f"[run]({run})" if run.startswith("https://") else "run"
    text = _MENTION.sub(f"@{_NO_WIDTH}", text.replace("\0", "\ufffd"))
    body = f"{text.rstrip()}\n\n<sub>Written by the code of this pull request at {head[:12]}, {where}.</sub>\n"
    if length(body) > MOST:
        raise PostingError(f"The comment has {length(body):,} bytes; GitHub takes {MOST:,}.")
    about = json.dumps({"body": body}, ensure_ascii=False)
    listed = f"repos/{repository}/issues/{number}/comments?per_page=100"
    lines = _gh("api", "--paginate", listed, "--jq", ".[] | [.id, .user.login, .body] | @json").splitlines()
    for id, login, old in map(json.loads, lines):
        if login == _POSTER and old.startswith(MARKER):
            _gh("api", "--method", "PATCH", f"repos/{repository}/issues/comments/{id}", "--input", "-", given=about)
            return Posted(f"The comment {id} of #{number} is up to date.")
    _gh("api", "--method", "POST", f"repos/{repository}/issues/{number}/comments", "--input", "-", given=about)
    return Posted(f"Commented on #{number}.")


def propose(folder: Path, *, root: Path, branch: str = BRANCH) -> Posted:
    """Commit the brain that a night made onto a branch of its own, push it, and open or update its pull request.

    `folder` is what `scripts/brain_ci nightly` left. The checkout in `root` is not touched.

    Raises:
        PostingError: the night made nothing, somebody else wrote on the branch, or git or GitHub refuses.
    """
    found = json.loads(_read(folder, "result.json", most=50_000_000))
    if found.get("outcome") != "accepted":
        return Posted(f"The night ended {found.get('outcome')}; there is nothing to propose.", written=False)
    path, commit, base = Path(found["path"]), found["commit"], found["branch"]
    title, body = found["title"], _read(folder, "report.md", most=MOST)
    made = _committed(folder / path.name, path, commit, root=root, title=title)
    remote = _git(root, "ls-remote", "--heads", "origin", branch).split()
    if remote:
        _git(root, "fetch", "--quiet", "origin", f"refs/heads/{branch}")
        writer = _git(root, "log", "-1", "--format=%ce", "FETCH_HEAD").strip()
        if writer != _WRITER["EMAIL"]:
            raise PostingError(f"{writer} wrote on {branch} last. Merge or delete that branch; it is not overwritten.")
    lease = f"--force-with-lease=refs/heads/{branch}:{remote[0] if remote else ''}"
    _git(root, "push", "--quiet", lease, "origin", f"{made}:refs/heads/{branch}")
    listed = _gh("pr", "list", "--head", branch, "--state", "open", "--json", "number", root=root)
    numbers = [one["number"] for one in json.loads(listed)]
    told = ("--title", title, "--body-file", "-")
    if numbers:
        _gh("pr", "edit", str(numbers[0]), *told, root=root, given=body)
        return Posted(f"#{numbers[0]} is up to date.")
    address = _gh("pr", "create", "--head", branch, "--base", base, *told, root=root, given=body).strip()
    return Posted(f"Opened {address}.")


def _committed(file: Path, path: Path, commit: str, *, root: Path, title: str) -> str:
    """A commit after `commit` in which just one file is another one. The checkout and its index are not touched."""
    writer = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _WRITER.items()}
    with tempfile.TemporaryDirectory() as scratch:
        own = {**writer, "GIT_INDEX_FILE": str(Path(scratch) / "index")}
        blob = _git(root, "hash-object", "-w", "--no-filters", str(file.resolve())).strip()
        _git(root, "read-tree", commit, own=own)
        _git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path.as_posix()}", own=own)
        tree = _git(root, "write-tree", own=own).strip()
        return _git(root, "commit-tree", tree, "-p", commit, "-m", title, own=own).strip()


def _read(folder: Path, name: str, *, most: int) -> str:
    """The text of one ordinary file of a folder. Raises PostingError."""
    path = folder / name
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            raise PostingError(f"{name} is no file of at most {most:,} bytes, so nothing is posted.")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as trouble:
        raise PostingError(f"{name} cannot be read: {trouble}.") from trouble


def _gh(*arguments: str, root: Path | None = None, given: str | None = None) -> str:
    return _run(("gh", *arguments), root=root, given=given)


def _git(root: Path, *arguments: str, own: dict[str, str] | None = None) -> str:
    return _run(("git", *arguments), root=root, own=own)


def _run(
    command: Sequence[str], *, root: Path | None = None, given: str | None = None, own: dict[str, str] | None = None
) -> str:
    about: dict[str, Any] = {"input": given} if given is not None else {"stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(
            command, cwd=root, env=os.environ | (own or {}), capture_output=True, encoding="utf-8", check=False, **about
        )
    except OSError as trouble:
        raise PostingError(f"{command[0]} cannot be run: {trouble.strerror}. Install it.") from trouble
    if done.returncode:
        raise PostingError(f"`{' '.join(command[:3])} …` failed: {done.stderr.strip()[-500:]}")
    printed: str = done.stdout
    return printed


if __name__ == "__main__":
    sys.exit("Use scripts/brain_ci post, or scripts/brain_ci propose.")
