#!/usr/bin/env python3
"""What `scripts/bench` measures, each step in a process of its own so that none warms or burdens another.

    python scripts/bench_steps.py STEP FOLDER [--quick]

prints the figures of one step as JSON. FOLDER keeps the brains that are measured; the first step that needs one
writes it. Everything is measured on Northwind, through the parts that answer questions.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.settings import Settings  # noqa: E402

if TYPE_CHECKING:
    from agent.app import App
    from agent.models.port import Prompt, Reply

DATABASE = ROOT / "data" / "northwind.sqlite"
START = "from agent.doors.cli import main; main()"
HABIT = "How many customers are there in {country}?"
HABIT_SQL = "SELECT COUNT(*) FROM Customers WHERE Country = '{country}'"
LEARNED = ("Germany", "France", "Brazil")
ASKED = ("Spain", "Italy", "Mexico", "Sweden", "Austria", "Canada", "Finland", "Belgium")
GROWTH = (1_000, 10_000, 100_000)
PACK, FEW = 12, 120
"""Pairs of the seed pack, and made-up episodes, that a quick run loads."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a section: a median unless the name says otherwise. `bound` is the most it may be.

    `value` is None where it could not be measured; `note` then says why.
    """

    name: str
    value: float | None
    unit: str
    n: int = 1
    bound: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.bound is None or self.value is None else self.value <= self.bound


class Answering:
    """Answers at once with what it is told to, whatever it is shown, and adds up the time spent here."""

    name = "scripted"

    def __init__(self) -> None:
        self.sql = ""
        self.seconds = 0.0

    def complete(self, prompt: Prompt) -> Reply:
        from agent.models.port import Reply

        began = time.perf_counter()
        reply = Reply(self.sql)
        self.seconds += time.perf_counter() - began
        return reply

    def close(self) -> None:
        """Nothing to close."""


def settings(folder: Path) -> Settings:
    """The brain in the folder, about Northwind, with the data of this checkout or the short ones of a quick run."""
    own = folder / "data"
    return Settings(
        database=str(DATABASE),
        brain=str(folder / "brain"),
        data=own if own.is_dir() else ROOT / "data",
        runs=folder / "runs",
    )


@contextmanager
def opened(folder: Path, *, habits: bool, alone: bool = False) -> Iterator[tuple[App, Answering]]:
    """The application on that brain, with a model that takes no time; `alone` with no code beside it."""
    from agent.app import open_app
    from agent.settings import Levers

    taken = replace(settings(folder), habits=habits)
    with open_app(replace(taken, levers=Levers.read("none")) if alone else taken, say=_tell) as app:
        app.model = model = Answering()
        yield app, model


def prepare(folder: Path, quick: bool) -> list[Figure]:
    """Write the brain: the seed pack through Cognee, and one habit, learned from answers called good."""
    if quick:
        (folder / "data" / "seeds").mkdir(parents=True)
        shutil.copytree(ROOT / "data" / "glossary", folder / "data" / "glossary")
        pack = (ROOT / "data" / "seeds" / "northwind.jsonl").read_text(encoding="utf-8").splitlines()[:PACK]
        (folder / "data" / "seeds" / "northwind.jsonl").write_text("\n".join(pack), encoding="utf-8")
    with opened(folder, habits=False, alone=True) as (app, model):
        for country in LEARNED:
            model.sql = HABIT_SQL.format(country=country)
            *_, attempt = app.ask(HABIT.format(country=country))
            app.feedback(attempt.id, verdict="good")
    return []


def help_(folder: Path, quick: bool) -> list[Figure]:
    seconds = [cold(folder, "--help")[0] for _ in range(2 if quick else 9)]
    return [Figure("hebbql --help", statistics.median(seconds), "s", len(seconds), 0.3)]


def habit(folder: Path, quick: bool) -> list[Figure]:
    prepared(folder, quick)
    took, paths = [], set()
    for number in range(2 if quick else 9):
        seconds, answer = cold(folder, "ask", HABIT.format(country=ASKED[number % len(ASKED)]), "--json")
        took.append(seconds)
        paths.add(json.loads(answer).get("path", "nothing"))
    by_habit = paths == {"habit"}
    note = "" if by_habit else f"answered by {', '.join(sorted(paths))}"
    figures = [
        Figure("cold, a fresh process", statistics.median(took) if by_habit else None, "s", len(took), 1.0, note)
    ]
    warm: list[float] = []
    with opened(folder, habits=True) as (app, _):
        for number in range(6 if quick else 101):
            began = time.perf_counter()
            *_, attempt = app.ask(HABIT.format(country=ASKED[number % len(ASKED)]))
            warm.append((time.perf_counter() - began) * 1000)
            if attempt.path != "habit":
                return [*figures, Figure("warm, median", None, "ms", 0, 20.0, f"answered by {attempt.path}")]
    return [*figures, *spread("warm", warm[1:], "ms", median=20.0)]


def guard(folder: Path, quick: bool) -> list[Figure]:
    from agent.database.guard import check
    from agent.database.reading import open_database
    from agent.learning.questions import read_pairs

    pairs = read_pairs(ROOT / "data" / "seeds" / "northwind.jsonl")[: PACK if quick else None]
    with closing(open_database(str(DATABASE))) as database:
        took = [timed(lambda sql=pair.sql: check(sql, database.schema)) for pair in pairs]  # type: ignore[misc]
    first = Figure("first query of a process, sqlglot imported", took[0], "ms")
    return [*spread("a query of the seed pack", took[1:], "ms", median=10.0, p95=10.0), first]


def recall(folder: Path, quick: bool) -> list[Figure]:
    from scripts.bench_recall import EPISODES, measure

    told = measure(episodes=FEW if quick else EPISODES, folder=folder / "recall")
    where = f"{told['episodes']:,} episodes in {told['buckets']} buckets"
    return [
        Figure("warm, median", told["p50_ms"], "ms", told["recalls"], 25.0, where),
        Figure("warm, p95", told["p95_ms"], "ms", told["recalls"], 60.0),
        Figure("first of a process", told["first_recall_ms"], "ms"),
        Figure("memory of the process", told["resident_mb"], "MB", bound=1_000.0),
        Figure("opening Cognee", told["open_cognee_s"], "s"),
    ]


def ask(folder: Path, quick: bool) -> list[Figure]:
    """Development questions, answered with their gold query by a model that takes no time."""
    from agent.learning.questions import read_pairs

    prepared(folder, quick)
    pairs = read_pairs(ROOT / "data" / "questions" / "development.jsonl")[:: 30 if quick else 2]
    took, recalling = [], []
    with opened(folder, habits=False) as (app, model):
        for pair in (pairs[-1], *pairs):
            model.sql, model.seconds = pair.sql, 0.0
            began = time.perf_counter()
            *_, attempt = app.ask(pair.question)
            took.append((time.perf_counter() - began - model.seconds) * 1000)
            recalling.append(attempt.recall_seconds * 1000)
    return [
        *spread("all but the model", took[1:], "ms", median=150.0),
        Figure("of that, until recalled", statistics.median(recalling[1:]), "ms", len(pairs)),
        Figure("first question of a process", took[0], "ms", note="Cognee imported"),
    ]


def cold_model(folder: Path, quick: bool) -> list[Figure]:
    """A fresh process each; the first finds no prefilled schema on disk, the others do."""
    there = Settings.from_env().models
    files = [path for path in there.glob("*") if path.is_file()] if there.is_dir() else []
    if not any("0.5b" in path.name.lower() for path in files):
        return [Figure("second ask with the 0.5B", None, "s", bound=15.0, note="hebbql models pull 0.5b")]
    prepared(folder, quick)
    models = folder / "runs" / "models"
    models.mkdir(parents=True)
    for path in files:
        (models / path.name).symlink_to(path)
    questions = [HABIT.format(country=country) for country in ASKED[: 2 if quick else 4]]
    environment = {"HEBBQL_HABITS": "off", "HEBBQL_MODEL": "0.5b"}
    told = [cold(folder, "ask", question, "--json", **environment) for question in questions]
    took = [seconds for seconds, _ in told]
    answered = sum(json.loads(answer).get("status") == "answered" for _, answer in told)
    return [
        Figure(
            "second ask with the 0.5B",
            statistics.median(took[1:]),
            "s",
            len(took) - 1,
            15.0,
            f"{answered} of {len(told)} answered",
        ),
        Figure("first ask, no prefix on disk", took[0], "s"),
    ]


def synapses(folder: Path, quick: bool) -> list[Figure]:
    """Ours are ledger transactions: the rows, and one event with its content and hash. SQLite's are bare rows.

    Both take turns, so that other work on the machine burdens both.
    """
    rounds, seconds = (2, 0.1) if quick else (9, 0.5)
    figures = []
    for count, what in (
        (1, "one a transaction"),
        (7, "7 a transaction, as an answer fires"),
        (100, "100 a transaction"),
    ):
        with ours(folder / f"ours-{count}", count) as fire, bare(folder / f"bare-{count}.sqlite", count) as upsert:
            both = [(_rate(fire, count, seconds), _rate(upsert, count, seconds)) for _ in range(rounds)]
        mine, limit = (statistics.median(rates) for rates in zip(*both, strict=True))
        share = f"{statistics.median(a / b for a, b in both):.0%} of SQLite's own limit"
        figures.append(Figure(what, mine, "1/s", rounds, note=share))
        figures.append(Figure("  SQLite's own limit", limit, "1/s", rounds, note="bare upserts, the same synchronous"))
    return figures


def growth(folder: Path, quick: bool) -> list[Figure]:
    from scripts.bench_recall import measure

    figures = []
    for episodes in (FEW,) if quick else GROWTH:
        place = folder / (f"growth-{episodes}" if not quick else "recall")
        told = measure(episodes=episodes, drawn=not quick, folder=place)
        seen = json.loads(own_process("look", place, quick))
        at = f"{episodes:,} episodes"
        figures += [
            Figure(f"{at}: ledger", told["ledger_mb"], "MB"),
            Figure(f"{at}: Cognee's files", told["cognee_mb"], "MB"),
            Figure(f"{at}: recall, median", told["p50_ms"], "ms", told["recalls"]),
            Figure(f"{at}: recall, p95", told["p95_ms"], "ms", told["recalls"]),
            Figure(f"{at}: memory of the process", told["resident_mb"], "MB"),
            *(Figure(**{**figure, "name": f"{at}: {figure['name']}"}) for figure in seen),
        ]
    return figures


def look(folder: Path, quick: bool) -> list[Figure]:
    """What of a brain does not go through Cognee."""
    from memory.ledger import Ledger

    began = time.perf_counter()
    with Ledger.open(folder / "brain.sqlite", database="made-up") as ledger:
        opening = (time.perf_counter() - began) * 1000
        masked = [episode.masked for episode in ledger.episodes()[:: 7 if quick else 97][:50]]
        lookups = [timed(lambda text=text: ledger.masked(text)) for text in masked]  # type: ignore[misc]
        verifying = timed(ledger.verify) / 1000
    return [
        Figure("opening the ledger", opening, "ms"),
        Figure("episodes of a masked question, for a habit", statistics.median(lookups), "ms", len(lookups)),
        Figure("verifying the history", verifying, "s"),
    ]


STEPS: dict[str, Callable[[Path, bool], list[Figure]]] = {
    "help": help_,
    "habit": habit,
    "guard": guard,
    "recall": recall,
    "ask": ask,
    "cold": cold_model,
    "synapses": synapses,
    "growth": growth,
}
"""The sections, in the order in which they are measured."""

_PARTS = {**STEPS, "prepare": prepare, "look": look}


# How


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that the work took."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def spread(
    name: str, took: Sequence[float], unit: str, *, median: float | None = None, p95: float | None = None
) -> Iterable[Figure]:
    """Median and 95th percentile, with their bounds."""
    yield Figure(f"{name}, median", statistics.median(took), unit, len(took), median)
    yield Figure(f"{name}, p95", sorted(took)[min(len(took) - 1, int(len(took) * 0.95))], unit, len(took), p95)


def cold(folder: Path, *arguments: str, **environment: str) -> tuple[float, str]:
    """Run the command line as a fresh process: seconds, and what it printed."""
    chosen = settings(folder)
    own = {"HEBBQL_DATABASE": chosen.database, "HEBBQL_BRAIN": str(chosen.brain), "HEBBQL_DATA": str(chosen.data)}
    # A model that is not there: whatever is not meant to call one would say so, and nothing is fetched.
    own |= {"HEBBQL_RUNS": str(chosen.runs), "HEBBQL_MODEL": str(folder / "none.gguf"), "PYTHONPATH": str(ROOT)}
    left = {name: value for name, value in os.environ.items() if not name.startswith("HEBBQL_")}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", START, *arguments],
        env=left | own | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    return seconds, done.stdout


def own_process(step: str, folder: Path, quick: bool) -> str:
    """Run a step in a process of its own; the figures as JSON."""
    command = [sys.executable, __file__, step, str(folder), *(["--quick"] if quick else [])]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def prepared(folder: Path, quick: bool) -> None:
    if not (folder / "brain").exists():
        own_process("prepare", folder, quick)


@contextmanager
def ours(folder: Path, count: int) -> Iterator[Callable[[int], None]]:
    """What fires so many synapses in one ledger transaction; it is told the number of the first."""
    from memory.ledger import EventKind, Ledger
    from procedural.store import Bucket, SynapseStore, changes_content
    from procedural.synapse import Target

    folder.mkdir(parents=True)
    store, bucket = SynapseStore(), Bucket("b" * 16, "count", ("Customers",))
    with Ledger.open(folder / "brain.sqlite", database="made-up") as ledger:
        with ledger.transaction() as entry:
            store.create(entry.connection)

        def fire(first: int) -> None:
            targets = [Target("skeleton", f"SELECT {number % 500}") for number in range(first, first + count)]
            with ledger.transaction() as entry:
                changes = store.fire(entry.connection, bucket, targets, 1.0, entry.at)
                entry.append(EventKind.WEIGHTS_MOVED, f"attempt-{first}", changes_content(changes))

        yield fire


@contextmanager
def bare(file: Path, count: int) -> Iterator[Callable[[int], None]]:
    """What upserts so many rows in one transaction of SQLite, set as the ledger sets it."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(
            "CREATE TABLE synapses (bucket TEXT, target_kind TEXT, target TEXT, weight REAL, successes INTEGER, "
            "failures INTEGER, last_fired REAL, PRIMARY KEY (bucket, target_kind, target))"
        )

        def upsert(first: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            for number in range(first, first + count):
                connection.execute(
                    "INSERT INTO synapses VALUES (?, 'skeleton', ?, 0.5, 1, 0, ?) "
                    "ON CONFLICT DO UPDATE SET weight = excluded.weight, successes = successes + 1, "
                    "last_fired = excluded.last_fired",
                    ("b" * 16, f"SELECT {number % 500}", time.time()),
                )
            connection.execute("COMMIT")

        yield upsert


def _rate(step: Callable[[int], None], count: int, seconds: float) -> float:
    """How many a second, of steps that do so many each."""
    done, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds or not done:
        step(done)
        done += count
    return done / spent


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=tuple(_PARTS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    figures: list[dict[str, Any]] = [asdict(figure) for figure in _PARTS[given.step](given.folder, given.quick)]
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
