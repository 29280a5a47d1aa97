"""What the people and things of a country are called in English: language, not data.

A word counts only where the country is a stored value, so that `polish` stays a verb in a database without Poland.
"""

from __future__ import annotations

from functools import lru_cache

# adjective [+ people, where they are not the adjective with an s] : names of the country, the usual one first
_TABLE = """
afghan: afghanistan
albanian: albania
algerian: algeria
american: usa, united states, us, united states of america
argentinian argentine argentines: argentina
armenian: armenia
australian aussie: australia
austrian: austria
bangladeshi: bangladesh
belarusian: belarus
belgian: belgium
bolivian: bolivia
bosnian: bosnia and herzegovina, bosnia
brazilian: brazil
british brits britons briton: uk, united kingdom, great britain, britain, gb
bulgarian: bulgaria
cambodian: cambodia
cameroonian: cameroon
canadian: canada
chilean: chile
chinese: china
colombian: colombia
costa-rican: costa rica
croatian croats croat: croatia
cuban: cuba
cypriot: cyprus
czech: czech republic, czechia
danish danes dane: denmark
dominican: dominican republic
dutch: netherlands, the netherlands, holland
ecuadorian: ecuador
egyptian: egypt
english: england, uk, united kingdom
estonian: estonia
ethiopian: ethiopia
filipino philippine: philippines, the philippines
finnish finns finn: finland
french: france
georgian: georgia
german: germany
ghanaian: ghana
greek: greece
guatemalan: guatemala
haitian: haiti
honduran: honduras
hungarian: hungary
icelandic icelanders icelander: iceland
indian: india
indonesian: indonesia
iranian: iran
iraqi: iraq
irish: ireland
israeli: israel
italian: italy
ivorian: ivory coast, cote d'ivoire
jamaican: jamaica
japanese: japan
jordanian: jordan
kazakh: kazakhstan
kenyan: kenya
korean south-korean: south korea, korea
kuwaiti: kuwait
latvian: latvia
lebanese: lebanon
libyan: libya
lithuanian: lithuania
luxembourgish luxembourgers luxembourger: luxembourg
macedonian: north macedonia, macedonia
malaysian: malaysia
maltese: malta
mexican: mexico
moldovan: moldova
mongolian: mongolia
moroccan: morocco
nepali nepalese: nepal
new-zealand new-zealanders kiwi: new zealand
nicaraguan: nicaragua
nigerian: nigeria
norwegian: norway
pakistani: pakistan
panamanian: panama
paraguayan: paraguay
peruvian: peru
polish poles pole: poland
portuguese: portugal
qatari: qatar
romanian: romania
russian: russia, russian federation
saudi saudi-arabian: saudi arabia
scottish scots scot: scotland
senegalese: senegal
serbian serbs serb: serbia
singaporean: singapore
slovak slovakian: slovakia
slovenian slovenes slovene: slovenia
south-african: south africa
spanish spaniards spaniard: spain
sri-lankan: sri lanka
swedish swedes swede: sweden
swiss: switzerland
syrian: syria
taiwanese: taiwan
tanzanian: tanzania
thai: thailand
tunisian: tunisia
turkish turks turk: turkey, turkiye
ugandan: uganda
ukrainian: ukraine
uruguayan: uruguay
venezuelan: venezuela
vietnamese: vietnam, viet nam
welsh: wales
"""


@lru_cache(maxsize=1)
def _read() -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    countries: dict[str, tuple[str, ...]] = {}
    adjectives: dict[str, str] = {}
    for line in _TABLE.strip().splitlines():
        called, _, named = line.partition(": ")
        names = tuple(named.split(", "))
        first, *others = (word.replace("-", " ") for word in called.split())
        for word in (first, *others):
            countries[word] = countries[f"{word}s"] = names
        for name in names:
            adjectives.setdefault(name, " ".join(part.capitalize() for part in first.split()))
    return countries, adjectives


def countries_of(word: str) -> tuple[str, ...]:
    """The names a country may be stored under that a word for its people or things speaks of.

    >>> countries_of("Swedes"), countries_of("french"), countries_of("cheap")
    (('sweden',), ('france',), ())
    """
    return _read()[0].get(word.casefold(), ())


def is_country(word: str) -> bool:
    """Whether it is the name of a country, so that it is no mistyped name of another.

    >>> is_country("Iceland"), is_country("Irelnad")
    (True, False)
    """
    return word.casefold() in _read()[1]


def adjective_of(country: str) -> str:
    """The adjective of a country, or `""`.

    >>> adjective_of("Sweden"), adjective_of("USA"), adjective_of("Atlantis")
    ('Swedish', 'American', '')
    """
    return _read()[1].get(country.casefold(), "")
