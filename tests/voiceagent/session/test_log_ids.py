"""Call, turn and response in every log line that a call causes, whatever module or library writes it."""

from __future__ import annotations

import asyncio
import contextvars
import io
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest
import structlog
from call_services import call_services
from call_settings import call_settings
from fake_client import FakeClient

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, Usage
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.server.warm_up import warm_up
from voiceagent.session.session import Session
from voiceagent.telemetry.call_ids import CallIds, enter_call, enter_work, leave_call
from voiceagent.telemetry.log import configure_log

log = structlog.get_logger()


class Engines:
    """A recognizer, an LLM and a synthesizer that know no call, and log while they work for one."""

    rate_hz = 24_000

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                log.info("recognized")
                yield Hypothesis("hello", settled=True)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        logging.getLogger("library").info("generates")
        yield Delta("Hello there.")
        yield Delta(finish_reason="stop", usage=Usage(3, 0, 2))

    async def prefill(self, request: Request) -> None: ...

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        log.info("synthesized")
        yield Speech(np.full(2_400, 1000, np.int16))


@pytest.fixture
def lines() -> Iterator[Any]:
    root, stream = logging.getLogger(), io.StringIO()
    before, level = root.handlers[:], root.level
    configure_log("json", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()


def ids_of(line: dict[str, Any]) -> tuple[str, str, str]:
    return line.get("call", ""), line.get("turn", ""), line.get("response", "")


async def answered(call_id: str) -> tuple[str, str]:
    """Make one call whose events come from callbacks that calls share. Return its turn and response."""
    client, engines = FakeClient(), Engines()
    services = await call_services(engines, engines, engines)
    session = Session(call_id, services, call_settings(), client)
    shared = contextvars.Context()
    session.begin(greet=False)
    for event in (ev.SpeechStarted(0.0), ev.SpeechPaused(0.5), ev.TurnEnded(0.5)):
        shared.run(session.post, event)
        await asyncio.sleep(0.01)
    await client.until(lambda: client.of(notify.NotifyResponseEnded))
    await session.close("the test is over", "caller_hung_up")
    assert shared.run(structlog.contextvars.get_contextvars) == {}
    return client.of(notify.NotifyInputCommitted)[0].item_id, client.of(notify.NotifyResponseStarted)[
        0
    ].response_id


async def test_lines_of_engines_name_call_turn_and_response(lines):
    turn, response = await answered("call_1")
    found = {line["event"]: ids_of(line) for line in lines() if "call" in line}
    assert found["recognized"] == ("call_1", turn, "")
    assert found["generates"] == found["synthesized"] == ("call_1", turn, response)
    assert found["turn"] == ("call_1", turn, response)


async def test_lines_of_calls_side_by_side_are_not_mixed_up(lines):
    known = dict(
        zip(("call_1", "call_2"), await asyncio.gather(*map(answered, ("call_1", "call_2"))), strict=True)
    )
    named = [ids_of(line) for line in lines() if line["event"] in ("generates", "turn")]
    assert sorted(named) == sorted((call, *ids) for call, ids in known.items() for _ in range(2))


async def test_ends_of_call_and_interruption_have_their_codes(lines):
    client, engines = FakeClient(), Engines()
    session = Session("call_1", await call_services(engines, engines, engines), call_settings(), client)
    session.begin(greet=False)
    for event in (ev.SpeechStarted(0.0), ev.SpeechPaused(0.5), ev.TurnEnded(0.5)):
        session.post(event)
        await asyncio.sleep(0)
    await client.until(lambda: client.frames)
    session.handle(ev.OutputCleared(by_key=True))
    await session.close("the test is over", "caller_hung_up")
    found = {line["event"]: line for line in lines()}
    assert found["response_interrupted"]["interrupted_by"] == found["turn"]["interrupted_by"] == "key"
    assert found["turn"]["end_code"] == "silence"
    assert found["call_ended"]["end_code"] == "caller_hung_up"


async def test_warm_up_leaves_no_ids_in_the_task_that_starts_the_server(lines):
    engines = Engines()
    await warm_up(await call_services(engines, engines, engines))
    log.info("ready")
    assert ids_of(next(line for line in lines() if line["event"] == "ready")) == ("", "", "")


def test_ids_of_a_line_come_before_those_of_the_context(lines):
    entered = enter_call(CallIds("call_1", "turn_1", "resp_1"))
    log.info("own response", response="resp_0")
    log.info("other call", call="call_2")
    leave_call(entered)
    log.info("no call")
    own, other, none = lines()
    assert (ids_of(own), ids_of(other), ids_of(none)) == (
        ("call_1", "turn_1", "resp_0"),
        ("call_2", "", ""),
        ("", "", ""),
    )


def test_work_keeps_the_ids_that_it_began_with(lines):
    ids = CallIds("call_1", "turn_1")
    entered = enter_call(ids)
    enter_work(response="resp_1")
    ids.turn, ids.response = "turn_2", "resp_2"
    log.info("late")
    leave_call(entered)
    (line,) = lines()
    assert ids_of(line) == ("call_1", "turn_1", "resp_1")
