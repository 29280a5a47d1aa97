"""The command line as its user has it: processes of its own, a real brain with real Cognee, a model that answers."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import agent

ROOT = Path(agent.__path__[0]).parent
HERE = Path(__file__).parent
RECORDED = HERE.parent / "recorded" / "doors.jsonl"
RECORD_WITH = os.environ.get("DOORS_RECORD") and str(Path(os.environ["DOORS_RECORD"]).absolute())
"""A folder of local models. When set, the real model is asked and the recording is written anew."""

START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from agent.doors.cli import main; main()"


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (negative for a signal) and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on stdout; anything else there fails."""
        return json.loads(self.out)

    def says(self, *words: str) -> bool:
        """Whether stderr ends with one line that has all the words, and no traceback is anywhere."""
        assert "Traceback" not in self.err + self.out, self.err
        last = self.err.strip().splitlines()[-1] if self.err.strip() else ""
        return all(word in last for word in words)


class Running:
    """A command that was started in a fork of the launcher."""

    def __init__(self, launcher: Launcher, pid: int, out: Path, err: Path) -> None:
        self.pid = pid
        self._launcher, self._out, self._err = launcher, out, err

    @property
    def err(self) -> str:
        return self._err.read_text("utf-8") if self._err.exists() else ""

    @property
    def out(self) -> str:
        return self._out.read_text("utf-8") if self._out.exists() else ""

    def wait(self) -> Ended:
        code = self._launcher.order({"wait": self.pid})
        return Ended(code, self.out, self._err.read_text("utf-8"))

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)


class Launcher:
    """Starts commands in forks of one process that has everything imported."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._server = subprocess.Popen(
            [sys.executable, str(HERE / "launcher.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "launcher.err").open("wb"),
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
        )

    def order(self, order: dict[str, Any]) -> int:
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, (self._folder / "launcher.err").read_text()
        return int(answer)

    def start(
        self, arguments: Sequence[str], environment: dict[str, str], said: str = "", terminal: str = "", **failing: Any
    ) -> Running:
        """Start a command in a fork. It reads what is `said`, or reads from and writes to a `terminal`."""
        self._count += 1
        typed, out, err = (self._folder / f"{self._count}.{end}" for end in ("in", "out", "err"))
        typed.write_text(said, "utf-8", "surrogateescape")
        files = {"in": terminal or str(typed), "out": terminal or str(out), "err": str(err)}
        order = {"arguments": list(arguments), "environment": environment, **files}
        return Running(self, self.order({**order, **failing, "record": RECORD_WITH}), out, err)

    def close(self) -> None:
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait(timeout=30)


@dataclass
class Home:
    """One installation: its data, its brain, what the environment says. Commands are asked of the same Northwind."""

    folder: Path
    launcher: Launcher
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def brain(self) -> Path:
        return self.folder / "brain"

    @property
    def northwind(self) -> Path:
        return self.folder / "data" / "northwind.sqlite"

    def start(self, *arguments: str, kill_at: str | None = None, **reading: str) -> Running:
        """Start a command in a fork, and go on. `kill_at` names the write after which it kills itself."""
        return self.launcher.start(arguments, self._environment(), kill_at=kill_at, **reading)

    def run(self, *arguments: str, kill_at: str | None = None, **reading: str) -> Ended:
        """Run a command in a fork and wait for its end."""
        return self.start(*arguments, kill_at=kill_at, **reading).wait()

    def ask(self, question: str, *options: str, model: str | None = None) -> Any:
        """Ask with --json and give the object; the exit code must fit the status."""
        ended = self.run("ask", question, "--json", *(("--model", model) if model else ()), *options)
        assert "Traceback" not in ended.err, ended.err
        answer = ended.json
        codes = {"answered": 0, "abstained": 3, "refused": 4, "failed": 1, "usage": 2}
        assert ended.code == codes[answer["status"]], (ended.code, answer)
        return answer

    def start_anew(self, *arguments: str, through: Sequence[str] = (), program: str = START) -> subprocess.Popen[str]:
        """Start a command as a fresh interpreter, as a shell does; `through` goes before it, as `setpriv …`."""
        return subprocess.Popen(
            [*through, sys.executable, "-c", program, str(ROOT), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | self._environment(),
            cwd=self.folder,
        )

    def run_anew(self, *arguments: str, **how: Any) -> Ended:
        """Run a command as a fresh interpreter and wait for its end."""
        process = self.start_anew(*arguments, **how)
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Ended(process.returncode, out, err)

    def _environment(self) -> dict[str, str]:
        return {
            "HEBBQL_DATA": str(self.folder / "data"),
            "HEBBQL_RUNS": str(self.folder / "runs"),
            "HEBBQL_DATABASE": str(self.northwind),
            "HEBBQL_BRAIN": str(self.brain),
            "HEBBQL_MODEL": "none",
            "HEBBQL_SOW": "off",
            **self.environment,
        }


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    running = Launcher(tmp_path_factory.mktemp("launcher"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def seeded(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """An installation with a brain that has loaded the small seed pack beside this file. Do not write to it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "data" / "seeds").mkdir(parents=True)
    (folder / "data" / "glossary").mkdir()
    (folder / "runs" / "models").mkdir(parents=True)
    for name in ("northwind.sqlite", "glossary/northwind.toml"):
        shutil.copy(ROOT / "data" / name, folder / "data" / name)
    shutil.copy(HERE / "pack.jsonl", folder / "data" / "seeds" / "northwind.jsonl")
    home = Home(folder, launcher)
    ended = home.run("seed")
    assert ended.code == 0, ended.err
    shutil.copytree(home.brain, folder / "as-seeded")
    return home


