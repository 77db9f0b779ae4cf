"""Conversion of a chat to the text that the demo model reads.

Every message is `<|role|>content<|end|>`. The marks are single tokens, so the text between two of them is
tokenized separately: adding a turn never changes earlier tokens, as prefix caching requires. Only the names
of tools are written: the model knows its own by heart, and calls no others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

SYSTEM, USER, ASSISTANT, TOOL = "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"
END = "<|end|>"
MARKS = (SYSTEM, USER, ASSISTANT, TOOL, END)

CALL = "\n<tool_call>{}</tool_call>"  # as Hermes writes one

# The text of a message cannot forge a mark: "<|" in it is written "< |".
TEMPLATE = """
{%- macro text(content) -%}
{%- set parts = [{'text': content}] if content is string else content or [] -%}
{%- set joined %}{% for part in parts %}{{ part.text or '' }}{% endfor %}{% endset -%}
{{ joined | trim | replace('<|', '< |') }}
{%- endmacro -%}
{%- macro tool_list() -%}
{%- for tool in tools -%}
{{ ('\\n' if loop.first else ', ') ~ (tool.function or tool).name | replace('<|', '< |') }}
{%- endfor -%}
{%- endmacro -%}
{%- if tools and (not messages or messages[0].role not in ('system', 'developer')) -%}
<|system|>{{ tool_list() }}<|end|>
{%- endif -%}
{%- for message in messages -%}
{%- if message.role in ('system', 'developer') -%}
<|system|>{{ text(message.content) }}{{ tool_list() if tools and loop.first }}<|end|>
{%- elif message.role == 'tool' -%}
<|tool|>{{ text(message.content) }}<|end|>
{%- elif message.role == 'assistant' -%}
<|assistant|>{{ text(message.content) }}
{%- for call in message.tool_calls or () -%}
{{ '\\n<tool_call>' ~ ((call.function or call) | tojson) | replace('<|', '< |') ~ '</tool_call>' }}
{%- endfor -%}<|end|>
{%- else -%}
<|user|>{{ text(message.content) }}<|end|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
""".strip()

_environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
# As transformers and vLLM write JSON in a template: keys in their order, nothing escaped for HTML.
_environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
_template = _environment.from_string(TEMPLATE)


def render(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = True,
) -> str:
    """Render messages as OpenAI's chat completions have them: `role`, `content`, perhaps `tool_calls`."""
    return _template.render(messages=messages, tools=tools, add_generation_prompt=add_generation_prompt)


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text between a message's mark and its end, as the template writes it: content,
    calls, and tool names.
    """
    calls = (CALL.format(json.dumps(call, ensure_ascii=False)) for call in message.get("tool_calls", ()))
    names = ", ".join(message.get("tools", ()))
    content: str = message["content"]
    return content.strip() + "".join(calls) + (f"\n{names}" if names else "")
