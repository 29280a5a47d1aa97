"""The port to language models, in the loop's words: a prompt goes in, a reply comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable


class ModelError(Exception):
    """Failure: no reply came. The message says what the user can do next."""


class ModelUnavailableError(ModelError):
    """No model, a wrong key, no network, or the provider stayed down past the deadline."""


class BudgetExhaustedError(ModelError):
    """The next call could cost more than is left of the budget."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message after the stable part."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is shown.

    `stable` (instructions, schema, glossary) comes first and is the same for every question about one
    database, so that prefix caches can keep it; `turns` alternate and end with a user turn. `grammar` bounds what a
    local model can write, in GBNF, the notation of llama.cpp; `""` bounds nothing, and hosted models ignore it. With
    `temperature` above 0 the reply is drawn by chance, by a local model the same each time. Models that take no
    temperature ignore it.
    """

    stable: str
    turns: tuple[Turn, ...]
    max_tokens: int = 400
    grammar: str = ""
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one or more calls. `cost_usd` is None where the price is unknown, 0.0 where free."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost_usd is None or other.cost_usd is None else self.cost_usd + other.cost_usd
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            cost,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `text` is the raw reply, or the SQL field of a structured one.

    `declined` carries the model's own words when it says the question cannot be answered from the schema. `replayed`:
    it was given before to the same request, and the model was not asked again. `likelihood` is how sure the model was
    of what it wrote, in (0, 1]: the geometric mean of the chances of its tokens; None where it does not say.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    stop: Literal["end", "length"] = "end"
    declined: str | None = None
    replayed: bool = False
    likelihood: float | None = None


class Model(Protocol):
    """A language model. `name` is what `--model` takes, and what is stored with an attempt."""

    @property
    def name(self) -> str: ...

    def complete(self, prompt: Prompt) -> Reply:
        """Reply to the prompt. Raises ModelError when no reply can be had."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Traceable(Protocol):
    """A model that can say what its replies depend on besides its name and the prompt."""

    def origin(self) -> str:
        """Such as the digest of the weights, the grammar or the address. It is the same as long as they are.

        Raises ModelUnavailableError where there is nothing that could reply.
        """
        ...


def origin_of(model: Model) -> str:
    """What the replies of a model depend on, as far as it can say; it holds no key, but may name an address."""
    return model.origin() if isinstance(model, Traceable) else ""
