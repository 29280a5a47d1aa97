"""What a run of training came to: a summary that is computed from the run alone, and the files that show it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.learning.evaluating import without_places, write_whole
from agent.learning.runs import Forgotten, Pause, Plan, Run, RunError, Seeded
from agent.learning.statistics import Share, share
from agent.learning.steps import Step
from agent.learning.tables import in_words

if TYPE_CHECKING:
    from agent.learning.pictures import CurvePoint

SCHEMA = "hebbql.run/1"
"""The form of `report.json`. The number grows when something there changes its meaning or goes."""

How = Literal["at once", "later", "helped", "given", "never"]
"""How a question first became right. See `Found`."""

HOW: dict[How, str] = {
    "at once": "right the first time it was asked",
    "later": "wrong at first, then right: the lesson of the mistake holds its gold",
    "helped": "right only after golds of other questions were seeded into its bucket",
    "given": "right only after its own gold was seeded",
    "never": "never right",
}

State = Literal["finished", "unfinished"]

_MOST_WRONG = 40
"""So many wrong answers are shown to a person; programs find all."""

_SQL_SHOWN = 120
"""Letters of the SQL of a wrong answer that are shown to a person."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What steps cost. `calls` are replies of the model, of which `replayed` came from the completion cache.

    `cost_usd` is None where the price of one of them is unknown. `seconds` are those of asking, added up.
    """

    calls: int
    replayed: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class EpochSummary:
    """How one epoch of training went, as far as it came. `closed`: every question was asked, and looked after.

    `habits` answered without a model, `habits_wrong` of them wrong. `holdout` is what was asked of it afterwards.
    """

    epoch: int
    closed: bool
    training: Share
    habits: int
    habits_wrong: int
    forgotten: int
    seeded: int
    spent: Spent
    holdout: Share | None


@dataclass(frozen=True, slots=True)
class Found:
    """How so many questions first became right, and how many of them were right in the last whole epoch."""

    how: How
    questions: int
    right_at_last: int


@dataclass(frozen=True, slots=True)
class TypeSummary:
    """What is right and wrong of one type of question in the last whole epoch; `errors` counts kinds of error."""

    type: str
    right: int
    asked: int
    errors: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A question that was answered wrong, by its id: how, why, and with what SQL. `rule` is that of the guard.

    Of the holdout `reason` and `sql` are empty where the run was read back from the brain, which does not keep them.
    """

    question: str
    error: str
    rule: str
    reason: str
    sql: str


@dataclass(frozen=True, slots=True)
class WaySummary:
    """How questions were answered in the last whole epoch: by a habit, or by an approach of the model."""

    way: str
    right: int
    asked: int


@dataclass(frozen=True, slots=True)
class ForgetEvent:
    """An episode that was forgotten in an epoch, after so many of its questions."""

    epoch: int
    after: int
    forgotten: Forgotten


@dataclass(frozen=True, slots=True)
class SeedEvent:
    """A gold that was seeded in an epoch, after so many of its questions."""

    epoch: int
    after: int
    seeded: Seeded


@dataclass(frozen=True, slots=True)
class RunSummary:
    """All that is told of a run. `holdout_before` was asked before the first epoch, `holdout_after` last.

    `types`, `wrong` and `ways` are of the last whole epoch, `holdout_wrong` of the holdout as in `holdout_after`.
    `barren` are buckets in which nothing was right and nothing was seeded. `began` and `ended` are seconds since
    1970, UTC; `ended` is None before its end. `refused` are golds that could not be seeded, each with its why.
    """

    run: str
    state: State
    finding: str
    plan: Plan
    epochs: tuple[EpochSummary, ...]
    holdout_before: Share | None
    holdout_after: Share | None
    found: tuple[Found, ...]
    types: tuple[TypeSummary, ...]
    wrong: tuple[Wrong, ...]
    holdout_wrong: tuple[Wrong, ...]
    ways: tuple[WaySummary, ...]
    barren: tuple[str, ...]
    forgotten: tuple[ForgetEvent, ...]
    seeded: tuple[SeedEvent, ...]
    refused: tuple[str, ...]
    pauses: tuple[Pause, ...]
    spent: Spent
    habits: int
    habits_wrong: int
    began: float
    ended: float | None


