"""Ablations: the same questions with each lever of the code alone, with all, and with all but one, and what it tells.

A lever is something that code does about drafts beside the model (`agent.settings.Levers`). Everything here is computed
from trials: questions that were asked and judged with some levers on. `scripts/ablate.py` asks them.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.attempt import Attempt
from agent.learning.arms import MEMORY, SCHEMA, Arm
from agent.learning.evaluating import Counted, Tokens
from agent.learning.findings import cell, in_words, percent, points, table
from agent.learning.statistics import Difference, Share, paired, share, share_of
from agent.learning.steps import Step, read_step
from agent.settings import Levers, SettingsError

FORM = "hebbql.levers/1"
"""The form of the JSON of an ablation."""

CHANCE = 0.05
"""From this adjusted p on a difference may be chance."""

_BUT, _USUAL, _BARE = "all but ", "usual", "schema: "
_ALL: tuple[str, ...] = tuple(Levers.__slots__)


class AblationError(Exception):
    """An ablation cannot be begun, gone on with or read. The message says what to do next."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of asking: the levers that are on, and whether episodes are recalled."""

    levers: Levers
    memory: bool = True

    @property
    def name(self) -> str:
        """What it is called in tables and on the command line.

        >>> Variant(Levers.read("adapt, names")).name, Variant(Levers.read("all"), memory=False).name
        ('adapt + names', 'schema: all')
        """
        return ("" if self.memory else _BARE) + _name(self.levers)

    @property
    def count(self) -> int:
        """How many levers are on."""
        return sum(getattr(self.levers, name) for name in _ALL)

    @property
    def arm(self) -> Arm:
        """The arm to ask it in. Its steps bear the name of the variant."""
        return replace(MEMORY if self.memory else SCHEMA, name=self.name)


def _name(levers: Levers) -> str:
    on = [name for name in _ALL if getattr(levers, name)]
    off = [name for name in _ALL if name not in on]
    if not on or not off:
        return "all" if on else "none"
    return _BUT + off[0] if len(off) == 1 else " + ".join(on)


NONE, EVERY = Variant(Levers.read("none")), Variant(Levers.read("all"))

VARIANTS: tuple[Variant, ...] = (
    NONE,
    EVERY,
    *(Variant(Levers.read(name)) for name in _ALL),
    *(Variant(Levers.read(", ".join(other for other in _ALL if other != name))) for name in _ALL),
    Variant(NONE.levers, memory=False),
    Variant(EVERY.levers, memory=False),
)
"""In the order in which they are asked: what tells most comes first."""


def read_variants(text: str) -> tuple[Variant, ...]:
    """The variants that a text names with semicolons between, each once; an empty one stands for all.

    Each is `none`, `all`, `usual` (what the product does when nothing is said), `all but NAME`, or levers with commas
    or `+` between; `schema: ` before it asks without memory.

    >>> [one.name for one in read_variants("none; adapt, names; all but grammar; schema: all")]
    ['none', 'adapt + names', 'all but grammar', 'schema: all']

    Raises:
        AblationError: there is no such lever.
    """
    parts = [" ".join(part.split()).lower() for part in text.split(";")]
    found = dict.fromkeys(_variant(part) for part in parts if part)
    return tuple(found) or VARIANTS


def _variant(text: str) -> Variant:
    bare = text.startswith(_BARE.strip())
    levers = text.removeprefix(_BARE.strip()).strip() if bare else text
    away = levers.removeprefix(_BUT).strip() if levers.startswith(_BUT) else ""
    try:
        if levers == _USUAL:
            return Variant(Levers(), memory=not bare)
        if not away:
            return Variant(Levers.read(levers.replace("+", ",")), memory=not bare)
        Levers.read(away)
    except SettingsError as problem:
        raise AblationError(
            f"{text!r} is no variant: levers are {', '.join(_ALL)}. Write some of them with commas, none, all, usual, "
            "or all but one, with semicolons between variants."
        ) from problem
    gone = {name.strip() for name in away.split(",")}
    return Variant(Levers(**{name: name not in gone for name in _ALL}), memory=not bare)


