"""vLLM's own spans join the trace of the call that they are made for."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import pytest
from otlp_receiver import otlp_receiver

from llmcore.engine import Message, Request
from llmcore.engines.vllm_engine import VllmLlm

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.xdist_group("vllm")
@pytest.mark.skipif("VOICEAGENT_LONG_TESTS" not in os.environ, reason="starts vLLM once more")
async def test_the_span_of_a_request_is_below_that_of_who_made_it(
    scripted_model: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    request = Request((Message("user", "hello"),), max_tokens=4, traceparent=f"00-{TRACE}-{SPAN}-01")
    with otlp_receiver() as (endpoint, received):
        traced = {"otlp_traces_endpoint": f"{endpoint}/v1/traces"}
        llm = VllmLlm(
            str(scripted_model), max_model_len=512, max_num_seqs=4, kv_cache_gib=0.25, engine_args=traced
        )
        await llm.start()
        try:
            async with aclosing(llm.generate(request)) as deltas:
                assert [delta async for delta in deltas]
            (span,) = await asyncio.to_thread(received.until, "llm_request")
        finally:
            await llm.close()
    assert (span.trace_id, span.parent_id) == (TRACE, SPAN)
