"""Learning which message shapes a server or template accepts, with small probes.

`learning` yields rounds of probes and is sent the answers. The probes of a round can be sent concurrently. A
server that accepts every shape gets two probes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from llmcore.engine import LlmError, Message, Tool, ToolCall
from llmcore.text.message_shapes import ANY_SHAPE, CALL_SHAPES, ORDER_SHAPES, Shape, Shapes
from llmcore.text.reshaping import adapt_messages, adapt_tools

_SYSTEM = Message("system", "You are briskol.")
_GREETING = Message("assistant", "Hello, morvane here.")
_QUESTION = Message("user", "Is there a tarnby?")
_GUIDANCE = Message("system", "Say quillon next.")
_ANSWER = Message("assistant", "Yes, a felspar.")
_MORE = Message("user", "And a dunmore?")
_WORDS = "One wexley."
_MARKS = (
    "briskol",
    "morvane",
    "tarnby",
    "quillon",
    "felspar",
    "dunmore",
    "wexley",
    "oakhurst",
    "pendrill",
    "rusholm",
    "stanmer",
)
"""Rare words by which messages are recognized in a prompt."""
TOOL = Tool(
    "look_up",
    "Looks up a word.",
    {"type": "object", "properties": {"word": {"type": "string", "description": "The word."}}},
)


def _call(number: int, word: str) -> ToolCall:
    return ToolCall(f"call_{number:024d}", TOOL.name, f'{{"word": "{word}"}}')


def _result(number: int, word: str) -> Message:
    return Message("tool", f"It is {word}.", tool_call_id=f"call_{number:024d}")


_FIRST, _SECOND = _call(1, "oakhurst"), _call(2, "rusholm")
_FOUND, _FOUND_TOO = _result(1, "pendrill"), _result(2, "stanmer")
_ASKED = (_SYSTEM, _QUESTION)
_EVERYTHING = (
    _SYSTEM,
    _GREETING,
    _QUESTION,
    Message("assistant", _WORDS, (_FIRST, _SECOND)),
    _FOUND,
    _FOUND_TOO,
    _MORE,
    _GUIDANCE,
    _ANSWER,
    Message("user", "Look."),
    Message("assistant", "", (_call(3, "oakhurst"),)),
    _result(3, "pendrill"),
    _GUIDANCE,
    _ANSWER,
    Message("user", "Go."),
    _GUIDANCE,
)


@dataclass(frozen=True, slots=True)
class Probe:
    """Test messages, sent in the form for a server that refuses `shapes`, to see if it accepts them."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    shapes: Shapes = ANY_SHAPE

    @property
    def sent(self) -> tuple[Message, ...]:
        """Messages in the form in which they are sent."""
        return adapt_messages(self.messages, self.shapes)

    @property
    def role_swapped(self) -> list[tuple[Message, ...]]:
        """Variants of the messages as sent, each with one agent or later system message as the user's.

        A prompt that is the same for such a variant does not show roles: some templates render the first
        message after the system prompt as the user's, whatever its role.
        """
        sent = self.sent
        return [
            (*sent[:place], Message("user", message.content), *sent[place + 1 :])
            for place, message in enumerate(sent)
            if not message.tool_calls
            and (message.role == "assistant" or (message.role == "system" and place))
        ]

    def is_whole(self, prompt: str) -> bool:
        """Return True if a prompt made from this probe has all its words, message by message in order.

        Templates silently leave out parts that they do not know. Some put the system prompt before the newest
        user message, where it changes every prompt, and leave it out if there is none.
        """
        end = 0
        for message in self.sent:
            marks = _marks_in(message)
            places = [prompt.find(mark, end) for mark in marks]
            if -1 in places:
                return False
            end = max((place + len(mark) for place, mark in zip(places, marks, strict=True)), default=end)
        return True


Rounds = Generator[tuple[Probe, ...], Sequence[bool], Shapes | None]
"""Generator of rounds of probes. It is sent the acceptance of each probe, and returns the learned shapes."""


