"""One embedding model for all of these tests: loading it takes half a second."""

from __future__ import annotations

import pytest

from memory.embedder import MiniLM


@pytest.fixture(scope="session")
def embedder() -> MiniLM:
    return MiniLM()
