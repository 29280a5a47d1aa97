"""Cue words of Korean and German questions, so that their kind of answer is seen; other languages stay `open`.

Names, values and terms are linked by the lexicon in any language. What is here are only the small words that say what
kind of answer is asked for, written over into the English that the rules read.
"""

from __future__ import annotations

import re

_HIGH = (
    r"가장\s*(?:높|많|크|큰|비싸|비싼|최근|늦|길|긴|오래\s*걸|잘)|제일\s*(?:높|많|큰|비싼)|최고|최대|최다|상위|"
    r"가장\s*인기"
    r"|am\s+meisten|am\s+höchsten|am\s+größten|am\s+teuersten|meisten|höchste[nrs]?|größte[nrs]?|teuerste[nrs]?"
    r"|beste[nrs]?|neueste[nrs]?|jüngste[nrs]?|längste[nrs]?|stärkste[nrs]?|letzte[nrs]?(?! (?:Quartal|Halbjahr|"
    r"Monat|Woche|Tag|Jahr))"
)
_LOW = (
    r"가장\s*(?:낮|적|작|싸|싼|저렴|오래된|나이|먼저|이른|짧)|제일\s*(?:낮|적|작|싼)|최저|최소(?!한)|하위"
    r"|am\s+wenigsten|am\s+niedrigsten|am\s+kleinsten|wenigsten|niedrigste[nrs]?|kleinste[nrs]?|günstigste[nrs]?"
    r"|billigste[nrs]?|älteste[nrs]?|erste[nrs]?(?! (?:Quartal|Halbjahr|Monat|Woche|Tag))|kürzeste[nrs]?|"
    r"schlechteste[nrs]?"
)
_EXTREME = re.compile(rf"(?<!\w)(?:(?P<low>{_LOW})|(?P<high>{_HIGH}))(?![a-zäöüß])", re.IGNORECASE)
COUNTERS = ("개", "명", "곳", "건", "가지", "위", "분", "인", "사", "종", "마리")
"""What Korean counts things with, written right behind the number: 제품 5개."""

