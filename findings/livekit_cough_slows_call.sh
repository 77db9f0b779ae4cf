#!/usr/bin/env bash
# livekit-agents 1.8.9: with `endpointing: {"mode": "dynamic"}` one cough while the caller thinks, or one "One moment, please"
# that the agent does not answer, makes all later replies of the call up to 2.5 s slower.
#
# Dynamic endpointing learns how long a caller pauses within a turn, and raises its delay from `min_delay` towards `max_delay`, so
# that the agent does not interrupt. It takes for such a pause any time between two sounds of the caller in which the agent did
# not speak: also between two turns, of any length, and also after a sound without words. So an agent that stays silent
# (`StopResponse`) while the caller looks for a number teaches it a pause of 30 s, and a cough 15 s before an answer one of
# 15 s. One of these is a tenth of the new delay (`alpha` 0.9), which is enough for the maximum. The delay does not fall
# again in a call of questions and answers, since nothing is learned across a reply. All other stages are as fast as before, and
# only a line at level debug tells of the change. (The like with the agent's own speech was mended before this version.)
# What helps: mode "fixed", the default; a `max_delay` near `min_delay`; or `session.update_options(endpointing_opts=...)`
# whenever the agent does not answer, which starts the statistics again.
# Output seen: seconds from the end of each utterance to the end of its turn, with min_delay 0.5 and max_delay 3: all turns
# answered: 0.5 each; one not answered: 0.5 0.5 3.0 3.0 3.0; a cough: 0.5 1.96 1.96 1.96; what helps: 0.5 each.
# Seen with livekit-agents 1.8.9, livekit 1.1.21, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile livekit-agents==1.8.9 livekit==1.1.21
cat > "$folder/delays.py" <<'PYTHON'
import asyncio
import logging
import time
from importlib.metadata import version

from livekit import rtc
from livekit.agents import Agent, AgentSession, StopResponse, stt, vad
from livekit.agents.voice import io

logging.disable(logging.CRITICAL)
HZ = 24_000
loop, clock = asyncio.SelectorEventLoop(), [1_000.0]
select = loop._selector.select


def wait(timeout):  # for nothing: only the clock goes on, so that a busy machine changes no figure
    ready = select(0)
    clock[0] += 0 if ready else timeout or 0
    return ready


loop._selector.select, loop.time = wait, lambda: clock[0]
time.time = time.monotonic = time.perf_counter = loop.time


class VoiceActivityStream(vad.VADStream):
    async def _main_task(self) -> None:
        await asyncio.Event().wait()


class VoiceActivity(vad.VAD):
    def __init__(self) -> None:
        super().__init__(capabilities=vad.VADCapabilities(update_interval=0.1))

    def stream(self) -> vad.VADStream:
        self.opened = VoiceActivityStream(self)
        return self.opened

    def emit(self, kind: vad.VADEventType, speech_s: float = 0, silence_s: float = 0) -> None:
        self.opened._event_ch.send_nowait(vad.VADEvent(kind, 0, 0, speech_s, silence_s))


class RecognizerStream(stt.RecognizeStream):
    async def _run(self) -> None:
        await asyncio.Event().wait()


class Recognizer(stt.STT):
    def __init__(self) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=True, interim_results=False))

    async def _recognize_impl(self, *args, **kwargs) -> None: ...

    def stream(self, *, conn_options, **kwargs) -> stt.RecognizeStream:
        self.opened = RecognizerStream(stt=self, conn_options=conn_options)
        return self.opened

    def emit(self, text: str) -> None:
        words = stt.SpeechData(language="en", text=text)
        self.opened._event_ch.send_nowait(stt.SpeechEvent(stt.SpeechEventType.FINAL_TRANSCRIPT, alternatives=[words]))


class Microphone(io.AudioInput):
    async def __anext__(self) -> None:
        await asyncio.Event().wait()


class Speaker(io.AudioOutput):
    def __init__(self) -> None:
        super().__init__(label="speaker", capabilities=io.AudioOutputCapabilities(pause=False), sample_rate=HZ)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        self.on_playback_started(created_at=time.time())
        played = {"playback_position": frame.duration, "interrupted": False}
        loop.call_later(frame.duration, lambda: self.on_playback_finished(**played))

    def flush(self) -> None:
        super().flush()

    def clear_buffer(self) -> None: ...


async def two_seconds():
    yield rtc.AudioFrame(bytes(2 * HZ * 2), HZ, 1, 2 * HZ)


class Desk(Agent):
    """Answers all but "One moment". waits_s: times from the end of an utterance to the end of its turn."""

    def __init__(self, gives_options: bool) -> None:
        super().__init__(instructions="")
        self.gives_options, self.waits_s = gives_options, []

    async def on_user_turn_completed(self, turn_ctx, new_message) -> None:
        self.waits_s.append(round(time.time() - self.spoken_s, 2))
        if "One moment" not in new_message.text_content:
            self.session.say("Certainly.", audio=two_seconds())
        elif self.gives_options:
            self.session.update_options(endpointing_opts={"min_delay": 0.5})
        raise StopResponse  # no model is asked


async def call(mode: str, second: str, silence_s: int, gives_options: bool = False) -> list[float]:
    activity, recognizer, agent = VoiceActivity(), Recognizer(), Desk(gives_options)
    endpointing = {"mode": mode, "min_delay": 0.5, "max_delay": 3.0}
    turns = {"turn_detection": "vad", "endpointing": endpointing, "interruption": {"mode": "vad"}}
    session = AgentSession(stt=recognizer, vad=activity, turn_handling=turns)
    session.input.audio, session.output.audio = Microphone(label="microphone"), Speaker()
    await session.start(agent)
    await asyncio.sleep(1)
    for text in ("I want to order.", second, "My number is four two.", "Four chairs, please.", "Yes."):
        activity.emit(vad.VADEventType.START_OF_SPEECH)
        await asyncio.sleep(1)
        if text:
            recognizer.emit(text)
            agent.spoken_s = time.time()
        await asyncio.sleep(0.1)
        activity.emit(vad.VADEventType.END_OF_SPEECH, speech_s=1, silence_s=0.1)
        await asyncio.sleep(silence_s if text == second else 8)
    await session.aclose()
    return agent.waits_s


async def main() -> None:
    print("livekit-agents", version("livekit-agents"))
    asked, moment, cough = "How much is one?", "One moment, please.", ""
    for name, arguments, expected in (
        ("each answered", ("dynamic", asked, 30), [0.5] * 5),
        ("one unanswered", ("dynamic", moment, 30), [0.5, 0.5, 3.0, 3.0, 3.0]),
        ("a cough", ("dynamic", cough, 15), [0.5, 1.96, 1.96, 1.96]),
        ("one unanswered, fixed", ("fixed", moment, 30), [0.5] * 5),
        ("one unanswered, options given again", ("dynamic", moment, 30, True), [0.5] * 5),
    ):
        waits_s = await call(*arguments)
        print(f"  {name}: {waits_s} s")
        assert len(waits_s) == len(expected)
        assert all(abs(seen - told) < 0.1 for seen, told in zip(waits_s, expected, strict=True))


loop.run_until_complete(main())
PYTHON
"$folder/venv/bin/python" "$folder/delays.py"
