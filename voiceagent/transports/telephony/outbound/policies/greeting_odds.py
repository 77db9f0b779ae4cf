"""Odds that a greeting is a machine's, by all of its words and by its length.

A logistic regression: the log-odds are `BIAS` plus the weights of the features that the greeting has.
`tests/bench/greeting_odds.py` has learned the weights from English greetings, and prints them anew.
"""

from __future__ import annotations

import re

BIAS = -4.0
_TABLE = """
-1.75 ends?
-1.0 good
-0.5 afternoon already back can go going hello here how is second she's speaking thank was yes
-0.25 about ahead am appointment at car delivery desk direct do down driving evening find get give green he
-0.25 he's help her hold hotel i i'm i've in just law left let make may meeting minute moment morning now off
-0.25 office okay on order outside place right support take thanks think ticket tuesday wait want work wrong
-0.25 you
0.25 after again an as assistant available be beep being call called calling calls can't cannot card changed
0.25 check closed connect dial doctor extension few for from got i'll if key later len3 line longer lost
0.25 machine mailbox menu minutes monday monitored no one operator our parts person put reach read reason
0.25 short so sorensen sorry stay the these three through time to tone touch training try two virtual voice
0.25 waiting welcome what's who who's whom will words
0.5 and answer answering bye continue enter has hey message not options or sentences3 service speak star tell
0.5 text voicemail you've
0.75 are before english it's know len16 len7 reached recorded say your
1.0 len13 please
1.25 len11 len5 len9 press
1.5 leave sentences2
"""
"""A weight in each line, and the features that have it. In lower case, words; `len3`: three words or more;
`sentences2`: two sentences or more; `ends?`: the last sentence is a question.
"""
_LENGTHS = (3, 5, 7, 9, 11, 13, 16)
_SENTENCES = (2, 3)
MIN_KNOWN = 0.25
"""Share of a greeting's words that have a weight, below which it is of another language: of English machines
without a known phrase the least is 0.33, of ten greetings in German, Spanish, French and Italian the most is
0.15.
"""
_WORD = re.compile(r"[a-z']+|\d")
_SENTENCE_END = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)[.?!](?= [^a-z]|$)")
"""End of a sentence. A small letter behind a stop is that of a turn that went on: "this is Ann. she left"."""


def features(words: str) -> tuple[set[str], set[str]]:
    """Return the words of a greeting, and its features of form."""
    sentences = len(_SENTENCE_END.findall(words.strip()))
    text = words.lower().replace("\u2019", "'").strip()
    found = _WORD.findall(text)
    form = {f"len{count}" for count in _LENGTHS if len(found) >= count}
    form |= {f"sentences{count}" for count in _SENTENCES if sentences >= count}
    return set(found), form | ({"ends?"} if text.endswith("?") else set())


def is_machine(words: str) -> bool:
    """Return True if these words are more likely a machine's than a person's; False in other languages."""
    said, form = features(words)
    known = said & WEIGHTS.keys()
    if not said or len(known) < MIN_KNOWN * len(said):
        return False
    return BIAS + sum(WEIGHTS[one] for one in known | (form & WEIGHTS.keys())) > 0


def _weights(table: str) -> dict[str, float]:
    lines = (line.split() for line in table.strip().splitlines())
    return {feature: float(weight) for weight, *group in lines for feature in group}


WEIGHTS = _weights(_TABLE)
