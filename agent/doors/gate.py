"""The commands that change a whole brain with care: improve it through the gate, and roll it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.doors.opening import (
    GATE_RED,
    USAGE,
    Brain,
    Database,
    Json,
    ModelName,
    Yes,
    failures,
    opened,
    settings,
    shipped_questions,
    stop,
)

if TYPE_CHECKING:
    from agent.keeping.canary import CanaryStatus
    from agent.keeping.gate import Edit, Improvement, RolledBack

_MOST_SHOWN = 20


def add_to(brain_cli: typer.Typer) -> None:
    """Add the commands to the group."""
    brain_cli.command()(improve)
    brain_cli.command()(rollback)
    brain_cli.command()(canary)


def improve(
    checks: Annotated[
        Path | None,
        typer.Option("--checks", metavar="DIR", help="Folder of checks; the shipped ones by default."),
    ] = None,
    holdout: Annotated[
        Path | None,
        typer.Option(
            "--holdout",
            metavar="FILE",
            help="Questions that nothing is learned from; the shipped ones for Northwind.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Ask at most so many.")] = None,
    without_model: Annotated[
        bool,
        typer.Option(
            "--without-model/--with-model",
            help="Ask holdout questions of habits and adapted episodes alone, or of the model as well.",
        ),
    ] = True,
    db: Database = None,
    brain: Brain = None,
    model: ModelName = None,
    as_json: Json = False,
) -> None:
    """Build a better brain beside this one, measure both, and change over only where both are green.

    Near-duplicates are merged, dominated, spent and stale episodes dropped, buckets put right, confirmed answers
    distilled. The report is kept in runs/.

    Exit code: 0 accepted, also where there is nothing to improve; 1 blocked or red before; 2 usage.
    """
    from agent.keeping.measuring import Questions, some_of
    from agent.learning.questions import read_pairs

    with failures(as_json):
        path = holdout or shipped_questions(settings(db, brain, model), "holdout")
        pairs = read_pairs(path) if path and path.is_file() else ()
    if checks is not None and not checks.is_dir():
        stop(f"{checks} is no folder. Name the one that holds the checks with --checks.", USAGE, as_json=as_json)
    with opened(db, brain, model, as_json=as_json) as app:
        held, left_out = app.confirmed(some_of(pairs, limit)) if pairs else ((), ())
        for one in left_out:
            app.say(f"{one.name} is left out of the holdout. {one.reason}")
        if not held:
            app.say("No holdout question is asked; the checks alone decide. Give some with --holdout FILE.")
        elif without_model:
            app.say("Holdout questions are answered by habits and adapted episodes; --with-model asks the model too.")
        found = app.gate.improve(Questions(held, asks_model=not without_model, checks=checks))
    improved(found, as_json=as_json)
    raise typer.Exit(0 if found.ok else GATE_RED)


def rollback(
    snapshot: Annotated[str, typer.Argument(metavar="SNAPSHOT", help="A name, a hash, a position or a file.")],
    yes: Yes = False,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Make the brain what a snapshot says, weights and episodes exactly, or change nothing.

    What was erased since stays erased. The history stays whole, so this can be rolled back as well.
    """
    with opened(db, brain, None, as_json=as_json) as app:
        edits = app.gate.back_to(snapshot)
        if edits and not yes:
            if as_json:
                stop(f"This would make {len(edits)} edits; say --yes as well.", USAGE, as_json=True)
            typer.echo(_counted(edits), err=True)
            typer.confirm(f"Roll back to {snapshot}?", abort=True, err=True)
        done = app.gate.roll_back(snapshot)
    rolled_back(done, as_json=as_json)


