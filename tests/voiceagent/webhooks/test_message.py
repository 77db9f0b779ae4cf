"""Events as they are posted: their signature is what the openai SDK, and Standard Webhooks, check."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import InvalidWebhookSignatureError, OpenAI

from llmcore.engine import ToolCall
from voiceagent.conversation.history import MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.webhooks.message import WebhookEvent, as_transcript, signed_headers

SECRET = bytes(range(32))
GIVEN = "whsec_" + b64encode(SECRET).decode()
NOW = 1_800_000_000


def verify(body: bytes, headers: dict[str, str], secret: str = GIVEN) -> None:
    """As a receiver does; an hour is what the test gives the clock."""
    tolerance_s = 10**9
    OpenAI(api_key="none").webhooks.verify_signature(body, headers, secret=secret, tolerance=tolerance_s)


@given(st.dictionaries(st.text(), st.text(), max_size=4))
def test_every_event_has_a_signature_that_the_openai_sdk_accepts(data: dict[str, str]) -> None:
    body = WebhookEvent("evt_1", "call.began", NOW, data).body()
    verify(body, signed_headers("evt_1", body, SECRET, NOW))
    assert json.loads(body)["data"] == data


@pytest.mark.parametrize("what", ["body", "time", "id", "secret"])
def test_a_signature_of_anything_else_is_refused(what: str) -> None:
    body = WebhookEvent("evt_1", "call.began", NOW, {}).body()
    headers = signed_headers("evt_1", body, SECRET, NOW)
    if what == "time":
        headers["webhook-timestamp"] = str(NOW + 1)
    if what == "id":
        headers["webhook-id"] = "evt_2"
    secret = "whsec_" + b64encode(bytes(32)).decode() if what == "secret" else GIVEN
    with pytest.raises(InvalidWebhookSignatureError):
        verify(body + b" " if what == "body" else body, headers, secret)


def test_a_transcript_has_words_and_tools_with_their_outputs_and_not_what_a_phone_line_told() -> None:
    items = (
        MessageItem("0", "user", '[About this call: {"from": "+4930"}]', by_line=True),
        MessageItem("1", "user", "two tuna"),
        ToolCallItem("2", ToolCall("call_1", "add", '{"pizza":"tuna"}')),
        ToolOutputItem("3", "call_1", "2 pizzas"),
        MessageItem("4", "assistant", "Two tuna."),
        MessageItem("5", "assistant", ""),
    )
    assert as_transcript(items) == [
        {"role": "user", "text": "two tuna"},
        {"tool": "add", "arguments": '{"pizza":"tuna"}', "output": "2 pizzas"},
        {"role": "assistant", "text": "Two tuna."},
    ]
