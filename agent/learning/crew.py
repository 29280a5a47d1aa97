"""Several questions at once, of a model that answers over the network. All else is done by one thread at a time.

An attempt is worked on by the thread that holds the baton. It is given away only while the model is asked, so that
ledger, runner and recall, which know nothing of threads, are used from one at a time, and so is a frozen value that
several would change. What a provider may be asked at once is all that is gained, and it is all that takes long.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from agent.learning.questions import Pair
from agent.learning.steps import Step
from agent.models.port import Model, Prompt, Reply, origin_of

Ask = Callable[[Pair], Step]


class _CutOff(BaseException):
    """The crew was sent home while this thread waited for the model. No `except Exception` may hold it up."""


class Baton:
    """What a thread holds while it works. There is one, and who wants it waits."""

    def __init__(self) -> None:
        # It knows its owner from the moment on that it is taken, so that no interrupt comes between the two.
        self._lock = threading.RLock()
        self._mine = threading.local()

    def model(self, inner: Model) -> Model:
        """The same model, during whose calls another thread may work."""
        return _Yielding(inner, self)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it for the block; a thread that holds it already keeps it."""
        if self._is_mine():
            yield
            return
        try:
            self._take()
            yield
        finally:
            self._give()

    @contextmanager
    def given_away(self) -> Iterator[None]:
        """Let others have it for the block; a thread that does not hold it just goes on."""
        if not self._is_mine():
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take()

    def _belongs_to(self, crew: _Crew) -> None:
        """Make the calling thread one of a crew, which gets it no more once the crew is sent home."""
        self._mine.crew = crew

    def _is_mine(self) -> bool:
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]

    def _take(self) -> None:
        self._lock.acquire()
        crew: _Crew | None = getattr(self._mine, "crew", None)
        if crew is not None and crew.sent_home:
            self._give()
            raise _CutOff

    def _give(self) -> None:
        if self._is_mine():  # not where a wait for it was interrupted
            self._lock.release()


class _Yielding:
    """A model that gives the baton away for as long as it is asked."""

    def __init__(self, inner: Model, baton: Baton) -> None:
        self._inner = inner
        self._baton = baton

    @property
    def name(self) -> str:
        return self._inner.name

    def origin(self) -> str:
        return origin_of(self._inner)

    def complete(self, prompt: Prompt) -> Reply:
        with self._baton.given_away():
            return self._inner.complete(prompt)

    def close(self) -> None:
        self._inner.close()


def steps(pairs: Sequence[Pair], ask: Ask, *, workers: int, baton: Baton) -> Iterator[Step]:
    """Ask questions, so many at once; steps come as they are done, and the caller has the baton while it has one.

    One worker is a plain loop in the thread of the caller. More are threads; what `ask` raises in one of them stops the
    others from taking another question, the steps of those that were begun still come, and then it is raised. Ctrl-C,
    or closing the iterator, waits for the thread that has the baton but not for the model: whoever waits for that
    never comes to work on its attempt again.
    """
    if workers <= 1:
        for pair in pairs:
            yield ask(pair)
        return
    with baton.held():
        crew = _Crew(ask, baton, deque(pairs))
        try:
            yield from crew.work(min(workers, len(pairs)))
        finally:
            crew.sent_home = True
            with baton.held():
                """Where the wait for it was interrupted, somebody is at work still."""


@dataclass(frozen=True, slots=True)
class _Left:
    """A worker left, for want of questions or because of what it met."""

    problem: BaseException | None = None


@dataclass(slots=True)
class _Crew:
    """Threads that take questions from one line. What they share is touched by the holder of the baton alone."""

    ask: Ask
    baton: Baton
    line: deque[Pair]
    sent_home: bool = False
    done: queue.SimpleQueue[Step | _Left] = field(default_factory=queue.SimpleQueue)

    def work(self, workers: int) -> Iterator[Step]:
        for number in range(workers):
            # Daemons: nobody waits at the end of the process for a model that was given up. Cognee and others keep
            # what they know in context variables, which a new thread would not see.
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=(self._worker,), name=f"asks-{number}", daemon=True).start()
        problem: BaseException | None = None
        while workers:
            with self.baton.given_away():
                outcome = self._next()
            if isinstance(outcome, Step):
                yield outcome
                continue
            workers -= 1
            problem = problem or outcome.problem
        if problem is not None:
            raise problem

    def _next(self) -> Step | _Left:
        try:
            return self.done.get()
        except BaseException:  # Ctrl-C: say it before waiting for the baton, so that nobody begins anything
            self.sent_home = True
            raise

    def _worker(self) -> None:
        self.baton._belongs_to(self)
        try:
            with self.baton.held():
                while self.line and not self.sent_home:
                    self.done.put(self.ask(self.line.popleft()))
            self.done.put(_Left())
        except _CutOff:
            self.done.put(_Left())
        except BaseException as problem:
            self.line.clear()
            self.done.put(_Left(problem))
