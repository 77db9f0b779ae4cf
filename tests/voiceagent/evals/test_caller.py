"""Callers: scripts with branches, and an LLM's lines."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from random import Random
from typing import Any

import pytest

from llmcore.engine import Delta, Request
from voiceagent.evals.caller import Line, LlmCaller, ScriptedCaller, instructions, parse_line
from voiceagent.evals.delivery import hesitating, parts_of, words_in
from voiceagent.evals.scenario import Persona, Scenario


def caller(seed: int = 1, **table: Any) -> ScriptedCaller:
    return ScriptedCaller(Scenario.of("order", table).file, Random(seed), "en")


async def said(caller: ScriptedCaller, *heard: str) -> list[str | None]:
    lines = [await caller.next(text) for text in heard]
    return [None if line is None else line.text for line in lines]


async def test_a_script_is_said_in_order_and_ends_the_call() -> None:
    assert await said(caller(script=["One.", "Two."]), "", "Yes?", "Fine.") == ["One.", "Two.", None]


async def test_a_reply_takes_the_place_of_the_next_line_once() -> None:
    branching = caller(script=["One.", "Two."], replies=[{"to": ["how many", "number"], "say": "Three."}])
    heard = ("", "How many, please?", "How many?", "")
    assert await said(branching, *heard) == ["One.", "Three.", "Two.", None]


async def test_runs_choose_among_the_wordings_by_their_seed() -> None:
    script = [{"say": ["One.", "Uno."]}]
    chosen = [await said(caller(seed, script=script), "") for seed in range(20)]
    assert {line for lines in chosen for line in lines} == {"One.", "Uno."}
    assert chosen == [await said(caller(seed, script=script), "") for seed in range(20)]


async def test_a_caller_hangs_up_after_the_most_turns() -> None:
    assert await said(caller(script=["One.", "Two."], max_turns=1), "", "") == ["One.", None]


@pytest.mark.parametrize(("max_turns", "is_cut"), [(1, True), (2, False)])
async def test_a_script_is_cut_if_lines_are_left_at_the_most_turns(max_turns: int, is_cut: bool) -> None:
    scripted = caller(script=["One.", "Two."], max_turns=max_turns)
    await said(scripted, "", "", "")
    assert scripted.is_cut == is_cut


class Speaks:
    """An LLM that says these lines."""

    def __init__(self, *lines: str) -> None:
        self._lines = iter(lines)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield Delta(next(self._lines))


@pytest.mark.parametrize(
    ("lines", "spoken", "is_cut"),
    [
        (["Hello.", "And?"], ["Hello.", "And?", None], True),
        (["Hello.", "Bye. [hang up]"], ["Hello.", "Bye.", None], False),
        (["[hang up]"], [None, None, None], False),
    ],
)
async def test_an_llm_is_cut_if_it_does_not_hang_up_within_the_most_turns(
    lines: list[str], spoken: list[str | None], is_cut: bool
) -> None:
    scenario = Scenario.of("order", {"persona": {"goal": "pizza"}, "max_turns": 2})
    calling = LlmCaller(Speaks(*lines), scenario.file, Random(1), "en")  # type: ignore[arg-type]  # generates only
    found = [await calling.next("Yes?") for _ in range(3)]
    assert [None if line is None else line.text for line in found] == spoken
    assert calling.is_cut == is_cut


async def test_a_line_over_the_agent_says_how_far_into_its_answer() -> None:
    interrupting = caller(script=["One.", {"say": "Stop.", "over_agent_s": 1.5}, "Bye."])
    assert interrupting.over_agent_s() is None
    await interrupting.next("")
    assert interrupting.over_agent_s() == 1.5
    await interrupting.next("")
    assert interrupting.over_agent_s() is None


async def test_a_first_line_may_be_said_over_the_greeting_but_the_habit_spares_it() -> None:
    line = {"say": "One.", "over_agent_s": 1.5}
    assert caller(script=[line]).over_agent_s() == 1.5
    persona = {"habits": ["interrupts"]}
    assert {caller(seed, script=["One."], persona=persona).over_agent_s() for seed in range(20)} == {None}


@pytest.mark.parametrize(
    ("text", "line", "hangs_up"),
    [
        ("Two, please.", Line("Two, please."), False),
        ('"Two, please."', Line("Two, please."), False),
        ("[silence 6] Hello?", Line("Hello?", 6.0), False),
        ("[Silence] Hello?", Line("Hello?", 5.0), False),
        ("[silence 900] Hello?", Line("Hello?", 30.0), False),
        ("Thanks, bye. [hang up]", Line("Thanks, bye."), True),
        ("[hang up]", None, True),
        ("One [pause 1.5] moment.", Line("One [pause 1.5] moment."), False),
    ],
)
def test_an_llms_line_has_silence_and_hanging_up(text: str, line: Line | None, hangs_up: bool) -> None:
    assert parse_line(text) == (line, hangs_up)


def test_pauses_divide_a_line() -> None:
    assert parts_of("For [pause 1.5] two [pause] people.") == [("For", 1.5), ("two", 1.0), ("people.", 0.0)]
    assert words_in("For [pause 1.5] two.") == "For two."
    assert parts_of("[pause 99] Yes.") == [("", 10.0), ("Yes.", 0.0)]


def test_a_hesitating_caller_pauses_once_within_a_longer_line() -> None:
    parts = hesitating("I would like to book a table.", Random(3))
    assert [pause_s > 0 for _, pause_s in parts] == [True, False]
    assert " ".join(words for words, _ in parts) == "I would like to book a table."
    assert hesitating("Yes, please.", Random(3)) == [("Yes, please.", 0.0)]


def test_an_llm_is_told_goal_facts_temper_and_habits() -> None:
    persona = Persona(
        goal="Order a pizza.", facts={"street": "Mill Street"}, temper="angry", habits=("spells",)
    )
    prompt = instructions(persona, "de")
    for words in ("Order a pizza.", "- street: Mill Street", "angry", "letter by letter", '"de"'):
        assert words in prompt
    assert "change your mind" not in prompt
