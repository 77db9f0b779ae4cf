"""Calls for `voiceagent score`: `python tests/bench/scored_calls.py FOLDER RECORDINGS [CALLS] [AT ONCE]`.

Recorded people call the demo over the Realtime API, and the server keeps the calls in FOLDER/kept. Each call
has spoken questions, and long answers to typed ones, over which the caller interrupts, says "uh huh", makes a
noise, or others talk in the room. FOLDER/said.jsonl has what was said when, for `voiceagent score --said`. At
the end the row of docs/scores.md is printed.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from people.material import ONE_TURN, Clip, first_voiced_s, read_clips  # noqa: E402
from scored_row import row, scores  # noqa: E402
from served import served  # noqa: E402
from yielding.noises import MADE, others  # noqa: E402

from audio.pcm import Samples  # noqa: E402
from voiceagent.bench.speech import (  # noqa: E402
    BACKCHANNELS,
    running_synthesizer,
    trimmed,
)
from voiceagent.config.tables import load  # noqa: E402
from voiceagent.transports.local_call import FORMAT, FRAME_S, PacedSound, speak  # noqa: E402

RATE_HZ = FORMAT.rate_hz
SILENCE = np.zeros(round(FRAME_S * RATE_HZ), np.int16)
ASKS = "Please tell me all about it."
ANSWER = (
    "The Lakeside Hotel has forty rooms, and most look over the lake. Breakfast is served from "
    "seven to ten in the winter garden. The pool and the sauna are open all day, and towels are there. "
    "There is a bus to the old town every twenty minutes, and the last one comes back at midnight."
)
OVER_S = (1.0, 3.0)
"""Range of the time into the agent's answer at which something is heard over it."""
QUIET_S = 0.8
"""Silence after which the agent has finished."""
PATIENCE_S = 8.0
RETRY_S = 2.0
KINDS: tuple[Literal["turn", "backchannel", "noise", "aside"], ...] = (
    "turn",
    "backchannel",
    "noise",
    "aside",
)


@dataclass(frozen=True, slots=True)
class Material:
    """Callers' recordings, and backchannels by a synthesizer."""

    clips: Sequence[Clip]
    backchannels: Sequence[tuple[str, Samples]]


class Line:
    """One call. said: entries of `said.jsonl`. agent_until_s: end of the playout of all audio so far."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._pace = PacedSound(lambda _: None, time.monotonic)
        self._sent = 0
        self.call_id = ""
        self.said: list[dict[str, Any]] = []
        self.agent_from_s = self.agent_until_s = 0.0

    async def receive(self) -> None:
        """Follow the agent's playout until the call ends."""
        async for message in self._connection:
            event, now_s = json.loads(message), time.monotonic()
            if event["type"] == "session.created":
                self.call_id = event["session"]["id"]
            elif event["type"] == "response.output_audio.delta":
                if now_s > self.agent_until_s + QUIET_S:
                    self.agent_from_s = now_s
                seconds = len(b64decode(event["delta"])) / 2 / RATE_HZ
                self.agent_until_s = max(now_s, self.agent_until_s) + seconds
            elif event["type"] == "response.done" and event["response"]["status"] == "cancelled":
                self.agent_until_s = min(self.agent_until_s, now_s)

    async def send(self, sound: Samples) -> None:
        """Send `sound` [n] at the pace of speech."""
        for begin in range(0, len(sound), len(SILENCE)):
            frame = np.resize(sound[begin : begin + len(SILENCE)], len(SILENCE)).copy()
            frame[len(sound) - begin :] = 0
            await self._pace.send(frame)
            self._sent += len(frame)
            audio = b64encode(frame.astype("<i2").tobytes()).decode()
            await self._connection.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))

    async def say(self, kind: str, sound: Samples, begin_s: float, end_s: float, text: str | None) -> None:
        """Send speech, and note its place. begin_s, end_s: of the voice in it."""
        at_s = self._sent / RATE_HZ
        await self.send(sound)
        self.said.append({"begin_s": at_s + begin_s, "end_s": at_s + end_s, "kind": kind, "text": text})

    async def hear_out(self) -> None:
        """Be silent until the agent has answered and finished, or does not answer."""
        since_s = time.monotonic()
        while time.monotonic() < max(self.agent_until_s, since_s) + QUIET_S or (
            self.agent_until_s < since_s and time.monotonic() < since_s + PATIENCE_S
        ):
            await self.send(SILENCE)

    async def ask_by_text(self) -> None:
        """Type a question with a long answer, and wait until the agent speaks."""
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKS}]}
        await self._connection.send(json.dumps({"type": "conversation.item.create", "item": item}))
        await self._connection.send(json.dumps({"type": "response.create"}))
        asked_s = time.monotonic()
        while self.agent_from_s < asked_s < time.monotonic() < asked_s + PATIENCE_S:
            await self.send(SILENCE)


