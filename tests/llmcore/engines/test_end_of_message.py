"""Probability that a message ends after its words, by the model itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio
import tiny_llama
import tiny_llama_gguf
from chat_server import chat_app, serve

from llmcore.engine import Llm, Message, Request
from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.engines.llamacpp_engine import LlamaCppLlm
from llmcore.engines.openai_engine import OpenAILlm
from llmcore.engines.token_reply import decoding
from llmcore.engines.vllm_engine import VllmLlm
from llmcore.text.closing_tokens import closing_tokens

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

SYSTEM = Message("system", "You keep the lighthouse.")
SPOKEN = ("Is there", "Is there a ship", "Is there a ship in sight", "count one two three four five")


def spoken(words: str, asks_end: bool = True) -> Request:
    return Request((SYSTEM, Message("user", words)), priority_class="prefill", asks_end=asks_end)


async def told(llm: Llm, words: str, asks_end: bool = True) -> float | None:
    usage = await llm.prefill(spoken(words, asks_end))
    assert usage is not None
    return usage.end_log_probability


def by_torch(model: Path, words: str) -> float:
    """Return the probability by Transformers that the message or a sentence closes after the same tokens."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    tokenizer = tiny_llama.build_tokenizer()
    ids = tokenizer.encode(f"<|system|>{SYSTEM.content}<|end|><|user|>{words}").ids
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    with torch.no_grad():
        logits = network(torch.tensor([ids])).logits[0, -1]
    mark, decode = tokenizer.token_to_id(tiny_llama.END), decoding(tokenizer)
    closing = list(closing_tokens(tokenizer.get_vocab(), decode, [mark]))
    return float(torch.logsumexp(torch.log_softmax(logits, 0)[closing], 0))


async def test_ctranslate2_tells_what_the_model_says(random_model: Path) -> None:
    # Processors differ in 8-bit products: without VNNI, oneDNN's 16-bit sums saturate.
    engine = CTranslate2Llm(random_model / "int8", compute_type="float32")
    await engine.start()
    # The weights were rounded to 8 bits, which moves each of the closing tokens.
    assert [await told(engine, words) for words in SPOKEN] == [
        pytest.approx(by_torch(random_model, words), abs=0.6) for words in SPOKEN
    ]
    await engine.close()


async def test_ctranslate2_tells_the_same_from_a_history_that_is_kept(random_model: Path) -> None:
    engine = CTranslate2Llm(random_model / "int8")
    await engine.start()
    history = (SYSTEM, Message("user", "Is anybody there? " * 8), Message("assistant", "I am. " * 8))
    request = Request((*history, Message("user", "Is there a ship")), asks_end=True)
    first, second = [await engine.prefill(request) for _ in range(2)]
    assert first is not None
    assert second is not None
    assert (first.cached_tokens, second.cached_tokens) == (0, first.prompt_tokens)
    assert second.end_log_probability == pytest.approx(first.end_log_probability, abs=0.01)
    await engine.close()


async def test_vllm_tells_what_the_model_says(speculating_vllm: VllmLlm, random_model: Path) -> None:
    assert [await told(speculating_vllm, words) for words in SPOKEN] == [
        pytest.approx(by_torch(random_model, words), abs=0.01) for words in SPOKEN
    ]


async def test_vllm_tells_it_or_nothing_while_a_draft_proposes_for_others(
    speculating_vllm: VllmLlm, random_model: Path
) -> None:
    reply = speculating_vllm.generate(Request((SYSTEM, Message("user", "forever")), max_tokens=200))
    async with aclosing(reply) as deltas:
        await anext(deltas)
        at_once = await asyncio.gather(*(told(speculating_vllm, words) for words in SPOKEN))
    for words, value in zip(SPOKEN, at_once, strict=True):
        assert value is None or value == pytest.approx(by_torch(random_model, words), abs=0.01)


async def test_llamacpp_tells_what_the_likeliest_tokens_say(random_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="llama.cpp is missing: pip install 'voiceagent-server[llamacpp]'")
    engine = LlamaCppLlm(tiny_llama_gguf.build(random_model, tmp_path / "random.gguf"), threads=1)
    await engine.start()
    values = [await told(engine, words) or 0.0 for words in SPOKEN]
    wholes = [by_torch(random_model, words) for words in SPOKEN]
    # tokens beyond the likeliest count as impossible
    assert all(value < whole + 0.05 for value, whole in zip(values, wholes, strict=True))
    assert any(value > whole - 1.5 for value, whole in zip(values, wholes, strict=True))
    await engine.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def replica(ct2: CTranslate2Llm) -> AsyncIterator[OpenAILlm]:
    """The scripted model behind the server of a replica."""
    async with serve(chat_app(ct2)) as base_url:
        llm = OpenAILlm("tiny", base_url, api_key_env="", prefix_cache=True)
        await llm.start()
        yield llm
        await llm.close()


@pytest.fixture(params=["ct2", "llamacpp", "vllm", "replica"])
def llm(request: pytest.FixtureRequest) -> Llm:
    engine: Llm = request.getfixturevalue(request.param)
    return engine


async def test_a_message_that_ends_is_told_from_one_that_goes_on(llm: Llm) -> None:
    whole, cut = await told(llm, "count one two three four five"), await told(llm, "count one two three")
    assert whole is not None
    assert cut is not None
    assert whole > cut + 2


async def test_nobody_is_told_who_does_not_ask(llm: Llm) -> None:
    assert await told(llm, "Is there a ship", asks_end=False) is None
