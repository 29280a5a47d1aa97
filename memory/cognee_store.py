"""Episodes in Cognee, embedded and offline: one dataset per bucket. The only file that imports Cognee.

Cognee keeps its settings in the environment and in module-wide caches, so one process has one open store at a
time; opening a second is refused. After `close()` another folder can be opened.

What is written per episode is its id and the text it is found by. The text goes to the dataset's vector store and
graph only: Cognee's own database sees ids and its log is silent, so that erasing a dataset erases all its texts.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import importlib
import importlib.util
import io
import json
import logging
import os
import re
import shutil
import sys
import threading
import types
import uuid
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memory.embedder import Embedder, EmbedderError
from memory.store import Hit, Indexed, StoreBusyError, StoreDamagedError, StoreError

if TYPE_CHECKING:
    from memory.embedder import Vector

_T = TypeVar("_T")
_PROVIDER = "hebbql"
_COLLECTION = "RememberedQuestion_text"
_GRAPH_CACHE = 64 * 1024 * 1024
"""Bytes of pages a dataset's graph keeps in memory; it holds a few hundred nodes."""
_LOOK_UPS_AT_ONCE = 4
_KEPT_ENGINES = 128
"""Datasets whose vector engine is kept open, about 1 MB each; the least used leave first."""
_MOST_AT_ONCE = 1_000
"""Texts embedded and written in one go. Each go is a fragment of the dataset's vectors."""
_MOST_FRAGMENTS = 16
"""Fragments from which on they are made one again: each costs a search 0.1 ms, and episodes come one by one."""
_COMPLETE = "set_up"


class _Process:
    """What this process has open. Cognee's settings are the process's, so there is one."""

    lock = threading.Lock()
    deferred = threading.Lock()
    folder: Path | None = None


