"""What a question wants to see: the thing behind `which`, and figures named side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.drafting.saying import Thing
from agent.drafting.wishes import figures_asked, head_asked
from agent.grounding import Lexicon, ground
from tests.agent.made import open_northwind


@pytest.fixture(scope="module")
def lexicon() -> Iterator[Lexicon]:
    with open_northwind() as (_, lexicon):
        yield lexicon


@pytest.mark.parametrize(
    ("question", "thing", "alone"),
    [
        ("Which shipper carried order 10700?", Thing("Shippers"), True),
        ("Which shipper carried order 10700, and when was it shipped?", Thing("Shippers"), False),
        ("Which products cost less than 10? Name and price, please.", Thing("Products"), False),
        ("Which customers ordered in 1996? Each name once.", Thing("Customers"), True),
        ("What category description does Chai fall under?", Thing("Categories", "Description"), True),
    ],
)
def test_the_thing_behind_which_is_told_from_what_comes_with_it(
    lexicon: Lexicon, question: str, thing: Thing, alone: bool
) -> None:
    head = head_asked(ground(question, lexicon), lexicon)
    assert head is not None
    assert (head.thing, head.alone) == (thing, alone)


@pytest.mark.parametrize("question", ["How many orders are there?", "Which three products are the cheapest?"])
def test_no_thing_is_read_where_none_stands_right_behind_which(lexicon: Lexicon, question: str) -> None:
    assert head_asked(ground(question, lexicon), lexicon) is None


@pytest.mark.parametrize(
    ("question", "figures"),
    [
        ("lowest, average and highest freight of all orders?", ["MIN", "AVG", "MAX"]),
        ("Number of products and their average list price?", ["COUNT", "AVG"]),
        ("The total freight and the average freight of all orders?", ["SUM", "AVG"]),
        ("What is the average freight of all orders?", []),
        ("Which orders have the highest freight, and which the lowest price?", []),
    ],
)
def test_figures_side_by_side_are_read_in_their_order(lexicon: Lexicon, question: str, figures: list[str]) -> None:
    assert [one.by for one in figures_asked(ground(question, lexicon), lexicon)] == figures
