"""Trying out a candidate: the edits are made on a copy of the brain, in a process of its own, and it is measured there.

Cognee's paths are those of a process, so the candidate's own store needs another one than the live brain's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import TYPE_CHECKING

from agent.keeping.enriching import enrich
from agent.keeping.measuring import Checks, Measured, Questions, measure
from agent.learning.runs import RunError
from agent.settings import Settings
from memory.brain.differences import Edit
from memory.brain.writing import write_edits

if TYPE_CHECKING:
    from agent.app import Say


@dataclass(frozen=True, slots=True)
class Order:
    """What to try: the edits, on the copy of the brain that the settings name, and how to measure what they make.

    `id` is that of the improvement. `enriches`: whether Cognee's own `improve` is called on every member as well.
    """

    settings: Settings
    id: str
    edits: tuple[Edit, ...]
    why: str
    asked: Questions
    checks: Checks
    enriches: bool


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a candidate: the hash of what it knows, its measures, and what Cognee said of each member."""

    hash: str
    measured: Measured
    enriched: tuple[str, ...] = ()


class CandidateFailedError(RunError):
    """The candidate could not be built or measured. The live brain is as it was.

    `kind` is the type of what was raised there: the message may hold texts of episodes, which no report is to keep.
    """

    def __init__(self, message: str, *, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


def try_out(order: Order, *, say: Say) -> Tried:
    """Build and measure a candidate in a process of its own, which ends with this one, however this one ends.

    Raises:
        CandidateFailedError: it failed, or its process was ended.
    """
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(order, there), name="hebbql-candidate", daemon=True)
    process.start()
    there.close()
    try:
        while True:
            told = here.recv()
            if isinstance(told, Tried):
                return told
            if isinstance(told, Failed):
                raise CandidateFailedError(told.message, kind=told.kind)
            say(str(told))
    except EOFError:
        process.join()
        raise CandidateFailedError(f"its process ended with exit code {process.exitcode}") from None
    finally:
        here.close()
        if process.is_alive():
            process.join(timeout=_GRACE)
            process.kill()
        process.join()


_GRACE = 10.0
"""Seconds for the process to close what it has open once it has told what it found."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a candidate could not be built or measured, and the type of what was raised."""

    message: str
    kind: str


def _serve(order: Order, pipe: Connection) -> None:
    """What the process does. It never raises."""
    Thread(target=_end_with_parent, name="watch", daemon=True).start()
    try:
        pipe.send(build(order, say=pipe.send))
    except Exception as error:
        kind = type(error).__name__
        pipe.send(Failed(f"{error}" if isinstance(error, _foreseen()) else f"{kind}: {error}", kind))


def _end_with_parent() -> None:
    """End this process at once when its parent does: nobody would clear up after it."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _foreseen() -> tuple[type[Exception], ...]:
    from agent.app import FAILURES, USAGE_ERRORS

    return (*FAILURES, *USAGE_ERRORS)


def build(order: Order, *, say: Say) -> Tried:
    """Make the edits on the copy, bring its episode store up to date, and measure it. All in this process."""
    from agent.app import open_app

    with open_app(order.settings, seeding=False, say=say) as app:
        if order.edits:
            write_edits(app.ledger, app.versions.weights, order.edits, why=order.why, subject=order.id)
        app.bring_up_to_date()
        enriched = enrich(app) if order.enriches else ()
        return Tried(app.versions.live.hash, measure(app, order.asked, order.checks), enriched)
