#!/usr/bin/env python3
"""Measure what each lever of the code is worth: alone, all together, and all but one, on questions kept for choosing.

    .venv/bin/python scripts/ablate.py --model 0.5b --write
    .venv/bin/python scripts/ablate.py --model 0.5b --every 3 --levers "none; adapt; coverage; all; schema: all"
    .venv/bin/python scripts/ablate.py --model 1.5b --kinds "share, ratio, multi_join" --levers "none; all"

Levers are those of HEBBQL_LEVERS (`agent/settings.py`). Each variant asks the same questions of one fresh brain with
the shipped seed pack in it; nothing is learned. An answer is right as in `hebbql evaluate`, on the database and on
copies of it with other rows. A question that stands in the pack is left out, one that is much like one there is named.

Steps are kept in `runs/levers/MODEL/` as they come: begun again, an ablation goes on where it stopped, and one that
wants less or more takes what is there. Replies come from the completion cache where the very prompt was asked before,
so that variants share drafts. `--fresh` throws the steps away, which is wanted once the code has changed. `--write`
keeps steps, JSON and Markdown of what this command asks for in `runs/reference/levers/MODEL/`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from filelock import FileLock, Timeout  # noqa: E402

from agent.app import FAILURES, USAGE_ERRORS, App, check_question, open_app, read_settings  # noqa: E402
from agent.attempt import Attempt  # noqa: E402
from agent.checkout import commit  # noqa: E402
from agent.journal import Unwritten  # noqa: E402
from agent.learning.ablating import ablation  # noqa: E402
from agent.learning.ablation_report import ablation_json, finding, markdown  # noqa: E402
from agent.learning.arms import Arm  # noqa: E402
from agent.learning.evaluating import EvaluationError, evaluate, without_places, write_whole  # noqa: E402
from agent.learning.leaks import leaks  # noqa: E402
from agent.learning.mistakes import one_spelling  # noqa: E402
from agent.learning.questions import Pair, QuestionFileError, read_pairs  # noqa: E402
from agent.learning.trials import Trial, TrialFile, other_codes, state_of, trial_of  # noqa: E402
from agent.learning.variants import AblationError, Variant, read_variants  # noqa: E402
from agent.models.cached import CachedModel  # noqa: E402
from agent.question import cleaned  # noqa: E402
from agent.school import School  # noqa: E402
from agent.settings import Settings, Think  # noqa: E402

Say = Callable[[str], None]
Opened = Callable[..., AbstractContextManager[App]]

SAME = ("same question", "same SQL")
"""Rules of the leak check by which a question stands in the pack."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is asked for: which questions in which variants, where steps are kept, and where the outcome is put.

    `kinds` are types of questions, as their author named them; none stands for all. `publish` is the folder of what is
    to be published, or None.
    """

    settings: Settings
    questions: Path
    variants: tuple[Variant, ...]
    folder: Path
    publish: Path | None = None
    every: int = 1
    kinds: tuple[str, ...] = ()
    fresh: bool = False
    command: str = ""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Raises QuestionFileError: the file cannot be read, or has no question of a type."""
        pairs = read_pairs(self.questions)
        known = {pair.type for pair in pairs}
        if strange := [kind for kind in self.kinds if kind not in known]:
            types = ", ".join(sorted(known))
            raise QuestionFileError(f"{self.questions} has no question of the type {strange[0]!r}, but of {types}.")
        return tuple(pair for pair in pairs if not self.kinds or pair.type in self.kinds)[:: self.every]


@dataclass(frozen=True)
class Examined:
    """The questions that are asked: those whose golds hold and that do not stand in the pack, and what is said of it.

    `alike` are ids of those that are much like a question of the pack.
    """

    pairs: tuple[Pair, ...]
    alike: frozenset[str]
    notes: tuple[str, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, default=ROOT / "data" / "questions" / "development.jsonl")
    parser.add_argument("--model", default=None, help="as `hebbql ask --model`")
    parser.add_argument("--db", default=None)
    parser.add_argument("--levers", default="", help="variants with semicolons between; all of them otherwise")
    parser.add_argument("--think", choices=get_args(Think), default=None)
    parser.add_argument("--every", type=int, default=1, help="take only each n-th question")
    parser.add_argument("--kinds", default="", help="only questions of these types, with commas between")
    parser.add_argument("--fresh", action="store_true", help="throw away the steps that are there")
    parser.add_argument("--write", action="store_true", help="keep the outcome in runs/reference/levers/")
    given = parser.parse_args()
    if given.every < 1:
        parser.error("--every takes a whole number above 0")
    try:
        settings = read_settings(os.environ, database=given.db, model=given.model)
        settings = replace(settings, think=given.think or settings.think)
        stem = folder_name(settings.model or "usual", settings.think)
        order = Order(
            settings=settings,
            questions=given.questions,
            variants=read_variants(given.levers),
            folder=settings.runs / "levers" / stem,
            publish=ROOT / "runs" / "reference" / "levers" / stem if given.write else None,
            every=given.every,
            kinds=tuple(kind.strip() for kind in given.kinds.split(",") if kind.strip()),
            fresh=given.fresh,
            command=shlex.join(["scripts/ablate.py", *sys.argv[1:]]),
        )
        check_question("Is the model known?", settings)
        print(f"{len(order.pairs)} questions, {len(order.variants)} variants", file=sys.stderr)
        return ablate(order, say=lambda told: print(told, file=sys.stderr, flush=True))
    except (*USAGE_ERRORS, AblationError) as problem:
        print(problem, file=sys.stderr)
        return 2
    except FAILURES as problem:
        print(problem, file=sys.stderr)
        return 1


