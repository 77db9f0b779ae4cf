"""Domains of e-mail addresses: those of large providers, and corrections of a domain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

from voiceagent.agents.capture.symbols import sound_alike
from voiceagent.agents.capture.task import Circumstances
from voiceagent.conversation.words import words_of

PROVIDERS = (
    "gmail.com", "yahoo.com", "hotmail.com", "outlook.com", "icloud.com", "aol.com", "live.com", "msn.com",
    "me.com", "mac.com", "proton.me", "protonmail.com", "gmx.com", "gmx.net", "gmx.de", "web.de", "mail.com",
    "t-online.de", "freenet.de", "posteo.de", "yahoo.co.uk", "hotmail.co.uk", "btinternet.com", "sky.com",
    "comcast.net", "verizon.net", "att.net", "googlemail.com", "yahoo.es", "hotmail.es", "yandex.com",
    "live.co.uk", "virginmedia.com", "ntlworld.com", "talktalk.net", "rocketmail.com", "sbcglobal.net",
    "zoho.com", "fastmail.com", "example.com", "orange.fr", "libero.it",
)  # fmt: skip
"""Domains of large providers, to which a misheard domain is drawn."""
_FOR_EXAMPLES = "example.com"
"""Domain that nobody has (RFC 2606, 3), so that no other is drawn to it: "apple.com"."""
_NEAR_PROVIDER, _NEAR_CORRECTED = 0.8, 0.7
"""Minimum similarity of a misheard domain and that of a provider; of one that the caller said again, as most
that recognizers get wrong twice are letters: "gmx".
"""
_SHORT_NAME, _NEAR_SHORT_NAME, _NEAR_NAME = 4, 0.8, 0.6
"""Letters of a short provider's name; minimum similarity of such names and of others by themselves: with its
ending, "acme.com" is near "me.com".
"""
_VOWELS = frozenset("aeiouy")
_LETTERS_LEFT = 2
"""Letters of what is left of a name of letters, at most."""
_NOT_ENDING = re.compile(r"\W*not (com|net|org|co|edu|gov|info|biz|io|de|uk|me)\W*$", re.I)
_MISHEARD_CO = re.compile(r"\.(?:code|cold|coat|core|coe|ko)\.(au|uk|nz|za|jp|kr|il)$")
_JOINED_ENDING = re.compile(r"\.(com|co)(au|br|mx|ar|tr|cn|sg|hk|my|ph|uk|nz|za|jp|kr|il)$")
"""Endings of two labels (IANA's root zone database) that were written as one."""
_RUN_ON = re.compile(r"\.(com|net|org)(?!pany$|munity$|puter$|pare$|work$|anic$)[a-z]{3,}$")
"""An ending with what was said behind it: "oakline dot net, so I'll". A few longer ones exist: "company"."""
CUT_OFF = {"mail.com": "gmail.com", "ol.com": "aol.com"}
"""Domains that are more often what is left of another: of "at gmail", recognizers write "at mail". Said as a
correction, they stand.
"""


def corrected_domain(domain: str, refused: str) -> str:
    """Return the domain that a caller gives in place of a refused one."""
    others = [one for one in PROVIDERS if one != refused and one not in CUT_OFF]
    near = _nearest(domain, others, _NEAR_CORRECTED)
    heard_well = domain in PROVIDERS and domain != refused
    if near and not heard_well:
        return near
    drawn = nearest_domain(domain)
    return domain if drawn == refused else drawn


def nearest_domain(domain: str) -> str:
    """Return a domain, drawn to that of a large provider near it, and with its ending if it has none or with
    the dot within it if that was not heard.
    """
    domain = _MISHEARD_CO.sub(r".co.\1", _JOINED_ENDING.sub(r".\1.\2", _RUN_ON.sub(r".\1", domain)))
    name, _, ending = domain.partition(".")
    named = provider_named(name) if len(ending) < 2 else None  # "dot D" is what is left of "dot D E"
    named = named or _with_ending_alike(name, ending)
    if named is not None:
        return named
    return (_nearest(domain, PROVIDERS, _NEAR_PROVIDER) if len(name) > 2 else None) or domain


def _nearest(domain: str, providers: Sequence[str], least: float) -> str | None:
    """Return the provider's domain that is most like one and has its ending, None if none is near."""
    drawing = [one for one in providers if one != _FOR_EXAMPLES and _has_name_near(one, domain)]
    near = get_close_matches(domain, drawing, 1, least)
    return near[0] if near and near[0].rpartition(".")[2] == domain.rpartition(".")[2] else None


def _has_name_near(provider: str, domain: str) -> bool:
    """Return True if the name before the ending is near, too; of a name of letters, two may be left: "jx"."""
    known, name = provider.partition(".")[0], domain.partition(".")[0]
    if len(name) <= _LETTERS_LEFT:
        return True
    if _VOWELS.isdisjoint(known):  # "max" is a word, and no "gmx"
        letters = iter(name)
        return _VOWELS.isdisjoint(name) or all(letter in letters for letter in known)
    least = _NEAR_SHORT_NAME if len(known) <= _SHORT_NAME else _NEAR_NAME
    return SequenceMatcher(None, known, name).ratio() >= least


def _with_ending_alike(name: str, ending: str) -> str | None:
    """Return the domain of a provider whose ending of two letters sounds like this one: "gmx.be"."""
    domains = [one for one in PROVIDERS if one.partition(".")[0] == name]
    endings = {one: one.partition(".")[2] for one in domains}
    alike = [
        one
        for one, known in endings.items()
        if len(known) == len(ending) == 2 and all(map(sound_alike, known, ending))
    ]
    return alike[0] if len(alike) == 1 else None


def provider_named(name: str) -> str | None:
    """Return the domain of a provider that was named without its ending."""
    return next((domain for domain in PROVIDERS if domain.partition(".")[0] == name), None)


def with_ending(domain: str, ending: str) -> str:
    """Return the domain with its last labels replaced, as many as the ending has, but never the first."""
    labels = domain.split(".")
    kept = max(1, len(labels) - max(1, ending.count(".") + 1))
    if kept > 1 and labels[kept - 1] == ending.partition(".")[0]:  # "com" for "com.au"
        kept -= 1
    return ".".join([*labels[:kept], ending])


def with_dot_said(text: str, domain: str) -> str:
    """Return "dot com" for "not com", said of a domain that has another ending."""
    found = _NOT_ENDING.match(text)
    return text if found is None or domain.endswith(f".{found[1].lower()}") else f"dot {found[1]}"


def ending_said(text: str, now: Circumstances) -> str:
    """Return the right ending of "not dot com, dot org" and "dot org, not dot com", "" for other texts."""
    endings = re.findall(r"(?:\bdot |\.)([a-z]+(?:(?: dot |\.)[a-z]+)?|(?:[a-z] )?[a-z])\b", text.lower())
    if len(endings) != 2 or now.language != "en" or "not" not in words_of(text):
        return ""
    right = endings[1] if words_of(text)[0] == "not" else endings[0]
    return re.sub(r" dot ", ".", right).replace(" ", "")
