"""What every test stands on: no network, no settings from outside, and one real PostgreSQL for those that ask."""

from __future__ import annotations

import ipaddress
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_SETTINGS = ("HEBBQL_", "ANTHROPIC_", "OPENAI_", "LLM_", "EMBEDDING_", "COGNEE_", "PG")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class NetworkUsedInTestError(RuntimeError):
    """A test reached for another machine. Serve what it needs on a loopback port instead."""


def _is_here(host: object) -> bool:
    if host is None or host in ("", "localhost", b"localhost"):
        return True
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _keep_off_the_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse look-ups of, and connections to, any host but this one. Sockets of the file system pass."""
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if not _is_here(host):
        raise NetworkUsedInTestError(f"a test may not reach {host!r}: serve it on 127.0.0.1")


def pytest_configure() -> None:
    """Close the network and forget the caller's settings before any test module is imported.

    The audit hook sees every socket of this process, also of libraries that took the socket class earlier. Child
    processes and native code are sent to a closed port by the proxy variables.
    """
    for name in list(os.environ):
        if name.startswith(_SETTINGS):
            del os.environ[name]
    for name in _PROXIES:
        os.environ[name] = os.environ[name.lower()] = "http://127.0.0.1:9"
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost,::1"
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["OMP_WAIT_POLICY"] = "passive"
    sys.addaudithook(_keep_off_the_network)


def _postgres_program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
        found = str(versions[-1]) if versions else None
    if found is None:
        pytest.fail(
            f"these tests need PostgreSQL, and its program {name} is not installed. "
            "Debian, Ubuntu: apt-get install postgresql. macOS: brew install postgresql@15."
        )
    return found


def _as_unprivileged(command: list[str], owner: str | None) -> list[str]:
    if owner is None:
        return command
    return ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups", "--pdeathsig=INT", *command]


def _unprivileged_user() -> str | None:
    """Name the user to run PostgreSQL as: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Start a PostgreSQL of this test session's own and give the SQLAlchemy URL of its superuser.

    It listens on a socket in a temporary folder only, so it meets no other server. The database is empty: make
    one's own (`CREATE DATABASE`) or drop what was made. Started when a test first asks, in about a second.
    """
    initdb, postgres = _postgres_program("initdb"), _postgres_program("postgres")
    owner = _unprivileged_user()
    # A socket path has at most 107 bytes, so the folder is a short one and not pytest's.
    home = Path(tempfile.mkdtemp(prefix="hebbql-pg-"))
    if owner is not None:
        shutil.chown(home, owner)
    data, log = home / "data", home / "log"
    # Locale and zone are set, so that order and dates are the same on every machine.
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", "HOME": str(home)}
    made = subprocess.run(
        _as_unprivileged(
            [initdb, "-D", str(data), "-U", "hebbql", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], owner
        ),
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        shutil.rmtree(home, ignore_errors=True)
        pytest.fail(f"initdb failed:\n{made.stdout}{made.stderr}")
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(home),
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "autovacuum": "off",
        "shared_buffers": "16MB",
        "max_connections": "40",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with log.open("wb") as sink:
        server = subprocess.Popen(
            _as_unprivileged([postgres, "-D", str(data), *options], owner),
            env=environment,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        url = f"postgresql+psycopg://hebbql@/postgres?host={home}"
        _wait_until_it_answers(home, server, log)
        yield url
    finally:
        # SIGINT is PostgreSQL's fast shutdown: it ends open sessions and does not wait for them.
        server.send_signal(2)
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(home, ignore_errors=True)


def _wait_until_it_answers(home: Path, server: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(host=str(home), user="hebbql", dbname="postgres", connect_timeout=5).close()
        except psycopg.OperationalError as problem:
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"PostgreSQL did not start: {problem}\n{log.read_text(errors='replace')}")
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """Give the URL of an empty PostgreSQL database of the test's own, dropped after it."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    home = postgres_url.partition("host=")[2]

    def administer(statement: str) -> None:
        with psycopg.connect(host=home, user="hebbql", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    administer(f"CREATE DATABASE {name}")
    try:
        yield postgres_url.replace("/postgres?", f"/{name}?")
    finally:
        administer(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session", autouse=True)
def llama_before_cognee() -> None:
    """Load llama.cpp before any test opens Cognee, as `App.store` does: in the other order it ends the process."""
    from agent.models.local import load_runtime

    load_runtime()
