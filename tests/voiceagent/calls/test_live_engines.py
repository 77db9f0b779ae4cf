"""Engines that answer in a call that is run again: real tasks, engines of no cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import numpy as np
import pytest
from call_services import call_services
from call_world import RATE_HZ
from kept_folder import conversation
from logged_call import log_of

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Generation, LlmError, Message, Request, Usage
from voiceagent.calls.live_engines import RunningEngines, SharedServices
from voiceagent.calls.log.event_log import read_log
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.session.services import Services


class Ears:
    """Reports how many tenths of a second it received."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        heard = 0
        async for item in sound:
            if not isinstance(item, Flush):
                heard += len(item)
            yield Hypothesis(f"{heard / 1600:.0f}", settled=isinstance(item, Flush))


class Brain(Ears):
    """Repeats its input; fails on an empty one."""

    def __init__(self) -> None:
        self.read: list[int] = []

    async def prefill(self, request: Request) -> None:
        self.read.append(len(request.messages))

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        if not request.messages[-1].content:
            raise LlmError("nothing to say")
        yield Delta(request.messages[-1].content)
        yield Delta(finish_reason="stop", usage=Usage(1, 0, 1))


class Mouth(Ears):
    rate_hz = 24_000

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(np.ones(2_400, np.int16))


class Server:
    """Counts how often it is started and closed."""

    def __init__(self) -> None:
        self.brain = Brain()
        self.states: list[str] = []

    @asynccontextmanager
    async def services(self) -> AsyncIterator[Services]:
        self.states.append("started")
        yield await call_services(Ears(), self.brain, Mouth())
        self.states.append("closed")


def engines_of(host: SharedServices, seconds: float | None = 2.0) -> RunningEngines:
    sound = None if seconds is None else np.zeros(round(seconds * 16_000), np.int16)
    return RunningEngines(host, read_log(log_of(conversation())), sound)


@contextmanager
def engines(server: Server) -> Iterator[RunningEngines]:
    with SharedServices(server.services) as host, engines_of(host) as live:
        yield live


def asked(words: str, preemptive: bool = False) -> do.StartResponse:
    messages = (Message("system", "Be kind."), Message("user", words))
    return do.StartResponse("resp_1", Generation(messages), "audio", preemptive=preemptive)


def test_engines_start_with_the_first_question_and_close_in_the_end():
    server = Server()
    with engines(server) as live:
        assert server.states == []
        live.response(asked("hello"))
        live.response(asked("again"))
    assert server.states == ["started", "closed"]


def test_calls_share_the_engines_of_a_host() -> None:
    server = Server()
    with SharedServices(server.services) as host:
        for _ in range(2):
            with engines_of(host) as live:
                live.response(asked("hello"))
    assert server.states == ["started", "closed"]


def test_a_call_that_ends_within_a_turn_leaves_no_recognition_running() -> None:
    with SharedServices(Server().services) as host:
        with engines_of(host) as live:
            live.begin_turn("item_1", 1.0)
            live.hear("item_1", 1.2, 1.5)

        async def tasks(_: Services) -> int:
            return len(asyncio.all_tasks()) - 1

        assert host.run(tasks) == 0


@pytest.mark.parametrize("preemptive", [False, True])
def test_a_response_is_made_whole_with_its_sound_at_the_rate_of_the_call(preemptive: bool):
    server = Server()
    with engines(server) as live:
        made = live.response(asked("hello", preemptive))
    fragment, speech, _, generated = (event for _, event in made)
    assert isinstance(fragment, ev.FragmentReady) and fragment.fragment.text == "hello"
    assert isinstance(speech, ev.SpeechReady) and len(speech.speech.samples) == RATE_HZ // 10
    assert isinstance(generated, ev.ResponseGenerated)
    assert server.brain.read[-1] == 1, "what came before the newest words was read before"


def test_a_response_that_fails_is_told_as_it_would_be_in_a_call():
    with engines(Server()) as live:
        ((_, failed),) = live.response(asked(""))
    assert failed == ev.ResponseFailed("resp_1", "llm", "nothing to say")


def test_a_turn_is_recognized_from_before_it_to_where_it_pauses():
    with engines(Server()) as live:
        live.begin_turn("item_1", 1.0)  # and the prefix padding, 0.3 s, before it
        heard = [event for _, event in live.hear("item_1", 1.2, 1.5)]
        *_, (_, settled) = live.settle("item_1", 1.5, number=False)
        live.end_turn("item_1")
    assert isinstance(settled, ev.TranscriptChanged)
    assert (settled.item_id, settled.text, settled.settled) == ("item_1", "8", True)
    assert heard and all(isinstance(one, ev.TranscriptChanged) and not one.settled for one in heard)


def test_without_sound_nothing_is_heard():
    with SharedServices(Server().services) as host:
        assert not engines_of(host, None).hears
