#!/usr/bin/env python3
"""Measure the rules of the chat without a model: how many follow-ups become the question that was meant.

    .venv/bin/python scripts/measure_followups.py

A follow-up counts as meant when its whole question has the bucket, the masks and the linked values and terms of the
one that was expected, the same direction (most, least), comparisons and negations, or when nothing was expected and it
asks for nothing. In a chain each is said after the question that was expected before it, with that question's answer.
What no rule rewrites a chat would ask its model to.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import App, open_app, read_settings  # noqa: E402
from agent.attempt import Understood  # noqa: E402
from agent.followup import Shown, nudge, rewrite  # noqa: E402

Came = Literal["as meant", "not understood", "other"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--followups", type=Path, default=ROOT / "data" / "questions" / "followups.jsonl")
    parser.add_argument("--show", action="store_true", help="also print those that did not become what was meant")
    given = parser.parse_args()
    pairs = [json.loads(line) for line in given.followups.read_text(encoding="utf-8").splitlines()]
    counted: Counter[tuple[bool, Came]] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        settings = read_settings(os.environ, brain=Path(scratch))
        with open_app(settings, seeding=False, say=lambda text: print(text, file=sys.stderr)) as app:
            for pair in pairs:
                became = rewritten(app, pair)
                how = came(app, became, pair["whole"])
                counted["chain" in pair, how] += 1
                if given.show and how != "as meant":
                    print(f"{how}: {pair['previous']} / {pair['followup']} -> {became}")
    for name, chains in (("follow-ups", (False, True)), ("of which in chains", (True,))):
        totals = {how: sum(counted[chain, how] for chain in chains) for how in ("as meant", "not understood", "other")}
        print(f"{sum(totals.values())} {name}: " + ", ".join(f"{total} {how}" for how, total in totals.items()))
    return 0


def rewritten(app: App, pair: dict[str, str]) -> str | None:
    """The whole question that the rules make of a follow-up, or None."""
    if nudge(pair["followup"]):
        return None
    result = app.checked_run(pair["sql"])
    shown = Shown(result.columns, result.rows, result.truncated is not None)
    found = rewrite(app.understand(pair["previous"]), pair["followup"], app.understand, shown)
    return found.question if found else None


def came(app: App, became: str | None, expected: str | None) -> Came:
    """How the whole question compares with the one that was expected."""
    if became is None:
        return "as meant" if expected is None else "not understood"
    if expected is None:
        return "other"
    return "as meant" if meaning(app.understand(became)) == meaning(app.understand(expected)) else "other"


def meaning(understood: Understood) -> tuple[object, ...]:
    """What two questions that ask the same have in common, however they are worded."""
    grounding = understood.grounding
    masks = sorted(re.findall(r"<[a-z_]+>", understood.masked))
    values = {(link.kind, link.table, link.column, link.value) for link in grounding.chosen if link.value is not None}
    compared = sorted((one.operator, one.number, one.high or "") for one in grounding.comparisons)
    return understood.bucket, masks, values, grounding.direction, compared, len(grounding.negations)


if __name__ == "__main__":
    raise SystemExit(main())
