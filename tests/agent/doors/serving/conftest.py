"""A real server on loopback: its own installation and brain, real Cognee, a model whose replies are recorded."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.doors.serving.tokens import FILE, Tokens
from tests.agent.doors.conftest import HERE, RECORDED, ROOT, Home, Launcher, Running

BRAZIL = "How many customers are there in Brazil?"


class Server:
    """A running `hebbql serve`."""

    def __init__(self, home: Home, *options: str) -> None:
        self.home = home
        out = home.folder / "server.out"
        out.unlink(missing_ok=True)
        arguments = ["serve", "--port", "0", *options]
        self.running: Running = home.launcher.start(arguments, home._environment(), kill_at=None, seconds=900)
        self.url, self.key = self._said()
        self._wait_until(lambda: httpx.get(f"{self.url}/readyz", timeout=30).status_code == 200)

    @property
    def tokens(self) -> Tokens:
        return Tokens(self.home.folder / "runs" / FILE)

    def client(self, token: str | None = None, **how: Any) -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=120, trust_env=False, **how)

    def owner(self) -> httpx.Client:
        return self.client(self.key)

    def member(self, tenant: str) -> httpx.Client:
        return self.client(self.tokens.create(tenant=tenant)[0])

    def stop(self) -> int:
        os.kill(self.running.pid, signal.SIGINT)
        return self.running.wait().code

    def kill(self) -> None:
        os.kill(self.running.pid, signal.SIGKILL)
        self.running.wait()

    def _said(self) -> tuple[str, str]:
        """The address and the key that the server printed."""
        self._wait_until(lambda: "Open" in self.running.out)
        link = next(line for line in self.running.out.splitlines() if line.startswith("Open")).split()[-1]
        url, _, key = link.partition("/enter?key=")
        return url, key

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        for _ in range(1_200):
            if holds():
                return
            assert "Traceback" not in self.running.err, self.running.err
            time.sleep(0.1)
        raise AssertionError(self.running.out + self.running.err)


def install(folder: Path, launcher: Launcher) -> Home:
    """An installation with the small pack, and no brain yet."""
    (folder / "data" / "seeds").mkdir(parents=True)
    (folder / "data" / "glossary").mkdir()
    (folder / "runs" / "models").mkdir(parents=True)
    for name in ("northwind.sqlite", "glossary/northwind.toml"):
        shutil.copy(ROOT / "data" / name, folder / "data" / name)
    shutil.copy(HERE / "pack.jsonl", folder / "data" / "seeds" / "northwind.jsonl")
    return Home(folder, launcher, {"HEBBQL_MODEL": f"recorded:{RECORDED}"})


@pytest.fixture(scope="session")
def serving_home(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Home:
    return install(tmp_path_factory.mktemp("serving"), launcher)


@pytest.fixture(scope="session")
def server(serving_home: Home) -> Iterator[Server]:
    """One server for all tests that do not end it; the public may ask."""
    running = Server(serving_home, "--public")
    yield running
    running.stop()


@pytest.fixture
def right() -> Callable[[httpx.Response], Any]:
    """The object of an answer that must be 200."""

    def read(response: httpx.Response) -> Any:
        assert response.status_code == 200, (response.status_code, response.text)
        return json.loads(response.text)

    return read
