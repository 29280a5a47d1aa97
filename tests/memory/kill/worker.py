"""Lives through attempts, forgetting and erasing, and kills itself at a given step. Run as a script.

Each line on stdin is one life: `{"folder", "where", "life", "kill_at", "store"}`. A fork of this process lives it; the
answer is one line: `{"status": exit status, "steps": [...], "told": [...]}`. `told` is what the life was sure of: each
entry was written after the call it names had returned.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from memory.episode import Episode
from memory.lease import writer_lease
from memory.ledger import EventKind, Ledger
from memory.outbox import drain
from memory.store import EpisodeStore, Hit, Indexed
from procedural.store import Bucket, SynapseStore, changes_content
from procedural.synapse import Target

BUCKETS = (Bucket("a" * 12, "count", ("Customers",)), Bucket("b" * 12, "sum", ("Orders", "Order Details")))


def episode(number: int) -> Episode:
    bucket = BUCKETS[number % 2]
    return Episode(
        bucket=bucket.bucket,
        kind=bucket.kind,
        tables=bucket.tables,
        question=f"How many walruses of sort {number}?",
        masked=f"How many walruses of sort <{number}>?",
        sql=f"SELECT {number}",
        skeleton="SELECT ?",
        origin="train:kill",
        verifier="gold",
        batch="kill",
        schema_fingerprint="f",
        result_fingerprint="r",
    )


def text(one: Episode) -> str:
    return one.masked


class FileStore:
    """One file per episode in a folder per bucket: every call is many writes, with a step after each."""

    def __init__(self, folder: Path, step: Callable[[str], None]) -> None:
        self._folder = folder
        self._step = step

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None:
        (self._folder / bucket).mkdir(parents=True, exist_ok=True)
        for one in episodes:
            (self._folder / bucket / str(one.id)).write_text(one.text)
            self._step("store: file written")

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        return ()

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        for id in ids:
            (self._folder / bucket / str(id)).unlink(missing_ok=True)
            self._step("store: file removed")

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        for path in (self._folder / bucket).glob("*"):
            path.unlink()
            self._step("store: file erased")
        self.remember(bucket, survivors)

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        return frozenset(uuid.UUID(path.name) for path in (self._folder / bucket).glob("*"))

    def close(self) -> None:
        """Nothing to free."""


class Timed:
    """A store whose calls are steps: one before and one after; `soon` may set a clock that ends one on the way."""

    def __init__(self, store: EpisodeStore, step: Callable[[str], None], soon: Callable[[str, float], None]) -> None:
        self._store, self._step, self._soon = store, step, soon
        self.seconds: dict[str, float] = {}

    def _call(self, name: str, work: Callable[[], None]) -> None:
        self._step(f"store: {name} before")
        self._soon(name, 0.0)
        began = time.monotonic()
        work()
        self.seconds.setdefault(name, time.monotonic() - began)
        self._step(f"store: {name} after")

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None:
        self._call("remember", lambda: self._store.remember(bucket, episodes))

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        return self._store.recall(bucket, text, limit)

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        self._call("forget", lambda: self._store.forget(bucket, ids))

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        self._call("erase", lambda: self._store.erase(bucket, survivors))

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        return self._store.members(bucket)

    def close(self) -> None:
        self._store.close()


def live(
    folder: Path, where: str, life: int, store: EpisodeStore, step: Callable[[str], None], tell: Callable[..., None]
) -> None:
    """One life: open, pick up what an earlier one left, answer twice, forget one episode and erase another."""
    with writer_lease(folder, wait=30), Ledger.open(where, database="shop", between=step) as ledger:
        synapses = SynapseStore(between=step)
        with ledger.transaction() as transaction:
            synapses.create(transaction.connection)
        ledger.abandon("a crash left it")

        def bring_up_to_date() -> None:
            drain(ledger, store, text=text, folder=folder / "cognee")

        bring_up_to_date()
        for number in range(3):
            id = f"life{life}-{number}"
            # After an erasing nobody asks for it again, so that any trace left is one that the erasing left.
            erased = ledger.episode_state(episode(number).id) == "erased"
            question = "What about another sort?" if erased else episode(number).question
            with ledger.transaction() as transaction:
                transaction.start_attempt(id, {"question": question})
            tell("started", id)
            step("the model answers")
            with ledger.transaction() as transaction:
                transaction.settle_attempt(id, {"status": "answered", "recalled": [str(episode(number).id)]})
                targets = [Target("approach", "direct"), Target("episode", str(episode(number).id))]
                changes = synapses.fire(
                    transaction.connection, BUCKETS[number % 2], targets, float(number != 1), transaction.at
                )
                transaction.append(EventKind.WEIGHTS_MOVED, id, changes_content(changes))
                transaction.remember(episode(number))
            tell("settled", id)
            if number:
                bring_up_to_date()
        with ledger.transaction() as transaction:
            transaction.forget(episode(0).id, "it misled")
        tell("forgotten", str(episode(0).id))
        bring_up_to_date()
        with ledger.transaction() as transaction:
            transaction.erase(episode(1).id)
        tell("erased", str(episode(1).id))
        bring_up_to_date()
        tell("done", str(life))
        store.close()


def serve() -> None:
    cognee = "cognee" in sys.argv[1:]
    if cognee:
        import memory.cognee_store  # noqa: F401
    for line in sys.stdin:
        wanted = json.loads(line)
        folder = Path(wanted["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        notes = folder / f"notes-{wanted['life']}"
        if (child := os.fork()) == 0:
            _live_and_die(wanted, folder, notes, cognee=cognee)
        _, status = os.waitpid(child, 0)
        told = [json.loads(note) for note in notes.read_text().splitlines()] if notes.exists() else []
        print(json.dumps({"status": status, "notes": told}), flush=True)


def _live_and_die(wanted: dict[str, object], folder: Path, notes: Path, *, cognee: bool) -> None:
    """Live in the fork. Never returns."""
    handle = os.open(notes, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    count = 0

    def tell(*what: object) -> None:
        os.write(handle, (json.dumps(what) + "\n").encode())

    def step(name: str) -> None:
        nonlocal count
        count += 1
        if wanted["kill_at"] in (count, name):
            os.kill(os.getpid(), signal.SIGKILL)
        if wanted["kill_at"] is None:
            tell("step", name)

    def soon(name: str, _at: float) -> None:
        planned = wanted.get("kill_in")
        if isinstance(planned, dict) and (seconds := planned.pop(name, None)) is not None:
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()

    try:
        if cognee:
            from memory.cognee_store import CogneeStore
            from memory.embedder import MiniLM

            store: EpisodeStore = Timed(CogneeStore(folder / "cognee", embedder=MiniLM()), step, soon)
        else:
            store = FileStore(folder / "cognee", step)
        live(folder, str(wanted["where"]), int(str(wanted["life"])), store, step, tell)
        if isinstance(store, Timed):
            tell("seconds", store.seconds)
        status = 0
    except BaseException:
        import traceback

        tell("error", traceback.format_exc())
        status = 1
    with suppress(OSError):
        os.close(handle)
    os._exit(status)


if __name__ == "__main__":
    serve()
