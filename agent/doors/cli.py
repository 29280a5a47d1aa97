"""The command line: Typer parses, one call into the app works, Rich renders."""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.doors import audit
from agent.doors.brain import brain_cli
from agent.doors.evaluating import evaluate
from agent.doors.opening import (
    ABSTAINED,
    FAILED,
    GATE_RED,
    REFUSED,
    USAGE,
    Brain,
    Database,
    Json,
    JsonLines,
    ModelName,
    Think,
    Yes,
    failures,
    load_app,
    opened,
    settings,
    shipped_questions,
    stop,
)
from agent.doors.serve import serve
from agent.doors.tokens import token_cli
from agent.doors.training import train

EXIT_CODES = {"answered": 0, "abstained": ABSTAINED, "refused": REFUSED, "failed": FAILED}

cli = typer.Typer(
    name="hebbql",
    help="Ask a database in plain language. It remembers what worked and gets better at it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
models = typer.Typer(help="List and fetch the models.", invoke_without_command=True, rich_markup_mode=None)
cli.add_typer(models, name="models")
cli.add_typer(brain_cli, name="brain")
cli.add_typer(token_cli, name="token")
audit.add_to(cli)


@cli.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question, in plain language.")],
    db: Database = None,
    brain: Brain = None,
    model: ModelName = None,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Recall nothing; answer from the schema.")] = False,
    no_habit: Annotated[bool, typer.Option("--no-habit", help="Ask the model even where a habit knows.")] = False,
    approach: Annotated[
        str | None,
        typer.Option(
            "--approach",
            metavar="NAME",
            help="values, direct, skeleton, lessons, plan or vote; by default what did best in the bucket.",
            show_default=False,
        ),
    ] = None,
    think: Think = None,
    every: Annotated[bool, typer.Option("--all", help="Show every row, not only the first.")] = False,
    as_json: Json = False,
) -> None:
    """Answer a question, with the SQL that ran, the memories it used, and how sure it is.

    Exit code: 0 answered, 3 abstained, 4 refused, 1 failed, 2 usage.
    """
    from agent.doors import asking, rendering

    places = {"--db": db, "--brain": brain}
    options = "".join(f" {name} {shlex.quote(str(place))}" for name, place in places.items() if place)
    if (server := asking.server(db, brain)) is not None:
        body = {"question": question, "memory": not no_memory, "approach": approach, "think": think}
        body |= {"habits": False} if no_habit else {}
        body |= {} if as_json else {"terminal": asking.terminal(options, every=every)}
        answered = server.ask(body, model=model, as_json=as_json)
        rendering.answered(answered, as_json=as_json)
        raise typer.Exit(EXIT_CODES[answered["status"] or "failed"])
    with failures(as_json):
        load_app().check_question(question, settings(db, brain, model, approach=approach, think=think))
    choices: dict[str, Any] = {"approach": approach, "habits": False if no_habit else None, "think": think}
    with (
        opened(db, brain, model, as_json=as_json, memory=not no_memory, **choices) as app,
        rendering.progress(as_json, adapting=app.memory and app.settings.levers.adapt) as show,
    ):
        for attempt in app.ask(question):
            show(attempt)
        findings = app.auditing.about(attempt)
    showing = rendering.Showing.of(app, options=options, every=every, findings=findings)
    rendering.answer(attempt, showing, as_json=as_json)
    raise typer.Exit(EXIT_CODES[attempt.status or "failed"])


@cli.command()
def chat(
    db: Database = None,
    brain: Brain = None,
    model: ModelName = None,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Recall nothing; answer from the schema.")] = False,
    think: Think = None,
    as_json: JsonLines = False,
) -> None:
    """Ask one question after another. Follow-ups such as "and in 1998?" are made whole, shown, and answered.

    Ends with /quit or the end of the input; /help lists the rest. Exit code: 0.
    """
    from agent.doors.chat import Chat

    app_module = load_app()
    with failures(as_json):
        app_module.check_question("Is the model known?", settings(db, brain, model, think=think))
    with opened(db, brain, model, as_json=as_json, memory=not no_memory, think=think) as app:
        foreseen = (*app_module.USAGE_ERRORS, *app_module.FAILURES)
        Chat(app=app, conversation=app.chat(), foreseen=foreseen, as_json=as_json).run()


