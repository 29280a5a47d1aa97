"""What only Cognee has to prove: that it is confined, silent and offline, erases bytes, and comes back from damage."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memory import cognee_store
from memory.cognee_store import CogneeStore
from memory.embedder import EmbedderError, MiniLM
from memory.store import Indexed, StoreBusyError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from memory.embedder import Vector

ROOT = Path(__file__).resolve().parents[2]
BUCKET = "0123456789abcdef"
SECRET = Indexed(
    uuid.UUID("8a6e0d2d-2739-4b5c-9c2a-7555a60822cf"), "How many walruses named Zebulon swim in Reykjavik?"
)
KEPT = Indexed(uuid.UUID("f1a20a2d-ee2e-48c5-83ef-d6e0fc7bb7d3"), "What is the total revenue per year?")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "brain" / "cognee"


@pytest.fixture
def opened(folder: Path, embedder: MiniLM) -> Iterator[Callable[[], CogneeStore]]:
    """Open the store of the test's folder; whatever is open at the end is closed."""
    stores: list[CogneeStore] = []

    def open_store() -> CogneeStore:
        stores.append(CogneeStore(folder, embedder=embedder))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


def files_holding(folder: Path, *needles: bytes) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


def test_what_was_written_is_there_after_closing_and_opening(opened: Callable[[], CogneeStore]) -> None:
    first = opened()
    first.remember(BUCKET, [SECRET, KEPT])
    first.close()
    second = opened()
    assert second.members(BUCKET) == {SECRET.id, KEPT.id}
    assert second.recall(BUCKET, "turnover by year", 1)[0].id == KEPT.id
    second.forget(BUCKET, [SECRET.id])
    assert second.members(BUCKET) == {KEPT.id}


def test_no_byte_of_an_erased_episode_is_left_in_any_file(opened: Callable[[], CogneeStore], folder: Path) -> None:
    store = opened()
    store.remember(BUCKET, [SECRET, KEPT])
    store.forget(BUCKET, [SECRET.id])
    assert files_holding(folder, b"Zebulon"), "forgetting is known to leave bytes: if it does not, erase may be simpler"
    store.erase(BUCKET, [KEPT])
    assert files_holding(folder, b"Zebulon", b"walruses", str(SECRET.id).encode()) == []
    store.close()
    assert files_holding(folder, b"Zebulon", b"walruses", str(SECRET.id).encode(), SECRET.id.bytes) == []
    assert files_holding(folder, b"total revenue"), "the search must be able to find what is there"


def test_leftovers_of_a_dataset_that_cognee_no_longer_lists_are_seen_and_erased(
    opened: Callable[[], CogneeStore], folder: Path, tmp_path: Path
) -> None:
    """`forget` edits the list of datasets; what a crash left in the files must not hide behind that list."""
    store = opened()
    store.remember(BUCKET, [SECRET])
    store.close()
    saved = tmp_path / "saved"
    databases = folder / "system" / "databases"
    [home] = [path for path in databases.iterdir() if path.is_dir()]
    shutil.copytree(home, saved)
    store = opened()
    store.erase(BUCKET, [])
    assert store.members(BUCKET) == frozenset()
    store.close()
    shutil.copytree(saved, home, dirs_exist_ok=True)
    store = opened()
    assert list(store.recall(BUCKET, SECRET.text, 1)) == []
    assert store.members(BUCKET) == {SECRET.id}
    store.erase(BUCKET, [])
    assert store.members(BUCKET) == frozenset()
    store.close()
    assert files_holding(folder, b"Zebulon") == []


def test_a_set_up_that_was_cut_off_is_done_again(opened: Callable[[], CogneeStore], folder: Path) -> None:
    """Killed while it migrates its database, Cognee leaves tables without their later columns, for good."""
    store = opened()
    store.members(BUCKET)
    store.close()
    (folder / "set_up").unlink()
    with contextlib.closing(sqlite3.connect(folder / "system" / "databases" / "cognee_db")) as registry:
        registry.execute("ALTER TABLE pipeline_runs DROP COLUMN embedding_tokens")
        registry.commit()
    store = opened()
    store.remember(BUCKET, [KEPT])
    assert store.members(BUCKET) == {KEPT.id}


