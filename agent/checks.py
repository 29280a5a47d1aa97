"""What the doctor looks at: each check gives what it found in a line, and raises `Broken` with how to mend it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.database.naming import quoted
from agent.database.result import QueryRejected, Result
from agent.database.schema import Schema
from agent.doctor import Broken
from memory.embedder import Embedder
from memory.ledger import EventKind, Ledger
from memory.store import EpisodeStore
from procedural.store import SynapseStore, replayed

if TYPE_CHECKING:
    from agent.models.catalogue import LocalFile

LEAST_FREE = 500_000_000
"""Bytes of disk without which a brain cannot be written for long."""


def check_python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if not (3, 11) <= sys.version_info[:2] < (3, 13):
        raise Broken(f"Python {version}", "Use Python 3.11 or 3.12: set HEBBQL_PYTHON and run scripts/ask again.")
    return f"Python {version}"


def check_disk(runs: Path) -> str:
    folder = next(path for path in (runs, *runs.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        raise Broken(f"{free / 1e6:,.0f} MB free for {runs}", "Make room, or set HEBBQL_RUNS to another disk.")
    return f"{free / 1e9:,.1f} GB free"


def check_database(schema: Schema, run: Callable[[str], Result]) -> str:
    run(f"SELECT COUNT(*) FROM {quoted(schema.tables[0].name, schema.dialect)}")
    return f"{schema.name} ({schema.dialect}), {len(schema.tables)} tables, readable"


def check_brain(folder: Path, ledger: Ledger, synapses: SynapseStore) -> str:
    """The chain proves itself, and the synapses are what the history of their changes leads to."""
    seen = ledger.verify()
    if not seen.ok:
        raise Broken("; ".join(seen.problems), f"Restore {folder} from a copy: its history was changed.")
    moved = replayed(event.content for event in ledger.events(kinds=(EventKind.WEIGHTS_MOVED,)))
    with ledger.connection() as connection:
        if moved != synapses.synapses(connection):
            raise Broken("the synapses are not what the ledger leads to", f"Restore {folder} from a copy.")
    held = sum(counted.active for counted in ledger.buckets())
    return f"{folder}: {seen.events} events, chain verified, {held} episodes, {len(moved)} synapses"


def check_weights() -> str:
    """The weights of confidence can be read. Raises WeightsError."""
    from agent.drafting.weighing import read_weights

    return f"fitted: {read_weights().data.partition(';')[0]}"


def hostile_statements(table: str) -> tuple[str, ...]:
    """What no guard may let pass; `table` is one of the database, quoted."""
    return (
        f"DELETE FROM {table}",
        f"WITH d AS (DELETE FROM {table} RETURNING 1) SELECT * FROM d",
        "ATTACH 'x' AS y",
    )


def check_guard(schema: Schema, run: Callable[[str], Result]) -> str:
    """What would write is refused, what only reads runs. `run` checks, then runs."""
    table = quoted(schema.tables[0].name, schema.dialect)
    hostile = hostile_statements(table)
    for sql in hostile:
        try:
            run(sql)
        except QueryRejected:
            continue
        raise Broken(f"the guard let pass: {sql}", "Do not use this build; report it.")
    run(f"SELECT COUNT(*) FROM {table}")
    return f"{len(hostile)} hostile statements refused, a harmless one runs"


def check_embedder(embedder: Embedder) -> str:
    embedder.embed(["How many customers are there?"])
    return f"{embedder.id}, {embedder.dimensions} dimensions"


def check_episodes(folder: Path, ledger: Ledger, store: EpisodeStore) -> str:
    """Every bucket of the store holds exactly the episodes that the ledger says. `folder` is the store's."""
    if waiting := ledger.outbox(1):
        raise Broken(
            f"changes from number {waiting[0].number} on wait for Cognee", "Ask any question: it retries them."
        )
    wrong = []
    for counted in ledger.buckets():
        expected = {episode.id for episode in ledger.episodes(counted.bucket)}
        if expected != store.members(counted.bucket):
            wrong.append(counted.bucket)
    if wrong:
        raise Broken(
            f"{len(wrong)} buckets differ from the ledger: {', '.join(wrong[:3])}",
            f"Delete {folder}; the next question rebuilds it from the ledger.",
        )
    return "every bucket in Cognee holds what the ledger says"


def check_model(name: str, *, missing: LocalFile | None, has_key: bool, verified: bool | None) -> str:
    """`missing`: the file of a local model that is not here. `has_key`: whether Claude can be asked.

    `verified`: whether a local file was compared with its hash, None for what is no listed local file.
    """
    if missing is not None:
        raise Broken(f"{missing.name} is not here", f"hebbql models pull {missing.alias}")
    if name.startswith("claude") and not has_key:
        raise Broken(f"no key for {name}", "Set ANTHROPIC_API_KEY, or choose another model with --model.")
    if verified is None:
        return f"{name} (not called)"
    return f"{name}, {'verified by hash' if verified else 'present, not verified'}"
