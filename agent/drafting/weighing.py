"""How likely each draft is right, from what the attempt alone shows. Pure: the same in every process.

Drafts that gave the same result share all evidence, so it is results that are weighed. Different results exclude each
other, and all may be wrong: with the score `s` of each result the chance of one is `e^s / (1 + Σ e^s)`, a multinomial
logistic model whose other outcome is that none is right (McFadden 1974). The score is a sum of features times
weights, which `scripts/calibrate.py` fits.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from agent.attempt import Attempt, Draft, agree
from agent.database.result import Result
from agent.wording import tokens, words
from memory.recall import Recalled

WEIGHTS_FILE = Path(__file__).with_name("confidence.toml")

Strength = Callable[[str], float]
"""How much better the shape of a query did in the bucket than one never tried, in [-1, 1]; 0 where that is unknown."""


MOST_DOUBTED = 0.25
"""The chance of a result all of whose queries are doubted, at most. Of 162 doubted queries of a small model 158 were
wrong (EXPERIMENTS), and drafts that copy one another agree in what they leave out."""

COPIED = 0.5
"""What a model's word counts for where it only wrote again what code had made of an episode that both were given. Of 47
results that it copied 35 were right; counted in full they were stated with 86 % on average, counted half with 66 %."""


SURE_OF_ITSELF = 0.9
"""The likelihood that a reply of a model usually has, taken where it does not say."""


_PARAMETERS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)
_HOSTED = ("claude", "openai:")


class WeightsError(Exception):
    """The weights cannot be read, or are not those of the features. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One number that speaks for or against a result, in [0, 1] or near it.

    `sign` is 1 where it can only speak for the result, -1 where only against it, 0 where either may be; a weight never
    has the other sign. `usual` is the weight that is taken for likely before anything is fitted.
    """

    name: str
    about: str
    sign: Literal[-1, 0, 1]
    usual: float


RULES: Mapping[str, str] = {
    "value": "a value of the question is not in it",
    "condition": "a condition of the question is not in it",
    "comparison": "a comparison of the question is not in it",
    "number": "a number of the question is not in it",
    "limit": "it gives more or fewer rows than were asked for",
    "time": "a time of the question is not in it",
    "unsaid": "a word that narrows the question down stands for nothing in it",
    "made up": "it holds something that the question does not",
    "direction": "it is sorted the other way",
    "measure": "it measures something else",
    "grouping": "it is grouped by something else, or not at all",
    "columns": "its columns do not answer what was asked",
    "tables": "it leaves out a table",
    "fan-out": "a join multiplies what it sums",
}
"""Rules of `agent.drafting.coverage` that count apart; the others count as doubts only."""

FEATURES: tuple[Feature, ...] = (
    Feature("bias", "always 1", 0, -2.0),
    # Who made it
    Feature("model", "a model wrote it; a half where it only copied", 1, 0.5),
    Feature("size", "how large the model is that wrote it, see `size_of`; 0 without one", 1, 0.5),
    Feature("likelihood", "how sure the surest model was of it, the usual where it does not say; 0 without", 1, 1.0),
    Feature("adapted", "code adapted an episode to it", 1, 0.5),
    Feature("both", "a model wrote it and code adapted an episode to it", 1, 1.0),
    Feature("recall", "the best score of the episodes it was adapted from", 1, 1.0),
    Feature("own_bucket", "one of them is of the bucket of the question", 1, 0.6),
    Feature("wording", "words that one of their questions shares with the question, of all in both", 1, 1.5),
    Feature("closeness", "1 / (1 + strain) for the one that had to be bent least", 1, 1.0),
    Feature("unbent", "1 - strain / 4 for the same, at least 0", 1, 1.0),
    # How many agree
    Feature("support", "episodes that the same query was adapted from, as log2", 1, 0.4),
    Feature("agreement", "share of the other ways that lead to it; see `ways`", 1, 1.5),
    Feature("ways", "how many ways lead to it, as log2; what was adapted from one skeleton is one way", 1, 0.4),
    Feature("strength", "how well the shape of its query did in the bucket, against one never tried", 1, 2.0),
    # What it leaves out
    Feature("doubts", "doubts about the best of its queries, as log2 of 1 + doubts", -1, -0.6),
    *(Feature(f"doubt_{rule.replace(' ', '_')}", about, -1, -0.3) for rule, about in RULES.items()),
    # What it looks like
    Feature("empty", "it has no row", -1, -1.0),
    Feature("nothing", "all its cells are NULL, or its only one is 0", -1, -1.0),
    Feature("cut", "a cap cut it off", -1, -1.0),
    Feature("echo", "each cell is a text that stands in the question", -1, -2.0),
    Feature("twice", "a row comes twice", -1, -1.0),
    Feature("holes", "a cell is NULL", -1, -0.5),
    Feature("rows", "rows, as log10 of 1 + rows over 3", 0, 0.0),
    Feature("columns", "columns beyond the first, over 4", 0, 0.0),
    Feature("tables", "tables that the shortest of its queries reads beyond the first, over 4", -1, -0.3),
    Feature("length", "characters of the shortest of its queries, over 400", -1, -0.3),
    # What the question looks like
    Feature("leftover", "words of the question that link to nothing, at most 4, over 4", -1, -0.8),
    Feature("weak", "the question links weakly", -1, -0.5),
    Feature("links", "things that the question links to, over 8", 0, 0.0),
    Feature("nearest", "words that the nearest question shares with it, adapted or not, of all in both", 0, 0.0),
    Feature("known", "episodes near the question that are of its own bucket, as log2 of 1 + episodes over 3", 0, 0.3),
)
"""All features, in the order of the file."""

_SIGNS = {feature.name: feature.sign for feature in FEATURES}


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature counts for, by name. `command` and `data` say how and on what they were fitted."""

    values: Mapping[str, float]
    command: str = ""
    data: str = ""

    def __post_init__(self) -> None:
        """Raises WeightsError: a feature has no weight, there is no such feature, or a weight has the wrong sign."""
        if missing := _SIGNS.keys() - self.values.keys():
            raise WeightsError(f"The weight of {sorted(missing)[0]!r} is missing.")
        if strange := self.values.keys() - _SIGNS.keys():
            raise WeightsError(f"There is no feature {sorted(strange)[0]!r}.")
        for name, value in self.values.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise WeightsError(f"The weight of {name!r} is no number.")
            if value * _SIGNS[name] < 0:
                raise WeightsError(f"The weight of {name!r} must be {'above' if value < 0 else 'below'} 0 or 0.")

    def score(self, features: Mapping[str, float]) -> float:
        return sum(self.values[name] * value for name, value in features.items())


