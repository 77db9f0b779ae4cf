"""Measured step times of a GPU, from which the time of any step is computed."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU with one model on it. Times in milliseconds.

    decode_ms: time of a step that writes one token for each of n responses, by one CUDA graph. A step that
    also reads prompts takes longer: by piecewise_ms up to the largest graph, as attention is outside the
    graphs; by eager_ms beyond it; and by token_ms for each prompt token. request_ms: from the call of
    `generate` until the scheduler has the request (tokenizer, queue between processes). scheduling_ms: Python
    time of the scheduler for one step, and for each request in it. blocks: KV cache blocks of 16 tokens.
    """

    decode_ms: tuple[tuple[int, float], ...]
    piecewise_ms: float
    eager_ms: float
    token_ms: float
    request_ms: float
    scheduling_ms: tuple[float, float]
    blocks: int

    def step_ms(self, sequences: int, prompt_tokens: int, graph_tokens: int) -> float:
        """Return the time of a step that also reads `prompt_tokens`. graph_tokens: largest step captured in
        CUDA graphs.
        """
        step_ms = self._decode_ms(sequences)
        if not prompt_tokens:
            return step_ms
        in_graphs = sequences + prompt_tokens <= graph_tokens
        return step_ms + (self.piecewise_ms if in_graphs else self.eager_ms) + self.token_ms * prompt_tokens

    def scheduler_ms(self, sequences: int) -> float:
        """Return the scheduler's Python time for choosing a step and processing its tokens."""
        return self.scheduling_ms[0] + self.scheduling_ms[1] * sequences

    def _decode_ms(self, sequences: int) -> float:
        """Return the table's value by linear interpolation, extrapolated beyond its ends."""
        streams = [row[0] for row in self.decode_ms]
        above = min(max(bisect_left(streams, sequences), 1), len(streams) - 1)
        (low, low_ms), (high, high_ms) = self.decode_ms[above - 1], self.decode_ms[above]
        return low_ms + (high_ms - low_ms) * (sequences - low) / (high - low)


H100_FP8 = Card(
    decode_ms=((1, 4.3), (16, 5.2), (64, 6.4)),
    piecewise_ms=7.0,
    eager_ms=28.0,
    token_ms=0.018,
    request_ms=6.0,
    scheduling_ms=(0.3, 0.02),
    blocks=52_000,
)
"""An H100 with 80 GB, the shape of Llama 3.1 8B, weights and KV cache in FP8, vLLM 0.24, 28 November 2026.

Measured: decode_ms, piecewise_ms (16 new tokens instead of 1: 18.3 instead of 10.9 ms), request_ms (10.9 ms
less the step), scheduling_ms (on a CPU). Fitted to the row of 100 calls of our server: eager_ms and token_ms.
vLLM captures steps up to 256 tokens for max_num_seqs = 128. Single prompts confirm this: one of 256 tokens
takes 2 ms more than one of 64 alone, and 10 and 14 ms more next to 16 and 64 streams, beyond the graphs.
"""
H100_BF16_KV = replace(H100_FP8, eager_ms=9.0, token_ms=0.020)
"""Fitted to the row of plain vLLM, which was started without `kv_cache_dtype`: its KV cache is in BF16."""
CARDS = {"fp8": H100_FP8, "bf16-kv": H100_BF16_KV}
