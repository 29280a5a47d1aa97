"""Trials: questions that were asked and judged with some levers on, kept so that a run that stopped goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.attempt import Attempt
from agent.learning.steps import Step, read_step
from agent.learning.variants import AblationError


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
