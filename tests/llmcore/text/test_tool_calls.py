from __future__ import annotations

from llmcore.engine import Message, Request, Tool
from llmcore.text.tool_calls import call_schema


def test_the_schema_of_a_demanded_call_allows_that_tool_alone() -> None:
    tools = (Tool("go", "", {"type": "object"}), Tool("stay", "", {"type": "object"}))
    request = Request((Message("user", "?"),), tools, tool_choice="stay")
    assert call_schema(request)["properties"]["name"] == {"const": "stay"}


def test_the_schema_of_any_call_allows_all_tools() -> None:
    tools = (Tool("go", "", {"type": "object"}), Tool("stay", "", {"type": "object"}))
    request = Request((Message("user", "?"),), tools, tool_choice="required")
    names = [shape["properties"]["name"]["const"] for shape in call_schema(request)["anyOf"]]
    assert names == ["go", "stay"]
