"""The command `audit`: what of the memory contradicts the rest of it, and what is missing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
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
    load_app,
    opened,
    settings,
    stop,
)

if TYPE_CHECKING:
    from agent.app import App
    from agent.auditing.auditing import Audit


def add_to(commands: typer.Typer) -> None:
    """Add the command."""
    commands.command()(audit)


def audit(
    apply: Annotated[
        bool, typer.Option("--apply", help="Then forget the losing sides, after asking. Never ties or what is unclear.")
    ] = False,
    pin: Annotated[
        list[str] | None,
        typer.Option(
            "--pin",
            metavar="ID",
            help="Hold this episode important from now on, which is written; may be said again.",
            show_default=False,
        ),
    ] = None,
    unpin: Annotated[
        list[str] | None,
        typer.Option(
            "--unpin", metavar="ID", help="Hold it important no longer; may be said again.", show_default=False
        ),
    ] = None,
    semantic: Annotated[
        bool, typer.Option("--semantic", help="Also ask a judge about notes that speak of the same thing.")
    ] = False,
    max_pairs: Annotated[
        int, typer.Option("--max-pairs", min=1, metavar="N", help="With --semantic: at most so many, most alike first.")
    ] = 20,
    judge: Annotated[
        str,
        typer.Option("--judge", metavar="NAME", help="polarity, a rule without a model, or model, if it was accepted."),
    ] = "polarity",
    yes: Yes = False,
    db: Database = None,
    brain: Brain = None,
    model: ModelName = None,
    as_json: Json = False,
) -> None:
    """Look for episodes that contradict each other, terms with two meanings, and what is named and gone.

    It works on a copy: nothing is written but by --pin, --unpin and --apply. What could not be compared is
    inconclusive, and never counts as right.
    Each finding recommends a side by a fixed ladder: pinned or important, then who vouches for it, then the newest.

    Exit code: 0 nothing found, 1 anything found, 2 usage.
    """
    if yes and not apply:
        stop("--yes goes with --apply; the audit itself changes nothing.", USAGE, as_json=as_json)
    if semantic and apply:
        stop(
            "--semantic recommends and no more; look at what it finds, then audit with --apply.", USAGE, as_json=as_json
        )
    if pin or unpin:
        with opened(db, brain, None, as_json=as_json, seeding=False) as app:
            app.auditing.pin(pin or (), unpin=unpin or ())
    if not apply:
        with _looking(db, brain, model, as_json) as app:
            found = app.auditing.audit()
            if semantic:
                pairs, more = app.auditing.meaning(judge=judge, most=max_pairs)
                found = replace(found, pairs=pairs, findings=(*found.findings, *more))
        show(found, as_json=as_json)
        raise typer.Exit(GATE_RED if found.findings else 0)
    with opened(db, brain, None, as_json=as_json, seeding=False) as app:
        found = app.auditing.audit()
        if not as_json:
            show(found, as_json=False)
        losing = [write for one in found.applicable for write in one.losing]
        if losing and not yes:
            if as_json:
                stop(f"This would take {len(losing)} writes away; say --yes as well.", USAGE, as_json=True)
            typer.confirm(f"Forget these {len(losing)} writes?", abort=True, err=True)
        done = app.auditing.apply(found)
    if as_json:
        typer.echo(json.dumps({**audit_json(found), "applied": asdict(done)}, ensure_ascii=False))
    else:
        typer.echo(done.message)
    raise typer.Exit(GATE_RED if done.left else 0)


@contextmanager
def _looking(db: str | None, brain: Path | None, model: str | None, as_json: bool) -> Iterator[App]:
    """The app, opened over a copy of the brain."""
    from agent.auditing.copying import opened_copy
    from agent.doors import rendering

    with failures(as_json):
        read = settings(db, brain, model)
        with opened_copy(read, load_app().open_app, say=rendering.say()) as app:
            yield app


def audit_json(found: Audit) -> dict[str, Any]:
    """The one object that `audit --json` prints."""
    counts = {kind: len(found.of_kind(kind)) for kind in ("contradiction", "absence", "inconclusive")}
    told = {name: value for name, value in asdict(found).items() if name != "findings"}
    return {"ok": not found.findings, **told, **counts, "findings": [one.told() for one in found.findings]}


def show(found: Audit, *, as_json: bool) -> None:
    """Print an audit: each finding with all its writes, and which is recommended by which rule."""
    from agent.doors.rendering import plain

    if as_json:
        typer.echo(json.dumps(audit_json(found), ensure_ascii=False))
        return
    for one in found.findings:
        typer.echo(plain(f"{one.kind.upper()}  {one.what}"))
        typer.echo(plain(f"  {one.reason}"))
        for side in one.sides:
            for write in side.writes:
                kept = write.id == one.recommendation.recommended_id
                _show_write(write, mark="+" if kept else "-" if write in one.losing else " ")
            if side.value and one.subject == "episode" and one.kind == "contradiction":
                typer.echo(plain(f"      gives {side.value}"))
        advice = one.recommendation
        if advice.recommended_id and one.kind == "contradiction":
            sure = f"{advice.confidence:.2f}"
            told = f"keep {_short(advice.recommended_id)} ({advice.rule}, confidence {sure}): {advice.rationale}"
            typer.echo(plain(f"  → {told}"))
        elif one.kind != "inconclusive" or advice.rationale:
            typer.echo(plain(f"  → {advice.rationale}"))
    kinds: Sequence[tuple[str, int]] = [
        ("contradictions", len(found.of_kind("contradiction"))),
        ("absences", len(found.of_kind("absence"))),
        ("inconclusive", len(found.of_kind("inconclusive"))),
    ]
    told = ", ".join(f"{count} {kind}" for kind, count in kinds)
    looked = f"{found.episodes} episodes, {found.terms} notes and {found.synapses} synapses"
    judged = f", {found.pairs} pairs of notes judged" if found.pairs is not None else ""
    typer.echo(f"{told}; {looked} looked at, {found.runs} queries run in {found.seconds:.1f} s{judged}.")


def _show_write(write: Any, *, mark: str) -> None:
    """Show a write: + is recommended, - gives way to it."""
    from agent.doors.rendering import plain

    at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(write.at)) if write.at else "?"
    about = ", ".join(filter(None, (at, write.origin, write.verifier or "unverified", write.batch, write.important)))
    about = about if write.subject == "episode" or write.origin else at
    typer.echo(plain(f"    {mark} {_short(write.id)}  {about}"))
    typer.echo(plain(f"      {write.text}"))


def _short(id: str) -> str:
    from agent.doors.sureness import short

    return id if "/" in id else short(id)
