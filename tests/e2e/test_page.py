"""The demo page in headless Chromium, against a server started as users start it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from called_page import REFUSE_THE_MICROPHONE, is_heard, page_at, page_of, said, talk, type_words
from chromium import chromium
from fixed_config import write_config
from playwright.async_api import Route, expect
from served import calls_at, lent, served

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "configs/demo.toml"
BENCH = ROOT / "tests/bench"
SCREENSHOTS = ROOT / "build/screenshots"
QUESTION = "What is your best room?"
SOME_WORDS = re.compile(r"\w+ \w+")
INTERRUPTION = "Do you have a swimming pool?"
COUNT_MICROPHONES = """
const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
window.microphones = [];
navigator.mediaDevices.getUserMedia = async (wanted) => {
    if (window.unplugged) throw new DOMException("none", "NotFoundError");
    const stream = await open(wanted);
    window.microphones.push(stream.getAudioTracks()[0]);
    await window.asked;
    return stream;
};
"""
UNPLUG = """() => {
    const track = window.microphones.at(-1);
    track.stop();
    track.dispatchEvent(new Event("ended"));
    navigator.mediaDevices.dispatchEvent(new Event("devicechange"));
}"""
ASK_FIRST = """() => { window.asked = new Promise((allow) => { window.allow = allow; }); }"""
ALL_ENDED = """() => window.microphones.every((track) => track.readyState === "ended")"""
TYPE_TWICE = """() => {
    for (const words of ["Could you help me?", "Are you there?"]) {
        document.getElementById("text").value = words;
        document.getElementById("text-form").requestSubmit();
    }
}"""
SELECT_OF_FORTY = """async (chosen) => {
    const { drawStrip } = await import("./waterfall.js");
    document.getElementById("turn").hidden = false;
    const turn = () => ({ totalMs: 200, budgetMs: 450, overBudget: [], said: "" });
    const turns = Array.from({ length: 40 }, turn);
    const strip = document.getElementById("strip");
    drawStrip(strip, turns, turns[chosen], () => {});
    const [frame, item] = [strip, strip.children[chosen]].map((one) => one.getBoundingClientRect());
    return [item.left - frame.left, frame.right - item.right];
}"""
NIGHT = """
from voiceagent.agents import Agent


class Night(Agent):
    instructions = "You are the night porter."
    greeting = "Good night."
"""
KEEP_THE_MICROPHONE = """
const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => (window.opened = await open(wanted));
"""
pytestmark = pytest.mark.timeout(300)  # a browser and a server start for each test


@pytest.fixture
async def voice(tmp_path: Path) -> Path:
    """A caller who asks something, and asks something else in the middle of the answer."""
    return await said([QUESTION, INTERRUPTION], tmp_path / "voice.wav")


@pytest.fixture
def two_lines(tmp_path: Path) -> Path:
    """A configuration by which the server takes two calls at once, with engines of fixed cost."""
    shutil.copy(BENCH / "fixed_engines.py", tmp_path)
    path = tmp_path / "two_lines.toml"
    path.write_text("[server]\nmax_calls = 2\n\n" + (BENCH / "fixed.toml").read_text())
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_server() -> AsyncIterator[str]:
    async with served(BENCH / "fixed.toml") as address:
        yield address


@pytest.fixture
async def server(shared_server: str) -> AsyncIterator[str]:
    """Yield the address of a server with engines of fixed cost."""
    async with lent(shared_server) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_demo() -> AsyncIterator[str]:
    async with served(DEMO) as address:
        yield address


@pytest.fixture
async def demo(shared_demo: str) -> AsyncIterator[str]:
    """Yield the address of a server of the demo."""
    async with lent(shared_demo) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_with_key(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    folder = tmp_path_factory.mktemp("key")
    config = write_config(folder, 'api_keys_env = "PAGE_KEYS"')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAGE_KEYS", "secret")
        async with served(config) as address:
            yield address


@pytest.fixture
async def with_key(shared_with_key: str) -> AsyncIterator[str]:
    """Yield the address of a server that takes calls with the key "secret" only."""
    async with lent(shared_with_key) as address:
        yield address


@pytest.fixture
def greeting(two_lines: Path) -> Path:
    """A configuration by which the agent greets its callers."""
    two_lines.write_text(two_lines.read_text().replace("[agent]", '[agent]\ngreeting = "Good evening."'))
    return two_lines


@pytest.fixture
def kept_greeting(greeting: Path) -> Path:
    """A configuration by which the agent greets its callers for long, and calls are kept."""
    hours = "Breakfast is at seven, and dinner is at eight. " * 8
    text = greeting.read_text().replace("Good evening.", f"Good evening. {hours}")
    greeting.write_text(f'{text}\n[calls]\nfolder = "kept"\n')
    return greeting


@pytest.fixture
def two_agents(two_lines: Path) -> Path:
    """A configuration with an agent for the night, in which calls are kept."""
    (two_lines.parent / "night.py").write_text(NIGHT)
    agent = '[agent]\nalternatives = { night = "night:Night" }'
    text = two_lines.read_text().replace("[agent]", agent)
    two_lines.write_text(f'{text}\n[calls]\nfolder = "kept"\n')
    return two_lines


@pytest.fixture
def for_everyone(two_lines: Path) -> Path:
    """A configuration by which the server takes everybody's calls, whatever he calls it."""
    two_lines.write_text(two_lines.read_text().replace("max_calls = 2", "open = true"))
    return two_lines


