"""Models trained for one prompt: ignored settings are reported once."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from llmcore.engine import LlmError, Message, Request, Tool, ToolCall
from llmcore.text.chat_template import ChatTemplate, TrainedFor, fingerprint
from llmcore.text.chat_tokens import ChatTokens

CHATML = """
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""
CHAT = (Message("system", "Be brief."), Message("user", " Hello "))


def chatml() -> ChatTemplate:
    return ChatTemplate(CHATML, {})


def test_the_generation_prompt_opens_the_next_message() -> None:
    opened = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
    assert chatml().render(CHAT) == opened + "<|im_start|>assistant\n"
    assert chatml().render(CHAT, generation_prompt=False) == opened


def test_an_unfinished_message_has_no_closing_mark() -> None:
    text = chatml().render_unfinished((*CHAT[:-1], Message("user", "I would")))
    assert text.endswith("<|im_start|>user\nI would")


def test_an_empty_unfinished_message_is_its_opening_mark() -> None:
    assert chatml().render_unfinished((Message("user", ""),)) == "<|im_start|>user\n"


def test_tools_come_as_openai_functions() -> None:
    template = ChatTemplate("{{ tools | tojson }}", {})
    rendered = json.loads(template.render(CHAT, [Tool("go", "Goes <far>.", {"type": "object"})]))
    function = {"name": "go", "description": "Goes <far>.", "parameters": {"type": "object"}}
    assert rendered == [{"type": "function", "function": function}]


def test_without_tools_the_template_sees_none() -> None:
    assert ChatTemplate("{{ tools is none }}", {}).render(CHAT) == "True"


def test_json_is_not_escaped_for_html() -> None:
    template = ChatTemplate("{{ messages[0].content | tojson }}", {})
    assert template.render((Message("user", "<a> & 'é'"),)) == "\"<a> & 'é'\""


def test_the_arguments_of_a_call_are_an_object_again() -> None:
    template = ChatTemplate("{{ messages[0].tool_calls[0].function.arguments.room }}", {})
    call = ToolCall("call_1", "go", '{"room": "seven"}')
    assert template.render((Message("assistant", "", (call,)),)) == "seven"


def test_arguments_that_are_no_json_stay_as_they_are() -> None:
    template = ChatTemplate("{{ messages[0].tool_calls[0].function.arguments }}", {})
    assert template.render((Message("assistant", "", (ToolCall("1", "go", "{oops"),)),)) == "{oops"


def test_what_a_tool_said_carries_the_name_of_the_tool() -> None:
    template = ChatTemplate("{{ messages[1].name }}", {})
    asked = Message("assistant", "", (ToolCall("call_1", "go", "{}"),))
    assert template.render((asked, Message("tool", "gone", tool_call_id="call_1"))) == "go"


def test_special_tokens_have_their_names() -> None:
    assert ChatTemplate("{{ bos_token }}", {"bos_token": "<s>"}).render(CHAT) == "<s>"


def test_generation_blocks_and_loop_controls_are_known() -> None:
    source = "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}"
    template = ChatTemplate(source + "{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}", {})
    assert template.render(CHAT) == "Be brief."


def test_what_a_template_refuses_is_an_llm_error() -> None:
    template = ChatTemplate("{{ raise_exception('roles must alternate') }}", {})
    with pytest.raises(LlmError, match="roles must alternate"):
        template.render(CHAT)


def test_a_template_that_does_not_compile_is_an_llm_error() -> None:
    with pytest.raises(LlmError, match="does not compile"):
        ChatTemplate("{% for %}", {})


def test_a_template_cannot_reach_outside_its_sandbox() -> None:
    with pytest.raises(LlmError):
        ChatTemplate("{{ messages.__class__.__mro__[1].__subclasses__() }}", {}).render(CHAT)


def test_a_template_that_leaves_the_last_message_out_cannot_render_it_unfinished() -> None:
    with pytest.raises(LlmError, match="user"):
        ChatTemplate("nothing", {}).render_unfinished(CHAT)


def write(directory: Path, config: dict[str, object]) -> None:
    (directory / "tokenizer_config.json").write_text(json.dumps(config))


def test_a_directory_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"chat_template": "{{ eos_token }}", "eos_token": {"content": "</s>"}, "bos_token": None})
    assert ChatTemplate.from_directory(tmp_path).render(CHAT) == "</s>"


def test_of_several_templates_the_default_is_taken(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    write(tmp_path, {"chat_template": named})
    assert ChatTemplate.from_directory(tmp_path).render(CHAT) == "plain"


def test_a_template_in_a_file_of_its_own_comes_first(tmp_path: Path) -> None:
    write(tmp_path, {"chat_template": "old"})
    (tmp_path / "chat_template.jinja").write_text("new")
    assert ChatTemplate.from_directory(tmp_path).render(CHAT) == "new"


@pytest.mark.parametrize("content", ["{}", "not json", None])
def test_a_directory_without_a_template_is_an_error_naming_the_file(
    tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(LlmError, match=r"tokenizer_config\.json"):
        ChatTemplate.from_directory(tmp_path)


OWN = "You are the front desk."
TAXI, LAMP = (Tool(name, "", {}) for name in ("order_taxi", "turn_on_lamp"))


@pytest.fixture
def trained() -> TrainedFor:
    return TrainedFor(fingerprint(OWN), ["order_taxi"])


def asked(system: str, *tools: Tool) -> Request:
    return Request((Message("system", system), Message("user", "Hello.")), tools=tools)


def test_its_own_prompt_and_tools_fit(trained: TrainedFor) -> None:
    assert trained.misfits(asked(OWN, TAXI)) == []


def test_no_instructions_are_none_that_it_does_not_follow(trained: TrainedFor) -> None:
    assert trained.misfits(Request((Message("user", "Hello."),))) == []


def test_other_instructions_are_named(trained: TrainedFor) -> None:
    (misfit,) = trained.misfits(asked("You sell pizza.", TAXI))
    assert "'You sell pizza.'" in misfit


def test_other_tools_are_named_beside_those_that_it_calls(trained: TrainedFor) -> None:
    assert trained.misfits(asked(OWN, TAXI, LAMP)) == ["the tools turn_on_lamp; it calls: order_taxi"]


def test_each_is_warned_of_once_by_whoever_reads_the_prompt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"chat_template": "{{ messages[0].content }}"}
    config["trained_for"] = {"instructions_sha256": fingerprint(OWN), "tools": []}  # type: ignore[assignment]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    chat = ChatTokens(ChatTemplate.from_directory(tmp_path), lambda text: [0], 100)
    with caplog.at_level(logging.WARNING):
        for system in (OWN, "You sell pizza.", "You sell pizza."):
            chat.prompt(Request((Message("system", system),), max_tokens=10))
    (warning,) = caplog.messages
    assert "does not follow the instructions 'You sell pizza.', only its own" in warning
