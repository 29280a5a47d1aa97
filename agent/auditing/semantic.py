"""The audit of meaning: notes and lessons that speak of the same thing, and whether they contradict each other."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.auditing.judges import Asked, Judge, Polarity, Scores, accepts
from memory.audit.finding import NOTHING, Finding, Side, Write
from memory.audit.identity import same_words
from memory.audit.ladder import weighed
from memory.embedder import Embedder
from memory.errors import BrainError
from memory.lessons import Lesson
from memory.semantic import Taught, term_ids

if TYPE_CHECKING:
    from agent.app import App

ALIKE = 0.55
"""From which cosine on two texts are taken to speak of the same thing."""


class JudgeError(BrainError):
    """There is no such judge, or it was not accepted."""


def notes(app: App) -> Iterator[tuple[str, Write]]:
    """What the glossary and the lessons say in words, each with who wrote it."""
    for taught in app.semantic.history():
        if taught.names_held:
            yield _note(taught)
    for record in app.versions.live.of_kind("lesson"):
        told: dict[str, Any] = dict(record.body)
        yield _lesson(Lesson(**told), record.key[1])


def _note(taught: Taught) -> tuple[str, Write]:
    term, name = taught.term, taught.names_held[0]
    id = term_ids(term)[term.names.index(name)]
    verifier = "person" if term.origin == "person" else ""
    write = Write("term", id, term.meaning, taught.at, term.origin, verifier, f"position:{taught.position}", "", name)
    return f"{name}: {term.meaning}", write


def _lesson(lesson: Lesson, id: str) -> tuple[str, Write]:
    write = Write("lesson", id, f"not {lesson.wrong_sql}", 0.0, lesson.origin, about=lesson.question)
    return f"{lesson.question}: {lesson.problem}", write


def alike(told: Sequence[tuple[str, Write]], embedder: Embedder, most: int) -> Iterator[tuple[int, int, float]]:
    """The pairs of texts that are most alike, at most so many, most alike first: their places and their cosine.

    Lessons of two questions, and terms that one file tells apart, speak of different things, however alike they are.
    """
    vectors = embedder.embed([text for text, _ in told]) if len(told) > 1 else []
    pairs = (
        (float(vectors[a] @ vectors[b]), a, b)
        for a, b in combinations(range(len(told)), 2)
        if not _apart(told[a][1], told[b][1])
    )
    near = sorted(((cosine, a, b) for cosine, a, b in pairs if cosine >= ALIKE), key=lambda pair: (-pair[0], pair[1:]))
    for cosine, a, b in near[:most]:
        yield a, b, cosine


def _apart(one: Write, other: Write) -> bool:
    """Whether two are of different things on purpose: lessons of two questions, or two terms of one file."""
    if one.subject != other.subject:
        return False
    if one.subject == "lesson":
        return same_words(one.about) != same_words(other.about)
    return one.origin == other.origin and one.origin.startswith("glossary:")


def contradicted(
    known: Iterable[tuple[str, Write]], *, embedder: Embedder, judge: Judge, most: int
) -> tuple[int, tuple[Finding, ...]]:
    """How many pairs were judged, and what the judge says contradicts, or cannot tell.

    Raises:
        EmbedderError: the embedding model cannot run.
    """
    told = list(known)
    findings, judged = [], 0
    for a, b, cosine in alike(told, embedder, most):
        judged += 1
        found = judge.judge(told[a][0], told[b][0])
        if found.word == "agrees":
            continue
        sides = tuple(Side(told[place][1].text, (told[place][1],)) for place in (a, b))
        what = " / ".join(told[place][1].about for place in (a, b))
        reason = f"{found.reason} (likeness {cosine:.2f}, judge {judge.id})"
        if found.word == "unclear":
            findings.append(Finding("inconclusive", told[a][1].subject, what, reason, sides, NOTHING))
        else:
            findings.append(Finding("contradiction", told[a][1].subject, what, reason, *weighed(sides)))
    return judged, tuple(findings)


def accepted(path: Path) -> tuple[Scores, ...]:
    """The judges that were accepted, in their order. Raises JudgeError."""
    try:
        return tuple(Scores(**told) for told in tomllib.loads(path.read_text("utf-8"))["judge"])
    except (OSError, ValueError, KeyError, TypeError) as trouble:
        raise JudgeError(f"{path} does not say which judges are accepted: {trouble}.") from trouble


def judge_named(name: str, app: App) -> Judge:
    """The rule of polarity by its name, or else the model of the app, if it was accepted as a judge.

    Raises:
        JudgeError: it was not.
    """
    if name == "polarity":
        return Polarity()
    known = {one.judge for one in accepted(app.settings.data / "judges.toml")} if name == "model" else set()
    judge = Asked(app.model) if name == "model" else None
    if judge is None or judge.id not in known:
        raise JudgeError(
            f"{judge.id if judge else name} is no accepted judge. Take polarity, or measure the model first "
            "with: scripts/measure_audit.py --judge MODEL."
        )
    return judge


def take_judge(path: Path, found: Scores) -> str:
    """Add a judge to those accepted, or say why not. Raises JudgeError, OSError."""
    known = accepted(path)
    if reason := accepts(known[-1], found):
        return reason
    told = {name: value for name, value in asdict(found).items() if name not in ("wrong", "judge")}
    lines = [f"{name} = {value!r}".replace("'", '"') for name, value in told.items()]
    text = "\n".join(("", "[[judge]]", f'judge = "{found.judge}"', *lines, ""))
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
    return ""
