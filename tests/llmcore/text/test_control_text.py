"""Words, thoughts and calls in the text of a reply, in the forms of the model families."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_replies import CALLS, IN_ONE_LINE, JSON_CALL, THOUGHTS

from llmcore.engine import ToolCall
from llmcore.text.control_marks import MARK, REGIONS
from llmcore.text.control_text import ControlText
from llmcore.text.tool_calls import MalformedToolCall

NAMES = ("weather", "book", "book_table")
Read = tuple[str, list[tuple[str, object]], str]

ROME = [("weather", {"city": "Rome"})]
ORDINARY = (
    "if x < 5, or a<b, then y > 3",
    "I am thinking of <b>bold</b> things, [1] and {braces}.",
    'The record is {"name": "Ann", "arguments": 5}.',
    '{"city": "Rome"}',
    '{"name": "unknown_tool", "arguments": {}}',
    '```json\n{"title": "weather", "city": "Rome"}\n```',
    "Use `book` or ```python\nprint(1)\n```.",
    "weather is fine; book (a table) with weather(",
    "analysis of the final answer: 3 <",
    "[TOOL and [THIN and <thin and <t",
    " one two",
    " we book a table",
    "Let me see.\nbook (or not)\nweather: sunny\n\nfinal score: 2",
    "analysis shows: final words. Action: call Ann.",
    '{"weather": "sunny", "sky": {}}',
    '{"weather": {"city": "Rome"}, "sky": {}}',
    'It returns {"weather": {"city": "Rome"}} for Rome.',
    "¿{{name}}? [link](url)",
    "I like weather. The weather (in Rome) is fine.",
    "Let me look. weather: sunny. A note on weather (Rome, Milan) follows.",
    "Your book(s) are here: book (the novel), book(2), and the book (price: 5 euros).",
    "Let me look. book (or not), book() or weather(Rome).",
    "The set {1, 2} is small; write {name} or {name, city} in braces.",
    "In HTML, <plan> is not a tag, but <b> is. Use <city> as a placeholder.",
    "The <weather> channel is on, and a <book>mark is here; if a <book and b> c then stop",
    "Function call is a term of programming. to=2 and from=1 are values.",
    "Tool call: none. My tool call: done. Call: 555 1234.",
    "print is a function. Please print (or email) the form. Print (weather).",
    "assistant to the manager: Ann. Await the weather report.",
    "[Note: weather may change.] [Calling weather experts] (calling again later is fine)",
    "`weather` is the name of a tool. Type `book` to continue: `book a table`.",
    "Plan: go to Rome.\nAction: book a train.\nThought: the mind of man.",
    "-> go left -> weather station. weather, book: two words.",
    "name: weather\narguments: none\nweather\nbook",
    "weather <b>bold</b> book_table: {see below}",
)


def read(pieces: list[str], names: tuple[str, ...] = NAMES, **options: bool) -> Read:
    """Return the words, calls and thoughts of a reply in these pieces."""
    numbers = count()
    control = ControlText(names, new_id=lambda: f"call_{next(numbers)}", **options)
    parts = [part for piece in pieces for part in control.push(piece)] + control.finish()
    calls = [call for part in parts for call in part.calls]
    assert [call.call_id for call in calls] == [f"call_{number}" for number in range(len(calls))]
    told = [(call.name, json.loads(call.arguments)) for call in calls]
    return "".join(part.words for part in parts), told, "".join(part.thought for part in parts)


def cut(text: str, data: st.DataObject) -> list[str]:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.parametrize("text", THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_and_roles_are_never_said(text: str) -> None:
    words, calls, _ = read([text])
    assert (words, calls) == ("Your table is booked.", [])
    assert read(list(text))[:2] == (words, calls), "in pieces of one character"


def test_a_tool_may_have_the_name_of_a_recipient_of_harmony() -> None:
    control = ControlText(["user"])
    parts = control.push('<|channel|>commentary to=functions.user<|message|>{"id": 5}<|call|>')
    assert [(call.name, call.arguments) for part in parts for call in part.calls] == [("user", '{"id": 5}')]


@pytest.mark.parametrize("form", ['weather(city="<param:x>")', 'weather {"city": "<param:x>"}'])
def test_arguments_keep_the_elements_in_them(form: str) -> None:
    assert read([form])[1] == [("weather", {"city": "<param:x>"})]


def test_words_before_a_call_are_said_where_a_server_removed_the_marks_of_harmony() -> None:
    call = 'assistantcommentary to=functions.weather json{"city": "Rome"}'
    text = f"analysisHm.assistantcommentaryOne moment.{call}"
    assert read([text]) == read(list(text)) == ("One moment.", ROME, "Hm.")
    text = "commentaryOne moment.assistantanalysisHm.assistantfinalYour table is booked."
    assert read([text]) == read(list(text)) == ("One moment. Your table is booked.", [], "Hm.")


@pytest.mark.parametrize("mark", ["to=user<|message|>", ">>>all\n"])
def test_what_comes_in_one_piece_with_a_mark_at_the_replys_start_is_parsed(mark: str) -> None:
    text = f"{mark}<think>Hm.</think>Let me look.\n{JSON_CALL}"
    assert read([text]) == read(list(text)) == ("Let me look.\n", ROME, "Hm.")


def test_an_argument_that_is_the_tools_own_name_stays_an_argument() -> None:
    assert read(['weather {"name": "weather", "city": "Rome"}'])[1] == [
        ("weather", {"name": "weather", "city": "Rome"})
    ]


def test_a_list_that_minimax_m3_writes_with_elements_is_a_list() -> None:
    guests = "<item><name>Ann</name></item><item><name>Bo</name></item>"
    call = f"<tool_call><invoke name='book'><guests>{guests}</guests></invoke></tool_call>"
    assert read([call.replace("<", "]<]minimax[>[<")])[1] == [
        ("book", {"guests": [{"name": "Ann"}, {"name": "Bo"}]})
    ]


@pytest.mark.parametrize("form", CALLS.values(), ids=CALLS)
def test_a_call_in_any_form_is_a_call_and_never_said(form: str) -> None:
    for said in ("", "Let me look.\n"):
        assert read([said + form])[:2] == (said, ROME)
        assert read(list(said + form))[:2] == (said, ROME), "in pieces of one character"


@pytest.mark.parametrize("call", IN_ONE_LINE)
@pytest.mark.parametrize("said", ["Let me look. ", "Okay: ", "Ich sehe nach... ", "I look up "])
def test_a_call_in_the_line_of_other_words_is_a_call(call: str, said: str) -> None:
    text = f"{said}{call}"
    assert read([text])[:2] == read(list(text))[:2] == (said, ROME)
    for at in range(3, len(text)):
        assert read([text[:3], text[3:at], text[at:]])[:2] == (said, ROME), text[3:at]


@pytest.mark.parametrize("call", ["book()", "weather()"])
def test_a_call_without_arguments_within_a_line_needs_a_name_that_is_no_word(call: str) -> None:
    assert read([f"Good. {call}"])[:2] == (f"Good. {call}", [])
    for named in ("book_table()", "[book()]", "<book_table/>"):
        name = "book_table" if "_" in named else "book"
        assert read([f"Good. {named}"])[:2] == ("Good. ", [(name, {})])
    assert read([f"Good.\n{call}"])[1] == [(call.removesuffix("()"), {})]


@pytest.mark.parametrize("text", ORDINARY)
def test_text_that_only_resembles_control_text_is_said_as_it_is(text: str) -> None:
    assert read([text]) == (text, [], "")
    assert read(list(text)) == (text, [], "")


SAID = [
    line.replace("\\n", "\n")
    for line in Path(__file__).with_name("ordinary_replies.txt").read_text().splitlines()
    if not line.startswith("# ")
]
SHOP = {
    "order": ("item", "quantity"),
    "book": ("date", "guests"),
    "book_table": ("date", "guests"),
    "call": ("number",),
    "search": ("query",),
    "weather": ("city",),
    "price": ("product",),
    "hang_up": (),
    "send_email": ("to", "subject", "body"),
}
"""Tools by name, with their parameters, whose names are ordinary words."""


@pytest.mark.parametrize("cut", [lambda text: [text], list], ids=["whole", "in pieces of one character"])
def test_ordinary_replies_are_said_though_tools_have_the_names_of_their_words(
    cut: Callable[[str], list[str]],
) -> None:
    assert [text for text in SAID if not _is_said(cut(text))] == []


def _is_said(pieces: list[str]) -> bool:
    """Return True if all of a text is words, and none of it a call."""
    control = ControlText(SHOP, parameters=SHOP)
    parts = [part for piece in pieces for part in control.push(piece)] + control.finish()
    return "".join(part.words for part in parts) == "".join(pieces) and not any(part.calls for part in parts)


@pytest.mark.parametrize(
    "call",
    [
        '<tool>{"name": "weather", "arguments": {"city": "Rome"}}</tool>',
        '<tools>[{"name": "weather", "arguments": {"city": "Rome"}}]</tools>',
        '<execute>weather(city="Rome")</execute>',
        '[TOOL] weather(city="Rome") [/TOOL]',
    ],
)
def test_a_mark_within_a_sentence_is_no_word_if_a_call_follows(call: str) -> None:
    for text in ([f"Let me check {call}"], list(f"Let me check {call}")):
        assert read(text) == ("Let me check ", ROME, "")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("hang_up() bye", "bye"),
        ("hang_up() goodbye, and thanks", "goodbye, and thanks"),
        ("All right. hang_up() thank you for your call", "All right. thank you for your call"),
        ('order(item="tuna") one moment', "one moment"),
        ('order(item="tuna") got it, anything else?', "got it, anything else?"),
        ("hang_up() have a nice day", "have a nice day"),
        ("hang_up() i'll call you back", "i'll call you back"),
        ("You end with hang_up() please", "You end with hang_up() please"),
        ("You end a call by hang_up() bye", "You end a call by hang_up() bye"),
        ("hang_up() byte by byte", "hang_up() byte by byte"),
        ("hang_up() sure, one moment", "sure, one moment"),
        ("hang_up() okay", "okay"),
        ("hang_up() sure ends the call", "hang_up() sure ends the call"),
        ('order(item="tuna") one of these', 'order(item="tuna") one of these'),
    ],
)
def test_words_to_the_caller_behind_a_call_explain_nothing(reply: str, said: str) -> None:
    for pieces in ([reply], list(reply)):
        control = ControlText(SHOP, parameters=SHOP)
        parts = [part for piece in pieces for part in control.push(piece)] + control.finish()
        assert "".join(part.words for part in parts) == said
        assert any(part.calls for part in parts) == (said != reply)


@pytest.mark.parametrize(
    "reply",
    [
        "I can do this:\n- `hang_up()`: Ends the call.\n- `weather(city)`: Tells the weather.",
        "* **hang_up()**: ends the call",
        "1. hang_up() - ends the call",
        "- `hang_up()` – Ends the call",
        "| hang_up() | ends the call |",
        "`hang_up()` -> the end",
    ],
)
def test_a_list_of_tools_calls_none_of_them(reply: str) -> None:
    for pieces in ([reply], list(reply)):
        assert read(pieces, ("hang_up", "weather")) == (reply, [], "")


@pytest.mark.parametrize("behind", [" - Bye", ": Goodbye!", " — thanks", ":", " :)", " - I wish you well"])
def test_a_sign_between_a_call_and_words_to_the_caller_explains_nothing(behind: str) -> None:
    text = f"hang_up(){behind}"
    for at in range(len(text)):
        said, calls, _ = read([text[:at], text[at:]], ("hang_up",))
        assert (said.strip(), calls) == (behind.strip(), [("hang_up", {})])


@pytest.mark.parametrize(
    "thought",
    [
        "[THINK] the caller wants two [/THINK]",
        "<thought>They want a table. For two?</thought>",
        "<reasoning> look it up first </reasoning>",
    ],
)
@pytest.mark.parametrize("behind", [" one moment.", " It is sunny.", ""])
def test_a_thought_within_a_sentence_is_never_said(thought: str, behind: str) -> None:
    text = f"I see {thought}{behind}"
    words, calls, _ = read([text])
    assert (" ".join(words.split()), calls) == (f"I see{behind}", [])
    for at in range(len(text)):
        assert read([text[:at], text[at:]])[0] == words, at


@pytest.mark.parametrize(
    "remark",
    [
        "Open it with <thought> and close it with </thought>.",
        "Write [THINK] before and [/THINK] after it.",
        "In the <thought> element, which has no end, are words: " + "word " * 200,
        f"Behind <reasoning> without an end {JSON_CALL}",
    ],
)
def test_a_mark_of_a_thought_that_is_a_word_of_its_sentence_loses_no_words(remark: str) -> None:
    call = JSON_CALL if JSON_CALL in remark else ""
    for pieces in ([remark], list(remark)):
        words, calls, thought = read(pieces)
        assert (words, thought) == (remark.removesuffix(call), "")
        assert bool(calls) == bool(call)


def test_a_thought_within_a_sentence_is_short_however_the_reply_is_cut() -> None:
    for words in (110, 130):
        text = f"I see [THINK] {'word ' * words}[/THINK] one moment"
        assert read([text]) == read(list(text)), words


@pytest.mark.parametrize("remark", ["Say <reason> and the day.", "Reply STOP <reason>, then goodbye."])
def test_a_mark_that_its_sentence_goes_on_behind_delays_no_words(remark: str) -> None:
    control = ControlText(())
    said, longest = "", 0
    for at, character in enumerate(remark, 1):
        said += "".join(part.words for part in control.push(character))
        longest = max(longest, at - len(said))
    assert longest <= len("<reason> and")


@pytest.mark.parametrize("behind", [" is", " i", "` gives", ", for", ") und"])
@pytest.mark.parametrize("call", ['weather(city="Rome")', '{"weather": {"city": "Rome"}}'])
def test_words_behind_a_call_in_its_sentence_explain_it_however_the_reply_is_cut(
    call: str, behind: str
) -> None:
    text = call + behind
    for at in range(len(text)):
        assert read([text[:at], text[at:]]) == (text, [], ""), at


@pytest.mark.parametrize("behind", [" It is sunny.", "\nand so on", " 5", "!", " weather", " we"])
def test_what_does_not_go_on_with_a_calls_sentence_leaves_it_a_call(behind: str) -> None:
    call = 'weather(city="Rome")'
    for text in ([call + behind], list(call + behind)):
        calls = read(text)[1]
        assert calls == ([] if behind == " we" else ROME)


def test_json_with_arguments_at_a_lines_beginning_is_a_call_without_waiting_for_what_follows() -> None:
    for before in ("", "Let me look.\n", "```json\n"):
        parts = ControlText(NAMES).push(before + JSON_CALL)
        assert [call.name for part in parts for call in part.calls] == ["weather"]


REMARKS = (
    "Your order (total = 12 dollars) is ready.",
    "Your order(total: 12 dollars) is ready.",
    "Here is your order (pizza = tuna, size = large).",
    "I am calling order (pizza = 5) now.",
    "Your order: {drink: one, pizza: two}",
    "Set the table (n=4), and play {me: please} the first act.",
    "In the play (act = 3) he dies.",
    'In the play (act = "three") he dies.',
    "record (date = today)",
    "To play (key = C major), press {one: two}.",
    "Your order: {pizza: two} is ready.",
    "Type `order()` to start.",
    "Your order:\n  pizza: two",
    "order:\n1. pizza\n2. pasta",
    "order:\n  drink: water",
    "name: order\narguments: none",
    "**order**: two pizzas",
    "Use [order] or <order>.",
    'You write order("tuna") in Python.',
    "Use the function `order('tuna')`.",
    "order\npizza: tuna",
    "order:\npizza: tuna\nnumber: 3\nThat is all.",
    "order:\n  pizza: tuna\n\nIs that right?",
    "order:\npizza: tuna\n- then pay",
    "order:\npizza: tuna\nThanks",
)


@pytest.mark.parametrize("text", REMARKS)
def test_a_remark_after_a_word_that_is_also_a_tools_name_is_said(text: str) -> None:
    pizzas = ("pizza", "number")
    names = ("order", "play", "table", "record")
    control = ControlText(names, parameters=dict.fromkeys(names, pizzas))
    parts = [part for character in text for part in control.push(character)] + control.finish()
    assert "".join(part.words for part in parts) == text
    assert not any(part.calls for part in parts)


@pytest.mark.parametrize(
    "call",
    (
        *(
            "order(pizza: tuna)",
            "order(Pizza: tuna)",
            "order {pizza: tuna}",
            "order(arguments: {pizza: tuna})",
        ),
        *('order(size="large")', "order(size=large)", 'order {"size": "large"}', 'order {size: "large"}'),
    ),
)
def test_a_call_without_quotes_among_words_names_a_parameter_of_its_tool(call: str) -> None:
    control = ControlText(("order",), parameters={"order": ("pizza",)})
    parts = control.push(f"Let me see. {call}") + control.finish()
    assert "".join(part.words for part in parts) == "Let me see. "
    assert [each.name for part in parts for each in part.calls] == ["order"]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ('play("Hamlet")', {"title": "Hamlet"}),
        ("play('Hamlet', 2)", {"title": "Hamlet", "act": 2}),
        ('Sure. play("Hamlet", act=2)', {"title": "Hamlet", "act": 2}),
        ('play({"act": 2})', {"act": 2}),
        ("Action: play\nAction Input: Hamlet", {"title": "Hamlet"}),
        ('{"name": "play", "title": "Hamlet"}', {"title": "Hamlet"}),
        ('{"tool": "play", "title": "Hamlet", "act": 2}', {"title": "Hamlet", "act": 2}),
        ('{"name": "play", "arguments": ["Hamlet"]}', {"title": "Hamlet"}),
    ],
)
def test_arguments_without_names_are_the_parameters_in_order(call: str, arguments: dict[str, object]) -> None:
    for pieces in ([call], list(call)):
        control = ControlText(("play",), parameters={"play": ("title", "act")})
        parts = [part for piece in pieces for part in control.push(piece)] + control.finish()
        calls = [each for part in parts for each in part.calls]
        assert [(each.name, json.loads(each.arguments)) for each in calls] == [("play", arguments)]


def test_an_argument_beyond_the_parameters_is_an_unreadable_call() -> None:
    control = ControlText(("play",), parameters={"play": ("title",)})
    with pytest.raises(MalformedToolCall, match="without a name"):
        control.push('play("Hamlet", 2)')
        control.finish()  # what follows might have explained the call


@pytest.mark.parametrize("call", ['hang_up("Goodbye.")', '{"name": "hang_up", "arguments": ["Goodbye."]}'])
def test_a_tool_without_parameters_is_called_without_the_values_that_the_model_gave(call: str) -> None:
    control = ControlText(("hang_up",), parameters={"hang_up": ()})
    parts = control.push(call) + control.finish()
    assert [(each.name, each.arguments) for part in parts for each in part.calls] == [("hang_up", "{}")]


@pytest.mark.parametrize("call", ["<search>Rome</search>", "Action: search[Rome]", "Action: search[Rome]\n"])
def test_the_value_of_a_tools_only_parameter_alone_in_a_tag_or_brackets_is_a_call(call: str) -> None:
    for pieces in ([call], list(call)):
        control = ControlText(SHOP, parameters=SHOP)
        parts = [part for piece in pieces for part in control.push(piece)] + control.finish()
        assert [(each.name, json.loads(each.arguments)) for part in parts for each in part.calls] == [
            ("search", {"query": "Rome"})
        ]
        assert not "".join(part.words for part in parts).strip()


@pytest.mark.parametrize("below", ["", "\n", "\n\norder:\npizza: ham", "\norder:\n  pizza: ham\n"])
def test_calls_in_yaml_have_nothing_below_them_but_other_calls(below: str) -> None:
    text = f"Certainly.\norder:\npizza: tuna{below}"
    for pieces in ([text], list(text)):
        control = ControlText(("order",), parameters={"order": ("pizza",)})
        parts = [part for piece in pieces for part in control.push(piece)] + control.finish()
        calls = [json.loads(each.arguments) for part in parts for each in part.calls]
        assert calls == [{"pizza": "tuna"}, {"pizza": "ham"}][: 2 if below.strip() else 1]
        assert "".join(part.words for part in parts).strip() == "Certainly."


@pytest.mark.parametrize("written", ["[hang_up]", "<hang_up>", "{hang_up}", "[hang_up]\n"])
def test_the_name_of_a_tool_without_parameters_alone_in_brackets_is_a_call(written: str) -> None:
    parameters: dict[str, tuple[str, ...]] = {"hang_up": (), "book_table": ("guests",)}
    for pieces in ([f"Goodbye! {written}"], list(f"Goodbye! {written}")):
        control = ControlText(parameters, parameters=parameters)
        parts = [part for piece in pieces for part in control.push(piece)] + control.finish()
        assert "".join(part.words for part in parts).strip() == "Goodbye!"
        assert [each.name for part in parts for each in part.calls] == ["hang_up"]
    for words in ("Goodbye! [book_table]", "Goodbye! <hang_up> for now.", "I like [hang_ups]."):
        control = ControlText(parameters, parameters=parameters)
        assert "".join(part.words for part in control.push(words) + control.finish()) == words


PARTS = st.sampled_from((*THOUGHTS.values(), *CALLS.values(), *ORDINARY, *REGIONS, JSON_CALL)) | st.text(
    max_size=8
)


def test_text_after_a_header_that_never_ends_is_read_as_usual() -> None:
    said = "Welcome to the hotel. " * 12
    for end in ("", "<|message|>Hello."):
        text = f"<|start|>{said}<think>Hm.</think>Your table is booked.{end}"
        whole = read([text])
        assert whole[0].startswith(f"{said}Your table is booked.")
        assert whole[2] == "Hm."
        assert read(list(text)) == whole


def test_a_name_right_behind_a_fence_is_a_call_however_the_reply_is_cut() -> None:
    text = '```weather {city: "Rome"}```'
    for at in range(len(text)):
        assert read([text[:at], text[at:]]) == ("", ROME, ""), at


def test_words_between_two_calls_of_glm_without_their_marks_are_said() -> None:
    call = CALLS["GLM, no mark"]
    assert read([f"{call}<think>Hm.</think>Once more.\n{call}"]) == ("Once more.\n", ROME * 2, "Hm.")


@given(st.lists(PARTS, max_size=4), st.data(), st.booleans(), st.booleans())
def test_however_a_reply_is_cut_the_same_words_and_calls_come_out(
    parts: list[str], data: st.DataObject, wanted: bool, doubtful: bool
) -> None:
    text = "".join(parts)

    def outcome(pieces: list[str]) -> Read | None:
        try:
            return read(pieces, wanted=wanted, doubtful=doubtful)
        except MalformedToolCall:
            return None

    whole = outcome([text])
    assert outcome(cut(text, data)) == whole
    assert outcome(list(text)) == whole


@given(st.text(st.characters(exclude_characters="<[]{`◁", exclude_categories=("Cs",))), st.data())
def test_plain_text_passes_at_once(text: str, data: st.DataObject) -> None:
    control = ControlText(())
    for piece in cut(text, data):
        assert "".join(part.words for part in control.push(piece)) == piece


VALUES = st.text(max_size=8) | st.integers() | st.sampled_from(("</tool_call>", '"}{', "<think>", "}}"))
ARGUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)


@given(st.lists(st.tuples(st.sampled_from(NAMES), ARGUMENTS), min_size=1, max_size=3), st.data())
@pytest.mark.parametrize(
    "form", ["<tool_call>{}</tool_call>", "[TOOL_CALLS]{}", "<|python_tag|>{}", "{}", "```json\n{}\n```"]
)
def test_calls_with_any_arguments_are_found(
    form: str, calls: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    bodies = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    text = "\n".join(form.replace("{}", body) for body in bodies)
    assert read(cut(text, data))[:2] == ("", calls)


def test_a_thought_whose_end_alone_is_marked_is_no_word_while_that_is_in_doubt() -> None:
    reply = "The caller wants a table.\n</think>\n\nYour table is booked."
    assert read(list(reply), doubtful=True) == ("Your table is booked.", [], "The caller wants a table.\n")


def test_words_in_doubt_are_said_when_the_reply_ends() -> None:
    assert read(["It is ", "open."], doubtful=True) == ("It is open.", [], "")


def test_a_reply_that_begins_in_a_thought_has_its_words_behind_it() -> None:
    assert read(["Hm.", "</think>Hello."], in_thought=True) == ("Hello.", [], "Hm.")


def test_a_call_is_out_as_soon_as_its_json_is() -> None:
    control = ControlText(NAMES)
    assert control.push('<tool_call>{"name": "book"') == []
    assert [call.name for part in control.push("}") for call in part.calls] == ["book"]


def test_words_and_calls_keep_their_order_in_one_piece() -> None:
    parts = ControlText(NAMES).push(f"Let me look.<tool_call>{JSON_CALL}</tool_call> Done.")
    assert [bool(part.calls) for part in parts] == [False, True, False]


def test_only_what_may_begin_a_mark_is_held_back() -> None:
    control = ControlText(NAMES)
    said = [
        "".join(part.words for part in control.push(piece)) for piece in ("two < three", " <tool", "box>")
    ]
    assert said == ["two < three", " ", "<toolbox>"]


@pytest.mark.parametrize(
    "call",
    [
        f"<tool_call>{JSON_CALL}</tool_call>",
        "<tool_call>[]B4",
        JSON_CALL,
        f"```json\n{JSON_CALL}\n```",
        "<tool_call>weather?</tool_call>",
    ],
)
def test_calls_that_are_not_wanted_are_never_said(call: str) -> None:
    assert read([f"Good.{call}"], wanted=False) == ("Good.", [], "")
    assert read(list(call), wanted=False)[0].strip() == ""


UNREADABLE = (
    '{"name": "weather" "arguments": {"city": "Rome"}}',
    '{"name": "weather", "arguments": {"city": "the "old" Rome"}}',
    '{"name": "weather", "arguments": {"city": "Rome"}, "answer": "Sunny."}',
    '{"name": "weather", "result": "Sunny."}',
    '{"arguments": {"city": "Rome}, "name": "weather"}',
    'weather("Rome")',
    "weather {city: Rome: Italy}",
    "<weather>{Rome}</weather>",
    '{"function": "functions.weather", "arguments": {"city": 5}]}',
)
"""Calls of a known tool, without a mark, whose JSON is wrong."""
ENDLESS = (JSON_CALL[:-1], JSON_CALL[:-2], f"[{JSON_CALL}", f"```json\n{JSON_CALL[:-1]}")
"""Calls of a known tool, without a mark, whose last brackets are missing."""
ENDS = ("", "<|im_end|>", "\n<|im_end|>")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("call", (*UNREADABLE, *ENDLESS))
def test_a_damaged_call_of_a_known_tool_is_never_said(call: str, end: str) -> None:
    assert read([f"Good. {call}{end}"], wanted=False)[:2] == ("Good. ", [])
    assert read(list(call + end), wanted=False)[:2] == ("", []), "in pieces of one character"


@pytest.mark.parametrize("call", UNREADABLE)
def test_a_call_without_a_mark_that_cannot_be_read_is_refused(call: str) -> None:
    with pytest.raises(MalformedToolCall):
        read([f"Good. {call}<|im_end|>"])


@pytest.mark.parametrize("end", ["", "<|im_end|>"])
@pytest.mark.parametrize("call", ENDLESS)
def test_a_call_without_its_last_brackets_is_a_call(call: str, end: str) -> None:
    assert read([f"Good. {call}{end}"])[:2] == ("Good. ", ROME)


def test_without_tools_json_is_words() -> None:
    control = ControlText((), wanted=False)
    parts = control.push(JSON_CALL) + control.finish()
    assert "".join(part.words for part in parts) == JSON_CALL


@pytest.mark.parametrize("begins", ['{"name": "weather", "arguments": {"ci', '```json\n{"name": "book"'])
def test_an_unmarked_call_that_the_token_limit_cut_is_never_said(begins: str) -> None:
    control = ControlText(NAMES)
    parts = control.push(f"Good.{begins}") + control.finish(cut=True)
    assert "".join(part.words for part in parts) == "Good."


@pytest.mark.parametrize("content", ["nonsense", '{"arguments": {}}', "[1]", '{"name": 7}', "{ nonsense"])
def test_what_is_no_call_between_its_marks_is_refused(content: str) -> None:
    with pytest.raises(MalformedToolCall):
        read([f"<tool_call>{content}</tool_call>"])


def test_a_call_that_the_token_limit_cut_is_forgiven() -> None:
    control = ControlText(NAMES)
    control.push('<tool_call>{"name": "f", "arguments": {"a')
    assert control.finish(cut=True) == []


def test_arguments_that_are_json_text_stay_as_they_are() -> None:
    (part,) = ControlText(NAMES).push('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>')
    assert part.calls[0].arguments == '{"a": 1}'


def test_ids_are_never_the_same_twice() -> None:
    calls: list[ToolCall] = []
    for _ in range(3):
        calls += ControlText(NAMES).push(f"<tool_call>{JSON_CALL}</tool_call>")[0].calls
    assert len({call.call_id for call in calls}) == 3


def test_no_mark_is_the_beginning_of_another() -> None:
    assert [mark for mark in REGIONS if MARK.fullmatch(mark) is None] == []


@pytest.mark.parametrize("text", ["book {'Emma'}", "book {'of': {'Emma'}}", "book {'a': b'c'}"])
def test_values_that_only_python_has_are_an_unreadable_call(text: str) -> None:
    with pytest.raises(MalformedToolCall):
        ControlText(NAMES).push(f"The {text} ")
    assert read([f"The {text} is here."], wanted=False)[:2] == ("The is here.", [])
