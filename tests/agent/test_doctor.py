"""What examining comes to when checks pass, fail and break."""

from __future__ import annotations

import pytest

from agent.doctor import Broken, Check, Finding, examine


class Foreseen(Exception):
    """What a check may raise."""


def _raises(error: BaseException) -> str:
    raise error


def test_every_check_is_run_whatever_the_others_find() -> None:
    findings = examine(
        (
            Check("first", lambda: "all well"),
            Check("second", lambda: _raises(Broken("half empty", "Fill it."))),
            Check("third", lambda: _raises(Foreseen("gone. Put it back."))),
            Check("fourth", lambda: _raises(OSError("disk on fire"))),
            Check("fifth", lambda: "well too"),
        ),
        foreseen=(Foreseen,),
    )
    assert findings == (
        Finding("first", True, "all well"),
        Finding("second", False, "half empty", "Fill it."),
        Finding("third", False, "gone. Put it back."),
        Finding("fourth", False, "OSError: disk on fire", "This was not foreseen: please report it."),
        Finding("fifth", True, "well too"),
    )


def test_nothing_to_examine_finds_nothing() -> None:
    assert examine((), foreseen=()) == ()


def test_a_person_who_interrupts_is_obeyed() -> None:
    with pytest.raises(KeyboardInterrupt):
        examine((Check("slow", lambda: _raises(KeyboardInterrupt())),), foreseen=(Foreseen,))
