"""The one thread that owns what is opened: brains, their episode stores and the model.

Ledger, Cognee and the local model each take one user at a time, so requests stand in a line of bounded length and the
owner does one after the other. Work is a generator over an opened app; whatever it yields goes to who asked at once.
Between two of those the owner looks whether time is up or nobody listens any more, and then closes the generator.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from agent.doors.serving.problems import ServingError, TimedOut, TooBusy, Unavailable

if TYPE_CHECKING:
    from agent.app import App

T = TypeVar("T")

Work = Callable[["App"], Iterator[T]]
OpenBrain = Callable[[str, "App | None"], AbstractContextManager["App"]]
"""Opens the brain of a tenant beside that of the house, which is opened first, for `None`."""

_END = object()


@dataclass(frozen=True, slots=True)
class _Failure:
    error: BaseException


@dataclass(slots=True)
class _Job(Generic[T]):
    tenant: str
    work: Work[T]
    until: float
    loop: asyncio.AbstractEventLoop
    told: asyncio.Queue[object] = field(default_factory=asyncio.Queue)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def is_over(self) -> bool:
        return self.cancelled.is_set() or time.monotonic() >= self.until

    def tell(self, what: object) -> None:
        try:
            self.loop.call_soon_threadsafe(self.told.put_nowait, what)
        except RuntimeError:  # the loop was closed: nobody listens
            self.cancelled.set()


class Owner:
    """Owns the opened brains of all tenants.

    `house` is the tenant whose brain is opened first and stays open, as do those in `ready`. The others are opened when
    first asked, at most `most_open` of them at a time. `most_waiting` requests wait at most.
    """

    def __init__(
        self,
        *,
        open_brain: OpenBrain,
        house: str,
        ready: Sequence[str] = (),
        most_waiting: int = 64,
        most_open: int = 8,
    ) -> None:
        self._open_brain, self._house, self._ready, self._most_open = open_brain, house, ready, most_open
        self._line: queue.Queue[_Job[object] | None] = queue.Queue(most_waiting)
        self._opened: OrderedDict[str, tuple[App, ExitStack]] = OrderedDict()
        self._reading: str | None = None
        self._started: queue.Queue[BaseException | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._busy_since: float | None = None
        self.is_warm = False

    def start(self) -> None:
        """Open the house and begin. Raises what opening it raises."""
        self._thread = threading.Thread(target=self._serve, name="hebbql-owner")
        self._thread.start()
        failure = self._started.get()
        if failure is not None:
            self._thread.join()
            raise failure

    def stop(self) -> None:
        """Finish what is being done, turn the rest away, close every brain."""
        if self._thread is not None:
            self._line.put(None)
            self._thread.join()
            self._thread = None

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def waiting(self) -> int:
        return self._line.qsize()

    @property
    def busy_seconds(self) -> float:
        """How long the owner has been at what it does now; 0 where it waits."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    @property
    def house(self) -> App | None:
        """The app of the house, for what may be read from any thread; None before it is open and after."""
        found = self._opened.get(self._house)
        return found[0] if found else None

    async def stream(self, tenant: str, work: Work[T], *, seconds: float) -> AsyncGenerator[T]:
        """Do work on a tenant's brain within so many seconds, waiting included; gives what it yields, when it does.

        Closing this ends the work at the next thing it would yield.

        Raises:
            TooBusy, TimedOut, Unavailable: why nothing more comes. What the work raises is raised here.
        """
        job: _Job[T] = _Job(tenant, work, time.monotonic() + seconds, asyncio.get_running_loop())
        if not self.is_alive:
            raise Unavailable("The server is ending. Start it again: hebbql serve.")
        try:
            self._line.put_nowait(cast("_Job[object]", job))
        except queue.Full:
            raise TooBusy("Too many requests are waiting. Try again in a moment.", again=5) from None
        try:
            while True:
                # A model that takes longer than its own deadline must not hold who asked.
                left = max(0.0, job.until - time.monotonic()) + 1.0
                try:
                    told = await asyncio.wait_for(job.told.get(), left)
                except TimeoutError:
                    raise TimedOut(f"This took longer than {seconds:.0f} s and was ended. Ask less.") from None
                if told is _END:
                    return
                if isinstance(told, _Failure):
                    raise told.error
                yield cast("T", told)
        finally:
            job.cancelled.set()

    async def do(self, tenant: str, work: Callable[[App], T], *, seconds: float) -> T:
        """Do work that gives one thing. For what it raises see `stream`."""

        def once(app: App) -> Iterator[T]:
            yield work(app)

        async for given in self.stream(tenant, once, seconds=seconds):
            return given
        raise Unavailable("The server is ending. Start it again: hebbql serve.")

    def _serve(self) -> None:
        with ExitStack() as everything:
            everything.callback(self._close_all)
            try:
                house = self._app(self._house)
            except BaseException as failure:
                self._started.put(failure)
                return
            self._started.put(None)
            self._get_warm(house)
            self.is_warm = True
            while (job := self._line.get()) is not None:
                self._busy_since = time.monotonic()
                try:
                    self._do(job)
                finally:
                    self._busy_since = None
            self._turn_away()

    def _get_warm(self, house: App) -> None:
        """Import and load what the first question would have to wait for. What goes wrong is said by a question."""
        self._busy_since = time.monotonic()
        try:
            for tenant in self._ready:
                self._app(tenant)
            self._app(self._house).warm_up()
        except Exception as trouble:
            house.say(str(trouble))
        finally:
            self._busy_since = None

    def _do(self, job: _Job[object]) -> None:
        if job.is_over():
            job.tell(_Failure(TimedOut("This waited too long behind others and was not begun. Try again.", again=5)))
            return
        try:
            app = self._app(job.tenant)
            work = job.work(app)
            try:
                for given in work:
                    job.tell(given)
                    if job.is_over():
                        job.tell(_Failure(TimedOut("This took too long and was ended between two steps. Ask less.")))
                        return
            finally:
                close = getattr(work, "close", None)
                if close is not None:
                    close()
        except BaseException as failure:
            job.tell(_Failure(failure))
            if not isinstance(failure, Exception):
                raise
        else:
            job.tell(_END)

    def _app(self, tenant: str) -> App:
        """The opened app of a tenant, alone in having its episode store open."""
        if self._reading != tenant:
            if self._reading is not None and self._reading in self._opened:
                self._opened[self._reading][0].let_go_of_store()
            self._reading = tenant
        if tenant not in self._opened:
            self._make_room()
            opened = ExitStack()
            self._opened[tenant] = opened.enter_context(self._open_brain(tenant, self.house)), opened
        self._opened.move_to_end(tenant)
        return self._opened[tenant][0]

    def _make_room(self) -> None:
        others = [one for one in self._opened if one != self._house and one not in self._ready]
        for tenant in others[: max(0, len(others) - self._most_open + 1)]:
            self._opened.pop(tenant)[1].close()

    def _close_all(self) -> None:
        """Close in reverse: the house last, as the others use its database and model."""
        for tenant in sorted(self._opened, key=lambda one: one == self._house):
            self._opened.pop(tenant)[1].close()

    def _turn_away(self) -> None:
        ending: ServingError = Unavailable("The server is ending. Start it again: hebbql serve.")
        while True:
            try:
                job = self._line.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job.tell(_Failure(ending))
