"""The command `serve`: one process that opens the brain once, for the page, the HTTP API and the tools."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from agent.doors.opening import USAGE, Brain, Database, ModelName, Think, ended_politely, failures, settings, stop

if TYPE_CHECKING:
    from agent.settings import Settings

_KEPT_ALIVE = 15
"""Seconds that a connection without a request stays open."""

_WINDING_DOWN = 10
"""Seconds that open requests get when the server is ended."""

_MOST_HEADERS = 32 * 1024
"""Bytes."""

_MOST_CONNECTIONS = 256


def serve(
    host: Annotated[str, typer.Option("--host", help="The address to listen at; only this machine by default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="The port; 0 takes any that is free.")] = 8765,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            "--origin",
            metavar="URL",
            help="How the server is reached from elsewhere, as https://ask.example.org; may be said again.",
            show_default=False,
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Let everybody ask a fixed demo brain, under a quota, without a token.")
    ] = False,
    deadline: Annotated[
        float, typer.Option("--deadline", min=1, metavar="SECONDS", help="What an answer may take, waiting included.")
    ] = 180.0,
    db: Database = None,
    brain: Brain = None,
    model: ModelName = None,
    think: Think = None,
) -> None:
    """Open the brain once and serve it: page, HTTP API and tools. The command line asks it while it runs.

    Ends with Ctrl-C. Another address than this machine's needs a token: hebbql token create --tenant NAME.
    """
    with failures(False):
        read = settings(db, brain, model, think=think)
    with ended_politely(), failures(False), _listening(host, port) as listener:
        try:
            run(read, listener, host=host, origins=tuple(origin or ()), public=public, deadline=deadline)
        except KeyboardInterrupt:
            typer.echo("Ended.")


def run(
    read: Settings,
    listener: socket.socket,
    *,
    host: str,
    origins: tuple[str, ...],
    public: bool,
    deadline: float,
) -> None:
    """Serve until the process is told to end. `deadline` is that of an answer, in seconds."""
    import uvicorn

    from agent import served
    from agent.doors.serving.application import Plan, create_app
    from agent.doors.serving.boundary import Origins, is_loopback
    from agent.doors.serving.desk import Deadlines
    from agent.doors.serving.identity import Doorman
    from agent.doors.serving.problems import Unusable
    from agent.doors.serving.starting import started
    from agent.doors.serving.tokens import FILE, Tokens

    tokens = Tokens(read.runs / FILE)
    port = listener.getsockname()[1]
    if not is_loopback(host):
        if not any(token.revoked is None for token in tokens.all()):
            stop(
                f"{host} is reached from other machines: make a token first, hebbql token create --tenant NAME.", USAGE
            )
        if not origins:
            stop(f"Say how {host} is reached from elsewhere: --origin https://ask.example.org", USAGE)
    try:
        known = Origins.of(host, port, origins)
    except Unusable as error:
        stop(str(error), USAGE)
    doorman = Doorman(tokens=tokens, key=secrets.token_urlsafe(32), public=public)
    with started(read, public=public) as owner:
        house = owner.house
        assert house is not None, "the house is open once the owner has started"
        plan = Plan(owner=owner, doorman=doorman, origins=known, deadlines=Deadlines(ask=deadline))
        config = uvicorn.Config(
            create_app(plan),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEPT_ALIVE,
            timeout_graceful_shutdown=_WINDING_DOWN,
            h11_max_incomplete_event_size=_MOST_HEADERS,
            limit_concurrency=_MOST_CONNECTIONS,
        )
        listener.listen(_MOST_CONNECTIONS)  # who is told of it below finds it open
        near = f"http://{_shown(host)}:{port}" if is_loopback(host) else sorted(known.known)[0]
        with served.announced(read, url=f"http://{_reachable(host)}:{port}", key=doorman.key, folder=house.folder):
            _tell(near, doorman.key, public=public)
            uvicorn.Server(config).run(sockets=[listener])


def _tell(url: str, key: str, *, public: bool) -> None:
    """Say on stdout where the page is; the link lets its opener in as the owner."""
    typer.echo(f"Serving at {url}")
    typer.echo(f"Open   {url}/enter?key={key}")
    if public:
        typer.echo(f"Public {url}/")


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens at the address, before anything is opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            stop(f"Nothing can listen at {host}:{port}: {error.strerror or error}. Choose another --port.", USAGE)
        yield listener
    finally:
        listener.close()


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _reachable(host: str) -> str:
    """The address by which this machine reaches what listens at `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, _shown(host))
