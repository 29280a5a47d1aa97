"""What is said in a chat that asks for nothing, and what to tell then."""

from __future__ import annotations

import re

_LONGEST = 80
"""Characters of small talk; who writes more asks something."""

_SOFT = "ok|okay|great|good|cool|perfect|nice|super|very|and|that s|that's|thats|it s"
_THANKS = (
    rf"(?:(?:{_SOFT}) )*(?:thanks?|thank you|thx|ty|cheers|much appreciated)"
    r"(?: (?:a lot|very much|so much|you|again|that(?: i|')?s all|for that|all|for now|great))*"
)
_TALK = (
    r"ok|okay|great|good|cool|perfect|nice|super|wow|yes|no|yeah|yep|nope|right|sure|hm+|oh|ah|fine|interesting|i see|"
    r"got it|understood|alright|well|so|and|but|lol|awesome|excellent|makes sense|good to know|please|"
    r"that(?: |')s (?:it|all|interesting)"
)
_HINTS: tuple[tuple[str, str], ...] = (
    (r"|help|what can (?:i|you) (?:ask|do)", "Ask a question, or /help."),
    (_THANKS, "You are welcome. Ask on, or end with /quit."),
    (
        r"(?:hello|hi|hey|good (?:morning|afternoon|evening)|howdy)(?: there)?(?: how are you)?",
        "Hello. Ask something that the database knows, or /help.",
    ),
    (
        r"(?:but )?(?:why|how come|how so|why (?:is|was) (?:that|it|this)(?: so)?|why not)",
        "HebbQL answers what is in the data, not why. Ask for the figures that may explain it.",
    ),
    (
        r"(?:are you sure|really|is that (?:right|true|correct)|seriously)",
        "Read the SQL above. If it is wrong, say /bad, or give the right one: /sql SELECT …",
    ),
    (
        r"(?:no )?(?:that(?: |')?s|this is|it(?: |')s|that is) (?:wrong|not right|not true|incorrect|bad)|wrong",
        "Say /bad, or give the right query: /sql SELECT …",
    ),
    (r"quit|exit|bye|goodbye|stop|end", "End with /quit or Ctrl-D."),
    (rf"(?:{_TALK})(?: (?:{_TALK}))*", "Ask a question, or /help."),
)


def nudge(text: str) -> str:
    """What to tell somebody whose words ask for nothing, or `""` where they ask.

    >>> nudge("thanks!")
    'You are welcome. Ask on, or end with /quit.'
    >>> nudge("and in 1998?")
    ''
    """
    if len(text) > _LONGEST:
        return ""
    plain = " ".join(re.sub(r"[^\w' ]+", " ", text.casefold().replace("\u2019", "'")).split())
    return next((hint for pattern, hint in _HINTS if re.fullmatch(pattern, plain)), "")
