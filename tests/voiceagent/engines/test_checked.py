"""Engines of one's own: what they may leave out, and what is said of what comes out wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from audio.synthesizers import speak_with
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.checked import WrongEngine, checked_class
from voiceagent.engines.own import (
    Delta,
    Flush,
    Hypothesis,
    KnownVoices,
    LlmError,
    RecognizerError,
    Request,
    Samples,
    Speech,
    SynthesizerError,
    Usage,
    VoiceSettings,
)

NAME = "mine:Engine"


def made(stage: Stage, **members: Any) -> Any:
    """An engine of a class with these members, held to its contract."""
    return checked_class(stage, type("Engine", (), members), NAME)()


def yielding(*items: object) -> Any:
    async def method(self: Any, given: object) -> AsyncIterator[object]:
        for item in items:
            yield item

    return method


async def all_of(stream: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in stream]


async def sound(*pieces: Samples | Flush) -> AsyncIterator[Samples | Flush]:
    for piece in pieces:
        yield piece


async def spoken(samples: object, rate_hz: object = 16_000) -> Samples:
    engine = made("synthesizer", rate_hz=rate_hz, speak=yielding(Speech(samples)))  # type: ignore[arg-type]
    await engine.start()
    (speech,) = await all_of(engine.speak("hello"))
    return speech.samples  # type: ignore[no-any-return]


async def test_start_close_and_prefill_may_be_left_out() -> None:
    engine = made("llm", generate=yielding(Delta("hello")))
    await engine.start()
    assert await engine.prefill(Request(())) is None
    assert await all_of(engine.generate(Request(()))) == [
        Delta("hello"),
        Delta(finish_reason="stop", usage=Usage()),
    ]
    await engine.close()


async def test_a_reason_and_usage_of_its_own_stay() -> None:
    last = Delta(finish_reason="length", usage=Usage(3, 0, 2))
    engine = made("llm", generate=yielding(Delta("hello"), last))
    assert (await all_of(engine.generate(Request(()))))[-1] is last


async def test_what_else_an_engine_can_do_is_still_there() -> None:
    engine = made("llm", generate=yielding(), load=lambda self: "busy")
    assert engine.load() == "busy"


@given(arrays(np.float32, st.integers(0, 50), elements=st.floats(-1, 1, width=32)))
async def test_floats_are_played_as_loud_as_they_are(samples: np.ndarray[Any, Any]) -> None:
    played = await spoken(samples)
    assert played.dtype == np.int16
    assert np.all(np.abs(played / 32_767 - samples) <= 0.51 / 32_767)


async def test_int16_stays_as_it_is() -> None:
    samples = np.array([1, -2, 3], np.int16)
    assert await spoken(samples) is samples


@pytest.mark.parametrize(
    ("samples", "came"),
    [
        (
            np.array([0.5, 12_000.0]),
            r"an array \[2\] of float64 up to 12000; wanted: one channel",
        ),
        (np.array([np.nan]), "float64 up to nan"),
        (np.zeros((2, 4), np.int16), r"an array \[2, 4\] of int16"),
        (np.zeros(4, np.int32), "of int32"),
        (b"\0\0", "audio as bytes"),
    ],
)
async def test_other_sound_is_refused_with_what_came_and_what_is_wanted(samples: object, came: str) -> None:
    with pytest.raises(SynthesizerError, match=came):
        await spoken(samples)


@pytest.mark.parametrize("rate_hz", [None, 16_000.0, 0, 96_000])
async def test_a_rate_that_cannot_be_is_told_at_the_start(rate_hz: object) -> None:
    with pytest.raises(SynthesizerError, match=f"mine:Engine: rate_hz is {rate_hz}; wanted"):
        await spoken(np.zeros(1, np.int16), rate_hz)


async def test_what_is_no_speech_delta_or_hypothesis_is_refused() -> None:
    with pytest.raises(SynthesizerError, match=r"yielded an array .* wanted: a Speech"):
        await all_of(made("synthesizer", speak=yielding(np.zeros(1, np.int16))).speak("hello"))
    with pytest.raises(LlmError, match="mine:Engine yielded str 'hello'; wanted: a Delta"):
        await all_of(made("llm", generate=yielding("hello")).generate(Request(())))
    with pytest.raises(RecognizerError, match="yielded str 'hello'; wanted: a Hypothesis"):
        await all_of(made("recognizer", recognize=yielding("hello")).recognize(sound()))


@pytest.mark.parametrize("items", [(), (Hypothesis("hello"),)])
async def test_an_utterance_needs_a_settled_end(items: tuple[Hypothesis, ...]) -> None:
    with pytest.raises(RecognizerError, match="no Hypothesis with settled=True at the end of the audio"):
        await all_of(made("recognizer", recognize=yielding(*items)).recognize(sound()))


async def coroutine(self: Any, given: object) -> str:
    return "hello"


@pytest.mark.parametrize(
    ("stage", "members", "told"),
    [
        ("llm", {}, r"mine:Engine has no generate\(\)"),
        ("synthesizer", {"speak": coroutine}, "speak is a coroutine; wanted: an async generator"),
        (
            "llm",
            {"generate": yielding(), "start": lambda self: None},
            "start is no coroutine",
        ),
    ],
)
def test_a_class_of_the_wrong_shape_is_no_engine(stage: Stage, members: dict[str, Any], told: str) -> None:
    with pytest.raises(WrongEngine, match=told):
        made(stage, **members)


@pytest.mark.parametrize(
    ("stage", "method", "failure"),
    [
        ("recognizer", "recognize", RecognizerError),
        ("llm", "generate", LlmError),
        ("synthesizer", "speak", SynthesizerError),
    ],
)
async def test_what_its_code_raises_is_an_error_of_its_kind_with_the_line(
    stage: Stage, method: str, failure: type[Exception]
) -> None:
    async def broken(self: Any, given: object) -> AsyncIterator[object]:
        raise KeyError("a key")
        yield

    broken.__name__ = method
    engine = made(stage, **{method: broken}, __module__=__name__)
    told = rf"mine:Engine.{method}\(\) raised KeyError: 'a key'; at test_checked.py:\d+$"
    with pytest.raises(failure, match=told):
        await all_of(getattr(engine, method)(Request(())))


async def test_a_method_that_gives_no_stream_is_told() -> None:
    engine = made("synthesizer", speak=lambda self, text: [Speech(np.zeros(4, np.int16))])
    with pytest.raises(SynthesizerError, match=r"\(\) gave list; wanted: an async generator"):
        await all_of(engine.speak("hello"))


async def test_engine_with_voices_gets_the_settings_of_each_text() -> None:
    async def speak(self: Any, text: str, settings: VoiceSettings) -> AsyncIterator[Speech]:
        yield Speech(np.full(round(100 / settings.speed), ord(settings.voice), np.int16))

    members = {"rate_hz": 16_000, "takes_speed": True, "known_voices": KnownVoices(("a", "b"))}
    engine = made("synthesizer", speak=speak, **members)
    settings = (VoiceSettings("a"), VoiceSettings("b", 2.0))
    spoken = [await all_of(speak_with(engine, "hi", each)) for each in settings]
    assert [(len(one.samples), chr(one.samples[0])) for [one] in spoken] == [(100, "a"), (50, "b")]


async def test_engine_of_one_voice_gets_no_settings() -> None:
    engine = made("synthesizer", rate_hz=16_000, speak=yielding(Speech(np.zeros(1, np.int16))))
    assert await all_of(speak_with(engine, "hi", VoiceSettings("marin", 1.5)))
