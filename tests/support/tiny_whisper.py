"""A Whisper of random weights, converted as a real one is: it runs the whole path and understands nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from ctranslate2.converters import TransformersConverter
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)

WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "mike")
SPECIAL = [
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
]
TIMES = 1501  # 0.00 to 30.00 s


def build(folder: Path) -> Path:
    """Make the model and convert it; returns the directory of the converted one."""
    tokenizer = make_tokenizer(WORDS)
    return convert(_model(tokenizer, tokenizer.get_vocab_size()), tokenizer, folder / "converted")


def convert(model: WhisperForConditionalGeneration, tokenizer: Tokenizer, folder: Path) -> Path:
    """Write a model into `folder` in CTranslate2's format, and the original next to it."""
    original = folder.with_name("original")
    tokenizer.add_special_tokens(SPECIAL)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[0]).save_pretrained(original)
    WhisperFeatureExtractor().save_pretrained(original)
    model.save_pretrained(original)
    files = ["tokenizer.json", "preprocessor_config.json"]
    TransformersConverter(str(original), copy_files=files).convert(str(folder), quantization="int8")
    return folder


def make_tokenizer(words: Sequence[str]) -> Tokenizer:
    """Every byte is a token, and every word with the blank before it."""
    vocabulary = {symbol: number for number, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = []
    for word in words:
        token = "Ġ"
        for letter in word:
            if token + letter not in vocabulary:
                vocabulary[token + letter] = len(vocabulary)
                merges.append((token, letter))
            token += letter
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def make_model(
    text_tokens: int,
    *,
    d_model: int,
    encoder_layers: int,
    decoder_layers: int,
    heads: int,
    ffn_dim: int,
    dropout: float = 0.0,
) -> WhisperForConditionalGeneration:
    """A Whisper of random weights whose tokens are those of `make_tokenizer`, then `SPECIAL`, then times."""
    end, start = text_tokens, text_tokens + 1
    return WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=text_tokens + len(SPECIAL) + TIMES,
            d_model=d_model,
            encoder_layers=encoder_layers,
            decoder_layers=decoder_layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=ffn_dim,
            decoder_ffn_dim=ffn_dim,
            dropout=dropout,
            pad_token_id=end,
            bos_token_id=end,
            eos_token_id=end,
            decoder_start_token_id=start,
            suppress_tokens=[],
            begin_suppress_tokens=[],
        )
    )


def _model(tokenizer: Tokenizer, text_tokens: int) -> WhisperForConditionalGeneration:
    torch.manual_seed(1)
    model = make_model(text_tokens, d_model=64, encoder_layers=1, decoder_layers=2, heads=2, ffn_dim=128)
    words = [tokenizer.token_to_id(f"Ġ{word}") for word in WORDS]
    with torch.no_grad():
        tokens = model.model.decoder.embed_tokens.weight
        loud = torch.randn(len(words), tokens.shape[1])
        tokens.zero_()  # the output layer is the same matrix: nothing but whole words is ever likely
        tokens[words] = loud
        for layer in model.model.decoder.layers:  # of more sound it says much the same, as a real one does
            layer.encoder_attn.out_proj.weight.mul_(0.1)
    return model.eval()
