"""The demo page of a server, in a browser that has a voice at its microphone, and what callers do on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from chromium import chromium
from playwright.async_api import Page
from served import served

from audio.pcm import Samples
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.wav import write_wav
from voiceagent.engines.hosted import hosted
from voiceagent.transports.local_call import FORMAT, speak

LOUD = 0.01
"""Root mean square of full scale: far above what a codec makes of silence, far below a voice."""
REFUSE_THE_MICROPHONE = """
navigator.mediaDevices.getUserMedia = async () => { throw new DOMException("no", "NotAllowedError"); };
"""
_INTO_THE_RESPONSE_S = 3.0
"""How long after a question's end the next begins: the answer lasts about seven seconds."""
_AUDIBLE_S = 30.0
"""Time that the page has to play a voice: that of any other expectation of a page."""
_BECOMES_LOUD = """async ([loud, patience_s]) => {
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    context.createMediaStreamSource(document.querySelector("audio").srcObject).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    const until = performance.now() + 1000 * patience_s;
    let loudness = 0;
    while (loudness <= loud && performance.now() < until) {
        await new Promise((done) => setTimeout(done, 50));
        analyser.getFloatTimeDomainData(samples);
        loudness = Math.hypot(...samples) / Math.sqrt(samples.length);
    }
    await context.close();
    return loudness > loud;
}"""


@asynccontextmanager
async def page_of(config: Path, voice: Path, script: str = "") -> AsyncIterator[Page]:
    """Yield a page whose "/" is the demo page of a server of its own. A running call is hung up at the end.

    voice: at the microphone. script: runs before those of the page.
    """
    async with served(config) as address, page_at(address, voice, script) as page:
        yield page


@asynccontextmanager
async def page_at(address: str, voice: Path, script: str = "") -> AsyncIterator[Page]:
    """Yield such a page of the server at `address`."""
    async with chromium(voice) as browser:
        page = await browser.new_page(base_url=f"http://{address}")
        await page.add_init_script(script)
        yield page
        if await page.evaluate("document.body.dataset.line") != "idle":
            await page.get_by_test_id("talk").click()


async def talk(page: Page) -> None:
    """Open the demo page, and call."""
    await page.goto("/")
    await page.get_by_test_id("talk").click()


async def type_words(page: Page, words: str) -> None:
    """Type this to the agent."""
    await page.get_by_test_id("text-input").fill(words)
    await page.keyboard.press("Enter")


async def is_heard(page: Page) -> bool:
    """Return True as soon as the page plays the agent's voice, False if it stays silent."""
    return bool(await page.evaluate(_BECOMES_LOUD, [LOUD, _AUDIBLE_S]))


async def said(texts: Sequence[str], path: Path) -> Path:
    """A caller who says this, and after each waits until he is in the middle of its answer."""
    synthesizer = hosted(EspeakSynthesizer)
    await synthesizer.start()
    try:
        voices = [await speak(synthesizer, text) for text in texts]
    finally:
        await synthesizer.close()
    parts = [part for voice in voices for part in (_silence(_INTO_THE_RESPONSE_S), voice)]
    write_wav(path, np.concatenate([*parts, _silence(1.0)]), FORMAT.rate_hz)
    return path


def _silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * FORMAT.rate_hz), np.int16)
