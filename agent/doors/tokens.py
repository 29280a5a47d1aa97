"""The commands `token …`: make, list and revoke what lets others in to a server."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.doors.opening import FAILED, USAGE, Json, failures, settings, stop

if TYPE_CHECKING:
    from agent.doors.serving.tokens import Token, Tokens

token_cli = typer.Typer(
    help="Make, list and revoke the tokens of `hebbql serve`.", no_args_is_help=True, rich_markup_mode=None
)


@token_cli.command()
def create(
    tenant: Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose memories it reads and writes.")],
    role: Annotated[str, typer.Option("--role", help="member, or operator, who reads metrics alone.")] = "member",
    per_minute: Annotated[int, typer.Option("--per-minute", min=1, help="Requests a minute.")] = 120,
    at_once: Annotated[int, typer.Option("--at-once", min=1, help="Requests at the same time.")] = 8,
    usd_per_day: Annotated[float, typer.Option("--usd-per-day", min=0, help="Dollars a day for models.")] = 10.0,
    as_json: Json = False,
) -> None:
    """Make a token and show it, once: only its hash is kept."""
    from agent.doors.serving.problems import Unusable
    from agent.doors.serving.roles import GIVEN, Quota

    given = next((one for one in GIVEN if one == role), None)
    if given is None:
        stop(f"--role takes {' or '.join(GIVEN)}, not {role!r}.", USAGE, as_json=as_json)
    try:
        text, token = _tokens().create(tenant=tenant, role=given, quota=Quota(per_minute, at_once, usd_per_day))
    except Unusable as error:
        stop(str(error), USAGE, as_json=as_json)
    if as_json:
        typer.echo(json.dumps({"token": text, **_told(token)}))
        return
    typer.echo(text)
    typer.echo(f"Token {token.id} of {token.tenant} ({token.role}). It is not shown again.", err=True)


@token_cli.command("list")
def list_tokens(as_json: Json = False) -> None:
    """List the tokens by id, with tenant, role and quota."""
    tokens = _tokens().all()
    if as_json:
        typer.echo(json.dumps([_told(token) for token in tokens]))
        return
    for token in tokens:
        state = "revoked" if token.revoked else "valid"
        made = time.strftime("%Y-%m-%d", time.gmtime(token.created))
        quota = token.quota
        money = "any money" if quota.usd_per_day is None else f"{quota.usd_per_day:g} USD a day"
        used = f"{quota.per_minute} a minute, {quota.at_once} at once, {money}"
        typer.echo(f"{token.id}  {token.tenant}  {token.role}  {state}  made {made}  {used}")


@token_cli.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="The id that `token list` shows.")], as_json: Json = False
) -> None:
    """Let a token hold for no further request, of running servers too."""
    if not _tokens().revoke(token):
        stop(f"There is no valid token {token}. See: hebbql token list.", FAILED, as_json=as_json)
    typer.echo(json.dumps({"revoked": token}) if as_json else f"Token {token} is revoked.")


def _tokens() -> Tokens:
    from agent.doors.serving.tokens import FILE, Tokens

    with failures(False):
        return Tokens(settings().runs / FILE)


def _told(token: Token) -> dict[str, Any]:
    return asdict(token)
