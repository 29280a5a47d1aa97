#!/usr/bin/env python3
"""Measure recall: how long one takes, with how much memory, in a brain of made-up episodes.

    python scripts/bench_recall.py                          5,000 episodes in 60 buckets, embedded for real
    python scripts/bench_recall.py --growth                 1,000, 10,000 and 100,000 episodes as well; about 15 minutes
    python scripts/bench_recall.py --episodes 500 --json --keep runs/bench

Every recall is for a question whose text was never embedded, in a bucket drawn anew, through Cognee. The brain is
written by one process and measured in another that has written nothing. For the growth the vectors of the episodes
are drawn at random, as embedding them all would take longer than writing them; the questions are embedded for real.
The figures are for one machine at one time; other work on it changes them by half.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.models.local import load_runtime  # noqa: E402
from memory.cognee_store import CogneeStore  # noqa: E402
from memory.embedder import Embedder, MiniLM  # noqa: E402
from memory.episode import Episode  # noqa: E402
from memory.ledger import Ledger  # noqa: E402
from memory.outbox import drain  # noqa: E402
from memory.recall import Recall, indexed_text  # noqa: E402
from memory.vectors import KeptVectors  # noqa: E402

if TYPE_CHECKING:
    from memory.embedder import Vector

EPISODES = 5_000
BUCKETS = 60
GROWTH = (1_000, 10_000, 100_000)
LONGEST_WRITE = 600.0
"""Seconds after which no larger brain of the growth is written."""

_AT_ONCE = 500
"""Episodes that the ledger is told in one transaction."""

_THINGS = {
    ("Customers",): "customers",
    ("Customers", "Orders"): "orders of a customer",
    ("Orders", "Shippers"): "orders that a shipper took",
    ("Products", "Suppliers"): "products of a supplier",
    ("Employees", "Orders"): "orders that an employee sold",
}
_KINDS = {
    "count": "How many {things} are there {where}",
    "list": "List the {things} {where}",
    "sum": "What do the {things} {where} come to in total",
    "average": "What is the average of the {things} {where}",
    "top_n": "Which {things} {where} are the first {number}",
    "by_group": "Give the {things} {where} for each region",
    "over_time": "How did the {things} {where} change over the months",
    "share": "What percentage of the {things} is {where}",
    "missing": "Which {things} {where} have no fax number",
    "lookup": "What is the phone number of the {things} {where}",
    "extreme": "What is the largest of the {things} {where}",
    "compare": "Are there more {things} {where} than elsewhere",
}
_OPENERS = ("", "Please tell me: ", "For the report, ", "Just the figure: ", "Quick one, ", "I need to know, ", "Say, ")
_WHERE = (
    "in {place}",
    "from {place} since {year}",
    "that were shipped to {place}",
    "with more than {number} pieces",
    "before {year}",
    "outside {place}",
    "named {place}",
    "late by over {number} days",
    "in the category {place}",
    "paid after {year} in {place}",
    "worth at least {number} each",
    "with a discount of {number} percent",
)
_SYLLABLES = tuple(itertools.chain.from_iterable((f"{c}a", f"{c}o", f"{c}e") for c in "bdfgklmnprstvz"))


def made_up(buckets: int, seed: int) -> Iterator[Episode]:
    """Endless episodes, bucket after bucket; the same for the same seed."""
    chance = random.Random(seed)
    intents = list(itertools.islice(itertools.cycle(itertools.product(_KINDS, _THINGS)), buckets))
    for number in itertools.count():
        kind, tables = intents[number % buckets]
        shape = chance.choice(_OPENERS) + _KINDS[kind] + "?"
        where = chance.choice(_WHERE)
        place = "".join(chance.choice(_SYLLABLES) for _ in range(4)).capitalize()
        told = {"place": place, "year": str(chance.randrange(1900, 2100)), "number": str(chance.randrange(2, 9_000))}
        question = shape.format(things=_THINGS[tables], where=where, number="{number}").format(**told)
        masked = re.sub(rf"{place}|\d+", "<value>", question)
        yield Episode(
            bucket=hashlib.sha256(f"{number % buckets} {kind} {tables}".encode()).hexdigest()[:16],
            kind=kind,
            tables=tables,
            question=question,
            masked=masked,
            sql=f"SELECT '{kind}', '{place}', {number} FROM \"{tables[0]}\"",
            skeleton=f"SELECT ?, ?, ? FROM {where}",
            origin="seed:made-up",
            verifier="gold",
            batch="made-up",
            schema_fingerprint="made-up",
            result_fingerprint="made-up",
        )


class Drawn:
    """Gives each stored text a vector drawn by its hash in microseconds, and each text asked its real one."""

    id, dimensions = "drawn", MiniLM.dimensions

    def __init__(self, *, asked: Sequence[Episode], embedder: Embedder) -> None:
        self._asked = {text for one in asked for text in (one.question, one.masked)}
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        import numpy

        if text in self._asked:
            return self._embedder.embed([text])[0]
        digest = hashlib.sha256(text.encode()).digest()
        vector = numpy.random.default_rng(int.from_bytes(digest[:8], "big")).standard_normal(self.dimensions)
        return (vector / numpy.linalg.norm(vector)).astype(numpy.float32)


def measure(*, episodes: int = EPISODES, drawn: bool = False, folder: Path | None = None) -> dict[str, Any]:
    """Write a brain of so many episodes in BUCKETS buckets, then measure recall in a process of its own.

    Times are milliseconds, memory and disk megabytes. `folder` keeps the brain, and uses one that is there.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as scratch:
            return measure(episodes=episodes, drawn=drawn, folder=Path(scratch))
    written = folder / "written.json"
    if not written.exists():
        written.write_text(json.dumps(_in_own_process("write", episodes, drawn, folder)))
    told = json.loads(written.read_text())
    return {**told, **_in_own_process("ask", episodes, drawn, folder)}


