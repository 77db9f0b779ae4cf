"""Methods as tools: schemas from signatures, and arguments checked against them."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import Field, StringConstraints

from voiceagent.agents import Agent, tool
from voiceagent.agents.tools import WrongArguments, WrongTool


class Shop(Agent):
    @tool(timeout_s=3, cancellable=True, filler="One moment.")
    async def order(
        self, size: Literal["small", "large"], number: Annotated[int, Field(ge=1, description="how many")] = 1
    ) -> str:
        """Order pizzas."""
        return f"{number} {size}"

    @tool(name="opening_hours")
    async def hours(self) -> str:
        """Opening hours of the shop."""
        return "always"


def test_docstring_and_hints_make_the_schema() -> None:
    spec = Shop.tools[0].spec
    assert (spec.name, spec.tool.description) == ("order", "Order pizzas.")
    assert spec.tool.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["size"],
        "properties": {
            "size": {"type": "string", "enum": ["small", "large"]},
            "number": {"type": "integer", "minimum": 1, "default": 1, "description": "how many"},
        },
    }


def test_what_the_decorator_is_given_goes_with_the_tool() -> None:
    spec = Shop.tools[0].spec
    assert (spec.timeout_s, spec.cancellable, spec.filler, spec.when_played) == (
        3,
        True,
        "One moment.",
        False,
    )


def test_a_tool_may_have_a_name_of_its_own() -> None:
    assert Shop.tools[1].spec.name == "opening_hours"
    assert Shop.tools[1].check("") == {}


def test_right_arguments_come_as_their_types() -> None:
    assert Shop.tools[0].check('{"size": "large", "number": "2"}') == {"size": "large", "number": 2}


def test_no_text_comes_with_spaces_around_it_unless_its_hint_wants_them() -> None:
    class Poet(Agent):
        @tool
        async def note(
            self,
            line: str,
            names: list[str],
            verse: Annotated[str, StringConstraints(strip_whitespace=False)] = "",
        ) -> None:
            """Note something."""

    given = Poet.tools[0].check('{"line": " seven", "names": [" a b "], "verse": " c"}')
    assert given == {"line": "seven", "names": ["a b"], "verse": " c"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{", "Invalid JSON"),
        ("{}", "size: Field required"),
        ('{"size": "huge"}', "size: Input should be 'small' or 'large' (given: 'huge')"),
        ('{"size": "small", "number": 0}', "number: Input should be greater than or equal to 1 (given: 0)"),
        ('{"size": "small", "price": 3}', "price: Extra inputs are not permitted (given: 3)"),
    ],
)
def test_wrong_arguments_are_told_in_words(arguments: str, told: str) -> None:
    with pytest.raises(WrongArguments) as caught:
        Shop.tools[0].check(arguments)
    assert str(caught.value).startswith("not done: wrong arguments for order: ")
    assert told in str(caught.value)
    assert str(caught.value).endswith("arguments: size, number")


@pytest.mark.parametrize(
    ("hint", "written", "example"),
    [
        (dt.date, "May 3rd", "2026-05-03"),
        (dt.time, "half past nine", "09:30"),
        (dt.datetime, "tomorrow at 9", "2026-05-03T09:30"),
        (dt.timedelta, "5 minutes", "PT5M"),
    ],
)
def test_a_wrong_time_is_answered_with_the_form_that_is_allowed(
    hint: type, written: str, example: str
) -> None:
    class Diary(Agent):
        @tool
        async def note(self, when) -> None:  # type: ignore[no-untyped-def]  # the hint is a parameter here
            """Note something."""

        note.__annotations__["when"] = hint

    with pytest.raises(WrongArguments, match=rf"when: .*, such as {example} \(given: '{written}'\)"):
        Diary.tools[0].check(json.dumps({"when": written}))


class Kitchen(Agent):
    @tool
    async def book(
        self,
        people: int,
        when: dt.time = dt.time(12),
        room: Literal["deluxe_suite", "garden room"] = "garden room",
        dishes: list[str] | None = None,
        prices: Annotated[list[float], Field(max_length=3)] = [],  # noqa: B006 - never changed
        code: str = "",
    ) -> None:
        """Book a table."""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"people": "two"}, {"people": 2}),
        ({"people": "Vier"}, {"people": 4}),
        ({"people": "1,200"}, {"people": 1200}),
        ({"people": "2 people"}, {"people": 2}),
        ({"people": "two people"}, {"people": 2}),
        ({"people": "2 or 3 people"}, None),
        ({"people": "2 million"}, None),
        ({"people": 2, "when": "9:30"}, {"when": dt.time(9, 30)}),
        ({"people": 2, "when": "7 p.m."}, {"when": dt.time(19)}),
        ({"people": 2, "when": "12:15 am"}, {"when": dt.time(0, 15)}),
        ({"people": 2, "room": "Deluxe Suite"}, {"room": "deluxe_suite"}),
        ({"people": 2, "prices": "five"}, None),
        ({"people": 2, "prices": 5.5}, {"prices": [5.5]}),
        ({"people": 2, "prices": [5, "six"]}, {"prices": [5, 6]}),
        ({"people": 2, "code": 4821}, {"code": "4821"}),
        ({"people": "three", "when": None, "room": "GARDEN-ROOM"}, {"people": 3, "room": "garden room"}),
        ({"arguments": {"people": 2}}, {"people": 2}),
        ({"people": "two or three"}, None),
        ({"people": "30 minutes"}, None),
        ({"people": 2, "when": "9"}, None),
        ({"people": 2, "when": "13 pm"}, None),
        ({"people": 2, "room": "suite"}, None),
        ({"people": None}, None),
        ({"arguments": {}}, None),
    ],
)
def test_an_argument_in_another_form_is_read_where_its_meaning_is_certain(
    written: dict[str, object], meant: dict[str, object] | None
) -> None:
    if meant is None:
        with pytest.raises(WrongArguments):
            Kitchen.tools[0].check(json.dumps(written))
    else:
        given = Kitchen.tools[0].check(json.dumps(written))
        assert {name: given[name] for name in meant} == meant


def test_the_model_is_told_only_of_the_arguments_whose_meaning_is_not_certain() -> None:
    written = {"people": "a few", "when": "7 p.m.", "room": "Deluxe Suite"}
    with pytest.raises(WrongArguments) as caught:
        Kitchen.tools[0].check(json.dumps(written))
    assert "people: Input should be" in str(caught.value)
    assert "7 p.m." not in str(caught.value)
    assert "Deluxe Suite" not in str(caught.value)


def test_an_agent_has_the_tools_of_the_class_that_it_derives_from() -> None:
    class Branch(Shop):
        @tool
        async def hours(self) -> str:
            """Opening hours of the branch."""
            return "never"

    assert [one.spec.name for one in Branch.tools] == ["order", "hours"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"timeout_s": "3"}, "timeout_s is '3'; allowed: seconds, more than 0"),
        ({"timeout_s": 0}, "timeout_s is 0; allowed"),
        ({"filler": True}, "filler is True; allowed: a text"),
        ({"name": 7}, "name is 7; allowed: a text"),
        ({"cancellable": "no"}, "cancellable is 'no'; allowed: True or False"),
        ({"speaks_result": 1}, "speaks_result is 1; allowed: True, False or a function of the result"),
    ],
)
def test_an_option_of_another_type_is_refused_where_the_tool_is_written(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(WrongTool, match=told):
        tool(**options)


def test_a_tool_without_a_docstring_is_refused() -> None:
    with pytest.raises(WrongTool, match=r"Mute\.order: a tool needs a docstring"):

        class Mute(Agent):
            @tool
            async def order(self) -> str:
                return ""


def test_an_argument_without_a_type_is_refused() -> None:
    with pytest.raises(WrongTool, match="argument size has no type hint"):

        class Untyped(Agent):
            @tool
            async def order(self, size) -> str:  # type: ignore[no-untyped-def]
                """Order."""
                return ""


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(WrongTool, match="two tools have the name 'order'"):

        class Twice(Agent):
            @tool
            async def order(self) -> str:
                """Order."""
                return ""

            @tool(name="order")
            async def again(self) -> str:
                """Order again."""
                return ""


def test_an_argument_may_have_any_name_and_a_default_as_pydantic_writes_it() -> None:
    class Names(Agent):
        @tool
        async def find(
            self, json: str, _x: int, model_config: str = "", number: int = Field(2, ge=1)
        ) -> None:
            """Find."""

    given = Names.tools[0].check('{"json": "a", "_x": 1}')
    assert given == {"json": "a", "_x": 1, "model_config": "", "number": 2}


def test_a_list_that_is_the_default_is_a_new_one_in_each_call() -> None:
    class Lists(Agent):
        @tool
        async def add(self, extra: list[str] = []) -> None:  # noqa: B006
            """Add."""

    first, second = Lists.tools[0].check("{}"), Lists.tools[0].check("{}")
    assert first["extra"] is not second["extra"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: tool("order"), r"@tool was given 'order'; allowed: a method with self"),  # type: ignore[type-var]
        (lambda: tool(staticmethod(len)), r"@tool was given <staticmethod"),
        (lambda: type("A", (Agent,), {"t": staticmethod(tool(_free))}), r"A\.t: a staticmethod; allowed"),
        (lambda: type("A", (Agent,), {"t": tool(_yields)}), r"A\.t: it yields; allowed: one result"),
        (lambda: type("A", (Agent,), {"t": tool(name="two words")(_free)}), r"A\.t: the name 'two words'"),
    ],
)
def test_what_is_no_method_with_one_result_and_a_name_for_models_is_refused(
    wrong: Callable[[], object], told: str
) -> None:
    with pytest.raises(WrongTool, match=told):
        wrong()


class Guest(TypedDict):
    name: str


@pytest.mark.parametrize(
    ("takes", "default", "told"),
    [
        (Guest, None, r"A\.t: .*typing_extensions.TypedDict"),
        (Callable[[int], int], None, r"A\.t: no JSON schema can be made of its arguments"),
        (float, float("inf"), r"A\.t: no JSON schema .*not JSON compliant"),
    ],
)
def test_an_argument_that_no_server_could_be_told_of_is_refused_in_one_line(
    takes: Any, default: object, told: str
) -> None:
    async def book(self: Agent, value: object = default) -> None:
        """Book a table."""

    book.__annotations__["value"] = takes
    if sys.version_info >= (3, 12) and "TypedDict" in told:
        pytest.skip("pydantic takes typing's own from Python 3.12 on")
    with pytest.raises(WrongTool, match=told) as refused:
        type("A", (Agent,), {"t": tool(book)})
    assert "\n" not in str(refused.value)


async def _free(x: int) -> int:
    """Has no self."""
    return x


async def _yields(self: Agent) -> AsyncIterator[str]:
    """Yield progress."""
    yield "half of it"


class Table(Agent):
    """Has arguments that may be left out."""

    @tool
    async def book(self, guests: int, hour: float = 19.5, notes: list[str] | None = None) -> None:
        """Book a table."""


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"guests": 2, "hour": null}', {"guests": 2, "hour": 19.5, "notes": None}),
        ('{"guests": 2, "hour": null, "notes": null}', {"guests": 2, "hour": 19.5, "notes": None}),
        ('{"guests": 2, "hour": 20, "notes": ["x"]}', {"guests": 2, "hour": 20.0, "notes": ["x"]}),
    ],
)
def test_null_leaves_an_optional_argument_out(written: str, expected: dict[str, object]) -> None:
    assert Table.tools[0].check(written) == expected


@pytest.mark.parametrize(
    "written",
    ['{"guests": null}', '{"guests": null, "hour": null}', '{"guests": 2, "hour": [null]}', "[null]", "null"],
)
def test_null_is_no_value_of_a_required_argument_nor_within_one(written: str) -> None:
    with pytest.raises(WrongArguments):
        Table.tools[0].check(written)
