"""Tokens: random, shown once, kept as a hash, revoked at once; and what each of them has spent today.

They are in a small SQLite file that only its owner may read. Every look-up reads it, so that what another process
revokes holds for the next request.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.doors.serving.problems import Unusable
from agent.doors.serving.roles import GIVEN, MEMBER_QUOTA, PUBLIC, Quota, Role

FILE = "access.sqlite"

_TABLES = """
    CREATE TABLE IF NOT EXISTS token (
        id TEXT PRIMARY KEY, hash BLOB NOT NULL, tenant TEXT NOT NULL, role TEXT NOT NULL, per_minute INTEGER NOT NULL,
        at_once INTEGER NOT NULL, usd_per_day REAL, created REAL NOT NULL, revoked REAL
    );
    CREATE TABLE IF NOT EXISTS spent (
        counted TEXT NOT NULL, day TEXT NOT NULL, usd REAL NOT NULL, PRIMARY KEY (counted, day)
    );
"""
_TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TOKEN = re.compile(r"hbq_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token. `created` and `revoked` are seconds since 1970, UTC."""

    id: str
    tenant: str
    role: Role
    quota: Quota
    created: float
    revoked: float | None = None


class Tokens:
    """The tokens of one installation, in a file. Safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, *, tenant: str, role: Role = "member", quota: Quota = MEMBER_QUOTA) -> tuple[str, Token]:
        """Make a token and give it, the only time that it is known whole. Raises Unusable."""
        if not _TENANT.fullmatch(tenant) or tenant == PUBLIC:
            raise Unusable(
                f"{tenant!r} is no name of a tenant: small letters, digits and '-', at most 40, and not {PUBLIC!r}."
            )
        if role not in GIVEN:
            raise Unusable(f"A token has one of the roles {', '.join(GIVEN)}, not {role!r}.")
        id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        made = Token(id, tenant, role, quota, time.time())
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
                (id, _hash(secret), tenant, role, quota.per_minute, quota.at_once, quota.usd_per_day, made.created),
            )
        return f"hbq_{id}_{secret}", made

    def find(self, text: str) -> Token | None:
        """The token that a text is, unless it was revoked. The secret part is compared in constant time."""
        parts = _TOKEN.fullmatch(text)
        if parts is None:
            return None
        for token, kept in self._read("WHERE id = ?", parts[1]):
            if hmac.compare_digest(kept, _hash(parts[2])) and token.revoked is None:
                return token
        return None

    def by_id(self, id: str) -> Token | None:
        """A token by its id, unless it was revoked."""
        return next((token for token, _ in self._read("WHERE id = ?", id) if token.revoked is None), None)

    def all(self) -> tuple[Token, ...]:
        """Every token that there ever was, oldest first."""
        return tuple(token for token, _ in self._read("ORDER BY created"))

    def revoke(self, id: str) -> bool:
        """Let a token hold for no further request; False where there is no such token, or it was revoked before."""
        with self._writing() as connection:
            done = connection.execute(
                "UPDATE token SET revoked = ? WHERE id = ? AND revoked IS NULL", (time.time(), id)
            )
            return done.rowcount == 1

    def spent(self, counted: str) -> float:
        """What was spent today, by UTC, in US dollars."""
        if not self._path.exists():
            return 0.0
        with closing(self._connect()) as connection:
            row = connection.execute(
                "SELECT usd FROM spent WHERE counted = ? AND day = ?", (counted, _today())
            ).fetchone()
        return float(row[0]) if row else 0.0

    def spend(self, counted: str, usd: float) -> None:
        """Count money spent today."""
        if usd > 0:
            with self._writing() as connection:
                connection.execute(
                    "INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET usd = usd + excluded.usd",
                    (counted, _today(), usd),
                )

    def _read(self, which: str, *values: str) -> Iterator[tuple[Token, bytes]]:
        if not self._path.exists():
            return
        with closing(self._connect()) as connection:
            rows = connection.execute(
                f"SELECT id, tenant, role, per_minute, at_once, usd_per_day, created, revoked, hash FROM token {which}",
                values,
            ).fetchall()
        for id, tenant, role, per_minute, at_once, usd, created, revoked, kept in rows:
            yield Token(id, tenant, role, Quota(per_minute, at_once, usd), created, revoked), kept

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if not self._path.exists():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        with closing(self._connect()) as connection:
            connection.executescript(_TABLES)
            with connection:
                yield connection

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10)


def _hash(secret: str) -> bytes:
    """SHA-256 is enough: the secret has 256 random bits, and nobody can guess at those."""
    return hashlib.sha256(secret.encode()).digest()


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
