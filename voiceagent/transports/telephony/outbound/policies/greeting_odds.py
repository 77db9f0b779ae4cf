"""Odds that a greeting is a machine's, by all of its words and by its length.

A logistic regression: the log-odds are `BIAS` plus the weights of the features that the greeting has.
`tests/bench/greeting_odds.py` has learned the weights from English greetings, and prints them anew.
"""

from __future__ import annotations

import re

BIAS = -3.5
_TABLE = """
-1.75 ends?
-1.25 hello
-1.0 good speaking
-0.75 i've she's
-0.5 afternoon ahead already at back car go how i'm is let office okay take thank thanks wait was you
-0.25 about account anything been can come delivery dental desk direct do evening florist front get give
-0.25 going green hear her here hold hotel i in just law leaf may me meeting moment morning off oh on out
-0.25 outside school second stop support there think today want with wrong yes you're
0.25 after an as assistant automated available beep being called cannot card changed choose connect
0.25 connected continue customer dial dialed digit doctor extension few from got has i'll it's later len3
0.25 like line machine mailbox menu message metro missed mister not of our person phone pick reason
0.25 screening service short so speak stay that these through training try two up virtual voice what who
0.25 who's will wireless words would
0.5 again answer calling calls check english enter for hey len7 minutes put reached sentences3 text the
0.5 time voicemail waiting you've
0.75 and answering are be before len16 one options or please recorded say star tell your
1.0 know leave len11 len13
1.25 len5 len9 press
2.0 sentences2
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
_SENTENCE_END = re.compile(r"[.?!](?: |$)")


def features(words: str) -> tuple[set[str], set[str]]:
    """Return the words of a greeting, and its features of form."""
    text = words.lower().replace("\u2019", "'").strip()
    found = _WORD.findall(text)
    sentences = len(_SENTENCE_END.findall(text))
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
