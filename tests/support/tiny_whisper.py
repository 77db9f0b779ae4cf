"""A Whisper of random weights, converted as a real one is: it runs the whole path and understands nothing."""

from __future__ import annotations

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
_SPECIAL = [
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
]
_TIMES = 1501  # 0.00 to 30.00 s


def build(folder: Path) -> Path:
    """Make the model and convert it; returns the directory of the converted one."""
    original, converted = folder / "original", folder / "converted"
    tokenizer = _tokenizer()
    text_tokens = tokenizer.get_vocab_size()
    tokenizer.add_special_tokens(_SPECIAL)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=_SPECIAL[0]).save_pretrained(original)
    WhisperFeatureExtractor().save_pretrained(original)
    _model(tokenizer, text_tokens).save_pretrained(original)
    files = ["tokenizer.json", "preprocessor_config.json"]
    TransformersConverter(str(original), copy_files=files).convert(str(converted), quantization="int8")
    return converted


def _tokenizer() -> Tokenizer:
    """Every byte is a token, and every word with the blank before it."""
    vocabulary = {symbol: number for number, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = []
    for word in WORDS:
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


def _model(tokenizer: Tokenizer, text_tokens: int) -> WhisperForConditionalGeneration:
    torch.manual_seed(1)
    end, start = text_tokens, text_tokens + 1
    model = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=text_tokens + len(_SPECIAL) + _TIMES,
            d_model=64,
            encoder_layers=1,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            pad_token_id=end,
            bos_token_id=end,
            eos_token_id=end,
            decoder_start_token_id=start,
            suppress_tokens=[],
            begin_suppress_tokens=[],
        )
    )
    words = [tokenizer.token_to_id(f"Ġ{word}") for word in WORDS]
    with torch.no_grad():
        tokens = model.model.decoder.embed_tokens.weight
        loud = torch.randn(len(words), tokens.shape[1])
        tokens.zero_()  # the output layer is the same matrix: nothing but whole words is ever likely
        tokens[words] = loud
    return model.eval()
