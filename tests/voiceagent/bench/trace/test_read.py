from __future__ import annotations

from pathlib import Path

import pytest
from bench_material import write_material
from kept_folder import keep_one
from llm_load.logs import read_trace

from voiceagent.bench.material import Conversation, Material
from voiceagent.validation.errors import CommandFailed, ConfigError


@pytest.fixture
def conversations(tmp_path: Path) -> list[Conversation]:
    return Material(write_material(tmp_path / "material")).conversations()


def test_a_folder_of_kept_calls_is_a_trace(tmp_path, conversations):
    keep_one(tmp_path / "calls", "call_1")
    keep_one(tmp_path / "calls", "call_2")
    trace = read_trace(tmp_path / "calls", conversations, seed=1)
    assert [[turn.said for turn in call.turns] for call in trace] == [["is there a pool"]] * 2


def test_a_file_describes_calls(tmp_path, conversations):
    path = tmp_path / "calls.toml"
    path.write_text("calls = 3\nhistory_tokens = 0\n")
    trace = read_trace(path, conversations, seed=1)
    assert [call.history_tokens for call in trace] == [0, 0, 0]
    asked = {question for conversation in conversations for question in conversation.questions}
    assert {turn.said for call in trace for turn in call.turns} <= asked


def test_a_key_that_nobody_knows_is_refused_with_those_there_are(tmp_path, conversations):
    path = tmp_path / "calls.toml"
    path.write_text("call = 3\n")
    with pytest.raises(ConfigError, match=r"calls\.toml: call = 3: unknown key; allowed: calls, "):
        read_trace(path, conversations, seed=1)


def test_a_folder_without_a_call_is_refused(tmp_path, conversations):
    (tmp_path / "calls").mkdir()
    with pytest.raises(CommandFailed, match="no kept call with words in it"):
        read_trace(tmp_path / "calls", conversations, seed=1)


def test_what_is_neither_folder_nor_file_is_refused(tmp_path, conversations):
    with pytest.raises(CommandFailed, match="allowed: a folder of kept calls, or a TOML file"):
        read_trace(tmp_path / "none.toml", conversations, seed=1)


def test_a_log_that_is_none_is_named(tmp_path, conversations):
    folder = tmp_path / "calls/call_1"
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_text("{}\n")
    with pytest.raises(CommandFailed, match=r"log\.jsonl"):
        read_trace(tmp_path / "calls", conversations, seed=1)
