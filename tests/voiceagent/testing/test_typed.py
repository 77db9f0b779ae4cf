"""Agents called without sound: tools, words, hooks, and handing over."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import pytest

from llmcore.engine import Delta, LlmError, Request, ToolCall, Usage
from voiceagent.agents import Agent, Said, ToolFailed, tool
from voiceagent.agents.running import RESULT_CHARACTERS
from voiceagent.testing import Calls, ScriptedModel, TestCall, typed_caller


class Shop(Agent):
    greeting = "Pizza Roma."

    def __init__(self) -> None:
        self.told: list[object] = []
        self.order: list[str] = []

    def instructions(self) -> str:  # type: ignore[override]  # a method in place of a text
        return f"Ordered: {self.order}"

    @tool
    async def add(self, pizza: str, number: int = 1) -> str:
        """Add pizzas."""
        if pizza == "stone":
            raise ToolFailed("there is no stone")
        self.order += [pizza] * number
        return f"{len(self.order)} pizzas"

    @tool
    def slow(self) -> dict[str, int]:
        """Works in a thread."""
        self.call.say("Nearly there.")
        return {"minutes": 3}

    @tool
    async def breaks(self) -> str:
        """Is broken."""
        raise ZeroDivisionError("a secret")

    @tool(timeout_s=0.01)
    async def hangs(self) -> str:
        """Never ends."""
        await asyncio.Event().wait()
        return ""

    @tool
    async def complain(self) -> None:
        """Hand the caller over to the manager."""
        self.call.hand_over(Complaints)

    @tool(when_played=True)
    async def end(self) -> None:
        """End the call."""
        self.call.hang_up()

    async def on_turn(self, text: str) -> None:
        self.told.append(("turn", text))

    async def on_response(self, text: str, interrupted: bool) -> None:
        self.told.append(("response", text))

    async def on_tool_failed(self, name: str, reason: str) -> None:
        self.told.append(("failed", name))

    async def on_call_ended(self, transcript: Sequence[Said]) -> None:
        self.told.append([said.text for said in transcript])
        raise RuntimeError("a hook that raises harms nobody")


class Complaints(Agent):
    instructions = "You are sorry."
    greeting = "I am the boss."
    voice = "deep"


async def test_a_greeting_is_the_first_thing_said() -> None:
    async with TestCall(Shop) as call:
        assert call.words == ["Pizza Roma."]


async def test_a_caller_who_stays_silent_is_asked_and_then_hung_up_on() -> None:
    shop = Shop()
    async with TestCall(shop) as call:
        assert await call.stays_silent() == "Are you still there?"
        assert not call.hung_up
        assert await call.stays_silent() == "Goodbye."
        assert call.hung_up
        assert ("response", "Are you still there?") in shop.told
        with pytest.raises(AssertionError, match="has ended the call"):
            await call.stays_silent()


async def test_a_silent_caller_who_speaks_again_is_asked_from_the_first_on_in_his_language() -> None:
    async with TestCall(Shop, language="de") as call:
        assert await call.stays_silent() == "Sind Sie noch da?"
        call.model_will("Gern.")
        await call.says("eine Tunfischpizza")
        assert await call.stays_silent() == "Sind Sie noch da?"


async def test_a_tool_may_have_arguments_of_any_name() -> None:
    class Visitors(Agent):
        @tool
        async def note(self, name: str, agent: str = "") -> str:
            """Note a visitor."""
            return f"{name} is noted"

    async with TestCall(Visitors) as call:
        call.model_will(Calls("note", name="Ann"), "Welcome, Ann.")
        await call.says("I am Ann")
        assert call.expect_tool("note", name="Ann") == "Ann is noted"


async def test_a_tool_runs_with_typed_arguments_and_its_result_is_told() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("add", pizza="tuna", number=2), "Two tuna.")
        assert await call.says("two tuna") == "Two tuna."
        assert call.expect_tool("add", pizza="tuna", number=2) == "2 pizzas"
        call.expect_words("two tuna")


async def test_what_the_model_is_never_asked_for_fails_the_call() -> None:
    with pytest.raises(
        AssertionError, match=r"was asked 1 times, not for \[Calls\('add', pizza='tuna'\), 'A'\]"
    ):
        async with TestCall(Shop) as call:
            call.model_will("Hello.")
            call.model_will(Calls("add", pizza="tuna"), "A")
            await call.says("hello")


async def test_what_fails_in_a_call_is_told_before_what_the_model_is_never_asked_for() -> None:
    with pytest.raises(AssertionError, match="nobody said 'salami'"):
        async with TestCall(Shop) as call:
            call.model_will("Hello.", "Bye.")
            await call.says("hello")
            call.expect_words("salami")


async def test_instructions_follow_the_state_of_the_call() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("add", pizza="tuna"))
        await call.says("a tuna")
    before, about_the_result = call.model.requests
    assert before.messages[0].content == "Ordered: []"
    assert about_the_result.messages[0].content == "Ordered: ['tuna']"


async def test_calls_of_one_response_run_side_by_side() -> None:
    async with TestCall(Shop) as call:
        call.model_will([Calls("add", pizza="tuna"), Calls("add", pizza="salami")], "Both.")
        await call.says("a tuna and a salami")
        assert [name for name, _, answer in call.tools if answer] == ["add", "add"]
        assert len(call.model.requests) == 2


async def test_a_call_behind_another_is_made_when_the_model_knows_what_that_gave() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("add", pizza="tuna"), Calls("add", pizza="salami"), "Both.")
        await call.says("a tuna and a salami")
    _, knows_the_first, knows_both = call.model.requests
    assert [message.role for message in knows_the_first.messages].count("tool") == 1
    assert [message.role for message in knows_both.messages].count("tool") == 2


@pytest.mark.parametrize(
    "steps",
    [
        ("One moment.", Calls("add", pizza="tuna"), "A tuna."),
        (["One moment.", Calls("add", pizza="tuna")], "A tuna."),
    ],
)
async def test_words_directly_before_a_call_are_said_in_one_response_with_it(steps: Sequence[Any]) -> None:
    async with TestCall(Shop) as call:
        call.model_will(*steps)
        assert await call.says("a tuna") == "One moment. A tuna."
        asked, told = call.model.requests
        said, result = told.messages[len(asked.messages) :]
    assert (said.role, said.content) == ("assistant", "One moment.")
    assert [wanted.name for wanted in said.tool_calls] == ["add"]
    assert (result.role, result.content) == ("tool", "1 pizzas")


async def test_words_that_are_a_response_of_their_own_are_a_script_of_their_own() -> None:
    async with TestCall(Shop) as call:
        call.model_will("Which one?")
        call.model_will(Calls("add", pizza="tuna"), "A tuna.")
        assert await call.says("a pizza") == "Which one?"
        assert await call.says("tuna") == "A tuna."


async def test_the_agent_that_has_the_call_can_be_looked_at() -> None:
    shop = Shop()
    async with TestCall(shop) as call:
        assert call.agent is shop
        call.model_will(Calls("complain"))
        await call.says("it was cold")
        assert isinstance(call.agent, Complaints)


async def test_a_mocked_tool_gives_what_the_test_says_and_the_model_is_held_to_its_arguments() -> None:
    shop = Shop()
    async with TestCall(shop) as call:
        call.mock("add", returns={"pizzas": 7})
        call.model_will(Calls("add", pizza="tuna"), Calls("add"), "Seven.")
        await call.says("a tuna")
        assert call.expect_tool("add", pizza="tuna") == '{"pizzas":7}'
        assert call.expect_tool("add").startswith("not done: wrong arguments")
    assert shop.order == []


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ToolFailed("sold out"), "sold out"),
        (ValueError("a secret"), "the tool failed; what it was to do may not be done"),
    ],
)
async def test_a_mocked_tool_can_raise(raised: Exception, told: str) -> None:
    shop = Shop()
    async with TestCall(shop) as call:
        call.mock("add", raises=raised)
        call.model_will(Calls("add", pizza="tuna"), "Sorry.")
        await call.says("a tuna")
        assert call.expect_tool("add") == told
        assert ("failed", "add") in shop.told


async def test_a_mock_of_a_tool_that_no_agent_has_fails_the_call() -> None:
    with pytest.raises(AssertionError, match="mocked ad: no agent of the call has it; tools: add, breaks"):
        async with TestCall(Shop) as call:
            call.mock("ad", returns=1)
            call.mock("add", returns=1)


async def test_a_mock_returns_or_raises() -> None:
    with pytest.raises(TypeError, match=r"mock\('add'\): returns and raises"):
        TestCall(Shop).mock("add", returns=1, raises=ValueError())


async def test_what_an_agent_has_the_model_say_follows_its_guidance() -> None:
    class Curious(Agent):
        instructions = "Be brief."

        async def on_response(self, text: str, interrupted: bool) -> None:
            if text == "Bye.":
                self.call.respond("Ask for a rating.")

    async with TestCall(Curious) as call:
        call.model_will("Bye.", "How was it?")
        await call.says("bye")
        call.expect_words("How was it?")
        assert call.model.requests[-1].messages[-1].content == "Ask for a rating."


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_tool_that_has_the_model_speak_is_answered_once(in_thread: bool) -> None:
    class Shop(Agent):
        @tool
        async def close(self) -> str:
            """Close the order."""
            if in_thread:
                await asyncio.to_thread(self.call.respond, "Ask for a rating.")
            else:
                self.call.respond("Ask for a rating.")
            return "closed"

    async with TestCall(Shop) as call:
        call.model_will(Calls("close"), "It is closed. How was it?")
        await call.says("that is all")
        assert call.words == ["It is closed. How was it?"]
        assert [one.content for one in call.model.requests[-1].messages[-2:]] == [
            "closed",
            "Ask for a rating.",
        ]


async def test_what_is_no_text_is_neither_said_nor_told() -> None:
    told: list[str] = []

    class Wrong(Agent):
        async def on_call_began(self) -> None:
            for do in (self.call.say, self.call.respond):
                try:
                    do(7)  # type: ignore[arg-type]  # as a mistake
                except TypeError as error:
                    told.append(str(error))

    async with TestCall(Wrong):
        pass
    assert told == ["say(7): allowed: a text", "respond(7): allowed: a text"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Calls("add", pizza="stone"), "there is no stone"),
        (Calls("add", number=2), "not done: wrong arguments for add: pizza: Field required"),
        (Calls("breaks"), "the tool failed; what it was to do may not be done"),
        (Calls("hangs"), "no result within 0.01 s; it was stopped, and may have been done in part"),
    ],
)
async def test_a_tool_that_fails_is_told_of_in_words(wanted: Calls, told: str) -> None:
    shop = Shop()
    async with TestCall(shop) as call:
        call.model_will(wanted, "Sorry.")
        await call.says("please")
        assert call.expect_tool(wanted.tool).startswith(told)
        assert ("failed", wanted.tool) in shop.told


class Speaker(Agent):
    """Tools whose results are spoken as they are."""

    result: object = "It is noon."

    @tool(speaks_result=True)
    async def clock(self) -> Any:
        """Return the time."""
        if self.result is None:
            raise ToolFailed("the clock is broken")
        return self.result


async def test_a_result_is_spoken_as_it_is_and_the_model_knows_it() -> None:
    async with TestCall(Speaker) as call:
        call.model_will(Calls("clock"), "It was noon.")
        await call.says("What time is it?")
        assert call.words == ["It is noon."]
        assert call.expect_tool("clock") == "It is noon."
        await call.says("What did you say?")
        assert call.words[-1] == "It was noon."


class Templates(Speaker):
    """The same, spoken from a template."""

    @tool(speaks_result=lambda hour: f"It is {hour} o'clock." if hour else "")
    async def clock(self) -> Any:
        """Return the hour."""
        return await super().clock()


async def test_a_result_is_spoken_in_the_words_of_a_function_and_the_model_knows_the_result() -> None:
    async with TestCall(Templates) as call:
        call.agent.result = 12
        call.model_will(Calls("clock"))
        await call.says("What time is it?")
        assert call.words == ["It is 12 o'clock."]
        assert call.expect_tool("clock") == "12"


async def test_a_result_for_which_the_function_has_no_words_goes_to_the_model() -> None:
    async with TestCall(Templates) as call:
        call.agent.result = 0
        call.model_will(Calls("clock"), "I see.")
        await call.says("What time is it?")
        assert call.words == ["I see."]


@pytest.mark.parametrize("result", [None, 12, " "])
async def test_a_failure_or_a_result_that_is_no_text_goes_to_the_model(result: object) -> None:
    async with TestCall(Speaker) as call:
        call.agent.result = result
        call.model_will(Calls("clock"), "I see.")
        await call.says("What time is it?")
        assert call.words == ["I see."]


async def test_a_plain_method_runs_in_a_thread_and_may_speak() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("slow"), "Three minutes.")
        await call.says("how long")
        assert call.expect_tool("slow") == '{"minutes":3}'
        call.expect_words("Nearly there.")


async def test_another_agent_takes_over_and_knows_what_was_said() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("complain"))
        assert await call.says("it was cold") == "I am the boss."
        await call.says("hello")
    last = call.model.requests[-1]
    assert last.messages[0].content == "You are sorry."
    assert last.tools == ()
    assert "it was cold" in [message.content for message in last.messages]


async def test_each_agent_that_had_the_call_is_notified_of_its_end_once_and_in_order() -> None:
    ended: list[str] = []

    class First(Agent):
        @tool
        async def billing(self) -> None:
            """Hand the caller over."""
            self.call.hand_over(Second(self))

        async def on_call_ended(self, transcript: Sequence[Said]) -> None:
            await asyncio.sleep(0)  # a task that waits does not change the order
            ended.append(f"first: {transcript[-1].text}")
            raise RuntimeError("a hook that raises harms nobody")

    class Second(Agent):
        def __init__(self, first: Agent) -> None:
            self._first = first

        @tool
        async def back(self) -> None:
            """Hand the caller back."""
            self.call.hand_over(self._first)

        async def on_call_ended(self, transcript: Sequence[Said]) -> None:
            ended.append(f"second: {transcript[-1].text}")

    async with TestCall(First) as call:
        call.model_will(Calls("billing"), "Billing.")
        await call.says("the bill please")
        call.model_will(Calls("back"), "Back.")
        await call.says("no, back")
    assert ended == ["first: Back.", "second: Back."]


@pytest.mark.parametrize("other", ["the manager", None, str])
async def test_a_hand_over_to_no_agent_names_what_is_allowed(other: Any) -> None:
    errors = []

    class First(Agent):
        @tool
        async def complain(self) -> None:
            """Hand the caller over."""
            try:
                self.call.hand_over(other)
            except TypeError as error:
                errors.append(str(error))

    async with TestCall(First) as call:
        call.model_will(Calls("complain"))
        await call.says("the manager please")
    assert errors == [f"hand_over({other!r}); allowed: an agent, or a class derived from Agent"]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_tool_that_speaks_its_result_and_hangs_up_says_it_first(fails: bool) -> None:
    class Desk(Agent):
        @tool(speaks_result=True)
        async def end(self) -> str:
            """End the call."""
            self.call.hang_up()
            if fails:
                raise ToolFailed("no")
            return "Goodbye, and thank you."

    async with TestCall(Desk) as call:
        call.model_will(Calls("end"))
        said = await call.says("that is all")
        assert (said, call.hung_up) == ("" if fails else "Goodbye, and thank you.", True)


async def test_a_tool_that_speaks_its_result_and_hands_over_says_it_before_the_other_agent_speaks() -> None:
    class Desk(Agent):
        @tool(speaks_result=True)
        async def complain(self) -> str:
            """Hand the caller over to the manager."""
            self.call.hand_over(Complaints)
            return "I connect you to the manager."

    async with TestCall(Desk) as call:
        call.model_will(Calls("complain"))
        await call.says("it was cold")
        assert call.words == ["I connect you to the manager.", "I am the boss."]
        assert isinstance(call.agent, Complaints)


async def test_what_such_a_tool_left_running_hangs_up_by_itself() -> None:
    class Desk(Agent):
        @tool(speaks_result=True)
        async def end(self) -> str:
            """End the call later."""
            self._later = asyncio.ensure_future(self._end())
            return "One minute left."

        async def _end(self) -> None:
            await asyncio.sleep(60)
            self.call.hang_up()

    async with TestCall(Desk, clock="virtual") as call:
        call.model_will(Calls("end"))
        assert await call.says("how long") == "One minute left."
        await asyncio.sleep(61)
        assert call.hung_up


async def test_a_coroutine_behind_a_plain_decorator_is_awaited() -> None:
    def counted(method: Any) -> Any:
        @functools.wraps(method)
        def counting(*given: Any, **named: Any) -> Any:
            return method(*given, **named)

        return counting

    class Desk(Agent):
        @tool
        @counted
        async def look(self) -> str:
            """Look for a table."""
            await asyncio.sleep(0)
            return "a table for two"

    async with TestCall(Desk) as call:
        call.model_will(Calls("look"))
        await call.says("a table please")
        assert call.expect_tool("look") == "a table for two"


async def _waits() -> str:
    await asyncio.sleep(0)
    return "a table for two"


async def _fail(words: str) -> None:
    raise ToolFailed(words)


async def _together(*failing: Coroutine[Any, Any, None]) -> None:
    async with asyncio.TaskGroup() as group:
        for each in failing:
            group.create_task(each)


async def _yields() -> AsyncIterator[str]:
    yield "half of it"


@pytest.mark.parametrize(
    ("work", "result"),
    [
        (_waits, "a table for two"),
        (_yields, "the tool failed; what it was to do may not be done"),
        (lambda: _together(_fail("no table"), _fail("no chair")), "no table; no chair"),
        (lambda: _together(_fail("no table"), _fail("")), "no table"),
        (lambda: _fail(""), "the tool failed; what it was to do may not be done"),
    ],
)
async def test_the_model_gets_what_a_tool_meant(work: Callable[[], Any], result: str) -> None:
    """Awaitables are awaited, concurrent tasks fail with their words, and a failure is never without any."""

    class Desk(Agent):
        @tool
        def look(self) -> Any:
            """Look for a table."""
            return work()

    async with TestCall(Desk) as call:
        call.model_will(Calls("look"))
        await call.says("a table please")
        assert call.expect_tool("look") == result


@pytest.mark.parametrize("digits", ["hello", "", "1" * 65])
async def test_the_line_of_a_test_refuses_keys_as_a_real_one(digits: str) -> None:
    class Menu(Agent):
        @tool
        async def press(self) -> None:
            """Press keys."""
            await self.call.send_digits(digits)

    async with TestCall(Menu) as call:
        call.model_will(Calls("press"))
        await call.says("go on")
        assert "allowed: 1 to 64 of 0-9" in call.tools[0][2]
        assert not call.sent_digits


async def test_the_line_of_a_test_refuses_a_transfer_to_nowhere() -> None:
    class Desk(Agent):
        @tool
        async def connect(self) -> None:
            """Connect the caller."""
            await self.call.transfer()

    async with TestCall(Desk) as call:
        call.model_will(Calls("connect"))
        await call.says("reception please")
        assert "destination is ''" in call.tools[0][2]


@pytest.mark.parametrize("speaks_result", [False, True])
async def test_a_tool_that_has_caught_a_failed_transfer_is_answered(speaks_result: bool) -> None:
    class Desk(Agent):
        @tool(speaks_result=speaks_result)
        async def connect(self) -> str:
            """Connect the caller."""
            try:
                await self.call.transfer()
            except ToolFailed:
                return "Nobody is there."
            return "Connected."

    async with TestCall(Desk) as call:
        call.model_will(Calls("connect"), *([] if speaks_result else ["Nobody is there."]))
        await call.says("reception please")
        assert call.words == ["Nobody is there."]


async def test_what_a_tool_has_the_model_say_is_heard_before_the_tools_hang_up() -> None:
    class Desk(Agent):
        @tool
        async def end(self) -> None:
            """End the call."""
            self.call.respond("Say goodbye.")
            self.call.hang_up()

    async with TestCall(Desk) as call:
        call.model_will(Calls("end"), "Goodbye!")
        await call.says("that is all")
        assert (call.words, call.hung_up) == (["Goodbye!"], True)
        assert call.model.requests[-1].messages[-1].content == "Say goodbye."


async def test_what_a_tool_has_the_model_say_is_heard_before_the_agent_to_which_it_hands_over() -> None:
    class Desk(Agent):
        instructions = "You are the desk."

        @tool
        async def complain(self) -> None:
            """Hand the caller over to the manager."""
            self.call.respond("Say that you connect them.")
            self.call.hand_over(Complaints)

    async with TestCall(Desk) as call:
        call.model_will(Calls("complain"), "I connect you.")
        await call.says("it was cold")
        assert call.words == ["I connect you.", "I am the boss."]
        asked = call.model.requests[-1].messages
        assert (asked[0].content, asked[-1].content) == ("You are the desk.", "Say that you connect them.")


async def test_a_tool_that_hands_over_after_the_call_begins_no_agent() -> None:
    over, began = asyncio.Event(), []

    class Late(Agent):
        async def on_call_began(self) -> None:
            began.append("late")

    class Slow(Agent):
        @tool
        async def look(self) -> None:
            """Look for long."""
            await over.wait()
            self.call.hand_over(Late)

    async with TestCall(Slow) as call:
        call.model_will(Calls("look"))
        saying = asyncio.ensure_future(call.says("look"))
        while not call.tools:  # noqa: ASYNC110 - nothing is posted that a test could await
            await asyncio.sleep(0)
        saying.cancel()
    over.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert began == []


async def test_the_agent_ends_the_call() -> None:
    async with TestCall(Shop) as call:
        call.model_will(Calls("end"))
        await call.says("bye")
        assert call.hung_up
        with pytest.raises(
            AssertionError, match="nobody hears 'one more thing': the agent has ended the call"
        ):
            await call.says("one more thing")


async def test_what_is_typed_in_another_language_has_its_digits_and_numbers() -> None:
    class Taxi(Agent):
        @tool
        async def number(self) -> str:
            """Take the caller's number."""
            return await self.call.collect_digits("Ihre Nummer, bitte.", count=6)

    async with TestCall(Taxi, language="de") as call:
        call.model_will(Calls("number"), "Das sind 2 Taxis.")
        await call.says("Bitte notieren Sie meine Nummer.")
        await call.says("null eins fünf")
        await call.says("zwei drei vier")
        assert call.expect_tool("number") == "015234"
        call.expect_words("zwei Taxis")


