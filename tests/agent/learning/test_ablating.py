"""What each lever is worth: the table is what a hand computes, and a run that stopped goes on with the same figures."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from agent.app import App, open_app
from agent.learning.ablating import ablation, holm
from agent.learning.ablation_report import ablation_json, finding, markdown
from agent.learning.questions import QuestionFileError
from agent.learning.trials import Trial, TrialFile, other_codes, state_of
from agent.learning.variants import VARIANTS, AblationError, read_variants
from agent.models.port import ModelUnavailableError, Prompt, Reply, Usage
from agent.settings import Levers, Settings
from memory.embedder import MiniLM
from memory.ledger import EventKind
from memory.reference_store import ReferenceStore
from scripts.ablate import Order, ablate, main
from tests.agent.learning.made import made_step

LEVERS = tuple(Levers.__slots__)


def trial(variant: str, question: str, right: bool, *, seconds: float = 1.0, **known: Any) -> Trial:
    usual = {"arm": variant, "part": "holdout", "epoch": 0, "type": "lookup"}
    return Trial(made_step(question, right=right, **{**usual, **known}), seconds, None, "c0")


def trials(variant: str, rights: str, **known: Any) -> list[Trial]:
    """Trials of a variant, `+` for each right and `-` for each wrong answer."""
    return [trial(variant, f"q{place:02}", sign == "+", **known) for place, sign in enumerate(rights)]


def test_all_variants_are_none_and_all_each_lever_alone_all_but_each_and_two_without_memory() -> None:
    names = [one.name for one in VARIANTS]
    assert names == [
        "none",
        "all",
        *LEVERS,
        *(f"all but {name}" for name in LEVERS),
        "schema: none",
        "schema: all",
    ]
    assert read_variants("") == VARIANTS == read_variants("; ".join(names))


def test_variants_are_read_in_the_ways_they_can_be_written() -> None:
    read = read_variants(" ALL ; adapt,  names; names + adapt; all but adapt; schema:adapt;; usual ")
    assert [one.name for one in read][:4] == ["all", "adapt + names", "all but adapt", "schema: adapt"]
    assert read[-1].levers == Levers()
    assert read[2].levers == replace(Levers.read("all"), adapt=False)
    assert [one.memory for one in read[2:4]] == [True, False]
    (two,) = read_variants("all but adapt, names")
    assert two.levers == replace(Levers.read("all"), adapt=False, names=False)
    for wrong in ("adept", "all but adept", "schema: adept", "none, adept"):
        with pytest.raises(AblationError, match=f"'{wrong}' is no variant: levers are adapt, "):
            read_variants(f"none; {wrong}")


def test_the_arm_of_a_variant_recalls_or_does_not_and_bears_its_name() -> None:
    memory, schema = (one.arm for one in read_variants("adapt; schema: adapt"))
    assert (memory.name, memory.episodes, memory.procedural) == ("adapt", "own", True)
    assert (schema.name, schema.episodes, schema.procedural, schema.schema) == ("schema: adapt", "none", False, True)


def test_holms_p_is_that_of_a_hand() -> None:
    # 0.01 x 4; 0.03 x 3; 0.04 x 2 is less than the one before; 0.5 x 1.
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx((0.04, 0.09, 0.09, 0.5))
    assert holm([0.9, 0.6]) == (1.0, 1.0)
    assert holm([0.02]) == (0.02,)
    assert holm([]) == ()


def test_each_variant_is_compared_with_none_and_what_is_left_of_all_with_all() -> None:
    names = ["schema: all", "all", "all but adapt", "adapt", "adapt + names", "none", "schema: none"]
    found = ablation([one for name in names for one in trials(name, "+-")])
    assert [one.variant for one in found.variants] == [
        "none",
        "adapt",
        "adapt + names",
        "all",
        "all but adapt",
        "schema: none",
        "schema: all",
    ]
    assert [(one.variant, one.against) for one in found.gains] == [
        ("none", "schema: none"),
        ("adapt", "none"),
        ("adapt + names", "none"),
        ("all", "none"),
        ("all", "schema: all"),
        ("all but adapt", "none"),
        ("all but adapt", "all"),
        ("schema: all", "schema: none"),
    ]


def test_differences_are_paired_and_p_is_adjusted_for_all_of_them() -> None:
    found = ablation(
        [
            *trials("none", "-" * 12 + "++++"),
            *trials("adapt", "+" * 10 + "--" + "+++-"),  # 10 gained, 1 lost
            *trials("names", "+" + "-" * 11 + "++++"),  # 1 gained
        ]
    )
    adapt, names = found.gains
    assert (adapt.difference.gained, adapt.difference.lost, adapt.difference.total) == (10, 1, 16)
    assert adapt.difference.p == pytest.approx(2 * 12 / 2**11)  # 0 or 1 of 11 coins, on either side
    assert adapt.adjusted == pytest.approx(2 * adapt.difference.p) and adapt.is_sure
    assert (names.difference.gained, names.difference.lost, names.adjusted) == (1, 0, 1.0) and not names.is_sure
    text = markdown(found, about={})
    assert "| `adapt` against `none` | +56.2 (" in text and "| 16 | 10 | 1 | 0.012 | 0.023 | better |" in text
    assert "| 16 | 1 | 0 | 1.000 | 1.000 | none shown |" in text
    assert "These are 2 comparisons" in text


def test_a_lever_that_harms_is_called_worse() -> None:
    found = ablation([*trials("none", "+" * 12), *trials("adapt", "-" * 12)])
    assert "| 12 | 0 | 12 | < 0.001 | < 0.001 | worse |".replace("<", "&lt;") in markdown(found, about={})
    assert "`adapt` -100.0 (" in finding(found)


def test_the_finding_names_what_each_lever_gives_and_what_is_lost_without_it() -> None:
    found = ablation(
        [
            *trials("none", "-" * 10),
            *trials("adapt", "+" * 9 + "-"),
            *trials("names", "-" * 10),
            *trials("all", "+" * 10),
            *trials("all but adapt", "-" * 10),
        ]
    )
    told = finding(found)
    assert told.startswith("`none` answers 0 of 10 right, 0.0 % (0 to 28). `all` answers 10 of 10 right, ")
    assert "All levers together: +100.0 (+44.5 to +100.0)." in told
    assert "Each alone: `adapt` +90.0 (" in told and "; `names` 0 (-27.8 to +27.8), may be chance." in told
    assert "All without one, against all: `adapt` -100.0 (-100.0 to -44.5)." in told
    assert finding(ablation([])) == "No question was asked."
    assert markdown(ablation([]), about={}).startswith("# What each lever is worth\n\nNo question was asked.\n")


def test_where_all_levers_were_not_asked_the_variant_with_most_is_told_of() -> None:
    found = ablation(
        [
            *trials("none", "----"),
            *trials("adapt", "+---"),
            *trials("all but grammar", "++++"),
            *trials("schema: all", "+"),
        ]
    )
    assert found.fullest == "all but grammar"
    assert "`all but grammar` answers 4 of 4 right" in finding(found)
    assert "`all but grammar` against `none`: +100.0 (" in finding(found)
    assert ablation(trials("none", "+")).fullest == "" == ablation(trials("schema: all", "+")).fullest


def test_the_state_of_the_code_is_another_once_a_source_is_and_not_with_a_new_commit_alone(tmp_path: Path) -> None:
    source, file = tmp_path / "one.py", TrialFile(tmp_path / "steps.jsonl")
    source.write_text("1", encoding="utf-8")
    before = state_of("c0", [source])
    file.add(replace(trial("none", "a", True), code=before))
    assert state_of("c0", [source]) == before != state_of("c1", [source])
    assert other_codes(file, state_of("c1", [source])) == ()
    source.write_text("2", encoding="utf-8")
    assert other_codes(file, state_of("c0", [source])) == (before,)


def test_what_a_variant_was_not_asked_is_left_out_of_its_pairs_and_said_so() -> None:
    found = ablation([*trials("none", "--+-"), *trials("adapt", "+++"), *trials("names", "--+-+")])
    assert [(one.difference.total, one.difference.gained, one.left_out) for one in found.gains] == [
        (3, 2, 1),
        (4, 0, 1),
    ]
    assert "Not every question was asked in every variant." in finding(found)
    assert "Not every" not in finding(ablation([*trials("none", "--"), *trials("adapt", "++")]))


def test_what_code_answered_alone_is_counted_and_how_much_of_it_is_right() -> None:
    none = {"calls": 0, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0}
    found = ablation(
        [
            trial("adapt", "a", True, path="adapted", **none),
            trial("adapt", "b", False, path="adapted", **none),
            trial("adapt", "c", True, path="adapted", calls=1),  # the model was asked as well
            trial("adapt", "d", False, path="model", status="abstained", **none),  # nothing was answered
            trial("adapt", "e", True, path="habit", **none),
        ]
    )
    result = found.variant("adapt")
    assert result is not None
    assert (result.unaided.right, result.unaided.total) == (3, 5)
    assert (result.unaided_right.right, result.unaided_right.total) == (2, 3)
    assert "| `adapt` | 3/5 | 60.0 % (23 to 88) |  | 3/5 | 60.0 % (23 to 88) | 2/3 |" in markdown(found, about={})


def test_calls_and_tokens_are_means_and_seconds_those_of_questions_asked_anew() -> None:
    found = ablation(
        [
            trial("all", f"q{n}", True, seconds=float(n), calls=calls, replayed=replayed, input_tokens=100 * n)
            for n, calls, replayed in ((1, 0, 0), (2, 1, 1), (3, 3, 1), (10, 1, 0))
        ]
    )
    result = found.variant("all")
    assert result is not None
    assert (result.calls, result.replayed.right, result.replayed.total) == (1.25, 2, 5)
    assert (result.tokens.input, result.seconds_median, result.seconds_p90) == (400, 2.5, 10.0)
    assert "| `all` | 2.5 | 10.0 | 1.25 | 400 + 0 + 1 | 2/5 |" in markdown(found, about={})
    ten = ablation([trial("all", f"q{n}", True, seconds=float(n)) for n in range(1, 11)]).variant("all")
    assert ten is not None and ten.seconds_p90 == 9.0


def test_types_that_had_no_right_answer_and_have_some_now_are_named_and_so_are_those_that_still_have_none() -> None:
    known = (("share", False, True), ("share", False, False), ("sum", True, True), ("rank", False, False))
    steps = [
        trial(name, f"{type}{place}", right, type=type)
        for place, (type, before, now) in enumerate(known)
        for name, right in (("none", before), ("all", now))
    ]
    found = ablation(steps)
    assert found.awakened("all") == ("share",) and found.barren("all") == ("rank",) and found.barren("adapt") == ()
    text = markdown(found, about={})
    assert "Right answers in `all` and none in `none`: share. Still none: rank." in text
    assert "| share | 0/2 | 1/2 |" in text
    told = json.loads(ablation_json(found, about={}))["types"]
    assert told == {"of": "all", "right_now_and_none_before": ["share"], "still_none": ["rank"]}


def test_kinds_of_error_are_counted_with_the_rule_that_was_broken() -> None:
    wrong: dict[str, Any] = {"error": "not_run", "rule": "unknown_column"}
    found = ablation(
        [
            *(trial("none", f"q{n}", False, **wrong) for n in range(3)),
            trial("none", "q3", False),
            *(trial("names", f"q{n}", n == 0) for n in range(4)),
        ]
    )
    none = found.variant("none")
    assert none is not None
    assert [(one.name, one.count) for one in none.errors] == [("not_run (unknown_column)", 3), ("values", 1)]
    text = markdown(found, about={})
    assert "| kind of error | `none` | `names` |" in text
    assert "| other values | 1 | 3 |" in text and "| did not run (unknown column) | 3 | 0 |" in text


def test_questions_that_memory_holds_the_like_of_are_told_apart() -> None:
    found = ablation([*trials("none", "+-+-"), *trials("all", "++++")], alike={"q00", "q01", "elsewhere"})
    none = found.variant("none")
    assert none is not None and (none.apart.right, none.apart.total, found.alike) == (1, 2, 2)
    assert "2 of 4 are." in markdown(found, about={})


def test_the_json_tells_all_that_the_tables_do() -> None:
    found = ablation([*trials("none", "--+-"), *trials("all", "++++")])
    told = json.loads(ablation_json(found, about={"model": "m"}, notes=["q9 is left out."]))
    assert (told["schema"], told["about"], told["notes"]) == ("hebbql.levers/1", {"model": "m"}, ["q9 is left out."])
    assert told["finding"] == finding(found)
    none, every = told["variants"]
    assert (none["variant"], none["right"]["right"], every["right"]["value"]) == ("none", 1, 1.0)
    assert every["types"] == {"lookup": [4, 4]} and every["seconds_median"] == 1.0
    (gain,) = told["comparisons"]
    assert (gain["variant"], gain["against"], gain["value"], gain["gained"]) == ("all", "none", 0.75, 3)
    assert gain["p"] == gain["p_holm"] == 0.25


def test_trials_are_read_back_and_a_line_that_was_not_finished_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "here" / "steps.jsonl"
    file = TrialFile(path)
    first, second = trial("none", "a", True, seconds=2.5), replace(trial("all", "a", False), confidence=0.25)
    file.add(first)
    file.add(second)
    with path.open("a", encoding="utf-8") as torn:
        torn.write('{"part": "holdout", "questi')
    again = TrialFile(path)
    assert again.of(["all", "none"], ["a", "b"]) == (second, first)
    assert ("none", "a") in again and ("none", "b") not in again and len(again) == 2
    third = trial("none", "b", True)
    again.add(third)
    with pytest.raises(AblationError, match="already"):
        again.add(third)
    assert TrialFile(path).of(["none"], ["a", "b"]) == (first, third)


def test_a_broken_line_and_a_question_that_stands_there_twice_are_refused_by_number(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    whole = json.dumps(trial("none", "a", True).content())
    for second, told in (("{}", "line 2 is no trial"), ("[", "line 2 is no trial"), (whole, "line 2: .*stands there")):
        path.write_text(f"{whole}\n{second}\n", encoding="utf-8")
        with pytest.raises(AblationError, match=f"{told}.*--fresh"):
            TrialFile(path)


BOATS = """
CREATE TABLE Boats (BoatID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Harbour TEXT, Metres REAL);
INSERT INTO Boats VALUES (1, 'Hoopvol', 'Veere', 9.5), (2, 'Stille', 'Hoorn', 12.0), (3, 'Vrouwe', 'Veere', 7.0),
  (4, 'Zeemeeuw', 'Urk', 15.5), (5, 'Aurora', 'Hoorn', 11.0), (6, 'Batavia', 'Urk', 56.0), (7, 'Eendracht', 'Urk', 8.5);
