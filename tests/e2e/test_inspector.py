"""The page of kept calls in headless Chromium, with calls of a server started as users start it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from chromium import chromium
from fixed_config import write_config
from playwright.async_api import Browser, Page, Route, expect
from sdk_caller import SdkCaller, calling
from served import served
from sounds import voice_like

from audio.pcm import Samples
from audio.resample import resample
from audio.wav import write_wav

SCREENSHOTS = Path(__file__).parents[2] / "build/screenshots"
RATE_HZ = 24_000
SAID = "Could you help me with something?"
IN_SIGHT = """() => {
    const canvas = document.querySelector("#lanes");
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colour = (_, at) => pixels.slice(4 * at, 4 * at + 3).join();
    const colours = Array.from({ length: pixels.length / 4 }, colour);
    return new Set(colours).size;
}"""

pytestmark = pytest.mark.timeout(300)  # a browser and a server start for each test


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Calls are kept."""
    return write_config(tmp_path, '[calls]\nfolder = "./kept"\n')


@pytest.fixture
def silence(tmp_path: Path) -> Path:
    """Return the sound of the browser's microphone."""
    path = tmp_path / "silence.wav"
    write_wav(path, np.zeros(8_000, np.int16), 8_000)
    return path


def question() -> Samples:
    return resample(voice_like(40), 16_000, RATE_HZ)


async def interrupts(caller: SdkCaller) -> None:
    """Ask, ask again in the middle of the answer, and hear the second answer to its end."""
    await caller.speak(question(), silence_s=3.0)
    await caller.speak(question(), silence_s=9.0)


async def opened(browser: Browser, address: str, path: str = "", **options: Any) -> tuple[Page, list[str]]:
    page = await browser.new_page(**options)
    faults: list[str] = []

    def note(kind: str, text: str) -> None:
        if kind == "error" and "Failed to load" not in text:  # a status that the page expects
            faults.append(text)

    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: note(message.type, message.text))
    await page.goto(f"http://{address}/calls{path}")
    return page, faults


async def test_a_kept_call_is_found_seen_heard_and_replayed(config: Path, silence: Path) -> None:
    async with served(config) as address, chromium(silence) as browser:
        async with calling(address) as caller:
            await interrupts(caller)
        size = {"width": 1280, "height": 1000}
        page, faults = await opened(browser, address, viewport=size, color_scheme="dark")
        rows = page.get_by_test_id("rows").locator("tr")
        await expect(rows).to_have_count(1)
        await page.get_by_label("Tool failed").check()
        await expect(rows).to_have_count(0)
        await page.get_by_role("button", name="Clear").click()
        await expect(rows.first).to_contain_text("interrupted")
        await rows.first.get_by_role("link").click()

        said = page.get_by_test_id("exchanges").locator("li")
        await expect(said).to_have_count(2)
        await expect(said.first).to_contain_text(SAID)
        await expect(said.first.locator("del")).to_have_text(re.compile(r"\w+"))
        await expect(said.nth(1).locator("del")).to_have_count(0)
        details = page.get_by_test_id("details")
        for stage in ("endpointing", "llm_ttft", "synthesis", "playout"):
            await expect(details.locator(f"[data-stage={stage}] .bar")).to_be_attached()
        await expect(details).to_contain_text("By silence")
        await expect(details).to_contain_text("in the LLM's queues")

        lanes = page.get_by_role("slider", name="Position in the call")
        assert await page.evaluate(IN_SIGHT) > 10, "both sides' sound is drawn"
        await lanes.focus()
        await page.keyboard.press("ArrowRight")
        await expect(lanes).to_have_attribute("aria-valuetext", re.compile(r"^0:05\.0 of 0:"))
        await page.keyboard.press(" ")
        await expect(page.get_by_role("button", name="Pause")).to_be_visible()
        await expect(lanes).not_to_have_attribute("aria-valuetext", re.compile(r"^0:05\.0 "))
        await page.keyboard.press(" ")
        await expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        await page.keyboard.press("ArrowDown")
        await expect(said.nth(1).get_by_role("button")).to_have_attribute("aria-pressed", "true")

        await page.get_by_role("button", name="Replay", exact=True).click()
        await expect(page.locator("#outcome")).to_contain_text("The same decisions")
        async with page.expect_download() as downloading:
            await page.get_by_role("link", name="Export").click()
        assert (await downloading.value).suggested_filename.endswith(".zip")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=SCREENSHOTS / "calls.png", full_page=True)
        assert not faults


