#!/usr/bin/env python3
"""Measure recall without a model: how often an episode of the right shape over the right tables is among the first.

    .venv/bin/python scripts/measure_recall.py

Relevant is an episode with the gold query's skeleton and tables. The brain is a fresh one with the seed pack in it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import App, open_app, read_settings  # noqa: E402
from agent.database.skeleton import skeleton  # noqa: E402
from agent.learning.questions import read_pairs  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, default=ROOT / "data" / "questions" / "development.jsonl")
    parser.add_argument("--limit", type=int, default=5, help="how many episodes are recalled")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        settings = replace(read_settings(os.environ, brain=Path(scratch)), recall_limit=given.limit)
        with open_app(settings, say=lambda text: print(text, file=sys.stderr)) as app:
            app.get_ready_to_recall()
            pool = {shape(app, episode.sql) for episode in app.ledger.episodes()}
            asked = [(pair.question, shape(app, pair.sql)) for pair in read_pairs(given.questions)]
            found = [(wanted, recalled(app, question)) for question, wanted in asked]
    possible = sum(wanted in pool for wanted, _ in found)
    hit = sum(wanted in shapes for wanted, shapes in found)
    over = sum(wanted[1] in {tables for _, tables in shapes} for wanted, shapes in found)
    print(f"{len(found)} questions; {possible} have an episode of their skeleton and tables in the pool")
    print(f"among the first {given.limit}: skeleton and tables {hit}, tables alone {over}")
    return 0


def shape(app: App, sql: str) -> tuple[str, frozenset[str]]:
    """The skeleton of a query and the tables it reads."""
    return skeleton(sql, app.schema.dialect), frozenset(app.check(sql).tables)


def recalled(app: App, question: str) -> list[tuple[str, frozenset[str]]]:
    """The shapes of the episodes recalled for a question, best first."""
    return [shape(app, memory.episode.sql) for memory in app.recalled(app.understand(question))]


if __name__ == "__main__":
    raise SystemExit(main())
