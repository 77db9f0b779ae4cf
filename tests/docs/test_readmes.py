"""Every command and snippet of the READMEs: run where that takes seconds, else checked as far as can be.

What is not run is named in `readmes.NOT_RUN`, with the reason; a command that is neither run nor named fails.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fixed_config import write_config
from openai.resources.live.live import AsyncLiveConnectionManager
from readmes import (
    COMMANDS,
    NOT_RUN,
    PATIENCE_S,
    READMES,
    ROOT,
    RUN,
    prepared,
    snippet,
    snippet_with,
    snippets,
)
from served import served

from voiceagent.agents import Agent, tool
from voiceagent.cli.main import _parser, main
from voiceagent.config.tables import Config, load
from voiceagent.evals.folder import read_scenarios, read_settings
from voiceagent.testing import Calls, TestCall

pytestmark = pytest.mark.timeout(2 * PATIENCE_S)

BIN = Path(sys.executable).parent


@pytest.mark.parametrize("readme", READMES, ids=lambda each: str(each.relative_to(ROOT)))
def test_links_lead_to_what_is_there(readme: Path) -> None:
    links = re.findall(
        r"\]\((?!https?:|#)([^)#]+)[^)]*\)", re.sub(r"```.*?```", "", readme.read_text(), flags=re.DOTALL)
    )
    assert [link for link in links if not (readme.parent / link).exists()] == []


@pytest.mark.parametrize("readme", READMES, ids=lambda each: str(each.relative_to(ROOT)))
def test_links_to_sections_lead_to_headings(readme: Path) -> None:
    text = re.sub(r"```.*?```", "", readme.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", text)
    missing = [
        f"{page}#{section}"
        for page, section in links
        if section not in _anchors(readme.parent / page if page else readme)
    ]
    assert missing == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("readme", READMES, ids=lambda each: str(each.relative_to(ROOT)))
def test_each_line_of_a_shell_block_is_a_command(readme: Path) -> None:
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", readme.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]
    programs = {"export", "make", "pip", "python", "uvicorn", "voiceagent"}
    first_words = [re.sub(r"^([A-Z_]+=\S+ +)*(\.venv/bin/)?", "", line).split()[0] for line in lines]
    unknown = [word for word in first_words if word not in programs and not word.startswith(("#", ".ci/"))]
    assert unknown == []


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("voiceagent ")])
def test_a_command_of_ours_has_these_options(command: str) -> None:
    words = [word for word in shlex.split(command)[1:] if word != "..."]
    try:
        _parser().parse_args(words)
    except SystemExit as ended:
        assert ended.code == 0, "it is no command of ours"


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("make ")])
def test_make_knows_the_target(command: str) -> None:
    words = shlex.split(command)
    done = subprocess.run([words[0], "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("pip install ")])
def test_the_extras_that_are_installed_are_there(command: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for wanted in re.findall(r"voiceagent-server\[([\w,-]+)\]", command):
        assert set(wanted.split(",")) <= set(extras)


def test_a_script_is_where_it_is_said_to_be() -> None:
    scripts = [shlex.split(command)[1] for command in COMMANDS if command.startswith("python tests/")]
    assert scripts
    assert [script for script in scripts if not (ROOT / script).exists()] == []


@pytest.mark.parametrize("command", [command for command in RUN if command.startswith("voiceagent ")])
def test_a_command_of_ours_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here in this process, which has imported what it needs; `test_wheel.py` starts processes for them."""
    words = prepared(command, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(words[1:]) == 0


@pytest.mark.parametrize("command", [command for command in RUN if not command.startswith("voiceagent ")])
def test_a_command_that_takes_seconds_runs(command: str, tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    words = prepared(command, tmp_path)
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_reason_is_left_over() -> None:
    assert [begin for begin in NOT_RUN if not any(re.match(begin, command) for command in COMMANDS)] == []


ELSEWHERE = {
    "import numpy as np": "test_conformance.py runs the engines",
    "class Brain(": "the same",
    "class Tones(": "the same",
    "from starlette.applications": "test_create_app.py mounts it",
    "import asyncio": "below, against a server",
    "from voiceagent.agents import": "below, with its test",
    "async with TestCall": "below, with its agent",
    "from voiceagent.agents.capture": "below, in a call",
    "from openai import AsyncOpenAI": "tests/e2e/test_live.py calls the server with it",
    "class Orders(Agent)": "below, with sounds",
    "import sys": "tests/e2e/test_agents_realtime.py calls the server with it",
}


def test_every_snippet_of_python_is_run_somewhere() -> None:
    unknown = [name for name, block in snippets("python") if not block.startswith(tuple(ELSEWHERE))]
    assert unknown == []


async def test_agent_of_the_guide_plays_sounds_beside_its_speech() -> None:
    class Shop:
        async def find(self, number: int) -> str:
            heard.append(call.sounds)
            return f"order {number} is on its way"

    heard: list[tuple[str, ...]] = []
    names: dict[str, Any] = {"Agent": Agent, "tool": tool, "shop": Shop()}
    exec(compile(snippet("class Orders(Agent)"), "agents.md", "exec", dont_inherit=True), names)
    async with TestCall(names["Orders"], clock="virtual") as call:
        call.model_will(Calls("find_order", number=7), "It is on its way.")
        await call.says("where is order seven")
        assert (heard, call.sounds) == ([("room", "hold")], ("room",))


async def test_readmes_agent_passes_readmes_test(tmp_path: Path) -> None:
    agent, test = snippet("from voiceagent.agents"), snippet("async with TestCall")
    body = "".join(f"    {line}\n" for line in test.splitlines())
    head = "from voiceagent.testing import Calls, TestCall\n"
    names: dict[str, object] = {"__name__": "shop"}
    exec(
        compile(
            f"{agent.replace('from __future__', '#')}\n{head}\nasync def check():\n{body}", "shop", "exec"
        ),
        names,
    )
    await names["check"]()  # type: ignore[operator]


async def test_the_agent_that_captures_an_address_captures_it() -> None:
    names: dict[str, Any] = {"__name__": "billing"}
    exec(compile(snippet("from voiceagent.agents.capture"), "billing", "exec"), names)
    async with TestCall(names["Billing"]) as call:
        call.model_will(Calls("send_bill"), "It is on its way.")
        assert await call.says("send me the bill") == "What is your e-mail address?"
        await call.says("bob at gmail dot com")
        assert await call.says("yes") == "It is on its way."
        assert call.expect_tool("send_bill") == "sent to bob@gmail.com"


def test_the_lines_of_the_agent_and_its_peers_are_counted_right() -> None:
    agent = snippet("from voiceagent.agents")
    peers = [(ROOT / f"tests/bench/shop_{peer}.py").read_text() for peer in ("pipecat", "livekit")]
    text = (ROOT / "docs/agents.md").read_text()
    sentences = text.split("\n## The same agent elsewhere")[1].split("\n\n")[1]
    told = [int(number) for number in re.findall(r"\b\d+\b", sentences)[:3]]
    assert told == [sum(map(bool, map(str.strip, text.splitlines()))) for text in (*peers, agent)]


@pytest.mark.parametrize("greeting", ["", "Good morning, this is the front desk."])
async def test_readmes_client_hears_an_answer_of_the_server(tmp_path: Path, greeting: str) -> None:
    client, config = snippet_with("call.response.cancel()"), write_config(tmp_path)
    config.write_text(config.read_text().replace("[agent]", f'[agent]\ngreeting = "{greeting}"', 1))
    async with served(config) as address:
        script = tmp_path / "client.py"
        script.write_text(client.replace("127.0.0.1:8080", address))
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, script],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    *greeted, answer = done.stdout.splitlines()
    assert len(greeted) == bool(greeting) and all(map(greeting.startswith, greeted))
    assert len(answer.split()) > 2 and not greeting.startswith(answer)


async def test_live_client_of_the_docs_starts_a_session(tmp_path: Path) -> None:
    async with served(write_config(tmp_path)) as address:
        script = tmp_path / "client.py"
        script.write_text(snippet_with("connection.session.start(").replace("localhost:8080", address))
        client = await asyncio.create_subprocess_exec(
            *(sys.executable, "-u", script), stdout=asyncio.subprocess.PIPE
        )
        assert client.stdout is not None
        assert await asyncio.wait_for(client.stdout.readline(), PATIENCE_S) == b"session.started\n"
        client.kill()
        await client.wait()


EVALS = "docs/evals.md"
"""Its snippets are two scenarios and the settings of a folder."""


def test_the_snippets_of_evals_are_scenarios_and_settings(tmp_path: Path) -> None:
    milk, tuna, settings = [block for name, block in snippets("toml") if name.startswith(EVALS)]
    (tmp_path / "milk.toml").write_text(milk)
    (tmp_path / "two_tuna.toml").write_text(tuna)
    (tmp_path / "eval.toml").write_text(settings)
    assert [read.file.expect.tools[0].name for read in read_scenarios(tmp_path)] == ["take_note", "add"]
    assert read_settings(tmp_path).judge is not None


@pytest.mark.parametrize(
    ("name", "block"), [each for each in snippets("toml") if not each[0].startswith(EVALS)]
)
def test_a_snippet_of_the_configuration_has_keys_that_are_there(name: str, block: str) -> None:
    def known(table: dict[str, object], model: type, path: str) -> None:
        for key, value in table.items():
            fields = getattr(model, "model_fields", {})
            assert key in fields, f"{path}{key}"
            inner = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
            if isinstance(value, dict) and str(fields[key].annotation).startswith("dict["):
                inner = list(value.values())  # tables by name, such as [languages.de]
            kinds = re.findall(r"[\w.]+", str(fields[key].annotation))
            for each in inner:
                if isinstance(each, dict):
                    found = next(
                        (kind for kind in models() if kind.__name__ in {k.split(".")[-1] for k in kinds}),
                        None,
                    )
                    if found is not None and found.model_config.get("extra") != "allow":
                        known(each, found, f"{path}{key}.")

    known(tomllib.loads(block), Config, "")


def models() -> list[type]:
    """All tables there are."""
    from voiceagent.validation.section import Section  # noqa: PLC0415

    found, left = [], [Section]
    while left:
        kind = left.pop()
        found.append(kind)
        left += kind.__subclasses__()
    return found


def test_the_configuration_to_begin_with_loads(tmp_path: Path) -> None:
    block = next(block for _, block in snippets("toml") if "instructions_from" in block)
    (tmp_path / "prompt.md").write_text("You are a friendly voice assistant.")
    (tmp_path / "my.toml").write_text(block)
    assert load(tmp_path / "my.toml").llm.engine == "openai"


async def test_client_of_the_docs_that_loses_its_connection_goes_on_with_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One session, which says the rest of its greeting on the second connection."""
    kinds: asyncio.Queue[str] = asyncio.Queue()
    connections: list[Any] = []
    enter = AsyncLiveConnectionManager.__aenter__

    async def entered(manager: AsyncLiveConnectionManager) -> Any:
        connections.append(await enter(manager))
        return connections[-1]

    monkeypatch.setattr(AsyncLiveConnectionManager, "__aenter__", entered)
    config = write_config(tmp_path)
    config.write_text(
        config.read_text().replace(
            "[agent]", '[agent]\ngreeting = "Good morning, this is the front desk."', 1
        )
    )
    async with served(config) as address:
        client = snippet_with("on_reconnecting=").replace("localhost:8080", address)
        names: dict[str, Any] = {"print": kinds.put_nowait}
        exec(client.replace("asyncio.run(main())", ""), names)
        calling = asyncio.create_task(names["main"]())
        async with asyncio.timeout(PATIENCE_S):
            assert await kinds.get() == "session.started"
            assert (await kinds.get()).startswith("session.output_")
            lost = connections[0]._connection
            lost.transport.abort()
            while connections[0]._connection is lost:
                assert (await kinds.get()).startswith("session.output_")
            assert (await kinds.get()).startswith("session.output_")
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
