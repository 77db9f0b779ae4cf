"""Checks of a call against what its scenario expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from voiceagent.conversation.words import words_of
from voiceagent.evals.record import CallRecord, Failure, ToolUse, says_any
from voiceagent.evals.scenario import Argument, Expect, Scenario, ToolExpectation
from voiceagent.text_normalization import normalize


def failures(scenario: Scenario, call: CallRecord) -> list[Failure]:
    """Return the checks that do not hold. A typed call has no times: checks of time are left out."""
    expect = scenario.file.expect
    found = [Failure(f"the call failed: {reason}") for reason in call.failures]
    if call.cut_by and not expect.may_be_cut:
        found.append(Failure(_limit(scenario, call)))
    found += _tools(expect, call)
    found += _words(expect, call)
    found += _course(expect, call)
    if call.spoken:
        found += _turn_taking(expect, call)
    if scenario.check is not None:
        try:
            scenario.check(call)
        except AssertionError as error:
            reason = str(error).partition("\n")[0]  # pytest adds lines to it
            found.append(Failure(reason or "the check in Python does not hold"))
        except Exception as error:  # user code; the other runs must not be lost
            found.append(Failure(f"the check in Python failed: {type(error).__name__}: {error}"))
    return found


def _limit(scenario: Scenario, call: CallRecord) -> str:
    limit = (
        f"max_turns = {scenario.file.max_turns}" if call.cut_by == "max_turns" else f"{call.seconds:.0f} s"
    )
    return f"the caller was cut by {limit} before the end; allowed: with expect.may_be_cut"


def _tools(expect: Expect, call: CallRecord) -> Iterator[Failure]:
    made = [f"{tool.name}({_shown(tool.arguments)}) -> {tool.output!r}" for tool in call.tools]
    for wanted in expect.tools:
        count = sum(_is_call(wanted, tool, call.language) for tool in call.tools)
        if count == wanted.times or (wanted.times is None and count):
            continue
        times = "at least once" if wanted.times is None else f"{wanted.times} times"
        name = f"{wanted.name}({_shown(wanted.arguments)})"
        name += "" if wanted.result is None else f" -> {wanted.result!r}"
        yield Failure(f"{name} was called {count} times, not {times}; calls: {', '.join(made) or 'none'}")
    for tool in call.tools:
        if tool.name in expect.no_tools:
            yield Failure(f"{tool.name}({_shown(tool.arguments)}) was called")


def _is_call(wanted: ToolExpectation, tool: ToolUse, language: str) -> bool:
    given = tool.arguments
    return (
        tool.name == wanted.name
        and all(
            key in given and _equals(value, given[key], language) for key, value in wanted.arguments.items()
        )
        and (wanted.result is None or says_any(tool.output, wanted.result, language))
    )


def _equals(wanted: Argument, given: object, language: str) -> bool:
    options = wanted if isinstance(wanted, tuple) else (wanted,)
    return any(_spoken(option, language) == _spoken(given, language) for option in options)


def _spoken(value: object, language: str) -> object:
    """Return a value as it is spoken, so that "8" equals "eight"."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    return words_of(normalize(str(value), language)[0])


def _words(expect: Expect, call: CallRecord) -> Iterator[Failure]:
    for words in expect.says:
        if not call.says(words):
            yield Failure(f"the agent did not say {words!r}")
    for words in expect.never_says:
        if call.says(words):
            yield Failure(f"the agent said {words!r}", _second_of(words, call))


def _second_of(words: str, call: CallRecord) -> float | None:
    """Return the begin of the first response that has all of these words; None if they span two."""
    for one in call.said:
        if one.role == "agent" and CallRecord((one,), language=call.language).says(words):
            return one.begin_s
    return None


def _course(expect: Expect, call: CallRecord) -> Iterator[Failure]:
    if expect.max_turns is not None and len(call.lines) > expect.max_turns:
        late = call.lines[expect.max_turns]
        yield Failure(
            f"the caller needed {len(call.lines)} turns, more than {expect.max_turns}", late.begin_s
        )
    if expect.ends_by is not None and call.ended_by != expect.ends_by:
        yield Failure(f"the {call.ended_by} ended the call, not the {expect.ends_by}", call.seconds)


def _turn_taking(expect: Expect, call: CallRecord) -> Iterator[Failure]:
    for line, wait_s in call.waits():
        if wait_s is None and expect.answers_every_turn and line.text:
            yield Failure(f"no answer to {line.text!r}", line.end_s)
        longest_s = expect.max_wait_s
        if wait_s is not None and longest_s is not None and wait_s > longest_s:
            reason = f"{wait_s:.2f} s until the answer to {line.text!r}, more than {longest_s:g} s"
            yield Failure(reason, line.end_s)
    for line, yield_s in call.yields():
        longest_s = expect.yields_within_s
        if longest_s is not None and yield_s > longest_s:
            reason = f"the agent spoke on for {yield_s:.2f} s over {line.text!r}, more than {longest_s:g} s"
            yield Failure(reason, line.begin_s)
    if expect.lets_finish:
        for line in call.begun_over():
            yield Failure(f"the agent began to speak during {line.text!r}", line.begin_s)
    if expect.ignores_backchannels:
        for one in call.said:
            if one.manner == "backchannel" and any(
                other.cut and other.begin_s < one.begin_s and 0 <= other.end_s - one.begin_s < _AFTER_S
                for other in call.said
            ):
                yield Failure(f"the agent stopped at {one.text!r}", one.begin_s)


_AFTER_S = 2.0
"""Time after a backchannel in which a cut counts as its effect."""


def _shown(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
