"""Tool calls written as calls of Python: Llama, Gemma, LFM 2, Granite."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from llmcore.text.element_calls import scalar

JSON_WORDS = {"true": True, "false": False, "null": None}
"""Values of JSON whose words are names in Python."""
_LOOSE_CALL = re.compile(r"\s*(?P<name>[\w.\-]+) ?\((?P<body>.*)\)\s*\Z", re.DOTALL)
_LOOSE_ARGUMENT = re.compile(r"""\s*(\w+)\s*[=:]\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,]*)\s*(?:,|\Z)""")


def python_calls(text: str) -> list[tuple[str, str]]:
    """Return the calls (name, JSON of the arguments) in a program; none for other text."""
    text = text.strip("` \n").removeprefix("tool_code").removeprefix("python").strip()
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    return [
        call
        for statement in body
        if isinstance(statement, ast.Expr | ast.Assign)
        for call in _of_expression(statement.value)
    ]


def _of_expression(node: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            yield from _of_expression(item)
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id == "print":  # Gemma writes print(default_api.name())
        for argument in node.args:
            yield from _of_expression(argument)
        return
    name = ast.unparse(node.func).removesuffix(".call").removeprefix("default_api.")
    arguments: dict[str, Any] = {}
    given = [_value_of(argument) for argument in node.args]
    positional = [value for value in given if not isinstance(value, dict)]
    for value in given:
        arguments |= value if isinstance(value, dict) else {}  # weather({"city": "Rome"})
    for keyword in node.keywords:
        value = _value_of(keyword.value)
        arguments |= {keyword.arg: value} if keyword.arg else value if isinstance(value, dict) else {}
    written = [*positional, arguments] if positional else arguments
    yield name, json.dumps(written, ensure_ascii=False, default=str)


def _value_of(node: ast.expr) -> Any:
    """Return the value of an argument; names, which stand for nothing here, are texts."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_value_of(key)): _value_of(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.List | ast.Tuple):
        return [_value_of(item) for item in node.elts]
    with suppress(ValueError):
        return ast.literal_eval(node)
    return JSON_WORDS.get(node.id, node.id) if isinstance(node, ast.Name) else ast.unparse(node)


def loose_calls(text: str) -> list[tuple[str, str]]:
    """Return a call in brackets that is no Python: `weather(city: Rome)`, `weather(city=New York)`."""
    found = _LOOSE_CALL.match(text)
    if found is None:
        return []
    arguments, at = {}, 0
    while at < len(found["body"]):
        argument = _LOOSE_ARGUMENT.match(found["body"], at)
        if argument is None:
            return []
        value = argument[2].strip()
        arguments[argument[1]] = value[1:-1] if value[:1] in ("'", '"') else scalar(value)
        at = argument.end()
    return [(found["name"], json.dumps(arguments, ensure_ascii=False))]