USUAL_WEIGHTS = Weights({feature.name: feature.usual for feature in FEATURES}, data="set by hand")
"""What is taken for likely before anything is fitted."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one result: the places of its drafts in the attempt, in order, and its features by name."""

    places: tuple[int, ...]
    features: Mapping[str, float]


@cache
def read_weights(path: Path = WEIGHTS_FILE) -> Weights:
    """Read fitted weights. A file is read once.

    Raises:
        WeightsError: the file is missing, cannot be read, or does not fit the features.
    """
    mend = "Restore it from the repository, or write it anew with scripts/calibrate.py fit."
    try:
        read: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        return Weights(MappingProxyType(dict(read["weights"])), str(read["command"]), str(read["data"]))
    except FileNotFoundError as problem:
        raise WeightsError(f"The weights of confidence {path} are missing. {mend}") from problem
    except WeightsError as problem:
        raise WeightsError(f"{path}: {problem} {mend}") from problem
    except KeyError as problem:
        raise WeightsError(f"{path} has no {problem.args[0]!r}. {mend}") from problem
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError, ValueError) as problem:
        raise WeightsError(f"{path} cannot be read: {problem}. {mend}") from problem


def written(weights: Weights) -> str:
    """Weights as the file holds them, each with what its feature is."""
    lines = [
        "# How much each feature counts for the chance that a result is right (agent/drafting/weighing.py).",
        "# Written by scripts/calibrate.py fit; not edited by hand.",
        f"command = {json.dumps(weights.command)}",
        f"data = {json.dumps(weights.data)}",
        "",
        "[weights]",
        *(f"{one.name} = {weights.values[one.name]:.4f}  # {one.about}" for one in FEATURES),
    ]
    return "\n".join(lines) + "\n"