@dataclass(frozen=True, slots=True)
class Trial:
    """One question asked and judged with some levers on; `step.arm` names the variant.

    `seconds` are what the answer takes where nothing was asked before: wall time, and for replies that came from the
    completion cache the time that they took when they were given. `confidence` is the answer's own, where it was
    weighed; `code` the state of the code, as `state_of` writes it.
    """

    step: Step
    seconds: float
    confidence: float | None
    code: str

    @property
    def variant(self) -> str:
        return self.step.arm

    @property
    def key(self) -> tuple[str, str]:
        """The variant and the question: each is asked once."""
        return (self.step.arm, self.step.question)

    @property
    def unaided(self) -> bool:
        """Whether it was answered and no model was asked."""
        return self.step.status == "answered" and not self.step.calls

    def content(self) -> dict[str, Any]:
        """The trial as plain JSON: its step, and what is known beside."""
        beside = {"fresh_seconds": self.seconds, "confidence": self.confidence, "code": self.code}
        return {**self.step.content(), **beside}


def trial_of(step: Step, attempt: Attempt, *, code: str) -> Trial:
    """Write down how a question fared, with the time that replies took which were replayed."""
    replayed = sum(draft.reply.seconds for draft in attempt.drafts if draft.reply.replayed)
    return Trial(step, round(attempt.total_seconds + replayed, 3), attempt.confidence, code)


def read_trial(content: Mapping[str, Any]) -> Trial:
    """Read a trial back from what `content` gave."""
    return Trial(read_step(content), content["fresh_seconds"], content["confidence"], content["code"])


