"""Paraphrases of a question: made by rule, never the question itself, never fewer than five."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.brain.paraphrasing import FEWEST, paraphrases

QUESTION = "How many boats are there in Veere?"


def test_a_question_is_put_in_other_words_order_case_names_at_length_and_mistyped() -> None:
    made = paraphrases(QUESTION, [("ships", "boats")])
    for text in (
        "what is the number of boats in Veere",
        "in Veere, How many boats are there",
        "How many ships are there in Veere",
        "HOW MANY BOATS ARE THERE IN VEERE",
        "how many boats are there in veere",
        "How many baots are there in Veere",
    ):
        assert text in made, made
    assert any(len(text) > 2 * len(QUESTION) for text in made)


@given(st.text(max_size=60), st.lists(st.lists(st.text(max_size=8), max_size=4), max_size=3))
def test_any_question_has_five_different_ones_always_the_same(question: str, synonyms: list[list[str]]) -> None:
    made = paraphrases(question, synonyms)
    assert len(set(made)) == len(made) >= FEWEST
    assert question not in made and "" not in made
    assert made == paraphrases(question, synonyms)


def test_a_synonym_takes_the_place_of_a_whole_word_only() -> None:
    assert not any("ship" in text for text in paraphrases("Which boathouse is old?", [("ship", "boat")]))
