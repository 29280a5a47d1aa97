"""What an improvement came to, as Markdown for people and JSON for programs, without a text of episode or question."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from agent.keeping.measuring import Measured, compared

if TYPE_CHECKING:
    from agent.keeping.gate import Improvement

SCHEMA = "hebbql.improve/1"
"""The form of `improve.json`. The number grows when something there changes its meaning or goes."""

_MEANING = {
    "accepted": "Accepted: the changes are made.",
    "unchanged": "Accepted without a change.",
    "blocked": "Blocked: no change is made, and the candidate is removed.",
    "refused": "Refused: no change is tried on a brain that is red.",
}


def report_json(found: Improvement) -> dict[str, Any]:
    """The report as plain JSON: outcome and why, hashes, changes, and what was measured before and after."""
    both = found.before and found.after
    return {
        "schema": SCHEMA,
        "id": found.id,
        "outcome": found.outcome,
        "why": found.why,
        "before": {"hash": found.hash_before, **_measured(found.before)},
        "after": {"hash": found.hash_after, **_measured(found.after)},
        "difference": asdict(compared(found.before, found.after)) if both and found.before and found.after else None,
        "counts": dict(sorted(Counter(change.rule for change in found.changes).items())),
        "changes": [
            {
                "rule": change.rule,
                "action": change.edit.action,
                "kind": change.edit.kind,
                "key": change.edit.key[1],
                "reason": change.reason,
            }
            for change in found.changes
        ],
        "cognee": list(found.cognee),
        "notes": list(found.notes),
    }


def _measured(one: Measured | None) -> dict[str, Any]:
    if one is None:
        return {"checks": None, "answers": None}
    checks = [{"name": check.name, "kind": check.kind, "ok": check.ok} for check in one.checks]
    answers = [{**asdict(answer), "question": _digest(answer.question)} for answer in one.answers]
    return {"checks": checks, "answers": answers}


def _digest(question: str) -> str:
    """What tells a question from others without a word of it: the report outlives what is erased.

    >>> _digest("How many boats?")
    'b3c7a8b7a1fa'
    """
    return sha256(question.encode("utf-8", "replace")).hexdigest()[:12]


def report_markdown(found: Improvement) -> str:
    """The report for people: what was decided, the scores, and each change of an episode with its reason."""
    lines = [
        f"# {found.id}",
        "",
        f"**{_MEANING[found.outcome]}** {found.why}",
        "",
        *(line for note in found.notes for line in (note, "")),
        "| | before | after |",
        "|---|---|---|",
        f"| hash | `{found.hash_before[:12]}` | `{found.hash_after[:12]}` |",
        f"| checks green | {_checks(found.before)} | {_checks(found.after)} |",
        f"| holdout right | {_right(found.before)} | {_right(found.after)} |",
    ]
    if found.before and found.after and found.before.answers:
        both = compared(found.before, found.after)
        lines += ["", f"{both.gained} questions are newly right, {both.lost} no longer, of {both.total}."]
    lines += ["", *_changes(found)]
    lines += ["", *(f"{line}" for line in found.cognee)]
    return "\n".join(lines).rstrip() + "\n"


def _changes(found: Improvement) -> list[str]:
    if not found.changes:
        return ["No episode or weight would change."]
    counts = Counter(change.rule for change in found.changes if change.edit.kind == "episode")
    told = ", ".join(f"{count} {rule}" for rule, count in sorted(counts.items())) or "no episode"
    weights = sum(change.edit.kind == "synapse" for change in found.changes)
    many = "change" if len(found.changes) == 1 else "changes"
    lines = [f"{len(found.changes)} {many}: {told}; {weights} of weights.", ""]
    for change in found.changes:
        if change.edit.kind == "episode":
            lines.append(f"- {change.rule}, {change.edit.action}: `{change.edit.key[1]}`: {change.reason}")
    return lines


def _checks(one: Measured | None) -> str:
    if one is None:
        return "not measured"
    return f"{len(one.checks) - len(one.red)} of {len(one.checks)}"


def _right(one: Measured | None) -> str:
    if one is None:
        return "not measured"
    return f"{one.right} of {len(one.answers)}" if one.answers else "none asked"
