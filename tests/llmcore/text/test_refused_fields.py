"""The field of a request that an error text calls unknown, and the request without it."""

from __future__ import annotations

from collections.abc import Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.text.refusals import describe_refused_field, refused_field, without_fields

BODY = {"messages": [], "max_tokens": 9, "temperature": 0.5, "stop": ["#"], "stream_options": {}}


@pytest.mark.parametrize(
    ("error", "field"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0.7 with this model.", "temperature"),
        (
            "[{'type': 'extra_forbidden', 'loc': ['body', 'stream_options'], "
            "'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]",
            "stream_options",
        ),
        ("property 'stream_options' is unsupported", "stream_options"),
        ('Invalid JSON payload received. Unknown name "stop": Cannot find field.', "stop"),
        ("Unrecognized request argument supplied: stream_options", "stream_options"),
        ("max_tokens is too large: 9000. This model supports at most 4096.", None),
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.", None),
        ("Unsupported parameter: 'max_completion_tokens'.", None),
        ("The server stopped.", None),
    ],
)
def test_the_field_that_an_error_calls_unknown(error: str, field: str | None) -> None:
    assert refused_field(error, BODY) == field


@given(
    st.sets(st.sampled_from(["max_tokens", "max_completion_tokens", "temperature", "stop", "stream_options"]))
)
def test_without_its_refused_fields_a_body_has_the_rest_and_a_limit_if_any_name_is_known(
    refused: Set[str],
) -> None:
    body = without_fields(BODY, refused)
    assert not refused & set(body)
    assert {key: body[key] for key in body if key in BODY} == {
        key: BODY[key] for key in BODY if key not in refused
    }
    assert (9 in body.values()) == (not {"max_tokens", "max_completion_tokens"} <= refused)


def test_the_log_says_what_is_sent_in_its_place() -> None:
    assert describe_refused_field("max_tokens", {"max_tokens"}) == (
        "it refuses max_tokens: sent as max_completion_tokens"
    )
    assert describe_refused_field("stop", {"stop"}) == "it refuses stop: left out"