def summary(run: Run) -> RunSummary:
    """Give what a run came to, from its steps and checkpoints alone, so that a resumed one tells the same."""
    epochs = tuple(_epoch(run, epoch) for epoch in sorted({step.epoch for step in _training(run)}))
    whole = [one for one in epochs if one.closed]
    asked_last = run.of((whole or epochs)[-1].epoch) if epochs else ()
    held_before, held_after = _holdouts(run)
    before, after = (_share(steps) if steps else None for steps in (held_before, held_after))
    habits = [step for step in run.steps if step.is_habit]
    return RunSummary(
        run=run.id,
        state="unfinished" if run.finished is None else "finished",
        finding=_finding(run, epochs, before, after),
        plan=run.plan,
        epochs=epochs,
        holdout_before=before,
        holdout_after=after,
        found=_found(run, asked_last),
        types=_types(asked_last),
        wrong=_wrong_answers(asked_last),
        holdout_wrong=_wrong_answers(held_after),
        ways=_ways(asked_last),
        barren=_barren(run),
        forgotten=tuple(ForgetEvent(one.epoch, one.after, event) for one in run.checkpoints for event in one.forgotten),
        seeded=tuple(SeedEvent(one.epoch, one.after, event) for one in run.checkpoints for event in one.seeded),
        refused=tuple(dict.fromkeys(refused for one in run.checkpoints for refused in one.refused)),
        pauses=run.pauses,
        spent=spent_on(run.steps),
        habits=len(habits),
        habits_wrong=sum(not step.right for step in habits),
        began=run.began,
        ended=run.finished,
    )


