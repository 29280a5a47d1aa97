#!/usr/bin/env python3
"""Build the brain of one `data` folder in a fresh place, run its checks, ask its questions, and print JSON.

    .venv/bin/python scripts/brain_ci_measure.py data --name northwind --brain FOLDER --checks data/brain/checks

`scripts/brain_ci` runs it, once for each of two brains: Cognee's paths are those of a process. No model is asked, and
nothing outside of FOLDER is written. What is wrong with the brain is told in the JSON (`error`, `refused`), with exit
code 0.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from agent.app import App
    from agent.settings import Settings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder as data/ of the repository is")
    parser.add_argument("--name", required=True, help="of the database: NAME.sqlite in it, brain/NAME.brain")
    parser.add_argument("--brain", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--checks", type=Path, required=True, help="the checks that are run")
    parser.add_argument("--also", type=Path, help="further checks, told apart from those")
    parser.add_argument("--questions", type=Path, help="what is asked, with known answers")
    parser.add_argument("--junit", type=Path, help="also write the checks as JUnit XML")
    parser.add_argument("--pack", action="store_true", help="also tell whether the brain holds what its seed pack says")
    options = parser.parse_args()
    from agent.app import FAILURES, USAGE_ERRORS, open_app
    from agent.settings import Settings

    settings = Settings(
        database=str(options.data / f"{options.name}.sqlite"),
        data=options.data,
        brain=str(options.brain),
        runs=options.brain.parent / "runs",
    )
    told: dict[str, Any]
    try:
        stale = pack_is_stale(settings) if options.pack else False
        with open_app(settings, seeding=False, say=_say) as app:
            told = {**measured(app, options), "stale": stale}
    except (*FAILURES, *USAGE_ERRORS) as error:
        told = {"error": str(error)}
    print(json.dumps(told, ensure_ascii=False))
    return 0


def measured(app: App, options: argparse.Namespace) -> dict[str, Any]:
    """Build, check and ask.

    Raises:
        SnapshotError: the brain's file cannot be read, or is of another database.
        QuestionFileError, RunError: questions cannot be read or asked.
    """
    from agent.doors.checks import write_junit
    from agent.keeping.measuring import Questions, measure
    from agent.learning.questions import read_pairs

    built = app.versions.build(app.versions.plan())
    also = app.checking.test(options.also) if options.also else ()
    pairs, left_out = app.confirmed(read_pairs(options.questions)) if options.questions else ((), ())
    found = measure(app, Questions(pairs, checks=options.checks), lambda opened, folder: opened.checking.test(folder))
    if options.junit:
        write_junit(found.checks, options.junit, database=app.schema.name)
    return {
        "error": "",
        "hash": built.hash,
        "same": built.same,
        "episodes": len(app.versions.live.episodes),
        "refused": [asdict(one) for one in built.plan.refused],
        "other_results": list(built.plan.other_results),
        "checks": [asdict(one) for one in found.checks],
        "also": [asdict(one) for one in also],
        "answers": [asdict(one) for one in found.answers],
        "left_out": [one.name for one in left_out],
    }


def pack_is_stale(settings: Settings) -> bool:
    """Whether the seed pack and the glossary would make another brain than the file is. Raises SnapshotError."""
    from agent.app import open_app
    from memory.brain.snapshot import read_file
    from scripts.build_brain import accepted

    beside = replace(settings, brain=f"{settings.brain}-of-pack")
    with open_app(beside, seeding=False) as app:
        wanted, _ = accepted(app)
        return wanted.records != read_file(app.accepted_brain).records


def _say(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
