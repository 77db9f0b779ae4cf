"""Small chat templates, each with the requirements of a family of models, and the shapes that it refuses.

They are written for these tests. `test_real_templates.py` tests the models' own templates, from packages.
"""

from __future__ import annotations

from typing import NamedTuple

from llmcore.text.message_shapes import Shape


class StrictTemplate(NamedTuple):
    """A template's source, and the shapes that it refuses or renders wrongly."""

    source: str
    refused: frozenset[Shape]


_CALLS = "{% for call in m.tool_calls %}<call>{{ call.function | tojson }}</call>{% endfor %}"
_HEADER = "{% if tools %}<tools>{{ tools | tojson }}</tools>\n{% endif %}"
_OPENED = "{% if add_generation_prompt %}<assistant>{% endif %}"

FREE = f"""{_HEADER}
{{%- for m in messages -%}}
<{{{{ m.role }}}}>{{{{ m.content }}}}{{% if m.tool_calls %}}{_CALLS}{{% endif %}}</{{{{ m.role }}}}>
{{%- endfor %}}{_OPENED}"""

ALTERNATING = f"""{_HEADER}
{{%- if messages[0].role == "system" %}}<s>{{{{ messages[0].content }}}}</s>
{{%- set rest = messages[1:] %}}{{% else %}}{{% set rest = messages %}}{{% endif %}}
{{%- set turns = namespace(count=0) %}}
{{%- for m in rest %}}
{{%- if m.role == "user" or (m.role == "assistant" and not m.tool_calls) %}}
{{%- if (m.role == "user") != (turns.count % 2 == 0) %}}
{{{{- raise_exception("user and assistant have to alternate") }}}}
{{%- endif %}}
{{%- set turns.count = turns.count + 1 %}}<{{{{ m.role }}}}>{{{{ m.content }}}}</{{{{ m.role }}}}>
{{%- elif m.tool_calls %}}
{{%- if m.content %}}{{{{ raise_exception("a message has either content or tool calls") }}}}{{% endif %}}
{{%- for call in m.tool_calls %}}
{{%- if call.id | length != 9 %}}{{{{ raise_exception("an id of a tool call has length 9") }}}}{{% endif %}}
{{%- endfor %}}{_CALLS}
{{%- elif m.role == "tool" %}}<tool>{{{{ m.content }}}}</tool>
{{%- else %}}{{{{ raise_exception("only user and assistant roles are taken here") }}}}
{{%- endif %}}
{{%- endfor %}}
{{%- if add_generation_prompt and messages[-1].role == "assistant" %}}
{{{{- raise_exception("the last message has to be the user's or a tool's") }}}}
{{%- endif %}}{_OPENED}"""

SYSTEM_FIRST = f"""{_HEADER}
{{%- if not messages | selectattr("role", "equalto", "user") | list %}}
{{{{- raise_exception("there is no user query") }}}}
{{%- endif %}}
{{%- for m in messages %}}
{{%- if m.role == "system" and not loop.first %}}
{{{{- raise_exception("a system message is the first one") }}}}
{{%- endif %}}
<{{{{ m.role }}}}>{{{{ m.content }}}}{{% if m.tool_calls %}}{_CALLS}{{% endif %}}</{{{{ m.role }}}}>
{{%- endfor %}}{_OPENED}"""

NO_SYSTEM = f"""
{{%- for m in messages %}}
{{%- if m.role == "system" %}}{{{{ raise_exception("there is no system role") }}}}{{% endif %}}
{{%- if (m.role == "user") != (loop.index0 % 2 == 0) %}}
{{{{- raise_exception("user and assistant have to alternate") }}}}
{{%- endif %}}<{{{{ m.role }}}}>{{{{ m.content }}}}</{{{{ m.role }}}}>
{{%- endfor %}}{_OPENED}"""

ONE_CALL = f"""
{{%- if messages[0].role == "system" %}}<system>{{{{ messages[0].content }}}}</system>
{{%- set messages = messages[1:] %}}{{% endif %}}
{{%- if tools %}}
{{%- if not messages %}}{{{{ raise_exception("tools stand in the first user message") }}}}{{% endif %}}
{{%- set first = messages[0].content %}}{{% set messages = messages[1:] %}}
<user>{_HEADER}{{{{ first }}}}</user>{{% endif %}}
{{%- for m in messages %}}
{{%- if m.tool_calls %}}
{{%- if m.tool_calls | length > 1 %}}{{{{ raise_exception("single tool calls only") }}}}{{% endif %}}{_CALLS}
{{%- else %}}<{{{{ m.role }}}}>{{{{ m.content }}}}</{{{{ m.role }}}}>{{% endif %}}
{{%- endfor %}}{_OPENED}"""

CALLS_WITHOUT_CONTENT = f"""{_HEADER}
{{%- for m in messages %}}
{{%- if m.role == "assistant" and m.content is none %}}
{{%- for call in m.tool_calls %}}{{{{ "<call>" + call.function.name + " " }}}}
{{{{- call.function.arguments + "</call>" }}}}{{% endfor %}}
{{%- else %}}<{{{{ m.role }}}}>{{{{ m.content }}}}</{{{{ m.role }}}}>{{% endif %}}
{{%- endfor %}}{_OPENED}"""

STRICT: dict[str, StrictTemplate] = {
    "free": StrictTemplate(FREE, frozenset()),
    "alternating": StrictTemplate(
        ALTERNATING,
        frozenset(
            {
                "later_system",
                "assistant_first",
                "assistant_last",
                "assistant_twice",
                "words_with_calls",
                "user_after_tool",
                "long_ids",
                "odd_ids",
            }
        ),
    ),
    "system_first": StrictTemplate(SYSTEM_FIRST, frozenset({"later_system", "assistant_first"})),
    "no_system": StrictTemplate(
        NO_SYSTEM, frozenset({"system", "later_system", "assistant_first", "tool_messages"})
    ),
    "one_call": StrictTemplate(
        ONE_CALL, frozenset({"assistant_first", "parallel_calls", "words_with_calls"})
    ),
    "calls_without_content": StrictTemplate(
        CALLS_WITHOUT_CONTENT, frozenset({"words_with_calls", "empty_content", "object_arguments"})
    ),
}