"""
PACK = {
    "How many boats are in Veere?": "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'",
    "What is the average length in metres of boats?": "SELECT AVG(Metres) FROM Boats",
}
QUESTIONS: dict[str, tuple[str, str, str]] = {
    "urk": ("count", "How many boats are in Urk?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Urk'"),
    "known": ("average", "what is the average length in metres of boats", "SELECT AVG(Metres) FROM Boats"),
    "long": ("filter", "Which boats have more than 10 metres?", "SELECT Name FROM Boats WHERE Metres > 10"),
    "longest": ("top_n", "Which boat has the most metres?", "SELECT Name FROM Boats ORDER BY Metres DESC LIMIT 1"),
    "broken": ("count", "How many boats have a sail?", "SELECT COUNT(*) FROM Sails"),
}
WRITTEN = {
    QUESTIONS["urk"][1]: "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Urk'",
    QUESTIONS["long"][1]: "SELECT Name FROM Boats WHERE Length > 10",
    QUESTIONS["longest"][1]: "SELECT Name FROM Boats ORDER BY Metres LIMIT 1",
}


class Unloaded:
    """A model that nobody may look at."""

    @property
    def name(self) -> str:
        raise AssertionError("a variant loads a model of its own")

    def complete(self, prompt: Prompt) -> Reply:
        raise AssertionError(f"a variant asks a model of its own: {prompt}")

    def close(self) -> None:
        """Nothing to close."""


@dataclass
class Harbour:
    """A checkout in small with a question set and a pack, and a model that writes what a test says by question.

    `asked` are the questions in prompts, as they came; after `stop_after` of them the model does `stop`. `levers` are
    those that the application was opened with each time, and `episodes` how many stood in its brain when it was closed.
    Each brain keeps its episode store for as long as the harbour is there, as Cognee does. Only the application that
    judges has the model; `closed` counts how often it was closed. `written` are kinds of what their ledgers hold.
    """

    home: Path
    minilm: MiniLM
    asked: list[str] = field(default_factory=list)
    stop_after: int = 1_000
    stop: BaseException = field(default_factory=lambda: ModelUnavailableError("The model went away."))
    levers: list[Levers] = field(default_factory=list)
    episodes: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    closed: int = 0
    written: set[str] = field(default_factory=set)
    stores: dict[str | None, ReferenceStore] = field(default_factory=dict)

    name = "scripted"

    def origin(self) -> str:
        return ""

    def complete(self, prompt: Prompt) -> Reply:
        if len(self.asked) >= self.stop_after:
            raise self.stop
        (question,) = {one for one in WRITTEN if any(one in turn.text for turn in prompt.turns)}
        self.asked.append(question)
        return Reply(WRITTEN[question], usage=Usage(input_tokens=100, output_tokens=10), seconds=40.0)

    def close(self) -> None:
        self.closed += 1

    @contextmanager
    def opened(self, settings: Settings, **known: Any) -> Iterator[App]:
        with open_app(settings, **known) as app:
            app.model = self if Path(str(settings.brain)).name == "judge" else Unloaded()
            app.__dict__["store"] = self.stores.setdefault(settings.brain, ReferenceStore(embedder=self.minilm))
            self.levers.append(settings.levers)
            yield app
            self.episodes.append(len(app.ledger.episodes()))
            self.written |= {event.kind for event in app.ledger.events()}

    def order(self, levers: str, **known: Any) -> Order:
        usual: dict[str, Any] = {
            "settings": Settings(
                database=str(self.home / "boats.sqlite"), data=self.home, runs=self.home / "runs", sow=False
            ),
            "questions": self.home / "questions.jsonl",
            "variants": read_variants(levers),
            "folder": self.home / "runs" / "levers" / "scripted",
            "command": f"scripts/ablate.py --db {self.home}/boats.sqlite",
        }
        return Order(**{**usual, **known})

    def run(self, levers: str, **known: Any) -> int:
        return ablate(self.order(levers, **known), say=self.said.append, opened=self.opened)

    def told(self, folder: Path | None = None) -> dict[str, Any]:
        text = ((folder or self.home / "runs" / "levers" / "scripted") / "levers.json").read_text(encoding="utf-8")
        read: dict[str, Any] = json.loads(text)
        return read


def lines(pairs: dict[str, tuple[str, str, str]]) -> str:
    return "".join(
        json.dumps({"id": id, "type": type, "question": question, "sql": sql}) + "\n"
        for id, (type, question, sql) in pairs.items()
    )


@pytest.fixture
def harbour(tmp_path: Path, minilm: MiniLM) -> Callable[[str], Harbour]:
    """Makes a harbour of a name, with nothing asked."""

    def make(name: str = "one") -> Harbour:
        home = tmp_path / name
        (home / "seeds").mkdir(parents=True)
        with closing(sqlite3.connect(home / "boats.sqlite")) as connection:
            connection.executescript(BOATS)
        (home / "questions.jsonl").write_text(lines(QUESTIONS), encoding="utf-8")
        pack = {f"p{place}": ("", *pair) for place, pair in enumerate(PACK.items())}
        (home / "seeds" / "boats.jsonl").write_text(lines(pack), encoding="utf-8")
        return Harbour(home, minilm)

    return make


def figures(told: dict[str, Any]) -> dict[str, Any]:
    """What must not hang on when it was asked: all but wall time, and how often the cache served."""
    untimed = [
        {name: value for name, value in one.items() if not name.startswith(("seconds", "replayed"))}
        for one in told["variants"]
    ]
    return {"variants": untimed, **{name: told[name] for name in ("finding", "comparisons", "types", "notes")}}


VARIED = "none; names; all; schema: none"


def test_every_variant_asks_the_same_of_one_brain_with_its_levers_and_learns_nothing(
    harbour: Callable[..., Harbour],
) -> None:
    one = harbour()
    assert one.run(VARIED) == 0
    assert one.levers[1:] == [variant.levers for variant in read_variants(VARIED)]
    assert one.episodes == [2, 2, 2, 2, 0]  # the pack and no more; the judge's own brain, closed last, has none
    assert EventKind.EPISODE_REMEMBERED in one.written
    assert not {kind for kind in one.written if kind.startswith("attempt")}
    file = TrialFile(one.home / "runs" / "levers" / "scripted" / "steps.jsonl")
    recalled = {
        trial.key: trial.step.recalled for trial in file.of(["none", "names", "all", "schema: none"], QUESTIONS)
    }
    assert recalled == {
        (name, id): 0 if name == "schema: none" else 2
        for name in ("none", "names", "all", "schema: none")
        for id in ("urk", "long", "longest")
    }
    assert one.asked and one.closed == 1  # one model is loaded for all variants
    told = one.told()
    assert [variant["variant"] for variant in told["variants"]] == ["none", "names", "all", "schema: none"]
    assert {variant["right"]["total"] for variant in told["variants"]} == {3}
    none = told["variants"][0]
    assert none["types"] == {"count": [1, 1], "filter": [0, 1], "top_n": [0, 1]}
    assert none["errors"]["not_run (unknown_column)"] == 1


def test_a_question_of_the_pack_and_a_gold_that_does_not_hold_are_left_out_and_what_is_alike_is_named(
    harbour: Callable[..., Harbour],
) -> None:
    one = harbour()
    one.run("none")
    notes = one.told()["notes"]
    assert notes[0].startswith("broken is left out. ")
    assert "known is like p1 of the seed pack and is left out: same question." in notes
    assert "urk is like p0 of the seed pack: same masked question." in notes
    assert set(notes) <= set(one.said)
    none = one.told()["variants"][0]
    assert (none["right"]["total"], none["right_unlike_memory"]["total"]) == (3, 2)


@pytest.mark.parametrize(
    ("stop", "code", "why", "after"),
    [
        (ModelUnavailableError("The model went away."), 1, "The model went away.", 2),
        (KeyboardInterrupt(), 130, "Interrupted.", 3),
    ],
)
def test_an_ablation_that_stopped_goes_on_where_it_was_with_the_same_figures(
    harbour: Callable[..., Harbour], stop: BaseException, code: int, why: str, after: int
) -> None:
    whole, cut = harbour("whole"), harbour("cut")
    assert whole.run("none; schema: none") == 0
    cut.stop_after, cut.stop = after, stop
    assert cut.run("none; schema: none") == code
    assert any(why in said and "the same command goes on" in said for said in cut.said)
    done = TrialFile(cut.home / "runs" / "levers" / "scripted" / "steps.jsonl")
    assert 0 < len(done) < 6 and cut.told()["about"]["asked"] == f"{len(done)} of 6 questions and variants"
    cut.stop_after = 1_000
    assert cut.run("none; schema: none") == 0
    assert figures(cut.told()) == figures(whole.told())
    assert sorted(cut.asked) == sorted(whole.asked)  # nothing was asked twice


def test_seconds_count_what_a_reply_took_when_it_was_asked(harbour: Callable[..., Harbour]) -> None:
    one = harbour()
    one.run("none; names", kinds=("count",))
    none, names = one.told()["variants"]
    assert one.asked == [QUESTIONS["urk"][1]]
    assert (none["replayed"]["right"], names["replayed"]["right"]) == (0, 1)
    assert none["seconds_median"] < 40.0 <= names["seconds_median"] < 80.0  # the scripted model does not wait


def test_steps_of_another_effort_or_pack_are_refused_until_a_fresh_start_is_asked_for_and_of_other_code_named(
    harbour: Callable[..., Harbour], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = harbour()
    one.run("none", kinds=("count",))
    settings = replace(one.order("none").settings, think="fast")
    with pytest.raises(AblationError, match=r"another effort\. Give --fresh"):
        one.run("none", settings=settings)
    changed = one.home / "seeds" / "boats.jsonl"
    pack = changed.read_text(encoding="utf-8")
    changed.write_text(pack.splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(AblationError, match=r"another seed pack\. "):
        one.run("none", kinds=("count",))
    with monkeypatch.context() as later:
        later.setattr("scripts.ablate.code", lambda: "c1:ffff")
        changed.write_text(pack, encoding="utf-8")
        assert one.run("none", kinds=("count",)) == 0
        assert "now it is c1:ffff. They are taken as they are; --fresh asks all again." in " ".join(one.said)
    assert one.run("none", kinds=("filter",), fresh=True) == 0
    file = TrialFile(one.home / "runs" / "levers" / "scripted" / "steps.jsonl")
    assert [key.step.question for key in file.of(["none"], QUESTIONS)] == ["long"]


def test_what_is_published_is_what_was_asked_for_and_names_no_place(harbour: Callable[..., Harbour]) -> None:
    one = harbour()
    one.run(VARIED)
    place = one.home / "reference"
    assert one.run("names; none", every=2, publish=place) == 0
    assert sorted(path.name for path in place.iterdir()) == ["command.txt", "levers.json", "levers.md", "steps.jsonl"]
    told = one.told(place)
    assert [variant["variant"] for variant in told["variants"]] == ["none", "names"]
    steps = [json.loads(line) for line in (place / "steps.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(step["arm"], step["question"]) for step in steps] == [
        (variant, id) for variant in ("names", "none") for id in ("urk", "long")
    ]
    assert told["about"]["asked"] == "4 of 4 questions and variants"
    for path in place.iterdir():
        assert str(one.home) not in path.read_text(encoding="utf-8")
    assert "# What each lever is worth" in (place / "levers.md").read_text(encoding="utf-8")
    assert (place / "command.txt").read_text(encoding="utf-8") == "scripts/ablate.py --db boats.sqlite\n"


def test_only_questions_of_known_types_can_be_asked_for(harbour: Callable[..., Harbour]) -> None:
    one = harbour()
    assert [pair.id for pair in one.order("none", kinds=("count", "top_n")).pairs] == ["urk", "longest", "broken"]
    assert [pair.id for pair in one.order("none", every=2).pairs] == ["urk", "long", "broken"]
    with pytest.raises(QuestionFileError, match="no question of the type 'rank', but of average, count"):
        one.run("none", kinds=("rank",))
    with pytest.raises(QuestionFileError, match="Nothing is left to ask"):
        one.run("none", kinds=("average",))


def test_two_ablations_at_once_do_not_write_one_file(harbour: Callable[..., Harbour]) -> None:
    one = harbour()
    folder = one.order("none").folder
    folder.mkdir(parents=True)
    with FileLock(folder / "lock"), pytest.raises(AblationError, match="Another ablation"):
        one.run("none")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--levers", "none; adept"], "'adept' is no variant"),
        (["--kinds", "nonsense", "--model", "claude-opus-4-1"], "no question of the type 'nonsense'"),
        (["--questions", "nowhere.jsonl", "--model", "claude-opus-4-1"], "nowhere.jsonl cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_opened(
    given: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["scripts/ablate.py", *given])
    monkeypatch.setenv("HEBBQL_RUNS", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    assert main() == 2
    assert told in capsys.readouterr().err and list(tmp_path.iterdir()) == []
