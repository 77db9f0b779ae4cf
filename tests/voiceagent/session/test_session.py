"""The session carries commands out: real tasks and playout, engines of no cost, a client that records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import numpy as np
import pytest
from call_services import call_services
from call_settings import call_settings, turn_detection
from fake_client import FakeClient
from structlog.testing import capture_logs

from audio.pcm import AudioFormat, Samples
from audio.recognizers import Flush, Hypothesis, RecognizerError
from audio.synthesizers import Speech, SynthesizerError
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from llmcore.engine import Delta, LlmError, Request, ToolCall, Usage
from llmcore.policies.load_shedding import SheddingLevel
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd
from voiceagent.conversation.history import MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import InputOverflow
from voiceagent.session.services import Services
from voiceagent.session.session import Session

MANUAL = call_settings(turn_detection=None)
SILENCE = np.zeros(480, np.int16)
AGENT = AgentConfig(apology="Sorry.")


class Engine:
    """Base of every engine here."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class Ears(Engine):
    """Understands "hello"; `failure` breaks it at the first flush."""

    def __init__(self, failure: str = "") -> None:
        self.failure = failure
        self.heard_samples = 0

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if not isinstance(item, Flush):
                self.heard_samples += len(item)
            elif self.failure:
                raise RecognizerError(self.failure)
            else:
                yield Hypothesis("hello", settled=True)


class Brain(Engine):
    """Says two sentences, the second only once `more` is set; `failure` breaks it after the first."""

    def __init__(self, failure: str = "", hang: bool = False) -> None:
        self.failure = failure
        self.more = asyncio.Event()
        if not hang:
            self.more.set()
        self.running = 0

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.running += 1
        try:
            yield Delta("Hello there, my friend. ")
            await self.more.wait()
            if self.failure:
                raise LlmError(self.failure)
            yield Delta("Goodbye now.")
            yield Delta(finish_reason="stop", usage=Usage(3, 0, 2))
        finally:
            self.running -= 1

    async def prefill(self, request: Request) -> None: ...


class Queued(Brain):
    """A queue of requests. hurried: those that were moved to the front."""

    def __init__(self) -> None:
        super().__init__(hang=True)
        self.hurried: list[str] = []
        self.asked = asyncio.Event()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.asked.set()
        await self.more.wait()
        async with aclosing(super().generate(request)) as deltas:
            async for delta in deltas:
                yield delta

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        self.hurried.append(caller)


