"""Voices of ElevenLabs and Cartesia."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import numpy as np
import pytest
from speaking import at_work, length_s, spoken
from streamed_speech import KEY, Cartesia, ElevenLabs, Server, serving

from audio.synthesizers import Synthesizer, SynthesizerError
from audio.synthesizers.cartesia import CartesiaSynthesizer
from audio.synthesizers.elevenlabs import ElevenLabsSynthesizer
from audio.synthesizers.voices import VoiceSettings

TEXT = "Breakfast starts early. Lunch and supper come later, dear guest!"


@pytest.fixture(params=[ElevenLabs, Cartesia])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SPEECH_KEY", KEY)
    with serving(request.param()) as server:
        yield server


def made(server: Server, **options: Any) -> CartesiaSynthesizer | ElevenLabsSynthesizer:
    options = {"api_key_env": "SPEECH_KEY"} | options
    if isinstance(server, Cartesia):
        return CartesiaSynthesizer(f"ws://{server.address}", **options)
    return ElevenLabsSynthesizer(f"http://{server.address}/v1", **options)


@pytest.mark.parametrize("rate_hz", [16_000, 24_000])
async def test_a_text_is_spoken_in_pieces_at_the_rate_that_was_asked_for(
    server: Server, rate_hz: int
) -> None:
    async with at_work(made(server, rate_hz=rate_hz)) as synthesizer:
        speeches = await spoken(synthesizer, TEXT)
    assert len(speeches) > 1
    assert all(speech.samples.dtype == np.int16 and len(speech.samples) for speech in speeches)
    assert length_s(synthesizer, speeches) == pytest.approx(0.05 * len(TEXT), abs=0.01)


async def test_every_word_is_timed_once_where_it_begins(server: Server) -> None:
    async with at_work(made(server)) as synthesizer:
        words = [word for speech in await spoken(synthesizer, TEXT) for word in speech.words]
    starts = [TEXT.index(word) for word in TEXT.split()]
    assert [word.character for word in words] == starts
    assert [word.at_samples for word in words] == [round(0.05 * start * 24_000) for start in starts]


def other_voice(server: Server) -> str:
    return "5ee9feff-1265-424a-9d7f-8e4d431a12c7" if isinstance(server, Cartesia) else "EXAVITQu4vr4xnSDxMaL"


def asked(server: Server) -> list[tuple[str, float | None]]:
    """Return the voice and speed of each request, None for no speed."""
    if isinstance(server, Cartesia):
        requests = [item for connection in server.connections for item in connection if "transcript" in item]
        return [(item["voice"]["id"], item.get("generation_config", {}).get("speed")) for item in requests]
    return [(voice, body.get("voice_settings", {}).get("speed")) for voice, _, body in server.connections]


async def test_each_text_has_its_voice_and_speed(server: Server) -> None:
    other = other_voice(server)
    async with at_work(made(server, voice="the usual", voices={"marin": other})) as synthesizer:
        for settings in (
            *(VoiceSettings(), VoiceSettings(other, 1.1), VoiceSettings("marin")),
            *(VoiceSettings("alloy"), VoiceSettings(speed=0.25), VoiceSettings(speed=1.5)),
        ):
            await spoken(synthesizer, "Hello.", settings)
    slowest, fastest = (0.6, 1.5) if isinstance(server, Cartesia) else (0.7, 1.2)
    assert asked(server) == [
        *(("the usual", None), (other, 1.1), (other, None)),
        *(("the usual", None), ("the usual", slowest), ("the usual", fastest)),
    ]


@pytest.mark.parametrize("text", ["", "  \n", "..."])
async def test_a_text_without_words_asks_for_nothing(server: Server, text: str) -> None:
    async with at_work(made(server)) as synthesizer:
        assert await spoken(synthesizer, text) == []
    assert not [item for connection in server.connections for item in connection]


async def test_texts_at_once_do_not_mix(server: Server) -> None:
    texts = [TEXT, "Good evening.", "Stay with us."]
    async with at_work(made(server)) as synthesizer:
        together = await asyncio.gather(*(spoken(synthesizer, text) for text in texts))
    for text, speeches in zip(texts, together, strict=True):
        assert length_s(synthesizer, speeches) == pytest.approx(0.05 * len(text), abs=0.01)


async def test_a_busy_server_is_asked_again(server: Server) -> None:
    async with at_work(made(server)) as synthesizer:
        server.trouble.lost_after = [1]
        if isinstance(server, Cartesia):
            await lose_connection(synthesizer)
        server.trouble.refusals = [(503, "no room")]
        server.trouble.lost_after = []
        assert await spoken(synthesizer, TEXT)


async def lose_connection(synthesizer: Synthesizer) -> None:
    """As when it was idle for too long."""
    assert isinstance(synthesizer, CartesiaSynthesizer)
    line = await synthesizer._shared_connection()
    await line.close()


async def test_what_stays_refused_is_an_error_with_its_words(server: Server) -> None:
    synthesizer = made(server, retries=0)
    if isinstance(server, ElevenLabs):
        await synthesizer.start()
    server.trouble.refusals = [(503, "no room today")]
    with pytest.raises(SynthesizerError, match=r"503: .*no room today"):
        await (spoken(synthesizer, TEXT) if isinstance(server, ElevenLabs) else synthesizer.start())
    await synthesizer.close()


async def test_a_wrong_key_is_told_and_not_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEECH_KEY", "a-wrong-key")
    synthesizer = made(server)
    with pytest.raises(SynthesizerError, match="401: ") as told:
        await synthesizer.start()
        await spoken(synthesizer, TEXT)
    assert "a-wrong-key" not in str(told.value)
    await synthesizer.close()


async def test_a_key_that_is_not_set_is_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPEECH_KEY")
    with pytest.raises(SynthesizerError, match="SPEECH_KEY"):
        await made(server).start()


async def test_without_start_it_says_so(server: Server) -> None:
    with pytest.raises(SynthesizerError, match="not started"):
        await spoken(made(server), TEXT)


async def test_closing_in_the_middle_leaves_the_voice_free(server: Server) -> None:
    async with at_work(made(server)) as synthesizer:
        async with aclosing(synthesizer.speak(TEXT * 20)) as speeches:
            await anext(speeches)
        assert await spoken(synthesizer, TEXT)


@pytest.fixture
def cartesia(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cartesia]:
    monkeypatch.setenv("SPEECH_KEY", KEY)
    server = Cartesia()
    with serving(server):
        yield server


async def test_cartesia_is_told_to_cancel_what_nobody_wants(cartesia: Cartesia) -> None:
    async with at_work(made(cartesia)) as synthesizer:
        async with aclosing(synthesizer.speak(TEXT * 20)) as speeches:
            await anext(speeches)
        await spoken(synthesizer, TEXT)
    first, *others = cartesia.connections[0]
    assert {"context_id": first["context_id"], "cancel": True} in others


async def test_cartesia_has_one_connection_until_it_is_lost(cartesia: Cartesia) -> None:
    async with at_work(made(cartesia)) as synthesizer:
        await spoken(synthesizer, TEXT)
        await spoken(synthesizer, TEXT)
        assert len(cartesia.connections) == 1
        await lose_connection(synthesizer)
        assert await spoken(synthesizer, TEXT)
    assert len(cartesia.connections) == 2


async def test_cartesias_connection_that_is_lost_before_any_sound_costs_no_text(cartesia: Cartesia) -> None:
    cartesia.trouble.lost_after = [1]
    async with at_work(made(cartesia)) as synthesizer:
        assert await spoken(synthesizer, TEXT)


async def test_cartesias_error_is_told(cartesia: Cartesia) -> None:
    async with at_work(made(cartesia, model="sonic-0")) as synthesizer:
        with pytest.raises(SynthesizerError, match="404: Invalid model no sonic-0"):
            await spoken(synthesizer, TEXT)


async def test_elevenlabs_sound_that_breaks_off_is_not_said_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEECH_KEY", KEY)
    server = ElevenLabs()
    with serving(server):
        server.trouble.lost_after = [2]
        async with at_work(made(server)) as synthesizer:
            with pytest.raises(SynthesizerError, match="broke off"):
                await spoken(synthesizer, TEXT)
    assert len(server.connections) == 1


async def test_elevenlabs_is_asked_for_what_the_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEECH_KEY", KEY)
    server = ElevenLabs()
    with serving(server):
        async with at_work(
            made(server, voice="an id", language="de", settings={"speed": 1.1})
        ) as synthesizer:
            await spoken(synthesizer, TEXT)
    [[voice, query, body]] = server.connections
    assert (voice, query) == ("an id", {"output_format": "pcm_24000"})
    assert body == {
        "text": TEXT,
        "model_id": "eleven_flash_v2_5",
        "language_code": "de",
        "voice_settings": {"speed": 1.1},
    }
