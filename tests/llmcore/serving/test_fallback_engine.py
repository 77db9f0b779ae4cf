from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace

import pytest
from scripted_llm import HANG, ScriptedLlm

from llmcore.engine import (
    READING,
    BusyError,
    Delta,
    LlmError,
    Message,
    RefusedError,
    ReplyError,
    Request,
    RequestError,
    SetupError,
    Tool,
    ToolCall,
)
from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from llmcore.serving.fallback_engine import FallbackLlm, TimeOuts

ASK = Request((Message("user", "hello?"),))
BROKEN = LlmError("the engine died")


class World:
    """A primary and a fallback behind one engine, on a clock that the test sets."""

    def __init__(self, primary: ScriptedLlm, fallback: ScriptedLlm | None) -> None:
        self.primary, self.fallback = primary, fallback
        self.now_s = 0.0
        self.reasons: list[str] = []
        breaker = CircuitBreaker(2, Backoff(1.0, 8.0), lambda: 1.0)
        self.llm = FallbackLlm(
            primary, fallback, breaker, TimeOuts(0.05, 0.05), self.reasons.append, lambda: self.now_s
        )

    async def ask(self, request: Request = ASK) -> str:
        async with aclosing(self.llm.generate(request)) as deltas:
            return "".join([delta.text async for delta in deltas])


def world(*scripts: list[object], fallback: bool = True) -> World:
    return World(ScriptedLlm(*scripts), ScriptedLlm(["from the other"]) if fallback else None)


async def test_the_fallback_is_not_asked_while_the_primary_answers():
    both = world(["hello"])
    assert await both.ask() == "hello"
    assert both.fallback.requests == []
    assert both.reasons == []


@pytest.mark.parametrize(
    ("failure", "reason"), [(BROKEN, "error"), (HANG, "timeout"), (BusyError("full"), "busy")]
)
async def test_the_fallback_answers_where_the_primary_cannot(failure, reason):
    both = world([failure])
    assert await both.ask() == "from the other"
    assert both.reasons == [reason]
    assert both.primary.running == 0


@pytest.mark.parametrize("failure", [BROKEN, HANG])
async def test_a_failure_after_the_first_words_is_raised(failure):
    both = world(["Well, ", failure])
    with pytest.raises(LlmError):
        await both.ask()
    assert both.fallback.requests == []


async def test_a_long_prompt_may_be_read_for_as_long_as_it_takes():
    read = asyncio.Event()
    both = world([read, "the document says"], fallback=False)
    asking = asyncio.create_task(both.ask(replace(ASK, reading_s=60.0)))
    await asyncio.wait([asking], timeout=0.2)  # four times what other first tokens may take
    assert not asking.done()
    read.set()
    assert await asking == "the document says"


async def test_an_engine_that_reports_that_it_reads_is_slow_and_does_not_hang():
    """Each report is passed on at once, so that the call's own deadline sees it too."""
    reports = [asyncio.Event() for _ in range(4)]
    both = world([*(step for report in reports for step in (report, READING)), "it says"], fallback=False)
    loop = asyncio.get_running_loop()
    async with aclosing(both.llm.generate(ASK)) as deltas:
        for report in reports:
            loop.call_later(0.03, report.set)
            assert await anext(deltas) == READING
        assert "".join([delta.text async for delta in deltas]) == "it says"


async def test_a_pause_of_the_process_is_no_failure_of_the_engine():
    answered = asyncio.Event()
    both = world([answered, "hello"])
    asking = [asyncio.create_task(both.ask()) for _ in range(2)]
    await asyncio.sleep(0)
    time.sleep(0.1)  # noqa: ASYNC251 - twice as long as a first token may take
    for _ in range(3):
        await asyncio.sleep(0)
    answered.set()
    assert await asyncio.gather(*asking) == ["hello"] * 2
    assert (both.reasons, both.llm.problem) == ([], "")


async def test_without_a_fallback_the_failure_is_raised():
    with pytest.raises(LlmError, match="no first token within"):
        await world([HANG], fallback=False).ask()


async def test_an_engine_that_keeps_failing_is_not_asked():
    both = world([BROKEN])
    for _ in range(4):
        assert await both.ask() == "from the other"
    assert len(both.primary.requests) == 2
    assert both.reasons == ["error", "error", "circuit_open", "circuit_open"]


async def test_it_is_tried_again_and_answers_when_it_is_back():
    both = world([BROKEN], [BROKEN], ["back"])
    await both.ask()
    await both.ask()
    both.now_s = 1.0
    assert await both.ask() == "back"
    assert await both.ask() == "back"


async def test_an_engine_that_is_left_alone_is_told_with_its_last_failure():
    both = world([BROKEN], fallback=False)
    for _ in range(2):
        with pytest.raises(LlmError, match="the engine died"):
            await both.ask()
    with pytest.raises(LlmError, match=r"tried again in 1\.0 s; the last time: the engine died"):
        await both.ask()


async def test_a_reply_given_up_after_its_first_word_closes_the_circuit():
    both = world([BROKEN], [BROKEN], ["back", HANG])
    await both.ask()
    await both.ask()
    both.now_s = 1.0
    deltas = both.llm.generate(ASK)
    assert (await anext(deltas)).text == "back"
    await deltas.aclose()
    assert (await anext(both.llm.generate(ASK))).text == "back"


