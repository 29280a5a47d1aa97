"""`hebbql evaluate`: the same questions in several arms, with a bar for each and a table at the end."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from agent.doors.opening import (
    FAILED,
    INTERRUPTED,
    USAGE,
    Brain,
    Database,
    Json,
    ModelName,
    Think,
    failures,
    load_app,
    opened,
    settings,
    shipped_questions,
    stop,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent.app import App
    from agent.learning.arms import Arm
    from agent.learning.questions import Pair
    from agent.learning.seed import Refused
    from agent.learning.steps import Step


def evaluate(
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help="JSON lines with id, question, sql; the shipped holdout for Northwind.",
            show_default=False,
        ),
    ] = None,
    arms: Annotated[
        str, typer.Option("--arms", metavar="NAMES", help="Which to compare, with commas between.")
    ] = "bare,schema,episodes,memory,shuffled,constant",
    every: Annotated[int, typer.Option("--every", min=1, metavar="N", help="Ask only every N-th question.")] = 1,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask the model again even where the very prompt has a kept reply.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where the files go; runs/ID/ by default.", show_default=False),
    ] = None,
    db: Database = None,
    brain: Brain = None,
    model: ModelName = None,
    think: Think = None,
    as_json: Json = False,
) -> None:
    """Ask questions with known answers in several arms, with and without memory; learn nothing.

    Writes evaluation.json, .md and .svg. A question whose SQL does not hold is named and left out.

    Exit code: 0 evaluated, 1 broken off (what was asked is kept), 130 interrupted, 2 usage.
    """
    import hashlib
    import shlex

    with failures(as_json):
        read = settings(db, brain, model, think=think)
        chosen = _arms(arms, as_json)
        path = questions or shipped_questions(read, "holdout")
        if path is None:
            _refuse("Say what to ask: --questions FILE, JSON lines with id, question and sql.", as_json)
        from agent.learning.questions import read_pairs
        from agent.learning.runs import new_id

        pairs = read_pairs(path)[::every]
        folder = out or read.runs / f"evaluation-{new_id()}"
    with _made(out, as_json):
        with failures(as_json):
            load_app().check_question("Is the model known?", read)
        with opened(db, brain, model, as_json=as_json, think=think) as app:
            held, left_out = app.confirmed(pairs)
            for one in left_out:
                app.say(f"{path.name}: {one.name} is left out. {one.reason}")
            if not held:
                _refuse(
                    f"No question of {path} has SQL that holds on this database, so there is nothing to ask.", as_json
                )
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            about = {
                "model": app.model.name,
                "database": app.schema.name,
                "questions": f"{len(held)} of {path.name}, SHA-256 {digest[:12]}",
                "left out": ", ".join(one.name for one in left_out) or "none",
                "effort": read.think,
                "command": shlex.join(["hebbql", *sys.argv[1:]]),
            }
            steps, reason, code = _ask(app, held, chosen, cache=not no_cache)
        if steps:
            _tell(steps, left_out, about, folder, reason=reason, as_json=as_json)
        if reason:
            kept = f" What was asked is in {folder}." if steps else ""
            stop(f"{reason}{kept}", code, as_json=as_json and not steps)


@contextmanager
def _made(folder: Path | None, as_json: bool) -> Iterator[None]:
    """Make the folder at once: it is no good to ask for hours and then find that nothing can be kept.

    What stays empty of it goes again.
    """
    if folder is None:
        yield
        return
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _refuse(f"Nothing can be written into {folder}: {error.strerror}. Name another place with --out.", as_json)
    try:
        yield
    finally:
        with suppress(OSError):  # something is in it
            for place in new:
                place.rmdir()


def _ask(app: App, pairs: Sequence[Pair], arms: Sequence[Arm], *, cache: bool) -> tuple[list[Step], str, int]:
    """Ask all; gives what was asked, and why it broke off, with the exit code, where it did."""
    from agent.doors import watching
    from agent.learning.evaluating import EvaluationError

    steps: list[Step] = []
    try:
        with watching.arms_shown(arms, len(pairs)) as show:
            for step in app.evaluate(pairs, arms, cache=cache):
                steps.append(step)
                show(step)
    except KeyboardInterrupt:
        return steps, "Interrupted.", INTERRUPTED
    except (EvaluationError, *load_app().FAILURES) as error:
        return steps, str(error), FAILED
    return steps, "", 0


def _tell(
    steps: Sequence[Step],
    left_out: Sequence[Refused],
    about: Mapping[str, str],
    folder: Path,
    *,
    reason: str,
    as_json: bool,
) -> None:
    """Write the files and print what came of it."""
    import json
    from dataclasses import asdict

    from agent.doors import rendering
    from agent.learning.evaluating import summarise, write_evaluation
    from agent.learning.findings import finding

    found = summarise(steps)
    try:
        files = write_evaluation(folder, found, steps, about=about)
    except OSError as error:
        stop(f"{folder} cannot be written: {error.strerror}. Name another place with --out.", FAILED, as_json=as_json)
    if as_json:
        whole = json.loads(files[0].read_text(encoding="utf-8"))
        del whole["steps"]
        status = {"status": "broken off" if reason else "evaluated", "message": reason or None}
        kept = {"left_out": [asdict(one) for one in left_out], "files": [str(path) for path in files]}
        rendering.told({**status, **whole, **kept}, as_json=True)
    else:
        rendering.evaluated(found, finding(found), len(left_out), files)


def _arms(names: str, as_json: bool) -> tuple[Arm, ...]:
    from agent.learning.arms import ARMS, arm_named

    wanted = [name.strip() for name in names.split(",") if name.strip()]
    found = [(name, arm_named(name)) for name in wanted]
    wrong = [name for name, arm in found if arm is None] or [name for name in wanted if wanted.count(name) > 1]
    if wrong or not wanted:
        about = "; ".join(f"{arm.name}: {arm.about}" for arm in ARMS)
        said = "Name an arm" if not wanted else f"{wrong[0]!r} twice" if arm_named(wrong[0]) else f"No arm {wrong[0]!r}"
        _refuse(f"{said}. Choose from these, with commas between. {about}.", as_json)
    return tuple(arm for _, arm in found if arm is not None)


def _refuse(message: str, as_json: bool) -> NoReturn:
    stop(message, USAGE, as_json=as_json)