_TAG = r"<\w+>"
_COUNTED = r"(?:개|명|건|번|곳|회|종|마리|가지)"
_CUES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), english)
    for pattern, english in (
        # Korean puts the cue behind what it bears on; English puts it before.
        (
            rf"({_TAG}) (?:이|가|은|는|을|를)? ?(?:한 번도 |하나도 |전혀 )?(?:없는|없이|없었던|없나|하지 않은|안 한)",
            r"without \1",
        ),
        (r"(<tables?>) (?:을|를)? ?(?:한 번도 |전혀 )(?:\w+ )?(?:\w+지 )?않", r"never \1"),
        (rf"({_TAG}) (?:\w{{1,2}} )?(?:별로|별|마다)(?!\w)", r"per \1"),
        (r"각 (<\w+>)", r"each \1"),
        # With a counter rows are counted (10건 이상 주문한); without, the number is held against a column (30보다 큰).
        (rf"(<number>) ?{_COUNTED}\w? ?이상", r"at least \1"),
        (rf"(<number>) ?{_COUNTED}\w? ?이하", r"at most \1"),
        (rf"(<number>) ?{_COUNTED}\w? ?(?:초과|넘는|넘게|보다 많은|보다 많이)", r"more than \1"),
        (rf"(<number>) ?{_COUNTED}\w? ?(?:미만|보다 적은|보다 적게)", r"less than \1"),
        (r"(<number>) ?\w{0,2} ?이상", r"at least \1 by"),
        (r"(<number>) ?\w{0,2} ?이하", r"at most \1 by"),
        (r"(<number>) ?\w{0,2} ?(?:초과|넘는|보다 (?:많은|큰|비싼|높은|긴|무거운))", r"more than \1 by"),
        (r"(<number>) ?\w{0,2} ?(?:미만|보다 (?:적은|작은|싼|낮은|짧은|가벼운))", r"less than \1 by"),
        (r"평균\s?(?:보다|이상|초과)", "more than average "),
        (r"월별|매월|달마다|월마다", " per month "),
        (r"분기별|매 분기|분기마다", " per quarter "),
        (r"연도별|년도별|매년|해마다|연간", " per year "),
        (r"누적|누계", " cumulative "),
        (r"순위|랭킹", " rank "),
        (r"평균", " average "),
        (r"비율|비중|퍼센트|백분율|몇 ?%", " percent "),
        (r"비교|차이", " compare "),
        (r"서로 다른|중복 없이|고유한", " different "),
        (r"며칠|얼마나 걸", " how many days does "),
        (r"(?:예|네) ?(?:또는|/|,)? ?아니[오요]", " yes or no "),
        (r"모두 얼마|합쳐서|통틀어|합하면|합은|합을", " total "),
        (r"(?<!\w)누구(?:인가요|입니까|이며|일까요|예요|이고)?", " who is "),
        (
            r"몇 ?(?:개|명|곳|건|가지|분|사|종|마리|번)|몇이나|(?<!\w)(?:수는|수를|수가|수와|수|개수\w?|건수\w?|"
            r"인원\w?|횟수\w?)(?!\w)",
            " how many ",
        ),
        (r"총합|합계|총액|전체|모두 합|총 ", " total "),
        (r"있습니까|있나요|있는가|있었나요", " exists "),
        (r"보여|알려|나열|목록", " show "),
        # German keeps the order of English.
        (r"\b(?:zeige?n?|liste[nt]?|nenne?n?)\b", "show"),
        (r"\b(?:welche[rsnm]?|wer)\b", "which"),
        (r"\b(?:wie ?viele?[nrs]?|anzahl|zahl der)\b", "how many"),
        (r"\bwie (?:hoch|groß) (?:war|ist|sind|waren)\b", "how much is"),
        (r"\bwie (?:hoch|groß)\b", "how much"),
        (r"\b(?:gibt|gab) es\b|\b(?:ja oder nein)\b", "is there"),
        (r"\b(?:durchschnittlich\w*|durchschnitts?|im schnitt|im mittel|mittlere[nrs]?)\b", "average"),
        (r"\b(?:insgesamt|summe|gesamt\w*|zusammen)\b", "total"),
        (r"\b(?:prozent|anteil)\b", "percent"),
        (r"\b(?:pro|je) (?:monat)\b|\bmonatlich\w*\b", "per month"),
        (r"\b(?:pro|je) (?:quartal)\b|\bvierteljährlich\w*\b", "per quarter"),
        (r"\b(?:pro|je) (?:jahr)\b|\bjährlich\w*\b", "per year"),
        (r"\b(?:pro|je|nach)(?= <)", "per"),
        (r"\b(?:jede[nrsm]?)\b", "each"),
        (r"\b(?:ohne|nie|niemals|kein|keine[nrsm]?|nirgends)\b", "without"),
        (r"\b(?:mehr als|über)(?= <number>)", "more than"),
        (r"\b(?:weniger als|unter)(?= <number>)", "less than"),
        (r"\b(?:mehr|höher|teurer|größer|länger) als (?:der |die |das )?(?:average)\b", "more than average"),
        (r"\b(?:weniger|niedriger|billiger|kleiner|kürzer) als (?:der |die |das )?(?:average)\b", "less than average"),
        (r"\bmindestens\b", "at least"),
        (r"\b(?:vergleiche?n?|im vergleich|verglichen)\b", "compare"),
        (r"\b(?:verschiedene[nrs]?|verschiedenen|unterschiedliche[nrs]?)\b", "different"),
        (r"\b(?:rang|rangliste|rangfolge)\b", "rank"),
        (r"\b(?:kumuliert\w*|laufende summe|aufgelaufen\w*)\b", "cumulative"),
        (r"\b(?:und auch|sowohl)\b", "as well as"),
        (r"\baber nicht\b", "but not"),
        (r"\bnicht\b", "not"),
    )
)


def superlative(question: str) -> tuple[int, str] | None:
    """Where a Korean or German superlative stands, and whether it is `high` or `low`; None without one.

    >>> superlative("매출이 가장 높은 고객"), superlative("das billigste Produkt")
    ((4, 'high'), (4, 'low'))
    """
    match = _EXTREME.search(question)
    if len({other["low"] is None for other in _EXTREME.finditer(question)}) > 1:
        return None  # both ends of an amount are asked for
    return None if match is None else (match.start(), "low" if match["low"] else "high")


def has_cue(text: str) -> bool:
    """Whether any cue stands in a reading."""
    return any(pattern.search(text) for pattern, _ in _CUES)


def in_english(text: str) -> str:
    """Write the cues of a reading over into English; the rest stays.

    >>> in_english("<table> 별로 <tables> 수를")
    'per <table> <tables> how many'
    """
    for pattern, english in _CUES:
        text = pattern.sub(english, text)
    return " ".join(text.split())
