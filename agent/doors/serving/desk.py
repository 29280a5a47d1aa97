"""The one desk behind page, API and tools: checks who asks, counts, and hands the work to the owner.

Every door calls `ask` or `run` and nothing else, so that permission, quota, deadline and tenant hold for all of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, get_tracer

from agent.doors.opening import load_app
from agent.doors.serving.identity import allow
from agent.doors.serving.problems import Unavailable, Unusable
from agent.doors.serving.roles import Identity, Permission
from agent.doors.serving.telling import Event, checked, grown, unmixed

if TYPE_CHECKING:
    from agent.app import App
    from agent.attempt import Attempt
    from agent.doors.serving.metrics import Metrics
    from agent.doors.serving.owner import Owner
    from agent.doors.serving.quotas import Quotas

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """A question and how it is to be answered; `None` leaves it to the settings of the server.

    `columns` asks for the text of the command line too, so wide; `colors` are Rich's name of a terminal's.
    `options` and `every` are those of `rendering.Showing`.
    """

    question: str
    memory: bool = True
    habits: bool | None = None
    approach: str | None = None
    think: str | None = None
    columns: int | None = None
    colors: str | None = None
    options: str = ""
    every: bool = False

    def choices(self) -> dict[str, Any]:
        given = {"habits": self.habits, "approach": self.approach, "think": self.think}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Deadlines:
    """Seconds that a request may take, waiting included: a question, an audit, anything else."""

    ask: float = 180.0
    audit: float = 120.0
    other: float = 30.0


USUAL = Deadlines()


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Takes requests of identities; see the module."""

    owner: Owner
    quotas: Quotas
    metrics: Metrics
    deadlines: Deadlines = USUAL

    async def ask(self, who: Identity, asking: Asking) -> AsyncGenerator[Event]:
        """Answer a question for a tenant; yields what is known as it becomes known, the whole answer last.

        Raises:
            ServingError: why there is no answer.
        """
        allow(who, Permission.ASK)
        work = partial(self._answering, who, asking, get_current())
        with self.quotas.running(who), translated(who):
            async with aclosing(self.owner.stream(who.tenant, work, seconds=self.deadlines.ask)) as events:
                async for event in events:
                    yield event

    async def answer(self, who: Identity, asking: Asking) -> dict[str, Any]:
        """The whole answer alone. Raises ServingError."""
        async with aclosing(self.ask(who, asking)) as events:
            async for event in events:
                if event.name == "answer":
                    return event.data
        raise Unavailable("No answer came. Ask again.")

    async def run(
        self, who: Identity, permission: Permission, work: Callable[[App], T], *, seconds: float | None = None
    ) -> T:
        """Do work on the brain of a tenant, if the role may. Ids of episodes in what it gives are checked.

        Raises:
            ServingError: why it was not done.
        """
        allow(who, permission)
        with self.quotas.running(who), translated(who):
            return await self.owner.do(
                who.tenant, lambda app: _checked(app, work(app)), seconds=seconds or self.deadlines.other
            )

    def _answering(self, who: Identity, asking: Asking, within: Context, app: App) -> Iterator[Event]:
        """Runs in the owner's thread; its span is `within` that of the request, and holds no word of the question."""
        from agent.doors import rendering

        self.quotas.afford(who)
        span = get_tracer("hebbql").start_span("hebbql.answer", context=within, attributes={"hebbql.role": who.role})
        began, last = time.monotonic(), None
        chosen = app.choosing(memory=asking.memory, **asking.choices())
        showing = rendering.Showing.of(chosen, options=asking.options, every=asking.every)
        try:
            for attempt in chosen.ask(asking.question):
                before, last = last, attempt
                for event in grown(before, attempt, showing):
                    data = _without_places(who, checked(app, event.data))
                    if event.name == "result":
                        data = unmixed(app, attempt.sql, attempt.result, data)
                    yield Event(event.name, data)
        finally:
            if last is None or last.status is None:
                app.give_up()
            self._count(who, last, time.monotonic() - began)
            _end(span, last)
        assert last is not None, "an attempt is yielded at least once"
        findings = chosen.auditing.about(last)
        showing = rendering.Showing.of(chosen, options=asking.options, every=asking.every, findings=findings)
        told = unmixed(app, last.sql, last.result, checked(app, rendering.answer_json(last, showing)))
        if asking.columns is not None:
            told["text"] = rendering.answer_text(last, showing, columns=asking.columns, colors=asking.colors)
        yield Event("answer", _without_places(who, told))

    def _count(self, who: Identity, attempt: Attempt | None, seconds: float) -> None:
        cost = attempt.usage.cost_usd if attempt is not None else 0.0
        self.quotas.pay(who, cost)
        self.metrics.asked(attempt, cost, seconds)


def _checked(app: App, given: T) -> T:
    checked(app, given)
    return given


def _end(span: Span, attempt: Attempt | None) -> None:
    if attempt is not None:
        span.set_attribute("hebbql.path", attempt.path)
        span.set_attribute("hebbql.status", attempt.status or "broken off")
        span.set_attribute("hebbql.drafts", len(attempt.drafts))
        span.set_attribute("hebbql.recalled", len(attempt.recalled))
    span.end()


def _without_places(who: Identity, told: dict[str, Any]) -> dict[str, Any]:
    """What is told, without folders of this machine for all but its owner: a model and its troubles may name some."""
    from agent.learning.evaluating import without_places

    if who.role == "owner":
        return told
    said = {name: told[name] for name in ("model", "message") if isinstance(told.get(name), str)}
    return {**told, **{name: without_places(text) for name, text in said.items()}}


@contextmanager
def translated(who: Identity) -> Iterator[None]:
    """Turn what the app raises into what a request can end with; only its owner is told of places of the machine."""
    app = load_app()
    try:
        yield
    except (*app.USAGE_ERRORS, *app.QUERY_PROBLEMS) as error:
        raise Unusable(str(error)) from error
    except app.FAILURES as error:
        if who.role == "owner":
            raise Unavailable(str(error)) from error
        print(f"hebbql: {error}", file=sys.stderr, flush=True)
        raise Unavailable(
            "The database, the memory or the model is out of reach; the server's owner is told."
        ) from error
