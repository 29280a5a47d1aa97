#!/usr/bin/env python3
"""Measure what the model should be shown: which facts and how, how many episodes, and in what order.

    .venv/bin/python scripts/measure_prompts.py --model 0.5b --every 3 --write

Every variant asks the same questions, kept for choosing, of one fresh brain with the shipped seed pack, with all levers
on; nothing is learned. An answer is right as in `hebbql evaluate`. What the code answers alone is the same in each.
`usual` is what ships: five episodes, the likest last, and the words of the glossary with what they stand for.
`--write` keeps the table in `runs/reference/prompts/MODEL.md`, and what was asked as JSON beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.app import App, open_app, read_settings  # noqa: E402
from agent.attempt import Attempt  # noqa: E402
from agent.journal import Unwritten  # noqa: E402
from agent.learning.arms import MEMORY, Arm  # noqa: E402
from agent.learning.evaluating import evaluate  # noqa: E402
from agent.learning.questions import Pair, read_pairs  # noqa: E402
from agent.learning.statistics import paired, share_of  # noqa: E402
from agent.learning.steps import Step  # noqa: E402
from agent.models.cached import CachedModel  # noqa: E402
from agent.models.port import Prompt, Turn  # noqa: E402
from agent.school import School  # noqa: E402
from agent.settings import Settings  # noqa: E402

Change = Callable[[App, Attempt, Prompt], Prompt]


def as_it_is(_app: App, _attempt: Attempt, prompt: Prompt) -> Prompt:
    return prompt


def formulas(app: App, _attempt: Attempt, prompt: Prompt) -> Prompt:
    """Facts without the word that they explain: a small model reads the word as the name of a column."""
    labels = {f"{term.names[0]} = {term.expression}": f"{term.expression}" for term in app.lexicon.glossary}
    return _lines(prompt, lambda line: labels.get(line, line))


def likest_first(_app: App, attempt: Attempt, prompt: Prompt) -> Prompt:
    """The likest episode farthest from the question instead of nearest."""
    count = len(attempt.recalled)
    examples = [prompt.turns[2 * at : 2 * at + 2] for at in range(count)]
    return replace(prompt, turns=(*(turn for pair in reversed(examples) for turn in pair), *prompt.turns[2 * count :]))


def facts_on_episodes(app: App, attempt: Attempt, prompt: Prompt) -> Prompt:
    """Each episode with the facts that linking finds in its own question, as the question has them."""
    from agent.prompt import fact_lines

    turns = list(prompt.turns)
    for at, memory in enumerate(reversed(attempt.recalled)):
        lines = fact_lines(app.understand(memory.episode.question), (), app.settings.facts)
        turns[2 * at] = Turn("user", "\n".join((turns[2 * at].text, *lines)))
    return replace(prompt, turns=tuple(turns))


def _lines(prompt: Prompt, change: Callable[[str], str]) -> Prompt:
    def changed(turn: Turn) -> Turn:
        return Turn(turn.role, "\n".join(map(change, turn.text.split("\n")))) if turn.role == "user" else turn

    return replace(prompt, turns=tuple(map(changed, prompt.turns)))


VARIANTS: Mapping[str, tuple[Mapping[str, Any], Change]] = {
    "usual": ({}, as_it_is),
    "no facts": ({"facts": "none"}, as_it_is),
    "formulas": ({}, formulas),
    "facts on episodes": ({}, facts_on_episodes),
    "values too": ({"facts": "values"}, as_it_is),
    "all facts": ({"facts": "all"}, as_it_is),
    "3 episodes": ({"recall_limit": 3}, as_it_is),
    "8 episodes": ({"recall_limit": 8}, as_it_is),
    "likest first": ({}, likest_first),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--questions", type=Path, default=ROOT / "data" / "questions" / "development.jsonl")
    parser.add_argument("--every", type=int, default=1, help="take only each n-th question")
    parser.add_argument("--variants", default=", ".join(VARIANTS), help="names with commas between")
    parser.add_argument("--write", action="store_true", help="keep the table in runs/reference/prompts/")
    given = parser.parse_args()
    names = [name.strip() for name in given.variants.split(",")]
    if unknown := [name for name in names if name not in VARIANTS]:
        parser.error(f"{unknown[0]!r} is no variant; there are {', '.join(VARIANTS)}")
    pairs = read_pairs(given.questions)[:: given.every]
    found: dict[str, list[Step]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        settings = read_settings(os.environ, model=given.model, brain=Path(scratch) / "brain")
        judging = replace(settings, brain=str(Path(scratch) / "judge"))
        with open_app(judging, memory=False, say=_say) as looking, closing(School(app=looking)) as school:
            asked, _refused = school.confirmed(pairs)
            with closing(CachedModel(looking.model, path=settings.runs / "replies.sqlite", say=_say)) as model:
                for name in names:
                    found[name] = list(_asked(name, asked, settings, looking, school, model))
                    _say(f"{name}: {sum(step.right for step in found[name])} of {len(asked)} right")
    told = table(found, f"scripts/measure_prompts.py {' '.join(sys.argv[1:])}", given.model, given.questions.name)
    print(told)
    if given.write:
        place = ROOT / "runs" / "reference" / "prompts"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{given.model}.md").write_text(told, encoding="utf-8")
        kept = {name: {step.question: step.right for step in steps} for name, steps in found.items()}
        (place / f"{given.model}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


class Shown:
    """Writes prompts as an app does, with one thing changed; all else of its `Approaching` is its own."""

    def __init__(self, app: App, change: Change) -> None:
        self._app, self._usual, self._change = app, app.approaching, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)

    def prompt(self, attempt: Attempt, **how: Any) -> Prompt:
        return self._change(self._app, attempt, self._usual.prompt(attempt, **how))


def _asked(
    name: str, pairs: tuple[Pair, ...], settings: Settings, looking: App, school: School, model: CachedModel
) -> list[Step]:
    choices, change = VARIANTS[name]
    with open_app(replace(settings, **choices), say=_say) as app:
        app.model = looking.model
        app.approaching = Shown(app, change)  # type: ignore[assignment]

        def ask(pair: Pair, arm: Arm) -> Attempt:
            *_, attempt = app.ask(pair.question, arm=arm, model=model, journal=Unwritten())
            return attempt

        return list(evaluate(pairs, [MEMORY], ask=ask, judge=school.verdict))


def table(found: Mapping[str, list[Step]], command: str, model: str, questions: str) -> str:
    """The outcome as Markdown: rights with their interval, the paired difference to the first, tokens and seconds."""
    first = next(iter(found.values()))
    lines = [
        "# What the model is shown",
        "",
        f"Model {model}, {len(first)} questions of {questions}, all levers on, seed pack only. Made with `{command}`.",
        "",
        "| variant | right | 95 % interval | to the first, points | won / lost | p | calls | tokens in | median s |",
        "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for name, steps in found.items():
        share = share_of(step.right for step in steps)
        apart = paired([step.right for step in steps], [step.right for step in first])
        low, high = (100 * edge for edge in (apart.interval.low, apart.interval.high))
        to_first = f"{100 * (apart.gained - apart.lost) / max(1, apart.total):+.1f} ({low:+.1f} to {high:+.1f})"
        seconds = statistics.median(step.seconds for step in steps)
        read = sum(step.input_tokens + step.cached_tokens for step in steps) / len(steps)
        lines.append(
            f"| {name} | {share.right}/{share.total} | {100 * share.interval.low:.0f} to "
            f"{100 * share.interval.high:.0f} % | {to_first if steps is not first else ''} | "
            f"{apart.gained} / {apart.lost} | {apart.p:.2f} | {sum(step.calls for step in steps) / len(steps):.2f} | "
            f"{read:,.0f} | {seconds:.1f} |"
        )
    return "\n".join(lines) + "\n\nSeconds count for nothing where replies came from the completion cache.\n"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
