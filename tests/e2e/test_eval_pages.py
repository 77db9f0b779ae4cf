"""The pages of evals in headless Chromium, served by `voiceagent eval --page`."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from chromium import chromium
from kept_eval import failed, kept_call_elsewhere, results
from playwright.async_api import Browser, Page, Route, expect
from served import VOICEAGENT

from audio.wav import write_wav
from voiceagent.evals.history import calls_folder, store
from voiceagent.evals.record import Failure

SCREENSHOTS = Path(__file__).parents[2] / "build/screenshots"
DAY_S = 86_400
WIDER_THAN_WINDOW = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_spec("espeakng_loader") is None, reason="make install"),
]


@asynccontextmanager
async def served_page(folder: Path) -> AsyncIterator[str]:
    """Yield the URL that the command prints."""
    command = [str(VOICEAGENT), "eval", "--page", "0", "--results", str(folder)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
        yield line.split()[0]
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Return a folder of three evals; two runs of the last one failed, and their call is kept."""
    folder = tmp_path / "eval-results"
    folder.mkdir()
    call = await kept_call_elsewhere(tmp_path, calls_folder(folder))
    late = Failure("1.20 s until the answer to 'I would like two tuna pizzas'", call.lines[0].end_s)
    for day, faults in enumerate(((), (late,), (late, Failure("cancel() was called")))):
        passed = [failed(call, seed) for seed in range(1, 9)]
        runs = (*passed, failed(call, 9, *faults), failed(call, 10, *faults))
        store(folder, results(1_795_900_000.0 + day * DAY_S, runs, f"shop.toml turn.silence_s=0.{day + 3}"))
    return folder


@pytest.fixture
def silence(tmp_path: Path) -> Path:
    """Return the sound of the browser's microphone."""
    path = tmp_path / "silence.wav"
    write_wav(path, np.zeros(8_000, np.int16), 8_000)
    return path


async def opened(browser: Browser, url: str, scheme: str) -> tuple[Page, list[str]]:
    page = await browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    await page.goto(url)
    return page, faults


async def focused(page: Page, pattern: str) -> None:
    """Press Tab until a link has the focus whose address matches."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        address = await page.evaluate("() => document.activeElement.getAttribute('href') ?? ''")
        if re.search(pattern, address):
            return
    raise AssertionError(f"no link to {pattern} is reached by Tab")


async def test_a_failing_turn_is_found_and_opened_by_keyboard(folder: Path, silence: Path) -> None:
    async with served_page(folder) as url, chromium(silence) as browser:
        page, faults = await opened(browser, url, "dark")
        await expect(page.get_by_role("group", name="Pass rates of pizza").get_by_role("link")).to_have_count(
            3
        )
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=SCREENSHOTS / "evals.png", full_page=True)
        await focused(page, r"^/evals/2026-11-30")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="two tunas")).to_be_visible()
        await expect(page.get_by_text("8 of 10 passed")).to_be_visible()
        await page.get_by_text("Transcript").first.click()
        await page.screenshot(path=SCREENSHOTS / "eval.png", full_page=True)
        await focused(page, r"@\d")
        link = await page.evaluate("() => document.activeElement.getAttribute('href')")
        second = float(link.partition("@")[2])
        await page.keyboard.press("Enter")
        lanes = page.get_by_role("slider", name="Position in the call")
        await expect(lanes).to_have_attribute("aria-valuetext", re.compile(rf"^0:0{second - 1:.1f} of 0:"))
        await expect(page.get_by_test_id("exchanges").locator(".chosen")).to_contain_text("Could you help")
        await expect(page.get_by_role("button", name="Play", exact=True)).to_be_enabled()
        await page.screenshot(path=SCREENSHOTS / "eval_call.png", full_page=True)
        assert not faults


async def test_pages_are_not_wider_than_a_phone(folder: Path, silence: Path) -> None:
    async with served_page(folder) as url, chromium(silence) as browser:
        page, faults = await opened(browser, url, "light")
        await page.set_viewport_size({"width": 390, "height": 800})
        assert not await page.evaluate(WIDER_THAN_WINDOW)
        await page.screenshot(path=SCREENSHOTS / "evals_phone.png", full_page=True)
        await page.get_by_role("link").filter(has=page.locator("time")).first.click()
        await expect(page.get_by_role("heading", name="two tunas")).to_be_visible()
        assert not await page.evaluate(WIDER_THAN_WINDOW)
        await page.screenshot(path=SCREENSHOTS / "eval_phone.png", full_page=True)
        assert not faults


async def test_the_inspector_shows_the_scores_of_a_kept_call(folder: Path, silence: Path) -> None:
    (call,) = (place.name for place in calls_folder(folder).glob("*-*-*/*"))
    async with served_page(folder) as url, chromium(silence) as browser:
        page, faults = await opened(browser, url, "dark")
        await page.goto(f"{url.replace('/evals', '/calls')}#/{call}")
        panel = page.get_by_test_id("scores")
        await panel.locator("summary").click()
        await expect(panel).to_contain_text("From the recording")
        await expect(panel.get_by_role("row").filter(has_text="response latency, mean")).to_contain_text(" s")
        await expect(panel.get_by_role("row").filter(has_text="turns answered")).to_contain_text("100 %")
        await panel.scroll_into_view_if_needed()
        await page.screenshot(path=SCREENSHOTS / "eval_call_scores.png", full_page=True)
        assert not faults


TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


async def test_a_link_that_is_followed_while_another_loads_is_the_one_shown(
    folder: Path, silence: Path
) -> None:
    (call,) = (place.name for place in calls_folder(folder).glob("*-*-*/*"))
    held: list[Route] = []

    async def hold_first(route: Route) -> None:
        if held:
            await route.continue_()
        held.append(route)

    async with served_page(folder) as url, chromium(silence) as browser:
        page, faults = await opened(browser, url, "dark")
        await page.route("**/peaks*", hold_first)
        calls = url.replace("/evals", "/calls")
        await page.goto(f"{calls}#/{call}@1.5")
        await expect(page.get_by_test_id("exchanges").get_by_role("button").first).to_be_visible()
        await page.goto(f"{calls}#/{call}@3.0")
        lanes = page.get_by_role("slider", name="Position in the call")
        await expect(lanes).to_have_attribute("aria-valuetext", re.compile("^0:02.0 of"))
        async with page.expect_response("**/peaks*"):
            await held[0].continue_()
        await page.evaluate(TWO_FRAMES)
        await expect(lanes).to_have_attribute("aria-valuetext", re.compile("^0:02.0 of"))
        assert not faults
