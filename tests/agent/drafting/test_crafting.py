"""What code does about drafts, put together as the levers say, about a bakery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.ask import Craft
from agent.attempt import Attempt, Draft, Understood
from agent.database.guard import check
from agent.database.reading import Database
from agent.drafting.crafting import Crafting
from agent.grounding import Lexicon
from agent.models.port import Prompt, Reply, Turn
from agent.settings import Levers
from memory.episode import Episode
from memory.recall import Recalled
from tests.agent.made import episode_of, read

PRICE = ("What is the price of the Rye Loaf?", "SELECT Price FROM Breads WHERE Name = 'Rye Loaf'")
FLOUR = ("What is the flour of the Rye Loaf?", "SELECT Flour FROM Breads WHERE Name = 'Rye Loaf'")
COST = ("What is the price of the Spelt Ring?", "SELECT b.Price FROM Breads AS b WHERE b.Name = 'Spelt Ring'")
TOWNS = ("How many bakers are there in each town?", "SELECT Town, COUNT(*) FROM Bakers GROUP BY Town")
UNREAD = ("What is the price of the Rye Loaf?", "SELECT Price FROM Breads, Ovens WHERE Name = 'Rye Loaf'")
ASKED = "What is the price of the Poppy Roll?"


class Reading:
    """Reads questions about the bakery, and counts how often it read each."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.read: list[str] = []

    def __call__(self, question: str) -> Understood:
        self.read.append(question)
        return read(question, self.lexicon)

    def recalled(self, *pairs: tuple[str, str]) -> tuple[Recalled, ...]:
        return tuple(Recalled(self.episode(*pair), 0.9, "bucket", "the same") for pair in pairs)

    def episode(self, question: str, sql: str) -> Episode:
        return episode_of(read(question, self.lexicon), sql)

    def attempt(self, *pairs: tuple[str, str], question: str = ASKED) -> Attempt:
        understood = Reading(self.lexicon)(question)
        blank = Attempt(id="a1", question=question, model="none")
        return blank.grown(understood=understood, nearby=self.recalled(*pairs))


@pytest.fixture
def reading(bakery_lexicon: Lexicon) -> Reading:
    return Reading(bakery_lexicon)


def crafting(reading: Reading, levers: str = "all", lexicon: Callable[[], Lexicon] | None = None) -> Crafting:
    return Crafting(levers=Levers.read(levers), lexicon=lexicon or (lambda: reading.lexicon), understand=reading)


def drafts(crafted: Crafting, attempt: Attempt) -> list[Draft]:
    return list(crafted.adapt(attempt))


def test_a_recalled_query_is_adapted_to_a_draft_that_says_from_what_and_how(reading: Reading) -> None:
    attempt = reading.attempt(PRICE)
    [draft] = drafts(crafting(reading), attempt)
    assert draft.sql == "SELECT Breads.Price FROM Breads WHERE Breads.Name = 'Poppy Roll'"
    assert (draft.origin, draft.episode) == ("adapted", str(attempt.nearby[0].episode.id))
    assert draft.notes == ("Rye Loaf became Poppy Roll",) and draft.strain == 0


def test_the_same_query_from_two_episodes_is_one_draft_with_more_support(reading: Reading) -> None:
    alone = drafts(crafting(reading), reading.attempt(PRICE))[0]
    attempt = reading.attempt(FLOUR, PRICE, COST)
    [draft] = drafts(crafting(reading), attempt)
    assert draft.sql == alone.sql
    ids = [str(recalled.episode.id) for recalled in attempt.nearby]
    assert draft.episode == ids[0] and [episode for episode, _ in draft.bent] == ids
    strains = [strain for _, strain in draft.bent]
    assert strains[0] > 0 == strains[1] == strains[2], "each keeps how far it was bent"
    assert draft.support == alone.support + 2
    assert draft.strain == 0, "the least bent of them counts"


def test_different_queries_keep_the_order_of_their_episodes(reading: Reading) -> None:
    question = "How many bakers are there in Linz?"
    count = ("How many breads are there of rye flour?", "SELECT COUNT(*) FROM Breads WHERE Flour = 'rye'")
    made = drafts(crafting(reading), reading.attempt(TOWNS, count, question=question))
    again = drafts(crafting(reading), reading.attempt(count, TOWNS, question=question))
    assert [draft.sql for draft in made] == [draft.sql for draft in reversed(again)]


