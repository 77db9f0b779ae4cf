"""Signatures of Twilio's requests.

   https://www.twilio.com/docs/usage/security#validating-requests: the base64 of an HMAC-SHA1, keyed with the
account's auth token, of the URL and, for a form, every name and value, sorted by name.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence

from voiceagent.transports.telephony.stream.public_url import with_and_without_port

HEADER = "x-twilio-signature"


def signature(token: str, url: str, form: Mapping[str, Sequence[str]]) -> str:
    """Return the value of `X-Twilio-Signature` for a request. form: the values of each name, if any."""
    signed = url + "".join(name + value for name in sorted(form) for value in sorted(set(form[name])))
    return b64encode(hmac.digest(token.encode(), signed.encode(), "sha1")).decode("ascii")


def is_genuine(token: str, url: str, form: Mapping[str, Sequence[str]], headers: Mapping[str, str]) -> bool:
    """Return True if the headers (names in lower case) sign this request, with or without the URL's port."""
    given = headers.get(HEADER)
    if not given:
        return False
    expected = [signature(token, url, form) for url in with_and_without_port(url)]
    return any([hmac.compare_digest(given.encode(), one.encode()) for one in expected])