def write_run(folder: Path, run: Run, *, about: Mapping[str, str]) -> None:
    """Write the files of a run into a folder, each whole or not at all; those that stand there are replaced.

    `config.json` (plan and `about`), `attempts.jsonl` (one step a line), `curve.svg`, `report.json` and `report.md`.
    They only show what the ledger holds. Places on this machine are left out: of a path its last part stays.

    Raises:
        RunError: the folder cannot be written.
    """
    from agent.learning.pictures import curve_picture

    told = summary(run)
    about = {name: without_places(value) for name, value in about.items()}
    config = {"run": run.id, "plan": asdict(_placeless_plan(run.plan)), "about": about}
    report = {"schema": SCHEMA} | asdict(told) | {"plan": config["plan"]}
    report["pauses"] = [{**one, "reason": without_places(one["reason"])} for one in report["pauses"]]
    files = {
        "config.json": _json(config),
        "attempts.jsonl": "".join(_line(step) for step in run.steps),
        "curve.svg": curve_picture(_points(told), title=f"Training run {run.id}"),
        "report.json": _json(report),
        "report.md": markdown(told, about=about),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(folder / name, text)
    except OSError as error:
        raise RunError(
            f"The files of the run cannot be written into {folder}: {error.strerror or error}. "
            "Make room or change its rights; the run itself is kept in the brain, and --resume writes them again."
        ) from error


def spent_on(steps: Iterable[Step]) -> Spent:
    """Add up what steps cost; a price that is unknown makes the sum unknown."""
    known = list(steps)
    prices = [step.cost_usd for step in known]
    return Spent(
        calls=sum(step.calls for step in known),
        replayed=sum(step.replayed for step in known),
        input_tokens=sum(step.input_tokens for step in known),
        cached_tokens=sum(step.cached_tokens for step in known),
        output_tokens=sum(step.output_tokens for step in known),
        cost_usd=None if None in prices else round(sum(price or 0.0 for price in prices), 6),
        seconds=round(sum(step.seconds for step in known), 1),
    )


def _points(told: RunSummary) -> tuple[CurvePoint, ...]:
    """The learning curve, with the time before the first epoch where the holdout was asked then."""
    from agent.learning.pictures import CurvePoint

    before = [CurvePoint(0, None, told.holdout_before, None, 0, 0)] if told.holdout_before else []
    return (
        *before,
        *(
            CurvePoint(one.epoch, one.training, one.holdout, one.habits / one.training.total, one.forgotten, one.seeded)
            for one in told.epochs
        ),
    )


def _training(run: Run) -> Iterator[Step]:
    return (step for step in run.steps if step.part == "training")


def _epoch(run: Run, epoch: int) -> EpochSummary:
    steps, holdout = run.of(epoch), run.of(epoch, "holdout")
    checkpoints = [one for one in run.checkpoints if one.epoch == epoch]
    habits = [step for step in steps if step.is_habit]
    return EpochSummary(
        epoch=epoch,
        closed=run.is_closed(epoch),
        training=_share(steps),
        habits=len(habits),
        habits_wrong=sum(not step.right for step in habits),
        forgotten=sum(len(one.forgotten) for one in checkpoints),
        seeded=sum(len(one.seeded) for one in checkpoints),
        spent=spent_on(steps),
        holdout=_share(holdout) if holdout else None,
    )


def _share(steps: Sequence[Step]) -> Share:
    return share(sum(step.right for step in steps), len(steps))


def _holdouts(run: Run) -> tuple[Sequence[Step], Sequence[Step]]:
    """How the holdout was answered before the first epoch, and the last time that all of it was asked after one."""
    asked = {epoch: run.of(epoch, "holdout") for epoch in sorted({step.epoch for step in run.steps})}
    wanted = run.plan.holdout.questions if run.plan.holdout else 0
    later = [steps for epoch, steps in asked.items() if epoch and steps]
    whole = [steps for steps in later if len(steps) >= wanted] or later
    return asked.get(0, ()), whole[-1] if whole else ()


def _found(run: Run, asked_last: Sequence[Step]) -> tuple[Found, ...]:
    """How each question of the training set first became right; a gold that was seeded before had a hand in it."""
    places: Counter[int] = Counter()
    tries: dict[str, list[tuple[tuple[int, int], Step]]] = {}
    for step in _training(run):
        tries.setdefault(step.question, []).append(((step.epoch, places[step.epoch]), step))
        places[step.epoch] += 1
    seeded = [((one.epoch, one.after), event) for one in run.checkpoints for event in one.seeded]
    ways = {question: _how(asked, seeded) for question, asked in tries.items()}
    counts = Counter(ways.values())
    now = Counter(ways[step.question] for step in asked_last if step.right)
    return tuple(Found(how, counts[how], now[how]) for how in HOW)


def _how(asked: Sequence[tuple[tuple[int, int], Step]], seeded: Sequence[tuple[tuple[int, int], Seeded]]) -> How:
    right = next(((when, step) for when, step in asked if step.right), None)
    if right is None:
        return "never"
    when, step = right
    before = [event for at, event in seeded if at <= when]
    if any(event.pair == step.question for event in before):
        return "given"
    if any(event.bucket == step.bucket for event in before):
        return "helped"
    return "at once" if step is asked[0][1] else "later"


def _types(steps: Iterable[Step]) -> tuple[TypeSummary, ...]:
    """The types of question, those with the most wrong first."""
    of: dict[str, list[Step]] = {}
    for step in steps:
        of.setdefault(step.type, []).append(step)
    found = [
        TypeSummary(
            name,
            sum(step.right for step in asked),
            len(asked),
            dict(Counter(_error(step) for step in asked if not step.right).most_common()),
        )
        for name, asked in of.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.right - one.asked, one.type)))


def _wrong_answers(steps: Iterable[Step]) -> tuple[Wrong, ...]:
    return tuple(
        Wrong(step.question, step.error or step.status, step.rule, without_places(step.reason), step.sql)
        for step in steps
        if not step.right
    )


def _error(step: Step) -> str:
    """The kind of error of a wrong answer, with the rule of the guard that it broke."""
    return _with_rule(step.error or step.status, step.rule)


def _with_rule(error: str, rule: str) -> str:
    return f"{error} ({rule})" if rule else error


def _ways(steps: Iterable[Step]) -> tuple[WaySummary, ...]:
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for step in steps:
        way = "habit" if step.is_habit else step.approach or step.status
        asked[way] += 1
        right[way] += step.right
    return tuple(WaySummary(way, right[way], count) for way, count in asked.most_common())


def _barren(run: Run) -> tuple[str, ...]:
    buckets = dict.fromkeys(step.bucket for step in _training(run) if step.bucket)
    fruitful = {step.bucket for step in _training(run) if step.right}
    fruitful |= {event.bucket for one in run.checkpoints for event in one.seeded}
    return tuple(bucket for bucket in buckets if bucket not in fruitful)


