"""What an evaluation found, in words and tables for a person (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from agent.learning.tables import cell, counts, differences, percent, points, right_of, seconds_of, table, tokens_of

if TYPE_CHECKING:
    from agent.learning.evaluating import ArmResult, Comparison, Counted, Dimension, Evaluation

_MOST_NAMED = 5
_FEWEST = 10
"""Of fewer questions no difference is shown: its interval says that nothing is known."""

_HEADINGS: dict[Dimension, str] = {
    "difficulty": "difficulty",
    "kind": "kind of answer, as the agent took the question",
    "type": "type, as its author named it",
    "language": "language",
}


def finding(evaluation: Evaluation) -> str:
    """What was found, in two or three sentences: how much is right, what memory gains, and what that is worth."""
    best, gain = evaluation.best, evaluation.gain
    if best is None:
        return "No question was asked."
    told = [f"`{best.arm}` answers {best.share.right} of {best.share.total} questions right, {percent(best.share)}"]
    if gain is None:
        told[0] += "."
    else:
        base = evaluation.arm(gain.against)
        assert base is not None, "what is compared was asked"
        told[0] += f"; `{base.arm}` {base.share.right} of {base.share.total}, {percent(base.share)}."
        told.append(_verdict(gain))
    if rivals := [_worth(one) for one in evaluation.comparisons if gain and one.arm == best.arm and one is not gain]:
        told.append(f"The difference is {', '.join(rivals)}.")
    if any(one.share.total < evaluation.questions for one in evaluation.arms):
        told.append("Not every question was asked in every arm.")
    if best.habits.right:
        wrong = len(best.wrong_habits)
        told.append(
            f"Habits answered {best.habits.right} of {best.habits.total} without a model call, "
            f"{wrong or 'none'} of them wrong."
        )
    return " ".join(told)


def markdown(evaluation: Evaluation, *, about: Mapping[str, str], picture: str = "") -> str:
    """An evaluation for a person: the finding first, then tables. `picture` is a file beside it, `about` as given."""
    if not evaluation.arms:
        return f"# Evaluation\n\n{finding(evaluation)}\n\n{_made(about)}\n"
    parts = [f"# Evaluation\n\n{finding(evaluation)}"]
    if picture:
        parts.append(f"![Share of questions that each arm answers right, with 95 % intervals]({picture})")
    parts.append(f"## Arms\n\n{_arms(evaluation)}")
    if evaluation.comparisons:
        parts.append(f"## Differences on the same questions\n\n{_differences(evaluation)}")
    for dimension, heading in _HEADINGS.items():
        if sliced := _sliced(evaluation, dimension):
            parts.append(f"## By {heading}\n\n{sliced}")
    parts.append(f"## What went wrong\n\n{_errors(evaluation)}")
    parts.append(f"## What it took\n\n{_spent(evaluation)}")
    parts.append(_made(about))
    return "\n\n".join(parts) + "\n"


def _verdict(gain: Comparison) -> str:
    found = gain.difference
    low, high = found.interval.low, found.interval.high
    if found.value is None:
        return "No question was asked in both."
    if low > 0:
        return f"The gain is {points(found)} points on the same {found.total} questions."
    if high < 0:
        return f"It is worse: {points(found)} points on the same {found.total} questions."
    return f"The difference of {points(found)} points on the same {found.total} questions may be chance."


def _worth(one: Comparison) -> str:
    interval = one.difference.interval
    sure = " (which may be chance)" if interval.low <= 0 <= interval.high else ""
    return f"{points(one.difference)} to `{one.against}`{sure}"


def _arms(evaluation: Evaluation) -> str:
    header = ["arm", "right", "95 % interval", "extra columns forgiven", "by habit", "wrong habits", "what it is"]
    rows = [
        [
            f"`{one.arm}`",
            f"{one.share.right}/{one.share.total}",
            percent(one.share),
            f"{one.lenient.right}/{one.lenient.total}",
            f"{one.habits.right}/{one.habits.total}",
            _named(one.wrong_habits) or "0",
            one.about,
        ]
        for one in evaluation.arms
    ]
    return table(header, rows)


def _differences(evaluation: Evaluation) -> str:
    compared = [(one.arm, one.against, one.difference) for one in evaluation.comparisons]
    left_out = [
        f"Left out of `{one.arm}` against `{one.against}`, as asked in one of the two only: {_named(one.left_out)}."
        for one in evaluation.comparisons
        if one.left_out
    ]
    return "\n\n".join([differences(compared), *left_out])


def _sliced(evaluation: Evaluation, dimension: Dimension) -> str:
    """Right answers of each arm by one dimension; nothing where it tells no questions apart."""
    found = {
        (one.arm, part.name): part.share
        for one in evaluation.arms
        for part in one.slices
        if part.dimension == dimension
    }
    names = list(dict.fromkeys(name for _, name in found))
    if len(names) < 2:
        return ""
    gain = evaluation.gain
    apart = {
        part.name: points(part.difference)
        for part in (gain.slices if gain else ())
        if part.dimension == dimension and part.difference.total >= _FEWEST
    }
    header = [dimension, *(f"`{one.arm}`" for one in evaluation.arms)]
    rows = [[name or "not said", *(right_of(found.get((one.arm, name))) for one in evaluation.arms)] for name in names]
    if gain and apart:
        header.append(f"`{gain.arm}` against `{gain.against}`")
        rows = [[*row, apart.get(name, f"fewer than {_FEWEST}")] for row, name in zip(rows, names, strict=True)]
    return table(header, rows)


def _errors(evaluation: Evaluation) -> str:
    kinds: list[tuple[str, Callable[[ArmResult], tuple[Counted, ...]]]] = [
        ("kind of error", lambda one: one.errors),
        ("rule of the guard that the last draft broke", lambda one: one.rules),
        ("how attempts ended", lambda one: one.statuses),
    ]
    found = [
        counts(title, [(one.arm, {each.name: each.count for each in counted(one)}) for one in evaluation.arms])
        for title, counted in kinds
    ]
    return "\n\n".join(filter(None, found))


def _spent(evaluation: Evaluation) -> str:
    header = [
        "arm",
        "calls",
        "replayed",
        "tokens read + cached + written",
        "per right answer",
        "cost",
        "median s",
        "p90 s",
    ]
    rows = []
    for one in evaluation.arms:
        spent = one.spent
        rows.append(
            [
                f"`{one.arm}`",
                f"{spent.calls:,}",
                f"{spent.replayed:,}",
                tokens_of(spent.tokens),
                tokens_of(spent.per_right) if spent.per_right else "none right",
                _money(spent.cost_usd),
                seconds_of(spent.seconds_median),
                seconds_of(spent.seconds_p90),
            ]
        )
    return (
        f"{table(header, rows)}\n\nReplayed calls came from the completion cache: their tokens count, their money does "
        "not, and seconds are of questions without them. Tokens per right answer are those of all questions over the "
        "right answers."
    )


def _made(about: Mapping[str, str]) -> str:
    rows = [[name, value] for name, value in about.items()]
    method = (
        "Intervals are of 95 %: Wilson's for shares, Tango's score interval for differences on the same questions; p "
        "is McNemar's, exact. The steps that all this is computed from are in `evaluation.json`."
    )
    lines = [f"- {cell(name)}: {cell(value)}" for name, value in rows]
    return "\n\n".join(["## How this was made", *(["\n".join(lines)] if lines else []), method])


def _named(ids: Sequence[str]) -> str:
    """How many, and the first by name."""
    if not ids:
        return ""
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return f"{len(ids)} ({', '.join(cell(id) for id in ids[:_MOST_NAMED])}{more})"


def _money(cost: float | None) -> str:
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"
