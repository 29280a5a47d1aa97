"""How people write questions: words, stems, numbers, superlatives, comparisons and negations.

Language only: nothing here knows a schema. English first; other scripts are split so that names, values and
numbers inside them are still found.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from Stemmer import Stemmer

_LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0300-\u036f\u1e00-\u1eff"
_MARKS = "\u0900-\u0d7f\u0e00-\u0e7f"  # vowel signs that belong to the letter before
_TOKEN = re.compile(
    rf"(?P<number>\d+(?:[.,]\d+)*)|(?P<latin>[{_LATIN}]+)|(?P<other>(?:(?![{_LATIN}])[^\W\d_]|[{_MARKS}])+)"
)

QUOTED = re.compile(
    "(?<!\\w)(?:'(?P<a>[^']+)'|\"(?P<b>[^\"]+)\"|\u201c(?P<c>[^\u201d]+)\u201d|\u2018(?P<d>[^\u2019]+)\u2019"
    "|\u201e(?P<e>[^\u201c\u201d]+)[\u201c\u201d]|\u00ab(?P<f>[^\u00bb]+)\u00bb)(?!\\w)"
)
"""A text in quotation marks; what stands between them is the one group that matched."""


def words(text: str) -> frozenset[str]:
    """The words of a text, once each."""
    return frozenset(text.split())


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or run of another script. `start` and `end` are offsets into the text."""

    start: int
    end: int
    text: str
    folded: str
    stem: str
    kind: Literal["number", "latin", "other"]


@lru_cache(maxsize=65_536)
def fold(text: str) -> str:
    """Case and accents taken off, so that `Côte` meets `cote`.

    >>> fold("Côte DE Blaye")
    'cote de blaye'
    """
    stripped = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", stripped)


@lru_cache(maxsize=65_536)
def stem(folded: str) -> str:
    """The English stem (Porter 2, from PyStemmer) of a folded word; other scripts stay as they are.

    >>> stem("categories") == stem("category"), stem("ordered") == stem("orders")
    (True, True)
    """
    return str(Stemmer("english").stemWord(folded)) if folded.isascii() else folded


def tokens(text: str) -> tuple[Token, ...]:
    """Split into words; digits, Latin letters and other scripts part from each other.

    >>> [t.folded for t in tokens("Germany의 1997년 Order-Details")]
    ['germany', '의', '1997', '년', 'order', 'details']
    """
    found = []
    for match in _TOKEN.finditer(text):
        kind: Literal["number", "latin", "other"] = (
            "number" if match["number"] else "latin" if match["latin"] else "other"
        )
        folded = match[0] if kind == "number" else fold(match[0])
        word = stem(folded) if kind == "latin" else folded
        found.append(Token(match.start(), match.end(), match[0], folded, word, kind))
    return tuple(found)


def name_tokens(name: str) -> tuple[Token, ...]:
    """Split an identifier into words: camel case, snake case, spaces and punctuation part them.

    >>> [t.folded for t in name_tokens("UnitPrice")], [t.folded for t in name_tokens("tbl_OrderID2")]
    (['unit', 'price'], ['tbl', 'order', 'id', '2'])
    """
    return tokens(_CAMEL.sub(" ", name).replace("_", " "))


def is_plural(folded: str) -> bool:
    """Whether an English noun looks plural.

    >>> is_plural("customers"), is_plural("address"), is_plural("people")
    (True, False, True)
    """
    if folded in {"people", "men", "women", "children", "staff", "data"}:
        return True
    return len(folded) > 3 and folded.endswith("s") and not folded.endswith(("ss", "us", "is"))


NUMBER_WORDS = (
    {
        word: number
        for number, word in enumerate(
            [
                "zero",
                "one",
                "two",
                "three",
                "four",
                "five",
                "six",
                "seven",
                "eight",
                "nine",
                "ten",
                "eleven",
                "twelve",
                "thirteen",
                "fourteen",
                "fifteen",
                "sixteen",
                "seventeen",
                "eighteen",
                "nineteen",
                "twenty",
            ]
        )
    }
    | {
        word: number + 2
        for number, word in enumerate(["zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"])
    }
    | {word: number + 2 for number, word in enumerate(["두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열"])}
    | {"funf": 5, "dozen": 12, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "thousand": 1000}
)