def kill_the_server(config: Path) -> None:
    """End it without a word, as a crash would."""
    for process in psutil.Process().children(recursive=True):
        if str(config) in process.cmdline():
            process.kill()


async def test_the_selected_turn_is_in_view_among_many(server: str, voice: Path) -> None:
    async with page_at(server, voice) as page:
        await page.goto("/")
        for chosen in (39, 0, 20):
            left, right = await page.evaluate(SELECT_OF_FORTY, chosen)
            assert left >= 0 and right >= 0


async def test_a_spoken_question_is_answered_interrupted_and_timed(voice: Path, demo: str) -> None:
    async with chromium(voice) as browser:
        page = await browser.new_page(
            base_url=f"http://{demo}", viewport={"width": 1280, "height": 800}, color_scheme="dark"
        )
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        await talk(page)
        words, status = page.get_by_test_id("transcript"), page.get_by_test_id("status")

        # Which words the recognizer makes of a synthetic voice, and the model answers, is their affair.
        await expect(words.locator(".user p").first).to_have_text(SOME_WORDS)
        await expect(status).to_have_text("Agent is speaking")
        assert await is_heard(page)

        cut = words.locator(".assistant", has=page.locator("del")).first
        heard = await cut.locator("p").evaluate("p => p.firstChild.textContent")
        assert heard.strip(), "the interruption came in the middle: some of it was heard"
        await expect(words.locator(".user p").nth(1)).to_have_text(SOME_WORDS)
        await expect(words.locator(".assistant p").nth(1)).to_have_text(SOME_WORDS)

        await expect(status).to_have_text("Listening")
        waterfall = page.get_by_test_id("waterfall")
        for stage in ("endpointing", "recognition", "llm_ttft", "synthesis", "playout", "jitter", "output"):
            await expect(waterfall.locator(f"[data-stage={stage}] .bar")).to_be_attached()
        await expect(waterfall.locator(".heard .number").first).to_have_text(re.compile(r"^\d+$"))
        await expect(waterfall.get_by_role("button", name=re.compile("^Turn 2:"))).to_be_visible()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=SCREENSHOTS / "page.png")

        async with page.expect_download() as downloading:
            await page.get_by_role("button", name="Export JSON").click()
        saved = json.loads((await (await downloading.value).path()).read_text())
        assert [turn["outcome"] for turn in saved["turns"]] == ["interrupted", "completed"]

        assert await calls_at(demo) == 1
        await page.get_by_test_id("talk").click()
        await expect(status).to_have_text("Ready")
        async with asyncio.timeout(10):
            while await calls_at(demo):  # noqa: ASYNC110 - a client can only ask again
                await asyncio.sleep(0.1)
        assert not faults


async def test_after_a_hang_up_the_words_are_marked_that_were_not_heard(
    voice: Path, kept_greeting: Path
) -> None:
    async with served(kept_greeting) as address, page_at(address, voice, REFUSE_THE_MICROPHONE) as page:
        await talk(page)
        await expect(page.get_by_test_id("status")).to_have_text("Agent is speaking")
        await page.get_by_test_id("talk").click()
        greeted = page.get_by_test_id("transcript").locator(".assistant").last
        await expect(greeted.locator("del")).to_contain_text("dinner is at eight")


