#!/usr/bin/env python3
"""Fit the weights of confidence, and measure on questions kept apart whether a stated confidence holds.

    .venv/bin/python scripts/calibrate.py collect data/questions/training.jsonl
    .venv/bin/python scripts/calibrate.py collect data/questions/training.jsonl --model 0.5b --sample 80
    .venv/bin/python scripts/calibrate.py fit runs/calibration/training-none.jsonl runs/calibration/training-0_5b.jsonl
    .venv/bin/python scripts/calibrate.py collect data/questions/calibration.jsonl
    .venv/bin/python scripts/calibrate.py report runs/calibration/calibration-none.jsonl

`collect` asks each question of a fresh brain that holds the shipped seed pack, but for every episode that was asked
alike or has the question's own gold. Nothing is learned and no habit answers. All drafts are judged as in training, on
the database and on copies of it with other rows. All levers but the grammar are on. What each moment of an attempt
shows is kept in `runs/calibration/`, one JSON line for each moment: the features of each result, and each draft with
whether it is right. Without `--model` no model is asked, so that only adapted drafts count; with one, its replies come
from the completion cache where the prompt was asked before.

`fit` fits weights on what was collected and writes `agent/drafting/confidence.toml`. How well it does on questions that
it was not fitted on is measured by cross-validation over families: questions that differ in literals are never parted.

`report` holds the shipped weights against what was collected, of questions that nothing was fitted on, and writes
JSON, Markdown and a picture into `runs/reference/calibration/`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import FAILURES, USAGE_ERRORS, App, open_app, read_settings  # noqa: E402
from agent.attempt import Attempt  # noqa: E402
from agent.checkout import commit  # noqa: E402
from agent.drafting.weighing import (  # noqa: E402
    USUAL_WEIGHTS,
    WEIGHTS_FILE,
    Weights,
    WeightsError,
    chances_of,
    evidence,
    read_weights,
    written,
)
from agent.journal import Unwritten  # noqa: E402
from agent.learning.calibrating import (  # noqa: E402
    Case,
    Forecast,
    area,
    brier,
    calibration_error,
    cross_validated,
    fitted,
    log_loss,
    reliability,
    spiegelhalter,
    thresholds,
)
from agent.learning.feedback import asked_alike  # noqa: E402
from agent.learning.judging import Verdict  # noqa: E402
from agent.learning.mistakes import one_spelling  # noqa: E402
from agent.learning.pictures import reliability_picture  # noqa: E402
from agent.learning.questions import Pair, read_pairs  # noqa: E402
from agent.learning.statistics import Share, share  # noqa: E402
from agent.models.cached import CachedModel  # noqa: E402
from agent.models.port import Model, Prompt, Reply  # noqa: E402
from agent.school import School  # noqa: E402
from memory.episode import Episode  # noqa: E402
from memory.recall import Recall, Recalled  # noqa: E402

COLLECTED = ROOT / "runs" / "calibration"
PUBLISHED = ROOT / "runs" / "reference" / "calibration"
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
HOLDS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""How firmly weights are held to the prior: the one with the least cross-validated log loss is taken."""

NONE = "none"


class NoModel:
    """Declines whatever it is asked, so that only what code adapted counts."""

    name = NONE

    def complete(self, prompt: Prompt) -> Reply:
        return Reply("", declined="No model is asked.")

    def close(self) -> None:
        """Nothing is open."""


class LeavingOut(Recall):
    """Recall that never gives what `out` names."""

    out: Callable[[Episode], bool] = staticmethod(lambda _episode: False)

    def recall(
        self,
        *,
        bucket: str,
        kind: str,
        tables: tuple[str, ...],
        question: str,
        masked: str,
        limit: int = 3,
        allowed: Callable[[Episode], bool] = lambda _episode: True,
    ) -> tuple[Recalled, ...]:
        return super().recall(
            bucket=bucket,
            kind=kind,
            tables=tables,
            question=question,
            masked=masked,
            limit=limit,
            allowed=lambda episode: allowed(episode) and not self.out(episode),
        )


def own_of(pair: Pair, dialect: str) -> Callable[[Episode], bool]:
    """Whether an episode is the question's own: asked alike, or with a gold of it."""
    asked = asked_alike(pair.question)
    golds = {one_spelling(sql, dialect) for sql in (pair.sql, *pair.others, *pair.accepted)}
    return lambda episode: asked_alike(episode.question) == asked or one_spelling(episode.sql, dialect) in golds


