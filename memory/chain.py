"""How the ledger's hashes are made: canonical text, salted content, and a chain over the events."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from memory.errors import ContentError

Content = Mapping[str, object]
"""The body of an event: what JSON can say, with text as keys."""

GENESIS = "0" * 64
"""What the first event has for its previous hash."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical(content: Content) -> str:
    """Write a content as JSON, the same text for equal contents in every process.

    Keys are sorted, nothing is padded. Half a surrogate pair, which no database takes, is written as its escape.

    Raises:
        ContentError: a part is not JSON, or is not a finite number.

    >>> canonical({"b": (1, 2), "a": "ü"})
    '{"a":"ü","b":[1,2]}'
    """
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ContentError(f"The content of an event must be plain JSON: {error}.") from error
    return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text)


def content_hash(salt: str, body: str) -> str:
    """Hash a content so that it cannot be guessed from its hash once salt and body are erased."""
    return hashlib.sha256(f"{salt}\n{body}".encode()).hexdigest()


def chain_hash(previous: str, position: int, at: int, kind: str, subject: str, content: str) -> str:
    """Hash one event together with the hash of the one before. `at` is microseconds since 1970, UTC.

    >>> chain_hash(GENESIS, 1, 0, "brain_created", "", "c" * 64)[:12]
    '22e0f1ca3b05'
    """
    link = json.dumps([previous, position, at, kind, subject, content], separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(link.encode()).hexdigest()
