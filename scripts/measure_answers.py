#!/usr/bin/env python3
"""Measure how often a model answers right, on questions kept for choosing, with and without memory.

    .venv/bin/python scripts/measure_answers.py --model 0.5b --arms schema,memory --write
    .venv/bin/python scripts/measure_answers.py --model 0.5b --arms memory --approach plan --write

Each answer must give the gold result (`agent/database/comparing.py`). The brain is a fresh one with the seed pack
in it; nothing is learned while measuring, and no habit answers. `--approach` takes one for every question; otherwise
procedural memory chooses. Tokens per right answer are those of all questions, the wrong ones too, over the right
ones: read anew, read from a prefix cache, and written. Accuracy comes with its 95 % Wilson interval, seconds are
medians of warm questions (all but the first).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import App, open_app, read_settings  # noqa: E402
from agent.attempt import Attempt  # noqa: E402
from agent.checkout import commit  # noqa: E402
from agent.database.comparing import same  # noqa: E402
from agent.learning.questions import Pair, read_pairs  # noqa: E402
from agent.learning.statistics import share  # noqa: E402
from agent.settings import FactLevel  # noqa: E402

ARMS: dict[str, tuple[bool, FactLevel]] = {
    "schema": (False, "terms"),
    "memory": (True, "terms"),
    "memory+values": (True, "values"),
    "memory+all": (True, "all"),
}
"""Whether episodes are recalled, and what of the links is shown."""


@dataclass(frozen=True)
class Answered:
    """One question of one arm. `outcome`: right, wrong, empty, or the problem of the last draft."""

    id: str
    type: str
    difficulty: str
    outcome: str
    sql: str
    drafts: int
    seconds: float
    recalled: int
    output_tokens: int
    input_tokens: int
    cache_read_tokens: int
    approach: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, default=ROOT / "data" / "questions" / "development.jsonl")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--arms", default="schema,memory", help=f"of {', '.join(ARMS)}")
    parser.add_argument("--approach", default=None, help="one for every question; procedural memory chooses otherwise")
    parser.add_argument("--examples", type=int, default=None, help="episodes shown; the setting's default otherwise")
    parser.add_argument("--every", type=int, default=1, help="take only each n-th question")
    parser.add_argument("--db", default=None)
    parser.add_argument("--brain", type=Path, default=None, help="keep the brain here instead of a fresh one")
    parser.add_argument("--write", action="store_true", help="keep the figures in runs/reference/")
    parser.add_argument("--verbose", action="store_true", help="print every answer")
    given = parser.parse_args()
    pairs = read_pairs(given.questions)[:: given.every]
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        settings = read_settings(
            os.environ,
            database=given.db,
            brain=given.brain or Path(scratch),
            model=given.model,
            approach=given.approach,
            habits=False,
        )
        if given.examples is not None:
            settings = replace(settings, recall_limit=given.examples)
        for arm in given.arms.split(","):
            memory, facts = ARMS[arm]
            chosen = replace(settings, facts=facts)
            with open_app(chosen, memory=memory, say=lambda text: print(text, file=sys.stderr)) as app:
                answers = [measure(app, pair, given.verbose) for pair in pairs]
                name = app.model.name
            figures[arm] = summary(answers)
            print(line(name, arm, figures[arm]), flush=True)
            figures[arm]["answers"] = [asdict(answer) for answer in answers]
    if given.write:
        path = ROOT / "runs" / "reference" / f"{file_stem(given.questions, given.model, given.approach)}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {
            "model": given.model,
            "approach": given.approach or "chosen by procedural memory",
            "commit": commit(),
            "command": "scripts/measure_answers.py " + " ".join(without_brain(sys.argv[1:])),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        }
        path.write_text(json.dumps(head | {"arms": figures}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(path)
    return 0


def without_brain(arguments: list[str]) -> list[str]:
    """The arguments without the place of a brain, which is of one machine.

    >>> without_brain(["--every", "3", "--brain", "here", "--write"]), without_brain(["--brain=here"])
    (['--every', '3', '--write'], [])
    """
    kept = [one for one, before in zip(arguments, ["", *arguments], strict=False) if "--brain" not in (one, before)]
    return [one for one in kept if not one.startswith("--brain=")]


def file_stem(questions: Path, model: str, approach: str | None) -> str:
    """Name the file of a measurement. Where an approach was asked for it is no measure of the product as it is.

    >>> file_stem(Path("data/odd.jsonl"), "0.5b", None), file_stem(Path("data/odd.jsonl"), "1.5b", "plan")
    ('answers-odd-0_5b', 'approach-plan-odd-1_5b')
    """
    first = f"approach-{approach}" if approach else "answers"
    return f"{first}-{questions.stem}-{re.sub('[^a-z0-9-]+', '_', model.lower())}"


def measure(app: App, pair: Pair, verbose: bool) -> Answered:
    attempt = list(app.ask(pair.question))[-1]
    outcome = judge(app, attempt, pair)
    if verbose:
        print(f"{outcome:8.40} {pair.id} {pair.question}\n         {attempt.sql}", flush=True)
    return Answered(
        pair.id,
        pair.type,
        pair.difficulty,
        outcome,
        attempt.sql,
        len(attempt.drafts),
        round(attempt.total_seconds, 2),
        len(attempt.recalled),
        attempt.usage.output_tokens,
        attempt.usage.input_tokens + attempt.usage.cache_write_tokens,
        attempt.usage.cache_read_tokens,
        attempt.approach,
    )


def judge(app: App, attempt: Attempt, pair: Pair) -> str:
    if attempt.result is None:
        last = attempt.last
        return f"{attempt.status}: {last.rule if last else 'no draft'}"
    gold = app.run(app.check(pair.sql))
    if same(gold, attempt.result, ordered=pair.ordered):
        return "right"
    return "empty" if not attempt.result.rows else "wrong"


def summary(answers: list[Answered]) -> dict[str, Any]:
    right = sum(answer.outcome == "right" for answer in answers)
    sure = share(right, len(answers)).interval
    kinds = Counter(answer.type for answer in answers)
    hits = Counter(answer.type for answer in answers if answer.outcome == "right")
    warm = [answer.seconds for answer in answers[1:]] or [answers[0].seconds]
    return {
        "questions": len(answers),
        "right": right,
        "accuracy": round(right / len(answers), 4),
        "interval": [round(sure.low, 4), round(sure.high, 4)],
        "outcomes": dict(Counter(answer.outcome for answer in answers).most_common()),
        "by_type": {kind: f"{hits[kind]}/{count}" for kind, count in sorted(kinds.items())},
        "seconds_median": statistics.median(warm),
        "seconds_p90": sorted(warm)[int(0.9 * (len(warm) - 1))],
        "first_seconds": answers[0].seconds,
        "tokens_per_right_answer": tokens_per_right_answer(answers, right),
    }


def tokens_per_right_answer(answers: list[Answered], right: int) -> dict[str, int] | None:
    """Tokens of all questions over the right answers; None where none is right."""
    if not right:
        return None
    return {
        "input": round(sum(answer.input_tokens for answer in answers) / right),
        "cached": round(sum(answer.cache_read_tokens for answer in answers) / right),
        "output": round(sum(answer.output_tokens for answer in answers) / right),
    }


def line(model: str, arm: str, figures: dict[str, Any]) -> str:
    right, (low, high) = figures["accuracy"], figures["interval"]
    spent = figures["tokens_per_right_answer"] or {}
    tokens = " + ".join(f"{count:,} {name}" for name, count in spent.items()) or "none"
    return (
        f"{model} {arm:13} {figures['right']}/{figures['questions']} = {right:.0%} [{low:.0%}, {high:.0%}]"
        f"  median {figures['seconds_median']:.1f} s, p90 {figures['seconds_p90']:.1f} s"
        f"  tokens per right answer: {tokens}  {figures['outcomes']}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