@cli.command()
def teach(
    text: Annotated[str, typer.Argument(help='Such as "revenue means UnitPrice * Quantity".')],
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Add a business term to the glossary of this database."""
    from agent.doors import asking, rendering

    if (server := asking.server(db, brain)) is not None:
        rendering.outcome_told(server.post("/v1/teach", {"text": text}, as_json=as_json), as_json=as_json)
        return

    with opened(db, brain, None, as_json=as_json, memory=False) as app:
        rendering.outcome(app.teach(text), as_json=as_json)


@cli.command()
def feedback(
    attempt: Annotated[str, typer.Argument(metavar="ID", help="The id that `ask` printed.")],
    verdict: Annotated[str | None, typer.Argument(metavar="[good|bad]", help="Was the answer right?")] = None,
    sql: Annotated[str | None, typer.Option("--sql", help="The right SQL; it is run and remembered.")] = None,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Say whether an answer was right: good is remembered, bad is weakened and forgotten, --sql corrects it."""
    from agent.doors import asking, rendering

    if (verdict is None) == (sql is None) or verdict not in (None, "good", "bad"):
        stop('Say one of: hebbql feedback ID good | bad | --sql "SELECT …"', USAGE, as_json=as_json)
    if (server := asking.server(db, brain)) is not None:
        body = {"attempt": attempt, "verdict": verdict, "sql": sql}
        rendering.outcome_told(server.post("/v1/feedback", body, as_json=as_json), as_json=as_json)
        return
    with opened(db, brain, None, as_json=as_json) as app:
        rendering.outcome(app.feedback(attempt, verdict=verdict, sql=sql), as_json=as_json)


@cli.command()
def forget(
    episode: Annotated[str | None, typer.Argument(metavar="[EPISODE]", help="An episode's id, or its start.")] = None,
    bucket: Annotated[str | None, typer.Option("--bucket", help="Every episode of a bucket.")] = None,
    batch: Annotated[str | None, typer.Option("--batch", help="Every episode of a batch, such as a seed pack.")] = None,
    matching: Annotated[
        str | None,
        typer.Option(
            "--matching",
            metavar="TEXT",
            help="Everything whose question or SQL holds the text, in any case of its letters; lessons and terms too.",
        ),
    ] = None,
    erase: Annotated[bool, typer.Option("--erase", help="Also take the bytes out of every store.")] = False,
    yes: Yes = False,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Take episodes out of the memory, and prove that they are gone."""
    from agent.doors import checks, rendering

    if sum(choice is not None for choice in (episode, bucket, batch, matching)) != 1:
        stop("Name what to forget: an EPISODE id, --bucket, --batch or --matching.", USAGE, as_json=as_json)
    with opened(db, brain, None, as_json=as_json) as app:
        if matching is not None:
            checks.forget_matching(app, matching, erase=erase, yes=yes, as_json=as_json)
            return
        chosen = app.select(episode=episode, bucket=bucket, batch=batch, forgotten=erase)
        if not yes and len(chosen) > 1:
            if as_json:
                stop(f"This would forget {len(chosen)} episodes; say --yes as well.", USAGE, as_json=True)
            typer.confirm(f"Forget {len(chosen)} episodes?", abort=True, err=True)
        rendering.outcome(app.forget(chosen, erase=erase), as_json=as_json)


@cli.command()
def seed(
    pack: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="JSON lines; the shipped pack by default.")
    ] = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="Instead: golds for the buckets that failed and have no episode.")
    ] = False,
    train_file: Annotated[
        Path | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="With --hard: the questions with golds; the shipped training set for Northwind.",
            show_default=False,
        ),
    ] = None,
    per_bucket: Annotated[int, typer.Option("--per-bucket", min=1, help="With --hard: golds for each.")] = 2,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", help="Instead: pairs that code composes from the schema, for a database without a pack."
        ),
    ] = False,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Load a pack of curated episodes, or give hard buckets golds. Each is run and checked first, a wrong one refused.

    With --schema the pairs are composed from the database itself, and those that show nothing are left out.

    Exit code: 0 done, 1 a pair was refused or a hard bucket got none, 2 usage.
    """
    from agent.doors import rendering

    if hard and pack is not None:
        stop("--hard takes its golds from --train FILE, not from a pack.", USAGE, as_json=as_json)
    if train_file is not None and not hard:
        stop("--train goes with --hard. A pack is named alone: hebbql seed FILE.", USAGE, as_json=as_json)
    if schema:
        if hard or pack is not None:
            stop("--schema stands alone: it reads no file.", USAGE, as_json=as_json)
        with opened(db, brain, None, as_json=as_json, seeding=False) as app:
            rendering.seeded(app.sow(), as_json=as_json)
        return
    if not hard:
        if pack is not None:
            _look_at(pack, as_json)
        with opened(db, brain, None, as_json=as_json, seeding=False) as app:
            report = app.seed(pack)
        rendering.seeded(report, as_json=as_json)
        raise typer.Exit(GATE_RED if report.refused else 0)
    with failures(as_json):
        golds = train_file or shipped_questions(settings(db, brain), "training")
    if golds is None:
        stop("Say where the golds are: --train FILE, JSON lines with id, question and sql.", USAGE, as_json=as_json)
    _look_at(golds, as_json)
    with opened(db, brain, None, as_json=as_json) as app:
        given = app.seed_hard(golds, per_bucket=per_bucket)
    rendering.seeded_hard(given, as_json=as_json)
    raise typer.Exit(GATE_RED if any(not one.remembered for one in given.buckets) else 0)


def _look_at(questions: Path, as_json: bool) -> None:
    """Refuse a question file that cannot be read before anything waits for the brain."""
    from agent.learning.questions import read_pairs

    with failures(as_json):
        read_pairs(questions)


cli.command()(train)
cli.command()(evaluate)
cli.command()(serve)


@models.callback()
def list_models(context: typer.Context, as_json: Json = False) -> None:
    """List the models: which are here, verified, and which a key or an endpoint makes available."""
    if context.invoked_subcommand is None:
        from agent.doors import rendering

        with failures(as_json):
            rendering.models(load_app().models(settings()), as_json=as_json)


@models.command()
def pull(name: Annotated[str, typer.Argument(help="0.5b or 1.5b.")], as_json: Json = False) -> None:
    """Fetch a local model, verify its hash, and keep it."""
    from agent.doors import rendering

    with failures(as_json), rendering.download() as show:
        path = load_app().pull_model(settings(), name, progress=show)
    rendering.pulled(name, path, as_json=as_json)


@cli.command()
def doctor(db: Database = None, brain: Brain = None, model: ModelName = None, as_json: Json = False) -> None:
    """Check everything an answer needs, and say how to mend what is broken. Exit 1 if anything is."""
    from agent.doors import rendering

    with failures(as_json):
        findings = load_app().doctor(settings(db, brain, model), say=rendering.say())
    rendering.findings(findings, as_json=as_json)
    raise typer.Exit(GATE_RED if any(not finding.ok for finding in findings) else 0)


def main() -> None:
    """Run the command line."""
    run(cli, "hebbql")


def run(commands: typer.Typer, name: str) -> None:
    """Run commands. A user never sees a traceback: what we foresee has a message and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that knows few letters shows the others by their code.
            stream.reconfigure(errors="backslashreplace")
    try:
        commands(prog_name=name)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(FAILED) from None
    except Exception as error:
        if os.environ.get("HEBBQL_TRACEBACK"):
            raise
        stop(f"{type(error).__name__}: {error}. This should not happen; HEBBQL_TRACEBACK=1 shows where.", FAILED)
