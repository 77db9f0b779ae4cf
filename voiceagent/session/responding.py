"""Generation of one response: LLM text, fragments, audio. Results are posted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from audio.synthesizers import Speech, SynthesizerError
from llmcore.engine import Delta, LimitError, LlmError, RefusedError, Usage, is_permanent
from voiceagent.conversation.commands import StartResponse
from voiceagent.conversation.events import (
    Event,
    FragmentReady,
    FragmentSpoken,
    ResponseFailed,
    ResponseGenerated,
    ResponseWritten,
    SpeechReady,
    ToolCallsReady,
)
from voiceagent.conversation.fragments import Fragment, Fragmenter
from voiceagent.conversation.repetition import RepetitionGuard
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.telemetry.call_ids import enter_work

FRAGMENTS_AHEAD = 8
"""Maximum fragments that wait for synthesis; beyond it the LLM stream is not read."""

Milestone = Literal[
    "llm_request", "first_token", "thoughts_end", "first_fragment", "first_sound", "text_complete"
]


@dataclass(frozen=True, slots=True)
class Progress:
    """Observers of a response's progress.

    stamp: called once at each milestone. monitor: timeouts and faults of the call. reviewed: answers are
    reviewed, so that `ResponseWritten` is posted even without tool calls.
    """

    stamp: Callable[[str, Milestone], None]
    monitor: CallMonitor
    reviewed: bool = False


class ResponseWork:
    """The task that makes one response.

    generate: queries the LLM. speak: synthesises a fragment. progress: observers. room: waits until the
    playout can take more audio. held_tokens: number of tokens after which a preemptive response pauses until
    it is released; it synthesises its first fragment only. urgent: the caller is waiting for it, as far as is
    known.
    """

    def __init__(
        self,
        start: StartResponse,
        generate: Callable[[], AsyncGenerator[Delta, None]],
        speak: Callable[[str], AsyncGenerator[Speech, None]],
        fragmenter: Fragmenter,
        post: Callable[[Event], None],
        progress: Progress,
        room: Callable[[], Awaitable[None]],
        held_tokens: int | None,
    ) -> None:
        self._start = start
        self._id = start.response_id
        self._generate = generate
        self._speak_fragment = speak
        self._fragmenter = fragmenter
        self._post = post
        self._stamp = progress.stamp
        self._reviewed = progress.reviewed
        self._monitor, self._limits = progress.monitor, progress.monitor.limits
        self._room = room
        self._held_tokens = held_tokens
        self._repetition = RepetitionGuard()
        self._text = ""
        self._called_tools = False
        self._thinks = False
        self._released = asyncio.Event()
        if held_tokens is None:
            self._released.set()
        self._fragments: asyncio.Queue[Fragment | None] = asyncio.Queue(FRAGMENTS_AHEAD)
        self._last = Delta(finish_reason="stop", usage=Usage())
        self.pieces = 0
        self.urgent = not start.preemptive
        self.task = asyncio.create_task(self._run(), name=f"response {start.response_id}")

    def release(self) -> None:
        """Mark the response as no longer preemptive, and continue."""
        self._released.set()

    async def _run(self) -> None:
        enter_work(turn=self._start.turn_id or self._id, response=self._id)
        try:
            await _together(self._write(), self._speak() if self._start.modality == "audio" else self._show())
        except LimitError as error:
            self._post(ResponseFailed(self._id, "limits", str(error), permanent=True))
        except RefusedError as error:
            self._monitor.log_refusal(self._id, str(error))
            self._post(ResponseFailed(self._id, "refusal", str(error), permanent=True))
        except LlmError as error:
            self._post(ResponseFailed(self._id, "llm", str(error), is_permanent(error)))
        except SynthesizerError as error:
            self._post(ResponseFailed(self._id, "synthesizer", str(error)))
        finally:
            self._monitor.cancel_timeout(self._id, "llm")
            self._monitor.cancel_timeout(self._id, "synthesizer")

    async def _write(self) -> None:
        if self._start.say:
            await self._pass_on([*self._fragmenter.push(self._start.say), *self._fragmenter.finish()])
            await self._fragments.put(None)
            return
        repeated = False
        self._stamp(self._id, "llm_request")
        self._monitor.start_timeout(self._id, "llm", "first token", self._limits.first_token_s)
        async with aclosing(self._generate()) as deltas:
            async for delta in deltas:
                self._monitor.cancel_timeout(self._id, "llm")
                await self._on_delta(delta)
                if repeated := self._repetition.push(delta.text):
                    self._monitor.log_repetition(self._id)
                    break  # closing the iterator ends the LLM's work
                # only now: while the fragment queue is full it is the server that stalls the LLM
                self._monitor.start_timeout(self._id, "llm", "further token", self._limits.token_s)
        self._monitor.cancel_timeout(self._id, "llm")
        self._stamp(self._id, "text_complete")
        rest = self._rest(repeated)
        if (self._called_tools or self._reviewed) and self._start.modality == "audio":
            # at once: the next response, or the review, may be requested before this one is fully spoken
            self._post(ResponseWritten(self._id, self._text + "".join(one.text for one in rest)))
        await self._pass_on(rest)
        await self._fragments.put(None)

    def _rest(self, repeated: bool) -> list[Fragment]:
        """Return the last fragments. A response that repeats itself, and a spoken one that reaches its limit,
        ends with its last whole sentence.
        """
        if repeated and self._text:
            return []
        return self._fragmenter.finish(
            self._start.modality == "audio" and self._last.finish_reason == "length"
        )

    async def _on_delta(self, delta: Delta) -> None:
        if delta.thought:
            self._thinks = True
            self._stamp(self._id, "first_token")
        if self._thinks and (delta.text or delta.tool_calls):
            self._thinks = False
            self._stamp(self._id, "thoughts_end")
        if delta.text:
            if self.pieces == 0:
                self._stamp(self._id, "first_token")
            self.pieces += delta.pieces
            await self._pass_on(self._fragmenter.push(delta.text))
        if delta.tool_calls:
            self._called_tools = True
            self._post(ToolCallsReady(self._id, delta.tool_calls))
        if delta.finish_reason is not None:
            self._last = delta
        elif self._held_tokens is not None and self.pieces >= self._held_tokens:
            await self._released.wait()

    async def _pass_on(self, fragments: list[Fragment]) -> None:
        for fragment in fragments:
            self._text += fragment.text
            self._stamp(self._id, "first_fragment")
            await self._fragments.put(fragment)

    async def _speak(self) -> None:
        while (fragment := await self._fragments.get()) is not None:
            await self._room()
            self._post(FragmentReady(self._id, fragment))
            # fragments without spoken text, such as the end of a list, have no audio
            if fragment.spoken:
                await self._say(fragment.spoken)
            self._post(FragmentSpoken(self._id))
            await self._released.wait()
        self._generated()

    async def _say(self, text: str) -> None:
        self._monitor.start_timeout(self._id, "synthesizer", "first sound", self._limits.first_audio_s)
        async with aclosing(self._speak_fragment(text)) as sound:
            async for speech in sound:
                self._monitor.cancel_timeout(self._id, "synthesizer")
                self._stamp(self._id, "first_sound")
                self._post(SpeechReady(self._id, speech))
                await self._room()
                self._monitor.start_timeout(
                    self._id, "synthesizer", "further sound", self._limits.first_audio_s
                )
        self._monitor.cancel_timeout(self._id, "synthesizer")

    async def _show(self) -> None:
        while (fragment := await self._fragments.get()) is not None:
            self._post(FragmentReady(self._id, fragment))
        self._generated()

    def _generated(self) -> None:
        reason = self._last.finish_reason or "stop"
        self._post(ResponseGenerated(self._id, reason, self._last.usage or Usage(), self._last.opaque))


async def _together(*works: Coroutine[Any, Any, None]) -> None:
    """Run all until they finish or one fails: then cancel the others and raise its exception.

    A TaskGroup of Python 3.11 that is cancelled leaves a reference cycle, which would hold the call.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        del tasks, task