def test_what_cannot_be_made_to_fit_or_is_bent_too_far_gives_no_draft(reading: Reading) -> None:
    far = "Which 2 different bakers sold on average the fewest pieces per month, without Linz, more than 3 and over 9?"
    assert drafts(crafting(reading), reading.attempt(UNREAD)) == []
    assert all(draft.strain <= 4 for draft in drafts(crafting(reading), reading.attempt(TOWNS, PRICE, question=far)))


def test_an_episode_is_read_once_for_as_long_as_the_lexicon_stays(reading: Reading) -> None:
    lexicons = [reading.lexicon]
    crafted = crafting(reading, lexicon=lambda: lexicons[-1])
    attempt = reading.attempt(PRICE, COST)
    drafts(crafted, attempt)
    drafts(crafted, attempt)
    assert sorted(reading.read) == sorted([PRICE[0], COST[0]])
    lexicons.append(Lexicon(reading.lexicon.schema, reading.lexicon.facts, ()))
    drafts(crafted, attempt)
    assert len(reading.read) == 4


@pytest.mark.parametrize(
    ("lever", "parts"),
    [
        ("adapt", {"nearby", "adapt"}),
        ("dialect", {"mend"}),
        ("names", {"mend"}),
        ("grammar", {"mend"}),
        ("coverage", {"doubt"}),
        ("weigh", {"weigh"}),
        ("none", set()),
        ("all", {"nearby", "adapt", "mend", "doubt", "weigh"}),
    ],
)
def test_each_lever_gives_its_part_alone(lever: str, parts: set[str], reading: Reading) -> None:
    attempt = replace(reading.attempt(), nearby=())
    made, usual = crafting(reading, lever).craft(lambda _attempt: reading.recalled(PRICE)), Craft()
    names = ("nearby", "adapt", "mend", "doubt", "weigh")
    assert {name for name in names if getattr(made, name) is not getattr(usual, name)} == parts
    assert bool(made.nearby(attempt)) == ("nearby" in parts)


def test_nothing_is_done_where_the_schema_is_not_shown(reading: Reading) -> None:
    assert crafting(reading).craft(lambda _attempt: reading.recalled(PRICE), schema=False) == Craft()


def test_a_draft_is_mended_and_doubted_by_what_was_asked(reading: Reading) -> None:
    crafted = crafting(reading)
    attempt = reading.attempt()
    wrote = Draft(None, Reply("x"), sql="SELECT prise FROM Breads WHERE Name = 'Poppy Roll'")
    sql, notes = crafted.mend(attempt, wrote)
    assert "Price" in sql and notes
    draft = Draft(None, Reply("x"), sql="SELECT Price FROM Breads")
    assert [doubt for doubt in crafted.doubt(attempt, draft) if "Poppy Roll" in doubt.text]


def test_what_was_written_under_a_grammar_without_joins_gets_its_joins(reading: Reading) -> None:
    crafted = crafting(reading, "grammar")
    prompt = Prompt("", (Turn("user", "x"),), grammar='root ::= "x"')
    loose = Draft(prompt, Reply("x"), sql='SELECT Breads.Name, SUM("Daily Sales".Pieces) GROUP BY Breads.Name')
    sql, _ = crafted.mend(reading.attempt(), loose)
    assert "JOIN" in sql and "FROM" in sql
    assert crafted.mend(reading.attempt(), replace(loose, prompt=None))[0] == loose.sql


def test_every_draft_that_ran_gets_a_confidence(reading: Reading, bakery_database: Database) -> None:
    crafted = crafting(reading)
    attempt = reading.attempt(PRICE)
    [draft] = crafted.adapt(attempt)
    ran = replace(draft, result=bakery_database.run(check(draft.sql, bakery_database.schema).sql))
    weighed = crafted.weigh(attempt.grown(drafts=(ran,)))
    assert [0 < (draft.confidence or 0) <= 1 for draft in weighed.drafts] == [True]
