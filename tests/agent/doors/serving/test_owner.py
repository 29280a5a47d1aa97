"""The one thread that owns what is opened: its line, its deadlines, and which brain has its store open."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agent.doors.serving.owner import Owner
from agent.doors.serving.problems import TimedOut, TooBusy, Unavailable


class Brain:
    """What the owner needs of an app."""

    def __init__(self, tenant: str, open_stores: set[str]) -> None:
        self.tenant, self._open = tenant, open_stores

    def recall(self) -> set[str]:
        """Opens the store, and gives all that are open."""
        self._open.add(self.tenant)
        return set(self._open)

    def let_go_of_store(self) -> None:
        self._open.discard(self.tenant)

    def warm_up(self) -> None: ...


class Place:
    """An owner with brains that say what became of them."""

    def __init__(self, **how: Any) -> None:
        self.stores: set[str] = set()
        self.log: list[str] = []

        @contextmanager
        def open_brain(tenant: str, house: Any) -> Iterator[Any]:
            assert (house is None) == (tenant == "home")
            self.log.append(f"open {tenant}")
            yield Brain(tenant, self.stores)
            self.stores.discard(tenant)
            self.log.append(f"close {tenant}")

        self.owner = Owner(open_brain=open_brain, house="home", **how)
        self.owner.start()


@pytest.fixture
def place() -> Iterator[Callable[..., Place]]:
    places: list[Place] = []

    def make(**how: Any) -> Place:
        places.append(Place(**how))
        return places[-1]

    yield make
    for one in places:
        one.owner.stop()


def recalled(app: Any) -> set[str]:
    found: set[str] = app.recall()
    return found


def test_only_one_brain_has_its_store_open_whoever_asks(place: Callable[..., Place]) -> None:
    owner = place().owner

    async def ask() -> list[set[str]]:
        return [await owner.do(tenant, recalled, seconds=30) for tenant in ("home", "a", "b", "a", "home")]

    assert asyncio.run(ask()) == [{"home"}, {"a"}, {"b"}, {"a"}, {"home"}]


def test_brains_that_nobody_asked_for_longest_are_closed_and_the_house_last(place: Callable[..., Place]) -> None:
    made = place(most_open=2)

    async def ask() -> None:
        for tenant in ("a", "b", "a", "c"):
            await made.owner.do(tenant, recalled, seconds=30)

    asyncio.run(ask())
    assert made.log == ["open home", "open a", "open b", "close b", "open c"]
    made.owner.stop()
    assert made.log[-1] == "close home" and set(made.log[-3:-1]) == {"close a", "close c"}


def test_requests_that_find_the_line_full_are_turned_away(place: Callable[..., Place]) -> None:
    owner, free, began = place(most_waiting=1).owner, threading.Event(), threading.Event()

    def hold(_app: Any) -> str:
        began.set()
        free.wait(30)
        return "done"

    async def ask() -> None:
        first = asyncio.create_task(owner.do("home", hold, seconds=30))
        while not began.is_set():
            await asyncio.sleep(0.01)
        second = asyncio.create_task(owner.do("home", hold, seconds=30))
        while owner.waiting == 0:
            await asyncio.sleep(0.01)
        with pytest.raises(TooBusy):
            await owner.do("home", hold, seconds=30)
        free.set()
        assert await first == await second == "done"

    asyncio.run(ask())


def test_work_whose_time_is_up_is_closed_at_its_next_step_and_the_owner_goes_on(place: Callable[..., Place]) -> None:
    owner, closed = place().owner, threading.Event()

    def endless(_app: Any) -> Iterator[int]:
        try:
            for number in range(10_000):
                time.sleep(0.01)
                yield number
        finally:
            closed.set()

    async def ask() -> None:
        seen = []
        with pytest.raises(TimedOut):
            async for number in owner.stream("home", endless, seconds=0.3):
                seen.append(number)
        assert seen[:2] == [0, 1]
        assert await owner.do("home", recalled, seconds=30) == {"home"}
        assert closed.is_set()

    asyncio.run(ask())


def test_work_that_nobody_listens_to_any_more_is_closed(place: Callable[..., Place]) -> None:
    owner, closed = place().owner, threading.Event()

    def endless(_app: Any) -> Iterator[int]:
        try:
            while True:
                time.sleep(0.01)
                yield 1
        finally:
            closed.set()

    async def ask() -> None:
        events = owner.stream("home", endless, seconds=60)
        async for _ in events:
            break
        await events.aclose()
        assert await owner.do("home", recalled, seconds=30) == {"home"}
        assert closed.is_set()

    asyncio.run(ask())


def test_what_waited_longer_than_its_time_is_not_begun(place: Callable[..., Place]) -> None:
    owner, begun = place().owner, []

    def hold(_app: Any) -> None:
        time.sleep(0.5)

    async def ask() -> None:
        first = asyncio.create_task(owner.do("home", hold, seconds=30))
        await asyncio.sleep(0.05)
        with pytest.raises(TimedOut):
            await owner.do("home", lambda _app: begun.append(1), seconds=0.1)
        await first

    asyncio.run(ask())
    assert begun == []


def test_what_work_raises_reaches_who_asked_and_the_owner_goes_on(place: Callable[..., Place]) -> None:
    owner = place().owner

    def fail(_app: Any) -> None:
        raise ValueError("mine")

    async def ask() -> None:
        with pytest.raises(ValueError, match="mine"):
            await owner.do("home", fail, seconds=30)
        assert await owner.do("home", recalled, seconds=30) == {"home"}

    asyncio.run(ask())
    owner.stop()
    with pytest.raises(Unavailable):
        asyncio.run(owner.do("home", recalled, seconds=1))


def test_a_house_that_cannot_be_opened_is_told_to_who_starts_it() -> None:
    def refuse(_tenant: str, _house: Any) -> Any:
        raise OSError("no such database")

    with pytest.raises(OSError, match="no such database"):
        Owner(open_brain=refuse, house="home").start()
