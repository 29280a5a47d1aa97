"""Questions of their own, which pass as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.following.english import capitalised, same_word
from agent.following.literals import FILLER
from agent.following.phrases import group_of, head, is_noun
from agent.following.reading import ASKED, Change, Followup

_BACK = re.compile(
    r"\b(?:instead|ones|them|those|these|they|their|theirs|its|it|his|her|him|he|she|same|(?:that|this) one|"
    r"the \w+ one(?:'s)?|the others?|the rest|too|as well|each(?=\Z)|(?:is|was|are|were) (?:that|this))\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:list|show|give|name|find|count|tell|compare|rank|display|get|return|calculate|compute)\b", re.IGNORECASE
)
_YES_NO = re.compile(r"(?:is|are|was|were|do|does|did)\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|there|bought|sold|made|brought|costs?|lives?|comes?|came|[a-z]+ed)\b",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"(?:in|for|from|with|without|not|per|by|on|above|below|sorted|as|except|the ones?)\b", re.IGNORECASE
)


def whole(f: Followup) -> Iterator[Change]:
    """A question with a subject and a verb of its own, that points back at nothing."""
    links = [link for link in f.said.chosen if link.table or link.kind == "term"]
    nouns = [link for link in links if link.kind != "value"]
    back = _BACK.search(f.text)
    if f.replaces or f.narrows or (back and sum(link.end <= back.start() for link in links) < 2):
        return
    asked = re.match(rf"{ASKED}\b", f.text, re.IGNORECASE)
    if asked is None:
        complete = bool(nouns) and not f.joined and back is None and _says_enough(f)
    elif _ORDER.match(asked[0]):
        complete = bool(nouns) and not f.joined
    elif nouns:
        complete = _has_a_verb(f, asked.end()) and not _is_thin(f)
    elif f.said.nothing_linked:
        complete = len(f.text.split()) > 4 and re.search(r"\b(?:that|this)\b", f.text, re.IGNORECASE) is None
    else:
        complete = bool(links) and not f.joined and not f.said.leftover and len(f.text.split()) > 4
    if complete:
        mark = "" if f.text.endswith(("?", ".", "!")) else "." if _ORDER.match(f.text) else "?"
        yield Change(f"{capitalised(f.text)}{mark}")


def _has_a_verb(f: Followup, start: int) -> bool:
    """Whether more is said behind the question word than a noun and little words."""
    rest = f.text[start:]
    links = [link for link in f.said.chosen if link.table or link.kind == "term"]
    said = re.findall(r"[\w']+", rest)
    linked = [word for word in said if any(same_word(word, w) for link in links for w in link.text.split())]
    free = [word for word in said if word.casefold() not in FILLER and word not in linked]
    close = any(link.start <= start + 1 < link.end for link in links if link.kind != "value")
    if len(said) > 3 and (free or (close and len(links) > 1)):
        return True
    return len(said) > 1 and (_YES_NO.match(f.text) or _VERB.search(rest)) is not None


def _is_thin(f: Followup) -> bool:
    """`and what is the average freight?` says less than a question of its own: nothing is restricted in it."""
    nouns = [link for link in f.said.chosen if link.kind in {"table", "column", "term"}]
    bare = not f.phrases and len(nouns) == 1 and group_of(f.said) is None and not is_noun(nouns[0])
    return f.joined and bool(f.parts) and bare


def _says_enough(f: Followup) -> bool:
    """Whether a question without a question word is one: `revenue per country in 1998`, `top 5 products by price`."""
    mine, subject = head(f.said), head(f.was)
    nouns = [link for link in f.said.chosen if link.kind in {"table", "column", "term"}]
    more = f.said.limit is not None or f.said.direction is not None or group_of(f.said) is not None or f.phrases
    if not more or len(nouns) + len(f.phrases) < 2 or _LOOSE.match(f.text):
        return False
    same = mine is not None and subject is not None and mine.table == subject.table and len(nouns) == 1
    return (mine is not None or f.said.direction is None) and not same
