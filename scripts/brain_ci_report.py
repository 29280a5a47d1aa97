#!/usr/bin/env python3
"""What a change of the brain comes to, and the Markdown that tells it. `scripts/brain_ci` fills it in.

Whatever comes out of a brain, a check or a file name is data: it stands in blocks that nothing in it can close, one
line each, with signs that hide or turn text round written as their numbers. The text fits into a comment of GitHub,
and says what was left out.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent.keeping.measuring import Answered, Measured, compared, is_worse  # noqa: E402
from memory.brain.checks import Checked, Evidence  # noqa: E402
from memory.brain.differences import Edit, counted, in_words, worth_telling  # noqa: E402
from scripts.brain_ci_posting import MARKER, MOST, ROOM, length  # noqa: E402

LINE = 700
"""Characters of one line of data that are shown."""

_EVIDENCE, _CHECKS, _REFUSED, _GONE = 8_000, 6_000, 4_000, 2_000
"""Bytes that a list takes at most; what changed in the brain takes what is left."""

_NAME, _NAMES = 80, 300
"""Characters of one name, and of several, inside a line. Each can take six bytes."""

_MOST = 20
"""Reasons, red checks and questions that are named."""

_HIDING = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KINDS = ("episode", "term", "lesson", "schema", "synapse")


NOTHING = Measured((), ())


@dataclass(frozen=True, slots=True)
class Brain:
    """One brain as it was built and measured. `error` says why it could not be; then nothing else is known.

    `also` are the results of the base's own checks that the change takes away or changes. `same`: it knows just what
    its file says. `stale`: its seed pack and its glossary say something else than its file.
    """

    commit: str
    error: str = ""
    hash: str = ""
    same: bool = True
    stale: bool = False
    episodes: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    other_results: tuple[str, ...] = ()
    measured: Measured = NOTHING
    also: tuple[Checked, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, commit: str, told: Mapping[str, Any]) -> Brain:
        """Read what `scripts/brain_ci_measure.py` printed."""
        if told["error"]:
            return cls(commit, told["error"])
        return cls(
            commit,
            "",
            told["hash"],
            told["same"],
            told["stale"],
            told["episodes"],
            tuple((one["name"], one["reason"]) for one in told["refused"]),
            tuple(told["other_results"]),
            Measured(_checked(told["checks"]), tuple(Answered(**one) for one in told["answers"])),
            _checked(told["also"]),
            tuple(told["left_out"]),
        )


def _checked(told: Sequence[Mapping[str, Any]]) -> tuple[Checked, ...]:
    return tuple(Checked(**{**one, "evidence": tuple(Evidence(**found) for found in one["evidence"])}) for one in told)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a change is red: in our words, and the data that it is about."""

    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A change of the brain: what was before, what is after, and what differs.

    `before` is None where there was no brain, `after` None where there is none any more. `gone` are ids that the file
    newly keeps out (+) or no longer does (-). `checks` are those that were added (+), taken away or changed (-, +).
    """

    base: str
    head: str
    before: Brain | None
    after: Brain | None
    edits: tuple[Edit, ...] = ()
    gone: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", tuple(_reasons(self)))

    @property
    def ok(self) -> bool:
        return not self.reasons

    @property
    def changed(self) -> bool:
        """Whether the brain or a check is another one."""
        return bool(self.edits or self.gone or self.checks)


def _reasons(found: Comparison) -> Iterable[Reason]:
    after, before = found.after, found.before
    if after is None:
        yield Reason("the accepted brain is no longer there")
        return
    if after.error:
        yield Reason("the brain cannot be built", after.error)
        return
    if after.refused:
        yield Reason(f"{_many(len(after.refused), 'record')} of the brain were refused", after.refused[0][0])
    elif not after.same:
        yield Reason("what is built knows something else than the file says")
    if after.stale:
        yield Reason("the brain is not what its seed pack and glossary make; run scripts/build_brain.py")
    for one in after.measured.red:
        yield Reason("a check is red", one.name)
    if before is None or before.error:
        return
    held = {one.name for one in before.measured.checks if one.ok}
    for one in after.also:
        if not one.ok and one.name in held:
            yield Reason("a check that this changes or takes away was green, and would be red", one.name)
    if found.head != found.base and before.measured.answers:
        difference = compared(before.measured, after.measured)
        if is_worse(difference):
            yield Reason(
                f"{difference.lost} questions are no longer right and {difference.gained} newly are, "
                f"which is no accident (p = {difference.p / 2:.3f})"
            )


def result(found: Comparison) -> dict[str, Any]:
    """The comparison for programs."""
    return {
        "schema": "hebbql.brain-check/1",
        "ok": found.ok,
        "base": found.base,
        "head": found.head,
        "reasons": [asdict(one) for one in found.reasons],
        "before": asdict(found.before) if found.before else None,
        "after": asdict(found.after) if found.after else None,
        "counts": counted(found.edits),
        "gone": list(found.gone),
        "checks": list(found.checks),
    }


def comment(found: Comparison, *, note: str = "") -> str:
    """The comment of a change: it begins with the marker, and is never longer than GitHub takes."""
    state = "green" if found.ok else "red"
    lines = [MARKER, f"## Brain: {state}", ""]
    lines += [f"- {one.text}" + (f": {inline(one.about)}" if one.about else "") for one in found.reasons[:_MOST]]
    if len(found.reasons) > _MOST:
        lines.append(f"- and {len(found.reasons) - _MOST:,} more reasons, in the files of this run")
    if found.ok:
        lines.append(
            "Every check is green, and the answers are no worse." if found.changed else "Nothing changed in it."
        )
    if note:
        lines += ["", note]
    lines += ["", *scores(found), "", *checks(found)]
    head = "\n".join(lines).rstrip()
    room = MOST - ROOM - length(head) - 10
    return f"{head}\n\n{changes(found, room=room)}\n"


def scores(found: Comparison) -> list[str]:
    """A table of both brains, and which questions changed sides."""
    before, after = found.before, found.after
    if after is None or after.error:
        return []
    rows = [
        ("commit", *(f"`{commit[:12]}`" for commit in (found.base, found.head))),
        ("hash", *(_of(one, lambda one: f"`{one.hash[:12]}`") for one in (before, after))),
        ("episodes", *(_of(one, lambda one: f"{one.episodes:,}") for one in (before, after))),
        ("checks green", *(_of(one, _green) for one in (before, after))),
        ("questions right", *(_of(one, _right) for one in (before, after))),
        ("of these by habit, adapted", *(_of(one, _paths) for one in (before, after))),
    ]
    lines = ["| | base | head |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    if before and before.measured.answers and after.measured.answers:
        was = {one.question: one.right for one in before.measured.answers}
        both = [one for one in after.measured.answers if one.question in was]
        told = compared(before.measured, after.measured)
        lines += [
            "",
            f"Answered without a model: {told.gained} newly right, {told.lost} no longer, of {told.total} asked of "
            f"both (McNemar, exact, two-sided: p = {told.p:.3f}).",
        ]
        for text, sign in (("No longer right", False), ("Newly right", True)):
            names = [one.question for one in both if one.right is sign and was[one.question] is not sign]
            if names:
                more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
                lines.append(f"{text}: {inline(', '.join(names[:_MOST]), most=_NAMES)}{more}.")
        if after.left_out:
            lines.append(f"Left out, as their own SQL does not hold: {inline(', '.join(after.left_out), most=_NAMES)}.")
    return lines


def checks(found: Comparison) -> list[str]:
    """What red checks found, what was refused, and which checks are others than before."""
    lines: list[str] = []
    for where, brain in (("base", found.before), ("head", found.after)):
        if brain and brain.error:
            lines += [f"The brain of the {where} cannot be built:", *block([brain.error], room=_GONE), ""]
    if found.after:
        red = (*found.after.measured.red, *(one for one in found.after.also if not one.ok))
        for one in red[:_MOST]:
            told = [f"{one.name} ({one.kind}): {one.reason}"]
            told += [" · ".join(part for part in (e.place, e.id, e.line) if part) for e in one.evidence]
            room = max(_EVIDENCE - length("\n".join(lines)), 0)
            lines += [f"Red: {inline(one.name)}", *block(told, room=room), ""]
        if found.after.refused:
            told = [f"{name}: {reason}" for name, reason in found.after.refused]
            lines += ["Refused:", *block(told, room=_REFUSED), ""]
        if found.after.other_results:
            told = list(found.after.other_results)
            lines += ["Other results than when they were verified:", *block(told, room=_REFUSED), ""]
    if found.checks:
        lines += ["**Checks that this change makes others:**", *block(found.checks, room=_CHECKS, language="diff"), ""]
    return lines


def changes(found: Comparison, *, room: int) -> str:
    """What differs between both brains, in at most `room` bytes; what is left out is counted."""
    if not found.edits and not found.gone:
        return "The brain itself is the same." if found.after and found.before else ""
    told = worth_telling(found.edits)
    small = len(found.edits) - len(told)
    counts = ", ".join(
        f"{kind}s " + " ".join(f"{_SIGN[action]}{count}" for action, count in actions.items() if count)
        for kind, actions in counted(found.edits).items()
    )
    lines = [f"### What changes: {counts or 'what is kept out'}", ""]
    lines += [f"{_many(small, 'weight')} moved less than is worth telling.", ""] if small else []
    if found.gone:
        lines += ["Kept out for good (+), or no longer (-):", *block(found.gone, room=_GONE, language="diff"), ""]
    ordered = sorted(told, key=lambda edit: (_KINDS.index(edit.kind), _ACTIONS.index(edit.action)))
    head = "\n".join(lines)
    many = [(edit.kind, line) for edit in ordered for line in edit_lines(edit)]
    shown = block(
        [line for _, line in many], room=room - length(head) - 200, language="diff", what=[k for k, _ in many]
    )
    return "\n".join([head, *shown]).rstrip()


_SIGN = {"added": "+", "removed": "-", "changed": "~"}
_ACTIONS = ("added", "changed", "removed")


def edit_lines(edit: Edit) -> tuple[str, ...]:
    """One edit in words: a changed record as what it was and what it is."""
    if edit.before is None or edit.after is None or edit.kind == "synapse":
        return (in_words(edit),)
    return in_words(Edit(edit.before, None)), f"{in_words(Edit(None, edit.after))} (changed: {', '.join(edit.changed)})"


def block(lines: Sequence[str], *, room: int, language: str = "text", what: Sequence[str] | None = None) -> list[str]:
    """Lines of data in a fenced block of at most about `room` bytes, and how many lines are left out.

    `what` names the kind of each line, for the count of those that are left out.
    """
    shown: list[str] = []
    for line in map(plain, lines):
        room -= length(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    runs = [len(run) for line in shown for run in re.findall("`+", line)]
    fence = "`" * max(3, 1 + max(runs, default=0))
    told = [f"{fence}{language}", *shown, fence] if shown else []
    if left:
        kinds = Counter(what[len(shown) :]) if what else Counter()
        of = f" ({', '.join(f'{count} of {kind}s' for kind, count in kinds.items())})" if kinds else ""
        told += ["", f"**{_many(left, 'more line')} left out here{of}: all of them are in the files of this run.**"]
    return told


def plain(text: str) -> str:
    r"""One line of data: signs that would end, hide or turn it round stand as their numbers; long ones are cut.

    >>> plain("a\nb\u202ec @me")
    'a\\u000ab\\u202ec @\u200bme'
    """
    text = text if len(text) <= LINE else f"{text[:LINE]} … ({len(text) - LINE:,} more characters)"
    told = "".join(f"\\u{ord(sign):04x}" if unicodedata.category(sign) in _HIDING else sign for sign in text)
    return re.sub(r"@(?=[A-Za-z0-9])", "@\u200b", told)


def inline(text: str, *, most: int = _NAME) -> str:
    """Data inside a line of Markdown: nothing in it is taken for Markdown, HTML or a mention.

    >>> inline("<b>`x`")
    '<code>&#60;b&#62;&#96;x&#96;</code>'
    """
    told = plain(text if len(text) <= most else f"{text[:most]} …")
    return f"<code>{''.join(s if s.isalnum() or s in ' -,' or ord(s) > 127 else f'&#{ord(s)};' for s in told)}</code>"


def gone_lines(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Which episodes a file newly keeps out, or no longer does.

    >>> gone_lines({"a": "forgotten"}, {"b": "erased"})
    ('- a forgotten', '+ b erased')
    """
    lines = [f"- {id} {state}" for id, state in sorted(before.items()) if after.get(id) != state]
    return (*lines, *(f"+ {id} {state}" for id, state in sorted(after.items()) if before.get(id) != state))


def check_lines(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, ...]:
    """Which checks were taken away, changed or added, each as JSON after its name.

    >>> check_lines({"a": {"days": 1}}, {"a": {"days": 9}})
    ('- a {"days": 1}', '+ a {"days": 9}')
    """
    lines = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            sides = ((sign, side[name]) for sign, side in (("-", before), ("+", after)) if name in side)
            lines += [f"{sign} {name} {json.dumps(body, ensure_ascii=False)}" for sign, body in sides]
    return tuple(lines)


def _of(one: Brain | None, tell: Any) -> str:
    if one is None:
        return "none"
    return str(tell(one)) if not one.error else "not built"


def _green(one: Brain) -> str:
    return f"{len(one.measured.checks) - len(one.measured.red)} of {len(one.measured.checks)}"


def _right(one: Brain) -> str:
    return f"{one.measured.right} of {len(one.measured.answers)}" if one.measured.answers else "none asked"


def _paths(one: Brain) -> str:
    paths = Counter(answer.path for answer in one.measured.answers if answer.right)
    return f"{paths['habit']}, {paths['adapted']}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


if __name__ == "__main__":
    sys.exit("Use scripts/brain_ci.")
