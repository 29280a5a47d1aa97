"""Opens the house and starts its owner: what `serve` does before it listens, and tools over stdio before they speak."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.doors.serving.brains import Brains
from agent.doors.serving.owner import Owner
from agent.doors.serving.roles import HOME, PUBLIC

if TYPE_CHECKING:
    from agent.settings import Settings


@contextmanager
def started(settings: Settings, *, public: bool = False) -> Iterator[Owner]:
    """An owner with the house open, and the demo brain of the public; everything is closed at the end.

    Raises:
        What `open_app` raises: the brain or the database cannot be opened.
    """
    from agent.doors import rendering

    brains = Brains(settings=settings, say=rendering.say(), progress=rendering.tenths())
    owner = Owner(open_brain=brains.open, house=HOME, ready=(PUBLIC,) if public else ())
    owner.start()
    try:
        yield owner
    finally:
        owner.stop()
