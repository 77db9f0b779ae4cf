"""A real browser with a recorded voice at its microphone: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright, expect

_PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
    "--allow-loopback-in-peer-connection",  # a machine may have no other address
    "--host-resolver-rules=MAP elsewhere.test 127.0.0.1",  # as a page has it that is not on this machine
)

# Playwright's own 5 s are too short for a page and its server on a machine that runs other tests too.
expect.set_options(timeout=30_000)


@asynccontextmanager
async def chromium(microphone: Path) -> AsyncIterator[Browser]:
    """A browser with a fresh profile. Its microphone plays a WAV file from when it is opened, then is silent.

    Skips the test where Chromium is not installed.
    """
    if _PROGRAM is None:
        pytest.skip(
            "Chromium is not installed (`make test` installs it where it may): the page is not tested"
        )
    async with async_playwright() as playwright:
        voice = f"--use-file-for-fake-audio-capture={microphone}%noloop"
        browser = await playwright.chromium.launch(executable_path=_PROGRAM, args=[*_FLAGS, voice])
        try:
            yield browser
        finally:
            await browser.close()
