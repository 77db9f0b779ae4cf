"""Measure everything that needs a GPU, in one run that can be stopped and resumed.

make gpu-proof
.venv/bin/python tests/bench/gpu_proof.py [--folder FOLDER] [--minutes 40] [--only PART...] [--rehearse]

Needs an NVIDIA GPU and no network: models are made on the spot, of the shape of Llama 3.1 8B and with random
weights, or are the demo's. Results are kept in FOLDER, one file a part, and RESULTS-gpu.md is rewritten from
all of them after each part. A part that was measured before by the same command is not measured again; one
that failed is. --only measures these alone, where the time is short. --rehearse goes the same way on a CPU
with a tiny model: its figures go to FOLDER only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from shaped_model import LLAMA_8B, TINY, write_chat_model

from llmcore.engines.vllm_fitness import SECOND_RUNNER
from llmcore.engines.vllm_settings import thread_environment

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "tests/bench/RESULTS-gpu.md"
BIN = str(Path(sys.executable).parent)
Rows = list[tuple[str, str]]
"""What was measured, and the figures."""


@dataclass(frozen=True)
class Part:
    """A command. limit_s: after which it is given up. rows: the figures in what it printed."""

    name: str
    command: tuple[str, ...]
    limit_s: float
    rows: Callable[[str], Rows]


@dataclass(frozen=True)
class Result:
    """Outcome of a part. ended: its exit status, or "timeout"."""

    command: tuple[str, ...]
    date: str
    seconds: float
    ended: str
    rows: Rows


def parts(folder: Path, configs: list[Path], *, rehearse: bool) -> list[Part]:
    """The parts in order, what matters most first, as the time may not be enough for all. A rehearsal has the
    same, smaller and with more time; the tests are skipped in it, but read.
    """
    python, command = sys.executable, str(Path(sys.executable).with_name("voiceagent"))
    streams = ("1", "2") if rehearse else ("1", "16", "100")
    turns, calls, history = ("6", "2", "200") if rehearse else ("160", "16", "1200")
    rounds = ("1", "tiny") if rehearse else ("4",)
    config = ("--config", str(configs[0]), "--json", "--load-format", "dummy")
    bench = (command, "bench", "llm", *config)
    load = (*bench, "--calls", calls, "--turns", turns)
    long = ("--long-calls", "1", "--long-tokens", "1500" if rehearse else "4000")
    off = "chunked_prefill" if rehearse else "prefix_caching,chunked_prefill,priority"
    ahead = "prefill_while_speaking"
    trace = str(folder / "calls.toml")
    drafted = (python, "tests/bench/speculation.py", "configs/vllm-cpu.toml", "draft_model")
    speculation = (*drafted, "1" if rehearse else "20", history)
    steps = (python, "tests/bench/prompt_steps.py")
    at_once = (python, "tests/bench/gpu_streams.py")
    found = [
        Part("tests", (python, "-m", "pytest", "tests/gpu"), 600, last_line),
        *(Part(f"{path.stem}, streams", (*at_once, str(path), *streams), 300, lines) for path in configs),
        Part("calls", (*bench, "--trace", trace, "--compare", "policies", "--plain-vllm"), 900, variants),
        Part("techniques", (*load, *long, "--compare", off), 900, variants),
        Part("prefill while speaking", (*load, "--history", history, "--compare", ahead), 400, variants),
        Part("speculation", speculation, 300, lines),
        Part("long prompts", (*steps, "long", *rounds), 300, lines),
        Part("burst", (*steps, "burst", *rounds), 300, lines),
        Part("KV cache", (python, "tests/bench/kv_cache.py", "fp8", "offload"), 300, lines),
        # a draft is left out of responses without cost on vLLM's first model runner only
        Part("speculation, first runner", ("env", f"{SECOND_RUNNER}=0", *speculation), 300, lines),
    ]
    return [replace(part, limit_s=part.limit_s * (2 if rehearse else 1)) for part in found]


def last_line(printed: str) -> Rows:
    """pytest's summary."""
    return [("result", (printed.strip().splitlines() or ["nothing was printed"])[-1])]


def lines(printed: str) -> Rows:
    """A row a line: its name ends at two spaces."""
    found = [line.strip().partition("  ") for line in printed.splitlines() if "  " in line.strip()]
    return [(name, " ".join(figures.split())) for name, _, figures in found]


def variants(printed: str) -> Rows:
    """Return the measurements in the output of `bench llm --json`."""
    wanted = ["TTFT p50 ms", "TTFT p95 ms", "first turns' TTFT p50 ms", "ITL p95 ms", "tokens/s", "failed"]
    wanted += ["long prompts' TTFT p50 ms", "long prompts' TTFT p95 ms"]
    measured = json.loads(printed[printed.index("{") :])["measurements"]
    return [
        (one["variant"], "; ".join(f"{name} {one[name]:.1f}" for name in wanted if name in one))
        for one in measured
    ]


def run(part: Part, limit_s: float, threads: int | None) -> Result:
    """The part, measured now; whatever it started is ended with it. threads: of vLLM on a CPU."""
    began_s, date = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"} | thread_environment(threads)
    process = subprocess.Popen(
        part.command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=limit_s)
        ended = str(process.returncode)
        rows = part.rows(printed) if printed.strip() else []
    except subprocess.TimeoutExpired as error:
        ended, rows = "timeout", rows_so_far(part, error.stdout)
    except (ValueError, KeyError) as error:
        ended, rows = f"unreadable: {error}", []
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Result(part.command, date, round(time.monotonic() - began_s, 1), ended, rows)