def _in_own_process(step: str, episodes: int, drawn: bool, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--step", step, "--episodes", str(episodes), "--keep", str(folder)]
    done = subprocess.run([*command, *(["--drawn"] if drawn else [])], stdout=subprocess.PIPE, check=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _opened(folder: Path, drawn: bool) -> tuple[Ledger, CogneeStore, Embedder, list[Episode]]:
    load_runtime()
    # A seed of their own: the texts asked are in no episode.
    asked = list(itertools.islice(made_up(BUCKETS, seed=2), BUCKETS * 8))
    random.Random(3).shuffle(asked)
    embedder: Embedder = MiniLM()
    embedder.embed(["warm"])
    if drawn:
        embedder = Drawn(asked=asked, embedder=embedder)
    ledger = Ledger.open(folder / "brain.sqlite", database="made-up")
    return ledger, CogneeStore(folder / "cognee", embedder=embedder), embedder, asked


def write(episodes: int, drawn: bool, folder: Path) -> dict[str, Any]:
    """Write the brain: into the ledger, then into Cognee bucket by bucket, then the vectors of masked questions."""
    folder.mkdir(parents=True, exist_ok=True)
    ledger, store, embedder, _ = _opened(folder, drawn)
    begun = time.perf_counter()
    made = itertools.islice(made_up(BUCKETS, seed=1), episodes)
    while some := list(itertools.islice(made, _AT_ONCE)):
        with ledger.transaction() as entry:
            for episode in some:
                entry.remember(episode)
    told = time.perf_counter()
    drain(ledger, store, text=indexed_text, folder=folder / "cognee", index="bench")
    written = time.perf_counter()
    KeptVectors(ledger=ledger, embedder=embedder).fill()
    done = time.perf_counter()
    store.close()
    ledger.close()
    return {
        "ledger_write_s": round(told - begun, 1),
        "cognee_write_s": round(written - told, 1),
        "vectors_write_s": round(done - written, 1),
    }


def ask(folder: Path, drawn: bool) -> dict[str, Any]:
    """Recall for the asked questions, two thirds of them after a warm-up, and say how it went.

    `cpu_ms` is the time of all cores together for one recall: what is left on a machine that does other work.
    """
    ledger, store, embedder, asked = _opened(folder, drawn)
    begun = time.perf_counter()
    store.members("none")
    opened = time.perf_counter()
    kept = KeptVectors(ledger=ledger, embedder=embedder)
    recall = Recall(episodes=ledger, store=store, embedder=embedder, vectors=kept, notice=sys.exit)
    took = []
    for number, one in enumerate(asked):
        if number == len(asked) // 3:
            spent = time.process_time()
        start = time.perf_counter()
        found = recall.recall(
            bucket=one.bucket, kind=one.kind, tables=one.tables, question=one.question, masked=one.masked, limit=5
        )
        took.append((time.perf_counter() - start) * 1000)
        assert len(found) == 5, found
    warm = sorted(took[len(took) // 3 :])
    spent = time.process_time() - spent
    resident = _resident()
    known = ledger.intents()
    buckets, episodes = len({one.bucket for one in known}), sum(one.active for one in known)
    store.close()
    ledger.close()
    disk = {
        place: round(sum(p.stat().st_size for p in folder.glob(pattern) if p.is_file()) / 1e6, 1)
        for place, pattern in (("ledger", "brain.sqlite*"), ("cognee", "cognee/**/*"))
    }
    return {
        "episodes": episodes,
        "buckets": buckets,
        "recalls": len(warm),
        "first_recall_ms": round(took[0], 1),
        "p50_ms": round(statistics.median(warm), 1),
        "p95_ms": round(warm[int(len(warm) * 0.95)], 1),
        "cpu_ms": round(spent * 1000 / len(warm), 1),
        "resident_mb": resident,
        "ledger_mb": disk["ledger"],
        "cognee_mb": disk["cognee"],
        "open_cognee_s": round(opened - begun, 1),
    }


def _resident() -> int:
    """Megabytes this process holds in memory now."""
    status = Path("/proc/self/status")
    if not status.exists():
        import resource

        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    return int(re.findall(r"VmRSS:\s+(\d+)", status.read_text())[0]) // 1000


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--growth", action="store_true", help=f"also with {', '.join(map(str, GROWTH))} episodes")
    parser.add_argument("--drawn", action="store_true", help="draw the vectors of the episodes at random")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the brain; measured again when it is there")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--step", choices=("write", "ask"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step == "write":
        print(json.dumps(write(given.episodes, given.drawn, given.keep)))
        return 0
    if given.step == "ask":
        print(json.dumps(ask(given.keep, given.drawn)))
        return 0
    rows = [measure(episodes=given.episodes, drawn=given.drawn, folder=given.keep)]
    if given.growth:
        rows += growth()
    for row in rows:
        print(json.dumps(row) if given.json else "  ".join(f"{name} {value}" for name, value in row.items()))
    return 0


def growth() -> list[dict[str, Any]]:
    """Measure ever larger brains, until one takes longer than LONGEST_WRITE to write."""
    rows: list[dict[str, Any]] = []
    for episodes in GROWTH:
        rows.append(measure(episodes=episodes, drawn=True))
        if rows[-1]["ledger_write_s"] + rows[-1]["cognee_write_s"] > LONGEST_WRITE:
            break
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
