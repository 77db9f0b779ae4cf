"""Whisper's int8 weights through every arithmetic that CTranslate2 has on this machine, beside float32.

python tests/bench/int8_whisper.py FOLDER RECORDINGS [--most 30]

FOLDER: a Whisper model for CTranslate2. RECORDINGS: a folder of WAV files in English. Columns: mean relative distance of the
encoder's output to that of float32; words that differ from float32's, of all; processor time. See `int8_arithmetic.py`.
"""  # noqa: E501  a command

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from int8_arithmetic import BACKENDS

from voiceagent.scores.word_errors import word_errors


def measure(folder: Path, recordings: list[str], compute_type: str, out: Path) -> None:
    """Transcribe with this process's backend, and store the words and the encoder's outputs."""
    from faster_whisper import WhisperModel, decode_audio  # type: ignore[import-untyped]  # noqa: PLC0415

    model = WhisperModel(str(folder), device="cpu", compute_type=compute_type, cpu_threads=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    words, encoded = [], []
    for recording in recordings:
        sound = decode_audio(recording)
        segments, _ = model.transcribe(sound, language="en", beam_size=1, temperature=0.0)
        words.append(" ".join(segment.text for segment in segments))
        features = model.feature_extractor(sound)[:, :3000]
        features = np.pad(features, ((0, 0), (0, 3000 - features.shape[1])))
        encoded.append(np.asarray(model.encode(features), np.float32)[0, ::50])
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    np.savez(out, encoded=np.array(encoded), words=np.array(json.dumps(words)), seconds=seconds)


def compare(options: argparse.Namespace) -> None:
    """Print a row for each backend."""
    recordings = sorted(map(str, options.recordings.rglob("*.wav")))[: options.most]
    print("| arithmetic | distance | words that differ | seconds |\n| --- | --- | --- | --- |")
    exact: dict[str, np.ndarray] = {}
    for name, (compute_type, variables) in BACKENDS.items():
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "measured.npz"
            command = [sys.executable, __file__, str(options.folder), "-", "--measure", compute_type]
            command += ["--out", str(out)]
            environment = os.environ | variables | {"RECORDINGS": json.dumps(recordings)}
            subprocess.run(command, env=environment, capture_output=True, check=True)
            with np.load(out) as stored:
                found = {key: stored[key] for key in stored.files}
        exact = exact or found
        far = np.linalg.norm(found["encoded"] - exact["encoded"]) / np.linalg.norm(exact["encoded"])
        pairs = zip(json.loads(str(exact["words"])), json.loads(str(found["words"])), strict=True)
        errors = [word_errors(one, other) for one, other in pairs]
        wrong, count = sum(each.errors for each in errors), sum(each.words for each in errors)
        print(f"| {name} | {far:.3f} | {wrong} of {count} | {float(found['seconds']):.0f} |", flush=True)


def main() -> None:
    """Compare the backends, or measure one in this process for that."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--measure")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.measure:
        measure(options.folder, json.loads(os.environ["RECORDINGS"]), options.measure, options.out)
        return
    compare(options)


if __name__ == "__main__":
    main()