async def test_a_call_is_followed_while_it_goes_on(config: Path, silence: Path) -> None:
    async with served(config) as address, chromium(silence) as browser:
        async with calling(address) as caller:
            page, faults = await opened(browser, address)
            await page.get_by_test_id("rows").get_by_role("link").first.click()
            await expect(page.get_by_role("status").filter(has_text="In progress")).to_be_visible()
            said = page.get_by_test_id("exchanges").locator("li")
            await expect(said).to_have_count(0)
            await caller.speak(question(), silence_s=3.0)
            await expect(said.first).to_contain_text(SAID)
            await caller.speak(question(), silence_s=4.0)
            await expect(said).to_have_count(2)
            await expect(said.first.locator("del")).to_have_text(re.compile(r"\w+"))
            assert await page.evaluate(IN_SIGHT) > 10
        await expect(page.locator("#live-note")).to_be_hidden()
        await expect(page.locator("#about")).to_contain_text("the client left")
        assert not faults


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_with_key(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a server that keeps calls, and has had none, with the key "secret"."""
    lines = 'api_keys_env = "INSPECTOR_KEYS"\n[calls]\nfolder = "./kept"\n'
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("INSPECTOR_KEYS", "secret")
        async with served(write_config(tmp_path_factory.mktemp("key"), lines)) as address:
            yield address


async def test_without_the_key_the_page_shows_nothing_of_any_call(
    shared_with_key: str, silence: Path
) -> None:
    async with chromium(silence) as browser:
        page, _ = await opened(browser, shared_with_key)
        await expect(page.get_by_role("alert")).to_contain_text("This server requires a key")
        await page.get_by_label("Key").fill("wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This server requires a key")
        await page.get_by_label("Key").fill("secret")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_hidden()
        await expect(page.locator("#empty")).to_be_visible()
        assert "secret" not in page.url
        await page.reload()
        await expect(page.locator("#empty")).to_be_visible()


async def test_a_wrong_key_that_is_refused_late_hides_nothing(shared_with_key: str, silence: Path) -> None:
    right, refused = asyncio.Event(), asyncio.Event()

    async def hold_the_wrong_one(route: Route) -> None:
        wrong = route.request.headers["authorization"] == "Bearer wrong"
        if wrong:
            await right.wait()
        await route.continue_()
        if not wrong:
            right.set()

    async with chromium(silence) as browser:
        page, _ = await opened(browser, shared_with_key)
        await page.route("**/v1/calls/ticket", hold_the_wrong_one)
        page.on("response", lambda answer: refused.set() if answer.status == 401 and right.is_set() else None)
        for key in ("wrong", "secret"):
            await page.get_by_label("Key").fill(key)
            await page.keyboard.press("Enter")
        await expect(page.locator("#empty")).to_be_visible()
        await refused.wait()
        await page.evaluate("() => new Promise((done) => setTimeout(done))")  # what it brings has come
        await expect(page.get_by_role("alert")).to_be_hidden()


async def test_a_server_that_keeps_no_calls_says_how_it_would(tmp_path: Path, silence: Path) -> None:
    async with served(write_config(tmp_path)) as address, chromium(silence) as browser:
        page, faults = await opened(browser, address)
        await expect(page.get_by_role("alert")).to_contain_text('[calls] folder = "kept"')
        await expect(page.get_by_role("form", name="Filters")).to_be_hidden()
        assert faults == []
