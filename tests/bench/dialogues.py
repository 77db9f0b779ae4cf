"""Count cut-off turns, and measure waits, in recorded dialogues of two people.

python tests/bench/dialogues.py CALLER.wav AGENT.wav [CALLER.wav AGENT.wav ...]

A dialogue has a recording for each speaker, of the same length. Each turn of one of them becomes a call: the
agent says first what the other one had said, as the configuration's recognizer understands it, and what
counts is whether the turn is taken for over in one of its pauses. In virtual time, answers after 20 ms;
beside fixed silences.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from dictated_numbers import asking
from people.material import Clip, last_voiced_s
from people.offline import run_offline, run_silence_alone
from people.outcome import Outcome, figures

from audio.detection.vad import SileroVad
from audio.detection.voiced_spans import Span, voiced_spans
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from voiceagent.cli.transcribe import transcripts
from voiceagent.config import default_config
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.server.engine_building import build_recognizer_alone
from voiceagent.telemetry.log import configure_log
from voiceagent.transports.local_call import FORMAT, Recording, read_recordings

ANSWER_S = 0.02
SILENCES_S = (0.5, 0.65, 0.8, 1.2)
OTHERS_VOICE_S = 0.25
"""Voice of the other speaker in a pause that ends the turn; less is a backchannel."""
LONGEST_PAUSE_S = 4.0
SHORTEST_TURN_S = 1.5
BEFORE_S, AFTER_S = 0.15, 0.1
"""Audio around a turn that belongs to it."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """One side of a dialogue. sound [n], 16 kHz. spans: where it has a voice."""

    name: str
    sound: Samples
    spans: Sequence[Span]

    def cut(self, begin: int, end: int) -> Samples:
        """Return the audio of a span and what surrounds it."""
        before, after = round(BEFORE_S * SAMPLE_RATE_HZ), round(AFTER_S * SAMPLE_RATE_HZ)
        return self.sound[max(0, begin - before) : end + after]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn, and what the other speaker had said before it."""

    clip: Clip
    before: Recording


def main() -> None:
    """Print the cut-off turns and the figures of all."""
    config = load(default_config())
    configure_log(config.log.format, "error")
    vad = SileroVad()
    vad.load()
    turns = [
        turn
        for paths in zip(sys.argv[1::2], sys.argv[2::2], strict=True)
        for one, other in permutations([_read(Path(path), vad) for path in paths])
        for turn in _turns(one, other)
    ]
    said = asyncio.run(transcripts(build_recognizer_alone(config), [turn.before for turn in turns]))
    outcomes = [_call(config, turn, words) for turn, words in zip(turns, said, strict=True)]
    _print("this agent", outcomes)
    for silence_s in SILENCES_S:
        clips = [turn.clip for turn in turns]
        _print(f"{silence_s} s of silence", run_silence_alone(config, silence_s, clips, lambda _: None))


def _print(detector: str, outcomes: Sequence[Outcome]) -> None:
    found = figures(outcomes)
    p50, p95 = (percentile(found.decisions_ms, rank) for rank in (50, 95))
    mean = sum(found.decisions_ms) / len(found.decisions_ms)
    waits = f"{p50:.0f}, {p95:.0f}, {mean:.0f} ms"
    print(f"{detector}: {found.cut_off:.1%} of {found.clips} cut, decided after {waits}")


def _read(path: Path, vad: SileroVad) -> Speaker:
    sound = read_recordings([path], SAMPLE_RATE_HZ)[0].sound
    return Speaker(path.stem, sound, voiced_spans(sound, vad))


def _turns(one: Speaker, other: Speaker) -> Iterator[Turn]:
    """Yield the turns of one speaker that are long enough."""
    spans = list(_turn_spans(one.spans, other.spans))
    for (_, ended), (begin, end) in zip([(0, 0), *spans], spans, strict=False):
        before = [span for span in other.spans if ended <= span[0] < begin]
        if end - begin < SHORTEST_TURN_S * SAMPLE_RATE_HZ or not before:
            continue
        sound = resample(one.cut(begin, end), SAMPLE_RATE_HZ, FORMAT.rate_hz)
        name = f"{one.name} {begin / SAMPLE_RATE_HZ:.1f} s"
        clip = Clip(name, sound, None, "spontaneous", last_voiced_s(sound, FORMAT.rate_hz), one.name)
        yield Turn(clip, Recording(name, other.cut(before[0][0], before[-1][1])))


def _turn_spans(own: Sequence[Span], others: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans that have no turn of the other speaker within."""
    turn: Span | None = None
    for begin, end in own:
        if turn is not None and (
            begin - turn[1] > LONGEST_PAUSE_S * SAMPLE_RATE_HZ
            or _voice(others, turn[1], begin) > OTHERS_VOICE_S * SAMPLE_RATE_HZ
        ):
            yield turn
            turn = None
        turn = (begin if turn is None else turn[0], end)
    if turn is not None:
        yield turn


def _voice(spans: Sequence[Span], begin: int, end: int) -> int:
    """Return the voiced samples of the spans in a range."""
    return sum(max(0, min(last, end) - max(first, begin)) for first, last in spans)


def _call(config: Config, turn: Turn, said: str) -> Outcome:
    """Return the outcome of one turn after these words of the agent, and print it if it was cut."""
    heard = asking(config, said) if said else config
    (outcome,) = run_offline(heard, [turn.clip], lambda _: None, ANSWER_S)
    if outcome.is_cut_off:
        print(f"{turn.clip.name}: {said[-60:]!r} {' | '.join(outcome.texts or ())[:100]}", flush=True)
    return outcome


if __name__ == "__main__":
    main()
