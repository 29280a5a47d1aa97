"""From what the user typed after `--model` to a model that can be asked. Nothing is loaded or called here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.models import claude
from agent.models.catalogue import CATALOGUE_FILE, LocalFile, find_entry, load_catalogue, nearest_name
from agent.models.claude import ClaudeModel
from agent.models.local import LocalModel
from agent.models.openai_compatible import OpenAIModel
from agent.models.port import Model, ModelUnavailableError
from agent.models.prices import PRICES_FILE, load_prices
from agent.models.recorded import RecordedModel
from agent.models.resilience import Budget, RetryPolicy

DEFAULT_LOCAL = "qwen2.5-coder-1.5b"
OPENAI = "openai:"
RECORDED = "recorded:"
CLAUDE = "claude"


def choose(
    name: str | None = None,
    *,
    folder: Path,
    anthropic_key: str | None = None,
    anthropic_base_url: str | None = None,
    openai_key: str | None = None,
    openai_base_url: str | None = None,
    threads: int | None = None,
    context_tokens: int = 8_192,
    deadline: float = 120.0,
    budget: Budget | None = None,
    default_local: str = DEFAULT_LOCAL,
    catalogue: Path = CATALOGUE_FILE,
    prices: Path = PRICES_FILE,
) -> Model:
    """The model of that name; without one Claude if there is a key for it, else the default local one.

    Names: `claude` or `claude-…`, the names and aliases of the catalogue, a path that ends in `.gguf`, `openai:NAME`,
    `recorded:FILE`. `folder` holds the local models. `deadline`: seconds for one call. A local file that is not there
    is noticed by the first `complete`; ask `needs_pull` before.

    Raises:
        ModelUnavailableError: no model has that name; the message lists the names and the nearest one.
    """
    wanted = (name or "").strip() or (claude.DEFAULT_MODEL if anthropic_key else default_local)
    if wanted.lower() == CLAUDE or wanted.lower().startswith(f"{CLAUDE}-"):
        return ClaudeModel(
            key=anthropic_key,
            base_url=anthropic_base_url,
            model=claude.DEFAULT_MODEL if wanted.lower() == CLAUDE else wanted.lower(),
            prices=load_prices(prices),
            policy=RetryPolicy(deadline=deadline),
            budget=budget,
        )
    if wanted.startswith(OPENAI) and len(wanted) > len(OPENAI):
        return OpenAIModel(
            model=wanted.removeprefix(OPENAI),
            key=openai_key,
            base_url=openai_base_url,
            prices=load_prices(prices),
            policy=RetryPolicy(deadline=deadline),
            budget=budget,
        )
    if wanted.startswith(RECORDED) and len(wanted) > len(RECORDED):
        return RecordedModel(path=Path(wanted.removeprefix(RECORDED)))
    entries = load_catalogue(catalogue)
    entry = find_entry(wanted, entries)
    if entry is None and not wanted.lower().endswith(".gguf"):
        raise ModelUnavailableError(_unknown(wanted, entries))
    return LocalModel(
        path=folder / entry.file if entry else Path(wanted).expanduser(),
        name=entry.name if entry else wanted,
        prefix_folder=folder / "prefixes",
        threads=threads,
        context_tokens=context_tokens,
        deadline=max(deadline, 1.0),
        pull_hint=f"hebbql models pull {entry.alias}" if entry else "hebbql models pull 0.5b",
    )


def needs_pull(model: Model, *, folder: Path, catalogue: Path = CATALOGUE_FILE) -> LocalFile | None:
    """The catalogue entry to pull, or to verify, before this model can answer, or None."""
    if not isinstance(model, LocalModel):
        return None
    from agent.models.pulling import is_verified

    entry = find_entry(model.name, load_catalogue(catalogue))
    return entry if entry is not None and not is_verified(entry, folder) else None


def is_hosted(model: Model) -> bool:
    """Whether a model is asked over the network, where a cache keeps what prompts begin with."""
    return isinstance(model, ClaudeModel | OpenAIModel)


@dataclass(frozen=True, slots=True)
class ModelListing:
    """One line of `hebbql models`. Sizes in bytes, None for hosted models.

    `present`: the file is there, or a key is set. `verified`: the file's hash was checked and it has not changed since.
    """

    name: str
    alias: str | None
    kind: Literal["local", "hosted"]
    about: str
    size: int | None
    fetched: int | None
    present: bool
    verified: bool | None
    path: Path | None


def list_models(
    *,
    folder: Path,
    anthropic_key: str | None = None,
    openai_key: str | None = None,
    openai_base_url: str | None = None,
    catalogue: Path = CATALOGUE_FILE,
) -> tuple[ModelListing, ...]:
    """What `--model` takes, and what of it is ready. Reads no big file and calls nobody."""
    from agent.models.pulling import local_status

    local = tuple(
        ModelListing(
            entry.name,
            entry.alias,
            "local",
            entry.about,
            entry.size,
            status.fetched,
            status.present,
            status.verified,
            status.path,
        )
        for entry in load_catalogue(catalogue)
        for status in (local_status(entry, folder),)
    )
    return (
        *local,
        ModelListing(
            claude.DEFAULT_MODEL,
            CLAUDE,
            "hosted",
            f"Claude; the key comes from {claude.KEY_VARIABLE}; any claude-… name works",
            None,
            None,
            bool(anthropic_key),
            None,
            None,
        ),
        ModelListing(
            f"{OPENAI}NAME",
            None,
            "hosted",
            "Any OpenAI-compatible endpoint; address from HEBBQL_OPENAI_BASE_URL, key from HEBBQL_OPENAI_KEY",
            None,
            None,
            bool(openai_key or openai_base_url),
            None,
            None,
        ),
    )


def _unknown(wanted: str, entries: tuple[LocalFile, ...]) -> str:
    local = (name for entry in entries for name in (entry.alias, entry.name))
    names = (*local, CLAUDE, claude.DEFAULT_MODEL)
    near = nearest_name(wanted, names)
    hint = f" Did you mean {near!r}?" if near else ""
    return (
        f"There is no model {wanted!r}.{hint} Choose {', '.join(names)}, another claude-… name, "
        f"a path to a .gguf file, {OPENAI}NAME or {RECORDED}FILE."
    )
