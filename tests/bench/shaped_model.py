"""Models of any shape, without weights: vLLM fills them with random ones (`load_format = "dummy"`).

Their words are one token each, "w17", so that a prompt of 4,000 words has 4,000 tokens; what they write means
nothing, but takes as long as words of a trained model of the same shape.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from llmcore.engine import Llm, LlmError, Message, Request

DEMO = Path(__file__).parents[2] / "voiceagent/demo/weights/target"
SYSTEM, USER, ASSISTANT, END = "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"
TEMPLATE = (
    "{%- for message in messages -%}<|{{ message.role }}|> {{ message.content }} <|end|>{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


@dataclass(frozen=True)
class Shape:
    """The shape of a Llama, or of a Mistral where it has a window."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    context: int
    window: int | None = None


SMALL = Shape(512, 8, 8, 4, 1408, 4096, 8192)
"""28 M parameters: on two cores a step of 512 tokens takes some 150 ms, one of a single token 10."""
TINY = Shape(64, 2, 2, 1, 128, 8192, 4096)
"""Only to see that something runs."""
LLAMA_8B = Shape(4096, 32, 32, 8, 14336, 128256, 16384)
"""As Llama 3.1 8B, with less of its context."""


def write_model(shape: Shape, folder: Path) -> Path:
    """A checkpoint without weights, and a tokenizer of words "w0", "w1", ...; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    marks = [SYSTEM, USER, ASSISTANT, END]
    words = [*marks, *(f"w{number}" for number in range(shape.vocabulary - len(marks)))]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, END))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in marks])
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    _write_config(shape, folder, words.index(END))
    return folder


def write_chat_model(shape: Shape, folder: Path) -> Path:
    """A checkpoint without weights that reads English: the demo model's tokenizer, with words in it that only
    such a model writes, up to the shape's vocabulary; returns the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = json.loads((DEMO / "tokenizer_config.json").read_text())
    tokenizer = json.loads((DEMO / "tokenizer.json").read_text())
    known = tokenizer["model"]["vocab"]
    first = max([*known.values(), *(token["id"] for token in tokenizer["added_tokens"])]) + 1
    known |= {f"w{number}": number for number in range(first, shape.vocabulary)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    end = json.loads((DEMO / "config.json").read_text())["eos_token_id"]
    _write_config(shape, folder, end)
    return folder


def _write_config(shape: Shape, folder: Path, end: int) -> None:
    config = {
        "architectures": ["LlamaForCausalLM" if shape.window is None else "MistralForCausalLM"],
        "model_type": "llama" if shape.window is None else "mistral",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.hidden // shape.heads,
        "intermediate_size": shape.intermediate,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.context,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "eos_token_id": end,
        "bos_token_id": end,
    }
    if shape.window is not None:
        config["sliding_window"] = shape.window
    (folder / "config.json").write_text(json.dumps(config))


def device_settings() -> dict[str, Any]:
    """Return settings of an engine that shares its device: the device's number format, and a part of a
    GPU's memory."""
    import torch  # noqa: PLC0415 - slow to import

    on_gpu = torch.cuda.is_available()
    return {"dtype": "bfloat16" if on_gpu else "float32", "gpu_memory_utilization": 0.25}


def words(count: int, random: Random, vocabulary: int = 4000) -> str:
    """This many tokens that no other prompt has."""
    return " ".join(f"w{random.randrange(vocabulary)}" for _ in range(count))


@dataclass
class Stream:
    """One response: seconds to its first token, and when each of its pieces came; its error, if it failed."""

    text: str = ""
    asked_s: float = 0.0
    came_s: list[float] = field(default_factory=list)
    cached: int = 0
    error: str = ""

    @property
    def ttft_s(self) -> float:
        """NaN where it failed before that."""
        return self.came_s[0] - self.asked_s if self.came_s else float("nan")

    @property
    def gaps_s(self) -> list[float]:
        """Between its pieces: the inter-token latency."""
        return [after - before for before, after in zip(self.came_s, self.came_s[1:], strict=False)]


async def ask(llm: Llm, text: str, max_tokens: int, into: Stream | None = None) -> Stream:
    """A response to its end; `into`: what is written while it comes."""
    stream = into or Stream()
    stream.asked_s = time.monotonic()
    try:
        async with aclosing(llm.generate(Request((Message("user", text),), max_tokens=max_tokens))) as deltas:
            async for delta in deltas:
                if delta.text:
                    stream.text += delta.text
                    stream.came_s.append(time.monotonic())
                if delta.usage is not None:
                    stream.cached = delta.usage.cached_tokens
    except LlmError as error:
        stream.error = str(error)
    return stream


async def write_all_the_time(llm: Llm, prompt: str, streams: list[Stream], over: asyncio.Event) -> None:
    """Responses of 200 tokens, one after the other, until it is over."""
    while not over.is_set():
        streams.append(Stream())
        await ask(llm, prompt, 200, streams[-1])
