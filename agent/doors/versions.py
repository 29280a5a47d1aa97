"""Snapshots and their differences, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agent.keeping.versions import Taken


def taken(snapshot: Taken, *, as_json: bool) -> None:
    """Print a snapshot that was taken."""
    if as_json:
        told = {"name": snapshot.name, "position": snapshot.position, "hash": snapshot.hash, "parent": snapshot.parent}
        typer.echo(json.dumps({**told, "at": snapshot.at, "why": snapshot.why}, ensure_ascii=False))
        return
    typer.echo(f"{snapshot.name}: {snapshot.hash[:12]} at position {snapshot.position}")
