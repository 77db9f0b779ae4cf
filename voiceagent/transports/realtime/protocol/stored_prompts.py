"""Stored prompts of a session: `prompt: {"id", "version", "variables"}`. Pure.

The texts are the configuration's (`[agent.prompts.ID]`); a variable is `{{name}}` there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from voiceagent.transports.realtime.protocol.errors import RequestError, Wire

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class InputText(Wire):
    """A variable's value as an input of type text."""

    type: Literal["input_text"]
    text: str


class StoredPrompt(Wire):
    """`session.prompt`. version: None for the last one of the configuration."""

    id: str
    version: str | None = None
    variables: dict[str, str | InputText] | None = None


def fill(wanted: StoredPrompt, prompts: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of a stored prompt, with its variables. Raise RequestError.

    prompts: texts by id and version.
    """
    if wanted.id not in prompts:
        raise _refusal("id", wanted.id, prompts)
    versions = prompts[wanted.id]
    version = wanted.version or list(versions)[-1]
    if version not in versions:
        raise _refusal("version", version, versions)
    text = versions[version]
    names, given = dict.fromkeys(_VARIABLE.findall(text)), wanted.variables or {}
    for name in given:
        if name not in names:
            raise _refusal("variables", name, names)
    if missing := [name for name in names if name not in given]:
        message = f"session.prompt.variables lacks {missing[0]!r}, which prompt {wanted.id!r} needs"
        raise RequestError("missing_required_parameter", message, "session.prompt.variables")
    values = {name: value if isinstance(value, str) else value.text for name, value in given.items()}
    # in one pass: a value that looks like a variable is a text
    return _VARIABLE.sub(lambda found: values[found[1]], text)


def _refusal(field: str, given: str, allowed: Iterable[str]) -> RequestError:
    names = ", ".join(allowed) or "none"
    message = f"session.prompt.{field} is {given[:80]!r}; allowed: {names}"
    return RequestError("invalid_value", message, f"session.prompt.{field}")
