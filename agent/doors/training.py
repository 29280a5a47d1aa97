"""`hebbql train`: begin a run of training or go on with one, show how it goes, and say how it ended."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from agent.doors.opening import (
    FAILED,
    INTERRUPTED,
    USAGE,
    Brain,
    Database,
    JsonLines,
    ModelName,
    Think,
    above_zero,
    ended_politely,
    failures,
    load_app,
    opened,
    settings,
    shipped_questions,
    stop,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.app import App
    from agent.learning.runs import Plan, Run
    from agent.learning.training import TrainingOptions
    from agent.settings import Settings


def train(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="With --resume: which run; the newest unfinished one by default."),
    ] = None,
    train_file: Annotated[
        Path | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Questions to learn from: JSON lines with id, question, sql; the shipped ones for Northwind.",
            show_default=False,
        ),
    ] = None,
    holdout: Annotated[
        Path | None,
        typer.Option(
            "--holdout",
            metavar="FILE",
            help="Questions that are only asked, to measure; the shipped ones with the shipped training questions.",
            show_default=False,
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The 50 + 10 questions that repeat the published experiment.")
    ] = False,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="How often each question is asked.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Decides the order of questions.")] = 1,
    checkpoint: Annotated[
        int, typer.Option("--checkpoint", min=1, help="Look for bad episodes every so many questions.")
    ] = 25,
    no_forget: Annotated[bool, typer.Option("--no-forget", help="Forget no bad episodes.")] = False,
    no_seed: Annotated[
        bool, typer.Option("--no-seed", help="Seed no golds into buckets that stay at zero for an epoch.")
    ] = False,
    per_bucket: Annotated[int, typer.Option("--per-bucket", min=1, help="Golds seeded into such a bucket.")] = 2,
    holdout_every: Annotated[
        int,
        typer.Option(
            "--holdout-every", min=0, help="Ask the holdout before the first and after every N epochs; 0: at the end."
        ),
    ] = 0,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask the model again even where the very prompt has a kept reply.")
    ] = False,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Questions asked at once, of a hosted model.")] = 1,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost", metavar="USD", callback=above_zero, help="Pause before more is spent.", show_default=False
        ),
    ] = None,
    max_hours: Annotated[
        float | None,
        typer.Option("--max-hours", metavar="H", callback=above_zero, help="Pause after so long.", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that is not finished.")] = False,
    pack: Annotated[
        bool, typer.Option("--pack/--no-pack", help="Load the shipped seed pack into a new brain first, or do not.")
    ] = True,
    db: Database = None,
    brain: Brain = None,
    model: ModelName = None,
    think: Think = None,
    as_json: JsonLines = False,
) -> None:
    """Ask questions with known answers, epoch after epoch, and learn from each. runs/ID/ gets a report.

    Ctrl-C, SIGTERM, an outage, a limit or a full disk only pause a run: --resume finishes it.

    Exit code: 0 finished, 1 paused or failed, 130 interrupted (also by SIGTERM), 2 usage.
    """
    import shlex

    context.with_resource(ended_politely())
    if run is not None and not resume:
        _refuse(f"A run is only named to go on with it: --resume {run}. A question file follows --train.", as_json)
    if published and (train_file or holdout):
        _refuse(
            "--published takes the questions of the published experiment: leave out --train and --holdout.", as_json
        )
    with failures(as_json):
        read = settings(db, brain, model, max_cost=max_cost, think=think)
    files = _files(read, train_file, holdout)
    if files is None:
        what = "--published asks the shipped database. For another" if published else "Say what to learn from"
        _refuse(f"{what}: --train FILE, JSON lines with id, question and sql.", as_json)
    from agent.learning.questions import read_pairs
    from agent.learning.runs import RunError
    from agent.learning.subsets import Subset, read_subset
    from agent.learning.training import TrainingOptions

    with failures(as_json):
        for path in filter(None, files):
            read_pairs(path)
        only = read_subset(files[0].with_name("published.toml")) if published else Subset((), ())
        load_app().check_question("Is the model known?", read)
    options = TrainingOptions(
        training=files[0],
        holdout=files[1],
        only_training=only.training,
        only_holdout=only.holdout,
        epochs=epochs,
        seed=seed,
        checkpoint=checkpoint,
        forgetting=not no_forget,
        seeding=not no_seed,
        per_bucket=per_bucket,
        holdout_every=holdout_every,
        cache=not no_cache,
        workers=workers,
        max_hours=max_hours,
    )
    with opened(db, brain, model, as_json=as_json, seeding=pack, at_once=True, max_cost=max_cost, think=think) as app:
        try:
            going = app.resume_run(run, options) if resume else app.begin_run(options)
        except RunError as error:
            _refuse(str(error), as_json)
        if resume:
            _keep_to(going.plan, options, _given(context), as_json=as_json)
            # What the brain began with was decided when the run began.
            app.seeding = app.seeding and not going.steps
        places = {
            "--train": train_file,
            "--holdout": holdout,
            "--db": db,
            "--brain": brain,
            "--model": model,
            "--think": think,
        }
        again = "".join(f" {name} {shlex.quote(str(place))}" for name, place in places.items() if place)
        limits = {"--max-cost": max_cost, "--max-hours": max_hours, "--workers": workers if workers > 1 else None}
        again += "".join(f" {name} {value:g}" for name, value in limits.items() if value is not None)
        again += " --published" * published + " --no-pack" * (not pack)
        code = _train(app, going, options, again=f"hebbql train --resume {going.id}{again}", as_json=as_json)
    raise typer.Exit(code)


_PLANNED = {
    "epochs": ("--epochs", "epochs"),
    "seed": ("--seed", "seed"),
    "checkpoint": ("--checkpoint", "checkpoint"),
    "no_forget": ("--no-forget", "forgetting"),
    "no_seed": ("--no-seed", "seeding"),
    "per_bucket": ("--per-bucket", "per_bucket"),
    "holdout_every": ("--holdout-every", "holdout_every"),
    "no_cache": ("--no-cache", "cache"),
}
"""What is planned once and for all when a run begins, by parameter of `train`: its option and its name in the plan.

