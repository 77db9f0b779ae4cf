"""Capture of e-mail addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from typing import ClassVar

from audio.recognizers import Spelling
from voiceagent.agents.capture.corrections import correct_text, instead_of, joined, replace_similar, spell_out
from voiceagent.agents.capture.self_repairs import repaired_text, split_at_repair, without_asides
from voiceagent.agents.capture.symbols import Symbol, symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.conversation.words import words_of
from voiceagent.text_normalization.spoken_digits import number_at

PROVIDERS = (
    "gmail.com", "yahoo.com", "hotmail.com", "outlook.com", "icloud.com", "aol.com", "live.com", "msn.com",
    "me.com", "mac.com", "proton.me", "protonmail.com", "gmx.com", "gmx.net", "gmx.de", "web.de", "mail.com",
    "t-online.de", "freenet.de", "posteo.de", "yahoo.co.uk", "hotmail.co.uk", "btinternet.com", "sky.com",
    "comcast.net", "verizon.net", "att.net", "googlemail.com", "yahoo.es", "hotmail.es", "yandex.com",
    "zoho.com", "fastmail.com", "example.com", "orange.fr", "libero.it",
)  # fmt: skip
"""Domains of large providers, to which a misheard domain is drawn."""
_NEAR_PROVIDER, _NEAR_CORRECTED = 0.8, 0.7
"""Minimum similarity of a misheard domain and that of a provider; of one that the caller said again, as most
that recognizers get wrong twice are letters: "gmx".
"""
_CUT_OFF = {"mail.com": "gmail.com"}
"""Domains that are more often what is left of another: of "at gmail", recognizers write "at mail". Said as a
correction, they stand.
"""
_ADDRESS = re.compile(
    r"[a-z0-9ß-ÿ_+](?:[a-z0-9ß-ÿ_+.'/-]*[a-z0-9ß-ÿ_+-])?@(?:[a-z0-9ß-ÿ](?:[a-z0-9ß-ÿ-]*[a-z0-9ß-ÿ])?\.)+[a-z]{2,24}"
)
_MAX_LOCAL, _MAX_ADDRESS = 64, 254
"""RFC 5321, 4.5.3.1, and RFC 3696's erratum 1690."""
_BOTH_REFUSED = "@"
"""Draft of an address of which nothing is known, and whose domain the caller is asked to spell, too."""
_FILLERS = ("uh", "um", "er", "hm", "well", "äh", "ähm", "eh")
_MAX_WORDS = 3
"""Words of a local part without a sign between them: more are a sentence."""
_MISHEARD = (
    (re.compile(r"\bnot\b", re.I), "dot"),
    (re.compile(r"(?<=\w )dart (?!at\b)", re.I), "dot "),
    (re.compile(r"\bdot (?:come|calm)\b", re.I), "dot com"),
    (re.compile(r"\bdot(com?|org|net)\b", re.I), r"dot \1"),
    (re.compile(r"\b(?:at )?(?:a|e|eye|i)[ -]cloud\b", re.I), "at icloud"),
    (
        re.compile(
            rf"\b(?:at|art|add|ad)({'|'.join(sorted({one.partition('.')[0] for one in PROVIDERS}))})\b", re.I
        ),
        r"at \1",
    ),
    (re.compile(r"\btoo?,? (?=at\b)", re.I), "2 "),
    (re.compile(r"\bfor,? (?=at\b)", re.I), "4 "),
    (re.compile(r"\bout look\b", re.I), "outlook"),
    (re.compile(r"\b(?:at (?:g|gee|e)[ -]?|edge ?)mail\b", re.I), "at gmail"),
    (re.compile(r"\b(?:hot|heart|hard) ?mail\b", re.I), "hotmail"),
    # "t dot baker" is written as an initial; letters that are spelled follow each other
    (re.compile(r"(?<![\w.] )(?<![\w.])([a-z])\. (?=(?!at\b|dot\b)[a-z]{2,})", re.I), r"\1 dot "),
)
"""Texts that English recognizers write in an answer to the question for an address, and what was said."""
_OH = re.compile(r"\boh(?=[\s,.]+[a-z]\b)", re.I)
_AT = re.compile(r"\bat\b|@", re.I)
_SAID_AGAIN = 0.7
"""Minimum similarity of a first part and the words in its place: "bob" and "bob forty two"."""
_WITHOUT_SIGN = re.compile(r"\b(?:without|no) (?:the |an? )?(dot|dash|hyphen|underscore)\b", re.I)
_PROVIDER_ALONE = re.compile(
    r"(?<=\w)(?:[\s,.]+(?:and|an|add|ad|act|that|it|a|had|hat))?[\s,.]+(?=("
    + "|".join(re.escape(one).replace(r"\.", r"(?:\.| dot )") for one in PROVIDERS)
    + r")\W*$)\1",
    re.I,
)
"""The domain of a large provider at the end of a text, with what recognizers write for the "at" before it."""
_MIN_PIECE = 3
"""Letters of a piece that is spelled again, at least."""
_SIMILAR_WORD, _FIRST_LETTER = 0.6, 0.15
"""Minimum similarity of a word and the letters that spell it; added to it if the first ones are the same."""


