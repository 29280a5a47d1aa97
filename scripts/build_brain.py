#!/usr/bin/env python3
"""Write the accepted brain of a database, data/brain/NAME.brain, from its seed pack and its glossary.

    .venv/bin/python scripts/build_brain.py            write it
    .venv/bin/python scripts/build_brain.py --check    exit 1 where it does not hold all that the pack says

Each pair is run and checked, as by `hebbql seed`. What the file has besides stays: lines of another origin, the times
of known episodes, and pairs that were taken out, which are its `gone` lines. So the same pack gives the same bytes,
and a pair more is a line more.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import App, open_app, read_settings  # noqa: E402
from agent.keeping.versions import put_text  # noqa: E402
from agent.learning.questions import read_pairs  # noqa: E402
from agent.learning.seed import Source, verified  # noqa: E402
from memory.brain.snapshot import Snapshot, of_episode, read_file, to_text  # noqa: E402
from memory.episode import Episode  # noqa: E402

FIRST = 1_795_996_800
"""When the first pair counts as remembered: 2026-11-30, UTC. Each further one counts a second later."""


def accepted(app: App) -> tuple[Snapshot, tuple[str, ...]]:
    """What the accepted brain of an opened app's database must be, and the pairs that do not hold."""
    path = app.accepted_brain
    old = read_file(path, edited=True) if path.is_file() else Snapshot.of(app.schema.name, [])
    origin = f"seed:{app.shipped_pack.stem}"
    source = Source(origin, "gold", origin, app.schema.fingerprint, app.schema.dialect)
    pairs = read_pairs(app.shipped_pack)
    episodes, refused = verified(pairs, run=app.checked_run, understand=app.understand, source=lambda _pair: source)
    since = {_said(record.episode): record.body["since"] for record in old.of_kind("episode")}
    times = [at for at in since.values() if isinstance(at, int)]
    newest = max(times, default=FIRST - 1)
    records = {record.key: record for record in old.records.values() if record.body.get("origin") != origin}
    records = {key: record for key, record in records.items() if record.kind not in ("schema", "term")}
    records |= {key: record for key, record in app.versions.live.records.items() if key[0] in ("schema", "term")}
    for episode in dict.fromkeys(episodes):
        known = since.get(_said(episode))
        if str(episode.id) in old.gone:
            continue
        newest += known is None
        record = of_episode(episode, known if isinstance(known, int) else newest)
        records.setdefault(record.key, record)
    wanted = Snapshot.of(app.schema.name, records.values(), gone=old.gone, parent=old.parent)
    return wanted, tuple(one.name for one in refused)


def _said(episode: Episode) -> tuple[str, str]:
    """By what an episode is known again, also where its bucket or masked question is another by now."""
    return episode.question, episode.sql


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where it is not what it must be")
    parser.add_argument("--db", help="SQLite file or SQLAlchemy URL; Northwind by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = read_settings(os.environ, database=options.db, brain=Path(folder))
        with open_app(settings, seeding=False) as app:
            path = app.accepted_brain
            wanted, refused = accepted(app)
    for name in refused:
        print(f"{name} does not hold and is left out", file=sys.stderr)
    text = to_text(wanted)
    if options.check:
        same = path.is_file() and path.read_text("utf-8") == text
        anew = "" if same else ", but the file says otherwise. Write it anew: scripts/build_brain.py"
        print(f"{path.name}: {wanted.hash[:12]}{anew}")
        return 0 if same and not refused else 1
    put_text(path, text)
    print(f"{path.name}: {wanted.hash[:12]}, {len(wanted)} records")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
