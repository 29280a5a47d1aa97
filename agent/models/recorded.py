"""Replies from a file or a list instead of a model: for tests, demonstrations and exact repetition of a run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.models.port import Model, ModelError, ModelUnavailableError, Prompt, Reply, Usage, origin_of


class NotRecordedError(ModelError):
    """The file has no reply to this prompt."""

    def __init__(self, key: str, model: str, path: Path) -> None:
        super().__init__(
            f"{path} has no reply of {model} to the prompt with hash {key}. The prompt has changed since then: "
            "record it again, by asking with the real model inside a RecordingModel on this file."
        )
        self.key = key


def prompt_hash(model: str, prompt: Prompt) -> str:
    """Hash of everything that a reply depends on, the same on every machine.

    It is the first 32 hex digits of the SHA-256 over the UTF-8 JSON array
    `[model, max_tokens, stable, [[role, text], …]]`, without spaces and without escapes for non-ASCII letters. A
    grammar and a temperature stand behind them, where there is one.

    >>> from agent.models.port import Turn
    >>> prompt_hash("0.5b", Prompt("s", (Turn("user", "q"),), 10))
    '426ab65fc8277d7d65173f6fa96befc8'
    """
    parts = [model, prompt.max_tokens, prompt.stable, [[turn.role, turn.text] for turn in prompt.turns]]
    parts += [prompt.grammar] if prompt.grammar else []
    parts += [prompt.temperature] if prompt.temperature else []
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class RecordedModel:
    """Replays a JSONL file that a RecordingModel wrote. Never calls anything.

    `model` is the name of the model that was recorded; None takes it from the file's first line. The last recording of
    a prompt counts.
    """

    def __init__(self, *, path: Path, model: str | None = None) -> None:
        self.path = path
        self._replies, names = _read(path)
        if model is None and not names:
            raise ModelUnavailableError(f"The recording {path} is empty. Record something, or name another file.")
        self._model = model or names[0]

    @property
    def name(self) -> str:
        return f"recorded:{self.path}"

    def origin(self) -> str:
        """The digest of all that was recorded."""
        return hashlib.sha256(repr(sorted(self._replies.items(), key=lambda one: one[0])).encode()).hexdigest()

    def complete(self, prompt: Prompt) -> Reply:
        """The recorded reply. Raises NotRecordedError."""
        key = prompt_hash(self._model, prompt)
        if key not in self._replies:
            raise NotRecordedError(key, self._model, self.path)
        return self._replies[key]

    def close(self) -> None:
        """Nothing to close."""


class RecordingModel:
    """Passes every prompt on to a real model and appends the reply to a JSONL file, one line each.

    A prompt that the file has already is answered again by the model and recorded once more.
    """

    def __init__(self, *, model: Model, path: Path) -> None:
        self._inner = model
        self._path = path
        self._writing = threading.Lock()

    @property
    def name(self) -> str:
        return self._inner.name

    def origin(self) -> str:
        return origin_of(self._inner)

    def complete(self, prompt: Prompt) -> Reply:
        reply = self._inner.complete(prompt)
        line = {
            "hash": prompt_hash(self.name, prompt),
            "model": self.name,
            "question": prompt.turns[-1].text if prompt.turns else "",
            **dataclasses.asdict(reply),
        }
        with self._writing, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return reply

    def close(self) -> None:
        self._inner.close()


class ScriptedModel:
    """Gives the replies of a list, one after the other, and keeps the prompts. For tests and demonstrations.

    A ModelError in the list is raised instead.
    """

    def __init__(self, replies: Sequence[Reply | str | ModelError], *, name: str = "scripted") -> None:
        self.prompts: list[Prompt] = []
        self._replies = [Reply(reply) if isinstance(reply, str) else reply for reply in replies]
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def complete(self, prompt: Prompt) -> Reply:
        """The next reply. Raises ModelError at the end of the list."""
        self.prompts.append(prompt)
        if len(self.prompts) > len(self._replies):
            raise ModelError(f"The script has {len(self._replies)} replies and is over. Add one for this prompt.")
        reply = self._replies[len(self.prompts) - 1]
        if isinstance(reply, ModelError):
            raise reply
        return reply

    def close(self) -> None:
        """Nothing to close."""


def _read(path: Path) -> tuple[dict[str, Reply], list[str]]:
    replies: dict[str, Reply] = {}
    names: list[str] = []
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise ModelUnavailableError(f"The recording {path} cannot be read: {problem}. Name another file.") from problem
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            replies[record["hash"]] = _reply_of(record)
            names.append(record["model"])
        except (ValueError, KeyError, TypeError) as problem:
            raise ModelUnavailableError(
                f"Line {number} of the recording {path} is not a recorded reply: {problem!r}. Remove the line."
            ) from problem
    return replies, names


def _reply_of(record: dict[str, Any]) -> Reply:
    return Reply(
        text=record["text"],
        usage=Usage(**record["usage"]),
        seconds=record["seconds"],
        stop=record["stop"],
        declined=record["declined"],
        likelihood=record.get("likelihood"),
    )
