"""Figures of kept calls, as they were and as they would have been."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from fixed_config import write_config
from kept_folder import keep_one

from llmcore.engine import Delta, LlmError, Request
from voiceagent.calls.replaying.answers import Counts
from voiceagent.calls.replaying.outline import OutlinedTool, OutlinedTurn
from voiceagent.cli import counterfactuals
from voiceagent.cli.counterfactuals import compare_calls, differences
from voiceagent.cli.fork import Futures
from voiceagent.cli.main import INTERRUPTED, main
from voiceagent.config.tables import load
from voiceagent.engines.config import EngineConfig
from voiceagent.evals.scenario import EvalFile
from voiceagent.validation.errors import CommandFailed


def turn(waited_s: float | None, outcome: str = "completed") -> OutlinedTurn:
    answered = "" if waited_s is None else "Yes."
    return OutlinedTurn("turn", 1.0, 0.2, "Is it?", waited_s, answered, outcome)


def futures(*pairs: tuple[list[OutlinedTurn], list[OutlinedTurn]]) -> list[Futures]:
    return [Futures(before, after, Counts()) for before, after in pairs]


def test_longer_waits_are_a_difference_with_its_interval() -> None:
    calls = [([turn(0.5 + 0.01 * n)], [turn(0.8 + 0.02 * n)]) for n in range(8)]
    found = {one.name: one for one in differences(futures(*calls))}
    wait = found["mean wait, s"]
    assert (wait.calls, wait.p) == (8, 2 / 2**8)
    assert wait.after - wait.before == pytest.approx(0.335)
    assert wait.interval is not None
    assert 0.3 <= wait.interval.low < 0.335 < wait.interval.high <= 0.37
    assert (found["turns"].before, found["turns"].after, found["turns"].p) == (1, 1, 1)


def test_cut_off_and_unanswered_turns_are_counted() -> None:
    calls = futures(([turn(0.4, "cut off"), turn(0.5)], [turn(0.9), turn(None)]))
    found = {one.name: (one.before, one.after) for one in differences(calls)}
    assert found["turns cut off"] == (1, 0)
    assert found["unanswered turns"] == (0, 1)


def test_calls_without_a_value_in_both_do_not_count() -> None:
    found = {one.name: one for one in differences(futures(([turn(None)], [turn(0.5)])))}
    assert "mean wait, s" not in found


def calling(*arguments: str) -> OutlinedTurn:
    tools = [OutlinedTool(f"call_{at}", "wake_up_call", one) for at, one in enumerate(arguments)]
    return OutlinedTurn("turn", 1.0, 0.2, "Wake me.", 0.5, "Yes.", "completed", tools)


def test_tool_calls_with_other_arguments_are_a_difference() -> None:
    calls = futures(
        ([calling("six")], [calling("seven", "seven")]),
        ([calling("six")], [turn(0.5), calling("six")]),  # in another turn, but the same
    )
    found = {one.name: one for one in differences(calls)}["tool calls that the other lacks"]
    assert (found.calls, found.before, found.after) == (2, 0.5, 1.0)


class Judge:
    """An LLM that says no by no line, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        if len(request.messages) > 2:
            yield Delta("0")
            return
        self.asked.append(request.messages[1].content)
        yield Delta("no")