@pytest.fixture
def home(seeded: Home) -> Home:
    """That installation with its brain as it was after seeding, at the same place: Cognee keeps absolute paths."""
    shutil.rmtree(seeded.brain, ignore_errors=True)
    shutil.copytree(seeded.folder / "as-seeded", seeded.brain)
    for left in set(seeded.folder.iterdir()) - {seeded.folder / name for name in ("data", "as-seeded", "brain")}:
        if left.is_dir():
            left.chmod(0o755)
            shutil.rmtree(left)
        else:
            left.unlink()
    (seeded.folder / "runs" / "models").mkdir(parents=True)
    return Home(seeded.folder, seeded.launcher)


@pytest.fixture(scope="session")
def source() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def recorded() -> str:
    """The model whose replies the real 0.5B gave; `RECORD_WITH` asks it again."""
    if RECORD_WITH:
        RECORDED.unlink(missing_ok=True)
    return f"recorded:{RECORDED}"


Says = Callable[[str, int], str | tuple[str, str] | None]


class Endpoint:
    """A real HTTP server that speaks chat completions, and says what the test wants said.

    `says` gets the question's first line and how often the endpoint was called before; it gives the text, or the text
    and the finish reason, or None for an answer without text. After `hold`, calls wait; `called` is set by each.
    """

    def __init__(self) -> None:
        self.says: Says = lambda _question, _before: "SELECT COUNT(*) FROM Customers"
        self.status = 200
        self.requests: list[dict[str, Any]] = []
        self.called = threading.Event()
        self.free = threading.Event()
        self.free.set()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                before = len(endpoint.requests)
                endpoint.requests.append(body)
                endpoint.called.set()
                endpoint.free.wait(60)
                payload = json.dumps(endpoint._payload(body, before)).encode()
                try:
                    self.send_response(endpoint.status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(payload)))
                    self.end_headers()
                    self.wfile.write(payload)
                except OSError:
                    self.close_connection = True

            def log_message(self, *arguments: object) -> None:
                del arguments

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def shown(self) -> str:
        """Everything that the last call was shown, as one text."""
        return "\n".join(str(message["content"]) for message in self.requests[-1]["messages"])

    def hold(self) -> None:
        """Let the next calls wait for `free.set()`."""
        self.called.clear()
        self.free.clear()

    def close(self) -> None:
        self.free.set()
        self._server.shutdown()
        self._server.server_close()

    def _payload(self, body: dict[str, Any], before: int) -> dict[str, Any]:
        if self.status != 200:
            message = "invalid x-api-key"
            return {"type": "error", "error": {"type": "authentication_error", "message": message}}
        said = self.says(str(body["messages"][-1]["content"]).splitlines()[0], before)
        text, stop = said if isinstance(said, tuple) else (said, "stop")
        message_ = {"role": "assistant", "content": text}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": stop, "message": message_}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }


@pytest.fixture
def endpoint(home: Home) -> Iterator[Endpoint]:
    """A model that says what the test wants, and is what `home` asks. Nothing is adapted, so that it is asked."""
    serving = Endpoint()
    home.environment |= {
        "HEBBQL_LEVERS": "dialect,names,coverage,weigh",
        "HEBBQL_MODEL": "openai:said",
        "HEBBQL_OPENAI_BASE_URL": f"{serving.url}/v1",
        "HEBBQL_OPENAI_KEY": "sk-not-a-key",
    }
    yield serving
    serving.close()


@pytest.fixture
def whole() -> Callable[[Home], None]:
    """Check that a brain lost nothing and holds nothing half: chain, open attempts, outbox, and Cognee by doctor."""

    def check(home: Home) -> None:
        from memory.ledger import Ledger

        found = {one["name"]: one for one in home.run("doctor", "--json").json["checks"]}
        assert found["brain"]["ok"] and found["episodes"]["ok"], found
        with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
            verified = ledger.verify()
            assert verified.ok, verified.problems
            assert ledger.unsettled() == () == ledger.outbox()

    return check


@pytest.fixture
def make_sqlite() -> Callable[[Path, str], Path]:
    """Write a SQLite file from a script of statements."""

    def make(path: Path, script: str) -> Path:
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return path

    return make
