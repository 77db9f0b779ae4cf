"""One set of int8 weights through every arithmetic that CTranslate2 has on this machine, beside float32.

python tests/bench/int8_arithmetic.py [FOLDER ...] [--prompts 20]

FOLDER: chat models converted for CTranslate2; without one, the demo's. On processors without VNNI, oneDNN
adds products of 8 bits in sums of 16 bits, which saturate. The same weights are used throughout: only the
arithmetic differs. Columns: mean distance of the log probabilities of float32's ten likeliest tokens, over
the last 16 places of each prompt; share of these places with the same likeliest token; share of answers, of
up to 24 tokens, that are float32's; processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from llmcore.engine import Message, Request
from llmcore.engines.ct2_engine import _load, _Settings
from voiceagent.agents.load import beginning_of
from voiceagent.config import default_config
from voiceagent.config.tables import load

PLACES, LIKELIEST, ANSWER_TOKENS = 16, 10, 24
BACKENDS = {
    "float32": ("float32", {}),
    "oneDNN": ("int8_float32", {"CT2_USE_MKL": "0"}),
    "oneDNN, AVX2 at most": ("int8_float32", {"CT2_USE_MKL": "0", "ONEDNN_MAX_CPU_ISA": "AVX2"}),
    "oneDNN, SSE4.1 at most": ("int8_float32", {"CT2_USE_MKL": "0", "ONEDNN_MAX_CPU_ISA": "SSE41"}),
    "MKL": ("int8_float32", {"CT2_USE_MKL": "1"}),
}
QUESTIONS = Path(__file__).parents[2] / "voiceagent/demo/material/labelled.jsonl"


def prompts_of(folder: Path, count: int) -> list[list[str]]:
    """Return prompts of the demo's agent with labelled questions, as tokens of the model."""
    config = load(default_config())
    instructions, _ = beginning_of(config.agent, config.instructions(), config.source)
    rows = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
    step = max(1, len(rows) // count)
    reader = _load(_Settings(folder, 1, 1, "auto", 4096, 0, "hermes"))
    texts = []
    for row in rows[::step][:count]:
        messages = (Message("system", instructions), Message("user", row["messages"][-1]["content"]))
        ids = reader.chat.prompt(Request(messages, max_tokens=ANSWER_TOKENS))
        texts.append([reader.tokenizer.id_to_token(token) or "" for token in ids])
    return texts


def measure(folder: Path, compute_type: str, count: int, out: Path) -> None:
    """Compute log probabilities and answers with this process's backend, and store them."""
    import ctranslate2  # type: ignore[import-untyped]  # noqa: PLC0415

    prompts = prompts_of(folder, count)
    generator = ctranslate2.Generator(str(folder), device="cpu", compute_type=compute_type, intra_threads=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    places, answers = [], []
    for prompt in prompts:
        logs = generator.forward_batch([prompt], return_log_probs=True)
        places.append(np.array(logs)[0, -PLACES:].astype(np.float32))
        result = generator.generate_batch(
            [prompt], max_length=ANSWER_TOKENS, sampling_topk=1, include_prompt_in_result=False
        )
        answers.append(result[0].sequences_ids[0])
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    np.savez(out, places=np.concatenate(places), answers=np.array(json.dumps(answers)), seconds=seconds)


def compare(folder: Path, count: int) -> None:
    """Print a row for each backend."""
    print(f"\n{folder.name}")
    print("| arithmetic | distance | likeliest | answers | seconds |\n| --- | --- | --- | --- | --- |")
    reference: dict[str, np.ndarray] = {}
    for name, (compute_type, variables) in BACKENDS.items():
        out = Path(f"/tmp/int8_arithmetic_{os.getpid()}.npz")
        arguments = [str(folder), "--measure", compute_type, "--prompts", str(count), "--out", str(out)]
        command = [sys.executable, __file__, *arguments]
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"| {name} | fails: {done.stderr.strip().splitlines()[-1]} | | | |", flush=True)
            continue
        with np.load(out) as stored:
            found = {key: stored[key] for key in stored.files}
        out.unlink()
        reference = reference or found
        exact = reference["places"]
        likeliest = np.argsort(exact, axis=1)[:, -LIKELIEST:]
        near, far = (np.take_along_axis(one, likeliest, axis=1) for one in (found["places"], exact))
        distance = float(np.mean(np.abs(near - far)))
        same = float(np.mean(found["places"].argmax(axis=1) == exact.argmax(axis=1)))
        pairs = zip(json.loads(str(found["answers"])), json.loads(str(reference["answers"])), strict=True)
        answers = [one == other for one, other in pairs]
        row = f"{distance:.3f} | {same:.1%} | {np.mean(answers):.0%} | {float(found['seconds']):.1f}"
        print(f"| {name} | {row} |", flush=True)


def main() -> None:
    """Compare the folders, or measure one in this process for that."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--measure")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.measure:
        measure(options.folders[0], options.measure, options.prompts, options.out)
        return
    for folder in options.folders or [Path(__file__).parents[2] / "voiceagent/demo/weights/ct2"]:
        compare(folder, options.prompts)


if __name__ == "__main__":
    main()
