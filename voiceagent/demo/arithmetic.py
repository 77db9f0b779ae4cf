"""Arithmetic as a model writes it: numbers, signs and brackets, and nothing that could run long. Pure."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from decimal import Decimal, DecimalException, localcontext

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
