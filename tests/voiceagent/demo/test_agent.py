"""The hotel's agent, with a model that is told what to call, and with its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from shipped_models import INT8

from llmcore.engine import Message, Request
from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.text.chat_template import TrainedFor
from voiceagent.demo.agent import FrontDesk
from voiceagent.demo.front_desk import minutes_of
from voiceagent.testing import Calls, TestCall


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (Calls("order_taxi", time="six"), ", it comes at six"),
        (Calls("order_taxi"), ", it comes in ten minutes"),
        (Calls("wake_up_call", time="half past six"), "set: a wake-up call at half past six"),
        (Calls("book_breakfast", people=2, time="7:30"), "booked: breakfast for two people at 7:30, table "),
        (Calls("book_breakfast", people=1), "booked: breakfast for one person, table "),
    ],
)
async def test_what_is_done_is_told_to_the_model_in_words_and_spoken_without_it(
    call: Calls, result: str
) -> None:
    async with TestCall(FrontDesk) as caller:
        caller.model_will(call)
        await caller.says(f"Please do, at {call.arguments.get('time', 'once')}.")
        done = caller.expect_tool(call.tool, **call.arguments)
        assert result in done
        caller.expect_words(f"Certainly, I have {done.replace(': ', ' ', 1)}.")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Calls("book_breakfast", people=2, time="noon"), "breakfast is from seven to ten thirty"),
        (Calls("book_breakfast", people=2, time="when it suits"), "breakfast is from seven to ten thirty"),
        (Calls("book_breakfast", people=40), "wrong arguments for book_breakfast: people"),
        (Calls("wake_up_call", time="early"), "it is not known when that is"),
    ],
)
async def test_what_cannot_be_done_is_told_with_its_reason(call: Calls, reason: str) -> None:
    async with TestCall(FrontDesk) as caller:
        caller.model_will(call)
        await caller.says(f"Please do, at {call.arguments.get('time', 'once')}.")
        answer = caller.expect_tool(call.tool, **call.arguments)
        assert answer.startswith("not done: ") and reason in answer


@pytest.mark.parametrize(
    "call",
    [
        Calls("order_taxi", time=" six"),
        Calls("book_breakfast", people=2, time="8:30"),
    ],
)
async def test_nothing_is_done_at_a_time_that_the_caller_never_said(call: Calls) -> None:
    async with TestCall(FrontDesk) as caller:
        caller.model_will(call)
        await caller.says("Half past five will do nicely, for two.")
        assert "it is not known when that is" in caller.expect_tool(call.tool, **call.arguments)


async def test_a_time_may_have_been_said_before() -> None:
    async with TestCall(FrontDesk) as caller:
        caller.model_will("For how many people?")
        await caller.says("Breakfast at Half Past Eight, please.")
        caller.model_will(Calls("book_breakfast", people=2, time=" half past eight"))
        await caller.says("Two.")
        assert "at half past eight" in caller.expect_tool("book_breakfast", people=2, time=" half past eight")


async def test_on_a_phone_line_the_caller_is_handed_to_a_colleague() -> None:
    async with TestCall(FrontDesk) as caller:
        caller.model_will(Calls("connect_colleague"))
        await caller.says("Let me talk to a person.")
        assert caller.transferred_to == "front desk"


async def test_where_no_call_can_be_handed_on_a_colleague_calls_back() -> None:
    async with TestCall(FrontDesk, phone=False) as caller:
        caller.model_will(Calls("connect_colleague"), "I have noted it.")
        await caller.says("Let me talk to a person.")
        assert "a colleague will call you back" in caller.expect_tool("connect_colleague")


async def test_who_says_goodbye_is_hung_up_on() -> None:
    async with TestCall(FrontDesk) as caller:
        caller.model_will(Calls("hang_up"))
        await caller.says("Goodbye.")
        assert caller.hung_up


@pytest.fixture
async def own_model() -> AsyncIterator[CTranslate2Llm]:
    llm = CTranslate2Llm(INT8)
    await llm.start()
    yield llm
    await llm.close()


@pytest.mark.parametrize(
    ("asked", "call", "told"),
    [
        (
            "Please wake me at half past six.",
            Calls("wake_up_call", time=" half past six"),
            "wake-up call at half past six",
        ),
        (
            "I'd like to book breakfast for two people at eight.",
            Calls("book_breakfast", people=2, time=" eight"),
            "breakfast for two people at eight",
        ),
        ("I need a taxi to the airport at nine.", Calls("order_taxi", time=" nine"), "it comes at nine"),
        ("Can I speak to a colleague?", Calls("connect_colleague"), "I am connecting you"),
        ("Goodbye.", Calls("hang_up"), "Goodbye"),
    ],
)
async def test_its_own_model_calls_what_is_asked_for_and_tells_what_came_of_it(
    own_model: CTranslate2Llm, asked: str, call: Calls, told: str
) -> None:
    async with TestCall(FrontDesk, llm=own_model) as caller:
        await caller.says(asked)
        caller.expect_tool(call.tool, **call.arguments)
        caller.expect_words(told)


def test_its_own_model_was_trained_for_it() -> None:
    trained = TrainedFor.from_config(json.loads((INT8 / "tokenizer_config.json").read_text()))
    agent = FrontDesk()
    tools = tuple(tool.spec.tool for tool in agent.tools)
    assert trained is not None
    assert trained.misfits(Request((Message("system", agent.prompt()),), tools=tools)) == []


@pytest.mark.parametrize(
    ("time", "minutes"),
    [
        ("seven", 420),
        ("seven thirty", 450),
        ("five oh five", 305),
        ("half past six", 390),
        ("quarter to eight", 465),
        ("ten to eight", 470),
        ("8 o'clock", 480),
        ("7:05", 425),
        ("19.30", 1170),
        ("six in the evening", 1080),
        ("9 pm", 1260),
        ("noon", 720),
        ("midnight", 0),
    ],
)
def test_times_are_read_as_they_are_said_and_typed(time: str, minutes: int) -> None:
    assert minutes_of(time) == minutes


@pytest.mark.parametrize("text", ["", "early", "the station", "99", "25:10"])
def test_what_is_no_time_of_day_is_none(text: str) -> None:
    assert minutes_of(text) is None
