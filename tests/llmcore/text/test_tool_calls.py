from __future__ import annotations

from typing import Any

import pytest

from llmcore.engine import Message, Request, Tool
from llmcore.text.tool_calls import call_schema, call_without_arguments


def test_the_schema_of_a_demanded_call_allows_that_tool_alone() -> None:
    tools = (Tool("go", "", {"type": "object"}), Tool("stay", "", {"type": "object"}))
    request = Request((Message("user", "?"),), tools, tool_choice="stay")
    assert call_schema(request)["properties"]["name"] == {"const": "stay"}


def test_the_schema_of_any_call_allows_all_tools() -> None:
    tools = (Tool("go", "", {"type": "object"}), Tool("stay", "", {"type": "object"}))
    request = Request((Message("user", "?"),), tools, tool_choice="required")
    names = [shape["properties"]["name"]["const"] for shape in call_schema(request)["anyOf"]]
    assert names == ["go", "stay"]


def demanded(parameters: dict[str, Any] | None, choice: str = "look") -> Request:
    return Request((Message("user", "?"),), (Tool("look", "", parameters),), tool_choice=choice)


@pytest.mark.parametrize(
    "parameters",
    [None, {}, {"type": "object"}, {"type": "object", "properties": {}, "additionalProperties": False}],
)
def test_a_demanded_call_of_a_tool_without_parameters_needs_no_model(
    parameters: dict[str, Any] | None,
) -> None:
    call = call_without_arguments(demanded(parameters))
    assert call is not None
    assert (call.name, call.arguments) == ("look", "{}")


@pytest.mark.parametrize(
    "request_",
    [
        demanded({"type": "object", "properties": {"day": {"type": "string"}}}),
        demanded({"$ref": "#/$defs/day"}),
        demanded({"anyOf": [{"required": ["day"]}]}),
        demanded({}, "required"),
        demanded({}, "auto"),
        demanded({}, "other"),
    ],
)
def test_any_other_call_is_left_to_the_model(request_: Request) -> None:
    assert call_without_arguments(request_) is None