class TrialFile:
    """Trials in a file of JSON lines, each written to the disk as it comes, so that a run that stopped goes on.

    A line that was not finished when its process ended is cut off.

    Raises:
        AblationError: a line is no trial, or a question stands there twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._trials: dict[tuple[str, str], Trial] = {}
        written = path.read_bytes() if path.is_file() else b""
        whole = written[: written.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                trial = read_trial(json.loads(line))
            except (ValueError, KeyError, TypeError) as problem:
                raise AblationError(f"{path}, line {number} is no trial. Begin anew with --fresh.") from problem
            if trial.key in self._trials:
                raise AblationError(f"{path}, line {number}: {trial.key} stands there twice. Begin anew with --fresh.")
            self._trials[trial.key] = trial
        if whole != written:
            os.truncate(path, len(whole))

    def __contains__(self, key: object) -> bool:
        return key in self._trials

    def __len__(self) -> int:
        return len(self._trials)

    def add(self, trial: Trial) -> None:
        """Keep a trial; it is on the disk when this returns. Raises AblationError where it is there already."""
        if trial.key in self:
            raise AblationError(f"{trial.key} is in {self.path} already. Ask each question once in each variant.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(trial.content(), ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._trials[trial.key] = trial

    def of(self, variants: Iterable[str], questions: Iterable[str]) -> tuple[Trial, ...]:
        """The trials of some variants and questions that are there, in the order of both."""
        asked = tuple(questions)
        keys = [(variant, question) for variant in variants for question in asked]
        return tuple(self._trials[key] for key in keys if key in self._trials)

    @property
    def codes(self) -> tuple[str, ...]:
        """The states of the code that trials were made with, as they came."""
        return tuple(dict.fromkeys(trial.code for trial in self._trials.values()))


def state_of(commit: str, sources: Iterable[Path]) -> str:
    """The state of the code: the commit, and a digest of what its sources are now, wherever they lie.

    >>> state_of("13fe649", [])
    '13fe649:e3b0c442'
    """
    parts = (hashlib.sha256(path.name.encode() + path.read_bytes()).digest() for path in sorted(sources))
    return f"{commit or 'unknown'}:{hashlib.sha256(b''.join(parts)).hexdigest()[:8]}"


def other_codes(file: TrialFile, now: str) -> tuple[str, ...]:
    """States of the code that trials were made with and whose sources are not those of now, whatever the commit."""
    return tuple(code for code in file.codes if code.rpartition(":")[2] != now.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class TypeShare:
    """How one variant fared on the questions of one type, as their author named it."""

    type: str
    share: Share


@dataclass(frozen=True, slots=True)
class VariantResult:
    """How one variant fared.

    `apart` is the share of right answers among questions that are unlike all that memory holds. `unaided` are those
    that were answered without a model, `unaided_right` the share of these that are right. `errors` are the kinds of
    error of wrong answers, with the rule of the guard that the last draft broke; the most frequent first. `calls` and
    `tokens` are means of a question, with those that came from the completion cache, `replayed` the share of calls
    that did. Seconds are of a question asked anew; None of none.
    """

    variant: str
    share: Share
    apart: Share
    unaided: Share
    unaided_right: Share
    errors: tuple[Counted, ...]
    calls: float
    replayed: Share
    tokens: Tokens
    seconds_median: float | None
    seconds_p90: float | None
    types: tuple[TypeShare, ...]

    def of(self, type: str) -> Share | None:
        return next((one.share for one in self.types if one.type == type), None)


@dataclass(frozen=True, slots=True)
class Gain:
    """How much better `variant` does than `against` on the questions that were asked in both.

    `adjusted` is p after Holm's correction for all comparisons of the ablation. `left_out` counts the questions that
    were asked in one of the two only.
    """

    variant: str
    against: str
    difference: Difference
    adjusted: float
    left_out: int

    @property
    def is_sure(self) -> bool:
        """Whether the difference is more than chance gives, in either direction."""
        return self.adjusted < CHANCE


@dataclass(frozen=True, slots=True)
class Ablation:
    """What came of an ablation. `questions` counts different ones, `alike` those that memory holds the like of."""

    questions: int
    alike: int
    variants: tuple[VariantResult, ...]
    gains: tuple[Gain, ...]

    def variant(self, name: str) -> VariantResult | None:
        return next((one for one in self.variants if one.variant == name), None)

    @property
    def fullest(self) -> str:
        """The variant with memory that has most levers on; `""` where there is none with any."""
        counts = {one.variant: _variant(one.variant) for one in self.variants}
        best = max(counts.values(), key=lambda one: (one.memory, one.count), default=NONE)
        return best.name if best.memory and best.count else ""

    def gain(self, name: str, against: str) -> Gain | None:
        return next((one for one in self.gains if (one.variant, one.against) == (name, against)), None)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(sorted({one.type for variant in self.variants for one in variant.types}))

    def awakened(self, variant: str, *, against: str = NONE.name) -> tuple[str, ...]:
        """Types that have right answers in one variant and had none in the other."""
        return tuple(type for type in self.types if self._right(variant, type) and self._right(against, type) == 0)

    def barren(self, variant: str) -> tuple[str, ...]:
        """Types of which a variant answers none right."""
        return tuple(type for type in self.types if self._right(variant, type) == 0)

    def _right(self, variant: str, type: str) -> int | None:
        result = self.variant(variant)
        share = result.of(type) if result else None
        return share.right if share else None


def ablation(trials: Sequence[Trial], *, alike: Collection[str] = ()) -> Ablation:
    """Compute what came of trials, also of some only.

    `alike` are ids of questions that memory holds the like of. Variants are in order: without levers, each alone, more
    together, all, all but one, then those without memory.
    """
    asked: dict[str, dict[str, Trial]] = {}
    for trial in trials:
        asked.setdefault(trial.variant, {})[trial.step.question] = trial
    order = sorted((_variant(name.lower()) for name in asked), key=_place)
    names = [variant.name for variant in order]
    compared = [both for variant in order for both in _against(variant) if both[1] in asked]
    apart = [_difference(asked[one], asked[other]) for one, other in compared]
    adjusted = holm([difference.p for difference in apart])
    gains = [
        Gain(one, other, difference, p, len(asked[one].keys() ^ asked[other].keys()))
        for (one, other), difference, p in zip(compared, apart, adjusted, strict=True)
    ]
    questions = {question for held in asked.values() for question in held}
    return Ablation(
        questions=len(questions),
        alike=len(questions & set(alike)),
        variants=tuple(_result(name, tuple(asked[name].values()), alike) for name in names),
        gains=tuple(gains),
    )


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Adjust p for so many tests, so that the chance of any false find stays below what each is held against.

    Holm's step-down correction (1979, Scandinavian Journal of Statistics 6:65): the smallest of n is multiplied by n,
    the next by n - 1 and so on; none becomes smaller than the one before, or larger than 1.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.5])]
    [0.04, 0.09, 0.09, 0.5]
    """
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = least
    return tuple(adjusted)


