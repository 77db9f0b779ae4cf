"""Speech of a kept call for its scores: from the recording where there is one, else from the log.

The caller's speech is found in the left channel by the voice activity model, so that the scores do not depend
on the decisions of the call. References, if given, say instead what the caller said, and when.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, get_args

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from audio.detection.vad import SAMPLE_RATE_HZ, SileroVad
from audio.detection.voiced_spans import voiced_spans
from audio.pcm import Samples
from audio.resample import resample
from voiceagent.calls.log.entries import SilentSpan
from voiceagent.calls.log.logged_speech import LoggedPause, LoggedSpeech, LoggedTurn
from voiceagent.calls.log.time_axis import Moment
from voiceagent.conversation.words import without_backchannels, words_of
from voiceagent.scores.end_of_turn import Judgement, Pause
from voiceagent.scores.interaction import CallerSpeech, SpeechKind
from voiceagent.scores.scorecard import CallSpeech
from voiceagent.scores.spans import Span, joined, overlap_s
from voiceagent.scores.word_errors import WordErrors, word_errors


def caller_audio(recording: bytes, rate_hz: int, silences: Sequence[SilentSpan]) -> Samples:
    """Return the audio the caller sent, [n] at 16 kHz: the left channel without the inserted silences.

    rate_hz: of the recording, and unit of its silences. silences: spans without input. Raises ValueError if
    the recording cannot be read.
    """
    left, _ = both_sides(recording, rate_hz)
    sent = np.ones(len(left), bool)
    for silence in silences:
        sent[silence.since : silence.until] = False
    return resample(left[sent], rate_hz, SAMPLE_RATE_HZ)


def both_sides(recording: bytes, rate_hz: int) -> tuple[Samples, Samples]:
    """Return the samples [n] of caller and agent at `rate_hz`. Raises ValueError if they cannot be read."""
    try:
        with av.open(BytesIO(recording), mode="r") as container:
            stream = container.streams.audio[0]
            to_planes = av.AudioResampler(format="s16p", layout="stereo", rate=rate_hz)
            frames = [frame for sound in container.decode(stream) for frame in to_planes.resample(sound)]
    except (av.error.FFmpegError, IndexError) as error:
        raise ValueError(f"the recording cannot be read: {error}") from error
    both = np.concatenate([np.zeros((2, 0), np.int16), *(frame.to_ndarray() for frame in frames)], axis=1)
    return both[0], both[1]


UTTERANCE_GAP_S = 0.7
"""Longest pause within an utterance, as in the open analyzer voice-agent-latency (its TURN_MERGE_GAP_MS)."""
AUDIBLE = 100
"""Amplitude from which the agent is audible, of 32,768."""
HEARD_S = 0.1
"""Minimum length of speech of the agent; less is a click."""
WINDOW_S = 0.01
MARGIN_S = 0.128
"""Distance from an end of a voiced span within which the voice may begin or end: the model resolves 32 ms."""
ABOVE_NOISE_DB, NOISE_PERCENTILE, QUIETEST_DB = 10.0, 10, -75.0
"""A voice is this much louder than the noise, a low percentile of all levels in dBFS, but no less than the
third. These are the analyzer's values, too, so that the same turns have the same ends.
"""
END_TOLERANCE_S = 0.3
"""Difference of two detectors about the end of a voice."""
KINDS = tuple(kind for kind in get_args(SpeechKind) if kind != "typed")


@dataclass(frozen=True, slots=True)
class Reference:
    """A sound that the caller made. begin_s, end_s: seconds of the audio that the caller sent."""

    begin_s: float
    end_s: float
    kind: SpeechKind = "turn"
    text: str | None = None


def parse_references(lines: Iterable[str], name: str) -> dict[str, list[Reference]]:
    """Parse JSON Lines `{"call_id": ..., "said": [{"begin_s", "end_s", "kind", "text"}]}`, by call.

    Raises ValueError that names the line and what is allowed.
    """
    references = {}
    for number, line in enumerate(lines, 1):
        try:
            call = json.loads(line)
            references[str(call["call_id"])] = [_reference(said) for said in call["said"]]
        except (ValueError, KeyError, TypeError) as error:
            allowed = 'an object with "call_id" and "said", a list of {"begin_s", "end_s", "kind", "text"}'
            raise ValueError(f"{name}, line {number}: {error!r}; allowed: {allowed}") from error
    return references


def _reference(said: Mapping[str, Any]) -> Reference:
    kind, text = said.get("kind", "turn"), said.get("text")
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")
    begin_s, end_s = float(said["begin_s"]), float(said["end_s"])
    if not 0 <= begin_s < end_s:
        raise ValueError(f"begin_s is {begin_s} and end_s {end_s}; allowed: 0 <= begin_s < end_s")
    return Reference(begin_s, end_s, kind, None if text is None else str(text))


def call_speech(
    logged: LoggedSpeech,
    recording: bytes | None,
    vad: SileroVad,
    references: Sequence[Reference] | None,
    language: str,
) -> CallSpeech:
    """Return the speech of a call.

    Args:
        logged: speech in its log.
        recording: WAV or Ogg of both sides; None if there is none.
        vad: the loaded voice activity model.
        references: sounds that the caller made; None to find them in the recording, or the log.
        language: of the transcripts.

    Raises:
        ValueError: the recording cannot be read.
    """
    agent = tuple(logged.agent)
    voice = [turn.span for turn in logged.turns]
    if recording is not None and logged.axis.rate_hz:
        caller_sound, agent_sound = both_sides(recording, logged.axis.rate_hz)
        agent = tuple(_audible(agent, agent_sound, logged.axis.rate_hz))
        if references is None:
            voice = _voice(caller_sound, logged.axis.rate_hz, vad)
    if references is None:
        caller = [_classified(span, logged, agent) for span in joined(voice, UTTERANCE_GAP_S)]
    else:
        caller = [_placed(reference, logged) for reference in references]
    turns = [speech for speech in caller if speech.kind == "turn"]
    caller += [CallerSpeech(Span(at_s, at_s), "typed") for at_s in logged.typed_s]
    return CallSpeech(
        logged.call_id,
        logged.seconds,
        tuple(caller),
        agent,
        tuple(_pauses(logged.pauses, turns)),
        _word_errors(turns, logged.turns, language),
        tuple(logged.waits_s),
    )


def _placed(reference: Reference, logged: LoggedSpeech) -> CallerSpeech:
    """Return the speech of a reference, with its span in the recording."""
    begin_s, end_s = (logged.axis.place(Moment(0.0, at_s)) for at_s in (reference.begin_s, reference.end_s))
    return CallerSpeech(Span(begin_s, end_s), reference.kind, reference.text)


def _classified(span: Span, logged: LoggedSpeech, agent: Sequence[Span]) -> CallerSpeech:
    """Return a voice with its kind by the transcripts: without words it is a noise, and words of a listener
    over the agent are a backchannel.
    """
    words = words_of(" ".join(turn.text for turn in turns_within(span, logged.turns)))
    over_agent = any(speech.begin_s <= span.begin_s < speech.end_s for speech in agent)
    kind: SpeechKind = "turn"
    if not words:
        kind = "noise"
    elif over_agent and not without_backchannels(words, logged.backchannels):
        kind = "backchannel"
    return CallerSpeech(span, kind)


def turns_within(span: Span, turns: Iterable[LoggedTurn]) -> list[LoggedTurn]:
    """Return the logged turns that lie in a span for the most part, or have no length."""
    wide = Span(span.begin_s - END_TOLERANCE_S, span.end_s + END_TOLERANCE_S)
    return [
        turn
        for turn in turns
        if wide.begin_s <= turn.span.begin_s < wide.end_s
        and 2 * overlap_s(turn.span, wide) >= turn.span.end_s - turn.span.begin_s
    ]


def _word_errors(turns: Sequence[CallerSpeech], logged: Sequence[LoggedTurn], language: str) -> WordErrors:
    errors = WordErrors(0, 0)
    for speech in turns:
        if speech.text is not None:
            recognized = [turn.text for turn in turns_within(speech.span, logged)]
            errors += word_errors(speech.text, " ".join(recognized), language)
    return errors


def _pauses(logged: Sequence[LoggedPause], turns: Sequence[CallerSpeech]) -> list[Pause]:
    """Return the pauses within and after turns. Times of the last one count from the end of the voice."""
    pauses = []
    for turn in turns:
        begin_s, end_s = turn.span
        inside = [pause for pause in logged if begin_s < pause.span.begin_s <= end_s + END_TOLERANCE_S]
        for pause in inside:
            ends_turn = pause.span.end_s > end_s + END_TOLERANCE_S
            since_s = end_s if ends_turn else pause.span.begin_s
            pauses.append(_pause(pause, ends_turn, since_s))
    return pauses


def _pause(pause: LoggedPause, ends_turn: bool, since_s: float) -> Pause:
    return Pause(
        pause.span.end_s - since_s,
        ends_turn,
        tuple(Judgement(max(0.0, at_s - since_s), probability) for at_s, probability in pause.judged),
        None if pause.decided_s is None else max(0.0, pause.decided_s - since_s),
    )


def _audible(spans: Iterable[Span], sound: Samples, rate_hz: int) -> Iterable[Span]:
    """Yield the audible part of each span of the agent."""
    for span in spans:
        begin = round(span.begin_s * rate_hz)
        loud = np.flatnonzero(np.abs(sound[begin : round(span.end_s * rate_hz)].astype(np.int32)) >= AUDIBLE)
        if len(loud) and loud[-1] - loud[0] >= HEARD_S * rate_hz:
            yield Span((begin + int(loud[0])) / rate_hz, (begin + int(loud[-1]) + 1) / rate_hz)


def _voice(sound: Samples, rate_hz: int, vad: SileroVad) -> list[Span]:
    spans = voiced_spans(resample(sound, rate_hz, SAMPLE_RATE_HZ), vad)
    loud = _loud_windows(sound, rate_hz)
    return [_refined(Span(begin / SAMPLE_RATE_HZ, end / SAMPLE_RATE_HZ), loud) for begin, end in spans]


def _loud_windows(sound: Samples, rate_hz: int) -> NDArray[np.bool_]:
    """Return which windows of `WINDOW_S` are louder than the noise."""
    length = round(WINDOW_S * rate_hz)
    windows = sound[: len(sound) // length * length].astype(np.float64).reshape(-1, length) / 32_768
    levels_db = 10 * np.log10(np.mean(windows**2, axis=1) + 1e-12)
    noise_db = max(QUIETEST_DB, float(np.percentile(levels_db, NOISE_PERCENTILE))) if len(levels_db) else 0.0
    loud: NDArray[np.bool_] = levels_db > noise_db + ABOVE_NOISE_DB
    return loud


def _refined(span: Span, loud: NDArray[np.bool_]) -> Span:
    """Return a voiced span from its first loud window to its last, each near where the model found it."""
    near = round(MARGIN_S / WINDOW_S)
    begin, end = round(span.begin_s / WINDOW_S), round(span.end_s / WINDOW_S)
    from_begin, to_end = max(0, begin - near), max(0, end - near)
    firsts, lasts = np.flatnonzero(loud[from_begin : begin + near]), np.flatnonzero(loud[to_end : end + near])
    begin_s = (from_begin + int(firsts[0])) * WINDOW_S if len(firsts) else span.begin_s
    end_s = (to_end + int(lasts[-1]) + 1) * WINDOW_S if len(lasts) else span.end_s
    return Span(begin_s, max(begin_s, end_s))
