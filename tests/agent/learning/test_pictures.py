"""Pictures stand by themselves, are the same each time, and tell their figures to who cannot see them."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agent.learning.calibrating import Forecast, reliability
from agent.learning.evaluating import Evaluation, summarise
from agent.learning.pictures import CurvePoint, arms_picture, curve_picture, reliability_picture
from agent.learning.statistics import share
from agent.learning.steps import Step

ROOT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"

CURVE = (
    CurvePoint(0, None, share(2, 10), None, 0, 0),
    CurvePoint(1, share(11, 20), None, 0.1, 0, 4),
    CurvePoint(2, share(19, 20), share(7, 10), 0.35, 3, 0),
)


def evaluation(**rights: int) -> Evaluation:
    """Arms with so many of ten questions right."""
    return summarise(
        Step(
            part="holdout", epoch=0, arm=arm, question=str(number), type="", difficulty="", language="en",
            attempt="", bucket="", kind="", right=number < right, error="", rule="", reason="", lenient=False,
            status="answered", path="model", approach="direct", recalled=0, calls=1, replayed=0, input_tokens=0,
            cached_tokens=0, output_tokens=0, cost_usd=0.0, seconds=1.0, sql="",
        )
        for arm, right in rights.items()
        for number in range(10)
    )  # fmt: skip


PICTURES = {
    "arms": arms_picture(evaluation(schema=2, memory=7, shuffled=3)),
    "one arm": arms_picture(evaluation(memory=0)),
    "no arm": arms_picture(summarise([])),
    "curve": curve_picture(CURVE, title="Learning curve"),
    "one epoch": curve_picture(CURVE[:1], title="Learning curve"),
    "no epoch": curve_picture((), title="Learning curve"),
    "reliability": reliability_picture(
        reliability([Forecast(0.25, False), Forecast(0.85, True), Forecast(0.85, False)]), title="Calibration"
    ),
    "no answer": reliability_picture(reliability([]), title="Calibration"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_reaches_for_nothing_and_runs_nothing(name: str) -> None:
    text = PICTURES[name]
    assert set(re.findall(r"[a-z]+://[^\s\"'<)]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|javascript|@import|url\(|href|<!--|<\?|\bon[a-z]+=", text)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_says_what_it_shows_and_stands_on_its_own_ground(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name])
    assert root.get("role") == "img"
    named = {one.get("id"): one.text for one in root.iter() if one.get("id")}
    title, told = (named[id] for id in str(root.get("aria-labelledby")).split())
    assert title
    assert told
    assert len(root.findall(f"{SVG}title")) == 1
    style = "".join(one.text or "" for one in root.iter(f"{SVG}style"))
    assert ".graph > .background{fill:#ffffff}" in style
    assert ".plot > .background{fill:#ffffff}" in style
    assert ".title{fill:#14181c}" in style


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_arms_are_named_with_their_share_and_have_axes_and_intervals() -> None:
    shown = texts(PICTURES["arms"])
    assert {"schema 20.0 %", "memory 70.0 %", "shuffled 30.0 %", "arm", "% right", "0 %", "100 %"} <= set(shown)
    assert PICTURES["arms"].count('class="ci"') == 3
    assert "memory: 7 of 10 right, 70%, 95 % interval 40% to 89%." in PICTURES["arms"]


def test_a_curve_shows_each_epoch_with_marks_where_it_forgot_or_seeded() -> None:
    shown = texts(PICTURES["curve"])
    assert {"0", "1", "2", "training", "holdout", "by habit", "forgotten", "seeded", "3", "4"} <= set(shown)
    assert "Learning curve" in shown
    assert PICTURES["curve"].count('class="ci"') == 4
    assert "Epoch 2: training 19 of 20 right" in PICTURES["curve"]
    assert "35% answered by habit; 3 forgotten." in PICTURES["curve"]


def test_reliability_shows_what_was_stated_and_what_was_right_in_each_bin() -> None:
    shown = texts(PICTURES["reliability"])
    assert {"Calibration", "stated", "right, with 95 % intervals", "0 %", "100 %", "0.8 (2)", "0.3 (0)"} <= set(shown)
    assert PICTURES["reliability"].count('class="ci"') == 2
    told = "Of 2 answers with a confidence of 0.8 to 0.9, 85% on average: 1 of 2 right, 50%, 95 % interval 9% to 91%."
    assert told in PICTURES["reliability"]
    assert "Nothing was answered." in PICTURES["no answer"]


def test_each_line_keeps_its_colour_when_another_is_missing() -> None:
    only_seeded = [replace(point, forgotten=0) for point in CURVE]
    for points in (CURVE, only_seeded):
        root = ElementTree.fromstring(curve_picture(points, title="Learning curve"))
        legends = [one for one in root.iter(f"{SVG}g") if "legend" in str(one.get("class")).split()]
        assert [one.findtext(f"{SVG}text") for one in legends] == [
            "training",
            "holdout",
            "by habit",
            "forgotten",
            "seeded",
        ]


def test_of_many_epochs_only_some_are_labelled() -> None:
    points = [CurvePoint(epoch, share(epoch, 100), None, None, 1, 0) for epoch in range(100)]
    svg = curve_picture(points, title="Learning curve")
    labels = [text for text in texts(svg) if text.isdigit()]
    assert labels[:4] == ["0", "5", "10", "15"]
    assert svg.count('class="ci"') == 20


def test_the_same_figures_give_the_same_bytes_in_another_process() -> None:
    code = """
from agent.learning.pictures import CurvePoint, curve_picture
from agent.learning.statistics import share
points = (
    CurvePoint(0, None, share(2, 10), None, 0, 0),
    CurvePoint(1, share(11, 20), None, 0.1, 0, 4),
    CurvePoint(2, share(19, 20), share(7, 10), 0.35, 3, 0),
)
print(curve_picture(points, title="Learning curve"), end="")
"""
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PATH": "", "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        )
        assert done.stdout.decode("utf-8") == PICTURES["curve"]


def test_drawing_and_counting_are_imported_when_first_wanted() -> None:
    code = """
import sys
import agent.learning.evaluating, agent.learning.findings, agent.learning.pictures, agent.learning.statistics
print(sorted({"pygal", "scipy", "numpy"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
