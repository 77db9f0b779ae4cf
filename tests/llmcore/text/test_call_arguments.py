"""Names and arguments of calls are read where their meaning is certain, and sent back so that servers accept
them.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.text.call_arguments import is_object, known_name, read_arguments, sendable_arguments

ROME = '{"city": "Rome"}'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@pytest.mark.parametrize(
    "written",
    [
        ROME,
        f"  {ROME}\n",
        f"```json\n{ROME}\n```",
        f"```\n{ROME}\n```",
        f"```json\n{ROME}",
        f"{ROME} thanks",
        f"{ROME}\n\nI looked it up.",
        f"{ROME}</tool_call>",
        f"{ROME},",
        f"{ROME};",
        f"{ROME}}}",
        f"{ROME}{ROME}",
        f"{ROME}\n{ROME}",
    ],
)
def test_one_object_is_read_whatever_is_around_it(written: str) -> None:
    assert read_arguments(written) == ROME


def test_line_breaks_and_tabs_in_strings_are_escaped() -> None:
    assert json.loads(read_arguments('{"text": "a\nb\tc"}')) == {"text": "a\nb\tc"}


@pytest.mark.parametrize(
    "written",
    [
        '{"city": ',
        '{"city": "Rome"}{"city": "Bonn"}',
        '["Rome"]',
        "Rome",
        "{'city': 'Rome'}",
        "",
        "I am {not}",
    ],
)
def test_what_is_not_certain_stays_as_it_is(written: str) -> None:
    assert read_arguments(written) == written


@given(st.dictionaries(st.text(), VALUES))
def test_an_object_means_itself(arguments: dict[str, object]) -> None:
    written = json.dumps(arguments)
    assert read_arguments(written) == sendable_arguments(written) == written


@pytest.mark.parametrize("nothing", ["", " ", "\n"])
def test_no_arguments_are_an_empty_object(nothing: str) -> None:
    assert sendable_arguments(nothing) == "{}"


@given(st.text().filter(str.strip))
def test_whatever_the_model_wrote_servers_get_an_object_that_has_it(written: str) -> None:
    sent = sendable_arguments(written)
    assert is_object(sent) and (sent == written or json.loads(sent) == {"arguments": written})


@pytest.mark.parametrize(
    "written", ["look", "Look", "LOOK", "functions.look", "functions.look:0", "look:12", "functions.Look"]
)
def test_the_tool_that_a_name_means_is_called(written: str) -> None:
    assert known_name(written, ("look", "book")) == "look"


@pytest.mark.parametrize(
    ("written", "known"),
    [("zap", ("look",)), ("Look", ("look", "LOOK")), ("look", ()), ("lookup", ("look",)), ("", ("look",))],
)
def test_a_name_that_means_no_tool_or_several_stays_as_it_is(written: str, known: tuple[str, ...]) -> None:
    assert known_name(written, known) == written