async def test_call_over_the_live_api_is_heard_written_and_answered_by_voice(
    voice: Path, server: str
) -> None:
    async with page_at(server, voice) as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        await page.goto("/")
        await page.get_by_test_id("api").select_option("live", force=True)
        await page.get_by_test_id("talk").click()
        words = page.get_by_test_id("transcript")
        await expect(words.locator(".user p").first).to_have_text(SOME_WORDS)
        await expect(words.locator(".assistant").first).to_contain_text("help")
        assert await is_heard(page)
        await expect(page.locator("#total")).to_have_text(re.compile(r"^\d+$"))
        await expect(page.locator("#waterfall")).to_contain_text("Wait")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=SCREENSHOTS / "live.png")
        await type_words(page, "Are you there?")
        await expect(words.locator(".user", has_text="Are you there?")).to_be_attached()
        await expect(page.get_by_test_id("api")).to_be_disabled()
        await page.get_by_test_id("talk").click()
        await expect(page.get_by_test_id("status")).to_have_text("Ready")
        assert any(url.endswith("/v1/live/sessions") for url in requests)
        assert not any("/v1/realtime/calls" in url for url in requests)
        assert not faults


async def test_the_tool_that_a_spoken_wish_calls_is_shown_with_its_result(tmp_path: Path, demo: str) -> None:
    # a caller who is misheard, as it happened on a loaded machine, says it again
    wish = await said(["Please wake me at half past six."] * 2, tmp_path / "wish.wav")
    async with page_at(demo, wish) as page:
        await talk(page)
        words = page.get_by_test_id("transcript")
        called = page.locator("code", has_text=re.compile(r"^wake_up_call\(.*half past six"))
        tool = words.locator(".tool").filter(has=called).first
        await expect(tool.locator(".note")).to_contain_text("a wake-up call at half past six")
        await expect(words.locator(".assistant").last).to_contain_text("half past six")


async def test_two_calls_go_on_at_once_and_a_third_is_refused(voice: Path, two_lines: Path) -> None:
    async with served(two_lines) as address, chromium(voice) as browser:
        first, second, third = [await browser.new_page(base_url=f"http://{address}") for _ in range(3)]
        for page in (first, second):
            await talk(page)
        for page in (first, second):
            await expect(page.get_by_test_id("transcript").locator(".assistant").first).to_contain_text(
                "help"
            )
            assert await is_heard(page)
        assert await calls_at(address) == 2
        await talk(third)
        await expect(third.get_by_role("alert")).to_contain_text("The server is full")
        await expect(third.get_by_test_id("status")).to_have_text("Ready")
        for page in (first, second):
            await page.get_by_test_id("talk").click()


async def test_without_a_microphone_typed_words_are_answered_by_voice(voice: Path, server: str) -> None:
    async with page_at(server, voice, REFUSE_THE_MICROPHONE) as page:
        await page.goto("/")
        await type_words(page, "Could you help me?")
        await expect(page.get_by_role("alert")).to_contain_text("The microphone is blocked")
        words = page.get_by_test_id("transcript")
        await expect(words.locator(".user")).to_contain_text("Could you help me?")
        await expect(words.locator(".assistant")).to_contain_text("help")
        assert await is_heard(page)


async def test_words_typed_right_behind_others_are_answered(voice: Path, server: str) -> None:
    async with page_at(server, voice, REFUSE_THE_MICROPHONE) as page:
        await talk(page)
        await expect(page.get_by_test_id("status")).to_have_text("Listening")
        await page.evaluate(TYPE_TWICE)
        lines = page.get_by_test_id("transcript").locator("li")
        await expect(lines.last).to_contain_text("Sure")
        await expect(page.locator(".entry.user")).to_have_count(2)
        await expect(lines.nth(1)).to_contain_text("Are you there?")  # the answer to the first had not begun
        await expect(page.get_by_role("alert")).not_to_contain_text("The server reported an error")


