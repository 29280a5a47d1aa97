"""Real parts for the tests of the models: a provider on a loopback port, wheels, and a very small GGUF."""

from __future__ import annotations

import hashlib
import json
import random
import socket
import struct
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent.models.catalogue import LocalFile


@dataclass
class Answer:
    """What the provider says next. `cut`: close the connection after that many bytes of the body."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    raw: bytes | None = None
    delay: float = 0.0

    def payload(self) -> bytes:
        return self.raw if self.raw is not None else json.dumps(self.body).encode()


class Provider:
    """A real HTTP server on a loopback port. Gives `answers` in order, the last one for ever; keeps `requests`."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                provider.requests.append({"path": self.path, **json.loads(body)})
                provider.headers.append({name.lower(): value for name, value in self.headers.items()})
                answer = provider.answers.pop(0) if len(provider.answers) > 1 else provider.answers[0]
                if answer.delay:
                    provider.released.wait(answer.delay)
                payload = answer.payload()
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload[: answer.cut])
                if answer.cut is not None:
                    self.close_connection = True

            def log_message(self, *arguments: object) -> None:
                del arguments

        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    running = Provider()
    yield running
    running.close()


@pytest.fixture
def answer() -> type[Answer]:
    return Answer


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- a file in parts ---------------------------------------------------------------------------------------------

PART_SIZE = 100_000
FILE_SIZE = 250_001


@dataclass
class Parted:
    """A made-up model file, its catalogue entry, and its parts as wheels in `wheels`."""

    entry: LocalFile
    content: bytes
    wheels: Path


METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: no-such-package-of-ours\n"


def write_wheel(folder: Path, name: str, version: str, part: bytes, member: str = "data/part.bin") -> Path:
    """A wheel as pip accepts it, whose code would raise if anything ever imported it."""
    package = name.replace("-", "_")
    path = folder / f"{package}-{version}-py3-none-any.whl"
    info = f"{package}-{version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{package}/__init__.py", "raise SystemExit('this package must never be imported')\n")
        wheel.writestr(f"{package}/{member}", part)
        wheel.writestr(f"{info}/METADATA", METADATA.format(name=name, version=version))
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def wheel_writer() -> Callable[..., Path]:
    return write_wheel


@pytest.fixture
def parted(tmp_path: Path) -> Parted:
    content = random.Random(1).randbytes(FILE_SIZE)
    slices = [content[start : start + PART_SIZE] for start in range(0, FILE_SIZE, PART_SIZE)]
    entry = LocalFile(
        name="tiny-model",
        alias="tiny",
        about="A made-up file",
        file="tiny.gguf",
        size=FILE_SIZE,
        sha256=hashlib.sha256(content).hexdigest(),
        hub="http://127.0.0.1:9/tiny.gguf",
        parts="tiny-model-part",
        parts_version="1.0.0",
        part_size=PART_SIZE,
        part_sha256=tuple(hashlib.sha256(part).hexdigest() for part in slices),
    )
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for number, part in enumerate(slices, 1):
        write_wheel(wheels, f"tiny-model-part{number}", "1.0.0", part)
    return Parted(entry, content, wheels)


# --- a GGUF that llama.cpp can run -------------------------------------------------------------------------------

_U32, _F32, _STRING, _ARRAY, _I32 = 4, 6, 8, 9, 5
_ALIGNMENT = 32

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _entry(key: str, kind: int, value: Any) -> bytes:
    packed = {
        _U32: lambda: struct.pack("<I", value),
        _F32: lambda: struct.pack("<f", value),
        _STRING: lambda: _text(value),
    }
    return _text(key) + struct.pack("<I", kind) + packed[kind]()


def _array(key: str, kind: int, values: list[Any]) -> bytes:
    items = b"".join(_text(value) if kind == _STRING else struct.pack("<i", value) for value in values)
    return _text(key) + struct.pack("<IIQ", _ARRAY, kind, len(values)) + items


def _byte_letters() -> list[str]:
    """The 256 letters that stand for bytes in a GPT-2 vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + moved.index(byte)) for byte in range(256)]


def write_tiny_gguf(path: Path) -> Path:
    """One layer of a llama with random weights and a vocabulary of bytes: it writes endless nonsense, always the same.

    Layout: the GGUF specification, version 3, of ggml.
    """
    width, heads, inner = 64, 2, 64
    tokens = [*_byte_letters(), "<|im_start|>", "<|im_end|>"]
    kinds = [1] * 256 + [3, 3]
    pairs = [
        _entry("general.architecture", _STRING, "llama"),
        _entry("general.name", _STRING, "tiny"),
        _entry("llama.context_length", _U32, 65_536),
        _entry("llama.embedding_length", _U32, width),
        _entry("llama.block_count", _U32, 1),
        _entry("llama.feed_forward_length", _U32, inner),
        _entry("llama.attention.head_count", _U32, heads),
        _entry("llama.attention.head_count_kv", _U32, heads),
        _entry("llama.rope.dimension_count", _U32, width // heads),
        _entry("llama.attention.layer_norm_rms_epsilon", _F32, 1e-5),
        _entry("llama.vocab_size", _U32, len(tokens)),
        _entry("tokenizer.ggml.model", _STRING, "gpt2"),
        _entry("tokenizer.ggml.pre", _STRING, "qwen2"),
        _array("tokenizer.ggml.tokens", _STRING, tokens),
        _array("tokenizer.ggml.token_type", _I32, kinds),
        _array("tokenizer.ggml.merges", _STRING, ["S E", "SE L"]),
        _entry("tokenizer.ggml.eos_token_id", _U32, 257),
        _entry("tokenizer.ggml.bos_token_id", _U32, 257),
        _entry("tokenizer.chat_template", _STRING, CHAT_TEMPLATE),
    ]
    shapes = {
        "token_embd.weight": (width, len(tokens)),
        "output_norm.weight": (width,),
        "output.weight": (width, len(tokens)),
        "blk.0.attn_norm.weight": (width,),
        "blk.0.attn_q.weight": (width, width),
        "blk.0.attn_k.weight": (width, width),
        "blk.0.attn_v.weight": (width, width),
        "blk.0.attn_output.weight": (width, width),
        "blk.0.ffn_norm.weight": (width,),
        "blk.0.ffn_gate.weight": (width, inner),
        "blk.0.ffn_down.weight": (inner, width),
        "blk.0.ffn_up.weight": (width, inner),
    }
    dice = random.Random(3)
    infos, data = b"", b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        infos += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        infos += struct.pack("<IQ", 0, len(data))
        values = [1.0] * count if "norm" in name else [dice.gauss(0, 0.3) for _ in range(count)]
        if name == "output.weight":
            values[-2 * width :] = [0.0] * (2 * width)  # the last two tokens are never the likeliest: it never ends
        data += struct.pack(f"<{count}f", *values)
        data += b"\0" * (-len(data) % _ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(pairs)) + b"".join(pairs) + infos
    path.write_bytes(head + b"\0" * (-len(head) % _ALIGNMENT) + data)
    return path


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")
