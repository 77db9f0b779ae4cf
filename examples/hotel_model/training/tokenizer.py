"""The demo model's tokenizer: byte-level BPE, which can encode any text, trained on its conversations."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from examples.hotel_model.chat import END, MARKS, TEMPLATE
from llmcore.text.chat_template import fingerprint
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.world import system_prompt

# Contractions, words with the space before them, single digits, punctuation, other space.
_PIECES = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def train_tokenizer(texts: Iterable[str], size: int) -> Tokenizer:
    """Train at most `size` tokens on `texts`: the 256 bytes, the chat's marks and merges. Deterministic."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(MARKS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def mark_id(tokenizer: Tokenizer, mark: str) -> int:
    """Return the token of one of chat.MARKS. Raises ValueError if the tokenizer lacks it."""
    token = tokenizer.token_to_id(mark)
    if token is None:
        raise ValueError(f"the tokenizer has no {mark}, but the chat template writes it")
    return int(token)


def tokenizer_config(longest: int) -> dict[str, object]:
    """Return the content of tokenizer_config.json: chat template, and the instructions and tools the model
    was trained for.

    longest: the context in tokens.
    """
    trained_for = {
        "instructions_sha256": fingerprint(system_prompt()),
        "tools": list(TOOLS),
        "parallel_tool_calls": False,
    }
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": END,
        "bos_token": END,  # never written; CTranslate2 wants one
        "unk_token": None,
        "model_max_length": longest,
        "clean_up_tokenization_spaces": False,
        "chat_template": TEMPLATE,
        "trained_for": trained_for,
    }
