"""What all commands of the command line share: their options, the opened app, and how a command ends early."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agent.settings import read_settings

if TYPE_CHECKING:
    from types import FrameType

    from agent.app import App
    from agent.settings import Settings

_AT_ONCE = 2.0
"""Seconds."""

GATE_RED, FAILED, USAGE, ABSTAINED, REFUSED, INTERRUPTED = 1, 1, 2, 3, 4, 130

Database = Annotated[
    str | None,
    typer.Option(
        "--db", metavar="URL", help="SQLite file or SQLAlchemy URL; Northwind by default.", show_default=False
    ),
]
Brain = Annotated[
    Path | None,
    typer.Option(
        "--brain", metavar="DIR", help="Folder of the memory; one per database by default.", show_default=False
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="0.5b, 1.5b, a .gguf path, claude, claude-…, openai:NAME, recorded:FILE.",
        show_default=False,
    ),
]
Think = Annotated[
    str | None,
    typer.Option(
        "--think",
        metavar="LEVEL",
        help="fast: no model where an adapted episode is likely right, one draft; normal (the default): the model "
        "unless nearly sure, up to two repairs; deep: always the model, more drafts. A habit asks none at any level.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def above_zero(value: float | None) -> float | None:
    """Refuse an amount that is none. Raises BadParameter."""
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter("Input should be a number above 0")
    return value


def load_app() -> Any:
    """Give the module `agent.app`, imported when a command first wants it."""
    first = "agent.app" not in sys.modules
    if first:
        # What importing makes stays: looking for garbage in it, again and again, is a tenth of the time it takes.
        gc.disable()
    import agent.app

    if first:
        gc.freeze()
        gc.enable()
    return agent.app


def settings(
    db: str | None = None,
    brain: Path | None = None,
    model: str | None = None,
    max_cost: float | None = None,
    **choices: Any,
) -> Settings:
    """Read the environment; what the command names outranks it. Raises SettingsError."""
    environ = os.environ | ({"HEBBQL_MAX_COST_USD": str(max_cost)} if max_cost else {})
    return read_settings(environ, database=db, brain=brain, model=model, **choices)


def shipped_questions(read: Settings, name: str) -> Path | None:
    """The shipped question file of that name; None where another database is asked than the shipped one."""
    place = Path(read.database.removeprefix("sqlite:///")).expanduser().resolve()
    return read.data / "questions" / f"{name}.jsonl" if place.is_relative_to(read.data.resolve()) else None


@contextmanager
def opened(
    db: str | None,
    brain: Path | None,
    model: str | None,
    *,
    as_json: bool,
    memory: bool = True,
    seeding: bool = True,
    at_once: bool = False,
    **choices: Any,
) -> Iterator[App]:
    """The app, opened for one command; `choices` are further settings of the question.

    `at_once` does not wait for another hebbql that uses the brain longer than an answer from a habit takes.
    """
    from dataclasses import replace

    from agent.doors import rendering

    with failures(as_json):
        read = settings(db, brain, model, **choices)
        if at_once:
            read = replace(read, lease_wait=min(read.lease_wait, _AT_ONCE))
    with (
        failures(as_json),
        load_app().open_app(
            read,
            memory=memory,
            seeding=seeding,
            say=rendering.say(),
            progress=rendering.tenths(),
        ) as app,
    ):
        yield app


@contextmanager
def failures(as_json: bool) -> Iterator[None]:
    """Turn what the app raises into a message and an exit code."""
    try:
        app = load_app()
        try:
            yield
        except app.USAGE_ERRORS as error:
            stop(str(error), USAGE, as_json=as_json)
        except app.FAILURES as error:
            stop(str(error), FAILED, as_json=as_json)
    except KeyboardInterrupt:
        stop("Interrupted. What was settled is kept.", INTERRUPTED, as_json=as_json)


@contextmanager
def ended_politely() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C while this lasts, also where a shell has Ctrl-C ignored for what runs in the background.

    Only the main thread may enter.
    """
    import signal

    def interrupt(_number: int, frame: FrameType | None) -> None:
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(on_ctrl_c):
            raise KeyboardInterrupt
        on_ctrl_c(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def stop(message: str, code: int, *, as_json: bool = False) -> NoReturn:
    """End the command with a message on stderr, and an object on stdout for programs."""
    from agent.doors import rendering

    rendering.stopped(message, "usage" if code == USAGE else "failed", as_json=as_json)
    raise SystemExit(code)
