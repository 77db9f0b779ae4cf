"""Hold one call of a configuration by voice, in Chromium: a transcript and a screenshot of the page.

python tests/bench/spoken_call.py configs/chat.toml OUT [--voice kokoro:af_heart] [--language en] [--say FILE]

Each sentence is said once the answer to the one before has ended, however busy the machine is. FILE has one
sentence a line; without it, the ten of a caller of chat.toml. OUT gets transcript.txt, which has the text of
each sentence and then the page's lines, and page.png.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from chromium import chromium  # noqa: E402
from kokoro_voices import stored  # noqa: E402
from playwright.async_api import Page, expect  # noqa: E402
from served import served  # noqa: E402

from audio.pcm import Samples  # noqa: E402
from audio.synthesizers import BlockingSynthesizer, Speech  # noqa: E402
from audio.synthesizers.espeak import EspeakSynthesizer  # noqa: E402
from audio.synthesizers.kokoro import KokoroSynthesizer  # noqa: E402
from audio.synthesizers.pieces import Piece  # noqa: E402
from audio.synthesizers.voices import VoiceSettings  # noqa: E402
from audio.wav import write_wav  # noqa: E402

SENTENCES = (
    "Hi, my name is Martin and I live in Oslo.",
    "What time is it?",
    "What is seventeen times twenty three?",
    "Tell me something interesting about octopuses.",
    "Please write down that I need to buy milk.",
    "Can you recommend something to cook for dinner?",
    "Set a timer for five minutes.",
    "What do my notes say?",
    "Which city do I live in?",
    "And what was my name again?",
)
PATIENCE_S, QUIET_S, READY_S = 150.0, 2.5, 300.0
MICROPHONE = """
let context, microphone;
navigator.mediaDevices.getUserMedia = async () => {
    context = new AudioContext();
    microphone = context.createMediaStreamDestination();
    return microphone.stream;
};
window.say = async (wav) => {
    const bytes = Uint8Array.from(atob(wav), (letter) => letter.charCodeAt(0));
    const source = context.createBufferSource();
    source.buffer = await context.decodeAudioData(bytes.buffer);
    source.connect(microphone);
    const ended = new Promise((done) => { source.onended = done; });
    source.start();
    await ended;
};
"""
LINES = """() => [...document.querySelectorAll("#transcript > li")].map((line) => line.innerText)"""


def voice_of(name: str, language: str) -> tuple[BlockingSynthesizer, str]:
    """Return the synthesizer and the voice of `kokoro:VOICE` or `espeak:VOICE`."""
    engine, _, voice = name.partition(":")
    if engine == "espeak":
        return EspeakSynthesizer(), voice
    return KokoroSynthesizer(stored("kokoro-82m") / "kokoro-v1.0.int8.onnx", language, voice), voice


def spoken(engine: BlockingSynthesizer, voice: str, text: str) -> Samples:
    """Return the audio of a sentence."""
    chunks: list[Samples] = []

    def emit(speech: Speech) -> bool:
        chunks.append(speech.samples)
        return True

    for _ in engine.open().push(Piece(text, 0, VoiceSettings(voice)), emit) or ():
        pass
    return np.concatenate(chunks)


def encoded(sound: Samples, rate_hz: int) -> str:
    """Return a WAV file in base 64."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentence.wav"
        write_wav(path, sound, rate_hz)
        return base64.b64encode(path.read_bytes()).decode()


async def wait_for_answer(page: Page, before: int) -> bool:
    """Wait for new lines, and until the agent was idle for `QUIET_S`. Return False if that takes too long."""
    began_s = quiet_since_s = time.monotonic()
    while time.monotonic() - began_s < PATIENCE_S:
        lines = await page.evaluate(LINES)
        idle = await page.evaluate("document.body.dataset.activity") == "listening"
        if not idle or len(lines) < before + 2:
            quiet_since_s = time.monotonic()
        if time.monotonic() - quiet_since_s > QUIET_S:
            return True
        await asyncio.sleep(0.2)
    return False


async def call(config: Path, sentences: list[str], recordings: list[str], out: Path) -> None:
    """Make the call, and write the transcript and the screenshot."""
    written: list[str] = []
    async with served(config, ready_s=READY_S) as address, chromium(Path("/dev/null")) as browser:
        page = await browser.new_page(base_url=f"http://{address}", viewport={"width": 1280, "height": 1400})
        await page.add_init_script(MICROPHONE)
        await page.goto("/")
        await page.get_by_test_id("talk").click()
        await expect(page.locator("body")).to_have_attribute("data-line", "live", timeout=60_000)
        await wait_for_answer(page, -1)
        for sentence, recording in zip(sentences, recordings, strict=True):
            before = await page.evaluate(LINES)
            began_s = time.monotonic()
            await page.evaluate("(wav) => window.say(wav)", recording)
            in_time = await wait_for_answer(page, len(before))
            lines = (await page.evaluate(LINES))[len(before) :]
            written += [f"said:  {sentence}", *(f"       {line}".replace("\n", " ") for line in lines)]
            written.append(
                f"       ({time.monotonic() - began_s:.0f} s{'' if in_time else ', no answer in time'})"
            )
            (out / "transcript.txt").write_text("\n".join(written) + "\n")
            await page.screenshot(path=out / "page.png", full_page=True)
        await page.get_by_test_id("talk").click()


def main() -> None:
    """Synthesize the sentences, then make the call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--voice", default="kokoro:af_heart")
    parser.add_argument("--language", default="en")
    parser.add_argument("--say", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sentences = options.say.read_text().splitlines() if options.say else list(SENTENCES)
    engine, voice = voice_of(options.voice, options.language)
    recordings = [encoded(spoken(engine, voice, text), engine.rate_hz) for text in sentences]
    asyncio.run(call(options.config, sentences, recordings, options.out))
    print((options.out / "transcript.txt").read_text())


if __name__ == "__main__":
    main()