# Collecting


def collect(given: argparse.Namespace) -> int:
    """Ask and judge; what was collected before under the same name is written anew."""
    pairs = chosen(read_pairs(given.questions), given.sample, given.seed)
    place = given.out or COLLECTED / f"{given.questions.stem}-{given.model.replace('.', '_')}.jsonl"
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        model = None if given.model == NONE else given.model
        settings = read_settings(os.environ, database=given.db, brain=Path(scratch), model=model, habits=False)
        levers = replace(settings.levers, adapt=True, dialect=True, names=True, coverage=True, weigh=True)
        settings = replace(settings, think=given.think or settings.think, levers=levers)
        with open_app(settings, say=told) as app, closing(School(app=app)) as school:
            asked: Model = NoModel() if model is None else CachedModel(app.model, path=replies(app), say=told)
            if model is None:
                app.model = asked  # else one would be chosen and loaded
            recall = LeavingOut(
                episodes=app.ledger, store=app.store, embedder=app.embedder, vectors=app.vectors, notice=app.say
            )
            app.recall = recall
            app.get_ready_to_recall()
            with place.open("w", encoding="utf-8") as file:
                for number, pair in enumerate(pairs, 1):
                    recall.out = own_of(pair, app.schema.dialect)
                    for moment in moments(app, pair, asked, partial(school.judge.judge, pair)):
                        file.write(json.dumps(moment, ensure_ascii=False) + "\n")
                    file.flush()
                    told(f"{number} of {len(pairs)}: {pair.id}")
    print(place)
    return 0


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def replies(app: App) -> Path:
    return app.settings.runs / "replies.sqlite"


def chosen(pairs: Sequence[Pair], sample: int | None, seed: int) -> Sequence[Pair]:
    """All questions, or so many of them by chance, in the order of the file."""
    if sample is None or sample >= len(pairs):
        return pairs
    places = sorted(random.Random(seed).sample(range(len(pairs)), sample))
    return [pairs[place] for place in places]


def moments(app: App, pair: Pair, model: Model, judge: Callable[..., Verdict]) -> Iterator[Mapping[str, object]]:
    """What an attempt shows whenever it was weighed: after adapting, and after each draft of the model that ran.

    The last one stands for the answer. Where nothing ran there is one without results.
    """
    verdicts: dict[str, Verdict] = {}
    weighed: list[Attempt] = []
    for attempt in app.ask(pair.question, model=model, journal=Unwritten()):
        if attempt.ran and len(attempt.ran) > (len(weighed[-1].ran) if weighed else 0):
            weighed.append(attempt)
    for number, moment in enumerate(weighed or [attempt]):
        assert moment.understood is not None, "a weighed attempt is understood"
        found = evidence(moment)
        result_of = {place: number for number, one in enumerate(found) for place in one.places}
        drafts = []
        for place, draft in enumerate(moment.drafts):
            if draft.sql not in verdicts:
                verdicts[draft.sql] = judge(draft.sql, draft.result, problem=draft.problem)
            verdict = verdicts[draft.sql]
            drafts.append(
                {
                    "result": result_of.get(place),
                    "origin": draft.origin,
                    "right": verdict.right,
                    "error": verdict.error,
                    "rule": draft.rule,
                    "episode": draft.episode,
                    "strain": draft.strain,
                    "support": draft.support,
                    "notes": draft.notes,
                    "doubts": [[doubt.rule, doubt.text] for doubt in draft.doubts],
                    "sql": draft.sql,
                }
            )
        family = f"{moment.understood.bucket} {moment.understood.masked}"
        yield {
            "question": pair.id,
            "type": pair.type,
            "text": pair.question,
            "family": hashlib.sha256(family.encode()).hexdigest()[:16],
            "kind": moment.understood.intent.kind,
            "model": model.name,
            "approach": moment.approach,
            "moment": number,
            "last": moment is (weighed or [attempt])[-1],
            "drafts": drafts,
            "features": [{name: round(value, 5) for name, value in one.features.items()} for one in found],
        }