def rows_so_far(part: Part, printed: bytes | None) -> Rows:
    """Return the rows of an output that was broken off."""
    try:
        return part.rows((printed or b"").decode(errors="replace"))
    except (ValueError, KeyError):
        return []


def kept(path: Path, part: Part) -> Result | None:
    """Return the result of the same command in an earlier run, if it succeeded."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    rows = [(name, figures) for name, figures in found.pop("rows")]
    result = Result(tuple(found.pop("command")), rows=rows, **found)
    return result if result.command == part.command and result.ended == "0" else None


def write_whole(path: Path, text: str) -> None:
    """Write it so that a kill leaves the whole of it, or what was there before."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def write_table(path: Path, device: str, results: dict[str, Result | None]) -> None:
    """All figures so far, each with its command and its date; None: not measured yet."""
    text = [f"# Measured on {device}", "", "By `make gpu-proof`; the model of 8 B has random weights.", ""]
    text += ["| part | what | figures | date, UTC | command |", "| --- | --- | --- | --- | --- |"]
    for name, result in results.items():
        if result is None:
            text.append(f"| {name} | not measured | | | |")
            continue
        command = " ".join(Path(part).name if part.startswith(BIN) else part for part in result.command)
        rows = result.rows or [("no figures", "")]
        if result.ended != "0":
            rows = [*rows, ("ended", f"with {result.ended} after {result.seconds:.0f} s")]
        for what, figures in rows:
            cell = figures.replace("|", "\\|")
            text.append(f"| {name} | {what} | {cell} | {result.date} | `{command}` |")
    write_whole(path, "\n".join(text) + "\n")


def device_name() -> str:
    """The name of the GPU, or of each; "" where there is none."""
    try:
        command = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return "; ".join(told.strip().splitlines())
    except (OSError, subprocess.CalledProcessError):
        return ""


def write_configs(folder: Path, *, rehearse: bool) -> list[Path]:
    """The model, configs/gpu.toml's settings with it in each format, and what callers do. Returns the
    configurations; a CPU has no weights in FP8.
    """
    model = write_chat_model(TINY if rehearse else LLAMA_8B, folder / "model")
    calls = "calls = 2\nturns = 1\n" if rehearse else "turns = 4\n"
    (folder / "calls.toml").write_text(f"{calls}response_tokens = 16\n")
    size = (
        'dtype = "float32"\nkv_cache_gib = 0.25\nmax_model_len = 4096'
        if rehearse
        else 'dtype = "bfloat16"\ngpu_memory_utilization = 0.85\nmax_model_len = 8192'
    )
    formats = {"8b-bf16": "", "8b-fp8": 'quantization = "fp8"\nkv_cache_dtype = "fp8"\n'}
    written = []
    for name, quantized in list(formats.items())[: 1 if rehearse else 2]:
        written.append(folder / f"{name}.toml")
        written[-1].write_text(
            '[agent]\ninstructions_from = "voiceagent.demo.world:system_prompt"\n'
            '[recognizer]\nengine = "moonshine"\n[synthesizer]\nengine = "espeak"\n'
            f'[llm]\nengine = "vllm"\nmodel = "{model}"\nload_format = "dummy"\n{size}\n{quantized}'
            "max_num_batched_tokens = 2048\nyielding_tokens = 512\nmax_num_seqs = 128\n"
            "[priority]\nmax_running = 128\n"
        )
    return written


def main() -> int:
    """0 where all was measured, 1 where something failed or the time was over."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what it runs is ended too
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/gpu-proof")
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--only", nargs="+", metavar="PART")
    parser.add_argument("--rehearse", action="store_true")
    wanted = parser.parse_args()
    device = "a CPU, as a rehearsal" if wanted.rehearse else device_name()
    if not device:
        print("no NVIDIA GPU: nvidia-smi finds none; --rehearse goes the same way on a CPU", file=sys.stderr)
        return 1
    folder, until_s = wanted.folder.resolve(), time.monotonic() + wanted.minutes * 60
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "RESULTS-gpu.md" if wanted.rehearse else RESULTS
    todo = parts(folder, write_configs(folder, rehearse=wanted.rehearse), rehearse=wanted.rehearse)
    files = {part.name: folder / f"{part.name.replace(', ', '-').replace(' ', '-')}.json" for part in todo}
    results = {part.name: kept(files[part.name], part) for part in todo}
    if unknown := set(wanted.only or ()) - set(files):
        parser.error(f"--only {', '.join(sorted(unknown))}: allowed: {', '.join(files)}")
    for part in (one for one in todo if wanted.only is None or one.name in wanted.only):
        if results[part.name] is not None:
            print(f"{part.name}: measured before", flush=True)
            continue
        left_s = until_s - time.monotonic()
        if left_s < 30:
            print(f"{part.name}: no time left; the next run measures it", flush=True)
            continue
        print(f"{part.name}: {' '.join(part.command)}", flush=True)
        result = results[part.name] = run(part, min(part.limit_s, left_s), 1 if wanted.rehearse else None)
        write_whole(files[part.name], json.dumps(asdict(result), indent=1))
        write_table(table, device, results)
        print(f"{part.name}: ended with {result.ended} after {result.seconds:.0f} s", flush=True)
    write_table(table, device, results)
    print(table)
    measured = {name: result for name, result in results.items() if name in (wanted.only or results)}
    return int(any(result is None or result.ended != "0" for result in measured.values()))


if __name__ == "__main__":
    sys.exit(main())
