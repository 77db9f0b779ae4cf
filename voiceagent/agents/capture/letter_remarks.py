"""Remarks on a letter of a word: "Katherine with a K", "Stephen with a P H", "Philip with one L", "with a
hyphen". They tell how a name is spelled, and correct one.
"""

from __future__ import annotations

import re

_LETTER = r"(?P<letters>(?:ph|ch|ck|th|sh|ie|ey|ei)\b|[a-z](?:[\s.-]{1,3}[a-z]\b)?)(?:['’]?s)?\b\.?"
_WITH = re.compile(
    r"\bwith(?P<without>out)?[\s,]+"
    r"(?P<count>an?|one|just one|only one|a single|two|2|1|a double|double)[\s-]+"
    rf"(?!space\b){_LETTER}"
    r"(?!\s+(?:for|as in|like)\b)"
    r"(?:\s+(?:at|in) the (?:end|beginning|start|middle|front)\b)?",
    re.I,
)
_ROW = re.compile(r"(?:(?P<letter>[a-z])\W+(?=(?P=letter)\b))?(?P<row>[a-z](?:[ ,-]+[a-z]\b){2})", re.I)
"""Letters that spell the word, after the remark, which may have the first of them: "with a C. C A T H E"."""
_MISHEARD_E = re.compile(r"(?<=\bwith )(?:a|an|the) knee\b", re.I)
"""Text that recognizers write for "an E"."""
_TWO = re.compile(
    r"(?<=\bwith )(?P<count>two|2|a double|double) "
    r"(?P<name>bees|dees|effs|else|ells|elves|ems|ens|ends|oh'?s|owes|peas|pees|ares|esses|tees|teas|zees)\b",
    re.I,
)
_NAMED = {
    "else": "l",
    "elves": "l",
    "ells": "l",
    "effs": "f",
    "ems": "m",
    "ens": "n",
    "ends": "n",
    "ares": "r",
}
"""Two letters by their names, as recognizers write them, and the letters whose names begin otherwise."""
_DOUBLE = re.compile(r"\b(?!with\b)([^\W\d_]{3,}(?:['’]s)?)[,.]? double ([a-z])\W*$", re.I)
"""A letter that is doubled, said behind a name: "Matthews, double T"."""
_DOUBLES = re.compile(
    r"\b(?!with\b)([^\W\d_]{3,})((?:[,.]?(?:\s+and)?\s+(?:double\s+[a-z]|two\s+[a-z]['’]?s)\b)+)\W*$", re.I
)
"""Letters that are doubled, said behind a name: "Elliott, two L's, two T's"."""
_ONE_MORE = re.compile(r"[,.]\s*(?:only |just )?one (?:(?P<letter>[a-z])|el|ell|elle|ill)[.!]?\s*$", re.I)
"""A letter that comes once, said behind a name: "Philip Grant, one L", which recognizers write as "ill"."""
_COUNT = re.compile(
    rf"\b(?:(?P<one>only one|just one|only 1|just 1|one|1|a single|single)|(?P<two>two|2))[\s-]+{_LETTER}$",
    re.I,
)
_SIGN = re.compile(
    r"\b(?P<how>with|without|no)\s+(?:(?:an?|the)\s+)?(?P<sign>hyphen|dash|apostrophe|space)\b"
    r"|\b(?P<hyphenated>hyphenated|double[ -]barrell?ed)\b",
    re.I,
)
_ALIKE_FIRST = ({"c", "k"}, {"g", "j"}, {"s", "c"}, {"i", "y"}, {"f", "p"})
"""Letters with which names begin that sound the same."""
_ENDINGS = {
    "y": ("ie?|ey", "y"),
    "k": ("c|ck", "k"),
    "h": ("", "h"),
    "z": ("s", "z"),
    "s": ("", "s"),
}
"""For a letter that a name has at its end: the ending that sounds the same, and the one with it."""
_INSIDE = {"ph": "f|v|ff", "i": "y", "y": "i", "c": "k", "k": "c", "z": "s", "s": "z", "a": "e|o", "o": "a"}
"""For letters within a name: those that sound the same."""


def with_remarks(text: str, language: str) -> str:
    """Return a transcript with its remarks on letters applied to the word before each: "Clarke" for "Clark
    with an E". Remarks that fit no word are left out.
    """
    if language != "en":
        return text
    text = _DOUBLE.sub(r"\1 with a double \2", _MISHEARD_E.sub("an e", text))
    text = _DOUBLES.sub(_doubled, text)
    if single := _ONE_MORE.search(text):
        letter = (single["letter"] or "l").lower()
        words = text[: single.start()].split(" ")
        text = " ".join(respelled(word.lower(), letter, "one") or word for word in words)
    done, text = "", _TWO.sub(_counted, text)
    while found := _WITH.search(text):
        before = text[: found.start()].rstrip(" ,.")
        word = re.search(r"[^\W\d_]+(?:['’][^\W\d_]+)*$", before)
        letters = re.sub(r"[^a-z]", "", found["letters"].lower())
        if row := _ROW.match(text, found.start("letters")):  # "Catherine with a C. C A T H ..." spells it
            done, text = f"{done}{before} ", text[row.start("row") :]
            continue
        if word is None:
            done += text[: found.end()]
        else:
            count = "no" if found["without"] else found["count"].lower()
            changed = respelled(word[0].lower(), letters, count) or word[0]
            done += _said_once(before[: word.start()], word[0], changed)
        text = text[found.end() :]
    return done + text


