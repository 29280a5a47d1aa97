"""Bringing the episode store up to date with the ledger, so that a replay changes nothing.

The ledger queues changes in its own transactions; `drain` applies them to the store and acks them after. What the
store should hold is read from the ledger at that moment, so the same change twice, or half a change and then the
whole, ends in the same state.

A marker beside the store's data says whose data it is, how far it was brought, and which buckets are being
written right now. `standing` reads it in a millisecond without opening the store, and `reconcile` opens the
store only for what is in doubt.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from memory.episode import Episode
from memory.errors import BrainDamagedError, BrainForeignError, BrainUnwritableError
from memory.ledger import Ledger, Queued
from memory.opening import flush_folder
from memory.store import EpisodeStore, Indexed, StoreDamagedError

MARKER = "hebbql-store.json"
"""The marker's name, in the root of the store's folder: losing the folder loses the marker with it."""


@dataclass(frozen=True, slots=True)
class Marker:
    """Whose data a store's folder holds, and the generation it was brought to.

    `index` says what the texts were indexed with. `writing` names the buckets that a drain was writing; it is empty
    unless a drain runs or was cut off. `place` is where the folder was then: a store may hold whole paths, so that
    a copy of its folder would read and write in the original.
    """

    store: str
    generation: int
    index: str = ""
    writing: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the store stands to the ledger.

    `new`: it was never written. `current`: all that was acked is in it. `cut_off`: a drain was interrupted in
    `buckets`. `behind`: it is an older copy, or was lost; every bucket is in doubt. `moved`: it was written in
    another place, and must not be opened in this one.
    """

    state: Literal["new", "current", "cut_off", "behind", "moved"]
    buckets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drained:
    """What one drain brought to the store. `rebuilt` says why it had to be rebuilt whole, and is empty otherwise."""

    changes: int = 0
    buckets: tuple[str, ...] = ()
    remembered: int = 0
    forgotten: int = 0
    rewritten: int = 0
    rebuilt: str = ""


