"""The commands that keep a brain as code is kept: `hebbql brain …`, also installed as `brain`."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.doors import checks, gate, versioning
from agent.doors.opening import Brain, Database, Json, opened

brain_cli = typer.Typer(
    name="brain",
    help="Snapshots, differences, checks and ways back of the memory.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@brain_cli.command()
def snapshot(
    name: Annotated[str, typer.Argument(help="What to call it; its hash by default.")] = "",
    why: Annotated[str, typer.Option("--why", help="A word on why it is taken.")] = "",
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Write down that the brain is worth coming back to as it is now."""
    from agent.doors import versions

    with opened(db, brain, None, as_json=as_json) as app:
        versions.taken(app.versions.take(name, why=why), as_json=as_json)


checks.add_to(brain_cli)
gate.add_to(brain_cli)


versioning.add_to(brain_cli)


def main() -> None:
    """Run the commands of the brain by themselves, as `brain …`."""
    from agent.doors.cli import run

    run(brain_cli, "brain")
