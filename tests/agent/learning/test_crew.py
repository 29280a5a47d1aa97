"""Several questions at once: threads that hold one baton, then the real application with all its parts."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent.app import open_app
from agent.learning.crew import Baton, steps
from agent.learning.questions import Pair
from agent.learning.steps import Step
from agent.learning.training import Paused, TrainingOptions
from agent.models.openai_compatible import OpenAIModel
from agent.models.port import BudgetExhaustedError, ModelError, Prompt, Reply, Turn
from agent.models.prices import Price, Prices, load_prices
from agent.models.resilience import Budget, CircuitBreaker
from agent.settings import Levers, Settings
from memory.ledger import EventKind
from procedural.store import replayed

SECONDS = 10.0
"""After so long a thread that should have come has not."""


def pairs(count: int) -> tuple[Pair, ...]:
    return tuple(Pair(f"q{n}", f"Question {n}?", "SELECT 1", (), False, "", "", "en", n) for n in range(count))


def step(pair: Pair, **more: Any) -> Step:
    known = {name: "" for name in Step.__dataclass_fields__}
    return Step(**{**known, "question": pair.id, **more})


def prompt(pair: Pair) -> Prompt:
    return Prompt("s", (Turn("user", pair.question),))


@dataclass
class Gate:
    """A model whose calls wait for `free`. Knows how many were in a call at once."""

    name: str = "gate"
    free: threading.Event = field(default_factory=threading.Event)
    together: threading.Barrier | None = None
    inside: int = 0
    most: int = 0
    asked: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, shown: Prompt) -> Reply:
        with self._lock:
            self.asked.append(shown.turns[-1].text)
            self.inside += 1
            self.most = max(self.most, self.inside)
        if self.together is not None:
            self.together.wait(SECONDS)
        self.free.wait(SECONDS)
        with self._lock:
            self.inside -= 1
        return Reply("SELECT 1")

    def close(self) -> None:
        """Nothing to close."""


@dataclass
class Work:
    """What must be done by one thread at a time; fails where two are at it."""

    baton: Baton
    model: Any
    at_work: int = 0
    threads: set[int] = field(default_factory=set)
    finished: list[str] = field(default_factory=list)

    @contextmanager
    def alone(self) -> Iterator[None]:
        assert self.at_work == 0, "two threads work at once"
        self.at_work += 1
        time.sleep(0.001)  # long enough for another to come in, if it could
        yield
        self.at_work -= 1

    def ask(self, pair: Pair) -> Step:
        self.threads.add(threading.get_ident())
        with self.alone():
            shown = prompt(pair)
        self.model.complete(shown)
        with self.alone():
            self.finished.append(pair.id)
        return step(pair)


def work(gate: Gate) -> Work:
    baton = Baton()
    return Work(baton, baton.model(gate))


def opened() -> Gate:
    gate = Gate()
    gate.free.set()
    return gate


# --- the crew ----------------------------------------------------------------------------------------------------


def test_one_worker_is_a_plain_loop_in_this_thread() -> None:
    doing = work(opened())
    asked = steps(pairs(3), doing.ask, workers=1, baton=doing.baton)
    assert next(asked).question == "q0"
    assert doing.finished == ["q0"], "the next question waits until it is wanted"
    assert [one.question for one in asked] == ["q1", "q2"]
    assert doing.threads == {threading.get_ident()}


@pytest.mark.parametrize(("workers", "count"), [(2, 9), (4, 25), (8, 3), (3, 0)])
def test_each_question_is_asked_once_and_one_thread_works_at_a_time(workers: int, count: int) -> None:
    doing = work(opened())
    done = []
    for one in steps(pairs(count), doing.ask, workers=workers, baton=doing.baton):
        with doing.alone():  # whoever takes a step works too
            done.append(one.question)
    assert sorted(done) == sorted(pair.id for pair in pairs(count))
    assert len(doing.threads) <= min(workers, count)


def test_the_model_is_asked_by_all_workers_at_once_and_by_no_more() -> None:
    gate = opened()
    gate.together = threading.Barrier(4)
    doing = work(gate)
    assert len(list(steps(pairs(16), doing.ask, workers=4, baton=doing.baton))) == 16
    assert gate.most == 4


def test_an_error_ends_the_line_lets_the_others_finish_and_is_raised() -> None:
    doing = work(opened())

    def ask(pair: Pair) -> Step:
        done = doing.ask(pair)
        if pair.id == "q1":
            raise Paused("no network")
        return done

    asked = steps(pairs(30), ask, workers=3, baton=doing.baton)
    came = []
    with pytest.raises(Paused, match="no network"):
        for one in asked:
            came.append(one.question)
    assert sorted(doing.finished) == sorted([*came, "q1"]), "what was begun came to its end"
    assert len(doing.finished) < 30
    with doing.baton.held():
        """It was given back."""


def test_what_the_model_raises_comes_to_the_one_who_asked() -> None:
    class Refusing(Gate):
        def complete(self, shown: Prompt) -> Reply:
            raise BudgetExhaustedError("spent")

    doing = work(Refusing())
    seen: list[str] = []

    def ask(pair: Pair) -> Step:
        try:
            return doing.ask(pair)
        except ModelError as error:
            doing.at_work = 0
            seen.append(str(error))
            return step(pair)

    assert len(list(steps(pairs(5), ask, workers=2, baton=doing.baton))) == 5
    assert seen == ["spent"] * 5


@pytest.mark.parametrize("workers", [1, 3])
def test_ctrl_c_does_not_wait_for_the_model(workers: int) -> None:
    gate = Gate()
    doing = work(gate)

    def press() -> None:
        until = time.monotonic() + SECONDS
        while gate.inside < workers and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(steps(pairs(9), doing.ask, workers=workers, baton=doing.baton))
    assert time.monotonic() - began < SECONDS / 2
    pressing.join()
    gate.free.set()
    left = [thread for thread in threading.enumerate() if thread.name.startswith("asks-")]
    for thread in left:
        thread.join(SECONDS)
        assert not thread.is_alive()
    assert doing.finished == [], "who was cut off never comes back to its attempt"


def test_ctrl_c_waits_for_the_thread_that_is_at_work() -> None:
    gate, working, go_on = opened(), threading.Event(), threading.Event()
    doing = work(gate)
    written: list[str] = []

    def ask(pair: Pair) -> Step:
        done = doing.ask(pair)
        working.set()
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait(0.3)
        written.append(pair.id)
        return done

    with pytest.raises(KeyboardInterrupt):
        for _ in steps(pairs(4), ask, workers=2, baton=doing.baton):
            """None comes."""
    assert working.is_set() and len(written) == 1, "its transaction was not torn"


def test_a_caller_who_stops_early_cuts_the_others_off() -> None:
    gate = Gate()
    doing = work(gate)

    def ask(pair: Pair) -> Step:
        return doing.ask(pair) if pair.id != "q0" else step(pair)

    asked = steps(pairs(9), ask, workers=3, baton=doing.baton)
    assert next(asked).question == "q0"
    asked.close()  # type: ignore[attr-defined]
    gate.free.set()
    for thread in [thread for thread in threading.enumerate() if thread.name.startswith("asks-")]:
        thread.join(SECONDS)
    assert doing.finished == []


def test_a_crew_sent_home_does_not_disturb_the_next_one() -> None:
    gate = Gate()
    doing = work(gate)
    asked = steps(
        pairs(2), lambda pair: doing.ask(pair) if pair.id != "q0" else step(pair), workers=2, baton=doing.baton
    )
    next(asked)
    asked.close()  # type: ignore[attr-defined]
    gate.free.set()
    assert len(list(steps(pairs(6), doing.ask, workers=2, baton=doing.baton))) == 6
    assert doing.finished.count("q1") == 1


def test_the_model_keeps_its_name_and_what_its_replies_depend_on() -> None:
    model = Baton().model(OpenAIModel(model="m", key="k", base_url="http://a", prices=load_prices()))
    assert model.name == "openai:m"
    assert "http://a" in model.origin()  # type: ignore[attr-defined]
    model.close()


# --- an endpoint, and the application ----------------------------------------------------------------------------


class Endpoint:
    """A real HTTP server for chat completions; waits a little, so that calls overlap, and counts how many do."""

    def __init__(self, says: Callable[[str], str], *, wait: float = 0.02) -> None:
        self.calls, self.inside, self.most = 0, 0, 0
        lock, endpoint = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    endpoint.calls += 1
                    endpoint.inside += 1
                    endpoint.most = max(endpoint.most, endpoint.inside)
                time.sleep(wait)
                text = says(str(body["messages"][-1]["content"]))
                with lock:
                    endpoint.inside -= 1
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                usage = {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010}
                head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
                payload = json.dumps({**head, "choices": [choice], "usage": usage}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *arguments: object) -> None:
                del arguments

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_the_budget_holds_with_many_workers() -> None:
    serving = Endpoint(lambda _shown: "SELECT 1")
    prices = load_prices()
    table = Prices(
        prices.as_of, prices.source, (Price(("m",), input=100.0, output=100.0, cache_write=0, cache_read=0),)
    )
    budget = Budget(max_cost_usd=1.0)
    model = OpenAIModel(model="m", key="k", base_url=serving.url, prices=table, budget=budget, breaker=CircuitBreaker())
    baton = Baton()
    doing = Work(baton, baton.model(model))
    answered = 0
    with pytest.raises(BudgetExhaustedError):
        for _ in steps(pairs(40), doing.ask, workers=6, baton=baton):
            answered += 1
    each = 1_010 * 100 / 1e6
    assert serving.calls == answered, "nothing was sent that could not be paid"
    assert budget.spent_usd == pytest.approx(answered * each) and budget.spent_usd <= 1.0
    assert answered > 3
    model.close()
    serving.close()


BOATS = """
CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL);
INSERT INTO Boats VALUES (1, 'Hoopvol', 'Veere', 9.5), (2, 'Stille', 'Hoorn', 12.0), (3, 'Vrouwe', 'Veere', 7.0),
  (4, 'Zeemeeuw', 'Urk', 15.5), (5, 'Aurora', 'Hoorn', 11.0);
