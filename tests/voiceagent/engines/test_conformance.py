"""One test for all engines, ours and those of docs/engines.md: each keeps the contract of its kind."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import numpy as np
import pytest
import speech_api
import streamed_speech
from chat_server import chat_app, serve
from recordings import recorded
from scripted_llm import ScriptedLlm
from speech_api import SpeechApi

from llmcore.engine import Message, Request
from voiceagent.config.tables import Config, load
from voiceagent.engines.build import build_engine
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.engines import Engines
from voiceagent.engines.own import Flush, Samples
from voiceagent.engines.supervisor_engines import ENGINE_ERRORS, SynthesizerFacts, engine_services
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import Service, single_answer
from voiceagent.server.call_worker import WorkerTask, engines_of_worker
from voiceagent.server.engine_building import build_engines
from voiceagent.server.startup import started
from voiceagent.telemetry.metrics import Metrics, render
from voiceagent.transports.local_call import LocalCall
from voiceagent.validation.errors import ConfigError

ROOT = Path(__file__).parents[3]
OWN = """
[agent]
filler = ""
[recognizer]
engine = "my_engines:Ears"
[llm]
engine = "my_engines:Brain"
prefix = "I hear:"
[synthesizer]
engine = "my_engines:Tones"
"""


def readme_engines() -> str:
    """The three blocks of docs/engines.md, which make one module."""
    text = (ROOT / "docs/engines.md").read_text()
    section = text.split("## Your own engines")[1].split("\n## ")[0]
    return "\n\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_engines.py").write_text(readme_engines())
    (tmp_path / "my.toml").write_text(OWN)
    yield load(tmp_path / "my.toml")
    sys.modules.pop("my_engines", None)


HOSTED = """
[recognizer]
engine = "{hears}"
base_url = "{hears_at}"
api_key_env = "KEY_OF_{hears}"
model = "{model}"
[llm]
engine = "openai"
model = "any"
base_url = "{answers_at}"
[synthesizer]
engine = "{speaks}"
base_url = "{speaks_at}"
api_key_env = "KEY_OF_{speaks}"
"""


@asynccontextmanager
async def hosted(
    folder: Path, hears: str, speaks: str, setenv: Callable[[str, str], None]
) -> AsyncIterator[Config]:
    """A configuration of hosted engines, each at a server of its kind. setenv: sets their keys."""
    setenv("OPENAI_API_KEY", "of the LLM")
    with ExitStack() as servers:
        places = {}
        for engine in (hears, speaks):
            if engine == "openai":
                api = servers.enter_context(speech_api.serving(SpeechApi()))
                places[engine] = api.base_url
                setenv(f"KEY_OF_{engine}", speech_api.KEY)
            else:
                kind, url = STREAMED[engine]
                server = servers.enter_context(streamed_speech.serving(kind()))
                places[engine] = url.format(server.address)
                setenv(f"KEY_OF_{engine}", streamed_speech.KEY)
        async with serve(chat_app(ScriptedLlm())) as answers_at:
            names = {"hears": hears, "speaks": speaks, "model": "voxtral" if hears == "vllm" else "any"}
            urls = {"hears_at": places[hears], "speaks_at": places[speaks], "answers_at": answers_at}
            (folder / "hosted.toml").write_text(HOSTED.format(**names, **urls))
            yield load(folder / "hosted.toml")


STREAMED: dict[str, tuple[type[Any], str]] = {
    "deepgram": (streamed_speech.Deepgram, "ws://{}/v1"),
    "vllm": (streamed_speech.Vllm, "ws://{}/v1"),
    "cartesia": (streamed_speech.Cartesia, "ws://{}"),
    "elevenlabs": (streamed_speech.ElevenLabs, "http://{}/v1"),
}


@pytest.fixture(params=["own", "demo", "deepgram cartesia", "vllm elevenlabs", "openai openai"])
async def config(
    request: pytest.FixtureRequest, own: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Config]:
    if " " not in request.param:
        yield own if request.param == "own" else load(ROOT / "configs/demo.toml")
        return
    hears, speaks = request.param.split()
    async with hosted(tmp_path, hears, speaks, monkeypatch.setenv) as config:
        yield config


def made(stage: Stage, config: Config) -> Any:
    return build_engine(stage, getattr(config, stage), config.source)


async def utterance(*pieces: Samples | Flush) -> AsyncIterator[Samples | Flush]:
    for piece in pieces:
        yield piece


async def test_a_recognizer_answers_every_flush_and_the_end(config: Config) -> None:
    engine = made("recognizer", config)
    await engine.start()
    try:
        sound = recorded("goforward.wav", 16_000)
        heard = [one async for one in engine.recognize(utterance(sound, Flush(), sound[:1600]))]
    finally:
        await engine.close()
    settled = [one for one in heard if one.settled]
    assert len(settled) == 2
    assert all(one.text for one in settled)


async def test_an_llm_answers_in_pieces_with_a_reason_last(config: Config) -> None:
    engine = made("llm", config)
    await engine.start()
    try:
        request = Request((Message("user", "When is breakfast?"),), max_tokens=20)
        await engine.prefill(request)
        deltas = [delta async for delta in engine.generate(request)]
    finally:
        await engine.close()
    assert "".join(delta.text for delta in deltas).strip()
    assert deltas[-1].finish_reason is not None


async def test_a_synthesizer_speaks_at_its_rate(config: Config) -> None:
    engine = made("synthesizer", config)
    await engine.start()
    try:
        speeches = [speech async for speech in engine.speak("Good morning.")]
    finally:
        await engine.close()
    sound = np.concatenate([speech.samples for speech in speeches])
    assert 0.3 < len(sound) / engine.rate_hz < 3
    assert np.abs(sound).max() > 1_000, "it is not silent"


async def test_the_engines_of_readme_take_a_call(own: Config) -> None:
    async with started(own, build_engines(own), Metrics()) as (services, _), LocalCall(services) as call:
        exchange = await call.say(recorded("goforward.wav", 24_000))
    assert exchange.failures == []
    assert exchange.answered[0].strip().startswith("I hear: I spoke for")
    assert np.abs(exchange.sound).max() > 1_000


@asynccontextmanager
async def as_worker(config: Config) -> AsyncIterator[Engines]:
    """The engines of a worker; those that it has no own of are at the other end of its connection."""
    engines, (near, far) = build_engines(config), socket.socketpair()
    ready: dict[str, Service] = {}
    supervisor = RpcConnection(far, ready, opens_even=True, passed_on=ENGINE_ERRORS)
    worker = RpcConnection(near, opens_even=False)
    supervisor.attach()
    worker.attach()
    shared = engines.shared()
    await shared.start()
    ready |= engine_services(shared, config.agent.language)
    ready["synthesizer_facts"] = single_answer(
        AsyncMock(return_value=SynthesizerFacts.of(shared.synthesizer))
    )
    try:
        yield engines_of_worker(WorkerTask(config, 0, engines.worker_stages), worker, Metrics())
    finally:
        worker.close()
        supervisor.close()
        await shared.close()


async def test_engines_answer_a_worker_wherever_they_are(config: Config) -> None:
    async with as_worker(config) as engines:
        await engines.start()
        sound = recorded("goforward.wav", 16_000)
        heard = [one async for one in engines.recognizer.recognize(utterance(sound, Flush()))]
        request = Request((Message("user", "When is breakfast?"),), max_tokens=20)
        deltas = [delta async for delta in engines.llm.generate(request)]
        speeches = [speech async for speech in engines.synthesizer.speak("Good morning.")]
        rate_hz = engines.synthesizer.rate_hz
        await engines.close()
    assert heard[-1].settled and heard[-1].text
    assert "".join(delta.text for delta in deltas).strip()
    assert deltas[-1].finish_reason is not None
    assert 0.3 < sum(len(speech.samples) for speech in speeches) / rate_hz < 3


FAILING = """

