"""The agent of `configs/chat.toml`, called without sound, with a model that does what the test says."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.demo.assistant import MAX_NOTES, Assistant, NotArithmetic, evaluate
from voiceagent.testing import Calls, TestCall


async def test_the_clock_tells_time_day_and_date() -> None:
    async with TestCall(Assistant) as call:
        call.model_will(Calls("current_time"))
        await call.says("What time is it?")
        now = datetime.now()
        call.expect_words(f"{now:%A}")
        call.expect_words(str(now.year))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("17 * 23", "17 times 23 is 391."),
        ("2 ** 10", "2 to the power of 10 is 1024."),
        ("(2 + 3) * 4", "The result is 20."),
    ],
)
async def test_a_result_of_a_calculation_is_spoken_without_the_model(expression: str, said: str) -> None:
    async with TestCall(Assistant) as call:
        call.model_will(Calls("calculate", expression=expression))
        await call.says("What is that?")
        assert call.words[-1] == said


async def test_the_model_answers_about_a_calculation_that_is_impossible() -> None:
    async with TestCall(Assistant) as call:
        call.model_will(Calls("calculate", expression="1 / 0"), "I cannot divide by zero.")
        await call.says("What is one divided by zero?")
        assert call.words[-1] == "I cannot divide by zero."


async def test_notes_are_read_back_in_full() -> None:
    async with TestCall(Assistant) as call:
        call.model_will(
            Calls("take_note", text="buy milk"), Calls("take_note", text="Call Tom!"), Calls("get_notes")
        )
        await call.says("Write down that I need to buy milk.")
        assert call.words[-1] == "I wrote down: buy milk."
        await call.says("Write down call Tom.")
        await call.says("What do my notes say?")
        assert call.words[-1] == "You have two notes: buy milk. Call Tom!"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Clara, please note down that the bag is blue.", "The bag is blue."),
        ("Also note that it's late", "It's late."),
        ("make a note of the number 12", "The number 12."),
        ("Notes for the meeting", "Notes for the meeting."),
        ("write the report", "write the report."),
        ("Take a note", "Take a note."),
    ],
)
async def test_a_note_has_no_words_that_ask_for_it(text: str, note: str) -> None:
    async with TestCall(Assistant) as call:
        call.model_will(Calls("take_note", text=text))
        await call.says("Write something down.")
        assert call.words[-1] == f"I wrote down: {note}"


async def test_there_is_no_note_beyond_the_limit() -> None:
    async with TestCall(Assistant) as call:
        call.agent.notes = ["one"] * MAX_NOTES
        call.model_will(Calls("take_note", text="more"), "There is no room.")
        await call.says("Write down one more.")
        assert len(call.agent.notes) == MAX_NOTES


@pytest.mark.parametrize(
    ("arguments", "length"),
    [
        ({"minutes": 10}, "ten minutes"),
        ({"minutes": 0.5}, "thirty seconds"),
        ({"hours": 1, "minutes": 5, "seconds": 1}, "one hour, five minutes and one second"),
    ],
)
async def test_a_timer_speaks_when_it_is_up(arguments: dict[str, float], length: str) -> None:
    async with TestCall(Assistant, clock="virtual") as call:
        call.model_will(Calls("set_timer", **arguments))
        await call.says("Set a timer.")
        assert call.words[-1] == f"I set a timer for {length}."
        await asyncio.sleep(4000)
        assert call.words[-1] == f"Your timer of {length} is up."


async def test_a_timer_of_no_length_is_refused() -> None:
    async with TestCall(Assistant) as call:
        call.model_will(Calls("set_timer"), "For how long?")
        await call.says("Set a timer.")
        assert call.words[-1] == "For how long?"


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("17 * 23", "391"),
        ("17 x 23", "391"),
        ("17 × 23 =", "391"),
        ("0.1 + 0.2", "0.3"),
        ("1,234 + 1", "1235"),
        ("15% of 80", "12"),
        ("80 * 15%", "12"),
        ("10 % 3", "1"),
        ("(2 + 3) * -4", "-20"),
        ("2^10", "1024"),
        ("10 / 4", "2.5"),
        ("1 / 3", "0.333333333333"),
        ("1000000 * 1000000", "1000000000000"),
        ("$20 / 4", "5"),
    ],
)
def test_a_calculation_is_worked_out(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "too large"),
        ("__import__('os')", "no number"),
        ("a + 1", "no number"),
        ("(1).real", "no number"),
        ("True + 1", "no number"),
        ("seventeen", "no number"),
        ("1 +", "no calculation"),
        ("", "no calculation"),
        ("(" * 150, "no calculation"),
        ("1" * 300, "longer than"),
    ],
)
def test_what_is_no_calculation_is_refused_with_the_reason(expression: str, reason: str) -> None:
    with pytest.raises(NotArithmetic, match=reason):
        evaluate(expression)


@given(st.text(max_size=40))
def test_any_text_gives_digits_or_the_reason_why_not(text: str) -> None:
    try:
        assert evaluate(text).strip("-").replace(".", "").isdigit()
    except NotArithmetic as error:
        assert str(error)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_integers_are_exact(one: int, other: int) -> None:
    assert evaluate(f"({one}) * ({other}) + ({one})") == str(one * other + one)