def is_address(text: str) -> bool:
    """Return True if a text is an e-mail address as people have them; quoted forms are not."""
    local = text.partition("@")[0]
    return (
        bool(_ADDRESS.fullmatch(text))
        and ".." not in text
        and len(local) <= _MAX_LOCAL
        and len(text) <= _MAX_ADDRESS
    )


@dataclass(frozen=True)
class Email(Task[str]):
    """An e-mail address, lower case."""

    asks_for: ClassVar[Spelling] = "email"

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[str]:
        """Parse words, letters and signs. A part without "@" is the local part, or the domain after it."""
        before, after = split_at_repair(without_openings(text, now.language), now.language)
        symbols = _address_symbols(after, now)
        local, at_sign, domain = _parted(symbols)
        if before:
            said = _parted(_address_symbols(before, now))
            local, at_sign, domain = _repaired(said, (local, at_sign, domain))
        known_local, _, known_domain = draft.partition("@")
        if known_local and not at_sign:
            local, at_sign, domain = "", "@", local
        if not (local or known_local) or ("." not in domain and _is_remark(text, symbols, at_sign, now)):
            return Heard(draft=draft)
        local, domain = local or known_local, domain or known_domain
        if not domain:
            prompts = now.words.prompts
            prompt = prompts.spell_domain if draft == _BOTH_REFUSED else prompts.domain
            return Heard(draft=f"{local}@", prompt=prompt)
        near = nearest_domain(domain)
        address = f"{local}@{_CUT_OFF.get(near, near)}"
        if is_address(address):
            return Heard(address, address)
        return Heard(draft=f"{local}@", prompt=now.words.prompts.domain)

    def ask_again(self, refused: str | None, draft: str, now: Circumstances, careful: bool) -> Heard[str]:
        """Ask for the part before the "@", and then for the one after it: an address that is spelled at once
        is often misheard somewhere. The domain of a large provider is kept at first.
        """
        prompts = now.words.prompts
        if draft.partition("@")[0]:
            return Heard(draft=draft, prompt=prompts.spell_domain)
        if refused is None:
            return Heard(draft=draft, prompt=prompts.spell_local)
        domain = refused.partition("@")[2]
        kept = domain in PROVIDERS and not careful
        return Heard(draft=f"@{domain}" if kept else _BOTH_REFUSED, prompt=prompts.spell_local)

    def spelling_of_rest(self, draft: str) -> Spelling:
        """Return the kind of spelling of a domain, or of the part before it."""
        return "domain" if draft.partition("@")[0] else "letters"

    def read_back(self, value: str, now: Circumstances, careful: bool) -> str:
        """Return the address with its first part letter by letter."""
        local, _, domain = value.partition("@")
        at_sign = next(name for name, sign in now.words.signs.items() if sign == "@")
        last = domain if domain in PROVIDERS or not careful else spell_out(domain, now.words, careful)
        return f"{spell_out(local, now.words, careful)}, {at_sign} {last}"

    def correct(self, value: str, text: str, now: Circumstances) -> str | None:
        """Return the address with another ending, domain, part or letter."""
        plain = without_openings(text, now.language)
        plain = _with_o(plain) if now.language == "en" else plain
        symbols = merge_spelled(symbols_of(plain, now.language))
        local, at_sign, domain = _parted(symbols)
        own_local, _, own_domain = value.partition("@")
        if at_sign and local and domain:
            return self._valid(f"{local}@{nearest_domain(domain)}")
        if at_sign:
            return self._valid(f"{own_local}@{_corrected_domain(domain, own_domain)}")
        if (ending := _ending_said(plain, now)) and symbols[0].text != "@":
            return self._valid(f"{own_local}@{_with_ending(own_domain, ending)}")
        if symbols and symbols[0] == Symbol("sign", "."):
            return self._valid(f"{own_local}@{_with_ending(own_domain, joined(symbols)[1:])}")
        provider = _provider(local)
        if provider is not None:
            return self._valid(f"{own_local}@{provider}")
        if instead_of(plain, now) is None and (spelled := _with_spelled_piece(own_local, symbols)):
            return self._valid(f"{spelled}@{own_domain}")
        name, dot, ending = own_domain.partition(".")
        if own_domain not in PROVIDERS and (whole := correct_text(f"{own_local}@{name}", plain, now)):
            return self._valid(f"{whole}{dot}{ending}")
        changed = correct_text(own_local, plain, now)
        if changed is None and (found := _WITHOUT_SIGN.search(plain)):
            sign = now.words.signs[found[1].lower()]
            changed = own_local.replace(sign, "") if own_local.count(sign) == 1 else None
        again = SequenceMatcher(None, local, own_local).ratio() >= _SAID_AGAIN and local.isalnum()
        if changed is None and instead_of(plain, now) is None and again:
            changed = local
        elif changed is None and instead_of(plain, now) is None and _is_one_part(symbols):
            changed = _with_part(own_local, local)
        return None if changed is None else self._valid(f"{changed}@{own_domain}")

    @staticmethod
    def _valid(address: str) -> str | None:
        return address if is_address(address) else None


