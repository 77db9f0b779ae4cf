"""`voiceagent new my_agent`: writes a starter agent in Python, its configuration and its test."""

from __future__ import annotations

import keyword
from importlib.util import find_spec
from pathlib import Path

from voiceagent.config import shipped_configs
from voiceagent.validation.errors import CommandFailed, reason_of

_AGENT = '''"""{title}: an agent for phone and browser."""

from voiceagent.agents import Agent, ToolFailed, tool


class {name}(Agent):
    """Takes notes. Each call has its own instance, so attributes hold the state of one call."""

    instructions = "You take notes for the caller. Be brief."
    greeting = "Hello, what can I do for you?"

    def __init__(self) -> None:
        self.notes: list[str] = []

    @tool
    async def take_note(self, text: str) -> str:
        """Write a note down, in the caller's words."""
        if not text.strip():
            raise ToolFailed("the note is empty; ask what to write down")
        self.notes.append(text)
        return f"noted; notes so far: {{len(self.notes)}}"

    @tool(when_played=True)
    async def end_call(self) -> None:
        """End the call. Say goodbye first, in the same answer."""
        self.call.hang_up()
'''

_CONFIG = """# voiceagent serve --config {module}.toml

[agent]
python = "{module}:{name}"

[recognizer]
engine = "moonshine"

# Any OpenAI-compatible server whose model calls tools.
[llm]
engine = "openai"
model = "gpt-4.1-mini"
api_key_env = "OPENAI_API_KEY"

# Without a key, to try the tools: in place of that table, answers by a script, the same in each call.
# [llm]
# engine = "voiceagent.testing:RehearsedModel"
# script = [
#   [{{ tool = "take_note", arguments = {{ text = "buy milk" }} }}, "I have written it down for you."],
#   ["Goodbye."],
# ]

[synthesizer]
engine = "espeak"

# A phone line; without auth_token_env it is this machine's alone, for `voiceagent talk --over twilio`.
# [telephony.twilio]
# auth_token_env = "TWILIO_AUTH_TOKEN"
"""

_TEST = '''"""The agent in calls without sound: pytest test_{module}.py (needs pytest alone)."""

import asyncio

from {module} import {name}

from voiceagent.testing import Calls, TestCall


def test_a_note_is_taken():
    async def call_it():
        async with TestCall({name}) as call:
            call.model_will("One moment.", Calls("take_note", text="buy milk"), "I wrote it down.")
            await call.says("please note: buy milk")
            assert call.expect_tool("take_note", text="buy milk") == "noted; notes so far: 1"
            assert call.agent.notes == ["buy milk"]
            call.expect_words("wrote it down")

    asyncio.run(call_it())


def test_the_call_is_ended():
    async def call_it():
        async with TestCall({name}) as call:
            call.model_will("Goodbye.", Calls("end_call"))
            assert await call.says("that is all") == "Goodbye."
            assert call.hung_up

    asyncio.run(call_it())
'''


_MODULES, _NAMES = frozenset({"audio", "llmcore", "pytest"}), frozenset({"ToolFailed", "Calls", "TestCall"})
"""Modules that a test needs or a clone has, and classes that the files import."""


def new_agent(module: str, folder: Path) -> list[Path]:
    """Write `<module>.py`, `<module>.toml` and `test_<module>.py`; existing files are not overwritten.

    Raises CommandFailed.
    """
    name = "".join(part.capitalize() for part in module.split("_"))
    if not (module.isascii() and module.isidentifier() and name.isidentifier()) or module != module.lower():
        raise CommandFailed(
            f"{module!r} is no name of an agent; allowed: a name of a Python module, such as my_agent"
        )
    texts = {f"{module}.py": _AGENT, f"{module}.toml": _CONFIG, f"test_{module}.py": _TEST}
    paths = [folder / path for path in texts]
    package = folder / module / "__init__.py"  # Python would import that instead of the file
    if there := [str(path) for path in (*paths, package) if path.exists()]:
        raise CommandFailed(f"{', '.join(there)}: exists already; nothing was written")
    if keyword.iskeyword(module) or module in _MODULES or name in _NAMES or _importable(module):
        raise CommandFailed(
            f"{module!r} is taken by Python or by this package; allowed: another name, such as my_agent"
        )
    title = module.replace("_", " ").capitalize()
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text.format(title=title, module=module, name=name), encoding="utf-8")
    return paths


def _importable(module: str) -> bool:
    """Return True if a module of that name exists; a folder without `__init__.py` does not count."""
    spec = find_spec(module)
    return spec is not None and spec.origin is not None


def init(kind: str, to: Path) -> None:
    """Write the shipped configuration `kind` to a new file.

    Raises CommandFailed if there is no such configuration, or the file exists.
    """
    shipped = shipped_configs()
    if kind not in shipped:
        raise CommandFailed(
            f"no configuration {kind!r}; allowed: {', '.join(shipped) or 'none is installed'}"
        )
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(shipped[kind].read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise CommandFailed(f"{to}: exists already; nothing was written") from error
    except OSError as error:
        raise CommandFailed(f"cannot write {to}: {reason_of(error)}") from error
