"""Models trained for one prompt: ignored settings are reported once."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from llmcore.engine import Message, Request, Tool
from llmcore.text.chat_template import ChatTemplate, TrainedFor, fingerprint
from llmcore.text.chat_tokens import ChatTokens

OWN = "You are the front desk."
TAXI, LAMP = (Tool(name, "", {}) for name in ("order_taxi", "turn_on_lamp"))


@pytest.fixture
def trained() -> TrainedFor:
    return TrainedFor(fingerprint(OWN), ["order_taxi"])


def asked(system: str, *tools: Tool) -> Request:
    return Request((Message("system", system), Message("user", "Hello.")), tools=tools)


def test_its_own_prompt_and_tools_fit(trained: TrainedFor) -> None:
    assert trained.misfits(asked(OWN, TAXI)) == []


def test_no_instructions_are_none_that_it_does_not_follow(trained: TrainedFor) -> None:
    assert trained.misfits(Request((Message("user", "Hello."),))) == []


def test_other_instructions_are_named(trained: TrainedFor) -> None:
    (misfit,) = trained.misfits(asked("You sell pizza.", TAXI))
    assert "'You sell pizza.'" in misfit


def test_other_tools_are_named_beside_those_that_it_calls(trained: TrainedFor) -> None:
    assert trained.misfits(asked(OWN, TAXI, LAMP)) == ["the tools turn_on_lamp; it calls: order_taxi"]


def test_each_is_warned_of_once_by_whoever_reads_the_prompt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"chat_template": "{{ messages[0].content }}"}
    config["trained_for"] = {"instructions_sha256": fingerprint(OWN), "tools": []}  # type: ignore[assignment]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    chat = ChatTokens(ChatTemplate.from_directory(tmp_path), lambda text: [0], 100)
    with caplog.at_level(logging.WARNING):
        for system in (OWN, "You sell pizza.", "You sell pizza."):
            chat.prompt(Request((Message("system", system),), max_tokens=10))
    (warning,) = caplog.messages
    assert "does not follow the instructions 'You sell pizza.', only its own" in warning