def _unknown(_sql: str) -> float:
    """Nothing is known of any shape."""
    return 0.0


def weighed(attempt: Attempt, *, weights: Weights, strength: Strength = _unknown) -> Attempt:
    """Give each draft with a result the chance that it is right, in [0, 1]; to one without a result None.

    Drafts with the same result get the same, at most MOST_DOUBTED where each of them leaves something out or makes
    something up. The chances of different results add up to less than 1.
    """
    found = evidence(attempt, strength=strength)
    chances: dict[int, float] = {}
    for one, chance in zip(found, chances_of([weights.score(one.features) for one in found]), strict=True):
        doubted = all(_is_doubted(attempt.drafts[place]) for place in one.places)
        chances.update(dict.fromkeys(one.places, min(chance, MOST_DOUBTED) if doubted else chance))
    drafts = (replace(draft, confidence=chances.get(place)) for place, draft in enumerate(attempt.drafts))
    return replace(attempt, drafts=tuple(drafts))


def _is_doubted(draft: Draft) -> bool:
    return any(doubt.rule != "empty" for doubt in draft.doubts)


def chances_of(scores: Sequence[float]) -> tuple[float, ...]:
    """The chance of each of several results that exclude each other, where all may be wrong.

    >>> chances_of([0.0]), [round(chance, 3) for chance in chances_of([2.0, 0.0])]
    ((0.5,), [0.787, 0.107])
    """
    top = max(0.0, *scores) if scores else 0.0
    parts = [math.exp(score - top) for score in scores]
    whole = math.exp(-top) + sum(parts)
    return tuple(part / whole for part in parts)


def evidence(attempt: Attempt, *, strength: Strength = _unknown) -> tuple[Evidence, ...]:
    """What speaks for each result of an attempt, in the order in which the results came.

    Another draft with the same result never lowers what speaks for it, nor does one with a doubt less.
    """
    sources = {str(recalled.episode.id): recalled for recalled in (*attempt.recalled, *attempt.nearby)}
    groups = _same_results(attempt.drafts)
    ways = [len(_ways([attempt.drafts[place] for place in places], sources)) for places in groups]
    masked = attempt.understood.masked if attempt.understood else ""
    size = size_of(attempt.model)
    asked = _of_question(attempt)

    def features(drafts: Sequence[Draft], count: int) -> dict[str, float]:
        assert drafts[0].result is not None, "only results are weighed"
        return {
            "bias": 1.0,
            **_of_makers(drafts, sources, masked, size),
            "agreement": (count - 1) / (sum(ways) - 1) if sum(ways) > 1 else 0.0,
            "ways": math.log2(count),
            "strength": max(strength(draft.sql) for draft in drafts),
            **_of_queries(drafts),
            **_of_result(drafts[0].result, attempt.question),
            **asked,
        }

    return tuple(
        Evidence(places, features([attempt.drafts[place] for place in places], count))
        for places, count in zip(groups, ways, strict=True)
    )


def _same_results(drafts: Sequence[Draft]) -> tuple[tuple[int, ...], ...]:
    """The places of drafts that ran, those with the same result together."""
    groups: list[tuple[_Look, Draft, list[int]]] = []
    for place, draft in enumerate(drafts):
        if draft.result is None:
            continue
        look = _look(draft.result)
        known = (places for other, first, places in groups if look.may_be(other) and _agree(first, draft))
        if (places := next(known, None)) is None:
            groups.append((look, draft, [place]))
        else:
            places.append(place)
    return tuple(tuple(places) for _, _, places in groups)


def _agree(one: Draft, other: Draft) -> bool:
    assert one.result is not None and other.result is not None, "only drafts that ran are compared"
    return one.result.rows == other.result.rows or agree(one, other)


