"""Takes the README's picture of the demo page: a call with an interruption, spoken by the demo's own voice.

python tests/bench/page_picture.py [web/page.png]      on a quiet machine: the picture shows the waits
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from called_page import page_at, talk  # noqa: E402
from served import VOICEAGENT, served  # noqa: E402

from audio.pcm import Samples  # noqa: E402
from audio.wav import read_wav, write_wav  # noqa: E402

DEMO = ROOT / "configs/demo.toml"
QUESTION, INTERRUPTION = "What is your best room?", "Do you have a swimming pool?"
GREETED_S = 5.5
"""From the start of the call to the question: the page connects, and the agent greets."""
INTO_THE_ANSWER_S = 3.0
ANSWERED_S = 4.0
"""From the interruption's end to the picture."""


async def speak(text: str, path: Path) -> Path:
    """Write a text in the demo's voice as a WAV file."""
    command = [VOICEAGENT, "voices", "say", "", text, "-o", path, "--config", DEMO]
    process = await asyncio.create_subprocess_exec(*map(str, command))
    assert await process.wait() == 0
    return path


async def take(picture: Path) -> None:
    """Call the demo, and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        question, rate_hz = read_wav(await speak(QUESTION, Path(folder, "question.wav")))
        interruption, _ = read_wav(await speak(INTERRUPTION, Path(folder, "interruption.wav")))

        def silence(seconds: float) -> Samples:
            return np.zeros(round(seconds * rate_hz), np.int16)

        said = [silence(GREETED_S), question, silence(INTO_THE_ANSWER_S), interruption]
        voice = Path(folder, "voice.wav")
        write_wav(voice, np.concatenate([*said, silence(ANSWERED_S)]), rate_hz)
        async with served(DEMO) as address, page_at(address, voice) as page:
            await page.set_viewport_size({"width": 1280, "height": 830})
            await page.emulate_media(color_scheme="dark")
            await talk(page)
            await asyncio.sleep(sum(map(len, said)) / rate_hz + ANSWERED_S)
            await page.screenshot(path=picture)


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "web/page.png"))
