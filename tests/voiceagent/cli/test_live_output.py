"""A call that is printed and played while it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from voiceagent.cli import live_output as module
from voiceagent.cli.live_output import LiveOutput, live_output

RECORDS = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"


def test_words_are_printed_as_they_come_with_a_line_for_each_speaker() -> None:
    printed: list[str] = []
    output = LiveOutput(printed.append)
    output.on_caller("When is", final=False)
    output.on_caller(" breakfast", final=False)
    output.on_caller("When is breakfast?", final=True)
    output.on_agent("At seven. ")
    output.on_agent("Enjoy.")
    output.on_response_ended()
    output.on_agent("Bye.")
    assert printed[:2] == ["\ncaller: When is", " breakfast"]
    assert "".join(printed) == "\ncaller: When is breakfast?\nagent:  At seven. Enjoy.\nagent:  Bye."


def test_a_final_transcript_that_differs_is_printed_anew() -> None:
    printed: list[str] = []
    output = LiveOutput(printed.append)
    output.on_caller("when is", final=False)
    output.on_caller("Where is it?", final=True)
    assert "".join(printed) == "\ncaller: when is\ncaller: Where is it?"


def test_a_caller_without_words_has_no_line() -> None:
    printed: list[str] = []
    LiveOutput(printed.append).on_caller("", final=True)
    assert printed == []


def test_text_cannot_move_the_cursor() -> None:
    printed: list[str] = []
    LiveOutput(printed.append).on_agent("\x1b[2Jhello")
    assert "\x1b" not in "".join(printed)


async def test_the_agents_audio_goes_to_the_first_player_that_finds_a_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    played = tmp_path / "played"
    broken = (sys.executable, "-c", "raise SystemExit('no device')")
    monkeypatch.setattr(module, "PLAYERS", (broken, (sys.executable, "-c", RECORDS, str(played))))
    monkeypatch.setattr(module, "STARTS_S", 2.0)
    printed: list[str] = []
    async with live_output(printed.append) as output:
        output.on_audio(np.array([1, 2, 3], np.int16))
    assert played.read_bytes() == b"\x01\x00\x02\x00\x03\x00"
    assert not any("No sound" in text for text in printed)


async def test_without_a_device_the_reason_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAYERS", ((sys.executable, "-c", "raise SystemExit('no device')"),))
    monkeypatch.setattr(module, "STARTS_S", 10.0)
    printed: list[str] = []
    async with live_output(printed.append) as output:
        output.on_audio(np.zeros(3, np.int16))
    assert printed[0].endswith("no device.\n")


async def test_without_a_player_their_names_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAYERS", (("no-such-player",),))
    printed: list[str] = []
    async with live_output(printed.append):
        pass
    assert printed[0] == "No sound is played: none of no-such-player is installed.\n"
