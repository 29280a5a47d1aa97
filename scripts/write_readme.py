#!/usr/bin/env python3
"""Keep the generated parts of README.md true: transcript, help text, the ten questions and the measured figures.

    .venv/bin/python scripts/write_readme.py             render from runs/reference/ (a test checks that it is)
    .venv/bin/python scripts/write_readme.py --measure   first ask the ten questions again, with and without memory

A part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "runs" / "reference"
TEN = REFERENCE / "ten-questions.json"
TRANSCRIPT = REFERENCE / "transcript.txt"
FIRST = "Which five customers brought the most revenue in 1997?"
sys.path.insert(0, str(ROOT))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="ask the ten questions again; takes some minutes")
    if parser.parse_args().measure:
        measure()
    readme = ROOT / "README.md"
    readme.write_text(rendered(readme.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def rendered(text: str) -> str:
    """Give the README with every generated part made anew."""
    for name, make in PARTS.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        part = f"{begin}\n{make().strip()}\n{end}"
        text, found = re.subn(re.escape(begin) + r".*?" + re.escape(end), lambda _: part, text, flags=re.DOTALL)  # noqa: B023
        if found != 1:
            raise SystemExit(f"README.md must have the part {name} once; it has it {found} times.")
    return text


def measure() -> None:
    """Ask the ten questions in a fresh brain, with and without memory, and keep what came out."""
    from agent.app import open_app, read_settings
    from agent.database.comparing import same
    from agent.learning.questions import read_pairs

    pairs = read_pairs(ROOT / "data" / "questions" / "readme.jsonl")
    with tempfile.TemporaryDirectory() as scratch:
        settings = read_settings(os.environ, brain=Path(scratch))
        asked: dict[bool, list[dict[str, Any]]] = {}
        for memory in (True, False):
            with open_app(settings, memory=memory, say=lambda text: print(text, file=sys.stderr)) as app:
                asked[memory] = []
                for pair in pairs:
                    attempt = list(app.ask(pair.question))[-1]
                    gold = app.run(app.check(pair.sql))
                    right = attempt.result is not None and same(gold, attempt.result, ordered=pair.ordered)
                    answer = {"question": pair.question, "right": right, "status": attempt.status, "sql": attempt.sql}
                    asked[memory].append(answer | {"seconds": round(attempt.total_seconds, 1), "model": attempt.model})
        TRANSCRIPT.write_text(_transcript(Path(scratch)), encoding="utf-8")
    found = {"command": "scripts/write_readme.py --measure", "memory": asked[True], "schema": asked[False]}
    TEN.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _transcript(brain: Path) -> str:
    """What the first command of the README prints, in a brain that is set up already."""
    code = "from agent.doors.cli import main; main()"
    command = [sys.executable, "-c", code, "ask", "--brain", str(brain), FIRST]
    environ = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environ)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def _transcript_part() -> str:
    return f'```console\n$ scripts/ask "{FIRST}"\n{TRANSCRIPT.read_text(encoding="utf-8").strip()}\n```'


def _ten_part() -> str:
    found = json.loads(TEN.read_text(encoding="utf-8"))
    rows = [
        f"| {one['question']} | {_mark(other)} | {_mark(one)} |"
        for one, other in zip(found["memory"], found["schema"], strict=True)
    ]
    right = {arm: sum(answer["right"] for answer in found[arm]) for arm in ("schema", "memory")}
    total = f"| **right** | **{right['schema']} of {len(rows)}** | **{right['memory']} of {len(rows)}** |"
    return "\n".join(["| question | schema only | with memory |", "|---|---|---|", *rows, total])


def _mark(answer: dict[str, Any]) -> str:
    return "right" if answer["right"] else "wrong" if answer["status"] == "answered" else str(answer["status"])


def _figures_part() -> str:
    lines = ["| model | shown | right | 95 % interval | seconds, median warm |", "|---|---|---|---|---|"]
    for path in sorted(REFERENCE.glob("answers-development-*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        for arm, figures in found["arms"].items():
            low, high = figures["interval"]
            share = f"{figures['right']} of {figures['questions']} ({figures['accuracy']:.0%})"
            span, seconds = f"{low:.0%} to {high:.0%}", f"{figures['seconds_median']:.1f}"
            lines.append(f"| {found['model']} | {arm} | {share} | {span} | {seconds} |")
    return "\n".join(lines)


def _help_part() -> str:
    code = "from agent.doors.cli import main; main()"
    shown = []
    for command in ((), ("ask",), ("feedback",), ("forget",)):
        done = subprocess.run(
            [sys.executable, "-c", code, *command, "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
        )
        shown.append(f"$ {' '.join(('hebbql', *command, '--help'))}\n{done.stdout.strip()}")
    return "```console\n" + "\n\n".join(shown) + "\n```"


PARTS: dict[str, Callable[[], str]] = {
    "transcript": _transcript_part,
    "ten questions": _ten_part,
    "figures": _figures_part,
    "help": _help_part,
}

if __name__ == "__main__":
    raise SystemExit(main())
