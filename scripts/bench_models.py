#!/usr/bin/env python3
"""Measure a local model on this machine: loading, prefilling the schema, and answering warm.

    python scripts/bench_models.py                         the 0.5B on data/northwind.sqlite
    python scripts/bench_models.py --model 1.5b --threads 1
    python scripts/bench_models.py --model /own.gguf --database other.sqlite --json

The figures are for one machine at one time; other work on it changes them by half. Run it alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.models.choosing import choose  # noqa: E402
from agent.models.local import LocalModel  # noqa: E402
from agent.models.port import ModelError, Prompt, Turn  # noqa: E402

QUESTIONS = (
    "How many rows does the first table have?",
    "Which five values of the second column of the first table occur most often?",
    "How many rows does the last table have?",
    "List the names of all tables that have a date column.",
)


def main() -> int:
    """Print the figures; 1 when the model cannot answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="0.5b", help="a local model: 0.5b, 1.5b or a path to a .gguf file")
    parser.add_argument("--database", type=Path, default=ROOT / "data" / "northwind.sqlite", help="its schema is shown")
    parser.add_argument("--folder", type=Path, default=ROOT / "runs" / "models", help="where the local models are")
    parser.add_argument("--threads", type=int, default=None, help="default: the physical cores")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    try:
        figures = measure(options.model, options.database, options.folder, options.threads)
    except (ModelError, sqlite3.Error) as problem:
        print(problem, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:34} {value}")
    return 0


def measure(name: str, database: Path, folder: Path, threads: int | None) -> dict[str, float | int | str]:
    """Load twice, with an empty and with a filled store of prefilled schemas, and ask every question twice."""
    stable = f"Answer with one SQLite SELECT statement and nothing else.\n\n{schema_text(database)}"
    with tempfile.TemporaryDirectory() as prefixes:
        first = local_model(name, folder, Path(prefixes), threads)
        load = seconds(first.prepare)
        prefill = seconds(lambda: first.prepare(stable))
        answers = [first.complete(Prompt(stable, (Turn("user", question),), 120)) for question in QUESTIONS]
        again = [first.complete(Prompt(stable, (Turn("user", question),), 120)) for question in QUESTIONS]
        timing = first.timing
        first.close()
        second = local_model(name, folder, Path(prefixes), threads)
        second_load = seconds(second.prepare)
        restored = seconds(lambda: second.prepare(stable))
        third = [second.complete(Prompt(stable, (Turn("user", question),), 120)) for question in QUESTIONS]
        second.close()
        kept = sum(path.stat().st_size for path in Path(prefixes).iterdir())
    tokens = answers[0].usage.cache_read_tokens
    written = sum(answer.usage.output_tokens for answer in answers)
    return {
        "model": first.name,
        "schema tokens": tokens,
        "load seconds": round(load, 2),
        "prefill seconds, once per schema": round(prefill, 2),
        "prompt tokens a second": round(tokens / prefill),
        "load seconds, second process": round(second_load, 2),
        "prefill seconds, second process": round(restored, 3),
        "schema kept on disk, MB": round(kept / 1e6, 1),
        "seconds a question, warm": round(sum(answer.seconds for answer in answers) / len(answers), 2),
        "tokens written a question": round(written / len(answers)),
        "last question, tokens a second": round(timing.output_tokens / timing.output_seconds) if timing else 0,
        "same replies when asked again": str([a.text for a in answers] == [a.text for a in again]),
        "same replies in a second process": str([a.text for a in answers] == [a.text for a in third]),
        "peak memory, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def local_model(name: str, folder: Path, prefixes: Path, threads: int | None) -> LocalModel:
    """The model of that name, with an own place for prefilled schemas."""
    chosen = choose(name, folder=folder, threads=threads)
    if not isinstance(chosen, LocalModel):
        raise ModelError(f"{name} is not a local model. Name 0.5b, 1.5b or a path to a .gguf file.")
    return LocalModel(path=chosen.path, name=chosen.name, prefix_folder=prefixes, threads=threads)


def schema_text(database: Path) -> str:
    """The stored DDL of every table."""
    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL").fetchall()
    return ";\n".join(row[0] for row in rows)


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