def test_a_deleted_folder_is_an_empty_store_again(opened: Callable[[], CogneeStore], folder: Path) -> None:
    store = opened()
    store.remember(BUCKET, [SECRET])
    store.close()
    shutil.rmtree(folder)
    store = opened()
    assert store.members(BUCKET) == frozenset()
    assert list(store.recall(BUCKET, SECRET.text, 1)) == []
    store.remember(BUCKET, [KEPT])
    assert store.members(BUCKET) == {KEPT.id}


def test_a_second_brain_is_refused_while_the_first_is_open_and_does_not_leak_after(
    opened: Callable[[], CogneeStore], tmp_path: Path, embedder: MiniLM
) -> None:
    first = opened()
    first.remember(BUCKET, [SECRET])
    other = CogneeStore(tmp_path / "other" / "cognee", embedder=embedder)
    with pytest.raises(StoreBusyError, match="Close that brain"):
        other.remember(BUCKET, [KEPT])
    assert first.members(BUCKET) == {SECRET.id}
    first.close()
    other.remember(BUCKET, [KEPT])
    assert other.members(BUCKET) == {KEPT.id}
    other.close()
    assert files_holding(tmp_path / "other", b"Zebulon") == []
    assert first.members(BUCKET) == {SECRET.id}


@pytest.mark.parametrize(
    "damage", ["registry_cut", "registry_garbage", "vectors_cut", "vectors_gone", "graph_garbage", "folder_gone"]
)
def test_damage_is_one_clear_error_or_no_harm(
    opened: Callable[[], CogneeStore], folder: Path, damage: str, embedder: MiniLM
) -> None:
    store = opened()
    store.remember(BUCKET, [SECRET, KEPT])
    if damage != "folder_gone":
        store.close()
    registry = folder / "system" / "databases" / "cognee_db"
    if damage == "registry_cut":
        registry.write_bytes(b"")
        for extra in folder.rglob("cognee_db-*"):
            extra.unlink()
    elif damage == "registry_garbage":
        registry.write_bytes(b"not a database" * 400)
    elif damage == "vectors_cut":
        for path in folder.rglob("*.manifest"):
            path.write_bytes(path.read_bytes()[:20])
    elif damage == "vectors_gone":
        for path in folder.rglob("*.lance"):
            if path.is_file():
                path.unlink()
    elif damage == "graph_garbage":
        for path in folder.rglob("*.lbug"):
            path.write_bytes(b"garbage" * 3000)
    else:
        shutil.rmtree(folder)
    store = store if damage == "folder_gone" else opened()
    for call in (
        lambda: store.recall(BUCKET, KEPT.text, 1),
        lambda: store.members(BUCKET),
        lambda: store.remember(BUCKET, [KEPT]),
    ):
        try:
            call()
        except StoreError as error:
            assert isinstance(error, StoreDamagedError)
            assert "rebuil" in str(error)
            assert str(folder) in str(error)
    store.close()
    shutil.rmtree(folder, ignore_errors=True)
    fresh = opened()
    fresh.remember(BUCKET, [KEPT])
    assert fresh.recall(BUCKET, KEPT.text, 1)[0].id == KEPT.id


