"""Punctuation of the world's scripts, as it affects segmentation and pronunciation."""

from __future__ import annotations

TERMINATORS = ".!?…؟۔।॥։።"
"""Sentence ends if white space follows."""
UNSPACED_TERMINATORS = "。！？｡"
"""Sentence ends in scripts without spaces."""
CLAUSE_ENDS = ",;"
"""Clause ends after a letter."""
UNSPACED_CLAUSE_ENDS = "，、；：—"
"""Clause ends in any position."""
DASHES = ("-", "–", "--")
"""Clause ends with white space on both sides."""
CLOSERS = "\"'”’»)]}*_`~」』）"
"""Characters allowed between a sentence's end and the white space after it."""
KEPT = ".,!?;:…؟۔।॥։።،؛。！？｡，、；：·"
"""Marks that a synthesizer speaks as a pause or an intonation."""
KEPT_OPENERS = "¿¡"
"""The same, before a word."""
PAUSES = "—–-"
"""Marks spoken as a comma between words."""
WORD_SEPARATORS = "_([{</\\"
"""Silent marks that separate words."""