def test_what_is_no_agent_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"TestCall\('shop:Orders'\): allowed: a class derived from Agent"):
        TestCall("shop:Orders")  # type: ignore[arg-type]


async def test_hooks_are_told_and_what_they_raise_harms_nobody() -> None:
    shop = Shop()
    async with TestCall(shop) as call:
        await call.says("hello")
    assert ("turn", "hello") in shop.told
    assert ("response", "Okay.") in shop.told
    assert shop.told[-1] == ["Pizza Roma.", "hello", "Okay."]


class Careless(Agent):
    """An agent whose code breaks the rules."""

    @tool
    async def exits(self) -> None:
        """End the program."""
        sys.exit(3)

    @tool
    async def cancels(self) -> None:
        """Wait for what was cancelled."""
        waiting = asyncio.ensure_future(asyncio.sleep(10))
        waiting.cancel()
        await waiting

    @tool
    async def photo(self) -> bytes:
        """Take a photo."""
        return b"\xff\xd8"

    @tool
    async def half(self) -> str:
        """Give half a pair of surrogates."""
        return "a\ud83db"

    @tool
    async def mumble(self) -> None:
        """Say nothing."""
        self.call.say("")

    @tool
    async def count(self) -> None:
        """Say what is no text."""
        self.call.say(3)  # type: ignore[arg-type]

    async def on_response(self, text: str, interrupted: bool) -> None:
        sys.exit(4)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("exits", "the tool failed; what it was to do may not be done"),
        ("cancels", "the tool failed; what it was to do may not be done"),
        ("count", "the tool failed; what it was to do may not be done"),
        ("photo", r"b'\xff\xd8'"),
        ("half", "a\ufffdb"),
        ("mumble", "done"),
    ],
)
async def test_careless_code_fails_its_tool_and_the_call_goes_on(name: str, answer: str) -> None:
    async with TestCall(Careless) as call:
        call.model_will(Calls(name), "Well.")
        assert await call.says("go") == "Well."
        assert call.expect_tool(name) == answer
        assert await call.says("and?") == "Okay."


