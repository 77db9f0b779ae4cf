"""Twilio's signatures, against the example of its documentation and the validator of its own library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import MultiDict

from voiceagent.transports.telephony.twilio import HEADER, is_genuine, signature

validator = pytest.importorskip("twilio.request_validator")

TOKEN = "12345"
URL = "https://mycompany.com/myapp.php?foo=1&bar=2"
FORM = {
    "CallSid": ["CA1234567890ABCDE"],
    "Caller": ["+14158675309"],
    "Digits": ["1234"],
    "From": ["+14158675309"],
    "To": ["+18005551212"],
}
SIGNED = "RSOYDt4T1cUTdK1PDd93/VVr8B8="
"""https://www.twilio.com/docs/usage/security#validating-requests"""


def test_the_example_of_the_documentation_is_signed_alike():
    assert signature(TOKEN, URL, FORM) == SIGNED
    assert is_genuine(TOKEN, URL, FORM, {HEADER: SIGNED})


@pytest.mark.parametrize(
    ("token", "url", "form", "given"),
    [
        ("12346", URL, FORM, SIGNED),
        (TOKEN, URL.replace("https", "http"), FORM, SIGNED),
        (TOKEN, URL + "&x=1", FORM, SIGNED),
        (TOKEN, URL, FORM | {"Digits": ["1235"]}, SIGNED),
        (TOKEN, URL, FORM, SIGNED.lower()),
        (TOKEN, URL, FORM, "ü"),
        (TOKEN, URL, FORM, ""),
        (TOKEN, URL, FORM, None),
    ],
)
def test_anything_else_is_not_genuine(token, url, form, given):
    assert not is_genuine(token, url, form, {} if given is None else {HEADER: given})


@pytest.mark.parametrize("port", ["", ":443"])
@pytest.mark.parametrize("scheme", ["https", "wss"])
def test_the_port_of_the_scheme_may_or_may_not_be_signed(scheme, port):
    signed = signature(TOKEN, f"{scheme}://example.com{port}/telephony/twilio", {})
    assert is_genuine(TOKEN, f"{scheme}://example.com/telephony/twilio", {}, {HEADER: signed})
    assert is_genuine(TOKEN, f"{scheme}://example.com:443/telephony/twilio", {}, {HEADER: signed})


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


@given(
    TEXT.filter(bool),
    st.sampled_from(
        ["https://example.com/a", "https://example.com:8443/a?b=c", "wss://example.com/telephony/twilio"]
    ),
    st.dictionaries(TEXT, st.lists(TEXT, min_size=1, max_size=3), max_size=5),
)
def test_signatures_are_those_of_twilios_library(token, url, form):
    theirs = validator.RequestValidator(token)
    sent = MultiDict([(name, value) for name, values in form.items() for value in values])
    assert theirs.compute_signature(url, sent) == signature(token, url, form)
    assert is_genuine(token, url, form, {HEADER: theirs.compute_signature(url, sent)})
    assert theirs.validate(url, sent, signature(token, url, form))
