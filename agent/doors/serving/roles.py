"""Who may do what. Every route and tool names the one permission that it takes; a role is a set of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

Role = Literal["public", "member", "operator", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)
GIVEN: tuple[Role, ...] = ("member", "operator")
"""The roles that a token can have. `public` needs none, and `owner` is who started the server."""

HOME = "home"
"""The tenant of who started the server: the brain that the command line uses."""

PUBLIC = "public"
"""The tenant of everybody without a token: a fixed demo brain."""


class Permission(StrEnum):
    """What a route or tool takes."""

    ASK = "ask"
    RECALL = "recall"
    READ = "read"
    WRITE = "write"
    AUDIT = "audit"
    TOOLS = "tools"
    METRICS = "metrics"


_MEMBER = frozenset(Permission) - {Permission.METRICS}
MAY: Mapping[Role, frozenset[Permission]] = {
    "public": frozenset({Permission.ASK, Permission.RECALL}),
    "member": _MEMBER,
    "operator": frozenset({Permission.METRICS}),
    "owner": frozenset(Permission),
}


@dataclass(frozen=True, slots=True)
class Quota:
    """How much one token may use: requests a minute, requests at the same time, and US dollars a day (None: any)."""

    per_minute: int
    at_once: int
    usd_per_day: float | None = None


PUBLIC_QUOTA = Quota(per_minute=10, at_once=2, usd_per_day=1.0)
MEMBER_QUOTA = Quota(per_minute=120, at_once=8, usd_per_day=10.0)
OWNER_QUOTA = Quota(per_minute=6_000, at_once=64)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: by which token, for which tenant, in which role.

    `token` is its id, or the name of a role that has none. `counted` is what quotas are counted by.
    """

    token: str
    tenant: str
    role: Role
    quota: Quota
    counted: str

    def may(self, permission: Permission) -> bool:
        return permission in MAY[self.role]
