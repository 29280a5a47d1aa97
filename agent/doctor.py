"""Checks of everything an answer needs, each with what it found and how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


class Broken(Exception):
    """A check failed. `fix` says how to mend it."""

    def __init__(self, detail: str, fix: str = "") -> None:
        super().__init__(detail)
        self.fix = fix


@dataclass(frozen=True, slots=True)
class Check:
    """A named check. `run` gives what it found in a line, and raises for what is broken."""

    name: str
    run: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check came to."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def examine(checks: Iterable[Check], *, foreseen: tuple[type[Exception], ...]) -> tuple[Finding, ...]:
    """Run every check, whatever the others find. `foreseen` errors count as broken; their message names the fix.

    Any other error is a finding as well: one broken part must not hide what the checks after it say.
    """
    return tuple(_examine(check, foreseen) for check in checks)


def _examine(check: Check, foreseen: tuple[type[Exception], ...]) -> Finding:
    try:
        return Finding(check.name, True, check.run())
    except Broken as broken:
        return Finding(check.name, False, str(broken), broken.fix)
    except foreseen as error:
        return Finding(check.name, False, str(error))
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return Finding(check.name, False, detail, "This was not foreseen: please report it.")
