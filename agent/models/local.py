"""A GGUF model that runs inside this process, through llama.cpp."""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import os
import re
import shutil
import statistics
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent.models.port import ModelError, ModelUnavailableError, Prompt, Reply, Turn, Usage
from agent.models.resilience import prompt_bytes

SEED = 7
GGUF_MAGIC = b"GGUF"
BATCH_TOKENS = 256
"""Tokens computed at once. A call can be interrupted between two batches; larger ones are not quicker on a CPU."""

KEPT_PREFIXES = 8
"""Prefilled stable parts kept on disk; the ones used longest ago go first."""

SOCKET_PATH_LIMIT = 100
"""Bytes that the path of a Unix socket may have on every system, with room for the file name."""

_CONTROL_TOKEN = re.compile(r"<\|([^<>|\s]+)\|>")
_MARK = "the-question-goes-here"

_QUIET = 0
"""llama.cpp: write nothing that is not an error of the program itself."""


class ContextTooLongError(ModelError):
    """The prompt has more tokens than the model's window."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What the last call cost, as llama.cpp measured it. Tokens that came from the prefix cache are in neither."""

    prompt_tokens: int
    prompt_seconds: float
    output_tokens: int
    output_seconds: float


def load_runtime() -> None:
    """Load llama.cpp's library. Call it before anything loads Cognee's graph database.

    Raises ModelUnavailableError where it cannot be loaded.

    Loaded after that one (kuzu 0.11, ladybug), llama.cpp ends the process with `std::bad_alloc` at its first
    prompt; loaded before it, both work.
    """
    # Must be set before the OpenMP runtime starts: spinning threads starve everything else on a small machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp  # noqa: F401
    except (ImportError, OSError) as problem:
        raise ModelUnavailableError(
            f"llama.cpp cannot be loaded ({problem}). Run scripts/setup again, or ask a hosted model with --model."
        ) from problem


class LocalModel:
    """Answers with a GGUF file, at temperature 0 where the prompt has no other.

    Nothing is loaded before `prepare` or the first `complete`.

    llama.cpp's server runs in this process and listens on a Unix socket in a folder that only this user can
    open; no network port is opened. The stable part of a prompt is prefilled once, kept in `prefix_folder`, and
    put back before every question, so a reply does not depend on the questions before it. A call that goes on
    with the conversation of the last one (a repair) goes on in its cache.

    `threads`: None lets llama.cpp take the physical cores. `context_tokens`: window for prompt and reply
    together. `deadline`: seconds for one call. `grammar` (GBNF) bounds the reply to each prompt that brings none.
    """

    def __init__(
        self,
        *,
        path: Path,
        name: str | None = None,
        prefix_folder: Path | None = None,
        threads: int | None = None,
        context_tokens: int = 8_192,
        deadline: float = 300.0,
        grammar: str | None = None,
        pull_hint: str = "hebbql models pull 0.5b",
    ) -> None:
        self.path = path
        self.timing: Timing | None = None
        self._name = name or str(path)
        self._prefix_folder = prefix_folder
        self._threads = threads
        self._context_tokens = context_tokens
        self._deadline = deadline
        self._grammar = grammar
        self._pull_hint = pull_hint
        self._turn = threading.Lock()
        self._engine: _Engine | None = None
        self._origin: tuple[tuple[int, int, int], str] | None = None

    @property
    def name(self) -> str:
        return self._name

    def origin(self) -> str:
        """The digest of the file, and what else decides what it writes. Reads the whole file when it is new.

        Raises ModelUnavailableError where there is no such file.
        """
        if self._engine is None or self._origin is None:
            _check_file(self.path, self._pull_hint)
            state = self.path.stat()
            stamp = (state.st_ino, state.st_size, state.st_mtime_ns)
            if self._origin is None or self._origin[0] != stamp:
                with self.path.open("rb") as file:
                    self._origin = stamp, hashlib.file_digest(file, "sha256").hexdigest()
        runtime = importlib.metadata.version("xllamacpp")
        return f"{self._origin[1]} {runtime} {self._context_tokens} {BATCH_TOKENS} {SEED} {self._grammar or ''}"

    @property
    def loaded(self) -> bool:
        """True once the file is in memory."""
        return self._engine is not None

    def prepare(self, stable: str | None = None) -> None:
        """Load the file, and prefill the stable part if given. Raises ModelUnavailableError."""
        with self._turn:
            engine = self._load()
            if stable:
                engine.start_from(stable)

    def complete(self, prompt: Prompt) -> Reply:
        """Reply to the prompt.

        Raises:
            ModelUnavailableError: the file is missing or broken.
            ContextTooLongError: the prompt does not fit.
            ModelError: llama.cpp refused, or the deadline passed.
        """
        if not prompt.turns or prompt.turns[-1].role != "user":
            raise ModelError("A prompt must end with a user turn.")
        prompt_bytes(prompt)
        with self._turn:
            began = time.monotonic()
            said = self._load().chat(prompt, prompt.grammar or self._grammar)
            choice, used = said["choices"][0], said["usage"]
            timings = said.get("timings", {})
            self.timing = Timing(
                timings.get("prompt_n", 0),
                timings.get("prompt_ms", 0.0) / 1000,
                timings.get("predicted_n", 0),
                timings.get("predicted_ms", 0.0) / 1000,
            )
            cached = int(used.get("prompt_tokens_details", {}).get("cached_tokens", 0))
            return Reply(
                text=choice["message"].get("content") or "",
                usage=Usage(int(used["prompt_tokens"]) - cached, int(used["completion_tokens"]), cached),
                seconds=time.monotonic() - began,
                stop=_stop(choice.get("finish_reason")),
                likelihood=_likelihood(choice.get("logprobs")),
            )

    def close(self) -> None:
        """Free the memory. The next `complete` would load the file again."""
        with self._turn:
            if self._engine is not None:
                self._engine.close()
                self._engine = None

    def _load(self) -> _Engine:
        if self._engine is None:
            _check_file(self.path, self._pull_hint)
            self._engine = _Engine(
                path=self.path,
                prefix_folder=self._prefix_folder,
                threads=self._threads,
                context_tokens=self._context_tokens,
                deadline=self._deadline,
                pull_hint=self._pull_hint,
            )
        return self._engine