def _finding(run: Run, epochs: Sequence[EpochSummary], before: Share | None, after: Share | None) -> str:
    """The one sentence that says what came of it."""
    if not epochs and before is not None:
        return f"No training question was asked yet; before training, {_right(before)} of the holdout are right."
    if not epochs:
        return "Nothing was asked yet."
    whole = [one for one in epochs if one.closed] or [epochs[0]]
    first, last = whole[0], whole[-1]
    so_far = "" if run.finished is not None else f"So far, in {_count(last.epoch, 'epoch')} of {run.plan.epochs}, "
    if not last.closed:
        so_far = "So far, the first epoch not whole yet, "
    begins = so_far or f"In {_count(last.epoch, 'epoch')} "
    model = without_places(run.plan.model)
    if first is last:
        told = f"{begins}{model} answered {_right(last.training)} training questions right"
    else:
        told = f"{begins}{model} went from {_right(first.training)} training questions right to {_right(last.training)}"
    if after is None:
        told += f"; the {run.plan.holdout.questions} holdout questions were not asked yet" if run.plan.holdout else ""
        return f"{told}."
    span = f"95 % interval {_percent(after.interval.low)} to {_percent(after.interval.high)}"
    if before is None:
        return f"{told}; of the holdout, from which nothing was learned, {_right(after)} are right ({span})."
    return (
        f"{told}; on the holdout, from which nothing was learned, from {_right(before)} before training "
        f"to {_right(after)} after it ({span})."
    )