@pytest.mark.parametrize("well", [RequestError("too long"), BusyError("full")])
async def test_an_engine_that_is_well_but_refuses_is_asked_again(well):
    both = world([well], fallback=False)
    for _ in range(4):
        with pytest.raises(type(well)):
            await both.ask()
    assert len(both.primary.requests) == 4


async def test_a_request_that_no_engine_could_answer_goes_to_no_other():
    both = world([RequestError("too long")])
    with pytest.raises(RequestError):
        await both.ask()
    assert both.fallback.requests == []


async def test_nothing_is_prefill_while_speaking_by_an_engine_that_keeps_failing():
    both = world([BROKEN])
    await both.llm.prefill(ASK)
    await both.ask()
    await both.ask()
    with pytest.raises(LlmError):
        await both.llm.prefill(ASK)
    assert len(both.primary.prefills) == 1


async def test_both_are_started_and_closed():
    both = world()
    await both.llm.start()
    await both.llm.close()
    assert [(engine.started, engine.closed) for engine in (both.primary, both.fallback)] == [(1, 1), (1, 1)]


THOUGHT = Delta(thought="Hm.")
END = Delta(finish_reason="stop")


@pytest.mark.parametrize(
    "empty", [[], ["\n"], [" ", "..."], ["\N{THUMBS UP SIGN}"], [THOUGHT, "?!"], [THOUGHT]]
)
async def test_a_reply_without_words_is_asked_for_once_more(empty, caplog):
    both = world(empty, ["hello"])
    assert await both.ask() == "hello"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "has no words" in caplog.text
    assert (len(both.primary.requests), both.fallback.requests, both.reasons) == (2, [], [])


async def test_the_fallback_answers_where_the_second_reply_has_no_words_either():
    both = world([])
    assert await both.ask() == "from the other"
    assert (len(both.primary.requests), both.reasons) == (2, ["reply"])


async def test_where_no_engine_has_words_that_is_an_error():
    both = World(ScriptedLlm(["..."]), ScriptedLlm([" "]))
    with pytest.raises(ReplyError, match="has no words"):
        await both.ask()


TOOLS = (Tool("look", ""),)
CALLING = Message("assistant", "", (ToolCall("c1", "look", "{}"),))
RESULT = Message("tool", "found", (), "c1")
AFTER_RESULT = Request((*ASK.messages, CALLING, RESULT), TOOLS)


async def test_after_a_result_the_second_request_allows_no_further_call():
    both = world([], ["found it"])
    assert await both.ask(AFTER_RESULT) == "found it"
    assert [request.tool_choice for request in both.primary.requests] == ["auto", "none"]


async def test_a_forbidden_call_is_followed_by_a_request_without_tools():
    both = world([], ["hello"])
    assert await both.ask(replace(ASK, tools=TOOLS, tool_choice="none")) == "hello"
    assert [request.tools for request in both.primary.requests] == [TOOLS, ()]


async def test_an_answer_whose_words_preceded_the_tool_ends_without_more():
    both = world([])
    spoken = replace(CALLING, content="I'll have a look.")
    assert await both.ask(replace(AFTER_RESULT, messages=(*ASK.messages, spoken, RESULT))) == ""
    assert (len(both.primary.requests), both.fallback.requests, both.reasons) == (2, [], [])


async def test_a_refused_request_without_tools_is_the_empty_reply_that_it_followed():
    both = world([], [RequestError("calls without tools")])
    assert await both.ask(replace(AFTER_RESULT, tool_choice="none")) == "from the other"
    assert both.reasons == ["reply"]


async def test_words_may_come_behind_blanks_and_thoughts():
    assert await world([THOUGHT, "\n", "¿", "Sí?"]).ask() == "\n¿Sí?"


async def test_a_call_is_a_reply_without_words():
    call = ToolCall("c1", "look", "{}")
    both = world(["\n", Delta(tool_calls=(call,)), END])
    async with aclosing(both.llm.generate(ASK)) as deltas:
        assert [call for delta in [delta async for delta in deltas] for call in delta.tool_calls] == [call]


async def test_thoughts_are_signs_of_life():
    thinking = [THOUGHT, asyncio.Event(), "hello"]
    both = world(thinking)
    deltas = both.llm.generate(ASK)
    assert (await anext(deltas)).thought == "Hm."
    thinking[1].set()
    assert (await anext(deltas)).text == "hello"
    await deltas.aclose()


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(ReplyError("an error in the stream"), "reply"), (SetupError("wrong key"), "setup")],
)
async def test_what_is_no_failure_of_the_server_goes_to_the_fallback_and_leaves_it_in_use(failure, reason):
    both = world([failure])
    assert [await both.ask() for _ in range(4)] == ["from the other"] * 4
    assert (len(both.primary.requests), both.reasons) == (4, [reason] * 4)
    assert both.llm.problem == ""


async def test_one_callers_filter_is_nothing_to_another_caller():
    both = world(*[[RefusedError("filtered")]] * 5, ["hello"])
    for _ in range(5):
        with pytest.raises(RefusedError):
            await both.ask()
    assert await both.ask() == "hello"
    assert (both.fallback.requests, both.llm.problem) == ([], "")