@dataclass(frozen=True, slots=True)
class _Look:
    """What the same results have in common, whatever the order of rows and columns; seen faster than their cells.

    `texts` is a sum of hashes, `total` that of all numbers, `size` that of their absolute values.
    """

    shape: tuple[int, int, str | None]
    texts: int
    total: float
    size: float

    def may_be(self, other: _Look) -> bool:
        """Numbers are the same to nine digits, so that totals that differ in the sixth are of different results."""
        if (self.shape, self.texts) != (other.shape, other.texts):
            return False
        return not abs(self.total - other.total) > 1e-6 * max(self.size, other.size)


def _look(result: Result) -> _Look:
    texts, total, size = 0, 0.0, 0.0
    for row in result.rows:
        for cell in row:
            if isinstance(cell, str):
                texts += hash(cell)
            elif isinstance(cell, int | float):
                total += cell
                size += abs(cell)
    return _Look((len(result.rows), len(result.columns), result.truncated), texts, total, size)


def copied(drafts: Sequence[Draft]) -> tuple[bool, ...]:
    """Of each draft whether a model wrote in it what code had made of an episode before, but for how names are written.

    Both were given that episode, so that the second is no second source.
    """
    made: set[str] = set()
    found = []
    for draft in drafts:
        wording = _wording(draft.sql)
        found.append(draft.origin == "model" and wording in made)
        if draft.origin == "adapted":
            made.add(wording)
    return tuple(found)


def sole_source(attempt: Attempt) -> str:
    """The id of the one episode that the answer rests on; `""` where several gave it, or a model came to it itself.

    A habit rests on every time that it was verified.
    """
    answer = attempt.answer
    if answer is None or answer.result is None or attempt.path == "habit":
        return ""
    agreed = [draft for draft in attempt.drafts if draft.result is not None and _agree(draft, answer)]
    given = {id for one in agreed if one.origin == "adapted" for id in (one.episode, *(id for id, _ in one.bent))}
    own = any(one.origin == "model" and not copy for one, copy in zip(agreed, copied(agreed), strict=True))
    return given.pop() if len(given) == 1 and not own else ""


_NAMING = re.compile(
    r"""('(?:[^']|'')*')|\s*\bAS\s+(?:"[^"]*"|\w+\b)(?!\s*\))|(?:"[^"]*"|\b[^\W\d]\w*)\.(?=[\w"])|"|\s+""",
    re.IGNORECASE,
)


@lru_cache(4_096)
def _wording(sql: str) -> str:
    """A query without what it calls its tables and columns, in small letters but for its texts.

    >>> _wording("SELECT COUNT(*) AS n FROM T WHERE T.a = 'X.y' AND T.b > 1.5")
    "select count(*) from t where a = 'X.y' and b > 1.5"
    >>> _wording("SELECT CAST(T.a AS REAL) / 2")
    'select cast(a as real) / 2'
    """
    parts, since = [], 0
    for match in _NAMING.finditer(sql):
        parts += [sql[since : match.start()].casefold(), match[1] or (" " if match[0].isspace() else "")]
        since = match.end()
    return "".join([*parts, sql[since:].casefold()])


def _ways(drafts: Sequence[Draft], sources: Mapping[str, Recalled]) -> set[tuple[str, str]]:
    return {_way(draft, sources) for draft, copy in zip(drafts, copied(drafts), strict=True) if not copy}


def _way(draft: Draft, sources: Mapping[str, Recalled]) -> tuple[str, str]:
    """What makes two drafts count as one way to a result: the same skeleton adapted, or the same words of a model."""
    if draft.origin == "model":
        return "model", draft.sql
    source = sources.get(draft.episode)
    return "adapted", source.episode.skeleton if source else draft.episode


