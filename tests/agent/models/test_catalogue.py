"""The catalogue of local models."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from agent.models.catalogue import CATALOGUE_FILE, CatalogueError, find_entry, load_catalogue, nearest_name

SHIPPED = CATALOGUE_FILE.read_text("utf-8")


def test_the_shipped_models_are_there_by_name_and_by_alias() -> None:
    entries = load_catalogue()
    for name, alias in (("qwen2.5-coder-0.5b", "0.5b"), ("qwen2.5-coder-1.5b", "1.5b")):
        entry = find_entry(f" {name.upper()} ", entries)
        assert entry is not None and entry is find_entry(alias, entries)
        assert entry.hub.startswith("https://") and entry.hub.endswith(entry.file)
        assert len(entry.sha256) == 64 and {len(digest) for digest in entry.part_sha256} == {64}
    assert find_entry("0.7b", entries) is None


def test_the_parts_are_the_whole_file() -> None:
    for entry in load_catalogue():
        ranges = [entry.part_range(index) for index in range(len(entry.part_sha256))]
        assert ranges[0][0] == 0 and sum(length for _, length in ranges) == entry.size
        assert all(start + length == following for (start, length), (following, _) in pairwise(ranges))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("qwen-coder-0.5b", "qwen2.5-coder-0.5b"), ("cloude", "claude"), ("05b", "0.5b"), ("xyz", None)],
)
def test_a_mistyped_name_finds_its_neighbour(typed: str, meant: str | None) -> None:
    assert nearest_name(typed, ("0.5b", "claude", "qwen2.5-coder-0.5b")) == meant


@pytest.mark.parametrize(
    "content",
    [
        None,
        "[[model",
        "",
        SHIPPED.replace('alias = "0.5b"', ""),
        SHIPPED.replace("part_size = 89128960", "part_size = 89128961111"),
        SHIPPED.replace("part_size = 89128960", "part_size = 0"),
        SHIPPED.replace("size = 491400064", 'size = "many"'),
        SHIPPED.replace('file = "qwen2.5-coder-0.5b', 'file = "../qwen2.5-coder-0.5b'),
    ],
)
def test_a_broken_catalogue_is_refused_by_its_path(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(CatalogueError, match=r"models\.toml"):
        load_catalogue(path)
