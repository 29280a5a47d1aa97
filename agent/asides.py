"""What only leads to a question: greetings, thanks, reasons, errands. What is asked stays word for word.

`I am planning a visit, so could you tell me how many clients we have in Austria? Thanks!` asks for clients in Austria;
the visit is nothing to look for in the database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from agent.wording import STOP, fold, is_plural, words

_GREETING = re.compile(
    r"(?:\s*(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day)|dear (?:all|team|colleagues)|greetings|hallo|"
    r"guten (?:tag|morgen|abend)|moin|\uc548\ub155\ud558\uc138\uc694)"
    r"(?:\s+(?:there|all|everyone|everybody|team|guys|folks|again|hebbql))*\s*[,.!:\u2013-]+|"
    r"\s*(?:quick (?:one|question)|one quick question|just a quick (?:one|question)|question for you)\s*[,.!:\u2013-]+|"
    r"\s*(?:ok|okay|so|well|right|now|um|uh)\s*,)+\s*",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?<=[\w?.!,'\"])(?P<mark>[\s,.!-]{0,20})\b(?P<said>(?:many |a lot of )?thanks"
    r"(?: (?:a lot|so much|very much|in advance|a million|again))?|"
    r"thank you(?: (?:so much|very much|in advance|kindly))?|thx|cheers|danke(?: (?:sch\u00f6n|sehr|im voraus))?|"
    r"\uac10\uc0ac\ud569\ub2c8\ub2e4|\uace0\ub9d9\uc2b5\ub2c8\ub2e4)[\s.!]{0,20}\Z",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[.!?]\s+(?=[A-Z\u00c0-\u00dca-z\"'\u201c\d])")
_ABBREVIATED = re.compile(
    r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Ltd|Inc|Co|No|vs|e\.g|i\.e|etc|approx|Nr|z\.B)\.\Z", re.IGNORECASE
)
_ASK = (
    r"(?:(?:in|at|on|for|from|to|by|of|with|since) )?(?:which|what|who|whose|whom|when|where|how|"
    r"why)\b(?!['\u2019]?s? about)|"
    r"(?:(?:can|could|would|will) you |please |kindly |just )*(?:list|show|give|name|find|count|tell|rank|"
    r"compare|display|"
    r"return|get|sort|divide|calculate|compute|report)\b|"
    r"(?:is|are|was|were|do|does|did|has|have|had) (?:there|we|our|the|any|it|they|he|she|you|i|anyone|anybody|"
    r"all|every)\b|"
    r"(?:the )?(?:number|total|average|sum|share|percentage|top|names?) of\b"
)
_ASKS = re.compile(
    rf"(?:and |so |then |but |now |ok(?:ay)?,? |well,? )*(?:(?:for|per|of|in|among|by) [^,.?!;:]+,\s+)?(?:{_ASK})",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"(?:i|i['\u2019](?:m|d|ve|ll)|we['\u2019](?:re|ve|d|ll)|my|somebody|someone|a (?:colleague|friend|customer|"
    r"client)|"
    r"the (?:boss|ceo|auditors?)|before|because|since|as|while|when|now that|to (?:see|know|understand|prepare|plan|"
    r"check|decide)|out of curiosity|(?:some of|it|this|that|there) \w+|sorry|no rush|just (?:curious|wondering))\b",
    re.IGNORECASE,
)
_PLAIN_WE = re.compile(r"we\b(?!['\u2019])", re.IGNORECASE)
_ERRAND = re.compile(
    r"(?:i|we)\b[^.?!:]*?\b(?:to (?:know|see|find out|learn|tell \w+|check|say|ask|report)|know|wondering|wonder|"
    r"asking(?: me)?|curious|find out|be told|work out|figure out)\b,?\s+(?:(?:please|exactly|first|again)\s+)*"
    r"(?=(?:how (?:many|much|long|often|high)|which|who|whose|when|where|whether)\b)|"
    r"(?:for|before|as|because|since|to|out of curiosity)\b[^.?!:]*?\b(?:i|we)\b(?:['\u2019]d)?\s+(?:(?:would|"
    r"must|have to|want to|also)\s+)*"
    r"(?:like|need|want|know|be looking for|am looking for|see|require)\b(?: to (?:know|see|have))?,?\s+(?:please\s+)?"
    r"(?=\w+)",
    re.IGNORECASE,
)
_LEAD_MARK = re.compile(
    r":\s+|,?\s+(?:so|and so|hence|therefore|that is why|that['\u2019]s why)[,:]?\s+|"
    r",\s+(?!(?:(?:in |at |on |for |from |to |by |of |with )?(?:which|who|whose|whom|where|when)|is|are|was|were)\b)",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"(?:which|who|what) (?:i|we|you|he|she|they|it|nobody|everybody|somebody|\w+ed|makes?|is why)\b", re.IGNORECASE
)
_DEFINES = re.compile(
    r"\b(?:means?|counts? as|counted|count|defin\w+|treat\w*|consider\w*|assum\w+|calculat\w+|comput\w+|if|unless|"
    r"should|must|refers? to|stands? for|called|"
    r"(?:not|n['\u2019]t|no) (?:\w+ )?(?:interest\w*|matter\w*|relevant|need\w*))\b|=",
    re.IGNORECASE,
)
"""Words of a sentence that tells what others mean, or which rows matter."""
_COUNTED = re.compile(r"\d|<\w+>")
"""A number, or the place of one in a masked question."""
_FOR = re.compile(r"for\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"\b(?:they|them|theirs|he|she|him|his|her|hers|it|these|those (?!who|that|which|in|of|with|from|placed)|"
    r"the (?:same|latter|former)|this (?!year|month|week|quarter)|that (?:one|customer|order|product|company|person|"
    r"supplier|number|employee|client))\b",
    re.IGNORECASE,
)
_THAT_IS = re.compile(r"\bhow (?:many|much)\b[^.?!]{0,30}\b(?:is|was|are|were) (?:it|they|these)\b", re.IGNORECASE)
"""`and how many units was it?` asks of what stands before it in the same sentence."""
_FOR_EACH = re.compile(r"for (?:each|every)\b", re.IGNORECASE)
_THEIRS = re.compile(r"\A(?:(?!each|every)\w+\W+)*?(?P<whose>its|their)\b", re.IGNORECASE)
_NARROWS = re.compile(
    r"\b(?:only(?! (?:want|need|wish|wonder|ask|know|have|to)\b)|without|except\w*|exclud\w+|ignor\w+|apart from|"
    r"other than|who never|that never|leav\w+ out|left out)\b",
    re.IGNORECASE,
)
"""Words that say which rows count, wherever they stand."""
SCOPE = re.compile(
    r"\b(?:look(?:ing|ed)? (?:only |just )?(?:at|into)|interested in|car(?:e|ing) (?:only |just )?about|"
    r"focus(?:s?ing|s?ed)? (?:only |just )?on|deal(?:ing)? with|talk(?:ing)? about|speak(?:ing)? (?:of|about)|"
    r"concerned (?:with|about)|think(?:ing)? (?:of|about))\s+(?P<what>(?!\w+ing\b)[^.?!:;,]+)",
    re.IGNORECASE,
)
"""Talk that says which rows it is about: `We are looking at women`."""
_COURTESY = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Frau)\b\.?(?=\s+[A-Z\u00c0-\u00dc])")
_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_WHICH_ALONE = re.compile(r"\bwhich (?:ones?\b|of (?:them|these|those)\b)", re.IGNORECASE)
_THERE_WAS = re.compile(r"there['\u2019]?s?\b", re.IGNORECASE)
_BEFORE_NOUN = words("of the our their your other more such different new old")
"""Little words between `how many` and the noun that it counts."""
_FEW = 3
_LONGEST_SHORT_FORM = 12
"""Characters, with room for one that comes before."""


def asked(question: str, links: Callable[[str], Iterable[str]]) -> str:
    """What a question asks, without what only leads to it or thanks for it; the question itself where all of it may.

    A sentence or clause before the asking goes only if it is talk (`I am planning …`) to which nothing behind it points
    back and in which nothing stands that the answer may hang on: a word that narrows, or a stored value where none is
    named behind it. `links` tells what a text names: `value`, `table`, `column` or `term` for each. Doing it twice
    changes nothing.

    >>> asked("Hi there, I'm counting the shelves tonight. How many units are in stock? Thanks!", lambda text: ())
    'How many units are in stock?'
    >>> asked("Somebody rang from extension 428, who is that?", lambda text: ())
    'Somebody rang from extension 428, who is that?'
    """
    text = question
    while (greeting := _GREETING.match(text)) is not None and len(text[greeting.end() :].split()) >= _FEW:
        text = text[greeting.end() :]
    thanks = _THANKS.search(text)
    if thanks is not None and len(text[: thanks.start()].split()) >= _FEW and _is_thanks(thanks, links):
        text = text[: thanks.start()] + _last_mark(text[thanks.start() : thanks.end()])
    while begin := _begin(text, links):
        text = text[begin:]
    return text


def _is_thanks(found: re.Match[str], links: Callable[[str], Iterable[str]]) -> bool:
    """Whether words of thanks are no name: a mark parts them from the rest, or no capital and no value is there."""
    parted = found["mark"].strip() or found.string[found.start() - 1] in "?.!,"
    return bool(parted) or not (found["said"][0].isupper() or "value" in links(found["said"]))


def _last_mark(text: str) -> str:
    return "?" if text.lstrip().startswith("?") else ""


def _begin(text: str, links: Callable[[str], Iterable[str]]) -> int:
    """The length of the sentence or clause of talk that a text begins with; 0 where it begins with the asking."""
    first = next((m.end() for m in _BREAK.finditer(text) if not _is_abbreviated(text[: m.start() + 1])), 0)
    if (
        first
        and _is_talk(text[:first], text[first:], links)
        and not _names_the_value(text[:first], text[first:], links)
    ):
        return first
    end = _clause(text[:first] if first else text)
    if not end or len(text[end:].split()) < _FEW or _points_back(text[end:], links):
        return 0
    lead = _COURTESY.sub("", text[:end])
    if _NARROWS.search(lead) is not None or _tells_scope(lead, links):
        return 0
    named = set(links(lead)) if not _COUNTED.search(lead) else {"value"}
    return 0 if "value" in named or (named and _FOR.match(lead)) else end


def talk_kept(question: str, links: Callable[[str], Iterable[str]]) -> int:
    """The length of the sentence of talk that a question begins with only as no other value is named behind it.

    >>> talk_kept("I was told that Rye is fine. How many loaves are there?", lambda t: ("value",) * ("Rye" in t))
    29
    """
    first = next((m.end() for m in _BREAK.finditer(question) if not _is_abbreviated(question[: m.start() + 1])), 0)
    if not first or not _is_talk(question[:first], question[first:], links) or SCOPE.search(question[:first]):
        return 0
    return first if _names_the_value(question[:first], question[first:], links) else 0


def _names_the_value(sentence: str, rest: str, links: Callable[[str], Iterable[str]]) -> bool:
    """Whether talk names a stored value, which a courtesy title is not, and what stands behind it names none."""
    return "value" in links(_COURTESY.sub("", sentence)) and "value" not in links(rest)


def _is_abbreviated(text: str) -> bool:
    """Whether the full stop that a text ends in is that of a short form."""
    return _ABBREVIATED.search(text[-_LONGEST_SHORT_FORM:]) is not None


def _is_talk(sentence: str, rest: str, links: Callable[[str], Iterable[str]]) -> bool:
    """Whether a sentence only leads to what stands behind it, which asks and stands by itself."""
    begins_as_talk = _TALK.match(sentence) is not None or _PLAIN_WE.match(sentence) is not None
    if not begins_as_talk and not _is_told(sentence, rest, links):
        return False
    errand = _ERRAND.match(sentence) is not None or _clause(sentence) > 0
    if errand and not (sentence.rstrip().endswith(".") and _FOR_EACH.match(rest)):
        return False
    if sentence.rstrip().endswith("?") or _COUNTED.search(sentence):
        return False
    asks = _ASKS.match(rest) is not None or "?" in rest
    if _NARROWS.search(sentence) is not None or not asks or _points_back(rest, links) or _tells_scope(sentence, links):
        return False
    return _THERE_WAS.match(sentence) is None or bool({"table", "term"} & set(links(rest)))


def _is_told(sentence: str, rest: str, links: Callable[[str], Iterable[str]]) -> bool:
    """Whether a sentence only tells something, and a whole question of its own stands behind it.

    `The auditors have announced a visit. How many orders came in?`, but not `An order is late if …`.
    """
    if (
        not sentence.rstrip().endswith(".")
        or len(sentence.split()) <= _FEW
        or _ASKS.match(sentence)
        or _DEFINES.search(sentence)
    ):
        return False
    return bool({"table", "term"} & set(links(rest)))


def _points_back(text: str, links: Callable[[str], Iterable[str]]) -> bool:
    """Whether what is asked is told by what stands before it: `they`, or `how many` of nothing that is named."""
    theirs = _THEIRS.search(text)
    if theirs is not None and not {"table", "term"} & set(links(text[: theirs.start("whose")])):
        return True
    same = _THAT_IS.search(text)
    if same is not None and {"table", "term"} & set(links(text[: same.start()])):
        text = text[: same.start()] + text[same.end() :]
    if _POINTS_BACK.search(text) is not None or _WHICH_ALONE.search(text) is not None:
        return True
    counts = _HOW_MANY.search(text)
    if counts is None or any(is_plural(fold(word)) for word in re.findall(r"\w+", text[: counts.start()])):
        return False
    for word in re.findall(r"[\w-]+", text[counts.end() :]):
        said = fold(word)
        if is_plural(said):
            return said in STOP
        if said in STOP and said not in _BEFORE_NOUN:
            return True
    return True


def _tells_scope(talk: str, links: Callable[[str], Iterable[str]]) -> bool:
    """Whether talk says which rows it is about in words that name nothing: `women`, but not `the suppliers again`."""
    scope = SCOPE.search(talk)
    return scope is not None and not links(scope["what"])


def _clause(text: str) -> int:
    """The length of a clause of talk that a sentence begins with: `For the meeting I need`, `I wonder`; 0 for none."""
    if _TALK.match(text) is not None or _PLAIN_WE.match(text) is not None:
        for mark in _LEAD_MARK.finditer(text):
            behind = _ASKS.match(text, mark.end()) is not None and _RELATIVE.match(text, mark.end()) is None
            behind = behind or (mark[0][0] == ":" and len(text[mark.end() :].split()) > _FEW)
            if behind and len(text[: mark.start()].split()) > _FEW:
                return mark.end()
    errand = _ERRAND.match(text)
    return errand.end() if errand is not None else 0
