"""Says in words where an answer came from, how sure it is, and what the runner-up has otherwise.

What these give may hold text of a database, a model or a memory: who prints it makes it harmless.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.doors.changes import changes, sql_differs

if TYPE_CHECKING:
    from agent.app import Recalled
    from agent.attempt import Attempt, Draft
    from agent.auditing.auditing import Finding

_WORDS = ((0.95, "almost surely right"), (0.75, "likely right"), (0.5, "more likely right than wrong"))
SHORT_ID = 8
"""Characters of the id of an episode that are shown."""


def shown_confidence(confidence: float | None) -> float | None:
    """A confidence as it is shown to programs and compared with the threshold: to three digits.

    >>> shown_confidence(0.87654), shown_confidence(None)
    (0.877, None)
    """
    return None if confidence is None else round(confidence, 3)


def is_unsure(confidence: float | None, threshold: float) -> bool:
    """Whether an answer of this confidence says that it is unsure; what was not weighed never does.

    >>> is_unsure(0.49, 0.5), is_unsure(0.5, 0.5), is_unsure(None, 0.5)
    (True, False, False)
    """
    shown = shown_confidence(confidence)
    return shown is not None and shown < threshold


def chance(confidence: float) -> str:
    """A confidence in whole hundredths; nothing short of certain is called certain.

    >>> chance(0.874), chance(0.998), chance(0.001), chance(1.0)
    ('87 %', 'over 99 %', 'under 1 %', '100 %')
    """
    percent = round(100 * confidence)
    if percent == 100 and confidence < 1:
        return "over 99 %"
    return "under 1 %" if percent == 0 and confidence > 0 else f"{percent} %"


def told(confidence: float | None, threshold: float, *, alone: bool = False) -> str:
    """A confidence in words and hundredths, `""` where the answer was not weighed. `alone`: one memory speaks for it.

    >>> told(0.87, 0.5), told(0.6, 0.7), told(0.3, 0.2), told(None, 0.5)
    ('likely right, 87 %', 'unsure, 60 %', 'more likely wrong than right, 30 %', '')
    >>> told(0.946, 0.5)
    'almost surely right, 95 %'
    >>> told(0.87, 0.5, alone=True)
    'likely right if its one memory is, 87 %'
    """
    if confidence is None:
        return ""
    unsure = is_unsure(confidence, threshold)
    words = next((words for least, words in _WORDS if round(confidence, 2) >= least), "more likely wrong than right")
    if alone and not unsure and confidence >= _WORDS[-1][0]:
        words += " if its one memory is"
    return f"{'unsure' if unsure else words}, {chance(confidence)}"


def worth_telling(attempt: Attempt, threshold: float, least: float) -> Draft | None:
    """The runner-up of an answer that is unsure, where its own chance is at least `least`."""
    other = attempt.runner_up if is_unsure(attempt.confidence, threshold) else None
    shown = shown_confidence(other.confidence) if other else None
    return other if shown is not None and shown >= least else None


def caution(attempt: Attempt, threshold: float, least: float) -> str:
    """What is said before a result that may well be wrong; `""` where the answer is sure enough or was not weighed."""
    confidence = attempt.confidence
    if confidence is None or not is_unsure(confidence, threshold):
        return ""
    runner_up = worth_telling(attempt, threshold, least)
    other = ""
    if runner_up and runner_up.confidence is not None:
        told = f"Another result has a chance of {chance(runner_up.confidence)}"
        other = f" {told}; it stands below as the runner-up."
    return (
        f"Unsure: the chance that this answer is right is {chance(confidence)}. "
        f"Look at the SQL before you rely on it.{other}"
    )


def short(id: object) -> str:
    """The start of an episode's id, which `hebbql forget` takes.

    >>> short("3f2a9c1b-0000-5000-8000-000000000000")
    '3f2a9c1b'
    """
    return str(id)[:SHORT_ID]


def source(draft: Draft, attempt: Attempt) -> str:
    """Where a draft came from: the question of the episode that was adapted, its id and its score in recall."""
    if draft.origin != "adapted":
        return "habit" if draft.origin == "habit" else attempt.model
    if memory := _memory(draft.episode, attempt):
        return f"adapted from: {memory.episode.question} ({short(draft.episode)}, {memory.score:.2f})"
    return f"adapted from: episode {short(draft.episode)}" if draft.episode else "adapted"


def _memory(id: str, attempt: Attempt) -> Recalled | None:
    near = (*attempt.nearby, *attempt.recalled)
    return next((memory for memory in near if str(memory.episode.id) == id), None)


def sole_memory(attempt: Attempt) -> Recalled | None:
    """The one memory that an answer rests on; None where several speak for it, or a model came to it by itself."""
    from agent.app import sole_source

    id = sole_source(attempt)
    return _memory(id, attempt) if id else None


def resting(attempt: Attempt, memory: Recalled) -> str:
    """Which memory an answer rests on alone, who wrote it and who vouched for it."""
    copied = any(draft.origin == "model" and _agrees(draft, attempt) for draft in attempt.ran)
    beside = " The model only wrote the same again." if copied else ""
    who = f"from {author(memory)}, {voucher(memory)}"
    return f"Rests on one memory alone: {short(memory.episode.id)}, {who}.{beside}"


def _agrees(draft: Draft, attempt: Attempt) -> bool:
    from agent.attempt import agree

    return attempt.answer is not None and agree(draft, attempt.answer)


def author(memory: Recalled) -> str:
    """Who wrote an episode, in words."""
    kind, _, name = memory.episode.origin.partition(":")
    words = {"seed": "the seed pack", "feedback": "feedback on the answer", "train": "the training run"}
    if kind in words and name:
        return f"{words[kind]} {name}"
    return memory.episode.origin or "somebody unknown"


def voucher(memory: Recalled) -> str:
    """What vouched for an episode when it was written, in words."""
    words = {
        "gold": "verified as a gold",
        "person": "verified by a person",
        "agreement": "verified by a second query",
    }
    return words.get(
        memory.episode.verifier, f"verified by {memory.episode.verifier}" if memory.episode.verifier else "unverified"
    )


def notes(draft: Draft, attempt: Attempt, *, dialect: str) -> tuple[str, ...]:
    """What code changed in a draft: all that an adapted query has otherwise than that of its episode.

    Where that cannot be read it is what code noted when it did so, which for the drafts of a model it always is.
    """
    memory = _memory(draft.episode, attempt) if draft.origin == "adapted" else None
    found = changes(memory.episode.sql, draft.sql, dialect=dialect) if memory and memory.episode.sql else None
    return draft.notes if found is None else found


def sentence(text: str) -> str:
    """A clause as a sentence of its own.

    >>> sentence("the question says 'Germany', and the query does not")
    "The question says 'Germany', and the query does not."
    """
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def differences(answer: Draft, other: Draft) -> tuple[str, ...]:
    """What another draft has otherwise than the answer: in its result and in its SQL."""
    return (_result_differs(answer, other), f"Its SQL {sql_differs(answer.sql, other.sql)}.")


def _result_differs(answer: Draft, other: Draft) -> str:
    assert answer.result and other.result, "what is compared has run"
    said = []
    for what, ours, theirs in (
        ("column", len(answer.result.columns), len(other.result.columns)),
        ("row", len(answer.result.rows), len(other.result.rows)),
    ):
        if ours != theirs:
            said.append(f"{_many(theirs, what)} where the answer has {ours:,}")
    return f"It gives {' and '.join(said)}." if said else "It gives other values."


def in_quotes(sql: str) -> str:
    """An SQL as one argument in a shell, in double quotes where that is safe.

    >>> in_quotes('SELECT "x" FROM t') == r'"SELECT \\"x\\" FROM t"', in_quotes("SELECT 1 <> $2")
    (True, "'SELECT 1 <> $2'")
    """
    if re.search(r"[$`\\!]", sql):
        return shlex.quote(sql)
    quoted = sql.replace('"', '\\"')
    return f'"{quoted}"'


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def contradicted(finding: Finding, attempt: Attempt) -> Iterator[str]:
    """Say what an audit found of an episode behind an answer, and by which rule one side is preferred."""
    behind = {str(memory.episode.id) for memory in (*attempt.recalled, *attempt.nearby)}
    here = [short(write.id) for write in finding.writes if write.id in behind]
    others = [short(write.id) for write in finding.writes if write.id not in behind]
    beside = f" beside {', '.join(others)}" if others else ""
    yield f"{', '.join(here)}{beside}: {finding.reason}"
    advice = finding.recommendation
    if advice.recommended_id:
        sure = f"confidence {advice.confidence:.2f}"
        yield f"preferred is {short(advice.recommended_id)} by the rule {advice.rule} ({sure}): {advice.rationale}"
    else:
        why = advice.rationale if advice.rule == "tie" else "It could not be shown which is right."
        yield f"none is preferred. {why}"
    yield "See: hebbql audit"
