"""The demo model as a function from chat to answer, without a server, for evaluation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ctranslate2  # type: ignore[import-untyped]  # ships no types
from tokenizers import Tokenizer

from examples.hotel_model.chat import END, render

Answer = Callable[[Sequence[Mapping[str, Any]]], str]
"""Maps the messages of a chat, system prompt first, to the answer, with its calls as the model
writes them.
"""

_LONGEST = 128  # tokens of an answer; the longest of the training data has about 90


def ctranslate2_answer(folder: Path, tools: Sequence[str] = ()) -> Answer:
    """Return greedy answers of the int8 model in `folder` with these tools; the system prompt is cached."""
    generator = ctranslate2.Generator(str(folder), inter_threads=1, intra_threads=1)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def answer(messages: Sequence[Mapping[str, Any]]) -> str:
        system = tokenizer.encode(_system(messages, tools)).tokens
        prompt = tokenizer.encode(render(messages[1:])).tokens
        result = generator.generate_batch(
            [prompt],
            static_prompt=system,
            max_length=_LONGEST,
            end_token=END,
            include_prompt_in_result=False,
        )
        return tokenizer.decode(result[0].sequences_ids[0]).strip()

    return answer


def transformers_answer(folder: Path, tools: Sequence[str] = ()) -> Answer:
    """Return greedy answers of the checkpoint in `folder` with these tools, by transformers, in 32 bit."""
    import torch  # noqa: PLC0415 - training's extra, seconds to import
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model: Any = AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32)
    model.eval()
    prefixes: dict[str, Any] = {}  # the cache of a system prompt, by its text

    def encoded(text: str) -> Any:
        return tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids

    def answer(messages: Sequence[Mapping[str, Any]]) -> str:
        system = _system(messages, tools)
        whole = encoded(system + render(messages[1:]))
        with torch.inference_mode():
            if system not in prefixes:
                prefixes[system] = model(encoded(system), use_cache=True).past_key_values
            out = model.generate(
                whole,
                attention_mask=torch.ones_like(whole),
                past_key_values=copy.deepcopy(prefixes[system]),
                max_new_tokens=_LONGEST,
                do_sample=False,
            )
        return str(tokenizer.decode(out[0, whole.shape[1] :], skip_special_tokens=True)).strip()

    return answer


def _system(messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> str:
    """Return the rendered first message, the system prompt, with the tools."""
    return render(messages[:1], [{"name": name} for name in tools], add_generation_prompt=False)
