"""After any events, a call's prompts are rendered completely by every chat template: small strict ones, and
those of real models from packages.
"""

from __future__ import annotations

from functools import cache

import pytest
from call_prompts import different, prompts_of, prompts_of_calls
from call_settings import call_settings
from conversation_moves import CALLS, FORGETFUL, LOOK, SCRIPTS, run
from hypothesis import example, given, settings
from package_templates import package_templates
from strict_templates import STRICT

from llmcore.engine import Message, Request
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens
from llmcore.text.shape_learning import TOOL, learn_from_template
from voiceagent.conversation.settings import CallSettings

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
TEMPLATES = package_templates()
REAL_CALLS = 120


class Reader:
    """Renderer of prompts as text, with one template."""

    def __init__(self, source: str) -> None:
        self.template = ChatTemplate(source, TOKENS)
        self.chat = ChatTokens(self.template, self._encode, 1_000_000, shapes=self.template.learn_shapes())
        self._latest = ""

    def _encode(self, text: str) -> list[int]:
        self._latest = text
        return [0]

    def prompt(self, messages: tuple[Message, ...], with_tools: bool) -> str:
        """Return the prompt. Raises LlmError if the template refuses it."""
        self.chat.prompt(Request(messages, (TOOL,) if with_tools else ()))
        return self._latest

    def unfinished(self, messages: tuple[Message, ...]) -> str:
        """Return the beginning of the prompt, up to the user's last words."""
        self.chat.unfinished(Request(messages))
        return self._latest


def assert_whole(prompt: str, messages: tuple[Message, ...]) -> None:
    """Assert that all texts are present and in order; the first system message may be anywhere."""
    end = 0
    for index, message in enumerate(messages):
        words = message.content.strip()
        if index == 0 and message.role == "system":
            assert words in prompt
            continue
        place = prompt.find(words, end)
        assert place >= 0, f"{message.role} {words!r} is not in its place in {prompt!r}"
        end = place + len(words)
        names = [call.name for call in message.tool_calls]
        assert all(prompt.count(name) >= names.count(name) for name in names), "calls are there by their name"


@pytest.mark.parametrize("name", STRICT)
@settings(max_examples=40, deadline=None)
@given(call=CALLS, script=SCRIPTS)
@example(
    # the client answers one of two calls of the agent's own tools
    call=call_settings(instructions="", agent="Clerk", agent_tools=(LOOK,)),
    script=[("respond", 0), ("tool", 1), ("output", 0)],
)
def test_every_prompt_of_a_call_is_rendered_whole_by_a_strict_template(
    name: str, call: CallSettings, script: list[tuple[str, int]]
) -> None:
    reader = strict_reader(name)
    for messages in different([*prompts_of(run(call, script)), *prompts_of(run(call, script, FORGETFUL))]):
        assert_whole(reader.prompt(messages, with_tools=True), messages)
        assert_whole(reader.prompt(messages, with_tools=False), messages)


@cache
def strict_reader(name: str) -> Reader:
    return Reader(STRICT[name].source)


@cache
def real_prompts() -> list[tuple[Message, ...]]:
    return prompts_of_calls(REAL_CALLS)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_prompt_of_a_call_is_rendered_whole_by_the_template_of_a_model(name: str) -> None:
    reader = reader_of_model(name)
    for messages in real_prompts():
        assert_whole(reader.prompt(messages, with_tools=True), messages)


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_is_read_ahead_begins_the_prompt_of_the_template_of_a_model(name: str) -> None:
    reader = reader_of_model(name)
    for messages in filter(None, real_prompts()):
        before = messages[:-1] if messages[-1].role in ("user", "system") else messages
        if any(message.role == "system" for message in before[1:]):
            continue
        ahead = reader.unfinished((*before, Message("user", "Is there")))
        assert reader.prompt((*before, Message("user", "Is there a ship?")), with_tools=False).startswith(
            ahead
        )


def reader_of_model(name: str) -> Reader:
    reader = Reader(TEMPLATES[name])
    template = reader.template
    learned = learn_from_template(
        lambda messages, tools, shapes, opened: template.render(messages, tools, opened, shapes)
    )
    if learned is None:
        pytest.skip("it takes no messages of plain text, or none without tools, or keeps no roles")
    return reader


def test_such_calls_have_prompts_of_many_orders() -> None:
    prompts = list(filter(None, prompts_of_calls(REAL_CALLS)))
    assert any(message.tool_calls and message.content for prompt in prompts for message in prompt)
    assert any(len(message.tool_calls) > 1 for prompt in prompts for message in prompt)
    assert any(prompt[0].role == "assistant" for prompt in prompts)
    assert any(prompt[-1].role == "assistant" for prompt in prompts)
    assert any(prompt[-1].role == "system" for prompt in prompts)