def read_marker(folder: Path) -> Marker | None:
    """Read the marker of a store's folder, or None when there is none.

    Raises:
        BrainDamagedError: it is there and cannot be read.
    """
    path = folder / MARKER
    try:
        body = json.loads(path.read_bytes())
        return Marker(
            str(body["store"]),
            int(body["generation"]),
            str(body.get("index", "")),
            tuple(body["writing"]),
            str(body.get("place", "")),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BrainDamagedError(
            f"{path} cannot be read, so it is not known whose memories {folder} holds. Delete {folder}: it is rebuilt "
            "from the ledger and nothing is lost."
        ) from error


def write_marker(folder: Path, marker: Marker) -> None:
    """Put the marker in place whole or not at all, lasting through a power cut. It is told the folder's place."""
    path = folder / MARKER
    unborn = path.with_suffix(".unborn")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with unborn.open("w", encoding="utf-8") as file:
            json.dump(asdict(replace(marker, place=_place(folder))), file)
            file.flush()
            os.fsync(file.fileno())
        unborn.replace(path)
        flush_folder(folder)
    except OSError as error:
        raise BrainUnwritableError(
            f"{path} cannot be written: {error.strerror or error}. Free space or change its rights, then try again."
        ) from error


def standing(ledger: Ledger, folder: Path, *, index: str = "") -> Standing:
    """Tell how the store in `folder` stands to the ledger, from the marker alone.

    `index` names what texts are indexed with now, as the embedder's id; where it differs, nothing would be found.

    Raises:
        BrainForeignError: the folder holds the memories of another brain, or of a later state of this one, or was
            indexed with something else.
        BrainDamagedError: the marker cannot be read.
    """
    marker, generation = read_marker(folder), ledger.generation
    if marker is None:
        return Standing("behind" if generation else "new")
    if marker.store != ledger.store:
        raise BrainForeignError(
            f"{folder} holds the memories of another brain. Name another place with --brain, or delete {folder}: it is "
            "rebuilt from the ledger."
        )
    if marker.generation > generation:
        raise BrainForeignError(
            f"{folder} is newer than its ledger (generation {marker.generation}, the ledger has {generation}), so "
            f"the ledger was replaced by an old copy. Put the newer one back, or delete {folder} to go on from the old."
        )
    if marker.index != index:
        raise BrainForeignError(
            f"{folder} was indexed with {marker.index or 'nothing named'}, and now it is {index or 'nothing named'}. "
            f"Delete {folder}: it is rebuilt from the ledger and nothing is lost."
        )
    if marker.place != _place(folder):
        return Standing("moved")
    if marker.writing and marker.generation >= generation - 1:
        return Standing("cut_off", marker.writing)
    return Standing("current" if marker.generation == generation else "behind")


def drain(
    ledger: Ledger,
    store: EpisodeStore,
    *,
    text: Callable[[Episode], str],
    folder: Path | None = None,
    index: str = "",
    limit: int | None = None,
) -> Drained:
    """Apply queued changes to the store, oldest first, and ack each bucket when the store has confirmed it.

    `text` gives what an episode is found by. `folder` is where the store keeps its data and gets its marker; None
    for a store that keeps nothing. `index`: see `standing`. `limit` is the most changes to take. When the store raises,
    what it confirmed before stays acked, and the rest stays queued. With a folder, `reconcile` is run first. A folder
    that was copied or moved here is deleted unopened, and a store that says its files are damaged is closed, deleted
    and rebuilt from the ledger, once.

    Raises:
        BrainForeignError, BrainDamagedError: see `standing`.
    """
    if folder is None:
        return _apply(ledger, store, text=text, folder=None, index=index, limit=limit)
    if standing(ledger, folder, index=index).state == "moved":
        return _rebuild(ledger, store, f"{folder} was copied or moved here.", text=text, folder=folder, index=index)
    try:
        reconcile(ledger, store, folder=folder, index=index)
        return _apply(ledger, store, text=text, folder=folder, index=index, limit=limit)
    except StoreDamagedError as damage:
        # A process killed in the middle of a write can leave files that the store itself cannot open or forget.
        return _rebuild(ledger, store, str(damage), text=text, folder=folder, index=index)


def _rebuild(
    ledger: Ledger, store: EpisodeStore, why: str, *, text: Callable[[Episode], str], folder: Path, index: str
) -> Drained:
    """Delete the store's folder and write everything anew."""
    store.close()
    shutil.rmtree(folder, ignore_errors=True)
    ledger.between("store deleted")
    reconcile(ledger, store, folder=folder, index=index)
    return replace(_apply(ledger, store, text=text, folder=folder, index=index, limit=None), rebuilt=why)


def _place(folder: Path) -> str:
    return str(folder.resolve())


def _apply(
    ledger: Ledger,
    store: EpisodeStore,
    *,
    text: Callable[[Episode], str],
    folder: Path | None,
    index: str,
    limit: int | None,
) -> Drained:
    queued = ledger.outbox(limit)
    if not queued:
        return Drained()
    by_bucket: dict[str, list[Queued]] = {}
    for change in queued:
        by_bucket.setdefault(change.bucket, []).append(change)
    if folder is not None:
        if (generation := ledger.generation) == 0:
            # From the first write on, a missing marker must mean that the store was lost, not that it is new.
            with ledger.transaction() as transaction:
                generation = transaction.advance_generation()
        write_marker(folder, Marker(ledger.store, generation, index, tuple(by_bucket)))
        ledger.between("marker writing")
    remembered = forgotten = rewritten = 0
    for bucket, changes in by_bucket.items():
        active = {episode.id: episode for episode in ledger.episodes(bucket)}
        named = {change.episode: None for change in changes if change.episode is not None}
        if any(change.action == "rewrite" for change in changes):
            store.erase(bucket, _indexed(active.values(), text))
            ledger.between("store rewritten")
            rewritten += 1
        else:
            gone = [id for id in named if id not in active]
            kept = [active[id] for id in named if id in active]
            if gone:
                store.forget(bucket, gone)
                ledger.between("store forgot")
            if kept:
                store.remember(bucket, _indexed(kept, text))
                ledger.between("store remembered")
            forgotten += len(gone)
            remembered += len(kept)
        ledger.ack([change.number for change in changes])
    with ledger.transaction() as transaction:
        generation = transaction.advance_generation()
    if folder is not None:
        write_marker(folder, Marker(ledger.store, generation, index))
        ledger.between("marker current")
    return Drained(len(queued), tuple(by_bucket), remembered, forgotten, rewritten)


def reconcile(
    ledger: Ledger, store: EpisodeStore, *, folder: Path | None = None, index: str = "", thorough: bool = False
) -> tuple[str, ...]:
    """Queue every bucket that the store may hold wrongly to be written anew, and give their names. Then drain.

    Nothing is asked of the store when the marker says that it is current, unless `thorough`. After a drain that
    was cut off, its buckets are queued without asking, as vectors and graph may differ by one. When the store is
    behind or lost, what it really holds is compared bucket by bucket. Without a folder it always is.

    Raises:
        BrainForeignError, BrainDamagedError: see `standing`.
    """
    found = standing(ledger, folder, index=index) if folder is not None else Standing("behind")
    if found.state == "moved":
        raise StoreDamagedError(f"{folder} was copied or moved here. Delete it: it is rebuilt from the ledger.")
    reasons = dict.fromkeys(found.buckets, "a write was cut off")
    if thorough or found.state == "behind":
        pending = {change.episode for change in ledger.outbox()}
        for counted in ledger.buckets():
            expected = {episode.id for episode in ledger.episodes(counted.bucket)}
            held = store.members(counted.bucket)
            if (expected - pending) != (held - pending):
                missing, extra = len(expected - held - pending), len(held - expected - pending)
                reasons.setdefault(counted.bucket, f"{missing} episodes missing, {extra} too many")
    waiting = {change.bucket for change in ledger.outbox() if change.action == "rewrite"}
    doubted = tuple(bucket for bucket in reasons if bucket not in waiting)
    if doubted:
        with ledger.transaction() as transaction:
            for bucket in doubted:
                transaction.doubt(bucket, reasons[bucket])
    if folder is not None and found.state in ("cut_off", "behind"):
        # From here on the outbox knows what is in doubt, so the marker need not say it again.
        write_marker(folder, Marker(ledger.store, ledger.generation, index))
        ledger.between("marker reconciled")
    return doubted


def _indexed(episodes: Iterable[Episode], text: Callable[[Episode], str]) -> list[Indexed]:
    return [Indexed(episode.id, text(episode)) for episode in episodes]