async def test_on_plain_http_from_elsewhere_typed_words_are_answered_by_voice(
    voice: Path, for_everyone: Path
) -> None:
    async with served(for_everyone) as address, chromium(voice) as browser:
        page = await browser.new_page()
        await page.goto(f"http://elsewhere.test:{address.rpartition(':')[2]}/")
        assert not await page.evaluate("window.isSecureContext")
        await type_words(page, "Could you help me?")
        await expect(page.get_by_role("alert")).to_contain_text("This address cannot use the microphone")
        words = page.get_by_test_id("transcript")
        await expect(words.locator(".assistant")).to_contain_text("help")
        assert await is_heard(page)
        await page.get_by_test_id("talk").click()


async def test_the_words_are_a_list_whose_lines_are_read_aloud_when_they_are_whole(
    voice: Path, server: str
) -> None:
    async with page_at(server, voice, REFUSE_THE_MICROPHONE) as page:
        await page.goto("/")
        await type_words(page, "Could you help me?")
        lines = page.get_by_role("log", name="What was said").get_by_role("listitem")
        await expect(lines.first).to_contain_text("Could you help me?")
        await expect(lines.nth(1)).to_have_attribute("aria-busy", "true")
        await expect(lines.nth(1)).to_have_attribute("aria-busy", "false")


async def test_a_call_has_a_clock_mute_events_a_chosen_agent_and_a_link_to_its_recording(
    voice: Path, two_agents: Path
) -> None:
    async with page_of(two_agents, voice, KEEP_THE_MICROPHONE) as page:
        await page.goto("/")
        await page.get_by_test_id("agent").select_option("night")
        await page.get_by_test_id("talk").click()
        words = page.get_by_test_id("transcript")
        await expect(words.locator(".assistant").first).to_contain_text("Good night.")
        await expect(page.get_by_test_id("clock")).to_have_text(re.compile(r"^0:0[1-9]|^0:[1-5]"))
        await expect(page.get_by_text("Press Talk")).to_be_hidden()
        await page.get_by_role("button", name="Mute").click()
        await expect(page.get_by_role("button", name="Mute", pressed=True)).to_be_visible()
        sender = "sound => sound.getAudioTracks().map((track) => track.enabled)"
        assert await page.evaluate(f"({sender})(window.opened)") == [False]
        await page.get_by_test_id("events").locator("summary").first.click()
        await expect(page.get_by_test_id("events")).to_contain_text("session.created")
        link = page.get_by_test_id("kept")
        await page.get_by_test_id("talk").click()
        await expect(page.get_by_test_id("status")).to_have_text("Ready")
        await link.click()
        await expect(page.get_by_test_id("exchanges")).to_contain_text("Good night.")
        await page.go_back()


async def test_a_call_waits_for_no_loudspeaker(voice: Path, server: str) -> None:
    """Firefox without a loudspeaker never reports that its sound has started."""
    async with page_at(server, voice, "AudioContext.prototype.resume = () => new Promise(() => {})") as page:
        await talk(page)
        await expect(page.get_by_test_id("status")).to_have_text("Listening")


async def test_the_page_asks_for_a_short_lived_key(voice: Path, with_key: str) -> None:
    async with page_at(with_key, voice) as page:
        await talk(page)
        await expect(page.get_by_role("alert")).to_contain_text("This server requires a key")
        await page.get_by_label("Key").fill("secret")
        async with page.expect_request("**/v1/realtime/calls") as calling:
            await page.keyboard.press("Enter")
        assert (await (await calling.value).header_value("authorization") or "").startswith("Bearer ek_")
        await expect(page.get_by_test_id("status")).not_to_have_text("Ready")
        await expect(page.get_by_test_id("transcript").locator(".user").first).to_be_visible()


async def test_a_key_that_is_wrong_is_said_to_be(voice: Path, with_key: str) -> None:
    async with page_at(with_key, voice) as page:
        await talk(page)
        await page.get_by_label("Key").fill("guess")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("The server refused this key")
        await page.get_by_label("Key").fill("secret")
        await page.keyboard.press("Enter")
        await expect(page.get_by_test_id("status")).to_have_text("Listening")
        async with page.expect_response("**/hangup") as hanging_up:
            await page.get_by_test_id("talk").click()
        assert (await hanging_up.value).status == 200, "the call is hung up with the key that began it"


