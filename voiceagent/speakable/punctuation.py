"""Punctuation of the world's scripts, as far as it tells where to cut and what to keep."""
# ruff: noqa: RUF001  the look-alikes of ASCII are what this file is about

from __future__ import annotations

TERMINATORS = ".!?…؟۔।॥։።"
"""End a sentence when white space follows."""
UNSPACED_TERMINATORS = "。！？｡"
"""End a sentence in scripts that put no space after it."""
CLAUSE_ENDS = ",;"
"""End a clause when a letter stands before them."""
UNSPACED_CLAUSE_ENDS = "，、；：—"
"""End a clause wherever they stand."""
DASHES = ("-", "–", "--")
"""End a clause when white space stands on both sides."""
CLOSERS = "\"'”’»)]}*_`~」』）"
"""May stand between a sentence's end and the white space after it."""
OPENERS = "\"'“‘«([{*_`~「『（"
"""May stand before a word."""
KEPT = ".,!?;:…؟۔।॥։።،؛。！？｡，、；：·"
"""What a synthesizer hears as a pause or a tune."""
KEPT_OPENERS = "¿¡"
"""The same, before a word."""
PAUSES = "—–-"
"""Spoken as a comma when they stand between words."""
PARTS_WORDS = "_([{</\\"
"""Not spoken, but the letters on both sides are words of their own."""
