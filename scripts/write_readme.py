#!/usr/bin/env python3
"""Keep the generated parts of README.md true: transcript, help text, the ten questions and the measured figures.

    .venv/bin/python scripts/write_readme.py             render from runs/reference/ (a test checks that it is)
    .venv/bin/python scripts/write_readme.py --measure   first ask the ten questions again, with and without memory
    .venv/bin/python scripts/write_readme.py --habit     first form a habit in a fresh brain, and show it at work

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
HABIT = REFERENCE / "habit.txt"
CHAT = REFERENCE / "chat.txt"
STORY = REFERENCE / "story.txt"
NIGHT = "night"
MODELS = ("1.5b", "0.5b")
BUCKET_PARTS = {
    "all": "the team's own, tuned on",
    "stranger_development": "a stranger's, tuned on",
    "stranger_held": "a stranger's, held back",
    "stranger_final": "a second stranger's, run once at the end",
}
FIRST = "Which five customers brought the most revenue in 1997?"
sys.path.insert(0, str(ROOT))

from agent.drafting.approaches import APPROACHES  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="ask the ten questions again; takes some minutes")
    parser.add_argument("--habit", action="store_true", help="show a habit again; takes a minute")
    given = parser.parse_args()
    if given.measure:
        measure()
    if given.habit:
        show_habit()
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
    asked: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for model in MODELS:
            settings = read_settings(os.environ, brain=Path(scratch), model=model)
            asked[model] = {}
            for arm in ("schema", "memory"):
                with open_app(settings, memory=arm == "memory", say=lambda text: print(text, file=sys.stderr)) as app:
                    answers = []
                    for pair in pairs:
                        attempt = list(app.ask(pair.question))[-1]
                        gold = app.run(app.check(pair.sql))
                        right = attempt.result is not None and same(gold, attempt.result, ordered=pair.ordered)
                        answer = {"question": pair.question, "right": right, "status": attempt.status}
                        answers.append(answer | {"sql": attempt.sql, "seconds": round(attempt.total_seconds, 1)})
                    asked[model][arm] = answers
        TRANSCRIPT.write_text(_transcript(Path(scratch)), encoding="utf-8")
    found = {"command": "scripts/write_readme.py --measure", "models": asked}
    TEN.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def show_habit() -> None:
    """Ask one question about three countries, call the answers good that are, and keep what the fourth prints."""
    from agent.app import open_app, read_settings

    asked = "How many customers are there in {}?"
    with tempfile.TemporaryDirectory() as scratch:
        settings = read_settings(os.environ, brain=Path(scratch), model=MODELS[0])
        with open_app(settings, say=lambda text: print(text, file=sys.stderr)) as app:
            for country in ("Germany", "Mexico", "Italy"):
                attempt = list(app.ask(asked.format(country)))[-1]
                gold = app.run(app.check(f"SELECT COUNT(*) FROM Customers WHERE Country = '{country}'"))
                if attempt.result is None or attempt.result.rows != gold.rows:
                    raise SystemExit(f"The model answered wrong about {country}: {attempt.sql or attempt.message}")
                app.feedback(attempt.id, verdict="good")
        question = asked.format("Spain")
        HABIT.write_text(f'$ hebbql ask "{question}"\n{_transcript(Path(scratch), question)}', encoding="utf-8")


def _transcript(brain: Path, question: str = FIRST) -> str:
    """What the first command of the README prints, in a brain that is set up already."""
    code = "from agent.doors.cli import main; main()"
    command = [sys.executable, "-c", code, "ask", question]
    environ = os.environ | {"COLUMNS": "100", "HEBBQL_BRAIN": str(brain)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environ)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def _transcript_part() -> str:
    return f'```console\n$ scripts/ask "{FIRST}"\n{TRANSCRIPT.read_text(encoding="utf-8").strip(chr(10))}\n```'


def _habit_part() -> str:
    return f"```console\n{HABIT.read_text(encoding='utf-8').strip(chr(10))}\n```"


def _chat_part() -> str:
    """A chat with the 1.5b at 100 columns; spaces at the ends of lines are taken off."""
    return f"```console\n{CHAT.read_text(encoding='utf-8').strip(chr(10))}\n```"


def _story_part() -> str:
    """How a poisoned memory is found and taken out; what `scripts/brain_story.py` prints."""
    return f"```console\n{STORY.read_text(encoding='utf-8').strip(chr(10))}\n```"


def _ten_part() -> str:
    asked = json.loads(TEN.read_text(encoding="utf-8"))["models"]
    columns = [(model, arm) for model in MODELS for arm in ("schema", "memory")]
    names = [f"{model}, {'with memory' if arm == 'memory' else 'schema only'}" for model, arm in columns]
    lines = [f"| question | {' | '.join(names)} |", "|---" * (len(columns) + 1) + "|"]
    for place, one in enumerate(asked[MODELS[0]]["memory"]):
        marks = " | ".join(_mark(asked[model][arm][place]) for model, arm in columns)
        lines.append(f"| {one['question']} | {marks} |")
    totals = (sum(answer["right"] for answer in asked[model][arm]) for model, arm in columns)
    return "\n".join([*lines, f"| **right** | {' | '.join(f'**{total} of 10**' for total in totals)} |"])


def _mark(answer: dict[str, Any]) -> str:
    return "right" if answer["right"] else "wrong" if answer["status"] == "answered" else str(answer["status"])


def _levers_part() -> str:
    """What each lever of the code is worth, from `scripts/ablate.py --write`."""
    lines = [
        "| model | levers | right | 95 % interval | to none, points | answered without the model | median s |",
        f"|{'---|' * 7}",
    ]
    for path in sorted(REFERENCE.glob("levers/*/levers.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        apart = {one["variant"]: one for one in found["comparisons"] if one["against"] == "none"}
        for one in found["variants"]:
            right, alone = one["right"], one["without_model"]
            low, high = right["interval"]
            gain = apart.get(one["variant"])
            points = ""
            if gain is not None:
                least, most = (100 * end for end in gain["interval"])
                points = f"{100 * gain['value']:+.1f} ({least:+.1f} to {most:+.1f})"
            held = f"{right['right']} of {right['total']} ({right['value']:.0%})"
            lines.append(
                f"| {path.parent.name} | {one['variant']} | {held} | {low:.0%} to {high:.0%} | {points} | "
                f"{alone['right']} | {one['seconds_median']:.1f} |"
            )
    return "\n".join(lines)


def _buckets_part() -> str:
    found = json.loads((REFERENCE / "buckets.json").read_text(encoding="utf-8"))
    lines = ["| paraphrases | groups | share a bucket | different types collide |", "|---|---|---|---|"]
    for part, words in BUCKET_PARTS.items():
        shared, collided = found[part]["paraphrases_share_a_bucket"], found[part]["different_types_collide"]
        low, high = shared["interval_95"]
        held = f"{shared['hits']} of {shared['pairs']} ({shared['share']:.1%}; {low:.0%} to {high:.0%})"
        lines.append(f"| {words} | {found[part]['groups']} | {held} | {collided['share']:.1%} |")
    return "\n".join(lines)


def _help_part() -> str:
    code = "from agent.doors.cli import main; main()"
    shown = []
    for command in ((), ("ask",), ("feedback",), ("forget",), ("train",), ("evaluate",), ("seed",), ("brain",)):
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


def _speed_part() -> str:
    """The figures that have a bound, from `scripts/bench --write`."""
    found = json.loads((REFERENCE / "bench.json").read_text(encoding="utf-8"))
    on = found["machine"]
    lines = [f"Measured on {on['cpu']}, {on['cores']} cores, {on['ram_gb']} GB, Python {on['python']}:", ""]
    lines += ["| what | measured | bound | |", "|---|---|---|---|"]
    for name, section in found["sections"].items():
        for one in section["figures"]:
            if one["bound"] is None or one["value"] is None:
                continue
            met = "met" if one["met"] else "**missed**"
            lines.append(f"| {name}: {one['name']} | {one['value']:.3g} {one['unit']} | {one['bound']:g} | {met} |")
    return "\n".join(lines)


def _approaches_part() -> str:
    """What each approach alone comes to, from `scripts/measure_answers.py --approach NAME --write`."""
    lines = ["| approach | what the model is asked | model | right | tokens per right answer |", f"|{'---|' * 5}"]
    for approach in APPROACHES:
        for path in sorted(REFERENCE.glob(f"approach-{approach.name}-development-*.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            figures = found["arms"]["memory"]
            right = f"{figures['right']} of {figures['questions']}"
            tokens = sum((figures["tokens_per_right_answer"] or {}).values())
            lines.append(f"| {approach.name} | {approach.about} | {found['model']} | {right} | {tokens:,} |")
    return "\n".join(lines)


def _night_part() -> str:
    """What was measured: a folder each below runs/reference/, of a run, an evaluation, or both.

    `command.txt` in it says how it was made.
    """
    folders = {path.parent for name in ("report.json", "evaluation.json") for path in REFERENCE.glob(f"*/{name}")}
    if not folders:
        return "No run is published yet."
    order = sorted(folders, key=lambda folder: (folder.name != NIGHT, not (folder / "report.json").is_file(), folder))
    return "\n\n".join(map(_one_night, order))


def _one_night(folder: Path) -> str:
    """The finding of a run or of an evaluation alone, how it was made, and the table of arms."""
    name, place = folder.name, folder.relative_to(ROOT)
    files = {file: folder / f"{file}.json" for file in ("report", "evaluation")}
    found = {file: json.loads(path.read_text("utf-8")) for file, path in files.items() if path.is_file()}
    finding = found.get("report", found.get("evaluation", {}))["finding"]
    links = ", ".join(f"[{file}]({place}/{file}.md)" for file in found)
    made = (folder / "command.txt").read_text("utf-8").strip()
    parts = [f"**{name}**: {finding} ({links}; `{made}`)"]
    if "report" in found:
        parts.append(f"![Right answers by epoch]({place}/curve.svg)")
    if "evaluation" in found:
        parts.append(_arms_table(found["evaluation"]))
    return "\n\n".join(parts)


def _arms_table(found: dict[str, Any]) -> str:
    against = {one["arm"]: one["difference"] for one in found["comparisons"] if one["against"] == "schema"}
    lines = ["| arm | shown to the model | right | 95 % interval | points more than schema |", f"|{'---|' * 5}"]
    for arm in found["arms"]:
        share, gain = arm["share"], against.get(arm["arm"])
        span = f"{share['interval']['low']:.0%} to {share['interval']['high']:.0%}"
        points = ""
        if gain is not None:
            low, high = (100 * gain["interval"][end] for end in ("low", "high"))
            points = f"{100 * gain['value']:+.0f} ({low:+.0f} to {high:+.0f})"
        right = f"{share['right']} of {share['total']} ({share['value']:.0%})"
        lines.append(f"| {arm['arm']} | {arm['about']} | {right} | {span} | {points} |")
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "transcript": _transcript_part,
    "ten questions": _ten_part,
    "levers": _levers_part,
    "story": _story_part,
    "buckets": _buckets_part,
    "habit": _habit_part,
    "chat": _chat_part,
    "speed": _speed_part,
    "approaches": _approaches_part,
    "night": _night_part,
    "help": _help_part,
}

if __name__ == "__main__":
    raise SystemExit(main())
