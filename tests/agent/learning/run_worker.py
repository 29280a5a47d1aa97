"""Lives through a run of training and kills itself at a given write. Run as a script; its argument is a folder.

Each line on stdin is one life: an Order. It opens the application in `place`, goes on with the run that is there, or
begins one, and trains to its end or next pause. A fork of this process lives it; the answer is one line: `{"status",
"told", "said"}`, with the names of the writes, then what the application said and how it ended.

All is as the user has it, but for what takes long in a new process: the query worker, the copies of the database,
Cognee and the embedding model have plain ones in their place, which do the same to a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sqlite3
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
from sqlalchemy import Engine, event

import agent.app as app
import agent.school as school
from agent.database.reading import open_database
from agent.database.result import QueryFailed, Result
from agent.habits import Habits
from agent.learning.mutating import mutated
from agent.learning.training import TrainingOptions
from agent.models.openai_compatible import OpenAIModel
from agent.models.port import Prompt, Reply, Usage
from agent.models.prices import load_prices
from agent.models.resilience import OutageError, RetryPolicy
from agent.settings import Levers, Settings
from memory.ledger import Ledger
from memory.store import Hit, Indexed
from procedural.store import SynapseStore

BOATS = """
CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL);
INSERT INTO Boats VALUES (1, 'Hoopvol', 'Veere', 9.5), (2, 'Stille', 'Hoorn', 12.0), (3, 'Vrouwe', 'Veere', 7.0),
  (4, 'Zeemeeuw', 'Urk', 15.5), (5, 'Aurora', 'Hoorn', 11.0), (6, 'Batavia', 'Urk', 56.0), (7, 'Eendracht', 'Urk', 8.5);
