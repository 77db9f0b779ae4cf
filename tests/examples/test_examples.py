"""Runs each example: agents in calls, configurations loaded, the application over HTTP."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import numpy as np
import pytest
from fixed_config import write_config

from voiceagent.config.tables import load
from voiceagent.engines.build import build_engine
from voiceagent.testing import Calls, TestCall

EXAMPLES = Path(__file__).parents[2] / "examples"
MAX_LINES = 60


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that imports an example as its configuration would."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    imported: list[str] = []

    def load_example(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        imported.append(name)
        spec.loader.exec_module(module)
        return module

    yield load_example
    for name in imported:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "path",
    [*sorted(EXAMPLES.glob("*.py")), *sorted((EXAMPLES / "sideband").glob("*.py"))],
    ids=lambda path: path.name,
)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_a_configuration_of_an_example_is_valid(path: Path) -> None:
    load(path, {})


def test_the_readme_names_every_example() -> None:
    readme = (EXAMPLES / "README.md").read_text()
    files = [path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".toml")]
    assert [name for name in files if f"({name})" not in readme] == []


async def test_an_order_is_added_up_and_the_call_ends_after_the_goodbye(example: Any) -> None:
    async with TestCall(example("orders").Orders) as call:
        call.model_will(Calls("add", pizza="tuna", number=2), "Two tuna, anything else?")
        await call.says("two tuna please")
        assert call.expect_tool("add", pizza="tuna", number=2) == "added; the order is 20.00 euros"
        call.model_will("Goodbye.", Calls("done"))
        await call.says("no thank you")
        assert call.hung_up


async def test_a_patient_is_handed_over_to_the_nurse(example: Any) -> None:
    clinic = example("clinic")
    async with TestCall(clinic.FrontDesk) as call:
        call.model_will(Calls("connect_to_nurse", patient="Ann Hill"))
        await call.says("this is Ann Hill, my chest hurts")
        call.expect_words("This is the nurse")
        call.model_will(Calls("mark_urgent", symptom="chest pain"), "A doctor calls you back.")
        await call.says("it hurts since this morning")
        assert isinstance(call.agent, clinic.Nurse)
        assert (call.agent.patient, call.agent.urgent) == ("Ann Hill", True)


async def test_a_pin_that_is_pressed_opens_the_account(example: Any) -> None:
    async with TestCall(example("pin").Bank, parameters={"from": "+15550123"}) as call:
        call.model_will(Calls("check_pin"), "Thank you.")
        await call.says("what is my balance")
        await call.presses("1111")
        await call.presses("4821")
        assert call.expect_tool("check_pin") == "the PIN is right"
        call.model_will(Calls("balance"), "It is 1042 dollars and 50 cents.")
        await call.says("my balance please")
        assert call.expect_tool("balance") == "1042 dollars and 50 cents"


async def test_three_wrong_pins_end_in_words_for_the_model(example: Any) -> None:
    async with TestCall(example("pin").Bank, parameters={"from": "+15550123"}) as call:
        call.model_will(Calls("check_pin"), "The bank will write to you.")
        await call.says("what is my balance")
        for _ in range(3):
            await call.presses("1111")
        assert "wrong three times" in call.expect_tool("check_pin")


async def test_a_table_is_booked_by_tasks_that_the_caller_answers(example: Any) -> None:
    async with TestCall(example("booking").Bookings) as call:
        call.model_will(Calls("book"), "Your table is booked.")
        assert await call.says("a table please") == "For which day and time?"
        assert "7:30 PM. Is that right?" in await call.says("tomorrow at half past seven in the evening")
        assert await call.says("yes") == "What is your last name? Please spell it."
        assert "M, E, I, E, R" in await call.says("Mayer, M E I E R")
        assert await call.says("that's right") == "And your phone number?"
        assert "0 1 2, 3 4 5 6" in await call.says("five five five, oh one two, three four five six")
        assert "text message" in await call.says("correct")
        assert await call.says("yes please") == "Your table is booked."
        assert call.expect_tool("book").endswith("a text message goes to 5550123456")


async def test_the_mcp_server_finds_an_order() -> None:
    pytest.importorskip("mcp")
    from mcp.client import Client  # noqa: PLC0415 - optional
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415

    program = StdioServerParameters(command=sys.executable, args=[str(EXAMPLES / "mcp_shop.py")])
    async with Client(stdio_client(program)) as client:
        found = await client.call_tool("find_order", {"number": "4821"})
        missing = await client.call_tool("find_order", {"number": "1"})
    assert "comes on Thursday" in found.content[0].text
    assert missing.is_error
    assert "there is no order 1" in missing.content[0].text


async def test_a_known_caller_is_welcomed_back_and_connected(example: Any) -> None:
    async with TestCall(example("phone").Office, parameters={"from": "+15550123"}) as call:
        call.expect_words("Welcome back")
        call.model_will("I connect you.", Calls("connect"))
        await call.says("a colleague, please")
        assert call.transferred_to == "reception"


async def test_the_voice_of_tones_speaks_word_by_word(example: Any) -> None:
    example("own_voice")
    config = load(EXAMPLES / "own_voice.toml", {})
    voice = build_engine("synthesizer", config.synthesizer, config.source, "synthesizer")
    pieces = [piece async for piece in voice.speak("Two tuna.")]
    assert [len(piece.samples) for piece in pieces] == [3 * 1440, 4 * 1440]
    loudest = max(int(np.abs(piece.samples).max()) for piece in pieces) / 32_768
    assert 0.1 < loudest <= 0.2


async def test_the_application_has_its_own_page_and_the_server(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOICE_CONFIG", str(write_config(tmp_path)))
    monkeypatch.syspath_prepend(str(tmp_path))
    app = example("mounted").app
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport) as http:
        shop, orders, health, page = [
            await http.get(f"http://shop{path}") for path in ("/shop", "/orders", "/health", "/")
        ]
    assert "Talk to us" in shop.text
    assert orders.json() == []
    assert health.json()["status"] == "ready"
    assert "<title>" in page.text
