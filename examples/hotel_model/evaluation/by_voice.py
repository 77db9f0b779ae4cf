"""Held-out questions and requests by voice: synthesized, with or without a telephone line.

They go to the whole agent, by `voiceagent talk`, or only through its recognizer, by `voiceagent transcribe`;
both run as separate processes. The voices are those of Debian's `flite` and `espeak-ng`, which the agent
itself does not use.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import av

from examples.hotel_model.data.labelled import Labelled
from examples.hotel_model.data.labelled_calls import CALLED, LabelledCall
from examples.hotel_model.data.requests import Call
from examples.hotel_model.evaluation.answering import Answer
from voiceagent.bench.scoring import Verdict, spoken
from voiceagent.demo.world import system_prompt
from voiceagent.scores.word_errors import edit_distance

RIGHT_TARGET = 0.85  # of the spoken questions answered rightly
WORD_ERRORS_TARGET = 0.12  # of their words
CALLS_AT_ONCE = 2
_RECORDINGS_TOGETHER = 200
PATIENCE_S = 180.0


@dataclass(frozen=True)
class Voice:
    """A voice on a line. program, arguments: command before the text and the file. telephone: 8
    kHz mu-law.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    telephone: bool

    def speak(self, text: str, path: Path) -> None:
        """Write `text` to a WAV file: 16 kHz PCM, or 8 kHz mu-law for the telephone."""
        plain = path.with_suffix(".plain.wav")
        flite = self.program == "flite"
        words = ["-t", text, "-o", str(plain)] if flite else ["-w", str(plain), text]
        subprocess.run([self.program, *self.arguments, *words], check=True, capture_output=True)
        _convert(plain, path, *(("pcm_mulaw", 8_000) if self.telephone else ("pcm_s16le", 16_000)))
        plain.unlink()


Talk = Callable[[Sequence[str], Voice], dict[str, Any]]
"""Says texts in one call and returns the last turn, as `voiceagent talk --json` prints it."""

VOICES = (
    Voice("flite slt", "flite", ("-voice", "slt"), telephone=False),
    Voice("flite rms, telephone", "flite", ("-voice", "rms"), telephone=True),
    Voice("espeak-ng, telephone", "espeak-ng", ("-v", "en-us+f2", "-s", "150"), telephone=True),
    Voice("espeak-ng", "espeak-ng", ("-v", "en-us+f5", "-s", "150"), telephone=False),
)


@dataclass(frozen=True)
class Asked:
    """A spoken question, its transcript and its answer."""

    labelled: Labelled
    voice: Voice
    understood: str
    answer: str
    verdict: Verdict

    @property
    def word_errors(self) -> int:
        """Substitutions, deletions and insertions in the question alone."""
        return edit_distance(spoken(self.labelled.words).split(), spoken(self.understood).split())


@dataclass(frozen=True)
class Requested:
    """A spoken request, its transcript and the agent's calls."""

    labelled: LabelledCall
    voice: Voice
    understood: str
    called: tuple[Call, ...]

    @property
    def right(self) -> bool:
        """True if the call is correct, or none was made because the agent must ask first."""
        return self.labelled.is_right(list(self.called))


def missing_programs() -> list[str]:
    """Return the programs of the voices that are not installed."""
    return sorted({voice.program for voice in VOICES if shutil.which(voice.program) is None})


def ask_by_voice(questions: Sequence[Labelled], talk: Talk) -> Iterable[Asked]:
    """Ask each question in a call of its own, after its history, with the voices in turn."""

    def ask(labelled: Labelled, voice: Voice) -> Asked:
        said = [text for role, text in labelled.history if role == "user"]
        last = talk([*said, labelled.words], voice)
        called = [f"{CALLED} {call.name}" for call in _calls_in(last)]
        understood, answer = " ".join(last["understood"]), " ".join([*last["answered"], *called])
        return Asked(labelled, voice, understood, answer, labelled.judge(answer))

    with ThreadPoolExecutor(CALLS_AT_ONCE) as calls:
        yield from calls.map(ask, questions, cycle(VOICES))


