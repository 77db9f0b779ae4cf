"""Renderer of Hugging Face chat templates: the text format of a conversation that a model was trained on.

The "Chat templates" chapter of the Transformers documentation describes the format and what a template may
use. Implemented without Transformers, which the light installation lacks, and in a sandbox, because a
template is code that comes with a model.

A small model trained for one purpose follows no other instructions and calls no other tools. Its
tokenizer_config.json says so: `"trained_for": {"instructions_sha256": "...", "tools": ["order_taxi", ...]}`,
with `"parallel_tool_calls": false` if it never calls two tools in one reply.
"""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from llmcore.engine import LlmError, Message, Request, RequestError, Tool, ToolCall
from llmcore.text.control_marks import leaves_thought_open
from llmcore.text.message_shapes import ANY_SHAPE, Shapes
from llmcore.text.shape_learning import learn_from_template

log = logging.getLogger(__name__)

_REMEMBERED = 1_000
"""Warnings remembered, so as not to repeat them."""
# Marks the end of an unfinished message. Private-use characters, which no template changes.
_END_MARK = "\ue0f0\ue0f1\ue0f2"
_SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token")


class TrainedFor:
    """Prompt that a model was trained for.

    instructions_sha256: digest of the system prompt, in hex. tools: names of the tools that it calls.
    parallel_tool_calls: True if one reply may contain several calls, so that the first does not end it.
    """

    def __init__(
        self, instructions_sha256: str, tools: Sequence[str], parallel_tool_calls: bool = True
    ) -> None:
        self.parallel_tool_calls = parallel_tool_calls
        self._instructions = instructions_sha256
        self._tools = frozenset(tools)
        self._logged: set[str] = set()

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> TrainedFor | None:
        """Read the content of tokenizer_config.json; None for a general model."""
        table = config.get("trained_for")
        if table is None:
            return None
        return cls(table["instructions_sha256"], table["tools"], table.get("parallel_tool_calls", True))

    def misfits(self, request: Request) -> list[str]:
        """Return the parts of a request that the model does not follow, as text."""
        found = []
        system = next((message.content for message in request.messages if message.role == "system"), "")
        if system and fingerprint(system) != self._instructions:
            found.append(f"the instructions {system[:60]!r}, only its own")
        if foreign := sorted({tool.name for tool in request.tools} - self._tools):
            known = ", ".join(sorted(self._tools)) or "none"
            found.append(f"the tools {', '.join(foreign)}; it calls: {known}")
        return found

    def warn(self, request: Request) -> None:
        """Log each part of a request that the model does not follow, once."""
        for misfit in self.misfits(request):
            if misfit not in self._logged and len(self._logged) < _REMEMBERED:
                self._logged.add(misfit)
                log.warning("this model was trained for one prompt, and does not follow %s", misfit)


def fingerprint(instructions: str) -> str:
    """Return the digest of a system prompt, as in `trained_for`."""
    return sha256(instructions.strip().encode()).hexdigest()


class _GenerationBlock(Extension):
    """Extension for `{% generation %}`, which marks training text; its content is rendered."""

    tags = {"generation"}  # noqa: RUF012 - jinja declares it as an instance attribute

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    # Jinja's own filter escapes for HTML, which models were not trained on.
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _now(pattern: str) -> str:
    return datetime.datetime.now().strftime(pattern)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _GenerationBlock]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment


