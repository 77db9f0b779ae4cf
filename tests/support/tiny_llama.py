"""Llamas of a few thousand parameters, made on the spot: real checkpoints for real engines.

The scripted one knows a few words and answers each with a fixed response: its layers add nothing, so that the
next token
depends on the last one only, and the output layer is a table. Its chat template puts the caller's last words
after the generation prompt, where the model continues from them. The other one has random weights, so what it
writes depends on everything it has read.
"""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

SYSTEM, USER, ASSISTANT, TOOL, END = "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"
CONTEXT_TOKENS = 2048

TEMPLATE = """
{%- for message in messages -%}
<|{{ message.role }}|>{{ message.content }}
{%- for call in message.tool_calls or () -%}
<tool_call>{{ call.function | tojson }}</tool_call>
{%- endfor -%}
{%- if loop.first and tools -%}{{ tools | tojson }}{%- endif -%}<|end|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{{ messages[-1].content if repeats_the_caller }}{%- endif -%}
"""

# What the caller says, and the tokens of the answer. Each token decides the next, so none has two successors.
SCRIPTS: dict[str, tuple[str, ...]] = {
    "count": (" one", " two", " three", " four", " five", END),
    "spell": (" alpha", " bravo", " charlie", END),
    "accents": ("\u00e9", "\u65e5", "\U0001f642", "\u0436", END),
    "open": (
        "Right.",
        "<tool_call>",
        '{"name": "',
        "open_door",
        '", "arguments": ',
        '{"',
        "room",
        '": "',
        "seven",
        '"}}',
        "</tool_call>",
        END,
    ),
    "ponder": ("<think>", " hmm", "</think>", " yes", END),
    "broken": ("<tool_call", "> {", " nonsense", " </tool_call>", END),
    "forever": (" tick", " tock", " tick"),
}
RESPONSES = {word: "".join(tokens[:-1]) for word, tokens in SCRIPTS.items()}


def build_tokenizer() -> Tokenizer:
    """Byte-level BPE of about 320 tokens; the script's are whole tokens, but foreign letters remain bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?[^\s]+|\s+"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=[SYSTEM, USER, ASSISTANT, TOOL, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the quick brown fox jumps over the lazy dog " * 3], trainer)
    words = {
        token for word, response in SCRIPTS.items() for token in (word, *response) if token.isascii()
    } - {END}
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in sorted(words)])
    return tokenizer


def scripted_steps(tokenizer: Tokenizer) -> dict[int, int]:
    """Return each token's successor."""
    steps: dict[int, int] = {}
    for word, response in SCRIPTS.items():
        ids = tokenizer.encode(word).ids
        assert len(ids) == 1, f"{word!r} is {len(ids)} tokens"
        for text in response:
            ids += tokenizer.encode(text).ids
        for one, following in pairwise(ids):
            assert steps.get(one, following) == following, (
                f"token {tokenizer.id_to_token(one)!r} occurs twice"
            )
            steps[one] = following
    return steps


def _network(tokenizer: Tokenizer) -> LlamaForCausalLM:
    import torch  # noqa: PLC0415 - only who makes a model needs it
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415

    end = tokenizer.token_to_id(END)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=False,
        initializer_range=0.3,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
    )
    torch.manual_seed(1)
    return LlamaForCausalLM(config)


def _script(network: LlamaForCausalLM, steps: dict[int, int]) -> None:
    import torch  # noqa: PLC0415

    with torch.no_grad():
        for layer in network.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        embeddings = torch.nn.functional.normalize(torch.randn(network.config.vocab_size, 64), dim=1)
        network.model.embed_tokens.weight.copy_(embeddings)
        network.lm_head.weight.zero_()
        for one, following in steps.items():
            network.lm_head.weight[following] += 4 * embeddings[one]


def build(directory: Path, scripted: bool = True) -> Path:
    """Write a checkpoint that Transformers and vLLM load, and in its folder `int8` one for CTranslate2."""
    from ctranslate2.converters import TransformersConverter  # noqa: PLC0415 - imports torch

    tokenizer = build_tokenizer()
    network = _network(tokenizer)
    if scripted:
        _script(network, scripted_steps(tokenizer))
    network.save_pretrained(directory)
    tokenizer.save(str(directory / "tokenizer.json"))
    repeats = "{%- set repeats_the_caller = " + str(scripted).lower() + " -%}"
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,  # CTranslate2 does not load a model without one
        "eos_token": END,
        "model_max_length": CONTEXT_TOKENS,
        "clean_up_tokenization_spaces": False,
        "chat_template": repeats + TEMPLATE.strip(),
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    converter = TransformersConverter(str(directory), copy_files=["tokenizer.json", "tokenizer_config.json"])
    converter.convert(str(directory / "int8"), quantization="int8")
    return directory


def build_draft(model: Path, directory: Path, other: float = 0.3) -> Path:
    """Copy a checkpoint with a part of random weights in it: it agrees with the model now and then."""
    import torch  # noqa: PLC0415
    from safetensors.torch import load_file, save_file  # noqa: PLC0415

    shutil.copytree(model, directory, ignore=shutil.ignore_patterns("int8"))
    random = torch.Generator().manual_seed(1)
    weights = load_file(directory / "model.safetensors")
    for name, weight in weights.items():
        if weight.dim() > 1:
            weights[name] = weight + other * weight.std() * torch.randn(weight.shape, generator=random)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    return directory