def _stop(reason: object) -> Literal["end", "length"]:
    return "length" if reason == "length" else "end"


def _likelihood(told: Mapping[str, Any] | None) -> float | None:
    """The geometric mean of the chances of the tokens, from their logarithms."""
    chances = [token["logprob"] for token in (told or {}).get("content") or ()]
    return round(math.exp(statistics.fmean(chances)), 6) if chances else None


def _check_file(path: Path, pull_hint: str) -> None:
    fix = f"Run `{pull_hint}`, or give another file with --model."
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except FileNotFoundError as problem:
        raise ModelUnavailableError(f"The model file {path} is not there. {fix}") from problem
    except OSError as problem:
        raise ModelUnavailableError(f"The model file {path} cannot be read: {problem.strerror}. {fix}") from problem
    if magic != GGUF_MAGIC:
        raise ModelUnavailableError(f"{path} is not a GGUF file. {fix}")


class _Engine:
    """One loaded file: llama.cpp's server, the socket to it, and the prefilled stable parts."""

    def __init__(
        self,
        *,
        path: Path,
        prefix_folder: Path | None,
        threads: int | None,
        context_tokens: int,
        deadline: float,
        pull_hint: str,
    ) -> None:
        load_runtime()
        import httpx
        import xllamacpp

        self._private = _private_folder()
        # Also when the process ends without close().
        self._leave = weakref.finalize(self, shutil.rmtree, self._private, ignore_errors=True)
        socket = self._private / "s.sock"
        self._prefixes = prefix_folder or self._private / "prefixes"
        self._prefixes.mkdir(parents=True, exist_ok=True)
        self._context_tokens = context_tokens
        self._stamp = _file_stamp(path, xllamacpp.__version__, context_tokens)
        self._last: Prompt | None = None
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.hostnames = [str(socket)]
        params.slot_save_path = f"{self._prefixes}{os.sep}"
        params.n_ctx = context_tokens
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.n_parallel = 1
        params.fit_params = False
        params.cache_ram_mib = 0
        params.warmup = False
        params.ui = False
        params.verbosity = _QUIET
        if threads is not None:
            params.cpuparams.n_threads = threads
            params.cpuparams_batch.n_threads = threads
        try:
            with _silent_stderr():
                self._server = xllamacpp.Server(params)
        except RuntimeError as problem:
            self._leave()
            raise ModelUnavailableError(
                f"llama.cpp cannot load {path} ({path.stat().st_size:,} bytes): the file is cut short, damaged, of an "
                f"unknown kind, or too big for the memory. Run `{pull_hint}`, or give another file with --model."
            ) from problem
        self._client = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://model", timeout=deadline
        )

    def chat(self, prompt: Prompt, grammar: str | None) -> dict[str, Any]:
        """One completion; the raw answer of llama.cpp."""
        if not self._goes_on(prompt):
            self.start_from(prompt.stable)
        self._last = None
        said = self._post(
            "/v1/chat/completions",
            {
                "messages": _messages(prompt.stable, prompt.turns),
                "max_tokens": prompt.max_tokens,
                "temperature": prompt.temperature,
                "seed": SEED,
                "logprobs": True,
                "top_logprobs": 1,
                "cache_prompt": True,
                "id_slot": 0,
                **({"grammar": grammar} if grammar else {}),
            },
        )
        self._last = prompt
        return said

    def start_from(self, stable: str) -> None:
        """Put the slot into the state right after the stable part: from disk if it is there, else computed."""
        file = f"{hashlib.sha256(f'{self._stamp}{chr(0)}{stable}'.encode()).hexdigest()[:32]}.prefix"
        self._last = None
        if (self._prefixes / file).exists() and self._restore(file):
            return
        if opening := self._opening(stable):
            self._post("/completion", {"prompt": opening, "n_predict": 0, "cache_prompt": True, "id_slot": 0})
            self._save(file)

    def close(self) -> None:
        self._client.close()
        with _silent_stderr():
            del self._server
        self._leave()

    def _goes_on(self, prompt: Prompt) -> bool:
        """True when this prompt only adds turns to the last one."""
        last = self._last
        return (
            last is not None
            and last.stable == prompt.stable
            and len(prompt.turns) > len(last.turns)
            and prompt.turns[: len(last.turns)] == last.turns
        )

    def _opening(self, stable: str) -> str:
        """What the file's chat template writes for every prompt with this stable part."""
        whole = self._post("/apply-template", {"messages": _messages(stable, (Turn("user", _MARK),))})["prompt"]
        return str(whole)[: str(whole).rfind(_MARK)] if _MARK in whole else ""

    def _restore(self, file: str) -> bool:
        with suppress(ModelError):
            self._post("/slots/0?action=restore", {"filename": file})
            with suppress(OSError):
                os.utime(self._prefixes / file)
            return True
        return False

    def _save(self, file: str) -> None:
        """Keep the prefilled state. It holds the stable part only, never a question. A full disk is no failure."""
        fresh = f"{file}.{os.getpid()}"
        with suppress(ModelError, OSError):
            self._post("/slots/0?action=save", {"filename": fresh})
            os.replace(self._prefixes / fresh, self._prefixes / file)
            kept = sorted(self._prefixes.glob("*.prefix*"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in kept[KEPT_PREFIXES:]:
                path.unlink(missing_ok=True)

    def _post(self, where: str, body: dict[str, Any]) -> dict[str, Any]:
        import httpx

        try:
            answer = self._client.post(where, json=body).json()
        except httpx.TimeoutException as problem:
            raise ModelError(
                f"The local model did not finish within {self._client.timeout.read:g} s. "
                "Ask something shorter, or set HEBBQL_MODEL_DEADLINE to more seconds."
            ) from problem
        except (httpx.HTTPError, ValueError) as problem:
            raise ModelError(f"The local model stopped answering ({type(problem).__name__}). Ask again.") from problem
        if "error" in answer:
            raise self._refusal(answer["error"])
        return dict(answer)

    def _refusal(self, error: dict[str, Any]) -> ModelError:
        if error.get("type") == "exceed_context_size_error":
            return ContextTooLongError(
                f"The prompt has {error.get('n_prompt_tokens')} tokens and the local model's window holds "
                f"{self._context_tokens}. Set HEBBQL_CONTEXT_TOKENS higher, or ask about fewer tables."
            )
        return ModelError(f"The local model refused the prompt: {error.get('message', 'no reason given')}")


def _messages(stable: str, turns: tuple[Turn, ...]) -> list[dict[str, str]]:
    system = [{"role": "system", "content": _plain(stable)}] if stable else []
    return system + [{"role": turn.role, "content": _plain(turn.text)} for turn in turns]


def _plain(text: str) -> str:
    """Break up control tokens, so that a cell value or a question cannot end its turn and speak as the system.

    >>> _plain("a <|im_end|> b")
    'a <| im_end |> b'
    """
    return _CONTROL_TOKEN.sub(r"<| \1 |>", text)


def _file_stamp(path: Path, version: str, context_tokens: int) -> str:
    state = path.stat()
    return f"{path.name} {state.st_size} {state.st_mtime_ns} {version} {context_tokens} {BATCH_TOKENS}"


def _private_folder() -> Path:
    """A new folder that only this user can open, with a path short enough for a Unix socket."""
    folder = Path(tempfile.mkdtemp(prefix="hebbql-"))
    if len(os.fsencode(folder)) > SOCKET_PATH_LIMIT - len("/s.sock"):
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="hebbql-", dir="/tmp"))
    return folder


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Send what native code writes to stderr to nowhere, for the time of loading."""
    sink = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(2)
    try:
        os.dup2(sink, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(sink)
