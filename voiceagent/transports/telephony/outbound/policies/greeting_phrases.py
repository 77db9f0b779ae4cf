"""Phrases of greetings, in English, without punctuation: those of machines, and those of people."""

from __future__ import annotations

import re
from typing import Literal

_PUNCTUATION = re.compile(r"[^\w' ]")


def plain_text(words: str) -> str:
    """Return words in lower case, without punctuation."""
    return _PUNCTUATION.sub("", normalized(words))


def normalized(words: str) -> str:
    """Return words in lower case, with single spaces between them."""
    return " ".join(words.lower().replace("\u2019", "'").replace("-", " ").split())


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b")


SCREENER = _any_of(
    r"(?:say|state|give|record|tell (?:me|us)|have|get) your name(?!.*\b(?:message|number)\b)",
    r"your name and (?:the |your )?(?:reason|why|purpose)",
    r"screen(?:s|ed|ing)",
    r"(?:virtual|digital|automated|an|the) (?:assistant|receptionist)",
    r"call (?:will be|is) accepted",
    r"(?:we|i)(?:'ll| will) (?:ask|check|find out|see) (?:if|whether|who|the)",
    r"(?:say|state|record|tell me|give|leave) your name and (?:the )?(?:reason|why|purpose)",
    r"(?:reason|purpose) (?:for|of) (?:your call|calling)",
    r"call (?:assist|screening|screener)",
    r"(?:screening service|being screened)",
    r"(?:person|party) (?:(?:that )?you(?:'re| are) (?:calling|trying to (?:call|reach)) )?(?:wants|asked)",
    r"assistant (?:of|for|is answering|answering)",
    r"what (?:this|the|your) call is (?:regarding|about)",
    r"(?:say|state|ask|know) (?:who|why|what) (?:you are|you're|is|this is)",
    r"(?:while|and|let me) (?:i(?:'ll)? )?(?:check|see) (?:if|whether)",
    r"see if (?:this person|they|he|she|the person)(?:'s| is|'re| are) available",
    r"(?:this person|the person) (?:you are|you're) calling is using",
    r"(?:say|state|record) your name (?:after|at|and (?:i|we|press))",
    r"who(?:'s| is) calling and (?:why|what)",
    r"(?:say|state|tell me|give me|record) (?:me )?who you are",
    r"who you are and (?:why|what)",
    r"(?:before|and) (?:i|we)(?:'ll| will| can| could)? (?:try to )?(?:connect|put) you",
    r"(?:connect you|put you through) (?:if|when|once|as soon)",
    r"protected (?:by|against|from) (?:[\w']+ ){0,3}(?:calls?|callers?|blocker|robocalls|spam|filter)",
    r"(?:person|party) you(?:'ve| have|'re| are) (?:called|calling) (?:[\w']+ ){1,3}(?:calls from )?unknown",
    r"(?:ai|phone|smart) (?:assistant|receptionist)",
    r"(?:prove|show|confirm) (?:that )?you(?:'re| are) (?:a )?(?:human|person)",
)
MENU = _any_of(
    r"(?:press|choose|select|dial|say) (?:\d|one|two|three|four|five|six|seven|eight|nine|zero)\b",
    r"press (?:pound|star|hash|the)",
    r"(?:choose|select|pick) (?:[\w']+ ){0,3}(?:options?|following|services|departments?)",
    r"say yes or no",
    r"para espa\w+",
    r"if you(?:'re| are|'d| would)? [\w' ]{3,50} (?:say|press) [\w']+",
    r"name of (?:the|a|your) (?:department|person|service)",
    r"(?:enter|dial|key in) (?:it|that) (?:now|at any time)",
    r"(?:all|every one|each|none) (?:of )?(?:[\w']+ ){0,2}(?:is|are) (?:on a call|on calls|busy)",
    r"(?:connecting|transferring|putting|passing) you (?:through )?(?:to|with)",
    r"(?:tell|describe) (?:me|us)? ?(?:briefly|in (?:a few words|one sentence|your own words))",
    r"(?:next|first) (?:available|free) [\w' ]*",
    r"(?:for|to) [\w' ]{3,40} (?:say|dial) (?:\d|one|two|three|four|zero)",
    r"(?:menu|our) options (?:have|has) (?:recently )?changed",
    r"(?:listen|choose) (?:carefully )?(?:to|from) the following",
    r"main menu",
    r"for [\w' ]{2,30} say [\w']+",
    r"you can (?:also )?say",
    r"(?:say|key in|enter) (?:your|the) (?:date|last|first|full|account|card|member|order|phone|zip)",
    r"(?:all|each) (?:of )?(?:our|the) (?:agents|representatives|operators|lines|advisers|advisors)",
    r"your call is (?:very )?important",
    r"(?:in the queue|in line|answered in (?:the )?order)",
    r"calls? (?:are|is) (?:being )?(?:recorded|monitored)",
    r"(?:enter|dial|say|key in) (?:your|the) (?:party's |\w+ digit )?(?:\w+ )?(?:extension|number|code|pin)",
    r"followed by (?:the )?(?:pound|hash|star|number sign)",
    r"(?:hang up and )?(?:dial|call) (?:911|999|112|nine one one|nine nine nine)",
    r"(?:in a few words|briefly) (?:please )?(?:tell|say|describe)",
    r"for example,? (?:you can |you could )?say",
    r"(?:tell|ask) me (?:what|how|why|in a few words)",
    r"if you know your party",
    r"you can say things like",
    r"(?:calls?|call) (?:may|will|might) be (?:recorded|monitored)",
    r"please (?:stay on the line|hold) (?:for|while|and) [\w ]*(?:next|representative|agent|operator)",
)
VOICEMAIL = _any_of(
    r"(?:i|we|you|they|person|subscriber|customer|party) (?:[\w']+ )?(?:cannot|can not|\w+n't) "
    r"(?:come|get|take|pick|answer|reach|be reached)",
    r"leave (?:it|something|word|me|us|your)",
    r"know (?:the drill|what to do)",
    r"(?:text|e ?mail|message|try) (?:me|us)(?: instead)?$",
    r"(?:send|drop) (?:me |us )?an? (?:\w+ )?(?:text|message|e ?mail)",
    r"(?:recorded|automated|recording)",
    r"(?:you've|you have) (?:called|dialled|dialed|rung)",
    r"(?:is|are|we're) (?:currently |now )?closed",
    r"(?:our|opening|office|business) hours are",
    r"be in touch",
    r"(?:start|begin) speaking",
    r"i'm (?:away|abroad|travelling|traveling|off|on (?:a plane|maternity|parental|sick|annual))",
    r"(?:after|at|wait for) the (?:tone|beep|signal)",
    r"leave (?:me |us )?(?:a |your |an? \w+ )?(?:\w+ )?(?:message|voice ?mail|name)",
    r"leave (?:me|us) (?:a|your)",
    r"(?:not|\w+n't) (?:available|able|come|here|in|home|get to|take|answer|pick|reach)",
    r"(?:unavailable|unable to (?:take|answer|come))",
    r"voice ?mail(?: ?box)?",
    r"mail ?box",
    r"answering (?:machine|service)",
    r"(?:you(?:'ve| have)|you) reached",
    r"get (?:right )?back to you",
    r"(?:'ll|will|and|or) (?:[\w']+ )?(?:call|ring|phone|text|contact) you",
    r"return your call",
    r"record your message",
    r"(?:forwarded|transferred) to",
    r"missed (?:your call|me)",
    r"(?:switched off|turned off|out of service|not in service)",
    r"(?:cannot|can't|could not) be (?:completed|connected)",
    r"(?:nobody|no one)(?:'s| is) (?:home|here|available)",
    r"(?:on vacation|on holiday|out of (?:the )?office|on leave)",
    r"machine",
    r"google voice",
    r"away from (?:my|the) (?:phone|desk)",
)
OPENS_MENUS = _any_of(
    r"(?:you(?:'ve| have)|you) (?:reached|called|dialled|dialed|rung)",
    r"(?:is|are|we're) (?:currently |now )?closed",
    r"(?:our|opening|office|business) hours are",
    r"(?:recorded|automated|recording)",
)
"""Phrases of `VOICEMAIL` with which menus begin, too."""
ASKS_FOR_MESSAGE = _any_of(
    r"(?:tone|beep|signal)", r"(?:press|dial|say) \w+ to (?:leave|record)(?![\w' ]* (?:press|dial|say))"
)
"""Words that make it a voicemail's even behind another key."""
MAILBOX_KEYS = _any_of(r"(?:tone|beep|message|mail ?box|voice ?mail|call back number)")
"""Words that make an announcement with keys a voicemail's ("or press 1 for more options")."""
QUESTION = _any_of(
    r"who(?:'s| is) (?:this|calling|speaking|that)",
    r"who did you want",
    r"can i help",
    r"how may i",
    r"speaking",
)
ASKS_BACK = re.compile(
    r"\b(?:who(?:'s| is) (?:this|calling|speaking|that|asking|it|there)|what's up|what do you want"
    r"|(?:can|could|may|shall|should) i (?:take|ask|tell|give|help|have)\b[\w' ]*"
    r"|what(?:'s| is) (?:this|it) (?:about|regarding)|is (?:this|it) (?:urgent|about)\b[\w' ]*)$"
)
"""A question at the end of what people say who missed a call, or for a person who is not there."""
OF_ANOTHER = _any_of(r"(?:he|she)(?:'s|'ll|'d)?")
"""Talk of another person by a pronoun: recordings name the person, or say "I"."""
WAIT = _any_of(
    r"hold",
    r"stay on the line",
    r"(?:one|just a|a) (?:moment|second|sec|minute)",
    r"please wait",
    r"(?:let me|i'll|i will|we'll) (?:check|see|ask|let|try|connect|put)",
    r"(?:connecting|transferring|checking)",
    r"(?:thank you|thanks|got it|okay thanks)$",
)
"""Words with which a screener asks the caller to wait for the person behind it."""
FOR_MACHINES = _any_of(r"(?:after|at|wait for) the (?:tone|beep|signal)", r"leave", r"reached", r"record")