HIGHEST = words(
    "most highest largest biggest greatest best top latest newest youngest longest maximum max maximal priciest "
    "dearest heaviest tallest strongest busiest recent last furthest richest costliest peak leading favourite favorite"
)
LOWEST = words(
    "fewest least lowest smallest worst bottom cheapest oldest earliest first shortest minimum min minimal "
    "lightest weakest slowest nearest poorest"
)

SUPERLATIVE = (
    r"(?:(?<!at )(?:most|least)(?! of (?:the|our|these|them|all|it)\b)|fewest|highest|lowest|largest|biggest"
    r"|smallest|greatest|best|worst|top|bottom|oldest|youngest|newest|earliest|latest|longest|shortest|"
    r"cheapest|priciest|costliest|dearest|heaviest"
    r"|lightest|tallest|strongest|peak|leading|favou?rite|weakest|busiest|fastest|slowest|nearest|furthest|richest|"
    r"poorest|maximum|max"
    r"|minimum|min|maximal|minimal|last|first)"
)

MORE_THAN = (
    r"(?:more than|greater than|larger than|higher than|bigger than|longer than|older than|pricier than|"
    r"more expensive than|dearer than|costlier than|heavier than|over|above|exceed(?:s|ed|ing)?|beyond|"
    r"upwards? of|in excess of|north of|past|top(?:s|ped)|"
    r"surpass(?:es|ed|ing)?|beat(?:s|en|ing)?)"
)
LESS_THAN = (
    r"(?:fewer than|less than|smaller than|lower than|shorter than|younger than|cheaper than|under|below|"
    r"beneath|south of|"
    r"short of)"
)
AT_LEAST = r"(?:at least|no fewer than|no less than|not less than|not fewer than|a minimum of|minimum of|minimum)"
AT_MOST = r"(?:at most|no more than|not more than|up to|a maximum of|maximum of|maximum)"
EXACTLY = r"(?:exactly|precisely|equal to|equals)"

NOT = r"(?:not|no|never|none|nothing|nobody|without|neither|nor|cannot|except|excluding|excludes?|lacks?|lacking)"

# Adjectives and other names of countries: language, not data. Each is tried as a stored value.
ALIASES: dict[str, tuple[str, ...]] = {
    "american": ("usa", "united states", "us", "united states of america"),
    "america": ("usa", "united states", "us", "united states of america"),
    "united states": ("usa", "us", "united states of america"),
    "us": ("usa", "united states", "united states of america"),
    "usa": ("united states", "us", "united states of america"),
    "british": ("uk", "united kingdom", "great britain", "gb"),
    "britain": ("uk", "united kingdom", "great britain", "gb"),
    "great britain": ("uk", "united kingdom", "gb"),
    "united kingdom": ("uk", "great britain", "gb"),
    "uk": ("united kingdom", "great britain", "gb"),
    "england": ("uk", "united kingdom"),
    "english": ("uk", "united kingdom", "england"),
    "german": ("germany",),
    "germans": ("germany",),
    "french": ("france",),
    "spanish": ("spain",),
    "italian": ("italy",),
    "italians": ("italy",),
    "brazilian": ("brazil",),
    "brazilians": ("brazil",),
    "mexican": ("mexico",),
    "mexicans": ("mexico",),
    "canadian": ("canada",),
    "canadians": ("canada",),
    "swedish": ("sweden",),
    "swiss": ("switzerland",),
    "austrian": ("austria",),
    "austrians": ("austria",),
    "danish": ("denmark",),
    "finnish": ("finland",),
    "norwegian": ("norway",),
    "norwegians": ("norway",),
    "irish": ("ireland",),
    "polish": ("poland",),
    "portuguese": ("portugal",),
    "belgian": ("belgium",),
    "belgians": ("belgium",),
    "dutch": ("netherlands", "the netherlands", "holland"),
    "holland": ("netherlands", "the netherlands"),
    "argentinian": ("argentina",),
    "argentine": ("argentina",),
    "venezuelan": ("venezuela",),
    "venezuelans": ("venezuela",),
    "japanese": ("japan",),
    "chinese": ("china",),
    "korean": ("south korea", "korea"),
    "indian": ("india",),
    "russian": ("russia",),
    "australian": ("australia",),
    "australians": ("australia",),
    "singaporean": ("singapore",),
    "greek": ("greece",),
    "turkish": ("turkey",),
    "czech": ("czech republic", "czechia"),
    "hungarian": ("hungary",),
    "romanian": ("romania",),
}