async def test_a_judge_reads_the_tools_of_both_futures(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge()
    monkeypatch.setattr(counterfactuals, "build_engine", lambda *_: judge)
    settings = EvalFile(judge=EngineConfig(engine="openai"), questions=("Was the caller woken?",))
    calls = futures(([calling('{"time": "six"}')], [calling('{"time": "seven"}')]))
    [_ async for _ in counterfactuals.judged(calls, settings, Path("evals"), "en")]
    before, after = judge.asked[0], judge.asked[-1]
    assert ("six" in before, "seven" in before) == (True, False)
    assert ("six" in after, "seven" in after) == (False, True)


async def test_a_judge_is_asked_once_where_both_futures_have_the_same_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = Judge()
    monkeypatch.setattr(counterfactuals, "build_engine", lambda *_: judge)
    settings = EvalFile(judge=EngineConfig(engine="openai"), questions=("Was it polite?",))
    later = futures(([turn(0.5)], [turn(0.9)]))  # the same words, another wait
    shares = [one async for one in counterfactuals.judged(later, settings, Path("evals"), "en")]
    assert shares == [(0.0, 0.0)]
    assert len(judge.asked) == 1


def test_judged_shares_are_a_figure() -> None:
    calls = futures(([turn(0.5)], [turn(0.5)]), ([turn(0.5)], [turn(0.5)]))
    judged = [(0.5, 1.0), (None, 1.0)]
    found = {one.name: one for one in differences(calls, judged)}
    assert (found["questions answered yes"].calls, found["questions answered yes"].after) == (1, 1.0)


class BrokenJudge:
    """An LLM that does not start."""

    async def start(self) -> None:
        raise LlmError("no connection")


def test_judge_that_does_not_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_one(tmp_path / "kept")
    path = write_config(tmp_path)
    changed = load(path, {"turn.silence_s": "0.9"})
    monkeypatch.setattr(counterfactuals, "build_engine", lambda *_: BrokenJudge())
    settings = EvalFile(judge=EngineConfig(engine="openai"), questions=("Was it polite?",))
    with pytest.raises(CommandFailed, match="the judge did not start: no connection"):
        compare_calls(load(path), changed, tmp_path / "kept", settings, tmp_path, recorded=True)


@pytest.mark.parametrize("option", ["--against=x.toml", "--json=x.json", "--typed", "--runs=3", "--only=a"])
def test_options_of_new_calls_are_refused_for_kept_ones(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "--calls", str(tmp_path), "--set", "turn.silence_s=0.4", option]) == 1
    assert f"{option.partition('=')[0]} is not for --calls" in capsys.readouterr().err


def three_calls(folder: Path) -> Path:
    for number in range(3):
        keep_one(folder / "kept", f"call_{number}")
    return folder / "kept"


def test_interrupted_forks_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, path, forked = three_calls(tmp_path), write_config(tmp_path), []

    def fork_two(*_: object) -> Futures:
        if len(forked) == 2:
            signal.raise_signal(signal.SIGTERM)
        forked.append(Futures([turn(0.5)], [turn(0.9)], Counts()))
        return forked[-1]

    monkeypatch.setattr(counterfactuals, "fork_log", fork_two)
    options = ["--set", "turn.silence_s=0.9", "--config", str(path), "--recorded"]
    assert main(["eval", str(tmp_path), "--calls", str(kept), *options]) == INTERRUPTED
    printed = capsys.readouterr()
    assert "2 of 3 calls were forked" in printed.out
    assert "+0.40" in printed.out
    assert "interrupted after 2 of 3 calls" in printed.err


class InterruptedJudge(Judge):
    """A judge whose second answer is interrupted."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        if len(self.asked) == 2 and len(request.messages) == 2:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        async for delta in super().generate(request):
            yield delta


def compare_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, future: Futures, judge: object) -> None:
    """Compare three calls, each with this future, by this judge."""
    kept, path = three_calls(tmp_path), write_config(tmp_path)
    monkeypatch.setattr(counterfactuals, "fork_log", lambda *_: future)
    monkeypatch.setattr(counterfactuals, "build_engine", lambda *_: judge)
    settings = EvalFile(judge=EngineConfig(engine="openai"), questions=("Was it polite?",))
    changed = load(path, {"turn.silence_s": "0.9"})
    compare_calls(load(path), changed, kept, settings, tmp_path, recorded=True)


def test_verdicts_before_an_interruption_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    future = Futures([calling("six")], [calling("seven")], Counts())
    with pytest.raises(KeyboardInterrupt, match="interrupted after 3 of 3 calls, 1 of them judged"):
        compare_judged(tmp_path, monkeypatch, future, InterruptedJudge())
    assert "questions answered yes" in capsys.readouterr().out


def test_forks_are_printed_although_the_judge_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    future = Futures([turn(0.5)], [turn(0.9)], Counts())
    with pytest.raises(CommandFailed, match="the judge did not start: no connection"):
        compare_judged(tmp_path, monkeypatch, future, BrokenJudge())
    assert "3 of 3 calls were forked" in capsys.readouterr().out