def prepare_environment(folder: Path, embedder: Embedder) -> None:
    """Make Cognee embedded, silent, offline and confined to `folder`. Call it before Cognee is first imported.

    Sets variables of this process, because Cognee reads some of them again on every call. Everything that could
    lead it elsewhere (a `.env` file, a server, a hub, tracing) is pinned too, whatever the caller's environment says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    nothing = folder / "no_settings.env"
    nothing.touch()
    tokenizers = importlib.util.find_spec("litellm")
    package = Path(tokenizers.origin).parent if tokenizers is not None and tokenizers.origin else folder
    for name in [name for name in os.environ if name.startswith(("LANGFUSE_", "EMBEDDING_", "HUGGINGFACE_TOKENIZER"))]:
        del os.environ[name]
    for name in ("DB_PATH", "VECTOR_DB_URL", "GRAPH_FILE_PATH", "GRAPH_FILENAME", "LOG_FILE_NAME"):
        os.environ.pop(name, None)
    os.environ.update(
        {
            # An empty file: without it Cognee loads the caller's .env over these settings.
            "COGNEE_ENV_FILE": str(nothing),
            "DATA_ROOT_DIRECTORY": str(folder / "data"),
            "SYSTEM_ROOT_DIRECTORY": str(folder / "system"),
            "CACHE_ROOT_DIRECTORY": str(folder / "cache"),
            "COGNEE_LOGS_DIR": str(folder / "logs"),
            "COGNEE_REPOS_DIR": str(folder / "repos"),
            "COGNEE_LOG_FILE": "false",
            "LOG_LEVEL": "CRITICAL",
            "TELEMETRY_DISABLED": "1",
            "COGNEE_TRACING_ENABLED": "false",
            "STORAGE_BACKEND": "local",
            "CACHING": "false",
            "USAGE_LOGGING": "false",
            "DB_PROVIDER": "sqlite",
            "DB_NAME": "cognee_db",
            # Without a pool each of the eight look-ups of a recall opens the file anew.
            "POOL_ARGS": json.dumps({"pool_size": 4, "max_overflow": 4}),
            "VECTOR_DB_PROVIDER": "lancedb",
            "VECTOR_DATASET_DATABASE_HANDLER": "lancedb",
            "VECTOR_DB_SUBPROCESS_ENABLED": "false",
            "GRAPH_DATABASE_PROVIDER": "ladybug",
            "GRAPH_DATASET_DATABASE_HANDLER": "ladybug",
            "GRAPH_DATABASE_SUBPROCESS_ENABLED": "false",
            "KUZU_NUM_THREADS": "1",
            "KUZU_BUFFER_POOL_SIZE": str(_GRAPH_CACHE),
            "ENABLE_BACKEND_ACCESS_CONTROL": "true",
            "EMBEDDING_PROVIDER": "custom",
            "EMBEDDING_MODEL": f"{_PROVIDER}/{embedder.id}",
            "EMBEDDING_DIMENSIONS": str(embedder.dimensions),
            "EMBEDDING_API_KEY": "none-needed",
            "COGNEE_SKIP_CONNECTION_TEST": "true",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "TIKTOKEN_CACHE_DIR": str(package / "litellm_core_utils" / "tokenizers"),
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
        }
    )


def _clear_half_built(folder: Path) -> None:
    """Remove Cognee's own database when its set-up was cut off, so that it is made anew.

    Cognee looks for one table to tell whether the others are there, so it would never mend it. No dataset can have
    been written before the set-up was complete.
    """
    system = folder / "system"
    if not (folder / _COMPLETE).exists() and not any(system.glob("databases/*/*.lance.db")):
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(system)


@contextlib.contextmanager
def _collecting_nothing() -> Iterator[None]:
    """Import without looking for garbage, and leave what was imported out of every later look.

    Cognee brings half a million objects that stay. To go through them again and again is a third of the time that
    importing it takes, and 0.1 s now and then in a recall.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _silence_cognee() -> None:
    """Load Cognee's logging module ahead of Cognee and take its hands off the process.

    Left alone it replaces the root logger's handlers, the exception hook and structlog's configuration, and writes
    log files. Its messages go to the logger `cognee` instead, which drops them unless somebody adds a handler.
    """
    import structlog

    name = "cognee.shared.logging_utils"
    if name in sys.modules:
        return
    # Said while the classes of litellm are built; about neither the user's code nor ours.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic\.")
    package = importlib.util.find_spec("cognee")
    if package is None or package.origin is None:
        raise StoreError("Cognee is not installed. Install the exact versions of the lock again, then retry.")
    spec = importlib.util.spec_from_file_location(name, Path(package.origin).parent / "shared" / "logging_utils.py")
    if spec is None or spec.loader is None:
        raise StoreError("The installed Cognee is not the pinned one. Install the lock again, then retry.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    quiet = logging.getLogger("cognee")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    quiet.setLevel(logging.CRITICAL)

    def get_logger(name: str | None = None, level: object = None) -> Any:
        return structlog.wrap_logger(
            logging.getLogger(f"cognee.{name or 'root'}"),
            processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.stdlib.BoundLogger,
            context_class=dict,
        )

    def setup_logging(log_level: object = None, name: str | None = None) -> Any:
        if not isinstance(sys.modules.get("litellm"), _Deferred):
            module.__dict__["configure_external_library_logging"]()
        return get_logger(name)

    module.__dict__.update(get_logger=get_logger, setup_logging=setup_logging)


class _Deferred(types.ModuleType):
    """Stands for a module until something in it is asked for; then the module is imported, and it speaks for that."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        with _Process.deferred:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
                importlib.import_module(self.__name__).__dict__.update(telemetry=False, suppress_debug_info=True)
        return getattr(sys.modules[self.__name__], name)


def _defer_litellm() -> None:
    """Do not run litellm before something in it is used, which nothing here does.

    Cognee imports it for its language models. It is half of the time that importing Cognee takes, and 140 MB.
    """
    spec = None if "litellm" in sys.modules else importlib.util.find_spec("litellm")
    if spec is not None:
        module = importlib.util.module_from_spec(spec)
        module.__class__ = _Deferred
        sys.modules["litellm"] = module


class _Loop:
    """An event loop on a thread of its own; `run` hands it one coroutine and waits for the outcome."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="hebbql-cognee", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        promise = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return promise.result()
        except BaseException:
            promise.cancel()
            raise

    def close(self) -> None:
        self.run(self._wind_down())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        if not self._thread.is_alive():
            self._loop.close()

    async def _wind_down(self) -> None:
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


class CogneeStore:
    """The episode store in `folder`. Nothing is imported or written before the first call that needs it.

    Calls may come from several threads. Every method raises StoreError (StoreBusyError, StoreDamagedError).
    """

    def __init__(self, folder: Path, *, embedder: Embedder) -> None:
        self._folder = folder.absolute()
        self._embedder = embedder
        self._lock = threading.RLock()
        self._cognee: _Cognee | None = None

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None:
        """Write episodes into the bucket's dataset, in one run. What is there already is written over."""
        dataset = self._dataset(bucket)
        if episodes:
            self._do(lambda cognee: cognee.remember(dataset, episodes))

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        """Search one dataset by the cosine of its texts to `text`, best first. An unknown bucket has none."""
        return self.recall_each([bucket], text, limit)

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        """Search several datasets at once; at most `limit` hits of each, one dataset after the other."""
        datasets = [self._dataset(bucket) for bucket in buckets]
        if limit < 1 or not datasets:
            return ()
        [vector] = self._embedder.embed([text])
        return self._do(lambda cognee: cognee.recall(datasets, vector, limit))

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        """Take episodes out of search. Their bytes stay in the files until `erase`."""
        dataset = self._dataset(bucket)
        if ids:
            self._do(lambda cognee: cognee.forget(dataset, ids))

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        """Delete the bucket's files and write the survivors into new ones."""
        dataset = self._dataset(bucket)
        self._do(lambda cognee: cognee.erase(dataset, survivors))

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        """Read the ids from the vector files and the graph themselves, not from Cognee's lists of them."""
        dataset = self._dataset(bucket)
        return self._do(lambda cognee: cognee.members(dataset))

    @property
    def has_model(self) -> bool:
        """Whether a language model is configured for Cognee, in the variable that Cognee itself reads."""
        return bool(os.environ.get("LLM_API_KEY", "").strip())

    def improve(self, bucket: str) -> str:
        """Call Cognee's own `improve` on one dataset; how many of its stages did something, and why the others not.

        What Cognee leaves off unless it is asked for stays off: it writes texts of a model beside the episodes.
        """
        dataset = self._dataset(bucket)
        return self._do(lambda cognee: cognee.improve(dataset))

    def archive(self, bucket: str, folder: Path, told: Mapping[uuid.UUID, Mapping[str, object]]) -> int:
        """Write a bucket's dataset as an archive in Cognee's own format (COGX), and give how many episodes it holds.

        Cognee writes what its graph holds and reads it back with `cognee.remember(COGXArchiveSource(folder))`. To each
        episode, by its id, goes what is `told` of it besides, which Cognee keeps as further properties.
        """
        dataset = self._dataset(bucket)
        return self._do(lambda cognee: cognee.archive(dataset, folder, told))

    def close(self) -> None:
        """Close every file, end the thread and free the folder for another store. Safe to call twice."""
        with self._lock:
            cognee, self._cognee = self._cognee, None
            if cognee is None:
                return
            try:
                cognee.close()
            finally:
                with _Process.lock:
                    _Process.folder = None

    def _dataset(self, bucket: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", bucket):
            raise StoreError(f"{bucket!r} is no bucket: letters, digits, '-' and '_' are allowed.")
        return f"{self._embedder.id}-{bucket}"

    def _do(self, work: Callable[[_Cognee], Coroutine[Any, Any, _T]]) -> _T:
        cognee = self._opened()
        try:
            return cognee.run(work(cognee))
        except StoreError:
            raise
        except Exception as problem:
            raise _as_store_error(problem, self._folder) from problem

    def _opened(self) -> _Cognee:
        with self._lock:
            if self._cognee is not None:
                return self._cognee
            with _Process.lock:
                if _Process.folder is not None:
                    raise StoreBusyError(
                        f"This process has the episodes in {_Process.folder} open, and Cognee serves one folder at a "
                        f"time. Close that brain before you open {self._folder}, or use another process."
                    )
                _Process.folder = self._folder
            try:
                self._cognee = _Cognee(self._folder, self._embedder)
            except Exception as problem:
                with _Process.lock:
                    _Process.folder = None
                if isinstance(problem, StoreError):
                    raise
                raise _as_store_error(problem, self._folder) from problem
            return self._cognee


def _as_store_error(problem: Exception, folder: Path) -> StoreError:
    if isinstance(problem, EmbedderError):
        return StoreError(str(problem))
    words = f"{type(problem).__name__}: {problem}"
    if re.search(r"could not set lock|database is locked|lock on file|Resource temporarily unavailable", words, re.I):
        return StoreBusyError(
            f"Another process has the episodes in {folder} open. Wait until it ends, or end it, then retry. ({words})"
        )
    if isinstance(problem, OSError) and problem.errno in (28, 122):
        return StoreError(f"The disk that holds {folder} is full. Free some space, then retry. ({words})")
    if isinstance(problem, PermissionError):
        return StoreError(f"{folder} may not be written. Give yourself the right to, then retry. ({words})")
    return StoreDamagedError(
        f"The episodes in {folder} cannot be used: {words}. Delete this folder, nothing is lost: the next start "
        "rebuilds it from the ledger."
    )


class _Cognee:
    """Cognee itself, configured for one folder and driven from the thread of `_Loop`."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._folder = folder
        self._embedder = embedder
        first = "cognee" not in sys.modules
        _clear_half_built(folder)
        prepare_environment(folder, embedder)
        with _collecting_nothing():
            if first:
                _silence_cognee()
                _defer_litellm()
            import cognee

            # Cognee would import it at the first search, in the thread of the loop.
            import cognee.infrastructure.databases.vector.lancedb.LanceDBAdapter
        if not first:
            _forget_settings()
        self._cognee = cognee
        self._offer_embedder()
        self._point = _point_class()
        self._datasets: dict[str, uuid.UUID] = {}
        self._engines: OrderedDict[str, Any] = OrderedDict()
        self._rewrites = 0
        # One write at a time, and fewer look-ups than datasets that Cognee itself keeps open.
        self._writing = asyncio.Lock()
        self._finding = asyncio.Semaphore(_LOOK_UPS_AT_ONCE)
        self._loop = _Loop()
        try:
            self.run(self._set_up())
        except BaseException:
            self.close()
            raise

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._loop.run(work)

    def close(self) -> None:
        try:
            self.run(self._release())
        finally:
            self._loop.close()

    async def _set_up(self) -> None:
        from cognee.low_level import setup
        from cognee.modules.users.methods import get_default_user

        # The migrations that build its database print.
        with contextlib.redirect_stdout(io.StringIO()):
            await setup()
        self._user = await get_default_user()
        (self._folder / _COMPLETE).touch()

    async def _release(self) -> None:
        from cognee.infrastructure.databases.graph.get_graph_engine import _create_graph_engine
        from cognee.infrastructure.databases.relational import get_relational_engine
        from cognee.infrastructure.databases.vector.create_vector_engine import _create_vector_engine

        self._engines.clear()
        for engines in (_create_vector_engine, _create_graph_engine):
            engines.cache_clear()
            await engines.cache_await_closed()
        await get_relational_engine().engine.dispose()

    def _offer_embedder(self) -> None:
        """Let Cognee embed with ours. It has no registry of engines, and all of its own go through litellm."""
        from cognee.infrastructure.databases.vector.embeddings.EmbeddingEngine import EmbeddingResult

        embedder = self._embedder

        class Local:
            model = f"{_PROVIDER}/{embedder.id}"
            max_completion_tokens = 8_191

            async def embed_text(self, text: list[str]) -> Any:
                vectors = await asyncio.to_thread(embedder.embed, text)
                return EmbeddingResult([vector.tolist() for vector in vectors], tokens=0)

            def get_vector_size(self) -> int:
                return embedder.dimensions

            def get_batch_size(self) -> int:
                return _MOST_AT_ONCE

            async def input_limit(self) -> int | None:
                return None

        # The package gives the function of this name, not the module.
        factory = sys.modules["cognee.infrastructure.databases.vector.embeddings.get_embedding_engine"]
        if not callable(factory.__dict__.get("create_embedding_engine")):
            raise StoreError("The installed Cognee is not the pinned one. Install the lock again, then retry.")
        factory.__dict__["create_embedding_engine"] = lambda *_settings: Local()

    async def remember(self, dataset: str, episodes: Sequence[Indexed]) -> None:
        async with self._writing:
            await self._write(dataset, episodes)

    async def _write(self, dataset: str, episodes: Sequence[Indexed]) -> None:
        """Write all episodes in one run and one statement per store: 0.13 s a dataset, else 25 ms more an episode.

        Each point carries its own id as its source, as Cognee's `add_data_points` would have it, so that Cognee can
        forget it alone. The run's one data item stands for the batch; Cognee records no more of it than its id.
        """
        from cognee.infrastructure.databases.provenance import make_source_ref_key
        from cognee.infrastructure.databases.provenance.markers import mark_graph_provenance_if_empty
        from cognee.infrastructure.databases.unified import get_unified_engine
        from cognee.modules.pipelines.models.PipelineRunInfo import PipelineRunErrored
        from cognee.modules.pipelines.tasks.task import Task
        from cognee.tasks.ingestion.data_item import DataItem
        from cognee.tasks.storage import index_data_points

        points = [self._point(id=episode.id, text=episode.text) for episode in episodes]
        # Embedded here, the vectors are only looked up when Cognee asks for them.
        await asyncio.to_thread(self._embedder.embed, [episode.text for episode in episodes])

        async def keep(_batch: list[Any], ctx: Any = None) -> list[Any]:
            engines = await get_unified_engine()
            await mark_graph_provenance_if_empty(engines.graph)
            # Graph before vectors: a point without a node could never be found to be forgotten.
            await engines.graph.add_nodes(
                points,
                source_ref_key={str(point.id): make_source_ref_key(ctx.dataset.id, point.id) for point in points},
                pipeline_run_id=str(ctx.pipeline_run_id),
            )
            await index_data_points(points, vector_engine=engines.vector)
            table = await engines.vector.get_collection(_COLLECTION)
            if (await table.stats())["fragment_stats"]["num_fragments"] > _MOST_FRAGMENTS:
                await engines.vector.compact(_COLLECTION)
            return points

        runs = await self._cognee.run_custom_pipeline(
            tasks=[Task(keep, needs_llm=False)],
            data=[DataItem(data=None, data_id=uuid.uuid4())],
            dataset=dataset,
            user=self._user,
            pipeline_name="remember_episodes",
        )
        for run in runs.values() if isinstance(runs, dict) else [runs]:
            if isinstance(run, PipelineRunErrored):
                raise RuntimeError(run.error_message or run.payload)

    async def recall(self, datasets: Sequence[str], vector: Vector, limit: int) -> Sequence[Hit]:
        found = await asyncio.gather(*(self._search(dataset, vector.tolist(), limit) for dataset in datasets))
        return tuple(hit for hits in found for hit in hits)

    async def _search(self, dataset: str, vector: list[float], limit: int) -> Sequence[Hit]:
        from cognee.infrastructure.databases.vector.exceptions import CollectionNotFoundError

        kept = dataset in self._engines
        engine = await self._engine(dataset)
        if engine is None:
            return ()
        try:
            results = await engine.search(_COLLECTION, query_vector=vector, limit=limit)
        except CollectionNotFoundError:
            return ()
        except Exception:
            if not kept:
                raise
            # It may have been rewritten meanwhile: ask Cognee for it once more.
            self._drop_engine(dataset)
            return await self._search(dataset, vector, limit)
        return [Hit(uuid.UUID(str(result.id)), 1.0 - result.score) for result in results]

    async def _engine(self, dataset: str) -> Any:
        """Cognee's vector engine of a dataset, or None when there is no such dataset.

        It is kept: finding it takes eight look-ups in Cognee's own database, three times as long as the search.
        """
        engine = self._engines.get(dataset)
        if engine is not None:
            self._engines.move_to_end(dataset)
            return engine
        rewrites = self._rewrites
        async with self._finding:
            found = await self._find(dataset)
            if found is None:
                return None
            from cognee.context_global_variables import set_database_global_context_variables
            from cognee.infrastructure.databases.vector.config import get_vectordb_context_config
            from cognee.infrastructure.databases.vector.create_vector_engine import create_vector_engine

            async with set_database_global_context_variables(found, self._user.id, permission_type="read"):
                engine = create_vector_engine(**get_vectordb_context_config())
        if rewrites == self._rewrites:
            self._engines[dataset] = engine
            if len(self._engines) > _KEPT_ENGINES:
                self._engines.popitem(last=False)
        return engine

    def _drop_engine(self, dataset: str) -> None:
        """Let go of what was opened of a dataset whose files are about to be, or have been, replaced."""
        self._rewrites += 1
        self._engines.pop(dataset, None)

    async def forget(self, dataset: str, ids: Sequence[uuid.UUID]) -> None:
        async with self._writing:
            if await self._find(dataset) is not None:
                for id in ids:
                    await self._cognee.forget(data_id=id, dataset=dataset, user=self._user)

    async def erase(self, dataset: str, survivors: Sequence[Indexed]) -> None:
        async with self._writing:
            self._drop_engine(dataset)
            if await self._find(dataset) is not None:
                await self._cognee.forget(dataset=dataset, user=self._user)
                self._datasets.pop(dataset, None)
            for place in self._places(dataset):
                # Cognee removes both; a crash in between may have left one.
                if place.is_dir():
                    shutil.rmtree(place)
                else:
                    place.unlink(missing_ok=True)
            # Once more: a search may have opened it since.
            self._drop_engine(dataset)
            if survivors:
                await self._write(dataset, survivors)

    async def improve(self, dataset: str) -> str:
        before = await self.members(dataset)
        async with self._writing:
            found = await self._find(dataset)
            if found is None:
                return "nothing is there"
            result = await self._cognee.improve(dataset=found, user=self._user)
            self._drop_engine(dataset)
        if await self.members(dataset) != before:
            raise StoreDamagedError(f"Cognee's improve left something else than episodes in {dataset}.")
        done = [f"{stage.stage} {stage.status}" for stage in result.stages if stage.status != "skipped"]
        idle = Counter(stage.reason for stage in result.stages if stage.status == "skipped")
        left = [f"{count} stages left out ({reason})" for reason, count in sorted(idle.items())]
        return ", ".join((*done, *left)) or "nothing to do"

    async def members(self, dataset: str) -> frozenset[uuid.UUID]:
        async with self._writing:
            vectors, graph = self._places(dataset)
            found = set(await self._vector_ids(vectors) if vectors.is_dir() else [])
            if graph.exists():
                found.update(await self._graph_ids(graph))
        return frozenset(uuid.UUID(id) for id in found)

    async def archive(self, dataset: str, folder: Path, told: Mapping[uuid.UUID, Mapping[str, object]]) -> int:
        from cognee.modules.migration.cogx import RAW_NODES_FILE

        async with self._writing:
            if await self._find(dataset) is None:
                return 0
            await self._cognee.export(dataset, format="cogx", destination=folder, user=self._user)
        nodes = folder / RAW_NODES_FILE
        held = [json.loads(line) for line in nodes.read_text("utf-8").splitlines()] if nodes.exists() else []
        held.sort(key=lambda node: str(node["id"]))
        lines = (json.dumps({**node, **told.get(uuid.UUID(node["id"]), {})}, ensure_ascii=False) for node in held)
        nodes.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return len(held)

    async def _vector_ids(self, vectors: Path) -> list[str]:
        import lancedb

        connection = await lancedb.connect_async(str(vectors))
        found: list[str] = []
        for name in (await connection.list_tables()).tables:
            table = await connection.open_table(name)
            rows = await table.query().select(["id"]).to_arrow()
            found.extend(rows.column("id").to_pylist())
        return found

    async def _graph_ids(self, graph: Path) -> list[str]:
        import ladybug
        from cognee.infrastructure.databases.graph.get_graph_engine import graph_engine_cache

        # One handle at a time: two would each see, and write back, pages of their own.
        await graph_engine_cache.aevict_for_database(graph.name)

        def read() -> list[str]:
            database = ladybug.Database(str(graph), buffer_pool_size=_GRAPH_CACHE, max_num_threads=1)
            try:
                connection = ladybug.Connection(database)
                try:
                    rows = connection.execute("MATCH (n:Node) RETURN n.id").get_all()
                finally:
                    connection.close()
            finally:
                database.close()
            return [row[0] for row in rows]

        return await asyncio.to_thread(read)

    async def _find(self, dataset: str) -> uuid.UUID | None:
        known = self._datasets.get(dataset)
        if known is not None:
            return known
        from cognee.modules.data.methods import get_authorized_dataset_by_name

        found = await get_authorized_dataset_by_name(dataset, self._user, "read")
        if found is None:
            return None
        self._datasets[dataset] = found.id
        return self._datasets[dataset]

    def _places(self, dataset: str) -> tuple[Path, Path]:
        """Vector folder and graph file of a dataset: Cognee derives its id from name, owner and tenant."""
        id = uuid.uuid5(uuid.NAMESPACE_OID, f"{dataset}{self._user.id}{self._user.tenant_id}")
        home = self._folder / "system" / "databases" / str(self._user.id)
        return home / f"{id}.lance.db", home / f"{id}.lbug"


@functools.cache
def _point_class() -> Any:
    from cognee.low_level import DataPoint

    class RememberedQuestion(DataPoint):  # type: ignore[misc]
        text: str
        metadata: dict[str, Any] = {"index_fields": ["text"]}  # noqa: RUF012

    return RememberedQuestion


def _forget_settings() -> None:
    """Drop the settings Cognee cached for the folder that was open before, so that it reads them anew."""
    from cognee.base_config import get_base_config
    from cognee.infrastructure.databases.graph.config import get_graph_config
    from cognee.infrastructure.databases.relational.config import get_relational_config
    from cognee.infrastructure.databases.relational.create_relational_engine import create_relational_engine
    from cognee.infrastructure.databases.vector.config import get_vectordb_config
    from cognee.infrastructure.databases.vector.embeddings.config import get_embedding_config

    for cached in (
        get_base_config,
        get_relational_config,
        create_relational_engine,
        get_vectordb_config,
        get_graph_config,
        get_embedding_config,
    ):
        cached.cache_clear()
