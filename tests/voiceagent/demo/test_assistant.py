"""The agent of `configs/chat.toml`, called without sound, with a model that does what the test says."""

from __future__ import annotations

import asyncio
from datetime import datetime

from voiceagent.demo.assistant import MAX_NOTES, Assistant
from voiceagent.testing import Calls, TestCall


async def test_the_clock_tells_day_and_time() -> None:
    said = await Assistant().current_time()
    now = datetime.now()
    assert f"{now:%A}" in said
    assert str(now.year) in said


async def test_a_calculation_is_worked_out_by_code() -> None:
    async with TestCall(Assistant) as call:
        call.model_will(Calls("calculate", expression="17 * 23"), "It is 391.")
        await call.says("What is seventeen times twenty three?")
        assert "391" in call.expect_tool("calculate", expression="17 * 23")


async def test_notes_are_read_back() -> None:
    async with TestCall(Assistant) as call:
        call.model_will(Calls("take_note", text="buy milk"), "It is written down.")
        await call.says("Write down that I need to buy milk.")
        assert call.agent.notes == ["buy milk"]
        assert "buy milk" in await call.agent.get_notes()


async def test_there_is_no_note_beyond_the_limit() -> None:
    async with TestCall(Assistant) as call:
        call.agent.notes = ["one"] * MAX_NOTES
        call.model_will(Calls("take_note", text="more"), "There is no room.")
        await call.says("Write down one more.")
        assert len(call.agent.notes) == MAX_NOTES


async def test_a_timer_speaks_when_it_is_up() -> None:
    async with TestCall(Assistant, clock="virtual") as call:
        call.model_will(Calls("set_timer", minutes=10), "I set it.")
        await call.says("Set a timer for ten minutes.")
        await asyncio.sleep(601)
        assert call.words[-1] == "Your timer of ten minutes is up."