def folder_name(model: str, think: Think) -> str:
    """Name the folder of a model; effort other than the usual one has its own.

    >>> folder_name("0.5b", "normal"), folder_name("local:a/b", "deep")
    ('0.5b', 'local_a_b-deep')
    """
    name = re.sub(r"[^\w.-]+", "_", model.lower())
    return name if think == Settings().think else f"{name}-{think}"


def ablate(order: Order, *, say: Say, opened: Opened = open_app) -> int:
    """Ask what is not asked yet, and write what came of all. Gives 0, 1 where it broke off, 130 when interrupted.

    Raises:
        AblationError: the steps that are there are of something else, or another process is at them.
        QuestionFileError: there is nothing to ask.
    """
    order.folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(order.folder / "lock").acquire(timeout=0)
    except Timeout as problem:
        raise AblationError(f"Another ablation keeps its steps in {order.folder}. Wait until it is done.") from problem
    with lock, tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        looking = replace(order.settings, brain=str(place / "judge"))
        with opened(looking, memory=False, say=say) as app, closing(School(app=app)) as school:
            check_conditions(order, app)
            file = TrialFile(order.folder / "steps.jsonl")
            warn_of_other_code(file, say)
            examined = examine(order, app, school)
            for note in examined.notes:
                say(note)
            brain, ended, variant = place / "brain", 0, ""
            try:
                with closing(trials(order, examined.pairs, file, brain, school, opened=opened)) as asking:
                    for trial in asking:
                        if variant and trial.variant != variant:
                            write(order, examined, file, app)
                        variant = trial.variant
                        file.add(trial)
                        say(line(trial, len(file)))
            except (EvaluationError, *FAILURES) as stopped:
                say(f"{stopped} What was asked is kept: the same command goes on from there.")
                ended = 1
            except KeyboardInterrupt:
                say("Interrupted. What was asked is kept: the same command goes on from there.")
                ended = 130
            print(write(order, examined, file, app), flush=True)
    return ended


def check_conditions(order: Order, app: App) -> None:
    """See that the steps that are there are of the same questions, brain and model; begin anew where that is wanted.

    Raises:
        AblationError: they are not.
    """
    settings, path, steps = order.settings, order.folder / "conditions.json", order.folder / "steps.jsonl"
    pack = app.shipped_pack
    now = {
        "model": app.model.name,
        "effort": settings.think,
        "question file": digest(order.questions),
        "seed pack": digest(pack) if pack.is_file() else "",
        "database": f"{app.schema.name} {app.schema.fingerprint}",
        "approach": settings.approach or "",
        "facts": settings.facts,
        "recall limit": str(settings.recall_limit),
    }
    if order.fresh:
        steps.unlink(missing_ok=True)
    if steps.is_file():
        try:
            before = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            before = {}
        if changed := [name for name, value in now.items() if before.get(name) != value]:
            raise AblationError(
                f"The steps in {order.folder} were made with another {' and another '.join(changed)}. Give --fresh to "
                "throw them away, or move the folder away to keep them."
            )
    write_whole(path, json.dumps(now, indent=2) + "\n")


def digest(path: Path) -> str:
    """The name of a file and the digest of its bytes."""
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"


def warn_of_other_code(file: TrialFile, say: Say) -> None:
    """Say where steps were asked with another state of the code."""
    now = code()
    if others := other_codes(file, now):
        say(
            f"Steps are there of the code at {', '.join(others)}; now it is {now}. They are taken as they are; --fresh "
            "asks all again."
        )


def code() -> str:
    """The state of the code that decides what is answered."""
    return state_of(
        commit(), (path for part in ("agent", "memory", "procedural") for path in (ROOT / part).rglob("*.py"))
    )


