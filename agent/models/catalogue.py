"""The local models that have a name: what they are called, how big they are, and which bytes they must be."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from agent.models.port import ModelError

CATALOGUE_FILE = Path(__file__).resolve().parents[2] / "data" / "models.toml"


class CatalogueError(ModelError):
    """The catalogue file is missing or wrong."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """One GGUF file. Sizes in bytes; `part_sha256` in the order of the parts, which together are the whole file."""

    name: str
    alias: str
    about: str
    file: str
    size: int
    sha256: str
    hub: str
    parts: str
    parts_version: str
    part_size: int
    part_sha256: tuple[str, ...]

    def part_range(self, index: int) -> tuple[int, int]:
        """First byte and length of part `index`, counted from zero."""
        start = index * self.part_size
        return start, min(self.part_size, self.size - start)


def load_catalogue(path: Path = CATALOGUE_FILE) -> tuple[LocalFile, ...]:
    """Read the catalogue. Raises CatalogueError."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))["model"]
        entries = tuple(_entry(table) for table in tables)
    except FileNotFoundError as problem:
        raise CatalogueError(f"The model catalogue {path} is missing. Restore it from the repository.") from problem
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as problem:
        raise CatalogueError(f"The model catalogue {path} cannot be read: {problem}. Correct the file.") from problem
    for entry in entries:
        _check(entry, path)
    return entries


def _entry(table: dict[str, Any]) -> LocalFile:
    words = {name: str(table[name]) for name in ("name", "alias", "about", "file", "sha256", "hub", "parts")}
    return LocalFile(
        **words,
        parts_version=str(table["parts_version"]),
        size=int(table["size"]),
        part_size=int(table["part_size"]),
        part_sha256=tuple(str(digest) for digest in table["part_sha256"]),
    )


def _check(entry: LocalFile, path: Path) -> None:
    wanted = -(-entry.size // entry.part_size) if entry.part_size > 0 else 0
    if wanted != len(entry.part_sha256):
        raise CatalogueError(
            f"The model catalogue {path} gives {len(entry.part_sha256)} part hashes for {entry.name}, "
            f"but its sizes need {wanted}. Correct the file."
        )
    if Path(entry.file).name != entry.file or not entry.file.endswith(".gguf"):
        raise CatalogueError(f"The model catalogue {path} has a bad file name {entry.file!r} for {entry.name}.")


def find_entry(name: str, entries: tuple[LocalFile, ...]) -> LocalFile | None:
    """The entry with this name or alias, whatever the case."""
    wanted = name.strip().lower()
    return next((entry for entry in entries if wanted in (entry.name.lower(), entry.alias.lower())), None)


def nearest_name(name: str, names: tuple[str, ...]) -> str | None:
    """The name most like the given one, or None when nothing is close.

    >>> nearest_name("qwen2.5-coder-0.5", ("claude", "qwen2.5-coder-0.5b"))
    'qwen2.5-coder-0.5b'
    """
    close = get_close_matches(name.strip().lower(), names, n=1, cutoff=0.5)
    return close[0] if close else None
