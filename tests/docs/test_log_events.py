"""`docs/log-events.md` has every event of the log, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEVELS = {"debug", "info", "warning", "error", "exception"}


def logged() -> Iterator[str]:
    """Yield the names of all events that the server's code logs."""
    for package in ("voiceagent", "audio", "llmcore"):
        for path in (ROOT / package).rglob("*.py"):
            if {"bench", "demo"} & set(path.parts):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                match node:
                    case ast.Call(
                        func=ast.Attribute(attr=level), args=[ast.Constant(value=str(name)), *_]
                    ) if level in LEVELS and re.fullmatch(r"[a-z_]+", name):
                        yield name


def test_the_page_has_every_event_of_the_log_and_no_other() -> None:
    rows = re.findall(r"^\| (`.*?) \| ", (ROOT / "docs/log-events.md").read_text(), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(logged())
