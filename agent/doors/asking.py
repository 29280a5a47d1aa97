"""The command line as a client: where a server has the brain open, it is asked instead of opening the brain anew.

Nothing heavy is imported on this way, so that a question to a warm server costs no start-up.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from agent.doors.opening import FAILED, INTERRUPTED, USAGE, stop
from agent.served import Served, find
from agent.settings import SettingsError, read_settings

_PATIENCE = 300.0
"""Seconds without a sign of the server after which it is given up; its own deadlines are shorter."""


class _Gone(Exception):
    """The server ended before it answered."""


def server(db: str | None, brain: Path | None) -> Client | None:
    """The running server of a brain, or None: then the command opens the brain itself, and says what is wrong."""
    try:
        found = find(read_settings(os.environ, database=db, brain=brain))
    except SettingsError:
        return None
    return Client(found) if found is not None else None


@dataclass(frozen=True, slots=True)
class Client:
    """Asks a server in the name of who started it."""

    served: Served

    def ask(self, body: Mapping[str, Any], *, model: str | None, as_json: bool) -> dict[str, Any]:
        """The answer to a question, as `ask --json` prints it. Ends the command where there is none."""
        if model is not None and model != self.served.model:
            used = f"with --model {self.served.model}" if self.served.model else "without --model"
            stop(
                f"The server (process {self.served.pid}) that has this brain open was started {used}. Ask without "
                "--model, end the server, or name another brain with --brain.",
                USAGE,
                as_json=as_json,
            )
        with _progress(as_json) as show:
            for name, data in self._events("/v1/ask", body, as_json=as_json):
                show(name, data)
                if name == "problem":
                    _stop(data, as_json=as_json)
                if name == "answer":
                    return data
        stop("The server ended before it answered. Ask again.", FAILED, as_json=as_json)

    def post(self, path: str, body: Mapping[str, Any], *, as_json: bool) -> dict[str, Any]:
        """What the server gives for a request. Ends the command where it does not."""
        with _ended_politely(as_json), self._response(path, body, "application/json") as response:
            given: dict[str, Any] = json.loads(response.read())
            if response.status != 200:
                _stop(given, as_json=as_json)
            return given

    def _events(self, path: str, body: Mapping[str, Any], *, as_json: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        with _ended_politely(as_json), self._response(path, body, "text/event-stream") as response:
            if response.status != 200:
                _stop(json.loads(response.read()), as_json=as_json)
            name = ""
            for line in response:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)

    @contextmanager
    def _response(self, path: str, body: Mapping[str, Any], accept: str) -> Iterator[HTTPResponse]:
        connection = HTTPConnection(urlsplit(self.served.url).netloc, timeout=_PATIENCE)
        headers = {
            "authorization": f"Bearer {self.served.key}",
            "content-type": "application/json",
            "accept": accept,
        }
        try:
            connection.request("POST", path, json.dumps(body), headers)
            yield connection.getresponse()
        except (OSError, HTTPException) as error:
            raise _Gone(str(error)) from error
        finally:
            connection.close()


@contextmanager
def _ended_politely(as_json: bool) -> Iterator[None]:
    try:
        yield
    except _Gone as error:
        stop(f"The server ended before it answered ({error}). Ask again.", FAILED, as_json=as_json)
    except KeyboardInterrupt:
        stop("Interrupted. What was settled is kept.", INTERRUPTED, as_json=as_json)


@contextmanager
def _progress(as_json: bool) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """Say on a terminal's stderr what the server is at; silent where nobody watches."""
    if as_json or not sys.stderr.isatty():
        yield lambda _name, _data: None
        return
    from rich.console import Console
    from rich.text import Text

    from agent.doors.rendering import plain

    with Console(stderr=True).status("Asking the server …") as status:

        def show(name: str, data: Mapping[str, Any]) -> None:
            if name == "understood":
                status.update("Recalling what worked before …")
            elif name == "recalled" and data.get("approach"):
                status.update(Text(f"{plain(data['model'])} may write SQL ({data['approach']}) …"))
            elif name == "draft" and data.get("problem"):
                status.update(Text(f"Mending draft {data['number']}: {plain(data['problem'])[:80]} …"))

        yield show


def _stop(problem: Mapping[str, Any], *, as_json: bool) -> NoReturn:
    stop(str(problem.get("detail", problem)), USAGE if problem.get("status") == 422 else FAILED, as_json=as_json)


def terminal(options: str, *, every: bool) -> dict[str, Any]:
    """What the server is told of this terminal, so that it renders what would be printed here."""
    from rich.console import Console

    console = Console(soft_wrap=False)
    return {"columns": console.width, "colors": console.color_system, "options": options, "every": every}
