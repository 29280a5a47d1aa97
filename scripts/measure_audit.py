#!/usr/bin/env python3
"""Measure the audit: planted faults that it finds, and controls that it stays silent about.

    .venv/bin/python scripts/measure_audit.py

The set is tests/agent/auditing/labelled.toml, planted in one real brain over a real SQLite database: faults to be
found, cases to be called inconclusive, and controls. The pairs of notes for the rule of meaning are
tests/agent/auditing/notes*.jsonl. All are by the project itself, so that the figures say what holds, not what other
people's memories would give. Writes runs/reference/audit/audit.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import open_app  # noqa: E402
from agent.auditing.labelled import plant, read_labelled, score, settings_in  # noqa: E402

SET = ROOT / "tests" / "agent" / "auditing" / "labelled.toml"
NOTES = (
    ("notes.jsonl", "Pairs of the author, by which judges are accepted"),
    ("notes_heldout.jsonl", "Pairs written before the rule was changed, and looked at while it was"),
    ("notes_further.jsonl", "Pairs written before the rule was changed, and measured when it was done"),
    ("notes_unseen.jsonl", "Pairs written when the rule was done; nothing was changed by them"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "reference" / "audit")
    parser.add_argument("--judge", metavar="MODEL", help="Measure a model as a judge, and take it if it is no worse.")
    given = parser.parse_args()
    if given.judge:
        return measure_judge(given.judge)
    labelled = read_labelled(SET)
    with tempfile.TemporaryDirectory() as made, open_app(settings_in(Path(made), labelled), seeding=False) as app:
        cases = plant(app, labelled)
        scored = score(cases, app.auditing.audit().findings)
    told = [
        "# What the audit finds\n",
        "Made by `.venv/bin/python scripts/measure_audit.py`. Shares with 95 % Wilson intervals.\n",
        scored.markdown,
        *(f"- wrong: {line}\n" for line in scored.wrong),
    ]
    told.append(meanings())
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "audit.md").write_text("\n".join(told), encoding="utf-8")
    print("\n".join(told))
    return 1 if scored.wrong else 0


def measure_judge(name: str) -> int:
    """Measure a model on the pairs; add it to data/judges.toml where none of its scores is below the current ones."""
    from agent.app import read_settings
    from agent.auditing.judges import Asked, read_note_pairs, scores
    from agent.auditing.semantic import take_judge

    with tempfile.TemporaryDirectory() as made:
        settings = read_settings(os.environ, brain=Path(made) / "brain", model=name)
        with open_app(settings, seeding=False, say=print) as app:
            app.get_model_ready()
            found = scores(Asked(app.model), read_note_pairs(SET.parent / "notes.jsonl"))
    print(found.markdown)
    reason = take_judge(ROOT / "data" / "judges.toml", found)
    print(f"Not accepted: {reason}." if reason else "Accepted.")
    return 1 if reason else 0


def meanings() -> str:
    """How the rule of meaning does on the pairs that it was made with, and on others."""
    from agent.auditing.judges import Polarity, read_note_pairs, scores

    told = ["## Meaning, by the rule of polarity\n"]
    for name, about in NOTES:
        pairs = read_note_pairs(SET.parent / name)
        found = scores(Polarity(), pairs)
        told += [f"{about} (`{name}`, {sum(pair.contradicts for pair in pairs)} of them contradict):\n", found.markdown]
        told += [f"- wrong: {line}" for line in found.wrong] + [""]
    return "\n".join(told)


if __name__ == "__main__":
    raise SystemExit(main())
