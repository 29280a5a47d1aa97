"""The labelled set of faults and controls, planted in a real brain over a real database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.auditing.auditing import Audit
from agent.auditing.labelled import Case, plant, read_labelled, settings_in
from agent.settings import Settings

LABELLED = Path(__file__).parent / "labelled.toml"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path, read_labelled(LABELLED))


@pytest.fixture
def app(settings: Settings) -> Iterator[App]:
    """An opened app with an empty brain."""
    with open_app(settings, seeding=False) as opened:
        yield opened


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, tuple[Case, ...], Audit]]:
    """The whole set in one brain, and its audit. Do not write to it."""
    labelled = read_labelled(LABELLED)
    with open_app(settings_in(tmp_path_factory.mktemp("planted"), labelled), seeding=False) as opened:
        cases = plant(opened, labelled)
        yield opened, cases, opened.auditing.audit()
