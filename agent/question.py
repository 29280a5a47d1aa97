"""Reading a question as it was typed: cleaned of what no person meant, refused when it is none."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 4_000
"""The longest question read, in characters after cleaning."""

_TERMINAL_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[@-_]"
)
_ORDER = re.compile(
    r"\s*(?:please\s+|(?:can|could|would)\s+you\s+(?:please\s+)?|now\s+)?"
    r"(?:(?P<sql>insert\s+into\b|update\s+\S+\s+set\b|truncate\s+(?:table\s+)?\S+\W*$"
    r"|(?:drop|alter|create)\s+(?:table|view|index|database)\b(?!\s+(?:of|with|that|showing|for)\b))"
    r"|(?P<verb>delete|erase|remove|wipe)\s+(?!duplicates?\b)(?:all|every|each|any|the|this|that|these|those|from|\w+s\b))",
    re.IGNORECASE,
)
# Something is asked as well: what is to be left out was meant, and the guard still lets no change pass.
_ASKED_AS_WELL = re.compile(
    r"[:,;.]\s*(?:and\s+|then\s+)*(?:what|which|who|how|show|list|give|count)\b|\b(?:and|then)\s+(?:show|list|give|count)\b",
    re.IGNORECASE,
)
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# Letters and marks by their category that show nothing: the fillers of Hangul and a joiner of marks.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u034f")


class QuestionError(Exception):
    """The text is no question that can be answered. The message says what to do next."""


def read_question(text: str) -> str:
    """Clean a typed question: NFC, one line, no terminal escapes, zero-width or control characters.

    Raises:
        QuestionError: nothing is left, or more than `LONGEST` characters are.

    >>> read_question("How many\\u200b customers\\x1b[31m are there?\\n")
    'How many customers are there?'
    """
    if len(text) > 8 * LONGEST:
        raise QuestionError(_too_long(len(text)))
    text = cleaned(text)
    if not any(c.isalnum() for c in text):
        raise QuestionError('The question is empty. Ask for example: hebbql ask "How many customers are there?"')
    if len(text) > LONGEST:
        raise QuestionError(_too_long(len(text)))
    return text


def cleaned(text: str) -> str:
    """Take out what no person types on purpose. Doing it twice changes nothing.

    >>> cleaned("\\x1b]0;title\\x07net\\u200b\\tsales")
    'net sales'
    """
    kept = (" " if c in "\t\n\r\x0b\x0c\x85" else c for c in _TERMINAL_ESCAPE.sub("", text))
    shown = "".join(c for c in kept if unicodedata.category(c) not in _INVISIBLE and c not in _BLANK)
    # Composed last: what was taken out may have stood between a letter and its mark.
    return " ".join(unicodedata.normalize("NFC", shown).split())


def asks_to_write(question: str) -> str:
    """Give the word that orders a change of the data, or `""`. Only an order counts, not a question about one.

    >>> asks_to_write("Please delete all orders of 1996"), asks_to_write("DROP TABLE Orders")
    ('delete', 'DROP')
    >>> asks_to_write("Which orders did we delete?"), asks_to_write("Update me on open orders")
    ('', '')
    """
    order = _ORDER.match(question)
    if order is None or (order["verb"] and _ASKED_AS_WELL.search(question)):
        return ""
    return str(order["sql"] or order["verb"]).split()[0]


def _too_long(length: int) -> str:
    return f"The question has {length:,} characters; at most {LONGEST:,} are read. Ask one thing at a time."
