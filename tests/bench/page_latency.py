"""The wait of a caller at the page, in Chromium: last sound into it to first sound out of the page.

python tests/bench/page_latency.py [ROUNDS]      each round asks the eight questions of `voiceagent bench`
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from chromium import chromium  # noqa: E402
from served import served  # noqa: E402

from audio.synthesizers.espeak import EspeakSynthesizer  # noqa: E402
from audio.wav import write_wav  # noqa: E402
from voiceagent.bench.material import Material  # noqa: E402
from voiceagent.bench.speech import speak_questions  # noqa: E402
from voiceagent.demo import MATERIAL  # noqa: E402
from voiceagent.engines.hosted import hosted  # noqa: E402
from voiceagent.transports.local_call import FORMAT  # noqa: E402

LEAD_S = 2.0
ANSWER_S = 11.0
"""From one question's end to the next: the longest answer is over by then."""


async def write_questions(path: Path, rounds: int) -> float:
    """All questions with room for their answers, as a recording; returns its length in seconds."""
    synthesizer = hosted(EspeakSynthesizer)
    await synthesizer.start()
    try:
        questions = await speak_questions(Material(MATERIAL), synthesizer)
    finally:
        await synthesizer.close()
    answer = np.zeros(round(ANSWER_S * FORMAT.rate_hz), np.int16)
    parts = [np.zeros(round(LEAD_S * FORMAT.rate_hz), np.int16)]
    for question in questions * rounds:
        parts += [question.sound, answer]
    sound = np.concatenate(parts)
    write_wav(path, sound, FORMAT.rate_hz)
    return len(sound) / FORMAT.rate_hz


async def measure(rounds: int) -> dict[str, Any]:
    """Return the page's export after a call with all questions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions.wav"
        seconds = await write_questions(path, rounds)
        async with served(ROOT / "configs/demo.toml") as address, chromium(path) as browser:
            page = await browser.new_page()
            await page.goto(f"http://{address}/")
            await page.get_by_test_id("talk").click()
            await asyncio.sleep(seconds + LEAD_S)
            async with page.expect_download() as downloading:
                await page.get_by_role("button", name="Export JSON").click()
            await page.get_by_test_id("talk").click()
            exported: dict[str, Any] = json.loads((await (await downloading.value).path()).read_text())
            return exported


def show(summary: dict[str, Any]) -> None:
    """A table in milliseconds, of the stages, of their sum, and of what was measured in the page."""
    rows = {**summary["stages"], "sum of the stages": summary["total"], "heard in the page": summary["heard"]}
    print(f"{summary['turns']} turns\n\n| | p50 | p95 |\n| --- | --- | --- |")
    for name, row in rows.items():
        print(f"| {name} | {row['p50']:.0f} | {row['p95']:.0f} |")


if __name__ == "__main__":
    show(asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1))["summary"])