SYNONYMS: dict[str, tuple[str, ...]] = {
    "nation": ("country",),
    "land": ("country",),
    "town": ("city",),
    "telephone": ("phone",),
    "zip": ("postal",),
    "postcode": ("postal code",),
    "surname": ("last name",),
    "forename": ("first name",),
    "firm": ("company",),
    "business": ("company",),
    "corporation": ("company",),
    "client": ("customer",),
    "vendor": ("supplier",),
    "worker": ("employee",),
    "article": ("product", "item"),
    "item": ("product",),
    "shipment": ("order",),
    "expense": ("cost",),
    "fee": ("cost", "charge"),
    "amount": ("quantity",),
    "salary": ("wage", "pay"),
    "doctor": ("physician",),
    "pupil": ("student",),
    "film": ("movie",),
    "movie": ("film",),
    "author": ("writer",),
}
"""Everyday words for things that databases name otherwise, by stem. Tried where a word is unknown."""

ABBREVIATIONS: dict[str, str] = {
    "acct": "account",
    "addr": "address",
    "amt": "amount",
    "cust": "customer",
    "dept": "department",
    "descr": "description",
    "dob": "birthday",
    "emp": "employee",
    "inv": "invoice",
    "mgr": "manager",
    "num": "number",
    "prod": "product",
    "qty": "quantity",
    "tel": "phone",
    "wt": "weight",
}
"""What names of columns and people in a hurry cut short."""

STOP = words(
    """a an the this that these those there here it its it's i me my mine we us our ours you your yours they them
    their theirs he him his she her hers who whom whose which what when where why how is are was were be been being am
    do does did done doing has have had having will would shall should can could may might must of in on at by for from
    to into onto with without within about above below over under between among after before during since until till
    through throughout across via per as than then and or nor but not no yes if so such same own s t re ve ll d m
    all any each every both either neither some several many much more most few fewer less least other others another
    only just also too very ever never again once please kindly thanks thank hello hi hey okay ok let lets im id ive
    out up down off not don didn doesn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn one ones
    because while although though however etc ie eg vs versus i'm i'd"""
)

FOREIGN = words(
    """wie viele wieviel welche welcher welches wer wo wann was der die das und nicht ist sind haben hat gibt es
    zeige liste unsere unser pro je den dem des nach ohne nie kein keine zum zur ein eine einen einem welchen
    welchem um über aus im mit für von bei cuántos cuantos cuántas cuantas qué que cuál cuáles quién dónde los las
    el la del y no hay son tiene muestra lista nuestros nuestras por cada combien quel quelle quels quelles qui où
    les du le et est sont dans nos par chaque avec pour quanti quante quale quali chi dove gli dei delle il nel
    per ogni quantos quantas quais quem onde os as dos nossos hoeveel welke waar het een en zijn van onze bei
    hatte wurde wurden waren wir wird sein nur noch mehr auch alle allen zwar wenn aber oder einer eines keine
    keinen keinem keiner aller vom unter seit vor nach bis zeig bitte gib mir uns sie ihr ihre ihren jeder jede
    jedes jedem jeden kosten kostet kostete kommen kommt kam kamen gehen geht ging gingen wohnen wohnt leben lebt
    arbeiten arbeitet vielen verschiedene verschiedenen pro welches meisten höchsten niedrigsten wenigsten"""
)
"""Little words of German, Spanish, French, Italian, Portuguese and Dutch: they show that a question is not English."""

