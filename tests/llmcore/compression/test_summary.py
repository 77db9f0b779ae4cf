from __future__ import annotations

import pytest

from llmcore.compression.extract import extract, is_about
from llmcore.compression.summary import (
    MAX_CHARACTERS,
    MAX_PHRASES,
    OldTurns,
    append_missing,
    check_summary,
    newest,
    request_summary,
)
from llmcore.engine import Message, ToolCall

STATIC = "You are the front desk of the Seaview. Breakfast is from seven to ten."
SAID = (
    Message("user", "Hello there. My name is Anna Lund. I need a room for two nights from the third of May."),
    Message("assistant", "", (ToolCall("1", "find_room", '{"beds": 2, "floor": 9}'),)),
    Message("tool", '{"room": 412, "euros": 240}', tool_call_id="1"),
    Message("assistant", "Lovely. Room 412 is free, for 240 euros in all. Breakfast is from seven to ten."),
    Message("user", "Good. We arrive at half past ten."),
)
TURNS = OldTurns(SAID, "", STATIC, "en")
GOOD = "Anna Lund takes room 412 for 2 nights from 3 May, 240 euros, and arrives at 10:30."


def test_a_summary_with_all_facts_stands() -> None:
    verdict = check_summary(GOOD, TURNS)
    assert (verdict.missing, verdict.invented) == ((), ())


def test_what_a_summary_lost_is_named_as_it_was_said() -> None:
    verdict = check_summary("Anna Lund takes room 412 for 240 euros.", TURNS)
    assert verdict.missing == ("for two nights", "the third of May", "at half past ten")


def test_the_answer_to_a_question_for_a_name_is_a_name() -> None:
    said = (Message("assistant", "May I have your name, please?"), Message("user", "anna lund."))
    turns = OldTurns(said, "", STATIC, "en")
    assert check_summary("The caller wants a room.", turns).missing == ("anna lund",)
    assert check_summary("Anna Lund wants a room.", turns).missing == ()
    assert extract(turns, 100) == "Caller: anna lund."


def test_a_number_that_counts_something_else_is_lost() -> None:
    assert "for two nights" in check_summary("Anna Lund comes with two adults.", TURNS).missing


def test_what_nobody_said_is_invented() -> None:
    assert check_summary("Anna Lund takes room 512 with her friend Bob.", TURNS).invented == (
        "room 512 with",
        "Bob",
    )


def test_tools_and_the_system_prompt_may_be_stated() -> None:
    assert check_summary("She is on floor 9; breakfast ends at ten at the Seaview.", TURNS).invented == ()


def test_what_the_system_prompt_says_anyway_need_not_be_kept() -> None:
    assert not any("seven" in phrase for phrase in check_summary("", TURNS).missing)


def test_the_facts_of_the_summary_before_must_be_kept_as_well() -> None:
    turns = OldTurns((Message("user", "And a towel."),), "The caller is in room 7.", STATIC, "en")
    assert check_summary("The caller wants a towel.", turns).missing == ("room 7",)


def test_what_was_lost_is_appended_word_for_word() -> None:
    assert append_missing("Anna books. ", ("for two nights", "room 7"), 100) == (
        "Anna books. Said so far: for two nights; room 7."
    )


def test_of_too_much_that_was_lost_the_newest_is_appended() -> None:
    assert (
        append_missing("Anna books.", ("for two nights", "room 7"), 10) == "Anna books. Said so far: room 7."
    )


def test_a_summary_is_asked_for_behind_the_calls_own_prompt() -> None:
    # The prefix cache has it: asking costs the reading of one message.
    prompt = (Message("system", STATIC), *SAID[:4])
    request = request_summary(prompt, 200)
    assert request[:-1] == prompt
    assert request[-1].role == "user" and "at most 120 words" in request[-1].content


def test_behind_the_callers_own_words_the_roles_still_alternate() -> None:
    request = request_summary((Message("system", STATIC), *SAID), 200)
    assert [message.role for message in request[-2:]] == ["assistant", "user"]
    assert request[-1].content.startswith(SAID[-1].content)


# ---- without a model


