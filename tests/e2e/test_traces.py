"""Calls are traced: a collector gets each as a tree, in its caller's trace, and LLM and tools join it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import phone_lines
import pytest
import twilio_line
from chat_server import chat_app, serve
from fixed_config import write_config
from otlp_receiver import Received, ReceivedSpan, otlp_receiver
from phone_caller import calling as phone_calling
from rtc_caller import rtc_calling
from scripted_llm import ScriptedLlm
from sdk_caller import SdkCaller, calling
from served import served
from sounds import voice_like
from starlette.types import ASGIApp, Receive, Scope, Send

from audio.pcm import Samples
from audio.resample import resample

ROOT = Path(__file__).parents[2]
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLERS = f"00-{TRACE}-{PARENT}-01"
AGENT = """
from opentelemetry.propagate import inject
from voiceagent.agents import Agent, tool

class Traced(Agent):
    instructions = "You look things up."

    @tool
    async def look(self, city: str) -> str:
        \"\"\"Look something up.\"\"\"
        inject(headers := {})
        return headers["traceparent"]
"""


def question(rate_hz: int) -> Samples:
    """Said once, with room for the answer behind it."""
    said = resample(voice_like(40), 16_000, rate_hz)
    return np.concatenate([said, np.zeros(2 * rate_hz, np.int16)])


def config_for(folder: Path, endpoint: str, llm: str = "", agent: str = "", more: str = "") -> Path:
    """Engines of fixed cost, or another LLM or agent; calls are traced."""
    path = write_config(folder, f'workers = 1\n[otlp]\nendpoint = "{endpoint}"\n{more}')
    text = path.read_text()
    if llm:
        before, after = text.split("[llm]")
        text = f"{before}[llm]\n{llm}\n[synthesizer]{after.split('[synthesizer]')[1]}"
    if agent:
        text = text.replace('instructions = "You are a helpful assistant."', agent)
    path.write_text(text)
    return path


class Headers:
    """Keeps the `traceparent` of each request to a server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.traceparents: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if b"traceparent" in headers:
            self.traceparents.append(headers[b"traceparent"].decode())
        await self._app(scope, receive, send)


@pytest.fixture
async def collector() -> AsyncIterator[tuple[str, Received]]:
    with otlp_receiver() as (endpoint, received):
        yield endpoint, received


def below(span: ReceivedSpan, spans: list[ReceivedSpan]) -> set[str]:
    """The names of those right below a span."""
    return {other.name.split()[0] for other in spans if other.parent_id == span.span_id}


async def ask(caller: SdkCaller, words: str) -> None:
    """One typed question, and its answer to the end."""
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
    await caller.connection.conversation.item.create(item=item)
    await caller.connection.response.create()
    await caller.until("response.done")


async def test_a_call_of_the_sdk_is_one_trace_with_its_stages(tmp_path: Path, collector):
    endpoint, received = collector
    chat = Headers(chat_app(ScriptedLlm(["Yes,", " there is."])))
    async with serve(chat) as url:
        llm = f'engine = "openai"\nmodel = "m"\nbase_url = "{url}"\napi_key_env = ""'
        async with (
            served(config_for(tmp_path, endpoint, llm)) as address,
            calling(address, {"traceparent": CALLERS}, voiceagent={"latency": True}) as caller,
        ):
            await caller.speak(question(24_000))
            waterfall = await caller.until("voiceagent.latency")
    (call,), (turn,) = received.of("call"), received.of("turn")
    assert {span.trace_id for span in received.spans} == {TRACE}
    assert call.parent_id == PARENT
    assert turn.parent_id == call.span_id
    assert below(turn, received.spans) == {"speech_to_text", "chat", "text_to_speech"}
    assert len({span.attributes["gen_ai.conversation.id"] for span in received.spans}) == 1
    stages = {f"voiceagent.stage.{stage['name']}_s": stage["ms"] / 1000 for stage in waterfall["stages"]}
    told = {name: turn.attributes[name] for name in stages}
    assert told == pytest.approx(stages, abs=1e-9)
    assert turn.attributes["voiceagent.turn.wait_s"] == pytest.approx(waterfall["total_ms"] / 1000, abs=1e-9)
    used = [span for span in received.of("chat") if span.attributes["voiceagent.llm.preemptive"] == "used"]
    assert [f"00-{span.trace_id}-{span.span_id}-01" for span in used] == chat.traceparents[-1:]
    llm_ms = {stage["name"]: stage["ms"] + stage["hidden_ms"] for stage in waterfall["stages"]}["llm_ttft"]
    assert used[0].attributes["gen_ai.response.time_to_first_chunk"] == pytest.approx(llm_ms / 1000, abs=1e-9)