def learning(objects: bool = False) -> Rounds:
    """Learn which shapes are accepted. Returns None if even a plain question is refused.

    objects: arguments of calls are sent as objects, which a template may refuse; over HTTP they are text.
    """
    whole = Probe(_EVERYTHING, (TOOL,)), Probe((_GREETING, _QUESTION, _ANSWER), (TOOL,))
    if all((yield whole)):
        return ANY_SHAPE
    with_system, plain = yield Probe((*_ASKED, _ANSWER, _MORE)), Probe((_QUESTION, _ANSWER, _MORE))
    if not (with_system or plain):
        return None
    shapes = ANY_SHAPE if with_system else ANY_SHAPE.without("system", "later_system")
    shapes = yield from _without_tools(shapes)
    shapes = yield from _form_of_calls(shapes, objects)
    shapes = yield from _with_tools(shapes)
    in_words = shapes.without("tool_messages")
    candidates = (shapes, in_words, shapes.without(*ORDER_SHAPES), in_words.without(*ORDER_SHAPES))
    accepted = yield tuple(Probe(_EVERYTHING, (TOOL,), candidate) for candidate in candidates)
    found = (one for one, is_accepted in zip(candidates, accepted, strict=True) if is_accepted)
    return _relevant(next(found, shapes))


def _relevant(shapes: Shapes) -> Shapes:
    """Remove shapes that make no difference if calls are sent as text."""
    return shapes if shapes.accepts("tool_messages") else Shapes(shapes.refused - CALL_SHAPES)


def _without_tools(shapes: Shapes) -> Generator[tuple[Probe, ...], Sequence[bool], Shapes]:
    asked: dict[Shape, list[Probe]] = {
        "later_system": [
            Probe((*_ASKED, _GUIDANCE, _ANSWER, _MORE), (), shapes),
            Probe((*_ASKED, _GUIDANCE), (), shapes),
            Probe((*_ASKED, _ANSWER, _GUIDANCE), (), shapes),
        ],
        "assistant_first": [
            Probe((_SYSTEM, _GREETING, _QUESTION), (), shapes),
            Probe((_GREETING, _QUESTION), (), shapes),
            Probe((_SYSTEM,), (), shapes),
        ],
        "assistant_last": [Probe((*_ASKED, _ANSWER), (), shapes)],
        "tools": [Probe(_ASKED, (TOOL,), shapes)],
    }
    return (yield from _ask_each(asked, shapes))


def _form_of_calls(shapes: Shapes, objects: bool) -> Generator[tuple[Probe, ...], Sequence[bool], Shapes]:
    """Find the accepted form of calls and results that is nearest to the usual one."""
    history = (*_ASKED, Message("assistant", "", (_FIRST,)), _FOUND, _ANSWER, _MORE)
    forms: list[tuple[Shape, ...]] = [(), ("odd_ids", "long_ids"), ("empty_content",)]
    forms.append(("odd_ids", "long_ids", "empty_content"))
    if objects:
        forms += [("object_arguments", *form) for form in forms]
    candidates = [shapes.without(*form) for form in forms]
    accepted = yield tuple(Probe(history, (TOOL,), candidate) for candidate in candidates)
    found = (candidate for candidate, is_accepted in zip(candidates, accepted, strict=True) if is_accepted)
    return next(found, shapes.without("tool_messages"))


