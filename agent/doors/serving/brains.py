"""Where the brain of each tenant lies, and opening it beside that of the house."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.brain_place import brain_beside
from agent.doors.opening import load_app
from agent.doors.serving.roles import HOME, PUBLIC

if TYPE_CHECKING:
    from agent.app import App, DownloadProgress
    from agent.settings import Settings


_LEASE_WAIT = 2.0
"""Seconds that a request waits for a process that has the brain of its tenant open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Brains:
    """Opens brains over one database. The house is `home`, the brain that the command line uses."""

    settings: Settings
    say: Callable[[str], None]
    progress: DownloadProgress

    def open(self, tenant: str, house: App | None) -> AbstractContextManager[App]:
        """Open the brain of a tenant. Raises what `open_app` raises."""
        if tenant == HOME or house is None:
            return self._opened(self.settings, None)
        told = replace(brain_beside(self.settings, place(house.folder, tenant), tenant), lease_wait=_LEASE_WAIT)
        return self._frozen(told, house) if tenant == PUBLIC else self._opened(told, house)

    def _opened(self, settings: Settings, beside: App | None) -> AbstractContextManager[App]:
        opened: AbstractContextManager[App] = load_app().open_app(
            settings, say=self.say, progress=self.progress, beside=beside
        )
        return opened

    @contextmanager
    def _frozen(self, settings: Settings, house: App) -> Iterator[App]:
        """The demo brain: set up once from what is shipped, and then it takes no change."""
        with self._opened(settings, house) as app:
            app.get_ready_to_recall()
            app.freeze()
            yield app


def place(home: Path, tenant: str) -> Path:
    """The folder of a tenant's brain, beside that of the house.

    >>> place(Path("runs/brain/northwind"), "acme").as_posix(), place(Path("b"), "public").as_posix()
    ('runs/brain/northwind.tenants/acme', 'b.public')
    """
    if tenant == PUBLIC:
        return home.with_name(f"{home.name}.{PUBLIC}")
    return home.with_name(f"{home.name}.tenants") / tenant