def kind_by_phrases(plain: str) -> Literal["screener", "menu", "voicemail"] | None:
    """Return the kind of machine that says a known phrase, None without one. plain: `plain_text` of words."""
    if SCREENER.search(plain):
        return "screener"
    voicemail, menu = VOICEMAIL.search(plain), MENU.search(plain)
    if menu and not (voicemail and _has_mailbox_keys(plain, menu.start())):
        return "menu"
    return "voicemail" if voicemail else None


def _has_mailbox_keys(plain: str, menu_at: int) -> bool:
    """Return True if the keys of an announcement are a voicemail's: not where a message is one of the choices
    ("To leave a message, press two").
    """
    message = MAILBOX_KEYS.search(plain)
    return message is not None and (message.start() < menu_at or ASKS_FOR_MESSAGE.search(plain) is not None)


_NAMED = {
    "screener": SCREENER,
    "menu": MENU,
    "voicemail": VOICEMAIL,
    "machine": FOR_MACHINES,
    "question": QUESTION,
    "back": ASKS_BACK,
    "another": OF_ANOTHER,
}


def phrases_in(words: str) -> set[str]:
    """Return the names of the groups of phrases that these words have, and "is-KIND" by `kind_by_phrases`."""
    plain = plain_text(words)
    named = {name for name, pattern in _NAMED.items() if pattern.search(plain)}
    return named | {f"is-{kind_by_phrases(plain)}"}
