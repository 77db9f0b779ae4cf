"""Log lines of what others say and send."""

from __future__ import annotations

import io
import json
import logging

import httpx2
import pytest
import structlog

from voiceagent.telemetry.log import MAX_CHARACTERS, configure_log, printable

FORGED = "well\n2026-11-26T00:00:00Z [error] the server is lost\x1b[2J\u202e"


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.mark.parametrize("named", ["structlog", "the standard library"])
def test_nobodys_words_look_like_a_line_of_the_log(stream: io.StringIO, named: str):
    configure_log("console", stream=stream)
    if named == "structlog":
        structlog.get_logger().info("said", words=FORGED)
    else:
        logging.getLogger("shop").warning("said %s", FORGED)
    first, *others = stream.getvalue().splitlines()
    assert "said" in first
    assert all(line.startswith("    ") for line in others)
    assert not set("\x1b\u202e") & set(stream.getvalue())


async def test_requests_to_others_leave_no_url_in_the_log(stream: io.StringIO):
    configure_log("console", stream=stream)
    answering = httpx2.MockTransport(lambda _: httpx2.Response(204))
    async with httpx2.AsyncClient(transport=answering) as client:
        await client.post("https://shop.example/calls?token=secret")
    assert stream.getvalue() == ""


def test_a_field_of_any_length_is_cut_and_its_length_told(stream: io.StringIO):
    configure_log("json", stream=stream)
    structlog.get_logger().info("call", line_call="C" * 200_000)
    line = json.loads(stream.getvalue())
    assert line["line_call"].startswith("C" * MAX_CHARACTERS)
    assert line["line_call"].endswith("(200000 characters)")
    assert len(stream.getvalue()) < MAX_CHARACTERS + 500


def test_a_traceback_is_as_long_as_it_is(stream: io.StringIO):
    configure_log("console", stream=stream)
    try:
        raise ValueError("x" * 2 * MAX_CHARACTERS)
    except ValueError as error:
        structlog.get_logger().error("failed", exc_info=error)
    assert "x" * 2 * MAX_CHARACTERS in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße, 日本 👋\n\tnext", "Grüße, 日本 👋\n\tnext"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb\x9b2J", "a\\rb\\x9b2J"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
    ],
)
def test_what_moves_a_cursor_or_turns_a_line_around_is_escaped(text: str, shown: str):
    assert printable(text) == shown