def _place(variant: Variant) -> tuple[bool, int, int]:
    """Where a variant stands among the others."""
    first = next((place for place, name in enumerate(_ALL) if getattr(variant.levers, name)), 0)
    gone = next((place for place, name in enumerate(_ALL) if not getattr(variant.levers, name)), 0)
    if variant.count == len(_ALL) - 1:
        return (not variant.memory, len(_ALL) + 1, gone)
    return (not variant.memory, variant.count, first)


def _against(variant: Variant) -> tuple[tuple[str, str], ...]:
    """What a variant is compared with: no lever; for all but one, all of them as well; for one without memory, it."""
    name = variant.name
    none, every = Variant(NONE.levers, variant.memory), Variant(EVERY.levers, variant.memory)
    others = [none.name] if variant.count else []
    if variant.count == len(_ALL) - 1:
        others.append(every.name)
    if variant.memory and variant.count in (0, len(_ALL)):
        others.append(Variant(variant.levers, memory=False).name)
    return tuple((name, other) for other in others)


def _difference(mine: Mapping[str, Trial], theirs: Mapping[str, Trial]) -> Difference:
    both = [question for question in mine if question in theirs]
    return paired([mine[one].step.right for one in both], [theirs[one].step.right for one in both])


def _result(name: str, trials: Sequence[Trial], alike: Collection[str]) -> VariantResult:
    steps = [trial.step for trial in trials]
    unaided = [trial.step for trial in trials if trial.unaided]
    seconds = [trial.seconds for trial in trials]
    errors = Counter(f"{step.error} ({step.rule})" if step.rule else step.error for step in steps if step.error)
    calls = sum(step.calls for step in steps)
    return VariantResult(
        variant=name,
        share=share_of(step.right for step in steps),
        apart=share_of(step.right for step in steps if step.question not in alike),
        unaided=share_of(trial.unaided for trial in trials),
        unaided_right=share_of(step.right for step in unaided),
        errors=tuple(Counted(*one) for one in sorted(errors.items(), key=lambda one: (-one[1], one[0]))),
        calls=calls / len(steps),
        replayed=share(sum(step.replayed for step in steps), calls),
        tokens=Tokens(
            statistics.mean(step.input_tokens for step in steps),
            statistics.mean(step.cached_tokens for step in steps),
            statistics.mean(step.output_tokens for step in steps),
        ),
        seconds_median=statistics.median(seconds) if seconds else None,
        seconds_p90=_ninetieth(seconds),
        types=tuple(
            TypeShare(type, share_of(step.right for step in steps if step.type == type))
            for type in sorted({step.type for step in steps})
        ),
    )


