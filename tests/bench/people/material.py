"""Recordings of people, labelled by a `manifest.json` in a folder of WAV files.

The manifest is a list of objects: `file`; `text`, the transcript, or null; `kind`, one of KINDS. Other keys
are notes. `split.csv` says, by hash, which recordings are for tuning and which only for measuring: no speaker
is in both. (`kgs_1234_5678.wav`, whose manifest has the numbers in English, speaks Estonian.)
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from audio.detection.vad import SAMPLE_RATE_HZ, SileroVad
from audio.detection.voiced_spans import voiced_spans
from audio.pcm import Samples
from audio.resample import resample
from voiceagent.bench.speech import voice_end_s, voice_start_s
from voiceagent.transports.local_call import FORMAT, read_recordings
from voiceagent.validation.errors import CommandFailed, reason_of

Kind = Literal["question", "answer", "digits", "reading", "spontaneous", "dialogue", "noise"]
"""answer: a few words in reply to a question of the agent. dialogue: of two people, on one channel or one
side only. noise: hardly any speech.
"""
Half = Literal["tune", "measure", "all"]
KINDS: tuple[str, ...] = get_args(Kind)
ONE_TURN = frozenset({"question", "answer", "digits", "reading", "spontaneous"})
"""Kinds whose recordings are one turn of one caller."""
ANSWER_WORDS = 3
"""Maximum words of a "question" that counts as an answer."""
_HASH_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording as callers speak it: `sound` [n] at 24 kHz.

    text: transcript; None if there is none. voice_end_s: end of the last voiced sample, before any condition.
    speaker: "" if unknown.
    """

    name: str
    sound: Samples
    text: str | None
    kind: Kind
    voice_end_s: float
    speaker: str = ""

    @property
    def is_one_turn(self) -> bool:
        """True if a second turn in it is an error."""
        return self.kind in ONE_TURN


def read_clips(folders: Sequence[Path], half: Half, kinds: Sequence[str], language: str) -> list[Clip]:
    """Return recordings in a language, of these kinds (all if empty). Raises CommandFailed."""
    clips = [clip for folder in folders for clip in _read_folder(folder, half, kinds, language)]
    if not clips:
        raise CommandFailed(f"no recording of --half {half} and of kinds {', '.join(kinds) or 'all'} there")
    return clips


@dataclass(frozen=True, slots=True)
class Place:
    """Part of the recordings (for tuning or measuring) that one belongs to, with its speaker and language."""

    half: Half
    speaker: str
    language: str


NOWHERE = Place("measure", "", "")
"""Entry of a recording that is not in the split: it was not used for tuning."""


def place_of(data: bytes) -> Place:
    """Return the entry of a recording with this content."""
    return _split().get(hashlib.sha256(data).hexdigest()[:_HASH_CHARACTERS], NOWHERE)


def _read_folder(folder: Path, half: Half, kinds: Sequence[str], language: str) -> list[Clip]:
    clips = []
    for entry in _manifest(folder):
        path = folder / entry["file"]
        kind = _kind(folder, entry)
        if kinds and kind not in kinds:
            continue
        try:
            place = place_of(path.read_bytes())
        except OSError as error:
            raise CommandFailed(
                f"{folder / 'manifest.json'}: {path.name} cannot be read: {reason_of(error)}"
            ) from error
        if half in ("all", place.half) and place.language in ("", language):
            sound = read_recordings([path])[0].sound
            end_s = last_voiced_s(sound, FORMAT.rate_hz)
            clips.append(Clip(path.stem, sound, entry.get("text"), kind, end_s, place.speaker))
    return clips


def _manifest(folder: Path) -> list[dict[str, Any]]:
    path = folder / "manifest.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{path} cannot be read: {reason_of(error)}") from error
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and "file" in entry for entry in entries
    ):
        raise CommandFailed(f"{path}: allowed: a list of objects that have a 'file' each")
    return entries


def _kind(folder: Path, entry: dict[str, Any]) -> Kind:
    kind, text = entry.get("kind", "reading"), entry.get("text")
    if kind not in KINDS:
        raise CommandFailed(
            f"{folder / 'manifest.json'}: {entry['file']} has kind {kind!r}; allowed: {', '.join(KINDS)}"
        )
    is_answer = kind == "question" and text is not None and len(text.split()) <= ANSWER_WORDS
    found: Kind = "answer" if is_answer else kind
    return found


@cache
def _split() -> dict[str, Place]:
    table = (Path(__file__).parent / "split.csv").read_text(encoding="utf-8")
    return {
        row["sha256"]: Place("tune" if row["half"] == "tune" else "measure", row["speaker"], row["language"])
        for row in csv.DictReader(table.splitlines())
    }


BELOW_PEAK_DB = 20.0
"""The last 10 ms within this range of the loudest are the last voiced ones."""
NOISE_AFTER_S = 0.15
"""Loud audio this long before or after the model detects a voice is a click, a breath or noise."""


def last_voiced_s(sound: Samples, rate_hz: int) -> float:
    """Return the end of the last voiced sample of `sound` [n] in seconds; 0.0 if there is none.

    Raises VadError.
    """
    by_energy_s = voice_end_s(sound, rate_hz, BELOW_PEAK_DB)
    spans = voiced_spans(resample(sound, rate_hz, SAMPLE_RATE_HZ), _vad())
    if not spans:
        return by_energy_s
    by_model_s = spans[-1][1] / SAMPLE_RATE_HZ
    if by_energy_s <= by_model_s + NOISE_AFTER_S:
        return by_energy_s
    return voice_end_s(sound[: round((by_model_s + NOISE_AFTER_S) * rate_hz)], rate_hz, BELOW_PEAK_DB)


def first_voiced_s(sound: Samples, rate_hz: int) -> float:
    """Return the start of the first voiced sample of `sound` [n] in seconds; 0.0 if there is none.

    Raises VadError.
    """
    spans = voiced_spans(resample(sound, rate_hz, SAMPLE_RATE_HZ), _vad())
    begin_s = max(0.0, spans[0][0] / SAMPLE_RATE_HZ - NOISE_AFTER_S) if spans else 0.0
    return begin_s + voice_start_s(sound[round(begin_s * rate_hz) :], rate_hz)


@cache
def _vad() -> SileroVad:
    vad = SileroVad()
    vad.load()
    return vad
