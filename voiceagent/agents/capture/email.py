"""Capture of e-mail addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import ClassVar

from audio.recognizers import Spelling
from voiceagent.agents.capture.choices import answer_of
from voiceagent.agents.capture.corrections import correct_text, instead_of, joined, replace_similar, spell_out
from voiceagent.agents.capture.email_domains import (
    CUT_OFF,
    PROVIDERS,
    corrected_domain,
    ending_said,
    nearest_domain,
    provider_named,
    with_dot_said,
    with_ending,
)
from voiceagent.agents.capture.letter_remarks import with_remarks
from voiceagent.agents.capture.linking_words import (
    without_comparisons,
    without_lead_in,
    without_linking_words,
)
from voiceagent.agents.capture.misheard_emails import (
    MAX_WORDS,
    address_as_said,
    other_first_part,
    with_o,
    without_loop,
)
from voiceagent.agents.capture.self_repairs import repaired_text, split_at_repair
from voiceagent.agents.capture.spelled_addresses import SIMILAR_WORD, merge_spelled, with_spelled_piece
from voiceagent.agents.capture.symbols import Symbol, symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.conversation.words import words_of

_ADDRESS = re.compile(
    r"[a-z0-9ß-ÿ_+](?:[a-z0-9ß-ÿ_+.'/-]*[a-z0-9ß-ÿ_+-])?@(?:[a-z0-9ß-ÿ](?:[a-z0-9ß-ÿ-]*[a-z0-9ß-ÿ])?\.)+[a-z]{2,24}"
)
_MAX_LOCAL, _MAX_ADDRESS = 64, 254
"""RFC 5321, 4.5.3.1, and RFC 3696's erratum 1690."""
_BOTH_REFUSED = "@"
"""Draft of an address of which nothing is known, and whose domain the caller is asked to spell, too."""
_GREETING_MAILBOX = re.compile(r"\b(?:hello|hi)\W+at\b.*", re.I)
"""A mailbox that is no opening: "hello at red lion dot com"."""
_NAME_AFTER = r"(?:it's|it is|that's|the name is|my name is)\s+(?!(?:it|all|right|correct)\b)(?P<local>.+)$"
_DOMAIN_FIRST = re.compile(
    r"^\W*(?:(?:hello|hi|sure|yes|okay)\b\W*[,.!]\s*)?at\s+(?P<domain>\S.*?(?:\.|\bdot\s+)[a-z]{2,6})[,.;]\s+"
    + _NAME_AFTER,
    re.I,
)
"""A domain that is said before the name: "at gmail dot com, it's bob smith"."""
_PROVIDER_FIRST = re.compile(
    r"^\W*(?:(?:hello|hi|sure|yes|okay)\W+)?at\s+(?P<domain>"
    + "|".join(re.escape(one).replace(r"\.", r"(?:\.|\s+dot\s+)") for one in PROVIDERS)
    + r")[\s,.;]+"
    + _NAME_AFTER,
    re.I,
)
"""The same of a large provider, where nothing but a greeting stands before it, and no pause is needed."""
_FILLERS = ("uh", "um", "umm", "uhm", "er", "erm", "hm", "well", "äh", "ähm", "eh")
_SAID_AGAIN = 0.7
"""Minimum similarity of a first part and the words in its place: "bob" and "bob forty two"."""
_REMARK = re.compile(r"\bwith(?:out)?\s.*?(?:\bat\b|@)", re.I)
"""A remark on letters within an address: "Sarah with an H at"."""
_WITHOUT_SIGN = re.compile(r"\b(?:without|no) (?:the |an? )?(dot|dash|hyphen|underscore)\b", re.I)


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
        """Parse words, letters and signs. A part without "@" is the local part, or the domain after it; a
        mere yes or no is neither.
        """
        if (answer := answer_of(text, now.words)) is not None and not answer[1]:
            return Heard(draft=draft)
        text = _without_talk(text, draft, now)
        said = _GREETING_MAILBOX.search(text) if now.language == "en" else None
        plain = said[0] if said else without_openings(text, now.language)
        before, after = split_at_repair(plain, now.language)
        after = without_openings(after, now.language) if before else after  # "sorry, yes, hilltop"
        known_local, _, known_domain = draft.partition("@")
        symbols = _address_symbols(after, now, domain_alone=bool(known_local))
        local, at_sign, domain = _parted(symbols)
        if before:
            first = _parted(_address_symbols(before, now))
            local, at_sign, domain = _repaired(first, (local, at_sign, domain))
        if known_local and not at_sign:
            local, at_sign, domain = "", "@", local
        if "." not in domain and _is_remark(text, symbols, at_sign, now):
            return Heard(draft=draft)
        if not (local or known_local):  # "my first name dot last name at gmail dot com"
            alone = is_address(f"a@{nearest_domain(domain)}")
            asked = f"@{nearest_domain(domain)}" if alone else draft
            return Heard(draft=asked, prompt=now.words.prompts.spell_local if alone else "")
        local, domain = local or known_local, domain or known_domain
        if not domain:
            prompts = now.words.prompts
            prompt = prompts.spell_domain if draft == _BOTH_REFUSED else prompts.domain
            return Heard(draft=f"{local}@", prompt=prompt)
        near = nearest_domain(domain)
        address = f"{local}@{CUT_OFF.get(near, near)}"
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

    def second_guess(self, refused: str, now: Circumstances) -> str | None:
        """Return the address with another first part, for what recognizers write of one."""
        local, _, domain = refused.partition("@")
        other = other_first_part(local) if now.language == "en" else None
        return None if other is None else self._valid(f"{other}@{domain}")

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
        plain = without_loop(without_openings(text, now.language))
        own_local, _, own_domain = value.partition("@")
        if now.language == "en":
            plain = with_dot_said(with_o(plain), own_domain)
        symbols = merge_spelled(symbols_of(plain, now.language))
        local, at_sign, domain = _parted(symbols)
        if at_sign and local and domain:
            return self._valid(f"{local}@{nearest_domain(domain)}")
        if at_sign:
            return self._valid(f"{own_local}@{corrected_domain(domain, own_domain)}")
        if (ending := ending_said(plain, now)) and symbols[0].text != "@":
            return self._valid(f"{own_local}@{with_ending(own_domain, ending)}")
        if symbols and symbols[0] == Symbol("sign", "."):
            return self._valid(f"{own_local}@{with_ending(own_domain, joined(symbols)[1:])}")
        if local.endswith(own_domain[own_domain.index(".") :]):  # the "at" was not heard, or not said
            return self._valid(f"{own_local}@{corrected_domain(local, own_domain)}")
        provider = provider_named(local)
        if provider is not None:
            return self._valid(f"{own_local}@{provider}")
        if instead_of(plain, now) is None and (spelled := with_spelled_piece(own_local, symbols)):
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


