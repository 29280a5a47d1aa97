#!/usr/bin/env python3
"""Run the reference night: ten epochs over the training questions with faults on purpose, then the comparison of arms.

    .venv/bin/python scripts/night.py --model 0.5b --write
    .venv/bin/python scripts/night.py --model 0.5b --subset published --no-pack --name published --write
    .venv/bin/python scripts/night.py --model 0.5b --subset published --poison 20 --name poisoned --write
    .venv/bin/python scripts/night.py --model 0.5b --subset published --poison 20 --no-forget --name kept --write

Every tenth call fails, the process is killed once without warning in the middle of the run and resumed, and once
nobody answers for minutes. The brain is a fresh one in `runs/night/<name>`, with the shipped seed pack unless
`--no-pack`; begun again with the same name, the night goes on where it was. `--write` keeps the report, the curve and
the evaluation in `runs/reference/<name>/`. A night with a local 0.5B on two quiet cores takes about two hours.

`--poison` first plants so many episodes that are right by luck: a constant that is the answer on this data. They take
the place of the seed pack, which only a brain without any gets. With `--no-forget` beside it, that is the ablation of
forgetting: nothing is forgotten, and nothing that misled is left out when it is asked in arms.

What stands in for the network is `agent/models/unreliable.py`; all else is what `hebbql train` runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import App, open_app, read_settings  # noqa: E402
from agent.learning.arms import ARMS, arm_named  # noqa: E402
from agent.learning.evaluating import summarise, write_evaluation  # noqa: E402
from agent.learning.questions import Pair, read_pairs  # noqa: E402
from agent.learning.subsets import Subset, read_subset  # noqa: E402
from agent.learning.training import TrainingOptions  # noqa: E402
from agent.models.unreliable import UnreliableModel  # noqa: E402

QUESTIONS = ROOT / "data" / "questions"
OUTAGE_SECONDS = 150.0
FAILING = 0.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="night", help="folder below runs/night and runs/reference")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--train", type=Path, default=QUESTIONS / "training.jsonl")
    parser.add_argument("--holdout", type=Path, default=QUESTIONS / "holdout.jsonl")
    parser.add_argument("--subset", default="night", help="a file of data/questions: night, published; all: no subset")
    parser.add_argument("--holdout-every", type=int, default=0, help="epochs after which the holdout is asked as well")
    parser.add_argument("--no-pack", action="store_true", help="begin with an empty brain")
    parser.add_argument("--no-forget", action="store_true", help="forget nothing: the ablation")
    parser.add_argument("--poison", type=int, default=0, help="lucky episodes to plant before the first epoch")
    parser.add_argument("--kill-at", type=int, default=None, help="steps after which it is killed; else in the middle")
    parser.add_argument("--arms", default=",".join(arm.name for arm in ARMS))
    parser.add_argument("--no-train", action="store_true", help="only compare the arms, with the brain as it is")
    parser.add_argument("--write", action="store_true", help="keep the figures in runs/reference/")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = ROOT / "runs" / "night" / given.name
    folder.mkdir(parents=True, exist_ok=True)
    if given.child:
        return train(given, folder)
    if not given.no_train:
        finish(folder, given)
    compare(given, folder)
    if given.write:
        keep(folder, ROOT / "runs" / "reference" / given.name)
    return 0


def finish(folder: Path, given: argparse.Namespace) -> None:
    """Run the training in a process of its own until it is finished; kill it once on the way."""
    while True:
        child = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--child"], start_new_session=True)
        killed = folder / "killed"
        try:
            while child.poll() is None:
                time.sleep(0.5)
                done = steps_done(folder)
                if not killed.exists() and done >= (given.kill_at or total(given) // 2):
                    killed.write_text(f"{done}\n", encoding="ascii")
                    print(f"killing the run after {done} steps", flush=True)
                    os.killpg(child.pid, signal.SIGKILL)
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            child.wait()
            raise
        if child.returncode == 0:
            return
        if child.returncode != -signal.SIGKILL:
            raise SystemExit(f"The training ended with {child.returncode}. Run the same command again to go on.")


def train(given: argparse.Namespace, folder: Path) -> int:
    options = options_of(given)
    with opened(given, folder) as app:
        ids = (folder / "run").read_text("ascii").split() if (folder / "run").exists() else []
        if not ids and given.poison:
            plant(app, options, given.poison, folder / "lucky.jsonl")
        run = app.resume_run(ids[0], options) if ids else app.begin_run(options)
        (folder / "run").write_text(f"{run.id}\n", encoding="ascii")
        outages = [(max(40, total(given) // 6), OUTAGE_SECONDS)] if not ids else []
        unreliable = partial(UnreliableModel, share=FAILING, seed=len(run.steps) + 1, outages=outages)
        for grown in app.train(run, options, through=unreliable):
            if len(grown.steps) > len(run.steps):
                step = grown.steps[-1]
                how = "habit" if step.is_habit else f"{step.approach} {step.calls - step.replayed}/{step.calls}"
                mark = "right" if step.right else step.error
                print(
                    f"{len(grown.steps):5} {step.epoch:2} {step.part:8} {mark:12} {how:16} {step.seconds:6.1f} s "
                    f"{step.question}",
                    flush=True,
                )
                (folder / "steps").write_text(f"{len(grown.steps)}\n", encoding="ascii")
            run = grown
    return 0 if run.finished is not None else 1


def plant(app: App, options: TrainingOptions, count: int, pack: Path) -> None:
    """Load a pack of constants that answer training questions right, as long as no row changes."""
    wanted = set(options.only_training)
    lines: list[str] = []
    for pair in read_pairs(options.training):
        result = app.checked_run(pair.sql)
        if (wanted and pair.id not in wanted) or len(result.rows) != 1 or len(result.columns) != 1:
            continue
        value = result.rows[0][0]
        if isinstance(value, int | float) and not isinstance(value, bool) and len(lines) < count:
            line = {"id": f"lucky-{pair.id}", "question": pair.question, "sql": f"SELECT {value!r}"}
            lines.append(json.dumps(line, ensure_ascii=False))
    pack.write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = app.seed(pack)
    print(f"{report.remembered} lucky episodes planted, {len(report.refused)} refused", flush=True)


def compare(given: argparse.Namespace, folder: Path) -> None:
    """Ask the holdout in all arms with the brain that was trained."""
    sifted = not given.no_forget
    arms = [replace(arm, sifted=sifted) for name in given.arms.split(",") if (arm := arm_named(name))]
    pairs = holdout_of(given)
    with opened(given, folder) as app:
        held, refused = app.confirmed(pairs)
        for one in refused:
            print(f"{one.name} is left out: {one.reason}", flush=True)
        steps = []
        for step in app.evaluate(held, arms):
            steps.append(step)
            mark = "right" if step.right else step.error
            print(f"{step.arm:9} {mark:12} {step.seconds:6.1f} s {step.question}", flush=True)
        about = {
            "model": app.model.name,
            "database": app.schema.name,
            "questions": given.holdout.name,
            "command": command(),
        }
    write_evaluation(folder / "evaluation", summarise(steps), steps, about=about)


def keep(folder: Path, reference: Path) -> None:
    """Copy what is to be published: the files of the run and those of the evaluation, no brain."""
    reference.mkdir(parents=True, exist_ok=True)
    run = (folder / "run").read_text("ascii").strip() if (folder / "run").exists() else ""
    found = (
        [*(ROOT / "runs" / run).glob("*"), *(folder / "evaluation").glob("*")]
        if run
        else [*(folder / "evaluation").glob("*")]
    )
    for path in found:
        shutil.copy(path, reference / path.name)
    (reference / "command.txt").write_text(f"{command()}\n", encoding="utf-8")
    print(reference.relative_to(ROOT))


def opened(given: argparse.Namespace, folder: Path) -> Any:
    settings = read_settings(os.environ, brain=folder / "brain", model=given.model)
    return open_app(
        replace(settings, lease_wait=60.0), seeding=not given.no_pack, say=lambda text: print(text, flush=True)
    )


def options_of(given: argparse.Namespace) -> TrainingOptions:
    subset = subset_of(given)
    return TrainingOptions(
        training=given.train,
        holdout=given.holdout,
        only_training=subset.training if subset else (),
        only_holdout=subset.holdout if subset else (),
        epochs=given.epochs,
        forgetting=not given.no_forget,
        holdout_every=given.holdout_every,
    )


def holdout_of(given: argparse.Namespace) -> tuple[Pair, ...]:
    subset, pairs = subset_of(given), read_pairs(given.holdout)
    return subset.of(pairs, "holdout") if subset else pairs


def subset_of(given: argparse.Namespace) -> Subset | None:
    return None if given.subset == "all" else read_subset(QUESTIONS / f"{given.subset}.toml")


def total(given: argparse.Namespace) -> int:
    """Training steps of all epochs."""
    asked = len(options_of(given).only_training) or len(read_pairs(given.train))
    return asked * int(given.epochs)


def steps_done(folder: Path) -> int:
    try:
        return int((folder / "steps").read_text("ascii"))
    except (OSError, ValueError):
        return 0


def command() -> str:
    return "scripts/night.py " + " ".join(one for one in sys.argv[1:] if one != "--child")


if __name__ == "__main__":
    raise SystemExit(main())
