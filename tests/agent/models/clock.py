"""A time for tests of waiting."""

from __future__ import annotations


class Time:
    """A clock that only sleeping and calling move."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