def markdown(told: RunSummary, *, about: Mapping[str, str]) -> str:
    """Give the report that a person reads in a minute."""
    parts = [f"# Training run {told.run}", told.finding, _standing(told)]
    if _began(told):
        parts += ["![Right answers by epoch](curve.svg)", "## Epochs", _epoch_table(told)]
    if told.epochs:
        parts += _learned(told)
    parts += ["## How it was run", _conditions(told, about)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _learned(told: RunSummary) -> list[str]:
    """What is told once a training question was asked."""
    return [
        "## What was found, and what was given",
        "Counted by how a question first became right. Only the first line is the model's own work and nobody's word: "
        "a lesson shows the gold as the fix of a mistake, and a seeded gold is an episode like those found.",
        _table(
            ("first right", "questions", "of them right in the last whole epoch"),
            [(HOW[one.how], one.questions, one.right_at_last) for one in told.found],
        ),
        "## What is still wrong",
        _wrong(told),
        _named(told.wrong, "Training questions that were wrong in the last whole epoch:"),
        _named(told.holdout_wrong, "Holdout questions that were wrong the last time they were asked:"),
        "## How the last whole epoch was answered",
        _table(
            ("way", "right", "asked"),
            [(one.way, one.right, one.asked) for one in told.ways],
        ),
        "## Forgotten",
        _forgotten(told.forgotten, forgetting=told.plan.forgetting),
        "## Seeded",
        _seeded(told),
    ]


def _began(told: RunSummary) -> bool:
    """Whether anything was asked."""
    return bool(told.epochs) or told.holdout_before is not None


def _standing(told: RunSummary) -> str:
    """The facts under the finding, a line each; where nothing was asked, only how it goes on."""
    lines = _counts(told) if _began(told) else []
    if told.state != "finished":
        lines.append(
            f"The run is not finished: `hebbql train --resume {told.run}` goes on with it. If it was begun with "
            "--train, --holdout, --published, --db, --brain or --model, the same belong to that command."
        )
    return "\n".join(f"- {line}" for line in lines)


def _counts(told: RunSummary) -> list[str]:
    spent = told.spent
    wrong = f"**{told.habits_wrong} of them wrong**" if told.habits_wrong else "none of them wrong"
    lines = [f"{_count(told.habits, 'question')} answered by habit, without a model; {wrong}."]
    lines.append(
        f"{_count(spent.calls, 'reply', 'replies')} of the model, {spent.replayed:,} of them from the completion "
        f"cache; {_tokens(spent)} tokens; cost {_money(spent.cost_usd)}."
    )
    if told.epochs:
        ways = {one.how: one.questions for one in told.found}
        lines.append(
            f"Of {_count(sum(ways.values()), 'training question')}, {ways['at once'] + ways['later']} became right "
            f"without a gold in their bucket, {ways['helped']} only after golds of others were seeded there, "
            f"{ways['given']} only after their own, {ways['never']} never."
        )
    taken = f"{_hours(spent.seconds)} of asking"
    if told.ended is not None:
        taken += f", {_hours(told.ended - told.began)} from beginning to end with pauses"
    lines.append(f"{taken}.")
    lines.append(f"{_count(len(told.forgotten), 'episode')} forgotten, {_count(len(told.seeded), 'gold')} seeded.")
    if told.barren:
        lines.append(f"In {_count(len(told.barren), 'bucket')} no answer was ever right, and no gold was seeded.")
    return lines


def _epoch_table(told: RunSummary) -> str:
    rows: list[tuple[object, ...]] = []
    if told.holdout_before is not None:
        rows.append(("before", "", _brief(told.holdout_before), *[""] * 8))
    for one in told.epochs:
        spent = one.spent
        habits = f"{one.habits} ({one.habits_wrong} wrong)" if one.habits_wrong else one.habits
        rows.append(
            (
                one.epoch if one.closed else f"{one.epoch}, not whole",
                _brief(one.training),
                _brief(one.holdout) if one.holdout else "",
                habits,
                f"{spent.calls:,}",
                f"{spent.replayed:,}",
                _tokens(spent),
                _money(spent.cost_usd),
                f"{spent.seconds / 60:.1f}",
                one.forgotten,
                one.seeded,
            )
        )
    names = ("epoch", "right", "holdout after it", "by habit", "replies", "replayed", "tokens", "cost", "minutes")
    return _table((*names, "forgotten", "seeded"), rows)


def _wrong(told: RunSummary) -> str:
    wrong = [one for one in told.types if one.right < one.asked]
    if not wrong:
        return "Nothing, in the last whole epoch."
    errors: Counter[str] = Counter()
    for one in wrong:
        errors.update(one.errors)
    rows: list[tuple[object, ...]] = [
        (one.type or "without a type", one.asked - one.right, one.asked, _counted(one.errors)) for one in wrong
    ]
    rows.append(
        ("all", sum(errors.values()), sum(one.asked for one in told.types), _counted(dict(errors.most_common())))
    )
    return _table(("type", "wrong", "asked", "kinds of error"), rows)


def _counted(errors: Mapping[str, int]) -> str:
    return ", ".join(f"{in_words(name)}: {count}" for name, count in errors.items())


def _named(wrong: Sequence[Wrong], title: str) -> str:
    """A table of wrong answers under its title; nothing where there are none."""
    if not wrong:
        return ""
    rows = [
        (
            one.question,
            in_words(_with_rule(one.error, one.rule)) + (f": {one.reason.replace('<', '&lt;')}" if one.reason else ""),
            _code(one.sql),
        )
        for one in wrong[:_MOST_WRONG]
    ]
    parts = [title, _table(("question", "what was wrong", "its SQL"), rows)]
    if len(wrong) > _MOST_WRONG:
        parts.append(f"And {len(wrong) - _MOST_WRONG} more, in `attempts.jsonl`.")
    return "\n\n".join(parts)


def _code(sql: str) -> str:
    """The beginning of a query, on one line, as Markdown shows code.

    >>> _code("SELECT a\\n FROM b"), _code("SELECT `a`"), _code("")
    ('`SELECT a FROM b`', '`` SELECT `a` ``', '')
    """
    text = " ".join(sql.split())
    if len(text) > _SQL_SHOWN:
        text = f"{text[: _SQL_SHOWN - 1]}…"
    if not text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _forgotten(events: Sequence[ForgetEvent], *, forgetting: bool) -> str:
    if not events:
        return "Nothing." if forgetting else "Nothing: forgetting was off."
    rows = [
        (
            f"{one.epoch}, after {one.after}",
            one.forgotten.question,
            one.forgotten.sql,
            one.forgotten.why,
            one.forgotten.bucket,
        )
        for one in events
    ]
    return _table(("epoch", "it answered", "with", "why", "bucket"), rows)


def _seeded(told: RunSummary) -> str:
    parts = []
    if told.seeded:
        rows = [
            (f"{one.epoch}, after {one.after}", one.seeded.question, one.seeded.why, one.seeded.bucket)
            for one in told.seeded
        ]
        parts.append(_table(("epoch", "gold of", "why", "bucket"), rows))
    else:
        parts.append("Nothing." if told.plan.seeding else "Nothing: seeding was off.")
    if told.refused:
        parts.append("Refused:\n\n" + "\n".join(f"- {_cell(one)}" for one in told.refused))
    return "\n\n".join(parts)


def _conditions(told: RunSummary, about: Mapping[str, str]) -> str:
    plan = _placeless_plan(told.plan)
    held = f"{plan.holdout.questions} of {plan.holdout.file}" if plan.holdout else "none"
    lines = [
        f"model: {plan.model}",
        f"database: {plan.database}",
        f"training questions: {plan.training.questions} of {plan.training.file} (SHA-256 {plan.training.digest[:12]})",
        f"holdout questions: {held}" + (f" (SHA-256 {plan.holdout.digest[:12]})" if plan.holdout else ""),
        f"{_count(plan.epochs, 'epoch')} in the order of seed {plan.seed}; a checkpoint every {plan.checkpoint} "
        f"questions; forgetting {_switch(plan.forgetting)}, seeding {_switch(plan.seeding)} ({plan.per_bucket} a "
        f"bucket), completion cache {_switch(plan.cache)}",
        f"began: {_time(told.began)}",
    ]
    if told.ended is not None:
        lines.append(f"{told.state}: {_time(told.ended)}")
    lines += [f"paused {_time(pause.at)}: {_cell(without_places(pause.reason))}" for pause in told.pauses]
    lines += [f"{name}: {_cell(value)}" for name, value in about.items()]
    return "\n".join(f"- {line}" for line in lines)


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _cell(value: object) -> str:
    """One cell of a Markdown table, on one line."""
    text = " ".join(str(value).split())
    return text.replace("|", "\\|")


def _right(found: Share) -> str:
    """
    >>> _right(share(39, 150))
    '39 of 150 (26 %)'
    """
    return f"{found.right:,} of {found.total:,} ({_percent(found.value)})"


def _brief(found: Share) -> str:
    return f"{found.right}/{found.total} = {_percent(found.value)}"


def _percent(value: float | None) -> str:
    """A share as a whole number of hundredths; only what is all or nothing is shown as such.

    >>> _percent(0.257), _percent(0.999), _percent(0.001), _percent(1.0), _percent(None)
    ('26 %', '99 %', '1 %', '100 %', 'none')
    """
    if value is None:
        return "none"
    whole = round(100 * value)
    if 0 < value < 1:
        whole = min(max(whole, 1), 99)
    return f"{whole} %"


def _count(number: int, one: str, many: str = "") -> str:
    """
    >>> _count(1, "epoch"), _count(1200, "reply", "replies")
    ('1 epoch', '1,200 replies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _tokens(spent: Spent) -> str:
    """What the model read, what of it a provider's cache held, and what it wrote."""
    cached = f" ({spent.cached_tokens:,} cached)" if spent.cached_tokens else ""
    return f"{spent.input_tokens + spent.cached_tokens:,}{cached} + {spent.output_tokens:,}"


def _money(cost_usd: float | None) -> str:
    """
    >>> _money(None), _money(0.0), _money(0.0123)
    ('unknown', '$0', '$0.0123')
    """
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.4f}" if 0 < cost_usd < 1 else f"${cost_usd:,.2f}" if cost_usd else "$0"


def _hours(seconds: float) -> str:
    """
    >>> _hours(59.6), _hours(3_599), _hours(7_260)
    ('1 min', '1 h 0 min', '2 h 1 min')
    """
    minutes = round(seconds / 60)
    if not minutes:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _time(at: float) -> str:
    """
    >>> _time(0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _placeless_plan(plan: Plan) -> Plan:
    sets = [plan.training, *([plan.holdout] if plan.holdout else [])]
    named = [replace(one, file=Path(one.file).name) for one in sets]
    return replace(
        plan,
        training=named[0],
        holdout=named[1] if plan.holdout else None,
        model=without_places(plan.model),
        database=without_places(plan.database),
    )


def _line(step: Step) -> str:
    content = step.content() | {"reason": without_places(step.reason)}
    return json.dumps(content, ensure_ascii=False) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