KOREAN = words(
    """안녕하세요 알려 주세요 보여 주십시오 알려줘 보여줘 모두 전체 각각 각각의 중에서 중에 가운데 그리고 또는 및
    어느 어떤 무엇 무엇인가요 얼마 얼마인가요 얼마입니까 누구 누구인가요 누구입니까 몇 있는 있나요 있습니까 없는
    없이 가장 많은 많이 적은 높은 낮은 기준으로 지금까지 아직 인가요 입니까 되나요 되었나요 했나요 순서대로 이름만
    것이 것은 곳은 대한 대해 위한 위해"""
)
"""Little and everyday words of Korean questions, which ask for nothing that a database holds."""

DETERMINERS = words("the a an our my your their its his her this these those")

COMMON = (
    STOP
    | HIGHEST
    | LOWEST
    | frozenset(NUMBER_WORDS)
    | words(
        """show shows showing list lists listed give gives given tell tells find finds get gets got display name named
    names see seen know need needs want wants like look looking provide return report output print fetch pull compute
    calculate determine identify count counts counted counting number numbers sum sums summed total totals totalled
    average averages avg mean median typical amount amounts value values percentage percent percents share shares
    fraction proportion ratio portion rank ranks ranked ranking running cumulative cumulatively accumulate accumulated
    compare compared comparison difference differences differ grow grew grown growth change changed changes
    increase increased decrease develop developed development trend evolve evolved time times day days daily
    week weeks weekly month months monthly quarter quarters quarterly year years yearly annual annually
    today yesterday tomorrow now ago current
    currently date dates dated period together altogether overall combined sorted sort sorting ordered descending
    ascending alphabetical alphabetically group grouped groups broken breakdown split distinct different unique
    duplicate duplicates identical pairs pair common exist exists existing high higher highly low lower large larger big
    bigger great greater small smaller long longer short shorter old older young younger new newer early earlier late
    later cheap cheaper expensive costly pricey good better bad worse make makes made take takes taken took come comes
    came coming go goes went gone bring brings brought place places placed placing put sell sells sold selling buy buys
    bought buying purchase purchased spend spends spent spending earn earned earns pay paid pays cost costs costing
    handle handled handles contain contains contained include includes included including exclude excluding belong
    belongs belonging live lives lived living located location work works worked working use used using call called
    calls says say said mean means set sets based whose anybody anyone everyone someone something anything everything
    data database table tables row rows record records entry entries column columns field fields info information
    detail details kind kinds type types question answer result results many own owns owned mark marked assign assigned
    least half first second third fourth last next previous exactly precisely approximately around roughly still yet
    always often frequently rarely together alone respectively instead actually really maybe perhaps basically part
    parts piece pieces thing things case cases way ways lot lots top bottom best worst ones occur occurs appear appears
    happen happened across regarding concerning terms order form per rest remain remaining
    associate associated regard due carry carries carried worth account accounts stuff folks guys buddy wanna gonna
    worthy hold holds offer offers deliver delivers divide end ends start starts begin begins whole full single side
    people person persons somebody nobody none became become becomes send sent carry require requires charge charged
    serve serves serving receive receives received everywhere anywhere somewhere home house money away lie lies lay
    possible quick quickly curious wonder wondering interested basically simply exact overview summary figure figures
    matter regardless sorted respectively well hand back front left right line lines
    exceed exceeds exceeded exceeding
    word words begins starts ends mention mentions mentioned contains containing store stores stored keep keeps kept
    help check checking run runs think thinks guess sure right great nice cool fine asked asking asks ask mind moment"""
    )
)
