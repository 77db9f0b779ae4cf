"""The agent of `configs/chat.toml`: talks about anything, and has a clock, a calculator, timers and notes."""

from __future__ import annotations

import ast
import asyncio
import operator
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal, DecimalException, localcontext
from typing import Annotated

from pydantic import Field

from voiceagent.agents import Agent, ToolFailed, tool
from voiceagent.demo.world import spoken_number

_MAX_CHARACTERS = 200
_MAX_EXPONENT = 64
_DIGITS = 28
_SHOWN_DIGITS = 12
_ALLOWED = "allowed: numbers, + - * / ** % and brackets"

_OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_WRITTEN_SIGNS = {"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**", "=": "", "$": "", "€": ""}
_PERCENT_OF = re.compile(r"%\s*of\b", re.IGNORECASE)
_PERCENT = re.compile(r"(\d)\s*%(?!\s*[\d(])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_TIMES = re.compile(r"(?<=[\d)])\s*x\s*(?=[\d(])", re.IGNORECASE)
MAX_NOTES = 50
_MAX_S = 24 * 3600
_Count = Annotated[float, Field(ge=0, le=_MAX_S)]
_SIGNS = {"**": "to the power of", "*": "times", "/": "divided by", "+": "plus", "-": "minus", "%": "modulo"}
_SIGN = re.compile(r"\s*(\*\*|[-+*/%])\s*")
_REQUEST = re.compile(
    r"(\w+, )?((please|also|and) )*((take|make) a note|(write|note) down|note)( that| of)?[,:]? +(?=\w)",
    re.IGNORECASE,
)
"""Words that ask for a note, which a small model copies into it: "Please note down that the bag is blue"."""
_SPEAKABLE = re.compile(r"[\d.,]+(\s*(\*\*|[-+*/%])\s*[\d.,]+)+")
"""Numbers and signs between them, without brackets."""
_INSTRUCTIONS = "You are a friendly voice assistant. Answer the caller in one or two short spoken sentences."


class NotArithmetic(ValueError):
    """The text is no calculation that can be worked out; the message says why."""


def evaluate(expression: str) -> str:
    """Return the result in digits, without trailing zeros. Raises NotArithmetic."""
    if len(expression) > _MAX_CHARACTERS:
        raise NotArithmetic(f"the calculation is longer than {_MAX_CHARACTERS} characters")
    try:
        tree = ast.parse(_normalized(expression), mode="eval")
        with localcontext() as context:
            context.prec = _DIGITS
            result = _value(tree.body)
            shown = round(result, _SHOWN_DIGITS) if abs(result) < 10**_SHOWN_DIGITS else result
            return f"{shown.normalize():f}"
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, NotArithmetic):
            raise
        raise NotArithmetic(
            f"{expression!r} is no calculation; allowed: numbers, + - * / ** % and brackets"
        ) from None
    except DecimalException as error:
        reason = "a division by zero" if "Zero" in type(error).__name__ else "its result is out of range"
        raise NotArithmetic(f"{expression!r} cannot be worked out: {reason}") from None


def _normalized(expression: str) -> str:
    text = _TIMES.sub("*", _THOUSANDS.sub("", expression))
    text = _PERCENT.sub(r"\1/100", _PERCENT_OF.sub("/100*", text))
    for written, sign in _WRITTEN_SIGNS.items():
        text = text.replace(written, sign)
    return text.strip()


def _value(node: ast.expr) -> Decimal:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Decimal(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            exponent = _value(right)
            if abs(exponent) > _MAX_EXPONENT:
                raise NotArithmetic(f"an exponent of {exponent} is too large; allowed: up to {_MAX_EXPONENT}")
            return _value(left) ** exponent
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left), _value(right))
    raise NotArithmetic(f"{ast.unparse(node)!r} is no number; {_ALLOWED}")


class Assistant(Agent):
    """General conversation. notes: what this caller had written down, for the call.

    Results of tools are spoken as they are: that is faster than another response of the model, and a small
    model leaves out or changes what it should report.
    """

    instructions = _INSTRUCTIONS
    greeting = "Hello! Ask me anything, or let me set a timer or take a note."

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._timers: set[asyncio.Task[None]] = set()

    @tool(speaks_result=True)
    async def current_time(self) -> str:
        """Tell the current time, the day and the date."""
        now = datetime.now().astimezone()
        time = f"{now:%I:%M %p}".removeprefix("0")
        return f"It is {time} on {now:%A}, {now:%B} {now.day}, {now.year}."

    @tool(speaks_result=True)
    async def calculate(self, expression: str) -> str:
        """Work out a calculation. expression: with digits and signs, such as 17 * 23."""
        try:
            result = evaluate(expression)
        except NotArithmetic as error:
            raise ToolFailed(str(error)) from error
        return f"{_spoken_expression(expression)} is {result}."

    @tool(speaks_result=True)
    async def set_timer(self, hours: _Count = 0, minutes: _Count = 0, seconds: _Count = 0) -> str:
        """Set a timer, for example of 5 minutes."""
        length_s = round(hours * 3600 + minutes * 60 + seconds)
        if not 0 < length_s <= _MAX_S:
            raise ToolFailed(f"a timer of {length_s} seconds is not possible; allowed: up to 24 hours")
        task = asyncio.create_task(self._ring(length_s))
        self._timers.add(task)
        task.add_done_callback(self._timers.discard)
        return f"I set a timer for {_spoken_length(length_s)}."

    @tool(speaks_result=True)
    async def take_note(self, text: Annotated[str, Field(min_length=1, max_length=500)]) -> str:
        """Write something down for the caller. text: what to write."""
        if len(self.notes) >= MAX_NOTES:
            raise ToolFailed(f"there are {MAX_NOTES} notes already, and no room for more")
        asked = _REQUEST.match(text)
        note = text if asked is None else text[asked.end()].upper() + text[asked.end() + 1 :]
        self.notes.append(note)
        return f"I wrote down: {_sentence(note)}"

    @tool(speaks_result=True)
    async def get_notes(self) -> str:
        """Return what was written down in this call."""
        if not self.notes:
            return "You have no notes yet."
        count = "one note" if len(self.notes) == 1 else f"{spoken_number(len(self.notes))} notes"
        return f"You have {count}: {' '.join(map(_sentence, self.notes))}"

    async def on_call_ended(self, transcript: object) -> None:
        """Cancel the timers of a caller who has hung up."""
        for task in tuple(self._timers):
            task.cancel()

    async def _ring(self, length_s: int) -> None:
        await asyncio.sleep(length_s)
        self.call.say(f"Your timer of {_spoken_length(length_s)} is up.")


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _spoken_expression(expression: str) -> str:
    """Return a calculation in words, so that the caller notices numbers that were misheard."""
    if not _SPEAKABLE.fullmatch(expression.strip()):
        return "The result"
    return _SIGN.sub(lambda sign: f" {_SIGNS[sign[1]]} ", expression.strip())


def _spoken_length(length_s: int) -> str:
    """Return a duration in words, such as "one hour and five minutes"."""
    minutes, seconds = divmod(length_s, 60)
    hours, minutes = divmod(minutes, 60)
    counts = ((hours, "hour"), (minutes, "minute"), (seconds, "second"))
    parts = [f"{spoken_number(count)} {unit}{'' if count == 1 else 's'}" for count, unit in counts if count]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