def _of_makers(drafts: Sequence[Draft], sources: Mapping[str, Recalled], masked: str, size: float) -> dict[str, float]:
    adapted = [draft for draft in drafts if draft.origin != "model"]
    known = [source for draft in adapted if (source := sources.get(draft.episode))]
    wrote = len(adapted) < len(drafts)
    alone = sum(not copy for copy in copied(drafts)) > len(adapted)
    strain = min((draft.strain for draft in adapted), default=math.inf)
    word = (1.0 if alone else COPIED) if wrote else 0.0
    sure = max((_likelihood(draft) for draft in drafts if draft.origin == "model"), default=0.0)
    return {
        "model": word,
        "size": word * size,
        "likelihood": word * sure,
        "adapted": float(bool(adapted)),
        "both": float(bool(adapted) and wrote),
        "recall": max((source.score for source in known), default=0.0),
        "own_bucket": float(any(source.level == "bucket" for source in known)),
        "wording": _nearest(known, masked),
        "closeness": 1 / (1 + strain),
        "unbent": max(0.0, 1 - strain / 4),
        "support": max((math.log2(draft.support) for draft in adapted), default=0.0),
    }


def size_of(model: str) -> float:
    """How large a model is by the billions of parameters in its name, from 0 for 0.5 to 1 for 8 and more, by doublings.

    A hosted model says no size and counts as large; what is none of these counts as small.

    >>> [round(size_of(name), 2) for name in ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "claude-sonnet", "none")]
    [0.0, 0.4, 1.0, 0.0]
    """
    if told := _PARAMETERS.search(model):
        return min(1.0, max(0.0, math.log2(float(told[1]) / 0.5) / 4))
    return 1.0 if model.startswith(_HOSTED) else 0.0


def _likelihood(draft: Draft) -> float:
    return SURE_OF_ITSELF if draft.reply.likelihood is None else draft.reply.likelihood


def _nearest(known: Iterable[Recalled], masked: str) -> float:
    """Words that the nearest of some questions shares with a question, of all words in both (Jaccard)."""
    asked = _words(masked)
    shares = ((asked & told, asked | told) for told in (_words(one.episode.masked) for one in known))
    return max((len(both) / len(either) for both, either in shares if either), default=0.0)


_SILENT = words(
    """a an the of to in for is are was were do does did our my their there and or that which what who how many much by
    on at with from it its be been have has had me we us i you all any please list show give tell find"""
)
"""Words that most questions have. Little ones that change the shape of a query (`each`, `not`, `other`) do count."""


@lru_cache(4_096)
def _words(masked: str) -> frozenset[str]:
    """The stems of the words of a masked question that say something; its slots count."""
    return frozenset(token.stem for token in tokens(masked) if token.folded not in _SILENT)


def _of_queries(drafts: Sequence[Draft]) -> dict[str, float]:
    common = set.intersection(*({doubt.rule for doubt in draft.doubts} for draft in drafts))
    return {
        "doubts": min(math.log2(1 + len(draft.doubts)) for draft in drafts),
        **{f"doubt_{rule.replace(' ', '_')}": float(rule in common) for rule in RULES},
        "tables": min(max(0, len(draft.tables) - 1) for draft in drafts) / 4,
        "length": min(len(draft.sql) for draft in drafts) / 400,
    }


def _of_result(result: Result, question: str) -> dict[str, float]:
    cells = [cell for row in result.rows for cell in row]
    said = question.casefold()
    return {
        "empty": float(not result.rows),
        "nothing": float(bool(cells) and (all(cell is None for cell in cells) or cells == [0])),
        "cut": float(result.truncated is not None),
        "echo": float(bool(cells) and all(isinstance(cell, str) and cell.casefold() in said for cell in cells)),
        "twice": float(len(set(result.rows)) < len(result.rows)),
        "holes": float(None in cells),
        "rows": math.log10(1 + len(result.rows)) / 3,
        "columns": max(0, len(result.columns) - 1) / 4,
    }


def _of_question(attempt: Attempt) -> dict[str, float]:
    near = attempt.nearby or attempt.recalled
    own = sum(recalled.level == "bucket" for recalled in near)
    grounding = attempt.understood.grounding if attempt.understood else None
    return {
        "leftover": min(4, len(grounding.leftover)) / 4 if grounding else 0.0,
        "weak": float(grounding is not None and grounding.evidence.level != "strong"),
        "links": len(grounding.chosen) / 8 if grounding else 0.0,
        "nearest": _nearest(near, attempt.understood.masked if attempt.understood else ""),
        "known": math.log2(1 + own) / 3,
    }