def _ninetieth(seconds: Sequence[float]) -> float | None:
    """The least that nine of ten do not pass."""
    ordered = sorted(seconds)
    return ordered[-(-9 * len(ordered) // 10) - 1] if ordered else None


def finding(found: Ablation) -> str:
    """What was found, in a few sentences: with all levers and without, each alone, and what is lost without each."""
    alone = tuple(one for one in found.gains if one.against == NONE.name and one.variant in _ALL)
    taken = tuple(one for one in found.gains if one.against == EVERY.name and one.variant.startswith(_BUT))
    ends = (found.variant(NONE.name), found.variant(found.fullest))
    if not found.variants:
        return "No question was asked."
    told = [f"`{one.variant}` answers {_counted(one.share)} right, {percent(one.share)}." for one in ends if one]
    if gain := found.gain(found.fullest, NONE.name):
        what = "All levers together" if gain.variant == EVERY.name else f"`{gain.variant}` against `none`"
        told.append(f"{what}: {_worth(gain)}.")
    if alone:
        told.append(f"Each alone: {'; '.join(f'`{one.variant}` {_worth(one)}' for one in alone)}.")
    if taken:
        left = "; ".join(f"`{one.variant.removeprefix(_BUT)}` {_worth(one)}" for one in taken)
        told.append(f"All without one, against all: {left}.")
    if any(one.share.total < found.questions for one in found.variants):
        told.append("Not every question was asked in every variant.")
    return " ".join(told)


def markdown(found: Ablation, *, about: Mapping[str, str], notes: Sequence[str] = ()) -> str:
    """An ablation for a person: the finding, then tables. `notes` are said of the questions."""
    parts = [f"# What each lever is worth\n\n{finding(found)}"]
    if found.variants:
        parts += [
            f"## Right answers\n\n{_rights(found)}",
            f"## Differences on the same questions\n\n{_gains(found)}",
            f"## By type of question, as its author named it\n\n{_types(found)}",
            f"## What went wrong\n\n{_wrong(found)}",
            f"## What a question took\n\n{_took(found)}",
        ]
    if notes:
        parts.append("## What is to be known of the questions\n\n" + "\n".join(f"- {cell(one)}" for one in notes))
    lines = [f"- {cell(name)}: {cell(value)}" for name, value in about.items()]
    parts.append("\n\n".join(["## How this was made", *(["\n".join(lines)] if lines else []), _METHOD]))
    return "\n\n".join(parts) + "\n"


_METHOD = (
    "Intervals are of 95 %: Wilson's for shares, Tango's score interval for differences on the same questions; they "
    "are not adjusted for being many. p is McNemar's, exact; beside it stands p after Holm's correction for all "
    f"comparisons of the table, and only below {CHANCE} there is a difference called more than chance. The steps that "
    "all this is computed from are in `steps.jsonl`."
)


def ablation_json(found: Ablation, *, about: Mapping[str, str], notes: Sequence[str] = ()) -> str:
    """An ablation as JSON: `schema` (its form), `about`, `finding`, `notes`, `variants`, `comparisons`, `types`."""
    told = {
        "schema": FORM,
        "about": dict(about),
        "finding": finding(found),
        "questions": found.questions,
        "notes": list(notes),
        "variants": [_variant_json(one) for one in found.variants],
        "comparisons": [
            {
                "variant": one.variant,
                "against": one.against,
                "value": _rounded(one.difference.value),
                "interval": [_rounded(one.difference.interval.low), _rounded(one.difference.interval.high)],
                "gained": one.difference.gained,
                "lost": one.difference.lost,
                "total": one.difference.total,
                "p": _rounded(one.difference.p),
                "p_holm": _rounded(one.adjusted),
                "left_out": one.left_out,
            }
            for one in found.gains
        ],
        "types": {
            "of": found.fullest,
            "right_now_and_none_before": found.awakened(found.fullest),
            "still_none": found.barren(found.fullest),
        },
    }
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _variant_json(one: VariantResult) -> dict[str, Any]:
    return {
        "variant": one.variant,
        "right": _share_json(one.share),
        "right_unlike_memory": _share_json(one.apart),
        "without_model": _share_json(one.unaided),
        "without_model_right": _share_json(one.unaided_right),
        "errors": {each.name: each.count for each in one.errors},
        "calls": _rounded(one.calls),
        "replayed": _share_json(one.replayed),
        "tokens": {
            "input": _rounded(one.tokens.input),
            "cached": _rounded(one.tokens.cached),
            "output": _rounded(one.tokens.output),
        },
        "seconds_median": _rounded(one.seconds_median),
        "seconds_p90": _rounded(one.seconds_p90),
        "types": {each.type: [each.share.right, each.share.total] for each in one.types},
    }


def _share_json(one: Share) -> dict[str, Any]:
    interval = [_rounded(one.interval.low), _rounded(one.interval.high)]
    return {"value": _rounded(one.value), "right": one.right, "total": one.total, "interval": interval}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _worth(gain: Gain) -> str:
    chance = "" if gain.is_sure else ", may be chance"
    return f"{points(gain.difference)}{chance}"


def _rights(found: Ablation) -> str:
    header = [
        "variant",
        "right",
        "95 % interval",
        "to `none`, points",
        "unlike memory",
        "without the model",
        "of these right",
    ]
    rows = []
    for one in found.variants:
        none = NONE.name if not one.variant.startswith(_BARE) else _BARE + NONE.name
        gain = found.gain(one.variant, none)
        rows.append(
            [
                f"`{one.variant}`",
                _counts(one.share),
                percent(one.share),
                points(gain.difference) if gain else "",
                _counts(one.apart),
                percent(one.unaided),
                _counts(one.unaided_right),
            ]
        )
    told = (
        "Without the model: answered, and no model was asked. Unlike memory: without the questions that are much like "
        "one in memory, in their words or but for literals in their SQL; "
        f"{found.alike} of {found.questions} are. What begins with `schema:` recalls nothing, and is compared with "
        "`schema: none`."
    )
    return f"{table(header, rows)}\n\n{told}"


def _gains(found: Ablation) -> str:
    header = ["", "points (95 % interval)", "questions", "only the first right", "only the second", "p", "p, Holm", ""]
    rows = [
        [
            f"`{one.variant}` against `{one.against}`",
            points(one.difference),
            str(one.difference.total),
            str(one.difference.gained),
            str(one.difference.lost),
            _p(one.difference.p),
            _p(one.adjusted),
            _said(one),
        ]
        for one in found.gains
    ]
    if not rows:
        return "Nothing was asked that can be compared."
    return f"{table(header, rows)}\n\nThese are {len(rows)} comparisons, which Holm's p is adjusted for."


def _said(gain: Gain) -> str:
    if not gain.is_sure:
        return "none shown"
    return "better" if gain.difference.gained > gain.difference.lost else "worse"


def _shown(found: Ablation) -> tuple[VariantResult, ...]:
    """The variants that tables with one column for each have room for: all but those with one lever left out."""
    return tuple(one for one in found.variants if _BUT not in one.variant)


def _types(found: Ablation) -> str:
    shown, parts = _shown(found), []
    if (full := found.fullest) and found.variant(NONE.name):
        awake, barren = (", ".join(map(cell, one)) or "no type" for one in (found.awakened(full), found.barren(full)))
        parts.append(f"Right answers in `{full}` and none in `none`: {awake}. Still none: {barren}.")
    rows = [[type or "not said", *(_counts(one.of(type)) for one in shown)] for type in found.types]
    return "\n\n".join([*parts, table(["type", *(f"`{one.variant}`" for one in shown)], rows)])


def _wrong(found: Ablation) -> str:
    shown = _shown(found)
    totals: Counter[str] = Counter()
    for one in shown:
        totals.update({each.name: each.count for each in one.errors})
    if not totals:
        return "Nothing."
    counts = [{each.name: each.count for each in one.errors} for one in shown]
    names = sorted(totals, key=lambda name: (-totals[name], name))
    rows = [[in_words(name), *(str(count.get(name, 0)) for count in counts)] for name in names]
    return table(["kind of error", *(f"`{one.variant}`" for one in shown)], rows)


def _took(found: Ablation) -> str:
    header = ["variant", "median s", "p90 s", "calls", "tokens read + cached + written", "calls replayed"]
    rows = [
        [
            f"`{one.variant}`",
            _seconds(one.seconds_median),
            _seconds(one.seconds_p90),
            f"{one.calls:.2f}",
            " + ".join(f"{round(count):,}" for count in (one.tokens.input, one.tokens.cached, one.tokens.output)),
            f"{one.replayed.right:,}/{one.replayed.total:,}",
        ]
        for one in found.variants
    ]
    told = (
        "Means of a question, but for seconds. Replayed calls came from the completion cache, as variants share many "
        "drafts: their tokens count, and the seconds that they took when they were asked."
    )
    return f"{table(header, rows)}\n\n{told}"


def _counted(found: Share) -> str:
    return f"{found.right} of {found.total}"


def _counts(found: Share | None) -> str:
    return f"{found.right}/{found.total}" if found else ""


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f}"
