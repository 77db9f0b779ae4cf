"""Words around the parts of a value: "I think it's", "and then the number", "like the color".

Callers who spell explain what comes next. In a value without spaces such words would become a part of it.
"""

from __future__ import annotations

import re

_NUMBER_WORD = (
    r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|double|triple|"
    r"\d+)\b"
)
_PART = rf"(?:[b-hj-z]\b|{_NUMBER_WORD})"
"""A letter or a number. "A" and "I" may be words."""
_SIGN = r"(?:dots?|periods?|points?|dash|dashes|hyphens?|minus|underscores?|plus sign|at sign)"
_KIND = r"(?:letters?|numbers?|digits?)"
_NO_PART = r"(?!(?:is|are|was|in|of|at|on|after|before|has|should|dot|dash|underscore|hyphen)\b|['’@.]\w)"
"""Text after "the number" where that is talk, or a part itself: "the number is wrong", "the.letter"."""
_NEXT = rf"(?:(?:an?|the)\s+(?=(?:{_KIND}|{_SIGN})\b))?(?:{_KIND}[\s,:]+{_NO_PART})?"
"""Text between "then" and the part that it joins: "the number"."""
_LINKS = {
    "en": (
        rf"[\s,.;]+and\s+then[\s,:]+{_NEXT}",
        rf"[\s,.;]+(?:and\s+(?:then\s+)?)?(?:followed\s+by|after\s+that)[\s,:]+{_NEXT}",
        rf"[,.;]\s*then[\s,:]+{_NEXT}",
        rf"[\s,.;]+then\s+(?=(?:an?|the)\s+(?:{_KIND}|{_SIGN})\b|{_SIGN}\b|{_PART}){_NEXT}",
        rf"(?:(?:^|[\s,.;]+)(?:and|with|plus))?(?:^|[\s,.;]+)(?:the|a)\s+{_KIND}[\s,:]+{_NO_PART}",
        rf"(?:[\s,.;]+and\s+|[,.;]\s*)(?:numbers?|digits?)\s+(?={_NUMBER_WORD})",
        rf"(?:[\s,.;]+and\s+|[,.;]\s*)(?:an?|the)\s+(?={_SIGN}\b)",
        r"[,.;]\s*(?:so|(?:so\s+)?(?:that's|that s|that is|that would be|which is|spelled|spelt|it's))[\s,:]+"
        r"(?=[a-z](?:[\s,.-]+[a-z]\b|\s+as in\b))",
        rf"[\s,.;]+no\s+{_SIGN}(?=\s*(?:[,.;@]|at\b|$))",
    ),
    "de": (
        r"[\s,.;]+und\s+dann[\s,:]+(?:(?:die|der|den)\s+)?(?:(?:zahl|ziffern?|nummer|buchstaben?)[\s,:]+)?",
        r"[\s,.;]+gefolgt\s+von[\s,:]+(?:(?:der|dem|den)\s+)?(?:(?:zahl|ziffern?|nummer|buchstaben?)[\s,:]+)?",
        r"[,.;]\s*dann[\s,:]+(?:(?:die|der|den|ein|einen)\s+)?(?:(?:zahl|ziffern?|nummer|buchstaben?)[\s,:]+)?",
        r"(?:[\s,.;]+und)?(?:^|[\s,.;]+)(?:die|der|den)\s+(?:zahl|ziffern?|buchstaben?)[\s,:]+(?!ist\b|sind\b)",
        r"[,.;]\s*(?:dann\s+)?(?:ein|einen|der)\s+(?=(?:punkt|strich|bindestrich|unterstrich)\b)",
    ),
    "es": (
        r"[\s,.;]+y\s+(?:luego|después)[\s,:]+(?:(?:el|la|los|las|un|una)\s+)?(?:(?:número|letra|dígito)s?[\s,:]+)?",
        r"[\s,.;]+seguido\s+(?:de|del|por)[\s,:]+(?:(?:el|la|los|las)\s+)?(?:(?:número|letra|dígito)s?[\s,:]+)?",
        r"[,.;]\s*(?:luego|después)[\s,:]+(?:(?:el|la|los|las|un|una)\s+)?(?:(?:número|letra|dígito)s?[\s,:]+)?",
        r"(?:[\s,.;]+y)?(?:^|[\s,.;]+)(?:el|la|los|las)\s+(?:número|letra|dígito)s?[\s,:]+(?!es\b|son\b)",
    ),
}  # fmt: skip
_LINK = {
    language: re.compile(rf"(?:{'|'.join(links)})(?=\w|@|[,.;]|\s|$)", re.I)
    for language, links in _LINKS.items()
}
_OH = rf"oh(?=[,.]\s+(?!{_NUMBER_WORD}|(?:at|dot|dash)\b)[a-z]{{3}})"
_FILLER = rf"(?:u+h*m+|u+h+|erm?|hm+|om(?=[,.])|{_OH}|ä+h*m*|eh+)"
"""A hesitation, as recognizers write it: "Om, Gordon" for "um, Gordon". Before a figure "oh" is a zero."""
_TALK = {
    "en": r"i|think|believe|guess|suppose|let|me|see|my|our|the|best|one|work|private|personal|main|business|"
    r"company|office|home|e-?mail|mail|address|account|sure|no|problem|so|okay|ok|well|yes|yeah|of|course|would|"
    r"should|probably|for|this|please|you|can|could|just|reach|send|try|use|it|that|to",
    "de": r"ich|glaube|meine|die|das|mail|e-?mail|(?:e-?)?mail-?adresse|adresse|private|geschäftliche|also|"
    r"ja|gerne|und|zwar|sie|können|bitte|ist|wäre|lautet",
    "es": r"creo|que|mi|el|la|dirección|correo|electrónico|e-?mail|de|pues|bueno|a|ver|sí|claro|"
    r"puede|es|sería",
}
"""Words that may stand before an address, by language."""
_ENDS_TALK = {
    "en": r"it's|it is|it'd be|that's|that is|is|would be|should be|will be|use|try|let me see|"
    r"no problem|e-?mail'?s",
    "de": r"ist|lautet|wäre|glaube|und zwar|nehmen sie|also",
    "es": r"es|sería|creo que|use|pues|a ver|bueno",
}
"""The last of them."""
_SIGN_NEXT = {
    "en": "at|dot|dash|underscore",
    "de": "at|ät|punkt|minus|unterstrich",
    "es": "arroba|punto|guion",
}
_LEAD_IN = {
    language: re.compile(
        rf"^\W*(?:(?:{talk}|{_FILLER})\b[\s,.!:]+){{0,9}}(?:{_ENDS_TALK[language]}|{_FILLER})\b[\s,.:!]+"
        rf"(?=\w)(?!(?:{_SIGN_NEXT[language]})\b)",
        re.I,
    )
    for language, talk in _TALK.items()
}
_AT = re.compile(r"\b(?:at|ät|arroba)\b|@", re.I)
_NAME_LABEL = r"(?:(?:my|the)\s+)?(?:(?:first|last|middle|family)\s+(?:name|initial)|initial|surname)"
_BY_LABELS = re.compile(
    rf"^\W*(?:it's\s+)?{_NAME_LABEL}(?:[\s,]+(?:{_SIGN}|and|then))*[\s,]+{_NAME_LABEL}\b[\s,.;]*"
    r"(?:(?:so|that's|that is|that would be|which is|it's|i'm)[\s,]+)*",
    re.I,
)
"""Labels of the parts of an address, before it or in place of a part: "my first name dot my last name"."""
_LABEL_BEFORE = re.compile(
    rf"(?:^|(?<=[\s,.])){_NAME_LABEL}[\s,:]+(?:is\s+)?(?!(?:at|and|{_SIGN})\b)(?=\w)", re.I
)
_COMPARED = re.compile(
    r"(?<=\w\w)(?<!should)(?<!would)(?<!i'd)[\s,]+(?:just\s+)?"
    r"(?:like(?:\s+in)?\s+(?:the|an?|your)|as\s+in\s+(?:the|your))\s+[^,.;!?@]+?(?=[,.;!?@]|\s+at\b|$)",
    re.I,
)
"""A remark on a name that is a word, too: "Green, like the color"."""


def without_linking_words(text: str, language: str) -> str:
    """Return a transcript without what joins the parts of a value: "and then the number one" is "one"."""
    link = _LINK.get(language)
    return text if link is None else link.sub(" ", text).strip(" ")


def without_lead_in(text: str, language: str) -> str:
    """Return an answer without what stands before its e-mail address ("I think it's") or says what its parts
    are ("first initial J, last name Smith"). A text without "at" stays as it is: it may be talk.
    """
    lead_in = _LEAD_IN.get(language)
    if lead_in is None or not _AT.search(text):
        return text
    text = lead_in.sub("", text)
    return _LABEL_BEFORE.sub("", _BY_LABELS.sub("", text)) if language == "en" else text


def without_comparisons(text: str) -> str:
    """Return an English text without what a name in it is compared with: "Rose, like the flower, Baker"."""
    return _COMPARED.sub("", text)
