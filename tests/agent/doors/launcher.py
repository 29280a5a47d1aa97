"""Runs the real command line in forks of a process that has everything imported. Run as a script.

Importing Cognee takes seconds; here it is paid once. Each line on stdin is one order. `{"arguments", "environment",
"in", "out", "err", "kill_at", "record", "seconds"}` starts a process of its own and is answered by its id;
`{"wait": id}` is answered by its exit code, negative for the signal that ended it. `in`, `out` and `err` are files, or
a terminal.

`kill_at` names a write: the process kills itself right after the first of that name. `record` is a folder of local
models: what `--model recorded:FILE` would replay is then asked of the real model, and FILE is written. After so many
`seconds` the process is ended.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any


def _load_everything() -> None:
    """Import what commands import, open nothing."""
    import openai  # noqa: F401
    import psycopg  # noqa: F401
    import sqlalchemy  # noqa: F401
    import sqlglot.optimizer  # noqa: F401

    import agent.app
    from agent.models.local import load_runtime
    from memory import cognee_store
    from memory.embedder import MiniLM

    assert agent.app
    load_runtime()
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as nowhere:
        cognee_store.prepare_environment(Path(nowhere), MiniLM())
        cognee_store._silence_cognee()
        import cognee.low_level  # noqa: F401
        import lancedb  # noqa: F401
    os.environ.clear()
    os.environ.update(environment)


def _die_after(write: str) -> None:
    """Kill this process after the first write of that name, in ledger, outbox or synapses."""
    from functools import partial

    import agent.app as app

    def step(name: str) -> None:
        if name == write:
            os.kill(os.getpid(), signal.SIGKILL)

    vars(app)["Ledger"].open = partial(vars(app)["Ledger"].open, between=step)
    vars(app)["SynapseStore"] = partial(vars(app)["SynapseStore"], between=step)


def _record(models: str) -> None:
    """Let the real model answer what a recording would have, and keep the replies."""
    from dataclasses import replace

    import agent.app as app
    from agent.models.choosing import RECORDED
    from agent.models.recorded import RecordingModel

    choose = vars(app)["_choose"]

    def recording(settings: Any, budget: Any = None) -> Any:
        name = settings.model or ""
        if not name.startswith(RECORDED):
            return choose(settings, budget)
        local = choose(replace(settings, model="0.5b", runs=Path(models).parent))
        return RecordingModel(model=local, path=Path(name.removeprefix(RECORDED)))

    vars(app)["_choose"] = recording


def _become(order: dict[str, Any]) -> None:
    """Be the command. Never returns."""
    code = 70
    try:
        os.setpgid(0, 0)
        for name, descriptor in (("out", 1), ("err", 2)):
            opened = os.open(order[name], os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(opened, descriptor)
            os.close(opened)
        read = os.open(order["in"], os.O_RDONLY)
        os.dup2(read, 0)
        sys.stdin = os.fdopen(0, closefd=False)  # the old one has read ahead in the orders
        os.environ.update(order["environment"])
        signal.alarm(order.get("seconds") or (900 if order.get("record") else 150))
        if order["kill_at"]:
            _die_after(order["kill_at"])
        if order["record"]:
            _record(order["record"])
        sys.argv = ["hebbql", *order["arguments"]]
        from agent.doors.cli import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        import threading

        # The interpreter waits for other threads before it ends; so do we.
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    _load_everything()
    # Forks then share these pages instead of copying them.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
        elif (child := os.fork()) == 0:
            _become(order)
        else:
            print(child, flush=True)
    os._exit(0)


if __name__ == "__main__":
    serve()
