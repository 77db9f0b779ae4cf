"""Tool calls written with elements and marks of XML: Qwen 3 Coder, MiniMax, Claude, Nova, GLM, Kimi K3."""

from __future__ import annotations

import json
import re
from typing import Any

_PREFIX = "(?:｜DSML｜|antml:|atem:|steptml:|__)?"
_XML_CALL = re.compile(
    rf"<{_PREFIX}(?:function=|function\s+name=|invoke\s+name=|tool\s+name=)\s*[\"']?(?P<name>[\w.\-]+)[\"']?\s*>"
    rf"(?P<body>.*?)(?=</{_PREFIX}(?:function|invoke)>|<{_PREFIX}(?:function|invoke)\b|\Z)",
    re.DOTALL,
)
_XML_PARAMETER = re.compile(
    rf"<{_PREFIX}param(?:eter)?(?:=|\s+name=)\s*[\"']?(?P<name>[\w.\-]+)[\"']?(?P<more>[^>]*)>"
    rf"(?P<value>.*?)(?=</{_PREFIX}param(?:eter)?>|<{_PREFIX}param(?:eter)?\b|\Z)",
    re.DOTALL,
)
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*?)\]\]>\s*", re.DOTALL)
_GLM_CALL = re.compile(r"(?:<tool_call>)?\s*(?P<name>[\w.\-]+)\s*(?:<tool_sep>\s*)?(?=<arg_key>)")
_GLM_PARAMETER = re.compile(
    r"<arg_key>(?P<name>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)(?=</arg_value>|\Z)", re.DOTALL
)
_KIMI_CALL = re.compile(
    r'<\|open\|>call\s+tool="(?P<name>[^"]+)".*?<\|sep\|>(?P<body>.*?)<\|close\|>call', re.DOTALL
)
_KIMI_ARGUMENT = re.compile(
    r'<\|open\|>argument\s+key="(?P<name>[^"]+)"(?P<more>.*?)<\|sep\|>(?P<value>.*?)<\|close\|>argument',
    re.DOTALL,
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
    """Return the calls (name, JSON of the arguments) in GLM's or Hunyuan's notation; none for others."""
    begins = list(_GLM_CALL.finditer(text))
    if not begins or begins[0].start() > 0:
        return []
    ends = [*(begin.start() for begin in begins[1:]), len(text)]
    calls = []
    for begin, end in zip(begins, ends, strict=True):
        pairs = _GLM_PARAMETER.finditer(text, begin.end(), end)
        given = {found["name"].strip(): scalar(found["value"]) for found in pairs}
        calls.append((begin["name"], json.dumps(given, ensure_ascii=False)))
    return calls


def kimi_calls(text: str) -> list[tuple[str, str]]:
    """Return the calls (name, JSON of the arguments) in the notation of Kimi K3; none for others."""
    calls = []
    for call in _KIMI_CALL.finditer(text):
        given = {
            each["name"]: each["value"] if 'type="string"' in each["more"] else scalar(each["value"])
            for each in _KIMI_ARGUMENT.finditer(call["body"])
        }
        calls.append((call["name"], json.dumps(given, ensure_ascii=False)))
    return calls


def scalar(text: str) -> Any:
    """Return a parameter's value: parsed JSON if possible, else the text itself."""
    text = _CDATA.sub(r"\1", text).strip()
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
