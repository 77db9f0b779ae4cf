"""Habits of simulated callers on each line, seen in recordings: `habits_on_lines.py FOLDER [HABIT ...]`.

One call by sound of the demo for each pair, in virtual time. A scripted LLM is the caller, so that its
instructions must name the habit, and its marks ("[pause 1.2]", "[silence 6]", "[hang up]") must be carried
out. The calls of one habit have the same voice, speed and loudness on all lines. Prints a table, and exits
with 1 if a pair was not seen.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # for the caller's LLM, in the processes of the runs as well

from llmcore.engine import Delta, Request  # noqa: E402
from voiceagent.calls.call_speech import both_sides  # noqa: E402
from voiceagent.calls.places import names_at, read_at, recording_of  # noqa: E402
from voiceagent.evals.kept_runs import RunStore  # noqa: E402
from voiceagent.evals.run_processes import make_runs  # noqa: E402
from voiceagent.evals.runs import Plan  # noqa: E402
from voiceagent.evals.scenario import Habit, LineConfig  # noqa: E402

HABITS: tuple[Habit, ...] = get_args(Habit)
LINES: tuple[str, ...] = get_args(LineConfig.model_fields["kind"].annotation)
RATE_HZ = 16_000
FRAME = RATE_HZ // 50
GOODBYE = "Thank you, goodbye. [hang up]"
TALK = ("Can you tell me about your rooms and their prices?", "And what does breakfast cost?")
WORDS: dict[Habit, tuple[str, ...]] = {
    "pauses": ("Please wake me tomorrow [pause 1.2] at half past six.", GOODBYE),
    "corrects": ("Please wake me at six, no, sorry, at seven.", GOODBYE),
    "interrupts": (*TALK, *TALK, GOODBYE),
    "backchannels": (*TALK, GOODBYE),
    "spells": ("My name is Brandt, B, R, A, N, D, T. Is there a pool?", GOODBYE),
    "changes_mind": ("Please wake me at six.", "I changed my mind, wake me at seven.", GOODBYE),
    "falls_silent": ("Is there a pool?", "[silence 6] And how much is parking?", GOODBYE),
    "hangs_up": ("Is there a pool?", "[hang up]"),
}
TOLD = {
    "pauses": "[pause",
    "corrects": "correct yourself",
    "spells": "letter by letter",
    "changes_mind": "change your mind",
    "falls_silent": "[silence",
    "hangs_up": "without a goodbye",
}
"""Words of the instructions by which the caller knows that it has a habit."""


class Person:
    """The callers' LLM: has the habit that its goal names, if its instructions describe it too."""

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the next line."""
        told = request.messages[0].content
        habit = next(one for one in HABITS if f"goal: {one}" in told)
        lines = WORDS[habit] if TOLD.get(habit, "") in told else (GOODBYE,)
        said = sum(one.role == "assistant" for one in request.messages)
        yield Delta(lines[min(said, len(lines) - 1)])


def write_scenarios(folder: Path, line: str, habits: Sequence[Habit]) -> None:
    """Write a scenario for each habit on a line."""
    folder.mkdir(parents=True)
    (folder / "eval.toml").write_text('[caller]\nengine = "tests.bench.habits_on_lines:Person"\n')
    for habit in habits:
        persona = f'[persona]\ngoal = "goal: {habit}"\nhabits = ["{habit}"]\n'
        lost = "loss = 0.2\n" if line == "loss" else ""  # at 5 % a short line may have lost nothing
        (folder / f"{habit}.toml").write_text(f'{persona}[line]\nkind = "{line}"\n{lost}')


class Heard:
    """The recording of a call. caller, agent: level of each 20 ms, in RMS of 16-bit samples."""

    def __init__(self, place: str, call: Mapping[str, Any]) -> None:
        name = recording_of(names_at(place))
        assert name is not None
        self.sound, agent = both_sides(read_at(place, name), RATE_HZ)
        self.caller, self.agent = levels(self.sound), levels(agent)
        self.call = call
        self.floor = max(1.0, float(np.percentile(self.caller, 10)))
        voice = np.concatenate([self.within(one) for one in self.lines] or [self.caller])
        self.threshold = float(np.sqrt(self.floor * np.percentile(voice, 90)))

    @property
    def lines(self) -> list[Mapping[str, Any]]:
        """The caller's lines, backchannels included."""
        return [one for one in self.call["said"] if one["role"] == "caller"]

    def within(self, line: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return the caller's levels during a line."""
        return self.caller[round(line["begin_s"] * 50) : round(line["end_s"] * 50)]

    def over_agent(self, manner: str) -> bool:
        """Return True if such a line of the caller is voiced while the agent speaks."""
        return any(
            (self.within(line) > self.threshold).mean() > 0.3
            and any(
                one["role"] == "agent" and one["begin_s"] < line["begin_s"] < one["end_s"]
                for one in self.call["said"]
            )
            for line in self.lines
            if line["manner"] == manner
        )


def levels(sound: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return the RMS of each 20 ms."""
    frames = sound[: len(sound) // FRAME * FRAME].astype(np.float64).reshape(-1, FRAME)
    found: NDArray[np.float64] = np.sqrt(np.mean(frames**2, axis=1))
    return found


def longest(quiet: NDArray[np.bool_]) -> float:
    """Return the longest run, in seconds."""
    runs = "".join("1" if one else " " for one in quiet).split()
    return max(map(len, runs), default=0) / 50


def has_habit(habit: Habit, heard: Heard) -> bool:
    """Return True if the recording, and the agent's side of the call, show the habit."""
    lines, understood = heard.lines, " ".join(heard.call["understood"]).lower()
    if habit == "pauses":
        return any(longest(heard.within(line) < heard.threshold) >= 0.6 for line in lines)
    if habit in ("interrupts", "backchannels"):
        return heard.over_agent({"interrupts": "interruption", "backchannels": "backchannel"}[habit])
    if habit == "falls_silent":
        line = next((one for one in lines if "parking" in one["text"]), None)
        until = 0 if line is None else round(line["begin_s"] * 50)
        return longest(heard.caller[:until] < heard.threshold) >= 6.0 and "park" in understood
    if habit == "hangs_up":
        said = [one["text"] for one in lines]
        return heard.call["ended_by"] == "caller" and said == [WORDS["hangs_up"][0]]
    if habit == "spells":
        line = lines[0]
        voiced = heard.within(line) > heard.threshold
        return "B, R, A, N, D, T" in line["text"] and voiced.sum() / 50 > 1.5
    return "seven" in understood and "six" in understood


def has_line(kind: str, heard: Heard, clean: Heard) -> bool:
    """Return True if the recording shows the line. clean: the same caller on a clean one."""
    if kind == "clean":
        return heard.floor < 10
    if kind == "noise":
        return heard.floor > 100
    if kind == "telephone":
        return treble(heard) < treble(clean) / 5
    if kind == "speakerphone":
        quiet = np.ones(len(heard.caller), bool)
        for line in heard.lines:
            quiet[max(0, round(line["begin_s"] * 50) - 5) : round(line["end_s"] * 50) + 5] = False
        late = np.roll(heard.agent[: len(quiet)], 4)  # the way through the room
        echo = heard.caller[: len(late)][quiet[: len(late)] & (late > 1_000)]
        return len(echo) > 0 and float(np.median(echo)) > 20 * clean.floor
    others = ("noise", "telephone", "speakerphone")
    return not any(has_line(one, heard, clean) for one in others) and 0.1 < changed_share(heard, clean) < 0.6


def treble(heard: Heard) -> float:
    """Return the share of energy above 4 kHz in the caller's first line."""
    spectrum = np.abs(np.fft.rfft(first_line(heard))) ** 2
    return float(spectrum[len(spectrum) // 2 :].sum() / spectrum.sum())


def first_line(heard: Heard) -> NDArray[np.float64]:
    line = heard.lines[0]
    sound = heard.sound[round(line["begin_s"] * RATE_HZ) : round(line["end_s"] * RATE_HZ)]
    return sound.astype(np.float64)


def changed_share(heard: Heard, clean: Heard) -> float:
    """Return the share of voiced frames of the first line in which packets were lost: these differ most."""
    one, other = first_line(clean), first_line(heard)
    size = len(one) + len(other)
    product = np.fft.irfft(np.fft.rfft(other, size) * np.conj(np.fft.rfft(one, size)), size)
    other = np.roll(np.pad(other, (0, size - len(other))), -int(np.argmax(product)))[: len(one)]
    frames = len(one) // FRAME
    level = levels(one.astype(np.int16))
    error = levels((one - other).clip(-32_768, 32_767).astype(np.int16))
    voiced = level[:frames] > clean.threshold
    return float((error[:frames][voiced] > 0.7 * level[:frames][voiced]).mean())


def called(folder: Path, line: str, habits: Sequence[Habit]) -> dict[Habit, Heard]:
    """Make the calls of a line, and return their recordings."""
    write_scenarios(folder / line, line, habits)
    plan = Plan(folder / line, ROOT / "configs/demo.toml", {}, runs=1, processes=2, calls=folder / "calls")
    heard: dict[Habit, Heard] = {}
    runs = list(make_runs(plan))
    store = RunStore(folder / "calls")
    for run in runs:
        assert run.call is not None, run.failures
        row = store.get(run.call["call_id"])
        assert row is not None
        heard[next(one for one in habits if one == run.scenario)] = Heard(row.place, run.call)
    store.close()
    return heard


def main() -> int:
    """Make the calls, and print the table and how often a habit or a line is seen in a call without it."""
    folder = Path(sys.argv[1])
    habits = tuple(one for one in HABITS if one in sys.argv[2:] or not sys.argv[2:])
    heard = {line: called(folder, line, habits) for line in LINES}
    print(f"| habit | {' | '.join(LINES)} |\n| --- |{' --- |' * len(LINES)}")
    seen = 0
    for habit in habits:
        cells = []
        for line in LINES:
            has = (
                has_habit(habit, heard[line][habit]),
                has_line(line, heard[line][habit], heard["clean"][habit]),
            )
            seen += all(has)
            cells.append("seen" if all(has) else f"habit {has[0]}, line {has[1]}")
        print(f"| {habit} | {' | '.join(cells)} |")
    print(f"{seen} of {len(habits) * len(LINES)} pairs were seen")
    calls = [(habit, line, one) for line in LINES for habit, one in heard[line].items()]
    others = [has_habit(other, one) for habit, _, one in calls for other in habits if other != habit]
    print(f"other habits: seen in {sum(others)} of {len(others)}")
    elsewhere = [
        has_line(other, one, heard["clean"][habit])
        for habit, line, one in calls
        for other in LINES
        if other not in (line, "clean")  # all but the noisy line are clean between the words
    ]
    print(f"other lines: seen in {sum(elsewhere)} of {len(elsewhere)}")
    return int(seen < len(habits) * len(LINES))


if __name__ == "__main__":
    sys.exit(main())