def _with_tools(shapes: Shapes) -> Generator[tuple[Probe, ...], Sequence[bool], Shapes]:
    both = (*_ASKED, Message("assistant", _WORDS, (_FIRST,)), _FOUND, _ANSWER, _MORE)
    again = Message("assistant", _WORDS, (_call(3, "oakhurst"),)), _result(3, "pendrill"), _ANSWER, _MORE
    first = Message("assistant", _WORDS, (_FIRST, _SECOND)), _FOUND, _FOUND_TOO, _ANSWER, _MORE
    apart = shapes.without("words_with_calls")
    several = (*_ASKED, Message("assistant", "", (_FIRST, _SECOND)), _FOUND, _FOUND_TOO, _ANSWER, _MORE)
    cut_short = (*_ASKED, Message("assistant", "", (_FIRST,)), _FOUND, _MORE, _ANSWER, _MORE)
    tools = (TOOL,)
    asked: dict[Shape, list[Probe]] = {
        "assistant_first": [Probe((_SYSTEM, _GREETING, _QUESTION), tools, shapes)],
        "later_system": [Probe((*cut_short[:4], _GUIDANCE), tools, shapes)],
        "tool_messages": [Probe(cut_short[:4], tools, shapes)],
        "words_with_calls": [Probe(both, tools, shapes)],
        "assistant_twice": [Probe(both, tools, apart)],
        "parallel_calls": [Probe(several, tools, shapes)],
        "user_after_tool": [Probe(cut_short, tools, shapes)],
    }
    learned = yield from _ask_each(asked, shapes)
    (is_accepted,) = yield (Probe((*_ASKED, *first, *again), tools, learned),)
    if not learned.accepts("words_with_calls") or not is_accepted:
        return learned.without("words_with_calls")
    return Shapes(learned.refused - {"assistant_twice"})  # no two agent messages are neighbours then


def _ask_each(
    asked: dict[Shape, list[Probe]], shapes: Shapes
) -> Generator[tuple[Probe, ...], Sequence[bool], Shapes]:
    """Send all probes in one round. Return the shapes, plus each one with a refused probe."""
    owners = [shape for shape, probes in asked.items() for _ in probes]
    accepted = yield tuple(probe for probes in asked.values() for probe in probes)
    refused = {shape for shape, is_accepted in zip(owners, accepted, strict=True) if not is_accepted}
    return shapes.without(*refused)


def learn_now(accepts: Callable[[Probe], bool], objects: bool = False) -> Shapes | None:
    """Run `learning` with an immediate answer to each probe."""
    rounds, answers = learning(objects), None
    while True:
        try:
            probes = rounds.send(answers) if answers is not None else next(rounds)
        except StopIteration as end:
            learned: Shapes | None = end.value
            return learned
        answers = [accepts(probe) for probe in probes]


Render = Callable[[Sequence[Message], Sequence[Tool], Shapes, bool], str]
"""Renderer of messages and tools in the forms of calls that these shapes allow; the flag adds the beginning
of the agent's answer. Raises LlmError.
"""


def learn_from_template(render: Render) -> Shapes | None:
    """Return the shapes that a template refuses; None if it does not render a plain question whole."""
    return learn_now(lambda probe: template_accepts(render, probe), objects=True)


def template_accepts(render: Render, probe: Probe) -> bool:
    """Return True if a template renders all words of a probe under their roles, then opens an answer."""
    messages, tools = probe.sent, adapt_tools(probe.tools, probe.shapes)
    try:
        prompt = render(messages, tools, probe.shapes, True)
        if not probe.is_whole(prompt):
            return False
        opens = render(messages, tools, probe.shapes, False) != prompt
        asked = render((_QUESTION,), (), ANY_SHAPE, True) != render((_QUESTION,), (), ANY_SHAPE, False)
    except LlmError:
        return False
    if asked and not opens and messages[-1].role != "tool":  # some models continue directly after a result
        return False
    return all(_renders(render, probe, other) != prompt for other in probe.role_swapped)


def _renders(render: Render, probe: Probe, messages: tuple[Message, ...]) -> str | None:
    try:
        return render(messages, adapt_tools(probe.tools, probe.shapes), probe.shapes, True)
    except LlmError:
        return None


def _marks_in(message: Message) -> list[str]:
    texts = [message.content, *(call.arguments for call in message.tool_calls)]
    return [mark for text in texts for mark in _MARKS if mark in text]
