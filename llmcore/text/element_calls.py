"""Tool calls written with elements and marks of XML: Qwen 3 Coder, MiniMax, Claude, Nova, GLM."""

from __future__ import annotations

import json
import re
from typing import Any

_XML_CALL = re.compile(
    r"<(?:｜DSML｜|antml:|__)?(?:function=|function\s+name=|invoke\s+name=|tool\s+name=)\s*[\"']?(?P<name>[\w.\-]+)[\"']?\s*>"
    r"(?P<body>.*?)(?=</(?:｜DSML｜|antml:|__)?(?:function|invoke)>|<(?:｜DSML｜|antml:|__)?(?:function|invoke)\b|\Z)",
    re.DOTALL,
)
_XML_PARAMETER = re.compile(
    r"<(?:｜DSML｜|antml:|__)?parameter(?:=|\s+name=)\s*[\"']?(?P<name>[\w.\-]+)[\"']?(?P<more>[^>]*)>"
    r"(?P<value>.*?)(?=</(?:｜DSML｜|antml:|__)?parameter>|<(?:｜DSML｜|antml:|__)?parameter\b|\Z)",
    re.DOTALL,
)
_GLM_PARAMETER = re.compile(
    r"<arg_key>(?P<name>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)(?=</arg_value>|\Z)", re.DOTALL
)
_ELEMENT = re.compile(
    r"""<(?P<name>[\w.:-]+)(?P<attributes>(?:\s+[\w.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*"""
    r"""(?:/>|>(?P<body>.*?)</(?P=name)>)""",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def xml_calls(text: str) -> list[tuple[str, str]]:
    """Return the calls (name, JSON of the arguments) in marks with a name and parameters; none for others."""
    return [
        (found["name"], json.dumps(_xml_parameters(found["body"]), ensure_ascii=False))
        for found in _XML_CALL.finditer(text if "<" in text[:1] else f"<function={text}")
        if "<" in text
    ]


def _xml_parameters(body: str) -> dict[str, Any]:
    return {
        found["name"]: found["value"] if 'string="true"' in found["more"] else scalar(found["value"])
        for found in _XML_PARAMETER.finditer(body)
    }


def glm_calls(text: str) -> list[tuple[str, str]]:
    """Return the call (name, JSON of the arguments) in GLM's notation; none for others."""
    name, mark, _ = text.partition("<arg_key>")
    if not mark or not re.fullmatch(r"[\w.\-]+", name.strip()):
        return []
    arguments = {found["name"].strip(): scalar(found["value"]) for found in _GLM_PARAMETER.finditer(text)}
    return [(name.strip(), json.dumps(arguments, ensure_ascii=False))]


def scalar(text: str) -> Any:
    """Return a parameter's value: parsed JSON if possible, else the text itself."""
    text = text.strip()
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return text


def elements(text: str) -> Any:
    """Return elements as an object by their names, text without any as a value."""
    found = list(_ELEMENT.finditer(text))
    if not found:
        return scalar(text) if text.strip() else {}
    return {
        each["name"]: {
            name: scalar(double or single) for name, double, single in _ATTRIBUTE.findall(each["attributes"])
        }
        or elements(each["body"] or "")
        for each in found
    }
