#!/usr/bin/env bash
# livekit-agents 1.8.9: after a star code, such as *67, the voice gets no more words until the model has written its whole reply.
#
# A reply is spoken while the model writes it, and `filter_markdown`, on by default, removes Markdown on the way. One expects a
# filter to delay nothing where there is no Markdown. But a star before a word may begin emphasis, so the filter keeps all text
# from there on until another star closes it, or the line or the reply ends. In "Please dial *67 first" none does: the voice
# gets "Please dial", nothing while the model writes three more sentences, then all of them; a voice that speaks by sentences
# is silent until then. The filter lets "5 * 3" and the underscore of an e-mail address pass, but not what is usual on a telephone:
# star codes, "press *1", "*, then 5". The words are right in the end, so a test that compares text does not find it, a model that
# writes fast hides it, and no warning is logged.
# What helps: a prompt with "star 67" in its examples; or `text_transforms.replace` before the filter, as below.
# Output seen, with a model that writes ten words a second: the longest time without a new word for the voice: "star 67": 0.1 s;
# "*67": 4.2 s of the 4.4 s that the model writes; "*67" and the replacement: 0.1 s.
# Seen with livekit-agents 1.8.9, livekit 1.1.21, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile livekit-agents==1.8.9 livekit==1.1.21
cat > "$folder/star.py" <<'PYTHON'
import asyncio
import logging
import re
import time
from importlib.metadata import version

from livekit import rtc
from livekit.agents import Agent, AgentSession, llm
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS
from livekit.agents.voice import io
from livekit.agents.voice.transcription import text_transforms

logging.disable(logging.CRITICAL)
HZ, WORD_S = 24_000, 0.1
REPLY = (
    "Please dial *67 first, and then the number of the office. The other side does not see your number then. "
    "It works for this call only, so please do it again for the next one. Is there anything else I can do for you?"
)
loop, clock = asyncio.SelectorEventLoop(), [1_000.0]
select = loop._selector.select


def wait(timeout):  # for nothing: only the clock goes on, so that a busy machine changes no figure
    ready = select(0)
    clock[0] += 0 if ready else timeout or 0
    return ready


loop._selector.select, loop.time = wait, lambda: clock[0]
time.time = time.monotonic = time.perf_counter = loop.time


class WriterStream(llm.LLMStream):
    async def _run(self) -> None:
        for word in re.findall(r"\S+\s*", self._llm.reply):
            await asyncio.sleep(WORD_S)
            self._event_ch.send_nowait(llm.ChatChunk(id="reply", delta=llm.ChoiceDelta(role="assistant", content=word)))


class Writer(llm.LLM):
    """A model that writes this reply, a word each `WORD_S`."""

    def __init__(self, reply: str) -> None:
        super().__init__()
        self.reply = reply

    def chat(self, *, chat_ctx, tools=None, conn_options=DEFAULT_API_CONNECT_OPTIONS, **kwargs) -> llm.LLMStream:
        return WriterStream(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)


class Speaker(io.AudioOutput):
    def __init__(self) -> None:
        super().__init__(label="speaker", capabilities=io.AudioOutputCapabilities(pause=False), sample_rate=HZ)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        self.on_playback_started(created_at=time.time())

    def flush(self) -> None:
        super().flush()
        self.on_playback_finished(playback_position=1, interrupted=False)

    def clear_buffer(self) -> None: ...


class Desk(Agent):
    """Notes when the voice gets its text. came: seconds and text."""

    def __init__(self) -> None:
        super().__init__(instructions="")
        self.came = [(time.time(), "")]

    async def tts_node(self, text, model_settings):
        async for part in text:
            self.came.append((time.time(), part))
        yield rtc.AudioFrame(bytes(2 * HZ), HZ, 1, HZ)


async def reply(text: str, **options) -> tuple[str, float, float]:
    """Return the text that the voice got, the longest time without new text, and the time of all."""
    session, agent = AgentSession(llm=Writer(text), **options), Desk()
    session.output.audio = Speaker()
    await session.start(agent)
    agent.came = [(time.time(), "")]
    await session.generate_reply(user_input="How do I hide my number?")
    await session.aclose()
    times = [at for at, _ in agent.came]
    longest = max(later - earlier for earlier, later in zip(times, times[1:], strict=False))
    return "".join(part for _, part in agent.came), round(longest, 1), round(times[-1] - times[0], 1)


async def main() -> None:
    print("livekit-agents", version("livekit-agents"))
    said, replacement = REPLY.replace("*67", "star 67"), text_transforms.replace({"*67": "star 67"})
    for name, text, options, spoken, slow in (
        ("star 67", said, {}, said, False),
        ("*67", REPLY, {}, REPLY, True),
        ("*67, replaced", REPLY, {"tts_text_transforms": [replacement, "filter_markdown", "filter_emoji"]}, said, False),
    ):
        got, longest_s, all_s = await reply(text, **options)
        print(f"  {name}: {longest_s} s without a new word, of {all_s} s")
        assert got == spoken
        assert longest_s > 3.5 if slow else longest_s < 0.5


loop.run_until_complete(main())
PYTHON
"$folder/venv/bin/python" "$folder/star.py"
