"""What an ablation found, in words, tables and JSON (pure)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent.learning.ablating import CHANCE, Ablation, Gain, VariantResult
from agent.learning.statistics import Share
from agent.learning.tables import (
    cell,
    counts,
    differences,
    p_value,
    percent,
    points,
    right_of,
    seconds_of,
    table,
    tokens_of,
)
from agent.learning.variants import ALL_BUT, BARE, EVERY, EVERY_LEVER, NONE

FORM = "hebbql.levers/1"
"""The form of the JSON of an ablation."""


def finding(found: Ablation) -> str:
    """What was found, in a few sentences: with all levers and without, each alone, and what is lost without each."""
    alone = tuple(one for one in found.gains if one.against == NONE.name and one.variant in EVERY_LEVER)
    taken = tuple(one for one in found.gains if one.against == EVERY.name and one.variant.startswith(ALL_BUT))
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
        left = "; ".join(f"`{one.variant.removeprefix(ALL_BUT)}` {_worth(one)}" for one in taken)
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
        none = NONE.name if not one.variant.startswith(BARE) else BARE + NONE.name
        gain = found.gain(one.variant, none)
        rows.append(
            [
                f"`{one.variant}`",
                right_of(one.share),
                percent(one.share),
                points(gain.difference) if gain else "",
                right_of(one.apart),
                percent(one.unaided),
                right_of(one.unaided_right),
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
    if not found.gains:
        return "Nothing was asked that can be compared."
    compared = [(one.variant, one.against, one.difference) for one in found.gains]
    more = [[p_value(one.adjusted), _said(one)] for one in found.gains]
    told = f"These are {len(compared)} comparisons, which Holm's p is adjusted for."
    return f"{differences(compared, header=['p, Holm', ''], more=more)}\n\n{told}"


def _said(gain: Gain) -> str:
    if not gain.is_sure:
        return "none shown"
    return "better" if gain.difference.gained > gain.difference.lost else "worse"


def _shown(found: Ablation) -> tuple[VariantResult, ...]:
    """The variants that tables with one column for each have room for: all but those with one lever left out."""
    return tuple(one for one in found.variants if ALL_BUT not in one.variant)


def _types(found: Ablation) -> str:
    shown, parts = _shown(found), []
    if (full := found.fullest) and found.variant(NONE.name):
        awake, barren = (", ".join(map(cell, one)) or "no type" for one in (found.awakened(full), found.barren(full)))
        parts.append(f"Right answers in `{full}` and none in `none`: {awake}. Still none: {barren}.")
    rows = [[type or "not said", *(right_of(one.of(type)) for one in shown)] for type in found.types]
    return "\n\n".join([*parts, table(["type", *(f"`{one.variant}`" for one in shown)], rows)])


def _wrong(found: Ablation) -> str:
    columns = [(one.variant, {each.name: each.count for each in one.errors}) for one in _shown(found)]
    return counts("kind of error", columns) or "Nothing."


def _took(found: Ablation) -> str:
    header = ["variant", "median s", "p90 s", "calls", "tokens read + cached + written", "calls replayed"]
    rows = [
        [
            f"`{one.variant}`",
            seconds_of(one.seconds_median),
            seconds_of(one.seconds_p90),
            f"{one.calls:.2f}",
            tokens_of(one.tokens),
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
