"""The commands `status`, `log`, `diff`, `export`, `build`, `bisect` and `revert` of a brain."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agent.doors.opening import FAILED, USAGE, Brain, Database, Json, JsonLines, Yes, opened, stop

_DIFFERENT = 1


class ExportFormat(StrEnum):
    """How a brain is written down."""

    TEXT = "text"
    COGNEE = "cognee"


def add_to(commands: typer.Typer) -> None:
    """Add these commands to those of the brain."""
    for command in (status, log, diff, export, build, bisect, revert):
        commands.command()(command)


def status(db: Database = None, brain: Brain = None, as_json: Json = False) -> None:
    """Say what is in the brain, who wrote it, and how far it is from the last snapshot."""
    from agent.doors import versions

    with opened(db, brain, None, as_json=as_json, seeding=False) as app:
        versions.status(app.versions.status(), as_json=as_json)


def log(
    snapshots: Annotated[bool, typer.Option("--snapshots", help="Only the snapshots that were taken.")] = False,
    batch: Annotated[str | None, typer.Option("--batch", metavar="B", help="Only what is about one batch.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Lines at most, the newest.")] = 30,
    db: Database = None,
    brain: Brain = None,
    as_json: JsonLines = False,
) -> None:
    """Say who wrote what and when, batch by batch, newest first."""
    from agent.doors import versions

    with opened(db, brain, None, as_json=as_json, seeding=False) as app:
        if snapshots:
            versions.taken_ones(app.versions.taken()[::-1][:limit], as_json=as_json)
        else:
            versions.log(app.versions.log(batch=batch)[:limit], as_json=as_json)


def diff(
    old: Annotated[str, typer.Argument(metavar="A", help="A snapshot's name or hash, a position, a file, or live.")],
    new: Annotated[str, typer.Argument(metavar="[B]", help="Likewise; what is there now by default.")] = "live",
    every: Annotated[bool, typer.Option("--all", help="Also weights that hardly moved.")] = False,
    moved: Annotated[float, typer.Option("--moved", min=0.0, help="By how much a weight must have moved.")] = 0.05,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 1 where they differ.")] = False,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Say what differs between two snapshots. With --json every edit, so that a program can make them.

    Exit code: 0, with --exit-code 1 where they differ; 1 also where one cannot be read.
    """
    from agent.doors import versions

    with opened(db, brain, None, as_json=as_json, seeding=False) as app:
        found = app.versions.between(old, new)
    shown = found.edits if every else found.worth_telling(moved)
    versions.difference(found.edits, shown, old=old, new=new, hashes=(found.old, found.new), as_json=as_json)
    raise typer.Exit(_DIFFERENT if exit_code and found.edits else 0)


def export(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to; the screen by default. For cognee a folder.")
    ] = None,
    format: Annotated[
        ExportFormat, typer.Option("--format", help="text: one record a line. cognee: archives that Cognee reads.")
    ] = ExportFormat.TEXT,
    snapshot: Annotated[str, typer.Option("--snapshot", metavar="A", help="Which one; live by default.")] = "live",
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Write the brain down: as canonical text, or as archives that Cognee itself reads back."""
    from agent.doors import versions

    if format is ExportFormat.COGNEE and (file is None or snapshot != "live"):
        stop("Cognee's archives are of what is live, and go into a folder: brain export FOLDER --format cognee.", USAGE)
    if as_json and file is None:
        stop("--json tells of a file: name one.", USAGE, as_json=True)
    with opened(db, brain, None, as_json=as_json) as app:
        if file is None:
            versions.whole_text(app.versions.text(snapshot))
            return
        try:
            cognee = format is ExportFormat.COGNEE
            done = app.versions.archive(file) if cognee else app.versions.text_to(file, snapshot)
        except OSError as error:
            stop(f"{file} cannot be written: {error.strerror or error}.", FAILED, as_json=as_json)
    versions.exported(file, done.hash, done.told, as_json=as_json)


def build(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="As export writes it; the accepted brain of the database by default.", exists=True
        ),
    ] = None,
    edited: Annotated[bool, typer.Option("--edited", help="Take a file that a person changed on purpose.")] = False,
    yes: Yes = False,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Make the brain what a file says. Every episode's SQL is checked and run first, and a wrong one refused by name.

    What the brain knew before is left out where the file has it not; `brain diff` and its position bring it back.
    Exit code: 0 done, 1 something was refused, 2 usage.
    """
    from agent.doors import versions

    with opened(db, brain, None, as_json=as_json, seeding=False) as app:
        plan = app.versions.plan(file, edited=edited)
        if plan.takes_away and not yes:
            if as_json:
                stop(f"This would take away {plan.takes_away} records; say --yes as well.", USAGE, as_json=True)
            versions.planned(plan)
            typer.confirm(f"Take away {plan.takes_away} records of this brain?", abort=True, err=True)
        done = app.versions.build(plan)
    versions.built(done, as_json=as_json)
    raise typer.Exit(FAILED if plan.refused else 0)


def bisect(
    check: Annotated[
        str | None, typer.Option("--check", metavar="NAME", help="A `forbidden` check that is red.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Instead: a text that no episode may show.")] = None,
    sql: Annotated[str | None, typer.Option("--sql", help="Instead: a piece of SQL that none may hold.")] = None,
    checks: Annotated[
        Path | None, typer.Option("--checks", metavar="DIR", help="Where the checks are; data/brain/checks by default.")
    ] = None,
    db: Database = None,
    brain: Brain = None,
    as_json: JsonLines = False,
) -> None:
    """Find the batch that first made a `forbidden` check red, by halves: each probe is a recall over some batches.

    Exit code: 0 found, 1 nothing to be found, 2 usage.
    """
    from agent.doors import versions
    from agent.keeping.versions import most_probes

    if sum(one is not None for one in (check, text, sql)) != 1:
        stop("Say what to look for: --check NAME, --text or --sql.", USAGE, as_json=as_json)
    with opened(db, brain, None, as_json=as_json) as app:
        app.get_ready_to_recall()
        sought = app.versions.sought(check=check, text=text, sql=sql, checks=checks)
        batches = app.versions.batches()
        versions.bisecting(sought.told, len(batches), most_probes(len(batches)), as_json=as_json)
        names = [batch.name for batch in batches]
        batch, found = app.versions.bisect(sought, show=lambda one: versions.look(one, names, as_json=as_json))
        held = [(one, [each for each in one.episodes if sought.shows(each)]) for one in batches]
        holding = [(one, matching) for one, matching in held if matching]
    places = {"--db": db, "--brain": brain}
    options = "".join(f" {name} {shlex.quote(str(place))}" for name, place in places.items() if place)
    versions.culprit(batch, found, holding, options, as_json=as_json)


def revert(
    batch: Annotated[
        str, typer.Argument(metavar="BATCH", help="Its name, as `brain log` and `brain bisect` print it.")
    ],
    erase: Annotated[
        bool, typer.Option("--erase", help="Also take its bytes out of every store and snapshot.")
    ] = False,
    yes: Yes = False,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Take just one batch out: its episodes, the synapses to them and what it taught. All else stays as it is."""
    from agent.doors import versions

    with opened(db, brain, None, as_json=as_json, seeding=False) as app:
        edits = app.versions.taking_out(batch, erase=erase)
        if not yes:
            if as_json:
                stop(f"This would take out {len(edits)} records; say --yes as well.", USAGE, as_json=True)
            versions.reverting(batch, edits)
            typer.confirm("Take them out?", abort=True, err=True)
        done = app.versions.revert(batch, erase=erase)
    versions.reverted(done, as_json=as_json)
