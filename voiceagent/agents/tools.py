"""Methods as tools: the signature defines the JSON schema and validates the model's arguments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import from_json

from llmcore.engine import Tool
from voiceagent.agents.argument_repair import repair
from voiceagent.conversation.settings import AgentTool

Method = TypeVar("Method", bound=Callable[..., Any])
SpokenResult = bool | Callable[[Any], str]
"""True, or a function that returns the words for a tool's result, "" for none."""
_MARK = "_voiceagent_tool"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""OpenAI's rule for names of functions; Anthropic's is the same."""


class WrongTool(TypeError):
    """A method cannot be a tool; the message says which and why."""


class WrongArguments(ValueError):
    """The model's arguments are invalid; the message is for the model."""


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """Options of `@tool`: see there, and `AgentTool`. name: "" for the method's."""

    name: str = ""
    cancellable: bool = False
    timeout_s: float = 30.0
    filler: str = ""
    when_played: bool = False
    speaks_result: SpokenResult = False
    model_may_cancel: bool = False


@overload
def tool(method: Method) -> Method: ...
@overload
def tool(
    *,
    name: str = ...,
    cancellable: bool = ...,
    timeout_s: float = ...,
    filler: str = ...,
    when_played: bool = ...,
    speaks_result: SpokenResult = ...,
    model_may_cancel: bool = ...,
) -> Callable[[Method], Method]: ...
def tool(
    method: Method | None = None,
    *,
    name: str = "",
    cancellable: bool = False,
    timeout_s: float = 30.0,
    filler: str = "",
    when_played: bool = False,
    speaks_result: SpokenResult = False,
    model_may_cancel: bool = False,
) -> Method | Callable[[Method], Method]:
    """Make a method of an agent a tool. Its docstring is the description for the model.

    The method is `async def`; a plain one runs in a thread. Its result is passed to the model, as JSON
    unless it is a text. Raise ToolFailed to report a failure.

    Args:
        method: The method.
        name: Name for the model, by default the method's.
        cancellable: Cancel it when the conversation continues. Otherwise it keeps running, and its result
            enters the history.
        timeout_s: Maximum run time.
        filler: Phrase for the caller while it is slow.
        when_played: Run it after the response that called it was played, and not at all if that was cut.
        speaks_result: Speak the text that it returns to the caller as it is, or what this function makes of
            its result. The model knows the result, but writes no response about it, which saves the caller
            the wait for one. A failure goes to the model, and so does a result that is not text or has no
            words.
        model_may_cancel: While it runs, offer the model the tool `cancel_tool`, which cancels it: for tools
            that take so long that the caller may change their mind.

    Raises:
        WrongTool: An option or the method is invalid.
    """
    options = ToolOptions(name, cancellable, timeout_s, filler, when_played, speaks_result, model_may_cancel)
    _check_options(options)

    def mark(method: Method) -> Method:
        if not inspect.isroutine(method) or isinstance(method, staticmethod | classmethod):
            raise WrongTool(
                f"@tool was given {method!r}; allowed: a method with self, options by name: name="
            )
        setattr(method, _MARK, options)
        return method

    return mark if method is None else mark(method)


@dataclass(frozen=True, slots=True)
class ToolMethod:
    """A tool of an agent class: description, method, model of the arguments. speaks_result: see `tool`."""

    spec: AgentTool
    method: str
    arguments: type[BaseModel]
    speaks_result: SpokenResult

    def words_for(self, result: Any) -> str:
        """Return the words to speak for a result, "" if the model speaks about it."""
        words = self.speaks_result(result) if callable(self.speaks_result) else result
        return words if self.speaks_result and isinstance(words, str) and words.strip() else ""

    def check(self, text: str) -> Mapping[str, Any]:
        """Return the keyword arguments in the model's JSON.

        Raises:
            WrongArguments: They do not fit the signature.
        """
        try:
            given = self._read(text or "{}")
        except ValidationError as error:
            faults = "; ".join(_fault(one) for one in error.errors())
            allowed = ", ".join(map(_name, self.arguments.model_fields.values())) or "none"
            raise WrongArguments(
                f"not done: wrong arguments for {self.spec.name}: {faults}; arguments: {allowed}"
            ) from error
        return {_name(field): getattr(given, key) for key, field in self.arguments.model_fields.items()}

    def _read(self, text: str) -> BaseModel:
        """Return the arguments, with what a model wrote in another form repaired. Raises ValidationError."""
        try:
            return self.arguments.model_validate_json(text)
        except ValidationError as error:
            fields = {_name(field): field for field in self.arguments.model_fields.values()}
            optional = [name for name, field in fields.items() if not field.is_required()]
            errors = error.errors()
            readable = all(one["type"] != "json_invalid" for one in errors)
            given = repair(from_json(text), errors, fields, optional) if readable else None
            if given is None:
                raise
        return self.arguments.model_validate_json(json.dumps(given))