class ChatTemplate:
    """A compiled template and its special tokens. Raises LlmError if it does not compile.

    trained_for: set for a model that was trained for one prompt.
    """

    def __init__(
        self, source: str, special_tokens: Mapping[str, str], trained_for: TrainedFor | None = None
    ) -> None:
        self.source = source
        self.special_tokens = dict(special_tokens)
        self.trained_for = trained_for
        try:
            self._template = _environment().from_string(source)
        except TemplateError as error:
            raise LlmError(f"the chat template does not compile: {error}") from error

    @classmethod
    def from_directory(cls, model: Path) -> ChatTemplate:
        """Read `tokenizer_config.json`, and `chat_template.jinja` if it exists. Raises LlmError."""
        file = model / "tokenizer_config.json"
        try:
            config = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LlmError(f"cannot read the chat template from {file}: {error}") from error
        separate = model / "chat_template.jinja"
        source = separate.read_text(encoding="utf-8") if separate.is_file() else config.get("chat_template")
        if isinstance(source, list):  # several by name
            source = {entry["name"]: entry["template"] for entry in source}.get("default")
        if not isinstance(source, str):
            raise LlmError(f'{file} has no "chat_template": this is not a chat model')
        tokens = {name: _token_text(config[name]) for name in _SPECIAL_TOKENS if config.get(name)}
        return cls(source, tokens, TrainedFor.from_config(config))

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        generation_prompt: bool = True,
        shapes: Shapes = ANY_SHAPE,
    ) -> str:
        """Return the text of a conversation. Raises LlmError.

        generation_prompt: open the assistant's next message. shapes: forms of calls to avoid; the order of
        messages is not changed.
        """
        try:
            return self._template.render(
                messages=_as_chat(messages, shapes),
                tools=[_as_function(tool) for tool in tools] or None,
                add_generation_prompt=generation_prompt,
                **self.special_tokens,
            )
        except (TemplateError, TypeError, ValueError, KeyError) as error:
            raise RequestError(f"the chat template refuses these messages: {error}") from error

    @cached_property
    def opens_thought(self) -> bool:
        """True if a reply begins inside a thought: the prompt ends with its opening mark."""
        try:
            return leaves_thought_open(self.render([Message("user", "Hello.")]))
        except LlmError:  # some templates require a system message
            return False

    def closing_of_user(self) -> str:
        """Return the text after a user message's content if it is the last message. Raises LlmError."""
        return self._split_at_end([Message("user", "")])[1]

    def render_unfinished(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), shapes: Shapes = ANY_SHAPE
    ) -> str:
        """Return the prompt to the last message's last word, without its closing token. Raises LlmError."""
        return self._split_at_end(messages, tools, shapes)[0]

    def learn_shapes(self) -> Shapes:
        """Return the message shapes that this template refuses or leaves out."""
        learned = learn_from_template(
            lambda messages, tools, shapes, opened: self.render(messages, tools, opened, shapes)
        )
        if learned is None:
            log.warning("the chat template does not render a plain question and its answer whole")
            return ANY_SHAPE
        for line in learned.describe():
            log.info("the chat template: %s", line)
        return learned

    def _split_at_end(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), shapes: Shapes = ANY_SHAPE
    ) -> tuple[str, str]:
        """Return the text up to the last word of the last message, and the text after it."""
        *before, last = messages
        marked = Message(last.role, last.content + _END_MARK, last.tool_calls, last.tool_call_id)
        whole = self.render([*before, marked], tools, generation_prompt=False, shapes=shapes)
        text, found, closing = whole.rpartition(_END_MARK)
        if not found:
            raise RequestError(f"the chat template does not render the last message, of role {last.role!r}")
        return text, closing


def _token_text(token: str | Mapping[str, Any]) -> str:
    """Return a special token, stored as its text or as a mapping with its `content`."""
    return token if isinstance(token, str) else str(token["content"])


def _as_chat(messages: Sequence[Message], shapes: Shapes) -> list[dict[str, Any]]:
    """Convert messages to the form of templates: OpenAI's, but with the arguments as an object."""
    null_for_empty, as_objects = not shapes.accepts("empty_content"), shapes.accepts("object_arguments")
    names: dict[str, str] = {}
    chat: list[dict[str, Any]] = []
    for message in messages:
        entry: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            names |= {call.call_id: call.name for call in message.tool_calls}
            entry["tool_calls"] = [_as_template_call(call, as_objects) for call in message.tool_calls]
            if null_for_empty and not message.content:
                entry["content"] = None
        if message.tool_call_id is not None:
            entry["tool_call_id"] = message.tool_call_id
            entry["name"] = names.get(message.tool_call_id, "")
        chat.append(entry)
    return chat


def _as_template_call(call: ToolCall, as_object: bool) -> dict[str, Any]:
    arguments = call.arguments or "{}"
    if as_object:
        with suppress(ValueError):  # the model wrote invalid JSON: keep it as text
            arguments = json.loads(arguments)
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _as_function(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