def _without_talk(text: str, draft: str, now: Circumstances) -> str:
    """Return an answer with its domain last and its remarks on letters applied, without what is said around
    the address and between its parts.
    """
    if now.language == "en":
        domain_first = _PROVIDER_FIRST.match(text) or _DOMAIN_FIRST.match(text)
        text = domain_first.expand(r"\g<local> at \g<domain>") if domain_first else text
        text = with_remarks(text, "en") if _REMARK.search(text) else text
        text = without_comparisons(text)
    text = text if draft.partition("@")[0] else without_lead_in(text, now.language)
    return without_linking_words(text, now.language)


def _address_symbols(text: str, now: Circumstances, domain_alone: bool = False) -> list[Symbol]:
    """Return the symbols of an address or a part of it; see `address_as_said`."""
    return merge_spelled(symbols_of(address_as_said(text, now, domain_alone), now.language))


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


def _without_fillers(symbols: Sequence[Symbol]) -> list[Symbol]:
    return [symbol for symbol in symbols if symbol.kind != "word" or symbol.text not in _FILLERS]


def _is_remark(text: str, symbols: Sequence[Symbol], at_sign: str, now: Circumstances) -> bool:
    """Return True for talk about the question in place of an answer: a doubt, a refusal, a question."""
    words = [symbol.text for symbol in symbols if symbol.kind == "word"]
    said = set(words_of(text)) - {word for opening in now.words.openings for word in opening}
    talk = not now.words.remarks.isdisjoint(said | set(words))
    return talk or text.rstrip().endswith("?") or (not at_sign and len(words) > MAX_WORDS)


def _is_one_part(symbols: Sequence[Symbol]) -> bool:
    """Return True if the symbols can be one part of an address: a word, or letters and digits."""
    words = sum(symbol.kind == "word" for symbol in symbols)
    return words == 0 or (words == 1 and len(symbols) == 1)


def _parted(symbols: Sequence[Symbol]) -> tuple[str, str, str]:
    """Return local part, "@" or "", and domain."""
    address = "".join(symbol.text.replace("'", "") for symbol in _without_fillers(symbols))
    address = re.sub(r"\.@$", ".at", address)  # Austria's ending
    local, at_sign, domain = address.rpartition("@") if "@" in address else (address, "", "")
    return local.rpartition("@")[2].strip("."), at_sign, domain.strip(".-")


def _with_part(local: str, part: str) -> str | None:
    """Return the local part with the piece between signs replaced that is most like `part`."""
    if len(part) < 2:
        return None
    pieces = re.split(r"([._+-])", local)
    rated = [(SequenceMatcher(None, piece, part).ratio(), at) for at, piece in enumerate(pieces)]
    ratio, at = max(rated)
    if len(pieces) == 1 or ratio < SIMILAR_WORD:
        return replace_similar(local, part) or (part if len(pieces) == 1 else None)
    return "".join([*pieces[:at], part, *pieces[at + 1 :]])