def examine(order: Order, app: App, school: School) -> Examined:
    """Look at the questions before any is asked.

    Raises:
        QuestionFileError: none is left.
    """
    held, refused = school.confirmed(order.pairs)
    notes = [f"{one.name} is left out. {one.reason}" for one in refused]
    found = leaks(
        read_pairs(app.shipped_pack) if app.shipped_pack.is_file() else (),
        held,
        mask=lambda question: app.understand(cleaned(question)).masked,
        normalise=partial(one_spelling, dialect=app.schema.dialect),
    )
    first = {leak.holdout: leak for leak in reversed(found)}
    same = {id for id, leak in first.items() if leak.rule in SAME}
    for pair in held:
        if leak := first.get(pair.id):
            what = " and is left out" if pair.id in same else ""
            notes.append(f"{pair.id} is like {leak.training} of the seed pack{what}: {leak.rule}.")
    left = tuple(pair for pair in held if pair.id not in same)
    if not left:
        raise QuestionFileError(f"Nothing is left to ask of {order.questions}. Give other questions with --questions.")
    return Examined(left, frozenset(first.keys() - same), tuple(notes))


def trials(
    order: Order, pairs: Sequence[Pair], done: TrialFile, brain: Path, school: School, *, opened: Opened
) -> Generator[Trial]:
    """Ask each question in each variant in which it is not asked yet, all of one `brain` and one model.

    The model is that of the app that `school` examines with, so that it is loaded once.

    Raises:
        EvaluationError: the model or the database is out of reach.
    """
    looking, state = school.app, code()
    left = {variant: [pair for pair in pairs if (variant.name, pair.id) not in done] for variant in order.variants}
    charge = looking.budget.charge if looking.budget else lambda _cost: None
    replies = order.settings.runs / "replies.sqlite"
    with closing(CachedModel(looking.model, path=replies, say=looking.say, charge=charge)) as model:
        for variant, wanted in left.items():
            if not wanted:
                continue
            looking.say(f"{variant.name}: {len(wanted)} of {len(pairs)} questions are left")
            settings = replace(order.settings, brain=str(brain), levers=variant.levers)
            with opened(settings, memory=variant.memory, say=looking.say) as app:
                app.model = looking.model
                if variant.memory:
                    app.get_ready_to_recall()
                asked: list[Attempt] = []

                def ask(pair: Pair, arm: Arm, app: App = app, asked: list[Attempt] = asked) -> Attempt:
                    *_, attempt = app.ask(pair.question, arm=arm, model=model, journal=Unwritten())
                    asked.append(attempt)
                    return attempt

                for step in evaluate(wanted, [variant.arm], ask=ask, judge=school.verdict):
                    yield trial_of(step, asked.pop(), code=state)


def line(trial: Trial, place: int) -> str:
    step = trial.step
    how = step.path if trial.unaided else f"{step.calls} calls, {step.replayed} replayed"
    mark = "right" if step.right else step.error
    return f"{place:5} {trial.variant:18} {mark:12} {how:20} {trial.seconds:6.1f} s {step.question}"


def write(order: Order, examined: Examined, file: TrialFile, app: App) -> str:
    """Write what came of what was asked for, as far as it is there; gives the finding, and where the files are."""
    names = [variant.name for variant in order.variants]
    chosen = file.of(names, [pair.id for pair in examined.pairs])
    if not chosen:
        return "No question was asked."
    found = ablation(chosen, alike=examined.alike)
    pack = app.shipped_pack
    told: Mapping[str, str] = {
        "model": app.model.name,
        "effort": order.settings.think,
        "database": app.schema.name,
        "questions": f"{len(examined.pairs)} of {digest(order.questions)}",
        "seed pack": digest(pack) if pack.is_file() else "none",
        "asked": f"{len(chosen):,} of {len(names) * len(examined.pairs):,} questions and variants",
        "state of the code": ", ".join(dict.fromkeys(trial.code for trial in chosen)),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "command": without_places(order.command),
    }
    texts = {
        "levers.json": ablation_json(found, about=told, notes=examined.notes),
        "levers.md": markdown(found, about=told, notes=examined.notes),
    }
    for name, text in texts.items():
        write_whole(order.folder / name, text)
    if order.publish:
        order.publish.mkdir(parents=True, exist_ok=True)
        steps = "".join(json.dumps(trial.content(), ensure_ascii=False) + "\n" for trial in chosen)
        for name, text in {**texts, "steps.jsonl": steps, "command.txt": f"{told['command']}\n"}.items():
            write_whole(order.publish / name, text)
    shown = order.publish or order.folder
    with suppress(ValueError):
        shown = shown.relative_to(ROOT)
    return f"{finding(found)}\n{shown}"


if __name__ == "__main__":
    raise SystemExit(main())