async def test_who_hangs_up_while_nobody_answers_is_not_waited_for(voice: Path, server: str) -> None:
    async with page_at(server, voice) as page:
        asked = asyncio.Event()

        async def keep(route: Route) -> None:
            answer = await route.fetch()
            await asked.wait()
            await route.fulfill(response=answer)

        await page.route("**/v1/realtime/calls", keep)
        await talk(page)
        await expect(page.get_by_test_id("status")).to_have_text("Connecting…")
        for words in ("Are you", "there?"):
            await type_words(page, words)
        await page.get_by_test_id("talk").click()
        await expect(page.get_by_test_id("status")).to_have_text("Ready")
        async with page.expect_response("**/hangup"):
            asked.set()
        await page.get_by_test_id("talk").click()
        words_said = page.get_by_test_id("transcript").locator(".user")
        await expect(words_said).to_have_text(re.compile(r"Are you\s+there\?"))


async def test_a_microphone_that_is_unplugged_gives_way_to_another(voice: Path, server: str) -> None:
    async with page_at(server, voice, COUNT_MICROPHONES) as page:
        await talk(page)
        await expect(page.get_by_test_id("status")).to_have_text("Listening")
        await page.evaluate(UNPLUG)
        await page.wait_for_function("() => window.microphones.length === 2")
        await page.evaluate("window.unplugged = true")
        # as often as it takes: the page may not have put the new one in the place of the old one yet
        await page.wait_for_function(
            f"() => {{ ({UNPLUG})(); return !document.querySelector('#problem').hidden; }}"
        )
        await expect(page.get_by_role("alert")).to_contain_text("No microphone was found")
        await page.evaluate("window.unplugged = false")
        await page.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
        await expect(page.get_by_role("alert")).to_be_hidden()
        assert await page.evaluate("window.microphones.map((track) => track.readyState)") == [
            "ended", "ended", "live",
        ]  # fmt: skip


async def test_who_hangs_up_while_he_is_asked_for_a_microphone_makes_no_call(
    voice: Path, server: str
) -> None:
    async with page_at(server, voice, COUNT_MICROPHONES) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.goto("/")
        await page.evaluate(ASK_FIRST)
        await page.get_by_test_id("talk").click()
        await page.wait_for_function("() => window.microphones.length === 1")
        await page.get_by_test_id("talk").click()
        await page.evaluate("window.allow()")
        await expect(page.get_by_test_id("status")).to_have_text("Ready")
        await page.wait_for_function(ALL_ENDED)
        assert not [url for url in asked if "/v1/realtime" in url]


async def test_a_microphone_that_comes_after_the_call_is_let_go(voice: Path, server: str) -> None:
    async with page_at(server, voice, COUNT_MICROPHONES) as page:
        await talk(page)
        await expect(page.get_by_test_id("status")).to_have_text("Listening")
        await page.evaluate(ASK_FIRST)
        await page.evaluate(UNPLUG)
        await page.wait_for_function("() => window.microphones.length === 2")
        await page.get_by_test_id("talk").click()
        await expect(page.get_by_test_id("status")).to_have_text("Ready")
        await page.evaluate("window.allow()")
        await page.wait_for_function(ALL_ENDED)
        await expect(page.get_by_role("alert")).to_be_hidden()


async def test_a_line_that_drops_is_taken_up_again_with_what_was_said(voice: Path, greeting: Path) -> None:
    async with chromium(voice) as browser:
        page = await browser.new_page()
        words, status = page.get_by_test_id("transcript"), page.get_by_test_id("status")
        async with served(greeting) as address:
            await page.goto(f"http://{address}/")
            await page.get_by_test_id("talk").click()
            await expect(words.locator(".assistant").first).to_contain_text("Good evening.")
            await expect(words.locator(".assistant", has_text="help").first).to_be_visible()
            kill_the_server(greeting)
            await expect(status).to_have_text("Reconnecting…")
            await expect(page.get_by_role("alert")).to_contain_text("The connection dropped")
        async with served(greeting, port=int(address.rpartition(":")[2])):
            await expect(status).to_have_text("Listening")
            await expect(words.locator(".assistant", has_text="help").first).to_be_visible()
            await type_words(page, "Are you there?")
            await expect(words.locator(".user", has_text="Are you there?")).to_have_count(1)
            await expect(words.locator("li").last).to_contain_text("Sure")
            await expect(words.locator(".assistant", has_text="Good evening.")).to_have_count(1)
            await page.get_by_test_id("talk").click()
