"""Variants of an ablation: the levers that are on, whether episodes are recalled, and what each is called."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.learning.arms import MEMORY, SCHEMA, Arm
from agent.settings import Levers, SettingsError

ALL_BUT = "all but "
_USUAL = "usual"
BARE = "schema: "
EVERY_LEVER: tuple[str, ...] = tuple(Levers.__slots__)


class AblationError(Exception):
    """An ablation cannot be begun, gone on with or read. The message says what to do next."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of asking: the levers that are on, and whether episodes are recalled."""

    levers: Levers
    memory: bool = True

    @property
    def name(self) -> str:
        """What it is called in tables and on the command line.

        >>> Variant(Levers.read("adapt, names")).name, Variant(Levers.read("all"), memory=False).name
        ('adapt + names', 'schema: all')
        """
        return ("" if self.memory else BARE) + _name(self.levers)

    @property
    def count(self) -> int:
        """How many levers are on."""
        return sum(getattr(self.levers, name) for name in EVERY_LEVER)

    @property
    def arm(self) -> Arm:
        """The arm to ask it in. Its steps bear the name of the variant."""
        return replace(MEMORY if self.memory else SCHEMA, name=self.name)


def _name(levers: Levers) -> str:
    on = [name for name in EVERY_LEVER if getattr(levers, name)]
    off = [name for name in EVERY_LEVER if name not in on]
    if not on or not off:
        return "all" if on else "none"
    return ALL_BUT + off[0] if len(off) == 1 else " + ".join(on)


NONE = Variant(Levers.read("none"))
EVERY = Variant(Levers.read("all"))
VARIANTS: tuple[Variant, ...] = (
    NONE,
    EVERY,
    *(Variant(Levers.read(name)) for name in EVERY_LEVER),
    *(Variant(Levers.read(", ".join(other for other in EVERY_LEVER if other != name))) for name in EVERY_LEVER),
    Variant(NONE.levers, memory=False),
    Variant(EVERY.levers, memory=False),
)
"""In the order in which they are asked: what tells most comes first."""


def read_variants(text: str) -> tuple[Variant, ...]:
    """The variants that a text names with semicolons between, each once; an empty one stands for all.

    Each is `none`, `all`, `usual` (what the product does when nothing is said), `all but NAME`, or levers with commas
    or `+` between; `schema: ` before it asks without memory.

    >>> [one.name for one in read_variants("none; adapt, names; all but grammar; schema: all")]
    ['none', 'adapt + names', 'all but grammar', 'schema: all']

    Raises:
        AblationError: there is no such lever.
    """
    parts = [" ".join(part.split()).lower() for part in text.split(";")]
    found = dict.fromkeys(variant_named(part) for part in parts if part)
    return tuple(found) or VARIANTS


def variant_named(text: str) -> Variant:
    bare = text.startswith(BARE.strip())
    levers = text.removeprefix(BARE.strip()).strip() if bare else text
    away = levers.removeprefix(ALL_BUT).strip() if levers.startswith(ALL_BUT) else ""
    try:
        if levers == _USUAL:
            return Variant(Levers(), memory=not bare)
        if not away:
            return Variant(Levers.read(levers.replace("+", ",")), memory=not bare)
        Levers.read(away)
    except SettingsError as problem:
        raise AblationError(
            f"{text!r} is no variant: levers are {', '.join(EVERY_LEVER)}. Write some of them with commas, none, all, "
            "usual, or all but one, with semicolons between variants."
        ) from problem
    gone = {name.strip() for name in away.split(",")}
    return Variant(Levers(**{name: name not in gone for name in EVERY_LEVER}), memory=not bare)


def place_of(variant: Variant) -> tuple[bool, int, int]:
    """Where a variant stands among the others."""
    first = next((place for place, name in enumerate(EVERY_LEVER) if getattr(variant.levers, name)), 0)
    gone = next((place for place, name in enumerate(EVERY_LEVER) if not getattr(variant.levers, name)), 0)
    if variant.count == len(EVERY_LEVER) - 1:
        return (not variant.memory, len(EVERY_LEVER) + 1, gone)
    return (not variant.memory, variant.count, first)