def tools_of(kind: type) -> tuple[ToolMethod, ...]:
    """Return the tools of a class, in order of definition.

    Raises:
        WrongTool: A method with `@tool` cannot be one, or two have the same name.
    """
    marked: dict[str, ToolOptions] = {}
    for base in reversed(kind.__mro__):
        for method in vars(base):
            options = getattr(getattr(kind, method, None), _MARK, None)
            if isinstance(options, ToolOptions):
                marked[method] = options
    tools = tuple(_tool_method(kind, method, options) for method, options in marked.items())
    names = [one.spec.name for one in tools]
    for name in names:
        if names.count(name) > 1:
            raise WrongTool(f"{kind.__name__}: two tools have the name {name!r}; a name is one tool's")
    return tools


def _check_options(options: ToolOptions) -> None:
    """Raise WrongTool for an option of the wrong type: agents are not type-checked."""
    for option in ("name", "filler"):
        if not isinstance(given := getattr(options, option), str):
            raise WrongTool(f"{option} is {given!r}; allowed: a text")
    for option in ("cancellable", "when_played", "model_may_cancel"):
        if not isinstance(given := getattr(options, option), bool):
            raise WrongTool(f"{option} is {given!r}; allowed: True or False")
    if not isinstance(given := options.speaks_result, bool) and not callable(given):
        raise WrongTool(f"speaks_result is {given!r}; allowed: True, False or a function of the result")
    given = options.timeout_s
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise WrongTool(f"timeout_s is {given!r}; allowed: seconds, more than 0")


def _tool_method(kind: type, method: str, options: ToolOptions) -> ToolMethod:
    function = getattr(kind, method)
    where = f"{kind.__name__}.{method}"
    name = options.name or method
    if not _NAME.fullmatch(name):
        raise WrongTool(f"{where}: the name {name!r}; allowed by models: 1 to 64 of a-z, A-Z, 0-9, _ and -")
    _check_kind(inspect.getattr_static(kind, method), where)
    description = inspect.getdoc(function)
    if not description:
        raise WrongTool(f"{where}: a tool needs a docstring: the model reads there what it is for")
    model = _arguments_model(function, where)
    try:
        schema = model.model_json_schema(schema_generator=_Schema)
        json.dumps(schema, allow_nan=False)  # servers refuse a request with Infinity, which is no JSON
    except (PydanticUserError, ValueError) as error:
        problem = f"no JSON schema can be made of its arguments: {_first_line(error)}"
        raise WrongTool(f"{where}: {problem}") from error
    schema.pop("title", None)
    spec = AgentTool(
        Tool(name, description, schema),
        options.cancellable,
        options.timeout_s,
        options.filler,
        options.when_played,
        model_may_cancel=options.model_may_cancel,
    )
    return ToolMethod(spec, method, model, options.speaks_result)


def _check_kind(method: Any, where: str) -> None:
    """Raise WrongTool for functions that cannot be tools."""
    if isinstance(method, staticmethod | classmethod):
        raise WrongTool(f"{where}: a {type(method).__name__}; allowed: a method with self")
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise WrongTool(
            f"{where}: it yields; allowed: one result that is returned; self.call.say() tells of progress"
        )


def _arguments_model(function: Callable[..., Any], where: str) -> type[BaseModel]:
    """Return the arguments of a method as a model. Annotations such as `Annotated[int, Field(ge=1)]` are
    enforced.

    White space around texts is stripped: models emit it as part of their tokens.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise WrongTool(f"{where}: its type hints cannot be read: {error}") from error
    fields: dict[str, Any] = {}
    parameters = list(inspect.signature(function).parameters.values())[1:]
    for at, parameter in enumerate(parameters):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise WrongTool(f"{where}: {parameter} cannot be given by name; allowed: arguments with names")
        if parameter.name not in hints:
            raise WrongTool(f"{where}: argument {parameter.name} has no type hint")
        default = ... if parameter.default is parameter.empty else parameter.default
        # under generated keys: `json`, `copy` or `_x` have a meaning in pydantic models
        fields[f"argument_{at}"] = (Annotated[hints[parameter.name], Field(alias=parameter.name)], default)
    try:
        return create_model("arguments", __config__=_CONFIG, **fields)
    except (PydanticUserError, NameError) as error:
        raise WrongTool(f"{where}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """Return an error's text without the address that pydantic adds below it."""
    return str(error).partition("\n")[0]


_CONFIG = ConfigDict(extra="forbid", str_strip_whitespace=True)


class _Schema(GenerateJsonSchema):
    """JSON schema without pydantic's titles, which cost tokens and repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _name(field: FieldInfo) -> str:
    """Return the argument that a field stands for."""
    return str(field.alias)


_EXAMPLES = {
    "date_from_datetime_parsing": "2026-05-03",
    "time_parsing": "09:30",
    "datetime_from_date_parsing": "2026-05-03T09:30",
    "time_delta_parsing": "PT5M",
}
"""Values by pydantic's type of error: its messages do not say which form is allowed."""


def _fault(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    given = "" if error["type"] in ("missing", "json_invalid") else f" (given: {error['input']!r:.60})"
    example = _EXAMPLES.get(error["type"])
    allowed = f", such as {example}" if example else ""
    return f"{place + ': ' if place else ''}{error['msg']}{allowed}{given}"