class Wordy(Agent):
    @tool
    async def read(self) -> list[str]:
        """Read it all."""
        return ["word"] * 100_000


async def test_a_result_longer_than_models_read_is_cut_and_says_so() -> None:
    async with TestCall(Wordy) as call:
        call.model_will(Calls("read"), "Long.")
        await call.says("read it")
        answer = call.expect_tool("read")
    assert len(answer) == RESULT_CHARACTERS
    assert answer.endswith(" [cut here: 700001 characters in all]")


async def test_what_was_expected_and_did_not_come_is_told_with_what_did() -> None:
    async with TestCall(Shop) as call:
        with pytest.raises(AssertionError, match="there were: none"):
            call.expect_tool("add")
        with pytest.raises(AssertionError, match=r"Pizza Roma\."):
            call.expect_words("goodbye")


@pytest.mark.parametrize("step", [{"tool": "add"}, Calls, ["words"], [], None])
async def test_what_is_no_step_of_the_model_is_refused_where_it_is_told(step: Any) -> None:
    async with TestCall(Shop) as call:
        with pytest.raises(TypeError, match="allowed: words, Calls"):
            call.model_will(step)


def test_arguments_that_no_model_can_write_are_refused() -> None:
    with pytest.raises(TypeError, match="set is not JSON serializable; allowed: what JSON has"):
        Calls("add", pizza={"tuna"})


async def test_a_tool_that_outlasts_the_tests_patience_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed_caller, "ANSWER_TIMEOUT_S", 0.05)
    over = asyncio.Event()

    class Slow(Agent):
        @tool
        async def look(self) -> None:
            """Look for long."""
            await over.wait()

    async with TestCall(Slow) as call:
        call.model_will(Calls("look"))
        with pytest.raises(AssertionError, match=r"tools that have no answer yet: look"):
            await call.says("look for it")
        over.set()


class Failing(ScriptedModel):
    """A model that calls a tool with what is no JSON; then it fails."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        if len(self.requests) > 1:
            raise LlmError("the key is wrong")
        yield Delta(tool_calls=(ToolCall("call_1", "end", '{"now": '),))
        yield Delta(finish_reason="tool_calls", usage=Usage())


async def test_a_response_that_fails_fails_the_test_in_words() -> None:
    async with TestCall(Shop, llm=Failing()) as call:
        with pytest.raises(AssertionError, match="the call went wrong: llm: the key is wrong"):
            await call.says("bye")
        assert call.tools[0][:2] == ("end", {"arguments": '{"now": '})
        assert "wrong arguments for end" in call.expect_tool("end")