The app itself sees to the files.
"""


def _given(context: typer.Context) -> tuple[str, ...]:
    """Those of them that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in _PLANNED}
    return tuple(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")


def _files(read: Settings, training: Path | None, holdout: Path | None) -> tuple[Path, Path | None] | None:
    """What is learned from and what is only asked, shipped for the shipped database. None where that is not said."""
    if training is not None:
        return training, holdout
    shipped = shipped_questions(read, "training")
    return (shipped, holdout or shipped_questions(read, "holdout")) if shipped else None


def _keep_to(plan: Plan, options: TrainingOptions, given: Sequence[str], *, as_json: bool) -> None:
    """Refuse options that would make another run of the one that is gone on with."""
    planned = (_PLANNED[name] for name in given)
    if other := [option for option, name in planned if getattr(options, name) != getattr(plan, name)]:
        _refuse(
            f"{' and '.join(other)} would change what the run was planned to do. Leave that out with --resume, "
            "or begin another run.",
            as_json,
        )


def _refuse(message: str, as_json: bool) -> NoReturn:
    stop(message, USAGE, as_json=as_json)


def _train(app: App, run: Run, options: TrainingOptions, *, again: str, as_json: bool) -> int:
    """Go on with a run to its end or its next pause, and say how that came; gives the exit code."""
    from agent.doors import watching

    status, reason, told = "paused", "", _over(run)
    try:
        with (
            closing(app.train(run, options)) as going,
            watching.run_shown(run) as show,
        ):
            for grown in going:
                run = grown
                show(run)
                if as_json:
                    _tell_epochs(run, over := _over(run), told)
                    told |= over
    except KeyboardInterrupt:
        status, reason = "interrupted", "Interrupted."
    except load_app().FAILURES as error:
        reason = str(error)
    if run.finished is not None:
        status = "finished"
    elif not reason:
        reason = run.pauses[-1].reason if run.pauses else "It stopped before its end."
    if as_json:
        _tell_epochs(run, _over(run, ended=True), told)
    _tell_end(run, status, reason, again, app.settings.runs / run.id, as_json=as_json)
    return {"finished": 0, "paused": FAILED, "interrupted": INTERRUPTED}[status]


def _over(run: Run, *, ended: bool = False) -> frozenset[int]:
    """The epochs that are closed, and whose holdout was asked if it is to be; all that are closed once it `ended`."""
    latest = run.steps[-1].epoch if run.steps else 0
    return frozenset(
        epoch
        for epoch in range(1, run.plan.epochs + 1)
        if run.is_closed(epoch) and (ended or latest > epoch or not run.plan.asks_holdout_after(epoch))
    )


def _tell_epochs(run: Run, over: frozenset[int], told: frozenset[int]) -> None:
    """Print each epoch that is over and was not told yet."""
    if over <= told:
        return
    from dataclasses import asdict

    from agent.doors import rendering
    from agent.learning.report import summary

    for epoch in summary(run).epochs:
        if epoch.epoch in over - told:
            rendering.told({"status": "epoch", "run": run.id, **asdict(epoch)}, as_json=True)


def _tell_end(run: Run, status: str, reason: str, again: str, folder: Path, *, as_json: bool) -> None:
    """Print what a run came to; where it is not finished, why, and the command that goes on with it."""
    from dataclasses import asdict

    from agent.doors import rendering
    from agent.learning.report import summary

    found = summary(run)
    if as_json:
        whole = asdict(found)
        parts = ("finding", "holdout_before", "holdout_after", "found", "barren", "spent", "habits", "habits_wrong")
        counts = {"forgotten": len(found.forgotten), "seeded": len(found.seeded), "pauses": len(found.pauses)}
        end = {"status": status, "run": run.id, "reason": reason or None, "resume": again if reason else None}
        rendering.told({**end, **{name: whole[name] for name in parts}, **counts, "files": str(folder)}, as_json=True)
    else:
        rendering.trained(found, folder)
    if reason:
        rendering.say()(f"{reason} Go on with: {again}")
