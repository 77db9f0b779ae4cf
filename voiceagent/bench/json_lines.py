"""Files of JSON Lines, validated line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from voiceagent.validation.errors import CommandFailed, reason_of
from voiceagent.validation.section import check


class JsonLine(BaseModel):
    """One line of a file of JSON objects. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Line = TypeVar("Line", bound=JsonLine)


def read_lines(path: Path, model: type[Line]) -> list[Line]:
    """Return the lines of a file, at least one. Raises CommandFailed, and ConfigError with the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{path} cannot be read: {reason_of(error)}") from error
    found = [
        check(model, _parsed(path, number, line), path, f"line {number}: ")
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    if not found:
        raise CommandFailed(f"{path} is empty; allowed: a line of JSON each")
    return found


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise CommandFailed(f"{path}: line {number} is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise CommandFailed(f"{path}: line {number} is no JSON object")
    return document
