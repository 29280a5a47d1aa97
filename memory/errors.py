"""What can go wrong with a brain. Every message says what to do next."""

from __future__ import annotations


class BrainError(Exception):
    """Base of all failures of the ledger, its outbox and its lease."""


class BrainMissingError(BrainError):
    """There is no brain where one was looked for."""


class BrainUnwritableError(BrainError):
    """The folder or file of the brain cannot be written."""


class BrainDamagedError(BrainError):
    """The file is empty, cut short, or no database."""


class BrainForeignError(BrainError):
    """The file belongs to another application, or the brain to another database or store."""


class BrainNewerError(BrainError):
    """A newer HebbQL wrote the brain."""


class BrainLockedError(BrainError):
    """Another process holds the brain."""


class BrainFrozenError(BrainError):
    """The brain was fixed and takes no change."""


class BrainFullError(BrainError):
    """The disk is full. Nothing of the transaction was kept."""


class UnknownEpisodeError(BrainError):
    """No episode has this id."""


class UnknownAttemptError(BrainError):
    """No attempt has this id, or it is not open any more."""


class ContentError(BrainError):
    """A value cannot be written down as JSON."""
