"""Spoken requests to a Live session whose front model is a real one, and whose client does the work.

python tests/bench/spoken_delegations.py [--config CONFIG] [--model 0.5b] [--delay 2] [--answer result]
    [--delegation client] [--requests 12] [--voice kokoro:am_michael]

The client answers each delegation after `--delay` seconds: with its result (commentary, or the output of the
function that the delegation `responses` offers), by thinking alone, not at all ("none"), or its sideband
closes ("gone"). Prints for each of twelve requests what was said, when the model delegated, and the silences
before the agent's audio; then how many were delegated, and of how many the agent spoke
after the client's answer. Times are seconds after the caller's last voiced sample. The default configuration
is the model of 0.5 B of `configs/chat.toml` with Joe's voice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

from live_waits import HZ, answers, heard_span, speak  # noqa: E402
from served import served  # noqa: E402
from spoken_call import spoken, voice_of  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402

from audio.pcm import Samples  # noqa: E402
from audio.resample import resample  # noqa: E402
from voiceagent.bench.speech import voice_end_s  # noqa: E402

REQUESTS = {
    "What is the weather in Seattle right now?": "It is sunny in Seattle, 21 degrees.",
    "Can you book me a table for two tomorrow at seven?": "The table is booked, the number is 4711.",
    "How much money is left on my account?": "The balance is 1,204 dollars and 50 cents.",
    "When does my order arrive?": "The order arrives on Thursday.",
    "Please cancel my appointment on Friday.": "The appointment on Friday at ten is cancelled.",
    "What did I buy last month?": "A toaster and two lamps.",
    "Is the swimming pool open today?": "Open until eight.",
    "Which flights go to Denver tonight?": "There are two flights, at 6:15 and at 9:40 in the evening.",
    "What's the price of the blue jacket?": "The blue jacket is 80 dollars.",
    "Send the invoice to my email address, please.": "The mail server cannot be reached.",
    "Who won the game last night?": "The home team won by two goals.",
    "Could you check whether a room is free on Saturday?": "One room is free on Saturday.",
}
LOOK_UP = {
    "type": "function",
    "name": "look_up",
    "description": "Looks up or does what the caller asks for: data, bookings, orders, accounts, messages.",
    "parameters": {"type": "object", "properties": {"request": {"type": "string"}}},
}
DELEGATIONS: dict[str, dict[str, Any]] = {
    "client": {"type": "client"},
    "responses": {"type": "responses", "responses": {"tools": [LOOK_UP]}},
}
LISTEN_S = 9.0
"""Time after the caller's end, in addition to the client's, in which the agent is listened to."""
INSTRUCTIONS = "You are a friendly assistant on the telephone. Be brief."
CONFIG = """
[agent]
max_output_tokens = 60

[recognizer]
engine = "moonshine"

[llm]
engine = "llamacpp"
model = "weights:qwen2.5-coder-MODEL-instruct/qwen2.5-coder-MODEL-instruct-q4_k_m.gguf"

[synthesizer]
engine = "piper-english"
voice = "weights:piper-en_US-joe/en_US-joe-medium.onnx"

[timeouts]
first_token_s = 15.0
"""


@dataclass
class Heard:
    """One call. Times in seconds after the caller's last voiced sample. audio: begin and end of each chunk of
    the agent. told_s: time at which the client answered.
    """

    audio: list[tuple[float, float]] = field(default_factory=list)
    said: str = ""
    delegated_s: float | None = None
    told_s: float | None = None

    @property
    def silences_s(self) -> list[float]:
        """Silences before each piece of the agent's audio."""
        ends = [0.0, *(end for _, end in self.audio)]
        gaps = [begin - end for (begin, _), end in zip(self.audio, ends, strict=False)]
        return [round(gap, 2) for gap in gaps if gap > 0.05]

    @property
    def answered(self) -> bool:
        """True if the agent spoke after the client's answer, of the result or not."""
        return self.told_s is not None and any(begin > self.told_s for begin, _ in self.audio)


