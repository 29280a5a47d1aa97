"""Named subsets: a few questions of a training and a holdout file, by their ids, in a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent.learning.questions import Pair, QuestionFileError

Part = Literal["training", "holdout"]

_PARTS: tuple[Part, ...] = ("training", "holdout")
_WANTED = 'Write training = ["id", …] and holdout = ["id", …], with the ids of two question files'


@dataclass(frozen=True, slots=True)
class Subset:
    """Ids of training and of holdout questions."""

    training: tuple[str, ...]
    holdout: tuple[str, ...]

    def of(self, pairs: Sequence[Pair], part: Part) -> tuple[Pair, ...]:
        """Pick the questions of one part out of a file, in the order of the file.

        Raises:
            QuestionFileError: an id of that part is not in the file.

        >>> pairs = [Pair(id, "q", "SELECT 1", (), False, "", "", "en", 1) for id in ("a", "b", "c")]
        >>> [pair.id for pair in Subset(("c", "a"), ()).of(pairs, "training")]
        ['a', 'c']
        """
        wanted = self.training if part == "training" else self.holdout
        there = {pair.id for pair in pairs}
        if missing := [repr(name) for name in wanted if name not in there]:
            what = f"id {missing[0]}" if len(missing) == 1 else f"ids {', '.join(missing)}"
            raise QuestionFileError(
                f"The {part} questions of the subset name the {what}, but the file of {len(pairs)} questions has no "
                "such id. Give the question file that the subset was drawn from, or mend the subset."
            )
        return tuple(pair for pair in pairs if pair.id in wanted)


def read_subset(path: Path) -> Subset:
    """Read a subset: a TOML file with the two lists `training` and `holdout`.

    Raises:
        QuestionFileError: the file cannot be read, holds something else, or names an id twice.
    """
    try:
        read = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        what = "it is a folder" if path.is_dir() else getattr(problem, "strerror", None) or problem
        raise QuestionFileError(f"{path} cannot be read: {what}. {_WANTED}.") from problem
    if other := [name for name in read if name not in _PARTS]:
        raise QuestionFileError(f"{path}: {other[0]!r} is no part of a subset. {_WANTED}.")
    lists = {part: _ids(read.get(part), part, path) for part in _PARTS}
    if both := sorted(set(lists["training"]) & set(lists["holdout"])):
        raise QuestionFileError(f"{path}: {both[0]!r} stands in training and in holdout. Keep it in one of them.")
    return Subset(lists["training"], lists["holdout"])


def _ids(read: Any, part: Part, path: Path) -> tuple[str, ...]:
    if not isinstance(read, list) or not read or not all(isinstance(name, str) and name for name in read):
        raise QuestionFileError(f"{path}: {part} is no list of ids. {_WANTED}.")
    for place, name in enumerate(read):
        if name in read[:place]:
            raise QuestionFileError(f"{path}: {part} names {name!r} twice. Keep one of them.")
    return tuple(read)
