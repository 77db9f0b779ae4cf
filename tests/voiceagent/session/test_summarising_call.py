"""A summary that is being made when the call ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from call_services import call_services
from fake_client import FakeClient
from scripted_llm import HANG, ScriptedLlm
from typed_call import Deaf, ask

from llmcore.engine import Usage
from voiceagent.conversation import events as ev
from voiceagent.conversation.config import HistoryConfig
from voiceagent.conversation.history import MessageItem
from voiceagent.session.session import Session


async def test_hanging_up_ends_a_summary_that_is_being_made():
    llm = ScriptedLlm(["A long answer to a question. " * 40], [HANG], usage=Usage())
    history = HistoryConfig().model_copy(update={"max_tokens": 100, "kept_tokens": 10, "summary_tokens": 20})
    services = await call_services(Deaf(), llm, Deaf(), history=history)
    client = FakeClient()
    settings = replace(services.settings, turn_detection=None, output_modality="text")
    session = Session("call_1", services, settings, client)
    session.begin()
    session.handle(ev.ItemCreated(MessageItem("early", "user", "My name is Anna Lund.")))
    session.handle(ev.ItemCreated(MessageItem("answer", "assistant", "Very well.")))
    await ask(session, client, 0, "When is breakfast?")
    for _ in range(20):
        await asyncio.sleep(0)
    assert [request.priority_class for request in llm.requests] == ["turn", "summary"] and llm.running == 1
    await session.close("the caller hung up")
    assert llm.running == 0