from voiceagent.engines.own import RecognizerError, SynthesizerError


class Deaf(Ears):
    async def recognize(self, sound):
        raise RecognizerError("the line to it is gone")
        yield


class Mute(Tones):
    rate_hz = 16_000

    async def speak(self, text):
        if "I hear" in text:
            raise SynthesizerError("the line to it is gone")
        async for speech in super().speak(text):
            yield speech
"""


async def test_a_call_goes_on_by_the_fallbacks(own: Config) -> None:
    path = own.source
    module = path.with_name("my_engines.py")
    module.write_text(module.read_text() + FAILING)
    fallbacks = OWN.replace("[recogn", '[recognizer_fallback]\nengine = "my_engines:Ears"\n[recogn')
    fallbacks = fallbacks.replace("[synth", '[synthesizer_fallback]\nengine = "my_engines:Tones"\n[synth')
    fallbacks = fallbacks.replace(
        '[recognizer]\nengine = "my_engines:Ears"', '[recognizer]\nengine = "my_engines:Deaf"'
    )
    fallbacks = fallbacks.replace(
        '[synthesizer]\nengine = "my_engines:Tones"', '[synthesizer]\nengine = "my_engines:Mute"'
    )
    path.write_text(fallbacks)
    config, metrics = load(path), Metrics()
    async with (
        started(config, build_engines(config, metrics=metrics), metrics) as (services, _),
        LocalCall(services) as call,
    ):
        exchange = await call.say(recorded("goforward.wav", 24_000))
    page = render(metrics.registry).decode()
    for stage in ("recognizer", "synthesizer"):
        assert re.search(f'speech_primary_failures_total{{reason="error",stage="{stage}"}} [1-9]', page)
    assert exchange.failures == []
    assert exchange.answered[0].strip().startswith("I hear: I spoke for")
    assert np.abs(exchange.sound).max() > 1_000


def test_the_examples_are_short() -> None:
    for example in re.split(r"\n(?=class )", readme_engines())[1:]:
        assert len(example.strip().splitlines()) <= 20


def test_an_engine_without_the_agents_language_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "german.toml"
    path.write_text(
        (ROOT / "configs/demo.toml").read_text().replace("[agent]", '[agent]\nlanguage = "de"', 1)
    )
    told = r"'moonshine': does not have the agent's language, 'de'; allowed: agent.language en"
    with pytest.raises(ConfigError, match=told):
        build_engines(load(path))
