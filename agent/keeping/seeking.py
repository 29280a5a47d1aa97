"""What a bisection looks for: what a `forbidden` check forbids, and why other checks have no first batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from memory.brain.bisecting import BisectionError
from memory.brain.checks import Forbidden, Structure, read_checks
from memory.brain.forbidding import Needle, leaves
from memory.brain.holding import Used
from memory.episode import Episode

__all__ = ["Forbidden", "Sought", "named", "sought"]

_NAMES_THEM = (
    "is red of single episodes, whichever came first; `hebbql brain test` names them. "
    "Only forbidden checks are bisected."
)
_WHY_NOT = {
    "must_know": "is not monotone: a batch may bring what it asks for, a later one put it right or push it out again. "
    "With it red, that is no proof that it was red with fewer batches or will be with more.",
    "coverage": "is not monotone: a share rises and falls as batches come, so there is no first one that made it red.",
    "answered": "is not monotone: it is red with no batch at all, and each one can only make it greener.",
    "structure": _NAMES_THEM,
    "freshness": _NAMES_THEM,
    "contradiction": _NAMES_THEM,
}


@dataclass(frozen=True, slots=True)
class Sought:
    """What must not be recallable: the question it is recalled by, whether an episode shows it, and it in words."""

    question: str
    shows: Callable[[Episode], bool]
    told: str


def sought(check: Forbidden, *, used: Used) -> Sought:
    """What a check forbids, ready to be looked for in episodes. `used` reads which columns a query uses."""
    needle = Needle.of(check, used)
    what = next(kind for kind in ("text", "value", "column", "sql") if getattr(check, kind) is not None)
    return Sought(
        question=next(iter(check.questions), check.what),
        shows=lambda episode: any(needle.in_text(text) for text in leaves(asdict(episode))),
        told=f"the {what} {check.what!r}",
    )


def named(folder: Path, name: str) -> Forbidden:
    """The forbidden check of that name.

    Raises:
        BisectionError: there is none, or it is of a kind that has no first batch; the message says why.
    """
    loaded = read_checks(folder)
    check = loaded.named(name)
    if check is None:
        known = ", ".join(one.name for _, one in loaded.checks if isinstance(one, Forbidden)) or "none"
        faults = "".join(f" {fault.file}: {fault.text}." for fault in loaded.faults)
        raise BisectionError(f"{folder} has no check {name}. Its forbidden checks: {known}.{faults}")
    if isinstance(check, Forbidden):
        return check
    kind = "answered" if isinstance(check, Structure) and check.answered else check.kind
    raise BisectionError(f"The check {name} ({check.kind}) {_WHY_NOT[kind]}")
