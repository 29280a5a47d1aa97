"""Says in words where an answer came from, how sure it is, and what the runner-up has otherwise.

What these give may hold text of a database, a model or a memory: who prints it makes it harmless.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from agent.doors.changes import changes

if TYPE_CHECKING:
    from agent.attempt import Attempt, Draft
    from memory.episode import Episode
    from memory.recall import Recalled

_WORDS = ((0.95, "almost surely right"), (0.75, "likely right"), (0.5, "more likely right than wrong"))
SHORT_ID = 8
"""Characters of the id of an episode that are shown."""

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|<=|>=|<>|!=|\|\||\S""")
_MOST_TOKENS = 400
_MOST_CHANGES = 3
_LONGEST_CHANGE = 8
"""Tokens; of what differs more than this only the clauses are named."""
_CLAUSES = {"SELECT": "SELECT", "FROM": "FROM", "WHERE": "WHERE", "GROUP": "GROUP BY"}
_CLAUSES |= {"HAVING": "HAVING", "ORDER": "ORDER BY", "LIMIT": "LIMIT"}


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
    >>> told(0.87, 0.5, alone=True)
    'likely right if its one memory is, 87 %'
    """
    if confidence is None:
        return ""
    unsure = is_unsure(confidence, threshold)
    words = next((words for least, words in _WORDS if confidence >= least), "more likely wrong than right")
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
    from agent.drafting.weighing import sole_source

    id = sole_source(attempt)
    return _memory(id, attempt) if id else None


def resting(attempt: Attempt, memory: Recalled) -> str:
    """Which memory an answer rests on alone, who wrote it and who vouched for it."""
    copied = any(draft.origin == "model" and _agrees(draft, attempt) for draft in attempt.ran)
    beside = " The model only wrote the same again." if copied else ""
    who = f"from {author(memory.episode)}, {voucher(memory.episode)}"
    return f"Rests on one memory alone: {short(memory.episode.id)}, {who}.{beside}"


def _agrees(draft: Draft, attempt: Attempt) -> bool:
    from agent.attempt import agree

    return attempt.answer is not None and agree(draft, attempt.answer)


def author(episode: Episode) -> str:
    """Who wrote an episode, in words."""
    kind, _, name = episode.origin.partition(":")
    words = {"seed": "the seed pack", "feedback": "feedback on the answer", "train": "the training run"}
    if kind in words and name:
        return f"{words[kind]} {name}"
    return episode.origin or "somebody unknown"


def voucher(episode: Episode) -> str:
    """What vouched for an episode when it was written, in words."""
    words = {
        "gold": "checked against its gold alone",
        "person": "on the word of a person",
        "agreement": "checked by a second query",
    }
    return words.get(episode.verifier, f"checked by {episode.verifier}" if episode.verifier else "unverified")


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


def sql_differs(answer: str, other: str) -> str:
    """What `other` has instead of what the answer has; where that is too much to say, the clauses in which it is.

    >>> sql_differs("SELECT a FROM t WHERE b = 'x, y' LIMIT 5", "SELECT SUM(a) FROM t WHERE c = 'z' LIMIT 5")
    "has SUM(a) instead of a, c = 'z' instead of b = 'x, y'"
    >>> sql_differs("SELECT a FROM t ORDER BY a", "SELECT a FROM (SELECT SUM(a) AS a FROM u GROUP BY b) ORDER BY a")
    'differs in FROM'
    """
    ours, theirs = _TOKEN.findall(answer), _TOKEN.findall(other)
    changes = _changes(ours, theirs) if max(len(ours), len(theirs)) <= _MOST_TOKENS else ()
    if 0 < len(changes) <= _MOST_CHANGES and all(_is_short(before) and _is_short(after) for before, after in changes):
        return "has " + ", ".join(_change(before, after) for before, after in changes)
    mine, its = _clauses(ours), _clauses(theirs)
    names = [name for name in _CLAUSES.values() if mine.get(name) != its.get(name)]
    return f"differs in {', '.join(names)}" if names else "is written otherwise"


def _changes(ours: Sequence[str], theirs: Sequence[str]) -> tuple[tuple[Sequence[str], Sequence[str]], ...]:
    """What stands in one and what in its place in the other; what one token parts is one change."""
    spans: list[tuple[int, int, int, int]] = []
    matcher = SequenceMatcher(None, _folded(ours), _folded(theirs), autojunk=False)
    for kind, begin, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            continue
        near = bool(spans) and begin - spans[-1][1] <= 1 and first - spans[-1][3] <= 1
        since = spans.pop() if near else (begin, end, first, last)
        spans.append((since[0], end, since[2], last))
    return tuple((ours[begin:end], theirs[first:last]) for begin, end, first, last in spans)


def _folded(tokens: Sequence[str]) -> list[str]:
    return [token.upper() if token.isidentifier() else token for token in tokens]


def _is_short(tokens: Sequence[str]) -> bool:
    """Whether a change can be read alone: few tokens, and every parenthesis closed."""
    return len(tokens) <= _LONGEST_CHANGE and tokens.count("(") == tokens.count(")")


def _clauses(tokens: Sequence[str]) -> dict[str, list[str]]:
    """The tokens of each clause of a query; those of an inner query belong to the clause that it stands in."""
    found: dict[str, list[str]] = {}
    depth, at = 0, ""
    for token in _folded(tokens):
        depth += (token == "(") - (token == ")")
        at = _CLAUSES.get(token, at) if depth == 0 else at
        found.setdefault(at, []).append(token)
    return found


def _change(before: Sequence[str], after: Sequence[str]) -> str:
    was, now = _written(before), _written(after)
    if not was:
        return f"{now} added"
    return f"{now} instead of {was}" if now else f"{was} left out"


def _written(tokens: Sequence[str]) -> str:
    """Tokens as one writes them.

    >>> _written(["SUM", "(", "t", ".", "a", ")", ",", "'x . y'"])
    "SUM(t.a), 'x . y'"
    """
    text = ""
    for before, token in zip(("(", *tokens), tokens, strict=False):
        close = before in "(." or token in ".,)" or (token == "(" and before.isidentifier())
        text += token if close else f" {token}"
    return text


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