def test_the_sentences_with_facts_are_kept_by_who_said_them() -> None:
    assert extract(TURNS, 1000) == (
        "Caller: My name is Anna Lund. I need a room for two nights from the third of May. "
        "You: Room 412 is free, for 240 euros in all. Caller: We arrive at half past ten."
    )


def test_the_summary_before_stays() -> None:
    turns = OldTurns((Message("user", "I am in room 7."),), "Caller: It is for Anna.", STATIC, "en")
    assert extract(turns, 1000) == "Caller: It is for Anna. Caller: I am in room 7."


def test_beyond_the_limit_the_agents_sentences_go_first_and_then_the_oldest() -> None:
    assert extract(TURNS, 135) == (
        "Caller: My name is Anna Lund. I need a room for two nights from the third of May. "
        "We arrive at half past ten."
    )
    assert extract(TURNS, 40) == "Caller: We arrive at half past ten."


PLAIN = OldTurns(
    (
        Message("user", "I am allergic to nuts. Is that a problem? My name is Anna Lund."),
        Message("assistant", "Not at all. Our kitchen takes care of that."),
    ),
    "",
    STATIC,
    "en",
)


def test_statements_of_the_caller_are_kept_though_they_have_no_name_or_number() -> None:
    assert extract(PLAIN, 1000) == "Caller: I am allergic to nuts. My name is Anna Lund."


def test_beyond_the_limit_statements_without_facts_go_first() -> None:
    assert extract(PLAIN, 40) == "Caller: My name is Anna Lund."
    again = OldTurns(SAID[-1:], extract(PLAIN, 1000), STATIC, "en")
    assert extract(again, 70) == "My name is Anna Lund. Caller: We arrive at half past ten."


def test_turns_without_facts_leave_nothing() -> None:
    assert extract(OldTurns((Message("user", "Thank you."),), "", STATIC, "en"), 1000) == ""


def test_sentences_taken_out_stand_their_own_check() -> None:
    verdict = check_summary(extract(TURNS, 1000), TURNS)
    assert (verdict.missing, verdict.invented) == ((), ())


def test_facts_are_looked_for_in_the_newest_turns_only() -> None:
    assert newest(SAID) == SAID
    long = tuple(Message("user", letter * (MAX_CHARACTERS // 2 - 1)) for letter in "abc")
    kept = newest(long)
    assert kept == (Message("user", "aa"), *long[1:])
    assert newest((*long, Message("user", "d" * (MAX_CHARACTERS + 1)))) == (
        Message("user", "d" * MAX_CHARACTERS),
    )


def test_of_more_lost_facts_than_a_summary_holds_the_newest_are_told() -> None:
    said = (Message("user", ". ".join(f"Room {number}" for number in range(1_000, 3_000))),)
    missing = check_summary("", OldTurns(said, "", STATIC, "en")).missing
    assert len(missing) == MAX_PHRASES
    assert "2999" in missing[-1]


@pytest.mark.parametrize(
    "summary",
    [
        "I'm sorry, but I can't assist with that.",
        "As an AI language model, I don't have access to previous conversations.",
        "The user and the assistant had a pleasant conversation about various topics.",
    ],
)
def test_a_refusal_and_empty_talk_are_no_summary(summary: str) -> None:
    assert not is_about(summary, TURNS)


@pytest.mark.parametrize(
    "summary", [GOOD, "Anna Lund wants a room for two nights in May and arrives late.", "412, 240."]
)
def test_a_summary_in_words_of_its_own_is_one(summary: str) -> None:
    assert is_about(summary, TURNS)


def test_a_summary_in_inflected_words_is_one() -> None:
    said = (Message("user", "Mein Name ist Anna Lund, ich habe eine Allergie gegen Haselnuss."),)
    turns = OldTurns(said, "", "", "de")
    assert is_about("Anna Lund hat Allergien gegen Haselnüsse.", turns)


def test_scripts_without_spaces_are_not_compared() -> None:
    turns = OldTurns((Message("user", "私の名前は田中です。予約は三日です。"),), "", "", "ja")
    assert is_about("田中さんが三日に予約しました。", turns)
