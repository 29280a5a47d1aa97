"""Cognee's own `improve` on every member of a brain's family, where a language model is configured for Cognee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from agent.app import App

NO_MODEL = "Cognee's own improve is left out: no language model is configured for it (LLM_API_KEY)."


@runtime_checkable
class Enriching(Protocol):
    """An episode store that can improve a dataset by itself, with a language model."""

    @property
    def has_model(self) -> bool: ...

    def improve(self, bucket: str) -> str:
        """Improve one dataset; what was done, in words. Raises StoreError."""
        ...


def enriches(app: App) -> bool:
    """Whether Cognee has a language model to improve with."""
    return isinstance(app.store, Enriching) and app.store.has_model


def enrich(app: App) -> tuple[str, ...]:
    """Let Cognee improve each bucket that holds an episode; what it did, a line for each.

    Raises:
        StoreError: the store cannot be used, or no longer holds what the ledger says.
    """
    store, told = app.store, []
    if not isinstance(store, Enriching):
        return ()
    for counted in app.ledger.buckets():
        if counted.active:
            told.append(f"{counted.bucket[:12]}: {store.improve(counted.bucket)}")
    return tuple(told)