@dataclass(frozen=True)
class Client:
    """Behaviour of the client at delegations. answer: "result", "thinking", "none" or "gone"."""

    delegation: str
    answer: str
    delay_s: float

    def answers(self, event: dict[str, Any], result: str) -> list[dict[str, Any]]:
        """Return the events that answer a delegation; none for other events."""
        given = answers(event, result)
        if self.answer == "thinking":
            given = [one | {"type": "session.thinking.append"} for one in given]
        return given if self.answer in ("result", "thinking") else []


async def call(address: str, voice: Samples, result: str, client: Client) -> Heard:
    """Hold one call. voice: mono int16 at 24 kHz."""
    heard = Heard()
    async with connect(f"ws://{address}/v1/live/sessions", max_size=None) as socket:
        about = {"instructions": INSTRUCTIONS, "delegation": DELEGATIONS[client.delegation]}
        await socket.send(json.dumps({"type": "session.start", "session": {"model": "m", **about}}))
        started = json.loads(await socket.recv())
        attach = f"ws://{address}/v1/live/sessions/{started['session']['id']}/attach"
        sideband = await connect(attach, max_size=None) if client.answer == "gone" else None
        ended_s = time.monotonic() + voice_end_s(voice, HZ)
        talk = asyncio.create_task(speak(socket, "live", voice))
        answering: list[asyncio.Task[None]] = []

        async def answer(events: list[dict[str, Any]]) -> None:
            await asyncio.sleep(client.delay_s)
            heard.told_s = time.monotonic() - ended_s
            for event in events:
                await socket.send(json.dumps(event))

        def take(event: dict[str, Any]) -> None:
            now_s = time.monotonic() - ended_s
            if given := client.answers(event, result):
                answering.append(asyncio.create_task(answer(given)))
            match event["type"]:
                case "session.delegation.created":
                    heard.delegated_s = now_s
                    if sideband is not None:
                        answering.append(asyncio.create_task(sideband.close()))
                case "session.output_audio.delta":
                    heard.audio.append(heard_span(event["delta"], now_s, heard.audio))
                case "session.output_transcript.delta":
                    heard.said += event["delta"]

        try:
            async with asyncio.timeout(ended_s - time.monotonic() + LISTEN_S + client.delay_s):
                async for message in socket:
                    take(json.loads(message))
        except TimeoutError:
            pass
        finally:
            for task in (talk, *answering):
                task.cancel()
    return heard


async def measure(config: Path, voice_name: str, client: Client, requests: int) -> None:
    """Hold the calls one after the other, and print what came of them."""
    engine, voice = voice_of(voice_name, "en")
    calls: list[Heard] = []
    async with served(config) as address:
        for request, result in list(REQUESTS.items())[:requests]:
            sound = resample(spoken(engine, voice, request), engine.rate_hz, HZ)
            heard = await call(address, np.concatenate([np.zeros(HZ // 2, np.int16), sound]), result, client)
            calls.append(heard)
            print(f"{request!r}: {heard.said!r}")
            when = (
                "not delegated" if heard.delegated_s is None else f"delegated after {heard.delegated_s:.2f}"
            )
            print(f"  {when}, silences {heard.silences_s}", flush=True)
    delegated = [each for each in calls if each.delegated_s is not None]
    first = [each.silences_s[0] for each in calls if each.silences_s]
    answered = sum(each.answered for each in delegated)
    print(
        f"{len(delegated)} of {len(calls)} delegated, {answered} of these spoken of after the client's answer"
    )
    print(f"first audio: p50 {median(first):.2f}, longest {max(first):.2f}")
    print(f"longest silence {max(max(each.silences_s, default=0.0) for each in calls):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--model", choices=["0.5b", "1.5b"], default="0.5b")
    parser.add_argument("--delay", type=float, default=2.0)
    parser.add_argument("--answer", choices=["result", "thinking", "none", "gone"], default="result")
    parser.add_argument("--delegation", choices=[*DELEGATIONS], default="client")
    parser.add_argument("--requests", type=int, default=len(REQUESTS))
    parser.add_argument("--voice", default="kokoro:am_michael")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "delegations.toml"
        written.write_text(CONFIG.replace("MODEL", options.model))
        client = Client(options.delegation, options.answer, options.delay)
        asyncio.run(measure(options.config or written, options.voice, client, options.requests))