"""
HARBOURS = ("Veere", "Hoorn", "Urk")
GOLDS = {
    **{f"How many boats are in {town}?": f"SELECT COUNT(*) FROM Boats WHERE Harbour = '{town}'" for town in HARBOURS},
    **{f"Which boats are in {town}?": f"SELECT Name FROM Boats WHERE Harbour = '{town}'" for town in HARBOURS},
    **{f"How many boats have more than {n} metres?": f"SELECT COUNT(*) FROM Boats WHERE Metres > {n}" for n in (8, 11)},
    "What is the average length in metres of boats?": "SELECT AVG(Metres) FROM Boats",
    "How many boats are there?": "SELECT COUNT(*) FROM Boats",
}


def knows(shown: str) -> str:
    """A model that answers all questions but those about Urk, for which it counts all boats."""
    found = GOLDS[max(GOLDS, key=shown.rfind)]  # the examples come before the question
    return found if "Urk" not in found else "SELECT COUNT(*) FROM Boats"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    with closing(sqlite3.connect(tmp_path / "boats.sqlite")) as connection:
        connection.executescript(BOATS)
    lines = [
        json.dumps({"id": f"b{n}", "question": question, "sql": sql}) for n, (question, sql) in enumerate(GOLDS.items())
    ]
    (tmp_path / "golds.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return Settings(
        database=str(tmp_path / "boats.sqlite"),
        data=tmp_path,
        runs=tmp_path / "runs",
        brain=str(tmp_path / "brain"),
        model="openai:m",
        openai_key="k",
        levers=Levers.read("none"),  # the model alone answers
        sow=False,
    )


def test_a_run_with_many_workers_learns_like_one_with_real_ledger_runner_and_cognee(
    settings: Settings, tmp_path: Path
) -> None:
    serving = Endpoint(knows)
    settings = replace(settings, openai_base_url=serving.url)
    options = TrainingOptions(training=tmp_path / "golds.jsonl", epochs=3, checkpoint=4, workers=4, cache=False)
    with open_app(settings, seeding=False) as app:
        *_, run = app.train(app.begin_run(options), options)
        assert run.finished is not None, run.pauses
        asked = Counter((one.epoch, one.question) for one in run.steps)
        assert set(asked.values()) == {1} and len(asked) == 3 * len(GOLDS)
        wrong = {one.question for one in run.of(1) if not one.right}
        assert wrong == {"b2", "b5"}, "those about Urk"
        assert any(one.recalled for one in run.of(2)), "Cognee was asked from those threads"
        verified = app.ledger.verify()
        assert verified.ok, verified.problems
        moved = (event.content for event in app.ledger.events(kinds=(EventKind.WEIGHTS_MOVED,)))
        with app.ledger.connection() as connection:
            assert replayed(moved) == app.synapses.synapses(connection)
        settled = Counter(event.subject for event in app.ledger.events(kinds=(EventKind.ATTEMPT_SETTLED,)))
        assert settled == Counter(one.attempt for one in run.steps)
    assert 1 < serving.most <= 4
    serving.close()