def request_by_voice(requests: Sequence[LabelledCall], talk: Talk) -> Iterable[Requested]:
    """Make each request in a call of its own, after the caller's earlier turns, with the voices in turn."""

    def request(labelled: LabelledCall, voice: Voice) -> Requested:
        *before, _ = (message["content"] for message in labelled.messages if message["role"] == "user")
        last = talk([*before, labelled.words], voice)
        return Requested(labelled, voice, " ".join(last["understood"]), tuple(_calls_in(last)))

    with ThreadPoolExecutor(CALLS_AT_ONCE) as calls:
        yield from calls.map(request, requests, cycle(VOICES))


def ask_transcribed(questions: Sequence[Labelled], answer: Answer, config: Path) -> Iterable[Asked]:
    """Ask `answer` each question as the recognizer transcribes it, with the written history."""
    system = system_prompt()
    for start in range(0, len(questions), _RECORDINGS_TOGETHER):
        some = questions[start : start + _RECORDINGS_TOGETHER]
        voices = [VOICES[number % len(VOICES)] for number in range(start, start + len(some))]
        transcripts = transcripts_of([item.words for item in some], voices, config)
        for labelled, voice, words in zip(some, voices, transcripts, strict=True):
            said = answer(replace(labelled, question=words).messages(system))
            yield Asked(labelled, voice, words, said, labelled.judge(said))


def transcripts_of(texts: Sequence[str], voices: Sequence[Voice], config: Path) -> list[str]:
    """Return the output of `voiceagent transcribe` for each text in its voice. Raises
    RuntimeError if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.wav" for number in range(len(texts))]
        for text, voice, path in zip(texts, voices, paths, strict=True):
            voice.speak(text, path)
        found = _run("transcribe", paths, config, PATIENCE_S + len(texts))
    return [transcript["text"] for transcript in found["transcripts"]]


def word_error_rate(asked: Sequence[Asked]) -> float:
    """Return errors per word, over all questions."""
    words = sum(len(spoken(item.labelled.words).split()) for item in asked)
    return sum(item.word_errors for item in asked) / words if words else 0.0


def talking_to(config: Path) -> Talk:
    """Return a Talk that runs `voiceagent talk` with the engines of a configuration."""

    def talk(texts: Sequence[str], voice: Voice) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{number}.wav" for number in range(len(texts))]
            for text, path in zip(texts, paths, strict=True):
                voice.speak(text, path)
            last: dict[str, Any] = _run("talk", paths, config, PATIENCE_S)["turns"][-1]
        return last

    return talk


def _calls_in(turn: dict[str, Any]) -> list[Call]:
    """Return the calls of a turn as `talk` prints them; lines with an arrow are results."""
    called = [line.partition("(") for line in turn["tools"] if not line.startswith("->")]
    return [Call(name, json.loads(arguments.removesuffix(")"))) for name, _, arguments in called]


def _run(command: str, recordings: Sequence[Path], config: Path, patience_s: float) -> dict[str, Any]:
    """Return the JSON output of a voiceagent command on recordings. Raises RuntimeError if it
    prints nothing.
    """
    program = Path(sys.executable).with_name("voiceagent")
    line: list[str | Path] = [program, command, *recordings, "--json", "--config", config]
    done = subprocess.run(line, capture_output=True, text=True, timeout=patience_s, check=False)
    if not done.stdout:
        raise RuntimeError(f"voiceagent {command} failed: {done.stderr.strip()}")
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def _convert(source: Path, target: Path, codec: str, rate_hz: int) -> None:
    """Resample a mono WAV file and write it in another encoding."""
    with av.open(str(source)) as reader, av.open(str(target), "w") as writer:
        stream = writer.add_stream(codec, rate=rate_hz, layout="mono")
        assert isinstance(stream, av.AudioStream)
        resampler = av.AudioResampler(format="s16", layout="mono", rate=rate_hz)
        for frame in (*reader.decode(audio=0), None):
            for ready in resampler.resample(frame):
                writer.mux(stream.encode(ready))
        writer.mux(stream.encode(None))
