from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmcore.compression.prune import prune, relevance

TEXT = (
    "The pool is open from nine to nine. Towels are free.\n\n"
    "Dogs are welcome in all rooms of the ground floor.\n\n"
    "The car park costs ten euros a night."
)
ROOMS = [{"room": number, "view": "sea" if number == 7 else "yard", "text": "x" * 40} for number in range(20)]


def test_passages_with_the_words_of_the_question_score_highest() -> None:
    scores = relevance(
        ["the pool and the bar", "a dog in the room", "the dog and the dog"], "may my dog come"
    )
    assert scores[0] == 0
    assert scores[2] > scores[1] > 0


def test_rare_words_weigh_more_than_common_ones() -> None:
    passages = ["the room", "the room", "the room", "the sauna"]
    scores = relevance(passages, "room sauna")
    assert scores[3] > scores[0]


def test_an_output_that_fits_stays_as_it_is() -> None:
    assert prune(TEXT, "dogs", len(TEXT)) == TEXT


def test_a_text_is_cut_to_what_the_question_is_about() -> None:
    assert prune(TEXT, "are dogs welcome?", 70) == "… Dogs are welcome in all rooms of the ground floor. …"


def test_what_is_kept_keeps_its_order() -> None:
    pruned = prune(TEXT, "what does the car park cost, and the pool", 120)
    assert pruned.startswith("The pool") and " … " in pruned and pruned.endswith("a night.")


def test_a_long_paragraph_is_cut_at_its_sentences() -> None:
    paragraph = (
        " ".join(f"Sentence number {number} says nothing." for number in range(40)) + " Dogs may bark."
    )
    assert prune(paragraph, "dogs", 30) == "… Dogs may bark."


def test_a_text_that_cannot_be_cut_ends_where_the_budget_does() -> None:
    assert prune("x" * 100, "dogs", 10) == "xxxxxxx …"


def test_a_list_of_json_is_cut_at_its_elements() -> None:
    pruned = json.loads(prune(json.dumps(ROOMS), "a view of the sea", 250))
    assert ROOMS[7] in pruned
    assert pruned[-1] == f"… {len(ROOMS) - len(pruned) + 1} left out"
    assert all(element in ROOMS for element in pruned[:-1])


def test_a_list_inside_an_object_is_cut_and_the_short_entries_stay() -> None:
    output = json.dumps({"house": "Seaview", "rooms": ROOMS, "count": 20})
    pruned = json.loads(prune(output, "sea view", 400))
    assert (pruned["house"], pruned["count"]) == ("Seaview", 20)
    assert ROOMS[7] in pruned["rooms"]


def test_a_long_text_inside_json_is_cut_as_a_text() -> None:
    pruned = json.loads(prune(json.dumps({"id": 1, "text": TEXT}), "dogs welcome", 110))
    assert pruned["id"] == 1
    assert "Dogs are welcome" in pruned["text"]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.text() | JSON.map(json.dumps), st.text(), st.integers(8, 300))
def test_whatever_comes_fits_its_budget_and_the_same_is_cut_alike(
    output: str, question: str, max_characters: int
) -> None:
    pruned = prune(output, question, max_characters)
    assert len(pruned) <= max(max_characters, 0)
    assert pruned == prune(output, question, max_characters)
