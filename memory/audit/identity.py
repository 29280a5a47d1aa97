"""When two writes are about the same: by identity, never by likeness."""

from __future__ import annotations

import unicodedata

_ENDS = " ?!.;:\u2026"
_QUOTES = str.maketrans("\u2018\u2019\u201b\u201c\u201d\u201e\u2010\u2011\u2013\u2014", "'''\"\"\"----")
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})


def same_words(text: str) -> str:
    """A text without what two writings of it differ in: case, spaces, forms of one sign, what stands at the end.

    Unlike case folding it keeps apart letters that tell words apart, such as the sharp s of German.

    >>> same_words("How many  Boats?") == same_words("how many boats")
    True
    >>> same_words("boats now here") == same_words("boats nowhere"), same_words("Maße") == same_words("Masse")
    (False, False)
    """
    return unicodedata.normalize("NFC", same_signs(text).lower()).rstrip(_ENDS)


def same_signs(text: str) -> str:
    """A text with one form of each sign, and without what is not seen; case and the end stay.

    >>> same_signs("\uff22oats\u00a0in\u200b  \u201cUrk\u201d")
    'Boats in "Urk"'
    """
    whole = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    seen = "".join(" " if sign.isspace() else sign for sign in whole if sign.isspace() or _is_seen(sign))
    return " ".join(unicodedata.normalize("NFC", seen).split())


def _is_seen(sign: str) -> bool:
    return unicodedata.category(sign) not in _UNSEEN