# Reading what was collected


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of what was collected. `right` is by result: whether the draft that would be the answer is right.

    `drafts` counts those that gave each result. `answer` says whether the attempt ended there.
    """

    question: str
    type: str
    family: str
    model: str
    answer: bool
    features: tuple[Mapping[str, float], ...]
    right: tuple[bool, ...]
    drafts: tuple[int, ...]


def read_moments(paths: Iterable[Path]) -> tuple[Moment, ...]:
    """Read what was collected. Raises OSError, ValueError, and WeightsError where it has other features than today."""
    return tuple(read_moment(json.loads(line)) for path in paths for line in path.read_text("utf-8").splitlines())


def read_moment(told: Mapping[str, Any]) -> Moment:
    if any(one.keys() != USUAL_WEIGHTS.values.keys() for one in told["features"]):
        raise WeightsError("The features are others than when this was collected. Collect again.")
    results = range(len(told["features"]))
    by_result = [[one for one in told["drafts"] if one["result"] == result] for result in results]
    return Moment(
        told["question"],
        told["type"],
        told["family"],
        told["model"],
        told["last"],
        tuple(told["features"]),
        tuple(bool(drafts[0]["right"]) for drafts in by_result),
        tuple(map(len, by_result)),
    )


def cases_of(moments: Sequence[Moment]) -> list[Case]:
    """What to fit on: moments with a result. Those of one question with one model count as one together."""
    known = [one for one in moments if one.features]
    times = Counter((one.question, one.model) for one in known)
    return [Case(one.family, one.features, one.right, 1 / times[one.question, one.model]) for one in known]


# Fitting


def fit(given: argparse.Namespace) -> int:
    moments = read_moments(given.collected)
    cases = cases_of(moments)
    if not cases:
        told("Nothing that was collected has a result, so there is nothing to fit on. Collect again.")
        return 1
    tried = {hold: cross_validated(cases, hold=hold) for hold in HOLDS}
    losses = {hold: surprise(cases, chances) for hold, chances in tried.items()}
    hold = given.hold or min(losses, key=lambda one: losses[one])
    for one, loss in losses.items():
        told(f"held by {one:g}: cross-validated log loss {loss:.4f}{' <' if one == hold else ''}")
    by_hand = [chances_of([USUAL_WEIGHTS.score(features) for features in case.features]) for case in cases]
    told(f"not fitted: log loss {surprise(cases, by_hand):.4f}")
    values = fitted(cases, hold=hold)
    chances = tried.get(hold) or cross_validated(cases, hold=hold)
    figures = figures_of(moments, dict(zip(map(id, filter(lambda one: one.features, moments)), chances, strict=True)))
    print(summary_line(figures))
    results, files = sum(len(case.features) for case in cases), ", ".join(sorted(names(given.collected)))
    data = (
        f"{len({one.question for one in moments})} questions in {len({one.family for one in moments})} families, "
        f"{len(cases)} moments, {results} results of {files}; "
        f"prior held by {hold:g}; cross-validated: {summary_line(figures)}"
    )
    held = ["--hold", f"{hold:g}"] if given.hold else []
    command = shlex.join(["scripts/calibrate.py", "fit", *map(str, map(relative, given.collected)), *held])
    if not given.dry:
        given.out.write_text(written(Weights(values, command, data)), "utf-8")
        print(given.out)
    else:
        print(written(Weights(values, command, data)))
    return 0


def surprise(cases: Sequence[Case], chances: Sequence[Sequence[float]]) -> float:
    """The mean log loss of cases: minus the log of the chance of what came, one of the results or none."""
    total = 0.0
    for case, one in zip(cases, chances, strict=True):
        came = sum(chance for chance, right in zip(one, case.right, strict=True) if right)
        total -= case.weight * math.log(max(1e-12, came if any(case.right) else 1 - sum(one)))
    return total / sum(case.weight for case in cases)


def names(paths: Iterable[Path]) -> set[str]:
    return {path.stem for path in paths}


def relative(path: Path) -> Path:
    return path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else Path(path.name)


# Figures


def figures_of(moments: Sequence[Moment], chances: Mapping[int, Sequence[float]]) -> dict[str, Any]:
    """All figures about answers: the most likely result of the last moment of each question, and about all results.

    `chances` has those of the results of each moment, by the `id` of it.
    """
    last = [one for one in moments if one.answer]
    asked = len(last)
    answers, every = [], []
    plain = first = possible = 0
    by_type: dict[str, list[bool]] = {}
    for one in last:
        right = False
        if one.features:
            stated = chances[id(one)]
            answers.append(answer_of(one, stated))
            right = answers[-1].right
            every += [Forecast(chance, came) for chance, came in zip(stated, one.right, strict=True)]
            plain += one.right[max(range(len(one.drafts)), key=lambda place: one.drafts[place])]
            first += one.right[0]
            possible += any(one.right)
        by_type.setdefault(one.type, []).append(right)
    correct = sum(one.right for one in answers)
    return {
        "questions": asked,
        "with a result": len(answers),
        "right": noted(share(correct, asked)),
        "right without weighing (most drafts)": noted(share(plain, asked)),
        "right by the first draft": noted(share(first, asked)),
        "right if the best result were always chosen": noted(share(possible, asked)),
        "answers": told_of(answers),
        "all results": told_of(every),
        "thresholds": [
            {
                "confidence": one.confidence,
                "answered": noted(one.answered),
                "right": noted(one.right),
            }
            for one in thresholds(answers, CONFIDENCES, asked=asked)
        ],
        "by type": {kind: f"{sum(rights)}/{len(rights)}" for kind, rights in sorted(by_type.items())},
    }


def answer_of(moment: Moment, chances: Sequence[float]) -> Forecast:
    """The most likely result of a moment, the earliest among equals."""
    best = max(range(len(chances)), key=lambda place: chances[place])
    return Forecast(chances[best], moment.right[best])


def noted(found: Share) -> dict[str, Any]:
    return {
        "right": found.right,
        "total": found.total,
        "share": rounded(found.value),
        "interval": [rounded(found.interval.low), rounded(found.interval.high)],
    }


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def told_of(forecasts: Sequence[Forecast]) -> dict[str, Any]:
    """How well the confidences of forecasts hold."""
    table, score, tested = reliability(forecasts), brier(forecasts), spiegelhalter(forecasts)
    return {
        "count": len(forecasts),
        "mean confidence": rounded(sum(one.confidence for one in forecasts) / len(forecasts)) if forecasts else None,
        "share right": rounded(sum(one.right for one in forecasts) / len(forecasts)) if forecasts else None,
        "brier": {name: rounded(value) for name, value in asdict(score).items()} if score else None,
        "expected calibration error": rounded(calibration_error(table)),
        "log loss": rounded(log_loss(forecasts)),
        "area under ROC": rounded(area(forecasts)),
        "spiegelhalter": {"z": round(tested.z, 3), "p": round(tested.p, 4)} if tested else None,
        "reliability": [
            {"from": one.low, "to": one.high, "mean": rounded(one.mean), "right": noted(one.share)} for one in table
        ],
    }


def summary_line(figures: Mapping[str, Any]) -> str:
    answers = figures["answers"]
    right, plain = figures["right"], figures["right without weighing (most drafts)"]
    return (
        f"{right['right']}/{right['total']} right, {plain['right']} without weighing; log loss {answers['log loss']}, "
        f"Brier {(answers['brier'] or {}).get('score')}, AUC {answers['area under ROC']}, "
        f"ECE {answers['expected calibration error']}"
    )


# Reporting


def report(given: argparse.Namespace) -> int:
    weights = read_weights(given.weights)
    moments = read_moments(given.collected)
    chances = {id(one): chances_of([weights.score(features) for features in one.features]) for one in moments}
    figures = figures_of(moments, chances)
    models = sorted({one.model for one in moments})
    about = {
        "command": shlex.join(["scripts/calibrate.py", "report", *map(str, map(relative, given.collected))]),
        "commit": commit(),
        "model": ", ".join(models),
        "collected": ", ".join(sorted(names(given.collected))),
        "weights fitted on": weights.data,
    }
    folder, name = given.folder, given.name or "-".join(sorted(names(given.collected)))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(
        json.dumps(about | figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    (folder / f"{name}.md").write_text(markdown(about, figures, name), encoding="utf-8")
    answers = [answer_of(one, chances[id(one)]) for one in moments if one.answer and one.features]
    picture = reliability_picture(reliability(answers), title="How much is right of what was stated")
    (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
    print(summary_line(figures))
    print(folder / f"{name}.md")
    return 0


def percent(found: Mapping[str, Any]) -> str:
    if found["share"] is None:
        return "none"
    low, high = found["interval"]
    return f"{found['right']} of {found['total']} = {found['share']:.0%} ({low:.0%} to {high:.0%})"


def markdown(about: Mapping[str, str], figures: Mapping[str, Any], name: str) -> str:
    answers, every = figures["answers"], figures["all results"]
    lines = [
        "# Does a stated confidence hold?",
        "",
        f"{figures['questions']} questions on which no weight was fitted, model {about['model']}; an answer is right "
        "where it gives the gold result on the database and on copies of it with other rows. Intervals are 95 % "
        "(Wilson).",
        "",
        "| | right |",
        "|---|---|",
        f"| the most likely result | {percent(figures['right'])} |",
        f"| the result of most drafts (no weighing) | {percent(figures['right without weighing (most drafts)'])} |",
        f"| the first draft that ran | {percent(figures['right by the first draft'])} |",
        f"| the best result, if it were known | {percent(figures['right if the best result were always chosen'])} |",
        "",
        "## Answers from a confidence on",
        "",
        "| confidence | answered, of all questions | right, of these |",
        "|---|---|---|",
        *(
            f"| {one['confidence']:g} | {percent(one['answered'])} | {percent(one['right'])} |"
            for one in figures["thresholds"]
        ),
        "",
        "## Reliability of answers",
        "",
        f"![Confidence stated and share right]({name}.svg)",
        "",
        "| confidence | answers | mean confidence | right |",
        "|---|---|---|---|",
        *(
            f"| {one['from']:.1f} to {one['to']:.1f} | {one['right']['total']} | {one['mean']:.2f} | "
            f"{percent(one['right'])} |"
            for one in answers["reliability"]
            if one["right"]["total"]
        ),
        "",
        "| | answers | all results |",
        "|---|---|---|",
        *(f"| {what} | {figure(answers)} | {figure(every)} |" for what, figure in FIGURES.items()),
        "",
        "Brier score = reliability - resolution + uncertainty + spread - covariance within bins; 0 is best for the "
        "score and its reliability. The test of Spiegelhalter asks whether the confidences could be calibrated: a "
        "small p says that they are not.",
        "",
        f"Weights: {about['weights fitted on']}.",
        "",
        f"Command: `{about['command']}`, commit {about['commit']}.",
        "",
    ]
    return "\n".join(lines)


def brier_part(part: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda found: f"{found['brier'][part]:.4f}" if found["brier"] else "none"


FIGURES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "count": lambda found: str(found["count"]),
    "mean confidence": lambda found: str(found["mean confidence"]),
    "share right": lambda found: str(found["share right"]),
    **{
        f"Brier, {part}": brier_part(part)
        for part in ("score", "reliability", "resolution", "uncertainty", "spread", "covariance")
    },
    "expected calibration error": lambda found: str(found["expected calibration error"]),
    "log loss": lambda found: str(found["log loss"]),
    "area under ROC": lambda found: str(found["area under ROC"]),
    "Spiegelhalter's p": lambda found: str(found["spiegelhalter"]["p"]) if found["spiegelhalter"] else "none",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    one = parts.add_parser("collect", help="ask and judge, and keep what each attempt showed")
    one.add_argument("questions", type=Path)
    one.add_argument("--model", default=NONE, help="none: only what code adapts")
    one.add_argument("--sample", type=int, default=None, help="so many questions by chance")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--think", default=None, choices=["fast", "normal", "deep"])
    one.add_argument("--db", default=None)
    one.add_argument("--out", type=Path, default=None)
    one.set_defaults(do=collect)
    two = parts.add_parser("fit", help="fit the weights on what was collected")
    two.add_argument("collected", type=Path, nargs="+")
    two.add_argument("--hold", type=float, default=None, help="how firmly the prior holds; else by cross-validation")
    two.add_argument("--out", type=Path, default=WEIGHTS_FILE)
    two.add_argument("--dry", action="store_true", help="print the weights, and write nothing")
    two.set_defaults(do=fit)
    three = parts.add_parser("report", help="hold the shipped weights against what was collected")
    three.add_argument("collected", type=Path, nargs="+")
    three.add_argument("--weights", type=Path, default=WEIGHTS_FILE)
    three.add_argument("--folder", type=Path, default=PUBLISHED)
    three.add_argument("--name", default=None)
    three.set_defaults(do=report)
    given = parser.parse_args()
    try:
        done: int = given.do(given)
    except (*FAILURES, *USAGE_ERRORS, WeightsError, OSError, ValueError) as problem:
        told(str(problem))
        return 1
    return done


if __name__ == "__main__":
    raise SystemExit(main())
