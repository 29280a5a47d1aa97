"""What is worked out from remembered episodes, kept between questions for as long as the lexicon is the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from agent.attempt import Understood

if TYPE_CHECKING:
    from agent.linking import Lexicon

MOST_KEPT = 4_096
"""Values past which all are dropped, as when the lexicon changes."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(slots=True)
class Kept(Generic[Key, Value]):
    """Values that hold under one lexicon, by key."""

    _lexicon: Lexicon | None = field(default=None, init=False, repr=False)
    _values: dict[Key, Value] = field(default_factory=dict, init=False, repr=False)

    def get(self, lexicon: Lexicon, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key, made where it is not known under this lexicon."""
        if self._lexicon is not lexicon or len(self._values) > MOST_KEPT:
            self._lexicon = lexicon
            self._values.clear()
        if key not in self._values:
            made = make()
            self._values[key] = made
            return made
        return self._values[key]


@dataclass(frozen=True, kw_only=True, slots=True)
class Readings:
    """Reads the questions of episodes, each once under one lexicon, for all who need to know what they say."""

    understand: Callable[[str], Understood]
    lexicon: Callable[[], Lexicon]
    _kept: Kept[str, Understood] = field(default_factory=Kept, init=False, repr=False, compare=False)

    def __call__(self, question: str) -> Understood:
        return self._kept.get(self.lexicon(), question, lambda: self.understand(question))