async def test_what_a_tool_does_is_below_its_span(tmp_path: Path, collector):
    endpoint, received = collector
    (tmp_path / "traced_agent.py").write_text(AGENT)
    shutil.copy(ROOT / "tests/e2e/tool_engine.py", tmp_path)
    config = config_for(
        tmp_path, endpoint, 'engine = "tool_engine:ToolLlm"', 'python = "traced_agent:Traced"'
    )
    async with served(config) as address, calling(address, {"traceparent": CALLERS}) as caller:
        await ask(caller, "Bonn")
        await caller.until("response.done", 2)
        answer = "".join(event["delta"] for event in caller.of("response.output_audio_transcript.delta"))
    (tool,) = received.of("execute_tool")
    assert f"00-{TRACE}-{tool.span_id}-01" in answer
    assert tool.name == "execute_tool look"
    (turn,) = received.of("turn")
    assert tool.parent_id == turn.span_id
    assert [chat.parent_id for chat in received.of("chat")] == [turn.span_id] * 2


class FromWebhook(phone_lines.Twilio):
    """A call whose webhook came with a trace."""

    def start(self) -> list[phone_lines.Message]:
        return [twilio_line.connected(), twilio_line.start({"traceparent": CALLERS, "From": "+15550100"})]


async def test_webrtc_and_phone_calls_are_part_of_their_callers_traces(tmp_path: Path, collector):
    endpoint, received = collector
    async with served(config_for(tmp_path, endpoint)) as address:
        async with rtc_calling(address, traceparent=CALLERS) as caller:
            await caller.microphone.say(question(48_000))
        async with phone_calling(FromWebhook(), f"ws://{address}/telephony/twilio") as phone:
            await phone.speak(question(8_000))
    assert [call.parent_id for call in received.of("call")] == [PARENT] * 2
    assert {span.trace_id for span in received.spans} == {TRACE}
    assert len(received.of("text_to_speech")) == 2
    assert "+15550100" not in json.dumps([span.attributes for span in received.spans])


async def test_a_caller_whose_trace_is_not_recorded_is_not_traced(tmp_path: Path, collector):
    endpoint, received = collector
    async with served(config_for(tmp_path, endpoint)) as address:
        async with calling(address, {"traceparent": f"00-{TRACE}-{PARENT}-00"}) as caller:
            await ask(caller, "Hello")
        async with calling(address) as caller:
            await ask(caller, "Hello")
    assert len(received.of("call")) == 1
    assert received.of("call")[0].trace_id != TRACE


async def test_calls_and_metrics_of_all_workers_are_sent(tmp_path: Path, collector):
    endpoint, received = collector
    config = config_for(tmp_path, endpoint, more="metrics_s = 0.5")
    config.write_text(config.read_text().replace("workers = 1", "workers = 2\nworker_load_threshold = 0"))
    async with served(config) as address:
        for _ in range(2):
            async with calling(address) as caller:
                await ask(caller, "Hello")
        received.until("call", 2)
        turns: Any = received.until_metric("voiceagent_turns")
        while sum(point.as_double for point in turns.sum.data_points) < 2:
            received.metrics.clear()
            turns = received.until_metric("voiceagent_turns")
    assert len(received.of("turn")) == 2


async def test_a_collector_that_hangs_disturbs_no_call(tmp_path: Path):
    hangs = threading.Event()
    with otlp_receiver(hangs) as (endpoint, received):
        async with served(config_for(tmp_path, endpoint)) as address:
            for number in range(1, 4):
                async with calling(address) as caller:
                    await ask(caller, "Hello")
                if number == 1:
                    received.until("call")  # from here on it holds a batch
