"""Lives through attempts, forgetting and erasing, and kills itself at a given step. Run as a script.

Each line on stdin is one life: `{"folder", "where", "life", "kill_at", "cognee", "recover_first", "upgrade"}`.
`kill_at` is the number or name of a step, or `{"remember": 0.1}` for so many seconds into a call of the store. With
`upgrade` the life is over when the brain is opened. A fork of this process lives it; the answer is one line:
`{"status", "notes"}`. Notes are what the life was sure of: each was written after the call it tells of had returned.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memory.episode import Episode
from memory.lease import writer_lease
from memory.ledger import EventKind, Ledger
from memory.lessons import Lesson, Lessons
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
        question=f"How many walruses of sort {number:03}?",
        masked=f"How many walruses of <sort {number:03}>?",
        sql=f"SELECT {number}",
        skeleton="SELECT ?",
        origin="train:kill",
        verifier="gold",
        batch="kill",
        schema_fingerprint="f",
        result_fingerprint="r",
    )


def lesson(one: Episode, fix: str) -> Lesson:
    wrong = f"SELECT wrong FROM {one.masked}"
    return Lesson(one.bucket, one.masked, one.question, wrong, "There is no column wrong.", fix, f"attempt:{one.sql}")


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

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
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
    """A store whose calls are steps, and that can end the process in the middle of one, after so many seconds."""

    def __init__(self, store: EpisodeStore, step: Callable[[str], None], ends_in: dict[str, float]) -> None:
        self._store, self._step, self._ends_in = store, step, ends_in
        self.seconds: dict[str, float] = {}

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None:
        self._call("remember", lambda: self._store.remember(bucket, episodes))

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        return self._store.recall(bucket, text, limit)

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        return self._store.recall_each(buckets, text, limit)

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        self._call("forget", lambda: self._store.forget(bucket, ids))

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        self._call("erase", lambda: self._store.erase(bucket, survivors))

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        return self._store.members(bucket)

    def close(self) -> None:
        self._store.close()

    def _call(self, name: str, work: Callable[[], None]) -> None:
        if name in self._ends_in:
            threading.Timer(self._ends_in.pop(name), os.kill, (os.getpid(), signal.SIGKILL)).start()
        began = time.monotonic()
        work()
        self.seconds[name] = max(self.seconds.get(name, 0.0), time.monotonic() - began)
        self._step(f"store: {name} done")


def live(
    folder: Path,
    where: str,
    life: int,
    store: EpisodeStore,
    *,
    step: Callable[[str], None],
    recovered: Callable[[], None],
    tell: Callable[..., None],
) -> None:
    """One life: open, pick up what an earlier one left, answer three times, forget an episode and erase another.

    `recovered` is called when the earlier life's traces are settled; before that no step counts.
    """
    with writer_lease(folder, wait=30), Ledger.open(where, database="shop", between=step) as ledger:
        synapses = SynapseStore(between=step)
        with ledger.transaction() as transaction:
            synapses.create(transaction.connection)
        ledger.abandon("a crash left it")

        def bring_up_to_date() -> None:
            done = drain(ledger, store, text=text, folder=folder / "cognee")
            if done.rebuilt:
                tell("rebuilt", done.rebuilt)

        bring_up_to_date()
        if isinstance(store, Timed):
            for bucket in BUCKETS:
                active = {one.id for one in ledger.episodes(bucket.bucket)}
                found = {hit.id for hit in store.recall(bucket.bucket, "walruses", 100)}
                tell("held", len(active), store.members(bucket.bucket) == active, found == active)
        recovered()
        first, second, third = (episode(3 * life + place) for place in range(3))
        for one in (first, second, third):
            id = f"life {life}: {one.sql}"
            with ledger.transaction() as transaction:
                transaction.start_attempt(id, {"question": one.question})
            tell("started", id)
            step("the model answers")
            with ledger.transaction() as transaction:
                transaction.settle_attempt(id, {"status": "answered", "recalled": [str(one.id)]})
                bucket = next(bucket for bucket in BUCKETS if bucket.bucket == one.bucket)
                targets = [Target("approach", "direct"), Target("episode", str(one.id))]
                reward = float(one is not second)
                changes = synapses.fire(transaction.connection, bucket, targets, reward, transaction.at)
                transaction.append(EventKind.WEIGHTS_MOVED, id, changes_content(changes))
                for fix in ("", one.sql):
                    Lessons(ledger).learn(transaction, lesson(one, fix))
                transaction.remember(one)
            tell("settled", id)
            if one is not first:
                bring_up_to_date()
        with ledger.transaction() as transaction:
            transaction.forget(first.id, "it misled")
        tell("forgotten", str(first.id))
        bring_up_to_date()
        with ledger.transaction() as transaction:
            transaction.erase(second.id)
        tell("erased", str(second.id))
        bring_up_to_date()
        store.close()


def serve() -> None:
    for line in sys.stdin:
        wanted = json.loads(line)
        folder = Path(wanted["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        if wanted["cognee"] and "cognee" not in sys.modules:
            _import_cognee(folder / "cognee")
        notes = folder / f"notes-{wanted['life']}"
        if (child := os.fork()) == 0:
            _live_and_die(wanted, folder, notes)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": status, "notes": [json.loads(note) for note in notes.open()]}), flush=True)


def _import_cognee(folder: Path) -> None:
    """Import it once for all forks, as that takes seconds. Nothing of it is opened before the fork."""
    from memory.cognee_store import prepare_environment
    from memory.embedder import MiniLM

    prepare_environment(folder, MiniLM())
    import cognee.low_level  # noqa: F401
    import lancedb  # noqa: F401


def _live_and_die(wanted: dict[str, Any], folder: Path, notes: Path) -> None:
    """Live in the fork. Never returns."""
    handle = os.open(notes, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    kill_at, count, counting = wanted["kill_at"], 0, not wanted["recover_first"]

    def tell(*what: object) -> None:
        os.write(handle, (json.dumps(what) + "\n").encode())

    def step(name: str) -> None:
        nonlocal count
        count += counting
        if counting and kill_at in (count, name):
            os.kill(os.getpid(), signal.SIGKILL)
        if kill_at is None:
            tell("step", name)

    def recovered() -> None:
        nonlocal counting
        counting = True
        if isinstance(kill_at, dict):
            ends_in.update(kill_at)

    status, ends_in = 0, dict[str, float]()
    # A life that hangs is ended by another signal than the one that is looked for.
    signal.alarm(120)
    try:
        if wanted["upgrade"]:
            Ledger.open(wanted["where"], database="shop", between=step).close()
            os._exit(0)
        store: EpisodeStore = FileStore(folder / "cognee", step)
        if wanted["cognee"]:
            from memory.cognee_store import CogneeStore
            from memory.embedder import MiniLM

            store = Timed(CogneeStore(folder / "cognee", embedder=MiniLM()), step, ends_in)
        live(folder, wanted["where"], wanted["life"], store, step=step, recovered=recovered, tell=tell)
        if isinstance(store, Timed):
            tell("seconds", store.seconds)
        if isinstance(kill_at, dict):
            # The call was quicker than the clock.
            os.kill(os.getpid(), signal.SIGKILL)
    except BaseException:
        tell("error", traceback.format_exc())
        status = 1
    os._exit(status)


if __name__ == "__main__":
    serve()