def canary(
    snapshot: Annotated[
        str | None, typer.Argument(metavar="[SNAPSHOT]", help="A name, a hash, a position or a file, to try out.")
    ] = None,
    share: Annotated[
        str, typer.Option("--share", metavar="SHARE", help="How many of the questions it answers.")
    ] = "10%",
    stop_it: Annotated[
        bool, typer.Option("--stop", help="End the canary that runs; the brain stays as it is.")
    ] = False,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Let a snapshot answer a share of the questions; without one, say how the canary stands.

    It is promoted when it is hardly worse than the brain, by what feedback and failures say, and rolled back when it is
    worse: with more than 99 % at one look. Looks are at 20, 40, 80, … judged answers of each side; over all of them
    about 5 % are wrong. It is rolled back as well after more bad answers in a row than chance would give.
    """
    if snapshot is not None and stop_it:
        stop("Name a snapshot to begin a canary, or say --stop to end one.", USAGE, as_json=as_json)
    taken = _share(share, as_json)
    with opened(db, brain, None, as_json=as_json) as app:
        if stop_it:
            found = app.canaries.stop()
        elif snapshot is not None:
            found = app.canaries.begin(snapshot, taken)
        else:
            found = app.canaries.status()
    if found is None:
        message = "No canary is running, so there is nothing to stop." if stop_it else "There never was a canary."
        _print({"status": "none", "message": message}) if as_json else typer.echo(message)
        return
    standing(found, as_json=as_json)


def _share(text: str, as_json: bool) -> float:
    """A share as `10%` or `0.1`."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        stop(f"--share takes a share such as 10% or 0.1, not {text!r}.", USAGE, as_json=as_json)
    return value


def standing(found: CanaryStatus, *, as_json: bool) -> None:
    """Print how a canary stands."""
    from dataclasses import asdict

    from agent.doors.rendering import plain

    begun, decision = found.begun, found.decision
    if as_json:
        told = {"status": found.ended or "running", **asdict(begun), "live": asdict(found.live)}
        chances = {"worse": decision.worse, "not_worse": decision.not_worse}
        why = {"decision": decision.word, "why": found.why or decision.why}
        _print({**told, "canary": asdict(found.canary), **why, **chances, "edits": len(found.edits)})
        return
    state = f"ended, {found.ended}" if found.ended else f"answers {begun.share:.0%} of the questions"
    typer.echo(plain(f"{begun.id} ({begun.snapshot}): {state}."))
    for name, side in (("canary", found.canary), ("live", found.live)):
        typer.echo(f"{name}: {side.good} good, {side.bad} bad")
    if found.ended:
        typer.echo(plain(f"Why: {found.why}."))
    else:
        typer.echo(
            f"It goes on: {decision.why}." if decision.word == "go on" else f"To {decision.word}: {decision.why}."
        )
        typer.echo(f"Beside the brain as it is now: {_counted(found.edits)}")


def improved(found: Improvement, *, as_json: bool) -> None:
    """Print what an improvement came to."""
    from agent.doors.rendering import plain
    from agent.keeping.reporting import report_json, report_markdown

    if as_json:
        measured = found.after or found.before
        red = {one.name: one.reason for one in measured.red} if measured else {}
        _print({**report_json(found), "red": red, "files": list(found.files)})
        return
    lines = report_markdown(found).splitlines()
    for line in lines[: _MOST_SHOWN * 2]:
        typer.echo(line)
    if len(lines) > _MOST_SHOWN * 2:
        typer.echo(f"… and {len(lines) - _MOST_SHOWN * 2} more lines.")
    measured = found.after or found.before
    for one in measured.red if measured else ():
        typer.echo(plain(f"{one.name}: {one.reason}"))
    typer.echo(f"The report is in {Path(found.files[1])}.")
    if found.outcome == "accepted" and found.changes and not found.notes:
        typer.echo(f"Its changes in words: hebbql brain diff {found.id}-before {found.id}-after")


def rolled_back(done: RolledBack, *, as_json: bool) -> None:
    """Print what going back came to."""
    if as_json:
        told = {"snapshot": done.snapshot, "hash": done.hash, "edits": len(done.edits), "erased": list(done.erased)}
        status = "rolled back" if done.edits else "unchanged"
        _print({**told, "exact": done.is_exact, "status": status, "notes": list(done.notes)})
        return
    if not done.edits:
        typer.echo(f"The brain is what {done.snapshot} says already; nothing changed.")
    else:
        typer.echo(f"Rolled back to {done.snapshot}: {_counted(done.edits)} Its hash is {done.hash[:12]}.")
    if done.erased:
        typer.echo(f"Not brought back, as they were erased since: {len(done.erased)} episodes.")
    for note in done.notes:
        typer.echo(note)


def _counted(edits: tuple[Edit, ...]) -> str:
    from collections import Counter

    counts = Counter(f"{edit.kind} {edit.action}" for edit in edits)
    many = "edit" if len(edits) == 1 else "edits"
    return f"{len(edits)} {many} ({', '.join(f'{count} {what}' for what, count in sorted(counts.items()))})."


def _print(told: dict[str, Any]) -> None:
    typer.echo(json.dumps(told, ensure_ascii=False))
