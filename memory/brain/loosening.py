"""Which synapses lose what they stand on when episodes go. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memory.episode import Episode

Shape = tuple[str, str, str]
"""Bucket, kind of target and target of a synapse that leads to a skeleton or a habit."""


def shapes(episodes: Iterable[Episode], habit: Callable[[Episode], str] | None = None) -> set[Shape]:
    """The skeleton and the habit of each episode, in its bucket. `habit` names that of an episode, or gives ""."""
    told: set[Shape] = set()
    for one in episodes:
        told.add((one.bucket, "skeleton", one.skeleton))
        if habit is not None and (name := habit(one)):
            told.add((one.bucket, "habit", name))
    return told


def loose_shapes(
    leaving: Iterable[Episode], staying: Iterable[Episode], habit: Callable[[Episode], str] | None = None
) -> set[Shape]:
    """The shapes that stand on the leaving episodes alone: in its bucket no episode that stays has one of them.

    An approach stands on no episode: that it worked for a type of question is known from attempts.
    """
    leaving = tuple(leaving)
    buckets = {one.bucket for one in leaving}
    return shapes(leaving, habit) - shapes((one for one in staying if one.bucket in buckets), habit)