def _address_symbols(text: str, now: Circumstances) -> list[Symbol]:
    """Return the symbols of an address or a part of it, misheard words as they were said."""
    plain = without_asides(text, now.language)
    if now.language == "en":
        for misheard, said in _MISHEARD:
            plain = misheard.sub(said, plain)
        plain = _with_dot_between(_with_at_before_provider(_with_o(plain)), now)
    return merge_spelled(symbols_of(plain, now.language))


def _repaired(said: tuple[str, str, str], again: tuple[str, str, str]) -> tuple[str, str, str]:
    """Return the parts of an address after the caller has corrected its end."""
    (local, at_sign, domain), (new_local, new_at_sign, new_domain) = said, again
    if new_at_sign and new_local and not at_sign:
        return repaired_text(local, new_local), new_at_sign, new_domain
    if not new_at_sign and at_sign:
        return local, at_sign, repaired_text(domain, new_local)
    if not new_at_sign:
        return repaired_text(local, new_local), "", ""
    return new_local or local, new_at_sign, new_domain


def merge_spelled(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols with the letters that spell a word in its place: "john, J O H N"."""
    merged: list[Symbol] = []
    run = ""
    for symbol in [*symbols, Symbol("sign", "")]:
        if symbol.kind == "letter":
            run += symbol.text
            continue
        if len(run) > 1:
            at = _spelled_word(merged, run)
            if at is None:
                merged.append(Symbol("letter", run))
            else:
                merged[at] = Symbol("letter", run)
        elif run:
            merged.append(Symbol("letter", run))
        run = ""
        merged.append(symbol)
    return merged[:-1]


def _with_at_before_provider(text: str) -> str:
    """Return a text without "at" with one before a large provider: "Bob 42 and outlook dot com"."""
    return text if _AT.search(text) else _PROVIDER_ALONE.sub(r" at \1", text)


def _with_o(text: str) -> str:
    """Return a text with the letter O in place of an "oh" before a letter and after no number: "T, oh, M"."""

    def written(oh: re.Match[str]) -> str:
        before = words_of(text[: oh.start()])
        return oh[0] if before and number_at(before[-1:], 0, "en")[0] else "o"

    return _OH.sub(written, text)


def _with_dot_between(text: str, now: Circumstances) -> str:
    """Return a text with the only stop in a row of words of the alphabet as the dot that it stands for:
    "Charlie Alpha Lima. Lima at". Where words are said with pauses, each has a stop or a comma after it.
    """
    at_sign = _AT.search(text)
    local = text[: at_sign.start()] if at_sign else text
    before, stop, after = local.rstrip(" .").partition(". ")
    words = f"{before} {after}".lower().split()
    spelled = len(words) > _MAX_WORDS and all(
        word in now.words.alphabet or word in now.words.signs for word in words
    )
    return f"{before} dot {after} {text[len(local) :]}" if stop and spelled else text


def _without_fillers(symbols: Sequence[Symbol]) -> list[Symbol]:
    return [symbol for symbol in symbols if symbol.kind != "word" or symbol.text not in _FILLERS]


def _is_remark(text: str, symbols: Sequence[Symbol], at_sign: str, now: Circumstances) -> bool:
    """Return True for talk about the question in place of an answer: a doubt, a refusal, a question."""
    words = [symbol.text for symbol in symbols if symbol.kind == "word"]
    said = set(words_of(text)) - {word for opening in now.words.openings for word in opening}
    talk = not now.words.remarks.isdisjoint(said | set(words))
    return talk or text.rstrip().endswith("?") or (not at_sign and len(words) > _MAX_WORDS)


def _is_one_part(symbols: Sequence[Symbol]) -> bool:
    """Return True if the symbols can be one part of an address: a word, or letters and digits."""
    words = sum(symbol.kind == "word" for symbol in symbols)
    return words == 0 or (words == 1 and len(symbols) == 1)


def _spelled_word(symbols: Sequence[Symbol], run: str) -> int | None:
    """Return the index of the last word that these letters spell, if they follow a word."""
    if not symbols or symbols[-1].kind != "word":
        return None
    for at in range(len(symbols) - 1, -1, -1):
        if symbols[at].kind in ("letter", "digits"):
            return None
        if symbols[at].kind == "word" and _spells(run, symbols[at].text):
            return at
    return None


def _spells(run: str, word: str) -> bool:
    """Return True if letters spell a word, as it was misheard: "mire, M E R"."""
    same_first = len(run) > 2 and run[0] == word[0]
    return SequenceMatcher(None, run, word).ratio() + same_first * _FIRST_LETTER >= _SIMILAR_WORD


def _parted(symbols: Sequence[Symbol]) -> tuple[str, str, str]:
    """Return local part, "@" or "", and domain."""
    address = "".join(symbol.text.replace("'", "") for symbol in _without_fillers(symbols))
    local, at_sign, domain = address.rpartition("@") if "@" in address else (address, "", "")
    return local.rpartition("@")[2].strip("."), at_sign, domain.strip(".-")


def _corrected_domain(domain: str, refused: str) -> str:
    """Return the domain that a caller gives in place of a refused one."""
    others = [one for one in PROVIDERS if one != refused and one not in _CUT_OFF]
    near = get_close_matches(domain, others, 1, _NEAR_CORRECTED)
    same_ending = near and near[0].rpartition(".")[2] == domain.rpartition(".")[2]
    heard_well = domain in PROVIDERS and domain != refused
    return near[0] if same_ending and not heard_well else nearest_domain(domain)


def nearest_domain(domain: str) -> str:
    """Return a domain, drawn to that of a large provider near it, and with its ending if it has none."""
    name, _, ending = domain.partition(".")
    named = _provider(name) if len(ending) < 2 else None  # "dot D" is what is left of "dot D E"
    if named is not None:
        return named
    near = get_close_matches(domain, PROVIDERS, 1, _NEAR_PROVIDER) if len(name) > 2 else []
    same_ending = near and near[0].rpartition(".")[2] == domain.rpartition(".")[2]
    return near[0] if same_ending else domain


def _provider(name: str) -> str | None:
    """Return the domain of a provider that was named without its ending."""
    return next((domain for domain in PROVIDERS if domain.partition(".")[0] == name), None)


def _with_ending(domain: str, ending: str) -> str:
    """Return the domain with its last labels replaced, as many as the ending has, but never the first."""
    labels = domain.split(".")
    kept = max(1, len(labels) - max(1, ending.count(".") + 1))
    return ".".join([*labels[:kept], ending])


def _ending_said(text: str, now: Circumstances) -> str:
    """Return the right ending of "not dot com, dot org" and "dot org, not dot com", "" for other texts."""
    endings = re.findall(r"(?:\bdot |\.)([a-z]+(?:(?: dot |\.)[a-z]+)?|(?:[a-z] )?[a-z])\b", text.lower())
    if len(endings) != 2 or now.language != "en" or "not" not in words_of(text):
        return ""
    right = endings[1] if words_of(text)[0] == "not" else endings[0]
    return re.sub(r" dot ", ".", right).replace(" ", "")


def _with_spelled_piece(local: str, symbols: Sequence[Symbol]) -> str | None:
    """Return the local part with the piece between signs replaced that is like a spelled row of letters, and
    about as long: a part of a piece is none. None if there is no such row or piece.
    """
    row = joined(symbols)
    if len(row) < _MIN_PIECE or any(symbol.kind not in ("letter", "digits") for symbol in symbols):
        return None
    pieces = re.split(r"([._+-])", local)
    ratio, at = max((SequenceMatcher(None, piece, row).ratio(), at) for at, piece in enumerate(pieces))
    if ratio < _SIMILAR_WORD or abs(len(pieces[at]) - len(row)) > 1:
        return None
    return "".join([*pieces[:at], row, *pieces[at + 1 :]])


def _with_part(local: str, part: str) -> str | None:
    """Return the local part with the piece between signs replaced that is most like `part`."""
    if len(part) < 2:
        return None
    pieces = re.split(r"([._+-])", local)
    rated = [(SequenceMatcher(None, piece, part).ratio(), at) for at, piece in enumerate(pieces)]
    ratio, at = max(rated)
    if len(pieces) == 1 or ratio < _SIMILAR_WORD:
        return replace_similar(local, part) or (part if len(pieces) == 1 else None)
    return "".join([*pieces[:at], part, *pieces[at + 1 :]])