class Knowing(Brain):
    """Reports that its caller's message is complete. asked: the words of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: asyncio.Queue[str] = asyncio.Queue()

    async def prefill(self, request: Request) -> Usage | None:
        if not request.asks_end:
            return None
        self.asked.put_nowait(request.messages[-1].content)
        return Usage(end_log_probability=-0.01)


class Mouth(Engine):
    """Speaks each text as 0.2 s of sound; `failure` breaks it after the apology was made."""

    rate_hz = 24_000

    def __init__(self, failure: str = "", seconds: float = 0.2) -> None:
        self.failure = failure
        self.seconds = seconds
        self.spoken: list[str] = []

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        if self.failure and len(self.spoken) >= 2:  # apology and filler are made at start
            raise SynthesizerError(self.failure)
        self.spoken.append(text)
        yield Speech(np.full(round(self.seconds * self.rate_hz), 1000, np.int16))


class Adjustable(Mouth):
    """Takes a voice and a speed for each text. asked: those of responses, without the set phrases."""

    takes_speed = True
    known_voices = KnownVoices(("anna", "ben"))

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[VoiceSettings] = []

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        if text.strip() not in (AGENT.apology, AGENT.refusal, AGENT.filler):
            self.asked.append(settings)
        async for speech in super().speak(text):
            yield speech


class Call:
    """A session with its client and engines."""

    def __init__(self, services: Services, settings: CallSettings) -> None:
        self.client = FakeClient()
        self.services = services
        self.session = Session("call_1", services, settings, self.client)

    async def turn(self) -> None:
        """The caller says hello and the turn ends."""
        self.session.post(ev.SpeechStarted(0.0))
        self.session.post(ev.SpeechPaused(0.1))
        await asyncio.sleep(0)
        self.session.post(ev.TurnEnded(0.1))

    async def ended(self) -> notify.NotifyResponseEnded:
        """Wait for the end of the response."""
        await self.client.until(lambda: self.client.of(notify.NotifyResponseEnded))
        return self.client.of(notify.NotifyResponseEnded)[-1]


@pytest.fixture
async def call():
    """Makes calls over given engines, and closes them."""
    made: list[Call] = []

    async def make(
        ears: Ears | None = None,
        brain: Brain | None = None,
        mouth: Mouth | None = None,
        settings: CallSettings | None = None,
        llm_end: LlmEnd | None = None,
        **of_hearing: float,
    ) -> Call:
        services = await call_services(
            ears or Ears(), brain or Brain(), mouth or Mouth(), agent=AGENT, **of_hearing
        )
        answering = services.answering
        policy = replace(answering.policy, llm_end=llm_end)
        services = replace(services, answering=replace(answering, policy=policy))
        made.append(Call(services, settings or call_settings()))
        return made[-1]

    yield make
    for one in made:
        await one.session.close("test over")


async def test_a_turn_is_answered_with_sound(call):
    one = await call()
    await one.turn()
    assert (await one.ended()).status == "completed"
    texts = [notification.text for notification in one.client.of(notify.NotifyResponseText)]
    assert "".join(texts) == "Hello there, my friend. Goodbye now."
    sound = np.concatenate([frame for _, frame in one.client.frames])
    assert len(sound) == pytest.approx(0.2 * len(texts) * 24_000, abs=480)
    assert np.count_nonzero(sound) > 0.95 * len(sound)


async def test_what_the_llm_says_of_the_end_is_among_the_witnesses_that_are_told(call):
    brain, end = Knowing(), LlmEnd(scale=1.0, offset=0.0, weight=1.0)
    semantic = call_settings(turn_detection=turn_detection(kind="semantic_vad"), latency_events=True)
    one = await call(brain=brain, settings=semantic, llm_end=end)
    one.session.post(ev.SpeechStarted(0.0))
    one.session.post(ev.SpeechPaused(0.1))
    assert await brain.asked.get() == "hello"
    await asyncio.sleep(0)
    one.session.post(ev.TurnEnded(0.1))
    await one.ended()
    assert dict(one.client.reports[0].end_of_turn.witnesses)["llm"] == end.nats(-0.01)


async def test_every_frame_is_20_ms_at_the_rate_of_the_output_format(call):
    one = await call()
    await one.turn()
    await one.ended()
    assert {len(frame) for _, frame in one.client.frames} == {480}


async def test_the_stages_of_a_turn_are_reported_to_a_client_that_asks(call):
    one = await call(settings=call_settings(latency_events=True))
    await one.turn()
    await one.ended()
    (report,) = one.client.reports
    assert report.outcome == "completed"
    assert [stage.name for stage in report.stages] == [
        "endpointing", "recognition", "request", "llm_ttft", "fragmenting", "synthesis", "playout",
    ]  # fmt: skip
    assert report.counts.preemptive_hits == 1


async def test_of_a_response_that_the_call_ends_in_the_words_heard_so_far_are_kept(call):
    one = await call(brain=Brain(hang=True), mouth=Mouth(seconds=5.0))
    await one.turn()
    await one.client.until(lambda: one.client.frames)
    await one.session.close("the caller hung up")
    item = one.session.items[-1]
    assert (item.role, item.text, item.status) == ("assistant", "", "incomplete")


def turns_counted(one: Call) -> dict[str, float]:
    """Return the number of turns by outcome."""
    registry = one.services.measuring.metrics.registry
    samples = [sample for family in registry.collect() for sample in family.samples]
    return {s.labels["outcome"]: s.value for s in samples if s.name == "voiceagent_turns_total"}


async def test_the_answer_that_the_caller_hangs_up_in_counts_as_one_that_he_left(call):
    one = await call(mouth=Mouth(seconds=5.0), settings=call_settings(latency_events=True))
    await one.turn()
    await one.client.until(lambda: one.client.frames)
    await one.session.close("the caller hung up")
    assert turns_counted(one) == {"hung_up": 1}
    assert one.client.reports == []


async def test_who_hangs_up_before_the_first_sound_heard_nothing(call):
    one = await call(brain=Queued())
    await one.turn()
    await one.client.until(lambda: one.client.of(notify.NotifyResponseStarted))
    await one.session.close("the caller hung up")
    assert turns_counted(one) == {"hung_up_unheard": 1}


async def test_an_answer_that_had_ended_when_the_caller_hung_up_counts_once(call):
    one = await call()
    await one.turn()
    await one.ended()
    await one.session.close("the caller hung up")
    assert turns_counted(one) == {"completed": 1}


async def test_who_goes_on_before_the_answer_has_a_sound_hears_the_one_to_all_he_said(call):
    brain = Queued()
    one = await call(brain=brain)
    await one.turn()
    await brain.asked.wait()
    one.session.post(ev.SpeechStarted(0.3))  # what is played is held for it, whatever that will be
    one.session.post(ev.InterruptionCandidate(0.4))
    one.session.post(ev.SpeechPaused(0.5))
    assert (await one.ended()).status == "cancelled"
    one.session.post(ev.TurnEnded(0.5))
    brain.more.set()
    await one.client.until(lambda: one.client.frames)


async def test_an_interruption_closes_the_llm_and_stops_the_sound(call):
    brain = Brain(hang=True)
    one = await call(brain=brain, mouth=Mouth(seconds=5.0))
    await one.turn()
    await one.client.until(lambda: one.client.frames)
    one.session.post(ev.SpeechStarted(1.0))
    one.session.post(ev.InterruptionConfirmed(1.0))
    frames = len(one.client.frames)
    assert (await one.ended()).reason == "turn_detected"
    await asyncio.sleep(0.1)
    assert len(one.client.frames) == frames
    assert brain.running == 0
    assert one.client.cleared == 1


async def test_an_interruption_of_a_call_has_a_yield_latency(call):
    one = await call(brain=Brain(hang=True), mouth=Mouth(seconds=5.0))
    await one.turn()
    await one.client.until(lambda: one.client.frames)
    one.session.post(ev.SpeechStarted(1.0))
    one.session.post(ev.InterruptionConfirmed(1.0))
    assert (await one.ended()).reason == "turn_detected"
    registry = one.services.measuring.metrics.registry
    assert registry.get_sample_value("voiceagent_yield_seconds_count") == 1


@pytest.mark.parametrize(
    ("engines", "reason"),
    [
        ({"brain": Brain}, "llm: it broke"),
        ({"mouth": Mouth}, "synthesizer: it broke"),
        ({"ears": Ears}, "recognizer: it broke"),
    ],
)
async def test_a_stage_that_fails_is_apologised_for(call, engines, reason):
    one = await call(**{name: make("it broke") for name, make in engines.items()})
    await one.turn()
    end = await one.ended()
    assert (end.status, end.reason) == ("failed", reason)
    assert one.client.of(notify.NotifyResponseText)[-1].text.strip() == "Sorry."
    assert one.client.frames


async def test_closing_a_call_stops_its_work(call):
    brain = Brain(hang=True)
    one = await call(brain=brain)
    await one.turn()
    await one.client.until(lambda: one.client.frames)
    await one.session.close("the client hung up")
    assert brain.running == 0
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith(("response", "recognize"))]
    one.session.post(ev.SpeechStarted(9.0))
    assert not one.client.of(notify.NotifySpeechStarted)[1:]


async def test_sound_faster_than_real_time_is_taken_up_to_the_buffer(call):
    one = await call(settings=MANUAL, input_buffer_s=1.0)
    for _ in range(45):
        one.session.hear(SILENCE)
    with pytest.raises(InputOverflow, match=r"at most 1\.0 s"):
        for _ in range(10):
            one.session.hear(SILENCE)


async def test_silence_that_stands_in_for_late_sound_leaves_room_for_the_sound(call):
    one = await call(settings=MANUAL, input_buffer_s=1.0)
    for _ in range(200):
        one.session.hear(SILENCE, filler=True)
    for _ in range(45):
        one.session.hear(SILENCE)


async def test_concealment_of_lost_packets_leaves_room_for_late_sound(call):
    one = await call(settings=MANUAL, input_buffer_s=40.0)
    for _ in range(4_000):  # 80 s, more than may wait for voice detection
        one.session.hear(SILENCE, filler=True)
    for _ in range(2_000):
        one.session.hear(SILENCE)


async def test_a_manual_turn_hears_all_that_was_appended(call):
    ears = Ears()
    one = await call(ears=ears, settings=MANUAL)
    for _ in range(10):
        one.session.hear(SILENCE)
    one.session.handle(ev.InputCommitted())
    one.session.handle(ev.ResponseRequested())
    assert (await one.ended()).status == "completed"
    assert ears.heard_samples == pytest.approx(0.2 * 16_000, abs=64)


async def test_an_item_with_sound_is_recognized_and_answered(call):
    ears = Ears()
    one = await call(ears=ears, settings=MANUAL)
    item = MessageItem("item_s", "user", "", spoken=True)
    one.session.handle(ev.ItemCreated(item, sound=np.zeros(16_000, np.int16)))
    one.session.handle(ev.ResponseRequested())
    assert (await one.ended()).status == "completed"
    assert ears.heard_samples == 16_000
    assert one.client.of(notify.NotifyTranscript)[-1].text == "hello"


async def test_sound_in_items_is_bounded_and_what_is_too_much_makes_no_item(call):
    one = await call(settings=MANUAL)
    item = MessageItem("item_s", "user", "", spoken=True)
    with pytest.raises(InputOverflow):
        one.session.handle(ev.ItemCreated(item, sound=np.zeros(100 * 16_000, np.int16)))
    assert not one.session.items


async def test_a_speed_that_no_voice_has_is_said_once_a_call(call):
    one = await call()
    with capture_logs() as logged:
        for speed in (1.0, 1.2, 1.5):
            one.session.handle(ev.SettingsChanged(replace(call_settings(), speed=speed)))
    assert [line["event"] for line in logged] == ["speed_not_supported"]


@pytest.mark.parametrize("from_the_start", [True, False])
async def test_the_session_s_speed_and_voice_are_those_of_its_responses(call, from_the_start):
    mouth, changed = Adjustable(), replace(call_settings(), speed=1.25, voice="ben")
    one = await call(mouth=mouth, settings=changed if from_the_start else None)
    with capture_logs() as logged:
        if not from_the_start:
            one.session.handle(ev.SettingsChanged(changed))
        await one.turn()
        await one.ended()
    assert set(mouth.asked) == {VoiceSettings("ben", 1.25)}
    assert not {"speed_not_supported", "voice_not_available"} & {line["event"] for line in logged}


async def test_unknown_voice_of_a_client_leaves_the_agents_and_is_logged_once(call):
    mouth = Adjustable()
    one = await call(mouth=mouth)
    one.session.handle(ev.AgentChanged("Ben", (), "You are Ben.", "ben"))
    with capture_logs() as logged:
        for _ in range(2):
            one.session.handle(ev.SettingsChanged(replace(one.session.settings, voice="marin")))
            one.session.handle(ev.SettingsChanged(replace(one.session.settings, voice="ben")))
        one.session.handle(ev.SettingsChanged(replace(one.session.settings, voice="marin")))
        await one.turn()
        await one.ended()
    assert set(mouth.asked) == {VoiceSettings("ben")}
    [line] = [line for line in logged if line["event"] == "voice_not_available"]
    assert (line["voice"], line["instead"]) == ("marin", "ben")


async def test_voice_of_one_response_leaves_the_calls_for_the_next(call):
    mouth = Adjustable()
    one = await call(mouth=mouth, settings=replace(MANUAL, voice="anna", speed=1.25))
    for voice in ("ben", "marin", None):
        ended = len(one.client.of(notify.NotifyResponseEnded))
        one.session.handle(ev.ResponseRequested(voice=voice))
        await one.client.until(lambda ended=ended: len(one.client.of(notify.NotifyResponseEnded)) > ended)
    names = list(dict.fromkeys(mouth.asked))
    assert names == [VoiceSettings("ben", 1.25), VoiceSettings("anna", 1.25)]


async def test_handover_to_an_agent_with_another_voice_changes_it(call):
    mouth = Adjustable()
    one = await call(mouth=mouth, settings=replace(call_settings(), voice="anna"))
    one.session.handle(ev.AgentChanged("Ben", (), "You are Ben.", "ben"))
    await one.turn()
    await one.ended()
    assert set(mouth.asked) == {VoiceSettings("ben")}


async def test_set_phrases_have_the_voice_of_the_call(call):
    mouth = Adjustable()
    one = await call(mouth=mouth)
    ben, speaking = VoiceSettings("ben"), one.services.speaking
    one.session.handle(ev.SettingsChanged(replace(call_settings(), voice="ben")))
    for _ in range(20):  # the phrases are made in a task
        await asyncio.sleep(0)
    assert speaking.voiced.find(speaking.apology, ben) is not speaking.apology
    assert mouth.spoken.count(speaking.apology.fragment.spoken) == 2
    assert speaking.voiced.find(speaking.apology, VoiceSettings("anna")) is speaking.apology


async def test_a_new_output_rate_holds_from_the_next_response_on(call):
    one = await call()
    one.session.handle(ev.SettingsChanged(replace(call_settings(), output_format=AudioFormat.PCMU)))
    await one.turn()
    await one.ended()
    assert {len(frame) for _, frame in one.client.frames} == {160}


async def test_a_prompt_that_does_not_continue_the_last_is_counted(call):
    one = await call(settings=replace(MANUAL, output_modality="text", instructions="It is ten o'clock."))
    partings = one.services.measuring.metrics.registry.get_sample_value
    for instructions in ("It is ten o'clock.", "It is eleven o'clock."):
        one.session.handle(ev.SettingsChanged(replace(one.session.settings, instructions=instructions)))
        for _ in range(2):
            ended = len(one.client.of(notify.NotifyResponseEnded))
            one.session.handle(ev.ResponseRequested())
            await one.client.until(lambda ended=ended: len(one.client.of(notify.NotifyResponseEnded)) > ended)
    assert partings("voiceagent_llm_prompt_partings_total", {"part": "instructions"}) == 1


async def test_a_response_with_a_prompt_of_its_own_is_compared_with_nothing(call):
    one = await call(settings=replace(MANUAL, output_modality="text", instructions="It is ten o'clock."))
    for request in (ev.ResponseRequested(), ev.ResponseRequested(instructions="Say goodbye.")):
        ended = len(one.client.of(notify.NotifyResponseEnded))
        one.session.handle(request)
        await one.client.until(lambda ended=ended: len(one.client.of(notify.NotifyResponseEnded)) > ended)
    partings = one.services.measuring.metrics.registry.get_sample_value
    assert partings("voiceagent_llm_prompt_partings_total", {"part": "instructions"}) is None


async def test_an_answer_that_is_waited_for_goes_before_others_in_the_llm(call):
    brain = Queued()
    one = await call(brain=brain)
    one.session.post(ev.SpeechStarted(0.0))
    one.session.post(ev.SpeechPaused(0.1))
    await asyncio.wait_for(brain.asked.wait(), 20.0)
    one.session.post(ev.TurnDue(0.1))
    assert brain.hurried == ["call_1"]
    one.session.post(ev.TurnEnded(0.1))
    assert brain.hurried == ["call_1", "call_1"]
    brain.more.set()
    await one.ended()


@pytest.mark.parametrize(
    ("level", "preemptive"), [(SheddingLevel.SHORT_FRAGMENTS, 1), (SheddingLevel.NO_PREEMPTIVE, 0)]
)
async def test_under_more_pressure_no_preemptive_response_is_made(call, level, preemptive):
    one = await call(settings=call_settings(latency_events=True))
    one.services.shedder.level = level
    await one.turn()
    await one.ended()
    assert one.client.reports[0].counts.preemptive_attempts == preemptive


async def test_a_late_answer_is_filled_whatever_ends_beside_it(call):
    brain, mouth = Queued(), Mouth()
    one = await call(brain=brain, mouth=mouth)
    one.services.shedder.level = SheddingLevel.FILLER_AT_ONCE
    await one.turn()
    await asyncio.wait_for(brain.asked.wait(), 20.0)
    one.session.handle(ev.ResponseRequested(in_conversation=False, modality="text"))
    out_of_band = one.client.of(notify.NotifyResponseStarted)[-1]
    assert out_of_band.out_of_band
    one.session.handle(ev.ResponseCancelled(out_of_band.response_id))
    await one.client.until(lambda: one.client.of(notify.NotifyResponseText))
    assert one.client.of(notify.NotifyResponseText)[0].text == one.services.speaking.filler.fragment.text
    brain.more.set()
    await one.client.until(lambda: len(one.client.of(notify.NotifyResponseEnded)) == 2)
    await one.session.close("test over")
    answer = one.session.items[-1]
    assert isinstance(answer, MessageItem)
    assert answer.filler == one.services.speaking.filler.fragment.text.strip()
    assert answer.text.startswith(answer.filler)
    assert answer.filler not in answer.prompt_text


async def test_filler_comes_as_early_as_the_settings_demand(call, monkeypatch):
    monkeypatch.setattr(AgentConfig, "filler_after_s", 600.0)
    one = await call(brain=Queued(), settings=call_settings(filler_by_s=0.5))
    await one.turn()
    await one.client.until(lambda: one.client.of(notify.NotifyResponseText))
    assert one.client.of(notify.NotifyResponseText)[0].text == one.services.speaking.filler.fragment.text


async def test_a_text_call_is_shown_not_spoken(call):
    one = await call(settings=call_settings(output_modality="text"))
    await one.turn()
    assert (await one.ended()).status == "completed"
    assert (
        "".join(n.text for n in one.client.of(notify.NotifyResponseText))
        == "Hello there, my friend. Goodbye now."
    )
    assert not one.client.frames


async def test_output_of_an_unknown_function_call_is_refused(call):
    one = await call(settings=MANUAL)
    one.session.handle(ev.ItemCreated(ToolOutputItem("output", "nobodys", "42"), client_event_id="event_1"))
    (error,) = one.client.of(notify.NotifyError)
    assert (error.code, error.param) == ("invalid_tool_call_id", "item.call_id")
    assert error.client_event_id == "event_1"
    assert "nobodys" in error.message
    assert not one.session.items


async def test_output_of_a_function_call_that_the_client_added_is_taken(call):
    one = await call(settings=MANUAL)
    one.session.handle(ev.ItemCreated(ToolCallItem("call", ToolCall("theirs", "weather", "{}"))))
    one.session.handle(ev.ItemCreated(ToolOutputItem("output", "theirs", "sunny")))
    assert [item.item_id for item in one.session.items] == ["call", "output"]
