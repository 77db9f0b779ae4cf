"""The shapes that a template accepts are learned by rendering small probes."""

from __future__ import annotations

import pytest
from strict_templates import STRICT, StrictTemplate

from llmcore.engine import LlmError, Message, Request, ToolCall
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens
from llmcore.text.message_shapes import ANY_SHAPE, CALL_SHAPES, ORDER_SHAPES, Shape
from llmcore.text.shape_learning import Probe, learn_from_template, learn_now

each_template = pytest.mark.parametrize("template", STRICT.values(), ids=STRICT.keys())

SYSTEM, GREETING, QUESTION = (
    Message("system", "Be brief."),
    Message("assistant", "Hello."),
    Message("user", "Is there a ship?"),
)
LOOK = ToolCall("call_0123456789", "look", '{"far": true}')


def refused_of(template: StrictTemplate) -> frozenset[Shape]:
    return ChatTemplate(template.source, {}).learn_shapes().refused


@each_template
def test_a_template_is_known_by_what_it_refuses_or_leaves_out(template: StrictTemplate) -> None:
    assert refused_of(template) == template.refused


@each_template
def test_a_call_with_everything_is_rendered_whole(template: StrictTemplate) -> None:
    rendering = ChatTemplate(template.source, {})
    read: list[str] = []

    def encode(text: str) -> list[int]:
        read.append(text)
        return [0]

    chat = ChatTokens(rendering, encode, 1_000, shapes=rendering.learn_shapes())
    calls = Message("assistant", "Let me look.", (LOOK,))
    found = Message("tool", "One ship.", tool_call_id=LOOK.call_id)
    late = Message("system", "It is late.")
    chat.prompt(Request((SYSTEM, GREETING, QUESTION, calls, found, Message("user", "And now?"), late)))
    places = [read[-1].find(words) for words in ("Hello.", "a ship", "Let me", "One ship", "And now", "late")]
    assert -1 not in places
    assert places == sorted(places)
    assert "Be brief." in read[-1]


@each_template
def test_what_is_read_ahead_begins_the_prompt(template: StrictTemplate) -> None:
    rendering = ChatTemplate(template.source, {})
    chat = ChatTokens(
        rendering, lambda text: [ord(sign) for sign in text], 9_000, shapes=rendering.learn_shapes()
    )
    begun = (SYSTEM, GREETING, QUESTION, Message("assistant", "No."))
    ahead = chat.unfinished(Request((*begun, Message("user", "And"))))
    guided = (*begun, Message("user", "And now?"), Message("system", "It is late."))
    assert chat.prompt(Request(guided))[: len(ahead)] == ahead
    static = chat.static(Request(begun), ahead)
    assert 0 < len(static) < len(ahead)


def test_a_server_that_takes_all_is_asked_two_small_questions() -> None:
    asked: list[Probe] = []

    def takes(probe: Probe) -> bool:
        asked.append(probe)
        return True

    assert learn_now(takes) == ANY_SHAPE
    assert len(asked) == 2
    assert sum(len(message.content) for probe in asked for message in probe.messages) < 500


def test_of_a_server_that_refuses_all_nothing_is_learned() -> None:
    assert learn_now(lambda probe: False) is None


def test_where_single_probes_tell_nothing_the_order_of_messages_is_kept_simple() -> None:
    def takes(probe: Probe) -> bool:
        is_long = len(probe.messages) > 6
        return not is_long or probe.shapes.refused >= ORDER_SHAPES

    learned = learn_now(takes)
    assert learned is not None
    assert learned.refused == ORDER_SHAPES


def test_where_calls_are_words_their_forms_do_not_matter() -> None:
    def takes(probe: Probe) -> bool:
        return not any(message.tool_calls for message in probe.sent)

    learned = learn_now(takes)
    assert learned is not None
    assert learned.refused == {"tool_messages"}
    assert not learned.refused & CALL_SHAPES


def test_a_template_that_renders_no_plain_question_is_left_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    template = ChatTemplate("{{ messages[9].content }}", {})
    assert template.learn_shapes() == ANY_SHAPE
    assert "does not render a plain question" in caplog.text


def test_a_message_that_stands_under_another_role_is_not_taken() -> None:
    source = "{% for m in messages %}<{{ 'user' if loop.first else m.role }}>{{ m.content }}{% endfor %}"
    template = ChatTemplate(source, {})
    learned = learn_from_template(lambda messages, *rest: template.render(messages))
    assert learned is not None
    assert "assistant_first" in learned.refused


def test_words_that_a_template_leaves_out_are_missed() -> None:
    probe = Probe((SYSTEM, Message("user", "Is there a tarnby?"), Message("assistant", "Yes, a felspar.")))
    assert probe.is_whole("tarnby felspar")
    assert not probe.is_whole("tarnby")
    assert not probe.is_whole("felspar tarnby")


def test_a_render_error_is_a_refusal() -> None:
    def render(*_: object) -> str:
        raise LlmError("no")

    assert learn_from_template(render) is None
