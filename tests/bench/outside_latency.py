"""Response latency by an outside program: `outside_latency.py CALLS ANALYZER [PYTHON [DBFS]]`.

ANALYZER is a checkout of https://github.com/openbenchmarks-labs/voice-agent-latency (MIT), run unmodified
on the recordings of the kept calls in CALLS. PYTHON has its dependencies: numpy, scipy, soundfile,
onnxruntime, webrtcvad-wheels. DBFS: level of noise that is added to the caller's side for both programs: they
place the end of a voice where it is 10 dB above the noise, and recordings played into digital silence have no
such place. Prints its latencies and those of `voiceagent score` on the same turns; exit 1
if their means differ by more than 5 %. Turns over which the agent speaks are left out: the analyzer gives
them negative ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from audio.detection.vad import SileroVad
from audio.pcm import Samples
from audio.resample import resample
from voiceagent.calls.call_speech import both_sides, call_speech
from voiceagent.calls.log.logged_speech import logged_speech
from voiceagent.calls.places import names_at, read_at, read_log_at, recording_of
from voiceagent.scores.interaction import interaction_events
from voiceagent.scores.scorecard import CallSpeech

RATE_HZ = 8_000
"""Rate of the analyzer's recordings."""
SAME_TURN_S = 0.3
"""Largest difference between the ends of one turn by both programs."""
TOLERANCE = 0.05


def with_noise(recording: bytes, rate_hz: int, level_db: float) -> bytes:
    """Return a recording as WAV with noise on the caller's side. level_db: its RMS in dBFS."""
    caller, agent = both_sides(recording, rate_hz)
    noise = np.random.default_rng(1).normal(0, 32_768 * 10 ** (level_db / 20), len(caller))
    noisy = np.clip(caller + noise, -32_768, 32_767).astype(np.int16)
    file = BytesIO()
    write_wav(file, rate_hz, noisy, agent)
    return file.getvalue()


def write_wav(file: str | BytesIO, rate_hz: int, *sides: Samples) -> None:
    """Write the sides of a call as the channels of a WAV file."""
    with wave.open(file, "wb") as written:
        written.setnchannels(len(sides))
        written.setsampwidth(2)
        written.setframerate(rate_hz)
        written.writeframes(np.stack(sides, axis=1).astype("<i2").tobytes())


def kept_calls(folder: Path, runs: Path, noise_db: float | None = None) -> Iterator[tuple[Path, CallSpeech]]:
    """Write a folder for the analyzer for each call; yield it with the speech by our detector."""
    vad = SileroVad()
    vad.load()
    for number, log in enumerate(sorted(folder.rglob("log.jsonl*"))):
        place = str(log.parent)
        name = recording_of(names_at(place))
        if name is None:
            continue
        recording, logged = read_at(place, name), logged_speech(read_log_at(place), place)
        if noise_db is not None:
            recording = with_noise(recording, logged.axis.rate_hz, noise_db)
        sides = both_sides(recording, logged.axis.rate_hz)
        call = runs / f"call-{number:03d}"
        call.mkdir()
        low = [resample(side, logged.axis.rate_hz, RATE_HZ) for side in sides]
        write_wav(str(call / "recording.wav"), RATE_HZ, *low)
        speech = call_speech(logged, recording, vad, None, "en")
        yield call, speech


def analyze(runs: Path, turns: dict[Path, int], analyzer: Path, python: str) -> dict[Path, dict[str, Any]]:
    """Run the analyzer on all calls. turns: how often the caller speaks in each."""
    for call, count in turns.items():
        known = {"call_id": call.name, "mode": "scripted_dialog", "turns_played": count}
        (call / "metadata.json").write_text(json.dumps(known))
    subprocess.run([python, "-m", "analyzer", runs], cwd=analyzer, check=True, stdout=subprocess.DEVNULL)
    return {call: json.loads((call / "result.json").read_text()) for call in turns}


def counted(result: dict[str, Any]) -> int:
    """Return how often the caller speaks by the analyzer itself."""
    flags = [flag for flag in result["flags"] if flag.startswith("near_utterances=")]
    return int(flags[0].partition("=")[2]) if flags else 0


def main() -> int:
    """Measure the calls with both programs."""
    folder, analyzer, *others = sys.argv[1:]
    python = others[0] if others else sys.executable
    noise_db = float(others[1]) if len(others) > 1 else None
    with tempfile.TemporaryDirectory() as temporary:
        runs = Path(temporary)
        calls = dict(kept_calls(Path(folder), runs, noise_db))
        counts = {call: len(speech.caller) for call, speech in calls.items()}
        results = analyze(runs, counts, Path(analyzer), python)
        # it needs the number of turns, which only a scripted caller knows: take its own
        results = analyze(
            runs, {call: counted(result) for call, result in results.items()}, Path(analyzer), python
        )
    pairs, theirs_alone, discarded = [], 0, 0
    for call, speech in calls.items():
        ours = [
            (event.at_s, event.latency_s)
            for event in interaction_events(speech.caller, speech.agent, speech.seconds)
            if event.kind == "response" and event.latency_s is not None
        ]
        for turn in results[call]["turns"]:
            if (
                turn["discard_reason"]
                or results[call]["discard_reason"]
                or (turn["ttfab_onset_ms"] or 0) <= 0
            ):
                discarded += 1
                continue
            same = [latency for at_s, latency in ours if abs(at_s - turn["t1_ms"] / 1000) < SAME_TURN_S]
            theirs_alone += not same
            pairs += [(latency, turn["ttfab_onset_ms"] / 1000) for latency in same[:1]]
    our, their = np.array(pairs).T
    print(
        f"{len(calls)} calls; {len(pairs)} turns by both, {theirs_alone} by it alone, {discarded} discarded"
    )
    for name, of in (
        ("mean", np.mean),
        ("p50", np.median),
        ("p95", lambda values: np.percentile(values, 95)),
    ):
        print(f"{name}: ours {of(our):.3f} s, theirs {of(their):.3f} s, {of(our) / of(their) - 1:+.1%}")
    print(f"median difference of a turn: {np.median(np.abs(our - their)) * 1000:.0f} ms")
    return int(abs(our.mean() / their.mean() - 1) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
