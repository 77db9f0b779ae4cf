"""Signatures of Plivo's requests.

   https://www.plivo.com/docs/voice/concepts/signature-validation: version 3 is the base64 of an HMAC-SHA256,
keyed with the auth token, of the URL with sorted query, a form's sorted names and values, and a nonce,
separated by dots.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs, urlsplit

from voiceagent.transports.telephony.stream.public_url import with_and_without_port

HEADERS = ("x-plivo-signature-v3", "x-plivo-signature-ma-v3")
"""Signatures by the number's account and by its main account. Each may hold several, separated by commas."""
NONCE_HEADER = "x-plivo-signature-v3-nonce"


def signature(token: str, url: str, form: Mapping[str, Sequence[str]], nonce: str) -> str:
    """Return Plivo's signature of a request. form: the values of each name, empty for a GET."""
    parts = urlsplit(url)
    query = parse_qs(parts.query, keep_blank_values=True)
    base = parts._replace(query="", fragment="").geturl()
    asked = "&".join(f"{name}={value}" for name in sorted(query) for value in sorted(query[name]))
    posted = "".join(name + value for name in sorted(form) for value in sorted(form[name]))
    signed = base + (f"?{asked}" if asked or form else "") + ("." if asked and form else "") + posted
    return b64encode(hmac.digest(token.encode(), f"{signed}.{nonce}".encode(), "sha256")).decode("ascii")


def is_genuine(token: str, url: str, form: Mapping[str, Sequence[str]], headers: Mapping[str, str]) -> bool:
    """Return True if the headers (names in lower case) sign this request, with or without the URL's port."""
    nonce = headers.get(NONCE_HEADER)
    given = [one.strip() for name in HEADERS for one in headers.get(name, "").split(",") if one.strip()]
    if not nonce or not given:
        return False
    expected = [signature(token, url, form, nonce) for url in with_and_without_port(url)]
    return any([hmac.compare_digest(one.encode(), other.encode()) for one in expected for other in given])
