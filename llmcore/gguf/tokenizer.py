"""Rebuilds a model's tokenizer from the vocabulary and merges in a GGUF file.

A GGUF file names the way text is split before byte-pair encoding (`tokenizer.ggml.pre`); the rules behind the
names are those of the models' own tokenizer.json files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE

from llmcore.engine import SetupError
from llmcore.gguf.file import GgufFile

_CONTROL, _USER_DEFINED = 3, 4
"""Values of `tokenizer.ggml.token_type`: special tokens, and others outside the vocabulary."""

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True)
class _Splitting:
    """Rules that split text. whole_words: a piece that is in the vocabulary as a whole needs no merges."""

    pieces: Callable[[], pre_tokenizers.PreTokenizer]
    composes: bool = False
    whole_words: bool = False


def _by_pattern(digits: str) -> pre_tokenizers.PreTokenizer:
    split = pre_tokenizers.Split(Regex(_WORDS.format(digits=digits)), behavior="isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def _by_gpt2() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _by_single_digits() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _by_gpt2()])


_SPLITTINGS: Mapping[str, _Splitting] = {
    "qwen2": _Splitting(lambda: _by_pattern(""), composes=True),  # Qwen 1.5 to 3
    "llama-bpe": _Splitting(lambda: _by_pattern("{1,3}"), whole_words=True),  # Llama 3
    "smollm": _Splitting(_by_single_digits),
    "gpt-2": _Splitting(_by_gpt2),
}


def build_tokenizer(file: GgufFile) -> Tokenizer:
    """Return the tokenizer, with the ids of the GGUF file. Raises SetupError for kinds that are not known."""
    kind, splitting = file.value("tokenizer.ggml.model"), file.metadata.get("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2":
        raise SetupError(
            f"{file.path}: a tokenizer of the kind {kind!r}, allowed: 'gpt2' (byte-pair encoding)"
        )
    if splitting not in _SPLITTINGS:
        allowed = ", ".join(map(repr, _SPLITTINGS))
        raise SetupError(f"{file.path}: a tokenizer that splits text by {splitting!r}, allowed: {allowed}")
    tokens: list[str] = file.value("tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ", 1)) for merge in file.value("tokenizer.ggml.merges")]
    return _assemble(
        tokens, merges, file.metadata.get("tokenizer.ggml.token_type", []), _SPLITTINGS[splitting]
    )


def _assemble(tokens: list[str], merges: list[Any], types: list[int], splitting: _Splitting) -> Tokenizer:
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(BPE(vocabulary, merges, ignore_merges=splitting.whole_words))
    if splitting.composes:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = splitting.pieces()
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    added = [
        AddedToken(token, special=kind == _CONTROL, normalized=False)
        for token, kind in zip(tokens, types, strict=False)
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    tokenizer.add_tokens(added)
    return tokenizer


def tokenizer_config(file: GgufFile) -> dict[str, Any]:
    """Return the content of tokenizer_config.json: special tokens, the context's length, the chat template.

    Raises SetupError if the file has no chat template or no end token.
    """
    tokens: list[str] = file.value("tokenizer.ggml.tokens")

    def token(name: str) -> str | None:
        number = file.metadata.get(f"tokenizer.ggml.{name}_token_id")
        return tokens[number] if number is not None and number < len(tokens) else None

    if token("eos") is None:
        raise SetupError(f"{file.path}: the GGUF file names no end token")
    architecture = file.value("general.architecture")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": token("bos") if file.metadata.get("tokenizer.ggml.add_bos_token") else None,
        "eos_token": token("eos"),
        "pad_token": token("padding"),
        "unk_token": token("unknown"),
        "model_max_length": file.value(f"{architecture}.context_length"),
        "clean_up_tokenization_spaces": False,
        "chat_template": file.value("tokenizer.chat_template"),
    }
    return {key: value for key, value in config.items() if value is not None}
