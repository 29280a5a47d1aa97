"""Archives in Cognee's own format hold what its datasets hold, and Cognee itself reads them back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import memory
from memory.cognee_store import CogneeStore
from memory.embedder import MiniLM
from memory.store import Indexed

TEXTS = ("How many boats lie in Veere?", "Which boats are longer than ten metres?", "Who owns the Hoopvol?")
HERE = os.environ | {"PYTHONPATH": str(Path(memory.__path__[0]).parent)}
EPISODES = [Indexed(uuid.uuid5(uuid.NAMESPACE_OID, text), text) for text in TEXTS]


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


def read_back(store: CogneeStore, archive: Path, bucket: str) -> None:
    """Let Cognee itself read an archive into the dataset of a bucket."""
    from cognee.modules.migration.sources import COGXArchiveSource

    dataset = store._dataset(bucket)

    async def reading(cognee: object) -> None:
        inner = cognee._cognee  # type: ignore[attr-defined]
        await inner.remember(COGXArchiveSource(archive), dataset_name=dataset, user=cognee._user)  # type: ignore[attr-defined]

    store._do(reading)


def test_cognee_reads_back_what_it_wrote_and_finds_the_same(tmp_path: Path, embedder: MiniLM) -> None:
    archive = tmp_path / "archive" / "harbour"
    told = {EPISODES[0].id: {"sql": "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'", "tables": ["Boats"]}}
    store = CogneeStore(tmp_path / "one", embedder=embedder)
    try:
        store.remember("harbour", EPISODES)
        store.remember("other", [Indexed(uuid.uuid4(), "What is elsewhere?")])
        assert store.archive("harbour", archive, told) == 3
        assert store.archive("never", tmp_path / "none", {}) == 0 and not (tmp_path / "none").exists()
        wanted = store.recall("harbour", "boats of Veere", 3)
    finally:
        store.close()
    manifest = json.loads((archive / "manifest.json").read_text("utf-8"))
    assert manifest["source_system"] == "cognee" and manifest["counts"] == {"raw_node": 3}
    nodes = [json.loads(line) for line in (archive / "nodes.jsonl").read_text("utf-8").splitlines()]
    assert {node["id"]: node["text"] for node in nodes} == {str(one.id): one.text for one in EPISODES}
    assert [node["sql"] for node in nodes if "sql" in node] == [told[EPISODES[0].id]["sql"]]
    again = CogneeStore(tmp_path / "two", embedder=embedder)
    try:
        read_back(again, archive, "harbour")
        assert again.members("harbour") == {one.id for one in EPISODES}
        found = again.recall("harbour", "boats of Veere", 3)
        assert [hit.id for hit in found] == [hit.id for hit in wanted]
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in wanted], abs=1e-5)
    finally:
        again.close()


ELSEWHERE = """
import asyncio, json, sys
from pathlib import Path
from memory.cognee_store import prepare_environment
from memory.embedder import MiniLM

prepare_environment(Path(sys.argv[1]), MiniLM())
import cognee
from cognee.modules.migration.import_source import import_memory_source
from cognee.modules.migration.sources import COGXArchiveSource


async def main():
    await import_memory_source(COGXArchiveSource(sys.argv[2]), dataset_name="taken", graph_only=True)
    found = await cognee.export("taken")
    print(json.dumps({str(node.id): getattr(node, "sql", "") for node in found.nodes}))


asyncio.run(main())
"""


def test_another_cognee_that_knows_nothing_of_episodes_keeps_their_sql(tmp_path: Path, embedder: MiniLM) -> None:
    sql = {one.id: f'SELECT "{number}" FROM Boats' for number, one in enumerate(EPISODES)}
    store = CogneeStore(tmp_path / "one", embedder=embedder)
    try:
        store.remember("harbour", EPISODES)
        store.archive("harbour", tmp_path / "archive", {id: {"sql": told} for id, told in sql.items()})
    finally:
        store.close()
    command = [sys.executable, "-W", "ignore", "-c", ELSEWHERE, str(tmp_path / "two"), str(tmp_path / "archive")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path, env=HERE)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout.splitlines()[-1]) == {str(id): one for id, one in sql.items()}
