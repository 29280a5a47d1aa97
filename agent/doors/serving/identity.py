"""Who asks: found from a token, from the cookie of a page, or nobody, who is the public where there is one.

A route says what it takes by one dependency, `Needs(Permission.…)` or `OPEN`. `declared` reads it back, and an
application with a route that says neither is not made.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import Request

from agent.doors.serving.boundary import SAFE_METHODS
from agent.doors.serving.problems import Forbidden, ForeignRequest, Unknown
from agent.doors.serving.roles import HOME, OWNER_QUOTA, PUBLIC, PUBLIC_QUOTA, Identity, Permission, Quota
from agent.doors.serving.tokens import Token, Tokens

if TYPE_CHECKING:
    from agent.doors.serving.quotas import Quotas

COOKIE = "hebbql_session"
CSRF_HEADER = "x-csrf-token"
_SESSION_SECONDS = 12 * 3600.0
_MOST_SESSIONS = 1_000


@dataclass(slots=True)
class Session:
    """A page that was let in by a token, or by the link of the owner (`token` is then None)."""

    token: str | None
    csrf: str
    until: float


@dataclass(slots=True)
class Doorman:
    """Finds out who asks. `key` is that of who started the server; `public` lets in who has no token.

    Cookies of pages are kept as hashes, in memory: they end with the server, and with the token they came by.
    """

    tokens: Tokens
    key: str
    public: bool = False
    public_quota: Quota = PUBLIC_QUOTA
    owner_quota: Quota = OWNER_QUOTA
    _sessions: dict[bytes, Session] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def who(self, headers: dict[str, str], cookies: dict[str, str], *, method: str, address: str) -> Identity:
        """The identity behind the headers (names in small letters) and cookies of a request.

        A token wins over a cookie, and a wrong one is never taken for none. What a cookie lets in may change something
        only with the session's own CSRF token in its header, from a page of ours.

        Raises:
            Unknown, ForeignRequest: who asks is not known, or another page asks in a person's name.
        """
        given = headers.get("authorization")
        if given is not None:
            return self._by_token(given)
        sid = cookies.get(COOKIE)
        if sid is not None and (session := self._session(sid)) is not None:
            if method not in SAFE_METHODS:
                said = headers.get(CSRF_HEADER, "")
                if not headers.get("origin") or not hmac.compare_digest(said.encode(), session.csrf.encode()):
                    raise ForeignRequest(f"A page sends its {CSRF_HEADER} with whatever changes something.")
            return self._of_session(session)
        if self.public:
            counted = f"{PUBLIC}:{address}"
            return Identity(PUBLIC, PUBLIC, "public", self.public_quota, counted)
        raise Unknown("Send a token as `Authorization: Bearer …`, or open the link that `hebbql serve` printed.")

    def enter(self, text: str) -> tuple[str, Session]:
        """Let a page in by a token or the owner's key; gives its cookie and session. Raises Unknown."""
        token = None if self._is_key(text) else self._known(text).id
        sid, session = secrets.token_urlsafe(32), Session(token, secrets.token_urlsafe(32), 0.0)
        session.until = time.time() + _SESSION_SECONDS
        with self._lock:
            now = time.time()
            for old in [name for name, one in self._sessions.items() if one.until < now]:
                del self._sessions[old]
            while len(self._sessions) >= _MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[_hash(sid)] = session
        return sid, session

    def leave(self, sid: str) -> None:
        """End the session of a page."""
        with self._lock:
            self._sessions.pop(_hash(sid), None)

    def csrf(self, cookies: dict[str, str]) -> str | None:
        """The CSRF token of the session that a cookie names; None where there is none."""
        session = self._session(cookies.get(COOKIE, ""))
        return session.csrf if session else None

    def _by_token(self, header: str) -> Identity:
        scheme, _, text = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unknown("Send the token as `Authorization: Bearer …`.")
        text = text.strip()
        return self.owner() if self._is_key(text) else _of(self._known(text))

    def _known(self, text: str) -> Token:
        token = self.tokens.find(text)
        if token is None:
            raise Unknown("This token is not known or was revoked. Make one: hebbql token create --tenant NAME.")
        return token

    def _of_session(self, session: Session) -> Identity:
        if session.token is None:
            return self.owner()
        token = self.tokens.by_id(session.token)
        if token is None:
            raise Unknown("The token that this page came by was revoked.")
        return _of(token)

    def _session(self, sid: str) -> Session | None:
        with self._lock:
            session = self._sessions.get(_hash(sid))
        return session if session is not None and session.until >= time.time() else None

    def _is_key(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.key.encode())

    def owner(self) -> Identity:
        """The identity of who started the server."""
        return Identity("owner", HOME, "owner", self.owner_quota, "owner")


def _of(token: Token) -> Identity:
    return Identity(token.id, token.tenant, token.role, token.quota, f"token:{token.id}")


def _hash(sid: str) -> bytes:
    return hashlib.sha256(sid.encode()).digest()


def who_asks(request: Request, doorman: Doorman) -> Identity:
    """The identity behind a request. Raises Unknown, ForeignRequest."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    address = request.client.host if request.client else "nowhere"
    return doorman.who(headers, dict(request.cookies), method=request.method, address=address)


class Needs:
    """A dependency that gives the identity of who asks, if it has the permission and quota left."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    async def __call__(self, request: Request) -> Identity:
        """Raises Unknown, Forbidden, QuotaExhausted."""
        doorman: Doorman = request.app.state.doorman
        quotas: Quotas = request.app.state.quotas
        who = who_asks(request, doorman)
        allow(who, self.permission)
        quotas.count(who)
        return who


class Open:
    """A dependency that says: everybody may."""

    permission = None

    async def __call__(self) -> None:
        return None


OPEN = Open()


def allow(who: Identity, permission: Permission) -> None:
    """Raises Forbidden."""
    if not who.may(permission):
        raise Forbidden(f"The role {who.role} may not {permission}. Sign in with a token that may.")
