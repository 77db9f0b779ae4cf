"""The unmodified `openai` SDK calls a server, started as users start it, with recorded human speech."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import pytest_asyncio
from recordings import recorded
from sdk_caller import calling
from served import lent, served

from audio.pcm import AudioFormat, Samples, decode, encode

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "tests/bench"
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
Serve = Callable[..., AbstractAsyncContextManager[str]]


def speech(rate_hz: int = 24_000) -> Samples:
    """A person says: "go forward ten meters"."""
    return recorded("goforward.wav", rate_hz)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_fixed() -> AsyncIterator[str]:
    async with served(BENCH / "fixed.toml") as address:
        yield address


@pytest.fixture
async def fixed(shared_fixed: str) -> AsyncIterator[str]:
    """Yield the address of a server with engines of fixed cost, around the real voice detector."""
    async with lent(shared_fixed) as address:
        yield address


@pytest.fixture
def serving(tmp_path: Path) -> Serve:
    """Return what serves the same engines with another LLM, or at another speed."""
    for engines in (BENCH / "fixed_engines.py", ROOT / "tests/e2e/tool_engine.py"):
        shutil.copy(engines, tmp_path)

    @asynccontextmanager
    async def serve(llm: str = "fixed_engines:FixedLlm", word_s: float = 0.01) -> AsyncIterator[str]:
        text = (BENCH / "fixed.toml").read_text().replace("word_s = 0.01", f"word_s = {word_s}")
        config = tmp_path / "served.toml"
        if llm != "fixed_engines:FixedLlm":
            before, after = text.split("[llm]")
            text = f'{before}[llm]\nengine = "{llm}"\n\n[synthesizer]{after.split("[synthesizer]")[1]}'
        config.write_text(text)
        async with served(config) as address:
            yield address

    return serve


async def test_spoken_words_are_understood_and_answered_by_voice() -> None:
    async with served(ROOT / "configs/demo.toml") as address, calling(address) as caller:
        await caller.speak(speech())
        understood = await caller.until("conversation.item.input_audio_transcription.completed")
        assert "forward" in understood["transcript"]
        response = (await caller.until("response.done"))["response"]
        assert response["status"] == "completed"
        assert len(response["output"][0]["content"][0]["transcript"].split()) > 2
        assert response["usage"]["output_tokens"] > 0
        sound = decode(caller.sound(), AudioFormat.PCM_24K).astype(np.float64)
        assert len(sound) > 24_000 / 2, "half a second at least"
        assert np.sqrt(np.mean(sound**2)) > 500, "loud enough to be heard"
        order = [event["type"] for event in caller.events]
        assert order.index("input_audio_buffer.speech_started") < order.index("response.created")


async def test_speech_over_the_agent_stops_it_and_only_what_was_heard_stays(fixed: str) -> None:
    async with calling(fixed) as caller:
        await caller.speak(speech())
        await caller.until("response.output_audio.delta", 50)
        await caller.speak(speech(), silence_s=0.5)
        response = (await caller.until("response.done"))["response"]
        assert response["status"] == "cancelled"
        assert response["status_details"]["reason"] == "turn_detected"
        done = next(i for i, event in enumerate(caller.events) if event["type"] == "response.done")
        late = [event for event in caller.events[done:] if event.get("response_id") == response["id"]]
        assert not late, "nothing of a cancelled response comes after its end"
        item = response["output"][0]
        await caller.connection.conversation.item.retrieve(item_id=item["id"])
        heard = (await caller.until("conversation.item.retrieved"))["item"]["content"][0]["transcript"]
        said = item["content"][0]["transcript"]
        assert said.startswith(heard)
        assert len(heard) < len(said)
        assert (await caller.until("response.created", 2))["response"]["id"] != response["id"]


async def test_a_tool_is_called_and_what_it_answers_is_spoken(serving: Serve) -> None:
    async with serving("tool_engine:ToolLlm") as address, calling(address, tools=[WEATHER]) as caller:
        await caller.speak(speech())
        call = await caller.until("response.function_call_arguments.done")
        assert call["name"] == "weather"
        assert json.loads(call["arguments"]) == {"city": "Bonn"}
        await caller.until("response.done")
        await caller.connection.conversation.item.create(
            item={"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        )
        await caller.connection.response.create()
        response = (await caller.until("response.done", 2))["response"]
        assert response["output"][0]["content"][0]["transcript"] == "It says sunny."
        assert caller.sound()


async def test_a_turn_can_be_taken_by_hand(fixed: str) -> None:
    async with calling(fixed, audio={"input": {"turn_detection": None}}) as caller:
        await caller.speak(speech(), silence_s=0)
        await caller.connection.input_audio_buffer.commit()
        await caller.until("conversation.item.input_audio_transcription.completed")
        assert not caller.of("response.created"), "nobody asked for one"
        await caller.connection.response.create()
        assert (await caller.until("response.done"))["response"]["status"] == "completed"
        assert not caller.of("input_audio_buffer.speech_started")


async def test_a_typed_message_is_answered_in_text(fixed: str) -> None:
    async with calling(fixed, output_modalities=["text"]) as caller:
        await caller.connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Help!"}]}
        )
        await caller.connection.response.create(response={"max_output_tokens": 3})
        response = (await caller.until("response.done"))["response"]
        assert response["status_details"] == {"type": "incomplete", "reason": "max_output_tokens"}
        assert response["output"][0]["content"] == [{"type": "output_text", "text": "Sure, I can"}]
        assert not caller.sound()


@pytest.mark.parametrize("rate_hz", [24_000, 8_000])
async def test_sound_in_an_item_is_understood_and_answered(fixed: str, rate_hz: int) -> None:
    wire = AudioFormat.PCM_24K if rate_hz == 24_000 else AudioFormat.PCMU
    session = {"audio": {"input": {"format": {"type": f"audio/{wire.value[0]}"}}}}
    audio = base64.b64encode(encode(speech(rate_hz), wire)).decode()
    content = [{"type": "input_audio", "audio": audio}]
    async with calling(fixed, **session) as caller:
        await caller.connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": content}
        )
        await caller.connection.response.create()
        understood = await caller.until("conversation.item.input_audio_transcription.completed")
        assert understood["transcript"] == "Could you help me with something?"
        assert (await caller.until("response.done"))["response"]["status"] == "completed"
        assert not caller.of("input_audio_buffer.speech_started") + caller.of("error")


def out_of_band(topic: str) -> dict[str, Any]:
    """Return an out-of-band response with a prompt of its own."""
    content = [{"type": "input_text", "text": f"Is this about {topic}?"}]
    return {
        "conversation": "none",
        "output_modalities": ["text"],
        "metadata": {"topic": topic},
        "input": [{"type": "message", "role": "user", "content": content}],
    }


async def test_responses_out_of_band_run_beside_the_answer_and_are_cancelled_by_their_id(
    serving: Serve,
) -> None:
    async with serving(word_s=0.05) as address, calling(address) as caller:
        await caller.speak(speech())
        answer = (await caller.until("response.created"))["response"]["id"]
        await caller.until("response.output_audio.delta")
        for topic in ("billing", "weather"):
            await caller.connection.response.create(response=out_of_band(topic))
        billing, weather = [(await caller.until("response.created", n))["response"] for n in (2, 3)]
        assert [each["metadata"] for each in (billing, weather)] == [
            {"topic": "billing"},
            {"topic": "weather"},
        ]
        assert billing["conversation_id"] is weather["conversation_id"] is None
        await caller.connection.response.cancel(response_id=weather["id"])
        cancelled, told, answered = [(await caller.until("response.done", n))["response"] for n in (1, 2, 3)]
        assert (cancelled["id"], cancelled["status"]) == (weather["id"], "cancelled")
        assert (told["id"], told["status"]) == (billing["id"], "completed")
        assert told["output"][0]["content"][0]["text"].startswith("Sure, I can help")
        assert told["usage"]["output_tokens"] > 0
        assert (answered["id"], answered["status"]) == (answer, "completed")
        assert not {item["item"]["id"] for item in caller.of("conversation.item.added")} & {
            told["output"][0]["id"]
        }


@pytest.mark.parametrize("audio_format", [AudioFormat.PCMU, AudioFormat.PCMA])
async def test_telephone_sound_goes_both_ways(fixed: str, audio_format: AudioFormat) -> None:
    wire = {"format": {"type": f"audio/{audio_format.value[0]}"}}
    async with calling(fixed, audio={"input": wire, "output": wire}) as caller:
        await caller.speak(speech(8000), audio_format)
        await caller.until("response.output_audio.delta", 100)
        spectrum = np.abs(np.fft.rfft(decode(caller.sound(), audio_format)[:8000]))
        assert abs(int(spectrum.argmax()) - 440) <= 2, "the tone of the synthesizer, in hertz"


async def test_latency_events_come_only_where_they_were_asked_for(fixed: str) -> None:
    for asked in (False, True):
        extension = {"voiceagent": {"latency": True}} if asked else {}
        async with calling(fixed, output_modalities=["text"], **extension) as caller:
            await caller.speak(speech())
            await caller.until("response.done")
            if asked:
                latency = await caller.until("voiceagent.latency")
                assert latency["total_ms"] == pytest.approx(sum(s["ms"] for s in latency["stages"]))
            else:
                await caller.connection.input_audio_buffer.clear()
                await caller.until("input_audio_buffer.cleared")
                assert not caller.of("voiceagent.latency")


async def test_a_flood_of_sound_is_refused_and_the_call_goes_on(fixed: str) -> None:
    async with calling(fixed) as caller:
        second = base64.b64encode(bytes(48_000)).decode()
        for _ in range(15):
            await caller.connection.input_audio_buffer.append(audio=second)
        error = (await caller.until("error"))["error"]
        assert error["code"] == "input_audio_buffer_overflow"
        assert "10.0 s" in error["message"]
        await caller.connection.input_audio_buffer.clear()
        await caller.until("input_audio_buffer.cleared")


async def test_a_client_that_vanishes_leaves_nothing_behind(fixed: str) -> None:
    async with httpx.AsyncClient(base_url=f"http://{fixed}", trust_env=False) as http:

        async def calls() -> int:
            return int((await http.get("/health")).json()["calls"])

        async with calling(fixed) as caller:
            await caller.speak(speech())
            await caller.until("response.output_audio.delta")
            assert await calls() == 1
            caller.vanish()
            async with asyncio.timeout(1):
                while await calls():  # noqa: ASYNC110 - a client can only ask again
                    await asyncio.sleep(0.05)