async def ask(line: Line, clip: Clip) -> None:
    """Speak a recording."""
    begin_s = first_voiced_s(clip.sound, RATE_HZ)
    await line.say("turn", clip.sound, begin_s, clip.voice_end_s, clip.text)


async def disturb(line: Line, kind: str, material: Material, clip: Clip, chance: random.Random) -> None:
    """Make something heard over the agent."""
    if kind == "turn":
        begin_s = first_voiced_s(clip.sound, RATE_HZ)
        voice = clip.sound[round(begin_s * RATE_HZ) :]
        await line.say(kind, voice, 0.0, clip.voice_end_s - begin_s, clip.text)
        return
    text: str | None = None
    if kind == "backchannel":
        text, sound = chance.choice(material.backchannels)
    elif kind == "noise":
        sound = MADE[chance.choice(list(MADE))](chance, RATE_HZ)
    else:
        voices = [one.sound for one in material.clips if one.speaker != clip.speaker]
        sound = others(chance, RATE_HZ, voices, int(np.abs(clip.sound.astype(np.int32)).max()))
    await line.say(kind, sound, 0.0, len(sound) / RATE_HZ, text)


async def call(address: str, material: Material, number: int) -> dict[str, Any]:
    """Make one call."""
    url = f"ws://{address}/v1/realtime?model=voiceagent"
    async with await connected(url) as connection:
        line = Line(connection)
        receiving = asyncio.create_task(line.receive())
        with suppress(ConnectionClosed):  # the agent may hang up
            await talk(line, material, number)
    with suppress(ConnectionClosed):
        await receiving
    return {"call_id": line.call_id, "said": line.said}


async def connected(url: str) -> ClientConnection:
    """Connect; try again while the server refuses calls, as one that is late does."""
    while True:
        try:
            return await connect(url, proxy=None, max_size=None)
        except InvalidStatus as refused:
            if refused.response.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
        await asyncio.sleep(RETRY_S)


async def talk(line: Line, material: Material, number: int) -> None:
    """Speak in one call: each kind of sound over the agent once, in any order."""
    chance = random.Random(number)
    await line.hear_out()  # the greeting
    for index, kind in enumerate(chance.sample(KINDS, k=len(KINDS))):
        clip = material.clips[(number * 4 + index) % len(material.clips)]
        await ask(line, clip)
        await line.hear_out()
        await line.ask_by_text()
        await line.send(np.zeros(round(chance.uniform(*OVER_S) * RATE_HZ), np.int16))
        await disturb(line, kind, material, clip, chance)
        await line.hear_out()


async def run(folder: Path, recordings: Sequence[Path], calls: int, at_once: int) -> None:
    """Make the calls."""
    config = folder / "scored.toml"
    text = (ROOT / "configs/demo.toml").read_text()
    long = f"[[set_answers]]\npattern = '^{ASKS}$'\nanswer = {json.dumps(ANSWER)}\n"
    config.write_text(f"{text}\n[calls]\nfolder = './kept'\n{long}")
    async with running_synthesizer(load(config)) as voice:
        backchannels = [(text, trimmed(await speak(voice, text), RATE_HZ)) for text in BACKCHANNELS]
    clips = read_clips(recordings, "measure", sorted(ONE_TURN), "en")
    random.Random(1).shuffle(clips)
    material, waiting = Material(clips, backchannels), list(range(calls))[::-1]
    async with served(config) as address:

        async def one_after_the_other() -> None:
            while waiting:
                said = await call(address, material, waiting.pop())
                with (folder / "said.jsonl").open("a") as file:
                    file.write(f"{json.dumps(said)}\n")

        await asyncio.gather(*(one_after_the_other() for _ in range(at_once)))


def main() -> None:
    """Make the calls named on the command line."""
    folder, recordings, *numbers = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    calls, at_once = (*map(int, numbers), 40, 2)[:2] if len(numbers) != 1 else (int(numbers[0]), 2)
    asyncio.run(run(Path(folder), [Path(place) for place in recordings.split(",")], calls, at_once))
    print(row(scores(Path(folder) / "scored.toml", Path(folder) / "said.jsonl")))


if __name__ == "__main__":
    main()