def test_files_that_another_process_has_open_for_writing_are_reported_as_busy(
    opened: Callable[[], CogneeStore], folder: Path
) -> None:
    store = opened()
    store.remember(BUCKET, [SECRET])
    store.close()
    [graph] = folder.rglob("*.lbug")
    script = (
        "import ladybug, sys; database = ladybug.Database(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(graph)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None and other.stdout is not None
    try:
        assert other.stdout.readline() == "open\n"
        store = opened()
        with pytest.raises(StoreBusyError, match="Another process"):
            store.remember(BUCKET, [KEPT])
        with pytest.raises(StoreBusyError, match="Another process"):
            store.members(BUCKET)
        assert store.recall(BUCKET, SECRET.text, 1)[0].id == SECRET.id
    finally:
        other.stdin.close()
        other.wait(timeout=20)
        other.stdout.close()
    store.remember(BUCKET, [KEPT])
    assert store.members(BUCKET) == {SECRET.id, KEPT.id}


def test_closing_ends_every_thread_that_could_hold_the_process(opened: Callable[[], CogneeStore]) -> None:
    store = opened()
    store.remember(BUCKET, [SECRET])
    store.close()
    store.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(t.name.startswith("hebbql") for t in threading.enumerate()):
        time.sleep(0.02)
    left = [t.name for t in threading.enumerate() if t.name.startswith("hebbql")]
    left += [t.name for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    assert left == []


def test_a_dataset_is_looked_up_once_and_its_engine_is_let_go_when_it_is_rewritten_or_others_are_used(
    opened: Callable[[], CogneeStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cognee_store, "_KEPT_ENGINES", 8)
    store = opened()
    buckets = [f"{BUCKET}-{number}" for number in range(9)]
    for bucket in buckets:
        store.remember(bucket, [Indexed(uuid.uuid4(), f"Question of {bucket}")])
    import cognee.context_global_variables as contexts

    looked_up: list[uuid.UUID] = []
    given = contexts.set_database_global_context_variables

    def counted(dataset: uuid.UUID, *rest: Any, **named: Any) -> Any:
        looked_up.append(dataset)
        return given(dataset, *rest, **named)

    monkeypatch.setattr(contexts, "set_database_global_context_variables", counted)
    # Cognee keeps six open, and would look all of them up again.
    for _ in range(3):
        assert len(store.recall_each(buckets[:8], "question", 5)) == 8
    assert len(looked_up) == len(set(looked_up)) == 8
    assert len(store.recall(buckets[8], "question", 5)) == 1
    assert len(store.recall_each(buckets[1:8], "question", 5)) == 7
    assert len(looked_up) == 9
    assert len(store.recall(buckets[0], "question", 5)) == 1
    assert len(looked_up) == 10
    store.erase(buckets[0], [KEPT])
    looked_up.clear()
    assert [hit.id for hit in store.recall(buckets[0], "question", 5)] == [KEPT.id]
    assert len(looked_up) == 1


def test_episodes_that_came_one_by_one_are_put_together(
    opened: Callable[[], CogneeStore], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(cognee_store, "_MOST_FRAGMENTS", 4)
    store = opened()
    episodes = [Indexed(uuid.uuid4(), f"Question {number} about freight") for number in range(12)]
    for number, episode in enumerate(episodes):
        store.remember(BUCKET, [episode])
        assert len(store.recall(BUCKET, "freight", 50)) == number + 1
        assert fragments(folder) <= 4
    store.forget(BUCKET, [episodes[0].id])
    store.remember(BUCKET, [Indexed(episodes[5].id, "Which walrus?")])
    assert store.recall(BUCKET, "Which walrus?", 1)[0].id == episodes[5].id
    assert store.members(BUCKET) == {episode.id for episode in episodes[1:]}
    store.erase(BUCKET, [KEPT])
    assert files_holding(folder, b"freight", b"walrus") == []


def test_many_episodes_at_once_are_one_fragment(opened: Callable[[], CogneeStore], folder: Path) -> None:
    store = opened()
    store.remember(BUCKET, [Indexed(uuid.uuid4(), f"Question {number} about freight") for number in range(150)])
    assert fragments(folder) == 1
    assert len(store.recall(BUCKET, "freight", 200)) == 150


def fragments(folder: Path) -> int:
    """In how many pieces the vectors of the only dataset lie."""
    import lancedb

    [place] = folder.rglob("*.lance.db")
    table = lancedb.connect(str(place)).open_table("RememberedQuestion_text")
    return int(table.stats()["fragment_stats"]["num_fragments"])


def test_files_that_break_under_an_open_dataset_are_said_and_spare_the_others(
    opened: Callable[[], CogneeStore], folder: Path
) -> None:
    store = opened()
    store.remember(BUCKET, [SECRET])
    assert len(store.recall(BUCKET, "revenue", 5)) == 1
    broken = list(folder.rglob("*.manifest"))
    store.remember("other", [KEPT])
    assert len(store.recall("other", "revenue", 5)) == 1
    for path in broken:
        path.write_bytes(b"broken" * 5)
    with pytest.raises(StoreDamagedError, match="rebuilds it from the ledger"):
        store.recall_each([BUCKET, "other"], "revenue", 5)
    assert [hit.id for hit in store.recall("other", "revenue", 5)] == [KEPT.id]


def test_a_missing_embedding_model_is_no_damage_of_the_files(folder: Path) -> None:
    class NoModel:
        id, dimensions = "none", 384

        def embed(self, texts: Sequence[str]) -> list[Vector]:
            raise EmbedderError("The embedding model is not here. Install it.")

    store = CogneeStore(folder, embedder=NoModel())
    with contextlib.closing(store), pytest.raises(StoreError, match="embedding model is not here") as told:
        store.remember(BUCKET, [KEPT])
    assert not isinstance(told.value, StoreDamagedError), "what is damaged is deleted and built anew"


def test_garbage_is_collected_again_after_cognee_was_imported(opened: Callable[[], CogneeStore]) -> None:
    assert gc.isenabled()
    opened().members(BUCKET)
    assert gc.isenabled()


def test_a_bucket_that_is_no_plain_name_is_refused(opened: Callable[[], CogneeStore], folder: Path) -> None:
    store = opened()
    for bucket in ("", "a b", "a.b", "../x", "x" * 300):
        with pytest.raises(StoreError, match="no bucket"):
            store.remember(bucket, [KEPT])
    assert not folder.exists(), "nothing may be opened for a bucket that cannot be"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One fresh process uses the store in a hostile environment and tells what it saw."""
    home = tmp_path_factory.mktemp("home")
    work = tmp_path_factory.mktemp("work")
    (work / ".env").write_text(
        "VECTOR_DB_PROVIDER=pgvector\nDB_PROVIDER=postgres\nLOG_LEVEL=DEBUG\nTELEMETRY_DISABLED=\n"
    )
    script = """
        import json, logging, os, sys, time, uuid
        from pathlib import Path
        sockets = []
        sys.addaudithook(lambda event, args: sockets.append(repr(args)) if event.startswith("socket.") and
                         event in ("socket.connect", "socket.getaddrinfo", "socket.sendto") else None)
        before = dict(os.environ)
        from memory import cognee_store, embedder
        from memory.store import Indexed
        report = {"heavy_at_import": [m for m in ("cognee", "litellm", "onnxruntime", "lancedb") if m in sys.modules],
                  "environment_at_import": before == dict(os.environ)}
        handler = logging.StreamHandler(sys.stdout)
        logging.getLogger().addHandler(handler)
        hook = sys.excepthook
        import structlog
        configured = structlog.is_configured()
        folder = Path(sys.argv[1]) / "cognee"
        store = cognee_store.CogneeStore(folder, embedder=embedder.MiniLM())
        store.remember("abc", [Indexed(uuid.uuid4(), "How many orders?")])
        store.recall("abc", "orders", 2)
        store.forget("abc", list(store.members("abc")))
        store.erase("abc", [])
        store.close()
        report["ran"] = [m for m in ("litellm.main", "litellm.utils") if m in sys.modules]
        import litellm
        from litellm.exceptions import NotFoundError
        report["litellm"] = (
            callable(litellm.acompletion) and litellm.exceptions.NotFoundError is NotFoundError
            and litellm.telemetry is False and type(sys.modules["litellm"]) is type(sys)
        )
        report |= {
            "handlers_kept": logging.getLogger().handlers == [handler],
            "level_kept": logging.getLogger().level == logging.WARNING,
            "hook_kept": sys.excepthook is hook,
            "structlog_untouched": structlog.is_configured() == configured,
            "sockets": sockets,
        }
        Path(sys.argv[2]).write_text(json.dumps(report))
    """
    brain, report = work / "brain", work / "report.json"
    listed = set(work.rglob("*")) | {report}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(brain), str(report)],
        cwd=work,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(home),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANGFUSE_PUBLIC_KEY": "x",
            "GRAPH_DATABASE_PROVIDER": "neo4j",
            "VECTOR_DB_URL": "http://192.0.2.1:1",
            "LLM_API_KEY": "sk-none",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outside = [str(path) for path in work.rglob("*") if path not in listed and brain not in (path, *path.parents)]
    in_home = [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]
    told: dict[str, Any] = json.loads(report.read_text())
    return {**told, "printed": done.stdout + done.stderr, "outside": outside, "in_home": in_home}


def test_importing_the_modules_has_no_effect(seen: dict[str, Any]) -> None:
    assert seen["heavy_at_import"] == []
    assert seen["environment_at_import"] is True


def test_it_prints_nothing_and_leaves_logging_alone(seen: dict[str, Any]) -> None:
    assert seen["printed"] == ""
    assert seen["handlers_kept"] and seen["level_kept"] and seen["hook_kept"] and seen["structlog_untouched"]


def test_litellm_is_not_run_for_episodes_and_is_whole_for_who_asks_for_it(seen: dict[str, Any]) -> None:
    assert seen["ran"] == []
    assert seen["litellm"] is True


def test_it_reaches_for_no_other_machine(seen: dict[str, Any]) -> None:
    assert seen["sockets"] == []


def test_it_writes_nothing_outside_the_folder_whatever_the_environment_says(seen: dict[str, Any]) -> None:
    assert seen["outside"] == []
    assert seen["in_home"] == []
