"""Pictures of what was measured, as SVG that stands by itself: no script, no outside host, the same bytes each time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from agent.learning.arms import MEMORY
from agent.learning.statistics import Share

if TYPE_CHECKING:
    from agent.learning.calibrating import Bin
    from agent.learning.evaluating import Evaluation

_SVG = "http://www.w3.org/2000/svg"

_STRONG, _PLAIN, _BEHIND = "#0b6e4f", "#8a94a0", "#c78a3b"
"""Colours that people tell apart who see red and green as one, and that hold on paper without colour."""

_TRAINING, _HOLDOUT, _HABITS, _FORGOTTEN, _SEEDED = "#1f5fa8", "#0b6e4f", "#c78a3b", "#a8324a", "#5b3f8c"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """How a run stood after an epoch; epoch 0 is the time before the first.

    `habits` is the share of training questions that a habit answered, from 0 to 1. `forgotten` and `seeded` count
    episodes that were forgotten and seeded in the epoch.
    """

    epoch: int
    training: Share | None
    holdout: Share | None
    habits: float | None
    forgotten: int
    seeded: int


def arms_picture(evaluation: Evaluation) -> str:
    """Draw how much each arm answers right, with its 95 % interval."""
    import pygal

    arms = [one for one in evaluation.arms if one.share.value is not None]
    chart = pygal.Bar(
        title="Questions answered right, with 95 % intervals",
        x_title="arm",
        y_title="% right",
        range=(0, 100),
        y_labels=list(range(0, 101, 20)),
        show_legend=False,
        rounded_bars=2,
        **_common(height=420),
    )
    chart.x_labels = [f"{one.arm} {100 * (one.share.value or 0.0):.1f} %" for one in arms]
    colours = {MEMORY.name: _STRONG, "shuffled": _BEHIND, "constant": _BEHIND}
    chart.add("right", [_bar(one.share, colours.get(one.arm, _PLAIN)) for one in arms])
    told = [f"{one.arm}: {_told(one.share)}" for one in arms]
    return _still(chart, "arms", ". ".join(told or ["No question was asked"]) + ".")


def curve_picture(points: Sequence[CurvePoint], *, title: str) -> str:
    """Draw the learning curve of a run: accuracy and habits by epoch, with marks where it forgot or seeded.

    The marks stand above the curves, each with the count of its epoch. Of many epochs only some are labelled, and
    only these have intervals and counts.
    """
    import pygal

    chart = pygal.Line(
        title=title,
        x_title="epoch (0 is before training)",
        y_title="% of questions",
        range=(0, 124),
        y_labels=list(range(0, 101, 20)),
        legend_at_bottom=True,
        legend_at_bottom_columns=5,
        print_labels=True,
        **_common(height=480),
    )
    step = math.ceil(len(points) / _MOST_LABELS)
    told = [place % step == 0 for place in range(len(points))]
    chart.x_labels = [str(point.epoch) if shown else "" for point, shown in zip(points, told, strict=True)]
    chart.add("training", [_dot(one.training, shown) for one, shown in zip(points, told, strict=True)])
    holdout = [_dot(one.holdout, shown) for one, shown in zip(points, told, strict=True)]
    chart.add("holdout", holdout, stroke_style={"dasharray": "9, 4"})
    habits = [None if one.habits is None else 100 * one.habits for one in points]
    chart.add("by habit", habits, stroke_style={"dasharray": "2, 4"})
    forgotten = [_mark(one.forgotten, 119, shown) for one, shown in zip(points, told, strict=True)]
    chart.add("forgotten", forgotten, stroke=False, dots_size=4)
    seeded = [_mark(one.seeded, 110, shown) for one, shown in zip(points, told, strict=True)]
    chart.add("seeded", seeded, stroke=False, dots_size=4)
    return _still(chart, "curve", _curve_told(points))


def reliability_picture(table: Sequence[Bin], *, title: str) -> str:
    """Draw how much is right of what was stated with about the same confidence, beside what was stated.

    Bins without an answer stay empty. Where the two lines run together, confidence is calibrated.
    """
    import pygal

    chart = pygal.Line(
        title=title,
        x_title="confidence stated, from (and how many answers)",
        y_title="% of answers",
        range=(0, 100),
        y_labels=list(range(0, 101, 20)),
        legend_at_bottom=True,
        **_common(height=480),
    )
    chart.x_labels = [f"{one.low:.1f} ({one.share.total})" for one in table]
    chart.add("right, with 95 % intervals", [_dot(one.share, True) for one in table])
    stated = [None if one.mean is None else 100 * one.mean for one in table]
    chart.add("stated", stated, stroke_style={"dasharray": "9, 4"})
    told = [
        f"Of {one.share.total} answers with a confidence of {one.low:.1f} to {one.high:.1f}, {one.mean:.0%} on average:"
        f" {_told(one.share)}."
        for one in table
        if one.mean is not None
    ]
    return _still(chart, "reliability", " ".join(told) or "Nothing was answered.")


_MOST_LABELS = 21
"""As many epochs can be labelled side by side."""


def _common(*, height: int) -> dict[str, Any]:
    from pygal.style import Style

    style = Style(
        background="#ffffff",
        plot_background="#ffffff",
        foreground="#2b3138",
        foreground_strong="#14181c",
        foreground_subtle="#5f6770",
        guide_stroke_color="#c9ced4",
        major_guide_stroke_color="#c9ced4",
        font_family="Helvetica, Arial, sans-serif",
        colors=(_TRAINING, _HOLDOUT, _HABITS, _FORGOTTEN, _SEEDED),
        value_colors=(_TRAINING, _HOLDOUT, _HABITS, _FORGOTTEN, _SEEDED),
        ci_colors=("#14181c",) * 5,
        opacity="1",
        stroke_opacity="1",
        stroke_width="2",
        label_font_size=12,
        major_label_font_size=12,
        title_font_size=16,
        legend_font_size=13,
        no_data_font_size=20,
        value_font_size=13,
        value_label_font_size=12,
    )
    return {
        "style": style,
        "width": 800,
        "height": height,
        "js": (),
        "truncate_label": -1,
        "no_data_text": "nothing asked yet",
        "show_minor_x_labels": True,
        "explicit_size": True,
        "disable_xml_declaration": True,
        "value_formatter": lambda value: f"{value:.0f} %",
    }


def _bar(found: Share, colour: str) -> dict[str, Any]:
    assert found.value is not None, "arms without a question are not drawn"
    return {"value": 100 * found.value, "color": colour, "ci": _ends(found)}


def _dot(found: Share | None, interval: bool) -> dict[str, Any] | None:
    if found is None or found.value is None:
        return None
    return {"value": 100 * found.value, **({"ci": _ends(found)} if interval else {})}


def _mark(count: int, height: int, told: bool) -> dict[str, Any] | None:
    return {"value": height, "label": str(count) if told else ""} if count else None


def _ends(found: Share) -> dict[str, float]:
    return {"low": 100 * found.interval.low, "high": 100 * found.interval.high}


def _told(found: Share) -> str:
    if found.value is None:
        return "none asked"
    low, high = found.interval.low, found.interval.high
    return f"{found.right} of {found.total} right, {found.value:.0%}, 95 % interval {low:.0%} to {high:.0%}"


def _curve_told(points: Sequence[CurvePoint]) -> str:
    lines = []
    for point in points:
        parts = [
            f"training {_told(point.training)}" if point.training else "",
            f"holdout {_told(point.holdout)}" if point.holdout else "",
            f"{point.habits:.0%} answered by habit" if point.habits is not None else "",
            f"{point.forgotten} forgotten" if point.forgotten else "",
            f"{point.seeded} seeded" if point.seeded else "",
        ]
        lines.append(f"Epoch {point.epoch}: {'; '.join(filter(None, parts)) or 'nothing asked'}.")
    return " ".join(lines) or "No epoch was run."


_INTERVALS = "\n#chart-{0} .ci * {{ stroke-width: 1; stroke-dasharray: none }}\n"
"""Intervals are thin and whole, however their line is drawn."""


def _still(chart: Any, name: str, told: str) -> str:
    """Render a chart without scripts, links, dates and chance ids, and with `told` for who cannot see it."""
    chart.uuid = name
    root = ElementTree.fromstring(chart.render(is_unicode=True))  # comments, with links and a date, are not read
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}script", f"{{{_SVG}}}desc"):
                parent.remove(child)
    for style in root.iter(f"{{{_SVG}}}style"):
        style.text = (style.text or "") + _INTERVALS.format(name)
    title = root.find(f"{{{_SVG}}}title")
    assert title is not None, "pygal writes one"
    title.set("id", f"{name}-title")
    said = ElementTree.Element(f"{{{_SVG}}}desc", {"id": f"{name}-desc"})
    said.text = told
    root.insert(list(root).index(title) + 1, said)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    ElementTree.register_namespace("", _SVG)
    ElementTree.indent(root, space="")
    return ElementTree.tostring(root, encoding="unicode") + "\n"
