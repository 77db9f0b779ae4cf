"""Conformance: behaviour of every recognizer."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pytest
import pytest_asyncio
from engine_traces import traces
from sounds import chunks, recognized
from speech_api import KEY, SpeechApi, serving
from streamed_speech import KEY as STREAM_KEY
from streamed_speech import Deepgram, Server, Vllm
from streamed_speech import serving as serving_stream

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis, Recognizer, RecognizerError
from audio.recognizers.deepgram import DeepgramRecognizer
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.recognizers.openai_transcription import OpenAITranscription
from audio.recognizers.pocketsphinx import PocketsphinxRecognizer
from audio.recognizers.streamed import StreamedRecognizer
from audio.recognizers.vllm_realtime import VllmRecognizer
from audio.recognizers.whisper import WhisperRecognizer
from audio.recognizers.whisper_model import LoadedModel
from voiceagent.engines.hosted import HostedRecognizer, hosted

SILENCE: Samples = np.zeros(1_600, np.int16)

Make = Callable[[], Recognizer]


@pytest.fixture(scope="module", params=["moonshine", "pocketsphinx", "whisper", "openai", "deepgram", "vllm"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    if request.param in ("deepgram", "vllm"):
        with serving_stream(Deepgram() if request.param == "deepgram" else Vllm()) as server:
            yield lambda: streamed(server)
        return
    if request.param != "openai":
        yield maker(request)
        return
    directory = str(request.getfixturevalue("whisper_directory"))
    model = LoadedModel(directory, "cpu", "default", ("en",), None, True, 1, 1)
    hears = SpeechApi(lambda sound: heard_by(model, sound))
    with serving(hears) as api, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield lambda: OpenAITranscription(base_url=api.base_url)


def streamed(server: Server) -> StreamedRecognizer:
    """The engine of a server that hears streams."""
    os.environ["STREAM_KEY"] = STREAM_KEY
    address = f"ws://{server.address}/v1"
    if isinstance(server, Deepgram):
        return DeepgramRecognizer(address, api_key_env="STREAM_KEY")
    return VllmRecognizer(address, api_key_env="STREAM_KEY", model="voxtral")


def heard_by(model: LoadedModel, sound: Samples) -> str:
    """Return the transcript of a recording by a Whisper server."""
    return " ".join(segment.text for segment in model.open()(sound, "", threading.Event()))


def maker(request: pytest.FixtureRequest) -> Make:
    if request.param == "pocketsphinx":
        model, dictionary = request.getfixturevalue("small_language")
        return lambda: hosted(PocketsphinxRecognizer, language_model=model, dictionary=dictionary)
    if request.param == "moonshine":
        return MoonshineRecognizer
    directory: Path = request.getfixturevalue("whisper_directory")
    return lambda: WhisperRecognizer(str(directory), device="cpu")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def recognizer(make: Make) -> AsyncIterator[Recognizer]:
    """One for the module: each test runs in an event loop of its own."""
    recognizer = make()
    await recognizer.start()
    yield recognizer
    await recognizer.close()


async def test_words_come_while_the_utterance_still_goes_on(recognizer: Recognizer, spoken: Samples) -> None:
    heard_one = asyncio.Event()

    async def sound() -> AsyncIterator[Samples | Flush]:
        async for chunk in chunks(spoken):
            yield chunk
        await heard_one.wait()

    async with aclosing(recognizer.recognize(sound())) as hypotheses:
        async for hypothesis in hypotheses:
            if not hypothesis.settled:
                assert hypothesis.text
                heard_one.set()
    assert hypothesis.settled


async def test_partial_hypotheses_differ_from_the_one_before(recognizer: Recognizer, spoken: Samples) -> None:
    hypotheses = await recognized(recognizer, chunks(spoken))
    for before, after in pairwise(hypotheses):
        assert after.settled or after != before


async def test_a_stable_part_begins_its_text(recognizer: Recognizer, spoken: Samples) -> None:
    hypotheses = await recognized(recognizer, chunks(spoken, Flush(), spoken, Flush(), spoken))
    assert all(hypothesis.text.startswith(hypothesis.stable) for hypothesis in hypotheses)
    assert any(hypothesis.stable for hypothesis in hypotheses)


async def test_every_flush_is_answered_once_and_the_end_is_settled_too(
    recognizer: Recognizer, spoken: Samples
) -> None:
    hypotheses = await recognized(recognizer, chunks(Flush(), spoken, Flush(), Flush(), spoken, Flush()))
    settled = [hypothesis for hypothesis in hypotheses if hypothesis.settled]
    assert len(settled) == 5
    assert settled[0].text == ""
    assert settled[1] == settled[2]
    assert hypotheses[-1].settled


async def test_a_flush_tells_the_words_of_all_sound_before_it(
    recognizer: Recognizer, spoken: Samples
) -> None:
    pause = np.tile(SILENCE, 2)
    *_, flushed, last = await recognized(recognizer, chunks(spoken, pause, Flush()))
    assert flushed.text
    assert flushed.text == last.text


async def test_no_sound_at_all_is_an_empty_utterance(recognizer: Recognizer) -> None:
    assert await recognized(recognizer, chunks()) == [Hypothesis("", "", settled=True)]


async def test_an_empty_chunk_changes_nothing(recognizer: Recognizer, spoken: Samples) -> None:
    with_empty = chunks(spoken[:16_000], spoken[:0], spoken[16_000:])
    assert (await recognized(recognizer, with_empty))[-1] == (await recognized(recognizer, chunks(spoken)))[
        -1
    ]


async def test_closing_in_the_middle_leaves_the_recognizer_as_it_was(
    recognizer: Recognizer, spoken: Samples
) -> None:
    [*_, alone] = await recognized(recognizer, chunks(spoken, length=16_000))
    async with aclosing(recognizer.recognize(chunks(spoken, spoken))) as hypotheses:
        await anext(hypotheses)
    [*_, after] = await recognized(recognizer, chunks(spoken, length=16_000))
    assert after.text == alone.text


async def test_closing_before_the_first_item_takes_no_sound(recognizer: Recognizer, spoken: Samples) -> None:
    taken = []

    async def sound() -> AsyncIterator[Samples | Flush]:
        taken.append(1)
        yield spoken

    await recognizer.recognize(sound()).aclose()
    assert not taken


async def test_closing_ends_the_wait_for_sound(recognizer: Recognizer) -> None:
    gone = asyncio.Event()

    async def sound() -> AsyncIterator[Samples | Flush]:
        yield Flush()
        try:
            await asyncio.Event().wait()  # a caller who says nothing more
        finally:
            gone.set()

    async with aclosing(recognizer.recognize(sound())) as hypotheses:
        await anext(hypotheses)
    assert gone.is_set()


async def test_two_utterances_at_once_do_not_mix(recognizer: Recognizer, spoken: Samples) -> None:
    sounds = [spoken, spoken[: len(spoken) // 2], spoken]
    alone = [(await recognized(recognizer, chunks(sound)))[-1].text for sound in sounds]
    together = await asyncio.gather(*(recognized(recognizer, chunks(sound)) for sound in sounds))
    assert [hypotheses[-1].text for hypotheses in together] == alone


async def test_what_the_sound_raises_reaches_the_consumer(recognizer: Recognizer) -> None:
    async def sound() -> AsyncIterator[Samples | Flush]:
        yield SILENCE
        raise ConnectionResetError("the caller hung up")

    with pytest.raises(ConnectionResetError, match="the caller hung up"):
        await recognized(recognizer, sound())


async def test_a_consumer_that_does_not_read_holds_back_the_sound(recognizer: Recognizer) -> None:
    taken = 0

    async def sound() -> AsyncIterator[Samples | Flush]:
        nonlocal taken
        while True:
            taken += 1
            yield SILENCE
            yield Flush()

    async with aclosing(recognizer.recognize(sound())) as hypotheses:
        await anext(hypotheses)
        before = 0
        while before < taken:  # until it stands still
            before = taken
            await asyncio.sleep(0.5)
        assert taken < 1_000


async def test_an_engine_slower_than_the_sound_holds_it_back(recognizer: Recognizer, spoken: Samples) -> None:
    taken = 0

    async def sound() -> AsyncIterator[Samples | Flush]:
        nonlocal taken
        async for chunk in chunks(*[spoken] * 1_000, length=1_600):  # over half an hour
            taken += len(chunk)
            yield chunk

    async with aclosing(recognizer.recognize(sound())) as hypotheses:
        await anext(hypotheses)
        assert taken < 40 * 16_000


async def test_a_recognizer_that_is_not_started_raises_its_own_error(make: Make, spoken: Samples) -> None:
    with pytest.raises(RecognizerError, match="not started"):
        await recognized(make(), chunks(spoken))


async def test_nothing_is_left_after_closing(make: Make, spoken: Samples) -> None:
    before = traces()
    recognizer = make()
    await recognizer.start()
    if not isinstance(recognizer, StreamedRecognizer):  # it has connections only
        assert traces() > before
    hypotheses = recognizer.recognize(chunks(spoken, spoken))
    await anext(hypotheses)
    await recognizer.close()
    await recognizer.close()
    with pytest.raises(RecognizerError):
        async for _ in hypotheses:
            pass
    assert traces() == before


async def test_a_killed_worker_fails_its_utterances_and_is_replaced(
    recognizer: Recognizer, spoken: Samples
) -> None:
    if not isinstance(recognizer, HostedRecognizer):
        pytest.skip("works in threads")
    hypotheses = recognizer.recognize(chunks(*[spoken] * 20))
    await anext(hypotheses)
    [worker] = recognizer.host.process_ids
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(RecognizerError, match="died"):
        async for _ in hypotheses:
            pass
    assert not psutil.pid_exists(worker)
    assert (await recognized(recognizer, chunks(spoken)))[-1].text