"""
GOLDS = {
    "How many boats are in Veere?": "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'",
    "How many boats are in Hoorn?": "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Hoorn'",
    "What is the average length in metres of boats?": "SELECT AVG(Metres) FROM Boats",
    "Which boats have more than 10 metres?": "SELECT Name FROM Boats WHERE Metres > 10",
}
OPTIONS: dict[str, Any] = {"epochs": 2, "checkpoint": 3, "seed": 3}
PLACES = 16


@dataclass(frozen=True)
class Order:
    """What happens to a life. Writes are those of the ledger, the synapses, the store, and the replies of the model.

    After `kill_at` of them, counted from the beginning of training or, `opening`, from that of the life, it gets the
    signal `by`. `down`: after so many calls the model is out of reach; `url`: the model is asked there, with
    `patience` seconds. `limit`: no file may grow beyond so many bytes; `pages`: the ledger by no more than so many.
    `workers` ask at once. `again`: another run is begun although one is there. `later`: all clocks are so many seconds
    ahead.
    """

    place: str
    kill_at: int | None = None
    by: int = signal.SIGKILL
    opening: bool = False
    down: int | None = None
    url: str = ""
    patience: float = 0.0
    limit: int | None = None
    pages: int | None = None
    workers: int = 1
    again: bool = False
    later: float = 0.0


class Boats:
    """The database: read once, then asked with a connection for each query, so that it can be forked."""

    warnings: tuple[str, ...] = ()

    def __init__(self, file: Path) -> None:
        self.file = file
        with closing(open_database(str(file))) as database:
            self.schema, self.facts = database.schema, database.facts

    def run(self, sql: str) -> Result:
        try:
            with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as connection:
                asked = connection.execute(sql)
                return Result(tuple(one[0] for one in asked.description), tuple(asked.fetchall()))
        except sqlite3.Error as error:
            raise QueryFailed(str(error)) from error

    def wake(self) -> None:
        """There is no worker to wake."""

    def close(self) -> None:
        """Nothing is open."""


class Words:
    """Texts as counts of their words: alike texts lie close together, and nothing has to be loaded."""

    id, dimensions = "words", PLACES

    def embed(self, texts: Sequence[str]) -> list[Any]:
        found = []
        for text in texts:
            vector = numpy.full(PLACES, 0.01, dtype=numpy.float32)
            for word in text.lower().split():
                vector[hashlib.sha256(word.encode()).digest()[0] % PLACES] += 1
            found.append(vector / numpy.linalg.norm(vector))
        return found


class FileStore:
    """An episode store of one file per episode in a folder per bucket, with a step after each write."""

    def __init__(self, folder: Path, step: Callable[[str], None]) -> None:
        self._folder, self._step = folder, step

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None:
        (self._folder / bucket).mkdir(parents=True, exist_ok=True)
        for one in episodes:
            (self._folder / bucket / str(one.id)).write_text(one.text)
            self._step("store file")

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        (wanted,) = Words().embed([text])
        held = sorted((self._folder / bucket).glob("*"))
        hits = [Hit(uuid.UUID(path.name), float(Words().embed([path.read_text()])[0] @ wanted)) for path in held]
        return tuple(sorted(hits, key=lambda hit: -hit.score)[:limit])

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        return tuple(hit for bucket in buckets for hit in self.recall(bucket, text, limit))

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        for id in ids:
            (self._folder / bucket / str(id)).unlink(missing_ok=True)
            self._step("store file gone")

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        self.forget(bucket, tuple(self.members(bucket)))
        self.remember(bucket, survivors)

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        return frozenset(uuid.UUID(path.name) for path in (self._folder / bucket).glob("*"))

    def close(self) -> None:
        """Nothing is open."""


def answer(shown: str) -> str:
    """The gold of the question that is shown last; that of one only where the model is told to think first."""
    gold = GOLDS[max(GOLDS, key=shown.rfind)]
    return gold if "AVG" not in gold or "First say" in shown else "SELECT MAX(Metres) FROM Boats"


class Sailor:
    """A model with a price."""

    name = "sailor"

    def __init__(self, step: Callable[[str], None], *, down: int | None) -> None:
        self._step, self._down, self._calls = step, down, 0

    def complete(self, prompt: Prompt) -> Reply:
        self._calls += 1
        if self._down is not None and self._calls > self._down:
            raise OutageError("sailor gave no reply: the network is gone.")
        shown = prompt.stable + prompt.turns[-1].text
        self._step("model asked")
        return Reply(answer(prompt.turns[-1].text), Usage(len(shown) // 4, 9, 0, 0, 0.125))

    def close(self) -> None:
        """Nothing is open."""


def live(order: Order, boats: Boats, copies: Any, tell: Callable[[str, str], None]) -> None:
    counting, count, place = order.opening, 0, Path(order.place)

    def step(name: str) -> None:
        nonlocal count
        if counting:
            count += 1
            tell("told", name)
            if count == order.kill_at:
                os.kill(os.getpid(), order.by)

    @contextmanager
    def made(*_how: Any, **_more: Any) -> Iterator[Any]:
        yield copies

    def choose(*_how: Any) -> Any:
        if not order.url:
            return Sailor(step, down=order.down)
        quick = RetryPolicy(deadline=2.0, max_tries=2, first_wait=0.05)
        return OpenAIModel(model="m", key=None, base_url=order.url, prices=load_prices(), policy=quick)

    def now() -> float:
        return time.time() + order.later

    known = vars(app)
    known["open_database"] = lambda *_how, **_more: boats
    known["MiniLM"] = Words
    known["Ledger"] = SimpleNamespace(open=partial(Ledger.open, between=step, clock=now))
    known["Habits"] = partial(Habits, clock=now)
    known["time"] = SimpleNamespace(time=now)
    known["SynapseStore"] = partial(SynapseStore, between=step)
    known["_choose"] = choose
    vars(school)["mutated"] = made
    settings = Settings(
        database=str(boats.file),
        data=place,
        runs=place / "runs",
        brain=str(place / "brain"),
        lease_wait=0.01,
        levers=Levers.read("none"),  # the model alone answers
        sow=False,
    )
    options = TrainingOptions(
        training=place.parent / "golds.jsonl", patience=order.patience, workers=order.workers, **OPTIONS
    )
    with app.open_app(settings, say=partial(tell, "said")) as opened:
        opened.__dict__["store"] = FileStore(opened.store_folder, step)
        there = (place / "begun").exists() and not order.again
        run = opened.resume_run(None, options) if there else opened.begin_run(options)
        (place / "begun").touch()
        if order.limit:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (order.limit, resource.RLIM_INFINITY))
        if order.pages is not None:
            opened.ledger._engine.dispose()
            event.listen(opened.ledger._engine, "connect", partial(_full_soon, order.pages))
        counting = True
        for grown in opened.train(run, options):
            run = grown
        counting = False
        tell("said", "finished" if run.finished else f"paused: {run.pauses[-1].reason}")


def _full_soon(pages: int, connection: Any, _record: object) -> None:
    """Let a database grow by so many pages, and then say what it says on a full disk."""
    (there,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {there + pages}")


def _wait_for_no_disk() -> None:
    """Leave out what only a power cut would show: what a process has written is there after its death."""

    def off(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", off)
    os.fsync = lambda fd: None


def serve(folder: Path) -> None:
    _wait_for_no_disk()
    with closing(sqlite3.connect(folder / "boats.sqlite")) as connection:
        connection.executescript(BOATS)
    lines = [
        json.dumps({"id": f"b{n}", "question": question, "sql": sql}) for n, (question, sql) in enumerate(GOLDS.items())
    ]
    (folder / "golds.jsonl").write_text("\n".join(lines))
    boats = Boats(folder / "boats.sqlite")
    with mutated(boats, file=boats.file, folder=folder, open_copy=Boats) as copies:
        # What a run imports and reads once is then there in every life.
        live(Order(str(folder / "warm-up")), boats, copies, lambda *_told: None)
        for line in sys.stdin:
            order = Order(**json.loads(line))
            heard, hole = os.pipe()
            if (child := os.fork()) == 0:
                signal.alarm(100)  # one that hangs is ended by another signal than the one that is looked for

                def tell(kind: str, text: str, into: int = hole) -> None:
                    os.write(into, (json.dumps([kind, text]) + "\n").encode())

                try:
                    live(order, boats, copies, tell)
                except BaseException as error:
                    traceback.print_exc()
                    tell("said", f"{type(error).__name__}: {error}")
                    os._exit(1)
                os._exit(0)
            os.close(hole)
            with open(heard) as lines_heard:
                heard_all = [json.loads(one) for one in lines_heard]
            _, status = os.waitpid(child, 0)
            of = {kind: [text for one, text in heard_all if one == kind] for kind in ("told", "said")}
            print(json.dumps({"status": status, **of}), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
