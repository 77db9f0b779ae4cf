"""Tool calls written with elements and marks of XML: Qwen 3 Coder, MiniMax, Claude, Nova, GLM, Kimi K3.

Many model families write the elements of Claude or GLM with a prefix or suffix of their own: it is removed.
"""

from __future__ import annotations

import json
import re
from typing import Any

from llmcore.text.control_marks import MINIMAX

_OWN_NAMES = re.compile(
    r"<(?P<end>/?)(?:[｜|]\w+[｜|]\ ?|ifm\||antml:|atem:|steptml:|longcat_|iquest_|__)?"
    r"(?P<name>tool_calls?|tool_sep|function|invoke|param(?:eter)?|arg_(?:key|type|value))(?::\w+)?(?=[\s>=])"
)
_NO_ELEMENT = re.compile(r"[^<]*[({\[]")
"""Beginning of a call as JSON or Python, whose arguments may contain elements."""
_XML_CALL = re.compile(
    r"<(?:function=|function\s+name=|invoke\s+name=|tool\s+name=)\s*[\"']?(?P<name>[\w.\-]+)[\"']?\s*>"
    r"(?P<body>.*?)(?=</(?:function|invoke)>|<(?:function|invoke)\b|\Z)",
    re.DOTALL,
)
_XML_PARAMETER = re.compile(
    r"<param(?:eter)?(?:=|\s+name=)\s*[\"']?(?P<name>[\w.\-]+)[\"']?(?P<more>[^>]*)>"
    r"(?P<value>.*?)(?=</param(?:eter)?>|<param(?:eter)?\b|\Z)",
    re.DOTALL,
)
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*?)\]\]>\s*", re.DOTALL)
_GLM_CALL = re.compile(r"(?:<tool_call>)?\s*(?P<name>[\w.\-]+)\s*(?:<tool_sep>\s*)?(?=<arg_key>)")
_GLM_PARAMETER = re.compile(
    r"<arg_key>(?P<name>.*?)</arg_key>\s*(?:<arg_type>\w*</arg_type>\s*)?"
    r"<arg_value>(?P<value>.*?)(?=</arg_value>|\Z)",
    re.DOTALL,
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


def with_common_names(text: str) -> str:
    """Return the text with the names that most model families have for elements. A call that is no element
    keeps its arguments as they are.
    """
    if _NO_ELEMENT.match(text):
        return text
    return _OWN_NAMES.sub(r"<\g<end>\g<name>", text.replace(MINIMAX, ""))


def xml_calls(text: str) -> list[tuple[str, str]]:
    """Return the calls (name, JSON of the arguments) in marks with a name and parameters; none for others."""
    return [
        (found["name"], json.dumps(_xml_parameters(found["body"]), ensure_ascii=False))
        for found in _XML_CALL.finditer(text if "<" in text[:1] else f"<function={text}")
        if "<" in text
    ]


def _xml_parameters(body: str) -> dict[str, Any]:
    given = {
        found["name"]: found["value"] if 'string="true"' in found["more"] else scalar(found["value"])
        for found in _XML_PARAMETER.finditer(body)
    }
    return given or {found["name"]: _nested(found["body"] or "") for found in _ELEMENT.finditer(body)}


def _nested(text: str) -> Any:
    """Return the value of a parameter that is an element itself (MiniMax M3), whose lists have items."""
    found = list(_ELEMENT.finditer(text))
    if not found:
        return scalar(text)
    if all(each["name"] == "item" for each in found):
        return [_nested(each["body"] or "") for each in found]
    return {each["name"]: _nested(each["body"] or "") for each in found}


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