def _said_once(before: str, word: str, respelled_word: str) -> str:
    """Return a text with the word after it, which was said for its letters: "Catherine Wells, Catherine with
    a C" and "Alice Webb, Webb with two B's" have it once. In "Hall, Tom Hall with an E" it comes last.
    """
    said = re.search(rf"\b(?:{word}|{respelled_word})\b(?P<pause>\W*)", before, re.I)
    if said is None:
        return before + respelled_word
    rest = before[said.end() :]
    if re.search("[,.]", said["pause"]) or not rest.strip():
        return f"{before[: said.start()]}{rest}{respelled_word}"
    return f"{before[: said.start()]}{respelled_word} {rest}".rstrip(" ,.")


def _doubled(found: re.Match[str]) -> str:
    word = found[1]
    for letter in re.findall(r"(?:double|two)\s+([a-z])", found[2].lower()):
        word = respelled(word.lower(), letter, "double") or word
    return word


def _counted(found: re.Match[str]) -> str:
    name = found["name"].lower()
    letter = "s" if name == "esses" else _NAMED.get(name, name[0])
    return f"{found['count']} {letter}"


def respelled(word: str, letters: str, count: str) -> str | None:
    """Return a word as a remark on its letters says it is spelled, None if the remark fits no letter.

    letters: one or two. count: "no", "a", "one", "two" and the like.
    """
    if count == "no":
        return word if letters not in word else _replaced_once(word, letters, "")
    if count in ("two", "2", "double", "a double"):
        return word if 2 * letters in word else _replaced_once(word, letters, 2 * letters)
    if "one" in count or "single" in count or count == "1":
        return (
            word
            if letters in word and 2 * letters not in word
            else _replaced_once(word, 2 * letters, letters)
        )
    if letters == "e" and word.endswith("son"):
        return f"{word[:-2]}en"  # "Andersen"
    if letters == "e" and word.endswith("cis"):
        return f"{word[:-2]}es"  # "Frances"
    if letters in word:
        return word
    if letters == "h" and word[-1] not in "aeiou":
        return "john" if word == "jon" else _replaced_once(word, "t", "th")  # "Thomas"
    if any({letters, word[0]} == alike for alike in _ALIKE_FIRST):
        return letters + word[1:]
    ending, new = _ENDINGS.get(letters, (None, ""))
    if letters == "e":
        return f"{word}e"
    if inside := _INSIDE.get(letters):
        places = list(re.finditer(rf"(?<!^)(?:{inside})(?!$)", word))
        if len(places) == 1:
            return word[: places[0].start()] + letters + word[places[0].end() :]
    return None if ending is None else re.sub(rf"(?:{ending})$", new, word, count=1)


def correct_count(value: str, text: str) -> str | None:
    """Return a text after "only one L" or "with two L's"; None for other corrections, or if it does not fit
    exactly one place. value: lower case.
    """
    found = _COUNT.search(text.strip(" .!?"))
    if found is None:
        return None
    letter = found["letters"].lower()[0]
    if found["one"]:
        return _replaced_once(value, 2 * letter, letter)
    return _replaced_once(value, letter, 2 * letter)


def correct_remarked(value: str, text: str) -> str | None:
    """Return a name after a remark on its letters or signs: "with a hyphen", "only one L", "with an E"; None
    for other corrections, or if it fits several of its words. value: lower case.
    """
    corrected = correct_sign(value, text) or correct_count(value, text)
    found = _WITH.search(text)
    if corrected is not None or found is None or re.search(r"\w", text[: found.start()]):
        return corrected
    letters = re.sub(r"[^a-z]", "", found["letters"].lower())
    words = value.split(" ")
    count = "no" if found["without"] else found["count"].lower()
    changed = [respelled(word, letters, count) or word for word in words]
    different = [at for at, word in enumerate(words) if changed[at] != word]
    return " ".join(changed) if len(different) == 1 else None


def correct_sign(value: str, text: str) -> str | None:
    """Return a name after "with a hyphen", "no apostrophe" and the like; None for other corrections."""
    found = _SIGN.search(text)
    if found is None:
        return None
    said, how = (found["sign"] or "hyphen").lower(), (found["how"] or "with").lower()
    sign = {"hyphen": "-", "dash": "-", "apostrophe": "'", "space": " "}[said]
    if how != "with":
        return value.replace(sign, " " if sign == "-" else "") if sign in value else None
    if sign == "'":
        return re.sub(r"^([od])\s?(?=\w{2})", r"\1'", value, count=1) if "'" not in value else None
    between = " " if sign == "-" else "-"
    return value.replace(between, sign, 1) if between in value and sign not in value else None


def signs_said(text: str) -> tuple[str, str]:
    """Return a transcript without its remark on a sign, and the remark; "" without one."""
    found = _SIGN.search(text)
    return (text[: found.start()] + text[found.end() :], found[0]) if found else (text, "")


def _replaced_once(text: str, old: str, new: str) -> str | None:
    return text.replace(old, new) if text.count(old) == 1 else None
